/* SPDX-License-Identifier: MIT */
/* Host form of stixel: reduction to columns, segmentation, obstacles. road.c finds the road. */
#include "stixel.h"

#if VFRONT_STIXELS

/* ---- reduction --------------------------------------------------------------------------------------------------- */

/** Reduces the disparities of each image row to one per column, and marks the v-disparity bins that vote for the
 *  road. */
static void reduce(const struct vf_stixel_view *s, struct vf_stixel_memory *m)
{
    const struct vf_level *l = &s->geometry.level[0][0];
    const int32_t disparities = s->tuning.dense_disparities, columns = vf_stixel_columns(&s->geometry, &s->tuning),
                  width = s->tuning.stixel_width_px;
    const uint8_t *picture = s->pictures.level0[s->parity][0];
    for (int32_t y = 0; y < l->height; y++) {
        const uint16_t *row = s->dense->disparity + (size_t)y * (size_t)l->pitch;
        const uint8_t *confidence = s->dense->confidence + (size_t)y * (size_t)l->pitch;
        uint32_t count[VFRONT_DISPARITIES] = {0}, count_max = 0, *voters = m->voters + y * disparities / 32;
        for (int32_t x = 0; x < l->width; x++) count[vf_road_bin(row[x], confidence[x], disparities)]++;
        for (int32_t d = 1; d < disparities; d++) count_max = count[d] > count_max ? count[d] : count_max;
        memset(voters, 0, (size_t)disparities / 8);
        for (int32_t d = 1; d < disparities; d++)
            voters[d / 32] |= (uint32_t)vf_road_votes(count[d], count_max, l->width) << d % 32;
        for (int32_t i = 0; i < columns; i++) {
            m->column[i][l->height - 1 - y] = (uint16_t)vf_stixel_reduce(row + i * width, confidence + i * width, width,
                                                                         VF_DENSE_UNITS, disparities);
            m->blank[i][l->height - 1 - y] = (uint8_t)vf_stixel_blank(picture + (size_t)y * (size_t)l->pitch, i * width,
                                                                      width, l->width);
        }
    }
}

/* ---- dynamic programming ----------------------------------------------------------------------------------------- */

/** Prefix sums of a column from the bottom: disparities, valid rows, data terms. */
static void sum_rows(struct vf_column_model *model, const struct vf_stixel_memory *m, int32_t column,
                     struct vf_stixel_scratch *w)
{
    const int32_t disparities = model->disparities;
    memset(w->object_sum, 0, sizeof *w->object_sum * (size_t)disparities);
    w->disparity_sum_twice[0] = w->valid[0] = 0;
    w->sum[0] = 0;
    for (int32_t v = 0; v < model->height; v++)
        if (vf_stixel_seen(model, v, m->column[column][v]) != VF_STIXEL_NONE) model->support = v + 1;
    for (int32_t v = 0; v < model->height; v++) {
        const uint32_t d = vf_stixel_seen(model, v, m->column[column][v]);
        const uint16_t *cost = m->tables.object_cost + vf_stixel_bin(d, disparities) * disparities;
        w->disparity_sum_twice[v + 1] = w->disparity_sum_twice[v] + (d == VF_STIXEL_NONE ? 0 : 2 * d);
        w->valid[v + 1] = w->valid[v] + (d != VF_STIXEL_NONE);
        w->sum[v + 1] = w->sum[v] + vf_background_data(model, m->ground, m->column[column], v, m->blank[column][v]);
        for (int32_t k = 0; k < disparities; k++)
            w->object_sum[(v + 1) * disparities + k] = w->object_sum[v * disparities + k] + cost[k];
    }
}

/** Finds the best object segment that ends at row `top`, over all base rows. Ties keep the lower base. */
static struct vf_object_end end_object(const struct vf_column_model *model, struct vf_stixel_scratch *w, int32_t top)
{
    const uint32_t twice_one = w->disparity_sum_twice[top + 1] + 1, valid = w->valid[top + 1];
    const int32_t *through = w->object_sum + (top + 1) * model->disparities;
    int32_t best = VF_STIXEL_COST_MAX, best_base = 0, best_mean = 0;
    for (int32_t base = 0; base <= top; base++) {
        const uint32_t inverse = model->tables->inverse_q31[valid - w->valid[base]];
        const int32_t mean = vf_stixel_mean(twice_one - w->disparity_sum_twice[base], inverse),
                      bin = mean / VF_STIXEL_PX;
        int32_t cost = vf_object_start_cost(&w->object_start[base], mean) + through[bin] -
                       w->object_sum[base * model->disparities + bin];
        if (base == 0) cost += vf_stixel_bottom_prior(model, top);
        if (cost >= best || !inverse) continue;
        best = cost;
        best_base = base;
        best_mean = mean;
    }
    const int32_t before = vf_object_predecessor(&w->object_start[best_base], best_mean, best_base, model->horizon);
    w->object[top] = best;
    w->object_back[top] = (uint16_t)vf_back_pointer(best_base, before);
    return vf_object_end_at(model, best, best_mean);
}

/** Finds the cheapest segmentation of a column by dynamic programming, row by row from the bottom. Returns the number
 *  of its segments, whose tops and classes are in w->list. */
static int32_t solve(const struct vf_column_model *model, const struct vf_stixel_memory *m, struct vf_stixel_scratch *w)
{
    struct vf_object_end end = vf_object_end_none();
    /* best segment of ground or sky: value (vf_background_open()), back-pointer, cost */
    int32_t open = vf_background_at_bottom(model), back = 0, background = 0;
    for (int32_t v = 0; v < model->height; v++) {
        const struct vf_transition b = vf_transition_at(model->tables, model->disparities, model->horizon,
                                                        v ? m->ground[v - 1].expected_q8 : 0, v);
        const struct vf_background_step step = vf_background_step_at(model, &b, v, w->sum[v], w->sum[v + 1]);
        const int32_t before = vf_background_predecessor(&step, open, end.background_cost, background);
        w->object_start[v] = vf_object_start_at(&b, model->segment_cost, &end, background);
        if (before >= 0) back = vf_back_pointer(v, before);
        open = vf_background_open(&step, open, end.background_cost, background);
        background = open + step.sum;
        w->background[v] = background;
        w->background_back[v] = (uint16_t)back;
        end = end_object(model, w, v);
    }
    const int32_t top = model->height - 1;
    const struct vf_row_costs costs = vf_row_costs_at(model, top, w->object[top], w->background[top]);
    return vf_backtrack(model->height, vf_row_best_type(&costs), w->object_back, w->background_back, w->list);
}

/** Least cost of rows 0 .. row if the segment that ends at `row` has class `type`; 0 for row -1. */
static int32_t cost_through(const struct vf_column_model *model, const struct vf_stixel_scratch *w, int32_t row,
                            int32_t type)
{
    if (row < 0) return 0;
    const struct vf_row_costs costs = vf_row_costs_at(model, row, w->object[row], w->background[row]);
    return vf_row_cost(&costs, type);
}

/** Writes the `count` segments of w->list from the bottom up, with one unknown segment for hidden rows. Returns the
 *  number of segments written. */
static int32_t write_segments(const struct vf_column_model *model, const struct vf_ground_model *ground,
                              const struct vf_stixel_scratch *w, struct vf_segment *segment, int32_t count)
{
    const int32_t replaced = vf_stixel_replaced(model, w->list, count), hidden = model->hidden > 0;
    if (hidden) segment[0] = vf_stixel_hidden_segment(model);
    count -= replaced;
    for (int32_t i = 0; i < count; i++) {
        const int32_t top = vf_back_base(w->list[i]), type = vf_back_type(w->list[i]),
                      back = type == VF_OBJECT ? w->object_back[top] : w->background_back[top];
        const int32_t base = vf_back_base(back),
                      cost = cost_through(model, w, top, type) - cost_through(model, w, base - 1, vf_back_type(back));
        segment[hidden + count - 1 - i] = vf_segment_of(
            model, type, vf_max(base, model->hidden), top, vf_stixel_open(w->list, i),
            w->disparity_sum_twice[top + 1] - w->disparity_sum_twice[base], w->valid[top + 1] - w->valid[base],
            ground[base].expected_q8, cost);
    }
    return hidden + count;
}

/** Segments the column with an extra cost of `quarters` quarters of a nat for each segment. Returns the number of
 *  segments. */
static int32_t solve_at(struct vf_column_model *model, const struct vf_stixel_memory *m, struct vf_stixel_scratch *w,
                        int32_t quarters)
{
    model->segment_cost = vf_stixel_segment_cost(quarters);
    return solve(model, m, w);
}

/** Segments a column. If the optimum has too many segments, finds the least extra cost per segment that suffices, bit
 *  by bit from the highest. */
void vf_stixel_segment_column(const struct vf_stixel_view *s, int32_t column)
{
    struct vf_stixel_memory *m = s->stixel;
    struct vf_stixel_scratch *w = s->scratch;
    struct vf_column_model model = vf_column_model_of(s, &m->tables, m->ground, m->horizon, column);
    const int32_t most = vf_stixel_segments_max(&model);
    m->segments[column] = m->crowded[column] = 0;
    if (m->horizon < 0) return;
    sum_rows(&model, m, column, w);
    if (!w->valid[model.height]) return;
    int32_t count = solve_at(&model, m, w, 0), too_low = 0;
    m->crowded[column] = count > most;
    if (m->crowded[column]) {
        for (int32_t bit = VF_STIXEL_SEGMENT_COST_BITS - 1; bit >= 0; bit--)
            if (solve_at(&model, m, w, too_low + (1 << bit)) > most) too_low += 1 << bit;
        count = solve_at(&model, m, w, too_low + 1);
    }
    m->segments[column] = (uint16_t)write_segments(&model, m->ground, w, m->segment[column], count);
}

/* ---- obstacles --------------------------------------------------------------------------------------------------- */

/** Number of rows of a segment that have a valid disparity. */
static int32_t valid_rows(const struct vf_stixel_memory *m, int32_t column, const struct vf_segment *segment)
{
    int32_t valid = 0;
    for (int32_t v = segment->base; v <= segment->top; v++) valid += m->column[column][v] != VF_STIXEL_NONE;
    return valid;
}

static void keep_least(uint32_t *least, uint32_t value) { *least = value < *least ? value : *least; }

/** Finds the nearest obstacle in each direction. */
static void find_nearest(const struct vf_stixel_view *s, struct vf_stixel_memory *m)
{
    for (int32_t i = 0; i < VFRONT_OBSTACLE_BINS; i++) m->nearest_cm[i] = VF_NONE;
    if (m->horizon < 0) return;
    for (int32_t column = 0; column < vf_stixel_columns(&s->geometry, &s->tuning); column++) {
        const struct vf_column_model model = vf_column_model_of(s, &m->tables, m->ground, m->horizon, column);
        const struct vf_segment *segment = m->segment[column], *bottom = m->segments[column] ? segment : NULL;
        uint32_t *nearest = &m->nearest_cm[m->tables.obstacle_bin[column]];
        for (int32_t i = 0; i < m->segments[column]; i++)
            keep_least(nearest, vf_stixel_obstacle_cm(s, m->tables.secant[column], &segment[i]));
        if (vf_stixel_may_hide(&model, bottom, bottom ? valid_rows(m, column, bottom) : 0))
            keep_least(nearest, vf_stixel_hidden_cm(s));
    }
}
#endif

void vf_stixel_host(const struct vf_stixel_view *s)
{
#if VFRONT_STIXELS
    struct vf_stixel_memory *m = s->stixel;
    reduce(s, m);
    vf_road_find(s);
    for (int32_t column = 0; column < vf_stixel_columns(&s->geometry, &s->tuning); column++)
        vf_stixel_segment_column(s, column);
    find_nearest(s, m);
#else
    (void)s;
#endif
}

vfront_status_t vf_stixel_prepare(const struct vf_prepare *p, const struct vf_stixel_view *s)
{
#if VFRONT_STIXELS
    struct vf_stixel_tables *tables = p->scratch; /* too large for the stack */
    if (!p->tuning->stixel || !p->tuning->dense) return VFRONT_OK;
    if (sizeof *tables > p->scratch_bytes) return VFRONT_E_SIZE;
    vf_stixel_make(tables, s);
    const vfront_status_t status = p->write(p, &s->stixel->tables, tables, sizeof *tables);
    memset(tables, 0, sizeof *tables);
    return status;
#else
    (void)p, (void)s;
    return VFRONT_OK;
#endif
}
