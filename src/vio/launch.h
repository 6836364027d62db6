/* SPDX-License-Identifier: MIT */
/* Estimator step as a sequence of launches; the host form calls them one after the other.
 *
 * Rule    vf_vio_open_frame(), one block; vf_vio_range_information(); vf_vio_prepare() and concurrently
 *         vf_vio_test_stationary(), one block each.
 *         vf_vio_iterations() + 1 times: the launches of a system (system.h), vf_vio_accept_step(), and except at the
 *         end vf_vio_solve() and vf_vio_apply_step(), one block.
 *         vf_vio_close_frame() and vf_vio_output(), one block. If the newest frame observes fewer than
 *         VF_VIO_MIN_LANDMARKS landmarks, and fewer than 1/8 of the last number, all other frames are marginalized. So
 *         their information is kept when the tracks end; new landmarks start with the next frame.
 *         Then two independent branches. Output: vf_vio_covariance() and vf_vio_output_covariance(), one block.
 *         Marginalization for the next step: the launches of a system, vf_vio_marginalize() in several blocks with
 *         vf_vio_drop_frames() in one more, vf_vio_prior_gradient().
 *         Factorization of the full system: vf_vio_solve() on the host, register tiles on a GPU
 *         (kernels/vio/solve_tiles.cuh), in the same order.
 * Exact   one thread computes each element; terms are added in one order
 */
#ifndef VF_VIO_LAUNCH_H
#define VF_VIO_LAUNCH_H

#include "align_frame.h"
#include "assemble.h"
#include "covariance.h"
#include "imu_interval.h"
#include "landmark_init.h"
#include "marginalize.h"
#include "output.h"

/* ---- new frame --------------------------------------------------------------------------------------------------- */

/** Index of a free frame slot; one always exists. */
VF_FN int32_t vf_vio_free_slot(const struct vf_vio_window *w)
{
    int32_t slot = 0;
    while (slot < VF_VIO_FRAMES - 1 && w->slot[slot].number) slot++;
    return slot;
}

/** Index of a free slot for velocity and biases of a state; one always exists. */
VF_FN int32_t vf_vio_free_state(const struct vf_vio_window *w)
{
    uint32_t used = 0;
    int32_t state = 0;
    for (int f = 0; f < VF_VIO_FRAMES; f++)
        if (w->slot[f].number && w->slot[f].state >= 0) used |= 1u << w->slot[f].state;
    while (state < VF_VIO_STATES - 1 && used >> state & 1) state++;
    return state;
}

/** Predicts a state from the previous one and the preintegral d. */
VF_FN void vf_vio_predict_state(const struct vf_vio_state *from, const struct vf_preintegral *d, double gravity,
                                struct vf_vio_state *to)
{
    double R[9], v[3], p[3];
    vf_quaternion_matrix(from->q, R);
    vf_transform_double(R, d->v, v);
    vf_transform_double(R, d->p, p);
    *to = *from;
    for (int i = 0; i < 3; i++) {
        const double g = i == 2 ? -gravity : 0.0;
        to->p[i] += from->v[i] * d->dt_s + 0.5 * g * d->dt_s * d->dt_s + p[i];
        to->v[i] += g * d->dt_s + v[i];
    }
    vf_quaternion_multiply(from->q, d->q, to->q);
    vf_quaternion_unit(to->q);
}

/** Copies 32-bit words between structures; clears them if `from` is NULL. Runs in one block. */
VF_FN void vf_vio_copy_words(void *to, const void *from, size_t bytes)
{
    VF_UNROLL_16
    VF_PARTS(i, (int)(bytes / 4))
    ((vf_word *)to)[i] = from ? ((const vf_word *)from)[i] : 0;
}

/** Appends a frame to the sliding window, with the state predicted from the IMU. Runs in one block. */
VF_FN void vf_vio_append_frame(struct vf_vio_window *w, const struct vf_vio_imu_interval *m)
{
    struct vf_vio_slot *last = &w->slot[w->newest];
    const int32_t at = vf_vio_free_slot(w), state = vf_vio_free_state(w);
    struct vf_vio_slot *s = &w->slot[at];
    VF_ITEM_SYNC();
    vf_vio_copy_words(s, NULL, offsetof(struct vf_vio_slot, motion));
    vf_vio_copy_words(&s->motion, &m->motion, sizeof s->motion);
    vf_vio_copy_words(&s->whitening, &m->whitening, sizeof s->whitening);
    vf_vio_copy_words(s->bias, m->bias, sizeof s->bias);
    VF_ITEM_SYNC();
    VF_PARTS(i, 1)
    {
        for (int block = 0; block < 2; block++) last->variance[block] = vf_consistency_block(w, block);
        vf_vio_predict_state(&last->value, &m->motion, w->noise.gravity_m_s2, &s->value);
        memcpy(s->rate, m->rate, sizeof s->rate);
        /* one-sided, as it was, where samples are missing or left out */
        if (last->number == 1 || !(last->stationary || m->motion.flags & VFRONT_NAV_GAP))
            memcpy(last->rate, m->before, sizeof last->rate);
        s->state = state;
        s->number = ++w->number;
        s->t_ns = m->t_ns;
        s->offset_s = w->offset_s;
        w->flags = m->motion.flags;
        w->newest = at;
    }
    VF_ITEM_SYNC();
}

/** Landmark slot of the track `id`; -1: the track has no landmark; -2: id 0, no track. ids: track ids of all slots. */
VF_FN int32_t vf_vio_landmark_of(const uint32_t ids[VF_VIO_LANDMARKS], uint32_t id)
{
    int32_t found = -1;
    if (!id) return -2;
    VF_UNROLL_16
    for (int32_t i = 0; i < VF_VIO_LANDMARKS; i++) found = ids[i] == id ? i : found; /* at most one matches */
    return found;
}

/** First launch of a step: appends the frame and assigns its observations to landmarks. observations: number of
 *  elements of `observation` with distinct ids or 0, at most VF_VIO_OBSERVATIONS. ids: scratch for the ids of all
 *  landmarks. Runs in one block. */
VF_FN void vf_vio_open_frame(struct vf_vio_window *w, struct vf_vio_work *k, const struct vf_vio_imu_interval *m,
                             const struct vf_observation *observation, uint32_t observations,
                             uint32_t ids[VF_VIO_LANDMARKS])
{
    const int fresh = m->t_ns != w->slot[w->newest].t_ns;
    VF_PARTS(i, VF_VIO_LANDMARKS + 1)
    {
        if (i < VF_VIO_LANDMARKS) {
            ids[i] = w->landmark[i].id;
        } else {
            k->at = k->trial = k->iterations = k->reverted = k->still = k->stationary.begins = 0;
            k->damping = vf_vio_damping(w->rig.cameras);
        }
    }
    VF_ITEM_SYNC();
    if (fresh) vf_vio_append_frame(w, m);
    VF_PARTS(i, (int)observations)
    {
        k->landmark_of[i] = vf_vio_landmark_of(ids, observation[i].id);
        if (k->landmark_of[i] >= 0) vf_vio_set_observation(&w->landmark[k->landmark_of[i]], w->newest, &observation[i]);
    }
    vf_vio_previous_states(w, k);
    VF_PARTS(i, 1)
    vf_vio_select_all_factors(w, k);
    vf_vio_cameras(w, k);
    vf_vio_anchor_lists(w, k);
    vf_vio_relative_poses(w, k);
    if (fresh) vf_vio_align_frame(w, k, observations);
}

/** Launch after vf_vio_range_information(): tests the consistency of the observations, and lists landmarks for the
 *  first linear system. Runs in one block, concurrently with vf_vio_test_stationary() in another. */
VF_FN void vf_vio_prepare(struct vf_vio_window *w, struct vf_vio_work *k, uint32_t observations)
{
    vf_vio_consistency(w, k, observations);
    vf_vio_anchor_lists(w, k);
}

/* ---- optimization step ------------------------------------------------------------------------------------------- */

/** Restores the saved estimate of frame f; of the calibration for f = VF_VIO_FRAMES. Run by one thread for each f. */
VF_FN void vf_vio_revert_frame(struct vf_vio_window *w, const struct vf_vio_work *k, int f)
{
    if (f < VF_VIO_FRAMES) {
        w->slot[f].value = k->saved[f];
    } else {
        w->offset_s = k->saved_offset_s;
        memcpy(w->stereo, k->saved_stereo, sizeof w->stereo);
        memcpy(w->mount, k->saved_mount, sizeof w->mount);
    }
}

/** Mean robust cost per observation at the trial estimate [stated variances]. Run by one thread. */
VF_FN double vf_vio_residual_mean_square(const struct vf_vio_work *k)
{
    double cost = 0.0;
    uint32_t observations = 0;
    VF_UNROLL_16
    for (int part = 0; part < VF_VIO_PARTS; part++) {
        cost += k->seen[part];
        observations += k->number[part];
    }
    return observations ? cost / observations : 0.0;
}

/** Accepts or reverts a Levenberg-Marquardt step: keeps the trial estimate if the cost fell, else restores the saved
 *  one. Updates the damping. Runs in one block. */
VF_FN void vf_vio_accept_step(struct vf_vio_window *w, struct vf_vio_work *k)
{
    VF_PARTS(i, 1)
    {
        const int good = !k->iterations || k->cost < w->cost;
        k->reverted = !good;
        if (good) {
            k->at = k->trial;
            w->cost = k->cost;
            w->residual_mean_square = vf_vio_residual_mean_square(k) / vf_vio_noise_variance(w);
        }
        if (k->iterations) k->damping *= good ? VF_VIO_DAMPING_DECREASE : VF_VIO_DAMPING_INCREASE;
        if (!good && k->damping < VF_VIO_DAMPING_REVERT_MIN) k->damping = VF_VIO_DAMPING_REVERT_MIN;
        k->trial = k->at ^ 1;
    }
    VF_ITEM_SYNC();
    if (!k->reverted) return;
    VF_PARTS(f, VF_VIO_FRAMES + 1)
    vf_vio_revert_frame(w, k, f);
    VF_ITEM_SYNC();
}

/** Solves the damped linear system at the current estimate for the increment k->x, on the host. */
VF_FN void vf_vio_solve(struct vf_vio_work *k)
{
    enum { N = VF_VIO_COLUMNS };
    const struct vf_vio_system *s = &k->system[k->at];
    double *M = k->matrix;
    memcpy(M, s->H, sizeof s->H);
    for (int c = 0; c < N; c++) M[N * N + c] = -s->g[c];
    vf_solve_ldl(M, &k->workspace, N, N + 1, N, k->damping);
    memcpy(k->x, &M[N * N], sizeof k->x);
    vf_solve_back_ldl(M, k->x, N, N);
}

/** Computes the increment of the pose of frame f relative to anchor h from the solution k->x. */
VF_FN void vf_vio_relative_change(const struct vf_vio_window *w, struct vf_vio_work *k, int h, int f)
{
    struct vf_vio_anchor *anchor = &k->anchor[h];
    if (!anchor->count) return;
    for (int c = 0; c < 6; c++) anchor->change[f][c] = 0.0f;
    if (w->slot[f].number && f != h) vf_relative_change(k->x, h, f, &anchor->jacobian[k->at][f], anchor->change[f]);
}

/** Saves the estimate of frame f, or of the calibration for f = VF_VIO_FRAMES, and adds its part of the solution
 *  k->x. */
VF_FN void vf_vio_save_and_increment(struct vf_vio_window *w, struct vf_vio_work *k, int f)
{
    double turn[4];
    if (f < VF_VIO_FRAMES) {
        k->saved[f] = w->slot[f].value;
        if (w->slot[f].number) vf_vio_increment(&w->slot[f].value, &w->slot[f], f, k->x);
        return;
    }
    k->saved_offset_s = w->offset_s;
    memcpy(k->saved_stereo, w->stereo, sizeof w->stereo);
    memcpy(k->saved_mount, w->mount, sizeof w->mount);
    w->offset_s += k->x[VF_VIO_TIME_OFFSET];
    for (int n = 0; n < VF_VIO_STEREO_OFFSETS; n++) w->stereo[n] += k->x[VF_VIO_DISPARITY + n];
    vf_quaternion_exponential(&k->x[VF_VIO_MOUNT], turn);
    vf_quaternion_multiply(turn, w->mount, w->mount);
    vf_quaternion_unit(w->mount);
    k->iterations++;
}

/** Adds the solution to the estimate, which becomes the next trial estimate. Runs in one block. */
VF_FN void vf_vio_apply_step(struct vf_vio_window *w, struct vf_vio_work *k)
{
    enum { FRAMES = VF_VIO_FRAMES, OWN = 32 }; /* one warp has the frames and the calibration */
    VF_STATIC_ASSERT(FRAMES < OWN, "vfront: frames and cameras fit into a warp");
    VF_PARTS(i, OWN + FRAMES * FRAMES)
    {
        if (i >= OWN)
            vf_vio_relative_change(w, k, (i - OWN) / FRAMES, (i - OWN) % FRAMES);
        else if (i <= FRAMES)
            vf_vio_save_and_increment(w, k, i);
    }
    VF_ITEM_SYNC();
    vf_vio_update_poses(w, k);
}

/** Restores the saved landmarks if the last optimization step was reverted. Runs in one block. */
VF_FN void vf_vio_revert_landmarks(struct vf_vio_window *w, const struct vf_vio_work *k)
{
    VF_PARTS(i, VF_VIO_LANDMARKS)
    {
        struct vf_landmark *l = &w->landmark[i];
        if (!k->reverted || !l->id || !(k->anchors >> l->anchor & 1)) continue;
        for (int c = 0; c < 3; c++) l->bearing[c] = k->saved_landmark[i].bearing[c];
        l->inverse = k->saved_landmark[i].inverse;
    }
    VF_ITEM_SYNC();
}

/* ---- end of a step ----------------------------------------------------------------------------------------------- */

/** Last launch before the marginalization: initializes new landmarks, and selects what is marginalized. Runs in one
 *  block. */
VF_FN void vf_vio_close_frame(struct vf_vio_window *w, struct vf_vio_work *k, const struct vf_observation *observation,
                              uint32_t observations)
{
    vf_vio_revert_landmarks(w, k);
    vf_vio_slot_order(w, k, observations);
    vf_vio_count_observations(k, observations);
    VF_PARTS(i, 1)
    {
        k->observations = observations;
        const uint32_t tested = k->known + k->refused;
        k->collapses = !k->stationary.begins && tested < VF_VIO_MIN_LANDMARKS &&
                       VF_VIO_COLLAPSE * tested < w->observed && vf_vio_has_anchors(w);
        w->observed = k->known;
        vf_consistency_dispute(w, k->known, k->contrary);
        if (k->stationary.begins) w->stationary.anchor = w->newest;
    }
    VF_ITEM_SYNC();
    if (k->stationary.begins) vf_stationary_part(w, k);
    if (observations && !k->collapses &&
        (k->stationary.begins || (float)k->known < VF_VIO_KEYFRAME_SHARE * (float)(observations - k->refused))) {
        VF_PARTS(i, 1)
        {
            w->slot[w->stationary.holds ? w->stationary.anchor : w->newest].keyframe = 1;
            w->observed = observations - k->refused;
        }
        vf_vio_init_landmarks(w, k, observation, observations);
    }
    vf_vio_count_anchored(w, k);
    vf_vio_keyframe_scores(w, k);
    VF_ITEM_SYNC();
    vf_vio_previous_states(w, k);
    VF_PARTS(i, 1)
    vf_vio_select_to_marginalize(w, k);
    VF_ITEM_SYNC();
    vf_vio_select_kept_landmarks(w, k);
    vf_vio_count_reported(w, k);
    vf_vio_anchor_lists(w, k);
    vf_vio_update_poses(w, k);
}

#endif
