/* SPDX-License-Identifier: MIT */
/* road: first half of stixel. Estimates the line d = slope * (row - horizon) of the ground plane in v-disparity space.
 * From it follow the expected disparity of the ground in every row and the parameters of its data term.
 *
 * In      v-disparity mask of the frame (stixel.c, kernels/depth/road.cuh); road of the previous frame
 * Out     vf_stixel_memory.road, horizon and ground[]
 * Rule    - v-disparity: histogram of integer disparities of each row. A bin votes if it holds at least half as many
 *           pixels as the largest bin of its row, and a 16th of the row. (Half of the image's largest bin, as in paper
 *           002's program, would miss a banked road.)
 *         - Hough transform, 1 degree and 1 px: the strongest line with a pitch within pitch_ppt is fitted by least
 *           squares to the bins within 1 px of it
 *         - filter: the new road is the mean of the previous road and this frame's line. If the line is missing or
 *           jumps, the previous road is used, for at most VF_ROAD_HOLD frames
 * Exact   integers; road and ground model in double precision with + - * / and roots
 * Shared  all arithmetic. Written twice: the loops of the Hough accumulator and of the sums over bins, which add
 *         integers in any order
 *
 * Rows count from the top in the v-disparity mask and in struct vf_road, from the bottom in the ground model.
 */
#ifndef VF_ROAD_H
#define VF_ROAD_H

#include <math.h> /* sqrt: correctly rounded */

#include "stixel_tables.h"

#if VFRONT_STIXELS

#define VF_ROAD_HOLD 10       /* largest number of consecutive frames without a line in which the last road is used */
#define VF_ROAD_DROP 2        /* depth of ditches and banks below the road [step_mm] */
#define VF_ROAD_VOTES_MIN 25  /* a road line needs more votes than this in the Hough transform */
#define VF_ROAD_VOTE_SHARE 16 /* at least 1 in this many voting bins must lie within 1 px of the road line */

/** Road as a line in v-disparity space, d = slope * (row - horizon_px), rows from the top, filtered over frames. */
struct vf_road {
    double horizon_px, slope; /* horizon: row of disparity 0 [px]; slope: disparity per row [px/px] */
    uint32_t state;           /* vfront_road_state_t */
    uint32_t unseen;          /* number of consecutive frames without a line */
    uint32_t votes;           /* votes of this frame's line in the Hough transform */
    uint32_t reserved;
};

/** Data term of a row as ground: Gaussian about the disparity of the road in that row, or of ground a step higher or
 *  lower. */
struct vf_ground_model {
    int32_t expected_q8; /* disparity of the road in the row [px/256]; 0 above the horizon */
    int32_t rise_q8;     /* excess over it of level ground step_mm above the road [px/256] */
    int32_t drop_q8;     /* what ground VF_ROAD_DROP * step_mm below the road lacks of it [px/256] */
    int32_t norm;        /* cost of a row whose disparity is the expected one [nat/4096] */
    uint32_t weight;     /* factor of the squared difference [2^-24 nat/4096 per (px/256)^2] */
};

/* ---- v-disparity ------------------------------------------------------------------------------------------------- */

#define VF_STIXEL_CONFIDENCE 72 /* least confidence of a disparity that road and stixels use, 1 .. 255 */

/** 1 if road and stixels use a pixel: it has a disparity with a confidence of at least VF_STIXEL_CONFIDENCE. Filled
 *  pixels and noise, as in the sky, have less. */
VF_FN int vf_stixel_counts(uint32_t pixel, uint32_t confidence)
{
    return pixel != VF_DENSE_NONE && confidence >= VF_STIXEL_CONFIDENCE;
}

/** v-disparity bin of a pixel: its integer disparity; 0 if road and stixels do not use it. Bin 0 never votes, because
 *  far pixels do not constrain the road. */
VF_FN int32_t vf_road_bin(uint32_t pixel, uint32_t confidence, int32_t disparities)
{
    const int32_t d = !vf_stixel_counts(pixel, confidence) ? 0 : (int32_t)(pixel / VF_DENSE_UNITS);
    return d < disparities ? d : 0;
}

/** 1 if a v-disparity bin with `count` pixels votes in the Hough transform. count_max: largest bin of the same row;
 *  width: image width [px]. */
VF_FN int vf_road_votes(uint32_t count, uint32_t count_max, int32_t width)
{
    return 2 * count >= count_max && 16 * count >= (uint32_t)width;
}

/* ---- Hough transform --------------------------------------------------------------------------------------------- */

/** Rounded distance rho from the origin to a line through a v-disparity bin [px], plus `disparities` so that it is not
 *  negative. sine, cosine: of the angle of the line's normal. */
VF_FN int32_t vf_road_rho(double sine, double cosine, int32_t bin, int32_t row, int32_t disparities)
{
    return (int32_t)(bin * cosine + row * sine + disparities + 0.5);
}

/** Sort key of a line in the Hough transform. The greatest key has most votes, among equals the least angle, then the
 *  least distance rho from the origin. angle: index 0 .. VF_ROAD_ANGLES - 1. */
VF_FN uint64_t vf_road_key(uint32_t votes, int32_t angle, int32_t rho)
{
    return (uint64_t)votes << 32 | (uint64_t)(255 - angle) << 16 | (uint64_t)(65535 - rho);
}

VF_FN int32_t vf_road_key_angle(uint64_t key) { return 255 - (int32_t)(key >> 16 & 65535); }
VF_FN int32_t vf_road_key_rho(uint64_t key) { return 65535 - (int32_t)(key & 65535); }

/** 1 if a line can be a road: disparity rises towards the bottom, and the pitch that the horizon implies is within that
 *  of the model. A tree line or a row of houses has a line of its own, mostly with a horizon far above the image. */
VF_FN int vf_road_plausible(const struct vf_stixel_view *s, double horizon_px, double slope)
{
    const double off_max = 0.001 * s->geometry.stixel_model.pitch_ppt * (double)s->geometry.focal_px[0];
    const double off = horizon_px - (double)s->geometry.centre_px[1];
    return slope > 0.0 && slope < 100.0 && off > -off_max && off < off_max;
}

/* ---- least squares ----------------------------------------------------------------------------------------------- */

/** Sums over the voting bins within 1 px of a line. n: number of these bins; x: of twice their centres; y: of their
 *  rows; xy, yy: of products of these; all: number of voting bins at any distance. */
struct vf_road_moments {
    int64_t n, x, y, xy, yy, all;
};
VF_FN void vf_road_add(struct vf_road_moments *sums, int32_t off_px, int32_t bin, int32_t row)
{
    sums->all++;
    if (vf_abs(off_px) > 1) return;
    sums->n++;
    sums->x += 2 * bin + 1; /* twice the centre of the bin */
    sums->y += row;
    sums->xy += (int64_t)(2 * bin + 1) * row;
    sums->yy += (int64_t)row * row;
}

/** Fits a line to the bins of `sums` by least squares. Returns 0 if the bins define no line, if they are too few of all
 *  voting bins, or if the line cannot be a road. */
VF_FN int vf_road_fit(const struct vf_stixel_view *s, const struct vf_road_moments *sums, double *horizon_px,
                      double *slope)
{
    const double across = (double)(sums->n * sums->yy - sums->y * sums->y),
                 along = 0.5 * (double)(sums->n * sums->xy - sums->x * sums->y);
    if (!(across > 0.0) || !(along > 0.0) || sums->n * VF_ROAD_VOTE_SHARE < sums->all) return 0;
    *slope = along / across;
    *horizon_px = ((double)sums->y - 0.5 * (double)sums->x / *slope) / (double)sums->n;
    return vf_road_plausible(s, *horizon_px, *slope);
}

/* ---- road over frames -------------------------------------------------------------------------------------------- */

/** Updates the road with this frame's line. found: 0 if this frame has no line. If a road is known, a line counts as
 *  missing if it jumps: horizon 20 px or more from the road's, or slope outside 0.8 to 1.25 times the road's. Without a
 *  line the known road is used for VF_ROAD_HOLD frames. first: 1 in the first frame after a reset. */
VF_FN void vf_road_update(struct vf_road *road, int first, int found, double horizon_px, double slope, uint32_t votes)
{
    const int known = !first && road->state != VFRONT_ROAD_NONE;
    const double change = horizon_px - road->horizon_px, ratio = slope / (known ? road->slope : 1.0);
    const int consistent = known && change < 20.0 && change > -20.0 && ratio < 1.25 && ratio > 0.8;
    road->votes = votes;
    road->reserved = 0;
    if (found && (consistent || !known)) {
        road->horizon_px = known ? road->horizon_px + 0.5 * change : horizon_px;
        road->slope = known ? road->slope + 0.5 * (slope - road->slope) : slope;
        road->state = VFRONT_ROAD_SEEN;
        road->unseen = 0;
        return;
    }
    if (!known) road->horizon_px = road->slope = 0.0;
    road->unseen = known ? road->unseen + 1 : 1;
    road->state = known && road->unseen <= VF_ROAD_HOLD ? VFRONT_ROAD_HELD : VFRONT_ROAD_NONE;
}

/** Road from the calibration of the rig (road_height_m, road_pitch_rad). */
VF_FN void vf_road_given(const struct vf_stixel_view *s, struct vf_road *road)
{
    road->horizon_px = (double)s->geometry.horizon_px;
    road->slope = (double)s->geometry.road_slope;
    road->state = VFRONT_ROAD_GIVEN;
    road->unseen = road->votes = road->reserved = 0;
}

/* ---- ground model ------------------------------------------------------------------------------------------------ */

/** Row of the horizon, counted from the bottom and clamped to the image: 0 .. height; -1: no road. */
VF_FN int32_t vf_road_horizon(const struct vf_road *road, int32_t height)
{
    const double up = (double)height - 1.0 - road->horizon_px;
    if (road->state == VFRONT_ROAD_NONE) return -1;
    return up < 0.0 ? 0 : up > (double)height ? height : (int32_t)up;
}

/** Number of rows from row `row`, counted from the bottom, to the horizon, which may lie above the image. */
VF_FN int32_t vf_road_rows_below(const struct vf_stixel_view *s, const struct vf_road *road, int32_t horizon,
                                 int32_t row)
{
    const double height = (double)s->geometry.level[0][0].height, up = height - 1.0 - road->horizon_px;
    return (up > height ? (int32_t)up : horizon) - row;
}

/** Ground model of a row, counted from the bottom. Its variance includes disparity noise and the uncertainty of the
 *  camera's height and pitch. The expected disparity is limited to the range of dense_disparities. */
VF_FN struct vf_ground_model vf_road_ground(const struct vf_stixel_view *s, const struct vf_stixel_tables *t,
                                            const struct vf_road *road, int32_t horizon, int32_t row)
{
    const double scale = vf_stixel_scale(s->geometry.focal_px[0], s->geometry.pair.baseline_m),
                 focal = (double)s->geometry.focal_px[0], below = (double)vf_road_rows_below(s, road, horizon, row);
    const double range = (double)s->tuning.dense_disparities,
                 tangent = (road->horizon_px - (double)s->geometry.centre_px[1]) / focal;
    const double height_m = (double)s->geometry.pair.baseline_m / (sqrt(1.0 + tangent * tangent) * road->slope),
                 gain = scale / height_m;
    const double expected = road->slope * below < 0.0           ? 0.0
                            : road->slope * below > range - 1.0 ? range - 1.0
                                                                : road->slope * below;
    const double angle = vf_atan2(tangent, 1.0) + below / focal,
                 lift = 0.001 * s->geometry.stixel_model.height_mm * angle / height_m,
                 tilt = 0.001 * s->geometry.stixel_model.tilt_mdeg * 0.017453292519943295,
                 ground = 0.001 * s->geometry.stixel_model.ground_mpx;
    const double variance = ground * ground + gain * gain * (lift * lift + tilt * tilt), sigma = sqrt(variance);
    const double root = sigma * 1.4142135623730951,
                 inside = 0.5 * (vf_stixel_erf(t, (range - expected) / root) + vf_stixel_erf(t, expected / root));
    const double wide = sigma * inside < 65536.0 ? sigma * inside : 65536.0;
    struct vf_ground_model g;
    const double step_m = 0.001 * s->geometry.stixel_model.step_mm, drop_m = VF_ROAD_DROP * step_m,
                 rise_m = step_m < 0.5 * height_m ? step_m : 0.5 * height_m;
    g.expected_q8 = (int32_t)(expected * VF_STIXEL_PX + 0.5);
    g.rise_q8 = (int32_t)(expected * rise_m / (height_m - rise_m) * VF_STIXEL_PX + 0.5);
    g.drop_q8 = (int32_t)(expected * drop_m / (height_m + drop_m) * VF_STIXEL_PX + 0.5);
    /* 11357: 4 ln 2 [nat/4096] */
    g.norm = VF_NORM + vf_stixel_log(t->log_q16, (uint32_t)(wide * 65536.0 / 16.0 + 0.5)) - 11357;
    g.weight = (uint32_t)(0.5 / variance * 1048576.0 + 0.5);
    return g;
}

/* ---- result ------------------------------------------------------------------------------------------------------ */

/** Road for the result, with pitch and height of the camera above the road; zeros if there is no road. */
VF_FN vfront_road_t vf_stixel_road(const struct vf_stixel_geometry *g, const struct vf_road *road)
{
    const double tangent = (road->horizon_px - (double)g->centre_px[1]) / (double)g->focal_px[0];
    const int known = road->state != VFRONT_ROAD_NONE;
    vfront_road_t r;
    r.state = road->state;
    r.votes = road->votes;
    r.unseen = road->unseen;
    r.horizon_px = known ? (float)road->horizon_px : 0.0f;
    r.slope = known ? (float)road->slope : 0.0f;
    r.pitch_rad = known ? (float)vf_atan2(tangent, 1.0) : 0.0f;
    r.height_m = known ? (float)((double)g->pair.baseline_m / (sqrt(1.0 + tangent * tangent) * road->slope)) : 0.0f;
    return r;
}

/** Host form: finds the road of the frame and the ground model of every row. Requires the v-disparity bins that vote,
 *  m->voters. */
void vf_road_find(const struct vf_stixel_view *s);

#endif

#endif
