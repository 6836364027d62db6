/* SPDX-License-Identifier: MIT */
/* Host form of scale: down the columns first, which compilers turn into vectors, then along what is left of the rows. */
#include "stages.h"

/** What the pixels of a level take from a row of level 0. */
struct columns {
    int32_t taps;
    uint16_t first[VFRONT_WIDTH], weight[VFRONT_WIDTH][VF_TAPS];
};

static void weigh_columns(struct columns *c, int32_t width, uint32_t step_q16, uint32_t inverse_q19)
{
    c->taps = 0;
    for (int32_t u = 0; u < width; u++) {
        const int32_t first = vf_scale_first(vf_scale_half(u), step_q16, inverse_q19);
        c->first[u] = (uint16_t)first;
        for (int32_t k = 0; k < VF_TAPS; k++) {
            c->weight[u][k] = (uint16_t)vf_scale_weight(u, width, first + k, inverse_q19);
            if (c->weight[u][k]) c->taps = vf_max(c->taps, k + 1);
        }
    }
}

VF_HOT static void add_row(uint16_t *restrict sum, const uint8_t *restrict row, uint16_t weight, int32_t width)
{
    for (int32_t x = 0; x < width; x++) sum[x] = (uint16_t)(sum[x] + weight * row[x]);
}

/** Makes a row of a level from a weighted sum of rows of level 0. */
static inline void narrow_row(uint8_t *restrict to, const uint16_t *restrict sum, const struct columns *c, int32_t width, int32_t taps)
{
    for (int32_t u = 0; u < width; u++) {
        const uint16_t *from = sum + c->first[u];
        uint32_t all = 0;
        for (int32_t k = 0; k < taps; k++) all += (uint32_t)c->weight[u][k] * from[k];
        to[u] = vf_scale_round(all);
    }
}

/** The same; the inner loop of known length where that is short. */
static void narrow(uint8_t *restrict to, const uint16_t *restrict sum, const struct columns *c, int32_t width)
{
    switch (c->taps) {
    case 4: narrow_row(to, sum, c, width, vf_min(4, VF_TAPS)); break;
    case 5: narrow_row(to, sum, c, width, vf_min(5, VF_TAPS)); break;
    case 6: narrow_row(to, sum, c, width, vf_min(6, VF_TAPS)); break;
    case 7: narrow_row(to, sum, c, width, vf_min(7, VF_TAPS)); break;
    case 9: narrow_row(to, sum, c, width, vf_min(9, VF_TAPS)); break;
    default: narrow_row(to, sum, c, width, c->taps); break;
    }
}

static void make_level(const struct vf_step *s, int32_t camera, int32_t level)
{
    const struct vf_level *l0 = &s->geometry.scale[camera][0], *l = &s->geometry.scale[camera][level];
    const uint32_t step_q16 = s->geometry.step_q16[level], inverse_q19 = s->geometry.inverse_q19[level];
    const uint8_t *from = vf_scale_pixels(s, camera, 0);
    uint8_t *to = vf_scale_pixels(s, camera, level);
    struct columns columns;
    uint16_t sum[VFRONT_WIDTH + VF_TAPS]; /* the last pixels of a level are given taps of weight 0 beyond the picture */
    memset(sum, 0, sizeof sum);
    weigh_columns(&columns, l->width, step_q16, inverse_q19);
    for (int32_t v = 0; v < l->height; v++) {
        memset(sum, 0, sizeof *sum * (size_t)l0->width);
        int32_t j = vf_scale_first(vf_scale_half(v), step_q16, inverse_q19);
        for (int32_t w; (w = vf_scale_weight(v, l->height, j, inverse_q19)) > 0; j++)
            add_row(sum, from + (size_t)j * (size_t)l0->pitch, (uint16_t)w, l0->width);
        narrow(to + (size_t)v * (size_t)l->pitch, sum, &columns, l->width);
    }
}

void vf_scale_host(const struct vf_step *s)
{
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++)
        for (int32_t level = 1; level < vf_scales(s); level++) make_level(s, camera, level);
}
