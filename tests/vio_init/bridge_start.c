/* SPDX-License-Identifier: MIT */
/* Initialization as a shared library for tests/vio_init/start.py. */
#include "vio_init/start.h"

void bridge_begin(const double R_imu_cam[9], const double p_imu_cam[3], const vfront_imu_noise_t *noise);
int bridge_step(uint64_t t_ns, const vfront_imu_t *imu, uint32_t samples, const double *metric, const double *relative,
                vfront_nav_t *nav, double *more);

static struct vf_start start;

void bridge_begin(const double R_imu_cam[9], const double p_imu_cam[3], const vfront_imu_noise_t *noise)
{
    struct vf_vio_rig rig = {.cameras = 2};
    memcpy(rig.R_imu_cam, R_imu_cam, sizeof rig.R_imu_cam);
    memcpy(rig.p_imu_cam_m, p_imu_cam, sizeof rig.p_imu_cam_m);
    vf_start_begin(&start, &rig, noise);
}

/** Converts numbers to a motion: state, flags, R, t, covariance. */
static const vfront_motion_t *motion_of(const double *v, vfront_motion_t *m)
{
    if (!v) return NULL;
    memset(m, 0, sizeof *m);
    m->state = (uint32_t)v[0];
    m->flags = (uint32_t)v[1];
    for (int k = 0; k < 9; k++) m->R[k] = (float)v[2 + k];
    for (int k = 0; k < 3; k++) m->t[k] = (float)v[11 + k];
    for (int k = 0; k < 21; k++) m->covariance[k] = (float)v[14 + k];
    return m;
}

/** Processes a frame. metric, relative: 35 numbers, or NULL. more: sum of squared residuals; their normalised mean;
 *  standard deviations of tilt, velocity, scale. Returns the status. */
int bridge_step(uint64_t t_ns, const vfront_imu_t *imu, uint32_t samples, const double *metric, const double *relative,
                vfront_nav_t *nav, double *more)
{
    static vfront_motion_t one, two;
    const struct vf_start_frame frame = {t_ns, imu, samples, motion_of(metric, &one), motion_of(relative, &two)};
    const int state = (int)vf_start_step(&start, &frame);
    *nav = start.nav;
    more[0] = start.chi2;
    more[1] = start.dof;
    more[2] = start.tilt_rad;
    more[3] = start.velocity_mps;
    more[4] = start.scale;
    return state;
}
