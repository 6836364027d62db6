/* SPDX-License-Identifier: MIT */
/* Host form of stereo: matches of key points between the cameras, and their depths. */
#include "stereo.h"

#include "ego_memory.h"
#include "expect.h"
#include "image/scale.h"
#include "epipolar.h"
#include "stereo_patch.h"

#if VFRONT_STEREO

/** Key points of one camera in the current frame. */
struct camera_points {
    const struct vf_point *point;
    const float *angle;
    const vfront_descriptor_t *descriptor;
    const uint32_t *first; /* [level]: index of the first point */
    uint32_t count;
};
static struct camera_points camera_points_of(const struct vf_stereo_view *s, int32_t camera)
{
    const struct camera_points points = {s->bearing->point[s->parity][camera], s->describe->angle[s->parity][camera],
                                         s->describe->descriptor[s->parity][camera],
                                         s->bearing->first[s->parity][camera], s->bearing->count[s->parity][camera]};
    return points;
}

/* ---- points of camera 1 by their epipolar planes ----------------------------------------------------------------- */

/** Number of sectors into which half a turn about the baseline is divided. */
#define SECTORS 256

/** Points of camera 1 sorted by level and by the angle of their epipolar planes about the baseline. A point of camera 0
 *  is tested only against points near its own plane. */
struct epipolar_index {
    float x[3], y[3]; /* two orthonormal axes normal to the baseline */
    uint16_t point[VFRONT_KEYPOINTS];
    uint16_t first[VFRONT_SCALES][SECTORS + 1]; /* [level][sector]: index into `point` of the first point */
    /* [level]: least length over its points of a bearing's component normal to the baseline */
    float least_across[VFRONT_SCALES];
    float step[VFRONT_SCALES]; /* [level]: size of its pixels [px of level 0] */
};

/** Pseudo-angle of the undirected line through (x, y), 0 to 2 for half a turn: monotonic in the angle, slope at most 1
 *  per rad. */
static float half_turn(float x, float y)
{
    const float a = y < 0.0f ? -x : x, b = fabsf(y), sum = fabsf(a) + b;
    if (!(sum > 0.0f)) return 0.0f;
    return a >= 0.0f ? b / sum : 1.0f - a / sum;
}
static int32_t sector_of(float half) { return vf_clamp((int32_t)(half * (SECTORS / 2)), 0, SECTORS - 1); }

/** Makes two orthonormal axes normal to the baseline, whose direction is `epipole`. */
static void make_axes(struct epipolar_index *n, const float epipole[3])
{
    float along[3] = {0.0f, 0.0f, 0.0f};
    int least = 0;
    for (int k = 1; k < 3; k++) least = fabsf(epipole[k]) < fabsf(epipole[least]) ? k : least;
    along[least] = 1.0f;
    vf_cross(epipole, along, n->x);
    vf_unit(n->x);
    vf_cross(epipole, n->x, n->y);
}

/** Sorts the points of a level of camera 1 by the sector of their epipolar plane. */
static void sort_level(struct epipolar_index *n, const struct camera_points *right, int32_t level)
{
    const uint32_t first = right->first[level], end = right->first[level + 1];
    uint16_t *begin = n->first[level], next[SECTORS];
    memset(begin, 0, sizeof n->first[level]);
    n->least_across[level] = 1.0f;
    n->step[level] = first < end ? right->point[first].step : 1.0f;
    for (uint32_t j = first; j < end; j++) {
        const float *b = right->point[j].bearing, x = vf_dot(n->x, b), y = vf_dot(n->y, b);
        const float across = sqrtf(x * x + y * y);
        n->least_across[level] = across < n->least_across[level] ? across : n->least_across[level];
        begin[sector_of(half_turn(x, y)) + 1]++;
    }
    begin[0] = (uint16_t)first;
    for (int32_t k = 0; k < SECTORS; k++) {
        begin[k + 1] = (uint16_t)(begin[k + 1] + begin[k]);
        next[k] = begin[k];
    }
    for (uint32_t j = first; j < end; j++) {
        const float *b = right->point[j].bearing;
        n->point[next[sector_of(half_turn(vf_dot(n->x, b), vf_dot(n->y, b)))]++] = (uint16_t)j;
    }
}

static void make_index(struct epipolar_index *n, const struct vf_stereo_view *s, const struct camera_points *right)
{
    make_axes(n, s->geometry.pair.epipole);
    for (int32_t level = 0; level < VFRONT_SCALES; level++) sort_level(n, right, level);
}

/** Range of sectors that may contain points within a band along an epipolar plane: `count` sectors from `first` on,
 *  modulo SECTORS. */
struct sectors {
    int32_t first, count;
};
static struct sectors sectors_of(const struct epipolar_index *n, const struct vf_epipolar_plane *e, float band,
                                 int32_t level)
{
    const struct sectors all = {0, SECTORS};
    const float x = vf_dot(n->x, e->normal), y = vf_dot(n->y, e->normal), sine = band / n->least_across[level];
    /* plane or points near the baseline have no definite sector */
    if (!(x * x + y * y > 0.5f) || !(sine < 0.5f)) return all;
    const float half = half_turn(-y, x), reach = 1.05f * sine + 0.001f; /* asin(sine) <= 1.05 sine, plus rounding */
    const struct sectors some = {(int32_t)((2.0f + half - reach) * (SECTORS / 2)),
                                 (int32_t)(2.0f * reach * (SECTORS / 2)) + 2};
    return some.count < SECTORS ? some : all;
}

/** Function that is called for a point i of camera 0, a candidate j for its match in camera 1, and their Hamming
 *  distance. */
typedef void candidate_function(const struct vf_stereo_view *s, uint32_t i, uint32_t j, uint32_t distance);

/** Calls work() for all candidates of point i of camera 0 that lie on pyramid level `level` of camera 1. e: epipolar
 *  plane of point i. */
static void each_on_level(const struct vf_stereo_view *s, const struct camera_points *left,
                          const struct camera_points *right, const struct epipolar_index *n,
                          const struct vf_epipolar_plane *e, uint32_t i, int32_t level, candidate_function *work)
{
    const struct vf_stereo_bounds bounds = vf_stereo_make_bounds(s);
    const struct vf_point *a = &left->point[i];
    const float step = a->step > n->step[level] ? a->step : n->step[level];
    const struct sectors near = sectors_of(n, e, bounds.band * step, level);
    for (int32_t k = 0; k < near.count; k++) {
        const uint16_t *sector = &n->first[level][(near.first + k) & (SECTORS - 1)];
        for (uint32_t m = sector[0]; m < sector[1]; m++) {
            const uint32_t j = n->point[m];
            const struct vf_point *b = &right->point[j];
            if (vf_stereo_candidate(&bounds, e, a->step, left->angle[i], b->bearing, b->step, right->angle[j]))
                work(s, i, j, vf_hamming_distance(&left->descriptor[i], &right->descriptor[j]));
        }
    }
}

/** Calls work() for all candidates of point i of camera 0. level: pyramid level of point i. */
static void each_candidate(const struct vf_stereo_view *s, const struct camera_points *left,
                           const struct camera_points *right, const struct epipolar_index *n, int32_t level, uint32_t i,
                           candidate_function *work)
{
    const struct vf_epipolar_plane e = vf_stereo_epipolar(&s->geometry.pair, left->point[i].bearing);
    const int32_t first = vf_max(level - s->tuning.stereo_levels, 0),
                  last = vf_min(level + s->tuning.stereo_levels, VFRONT_SCALES - 1);
    for (int32_t l = first; l <= last; l++) each_on_level(s, left, right, n, &e, i, l, work);
}

/* ---- matches ----------------------------------------------------------------------------------------------------- */

/** Updates the best candidates of point i of camera 0 and of point j of camera 1 with each other. */
static void keep_best(const struct vf_stereo_view *s, uint32_t i, uint32_t j, uint32_t distance)
{
    struct vf_stereo_memory *m = s->stereo;
    if (distance > (uint32_t)s->tuning.stereo_distance) return;
    if (vf_packed_match(distance, i) < m->back[s->parity][j]) m->back[s->parity][j] = vf_packed_match(distance, i);
    if (vf_packed_match(distance, j) < m->best[i]) m->best[i] = vf_packed_match(distance, j);
}

/** Updates the distance of the second-best candidate of point i with point j, which must lie at another position than
 *  the best one. The distance is stored in cost[i] until the ratio test. */
static void keep_second(const struct vf_stereo_view *s, uint32_t i, uint32_t j, uint32_t distance)
{
    struct vf_stereo_memory *m = s->stereo;
    const struct vf_point *right = s->bearing->point[s->parity][1];
    if (m->best[i] != VF_NONE && distance < m->cost[i] && vf_points_apart(&right[m->best[i] & 0xffff], &right[j]))
        m->cost[i] = distance;
}

/** Finds the best match of every key point of each camera in the other one. Points of camera 0 that fail the ratio test
 *  lose their match. */
static void match_descriptors(const struct vf_stereo_view *s, const struct camera_points *left,
                              const struct camera_points *right)
{
    struct vf_stereo_memory *m = s->stereo;
    struct epipolar_index index;
    make_index(&index, s, right);
    for (int32_t level = 0; level < VFRONT_SCALES; level++)
        for (uint32_t i = left->first[level]; i < left->first[level + 1]; i++) {
            m->best[i] = VF_NONE;
            m->cost[i] = 256;
            each_candidate(s, left, right, &index, level, i, keep_best);
            each_candidate(s, left, right, &index, level, i, keep_second);
            if (m->best[i] != VF_NONE && !vf_ratio_test(s->tuning.match_ratio_percent, m->best[i] >> 16, m->cost[i]))
                m->best[i] = VF_NONE;
        }
}

/** Reads the patch with centre c from a pyramid level of a camera. Returns 0 if it is not inside the image. */
static int read_patch(struct vf_stereo_patch *w, const struct vf_stereo_view *s, int32_t camera, int32_t level,
                      struct vf_patch_centre c)
{
    const struct vf_level *l = &s->geometry.scale[camera][level];
    return vf_stereo_read_patch(w, vf_scale_pixels(s->scale, s->pictures.level0[s->parity][camera], camera, level, l),
                                l, c);
}

/** Searches the match of point a along the epipolar line, on the point's pyramid level. Moves *position to the minimum
 *  of the ZSAD. Returns 0 if a patch leaves the image, or the minimum is at an end of the search. */
static int search_line(const struct vf_stereo_view *s, const struct vf_point *a, const struct vf_epipolar_line *line,
                       struct vf_stereo_position *position)
{
    const struct vf_patch_centre start = vf_stereo_patch_centre(s, *position, a->level), own = {a->u * 256, a->v * 256};
    struct vf_stereo_patch left, right;
    uint32_t cost[VF_STEREO_POSITIONS];
    int32_t least = 0;
    if (!read_patch(&left, s, 0, a->level, own)) return 0;
    for (int32_t k = 0; k < VF_STEREO_POSITIONS; k++) {
        if (!read_patch(&right, s, 1, a->level, vf_stereo_move_patch(line, start, k - VF_STEREO_REACH))) return 0;
        cost[k] = vf_stereo_zsad(&left, &right);
        least = cost[k] < cost[least] ? k : least;
    }
    if (least == 0 || least == VF_STEREO_POSITIONS - 1 || cost[least + 1] == cost[least]) return 0;
    const float shift = (float)(least - VF_STEREO_REACH) +
                        vf_stereo_subpixel(cost[least - 1], cost[least], cost[least + 1]);
    *position = vf_stereo_move(line, *position, shift * a->step);
    return 1;
}

/** Refines a match by Gauss-Newton steps along the epipolar line on level 0. Returns the ZSAD at the final position;
 *  VF_NONE if a patch leaves the image, the steps lead too far, or the halves of the patch disagree. fit_px: out,
 *  standard deviation of the disparity from the patch [px]. */
static uint32_t refine_subpixel(const struct vf_stereo_view *s, const struct vf_point *a,
                                const struct vf_epipolar_line *line, struct vf_stereo_position *position, float *fit_px)
{
    const struct vf_stereo_position own = {a->x_q16, a->y_q16}, from = *position;
    const struct vf_patch_centre centre = vf_stereo_patch_centre(s, own, 0);
    struct vf_stereo_patch left, ahead, behind, right;
    const struct vf_stereo_part all = vf_stereo_part_of(line, -1);
    float shift = 0.0f;
    if (!read_patch(&left, s, 0, 0, centre) || !read_patch(&ahead, s, 0, 0, vf_stereo_move_patch(line, centre, 1)) ||
        !read_patch(&behind, s, 0, 0, vf_stereo_move_patch(line, centre, -1)))
        return VF_NONE;
    for (int32_t step = 0;; step++) {
        *position = vf_stereo_move(line, from, shift);
        if (!(fabsf(shift) <= VF_STEREO_STEPS_PX) ||
            !read_patch(&right, s, 1, 0, vf_stereo_patch_centre(s, *position, 0)))
            return VF_NONE;
        if (step == VF_STEREO_STEPS) break;
        const struct vf_stereo_sums sum = vf_stereo_sum_part(&ahead, &behind, &left, &right, &all);
        shift += vf_stereo_gauss_newton(&sum);
    }
    struct vf_stereo_sums half[2];
    for (int32_t h = 0; h < 2; h++) {
        const struct vf_stereo_part part = vf_stereo_part_of(line, h);
        half[h] = vf_stereo_sum_part(&ahead, &behind, &left, &right, &part);
    }
    const uint32_t cost = vf_stereo_zsad(&left, &right);
    *fit_px = vf_stereo_fit_px(cost, half);
    return vf_stereo_halves_agree(&s->tuning, half) ? cost : VF_NONE;
}

/** Linearises the epipolar line at a position of camera 1 whose bearing is `here`. to_right, below: out, bearings one
 *  pixel to the right and one below. Returns 0 outside the field of view. */
static int find_line(const struct vf_stereo_view *s, const struct vf_epipolar_plane *e, struct vf_stereo_position from,
                     const float here[3], float to_right[3], float below[3], struct vf_epipolar_line *line)
{
    const struct vf_node *node = s->bearing->node[1];
    vf_bearing_at(node, s->geometry.nodes_x[1], from.x_q16 + 65536, from.y_q16, to_right);
    vf_bearing_at(node, s->geometry.nodes_x[1], from.x_q16, from.y_q16 + 65536, below);
    return vf_stereo_line(e, from, here, to_right, below, line);
}

/** Depth of point i of camera 0 from a search along its epipolar line. half_px: largest distance of the match from
 *  line->start [px]; 0: unbounded. Returns the ZSAD, or VF_NONE without depth. */
static uint32_t measure_depth(const struct vf_stereo_view *s, const struct vf_epipolar_plane *e,
                              const struct vf_epipolar_line *line, const struct vf_stereo_offsets *offsets,
                              float half_px, uint32_t i, vfront_depth_t *out)
{
    const struct vf_point *a = &s->bearing->point[s->parity][0][i];
    struct vf_stereo_position position = line->start;
    float fit_px = 0.0f;
    if (!search_line(s, a, line, &position)) return VF_NONE;
    const uint32_t cost = refine_subpixel(s, a, line, &position, &fit_px);
    if (cost == VF_NONE || (half_px > 0.0f && !vf_expect_within(line, position, half_px)) ||
        !vf_stereo_depth(s, s->bearing->node[1], e, a, line, offsets->disparity, position, fit_px, out))
        return VF_NONE;
    const struct vf_line_match location = {position.x_q16, position.y_q16, line->direction_x, line->direction_y};
    s->stereo->location[i] = location;
    return cost;
}

/** Depth of point i of camera 0 from its match j in camera 1. Returns the ZSAD of the patch, or VF_NONE without
 *  depth. */
static uint32_t depth_of_match(const struct vf_stereo_view *s, const struct vf_stereo_offsets *offsets, uint32_t i,
                               uint32_t j, vfront_depth_t *out)
{
    const struct vf_point *a = &s->bearing->point[s->parity][0][i], *b = &s->bearing->point[s->parity][1][j];
    const struct vf_epipolar_plane e = vf_stereo_epipolar(&s->geometry.pair, a->bearing);
    const struct vf_stereo_position from = {b->x_q16, b->y_q16};
    float to_right[3], below[3];
    struct vf_epipolar_line line;
    if (!find_line(s, &e, from, b->bearing, to_right, below, &line)) return VF_NONE;
    s->stereo->distance[i] = vf_stereo_distance(s, &e, b->bearing, to_right, below, b->x_q16, b->y_q16,
                                                a->step > b->step ? a->step : b->step);
    line.start = vf_stereo_move_across(&line, line.start, offsets->epipolar);
    return measure_depth(s, &e, &line, offsets, 0.0f, i, out);
}

/** Depth of point i of camera 0 from a search in the interval expected from the previous frame. Returns the ZSAD of the
 *  patch, or VF_NONE without depth. */
static uint32_t depth_expected(const struct vf_stereo_view *s, const struct vf_stereo_offsets *offsets, uint32_t i,
                               vfront_depth_t *out)
{
    const struct vf_point *a = &s->bearing->point[s->parity][0][i];
    const struct vf_epipolar_plane e = vf_stereo_epipolar(&s->geometry.pair, a->bearing);
    const struct vf_expect_location location = vf_expect_location(a->bearing);
    struct vf_expect_cell around = {0, 0, 0};
    for (int32_t k = 0; k < 9; k++) {
        const struct vf_expect_cell cell = vf_expect_neighbour(s, location, k);
        vf_expect_merge(&around, &cell);
    }
    const struct vf_expect_interval interval = vf_expect_interval(s, &e, a, &around);
    if (!(interval.half_px > 0.0f)) return VF_NONE;
    const struct vf_level *l = &s->geometry.scale[1][0];
    const struct vf_stereo_position own = {a->x_q16, a->y_q16};
    struct vf_stereo_position at = vf_expect_begin(l, own);
    struct vf_epipolar_line line;
    for (int step = 0;; step++) {
        float here[3], to_right[3], below[3];
        vf_bearing_at(s->bearing->node[1], s->geometry.nodes_x[1], at.x_q16, at.y_q16, here);
        const int found = find_line(s, &e, at, here, to_right, below, &line);
        if (step == VF_EXPECT_STEPS && !(found && vf_expect_reached(s->geometry.focal_px[1], interval.towards, here)))
            return VF_NONE;
        if (step == VF_EXPECT_STEPS) break;
        at = vf_expect_step(l, at, interval.towards, here, to_right, below);
    }
    line.start = vf_stereo_move_across(&line, line.start, offsets->epipolar);
    line.start = vf_stereo_move(&line, line.start, offsets->disparity);
    return measure_depth(s, &e, &line, offsets, interval.half_px, i, out);
}

/** Depth of point i of camera 0: from its match if it passes the cross-check, else from the interval expected from the
 *  previous frame. Returns the ZSAD of the patch, or VF_NONE without depth. */
static uint32_t find_depth(const struct vf_stereo_view *s, const struct vf_stereo_offsets *offsets, int expected,
                           uint32_t i, vfront_depth_t *out)
{
    const uint32_t best = s->stereo->best[i], j = best & 0xffff;
    const int mutual = best != VF_NONE && s->stereo->back[s->parity][j] == vf_packed_match(best >> 16, i);
    memset(&s->stereo->distance[i], 0, sizeof s->stereo->distance[i]);
    if (!mutual && !expected) return VF_NONE;
    const uint32_t cost = mutual ? depth_of_match(s, offsets, i, j, out) : depth_expected(s, offsets, i, out);
    if (cost == VF_NONE) return VF_NONE;
    out->keypoint = (uint16_t)i;
    out->match = (uint16_t)(mutual ? j : VFRONT_NO_MATCH);
    out->distance = (uint16_t)(mutual ? best >> 16 : 0);
    out->reserved = 0;
    return cost;
}

/** Fills this frame's grid of expected depths with the predicted points of the previous frame. */
static void fill_grid(const struct vf_stereo_view *s)
{
    for (int32_t i = 0; i < vf_expect_count(s); i++) {
        struct vf_expect_cell add;
        int32_t cell;
        if (vf_expect_point(s, (uint32_t)i, &cell, &add)) vf_expect_merge(&s->stereo->expected[s->parity][cell], &add);
    }
}

/** 1 if point i of camera 0 has a depth, and it is from a match, not from an expected interval. */
static int of_match(const struct vf_stereo_memory *m, uint32_t i)
{
    return m->cost[i] != VF_NONE && m->candidate[i].match != VFRONT_NO_MATCH;
}

/** Upper median of the costs (ZSAD) of the matches with a depth, found bit by bit from the highest. Without such
 *  matches a value above every cost. */
static uint32_t median(const struct vf_stereo_memory *m, uint32_t count)
{
    uint32_t valid = 0, least = 0;
    for (uint32_t i = 0; i < count; i++) valid += (uint32_t)of_match(m, i);
    if (!valid) return VF_NONE - 1;
    for (int bit = 31; bit >= 0; bit--) {
        const uint32_t trial = least | 1u << bit;
        uint32_t above = 0;
        for (uint32_t i = 0; i < count; i++) above += of_match(m, i) && m->cost[i] >= trial;
        if (above >= (valid + 1) / 2) least = trial;
    }
    return least;
}

/** Updates the state of the camera pair from the distances of all matches to their epipolar lines. */
static void assess_pair(const struct vf_stereo_view *s)
{
    struct vf_stereo_memory *m = s->stereo;
    struct vf_pair_sums sum;
    memset(&sum, 0, sizeof sum);
    for (uint32_t i = 0; i < s->bearing->count[s->parity][0]; i++) vf_pair_add(&sum, m->distance[i]);
    m->pair[s->parity] = vf_stereo_assess(s, &sum);
}
#endif

void vf_stereo_host(const struct vf_stereo_view *s)
{
#if VFRONT_STEREO
    struct vf_stereo_memory *m = s->stereo;
    const struct camera_points left = camera_points_of(s, 0), right = camera_points_of(s, 1);
    const struct vf_stereo_offsets offsets = vf_stereo_offsets_of(
        s, vf_epipolar_estimate(s->epipolar, s->geometry.active, s->parity ^ 1),
        vf_ego_disparity(s->ego, s->geometry.active, s->parity ^ 1));
    const int expected = vf_expect_active(s);
    match_descriptors(s, &left, &right);
    if (expected) fill_grid(s);
    for (uint32_t i = 0; i < left.count; i++) m->cost[i] = find_depth(s, &offsets, expected, i, &m->candidate[i]);
    assess_pair(s);
    const uint32_t median_cost = median(m, left.count);
    vf_stereo_clear(m, s->parity ^ 1, 0, 1);
    m->count = 0;
    for (uint32_t i = 0; i < left.count; i++) {
        const int valid = m->cost[i] != VF_NONE && vf_expect_listed(of_match(m, i), &m->pair[s->parity]) &&
                          !vf_stereo_outlier(&s->tuning, m->cost[i], median_cost);
        if (valid) m->depth[m->count++] = m->candidate[i];
        vf_stereo_store_range(m, s->parity, i, left.point[i].bearing, valid ? &m->candidate[i] : NULL);
    }
#else
    (void)s;
#endif
}
