/* SPDX-License-Identifier: MIT
 *
 * The state of the body (examples/companion/odometry.h) beside textbook forms: poses, velocities and rates from
 * rotation matrices, covariances from differences of these forms, and answers that anyone can check by hand.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "examples/companion/odometry.h"
#include "tests/fixture/random.h"

enum { ERRORS = 18, OUT = 12 }; /* 15 of the state, 3 of the gyro's noise; pose and motion of the body */

/* ---- textbook forms ---------------------------------------------------------------------------------------------- */

static void multiply(double out[9], const double A[9], const double B[9])
{
    double C[9];
    for (int i = 0; i < 9; i++)
        C[i] = A[i / 3 * 3] * B[i % 3] + A[i / 3 * 3 + 1] * B[3 + i % 3] + A[i / 3 * 3 + 2] * B[6 + i % 3];
    memcpy(out, C, sizeof C);
}

static void apply(double out[3], const double A[9], const double v[3])
{
    double w[3];
    for (int i = 0; i < 3; i++) w[i] = A[3 * i] * v[0] + A[3 * i + 1] * v[1] + A[3 * i + 2] * v[2];
    memcpy(out, w, sizeof w);
}

static void transposed(double out[9], const double A[9])
{
    double B[9];
    for (int i = 0; i < 9; i++) B[i] = A[i % 3 * 3 + i / 3];
    memcpy(out, B, sizeof B);
}

/** Rodrigues. */
static void turn(double R[9], const double w[3])
{
    const double angle = sqrt(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    const double s = angle > 0.0 ? sin(angle) / angle : 1.0,
                 c = angle > 0.0 ? (1.0 - cos(angle)) / (angle * angle) : 0.5;
    const double H[9] = {0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0};
    double HH[9];
    multiply(HH, H, H);
    for (int i = 0; i < 9; i++) R[i] = (i % 4 == 0) + s * H[i] + c * HH[i];
}

static void matrix(double R[9], const double q[4])
{
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double M[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                         2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                         2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    memcpy(R, M, sizeof M);
}

/** All that depends on the errors of a state: pose and motion of the body. */
static void body_of(double out[OUT], const vfront_nav_t *nav, const odometry_inputs_t *in, const odometry_frame_t *f,
                    const double error[ERRORS])
{
    double R[9], E[9], Rb[9], R_imu_body[9], R_local_body[9], lever[3], p[3], v[3], rate[3], swing[3], u[3];
    matrix(R, nav->q_odom_imu);
    turn(E, error + 3);
    multiply(R, E, R);
    transposed(R_imu_body, in->T_body_imu.R);
    apply(lever, R_imu_body, in->T_body_imu.t);
    for (int i = 0; i < 3; i++) lever[i] = -lever[i]; /* of the body's origin, in IMU axes */
    apply(u, R, lever);
    for (int i = 0; i < 3; i++) p[i] = nav->position_m[i] + error[i] + u[i] - f->first_m[i];
    apply(out, f->R_local_odom, p);
    for (int i = 0; i < 3; i++) out[i] += f->start.position_m[i];
    multiply(Rb, R, R_imu_body);
    multiply(R_local_body, f->R_local_odom, Rb);
    out[3] = atan2(R_local_body[7], R_local_body[8]);
    out[4] = asin(-R_local_body[6]);
    out[5] = atan2(R_local_body[3], R_local_body[0]);
    for (int i = 0; i < 3; i++) {
        rate[i] = in->rate_rad_s[i] + error[15 + i] - nav->gyro_bias_rad_s[i] - error[9 + i];
        v[i] = nav->velocity_mps[i] + error[6 + i];
    }
    swing[0] = rate[1] * lever[2] - rate[2] * lever[1];
    swing[1] = rate[2] * lever[0] - rate[0] * lever[2];
    swing[2] = rate[0] * lever[1] - rate[1] * lever[0];
    apply(swing, in->T_body_imu.R, swing);
    transposed(Rb, Rb);
    apply(out + 6, Rb, v);
    for (int i = 0; i < 3; i++) out[6 + i] += swing[i];
    apply(out + 9, in->T_body_imu.R, rate);
}

/* ---- drawn states ------------------------------------------------------------------------------------------------ */

static double drawn(double size) { return size * ((double)(roll64() >> 11) * 0x1p-52 - 1.0); }

static void draw_rotation(double R[9], double size)
{
    const double w[3] = {drawn(size), drawn(size), drawn(size)};
    turn(R, w);
}

/** A state, a mount, rates; the covariance is A A' of a random A, with true scales. */
static void draw(vfront_nav_t *nav, odometry_inputs_t *in)
{
    static const double scale[5] = {0.1, 0.02, 0.2, 0.002, 0.05};
    double A[15][15], R[9], xyzw[4];
    memset(nav, 0, sizeof *nav);
    memset(in, 0, sizeof *in);
    draw_rotation(R, 1.2);
    pose_quaternion(R, xyzw);
    nav->q_odom_imu[0] = xyzw[3];
    memcpy(nav->q_odom_imu + 1, xyzw, 3 * sizeof *xyzw);
    for (int i = 0; i < 3; i++) {
        nav->position_m[i] = drawn(50.0);
        nav->velocity_mps[i] = drawn(10.0);
        nav->gyro_bias_rad_s[i] = drawn(0.05);
        in->rate_rad_s[i] = drawn(3.0);
        in->T_body_imu.t[i] = drawn(0.3);
    }
    draw_rotation(in->T_body_imu.R, 3.0);
    in->rate_sigma_rad_s = 0.02;
    for (int i = 0; i < 225; i++) A[i / 15][i % 15] = drawn(1.0) * scale[i / 15 / 3];
    for (int i = 0; i < 15; i++)
        for (int j = i; j < 15; j++) {
            double sum = 0.0;
            for (int k = 0; k < 15; k++) sum += A[i][k] * A[j][k];
            nav->covariance[odometry_index(15, i, j)] = sum;
        }
}

/** Derivatives by differences of the textbook form. */
static void differences(double J[OUT][ERRORS], const vfront_nav_t *nav, const odometry_inputs_t *in,
                        const odometry_frame_t *f)
{
    const double h = 1e-5;
    for (int k = 0; k < ERRORS; k++) {
        double error[ERRORS] = {0}, more[OUT], less[OUT];
        error[k] = h;
        body_of(more, nav, in, f, error);
        error[k] = -h;
        body_of(less, nav, in, f, error);
        for (int i = 0; i < OUT; i++) J[i][k] = (more[i] - less[i]) / (2.0 * h);
    }
}

static double input_covariance(const vfront_nav_t *nav, const odometry_inputs_t *in, int i, int j)
{
    if (i >= 15 || j >= 15) return i == j ? in->rate_sigma_rad_s * in->rate_sigma_rad_s : 0.0;
    return nav->covariance[i <= j ? odometry_index(15, i, j) : odometry_index(15, j, i)];
}

static void expect_covariance(const double got[21], double J[OUT][ERRORS], int from, const vfront_nav_t *nav,
                              const odometry_inputs_t *in)
{
    double P[6][6];
    for (int r = 0; r < 6; r++)
        for (int c = 0; c < 6; c++) {
            P[r][c] = 0.0;
            for (int i = 0; i < ERRORS; i++)
                for (int j = 0; j < ERRORS; j++)
                    P[r][c] += J[from + r][i] * input_covariance(nav, in, i, j) * J[from + c][j];
        }
    for (int r = 0; r < 6; r++)
        for (int c = r; c < 6; c++) {
            const double size = sqrt(P[r][r] * P[c][c]), off = fabs(got[odometry_index(6, r, c)] - P[r][c]);
            assert_true(off <= 1e-6 * size);
        }
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void test_textbook(void **state)
{
    (void)state;
    shake(7);
    for (int round = 0; round < 300; round++) {
        vfront_nav_t nav;
        odometry_inputs_t in;
        odometry_frame_t frame = {0};
        odometry_t first, o;
        double want[OUT], J[OUT][ERRORS], R[9];
        const double none[ERRORS] = {0};
        draw(&nav, &in);
        odometry_of(&first, &frame, &nav, &in);
        assert_true(fabs(first.euler_rad[2]) < 1e-12); /* yaw of the first state is 0, its place the origin */
        for (int i = 0; i < 3; i++) assert_true(fabs(first.position_m[i]) < 1e-12);
        const pose_t mount = in.T_body_imu;
        draw(&nav, &in);
        in.T_body_imu = mount;
        body_of(want, &nav, &in, &frame, none);
        if (fabs(want[4]) > 1.3) continue; /* the pitch: there the derivatives are bounded */
        odometry_of(&o, &frame, &nav, &in);
        matrix(R, o.q_local_body);
        for (int i = 0; i < 3; i++) {
            assert_true(fabs(o.position_m[i] - want[i]) < 1e-9);
            assert_true(fabs(o.euler_rad[i] - want[3 + i]) < 1e-9);
            assert_true(fabs(o.velocity_mps[i] - want[6 + i]) < 1e-9);
            assert_true(fabs(o.rate_rad_s[i] - want[9 + i]) < 1e-9);
        }
        assert_true(fabs(asin(-R[6]) - want[4]) < 1e-9); /* w first, body to local */
        assert_true(fabs(atan2(R[3], R[0]) - want[5]) < 1e-9);
        differences(J, &nav, &in, &frame);
        expect_covariance(o.pose_covariance, J, 0, &nav, &in);
        expect_covariance(o.motion_covariance, J, 6, &nav, &in);
    }
}

/** State of an IMU whose axes are x forward, y left, z up, level, heading along x of the odometry frame. */
static void level(vfront_nav_t *nav, odometry_inputs_t *in)
{
    static const double R[9] = {1, 0, 0, 0, -1, 0, 0, 0, -1};
    memset(nav, 0, sizeof *nav);
    memset(in, 0, sizeof *in);
    nav->q_odom_imu[0] = 1.0;
    for (int i = 0; i < 15; i++) nav->covariance[odometry_index(15, i, i)] = 1e-4;
    memcpy(in->T_body_imu.R, R, sizeof R);
}

static void set_attitude(vfront_nav_t *nav, double about_x, double about_y, double about_z)
{
    const double w[3] = {about_x, about_y, about_z};
    double R[9], xyzw[4];
    turn(R, w);
    pose_quaternion(R, xyzw);
    nav->q_odom_imu[0] = xyzw[3];
    memcpy(nav->q_odom_imu + 1, xyzw, 3 * sizeof *xyzw);
}

/** Lift, move, nod, lean, turn: the signs that a pilot expects. */
static void test_signs(void **state)
{
    vfront_nav_t nav;
    odometry_inputs_t in;
    odometry_frame_t frame = {0};
    odometry_t o;
    (void)state;
    level(&nav, &in);
    odometry_of(&o, &frame, &nav, &in);
    nav.position_m[0] = 3.0; /* ahead, left, up */
    nav.position_m[1] = 2.0;
    nav.position_m[2] = 1.0;
    nav.velocity_mps[0] = 0.3;
    nav.velocity_mps[1] = 0.2;
    nav.velocity_mps[2] = 0.1;
    odometry_of(&o, &frame, &nav, &in);
    const double place[3] = {3.0, -2.0, -1.0};
    for (int i = 0; i < 3; i++) {
        assert_true(fabs(o.position_m[i] - place[i]) < 1e-12);
        assert_true(fabs(o.velocity_mps[i] - place[i] / 10.0) < 1e-12);
    }
    set_attitude(&nav, 0.0, -0.2, 0.0); /* about y, left: nose up */
    odometry_of(&o, &frame, &nav, &in);
    assert_true(fabs(o.euler_rad[1] - 0.2) < 1e-12);
    set_attitude(&nav, 0.2, 0.0, 0.0); /* about x, forward: right side down */
    odometry_of(&o, &frame, &nav, &in);
    assert_true(fabs(o.euler_rad[0] - 0.2) < 1e-12);
    set_attitude(&nav, 0.0, 0.0, -0.2); /* about z, up: to the right */
    odometry_of(&o, &frame, &nav, &in);
    assert_true(fabs(o.euler_rad[2] - 0.2) < 1e-12);
    assert_true(o.q_local_body[0] > 0.9 && o.q_local_body[3] > 0.0);
    set_attitude(&nav, 0.0, 0.0, acos(-1.0) / 2.0); /* nose to the left, flying along x: to the right of the nose */
    nav.velocity_mps[0] = 1.0;
    nav.velocity_mps[1] = nav.velocity_mps[2] = 0.0;
    odometry_of(&o, &frame, &nav, &in);
    assert_true(fabs(o.velocity_mps[0]) < 1e-12 && fabs(o.velocity_mps[1] - 1.0) < 1e-12);
}

/** An IMU 0.2 m ahead of the centre of a vehicle that turns in place to the right at 1 rad/s: it moves to the right,
 *  the vehicle does not. */
static void test_lever(void **state)
{
    vfront_nav_t nav;
    odometry_inputs_t in;
    odometry_frame_t frame = {0};
    odometry_t o;
    (void)state;
    level(&nav, &in);
    in.T_body_imu.t[0] = 0.2;
    in.rate_rad_s[2] = -1.0;
    nav.velocity_mps[1] = -0.2;
    odometry_of(&o, &frame, &nav, &in);
    for (int i = 0; i < 3; i++) assert_true(fabs(o.velocity_mps[i]) < 1e-12);
    assert_true(fabs(o.rate_rad_s[2] - 1.0) < 1e-12);
    set_attitude(&nav, 0.0, 0.0, -1.0);
    nav.position_m[0] = 0.2 * cos(1.0) - 0.2;
    nav.position_m[1] = -0.2 * sin(1.0);
    odometry_of(&o, &frame, &nav, &in);
    for (int i = 0; i < 3; i++) assert_true(fabs(o.position_m[i]) < 1e-12);
}

/** After a restart pose and heading go on, and what is not known of them is in the covariance. */
static void test_resume(void **state)
{
    const odometry_start_t start = {{10.0, -4.0, -2.0}, 0.5, {0.5, 0.4, 0.3}, 0.1};
    const double *place = start.position_m, *sigma = start.sigma_m;
    vfront_nav_t nav;
    odometry_inputs_t in;
    odometry_frame_t frame;
    odometry_t o;
    (void)state;
    level(&nav, &in);
    set_attitude(&nav, 0.0, 0.0, 0.7); /* wherever the new odometry frame points */
    odometry_resume(&frame, &start);
    odometry_of(&o, &frame, &nav, &in);
    for (int i = 0; i < 3; i++) {
        assert_true(fabs(o.position_m[i] - place[i]) < 1e-12);
        assert_true(fabs(o.pose_covariance[odometry_index(6, i, i)] - 1e-4 - sigma[i] * sigma[i]) < 1e-9);
    }
    assert_true(fabs(o.euler_rad[2] - 0.5) < 1e-12);
    assert_true(fabs(o.pose_covariance[20] - 1e-4 - 0.01) < 1e-9);
    nav.position_m[0] = 2.0 * cos(0.7); /* 2 m ahead */
    nav.position_m[1] = 2.0 * sin(0.7);
    odometry_of(&o, &frame, &nav, &in);
    assert_true(fabs(o.position_m[0] - 10.0 - 2.0 * cos(0.5)) < 1e-12);
    assert_true(fabs(o.position_m[1] + 4.0 - 2.0 * sin(0.5)) < 1e-12);
    const double across = o.pose_covariance[0] * sin(0.5) * sin(0.5) + o.pose_covariance[6] * cos(0.5) * cos(0.5) -
                          2.0 * o.pose_covariance[1] * sin(0.5) * cos(0.5);
    const double own = 1e-4 + sigma[0] * sigma[0] * sin(0.5) * sin(0.5) + sigma[1] * sigma[1] * cos(0.5) * cos(0.5);
    assert_true(fabs(across - own - 0.2 * 0.2) < 1e-9); /* 2 m times 0.1 rad */
}

/** A stamp that may be off by 10 ms at 2 m/s and 1 rad/s. */
static void test_stamp(void **state)
{
    vfront_nav_t nav;
    odometry_inputs_t in;
    odometry_frame_t frame = {0};
    odometry_t o;
    (void)state;
    level(&nav, &in);
    nav.velocity_mps[0] = 2.0;
    in.rate_rad_s[2] = -1.0;
    in.stamp_sigma_s = 0.01;
    odometry_of(&o, &frame, &nav, &in);
    assert_true(fabs(o.pose_covariance[0] - 1e-4 - 4e-4) < 1e-9);
    assert_true(fabs(o.pose_covariance[6] - 1e-4) < 1e-9);
    assert_true(fabs(o.pose_covariance[20] - 1e-4 - 1e-4) < 1e-9);
}

static void test_up(void **state)
{
    vfront_nav_t nav;
    odometry_inputs_t in;
    double up[3];
    (void)state;
    level(&nav, &in);
    odometry_up(up, &nav, &in.T_body_imu);
    assert_true(fabs(up[0]) < 1e-12 && fabs(up[1]) < 1e-12 && fabs(up[2] + 1.0) < 1e-12);
    set_attitude(&nav, 0.3, 0.0, 0.0); /* right side down: up lies to the left */
    odometry_up(up, &nav, &in.T_body_imu);
    assert_true(fabs(up[1] + sin(0.3)) < 1e-12 && fabs(up[2] + cos(0.3)) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_textbook), cmocka_unit_test(test_signs),
                                       cmocka_unit_test(test_lever),    cmocka_unit_test(test_resume),
                                       cmocka_unit_test(test_stamp),    cmocka_unit_test(test_up)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
