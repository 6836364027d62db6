/* SPDX-License-Identifier: MIT */
/* Arithmetic of propagation and initialization compiled as C11, as C++14 and by nvcc (tests/vio_init/header.sh). Prints
 * a digest of propagated and initialized states. */
#include <stdio.h>

#include "vio_init/from_rest.h"
#include "vio_init/first_state.h"

#ifdef __NVCC__
__global__ void carry(vfront_nav_t *nav, const vfront_imu_noise_t *noise, const vfront_imu_t *imu, uint32_t n)
{
    const struct vf_imu_model model = vf_imu_model_of(noise, imu, n);
    struct vf_preintegral d;
    vf_preintegrate(&d, &model, nav->gyro_bias_rad_s, nav->accel_bias_m_s2, imu, n, imu[0].t_ns, imu[n - 1].t_ns);
    vf_nav_propagate(nav, noise, &d);
}

__global__ void begin(struct vf_start *s)
{
    const int stationary = vf_start_imu_stationary(s) && vf_start_camera_stationary(s) && !vf_start_wrong_units(s);
    for (uint32_t i = 1; i < s->frames; i++)
        vf_start_weigh_motion(&s->motion[i], stationary, s->frame[i].motion.dt_s, s->frames);
    s->scale = vf_start_scale_sigma(s);
    vf_start_guess(s);
    s->chi2 = vf_start_eliminate(s);
    const double step_chi2 = vf_start_back_substitute(s);
    vf_start_output(s);
    vf_start_sigmas(&s->nav, &s->tilt_rad, &s->velocity_mps);
    s->state = vf_start_decide(s, step_chi2, stationary);
}
#else
static uint32_t dice = 1;

/** Random value in -1..1. */
static double any(void)
{
    dice = dice * 1664525u + 1013904223u;
    return (double)(dice >> 8) / 8388608.0 - 1.0;
}

static uint64_t digest_of(uint64_t digest, const void *bytes, size_t n)
{
    for (size_t i = 0; i < n; i++) digest = (digest ^ ((const unsigned char *)bytes)[i]) * 0x100000001b3ull;
    return digest;
}

/** Initialization over four intervals with equal samples and random motions. */
static void begin(struct vf_start *s, const vfront_imu_noise_t *noise, const struct vf_preintegral *d)
{
    memset(s, 0, sizeof *s);
    s->noise = *noise;
    s->rig.R_imu_cam[0] = s->rig.R_imu_cam[7] = 1.0;
    s->rig.R_imu_cam[5] = -1.0;
    s->frames = 5;
    s->dof = 18;
    for (uint32_t i = 1; i < s->frames; i++) {
        struct vf_start_motion *m = &s->motion[i];
        m->has_rotation = m->metric = 1;
        s->frame[i].motion = *d;
        m->q[0] = 1.0;
        for (int k = 1; k < 4; k++) m->q[k] = 0.1 * any();
        vf_quaternion_unit(m->q);
        for (int k = 0; k < 3; k++) m->t[k] = any();
        for (int k = 0; k < 6; k++) m->P[7 * k] = 0.01;
        vf_start_weigh_motion(m, vf_start_imu_stationary(s) && vf_start_camera_stationary(s), d->dt_s, 4);
    }
    s->scale = vf_start_scale_sigma(s);
    vf_start_guess(s);
    for (int i = 0; i < VF_START_ITERATIONS; i++) {
        s->chi2 = vf_start_eliminate(s);
        vf_start_back_substitute(s);
    }
    vf_start_output(s);
    vf_start_sigmas(&s->nav, &s->tilt_rad, &s->velocity_mps);
}

int main(void)
{
    static struct vf_start start;
    static vfront_imu_t imu[200];
    static vfront_nav_t nav;
    static struct vf_preintegral d;
    const vfront_imu_noise_t noise = {1.7e-4, 2e-3, 1.9e-5, 3e-3, 3.9, 19.0, 200.0, 9.81};
    uint64_t digest = 0xcbf29ce484222325ull;
    nav.q_odom_imu[0] = 1.0;
    for (int i = 0; i < 120; i += 7) nav.covariance[i] = 0.01;
    for (int run = 0; run < 50; run++) {
        for (uint32_t i = 0; i < 200; i++) {
            imu[i].t_ns = 1000000000u + i * 1000000u + (i > 100 ? 20000000u : 0);
            for (int k = 0; k < 3; k++) imu[i].gyro_rad_s[k] = 4.0 * any(), imu[i].accel_m_s2[k] = 20.0 * any();
        }
        const struct vf_imu_model model = vf_imu_model_of(&noise, imu, 200);
        vf_preintegrate(&d, &model, nav.gyro_bias_rad_s, nav.accel_bias_m_s2, imu, 200, 1000123456u, 1250000000u);
        vf_nav_propagate(&nav, &noise, &d);
        begin(&start, &noise, &d);
        digest = digest_of(digest_of(digest, &nav, sizeof nav), &start.nav, sizeof start.nav);
    }
    printf("%016llx\n", (unsigned long long)digest);
    return 0;
}
#endif
