/* SPDX-License-Identifier: MIT */
/* map: pose graph over the keyframes of the ring, and T_map_odom.
 *
 * In      pose of the frame in its motion chain, the keyframe ring and this frame's keyframe (keyframe); loops of this
 *         frame (loop) with relative poses (relpose) and candidates (recall); motion of the frame (ego); whether the
 *         inertial estimator knows gravity (vio)
 * Out     map data, by parity (map_data.h); T_map_odom of the result
 * Rule    - nodes: keyframes. Edges: motions between successive keyframes of a chain, and accepted loops, at most one
 *           per keyframe
 *         - each frame makes one Gauss-Newton step over the whole graph (map_graph.h), so that the time per frame is
 *           constant. The step is the longest part of the stage. It reads only data of the previous frame, so it starts
 *           when this frame starts
 *         - then this frame's changes follow: a new chain, an eviction, loops, the end of a period, the new keyframe as
 *           a node
 *         - period: VF_MAP_PERIOD frames. At its end T_map_odom takes the graph's latest value, and the loops of the
 *           period become edges. A loop therefore reaches the result after VF_MAP_PERIOD to 2 VF_MAP_PERIOD frames, on
 *           any machine
 *         - map axes: those of the first chain. Once the inertial estimator knows gravity, the map has the estimator's
 *           axes, z up, and only yaw and position are corrected
 *         - new chain: its pose in the map is known if metric motion joins it to the previous chain. Otherwise
 *           T_map_odom keeps its value until a loop with a placed keyframe is accepted. That loop places the chain and
 *           its keyframes. Instead, a map of fewer than VF_MAP_MIN_KEYFRAMES keyframes is discarded when an unconnected
 *           chain begins, unless it was loaded
 *         - eviction: the loops of an evicted keyframe move to its neighbour in the chain. The relative pose of the two
 *           keyframes is that in the graph: by their relative pose in the chain the map would rotate with the odometry
 *           drift
 *         - priors: if the evicted keyframe's position in the map has at most the variance of the motion to its
 *           neighbour, its loops become priors of the keyframes at their other ends. The first node, fixed until then,
 *           gets a prior as well. Without priors, repeated evictions would replace known poses by ever longer odometry
 *         - variances: that of a node is the smallest over all paths of edges from the first node. Each frame extends
 *           the paths by one edge. Along an edge, attitude variance times squared length adds to position variance
 * Exact   double precision in one order
 * Shared  all arithmetic: vf_map_solve(), early, and vf_map_update() are one launch of one block each
 * Memory  143 bytes a keyframe in two copies; buffers of 568 bytes a keyframe
 */
#ifndef VF_MAP_STAGE_H
#define VF_MAP_STAGE_H

#include "map_graph.h"

/** Length of a period [frames]. At its end T_map_odom is reported and new loops become edges. */
#define VF_MAP_PERIOD 24
/** Factor on the chi^2 bound of loops, VF_MAP_BOUND, in the frame in which loops become edges. */
#define VF_MAP_SCALE 800.0
/** Divisor by which the factor on the chi^2 bound of loops falls in each frame, until it is 1. */
#define VF_MAP_SCALE_DECAY 1.4
VF_STATIC_ASSERT(VF_KEYFRAME_RECENT_FRAMES >= 2 * VF_MAP_PERIOD, "vfront: keyframes stay until their loops are edges");

/** Least number of keyframes of a map that is kept, not restarted, when a chain begins without a metric motion to the
 *  previous chain. */
#define VF_MAP_MIN_KEYFRAMES 4

/** Standard deviation added to the translation of a loop, each axis [m]: lens and shutter errors that all points
 *  share. */
#define VF_MAP_LOOP_M 0.02
/** Standard deviation added to the rotation of a loop, each axis [rad]: lens and shutter errors that all points
 *  share. */
#define VF_MAP_LOOP_RAD 0.005

/* View of stage map: the data it may access (base/view.h). */
/* clang-format off */
#define VF_READS_map(X) X(ingest) X(vio) X(recall) X(relpose) X(ego) X(keyframe) X(loop)
#define VF_BEFORE_map(X)
#define VF_GEOMETRY_map(X) X(active)
#define VF_TUNING_map(X)
/* clang-format on */
VF_GEOMETRY_OF(map);
struct vf_map_view {
    VF_VIEW(map);
};
VF_HOST_FORM(map);

/** Fills the map part of the result; all 0 if stage map is not active. active: set of active stages. */
VF_FN void vf_map_result(const struct vf_map_memory *m, const struct vf_keyframe_memory *k, uint32_t active,
                         int32_t parity, vfront_map_t *out)
{
    (void)m, (void)k, (void)active, (void)parity;
    memset(out, 0, sizeof *out);
#if VFRONT_MAP
    if (!(active & VF_BIT(map))) return;
    const struct vf_map_data *s = &m->data[parity];
    const struct vf_chain_pose *pose = &k->now[parity].pose;
    memcpy(out->position_m, pose->position_m, sizeof out->position_m);
    memcpy(out->q_odom_cam, pose->q_chain_cam, sizeof out->q_odom_cam);
    memcpy(out->t_map_odom_m, s->output.p, sizeof out->t_map_odom_m);
    memcpy(out->q_map_odom, s->output.q, sizeof out->q_map_odom);
    out->state = !s->metric || !(active & VF_BIT(stereo)) ? VFRONT_MAP_NO_SCALE
                 : s->placed                              ? VFRONT_MAP_GOOD
                                                          : VFRONT_MAP_LOST;
    out->counter = s->counter;
    out->nodes = s->count;
    out->loops = s->loops;
    if (out->state != VFRONT_MAP_GOOD) return;
    out->sigma_m = sqrt(s->output_m2);
    out->sigma_rad = sqrt(s->output_rad2);
#endif
}

#if VFRONT_MAP

VF_FN struct vf_map_graph vf_map_graph_of(const struct vf_map_view *s)
{
    const struct vf_keyframe_now *before = &s->keyframe->now[s->parity ^ 1];
    const struct vf_map_graph g = {s->keyframe->ring, &s->map->data[s->parity], &s->map->work,
                                   s->ingest->params.frame && before->due ? before : NULL};
    return g;
}

/** Pose of a frame in its motion chain. parity: s->parity for this frame, s->parity ^ 1 for the previous frame. */
VF_FN void vf_map_frame_pose(const struct vf_map_view *s, int32_t parity, struct vf_map_pose *out)
{
    vf_map_from_chain(&s->keyframe->now[parity].pose, out);
}

/** Inverse of the motion p_now = R p_before + t: transform from axes of the current frame to axes of the earlier
 *  frame. */
VF_FN void vf_map_from_motion(const float R[9], const float t[3], struct vf_map_pose *out)
{
    struct vf_chain_pose none, to;
    memset(&none, 0, sizeof none);
    none.q_chain_cam[0] = 1.0;
    to = none;
    vf_chain_compose(&none, R, t, &to);
    vf_map_from_chain(&to, out);
}

/** Keyframes that vf_map_move() moves: none, all, or those of one motion chain. */
enum { VF_MAP_MOVE_NONE, VF_MAP_MOVE_ALL, VF_MAP_MOVE_CHAIN };

/** Marks a keyframe as having a pose in the map, and sets the variances of this pose. A loop has just placed the
 *  keyframe's chain. own: pose of the keyframe in the chain. */
VF_FN void vf_map_position_keyframe(struct vf_map_data *m, const struct vf_map_work *w, uint32_t slot,
                                    const struct vf_chain_pose *own)
{
    const int later = own->length_m > w->known.length_m;
    double m2, rad2;
    vf_map_edge_variance(later ? &w->known : own, later ? own : &w->known, &m2, &rad2);
    m->placed_node[slot] = 1;
    if (m->loop[slot].a == VF_MAP_FRAME) m->loop[slot].a = VF_NONE;
    m->node_m2[slot] = (float)(w->known_m2 + m2 + vf_map_lever_m2(own->position_m, w->known.position_m, w->known_rad2));
    m->node_rad2[slot] = (float)(w->known_rad2 + rad2);
}

/** Moves keyframe poses in the map by the transform work.move: those of all keyframes, or those of a chain that a loop
 *  has just placed. Run by one block. */
VF_FN void vf_map_move(const struct vf_map_graph *g)
{
    struct vf_map_data *m = g->data;
    const struct vf_map_work *w = g->work;
    VF_PARTS(i, w->move_kind == VF_MAP_MOVE_NONE ? 0 : (int)m->count)
    {
        const uint32_t slot = m->order[i];
        const struct vf_chain_pose *own = vf_map_chain_pose(g, slot);
        struct vf_map_pose pose;
        if (w->move_kind == VF_MAP_MOVE_CHAIN && own->chain != w->moved_chain) continue;
        if (w->move_kind == VF_MAP_MOVE_CHAIN) {
            vf_map_from_chain(own, &pose);
            vf_map_position_keyframe(m, w, slot, own);
        } else {
            struct vf_map_loop *l = &m->loop[slot];
            if (l->a == VF_MAP_FRAME) vf_map_compose(&w->move, &l->pose, &l->pose);
            pose = m->node[slot];
        }
        vf_map_compose(&w->move, &pose, &m->node[slot]);
    }
    VF_ITEM_SYNC();
}

/* ---- keyframes added and evicted --------------------------------------------------------------------------------- */

/** Adds a node to the graph for this frame's keyframe, if the frame is one. The next frame writes the keyframe into the
 *  ring. Run by one thread. */
VF_FN void vf_map_append(const struct vf_map_view *s, const struct vf_map_graph *g)
{
    struct vf_map_data *m = g->data;
    const struct vf_keyframe_now *now = &s->keyframe->now[s->parity];
    const struct vf_chain_pose *own = &now->last.pose;
    struct vf_map_pose pose;
    double more_m2 = 0.0, more_rad2 = 0.0;
    if (!now->due) return;
    const uint32_t slot = now->slot;
    const struct vf_chain_pose *last = m->count ? vf_map_chain_pose(g, m->order[m->count - 1]) : NULL;
    if (last && vf_chain_position_known(last, own)) {
        vf_map_edge_variance(last, own, &more_m2, &more_rad2);
        more_m2 += vf_map_lever_m2(own->position_m, last->position_m, m->variance_rad2);
    }
    vf_map_from_chain(own, &pose);
    vf_map_compose(&m->work, &pose, &m->node[slot]);
    m->node_m2[slot] = (float)(m->variance_m2 + more_m2);
    m->node_rad2[slot] = (float)(m->variance_rad2 + more_rad2);
    m->variance_m2 = vf_rounded(&m->node_m2[slot]);
    m->variance_rad2 = vf_rounded(&m->node_rad2[slot]);
    m->placed_node[slot] = (uint8_t)m->placed;
    m->seen[slot] = ++m->made;
    m->order[m->count++] = (uint16_t)slot;
}

/** Ring slot of the neighbour of node `index` in its motion chain: the previous node, or else the next one. VF_NONE:
 *  neither is in this chain. */
VF_FN uint32_t vf_map_neighbour(const struct vf_map_graph *g, uint32_t index)
{
    const struct vf_map_data *m = g->data;
    const struct vf_chain_pose *own = vf_map_chain_pose(g, m->order[index]);
    if (index && vf_chain_position_known(vf_map_chain_pose(g, m->order[index - 1]), own)) return m->order[index - 1];
    if (index + 1 < m->count && vf_chain_position_known(vf_map_chain_pose(g, m->order[index + 1]), own))
        return m->order[index + 1];
    return VF_NONE;
}

/** Replaces the loop stored at keyframe i by a prior: the keyframe's current pose in the map, with the variances of
 *  this pose. */
VF_FN void vf_map_add_prior(struct vf_map_data *m, uint32_t i)
{
    struct vf_map_loop *l = &m->loop[i];
    memset(l, 0, sizeof *l);
    l->pose = m->node[i];
    l->sigma_m = (float)sqrt((double)m->node_m2[i] + VF_MAP_PRIOR_M * VF_MAP_PRIOR_M);
    l->sigma_rad = (float)sqrt((double)m->node_rad2[i] + VF_MAP_PRIOR_RAD * VF_MAP_PRIOR_RAD);
    l->a = VF_MAP_FRAME;
    l->active = 1;
}

/** 1 if the loop from the evicted keyframe `slot` to keyframe i becomes a prior of i. The loop must be an edge, and
 *  both keyframes must have a pose in the map. The evicted keyframe must have no neighbour, or a position variance of
 *  at most that of the motion to its neighbour. */
VF_FN int vf_map_becomes_prior(const struct vf_map_graph *g, uint32_t slot, uint32_t i)
{
    const struct vf_map_data *m = g->data;
    return m->loop[i].active && m->placed_node[slot] && m->placed_node[i] &&
           (g->work->neighbour == VF_NONE || (double)m->node_m2[slot] <= g->work->segment_m2);
}

/** Adds the variances of the motion from the evicted keyframe to its neighbour to a loop that moves to this
 *  neighbour. */
VF_FN void vf_map_inflate(const struct vf_map_work *w, struct vf_map_loop *l)
{
    l->sigma_m = (float)sqrt((double)l->sigma_m * (double)l->sigma_m + w->segment_m2);
    l->sigma_rad = (float)sqrt((double)l->sigma_rad * (double)l->sigma_rad + w->segment_rad2);
}

/** Changes the loop from the evicted keyframe `slot` to keyframe i, if there is one: it then begins at the neighbour of
 *  the evicted keyframe, or becomes a prior. If i is this neighbour, the loop is deleted. */
VF_FN void vf_map_move_loop_start(const struct vf_map_graph *g, uint32_t slot, uint32_t i)
{
    struct vf_map_loop *l = &g->data->loop[i];
    struct vf_map_pose back;
    if (l->a != slot) return;
    if (vf_map_becomes_prior(g, slot, i)) {
        vf_map_add_prior(g->data, i);
        return;
    }
    l->a = g->work->neighbour == i ? VF_NONE : g->work->neighbour;
    if (l->a == VF_NONE) return;
    vf_map_inflate(g->work, l);
    vf_map_inverse(&g->work->segment, &back);
    vf_map_compose(&back, &l->pose, &l->pose);
}

/** Moves the loop that ends in the evicted keyframe `slot` to the keyframe's neighbour. Without a neighbour, or if the
 *  neighbour stores a loop or is where the loop begins, the loop is deleted. Run by one thread, after
 *  vf_map_move_loop_start() of all keyframes. */
VF_FN void vf_map_move_loop_end(const struct vf_map_graph *g, uint32_t slot)
{
    const uint32_t neighbour = g->work->neighbour;
    struct vf_map_loop *loop = g->data->loop, *l = &loop[slot];
    if (neighbour != VF_NONE && l->a != VF_NONE && l->a != neighbour && loop[neighbour].a == VF_NONE) {
        vf_map_inflate(g->work, l);
        vf_map_compose(&l->pose, &g->work->segment, &l->pose);
        loop[neighbour] = *l;
    }
    l->a = VF_NONE;
}

/** Finds the neighbour of the evicted keyframe in its chain, and the motion from the evicted keyframe to it. Run by one
 *  thread. */
VF_FN void vf_map_find_neighbour(const struct vf_map_graph *g, uint32_t slot)
{
    struct vf_map_work *w = g->work;
    w->neighbour = vf_map_neighbour(g, w->index);
    if (w->neighbour == VF_NONE) return;
    vf_map_between(&g->data->node[slot], &g->data->node[w->neighbour], &w->segment);
    vf_map_edge_variance(vf_map_chain_pose(g, slot), vf_map_chain_pose(g, w->neighbour), &w->segment_m2,
                         &w->segment_rad2);
}

/** Adds a prior to the oldest node if any node has a prior, since the optimisation then no longer holds the oldest node
 *  fixed. Run by one block. */
VF_FN void vf_map_prior_first(const struct vf_map_graph *g)
{
    struct vf_map_data *m = g->data;
    struct vf_map_work *w = g->work;
    VF_PARTS(i, (int)m->count)
    if (m->loop[m->order[i]].a == VF_MAP_FRAME) vf_atomic_add(&w->held, 1);
    VF_ITEM_SYNC();
    VF_PARTS(one, 1)
    {
        const uint32_t first = m->order[0];
        if (w->held && m->placed_node[first] && m->loop[first].a != VF_MAP_FRAME) vf_map_add_prior(m, first);
    }
    VF_ITEM_SYNC();
}

/** Removes the evicted keyframe from the graph: the one in the ring slot that this frame's keyframe gets. Run by one
 *  block. */
VF_FN void vf_map_remove(const struct vf_map_view *s, const struct vf_map_graph *g)
{
    struct vf_map_data *m = g->data;
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
    VF_PARTS(one, 1) vf_map_find_neighbour(g, now->slot);
    VF_ITEM_SYNC();
    VF_PARTS(i, VFRONT_KEYFRAMES) vf_map_move_loop_start(g, now->slot, (uint32_t)i);
    VF_PARTS(i, (int)m->count - 1)
    if ((uint32_t)i >= w->index) m->order[i] = w->order[i + 1];
    VF_ITEM_SYNC();
    VF_PARTS(one, 1)
    {
        vf_map_move_loop_end(g, now->slot);
        m->count--;
    }
    VF_ITEM_SYNC();
    vf_map_prior_first(g);
}

/* ---- motion chains ----------------------------------------------------------------------------------------------- */

/** 1 if the z axis of this frame's motion chain points up. This is so if the chain consists of poses of the inertial
 *  estimator, and the estimator knows the direction of gravity. */
VF_FN uint32_t vf_map_gravity_known(const struct vf_map_view *s)
{
    const int nav = s->keyframe->now[s->parity].pose.source == VF_CHAIN_NAV;
#if VFRONT_VIO
    return nav && vf_vio_has_state(s->vio, s->geometry.active) &&
           !(vf_vio_state_of(s->vio)->flags & VFRONT_NAV_NO_GRAVITY);
#else
    return (uint32_t)(nav * 0);
#endif
}

/** 1 if a good metric motion joins the motion chain of this frame to that of the previous frame. */
VF_FN int vf_map_chains_connect(const struct vf_map_view *s)
{
    return s->ingest->params.frame && s->keyframe->now[s->parity ^ 1].pose.source >= VF_CHAIN_METRIC &&
           s->keyframe->now[s->parity].pose.source >= VF_CHAIN_METRIC &&
           vf_ego_states(s->ego, s->geometry.active).metric == VFRONT_MOTION_GOOD;
}

/** Sets T_map_odom to the identity, and its variances and the number of loops to 0. */
VF_FN void vf_map_clear(struct vf_map_data *m)
{
    vf_map_identity(&m->work);
    m->output = m->work;
    m->loops = 0;
    m->variance_m2 = m->variance_rad2 = m->output_m2 = m->output_rad2 = 0.0;
}

/** Begins a new map without keyframes, in axes of this frame's chain. */
VF_FN void vf_map_begin(const struct vf_map_view *s, struct vf_map_data *m)
{
    vf_map_clear(m);
    m->placed = 1;
    m->upright = vf_map_gravity_known(s);
    m->count = 0;
}

/** Computes T_map_odom for this frame's new chain, which metric motion joins to the previous chain. If z of the new
 *  chain is up and z of the map is not, the map takes the axes of the new chain: all keyframes move. */
VF_FN void vf_map_connect_chain(const struct vf_map_view *s, struct vf_map_data *m, struct vf_map_work *w)
{
    struct vf_map_pose before, moved, now, work, output;
    const vfront_motion_t *motion = &s->ego->metric;
    vf_map_frame_pose(s, s->parity ^ 1, &before);
    vf_map_frame_pose(s, s->parity, &now);
    vf_map_from_motion(motion->R, motion->t, &moved);
    vf_map_compose(&before, &moved, &moved);
    if (s->keyframe->now[s->parity].pose.source != VF_CHAIN_NAV)
        return; /* T_map_odom stays: the axes are those of the previous chain */
    vf_map_compose(&m->work, &moved, &work);
    vf_map_compose(&m->output, &moved, &output);
    if (vf_map_gravity_known(s) && !m->upright && m->placed) {
        vf_map_align(&now, &work, 0, &w->move);
        w->move_kind = VF_MAP_MOVE_ALL;
        vf_map_identity(&m->work);
        m->output = m->work;
        m->upright = 1;
        return;
    }
    vf_map_align(&work, &now, (int)m->upright, &m->work);
    vf_map_align(&output, &now, (int)m->upright, &m->output);
}

/** Handles the first frame of a motion chain in one of three ways: begins a new map, keeps the pose in the map through
 *  metric motion, or marks the pose as unknown. Run by one block. */
VF_FN void vf_map_start_chain(const struct vf_map_view *s, const struct vf_map_graph *g)
{
    struct vf_map_data *m = g->data;
    struct vf_map_work *w = g->work;
    const struct vf_chain_pose *pose = &s->keyframe->now[s->parity].pose;
    const int begins = !s->ingest->params.frame || m->chain != pose->chain, over = begins && vf_map_chains_connect(s),
              anew = begins && !over && m->count < VF_MAP_MIN_KEYFRAMES && !m->loaded;
    VF_ITEM_SYNC();
    VF_PARTS(i, anew ? VFRONT_KEYFRAMES : 0) m->loop[i].a = VF_NONE;
    VF_PARTS(one, 1)
    {
        w->move_kind = VF_MAP_MOVE_NONE;
        if (anew)
            vf_map_begin(s, m);
        else if (over)
            vf_map_connect_chain(s, m, w);
        else if (begins)
            m->placed = 0;
        m->chain = pose->chain;
        m->metric |= pose->source >= VF_CHAIN_METRIC;
    }
    VF_ITEM_SYNC();
    vf_map_move(g);
}

/* ---- loops ------------------------------------------------------------------------------------------------------- */

/** Variances of a loop's relative pose, each axis: translation [m^2], rotation [rad^2]. */
VF_FN void vf_map_loop_variance(const struct vf_relpose_estimate *f, double *m2, double *rad2)
{
    const float *P = f->covariance;
    *m2 = ((double)P[0] + (double)P[6] + (double)P[11]) / 3.0 + VF_MAP_LOOP_M * VF_MAP_LOOP_M;
    *rad2 = ((double)P[15] + (double)P[18] + (double)P[20]) / 3.0 + VF_MAP_LOOP_RAD * VF_MAP_LOOP_RAD;
}

/** Makes the loop from the keyframe of candidate c to the last keyframe of this frame's chain. Without a last keyframe,
 *  *l is not written. T: pose of this frame in axes of the candidate. */
VF_FN void vf_map_make_loop(const struct vf_map_view *s, int c, const struct vf_map_pose *T, struct vf_map_loop *l)
{
    const struct vf_keyframe_now *now = &s->keyframe->now[s->parity];
    const struct vf_relpose_estimate *f = &s->relpose->found[c];
    struct vf_map_pose own, last, on;
    double m2, rad2, more_m2, more_rad2;
    if (!now->last.used) return;
    vf_map_frame_pose(s, s->parity, &own);
    vf_map_from_chain(&now->last.pose, &last);
    vf_map_between(&own, &last, &on);
    vf_map_edge_variance(&now->last.pose, &now->pose, &m2, &rad2);
    vf_map_loop_variance(f, &more_m2, &more_rad2);
    memset(l, 0, sizeof *l);
    vf_map_compose(T, &on, &l->pose);
    l->sigma_m = (float)sqrt(m2 + more_m2);
    l->sigma_rad = (float)sqrt(rad2 + more_rad2);
    l->a = s->recall->candidate[c];
    l->inliers = f->inliers;
}

/** Stores a loop at the last keyframe. A loop that the keyframe already has stays if it is an edge or has at least as
 *  many inliers. */
VF_FN void vf_map_keep_loop(const struct vf_map_view *s, struct vf_map_data *m, const struct vf_map_loop *incoming)
{
    const struct vf_keyframe_now *now = &s->keyframe->now[s->parity];
    struct vf_map_loop *l = &m->loop[now->slot % VFRONT_KEYFRAMES];
    if (!now->last.used || !vf_chain_position_known(&now->last.pose, &now->pose) || incoming->a == now->slot) return;
    if (l->a != VF_NONE && (l->active || l->inliers >= incoming->inliers)) return;
    *l = *incoming;
}

/** Computes the pose of a motion chain in the map by a loop between this frame and candidate c. Exactly one of the two
 *  has a known pose in the map; the chain of the other is placed. a: ring slot of the candidate. T: pose of this frame
 *  in axes of the candidate. Run by one thread. */
VF_FN void vf_map_localize_chain(const struct vf_map_view *s, const struct vf_map_graph *g, uint32_t a, int c,
                                 const struct vf_map_pose *T)
{
    static const double none[3] = {0.0, 0.0, 0.0};
    struct vf_map_data *m = g->data;
    struct vf_map_work *w = g->work;
    const struct vf_chain_pose *other = vf_map_chain_pose(g, a), *pose = &s->keyframe->now[s->parity].pose;
    struct vf_map_pose own, there, theirs;
    double loop_m2, loop_rad2;
    vf_map_frame_pose(s, s->parity, &own);
    vf_map_from_chain(other, &theirs);
    vf_map_loop_variance(&s->relpose->found[c], &loop_m2, &loop_rad2);
    loop_m2 += vf_map_lever_m2(T->p, none, m->placed ? m->variance_rad2 : (double)m->node_rad2[a]);
    w->move_kind = VF_MAP_MOVE_CHAIN;
    w->known = m->placed ? *other : *pose;
    w->known_m2 = (m->placed ? m->variance_m2 : (double)m->node_m2[a]) + loop_m2;
    w->known_rad2 = (m->placed ? m->variance_rad2 : (double)m->node_rad2[a]) + loop_rad2;
    if (m->placed) { /* this frame's pose in the map is known, so the loop places the candidate's chain */
        vf_map_compose(&m->work, &own, &there);
        vf_map_inverse(T, &w->move);
        vf_map_compose(&there, &w->move, &there);
        vf_map_align(&there, &theirs, m->upright && other->source == VF_CHAIN_NAV, &w->move);
        w->moved_chain = other->chain;
        return;
    }
    vf_map_compose(&m->node[a], T, &there);
    vf_map_align(&there, &own, m->upright && pose->source == VF_CHAIN_NAV, &m->work);
    w->move = m->output = m->work;
    w->moved_chain = pose->chain;
    m->placed = 1;
    m->counter++;
    m->variance_m2 = m->output_m2 = w->known_m2;
    m->variance_rad2 = m->output_rad2 = w->known_rad2;
}

/** 1 if loop i of this frame is accepted and the ring still holds its keyframe. */
VF_FN int vf_map_loop_usable(const struct vf_map_view *s, int i)
{
    return s->loop->loop[i].state == VFRONT_LOOP_ACCEPTED &&
           !vf_keyframe_replaced(s->keyframe, s->parity, s->recall->candidate[s->loop->from[i]]);
}

/** Handles the accepted loops of this frame: marks their keyframes as confirmed, stores metric loops, and places chains
 *  whose pose in the map is unknown. Run by one block. */
VF_FN void vf_map_add_loops(const struct vf_map_view *s, const struct vf_map_graph *g)
{
    struct vf_map_data *m = g->data;
    struct vf_map_work *w = g->work;
    const int count = (int)s->loop->count;
    if (!count) return;
    VF_PARTS(i, count)
    {
        const vfront_loop_t *l = &s->loop->loop[i];
        const int c = (int)s->loop->from[i];
        w->is_node[i] = 0;
        if (!vf_map_loop_usable(s, i) || l->kind != VFRONT_LOOP_METRIC) continue;
        vf_map_from_motion(l->R, l->t, &w->motion[i]);
        vf_map_make_loop(s, c, &w->motion[i], &w->incoming[i]);
    }
    VF_ITEM_SYNC();
    VF_PARTS(n, (int)m->count)
    for (int i = 0; i < count; i++)
        if (m->order[n] == s->recall->candidate[s->loop->from[i]]) w->is_node[i] = 1;
    VF_ITEM_SYNC();
    VF_NO_UNROLL
    for (int i = 0; i < count; i++) {
        const int c = (int)s->loop->from[i];
        const uint32_t a = s->recall->candidate[c];
        if (!vf_map_loop_usable(s, i)) continue;
        VF_PARTS(one, 1) m->seen[a] = m->made;
        if (s->loop->loop[i].kind != VFRONT_LOOP_METRIC || !w->is_node[i]) continue;
        VF_PARTS(one, 1)
        {
            w->move_kind = VF_MAP_MOVE_NONE;
            if (m->placed != m->placed_node[a]) vf_map_localize_chain(s, g, a, c, &w->motion[i]);
            vf_map_keep_loop(s, m, &w->incoming[i]);
        }
        VF_ITEM_SYNC();
        vf_map_move(g);
    }
}

/* ---- periods ----------------------------------------------------------------------------------------------------- */

/** Makes the graph's latest T_map_odom the reported one, at the end of a period. Counts a jump if this changes the
 *  frame's pose in the map by more than 3 standard deviations. */
VF_FN void vf_map_output(const struct vf_map_view *s, struct vf_map_data *m)
{
    struct vf_map_pose own, was, is;
    double q[4], turn[3], moved = 0.0;
    if (!m->placed) return;
    vf_map_frame_pose(s, s->parity, &own);
    vf_map_compose(&m->output, &own, &was);
    vf_map_compose(&m->work, &own, &is);
    const double back[4] = {was.q[0], -was.q[1], -was.q[2], -was.q[3]};
    vf_quaternion_multiply(is.q, back, q);
    vf_map_logarithm(q, turn);
    for (int k = 0; k < 3; k++) moved += (is.p[k] - was.p[k]) * (is.p[k] - was.p[k]);
    const double turned = (turn[0] * turn[0] + turn[1] * turn[1]) + turn[2] * turn[2];
    m->counter += moved > 27.0 * m->output_m2 + 1e-4 || turned > 27.0 * m->output_rad2 + 1e-6;
    m->output = m->work;
    m->output_m2 = m->variance_m2;
    m->output_rad2 = m->variance_rad2;
}

/** Makes all stored loops edges of the graph, at the end of a period. Run by one block. */
VF_FN void vf_map_activate_loops(const struct vf_map_graph *g)
{
    struct vf_map_data *m = g->data;
    struct vf_map_work *w = g->work;
    VF_PARTS(one, 1) w->held = w->added = 0;
    VF_ITEM_SYNC();
    VF_PARTS(i, (int)m->count)
    {
        struct vf_map_loop *l = &m->loop[m->order[i]];
        if (l->a == VF_NONE) continue;
        vf_atomic_add(&w->held, 1);
        vf_atomic_add(&w->added, !l->active);
        l->active = 1;
    }
    VF_ITEM_SYNC();
    VF_PARTS(one, 1)
    {
        m->loops = w->held;
        if (w->added) m->scale = VF_MAP_SCALE;
    }
}

/** Computes T_map_odom and its variances from the newest node, if this node belongs to the chain of the previous
 *  frame. */
VF_FN void vf_map_update_odom(const struct vf_map_graph *g)
{
    struct vf_map_data *m = g->data;
    struct vf_map_pose own;
    if (!g->work->loops || !m->count) return;
    const uint32_t slot = m->order[m->count - 1];
    const struct vf_chain_pose *last = vf_map_chain_pose(g, slot);
    if (last->chain != m->chain) return;
    if (m->placed) m->variance_m2 = (double)m->node_m2[slot], m->variance_rad2 = (double)m->node_rad2[slot];
    vf_map_from_chain(last, &own);
    vf_map_align(&m->node[slot], &own, m->upright && last->source == VF_CHAIN_NAV, &m->work);
}

/* ---- launches ---------------------------------------------------------------------------------------------------- */

/** Copies the map data of the previous frame into those of this frame. In the first frame: those of a loaded map
 *  (core/map.c), or zeros. Run by one block. */
VF_FN void vf_map_carry(const struct vf_map_view *s, struct vf_map_data *m)
{
    const uint64_t frame = s->ingest->params.frame;
    const vf_long_word *from = (const vf_long_word *)&s->map->data[s->parity ^ 1];
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
        m->chain = VF_NONE;
    }
    VF_ITEM_SYNC();
}

/** Optimises the graph by one Gauss-Newton step, starting from the map data of the previous frame. Of this frame it
 *  reads only the parameters, so it can run early. Run by one block. */
VF_FN void vf_map_solve(const struct vf_map_view *s)
{
    const struct vf_map_graph g = vf_map_graph_of(s);
    struct vf_map_data *m = g.data;
    vf_map_carry(s, m);
    vf_map_optimise(&g);
    vf_map_propagate_variance(&g);
    VF_PARTS(one, 1)
    {
        m->scale = m->scale > VF_MAP_SCALE_DECAY ? m->scale / VF_MAP_SCALE_DECAY : 1.0;
        vf_map_update_odom(&g);
    }
}

/** Applies this frame's chain start, eviction, loops and keyframe to the graph, and sets the reported T_map_odom. Run
 *  by one block, after vf_map_solve(). */
VF_FN void vf_map_update(const struct vf_map_view *s)
{
    const struct vf_map_graph g = vf_map_graph_of(s);
    vf_map_start_chain(s, &g);
    vf_map_remove(s, &g);
    vf_map_add_loops(s, &g);
    if (s->ingest->params.frame % VF_MAP_PERIOD == 0) {
        VF_PARTS(one, 1) vf_map_output(s, g.data);
        vf_map_activate_loops(&g);
    }
    VF_PARTS(one, 1) vf_map_append(s, &g);
}

#endif

#endif
