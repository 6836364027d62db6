/* SPDX-License-Identifier: MIT */
/* Start and step of the window on the host. */
#include "window_motion.h"
#include "window_step.h"
#include "window_unread.h"

void vf_window_inverse(const vfront_nav_t *first, double information[VF_NAV_ERRORS * VF_NAV_ERRORS])
{
    const int m = VF_NAV_ERRORS;
    double P[VF_NAV_ERRORS * VF_NAV_ERRORS];
    for (int i = 0; i < m; i++)
        for (int j = i; j < m; j++) P[i * m + j] = P[j * m + i] = first->covariance[vf_nav_index(i, j)];
    vf_solve_factor(P, P, m, m, 0.0);
    for (int i = 0; i < m; i++) {
        double *x = &information[i * m];
        for (int j = 0; j < m; j++) x[j] = i == j ? 1.0 : 0.0;
        vf_solve_forward(P, x, m, m);
        vf_solve_back(P, x, m, m);
    }
}

void vf_window_start(struct vf_window *w, const struct vf_window_rig *rig, const vfront_imu_noise_t *noise,
                     const vfront_nav_t *first)
{
    double information[VF_NAV_ERRORS * VF_NAV_ERRORS];
    vf_window_inverse(first, information);
    vf_window_begin(w, rig, noise, first, information);
    vf_window_carry(w);
    memset(w->carried.noisy, 0, sizeof w->carried.noisy);
    memset(w->carried.change, 0, sizeof w->carried.change);
}

/** Launches of a system. */
static void make_system(struct vf_window *w, struct vf_window_work *k)
{
    vf_window_landmarks(w, k);
    for (int i = 0; i < VF_WINDOW_READINGS; i++) vf_window_readings(w, k, i);
    for (int i = 0; i < VF_WINDOW_MAPS; i++) vf_window_maps(w, k, i);
    vf_window_gather(k);
    for (int h = 0; h < VF_WINDOW_FRAMES; h++) vf_window_host_of(&k->host[h], k->trial);
    vf_window_costs(w, k);
    vf_window_assemble(w, k);
}

void vf_window_run(struct vf_window *w, struct vf_window_work *k, const struct vf_window_motion *m,
                   const struct vf_sight *sight, uint32_t sights)
{
    vf_window_open(w, k, m, sight, sights, k->ids);
    vf_window_ranges(w, k);
    if (w->rig.rests) vf_window_rest_of(w, k, sight, sights);
    vf_window_prepare(w, k, sights);
    const int steps = vf_window_steps(w->rig.cameras);
    for (int i = 0; i <= steps; i++) {
        make_system(w, k);
        vf_window_judge(w, k);
        if (i == steps) break;
        vf_window_solve(k);
        vf_window_go(w, k);
    }
    vf_window_close(w, k, sight, sights);
    vf_window_cover(w, k);
    make_system(w, k);
    vf_window_eliminate(w, k, &k->eliminated, 0, 1);
    vf_window_part(w, k);
    vf_window_leave(w, k);
}

/** Motion without readings, by the last two states. */
static void unread(const struct vf_window *w, struct vf_window_motion *motion, uint64_t t_ns)
{
    const struct vf_window_slot *now = &w->slot[w->newest];
    double rate[3] = {0.0, 0.0, 0.0};
    for (int f = 0; f < VF_WINDOW_FRAMES && now->number > 1; f++)
        if (w->slot[f].number == now->number - 1)
            vf_unread_rate(w->slot[f].value.q, now->value.q, now->motion.dt_s, rate);
    vf_window_motion_unread(motion, &w->carried, &w->noise, now->value.q, rate, t_ns);
}

void vf_window_step(struct vf_window *w, struct vf_window_work *work, const struct vf_window_frame *frame)
{
    struct vf_window_motion motion;
    motion.t_ns = frame->t_ns;
    if (frame->t_ns != w->slot[w->newest].t_ns && !frame->readings)
        unread(w, &motion, frame->t_ns);
    else if (frame->t_ns != w->slot[w->newest].t_ns)
        vf_window_motion_of(&motion, &w->carried, &w->noise, frame->imu, frame->readings, frame->t_ns);
    vf_window_run(w, work, &motion, frame->sight, frame->sights);
    vf_window_carry(w);
}

void vf_window_nav(const struct vf_window *w, const struct vf_window_work *work, vfront_nav_t *nav)
{
    memset(nav, 0, sizeof *nav);
    vf_window_tell(w, work, nav);
    vf_window_tell_covariance(w, nav);
}
