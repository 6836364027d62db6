/* SPDX-License-Identifier: MIT */
/* detect on the GPU: one launch for all levels and cameras, one kernel from pixels to the best key of each cell. Scores
 * for non-maximum suppression (NMS) stay in shared memory. A block processes a tile of one level:
 *   1. pixels of the tile and its margin are loaded to shared memory
 *   2. quick test (rejects most pixels that are no corners), eight pixels a thread; those that pass are listed, so that
 *   3. segment test and score run with all lanes busy, and
 *   4. non-maximum suppression runs on corners only; local maxima are listed, so that
 *   5. the Harris response takes one or two passes of the block
 * Cells need not align with tiles: the best key of a cell is a 64-bit atomic maximum in global memory. Of the two keys
 * of each such maximum, the lower one goes into the maximum of the cell's second best keys. */
#include "kernels/kernel.cuh"

#include "features/detect.h"
#include "image/ingest.h"
#include "image/scale.h"

#ifndef VF_DETECT_OCCUPANCY
#define VF_DETECT_OCCUPANCY 1024 /* threads that must fit on a multiprocessor, which limits their registers */
#endif
/** Columns of a tile with scores for non-maximum suppression (NMS): two warps wide, including the NMS radius on each
 *  side. */
#define TILE_X 64
/** Columns of pixels of a tile: TILE_X, the circle's radius on both sides, and up to 8 more on the left for
 *  alignment. */
#define PIXEL_X 80
/** Most words of four pixels in a row of a tile that contain a pixel with a score. */
#define WORDS_X 17
/** Bit of a listed pixel: it may have an arc darker than its centre. Lower bits: index of the pixel in rows of PIXEL_X,
 *  from the first row of scores. */
#define DARK_BIT 15

/** Corner search in one level of one camera, set up by the launcher. */
struct search {
    const uint8_t *pixels;
    int32_t pitch, height;
    vf_detect_limits limits; /* range of corner positions; the first tile's scores begin one NMS radius before it */
    uint64_t *best,          /* best key of each culling cell of the level */
        *second,             /* second best key of each culling cell of the level */
        *corner;             /* best key of each cell, over all levels */
    int32_t camera, level;
    uint32_t step_q16;          /* pixels of level 0 per pixel of the level [1/65536] */
    int32_t first_block,        /* block of the first tile; tiles follow row by row */
        across;                 /* number of tiles in a row */
    uint32_t across_reciprocal; /* reciprocal_of(across) */
};

/** Corner searches of all levels and cameras, in the order of their blocks. */
struct searches {
    search picture[VFRONT_CAMERAS * VFRONT_SCALES];
    int32_t count;
    uint32_t cell_width, cell_height, cull_width, cull_height; /* reciprocal_of() the cell sizes in px, for divide() */
};

/** Reciprocal of a size from 2 to 2^16, for divide(). */
static uint32_t reciprocal_of(int size) { return 0xffffffffu / (uint32_t)size + 1; }
/** value / size as a product with reciprocal_of(size), rounded down. Exact for value < 2^16. */
static __device__ __forceinline__ int divide(int value, uint32_t reciprocal)
{
    return (int)__umulhi((uint32_t)value, reciprocal);
}

/** State of the quick test of four pixels, one byte each. An arc of nine brighter (or darker) circle pixels contains
 *  one of each of the eight pairs of opposite circle pixels. Grey levels are halved to 7 bits, so that one addition
 *  compares four pixels; bit 7 of each byte is the result. Halving loses no corner; false positives fail the segment
 *  test. */
struct quick_state {
    uint32_t above;  /* each byte: 128 minus the least halved grey level that counts as brighter; >= 0 */
    uint32_t below;  /* each byte: 128 plus the greatest halved grey level that counts as darker; >= 127 */
    uint32_t bright, /* bit 7 of each byte: 1 if every pair so far has a brighter pixel */
        dark;        /* bit 7 of each byte: 1 if every pair so far has a darker pixel */
};
static __device__ __forceinline__ quick_state quick_state_of(uint32_t centre, int threshold)
{
    const uint32_t bit7 = 0x80808080u, least = (uint32_t)((threshold + 1) / 2) * 0x01010101u;
    const uint32_t over = centre + least, under = centre + (bit7 - least);
    const uint32_t none_above = (over >> 7 & 0x01010101u) * 255, none_below = (~under >> 7 & 0x01010101u) * 255;
    const quick_state v = {(bit7 - (over & ~none_above)) & ~none_above, (under & ~none_below) | (~bit7 & none_below),
                           bit7, bit7};
    return v;
}

/** Result of the quick test of four pixels, one bit each. A pixel that passes as brighter and as darker is no corner:
 *  it has eight circle pixels of each kind, and no arc of nine. */
struct quick_result {
    uint32_t passed, /* 1: may be a corner */
        dark;        /* 1: its arc would be darker than the centre */
};
/** Bits 7 of the four bytes, as bits 0 .. 3. */
static __device__ __forceinline__ uint32_t four_bits(uint32_t bytes)
{
    return (bytes >> 7 & 0x01010101u) * 0x01020408u >> 24;
}

/** Pairs of opposite circle pixels on the axes. X(x, y): offset of one pixel of the pair from the centre [px]. */
#define AXIS_PAIRS(X) X(0, -3) X(3, 0)
/** The other six pairs of opposite circle pixels. X(x, y): offset of one pixel of the pair from the centre [px]. */
#define OTHER_PAIRS(X) X(1, -3) X(2, -2) X(3, -1) X(3, 1) X(2, 2) X(1, 3)

/** Four halved grey levels, one byte each, at offset (dx, dy) from `at`, in rows of PIXEL_X. at: aligned to 4 bytes. */
static __device__ __forceinline__ uint32_t halves_at(const uint8_t *at, int dx, int dy)
{
    const uint32_t *word = reinterpret_cast<const uint32_t *>(at + dy * PIXEL_X);
    return dx < 0   ? __funnelshift_r(word[-1], word[0], 32 + 8 * dx)
           : dx > 0 ? __funnelshift_r(word[0], word[1], 8 * dx)
                    : word[0];
}

/** Updates the quick test of four pixels with a pair of opposite circle pixels. (dx, dy): offset of one of them. */
static __device__ __forceinline__ void test_pair(quick_state &v, const uint8_t *at, int dx, int dy)
{
    const uint32_t a = halves_at(at, dx, dy), b = halves_at(at, -dx, -dy);
    v.bright &= (v.above + a) | (v.above + b);
    v.dark &= (v.below - a) | (v.below - b);
}

/** Quick test of two vertically adjacent words of four pixels, which share most reads. to: results of the upper and the
 *  lower word. Called by whole warps, which return early if the pairs on the axes exclude all pixels. */
static __device__ __forceinline__ void quick_test(quick_result to[2], const uint8_t *at, int threshold)
{
    quick_state v[2];
#define TEST(dx, dy) test_pair(v[r], at + r * PIXEL_X, dx, dy);
#pragma unroll
    for (int r = 0; r < 2; r++) {
        v[r] = quick_state_of(halves_at(at, 0, r), threshold);
        AXIS_PAIRS(TEST)
        to[r] = quick_result{0, 0};
    }
    if (!__any_sync(VF_ALL, ((v[0].bright | v[0].dark | v[1].bright | v[1].dark) & 0x80808080u) != 0)) return;
#pragma unroll
    for (int r = 0; r < 2; r++) {
        OTHER_PAIRS(TEST)
        to[r] = quick_result{four_bits(v[r].bright ^ v[r].dark), four_bits(v[r].dark)};
    }
#undef TEST
}

/** The 16 circle pixels of a centre. Word k holds pixels k + 4, k, k + 12 and k + 8, from its lowest byte. In this
 *  order few shifts turn a bit of each byte into a mask of the circle. */
struct ring {
    uint32_t word[4];
};
static __device__ __forceinline__ ring load_ring(const uint8_t *centre)
{
    uint32_t circle[16];
#define LOAD(n, dx, dy) circle[n] = centre[(dy)*PIXEL_X + (dx)];
    VF_CIRCLE_PIXELS(LOAD)
#undef LOAD
    ring r;
#pragma unroll
    for (int k = 0; k < 4; k++)
        r.word[k] = circle[k + 4] + circle[k] * 0x100u + circle[k + 12] * 0x10000u + circle[k + 8] * 0x1000000u;
    return r;
}

/** Starts of arcs of at least `arc` circle pixels, one bit per circle pixel. Pixels of an arc are brighter than centre
 *  + threshold or darker than centre - threshold. 0 if an arc is longer than `most`. dark: 0 for brighter, all bits for
 *  darker. The lower seven bits of each byte are compared with `limit` by a difference without borrow, the highest bit
 *  separately. Bit 7 then means greater or, if dark, not less, which is inverted at the end. */
static __device__ __forceinline__ uint32_t arc_starts(const ring &r, int centre, int threshold, uint32_t dark, int arc,
                                                      int most)
{
    const uint32_t bit7 = 0x80808080u;
    const uint32_t limit = (uint32_t)(dark ? vf_max(centre - threshold, 0) : vf_min(centre + threshold, 255)) *
                           0x01010101u;
    const uint32_t lower = (limit & ~bit7) + (0x01010101u & ~dark), not_limit = limit ^ bit7;
    uint32_t mask = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        const uint32_t difference = (r.word[k] | bit7) - lower;
        const uint32_t over = (r.word[k] & not_limit) | ((r.word[k] ^ not_limit) & difference);
        mask = mask >> 1 | (over & bit7);
    }
    mask ^= dark & 0xf0f0f0f0u;
    const uint32_t twice = __byte_perm(mask | mask >> 12, 0, 0x2020);
    return most < 16 && vf_detect_runs(twice, most + 1) ? 0 : vf_detect_runs(twice, arc);
}

/** Corner score SAD-A: sum of absolute differences between centre and arc. starts: from arc_starts(); dark: all bits
 *  for an arc darker than the centre, else 0; arc: least length of an arc. */
static __device__ __forceinline__ uint32_t arc_score(const ring &r, int centre, uint32_t starts, uint32_t dark, int arc)
{
    const uint32_t counted = vf_detect_arc(starts, arc), doubled = __byte_perm(counted, 0, 0x1100);
    /* one bit per circle pixel, four in the lower nibble of each byte */
    const uint32_t nibbles = (doubled & 0xff00ff00u) | (doubled >> 4 & 0x00ff00ffu);
    uint32_t sum = 0;
#pragma unroll
    for (int k = 0; k < 4; k++) sum = vf_dot4(r.word[k], nibbles >> k & 0x01010101u, sum);
    const int32_t bright = (int32_t)sum - __popc(counted) * centre;
    return (uint32_t)(dark ? -bright : bright);
}

/** Corner score SAD-B or MT, by `kind`, from the pixels. starts: from arc_starts(); dark: all bits for an arc darker
 *  than the centre, else 0; arc: least length of an arc. */
static __device__ __forceinline__ uint32_t other_score(const uint8_t *centre, uint32_t starts, uint32_t dark, int arc,
                                                       int kind)
{
    int32_t circle[16];
#define LOAD(n, dx, dy) circle[n] = centre[(dy)*PIXEL_X + (dx)];
    VF_CIRCLE_PIXELS(LOAD)
#undef LOAD
    const vf_arcs arcs = {starts & ~dark, starts & dark};
    return vf_detect_arcs_score(circle, *centre, arcs, arc, kind);
}

/** Copies the pixels of a tile to shared memory, zeros outside the image, and the same halved to 7 bits. Eight pixels a
 *  lane, several rows a warp. All loads are issued before the first result is used. */
template <int WARPS, int PIXEL_Y>
static __device__ __forceinline__ void load_pixels(uint8_t (*pixel)[PIXEL_X], uint8_t (*half)[PIXEL_X], const search &q,
                                                   int x0, int y0)
{
    enum { LANES = PIXEL_X / 8, ROWS = VF_WARP / LANES, STEPS = (PIXEL_Y + ROWS * WARPS - 1) / (ROWS * WARPS) };
    const int lane = threadIdx.x % VF_WARP, column = 8 * (lane % LANES), x = x0 + column;
    const int first = threadIdx.x / VF_WARP * ROWS + lane / LANES;
    const bool own = lane < ROWS * LANES, inside = own && x >= 0 && x < q.pitch;
    uint2 eight[STEPS];
#pragma unroll
    for (int k = 0; k < STEPS; k++) {
        const int y = y0 + first + k * ROWS * WARPS;
        eight[k] = make_uint2(0, 0);
        if (inside && y >= 0 && y < q.height)
            eight[k] = *reinterpret_cast<const uint2 *>(q.pixels + (uint32_t)(y * q.pitch + x));
    }
#pragma unroll
    for (int k = 0; k < STEPS; k++)
        if (own && first + k * ROWS * WARPS < PIXEL_Y) {
            const uint32_t bits = 0x7f7f7f7fu;
            *reinterpret_cast<uint2 *>(&pixel[first + k * ROWS * WARPS][column]) = eight[k];
            *reinterpret_cast<uint2 *>(&half[first + k * ROWS * WARPS][column]) = make_uint2(eight[k].x >> 1 & bits,
                                                                                             eight[k].y >> 1 & bits);
        }
}

/** True if the corner at index i, in rows of PIXEL_X, is a local maximum: within radius R no NMS score is higher, and
 *  no earlier one in raster order is equal. With R > 1 two scores are compared at a time. They are below 2^15, so that
 *  bit 15, set in `own`, remains set in `own - other` if own is not less. */
template <int R> static __device__ __forceinline__ bool is_local_maximum(const uint16_t *nms, int i)
{
    enum { WORDS = R + 1 };
    if (R == 1) { /* one score at a time, with fewer instructions */
        const uint16_t *above = nms + i - PIXEL_X, *at = nms + i, *below = nms + i + PIXEL_X;
        const int earlier = vf_max(vf_max(above[-1], above[0]), vf_max(above[1], at[-1]));
        const int later = vf_max(vf_max(below[-1], below[0]), vf_max(below[1], at[1]));
        return earlier < *at && later <= *at;
    }
    const uint32_t own = nms[i] * 0x10001u, later = own | 0x80008000u, earlier = (own - 0x10001u) | 0x80008000u;
    const int first = (i - R) & ~1; /* reads whole words of two scores: one score too many, on one side */
    const uint32_t *row = reinterpret_cast<const uint32_t *>(nms + first) - R * (PIXEL_X / 2);
    const int centre = (i - first) / 2;
    uint32_t at_least[WORDS];
#pragma unroll
    for (int w = 0; w < WORDS; w++) at_least[w] = 0x80008000u;
#pragma unroll
    for (int dy = -R; dy <= R; dy++, row += PIXEL_X / 2) {
#pragma unroll
        for (int w = 0; w < WORDS; w++) {
            uint32_t than = dy < 0 ? earlier : later;
            if (dy == 0 && w < centre) than = earlier;
            if (dy == 0 && w == centre && i & 1) than = (later & 0xffff0000u) | (earlier & 0xffffu);
            at_least[w] &= than - row[w];
        }
    }
    /* ignores the score outside the radius */
    at_least[(i - R) & 1 ? 0 : WORDS - 1] |= (i - R) & 1 ? 0x8000u : 0x80000000u;
    uint32_t all = 0x80008000u;
#pragma unroll
    for (int w = 0; w < WORDS; w++) all &= at_least[w];
    return all == 0x80008000u;
}

/** Loads COUNT consecutive pixels of a row, up to nine, at any alignment. */
template <int COUNT> static __device__ __forceinline__ void load_row(int32_t *to, const uint8_t *from)
{
    const unsigned off = (unsigned)(reinterpret_cast<uintptr_t>(from) & 3);
    const uint32_t *word = reinterpret_cast<const uint32_t *>(from - off);
#pragma unroll
    for (int w = 0; w < (COUNT + 3) / 4; w++) {
        const uint32_t four = 4 * w + 1 < COUNT ? __funnelshift_r(word[w], word[w + 1], 8 * off) : word[w] >> (8 * off);
#pragma unroll
        for (int i = 4 * w; i < 4 * w + 4 && i < COUNT; i++) to[i] = four >> (8 * (i - 4 * w)) & 255;
    }
}

/** Sums for the Harris response of a pixel of the tile, over a window of 2 * HALF + 1 px. The 1D kernels -1 0 1 and 1 2
 *  1 are applied once to each row. Results of three rows stay in registers (paper 001, 5.2). */
template <int HALF> static __device__ __forceinline__ vf_harris harris_around(const uint8_t *centre)
{
    enum { SIDE = 2 * HALF + 1 };
    int32_t across[3][SIDE], along[3][SIDE];
    vf_harris h = {0, 0, 0};
#pragma unroll
    for (int r = 0; r < SIDE + 2; r++) {
        int32_t row[SIDE + 2];
        load_row<SIDE + 2>(row, centre + (r - HALF - 1) * PIXEL_X - HALF - 1);
#pragma unroll
        for (int k = 0; k < SIDE; k++) {
            across[r % 3][k] = row[k + 2] - row[k];
            along[r % 3][k] = vf_sobel_smooth(row[k], row[k + 1], row[k + 2]);
            if (r >= 2)
                vf_harris_add(&h, vf_sobel_smooth(across[(r + 1) % 3][k], across[(r + 2) % 3][k], across[r % 3][k]),
                              along[r % 3][k] - along[(r + 1) % 3][k]);
        }
    }
    return h;
}

/** Final score of a corner: `score` if detect_rank is 0, else its Harris response. */
static __device__ __forceinline__ uint32_t final_score(const vf_detect_tuning &t, uint32_t score, const uint8_t *centre)
{
    if (!t.detect_rank) return score;
    vf_harris seven = {0, 0, 0}, five = {0, 0, 0};
    if (t.detect_rank == 1)
        seven = harris_around<3>(centre);
    else
        five = harris_around<2>(centre);
    return vf_detect_final_score(&t, score, seven, five);
}

/** Raises the key of a cell to `key` if that is greater, atomically. Returns the old key. */
static __device__ __forceinline__ uint64_t raise_key(uint64_t *best, uint64_t key)
{
    return atomicMax((unsigned long long *)best, (unsigned long long)key);
}

/** Clears the keys of all cells for the next frame, every `step`-th one from `first` on. */
static __device__ __forceinline__ void clear_next(const vf_detect_view &s, int first, int step)
{
    for (int camera = 0; camera < s.geometry.cameras; camera++) {
        for (int i = first; i < s.geometry.cull_slots[camera]; i += step)
            s.detect->best[s.parity ^ 1][camera][i] = s.detect->second[s.parity ^ 1][camera][i] = 0;
        for (int i = first; i < s.geometry.cells[camera]; i += step) s.detect->corner[s.parity ^ 1][camera][i] = 0;
    }
}

/** Finds the corners in one tile of one level of one camera, by a block. R: radius of non-maximum suppression; TILE_Y:
 *  rows of a tile with scores. */
template <int R, int THREADS, int TILE_Y>
static __global__ void __launch_bounds__(THREADS, VF_DETECT_OCCUPANCY / THREADS)
    detect_k(const VF_CONSTANT vf_detect_view s, const searches all)
{
    enum { WARPS = THREADS / VF_WARP, PIXEL_Y = TILE_Y + 2 * VF_CIRCLE_RADIUS };
    __shared__ __align__(16) uint8_t pixel[PIXEL_Y][PIXEL_X], half[PIXEL_Y][PIXEL_X];
    /* NMS scores, 0: no corner; R more rows at top and bottom */
    __shared__ __align__(16) uint16_t nms[(TILE_Y + 2 * R) * PIXEL_X / 8 * 8 + 8];
    __shared__ uint16_t list[TILE_Y * TILE_X];
    __shared__ uint16_t maxima[TILE_Y * TILE_X / 4]; /* at most one local maximum in 2x2 pixels */
    __shared__ int listed, maxima_count;
    const int thread = threadIdx.x, lane = thread % VF_WARP;
    int p = 0;
    while (p + 1 < all.count && (int)blockIdx.x >= all.picture[p + 1].first_block) p++;
    const search &q = all.picture[p];
    const int block = blockIdx.x - q.first_block, row = q.across > 1 ? divide(block, q.across_reciprocal) : block;
    /* x0, y0: first column and row of the tile's scores, in the level */
    const int x0 = q.limits.x_first + (block - row * q.across) * (TILE_X - 2 * R) - R,
              y0 = q.limits.y_first + row * (TILE_Y - 2 * R) - R;
    /* shift: column of x0 in the tile's pixels, 4 .. 11 */
    const int left = (x0 - VF_CIRCLE_RADIUS - 1) & ~7, shift = x0 - left;

    if (thread == 0) {
        vf_clock_start(s.clock, blockIdx.x);
        listed = maxima_count = 0;
    }
    /* These values are loaded before the pixels, so that both loads overlap. */
    const int framed = vf_framed(&s.ingest->params, q.camera), pitch0 = s.geometry.scale[q.camera][0].pitch;
    load_pixels<WARPS, PIXEL_Y>(pixel, half, q, left, y0 - VF_CIRCLE_RADIUS);
    for (int i = thread; i < (int)(sizeof nms / sizeof(uint4)); i += THREADS)
        reinterpret_cast<uint4 *>(nms)[i] = make_uint4(0, 0, 0, 0);
    __syncthreads();

    const int low = s.tuning.detect_threshold_low;
    const int threshold = low ? low : s.tuning.detect_threshold;
    /* range of corner positions, as columns of pixels and rows of scores of the tile */
    const int first_x = vf_max(0, q.limits.x_first - x0) + shift,
              last_x = vf_min(TILE_X - 1, q.limits.x_last - x0) + shift;
    const uint32_t before = (1u << lane) - 1;
    const int first_y = vf_max(0, q.limits.y_first - y0), last_y = vf_min(TILE_Y - 1, q.limits.y_last - y0);
    /* pairs of vertically adjacent words in the searched rows */
    const int pairs = last_y < 0 ? 0 : (last_y / 2 + 1) * WORDS_X;
    for (int i = thread; i < (pairs + VF_WARP - 1) / VF_WARP * VF_WARP; i += THREADS) {
        const int pair = i / WORDS_X, ry = vf_min(2 * pair, TILE_Y - 2),
                  column = (shift & ~3) + 4 * (i - pair * WORDS_X);
        quick_result quick[2];
        quick_test(quick, &half[ry + VF_CIRCLE_RADIUS][column], threshold);
        uint32_t limits = 15u << vf_clamp(first_x - column, 0, 4) & 15u >> vf_clamp(column + 3 - last_x, 0, 4);
        if (i >= pairs) limits = 0;
        /* own: one bit per pixel that passes the quick test; dark: 1 if its arc would be darker. Bits 0 .. 3 are the
         * upper row, bits 4 .. 7 the lower row. */
        uint32_t own = 0, dark = 0;
#pragma unroll
        for (int r = 0; r < 2; r++) {
            if (ry + r >= first_y && ry + r <= last_y) own |= (quick[r].passed & limits) << 4 * r;
            dark |= quick[r].dark << 4 * r;
        }
        /* place: number of candidates of lower lanes, from the ballots of all bits of `count` */
        const int count = __popc(own);
        int place = 0;
        uint32_t any = 0;
#pragma unroll
        for (int b = 0; b < 4; b++) {
            const uint32_t voted = __ballot_sync(VF_ALL, count >> b & 1);
            place += __popc(voted & before) << b;
            any |= voted;
        }
        if (!any) continue;
        int at = 0;
        if (lane == VF_WARP - 1) at = atomicAdd(&listed, place + count);
        uint16_t *to = list + __shfl_sync(VF_ALL, at, VF_WARP - 1) + place;
#pragma unroll
        for (int k = 0; k < 8; k++) {
            const uint32_t sign = dark << (DARK_BIT - k) & 1u << DARK_BIT;
            if (own >> k & 1) *to++ = (uint16_t)((uint32_t)((ry + k / 4) * PIXEL_X + column + k % 4) | sign);
        }
    }
    __syncthreads();

    const int candidates = listed;
    const bool masked = framed || s.masks.fixed[q.camera];
    for (int k = thread; k < candidates; k += THREADS) {
        const int i = list[k] & ((1 << DARK_BIT) - 1);
        const uint32_t dark = 0u - (uint32_t)(list[k] >> DARK_BIT);
        const uint8_t *centre = pixel[VF_CIRCLE_RADIUS] + i;
        const ring circle = load_ring(centre);
        const int arc = VF_DETECT_ARC, most = s.tuning.detect_arc_most, kind = s.tuning.detect_score;
        uint32_t starts = arc_starts(circle, *centre, s.tuning.detect_threshold, dark, arc, most);
        const bool high = starts;
        if (!high && low) starts = arc_starts(circle, *centre, low, dark, arc, most);
        if (!starts) continue;
        if (masked) {
            const int ry = i / PIXEL_X, rx = i - ry * PIXEL_X - shift;
            if (!vf_usable(&s.masks, q.camera, framed,
                           vf_pixel0(y0 + ry, q.step_q16) * pitch0 + vf_pixel0(x0 + rx, q.step_q16)))
                continue;
        }
        const uint32_t score = kind == VFRONT_SCORE_SAD_A ? arc_score(circle, *centre, starts, dark, arc)
                                                          : other_score(centre, starts, dark, arc, kind);
        nms[R * PIXEL_X + i] = (uint16_t)vf_detect_nms_score(high ? score : 0, score);
    }
    __syncthreads();

    VF_STATIC_ASSERT(TILE_Y * TILE_X <= 32 * THREADS, "a bit for each candidate of a thread");
    VF_STATIC_ASSERT(TILE_Y % 2 == 0, "the quick test takes rows by two");
    uint32_t own = 0; /* one bit for each of the thread's candidates that is a local maximum */
    for (int k = thread, bit = 0; k < candidates; k += THREADS, bit++) {
        const int i = list[k] & ((1 << DARK_BIT) - 1);
        if (nms[R * PIXEL_X + i] && is_local_maximum<R>(nms, R * PIXEL_X + i)) own |= 1u << bit;
    }
    for (; own; own &= own - 1) {
        const int i = list[thread + THREADS * (__ffs((int)own) - 1)] & ((1 << DARK_BIT) - 1);
        const int ry = i / PIXEL_X, rx = i - ry * PIXEL_X - shift;
        const bool inner = rx >= R && rx < TILE_X - R && ry >= R && ry < TILE_Y - R;
        if (inner) maxima[atomicAdd(&maxima_count, 1)] = (uint16_t)i;
    }
    __syncthreads();

    const int corners = maxima_count;
    for (int k = thread; k < corners; k += THREADS) {
        const int i = maxima[k], ry = i / PIXEL_X, x = x0 + i - ry * PIXEL_X - shift, y = y0 + ry;
        const uint32_t found = nms[R * PIXEL_X + i];
        const uint32_t score = final_score(s.tuning, found % VF_NMS_HIGH, pixel[VF_CIRCLE_RADIUS] + i);
        const uint64_t key = vf_detect_key(found >= VF_NMS_HIGH, score, q.level, x, y);
        const int x_px = vf_pixel0(x, q.step_q16), y_px = vf_pixel0(y, q.step_q16); /* position in level 0 */
        raise_key(q.corner + divide(y_px, all.cell_height) * s.geometry.cells_x[q.camera] +
                      divide(x_px, all.cell_width),
                  key);
        const int cull = divide(y_px, all.cull_height) * s.geometry.culls_x[q.camera] + divide(x_px, all.cull_width);
        const uint64_t before = raise_key(q.best + cull, key);
        if (before) raise_key(q.second + cull, before < key ? before : key);
    }
    clear_next(s, blockIdx.x * THREADS + thread, gridDim.x * THREADS);
    if (thread == 0) vf_clock_end(s.clock);
}

/** Sets up the search of a level of a camera. rows: rows of scores of a tile; block: first block of the search. Returns
 *  the block after its last. */
static int set_up(const vf_detect_view *s, search *q, int camera, int level, int rows, int block)
{
    const vf_level &l = s->geometry.scale[camera][level];
    const int radius = s->tuning.detect_radius;
    q->pixels = vf_scale_pixels(s->scale, s->pictures.level0[s->parity][camera], camera, level, &l);
    q->best = s->detect->best[s->parity][camera] + level * s->geometry.culls[camera];
    q->second = s->detect->second[s->parity][camera] + level * s->geometry.culls[camera];
    q->corner = s->detect->corner[s->parity][camera];
    q->step_q16 = s->geometry.step_q16[level];
    q->pitch = l.pitch;
    q->height = l.height;
    q->limits = vf_detect_limits_of(&s->geometry, &s->tuning, camera, level);
    q->camera = camera;
    q->level = level;
    q->first_block = block;
    const vf_detect_limits &to = q->limits;
    const int width = vf_max(to.x_last + 1 - to.x_first, 1), height = vf_max(to.y_last + 1 - to.y_first, 1);
    q->across = (int32_t)vf_blocks(width, TILE_X - 2 * radius);
    q->across_reciprocal = reciprocal_of(q->across);
    return block + q->across * (int)vf_blocks(height, rows - 2 * radius);
}

/** Sets up the searches of all levels and cameras. rows: rows of scores of a tile. Returns the number of blocks. */
static int set_up_all(const vf_detect_view *s, searches *all, int rows)
{
    int blocks = 0;
    memset(all, 0, sizeof *all);
    for (int camera = 0; camera < s->geometry.cameras; camera++)
        for (int level = 0; level < s->geometry.searched; level++)
            blocks = set_up(s, &all->picture[all->count++], camera, level, rows, blocks);
    all->cell_width = reciprocal_of(s->tuning.cell_width_px);
    all->cell_height = reciprocal_of(s->tuning.cell_height_px);
    all->cull_width = reciprocal_of(s->tuning.cull_width_px);
    all->cull_height = reciprocal_of(s->tuning.cull_height_px);
    return blocks;
}

/** Launches detect_k with tiles of ROWS rows of scores. */
template <int THREADS, int ROWS> static void launch(const vf_detect_view *s, cudaStream_t stream)
{
    searches all;
    const int blocks = set_up_all(s, &all, ROWS);
    switch (s->tuning.detect_radius) {
    case 1: detect_k<1, THREADS, ROWS><<<blocks, THREADS, 0, stream>>>(*s, all); break;
    case 2: detect_k<2, THREADS, ROWS><<<blocks, THREADS, 0, stream>>>(*s, all); break;
    case 3: detect_k<3, THREADS, ROWS><<<blocks, THREADS, 0, stream>>>(*s, all); break;
    default: detect_k<4, THREADS, ROWS><<<blocks, THREADS, 0, stream>>>(*s, all); break;
    }
}

/** Two sizes of blocks. Many threads on few rows are faster if nearly all blocks are resident at once; otherwise few
 *  threads on many rows have less tile overlap and fewer barriers. (H200, 752x480, 8 levels, 256 threads: one image
 *  13.9 us with 32 rows, 14.5 with 44; two images 23.3 and 22.4.) */
#ifndef VF_DETECT_FEW_ROWS
#define VF_DETECT_FEW_THREADS 256  /* threads of a block, if nearly all blocks are resident */
#define VF_DETECT_FEW_ROWS 32      /* rows of scores of its tile */
#define VF_DETECT_MANY_THREADS 128 /* threads of a block otherwise */
#define VF_DETECT_MANY_ROWS 44     /* rows of scores of its tile */
#endif

extern "C" cudaError_t vf_detect_cuda(const vf_detect_view *s, cudaStream_t stream)
{
    searches all;
    if (set_up_all(s, &all, VF_DETECT_FEW_ROWS) <= 8 * vf_multiprocessors())
        launch<VF_DETECT_FEW_THREADS, VF_DETECT_FEW_ROWS>(s, stream);
    else
        launch<VF_DETECT_MANY_THREADS, VF_DETECT_MANY_ROWS>(s, stream);
    return cudaGetLastError();
}
