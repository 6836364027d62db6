/* SPDX-License-Identifier: MIT */
#include "state_plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagram.h"
#include "state_accuracy.h"

#define WIDTH 1240
#define HEIGHT 790
#define ACROSS 3
#define PANELS 9
#define DEG 57.29577951308232
#define PI 3.14159265358979323846
#define SIGMAS 3.0
#define EXTENT_MIN 1e-3 /* of an axis, and as a share of its values: numbers of at most 7 characters */
#define COLUMNS 330     /* width of a panel [px] */
#define BIN_PX 2.0      /* of more frames than BINS those within so much are drawn as their least and greatest value */
#define BINS (COLUMNS + 1)
#define SHARE 0.95 /* of the deviations lie within the axis, whatever the others are */

#define LINE_COLOUR "#0072b2"
#define BAND_COLOUR "#e69f00"
#define COASTING_COLOUR "#cc79a7"
#define NONE_COLOUR "#bbbbbb"
#define RESTART_COLOUR "#cc0033"

/** Value of a frame in a panel. */
struct value {
    double t_s, v, sigma;
    int shown, begins; /* 1: there is a value; nothing joins it to the frame before */
};

/** What is plotted: names of the panels, in the order of the errors of a state. */
static const struct quantity {
    const char *name, *unit;
    double factor;
} quantity[PANELS] = {
    {"position x", "m", 1.0},
    {"position y", "m", 1.0},
    {"position z", "m", 1.0},
    {"roll, about x", "\302\260", DEG},
    {"pitch, about y", "\302\260", DEG},
    {"yaw, about z", "\302\260", DEG},
    {"velocity x", "m/s", 1.0},
    {"velocity y", "m/s", 1.0},
    {"velocity z", "m/s", 1.0},
};
static const int row_of[PANELS] = {0, 0, 0, 2, 2, 2, 1, 1, 1};

/* ---- values ------------------------------------------------------------------------------------------------------ */

/** Position, tilt about x and y of the odometry frame, yaw, velocity. A turn about z comes first, then the shortest one
 *  that gives the tilt. */
static void values_of(const state_frame_t *f, double v[PANELS])
{
    const double *q = f->nav.q_odom_imu, turn = sqrt(q[0] * q[0] + q[3] * q[3]), tilt = hypot(q[1], q[2]);
    const double c = turn > 0.0 ? q[0] / turn : 1.0, s = turn > 0.0 ? q[3] / turn : 0.0;
    const double x = q[1] * c - q[2] * s, y = q[1] * s + q[2] * c; /* of the quaternion times the turn back */
    const double angle = tilt > 0.0 ? 2.0 * atan2(tilt, turn) / tilt : 2.0;
    for (int k = 0; k < 3; k++) {
        v[k] = f->nav.position_m[k];
        v[6 + k] = f->nav.velocity_mps[k];
    }
    v[3] = angle * x;
    v[4] = angle * y;
    v[5] = 2.0 * atan2(q[3], q[0]);
}

/** Value of a panel in all frames. `moved` is that of state_segments(), or NULL: no errors. */
static void fill(const states_t *s, const pose_t *moved, int panel, struct value *value)
{
    const double factor = quantity[panel].factor;
    const state_frame_t *before = NULL;
    double last = 0.0;
    for (uint32_t i = 0; i < s->count; i++) {
        const state_frame_t *f = &s->frame[i];
        double e[PANELS];
        value[i] = (struct value){.t_s = ((double)f->t_ns - (double)s->frame[0].t_ns) * 1e-9};
        value[i].shown = f->has_state && (!moved || (f->has_truth && (panel < 6 || f->has_velocity)));
        value[i].begins = !before || !value[i - 1].shown || before->nav.reset_counter != f->nav.reset_counter;
        before = f;
        if (!value[i].shown) continue;
        if (moved)
            state_errors(f, &moved[i], e);
        else
            values_of(f, e);
        double v = moved ? -e[panel] : e[panel];
        if (!moved && panel == 5 && !value[i].begins) v = last + remainder(v - last, 2.0 * PI);
        last = v;
        value[i].v = factor * v;
        value[i].sigma = factor * sqrt(fmax(state_variance(&f->nav, panel), 0.0));
    }
}

static int compare(const void *a, const void *b)
{
    const double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/** Fit the value axis to all values and to most deviations. `sorted` has room for all frames. */
static void fit(struct diagram *p, const struct value *value, uint32_t count, double *sorted)
{
    double min = 0.0, max = 0.0;
    uint32_t shown = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!value[i].shown) continue;
        min = shown ? fmin(min, value[i].v) : value[i].v;
        max = shown ? fmax(max, value[i].v) : value[i].v;
        sorted[shown++] = value[i].sigma;
    }
    qsort(sorted, shown, sizeof *sorted, compare);
    const double band = shown ? SIGMAS * sorted[(uint32_t)(SHARE * (shown - 1))] : 0.0;
    for (uint32_t i = 0; i < count; i++) {
        if (!value[i].shown) continue;
        min = fmin(min, value[i].v - fmin(SIGMAS * value[i].sigma, band));
        max = fmax(max, value[i].v + fmin(SIGMAS * value[i].sigma, band));
    }
    const double middle = 0.5 * (min + max), shortest = EXTENT_MIN * fmax(1.0, fabs(middle));
    const double half = 0.55 * fmax(max - min, shortest);
    p->from[1] = middle - half;
    p->to[1] = middle + half;
    p->px[1] = 0.5 * p->height / half;
}

/** The same for errors, whose band is around 0. */
static void fit_errors(struct diagram *p, const struct value *value, uint32_t count, double *sorted)
{
    double reach = 0.5 * EXTENT_MIN;
    uint32_t shown = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!value[i].shown) continue;
        reach = fmax(reach, fabs(value[i].v));
        sorted[shown++] = value[i].sigma;
    }
    qsort(sorted, shown, sizeof *sorted, compare);
    if (shown) reach = fmax(reach, SIGMAS * sorted[(uint32_t)(SHARE * (shown - 1))]);
    p->to[1] = 1.1 * reach;
    p->from[1] = -p->to[1];
    p->px[1] = 0.5 * p->height / p->to[1];
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

/** A frame, or frames within BIN_PX, drawn as one. */
struct bin {
    double x, low, high, under, over; /* place [px], least and greatest value, ends of the band */
    int falls, begins;                /* 1: the greatest value comes first; nothing joins it to the bin before */
};

static void add_to_bin(struct bin *b, const struct value *v, int errors)
{
    const double middle = errors ? 0.0 : v->v;
    b->under = fmin(b->under, middle - SIGMAS * v->sigma);
    b->over = fmax(b->over, middle + SIGMAS * v->sigma);
    if (v->v < b->low) b->falls = b->high > -HUGE_VAL;
    if (v->v > b->high) b->falls = 0;
    b->low = fmin(b->low, v->v);
    b->high = fmax(b->high, v->v);
}

/** Values of all frames by bins; breaks within a bin do not show. Returns the number of bins. */
static uint32_t fill_bins(const struct diagram *p, const struct value *value, uint32_t count, int errors,
                          struct bin bin[BINS])
{
    const double min_px = count > BINS ? BIN_PX : 0.0;
    uint32_t bins = 0;
    int breaks = 1;
    for (uint32_t i = 0; i < count; i++) {
        const double x = diagram_x(p, value[i].t_s);
        breaks |= !value[i].shown || value[i].begins;
        if (!value[i].shown) continue;
        if (!bins || (x - bin[bins - 1].x >= min_px && bins < BINS)) {
            bin[bins++] = (struct bin){x, HUGE_VAL, -HUGE_VAL, HUGE_VAL, -HUGE_VAL, 0, breaks};
            breaks = 0;
        }
        add_to_bin(&bin[bins - 1], &value[i], errors);
    }
    return bins;
}

/** Height of a value, kept near the diagram: numbers of a band that leaves it would be of any length. */
static double kept_y(const struct diagram *p, double v)
{
    return diagram_y(p, fmin(fmax(v, 2.0 * p->from[1] - p->to[1]), 2.0 * p->to[1] - p->from[1]));
}

/** Bands: of each run of bins the upper edge forwards, the lower edge back. */
static void draw_bands(FILE *f, const struct diagram *p, const struct bin *bin, uint32_t bins)
{
    fputs("<path fill='" BAND_COLOUR "' fill-opacity='.3' d='", f);
    for (uint32_t from = 0, to; from < bins; from = to) {
        for (to = from + 1; to < bins && !bin[to].begins;) to++;
        for (uint32_t i = from; i < to; i++)
            fprintf(f, "%c%.1f %.1f", i > from ? 'L' : 'M', bin[i].x, kept_y(p, bin[i].over));
        for (uint32_t i = to; i > from; i--) fprintf(f, "L%.1f %.1f", bin[i - 1].x, kept_y(p, bin[i - 1].under));
        fputc('Z', f);
    }
    fputs("'/>\n", f);
}

/** Lines; a value alone is a dot. */
static void draw_lines(FILE *f, const struct diagram *p, const struct bin *bin, uint32_t bins)
{
    fputs("<path fill='none' stroke='" LINE_COLOUR "' stroke-width='1.4' stroke-linejoin='round' "
          "stroke-linecap='round' d='",
          f);
    for (uint32_t i = 0; i < bins; i++) {
        const struct bin *b = &bin[i];
        fprintf(f, "%c%.1f %.1f", b->begins ? 'M' : 'L', b->x, kept_y(p, b->falls ? b->high : b->low));
        if (b->high > b->low)
            fprintf(f, "V%.1f", kept_y(p, b->falls ? b->low : b->high));
        else if (b->begins)
            fputs("h0", f);
    }
    fputs("'/>\n", f);
}

/** Shade columns of 1 px with a frame that coasts or has no samples, or with one that has no state. A frame reaches to
 *  the next one. */
static void shade(FILE *f, const struct diagram *p, const states_t *s, const struct value *value, int coasting)
{
    uint8_t shaded[COLUMNS] = {0};
    for (uint32_t i = 0; i < s->count; i++) {
        const int coasts = s->frame[i].has_state && s->frame[i].nav.state != VFRONT_NAV_GOOD;
        const double end_s = value[i + 1 < s->count ? i + 1 : i].t_s;
        const double from = diagram_x(p, value[i].t_s) - p->left, to = diagram_x(p, end_s) - p->left;
        if (coasting ? !coasts : s->frame[i].has_state) continue;
        for (int k = (int)from; k < COLUMNS && (k < (int)to || k == (int)from); k++)
            if (k >= 0) shaded[k] = 1;
    }
    fprintf(f, "<path fill='%s' fill-opacity='.35' d='", coasting ? COASTING_COLOUR : NONE_COLOUR);
    for (int from = 0, to; from < COLUMNS; from = to) {
        for (to = from + 1; to < COLUMNS && shaded[to] == shaded[from];) to++;
        if (shaded[from]) fprintf(f, "M%.1f %.1fh%dv%.1fh%dz", p->left + from, p->top, to - from, p->height, from - to);
    }
    fputs("'/>\n", f);
}

/** Restarts, at least 1 px apart. */
static void mark_restarts(FILE *f, const struct diagram *p, const states_t *s, const struct value *value)
{
    uint32_t resets = s->frame[s->first].nav.reset_counter;
    double last = -1.0;
    fputs("<path stroke='" RESTART_COLOUR "' stroke-dasharray='4 3' d='", f);
    for (uint32_t i = s->first; i < s->count; i++) {
        if (!s->frame[i].has_state || s->frame[i].nav.reset_counter == resets) continue;
        const double x = diagram_x(p, value[i].t_s);
        resets = s->frame[i].nav.reset_counter;
        if (x - last >= 1.0) fprintf(f, "M%.1f %.1fv%.1f", last = x, p->top, p->height);
    }
    fputs("'/>\n", f);
}

/* ---- picture ----------------------------------------------------------------------------------------------------- */

/** Scratch memory of a plot. */
struct scratch {
    pose_t *moved; /* NULL: no ground truth */
    struct value *value;
    double *sorted;
};

static void draw_panel(FILE *f, const states_t *s, const struct scratch *m, int panel)
{
    const struct quantity *q = &quantity[panel];
    const int row = row_of[panel], column = panel % ACROSS, errors = m->moved != NULL;
    const double last_s = ((double)s->frame[s->count - 1].t_ns - (double)s->frame[0].t_ns) * 1e-9;
    struct diagram p = {.left = 84 + column * 396, .top = 72 + row * 218, .width = COLUMNS, .height = 168};
    struct bin bin[BINS];
    p.to[0] = fmax(last_s, EXTENT_MIN);
    p.px[0] = p.width / p.to[0];
    p.name[0] = row == 2 ? "time [s]" : NULL;
    fill(s, m->moved, panel, m->value);
    (errors ? fit_errors : fit)(&p, m->value, s->count, m->sorted);
    shade(f, &p, s, m->value, 0);
    shade(f, &p, s, m->value, 1);
    diagram_axes(f, &p);
    fprintf(f, "<text x='%.1f' y='%.1f'>%s%s [%s]</text>\n", p.left, p.top - 7, errors ? "error of " : "", q->name,
            q->unit);
    fprintf(f,
            "<clipPath id='p%d'><rect x='%.1f' y='%.1f' width='%.1f' height='%.1f'/></clipPath>\n<g "
            "clip-path='url(#p%d)'>\n",
            panel, p.left, p.top, p.width, p.height, panel);
    const uint32_t bins = fill_bins(&p, m->value, s->count, errors, bin);
    draw_bands(f, &p, bin, bins);
    draw_lines(f, &p, bin, bins);
    mark_restarts(f, &p, s, m->value);
    fputs("</g>\n", f);
}

static void legend_box(FILE *f, double x, const char *colour, const char *opacity, const char *text)
{
    const double y = HEIGHT - 24;
    fprintf(f, "<rect x='%.1f' y='%.1f' width='28' height='12' fill='%s' fill-opacity='%s'/>", x, y - 10, colour,
            opacity);
    fprintf(f, "<text x='%.1f' y='%.1f'>%s</text>\n", x + 36, y, text);
}

static void draw_legend(FILE *f, int errors)
{
    const double y = HEIGHT - 24;
    fprintf(f, "<path d='M84 %.1fh28' stroke='" LINE_COLOUR "' stroke-width='1.6'/><text x='120' y='%.1f'>%s</text>\n",
            y - 4, y, errors ? "state less ground truth" : "state");
    legend_box(f, 300, BAND_COLOUR, ".3", "three standard deviations");
    legend_box(f, 520, COASTING_COLOUR, ".35", "one source");
    legend_box(f, 640, NONE_COLOUR, ".35", "no state");
    fprintf(f,
            "<path d='M760 %.1fh28' stroke='" RESTART_COLOUR "' stroke-dasharray='4 3'/><text x='796' "
            "y='%.1f'>restart</text>\n",
            y - 4, y);
    fprintf(f, "<text x='880' y='%.1f'>%s</text>\n", y,
            errors ? "ground truth begins with position and yaw of the state" : "no ground truth");
}

static void draw(FILE *f, const char *title, const states_t *s, const struct scratch *m)
{
    diagram_begin(f, WIDTH, HEIGHT, 84, title);
    for (int panel = 0; panel < PANELS; panel++) draw_panel(f, s, m, panel);
    draw_legend(f, m->moved != NULL);
    fputs("</svg>\n", f);
}

static const char *fail(const char *path, const char *reason)
{
    static char message[4400];
    snprintf(message, sizeof message, "%s: %s", path, reason);
    return message;
}

static const char *write_file(const char *path, const char *title, const states_t *s, const struct scratch *m)
{
    FILE *f = fopen(path, "w");
    if (!f) return fail(path, strerror(errno));
    draw(f, title, s, m);
    const int bad = ferror(f);
    return fclose(f) || bad ? fail(path, strerror(errno)) : NULL;
}

const char *state_plot(const char *path, const char *title, const states_t *s)
{
    struct scratch m = {.value = malloc(s->count * sizeof *m.value), .sorted = malloc(s->count * sizeof *m.sorted)};
    if (s->aligned) m.moved = malloc(s->count * sizeof *m.moved);
    const int enough = m.value && m.sorted && (m.moved || !s->aligned);
    if (enough && m.moved) state_segments(s, m.moved);
    const char *error = enough ? write_file(path, title, s, &m) : fail(path, "no memory");
    free(m.moved);
    free(m.value);
    free(m.sorted);
    return error;
}
