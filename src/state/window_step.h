/* SPDX-License-Identifier: MIT */
/* Step of the window as a sequence of launches; the host form calls them one after the other.
 *
 * Rule    vf_window_open(), of one block; vf_window_prepare(), and beside it vf_window_rest_of(), of a block each
 *         VF_WINDOW_ITERATIONS + 1 times: the launches of a system (window_system.h); vf_window_judge(), and, while
 *         there is a step to make, vf_window_solve() and vf_window_go(), of one block
 *         vf_window_close(), of one block, and beside it vf_window_cover(), of another one
 *         Where the newest frame sees fewer than VF_WINDOW_FEW landmarks of many, since pictures end or all tracks do,
 *         all others leave, so that what their sights say is not lost with the tracks; new landmarks begin with the
 *         next frame
 *         the launches of a system; vf_window_eliminate(), of some blocks, and beside it vf_window_part(), of one;
 *         vf_window_leave()
 *         The factorisation of all columns is done by whoever runs a launch: vf_window_solve() on the host, tiles in
 *         registers on a GPU (kernels/state/window_tiles.cuh), in the same order
 * Exact   as window_system.h
 */
#ifndef VF_WINDOW_STEP_H
#define VF_WINDOW_STEP_H

#include "window_gate.h"
#include "window_motion.h"
#include "window_solve.h"
#include "window_strain.h"
#include "window_system.h"

/* ---- variables --------------------------------------------------------------------------------------------------- */

/** Column of an error of a slot's state. */
VF_FN int vf_window_error_column(const struct vf_window_slot *s, int slot, int error)
{
    return error < 6 ? 6 * slot + error : VF_WINDOW_MOVING + 9 * s->state + error - 6;
}

/** Value plus a change of its columns. */
VF_FN void vf_window_add(struct vf_window_value *value, const struct vf_window_slot *s, int slot, const double *x)
{
    double turn[3], q[4];
    for (int i = 0; i < 3; i++) {
        value->p[i] += x[6 * slot + i];
        turn[i] = x[6 * slot + 3 + i];
    }
    vf_quaternion_exponential(turn, q);
    vf_quaternion_multiply(q, value->q, value->q);
    vf_quaternion_unit(value->q);
    if (s->state < 0) return;
    const double *more = &x[VF_WINDOW_MOVING + 9 * s->state];
    for (int i = 0; i < 3; i++) value->v[i] += more[i];
    for (int i = 0; i < 6; i++) value->bias[i] += more[3 + i];
}

/** Slot of the state before that of a slot; -1: none. */
VF_FN int32_t vf_window_before(const struct vf_window *w, int32_t slot)
{
    int32_t found = -1;
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++)
        if (w->slot[f].number && w->slot[f].state >= 0 && w->slot[f].number + 1 == w->slot[slot].number) found = f;
    return found;
}

/** State before each, for vf_window_take_all(). Of one block. */
VF_FN void vf_window_befores(const struct vf_window *w, struct vf_window_work *k)
{
    VF_PARTS(f, VF_WINDOW_FRAMES)
    k->before[f] = w->slot[f].number && w->slot[f].state >= 0 ? vf_window_before(w, f) : -1;
    VF_ITEM_SYNC();
}

/** Factors of readings between all states; hosts of landmarks: all keyframes. By one item. */
VF_FN void vf_window_take_all(const struct vf_window *w, struct vf_window_work *k)
{
    int count = 0;
    k->hosts = 0;
    for (int i = 0; i < VF_WINDOW_MOTIONS; i++) k->inertial[i].a = -1;
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++) {
        const struct vf_window_slot *s = &w->slot[f];
        const int32_t a = k->before[f];
        if (a >= 0 && count < VF_WINDOW_MOTIONS) {
            k->inertial[count].a = a;
            k->inertial[count++].b = f;
        }
        if (s->number && s->keyframe) k->hosts |= 1u << f;
    }
}

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
    ((uint32_t *)to)[i] = from ? ((const uint32_t *)from)[i] : 0;
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

VF_FN void vf_window_sight_of(struct vf_landmark *l, int32_t slot, const struct vf_sight *seen)
{
    struct vf_window_sight *s = &l->sight[slot];
    memcpy(s->bearing, seen->bearing, sizeof s->bearing);
    memcpy(s->other, seen->other, sizeof s->other);
    s->late_s = seen->late_s;
    s->later_s = seen->later_s;
    s->weight = 1.0f / seen->sigma;
    s->other_weight = seen->other_sigma > 0.0f ? 1.0f / seen->other_sigma : 0.0f;
    l->seen |= 1u << slot;
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
            k->damping = 1e-5;
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
}

/** Second launch, what the first system needs, and which sights are taken. Of one block; beside it, of another one,
 *  vf_window_rest_of(), if rest is looked for. */
VF_FN void vf_window_prepare(struct vf_window *w, struct vf_window_work *k, uint32_t sights)
{
    vf_window_lists(w, k);
    vf_window_poses(w, k);
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
        w->yields = good && vf_strain_is_much(w, k);
        if (k->steps) k->damping *= good ? 0.1 : 100.0;
        k->trial = k->at ^ 1;
    }
    VF_ITEM_SYNC();
    if (w->yields) vf_strain_yield(w);
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

/* ---- covariance and new landmarks -------------------------------------------------------------------------------- */

/** Column of the system at place i of an order in which those whose covariance is told are the last. */
VF_FN int vf_window_said_last(const struct vf_window *w, int i)
{
    enum { LAST = VF_WINDOW_COLUMNS - VF_WINDOW_SAID };
    const int slot = w->newest, moving = VF_WINDOW_MOVING + 9 * w->slot[slot].state;
    if (i >= LAST + VF_NAV_ERRORS) return i == LAST + VF_WINDOW_SAID_OFFSET ? VF_WINDOW_OFFSET : VF_WINDOW_DISPARITY;
    if (i >= LAST) return vf_window_error_column(&w->slot[slot], slot, i - LAST);
    const int gap[4] = {6 * slot, moving, VF_WINDOW_OFFSET, VF_WINDOW_DISPARITY}, wide[4] = {6, 9, 1, 1};
    for (int k = 0; k < 4; k++)
        if (i >= gap[k]) i += wide[k];
    return i;
}

/** Covariance of the newest state, the time offset and VF_STEREO_OFFSET, by the corner of the factor in which
 *  their columns are the last: S = (L^-1)' D^-1 L^-1. Of one block. */
VF_FN void vf_window_cover_corner(struct vf_window *w, struct vf_window_work *k)
{
    enum { M = VF_WINDOW_SAID };
    VF_PARTS(c, M)
    {
        double back[M];
        VF_UNROLL
        for (int r = 0; r < M; r++) {
            double sum = r == c ? 1.0 : 0.0;
            VF_UNROLL
            for (int j = VF_GROUP_ALONE ? c : 0; j < r; j++) {
                const double part = k->corner[r][j] * back[j];
                sum = j >= c ? sum - part : sum;
            }
            back[r] = sum;
        }
        VF_UNROLL
        for (int r = 0; r < M; r++) k->back[c][r] = back[r];
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, M * M)
    {
        double sum = 0.0;
        for (int j = 0; j < M; j++) sum += k->back[i / M][j] * k->back[i % M][j] * k->corner_inverse[j];
        w->covariance[i] = sum;
    }
    VF_ITEM_SYNC();
}

/** The same, with the factor, on the host. */
VF_FN void vf_window_cover(struct vf_window *w, struct vf_window_work *k)
{
    enum { N = VF_WINDOW_COLUMNS, M = VF_WINDOW_SAID };
    const struct vf_window_system *s = &k->system[k->at];
    for (int r = 0; r < N; r++)
        for (int c = 0; c <= r; c++)
            k->matrix[r * N + c] = s->H[vf_window_said_last(w, r) * N + vf_window_said_last(w, c)];
    vf_solve_factor_items(k->matrix, &k->room, N, N, N, 0.0);
    for (int r = 0; r < M; r++) {
        for (int c = 0; c < r; c++) k->corner[r][c] = k->matrix[(N - M + r) * N + N - M + c];
        k->corner_inverse[r] = k->room.inverse[N - M + r];
    }
    vf_window_cover_corner(w, k);
}

/** Inverse range of a sight by its partner, or the mean one. */
VF_FN float vf_window_range_of(const struct vf_window *w, const struct vf_sight *seen)
{
    const struct vf_landmark_rig rig = vf_window_landmark_rig(w);
    float along[3], turned[3];
    if (w->rig.cameras < 2 || !(seen->other_sigma > 0.0f)) return VF_WINDOW_RANGE_MEAN;
    vf_landmark_along(&rig, seen->other, along);
    vf_transform(rig.R_1_0, seen->bearing, turned);
    return -vf_dot(along, turned) / vf_dot(along, rig.t_1_0);
}

/** Place of a slot among those for new landmarks, the less the earlier: that of an empty one first, else by the frames
 *  that saw its landmark; slots of one kind in their order. VF_WINDOW_TAKEN: the newest frame sees it. */
#define VF_WINDOW_TAKEN INT32_MAX
VF_FN int vf_window_slot_place(const struct vf_window *w, int i)
{
    const uint32_t id = w->landmark[i].id, seen = w->landmark[i].seen;
    const int merit = id ? 1 + vf_window_bits(seen) : 0;
    return id && seen >> w->newest & 1 ? VF_WINDOW_TAKEN : merit * VF_WINDOW_LANDMARKS + i;
}

/** Slots for new landmarks in the order in which they are taken. */
VF_FN void vf_window_order(const struct vf_window *w, struct vf_window_work *k)
{
    VF_PARTS(i, VF_WINDOW_LANDMARKS)
    k->place[i] = vf_window_slot_place(w, i);
    VF_ITEM_SYNC();
    VF_PARTS(i, VF_WINDOW_LANDMARKS + 1)
    {
        const int own = i < VF_WINDOW_LANDMARKS ? k->place[i] : VF_WINDOW_TAKEN;
        int rank = 0;
        VF_UNROLL_16
        for (int j = 0; j < VF_WINDOW_LANDMARKS; j++) rank += k->place[j] < own;
        if (i == VF_WINDOW_LANDMARKS)
            k->slots = rank;
        else if (own != VF_WINDOW_TAKEN)
            k->order[rank] = i;
    }
    VF_ITEM_SYNC();
}

/** Number of sights of landmarks that are taken, and of those refused. */
VF_FN void vf_window_count_known(struct vf_window_work *k, uint32_t sights)
{
    VF_PARTS(part, VF_WINDOW_PARTS)
    {
        k->number[part] = k->off[part] = 0;
        for (uint32_t i = (uint32_t)part; i < sights; i += VF_WINDOW_PARTS) {
            k->number[part] += k->landmark_of[i] >= 0 && !k->off_sight[i];
            k->off[part] += k->off_sight[i] != 0;
        }
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, 1)
    {
        k->known = k->refused = 0;
        for (int part = 0; part < VF_WINDOW_PARTS; part++) {
            k->known += k->number[part];
            k->refused += k->off[part];
        }
    }
    VF_ITEM_SYNC();
}

/** Landmarks of all tracks of the newest frame that are none yet. Their host is this frame; at rest the keyframe made
 *  during this rest, whose camera was at the same place: what this frame sees first is a sight of that one. */
VF_FN void vf_window_found(struct vf_window *w, const struct vf_window_work *k, const struct vf_sight *sight,
                           uint32_t sights)
{
    const int32_t host = w->rest.holds ? w->rest.host : w->newest;
    VF_PARTS(i, (int)sights)
    {
        int rank = 0;
        if (k->landmark_of[i] != -1) continue;
        VF_UNROLL_16
        for (int j = 0; j < i; j++) rank += k->landmark_of[j] == -1;
        if (rank >= k->slots) continue;
        struct vf_landmark *l = &w->landmark[k->order[rank]];
        memset(l, 0, sizeof *l);
        l->id = sight[i].id;
        l->host = host;
        l->inverse = vf_window_range_of(w, &sight[i]);
        vf_landmark_in_time(&k->drift[host], sight[i].bearing, l->inverse, sight[i].late_s, l->bearing);
        vf_window_sight_of(l, host, &sight[i]);
        vf_rest_refer(l, &sight[i], w->slot[w->newest].t_ns);
    }
    VF_ITEM_SYNC();
}

/* ---- marginalisation --------------------------------------------------------------------------------------------- */

VF_FN int32_t vf_window_oldest_state(const struct vf_window *w)
{
    int32_t oldest = -1;
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++)
        if (w->slot[f].number && w->slot[f].state >= 0 && (oldest < 0 || w->slot[f].number < w->slot[oldest].number))
            oldest = f;
    return oldest;
}

/** Distance between two frames [m]. */
VF_FN double vf_window_apart(const struct vf_window *w, int32_t a, int32_t b)
{
    double square = 0.0;
    for (int i = 0; i < 3; i++) {
        const double d = w->slot[a].value.p[i] - w->slot[b].value.p[i];
        square += d * d;
    }
    return sqrt(square);
}

/** Landmarks hosted in each frame, and of these the ones that the newest frame sees: host[f].part[0], .seen[0]. */
VF_FN void vf_window_count_alive(const struct vf_window *w, struct vf_window_work *k)
{
    enum { EACH = VF_WINDOW_LANDMARKS / VF_WINDOW_PARTS };
    VF_PARTS(item, VF_WINDOW_FRAMES * VF_WINDOW_PARTS)
    {
        const int h = item / VF_WINDOW_PARTS, part = item % VF_WINDOW_PARTS;
        uint32_t hosted = 0, alive = 0;
        VF_UNROLL_4
        for (int i = part * EACH; i < (part + 1) * EACH; i++) {
            const uint32_t id = w->landmark[i].id, seen = w->landmark[i].seen;
            const int own = (id != 0) & (w->landmark[i].host == h);
            hosted += (uint32_t)own;
            alive += own ? seen >> w->newest & 1 : 0;
        }
        k->host[h].part[part] = hosted;
        k->host[h].seen[part] = alive;
    }
    VF_ITEM_SYNC();
    VF_PARTS(h, VF_WINDOW_FRAMES)
    for (int part = 1; part < VF_WINDOW_PARTS; part++) {
        k->host[h].part[0] += k->host[h].part[part];
        k->host[h].seen[0] += k->host[h].seen[part];
    }
}

/** How close keyframes with a pose alone are to others, and far from the newest frame; -1: others. */
VF_FN void vf_window_scores(const struct vf_window *w, struct vf_window_work *k)
{
    VF_PARTS(f, VF_WINDOW_FRAMES)
    {
        double close = 0.0;
        k->score[f] = -1.0;
        if (!w->slot[f].number || w->slot[f].state >= 0) continue;
        for (int32_t g = 0; g < VF_WINDOW_FRAMES; g++)
            if (g != f && w->slot[g].number && w->slot[g].state < 0) close += 1.0 / (vf_window_apart(w, f, g) + 1e-3);
        k->score[f] = sqrt(vf_window_apart(w, f, w->newest)) * close;
    }
}

/** Keyframe that has to leave, of those with a pose alone: the oldest of which the newest frame sees less than a
 *  twentieth of the landmarks; or else the one that is close to others and far from the newest. By one item. */
VF_FN int32_t vf_window_key_to_leave(const struct vf_window *w, const struct vf_window_work *k)
{
    int32_t oldest = -1, best = -1;
    double most = -1.0;
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++) {
        if (!w->slot[f].number || w->slot[f].state >= 0) continue;
        if (20 * k->host[f].seen[0] <= k->host[f].part[0] && (oldest < 0 || w->slot[f].number < w->slot[oldest].number))
            oldest = f;
        if (k->score[f] > most) {
            most = k->score[f];
            best = f;
        }
    }
    return oldest >= 0 ? oldest : best;
}

/** The prior's first estimate of a frame, if it is not in the prior yet. */
VF_FN void vf_window_enter_prior(struct vf_window_slot *s)
{
    if (s->prior) return;
    s->prior = 1;
    s->first = s->value;
}

/** Frames that leave when rest begins, or when nothing of what was in sight is any more: all but the newest one. By one
 *  item. */
VF_FN void vf_window_choose_all(struct vf_window *w, struct vf_window_work *k)
{
    const int32_t moving = VF_WINDOW_MOVING + 9 * w->slot[w->newest].state;
    vf_window_take_all(w, k);
    k->hosts &= ~(1u << w->newest);
    k->leaves = w->newest;
    for (int f = 0; f < VF_WINDOW_FRAMES; f++)
        if (w->slot[f].number && f != w->newest) k->leaving |= 1u << f;
    for (int32_t c = 0; c < VF_WINDOW_OFFSET; c++)
        if (c / 6 != w->newest && !(c >= moving && c < moving + 9)) k->gone_list[k->gone++] = c;
    vf_window_enter_prior(&w->slot[w->newest]);
}

/** What leaves, and what of the factors goes with it: the oldest state without its velocity and biases, or without all
 *  if it is no keyframe; and a keyframe, if there are too many. By one item. */
VF_FN void vf_window_choose(struct vf_window *w, struct vf_window_work *k)
{
    int frames = 0, states = 0;
    k->hosts = 0;
    k->gone = 0;
    k->leaves = k->key = -1;
    k->leaving = 0;
    k->still = 1;
    if (k->rest.begins || k->folds) {
        vf_window_choose_all(w, k);
        return;
    }
    for (int i = 0; i < VF_WINDOW_MOTIONS; i++) k->inertial[i].a = -1;
    for (int f = 0; f < VF_WINDOW_FRAMES; f++) {
        frames += w->slot[f].number != 0;
        states += w->slot[f].number && w->slot[f].state >= 0;
    }
    if (states < VF_WINDOW_STATES) return;
    const int32_t a = vf_window_oldest_state(w);
    struct vf_window_slot *s = &w->slot[a];
    k->leaves = a;
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++)
        if (w->slot[f].number == s->number + 1 && w->slot[f].state >= 0) {
            k->inertial[0].a = a;
            k->inertial[0].b = f;
            vf_rest_first(s, &w->slot[f]);
            vf_window_enter_prior(&w->slot[f]);
        }
    vf_window_enter_prior(s);
    if (s->keyframe && frames - states >= VF_WINDOW_KEYFRAMES) k->key = vf_window_key_to_leave(w, k);
    if (k->key >= 0) k->hosts = 1u << k->key;
    for (int i = s->keyframe ? 6 : 0; i < VF_NAV_ERRORS; i++) k->gone_list[k->gone++] = vf_window_error_column(s, a, i);
    for (int i = 0; i < 6 && k->key >= 0; i++) k->gone_list[k->gone++] = 6 * k->key + i;
    k->leaving = (s->keyframe ? 0 : 1u << a) | (k->key >= 0 ? 1u << k->key : 0);
}

/** 1 if a frame but the newest one hosts landmarks. */
VF_FN int vf_window_hosts(const struct vf_window *w)
{
    int hosts = 0;
    for (int f = 0; f < VF_WINDOW_FRAMES; f++) hosts |= f != w->newest && w->slot[f].number && w->slot[f].keyframe;
    return hosts;
}

/** Last launch but those of the leaving: new landmarks, what leaves. Of one block. */
VF_FN void vf_window_close(struct vf_window *w, struct vf_window_work *k, const struct vf_sight *sight, uint32_t sights)
{
    vf_window_put_back(w, k);
    vf_window_order(w, k);
    vf_window_count_known(k, sights);
    VF_PARTS(i, 1)
    {
        k->sights = sights;
        const uint32_t tested = k->known + k->refused;
        k->folds = !k->rest.begins && tested < VF_WINDOW_FEW && 8 * tested < w->sighted && vf_window_hosts(w);
        w->sighted = k->known;
        vf_gate_dispute(w, k->known, k->refused);
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
    vf_window_lists(w, k);
    vf_window_relate(w, k);
}

/** Landmarks of the keyframe that leaves are gone; nobody is seen from the frames that leave any more. */
VF_FN void vf_window_forget(struct vf_window *w, const struct vf_window_work *k)
{
    enum { WORDS = sizeof(struct vf_window_slot) / 4 };
    const uint32_t slots = k->leaving;
    if (k->rest.begins) vf_rest_host(w, k);
    VF_PARTS(i, VF_WINDOW_LANDMARKS)
    {
        struct vf_landmark *l = &w->landmark[i];
        if (l->id && (l->host == k->key || k->folds)) l->id = 0;
        l->seen &= ~slots;
    }
    VF_PARTS(i, VF_WINDOW_FRAMES * WORDS)
    if (slots >> i / WORDS & 1) ((uint32_t *)&w->slot[i / WORDS])[i % WORDS] = 0;
    VF_ITEM_SYNC();
    VF_PARTS(f, VF_WINDOW_FRAMES)
    {
        struct vf_window_slot *s = &w->slot[f];
        if (!(slots >> f & 1) && k->key >= 0 && k->host[k->key].frames >> f & 1) vf_window_enter_prior(s);
        if ((f == k->leaves && !k->rest.begins && !k->folds) || slots >> f & 1) s->state = -1;
    }
    VF_ITEM_SYNC();
}

/** Launch behind the system of all that leaves: what it says of the others becomes the prior's matrix, and its right
 *  side at the estimate. Of a block of `blocks`. */
VF_FN void vf_window_eliminate(struct vf_window *w, struct vf_window_work *k, struct vf_solve_gone *room, int block,
                               int blocks)
{
    struct vf_solve_places at = {room->matrix, room->row, &room->room};
    const int most = k->gone > VF_WINDOW_GONE;
    if (k->leaves < 0 || (most && block)) return;
    if (most) {
        at.matrix = k->most.matrix;
        at.row = k->most.row;
        at.room = &k->most.room;
    }
    vf_solve_eliminate(&k->system[k->trial], k->gone_list, k->gone, &at, block, most ? 1 : blocks, &w->prior);
}

/** Beside it: frames that leave are forgotten. Of one block. */
VF_FN void vf_window_part(struct vf_window *w, struct vf_window_work *k)
{
    if (k->leaves < 0) return;
    vf_window_forget(w, k);
    vf_window_from_firsts(w, k);
}

/** Last launch: the prior's slope at the first estimates. */
VF_FN void vf_window_leave(struct vf_window *w, const struct vf_window_work *k)
{
    if (k->leaves < 0) return;
    VF_ITEMS(r, VF_WINDOW_COLUMNS)
    w->prior.g[r] -= vf_window_product(w->prior.H, k->from_first, r);
}

/* ---- start and result -------------------------------------------------------------------------------------------- */

/** A window of one frame, in a state. information: inverse of its covariance. Of a launch of one block. */
VF_FN void vf_window_begin(struct vf_window *w, const struct vf_window_rig *rig, const vfront_imu_noise_t *noise,
                           const vfront_nav_t *first, const double information[VF_NAV_ERRORS * VF_NAV_ERRORS])
{
    enum { N = VF_WINDOW_COLUMNS, M = VF_NAV_ERRORS, S = VF_WINDOW_SAID };
    uint32_t *words = (uint32_t *)w;
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

/** Landmarks that the newest frame sees, in parts. */
VF_FN void vf_window_count_seen(const struct vf_window *w, struct vf_window_work *k)
{
    VF_PARTS(part, VF_WINDOW_PARTS)
    {
        uint32_t number = 0;
        VF_UNROLL_4
        for (int i = part; i < VF_WINDOW_LANDMARKS; i += VF_WINDOW_PARTS) {
            const uint32_t id = w->landmark[i].id, seen = w->landmark[i].seen;
            number += id ? seen >> w->newest & 1 : 0;
        }
        k->number[part] = number;
    }
    VF_ITEM_SYNC();
}

/** State of the newest frame, but for its covariance; of the members of vfront_nav_t behind `flags` those that the
 *  window knows. Of one block. */
VF_FN void vf_window_tell(const struct vf_window *w, struct vf_window_work *k, vfront_nav_t *nav)
{
    vf_window_count_seen(w, k);
    VF_PARTS(item, 1)
    {
        const struct vf_window_slot *s = &w->slot[w->newest];
        const struct vf_window_value value = s->value;
        const uint64_t t_ns = vf_window_shifted(s->t_ns, s->offset_s);
        const double offset_s = w->offset_s, misfit = w->misfit;
        const uint32_t flags = w->flags;
        uint32_t landmarks = 0;
        VF_UNROLL_16
        for (int part = 0; part < VF_WINDOW_PARTS; part++) landmarks += k->number[part];
        nav->t_ns = t_ns;
        memcpy(nav->position_m, value.p, sizeof nav->position_m);
        memcpy(nav->velocity_mps, value.v, sizeof nav->velocity_mps);
        memcpy(nav->q_odom_imu, value.q, sizeof nav->q_odom_imu);
        memcpy(nav->gyro_bias_rad_s, value.bias, sizeof nav->gyro_bias_rad_s);
        memcpy(nav->accel_bias_m_s2, value.bias + 3, sizeof nav->accel_bias_m_s2);
        nav->flags = w->dispute_s > 0.0 ? flags | VFRONT_NAV_DISPUTED : flags;
        nav->offset_s = offset_s;
        nav->misfit = misfit;
        nav->landmarks = landmarks;
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
