/* SPDX-License-Identifier: MIT */
/* The window as a shared library for tests/state/window.py. */
#include "state/window_work.h"

void bridge_start(const double R_imu_cam[9], const double p_imu_cam[3], const double R_1_0[9], const double t_1_0[3],
                  const vfront_imu_noise_t *noise, const vfront_nav_t *first);
void bridge_frame(uint64_t t_ns, const vfront_imu_t *imu, uint32_t readings, const double *sights, uint32_t count,
                  vfront_nav_t *nav, double *more);

static struct vf_window window;
static struct vf_window_work work;

void bridge_start(const double R_imu_cam[9], const double p_imu_cam[3], const double R_1_0[9], const double t_1_0[3],
                  const vfront_imu_noise_t *noise, const vfront_nav_t *first)
{
    struct vf_window_rig rig = {.cameras = 2};
    memcpy(rig.R_imu_cam, R_imu_cam, sizeof rig.R_imu_cam);
    memcpy(rig.p_imu_cam_m, p_imu_cam, sizeof rig.p_imu_cam_m);
    memcpy(rig.R_1_0, R_1_0, sizeof rig.R_1_0);
    memcpy(rig.t_1_0_m, t_1_0, sizeof rig.t_1_0_m);
    vf_window_start(&window, &rig, noise, first);
}

/** sights: rows of id, bearing, sigma, other bearing, its sigma. more: cost, offset [s], its deviation, landmarks,
 *  those in the newest frame, poses without velocity, offset of disparities [rad], its deviation, variances of readings
 *  over those stated. */
void bridge_frame(uint64_t t_ns, const vfront_imu_t *imu, uint32_t readings, const double *sights, uint32_t count,
                  vfront_nav_t *nav, double *more)
{
    static struct vf_sight sight[VF_WINDOW_SIGHTS];
    for (uint32_t i = 0; i < count; i++) {
        const double *row = sights + 9 * i;
        sight[i].id = (uint32_t)row[0];
        for (int k = 0; k < 3; k++) {
            sight[i].bearing[k] = (float)row[1 + k];
            sight[i].other[k] = (float)row[5 + k];
        }
        sight[i].sigma = (float)row[4];
        sight[i].other_sigma = (float)row[8];
    }
    const struct vf_window_frame frame = {t_ns, imu, readings, sight, count};
    vf_window_step(&window, &work, &frame);
    vf_window_nav(&window, &work, nav);
    memset(more, 0, 10 * sizeof *more);
    more[8] = window.carried.noisy[0];
    more[9] = window.carried.noisy[1];
    more[6] = window.stereo_rad[0];
    more[7] = sqrt(window.covariance[VF_WINDOW_SAID_DISPARITY * (VF_WINDOW_SAID + 1)]);
    more[0] = window.cost;
    more[1] = window.offset_s;
    more[2] = sqrt(window.covariance[VF_WINDOW_SAID_OFFSET * (VF_WINDOW_SAID + 1)]);
    for (int i = 0; i < VF_WINDOW_LANDMARKS; i++) {
        more[3] += window.landmark[i].id != 0;
        more[4] += window.landmark[i].id && window.landmark[i].seen >> window.newest & 1;
    }
    for (int f = 0; f < VF_WINDOW_FRAMES; f++) more[5] += window.slot[f].number && window.slot[f].state < 0;
}
