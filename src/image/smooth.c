/* SPDX-License-Identifier: MIT */
/* Host form of smooth: for each row, sums down the columns, then along the row, as loops that compilers vectorise.
 * Arithmetic in 16 bits doubles the values per vector. The weights are even: with halved weights a sum over seven
 * pixels is at most 32640, and two such sums fit. */
#include "smooth.h"

#if VFRONT_DESCRIPTORS

/** Number of pixels of a row that are computed together, as whole vectors. The rest of a row is computed as its last
 *  CHUNK pixels, some of them twice. */
#define CHUNK 32

/** Halves of the filter weights, from the outermost to the centre. They are a parameter, because compilers replace
 *  products with constants by slower shifts and sums. */
struct weights {
    uint16_t half[VF_SMOOTH_RADIUS + 1];
};

/** Filters columns first..end-1 over seven rows, with halved weights. A sum is at most 128 * 255. */
VF_HOT static void smooth_columns(uint16_t *restrict sum, const uint8_t *const row[2 * VF_SMOOTH_RADIUS + 1],
                                  struct weights w, int32_t first, int32_t end)
{
    const uint8_t *a = row[0], *b = row[1], *c = row[2], *d = row[3], *e = row[4], *f = row[5], *g = row[6];
    for (int32_t x = first; x < end; x++)
        sum[x] = (uint16_t)(w.half[0] * (a[x] + g[x]) + w.half[1] * (b[x] + f[x]) + w.half[2] * (c[x] + e[x]) +
                            w.half[3] * d[x]);
}

/** Product / 64, rounded down: the upper half of a product of 16-bit values, one vector instruction. half_weight <
 *  64. */
static inline uint16_t product_64th(uint16_t half_weight, uint16_t v)
{
    return (uint16_t)((uint32_t)(uint16_t)(half_weight << 10) * v >> 16);
}

/** Filters columns first..end-1 of a row of column sums: vf_scale_round() of four times the sum with halved weights.
 *  The sum has 22 bits, but 16-bit arithmetic gives its 64th: `high`, the sum of the products' 64ths, plus `lost` / 64.
 *  `lost`, the remainders, is below 4 * 64 and so follows from `low`, the lower 16 bits. Reads VF_SMOOTH_RADIUS more
 *  sums on both sides. */
VF_HOT static void smooth_row(uint8_t *restrict to, const uint16_t *restrict sum, struct weights w, int32_t first,
                              int32_t end)
{
    for (int32_t x = first; x < end; x++) {
        const uint16_t a = (uint16_t)(sum[x - 3] + sum[x + 3]), b = (uint16_t)(sum[x - 2] + sum[x + 2]);
        const uint16_t c = (uint16_t)(sum[x - 1] + sum[x + 1]), d = sum[x];
        const uint16_t low = (uint16_t)(w.half[0] * a + w.half[1] * b + w.half[2] * c + w.half[3] * d);
        const uint16_t high = (uint16_t)(product_64th(w.half[0], a) + product_64th(w.half[1], b) +
                                         product_64th(w.half[2], c) + product_64th(w.half[3], d));
        const uint16_t lost = (uint16_t)(low - 64 * high);
        to[x] = (uint8_t)((uint16_t)(high + lost / 64 + 128) >> 8);
    }
}

/** Smooths a level of a camera, row by row. Mirrors the column sums at both ends of each row. */
static void smooth_level(const struct vf_smooth_view *s, int32_t camera, int32_t level)
{
    static const uint16_t weight[2 * VF_SMOOTH_RADIUS + 1] = {VF_SMOOTH_WEIGHTS};
    const struct vf_level *l = &s->geometry.scale[camera][level];
    const uint8_t *from = vf_scale_pixels(s->scale, s->pictures.level0[s->parity][camera], camera, level, l);
    uint8_t *to = s->smooth->pixels[camera] + vf_smooth_offset(s->geometry.scale[camera], level);
    uint16_t padded[VFRONT_WIDTH + 2 * VF_SMOOTH_RADIUS], *sum = padded + VF_SMOOTH_RADIUS;
    struct weights w;
    for (int32_t k = 0; k <= VF_SMOOTH_RADIUS; k++) w.half[k] = weight[k] / 2;
    const int32_t whole = l->width / CHUNK * CHUNK, last = vf_max(l->width - CHUNK, 0);
    for (int32_t y = 0; y < l->height; y++) {
        uint8_t *line = to + (size_t)y * (size_t)l->pitch;
        const uint8_t *row[2 * VF_SMOOTH_RADIUS + 1];
        for (int32_t k = -VF_SMOOTH_RADIUS; k <= VF_SMOOTH_RADIUS; k++)
            row[k + VF_SMOOTH_RADIUS] = from + (size_t)vf_mirror(y + k, l->height) * (size_t)l->pitch;
        smooth_columns(sum, row, w, 0, whole);
        if (whole < l->width) smooth_columns(sum, row, w, last, l->width);
        for (int32_t k = 1; k <= VF_SMOOTH_RADIUS; k++) {
            sum[-k] = sum[k];
            sum[l->width - 1 + k] = sum[l->width - 1 - k];
        }
        smooth_row(line, sum, w, 0, whole);
        if (whole < l->width) smooth_row(line, sum, w, last, l->width);
    }
}

#endif

void vf_smooth_host(const struct vf_smooth_view *s)
{
#if VFRONT_DESCRIPTORS
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++)
        for (int32_t level = 0; level < s->geometry.searched; level++) smooth_level(s, camera, level);
#else
    (void)s;
#endif
}
