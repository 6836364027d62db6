/* SPDX-License-Identifier: MIT */
/* dense: path costs of two directions a launch, each to its own volume.
 *
 * A warp follows a line of the picture. Each lane has two neighbouring disparities of every DISPARITY_GROUP, COUNT
 * = 2, 4 or 8 in all, next to each other in a volume: so a warp reads words of camera 1 that are consecutive, and a
 * pixel's costs are one run of bytes. All lines of two directions are under way at once: a picture of 640x480 px is
 * 1,120 or 1,280 warps that never wait for each other. A diagonal that leaves the picture on one side continues on
 * the other as a new path, so all are as long as the picture is high. Matching costs are computed anew from the
 * census words for each direction, which saves a third volume.
 *
 * Costs are below 2^14 and lie two to a register: cost k of a lane and cost k + COUNT / 2, so that the costs of the
 * disparities one below and one above, which the neighbouring lanes have, lie alike. */
#ifndef VF_DENSE_PATHS_CUH
#define VF_DENSE_PATHS_CUH

#include "dense_census.cuh"

/* ---- input of a path --------------------------------------------------------------------------------------------- */

#ifndef VF_DENSE_BATCH
#define VF_DENSE_BATCH 16
#endif
#ifndef VF_DENSE_BLOCKS
#define VF_DENSE_BLOCKS 16 /* that a multiprocessor holds, by registers: an Orin takes no more */
#endif
/** Pixels of a path whose input is loaded at a time: as many as a thread's registers hold, and an even number, since
 *  words of camera 1 come from both copies in turn. */
#define BATCH(count) ((count) > 4 ? VF_DENSE_BATCH / 2 : VF_DENSE_BATCH)
VF_STATIC_ASSERT(VF_DENSE_BATCH % 4 == 0 && VF_DENSE_BATCH <= VF_WARP,
                 "an even number of pixels, and half of it too; a lane for each");

/** Bytes from one pixel of a path to the next. */
struct stride {
    int census0, census1, costs;
};
/** Address of the k-th pixel behind that of p. by: stride [bytes]. */
template <typename T> static __device__ __forceinline__ T *pixel(T *p, int by, int k)
{
    return (T *)((const char *)p + (int64_t)by * k);
}

/** A lane's addresses for a batch. census0: word of camera 0 of the pixel whose number in the batch is the lane's.
 *  Of the batch's first pixel: census1: words of camera 1, of the lane's last two disparities, where pixels of even and
 *  of odd number have them; costs. */
template <int COUNT> struct cursor {
    const uint32_t *census0;
    const uint2 *census1[2];
    typename lane_bytes<COUNT>::type *costs;
};
/** sideways: columns from one pixel of the path to the next. */
template <int COUNT>
static __device__ __forceinline__ cursor<COUNT> cursor_at(const vf_dense_view &s, int which, int x, int y, int sideways,
                                                          const stride &each)
{
    vf_dense_scratch &m = *s.scratch;
    const int at = y * picture(s).pitch + x, lane = threadIdx.x % VF_WARP;
    /* odd where x is even: then an aligned pair of the second copy; the next pixel's is in the other copy if x moves */
    const int last = at + (y + 1) * s.tuning.dense_disparities - (COUNT / 2 - 1) * DISPARITY_GROUP - 2 * lane - 1;
    const int other_copy = sideways ? (int)sizeof m.census1[0] - 4 : 0;
    const uint2 *census1 = reinterpret_cast<const uint2 *>(m.census1[last % 2] + last / 2 * 2);
    return cursor<COUNT>{pixel(m.census0 + at, each.census0, lane),
                         {census1, pixel(census1, x % 2 ? other_copy : -other_copy, 1)},
                         lane_costs<COUNT>(s, which) + (size_t)at * VF_WARP};
}

/** A lane's input for a batch, but for the census words of camera 0. ALONG: columns from pixel to pixel of a path along
 *  a row, 1 or -1; else 0. Along a row, the words of camera 1 of a pixel of odd number are in the pairs of its
 *  neighbours: pairs are loaded for pixels of even number alone, the one behind the batch among them. One behind a path
 *  may be read in part beyond a row of words, but then not used. */
template <int COUNT, int ALONG> struct batch_input {
    enum { EACH = ALONG ? 2 : 1 /* pixels of a pair */, PAIRS = BATCH(COUNT) / EACH + EACH - 1 };
    uint2 pair[PAIRS][COUNT / 2]; /* words of every second disparity, and of the ones between: y, x */
    typename lane_bytes<COUNT>::type sum[BATCH(COUNT)]; /* of the path costs of earlier launches */

    /** Word of camera 1 for the i-th disparity of pixel k. */
    __device__ __forceinline__ uint32_t word(int k, int i) const
    {
        if (!ALONG) return i % 2 ? pair[k][i / 2].x : pair[k][i / 2].y;
        if (k % 2 == 0) return i % 2 ? pair[k / 2][i / 2].x : pair[k / 2][i / 2].y;
        if (ALONG > 0) return i % 2 ? pair[k / 2][i / 2].y : pair[k / 2 + 1][i / 2].x;
        return i % 2 ? pair[k / 2 + 1][i / 2].y : pair[k / 2][i / 2].x;
    }
};
/** Asks for the sums of a batch to be brought to the second-level cache, before the loads that wait for them; a sector
 *  of a pixel by each lane. Not below sm_80: the caches of those GPUs, 0.25 to 0.5 MB, may lose them before. first: the
 *  lane's sums of a pixel; by: stride; from: pixels from there to the batch; left: to the path's end. */
template <int COUNT>
static __device__ __forceinline__ void prefetch_sums(const typename lane_bytes<COUNT>::type *first, int by, int from,
                                                     int left)
{
#if VF_ARCH >= 800
    constexpr int SECTOR = 32, AT_ONCE = VF_WARP / COUNT; /* bytes; pixels */
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

/** Matching costs of a lane's disparities at pixel k of a batch, packed. census0: word of camera 0. */
template <int COUNT, int ALONG>
static __device__ __forceinline__ void matching_costs(uint32_t (&matching)[COUNT / 2], uint32_t census0,
                                                      const batch_input<COUNT, ALONG> &b, int k)
{
#pragma unroll
    for (int i = 0; i < COUNT / 2; i++) {
        const uint32_t low = __popc(census0 ^ b.word(k, i)), high = __popc(census0 ^ b.word(k, i + COUNT / 2));
        /* one multiply-add; from a sum the compiler would make a shift and an or */
        asm("mad.lo.u32 %0, %1, 0x10000, %2;" : "=r"(matching[i]) : "r"(high), "r"(low));
    }
}

#define LARGE_COSTS 0x10001000u /* above any cost, in both halves */

/** Packed costs of the disparities one below and one above each. Half of them are the lane's own, the others come from
 *  the neighbouring lanes: below the first lane lies the last lane's of the group before, above the last lane the first
 *  lane's of the next group. */
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
/** Packed costs of the disparities one below and one above, for two disparities a lane. The first and the last
 *  disparity, which have one neighbour, get it twice. */
static __device__ __forceinline__ void neighbour_costs(uint32_t (&lower)[1], uint32_t (&upper)[1],
                                                       const uint32_t (&cost)[1])
{
    const int lane = threadIdx.x % VF_WARP;
    const uint32_t below = __shfl_sync(VF_ALL, cost[0], lane + VF_WARP - 1),
                   above = __shfl_sync(VF_ALL, cost[0], lane + 1);
    lower[0] = __byte_perm(below, cost[0], lane ? 0x5432 : 0x5476);
    upper[0] = __byte_perm(cost[0], above, lane < VF_WARP - 1 ? 0x5432 : 0x1032);
}

/** Path costs of a pixel from its matching costs and from those of the previous pixel. cost: packed, replaced; least:
 *  their minimum over all disparities, in both halves, replaced; p1, p2: in both halves. The neighbours' costs are
 *  exchanged while the minimum is reduced, so a pixel waits for the longer of both only. */
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

/** Path costs along a path of `count` pixels, by a warp; added to the volume, or, FIRST, written to it. The input of a
 *  batch is loaded at once, behind the last pixel of the batch before: so a warp waits for memory once a batch. Loads
 *  that are spread over the pixels share one of the six counters that a warp waits by, and each wait is for the latest
 *  of them: two waits in 16 pixels, each as long as memory takes. */
template <int COUNT, bool FIRST, int ALONG>
static __device__ __forceinline__ void follow_path(const vf_dense_view &s, cursor<COUNT> at, stride each, int count)
{
    const uint32_t p1 = (uint32_t)s.tuning.dense_p1 * BOTH_HALVES, p2 = (uint32_t)s.tuning.dense_p2 * BOTH_HALVES;
    const int lane = threadIdx.x % VF_WARP;
    constexpr int MANY = BATCH(COUNT), EACH = batch_input<COUNT, ALONG>::EACH, PAIRS = batch_input<COUNT, ALONG>::PAIRS;
    uint32_t cost[COUNT / 2], least = 0, census0 = 0;
    batch_input<COUNT, ALONG> input = {};
    const auto advance = [&](int k) {
        uint32_t matching[COUNT / 2];
        matching_costs(matching, __shfl_sync(VF_ALL, census0, k), input, k);
        extend_path<COUNT>(cost, least, matching, p1, p2);
        const auto own = lane_bytes<COUNT>::pack(cost);
        *pixel(at.costs, each.costs, k) = FIRST ? own : lane_bytes<COUNT>::add(input.sum[k], own);
    };
    /* loads of the batch that is `from` pixels on */
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
        /* hides the strides from the compiler, which else keeps their multiples in registers; those along rows are
         * constants, and their multiples parts of instructions */
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
            /* along a row the last pair is for the last pixel of a whole batch alone */
            if (k % EACH == EACH - 1 && k + MANY < left + 2 * (EACH - 1)) load_pair(k / EACH, MANY);
        }
        load_census0(MANY, left - MANY);
        next_batch();
    }
}

/** Line of a direction that a block follows. Every `multiprocessors`-th block runs on the same multiprocessor, if
 *  blocks are distributed in turn, and gets the next line but one: so what it reads of camera 1 has mostly been
 *  read for the block before, also from the same copy. Any order gives the same result. */
static __device__ __forceinline__ int line_of_block(int block, int lines, int multiprocessors)
{
    const int unit = block % multiprocessors,
              line = unit * (lines / multiprocessors) + vf_min(unit, lines % multiprocessors) + block / multiprocessors,
              even = (lines + 1) / 2;
    return line < even ? 2 * line : 2 * (line - even) + 1;
}

/** Path costs of a pair of directions, to volumes 0 and 1: along rows and along columns, right and down if FIRST, else
 *  left and up. Blocks are single warps, so that the compiler knows that lanes stay converged; the first ones follow
 *  the lines of the first direction. */
template <int COUNT, bool FIRST>
static __global__ void __launch_bounds__(VF_WARP, VF_DENSE_BLOCKS)
    straight_paths_k(const VF_CONSTANT vf_dense_view s, int multiprocessors)
{
    constexpr int SIGN = FIRST ? 1 : -1;
    const vf_level &l = picture(s);
    const int line = blockIdx.x, first_x = FIRST ? 0 : l.width - 1, first_y = FIRST ? 0 : l.height - 1;
    if (line < l.height) {
        const stride each = {SIGN * 4, SIGN * 4, SIGN * VF_WARP * COUNT};
        follow_path<COUNT, FIRST, SIGN>(s, cursor_at<COUNT>(s, 0, first_x, line, SIGN, each), each, l.width);
    } else {
        const int x = line_of_block(line - l.height, l.width, multiprocessors), pitch = SIGN * l.pitch;
        const stride each = {pitch * 4, (pitch + SIGN * VF_WARP * COUNT) * 4, pitch * (VF_WARP * COUNT)};
        follow_path<COUNT, FIRST, 0>(s, cursor_at<COUNT>(s, 1, x, first_y, 0, each), each, l.height);
    }
}

/** Path costs of a pair of diagonals. sign 1: right and down, left and down; -1: left and up, right and up. */
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
        follow_path<COUNT, false, 0>(s, cursor_at<COUNT>(s, which, x, y, sideways, each), each, count);
        x = sideways > 0 ? 0 : l.width - 1;
        y += sign * count;
    }
}

#endif
