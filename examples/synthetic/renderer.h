/* SPDX-License-Identifier: MIT
 *
 * Parts of the renderer (synthetic.h), shared by its files: synthetic_texture.c paints the textures,
 * synthetic_scene.c builds the hall, synthetic_hall.c
 * one around another trajectory, synthetic_flight.c has the motion, synthetic_project.c finds the visible panel
 * of every pixel, synthetic_shade.c its grey level.
 *
 * The hall is a list of panels: flat parallelograms with a texture. In a camera, inverse depth and texture
 * coordinates over depth are linear functions of the pixel's coordinates. So the scanline span of a panel follows
 * from five divisions, visibility from comparing inverse depths, and disparity is exact. Texture is filtered along
 * its footprint (mip levels, up to eight samples), pixels on the edge of a panel are the mean of 4 x 4 rays: without
 * that, edges would flicker from frame to frame, as they do in no camera.
 */
#ifndef SYNTHETIC_RENDERER_H
#define SYNTHETIC_RENDERER_H

#include "synthetic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TWO_PI 6.283185307179586
#define TEXTURE_LOG2 10
#define TEXTURE_SIZE (1 << TEXTURE_LOG2) /* of a side [texel] */
#define TEXTURE_LEVELS 8                 /* mip levels */
#define TEXTURE_BYTES (TEXTURE_SIZE * TEXTURE_SIZE / 3 * 4 + TEXTURE_SIZE)
#define PANELS_MAX 250
#define NO_PANEL 255
#define BASELINE_M 0.11

enum texture { FLOOR, BRICK, CRATE, POSTER, TEXTURES };

/** Streams of random numbers; octaves of noise count on from STREAM_NOISE, panels from STREAM_PANEL. */
enum {
    STREAM_TILES,
    STREAM_BRICKS,
    STREAM_TILE_MARKS,
    STREAM_BRICK_MARKS,
    STREAM_CRATE,
    STREAM_POSTER,
    STREAM_POSTERS,
    STREAM_RING,
    STREAM_HEAP,
    STREAM_BOARDS,
    STREAM_NOISE,
    STREAM_HALL_POSTERS = 50,
    STREAM_HALL_BOXES,
    STREAM_PANEL = 100
};

/** Flat parallelogram: points origin + a u + b v for a, b in 0..1. */
struct panel {
    double origin[3], u[3], v[3]; /* world [m] */
    double offset_s, offset_t;    /* texture coordinates of the origin [texel] */
    double texels_u, texels_v;    /* length of u and v on the texture [texel] */
    enum texture texture;
    int32_t shade_q8; /* illumination [1/256] */
};

/** Linear function of the pixel: x k[0] + y k[1] + k[2]. */
struct linear {
    double k[3];
};

/** Panel in the picture of a camera. All functions but inverse_depth are still to be divided by inverse_depth. */
struct projected_panel {
    struct linear inverse_depth; /* [1/m] */
    struct linear a, b;          /* coordinates within the panel, 0..1 */
    struct linear s, t;          /* texture coordinates [texel] */
};

struct synthetic {
    int32_t width, height;
    double focal_px, cx_px, cy_px;
    int32_t panels, board; /* board: number of the panel that synthetic_board() places */
    struct panel panel[PANELS_MAX];
    struct projected_panel projected[PANELS_MAX]; /* into the camera rendered last */
    uint8_t texture[TEXTURES][TEXTURE_BYTES];     /* all mip levels, one after the other */
    uint32_t level_offset[TEXTURE_LEVELS];        /* of a mip level in a texture */
    double *inverse_depth_row;                    /* [width], of the row resolved last [1/m] */
    uint8_t *visible;                             /* [height][width], number of the visible panel or NO_PANEL */
};

/** Paint all textures. `scratch` is scratch memory: twice TEXTURE_SIZE^2 bytes. */
void synthetic_make_textures(synthetic_t *f, uint8_t *scratch);

/** Append all panels of the hall. */
void synthetic_make_scene(synthetic_t *f);

/** Append a panel. `texels_m` is the texture's resolution [texel/m]; the panel's offset in the texture is random. */
void synthetic_add_panel(synthetic_t *f, const double origin[3], const double u[3], const double v[3],
                         enum texture texture, double texels_m, int32_t shade_q8);

/** Append an upright box, rotated about z by `turns`: four sides and the top. `ends` are its bottom and top [m]. */
void synthetic_add_box(synthetic_t *f, const double centre[2], const double ends[2], const double size[2], double turns,
                       enum texture texture);

/** R_cam_imu of the standard flight: the camera looks forward and 12 degrees down. */
void synthetic_camera_axes(double R[9]);

/** Project one panel into a camera of pose R_world_cam, t_world_cam. */
void synthetic_project_panel(const synthetic_t *f, const struct panel *p, const double R[9], const double t[3],
                             struct projected_panel *view);

/** Project all panels into a camera, where camera 0 has the pose R_world_cam, t_world_cam: sets `projected`. */
void synthetic_project_panels(synthetic_t *f, const double R[9], const double t[3], int32_t camera);

/** Visible panel and inverse depth of every pixel of row y: sets inverse_depth_row and a row of `visible`. */
void synthetic_resolve_row(synthetic_t *f, int32_t y);

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/** Finaliser of SplitMix64, a counter-based random number: any bit of the key changes every bit of the result. */
static inline uint64_t synthetic_hash(uint64_t key)
{
    key += 0x9e3779b97f4a7c15u;
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9u;
    key = (key ^ key >> 27) * 0x94d049bb133111ebu;
    return key ^ key >> 31;
}

/** Uniform random number least..most, number `index` of stream `stream`. A pure function: the order of evaluation
 *  does not matter. */
static inline double uniform(int32_t stream, int32_t index, double min, double max)
{
    const uint64_t key = (uint64_t)(uint32_t)stream << 32 | (uint32_t)index;
    return min + (max - min) * ((double)(synthetic_hash(key) >> 11) * 0x1p-53);
}

/** Square root of 1e-6..1e9 by Newton's method. Independent of libm, so the pictures do not depend on a library. */
static inline double square_root(double v)
{
    double r = v > 1.0 ? v : 1.0;
    for (int i = 0; i < 40; i++) r = 0.5 * (r + v / r);
    return r;
}

static inline double round_down(double v)
{
    const double whole = (double)(int64_t)v;
    return whole > v ? whole - 1.0 : whole;
}

/** Sine of an angle [turn], by its series. */
static inline double sine(double turns)
{
    double r = turns - round_down(turns + 0.5); /* -1/2..1/2 */
    if (r > 0.25) r = 0.5 - r;
    if (r < -0.25) r = -0.5 - r;
    const double x = r * TWO_PI, q = x * x;
    double sum = 0.0;
    for (int k = 10; k >= 1; k--) sum = (1.0 + sum) * (-q / (double)((2 * k) * (2 * k + 1)));
    return x + x * sum;
}

static inline double cosine(double turns) { return sine(turns + 0.25); }

static inline double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static inline void cross(double out[3], const double a[3], const double b[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static inline void multiply(double out[9], const double a[9], const double b[9])
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] = a[3 * r] * b[c] + a[3 * r + 1] * b[3 + c] + a[3 * r + 2] * b[6 + c];
}

/** out = R^T v, for a row-major R. */
static inline void rotate_back(double out[3], const double R[9], const double v[3])
{
    for (int i = 0; i < 3; i++) out[i] = R[i] * v[0] + R[3 + i] * v[1] + R[6 + i] * v[2];
}

/** Value at a pixel. */
static inline double value_at(const struct linear *l, double x, double y)
{
    return x * l->k[0] + y * l->k[1] + l->k[2];
}

/** Inverse depth of a panel at a pixel [1/m], or 0 outside of the panel. */
static inline double inverse_depth_at(const struct projected_panel *v, double x, double y)
{
    const double inverse_depth = value_at(&v->inverse_depth, x, y), a = value_at(&v->a, x, y),
                 b = value_at(&v->b, x, y);
    return inverse_depth > 0.0 && a >= 0.0 && b >= 0.0 && a <= inverse_depth && b <= inverse_depth ? inverse_depth
                                                                                                   : 0.0;
}

#endif
