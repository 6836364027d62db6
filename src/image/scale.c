/* SPDX-License-Identifier: MIT */
/* Host form of scale. The area of a pixel is two boxes side by side, each as large as the pixel is, and the next pixel has the second
 * as its first; so boxes are summed once, and pixels are sums of two. A level is made tile by tile: sums down the columns of level 0;
 * these turned, so that what lay side by side along a row is one vector; sums of those; and all turned back. */
#include "core/stages.h"

/** Size of a tile, in pixels of the level made. */
#define ROWS 16
#define COLUMNS 64
#define SQUARE (ROWS * ROWS)

/** Most pixels of level 0 that reach into a box, along one axis, and into the boxes of a tile, in whole blocks. */
#define BOX_TAPS (VFRONT_SCALES > 1 ? VF_TAPS / 2 + 1 : 3)
#define SPAN (((COLUMNS + 1) * VF_TAPS / 2 + 2 + 2 * ROWS) / ROWS * ROWS)

/** Box u of a level begins half a pixel before its pixel u; the first and the last are a half that counts twice. */
struct box {
    uint16_t first, taps, weight[BOX_TAPS];
};

/** One tile at work. */
struct tile {
    uint16_t box[2][SPAN];                     /* sums down the columns, of two rows of boxes */
    uint16_t sum[SPAN * ROWS];                 /* of two boxes each, in square blocks */
    uint16_t turned[(SPAN + BOX_TAPS) * ROWS]; /* the same, column by column */
    uint8_t narrowed[COLUMNS * ROWS];          /* pixels, column by column */
    uint8_t pixels[COLUMNS * ROWS];            /* the same, in square blocks */
};

/** Without a branch on how many pixels reach into the box, which changes from box to box. */
static void weigh_box(struct box *b, int32_t u, int32_t size, uint32_t step_q16, uint32_t inverse_q19)
{
    const int32_t half = vf_scale_half(u), end = vf_min(2 * u + 1, 2 * size), twice = u == 0 || u == size;
    const int32_t first = vf_scale_first(half, step_q16, inverse_q19);
    int32_t edge[BOX_TAPS + 1], taps = 0;
    for (int32_t k = 0; k <= BOX_TAPS; k++) edge[k] = vf_scale_edge(first + k, inverse_q19);
    for (int32_t k = 0; k < BOX_TAPS; k++) {
        const int32_t weight = vf_scale_overlap(edge[k], edge[k + 1], half, end);
        b->weight[k] = (uint16_t)(weight << twice);
        taps += weight > 0;
    }
    b->first = (uint16_t)first;
    b->taps = (uint16_t)taps;
}

/** Sums `count` columns of level 0 over the rows of a box. */
VF_HOT static void add_rows(uint16_t *restrict sum, const uint8_t *restrict from, ptrdiff_t pitch,
                            const struct box *restrict b, int32_t count)
{
    const uint16_t first = b->weight[0];
    for (int32_t x = 0; x < count; x++) sum[x] = (uint16_t)(first * from[x]);
    for (int32_t k = 1; k < b->taps; k++) {
        const uint8_t *row = from + k * pitch;
        const uint16_t weight = b->weight[k];
        for (int32_t x = 0; x < count; x++) sum[x] = (uint16_t)(sum[x] + weight * row[x]);
    }
}

/** One row of sums of two boxes, a row of each block. */
VF_HOT static void add_boxes(uint16_t *restrict sum, const uint16_t *restrict a, const uint16_t *restrict b,
                             int32_t blocks)
{
    for (int32_t i = 0; i < blocks; i++)
        for (int32_t x = 0; x < ROWS; x++) sum[SQUARE * i + x] = (uint16_t)(a[ROWS * i + x] + b[ROWS * i + x]);
}

/** A pack of cards is cut in the middle and riffled. Four times over turns a square of 16x16. */
#define RIFFLE(to, from)                                                                                               \
    for (int i = 0; i < SQUARE / 2; i++) {                                                                             \
        (to)[2 * i] = (from)[i];                                                                                       \
        (to)[2 * i + 1] = (from)[i + SQUARE / 2];                                                                      \
    }
#define TURN(name, type)                                                                                               \
    VF_HOT static void name(type *restrict to, const type *restrict from)                                              \
    {                                                                                                                  \
        type other[SQUARE];                                                                                            \
        RIFFLE(other, from)                                                                                            \
        RIFFLE(to, other)                                                                                              \
        RIFFLE(other, to)                                                                                              \
        RIFFLE(to, other)                                                                                              \
    }
TURN(turn_sums, uint16_t)
TURN(turn_pixels, uint8_t)

/** Makes `count` columns of pixels: boxes along the rows, and pixels of two boxes each. */
VF_HOT static void narrow(uint8_t *restrict to, const uint16_t *restrict from, const struct box *restrict b,
                          int32_t first, int32_t count)
{
    uint32_t box[2][ROWS];
    for (int32_t u = 0; u <= count; u++, b++) {
        const uint16_t *t = from + ROWS * (b->first - first), *weight = b->weight;
        uint32_t *sum = box[u & 1];
        for (int32_t r = 0; r < ROWS; r++)
            sum[r] = (uint32_t)weight[0] * t[r] + (uint32_t)weight[1] * t[r + ROWS] +
                     (uint32_t)weight[2] * t[r + 2 * ROWS];
        for (int32_t k = 3; k < b->taps; k++)
            for (int32_t r = 0; r < ROWS; r++) sum[r] += (uint32_t)weight[k] * t[r + k * ROWS];
        for (int32_t r = 0; r < ROWS && u > 0; r++) to[ROWS * (u - 1) + r] = vf_scale_round(box[0][r] + box[1][r]);
    }
}

static void make_tile(struct tile *t, const uint8_t *from, ptrdiff_t pitch, const struct box *row, int32_t rows,
                      const struct box *column, int32_t columns)
{
    const int32_t first = column[0].first / ROWS * ROWS, count = column[columns].first + column[columns].taps - first;
    const int32_t blocks = (count + ROWS - 1) / ROWS;
    for (int32_t r = 0; r <= rows; r++) {
        add_rows(t->box[r & 1], from + row[r].first * pitch + first, pitch, &row[r], ROWS * blocks);
        if (r) add_boxes(t->sum + ROWS * (r - 1), t->box[0], t->box[1], blocks);
    }
    for (int32_t i = 0; i < blocks; i++) turn_sums(t->turned + SQUARE * i, t->sum + SQUARE * i);
    narrow(t->narrowed, t->turned, column, first, columns);
    for (int32_t u = 0; u < columns; u += ROWS) turn_pixels(t->pixels + ROWS * u, t->narrowed + ROWS * u);
}

static void make_level(const struct vf_step *s, int32_t camera, int32_t level)
{
    const struct vf_level *l0 = &s->geometry.scale[camera][0], *l = &s->geometry.scale[camera][level];
    const uint32_t step_q16 = s->geometry.step_q16[level], inverse_q19 = s->geometry.inverse_q19[level];
    const uint8_t *from = vf_scale_pixels(s, camera, 0);
    uint8_t *to = vf_scale_pixels(s, camera, level);
    struct box column[VFRONT_WIDTH + 1], row[ROWS + 1];
    struct tile tile;
    memset(&tile, 0, sizeof tile); /* what lies beyond the picture has a weight of 0, or is not copied */
    for (int32_t u = 0; u <= l->width; u++) weigh_box(&column[u], u, l->width, step_q16, inverse_q19);
    for (int32_t v = 0; v < l->height; v += ROWS) {
        const int32_t rows = vf_min(ROWS, l->height - v);
        for (int32_t r = 0; r <= rows; r++) weigh_box(&row[r], v + r, l->height, step_q16, inverse_q19);
        for (int32_t u = 0; u < l->width; u += COLUMNS) {
            const int32_t columns = vf_min(COLUMNS, l->width - u);
            make_tile(&tile, from, l0->pitch, row, rows, column + u, columns);
            for (int32_t r = 0; r < rows; r++)
                for (int32_t x = 0; x < columns; x += ROWS)
                    memcpy(to + (v + r) * l->pitch + u + x, tile.pixels + ROWS * (x + r),
                           (size_t)vf_min(ROWS, columns - x));
        }
    }
}

void vf_scale_host(const struct vf_step *s)
{
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++)
        for (int32_t level = 1; level < vf_scales(s); level++) make_level(s, camera, level);
}
