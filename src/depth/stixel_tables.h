/* SPDX-License-Identifier: MIT */
/* stixel_tables: units, model constants and look-up tables of stixel. The tables are filled once, in vfront_init(), by
 * stixel_tables.c; host form and kernel read the same ones.
 *
 * In      focal length, principal point and baseline of the rig; height of the picture; dense_disparities,
 *         stixel_width_px
 * Out     struct vf_stixel_tables
 * Exact   integers in fixed point; the tables themselves from series in double precision with + - * / and roots
 * Memory  2 (VFRONT_DISPARITIES + 1) VFRONT_DISPARITIES bytes of object costs; 8 bytes a row; 5 bytes a column
 */
#ifndef VF_STIXEL_TABLES_H
#define VF_STIXEL_TABLES_H

#include "math/angle.h"
#include "dense.h"
#include "stixel_view.h"

#if VFRONT_STIXELS

#define VF_STIXEL_PX 256       /* units of a disparity in one pixel: disparities are in 1/256 px */
#define VF_STIXEL_NAT 4096     /* units of a cost in one nat: costs are in 1/4096 nat */
#define VF_STIXEL_NONE 0xffffu /* row without a valid disparity */

#define VF_LOG_STEPS 256  /* intervals of the logarithm's table, over 1 .. 2; linear interpolation in between */
#define VF_ERF_STEPS 256  /* intervals of the error function's table, over 0 .. 4; linear interpolation in between */
#define VF_ROAD_ANGLES 89 /* line angles of the Hough transform: 91 .. 179 degrees, 1 degree apart */

/* ---- model: values of the program of paper 002, but for rows without a disparity --------------------------------- */

#define VF_SIGMA_SKY 0.1   /* standard deviation of a disparity of the sky [px] */
#define VF_OUTLIER 0.15    /* share of outliers among the disparities of ground and objects */
#define VF_OUTLIER_SKY 0.4 /* share of outliers among the disparities of the sky */

/* Negative logarithms of the priors [nat/4096]. */
#define VF_LN_2 2839           /* ln 2: one class out of two */
#define VF_LN_03 4931          /* -ln 0.3: below the horizon, ground follows */
#define VF_LN_07 1461          /* -ln 0.7: below the horizon, an object follows */
#define VF_LN_ORDER 6592       /* -ln 0.2: an object nearer than the object below it (ordering constraint) */
#define VF_LN_NOT_ORDER 914    /* -ln 0.8: an object farther than the object below it */
#define VF_LN_GRAVITY 9431     /* -ln 0.1: an object above the ground below it (gravity constraint) */
#define VF_LN_BELOW 13185      /* -ln 0.04: an object below the ground below it */
#define VF_LN_ON_GROUND 3457   /* ln(2 / 0.86): an object on the ground, uniform in its mean over twice the slack */
#define VF_LN_OUTLIER 7771     /* -ln 0.15: VF_OUTLIER */
#define VF_LN_OUTLIER_SKY 3753 /* -ln 0.4: VF_OUTLIER_SKY */
#define VF_STIXEL_BLANK_GREY 8 /* largest difference of grey levels in a row without texture */
#define VF_LN_MISSING 256      /* a row without a disparity, so much rather in sky than in an object */
#define VF_LN_TOPLESS 1024     /* the same where none above it has one either: no object's top is there */
#define VF_LN_BLANK 3072       /* the same where the row is bright and without texture */
#define VF_STIXEL_BLANK_FAR                                                                                            \
    3                       /* disparity in such a row at which sky is as likely as an object, in units of the slack */
#define VF_NORM 4430        /* ln(sqrt(2 pi) / 0.85): normalisation of an inlier's Gaussian of sigma 1 px */
#define VF_NORM_SKY (-6414) /* ln(0.1 sqrt(2 pi) / 0.6) - ln 2: the same of the sky, whose Gaussian is cut in half */
#define VF_WEIGHT_SKY 52428800u /* 1 / (2 * 0.1^2), in units of vf_ground_model.weight */

/* ---- tables ------------------------------------------------------------------------------------------------------ */

/** Look-up tables. Constant after vfront_init(). */
struct vf_stixel_tables {
    int32_t log_q16[VF_LOG_STEPS + 1]; /* ln(1 + i / VF_LOG_STEPS) */
    float erf[VF_ERF_STEPS + 1];       /* erf(4 i / VF_ERF_STEPS) */
    /* uniform prior of a segment's top, by its base: ln(height - base) [nat/4096] */
    int32_t length_cost[VFRONT_HEIGHT];
    uint32_t inverse_q31[VFRONT_HEIGHT + 1]; /* 2^31 / n, rounded up; 0 for n = 0 */
    /* disparities that an object spans in depth, by integer disparity [px/256] */
    int32_t object_range_q8[VFRONT_DISPARITIES];
    int32_t row_cost_min[VFRONT_DISPARITIES + 1]; /* least of a row of object_cost */
    int32_t slack_q8;                             /* tuning value stixel_slack_mpx [px/256] */
    float secant[VFRONT_COLUMNS];                 /* distance over depth, in the middle of a column */
    uint8_t obstacle_bin[VFRONT_COLUMNS]; /* direction bin of a column's middle, 0 .. VFRONT_OBSTACLE_BINS - 1 */
    double sine[VF_ROAD_ANGLES], cosine[VF_ROAD_ANGLES]; /* of the angles of the Hough transform */
    /* Data term of a row as object [nat/4096]: [integer disparity of the row][integer mean disparity of the object],
     * dense_disparities each. The last row, for rows without a valid disparity, is 0. */
    uint16_t object_cost[(VFRONT_DISPARITIES + 1) * VFRONT_DISPARITIES];
};

/** Focal length times baseline: distance times disparity [m px]. */
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
    return ((exponent - 8) * 45426 + low + more + 8) >> 4; /* 45426: ln 2 in Q16 */
}

/** Error function, to 1e-4. */
VF_FN double vf_stixel_erf(const struct vf_stixel_tables *t, double x)
{
    const double ax = (x < 0.0 ? -x : x) * (VF_ERF_STEPS / 4);
    if (ax >= VF_ERF_STEPS) return x < 0.0 ? -1.0 : 1.0;
    const int32_t i = (int32_t)ax;
    const double y = (double)t->erf[i] + (ax - i) * ((double)t->erf[i + 1] - (double)t->erf[i]);
    return x < 0.0 ? -y : y;
}

/* ---- made in vfront_init() --------------------------------------------------------------------------------------- */

/** ln(x), x > 0, and the error function, x >= 0, to 1e-12: series, from which the tables are made. */
double vf_stixel_ln(double x);
double vf_stixel_erf_series(double x);

/** Fill the tables. Called once, by vfront_init(). */
void vf_stixel_make(struct vf_stixel_tables *t, const struct vf_stixel_view *s);

#endif

#endif
