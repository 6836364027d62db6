/* SPDX-License-Identifier: MIT */
/* Host form of scale. The support of a pixel consists of two adjacent boxes along each axis, each as large as the
 * pixel. Neighbouring pixels share a box, so every box is summed once. A level is made tile by tile: column sums over
 * rows of level 0; transposition, so that a row's neighbours lie in one vector; row sums; transposition back. */
#include "scale.h"

/** Tile of a level: the pixels that are made together. Blocks of ROWS x ROWS values in it are transposed. */
#define ROWS 16             /* height of a tile [px] */
#define COLUMNS 64          /* width of a tile [px] */
#define BLOCK (ROWS * ROWS) /* number of values of a transposed block */

/** Largest number of level 0 pixels along one axis in a box, which is as large as a pixel of the coarsest level. */
#define BOX_TAPS (VFRONT_SCALES > 1 ? VF_SCALE_TAPS / 2 + 1 : 3)
VF_STATIC_ASSERT(BOX_TAPS >= 3, "vfront: three rows of a box are summed at once");
/* Largest number of level 0 pixels along one axis in all boxes of a tile, rounded up to a multiple of ROWS. */
#define TILE_TAPS (((COLUMNS + 1) * VF_SCALE_TAPS / 2 + 2 + 2 * ROWS) / ROWS * ROWS)

/** Filter taps of a box along one axis. Box u of a level begins half a pixel before pixel u. The first and last box are
 *  half a pixel that counts twice. */
struct box {
    uint16_t first;            /* first pixel of level 0 */
    uint16_t taps;             /* number of pixels of level 0 */
    uint16_t weight[BOX_TAPS]; /* weight of each pixel [1/256]; 0 beyond `taps` */
};

/** Intermediate results of one tile. */
struct tile {
    /* weighted column sums over the rows of two boxes: of the current and of the previous row of boxes */
    uint16_t box[2][TILE_TAPS];
    /* column sums of two vertically adjacent boxes, in blocks of ROWS x ROWS, each row by row */
    uint16_t sum[TILE_TAPS * ROWS];
    uint16_t transposed[(TILE_TAPS + BOX_TAPS) * ROWS]; /* the values of `sum`, column by column */
    uint8_t column[COLUMNS * ROWS];                     /* pixels of the level, column by column */
    uint8_t pixels[COLUMNS * ROWS]; /* pixels of the level in blocks of ROWS x ROWS, each row by row */
};

/** Filter taps of box u, 0..size, of a level `size` px wide (high). Computes all BOX_TAPS weights without a branch on
 *  their number, which varies between boxes. */
static void find_box(struct box *b, int32_t u, int32_t size, uint32_t step_q16, uint32_t inverse_q19)
{
    const int32_t half = vf_scale_support(u), end = vf_min(2 * u + 1, 2 * size), twice = u == 0 || u == size;
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

/** Weighted sums of `count` columns of level 0 over the rows of a box. Three rows are summed at once; in a box of fewer
 *  rows the last row repeats with weight 0. */
VF_HOT static void add_rows(uint16_t *restrict sum, const uint8_t *restrict from, ptrdiff_t pitch,
                            const struct box *restrict b, int32_t count)
{
    const uint8_t *second = from + vf_min(1, b->taps - 1) * pitch, *third = from + vf_min(2, b->taps - 1) * pitch;
    const uint16_t w0 = b->weight[0], w1 = b->weight[1], w2 = b->weight[2];
    for (int32_t x = 0; x < count; x++) sum[x] = (uint16_t)(w0 * from[x] + w1 * second[x] + w2 * third[x]);
    for (int32_t k = 3; k < BOX_TAPS && k < b->taps; k++) {
        const uint8_t *row = from + k * pitch;
        const uint16_t weight = b->weight[k];
        for (int32_t x = 0; x < count; x++) sum[x] = (uint16_t)(sum[x] + weight * row[x]);
    }
}

/** Adds two rows of column sums, of vertically adjacent boxes. Writes the result to one row of `blocks` consecutive
 *  blocks of ROWS x ROWS values. */
VF_HOT static void add_boxes(uint16_t *restrict sum, const uint16_t *restrict a, const uint16_t *restrict b,
                             int32_t blocks)
{
    for (int32_t i = 0; i < blocks; i++)
        for (int32_t x = 0; x < ROWS; x++) sum[BLOCK * i + x] = (uint16_t)(a[ROWS * i + x] + b[ROWS * i + x]);
}

/** Perfect shuffle of BLOCK values: the first half to even indices, the second half to odd ones. Four shuffles
 *  transpose a block of 16x16; each is a pair of unpack instructions. */
#define SHUFFLE(to, from)                                                                                              \
    for (int i = 0; i < BLOCK / 2; i++) {                                                                              \
        (to)[2 * i] = (from)[i];                                                                                       \
        (to)[2 * i + 1] = (from)[i + BLOCK / 2];                                                                       \
    }
#define TRANSPOSE(name, type)                                                                                          \
    VF_HOT static void name(type *restrict to, const type *restrict from)                                              \
    {                                                                                                                  \
        type other[BLOCK];                                                                                             \
        SHUFFLE(other, from)                                                                                           \
        SHUFFLE(to, other)                                                                                             \
        SHUFFLE(other, to)                                                                                             \
        SHUFFLE(to, other)                                                                                             \
    }
TRANSPOSE(transpose_sums, uint16_t)
TRANSPOSE(transpose_pixels, uint8_t)

/** Makes `count` columns of pixels of the level, ROWS each: weighted sums over the columns of each box, then sums of
 *  two neighbouring boxes. from: transposed column sums, beginning at column `first` of level 0; b: count + 1 boxes. */
VF_HOT static void resample_columns(uint8_t *restrict to, const uint16_t *restrict from, const struct box *restrict b,
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

/** Makes a tile of `rows` x `columns` px of the level in t->pixels. row: rows + 1 boxes; column: columns + 1 boxes. */
static void make_tile(struct tile *t, const uint8_t *from, ptrdiff_t pitch, const struct box *row, int32_t rows,
                      const struct box *column, int32_t columns)
{
    const int32_t first = column[0].first / ROWS * ROWS, count = column[columns].first + column[columns].taps - first;
    const int32_t blocks = (count + ROWS - 1) / ROWS;
    for (int32_t r = 0; r <= rows; r++) {
        add_rows(t->box[r & 1], from + row[r].first * pitch + first, pitch, &row[r], ROWS * blocks);
        if (r) add_boxes(t->sum + ROWS * (r - 1), t->box[0], t->box[1], blocks);
    }
    for (int32_t i = 0; i < blocks; i++) transpose_sums(t->transposed + BLOCK * i, t->sum + BLOCK * i);
    resample_columns(t->column, t->transposed, column, first, columns);
    for (int32_t u = 0; u < columns; u += ROWS) transpose_pixels(t->pixels + ROWS * u, t->column + ROWS * u);
}

/** Copies a row of a block, at most `columns` px. A whole row is copied as a vector, without a call. */
static inline void copy_row(uint8_t *to, const uint8_t *from, int32_t columns)
{
    if (columns >= ROWS)
        memcpy(to, from, ROWS);
    else
        memcpy(to, from, (size_t)columns);
}

/** Makes a level, 1 and up, from level 0. */
static void make_level(const struct vf_scale_view *s, int32_t camera, int32_t level)
{
    const struct vf_level *l0 = &s->geometry.scale[camera][0], *l = &s->geometry.scale[camera][level];
    const uint32_t step_q16 = s->geometry.step_q16[level], inverse_q19 = s->geometry.inverse_q19[level];
    const uint8_t *from = s->pictures.level0[s->parity][camera];
    uint8_t *to = s->scale->pixels[camera] + l->offset;
    struct box column[VFRONT_WIDTH + 1], row[ROWS + 1];
    struct tile tile;
    /* clears values beyond the image, which are read with weight 0, or for pixels that are not copied */
    memset(&tile, 0, sizeof tile);
    for (int32_t u = 0; u <= l->width; u++) find_box(&column[u], u, l->width, step_q16, inverse_q19);
    for (int32_t v = 0; v < l->height; v += ROWS) {
        const int32_t rows = vf_min(ROWS, l->height - v);
        for (int32_t r = 0; r <= rows; r++) find_box(&row[r], v + r, l->height, step_q16, inverse_q19);
        for (int32_t u = 0; u < l->width; u += COLUMNS) {
            const int32_t columns = vf_min(COLUMNS, l->width - u);
            make_tile(&tile, from, l0->pitch, row, rows, column + u, columns);
            for (int32_t r = 0; r < rows; r++)
                for (int32_t x = 0; x < columns; x += ROWS)
                    copy_row(to + (v + r) * l->pitch + u + x, tile.pixels + ROWS * (x + r), columns - x);
        }
    }
}

void vf_scale_host(const struct vf_scale_view *s)
{
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++)
        for (int32_t level = 1; level < s->geometry.searched; level++) make_level(s, camera, level);
}
