/* SPDX-License-Identifier: MIT
 *
 * Rectified pictures, to be looked at. With the tuning value `rectify` the library works on pictures that the cameras of vfront_info_t.seen
 * would have taken, and does not hand them out: this makes them once more, from the lenses of the rig. Every pixel's place in the camera's
 * own picture is found once; what a camera does not see is black.
 */
#ifndef RECTIFIED_H
#define RECTIFIED_H

#include "vfront.h"

/** Where each pixel comes from, and the pictures. */
typedef struct rectified rectified_t;

/**
 * @param[in] rig   The cameras as they are.
 * @param[in] seen  The pinholes in whose place they are to be put; as many.
 * @return NULL: no memory. Takes a few microseconds a pixel.
 */
rectified_t *rectified_open(const vfront_rig_t *rig, const vfront_camera_t *seen);
void rectified_close(rectified_t *rectified);

/**
 * @param[in] frame  Pictures in the sizes of the rig; VFRONT_GREY8 or VFRONT_GREY16 in host memory.
 * @return The same frame with rectified pictures, VFRONT_GREY8 without masks, in the sizes of `seen`; valid until the next call.
 */
const vfront_frame_t *rectified_frame(rectified_t *rectified, const vfront_frame_t *frame);

#endif
