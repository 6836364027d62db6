/* SPDX-License-Identifier: MIT */
/* Makes the tables of stixel, in vfront_init(). */
#include "stixel_tables.h"

#include <math.h> /* sqrt: one instruction, correctly rounded */

#include "stixel.h"

#if VFRONT_STIXELS

double vf_stixel_ln(double x)
{
    int power = 0;
    for (; x > 1.5; x *= 0.5) power++;
    for (; x < 0.75; x *= 2.0) power--;
    const double t = (x - 1.0) / (x + 1.0), s = t * t; /* ln x = 2 artanh t */
    double p = 0.0;
    for (int i = 25; i > 0; i -= 2) p = 1.0 / i + s * p;
    return 2.0 * t * p + power * 0.69314718055994531;
}

/** erf x = 2 x e^(-x^2) / sqrt(pi) * (1 + 2 x^2 / 3 + ...), all terms positive. e^(-x^2) is the inverse of the series
 *  of e^(x^2). */
double vf_stixel_erf_series(double x)
{
    if (x > 6.0) return 1.0;
    double term = 1.0, sum = 1.0;
    for (int i = 1; i < 120; i++) {
        term *= 2.0 * x * x / (2 * i + 1);
        sum += term;
    }
    double power = 1.0, inverse = 1.0;
    for (int i = 1; i < 120; i++) {
        power *= x * x / i;
        inverse += power;
    }
    return 1.1283791670955126 * x * sum / inverse;
}

/** Converts a cost in nat to nat/4096, rounded to nearest. */
static int32_t nats(double cost) { return (int32_t)(cost * VF_STIXEL_NAT + (cost < 0.0 ? -0.5 : 0.5)); }

/** Makes the data terms of objects: Gaussian about the mean, limited to 0 .. cost of an outlier, for whole-pixel
 *  disparities. scale: focal length times baseline [m px]; sigma: of a disparity [px]; depth_m: depth of an object. The
 *  sigma of a row follows from its own disparity, not from the mean. */
static void make_object_costs(struct vf_stixel_tables *t, double scale, double sigma, double depth_m,
                              int32_t disparities)
{
    const double outlier = vf_stixel_ln(disparities / VF_OUTLIER);
    for (int32_t d = 0; d < disparities; d++) {
        const double range_sigma = (double)d * d * depth_m / scale,
                     variance = sigma * sigma + range_sigma * range_sigma;
        const double root = sqrt(2.0 * variance),
                     inside = 0.5 * (vf_stixel_erf_series((disparities - d) / root) + vf_stixel_erf_series(d / root));
        const double norm = vf_stixel_ln(inside * sqrt(variance) * 2.5066282746310002 / (1.0 - VF_OUTLIER));
        for (int32_t mean = 0; mean < disparities; mean++) {
            const double cost = norm + (d - mean) * (double)(d - mean) / (2.0 * variance);
            t->object_cost[d * disparities + mean] = (uint16_t)vf_max(nats(cost < outlier ? cost : outlier), 0);
        }
    }
    for (int32_t mean = 0; mean < disparities; mean++) t->object_cost[disparities * disparities + mean] = 0;
    for (int32_t d = 0; d < disparities; d++) {
        const uint16_t *cost = t->object_cost + d * disparities;
        t->row_cost_min[d] = cost[0];
        for (int32_t mean = 1; mean < disparities; mean++) t->row_cost_min[d] = vf_min(t->row_cost_min[d], cost[mean]);
    }
}

/** Makes the direction bin of every column, and the ratio of distance to depth. */
static void make_directions(struct vf_stixel_tables *t, const struct vf_stixel_view *s)
{
    const int32_t columns = vf_stixel_columns(&s->geometry, &s->tuning), width = s->tuning.stixel_width_px;
    for (int32_t i = 0; i < columns; i++) {
        const double tangent = (i * width + 0.5 * (width - 1) - (double)s->geometry.centre_px[0]) /
                               (double)s->geometry.focal_px[0];
        const double bins = vf_atan2(tangent, 1.0) * (VFRONT_OBSTACLE_BINS / 6.2831853071795865);
        t->obstacle_bin[i] = (uint8_t)((int32_t)(bins + VFRONT_OBSTACLE_BINS + 0.5) % VFRONT_OBSTACLE_BINS);
        t->secant[i] = (float)sqrt(1.0 + tangent * tangent);
    }
}

void vf_stixel_make(struct vf_stixel_tables *t, const struct vf_stixel_view *s)
{
    const int32_t disparities = s->tuning.dense_disparities, height = s->geometry.level[0][0].height;
    const double scale = vf_stixel_scale(s->geometry.focal_px[0], s->geometry.pair.baseline_m),
                 depth_m = 0.001 * s->geometry.stixel_model.depth_mm;
    memset(t, 0, sizeof *t);
    for (int32_t i = 0; i <= VF_LOG_STEPS; i++)
        t->log_q16[i] = (int32_t)(vf_stixel_ln(1.0 + i / (double)VF_LOG_STEPS) * 65536.0 + 0.5);
    for (int32_t i = 0; i <= VF_ERF_STEPS; i++) t->erf[i] = (float)vf_stixel_erf_series(i * (4.0 / VF_ERF_STEPS));
    for (int32_t i = 0; i < height; i++) t->length_cost[i] = nats(vf_stixel_ln(height - i));
    for (uint32_t n = 1; n <= (uint32_t)height; n++) t->inverse_q31[n] = (0x80000000u + n - 1) / n;
    for (int32_t d = 1; d < disparities; d++)
        t->object_range_q8[d] = (int32_t)((d - scale / (scale / d + depth_m)) * VF_STIXEL_PX + 0.5);
    for (int32_t i = 0; i < VF_ROAD_ANGLES; i++) vf_sincos((91 + i) * 0.017453292519943295, &t->sine[i], &t->cosine[i]);
    t->above_sky = s->geometry.stixel_model.above_sky;
    t->slack_q8 = (s->geometry.stixel_model.slack_mpx * VF_STIXEL_PX + 500) / 1000;
    make_object_costs(t, scale, 0.001 * s->geometry.stixel_model.object_mpx, depth_m, disparities);
    make_directions(t, s);
}

#endif
