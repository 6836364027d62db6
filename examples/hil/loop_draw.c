/* SPDX-License-Identifier: MIT
 *
 * A flight as SVG: its trajectory from above beside that of the set point, and its height and its error over time.
 */
#include "loop.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "examples/replay/diagram.h"

static double seconds(const loop_t *l, uint32_t i) { return (double)(l->frame[i].t_ns - l->frame[0].t_ns) * 1e-9; }

/** Value of a curve in a frame. */
typedef double value_fn(const loop_t *l, uint32_t i);

static double x_of(const loop_t *l, uint32_t i) { return l->frame[i].at_m[0]; }
static double y_of(const loop_t *l, uint32_t i) { return l->frame[i].at_m[1]; }
static double z_of(const loop_t *l, uint32_t i) { return l->frame[i].at_m[2]; }
static double setpoint_x_of(const loop_t *l, uint32_t i) { return l->frame[i].setpoint_m[0]; }
static double setpoint_y_of(const loop_t *l, uint32_t i) { return l->frame[i].setpoint_m[1]; }
static double setpoint_z_of(const loop_t *l, uint32_t i) { return l->frame[i].setpoint_m[2]; }
static double error_of(const loop_t *l, uint32_t i) { return l->frame[i].error_m; }

/** Curve of the frames in which it flies, or of all. */
static void curve(FILE *f, const struct diagram *d, const loop_t *l, value_fn *x, value_fn *y, int only_flying,
                  const char *colour)
{
    int is_open = 0;
    for (uint32_t i = 0; i < l->frames; i++) {
        const int is_in = !only_flying || l->frame[i].phase == PILOT_FLIES;
        if (is_in && !is_open)
            fprintf(f, "<polyline fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" points=\"", colour);
        if (is_in) fprintf(f, "%.1f,%.1f ", diagram_x(d, x(l, i)), diagram_y(d, y(l, i)));
        if (!is_in && is_open) fprintf(f, "\"/>\n");
        is_open = is_in;
    }
    if (is_open) fprintf(f, "\"/>\n");
}

/** Times in which the fault is active, in grey. */
static void shade(FILE *f, const struct diagram *d, const loop_t *l)
{
    for (uint32_t i = 0; i < l->frames; i++) {
        uint32_t end = i;
        while (end < l->frames && l->frame[end].has_fault) end++;
        if (end == i) continue;
        const double from = diagram_x(d, seconds(l, i)), to = diagram_x(d, seconds(l, end < l->frames ? end : end - 1));
        fprintf(f, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#e8e0d0\"/>\n", from, d->top,
                to - from + 1.0, d->height);
        i = end;
    }
}

static struct diagram axes(double left, double top, double width, double height, const double from[2],
                           const double to[2], const char *x, const char *y)
{
    struct diagram d = {left, top, width, height, {from[0], from[1]}, {to[0], to[1]}, {0, 0}, {x, y}};
    d.px[0] = width / (to[0] - from[0]);
    d.px[1] = height / (to[1] - from[1]);
    return d;
}

static void draw(FILE *f, const loop_t *l, const char *title)
{
    double low[2] = {-1, -1}, high[2] = {3, 3};
    for (uint32_t i = 0; i < l->frames; i++)
        for (int k = 0; k < 2; k++) {
            const double v = l->frame[i].at_m[k];
            if (v < low[k]) low[k] = v;
            if (v > high[k]) high[k] = v;
        }
    const double wide = high[0] - low[0] > high[1] - low[1] ? high[0] - low[0] : high[1] - low[1];
    const double to[2] = {low[0] + wide, low[1] + wide}, end_s = l->frames ? seconds(l, l->frames - 1) + 0.1 : 1.0;
    const struct diagram above = axes(80, 50, 400, 400, low, to, "x [m]", "y [m]");
    const double zero[2] = {0, 0}, tall[2] = {end_s, 2.0}, max[2] = {end_s, 1.2};
    const struct diagram height = axes(540, 50, 420, 170, zero, tall, NULL, "height [m]");
    const struct diagram error = axes(540, 280, 420, 170, zero, max, "time [s]", "from set point [m]");
    diagram_begin(f, 1000, 500, 80, title);
    shade(f, &height, l);
    shade(f, &error, l);
    diagram_axes(f, &above);
    diagram_axes(f, &height);
    diagram_axes(f, &error);
    curve(f, &above, l, setpoint_x_of, setpoint_y_of, 1, "#999999");
    curve(f, &above, l, x_of, y_of, 0, "#c0392b");
    curve(f, &height, l, seconds, setpoint_z_of, 1, "#999999");
    curve(f, &height, l, seconds, z_of, 0, "#c0392b");
    curve(f, &error, l, seconds, error_of, 1, "#2a5db0");
    fprintf(f, "</svg>\n");
}

const char *loop_draw(const loop_t *l, const char *path, const char *title)
{
    static char text[400];
    FILE *f = fopen(path, "w");
    if (f) draw(f, l, title);
    if (f && !fclose(f)) return NULL;
    snprintf(text, sizeof text, "%s: %s", path, strerror(errno));
    return text;
}
