/* SPDX-License-Identifier: MIT */
/* keyframe: pose of camera 0 along its motion chain, and the ring of keyframes.
 *
 * In      motions of this frame (ego), estimator pose (vio), tracks (refill), points of this and the previous frame
 *         (recall), map data of the previous frame. relpose reads the ring before this stage writes it
 * Out     by parity: pose, last keyframe, number of keyframes; the ring
 * Rule    - pose: from the inertial estimator; without it from metric motions; without those from relative motions,
 *           attitude only. A new chain begins, with the pose of the previous frame, when no motion connects the two
 *           frames or when the source changes
 *         - new keyframe: at the start of a chain, after a rotation of 0.25 rad, after a motion of
 *           VF_KEYFRAME_MOVED_SHARE of the point distance, or when fewer than VF_KEYFRAME_TRACKS_PERCENT of the last
 *           keyframe's tracks survive. It needs VF_KEYFRAME_MIN_POINTS points, VF_KEYFRAME_MIN_INTERVAL frames since
 *           the last one and an image that is not stale. Reason for the limit of motion: descriptors stop matching
 *           after a motion of a third of the point distance, and a loop needs up to three keyframes that agree (loop.h)
 *         - point distance: inverse of the mean inverse distance of the keyframe's points, because a motion changes the
 *           images of near points most
 *         - ring: a keyframe is written one frame later, into a free slot or over an evicted keyframe. The eviction key
 *           is the density: sum of 1 / (d^2 + 1/4) over keyframes that are evicted later. d^2 is the squared distance
 *           between two keyframes [m^2] plus 4 sin^2 of half the angle between their attitudes. Positions are those in
 *           the map, else those in the chain. If neither is known, the distance counts as 0
 *         - a keyframe is stale if no loop confirmed it while the last VF_KEYFRAME_STALE_AFTER keyframes were made. Of
 *           two neighbours the one that is not stale is kept, because the map would drift with each replacement. Of two
 *           confirmed ones the older is kept, of two stale ones the younger
 *         - evicted first: keyframes of earlier chains without a pose in the map. Evicted last: those of the last
 *           VF_KEYFRAME_RECENT_FRAMES frames, whose loops are not yet edges (map.h). Keyframes of a loaded map count as
 *           older than all of this run
 * Exact   double precision in one order; densities in single precision
 * Cost    VFRONT_KEYFRAMES^2 distances per frame
 * Shared  all arithmetic: vf_keyframe_commit(), vf_keyframe_evict_keys() and vf_keyframe_decide() are one launch each.
 *         The ring is written one frame later, so that a frame that fails leaves it unchanged (result/carry.h)
 * Memory  15.8 KB a keyframe
 */
#ifndef VF_KEYFRAME_H
#define VF_KEYFRAME_H

#include "ego/ego.h"
#include "map_data.h"
#include "relpose.h"
#include "recall.h"
#include "vio/vio.h"

#define VF_KEYFRAME_TRACKS_PERCENT 60  /* a new keyframe is due if fewer of the last keyframe's tracks survive [%] */
#define VF_KEYFRAME_HALF_COSINE 0.9922 /* cosine of half of 0.25 rad, the rotation after which a keyframe is due */
#define VF_KEYFRAME_MOVED_SHARE 0.1    /* motion after which a keyframe is due, divided by the point distance */
#define VF_KEYFRAME_MIN_POINTS 40
#define VF_KEYFRAME_MIN_INTERVAL 3
#define VF_KEYFRAME_RECENT_FRAMES                                                                                      \
    48 /* age up to which a keyframe is not evicted [frames]: two periods of map.h, until its loops are edges */
#define VF_KEYFRAME_STALE_AFTER (8 * VFRONT_KEYFRAMES)

/* View of stage keyframe: the data it may access (base/view.h). relpose is listed so that it finishes before keyframe
 * writes the ring. */
/* clang-format off */
#define VF_READS_keyframe(X) X(ingest) X(freeze) X(refill) X(recall) X(relpose) X(vio) X(ego)
#define VF_BEFORE_keyframe(X) X(map)
#define VF_GEOMETRY_keyframe(X) X(active)
#define VF_TUNING_keyframe(X)
/* clang-format on */
VF_GEOMETRY_OF(keyframe);
struct vf_keyframe_view {
    VF_VIEW(keyframe);
};
VF_HOST_FORM(keyframe);

/** 1 if this frame is a keyframe, which the next frame writes into the ring. The mirror (result/carry.h) then includes
 *  its points. active: set of active stages. */
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

/** 1 if this frame has overwritten ring slot `slot` with the previous frame's keyframe. Candidates and relative poses
 *  of this frame then refer to the evicted keyframe. */
VF_FN int vf_keyframe_replaced(const struct vf_keyframe_memory *m, int32_t parity, uint32_t slot)
{
    const struct vf_keyframe_now *before = &m->now[parity ^ 1];
    return before->due && before->slot == slot;
}

/** Copies the head (all but the points) of the last keyframe in `now`. */
VF_FN void vf_keyframe_head_of(const struct vf_keyframe_now *now, struct vf_keyframe *head) { *head = now->last; }

/** Writes the previous frame's keyframe into the ring. The first frame empties the ring instead, except for keyframes
 *  of a loaded map. One item per 32-bit word. */
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
    const vf_word *from = (const vf_word *)&s->recall->set[s->parity ^ 1];
    VF_ITEMS(i, (int)(sizeof to->set / 4) + 1)
    {
        if (i < (int)(sizeof to->set / 4))
            ((vf_word *)&to->set)[i] = from[i];
        else
            vf_keyframe_head_of(before, &to->head);
    }
}

/* ---- density ----------------------------------------------------------------------------------------------------- */

/** Contribution of keyframe a to the density of keyframes around keyframe b. Both poses are in the same axes. placed:
 *  1, both positions are known; 0, their distance counts as 0. */
VF_FN float vf_keyframe_density_term(const struct vf_chain_pose *a, const struct vf_chain_pose *b, int placed)
{
    const double square = placed ? vf_chain_distance2(a, b) : 0.0, half = vf_chain_half_cosine(a, b);
    return 1.0f / ((float)(square + 4.0 * (1.0 - half * half)) + 0.25f);
}

/** 1 if keyframe i, a ring slot, is stale: no loop confirmed it while VF_KEYFRAME_STALE_AFTER others were made. */
VF_FN int vf_keyframe_stale(const struct vf_map_data *map, int i)
{
    return map->made - map->seen[i] > (uint32_t)VF_KEYFRAME_STALE_AFTER;
}

/** Recency of a keyframe, 37 bits: a greater value is a younger keyframe. Keyframes of a loaded map count as older than
 *  all keyframes of this run. */
VF_FN uint64_t vf_keyframe_recency(const struct vf_keyframe *k)
{
    const uint64_t largest = 0xfffffffffull;
    return (k->frame & largest) + (k->origin ? 0 : largest + 1);
}

/** Eviction order of the keyframe in ring slot i among keyframes of equal density, 49 bits. The greatest is evicted
 *  first: stale keyframes, oldest first, then the others, youngest first. The ring slot makes all values different,
 *  even where keyframes of different loaded maps have one age. */
VF_FN uint64_t vf_keyframe_evict_order(const struct vf_map_data *map, const struct vf_keyframe *k, int i)
{
    const uint64_t stale = (uint64_t)vf_keyframe_stale(map, i), recency = vf_keyframe_recency(k),
                   largest = 0x1fffffffffull;
    return (stale << 37 | (stale ? largest - recency : recency)) << 11 | (uint64_t)(2047 - i);
}
VF_STATIC_ASSERT(VFRONT_KEYFRAMES <= 2048, "vfront: keyframes of one age have different keys");

/** Density of keyframes around keyframe i, plus 1: sum of the contributions of those with a smaller
 *  vf_keyframe_evict_order(). Poses are those in the map if both keyframes have one, else those in the chain. */
VF_FN float vf_keyframe_density(const struct vf_keyframe_view *s, int i)
{
    const struct vf_map_data *map = &s->map->data[s->parity ^ 1];
    const struct vf_keyframe_entry *ring = s->keyframe->ring;
    const struct vf_chain_pose *own = &ring[i].head.pose;
    const uint64_t order = vf_keyframe_evict_order(map, &ring[i].head, i);
    struct vf_chain_pose mine, other;
    const int known = map->placed_node[i] != 0;
    float sum = 1.0f; /* begins at 1, not 0, so that the sum is no denormal number */
    vf_map_to_chain(&map->node[i], &mine);
    VF_NO_UNROLL
    for (int k = 0; k < VFRONT_KEYFRAMES; k++) {
        if (!ring[k].head.used || vf_keyframe_evict_order(map, &ring[k].head, k) >= order) continue;
        if (known && map->placed_node[k]) {
            vf_map_to_chain(&map->node[k], &other);
            sum += vf_keyframe_density_term(&mine, &other, 1);
        } else if (vf_chain_attitude_known(own, &ring[k].head.pose))
            sum += vf_keyframe_density_term(own, &ring[k].head.pose, vf_chain_position_known(own, &ring[k].head.pose));
    }
    return sum;
}

/** Eviction key of the keyframe in ring slot i; the greatest key is evicted first. First criterion: belongs to an
 *  earlier chain and has no pose in the map. Second: high density. Third: high vf_keyframe_evict_order(). Recent
 *  keyframes have key 1, because their loops are not yet edges. */
VF_FN uint64_t vf_keyframe_evict_key(const struct vf_keyframe_view *s, int i, float density)
{
    const struct vf_map_data *map = &s->map->data[s->parity ^ 1];
    const struct vf_keyframe_now *before = &s->keyframe->now[s->parity ^ 1];
    const struct vf_keyframe *k = &s->keyframe->ring[i].head;
    const int recent = !k->origin && k->frame + VF_KEYFRAME_RECENT_FRAMES > before->last.frame,
              lost = !map->placed_node[i] && !k->origin && k->pose.chain != before->pose.chain;
    uint32_t bits;
    if (recent) return 1;
    memcpy(&bits, &density, sizeof bits);
    return (uint64_t)lost << 63 | (uint64_t)(bits >> 17) << 49 | vf_keyframe_evict_order(map, k, i);
}

/** Computes the eviction keys of all ring slots; 0: free slot. Also clears the maximum and the sums that
 *  vf_keyframe_decide() accumulates. */
VF_FN void vf_keyframe_evict_keys(const struct vf_keyframe_view *s)
{
    struct vf_keyframe_memory *m = s->keyframe;
    VF_ITEMS(i, VFRONT_KEYFRAMES)
    {
        const struct vf_keyframe *own = &m->ring[i].head;
        m->evict_key[i] = own->used ? vf_keyframe_evict_key(s, i, vf_keyframe_density(s, i)) : 0;
        if (i) continue;
        m->evict_max = 0;
        m->inverse_range_q12 = m->range_count = m->tracks_kept = 0;
    }
}

/* ---- pose -------------------------------------------------------------------------------------------------------- */

/** Unit quaternion (w, x, y, z) of a row-major rotation matrix. */
VF_FN void vf_keyframe_quaternion(const float R[9], double q[4])
{
    const double trace = (double)R[0] + (double)R[4] + (double)R[8];
    int largest = 0;
    for (int k = 1; k < 3; k++) largest = R[4 * k] > R[4 * largest] ? k : largest;
    const int i = largest, j = (largest + 1) % 3, k = (largest + 2) % 3;
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

/** Computes pose `other` in the chain of pose `own` from the relative pose p_other = R p_own + t. Writes position and
 *  attitude only. */
VF_FN void vf_chain_compose(const struct vf_chain_pose *own, const float R[9], const float t[3],
                            struct vf_chain_pose *other)
{
    double step[3], rotation[4], M[9], q[4];
    for (int k = 0; k < 3; k++)
        step[k] = -((double)R[k] * (double)t[0] + (double)R[3 + k] * (double)t[1] + (double)R[6 + k] * (double)t[2]);
    vf_keyframe_quaternion(R, rotation);
    for (int k = 1; k < 4; k++) rotation[k] = -rotation[k];
    vf_quaternion_matrix(own->q_chain_cam, M);
    vf_quaternion_multiply(own->q_chain_cam, rotation, q);
    vf_quaternion_unit(q);
    for (int k = 0; k < 3; k++)
        other->position_m[k] = own->position_m[k] + M[3 * k] * step[0] + M[3 * k + 1] * step[1] +
                               M[3 * k + 2] * step[2];
    memcpy(other->q_chain_cam, q, sizeof q);
}

/** Greatest of three variances. */
VF_FN double vf_chain_max_variance(double a, double b, double c)
{
    const double ab = a > b ? a : b;
    return ab > c ? ab : c;
}

/** Moves a chain pose by the motion of one frame, and raises its variances. metric: 1, rotation and translation; 0,
 *  rotation only. */
VF_FN void vf_keyframe_integrate(const vfront_motion_t *motion, int metric, struct vf_chain_pose *pose)
{
    const float *P = motion->covariance, none[3] = {0.0f, 0.0f, 0.0f};
    const double square = (double)vf_dot(motion->t, motion->t);
    vf_chain_compose(pose, motion->R, metric ? motion->t : none, pose);
    pose->rotation_variance_rad2 += vf_chain_max_variance((double)P[15], (double)P[18], (double)P[20]);
    if (!metric) return;
    pose->length_m += sqrt(square);
    /* attitude variance so far times squared length of this motion adds to position variance */
    pose->position_variance_m2 += (double)P[0] + (double)P[6] + (double)P[11] + square * pose->rotation_variance_rad2;
}

/** Computes the chain pose of camera 0 from the state of the inertial estimator. Returns 0 and leaves *pose unchanged
 *  if a value is not finite or a variance is negative. */
VF_FN int vf_keyframe_from_nav(const struct vf_vio_window *w, const vfront_nav_t *nav, struct vf_chain_pose *pose)
{
    struct vf_chain_pose to = *pose;
    double R[9], arm[3], square = 0.0, zero = 0.0;
    vf_quaternion_matrix(nav->q_odom_imu, R);
    vf_transform_double(R, w->rig.p_imu_cam_m, arm);
    vf_quaternion_multiply(nav->q_odom_imu, w->mount, to.q_chain_cam);
    for (int k = 0; k < 3; k++) {
        to.position_m[k] = nav->position_m[k] + arm[k];
        const double moved = to.position_m[k] - pose->position_m[k];
        square += moved * moved;
        zero += to.position_m[k] * 0.0;
    }
    for (int k = 0; k < 4; k++) zero += to.q_chain_cam[k] * 0.0;
    to.position_variance_m2 = nav->covariance[vf_nav_index(0, 0)] + nav->covariance[vf_nav_index(1, 1)] +
                              nav->covariance[vf_nav_index(2, 2)];
    to.rotation_variance_rad2 = vf_chain_max_variance(
        nav->covariance[vf_nav_index(3, 3)], nav->covariance[vf_nav_index(4, 4)], nav->covariance[vf_nav_index(5, 5)]);
    to.length_m += sqrt(square);
    if (!(zero == 0.0 && to.position_variance_m2 >= 0.0 && to.rotation_variance_rad2 >= 0.0)) return 0;
    *pose = to;
    return 1;
}

/** Updates *pose, the chain pose of the previous frame, to that of this frame. Begins a new chain where needed. Run by
 *  one thread. */
VF_FN void vf_keyframe_update_pose(const struct vf_keyframe_view *s, struct vf_chain_pose *pose)
{
    const uint32_t was = pose->source, active = s->geometry.active;
    const struct vf_motion_states states = vf_ego_states(s->ego, active);
    int begins = 0;
    pose->source = VF_CHAIN_NONE;
#if VFRONT_VIO
    if (vf_vio_has_state(s->vio, active)) {
        const struct vf_vio_window *w = &s->vio->window[s->parity][s->vio->request.accepted];
        begins = vf_vio_command_of(s->vio) == VF_VIO_BEGIN || s->vio->request.replaced;
        if (vf_keyframe_from_nav(w, vf_vio_state_of(s->vio), pose)) pose->source = VF_CHAIN_NAV;
    }
#endif
    if (pose->source == VF_CHAIN_NONE && states.metric == VFRONT_MOTION_GOOD) {
        vf_keyframe_integrate(&s->ego->metric, 1, pose);
        pose->source = VF_CHAIN_METRIC;
    } else if (pose->source == VF_CHAIN_NONE &&
               (states.relative == VFRONT_MOTION_GOOD || states.relative == VFRONT_MOTION_ROTATION)) {
        vf_keyframe_integrate(&s->ego->relative, 0, pose);
        pose->source = VF_CHAIN_ROTATIONS;
    }
    const int continues = pose->source != VF_CHAIN_NONE && (pose->source == was || was == VF_CHAIN_NONE),
              enters_nav = pose->source == VF_CHAIN_NAV &&
                           was != VF_CHAIN_NAV; /* begins a chain, since the inertial estimator has its own axes */
    if (continues && !enters_nav && !begins) return;
    pose->chain++;
    pose->length_m = 0.0;
    if (pose->source != VF_CHAIN_NAV) pose->position_variance_m2 = pose->rotation_variance_rad2 = 0.0;
}

/* ---- decision ---------------------------------------------------------------------------------------------------- */

/** Smallest distance of a point that counts in the mean inverse distance [m]. */
#define VF_KEYFRAME_MIN_RANGE_M 0.1f

/** Adds the inverse distance of a point to the sum over this frame's points, if the distance is known and not too
 *  small. */
VF_FN void vf_keyframe_add_inverse_range(struct vf_keyframe_memory *m, const struct vf_keyframe_point *p)
{
    if (!(p->range_m >= VF_KEYFRAME_MIN_RANGE_M)) return;
    vf_atomic_add(&m->inverse_range_q12, (uint32_t)vf_round(4096.0f / p->range_m));
    vf_atomic_add(&m->range_count, 1);
}

/** 1 if camera 0 has moved by more than VF_KEYFRAME_MOVED_SHARE of the mean point distance since the last keyframe. */
VF_FN int vf_keyframe_moved(const struct vf_keyframe_now *now)
{
    const double inverse_range = (double)now->inverse_range_1pm, largest = VF_KEYFRAME_MOVED_SHARE;
    return vf_chain_position_known(&now->pose, &now->last.pose) &&
           vf_chain_distance2(&now->pose, &now->last.pose) * (inverse_range * inverse_range) > largest * largest;
}

/** 1 if this frame becomes a keyframe. now: pose of this frame and the last keyframe. */
VF_FN int vf_keyframe_wanted(const struct vf_keyframe_view *s, const struct vf_keyframe_now *now)
{
    const struct vf_chain_pose *pose = &now->pose;
    const struct vf_keyframe *last = &now->last;
    if (vf_freeze_stale(s->freeze, s->parity, 0) || s->recall->set[s->parity].count < VF_KEYFRAME_MIN_POINTS) return 0;
    if (!last->used) return 1;
    if (s->ingest->params.frame < last->frame + VF_KEYFRAME_MIN_INTERVAL) return 0;
    if (pose->chain != last->pose.chain || vf_chain_half_cosine(pose, &last->pose) < VF_KEYFRAME_HALF_COSINE) return 1;
    if (vf_keyframe_moved(now)) return 1;
    return s->keyframe->tracks_kept * 100u < last->tracks * (uint32_t)VF_KEYFRAME_TRACKS_PERCENT;
}

/** Computes the pose of this frame, decides whether it becomes a keyframe, and selects the ring slot for it. Run by one
 *  block. */
VF_FN void vf_keyframe_decide(const struct vf_keyframe_view *s)
{
    struct vf_keyframe_memory *m = s->keyframe;
    struct vf_keyframe_now *now = &m->now[s->parity];
    const struct vf_params *params = &s->ingest->params;
    VF_PARTS(i, VFRONT_KEYFRAMES) vf_atomic_max64(&m->evict_max, m->evict_key[i]);
    VF_PARTS(i, (int)s->recall->set[s->parity].count)
    vf_keyframe_add_inverse_range(m, &s->recall->set[s->parity].point[i]);
    VF_PARTS(i, (int)s->refill->counts[s->parity].count)
    if (s->refill->feature[s->parity][i].id <= m->now[s->parity ^ 1].last.last_id) vf_atomic_add(&m->tracks_kept, 1);
    VF_ITEM_SYNC();
    VF_PARTS(one, 1)
    {
        memset(now, 0, sizeof *now);
        if (params->frame || params->map_given) *now = m->now[s->parity ^ 1];
        if (!params->frame) now->pose.q_chain_cam[0] = 1.0;
        now->due = 0;
        vf_keyframe_update_pose(s, &now->pose);
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
            now->inverse_range_1pm = m->range_count ? (float)m->inverse_range_q12 / (4096.0f * (float)m->range_count)
                                                    : 0.0f;
        }
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, VFRONT_KEYFRAMES)
    if (now->due && now->slot == VFRONT_KEYFRAMES && m->evict_key[i] == m->evict_max) now->slot = (uint32_t)i;
}

#endif

#endif
