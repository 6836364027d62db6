/* SPDX-License-Identifier: MIT */
/* Step of the window as a sequence of launches; the host form calls them one after the other.
 *
 * Rule    vf_window_open(), of one block; vf_window_ranges(); vf_window_prepare(), and beside it
 *         vf_window_rest_of(), of a block each
 *         vf_window_steps() + 1 times: the launches of a system (window_system.h); vf_window_judge(), and, while
 *         there is a step to make, vf_window_solve() and vf_window_go(), of one block
 *         vf_window_close() and vf_window_tell(), of one block.
 *         Where the newest frame sees fewer than VF_WINDOW_FEW landmarks of many, since pictures end or all tracks do,
 *         all others leave, so that what their sights say is not lost with the tracks; new landmarks begin with the
 *         next frame
 *         Then two branches, neither of which reads what the other one writes: vf_window_cover() and
 *         vf_window_tell_covariance(), of one block; and for the next step the launches of a system,
 *         vf_window_eliminate(), of some blocks, and beside it vf_window_part(), of one, vf_window_leave()
 *         The factorisation of all columns is done by whoever runs a launch: vf_window_solve() on the host, tiles in
 *         registers on a GPU (kernels/state/window_tiles.cuh), in the same order
 * Exact   as window_system.h
 */
#ifndef VF_WINDOW_STEP_H
#define VF_WINDOW_STEP_H

#include "window_assemble.h"
#include "window_found.h"
#include "window_leave.h"
#include "window_motion.h"
#include "window_tell.h"

/* ---- a new frame ------------------------------------------------------------------------------------------------- */

/** Free slot of a frame; there is one. */
VF_FN int32_t vf_window_free_slot(const struct vf_window *w)
{
    int32_t slot = 0;
    while (slot < VF_WINDOW_FRAMES - 1 && w->slot[slot].number) slot++;
    return slot;
}

/** Free slot of velocity and biases; there is one. */
VF_FN int32_t vf_window_free_state(const struct vf_window *w)
{
    uint32_t used = 0;
    int32_t state = 0;
    for (int f = 0; f < VF_WINDOW_FRAMES; f++)
        if (w->slot[f].number && w->slot[f].state >= 0) used |= 1u << w->slot[f].state;
    while (state < VF_WINDOW_STATES - 1 && used >> state & 1) state++;
    return state;
}

/** State at the end of its preintegral, by the one before. */
VF_FN void vf_window_carry_on(const struct vf_window_value *from, const struct vf_preintegral *d, double gravity,
                              struct vf_window_value *to)
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

/** Words of memory that structures share: copied, or cleared where there is nothing to copy. Of one block. */
VF_FN void vf_window_words(void *to, const void *from, size_t bytes)
{
    VF_UNROLL_16
    VF_PARTS(i, (int)(bytes / 4))
    ((vf_word *)to)[i] = from ? ((const vf_word *)from)[i] : 0;
}

/** New frame: a slot with the state that the readings say. Of one block. */
VF_FN void vf_window_append(struct vf_window *w, const struct vf_window_motion *m)
{
    struct vf_window_slot *last = &w->slot[w->newest];
    const int32_t at = vf_window_free_slot(w), state = vf_window_free_state(w);
    struct vf_window_slot *s = &w->slot[at];
    VF_ITEM_SYNC();
    vf_window_words(s, NULL, offsetof(struct vf_window_slot, motion));
    vf_window_words(&s->motion, &m->motion, sizeof s->motion);
    vf_window_words(&s->scale, &m->scale, sizeof s->scale);
    vf_window_words(s->bias, m->bias, sizeof s->bias);
    VF_ITEM_SYNC();
    VF_PARTS(i, 1)
    {
        for (int block = 0; block < 2; block++) last->variance[block] = vf_gate_block(w, block);
        vf_window_carry_on(&last->value, &m->motion, w->noise.gravity_m_s2, &s->value);
        memcpy(s->rate, m->rate, sizeof s->rate);
        if (last->number == 1) memcpy(last->rate, m->before, sizeof last->rate);
        s->state = state;
        s->number = ++w->number;
        s->t_ns = m->t_ns;
        s->offset_s = w->offset_s;
        w->flags = m->motion.flags;
        w->newest = at;
    }
    VF_ITEM_SYNC();
}

/** Slot of a track's landmark; -1: it is none; -2: there is no track. ids: of all slots. */
VF_FN int32_t vf_window_landmark_of(const uint32_t ids[VF_WINDOW_LANDMARKS], uint32_t id)
{
    int32_t found = -1;
    if (!id) return -2;
    VF_UNROLL_16
    for (int32_t i = 0; i < VF_WINDOW_LANDMARKS; i++) found = ids[i] == id ? i : found; /* of no two the same */
    return found;
}

/** First launch: the frame, its sights of landmarks. sights: at most VF_WINDOW_SIGHTS, ids that are not 0 differ. ids:
 *  room for those of all landmarks. Of one block. */
VF_FN void vf_window_open(struct vf_window *w, struct vf_window_work *k, const struct vf_window_motion *m,
                          const struct vf_sight *sight, uint32_t sights, uint32_t ids[VF_WINDOW_LANDMARKS])
{
    const int fresh = m->t_ns != w->slot[w->newest].t_ns;
    VF_PARTS(i, VF_WINDOW_LANDMARKS + 1)
    {
        if (i < VF_WINDOW_LANDMARKS) {
            ids[i] = w->landmark[i].id;
        } else {
            k->at = k->trial = k->steps = k->undone = k->still = k->rest.begins = 0;
            k->damping = vf_window_damping(w->rig.cameras);
        }
    }
    VF_ITEM_SYNC();
    if (fresh) vf_window_append(w, m);
    VF_PARTS(i, (int)sights)
    {
        k->landmark_of[i] = vf_window_landmark_of(ids, sight[i].id);
        if (k->landmark_of[i] >= 0) vf_window_sight_of(&w->landmark[k->landmark_of[i]], w->newest, &sight[i]);
    }
    vf_window_befores(w, k);
    VF_PARTS(i, 1)
    vf_window_take_all(w, k);
    vf_window_cameras(w, k);
    vf_window_lists(w, k);
    vf_window_poses(w, k);
}

/** Launch behind vf_window_ranges(): which sights are taken, and what the first system needs. Of one block; beside it,
 *  of another one, vf_window_rest_of(), if rest is looked for. */
VF_FN void vf_window_prepare(struct vf_window *w, struct vf_window_work *k, uint32_t sights)
{
    vf_window_gate(w, k, sights);
    vf_window_lists(w, k);
}

/* ---- a step of the optimisation ---------------------------------------------------------------------------------- */

/** Estimate put back. By one item for each frame, and one more. */
VF_FN void vf_window_undo(struct vf_window *w, const struct vf_window_work *k, int f)
{
    if (f < VF_WINDOW_FRAMES) {
        w->slot[f].value = k->kept[f];
    } else {
        w->offset_s = k->kept_offset_s;
        memcpy(w->stereo_rad, k->kept_stereo_rad, sizeof w->stereo_rad);
        memcpy(w->mount, k->kept_mount, sizeof w->mount);
    }
}

/** Mean cost of a sight of the system just made. By one item. */
VF_FN double vf_window_misfit(const struct vf_window_work *k)
{
    double cost = 0.0;
    uint32_t sights = 0;
    VF_UNROLL_16
    for (int part = 0; part < VF_WINDOW_PARTS; part++) {
        cost += k->seen[part];
        sights += k->number[part];
    }
    return sights ? cost / sights : 0.0;
}

/** Verdict on the system just made: its estimate is taken, if the cost fell, or else put back. Of one block. */
VF_FN void vf_window_judge(struct vf_window *w, struct vf_window_work *k)
{
    VF_PARTS(i, 1)
    {
        const int good = !k->steps || k->cost < w->cost;
        k->undone = !good;
        if (good) {
            k->at = k->trial;
            w->cost = k->cost;
            w->misfit = vf_window_misfit(k) / vf_window_scatter(w);
        }
        if (k->steps) k->damping *= good ? VF_WINDOW_DAMPING_LESS : VF_WINDOW_DAMPING_MORE;
        if (!good && k->damping < VF_WINDOW_DAMPING_LEAST) k->damping = VF_WINDOW_DAMPING_LEAST;
        k->trial = k->at ^ 1;
    }
    VF_ITEM_SYNC();
    if (!k->undone) return;
    VF_PARTS(f, VF_WINDOW_FRAMES + 1)
    vf_window_undo(w, k, f);
    VF_ITEM_SYNC();
}

/** Solution x of the system at the estimate, damped, on the host. */
VF_FN void vf_window_solve(struct vf_window_work *k)
{
    enum { N = VF_WINDOW_COLUMNS };
    const struct vf_window_system *s = &k->system[k->at];
    double *M = k->matrix;
    memcpy(M, s->H, sizeof s->H);
    for (int c = 0; c < N; c++) M[N * N + c] = -s->g[c];
    vf_solve_factor_items(M, &k->room, N, N + 1, N, k->damping);
    memcpy(k->x, &M[N * N], sizeof k->x);
    vf_solve_back_unit(M, k->x, N, N);
}

/** Change of the pose of frame f relative to host h by the solution. */
VF_FN void vf_window_change(const struct vf_window *w, struct vf_window_work *k, int h, int f)
{
    struct vf_window_host *host = &k->host[h];
    if (!host->count) return;
    for (int c = 0; c < 6; c++) host->change[f][c] = 0.0f;
    if (w->slot[f].number && f != h) vf_relative_change(k->x, h, f, &host->map[k->at][f], host->change[f]);
}

/** Estimate kept, and changed by the solution: that of frame f, or, behind the frames, of the cameras. */
VF_FN void vf_window_advance(struct vf_window *w, struct vf_window_work *k, int f)
{
    double turn[4];
    if (f < VF_WINDOW_FRAMES) {
        k->kept[f] = w->slot[f].value;
        if (w->slot[f].number) vf_window_add(&w->slot[f].value, &w->slot[f], f, k->x);
        return;
    }
    k->kept_offset_s = w->offset_s;
    memcpy(k->kept_stereo_rad, w->stereo_rad, sizeof w->stereo_rad);
    memcpy(k->kept_mount, w->mount, sizeof w->mount);
    w->offset_s += k->x[VF_WINDOW_OFFSET];
    for (int n = 0; n < VF_WINDOW_STEREO; n++) w->stereo_rad[n] += k->x[VF_WINDOW_DISPARITY + n];
    vf_quaternion_exponential(&k->x[VF_WINDOW_MOUNT], turn);
    vf_quaternion_multiply(turn, w->mount, w->mount);
    vf_quaternion_unit(w->mount);
    k->steps++;
}

/** Step of the optimisation by the solution. Of one block. */
VF_FN void vf_window_go(struct vf_window *w, struct vf_window_work *k)
{
    enum { FRAMES = VF_WINDOW_FRAMES, OWN = 32 }; /* the frames in a warp of their own */
    VF_STATIC_ASSERT(FRAMES < OWN, "vfront: frames and cameras fit into a warp");
    VF_PARTS(i, OWN + FRAMES * FRAMES)
    {
        if (i >= OWN)
            vf_window_change(w, k, (i - OWN) / FRAMES, (i - OWN) % FRAMES);
        else if (i <= FRAMES)
            vf_window_advance(w, k, i);
    }
    VF_ITEM_SYNC();
    vf_window_relate(w, k);
}

/** Landmarks put back, if the last step was undone. Of one block. */
VF_FN void vf_window_put_back(struct vf_window *w, const struct vf_window_work *k)
{
    VF_PARTS(i, VF_WINDOW_LANDMARKS)
    {
        struct vf_landmark *l = &w->landmark[i];
        if (!k->undone || !l->id || !(k->hosts >> l->host & 1)) continue;
        for (int c = 0; c < 3; c++) l->bearing[c] = k->kept_place[i].bearing[c];
        l->inverse = k->kept_place[i].inverse;
    }
    VF_ITEM_SYNC();
}

/* ---- end of a step ----------------------------------------------------------------------------------------------- */

/** Last launch but those of the leaving: new landmarks, what leaves. Of one block. */
VF_FN void vf_window_close(struct vf_window *w, struct vf_window_work *k, const struct vf_sight *sight, uint32_t sights)
{
    vf_window_put_back(w, k);
    vf_window_order(w, k, sights);
    vf_window_count_known(k, sights);
    VF_PARTS(i, 1)
    {
        k->sights = sights;
        const uint32_t tested = k->known + k->refused;
        k->folds = !k->rest.begins && tested < VF_WINDOW_FEW && 8 * tested < w->sighted && vf_window_hosts(w);
        w->sighted = k->known;
        vf_gate_dispute(w, k->known, k->contrary);
        if (k->rest.begins) w->rest.host = w->newest;
    }
    VF_ITEM_SYNC();
    if (k->rest.begins) vf_rest_part(w, k);
    if (sights && !k->folds && (k->rest.begins || (float)k->known < VF_WINDOW_KNOWN * (float)(sights - k->refused))) {
        VF_PARTS(i, 1)
        {
            w->slot[w->rest.holds ? w->rest.host : w->newest].keyframe = 1;
            w->sighted = sights - k->refused;
        }
        vf_window_found(w, k, sight, sights);
    }
    vf_window_count_alive(w, k);
    vf_window_scores(w, k);
    VF_ITEM_SYNC();
    vf_window_befores(w, k);
    VF_PARTS(i, 1)
    vf_window_choose(w, k);
    VF_ITEM_SYNC();
    vf_window_stay(w, k);
    vf_window_count_told(w, k);
    vf_window_lists(w, k);
    vf_window_relate(w, k);
}

#endif
