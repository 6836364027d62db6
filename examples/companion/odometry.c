/* SPDX-License-Identifier: MIT */
#include "odometry.h"

#include <math.h>
#include <string.h>

#include "examples/replay/state.h"

enum { NAV = 15, OUT = 6, P = 0, W = 3, V = 6, BG = 9 }; /* rows of a state's errors: vfront_nav_t */

#define COSINE_MIN 0.05 /* of the pitch: nearer to straight up or down roll and yaw are not separate */

int odometry_index(int n, int i, int j) { return i * n - i * (i - 1) / 2 + j - i; }

static void multiply(double out[9], const double A[9], const double B[9])
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] = A[3 * r] * B[c] + A[3 * r + 1] * B[3 + c] + A[3 * r + 2] * B[6 + c];
}

static void transpose(double out[9], const double A[9])
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) out[3 * r + c] = A[3 * c + r];
}

static void apply(double out[3], const double A[9], const double v[3])
{
    for (int r = 0; r < 3; r++) out[r] = A[3 * r] * v[0] + A[3 * r + 1] * v[1] + A[3 * r + 2] * v[2];
}

static void cross(double out[3], const double a[3], const double b[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

/** Matrix of v x. */
static void hat(double out[9], const double v[3])
{
    const double H[9] = {0.0, -v[2], v[1], v[2], 0.0, -v[0], -v[1], v[0], 0.0};
    memcpy(out, H, sizeof H);
}

/** Rotation of a unit quaternion w x y z. */
static void rotation(double R[9], const double q[4])
{
    const double xyzw[4] = {q[1], q[2], q[3], q[0]};
    pose_rotation(R, xyzw);
}

/** Roll, pitch and yaw of R = Rz(yaw) Ry(pitch) Rx(roll). */
static void euler(double out[3], const double R[9])
{
    const double s = fmin(1.0, fmax(-1.0, -R[6]));
    out[0] = atan2(R[7], R[8]);
    out[1] = asin(s);
    out[2] = atan2(R[3], R[0]);
}

/** Derivative of roll, pitch and yaw by a turn about the local axes: the inverse of its dependence on their rates. */
static void euler_by_turn(double E[9], const double e[3])
{
    const double c = cos(e[1]), cp = copysign(fmax(fabs(c), COSINE_MIN), c), tp = sin(e[1]) / cp;
    const double cy = cos(e[2]), sy = sin(e[2]);
    const double by[9] = {cy / cp, sy / cp, 0.0, -sy, cy, 0.0, cy * tp, sy * tp, 1.0};
    memcpy(E, by, sizeof by);
}

void odometry_resume(odometry_frame_t *f, const odometry_start_t *start)
{
    memset(f, 0, sizeof *f);
    f->start = *start;
}

/** z of the odometry frame is up, that of the local frame down; its x axis gives the body the yaw of the start. */
static void set_frame(odometry_frame_t *f, const double R_odom_body[9], const double body_m[3])
{
    /* with x and y of the local frame along x and -y of the odometry frame the yaw would be this */
    const double yaw = atan2(-R_odom_body[3], R_odom_body[0]) - f->start.yaw_rad, c = cos(yaw), s = sin(yaw);
    const double R[9] = {c, -s, 0.0, -s, -c, 0.0, 0.0, 0.0, -1.0};
    memcpy(f->R_local_odom, R, sizeof R);
    memcpy(f->first_m, body_m, sizeof f->first_m);
    f->is_set = 1;
}

static double covariance(const vfront_nav_t *nav, int i, int j)
{
    return nav->covariance[i <= j ? odometry_index(NAV, i, j) : odometry_index(NAV, j, i)];
}

/** out = J P J', upper triangle. */
static void carry(double out[21], double J[OUT][NAV], const vfront_nav_t *nav)
{
    double JP[OUT][NAV];
    for (int r = 0; r < OUT; r++)
        for (int c = 0; c < NAV; c++) {
            JP[r][c] = 0.0;
            for (int k = 0; k < NAV; k++) JP[r][c] += J[r][k] * covariance(nav, k, c);
        }
    for (int r = 0; r < OUT; r++)
        for (int c = r; c < OUT; c++) {
            double sum = 0.0;
            for (int k = 0; k < NAV; k++) sum += JP[r][k] * J[c][k];
            out[odometry_index(OUT, r, c)] = sum;
        }
}

/** A block of 3x3 of a Jacobian. */
static void put(double J[OUT][NAV], int row, int column, const double A[9], double sign)
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) J[row + r][column + c] = sign * A[3 * r + c];
}

/** out += sigma^2 a a'. */
static void add_outer(double out[21], const double a[OUT], double sigma)
{
    for (int r = 0; r < OUT; r++)
        for (int c = r; c < OUT; c++) out[odometry_index(OUT, r, c)] += sigma * sigma * a[r] * a[c];
}

/** Pose's covariance: its own, that of the pose that the local frame goes on from, and that of its time. */
static void pose_covariance(odometry_t *o, const odometry_frame_t *f, const vfront_nav_t *nav,
                            const double lever_odom[3], const double E[9], double stamp_sigma_s,
                            const double R_local_body[9])
{
    double J[OUT][NAV] = {{0.0}}, H[9], A[9], turn[9];
    double yaw_by[OUT] = {0.0}, time_by[OUT], rate_local[3], velocity_local[3];
    put(J, 0, P, f->R_local_odom, 1.0);
    hat(H, lever_odom);
    multiply(A, f->R_local_odom, H);
    put(J, 0, W, A, -1.0); /* R_true l = R l + w x (R l) */
    multiply(turn, E, f->R_local_odom);
    put(J, 3, W, turn, 1.0);
    carry(o->pose_covariance, J, nav);

    const odometry_start_t *start = &f->start;
    yaw_by[0] = -(o->position_m[1] - start->position_m[1]);
    yaw_by[1] = o->position_m[0] - start->position_m[0];
    yaw_by[5] = 1.0;
    add_outer(o->pose_covariance, yaw_by, start->sigma_yaw_rad);
    for (int i = 0; i < 3; i++) o->pose_covariance[odometry_index(OUT, i, i)] += start->sigma_m[i] * start->sigma_m[i];

    apply(velocity_local, R_local_body, o->velocity_mps);
    apply(rate_local, R_local_body, o->rate_rad_s);
    memcpy(time_by, velocity_local, sizeof velocity_local);
    apply(time_by + 3, E, rate_local);
    add_outer(o->pose_covariance, time_by, stamp_sigma_s);
}

/** That of velocity and rates in body axes. lever: the body's origin in IMU axes; velocity: that of the IMU, in axes of
 *  the odometry frame. */
static void motion_covariance(odometry_t *o, const vfront_nav_t *nav, const double R_body_odom[9],
                              const double R_body_imu[9], const double lever[3], double rate_sigma)
{
    double J[OUT][NAV] = {{0.0}}, H[9], A[9], lever_body[9];
    put(J, 0, V, R_body_odom, 1.0);
    hat(H, nav->velocity_mps);
    multiply(A, R_body_odom, H);
    put(J, 0, W, A, 1.0); /* R_true' v = R' (v - w x v) */
    hat(H, lever);
    multiply(lever_body, R_body_imu, H);
    put(J, 0, BG, lever_body, 1.0); /* (rate - bias) x l = l x bias + ... */
    put(J, 3, BG, R_body_imu, -1.0);
    carry(o->motion_covariance, J, nav);
    for (int axis = 0; axis < 3; axis++) { /* noise of the sample: as the bias, with the other sign */
        double by[OUT];
        for (int r = 0; r < 3; r++) {
            by[r] = -lever_body[3 * r + axis];
            by[3 + r] = R_body_imu[3 * r + axis];
        }
        add_outer(o->motion_covariance, by, rate_sigma);
    }
}

void odometry_of(odometry_t *o, odometry_frame_t *f, const vfront_nav_t *nav, const odometry_inputs_t *in)
{
    const pose_t T_imu_body = pose_inverse(&in->T_body_imu);
    double R_odom_imu[9], R_odom_body[9], R_body_odom[9], R_local_body[9], E[9];
    double lever_odom[3], body_m[3], shift[3], rate[3], swing[3], velocity[3], turn[3];
    rotation(R_odom_imu, nav->q_odom_imu);
    multiply(R_odom_body, R_odom_imu, T_imu_body.R);
    transpose(R_body_odom, R_odom_body);
    apply(lever_odom, R_odom_imu, T_imu_body.t);
    for (int i = 0; i < 3; i++) body_m[i] = nav->position_m[i] + lever_odom[i];
    if (!f->is_set) set_frame(f, R_odom_body, body_m);

    o->t_ns = nav->t_ns;
    for (int i = 0; i < 3; i++) shift[i] = body_m[i] - f->first_m[i];
    apply(o->position_m, f->R_local_odom, shift);
    for (int i = 0; i < 3; i++) o->position_m[i] += f->start.position_m[i];
    multiply(R_local_body, f->R_local_odom, R_odom_body);
    double xyzw[4];
    pose_quaternion(R_local_body, xyzw);
    o->q_local_body[0] = xyzw[3];
    memcpy(o->q_local_body + 1, xyzw, 3 * sizeof *xyzw);
    euler(o->euler_rad, R_local_body);

    for (int i = 0; i < 3; i++) rate[i] = in->rate_rad_s[i] - nav->gyro_bias_rad_s[i];
    apply(o->rate_rad_s, in->T_body_imu.R, rate);
    cross(swing, rate, T_imu_body.t);
    apply(velocity, R_body_odom, nav->velocity_mps);
    apply(turn, in->T_body_imu.R, swing);
    for (int i = 0; i < 3; i++) o->velocity_mps[i] = velocity[i] + turn[i];

    euler_by_turn(E, o->euler_rad);
    pose_covariance(o, f, nav, lever_odom, E, in->stamp_sigma_s, R_local_body);
    motion_covariance(o, nav, R_body_odom, in->T_body_imu.R, T_imu_body.t, in->rate_sigma_rad_s);
}

int odometry_has_up(const vfront_nav_t *nav)
{
    return state_is_valid(nav->state) && !(nav->flags & VFRONT_NAV_NO_GRAVITY);
}

void odometry_up(double up[3], const vfront_nav_t *nav, const pose_t *T_body_imu)
{
    double R_odom_imu[9];
    rotation(R_odom_imu, nav->q_odom_imu);
    apply(up, T_body_imu->R, R_odom_imu + 6); /* z of the odometry frame in IMU axes: the last row */
}
