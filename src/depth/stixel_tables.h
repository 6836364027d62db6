/* SPDX-License-Identifier: MIT */
/* stixel_tables: units, model constants and look-up tables of stixel. stixel_tables.c fills the tables once, in
 * vfront_init(); host form and kernel read the same ones.
 *
 * In      focal length, principal point and baseline of the rig; image height; dense_disparities, stixel_width_px
 * Out     struct vf_stixel_tables
 * Exact   fixed-point integers, from series in double precision with + - * / and roots
 * Memory  2 (VFRONT_DISPARITIES + 1) VFRONT_DISPARITIES bytes of object costs; 8 bytes a row; 5 bytes a column
 */
#ifndef VF_STIXEL_TABLES_H
#define VF_STIXEL_TABLES_H

#include "math/angle.h"
#include "dense.h"
#include "stixel_view.h"

#if VFRONT_STIXELS

#define VF_STIXEL_PX 256       /* disparity units per pixel: 1/256 px */
#define VF_STIXEL_NAT 4096     /* cost units per nat: 1/4096 nat */
#define VF_STIXEL_NONE 0xffffu /* disparity of a row without a valid disparity */

#define VF_LOG_STEPS 256  /* number of intervals of the logarithm's table over 1 .. 2, linear in between */
#define VF_ERF_STEPS 256  /* number of intervals of the error function's table over 0 .. 4, linear in between */
#define VF_ROAD_ANGLES 89 /* number of angles of the Hough transform: 91 .. 179 degrees, 1 degree apart */

/* ---- model: values of paper 002's program, except for rows without a disparity ----------------------------------- */

#define VF_SIGMA_SKY 0.1   /* standard deviation of a disparity of the sky [px] */
#define VF_OUTLIER 0.15    /* share of outliers among the disparities of ground and objects */
#define VF_OUTLIER_SKY 0.4 /* share of outliers among the disparities of the sky */

/* Negative logarithms of priors [nat/4096]. */
#define VF_LN_2 2839  /* prior of one class out of two: ln 2 [nat/4096] */
#define VF_LN_03 4931 /* prior of ground after a segment below the horizon: -ln 0.3 [nat/4096] */
#define VF_LN_07 1461 /* prior of an object after a segment below the horizon: -ln 0.7 [nat/4096] */
/* prior of an object nearer than the object below it (ordering constraint): -ln 0.2 [nat/4096] */
#define VF_LN_ORDER 6592
#define VF_LN_NOT_ORDER 914 /* prior of an object farther than the object below it: -ln 0.8 [nat/4096] */
/* prior of an object nearer than the ground at its base (gravity constraint): -ln 0.1 [nat/4096] */
#define VF_LN_GRAVITY 9431
#define VF_LN_BELOW 13185 /* prior of an object farther than the ground at its base: -ln 0.04 [nat/4096] */
/* prior of an object on the ground, uniform over twice the slack: ln(2 / 0.86) [nat/4096] */
#define VF_LN_ON_GROUND 3457
#define VF_LN_OUTLIER 7771     /* prior of an outlier in ground or object: -ln VF_OUTLIER [nat/4096] */
#define VF_LN_OUTLIER_SKY 3753 /* prior of an outlier in sky: -ln VF_OUTLIER_SKY [nat/4096] */
#define VF_STIXEL_BLANK_GREY 8 /* largest difference of pixels in a row without texture [grey levels] */
#define VF_LN_MISSING 256      /* advantage of sky over an object in a row without a disparity [nat/4096] */
/* the same for a row that is blank, or above which no row has a disparity [nat/4096]; small, so that a wall's blank
 * rows do not outweigh its roof */
#define VF_LN_NO_SUPPORT 1024
#define VF_STIXEL_LEVEL_ROWS 4 /* distance of the rows that show whether a surface is level [rows] */
/* blank row: disparity at which sky and object cost the same, as a multiple of slack_mpx */
#define VF_STIXEL_BLANK_FAR 3
#define VF_NORM 4430 /* normalisation of an inlier's Gaussian with sigma 1 px: ln(sqrt(2 pi) / 0.85) [nat/4096] */
#define VF_NORM_SKY (-6414) /* normalisation of the sky's half Gaussian: ln(0.1 sqrt(2 pi) / 0.6) - ln 2 [nat/4096] */
#define VF_WEIGHT_SKY 52428800u /* 1 / (2 * 0.1^2), in units of vf_ground_model.weight */

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/** Look-up tables. Constant after vfront_init(). */
struct vf_stixel_tables {
    int32_t log_q16[VF_LOG_STEPS + 1]; /* [i]: ln(1 + i / VF_LOG_STEPS) [1/65536] */
    float erf[VF_ERF_STEPS + 1];       /* [i]: erf(4 i / VF_ERF_STEPS) */
    /* [base]: uniform prior of the top row of a segment that begins at row `base`: ln(height - base) [nat/4096]. */
    int32_t length_cost[VFRONT_HEIGHT];
    uint32_t inverse_q31[VFRONT_HEIGHT + 1]; /* [n]: 2^31 / n, rounded up; 0 for n = 0 */
    /* [integer disparity]: difference in disparity between front and back of an object of depth depth_mm [px/256]. */
    int32_t object_range_q8[VFRONT_DISPARITIES];
    int32_t row_cost_min[VFRONT_DISPARITIES + 1]; /* [integer disparity of a row]: least object_cost over all means */
    int32_t slack_q8;                             /* slack_mpx of the stixel model [px/256] */
    int32_t above_sky;                            /* that of the stixel model */
    float secant[VFRONT_COLUMNS];                 /* [column]: distance over depth at the column's centre */
    uint8_t obstacle_bin[VFRONT_COLUMNS]; /* [column]: direction bin of the centre, 0 .. VFRONT_OBSTACLE_BINS - 1 */
    double sine[VF_ROAD_ANGLES], cosine[VF_ROAD_ANGLES]; /* sines and cosines of the angles of the Hough transform */
    /* Data term of a row as object [nat/4096]: [integer disparity of the row][integer mean disparity of the object],
     * dense_disparities each. The last row, for rows without a valid disparity, is 0. */
    uint16_t object_cost[(VFRONT_DISPARITIES + 1) * VFRONT_DISPARITIES];
};

/** Focal length times baseline = distance times disparity [m px]. */
VF_FN double vf_stixel_scale(float focal_px, float baseline_m) { return (double)focal_px * (double)baseline_m; }

/** ln(x / 256) [nat/4096], x > 0. */
VF_FN int32_t vf_stixel_log(const int32_t *log_q16, uint32_t x)
{
    int32_t exponent = 0;
#ifdef __CUDA_ARCH__
    exponent = 31 - __clz((int)x);
#else
    for (int32_t step = 16; step; step >>= 1)
        if (x >> (exponent + step)) exponent += step;
#endif
    const uint32_t fraction = (x << (31 - exponent)) & 0x7fffffffu, index = fraction >> 23,
                   between = (fraction >> 7) & 0xffff;
    const int32_t low = log_q16[index], more = (int32_t)(((uint32_t)(log_q16[index + 1] - low) * between) >> 16);
    return ((exponent - 8) * 45426 + low + more + 8) >> 4; /* 45426: ln 2 [1/65536] */
}

/** Error function by linear interpolation in the table t->erf, to 1e-4. */
VF_FN double vf_stixel_erf(const struct vf_stixel_tables *t, double x)
{
    const double ax = (x < 0.0 ? -x : x) * (VF_ERF_STEPS / 4);
    if (ax >= VF_ERF_STEPS) return x < 0.0 ? -1.0 : 1.0;
    const int32_t i = (int32_t)ax;
    const double y = (double)t->erf[i] + (ax - i) * ((double)t->erf[i + 1] - (double)t->erf[i]);
    return x < 0.0 ? -y : y;
}

/* ---- made in vfront_init() --------------------------------------------------------------------------------------- */

/** ln(x), x > 0, and the error function, x >= 0, to 1e-12, by series. Used to make the tables. */
double vf_stixel_ln(double x);
double vf_stixel_erf_series(double x);

/** Fills the tables. Called once, by vfront_init(). */
void vf_stixel_make(struct vf_stixel_tables *t, const struct vf_stixel_view *s);

#endif

#endif
