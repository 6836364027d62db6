/* SPDX-License-Identifier: MIT */
/* map: pose graph over the keyframes of the ring, and T_map_odom.
 *
 * In      pose of the frame along its path, the ring of keyframes and what comes into it (keyframe); loops of the step
 *         (loop) with their poses (overlap) and keyframes (place); motion of the frame (ego); whether the state of the
 *         IMU knows gravity (window)
 * Out     state of the map, by parity (map_state.h); T_map_odom of the result
 * Rule    nodes are the keyframes, edges what their path says of those that follow each other, and accepted loops, one
 *         that ends in each keyframe. Each frame does one Gauss-Newton step over the whole graph (map_graph.h): a fixed
 *         share. That step takes longest, and begins with the frame, on what the frame before left: it needs nothing of
 *         this one. Behind it comes what this frame brings: a path, a keyframe that makes room, loops, the end of a
 *         turn, and last of all its own keyframe, as a node. Frames whose number is a multiple of VF_MAP_TURN end a
 *         turn: T_map_odom becomes what the graph has by then, and loops that came during the turn become edges, for
 *         the next turn. So a loop is in the result after VF_MAP_TURN to 2 VF_MAP_TURN frames, whatever it took to
 *         compute.
 *         The frame of the map is the odometry frame of the first path; once a state of the IMU has z up, that of this
 *         state, and yaw and position alone are corrected. Where one path goes over into the next one and the metric
 *         motion is known, so does its place in the map. Else the new path is lost: T_map_odom stays as it was, until
 *         a loop with a keyframe that is placed is accepted, which at once tells where the path lies, with all its
 *         keyframes. A path of fewer than VF_MAP_LEAST keyframes with which a map begins, unless it was loaded, is
 *         forgotten instead
 *         A keyframe that makes room in the ring hands its loops on to its neighbour in the path, by where the graph
 *         has both: by where the path has them the map would turn with the odometry, lap by lap, once the ring is full.
 *         Where its place in the map is known better than the way to its neighbour, as of old keyframes whose
 *         neighbours have gone, the keyframes that its loops led to are tied to where they are in the map instead, and
 *         so is the first one of the graph, which is held as long as there are no ties. Else each generation of
 *         keyframes hung on ever longer ways of the odometry, and the map turned and bent
 *         Variances of each keyframe are those along the shortest way that loops, ties and the path leave from the
 *         first keyframe: in each frame they spread by one keyframe, the attitude's into the position with the distance
 * Exact   double precision in one order
 * Shared  all: vf_map_solve(), early, and vf_map_bend() are launches, by one block each
 * Memory  143 bytes a keyframe of state, 2 of them; of a step 568 bytes a keyframe
 */
#ifndef VF_MAP_STAGE_H
#define VF_MAP_STAGE_H

#include "map_graph.h"

/** Frames of a turn; scale of the bound of a loop's residual at its beginning, and by how much it falls each frame. */
#define VF_MAP_TURN 24
#define VF_MAP_SCALE 800.0
#define VF_MAP_SCALE_FALL 1.4
VF_STATIC_ASSERT(VF_KEYFRAME_RECENT >= 2 * VF_MAP_TURN, "vfront: keyframes stay until their loops are edges");

/** Keyframes from which on a map is kept when its path ends. */
#define VF_MAP_LEAST 4

/** Least deviations of a loop, of each axis: of lens and shutter, the same for all points of a picture. */
#define VF_MAP_LOOP_M 0.02
#define VF_MAP_LOOP_RAD 0.005

/* View of map: core/view.h. */
/* clang-format off */
#define VF_READS_map(X) X(ingest) X(window) X(place) X(overlap) X(ego) X(keyframe) X(loop)
#define VF_BEFORE_map(X)
#define VF_GEOMETRY_map(X) X(active)
#define VF_TUNING_map(X)
/* clang-format on */
VF_GEOMETRY_OF(map);
struct vf_map_view {
    VF_VIEW(map);
};
VF_HOST_FORM(map);

/** Share of the map in the result; all 0 where the stage is no part of the step (active: of geometry). */
VF_FN void vf_map_result(const struct vf_map_memory *m, const struct vf_keyframe_memory *k, uint32_t active,
                         int32_t parity, vfront_map_t *out)
{
    (void)m, (void)k, (void)active, (void)parity;
    memset(out, 0, sizeof *out);
#if VFRONT_MAP
    if (!(active & VF_BIT(map))) return;
    const struct vf_map_state *s = &m->state[parity];
    const struct vf_path_pose *pose = &k->now[parity].pose;
    memcpy(out->position_m, pose->position_m, sizeof out->position_m);
    memcpy(out->q_odom_cam, pose->q_path_cam, sizeof out->q_odom_cam);
    memcpy(out->t_map_odom_m, s->told.p, sizeof out->t_map_odom_m);
    memcpy(out->q_map_odom, s->told.q, sizeof out->q_map_odom);
    out->state = !s->metric || !(active & VF_BIT(stereo)) ? VFRONT_MAP_NO_SCALE
                 : s->placed                              ? VFRONT_MAP_GOOD
                                                          : VFRONT_MAP_LOST;
    out->counter = s->counter;
    out->nodes = s->count;
    out->loops = s->loops;
    if (out->state != VFRONT_MAP_GOOD) return;
    out->sigma_m = sqrt(s->told_m2);
    out->sigma_rad = sqrt(s->told_rad2);
#endif
}

#if VFRONT_MAP

VF_FN struct vf_map_graph vf_map_graph_of(const struct vf_map_view *s)
{
    const struct vf_keyframe_now *before = &s->keyframe->now[s->parity ^ 1];
    const struct vf_map_graph g = {s->keyframe->ring, &s->map->state[s->parity], &s->map->work,
                                   s->ingest->params.frame && before->due ? before : NULL};
    return g;
}

/** Pose of the frame, or of the one before, in its path. */
VF_FN void vf_map_own(const struct vf_map_view *s, int32_t parity, struct vf_map_pose *out)
{
    vf_map_of_path(&s->keyframe->now[parity].pose, out);
}

/** Transform from axes now to axes before, of p_now = R p_before + t. */
VF_FN void vf_map_of_motion(const float R[9], const float t[3], struct vf_map_pose *out)
{
    struct vf_path_pose none, to;
    memset(&none, 0, sizeof none);
    none.q_path_cam[0] = 1.0;
    to = none;
    vf_path_go(&none, R, t, &to);
    vf_map_of_path(&to, out);
}

/** Which keyframes `move` of the work moves. */
enum { VF_MAP_MOVE_NONE, VF_MAP_MOVE_ALL, VF_MAP_MOVE_PATH };

/** Of a keyframe of a path that is moved: where it lies is known now, and how well. */
VF_FN void vf_map_place(struct vf_map_state *m, const struct vf_map_work *w, uint32_t slot,
                        const struct vf_path_pose *own)
{
    const int later = own->length_m > w->known.length_m;
    double m2, rad2;
    vf_map_edge_variance(later ? &w->known : own, later ? own : &w->known, &m2, &rad2);
    m->placed_node[slot] = 1;
    if (m->loop[slot].a == VF_MAP_FRAME) m->loop[slot].a = VF_NONE;
    m->node_m2[slot] = (float)(w->known_m2 + m2 + vf_map_lever_m2(own->position_m, w->known.position_m, w->known_rad2));
    m->node_rad2[slot] = (float)(w->known_rad2 + rad2);
}

/** Moves keyframes: all by `move`; or those of a path to where it says that the path lies. One block. */
VF_FN void vf_map_move(const struct vf_map_graph *g)
{
    struct vf_map_state *m = g->state;
    const struct vf_map_work *w = g->work;
    VF_PARTS(i, w->moves == VF_MAP_MOVE_NONE ? 0 : (int)m->count)
    {
        const uint32_t slot = m->order[i];
        const struct vf_path_pose *own = vf_map_path_of(g, slot);
        struct vf_map_pose pose;
        if (w->moves == VF_MAP_MOVE_PATH && own->path != w->moved_path) continue;
        if (w->moves == VF_MAP_MOVE_PATH) {
            vf_map_of_path(own, &pose);
            vf_map_place(m, w, slot, own);
        } else {
            struct vf_map_loop *l = &m->loop[slot];
            if (l->a == VF_MAP_FRAME) vf_map_compose(&w->move, &l->pose, &l->pose);
            pose = m->node[slot];
        }
        vf_map_compose(&w->move, &pose, &m->node[slot]);
    }
    VF_ITEM_SYNC();
}

/* ---- keyframes that come and go ---------------------------------------------------------------------------------- */

/** Node of this frame's keyframe, which comes into the ring with the next step. By one thread. */
VF_FN void vf_map_append(const struct vf_map_view *s, const struct vf_map_graph *g)
{
    struct vf_map_state *m = g->state;
    const struct vf_keyframe_now *now = &s->keyframe->now[s->parity];
    const struct vf_path_pose *own = &now->last.pose;
    struct vf_map_pose pose;
    double more_m2 = 0.0, more_rad2 = 0.0;
    if (!now->due) return;
    const uint32_t slot = now->slot;
    const struct vf_path_pose *last = m->count ? vf_map_path_of(g, m->order[m->count - 1]) : NULL;
    if (last && vf_path_placed(last, own)) {
        vf_map_edge_variance(last, own, &more_m2, &more_rad2);
        more_m2 += vf_map_lever_m2(own->position_m, last->position_m, m->variance_rad2);
    }
    vf_map_of_path(own, &pose);
    vf_map_compose(&m->work, &pose, &m->node[slot]);
    m->node_m2[slot] = (float)(m->variance_m2 + more_m2);
    m->node_rad2[slot] = (float)(m->variance_rad2 + more_rad2);
    m->variance_m2 = vf_rounded(&m->node_m2[slot]);
    m->variance_rad2 = vf_rounded(&m->node_rad2[slot]);
    m->placed_node[slot] = (uint8_t)m->placed;
    m->seen[slot] = ++m->made;
    m->order[m->count++] = (uint16_t)slot;
}

/** Neighbour of a keyframe in its path: the one before it in the order, or the one behind; VF_NONE: none. */
VF_FN uint32_t vf_map_neighbour(const struct vf_map_graph *g, uint32_t index)
{
    const struct vf_map_state *m = g->state;
    const struct vf_path_pose *own = vf_map_path_of(g, m->order[index]);
    if (index && vf_path_placed(vf_map_path_of(g, m->order[index - 1]), own)) return m->order[index - 1];
    if (index + 1 < m->count && vf_path_placed(vf_map_path_of(g, m->order[index + 1]), own)) return m->order[index + 1];
    return VF_NONE;
}

/** Ties keyframe i to where the graph has it, by the variances that it has there. */
VF_FN void vf_map_tie(struct vf_map_state *m, uint32_t i)
{
    struct vf_map_loop *l = &m->loop[i];
    memset(l, 0, sizeof *l);
    l->pose = m->node[i];
    l->sigma_m = (float)sqrt((double)m->node_m2[i] + VF_MAP_TIE_M * VF_MAP_TIE_M);
    l->sigma_rad = (float)sqrt((double)m->node_rad2[i] + VF_MAP_TIE_RAD * VF_MAP_TIE_RAD);
    l->a = VF_MAP_FRAME;
    l->active = 1;
}

/** 1 if the loop from the keyframe `slot` that goes to i becomes a tie: an edge whose `slot` is known no worse than the
 *  way to its neighbour. */
VF_FN int vf_map_ties(const struct vf_map_graph *g, uint32_t slot, uint32_t i)
{
    const struct vf_map_state *m = g->state;
    return m->loop[i].active && m->placed_node[slot] && m->placed_node[i] &&
           (g->work->near == VF_NONE || (double)m->node_m2[slot] <= g->work->way_m2);
}

/** Deviations of a loop that is handed on from the keyframe that goes to its neighbour. */
VF_FN void vf_map_widen(const struct vf_map_work *w, struct vf_map_loop *l)
{
    l->sigma_m = (float)sqrt((double)l->sigma_m * (double)l->sigma_m + w->way_m2);
    l->sigma_rad = (float)sqrt((double)l->sigma_rad * (double)l->sigma_rad + w->way_rad2);
}

/** Loop that ends in keyframe i: if it begins in the keyframe `slot` that goes, it begins in its neighbour from now on,
 *  or becomes a tie; a loop with the neighbour itself ends. */
VF_FN void vf_map_hand_begin(const struct vf_map_graph *g, uint32_t slot, uint32_t i)
{
    struct vf_map_loop *l = &g->state->loop[i];
    struct vf_map_pose back;
    if (l->a != slot) return;
    if (vf_map_ties(g, slot, i)) {
        vf_map_tie(g->state, i);
        return;
    }
    l->a = g->work->near == i ? VF_NONE : g->work->near;
    if (l->a == VF_NONE) return;
    vf_map_widen(g->work, l);
    vf_map_inverse(&g->work->way, &back);
    vf_map_compose(&back, &l->pose, &l->pose);
}

/** Loop that ends in the keyframe `slot` that goes: it ends in its neighbour from now on, if none does. By one thread,
 *  behind vf_map_hand_begin() of all. */
VF_FN void vf_map_hand_end(const struct vf_map_graph *g, uint32_t slot)
{
    const uint32_t near = g->work->near;
    struct vf_map_loop *loop = g->state->loop, *l = &loop[slot];
    if (near != VF_NONE && l->a != VF_NONE && l->a != near && loop[near].a == VF_NONE) {
        vf_map_widen(g->work, l);
        vf_map_compose(&l->pose, &g->work->way, &l->pose);
        loop[near] = *l;
    }
    l->a = VF_NONE;
}

/** Neighbour of the keyframe that goes, and the way to it, into the work. By one thread. */
VF_FN void vf_map_look_around(const struct vf_map_graph *g, uint32_t slot)
{
    struct vf_map_work *w = g->work;
    w->near = vf_map_neighbour(g, w->index);
    if (w->near == VF_NONE) return;
    vf_map_between(&g->state->node[slot], &g->state->node[w->near], &w->way);
    vf_map_edge_variance(vf_map_path_of(g, slot), vf_map_path_of(g, w->near), &w->way_m2, &w->way_rad2);
}

/** Where there are ties the first keyframe is tied, too: it is held no more. One block. */
VF_FN void vf_map_tie_first(const struct vf_map_graph *g)
{
    struct vf_map_state *m = g->state;
    struct vf_map_work *w = g->work;
    VF_PARTS(i, (int)m->count)
    if (m->loop[m->order[i]].a == VF_MAP_FRAME) vf_place_add(&w->held, 1);
    VF_ITEM_SYNC();
    VF_PARTS(one, 1)
    {
        const uint32_t first = m->order[0];
        if (w->held && m->placed_node[first] && m->loop[first].a != VF_MAP_FRAME) vf_map_tie(m, first);
    }
    VF_ITEM_SYNC();
}

/** Takes the keyframe whose place in the ring a new one will have out of the graph: one block. */
VF_FN void vf_map_remove(const struct vf_map_view *s, const struct vf_map_graph *g)
{
    struct vf_map_state *m = g->state;
    struct vf_map_work *w = g->work;
    const struct vf_keyframe_now *now = &s->keyframe->now[s->parity];
    if (!now->due) return;
    VF_PARTS(one, 1) w->index = VF_NONE, w->held = 0;
    VF_ITEM_SYNC();
    VF_PARTS(i, (int)m->count)
    {
        w->order[i] = m->order[i];
        if (m->order[i] == now->slot) w->index = (uint32_t)i;
    }
    VF_ITEM_SYNC();
    if (w->index == VF_NONE) return;
    VF_PARTS(one, 1) vf_map_look_around(g, now->slot);
    VF_ITEM_SYNC();
    VF_PARTS(i, VFRONT_KEYFRAMES) vf_map_hand_begin(g, now->slot, (uint32_t)i);
    VF_PARTS(i, (int)m->count - 1)
    if ((uint32_t)i >= w->index) m->order[i] = w->order[i + 1];
    VF_ITEM_SYNC();
    VF_PARTS(one, 1)
    {
        vf_map_hand_end(g, now->slot);
        m->count--;
    }
    VF_ITEM_SYNC();
    vf_map_tie_first(g);
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

/** 1 if z of the axes of this frame's path is up. */
VF_FN uint32_t vf_map_up(const struct vf_map_view *s)
{
    const int nav = s->keyframe->now[s->parity].pose.source == VF_PATH_NAV;
#if VFRONT_WINDOW
    return nav && vf_window_stated(s->window, s->geometry.active) && !(s->window->nav.flags & VFRONT_NAV_NO_GRAVITY);
#else
    return (uint32_t)(nav * 0);
#endif
}

/** 1 if the pose of this frame is known in the path of the one before, too. */
VF_FN int vf_map_goes_over(const struct vf_map_view *s)
{
    return s->ingest->params.frame && s->keyframe->now[s->parity ^ 1].pose.source >= VF_PATH_METRIC &&
           s->keyframe->now[s->parity].pose.source >= VF_PATH_METRIC &&
           vf_ego_states(s->ego, s->geometry.active).metric == VFRONT_MOTION_GOOD;
}

/** T_map_odom as at the beginning of a map. */
VF_FN void vf_map_clear(struct vf_map_state *m)
{
    vf_map_identity(&m->work);
    m->told = m->work;
    m->loops = 0;
    m->variance_m2 = m->variance_rad2 = m->told_m2 = m->told_rad2 = 0.0;
}

/** A map begins, without keyframes. */
VF_FN void vf_map_begin(const struct vf_map_view *s, struct vf_map_state *m)
{
    vf_map_clear(m);
    m->placed = 1;
    m->upright = vf_map_up(s);
    m->count = 0;
}

/** A path that goes over into this one. */
VF_FN void vf_map_go_over(const struct vf_map_view *s, struct vf_map_state *m, struct vf_map_work *w)
{
    struct vf_map_pose before, moved, now, work, told;
    const vfront_motion_t *motion = &s->ego->metric;
    vf_map_own(s, s->parity ^ 1, &before);
    vf_map_own(s, s->parity, &now);
    vf_map_of_motion(motion->R, motion->t, &moved);
    vf_map_compose(&before, &moved, &moved);
    if (s->keyframe->now[s->parity].pose.source != VF_PATH_NAV) return; /* in axes of the path before */
    vf_map_compose(&m->work, &moved, &work);
    vf_map_compose(&m->told, &moved, &told);
    if (vf_map_up(s) && !m->upright && m->placed) {
        vf_map_frame_of(&now, &work, 0, &w->move);
        w->moves = VF_MAP_MOVE_ALL;
        vf_map_identity(&m->work);
        m->told = m->work;
        m->upright = 1;
        return;
    }
    vf_map_frame_of(&work, &now, (int)m->upright, &m->work);
    vf_map_frame_of(&told, &now, (int)m->upright, &m->told);
}

/** Map where a path begins: begun anew, carried over, or lost. One block. */
VF_FN void vf_map_enter(const struct vf_map_view *s, const struct vf_map_graph *g)
{
    struct vf_map_state *m = g->state;
    struct vf_map_work *w = g->work;
    const struct vf_path_pose *pose = &s->keyframe->now[s->parity].pose;
    const int begins = !s->ingest->params.frame || m->path != pose->path, over = begins && vf_map_goes_over(s),
              anew = begins && !over && m->count < VF_MAP_LEAST && !m->loaded;
    VF_ITEM_SYNC();
    VF_PARTS(i, anew ? VFRONT_KEYFRAMES : 0) m->loop[i].a = VF_NONE;
    VF_PARTS(one, 1)
    {
        w->moves = VF_MAP_MOVE_NONE;
        if (anew)
            vf_map_begin(s, m);
        else if (over)
            vf_map_go_over(s, m, w);
        else if (begins)
            m->placed = 0;
        m->path = pose->path;
        m->metric |= pose->source >= VF_PATH_METRIC;
    }
    VF_ITEM_SYNC();
    vf_map_move(g);
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/** Variances of each axis of the pose of an overlap. */
VF_FN void vf_map_loop_variance(const struct vf_overlap_found *f, double *m2, double *rad2)
{
    const float *P = f->covariance;
    *m2 = ((double)P[0] + (double)P[6] + (double)P[11]) / 3.0 + VF_MAP_LOOP_M * VF_MAP_LOOP_M;
    *rad2 = ((double)P[15] + (double)P[18] + (double)P[20]) / 3.0 + VF_MAP_LOOP_RAD * VF_MAP_LOOP_RAD;
}

/** Loop that ends in the last keyframe, if there is one, by candidate c. T: pose of the frame in axes of that one. */
VF_FN void vf_map_loop_of(const struct vf_map_view *s, int c, const struct vf_map_pose *T, struct vf_map_loop *l)
{
    const struct vf_keyframe_now *now = &s->keyframe->now[s->parity];
    const struct vf_overlap_found *f = &s->overlap->found[c];
    struct vf_map_pose own, last, on;
    double m2, rad2, more_m2, more_rad2;
    if (!now->last.used) return;
    vf_map_own(s, s->parity, &own);
    vf_map_of_path(&now->last.pose, &last);
    vf_map_between(&own, &last, &on);
    vf_map_edge_variance(&now->last.pose, &now->pose, &m2, &rad2);
    vf_map_loop_variance(f, &more_m2, &more_rad2);
    memset(l, 0, sizeof *l);
    vf_map_compose(T, &on, &l->pose);
    l->sigma_m = (float)sqrt(m2 + more_m2);
    l->sigma_rad = (float)sqrt(rad2 + more_rad2);
    l->a = s->place->candidate[c];
    l->inliers = f->inliers;
}

/** Keeps a loop that ends in the last keyframe, unless it has one that is an edge or has more inliers. */
VF_FN void vf_map_keep(const struct vf_map_view *s, struct vf_map_state *m, const struct vf_map_loop *came)
{
    const struct vf_keyframe_now *now = &s->keyframe->now[s->parity];
    struct vf_map_loop *l = &m->loop[now->slot % VFRONT_KEYFRAMES];
    if (!now->last.used || !vf_path_placed(&now->last.pose, &now->pose) || came->a == now->slot) return;
    if (l->a != VF_NONE && (l->active || l->inliers >= came->inliers)) return;
    *l = *came;
}

/** Place of a path, by a loop between one that is placed and one that is not. By one thread. */
VF_FN void vf_map_find(const struct vf_map_view *s, const struct vf_map_graph *g, uint32_t a, int c,
                       const struct vf_map_pose *T)
{
    static const double none[3] = {0.0, 0.0, 0.0};
    struct vf_map_state *m = g->state;
    struct vf_map_work *w = g->work;
    const struct vf_path_pose *other = vf_map_path_of(g, a), *pose = &s->keyframe->now[s->parity].pose;
    struct vf_map_pose own, there, theirs;
    double loop_m2, loop_rad2;
    vf_map_own(s, s->parity, &own);
    vf_map_of_path(other, &theirs);
    vf_map_loop_variance(&s->overlap->found[c], &loop_m2, &loop_rad2);
    loop_m2 += vf_map_lever_m2(T->p, none, m->placed ? m->variance_rad2 : (double)m->node_rad2[a]);
    w->moves = VF_MAP_MOVE_PATH;
    w->known = m->placed ? *other : *pose;
    w->known_m2 = (m->placed ? m->variance_m2 : (double)m->node_m2[a]) + loop_m2;
    w->known_rad2 = (m->placed ? m->variance_rad2 : (double)m->node_rad2[a]) + loop_rad2;
    if (m->placed) { /* the keyframe's */
        vf_map_compose(&m->work, &own, &there);
        vf_map_inverse(T, &w->move);
        vf_map_compose(&there, &w->move, &there);
        vf_map_frame_of(&there, &theirs, m->upright && other->source == VF_PATH_NAV, &w->move);
        w->moved_path = other->path;
        return;
    }
    vf_map_compose(&m->node[a], T, &there);
    vf_map_frame_of(&there, &own, m->upright && pose->source == VF_PATH_NAV, &m->work);
    w->move = m->told = m->work;
    w->moved_path = pose->path;
    m->placed = 1;
    m->counter++;
    m->variance_m2 = m->told_m2 = w->known_m2;
    m->variance_rad2 = m->told_rad2 = w->known_rad2;
}

/** 1 if loop i of the step counts: it is accepted, and its keyframe is still there. */
VF_FN int vf_map_counts(const struct vf_map_view *s, int i)
{
    return s->loop->loop[i].state == VFRONT_LOOP_ACCEPTED &&
           !vf_keyframe_gone(s->keyframe, s->parity, s->place->candidate[s->loop->from[i]]);
}

/** Loops of the step: one block. */
VF_FN void vf_map_take(const struct vf_map_view *s, const struct vf_map_graph *g)
{
    struct vf_map_state *m = g->state;
    struct vf_map_work *w = g->work;
    const int count = (int)s->loop->count;
    if (!count) return;
    VF_PARTS(i, count)
    {
        const vfront_loop_t *l = &s->loop->loop[i];
        const int c = (int)s->loop->from[i];
        w->is_node[i] = 0;
        if (!vf_map_counts(s, i) || l->kind != VFRONT_LOOP_METRIC) continue;
        vf_map_of_motion(l->R, l->t, &w->motion[i]);
        vf_map_loop_of(s, c, &w->motion[i], &w->came[i]);
    }
    VF_ITEM_SYNC();
    VF_PARTS(n, (int)m->count)
    for (int i = 0; i < count; i++)
        if (m->order[n] == s->place->candidate[s->loop->from[i]]) w->is_node[i] = 1;
    VF_ITEM_SYNC();
    VF_NO_UNROLL
    for (int i = 0; i < count; i++) {
        const int c = (int)s->loop->from[i];
        const uint32_t a = s->place->candidate[c];
        if (!vf_map_counts(s, i)) continue;
        VF_PARTS(one, 1) m->seen[a] = m->made;
        if (s->loop->loop[i].kind != VFRONT_LOOP_METRIC || !w->is_node[i]) continue;
        VF_PARTS(one, 1)
        {
            w->moves = VF_MAP_MOVE_NONE;
            if (m->placed != m->placed_node[a]) vf_map_find(s, g, a, c, &w->motion[i]);
            vf_map_keep(s, m, &w->came[i]);
        }
        VF_ITEM_SYNC();
        vf_map_move(g);
    }
}

/* ---- turns ------------------------------------------------------------------------------------------------------- */

/** T_map_odom of the result from the graph, at the end of a turn. */
VF_FN void vf_map_tell(const struct vf_map_view *s, struct vf_map_state *m)
{
    struct vf_map_pose own, was, is;
    double q[4], turn[3], moved = 0.0;
    if (!m->placed) return;
    vf_map_own(s, s->parity, &own);
    vf_map_compose(&m->told, &own, &was);
    vf_map_compose(&m->work, &own, &is);
    const double back[4] = {was.q[0], -was.q[1], -was.q[2], -was.q[3]};
    vf_quaternion_multiply(is.q, back, q);
    vf_map_logarithm(q, turn);
    for (int k = 0; k < 3; k++) moved += (is.p[k] - was.p[k]) * (is.p[k] - was.p[k]);
    const double turned = (turn[0] * turn[0] + turn[1] * turn[1]) + turn[2] * turn[2];
    m->counter += moved > 27.0 * m->told_m2 + 1e-4 || turned > 27.0 * m->told_rad2 + 1e-6;
    m->told = m->work;
    m->told_m2 = m->variance_m2;
    m->told_rad2 = m->variance_rad2;
}

/** New loops become edges: one block. */
VF_FN void vf_map_admit(const struct vf_map_graph *g)
{
    struct vf_map_state *m = g->state;
    struct vf_map_work *w = g->work;
    VF_PARTS(one, 1) w->held = w->fresh = 0;
    VF_ITEM_SYNC();
    VF_PARTS(i, (int)m->count)
    {
        struct vf_map_loop *l = &m->loop[m->order[i]];
        if (l->a == VF_NONE) continue;
        vf_place_add(&w->held, 1);
        vf_place_add(&w->fresh, !l->active);
        l->active = 1;
    }
    VF_ITEM_SYNC();
    VF_PARTS(one, 1)
    {
        m->loops = w->held;
        if (w->fresh) m->scale = VF_MAP_SCALE;
    }
}

/** T_map_odom as the graph has it, by the last keyframe of the path of the frame before, and how well that is known. */
VF_FN void vf_map_follow(const struct vf_map_graph *g)
{
    struct vf_map_state *m = g->state;
    struct vf_map_pose own;
    if (!g->work->loops || !m->count) return;
    const uint32_t slot = m->order[m->count - 1];
    const struct vf_path_pose *last = vf_map_path_of(g, slot);
    if (last->path != m->path) return;
    if (m->placed) m->variance_m2 = (double)m->node_m2[slot], m->variance_rad2 = (double)m->node_rad2[slot];
    vf_map_of_path(last, &own);
    vf_map_frame_of(&m->node[slot], &own, m->upright && last->source == VF_PATH_NAV, &m->work);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/** State of the frame before; in the first frame what was loaded (core/map.c), if anything was. One block. */
VF_FN void vf_map_carry(const struct vf_map_view *s, struct vf_map_state *m)
{
    const uint64_t frame = s->ingest->params.frame;
    const vf_long_word *from = (const vf_long_word *)&s->map->state[s->parity ^ 1];
    VF_PARTS(i, (int)(sizeof *m / 8))((vf_long_word *)m)[i] = frame || s->ingest->params.map_given ? from[i] : 0;
    VF_ITEM_SYNC();
    if (frame) return;
    VF_PARTS(i, VFRONT_KEYFRAMES)
    if (!m->loaded || i >= (int)s->keyframe->now[s->parity ^ 1].count) m->loop[i].a = VF_NONE;
    VF_PARTS(one, 1)
    {
        vf_map_clear(m);
        m->metric = m->loaded;
        m->counter = 0;
        m->path = VF_NONE;
    }
    VF_ITEM_SYNC();
}

/** The graph goes one step on from where the frame before left it: one block. Of this frame it needs the parameters
 *  alone, and reads nothing else that its stages write. */
VF_FN void vf_map_solve(const struct vf_map_view *s)
{
    const struct vf_map_graph g = vf_map_graph_of(s);
    struct vf_map_state *m = g.state;
    vf_map_carry(s, m);
    vf_map_optimise(&g);
    vf_map_spread(&g);
    VF_PARTS(one, 1)
    {
        m->scale = m->scale > VF_MAP_SCALE_FALL ? m->scale / VF_MAP_SCALE_FALL : 1.0;
        vf_map_follow(&g);
    }
}

/** What this frame brings, and T_map_odom of its result: one block, behind vf_map_solve(). */
VF_FN void vf_map_bend(const struct vf_map_view *s)
{
    const struct vf_map_graph g = vf_map_graph_of(s);
    vf_map_enter(s, &g);
    vf_map_remove(s, &g);
    vf_map_take(s, &g);
    if (s->ingest->params.frame % VF_MAP_TURN == 0) {
        VF_PARTS(one, 1) vf_map_tell(s, g.state);
        vf_map_admit(&g);
    }
    VF_PARTS(one, 1) vf_map_append(s, &g);
}

#endif

#endif
