/* SPDX-License-Identifier: MIT */
#include "chart.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/common/message.h"
#include "examples/replay/diagram.h"
#include "rotation.h"

#define WIDTH 1120
#define TOP 66.0
#define ROW 24.0 /* height of a finding's row [px] */
#define NAME_RIGHT 300.0
#define SCALE_LEFT 330.0
#define SCALE_WIDTH 420.0
#define PANEL 300.0      /* height of the panels below [px] */
#define LIMITS_SHOWN 2.0 /* deviations up to this many limits */
#define GAIN 8.0         /* distances from lines are drawn so many times as long */
#define LONGEST_PX 20.0  /* of a drawn distance */

static const char *const colour[] = {"#009e73", "#d55e00", "#999999"};
static const char *const word[] = {"good", "wrong", "unknown"};

static void text(FILE *f, double x, double y, const char *anchor, const char *fill, const char *what)
{
    fprintf(f, "<text x='%.1f' y='%.1f' text-anchor='%s' fill='%s'>", x, y, anchor, fill);
    diagram_text(f, what);
    fputs("</text>\n", f);
}

/** Place of a deviation in units of the limit [px]. */
static double place(double limits)
{
    const double shown = limits < -LIMITS_SHOWN ? -LIMITS_SHOWN : limits > LIMITS_SHOWN ? LIMITS_SHOWN : limits;
    return SCALE_LEFT + 0.5 * SCALE_WIDTH * (1.0 + shown / LIMITS_SHOWN);
}

static void draw_finding(FILE *f, const finding_t *x, double y)
{
    char line[96];
    text(f, NAME_RIGHT, y + 4.0, "end", "#222", x->name);
    if (isfinite(x->sigma)) {
        const double limit = finding_limit(x), at = (x->value - x->expected) / limit, half = x->sigma / limit;
        fprintf(f, "<path d='M%.1f %.1fH%.1f' stroke='%s' stroke-width='3'/>\n", place(at - half), y, place(at + half),
                colour[x->decision]);
        fprintf(f, "<circle cx='%.1f' cy='%.1f' r='5' fill='%s'/>\n", place(at), y, colour[x->decision]);
        snprintf(line, sizeof line, "%.4g \302\261 %.2g %s", x->value, x->sigma, x->unit);
        text(f, SCALE_LEFT + SCALE_WIDTH + 20.0, y + 4.0, "start", "#222", line);
    }
    text(f, WIDTH - 30.0, y + 4.0, "end", colour[x->decision], word[x->decision]);
}

static void draw_findings(FILE *f, const findings_t *all)
{
    const double end = TOP + ROW * all->count;
    for (int limit = -1; limit <= 1; limit++)
        fprintf(f, "<path d='M%.1f %.1fV%.1f' stroke='%s' stroke-dasharray='%s'/>\n", place(limit), TOP - 8.0, end,
                limit ? "#d55e00" : "#888", limit ? "4 3" : "none");
    text(f, place(-1), TOP - 14.0, "middle", "#d55e00", "wrong");
    text(f, place(0), TOP - 14.0, "middle", "#222", "as calibrated");
    text(f, place(1), TOP - 14.0, "middle", "#d55e00", "wrong");
    for (int i = 0; i < all->count; i++) draw_finding(f, &all->of[i], TOP + ROW * (i + 0.5));
}

static double clipped(double px) { return fmax(-LONGEST_PX, fmin(LONGEST_PX, GAIN * px)); }

/** Mean distance from the epipolar line in each region of camera 1's picture. */
static void draw_map(FILE *f, const gathered_t *data, const camera_map_t *map, double left, double top)
{
    const vfront_camera_t *c = &data->rig.camera[1];
    const double by = fmin(480.0 / c->width_px, (PANEL - 20.0) / c->height_px), width = by * c->width_px,
                 height = by * c->height_px;
    fprintf(f, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='#f6f6f6' stroke='#888'/>\n", left, top, width,
            height);
    for (int y = 0; y < CAMERA_ROWS; y++)
        for (int x = 0; x < CAMERA_COLUMNS; x++) {
            const double px = left + (x + 0.5) * width / CAMERA_COLUMNS, py = top + (y + 0.5) * height / CAMERA_ROWS;
            if (!map->count[y][x]) continue;
            fprintf(f, "<circle cx='%.1f' cy='%.1f' r='2' fill='#222'/>", px, py);
            fprintf(f, "<path d='M%.1f %.1fv%.1f' stroke='#d55e00' stroke-width='3'/>", px - 2.0, py,
                    clipped(map->given[y][x]));
            fprintf(f, "<path d='M%.1f %.1fv%.1f' stroke='#0072b2' stroke-width='3'/>\n", px + 2.0, py,
                    clipped(map->fitted[y][x]));
        }
    char line[96];
    snprintf(line, sizeof line, "distance from epipolar lines, camera 1, %.0f times as long:", GAIN);
    text(f, left, top + height + 20.0, "start", "#222", line);
    text(f, left, top + height + 36.0, "start", "#d55e00", "as calibrated");
    text(f, left + 110.0, top + height + 36.0, "start", "#0072b2", "after the best correction");
}

static double rate_of(const step_t *s)
{
    double w[3];
    rotation_vector(s->turn, w);
    return rotation_length(w) / (1e-9 * (double)(s->to_ns - s->from_ns));
}

/** Time of a sample on the clock of the frames, since the first one, by the offset that was found [s]. */
static double sample_s(const gathered_t *data, const gyro_fit_t *gyro, size_t i)
{
    return 1e-9 * ((double)data->imu[i].t_ns - (double)data->rig.imu_offset_ns - (double)data->from_ns) -
           gyro->offset_s;
}

static double sample_rate(const gathered_t *data, const gyro_fit_t *gyro, size_t i)
{
    double w[3];
    for (int k = 0; k < 3; k++) w[k] = data->imu[i].gyro_rad_s[k] * gyro->unit - gyro->bias_rad_s[k];
    return rotation_length(w);
}

/** Rates of the rotation by the pictures and by the gyro, over time. */
static void draw_rates(FILE *f, const gathered_t *data, const gyro_fit_t *gyro, double left, double top)
{
    struct diagram p = {.left = left,
                        .top = top,
                        .width = WIDTH - 40.0 - left,
                        .height = PANEL - 60.0,
                        .to = {1e-9 * (double)(data->to_ns - data->from_ns), 0.1},
                        .name = {"time [s]", "rate of rotation [rad/s]"}};
    for (size_t i = 0; i < data->steps; i++)
        if (data->step[i].has_rotation) p.to[1] = fmax(p.to[1], rate_of(&data->step[i]));
    p.to[1] *= 1.1;
    for (int i = 0; i < 2; i++) p.px[i] = (i ? p.height : p.width) / p.to[i];
    diagram_axes(f, &p);
    const size_t every = data->samples / 4000 + 1;
    int drawn = 0;
    fputs("<path fill='none' stroke='#0072b2' d='", f);
    for (size_t i = 0; i < data->samples; i += every) {
        const double t = sample_s(data, gyro, i), rate = sample_rate(data, gyro, i);
        if (t < 0.0 || t > p.to[0]) continue;
        fprintf(f, "%c%.1f %.1f", drawn++ ? 'L' : 'M', diagram_x(&p, t), diagram_y(&p, fmin(rate, p.to[1])));
    }
    fputs(drawn ? "'/>\n" : "M0 0'/>\n", f);
    for (size_t i = 0; i < data->steps; i++) {
        const step_t *s = &data->step[i];
        if (!s->has_rotation) continue;
        fprintf(f, "<circle cx='%.1f' cy='%.1f' r='2' fill='#d55e00'/>\n",
                diagram_x(&p, 1e-9 * (0.5 * ((double)s->from_ns + (double)s->to_ns) - (double)data->from_ns)),
                diagram_y(&p, rate_of(s)));
    }
    text(f, left, top + PANEL, "start", "#d55e00", "by the pictures");
    text(f, left + 110.0, top + PANEL, "start", "#0072b2", "by the gyro, at the offset found");
}

const char *chart_write(const char *path, const char *title, const gathered_t *data, const findings_t *all,
                        const camera_map_t *map, const gyro_fit_t *gyro)
{
    const double below = TOP + ROW * all->count + 30.0;
    FILE *f = fopen(path, "w");
    if (!f) return message_text("%s: %s", path, strerror(errno));
    diagram_begin(f, WIDTH, (int)(below + PANEL + 40.0), 30.0, title);
    draw_findings(f, all);
    if (data->rig.cameras > 1) draw_map(f, data, map, 30.0, below);
    if (data->steps) draw_rates(f, data, gyro, 610.0, below);
    fputs("</svg>\n", f);
    const int failed = ferror(f);
    if (fclose(f) || failed) return message_text("%s: cannot be written: %s", path, strerror(errno));
    return NULL;
}
