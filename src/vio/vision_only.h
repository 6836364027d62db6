/* SPDX-License-Identifier: MIT */
/* Motion between two frames without IMU samples, extrapolated at constant angular rate and velocity. It has the form of
 * an interval with IMU samples, but large variances.
 *
 * In      attitude and angular rate of the newest frame; time offset and biases (struct vf_vio_carried)
 * Out     struct vf_vio_imu_interval
 * Rule    Rotation: at the last angular rate. Specific force: cancels gravity in the last attitude, so that the
 *         velocity stays constant. Covariance: imu/extrapolate.h. Biases are not measured; their random walk continues.
 * Exact   double precision in one order, on the host
 */
#ifndef VF_VIO_VISION_ONLY_H
#define VF_VIO_VISION_ONLY_H

#include "imu/extrapolate.h"
#include "factor_inertial.h"

/** Largest rotation that is extrapolated [rad]; with a larger one, the attitude stays constant. */
#define VF_VISION_ONLY_TURN_RAD 1.0

/** Computes the motion from the newest frame to the later time t_ns [ns]. q: attitude of the newest frame; rate: its
 *  angular rate, IMU axes [rad/s]. */
VF_FN void vf_vio_vision_only_interval(struct vf_vio_imu_interval *m, const struct vf_vio_carried *c,
                                       const vfront_imu_noise_t *noise, const double q[VF_QUATERNION],
                                       const double rate[VF_AXES], uint64_t t_ns)
{
    double R[VF_AXES * VF_AXES], turn[VF_AXES];
    memset(m, 0, sizeof *m);
    const double dt = (double)(t_ns - c->t_ns) * 1e-9 + (c->offset_s - c->own_offset_s);
    m->t_ns = t_ns;
    m->motion.dt_s = dt;
    m->motion.flags = VFRONT_NAV_GAP;
    memcpy(m->bias, c->bias, sizeof m->bias);
    vf_quaternion_matrix(q, R);
    const double angle = sqrt(rate[0] * rate[0] + rate[1] * rate[1] + rate[2] * rate[2]) * dt;
    for (int k = 0; k < VF_AXES; k++) {
        turn[k] = angle < VF_VISION_ONLY_TURN_RAD ? rate[k] * dt : 0.0;
        m->before[k] = m->rate[k] = rate[k];
        m->motion.v[k] = R[6 + k] * noise->gravity_m_s2 * dt;
        m->motion.p[k] = 0.5 * R[6 + k] * noise->gravity_m_s2 * dt * dt;
    }
    vf_quaternion_exponential(turn, m->motion.q);
    vf_vision_only_covariance(m->motion.v, m->motion.p, dt, m->motion.P);
    vf_inertial_whitening_of(&m->whitening, &m->motion, noise);
}

#endif
