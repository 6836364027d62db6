/* SPDX-License-Identifier: MIT */
/* Host form of the patch functions that align.h declares as VF_HOOK: extraction of templates and sums of residuals,
 * over rows that the compiler vectorises. kernels/tracking/patch.cuh is the GPU form. track.h holds the shared
 * arithmetic of a pixel. Not shared: the loops, because a warp keeps its part of the patch in registers; and the
 * interpolation, here in 16 bits with the same values. The table in align.h lists the corresponding functions of host
 * and GPU. */
#include "patch.h"

/** Pixels from which a patch is interpolated, with one more row and column than the patch. They are in the image
 *  itself, or in a copy with replicated border pixels if the patch crosses the border. */
struct patch_pixels {
    const uint8_t *pixels;
    ptrdiff_t pitch;
    uint8_t copy[(VF_PATCH + 3) * (VF_PATCH + 3)];
};

/** Finds the side x side pixels of an image whose upper left pixel is (x, y). Copies them if some lie outside. */
static void find_pixels(struct patch_pixels *area, const struct vf_level_picture *picture, int32_t x, int32_t y,
                        int32_t side)
{
    if (x >= 0 && y >= 0 && x + side <= picture->width && y + side <= picture->height) {
        area->pixels = picture->pixels + (ptrdiff_t)y * picture->pitch + x;
        area->pitch = picture->pitch;
        return;
    }
    const int32_t first = vf_clamp(-x, 0, side), end = vf_clamp(picture->width - x, first, side);
    for (int32_t r = 0; r < side; r++) {
        const uint8_t *row = picture->pixels + (ptrdiff_t)vf_clamp(y + r, 0, picture->height - 1) * picture->pitch;
        uint8_t *copy = area->copy + r * side;
        for (int32_t c = 0; c < first; c++) copy[c] = row[0];
        for (int32_t c = first; c < end; c++) copy[c] = row[x + c];
        for (int32_t c = end; c < side; c++) copy[c] = row[picture->width - 1];
    }
    area->pixels = area->copy;
    area->pitch = side;
}

/** Pixels between which a patch is interpolated. The four neighbours of pixel i are elements i and i + side of both
 *  arrays, so that one loop over all pixels vectorises. */
struct neighbours {
    uint8_t left[(VF_PATCH + 2) * (VF_PATCH + 3)], /* side + 1 rows of `side` pixels, without gaps */
        right[(VF_PATCH + 2) * (VF_PATCH + 3)];    /* the pixels one column to the right of those in `left` */
};
static inline void copy_neighbours(struct neighbours *n, const struct patch_pixels *area, int32_t side)
{
    for (int32_t r = 0; r <= side; r++) {
        memcpy(n->left + r * side, area->pixels + r * area->pitch, (size_t)side);
        memcpy(n->right + r * side, area->pixels + r * area->pitch + 1, (size_t)side);
    }
}

/** Calls copy_neighbours() with a side that is a constant to the compiler, so that rows are copied without a call. */
static void find_neighbours(struct neighbours *n, const struct patch_pixels *area, int32_t side)
{
    if (side == VF_PATCH + 2) copy_neighbours(n, area, VF_PATCH + 2);
    if (side == VF_PATCH) copy_neighbours(n, area, VF_PATCH);
    if (side == VF_PATCH / 2 + 2) copy_neighbours(n, area, VF_PATCH / 2 + 2);
    if (side == VF_PATCH / 2) copy_neighbours(n, area, VF_PATCH / 2);
}

/** Bilinear weights w = 128 high + low, split into 7-bit parts so that products with pixels fit 16 bits. */
struct split_weights {
    uint16_t high[4], low[4];
};
static inline struct split_weights split(struct vf_bilinear_weights w)
{
    const int32_t all[4] = {w.w00, w.w01, w.w10, w.w11};
    struct split_weights s;
    for (int k = 0; k < 4; k++) {
        s.high[k] = (uint16_t)(all[k] >> 7);
        s.low[k] = (uint16_t)(all[k] & 127);
    }
    return s;
}

/** Interpolated grey level of pixel i, Q5, as vf_track_interpolate() computes it, but in 16 bits. The sum of the
 *  products with the low parts may need 17 bits, so half of it is added. */
static inline uint16_t interpolate_pixel(const struct split_weights *w, const struct neighbours *n, int32_t i,
                                         int32_t side)
{
    const uint16_t p00 = n->left[i], p01 = n->right[i], p10 = n->left[i + side], p11 = n->right[i + side];
    const uint16_t high = (uint16_t)(w->high[0] * p00 + w->high[1] * p01 + w->high[2] * p10 + w->high[3] * p11);
    const uint16_t upper = (uint16_t)(w->low[0] * p00 + w->low[1] * p01),
                   lower = (uint16_t)(w->low[2] * p10 + w->low[3] * p11);
    const uint16_t half = (uint16_t)((upper & lower) + ((upper ^ lower) >> 1));
    return (uint16_t)((uint16_t)(high + (uint16_t)((uint16_t)(half + 128) >> 6)) >> 2);
}

/** Interpolates the grey levels of side x side pixels, Q5. */
static inline void interpolate(int16_t *restrict grey, const struct neighbours *restrict n,
                               struct vf_bilinear_weights w, int32_t side)
{
    const struct split_weights weights = split(w);
    for (int32_t i = 0; i < side * side; i++) grey[i] = (int16_t)interpolate_pixel(&weights, n, i, side);
}
VF_HOT_FLAT static void interpolate_patch(int16_t *restrict grey, const struct neighbours *restrict n,
                                          struct vf_bilinear_weights w, int32_t side)
{
    if (side == VF_PATCH + 2)
        interpolate(grey, n, w, VF_PATCH + 2);
    else
        interpolate(grey, n, w, VF_PATCH / 2 + 2);
}

/** Contrasts of all pixels of a template (grey level minus reference, Q3), as vf_track_contrast() computes them, but in
 *  16 bits. */
static inline void find_contrasts(int16_t *restrict contrast, const int16_t *restrict grey, int16_t reference_q5,
                                  int32_t pixels)
{
    for (int32_t i = 0; i < pixels; i++) contrast[i] = (int16_t)((int16_t)(grey[i] - reference_q5 + 2) >> 2);
}

/** Moments of the normal equations of a template of `pixels` pixels. The sums of 16-bit products have a loop of their
 *  own, which compilers recognise. */
static inline struct vf_template_moments add_moments(const struct vf_patch *p, int32_t pixels, int32_t reference_q5)
{
    struct vf_template_moments m = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    int16_t contrast[VF_PATCH_PIXELS];
    find_contrasts(contrast, p->grey, (int16_t)reference_q5, pixels);
    for (int32_t i = 0; i < pixels; i++) vf_track_add_moments(&m, p->dx[i], p->dy[i], contrast[i]);
    return m;
}
VF_HOT_FLAT static struct vf_template_moments sum_moments(const struct vf_patch *p, int32_t pixels,
                                                          int32_t reference_q5)
{
    return pixels == VF_PATCH_PIXELS ? add_moments(p, VF_PATCH_PIXELS, reference_q5)
                                     : add_moments(p, VF_PATCH_PIXELS / 4, reference_q5);
}

/** Defines a function that computes the gradients of a template from grey levels of (size + 2) x (size + 2) px around
 *  it, and returns the sum of its grey levels. Level 0 and the coarse levels have separate functions, so that the
 *  compiler can vectorise each. */
#define DEFINE_GRADIENTS(name, level)                                                                                  \
    static inline int32_t name##_of(struct vf_patch *restrict p, const int16_t *restrict grey, int32_t size)           \
    {                                                                                                                  \
        int32_t sum = 0;                                                                                               \
        for (int32_t r = 0; r < size; r++) {                                                                           \
            const int16_t *above = grey + r * (size + 2) + 1, *at = above + size + 2, *below = at + size + 2;          \
            int16_t *to = p->grey + r * size, *dx = p->dx + r * size, *dy = p->dy + r * size;                          \
            VF_KEEP_LOOP                                                                                               \
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
    }                                                                                                                  \
    VF_HOT_FLAT static int32_t name(struct vf_patch *restrict p, const int16_t *restrict grey, int32_t size)           \
    {                                                                                                                  \
        return size == VF_PATCH ? name##_of(p, grey, VF_PATCH) : name##_of(p, grey, VF_PATCH / 2);                     \
    }
DEFINE_GRADIENTS(gradients_finest, 0)
DEFINE_GRADIENTS(gradients_coarse, 1)

/** Sets the gradients of template pixels outside the image to 0. x, y: position of the template's first pixel [px]. */
static void clear_outside(struct vf_patch *patch, const struct vf_level_picture *picture, int32_t x, int32_t y,
                          int32_t size)
{
    const int32_t first = vf_clamp(-x, 0, size), end = vf_clamp(picture->width - 1 - x, first, size);
    for (int32_t r = 0; r < size; r++) {
        const int outside = y + r < 0 || y + r >= picture->height - 1;
        const int32_t left = outside ? size : first, right = outside ? size : end;
        int16_t *dx = patch->dx + r * size, *dy = patch->dy + r * size;
        for (int32_t c = 0; c < left; c++) dx[c] = dy[c] = 0;
        for (int32_t c = right; c < size; c++) dx[c] = dy[c] = 0;
    }
}

void vf_patch_extract(struct vf_patch *patch, const struct vf_level_picture *picture, int32_t level,
                      int32_t photometric, int32_t x_q16, int32_t y_q16, int32_t size, int32_t *reference_q5,
                      struct vf_template_moments *out)
{
    const int32_t side = size + 2, x = x_q16 >> 16, y = y_q16 >> 16;
    int16_t grey[(VF_PATCH + 2) * (VF_PATCH + 2)];
    struct patch_pixels area;
    struct neighbours neighbours;
    find_pixels(&area, picture, x - 1, y - 1, side + 1);
    find_neighbours(&neighbours, &area, side);
    interpolate_patch(grey, &neighbours, vf_track_bilinear(x_q16, y_q16), side);
    const int32_t sum = level ? gradients_coarse(patch, grey, size) : gradients_finest(patch, grey, size);
    if (area.pixels == area.copy) clear_outside(patch, picture, x, y, size);
    *reference_q5 = vf_track_reference(photometric, sum, size * size);
    *out = sum_moments(patch, size * size, *reference_q5);
}

/** Interpolation weights and photometric parameters with which a template is compared with an image. */
struct comparison {
    struct vf_bilinear_weights w;
    int32_t reference_q5, alpha_q14, beta_q5;
};

/** Residuals and contrasts of the pixels of a template, Q3. */
struct residuals {
    int16_t residual[VF_PATCH_PIXELS], contrast[VF_PATCH_PIXELS];
};

/** Residuals of a template without a photometric gain, Q3, computed in 16 bits: picture, grey and beta_q5 are at most
 *  8160. */
static inline void subtract(int16_t *restrict residual, const int16_t *restrict picture, const int16_t *restrict grey,
                            int16_t beta_q5, int32_t pixels)
{
    for (int32_t i = 0; i < pixels; i++) {
        const int16_t e = (int16_t)((int16_t)(picture[i] - grey[i] - beta_q5 + 2) >> 2),
                      above = (int16_t)(e < -2047 ? -2047 : e);
        residual[i] = (int16_t)(above > 2047 ? 2047 : above);
    }
}

static inline void find_residuals(struct residuals *restrict to, const struct vf_patch *restrict p,
                                  const struct neighbours *restrict n, const struct comparison *l, int32_t size)
{
    const struct split_weights w = split(l->w);
    const int16_t reference = (int16_t)l->reference_q5;
    int16_t picture[VF_PATCH_PIXELS];
    for (int32_t i = 0; i < size * size; i++) picture[i] = (int16_t)interpolate_pixel(&w, n, i, size);
    if (l->alpha_q14)
        for (int32_t i = 0; i < size * size; i++)
            to->residual[i] = (int16_t)vf_track_residual(picture[i], p->grey[i], reference, l->alpha_q14, l->beta_q5);
    else
        subtract(to->residual, picture, p->grey, (int16_t)l->beta_q5, size * size);
    find_contrasts(to->contrast, p->grey, reference, size * size);
}

/** Sums of the residuals times the columns of the Jacobian, over a template of `pixels` pixels. The sums of 16-bit
 *  products have a loop of their own, which compilers recognise. */
static inline struct vf_residual_sums add_residuals(const struct residuals *restrict r,
                                                    const struct vf_patch *restrict p, int32_t pixels)
{
    struct vf_residual_sums s = {0, 0, 0, 0, 0};
    for (int32_t i = 0; i < pixels; i++) vf_track_add_residual(&s, r->residual[i], p->dx[i], p->dy[i], r->contrast[i]);
    return s;
}

/** Residual sums between a template of size x size pixels and the image pixels n. l: interpolation weights and
 *  photometric parameters. */
VF_HOT_FLAT static struct vf_residual_sums sum_residuals(const struct vf_patch *restrict p,
                                                         const struct neighbours *restrict n,
                                                         const struct comparison *l, int32_t size)
{
    struct residuals r;
    if (size == VF_PATCH) {
        find_residuals(&r, p, n, l, VF_PATCH);
        return add_residuals(&r, p, VF_PATCH_PIXELS);
    }
    find_residuals(&r, p, n, l, VF_PATCH / 2);
    return add_residuals(&r, p, VF_PATCH_PIXELS / 4);
}

struct vf_residual_sums vf_patch_residuals(const struct vf_patch *patch, const struct vf_level_picture *picture,
                                           int32_t x_q16, int32_t y_q16, int32_t size, int32_t reference_q5,
                                           int32_t alpha_q14, int32_t beta_q5)
{
    const struct comparison photometric = {vf_track_bilinear(x_q16, y_q16), reference_q5, alpha_q14, beta_q5};
    struct patch_pixels area;
    struct neighbours neighbours;
    find_pixels(&area, picture, x_q16 >> 16, y_q16 >> 16, size + 1);
    find_neighbours(&neighbours, &area, size);
    return sum_residuals(patch, &neighbours, &photometric, size);
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

void vf_patch_store_normal(struct vf_template_normal *to, const struct vf_template_normal *from) { *to = *from; }
