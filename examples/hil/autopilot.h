/* SPDX-License-Identifier: MIT
 *
 * What an autopilot tells a companion, of the pilot of the closed loop: HEARTBEAT, ATTITUDE, and LOCAL_POSITION_NED as
 * long as it flies by its position.
 */
#ifndef HIL_AUTOPILOT_H
#define HIL_AUTOPILOT_H

#include "pilot.h"

#define AUTOPILOT_MESSAGES 3

/** Messages of now, their stamps those of the pilot's state. sample: newest of its IMU. has_pose: 0: HEARTBEAT alone.
 *  Returns their number. */
int autopilot_messages(const pilot_t *pilot, const vfront_imu_t *sample, int has_pose,
                       mavlink_message_t out[AUTOPILOT_MESSAGES]);

#endif
