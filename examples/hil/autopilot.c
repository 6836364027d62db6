/* SPDX-License-Identifier: MIT */
#include "autopilot.h"

#include <math.h>
#include <string.h>

/* Values of MAVLink's enumerations. */
enum { TYPE_QUADROTOR = 2, AUTOPILOT_ARDUPILOT = 3, MODE_SAFETY_ARMED = 128, SYSTEM = 1, COMPONENT = 1 };

/* From x forward, y left, z up to x forward, y right, z down, of both the local frame and the body. */
static const double flip[3] = {1.0, -1.0, -1.0};

static mavlink_message_t *add(mavlink_message_t *out, int *count, uint32_t id)
{
    mavlink_message_t *m = &out[(*count)++];
    memset(m, 0, sizeof *m);
    m->id = id;
    m->system = SYSTEM;
    m->component = COMPONENT;
    return m;
}

static void set_attitude(mavlink_message_t *m, const pilot_t *p, const vfront_imu_t *sample)
{
    const double *R = p->now.R_local_body; /* signs of flip[r] * flip[c]: those of the first row and column change */
    float *const rate[3] = {m->as.attitude.rollspeed, m->as.attitude.pitchspeed, m->as.attitude.yawspeed};
    m->as.attitude.roll[0] = (float)atan2(R[7], R[8]);
    m->as.attitude.pitch[0] = (float)asin(fmax(-1.0, fmin(1.0, R[6])));
    m->as.attitude.yaw[0] = (float)atan2(-R[3], R[0]);
    for (int k = 0; k < 3; k++) rate[k][0] = (float)(flip[k] * (sample->gyro_rad_s[k] - p->gyro_bias_rad_s[k]));
}

static void set_position(mavlink_message_t *m, const pilot_t *p)
{
    float *const at[3] = {m->as.local_position.x, m->as.local_position.y, m->as.local_position.z};
    float *const speed[3] = {m->as.local_position.vx, m->as.local_position.vy, m->as.local_position.vz};
    for (int k = 0; k < 3; k++) {
        at[k][0] = (float)(flip[k] * p->now.p_m[k]);
        speed[k][0] = (float)(flip[k] * p->now.v_mps[k]);
    }
}

int autopilot_messages(const pilot_t *p, const vfront_imu_t *sample, int has_pose,
                       mavlink_message_t out[AUTOPILOT_MESSAGES])
{
    int count = 0;
    const uint32_t boot_ms = (uint32_t)(p->now.t_ns / 1000000u);
    mavlink_message_t *m = add(out, &count, MAVLINK_HEARTBEAT);
    m->as.heartbeat.type[0] = TYPE_QUADROTOR;
    m->as.heartbeat.autopilot[0] = AUTOPILOT_ARDUPILOT;
    m->as.heartbeat.base_mode[0] = p->phase == PILOT_WAITS ? 0 : MODE_SAFETY_ARMED;
    if (!has_pose || !p->has_state) return count;
    m = add(out, &count, MAVLINK_ATTITUDE);
    m->as.attitude.time_boot_ms[0] = boot_ms;
    set_attitude(m, p, sample);
    if (p->phase == PILOT_BLIND) return count;
    m = add(out, &count, MAVLINK_LOCAL_POSITION_NED);
    m->as.local_position.time_boot_ms[0] = boot_ms;
    set_position(m, p);
    return count;
}
