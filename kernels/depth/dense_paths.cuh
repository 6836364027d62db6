/* SPDX-License-Identifier: MIT */
/* dense: path costs of semi-global matching, two directions a launch, each direction to its own cost volume.
 *
 * A warp follows a line of the image. Each lane has two neighbouring disparities of every group of 64
 * (DISPARITY_GROUP), COUNT = 2, 4 or 8 in all, adjacent in a volume. A warp thus reads consecutive census words of
 * camera 1, and a pixel's costs are consecutive bytes. All lines of two directions run concurrently: 640x480 px give
 * 1,120 or 1,280 independent warps. A diagonal that leaves the image on one side continues on the other as a new path.
 * Each warp thus handles one pixel per image row. Matching costs are recomputed from the census words for each
 * direction, which saves a third volume.
 *
 * Path costs are below 2^14 and packed two to a register: cost k of a lane and cost k + COUNT / 2. The costs of the
 * disparities one below and one above, held by neighbouring lanes, are packed alike. */
#ifndef VF_DENSE_PATHS_CUH
#define VF_DENSE_PATHS_CUH

#include "dense_census.cuh"

/* ---- input of a path --------------------------------------------------------------------------------------------- */

#ifndef VF_DENSE_BATCH
#define VF_DENSE_BATCH 16
#endif
#ifndef VF_DENSE_BLOCKS
#define VF_DENSE_BLOCKS 16 /* blocks per multiprocessor that __launch_bounds__() asks for: as many as an Orin can run */
#endif
/** Pixels of a path whose input is loaded together: as many as registers allow. An even number, because census words of
 *  camera 1 come from two copies in turn. count: disparities per lane. */
#define BATCH(count) ((count) > 4 ? VF_DENSE_BATCH / 2 : VF_DENSE_BATCH)
VF_STATIC_ASSERT(VF_DENSE_BATCH % 4 == 0 && VF_DENSE_BATCH <= VF_WARP,
                 "an even number of pixels, and half of it too; a lane for each");

/** Bytes from one pixel of a path to the next, in three arrays. */
struct stride {
    int census0, /* census words of camera 0 */
        census1, /* census words of camera 1 */
        costs;   /* cost volume */
};
/** Address of the pixel k steps after that of p on a path. by: bytes from one pixel of the path to the next. */
template <typename T> static __device__ __forceinline__ T *pixel(T *p, int by, int k)
{
    return (T *)((const char *)p + (int64_t)by * k);
}

/** Addresses from which a lane loads its input of a batch, the next pixels of a path. */
template <int COUNT> struct cursor {
    const uint32_t *census0; /* census word of camera 0 at pixel number `lane` of the batch */
    /* camera 1's words for the lane's two highest disparities: [0] at even, [1] at odd pixels */
    const uint2 *census1[2];
    typename lane_bytes<COUNT>::type *costs; /* the lane's path costs at the first pixel of the batch */
};
/** Addresses for a batch that begins at pixel (x, y) of a path. which: cost volume, 0 or 1; sideways: columns from one
 *  pixel of the path to the next, -1 .. 1; each: bytes from one pixel of the path to the next. */
template <int COUNT>
static __device__ __forceinline__ cursor<COUNT> cursor_at(const vf_dense_view &s, int which, int x, int y, int sideways,
                                                          const stride &each)
{
    vf_dense_scratch &m = *s.scratch;
    const int at = y * picture(s).pitch + x, lane = threadIdx.x % VF_WARP;
    /* Index of camera 1's census word for the lane's highest disparity; the word for the disparity below follows it.
     * They are read as an aligned pair: from the first copy if `last` is even, from the second if odd. Where x changes
     * along the path, even and odd pixels read different copies. */
    const int last = at + (y + 1) * s.tuning.dense_disparities - (COUNT / 2 - 1) * DISPARITY_GROUP - 2 * lane - 1;
    const int other_copy = sideways ? (int)sizeof m.census1[0] - 4 : 0;
    const uint2 *census1 = reinterpret_cast<const uint2 *>(m.census1[last % 2] + last / 2 * 2);
    return cursor<COUNT>{pixel(m.census0 + at, each.census0, lane),
                         {census1, pixel(census1, x % 2 ? other_copy : -other_copy, 1)},
                         lane_costs<COUNT>(s, which) + (size_t)at * VF_WARP};
}

/** What a lane loads for a batch of pixels: camera 1's census words and sums of path costs. ALONG: 1 or -1 on a path
 *  along a row, its columns from pixel to pixel; else 0. Along a row, pairs of words are loaded for even pixels only,
 *  and for the pixel after the batch: an odd pixel finds its words in the pairs on both sides. The last pair may lie
 *  partly beyond the row; that part is not used. */
template <int COUNT, int ALONG> struct batch_input {
    enum { EACH = ALONG ? 2 : 1 /* pixels per pair of words */, PAIRS = BATCH(COUNT) / EACH + EACH - 1 };
    /* camera 1's census words for two neighbouring disparities: y for the even one, x for the odd one */
    uint2 pair[PAIRS][COUNT / 2];
    /* path costs of earlier launches, summed over their directions */
    typename lane_bytes<COUNT>::type sum[BATCH(COUNT)];

    /** Census word of camera 1 for the lane's i-th disparity at pixel k of the batch. */
    __device__ __forceinline__ uint32_t word(int k, int i) const
    {
        if (!ALONG) return i % 2 ? pair[k][i / 2].x : pair[k][i / 2].y;
        if (k % 2 == 0) return i % 2 ? pair[k / 2][i / 2].x : pair[k / 2][i / 2].y;
        if (ALONG > 0) return i % 2 ? pair[k / 2][i / 2].y : pair[k / 2 + 1][i / 2].x;
        return i % 2 ? pair[k / 2 + 1][i / 2].y : pair[k / 2][i / 2].x;
    }
};
/** Prefetches the cost sums of a batch of pixels to the second-level cache, one 32-byte sector of a pixel per lane.
 *  Only from sm_80 on: the smaller caches of older GPUs (0.25 to 0.5 MB) may evict the sums before use. first: the
 *  lane's sums at the current pixel; by: bytes from one pixel of the path to the next; from: pixels from the current
 *  one to the batch; left: pixels from the current one to the end of the path. */
template <int COUNT>
static __device__ __forceinline__ void prefetch_sums(const typename lane_bytes<COUNT>::type *first, int by, int from,
                                                     int left)
{
#if VF_ARCH >= 800
    constexpr int SECTOR = 32,     /* bytes of a sector of a cache line */
        AT_ONCE = VF_WARP / COUNT; /* pixels that a warp prefetches at once */
    const int lane = threadIdx.x % VF_WARP;
    const char *sector = (const char *)(first - lane) + lane % COUNT * SECTOR;
#pragma unroll
    for (int k = 0; k < BATCH(COUNT); k += AT_ONCE) {
        const int ahead = from + k + lane / COUNT;
        if (lane / COUNT < BATCH(COUNT) - k && ahead < left)
            asm volatile("prefetch.global.L2 [%0];" : : "l"(pixel(sector, by, ahead)));
    }
#else
    (void)first, (void)by, (void)from, (void)left;
#endif
}

/* ---- path costs -------------------------------------------------------------------------------------------------- */

#define CENSUS_MASK ((1u << VF_DENSE_CENSUS_BITS) - 1)

/** Matching costs of a lane's COUNT disparities at pixel k of a batch, packed two to a word: cost i and cost i + COUNT
 *  / 2. census0: census word of camera 0 at the pixel, with its edges. */
template <int COUNT, int ALONG>
static __device__ __forceinline__ void matching_costs(uint32_t (&matching)[COUNT / 2], uint32_t census0,
                                                      const batch_input<COUNT, ALONG> &b, int k)
{
#pragma unroll
    for (int i = 0; i < COUNT / 2; i++) {
        const uint32_t low = __popc((census0 ^ b.word(k, i)) & CENSUS_MASK),
                       high = __popc((census0 ^ b.word(k, i + COUNT / 2)) & CENSUS_MASK);
        /* high << 16 | low as one multiply-add; the compiler would make two instructions, a shift and an or */
        asm("mad.lo.u32 %0, %1, 0x10000, %2;" : "=r"(matching[i]) : "r"(high), "r"(low));
    }
}

#define LARGE_COSTS 0x10001000u /* two packed 16-bit costs, each above any path cost */

/** Path costs of the disparities one below (lower) and one above (upper) each of a lane's disparities, packed like
 *  `cost`. Half of them belong to the lane; shuffles fetch the others from neighbouring lanes. Below lane 0 lies the
 *  last lane of the previous group of 64 disparities, above the last lane lies lane 0 of the next group. */
template <int HALF>
static __device__ __forceinline__ void neighbour_costs(uint32_t (&lower)[HALF], uint32_t (&upper)[HALF],
                                                       const uint32_t (&cost)[HALF])
{
    const int lane = threadIdx.x % VF_WARP;
    const uint32_t below_first = lane ? 0x3210 : 0x1054, above_last = lane < VF_WARP - 1 ? 0x3210 : 0x5432;
    uint32_t below[HALF / 2], above[HALF / 2];
#pragma unroll
    for (int k = 0; k < HALF; k += 2) {
        below[k / 2] = __shfl_sync(VF_ALL, cost[k + 1], lane + VF_WARP - 1);
        above[k / 2] = __shfl_sync(VF_ALL, cost[k], lane + 1);
    }
#pragma unroll
    for (int k = 0; k < HALF; k += 2) {
        const uint32_t before = lane ? below[k / 2] : below[(k ? k : HALF) / 2 - 1];
        const uint32_t after = lane < VF_WARP - 1 ? above[k / 2] : above[k + 2 < HALF ? k / 2 + 1 : 0];
        lower[k] = k ? before : __byte_perm(before, LARGE_COSTS, below_first);
        upper[k] = cost[k + 1];
        lower[k + 1] = cost[k];
        upper[k + 1] = k + 2 < HALF ? after : __byte_perm(after, LARGE_COSTS, above_last);
    }
}
/** Variant of neighbour_costs() for lanes with two disparities. The first and the last disparity of all have only one
 *  neighbour, whose cost they get twice. */
static __device__ __forceinline__ void neighbour_costs(uint32_t (&lower)[1], uint32_t (&upper)[1],
                                                       const uint32_t (&cost)[1])
{
    const int lane = threadIdx.x % VF_WARP;
    const uint32_t below = __shfl_sync(VF_ALL, cost[0], lane + VF_WARP - 1),
                   above = __shfl_sync(VF_ALL, cost[0], lane + 1);
    lower[0] = __byte_perm(below, cost[0], lane ? 0x5432 : 0x5476);
    upper[0] = __byte_perm(cost[0], above, lane < VF_WARP - 1 ? 0x5432 : 0x1032);
}

/** Path costs of a pixel, from its matching costs and the path costs of the previous pixel. cost: path costs, packed
 *  two to a word, replaced; least: their minimum over all disparities, in both halves, replaced; p1, p2: penalties
 *  P1 and P2, in both halves. The shuffles in neighbour_costs() do not need `least`. They can therefore run
 *  while the warp still computes `least` of the previous pixel. */
template <int COUNT>
static __device__ __forceinline__ void extend_path(uint32_t (&cost)[COUNT / 2], uint32_t &least,
                                                   const uint32_t (&matching)[COUNT / 2], uint32_t p1, uint32_t p2)
{
    constexpr int HALF = COUNT / 2;
    uint32_t near[HALF], lower[HALF], upper[HALF], own_least = 0;
#pragma unroll
    for (int k = 0; k < HALF; k++) near[k] = cost[k] + p1;
    neighbour_costs(lower, upper, near);
#pragma unroll
    for (int k = 0; k < HALF; k++) {
        cost[k] = add_min_u16x2(least, p2, min_u16x2(cost[k], min_u16x2(lower[k], upper[k]))) + matching[k] - least;
        own_least = k ? min_u16x2(own_least, cost[k]) : cost[k];
    }
    least = vf_warp_min(min_u16x2(own_least, __byte_perm(own_least, 0, 0x1032)));
}

/** Computes path costs along a path of `count` pixels, by a warp. edge: bit of a word of camera 0, 1 where there is an
 *  edge between its pixel and the previous pixel of the path. With FIRST they are written to the cost volume, else
 *  added to it. The input of a batch is loaded at once, after the last pixel of the previous batch. A warp thus waits
 *  for memory once per batch. Loads spread over the pixels would share one of six hardware counters, and each wait
 *  would be for the latest load. */
template <int COUNT, bool FIRST, int ALONG>
static __device__ __forceinline__ void follow_path(const vf_dense_view &s, cursor<COUNT> at, stride each, int count,
                                                   uint32_t edge)
{
    const uint32_t p1 = (uint32_t)s.tuning.dense_p1 * BOTH_HALVES, p2 = (uint32_t)s.tuning.dense_p2 * BOTH_HALVES,
                   edge_p2 = (uint32_t)vf_dense_edge_p2(&s.tuning) * BOTH_HALVES;
    const int lane = threadIdx.x % VF_WARP;
    constexpr int MANY = BATCH(COUNT), EACH = batch_input<COUNT, ALONG>::EACH, PAIRS = batch_input<COUNT, ALONG>::PAIRS;
    uint32_t cost[COUNT / 2], least = 0, census0 = 0;
    batch_input<COUNT, ALONG> input = {};
    const auto advance = [&](int k) {
        uint32_t matching[COUNT / 2];
        const uint32_t word = __shfl_sync(VF_ALL, census0, k);
        matching_costs(matching, word, input, k);
        extend_path<COUNT>(cost, least, matching, p1, word & edge ? edge_p2 : p2);
        const auto own = lane_bytes<COUNT>::pack(cost);
        *pixel(at.costs, each.costs, k) = FIRST ? own : lane_bytes<COUNT>::add(input.sum[k], own);
    };
    /* The next three functions load the input of the batch that begins `from` pixels ahead. */
    const auto load_pair = [&](int p, int from) {
        const uint2 *census1 = pixel(at.census1[p * EACH % 2], each.census1, from + p * EACH);
#pragma unroll
        for (int i = 0; i < COUNT / 2; i++) input.pair[p][i] = census1[(COUNT / 2 - 1 - i) * VF_WARP];
    };
    const auto load_sum = [&](int k, int from) {
        if (!FIRST) input.sum[k] = *pixel(at.costs, each.costs, from + k);
    };
    const auto load_census0 = [&](int from, int many) {
        if (lane < many) census0 = *pixel(at.census0, each.census0, from);
    };
    const auto next_batch = [&]() {
        at.census0 = pixel(at.census0, each.census0, MANY);
        at.census1[0] = pixel(at.census1[0], each.census1, MANY);
        at.census1[1] = pixel(at.census1[1], each.census1, MANY);
        at.costs = pixel(at.costs, each.costs, MANY);
        /* Hides the distances between pixels from the compiler, which would otherwise keep their multiples in
         * registers. On a path along a row they are constants. */
        if (!ALONG) asm("" : "+r"(each.census0), "+r"(each.census1), "+r"(each.costs));
    };
    load_census0(0, vf_min(count, MANY));
    if (!FIRST) prefetch_sums<COUNT>(at.costs, each.costs, MANY, count);
#pragma unroll
    for (int p = 0; p < PAIRS; p++)
        if (p * EACH < count + EACH - 1) load_pair(p, 0);
#pragma unroll
    for (int k = 0; k < MANY; k++)
        if (k < count) load_sum(k, 0);
#pragma unroll
    for (int k = 0; k < COUNT / 2; k++) cost[k] = 0;
    int left = count;
    for (; left >= 2 * MANY; left -= MANY) {
        if (!FIRST) prefetch_sums<COUNT>(at.costs, each.costs, 2 * MANY, left);
#pragma unroll
        for (int k = 0; k < MANY; k++) advance(k);
        load_census0(MANY, MANY);
#pragma unroll
        for (int p = 0; p < PAIRS; p++) load_pair(p, MANY);
#pragma unroll
        for (int k = 0; k < MANY; k++) load_sum(k, MANY);
        next_batch();
    }
    for (; left > 0; left -= MANY) {
#pragma unroll
        for (int k = 0; k < MANY; k++) {
            if (k >= left) break;
            advance(k);
            if (k + MANY < left) load_sum(k, MANY);
            /* Along a row, a pair of words also serves the odd pixel before it. The last of the PAIRS pairs is not
             * loaded: only the last pixel of a whole batch uses it, and the next batch is shorter. */
            if (k % EACH == EACH - 1 && k + MANY < left + 2 * (EACH - 1)) load_pair(k / EACH, MANY);
        }
        load_census0(MANY, left - MANY);
        next_batch();
    }
}

/** Image line (path) that a block follows; any order gives the same result. If blocks are distributed round robin,
 *  every `multiprocessors`-th block runs on the same multiprocessor. Its consecutive blocks get every second line: most
 *  of their census words of camera 1 are then cached, from the same one of the two copies. */
static __device__ __forceinline__ int line_of_block(int block, int lines, int multiprocessors)
{
    const int unit = block % multiprocessors,
              line = unit * (lines / multiprocessors) + vf_min(unit, lines % multiprocessors) + block / multiprocessors,
              even = (lines + 1) / 2;
    return line < even ? 2 * line : 2 * (line - even) + 1;
}

/** Path costs along rows, to volume 0, and along columns, to volume 1: right and down with FIRST, else left and up. The
 *  first blocks follow rows. A block is a single warp, so that the compiler knows that lanes are converged. */
template <int COUNT, bool FIRST>
static __global__ void __launch_bounds__(VF_WARP, VF_DENSE_BLOCKS)
    straight_paths_k(const VF_CONSTANT vf_dense_view s, int multiprocessors)
{
    constexpr int SIGN = FIRST ? 1 : -1;
    const vf_level &l = picture(s);
    const int line = blockIdx.x, first_x = FIRST ? 0 : l.width - 1, first_y = FIRST ? 0 : l.height - 1;
    if (line < l.height) {
        const stride each = {SIGN * 4, SIGN * 4, SIGN * VF_WARP * COUNT};
        follow_path<COUNT, FIRST, SIGN>(s, cursor_at<COUNT>(s, 0, first_x, line, SIGN, each), each, l.width,
                                        vf_dense_edge_bit(-SIGN, 0));
    } else {
        const int x = line_of_block(line - l.height, l.width, multiprocessors), pitch = SIGN * l.pitch;
        const stride each = {pitch * 4, (pitch + SIGN * VF_WARP * COUNT) * 4, pitch * (VF_WARP * COUNT)};
        follow_path<COUNT, FIRST, 0>(s, cursor_at<COUNT>(s, 1, x, first_y, 0, each), each, l.height,
                                     vf_dense_edge_bit(0, -SIGN));
    }
}

/** Path costs along two diagonals, to volumes 0 and 1. sign 1: right and down, left and down; sign -1: left and up,
 *  right and up. */
template <int COUNT>
static __global__ void __launch_bounds__(VF_WARP, VF_DENSE_BLOCKS)
    diagonal_paths_k(const VF_CONSTANT vf_dense_view s, int sign, int multiprocessors)
{
    const vf_level &l = picture(s);
    const int which = (int)blockIdx.x >= l.width, sideways = which ? -sign : sign;
    const int elements = sideways + sign * l.pitch;
    const stride each = {elements * 4, (elements + sign * (VF_WARP * COUNT)) * 4, elements * (VF_WARP * COUNT)};
    int x = line_of_block(blockIdx.x - which * l.width, l.width, multiprocessors), y = sign < 0 ? l.height - 1 : 0;
    while (y >= 0 && y < l.height) {
        const int count = vf_min(sideways > 0 ? l.width - x : x + 1, sign > 0 ? l.height - y : y + 1);
        follow_path<COUNT, false, 0>(s, cursor_at<COUNT>(s, which, x, y, sideways, each), each, count,
                                     vf_dense_edge_bit(-sideways, -sign));
        x = sideways > 0 ? 0 : l.width - 1;
        y += sign * count;
    }
}

#endif
