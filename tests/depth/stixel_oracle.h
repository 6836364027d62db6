/* SPDX-License-Identifier: MIT */
/* Oracle of stixel: dynamic programming of paper 002 in double precision, over every pair of base and top row and every
 * transition between classes. Independent of the stage except for the order of ties. Included by stixel.c. */
#ifndef STIXEL_ORACLE_H
#define STIXEL_ORACLE_H

#include "tests/fixture/stage.h"

#if VFRONT_STIXELS

#define MOST_H VFRONT_HEIGHT
#define MOST_D VFRONT_DISPARITIES
#define FOREVER 1e18
enum { GROUND = 0, OBJECT = 1, SKY = 2, UNKNOWN = 3, NONE = 0xffff };

static struct vf_stixel_memory *const m = &memory.stixel;
static int32_t h, all;                 /* rows of the image, dense_disparities */
static double focal, base_m, centre_y; /* focal length [px], baseline, row of the principal point [px] */

/* ---- oracle ------------------------------------------------------------------------------------------------------ */

static double d[MOST_H];  /* disparities of a column from the bottom [px]; negative: none */
static int blank[MOST_H]; /* 1: the row is bright and without texture */
static int authors;       /* 1: rules of the authors' program where the stage's differ */
static int hidden;        /* bottom rows whose ground camera 1 does not see */
/* Tuning values, in px, m and rad. */
static double sigma_object, sigma_ground, slack, depth, sigma_height, sigma_tilt, step_up;
static int above_sky; /* 1: objects may be above sky */
/* Prefix sums below a row of the data terms of each class and of disparities; road disparity in a row. */
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

/** Disparity for the priors, in 1/256 px: means rounded down, road and depth ranges to nearest. */
static double down(double x) { return floor(x * 256.0 + 1e-6) / 256.0; }
static double nearest(double x) { return floor(x * 256.0 + 0.5) / 256.0; }

/** Data term of a row as sky, relative to an object, where a row without a disparity costs nothing. no_support: 1, no
 *  row from this one up has a disparity. */
static double sky_of(int v, int no_support)
{
    double least = 1e9;
    if (d[v] < 0.0) return blank[v] || no_support ? -0.25 : -0.0625;
    const double measured = gauss(d[v], 0.0, 0.1, erf(all / (0.1 * sqrt(2.0))) / 2.0, 0.4);
    for (int k = 0; k < all; k++) least = fmin(least, objects[k][v + 1] - objects[k][v]);
    return blank[v] ? fmin(measured, least + (d[v] - 3.0 * slack) / (3.0 * slack)) : measured;
}

/** 1 if the disparities four rows below and above row v differ as those of the road, to a quarter. */
static int is_level(int v)
{
    if (authors || v < hidden + 4 || v + 4 >= horizon || v + 4 >= h || d[v - 4] < 0.0 || d[v + 4] < 0.0) return 0;
    const double fall = road_at[v - 4] - road_at[v + 4];
    return 4.0 * fabs(d[v - 4] - d[v + 4] - fall) <= fall;
}

/** Difference of the disparity of row v from that of ground: `at` is the road's, height_m the camera's height above it.
 *  Ground lies lower by up to two steps; or higher by up to one, where it is level. */
static double off_ground(int v, double at, double height_m)
{
    const double up = fmin(step_up, 0.5 * height_m), off = d[v] - at;
    if (off < 0.0) return fmin(off + (authors ? 0.0 : nearest(at * 2.0 * step_up / (height_m + 2.0 * step_up))), 0.0);
    return fmax(off - (is_level(v) ? nearest(at * up / (height_m - up)) : 0.0), 0.0);
}

/** Fills the prefix sums, for a road of disparity slope * (rows below the horizon) and a column with first pixel
 *  `left`. */
static void sum_rows(double horizon_px, double slope, int left)
{
    sigma_object = step.geometry.stixel_model.object_mpx / 1000.0;
    sigma_ground = step.geometry.stixel_model.ground_mpx / 1000.0;
    slack = nearest(step.geometry.stixel_model.slack_mpx / 1000.0);
    depth = step.geometry.stixel_model.depth_mm / 1000.0;
    sigma_height = step.geometry.stixel_model.height_mm / 1000.0;
    step_up = step.geometry.stixel_model.step_mm / 1000.0;
    above_sky = step.geometry.stixel_model.above_sky;
    sigma_tilt = step.geometry.stixel_model.tilt_mdeg / 1000.0 * acos(-1.0) / 180.0;
    const double tilt = atan((horizon_px - centre_y) / focal), height_m = base_m * cos(tilt) / slope,
                 by = focal * base_m / height_m;
    const int far = horizon_px < 0.0 ? h - 1 - (int)horizon_px : horizon; /* above the image */
    int last = -1;
    hidden = 0;
    for (int v = 0; v < h; v++) {
        road_at[v] = nearest(fmin(fmax(slope * (far - v), 0.0), all - 1.0));
        if (v < horizon && road_at[v] > left && !authors) {
            d[v] = -1.0;
            hidden++;
        }
        if (d[v] >= 0.0) last = v;
    }
    for (int v = 0; v < h; v++) {
        const double at = fmin(fmax(slope * (far - v), 0.0), all - 1.0), x = tilt + (far - v) / focal;
        const double sigma = sqrt(sigma_ground * sigma_ground +
                                  by * by * (pow(sigma_height * x / height_m, 2.0) + pow(sigma_tilt, 2.0)));
        const int none = d[v] < 0.0;
        sums[v + 1] = sums[v] + (none ? 0.0 : d[v]);
        valid[v + 1] = valid[v] + !none;
        grounds[v + 1] = grounds[v] +
                         (v >= horizon ? 1e7
                          : none       ? 0.0
                                 : gauss(at + off_ground(v, at, height_m), at, sigma, inside_of(at, sigma), 0.15));
        for (int k = 0; k < all; k++) {
            const double whole = floor(d[v]), spread = sqrt(sigma_object * sigma_object +
                                                            pow(whole * whole * depth / (focal * base_m), 2.0));
            objects[k][v + 1] = objects[k][v] +
                                (none ? 0.0 : fmax(gauss(whole, k, spread, inside_of(whole, spread), 0.15), 0.0));
        }
        skies[v + 1] = skies[v] + (v < horizon + authors ? 1e7 : sky_of(v, v > last));
    }
}

/** Mean disparity of an object [1/256 px, rounded down]. */
static double mean_of(int vb, int vt) { return down((sums[vt + 1] - sums[vb]) / (valid[vt + 1] - valid[vb])); }

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
    const double far = floor(p),
                 range = far > 0.0 ? nearest(far - focal * base_m / (focal * base_m / far + depth)) : 0.0;
    const double more = below ? -log(0.7) : log(2.0);
    if (fn > p + range) return more + log((all - p - range) / 0.2);
    return fn < p - range ? more + log((p - range) / 0.8) : FOREVER;
}
/** Transition into an object with mean `fn` after ground whose disparity there is g. */
static double object_ground(double fn, double g)
{
    if (fn > g + slack) return -log(0.7) + log((all - g - slack) / 0.1);
    if (fn < g - slack) return -log(0.7) + log((g - slack) / 0.04);
    return -log(0.7) + log(2.0 * slack / (1.0 - 0.1 - 0.04));
}

/** Transition into a segment that begins at vb, after a segment of class `before`. fn, p: their means if they are
 *  objects. */
static double transition_cost(int type, int before, int vb, double fn, double p)
{
    const int below = vb - 1 < horizon;
    const double length = log(h - vb), g = road_at[vb - 1];
    if (type == GROUND) return below && before != SKY ? length - log(0.3) : FOREVER;
    if (type == SKY && before == GROUND) return authors ? FOREVER : length;
    if (type == SKY) return before == OBJECT && (!authors || p >= slack) ? length + log(2.0) : FOREVER;
    if (before == OBJECT) return length + object_object(fn, p, below);
    if (before == GROUND) return length + object_ground(fn, g);
    return (authors || above_sky) && fn > slack ? length + log(all - slack) : FOREVER;
}

struct state {
    double cost;
    int base, before;
};
static struct state best[3][MOST_H];
struct piece {
    int type, base, top;
};

/** Keeps the better of two segmentations that end in a class at row vt; ties keep the first. */
static void relax(int type, int vt, int vb, int before, double cost)
{
    if (cost >= best[type][vt].cost) return;
    best[type][vt].cost = cost;
    best[type][vt].base = vb;
    best[type][vt].before = before;
}

/** Best segmentation of the column, from the bottom. Returns the number of segments. As in the paper, the state of a
 *  row is the best segmentation up to it: its last mean is not optimised for the segment above. */
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

/** Class as the stage reports it: an object of less than 1 px disparity is sky if it begins above the horizon and no
 *  object is above it; below the horizon unknown if the road at its base is nearer by more than the slack. */
static int called(const struct piece *p)
{
    if (p->type != OBJECT || mean_of(p->base, p->top) >= 1.0) return p->type;
    if (p->base < horizon) return road_at[p->base] - mean_of(p->base, p->top) > slack ? UNKNOWN : OBJECT;
    return above_sky || p->top == h - 1 || (p[1].type == SKY && p[1].top == h - 1) ? SKY : OBJECT;
}

/** Segmentation as the stage reports it: the hidden rows are one segment. Returns the number of segments. */
static int reported(const struct piece *piece, int count, struct piece *out)
{
    int n = 0;
    if (hidden) out[n++] = (struct piece){UNKNOWN, 0, hidden - 1};
    for (int i = 0; i < count; i++)
        if (piece[i].top >= hidden)
            out[n++] = (struct piece){called(&piece[i]), piece[i].base < hidden ? hidden : piece[i].base, piece[i].top};
    return n;
}

#endif

#endif
