/* SPDX-License-Identifier: MIT */
/* Place of a drawn world for rendered flights: floor, walls and ceiling around the flight, and boards at ranges from
 * the nearest to the farthest of the world, wherever the camera looks. Panels and textures are those of
 * examples/synthetic/renderer.h. */
#ifndef DRAWN_PLACE_H
#define DRAWN_PLACE_H

#include <stdint.h>

/** Lens of a picture [px]. */
struct place_lens {
    double f, cx, cy;
};

/** What a place is built for. */
struct place_plan {
    uint64_t seed;
    double near_m, far_m;
    double contrast; /* of its textures, 1: those of the standard flight; its root of panels have texture */
    struct place_lens lens;
    int views; /* poses of camera 0 along the flight */
    const double (*centre)[3], (*axes)[9];
};

/** Prepares pictures of a size, once in a program. Returns 0 without memory. */
int place_open(int width, int height);

/** Builds the place of a plan, instead of that before. */
void place_build(const struct place_plan *plan);

/** Adds the brightness at one moment, of a camera of pose centre, axes (camera to world, by rows): uint32_t
 *  [height][width], grey level * 256. */
void place_gather(const struct place_lens *lens, const double axes[9], const double centre[3], uint32_t *irradiance);

/** Depths along the optical axis at so many pixels [m]; 0: nothing there. */
void place_depths(const struct place_lens *lens, const double axes[9], const double centre[3], int count,
                  const double (*at_px)[2], double *depth_m);

/** Sensor of a picture. */
struct place_sensor {
    double gain, offset_grey, electrons; /* electrons of a white pixel at gain 1 */
    uint64_t key;                        /* of its noise */
};

/** Picture from the brightness of so many moments: uint8_t [height][width]. */
void place_expose(const uint32_t *irradiance, unsigned moments, const struct place_sensor *sensor, uint8_t *pixels);

#endif
