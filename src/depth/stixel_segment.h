/* SPDX-License-Identifier: MIT */
/* stixel_segment: second half of stixel. Energy terms of a column's segmentation (data terms, priors, transitions) and
 * the recursions of the dynamic programming that minimises it.
 *
 * In      disparities of a column from the bottom; ground model of every row; horizon; tables
 * Out     segments of the column from the bottom up
 * Rule    stixel.h. Two recursions advance together, row by row. Background (ground below the horizon, sky above) has
 *         no parameter: a segment's cost is a difference of prefix sums. The best open segment is therefore enough,
 *         stored as its first row and its cost minus the prefix sum there. An object has its mean disparity as
 *         parameter, so for each top row all base rows are tried
 * Exact   integers in 1/4096 nat and 1/256 px
 * Shared  all arithmetic. Written twice: the order of base and top pairs (stixel.c: all bases for each top;
 *         kernels/depth/stixel_solve.cuh: by tiles, without bases that cannot win). The kernel also splits
 *         vf_object_start_cost() for pairs within a tile: make_pairs() adds the transition's own cost, solve_tile() the
 *         cost of the rows below. Ties go to the lower base in host form and kernel
 *
 * Rows count from the bottom of the image, 0 to height - 1. Ground ends below the horizon row, sky begins with it.
 */
#ifndef VF_STIXEL_SEGMENT_H
#define VF_STIXEL_SEGMENT_H

#include "road.h"

#if VFRONT_STIXELS

#define VF_STIXEL_IMPOSSIBLE (1 << 30) /* cost of an unreachable state of the dynamic programming */
/* Cost that no possible segmentation reaches [nat/4096]: 2160 rows of 7.5 nats, and two segments, cost less. */
#define VF_STIXEL_COST_MAX (1 << 28)
/* Cost of a forbidden transition [nat/4096]. Two of these can be added to VF_STIXEL_IMPOSSIBLE. */
#define VF_STIXEL_FORBIDDEN (VF_STIXEL_COST_MAX + VF_STIXEL_COST_MAX / 2)
/* Number of bits of the extra cost per segment [1/4 nat] that limits the number of segments. At the highest extra cost,
 * one segment is cheapest. */
#define VF_STIXEL_SEGMENT_COST_BITS 16

/** Classes of a segment, with the values of vfront_stixel_type_t. */
enum { VF_GROUND = 0, VF_OBJECT = 1, VF_SKY = 2, VF_UNKNOWN = 3 };

/** Segment of a column: rows base .. top, from the bottom. */
struct vf_segment {
    uint16_t base, top;
    int32_t mean_q8;    /* mean disparity [px/256]; -1: no valid disparity */
    int32_t type, cost; /* class VF_GROUND...; cost: data terms plus the transition into it [nat/4096] */
};

/** Parameters shared by all rows of a column. */
struct vf_column_model {
    const struct vf_stixel_tables *tables;
    int32_t height, horizon, disparities;
    int32_t left_px;              /* image column of the stixel column's first pixel [px] */
    int32_t support;              /* number of rows up to the highest row with a valid disparity; set by sum_rows() */
    int32_t hidden;               /* number of bottom rows whose ground lies outside camera 1's image */
    int32_t outlier, outlier_sky; /* cost of an outlier in ground or object, and in sky [nat/4096] */
    int32_t segment_cost;         /* extra cost of each segment, which limits their number [nat/4096] */
};

/** Number of bottom rows, up to the horizon, whose ground has its match left of camera 1's first column. In these rows
 *  the expected disparity exceeds the column's distance from the left border. ground: disparity falls from row to
 *  row. */
VF_FN int32_t vf_stixel_hidden(const struct vf_ground_model *ground, int32_t horizon, int32_t left_px)
{
    int32_t low = 0, high = horizon; /* rows below low are hidden, rows from high on are not */
    while (low < high) {
        const int32_t middle = (low + high) / 2, hidden = ground[middle].expected_q8 > left_px * VF_STIXEL_PX;
        low = hidden ? middle + 1 : low;
        high = hidden ? high : middle;
    }
    return low;
}

/** Parameters of a column. ground: ground models of all rows, not read without a road; horizon: row of the horizon from
 *  the bottom, -1 without a road. */
VF_FN struct vf_column_model vf_column_model_of(const struct vf_stixel_view *s, const struct vf_stixel_tables *tables,
                                                const struct vf_ground_model *ground, int32_t horizon, int32_t column)
{
    struct vf_column_model m;
    m.tables = tables;
    m.height = s->geometry.level[0][0].height;
    m.horizon = horizon;
    m.disparities = s->tuning.dense_disparities;
    m.left_px = column * s->tuning.stixel_width_px;
    m.hidden = vf_stixel_hidden(ground, vf_min(horizon, m.height), m.left_px);
    m.outlier = vf_stixel_log(m.tables->log_q16, (uint32_t)m.disparities * VF_STIXEL_PX) + VF_LN_OUTLIER;
    m.outlier_sky = m.outlier - VF_LN_OUTLIER + VF_LN_OUTLIER_SKY;
    m.segment_cost = 0;
    m.support = 0;
    return m;
}

/** Converts the extra cost of a segment from quarters of a nat to nat/4096. */
VF_FN int32_t vf_stixel_segment_cost(int32_t quarters) { return quarters * (VF_STIXEL_NAT / 4); }

/* ---- data terms -------------------------------------------------------------------------------------------------- */

/** Gaussian cost of a disparity that differs from the expected one by off_q8 [px/256], at most the cost of an outlier.
 *  norm: cost of the expected disparity [nat/4096]; weight: factor of the squared difference [2^-24 nat/4096 per
 *  (px/256)^2]. */
VF_FN int32_t vf_stixel_gauss(int32_t off_q8, int32_t norm, uint32_t weight, int32_t outlier)
{
    const uint64_t square = (uint64_t)((int64_t)off_q8 * off_q8), most = (uint64_t)1 << 32;
    const uint64_t cost = (square < most ? square : most) * (uint64_t)weight >> 24;
    if (norm >= outlier) return outlier;
    return cost < (uint64_t)(outlier - norm) ? norm + (int32_t)cost : outlier;
}

/** 1 if the surface seen at a row is level: from VF_STIXEL_LEVEL_ROWS below the row to as many above it, the disparity
 *  falls as the road's, to a quarter. That of an upright object does not fall. column: disparities of all rows. */
VF_FN int32_t vf_stixel_level(const struct vf_column_model *m, const struct vf_ground_model *ground,
                              const uint16_t *column, int32_t row)
{
    const int32_t low = row - VF_STIXEL_LEVEL_ROWS, high = row + VF_STIXEL_LEVEL_ROWS;
    if (low < m->hidden || high >= vf_min(m->horizon, m->height)) return 0;
    if (column[low] == VF_STIXEL_NONE || column[high] == VF_STIXEL_NONE) return 0;
    const int32_t fall_q8 = ground[low].expected_q8 - ground[high].expected_q8;
    return 4 * vf_abs(column[low] - column[high] - fall_q8) <= fall_q8;
}

/** Data term of a row as ground; 0 without a valid disparity. Ground may lie lower than the road, and higher where it
 *  is level: vf_stixel_level(). */
VF_FN int32_t vf_stixel_ground_data(const struct vf_ground_model *g, uint32_t disparity, int32_t level, int32_t outlier)
{
    const int32_t off_q8 = (int32_t)disparity - g->expected_q8, rise_q8 = level ? g->rise_q8 : 0;
    if (disparity == VF_STIXEL_NONE) return 0;
    return vf_stixel_gauss(off_q8 < 0 ? vf_min(off_q8 + g->drop_q8, 0) : vf_max(off_q8 - rise_q8, 0), g->norm,
                           g->weight, outlier);
}

/** Integer disparity of a row, its index in tables.object_cost; `disparities` without a valid disparity. */
VF_FN int32_t vf_stixel_bin(uint32_t disparity, int32_t disparities)
{
    return disparity == VF_STIXEL_NONE ? disparities : (int32_t)(disparity / VF_STIXEL_PX);
}

/** Data term of a row as sky, relative to an object, where a row without a disparity costs 0. blank: 1: the row is
 *  bright and without texture. Disparities in blank rows come from their surroundings and are mostly small. Sky then
 *  costs at most as much as the best object, plus a linear term: -1 nat at disparity 0, 0 at VF_STIXEL_BLANK_FAR times
 *  tables.slack_q8. */
VF_FN int32_t vf_stixel_sky_data(const struct vf_column_model *m, int32_t row, uint32_t disparity, int32_t blank)
{
    const int32_t slack_q8 = m->tables->slack_q8;
    if (disparity == VF_STIXEL_NONE) return row < m->support && !blank ? -VF_LN_MISSING : -VF_LN_NO_SUPPORT;
    const int32_t known = vf_stixel_gauss((int32_t)disparity, VF_NORM_SKY, VF_WEIGHT_SKY, m->outlier_sky),
                  far_q8 = VF_STIXEL_BLANK_FAR * slack_q8,
                  matched = m->tables->row_cost_min[vf_stixel_bin(disparity, m->disparities)] +
                            ((int32_t)disparity - far_q8) * (VF_STIXEL_NAT / 2) / far_q8 * 2;
    return blank ? vf_min(known, matched) : known;
}

/** Disparity of a row for the segmentation: VF_STIXEL_NONE where the ground is hidden from camera 1, because the
 *  matcher finds only something farther there. */
VF_FN uint32_t vf_stixel_seen(const struct vf_column_model *m, int32_t row, uint32_t disparity)
{
    return row < m->hidden ? VF_STIXEL_NONE : disparity;
}

/** Data term of a row as background: ground below the horizon, sky from the horizon on. ground: models of all rows;
 *  column: disparities of all rows. */
VF_FN int32_t vf_background_data(const struct vf_column_model *m, const struct vf_ground_model *ground,
                                 const uint16_t *column, int32_t row, int32_t blank)
{
    const uint32_t disparity = vf_stixel_seen(m, row, column[row]);
    if (row >= m->horizon) return vf_stixel_sky_data(m, row, disparity, blank);
    return vf_stixel_ground_data(&ground[row], disparity, vf_stixel_level(m, ground, column, row), m->outlier);
}

/** Mean of n disparities [1/256 px], from twice their sum plus one and tables.inverse_q31[n]. Rounded down, rarely up
 *  for thousands of rows with large disparities. */
VF_FN int32_t vf_stixel_mean(uint32_t sum_twice_one, uint32_t inverse_q31)
{
    return (int32_t)((uint64_t)sum_twice_one * inverse_q31 >> 32);
}

/* ---- transitions ------------------------------------------------------------------------------------------------- */

/** Transition costs into a segment that begins at a row [nat/4096], without the cost of the rows below. For an object
 *  after ground or sky they are a step function of its mean disparity. Those of an object after an object are in
 *  vf_object_end. */
struct vf_transition {
    int32_t above_q8, below_q8; /* object after ground or sky: mean disparities at which its cost steps [px/256] */
    /* object after ground or sky: cost if its mean disparity is above above_q8, below below_q8, between */
    int32_t above_cost, below_cost, between_cost;
    int32_t object_cost;     /* object after object: prior of the class */
    int32_t background_cost; /* ground or sky after any class that may precede: prior of the class */
    int32_t length_cost;     /* every segment: prior of its top row */
};

/** Transition costs at row `base`. ground_q8: road disparity in the row below `base`; unused at row 0. */
VF_FN struct vf_transition vf_transition_at(const struct vf_stixel_tables *t, int32_t disparities, int32_t horizon,
                                            int32_t ground_q8, int32_t base)
{
    const int32_t *logs = t->log_q16, most = disparities * VF_STIXEL_PX;
    struct vf_transition b;
    b.length_cost = t->length_cost[base];
    if (base == 0) { /* object at the bottom row: any mean; ground: vf_background_at_bottom() */
        b.above_q8 = VF_STIXEL_IMPOSSIBLE;
        b.below_q8 = -1;
        b.above_cost = b.below_cost = 0;
        b.between_cost = vf_stixel_log(logs, (uint32_t)most);
        b.object_cost = b.background_cost = VF_STIXEL_FORBIDDEN;
        return b;
    }
    if (base - 1 >= horizon) { /* after sky: nothing, or an object with a mean disparity above slack_q8 */
        b.above_q8 = t->slack_q8;
        b.below_q8 = 0;
        b.above_cost = t->above_sky ? vf_stixel_log(logs, (uint32_t)(most - t->slack_q8)) : VF_STIXEL_FORBIDDEN;
        b.below_cost = b.between_cost = VF_STIXEL_FORBIDDEN;
        b.object_cost = b.background_cost = VF_LN_2;
        return b;
    }
    b.above_q8 = ground_q8 + t->slack_q8;
    b.below_q8 = ground_q8 - t->slack_q8;
    b.above_cost = vf_stixel_log(logs, (uint32_t)vf_max(most - b.above_q8, 1)) + VF_LN_GRAVITY + VF_LN_07;
    b.below_cost = vf_stixel_log(logs, (uint32_t)vf_max(b.below_q8, 1)) + VF_LN_BELOW + VF_LN_07;
    b.between_cost = vf_stixel_log(logs, (uint32_t)t->slack_q8) + VF_LN_ON_GROUND + VF_LN_07;
    b.object_cost = VF_LN_07;
    b.background_cost = base < horizon ? VF_LN_03 : VF_LN_2;
    return b;
}

/** Extra prior of an object that begins on the bottom row, by its top row [nat/4096]. */
VF_FN int32_t vf_stixel_bottom_prior(const struct vf_column_model *m, int32_t top)
{
    return top <= m->horizon ? VF_LN_2 : 0;
}

/** Cost of the transition from an object to a nearer and to a farther object above it [nat/4096]. mean_q8, range_q8:
 *  mean and depth range of the lower one [px/256]. The upper mean is uniform over the remaining disparities. */
VF_FN int32_t vf_object_nearer_cost(const struct vf_column_model *m, int32_t mean_q8, int32_t range_q8)
{
    return vf_stixel_log(m->tables->log_q16, (uint32_t)vf_max(m->disparities * VF_STIXEL_PX - mean_q8 - range_q8, 1)) +
           VF_LN_ORDER;
}
VF_FN int32_t vf_object_farther_cost(const struct vf_column_model *m, int32_t mean_q8, int32_t range_q8)
{
    return vf_stixel_log(m->tables->log_q16, (uint32_t)vf_max(mean_q8 - range_q8, 1)) + VF_LN_NOT_ORDER;
}

/* ---- recursion of objects ---------------------------------------------------------------------------------------- */

/** Best object that ends at a row, for segments that begin at the next row. An object above it needs a mean disparity
 *  above nearer_q8 or below farther_q8 [px/256]. nearer_cost, farther_cost: cost of all rows up to this row plus the
 *  transition into that object [nat/4096]. */
struct vf_object_end {
    int32_t nearer_q8, farther_q8, nearer_cost, farther_cost;
    int32_t background_cost; /* cost of all rows up to this row, to which ground or sky may be added */
};
VF_FN struct vf_object_end vf_object_end_none(void)
{
    const struct vf_object_end none = {VF_STIXEL_IMPOSSIBLE, -1, VF_STIXEL_IMPOSSIBLE, VF_STIXEL_IMPOSSIBLE,
                                       VF_STIXEL_IMPOSSIBLE};
    return none;
}

/** Describes an object that ends at a row, for the next row. cost: of all rows up to this row, VF_STIXEL_COST_MAX or
 *  more: no object; mean_q8: mean disparity of the object. Ground and sky may follow any object. */
VF_FN struct vf_object_end vf_object_end_at(const struct vf_column_model *m, int32_t cost, int32_t mean_q8)
{
    const int32_t range_q8 = m->tables->object_range_q8[(uint32_t)mean_q8 / VF_STIXEL_PX];
    struct vf_object_end e;
    if (cost >= VF_STIXEL_COST_MAX) cost = VF_STIXEL_IMPOSSIBLE;
    e.nearer_q8 = mean_q8 + range_q8;
    e.farther_q8 = mean_q8 - range_q8;
    e.nearer_cost = cost + vf_object_nearer_cost(m, mean_q8, range_q8);
    e.farther_cost = cost + vf_object_farther_cost(m, mean_q8, range_q8);
    e.background_cost = cost;
    return e;
}

/** Least cost of all rows below a row plus the transition into an object that begins there: a step function of its mean
 *  disparity. */
struct vf_object_start {
    /* Object after ground or sky: limits of its mean disparity [px/256]; costs above, below and between the limits. */
    int32_t above_q8, below_q8, above_cost, below_cost, between_cost;
    /* Object after an object: limits of its mean disparity [px/256]; costs above and below. Means between are
     * impossible. */
    int32_t nearer_q8, farther_q8, nearer_cost, farther_cost;
};

/** Costs of an object that begins at a row. b: transition costs of the row; end, background: the object, and the cost
 *  of ground or sky, that end at the row before (at row 0: vf_object_end_none(), 0). */
VF_FN struct vf_object_start vf_object_start_at(const struct vf_transition *b, int32_t segment_cost,
                                                const struct vf_object_end *end, int32_t background)
{
    const int32_t before = background + b->length_cost + segment_cost,
                  more = b->length_cost + segment_cost + b->object_cost;
    struct vf_object_start o;
    o.above_q8 = b->above_q8;
    o.below_q8 = b->below_q8;
    o.above_cost = before + b->above_cost;
    o.below_cost = before + b->below_cost;
    o.between_cost = before + b->between_cost;
    o.nearer_q8 = end->nearer_q8;
    o.farther_q8 = end->farther_q8;
    o.nearer_cost = end->nearer_cost + more;
    o.farther_cost = end->farther_cost + more;
    return o;
}

/** Cost of an object that begins at a row with mean disparity mean_q8, if an object precedes.
 *  vf_object_after_background(): if ground or sky precedes. vf_object_start_cost(): the lesser of these two. */
VF_FN int32_t vf_object_after_object(const struct vf_object_start *o, int32_t mean_q8)
{
    return mean_q8 > o->nearer_q8 ? o->nearer_cost : mean_q8 < o->farther_q8 ? o->farther_cost : VF_STIXEL_IMPOSSIBLE;
}
VF_FN int32_t vf_object_after_background(const struct vf_object_start *o, int32_t mean_q8)
{
    return mean_q8 > o->above_q8 ? o->above_cost : mean_q8 < o->below_q8 ? o->below_cost : o->between_cost;
}
VF_FN int32_t vf_object_start_cost(const struct vf_object_start *o, int32_t mean_q8)
{
    return vf_min(vf_object_after_object(o, mean_q8), vf_object_after_background(o, mean_q8));
}

/** Class of the segment below an object that begins at row `base` and has mean mean_q8. */
VF_FN int32_t vf_object_predecessor(const struct vf_object_start *o, int32_t mean_q8, int32_t base, int32_t horizon)
{
    const int after_object = vf_object_after_object(o, mean_q8) <= vf_object_after_background(o, mean_q8);
    return after_object ? VF_OBJECT : base - 1 < horizon ? VF_GROUND : VF_SKY;
}

/* ---- recursion of ground and sky --------------------------------------------------------------------------------- */

/** Step of the recursion of background, that is ground and sky, at a row. */
struct vf_background_step {
    /* cost of the transition into ground or sky that begins at the row, after an object or after ground; minus the
     * prefix sum of vf_background_data() below the row */
    int32_t after_object, after_ground;
    int32_t sum;   /* prefix sum of vf_background_data() up to the row */
    int32_t reset; /* least value of vf_background_open(): above any cost at the horizon, where ground ends */
};
VF_FN struct vf_background_step vf_background_step_at(const struct vf_column_model *m, const struct vf_transition *b,
                                                      int32_t row, int32_t sum_below, int32_t sum_through)
{
    struct vf_background_step step;
    step.after_object = b->background_cost + b->length_cost + m->segment_cost - sum_below;
    step.after_ground = row < m->horizon ? step.after_object
                        /* no class prior: only sky may follow */
                        : row == m->horizon && row ? step.after_object - b->background_cost
                                                   : VF_STIXEL_FORBIDDEN;
    step.sum = sum_through;
    step.reset = row == m->horizon ? VF_STIXEL_IMPOSSIBLE : INT32_MIN;
    return step;
}

/** Cost of the ground segment that begins at the bottom of the column. Its back-pointer is 0. */
VF_FN int32_t vf_background_at_bottom(const struct vf_column_model *m)
{
    return VF_LN_2 + m->tables->length_cost[0] + m->segment_cost;
}

/** Value of the best segment of ground or sky that covers a row, continued or begun there. Value: cost of all rows up
 *  to the row minus the prefix sum of vf_background_data(). open: value at the row before; object, background: least
 *  costs of all rows if an object, or if ground or sky, ends at the row before. */
VF_FN int32_t vf_background_open(const struct vf_background_step *step, int32_t open, int32_t object,
                                 int32_t background)
{
    return vf_min(object + step->after_object, vf_min(vf_max(open, step->reset), background + step->after_ground));
}

/** Class of the segment below the open segment of ground or sky, if this begins at the row; -1 if it continues.
 *  Arguments: those of vf_background_open(). Ties continue the segment, then prefer the object. */
VF_FN int32_t vf_background_predecessor(const struct vf_background_step *step, int32_t open, int32_t object,
                                        int32_t background)
{
    const int32_t kept = vf_max(open, step->reset), after_object = object + step->after_object,
                  after_ground = background + step->after_ground;
    return after_ground < vf_min(kept, after_object) ? VF_GROUND : after_object < kept ? VF_OBJECT : -1;
}

/* ---- back-pointers and segments ---------------------------------------------------------------------------------- */

/** Back-pointer of a segment: its base, and the class of the segment below it. vf_back_base(), vf_back_type(): its two
 *  parts. */
VF_FN int32_t vf_back_pointer(int32_t base, int32_t type) { return base * 4 + type; }
VF_FN int32_t vf_back_base(int32_t back) { return back >> 2; }
VF_FN int32_t vf_back_type(int32_t back) { return back & 3; }

/** Least costs of all rows up to a row, by class of the segment that ends there. */
struct vf_row_costs {
    int32_t ground, object, sky;
};
VF_FN struct vf_row_costs vf_row_costs_at(const struct vf_column_model *m, int32_t row, int32_t object,
                                          int32_t background)
{
    struct vf_row_costs c;
    c.ground = row < m->horizon ? background : VF_STIXEL_IMPOSSIBLE;
    c.object = object < VF_STIXEL_COST_MAX ? object : VF_STIXEL_IMPOSSIBLE;
    c.sky = row < m->horizon ? VF_STIXEL_IMPOSSIBLE : background;
    return c;
}
VF_FN int32_t vf_row_cost(const struct vf_row_costs *c, int32_t type)
{
    return type == VF_GROUND ? c->ground : type == VF_OBJECT ? c->object : c->sky;
}

/** Cheapest class of the segment that ends at a row; at the top row, class of the best segmentation's last segment.
 *  Ties: object, ground, sky. */
VF_FN int32_t vf_row_best_type(const struct vf_row_costs *c)
{
    const int32_t type = c->ground < c->object ? VF_GROUND : VF_OBJECT;
    return c->sky < vf_min(c->ground, c->object) ? VF_SKY : type;
}

/** Follows the back-pointers from the top of a column, whose last segment has class `type`. Lists tops and classes of
 *  at most VFRONT_SEGMENTS segments, from the top, packed as back-pointers. Returns the number of segments. */
VF_FN int32_t vf_backtrack(int32_t height, int32_t type, const uint16_t *object_back, const uint16_t *background_back,
                           uint16_t *list)
{
    int32_t count = 0;
    for (int32_t top = height - 1; top >= 0; count++) {
        const int32_t back = type == VF_OBJECT ? object_back[top] : background_back[top];
        if (count < VFRONT_SEGMENTS) list[count] = (uint16_t)vf_back_pointer(top, type);
        type = vf_back_type(back);
        top = vf_back_base(back) - 1;
    }
    return count;
}

/** 1 if no object is above segment i of a list as of vf_backtrack(), from the top: only sky, which ends a column. */
VF_FN int32_t vf_stixel_open(const uint16_t *list, int32_t i)
{
    return i == 0 || (i == 1 && vf_back_type(list[0]) == VF_SKY);
}

/** Segment from sums over its rows. twice: twice the sum of its `valid` valid disparities [px/256]; cost: including
 *  model.segment_cost; ground_q8: road disparity at its base. An object of less than 1 px disparity becomes sky if it
 *  begins above the horizon and no object is above it (open: 1), or may be. Below the horizon it becomes unknown if the
 *  road's disparity exceeds its mean by more than tables.slack_q8. */
VF_FN struct vf_segment vf_segment_of(const struct vf_column_model *m, int32_t type, int32_t base, int32_t top,
                                      int32_t open, uint32_t twice, uint32_t valid, int32_t ground_q8, int32_t cost)
{
    struct vf_segment s;
    s.base = (uint16_t)base;
    s.top = (uint16_t)top;
    s.mean_q8 = valid ? vf_stixel_mean(twice + 1, m->tables->inverse_q31[valid]) : -1;
    s.type = type;
    if (type == VF_OBJECT && s.mean_q8 < VF_STIXEL_PX) {
        if (base < m->horizon)
            s.type = ground_q8 - s.mean_q8 > m->tables->slack_q8 ? VF_UNKNOWN : VF_OBJECT;
        else
            s.type = open || m->tables->above_sky ? VF_SKY : VF_OBJECT;
    }
    s.cost = cost - m->segment_cost;
    return s;
}

#endif

#endif
