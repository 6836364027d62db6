/* SPDX-License-Identifier: MIT
 *
 * Ground truth of the IMU: pose and velocity in a world whose z is up.
 */
#include "dataset_internal.h"

#include <math.h>
#include <string.h>

#include "calibration.h"

#define CURVE_FRAMES 5      /* of a parabola through positions */
#define FORCE_NS 200000000u /* samples up to so long before and after a frame give its force */

/** Time of a frame on the clock of the samples, by the rig. */
static uint64_t imu_ns(const struct dataset *d, uint32_t index)
{
    return (uint64_t)((int64_t)dataset_time_ns(d, index) + d->rig.imu_offset_ns);
}

/** IMU in the ground truth sensor. */
static pose_t mounting(const struct dataset *d)
{
    const pose_t T_cam_imu = calibration_extrinsics(&d->rig.camera[0]);
    return pose_compose(&d->T_sensor_cam, &T_cam_imu);
}

/** Pose of the IMU in the world of ground truth. That of a file with times of an IMU is asked for by t_imu_ns, all
 *  others by the frame. */
static int pose_of(const struct dataset *d, uint32_t index, uint64_t t_imu_ns, pose_t *T_truth_imu)
{
    pose_t T_truth_sensor;
    const uint64_t t_ns = d->truth.kind == TRUTH_EUROC ? t_imu_ns : dataset_time_ns(d, index);
    if (!truth_at(&d->truth, index, t_ns, &T_truth_sensor)) return 0;
    const pose_t T_sensor_imu = mounting(d);
    *T_truth_imu = pose_compose(&T_truth_sensor, &T_sensor_imu);
    return 1;
}

/* ---- velocity ---------------------------------------------------------------------------------------------------- */

/** Solve the symmetric A x = b of a parabola by elimination; A is positive definite for three times and more. */
static void solve(double A[3][3], double b[3][3])
{
    for (int i = 0; i < 3; i++)
        for (int k = i + 1; k < 3; k++) {
            const double factor = A[k][i] / A[i][i];
            for (int j = i; j < 3; j++) A[k][j] -= factor * A[i][j];
            for (int j = 0; j < 3; j++) b[k][j] -= factor * b[i][j];
        }
    for (int i = 2; i >= 0; i--)
        for (int j = 0; j < 3; j++) {
            for (int k = i + 1; k < 3; k++) b[i][j] -= A[i][k] * b[k][j];
            b[i][j] /= A[i][i];
        }
}

/** Parabola c0 + c1 t + c2 t^2 nearest to the positions of CURVE_FRAMES frames, t [s] from the middle one. Returns 0
 *  where one of them has no ground truth. */
static int curve(const struct dataset *d, uint32_t index, double c[3][3])
{
    const uint32_t half = CURVE_FRAMES / 2;
    double A[3][3] = {{0}};
    memset(c, 0, 9 * sizeof(double));
    if (index < half || index + half >= d->frames) return 0;
    for (uint32_t i = index - half; i <= index + half; i++) {
        const double t = ((double)dataset_time_ns(d, i) - (double)dataset_time_ns(d, index)) * 1e-9,
                     power[3] = {1.0, t, t * t};
        pose_t pose;
        if (!pose_of(d, i, imu_ns(d, i), &pose)) return 0;
        for (int r = 0; r < 3; r++)
            for (int k = 0; k < 3; k++) {
                A[r][k] += power[r] * power[k];
                c[r][k] += power[r] * pose.t[k];
            }
    }
    solve(A, c);
    return 1;
}

/** Velocity in the world of ground truth: that of its file if the sensor is at the IMU, else that of the curve. */
static int velocity_of(const struct dataset *d, uint32_t index, uint64_t t_imu_ns, double v_mps[3])
{
    double c[3][3];
    if (dataset_has_velocity(d)) return truth_velocity_at(&d->truth, t_imu_ns, v_mps);
    if (!curve(d, index, c)) return 0;
    memcpy(v_mps, c[1], sizeof c[1]);
    return 1;
}

int dataset_has_velocity(const dataset_t *d)
{
    const pose_t T_sensor_imu = mounting(d);
    const double *t = T_sensor_imu.t;
    if (d->flight && !d->truth.count) return 1;
    if (d->course && !d->truth.count) return 1;
    return d->truth.kind == TRUTH_EUROC && d->truth.count && d->truth.pose[0].has_velocity &&
           t[0] * t[0] + t[1] * t[1] + t[2] * t[2] < 1e-12;
}

/* ---- up ---------------------------------------------------------------------------------------------------------- */

/** Index of the first sample later than t_ns - FORCE_NS. */
static uint32_t first_around(const struct dataset *d, uint64_t t_ns)
{
    uint32_t low = 0, high = d->imu_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (d->imu[middle].t_ns + FORCE_NS <= t_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/** Mean force around a frame, in axes of the IMU [m/s^2]. Returns 0 without samples. */
static int force_around(const struct dataset *d, uint64_t t_ns, double force[3])
{
    uint32_t count = 0;
    memset(force, 0, 3 * sizeof *force);
    for (uint32_t i = first_around(d, t_ns); i < d->imu_count && d->imu[i].t_ns < t_ns + FORCE_NS; i++, count++)
        for (int k = 0; k < 3; k++) force[k] += d->imu[i].accel_m_s2[k];
    for (int k = 0; k < 3 && count; k++) force[k] /= count;
    return count > 0;
}

/** Up in the world of ground truth: forces less accelerations, in its axes, in the mean over all frames. */
static int find_up(const struct dataset *d, double up[3])
{
    memset(up, 0, 3 * sizeof *up);
    for (uint32_t i = 0; i < d->frames; i++) {
        double c[3][3], force[3];
        pose_t pose;
        if (!curve(d, i, c) || !pose_of(d, i, imu_ns(d, i), &pose) || !force_around(d, imu_ns(d, i), force)) continue;
        for (int r = 0; r < 3; r++)
            for (int k = 0; k < 3; k++) up[r] += pose.R[3 * r + k] * force[k];
        for (int r = 0; r < 3; r++) up[r] -= 2.0 * c[2][r];
    }
    const double length = sqrt(up[0] * up[0] + up[1] * up[1] + up[2] * up[2]);
    for (int r = 0; r < 3 && length > 0.0; r++) up[r] /= length;
    return length > 0.0;
}

/** Shortest turn that brings a unit vector to z. */
static void turn_up(double R[9], const double up[3])
{
    const double xyzw[4] = {up[1], -up[0], 0.0, 1.0 + up[2]}, upside_down[4] = {1.0, 0.0, 0.0, 0.0};
    pose_rotation(R, up[2] > -1.0 + 1e-9 ? xyzw : upside_down);
}

void dataset_find_up(struct dataset *d)
{
    double up[3];
    memcpy(d->R_up_truth, pose_identity.R, sizeof d->R_up_truth);
    d->has_up = d->has_truth;
    if (!d->has_truth || !d->truth.count || d->truth.kind == TRUTH_EUROC) return;
    d->has_up = d->has_gyro && find_up(d, up);
    if (d->has_up) turn_up(d->R_up_truth, up);
}

int dataset_has_up(const dataset_t *d) { return d->has_up; }

/* ---- state ------------------------------------------------------------------------------------------------------- */

int dataset_truth_imu(const dataset_t *d, uint32_t index, int64_t offset_ns, dataset_state_t *state)
{
    const uint64_t t_imu_ns = (uint64_t)((int64_t)dataset_time_ns(d, index) + offset_ns);
    pose_t own, turn = {.t = {0.0, 0.0, 0.0}};
    double v[3] = {0.0, 0.0, 0.0};
    if (!d->has_truth) return 0;
    if (d->flight && !d->truth.count) {
        synthetic_state(t_imu_ns, state->T_world_imu.t, state->T_world_imu.R, state->velocity_mps);
        return state->has_velocity = 1;
    }
    if (d->course && !d->truth.count) {
        spline_state_t s;
        course_state(d->course, t_imu_ns, &s);
        memcpy(state->T_world_imu.R, s.R_world_body, sizeof s.R_world_body);
        memcpy(state->T_world_imu.t, s.p_m, sizeof s.p_m);
        memcpy(state->velocity_mps, s.v_mps, sizeof s.v_mps);
        return state->has_velocity = 1;
    }
    if (!pose_of(d, index, t_imu_ns, &own)) return 0;
    memcpy(turn.R, d->R_up_truth, sizeof turn.R);
    state->T_world_imu = pose_compose(&turn, &own);
    state->has_velocity = velocity_of(d, index, t_imu_ns, v);
    for (int r = 0; r < 3; r++) {
        state->velocity_mps[r] = 0.0;
        for (int k = 0; k < 3; k++) state->velocity_mps[r] += turn.R[3 * r + k] * v[k];
    }
    return 1;
}
