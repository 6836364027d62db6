/* SPDX-License-Identifier: MIT */
/* match: matches the key points of camera 0 with those of the previous frame, by their descriptors.
 *
 * In      key points (bearing, position, level), orientations, descriptors and pyramids of this frame and the previous
 *         one; matches of the previous frame; what predict says; ranges of the previous frame; parameters
 * Out     match list by rising key point of this frame: both indices, descriptor distances, sub-pixel position and
 *         bearing; bearings in the previous frame, for the next frame's prediction
 * Rule    two key points are candidates of each other if their levels differ by at most match_levels and, in a guided
 *         search, this frame's lies within a window around the predicted position of the other. Position and window are
 *         predict's: by the motion where it has a translation and the point a depth, else by the rotation and the
 *         point's parallax; its covariance sets the window, up to match_window_px. Where camera 0 has no calibration it
 *         is at constant velocity, with the largest window. Best candidate by Hamming distance,
 *         with a ratio test against the second best at another place, and a cross-check: each must be the other's best.
 *         The camera may have rolled: the difference of orientations of most matches is the roll of the picture, and a
 *         match whose difference is more than match_turn_deg from it is dropped. The roll is the peak of a histogram of
 *         256 bins smoothed by a triangle of 30 degrees to each side. (ORB-SLAM's bins of 30 degrees split a peak that
 *         lies on the border of two; a sliding triangle has no borders.) Key points lie on whole pixels of their level.
 *         So every match is settled: the patch around the previous key point is aligned with level 0 of this frame,
 *         from this frame's key point on, by the tracker's Gauss-Newton (match_flow.h); that gives the match a
 *         sub-pixel position. Matches of successive frames link to a chain, with a number and an age: it begins
 *         at a key point and moves as the patches around its key points do, so that it follows one point and not the
 *         nearest pixel of each frame
 * Exact   integers, except predictions, windows, Gauss-Newton steps and bearings: single precision in one order, roots
 *         and quotients correctly rounded
 * Memory  148 bytes a key point: best candidates both ways and second best by parity, expected places, bearings before
 *         and links by parity, and the match list
 * Shared  candidate test, packing, roll and predictions are here, the alignment is in match_flow.h. Written twice: the
 *         search (match.c: tiles of the previous frame's points with a test of their bounding box, vector code over a
 *         tile; match.cu: a block for a few of this frame's, which lists their candidates) and the Hamming distance
 *         (match.c: bit-sliced adders over a tile; nearest.cuh: population counts of one pair) */
#ifndef VF_MATCH_H
#define VF_MATCH_H

#include "core/view.h"
#include "features/bearing.h"
#include "features/describe.h"
#include "geometry/predict.h"
#include "image/ingest.h"
#include "track.h"

/** Link from a match to that of the next frame, by the key point that it ends in. */
struct vf_match_link {
    int32_t x_q16, y_q16; /* its position [1/65536 px] */
    uint32_t id, age;     /* of its chain, as in vfront_match_t; age 0: there is no match */
};

#if VFRONT_MATCHES
/** Predicted bearings of the previous frame's key points, reach of their windows (vf_match_place), size of their
 *  pixels. */
struct vf_match_expected {
    float x[VFRONT_KEYPOINTS], y[VFRONT_KEYPOINTS], z[VFRONT_KEYPOINTS], reach[VFRONT_KEYPOINTS];
    float step[VFRONT_KEYPOINTS];
};

/** A best candidate is a number of its Hamming distance and its index, vf_packed_match(); VF_NONE: there is none. */
struct vf_match_memory {
    /* Candidates by parity; a step uses its own set and clears the other for the next step, vf_match_clear(). */
    uint32_t back[2][VFRONT_KEYPOINTS];  /* best candidate in this frame of each key point of the previous frame */
    uint32_t found[2][VFRONT_KEYPOINTS]; /* best candidate in the previous frame of each key point of this frame */
    /* of each key point of this frame that passes the cross-check: distance of the second best elsewhere; 256: none */
    uint32_t second[2][VFRONT_KEYPOINTS];
    struct vf_match_expected expected; /* where those of the previous frame are looked for */
    /* [parity of the frame]: bearings in the frame before of its key points; 0 0 0: no match */
    float before[2][VFRONT_KEYPOINTS][3];
    struct vf_match_link link[2][VFRONT_KEYPOINTS]; /* likewise: of the match of each of its key points */
    vfront_match_t match[VFRONT_KEYPOINTS];         /* by rising index in this frame */
    uint32_t count;                                 /* of matches */
};
#else
struct vf_match_memory {
    uint64_t nothing;
};
#endif

/* View of match: core/view.h. */
/* clang-format off */
#define VF_READS_match(X) X(ingest) X(rectify) X(pyramid) X(predict) X(bearing) X(describe)
#define VF_BEFORE_match(X) X(stereo)
#define VF_GEOMETRY_match(X) X(active) X(levels) X(nodes_x) X(focal_px)
#define VF_TUNING_match(X)                                                                                             \
    X(match_window_px) X(match_guided) X(match_levels) X(match_distance) X(match_ratio_percent) X(match_turn_deg)      \
    X(match_settle) X(match_residual_grey) X(select_points)
/* clang-format on */
VF_GEOMETRY_OF(match);
VF_TUNING_OF(match);
struct vf_match_view {
    VF_VIEW(match);
    struct vf_match_tuning tuning;
    struct vf_align_view align;
};
VF_HOST_FORM(match);

/** Length of the match list; active: of geometry. */
VF_FN uint32_t vf_match_count(const struct vf_match_memory *m, uint32_t active)
{
#if VFRONT_MATCHES
    if (active & VF_BIT(match)) return m->count;
#endif
    (void)m, (void)active;
    return 0;
}

#if VFRONT_MATCHES
/** Clears the candidates of a parity: every `step`-th key point from `first` on. */
VF_FN void vf_match_clear(struct vf_match_memory *m, int32_t parity, int32_t first, int32_t step)
{
    for (int32_t i = first; i < VFRONT_KEYPOINTS; i += step) {
        m->back[parity][i] = m->found[parity][i] = VF_NONE;
        m->second[parity][i] = 256;
    }
}
#endif

/* ---- search ------------------------------------------------------------------------------------------------------ */

/** Window of an expected position: radius where the prediction is exact, for key points of level 0 [px]; and standard
 *  deviations that are added to it. */
#define VF_MATCH_LEAST_PX 6.0f
#define VF_MATCH_SIGMAS 3.0f
#define VF_MATCH_ANYWHERE 1e9f /* reach of a place that nothing is known of: the largest window holds */

/** Bounds of the search, from the tuning. */
struct vf_match_bounds {
    float window;      /* largest radius of the window for key points of level 0 [focal lengths] */
    float least;       /* the least one, where the prediction is exact [focal lengths] */
    int32_t expected;  /* 1: there is a prediction, whose covariance sets the windows */
    int32_t predicted; /* 1: it has a translation */
    int32_t guided;    /* 1: search in the window, 0: in the whole picture */
    int32_t levels;    /* largest difference of levels */
    uint32_t distance; /* largest Hamming distance of a match */
};
VF_FN struct vf_match_bounds vf_match_bounds(const struct vf_match_view *s)
{
    const struct vf_match_tuning *t = &s->tuning;
    struct vf_match_bounds b;
    b.window = (float)t->match_window_px / s->geometry.focal_px[0];
    b.least = VF_MATCH_LEAST_PX / s->geometry.focal_px[0];
    b.expected = (s->geometry.active & VF_BIT(predict)) != 0;
    b.predicted = b.expected && vf_predict_moves(&s->predict->now);
    b.guided = t->match_guided;
    b.levels = t->match_levels;
    b.distance = (uint32_t)t->match_distance;
    return b;
}

/** Search window of a key point of the previous frame: predicted bearing; radius of the window beyond its least one
 *  [focal lengths]. */
struct vf_match_place {
    float bearing[3], reach;
};

#if VFRONT_MATCHES
/** Place of a key point at constant velocity, where camera 0 has no calibration: with the largest window. */
VF_FN struct vf_match_place vf_match_steady(const float bearing[3], const float before[3])
{
    struct vf_match_place place;
    const int seen = vf_dot(before, before) > 0.0f;
    for (int k = 0; k < 3; k++) place.bearing[k] = seen ? bearing[k] + (bearing[k] - before[k]) : bearing[k];
    if (seen) vf_unit(place.bearing);
    place.reach = VF_MATCH_ANYWHERE;
    return place;
}

/** Place of key point j of the previous frame, at `bearing` there: by the predicted translation and its depth or, if it
 *  had no match either, what is usual for depths; else by the predicted rotation and its parallax. */
VF_FN struct vf_match_place vf_match_predict(const struct vf_match_view *s, const struct vf_match_bounds *b, uint32_t j,
                                             const float bearing[3])
{
    const float *before = s->match->before[s->parity ^ 1][j];
    if (!b->expected) return vf_match_steady(bearing, before);
    const struct vf_range_estimate r = vf_stereo_range(s->stereo, s->parity ^ 1, j);
    const struct vf_depth_prior *prior = &s->predict->prior;
    const int known = r.m > 0.0f, seen = vf_dot(before, before) > 0.0f && !s->predict->parallax.stale;
    struct vf_match_place place;
    struct vf_expected e;
    if (b->predicted && (known || (!seen && prior->mean_1pm > 0.0f)))
        e = vf_predict_point(&s->predict->now, bearing, known ? 1.0f / r.m : prior->mean_1pm,
                             known ? r.sigma_m / (r.m * r.m) : prior->sigma_1pm);
    else
        e = vf_predict_ray(&s->predict->now, &s->predict->parallax, bearing, before);
    for (int k = 0; k < 3; k++) place.bearing[k] = e.bearing[k];
    place.reach = VF_MATCH_SIGMAS * e.sigma;
    return place;
}

/** Keeps where key point j of the previous frame is looked for. */
VF_FN void vf_match_expect(const struct vf_match_view *s, const struct vf_match_bounds *b, uint32_t j)
{
    const struct vf_point *p = &s->bearing->point[s->parity ^ 1][0][j];
    const struct vf_match_place place = vf_match_predict(s, b, j, p->bearing);
    struct vf_match_expected *e = &s->match->expected;
    e->x[j] = place.bearing[0];
    e->y[j] = place.bearing[1];
    e->z[j] = place.bearing[2];
    e->reach[j] = place.reach;
    e->step[j] = p->step;
}
#endif

/** Bearing of a key point in the previous frame, for the next frame's prediction; before: of its match there; NULL: it
 *  has none. */
VF_FN void vf_match_keep(const float *before, float kept[3])
{
    for (int k = 0; k < 3; k++) kept[k] = before ? before[k] : 0.0f;
}

/** Squared radius of the window around a place, of key points whose pixels have the size `step` [px of level 0]. Of two
 *  levels the coarser one's counts, which is the greater. */
VF_FN float vf_match_radius2(const struct vf_match_bounds *b, float step, float reach)
{
    const float most = b->window * step, own = b->least * step + reach, radius = own < most ? own : most;
    return radius * radius;
}

/** Window test: 1 if the difference (x, y, z) of two bearings is within the radius. */
VF_FN int vf_match_in_window(float radius2, float x, float y, float z) { return x * x + y * y + z * z <= radius2; }

#if VFRONT_MATCHES
/** Number of the chain that begins with the match of key point i of this frame. */
VF_FN uint32_t vf_match_new_id(const struct vf_match_view *s, uint32_t i)
{
    return (uint32_t)s->ingest->params.frame * (uint32_t)VFRONT_KEYPOINTS + i;
}

/** Makes the match of key point i of this frame, without its positions; it goes on with the chain of its key point in
 *  the previous frame, or begins one. */
VF_FN vfront_match_t vf_match_make(const struct vf_match_view *s, uint32_t i, uint32_t found, uint32_t second)
{
    const struct vf_match_link *chain = &s->match->link[s->parity ^ 1][found & 0xffff];
    vfront_match_t m;
    memset(&m, 0, sizeof m);
    m.keypoint = (uint16_t)i;
    m.before = (uint16_t)(found & 0xffff);
    m.distance = (uint16_t)(found >> 16);
    m.second = (uint16_t)second;
    m.id = chain->age ? chain->id : vf_match_new_id(s, i);
    m.age = chain->age + 1;
    return m;
}

/** The link of a key point without a match. */
VF_FN struct vf_match_link vf_match_unlinked(void)
{
    const struct vf_match_link none = {0, 0, 0, 0};
    return none;
}

/** A link that has the position of the key point where there was no match. */
VF_FN struct vf_match_link vf_match_link_from(struct vf_match_link link, const struct vf_point *p)
{
    if (!link.age) {
        link.x_q16 = p->x_q16;
        link.y_q16 = p->y_q16;
    }
    return link;
}
#endif

/** Cross-check: 1 if two key points are each other's best. found: best candidate of key point i of this frame; back:
 *  best of that one. */
VF_FN int vf_match_mutual(uint32_t found, uint32_t back, uint32_t i)
{
    return found != VF_NONE && back == vf_packed_match(found >> 16, i);
}

/* ---- roll of the picture ----------------------------------------------------------------------------------------- */

#define VF_ROLL_BINS 256      /* histogram bins of a full turn */
#define VF_ROLL_HALF_WIDTH 21 /* bins from the top of the triangle to where its weight is 0: 30 degrees */

/** Difference of orientation of a match, now - before, in 1/2^16 of a full turn. */
VF_FN uint32_t vf_match_orientation_change(float now_rad, float before_rad)
{
    const float scale = 10430.37835f; /* 2^16 / (2 pi) */
    return (uint32_t)(vf_round(now_rad * scale) - vf_round(before_rad * scale)) & 0xffff;
}

/** Histogram bin of a difference of orientation. */
VF_FN int32_t vf_match_roll_bin(uint32_t change) { return (int32_t)((change + 128) >> 8 & (VF_ROLL_BINS - 1)); }

/** Histogram smoothed by the triangle at a bin, and the bin, as one number; the greatest of all bins is that of the
 *  roll. */
VF_FN uint32_t vf_match_roll_score(const int32_t bin[VF_ROLL_BINS], int32_t centre)
{
    int32_t sum = 0;
    for (int32_t k = 1 - VF_ROLL_HALF_WIDTH; k < VF_ROLL_HALF_WIDTH; k++)
        sum += (VF_ROLL_HALF_WIDTH - vf_abs(k)) * bin[(centre + k) & (VF_ROLL_BINS - 1)];
    return (uint32_t)sum << 8 | (uint32_t)(VF_ROLL_BINS - 1 - centre);
}

/** Bin of the greatest score. */
VF_FN int32_t vf_match_roll_peak(uint32_t score) { return VF_ROLL_BINS - 1 - (int32_t)(score & 255); }

/** Consistency with the roll: 1 if a match's difference of orientation is within match_turn_deg of the bin `roll`. */
VF_FN int vf_match_roll_agrees(const struct vf_match_tuning *t, uint32_t change, int32_t roll)
{
    const int32_t apart = (int32_t)((change - ((uint32_t)roll << 8)) & 0xffff);
    return vf_min(apart, 65536 - apart) <= t->match_turn_deg * 65536 / 360;
}

#endif
