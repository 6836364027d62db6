/* SPDX-License-Identifier: MIT */
#include "propagate.h"

#include "samples.h"

/** 1 if no covariance exceeds the product of both standard deviations in magnitude. Tolerance for rounding:
 *  VF_NAV_ROUNDING of the product, plus its square of the larger variance. */
static int correlations_valid(const double covariance[120])
{
    for (int i = 0; i < VF_NAV_ERRORS; i++)
        for (int j = i + 1; j < VF_NAV_ERRORS; j++) {
            const double a = covariance[vf_nav_index(i, i)], b = covariance[vf_nav_index(j, j)];
            const double most = (1.0 + VF_NAV_ROUNDING) * (sqrt(a) * sqrt(b)) +
                                VF_NAV_ROUNDING * VF_NAV_ROUNDING * (a > b ? a : b);
            if (!vf_within(covariance[vf_nav_index(i, j)], -most, most)) return 0;
        }
    return 1;
}

static int nav_valid(const vfront_nav_t *nav)
{
    const double *q = nav->q_odom_imu, square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    int good = vf_all_within(nav->position_m, 3, VF_NAV_MAX_M) && vf_all_within(nav->velocity_mps, 3, VF_NAV_MAX_MPS) &&
               vf_within(square, 1.0 - VF_NAV_ROUNDING, 1.0 + VF_NAV_ROUNDING) &&
               vf_all_within(nav->gyro_bias_rad_s, 3, 10.0) && vf_all_within(nav->accel_bias_m_s2, 3, 100.0) &&
               vf_all_within(nav->covariance, 120, VF_NAV_MAX_M * VF_NAV_MAX_M);
    for (int i = 0; i < VF_NAV_ERRORS; i++) good = good && nav->covariance[vf_nav_index(i, i)] >= 0.0;
    return good && correlations_valid(nav->covariance) && !(nav->flags & VFRONT_NAV_NO_GRAVITY);
}

static int samples_valid(const vfront_imu_t *imu, uint32_t n)
{
    int good = n >= 1 && n <= VFRONT_PROPAGATE_SAMPLES;
    for (uint32_t i = 0; good && i < n; i++)
        good = vf_imu_gyro_valid(&imu[i]) && vf_imu_accel_valid(&imu[i]) && (i == 0 || imu[i].t_ns > imu[i - 1].t_ns);
    return good;
}

/** 1 if samples cover from_ns..to_ns: intervals between samples, before the first and after the last one are at most
 *  VFRONT_IMU_GAP_NS. With one sample the limit is max_interval_ns, because the rate of change of the motion is
 *  unknown. */
static int is_covered(const vfront_imu_t *imu, uint32_t n, uint64_t from_ns, uint64_t to_ns, uint64_t max_interval_ns)
{
    const uint64_t limit_ns = n > 1 ? VFRONT_IMU_GAP_NS : max_interval_ns;
    if (imu[0].t_ns > from_ns && imu[0].t_ns - from_ns > limit_ns) return 0;
    if (to_ns > imu[n - 1].t_ns && to_ns - imu[n - 1].t_ns > limit_ns) return 0;
    for (uint32_t i = 1; i < n; i++)
        if (imu[i].t_ns > from_ns && imu[i - 1].t_ns < to_ns && imu[i].t_ns - imu[i - 1].t_ns > limit_ns) return 0;
    return 1;
}

vfront_status_t vfront_propagate(const vfront_nav_t *nav, const vfront_imu_noise_t *noise, const vfront_imu_t *imu,
                                 uint32_t n, uint64_t t_ns, vfront_nav_t *out)
{
    if (!nav || !noise || !out || !imu) return VFRONT_E_NULL;
    if (vf_imu_noise_wrong(noise)) return VFRONT_E_CALIBRATION;
    if (!nav_valid(nav)) return VFRONT_E_NAV;
    if (!samples_valid(imu, n)) return VFRONT_E_IMU;
    const uint64_t to_ns = t_ns == VFRONT_IMU_LAST ? imu[n - 1].t_ns : t_ns;
    if (to_ns < nav->t_ns || to_ns - nav->t_ns > VFRONT_PROPAGATE_NS) return VFRONT_E_TIME;
    struct vf_imu_model model = vf_imu_model_of(noise, imu, n);
    double change[2];
    vf_imu_change(&imu[0], &imu[n - 1], change);
    vf_imu_extrapolate(&model, change);
    if (to_ns > nav->t_ns && !is_covered(imu, n, nav->t_ns, to_ns, model.max_interval_ns)) return VFRONT_E_IMU;
    vfront_nav_t now = *nav;
    now.flags &= ~(uint32_t)VFRONT_NAV_STATIONARY;
    while (now.t_ns < to_ns) {
        const uint64_t next_ns = to_ns - now.t_ns > VF_NAV_PREINTEGRAL_NS ? now.t_ns + VF_NAV_PREINTEGRAL_NS : to_ns;
        struct vf_preintegral d;
        vf_preintegrate(&d, &model, now.gyro_bias_rad_s, now.accel_bias_m_s2, imu, n, now.t_ns, next_ns);
        if (!vf_nav_propagate(&now, noise, &d)) return VFRONT_E_NAV;
        now.t_ns = next_ns;
    }
    *out = now;
    return VFRONT_OK;
}
