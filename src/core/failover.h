/* SPDX-License-Identifier: MIT */
/* Fail-over: the host port stands by while the CUDA port runs, and goes on from the frame before when that fails. */
#ifndef VF_FAILOVER_H
#define VF_FAILOVER_H

#include "port/port.h"

/** Puts the port that is open aside, to stand by. Called by vf_setup(), which then opens the other one. */
void vf_failover_stand_by(struct vf_state *state);

/** 1 if the host port stands by. */
int vf_failover_can(const struct vf_state *state);

/** Keeps the pictures, masks and parameters of the frame that the CUDA port has just started, while it works: makes
 *  8-bit pictures of them in the host port's arena, as its ingest would. No effect where nothing stands by. */
void vf_failover_keep(struct vf_state *state, const vfront_frame_t *frame);

/** Makes the host port the one that runs, with the state that the frame before left. The last refusal says why. */
void vf_failover_go(struct vf_state *state);

/** The same with a frame under way, which vf_failover_keep() kept: that frame is computed, too. */
void vf_failover_go_on(struct vf_state *state);

/** After a step of the CUDA port: the keyframe of the frame before it comes into the ring of the host port, too. */
void vf_failover_remember(struct vf_state *state);

/** A keyframe of a map that is being loaded, into the ring of the host port, too; a part of the map's state; and, when
 *  all are, the state that counts them. No effect where nothing stands by. */
void vf_failover_load(struct vf_state *state, uint32_t slot, const struct vf_keyframe_entry *entry);
void vf_failover_load_state(struct vf_state *state, size_t offset, const void *from, size_t bytes);
void vf_failover_loaded(struct vf_state *state, const struct vf_keyframe_now *now);

/** Counts results that came after deadline_us, and goes when there are as many in a row as the tuning says. */
void vf_failover_count(struct vf_state *state, uint32_t overrun);

/** Takes the state of the host port to the CUDA port, and makes that the one that runs. After any status but VFRONT_OK
 *  the host port still runs, and its state is as it was. */
vfront_status_t vf_failover_return(struct vf_state *state);

/** Makes the port that vf_setup() opened last the one that runs, so that it can be closed. */
void vf_failover_end(struct vf_state *state);

#endif
