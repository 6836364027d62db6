/* SPDX-License-Identifier: MIT */
#include "truth.h"

#include <math.h>
#include <string.h>

#define TURN_RAD 6.283185307179586

void truth_add(truth_t *t, const airframe_t *a, uint64_t t_ns)
{
    const uint32_t i = t->count++ % TRUTH_HISTORY;
    t->at[i].t_ns = t_ns;
    memcpy(t->at[i].p_m, a->p_m, sizeof t->at[i].p_m);
    t->at[i].yaw_rad = atan2(a->R_world_body[3], a->R_world_body[0]);
}

/** Newest one that is not later than a time; -1: none is left. */
static int index_of(const truth_t *t, uint64_t t_ns)
{
    for (uint32_t i = 1; i <= TRUTH_HISTORY && i <= t->count; i++) {
        const uint32_t k = (t->count - i) % TRUTH_HISTORY;
        if (t->at[k].t_ns <= t_ns) return (int)k;
    }
    return -1;
}

int truth_error(const truth_t *t, uint64_t t_ns, const double position_m[3], double yaw_rad, double error[4])
{
    const int i = index_of(t, t_ns);
    if (i < 0) return 0;
    const double c = cos(t->yaw_rad), s = sin(t->yaw_rad), *p = t->at[i].p_m, *o = t->origin_m;
    error[0] = position_m[0] - (c * (p[0] - o[0]) + s * (p[1] - o[1]));
    error[1] = position_m[1] - (s * (p[0] - o[0]) - c * (p[1] - o[1])); /* y to the right */
    error[2] = position_m[2] + (p[2] - o[2]);
    error[3] = remainder(yaw_rad + t->at[i].yaw_rad - t->yaw_rad, TURN_RAD);
    return 1;
}

/** The local frame begins where the airframe is. */
static void begin_frame(truth_t *t, uint64_t t_ns)
{
    const int i = index_of(t, t_ns);
    if (t->has_frame || i < 0) return;
    t->has_frame = 1;
    memcpy(t->origin_m, t->at[i].p_m, sizeof t->origin_m);
    t->yaw_rad = t->at[i].yaw_rad;
}

double truth_yaw(const mavlink_f32 q[4])
{
    const double w = (double)q[0], x = (double)q[1], y = (double)q[2], z = (double)q[3];
    return atan2(2.0 * (w * z + x * y), 1.0 - 2.0 * (y * y + z * z));
}

void truth_compare(truth_t *t, const mavlink_message_t *m, truth_errors_t *errors)
{
    const mavlink_f32 *P = m->as.odometry.pose_covariance;
    const double position_m[3] = {(double)*m->as.odometry.x, (double)*m->as.odometry.y, (double)*m->as.odometry.z};
    const double variance[4] = {(double)P[0], (double)P[6], (double)P[11], (double)P[20]};
    const uint64_t t_ns = m->as.odometry.time_usec[0] * 1000u;
    double square = 0.0, error[4];
    if (m->as.odometry.quality[0] <= 0) return;
    begin_frame(t, t_ns);
    if (!truth_error(t, t_ns, position_m, truth_yaw(m->as.odometry.q), error)) return;
    for (int k = 0; k < 4; k++) {
        const double sigma = sqrt(variance[k]);
        if (k < 3) square += error[k] * error[k];
        if (k < 3) errors->sigma_m = fmax(errors->sigma_m, sigma);
        errors->worst_sigmas = fmax(errors->worst_sigmas, fabs(error[k]) / sigma);
    }
    if (!errors->messages++) errors->first_ns = t_ns;
    errors->worst_m = fmax(errors->worst_m, sqrt(square));
    errors->worst_rad = fmax(errors->worst_rad, fabs(error[3]));
    errors->sigma_yaw_rad = fmax(errors->sigma_yaw_rad, sqrt(variance[3]));
}
