/* SPDX-License-Identifier: MIT */
/* Host form of freeze: row by row. */
#include "freeze.h"

/** Compares a row of `width` pixels with the same row of the previous image, and counts it in `rows` if it is equal. */
static void compare_row(struct vf_freeze_rows *rows, const uint8_t *now, const uint8_t *before, int32_t width)
{
    int texture = 0;
    if (memcmp(now, before, (size_t)width) != 0) return;
    for (int32_t x = 0; x < width && !texture; x += VF_FREEZE_CHUNK)
        texture = vf_freeze_texture(now + x, vf_min(VF_FREEZE_CHUNK, width - x));
    vf_freeze_count(rows, 0, texture);
}

/** Adds row y of an image to the checksum, and counts it if it has texture. */
static void add_row(struct vf_freeze_checksum *sum, const uint8_t *row, int32_t width, uint32_t y)
{
    int texture = 0;
    const int32_t whole = width & -4;
    for (int32_t x = 0; x < whole; x += 4) {
        const uint32_t word = row[x] | (uint32_t)row[x + 1] << 8 | (uint32_t)row[x + 2] << 16 |
                              (uint32_t)row[x + 3] << 24;
        sum->sum += vf_freeze_word(word, (y << 16) + (uint32_t)x);
    }
    sum->sum += vf_freeze_part(row + whole, width - whole, (y << 16) + (uint32_t)whole);
    for (int32_t x = 0; x < width && !texture; x += VF_FREEZE_CHUNK)
        texture = vf_freeze_texture(row + x, vf_min(VF_FREEZE_CHUNK, width - x));
    sum->textured += (uint32_t)texture;
}

/** Checksum of an image, and its comparison with the checksums of older images. */
static void compare_older(const struct vf_freeze_view *s, int32_t c)
{
    struct vf_freeze_memory *m = s->freeze;
    const int now = s->parity, before = now ^ 1;
    const struct vf_level *l = &s->geometry.raw[c];
    for (int32_t y = 0; y < l->height; y += VF_FREEZE_STEP)
        add_row(&m->sum[now][c], s->ingest->picture[now][c] + (size_t)y * (size_t)l->pitch, l->width, (uint32_t)y);
    m->repeated[now][c] = vf_freeze_repeated(m->sum[now][c], s->ingest->params.frame == 0, &m->shown[before][c],
                                             &m->shown[now][c]);
    memset(&m->sum[before][c], 0, sizeof m->sum[before][c]);
}

void vf_freeze_host(const struct vf_freeze_view *s)
{
    struct vf_freeze_memory *m = s->freeze;
    const int first = s->ingest->params.frame == 0, now = s->parity, before = s->parity ^ 1;
    for (int32_t c = 0; c < s->geometry.cameras; c++) {
        const struct vf_level *l = &s->geometry.raw[c];
        const uint8_t *picture = s->ingest->picture[now][c], *last = s->ingest->picture[before][c];
        for (int32_t y = 0; y < l->height; y++)
            compare_row(&m->rows[now][c], picture + (size_t)y * (size_t)l->pitch, last + (size_t)y * (size_t)l->pitch,
                        l->width);
        m->frames[now][c] = vf_freeze_frames(m->rows[now][c], l->height, first, m->frames[before][c]);
        memset(&m->rows[before][c], 0, sizeof m->rows[before][c]);
        compare_older(s, c);
    }
}
