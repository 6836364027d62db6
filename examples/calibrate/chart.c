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
#define PANEL 300.0 /* height of the panels below [px]; their left sides, the width of each */
#define LEFT 30.0
#define RIGHT 580.0
#define COLUMN 500.0
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
    int wrong = 0;
    for (int i = 0; i < all->count; i++) {
        draw_finding(f, &all->of[i], TOP + ROW * (i + 0.5));
        wrong |= all->of[i].decision == FINDING_WRONG;
    }
    text(f, LEFT, TOP - 14.0, "start", colour[wrong ? FINDING_WRONG : FINDING_GOOD],
         wrong ? "the calibration does not fit the recording" : "the calibration fits the recording");
}

static double clipped(double px) { return fmax(-LONGEST_PX, fmin(LONGEST_PX, GAIN * px)); }

/** A distance across the lines, beside the middle of its region; thin: of few correspondences. */
static void draw_distance(FILE *f, const double middle[2], double beside, const double across[2], double px, int thin,
                          const char *stroke)
{
    fprintf(f, "<path d='M%.1f %.1fl%.2f %.2f' stroke='%s' stroke-width='%d'/>", middle[0] - beside * across[1],
            middle[1] + beside * across[0], clipped(px) * across[0], clipped(px) * across[1], stroke, thin ? 1 : 3);
}

/** Mean distance from the epipolar line in each region of a camera's picture. */
static void draw_map(FILE *f, const gathered_t *data, int camera, const camera_map_t *map, double left, double top)
{
    const vfront_camera_t *c = &data->rig.camera[camera];
    const double by = fmin(COLUMN / c->width_px, (PANEL - 20.0) / c->height_px), width = by * c->width_px,
                 height = by * c->height_px;
    fprintf(f, "<rect x='%.1f' y='%.1f' width='%.1f' height='%.1f' fill='#f6f6f6' stroke='#888'/>\n", left, top, width,
            height);
    for (int y = 0; y < CAMERA_ROWS; y++)
        for (int x = 0; x < CAMERA_COLUMNS; x++) {
            const double middle[2] = {left + (x + 0.5) * width / CAMERA_COLUMNS,
                                      top + (y + 0.5) * height / CAMERA_ROWS};
            if (!map->count[y][x]) continue;
            fprintf(f, "<circle cx='%.1f' cy='%.1f' r='2' fill='#222'/>", middle[0], middle[1]);
            const int thin = map->count[y][x] < CAMERA_REGION_LEAST;
            draw_distance(f, middle, 2.0, map->across[y][x], map->given[y][x], thin, "#d55e00");
            draw_distance(f, middle, -2.0, map->across[y][x], map->fitted[y][x], thin, "#0072b2");
            fputc('\n', f);
        }
    char line[96];
    snprintf(line, sizeof line,
             "distance from epipolar lines, camera %d, %.0f times as long (thin: of few points):", camera, GAIN);
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
                        .width = COLUMN - 30.0,
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
    if (data->samples) text(f, left + 110.0, top + PANEL, "start", "#0072b2", "by the gyro, at the offset found");
}

/** Difference of the rotations by the pictures and by the gyro, at offsets on both sides of the calibrated one. */
static void draw_curve(FILE *f, const gyro_fit_t *gyro, double left, double top)
{
    const double most = fmin(GYRO_OFFSET_MOST_S, fmax(0.05, 2.0 * fabs(gyro->offset_s))), at[2] = {0.0, gyro->offset_s};
    struct diagram p = {.left = left,
                        .top = top,
                        .width = COLUMN - 30.0,
                        .height = PANEL - 60.0,
                        .from = {-1e3 * most, 0.0},
                        .to = {1e3 * most, 0.1},
                        .name = {"time offset from the calibrated one [ms]", "difference of rotations [mrad]"}};
    for (int i = 0; i < GYRO_CURVE; i++)
        if (fabs(gyro_curve_s(i)) <= most && gyro->curve_rad[i] > 0.0)
            p.to[1] = fmax(p.to[1], 1.1e3 * gyro->curve_rad[i]);
    for (int i = 0; i < 2; i++) p.px[i] = (i ? p.height : p.width) / (p.to[i] - p.from[i]);
    diagram_axes(f, &p);
    int drawn = 0;
    fputs("<path class='offset' fill='none' stroke='#222' d='", f);
    for (int i = 0; i < GYRO_CURVE; i++)
        if (fabs(gyro_curve_s(i)) <= most && isfinite(gyro->curve_rad[i]))
            fprintf(f, "%c%.1f %.1f", drawn++ ? 'L' : 'M', diagram_x(&p, 1e3 * gyro_curve_s(i)),
                    diagram_y(&p, 1e3 * gyro->curve_rad[i]));
    fputs(drawn ? "'/>\n" : "M0 0'/>\n", f);
    for (int i = 0; i < 2 && fabs(at[i]) <= most; i++)
        fprintf(f, "<path class='offset' d='M%.1f %.1fv%.1f' stroke='%s' stroke-dasharray='6 3'/>\n",
                diagram_x(&p, 1e3 * at[i]), top, p.height, i ? "#0072b2" : "#d55e00");
    text(f, left, top + PANEL, "start", "#d55e00", "as calibrated");
    text(f, left + 110.0, top + PANEL, "start", "#0072b2", "offset found");
}

const char *chart_write(const char *path, const char *title, const gathered_t *data, const findings_t *all,
                        const camera_map_t map[2], const gyro_fit_t *gyro)
{
    const double maps = TOP + ROW * all->count + 30.0, below = maps + (data->rig.cameras > 1 ? PANEL + 50.0 : 0.0);
    FILE *f = fopen(path, "w");
    if (!f) return message_text("%s: %s", path, strerror(errno));
    diagram_begin(f, WIDTH, (int)(below + PANEL + 40.0), LEFT, title);
    draw_findings(f, all);
    for (int c = 0; c < 2 && data->rig.cameras > 1; c++) draw_map(f, data, c, &map[c], c ? RIGHT : LEFT, maps);
    if (data->steps) draw_rates(f, data, gyro, LEFT + 40.0, below);
    if (gyro->solved) draw_curve(f, gyro, RIGHT + 40.0, below);
    fputs("</svg>\n", f);
    const int failed = ferror(f);
    if (fclose(f) || failed) return message_text("%s: cannot be written: %s", path, strerror(errno));
    return NULL;
}
