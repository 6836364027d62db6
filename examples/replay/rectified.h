/* SPDX-License-Identifier: MIT
 *
 * Rectified pictures for overlays. With the tuning value `rectify` the library works on rectified pictures, those of
 * the virtual pinhole cameras vfront_info_t.camera, and does not return them: they are computed once more here, from
 * the lenses of the rig. The remap table is computed once; pixels outside of the original picture are black.
 */
#ifndef RECTIFIED_H
#define RECTIFIED_H

#include "vfront.h"

/** Remap tables and pictures. */
typedef struct rectified rectified_t;

/**
 * @param[in] rig   Original cameras.
 * @param[in] seen  Virtual pinhole cameras, as many.
 * @return NULL without memory. Takes a few microseconds per pixel.
 */
rectified_t *rectified_open(const vfront_rig_t *rig, const vfront_camera_t *seen);
void rectified_close(rectified_t *rectified);

/**
 * @param[in] frame  Pictures in the sizes of the rig; VFRONT_GREY8 or VFRONT_GREY16 in host memory.
 * @return The same frame with rectified pictures, VFRONT_GREY8 without masks, in the sizes of `seen`; valid until
 * the next call.
 */
const vfront_frame_t *rectified_frame(rectified_t *rectified, const vfront_frame_t *frame);

#endif
