/* SPDX-License-Identifier: MIT */
#include "stereo_patch.h"

#if VFRONT_STEREO

#define ROWS (VF_STEREO_SIDE + 1) /* rows of pixels that are read: those of a patch, and one for the interpolation */
#define LANES (ROWS * VF_STEREO_LANES)

/** Pixels of a patch (here) and the pixels one column to the right of them (right), each row padded with zeros. */
struct pixels {
    uint8_t here[LANES], right[LANES];
};

/** Interpolates the grey levels of a patch. fu, fv: fractions of its position [1/256 px]. Returns the sum of the grey
 *  levels. One loop covers all rows, because gcc does not vectorise loops over 16 columns here. */
VF_HOT static int32_t interpolate_stereo_patch(int32_t *restrict grey, const struct pixels *restrict p, int32_t fu,
                                               int32_t fv)
{
    uint16_t along[LANES]; /* interpolated along the rows [1/256 grey level] */
    int32_t sum = 0;
    for (int32_t k = 0; k < LANES; k++) along[k] = (uint16_t)vf_stereo_between(p->here[k], p->right[k], fu);
    for (int32_t k = 0; k < LANES - VF_STEREO_LANES; k++) {
        grey[k] = vf_stereo_between_rows(along[k], along[k + VF_STEREO_LANES], fv);
        sum += grey[k];
    }
    return sum;
}

int vf_stereo_read_patch(struct vf_stereo_patch *w, const uint8_t *pixels, const struct vf_level *l,
                         struct vf_patch_centre c)
{
    struct pixels p;
    if (!vf_stereo_patch_inside(l, c)) return 0;
    const uint8_t *first = pixels + ((c.v >> 8) - VF_STEREO_HALF) * l->pitch + (c.u >> 8) - VF_STEREO_HALF;
    memset(&p, 0, sizeof p);
    for (int32_t r = 0; r < ROWS; r++) {
        memcpy(&p.here[r * VF_STEREO_LANES], first + r * l->pitch, VF_STEREO_SIDE);
        memcpy(&p.right[r * VF_STEREO_LANES], first + r * l->pitch + 1, VF_STEREO_SIDE);
    }
    w->sum = interpolate_stereo_patch(w->grey[0], &p, c.u & 255, c.v & 255);
    return 1;
}

/** Zero-mean sum of absolute differences of two patches [1/16 grey level, times the number of pixels in a patch]. Zeros
 *  pad each row to VF_STEREO_LANES elements. The sum counts them like pixels, and the caller subtracts their part.
 *  sum_a, sum_b: sums of the grey levels of patches a and b. */
VF_HOT static uint32_t absolute_differences(const int32_t *restrict a, int32_t sum_a, const int32_t *restrict b,
                                            int32_t sum_b)
{
    uint32_t cost = 0;
    for (int32_t k = 0; k < VF_STEREO_SIDE * VF_STEREO_LANES; k++)
        cost += vf_stereo_absolute_difference(a[k], sum_a, b[k], sum_b);
    return cost;
}

uint32_t vf_stereo_zsad(const struct vf_stereo_patch *a, const struct vf_stereo_patch *b)
{
    /* number of padding elements in a patch */
    const uint32_t zeros = VF_STEREO_SIDE * (VF_STEREO_LANES - VF_STEREO_SIDE);
    return absolute_differences(a->grey[0], a->sum, b->grey[0], b->sum) -
           zeros * vf_stereo_absolute_difference(0, a->sum, 0, b->sum);
}

struct vf_stereo_part vf_stereo_part_of(const struct vf_epipolar_line *line, int32_t half)
{
    const int by_columns = half >= 0 && vf_stereo_halves_are_columns(line), by_rows = half >= 0 && !by_columns;
    const int32_t first = half > 0 ? VF_STEREO_HALF + 1 : 0, end = half > 0 ? VF_STEREO_SIDE : VF_STEREO_HALF;
    struct vf_stereo_part part;
    for (int32_t c = 0; c < VF_STEREO_LANES; c++)
        part.columns[c] = c < VF_STEREO_SIDE && (!by_columns || (c >= first && c < end));
    part.first_row = by_rows ? first : 0;
    part.end_row = by_rows ? end : VF_STEREO_SIDE;
    return part;
}

/** Sums for the Gauss-Newton step along the epipolar line, over rows first .. end - 1 of the patches. columns: 1 for
 *  each column that counts, else 0. */
VF_HOT static struct vf_stereo_sums sum_rows(const int32_t (*restrict ahead)[VF_STEREO_LANES],
                                             const int32_t (*restrict behind)[VF_STEREO_LANES],
                                             const int32_t (*restrict left)[VF_STEREO_LANES],
                                             const int32_t (*restrict right)[VF_STEREO_LANES],
                                             const int32_t *restrict columns, int32_t first, int32_t end)
{
    int32_t n = 0, g = 0, d = 0, gg = 0, gd = 0;
    for (int32_t r = first; r < end; r++)
        for (int32_t c = 0; c < VF_STEREO_LANES; c++) {
            const int32_t along = vf_stereo_gradient(ahead[r][c], behind[r][c]) * columns[c],
                          across = (right[r][c] - left[r][c]) * columns[c];
            n += columns[c];
            g += along;
            d += across;
            gg += along * along;
            gd += along * across;
        }
    const struct vf_stereo_sums sum = {n, g, d, gg, gd};
    return sum;
}

struct vf_stereo_sums vf_stereo_sum_part(const struct vf_stereo_patch *ahead, const struct vf_stereo_patch *behind,
                                         const struct vf_stereo_patch *left, const struct vf_stereo_patch *right,
                                         const struct vf_stereo_part *part)
{
    return sum_rows(ahead->grey, behind->grey, left->grey, right->grey, part->columns, part->first_row, part->end_row);
}
#endif
