/* SPDX-License-Identifier: MIT */
/* dense: census words, 24 bits each, and above them the edges of camera 0. A thread makes the words of CENSUS_PX (4)
 * consecutive pixels, byte by byte: a register holds one byte of all four words. A comparison is a 16-bit difference
 * whose sign is the result. Four pixels take two packed subtractions and two more instructions: one copies four signs
 * to the bytes of a register, one selects a bit of each byte. */
#ifndef VF_DENSE_CENSUS_CUH
#define VF_DENSE_CENSUS_CUH

#include "dense_packed.cuh"

#define CENSUS_PX 4       /* consecutive pixels of a thread: the bytes of a 32-bit word */
#define CENSUS_THREADS 64 /* threads of a block, along a row */
VF_STATIC_ASSERT(VF_DENSE_CENSUS_RADIUS < CENSUS_PX, "a window reaches into the words on both sides, not beyond");

/** Number of elements of a row of camera 1's census words. Word i belongs to column i - dense_disparities -
 *  dense_least_px, or to column 0 if that is negative. A pixel of camera 0 in column x finds the word for disparity
 *  index d at x + dense_disparities - d; no index needs a bound. The words are stored twice, the second copy one
 *  element earlier. In one of the copies, the words of two neighbouring disparities are thus an aligned pair. */
static __host__ __device__ __forceinline__ int census1_pitch(const vf_dense_view &s)
{
    return s.geometry.level[0][0].pitch + s.tuning.dense_disparities;
}

/** Pixels of a row that a thread compares. The halves of pair[u + 3] are the pixels u and u + 2 columns right of the
 *  thread's first pixel, u = -3 .. 4. */
struct census_pairs {
    uint32_t pair[2 * VF_DENSE_CENSUS_RADIUS + 2];
};
/** Where a thread reads a row: its own word of four pixels, and the words on both sides. */
struct census_window {
    /* byte offsets of the words left and right of the thread's own word; 0 if that word is outside the image */
    int before, behind;
    /* __byte_perm() selectors of the words on the left, here and on the right, which replicate the image border */
    uint32_t before_selector, own_selector, behind_selector;
};
/** Where a thread reads a row. x: column of the thread's first pixel; width: of the image [px]. */
static __device__ __forceinline__ census_window census_window_at(int x, int width)
{
    /* index of the last byte inside the image, counted from x */
    const uint32_t most = (uint32_t)vf_min(width - 1 - x, 2 * CENSUS_PX - 1);
    census_window w = {x ? -CENSUS_PX : 0, x + CENSUS_PX < width ? CENSUS_PX : 0, x ? 0x3210u : 0x4444u, 0, 0};
#pragma unroll
    for (uint32_t k = 0; k < CENSUS_PX; k++) {
        w.own_selector |= min(k, most) << 4 * k;
        w.behind_selector |= min(k + CENSUS_PX, most) << 4 * k;
    }
    return w;
}
/** Loads a thread's pixels of a row, and those on both sides, as pairs of pixels two columns apart. at: address of the
 *  thread's first pixel. */
static __device__ __forceinline__ census_pairs load_census_row(const uint8_t *at, const census_window &w)
{
    const uint32_t word = *reinterpret_cast<const uint32_t *>(at),
                   before = __byte_perm(*reinterpret_cast<const uint32_t *>(at + w.before), word, w.before_selector),
                   behind = __byte_perm(word, *reinterpret_cast<const uint32_t *>(at + w.behind), w.behind_selector),
                   own = __byte_perm(word, 0, w.own_selector), even = own & 0x00ff00ff,
                   odd = __byte_perm(own, 0, 0x4341), left = __byte_perm(before, 0, 0x4341),
                   right = behind & 0x00ff00ff;
    const census_pairs p = {{left, __byte_perm(before, even, 0x5452), __byte_perm(left, odd, 0x5432), even, odd,
                             __byte_perm(even, right, 0x5432), __byte_perm(odd, behind, 0x3532), right}};
    return p;
}

/** Writes the census words of both cameras and the edges of camera 0. Resets back_key (best keys of camera 1's pixels)
 *  and the number of pixels with a disparity. */
static __global__ void __launch_bounds__(CENSUS_THREADS) census_k(const VF_CONSTANT vf_dense_view s)
{
    enum { RADIUS = VF_DENSE_CENSUS_RADIUS };
    vf_dense_scratch &m = *s.scratch;
    const vf_level &l = picture(s);
    const int x = (blockIdx.x * CENSUS_THREADS + threadIdx.x) * CENSUS_PX, y = blockIdx.y, camera = blockIdx.z,
              at = y * l.pitch + x, inside = vf_min(x, (l.width - 1) / CENSUS_PX * CENSUS_PX);
    const uint8_t *pixels = s.pictures.level0[s.parity][camera];
    if (x == 0 && y == 0 && camera == 0) {
        vf_clock_start(s.clock, 0);
        s.dense->valid = 0;
    }
    /* a row's first warp keeps all its lanes, which __shfl_sync() below needs */
    if (x >= l.width && (blockIdx.x || threadIdx.x >= VF_WARP)) return;
    const census_window w = census_window_at(inside, l.width);
    census_pairs row[2 * RADIUS + 1];
#pragma unroll
    for (int k = -RADIUS; k <= RADIUS; k++)
        row[k + RADIUS] = load_census_row(pixels + (uint32_t)(vf_clamp(y + k, 0, l.height - 1) * l.pitch + inside), w);
    /* high, middle and low bytes of the census words of the thread's four pixels */
    uint32_t high = 0, middle = 0, low = 0;
    const auto brighter = [&](int u, int v, int p, int q, uint32_t grey) {
        const census_pairs &a = row[v + RADIUS], &b = row[q + RADIUS];
        /* added to a difference of grey levels, makes the top bit of its half 1 if the difference exceeds `grey` */
        const uint32_t least = (0x8000 - grey - 1) * BOTH_HALVES;
        const uint32_t even = a.pair[u + RADIUS] + least - b.pair[p + RADIUS],
                       odd = a.pair[u + RADIUS + 1] + least - b.pair[p + RADIUS + 1];
        uint32_t four;
        asm("prmt.b32 %0, %1, %2, 0xfbd9;" : "=r"(four) : "r"(even), "r"(odd));
        return four;
    };
#define BRIGHTER(bit, u, v, p, q) | (brighter(u, v, p, q, VF_DENSE_CENSUS_GREY) & 0x01010101u << (bit))
    high = high VF_DENSE_CENSUS_HIGH(BRIGHTER);
    middle = middle VF_DENSE_CENSUS_MIDDLE(BRIGHTER);
    low = low VF_DENSE_CENSUS_LOW(BRIGHTER);
#undef BRIGHTER
    uint32_t edges = 0;
#define DIFFERS(bit, u, v)                                                                                             \
    | ((brighter(u, v, 0, 0, VF_DENSE_EDGE_GREY) | brighter(0, 0, u, v, VF_DENSE_EDGE_GREY)) & 0x01010101u << (bit))
    if (!camera) edges = edges VF_DENSE_EDGES(DIFFERS);
#undef DIFFERS
    const uint32_t low01 = __byte_perm(low, middle, 0x5140), low23 = __byte_perm(low, middle, 0x7362),
                   high01 = __byte_perm(high, edges, 0x5140), high23 = __byte_perm(high, edges, 0x7362);
    const uint32_t word[CENSUS_PX] = {__byte_perm(low01, high01, 0x5410), __byte_perm(low01, high01, 0x7632),
                                      __byte_perm(low23, high23, 0x5410), __byte_perm(low23, high23, 0x7632)};
    if (x < l.width)
        *reinterpret_cast<uint4 *>((camera ? m.back_key : m.census0) + at) =
            camera ? make_uint4(VF_NONE, VF_NONE, VF_NONE, VF_NONE) : make_uint4(word[0], word[1], word[2], word[3]);
    if (!camera) return;
    const int first = s.tuning.dense_disparities + s.tuning.dense_least_px; /* index of the census word of column 0 */
    uint32_t *copy0 = m.census1[0] + y * census1_pitch(s), *copy1 = m.census1[1] + y * census1_pitch(s) - 1;
#pragma unroll
    for (int k = 0; k < CENSUS_PX; k++) {
        const int i = first + x + k;
        if (x + k < l.width - s.tuning.dense_least_px) copy0[i] = copy1[i] = word[k];
    }
    if (blockIdx.x || threadIdx.x >= VF_WARP) return;
    const uint32_t column0 = __shfl_sync(VF_ALL, word[0], 0);
    for (int i = threadIdx.x; i < vf_min(first, l.width + s.tuning.dense_disparities); i += VF_WARP) {
        copy0[i] = column0;
        if (i) copy1[i] = column0;
    }
}

#endif
