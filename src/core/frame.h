/* SPDX-License-Identifier: MIT */
/* Parameters of a frame, and the host's part of a result. */
#ifndef VF_FRAME_H
#define VF_FRAME_H

#include "port/port.h"

/** Fills in vf_pinned.params and the step of vf_state.readings for a frame that vf_check_frame() has passed. Copies
 *  pictures and masks where the port needs them copied. Readings are kept by vf_readings_keep() only. */
vfront_status_t vf_frame_params(struct vf_state *state, const vfront_frame_t *frame);

/** Completes the result of the last step: timing, and where its disparities lie. */
void vf_frame_result(struct vf_state *state, vfront_result_t *result);

#endif
