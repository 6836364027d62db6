/* SPDX-License-Identifier: MIT */
#include "map_frame.h"

#include <math.h>
#include <string.h>

int map_frame_of(map_frame_t *out, const odometry_frame_t *local, const vfront_map_t *map, uint64_t t_ns)
{
    const double xyzw[4] = {map->q_map_odom[1], map->q_map_odom[2], map->q_map_odom[3], map->q_map_odom[0]};
    double R_map_odom[9], R[9], origin_m[3];
    if (map->state != VFRONT_MAP_GOOD || !local->is_set) return 0;
    pose_rotation(R_map_odom, xyzw);
    /* the local frame's origin in the odometry frame: R_local_odom (origin - first) + start = 0 */
    for (int i = 0; i < 3; i++) {
        origin_m[i] = local->first_m[i];
        for (int k = 0; k < 3; k++) origin_m[i] -= local->R_local_odom[3 * k + i] * local->start.position_m[k];
    }
    for (int i = 0; i < 3; i++) {
        const double over = i ? -1.0 : 1.0; /* y and z of the map's axes are turned over */
        out->position_m[i] = map->t_map_odom_m[i];
        for (int k = 0; k < 3; k++) out->position_m[i] += R_map_odom[3 * i + k] * origin_m[k];
        out->position_m[i] *= over;
        for (int j = 0; j < 3; j++) {
            R[3 * i + j] = 0.0;
            for (int k = 0; k < 3; k++) R[3 * i + j] += over * R_map_odom[3 * i + k] * local->R_local_odom[3 * j + k];
        }
    }
    out->t_ns = t_ns;
    out->euler_rad[0] = atan2(R[7], R[8]);
    out->euler_rad[1] = -asin(fmax(-1.0, fmin(1.0, R[6])));
    out->euler_rad[2] = atan2(R[3], R[0]);
    out->sigma_m = map->sigma_m;
    out->sigma_yaw_rad = map->sigma_rad;
    return 1;
}

void map_frame_message(mavlink_message_t *m, const map_frame_t *f)
{
    memset(m, 0, sizeof *m);
    m->id = MAVLINK_LOCAL_POSITION_NED_SYSTEM_GLOBAL_OFFSET;
    m->as.frame_offset.time_boot_ms[0] = (uint32_t)(f->t_ns / 1000000u);
    m->as.frame_offset.x[0] = (float)f->position_m[0];
    m->as.frame_offset.y[0] = (float)f->position_m[1];
    m->as.frame_offset.z[0] = (float)f->position_m[2];
    m->as.frame_offset.roll[0] = (float)f->euler_rad[0];
    m->as.frame_offset.pitch[0] = (float)f->euler_rad[1];
    m->as.frame_offset.yaw[0] = (float)f->euler_rad[2];
}
