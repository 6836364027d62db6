/* SPDX-License-Identifier: MIT */
#include "patch.h"

/** Pixels under a patch, with a row and a column more than it for interpolation: in the picture itself, or, where the patch
 *  hangs over the border, in a copy that repeats the border's pixels. */
struct under {
    const uint8_t *pixels;
    ptrdiff_t pitch;
    uint8_t copy[(VF_PATCH + 3) * (VF_PATCH + 3)];
};

static void look_under(struct under *u, const struct vf_view *view, int32_t x, int32_t y, int32_t side)
{
    if (x >= 0 && y >= 0 && x + side <= view->width && y + side <= view->height) {
        u->pixels = view->pixels + (ptrdiff_t)y * view->pitch + x;
        u->pitch = view->pitch;
        return;
    }
    for (int32_t r = 0; r < side; r++) {
        const uint8_t *row = view->pixels + (ptrdiff_t)vf_clamp(y + r, 0, view->height - 1) * view->pitch;
        for (int32_t c = 0; c < side; c++) u->copy[r * side + c] = row[vf_clamp(x + c, 0, view->width - 1)];
    }
    u->pixels = u->copy;
    u->pitch = side;
}

/** Interpolated grey levels, Q5, [side][side]. */
VF_HOT static void mix(int16_t *restrict grey, const uint8_t *restrict pixels, ptrdiff_t pitch, struct vf_weights w,
                       int32_t side)
{
    for (int32_t r = 0; r < side; r++) {
        const uint8_t *upper = pixels + r * pitch, *lower = upper + pitch;
        for (int32_t c = 0; c < side; c++)
            grey[r * side + c] = (int16_t)vf_track_mix(w, upper[c], upper[c + 1], lower[c], lower[c + 1]);
    }
}

VF_HOT static struct vf_moments moments(const struct vf_patch *p, int32_t pixels, int32_t pivot_q5)
{
    struct vf_moments m = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    for (int32_t i = 0; i < pixels; i++) {
        const int32_t x = p->dx[i], y = p->dy[i], t = vf_track_contrast(p->grey[i], pivot_q5);
        m.xx += x * x;
        m.xy += x * y;
        m.xt += x * t;
        m.x1 += x;
        m.yy += y * y;
        m.yt += y * t;
        m.y1 += y;
        m.tt += t * t;
        m.t1 += t;
    }
    return m;
}

/** Gradients and the sum of grey levels, from grey levels with one more all around. Written out for one level's rule at a time,
 *  which the compiler can then spread over a vector. */
#define GRADIENTS(name, level)                                                                                         \
    VF_HOT static int32_t name(struct vf_patch *restrict p, const int16_t *restrict grey, int32_t size)                \
    {                                                                                                                  \
        int32_t sum = 0;                                                                                               \
        for (int32_t r = 0; r < size; r++) {                                                                           \
            const int16_t *above = grey + r * (size + 2) + 1, *at = above + size + 2, *below = at + size + 2;          \
            int16_t *to = p->grey + r * size, *dx = p->dx + r * size, *dy = p->dy + r * size;                          \
            for (int32_t c = 0; c < size; c++) {                                                                       \
                const int32_t up = above[c + 1] - above[c - 1], here = at[c + 1] - at[c - 1],                          \
                              down = below[c + 1] - below[c - 1];                                                      \
                const int32_t left = below[c - 1] - above[c - 1], mid = below[c] - above[c],                           \
                              right = below[c + 1] - above[c + 1];                                                     \
                to[c] = at[c];                                                                                         \
                dx[c] = (int16_t)vf_track_gradient(level, up, here, down);                                             \
                dy[c] = (int16_t)vf_track_gradient(level, left, mid, right);                                           \
                sum += at[c];                                                                                          \
            }                                                                                                          \
        }                                                                                                              \
        return sum;                                                                                                    \
    }
GRADIENTS(gradients_finest, 0)
GRADIENTS(gradients_coarse, 1)

/** Takes away the gradients beyond the picture. */
static void cut(struct vf_patch *patch, const struct vf_view *view, int32_t x, int32_t y, int32_t size)
{
    for (int32_t i = 0; i < size * size; i++)
        if (!vf_track_inside(view, x + i % size, y + i / size)) patch->dx[i] = patch->dy[i] = 0;
}

void vf_patch_take(struct vf_patch *patch, const struct vf_view *view, int32_t level, int32_t light, int32_t x_q16,
                   int32_t y_q16, int32_t size, int32_t *pivot_q5, struct vf_moments *out)
{
    const int32_t side = size + 2, x = x_q16 >> 16, y = y_q16 >> 16;
    int16_t grey[(VF_PATCH + 2) * (VF_PATCH + 2)];
    struct under u;
    look_under(&u, view, x - 1, y - 1, side + 1);
    mix(grey, u.pixels, u.pitch, vf_track_weights(x_q16, y_q16), side);
    const int32_t sum = level ? gradients_coarse(patch, grey, size) : gradients_finest(patch, grey, size);
    if (u.pixels == u.copy) cut(patch, view, x, y, size);
    *pivot_q5 = vf_track_pivot(light, sum, size * size);
    *out = moments(patch, size * size, *pivot_q5);
}

/** What a template is compared with. */
struct look {
    const uint8_t *pixels;
    ptrdiff_t pitch;
    struct vf_weights w;
    int32_t pivot_q5, alpha_q14, beta_q5;
};

#define COMPARE(size)                                                                                                  \
    VF_HOT static struct vf_sums compare_##size(const struct vf_patch *p, const struct look *l)                        \
    {                                                                                                                  \
        const struct vf_weights w = l->w;                                                                              \
        const int32_t pivot = l->pivot_q5, alpha = l->alpha_q14, beta = l->beta_q5;                                    \
        int32_t x = 0, y = 0, t = 0, one = 0, absolute = 0;                                                            \
        for (int32_t r = 0; r < (size); r++) {                                                                         \
            const uint8_t *restrict upper = l->pixels + r * l->pitch, *restrict lower = upper + l->pitch;              \
            const int16_t *restrict grey = p->grey + r * (size), *restrict dx = p->dx + r * (size),                    \
                                    *restrict dy = p->dy + r * (size);                                                 \
            for (int32_t c = 0; c < (size); c++) {                                                                     \
                const int32_t now = vf_track_mix(w, upper[c], upper[c + 1], lower[c], lower[c + 1]);                   \
                const int32_t residual = vf_track_residual(now, grey[c], pivot, alpha, beta);                          \
                x += residual * dx[c];                                                                                 \
                y += residual * dy[c];                                                                                 \
                t += residual * vf_track_contrast(grey[c], pivot);                                                     \
                one += residual;                                                                                       \
                absolute += vf_abs(residual);                                                                          \
            }                                                                                                          \
        }                                                                                                              \
        const struct vf_sums s = {x, y, t, one, absolute};                                                             \
        return s;                                                                                                      \
    }
COMPARE(16)
COMPARE(8)

struct vf_sums vf_patch_compare(const struct vf_patch *patch, const struct vf_view *view, int32_t x_q16, int32_t y_q16,
                                int32_t size, int32_t pivot_q5, int32_t alpha_q14, int32_t beta_q5)
{
    struct under u;
    look_under(&u, view, x_q16 >> 16, y_q16 >> 16, size + 1);
    const struct look l = {u.pixels, u.pitch, vf_track_weights(x_q16, y_q16), pivot_q5, alpha_q14, beta_q5};
    return size == 16 ? compare_16(patch, &l) : compare_8(patch, &l);
}

void vf_patch_load(struct vf_patch *patch, int16_t (*from)[VF_PATCH_PIXELS], int32_t size)
{
    const size_t bytes = sizeof(int16_t) * (size_t)(size * size);
    memcpy(patch->grey, from[0], bytes);
    memcpy(patch->dx, from[1], bytes);
    memcpy(patch->dy, from[2], bytes);
}

void vf_patch_store(const struct vf_patch *patch, int16_t (*to)[VF_PATCH_PIXELS], int32_t size)
{
    const size_t bytes = sizeof(int16_t) * (size_t)(size * size);
    memcpy(to[0], patch->grey, bytes);
    memcpy(to[1], patch->dx, bytes);
    memcpy(to[2], patch->dy, bytes);
}

void vf_patch_store_normal(struct vf_normal *to, const struct vf_normal *from) { *to = *from; }
