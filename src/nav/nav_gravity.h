/* SPDX-License-Identifier: MIT */
/* Check of an attitude against the accelerometer, for an estimate that continued with two cameras only, before it uses
 * samples again.
 *
 * In      states of the frames, and the forces measured between them, which the estimator does not use because the
 *         rates are in doubt
 * Out     1 if the attitude contradicts gravity
 * Rule    difference: force in odometry axes minus acceleration and gravity, mean over VF_GRAVITY_FRAMES frames. Above
 *         VF_GRAVITY_MAX_M_S2 the attitude is wrong: images rotated the state otherwise than the IMU rotated, as
 *         inverted images or tracks on a moving object do.
 * Exact   double precision in one order, on the host
 */
#ifndef VF_NAV_GRAVITY_H
#define VF_NAV_GRAVITY_H

#include "math/quaternion.h"
#include "vfront.h"

/** Number of frames over which the acceleration difference is averaged. */
#define VF_GRAVITY_FRAMES 20
/** Least number of averaged frames for a decision. */
#define VF_GRAVITY_MIN_FRAMES 10

/** Largest mean difference between measured and expected specific force [m/s^2]. A tilt error of 0.2 rad gives 2 m/s^2;
 *  aliased rotor vibration of 1 m/s^2 stays at half of it. */
#define VF_GRAVITY_MAX_M_S2 2.0

struct vf_nav_gravity {
    double difference[3]; /* measured minus expected specific force, mean over frames, odometry axes [m/s^2] */
    uint32_t frames;      /* number of averaged frames, at most VF_GRAVITY_FRAMES */
    uint32_t reserved;
};

/** Adds a frame to the mean difference between measured and expected force. nav, before: states of this and of the
 *  previous frame; imu: `count` samples, of which those between the two frames are used. */
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
        double difference = k == 2 ? -gravity_m_s2 : 0.0;
        for (int c = 0; c < 3; c++) difference += R[3 * k + c] * (force[c] / taken - nav->accel_bias_m_s2[c]);
        difference -= (nav->velocity_mps[k] - before->velocity_mps[k]) * over_dt;
        g->difference[k] += (difference - g->difference[k]) / g->frames;
    }
}

/** 1 if the accelerometer contradicts the attitude: mean difference above VF_GRAVITY_MAX_M_S2, over enough frames. */
static inline int vf_nav_gravity_contradicts(const struct vf_nav_gravity *g)
{
    double square = 0.0;
    for (int k = 0; k < 3; k++) square += g->difference[k] * g->difference[k];
    return g->frames >= VF_GRAVITY_MIN_FRAMES && square > VF_GRAVITY_MAX_M_S2 * VF_GRAVITY_MAX_M_S2;
}

#endif
