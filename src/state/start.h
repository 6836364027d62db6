/* SPDX-License-Identifier: MIT */
/* Start: a first state of the IMU, against gravity and with its biases, from the readings and the metric motions of a
 * few frames, at rest or in motion, without a guess.
 *
 * In      struct vf_start_frame for each interval between frames: preintegral, what the readings are like, motion of
 *         camera 0 (vfront_motion_t: R, t, covariance) or none; mounting of camera 0; struct vf_start_limits
 * Out     vf_start_t: what there is, and a state at the last frame: position 0, and turned about z so that its attitude
 *         is the shortest turn that brings z up. Both hold by definition: their errors are 0, and those of velocity and
 *         tilt are of the same frame
 * Rule    1. Rest: readings and motions are all noise about one value; then every velocity is 0 within rest_mps
 *         2. Gyro bias by least squares over the rotations, in two steps; velocity and gravity by linear least squares
 *            over the translations, gravity near the mean force, which lets one be told from the other in a short time
 *         3. All errors together: pose, velocity and biases at every frame, prior of the biases, preintegrals with their
 *            covariance, motions with theirs: VF_START_STEPS steps of Gauss and Newton. Frame by frame, by Householder's
 *            reflections of rows of deviation 1 (square-root information), so no information is squared
 *         4. The state is told if its deviations are below the limits, and the sum of squared residuals below what is
 *            due by chance
 * Exact   double precision in one order, roots and quotients correctly rounded; no libm beside sqrt
 * Cost    bounded by VF_START_FRAMES; memory struct vf_start_work of the caller, nothing is kept from call to call
 *
 * T.-C. Dong-Si, A. Mourikis, Estimator initialization in vision-aided inertial navigation with unknown camera-IMU
 * calibration (2012); C. Campos, J. Montiel, J. Tardos, Inertial-only optimization for visual-inertial initialization
 * (2020): the idea. There scale is unknown; here the motions have it.
 */
#ifndef VF_START_H
#define VF_START_H

#include "propagate.h"

/** Frames of a start, and the least number of them. */
#define VF_START_FRAMES 12
#define VF_START_LEAST 4
/** Intervals between them. */
#define VF_START_INTERVALS (VF_START_FRAMES - 1)
/** Steps of Gauss and Newton. */
#define VF_START_STEPS 5
/** Rows of an elimination: of frames before, of a preintegral, of a motion, of two velocities at rest; its columns: the
 *  errors of two frames, and the residual. */
#define VF_START_ROWS (15 + 15 + 6 + 6)
#define VF_START_COLUMNS 31

/** What a start says. */
enum vf_start_state {
    VF_START_FEW = 0,         /**< Waits: fewer frames than VF_START_LEAST, or motions than half of their intervals. */
    VF_START_WEAK = 1,        /**< Waits: the state's deviations are beyond the limits. */
    VF_START_STANDING = 2,    /**< A state, at rest. */
    VF_START_MOVING = 3,      /**< A state, in motion. */
    VF_START_CONTRADICTS = 4, /**< Readings and motions are not of one rig: mounting, times or noise are wrong. */
    VF_START_UNITS = 5, /**< Readings are in other units: the mean force is about 1 (g), or rates are about 57 times
                               those of the pictures (degrees). */
    VF_START_NO_IMU = 6 /**< An interval without readings. */
};

/** What readings of an interval are like: sums over them, without biases. */
struct vf_start_readings {
    uint32_t n;
    double gyro[3], accel[3];   /* sums [rad/s, m/s^2] */
    double gyro2[3], accel2[3]; /* sums of squares */
};

/** Interval between two frames. */
struct vf_start_frame {
    struct vf_preintegral imu; /* made with the biases of struct vf_start_rig; dt_s 0: no readings */
    struct vf_start_readings readings;
    int seen;              /* 1: R, t and covariance are a metric motion that is GOOD */
    double R[9], t[3];     /* p_now = R p_before + t [m], axes of camera 0 */
    double covariance[36]; /* of (t, w), R_true = exp([w]) R */
};

/** Mounting, noise, and the biases that the preintegrals were made with. */
struct vf_start_rig {
    double R_cam_imu[9], t_cam_imu_m[3]; /* of camera 0, as vfront_camera_t has them */
    vfront_imu_noise_t noise;
    double gyro_bias[3], accel_bias[3];
};

/** Limits of a start. */
struct vf_start_limits {
    double gyro_bias_rad_s; /* deviation of the gyro's bias from 0, before anything is known */
    double accel_bias_m_s2; /* of the accelerometer's */
    double rest_mps;        /* deviation from 0 of the velocity of what stands */
    double rest_rad_s;      /* deviation of rates at rest, beside twice the noise */
    double rest_m_s2;       /* of forces */
    double rest_s;          /* least time that is looked at before something stands */
    double tilt_rad;        /* largest deviation of the tilt of a state */
    double velocity_mps;    /* of its velocity */
    double motion_scale;    /* factor of the motions' deviations: consecutive motions share the errors of points */
    double misfit;          /* largest sum of squared residuals, as a multiple of what is beyond chance at 5 sigma */
};

/** Result of a start. */
struct vf_start {
    enum vf_start_state state;
    vfront_nav_t nav;              /* at the last frame, STANDING and MOVING; t_ns is the caller's */
    double chi2;                   /* sum of squared residuals */
    uint32_t freedom;              /* what it is by chance */
    double tilt_rad, velocity_mps; /* largest deviations along any axis (the root of the trace's bound) */
};

/** State of a frame while it is estimated. */
struct vf_start_pose {
    double p[3], q[4], R[9], v[3], gyro[3], accel[3];
};

/** Memory of a start. */
struct vf_start_work {
    struct vf_start_pose pose[VF_START_FRAMES];
    double row[VF_START_ROWS][VF_START_COLUMNS];           /* of the elimination at hand */
    double kept[VF_START_INTERVALS][15][VF_START_COLUMNS]; /* rows of frames that have been eliminated */
    double last[15][16];                                   /* of the last frame, with the right side */
    double white[VF_START_INTERVALS][225];                 /* roots of covariances: lower triangles */
    double seen[VF_START_INTERVALS][36];
};

VF_FN struct vf_start_limits vf_start_usual(void)
{
    struct vf_start_limits m;
    m.gyro_bias_rad_s = 0.2, m.accel_bias_m_s2 = 0.2;
    m.rest_mps = 0.003, m.rest_rad_s = 0.003, m.rest_m_s2 = 0.03, m.rest_s = 0.3;
    m.tilt_rad = 0.1, m.velocity_mps = 0.3;
    m.motion_scale = 1.0, m.misfit = 2.0;
    return m;
}

/** A reading added to sums. */
VF_FN void vf_start_read(struct vf_start_readings *sum, const vfront_imu_t *imu)
{
    sum->n++;
    for (int k = 0; k < 3; k++) {
        sum->gyro[k] += imu->gyro_rad_s[k];
        sum->accel[k] += imu->accel_m_s2[k];
        sum->gyro2[k] += imu->gyro_rad_s[k] * imu->gyro_rad_s[k];
        sum->accel2[k] += imu->accel_m_s2[k] * imu->accel_m_s2[k];
    }
}

/* ---- small algebra ------------------------------------------------------------------------------------------------ */

VF_FN double vf_start_square(const double v[3]) { return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]; }

/** out = A B, of 3x3 matrices; `out` is neither. */
VF_FN void vf_start_product(const double A[9], const double B[9], double out[9])
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] = A[3 * r] * B[c] + A[3 * r + 1] * B[3 + c] + A[3 * r + 2] * B[6 + c];
}

VF_FN void vf_start_transpose(const double A[9], double out[9])
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) out[3 * r + c] = A[3 * c + r];
}

/** out = A' v. */
VF_FN void vf_start_back(const double A[9], const double v[3], double out[3])
{
    for (int c = 0; c < 3; c++) out[c] = A[c] * v[0] + A[3 + c] * v[1] + A[6 + c] * v[2];
}

/** Matrix of the cross product by v. */
VF_FN void vf_start_skew(const double v[3], double M[9])
{
    M[0] = M[4] = M[8] = 0.0;
    M[1] = -v[2], M[2] = v[1], M[3] = v[2], M[5] = -v[0], M[6] = -v[1], M[7] = v[0];
}

/** Rotation vector of a rotation matrix of less than half a turn. */
VF_FN void vf_start_vector(const double R[9], double w[3])
{
    const double v[3] = {0.5 * (R[7] - R[5]), 0.5 * (R[2] - R[6]), 0.5 * (R[3] - R[1])};
    const double sine = sqrt(vf_start_square(v)), cosine = 0.5 * (R[0] + R[4] + R[8] - 1.0);
    const double part = sine > 1e-9 ? vf_atan2(sine, cosine) / sine : 1.0;
    for (int k = 0; k < 3; k++) w[k] = part * v[k];
}

/** Matrix of a rotation vector, whose part beyond 1.5 rad is left out. */
VF_FN void vf_start_turn(const double w[3], double q[4])
{
    const double size = sqrt(vf_start_square(w)), part = size > 1.5 ? 1.5 / size : 1.0;
    const double v[3] = {part * w[0], part * w[1], part * w[2]};
    vf_quaternion_exponential(v, q);
}

/** Shortest turn that brings a direction onto z. */
VF_FN void vf_start_upright(const double up[3], double q[4])
{
    const double length = sqrt(vf_start_square(up)), z = length > 0.0 ? up[2] / length : 1.0;
    q[0] = 1.0, q[1] = q[2] = q[3] = 0.0;
    if (!(length > 0.0)) return;
    if (z > -0.999999) {
        q[0] = 1.0 + z, q[1] = up[1] / length, q[2] = -up[0] / length;
        vf_quaternion_unit(q);
    } else {
        q[0] = 0.0, q[1] = 1.0;
    }
}

/** Lower root L of a symmetric n x n matrix A = L L'; pivots at least `least`. In place, the upper triangle is left. */
VF_FN void vf_start_root(double *A, int n, const double *least)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double a = A[i * n + j];
            for (int k = 0; k < j; k++) a -= A[i * n + k] * A[j * n + k];
            if (i == j)
                A[i * n + i] = sqrt(a > least[i] ? a : least[i]);
            else
                A[i * n + j] = a / A[j * n + j];
        }
}

/** Rows of the elimination that are divided by a root: L^-1 of them, n rows from `first` on. */
VF_FN void vf_start_whiten(double row[VF_START_ROWS][VF_START_COLUMNS], int first, const double *L, int n)
{
    for (int c = 0; c < VF_START_COLUMNS; c++)
        for (int i = 0; i < n; i++) {
            double a = row[first + i][c];
            for (int k = 0; k < i; k++) a -= L[i * n + k] * row[first + k][c];
            row[first + i][c] = a / L[i * n + i];
        }
}

/** Solution of a symmetric positive definite system, n at most 6; A is destroyed. */
VF_FN void vf_start_solve(double *A, double *b, int n)
{
    const double least[6] = {1e-12, 1e-12, 1e-12, 1e-12, 1e-12, 1e-12};
    vf_start_root(A, n, least);
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) b[i] -= A[i * n + k] * b[k];
        b[i] /= A[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) b[i] -= A[k * n + i] * b[k];
        b[i] /= A[i * n + i];
    }
}

/* ---- first guess -------------------------------------------------------------------------------------------------- */

/** Preintegral with biases other by `gyro` and `accel` than those it was made with, to first order. */
VF_FN void vf_start_biased(const struct vf_preintegral *d, const double gyro[3], const double accel[3], double R[9],
                           double v[3], double p[3])
{
    double change[9], q[4];
    for (int i = 0; i < 9; i++) {
        const double *J = &d->J[6 * i];
        change[i] = J[0] * gyro[0] + J[1] * gyro[1] + J[2] * gyro[2] + J[3] * accel[0] + J[4] * accel[1] +
                    J[5] * accel[2];
    }
    vf_start_turn(change, q);
    vf_quaternion_multiply(q, d->q, q);
    vf_quaternion_matrix(q, R);
    for (int k = 0; k < 3; k++) {
        v[k] = d->v[k] + change[VF_ROW_V + k];
        p[k] = d->p[k] + change[VF_ROW_P + k];
    }
}

/** Rotation of a motion, from axes of the IMU at its end to those at its start: C' R' C. */
VF_FN void vf_start_seen(const double C[9], const struct vf_start_frame *f, double R[9])
{
    double M[9], T[9], D[9];
    vf_start_transpose(f->R, T);
    vf_start_product(T, C, M);
    vf_start_transpose(C, D);
    vf_start_product(D, M, R);
}

/** Gyro bias by the rotations, less that of the preintegrals; two steps. */
VF_FN void vf_start_gyro(const struct vf_start_rig *rig, const struct vf_start_frame *frame, int intervals,
                         const struct vf_start_limits *limits, double bias[3])
{
    const double none[3] = {0.0, 0.0, 0.0};
    bias[0] = bias[1] = bias[2] = 0.0;
    for (int step = 0; step < 2; step++) {
        double A[9] = {0}, b[3];
        const double prior = 1.0 / (limits->gyro_bias_rad_s * limits->gyro_bias_rad_s);
        for (int k = 0; k < 3; k++) A[4 * k] = prior, b[k] = -prior * (bias[k] + rig->gyro_bias[k]);
        for (int i = 0; i < intervals; i++) {
            const struct vf_start_frame *f = &frame[i];
            double seen[9], R[9], T[9], D[9], v[3], p[3], e[3];
            if (!f->seen) continue;
            vf_start_seen(rig->R_cam_imu, f, seen);
            vf_start_biased(&f->imu, bias, none, R, v, p);
            vf_start_transpose(R, T);
            vf_start_product(seen, T, D);
            vf_start_vector(D, e);
            const double weight = 3.0 / (f->covariance[21] + f->covariance[28] + f->covariance[35] + f->imu.P[0] +
                                         f->imu.P[10] + f->imu.P[20] + 1e-12);
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 3; c++) {
                    for (int k = 0; k < 3; k++) A[3 * r + c] += weight * f->imu.J[6 * k + r] * f->imu.J[6 * k + c];
                    b[r] += weight * f->imu.J[6 * c + r] * e[c];
                }
        }
        vf_start_solve(A, b, 3);
        for (int k = 0; k < 3; k++) bias[k] += b[k];
    }
}

/** Sums of the linear equations of the first velocity and gravity: A x = b for x = (v, g), in axes of the IMU at the
 *  first frame. */
struct vf_start_linear {
    double A[36], b[6];
};

/** Equation of one translation: v a + g c = d, of a weight. */
VF_FN void vf_start_equation(struct vf_start_linear *s, double a, double c, const double d[3], double weight)
{
    for (int k = 0; k < 3; k++) {
        s->A[7 * k] += weight * a * a;
        s->A[6 * k + 3 + k] += weight * a * c;
        s->A[6 * (3 + k) + k] += weight * a * c;
        s->A[7 * (3 + k)] += weight * c * c;
        s->b[k] += weight * a * d[k];
        s->b[3 + k] += weight * c * d[k];
    }
}

/** Translation of the IMU in axes of the IMU at the start, by a motion and the IMU's own rotation R over it: the
 *  IMU at the end is where p_now = t_cam_imu. */
VF_FN void vf_start_shift(const struct vf_start_rig *rig, const struct vf_start_frame *f, double out[3])
{
    double e[3], before[3];
    for (int k = 0; k < 3; k++) e[k] = rig->t_cam_imu_m[k] - f->t[k];
    vf_start_back(f->R, e, before);
    for (int k = 0; k < 3; k++) before[k] -= rig->t_cam_imu_m[k];
    vf_start_back(rig->R_cam_imu, before, out);
}

/** Rotations of all frames, first velocity and gravity, and poses by these: the guess that is made better later. */
VF_FN void vf_start_guess(struct vf_start_work *w, const struct vf_start_rig *rig, const struct vf_start_frame *frame,
                          int intervals, const double bias[3], int rest)
{
    const double none[3] = {0.0, 0.0, 0.0}, gravity = rig->noise.gravity_m_s2;
    struct vf_start_linear s;
    double R[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, turned[9], force[3] = {0, 0, 0}, time = 0.0, g[3], v0[3], q[4];
    memset(&s, 0, sizeof s);
    for (int i = 0; i < intervals; i++) {
        const struct vf_start_frame *f = &frame[i];
        double D[9], v[3], p[3], shift[3], d[3], dv[3];
        vf_start_biased(&f->imu, bias, none, D, v, p);
        vf_transform_double(R, v, dv);
        if (f->seen) {
            const double dt = f->imu.dt_s;
            vf_start_shift(rig, f, shift);
            for (int k = 0; k < 3; k++) shift[k] -= p[k];
            vf_transform_double(R, shift, d);
            for (int k = 0; k < 3; k++) d[k] -= force[k] * dt;
            const double weight = 3.0 / (f->covariance[0] + f->covariance[7] + f->covariance[14] + 1e-8);
            vf_start_equation(&s, dt, time * dt + 0.5 * dt * dt, d, weight);
        }
        for (int k = 0; k < 3; k++) force[k] += dv[k];
        time += f->imu.dt_s;
        vf_start_product(R, D, turned);
        memcpy(R, turned, sizeof R);
    }
    /* gravity is near what holds against the mean force; accelerations of 3 m/s^2 are usual */
    const double size = sqrt(vf_start_square(force));
    for (int k = 0; k < 3; k++) g[k] = size > 0.0 ? -gravity * force[k] / size : 0.0;
    if (!rest) {
        double A[36], x[6];
        for (int k = 0; k < 3; k++) {
            s.A[7 * k] += 1e-6;
            s.A[7 * (3 + k)] += 1.0 / 9.0;
            s.b[3 + k] += g[k] / 9.0;
        }
        memcpy(A, s.A, sizeof A);
        memcpy(x, s.b, sizeof x);
        vf_start_solve(A, x, 6);
        const double length = sqrt(vf_start_square(x + 3));
        for (int k = 0; k < 3; k++) g[k] = length > 0.0 ? gravity * x[3 + k] / length : g[k];
        for (int k = 0; k < 3; k++) v0[k] = (s.b[k] - s.A[6 * k + 3 + k] * g[k]) / s.A[7 * k];
    } else {
        v0[0] = v0[1] = v0[2] = 0.0;
    }
    const double up[3] = {-g[0], -g[1], -g[2]};
    struct vf_start_pose *x = &w->pose[0];
    memset(x, 0, sizeof *x);
    vf_start_upright(up, q);
    memcpy(x->q, q, sizeof q);
    vf_quaternion_matrix(q, x->R);
    vf_transform_double(x->R, v0, x->v);
    for (int k = 0; k < 3; k++) x->gyro[k] = bias[k];
    for (int i = 0; i < intervals; i++) { /* frame by frame, with the translations that are seen */
        const struct vf_start_frame *f = &frame[i];
        struct vf_start_pose *a = &w->pose[i], *b = a + 1;
        double D[9], v[3], p[3], dv[3], dp[3], shift[3];
        const double dt = f->imu.dt_s;
        vf_start_biased(&f->imu, bias, none, D, v, p);
        vf_transform_double(a->R, v, dv);
        vf_transform_double(a->R, p, dp);
        if (f->seen) {
            vf_start_shift(rig, f, shift);
            vf_transform_double(a->R, shift, dp);
        }
        *b = *a;
        for (int k = 0; k < 3; k++) {
            const double down = k == 2 ? -gravity : 0.0;
            b->p[k] += dp[k] + (f->seen ? 0.0 : a->v[k] * dt + 0.5 * down * dt * dt);
            b->v[k] = rest ? 0.0 : a->v[k] + dv[k] + down * dt;
        }
        vf_start_product(a->R, D, b->R);
        double change[3];
        for (int k = 0; k < 3; k++)
            change[k] = f->imu.J[6 * k] * bias[0] + f->imu.J[6 * k + 1] * bias[1] + f->imu.J[6 * k + 2] * bias[2];
        vf_start_turn(change, q);
        vf_quaternion_multiply(q, f->imu.q, q);
        vf_quaternion_multiply(a->q, q, b->q);
        vf_quaternion_unit(b->q);
        vf_quaternion_matrix(b->q, b->R);
    }
}

/* ---- all errors together ------------------------------------------------------------------------------------------ */

/** Roots of the covariances of preintegrals, with the walk of the biases, and of motions. */
VF_FN void vf_start_roots(struct vf_start_work *w, const struct vf_start_rig *rig, const struct vf_start_frame *frame,
                          int intervals, double motion_scale)
{
    static const double floor_imu[15] = {1e-14, 1e-14, 1e-14, 1e-12, 1e-12, 1e-12, 1e-14, 1e-14,
                                         1e-14, 1e-14, 1e-14, 1e-14, 1e-12, 1e-12, 1e-12};
    static const double floor_seen[6] = {1e-10, 1e-10, 1e-10, 1e-12, 1e-12, 1e-12};
    for (int i = 0; i < intervals; i++) {
        const struct vf_preintegral *d = &frame[i].imu;
        double *Q = w->white[i], walk[6];
        for (int k = 0; k < 6; k++) {
            const double density = k < 3 ? rig->noise.gyro_walk : rig->noise.accel_walk;
            walk[k] = density * density * d->dt_s;
        }
        memset(Q, 0, 225 * sizeof *Q);
        for (int r = 0; r < 9; r++) {
            for (int c = 0; c < 9; c++) {
                double sum = d->P[9 * r + c];
                for (int k = 0; k < 6; k++) sum += d->J[6 * r + k] * 0.5 * walk[k] * d->J[6 * c + k];
                Q[15 * r + c] = sum;
            }
            for (int k = 0; k < 6; k++) Q[15 * (9 + k) + r] = Q[15 * r + 9 + k] = 0.5 * walk[k] * d->J[6 * r + k];
        }
        for (int k = 0; k < 6; k++) Q[16 * (9 + k)] = walk[k];
        vf_start_root(Q, 15, floor_imu);
        for (int k = 0; k < 36; k++) w->seen[i][k] = motion_scale * motion_scale * frame[i].covariance[k];
        vf_start_root(w->seen[i], 6, floor_seen);
    }
}

/** A 3x3 block of the elimination's rows, times `factor`. */
VF_FN void vf_start_put(struct vf_start_work *w, int row, int column, const double B[9], double factor)
{
    for (int k = 0; k < 9; k++) w->row[row + k / 3][column + k % 3] = factor * B[k];
}

/** Rows of a preintegral, from 15 on: rotation, velocity, position, changes of biases. Residual predicted - measured;
 *  the last column has its negative. */
VF_FN void vf_start_imu_rows(struct vf_start_work *w, const struct vf_start_rig *rig, const struct vf_preintegral *d,
                             int i)
{
    const struct vf_start_pose *a = &w->pose[i], *b = a + 1;
    double T[9], R[9], v[3], p[3], M[9], N[9], r[9], u[3], s[3], S[9], gyro[3], accel[3];
    const double dt = d->dt_s, g = rig->noise.gravity_m_s2;
    for (int k = 0; k < 3; k++) gyro[k] = a->gyro[k], accel[k] = a->accel[k];
    vf_start_biased(d, gyro, accel, R, v, p);
    vf_start_transpose(a->R, T);
    vf_start_product(T, b->R, M);
    vf_start_transpose(R, N);
    vf_start_product(M, N, S);
    vf_start_vector(S, r);
    for (int k = 0; k < 3; k++) {
        const double down = k == 2 ? -g : 0.0;
        u[k] = b->v[k] - a->v[k] - down * dt;
        s[k] = b->p[k] - a->p[k] - a->v[k] * dt - 0.5 * down * dt * dt;
    }
    vf_transform_double(T, u, r + VF_ROW_V);
    vf_transform_double(T, s, r + VF_ROW_P);
    for (int k = 0; k < 3; k++) r[VF_ROW_V + k] -= v[k], r[VF_ROW_P + k] -= p[k];
    const int first = 15;
    vf_start_put(w, first, VF_NAV_W, T, -1.0);
    vf_start_put(w, first, 15 + VF_NAV_W, T, 1.0);
    vf_start_skew(u, S);
    vf_start_product(T, S, M);
    vf_start_put(w, first + VF_ROW_V, VF_NAV_W, M, 1.0);
    vf_start_put(w, first + VF_ROW_V, VF_NAV_V, T, -1.0);
    vf_start_put(w, first + VF_ROW_V, 15 + VF_NAV_V, T, 1.0);
    vf_start_skew(s, S);
    vf_start_product(T, S, M);
    vf_start_put(w, first + VF_ROW_P, VF_NAV_W, M, 1.0);
    vf_start_put(w, first + VF_ROW_P, VF_NAV_P, T, -1.0);
    vf_start_put(w, first + VF_ROW_P, VF_NAV_V, T, -dt);
    vf_start_put(w, first + VF_ROW_P, 15 + VF_NAV_P, T, 1.0);
    for (int k = 0; k < 9; k++) {
        for (int c = 0; c < 6; c++) w->row[first + k][VF_NAV_GYRO + c] = -d->J[6 * k + c];
        w->row[first + k][30] = -r[k];
    }
    for (int k = 0; k < 6; k++) {
        const double change = k < 3 ? b->gyro[k] - a->gyro[k] : b->accel[k - 3] - a->accel[k - 3];
        w->row[first + 9 + k][VF_NAV_GYRO + k] = -1.0;
        w->row[first + 9 + k][15 + VF_NAV_GYRO + k] = 1.0;
        w->row[first + 9 + k][30] = -change;
    }
    vf_start_whiten(w->row, first, w->white[i], 15);
}

/** Rows of a motion, from 30 on: translation, rotation. */
VF_FN void vf_start_motion_rows(struct vf_start_work *w, const struct vf_start_rig *rig, const struct vf_start_frame *f,
                                int i)
{
    const struct vf_start_pose *a = &w->pose[i], *b = a + 1;
    double T[9], A[9], B[9], C[9], R[9], M[9], N[9], apart[3], t[3], e[3], turned[3];
    vf_start_transpose(b->R, T);
    vf_start_product(rig->R_cam_imu, T, A); /* from the world to camera axes now */
    vf_start_product(A, a->R, B);
    vf_start_transpose(rig->R_cam_imu, C);
    vf_start_product(B, C, R);
    for (int k = 0; k < 3; k++) apart[k] = a->p[k] - b->p[k];
    vf_transform_double(A, apart, t);
    vf_transform_double(R, rig->t_cam_imu_m, turned);
    vf_start_transpose(f->R, M);
    vf_start_product(R, M, N);
    vf_start_vector(N, e);
    const int first = 30;
    for (int k = 0; k < 3; k++) {
        w->row[first + k][30] = -(t[k] + rig->t_cam_imu_m[k] - turned[k] - f->t[k]);
        w->row[first + 3 + k][30] = -e[k];
    }
    vf_start_put(w, first, VF_NAV_P, A, 1.0);
    vf_start_put(w, first, 15 + VF_NAV_P, A, -1.0);
    vf_start_skew(turned, M);
    vf_start_product(M, A, N);
    vf_start_put(w, first, VF_NAV_W, N, 1.0);
    vf_start_skew(apart, M);
    vf_start_product(A, M, C);
    for (int k = 0; k < 9; k++) C[k] -= N[k];
    vf_start_put(w, first, 15 + VF_NAV_W, C, 1.0);
    vf_start_put(w, first + 3, VF_NAV_W, A, 1.0);
    vf_start_put(w, first + 3, 15 + VF_NAV_W, A, -1.0);
    vf_start_whiten(w->row, first, w->seen[i], 6);
}

/** Rows of velocities that are 0, from 36 on: of the next frame, and with the first interval also of the first one. */
VF_FN void vf_start_rest_rows(struct vf_start_work *w, double rest_mps, int i)
{
    for (int k = 0; k < 3; k++) {
        w->row[36 + k][15 + VF_NAV_V + k] = 1.0 / rest_mps;
        w->row[36 + k][30] = -w->pose[i + 1].v[k] / rest_mps;
        if (i) continue;
        w->row[39 + k][VF_NAV_V + k] = 1.0 / rest_mps;
        w->row[39 + k][30] = -w->pose[0].v[k] / rest_mps;
    }
}

/** Rows of the first frame: position and yaw are 0, biases are near 0. */
VF_FN void vf_start_first_rows(struct vf_start_work *w, const struct vf_start_rig *rig,
                               const struct vf_start_limits *limits)
{
    memset(w->last, 0, sizeof w->last);
    for (int k = 0; k < 3; k++) {
        w->last[VF_NAV_P + k][VF_NAV_P + k] = 1.0;
        w->last[VF_NAV_GYRO + k][VF_NAV_GYRO + k] = 1.0 / limits->gyro_bias_rad_s;
        w->last[VF_NAV_GYRO + k][15] = -(w->pose[0].gyro[k] + rig->gyro_bias[k]) / limits->gyro_bias_rad_s;
        w->last[VF_NAV_ACCEL + k][VF_NAV_ACCEL + k] = 1.0 / limits->accel_bias_m_s2;
        w->last[VF_NAV_ACCEL + k][15] = -(w->pose[0].accel[k] + rig->accel_bias[k]) / limits->accel_bias_m_s2;
    }
    w->last[VF_NAV_W + 2][VF_NAV_W + 2] = 1.0;
}

/** Upper triangle of the rows, by Householder's reflections of the columns 0..29. */
VF_FN void vf_start_reflect(double row[VF_START_ROWS][VF_START_COLUMNS])
{
    for (int c = 0; c < VF_START_COLUMNS - 1; c++) {
        double sum = 0.0;
        for (int r = c; r < VF_START_ROWS; r++) sum += row[r][c] * row[r][c];
        const double head = row[c][c], length = sqrt(sum), alpha = head > 0.0 ? -length : length;
        const double scale = sum - head * alpha; /* half the square of the reflected vector */
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

/** Elimination of all frames but the last; returns the sum of squared residuals of the linear solution. */
VF_FN double vf_start_eliminate(struct vf_start_work *w, const struct vf_start_rig *rig,
                                const struct vf_start_frame *frame, int intervals, const struct vf_start_limits *limits,
                                int rest)
{
    double chi2 = 0.0;
    vf_start_first_rows(w, rig, limits);
    for (int i = 0; i < intervals; i++) {
        memset(w->row, 0, sizeof w->row);
        for (int r = 0; r < 15; r++) {
            memcpy(w->row[r], w->last[r], 15 * sizeof(double));
            w->row[r][30] = w->last[r][15];
        }
        vf_start_imu_rows(w, rig, &frame[i].imu, i);
        if (frame[i].seen) vf_start_motion_rows(w, rig, &frame[i], i);
        if (rest) vf_start_rest_rows(w, limits->rest_mps, i);
        if (!i) /* position and yaw of the first frame have no error */
            for (int r = 15; r < VF_START_ROWS; r++)
                w->row[r][0] = w->row[r][1] = w->row[r][2] = w->row[r][VF_NAV_W + 2] = 0.0;
        vf_start_reflect(w->row);
        memcpy(w->kept[i], w->row, sizeof w->kept[i]);
        for (int r = 0; r < 15; r++) {
            memcpy(w->last[r], &w->row[15 + r][15], 15 * sizeof(double));
            w->last[r][15] = w->row[15 + r][30];
        }
        for (int r = 30; r < VF_START_ROWS; r++) chi2 += w->row[r][30] * w->row[r][30];
    }
    return chi2;
}

/** State of a frame moved by its errors. */
VF_FN void vf_start_move(struct vf_start_pose *x, const double e[15])
{
    double q[4];
    vf_start_turn(e + VF_NAV_W, q);
    vf_quaternion_multiply(q, x->q, x->q);
    vf_quaternion_unit(x->q);
    vf_quaternion_matrix(x->q, x->R);
    for (int k = 0; k < 3; k++) {
        x->p[k] += e[VF_NAV_P + k];
        x->v[k] += e[VF_NAV_V + k];
        x->gyro[k] += e[VF_NAV_GYRO + k];
        x->accel[k] += e[VF_NAV_ACCEL + k];
    }
}

/** Errors of all frames, from the last to the first; every state is moved by them. Returns the square of the last
 *  frame's move over its covariance. */
VF_FN double vf_start_step(struct vf_start_work *w, int intervals)
{
    double e[30], size = 0.0;
    for (int i = intervals; i >= 0; i--) {
        for (int r = 14; r >= 0; r--) {
            const double *row = i == intervals ? w->last[r] : w->kept[i][r];
            double sum = i == intervals ? row[15] : row[30];
            if (i == intervals) size += sum * sum;
            for (int c = r + 1; c < (i == intervals ? 15 : 30); c++) sum -= row[c] * e[c];
            e[r] = sum / row[r];
        }
        vf_start_move(&w->pose[i], e);
        memcpy(e + 15, e, 15 * sizeof *e);
    }
    return size;
}

/** Covariance of the last frame's errors: S S', S the inverse of the triangle. */
VF_FN void vf_start_covariance(const struct vf_start_work *w, double P[225])
{
    double S[225];
    memset(S, 0, sizeof S);
    for (int c = 0; c < 15; c++)
        for (int r = c; r >= 0; r--) {
            double sum = r == c ? 1.0 : 0.0;
            for (int k = r + 1; k <= c; k++) sum -= w->last[r][k] * S[15 * k + c];
            S[15 * r + c] = sum / w->last[r][r];
        }
    for (int i = 0; i < 15; i++)
        for (int j = i; j < 15; j++) {
            double sum = 0.0;
            for (int k = j; k < 15; k++) sum += S[15 * i + k] * S[15 * j + k];
            P[15 * i + j] = sum;
        }
    vf_imu_mirror(P, 15);
}

/** State and covariance at the last frame, in the frame that has its position as origin and its yaw as 0: errors of
 *  position and yaw are taken off, and the velocity's is of the frame that turns with the yaw. */
VF_FN void vf_start_state_of(const struct vf_start_work *w, const struct vf_start_rig *rig, int intervals,
                             vfront_nav_t *nav)
{
    const struct vf_start_pose *x = &w->pose[intervals];
    double P[225], F[225], M[225], Z[9], T[9], up[3];
    memset(nav, 0, sizeof *nav);
    for (int k = 0; k < 3; k++) up[k] = x->R[6 + k];
    vf_start_upright(up, nav->q_odom_imu);
    vf_quaternion_matrix(nav->q_odom_imu, M);
    vf_start_transpose(x->R, T);
    vf_start_product(M, T, Z); /* about z, from axes of the estimate to those of the state */
    vf_transform_double(Z, x->v, nav->velocity_mps);
    for (int k = 0; k < 3; k++) {
        nav->gyro_bias_rad_s[k] = x->gyro[k] + rig->gyro_bias[k];
        nav->accel_bias_m_s2[k] = x->accel[k] + rig->accel_bias[k];
    }
    vf_start_covariance(w, P);
    memset(F, 0, sizeof F);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            F[15 * (VF_NAV_W + r) + VF_NAV_W + c] = r < 2 && c < 2 ? Z[3 * r + c] : 0.0;
            F[15 * (VF_NAV_V + r) + VF_NAV_V + c] = Z[3 * r + c];
        }
    F[15 * VF_NAV_V + VF_NAV_W + 2] = nav->velocity_mps[1]; /* minus z x v */
    F[15 * (VF_NAV_V + 1) + VF_NAV_W + 2] = -nav->velocity_mps[0];
    for (int k = VF_NAV_GYRO; k < 15; k++) F[16 * k] = 1.0;
    for (int i = 0; i < 15; i++)
        for (int j = 0; j < 15; j++) {
            double sum = 0.0;
            for (int k = 0; k < 15; k++) sum += F[15 * i + k] * P[15 * k + j];
            M[15 * i + j] = sum;
        }
    for (int i = 0; i < 15; i++)
        for (int j = i; j < 15; j++) {
            double sum = 0.0;
            for (int k = 0; k < 15; k++) sum += M[15 * i + k] * F[15 * j + k];
            nav->covariance[vf_nav_index(i, j)] = sum;
        }
}

/* ---- gates -------------------------------------------------------------------------------------------------------- */

/** Largest sum of squares of n deviations that is there by chance: 5 sigma, by Wilson and Hilferty's cube. */
VF_FN double vf_start_chance(double n)
{
    const double a = 2.0 / (9.0 * n), cube = 1.0 - a + 5.0 * sqrt(a);
    return n * cube * cube * cube;
}

/** 1 if readings scatter no more than an IMU at rest: over all of them, and their means from interval to interval. */
VF_FN int vf_start_quiet(const struct vf_start_rig *rig, const struct vf_start_frame *frame, int intervals,
                         const struct vf_start_limits *limits)
{
    struct vf_start_readings all;
    memset(&all, 0, sizeof all);
    double time = 0.0, gyro_mean = 0.0, accel_mean = 0.0;
    for (int i = 0; i < intervals; i++) {
        const struct vf_start_readings *one = &frame[i].readings;
        all.n += one->n;
        time += frame[i].imu.dt_s;
        for (int k = 0; k < 3; k++) {
            all.gyro[k] += one->gyro[k], all.accel[k] += one->accel[k];
            all.gyro2[k] += one->gyro2[k], all.accel2[k] += one->accel2[k];
        }
    }
    if (time < limits->rest_s || all.n < 2) return 0;
    for (int i = 0; i < intervals; i++) {
        const struct vf_start_readings *one = &frame[i].readings;
        for (int k = 0; k < 3 && one->n; k++) {
            const double g = one->gyro[k] / one->n - all.gyro[k] / all.n,
                         a = one->accel[k] / one->n - all.accel[k] / all.n;
            gyro_mean += g * g, accel_mean += a * a;
        }
    }
    const double n = 3.0 * intervals, step = time / intervals;
    const double gyro = 2.0 * rig->noise.gyro_density, accel = 2.0 * rig->noise.accel_density;
    const double gyro_floor = limits->rest_rad_s * limits->rest_rad_s,
                 accel_floor = limits->rest_m_s2 * limits->rest_m_s2;
    int quiet = gyro_mean / n < gyro * gyro / step + gyro_floor && accel_mean / n < accel * accel / step + accel_floor;
    for (int k = 0; k < 3; k++) {
        const double g = all.gyro[k] / all.n, a = all.accel[k] / all.n;
        quiet &= all.gyro2[k] / all.n - g * g < gyro * gyro * rig->noise.rate_hz + 4.0 * gyro_floor;
        quiet &= all.accel2[k] / all.n - a * a < accel * accel * rig->noise.rate_hz + 4.0 * accel_floor;
    }
    return quiet;
}

/** 1 if the motions add up to nothing within 4 of their deviations: translation, and rotation. */
VF_FN int vf_start_still(const struct vf_start_frame *frame, int intervals)
{
    double shift[3] = {0, 0, 0}, turn[3] = {0, 0, 0}, V[6] = {1e-10, 1e-10, 1e-10, 1e-12, 1e-12, 1e-12};
    for (int i = 0; i < intervals; i++) {
        const struct vf_start_frame *f = &frame[i];
        double w[3];
        if (!f->seen) continue;
        vf_start_vector(f->R, w);
        for (int k = 0; k < 3; k++) {
            shift[k] += f->t[k], turn[k] += w[k];
            V[k] += f->covariance[7 * k], V[3 + k] += f->covariance[21 + 7 * k];
        }
    }
    int still = 1;
    for (int k = 0; k < 3; k++) still &= shift[k] * shift[k] < 16.0 * V[k] && turn[k] * turn[k] < 16.0 * V[3 + k];
    return still;
}

/** 1 if readings are in other units: force in g, or rates in degrees a second beside the rotations seen. */
VF_FN int vf_start_units(const struct vf_start_frame *frame, int intervals, double gravity)
{
    double time = 0.0, force = 0.0, seen = 0.0, both = 0.0, noise = 0.0;
    for (int i = 0; i < intervals; i++) {
        const struct vf_start_frame *f = &frame[i];
        time += f->imu.dt_s;
        force += sqrt(vf_start_square(f->imu.v));
        if (!f->seen || !f->readings.n) continue;
        double w[3];
        vf_start_vector(f->R, w);
        seen += vf_start_square(w);
        noise += f->covariance[21] + f->covariance[28] + f->covariance[35];
        const double dt = f->imu.dt_s / f->readings.n;
        both += dt * dt * vf_start_square(f->readings.gyro);
    }
    const int in_g = gravity > 5.0 && force > 0.6 * time && force < 1.6 * time;
    const int in_degrees = seen > 25.0 * noise && both > 900.0 * seen && both < 10000.0 * seen;
    return in_g || in_degrees;
}

/** Largest deviation in tilt and velocity, along axes of the state: roots of the greatest eigenvalue's bounds, the
 *  2x2 block's eigenvalue, and of the velocity's diagonal. */
VF_FN void vf_start_deviations(struct vf_start *out)
{
    const double *c = out->nav.covariance;
    const double a = c[vf_nav_index(3, 3)], b = c[vf_nav_index(4, 4)], d = c[vf_nav_index(3, 4)];
    const double half = 0.5 * (a - b);
    out->tilt_rad = sqrt(0.5 * (a + b) + sqrt(half * half + d * d));
    out->velocity_mps = 0.0;
    for (int k = 0; k < 3; k++) {
        const double s = sqrt(c[vf_nav_index(VF_NAV_V + k, VF_NAV_V + k)]);
        if (s > out->velocity_mps) out->velocity_mps = s;
    }
}

/** Estimate at rest or in motion, with its gates. Returns what it says. */
VF_FN enum vf_start_state vf_start_estimate(struct vf_start_work *w, const struct vf_start_rig *rig,
                                            const struct vf_start_frame *frame, int intervals, int motions,
                                            const struct vf_start_limits *limits, int rest, struct vf_start *out)
{
    double bias[3], size = 0.0;
    vf_start_gyro(rig, frame, intervals, limits, bias);
    vf_start_guess(w, rig, frame, intervals, bias, rest);
    for (int i = 0; i < VF_START_STEPS; i++) {
        out->chi2 = vf_start_eliminate(w, rig, frame, intervals, limits, rest);
        size = vf_start_step(w, intervals);
    }
    vf_start_state_of(w, rig, intervals, &out->nav);
    out->freedom = (uint32_t)(6 * motions - 5 + (rest ? 3 * intervals + 3 : 0));
    vf_start_deviations(out);
    if (!(out->chi2 < limits->misfit * vf_start_chance(out->freedom))) return VF_START_CONTRADICTS;
    if (!(out->tilt_rad < limits->tilt_rad && out->velocity_mps < limits->velocity_mps && size < 0.1))
        return VF_START_WEAK;
    return rest ? VF_START_STANDING : VF_START_MOVING;
}

/** Start from `intervals` consecutive intervals, at most VF_START_INTERVALS. out->nav is a state where out->state is
 *  VF_START_STANDING or VF_START_MOVING, else 0. */
VF_FN void vf_start(struct vf_start_work *w, const struct vf_start_rig *rig, const struct vf_start_frame *frame,
                    int intervals, const struct vf_start_limits *limits, struct vf_start *out)
{
    int motions = 0, empty = 0;
    uint32_t flags = 0;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < intervals; i++) {
        motions += frame[i].seen;
        empty |= !(frame[i].imu.dt_s > 0.0) || !frame[i].readings.n;
        flags |= frame[i].imu.flags;
    }
    if (empty)
        out->state = VF_START_NO_IMU;
    else if (intervals + 1 < VF_START_LEAST || intervals > VF_START_INTERVALS || 2 * motions < intervals)
        out->state = VF_START_FEW;
    else if (vf_start_units(frame, intervals, rig->noise.gravity_m_s2))
        out->state = VF_START_UNITS;
    else {
        vf_start_roots(w, rig, frame, intervals, limits->motion_scale);
        if (vf_start_quiet(rig, frame, intervals, limits) && vf_start_still(frame, intervals))
            out->state = vf_start_estimate(w, rig, frame, intervals, motions, limits, 1, out);
        if (out->state != VF_START_STANDING)
            out->state = vf_start_estimate(w, rig, frame, intervals, motions, limits, 0, out);
    }
    if (out->state == VF_START_STANDING || out->state == VF_START_MOVING)
        out->nav.flags = flags;
    else
        memset(&out->nav, 0, sizeof out->nav);
}

#endif
