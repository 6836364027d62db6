/* SPDX-License-Identifier: MIT */
/* Initialization of the sliding window from a state, and output of its newest state. Launches: launch.h. */
#ifndef VF_VIO_OUTPUT_H
#define VF_VIO_OUTPUT_H

#include "variables.h"

/** System column of row `i` of the information of a first state. */
VF_FN int vf_vio_first_column(const struct vf_vio_window *w, int i)
{
    return i < VF_NAV_ERRORS ? vf_vio_error_column(w->slot, 0, i) : VF_VIO_MOUNT + i - VF_NAV_ERRORS;
}

/** Initializes the sliding window with one frame at the state `first`. information: by vf_start_information(). Runs in
 *  one block. */
VF_FN void vf_vio_init_window(struct vf_vio_window *w, const struct vf_vio_rig *rig, const vfront_imu_noise_t *noise,
                              const vfront_nav_t *first, const double information[VF_VIO_FIRST * VF_VIO_FIRST])
{
    enum { N = VF_VIO_COLUMNS, M = VF_NAV_ERRORS, S = VF_VIO_REPORTED };
    vf_word *words = (vf_word *)w;
    VF_PARTS(i, (int)(sizeof *w / sizeof *words))
    words[i] = 0;
    VF_ITEM_SYNC();
    VF_PARTS(i, 1)
    {
        struct vf_vio_slot *s = &w->slot[0];
        w->rig = *rig;
        w->noise = *noise;
        w->number = 1;
        w->stationary.anchor = -1;
        for (int f = 1; f < VF_VIO_FRAMES; f++) w->slot[f].state = -1;
        s->number = 1;
        s->prior = 1;
        s->t_ns = first->t_ns;
        memcpy(s->value.p, first->position_m, sizeof s->value.p);
        memcpy(s->value.v, first->velocity_mps, sizeof s->value.v);
        memcpy(s->value.q, first->q_odom_imu, sizeof s->value.q);
        memcpy(s->value.bias, first->gyro_bias_rad_s, sizeof first->gyro_bias_rad_s);
        memcpy(s->value.bias + 3, first->accel_bias_m_s2, sizeof first->accel_bias_m_s2);
        s->first = s->value;
        s->offset_s = w->offset_s = w->first_offset_s = first->offset_s;
        vf_quaternion_of_matrix(rig->R_imu_cam, w->mount);
        memcpy(w->first_mount, w->mount, sizeof w->mount);
        const double offset_sigma_s = first->offset_sigma_s > 0.0 ? first->offset_sigma_s : VF_VIO_TIME_OFFSET_SIGMA_S;
        w->covariance[VF_VIO_REPORTED_TIME_OFFSET * (S + 1)] = offset_sigma_s * offset_sigma_s;
        w->prior.H[VF_VIO_TIME_OFFSET * (N + 1)] = 1.0 / (offset_sigma_s * offset_sigma_s);
        for (int n = 0; n < VF_VIO_STEREO_OFFSETS; n++) {
            const double sigma = rig->stereo_sigma[n];
            w->prior.H[(VF_VIO_DISPARITY + n) * (N + 1)] = 1.0 / (sigma * sigma);
            if (n == VF_STEREO_OFFSET) w->covariance[VF_VIO_REPORTED_DISPARITY * (S + 1)] = sigma * sigma;
        }
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, M * M)
    {
        const int r = i / M, c = i % M;
        w->covariance[S * r + c] = first->covariance[vf_nav_index(r < c ? r : c, r < c ? c : r)];
    }
    VF_PARTS(i, VF_VIO_FIRST * VF_VIO_FIRST)
    {
        const int r = i / VF_VIO_FIRST, c = i % VF_VIO_FIRST;
        w->prior.H[vf_vio_first_column(w, r) * N + vf_vio_first_column(w, c)] = information[i];
    }
    VF_ITEM_SYNC();
}

/** Writes the newest state without its covariance. The members of vfront_nav_t that the estimator does not know are
 *  left unchanged. summary: out, summary of the step for the supervisor. Runs in one block. */
VF_FN void vf_vio_output(const struct vf_vio_window *w, const struct vf_vio_work *k, vfront_nav_t *nav,
                         struct vf_vio_summary *summary)
{
    VF_PARTS(item, 1)
    {
        const struct vf_vio_slot *s = &w->slot[w->newest];
        const struct vf_vio_state value = s->value;
        const uint64_t t_ns = vf_vio_imu_time_ns(s->t_ns, s->offset_s);
        const double offset_s = w->offset_s, residual_mean_square = w->residual_mean_square;
        const uint32_t disputed = w->dispute_s > 0.0 ? (uint32_t)VFRONT_NAV_DISPUTED : 0u,
                       one = w->stereo_check_off_s > 0.0 ? (uint32_t)VFRONT_NAV_ONE_CAMERA : 0u;
        nav->t_ns = t_ns;
        memcpy(nav->position_m, value.p, sizeof nav->position_m);
        memcpy(nav->velocity_mps, value.v, sizeof nav->velocity_mps);
        memcpy(nav->q_odom_imu, value.q, sizeof nav->q_odom_imu);
        memcpy(nav->gyro_bias_rad_s, value.bias, sizeof nav->gyro_bias_rad_s);
        memcpy(nav->accel_bias_m_s2, value.bias + 3, sizeof nav->accel_bias_m_s2);
        nav->flags = w->flags | disputed | one;
        nav->offset_s = offset_s;
        nav->residual_mean_square = residual_mean_square;
        nav->landmarks = k->reported_landmarks;
        summary->accepted = w->dispute_s > 0.0 && vf_consistency_can_detect(w) ? w->proven : w->taken;
        summary->moving_object = w->moving_object != 0;
    }
    VF_ITEM_SYNC();
}

/** Writes the covariance of the newest state. Runs in one block. */
VF_FN void vf_vio_output_covariance(const struct vf_vio_window *w, vfront_nav_t *nav)
{
    VF_PARTS(item, VF_NAV_ERRORS * VF_NAV_ERRORS + 1)
    {
        const int i = item / VF_NAV_ERRORS, j = item % VF_NAV_ERRORS;
        if (i == VF_NAV_ERRORS)
            nav->offset_sigma_s = sqrt(w->covariance[VF_VIO_REPORTED_TIME_OFFSET * (VF_VIO_REPORTED + 1)]);
        else if (i <= j)
            nav->covariance[vf_nav_index(i, j)] = w->covariance[VF_VIO_REPORTED * i + j];
    }
}

#endif
