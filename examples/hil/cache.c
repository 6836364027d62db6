/* SPDX-License-Identifier: MIT */
#include "cache.h"

#include <stdlib.h>
#include <string.h>

struct cache {
    dataset_t *dataset;
    uint32_t frames;
    vfront_frame_t *frame; /* picture[0].data NULL: not read yet */
};

cache_t *cache_open(dataset_t *dataset, uint32_t frames)
{
    cache_t *c = calloc(1, sizeof *c);
    if (c) c->frame = calloc(frames, sizeof *c->frame);
    if (!c || !c->frame) {
        free(c);
        return NULL;
    }
    c->dataset = dataset;
    c->frames = frames;
    return c;
}

static void *copy_of(const void *from, size_t bytes)
{
    void *to = malloc(bytes ? bytes : 1);
    if (to) memcpy(to, from, bytes);
    return to;
}

static void release(vfront_frame_t *f)
{
    for (int i = 0; i < VFRONT_CAMERAS; i++) free((void *)(uintptr_t)f->picture[i].data);
    free((void *)(uintptr_t)f->gyro);
    free((void *)(uintptr_t)f->imu);
    memset(f, 0, sizeof *f);
}

/** Copy of a frame; of nothing that a data set does not give. Returns 0 without memory. */
static int keep(const cache_t *c, vfront_frame_t *to, const vfront_frame_t *from)
{
    *to = *from;
    to->R_cur_prev = NULL;
    int whole = 1;
    for (int32_t i = 0; i < VFRONT_CAMERAS; i++) {
        vfront_picture_t *p = &to->picture[i];
        p->data = i < dataset_rig(c->dataset)->cameras
                      ? copy_of(from->picture[i].data, (size_t)p->pitch_bytes * (size_t)p->height_px)
                      : NULL;
        p->mask = NULL;
        whole &= p->data != NULL || i >= dataset_rig(c->dataset)->cameras;
    }
    if (from->gyro) whole &= (to->gyro = copy_of(from->gyro, from->gyro_count * sizeof *from->gyro)) != NULL;
    if (from->imu) whole &= (to->imu = copy_of(from->imu, from->imu_count * sizeof *from->imu)) != NULL;
    if (!whole) release(to);
    return whole;
}

const char *cache_frame(cache_t *c, uint32_t index, vfront_frame_t *frame)
{
    if (index >= c->frames) return "a frame that is not kept";
    if (!c->frame[index].picture[0].data) {
        const char *error = dataset_read(c->dataset, index, frame);
        if (error) return error;
        if (!keep(c, &c->frame[index], frame)) return "no memory for the frames";
    }
    *frame = c->frame[index];
    return NULL;
}

void cache_close(cache_t *c)
{
    if (!c) return;
    for (uint32_t i = 0; i < c->frames; i++) release(&c->frame[i]);
    free(c->frame);
    free(c);
}
