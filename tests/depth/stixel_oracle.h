/* SPDX-License-Identifier: MIT */
/* Oracle of stixel: the dynamic programme of paper 002 written down in double precision, over every pair of base and
 * top row and every transition between classes. Independent of the stage but for the order of ties. Included by
 * stixel.c. */
#ifndef STIXEL_ORACLE_H
#define STIXEL_ORACLE_H

#include "tests/fixture/stage.h"

#if VFRONT_STIXELS

#define MOST_H VFRONT_HEIGHT
#define MOST_D VFRONT_DISPARITIES
#define FOREVER 1e18
enum { GROUND = 0, OBJECT = 1, SKY = 2, NONE = 0xffff };

static struct vf_stixel_memory *const m = &memory.stixel;
static int32_t h, all;                 /* rows of the picture, dense_disparities */
static double focal, base_m, centre_y; /* focal length [px], baseline, row of the principal point [px] */

/* ---- oracle ------------------------------------------------------------------------------------------------------ */

static double d[MOST_H]; /* disparities of a column from the bottom [px]; negative: none */
/* Prefix sums below a row of data terms of each class, of disparities; disparity of the road in a row. */
static double objects[MOST_D][MOST_H + 1], grounds[MOST_H + 1], skies[MOST_H + 1], sums[MOST_H + 1], road_at[MOST_H];
static int valid[MOST_H + 1]; /* number of valid disparities below a row */
static int horizon;           /* row from the bottom */
static double extra;          /* extra cost of every segment [nat] */

/** Data term: Gaussian mixed with a uniform distribution of outliers, the larger of both. inside: share of the Gaussian
 *  within the range. */
static double gauss(double x, double model, double sigma, double inside, double outlier)
{
    const double norm = log(inside) - log((1.0 - outlier) / (sigma * sqrt(2.0 * acos(-1.0))));
    return fmin(log(all) - log(outlier), norm + (x - model) * (x - model) / (2.0 * sigma * sigma));
}
static double inside_of(double model, double sigma)
{
    return (erf((all - model) / (sigma * sqrt(2.0))) - erf(-model / (sigma * sqrt(2.0)))) / 2.0;
}

/** Fills the prefix sums, for a road whose disparity is slope * (rows below the horizon). */
static void sum_rows(double horizon_px, double slope)
{
    const double tilt = atan((horizon_px - centre_y) / focal), height_m = base_m * cos(tilt) / slope,
                 by = focal * base_m / height_m;
    const int far = horizon_px < 0.0 ? h - 1 - (int)horizon_px : horizon; /* above the picture */
    for (int v = 0; v < h; v++) {
        const double at = fmin(fmax(slope * (far - v), 0.0), all - 1.0), x = tilt + (far - v) / focal;
        const double sigma = sqrt(4.0 +
                                  by * by * (pow(0.05 * x / height_m, 2.0) + pow(0.05 * acos(-1.0) / 180.0, 2.0)));
        const int none = d[v] < 0.0;
        road_at[v] = at;
        sums[v + 1] = sums[v] + (none ? 0.0 : d[v]);
        valid[v + 1] = valid[v] + !none;
        grounds[v + 1] = grounds[v] + (v >= horizon ? 1e7
                                       : none       ? 0.0
                                                    : gauss(d[v], at, sigma, inside_of(at, sigma), 0.15));
        skies[v + 1] = skies[v] + (v < horizon ? 1e7
                                   : none      ? 0.0
                                               : gauss(d[v], 0.0, 0.1, erf(all / (0.1 * sqrt(2.0))) / 2.0, 0.4));
        for (int k = 0; k < all; k++) {
            const double whole = floor(d[v]), spread = sqrt(1.0 + pow(whole * whole * 10.2 / (focal * base_m), 2.0));
            objects[k][v + 1] = objects[k][v] + (none ? 0.0 : gauss(whole, k, spread, inside_of(whole, spread), 0.15));
        }
    }
}

static double mean_of(int vb, int vt) { return (sums[vt + 1] - sums[vb]) / (valid[vt + 1] - valid[vb]); }

/** Data terms of rows vb .. vt as one segment. */
static double rows_cost(int type, int vb, int vt)
{
    if (type == GROUND) return grounds[vt + 1] - grounds[vb];
    if (type == SKY) return skies[vt + 1] - skies[vb];
    if (valid[vt + 1] == valid[vb]) return FOREVER;
    const double *sum = objects[(int)floor(mean_of(vb, vt) + 1e-9)];
    return sum[vt + 1] - sum[vb];
}

/** Prior of the segment at the bottom. */
static double first_cost(int type, int vt)
{
    if (type == SKY) return FOREVER;
    if (type == GROUND) return vt <= horizon ? log(2.0) + log(h) : FOREVER;
    return log(h) + log(all) + (vt <= horizon ? log(2.0) : 0.0);
}

/** Transition into an object with mean `fn` after an object with mean `p`. */
static double object_object(double fn, double p, int below)
{
    const double far = floor(p), range = far > 0.0 ? far - focal * base_m / (focal * base_m / far + 10.2) : 0.0;
    const double more = below ? -log(0.7) : log(2.0);
    if (fn > p + range) return more + log((all - p - range) / 0.2);
    return fn < p - range ? more + log((p - range) / 0.8) : FOREVER;
}
/** Transition into an object with mean `fn` after ground whose disparity there is g. */
static double object_ground(double fn, double g)
{
    if (fn > g + 3.0) return -log(0.7) + log((all - g - 3.0) / 0.1);
    if (fn < g - 3.0) return -log(0.7) + log((g - 3.0) / 0.04);
    return -log(0.7) + log(6.0 / (1.0 - 0.1 - 0.04));
}

/** Transition into a segment that begins at vb, after a segment of class `before`. fn, p: their means if they are
 *  objects. */
static double transition_cost(int type, int before, int vb, double fn, double p)
{
    const int below = vb - 1 < horizon;
    const double length = log(h - vb), g = road_at[vb - 1];
    if (type == GROUND) return below && before != SKY ? length - log(0.3) : FOREVER;
    if (type == SKY && before == GROUND) return !below && g < 1.0 ? length : FOREVER;
    if (type == SKY) return !below && before == OBJECT && p >= 3.0 ? length + log(2.0) : FOREVER;
    if (before == OBJECT) return length + object_object(fn, p, below);
    if (before == GROUND) return length + object_ground(fn, g);
    return fn > 3.0 ? length + log(all - 3.0) : FOREVER;
}

struct state {
    double cost;
    int base, before;
};
static struct state best[3][MOST_H];
struct piece {
    int type, base, top;
};

/** Keeps the better of two ways to end a class at row vt; ties keep the first. */
static void relax(int type, int vt, int vb, int before, double cost)
{
    if (cost >= best[type][vt].cost) return;
    best[type][vt].cost = cost;
    best[type][vt].base = vb;
    best[type][vt].before = before;
}

/** Best segmentation of the column, from the bottom; returns the number of segments. As in the paper, the state of a
 *  row is the best segmentation up to it by itself: its last mean is not chosen for the sake of the segment above. */
static int solve(struct piece piece[MOST_H])
{
    static const int order[3] = {OBJECT, GROUND, SKY};
    for (int vt = 0; vt < h; vt++) {
        for (int k = 0; k < 3; k++) best[k][vt].cost = 1e6; /* more is impossible */
        for (int vb = 0; vb <= vt; vb++)
            for (int type = 0; type < 3; type++) {
                const double rows = rows_cost(type, vb, vt) + extra;
                const double fn = type == OBJECT && rows < 1e6 ? mean_of(vb, vt) : 0.0;
                if (rows >= 1e6) continue;
                if (vb == 0) relax(type, vt, 0, -1, rows + first_cost(type, vt));
                for (int i = 0; i < 3 && vb; i++) {
                    const struct state *last = &best[order[i]][vb - 1];
                    if (last->cost >= 1e6) continue;
                    const double p = order[i] == OBJECT ? mean_of(last->base, vb - 1) : 0.0;
                    relax(type, vt, vb, order[i], rows + transition_cost(type, order[i], vb, fn, p) + last->cost);
                }
            }
    }
    int type = OBJECT, count = 0;
    if (best[GROUND][h - 1].cost < best[type][h - 1].cost) type = GROUND;
    if (best[SKY][h - 1].cost < best[type][h - 1].cost) type = SKY;
    for (int vt = h - 1; vt >= 0; count++) {
        const struct state *s = &best[type][vt];
        piece[count].type = type;
        piece[count].base = s->base;
        piece[count].top = vt;
        type = s->before;
        vt = s->base - 1;
    }
    for (int i = 0; i < count / 2; i++) {
        const struct piece swap = piece[i];
        piece[i] = piece[count - 1 - i];
        piece[count - 1 - i] = swap;
    }
    return count;
}

/** Cost of a segmentation. */
static double total(const struct piece *piece, int count)
{
    double cost = 0.0, p = 0.0;
    for (int i = 0; i < count; i++) {
        const struct piece *now = &piece[i];
        const double fn = now->type == OBJECT ? mean_of(now->base, now->top) : 0.0;
        cost += rows_cost(now->type, now->base, now->top) + extra;
        cost += i ? transition_cost(now->type, piece[i - 1].type, now->base, fn, p) : first_cost(now->type, now->top);
        p = fn;
    }
    return cost;
}

/** Class as the stage reports it: an object nearer to infinity than one pixel is sky. */
static int called(const struct piece *p) { return p->type == OBJECT && mean_of(p->base, p->top) < 1.0 ? SKY : p->type; }

#endif

#endif
