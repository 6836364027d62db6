/* SPDX-License-Identifier: MIT
 *
 * The hall is a list of panels: flat parallelograms with a texture. Seen by a camera, inverse depth and texture coordinates
 * over depth are linear in the pixel's coordinates, so a panel's part of a row is a span found by five divisions, what is
 * nearest is decided by comparing inverse depths, and disparity is exact. Texture is filtered along its footprint (halved
 * pictures, up to eight taps), pixels on the edge of a panel are made of 4 x 4 rays: without that, edges would flicker from
 * frame to frame and a tracker would be tested on stairs that no camera sees.
 */
#include "synthetic.h"

#include <stdlib.h>
#include <string.h>

#define TWO_PI 6.283185307179586
#define TEXTURE_LOG2 10
#define TEXTURE_SIZE (1 << TEXTURE_LOG2)
#define TEXTURE_LEVELS 8
#define TEXTURE_BYTES (TEXTURE_SIZE * TEXTURE_SIZE / 3 * 4 + TEXTURE_SIZE)
#define PANELS_MOST 250
#define NOTHING 255
#define BASELINE_M 0.11
#define START_NS 1000000000u
#define ROUND_NS ((uint64_t)SYNTHETIC_FRAME_NS * SYNTHETIC_ROUND_FRAMES)

enum texture { FLOOR, BRICK, CRATE, POSTER, TEXTURES };

/** What random numbers are drawn for; steps of noise and panels count on from theirs. */
enum {
    TILES,
    BRICKS,
    TILE_MARKS,
    BRICK_MARKS,
    CRATE_LEAVES,
    POSTER_SIGNS,
    POSTERS,
    RING,
    HEAP,
    BOARDS,
    NOISE,
    PANEL = 100
};

/** A flat parallelogram: origin + a u + b v for a, b in 0..1. */
struct panel {
    double origin[3], u[3], v[3]; /* world [m] */
    double start_s, start_t;      /* texture coordinates of the origin [texels] */
    double texels_u, texels_v;    /* texels along u and v */
    enum texture texture;
    int32_t shade_q8; /* how much light falls on it */
};

/** A linear function of the pixel: x k[0] + y k[1] + k[2]. */
struct linear {
    double k[3];
};

/** A panel as a camera sees it. Every value but `near` is still to be divided by `near`. */
struct view {
    struct linear near; /* 1 / depth [1/m] */
    struct linear a, b; /* coordinates within the panel, 0..1 */
    struct linear s, t; /* texture coordinates [texels] */
};

struct synthetic {
    int32_t width, height;
    double focal_px, cx_px, cy_px;
    int32_t panels;
    struct panel panel[PANELS_MOST];
    struct view view[PANELS_MOST];
    uint8_t texture[TEXTURES][TEXTURE_BYTES]; /* all levels, one after the other */
    uint32_t level_offset[TEXTURE_LEVELS];
    double *near_row; /* [width] */
    uint8_t *seen;    /* [height][width], number of a panel or NOTHING */
};

/* ---- numbers ----------------------------------------------------------------------------------------------------- */

/** Counter-based random numbers: any bit of the key changes every bit of the result (the finaliser of SplitMix64). */
static uint64_t scramble(uint64_t key)
{
    key += 0x9e3779b97f4a7c15u;
    key = (key ^ key >> 30) * 0xbf58476d1ce4e5b9u;
    key = (key ^ key >> 27) * 0x94d049bb133111ebu;
    return key ^ key >> 31;
}

/** Draw number `which` of thing number `thing`: a pure function, so that no order of evaluation matters. */
static double draw(int32_t thing, int32_t which, double least, double most)
{
    const uint64_t key = (uint64_t)(uint32_t)thing << 32 | (uint32_t)which;
    return least + (most - least) * ((double)(scramble(key) >> 11) * 0x1p-53);
}

/** Square root of 1e-6..1e9 by Newton's steps. Not libm's, so that no library has a say in the pictures. */
static double root(double v)
{
    double r = v > 1.0 ? v : 1.0;
    for (int i = 0; i < 40; i++) r = 0.5 * (r + v / r);
    return r;
}

static double round_down(double v)
{
    const double whole = (double)(int64_t)v;
    return whole > v ? whole - 1.0 : whole;
}

/** sin of an angle in turns. */
static double sine(double turns)
{
    double r = turns - round_down(turns + 0.5); /* -1/2..1/2 */
    if (r > 0.25) r = 0.5 - r;
    if (r < -0.25) r = -0.5 - r;
    const double x = r * TWO_PI, q = x * x;
    double sum = 0.0;
    for (int k = 10; k >= 1; k--) sum = (1.0 + sum) * (-q / (double)((2 * k) * (2 * k + 1)));
    return x + x * sum;
}

static double cosine(double turns) { return sine(turns + 0.25); }

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static void cross(double out[3], const double a[3], const double b[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

static void multiply(double out[9], const double a[9], const double b[9])
{
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] = a[3 * r] * b[c] + a[3 * r + 1] * b[3 + c] + a[3 * r + 2] * b[6 + c];
}

/** out = R^T v */
static void turn_back(double out[3], const double R[9], const double v[3])
{
    for (int i = 0; i < 3; i++) out[i] = R[i] * v[0] + R[3 + i] * v[1] + R[6 + i] * v[2];
}

/* ---- textures ---------------------------------------------------------------------------------------------------- */

/** Smooth noise, -1..1, that repeats with the texture: random values on a lattice, 1 << step_log2 texels apart, blended. */
static double noise(int32_t x, int32_t y, int step_log2)
{
    const int32_t cells = TEXTURE_SIZE >> step_log2, mask = (1 << step_log2) - 1;
    const int32_t cx = x >> step_log2, cy = y >> step_log2;
    double fx = (double)(x & mask) / (mask + 1), fy = (double)(y & mask) / (mask + 1), corner[4];
    fx = fx * fx * (3.0 - 2.0 * fx);
    fy = fy * fy * (3.0 - 2.0 * fy);
    for (int i = 0; i < 4; i++) {
        const int32_t u = (cx + (i & 1)) & (cells - 1), v = (cy + (i >> 1)) & (cells - 1);
        corner[i] = draw(NOISE + step_log2, v * cells + u, -1.0, 1.0);
    }
    const double top = corner[0] + fx * (corner[1] - corner[0]), bottom = corner[2] + fx * (corner[3] - corner[2]);
    return top + fy * (bottom - top);
}

static uint8_t grey_of(double v) { return (uint8_t)(v < 0.0 ? 0.0 : v > 255.0 ? 255.0 : v); }

static uint8_t *texel(uint8_t *texture, int32_t x, int32_t y)
{
    return &texture[(size_t)(y & (TEXTURE_SIZE - 1)) * TEXTURE_SIZE + (size_t)(x & (TEXTURE_SIZE - 1))];
}

/** Adds noise of three sizes. One tile of it is made, and laid at another place in each texture. */
static void roughen(uint8_t *texture, const int8_t *grain, int32_t shift, int32_t strength_q8)
{
    for (int32_t y = 0; y < TEXTURE_SIZE; y++)
        for (int32_t x = 0; x < TEXTURE_SIZE; x++) {
            uint8_t *at = texel(texture, x, y);
            const int8_t g = grain[(size_t)((y + shift) & (TEXTURE_SIZE - 1)) * TEXTURE_SIZE +
                                   (size_t)((x + 3 * shift) & (TEXTURE_SIZE - 1))];
            const int32_t v = *at + g * strength_q8 / 256;
            *at = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
        }
}

static void make_grain(int8_t *grain)
{
    for (int32_t y = 0; y < TEXTURE_SIZE; y++)
        for (int32_t x = 0; x < TEXTURE_SIZE; x++)
            *grain++ = (int8_t)(50.0 * noise(x, y, 6) + 36.0 * noise(x, y, 3) + 30.0 * noise(x, y, 1));
}

/** A filled rectangle, turned: centre, half sides [texels], angle. */
static void paint_leaf(uint8_t *texture, const double centre[2], const double half[2], double turns, uint8_t grey)
{
    const double c = cosine(turns), s = sine(turns);
    const double reach = root(half[0] * half[0] + half[1] * half[1]);
    const int32_t r = (int32_t)reach + 1, x0 = (int32_t)centre[0], y0 = (int32_t)centre[1];
    for (int32_t y = y0 - r; y <= y0 + r; y++)
        for (int32_t x = x0 - r; x <= x0 + r; x++) {
            const double dx = x - centre[0], dy = y - centre[1];
            const double u = c * dx + s * dy, v = c * dy - s * dx;
            if (u > -half[0] && u < half[0] && v > -half[1] && v < half[1]) *texel(texture, x, y) = grey;
        }
}

/** Leaves fall on leaves: rectangles whose number falls with the cube of their size look alike at every scale, as pictures
 *  of the world do. A share of them, `square`, lies square. Sizes [texels] and greys are from..to. */
static void paint_leaves(uint8_t *texture, int32_t thing, int32_t count, const double size[2], double square,
                         const double grey[2])
{
    const double ratio = size[0] / size[1];
    for (int32_t i = 0; i < count; i++) {
        const double side = size[0] / root(1.0 - draw(thing, 8 * i, 0, 1) * (1.0 - ratio * ratio));
        const double centre[2] = {draw(thing, 8 * i + 1, 0, TEXTURE_SIZE), draw(thing, 8 * i + 2, 0, TEXTURE_SIZE)};
        const double half[2] = {0.5 * side, 0.5 * side * draw(thing, 8 * i + 3, 0.3, 1.0)};
        const double turns = draw(thing, 8 * i + 4, 0, 1) < square ? 0.0 : draw(thing, 8 * i + 5, 0, 1);
        paint_leaf(texture, centre, half, turns, grey_of(draw(thing, 8 * i + 6, grey[0], grey[1])));
    }
}

/** Rows of bricks or tiles with joints, each of its own grey; every second row is shifted. */
static void paint_bricks(uint8_t *texture, int32_t thing, const int32_t size[2], int32_t joint, const double grey[2])
{
    for (int32_t y = 0; y < TEXTURE_SIZE; y++)
        for (int32_t x = 0; x < TEXTURE_SIZE; x++) {
            const int32_t row = y / size[1], shifted = (x + (row & 1) * size[0] / 2) & (TEXTURE_SIZE - 1);
            const int32_t column = shifted / size[0];
            const int in_joint = y % size[1] < joint || shifted % size[0] < joint;
            const int32_t number = row * TEXTURE_SIZE + column;
            *texel(texture, x, y) = grey_of(in_joint ? 0.6 * grey[0] : draw(thing, number, grey[0], grey[1]));
        }
}

/** Weights 1 2 1 both ways: no edge is sharper than a picture of it could be. */
static void soften(uint8_t *texture, uint8_t *copy)
{
    memcpy(copy, texture, (size_t)TEXTURE_SIZE * TEXTURE_SIZE);
    for (int32_t y = 0; y < TEXTURE_SIZE; y++)
        for (int32_t x = 0; x < TEXTURE_SIZE; x++) {
            int32_t sum = 8;
            for (int dy = -1; dy <= 1; dy++)
                for (int dx = -1; dx <= 1; dx++) sum += (2 - dx * dx) * (2 - dy * dy) * *texel(copy, x + dx, y + dy);
            *texel(texture, x, y) = (uint8_t)(sum >> 4);
        }
}

static void halve_levels(uint8_t *texture, const uint32_t offset[TEXTURE_LEVELS])
{
    for (int level = 1; level < TEXTURE_LEVELS; level++) {
        const uint8_t *from = texture + offset[level - 1];
        uint8_t *to = texture + offset[level];
        const size_t size = (size_t)TEXTURE_SIZE >> level;
        for (size_t y = 0; y < size; y++)
            for (size_t x = 0; x < size; x++) {
                const uint8_t *f = &from[2 * y * 2 * size + 2 * x];
                to[y * size + x] = (uint8_t)((f[0] + f[1] + f[2 * size] + f[2 * size + 1] + 2) >> 2);
            }
    }
}

/** `spare` is TEXTURE_SIZE^2 bytes of scratch memory twice. */
static void make_textures(synthetic_t *f, uint8_t *spare)
{
    static const double stain[2] = {10, 90}, leaf[2] = {14, 320}, sign[2] = {22, 260};
    static const double floor_grey[2] = {105, 150}, brick_grey[2] = {95, 165}, mark_grey[2] = {50, 220};
    static const double leaf_grey[2] = {25, 230}, sign_grey[2] = {15, 245};
    static const int32_t tile[2] = {128, 128}, brick[2] = {64, 32};
    int8_t *grain = (int8_t *)spare;
    make_grain(grain);

    paint_bricks(f->texture[FLOOR], TILES, tile, 3, floor_grey);
    paint_leaves(f->texture[FLOOR], TILE_MARKS, 700, stain, 0.3, mark_grey);
    roughen(f->texture[FLOOR], grain, 0, 110);
    paint_bricks(f->texture[BRICK], BRICKS, brick, 4, brick_grey);
    paint_leaves(f->texture[BRICK], BRICK_MARKS, 60, stain, 1.0, mark_grey);
    roughen(f->texture[BRICK], grain, 301, 100);
    paint_leaves(f->texture[CRATE], CRATE_LEAVES, 5200, leaf, 0.4, leaf_grey);
    roughen(f->texture[CRATE], grain, 502, 90);
    memset(f->texture[POSTER], 215, (size_t)TEXTURE_SIZE * TEXTURE_SIZE);
    paint_leaves(f->texture[POSTER], POSTER_SIGNS, 900, sign, 0.7, sign_grey);
    roughen(f->texture[POSTER], grain, 703, 30);

    for (int i = 0; i < TEXTURES; i++) {
        soften(f->texture[i], spare + (size_t)TEXTURE_SIZE * TEXTURE_SIZE);
        halve_levels(f->texture[i], f->level_offset);
    }
}

/* ---- the hall ---------------------------------------------------------------------------------------------------- */

/** Adds a panel; `texels_m` is the texture's resolution [texels/m], its place in the texture is drawn. */
static void add_panel(synthetic_t *f, const double origin[3], const double u[3], const double v[3],
                      enum texture texture, double texels_m, int32_t shade_q8)
{
    struct panel *p = &f->panel[f->panels];
    memcpy(p->origin, origin, sizeof p->origin);
    memcpy(p->u, u, sizeof p->u);
    memcpy(p->v, v, sizeof p->v);
    p->texels_u = root(dot(u, u)) * texels_m;
    p->texels_v = root(dot(v, v)) * texels_m;
    p->start_s = draw(PANEL + f->panels, 0, TEXTURE_SIZE, 2 * TEXTURE_SIZE); /* so that coordinates stay above 0 */
    p->start_t = draw(PANEL + f->panels, 1, TEXTURE_SIZE, 2 * TEXTURE_SIZE);
    p->texture = texture;
    p->shade_q8 = shade_q8;
    f->panels++;
}

/** A box that stands upright, turned about z: four sides and the top. `ends` are its bottom and top [m]. */
static void add_box(synthetic_t *f, const double centre[2], const double ends[2], const double size[2], double turns,
                    enum texture texture)
{
    static const int32_t shade_q8[4] = {176, 236, 208, 148};
    const double c = cosine(turns), s = sine(turns);
    const double u[3] = {c * size[0], s * size[0], 0}, v[3] = {-s * size[1], c * size[1], 0};
    const double down[3] = {0, 0, ends[0] - ends[1]};
    const double o[3] = {centre[0] - 0.5 * (u[0] + v[0]), centre[1] - 0.5 * (u[1] + v[1]), ends[1]};
    const double far_u[3] = {o[0] + u[0], o[1] + u[1], o[2]}, far_v[3] = {o[0] + v[0], o[1] + v[1], o[2]};
    add_panel(f, o, u, down, texture, 260, shade_q8[0]);
    add_panel(f, far_u, v, down, texture, 260, shade_q8[1]);
    add_panel(f, far_v, u, down, texture, 260, shade_q8[2]);
    add_panel(f, o, v, down, texture, 260, shade_q8[3]);
    add_panel(f, o, u, v, texture, 260, 262);
}

static void add_room(synthetic_t *f, double half_m, double height_m)
{
    const double h = half_m, size = 2.0 * half_m;
    const double corner[4][3] = {{-h, -h, height_m}, {h, -h, height_m}, {h, h, height_m}, {-h, h, height_m}};
    const double along[4][3] = {{size, 0, 0}, {0, size, 0}, {-size, 0, 0}, {0, -size, 0}};
    const double down[3] = {0, 0, -height_m}, low[3] = {-h, -h, 0}, high[3] = {-h, -h, height_m};
    static const int32_t shade_q8[4] = {200, 240, 216, 176};
    add_panel(f, low, along[0], along[1], FLOOR, 190, 250);
    add_panel(f, high, along[0], along[1], BRICK, 90, 130);
    for (int i = 0; i < 4; i++) add_panel(f, corner[i], along[i], down, BRICK, 170, shade_q8[i]);
}

/** Posters hang 2 cm before the walls of the room. */
static void add_posters(synthetic_t *f, double half_m)
{
    for (int32_t i = 0; i < 20; i++) {
        const double along = -half_m + (i / 4 + 0.15) * half_m * 0.4 + draw(POSTERS, 4 * i, 0, 1);
        const double top = draw(POSTERS, 4 * i + 1, 2.2, 4.6), wide = draw(POSTERS, 4 * i + 2, 0.8, 2.0);
        const double side = i & 1 ? half_m - 0.02 : 0.02 - half_m,
                     down[3] = {0, 0, -draw(POSTERS, 4 * i + 3, 0.7, 1.8)};
        const double on_x[3] = {side, along, top}, on_y[3] = {along, side, top};
        const double u_x[3] = {0, wide, 0}, u_y[3] = {wide, 0, 0};
        add_panel(f, i & 2 ? on_x : on_y, i & 2 ? u_x : u_y, down, i % 5 ? POSTER : CRATE, 220, 240);
    }
}

/** Crates around the path; every third carries a smaller one. */
static void add_ring(synthetic_t *f)
{
    for (int32_t i = 0; i < 13; i++) {
        const int32_t n = 8 * i;
        const double turns = (i + draw(RING, n, 0, 0.5)) / 13.0, radius = draw(RING, n + 1, 6.0, 8.3);
        const double centre[2] = {radius * cosine(turns), radius * sine(turns)}, yaw = draw(RING, n + 2, 0, 1);
        const double size[2] = {draw(RING, n + 3, 0.7, 1.7), draw(RING, n + 4, 0.6, 1.4)};
        const double ends[2] = {0, draw(RING, n + 5, 0.5, 2.4)};
        add_box(f, centre, ends, size, yaw, i % 3 ? CRATE : POSTER);
        if (i % 3) continue;
        const double smaller[2] = {0.6 * size[0], 0.7 * size[1]};
        const double above[2] = {ends[1], ends[1] + draw(RING, n + 6, 0.4, 0.9)};
        add_box(f, centre, above, smaller, yaw + 0.06, CRATE);
    }
}

static void add_pillars(synthetic_t *f)
{
    static const double ends[2] = {0, 6}, size[2] = {0.35, 0.35};
    for (int32_t i = 0; i < 5; i++) {
        const double turns = i / 5.0 + 0.13, radius = i & 1 ? 6.1 : 2.3;
        const double centre[2] = {radius * cosine(turns), radius * sine(turns)};
        add_box(f, centre, ends, size, 0.07 * i, BRICK);
    }
}

/** Crates within the circle. */
static void add_heap(synthetic_t *f)
{
    for (int32_t i = 0; i < 6; i++) {
        const int32_t n = 8 * i;
        const double turns = i / 6.0, radius = draw(HEAP, n, 0.6, 2.1);
        const double centre[2] = {radius * cosine(turns), radius * sine(turns)};
        const double size[2] = {draw(HEAP, n + 1, 0.5, 1.0), draw(HEAP, n + 2, 0.5, 1.0)};
        const double ends[2] = {0, draw(HEAP, n + 3, 0.4, 1.7)};
        add_box(f, centre, ends, size, draw(HEAP, n + 4, 0, 1), CRATE);
    }
}

/** Boards that hang askew above the ring. */
static void add_boards(synthetic_t *f)
{
    for (int32_t i = 0; i < 9; i++) {
        const int32_t n = 8 * i;
        const double turns = (i + 0.5) / 9.0, yaw = turns + draw(BOARDS, n + 1, 0.15, 0.35);
        const double radius = draw(BOARDS, n, 5.6, 7.5);
        const double origin[3] = {radius * cosine(turns), radius * sine(turns), draw(BOARDS, n + 2, 3.0, 4.8)};
        const double u[3] = {1.4 * cosine(yaw), 1.4 * sine(yaw), draw(BOARDS, n + 3, -0.3, 0.3)};
        const double v[3] = {draw(BOARDS, n + 4, -0.4, 0.4), draw(BOARDS, n + 5, -0.4, 0.4), -1.0};
        add_panel(f, origin, u, v, POSTER, 240, 225);
    }
}

/* ---- the flight -------------------------------------------------------------------------------------------------- */

/** A part of a motion that repeats with the round: amplitude * sin(cycles * phase + start), angles in turns. */
struct wave {
    double amplitude, cycles, start;
};

/** Place [m] and attitude [turns] as sums of waves; one round of yaw comes on top. Cycles are whole numbers. */
static const struct wave motion[6][4] = {
    {{4.1, 1, 0.25}, {0.22, 5, 0.1}, {0.10, 9, 0.7}, {0.02, 31, 0.2}},     /* x */
    {{4.1, 1, 0.0}, {0.25, 4, 0.6}, {0.09, 8, 0.3}, {0.02, 29, 0.5}},      /* y */
    {{0.35, 3, 0.4}, {0.18, 7, 0.2}, {0.05, 13, 0.9}, {0.015, 37, 0.1}},   /* z */
    {{0.016, 4, 0.8}, {0.012, 9, 0.1}, {0.005, 17, 0.4}, {0.0012, 43, 0}}, /* roll */
    {{0.012, 3, 0.3}, {0.010, 8, 0.6}, {0.005, 19, 0.2}, {0.0010, 47, 0}}, /* pitch, nose down */
    {{0.030, 2, 0.1}, {0.022, 5, 0.7}, {0.006, 15, 0.5}, {0.0015, 41, 0}}, /* yaw */
};
static const double height_m = 1.9;

/** The share of the round that is over, 0..1. */
static double phase_at(uint64_t t_ns) { return (double)((t_ns + ROUND_NS - START_NS) % ROUND_NS) / (double)ROUND_NS; }

static double wave_value(const struct wave wave[4], double phase)
{
    double sum = 0.0;
    for (int i = 0; i < 4; i++) sum += wave[i].amplitude * sine(wave[i].cycles * phase + wave[i].start);
    return sum;
}

/** Change of a sum of waves in one second. */
static double wave_rate(const struct wave wave[4], double phase)
{
    double sum = 0.0;
    for (int i = 0; i < 4; i++)
        sum += wave[i].amplitude * wave[i].cycles * cosine(wave[i].cycles * phase + wave[i].start);
    return sum * TWO_PI / ((double)ROUND_NS * 1e-9);
}

/** Roll, pitch, yaw [turns]. The nose points along the circle, a quarter turn before its radius. */
static void attitude_at(double angle[3], double phase)
{
    for (int i = 0; i < 3; i++) angle[i] = wave_value(motion[3 + i], phase);
    angle[2] += phase + 0.25;
}

/** R_cam_imu: the camera looks forward and 12 degrees down. */
static void camera_axes(double R[9])
{
    const double tilt = 12.0 / 360.0, c = cosine(tilt), s = sine(tilt);
    const double out[9] = {0, -1, 0, -s, 0, -c, c, 0, -s};
    memcpy(R, out, sizeof out);
}

static void pose_at(uint64_t t_ns, double R_world_cam[9], double t_world_cam[3])
{
    const double phase = phase_at(t_ns);
    double angle[3], R_world_imu[9], R_cam_imu[9];
    attitude_at(angle, phase);
    const double cr = cosine(angle[0]), sr = sine(angle[0]), cp = cosine(angle[1]), sp = sine(angle[1]);
    const double cy = cosine(angle[2]), sy = sine(angle[2]);
    const double R[9] = {cy * cp,
                         cy * sp * sr - sy * cr,
                         cy * sp * cr + sy * sr,
                         sy * cp,
                         sy * sp * sr + cy * cr,
                         sy * sp * cr - cy * sr,
                         -sp,
                         cp * sr,
                         cp * cr};
    memcpy(R_world_imu, R, sizeof R);
    camera_axes(R_cam_imu);
    double R_imu_cam[9];
    for (int i = 0; i < 9; i++) R_imu_cam[i] = R_cam_imu[i % 3 * 3 + i / 3];
    multiply(R_world_cam, R_world_imu, R_imu_cam);
    for (int i = 0; i < 3; i++) t_world_cam[i] = wave_value(motion[i], phase) + (i == 2 ? height_m : 0.0);
}

/** Angular rate in IMU axes: what turning about z, then y, then x adds up to. */
static void rate_at(uint64_t t_ns, double rate_rad_s[3])
{
    const double phase = phase_at(t_ns);
    double angle[3], rate[3];
    attitude_at(angle, phase);
    for (int i = 0; i < 3; i++) rate[i] = wave_rate(motion[3 + i], phase) * TWO_PI;
    rate[2] += TWO_PI / ((double)ROUND_NS * 1e-9);
    const double cr = cosine(angle[0]), sr = sine(angle[0]), cp = cosine(angle[1]), sp = sine(angle[1]);
    rate_rad_s[0] = rate[0] - rate[2] * sp;
    rate_rad_s[1] = rate[1] * cr + rate[2] * sr * cp;
    rate_rad_s[2] = rate[2] * cr * cp - rate[1] * sr;
}

uint64_t synthetic_time_ns(uint32_t frame) { return START_NS + (uint64_t)frame * SYNTHETIC_FRAME_NS; }

double synthetic_baseline_m(void) { return BASELINE_M; }

void synthetic_pose(uint32_t frame, double R_world_cam[9], double t_world_cam[3])
{
    pose_at(synthetic_time_ns(frame), R_world_cam, t_world_cam);
}

void synthetic_rotation(uint32_t frame, double R_cur_prev[9])
{
    double prev[9], cur[9], cur_back[9], t[3];
    synthetic_pose(frame ? frame - 1 : 0, prev, t);
    synthetic_pose(frame, cur, t);
    for (int i = 0; i < 9; i++) cur_back[i] = cur[i % 3 * 3 + i / 3];
    multiply(R_cur_prev, cur_back, prev);
}

uint32_t synthetic_gyro(uint64_t from_ns, uint64_t to_ns, vfront_gyro_t *gyro, uint32_t most)
{
    uint32_t count = 0;
    for (uint64_t t_ns = from_ns / SYNTHETIC_GYRO_NS * SYNTHETIC_GYRO_NS; count < most; t_ns += SYNTHETIC_GYRO_NS) {
        gyro[count].t_ns = t_ns;
        rate_at(t_ns, gyro[count].rate_rad_s);
        count++;
        if (t_ns >= to_ns) break;
    }
    return count;
}

void synthetic_light(uint32_t frame, int32_t camera, double *gain, double *offset_grey)
{
    const double phase = phase_at(synthetic_time_ns(frame));
    *gain = (1.0 + 0.13 * sine(4.0 * phase)) * (camera ? 0.96 : 1.0);
    *offset_grey = 4.0 + 6.0 * sine(3.0 * phase + 0.2) - (camera ? 2.0 : 0.0);
}

/* ---- what a camera sees ------------------------------------------------------------------------------------------ */

static double value_at(const struct linear *l, double x, double y) { return x * l->k[0] + y * l->k[1] + l->k[2]; }

/** A linear function of the ray (x, y, 1) becomes one of the pixel. */
static void of_pixel(const synthetic_t *f, struct linear *l, const double of_ray[3])
{
    l->k[0] = of_ray[0] / f->focal_px;
    l->k[1] = of_ray[1] / f->focal_px;
    l->k[2] = of_ray[2] - l->k[0] * f->cx_px - l->k[1] * f->cy_px;
}

static void mix(struct linear *out, const struct linear *a, double by, const struct linear *b, double with)
{
    for (int i = 0; i < 3; i++) out->k[i] = a->k[i] * by + b->k[i] * with;
}

/**
 * A panel as seen from a place t. With O, U, V in camera axes and a ray d, O + a U + b V = depth d; over depth,
 * (a, b, 1) / depth = inverse([U V O]) d.
 */
static void see_panel(const synthetic_t *f, const struct panel *p, const double R[9], const double t[3],
                      struct view *view)
{
    const double away[3] = {p->origin[0] - t[0], p->origin[1] - t[1], p->origin[2] - t[2]};
    double o[3], u[3], v[3], row[3][3];
    turn_back(o, R, away);
    turn_back(u, R, p->u);
    turn_back(v, R, p->v);
    cross(row[0], v, o);
    cross(row[1], o, u);
    cross(row[2], u, v);
    const double det = dot(u, row[0]);
    memset(view, 0, sizeof *view);
    if (det < 1e-9 && det > -1e-9) return; /* edge on: nothing of it is seen, and near stays 0 */
    for (int r = 0; r < 3; r++)
        for (int i = 0; i < 3; i++) row[r][i] /= det;
    of_pixel(f, &view->a, row[0]);
    of_pixel(f, &view->b, row[1]);
    of_pixel(f, &view->near, row[2]);
    mix(&view->s, &view->a, p->texels_u, &view->near, p->start_s);
    mix(&view->t, &view->b, p->texels_v, &view->near, p->start_t);
}

static void see_panels(synthetic_t *f, uint32_t frame, int32_t camera)
{
    double R[9], t[3];
    synthetic_pose(frame, R, t);
    for (int i = 0; camera && i < 3; i++) t[i] += R[3 * i] * BASELINE_M;
    for (int32_t i = 0; i < f->panels; i++) see_panel(f, &f->panel[i], R, t, &f->view[i]);
}

/** 1 / depth of a panel at a pixel, or 0 where it is not. */
static double near_at(const struct view *v, double x, double y)
{
    const double near = value_at(&v->near, x, y), a = value_at(&v->a, x, y), b = value_at(&v->b, x, y);
    return near > 0.0 && a >= 0.0 && b >= 0.0 && a <= near && b <= near ? near : 0.0;
}

/** Narrows x in span[0]..span[1] to where slope x + start >= 0. */
static void narrow(double span[2], double slope, double start)
{
    if (slope > 0.0) {
        const double x = -start / slope;
        if (x > span[0]) span[0] = x;
    } else if (slope < 0.0) {
        const double x = -start / slope;
        if (x < span[1]) span[1] = x;
    } else if (start < 0.0) {
        span[1] = -1.0;
    }
}

/** The pixels of row y within a panel: first..last, none when last < first. */
static void span_of(const synthetic_t *f, const struct view *v, int32_t y, int32_t *first, int32_t *last)
{
    const struct linear *n = &v->near, *a = &v->a, *b = &v->b;
    const double near = y * n->k[1] + n->k[2], at_a = y * a->k[1] + a->k[2], at_b = y * b->k[1] + b->k[2];
    double span[2] = {0.0, f->width - 1.0};
    narrow(span, n->k[0], near);
    narrow(span, a->k[0], at_a);
    narrow(span, b->k[0], at_b);
    narrow(span, n->k[0] - a->k[0], near - at_a);
    narrow(span, n->k[0] - b->k[0], near - at_b);
    *first = 0;
    *last = -1;
    if (!(span[0] <= span[1])) return;
    *first = (int32_t)span[0] + ((double)(int32_t)span[0] < span[0]);
    *last = (int32_t)span[1];
}

/** Which panel is nearest at every pixel of a row, and how near. */
static void see_row(synthetic_t *f, int32_t y)
{
    uint8_t *seen = f->seen + (size_t)y * (size_t)f->width;
    memset(seen, NOTHING, (size_t)f->width);
    for (int32_t x = 0; x < f->width; x++) f->near_row[x] = 0.0;
    for (int32_t i = 0; i < f->panels; i++) {
        const struct linear *n = &f->view[i].near;
        const double at_row = y * n->k[1] + n->k[2];
        int32_t first, last;
        span_of(f, &f->view[i], y, &first, &last);
        for (int32_t x = first; x <= last; x++) {
            const double near = x * n->k[0] + at_row;
            if (!(near > f->near_row[x])) continue;
            f->near_row[x] = near;
            seen[x] = (uint8_t)i;
        }
    }
}

/* ---- light ------------------------------------------------------------------------------------------------------- */

/** Texture at a place given in 1/65536 texels of level 0, blended between four texels. Grey levels * 256. */
static int32_t sample_level(const synthetic_t *f, enum texture texture, int level, int32_t s_q16, int32_t t_q16)
{
    const uint8_t *grey = f->texture[texture] + f->level_offset[level];
    const int32_t mask = (TEXTURE_SIZE >> level) - 1;
    const int32_t s = (s_q16 >> level) - 32768, t = (t_q16 >> level) - 32768; /* a texel's centre is half a texel in */
    const int32_t x0 = (s >> 16) & mask, x1 = (x0 + 1) & mask, y0 = (t >> 16) & mask, y1 = (y0 + 1) & mask;
    const int32_t wx = (s >> 8) & 255, wy = (t >> 8) & 255;
    const uint8_t *top = grey + (size_t)y0 * (size_t)(mask + 1), *bottom = grey + (size_t)y1 * (size_t)(mask + 1);
    const int32_t upper = top[x0] * (256 - wx) + top[x1] * wx, lower = bottom[x0] * (256 - wx) + bottom[x1] * wx;
    return (upper * (256 - wy) + lower * wy) >> 8;
}

static int32_t sample(const synthetic_t *f, enum texture texture, int32_t level_q8, int32_t s_q16, int32_t t_q16)
{
    const int level = level_q8 >> 8;
    const int32_t blend = level_q8 & 255;
    const int32_t fine = sample_level(f, texture, level, s_q16, t_q16);
    if (!blend) return fine;
    return fine + ((sample_level(f, texture, level + 1, s_q16, t_q16) - fine) * blend >> 8);
}

/** log2 of the square root of v, times 256, from the bits of v: exact at powers of two, straight between. Not below 0. */
static int32_t half_log2_q8(double v)
{
    if (!(v > 1.0)) return 0;
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    const int32_t level_q8 = (int32_t)((int64_t)(bits >> 44) - (1023 << 8)) >> 1;
    const int32_t most = (TEXTURE_LEVELS - 1) << 8;
    return level_q8 < most ? level_q8 : most;
}

/** A texture coordinate [texels] in 1/65536; bounded, since beside its panel it may be anything. */
static int32_t texels_q16(double v) { return (int32_t)((!(v > 256.0) ? 256.0 : v > 32000.0 ? 32000.0 : v) * 65536.0); }

/**
 * Light that a panel sends to a place in the picture, grey levels * 256. `pixel` is the side of the area that counts [px].
 * Its footprint on the texture is long where the panel is seen askew: as wide as the level, covered by samples along it.
 */
static int32_t light_of(const synthetic_t *f, int32_t panel, double x, double y, double pixel)
{
    const struct view *v = &f->view[panel];
    const struct panel *p = &f->panel[panel];
    const double depth = 1.0 / value_at(&v->near, x, y), by = depth * pixel;
    const double s = value_at(&v->s, x, y) * depth, t = value_at(&v->t, x, y) * depth;
    double along[2] = {(v->s.k[0] - s * v->near.k[0]) * by, (v->t.k[0] - t * v->near.k[0]) * by};
    double askew[2] = {(v->s.k[1] - s * v->near.k[1]) * by, (v->t.k[1] - t * v->near.k[1]) * by};
    double longer = along[0] * along[0] + along[1] * along[1], shorter = askew[0] * askew[0] + askew[1] * askew[1];
    if (shorter > longer) {
        const double swap = longer;
        longer = shorter;
        shorter = swap;
        memcpy(along, askew, sizeof along);
    }
    const double wide = shorter > longer / 64.0 ? shorter : longer / 64.0;
    const int32_t level_q8 = half_log2_q8(wide);
    int taps = 1;
    while (taps < 8 && longer > (double)(taps * taps) * (wide > 1.0 ? wide : 1.0)) taps++;
    int32_t sum = 0;
    for (int i = 0; i < taps; i++) {
        const double shift = (i + 0.5) / taps - 0.5;
        sum += sample(f, p->texture, level_q8, texels_q16(s + along[0] * shift), texels_q16(t + along[1] * shift));
    }
    return sum / taps * p->shade_q8 >> 8;
}

/** The panels at a pixel and its eight neighbours, each once. */
static int panels_around(const synthetic_t *f, int32_t x, int32_t y, int32_t found[9])
{
    int count = 0;
    for (int32_t v = y > 0 ? y - 1 : 0; v <= y + 1 && v < f->height; v++)
        for (int32_t u = x > 0 ? x - 1 : 0; u <= x + 1 && u < f->width; u++) {
            const int32_t panel = f->seen[(size_t)v * (size_t)f->width + (size_t)u];
            int i = 0;
            while (i < count && found[i] != panel) i++;
            if (i == count) found[count++] = panel;
        }
    return count;
}

/** Whether a pixel's panel is not that of all four neighbours. */
static int on_edge(const synthetic_t *f, int32_t x, int32_t y)
{
    const uint8_t *at = f->seen + (size_t)y * (size_t)f->width + (size_t)x;
    return (x > 0 && at[-1] != at[0]) || (x + 1 < f->width && at[1] != at[0]) || (y > 0 && at[-f->width] != at[0]) ||
           (y + 1 < f->height && at[f->width] != at[0]);
}

/** Mean light of 4 x 4 rays through a pixel on an edge. */
static int32_t light_on_edge(const synthetic_t *f, int32_t x, int32_t y)
{
    int32_t around[9], sum = 0;
    const int count = panels_around(f, x, y, around);
    for (int i = 0; i < 16; i++) {
        const double u = x + ((i & 3) - 1.5) * 0.25, v = y + ((i >> 2) - 1.5) * 0.25;
        double nearest = 0.0;
        int32_t panel = NOTHING;
        for (int k = 0; k < count; k++) {
            const double near = around[k] == NOTHING ? 0.0 : near_at(&f->view[around[k]], u, v);
            if (!(near > nearest)) continue;
            nearest = near;
            panel = around[k];
        }
        if (panel == NOTHING) panel = f->seen[(size_t)y * (size_t)f->width + (size_t)x]; /* just past an outer edge */
        if (panel != NOTHING) sum += light_of(f, panel, u, v, 0.25);
    }
    return sum / 16;
}

/** Noise of two neighbouring pixels, grey levels * 256, about normal with a deviation of 1.3 grey levels. */
static void noise_of_pair(uint64_t key, int32_t noise_q8[2])
{
    const uint64_t r = scramble(key);
    for (int i = 0; i < 2; i++) {
        const uint32_t four = (uint32_t)(r >> 32 * i);
        const int32_t sum = (int32_t)((four & 255) + (four >> 8 & 255) + (four >> 16 & 255) + (four >> 24));
        noise_q8[i] = (sum - 510) * 9 / 4;
    }
}

static void render_row(const synthetic_t *f, int32_t y, uint64_t key, const int32_t exposure_q8[2], uint8_t *row)
{
    const uint8_t *seen = f->seen + (size_t)y * (size_t)f->width;
    int32_t noise_q8[2] = {0, 0};
    for (int32_t x = 0; x < f->width; x++) {
        if (x % 2 == 0) noise_of_pair(key + (uint64_t)y * 4096 + (uint64_t)x, noise_q8);
        const int32_t light_q8 = on_edge(f, x, y)     ? light_on_edge(f, x, y)
                                 : seen[x] == NOTHING ? 0
                                                      : light_of(f, seen[x], x, y, 1.0);
        const int32_t grey_q8 = light_q8 * exposure_q8[0] / 4096 + exposure_q8[1] + noise_q8[x % 2] + 128;
        row[x] = (uint8_t)(grey_q8 < 0 ? 0 : grey_q8 > 65535 ? 255 : grey_q8 >> 8);
    }
}

void synthetic_render(synthetic_t *f, uint32_t frame, int32_t camera, uint8_t *pixels, size_t pitch_bytes)
{
    double gain, offset_grey;
    synthetic_light(frame, camera, &gain, &offset_grey);
    const int32_t exposure[2] = {(int32_t)(gain * 4096.0), (int32_t)(offset_grey * 256.0)};
    see_panels(f, frame, camera);
    for (int32_t y = 0; y < f->height; y++) see_row(f, y);
    const uint64_t key = scramble((uint64_t)frame * SYNTHETIC_CAMERAS + (uint64_t)camera);
    for (int32_t y = 0; y < f->height; y++) render_row(f, y, key, exposure, pixels + (size_t)y * pitch_bytes);
}

void synthetic_disparity(synthetic_t *f, uint32_t frame, float *disparity_px, size_t pitch_px)
{
    see_panels(f, frame, 0);
    for (int32_t y = 0; y < f->height; y++) {
        see_row(f, y);
        for (int32_t x = 0; x < f->width; x++)
            disparity_px[(size_t)y * pitch_px + (size_t)x] = (float)(f->near_row[x] * (f->focal_px * BASELINE_M));
    }
}

/** 1 / depth of what camera 0 sees at a place in the picture of a pose, 0 for nothing. */
static double nearest_at(const synthetic_t *f, const double R[9], const double t[3], const double at_px[2])
{
    double nearest = 0.0;
    for (int32_t i = 0; i < f->panels; i++) {
        struct view view;
        see_panel(f, &f->panel[i], R, t, &view);
        const double near = near_at(&view, at_px[0], at_px[1]);
        if (near > nearest) nearest = near;
    }
    return nearest;
}

int synthetic_follow(const synthetic_t *f, uint32_t from, const double from_px[2], uint32_t to, double to_px[2])
{
    double R[9], t[3], there[3], seen[3];
    synthetic_pose(from, R, t);
    const double near = nearest_at(f, R, t, from_px);
    if (!(near > 0.0)) return 0;
    const double ray[3] = {(from_px[0] - f->cx_px) / f->focal_px, (from_px[1] - f->cy_px) / f->focal_px, 1.0};
    for (int i = 0; i < 3; i++) there[i] = t[i] + dot(&R[3 * i], ray) / near;

    synthetic_pose(to, R, t);
    for (int i = 0; i < 3; i++) there[i] -= t[i];
    turn_back(seen, R, there);
    if (!(seen[2] > 0.01)) return 0;
    to_px[0] = f->focal_px * seen[0] / seen[2] + f->cx_px;
    to_px[1] = f->focal_px * seen[1] / seen[2] + f->cy_px;
    if (to_px[0] < 0.0 || to_px[1] < 0.0 || to_px[0] > f->width - 1.0 || to_px[1] > f->height - 1.0) return 0;
    return nearest_at(f, R, t, to_px) * seen[2] < 1.0 + 1e-6;
}

/* ---- open and close ---------------------------------------------------------------------------------------------- */

synthetic_t *synthetic_open(int32_t width_px, int32_t height_px)
{
    if (width_px < 16 || height_px < 16 || width_px > 4096 || height_px > 4096) return NULL;
    synthetic_t *f = calloc(1, sizeof *f);
    uint8_t *spare = malloc((size_t)TEXTURE_SIZE * TEXTURE_SIZE * 2);
    if (f) f->near_row = malloc((size_t)width_px * sizeof *f->near_row);
    if (f) f->seen = malloc((size_t)width_px * (size_t)height_px);
    if (!f || !spare || !f->near_row || !f->seen) {
        free(spare);
        synthetic_close(f);
        return NULL;
    }
    f->width = width_px;
    f->height = height_px;
    f->focal_px = 0.61 * width_px;
    f->cx_px = 0.5 * width_px - 3.25;
    f->cy_px = 0.5 * height_px + 2.5;
    for (int i = 1; i < TEXTURE_LEVELS; i++)
        f->level_offset[i] = f->level_offset[i - 1] + (uint32_t)((TEXTURE_SIZE >> (i - 1)) * (TEXTURE_SIZE >> (i - 1)));
    make_textures(f, spare);
    free(spare);
    add_room(f, 10.0, 6.0);
    add_posters(f, 10.0);
    add_ring(f);
    add_pillars(f);
    add_heap(f);
    add_boards(f);
    return f;
}

void synthetic_close(synthetic_t *f)
{
    if (!f) return;
    free(f->near_row);
    free(f->seen);
    free(f);
}

void synthetic_rig(const synthetic_t *f, vfront_rig_t *rig)
{
    memset(rig, 0, sizeof *rig);
    rig->cameras = VFRONT_CAMERAS < SYNTHETIC_CAMERAS ? VFRONT_CAMERAS : SYNTHETIC_CAMERAS;
    for (int32_t i = 0; i < rig->cameras; i++) {
        vfront_camera_t *c = &rig->camera[i];
        c->width_px = f->width;
        c->height_px = f->height;
        c->fx_px = c->fy_px = f->focal_px;
        c->cx_px = f->cx_px;
        c->cy_px = f->cy_px;
        camera_axes(c->R_cam_imu);
        c->t_cam_imu_m[0] = i ? -BASELINE_M : 0.0;
    }
}
