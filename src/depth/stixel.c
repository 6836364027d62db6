/* SPDX-License-Identifier: MIT */
#include "core/stages.h"

#include <math.h> /* sqrt, which is an instruction, correctly rounded */

#if VFRONT_STIXELS

/* ---- tables ------------------------------------------------------------------------------------------------------ */

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

double vf_stixel_erf_series(double x)
{
    if (x > 6.0) return 1.0;
    double term = 1.0,
           sum =
               1.0; /* all positive: erf x = 2 x e^(-x^2) / sqrt(pi) * (1 + 2 x^2 / 3 + ...); e^(-x^2) by its inverse */
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

static int32_t nats(double cost) { return (int32_t)(cost * VF_STIXEL_NAT + (cost < 0.0 ? -0.5 : 0.5)); }

/** Costs of rows of objects; sigma goes with the row's disparity. */
static void make_costs(struct vf_stixel_tables *t, double scale, int32_t disparities)
{
    const double outlier = vf_stixel_ln(disparities / VF_OUTLIER);
    for (int32_t d = 0; d < disparities; d++) {
        const double spread = (double)d * d * VF_OBJECT_RANGE_M / scale,
                     variance = VF_SIGMA_OBJECT * VF_SIGMA_OBJECT + spread * spread;
        const double root = sqrt(2.0 * variance),
                     inside = 0.5 * (vf_stixel_erf_series((disparities - d) / root) + vf_stixel_erf_series(d / root));
        const double norm = vf_stixel_ln(inside * sqrt(variance) * 2.5066282746310002 / (1.0 - VF_OUTLIER));
        for (int32_t mean = 0; mean < disparities; mean++) {
            const double cost = norm + (d - mean) * (double)(d - mean) / (2.0 * variance);
            t->cost[d * disparities + mean] = (uint16_t)nats(cost < outlier ? cost : outlier);
        }
    }
    for (int32_t mean = 0; mean < disparities; mean++) t->cost[disparities * disparities + mean] = 0;
    for (int32_t d = 0; d < disparities; d++) {
        const uint16_t *cost = t->cost + d * disparities;
        t->least[d] = cost[0];
        for (int32_t mean = 1; mean < disparities; mean++) t->least[d] = vf_min(t->least[d], cost[mean]);
    }
}

/** Directions of columns: in what bin they are, and how much farther an object is than deep. */
static void make_directions(struct vf_stixel_tables *t, const struct vf_step *s)
{
    const int32_t columns = vf_stixel_columns(s), width = s->tuning.stixel_width_px;
    for (int32_t i = 0; i < columns; i++) {
        const double tangent = (i * width + 0.5 * (width - 1) - (double)s->geometry.centre_px[0]) /
                               (double)s->geometry.focal_px[0];
        const double bins = vf_atan2(tangent, 1.0) * (VFRONT_OBSTACLE_BINS / 6.2831853071795865);
        t->bin[i] = (uint8_t)((int32_t)(bins + VFRONT_OBSTACLE_BINS + 0.5) % VFRONT_OBSTACLE_BINS);
        t->secant[i] = (float)sqrt(1.0 + tangent * tangent);
    }
}

void vf_stixel_make(struct vf_stixel_tables *t, const struct vf_step *s)
{
    const int32_t disparities = s->tuning.dense_disparities, height = s->geometry.level[0][0].height;
    const double scale = vf_stixel_scale(s);
    memset(t, 0, sizeof *t);
    for (int32_t i = 0; i <= VF_LOGS; i++)
        t->log_q16[i] = (int32_t)(vf_stixel_ln(1.0 + i / (double)VF_LOGS) * 65536.0 + 0.5);
    for (int32_t i = 0; i <= VF_ERFS; i++) t->erf[i] = (float)vf_stixel_erf_series(i * (4.0 / VF_ERFS));
    for (int32_t i = 0; i < height; i++) t->order[i] = nats(vf_stixel_ln(height - i));
    for (uint32_t n = 1; n <= (uint32_t)height; n++) t->inverse[n] = (0x80000000u + n - 1) / n;
    for (int32_t d = 1; d < disparities; d++)
        t->range_q8[d] = (int32_t)((d - scale / (scale / d + VF_OBJECT_RANGE_M)) * VF_STIXEL_PX + 0.5);
    for (int32_t i = 0; i < VF_ROAD_ANGLES; i++) vf_sincos((91 + i) * 0.017453292519943295, &t->sine[i], &t->cosine[i]);
    make_costs(t, scale, disparities);
    make_directions(t, s);
}

/* ---- reduction, road --------------------------------------------------------------------------------------------- */

static void reduce(const struct vf_step *s, struct vf_stixel_memory *m)
{
    const struct vf_level *l = &s->geometry.level[0][0];
    const int32_t disparities = s->tuning.dense_disparities, columns = vf_stixel_columns(s),
                  width = s->tuning.stixel_width_px;
    for (int32_t y = 0; y < l->height; y++) {
        const uint16_t *row = s->memory->dense.disparity + (size_t)y * (size_t)l->pitch;
        uint32_t count[VFRONT_DISPARITIES] = {0}, most = 0, *voter = m->voter + y * disparities / 32;
        for (int32_t x = 0; x < l->width; x++) count[vf_road_bin(row[x], disparities)]++;
        for (int32_t d = 1; d < disparities; d++) most = count[d] > most ? count[d] : most;
        memset(voter, 0, (size_t)disparities / 8);
        for (int32_t d = 1; d < disparities; d++)
            voter[d / 32] |= (uint32_t)vf_road_votes(count[d], most, l->width) << d % 32;
        for (int32_t i = 0; i < columns; i++)
            m->column[i][l->height - 1 - y] = (uint16_t)vf_stixel_reduce(
                row + i * width, width, s->tuning.stixel_median, VF_DENSE_UNITS, disparities);
    }
}

static int votes_for(const struct vf_stixel_memory *m, int32_t disparities, int32_t row, int32_t bin)
{
    return m->voter[(row * disparities + bin) / 32] >> bin % 32 & 1;
}

/** The strongest line. */
static uint64_t vote(const struct vf_step *s, const struct vf_stixel_memory *m)
{
    const int32_t disparities = s->tuning.dense_disparities, height = s->geometry.level[0][0].height;
    uint64_t best = 0;
    for (int32_t angle = 0; angle < VF_ROAD_ANGLES; angle++) {
        const double sine = m->tables.sine[angle], cosine = m->tables.cosine[angle];
        uint16_t votes[VFRONT_HEIGHT + VFRONT_DISPARITIES + 2] = {0};
        for (int32_t y = 0; y < height; y++)
            for (int32_t d = 1; d < disparities; d++)
                if (votes_for(m, disparities, y, d)) votes[vf_road_distance(sine, cosine, d, y, disparities)]++;
        for (int32_t i = 0; i < height + disparities + 2; i++) {
            const double horizon_px = (i - disparities) / sine;
            const uint64_t line = vf_road_line(votes[i], angle, i);
            if (votes[i] > VF_ROAD_VOTES && line > best && vf_road_fits(s, horizon_px, -sine / cosine)) best = line;
        }
    }
    return best;
}

/** Fits a line to what is near the strongest. */
static int fit(const struct vf_step *s, const struct vf_stixel_memory *m, uint64_t line, double *horizon_px,
               double *slope)
{
    const int32_t disparities = s->tuning.dense_disparities, height = s->geometry.level[0][0].height;
    const int32_t angle = vf_road_angle(line), distance = vf_road_away(line);
    struct vf_road_sums sums = {0, 0, 0, 0, 0, 0};
    if (!line) return 0;
    for (int32_t y = 0; y < height; y++)
        for (int32_t d = 1; d < disparities; d++)
            if (votes_for(m, disparities, y, d))
                vf_road_add(&sums,
                            vf_road_distance(m->tables.sine[angle], m->tables.cosine[angle], d, y, disparities) -
                                distance,
                            d, y);
    return vf_road_fit(s, &sums, horizon_px, slope);
}

static void find_road(const struct vf_step *s, struct vf_stixel_memory *m)
{
    const int32_t height = s->geometry.level[0][0].height;
    double horizon_px = 0.0, slope = 0.0;
    if (s->geometry.road_slope > 0.0f) {
        vf_road_given(s, &m->road);
    } else {
        const uint64_t line = vote(s, m);
        const int seen = fit(s, m, line, &horizon_px, &slope);
        vf_road_follow(&m->road, s->memory->ingest.params.frame == 0, seen, horizon_px, slope, (uint32_t)(line >> 32));
    }
    m->horizon = vf_road_horizon(&m->road, height);
    if (m->horizon < 0) return;
    for (int32_t v = 0; v < height; v++) m->ground[v] = vf_road_row(s, &m->tables, &m->road, m->horizon, v);
}

/* ---- dynamic programme ------------------------------------------------------------------------------------------- */

/** Sums from the bottom of a column. */
static void sum_up(const struct vf_cut *c, const struct vf_stixel_memory *m, const uint16_t *column,
                   struct vf_stixel_work *w)
{
    const int32_t disparities = c->disparities;
    memset(w->sum, 0, sizeof *w->sum * (size_t)disparities);
    w->twice[0] = w->valid[0] = 0;
    w->ground[0] = w->sky[0] = 0;
    for (int32_t v = 0; v < c->height; v++) {
        const uint32_t d = column[v];
        const uint16_t *cost = m->tables.cost + vf_stixel_whole(d, disparities) * disparities;
        w->twice[v + 1] = w->twice[v] + (d == VF_STIXEL_NONE ? 0 : 2 * d);
        w->valid[v + 1] = w->valid[v] + (d != VF_STIXEL_NONE);
        w->ground[v + 1] = w->ground[v] + vf_stixel_ground(&m->ground[v], d, c->outlier);
        w->sky[v + 1] = w->sky[v] + vf_stixel_sky(d, c->outlier_sky);
        for (int32_t k = 0; k < disparities; k++)
            w->sum[(v + 1) * disparities + k] = w->sum[v * disparities + k] + cost[k];
    }
}

/** The best object that ends at row `top`. */
static void end_object(const struct vf_cut *c, struct vf_stixel_work *w, int32_t top)
{
    const uint32_t twice_one = w->twice[top + 1] + 1, valid = w->valid[top + 1];
    const int32_t *above = w->sum + (top + 1) * c->disparities;
    int32_t best = VF_STIXEL_WORST, best_base = 0, best_mean = -1;
    for (int32_t base = 0; base <= top; base++) {
        const uint32_t inverse = c->tables->inverse[valid - w->valid[base]];
        const int32_t mean = vf_stixel_mean(twice_one - w->twice[base], inverse), whole = mean / VF_STIXEL_PX;
        int32_t cost = vf_entry_cost(&w->entry[base], mean) + above[whole] - w->sum[base * c->disparities + whole];
        if (base == 0) cost += vf_stixel_first_top(c, top);
        if (cost >= best || !inverse) continue;
        best = cost;
        best_base = base;
        best_mean = mean;
    }
    w->done[top].cost[VF_OBJECT] = best < VF_STIXEL_WORST ? best : VF_STIXEL_NEVER;
    w->done[top].mean_q8 = best_mean;
    w->object_base[top] = best_base;
}

/** Fills in what is done, row by row. */
static void programme(const struct vf_cut *c, const struct vf_stixel_memory *m, struct vf_stixel_work *w)
{
    struct vf_begun ground = vf_stixel_ground_begun(c), sky = vf_stixel_not_begun();
    for (int32_t v = 0; v < c->height; v++) {
        if (v == 0) {
            w->entry[0] = vf_stixel_first(c);
        } else {
            w->entry[v] = vf_stixel_entry(c, &w->done[v - 1], m->ground[v - 1].at_q8, v);
            vf_stixel_begin(c, &w->done[v - 1], v, w->ground[v], w->sky[v], &ground, &sky);
        }
        w->done[v].cost[VF_GROUND] = vf_stixel_ground_cost(c, &ground, v, w->ground[v + 1]);
        w->done[v].cost[VF_SKY] = vf_stixel_sky_cost(&sky, w->sky[v + 1]);
        w->ground_from[v] = ground.from;
        w->sky_from[v] = sky.from;
        end_object(c, w, v);
    }
}

/** What a row's segment comes from. */
static struct vf_back back_from(const struct vf_cut *c, const struct vf_stixel_work *w, int32_t type, int32_t top)
{
    return vf_stixel_back(type, w->object_base[top], w->ground_from[top], w->sky_from[top],
                          &w->entry[type == VF_OBJECT ? w->object_base[top] : 0], w->done[top].mean_q8, c->horizon);
}

static int32_t count_segments(const struct vf_cut *c, const struct vf_stixel_work *w)
{
    int32_t count = 0, type = vf_stixel_last(&w->done[c->height - 1]);
    for (int32_t top = c->height - 1; top >= 0; count++) {
        const struct vf_back back = back_from(c, w, type, top);
        type = back.type;
        top = back.base - 1;
    }
    return count;
}

static void write_segments(const struct vf_cut *c, const struct vf_stixel_work *w, struct vf_segment *segment,
                           int32_t count)
{
    int32_t type = vf_stixel_last(&w->done[c->height - 1]), top = c->height - 1;
    while (count--) {
        const struct vf_back back = back_from(c, w, type, top);
        const int32_t below = back.base ? w->done[back.base - 1].cost[back.type] : 0;
        const uint32_t twice = w->twice[top + 1] - w->twice[back.base], valid = w->valid[top + 1] - w->valid[back.base];
        segment[count] = vf_stixel_segment(c, type, back.base, top, twice, valid, w->done[top].cost[type] - below);
        type = back.type;
        top = back.base - 1;
    }
}

/** Cuts a column as if a segment cost so much more. Returns how many there are. */
static int32_t cut_at(struct vf_cut *c, const struct vf_stixel_memory *m, struct vf_stixel_work *w, int32_t price)
{
    c->price = vf_stixel_price(price);
    programme(c, m, w);
    return count_segments(c, w);
}

/** Where a column would have too many segments, the least price is looked for, bit by bit from the highest. */
void vf_stixel_cut_column(const struct vf_step *s, int32_t column)
{
    struct vf_stixel_memory *m = &s->memory->stixel;
    struct vf_cut c = vf_stixel_cut(s, m);
    struct vf_stixel_work *w = &s->memory->stixel_work;
    m->segments[column] = m->crowded[column] = 0;
    if (m->horizon < 0) return;
    sum_up(&c, m, m->column[column], w);
    if (!w->valid[c.height]) return;
    int32_t count = cut_at(&c, m, w, 0), price = 0; /* too low, when there are too many */
    m->crowded[column] = count > VFRONT_SEGMENTS;
    if (m->crowded[column]) {
        for (int32_t bit = VF_STIXEL_PRICES - 1; bit >= 0; bit--)
            if (cut_at(&c, m, w, price + (1 << bit)) > VFRONT_SEGMENTS) price += 1 << bit;
        count = cut_at(&c, m, w, price + 1);
    }
    write_segments(&c, w, m->segment[column], count);
    m->segments[column] = (uint16_t)count;
}

/** The nearest object in each direction. */
static void find_nearest(const struct vf_step *s, struct vf_stixel_memory *m)
{
    for (int32_t i = 0; i < VFRONT_OBSTACLE_BINS; i++) m->nearest_cm[i] = VF_NONE;
    for (int32_t column = 0; column < vf_stixel_columns(s); column++)
        for (int32_t i = 0; i < m->segments[column]; i++) {
            const uint32_t cm = vf_stixel_cm(s, m->tables.secant[column], &m->segment[column][i]);
            uint32_t *nearest = &m->nearest_cm[m->tables.bin[column]];
            if (cm < *nearest) *nearest = cm;
        }
}
#endif

void vf_stixel_host(const struct vf_step *s)
{
#if VFRONT_STIXELS
    struct vf_stixel_memory *m = &s->memory->stixel;
    if (!vf_stixel_on(s)) return;
    reduce(s, m);
    find_road(s, m);
    for (int32_t column = 0; column < vf_stixel_columns(s); column++) vf_stixel_cut_column(s, column);
    find_nearest(s, m);
#else
    (void)s;
#endif
}
