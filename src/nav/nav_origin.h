/* SPDX-License-Identifier: MIT */
/* Continuation of the odometry frame from an estimate that ended to the next one, with covariance.
 *
 * In      `last`: state of the ended estimate, carried on to the time of the next one, with covariance; `first`: first
 *         state of the next one, whose position and yaw are defined, not measured
 * Out     `first` at the position and yaw of `last`; the errors of its pose there
 * Rule    Turn about z: the one that leaves no rotation about z between both attitudes, since errors of the tilt must
 *         not turn the yaw, as a difference of two yaw angles would. `first` measures tilt and velocity, which corrects
 *         `last` (Kalman): errors of its position correlate with those of its velocity. Differences above their
 *         deviations multiply its covariance by chi2 / dof first.
 *         An estimate knows positions and yaw since its first state alone. What its pose had for errors in the
 *         odometry frame, e and w, adds to each of its states: e + w x (p - p_first) to the position, w to the
 *         attitude, w x v to the velocity.
 * Exact   double precision in one order, on the host
 */
#ifndef VF_NAV_ORIGIN_H
#define VF_NAV_ORIGIN_H

#include "imu/propagate.h"
#include "math/cholesky.h"
#include "vio_init/guess.h"

/** First state of an estimate in the odometry frame. */
struct vf_nav_origin {
    double p[3];            /* its position [m] */
    double covariance[120]; /* covariance of errors of position and attitude, others 0; as in vfront_nav_t */
    uint32_t known;         /* 0: these errors are 0 */
    uint32_t reserved;
};

/** Sets the origin to the pose of `first`, whose errors are those of `last`. tilted: 1: those of the tilt, too. */
VF_FN void vf_nav_origin_set(struct vf_nav_origin *o, const vfront_nav_t *first, const vfront_nav_t *last, int tilted)
{
    memset(o, 0, sizeof *o);
    memcpy(o->p, first->position_m, sizeof o->p);
    o->known = 1;
    for (int i = 0; i < VF_NAV_V; i++)
        for (int j = i; j < VF_NAV_V; j++) {
            const int is_tilt = i == VF_NAV_W || i == VF_NAV_W + 1 || j == VF_NAV_W || j == VF_NAV_W + 1;
            if (tilted || !is_tilt) o->covariance[vf_nav_index(i, j)] = last->covariance[vf_nav_index(i, j)];
        }
}

/** Adds the errors of the origin to the covariance of a state. */
VF_FN void vf_nav_origin_add(const struct vf_nav_origin *o, vfront_nav_t *nav)
{
    double F[225], P[225], d[3], more[120];
    if (!o->known) return;
    memset(F, 0, sizeof F);
    for (int i = 0; i < VF_NAV_ERRORS; i++) F[(VF_NAV_ERRORS + 1) * i] = 1.0;
    for (int k = 0; k < 3; k++) d[k] = nav->position_m[k] - o->p[k];
    vf_nav_cross_block(&F[VF_NAV_P * VF_NAV_ERRORS + VF_NAV_W], d);
    vf_nav_cross_block(&F[VF_NAV_V * VF_NAV_ERRORS + VF_NAV_W], nav->velocity_mps);
    vf_nav_unpack(o->covariance, P);
    (void)vf_nav_transform(P, F);
    vf_nav_pack(P, more);
    for (int i = 0; i < 120; i++) nav->covariance[i] += more[i];
}

/** Rotation from attitude `first` to attitude `last`, in axes of the odometry frame. */
VF_FN void vf_nav_rotation_from(const vfront_nav_t *first, const vfront_nav_t *last, double q[4])
{
    const double *f = first->q_odom_imu, back[4] = {f[0], -f[1], -f[2], -f[3]};
    vf_quaternion_multiply(last->q_odom_imu, back, q);
}

/** Moves a first state to the position and yaw of the last one. */
VF_FN void vf_nav_place(vfront_nav_t *first, const vfront_nav_t *last)
{
    double turn[4], Z[9], v[3], F[225], P[225];
    vf_nav_rotation_from(first, last, turn);
    const double length = sqrt(turn[0] * turn[0] + turn[3] * turn[3]);
    turn[0] = length > VF_SOLVE_ROUNDING ? turn[0] / length : 1.0;
    turn[1] = turn[2] = 0.0;
    turn[3] = length > VF_SOLVE_ROUNDING ? turn[3] / length : 0.0;
    vf_quaternion_matrix(turn, Z);
    vf_quaternion_multiply(turn, first->q_odom_imu, first->q_odom_imu);
    vf_quaternion_unit(first->q_odom_imu);
    vf_transform_double(Z, first->velocity_mps, v);
    memcpy(first->velocity_mps, v, sizeof v);
    memcpy(first->position_m, last->position_m, sizeof first->position_m);
    memset(F, 0, sizeof F);
    for (int i = 0; i < VF_NAV_ERRORS; i++)
        for (int k = i / 3 * 3; k < i / 3 * 3 + 3; k++)
            F[VF_NAV_ERRORS * i + k] = i < VF_NAV_GYRO ? Z[3 * (i % 3) + k % 3] : i == k;
    vf_nav_unpack(first->covariance, P);
    (void)vf_nav_transform(P, F);
    vf_nav_pack(P, first->covariance);
}

/** Most rows that a first state measures: tilt about x and y, velocity. Without gravity the velocity alone. */
enum { VF_NAV_MEASURED = 5 };

/** What a first state measures of the last one. */
struct vf_nav_measurement {
    int rows;
    double difference[VF_NAV_MEASURED];               /* measured minus last state */
    double HP[VF_NAV_MEASURED][VF_NAV_ERRORS];        /* Jacobian H times the last state's covariance P */
    double HPH[VF_NAV_MEASURED * VF_NAV_MEASURED];    /* H P H' */
    double R[VF_NAV_MEASURED * VF_NAV_MEASURED];      /* covariance of the measurement */
    double factor[VF_NAV_MEASURED * VF_NAV_MEASURED]; /* Cholesky factor of the difference's covariance */
    double white[VF_NAV_MEASURED];                    /* difference over that factor */
};

/** Measurement by a first state that vf_nav_place() has moved, or, with tilted 1, that has the attitude of `last`. Its
 *  velocity turns with the attitude error w: by v x w, and by a second order that counts as noise. */
VF_FN void vf_nav_measure(struct vf_nav_measurement *m, const vfront_nav_t *first, const vfront_nav_t *last, int tilted)
{
    static const int rows[VF_NAV_MEASURED] = {VF_NAV_W, VF_NAV_W + 1, VF_NAV_V, VF_NAV_V + 1, VF_NAV_V + 2};
    const int *row = tilted ? rows + 2 : rows;
    const double *v = first->velocity_mps;
    double P[225], H[VF_NAV_MEASURED][VF_NAV_ERRORS] = {{0.0}}, turn[4], tilt[3], attitude_variance = 0.0;
    m->rows = tilted ? VF_NAV_MEASURED - 2 : VF_NAV_MEASURED;
    vf_nav_unpack(last->covariance, P);
    for (int k = tilted ? 0 : 2; k < 3; k++) attitude_variance += P[(VF_NAV_W + k) * (VF_NAV_ERRORS + 1)];
    vf_nav_rotation_from(last, first, turn);
    vf_quaternion_logarithm(turn, tilt);
    for (int i = 0; i < m->rows; i++) {
        const int k = row[i] - VF_NAV_V, after = (k + 1) % 3, before = (k + 2) % 3;
        H[i][row[i]] = 1.0;
        if (k >= 0 && (tilted || before == 2)) H[i][VF_NAV_W + before] = v[after];
        if (k >= 0 && (tilted || after == 2)) H[i][VF_NAV_W + after] = -v[before];
        m->difference[i] = k < 0 ? tilt[i] : v[k] - last->velocity_mps[k];
    }
    vf_nav_product(H[0], VF_NAV_ERRORS, m->rows, VF_NAV_ERRORS, P, m->HP[0]);
    for (int i = 0; i < m->rows; i++)
        for (int j = 0; j < m->rows; j++) {
            const int low = row[i] < row[j] ? row[i] : row[j], high = row[i] < row[j] ? row[j] : row[i],
                      at = m->rows * i + j;
            m->R[at] = first->covariance[vf_nav_index(low, high)];
            if (i == j && low >= VF_NAV_V)
                m->R[at] += 0.5 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]) * attitude_variance * attitude_variance;
            m->HPH[at] = 0.0;
            for (int k = 0; k < VF_NAV_ERRORS; k++) m->HPH[at] += m->HP[i][k] * H[j][k];
        }
}

/** Makes the difference white, with covariance scale HPH + R. Returns its squared length. */
VF_FN double vf_nav_whiten(struct vf_nav_measurement *m, double scale)
{
    double square = 0.0;
    for (int i = 0; i < m->rows * m->rows; i++) m->factor[i] = scale * m->HPH[i] + m->R[i];
    (void)vf_solve_cholesky(m->factor, m->factor, m->rows, m->rows, 0.0);
    memcpy(m->white, m->difference, sizeof m->white);
    vf_solve_forward(m->factor, m->white, m->rows, m->rows);
    for (int i = 0; i < m->rows; i++) square += m->white[i] * m->white[i];
    return square;
}

/** Corrects pose and covariance of `last` by a first state: vf_nav_measure(). */
VF_FN void vf_nav_correct(vfront_nav_t *last, const vfront_nav_t *first, int tilted)
{
    enum { N = VF_NAV_ERRORS };
    struct vf_nav_measurement m;
    double gain[N][VF_NAV_MEASURED], dx[N], q[4];
    vf_nav_measure(&m, first, last, tilted);
    const double ratio = vf_nav_whiten(&m, 1.0) / m.rows, scale = ratio > 1.0 ? ratio : 1.0;
    (void)vf_nav_whiten(&m, scale);
    for (int k = 0; k < N; k++) {
        for (int i = 0; i < m.rows; i++) gain[k][i] = scale * m.HP[i][k];
        vf_solve_forward(m.factor, gain[k], m.rows, m.rows);
        dx[k] = 0.0;
        for (int i = 0; i < m.rows; i++) dx[k] += gain[k][i] * m.white[i];
    }
    for (int i = 0, at = 0; i < N; i++)
        for (int j = i; j < N; j++, at++) {
            last->covariance[at] *= scale;
            for (int k = 0; k < m.rows; k++) last->covariance[at] -= gain[i][k] * gain[j][k];
        }
    for (int k = 0; k < 3; k++) last->position_m[k] += dx[VF_NAV_P + k];
    vf_start_clamped_rotation(dx + VF_NAV_W, q);
    vf_quaternion_multiply(q, last->q_odom_imu, last->q_odom_imu);
    vf_quaternion_unit(last->q_odom_imu);
}

#endif
