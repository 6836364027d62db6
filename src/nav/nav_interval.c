/* SPDX-License-Identifier: MIT */
#include "nav_interval.h"

#include "vio/imu_interval.h"
#include "vio/vision_only.h"

#if VFRONT_VIO

vfront_imu_noise_t vf_nav_noise(const struct vf_nav_view *s)
{
    vfront_imu_noise_t noise = *s->imu;
    noise.gyro_density *= 0.01 * s->tuning.vio_imu_percent;
    noise.accel_density *= 0.01 * s->tuning.vio_imu_percent;
    return noise;
}

void vf_nav_drop_forces(struct vf_preintegral *d, const double q[VF_QUATERNION], double gravity_m_s2)
{
    double P[VF_ROWS * VF_ROWS], R[9];
    vf_quaternion_matrix(q, R);
    for (int k = 0; k < VF_AXES; k++) {
        d->v[k] = R[6 + k] * gravity_m_s2 * d->dt_s;
        d->p[k] = 0.5 * R[6 + k] * gravity_m_s2 * d->dt_s * d->dt_s;
    }
    vf_vision_only_covariance(d->v, d->p, d->dt_s, P);
    for (int i = 0; i < VF_ROW_V * VF_ROWS; i++)
        if (i % VF_ROWS < VF_ROW_V) P[i] = d->P[i];
    memcpy(d->P, P, sizeof P);
    for (int i = 6 * VF_ROW_V; i < 6 * VF_ROWS; i++) d->J[i] = 0.0;
}

void vf_nav_forget_biases(struct vf_vio_imu_interval *motion, int gyro)
{
    if (gyro) motion->whitening.inverse_walk[0] = 1.0 / VF_IMU_GYRO_BIAS_RAD_S;
    motion->whitening.inverse_walk[1] = 1.0 / VF_IMU_ACCEL_BIAS_M_S2;
}

/** Fills in the motion without IMU samples. Samples that are excluded may return with other biases: these are unknown
 *  again. */
static void vision_only(const struct vf_nav_view *s, const struct vf_nav_member *m, struct vf_vio_imu_interval *motion)
{
    const struct vf_nav *n = s->nav;
    vfront_imu_noise_t noise = vf_nav_noise(s);
    double rate[VF_AXES] = {0.0, 0.0, 0.0};
    if (n->no_gravity) noise.gravity_m_s2 = 0.0;
    if (m->before.t_ns && m->last.t_ns > m->before.t_ns)
        vf_vision_only_rate(m->before.q_odom_imu, m->last.q_odom_imu, (double)(m->last.t_ns - m->before.t_ns) * 1e-9,
                            rate);
    else if (n->no_gravity)
        memcpy(rate, n->rate, sizeof rate);
    vf_vio_vision_only_interval(motion, &m->next, &noise, m->last.q_odom_imu, rate, n->t_ns);
    if (n->excluded == 1) vf_nav_forget_biases(motion, 1);
}

void vf_nav_interval(const struct vf_nav_view *s, uint32_t which, struct vf_nav_member *m,
                     struct vf_vio_imu_interval *motion)
{
    const struct vf_nav *n = s->nav;
    const vfront_imu_noise_t noise = vf_nav_noise(s);
    if (n->vision_only || n->no_gravity || which == VF_BANK_NO_IMU) {
        vision_only(s, m, motion);
        return;
    }
    vf_vio_imu_interval_of(motion, &m->next, &noise, s->scale, n->imu, n->samples, n->t_ns);
    if (which != VF_BANK_NO_ACCEL) return;
    vf_nav_drop_forces(&motion->motion, m->last.q_odom_imu, noise.gravity_m_s2);
    motion->motion.flags |= VFRONT_NAV_GAP;
    vf_inertial_whitening_of(&motion->whitening, &motion->motion, &noise);
}

#endif
