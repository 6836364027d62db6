/* SPDX-License-Identifier: MIT */
/* The stages scale, smooth and describe as a shared library for tests/features/opencv_orb.py: an image and places on
 * its levels go in, angles and descriptors come out. */
#include "core/memory.h"

static struct vf_memory memory;
static struct vf_pinned pinned;
static struct vf_step step;
static struct vf_views views;

/** Runs a stage on `step`. */
#define RUN(name) (vf_##name##_make_view(&views.name, &step), vf_##name##_host(&views.name))

int bridge_open(const uint8_t *grey, int width, int height);
double bridge_level(int level, int *width, int *height);
int bridge_describe(int count, const int32_t *places, float *angle, uint8_t *bits);

/** The levels that vfront.h promises: pixels (num / den)^level as large, sizes rounded down, none smaller than 16
 *  px. */
static void lay_out(int32_t width, int32_t height)
{
    struct vf_geometry *g = &step.geometry;
    double size = 1.0;
    uint32_t offset = 0;
    for (g->scales = 0; g->scales < VFRONT_SCALES; g->scales++, size *= (double)VFRONT_SCALE_NUM / VFRONT_SCALE_DEN) {
        struct vf_level *l = &g->scale[0][g->scales];
        g->step_q16[g->scales] = (uint32_t)(size * 65536.0 + 0.5);
        g->inverse_q19[g->scales] = (uint32_t)(524288.0 / size + 0.5);
        l->width = vf_scale_size(width, g->inverse_q19[g->scales]);
        l->height = vf_scale_size(height, g->inverse_q19[g->scales]);
        if (l->width < 16 || l->height < 16) break;
        l->pitch = VFRONT_PITCH(l->width);
        l->offset = offset;
        if (g->scales) offset += (uint32_t)(l->pitch * l->height);
    }
    g->cameras = g->levels = 1;
    g->level[0][0] = g->raw[0] = g->scale[0][0];
}

/** Takes an image, [height][width], and makes its levels. Returns how many; 0: it is beyond the config. */
int bridge_open(const uint8_t *grey, int width, int height)
{
    if (width < 16 || width > VFRONT_WIDTH || height < 16 || height > VFRONT_HEIGHT) return 0;
    memset(&step, 0, sizeof step);
    memset(&pinned.params, 0, sizeof pinned.params);
    vfront_tuning_default(&step.tuning);
    step.tuning.describe = 1;
    step.tuning.select_share_percent = 0; /* key points of all levels in a row */
    step.memory = &memory;
    step.pinned = &pinned;
    lay_out(width, height);
    vf_geometry_derive(&step.geometry, &step.tuning);
    pinned.params.source[0].data = grey;
    pinned.params.source[0].pitch = (uint32_t)width;
    RUN(ingest);
    RUN(scale);
    RUN(smooth);
    return step.geometry.scales;
}

/** Pixel size of a level [px of level 0], and its width and height [px]. */
double bridge_level(int level, int *width, int *height)
{
    *width = step.geometry.scale[0][level].width;
    *height = step.geometry.scale[0][level].height;
    return step.geometry.step_q16[level] / 65536.0;
}

/**
 * Describes places of the image's levels.
 *
 * @param[in]  places  [count][3]: level, x and y of a pixel, 3 px or more from the level's border.
 * @param[out] angle   [count] [rad]
 * @param[out] bits    [count][32], in OpenCV's order.
 * @return     How many were described: `count`, but no more than VFRONT_KEYPOINTS.
 */
int bridge_describe(int count, const int32_t *places, float *angle, uint8_t *bits)
{
    count = vf_clamp(count, 0, VFRONT_KEYPOINTS);
    memory.select.count[0][0] = (uint32_t)count;
    for (int i = 0; i < count; i++)
        memory.select.key[0][i] = vf_detect_key(1, 1, places[3 * i], places[3 * i + 1], places[3 * i + 2]);
    RUN(describe);
    for (int i = 0; i < count; i++) {
        angle[i] = memory.describe.angle[step.parity][0][i];
        for (int k = 0; k < 32; k++)
            bits[32 * i + k] = (uint8_t)(memory.describe.descriptor[step.parity][0][i].word[k / 4] >> 8 * (k % 4));
    }
    return count;
}
