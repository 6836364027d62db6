/* SPDX-License-Identifier: MIT */
/* The stand on which one stage is tested: arenas of the test's own, a geometry laid out after the words of vfront.h, random
 * numbers, and the comparison of the whole device arena with what it should hold. Nothing here knows what a stage computes.
 *
 * A test fills `memory`, copies it to `expected`, writes there what its oracle says, runs the stage and calls same_arena():
 * so every byte that a stage must not touch is a guard. Sizes that the config does not allow are left out; a test that has
 * nothing left is skipped, never passed. */
#ifndef STAND_H
#define STAND_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../src/stages.h"
#include "chance.h"

static struct vf_memory memory, expected;
static struct vf_pinned pinned;
static struct vf_step step;

/* ---- random numbers ---------------------------------------------------------------------------------------------------- */

/** 0 .. below - 1. */
static inline int32_t roll(int32_t below) { return (int32_t)((roll64() >> 33) % (uint64_t)below); }

/** least .. most. */
static inline int32_t between(int32_t least, int32_t most) { return least + roll(most - least + 1); }

static inline void scribble(void *to, size_t bytes)
{
    uint8_t *at = to;
    for (; bytes >= 8; bytes -= 8, at += 8) {
        const uint64_t eight = roll64();
        memcpy(at, &eight, 8);
    }
    for (; bytes; bytes--) *at++ = (uint8_t)roll(256);
}

/* ---- geometry -------------------------------------------------------------------------------------------------------- */

/** Whether the config has room for a picture of a size with rows `pitch` bytes apart. */
static inline int fits(int32_t width, int32_t height, int32_t pitch)
{
    return width <= VFRONT_WIDTH && height <= VFRONT_HEIGHT && pitch <= VFRONT_WIDTH;
}

/** Levels 1 and 2 for tests by hand; 0 where the config has none, and the test is skipped. */
enum { HALF = VFRONT_LEVELS > 1, QUARTER = VFRONT_LEVELS > 2 ? 2 : 0 };

/** (VFRONT_SCALE_NUM / VFRONT_SCALE_DEN)^n, and in the other direction; products of whole numbers, so only the division rounds.
 *  */
static inline long double scale_ratio(int32_t n)
{
    long double num = 1.0L, den = 1.0L;
    for (int32_t i = 0; i < VFRONT_SCALES && (i < n || i < -n); i++) {
        num *= VFRONT_SCALE_NUM;
        den *= VFRONT_SCALE_DEN;
    }
    return n < 0 ? den / num : num / den;
}

/** Whole pixels of a level under `size` of level 0, whose far edge is taken to the level in 1/128 px. */
static inline int32_t scaled_size(int32_t size, int32_t level)
{
    const double inverse = (double)floorl(scale_ratio(-level) * 524288.0L + 0.5L);
    return (int32_t)floor(floor(size * inverse / 4096.0 + 0.5) / 128.0);
}

/** Sets the size of a level. Its rows are `slack` * 64 bytes longer than they must be, where `widest` bytes are enough for that.
 *  */
static inline void set_level(struct vf_level *l, int32_t width, int32_t height, int32_t slack, int32_t widest)
{
    l->width = width;
    l->height = height;
    l->pitch = (width + 63) / 64 * 64;
    if (l->pitch + 64 * slack <= widest) l->pitch += 64 * slack;
}

/** Halves of a camera's picture, which is as it comes. */
static inline void lay_out_halves(int32_t camera, int32_t width, int32_t height, int32_t slack)
{
    uint32_t offset = 0;
    for (int32_t i = 0; i < VFRONT_LEVELS; i++, width /= 2, height /= 2) {
        struct vf_level *l = &step.geometry.level[camera][i];
        set_level(l, width, height, slack, VFRONT_WIDTH >> i);
        l->offset = offset;
        offset += (uint32_t)(l->pitch * height);
    }
    step.geometry.raw[camera] = step.geometry.level[camera][0];
}

/** A camera's picture as it comes, which is level 0 where nothing is rectified; and a lens that nobody knows: nodes of bearings 8 px apart,
 *  two before the picture and two behind the first that is not before its end. */
static inline void lay_out_lens(int32_t camera)
{
    struct vf_geometry *g = &step.geometry;
    const struct vf_level *l = &g->level[camera][0];
    g->raw[camera] = *l;
    g->calibrated[camera] = 0;
    g->focal_px[camera] = (float)l->width;
    g->nodes_x[camera] = (int32_t)ceil(l->width / 8.0) + 5;
}

/** Its levels VFRONT_SCALE_NUM / VFRONT_SCALE_DEN apart: the first is that of the halves, and lies there; level 1 comes first
 *  here. */
static inline void lay_out_scales(int32_t camera, int32_t width, int32_t height, int32_t slack)
{
    uint32_t offset = 0;
    step.geometry.scale[camera][0] = step.geometry.level[camera][0];
    for (int32_t i = 1; i < VFRONT_SCALES; i++) {
        struct vf_level *l = &step.geometry.scale[camera][i];
        set_level(l, scaled_size(width, i), scaled_size(height, i), slack, VFRONT_PITCH(VFRONT_SCALED(VFRONT_WIDTH, i)));
        l->offset = offset;
        offset += (uint32_t)(l->pitch * l->height);
    }
}

/** A level of a camera. With one level there is no other, and compilers are told so. */
static inline const struct vf_level *scale_of(int32_t camera, int32_t level)
{
    return &step.geometry.scale[camera][VFRONT_SCALES > 1 ? level : 0];
}

/** Levels of a list that leave every camera at least 16 px on a side. */
static inline int32_t count_levels(const struct vf_level *first, int32_t most, size_t next_camera)
{
    int32_t levels = 1;
    for (; levels < most; levels++)
        for (int32_t i = 0; i < step.geometry.cameras; i++) {
            const struct vf_level *l = first + (size_t)i * next_camera + levels;
            if (l->width < 16 || l->height < 16) return levels;
        }
    return levels;
}

static inline void count_all_levels(void)
{
    struct vf_geometry *g = &step.geometry;
    g->levels = count_levels(g->level[0], VFRONT_LEVELS, VFRONT_LEVELS);
    g->scales = count_levels(g->scale[0], VFRONT_SCALES, VFRONT_SCALES);
    for (int32_t i = 0; i < VFRONT_SCALES; i++) {
        g->step_q16[i] = i < g->scales ? (uint32_t)floorl(scale_ratio(i) * 65536.0L + 0.5L) : 0;
        g->inverse_q19[i] = i < g->scales ? (uint32_t)floorl(scale_ratio(-i) * 524288.0L + 0.5L) : 0;
    }
}

/** Gives every camera culling cells of a size. Returns whether the config has room for them. */
static inline int set_culls(int32_t cull_width, int32_t cull_height)
{
    step.tuning.cull_width_px = cull_width;
    step.tuning.cull_height_px = cull_height;
    for (int32_t i = 0; i < step.geometry.cameras; i++) {
        const struct vf_level *l = &step.geometry.level[i][0];
        step.geometry.culls_x[i] = (int32_t)ceil((double)l->width / cull_width);
        step.geometry.culls_y[i] = (int32_t)ceil((double)l->height / cull_height);
        if (step.geometry.culls_x[i] * step.geometry.culls_y[i] > VFRONT_CULL_CELLS) return 0;
    }
    return 1;
}

/** Culling cells of the given size, or the least larger ones that the config has room for. */
static inline void set_culls_about(int32_t cull_width, int32_t cull_height)
{
    while (!set_culls(cull_width, cull_height)) {
        cull_width += cull_width / 2;
        cull_height += cull_height / 2;
    }
}

static inline int32_t culls_of(int32_t camera) { return step.geometry.culls_x[camera] * step.geometry.culls_y[camera]; }

/** Shares out select_points among the levels searched: to each so many percent of what the one before has, in 1/2^16 of what the
 *  first has. To be called anew when a test changes select_points, select_share_percent or detect_levels. */
static inline void share_out(void)
{
    const vfront_tuning_t *t = &step.tuning;
    const int32_t levels = step.geometry.scales < t->detect_levels ? step.geometry.scales : t->detect_levels;
    double share[VFRONT_SCALES] = {65536.0}, all = 0.0, before = 0.0;
    for (int32_t i = 1; i < VFRONT_SCALES; i++) share[i] = floor(share[i - 1] * t->select_share_percent / 100.0 + 0.5);
    for (int32_t i = 0; i < VFRONT_SCALES; i++) all += i < levels ? share[i] : 0.0;
    memset(step.geometry.share, 0, sizeof step.geometry.share);
    for (int32_t i = 0; i < VFRONT_SCALES && i < levels; i++) {
        before += share[i];
        step.geometry.share[i + 1] = (int32_t)floor(t->select_points * before / all);
    }
}

/** Gives a camera of a step that is set up another size; culling cells as large as before, where the config has room for them. */
static inline void lay_out_levels(int32_t camera, int32_t width, int32_t height, int32_t slack)
{
    lay_out_halves(camera, width, height, slack);
    lay_out_scales(camera, width, height, slack);
    lay_out_lens(camera);
    count_all_levels();
    set_culls_about(step.tuning.cull_width_px, step.tuning.cull_height_px);
    share_out();
}

/** Makes a step of `cameras` cameras that have one size; standard tuning, but for culling cells where the config has no room for
 *  so many. The arena stays as it is. */
static inline void set_up(int32_t cameras, int32_t width, int32_t height, int32_t slack)
{
    memset(&step, 0, sizeof step);
    step.memory = &memory;
    step.pinned = &pinned;
    step.parity = roll(2);
    vfront_tuning_default(&step.tuning);
    step.geometry.cameras = cameras;
    for (int32_t i = 0; i < cameras; i++) {
        lay_out_halves(i, width, height, slack);
        lay_out_scales(i, width, height, slack);
        lay_out_lens(i);
    }
    count_all_levels();
    set_culls_about(step.tuning.cull_width_px, step.tuning.cull_height_px);
    share_out();
}

/** Gives every camera a grid of cells. Returns whether the config has room for it. */
static inline int set_cells(int32_t cell_width, int32_t cell_height)
{
    step.tuning.cell_width_px = cell_width;
    step.tuning.cell_height_px = cell_height;
    for (int32_t i = 0; i < step.geometry.cameras; i++) {
        const struct vf_level *l = &step.geometry.level[i][0];
        step.geometry.cells_x[i] = (int32_t)ceil((double)l->width / cell_width);
        step.geometry.cells_y[i] = (int32_t)ceil((double)l->height / cell_height);
        if (step.geometry.cells_x[i] * step.geometry.cells_y[i] > VFRONT_CELLS) return 0;
    }
    return 1;
}

/** Cells of the given size, or the least larger ones that the config has room for. */
static inline void set_cells_about(int32_t cell_width, int32_t cell_height)
{
    while (!set_cells(cell_width, cell_height)) {
        cell_width += cell_width / 2;
        cell_height += cell_height / 2;
    }
}

static inline int32_t cells_of(int32_t camera) { return step.geometry.cells_x[camera] * step.geometry.cells_y[camera]; }

/* ---- the whole arena ------------------------------------------------------------------------------------------------- */

/** Fills the arena with noise, and `expected` alike. */
static inline void scribble_arena(void)
{
    scribble(&memory, sizeof memory);
    memcpy(&expected, &memory, sizeof memory);
}

static inline const char *owner_of(size_t offset)
{
#define VF_STAGE(name, needs, what) \
    if (offset < offsetof(struct vf_memory, name) + sizeof memory.name##_bytes) return #name;
#include "../src/stages.def"
#undef VF_STAGE
    return "nobody";
}

/** Fails unless every byte of the arena is as expected. */
static inline void same_arena(const char *what)
{
    if (memcmp(&memory, &expected, sizeof memory) == 0) return;
    const uint8_t *is = (const uint8_t *)&memory, *should = (const uint8_t *)&expected;
    size_t first = 0, differ = 0;
    for (size_t i = sizeof memory; i-- > 0;) {
        differ += is[i] != should[i];
        if (is[i] != should[i]) first = i;
    }
    print_error("ERROR: %s: %zu bytes of the arena differ, the first at %zu, in what %s owns: is %d, should be %d\n", what,
                differ, first, owner_of(first), is[first], should[first]);
    fail();
}

#endif
