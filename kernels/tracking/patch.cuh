/* SPDX-License-Identifier: MIT */
/* GPU form of the patch functions that src/tracking/align.h declares as VF_HOOK, for track.cu, match.cu and partner.cu.
 * A warp has a patch; a lane has half a row of 16x16 px or a quarter of a row of 8x8 px. Template and gradients stay in
 * registers while a level iterates.
 *
 * Gradients and moments: extract<SIZE>(). Residuals: residual_sums<SIZE>(). Sums over lanes: vf_warp_sum(). The
 * functions at the end of the file select the size. src/tracking/track.h holds the arithmetic of a pixel, shared with
 * the host form (src/tracking/patch.c). Not shared: the loops, and interpolate(), which weights two pixels by one dp2a
 * instruction, with the result of vf_track_interpolate(). */
#ifndef VF_PATCH_CUH
#define VF_PATCH_CUH

#include "kernels/kernel.cuh"

#include "tracking/align.h"

#define LANE_PIXELS (VF_PATCH_PIXELS / VF_WARP)

/** A lane's segment of a template patch. */
struct vf_patch {
    int32_t grey[LANE_PIXELS], /* grey levels [1/32] */
        dx[LANE_PIXELS],       /* gradients along x [1/16 grey level per px] */
        dy[LANE_PIXELS];       /* gradients along y [1/16 grey level per px] */
};

/** Position of a lane's segment in a patch of SIZE x SIZE px: COUNT pixels in row `row`, from column `column` on. */
template <int SIZE> struct lane_segment {
    enum { COUNT = SIZE * SIZE / VF_WARP, ACROSS = SIZE / COUNT };
    int row, column;
    __device__ __forceinline__ lane_segment()
        : row(threadIdx.x % VF_WARP / ACROSS), column(threadIdx.x % VF_WARP % ACROSS * COUNT)
    {
    }
};

/** Pixel (x, y) of an image with replicated borders. */
static __device__ __forceinline__ int pixel_at(const vf_level_picture &picture, int x, int y)
{
    const uint8_t *row = picture.pixels + (size_t)vf_clamp(y, 0, picture.height - 1) * picture.pitch;
    return row[vf_clamp(x, 0, picture.width - 1)];
}

/** N pixels of a row, four to a word. Read from the aligned words that contain them, or pixel by pixel at the
 *  border. */
template <int N> struct pixel_row {
    /* up to three bytes of the first aligned word precede the first pixel */
    enum { WORDS = (N + 3) / 4, LOADS = (N + 3 + 3) / 4 };
    uint32_t word[WORDS];
    __device__ __forceinline__ explicit pixel_row(const uint8_t *from)
    {
        const unsigned off = (unsigned)(reinterpret_cast<uintptr_t>(from) & 3);
        const uint32_t *aligned = reinterpret_cast<const uint32_t *>(from - off);
        uint32_t in[WORDS + 1] = {};
        for (int i = 0; i < LOADS; i++) in[i] = aligned[i];
        for (int i = 0; i < WORDS; i++) word[i] = __funnelshift_r(in[i], in[i + 1], 8 * off);
    }
    __device__ __forceinline__ pixel_row(const vf_level_picture &picture, int x, int y)
    {
        for (int i = 0; i < WORDS; i++) word[i] = 0;
        for (int i = 0; i < N; i++) word[i / 4] |= (uint32_t)pixel_at(picture, x + i, y) << (8 * (i % 4));
    }
    __device__ __forceinline__ int at(int i) const { return (int)(word[i / 4] >> (8 * (i % 4)) & 255); }
    /* pixels i and i + 1, in the lower half of the result */
    __device__ __forceinline__ uint32_t pair(int i) const
    {
        return __funnelshift_r(word[i / 4], word[i / 4 + 1 < WORDS ? i / 4 + 1 : i / 4], 8 * (i % 4));
    }
};

/** Grey level interpolated between pixels i and i + 1 of two rows [1/32]. One dp2a instruction takes two pixels, if
 *  available. */
template <int N>
static __device__ __forceinline__ int32_t interpolate(const vf_bilinear_weights &w, const pixel_row<N> &upper,
                                                      const pixel_row<N> &lower, int i)
{
#if VF_ARCH >= 610
    const uint32_t top = (uint32_t)w.w00 | (uint32_t)w.w01 << 16, bottom = (uint32_t)w.w10 | (uint32_t)w.w11 << 16;
    return (int32_t)(__dp2a_lo(top, upper.pair(i), __dp2a_lo(bottom, lower.pair(i), 256u)) >> 9);
#else
    return vf_track_interpolate(w, upper.at(i), upper.at(i + 1), lower.at(i), lower.at(i + 1));
#endif
}

/** 1 if side x side pixels from (x, y) on lie in the image, so that reads need no clamping. */
static __device__ __forceinline__ bool inside(const vf_level_picture &picture, int x, int y, int side)
{
    return x >= 0 && y >= 0 && x + side <= picture.width && y + side <= picture.height;
}

/** Interpolates the image under a lane's segment of the patch with first pixel (x, y) [1/32 grey level]. */
template <int SIZE>
static __device__ __forceinline__ void interpolate_segment(int32_t (&now)[SIZE * SIZE / VF_WARP],
                                                           const vf_level_picture &picture, int x, int y,
                                                           const vf_bilinear_weights &w)
{
    enum { COUNT = lane_segment<SIZE>::COUNT };
    const lane_segment<SIZE> segment;
    const int px = x + segment.column, py = y + segment.row;
    if (inside(picture, x, y, SIZE + 1)) {
        const uint8_t *row = picture.pixels + py * picture.pitch + px;
        const pixel_row<COUNT + 1> upper(row), lower(row + picture.pitch);
        for (int i = 0; i < COUNT; i++) now[i] = interpolate(w, upper, lower, i);
    } else {
        const pixel_row<COUNT + 1> upper(picture, px, py), lower(picture, px, py + 1);
        for (int i = 0; i < COUNT; i++) now[i] = interpolate(w, upper, lower, i);
    }
}

/** Interpolates the image under a lane's segment of a template and one more pixel all around [1/32 grey level]: three
 *  rows of COUNT + 2. (x, y): first pixel of the template. */
template <int SIZE>
static __device__ __forceinline__ void interpolate_around(int32_t (&grey)[3][SIZE * SIZE / VF_WARP + 2],
                                                          const vf_level_picture &picture, int x, int y,
                                                          const vf_bilinear_weights &w)
{
    enum { COUNT = lane_segment<SIZE>::COUNT };
    const lane_segment<SIZE> segment;
    const int px = x + segment.column - 1, py = y + segment.row - 1;
    typedef pixel_row<COUNT + 3> row;
    const uint8_t *at = picture.pixels + py * picture.pitch + px;
    const bool all_inside = inside(picture, x - 1, y - 1, SIZE + 3);
    const row r0 = all_inside ? row(at) : row(picture, px, py),
              r1 = all_inside ? row(at + picture.pitch) : row(picture, px, py + 1);
    const row r2 = all_inside ? row(at + 2 * picture.pitch) : row(picture, px, py + 2),
              r3 = all_inside ? row(at + 3 * picture.pitch) : row(picture, px, py + 3);
    for (int i = 0; i < COUNT + 2; i++) {
        grey[0][i] = interpolate(w, r0, r1, i);
        grey[1][i] = interpolate(w, r1, r2, i);
        grey[2][i] = interpolate(w, r2, r3, i);
    }
}

/** vf_patch_extract() for one patch size. Gradients are central differences of interpolated grey levels. Moments are
 *  summed over the lane's segment, then over the warp. */
template <int SIZE>
static __device__ __forceinline__ void extract(vf_patch *patch, const vf_level_picture &picture, int32_t level,
                                               int32_t photometric, int32_t x_q16, int32_t y_q16, int32_t *reference_q5,
                                               vf_template_moments *m)
{
    enum { COUNT = lane_segment<SIZE>::COUNT };
    const lane_segment<SIZE> segment;
    const int x = x_q16 >> 16, y = y_q16 >> 16;
    int32_t g[3][COUNT + 2], sum = 0;
    interpolate_around<SIZE>(g, picture, x, y, vf_track_bilinear(x_q16, y_q16));
    for (int i = 0; i < COUNT; i++) {
        const int32_t in_picture = vf_track_inside(&picture, x + segment.column + i, y + segment.row);
        patch->grey[i] = g[1][i + 1];
        patch->dx[i] = in_picture *
                       vf_track_gradient(level, g[0][i + 2] - g[0][i], g[1][i + 2] - g[1][i], g[2][i + 2] - g[2][i]);
        patch->dy[i] = in_picture * vf_track_gradient(level, g[2][i] - g[0][i], g[2][i + 1] - g[0][i + 1],
                                                      g[2][i + 2] - g[0][i + 2]);
        sum += patch->grey[i];
    }
    const int32_t reference = vf_track_reference(photometric, vf_warp_sum(sum), SIZE * SIZE);
    vf_template_moments mine = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    for (int i = 0; i < COUNT; i++)
        vf_track_add_moments(&mine, patch->dx[i], patch->dy[i], vf_track_contrast(patch->grey[i], reference));
    *reference_q5 = reference;
    m->xx = vf_warp_sum(mine.xx);
    m->xy = vf_warp_sum(mine.xy);
    m->xt = vf_warp_sum(mine.xt);
    m->x1 = vf_warp_sum(mine.x1);
    m->yy = vf_warp_sum(mine.yy);
    m->yt = vf_warp_sum(mine.yt);
    m->y1 = vf_warp_sum(mine.y1);
    m->tt = vf_warp_sum(mine.tt);
    m->t1 = vf_warp_sum(mine.t1);
}

/** vf_patch_residuals() for one patch size. */
template <int SIZE>
static __device__ __forceinline__ vf_residual_sums residual_sums(const vf_patch *patch, const vf_level_picture &picture,
                                                                 int32_t x_q16, int32_t y_q16, int32_t reference_q5,
                                                                 int32_t alpha_q14, int32_t beta_q5)
{
    enum { COUNT = lane_segment<SIZE>::COUNT };
    int32_t now[COUNT];
    interpolate_segment<SIZE>(now, picture, x_q16 >> 16, y_q16 >> 16, vf_track_bilinear(x_q16, y_q16));
    vf_residual_sums s = {0, 0, 0, 0, 0};
    for (int i = 0; i < COUNT; i++) {
        const int32_t residual = vf_track_residual(now[i], patch->grey[i], reference_q5, alpha_q14, beta_q5);
        vf_track_add_residual(&s, residual, patch->dx[i], patch->dy[i],
                              vf_track_contrast(patch->grey[i], reference_q5));
    }
    s.x = vf_warp_sum(s.x);
    s.y = vf_warp_sum(s.y);
    s.t = vf_warp_sum(s.t);
    s.one = vf_warp_sum(s.one);
    s.absolute = vf_warp_sum(s.absolute);
    return s;
}

/** Loads the lane's segment from a plane of 16-bit values, one per pixel of a patch. */
template <int SIZE> static __device__ __forceinline__ void load_plane(int32_t *to, const int16_t *from)
{
    enum { COUNT = lane_segment<SIZE>::COUNT };
    uint32_t word[COUNT / 2];
    const int lane = threadIdx.x % VF_WARP;
    if (COUNT == 8)
        *reinterpret_cast<uint4 *>(word) = *reinterpret_cast<const uint4 *>(from + lane * COUNT);
    else
        word[0] = *reinterpret_cast<const uint32_t *>(from + lane * COUNT);
    for (int i = 0; i < COUNT; i++) to[i] = (int32_t)(int16_t)(word[i / 2] >> (16 * (i & 1)));
}

/** Stores the lane's segment in a plane of 16-bit values, one per pixel of a patch. */
template <int SIZE> static __device__ __forceinline__ void store_plane(int16_t *to, const int32_t *from)
{
    enum { COUNT = lane_segment<SIZE>::COUNT };
    const int lane = threadIdx.x % VF_WARP;
    for (int i = 0; i < COUNT; i += 2)
        reinterpret_cast<uint32_t *>(to + lane * COUNT)[i / 2] = (uint32_t)(uint16_t)from[i] |
                                                                 (uint32_t)(uint16_t)from[i + 1] << 16;
}

/* ---- hooks of align.h -------------------------------------------------------------------------------------------- */

VF_HOOK void vf_patch_extract(struct vf_patch *patch, const struct vf_level_picture *picture, int32_t level,
                              int32_t photometric, int32_t x_q16, int32_t y_q16, int32_t size, int32_t *reference_q5,
                              struct vf_template_moments *m)
{
    size == 16 ? extract<16>(patch, *picture, level, photometric, x_q16, y_q16, reference_q5, m)
               : extract<8>(patch, *picture, level, photometric, x_q16, y_q16, reference_q5, m);
}

VF_HOOK struct vf_residual_sums vf_patch_residuals(const struct vf_patch *patch, const struct vf_level_picture *picture,
                                                   int32_t x_q16, int32_t y_q16, int32_t size, int32_t reference_q5,
                                                   int32_t alpha_q14, int32_t beta_q5)
{
    return size == 16 ? residual_sums<16>(patch, *picture, x_q16, y_q16, reference_q5, alpha_q14, beta_q5)
                      : residual_sums<8>(patch, *picture, x_q16, y_q16, reference_q5, alpha_q14, beta_q5);
}

VF_HOOK void vf_patch_load(struct vf_patch *patch, int16_t (*from)[VF_PATCH_PIXELS], int32_t size)
{
    size == 16 ? load_plane<16>(patch->grey, from[0]) : load_plane<8>(patch->grey, from[0]);
    size == 16 ? load_plane<16>(patch->dx, from[1]) : load_plane<8>(patch->dx, from[1]);
    size == 16 ? load_plane<16>(patch->dy, from[2]) : load_plane<8>(patch->dy, from[2]);
}

VF_HOOK void vf_patch_store(const struct vf_patch *patch, int16_t (*to)[VF_PATCH_PIXELS], int32_t size)
{
    size == 16 ? store_plane<16>(to[0], patch->grey) : store_plane<8>(to[0], patch->grey);
    size == 16 ? store_plane<16>(to[1], patch->dx) : store_plane<8>(to[1], patch->dx);
    size == 16 ? store_plane<16>(to[2], patch->dy) : store_plane<8>(to[2], patch->dy);
}

VF_HOOK void vf_patch_store_normal(struct vf_template_normal *to, const struct vf_template_normal *from)
{
    if (threadIdx.x % VF_WARP == 0) *to = *from;
    __syncwarp(); /* all lanes read *to afterwards */
}

#endif
