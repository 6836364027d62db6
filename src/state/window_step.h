/* SPDX-License-Identifier: MIT */
/* Step of the window as a sequence of launches; the host form calls them one after the other.
 *
 * Rule    vf_window_open(), of one block
 *         VF_WINDOW_ITERATIONS + 1 times: the launches of a system (window_system.h), and vf_window_try(), of one block
 *         vf_window_put_back(); vf_window_close(), of one block
 *         the launches of a system; vf_window_leave(), of one block
 * Exact   as window_system.h
 */
#ifndef VF_WINDOW_STEP_H
#define VF_WINDOW_STEP_H

#include "window_motion.h"
#include "window_solve.h"
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

/** Factors of readings between all states; hosts of landmarks: all keyframes. By one item. */
VF_FN void vf_window_take_all(const struct vf_window *w, struct vf_window_work *k)
{
    int count = 0;
    k->hosts = 0;
    for (int i = 0; i < VF_WINDOW_MOTIONS; i++) k->inertial[i].a = -1;
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++) {
        const struct vf_window_slot *s = &w->slot[f];
        const int32_t a = s->number && s->state >= 0 ? vf_window_before(w, f) : -1;
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

/** New frame: a slot with the state that the readings say. By one item. */
VF_FN void vf_window_append(struct vf_window *w, const struct vf_window_motion *m)
{
    struct vf_window_slot *last = &w->slot[w->newest];
    const int32_t at = vf_window_free_slot(w), state = vf_window_free_state(w);
    struct vf_window_slot *s = &w->slot[at];
    memset(s, 0, sizeof *s);
    s->motion = m->motion;
    memcpy(s->bias, m->bias, sizeof s->bias);
    vf_window_carry_on(&last->value, &s->motion, w->noise.gravity_m_s2, &s->value);
    memcpy(s->rate, m->rate, sizeof s->rate);
    if (last->number == 1) memcpy(last->rate, m->before, sizeof last->rate);
    s->state = state;
    s->number = ++w->number;
    s->t_ns = m->t_ns;
    s->offset_s = w->offset_s;
    w->flags = s->motion.flags;
    w->newest = at;
}

/** Slot of a track's landmark; -1: it is none. */
VF_FN int32_t vf_window_landmark_of(const struct vf_window *w, uint32_t id)
{
    int32_t found = -1;
    for (int32_t i = VF_WINDOW_LANDMARKS - 1; i >= 0 && id; i--)
        if (w->landmark[i].id == id) found = i;
    return found;
}

VF_FN void vf_window_sight_of(struct vf_landmark *l, int32_t slot, const struct vf_sight *seen)
{
    struct vf_window_sight *s = &l->sight[slot];
    memcpy(s->bearing, seen->bearing, sizeof s->bearing);
    memcpy(s->other, seen->other, sizeof s->other);
    s->weight = 1.0f / seen->sigma;
    s->other_weight = seen->other_sigma > 0.0f ? 1.0f / seen->other_sigma : 0.0f;
    l->seen |= 1u << slot;
}

/** First launch: the frame, its sights of landmarks, what the first system needs. sights: at most VF_WINDOW_SIGHTS, ids
 *  that are not 0 differ. */
VF_FN void vf_window_open(struct vf_window *w, struct vf_window_work *k, const struct vf_window_motion *m,
                          const struct vf_sight *sight, uint32_t sights)
{
    VF_ITEMS(i, 1)
    {
        if (m->t_ns != w->slot[w->newest].t_ns) vf_window_append(w, m);
        k->at = k->trial = k->steps = k->undone = k->still = 0;
        k->damping = 1e-5;
        vf_window_take_all(w, k);
    }
    VF_ITEM_SYNC();
    VF_ITEMS(i, (int)sights)
    {
        k->landmark_of[i] = vf_window_landmark_of(w, sight[i].id);
        if (k->landmark_of[i] >= 0) vf_window_sight_of(&w->landmark[k->landmark_of[i]], w->newest, &sight[i]);
    }
    VF_ITEM_SYNC();
    vf_window_rest_of(w, k, sight, sights);
    vf_window_lists(w, k);
    vf_window_relate(w, k);
}

/* ---- a step of the optimisation ---------------------------------------------------------------------------------- */

/** Estimate kept, or put back. By one item. */
VF_FN void vf_window_keep(const struct vf_window *w, struct vf_window_work *k)
{
    for (int f = 0; f < VF_WINDOW_FRAMES; f++) k->kept[f] = w->slot[f].value;
    k->kept_offset_s = w->offset_s;
    k->kept_disparity_rad = w->disparity_rad;
    memcpy(k->kept_mount, w->mount, sizeof w->mount);
}
VF_FN void vf_window_undo(struct vf_window *w, const struct vf_window_work *k)
{
    for (int f = 0; f < VF_WINDOW_FRAMES; f++) w->slot[f].value = k->kept[f];
    w->offset_s = k->kept_offset_s;
    w->disparity_rad = k->kept_disparity_rad;
    memcpy(w->mount, k->kept_mount, sizeof w->mount);
}

/** Verdict on the system just made: its estimate is taken, if the cost fell, or else put back. By one item. */
VF_FN void vf_window_judge(struct vf_window *w, struct vf_window_work *k)
{
    const int good = !k->steps || k->cost < w->cost;
    k->undone = !good;
    if (good) {
        k->at = k->trial;
        w->cost = k->cost;
    } else {
        vf_window_undo(w, k);
    }
    if (k->steps) k->damping *= good ? 0.1 : 100.0;
    k->trial = k->at ^ 1;
}

/** System at the estimate copied to where it is factorised; below it the right side, or unit rows of the columns whose
 *  covariance is said. */
VF_FN void vf_window_load(const struct vf_window *w, struct vf_window_work *k, int covariance)
{
    enum { N = VF_WINDOW_COLUMNS };
    const struct vf_window_system *s = &k->system[k->at];
    VF_ROWS(r, 0, N)
    VF_COLUMNS(c, 0, N)
    k->factor[r * N + c] = s->H[r * N + c];
    VF_ROWS(r, 0, covariance ? VF_WINDOW_SAID : 1)
    {
        const int at = r < VF_NAV_ERRORS            ? vf_window_error_column(&w->slot[w->newest], w->newest, r)
                       : r == VF_WINDOW_SAID_OFFSET ? VF_WINDOW_OFFSET
                                                    : VF_WINDOW_DISPARITY;
        VF_COLUMNS(c, 0, N)
        k->factor[(N + r) * N + c] = !covariance ? -s->g[c] : c == at ? 1.0 : 0.0;
    }
    VF_ITEM_SYNC();
}

/** Poses, velocities, biases and the camera's values changed by the solution. */
VF_FN void vf_window_advance(struct vf_window *w, const struct vf_window_work *k)
{
    VF_ITEMS(f, VF_WINDOW_FRAMES + 1)
    {
        if (f < VF_WINDOW_FRAMES) {
            if (w->slot[f].number) vf_window_add(&w->slot[f].value, &w->slot[f], f, k->x);
        } else {
            double turn[4];
            w->offset_s += k->x[VF_WINDOW_OFFSET];
            w->disparity_rad += k->x[VF_WINDOW_DISPARITY];
            vf_quaternion_exponential(&k->x[VF_WINDOW_MOUNT], turn);
            vf_quaternion_multiply(turn, w->mount, w->mount);
            vf_quaternion_unit(w->mount);
        }
    }
    VF_ITEM_SYNC();
}

/** Changes of the relative poses by the solution. */
VF_FN void vf_window_changes(const struct vf_window *w, struct vf_window_work *k)
{
    VF_ITEMS(i, VF_WINDOW_FRAMES * VF_WINDOW_FRAMES)
    {
        const int h = i / VF_WINDOW_FRAMES, f = i % VF_WINDOW_FRAMES;
        struct vf_window_host *host = &k->host[h];
        if (!host->count) continue;
        for (int c = 0; c < 6; c++) host->change[f][c] = 0.0f;
        if (w->slot[f].number && f != h) vf_relative_change(k->x, h, f, &host->map[f], host->change[f]);
    }
    VF_ITEM_SYNC();
}

/** Launch behind a system: verdict on it; next step of the optimisation, unless all are done. */
VF_FN void vf_window_try(struct vf_window *w, struct vf_window_work *k)
{
    enum { N = VF_WINDOW_COLUMNS };
    VF_ITEMS(i, 1)
    vf_window_judge(w, k);
    VF_ITEM_SYNC();
    if (k->steps == VF_WINDOW_ITERATIONS) return;
    if (k->undone) vf_window_relate(w, k);
    vf_window_load(w, k, 0);
    vf_solve_factor_items(k->factor, k->whole, k->column, N, 1, k->damping);
    VF_ITEMS(i, N)
    k->y[i] = k->factor[N * N + i];
    VF_ITEM_SYNC();
    vf_solve_back_items(k->factor, k->y, k->x, N);
    vf_window_changes(w, k);
    VF_ITEMS(i, 1)
    {
        vf_window_keep(w, k);
        k->steps++;
    }
    VF_ITEM_SYNC();
    vf_window_advance(w, k);
    vf_window_relate(w, k);
}

/** Launch behind the last step: landmarks put back, if it was undone. */
VF_FN void vf_window_put_back(struct vf_window *w, const struct vf_window_work *k)
{
    VF_ITEMS(i, VF_WINDOW_LANDMARKS)
    {
        struct vf_landmark *l = &w->landmark[i];
        if (!k->undone || !l->id || !(k->hosts >> l->host & 1)) continue;
        for (int c = 0; c < 3; c++) l->bearing[c] = k->kept_landmark[i][c];
        l->inverse = k->kept_landmark[i][3];
    }
}

/* ---- covariance and new landmarks -------------------------------------------------------------------------------- */

/** Covariance of the newest state, the time offset and the offset of disparities: S = (L^-1 E)' (L^-1 E). */
VF_FN void vf_window_cover(struct vf_window *w, struct vf_window_work *k)
{
    enum { N = VF_WINDOW_COLUMNS, M = VF_WINDOW_SAID };
    vf_window_load(w, k, 1);
    vf_solve_factor_items(k->factor, k->whole, k->column, N, M, 0.0);
    VF_ITEMS(i, M * M)
    {
        const double *a = &k->factor[(N + i / M) * N], *b = &k->factor[(N + i % M) * N];
        double sum = 0.0;
        for (int c = 0; c < N; c++) sum += a[c] * b[c];
        w->covariance[i] = sum;
    }
    VF_ITEM_SYNC();
}

VF_FN int vf_window_bits(uint32_t v)
{
    int count = 0;
    for (; v; v &= v - 1) count++;
    return count;
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

/** Merit of a slot for a new landmark, the less the better: that of an empty one 0, else by the frames that saw its
 *  landmark; -1: the newest frame sees it. */
VF_FN int vf_window_slot_merit(const struct vf_window *w, int i)
{
    const struct vf_landmark *l = &w->landmark[i];
    if (!l->id) return 0;
    return l->seen >> w->newest & 1 ? -1 : 1 + vf_window_bits(l->seen);
}

/** Slots for new landmarks in the order in which they are taken. */
VF_FN void vf_window_order(const struct vf_window *w, struct vf_window_work *k)
{
    VF_ITEMS(i, VF_WINDOW_LANDMARKS)
    {
        const int own = vf_window_slot_merit(w, i);
        int rank = 0;
        if (own < 0) continue;
        for (int j = 0; j < VF_WINDOW_LANDMARKS; j++) {
            const int merit = vf_window_slot_merit(w, j);
            rank += merit >= 0 && (merit < own || (merit == own && j < i));
        }
        k->order[rank] = i;
    }
    VF_ITEMS(i, 1)
    {
        k->slots = 0;
        for (int j = 0; j < VF_WINDOW_LANDMARKS; j++) k->slots += vf_window_slot_merit(w, j) >= 0;
    }
    VF_ITEM_SYNC();
}

/** Landmarks of all tracks of the newest frame that are none yet. Their host is this frame; at rest the keyframe made
 *  during this rest, whose camera was at the same place: what this frame sees first is a sight of that one. */
VF_FN void vf_window_found(struct vf_window *w, const struct vf_window_work *k, const struct vf_sight *sight,
                           uint32_t sights)
{
    const int32_t host = w->rest.holds ? w->rest.host : w->newest;
    VF_ITEMS(i, (int)sights)
    {
        int rank = 0;
        if (!sight[i].id || k->landmark_of[i] >= 0) continue;
        for (int j = 0; j < i; j++) rank += sight[j].id && k->landmark_of[j] < 0;
        if (rank >= k->slots) continue;
        struct vf_landmark *l = &w->landmark[k->order[rank]];
        memset(l, 0, sizeof *l);
        l->id = sight[i].id;
        l->host = host;
        memcpy(l->bearing, sight[i].bearing, sizeof l->bearing);
        l->inverse = vf_window_range_of(w, &sight[i]);
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

/** Keyframe that has to leave, of those with a pose alone: the oldest of which the newest frame sees less than a
 *  twentieth of the landmarks; or else the one that is close to others and far from the newest. By one item. */
VF_FN int32_t vf_window_key_to_leave(const struct vf_window *w)
{
    int hosted[VF_WINDOW_FRAMES], alive[VF_WINDOW_FRAMES];
    int32_t oldest = -1, best = -1;
    double most = -1.0;
    for (int f = 0; f < VF_WINDOW_FRAMES; f++) hosted[f] = alive[f] = 0;
    for (int i = 0; i < VF_WINDOW_LANDMARKS; i++) {
        const struct vf_landmark *l = &w->landmark[i];
        if (!l->id) continue;
        hosted[l->host]++;
        alive[l->host] += (int)(l->seen >> w->newest & 1);
    }
    for (int32_t f = 0; f < VF_WINDOW_FRAMES; f++) {
        double close = 0.0;
        if (!w->slot[f].number || w->slot[f].state >= 0) continue;
        if (20 * alive[f] <= hosted[f] && (oldest < 0 || w->slot[f].number < w->slot[oldest].number)) oldest = f;
        for (int32_t g = 0; g < VF_WINDOW_FRAMES; g++)
            if (g != f && w->slot[g].number && w->slot[g].state < 0) close += 1.0 / (vf_window_apart(w, f, g) + 1e-3);
        const double score = sqrt(vf_window_apart(w, f, w->newest)) * close;
        if (score > most) {
            most = score;
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

/** What leaves when rest begins: every frame but the newest one. By one item. */
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
    if (k->rest.begins) {
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
    if (s->keyframe && frames - states >= VF_WINDOW_KEYFRAMES) k->key = vf_window_key_to_leave(w);
    if (k->key >= 0) k->hosts = 1u << k->key;
    for (int i = s->keyframe ? 6 : 0; i < VF_NAV_ERRORS; i++) k->gone_list[k->gone++] = vf_window_error_column(s, a, i);
    for (int i = 0; i < 6 && k->key >= 0; i++) k->gone_list[k->gone++] = 6 * k->key + i;
    k->leaving = (s->keyframe ? 0 : 1u << a) | (k->key >= 0 ? 1u << k->key : 0);
}

/** Last launch but those of the leaving: covariance, new landmarks, what leaves. */
VF_FN void vf_window_close(struct vf_window *w, struct vf_window_work *k, const struct vf_sight *sight, uint32_t sights)
{
    vf_window_cover(w, k);
    vf_window_order(w, k);
    VF_ITEMS(i, 1)
    {
        k->known = w->sights = 0;
        k->sights = sights;
        for (int j = 0; j < VF_WINDOW_LANDMARKS; j++)
            if (w->landmark[j].id) w->sights += (uint32_t)vf_window_bits(w->landmark[j].seen);
        for (uint32_t j = 0; j < sights; j++) k->known += k->landmark_of[j] >= 0;
        if (k->rest.begins) w->rest.host = w->newest;
    }
    VF_ITEM_SYNC();
    if (k->rest.begins) vf_rest_part(w, k);
    if (sights && (k->rest.begins || (float)k->known < VF_WINDOW_KNOWN * (float)sights)) {
        VF_ITEMS(i, 1)
        w->slot[w->rest.holds ? w->rest.host : w->newest].keyframe = 1;
        vf_window_found(w, k, sight, sights);
    }
    VF_ITEMS(i, 1)
    vf_window_choose(w, k);
    VF_ITEM_SYNC();
    vf_window_lists(w, k);
    vf_window_relate(w, k);
}

/** Landmarks of the keyframe that leaves are gone; nobody is seen from the frames that leave any more. */
VF_FN void vf_window_forget(struct vf_window *w, const struct vf_window_work *k)
{
    const uint32_t slots = k->leaving;
    if (k->rest.begins) vf_rest_host(w, k);
    VF_ITEMS(i, VF_WINDOW_LANDMARKS)
    {
        struct vf_landmark *l = &w->landmark[i];
        if (l->id && l->host == k->key) l->id = 0;
        l->seen &= ~slots;
    }
    VF_ITEMS(f, VF_WINDOW_FRAMES)
    {
        struct vf_window_slot *s = &w->slot[f];
        if (k->key >= 0 && k->host[k->key].frames >> f & 1) vf_window_enter_prior(s);
        if (slots >> f & 1) memset(s, 0, sizeof *s);
        if ((f == k->leaves && !k->rest.begins) || slots >> f & 1) s->state = -1;
    }
    VF_ITEM_SYNC();
}

/** Last launch, behind the system of all that leaves: what it says of the others becomes the prior. */
VF_FN void vf_window_leave(struct vf_window *w, struct vf_window_work *k)
{
    enum { N = VF_WINDOW_COLUMNS };
    struct vf_window_system *s = &k->system[k->trial];
    if (k->leaves < 0) return;
    vf_solve_eliminate(s, k->gone_list, k->gone, k->eliminated, k->factor, k->whole, k->column);
    vf_window_forget(w, k);
    vf_window_from_firsts(w, k);
    VF_ITEMS(r, N)
    { /* the slope at the first estimates */
        double sum = 0.0;
        for (int c = 0; c < N; c++) sum += s->H[r * N + c] * k->from_first[c];
        w->prior.g[r] = s->g[r] - sum;
    }
    VF_ROWS(r, 0, N)
    VF_COLUMNS(c, 0, N)
    w->prior.H[r * N + c] = s->H[r * N + c];
    VF_ITEM_SYNC();
}

/* ---- start and result -------------------------------------------------------------------------------------------- */

/** A window of one frame, in a state. information: inverse of its covariance. Of a launch of one block. */
VF_FN void vf_window_begin(struct vf_window *w, const struct vf_window_rig *rig, const vfront_imu_noise_t *noise,
                           const vfront_nav_t *first, const double information[VF_NAV_ERRORS * VF_NAV_ERRORS])
{
    enum { N = VF_WINDOW_COLUMNS, M = VF_NAV_ERRORS, S = VF_WINDOW_SAID };
    uint32_t *words = (uint32_t *)w;
    VF_ITEMS(i, (int)(sizeof *w / sizeof *words))
    words[i] = 0;
    VF_ITEM_SYNC();
    VF_ITEMS(i, 1)
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
        for (int k = 0; k < 3; k++)
            w->prior.H[(VF_WINDOW_MOUNT + k) * (N + 1)] = 1.0 / (VF_WINDOW_MOUNT_RAD * VF_WINDOW_MOUNT_RAD);
    }
    VF_ITEM_SYNC();
    VF_ITEMS(i, M * M)
    {
        const int r = i / M, c = i % M;
        w->covariance[S * r + c] = first->covariance[vf_nav_index(r < c ? r : c, r < c ? c : r)];
        w->prior.H[vf_window_error_column(w->slot, 0, r) * N + vf_window_error_column(w->slot, 0, c)] = information[i];
    }
    VF_ITEM_SYNC();
}

/** State of the newest frame; of the members of vfront_nav_t behind `flags` those that the window knows. By one
 *  item. */
VF_FN void vf_window_tell(const struct vf_window *w, vfront_nav_t *nav)
{
    const struct vf_window_slot *s = &w->slot[w->newest];
    memset(nav, 0, sizeof *nav);
    nav->t_ns = vf_window_shifted(s->t_ns, s->offset_s);
    memcpy(nav->position_m, s->value.p, sizeof nav->position_m);
    memcpy(nav->velocity_mps, s->value.v, sizeof nav->velocity_mps);
    memcpy(nav->q_odom_imu, s->value.q, sizeof nav->q_odom_imu);
    memcpy(nav->gyro_bias_rad_s, s->value.bias, sizeof nav->gyro_bias_rad_s);
    memcpy(nav->accel_bias_m_s2, s->value.bias + 3, sizeof nav->accel_bias_m_s2);
    for (int i = 0; i < VF_NAV_ERRORS; i++)
        for (int j = i; j < VF_NAV_ERRORS; j++)
            nav->covariance[vf_nav_index(i, j)] = w->covariance[VF_WINDOW_SAID * i + j];
    nav->flags = w->flags;
    nav->offset_s = w->offset_s;
    nav->offset_sigma_s = sqrt(w->covariance[VF_WINDOW_SAID_OFFSET * (VF_WINDOW_SAID + 1)]);
    for (int i = 0; i < VF_WINDOW_LANDMARKS; i++)
        if (w->landmark[i].id) nav->landmarks += w->landmark[i].seen >> w->newest & 1;
    nav->misfit = w->sights ? w->cost / w->sights : 0.0;
}

#endif
