/* SPDX-License-Identifier: MIT
 *
 * PX4's own link to a companion since 1.14, uXRCE-DDS: VehicleOdometry on a topic of DDS, by Cyclone DDS, where the
 * build has it. An agent (MicroXRCEAgent) beside it reads the topic and hands it to the client in PX4.
 *
 *   dds:DOMAIN   ROS_DOMAIN_ID of the agent's side: UXRCE_DDS_DOM_ID of PX4
 *
 * Topic rt/fmu/in/vehicle_visual_odometry, type px4_msgs::msg::dds_::VehicleOdometry_ as of MESSAGE_VERSION 0, PX4 1.14
 * to 1.18; best effort, volatile, the last sample alone, as the client's reader; plain CDR, which the agent reads.
 *
 * What goes is ODOMETRY (sender.h) field by field, as PX4 reads it from MAVLink: variances are the diagonals of its
 * covariances. Stamps are those of CLOCK_REALTIME, which the agent answers the client's synchronization with; the
 * client takes its offset off, and makes its reader once it knows that. So without a reader nothing is sent. Nothing
 * comes back.
 */
#ifndef COMPANION_UXRCE_H
#define COMPANION_UXRCE_H

#include "link.h"

#define UXRCE_DOMAIN_MAX 232 /* beyond it ports of RTPS end */

/** px4_msgs::msg::VehicleOdometry, in its order. */
typedef struct uxrce_odometry {
    uint64_t timestamp;        /**< When it goes [us]. */
    uint64_t timestamp_sample; /**< Of the state [us]. */
    uint8_t pose_frame;        /**< 1: NED, 2: FRD whose yaw is not that of north. */
    float position[3];
    float q[4];             /**< w x y z, body to frame. */
    uint8_t velocity_frame; /**< 3: body, FRD. */
    float velocity[3];
    float angular_velocity[3];
    float position_variance[3];
    float orientation_variance[3]; /**< Of roll, pitch, yaw. */
    float velocity_variance[3];
    uint8_t reset_counter;
    int8_t quality;
} uxrce_odometry_t;

/** Its entities in DDS. Zeroed: none. */
typedef struct uxrce {
    int32_t participant, writer;
} uxrce_t;

/** 1: a specification of --link is of this kind. */
int uxrce_is(const char *specification);

/** Opens it: `link` is of LINK_DDS then, and counts. Returns NULL, or a one-line message. */
const char *uxrce_open(uxrce_t *uxrce, link_t *link, const char *specification);
void uxrce_close(uxrce_t *uxrce);

/** 1: somebody reads the topic. */
int uxrce_has_reader(const uxrce_t *uxrce);

/** Sends ODOMETRY; of all other messages DDS has none. 1: it is on its way. The recorder takes the MAVLink frame. */
int uxrce_send(const uxrce_t *uxrce, link_t *link, const mavlink_message_t *message);

/** A message of ODOMETRY as PX4's. ahead_us: CLOCK_REALTIME less the message's clock. */
void uxrce_convert(uxrce_odometry_t *out, const mavlink_message_t *message, uint64_t now_us, int64_t ahead_us);

#endif
