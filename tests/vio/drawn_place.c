/* SPDX-License-Identifier: MIT */
#include "drawn_place.h"

#include "examples/synthetic/renderer.h"

enum { BOARDS_MAX = 200, TRIES = 600, IN_VIEW = 12, TILES_MAX = 24, POINTS = 5 };

/** Texels of a panel for each pixel at the range for which it is drawn; most texels along a panel. */
#define TEXELS_PX 2.0
#define TEXELS_MAX 28000.0

static synthetic_t *renderer;
static uint8_t (*painted)[TEXTURE_BYTES]; /* textures with full contrast */

/** Present place: its plan, its room, stream of its random numbers. */
static struct {
    const struct place_plan *plan;
    double low[3], high[3];
    uint64_t drawn;
} at;

int place_open(int width, int height)
{
    renderer = synthetic_open(width, height);
    painted = malloc(sizeof renderer->texture);
    if (renderer && painted) memcpy(painted, renderer->texture, sizeof renderer->texture);
    return renderer && painted;
}

static double draw(double least, double most)
{
    const uint64_t r = synthetic_hash(synthetic_hash(at.plan->seed) + at.drawn++);
    return least + (most - least) * ((double)(r >> 11) * 0x1p-53);
}

/** Range between nearest and farthest, its logarithm uniform from share a to share b. */
static double draw_range(double a, double b)
{
    const struct place_plan *p = at.plan;
    return p->near_m * exp(draw(a, b) * log(p->far_m / p->near_m));
}

/* ---- textures ---------------------------------------------------------------------------------------------------- */

/** Each texture has a contrast of its own, up to that of the plan. */
static void paint(void)
{
    for (int i = 0; i < TEXTURES; i++) {
        const int32_t by = (int32_t)(256 * at.plan->contrast * draw(0.6, 1));
        for (size_t k = 0; k < TEXTURE_BYTES; k++)
            renderer->texture[i][k] = (uint8_t)(128 + (painted[i][k] - 128) * by / 256);
    }
}

/** Texels a metre of a panel of some size, seen from a range. Some are plain: a few texels, a smooth shade. */
static double draw_texels(double range, double size)
{
    const double plain = 4 / size;
    return draw(0, 1) < square_root(at.plan->contrast) ? TEXELS_PX * at.plan->lens.f / range : plain;
}

static enum texture draw_texture(void)
{
    static const enum texture kind[8] = {CRATE, CRATE, CRATE, POSTER, POSTER, BRICK, FLOOR, CRATE};
    return kind[(int)draw(0, 8)];
}

/* ---- room -------------------------------------------------------------------------------------------------------- */

/** Adds a parallelogram in tiles, so that texture coordinates stay in their range. */
static void add_tiled(const double origin[3], const double u[3], const double v[3], enum texture texture, double range)
{
    const double along[2] = {square_root(dot(u, u)), square_root(dot(v, v))};
    double texels_m = draw_texels(range, fmax(along[0], along[1]));
    int n[2];
    for (;; texels_m *= 0.8) {
        for (int k = 0; k < 2; k++) n[k] = 1 + (int)(along[k] * texels_m / TEXELS_MAX);
        if (n[0] * n[1] <= TILES_MAX) break;
    }
    for (int i = 0; i < n[0] * n[1]; i++) {
        const int a = i % n[0], b = i / n[0];
        double from[3], part_u[3], part_v[3];
        for (int k = 0; k < 3; k++) {
            part_u[k] = u[k] / n[0], part_v[k] = v[k] / n[1];
            from[k] = origin[k] + a * part_u[k] + b * part_v[k];
        }
        synthetic_add_panel(renderer, from, part_u, part_v, texture, texels_m, 230);
    }
}

/** Room around the flight: the floor below it, in the nearer half of ranges; walls and ceiling in the farther. */
static void add_room(void)
{
    const struct place_plan *p = at.plan;
    for (int k = 0; k < 3; k++) {
        at.low[k] = at.high[k] = p->centre[0][k];
        for (int i = 1; i < p->views; i++) {
            at.low[k] = fmin(at.low[k], p->centre[i][k]);
            at.high[k] = fmax(at.high[k], p->centre[i][k]);
        }
    }
    const double floor = draw_range(0, 0.5), ceiling = draw_range(0.5, 1);
    double wall[4];
    at.low[2] -= floor, at.high[2] += ceiling;
    for (int i = 0; i < 4; i++) {
        wall[i] = draw_range(0.4, 1);
        if (i < 2)
            at.low[i] -= wall[i];
        else
            at.high[i - 2] += wall[i];
    }
    const double *l = at.low, *h = at.high, x = h[0] - l[0], y = h[1] - l[1], z = h[2] - l[2];
    const double X[3] = {x, 0, 0}, Y[3] = {0, y, 0}, Z[3] = {0, 0, z}, top[3] = {l[0], l[1], h[2]};
    const double far_x[3] = {h[0], l[1], l[2]}, far_y[3] = {l[0], h[1], l[2]};
    add_tiled(l, X, Y, draw(0, 1) < 0.5 ? FLOOR : CRATE, floor);
    add_tiled(top, X, Y, BRICK, ceiling);
    add_tiled(l, Y, Z, draw_texture(), wall[0]);
    add_tiled(l, X, Z, draw_texture(), wall[1]);
    add_tiled(far_x, Y, Z, draw_texture(), wall[2]);
    add_tiled(far_y, X, Z, draw_texture(), wall[3]);
}

/* ---- boards ------------------------------------------------------------------------------------------------------ */

struct board {
    double centre[3], u[3], v[3]; /* u, v: half sides */
    double range;
};

/** Board in view of the camera at a time of the flight, facing it within 50 degrees. */
static void draw_board(int view, struct board *b)
{
    const struct place_plan *p = at.plan;
    const double *R = p->axes[view];
    const double px[2] = {draw(-0.1, 1.1) * renderer->width, draw(-0.1, 1.1) * renderer->height};
    double ray[3] = {(px[0] - p->lens.cx) / p->lens.f, (px[1] - p->lens.cy) / p->lens.f, 1};
    const double size = square_root(dot(ray, ray)), roll = draw(0, 1);
    b->range = draw_range(0, 0.9);
    double tilt[2], half[2], side[3][3], turned[2][3];
    for (int k = 0; k < 2; k++) tilt[k] = draw(-1, 1), half[k] = b->range * draw(0.08, 0.4);
    for (int k = 0; k < 3; k++) b->centre[k] = p->centre[view][k] + b->range * dot(&R[3 * k], ray) / size;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) side[i][k] = R[3 * k + i]; /* axes of the camera */
    for (int k = 0; k < 3; k++) {
        turned[0][k] = cosine(roll) * side[0][k] + sine(roll) * side[1][k] + tilt[0] * side[2][k];
        turned[1][k] = cosine(roll) * side[1][k] - sine(roll) * side[0][k] + tilt[1] * side[2][k];
    }
    for (int k = 0; k < 3; k++) {
        b->u[k] = half[0] * turned[0][k] / square_root(1 + tilt[0] * tilt[0]);
        b->v[k] = half[1] * turned[1][k] / square_root(1 + tilt[1] * tilt[1]);
    }
}

/** 1 if a board is inside the room and no nearer to the flight than the nearest range. */
static int is_free(const struct board *b)
{
    const struct place_plan *p = at.plan;
    for (int i = 0; i < POINTS * POINTS; i++) {
        const double u = 2.0 * (i % POINTS) / (POINTS - 1) - 1, v = 2.0 * (i / POINTS) / (POINTS - 1) - 1;
        double x[3];
        for (int k = 0; k < 3; k++) {
            x[k] = b->centre[k] + u * b->u[k] + v * b->v[k];
            if (x[k] < at.low[k] || x[k] > at.high[k]) return 0;
        }
        for (int j = 0; j < p->views; j++) {
            const double d[3] = {x[0] - p->centre[j][0], x[1] - p->centre[j][1], x[2] - p->centre[j][2]};
            if (dot(d, d) < p->near_m * p->near_m) return 0;
        }
    }
    return 1;
}

/** Number of boards whose centre a view has in its picture. */
static int in_view(int view, const struct board *board, int boards)
{
    const struct place_plan *p = at.plan;
    int count = 0;
    for (int i = 0; i < boards; i++) {
        double d[3], x[3];
        for (int k = 0; k < 3; k++) d[k] = board[i].centre[k] - p->centre[view][k];
        rotate_back(x, p->axes[view], d);
        if (!(x[2] > 0)) continue;
        const double u = p->lens.f * x[0] / x[2] + p->lens.cx, v = p->lens.f * x[1] / x[2] + p->lens.cy;
        count += u > 0 && v > 0 && u < renderer->width && v < renderer->height;
    }
    return count;
}

static void add_boards(void)
{
    static struct board board[BOARDS_MAX];
    const struct place_plan *p = at.plan;
    int boards = 0;
    for (int i = 0; i < TRIES && boards < BOARDS_MAX && renderer->panels < PANELS_MAX; i++) {
        const int view = (int)draw(0, p->views);
        struct board *b = &board[boards];
        double origin[3], u[3], v[3];
        draw_board(view, b);
        if (in_view(view, board, boards) >= IN_VIEW || !is_free(b)) continue;
        for (int k = 0; k < 3; k++) {
            u[k] = 2 * b->u[k], v[k] = 2 * b->v[k];
            origin[k] = b->centre[k] - b->u[k] - b->v[k];
        }
        const double texels_m = draw_texels(b->range, square_root(dot(u, u)));
        synthetic_add_panel(renderer, origin, u, v, draw_texture(), texels_m, (int32_t)draw(130, 256));
        boards++;
    }
}

void place_build(const struct place_plan *plan)
{
    at.plan = plan;
    at.drawn = 0;
    renderer->panels = 0;
    paint();
    add_room();
    add_boards();
}

/* ---- pictures ---------------------------------------------------------------------------------------------------- */

static void set_lens(const struct place_lens *lens)
{
    renderer->focal_px = lens->f;
    renderer->cx_px = lens->cx;
    renderer->cy_px = lens->cy;
}

void place_gather(const struct place_lens *lens, const double axes[9], const double centre[3], uint32_t *irradiance)
{
    set_lens(lens);
    synthetic_gather(renderer, axes, centre, 0, irradiance);
}

void place_depths(const struct place_lens *lens, const double axes[9], const double centre[3], int count,
                  const double (*at_px)[2], double *depth_m)
{
    set_lens(lens);
    synthetic_project_panels(renderer, axes, centre, 0);
    for (int i = 0; i < count; i++) {
        double nearest = 0;
        for (int32_t k = 0; k < renderer->panels; k++) {
            const double inverse = inverse_depth_at(&renderer->projected[k], at_px[i][0], at_px[i][1]);
            if (inverse > nearest) nearest = inverse;
        }
        depth_m[i] = nearest > 0 ? 1 / nearest : 0;
    }
}

void place_expose(const uint32_t *irradiance, unsigned moments, const struct place_sensor *sensor, uint8_t *pixels)
{
    const synthetic_sensor_t s = {.gain = sensor->gain,
                                  .offset_grey = sensor->offset_grey,
                                  .read_grey = 1,
                                  .electrons = sensor->electrons,
                                  .key = sensor->key};
    synthetic_expose(renderer, irradiance, moments, &s, pixels, (size_t)renderer->width);
}
