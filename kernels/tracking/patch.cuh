/* SPDX-License-Identifier: MIT */
/* A patch spread over a warp: of 16x16 px a lane has half a row, of 8x8 px a quarter. Template and gradients stay in its registers while
 * a level iterates. */
#ifndef VF_PATCH_CUH
#define VF_PATCH_CUH

#include "kernels/kernel.cuh"

#include "tracking/track_flow.h"

#define LANE_PIXELS (VF_PATCH_PIXELS / VF_WARP)

/** A lane's part of a template. */
struct vf_patch {
    int32_t grey[LANE_PIXELS], dx[LANE_PIXELS], dy[LANE_PIXELS];
};

/** Which pixels of a patch a lane has: COUNT in row `row`, from column `column`. */
template <int SIZE> struct lane_part {
    enum { COUNT = SIZE * SIZE / VF_WARP, ACROSS = SIZE / COUNT };
    int row, column;
    __device__ __forceinline__ lane_part()
        : row(threadIdx.x % VF_WARP / ACROSS), column(threadIdx.x % VF_WARP % ACROSS * COUNT)
    {
    }
};

static __device__ __forceinline__ int pixel_at(const vf_view &v, int x, int y)
{
    return v.pixels[(size_t)vf_clamp(y, 0, v.height - 1) * v.pitch + vf_clamp(x, 0, v.width - 1)];
}

/** N pixels of a row from any address on, four to a word; read as the aligned words that hold them. */
template <int N> struct pixel_row {
    enum { WORDS = (N + 3) / 4, LOADS = (N + 3 + 3) / 4 }; /* up to three bytes lie before the first */
    uint32_t word[WORDS];
    __device__ __forceinline__ explicit pixel_row(const uint8_t *from)
    {
        const unsigned off = (unsigned)(reinterpret_cast<uintptr_t>(from) & 3);
        const uint32_t *aligned = reinterpret_cast<const uint32_t *>(from - off);
        uint32_t in[WORDS + 1] = {};
        for (int i = 0; i < LOADS; i++) in[i] = aligned[i];
        for (int i = 0; i < WORDS; i++) word[i] = __funnelshift_r(in[i], in[i + 1], 8 * off);
    }
    __device__ __forceinline__ pixel_row(const vf_view &v, int x, int y)
    {
        for (int i = 0; i < WORDS; i++) word[i] = 0;
        for (int i = 0; i < N; i++) word[i / 4] |= (uint32_t)pixel_at(v, x + i, y) << (8 * (i % 4));
    }
    __device__ __forceinline__ int at(int i) const { return (int)(word[i / 4] >> (8 * (i % 4)) & 255); }
    /* pixels i and i + 1 as the lower half of a word */
    __device__ __forceinline__ uint32_t pair(int i) const
    {
        return __funnelshift_r(word[i / 4], word[i / 4 + 1 < WORDS ? i / 4 + 1 : i / 4], 8 * (i % 4));
    }
};

/** Between pixels i and i + 1 of two rows, interpolated, Q5. Two pixels are weighted by one instruction where there is one. */
template <int N>
static __device__ __forceinline__ int32_t mix(const vf_weights &w, const pixel_row<N> &upper, const pixel_row<N> &lower,
                                              int i)
{
#if __CUDA_ARCH__ >= 610
    const uint32_t top = (uint32_t)w.w00 | (uint32_t)w.w01 << 16, bottom = (uint32_t)w.w10 | (uint32_t)w.w11 << 16;
    return (int32_t)(__dp2a_lo(top, upper.pair(i), __dp2a_lo(bottom, lower.pair(i), 256u)) >> 9);
#else
    return vf_track_mix(w, upper.at(i), upper.at(i + 1), lower.at(i), lower.at(i + 1));
#endif
}

/** Whether a rectangle of pixels lies in a picture, so that it can be read as it stands. */
static __device__ __forceinline__ bool within(const vf_view &v, int x, int y, int side)
{
    return x >= 0 && y >= 0 && x + side <= v.width && y + side <= v.height;
}

/** The picture under a lane's part of a patch whose first pixel lies at (x, y): interpolated, Q5. */
template <int SIZE>
static __device__ __forceinline__ void look(int32_t (&now)[SIZE * SIZE / VF_WARP], const vf_view &v, int x, int y,
                                            const vf_weights &w)
{
    enum { COUNT = lane_part<SIZE>::COUNT };
    const lane_part<SIZE> part;
    const int px = x + part.column, py = y + part.row;
    if (within(v, x, y, SIZE + 1)) {
        const uint8_t *row = v.pixels + py * v.pitch + px;
        const pixel_row<COUNT + 1> upper(row), lower(row + v.pitch);
        for (int i = 0; i < COUNT; i++) now[i] = mix(w, upper, lower, i);
    } else {
        const pixel_row<COUNT + 1> upper(v, px, py), lower(v, px, py + 1);
        for (int i = 0; i < COUNT; i++) now[i] = mix(w, upper, lower, i);
    }
}

/** Grey levels of a lane's part of a template and of all around it, Q5: three rows of COUNT + 2. */
template <int SIZE>
static __device__ __forceinline__ void look_around(int32_t (&grey)[3][SIZE * SIZE / VF_WARP + 2], const vf_view &v,
                                                   int x, int y, const vf_weights &w)
{
    enum { COUNT = lane_part<SIZE>::COUNT };
    const lane_part<SIZE> part;
    const int px = x + part.column - 1, py = y + part.row - 1;
    typedef pixel_row<COUNT + 3> row;
    const uint8_t *at = v.pixels + py * v.pitch + px;
    const bool inside = within(v, x - 1, y - 1, SIZE + 3);
    const row r0 = inside ? row(at) : row(v, px, py), r1 = inside ? row(at + v.pitch) : row(v, px, py + 1);
    const row r2 = inside ? row(at + 2 * v.pitch) : row(v, px, py + 2),
              r3 = inside ? row(at + 3 * v.pitch) : row(v, px, py + 3);
    for (int i = 0; i < COUNT + 2; i++) {
        grey[0][i] = mix(w, r0, r1, i);
        grey[1][i] = mix(w, r1, r2, i);
        grey[2][i] = mix(w, r2, r3, i);
    }
}

template <int SIZE>
static __device__ __forceinline__ void take(vf_patch *patch, const vf_view &v, int32_t level, int32_t light,
                                            int32_t x_q16, int32_t y_q16, int32_t *pivot_q5, vf_moments *m)
{
    enum { COUNT = lane_part<SIZE>::COUNT };
    const lane_part<SIZE> part;
    const int x = x_q16 >> 16, y = y_q16 >> 16;
    int32_t g[3][COUNT + 2], sum = 0;
    look_around<SIZE>(g, v, x, y, vf_track_weights(x_q16, y_q16));
    for (int i = 0; i < COUNT; i++) {
        const int32_t inside = vf_track_inside(&v, x + part.column + i, y + part.row);
        patch->grey[i] = g[1][i + 1];
        patch->dx[i] = inside *
                       vf_track_gradient(level, g[0][i + 2] - g[0][i], g[1][i + 2] - g[1][i], g[2][i + 2] - g[2][i]);
        patch->dy[i] = inside * vf_track_gradient(level, g[2][i] - g[0][i], g[2][i + 1] - g[0][i + 1],
                                                  g[2][i + 2] - g[0][i + 2]);
        sum += patch->grey[i];
    }
    const int32_t pivot = vf_track_pivot(light, vf_warp_sum(sum), SIZE * SIZE);
    vf_moments mine = {0, 0, 0, 0, 0, 0, 0, 0, 0};
    for (int i = 0; i < COUNT; i++) {
        const int32_t dx = patch->dx[i], dy = patch->dy[i], t = vf_track_contrast(patch->grey[i], pivot);
        mine.xx += dx * dx;
        mine.xy += dx * dy;
        mine.xt += dx * t;
        mine.x1 += dx;
        mine.yy += dy * dy;
        mine.yt += dy * t;
        mine.y1 += dy;
        mine.tt += t * t;
        mine.t1 += t;
    }
    *pivot_q5 = pivot;
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

template <int SIZE>
static __device__ __forceinline__ vf_sums compare(const vf_patch *patch, const vf_view &v, int32_t x_q16, int32_t y_q16,
                                                  int32_t pivot_q5, int32_t alpha_q14, int32_t beta_q5)
{
    enum { COUNT = lane_part<SIZE>::COUNT };
    int32_t now[COUNT];
    look<SIZE>(now, v, x_q16 >> 16, y_q16 >> 16, vf_track_weights(x_q16, y_q16));
    vf_sums s = {0, 0, 0, 0, 0};
    for (int i = 0; i < COUNT; i++) {
        const int32_t residual = vf_track_residual(now[i], patch->grey[i], pivot_q5, alpha_q14, beta_q5);
        s.x += residual * patch->dx[i];
        s.y += residual * patch->dy[i];
        s.t += residual * vf_track_contrast(patch->grey[i], pivot_q5);
        s.one += residual;
        s.absolute += vf_abs(residual);
    }
    s.x = vf_warp_sum(s.x);
    s.y = vf_warp_sum(s.y);
    s.t = vf_warp_sum(s.t);
    s.one = vf_warp_sum(s.one);
    s.absolute = vf_warp_sum(s.absolute);
    return s;
}

/** COUNT 16-bit numbers of a plane, at the lane's place. */
template <int SIZE> static __device__ __forceinline__ void load_plane(int32_t *to, const int16_t *from)
{
    enum { COUNT = lane_part<SIZE>::COUNT };
    uint32_t word[COUNT / 2];
    const int lane = threadIdx.x % VF_WARP;
    if (COUNT == 8)
        *reinterpret_cast<uint4 *>(word) = *reinterpret_cast<const uint4 *>(from + lane * COUNT);
    else
        word[0] = *reinterpret_cast<const uint32_t *>(from + lane * COUNT);
    for (int i = 0; i < COUNT; i++) to[i] = (int32_t)(int16_t)(word[i / 2] >> (16 * (i & 1)));
}

template <int SIZE> static __device__ __forceinline__ void store_plane(int16_t *to, const int32_t *from)
{
    enum { COUNT = lane_part<SIZE>::COUNT };
    const int lane = threadIdx.x % VF_WARP;
    for (int i = 0; i < COUNT; i += 2)
        reinterpret_cast<uint32_t *>(to + lane * COUNT)[i / 2] = (uint32_t)(uint16_t)from[i] |
                                                                 (uint32_t)(uint16_t)from[i + 1] << 16;
}

VF_HOOK void vf_patch_take(struct vf_patch *patch, const struct vf_view *view, int32_t level, int32_t light,
                           int32_t x_q16, int32_t y_q16, int32_t size, int32_t *pivot_q5, struct vf_moments *m)
{
    size == 16 ? take<16>(patch, *view, level, light, x_q16, y_q16, pivot_q5, m)
               : take<8>(patch, *view, level, light, x_q16, y_q16, pivot_q5, m);
}

VF_HOOK struct vf_sums vf_patch_compare(const struct vf_patch *patch, const struct vf_view *view, int32_t x_q16,
                                        int32_t y_q16, int32_t size, int32_t pivot_q5, int32_t alpha_q14,
                                        int32_t beta_q5)
{
    return size == 16 ? compare<16>(patch, *view, x_q16, y_q16, pivot_q5, alpha_q14, beta_q5)
                      : compare<8>(patch, *view, x_q16, y_q16, pivot_q5, alpha_q14, beta_q5);
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

VF_HOOK void vf_patch_store_normal(struct vf_normal *to, const struct vf_normal *from)
{
    if (threadIdx.x % VF_WARP == 0) *to = *from;
    __syncwarp(); /* all lanes read it again */
}

#endif
