/* SPDX-License-Identifier: MIT */
/* Oracle of rectify: lens models in long double with libm, the rule of the stage to the bit in a second form, valid
 * rectangles by trying all, and a scene at infinity. Shares no arithmetic with src/camera. */
#ifndef RECTIFY_ORACLE_H
#define RECTIFY_ORACLE_H

#include "tests/fixture/stage.h"

#if VFRONT_RECTIFY

/** Random number in least..most. */
static double uniform(double least, double most)
{
    return least + (most - least) * (double)(roll64() >> 11) / 9007199254740992.0;
}

/* ---- lens models ------------------------------------------------------------------------------------------------- */

/** Radius of a ray at an angle to the axis in the plane of ds, eucm or omni, by the formulas of their papers. */
static long double sphere_radius(const vfront_camera_t *c, long double angle)
{
    const double *k = c->distortion;
    const long double x = sinl(angle), z = cosl(angle);
    if (c->lens == VFRONT_LENS_EUCM) return x / (k[0] * sqrtl(k[1] * x * x + z * z) + (1 - (long double)k[0]) * z);
    if (c->lens == VFRONT_LENS_OMNI) return x / (z + k[0]);
    return x / (k[1] * hypotl(x, k[0] + z) + (1 - (long double)k[1]) * (k[0] + z));
}

/** Radial function of a lens: radius in the plane Z = 1 from the argument u, the tangent of the angle to the axis or
 *  that angle. */
static long double radial(const vfront_camera_t *c, long double u)
{
    const double *k = c->distortion;
    const long double s = u * u, at = c->lens > VFRONT_LENS_EQUIDISTANT ? sphere_radius(c, u) : 0;
    if (c->lens == VFRONT_LENS_OMNI) return at * (1 + k[1] * at * at + k[2] * powl(at, 4));
    if (c->lens > VFRONT_LENS_EQUIDISTANT) return at;
    if (c->lens == VFRONT_LENS_EQUIDISTANT)
        return u * (1 + k[0] * s + k[1] * s * s + k[2] * powl(s, 3) + k[3] * powl(s, 4));
    const long double over = 1 + k[0] * s + k[1] * s * s + k[4] * powl(s, 3),
                      under = 1 + k[5] * s + k[6] * s * s + k[7] * powl(s, 3);
    return u * over / under;
}

/** Argument up to which the radial function rises, found in steps of STRIDE. */
#define STRIDE 1e-3L
static long double rises_to(const vfront_camera_t *c)
{
    const long double most = c->lens >= VFRONT_LENS_EQUIDISTANT ? acosl(-1.0L) : 30.0L;
    long double u = 0, last = 0;
    if (radial(c, 0.5L) == 0.5L && radial(c, 2.0L) == 2.0L) return 1e4L; /* a pinhole */
    for (;;) {
        const long double next = radial(c, u + STRIDE);
        if (next <= last || u + STRIDE > most) return u;
        last = next;
        u += STRIDE;
    }
}

/** Argument of the radial function for a ray. */
static long double argument(const vfront_camera_t *c, const long double ray[3])
{
    const long double across = hypotl(ray[0], ray[1]);
    if (c->lens >= VFRONT_LENS_EQUIDISTANT) return atan2l(across, ray[2]);
    return ray[2] > 0 ? across / ray[2] : HUGE_VALL;
}

/** Pixel at which a camera sees a ray. */
static void project(const vfront_camera_t *c, const long double ray[3], long double px[2])
{
    const long double across = hypotl(ray[0], ray[1]), u = argument(c, ray),
                      grown = across > 0 ? radial(c, u) / across : 0;
    long double m[2] = {ray[0] * grown, ray[1] * grown};
    if (c->lens < VFRONT_LENS_EQUIDISTANT) {
        const long double x = ray[0] / ray[2], y = ray[1] / ray[2], p1 = c->distortion[2], p2 = c->distortion[3];
        m[0] += 2 * p1 * x * y + p2 * (3 * x * x + y * y);
        m[1] += p1 * (x * x + 3 * y * y) + 2 * p2 * x * y;
    }
    px[0] = c->fx_px * m[0] + c->cx_px;
    px[1] = c->fy_px * m[1] + c->cy_px;
}

/* ---- random cameras and rotations -------------------------------------------------------------------------------- */

/** Kinds of lenses; random_camera() varies the typical coefficients of each by 10 %. */
enum kind { PINHOLE, EUROC, STRONG, RATIONAL, FISHEYE, SPHERES, EXTENDED, OMNI, KINDS };

static vfront_camera_t random_camera(enum kind kind, int32_t width, int32_t height)
{
    static const vfront_lens_t lens[KINDS] = {VFRONT_LENS_RADTAN,   VFRONT_LENS_RADTAN,      VFRONT_LENS_RADTAN,
                                              VFRONT_LENS_RATIONAL, VFRONT_LENS_EQUIDISTANT, VFRONT_LENS_DS,
                                              VFRONT_LENS_EUCM,     VFRONT_LENS_OMNI};
    static const double focal[KINDS] = {0.8, 0.61, 0.4, 0.6, 0.3, 0.25, 0.35, 0.8};
    static const double numbers[KINDS][8] = {{0},
                                             {-0.28, 0.074, 2e-4, 2e-5},
                                             {-0.3},
                                             {0.4, 0.1, 1e-3, -1e-3, 0.01, 0.7, 0.2, 0.03},
                                             {-0.01, 0.008, -0.004, 0.0006},
                                             {-0.2, 0.58},
                                             {0.62, 1.1},
                                             {1.3, -0.15, 0.1}};
    vfront_camera_t c;
    memset(&c, 0, sizeof c);
    c.width_px = width;
    c.height_px = height;
    c.lens = lens[kind];
    c.fx_px = focal[kind] * width * uniform(0.95, 1.05);
    c.fy_px = c.fx_px * uniform(0.98, 1.02);
    c.cx_px = width * uniform(0.47, 0.53);
    c.cy_px = height * uniform(0.47, 0.53);
    for (int k = 0; k < 8; k++) c.distortion[k] = numbers[kind][k] * uniform(0.9, 1.1);
    return c;
}

/** Rotation by an angle [rad] about a random axis. */
static void random_rotation(double R[9], double angle)
{
    double v[3], length;
    do {
        for (int k = 0; k < 3; k++) v[k] = uniform(-1, 1);
        length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    } while (length < 0.1 || length > 1);
    for (int k = 0; k < 3; k++) v[k] /= length;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            const double cross = r == c ? 0.0 : (c == (r + 1) % 3 ? -1 : 1) * v[3 - r - c];
            R[3 * r + c] = v[r] * v[c] * (1 - cos(angle)) + cross * sin(angle) + (r == c ? cos(angle) : 0);
        }
}

static void times(double out[9], const double a[9], const double b[9])
{
    for (int i = 0; i < 9; i++)
        out[i] = a[i / 3 * 3] * b[i % 3] + a[i / 3 * 3 + 1] * b[3 + i % 3] + a[i / 3 * 3 + 2] * b[6 + i % 3];
}

static void apply(double out[3], const double R[9], const double v[3])
{
    for (int i = 0; i < 3; i++) out[i] = R[3 * i] * v[0] + R[3 * i + 1] * v[1] + R[3 * i + 2] * v[2];
}

static void apply_back(double out[3], const double R[9], const double v[3])
{
    for (int i = 0; i < 3; i++) out[i] = R[i] * v[0] + R[3 + i] * v[1] + R[6 + i] * v[2];
}

/* ---- remap table ------------------------------------------------------------------------------------------------- */

/** Raw coordinates of rectified pixel (x, y) in long double. Returns the argument of the radial function. */
static long double truth(const vfront_camera_t *c, const vfront_camera_t *n, const double R_rig_seen[9], int32_t x,
                         int32_t y, long double px[2])
{
    const long double at[3] = {(x - n->cx_px) / (long double)n->fx_px, (y - n->cy_px) / (long double)n->fy_px, 1};
    long double ray[3];
    for (int k = 0; k < 3; k++)
        ray[k] = R_rig_seen[3 * k] * at[0] + R_rig_seen[3 * k + 1] * at[1] + R_rig_seen[3 * k + 2] * at[2];
    project(c, ray, px);
    return argument(c, ray);
}

/* ---- the stage to the bit ---------------------------------------------------------------------------------------- */

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

/** Raw coordinates of a pixel [1/256 px] by the rule of rectify.h. Returns 0 outside the raw image. */
static int comes_from(const struct vf_memory *m, int32_t camera, int32_t x, int32_t y, int64_t from[2])
{
    const struct vf_level *l = &step.geometry.level[camera][0], *raw = &step.geometry.raw[camera];
    const int32_t across = (l->width + 3) / 4 + 1;
    int64_t sum[2] = {0, 0};
    for (int32_t i = 0; i < 4; i++) {
        const struct vf_remap_entry *entry = &m->rectify.remap[camera][(y / 4 + i / 2) * across + x / 4 + i % 2];
        const int64_t weight = (i % 2 ? x % 4 : 4 - x % 4) * (i / 2 ? y % 4 : 4 - y % 4);
        if (entry->x == INT32_MIN) return 0;
        sum[0] += weight * entry->x;
        sum[1] += weight * entry->y;
    }
    for (int k = 0; k < 2; k++) from[k] = floor_div(sum[k] + 128, 256); /* of 1/65536 px */
    return from[0] >= 0 && from[1] >= 0 && from[0] <= 256 * (raw->width - 1) && from[1] <= 256 * (raw->height - 1);
}

/** Bilinear grey level at raw coordinates [1/256 px]. */
static uint8_t grey_from(const uint8_t *pixels, const struct vf_level *raw, const int64_t from[2])
{
    int64_t sum = 0;
    for (int32_t i = 0; i < 4; i++) {
        const int64_t x = from[0] / 256 + i % 2, y = from[1] / 256 + i / 2;
        const int64_t weight = (i % 2 ? from[0] % 256 : 256 - from[0] % 256) *
                               (i / 2 ? from[1] % 256 : 256 - from[1] % 256);
        if (weight) sum += weight * pixels[y * raw->pitch + x];
    }
    return (uint8_t)((sum + 32768) / 65536);
}

/** Writes what the stage should make of a camera to `expected`. */
static void expect_camera(int32_t camera)
{
    const struct vf_level *l = &step.geometry.level[camera][0], *raw = &step.geometry.raw[camera];
    const int framed = memory.ingest.params.source[camera].mask != NULL;
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            int64_t from[2];
            const int seen = comes_from(&memory, camera, x, y, from);
            const int64_t nearest = seen ? (from[1] + 128) / 256 * raw->pitch + (from[0] + 128) / 256 : 0;
            expected.rectify.picture[step.parity][camera][y * l->pitch + x] =
                seen ? grey_from(memory.ingest.picture[step.parity][camera], raw, from) : 0;
            if (framed)
                expected.rectify.mask[camera][y * l->pitch + x] = seen ? memory.ingest.mask_frame[camera][nearest] : 0;
        }
}

/* ---- valid rectangle and margin ---------------------------------------------------------------------------------- */

/** 1: the pixel comes from inside the raw image; rows of level 0's width. */
static uint8_t sees[2][VFRONT_PICTURE_BYTES];

/** Fills sees[] from the remap tables in `memory`. */
static void find_seen(void)
{
    for (int32_t c = 0; c < 2; c++)
        for (int32_t y = 0; y < step.geometry.level[c][0].height; y++)
            for (int32_t x = 0; x < step.geometry.level[c][0].width; x++) {
                int64_t from[2];
                sees[c][y * step.geometry.level[c][0].width + x] = (uint8_t)comes_from(&memory, c, x, y, from);
            }
}

/** Compares a valid rectangle with the largest of all rectangles around the centre, found by trying all. */
static void check_valid(int32_t c, const int32_t is[4])
{
    static int32_t sum[300][300];
    const int32_t width = step.geometry.level[c][0].width, height = step.geometry.level[c][0].height;
    int32_t best[4] = {0, 0, 0, 0};
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++)
            sum[y + 1][x + 1] = sees[c][y * width + x] + sum[y][x + 1] + sum[y + 1][x] - sum[y][x];
    for (int32_t y = 0; y <= height / 2; y++)
        for (int32_t h = height / 2 - y + 1; y + h <= height; h++)
            for (int32_t x = 0; x <= width / 2; x++)
                for (int32_t w = width / 2 - x + 1; x + w <= width; w++) {
                    if (w * h <= best[2] * best[3]) continue;
                    if (sum[y + h][x + w] - sum[y][x + w] - sum[y + h][x] + sum[y][x] != w * h) break;
                    best[0] = x, best[1] = y, best[2] = w, best[3] = h;
                }
    REQUIRE(is[2] * is[3] == best[2] * best[3] && is[1] == best[1] && is[3] == best[3],
            "valid %d %d %d %d, should be %d %d %d %d", is[0], is[1], is[2], is[3], best[0], best[1], best[2], best[3]);
    REQUIRE(sum[is[1] + is[3]][is[0] + is[2]] - sum[is[1]][is[0] + is[2]] - sum[is[1] + is[3]][is[0]] +
                    sum[is[1]][is[0]] ==
                is[2] * is[3],
            "holes");
    assert_true(is[0] <= width / 2 && is[0] + is[2] > width / 2 && is[1] <= height / 2 && is[1] + is[3] > height / 2);
}

/** 1 if sees[] holds for all pixels within `margin` px along both axes. */
static int sees_all_around(int32_t c, int32_t x, int32_t y, int32_t margin)
{
    const int32_t width = step.geometry.level[c][0].width, height = step.geometry.level[c][0].height;
    for (int32_t v = y - margin; v <= y + margin; v++)
        for (int32_t u = x - margin; u <= x + margin; u++)
            if (u >= 0 && v >= 0 && u < width && v < height && !sees[c][v * width + u]) return 0;
    return 1;
}

/* ---- scene at infinity ------------------------------------------------------------------------------------------- */

/** Synthetic scene at infinity: smooth grey level by direction in IMU axes. */
static double world(const long double d[3])
{
    const long double length = sqrtl(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]), x = d[0] / length, y = d[1] / length,
                      z = d[2] / length;
    return (double)(128 + 50 * sinl(23 * x + 3) * cosl(19 * y) + 40 * sinl(17 * z + 21 * x) +
                    25 * cosl(29 * y - 13 * z));
}

/** Newton step towards the ray that is seen at a pixel, with numerical derivatives of the projection. */
static void step_to(const vfront_camera_t *c, long double ray[3], int32_t x, int32_t y)
{
    const long double h = 1e-7L, aside[3] = {ray[0] + h, ray[1], 1}, below[3] = {ray[0], ray[1] + h, 1};
    long double px[2], by_x[2], by_y[2];
    project(c, ray, px);
    project(c, aside, by_x);
    project(c, below, by_y);
    for (int k = 0; k < 2; k++) by_x[k] = (by_x[k] - px[k]) / h, by_y[k] = (by_y[k] - px[k]) / h;
    const long double determinant = by_x[0] * by_y[1] - by_x[1] * by_y[0];
    ray[0] -= (by_y[1] * (px[0] - x) - by_y[0] * (px[1] - y)) / determinant;
    ray[1] -= (by_x[0] * (px[1] - y) - by_x[1] * (px[0] - x)) / determinant;
}

/** Direction in IMU axes that a camera sees at a pixel: its projection, inverted numerically. Returns 0 without
 *  convergence. */
static int look(const vfront_camera_t *c, int32_t x, int32_t y, long double d_imu[3])
{
    long double ray[3] = {(x - c->cx_px) / c->fx_px, (y - c->cy_px) / c->fy_px, 1}, px[2];
    project(c, ray, px);
    for (int i = 0; i < 12 && hypotl(px[0] - x, px[1] - y) > 1e-7L; i++) {
        step_to(c, ray, x, y);
        project(c, ray, px);
    }
    for (int k = 0; k < 3; k++)
        d_imu[k] = c->R_cam_imu[k] * ray[0] + c->R_cam_imu[3 + k] * ray[1] + c->R_cam_imu[6 + k] * ray[2];
    return fabsl(px[0] - x) < 1e-6L && fabsl(px[1] - y) < 1e-6L;
}

#endif

#endif
