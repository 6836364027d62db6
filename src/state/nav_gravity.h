/* SPDX-License-Identifier: MIT */
/* Attitude of a state that goes on by two cameras, held against the accelerometer, before the readings are used again.
 *
 * In      states of the frames, and the forces read between them, which are not used: the rates are in doubt
 * Out     whether the attitude contradicts gravity
 * Rule    force in axes of the odometry frame less that of the gain of speed and of gravity, in the mean over
 *         VF_GRAVITY_FRAMES frames; beyond VF_GRAVITY_M_S2 the attitude is not upright: pictures have turned the state
 *         as the IMU has not been turned, as pictures upside down do, or tracks on a body
 * Exact   double precision in one order, on the host
 */
#ifndef VF_NAV_GRAVITY_H
#define VF_NAV_GRAVITY_H

#include "math/quaternion.h"
#include "vfront.h"

/** Frames of the mean, and least number of them that say anything. */
#define VF_GRAVITY_FRAMES 20
#define VF_GRAVITY_LEAST 10

/** Largest difference [m/s^2]: 0.2 rad of tilt, twice the aliases of rotors that shake an IMU at 1 m/s^2. */
#define VF_GRAVITY_M_S2 2.0

struct vf_nav_gravity {
    double apart[3]; /* mean difference, odometry frame [m/s^2] */
    uint32_t frames; /* of it, VF_GRAVITY_FRAMES at most */
    uint32_t reserved;
};

/** A frame's state behind the one before, and `count` readings, of which those between them are taken. */
static inline void vf_nav_gravity_add(struct vf_nav_gravity *g, const vfront_nav_t *nav, const vfront_nav_t *before,
                                      const vfront_imu_t *imu, uint32_t count, double gravity_m_s2)
{
    const double over_dt = 1e9 / (double)(nav->t_ns - before->t_ns);
    double R[9], force[3] = {0.0, 0.0, 0.0};
    uint32_t taken = 0;
    vf_quaternion_matrix(nav->q_odom_imu, R);
    for (uint32_t i = 0; i < count; i++) {
        const int between = imu[i].t_ns > before->t_ns && imu[i].t_ns <= nav->t_ns;
        taken += (uint32_t)between;
        for (int k = 0; k < 3 && between; k++) force[k] += imu[i].accel_m_s2[k];
    }
    if (!taken) return;
    g->frames += g->frames < VF_GRAVITY_FRAMES;
    for (int k = 0; k < 3; k++) {
        double apart = k == 2 ? -gravity_m_s2 : 0.0;
        for (int c = 0; c < 3; c++) apart += R[3 * k + c] * (force[c] / taken - nav->accel_bias_m_s2[c]);
        apart -= (nav->velocity_mps[k] - before->velocity_mps[k]) * over_dt;
        g->apart[k] += (apart - g->apart[k]) / g->frames;
    }
}

/** 1 if the attitude contradicts gravity. */
static inline int vf_nav_gravity_contradicts(const struct vf_nav_gravity *g)
{
    double square = 0.0;
    for (int k = 0; k < 3; k++) square += g->apart[k] * g->apart[k];
    return g->frames >= VF_GRAVITY_LEAST && square > VF_GRAVITY_M_S2 * VF_GRAVITY_M_S2;
}

#endif
