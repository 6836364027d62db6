/* SPDX-License-Identifier: MIT */
/* keyframe: pose of camera 0 along its path, and the ring of keyframes.
 *
 * In      motions of the step (ego), state of the IMU (window), points of this frame and of the one before (place),
 *         tracks; overlap reads the ring before this stage writes into it
 * Out     pose, last keyframe, number of keyframes, by parity; the ring
 * Rule    the pose is that of the state of the IMU; where there is none metric motions add up, and where there are none
 *         either relative ones, to an attitude. A frame that nothing connects with the one before begins a new path, in
 *         its place; so does another source.
 *         A frame becomes a keyframe when fewer than VF_KEYFRAME_SHARE of the tracks of the last keyframe are left,
 *         when it has turned by VF_KEYFRAME_TURN_RAD since, when it has moved by VF_KEYFRAME_MOVED of the distance of
 *         the points, or at the beginning of a path; with at least VF_KEYFRAME_LEAST points, VF_KEYFRAME_APART frames
 *         after the last one, and not with a frozen picture. Tracks say that the odometry goes on, but not that the
 *         place is known again by its descriptors, which were taken once: these fail from a third of the distance on,
 *         and three keyframes within that have to agree where nothing else is known (loop.h).
 *         The distance of the points is the inverse of the mean of their inverses, since the near ones change most
 *         It comes into the ring at the next step: into a free place or, where there is none, into that of another one.
 *         Places that are found again stay, so that the map does not drift with what replaces them. Of two keyframes
 *         of one place the one stays that an accepted loop found while the last VF_KEYFRAME_LAPSE keyframes came; of
 *         two that were found the older one, of two that were not the younger one. The one makes room around which
 *         those that stay longer are densest: the greatest sum over them of 1 / (d^2 + 1/4), with their distance d [m],
 *         to which a turn adds as points a metre away move; distances are those in the map, among keyframes of all
 *         paths, or, where a keyframe's place there is not known, in its path. Where positions are unknown, turns
 *         alone count. Keyframes of earlier paths whose place in the map is not known go before all others; those of
 *         the last VF_KEYFRAME_RECENT frames stay, so that their loops become edges of the graph (map.h). Keyframes of
 *         a map that was loaded (image.h) are older than all of this run
 * Exact   double precision in one order; densities in single
 * Cost    densities: VFRONT_KEYFRAMES^2 distances in each step
 * Shared  all: vf_keyframe_commit(), vf_keyframe_crowd(), vf_keyframe_decide() are launches. That a keyframe comes into
 *         the ring a step later makes a step that fails leave the ring as it was (result/carry.h)
 * Memory  15.8 KB a keyframe
 */
#ifndef VF_KEYFRAME_H
#define VF_KEYFRAME_H

#include "geometry/ego.h"
#include "map_state.h"
#include "overlap.h"
#include "place.h"
#include "state/window.h"

#define VF_KEYFRAME_SHARE 60           /* [%] */
#define VF_KEYFRAME_HALF_COSINE 0.9922 /* cosine of half of VF_KEYFRAME_TURN_RAD, 0.25 rad */
#define VF_KEYFRAME_MOVED 0.1          /* of the distance of the points */
#define VF_KEYFRAME_LEAST 40
#define VF_KEYFRAME_APART 3
#define VF_KEYFRAME_RECENT 48 /* frames: two turns of map.h, within which loops become edges */
#define VF_KEYFRAME_LAPSE (8 * VFRONT_KEYFRAMES)

/* View of keyframe: core/view.h. overlap: so that it is done before the ring changes. */
/* clang-format off */
#define VF_READS_keyframe(X) X(ingest) X(freeze) X(refill) X(place) X(overlap) X(window) X(ego)
#define VF_BEFORE_keyframe(X) X(map)
#define VF_GEOMETRY_keyframe(X) X(active)
#define VF_TUNING_keyframe(X)
/* clang-format on */
VF_GEOMETRY_OF(keyframe);
struct vf_keyframe_view {
    VF_VIEW(keyframe);
};
VF_HOST_FORM(keyframe);

/** 1 if a frame of a step is a keyframe that comes into the ring with the next one: what it hands on is more then. */
VF_FN int vf_keyframe_due(const struct vf_keyframe_memory *m, uint32_t active, int32_t parity)
{
    (void)m, (void)active, (void)parity;
#if VFRONT_MAP
    return (active & VF_BIT(keyframe)) && m->now[parity].due;
#else
    return 0;
#endif
}

#if VFRONT_MAP

/** 1 if the keyframe with which this frame was compared at a place of the ring has made room since: for that of the
 *  frame before, which comes into the ring behind overlap. */
VF_FN int vf_keyframe_gone(const struct vf_keyframe_memory *m, int32_t parity, uint32_t slot)
{
    const struct vf_keyframe_now *before = &m->now[parity ^ 1];
    return before->due && before->slot == slot;
}

/** Head of the keyframe that is due. */
VF_FN void vf_keyframe_head_of(const struct vf_keyframe_now *now, struct vf_keyframe *head) { *head = now->last; }

/** Keyframe of the frame before into the ring; in the first frame nothing is in it but a map that was loaded. An item a
 *  word. */
VF_FN void vf_keyframe_commit(const struct vf_keyframe_view *s)
{
    struct vf_keyframe_memory *m = s->keyframe;
    const struct vf_keyframe_now *before = &m->now[s->parity ^ 1];
    if (s->ingest->params.frame == 0) {
        const int kept = s->ingest->params.map_given ? (int)before->count : 0;
        VF_ITEMS(i, VFRONT_KEYFRAMES)
        if (i >= kept) m->ring[i].head.used = 0;
        return;
    }
    if (!before->due) return;
    struct vf_keyframe_entry *to = &m->ring[before->slot];
    const vf_word *from = (const vf_word *)&s->place->set[s->parity ^ 1];
    VF_ITEMS(i, (int)(sizeof to->set / 4) + 1)
    {
        if (i < (int)(sizeof to->set / 4))
            ((vf_word *)&to->set)[i] = from[i];
        else
            vf_keyframe_head_of(before, &to->head);
    }
}

/* ---- density ----------------------------------------------------------------------------------------------------- */

/** Share of a keyframe in the density at another one, by poses in axes that both share. */
VF_FN float vf_keyframe_share(const struct vf_path_pose *a, const struct vf_path_pose *b, int placed)
{
    const double square = placed ? vf_path_distance2(a, b) : 0.0, half = vf_path_half_cosine(a, b);
    return 1.0f / ((float)(square + 4.0 * (1.0 - half * half)) + 0.25f);
}

/** 1 if keyframe i was not found again while VF_KEYFRAME_LAPSE others came. */
VF_FN int vf_keyframe_stale(const struct vf_map_state *map, int i)
{
    return map->made - map->seen[i] > (uint32_t)VF_KEYFRAME_LAPSE;
}

/** Age of a keyframe, the greater the younger, in 37 bits: those that were loaded are older than all of this run. */
VF_FN uint64_t vf_keyframe_young(const struct vf_keyframe *k)
{
    const uint64_t most = 0xfffffffffull;
    return (k->frame & most) + (k->origin ? 0 : most + 1);
}

/** Order in which keyframes of one place make room, the greatest first, in 49 bits, no two alike: those that are stale,
 *  the oldest first; then the youngest. Two of loaded maps may be of one age; of these the first in the ring. */
VF_FN uint64_t vf_keyframe_order(const struct vf_map_state *map, const struct vf_keyframe *k, int i)
{
    const uint64_t stale = (uint64_t)vf_keyframe_stale(map, i), young = vf_keyframe_young(k), most = 0x1fffffffffull;
    return (stale << 37 | (stale ? most - young : young)) << 11 | (uint64_t)(2047 - i);
}
VF_STATIC_ASSERT(VFRONT_KEYFRAMES <= 2048, "vfront: keyframes of one age have different keys");

/** How densely keyframes that stay longer stand around keyframe i, and 1: in the map, where its place is known, of
 *  whatever path they are; else in its path. */
VF_FN float vf_keyframe_density(const struct vf_keyframe_view *s, int i)
{
    const struct vf_map_state *map = &s->map->state[s->parity ^ 1];
    const struct vf_keyframe_entry *ring = s->keyframe->ring;
    const struct vf_path_pose *own = &ring[i].head.pose;
    const uint64_t order = vf_keyframe_order(map, &ring[i].head, i);
    struct vf_path_pose mine, other;
    const int known = map->placed_node[i] != 0;
    float sum = 1.0f; /* so that it is normal */
    vf_map_to_path(&map->node[i], &mine);
    VF_NO_UNROLL
    for (int k = 0; k < VFRONT_KEYFRAMES; k++) {
        if (!ring[k].head.used || vf_keyframe_order(map, &ring[k].head, k) >= order) continue;
        if (known && map->placed_node[k]) {
            vf_map_to_path(&map->node[k], &other);
            sum += vf_keyframe_share(&mine, &other, 1);
        } else if (vf_path_turned(own, &ring[k].head.pose))
            sum += vf_keyframe_share(own, &ring[k].head.pose, vf_path_placed(own, &ring[k].head.pose));
    }
    return sum;
}

/** Order in which keyframe i makes room, the greatest first: lost ones of earlier paths, then by density, then as those
 *  of one place. The last ones stay: their loops are not edges yet. */
VF_FN uint64_t vf_keyframe_crowd_key(const struct vf_keyframe_view *s, int i, float density)
{
    const struct vf_map_state *map = &s->map->state[s->parity ^ 1];
    const struct vf_keyframe_now *before = &s->keyframe->now[s->parity ^ 1];
    const struct vf_keyframe *k = &s->keyframe->ring[i].head;
    const int recent = !k->origin && k->frame + VF_KEYFRAME_RECENT > before->last.frame,
              lost = !map->placed_node[i] && !k->origin && k->pose.path != before->pose.path;
    uint32_t bits;
    if (recent) return 1;
    memcpy(&bits, &density, sizeof bits);
    return (uint64_t)lost << 63 | (uint64_t)(bits >> 17) << 49 | vf_keyframe_order(map, k, i);
}

/** Keys of all keyframes; 0: a free place. */
VF_FN void vf_keyframe_crowd(const struct vf_keyframe_view *s)
{
    struct vf_keyframe_memory *m = s->keyframe;
    VF_ITEMS(i, VFRONT_KEYFRAMES)
    {
        const struct vf_keyframe *own = &m->ring[i].head;
        m->crowd[i] = own->used ? vf_keyframe_crowd_key(s, i, vf_keyframe_density(s, i)) : 0;
        if (i) continue;
        m->densest = 0;
        m->near_q12 = m->ranged = m->left = 0;
    }
}

/* ---- pose -------------------------------------------------------------------------------------------------------- */

/** Unit quaternion of a rotation matrix. */
VF_FN void vf_keyframe_quaternion(const float R[9], double q[4])
{
    const double trace = (double)R[0] + (double)R[4] + (double)R[8];
    int most = 0;
    for (int k = 1; k < 3; k++) most = R[4 * k] > R[4 * most] ? k : most;
    const int i = most, j = (most + 1) % 3, k = (most + 2) % 3;
    if (trace > (double)R[4 * i]) {
        q[0] = 1.0 + trace;
        q[1] = (double)R[7] - (double)R[5];
        q[2] = (double)R[2] - (double)R[6];
        q[3] = (double)R[3] - (double)R[1];
    } else {
        q[0] = (double)R[3 * k + j] - (double)R[3 * j + k];
        q[1 + i] = 1.0 + (double)R[4 * i] - (double)R[4 * j] - (double)R[4 * k];
        q[1 + j] = (double)R[3 * j + i] + (double)R[3 * i + j];
        q[1 + k] = (double)R[3 * k + i] + (double)R[3 * i + k];
    }
    vf_quaternion_unit(q);
}

/** Pose at the other end of a relative pose: p_other = R p_own + t, `own` in axes of its path. Of position and attitude
 *  alone. */
VF_FN void vf_path_go(const struct vf_path_pose *own, const float R[9], const float t[3], struct vf_path_pose *other)
{
    double step[3], turn[4], M[9], q[4];
    for (int k = 0; k < 3; k++)
        step[k] = -((double)R[k] * (double)t[0] + (double)R[3 + k] * (double)t[1] + (double)R[6 + k] * (double)t[2]);
    vf_keyframe_quaternion(R, turn);
    for (int k = 1; k < 4; k++) turn[k] = -turn[k];
    vf_quaternion_matrix(own->q_path_cam, M);
    vf_quaternion_multiply(own->q_path_cam, turn, q);
    vf_quaternion_unit(q);
    for (int k = 0; k < 3; k++)
        other->position_m[k] = own->position_m[k] + M[3 * k] * step[0] + M[3 * k + 1] * step[1] +
                               M[3 * k + 2] * step[2];
    memcpy(other->q_path_cam, q, sizeof q);
}

/** Greatest of three variances, and their sum. */
VF_FN double vf_path_most(double a, double b, double c)
{
    const double ab = a > b ? a : b;
    return ab > c ? ab : c;
}

/** Pose along motions of the frames. metric: 1, with positions. */
VF_FN void vf_keyframe_add(const vfront_motion_t *motion, int metric, struct vf_path_pose *pose)
{
    const float *P = motion->covariance, none[3] = {0.0f, 0.0f, 0.0f};
    const double square = (double)vf_dot(motion->t, motion->t);
    vf_path_go(pose, motion->R, metric ? motion->t : none, pose);
    pose->turn_variance_rad2 += vf_path_most((double)P[15], (double)P[18], (double)P[20]);
    if (!metric) return;
    pose->length_m += sqrt(square);
    /* an attitude that is off moves the steps behind it */
    pose->position_variance_m2 += (double)P[0] + (double)P[6] + (double)P[11] + square * pose->turn_variance_rad2;
}

/** Pose by a state of the IMU. Returns 0, and leaves it, if that is no state. */
VF_FN int vf_keyframe_by_nav(const struct vf_window *w, const vfront_nav_t *nav, struct vf_path_pose *pose)
{
    struct vf_path_pose to = *pose;
    double R[9], arm[3], square = 0.0, zero = 0.0;
    vf_quaternion_matrix(nav->q_odom_imu, R);
    vf_transform_double(R, w->rig.p_imu_cam_m, arm);
    vf_quaternion_multiply(nav->q_odom_imu, w->mount, to.q_path_cam);
    for (int k = 0; k < 3; k++) {
        to.position_m[k] = nav->position_m[k] + arm[k];
        const double moved = to.position_m[k] - pose->position_m[k];
        square += moved * moved;
        zero += to.position_m[k] * 0.0;
    }
    for (int k = 0; k < 4; k++) zero += to.q_path_cam[k] * 0.0;
    to.position_variance_m2 = nav->covariance[vf_nav_index(0, 0)] + nav->covariance[vf_nav_index(1, 1)] +
                              nav->covariance[vf_nav_index(2, 2)];
    to.turn_variance_rad2 = vf_path_most(nav->covariance[vf_nav_index(3, 3)], nav->covariance[vf_nav_index(4, 4)],
                                         nav->covariance[vf_nav_index(5, 5)]);
    to.length_m += sqrt(square);
    if (!(zero == 0.0 && to.position_variance_m2 >= 0.0 && to.turn_variance_rad2 >= 0.0)) return 0;
    *pose = to;
    return 1;
}

/** Pose of this frame, from that of the one before. By one thread. */
VF_FN void vf_keyframe_follow(const struct vf_keyframe_view *s, struct vf_path_pose *pose)
{
    const uint32_t was = pose->source, active = s->geometry.active;
    const struct vf_motion_states states = vf_ego_states(s->ego, active);
    int begins = 0;
    pose->source = VF_PATH_NONE;
#if VFRONT_WINDOW
    if (vf_window_stated(s->window, active)) {
        const struct vf_window *w = &s->window->window[s->parity];
        begins = s->window->given.command == VF_WINDOW_BEGIN;
        if (vf_keyframe_by_nav(w, &s->window->nav, pose)) pose->source = VF_PATH_NAV;
    }
#endif
    if (pose->source == VF_PATH_NONE && states.metric == VFRONT_MOTION_GOOD) {
        vf_keyframe_add(&s->ego->metric, 1, pose);
        pose->source = VF_PATH_METRIC;
    } else if (pose->source == VF_PATH_NONE &&
               (states.relative == VFRONT_MOTION_GOOD || states.relative == VFRONT_MOTION_ROTATION)) {
        vf_keyframe_add(&s->ego->relative, 0, pose);
        pose->source = VF_PATH_TURNS;
    }
    const int goes_on = pose->source != VF_PATH_NONE && (pose->source == was || was == VF_PATH_NONE),
              by_nav = pose->source == VF_PATH_NAV && was != VF_PATH_NAV; /* in axes of its own */
    if (goes_on && !by_nav && !begins) return;
    pose->path++;
    pose->length_m = 0.0;
    if (pose->source != VF_PATH_NAV) pose->position_variance_m2 = pose->turn_variance_rad2 = 0.0;
}

/* ---- decision ---------------------------------------------------------------------------------------------------- */

/** Least distance of a point that counts [m]. */
#define VF_KEYFRAME_NEAREST_M 0.1f

/** Inverse distance of a point of the frame, into the sum of all. */
VF_FN void vf_keyframe_add_near(struct vf_keyframe_memory *m, const struct vf_place_point *p)
{
    if (!(p->range_m >= VF_KEYFRAME_NEAREST_M)) return;
    vf_place_add(&m->near_q12, (uint32_t)vf_round(4096.0f / p->range_m));
    vf_place_add(&m->ranged, 1);
}

/** 1 if the frame has moved by VF_KEYFRAME_MOVED of the distance of the last keyframe's points. */
VF_FN int vf_keyframe_moved(const struct vf_keyframe_now *now)
{
    const double near = (double)now->near_1pm, most = VF_KEYFRAME_MOVED;
    return vf_path_placed(&now->pose, &now->last.pose) &&
           vf_path_distance2(&now->pose, &now->last.pose) * (near * near) > most * most;
}

/** 1 if this frame becomes a keyframe. */
VF_FN int vf_keyframe_wanted(const struct vf_keyframe_view *s, const struct vf_keyframe_now *now)
{
    const struct vf_path_pose *pose = &now->pose;
    const struct vf_keyframe *last = &now->last;
    if (vf_freeze_stale(s->freeze, s->parity, 0) || s->place->set[s->parity].count < VF_KEYFRAME_LEAST) return 0;
    if (!last->used) return 1;
    if (s->ingest->params.frame < last->frame + VF_KEYFRAME_APART) return 0;
    if (pose->path != last->pose.path || vf_path_half_cosine(pose, &last->pose) < VF_KEYFRAME_HALF_COSINE) return 1;
    if (vf_keyframe_moved(now)) return 1;
    return s->keyframe->left * 100u < last->tracks * (uint32_t)VF_KEYFRAME_SHARE;
}

/** Pose of the frame, and whether it is a keyframe: one block. */
VF_FN void vf_keyframe_decide(const struct vf_keyframe_view *s)
{
    struct vf_keyframe_memory *m = s->keyframe;
    struct vf_keyframe_now *now = &m->now[s->parity];
    const struct vf_params *params = &s->ingest->params;
    VF_PARTS(i, VFRONT_KEYFRAMES) vf_place_raise(&m->densest, m->crowd[i]);
    VF_PARTS(i, (int)s->place->set[s->parity].count) vf_keyframe_add_near(m, &s->place->set[s->parity].point[i]);
    VF_PARTS(i, (int)s->refill->counts[s->parity].count)
    if (s->refill->feature[s->parity][i].id <= m->now[s->parity ^ 1].last.last_id) vf_place_add(&m->left, 1);
    VF_ITEM_SYNC();
    VF_PARTS(one, 1)
    {
        memset(now, 0, sizeof *now);
        if (params->frame || params->map_given) *now = m->now[s->parity ^ 1];
        if (!params->frame) now->pose.q_path_cam[0] = 1.0;
        now->due = 0;
        vf_keyframe_follow(s, &now->pose);
        if (vf_keyframe_wanted(s, now)) {
            now->due = 1;
            now->slot = now->count;
            now->count += now->count < VFRONT_KEYFRAMES;
            now->last.frame = params->frame;
            now->last.t_ns = params->t_mid_ns;
            now->last.last_id = s->refill->counts[s->parity].last_id;
            now->last.tracks = s->refill->counts[s->parity].count;
            now->last.pose = now->pose;
            now->last.used = 1;
            now->near_1pm = m->ranged ? (float)m->near_q12 / (4096.0f * (float)m->ranged) : 0.0f;
        }
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, VFRONT_KEYFRAMES)
    if (now->due && now->slot == VFRONT_KEYFRAMES && m->crowd[i] == m->densest) now->slot = (uint32_t)i;
}

#endif

#endif
