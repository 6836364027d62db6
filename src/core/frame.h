/* SPDX-License-Identifier: MIT */
/* Parameters of a frame, and the host's part of a result. */
#ifndef VF_FRAME_H
#define VF_FRAME_H

#include "port/port.h"

/** Fills in vf_pinned.params and the step of vf_state.readings for a frame that vf_check_frame() has passed. Copies
 *  pictures and masks where the port needs them copied. Readings are kept by vf_readings_keep() only. */
vfront_status_t vf_frame_params(struct vf_state *state, const vfront_frame_t *frame);

/** Source of a camera that has no picture: the picture of the frame before, as ingest left it in `memory`, an arena as
 *  its port sees it. */
void vf_frame_missing(const struct vf_state *state, struct vf_memory *memory, int32_t camera, struct vf_source *source);

/** Completes the result of the last step: timing, and where its disparities lie. */
void vf_frame_result(struct vf_state *state, vfront_result_t *result);

#endif
