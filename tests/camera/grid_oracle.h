/* SPDX-License-Identifier: MIT */
/* Oracle of the bearing grid: lenses, the bearing at any position, and the blind pixels of a lens. The lens, inverted
 * at the position in double precision, is the reference; the grid is not used. */
#ifndef GRID_ORACLE_H
#define GRID_ORACLE_H

#include "tests/fixture/stage.h"

/* ---- lenses ------------------------------------------------------------------------------------------------------ */

/** Lenses on the market, an uncalibrated one, strong ones, and ones without a bearing in the corners of their
 *  images. */
enum kind { EUROC, KALIBR, KITTI, UNKNOWN, GOPRO, BARREL, WIDE, SPHERES, OMNI, CORNERS, ROUND, OFF_CENTRE, KINDS };
static const struct {
    const char *name;
    vfront_camera_t camera;
    double bound_px; /* of the error of a bearing; 0: only printed */
} known[KINDS] = {
    {"euroc",
     {.width_px = 752,
      .height_px = 480,
      .fx_px = 458.654,
      .fy_px = 457.296,
      .cx_px = 367.215,
      .cy_px = 248.375,
      .distortion = {-0.28340811, 0.07395907, 0.00019359, 1.76187114e-05}},
     1e-3},
    {"kalibr fisheye",
     {.width_px = 512,
      .height_px = 512,
      .fx_px = 190.978,
      .fy_px = 190.973,
      .cx_px = 254.93,
      .cy_px = 256.9,
      .lens = VFRONT_LENS_EQUIDISTANT,
      .distortion = {0.00348, 0.000715, -0.002053, 0.000203}},
     1e-3},
    {"kitti pinhole",
     {.width_px = 1241, .height_px = 376, .fx_px = 718.856, .fy_px = 718.856, .cx_px = 607.1928, .cy_px = 185.2157},
     2e-4},
    {"not calibrated", {.width_px = 641, .height_px = 479}, 1e-4},
    {"gopro rational",
     {.width_px = 960,
      .height_px = 540,
      .fx_px = 470.0,
      .fy_px = 470.0,
      .cx_px = 480.0,
      .cy_px = 270.0,
      .lens = VFRONT_LENS_RATIONAL,
      .distortion = {0.9, 0.2, 1e-4, -2e-4, 0.01, 1.2, 0.35, 0.03}},
     1e-3},
    {"barrel, up to its fold",
     {.width_px = 320,
      .height_px = 240,
      .fx_px = 230.0,
      .fy_px = 230.0,
      .cx_px = 160.0,
      .cy_px = 120.0,
      .distortion = {-0.33, 0.06}},
     0.0},
    {"wide pinhole",
     {.width_px = 160, .height_px = 120, .fx_px = 40.0, .fy_px = 40.0, .cx_px = 79.5, .cy_px = 59.5},
     0.0},
    {"ds",
     {.width_px = 752,
      .height_px = 480,
      .fx_px = 349.756,
      .fy_px = 348.7245,
      .cx_px = 365.894,
      .cy_px = 249.33,
      .lens = VFRONT_LENS_DS,
      .distortion = {-0.24096, 0.567}},
     1e-3},
    {"omni",
     {.width_px = 752,
      .height_px = 480,
      .fx_px = 950.0,
      .fy_px = 948.0,
      .cx_px = 370.0,
      .cy_px = 241.0,
      .lens = VFRONT_LENS_OMNI,
      .distortion = {1.2, -0.2, 0.14, 1e-4, -2e-4}},
     1e-3},
    {"blind corners",
     {.width_px = 203,
      .height_px = 151,
      .fx_px = 180.0,
      .fy_px = 182.0,
      .cx_px = 101.0,
      .cy_px = 70.0,
      .distortion = {-0.6}},
     0.0},
    {"round picture",
     {.width_px = 200,
      .height_px = 160,
      .fx_px = 25.0,
      .fy_px = 25.0,
      .cx_px = 100.0,
      .cy_px = 80.0,
      .lens = VFRONT_LENS_EQUIDISTANT},
     0.0},
    {"blind at one side",
     {.width_px = 96,
      .height_px = 64,
      .fx_px = 80.0,
      .fy_px = 80.0,
      .cx_px = 20.0,
      .cy_px = 10.0,
      .distortion = {-0.5}},
     0.0},
};

/** Uncalibrated: a pinhole, focal length = image width. */
static inline struct vf_lens lens_of(const vfront_camera_t *camera)
{
    vfront_camera_t c = *camera;
    struct vf_lens lens;
    if (c.fx_px == 0.0) {
        c.fx_px = c.fy_px = c.width_px;
        c.cx_px = (c.width_px - 1) / 2.0;
        c.cy_px = (c.height_px - 1) / 2.0;
    }
    vf_lens_make(&lens, &c);
    return lens;
}

static inline int32_t nodes_of(int32_t size_px) { return (int32_t)ceil(size_px / 8.0) + 5; }

/** Bearing of a node of the grid, all 0 where there is none. Returns 1 if there is one. */
static inline int node_of(const struct vf_lens *lens, int32_t i, int32_t j, double bearing[3])
{
    const double px[2] = {8.0 * i - 16.0, 8.0 * j - 16.0};
    bearing[0] = bearing[1] = bearing[2] = 0.0;
    return vf_lens_bearing(lens, px, bearing);
}

/** Writes the grid of a camera to the arena. */
static inline void write_grid(int32_t camera, const struct vf_lens *lens)
{
    const int32_t across = step.geometry.nodes_x[camera], down = nodes_of(step.geometry.level[camera][0].height);
    for (int32_t j = 0; j < down; j++) vf_grid_row(memory.bearing.node[camera] + j * across, across, lens, j);
}

/* ---- positions --------------------------------------------------------------------------------------------------- */

static inline double length_of(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

/** Angle between a bearing and a ray [rad]. */
static inline double angle_between(const float a[3], const double b[3])
{
    const double c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    return atan2(length_of(c), a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
}

/** 1 if all 16 nodes around a position have a bearing. */
static inline int holds_around(const struct vf_lens *lens, double x, double y)
{
    const int32_t i = (int32_t)floor(x / 8.0) + 1, j = (int32_t)floor(y / 8.0) + 1;
    int holds = 1;
    for (int32_t k = 0; k < 16; k++) {
        double unused[3];
        holds &= node_of(lens, i + k % 4, j + k / 4, unused);
    }
    return holds;
}

struct figures {
    double worst_px, sum_px;
    int places, blind, over; /* 1e-4 px */
};

/** Compares a bearing of the grid at a position with the lens. */
static inline void compare_bearing(const char *what, const struct vf_lens *lens, double focal_px, double x, double y,
                                   const float is[3], struct figures *f)
{
    const double px[2] = {x, y}, length = sqrt((double)is[0] * is[0] + (double)is[1] * is[1] + (double)is[2] * is[2]);
    double should[3];
    f->places++;
    if (!holds_around(lens, x, y)) {
        REQUIRE(is[0] == 0.0f && is[1] == 0.0f && is[2] == 0.0f, "%s at %.4f %.4f: a bearing from nodes that have none",
                what, x, y);
        f->blind++;
        return;
    }
    REQUIRE(fabs(length - 1.0) < 2e-7, "%s at %.4f %.4f: length %.9f", what, x, y, length);
    REQUIRE(vf_lens_bearing(lens, px, should), "%s at %.4f %.4f: the lens has none", what, x, y);
    const double error_px = angle_between(is, should) * focal_px;
    f->sum_px += error_px;
    f->over += error_px > 1e-4;
    f->worst_px = error_px > f->worst_px ? error_px : f->worst_px;
}

/* ---- blind pixels ------------------------------------------------------------------------------------------------ */

/** 1 if any position that rounds to a pixel lacks a bearing. Positions before the first or after the last pixel are not
 *  used. */
static inline int is_blind(const vfront_camera_t *c, const struct vf_lens *lens, int32_t x, int32_t y)
{
    const double h = 0.4999;
    for (int k = 0; k < 9; k++) {
        const double px = fmin(fmax(x + (k % 3 - 1) * h, 0.0), c->width_px - 1.0);
        const double py = fmin(fmax(y + (k / 3 - 1) * h, 0.0), c->height_px - 1.0);
        if (!holds_around(lens, px, py)) return 1;
    }
    return 0;
}

/* For images up to 256 px on a side. */
static uint8_t blind_mask[256 * 256];

/** Expected mask of a camera: 255 where there are bearings. Returns the number of other pixels. */
static inline uint32_t look_at_all(const vfront_camera_t *c, const struct vf_lens *lens)
{
    uint32_t count = 0;
    for (int32_t y = 0; y < c->height_px; y++)
        for (int32_t x = 0; x < c->width_px; x++) {
            const int blind = is_blind(c, lens, x, y);
            blind_mask[y * c->width_px + x] = blind ? 0 : 255;
            count += (uint32_t)blind;
        }
    return count;
}

#endif
