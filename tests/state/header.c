/* SPDX-License-Identifier: MIT */
/* The arithmetic of states as a kernel will have it: compiled as C11, as C++14 and by nvcc, tests/state/header.sh.
 * Prints a digest of states carried on. */
#include <stdio.h>

#include "state/propagate.h"

#ifdef __NVCC__
__global__ void carry(vfront_nav_t *nav, const vfront_imu_noise_t *noise, const vfront_imu_t *imu, uint32_t n)
{
    const struct vf_imu_model model = vf_imu_model_of(noise, imu, n);
    struct vf_preintegral d;
    vf_preintegrate(&d, &model, nav->gyro_bias_rad_s, nav->accel_bias_m_s2, imu, n, imu[0].t_ns, imu[n - 1].t_ns);
    vf_nav_advance(nav, noise, &d);
}
#else
static uint32_t dice = 1;

/** Any value in -1..1. */
static double any(void)
{
    dice = dice * 1664525u + 1013904223u;
    return (double)(dice >> 8) / 8388608.0 - 1.0;
}

int main(void)
{
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
        vf_nav_advance(&nav, &noise, &d);
        for (size_t i = 0; i < sizeof nav; i++) digest = (digest ^ ((const unsigned char *)&nav)[i]) * 0x100000001b3ull;
    }
    printf("%016llx\n", (unsigned long long)digest);
    return 0;
}
#endif
