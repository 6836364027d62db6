/* SPDX-License-Identifier: MIT */
/* Checks of arguments: rigs, tuning values and frames, once, before any stage or port sees them. Each returns a named
 * status, with the reason in vfront_detail(). */
#ifndef VF_CHECK_H
#define VF_CHECK_H

#include "port/port.h"

vfront_status_t vf_check_rig(struct vf_state *state, const vfront_rig_t *rig);
/** 1 if a rig has two calibrated cameras in different places. */
int vf_check_placed(const vfront_rig_t *rig);

/** Row alignment of state->seen, where the tuning asks for disparities. */
vfront_status_t vf_check_aligned(struct vf_state *state, const vfront_tuning_t *tuning);

/** Needs of the state of an IMU, where the tuning asks for it; of state->seen. */
vfront_status_t vf_check_window(struct vf_state *state, const vfront_tuning_t *tuning);

/** Needs of places, likewise. */
vfront_status_t vf_check_map(struct vf_state *state, const vfront_tuning_t *tuning);

vfront_status_t vf_check_tuning(struct vf_state *state, const vfront_tuning_t *tuning);

/** Checks a frame, its stamp first. Notes a refused stamp in state->refused. Sets state->clock_set: 1 where the frame
 *  is the first of a clock that was set. */
vfront_status_t vf_check_frame(struct vf_state *state, const vfront_frame_t *frame);

#endif
