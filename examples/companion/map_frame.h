/* SPDX-License-Identifier: MIT
 *
 * Local frame of ODOMETRY in the map, for those who fly to marked places. ODOMETRY itself never jumps: it is continuous
 * in its local frame, and loops correct nothing of it. What they correct is where that frame lies in the map.
 *
 * Map axes: those of the library's map frame turned over, z down, so that both frames differ by position and yaw alone:
 * p_map = R(yaw) p_local + position.
 */
#ifndef COMPANION_MAP_FRAME_H
#define COMPANION_MAP_FRAME_H

#include "mavlink.h"
#include "odometry.h"

/** Pose of the local frame in the map. */
typedef struct map_frame {
    uint64_t t_ns;
    double position_m[3], euler_rad[3]; /**< Roll and pitch are those of numerical error once gravity is known. */
    double sigma_m, sigma_yaw_rad;      /**< Deviations of the vehicle in the map: each axis, yaw. */
} map_frame_t;

/** Its pose. 0: not known, as the vehicle is not located in the map, or no local frame has begun. */
int map_frame_of(map_frame_t *out, const odometry_frame_t *local, const vfront_map_t *map, uint64_t t_ns);

/** LOCAL_POSITION_NED_SYSTEM_GLOBAL_OFFSET. */
void map_frame_message(mavlink_message_t *message, const map_frame_t *frame);

#endif
