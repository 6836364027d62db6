/* SPDX-License-Identifier: MIT
 *
 * Pose that the first state goes on from: after a start of this program, in flight or on the ground, and after a reset
 * of the library. At the state's time, the first of these that there is:
 *
 *   the autopilot's   ATTITUDE and LOCAL_POSITION_NED nearest to it, carried on by rate and velocity. Both autopilots
 *                     send a position as long as they fly by it: PX4 for 5 s without vision, ArduPilot for 10 s
 *   the kept one      position of the checkpoint, carried on by its velocity; yaw of ATTITUDE, or its own
 *   zero              the local frame begins: on the ground, or where nobody has a position; yaw of ATTITUDE in flight
 *
 * With sender_settings_t.is_north the yaw of the first state is that of ATTITUDE on the ground, too, and is waited for:
 * before vision's yaw is fused, so that vision is never aligned to itself. Later states go on as above.
 *
 * ArduPilot in flight, where a checkpoint has its reset_counter, gets its own pose twice: for half a second with so
 * large a deviation that velocity alone counts, by which its estimator finds most of what it drifted by; then for good.
 *
 * An autopilot that is armed and sends no ATTITUDE, with nothing kept, is waited for.
 */
#ifndef COMPANION_RESUME_H
#define COMPANION_RESUME_H

#include "checkpoint.h"
#include "peer.h"
#include "sender.h"

/** Where the pose is from. */
typedef enum resume_origin {
    RESUME_NOT_NEEDED = 0, /**< The sender has one. */
    RESUME_WAITS = 1,      /**< None yet: the state is not to be sent. */
    RESUME_ZERO = 2,
    RESUME_KEPT = 3,
    RESUME_AUTOPILOT = 4
} resume_origin_t;

/** Before sender_state(): gives the sender a pose to go on from where it needs one. kept: NULL: none. */
resume_origin_t resume_sender(sender_t *sender, const peer_t *peer, int peers, const checkpoint_t *kept,
                              const vfront_nav_t *nav);

/** Pose to take along, of the last message; restarts and answers stay. 0: none was sent yet. */
int resume_checkpoint(checkpoint_t *checkpoint, const sender_t *sender);

#endif
