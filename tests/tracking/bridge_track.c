/* SPDX-License-Identifier: MIT */
/* The track stage as a shared library for tests/tracking/quality.py: images and points go in, tracks come out. Built
 * from the stage's own source, with the solutions of the normal equations counted. */
#include "tracking/track.h"

/** Gauss-Newton steps of one feature, by level. */
struct steps {
    uint32_t at[VFRONT_LEVELS];
};
static struct steps *steps_now; /* of the current feature */
static int32_t level_now;       /* its current level */

/* The algorithm converts a position to a level right before it iterates there, and solves once per step. */
static inline int32_t noted_level(int32_t x_q16, int32_t level)
{
    level_now = level;
    return vf_to_level_q16(x_q16, level);
}

static inline struct vf_track_update counted_solve(const struct vf_template_normal *n, const struct vf_residual_sums *s,
                                                   int32_t photometric, int32_t alpha_q14)
{
    steps_now->at[level_now]++;
    return vf_track_solve(n, s, photometric, alpha_q14);
}

#define vf_to_level_q16 noted_level
#define vf_track_solve counted_solve
#include "tracking/track.c"
#undef vf_to_level_q16
#undef vf_track_solve

#include "core/memory.h"

static struct vf_memory memory;
static struct vf_pinned pinned;
static struct vf_step step;
static struct vf_views views;

/** Runs a stage's host form on `step`. */
#define RUN(name) (look(), vf_##name##_host(&views.name))

static struct steps steps[VFRONT_TRACKS]; /* by id */

int bridge_open(int width, int height);
int bridge_tune(const char *name, int value);
void bridge_picture(const uint8_t *pixels, const float *rotation);
int bridge_detect(double *x, double *y);
void bridge_seed(int count, const double *x, const double *y);
void bridge_track(double *x, double *y, int32_t *end, int32_t *taken);

/** Makes the views of the stages used, as a port does. */
static void look(void)
{
    vf_geometry_derive(&step.geometry, &step.tuning);
    vf_ingest_make_view(&views.ingest, &step);
    vf_pyramid_make_view(&views.pyramid, &step);
    vf_scale_make_view(&views.scale, &step);
    vf_detect_make_view(&views.detect, &step);
    vf_track_make_view(&views.track, &step);
}

static void set_level(struct vf_level *l, int32_t width, int32_t height, uint32_t *offset)
{
    l->width = width;
    l->height = height;
    l->pitch = VFRONT_PITCH(width);
    l->offset = *offset;
    *offset += (uint32_t)(l->pitch * height);
}

/** Levels of key point detection: level 0 is the image, the others have their own memory. */
static void lay_out_scales(int32_t width, int32_t height)
{
    struct vf_geometry *g = &step.geometry;
    uint32_t offset = 0, unused = 0;
    int64_t num = 1, den = 1;
    for (; g->scales < VFRONT_SCALES; g->scales++, num *= VFRONT_SCALE_NUM, den *= VFRONT_SCALE_DEN) {
        const uint32_t inverse_q19 = (uint32_t)(((den << 19) + num / 2) / num);
        const int32_t w = vf_scale_size(width, inverse_q19), h = vf_scale_size(height, inverse_q19);
        if (w < 16 || h < 16) return;
        set_level(&g->scale[0][g->scales], w, h, g->scales ? &offset : &unused);
        g->step_q16[g->scales] = (uint32_t)(((num << 16) + den / 2) / den);
        g->inverse_q19[g->scales] = inverse_q19;
    }
}

static void lay_out(int32_t width, int32_t height)
{
    struct vf_geometry *g = &step.geometry;
    uint32_t offset = 0, unused = 0;
    for (; g->levels < VFRONT_LEVELS && width >> g->levels >= 16 && height >> g->levels >= 16; g->levels++)
        set_level(&g->level[0][g->levels], width >> g->levels, height >> g->levels, g->levels ? &offset : &unused);
    lay_out_scales(width, height);
    g->raw[0] = g->level[0][0];
    g->cameras = 1;
    g->cells_x[0] = (width + step.tuning.cell_width_px - 1) / step.tuning.cell_width_px;
    g->cells_y[0] = (height + step.tuning.cell_height_px - 1) / step.tuning.cell_height_px;
    g->culls_x[0] = (width + step.tuning.cull_width_px - 1) / step.tuning.cull_width_px;
    g->culls_y[0] = (height + step.tuning.cull_height_px - 1) / step.tuning.cull_height_px;
}

/** Starts on images of a size, with standard tuning except cells of 32 px, for points all over the image. Returns how
 *  many points can be tracked; 0: beyond the config. */
int bridge_open(int width, int height)
{
    if (width < 16 || width > VFRONT_WIDTH || height < 16 || height > VFRONT_HEIGHT) return 0;
    memset(&step, 0, sizeof step);
    memset(&pinned.params, 0, sizeof pinned.params);
    vfront_tuning_default(&step.tuning);
    step.tuning.cell_width_px = step.tuning.cell_height_px = 32;
    step.memory = &memory;
    step.pinned = &pinned;
    lay_out(width, height);
    look();
    return step.geometry.cells[0] <= VFRONT_CELLS && step.geometry.culls[0] <= VFRONT_CULL_CELLS ? VFRONT_TRACKS : 0;
}

/** Sets a tuning value. Returns 0 if the name is unknown or the value out of range. */
int bridge_tune(const char *name, int value) { return vfront_tuning_set(&step.tuning, name, value) == VFRONT_OK; }

/** Sets the next image, [height][width]. rotation: homography from the last image's pixels to this one's, or NULL. */
void bridge_picture(const uint8_t *pixels, const float *rotation)
{
    struct vf_params *p = &pinned.params;
    step.parity ^= 1;
    p->source[0].data = pixels;
    p->source[0].pitch = (uint32_t)step.geometry.level[0][0].width;
    p->rotation_given = rotation != NULL;
    if (rotation) memcpy(p->H, rotation, sizeof p->H);
    RUN(ingest);
    RUN(pyramid);
    p->frame++;
}

/** Positions at which the library would start tracks in the last image: the best corner of every cell on any level, at
 *  most VFRONT_TRACKS. Returns their number. */
int bridge_detect(double *x, double *y)
{
    const uint64_t *corner = memory.detect.corner[step.parity][0];
    int count = 0;
    memset(&memory.detect, 0, sizeof memory.detect);
    RUN(scale);
    RUN(detect);
    for (int32_t cell = 0; cell < step.geometry.cells[0] && count < VFRONT_TRACKS; cell++) {
        const uint64_t key = corner[cell];
        if (!key) continue;
        const struct vf_position_q16 p = vf_corner_position(step.geometry.step_q16, key);
        x[count] = p.x_q16 / 65536.0;
        y[count++] = p.y_q16 / 65536.0;
    }
    return count;
}

/** Replaces the features by new ones at these positions of the last image, with ids 0, 1, 2... */
void bridge_seed(int count, const double *x, const double *y)
{
    struct vf_feature *f = memory.refill.feature[step.parity];
    memset(f, 0, sizeof memory.refill.feature[0]);
    for (int i = 0; i < count && i < VFRONT_TRACKS; i++) {
        f[i].id = (uint64_t)i;
        f[i].template_index = (uint16_t)i;
        f[i].x_q16 = (int32_t)(x[i] * 65536.0 + 0.5);
        f[i].y_q16 = (int32_t)(y[i] * 65536.0 + 0.5);
        f[i].template_due = 1;
    }
    memory.refill.counts[step.parity].count = (uint32_t)vf_clamp(count, 0, VFRONT_TRACKS);
}

/** Tracks the live features into the last image. By id: position, reason of an end or 0, and Gauss-Newton steps by
 *  level. Entries of features that ended earlier do not change. */
void bridge_track(double *x, double *y, int32_t *end, int32_t *taken)
{
    struct vf_refill_memory *m = &memory.refill;
    const struct vf_feature *before = m->feature[step.parity ^ 1];
    const uint32_t count = m->counts[step.parity ^ 1].count;
    uint32_t live = 0;
    look();
    for (uint32_t i = 0; i < count; i++) {
        struct vf_patch patch;
        const uint64_t id = before[i].id;
        steps_now = &steps[id];
        memset(steps_now, 0, sizeof *steps_now);
        const struct vf_feature f = vf_track_one(&patch, &views.track, &memory.ingest.params, before[i]);
        x[id] = f.x_q16 / 65536.0;
        y[id] = f.y_q16 / 65536.0;
        end[id] = f.end;
        for (uint32_t level = 0; level < VFRONT_LEVELS; level++)
            taken[id * VFRONT_LEVELS + level] = (int32_t)steps_now->at[level];
        if (!f.end) m->feature[step.parity][live++] = f;
    }
    m->counts[step.parity].count = live;
}
