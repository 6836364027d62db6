/* SPDX-License-Identifier: MIT */
/* stixel: road and horizon, and every column of the picture cut into ground, objects and sky (paper 002; terms and values are those of its
 * authors' program).
 *
 * In      disparities of camera 0; the road of the frame before; tables made in vfront_init()
 * Out     the road; of each column its segments from the bottom up; the nearest obstacle in each of 72 directions
 * Rule    Columns are stixel_width_px wide; a row of one has the mean, or the median, of its valid disparities. Where none is valid, a row costs
 *         nothing whatever it belongs to. Every segment has a class and costs what its rows cost under it and what its change from
 *         the segment below costs; the segmentation that costs least is found row by row from the bottom (dynamic programming), and
 *         read back from the top. A row under an object costs by its whole disparity and the whole mean of the segment's; sigma goes with
 *         the row's, not with the mean, as in the authors' program. An object nearer to infinity than one pixel is sky.
 *         Ground and sky do not depend on where their segment began but by a constant, so the best beginning is carried along; objects do,
 *         and every pair of rows is looked at. What an object's rows cost is the difference of two sums from the bottom, of which a table
 *         for every disparity and row would have to exist; tiles of VF_STIXEL_TILE rows of it are made when they are needed instead.
 *         A column has at most VFRONT_SEGMENTS segments. Where the optimum has more, every segment is made dearer, by the least quarter
 *         of a nat for which there are few enough: what comes out is the best of all segmentations with no more segments than it has
 *         Road: of each row how many pixels have which whole disparity (v-disparity); those that are at least half as many as the most of
 *         the row, and a 16th of the row, vote for lines (Hough; 1 degree, 1 px), and the strongest that leaves the pitch within 50
 *         degrees is fitted to what voted for it (least squares). The authors' program takes half of the most in the picture: a road
 *         that is banked falls below that where anything else stands upright. It is smoothed over frames; one that jumps, or none, is bridged for VF_ROAD_HOLD frames
 * Exact   integers, costs in 1/4096 nat, disparities in 1/256 px; the road and the ground's terms in double precision with + - * / and roots
 * Memory  a column's disparities, its segments; a bit a row and disparity; tables
 *
 * Costs are rounded to 1/4096 nat a row, so two segmentations that differ by less than rows / 4096 nat may change places with the real-valued
 * model. Rows count from the bottom of the picture here, 0 to height - 1.
 *
 * D. Pfeiffer, U. Franke, Towards a global optimal multi-layer stixel representation of dense 3D data (2011).
 */
#ifndef VF_STIXEL_H
#define VF_STIXEL_H

#include "math/angle.h"
#include "dense.h"

#define VF_STIXEL_PX 256   /* a pixel of disparity */
#define VF_STIXEL_NAT 4096 /* a nat of cost */
#define VF_STIXEL_NONE 0xffffu
#define VF_STIXEL_TILE 32 /* rows whose sums are made together: a warp */
#define VF_STIXEL_PART 8  /* rows of a tile below which sums are kept */
#define VF_STIXEL_TILES ((VFRONT_HEIGHT + VF_STIXEL_TILE - 1) / VF_STIXEL_TILE)
#define VF_STIXEL_NEVER (1 << 30) /* an impossible change, sums of a few of which fit */
#define VF_STIXEL_WORST                                                                                                \
    (1 << 28) /* more than any possible segmentation costs: 2160 rows of 7.5 nats, and two segments */
#define VF_STIXEL_PRICES                                                                                               \
    16 /* bits of the price of a segment in quarters of a nat, so that at the highest there is one segment */
#define VF_ROAD_HOLD 10   /* frames for which a road is kept that is not seen */
#define VF_ROAD_ANGLES 89 /* lines looked at: 91 .. 179 degrees */
#define VF_ROAD_VOTES 25  /* a line needs more */
#define VF_ROAD_SHARE 16  /* and of all votes at least one in so many */

/** Natural logarithms and the error function, at steps between which lines go. */
#define VF_LOGS 256
#define VF_ERFS 256 /* 0..4 */

#if VFRONT_STIXELS
enum { VF_GROUND = 0, VF_OBJECT = 1, VF_SKY = 2 };

/** What is made once. */
struct vf_stixel_tables {
    int32_t log_q16[VF_LOGS + 1];          /* ln(1 + i / VF_LOGS) */
    float erf[VF_ERFS + 1];                /* erf(i * 4 / VF_ERFS) */
    int32_t order[VFRONT_HEIGHT];          /* ln(height - row) [1/4096 nat] */
    uint32_t inverse[VFRONT_HEIGHT + 1];   /* 2^31 / n, rounded up; 0 for 0 */
    int32_t range_q8[VFRONT_DISPARITIES];  /* of disparities that an object of that whole disparity spans */
    int32_t least[VFRONT_DISPARITIES + 1]; /* that a row of a whole disparity costs in an object */
    float secant[VFRONT_COLUMNS];          /* distance over depth, of a column's middle */
    uint8_t bin[VFRONT_COLUMNS];           /* direction in which it lies */
    double sine[VF_ROAD_ANGLES], cosine[VF_ROAD_ANGLES];
    uint16_t cost[(VFRONT_DISPARITIES + 1) *
                  VFRONT_DISPARITIES]; /* of a row of a whole disparity in an object of a whole mean; last: none, 0 */
};

/** What a row costs as ground. */
struct vf_ground {
    int32_t at_q8;   /* disparity of the road there; 0 above the horizon */
    int32_t norm;    /* of a row that is just there */
    uint32_t weight; /* of its squared difference [2^-24 nat/4096 per (px/256)^2] */
};

/** Line d = slope * (row - horizon) of the picture, rows from the top. */
struct vf_road {
    double horizon_px, slope;
    uint32_t state;  /* vfront_road_state_t */
    uint32_t unseen; /* frames in a row */
    uint32_t votes;  /* of this frame's line */
    uint32_t reserved;
};

/** A segment as it is found; rows from the bottom. */
struct vf_segment {
    uint16_t base, top;
    int32_t mean_q8; /* -1: no valid disparity in it */
    int32_t type, cost;
};

/** What is known when the rows up to one are done: what the best that ends there costs, by class, and the mean of the object that ends it. */
struct vf_done {
    int32_t cost[3];
    int32_t mean_q8;
};

/** What it costs to begin an object after that, the costs of what lies below included: a function of its mean with steps. */
struct vf_entry {
    int32_t above, below, upper, lower, between;                    /* after ground or sky */
    int32_t object_above, object_below, object_upper, object_lower; /* after an object; never between */
};
/** What it costs more to begin at a row: an object after ground or sky by its mean, after an object; ground or sky; anything at all. */
struct vf_change {
    int32_t above, below, upper, lower, between, object, begin, order;
};
/** What holds nothing before the stage and after it. Its content differs from port to port. */
struct vf_stixel_work {
    VF_ALIGN(16) struct vf_change change[VFRONT_HEIGHT]; /* of the kernel */
    int32_t plain[VFRONT_COLUMNS][VF_STIXEL_TILES * VF_STIXEL_TILE + 1],
        end[VFRONT_COLUMNS][VF_STIXEL_TILES * VF_STIXEL_TILE]; /* of the kernel: what rows
                                                               cost as ground or sky, below each; what that costs which ends at each */
    VF_ALIGN(16)
    int32_t parts[VFRONT_COLUMNS]
                 [VF_STIXEL_TILES * VF_STIXEL_TILE / VF_STIXEL_PART * VFRONT_DISPARITIES]; /* of the kernel: costs below
                                                               every part of a tile, by whole mean */
    VF_ALIGN(16)
    int32_t begun[VFRONT_COLUMNS][VF_STIXEL_TILES * VF_STIXEL_TILE + 1]
                 [12]; /* of the kernel: objects that begin at a row */
    uint64_t found[VFRONT_COLUMNS]
                  [VF_STIXEL_TILES * VF_STIXEL_TILE]; /* of the kernel: the best object that ends at a row */
    int32_t cheapest[VFRONT_COLUMNS][VF_STIXEL_TILES * VF_STIXEL_TILE +
                                     1]; /* of the kernel: what rows of a tile cost at least in an object */
    /* Of the host form: a column, and the table that the kernel does without. */
    int32_t sum[(VFRONT_HEIGHT + 1) * VFRONT_DISPARITIES]; /* costs below a row, by whole mean of an object */
    uint32_t twice[VFRONT_HEIGHT + 1];                     /* sums of disparities below, twice */
    uint32_t valid[VFRONT_HEIGHT + 1];
    int32_t ground[VFRONT_HEIGHT + 1], sky[VFRONT_HEIGHT + 1]; /* costs below */
    struct vf_done done[VFRONT_HEIGHT];
    struct vf_entry entry[VFRONT_HEIGHT];
    int32_t object_base[VFRONT_HEIGHT], ground_from[VFRONT_HEIGHT], sky_from[VFRONT_HEIGHT];
};

struct vf_stixel_memory {
    struct vf_stixel_tables tables;
    uint32_t voter[VFRONT_HEIGHT * VFRONT_DISPARITIES / 32]; /* by row from the top, a bit a whole disparity */
    uint32_t arrived;                                        /* blocks of the kernel that are done */
    uint64_t line;                                           /* the best: votes, angle, distance */
    struct vf_road road;
    int32_t horizon; /* row, 0..height; -1: there is no road */
    struct vf_ground ground[VFRONT_HEIGHT];
    uint16_t column[VFRONT_COLUMNS][VFRONT_HEIGHT]; /* disparities from the bottom [1/256 px], or VF_STIXEL_NONE */
    uint16_t segments[VFRONT_COLUMNS];              /* of each column; and whether it wanted more */
    uint16_t crowded[VFRONT_COLUMNS];
    struct vf_segment segment[VFRONT_COLUMNS][VFRONT_SEGMENTS]; /* from the bottom */
    uint32_t nearest_cm[VFRONT_OBSTACLE_BINS];                  /* all ones: nothing known */
};
#else
struct vf_stixel_work {
    uint64_t nothing;
};
struct vf_stixel_memory {
    uint64_t nothing;
};
#endif

/** Whether the stage has anything to do. */
VF_FN int vf_stixel_on(const struct vf_step *s) { return VFRONT_STIXELS && s->tuning.stixel && vf_dense_on(s); }

#if VFRONT_STIXELS

VF_FN int32_t vf_stixel_columns(const struct vf_step *s)
{
    return s->geometry.level[0][0].width / s->tuning.stixel_width_px;
}

/** Focal length times baseline: distance times disparity. */
VF_FN double vf_stixel_scale(const struct vf_step *s)
{
    return (double)s->geometry.focal_px[0] * (double)s->geometry.pair.baseline_m;
}

/* ---- model: values of paper 002's program ------------------------------------------------------------------------ */

#define VF_SIGMA_OBJECT 1.0 /* [px] */
#define VF_SIGMA_GROUND 2.0
#define VF_SIGMA_SKY 0.1
#define VF_SIGMA_TILT 8.726646259971648e-4 /* 0.05 degrees */
#define VF_SIGMA_HEIGHT_M 0.05
#define VF_OUTLIER 0.15 /* share of disparities that are wrong */
#define VF_OUTLIER_SKY 0.4
#define VF_OBJECT_RANGE_M 10.2
#define VF_ROAD_SLACK_Q8 (3 * VF_STIXEL_PX)

/* Logarithms of shares [1/4096 nat]. */
#define VF_LN_2 2839            /* ln 2 */
#define VF_LN_03 4931           /* -ln 0.3 */
#define VF_LN_07 1461           /* -ln 0.7 */
#define VF_LN_ORDER 6592        /* -ln 0.2 */
#define VF_LN_NOT_ORDER 914     /* -ln 0.8 */
#define VF_LN_GRAVITY 9431      /* -ln 0.1 */
#define VF_LN_BELOW 13185       /* -ln 0.04 */
#define VF_LN_ON_GROUND 7957    /* ln(2 * 3 / 0.86) */
#define VF_LN_OUTLIER 7771      /* -ln 0.15 */
#define VF_LN_OUTLIER_SKY 3753  /* -ln 0.4 */
#define VF_NORM 4430            /* ln(sqrt(2 pi) / 0.85) */
#define VF_NORM_SKY (-6414)     /* ln(0.1 sqrt(2 pi) / 0.6) - ln 2 */
#define VF_WEIGHT_SKY 52428800u /* 1 / (2 * 0.1^2), as in vf_ground */

/** ln(x / 256) [1/4096 nat], x > 0. */
VF_FN int32_t vf_stixel_log(const int32_t *log_q16, uint32_t x)
{
    int32_t exponent = 0;
#ifdef __CUDA_ARCH__
    exponent = 31 - __clz((int)x);
#else
    for (int32_t step = 16; step; step >>= 1)
        if (x >> (exponent + step)) exponent += step;
#endif
    const uint32_t fraction = (x << (31 - exponent)) & 0x7fffffffu, at = fraction >> 23,
                   between = (fraction >> 7) & 0xffff;
    const int32_t low = log_q16[at], more = (int32_t)(((uint32_t)(log_q16[at + 1] - low) * between) >> 16);
    return ((exponent - 8) * 45426 + low + more + 8) >> 4; /* 45426: ln 2 */
}

/** Cost of a disparity that is so far from where it should be; out: what it costs at most. */
VF_FN int32_t vf_stixel_far(int32_t off_q8, int32_t norm, uint32_t weight, int32_t out)
{
    const uint64_t square = (uint64_t)((int64_t)off_q8 * off_q8), most = (uint64_t)1 << 32;
    const uint64_t cost = (square < most ? square : most) * (uint64_t)weight >> 24;
    if (norm >= out) return out;
    return cost < (uint64_t)(out - norm) ? norm + (int32_t)cost : out;
}

/** What a row costs as ground and as sky. */
VF_FN int32_t vf_stixel_ground(const struct vf_ground *g, uint32_t disparity, int32_t out)
{
    return disparity == VF_STIXEL_NONE ? 0 : vf_stixel_far((int32_t)disparity - g->at_q8, g->norm, g->weight, out);
}
VF_FN int32_t vf_stixel_sky(uint32_t disparity, int32_t out)
{
    return disparity == VF_STIXEL_NONE ? 0 : vf_stixel_far((int32_t)disparity, VF_NORM_SKY, VF_WEIGHT_SKY, out);
}

/** Row of tables.cost of a disparity. */
VF_FN int32_t vf_stixel_whole(uint32_t disparity, int32_t disparities)
{
    return disparity == VF_STIXEL_NONE ? disparities : (int32_t)(disparity / VF_STIXEL_PX);
}

/** Mean of disparities [1/256 px], of twice their sum and one, and the inverse of their number: rounded down, but where thousands of rows have
 *  large disparities now and then up. */
VF_FN int32_t vf_stixel_mean(uint32_t sum_twice_one, uint32_t inverse)
{
    return (int32_t)((uint64_t)sum_twice_one * inverse >> 32);
}

/* ---- reduction --------------------------------------------------------------------------------------------------- */

/** What a row of a column has, from its pixels in so many units a pixel; disparities: how many there are. */
VF_FN uint32_t vf_stixel_reduce(const uint16_t *pixel, int32_t width, int32_t median, uint32_t units,
                                int32_t disparities)
{
    uint32_t sum = 0, count = 0, least = 0;
    for (int32_t i = 0; i < width; i++) {
        if (pixel[i] == VF_DENSE_NONE) continue;
        sum += pixel[i];
        count++;
    }
    if (!count) return VF_STIXEL_NONE;
    for (int32_t i = 0; i < width && median; i++) { /* the one below which are fewer than half, with equals as many */
        uint32_t below = 0, upto = 0;
        for (int32_t k = 0; k < width; k++) {
            if (pixel[k] == VF_DENSE_NONE) continue;
            below += pixel[k] < pixel[i];
            upto += pixel[k] <= pixel[i];
        }
        if (pixel[i] != VF_DENSE_NONE && 2 * below < count && 2 * upto >= count) least = pixel[i];
    }
    const uint32_t divisor = (median ? 1 : count) * units,
                   value = (2 * (median ? least : sum) * VF_STIXEL_PX + divisor) / (2 * divisor);
    const uint32_t most = (uint32_t)disparities * VF_STIXEL_PX - 1;
    return value < most ? value : most == VF_STIXEL_NONE ? most - 1 : most;
}

/* ---- road -------------------------------------------------------------------------------------------------------- */

/** Whole disparity that a pixel counts as, 0 for none: what is far says nothing of the road. */
VF_FN int32_t vf_road_bin(uint32_t pixel, int32_t disparities)
{
    const int32_t d = pixel == VF_DENSE_NONE ? 0 : (int32_t)(pixel / VF_DENSE_UNITS);
    return d < disparities ? d : 0;
}

/** Whether so many pixels of a row vote, the most being so many of one disparity. */
VF_FN int vf_road_votes(uint32_t count, uint32_t most, int32_t width)
{
    return 2 * count >= most && 16 * count >= (uint32_t)width;
}

/** Distance of the line through a bin and a row at an angle, [px], shifted so that it is not negative. */
VF_FN int32_t vf_road_distance(double sine, double cosine, int32_t bin, int32_t row, int32_t disparities)
{
    return (int32_t)(bin * cosine + row * sine + disparities + 0.5);
}

/** A line as one number, the greatest of which is the strongest, of these the one of the least angle and distance. */
VF_FN uint64_t vf_road_line(uint32_t votes, int32_t angle, int32_t distance)
{
    return (uint64_t)votes << 32 | (uint64_t)(255 - angle) << 16 | (uint64_t)(65535 - distance);
}

VF_FN int32_t vf_road_angle(uint64_t line) { return 255 - (int32_t)(line >> 16 & 65535); }
VF_FN int32_t vf_road_away(uint64_t line) { return 65535 - (int32_t)(line & 65535); }

/** Whether the line of that number is a road: enough votes, and a horizon that leaves the pitch within 50 degrees. */
VF_FN int vf_road_fits(const struct vf_step *s, double horizon_px, double slope)
{
    const double up = 1.1917535925942098 * (double)s->geometry.focal_px[0]; /* tan 50 degrees */
    const double off = horizon_px - (double)s->geometry.centre_px[1];
    return slope > 0.0 && slope < 100.0 && off > -up && off < up;
}

/** Sums over what voted for a line, and how many voted at all. */
struct vf_road_sums {
    int64_t n, x, y, xy, yy, all;
};
VF_FN void vf_road_add(struct vf_road_sums *sums, int32_t off_px, int32_t bin, int32_t row)
{
    sums->all++;
    if (vf_abs(off_px) > 1) return;
    sums->n++;
    sums->x += 2 * bin + 1; /* twice the middle of its disparities */
    sums->y += row;
    sums->xy += (int64_t)(2 * bin + 1) * row;
    sums->yy += (int64_t)row * row;
}

/** The line that fits best. Returns 0: there is none, or it is one among many, as in noise. */
VF_FN int vf_road_fit(const struct vf_step *s, const struct vf_road_sums *sums, double *horizon_px, double *slope)
{
    const double across = (double)(sums->n * sums->yy - sums->y * sums->y),
                 along = 0.5 * (double)(sums->n * sums->xy - sums->x * sums->y);
    if (!(across > 0.0) || !(along > 0.0) || sums->n * VF_ROAD_SHARE < sums->all) return 0;
    *slope = along / across;
    *horizon_px = ((double)sums->y - 0.5 * (double)sums->x / *slope) / (double)sums->n;
    return vf_road_fits(s, *horizon_px, *slope);
}

/** The road of this frame: `seen` 1 when there is a line. One that is far from the road so far, or none, is bridged. */
VF_FN void vf_road_follow(struct vf_road *road, int first, int seen, double horizon_px, double slope, uint32_t votes)
{
    const int known = !first && road->state != VFRONT_ROAD_NONE;
    const double up = horizon_px - road->horizon_px, share = slope / (known ? road->slope : 1.0);
    const int near = known && up < 20.0 && up > -20.0 && share < 1.25 && share > 0.8;
    road->votes = votes;
    road->reserved = 0;
    if (seen && (near || !known)) {
        road->horizon_px = known ? road->horizon_px + 0.5 * up : horizon_px;
        road->slope = known ? road->slope + 0.5 * (slope - road->slope) : slope;
        road->state = VFRONT_ROAD_SEEN;
        road->unseen = 0;
        return;
    }
    if (!known) road->horizon_px = road->slope = 0.0;
    road->unseen = known ? road->unseen + 1 : 1;
    road->state = known && road->unseen <= VF_ROAD_HOLD ? VFRONT_ROAD_HELD : VFRONT_ROAD_NONE;
}

/** The road that the rig gives. */
VF_FN void vf_road_given(const struct vf_step *s, struct vf_road *road)
{
    road->horizon_px = (double)s->geometry.horizon_px;
    road->slope = (double)s->geometry.road_slope;
    road->state = VFRONT_ROAD_GIVEN;
    road->unseen = road->votes = road->reserved = 0;
}

/** Row of the horizon from the bottom, within the picture. */
VF_FN int32_t vf_road_horizon(const struct vf_road *road, int32_t height)
{
    const double up = (double)height - 1.0 - road->horizon_px;
    if (road->state == VFRONT_ROAD_NONE) return -1;
    return up < 0.0 ? 0 : up > (double)height ? height : (int32_t)up;
}

/** Error function, to 1e-4. */
VF_FN double vf_stixel_erf(const struct vf_stixel_tables *t, double x)
{
    const double ax = (x < 0.0 ? -x : x) * (VF_ERFS / 4);
    if (ax >= VF_ERFS) return x < 0.0 ? -1.0 : 1.0;
    const int32_t i = (int32_t)ax;
    const double y = (double)t->erf[i] + (ax - i) * ((double)t->erf[i + 1] - (double)t->erf[i]);
    return x < 0.0 ? -y : y;
}

/** Rows from a row, from the bottom, up to the horizon, which may lie above the picture. */
VF_FN int32_t vf_road_down(const struct vf_step *s, const struct vf_road *road, int32_t horizon, int32_t row)
{
    const double height = (double)s->geometry.level[0][0].height, up = height - 1.0 - road->horizon_px;
    return (up > height ? (int32_t)up : horizon) - row;
}

/** What a row, from the bottom, costs as ground. A road too near to be measured counts as the nearest that can be. */
VF_FN struct vf_ground vf_road_row(const struct vf_step *s, const struct vf_stixel_tables *t,
                                   const struct vf_road *road, int32_t horizon, int32_t row)
{
    const double scale = vf_stixel_scale(s), focal = (double)s->geometry.focal_px[0],
                 down = (double)vf_road_down(s, road, horizon, row);
    const double most = (double)s->tuning.dense_disparities,
                 tangent = (road->horizon_px - (double)s->geometry.centre_px[1]) / focal;
    const double height_m = (double)s->geometry.pair.baseline_m / (sqrt(1.0 + tangent * tangent) * road->slope),
                 by = scale / height_m;
    const double at = road->slope * down < 0.0          ? 0.0
                      : road->slope * down > most - 1.0 ? most - 1.0
                                                        : road->slope * down;
    const double x = vf_atan2(tangent, 1.0) + down / focal, lift = VF_SIGMA_HEIGHT_M * x / height_m;
    const double variance = VF_SIGMA_GROUND * VF_SIGMA_GROUND + by * by * (lift * lift + VF_SIGMA_TILT * VF_SIGMA_TILT),
                 sigma = sqrt(variance);
    const double root = sigma * 1.4142135623730951,
                 inside = 0.5 * (vf_stixel_erf(t, (most - at) / root) + vf_stixel_erf(t, at / root));
    const double wide = sigma * inside < 65536.0 ? sigma * inside : 65536.0;
    struct vf_ground g;
    g.at_q8 = (int32_t)(at * VF_STIXEL_PX + 0.5);
    g.norm = VF_NORM + vf_stixel_log(t->log_q16, (uint32_t)(wide * 65536.0 / 16.0 + 0.5)) - 11357; /* 11357: 4 ln 2 */
    g.weight = (uint32_t)(0.5 / variance * 1048576.0 + 0.5);
    return g;
}

/* ---- dynamic programme ------------------------------------------------------------------------------------------- */

/** What a column's rows share. */
struct vf_cut {
    const struct vf_stixel_tables *tables;
    int32_t height, horizon, disparities;
    int32_t outlier, outlier_sky;
    int32_t price; /* of a segment, beside what the model asks */
};
VF_FN struct vf_cut vf_stixel_cut(const struct vf_step *s, const struct vf_stixel_memory *m)
{
    struct vf_cut c;
    c.tables = &m->tables;
    c.height = s->geometry.level[0][0].height;
    c.horizon = m->horizon;
    c.disparities = s->tuning.dense_disparities;
    c.outlier = vf_stixel_log(c.tables->log_q16, (uint32_t)c.disparities * VF_STIXEL_PX) + VF_LN_OUTLIER;
    c.outlier_sky = c.outlier - VF_LN_OUTLIER + VF_LN_OUTLIER_SKY;
    c.price = 0;
    return c;
}

VF_FN struct vf_entry vf_stixel_entry(const struct vf_cut *c, const struct vf_done *done, int32_t ground_q8,
                                      int32_t base)
{
    const int32_t order = c->tables->order[base] + c->price, most = c->disparities * VF_STIXEL_PX, before = base - 1;
    const int32_t *logs = c->tables->log_q16, slack = VF_ROAD_SLACK_Q8;
    struct vf_entry e;
    if (before < c->horizon) {
        const int32_t ground = done->cost[VF_GROUND] + order + VF_LN_07;
        e.above = ground_q8 + slack;
        e.below = ground_q8 - slack;
        e.upper = ground + vf_stixel_log(logs, (uint32_t)vf_max(most - e.above, 1)) + VF_LN_GRAVITY;
        e.lower = ground + vf_stixel_log(logs, (uint32_t)vf_max(e.below, 1)) + VF_LN_BELOW;
        e.between = ground + VF_LN_ON_GROUND;
    } else {
        e.above = slack;
        e.below = 0;
        e.upper = done->cost[VF_SKY] + order + vf_stixel_log(logs, (uint32_t)(most - slack));
        e.lower = e.between = VF_STIXEL_NEVER;
    }
    const int32_t mean = vf_max(done->mean_q8, 0), range = c->tables->range_q8[mean / VF_STIXEL_PX];
    const int32_t object = done->cost[VF_OBJECT] + order + (before < c->horizon ? VF_LN_07 : VF_LN_2);
    e.object_above = mean + range;
    e.object_below = mean - range;
    e.object_upper = object + vf_stixel_log(logs, (uint32_t)vf_max(most - e.object_above, 1)) + VF_LN_ORDER;
    e.object_lower = object + vf_stixel_log(logs, (uint32_t)vf_max(e.object_below, 1)) + VF_LN_NOT_ORDER;
    return e;
}

/** The entry at the bottom of the column. */
VF_FN struct vf_entry vf_stixel_first(const struct vf_cut *c)
{
    struct vf_entry e;
    e.above = VF_STIXEL_NEVER;
    e.below = e.object_below = -1;
    e.object_above = VF_STIXEL_NEVER;
    e.upper = e.lower = e.object_upper = e.object_lower = VF_STIXEL_NEVER;
    e.between = c->tables->order[0] + c->price +
                vf_stixel_log(c->tables->log_q16, (uint32_t)c->disparities * VF_STIXEL_PX);
    return e;
}

/** Costs of an entry after an object, and after another class, for a mean. */
VF_FN int32_t vf_entry_object(const struct vf_entry *e, int32_t mean_q8)
{
    return mean_q8 > e->object_above ? e->object_upper : mean_q8 < e->object_below ? e->object_lower : VF_STIXEL_NEVER;
}
VF_FN int32_t vf_entry_other(const struct vf_entry *e, int32_t mean_q8)
{
    return mean_q8 > e->above ? e->upper : mean_q8 < e->below ? e->lower : e->between;
}
VF_FN int32_t vf_entry_cost(const struct vf_entry *e, int32_t mean_q8)
{
    return vf_min(vf_entry_object(e, mean_q8), vf_entry_other(e, mean_q8));
}

/** What the object that begins at the bottom costs more when it ends at a row. */
VF_FN int32_t vf_stixel_first_top(const struct vf_cut *c, int32_t top) { return top <= c->horizon ? VF_LN_2 : 0; }

/** The best beginning of a segment of ground or sky so far, less the sum of its rows' costs below it: base and class before. */
struct vf_begun {
    int32_t cost, from; /* base * 4 + class before; -1: none */
};

/** Offers a beginning; ties keep what is there. */
VF_FN void vf_stixel_offer(struct vf_begun *begun, int32_t cost, int32_t from)
{
    if (cost >= begun->cost) return;
    begun->cost = cost;
    begun->from = from;
}

/** Beginnings at row `base`, after what is done: sums of costs of the rows below it as ground and as sky. Sky begins above the horizon and ground
 *  ends below it, so that one never follows the other. */
VF_FN void vf_stixel_begin(const struct vf_cut *c, const struct vf_done *done, int32_t base, int32_t ground_sum,
                           int32_t sky_sum, struct vf_begun *ground, struct vf_begun *sky)
{
    const int32_t order = c->tables->order[base] + c->price;
    if (base - 1 < c->horizon) {
        vf_stixel_offer(ground, done->cost[VF_OBJECT] + order + VF_LN_03 - ground_sum, base * 4 + VF_OBJECT);
        vf_stixel_offer(ground, done->cost[VF_GROUND] + order + VF_LN_03 - ground_sum, base * 4 + VF_GROUND);
        return;
    }
    if (done->mean_q8 >= VF_ROAD_SLACK_Q8)
        vf_stixel_offer(sky, done->cost[VF_OBJECT] + order + VF_LN_2 - sky_sum, base * 4 + VF_OBJECT);
}

/** No beginning yet; and that of ground at the bottom. */
VF_FN struct vf_begun vf_stixel_not_begun(void)
{
    struct vf_begun b = {VF_STIXEL_WORST, -1};
    return b;
}
VF_FN struct vf_begun vf_stixel_ground_begun(const struct vf_cut *c)
{
    struct vf_begun b = {VF_LN_2 + c->tables->order[0] + c->price, 0};
    return b;
}

/** Cost of what ends at row `top` as ground and as sky. */
VF_FN int32_t vf_stixel_ground_cost(const struct vf_cut *c, const struct vf_begun *begun, int32_t top, int32_t sum)
{
    return top < c->horizon && begun->from >= 0 ? begun->cost + sum : VF_STIXEL_NEVER;
}
VF_FN int32_t vf_stixel_sky_cost(const struct vf_begun *begun, int32_t sum)
{
    return begun->from >= 0 ? begun->cost + sum : VF_STIXEL_NEVER;
}

/** The class of the best segmentation of the whole column. */
VF_FN int32_t vf_stixel_last(const struct vf_done *done)
{
    int32_t last = VF_OBJECT;
    if (done->cost[VF_GROUND] < done->cost[last]) last = VF_GROUND;
    if (done->cost[VF_SKY] < done->cost[last]) last = VF_SKY;
    return last;
}

/** Where a segment begins, and what ends below it. */
struct vf_back {
    int32_t base, type;
};
VF_FN struct vf_back vf_stixel_back(int32_t type, int32_t object_base, int32_t ground_from, int32_t sky_from,
                                    const struct vf_entry *entry, int32_t mean_q8, int32_t horizon)
{
    struct vf_back back;
    const int32_t from = type == VF_GROUND ? ground_from : sky_from;
    back.base = type == VF_OBJECT ? object_base : from >> 2;
    back.type = from & 3;
    if (type == VF_OBJECT) {
        const int after_object = vf_entry_object(entry, mean_q8) <= vf_entry_other(entry, mean_q8);
        back.type = after_object ? VF_OBJECT : object_base - 1 < horizon ? VF_GROUND : VF_SKY;
    }
    return back;
}

/** A segment of so many valid disparities with that sum, twice, and that cost with its price. */
VF_FN struct vf_segment vf_stixel_segment(const struct vf_cut *c, int32_t type, int32_t base, int32_t top,
                                          uint32_t twice, uint32_t valid, int32_t cost)
{
    struct vf_segment s;
    s.base = (uint16_t)base;
    s.top = (uint16_t)top;
    s.mean_q8 = valid ? vf_stixel_mean(twice + 1, c->tables->inverse[valid]) : -1;
    s.type = type == VF_OBJECT && s.mean_q8 < VF_STIXEL_PX ? VF_SKY : type;
    s.cost = cost - c->price;
    return s;
}

/** Price of a segment, of quarters of a nat. */
VF_FN int32_t vf_stixel_price(int32_t quarters) { return quarters * (VF_STIXEL_NAT / 4); }

/* ---- obstacles and result ---------------------------------------------------------------------------------------- */

/** How far an object is in the direction of its column [cm]; what is farther than stixel_far_m, or not there, is free. */
VF_FN uint32_t vf_stixel_free_cm(const struct vf_step *s) { return (uint32_t)s->tuning.stixel_far_m * 100 + 1; }
VF_FN uint32_t vf_stixel_cm(const struct vf_step *s, float secant, const struct vf_segment *segment)
{
    const uint32_t free_cm = vf_stixel_free_cm(s);
    if (segment->type != VF_OBJECT || segment->mean_q8 <= 0) return free_cm;
    const float cm = (float)vf_stixel_scale(s) * 25600.0f / (float)segment->mean_q8 * secant;
    return cm < (float)(free_cm - 1) ? (uint32_t)cm : free_cm;
}

VF_FN vfront_stixel_t vf_stixel_result(const struct vf_step *s, const struct vf_segment *segment)
{
    const int32_t height = s->geometry.level[0][0].height;
    vfront_stixel_t t;
    t.base_px = (uint16_t)(height - 1 - segment->base);
    t.top_px = (uint16_t)(height - 1 - segment->top);
    t.type = (uint32_t)segment->type;
    t.disparity_px = segment->mean_q8 < 0 ? -1.0f : (float)segment->mean_q8 * (1.0f / VF_STIXEL_PX);
    t.distance_m = segment->type != VF_SKY && segment->mean_q8 > 0 ? (float)vf_stixel_scale(s) / t.disparity_px : 0.0f;
    t.sigma_m = t.distance_m > 0.0f ? t.distance_m / t.disparity_px * (float)VF_SIGMA_OBJECT : 0.0f;
    t.cost = (float)segment->cost * (1.0f / VF_STIXEL_NAT);
    return t;
}

VF_FN vfront_road_t vf_stixel_road(const struct vf_step *s, const struct vf_road *road)
{
    const double tangent = (road->horizon_px - (double)s->geometry.centre_px[1]) / (double)s->geometry.focal_px[0];
    const int there = road->state != VFRONT_ROAD_NONE;
    vfront_road_t r;
    r.state = road->state;
    r.votes = road->votes;
    r.unseen = road->unseen;
    r.horizon_px = there ? (float)road->horizon_px : 0.0f;
    r.slope = there ? (float)road->slope : 0.0f;
    r.pitch_rad = there ? (float)vf_atan2(tangent, 1.0) : 0.0f;
    r.height_m = there ? (float)((double)s->geometry.pair.baseline_m / (sqrt(1.0 + tangent * tangent) * road->slope))
                       : 0.0f;
    return r;
}

/* ---- made in vfront_init() --------------------------------------------------------------------------------------- */

/** ln(x), x > 0, and the error function, x >= 0, to 1e-12. */
double vf_stixel_ln(double x);
double vf_stixel_erf_series(double x);

/** Fills in the tables. */
void vf_stixel_make(struct vf_stixel_tables *t, const struct vf_step *s);

/** Cuts a column, when it and the road are there. */
void vf_stixel_cut_column(const struct vf_step *s, int32_t column);

#endif

#endif
