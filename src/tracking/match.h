/* SPDX-License-Identifier: MIT */
/* match: matches the key points of camera 0 with those of the previous frame, by descriptors.
 *
 * In      key points (bearing, position, level), orientations, descriptors and pyramids of this and the previous frame;
 *         matches and distances of the previous frame; predicted motion
 * Out     matches by rising key point of this frame: both indices, descriptor distances, subpixel position and bearing;
 *         bearings in the previous frame, for the next prediction
 * Rule    - candidates: key points whose levels differ by at most match_levels and, in a guided search, whose bearing
 *           lies within a window around the prediction
 *         - prediction: by the motion if it has a translation and the point a depth, else by the rotation and the
 *           point's parallax. The covariance sets the window, up to match_radius_px. Without calibration of camera 0:
 *           constant velocity and the largest window
 *         - match: mutually best candidates by Hamming distance, with a ratio test against the best candidate at
 *           another place (vf_points_apart())
 *         - roll: the change of orientation that most matches share. Matches that differ from it by more than
 *           match_turn_deg are dropped. The roll is the peak of a histogram of 256 bins, smoothed by a triangle of
 *           +-30 degrees, which unlike 30-degree bins has no borders that could split a peak
 *         - refinement: the patch around the previous key point is aligned with level 0 of this frame (match_refine.h),
 *           because key points lie on whole pixels of their level
 *         - tracks: successive matches form a track with an id and an age. It starts at a key point and moves by the
 *           refined motion, so that it follows one scene point
 * Exact   integers; predictions, windows, Gauss-Newton steps and bearings in single precision in one order, roots and
 *         quotients correctly rounded
 * Memory  148 bytes a key point: best and second best candidates by parity, predicted bearings, previous bearings and
 *         links by parity, matches
 * Shared  candidate test, packing, roll and prediction (this file), alignment (match_refine.h). Written twice: the
 *         search (match.c: tiles of the previous frame's points with a bounding-box test, vector code over a tile;
 *         match.cu: one block for several points of this frame, which lists their candidates) and the Hamming distance
 *         (match.c: bit-sliced adders over a tile; nearest.cuh: population counts of one pair)
 */
#ifndef VF_MATCH_H
#define VF_MATCH_H

#include "base/view.h"
#include "features/bearing.h"
#include "features/describe.h"
#include "geometry/prediction.h"
#include "geometry/stereo.h"
#include "image/ingest.h"
#include "track.h"

/** Position and track of a match, stored at its key point. The next frame's match of that key point continues the track
 *  from there. */
struct vf_match_link {
    int32_t x_q16, y_q16; /* position of the match [1/65536 px of level 0] */
    uint32_t id, age;     /* id and age [frames] of its track, as in vfront_match_t; age 0: no match */
};

#if VFRONT_MATCHES
/** Search windows for the matches of the previous frame's key points, as a structure of arrays. */
struct vf_match_expected {
    float x[VFRONT_KEYPOINTS], y[VFRONT_KEYPOINTS], z[VFRONT_KEYPOINTS], /* predicted bearings */
        reach[VFRONT_KEYPOINTS];  /* radius of the window beyond the smallest one [focal lengths] */
    float step[VFRONT_KEYPOINTS]; /* pixel size of the key point's level [px of level 0] */
};

/** Memory of match. Best candidates are packed as Hamming distance and index, vf_packed_match(); VF_NONE: none. */
struct vf_match_memory {
    /* [parity][key point of the previous frame]: its best candidate in this frame. A frame uses its own set of back,
     * found and second, and clears the other. */
    uint32_t back[2][VFRONT_KEYPOINTS];
    uint32_t found[2][VFRONT_KEYPOINTS]; /* [parity][key point]: its best candidate in the previous frame */
    /* [parity][key point]: least Hamming distance of a candidate at another place than the best one; 256: none. Only
     * for key points that pass the cross-check. */
    uint32_t second[2][VFRONT_KEYPOINTS];
    struct vf_match_expected expected; /* search windows for the previous frame's key points */
    /* [parity][key point]: bearing of its match in the frame before; 0 0 0: no match */
    float before[2][VFRONT_KEYPOINTS][3];
    struct vf_match_link link[2][VFRONT_KEYPOINTS]; /* [parity][key point]: position and track of its match */
    vfront_match_t match[VFRONT_KEYPOINTS];         /* out: matches by rising index of the key point in this frame */
    uint32_t count;                                 /* number of matches in `match` */
};
#else
struct vf_match_memory {
    uint64_t nothing;
};
#endif

/* What match reads: lists from which base/view.h makes the members of its view. */
/* clang-format off */
#define VF_READS_match(X) X(ingest) X(rectify) X(pyramid) X(predict) X(bearing) X(describe)
#define VF_BEFORE_match(X) X(stereo)
#define VF_GEOMETRY_match(X) X(active) X(levels) X(nodes_x) X(focal_px)
#define VF_TUNING_match(X)                                                                                             \
    X(match) X(match_radius_px) X(match_levels) X(match_distance) X(match_ratio_percent) X(match_turn_deg)      \
    X(select_points)
/* clang-format on */
VF_GEOMETRY_OF(match);
VF_TUNING_OF(match);
struct vf_match_view {
    VF_VIEW(match);
    struct vf_match_tuning tuning;
    struct vf_align_view align;
};
VF_HOST_FORM(match);

/** Number of matches in this frame; 0 if the stage is off. active: bits of the active stages. */
VF_FN uint32_t vf_match_count(const struct vf_match_memory *m, uint32_t active)
{
#if VFRONT_MATCHES
    if (active & VF_BIT(match)) return m->count;
#endif
    (void)m, (void)active;
    return 0;
}

#if VFRONT_MATCHES
/** Clears the best and second best candidates of every `step`-th key point from `first` on. parity: the set that is
 *  cleared. */
VF_FN void vf_match_clear(struct vf_match_memory *m, int32_t parity, int32_t first, int32_t step)
{
    for (int32_t i = first; i < VFRONT_KEYPOINTS; i += step) {
        m->back[parity][i] = m->found[parity][i] = VF_NONE;
        m->second[parity][i] = 256;
    }
}
#endif

/* ---- search ------------------------------------------------------------------------------------------------------ */

#define VF_MATCH_RADIUS_MIN_PX 6.0f /* radius of the search window for an exact prediction on level 0 [px] */
#define VF_MATCH_SIGMAS 3.0f        /* radius added to the search window [standard deviations of the prediction] */
#define VF_MATCH_ANYWHERE 1e9f      /* radius added without a prediction [focal lengths]: the upper limit applies */

/** Limits of the search for matches, from the tuning. */
struct vf_match_bounds {
    float radius;      /* largest radius of the search window for key points of level 0 [focal lengths] */
    float least;       /* smallest radius of the window, for an exact prediction [focal lengths] */
    int32_t expected;  /* 1: the stage predict is active, and its covariance sets the radii of the windows */
    int32_t predicted; /* 1: the predicted motion includes a translation */
    int32_t guided;    /* 1: matches are searched in windows; 0: in the whole image */
    int32_t levels;    /* largest difference between the pyramid levels of two matching key points */
    uint32_t distance; /* largest Hamming distance between the descriptors of a match */
};
VF_FN struct vf_match_bounds vf_match_bounds(const struct vf_match_view *s)
{
    const struct vf_match_tuning *t = &s->tuning;
    struct vf_match_bounds b;
    b.radius = (float)t->match_radius_px / s->geometry.focal_px[0];
    b.least = VF_MATCH_RADIUS_MIN_PX / s->geometry.focal_px[0];
    b.expected = (s->geometry.active & VF_BIT(predict)) != 0;
    b.predicted = b.expected && vf_predict_has_translation(&s->predict->now);
    b.guided = t->match != VFRONT_MATCH_WHOLE;
    b.levels = t->match_levels;
    b.distance = (uint32_t)t->match_distance;
    return b;
}

/** Search window for the match of a previous frame's key point. */
struct vf_match_search {
    float bearing[3], /* predicted bearing in this frame */
        reach;        /* radius beyond the smallest one [focal lengths] */
};

#if VFRONT_MATCHES
/** Search window at constant velocity with the largest radius, for a camera 0 without calibration. before: bearing of
 *  the key point's match in the frame before; 0: none. */
VF_FN struct vf_match_search vf_match_constant_velocity(const float bearing[3], const float before[3])
{
    struct vf_match_search search;
    const int seen = vf_dot(before, before) > 0.0f;
    for (int k = 0; k < 3; k++) search.bearing[k] = seen ? bearing[k] + (bearing[k] - before[k]) : bearing[k];
    if (seen) vf_unit(search.bearing);
    search.reach = VF_MATCH_ANYWHERE;
    return search;
}

/** Search window for key point j of the previous frame, whose bearing is `bearing`. The prediction uses the predicted
 *  translation with the point's depth, or with the mean depth if the point had no match. Otherwise it uses the
 *  predicted rotation and the point's parallax. */
VF_FN struct vf_match_search vf_match_predict(const struct vf_match_view *s, const struct vf_match_bounds *b,
                                              uint32_t j, const float bearing[3])
{
    const float *before = s->match->before[s->parity ^ 1][j];
    if (!b->expected) return vf_match_constant_velocity(bearing, before);
    const struct vf_range_estimate r = vf_stereo_range(s->stereo, s->parity ^ 1, j);
    const struct vf_depth_prior *prior = &s->predict->prior;
    const int known = r.m > 0.0f, seen = vf_dot(before, before) > 0.0f && !s->predict->parallax.stale;
    struct vf_match_search search;
    struct vf_expected e;
    if (b->predicted && (known || (!seen && prior->mean_1pm > 0.0f)))
        e = vf_predict_point(&s->predict->now, bearing, known ? 1.0f / r.m : prior->mean_1pm,
                             known ? r.sigma_m / (r.m * r.m) : prior->sigma_1pm);
    else
        e = vf_predict_ray(&s->predict->now, &s->predict->parallax, bearing, before);
    for (int k = 0; k < 3; k++) search.bearing[k] = e.bearing[k];
    search.reach = VF_MATCH_SIGMAS * e.sigma;
    return search;
}

/** Computes and stores the search window for key point j of the previous frame. */
VF_FN void vf_match_expect(const struct vf_match_view *s, const struct vf_match_bounds *b, uint32_t j)
{
    const struct vf_point *p = &s->bearing->point[s->parity ^ 1][0][j];
    const struct vf_match_search search = vf_match_predict(s, b, j, p->bearing);
    struct vf_match_expected *e = &s->match->expected;
    e->x[j] = search.bearing[0];
    e->y[j] = search.bearing[1];
    e->z[j] = search.bearing[2];
    e->reach[j] = search.reach;
    e->step[j] = p->step;
}
#endif

/** Stores a key point's bearing in the previous frame, from which the next frame predicts. before: bearing of its match
 *  there; NULL: no match. */
VF_FN void vf_match_keep(const float *before, float kept[3])
{
    for (int k = 0; k < 3; k++) kept[k] = before ? before[k] : 0.0f;
}

/** Squared radius of a search window [focal lengths^2]. step: pixel size of the coarser level of the two key points [px
 *  of level 0]; reach: radius beyond the smallest one. */
VF_FN float vf_match_radius2(const struct vf_match_bounds *b, float step, float reach)
{
    const float most = b->radius * step, own = b->least * step + reach, radius = own < most ? own : most;
    return radius * radius;
}

/** 1 if the difference (x, y, z) of two bearings is within a radius. radius2: square of the radius. */
VF_FN int vf_match_in_radius(float radius2, float x, float y, float z) { return x * x + y * y + z * z <= radius2; }

#if VFRONT_MATCHES
/** Id of a new track that begins with the match of key point i of this frame. */
VF_FN uint32_t vf_match_new_id(const struct vf_match_view *s, uint32_t i)
{
    return (uint32_t)s->ingest->params.frame * (uint32_t)VFRONT_KEYPOINTS + i;
}

/** Makes the match of key point i of this frame; its positions are set later. found: packed best candidate; second:
 *  second best Hamming distance. The match continues the track of its previous key point, or begins one. */
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

/** Empty link (position and track), of a key point without a match. */
VF_FN struct vf_match_link vf_match_unlinked(void)
{
    const struct vf_match_link none = {0, 0, 0, 0};
    return none;
}

/** Copy of the link of key point p. Without a match its position is that of the key point. */
VF_FN struct vf_match_link vf_match_link_from(struct vf_match_link link, const struct vf_point *p)
{
    if (!link.age) {
        link.x_q16 = p->x_q16;
        link.y_q16 = p->y_q16;
    }
    return link;
}
#endif

/** Cross-check: 1 if two key points are each other's best candidates. found: packed best candidate of key point i of
 *  this frame; back: packed best candidate of that candidate. */
VF_FN int vf_match_mutual(uint32_t found, uint32_t back, uint32_t i)
{
    return found != VF_NONE && back == vf_packed_match(found >> 16, i);
}

/* ---- roll -------------------------------------------------------------------------------------------------------- */

#define VF_ROLL_BINS 256      /* number of histogram bins of a full turn */
#define VF_ROLL_HALF_WIDTH 21 /* half width of the triangle that smooths the histogram [bins]: 30 degrees */

/** Change of orientation of a match since the previous frame [1/65536 turn]. */
VF_FN uint32_t vf_match_orientation_change(float now_rad, float before_rad)
{
    const float scale = 10430.37835f; /* 2^16 / (2 pi): from rad to 1/65536 turn */
    return (uint32_t)(vf_round(now_rad * scale) - vf_round(before_rad * scale)) & 0xffff;
}

/** Histogram bin (0 .. VF_ROLL_BINS - 1) of a change of orientation [1/65536 turn]. */
VF_FN int32_t vf_match_roll_bin(uint32_t change) { return (int32_t)((change + 128) >> 8 & (VF_ROLL_BINS - 1)); }

/** Value of the smoothed histogram of orientation changes at bin `centre`, with the complement of the bin in the low
 *  byte. The greatest score belongs to the roll. */
VF_FN uint32_t vf_match_roll_score(const int32_t bin[VF_ROLL_BINS], int32_t centre)
{
    int32_t sum = 0;
    for (int32_t k = 1 - VF_ROLL_HALF_WIDTH; k < VF_ROLL_HALF_WIDTH; k++)
        sum += (VF_ROLL_HALF_WIDTH - vf_abs(k)) * bin[(centre + k) & (VF_ROLL_BINS - 1)];
    return (uint32_t)sum << 8 | (uint32_t)(VF_ROLL_BINS - 1 - centre);
}

/** Histogram bin that vf_match_roll_score() has stored in a score. */
VF_FN int32_t vf_match_roll_peak(uint32_t score) { return VF_ROLL_BINS - 1 - (int32_t)(score & 255); }

/** 1 if the change of orientation of a match differs from the roll by at most match_turn_deg. change: [1/65536 turn];
 *  roll: histogram bin. */
VF_FN int vf_match_roll_agrees(const struct vf_match_tuning *t, uint32_t change, int32_t roll)
{
    const int32_t apart = (int32_t)((change - ((uint32_t)roll << 8)) & 0xffff);
    return vf_min(apart, 65536 - apart) <= t->match_turn_deg * 65536 / 360;
}

#endif
