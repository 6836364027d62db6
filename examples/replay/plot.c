/* SPDX-License-Identifier: MIT */
#include "plot.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "diagram.h"

#define WIDTH 1120
#define HEIGHT 640
#define EXTENT_MIN 1e-2 /* of an axis: a scale also for a camera at rest */
#define STEP_MIN_PX 0.3 /* points nearer to the previous one are left out */

#define ESTIMATE_COLOUR "#0072b2"
#define TRUTH_COLOUR "#d55e00"
#define START_COLOUR "#009e73"
#define END_COLOUR "#222222"
#define UNKNOWN_COLOUR "#cc0033"
#define STATE_COLOUR "#111111"
#define BOUND_COLOUR "#bfe0bf" /* opaque, so that it is even where the band overlaps itself */

/** Coordinates of a frame in a diagram. */
typedef void coordinates_t(const trajectory_t *tr, uint64_t t_ns, const pose_t *pose, double v[2]);

static void from_above(const trajectory_t *tr, uint64_t t_ns, const pose_t *pose, double v[2])
{
    (void)tr;
    (void)t_ns;
    v[0] = pose->t[0];
    v[1] = pose->t[2];
}

/** Time [s] and height; the y axis of the camera points down. */
static void height_over_time(const trajectory_t *tr, uint64_t t_ns, const pose_t *pose, double v[2])
{
    v[0] = (double)(t_ns - tr->frame[0].t_ns) * 1e-9;
    v[1] = -pose->t[1];
}

/* ---- scales ------------------------------------------------------------------------------------------------------ */

static void extend(struct diagram *p, const double v[2])
{
    for (int i = 0; i < 2; i++) {
        if (v[i] < p->from[i]) p->from[i] = v[i];
        if (v[i] > p->to[i]) p->to[i] = v[i];
    }
}

/** Fit the axes to all data, with a margin; equal scales of both axes if `square`. */
static void fit(struct diagram *p, const trajectory_t *tr, coordinates_t *coordinates, int square)
{
    const double room[2] = {p->width, p->height};
    double v[2];
    coordinates(tr, tr->frame[0].t_ns, &tr->frame[0].pose, v);
    for (int i = 0; i < 2; i++) p->from[i] = p->to[i] = v[i];
    for (uint32_t i = 0; i < tr->count; i++) {
        const trajectory_frame_t *f = &tr->frame[i];
        coordinates(tr, f->t_ns, &f->pose, v);
        extend(p, v);
        coordinates(tr, f->t_ns, &f->truth, v);
        if (f->has_truth) extend(p, v);
        coordinates(tr, f->t_ns, &f->state, v);
        for (int side = -1; side <= 1 && f->bound_m > 0.0; side += 2) {
            const double rim[2] = {v[0] + (square ? side * f->bound_m : 0.0), v[1] + side * f->bound_m};
            extend(p, rim);
        }
    }
    for (int i = 0; i < 2; i++) p->px[i] = room[i] / (1.12 * fmax(p->to[i] - p->from[i], EXTENT_MIN));
    if (square) p->px[0] = p->px[1] = fmin(p->px[0], p->px[1]);
    for (int i = 0; i < 2; i++) {
        const double middle = 0.5 * (p->from[i] + p->to[i]), half = 0.5 * room[i] / p->px[i];
        p->from[i] = middle - half;
        p->to[i] = middle + half;
    }
}

/* ---- marks and lines --------------------------------------------------------------------------------------------- */

/** Scale bar in the lower left corner. */
static void draw_scale(FILE *f, const struct diagram *p, const char *unit)
{
    const double length = diagram_step(p->to[0] - p->from[0], 5), x = p->left + 14, y = p->top + p->height - 14;
    fprintf(f, "<path d='M%.1f %.1fv6h%.1fv-6' fill='none' stroke='#222' stroke-width='1.5'/>", x, y - 6,
            length * p->px[0]);
    fprintf(f, "<text x='%.1f' y='%.1f' text-anchor='middle'>%.*f %s</text>\n", x + 0.5 * length * p->px[0], y - 8,
            diagram_decimals(length), length, unit);
}

/** Polyline of the trajectory, or of ground truth, which may have gaps. */
static void draw_line(FILE *f, const struct diagram *p, const trajectory_t *tr, coordinates_t *coordinates, int truth)
{
    double x = 0.0, y = 0.0;
    int has_previous = 0; /* 1: the line has a previous point */
    fprintf(f, "<path fill='none' stroke-linejoin='round' stroke='%s' stroke-width='%s' d='",
            truth ? TRUTH_COLOUR : ESTIMATE_COLOUR, truth ? "3.5' stroke-opacity='.55" : "1.6");
    for (uint32_t i = 0; i < tr->count; i++) {
        const trajectory_frame_t *frame = &tr->frame[i];
        double v[2];
        if (truth && !frame->has_truth) {
            has_previous = 0;
            continue;
        }
        coordinates(tr, frame->t_ns, truth ? &frame->truth : &frame->pose, v);
        const double to_x = diagram_x(p, v[0]), to_y = diagram_y(p, v[1]);
        if (has_previous && i + 1 < tr->count && hypot(to_x - x, to_y - y) < STEP_MIN_PX) continue;
        fprintf(f, "%c%.1f %.1f", has_previous ? 'L' : 'M', to_x, to_y);
        x = to_x;
        y = to_y;
        has_previous = 1;
    }
    fputs("'/>\n", f);
}

static void mark_start(FILE *f, double x, double y)
{
    fprintf(f, "<circle cx='%.1f' cy='%.1f' r='5.5' fill='" START_COLOUR "' stroke='#fff'/>\n", x, y);
}

static void mark_end(FILE *f, double x, double y)
{
    fprintf(f, "<rect x='%.1f' y='%.1f' width='10' height='10' fill='" END_COLOUR "' stroke='#fff'/>\n", x - 5, y - 5);
}

static void mark_true_end(FILE *f, double x, double y)
{
    fprintf(f,
            "<rect x='%.1f' y='%.1f' width='9' height='9' fill='#fff' stroke='" TRUTH_COLOUR "' stroke-width='1.6'/>\n",
            x - 4.5, y - 4.5);
}

static void mark_unknown(FILE *f, double x, double y)
{
    fprintf(f, "<path d='M%.1f %.1fl7 7m0 -7l-7 7' stroke='" UNKNOWN_COLOUR "' stroke-width='1.6'/>\n", x - 3.5,
            y - 3.5);
}

/** Crosses at steps without a known translation, at least 3 px apart. */
static void mark_steps(FILE *f, const struct diagram *p, const trajectory_t *tr, coordinates_t *coordinates)
{
    double x = -1e9, y = -1e9, v[2];
    for (uint32_t i = 0; i < tr->count; i++) {
        coordinates(tr, tr->frame[i].t_ns, &tr->frame[i].pose, v);
        if (tr->frame[i].step == TRAJECTORY_FULL || hypot(diagram_x(p, v[0]) - x, diagram_y(p, v[1]) - y) < 3.0)
            continue;
        mark_unknown(f, x = diagram_x(p, v[0]), y = diagram_y(p, v[1]));
    }
}

/** Segment of the band of bounds between two points: to both sides of the path where the scales are equal, else above
 *  and below it. */
static void draw_bound(FILE *f, const struct diagram *p, const double from[3], const double to[3])
{
    if (p->px[0] == p->px[1])
        fprintf(f,
                "<path d='M%.1f %.1fL%.1f %.1f' stroke='" BOUND_COLOUR
                "' stroke-width='%.1f' stroke-linecap='round'/>\n",
                from[0], from[1], to[0], to[1], fmax(2.0 * to[2] * p->px[1], 1.0));
    else
        fprintf(f, "<path d='M%.1f %.1fV%.1fL%.1f %.1fV%.1fZ' fill='" BOUND_COLOUR "' stroke='" BOUND_COLOUR "'/>\n",
                from[0], from[1] - from[2] * p->px[1], from[1] + from[2] * p->px[1], to[0], to[1] + to[2] * p->px[1],
                to[1] - to[2] * p->px[1]);
}

/** Path by the states, or the band of their bounds. */
static void draw_states(FILE *f, const struct diagram *p, const trajectory_t *tr, coordinates_t *coordinates, int bound)
{
    double from[3] = {0.0, 0.0, 0.0}, v[2];
    int has_previous = 0;
    for (uint32_t i = 0; i < tr->count; i++) {
        const trajectory_frame_t *frame = &tr->frame[i];
        const int has = frame->bound_m > 0.0, is_last = i + 1 == tr->count;
        if (has) {
            coordinates(tr, frame->t_ns, &frame->state, v);
            const double to[3] = {diagram_x(p, v[0]), diagram_y(p, v[1]), frame->bound_m};
            if (has_previous && !is_last && hypot(to[0] - from[0], to[1] - from[1]) < STEP_MIN_PX) continue;
            if (has_previous && bound) draw_bound(f, p, from, to);
            if (has_previous && !bound)
                fprintf(f, "<path d='M%.1f %.1fL%.1f %.1f' stroke='" STATE_COLOUR "'/>\n", from[0], from[1], to[0],
                        to[1]);
            memcpy(from, to, sizeof from);
        }
        has_previous = has;
    }
}

/** 1 if there are states beside the path. */
static int has_states(const trajectory_t *tr)
{
    for (uint32_t i = 0; i < tr->count; i++)
        if (tr->frame[i].bound_m > 0.0) return 1;
    return 0;
}

static void draw_diagram(FILE *f, const struct diagram *p, const trajectory_t *tr, coordinates_t *coordinates)
{
    const trajectory_frame_t *first = tr->frame, *last = &tr->frame[tr->count - 1], *last_known = last;
    double v[2];
    diagram_axes(f, p);
    draw_states(f, p, tr, coordinates, 1);
    if (tr->aligned) {
        draw_line(f, p, tr, coordinates, 1);
        while (!last_known->has_truth) last_known--;
        coordinates(tr, last_known->t_ns, &last_known->truth, v);
        mark_true_end(f, diagram_x(p, v[0]), diagram_y(p, v[1]));
    }
    draw_line(f, p, tr, coordinates, 0);
    draw_states(f, p, tr, coordinates, 0);
    mark_steps(f, p, tr, coordinates);
    coordinates(tr, last->t_ns, &last->pose, v);
    mark_end(f, diagram_x(p, v[0]), diagram_y(p, v[1]));
    coordinates(tr, first->t_ns, &first->pose, v);
    mark_start(f, diagram_x(p, v[0]), diagram_y(p, v[1]));
}

/* ---- legend and figures ------------------------------------------------------------------------------------------ */

static void legend_text(FILE *f, double x, double y, const char *text)
{
    fprintf(f, "<text x='%.1f' y='%.1f'>%s</text>\n", x, y + 4, text);
}

/** Legend in two columns. */
static void draw_legend(FILE *f, double x, double y, const trajectory_t *tr)
{
    fprintf(f, "<path d='M%.1f %.1fh28' stroke='" ESTIMATE_COLOUR "' stroke-width='1.6'/>\n", x, y);
    legend_text(f, x + 36, y, "path");
    if (tr->aligned) {
        fprintf(f, "<path d='M%.1f %.1fh28' stroke='" TRUTH_COLOUR "' stroke-opacity='.55' stroke-width='3.5'/>\n", x,
                y + 20);
        legend_text(f, x + 36, y + 20, "ground truth");
    }
    mark_start(f, x + 164, y);
    legend_text(f, x + 176, y, "start");
    mark_end(f, x + 244, y);
    if (tr->aligned) mark_true_end(f, x + 260, y);
    legend_text(f, x + (tr->aligned ? 272 : 256), y, "end");
    if (has_states(tr)) {
        fprintf(f, "<path d='M%.1f %.1fh28' stroke='" BOUND_COLOUR "' stroke-width='9'/>\n", x, y + 40);
        fprintf(f, "<path d='M%.1f %.1fh28' stroke='" STATE_COLOUR "'/>\n", x, y + 40);
        legend_text(f, x + 36, y + 40, "state of the IMU, and three deviations");
    }
    if (tr->steps[TRAJECTORY_UNKNOWN] + tr->steps[TRAJECTORY_ROTATION_ONLY] == 0) return;
    mark_unknown(f, x + 164, y + 20);
    legend_text(f, x + 176, y + 20, "step of unknown length");
}

/** Line of text; advances `place` to the next line. */
__attribute__((format(printf, 3, 4))) static void draw_text(FILE *f, double place[2], const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fprintf(f, "<text x='%.1f' y='%.1f'>", place[0], place[1]);
    vfprintf(f, format, list);
    fputs("</text>\n", f);
    va_end(list);
    place[1] += 20.0;
}

static void draw_figures(FILE *f, double x, double y, const trajectory_t *tr, const accuracy_t *a)
{
    double at[2] = {x, y + 20.0};
    fprintf(f, "<text x='%.1f' y='%.1f' font-weight='bold'>Accuracy</text>\n", x, y);
    if (!a) {
        draw_text(f, at, "no ground truth");
        return;
    }
    draw_text(f, at, "ATE %.4g m RMSE, aligned by %s", a->ate_m, tr->metric ? "SE(3)" : "Sim(3)");
    if (tr->metric) draw_text(f, at, "RPE %.4g m a frame, RMSE", a->step_m.rmse);
    if (!tr->metric && a->direction_deg.count)
        draw_text(f, at, "direction off by %.3g\302\260 a frame, RMSE", a->direction_deg.rmse);
    draw_text(f, at, "rotation off by %.3g\302\260 a frame, RMSE", a->step_deg.rmse);
    if (accuracy_has_distance(a))
        draw_text(f, at, "drift %.3g %% and %.3g\302\260/m over %s", a->drift_percent, a->drift_deg_m,
                  a->segments ? "100 m to 800 m" : "all of it");
    else
        draw_text(f, at, "%.3g m and %.3g\302\260 off at the end", a->end_m, a->end_deg);
    draw_text(f, at, "%.4g m of %u frames with ground truth", a->length_m, (unsigned)a->frames);
    if (!tr->metric) draw_text(f, at, "lengths of steps from ground truth");
}

static void draw(FILE *f, const char *title, const trajectory_t *tr, const accuracy_t *a)
{
    const int in_metres = tr->metric || tr->aligned;
    struct diagram above = {.left = 84, .top = 54, .width = 560, .height = 530},
                   side = {.left = 760, .top = 54, .width = 330, .height = 240};
    above.name[0] = in_metres ? "x, to the right of the first camera [m]"
                              : "x, to the right of the first camera [steps]";
    above.name[1] = in_metres ? "z, ahead of it [m]" : "z, ahead of it [steps]";
    side.name[0] = "time [s]";
    side.name[1] = in_metres ? "height above it [m]" : "height above it [steps]";
    fit(&above, tr, from_above, 1);
    fit(&side, tr, height_over_time, 0);
    diagram_begin(f, WIDTH, HEIGHT, above.left, title);
    draw_diagram(f, &above, tr, from_above);
    draw_scale(f, &above, in_metres ? "m" : "steps");
    draw_diagram(f, &side, tr, height_over_time);
    draw_legend(f, side.left, 372, tr);
    draw_figures(f, side.left, 456, tr, a);
    fputs("</svg>\n", f);
}

const char *plot_write(const char *path, const char *title, const trajectory_t *tr, const accuracy_t *a)
{
    static char message[4400];
    FILE *f = fopen(path, "w");
    int good = f != NULL;
    if (good) {
        draw(f, title, tr, a);
        good = !ferror(f);
        if (fclose(f)) good = 0;
    }
    if (!good) snprintf(message, sizeof message, "%s: %s", path, strerror(errno));
    return good ? NULL : message;
}
