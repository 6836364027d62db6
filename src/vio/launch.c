/* SPDX-License-Identifier: MIT */
/* Step of the estimator on the host. */
#include "launch.h"

#if VFRONT_VIO

/** Linearizes all factors and assembles the linear system at the trial estimate. */
static void make_system(struct vf_vio_window *w, struct vf_vio_work *k)
{
    vf_vio_linearize_landmarks(w, k);
    for (int i = 0; i < VF_VIO_IMU_BLOCKS; i++) vf_vio_linearize_imu(w, k, i);
    for (int i = 0; i < VF_VIO_JACOBIAN_BLOCKS; i++) vf_vio_relative_jacobians(w, k, i);
    vf_vio_gather(k);
    for (int h = 0; h < VF_VIO_FRAMES; h++) vf_vio_anchor_assemble(&k->anchor[h], k->trial);
    vf_vio_costs(w, k);
    vf_vio_assemble(w, k);
}

void vf_vio_run(struct vf_vio_window *w, struct vf_vio_work *k, const struct vf_vio_imu_interval *m,
                const struct vf_observation *observation, uint32_t observations)
{
    vf_vio_open_frame(w, k, m, observation, observations, k->ids);
    vf_vio_range_information(w, k);
    if (w->rig.detect_stationary) vf_vio_test_stationary(w, k, observation, observations);
    vf_vio_prepare(w, k, observations);
    const int iterations = vf_vio_iterations(w->rig.cameras);
    for (int i = 0; i <= iterations; i++) {
        make_system(w, k);
        vf_vio_accept_step(w, k);
        if (i == iterations) break;
        vf_vio_solve(k);
        vf_vio_apply_step(w, k);
    }
    vf_vio_close_frame(w, k, observation, observations);
    vf_vio_covariance(w, k);
    make_system(w, k);
    vf_vio_marginalize(w, k, &k->eliminated, 0, 1);
    vf_vio_drop_frames(w, k);
    vf_vio_prior_gradient(w, k);
}

#endif
