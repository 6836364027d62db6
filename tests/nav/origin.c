/* SPDX-License-Identifier: MIT */
/* Continuation of the odometry frame after a loss, on drawn states: errors of pose and velocity of later states beside
 * the covariance that they have, at any attitude of the IMU. */
#include "nav/nav_origin.h"

#include "tests/fixture/random.h"
#include "tests/fixture/rigid.h"

enum { N = VF_NAV_ERRORS, DRAWS = 4000 };

/** Adds errors to a state: R_true = exp([w]) R. */
static void disturb(vfront_nav_t *nav, const double e[N], double sign)
{
    double w[3], q[4];
    for (int k = 0; k < 3; k++) {
        nav->position_m[k] += sign * e[VF_NAV_P + k];
        nav->velocity_mps[k] += sign * e[VF_NAV_V + k];
        w[k] = sign * e[VF_NAV_W + k];
    }
    vf_quaternion_exponential(w, q);
    vf_quaternion_multiply(q, nav->q_odom_imu, nav->q_odom_imu);
}

/** Covariance with these deviations and drawn correlations; e: errors that have it. */
static void draw_errors(const double sigma[N], double covariance[120], double e[N])
{
    double L[N][N], P[N * N] = {0};
    for (int i = 0; i < N; i++) {
        double square = 0.0;
        for (int k = 0; k <= i; k++) L[i][k] = k < i ? normal() : 2.0, square += L[i][k] * L[i][k];
        for (int k = 0; k <= i; k++) L[i][k] *= sigma[i] / sqrt(square);
    }
    double white[N];
    for (int k = 0; k < N; k++) white[k] = normal();
    for (int i = 0; i < N; i++) {
        e[i] = 0.0;
        for (int k = 0; k <= i; k++) e[i] += L[i][k] * white[k];
        for (int j = 0; j < N; j++)
            for (int k = 0; k <= (i < j ? i : j); k++) P[N * i + j] += L[i][k] * L[j][k];
    }
    vf_nav_pack(P, covariance);
}

/** Rotates a state about z. */
static void turn_by(vfront_nav_t *nav, double angle)
{
    const double q[4] = {cos(0.5 * angle), 0, 0, sin(0.5 * angle)};
    double Z[9], v[3];
    vf_quaternion_matrix(q, Z);
    vf_transform_double(Z, nav->velocity_mps, v);
    memcpy(nav->velocity_mps, v, sizeof v);
    vf_quaternion_multiply(q, nav->q_odom_imu, nav->q_odom_imu);
}

/** True and lost state, and first state of the next estimate in a frame of its own: another yaw, position 0. */
static void draw_states(vfront_nav_t *truth, vfront_nav_t *last, vfront_nav_t *first, double yaw)
{
    static const double lost[N] = {1, 1, 1, 0.02, 0.02, 0.05, 0.3, 0.3, 0.3, 1e-3, 1e-3, 1e-3, 0.1, 0.1, 0.1},
                        known[N] = {1e-9, 1e-9, 1e-9, 0.01, 0.01, 1e-9, 0.05, 0.05, 0.05, 0.1, 0.1, 0.1, 1, 1, 1};
    double e[N];
    memset(truth, 0, sizeof *truth);
    for (int k = 0; k < 4; k++) truth->q_odom_imu[k] = normal();
    vf_quaternion_unit(truth->q_odom_imu);
    for (int k = 0; k < 3; k++) truth->position_m[k] = 10 * normal(), truth->velocity_mps[k] = 2 * normal();
    *last = *first = *truth;
    draw_errors(lost, last->covariance, e);
    disturb(last, e, -1);
    turn_by(first, yaw);
    memset(first->position_m, 0, sizeof first->position_m);
    draw_errors(known, first->covariance, e);
    disturb(first, e, -1);
}

/** Squared errors of n rows over their covariance, by the rows' Cholesky factor. */
static double normalised(const double covariance[120], const int *row, int n, const double *e)
{
    double P[N * N], L[N * N], x[N], sum = 0.0;
    vf_nav_unpack(covariance, P);
    for (int i = 0; i < n; i++) {
        x[i] = e[row[i]];
        for (int j = 0; j < n; j++) L[n * i + j] = P[N * row[i] + row[j]];
    }
    assert_int_equal(vf_solve_cholesky(L, L, n, n, 0.0), 0);
    vf_solve_forward(L, x, n, n);
    for (int i = 0; i < n; i++) sum += x[i] * x[i];
    return sum / n;
}

/** A state some metres and turns after the first one: what was lost is its whole error. */
static void later(void **state)
{
    (void)state;
    static const int pose[4] = {VF_NAV_P, VF_NAV_P + 1, VF_NAV_P + 2, VF_NAV_W + 2};
    double squares = 0.0, corrected = 0.0, uncorrected = 0.0;
    shake(71);
    for (int run = 0; run < DRAWS; run++) {
        vfront_nav_t truth, last, first, nav;
        struct vf_nav_origin origin;
        double e[N], d[3], D[3], q[4], Z[9];
        draw_states(&truth, &last, &first, real(-3.1, 3.1));
        vf_nav_place(&first, &last);
        for (int k = 0; k < 3; k++) uncorrected += pow(truth.position_m[k] - last.position_m[k], 2);
        vf_nav_correct(&last, &first, 0);
        vf_nav_place(&first, &last);
        vf_nav_origin_set(&origin, &first, &last, 0);
        for (int k = 0; k < 3; k++) corrected += pow(truth.position_m[k] - first.position_m[k], 2);
        /* rotation about z that takes the first state's axes to the true ones */
        vf_nav_rotation_from(&first, &truth, q);
        const double yaw = 2 * atan2(q[3], q[0]) - (q[0] < 0 ? copysign(6.283185307179586, q[3]) : 0);
        const double turned[4] = {cos(0.5 * yaw), 0, 0, sin(0.5 * yaw)};
        vf_quaternion_matrix(turned, Z);
        for (int k = 0; k < 3; k++) d[k] = 5 * normal();
        vf_transform_double(Z, d, D);
        nav = first;
        memset(nav.covariance, 0, sizeof nav.covariance);
        for (int k = 0; k < 3; k++) {
            nav.position_m[k] += d[k];
            e[k] = truth.position_m[k] + D[k] - nav.position_m[k];
        }
        e[VF_NAV_W + 2] = yaw;
        vf_nav_origin_add(&origin, &nav);
        squares += normalised(nav.covariance, pose, 4, e) / DRAWS;
        assert_true(nav.covariance[vf_nav_index(VF_NAV_W, VF_NAV_W)] == 0.0);
        const double *v = nav.velocity_mps, variance = nav.covariance[vf_nav_index(5, 5)];
        assert_true(fabs(nav.covariance[vf_nav_index(6, 6)] - v[1] * v[1] * variance) < 1e-12);
        assert_true(nav.covariance[vf_nav_index(8, 8)] == 0.0);
    }
    print_message(
        "mean squared errors over their variances %.3f; position: %.3f m before, %.3f m after the correction\n",
        squares, sqrt(uncorrected / DRAWS), sqrt(corrected / DRAWS));
    assert_true(squares > 0.7 &&
                squares < 1.05); /* below 1: differences above their deviations add to the covariance */
    assert_true(corrected < 0.7 * uncorrected);
}

/** A first state with the attitude of the lost one measures the velocity in its axes: the whole pose has a
 *  covariance. */
static void without_gravity(void **state)
{
    (void)state;
    static const int pose[6] = {VF_NAV_P, VF_NAV_P + 1, VF_NAV_P + 2, VF_NAV_W, VF_NAV_W + 1, VF_NAV_W + 2};
    double squares = 0.0;
    shake(73);
    for (int run = 0; run < DRAWS; run++) {
        vfront_nav_t truth, last, first;
        double e[N], q[4], M[9];
        draw_states(&truth, &last, &first, 0);
        vf_nav_rotation_from(&truth, &last, q);
        vf_quaternion_matrix(q, M);
        memcpy(first.q_odom_imu, last.q_odom_imu, sizeof first.q_odom_imu);
        vf_transform_double(M, truth.velocity_mps, first.velocity_mps);
        memset(first.covariance, 0, sizeof first.covariance);
        for (int k = 0; k < 3; k++) {
            first.velocity_mps[k] += 0.05 * normal();
            first.covariance[vf_nav_index(VF_NAV_V + k, VF_NAV_V + k)] = 0.05 * 0.05;
        }
        vf_nav_correct(&last, &first, 1);
        for (int k = 0; k < 3; k++) e[VF_NAV_P + k] = truth.position_m[k] - last.position_m[k];
        vf_nav_rotation_from(&last, &truth, q);
        vf_quaternion_logarithm(q, &e[VF_NAV_W]);
        squares += normalised(last.covariance, pose, 6, e) / DRAWS;
    }
    print_message("without gravity %.3f\n", squares);
    assert_true(squares > 0.7 && squares < 1.05);
}

/** A state that is wrong by far more than it knows has a covariance that says so once another contradicts it. */
static void contradicted(void **state)
{
    (void)state;
    vfront_nav_t truth, last, first;
    shake(72);
    for (int run = 0; run < 100; run++) {
        draw_states(&truth, &last, &first, real(-3.1, 3.1));
        const double before = last.covariance[vf_nav_index(0, 0)];
        for (int k = 0; k < 3; k++) last.velocity_mps[k] += 30 * (k + 1), last.position_m[k] += 30;
        vf_nav_place(&first, &last);
        vf_nav_correct(&last, &first, 0);
        assert_true(last.covariance[vf_nav_index(0, 0)] > 100 * before);
    }
}

/** Half a turn about a horizontal axis between both attitudes has no part about z: the position moves alone. */
static void half_turn(void **state)
{
    (void)state;
    vfront_nav_t truth, last, first;
    shake(74);
    for (int axis = 0; axis < 2; axis++) {
        draw_states(&truth, &last, &first, 0);
        memset(first.q_odom_imu, 0, sizeof first.q_odom_imu);
        memset(last.q_odom_imu, 0, sizeof last.q_odom_imu);
        first.q_odom_imu[0] = last.q_odom_imu[1 + axis] = 1.0;
        const vfront_nav_t before = first;
        vf_nav_place(&first, &last);
        assert_memory_equal(first.position_m, last.position_m, sizeof last.position_m);
        assert_memory_equal(first.velocity_mps, before.velocity_mps, sizeof before.velocity_mps);
        assert_memory_equal(first.q_odom_imu, before.q_odom_imu, sizeof before.q_odom_imu);
        for (int i = 0; i < 120; i++)
            assert_true(fabs(first.covariance[i] - before.covariance[i]) <= 1e-12 * fabs(before.covariance[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(later), cmocka_unit_test(without_gravity),
                                       cmocka_unit_test(contradicted), cmocka_unit_test(half_turn)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
