/* SPDX-License-Identifier: MIT
 *
 * Scene of the rendered flight: a hall of 20 x 20 x 6 m with crates, pillars, boards and posters.
 */
#include "renderer.h"

void synthetic_add_panel(synthetic_t *f, const double origin[3], const double u[3], const double v[3],
                         enum texture texture, double texels_m, int32_t shade_q8)
{
    struct panel *p = &f->panel[f->panels];
    memcpy(p->origin, origin, sizeof p->origin);
    memcpy(p->u, u, sizeof p->u);
    memcpy(p->v, v, sizeof p->v);
    p->texels_u = square_root(dot(u, u)) * texels_m;
    p->texels_v = square_root(dot(v, v)) * texels_m;
    p->offset_s = uniform(STREAM_PANEL + f->panels, 0, TEXTURE_SIZE, 2 * TEXTURE_SIZE); /* keeps coordinates above 0 */
    p->offset_t = uniform(STREAM_PANEL + f->panels, 1, TEXTURE_SIZE, 2 * TEXTURE_SIZE);
    p->texture = texture;
    p->shade_q8 = shade_q8;
    f->panels++;
}

void synthetic_add_box(synthetic_t *f, const double centre[2], const double ends[2], const double size[2], double turns,
                       enum texture texture)
{
    static const int32_t shade_q8[4] = {176, 236, 208, 148};
    const double c = cosine(turns), s = sine(turns);
    const double u[3] = {c * size[0], s * size[0], 0}, v[3] = {-s * size[1], c * size[1], 0};
    const double down[3] = {0, 0, ends[0] - ends[1]};
    const double o[3] = {centre[0] - 0.5 * (u[0] + v[0]), centre[1] - 0.5 * (u[1] + v[1]), ends[1]};
    const double far_u[3] = {o[0] + u[0], o[1] + u[1], o[2]}, far_v[3] = {o[0] + v[0], o[1] + v[1], o[2]};
    synthetic_add_panel(f, o, u, down, texture, 260, shade_q8[0]);
    synthetic_add_panel(f, far_u, v, down, texture, 260, shade_q8[1]);
    synthetic_add_panel(f, far_v, u, down, texture, 260, shade_q8[2]);
    synthetic_add_panel(f, o, v, down, texture, 260, shade_q8[3]);
    synthetic_add_panel(f, o, u, v, texture, 260, 262);
}

static void add_room(synthetic_t *f, double half_m, double height_m)
{
    const double h = half_m, size = 2.0 * half_m;
    const double corner[4][3] = {{-h, -h, height_m}, {h, -h, height_m}, {h, h, height_m}, {-h, h, height_m}};
    const double along[4][3] = {{size, 0, 0}, {0, size, 0}, {-size, 0, 0}, {0, -size, 0}};
    const double down[3] = {0, 0, -height_m}, low[3] = {-h, -h, 0}, high[3] = {-h, -h, height_m};
    static const int32_t shade_q8[4] = {200, 240, 216, 176};
    synthetic_add_panel(f, low, along[0], along[1], FLOOR, 190, 250);
    synthetic_add_panel(f, high, along[0], along[1], BRICK, 90, 130);
    for (int i = 0; i < 4; i++) synthetic_add_panel(f, corner[i], along[i], down, BRICK, 170, shade_q8[i]);
}

/** Posters, 2 cm in front of the walls. */
static void add_posters(synthetic_t *f, double half_m)
{
    for (int32_t i = 0; i < 20; i++) {
        const double along = -half_m + (i / 4 + 0.15) * half_m * 0.4 + uniform(STREAM_POSTERS, 4 * i, 0, 1);
        const double top = uniform(STREAM_POSTERS, 4 * i + 1, 2.2, 4.6),
                     wide = uniform(STREAM_POSTERS, 4 * i + 2, 0.8, 2.0);
        const double side = i & 1 ? half_m - 0.02 : 0.02 - half_m,
                     down[3] = {0, 0, -uniform(STREAM_POSTERS, 4 * i + 3, 0.7, 1.8)};
        const double on_x[3] = {side, along, top}, on_y[3] = {along, side, top};
        const double u_x[3] = {0, wide, 0}, u_y[3] = {wide, 0, 0};
        synthetic_add_panel(f, i & 2 ? on_x : on_y, i & 2 ? u_x : u_y, down, i % 5 ? POSTER : CRATE, 220, 240);
    }
}

/** Crates around the flight path; every third with a smaller one on top. */
static void add_ring(synthetic_t *f)
{
    for (int32_t i = 0; i < 13; i++) {
        const int32_t n = 8 * i;
        const double turns = (i + uniform(STREAM_RING, n, 0, 0.5)) / 13.0,
                     radius = uniform(STREAM_RING, n + 1, 6.0, 8.3);
        const double centre[2] = {radius * cosine(turns), radius * sine(turns)},
                     yaw = uniform(STREAM_RING, n + 2, 0, 1);
        const double size[2] = {uniform(STREAM_RING, n + 3, 0.7, 1.7), uniform(STREAM_RING, n + 4, 0.6, 1.4)};
        const double ends[2] = {0, uniform(STREAM_RING, n + 5, 0.5, 2.4)};
        synthetic_add_box(f, centre, ends, size, yaw, i % 3 ? CRATE : POSTER);
        if (i % 3) continue;
        const double smaller[2] = {0.6 * size[0], 0.7 * size[1]};
        const double above[2] = {ends[1], ends[1] + uniform(STREAM_RING, n + 6, 0.4, 0.9)};
        synthetic_add_box(f, centre, above, smaller, yaw + 0.06, CRATE);
    }
}

static void add_pillars(synthetic_t *f)
{
    static const double ends[2] = {0, 6}, size[2] = {0.35, 0.35};
    for (int32_t i = 0; i < 5; i++) {
        const double turns = i / 5.0 + 0.13, radius = i & 1 ? 6.1 : 2.3;
        const double centre[2] = {radius * cosine(turns), radius * sine(turns)};
        synthetic_add_box(f, centre, ends, size, 0.07 * i, BRICK);
    }
}

/** Crates inside the circle of the flight path. */
static void add_heap(synthetic_t *f)
{
    for (int32_t i = 0; i < 6; i++) {
        const int32_t n = 8 * i;
        const double turns = i / 6.0, radius = uniform(STREAM_HEAP, n, 0.6, 2.1);
        const double centre[2] = {radius * cosine(turns), radius * sine(turns)};
        const double size[2] = {uniform(STREAM_HEAP, n + 1, 0.5, 1.0), uniform(STREAM_HEAP, n + 2, 0.5, 1.0)};
        const double ends[2] = {0, uniform(STREAM_HEAP, n + 3, 0.4, 1.7)};
        synthetic_add_box(f, centre, ends, size, uniform(STREAM_HEAP, n + 4, 0, 1), CRATE);
    }
}

/** Tilted boards above the ring of crates. */
static void add_boards(synthetic_t *f)
{
    for (int32_t i = 0; i < 9; i++) {
        const int32_t n = 8 * i;
        const double turns = (i + 0.5) / 9.0, yaw = turns + uniform(STREAM_BOARDS, n + 1, 0.15, 0.35);
        const double radius = uniform(STREAM_BOARDS, n, 5.6, 7.5);
        const double origin[3] = {radius * cosine(turns), radius * sine(turns),
                                  uniform(STREAM_BOARDS, n + 2, 3.0, 4.8)};
        const double u[3] = {1.4 * cosine(yaw), 1.4 * sine(yaw), uniform(STREAM_BOARDS, n + 3, -0.3, 0.3)};
        const double v[3] = {uniform(STREAM_BOARDS, n + 4, -0.4, 0.4), uniform(STREAM_BOARDS, n + 5, -0.4, 0.4), -1.0};
        synthetic_add_panel(f, origin, u, v, POSTER, 240, 225);
    }
}

void synthetic_make_scene(synthetic_t *f)
{
    add_room(f, 10.0, 6.0);
    add_posters(f, 10.0);
    add_ring(f);
    add_pillars(f);
    add_heap(f);
    add_boards(f);
}
