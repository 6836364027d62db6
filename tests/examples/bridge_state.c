/* SPDX-License-Identifier: MIT */
/* Accuracy of states (examples/replay/state_accuracy.h), their plot, and the rendered flight, as a shared library for
 * tests/examples/state.py. */
#include <string.h>

#include "examples/replay/state_accuracy.h"
#include "examples/replay/state_plot.h"
#include "examples/synthetic/synthetic.h"

enum { FIGURES = 21, NAV = 133, TRUTH = 16 };

int bridge_states(uint32_t count, const double *nav, const double *truth, int has_up, double figure[FIGURES],
                  const char *svg);
int bridge_rig(int32_t width, int32_t height, double out[36]);
int bridge_render(uint32_t frame, int32_t width, int32_t height, uint8_t *left, uint8_t *right);
void bridge_truth(uint64_t t_ns, double out[15]);
uint32_t bridge_imu(uint64_t from_ns, uint64_t to_ns, uint32_t max, double *row);

/** Row of a state: t [s], state, reset counter, p, v, q (w first), covariance. */
static vfront_nav_t nav_of(const double *row)
{
    vfront_nav_t n = {.t_ns = (uint64_t)(row[0] * 1e9 + 0.5), .state = (uint32_t)row[1]};
    n.reset_counter = (uint32_t)row[2];
    memcpy(n.position_m, &row[3], sizeof n.position_m);
    memcpy(n.velocity_mps, &row[6], sizeof n.velocity_mps);
    memcpy(n.q_odom_imu, &row[9], sizeof n.q_odom_imu);
    memcpy(n.covariance, &row[13], sizeof n.covariance);
    return n;
}

/** Row of ground truth: 0: none, 1: pose, 2: velocity, too; R, p, v. */
static dataset_state_t truth_of(const double *row)
{
    dataset_state_t t = {.has_velocity = row[0] > 1.0};
    memcpy(t.T_world_imu.R, &row[1], sizeof t.T_world_imu.R);
    memcpy(t.T_world_imu.t, &row[10], sizeof t.T_world_imu.t);
    memcpy(t.velocity_mps, &row[13], sizeof t.velocity_mps);
    return t;
}

/** Figures of state_accuracy_t, in the order of NAMES in state.py. svg: file of the plot, or NULL. Returns 0 without a
 *  comparison. */
int bridge_states(uint32_t count, const double *nav, const double *truth, int has_up, double figure[FIGURES],
                  const char *svg)
{
    states_t s = {.count = 0};
    state_accuracy_t a;
    for (uint32_t i = 0; i < count; i++, nav += NAV, truth += TRUTH) {
        const vfront_nav_t n = nav_of(nav);
        const dataset_state_t t = truth_of(truth);
        if (!state_add(&s, n.t_ns, &n, truth[0] > 0.0 ? &t : NULL, has_up)) return -1;
    }
    const int compared = state_accuracy_of(&s, &a);
    const double all[FIGURES] = {a.trajectory.frames,
                                 a.trajectory.length_m,
                                 a.trajectory.ate_m,
                                 a.trajectory.fit_scale,
                                 a.trajectory.drift_percent,
                                 a.trajectory.drift_deg_m,
                                 a.trajectory.end_m,
                                 a.ate_yaw_m,
                                 a.seconds,
                                 a.second_m,
                                 a.second_deg,
                                 a.tilt_deg,
                                 a.velocities,
                                 a.velocity_mps,
                                 a.position.mean,
                                 a.position.count,
                                 a.position.beyond,
                                 a.attitude.mean,
                                 a.attitude.count,
                                 a.attitude.beyond,
                                 s.with_state};
    memcpy(figure, all, sizeof all);
    if (svg && s.with_state && state_plot(svg, "state & <plot>", &s)) return -1;
    state_free(&s);
    return compared;
}

/** fx, fy, cx, cy; R_cam_imu and t_cam_imu_m of both cameras; the noise of the IMU in order. Returns 0 on
 *  failure. */
int bridge_rig(int32_t width, int32_t height, double out[36])
{
    synthetic_t *flight = synthetic_open(width, height);
    vfront_rig_t rig;
    vfront_imu_noise_t noise;
    if (!flight) return 0;
    synthetic_rig(flight, &rig);
    synthetic_close(flight);
    synthetic_imu_noise(&noise);
    const vfront_camera_t *c = rig.camera;
    const double first[4] = {c->fx_px, c->fy_px, c->cx_px, c->cy_px};
    memcpy(out, first, sizeof first);
    for (int k = 0; k < 2; k++) {
        memcpy(&out[4 + 12 * k], c[k].R_cam_imu, sizeof c->R_cam_imu);
        memcpy(&out[13 + 12 * k], c[k].t_cam_imu_m, sizeof c->t_cam_imu_m);
    }
    memcpy(&out[28], &noise, sizeof noise);
    return 1;
}

/** Pictures of both cameras. Returns 0 on failure. */
int bridge_render(uint32_t frame, int32_t width, int32_t height, uint8_t *left, uint8_t *right)
{
    static synthetic_t *flight; /* of the first call's size */
    if (!flight) flight = synthetic_open(width, height);
    if (!flight) return 0;
    synthetic_render(flight, frame, 0, left, (size_t)width);
    synthetic_render(flight, frame, 1, right, (size_t)width);
    return 1;
}

/** R, p, v of the IMU. */
void bridge_truth(uint64_t t_ns, double out[15]) { synthetic_state(t_ns, &out[9], out, &out[12]); }

/** Rows t [s], rates, forces. Returns their number. */
uint32_t bridge_imu(uint64_t from_ns, uint64_t to_ns, uint32_t max, double *row)
{
    uint32_t count = 0;
    for (vfront_imu_t r; count < max && synthetic_imu(from_ns, to_ns, &r, 1); from_ns = r.t_ns, count++, row += 7) {
        row[0] = (double)r.t_ns * 1e-9;
        memcpy(&row[1], r.gyro_rad_s, sizeof r.gyro_rad_s);
        memcpy(&row[4], r.accel_m_s2, sizeof r.accel_m_s2);
    }
    return count;
}
