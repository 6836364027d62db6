/* SPDX-License-Identifier: MIT */
#include "camera_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/replay/calibration.h"
#include "least_squares.h"
#include "rotation.h"

/* Standard deviations of a good calibration's errors. */
#define ROTATION_MRAD 1.0  /* each axis: the library's own (vio_stereo_urad) */
#define DIRECTION_MRAD 5.0 /* of the baseline, each axis */
#define FOCAL_PERCENT 0.5  /* of the ratio of the focal lengths: the library's own (rig_focal_ppm) */
#define LENS_PX 0.3        /* mean distance of a region */
#define LENS_AREAS 12.0    /* areas of the picture in which that is independent: errors of a lens are smooth */
#define FRONT_PERCENT 10.0 /* share of wrong correspondences */
#define PRIOR 0.3          /* of each parameter, beyond which no calibration is off [rad, 1] */
#define LEAST_PAIRS 200
#define ORDER "order of the cameras"
#define LEAST_INLIERS 0.4
#define EXCHANGED 0.6 /* cost with exchanged pictures, over that as they are, below which they are */
#define INLIER_PX 3.0 /* from the line, in pixels of the level */
#define SPREAD_PX 1.0 /* scale of the robust weight, in pixels of the level */

enum { ROTATION = 0, DIRECTION = 3, FOCAL = 5, PARAMETERS = 6 };

/** A correspondence under the fit. */
struct ray {
    double first[3];  /* bearing in axes of camera 0 */
    double second[3]; /* of camera 1, at the fitted focal lengths */
    double change[3]; /* of it, by the logarithm of the ratio of focal lengths */
    double scale_px;  /* of one radian, in camera 1 [px] */
    double size;      /* of a pixel of the level [px] */
    int block, valid;
};

struct fit {
    const gathered_t *data;
    const vfront_camera_t *camera; /* camera 1 */
    double focal_px[2];            /* of both, at the optical axis */
    struct ray *ray;
    pose_t given;               /* T_cam1_cam0 of the calibration */
    double unit[3], side[2][3]; /* direction of the baseline; axes across it */
    int exchanged;              /* 1: the pictures are taken for those of the other camera */
    double weights;             /* sum of all weights */
    double left[LEAST_SQUARES_BLOCKS], front[LEAST_SQUARES_BLOCKS]; /* findings without a stretch */
    least_squares_t ls;
};

static void normalise(const double v[3], double to[3])
{
    const double length = rotation_length(v);
    for (int i = 0; i < 3; i++) to[i] = v[i] / length;
}

/** T_cam1_cam0 at parameters x: the calibrated one, turned in axes of camera 1; t has length 1. */
static pose_t pose_at(const struct fit *f, const double *x)
{
    pose_t by = pose_identity, at;
    rotation_of(&x[ROTATION], by.R);
    double t[3];
    for (int i = 0; i < 3; i++) t[i] = f->unit[i] + x[DIRECTION] * f->side[0][i] + x[DIRECTION + 1] * f->side[1][i];
    at = pose_compose(&by, &f->given);
    normalise(t, at.t);
    return at;
}

/** Distance of the second bearing from the plane of the first and the baseline [px of camera 1]. */
static double distance_px(const struct ray *r, const pose_t *at, double focal)
{
    double first[3], normal[3], second[3];
    rotation_apply(at->R, r->first, first);
    rotation_cross(at->t, first, normal);
    for (int i = 0; i < 3; i++) second[i] = r->second[i] + focal * r->change[i];
    return r->scale_px * rotation_dot(second, normal) / sqrt(rotation_dot(normal, normal));
}

/** Pixels a radian at the optical axis, along x. */
static double axis_focal_px(const vfront_camera_t *c)
{
    const int moved = c->lens == VFRONT_LENS_DS || c->lens == VFRONT_LENS_OMNI; /* by xi */
    return c->fx_px / (1.0 + (moved ? c->distortion[0] : 0.0));
}

/** Bearings of camera 1, if its focal lengths were those of the calibration times exp(focal). */
static int second_bearing(const vfront_camera_t *c, const float px[2], double focal, double to[3])
{
    const double by = exp(-focal),
                 at[2] = {c->cx_px + ((double)px[0] - c->cx_px) * by, c->cy_px + ((double)px[1] - c->cy_px) * by};
    return vfront_lens_bearing(c, at, to);
}

static void set_rays(struct fit *f)
{
    const double h = 1e-4, focal = f->ls.x[FOCAL];
    for (size_t i = 0; i < f->data->pairs; i++) {
        const pair_t *p = &f->data->pair[i];
        struct ray *r = &f->ray[i];
        const float *first = p->px[f->exchanged], *second = p->px[!f->exchanged];
        const double px[2] = {(double)first[0], (double)first[1]};
        double more[3];
        r->size = (double)p->size;
        r->scale_px = f->focal_px[1] * exp(focal);
        r->block = (int)((uint64_t)p->frame * LEAST_SQUARES_BLOCKS / f->data->frames);
        r->valid = vfront_lens_bearing(&f->data->rig.camera[0], px, r->first) &&
                   second_bearing(f->camera, second, focal, r->second) &&
                   second_bearing(f->camera, second, focal + h, more);
        for (int k = 0; k < 3 && r->valid; k++) r->change[k] = (more[k] - r->second[k]) / h;
    }
}

/** Add all correspondences at x, with the weight of Cauchy's distribution of this scale [px of the level]. Returns the
 *  robust cost. */
static double add_all(struct fit *f, double spread)
{
    const double h = 1e-6;
    double cost = 0.0;
    pose_t at = pose_at(f, f->ls.x), by[FOCAL];
    for (int k = 0; k < FOCAL; k++) {
        double x[PARAMETERS];
        memcpy(x, f->ls.x, sizeof x);
        x[k] += h;
        by[k] = pose_at(f, x);
    }
    least_squares_clear(&f->ls);
    f->weights = 0.0;
    for (size_t i = 0; i < f->data->pairs; i++) {
        const struct ray *r = &f->ray[i];
        double row[PARAMETERS];
        if (!r->valid) continue;
        const double d = distance_px(r, &at, 0.0), relative = d / (spread * r->size),
                     weight = 1.0 / (r->size * r->size * (1.0 + relative * relative) * SPREAD_PX * SPREAD_PX);
        for (int k = 0; k < FOCAL; k++) row[k] = (distance_px(r, &by[k], 0.0) - d) / h;
        row[FOCAL] = (distance_px(r, &at, h) - d) / h;
        least_squares_add(&f->ls, r->block, row, d, weight);
        f->weights += weight;
        cost += log1p(relative * relative);
    }
    for (int k = 0; k < PARAMETERS; k++) least_squares_prior(&f->ls, k, PRIOR);
    return cost;
}

/** Fit with narrower and narrower weights, from the calibration on. Returns the robust cost; -1: no solution. */
static double fit_from(struct fit *f, double widest)
{
    least_squares_begin(&f->ls, PARAMETERS);
    for (double spread = widest; spread >= SPREAD_PX; spread *= 0.5) {
        const int last = spread < 2.0 * SPREAD_PX;
        for (int k = 0; k < (last ? 12 : 4); k++) {
            set_rays(f);
            add_all(f, last ? SPREAD_PX : spread);
            const double change = least_squares_step(&f->ls);
            if (change < 0.0 || fabs(f->ls.x[FOCAL]) > 1.0) return -1.0;
            if (change < 1e-7) break;
        }
    }
    set_rays(f);
    return add_all(f, SPREAD_PX);
}

/** Fit near the calibration, unless one farther away is much better. Returns 0 if there is no solution. */
static int solve(struct fit *f)
{
    const double near = fit_from(f, 2.0 * SPREAD_PX);
    const least_squares_t kept = f->ls;
    const double far = fit_from(f, 32.0 * SPREAD_PX);
    if (far < 0.0 || (near >= 0.0 && far > 0.8 * near)) f->ls = kept;
    if (near < 0.0 && far < 0.0) return 0;
    set_rays(f);
    add_all(f, SPREAD_PX);
    return least_squares_deviations(&f->ls) > 2;
}

/** Robust cost of the calibration as it is, with the pictures as they are or exchanged. */
static double cost_of(struct fit *f, int exchanged)
{
    least_squares_begin(&f->ls, PARAMETERS);
    f->exchanged = exchanged;
    set_rays(f);
    const double cost = add_all(f, SPREAD_PX);
    f->exchanged = 0;
    return cost;
}

/** Standard deviation of a parameter in a good calibration: its own, and what a lens as good as LENS_PX is taken for.
 *  The same equations in which each of LENS_AREAS areas has one error of that size. */
static double tolerance(const struct fit *f, int parameter, double own)
{
    return hypot(own, LENS_PX * sqrt(f->weights / LENS_AREAS) * least_squares_formal(&f->ls, parameter));
}

static int is_inlier(const struct ray *r, double d) { return r->valid && fabs(d) < INLIER_PX * r->size; }

/** Distance of camera 0's bearing from the plane of the second and the baseline [px of camera 0]. */
static double first_distance_px(const struct fit *f, const struct ray *r, const pose_t *at)
{
    double normal[3], first[3];
    rotation_apply(at->R, r->first, first);
    rotation_cross(at->t, r->second, normal);
    return f->focal_px[0] * rotation_dot(first, normal) / sqrt(rotation_dot(normal, normal));
}

/** Directions across the epipolar line of a correspondence in both pictures: the normal of its plane, less what of it
 *  is along the optical axis. */
static void directions(const struct ray *r, const pose_t *at, double across[2][2])
{
    double first[3], normal[2][3], back[9];
    rotation_apply(at->R, r->first, first);
    rotation_cross(at->t, first, normal[1]);
    rotation_transpose(at->R, back);
    rotation_apply(back, normal[1], normal[0]);
    for (int c = 0; c < 2; c++) {
        const double length = hypot(normal[c][0], normal[c][1]);
        for (int i = 0; i < 2; i++) across[c][i] = length > 0.0 ? normal[c][i] / length : 0.0;
    }
}

static void add_to_map(camera_map_t *map, const vfront_camera_t *c, const float px[2], const double across[2],
                       double given, double fitted)
{
    const int x = (int)((double)px[0] * CAMERA_COLUMNS / c->width_px),
              y = (int)((double)px[1] * CAMERA_ROWS / c->height_px);
    if (x < 0 || y < 0 || x >= CAMERA_COLUMNS || y >= CAMERA_ROWS) return;
    map->count[y][x]++;
    for (int i = 0; i < 2; i++) map->across[y][x][i] += across[i];
    map->given[y][x] += given;
    map->fitted[y][x] += fitted;
}

static void divide_map(camera_map_t *map)
{
    for (int y = 0; y < CAMERA_ROWS; y++)
        for (int x = 0; x < CAMERA_COLUMNS; x++) {
            const double n = map->count[y][x] ? map->count[y][x] : 1;
            for (int i = 0; i < 2; i++) map->across[y][x][i] /= n;
            map->given[y][x] /= n;
            map->fitted[y][x] /= n;
        }
}

/** Share of inliers; mean distances by region, those of `given` for the inliers of the fit. without: stretch left out,
 *  or -1. */
static double fill_maps(const struct fit *f, const double *given_bearing, int without, camera_map_t map[2])
{
    const pose_t at = pose_at(f, f->ls.x);
    pose_t given = f->given;
    size_t inliers = 0, all = 0;
    memcpy(given.t, f->unit, sizeof given.t);
    memset(map, 0, 2 * sizeof *map);
    for (size_t i = 0; i < f->data->pairs; i++) {
        struct ray r = f->ray[i];
        const pair_t *p = &f->data->pair[i];
        if (r.block == without || !r.valid) continue;
        const double d = distance_px(&r, &at, 0.0), first = first_distance_px(f, &r, &at);
        double across[2][2];
        all++;
        if (!is_inlier(&r, d)) continue;
        inliers++;
        directions(&r, &at, across);
        memcpy(r.second, &given_bearing[3 * i], sizeof r.second);
        r.scale_px = f->focal_px[1];
        add_to_map(&map[0], &f->data->rig.camera[0], p->px[0], across[0], first_distance_px(f, &r, &given), first);
        add_to_map(&map[1], f->camera, p->px[1], across[1], distance_px(&r, &given, 0.0), d);
    }
    for (int c = 0; c < 2; c++) divide_map(&map[c]);
    return all ? (double)inliers / (double)all : 0.0;
}

/** RMS of the regions' means, less what their own scatter explains [px]. */
static double regions_px(const camera_map_t *map)
{
    double square = 0.0;
    int regions = 0;
    for (int y = 0; y < CAMERA_ROWS; y++)
        for (int x = 0; x < CAMERA_COLUMNS; x++) {
            if (map->count[y][x] < CAMERA_REGION_LEAST) continue;
            square += map->fitted[y][x] * map->fitted[y][x] - SPREAD_PX * SPREAD_PX / map->count[y][x];
            regions++;
        }
    return square > 0.0 ? sqrt(square / regions) : 0.0;
}

/** Share of the inliers in front of both cameras. without: stretch left out, or -1. */
static double share_in_front(const struct fit *f, int without)
{
    const pose_t at = pose_at(f, f->ls.x);
    size_t front = 0, behind = 0;
    for (size_t i = 0; i < f->data->pairs; i++) {
        const struct ray *r = &f->ray[i];
        double first[3], a[3], b[3], c[3];
        if (r->block == without || !is_inlier(r, distance_px(r, &at, 0.0))) continue;
        rotation_apply(at.R, r->first, first);
        rotation_cross(first, r->second, a); /* depth of the first: sign of (t x second)(second x first) */
        rotation_cross(r->second, at.t, b);
        rotation_cross(first, at.t, c);
        const double depth[2] = {rotation_dot(a, b), rotation_dot(a, c)};
        if (fabs(depth[0]) < 1e-4) continue; /* as good as at infinity */
        *(depth[0] > 0.0 && depth[1] > 0.0 ? &front : &behind) += 1;
    }
    return front + behind ? (double)front / (double)(front + behind) : 0.5;
}

static void add_rotation(findings_t *all, const struct fit *f, int blocks)
{
    static const char *const name[3] = {"camera 1 to 0: rotation about x", "camera 1 to 0: rotation about y",
                                        "camera 1 to 0: rotation about z"};
    for (int k = 0; k < 3; k++) {
        const finding_t x = {.name = name[k],
                             .unit = "mrad",
                             .value = 1e3 * f->ls.x[k],
                             .axes = 3,
                             .sigma = 1e3 * least_squares_sigma(&f->ls, k),
                             .tolerance = 1e3 * tolerance(f, k, 1e-3 * ROTATION_MRAD),
                             .dof = blocks - 1};
        finding_t *to = finding_add(all, &x);
        if (to->decision == FINDING_WRONG)
            snprintf(to->text, sizeof to->text,
                     "camera 1 is turned by %.1f mrad about its axis %c, %.1f px in the picture, from where the "
                     "calibration has it.",
                     x.value, 'x' + k, 1e-3 * x.value * f->focal_px[1]);
        if (to->decision == FINDING_WRONG)
            snprintf(to->advice, sizeof to->advice,
                     "The mount has moved since the calibration, or its transform is of another direction (T_cn_cnm1 "
                     "takes points of camera 0 to camera 1). Fasten it and calibrate both cameras together.");
        else if (to->decision == FINDING_UNKNOWN)
            snprintf(to->advice, sizeof to->advice, "Record near and far objects over the whole picture.");
    }
}

static void add_baseline(findings_t *all, const struct fit *f, int blocks)
{
    for (int k = 0; k < 2; k++) {
        const finding_t x = {.name = k ? "baseline: direction, other axis" : "baseline: direction",
                             .unit = "mrad",
                             .value = 1e3 * f->ls.x[DIRECTION + k],
                             .axes = 2,
                             .sigma = 1e3 * least_squares_sigma(&f->ls, DIRECTION + k),
                             .tolerance = 1e3 * tolerance(f, DIRECTION + k, 1e-3 * DIRECTION_MRAD),
                             .dof = blocks - 1};
        finding_t *to = finding_add(all, &x);
        snprintf(to->advice, sizeof to->advice, "%s",
                 to->decision == FINDING_WRONG
                     ? "Camera 1 lies in another direction from camera 0 than the calibration has "
                       "it: calibrate both cameras together."
                 : to->decision == FINDING_UNKNOWN ? "Record near objects: within 20 baselines."
                                                   : "");
    }
}

static void add_order(findings_t *all, const struct fit *f, int blocks)
{
    const finding_t x = {.name = ORDER,
                         .unit = "% in front",
                         .value = 100.0 * share_in_front(f, -1),
                         .expected = 100.0,
                         .sigma = 100.0 * least_squares_deviation(&f->ls, f->front),
                         .tolerance = FRONT_PERCENT,
                         .dof = blocks - 1};
    finding_t *to = finding_add(all, &x);
    if (to->decision == FINDING_WRONG)
        snprintf(
            to->advice, sizeof to->advice,
            "Most points would be behind the cameras: the pictures of camera 0 and 1 are exchanged, or the sign of the "
            "baseline is wrong (T_cn_cnm1 of camera 1; P1[3] of calib.txt is below 0 for a camera to the right).");
}

static void add_lens(findings_t *all, const struct fit *f, int blocks, double left_px, double sigma_px)
{
    const finding_t focal = {.name = "focal length, camera 1 to 0",
                             .unit = "%",
                             .value = 100.0 * expm1(f->ls.x[FOCAL]),
                             .sigma = 100.0 * least_squares_sigma(&f->ls, FOCAL),
                             .tolerance = 100.0 * tolerance(f, FOCAL, 0.01 * FOCAL_PERCENT),
                             .dof = blocks - 1};
    finding_t *to = finding_add(all, &focal);
    if (to->decision == FINDING_WRONG)
        snprintf(
            to->advice, sizeof to->advice,
            "The focal lengths of the two cameras do not go together: a lens was turned, the pictures are scaled or "
            "cropped otherwise than when it was calibrated, or a file is that of another camera.");
    const finding_t lens = {.name = "lens: distance left by region",
                            .unit = "px",
                            .value = left_px,
                            .sigma = sigma_px,
                            .tolerance = LENS_PX,
                            .dof = blocks - 1};
    to = finding_add(all, &lens);
    if (to->decision == FINDING_WRONG)
        snprintf(
            to->advice, sizeof to->advice,
            "No pose of camera 1 takes the correspondences onto their lines: the distortion, or the model of the lens, "
            "is not that of these cameras. Calibrate the lenses with the board in the corners of the picture, too.");
}

/** Directions of the baseline and across it. */
static void set_sides(struct fit *f)
{
    double e[3] = {0};
    e[fabs(f->given.t[0]) > fabs(f->given.t[1]) ? 1 : 0] = 1.0;
    normalise(f->given.t, f->unit);
    rotation_cross(f->unit, e, f->side[0]);
    normalise(f->side[0], f->side[0]);
    rotation_cross(f->unit, f->side[0], f->side[1]);
}

/** The fit has no solution, or few correspondences agree with it. */
static void add_no_fit(findings_t *all, double inliers)
{
    finding_t *to = finding_unknown(all, "cameras to each other", "", "");
    to->decision = FINDING_WRONG;
    to->probability = 0.0;
    snprintf(to->text, sizeof to->text, "Only %.0f %% of the correspondences can be brought onto epipolar lines.",
             100.0 * inliers);
    snprintf(
        to->advice, sizeof to->advice,
        "The calibration is that of other cameras, of another size of picture, or of another lens model, or the two "
        "cameras are not exposed at the same time.");
}

/** Fit, and add what it shows. Returns 1 if depths mean nothing. */
static int check(findings_t *all, struct fit *f, double *bearing, camera_map_t map[2])
{
    least_squares_begin(&f->ls, PARAMETERS);
    set_rays(f);
    for (size_t i = 0; i < f->data->pairs; i++) memcpy(&bearing[3 * i], f->ray[i].second, sizeof f->ray[i].second);
    if (cost_of(f, 1) < EXCHANGED * cost_of(f, 0)) {
        finding_t *to = finding_unknown(
            all, ORDER, "The calibration fits the pictures when they are exchanged.",
            "The pictures of camera 0 are those of camera 1: exchange the cables, the topics or the "
            "files.");
        to->decision = FINDING_WRONG;
        to->probability = 0.0;
        return 1;
    }
    const int solved = solve(f);
    int blocks = 0;
    for (int b = 0; b < LEAST_SQUARES_BLOCKS; b++) {
        fill_maps(f, bearing, b, map);
        f->left[b] = regions_px(&map[1]);
        f->front[b] = share_in_front(f, b);
        blocks += f->ls.used[b] > 0;
    }
    const double inliers = fill_maps(f, bearing, -1, map);
    if (!solved || inliers < LEAST_INLIERS) {
        add_no_fit(all, inliers);
        return 1;
    }
    const int before = all->count;
    add_rotation(all, f, blocks);
    add_baseline(all, f, blocks);
    add_order(all, f, blocks);
    add_lens(all, f, blocks, regions_px(&map[1]), least_squares_deviation(&f->ls, f->left));
    int wrong = 0;
    const int lens = all->of[all->count - 1].decision == FINDING_WRONG;
    for (int i = before; i < all->count; i++) {
        finding_t *x = &all->of[i];
        if (x->decision != FINDING_WRONG) continue;
        wrong = 1;
        if (lens && i < all->count - 1 && strcmp(x->name, ORDER) != 0)
            snprintf(x->advice, sizeof x->advice, "A wrong lens looks like this, too: mend the lens first.");
    }
    return wrong;
}

int camera_check(findings_t *all, const gathered_t *data, camera_map_t map[2])
{
    const char *const more = "Record a textured room with both cameras uncovered and in focus.";
    struct fit f = {.data = data, .camera = &data->rig.camera[1]};
    for (int c = 0; c < 2; c++) f.focal_px[c] = axis_focal_px(&data->rig.camera[c]);
    memset(map, 0, 2 * sizeof *map);
    if (data->rig.cameras < 2 || calibration_baseline_m(&data->rig) <= 0.0) return 0;
    if (data->pairs < LEAST_PAIRS) {
        finding_unknown(all, "cameras to each other", "Hardly any key point of camera 0 has a like one in camera 1.",
                        more);
        return 1;
    }
    const pose_t first = calibration_extrinsics(&data->rig.camera[0]), second = calibration_extrinsics(f.camera),
                 back = pose_inverse(&first);
    f.given = pose_compose(&second, &back);
    set_sides(&f);
    f.ray = calloc(data->pairs, sizeof *f.ray);
    double *bearing = calloc(3 * data->pairs, sizeof *bearing);
    const int lost = f.ray && bearing ? check(all, &f, bearing, map) : 1;
    free(f.ray);
    free(bearing);
    return lost;
}
