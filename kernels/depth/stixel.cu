/* SPDX-License-Identifier: MIT */
/* stixel on the GPU, in three launches. reduce_k: a block reduces some rows of pixels to rows of columns, and makes
 * their v-disparity mask. road_k: a block finds the strongest line of an angle, and the one that finishes last the road
 * (both in road.cuh). segment_k: a block segments a column.
 *
 * Of segment_k, stixel_column.cuh has the memory and the prefix sums, stixel_objects.cuh the pairs of base and top,
 * stixel_solve.cuh the dynamic programme, and stixel_result.cuh the backtracking. Prefix sums of object costs, of which
 * a whole table would have one for every integer disparity and row, are made for three tiles, and for eight rows
 * wherever try_far_subtile() needs them; below every eighth row they are kept. */
#include "road.cuh"
#include "stixel_solve.cuh"

#if VFRONT_STIXELS

/** Segments a column: block i column i. workspaces: worker warps that have one. */
template <int WIDE>
static __global__ void __launch_bounds__(WARPS_MAX *VF_WARP)
    segment_k(const VF_CONSTANT vf_stixel_view s, int workspaces)
{
    extern __shared__ __align__(16) unsigned char bytes[];
    vf_stixel_memory &m = *s.stixel;
    const int column = blockIdx.x;
    vf_column_model model = vf_column_model_of(&s, &m.tables, m.ground, m.horizon, column);
    column_memory c = lay_out(bytes, model.height, model.disparities, workspaces);
    uint16_t *object_back = reinterpret_cast<uint16_t *>(c.sums),
             *list = object_back + padded(model.height); /* once the sums are done with */
    c.subtile_sum = s.scratch->subtile_sum[column];
    c.all_starts = reinterpret_cast<int4 *>(s.scratch->start[column]);
    c.best_object = reinterpret_cast<unsigned long long *>(s.scratch->best_object[column]);
    c.object_cost_min = s.scratch->object_cost_min[column];
    c.background_sum = s.scratch->background_sum[column];
    c.background_cost = s.scratch->background_cost[column];
    if (model.horizon >= 0) sum_rows(s, model, c, column);
    const int most = vf_stixel_segments_most(&model);
    int count = 0, crowded = 0;
    if (model.horizon >= 0 && c.valid[model.height]) {
        sum_subtiles<WIDE>(s, model, c);
        /* Too many segments: the least extra cost that leaves few enough is found bit by bit from the highest. */
        int too_low = 0, bit = VF_STIXEL_SEGMENT_COST_BITS, quarters = 0;
        for (;; quarters = bit < 0 ? too_low + 1 : too_low + (1 << bit)) {
            model.segment_cost = vf_stixel_segment_cost(quarters);
            count = solve_column<WIDE>(s, model, c, object_back, list);
            if (bit < 0 || (bit == VF_STIXEL_SEGMENT_COST_BITS && count <= most)) break;
            crowded = 1;
            if (count > most) too_low = quarters;
            bit--;
        }
        write_segments(s, model, c, column, count, object_back, list);
    }
    if (threadIdx.x) return;
    m.crowded[column] = (uint16_t)crowded;
    if (!count) m.segments[column] = 0;
    if (!count && model.horizon >= 0 && vf_stixel_may_hide(&model, nullptr, 0))
        atomicMin(&m.nearest_cm[m.tables.obstacle_bin[column]], vf_stixel_hidden_cm(&s));
    vf_clock_end(s.clock);
}

/* ---- launch ------------------------------------------------------------------------------------------------------ */

/** Attribute of the current device in bytes; 0 on failure. */
static size_t shared_bytes(cudaDeviceAttr which)
{
    int device, bytes;
    return cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&bytes, which, device) == cudaSuccess
               ? (size_t)bytes
               : 0;
}

/** Most shared memory that a block may have. VF_STIXEL_SHARED_BYTES: a lower limit, to test the small blocks of older
 *  GPUs on a newer one. */
static size_t block_bytes_most()
{
    const size_t device = shared_bytes(cudaDevAttrMaxSharedMemoryPerBlockOptin);
#ifdef VF_STIXEL_SHARED_BYTES
    return device < VF_STIXEL_SHARED_BYTES ? device : VF_STIXEL_SHARED_BYTES;
#else
    return device;
#endif
}

/** Warps of a block, and how many of its workers have a workspace. */
struct block_size {
    int warps, workspaces;
};
static const block_size large = {WARPS_MAX, WARPS_MAX - 1}, small = {WARPS_MAX / 2, 4}, least = {WARPS_MAX / 2, 1};
VF_STATIC_ASSERT(WARPS_MAX / 2 <= SUBTILE, "a row of a workspace for every warp, for sum_subtiles()");

/** Size of the blocks: one large block a multiprocessor, or two small ones where there are more columns than
 *  multiprocessors and both fit. */
static block_size size_for(int height, int disparities, int columns)
{
    const size_t reserved = 1024; /* of each block's shared memory, by the system */
    const size_t block = block_bytes_most(), both = shared_bytes(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    const size_t of_small = block_bytes(height, disparities, small.workspaces);
    if (columns > vf_multiprocessors() && 2 * (of_small + reserved) <= both && of_small <= block) return small;
    if (block_bytes(height, disparities, large.workspaces) <= block) return large;
    return of_small <= block ? small : least;
}

/** Launches segment_k; WIDE: dense_disparities / 32. */
template <int WIDE> static cudaError_t segment(const vf_stixel_view *s, cudaStream_t stream)
{
    const int height = s->geometry.level[0][0].height, disparities = s->tuning.dense_disparities,
              columns = vf_stixel_columns(&s->geometry, &s->tuning);
    const block_size size = size_for(height, disparities, columns);
    const size_t bytes = block_bytes(height, disparities, size.workspaces);
    if (bytes > block_bytes_most()) {
        const cudaError_t query = cudaGetLastError(); /* of shared_bytes() */
        return query != cudaSuccess ? query : cudaErrorLaunchOutOfResources;
    }
    const cudaError_t error = cudaFuncSetAttribute(segment_k<WIDE>, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                   (int)bytes);
    if (error != cudaSuccess) return error;
    segment_k<WIDE><<<columns, size.warps * VF_WARP, bytes, stream>>>(*s, size.workspaces);
    return cudaGetLastError();
}

#endif

extern "C" cudaError_t vf_stixel_cuda(const vf_stixel_view *s, cudaStream_t stream)
{
#if VFRONT_STIXELS
    const int height = s->geometry.level[0][0].height, disparities = s->tuning.dense_disparities;
    const int angles = s->geometry.road_slope > 0.0f ? 1 : VF_ROAD_ANGLES;
    reduce_k<<<vf_blocks(height, REDUCE_ROWS), REDUCE_THREADS, 0, stream>>>(*s);
    road_k<<<angles, ROAD_THREADS, 0, stream>>>(*s);
    return disparities == 64    ? segment<2>(s, stream)
           : disparities == 128 ? segment<4>(s, stream)
                                : segment<8>(s, stream);
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
