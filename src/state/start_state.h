/* SPDX-License-Identifier: MIT */
/* Start: state and covariance of the newest frame, and whether they are told.
 *
 * In      values of the states, rows of the newest frame's errors, sum of squared residuals
 * Out     vfront_nav_t; its deviations
 * Exact   double precision in one order
 */
#ifndef VF_START_STATE_H
#define VF_START_STATE_H

#include "start_guess.h"

/** Errors of the state by those of the solution, in axes turned by Z about z, with a yaw that is 0: row-major. */
VF_FN void vf_start_map(const double Z[9], const double v[3], double F[225])
{
    const int n = VF_NAV_ERRORS;
    memset(F, 0, 225 * sizeof *F);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            F[n * (VF_NAV_W + r) + VF_NAV_W + c] = r < 2 && c < 2 ? Z[3 * r + c] : 0.0;
            F[n * (VF_NAV_V + r) + VF_NAV_V + c] = Z[3 * r + c];
        }
    F[n * VF_NAV_V + VF_NAV_W + 2] = v[1]; /* minus z x v */
    F[n * (VF_NAV_V + 1) + VF_NAV_W + 2] = -v[0];
    for (int k = VF_NAV_GYRO; k < n; k++) F[(n + 1) * k] = 1.0;
}

/** out = F P F', upper triangle as in vfront_nav_t, times `factor`. */
VF_FN void vf_start_spread(const double F[225], const double P[225], double factor, double out[120])
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

/** Variance that errors shared by all motions give: the mean of their covariance, of rows and columns `from`..from + 2,
 *  as a rate, in axes that R turns those of the camera to; added to a block of P at row and column `at`. */
VF_FN void vf_start_shared(const struct vf_start *s, int from, const double R[9], double *P, int at)
{
    double S[9], M[9], T[9];
    uint32_t count = 0;
    memset(S, 0, sizeof S);
    for (uint32_t i = 1; i < s->frames; i++) {
        const struct vf_start_motion *m = &s->motion[i];
        const double dt = s->frame[i].motion.dt_s;
        if (!(from ? m->turns : m->metric)) continue;
        count++;
        for (int k = 0; k < 9; k++) S[k] += m->P[6 * (from + k / 3) + from + k % 3] / (dt * dt);
    }
    vf_relative_product(R, S, M);
    for (int k = 0; k < 9; k++) T[k] = R[k % 3 * 3 + k / 3];
    vf_relative_product(M, T, S);
    for (int k = 0; k < 9 && count; k++) P[VF_NAV_ERRORS * (at + k / 3) + at + k % 3] += S[k] / count;
}

/** State with the values of a frame but for its covariance; Z: turn about z after which the yaw is 0. */
VF_FN void vf_start_place(const struct vf_window_value *x, vfront_nav_t *nav, double Z[9])
{
    double R[9], M[9], T[9];
    vf_quaternion_matrix(x->q, R);
    vf_start_upright(R + 6, nav->q_odom_imu);
    vf_quaternion_matrix(nav->q_odom_imu, M);
    for (int k = 0; k < 9; k++) T[k] = R[k % 3 * 3 + k / 3];
    vf_relative_product(M, T, Z);
    vf_transform_double(Z, x->v, nav->velocity_mps);
    memcpy(nav->gyro_bias_rad_s, x->bias, sizeof nav->gyro_bias_rad_s);
    memcpy(nav->accel_bias_m_s2, x->bias + 3, sizeof nav->accel_bias_m_s2);
}

/** Its covariance by that of the errors of the solution, times `factor`. */
VF_FN void vf_start_finish(vfront_nav_t *nav, const double P[225], const double Z[9], double factor)
{
    double F[225];
    vf_start_map(Z, nav->velocity_mps, F);
    vf_start_spread(F, P, factor, nav->covariance);
    for (int k = VF_NAV_P; k < VF_NAV_V; k++)
        if (k < VF_NAV_W || k == VF_NAV_W + 2) nav->covariance[vf_nav_index(k, k)] = VF_START_HELD * VF_START_HELD;
}

/** State at the newest frame. The covariance is wider by the residuals where they are larger than noise makes them. */
VF_FN void vf_start_tell(struct vf_start *s)
{
    const struct vf_window_slot *newest = &s->frame[s->frames - 1];
    vfront_nav_t *nav = &s->nav;
    double P[225], R[9], Z[9], T[9];
    const double ratio = s->chi2 / (double)s->freedom;
    vf_start_place(&newest->value, nav, Z);
    vf_quaternion_matrix(newest->value.q, R);
    vf_start_covariance(s, P);
    vf_relative_product(R, s->rig.R_imu_cam, T);
    vf_start_shared(s, 0, T, P, VF_NAV_V);
    vf_start_shared(s, 3, s->rig.R_imu_cam, P, VF_NAV_GYRO);
    vf_start_finish(nav, P, Z, ratio > 1.0 ? ratio : 1.0);
    nav->t_ns = newest->t_ns;
}

/** Largest deviation in tilt; largest in velocity along the axes, in a frame that turns with the tilt: of body axes. */
VF_FN void vf_start_sigmas(const vfront_nav_t *nav, double *tilt_rad, double *velocity_mps)
{
    const double *c = nav->covariance, *v = nav->velocity_mps;
    const double a = c[vf_nav_index(3, 3)], b = c[vf_nav_index(4, 4)], d = c[vf_nav_index(3, 4)], half = 0.5 * (a - b);
    const double by[3][2] = {{0.0, -v[2]}, {v[2], 0.0}, {-v[1], v[0]}}; /* w x v, by w_x and w_y */
    *tilt_rad = sqrt(0.5 * (a + b) + sqrt(half * half + d * d));
    *velocity_mps = 0.0;
    for (int k = 0; k < 3; k++) {
        const int r = VF_NAV_V + k;
        const double x = -by[k][0], y = -by[k][1]; /* error of the velocity less w x v */
        const double variance = c[vf_nav_index(r, r)] + 2.0 * (x * c[vf_nav_index(3, r)] + y * c[vf_nav_index(4, r)]) +
                                x * x * a + y * y * b + 2.0 * x * y * d;
        const double sigma = sqrt(variance);
        if (!(sigma <= *velocity_mps)) *velocity_mps = sigma;
    }
}

/** Largest sum of squares of n deviations that is there by chance: 5 sigma, by Wilson and Hilferty's cube. */
VF_FN double vf_start_chance(double n)
{
    const double a = 2.0 / (9.0 * n), cube = 1.0 - a + 5.0 * sqrt(a);
    return n * cube * cube * cube;
}

/** Results of the solution. moved: square of the last step over its covariance. */
VF_FN enum vf_start_state vf_start_judge(const struct vf_start *s, double moved, int rest)
{
    const double *v = s->nav.velocity_mps, speed = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    if (!(s->chi2 < VF_START_MISFIT * vf_start_chance(s->freedom))) return VF_START_CONTRADICTS;
    if (!(s->tilt_rad < VF_START_TILT_RAD && s->velocity_mps < VF_START_MPS + VF_START_SPEED * speed && moved < 0.1))
        return VF_START_WEAK;
    return rest ? VF_START_STANDING : VF_START_MOVING;
}

#endif
