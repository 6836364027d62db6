/* SPDX-License-Identifier: MIT */
/* Initialization: state and covariance of the newest frame, and the decision to report them.
 *
 * In      values of the states, rows of the newest frame's errors, sum of squared residuals
 * Out     vfront_nav_t; its standard deviations
 * Exact   double precision in one order
 */
#ifndef VF_FIRST_STATE_H
#define VF_FIRST_STATE_H

#include "guess.h"

/** Computes the Jacobian of the reported state's errors by the solution's errors, row-major. The reported state is the
 *  solution rotated about the vertical by Z, and has no yaw error. v: reported velocity. */
VF_FN void vf_start_output_jacobian(const double Z[9], const double v[3], double F[225])
{
    const int n = VF_NAV_ERRORS;
    memset(F, 0, 225 * sizeof *F);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            F[n * (VF_NAV_W + r) + VF_NAV_W + c] = r < 2 && c < 2 ? Z[3 * r + c] : 0.0;
            F[n * (VF_NAV_V + r) + VF_NAV_V + c] = Z[3 * r + c];
        }
    F[n * VF_NAV_V + VF_NAV_W + 2] = v[1]; /* derivative -z x v: a yaw error of the solution rotates the velocity v */
    F[n * (VF_NAV_V + 1) + VF_NAV_W + 2] = -v[0];
    for (int k = VF_NAV_GYRO; k < n; k++) F[(n + 1) * k] = 1.0;
}

/** Computes out = factor F P F', the upper triangle as in vfront_nav_t. */
VF_FN void vf_start_transform_covariance(const double F[225], const double P[225], double factor, double out[120])
{
    double M[225];
    const int n = VF_NAV_ERRORS;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double sum = 0.0;
            for (int k = 0; k < n; k++) sum += F[n * i + k] * P[n * k + j];
            M[n * i + j] = sum;
        }
    for (int i = 0; i < n; i++)
        for (int j = i; j < n; j++) {
            double sum = 0.0;
            for (int k = 0; k < n; k++) sum += M[n * i + k] * F[n * j + k];
            out[vf_nav_index(i, j)] = factor * sum;
        }
}

/** Adds the variance of an error common to all motions to the 3x3 block of P at row and column `at`. The variance is
 *  the mean of the motions' covariances in rows and columns from .. from + 2, divided by the squared frame interval. R:
 *  rotation from camera axes. */
VF_FN void vf_start_add_shared_error(const struct vf_start *s, int from, const double R[9], double *P, int at)
{
    double S[9], M[9], T[9];
    uint32_t count = 0;
    memset(S, 0, sizeof S);
    for (uint32_t i = 1; i < s->frames; i++) {
        const struct vf_start_motion *m = &s->motion[i];
        const double dt = s->frame[i].motion.dt_s;
        if (!(from ? m->has_rotation : m->metric)) continue;
        count++;
        for (int k = 0; k < 9; k++) S[k] += m->P[6 * (from + k / 3) + from + k % 3] / (dt * dt);
    }
    vf_relative_product(R, S, M);
    for (int k = 0; k < 9; k++) T[k] = R[k % 3 * 3 + k / 3];
    vf_relative_product(M, T, S);
    for (int k = 0; k < 9 && count; k++) P[VF_NAV_ERRORS * (at + k / 3) + at + k % 3] += S[k] / count;
}

/** Writes attitude, velocity and biases of a frame to nav, with yaw 0. Z: out, rotation about the vertical that makes
 *  the yaw 0. */
VF_FN void vf_start_output_values(const struct vf_vio_state *x, vfront_nav_t *nav, double Z[9])
{
    double R[9], M[9], T[9];
    vf_quaternion_matrix(x->q, R);
    vf_start_align_up(R + 6, nav->q_odom_imu);
    vf_quaternion_matrix(nav->q_odom_imu, M);
    for (int k = 0; k < 9; k++) T[k] = R[k % 3 * 3 + k / 3];
    vf_relative_product(M, T, Z);
    vf_transform_double(Z, x->v, nav->velocity_mps);
    memcpy(nav->gyro_bias_rad_s, x->bias, sizeof nav->gyro_bias_rad_s);
    memcpy(nav->accel_bias_m_s2, x->bias + 3, sizeof nav->accel_bias_m_s2);
}

/** Writes the covariance of the reported state from the covariance P of the solution's errors, times `factor`. Z:
 *  rotation from solution to reported state. Position and yaw get the standard deviation VF_START_GAUGE_SIGMA. */
VF_FN void vf_start_output_covariance(vfront_nav_t *nav, const double P[225], const double Z[9], double factor)
{
    double F[225];
    vf_start_output_jacobian(Z, nav->velocity_mps, F);
    vf_start_transform_covariance(F, P, factor, nav->covariance);
    for (int k = VF_NAV_P; k < VF_NAV_V; k++)
        if (k < VF_NAV_W || k == VF_NAV_W + 2)
            nav->covariance[vf_nav_index(k, k)] = VF_START_GAUGE_SIGMA * VF_START_GAUGE_SIGMA;
}

/** Variance of the time offset [s^2]: of the solution, and by the scale. */
VF_FN double vf_start_offset_variance(const struct vf_start *s)
{
    const double by_scale = s->offset_by_scale_s * s->scale;
    return s->offset_sigma_s * s->offset_sigma_s + by_scale * by_scale;
}

/** Writes the state at the newest frame to s->nav. Residuals above the noise level inflate its covariance by chi2 /
 *  dof. */
VF_FN void vf_start_output(struct vf_start *s)
{
    const struct vf_vio_slot *newest = &s->frame[s->frames - 1];
    vfront_nav_t *nav = &s->nav;
    double P[225], R[9], Z[9], T[9];
    const double ratio = s->chi2 / (double)s->dof;
    memset(s->mean_rate, 0, sizeof s->mean_rate);
    for (uint32_t i = 1; i < s->frames; i++)
        for (int k = 0; k < VF_COLUMN_ACCEL; k++)
            s->mean_rate[k] += (s->motion[i].rate[k] - newest->value.bias[k]) / (s->frames - 1);
    vf_start_output_values(&newest->value, nav, Z);
    vf_quaternion_matrix(newest->value.q, R);
    vf_start_covariance(s, P);
    vf_relative_product(R, s->rig.R_imu_cam, T);
    vf_start_add_shared_error(s, 0, T, P, VF_NAV_V);
    vf_start_add_shared_error(s, 3, s->rig.R_imu_cam, P, VF_NAV_GYRO);
    vf_start_output_covariance(nav, P, Z, ratio > 1.0 ? ratio : 1.0);
    nav->t_ns = newest->t_ns;
    nav->offset_s = s->offset_s;
    nav->offset_sigma_s = sqrt((ratio > 1.0 ? ratio : 1.0) * vf_start_offset_variance(s));
}

/** Computes the largest standard deviation of the tilt, and the largest of the velocity in body axes, which rotate with
 *  the tilt error. */
VF_FN void vf_start_sigmas(const vfront_nav_t *nav, double *tilt_rad, double *velocity_mps)
{
    const double *c = nav->covariance, *v = nav->velocity_mps;
    const double a = c[vf_nav_index(3, 3)], b = c[vf_nav_index(4, 4)], d = c[vf_nav_index(3, 4)], half = 0.5 * (a - b);
    /* derivatives of w x v by the tilt errors w_x and w_y */
    const double by[3][2] = {{0.0, -v[2]}, {v[2], 0.0}, {-v[1], v[0]}};
    *tilt_rad = sqrt(0.5 * (a + b) + sqrt(half * half + d * d));
    *velocity_mps = 0.0;
    for (int k = 0; k < 3; k++) {
        const int r = VF_NAV_V + k;
        const double x = -by[k][0], y = -by[k][1]; /* effect of w_x and w_y on the velocity error minus w x v */
        const double variance = c[vf_nav_index(r, r)] + 2.0 * (x * c[vf_nav_index(3, r)] + y * c[vf_nav_index(4, r)]) +
                                x * x * a + y * y * b + 2.0 * x * y * d;
        const double sigma = sqrt(variance);
        if (!(sigma <= *velocity_mps)) *velocity_mps = sigma;
    }
}

/** Quantile of a chi-square sum with n degrees of freedom that is exceeded once in 10^6: Wilson and Hilferty. */
VF_FN double vf_start_chi2_bound(double n)
{
    const double a = 2.0 / (9.0 * n), cube = 1.0 - a + VF_NORMAL_E6 * sqrt(a);
    return n * cube * cube * cube;
}

/** Decides on the status of a solution. step_chi2: square of the newest frame's last step, normalised by the step's
 *  covariance. stationary: 1: IMU and camera are stationary. */
VF_FN enum vf_start_status vf_start_decide(const struct vf_start *s, double step_chi2, int stationary)
{
    const double *v = s->nav.velocity_mps, speed = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    if (!(s->chi2 < VF_START_MAX_CHI2_RATIO * vf_start_chi2_bound(s->dof))) return VF_START_INCONSISTENT;
    if (s->offset_s > VF_VIO_TIME_OFFSET_MAX_S || s->offset_s < -VF_VIO_TIME_OFFSET_MAX_S) return VF_START_INCONSISTENT;
    if (!(s->tilt_rad < VF_START_MAX_TILT_RAD &&
          s->velocity_mps < VF_START_MAX_MPS + VF_START_MAX_SPEED_SHARE * speed && step_chi2 < VF_START_MAX_STEP_CHI2))
        return VF_START_UNCERTAIN;
    return stationary ? VF_START_STATIONARY : VF_START_MOVING;
}

#endif
