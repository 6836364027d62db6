/* SPDX-License-Identifier: MIT */
/* Everything that is refused, and why: rigs, tuning values and frames are checked here once, before any stage or port sees them. */
#ifndef VF_CHECK_H
#define VF_CHECK_H

#include "port/port.h"

vfront_status_t vf_check_rig(struct vf_state *state, const vfront_rig_t *rig);
/** Whether a rig has two calibrated cameras in different places. */
int vf_check_placed(const vfront_rig_t *rig);

/** Whether state->seen is row-aligned, where the tuning asks for what needs that. */
vfront_status_t vf_check_aligned(struct vf_state *state, const vfront_tuning_t *tuning);

vfront_status_t vf_check_tuning(struct vf_state *state, const vfront_tuning_t *tuning);
vfront_status_t vf_check_frame(struct vf_state *state, const vfront_frame_t *frame);

#endif
