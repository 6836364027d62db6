/* SPDX-License-Identifier: MIT */
/* Sliding-window estimator as a shared library for tests/vio/vio.py. */
#include "tests/vio/window_step.h"

void bridge_start(const double R_imu_cam[9], const double p_imu_cam[3], const double R_1_0[9], const double t_1_0[3],
                  const vfront_imu_noise_t *noise, const vfront_nav_t *first);
void bridge_frame(uint64_t t_ns, const vfront_imu_t *imu, uint32_t samples, const double *observations, uint32_t count,
                  vfront_nav_t *nav, double *details);

static struct vf_vio_window window;
static struct vf_vio_work work;

void bridge_start(const double R_imu_cam[9], const double p_imu_cam[3], const double R_1_0[9], const double t_1_0[3],
                  const vfront_imu_noise_t *noise, const vfront_nav_t *first)
{
    struct vf_vio_rig rig = {.cameras = 2};
    memcpy(rig.R_imu_cam, R_imu_cam, sizeof rig.R_imu_cam);
    memcpy(rig.p_imu_cam_m, p_imu_cam, sizeof rig.p_imu_cam_m);
    memcpy(rig.R_1_0, R_1_0, sizeof rig.R_1_0);
    memcpy(rig.t_1_0_m, t_1_0, sizeof rig.t_1_0_m);
    vf_vio_expect_calibration(&rig, 1e-3, 3e-4); /* as of the default tuning, at 500 px of focal length */
    vf_vio_start(&window, &rig, noise, first);
}

/** Processes a frame. observations: rows of id, bearing, sigma, stereo bearing, stereo sigma. details: cost; time
 *  offset [s], its standard deviation; landmarks, those in the newest frame; pose-only frames; disparity offset [rad],
 *  its standard deviation; noise variance ratios of gyro and accelerometer. */
void bridge_frame(uint64_t t_ns, const vfront_imu_t *imu, uint32_t samples, const double *observations, uint32_t count,
                  vfront_nav_t *nav, double *details)
{
    static struct vf_observation observation[VF_VIO_OBSERVATIONS];
    for (uint32_t i = 0; i < count; i++) {
        const double *row = observations + 9 * i;
        observation[i].id = (uint32_t)row[0];
        for (int k = 0; k < 3; k++) {
            observation[i].bearing[k] = (float)row[1 + k];
            observation[i].stereo_bearing[k] = (float)row[5 + k];
        }
        observation[i].sigma = (float)row[4];
        observation[i].stereo_sigma = (float)row[8];
    }
    const struct vf_vio_frame frame = {t_ns, imu, samples, observation, count};
    vf_vio_step(&window, &work, &frame);
    vf_vio_nav(&window, &work, nav);
    memset(details, 0, 10 * sizeof *details);
    details[8] = window.carried.noise_ratio[0];
    details[9] = window.carried.noise_ratio[1];
    details[6] = window.stereo[VF_STEREO_OFFSET];
    details[7] = sqrt(window.covariance[VF_VIO_REPORTED_DISPARITY * (VF_VIO_REPORTED + 1)]);
    details[0] = window.cost;
    details[1] = window.offset_s;
    details[2] = sqrt(window.covariance[VF_VIO_REPORTED_TIME_OFFSET * (VF_VIO_REPORTED + 1)]);
    for (int i = 0; i < VF_VIO_LANDMARKS; i++) {
        details[3] += window.landmark[i].id != 0;
        details[4] += window.landmark[i].id && window.landmark[i].seen >> window.newest & 1;
    }
    for (int f = 0; f < VF_VIO_FRAMES; f++) details[5] += window.slot[f].number && window.slot[f].state < 0;
}
