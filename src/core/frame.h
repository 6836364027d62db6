/* SPDX-License-Identifier: MIT */
/* Parameters of a frame before its step, and the part of a result that the host completes after it. */
#ifndef VF_FRAME_H
#define VF_FRAME_H

#include "context.h"

/** Fills in vf_pinned.params for a frame that passed vf_check_frame(), and selects its IMU samples. Copies images and
 *  masks if the port needs copies. A later vf_samples_keep() keeps the IMU samples for the next step. */
vfront_status_t vf_frame_params(struct vf_context *context, const vfront_frame_t *frame);

/** Makes the previous frame's image, as ingest wrote it, the source of a camera that has no image in this frame.
 *  memory: device arena of the port that will read it. */
void vf_frame_missing(const struct vf_context *context, struct vf_memory *memory, int32_t camera,
                      struct vf_source *source);

/** Completes the result of the last step: timing, addresses of disparities, and the navigation state. */
void vf_frame_result(struct vf_context *context, vfront_result_t *result);

#endif
