/* SPDX-License-Identifier: MIT */
#include "core/stages.h"

#if VFRONT_STEREO

/** One camera's points. */
struct side {
    const struct vf_point *point;
    const float *angle;
    const vfront_descriptor_t *descriptor;
    const uint32_t *first; /* of each level */
    uint32_t count;
};
static struct side side_of(const struct vf_step *s, int32_t camera)
{
    const struct vf_memory *m = s->memory;
    const struct side side = {m->bearing.point[s->parity][camera], m->describe.angle[s->parity][camera],
                              m->describe.descriptor[s->parity][camera], m->bearing.first[s->parity][camera],
                              m->bearing.count[s->parity][camera]};
    return side;
}

/** Some points of camera 1, field by field, so that compilers make vectors of the test whether they may be partners. */
#define GROUP 256
struct group {
    float x[GROUP], y[GROUP], z[GROUP], step[GROUP], angle[GROUP];
    int32_t may[GROUP];
};

static void gather(struct group *g, const struct side *right, uint32_t first, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        const struct vf_point *b = &right->point[first + k];
        g->x[k] = b->bearing[0];
        g->y[k] = b->bearing[1];
        g->z[k] = b->bearing[2];
        g->step[k] = b->step;
        g->angle[k] = right->angle[first + k];
    }
}

/** Fills in which of a group may be partners of a point. */
static void test_group(struct group *restrict g, uint32_t count, const struct vf_stereo_bounds *bounds,
                       const struct vf_epipolar *epipolar, const struct vf_point *point, float angle)
{
    const struct vf_epipolar e = *epipolar;
    const struct vf_stereo_bounds limit = *bounds;
    const struct vf_point a = *point;
    for (uint32_t k = 0; k < count; k++) {
        const float bearing[3] = {g->x[k], g->y[k], g->z[k]};
        g->may[k] = vf_stereo_may(&limit, &e, a.step, angle, bearing, g->step[k], g->angle[k]);
    }
}

/** Calls work() for all pairs of a level of camera 0 and a group of camera 1 that may be partners. */
typedef void working(const struct vf_step *s, uint32_t i, uint32_t j, uint32_t distance);
static void each_of_group(const struct vf_step *s, const struct side *left, int32_t level, const struct side *right,
                          struct vf_stretch of, working *work)
{
    const struct vf_stereo_bounds bounds = vf_stereo_bounds(s);
    struct group g;
    gather(&g, right, of.first, of.end - of.first);
    for (uint32_t i = left->first[level]; i < left->first[level + 1]; i++) {
        const struct vf_epipolar e = vf_stereo_epipolar(&s->geometry.pair, left->point[i].bearing);
        test_group(&g, of.end - of.first, &bounds, &e, &left->point[i], left->angle[i]);
        for (uint32_t j = of.first; j < of.end; j++)
            if (g.may[j - of.first]) work(s, i, j, vf_describe_distance(&left->descriptor[i], &right->descriptor[j]));
    }
}

static void each_candidate(const struct vf_step *s, const struct side *left, const struct side *right, working *work)
{
    const struct vf_stereo_bounds bounds = vf_stereo_bounds(s);
    for (int32_t level = 0; level < VFRONT_SCALES; level++) {
        const struct vf_stretch all = vf_stereo_stretch(&bounds, right->first, level);
        for (struct vf_stretch of = all; of.first < all.end; of.first = of.end) {
            of.end = of.first + GROUP < all.end ? of.first + GROUP : all.end;
            each_of_group(s, left, level, right, of, work);
        }
    }
}

/** Tells both points of each other. */
static void meet(const struct vf_step *s, uint32_t i, uint32_t j, uint32_t distance)
{
    struct vf_stereo_memory *m = &s->memory->stereo;
    if (distance > (uint32_t)s->tuning.stereo_distance) return;
    if (vf_partner(distance, i) < m->back[j]) m->back[j] = vf_partner(distance, i);
    if (vf_partner(distance, j) < m->found[i]) m->found[i] = vf_partner(distance, j);
}

/** Notes the next best somewhere else, for a while where costs will be. */
static void come_second(const struct vf_step *s, uint32_t i, uint32_t j, uint32_t distance)
{
    struct vf_stereo_memory *m = &s->memory->stereo;
    const struct vf_point *right = s->memory->bearing.point[s->parity][1];
    if (m->found[i] != VF_NONE && distance < m->cost[i] && vf_elsewhere(&right[m->found[i] & 0xffff], &right[j]))
        m->cost[i] = distance;
}

static void search(const struct vf_step *s, const struct side *left, const struct side *right)
{
    struct vf_stereo_memory *m = &s->memory->stereo;
    for (uint32_t i = 0; i < left->count; i++) {
        m->found[i] = VF_NONE;
        m->cost[i] = 256;
    }
    each_candidate(s, left, right, meet);
    each_candidate(s, left, right, come_second);
    for (uint32_t i = 0; i < left->count; i++)
        if (m->found[i] != VF_NONE && !vf_stands_out(&s->tuning, m->found[i] >> 16, m->cost[i])) m->found[i] = VF_NONE;
}

/** A window, in 1/16 grey levels. */
struct window {
    int32_t grey[VF_SIDE * VF_SIDE], sum;
};

/** Reads one of a level of a camera. Returns 0 when it does not lie in it. */
static int read_window(struct window *w, const struct vf_step *s, int32_t camera, int32_t level, struct vf_centre c)
{
    const struct vf_level *l = &s->geometry.scale[camera][level];
    if (!vf_window_inside(l, c)) return 0;
    const uint8_t *first = vf_scale_pixels(s, camera, level) + ((c.v >> 8) - VF_HALF) * l->pitch + (c.u >> 8) - VF_HALF;
    w->sum = 0;
    for (int32_t k = 0; k < VF_SIDE * VF_SIDE; k++) {
        w->grey[k] = vf_stereo_between(first + k / VF_SIDE * l->pitch + k % VF_SIDE, l->pitch, c.u & 255, c.v & 255);
        w->sum += w->grey[k];
    }
    return 1;
}

static uint32_t compare(const struct window *left, const struct window *right)
{
    uint32_t cost = 0;
    for (int32_t k = 0; k < VF_SIDE * VF_SIDE; k++)
        cost += vf_stereo_difference(left->grey[k], left->sum, right->grey[k], right->sum);
    return cost;
}

/** Moves the seat to where windows of the point's level say. Returns 0 when they do not say. */
static int seek(const struct vf_step *s, const struct vf_point *a, const struct vf_strip *strip, struct vf_seat *seat)
{
    const struct vf_centre start = vf_stereo_centre(s, *seat, a->level), own = {a->u * 256, a->v * 256};
    struct window left, right;
    uint32_t cost[VF_SHIFTS];
    int32_t least = 0;
    if (!read_window(&left, s, 0, a->level, own)) return 0;
    for (int32_t k = 0; k < VF_SHIFTS; k++) {
        if (!read_window(&right, s, 1, a->level, vf_stereo_further(strip, start, k - VF_SHIFT))) return 0;
        cost[k] = compare(&left, &right);
        least = cost[k] < cost[least] ? k : least;
    }
    if (least == 0 || least == VF_SHIFTS - 1 || cost[least + 1] == cost[least]) return 0;
    const float shift = (float)(least - VF_SHIFT) + vf_stereo_valley(cost[least - 1], cost[least], cost[least + 1]);
    *seat = vf_stereo_shifted(strip, *seat, shift * a->step);
    return 1;
}

/** Moves it on, to where a window of level 0 says. Returns its cost there, or VF_NONE. */
static uint32_t settle(const struct vf_step *s, const struct vf_point *a, const struct vf_strip *strip,
                       struct vf_seat *seat)
{
    const struct vf_seat own = {a->x_q16, a->y_q16}, from = *seat;
    const struct vf_centre centre = vf_stereo_centre(s, own, 0);
    struct window left, ahead, behind, right;
    float shift = 0.0f;
    if (!read_window(&left, s, 0, 0, centre) || !read_window(&ahead, s, 0, 0, vf_stereo_further(strip, centre, 1)) ||
        !read_window(&behind, s, 0, 0, vf_stereo_further(strip, centre, -1)))
        return VF_NONE;
    for (int32_t step = 0;; step++) {
        struct vf_slopes sum[3];
        memset(sum, 0, sizeof sum);
        *seat = vf_stereo_shifted(strip, from, shift);
        if (!(fabsf(shift) <= VF_SETTLE_PX) || !read_window(&right, s, 1, 0, vf_stereo_centre(s, *seat, 0)))
            return VF_NONE;
        for (int32_t k = 0; k < VF_SIDE * VF_SIDE; k++)
            vf_stereo_add(&sum[step < VF_STEPS ? 0 : vf_stereo_half(strip, k)], ahead.grey[k], behind.grey[k],
                          right.grey[k] - left.grey[k]);
        if (step == VF_STEPS) return vf_stereo_agree(&s->tuning, sum) ? compare(&left, &right) : VF_NONE;
        shift += vf_stereo_step(&sum[0]);
    }
}

/** The depth of point i from its partner. Returns its cost, or VF_NONE when there is no depth. */
static uint32_t refine(const struct vf_step *s, const struct side *left, const struct side *right, uint32_t i,
                       vfront_depth_t *out)
{
    const uint32_t found = s->memory->stereo.found[i], j = found & 0xffff;
    if (found == VF_NONE || s->memory->stereo.back[j] != vf_partner(found >> 16, i)) return VF_NONE;
    const struct vf_point *a = &left->point[i], *b = &right->point[j];
    const struct vf_node *node = s->memory->bearing.node[1];
    const struct vf_epipolar e = vf_stereo_epipolar(&s->geometry.pair, a->bearing);
    const struct vf_seat from = {b->x_q16, b->y_q16};
    float to_right[3], below[3];
    struct vf_strip strip;
    vf_bearing_at(s, node, 1, from.x_q16 + 65536, from.y_q16, to_right);
    vf_bearing_at(s, node, 1, from.x_q16, from.y_q16 + 65536, below);
    if (!vf_stereo_strip(&e, from, b->bearing, to_right, below, &strip)) return VF_NONE;
    struct vf_seat seat = strip.seat;
    if (!seek(s, a, &strip, &seat)) return VF_NONE;
    const uint32_t cost = settle(s, a, &strip, &seat);
    if (cost == VF_NONE || !vf_stereo_depth(s, node, &e, a, &strip, seat, out)) return VF_NONE;
    out->keypoint = (uint16_t)i;
    out->partner = (uint16_t)j;
    out->distance = (uint16_t)(found >> 16);
    out->reserved = 0;
    return cost;
}

/** The least of the greater half of the costs there are: the median. */
static uint32_t median(const uint32_t *cost, uint32_t count)
{
    uint32_t there = 0, least = 0;
    for (uint32_t i = 0; i < count; i++) there += cost[i] != VF_NONE;
    for (int bit = 31; bit >= 0; bit--) {
        const uint32_t trial = least | 1u << bit;
        uint32_t above = 0;
        for (uint32_t i = 0; i < count; i++) above += cost[i] != VF_NONE && cost[i] >= trial;
        if (above >= (there + 1) / 2) least = trial;
    }
    return least;
}
#endif

void vf_stereo_host(const struct vf_step *s)
{
#if VFRONT_STEREO
    if (!vf_stereo_on(s)) return;
    struct vf_stereo_memory *m = &s->memory->stereo;
    const struct side left = side_of(s, 0), right = side_of(s, 1);
    search(s, &left, &right);
    for (uint32_t i = 0; i < left.count; i++) m->cost[i] = refine(s, &left, &right, i, &m->candidate[i]);
    const uint32_t middle = median(m->cost, left.count);
    m->count = 0;
    for (uint32_t i = 0; i < left.count; i++) {
        const int stays = m->cost[i] != VF_NONE && !vf_stereo_cut(&s->tuning, m->cost[i], middle);
        if (stays) m->depth[m->count++] = m->candidate[i];
        vf_stereo_range(m, s->parity, i, left.point[i].bearing, stays ? &m->candidate[i] : NULL);
    }
#else
    (void)s;
#endif
}
