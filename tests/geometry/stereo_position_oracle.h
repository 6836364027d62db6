/* SPDX-License-Identifier: MIT */
/* Oracle of the subpixel positions of stereo, in double precision: epipolar line, search and Gauss-Newton steps with
 * bilinear interpolation; statistics of the errors. */
#ifndef STEREO_POSITION_ORACLE_H
#define STEREO_POSITION_ORACLE_H

#include "stereo_oracle.h"

#if VFRONT_STEREO

/* ---- position in double precision -------------------------------------------------------------------------------- */

struct patch {
    double grey[121], mean;
};

/** Interpolates a patch of 11x11 px of a level. Returns 0 if it, with one more pixel, is not inside the level. */
static inline int read_patch(struct patch *w, int32_t camera, int32_t level, double x, double y)
{
    const struct vf_level *l = &step.geometry.scale[camera][level];
    const uint8_t *pixels = level ? memory.scale.pixels[camera] + l->offset
                                  : memory.ingest.picture[step.parity][camera];
    const int left = is_at_most(5.0, x, 0.04), right = is_at_most(x, l->width - 6.0, 0.04);
    const int above = is_at_most(5.0, y, 0.04), below = is_at_most(y, l->height - 6.0, 0.04);
    if (!left || !right || !above || !below) return 0;
    w->mean = 0.0;
    for (int k = 0; k < 121; k++) {
        const double sx = x + k % 11 - 5, sy = y + k / 11 - 5, fx = sx - floor(sx), fy = sy - floor(sy);
        const uint8_t *at = pixels + (int32_t)floor(sy) * l->pitch + (int32_t)floor(sx);
        const double upper = at[0] * (1 - fx) + at[1] * fx, lower = at[l->pitch] * (1 - fx) + at[l->pitch + 1] * fx;
        w->grey[k] = upper * (1 - fy) + lower * fy;
        w->mean += w->grey[k] / 121.0;
    }
    return 1;
}

/** Zero-mean sum of absolute differences, times 121 [1/16 grey level]. */
static inline double cost_of(const struct patch *a, const struct patch *b)
{
    double sum = 0.0;
    for (int k = 0; k < 121; k++) sum += fabs(a->grey[k] - a->mean - b->grey[k] + b->mean);
    return sum * 121.0 * 16.0;
}

/** Position on level 0 and unit vector of a direction. */
struct line {
    double x, y, along[2];
};

/** Epipolar line of a ray of camera 0 at its point nearest to a position of camera 1. */
static inline struct line epipolar_line_at(const double first[3], double x, double y)
{
    struct epipolar_angles g[5]; /* at the position, and 1/4 px to each side */
    for (int k = 0; k < 5; k++) {
        const double px[2] = {x + (k == 1 ? 0.25 : k == 2 ? -0.25 : 0.0), y + (k == 3 ? 0.25 : k == 4 ? -0.25 : 0.0)};
        double ray[3] = {0, 0, 1};
        vf_lens_bearing(&rig.lens[1], px, ray);
        g[k] = epipolar_angles_of(first, ray);
    }
    const double gx = 2.0 * (g[1].off - g[2].off), gy = 2.0 * (g[3].off - g[4].off), square = gx * gx + gy * gy;
    const double nearer = (g[1].angle - g[2].angle) * gy - (g[3].angle - g[4].angle) * gx,
                 sign = nearer < 0.0 ? -1.0 : 1.0;
    const struct line line = {
        x - g[0].off * gx / square, y - g[0].off * gy / square, {sign * gy / sqrt(square), -sign * gx / sqrt(square)}};
    return line;
}

/** Search on the point's level: shift along the line with the least cost [px of level 0]. Returns 0 if there is no
 *  minimum. */
static inline int search_oracle(uint32_t i, const struct line *line, double *shift)
{
    const int32_t level = points(0)[i].level;
    const double size = size_of(level), x = (line->x + 0.5) / size - 0.5, y = (line->y + 0.5) / size - 0.5;
    struct patch own, other;
    double cost[11];
    int least = 0;
    if (!read_patch(&own, 0, level, points(0)[i].u, points(0)[i].v)) return 0;
    for (int k = 0; k < 11; k++) {
        if (!read_patch(&other, 1, level, x + (k - 5) * line->along[0], y + (k - 5) * line->along[1])) return 0;
        cost[k] = cost_of(&own, &other);
        if (cost[k] < cost[least]) least = k;
    }
    for (int k = 0; k < 11; k++) /* neighbouring minima give the same position */
        if (k != least && cost[k] < cost[least] * 1.03 + 30000.0 &&
            (abs(k - least) > 1 || least % 10 == 0 || k % 10 == 0))
            near_bound = 1;
    if (least % 10 == 0) return 0;
    const double before = cost[least - 1] - cost[least], after = cost[least + 1] - cost[least],
                 steepest = fmax(before, after);
    near_bound |= steepest < 150000.0 || fmin(before, after) < 5000.0; /* equal costs on one side: no position */
    *shift = size * (least - 5 + (before - after) / 2.0 / steepest);
    return 1;
}

/** Shift between two patches by linear regression of differences over gradients, on columns or rows first..last. */
static inline double regression(const struct patch *a, const double slope[121], const struct patch *b, int rows,
                                int first, int last)
{
    double n = 0.0, sx = 0.0, sy = 0.0, sxx = 0.0, sxy = 0.0;
    for (int k = 0; k < 121; k++) {
        const int at = rows ? k / 11 : k % 11;
        if (at < first || at > last) continue;
        n += 1.0;
        sx += slope[k];
        sy += b->grey[k] - a->grey[k];
    }
    for (int k = 0; k < 121; k++) {
        const int at = rows ? k / 11 : k % 11;
        if (at < first || at > last) continue;
        sxx += (slope[k] - sx / n) * (slope[k] - sx / n);
        sxy += (slope[k] - sx / n) * (b->grey[k] - a->grey[k] - sy / n);
    }
    near_bound |= sxx / n < 1.0; /* gradients rounded to 1/8 grey level are then too inexact */
    return -sxy / sxx;
}

/** Gauss-Newton steps on level 0 from a shift. Returns the cost at the end; negative: none. */
static inline double refine_oracle(uint32_t i, const struct line *line, double *shift)
{
    const double from = *shift, x = true_point[0][i].x, y = true_point[0][i].y;
    const int rows = fabs(line->along[1]) > fabs(line->along[0]);
    struct patch own, ahead, behind, other;
    double slope[121];
    near_bound |= fabs(fabs(line->along[0]) - fabs(line->along[1])) < 0.01;
    const int inside = read_patch(&own, 0, 0, x, y) && read_patch(&ahead, 0, 0, x + line->along[0], y + line->along[1]);
    if (!inside || !read_patch(&behind, 0, 0, x - line->along[0], y - line->along[1])) return -1.0;
    for (int k = 0; k < 121; k++) slope[k] = (ahead.grey[k] - behind.grey[k]) / 2.0;
    for (int step_number = 0; step_number < 3; step_number++) {
        if (step_number && !is_at_most(fabs(*shift - from), 1.5, 0.06)) return -1.0;
        if (!read_patch(&other, 1, 0, line->x + *shift * line->along[0], line->y + *shift * line->along[1]))
            return -1.0;
        if (step_number < 2) *shift += regression(&own, slope, &other, rows, 0, 10);
    }
    const double apart = fabs(regression(&own, slope, &other, rows, 0, 4) -
                              regression(&own, slope, &other, rows, 6, 10));
    const int agree = !step.tuning.stereo_apart_mpx || is_at_most(apart, step.tuning.stereo_apart_mpx / 1000.0, 0.06);
    return agree ? cost_of(&own, &other) : -1.0;
}

static struct {
    int there, none, near_bound;
    double worst;
} compared;

/** Compares the position of point i with match j: existence, position and cost. */
static inline void compare_position(const char *what, uint32_t i, uint32_t j)
{
    const struct line line = epipolar_line_at(true_point[0][i].bearing, true_point[1][j].x, true_point[1][j].y);
    const vfront_depth_t *is = &memory.stereo.candidate[i];
    const double focal = (rig.camera[1].fx_px + rig.camera[1].fy_px) / 2.0;
    double shift = 0.0, before = 0.0, cost = -1.0, ray[3];
    near_bound = 0;
    if (search_oracle(i, &line, &before)) cost = refine_oracle(i, &line, (shift = before, &shift));
    const double px[2] = {line.x + shift * line.along[0], line.y + shift * line.along[1]};
    if (cost >= 0.0 && (!vf_lens_bearing(&rig.lens[1], px, ray) ||
                        !is_at_most(0.25, focal * tan(epipolar_angles_of(true_point[0][i].bearing, ray).angle), 0.1)))
        cost = -1.0;
    compared.near_bound += near_bound;
    if (near_bound) return;
    REQUIRE((memory.stereo.cost[i] != UINT32_MAX) == (cost >= 0.0), "%s: point %u: cost %u, should be %g", what, i,
            memory.stereo.cost[i], cost);
    compared.there += cost >= 0.0;
    compared.none += cost < 0.0;
    if (cost < 0.0) return;
    const double off = hypot((double)is->x_px - px[0], (double)is->y_px - px[1]);
    compared.worst = fmax(compared.worst, off);
    REQUIRE(off < 0.02 + 0.06 * fabs(shift - before), "%s: point %u of level %d at %.3f %.3f, should be %.3f %.3f",
            what, i, points(0)[i].level, (double)is->x_px, (double)is->y_px, px[0], px[1]);
    struct patch own, other;
    read_patch(&own, 0, 0, true_point[0][i].x, true_point[0][i].y);
    read_patch(&other, 1, 0, (double)is->x_px, (double)is->y_px);
    cost = cost_of(&own, &other); /* at the position of the stage, which reads patches at 1/256 px */
    REQUIRE(fabs(cost - memory.stereo.cost[i]) < 0.02 * cost + 30000.0, "%s: point %u: cost %u, should be %g", what, i,
            memory.stereo.cost[i], cost);
}

/** Runs the stage and compares the positions of all mutual matches. */
static inline void run_and_compare(const char *what)
{
    run_and_check(what);
    for (uint32_t i = 0; i < *count_of(0); i++) {
        const uint32_t j = memory.stereo.best[i] & 0xffff;
        if (memory.stereo.best[i] == UINT32_MAX || (memory.stereo.back[step.parity][j] & 0xffff) != i) continue;
        compare_position(what, i, j);
    }
}

#define BINS 10
struct position_figures {
    double square, sum, worst, depth, bin[BINS];
    int there, depths, in_bin[BINS];
    int gross; /* off by more than 1 px; in no other statistic */
};

/** Adds a position: error along the line [px of level 0], and normalised error of its depth. */
static inline void note_position(struct position_figures *f, const vfront_depth_t *d)
{
    const uint32_t i = d->keypoint;
    const double size = true_point[0][i].size, x = (double)d->x_px - truth[i][0], y = (double)d->y_px - truth[i][1];
    double far[2];
    if (!project_to_camera1(true_point[0][i].bearing, 1.01 * true_depth[i] / true_point[0][i].bearing[2], far)) return;
    const double ux = truth[i][0] - far[0], uy = truth[i][1] - far[1], u = hypot(ux, uy), error = (x * ux + y * uy) / u;
    f->depths++;
    if (fabs(error) > 1.0) {
        f->gross++;
        return;
    }
    const double phase = (truth[i][0] - true_point[1][d->match].x) / size + 0.5;
    const int bin = (int)((phase - floor(phase)) * BINS);
    f->square += error * error;
    f->sum += error;
    f->worst = fmax(f->worst, fabs(error));
    f->depth += pow(((double)d->depth_m - true_depth[i]) / (double)d->sigma_m, 2.0);
    f->bin[bin] += error;
    f->in_bin[bin]++;
}

static inline void look_at_wall(struct position_figures *f, int32_t levels, double sigma)
{
    draw(0, sigma);
    draw(1, sigma);
    RUN(scale);
    step.tuning.stereo_band_px = 8;
    step.tuning.stereo_cut_percent = 0;
    step.tuning.stereo_disparity_px = 400;
    f->there += (int)points_on_wall(POINTS, levels, 0, 2.0);
    run_and_compare("wall");
    for (uint32_t i = 0; i < memory.stereo.count; i++) note_position(f, &memory.stereo.depth[i]);
}

/** Prints and checks the statistics of compare_position(). */
static inline void print_compared(int there, int none)
{
    print_message("         beside double precision: %d depths, at most %.3f px off, %d without, %d too near a bound\n",
                  compared.there, compared.worst, compared.none, compared.near_bound);
    assert_true(compared.there >= there && compared.none >= none &&
                compared.near_bound < (compared.there + compared.none) / 2);
    memset(&compared, 0, sizeof compared);
}

static inline double print_positions(const char *what, const struct position_figures *f)
{
    const int good = f->depths - f->gross;
    const double rms = sqrt(f->square / good);
    print_message("         %-46s %5d of %5d, error %.4f px rms, %+.4f mean, %.3f worst; %.2f sigma rms; %d gross\n",
                  what, f->depths, f->there, rms, f->sum / good, f->worst, sqrt(f->depth / good), f->gross);
    assert_true(f->gross <= f->depths / 100 && sqrt(f->depth / good) < 0.6);
    return rms;
}

static inline void print_bias(const struct position_figures *f)
{
    print_message("         mean error by phase of the true place between pixels, from -0.5 px:");
    for (int i = 0; i < BINS; i++) print_message(" %+.3f", f->bin[i] / (f->in_bin[i] ? f->in_bin[i] : 1));
    print_message("\n");
}

#endif
#endif
