/* SPDX-License-Identifier: MIT
 *
 * What the cameras of the airframe see: a rendered hall around a square of 2 m, or around a longer path along x. The
 * IMU is the body (airframe.h); camera 0 lies 7 cm ahead of it and 2 cm above it.
 */
#ifndef HIL_SCENE_H
#define HIL_SCENE_H

#include "airframe.h"
#include "examples/synthetic/synthetic.h"

#define SCENE_EXPOSURE_NS 5000000u

/** Hall and cameras. Zero it before scene_open(). */
typedef struct scene {
    synthetic_t *hall;
    vfront_rig_t rig; /**< Cameras as they are, with the noise of the airframe's IMU. */
    int32_t width_px, height_px;
    uint8_t *pixels[VFRONT_CAMERAS];
    uint32_t *light;  /**< Of an exposure under way: cameras * height * width, by scene_gather(). */
    uint32_t moments; /**< Added up in it. */
} scene_t;

/** A hall in which there is room from x = -1 m to length_m, and from y = -1 m to 3 m. Returns NULL, or a message. */
const char *scene_open(scene_t *scene, int32_t width_px, int32_t height_px, double length_m);
void scene_close(scene_t *scene);

/** A wall across the hall at x. */
void scene_add_wall(scene_t *scene, double x_m);

/** Pictures of now, of frame `index`, in an exposure whose middle SCENE_EXPOSURE_NS / 2 before end_ns is. */
void scene_draw(scene_t *scene, uint32_t index, const airframe_t *airframe, uint64_t end_ns, vfront_frame_t *frame);

/** For motion blur: light of a moment of an exposure; then scene_expose() in place of scene_draw(). */
void scene_gather(scene_t *scene, const airframe_t *airframe);
void scene_expose(scene_t *scene, uint32_t index, uint64_t begin_ns, uint32_t exposure_ns, vfront_frame_t *frame);

#endif
