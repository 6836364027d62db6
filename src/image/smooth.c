/* SPDX-License-Identifier: MIT */
#include "core/stages.h"

#if VFRONT_DESCRIPTORS

/* All in 16 bits, of which vectors hold twice as many as of 32. The weights are even: halved, they make at most 32640 of seven pixels,
 * and two such sums fit. */
static const uint16_t weight[2 * VF_SMOOTH + 1] = {VF_SMOOTH_WEIGHTS};
#define HALF(i) (uint16_t)(weight[i] / 2)

VF_HOT static void smooth_columns(uint16_t *restrict sum, const uint8_t *const row[2 * VF_SMOOTH + 1], int32_t width)
{
    const uint8_t *a = row[0], *b = row[1], *c = row[2], *d = row[3], *e = row[4], *f = row[5], *g = row[6];
    for (int32_t x = 0; x < width; x++)
        sum[x] = (uint16_t)(HALF(0) * (a[x] + g[x]) + HALF(1) * (b[x] + f[x]) + HALF(2) * (c[x] + e[x]) +
                            HALF(3) * d[x]);
}

/** A 64th of a product, rounded down: the upper half of 32 bits, which is an instruction. The weight is below 64. */
static inline uint16_t product_64th(uint16_t half_weight, uint16_t v)
{
    return (uint16_t)((uint32_t)(uint16_t)(half_weight << 10) * v >> 16);
}

/** What vf_scale_round() makes of four times the sum of products, which has 22 bits. Its 64th is that of the four products, and what they
 *  lost by rounding: less than 4 of 64, and so known from the lower 16 bits of the sum. */
VF_HOT static void smooth_row(uint8_t *restrict to, const uint16_t *restrict sum, int32_t width)
{
    for (int32_t x = 0; x < width; x++) {
        const uint16_t a = (uint16_t)(sum[x - 3] + sum[x + 3]), b = (uint16_t)(sum[x - 2] + sum[x + 2]);
        const uint16_t c = (uint16_t)(sum[x - 1] + sum[x + 1]), d = sum[x];
        const uint16_t low = (uint16_t)(HALF(0) * a + HALF(1) * b + HALF(2) * c + HALF(3) * d);
        const uint16_t high = (uint16_t)(product_64th(HALF(0), a) + product_64th(HALF(1), b) +
                                         product_64th(HALF(2), c) + product_64th(HALF(3), d));
        const uint16_t lost = (uint16_t)(low - 64 * high);
        to[x] = (uint8_t)((high + lost / 64 + 128) >> 8);
    }
}

/** Down the columns first, then along the rows: both are plain loops that compilers turn into vectors. */
static void smooth_level(const struct vf_step *s, int32_t camera, int32_t level)
{
    const struct vf_level *l = &s->geometry.scale[camera][level];
    const uint8_t *from = vf_scale_pixels(s, camera, level);
    uint8_t *to = vf_smooth_pixels(s, camera, level);
    uint16_t padded[VFRONT_WIDTH + 2 * VF_SMOOTH], *sum = padded + VF_SMOOTH;
    for (int32_t y = 0; y < l->height; y++) {
        const uint8_t *row[2 * VF_SMOOTH + 1];
        for (int32_t k = -VF_SMOOTH; k <= VF_SMOOTH; k++)
            row[k + VF_SMOOTH] = from + (size_t)vf_mirror(y + k, l->height) * (size_t)l->pitch;
        smooth_columns(sum, row, l->width);
        for (int32_t k = 1; k <= VF_SMOOTH; k++) {
            sum[-k] = sum[k];
            sum[l->width - 1 + k] = sum[l->width - 1 - k];
        }
        smooth_row(to + (size_t)y * (size_t)l->pitch, sum, l->width);
    }
}

#endif

void vf_smooth_host(const struct vf_step *s)
{
#if VFRONT_DESCRIPTORS
    if (!vf_described(&s->tuning)) return;
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++)
        for (int32_t level = 0; level < vf_scales(s); level++) smooth_level(s, camera, level);
#else
    (void)s;
#endif
}
