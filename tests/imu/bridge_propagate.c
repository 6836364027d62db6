/* SPDX-License-Identifier: MIT */
/* vfront_propagate() and preintegration as a shared library for tests/imu/propagate.py. */
#include "imu/propagate.h"

void bridge_preintegrate(const vfront_imu_noise_t *noise, const double bias[6], const vfront_imu_t *imu, uint32_t n,
                         uint64_t from_ns, uint64_t to_ns, double motion[10], double P[81], double J[54]);

/** Preintegrates n samples. motion: quaternion w x y z, velocity, position. */
void bridge_preintegrate(const vfront_imu_noise_t *noise, const double bias[6], const vfront_imu_t *imu, uint32_t n,
                         uint64_t from_ns, uint64_t to_ns, double motion[10], double P[81], double J[54])
{
    const struct vf_imu_model model = vf_imu_model_of(noise, imu, n);
    struct vf_preintegral d;
    vf_preintegrate(&d, &model, bias, bias + 3, imu, n, from_ns, to_ns);
    memcpy(motion, d.q, sizeof d.q);
    memcpy(motion + 4, d.v, sizeof d.v);
    memcpy(motion + 7, d.p, sizeof d.p);
    memcpy(P, d.P, sizeof d.P);
    memcpy(J, d.J, sizeof d.J);
}
