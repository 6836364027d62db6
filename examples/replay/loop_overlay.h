/* SPDX-License-Identifier: MIT
 *
 * Drawings of loops: the pictures of the keyframe, left, and of the frame, right, of camera 0, with their
 * correspondences: green an inlier, red another one.
 */
#ifndef LOOP_OVERLAY_H
#define LOOP_OVERLAY_H

#include "vfront.h"

/** Pictures and key points of the last VFRONT_KEYFRAMES keyframes. */
typedef struct loop_overlay loop_overlay_t;

/** camera: camera 0 of the results. Returns NULL without memory. */
loop_overlay_t *loop_overlay_open(const vfront_camera_t *camera);
void loop_overlay_close(loop_overlay_t *overlay);

/**
 * Draw the loop of a result that has correspondences. Call it for every frame, in order.
 * @param[in]  frame   Pictures in the geometry of the results, as for overlay_draw().
 * @param[out] rgb     uint8_t [height_px][width_px][3], valid until the next call; NULL: there is no such loop, it has
 *                     too few inliers, or its keyframe's picture is not there any more.
 * @return 0 without memory.
 */
int loop_overlay_draw(loop_overlay_t *overlay, const vfront_frame_t *frame, const vfront_result_t *result,
                      const uint8_t **rgb, int32_t *width_px, int32_t *height_px);

#endif
