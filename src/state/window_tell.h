/* SPDX-License-Identifier: MIT */
/* Start of the window in a state, and its newest state as a result has it. Launches: window_step.h. */
#ifndef VF_WINDOW_TELL_H
#define VF_WINDOW_TELL_H

#include "window_variables.h"

/** A window of one frame, in a state. information: inverse of its covariance. Of a launch of one block. */
VF_FN void vf_window_begin(struct vf_window *w, const struct vf_window_rig *rig, const vfront_imu_noise_t *noise,
                           const vfront_nav_t *first, const double information[VF_NAV_ERRORS * VF_NAV_ERRORS])
{
    enum { N = VF_WINDOW_COLUMNS, M = VF_NAV_ERRORS, S = VF_WINDOW_SAID };
    vf_word *words = (vf_word *)w;
    VF_PARTS(i, (int)(sizeof *w / sizeof *words))
    words[i] = 0;
    VF_ITEM_SYNC();
    VF_PARTS(i, 1)
    {
        struct vf_window_slot *s = &w->slot[0];
        w->rig = *rig;
        w->noise = *noise;
        w->number = 1;
        w->rest.host = -1;
        for (int f = 1; f < VF_WINDOW_FRAMES; f++) w->slot[f].state = -1;
        s->number = 1;
        s->prior = 1;
        s->t_ns = first->t_ns;
        memcpy(s->value.p, first->position_m, sizeof s->value.p);
        memcpy(s->value.v, first->velocity_mps, sizeof s->value.v);
        memcpy(s->value.q, first->q_odom_imu, sizeof s->value.q);
        memcpy(s->value.bias, first->gyro_bias_rad_s, sizeof first->gyro_bias_rad_s);
        memcpy(s->value.bias + 3, first->accel_bias_m_s2, sizeof first->accel_bias_m_s2);
        s->first = s->value;
        vf_window_quaternion(rig->R_imu_cam, w->mount);
        memcpy(w->first_mount, w->mount, sizeof w->mount);
        w->covariance[VF_WINDOW_SAID_OFFSET * (S + 1)] = VF_WINDOW_OFFSET_S * VF_WINDOW_OFFSET_S;
        w->covariance[VF_WINDOW_SAID_DISPARITY * (S + 1)] = VF_WINDOW_DISPARITY_RAD * VF_WINDOW_DISPARITY_RAD;
        w->prior.H[VF_WINDOW_OFFSET * (N + 1)] = 1.0 / (VF_WINDOW_OFFSET_S * VF_WINDOW_OFFSET_S);
        w->prior.H[VF_WINDOW_DISPARITY * (N + 1)] = 1.0 / (VF_WINDOW_DISPARITY_RAD * VF_WINDOW_DISPARITY_RAD);
        for (int n = 1; n < VF_WINDOW_STEREO; n++) /* nothing else tells of one that is no variable */
            w->prior.H[(VF_WINDOW_DISPARITY + n) * (N + 1)] = rig->turn_rad > 0.0
                                                                  ? 1.0 / (rig->turn_rad * rig->turn_rad)
                                                                  : 1.0;
        for (int k = 0; k < 3; k++)
            w->prior.H[(VF_WINDOW_MOUNT + k) * (N + 1)] = 1.0 / (VF_WINDOW_MOUNT_RAD * VF_WINDOW_MOUNT_RAD);
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, M * M)
    {
        const int r = i / M, c = i % M;
        w->covariance[S * r + c] = first->covariance[vf_nav_index(r < c ? r : c, r < c ? c : r)];
        w->prior.H[vf_window_error_column(w->slot, 0, r) * N + vf_window_error_column(w->slot, 0, c)] = information[i];
    }
    VF_ITEM_SYNC();
}

/** State of the newest frame, but for its covariance; of the members of vfront_nav_t behind `flags` those that the
 *  window knows. Of one block. */
VF_FN void vf_window_tell(const struct vf_window *w, const struct vf_window_work *k, vfront_nav_t *nav)
{
    VF_PARTS(item, 1)
    {
        const struct vf_window_slot *s = &w->slot[w->newest];
        const struct vf_window_value value = s->value;
        const uint64_t t_ns = vf_window_shifted(s->t_ns, s->offset_s);
        const double offset_s = w->offset_s, misfit = w->misfit;
        const uint32_t disputed = w->dispute_s > 0.0 ? (uint32_t)VFRONT_NAV_DISPUTED : 0u,
                       one = w->second_off_s > 0.0 ? (uint32_t)VFRONT_NAV_ONE_CAMERA : 0u;
        nav->t_ns = t_ns;
        memcpy(nav->position_m, value.p, sizeof nav->position_m);
        memcpy(nav->velocity_mps, value.v, sizeof nav->velocity_mps);
        memcpy(nav->q_odom_imu, value.q, sizeof nav->q_odom_imu);
        memcpy(nav->gyro_bias_rad_s, value.bias, sizeof nav->gyro_bias_rad_s);
        memcpy(nav->accel_bias_m_s2, value.bias + 3, sizeof nav->accel_bias_m_s2);
        nav->flags = w->flags | disputed | one;
        nav->offset_s = offset_s;
        nav->misfit = misfit;
        nav->landmarks = k->told;
        nav->reserved = (w->dispute_s > 0.0 && vf_gate_can_tell(w) ? w->proven : w->taken) |
                        (w->body ? VF_WINDOW_TOLD_BODY : 0u); /* for nav.c, which takes it away */
    }
    VF_ITEM_SYNC();
}

/** Covariance of it. Of one block. */
VF_FN void vf_window_tell_covariance(const struct vf_window *w, vfront_nav_t *nav)
{
    VF_PARTS(item, VF_NAV_ERRORS * VF_NAV_ERRORS + 1)
    {
        const int i = item / VF_NAV_ERRORS, j = item % VF_NAV_ERRORS;
        if (i == VF_NAV_ERRORS)
            nav->offset_sigma_s = sqrt(w->covariance[VF_WINDOW_SAID_OFFSET * (VF_WINDOW_SAID + 1)]);
        else if (i <= j)
            nav->covariance[vf_nav_index(i, j)] = w->covariance[VF_WINDOW_SAID * i + j];
    }
}

#endif
