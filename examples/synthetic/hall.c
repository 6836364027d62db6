/* SPDX-License-Identifier: MIT
 *
 * Hall around a trajectory: room, posters, crates and pillars clear of the trajectory, and a board that moves.
 */
#include "renderer.h"

#define BESIDE_M 4.0 /* from the trajectory to the walls, at least */
#define ABOVE_M 3.0  /* to the ceiling */
#define BELOW_M 0.5  /* to the floor */
#define FREE_M 0.7   /* from the trajectory to the side of a crate */
#define OVER_M 0.4   /* from the top of a crate up to a trajectory above it */
#define BOXES 38
#define POSTERS 24
#define TRIES_MAX 4000

/** Trajectory that stays free, and the room around it. */
struct trajectory {
    const double (*point_m)[3];
    uint32_t count;
    double low[3], high[3]; /* of the room [m] */
};

static void measure(struct trajectory *w)
{
    for (int k = 0; k < 3; k++) w->low[k] = w->high[k] = w->point_m[0][k];
    for (uint32_t i = 1; i < w->count; i++)
        for (int k = 0; k < 3; k++) {
            if (w->point_m[i][k] < w->low[k]) w->low[k] = w->point_m[i][k];
            if (w->point_m[i][k] > w->high[k]) w->high[k] = w->point_m[i][k];
        }
    for (int k = 0; k < 2; k++) {
        w->low[k] -= BESIDE_M;
        w->high[k] += BESIDE_M;
    }
    w->low[2] -= BELOW_M;
    w->high[2] += ABOVE_M;
}

/** 1 if an upright box whose sides are within `reach_m` of its centre is clear of the trajectory. */
static int is_clear(const struct trajectory *w, const double centre[2], double reach_m, double top_m)
{
    const double min = reach_m + FREE_M;
    for (uint32_t i = 0; i < w->count; i++) {
        const double x = w->point_m[i][0] - centre[0], y = w->point_m[i][1] - centre[1];
        if (x * x + y * y < min * min && w->point_m[i][2] < top_m + OVER_M) return 0;
    }
    return 1;
}

static void add_walls(synthetic_t *f, const struct trajectory *w)
{
    static const int32_t shade_q8[4] = {200, 240, 216, 176};
    const double x = w->high[0] - w->low[0], y = w->high[1] - w->low[1], top = w->high[2];
    const double corner[4][3] = {{w->low[0], w->low[1], top},
                                 {w->high[0], w->low[1], top},
                                 {w->high[0], w->high[1], top},
                                 {w->low[0], w->high[1], top}};
    const double along[4][3] = {{x, 0, 0}, {0, y, 0}, {-x, 0, 0}, {0, -y, 0}};
    const double down[3] = {0, 0, w->low[2] - top}, low[3] = {w->low[0], w->low[1], w->low[2]};
    synthetic_add_panel(f, low, along[0], along[1], FLOOR, 190, 250);
    synthetic_add_panel(f, corner[0], along[0], along[1], BRICK, 90, 130);
    for (int i = 0; i < 4; i++) synthetic_add_panel(f, corner[i], along[i], down, BRICK, 170, shade_q8[i]);
}

/** Posters, 2 cm in front of the walls. */
static void add_posters(synthetic_t *f, const struct trajectory *w)
{
    const double tall = w->high[2] - w->low[2];
    for (int32_t i = 0; i < POSTERS; i++) {
        const int across = i & 1; /* 1: on a wall along y */
        const double wide = uniform(STREAM_HALL_POSTERS, 4 * i, 0.8, 2.0),
                     high = uniform(STREAM_HALL_POSTERS, 4 * i + 1, 0.7, 1.8);
        const double along = uniform(STREAM_HALL_POSTERS, 4 * i + 2, w->low[across], w->high[across] - wide);
        const double top = w->high[2] -
                           uniform(STREAM_HALL_POSTERS, 4 * i + 3, 0.1, tall - high > 0.2 ? tall - high : 0.2);
        const double side = i & 2 ? w->high[1 - across] - 0.02 : w->low[1 - across] + 0.02;
        const double origin[3] = {across ? side : along, across ? along : side, top};
        const double u[3] = {across ? 0 : wide, across ? wide : 0, 0}, down[3] = {0, 0, -high};
        synthetic_add_panel(f, origin, u, down, i % 5 ? POSTER : CRATE, 220, 240);
    }
}

/** Crates and pillars at random places clear of the trajectory. */
static void add_boxes(synthetic_t *f, const struct trajectory *w)
{
    const double tall = w->high[2] - w->low[2];
    int boxes = 0;
    for (int32_t i = 0; i < TRIES_MAX && boxes < BOXES; i++) {
        const int pillar = boxes % 6 == 5;
        const double size[2] = {pillar ? 0.35 : uniform(STREAM_HALL_BOXES, 8 * i, 0.6, 1.7),
                                pillar ? 0.35 : uniform(STREAM_HALL_BOXES, 8 * i + 1, 0.5, 1.4)};
        const double reach = 0.5 * square_root(size[0] * size[0] + size[1] * size[1]);
        const double centre[2] = {uniform(STREAM_HALL_BOXES, 8 * i + 2, w->low[0] + reach, w->high[0] - reach),
                                  uniform(STREAM_HALL_BOXES, 8 * i + 3, w->low[1] + reach, w->high[1] - reach)};
        const double height = pillar
                                  ? tall
                                  : uniform(STREAM_HALL_BOXES, 8 * i + 4, 0.4, 0.75 * tall < 3.0 ? 0.75 * tall : 3.0);
        const double ends[2] = {w->low[2], w->low[2] + height};
        if (!is_clear(w, centre, reach, ends[1])) continue;
        synthetic_add_box(f, centre, ends, size, uniform(STREAM_HALL_BOXES, 8 * i + 5, 0, 1),
                          pillar      ? BRICK
                          : boxes % 4 ? CRATE
                                      : POSTER);
        boxes++;
    }
}

void synthetic_hall(synthetic_t *f, const double (*positions_m)[3], uint32_t count)
{
    struct trajectory w = {positions_m, count, {0}, {0}};
    measure(&w);
    f->panels = 0;
    add_walls(f, &w);
    add_posters(f, &w);
    add_boxes(f, &w);
    f->board = f->panels;
}

void synthetic_board(synthetic_t *f, const double origin_m[3], const double u_m[3], const double v_m[3])
{
    f->panels = f->board;
    if (origin_m) synthetic_add_panel(f, origin_m, u_m, v_m, CRATE, 260, 230);
}
