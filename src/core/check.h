/* SPDX-License-Identifier: MIT */
/* Checks of arguments: rigs, tuning values and frames, before any stage or port uses them. Each returns a named status,
 * with the reason in vfront_detail(). */
#ifndef VF_CHECK_H
#define VF_CHECK_H

#include "context.h"

vfront_status_t vf_check_rig(struct vf_context *context, const vfront_rig_t *rig);
/** 1 if a rig has two calibrated cameras at different positions. */
int vf_check_is_pair(const vfront_rig_t *rig);

/** Checks that the cameras of context->seen are pinholes with aligned rows, if the tuning enables the stage dense. */
vfront_status_t vf_check_aligned(struct vf_context *context, const vfront_tuning_t *tuning);

/** Checks that context->seen and the tuning have what the state estimator needs, if the tuning enables it. */
vfront_status_t vf_check_vio(struct vf_context *context, const vfront_tuning_t *tuning);

/** Checks that context->seen and the tuning have what place recognition and the map need, if the tuning enables
 *  them. */
vfront_status_t vf_check_map(struct vf_context *context, const vfront_tuning_t *tuning);

vfront_status_t vf_check_tuning(struct vf_context *context, const vfront_tuning_t *tuning);

/** 1 if the timestamp t_ns is later than before_ns, by at most frame_jump_ms. */
int vf_follows(const struct vf_context *s, uint64_t t_ns, uint64_t before_ns);

/** Checks a frame, its timestamp first. Counts a rejected timestamp in context->refused. Sets context->clock_set to 1
 *  if the frame is the first one after the camera's clock was set, else to 0. */
vfront_status_t vf_check_frame(struct vf_context *context, const vfront_frame_t *frame);

#endif
