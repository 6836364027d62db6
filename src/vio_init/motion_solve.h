/* SPDX-License-Identifier: MIT */
/* Initialization: joint linear least squares over all frames, in square-root form.
 *
 * In      frames with their preintegrals, derivatives of these by the time offset, and motions; values of the states
 * Out     refined values and time offset; whitened rows of the newest frame's errors, of the scale and of the offset
 * Exact   double precision in one order
 */
#ifndef VF_MOTION_SOLVE_H
#define VF_MOTION_SOLVE_H

#include "start.h"

/** Writes the whitened rows of a motion, translation then rotation, to s->factor and s->scale_jacobian. Residual:
 *  predicted minus measured motion. a, b: states of the previous and of the current frame. */
VF_FN void vf_start_motion_rows(struct vf_start *s, const struct vf_start_motion *m, const struct vf_vio_state *a,
                                const struct vf_vio_state *b)
{
    struct vf_inertial *f = &s->factor;
    double A[9], B[9], W[9], lever[2][3], baseline[3], arm[3], c[4], predicted[4], r[6], back[4];
    memset(f, 0, sizeof *f);
    vf_quaternion_matrix(a->q, A);
    vf_quaternion_matrix(b->q, B);
    vf_relative_product(B, s->rig.R_imu_cam, W); /* rotation from current camera axes to world axes */
    vf_transform_double(A, s->rig.p_imu_cam_m, lever[0]);
    vf_transform_double(B, s->rig.p_imu_cam_m, lever[1]);
    for (int k = 0; k < 3; k++) {
        baseline[k] = a->p[k] + lever[0][k] - b->p[k] - lever[1][k];
        arm[k] = baseline[k] + lever[1][k];
    }
    vf_transform_transposed(W, baseline, r);
    vf_quaternion_of_matrix(s->rig.R_imu_cam, c);
    vf_quaternion_multiply(b->q, c, back);
    for (int k = 1; k < 4; k++) back[k] = -back[k];
    vf_quaternion_multiply(a->q, c, predicted);
    vf_quaternion_multiply(back, predicted, predicted);
    vf_quaternion_difference(predicted, m->q, r + 3);
    for (int k = 0; k < 3; k++) r[k] -= m->t[k];
    vf_inertial_block(f, 0, VF_NAV_P, W, NULL, 1.0);
    vf_inertial_block(f, 0, VF_NAV_ERRORS + VF_NAV_P, W, NULL, -1.0);
    vf_inertial_block(f, 0, VF_NAV_W, W, lever[0], -1.0);
    vf_inertial_block(f, 0, VF_NAV_ERRORS + VF_NAV_W, W, arm, 1.0);
    vf_inertial_block(f, 3, VF_NAV_W, W, NULL, 1.0);
    vf_inertial_block(f, 3, VF_NAV_ERRORS + VF_NAV_W, W, NULL, -1.0);
    for (int k = 0; k < 6; k++) s->scale_jacobian[k] = k < 3 && m->metric ? -m->t[k] : 0.0;
    vf_solve_forward(m->L, r, 6, 6);
    vf_solve_forward(m->L, s->scale_jacobian, 6, 6);
    memcpy(f->r, r, sizeof r);
    for (int c2 = 0; c2 < VF_INERTIAL_COLUMNS; c2++) {
        for (int k = 0; k < 6; k++) r[k] = f->J[k][c2];
        vf_solve_forward(m->L, r, 6, 6);
        for (int k = 0; k < 6; k++) f->J[k][c2] = r[k];
    }
}

/** Writes s->shift_share. The derivatives by the time offset contain noise of the samples. Unreduced they would be a
 *  signal even at rest, and the offset would seem known and near 0. Their conditional mean given the measured ones is a
 *  share of these: 1 - noise / mean square. The mean square of noise alone is below its mean and VF_NORMAL_E6
 *  deviations. */
VF_FN void vf_start_shift_shares(struct vf_start *s)
{
    const double n = 3.0 * (s->frames - 1), largest = 1.0 + VF_NORMAL_E6 * sqrt(2.0 / n);
    for (int part = 0; part < 2; part++) {
        double square = 0.0, noise = 0.0;
        for (uint32_t i = 1; i < s->frames; i++) {
            const double *d = s->motion[i].shift + 3 * part;
            square += d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
            noise += 3.0 * s->motion[i].shift_noise[part];
        }
        s->shift_share[part] = square > largest * noise ? 1.0 - noise / square : 0.0;
    }
}

/** Derivatives of a preintegral by the time offset: difference quotient with the preintegral of the interval
 *  VF_START_SHIFT_NS earlier. */
VF_FN void vf_start_shift_of(double shift[9], const struct vf_preintegral *d, const struct vf_preintegral *earlier)
{
    const double step_s = VF_START_SHIFT_NS * 1e-9;
    vf_quaternion_difference(d->q, earlier->q, shift);
    for (int k = 0; k < 3; k++) {
        shift[k] /= step_s;
        shift[3 + k] = (d->v[k] - earlier->v[k]) / step_s;
        shift[6 + k] = (d->p[k] - earlier->p[k]) / step_s;
    }
}

/** Moves a preintegral by a time offset. shift: derivatives of its rotation vector, velocity and position. */
VF_FN void vf_start_shift_preintegral(struct vf_preintegral *d, const double shift[9], double offset_s)
{
    const double w[3] = {shift[0] * offset_s, shift[1] * offset_s, shift[2] * offset_s};
    double q[4];
    vf_quaternion_exponential(w, q);
    vf_quaternion_multiply(q, d->q, d->q);
    for (int k = 0; k < 3; k++) {
        d->v[k] += shift[3 + k] * offset_s;
        d->p[k] += shift[6 + k] * offset_s;
    }
}

/** Preintegral of a frame at a time offset. The noise of the derivatives adds to its covariance, with
 *  the mean square of the offset by s->offset_s and its deviation. */
VF_FN void vf_start_at_offset(const struct vf_start *s, const struct vf_start_motion *m, double offset_s,
                              struct vf_preintegral *d)
{
    const double sigma_s = s->offset_sigma_s, square = s->offset_s * s->offset_s + sigma_s * sigma_s, dt_s = d->dt_s;
    double shift[9];
    for (int k = 0; k < 9; k++) shift[k] = m->shift[k] * s->shift_share[k >= 3];
    vf_start_shift_preintegral(d, shift, offset_s);
    for (int k = 0; k < 3; k++) {
        d->P[10 * k] += square * s->shift_share[0] * m->shift_noise[0];
        d->P[10 * (3 + k)] += square * s->shift_share[1] * m->shift_noise[1];
        d->P[10 * (6 + k)] += square * s->shift_share[1] * m->shift_noise[1] * dt_s * dt_s;
    }
}

/** Writes the whitened rows of a preintegral at the current time offset to s->factor, and their derivatives by the
 *  offset, a difference quotient, to s->offset_jacobian. a, b: previous and current frame; m: motion of b. */
VF_FN void vf_start_inertial_rows(struct vf_start *s, const struct vf_vio_slot *a, const struct vf_vio_slot *b,
                                  const struct vf_start_motion *m)
{
    const double step_s = 0.01 * VF_IMU_OFFSET_S; /* small beside the offset's deviation */
    struct vf_vio_slot moved = *b;
    vf_start_at_offset(s, m, s->offset_s + step_s, &moved.motion);
    vf_inertial_whitened(&s->factor, a, &moved, &s->noise);
    memcpy(s->offset_jacobian, s->factor.r, sizeof s->offset_jacobian);
    moved = *b;
    vf_start_at_offset(s, m, s->offset_s, &moved.motion);
    vf_inertial_whitened(&s->factor, a, &moved, &s->noise);
    for (int k = 0; k < VF_NAV_ERRORS; k++) s->offset_jacobian[k] = (s->offset_jacobian[k] - s->factor.r[k]) / step_s;
}

/** Copies the first `rows` rows of s->factor into the elimination, from its row `first` on. scale, offset: derivatives
 *  by the scale and by the time offset; NULL: 0. */
VF_FN void vf_start_add_rows(struct vf_start *s, int first, int rows, const double *scale, const double *offset)
{
    for (int r = 0; r < rows; r++) {
        memcpy(s->row[first + r], s->factor.J[r], sizeof s->factor.J[r]);
        s->row[first + r][VF_START_OFFSET - 1] = scale ? scale[r] : 0.0;
        s->row[first + r][VF_START_OFFSET] = offset ? offset[r] : 0.0;
        s->row[first + r][VF_START_COLUMNS - 1] = -s->factor.r[r];
    }
}

/** Writes the prior rows of the first frame and of the time offset to s->last. */
VF_FN void vf_start_prior_rows(struct vf_start *s)
{
    const struct vf_vio_state *x = &s->frame[0].value;
    memset(s->last, 0, sizeof s->last);
    for (int k = 0; k < VF_NAV_ERRORS; k++) {
        const int part = k % 3, gauge = k < VF_NAV_W || k == VF_NAV_W + 2;
        const double sigma = gauge              ? 1.0
                             : k < VF_NAV_V     ? VF_START_PRIOR_TILT_RAD
                             : k < VF_NAV_GYRO  ? VF_START_PRIOR_MPS
                             : k < VF_NAV_ACCEL ? VF_START_GYRO_BIAS_RAD_S
                                                : VF_START_ACCEL_BIAS_M_S2;
        const double residual = k < VF_NAV_V ? 0.0 : k < VF_NAV_GYRO ? x->v[part] : x->bias[k - VF_NAV_GYRO];
        s->last[k][k] = 1.0 / sigma;
        s->last[k][VF_START_CARRIED] = -residual / sigma;
    }
    s->last[VF_START_CARRIED - 1][VF_START_CARRIED - 1] = 1.0 / VF_VIO_TIME_OFFSET_SIGMA_S;
    s->last[VF_START_CARRIED - 1][VF_START_CARRIED] = -s->offset_s / VF_VIO_TIME_OFFSET_SIGMA_S;
}

/** Makes the rows upper triangular by Householder reflections, for all columns except the right side. */
VF_FN void vf_start_householder(double row[VF_START_ROWS][VF_START_COLUMNS])
{
    for (int c = 0; c < VF_START_COLUMNS - 1; c++) {
        double sum = 0.0;
        for (int r = c; r < VF_START_ROWS; r++) sum += row[r][c] * row[r][c];
        const double head = row[c][c], length = sqrt(sum), alpha = head > 0.0 ? -length : length;
        const double scale = sum - head * alpha; /* half the squared norm of the reflection vector */
        if (!(scale > 0.0)) continue;
        row[c][c] = head - alpha;
        for (int k = c + 1; k < VF_START_COLUMNS; k++) {
            double dot = 0.0;
            for (int r = c; r < VF_START_ROWS; r++) dot += row[r][c] * row[r][k];
            dot /= scale;
            for (int r = c; r < VF_START_ROWS; r++) row[r][k] -= dot * row[r][c];
        }
        row[c][c] = alpha;
        for (int r = c + 1; r < VF_START_ROWS; r++) row[r][c] = 0.0;
    }
}

/** Copies the rows carried over from the previous frame into the elimination: columns of its errors, of the scale, of
 *  the time offset, and of the right side. */
VF_FN void vf_start_carry_rows(struct vf_start *s)
{
    memset(s->row, 0, sizeof s->row);
    for (int r = 0; r < VF_START_CARRIED; r++) {
        memcpy(s->row[r], s->last[r], VF_NAV_ERRORS * sizeof(double));
        for (int k = 0; k <= VF_START_SHARED; k++) s->row[r][VF_START_OFFSET - 1 + k] = s->last[r][VF_NAV_ERRORS + k];
    }
}

/** Eliminates all frames except the newest. Returns the sum of squared residuals at the scale and the time offset that
 *  fit best. */
VF_FN double vf_start_eliminate(struct vf_start *s)
{
    const int first = VF_START_CARRIED;
    double chi2 = 0.0;
    vf_start_prior_rows(s);
    for (uint32_t i = 1; i < s->frames; i++) {
        const struct vf_vio_slot *a = &s->frame[i - 1], *b = a + 1;
        vf_start_carry_rows(s);
        vf_start_inertial_rows(s, a, b, &s->motion[i]);
        vf_start_add_rows(s, first, VF_NAV_ERRORS, NULL, s->offset_jacobian);
        if (s->motion[i].dimension) {
            vf_start_motion_rows(s, &s->motion[i], &a->value, &b->value);
            vf_start_add_rows(s, first + VF_NAV_ERRORS, 6, s->scale_jacobian, NULL);
        }
        if (i == 1) /* position and yaw of the first frame have no error */
            for (int r = first; r < VF_START_ROWS; r++)
                s->row[r][0] = s->row[r][1] = s->row[r][2] = s->row[r][VF_NAV_W + 2] = 0.0;
        vf_start_householder(s->row);
        memcpy(s->eliminated[i - 1], s->row, sizeof s->eliminated[i - 1]);
        for (int r = 0; r < VF_START_CARRIED; r++)
            memcpy(s->last[r], &s->row[VF_NAV_ERRORS + r][VF_NAV_ERRORS], sizeof s->last[r]);
        for (int r = VF_START_COLUMNS - 1; r < VF_START_ROWS; r++)
            chi2 += s->row[r][VF_START_COLUMNS - 1] * s->row[r][VF_START_COLUMNS - 1];
    }
    return chi2;
}

/** Computes the quaternion of a rotation vector w, clamped to 1.5 rad. */
VF_FN void vf_start_clamped_rotation(const double w[3], double q[4])
{
    const double size = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]),
                 part = size > VF_START_MAX_STEP_RAD ? VF_START_MAX_STEP_RAD / size : 1.0;
    const double v[3] = {part * w[0], part * w[1], part * w[2]};
    vf_quaternion_exponential(v, q);
}

/** Adds the errors e, in the order of vfront_nav_t, to a state. */
VF_FN void vf_start_apply_step(struct vf_vio_state *x, const double e[VF_NAV_ERRORS])
{
    double q[4];
    vf_start_clamped_rotation(e + VF_NAV_W, q);
    vf_quaternion_multiply(q, x->q, x->q);
    vf_quaternion_unit(x->q);
    for (int k = 0; k < 3; k++) {
        x->p[k] += e[VF_NAV_P + k];
        x->v[k] += e[VF_NAV_V + k];
    }
    for (int k = 0; k < 6; k++) x->bias[k] += e[VF_NAV_GYRO + k];
}

/** Step of the time offset with a scale error of 0 [s]. Writes s->offset_sigma_s and s->offset_by_scale_s. */
VF_FN double vf_start_offset_step(struct vf_start *s)
{
    const double *scale = s->last[VF_NAV_ERRORS], *offset = s->last[VF_NAV_ERRORS + 1];
    const double a = scale[VF_NAV_ERRORS + 1], b = offset[VF_NAV_ERRORS + 1], square = a * a + b * b;
    s->offset_sigma_s = sqrt(1.0 / square);
    s->offset_by_scale_s = -a * scale[VF_NAV_ERRORS] / square;
    return (a * scale[VF_START_CARRIED] + b * offset[VF_START_CARRIED]) / square;
}

/** Back-substitutes from the newest to the oldest frame, with a scale error of 0, and updates the time offset and all
 *  states. Returns the square of the newest frame's and the offset's step, normalised by the step's covariance. */
VF_FN double vf_start_back_substitute(struct vf_start *s)
{
    double e[2 * VF_NAV_ERRORS]; /* errors of a frame [0 .. 14] and of the next frame [15 .. 29] */
    const int n = VF_NAV_ERRORS;
    const double offset_s = vf_start_offset_step(s);
    double size = offset_s / s->offset_sigma_s * (offset_s / s->offset_sigma_s);
    s->offset_s += offset_s;
    memset(e, 0, sizeof e);
    for (int i = (int)s->frames - 1; i >= 0; i--) {
        const int newest = i == (int)s->frames - 1;
        for (int r = n - 1; r >= 0; r--) {
            const double *row = newest ? s->last[r] : s->eliminated[i][r];
            double sum = row[newest ? VF_START_CARRIED : VF_START_COLUMNS - 1];
            sum -= row[newest ? VF_NAV_ERRORS + 1 : VF_START_OFFSET] * offset_s;
            if (newest) size += sum * sum;
            for (int c = r + 1; c < (newest ? n : 2 * n); c++) sum -= row[c] * e[c];
            e[r] = sum / row[r];
        }
        vf_start_apply_step(&s->frame[i].value, e);
        for (int r = 0; r < n; r++) e[n + r] = e[r];
    }
    return size;
}

/** Computes the covariance of the newest frame's errors, row-major: S S' + g g' + h h'. S: inverse of the upper
 *  triangle s->last; g: error of the frame due to one standard deviation of the scale, with the time offset that then
 *  fits best; h: due to one of the time offset. */
VF_FN void vf_start_covariance(const struct vf_start *s, double P[225])
{
    enum { N = VF_NAV_ERRORS };
    double S[N * N], g[N], h[N];
    memset(S, 0, sizeof S);
    memset(g, 0, sizeof g);
    memset(h, 0, sizeof h);
    for (int c = 0; c < N; c++)
        for (int r = c; r >= 0; r--) {
            double sum = r == c ? 1.0 : 0.0;
            for (int k = r + 1; k <= c; k++) sum -= s->last[r][k] * S[N * k + c];
            S[N * r + c] = sum / s->last[r][r];
            g[r] += S[N * r + c] * (s->last[c][N] + s->last[c][N + 1] * s->offset_by_scale_s) * s->scale;
            h[r] += S[N * r + c] * s->last[c][N + 1] * s->offset_sigma_s;
        }
    for (int i = 0; i < N; i++)
        for (int j = i; j < N; j++) {
            double sum = g[i] * g[j] + h[i] * h[j];
            for (int k = j; k < N; k++) sum += S[N * i + k] * S[N * j + k];
            P[N * i + j] = sum;
        }
    vf_imu_symmetrize(P, N);
}

#endif
