/* SPDX-License-Identifier: MIT
 *
 * Distances around the vehicle for MAVLink's OBSTACLE_DISTANCE, from the disparities of a frame. Points are turned into
 * a level frame by the state's gravity, whatever the vehicle's roll and pitch; those within a height of the vehicle's
 * own count, road or not. 72 directions of 5 degrees, the first straight ahead, clockwise.
 *
 *   distance    the nearest place with as many points as an object has that fills a part of the direction
 *   free        nothing, and at least half of the rays below the horizon that stay within that height up to most_m end
 *               farther away; above the horizon sky has no disparity, and is unknown
 *   unknown     all else: outside of the view, no disparities, no gravity
 *
 * Ground that is nearer below than the height counts, too: fly higher than that, or set it lower.
 */
#ifndef COMPANION_OBSTACLES_H
#define COMPANION_OBSTACLES_H

#include "examples/common/pose.h"
#include "mavlink.h"
#include "vfront.h"

#define OBSTACLES_UNKNOWN 65535u

/** Settings. */
typedef struct obstacles_settings {
    double height_m;     /**< Above and below the vehicle: 0.1..50. */
    double min_m, max_m; /**< Distances that are sent; farther away is free. */
} obstacles_settings_t;

/**
 * Distances.
 * @param[out] cm          In each direction [cm]; most_m * 100 + 1: free; OBSTACLES_UNKNOWN.
 * @param[in]  disparity   Of camera 0; pinholes side by side.
 * @param[in]  camera      Camera 0 of the results: vfront_info_t.camera.
 * @param[in]  baseline_m  Of the cameras.
 * @param[in]  T_body_cam  Its pose on the body, x forward, y right, z down.
 * @param[in]  up          Up, in body axes; NULL: not known.
 */
void obstacles_of(uint16_t cm[VFRONT_OBSTACLE_BINS], const obstacles_settings_t *settings,
                  const vfront_disparity_t *disparity, const vfront_camera_t *camera, double baseline_m,
                  const pose_t *T_body_cam, const double up[3]);

/** The message: full circle, BODY_FRD. */
void obstacles_message(mavlink_message_t *message, const uint16_t cm[VFRONT_OBSTACLE_BINS],
                       const obstacles_settings_t *settings, uint64_t t_ns);

#endif
