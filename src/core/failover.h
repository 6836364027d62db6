/* SPDX-License-Identifier: MIT */
/* Fail-over: the host port is on standby while the CUDA port is active. If the CUDA port fails, the host port continues
 * from the previous frame. */
#ifndef VF_FAILOVER_H
#define VF_FAILOVER_H

#include "context.h"

/** Puts the open host port on standby. Called by vf_setup(), which then opens the CUDA port. */
void vf_failover_set_standby(struct vf_context *context);

/** 1 if the host port is on standby, ready to take over. */
int vf_failover_ready(const struct vf_context *context);

/** Keeps images, masks and parameters of the frame that the CUDA port has just started, in the host port's arena. The
 *  images are converted to 8 bits, as the stage ingest does. No effect without a standby port. */
void vf_failover_keep_frame(struct vf_context *context, const vfront_frame_t *frame);

/** Makes the host port active, with the state after the previous frame. The reason of the fail-over is the text of the
 *  last vf_refuse(). */
void vf_failover_switch(struct vf_context *context);

/** Switches to the host port when the CUDA port fails while it computes a frame. The host port then computes this
 *  frame, from the images that vf_failover_keep_frame() has stored. */
void vf_failover_finish_frame(struct vf_context *context);

/** Stores the previous frame's keyframe, if it made one, in the host port's ring of keyframes. Called after a step of
 *  the CUDA port. */
void vf_failover_commit_keyframe(struct vf_context *context);

/** Loads one keyframe of a map into the standby host port. slot: slot of its ring of keyframes. No effect without a
 *  standby port. */
void vf_failover_load_keyframe(struct vf_context *context, uint32_t slot, const struct vf_keyframe_entry *entry);
/** Loads a part of the map's state, `bytes` bytes at `offset` of struct vf_map_data, into the standby host port. */
void vf_failover_load_map(struct vf_context *context, size_t offset, const void *from, size_t bytes);
/** Loads the state that counts the keyframes into the standby host port, after all keyframes are loaded. */
void vf_failover_load_count(struct vf_context *context, const struct vf_keyframe_now *now);

/** Counts consecutive results that came later than deadline_us. Switches to the host port when their number reaches the
 *  tuning value failover_overruns. overrun: 1 if the last result was late. */
void vf_failover_count_overrun(struct vf_context *context, uint32_t overrun);

/** Copies the state of the host port to the CUDA port and makes the CUDA port active. After a status other than
 *  VFRONT_OK the host port stays active, with its state unchanged. */
vfront_status_t vf_failover_return(struct vf_context *context);

/** Ends the fail-over: makes the port that vf_setup() opened last active again, so that it can be closed. */
void vf_failover_end(struct vf_context *context);

#endif
