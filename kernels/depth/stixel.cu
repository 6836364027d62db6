/* SPDX-License-Identifier: MIT */
/* stixel on the GPU, in three launches. reduce_k: a block reduces several image rows to one disparity per column and
 * makes their v-disparity mask. road_k: a block finds the strongest road line at one angle; the block that finishes
 * last finds the road (both kernels in road.cuh). segment_k: a block segments a column.
 *
 * segment_k: stixel_column.cuh has the memory and the prefix sums, stixel_objects.cuh the pairs of base and top of
 * objects, stixel_solve.cuh the dynamic programming, stixel_result.cuh the backtracking. Prefix sums of object costs
 * below every row are stored for three tiles of 32 rows only. For the other tiles they are stored below every eighth
 * row; try_far_subtile() makes those of the eight rows above it. */
#include "road.cuh"
#include "stixel_solve.cuh"

#if VFRONT_STIXELS

/** Segments column i of the image with block i. WIDE: dense_disparities / 32; workspaces: number of worker warps that
 *  have a workspace in shared memory. */
template <int WIDE>
static __global__ void __launch_bounds__(WARPS_MAX *VF_WARP)
    segment_k(const VF_CONSTANT vf_stixel_view s, int workspaces)
{
    extern __shared__ __align__(16) unsigned char bytes[];
    vf_stixel_memory &m = *s.stixel;
    const int column = blockIdx.x;
    vf_column_model model = vf_column_model_of(&s, &m.tables, m.ground, m.horizon, column);
    column_memory c = lay_out(bytes, model.height, model.disparities, workspaces);
    /* object_back, list: share the memory of c.sums, which is free when segments are listed */
    uint16_t *object_back = reinterpret_cast<uint16_t *>(c.sums), *list = object_back + padded(model.height);
    c.subtile_sum = s.scratch->subtile_sum[column];
    c.all_starts = reinterpret_cast<int4 *>(s.scratch->start[column]);
    c.best_object = reinterpret_cast<unsigned long long *>(s.scratch->best_object[column]);
    c.object_cost_min = s.scratch->object_cost_min[column];
    c.background_sum = s.scratch->background_sum[column];
    c.background_cost = s.scratch->background_cost[column];
    if (model.horizon >= 0) sum_rows(s, model, c, column);
    const int most = vf_stixel_segments_max(&model);
    int count = 0, crowded = 0;
    if (model.horizon >= 0 && c.valid[model.height]) {
        sum_subtiles<WIDE>(s, model, c);
        /* If the best segmentation has more than `most` segments, each segment costs extra. The least extra cost that
         * suffices is found bit by bit, from the highest bit. */
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

/** Value of a device attribute that is a size of shared memory, for the current device [bytes]; 0 on failure. */
static size_t shared_bytes(cudaDeviceAttr which)
{
    int device, bytes;
    return cudaGetDevice(&device) == cudaSuccess && cudaDeviceGetAttribute(&bytes, which, device) == cudaSuccess
               ? (size_t)bytes
               : 0;
}

/** Largest shared memory of a block [bytes]. The macro VF_STIXEL_SHARED_BYTES lowers it, to test the small blocks of
 *  older GPUs. */
static size_t block_bytes_max()
{
    const size_t device = shared_bytes(cudaDevAttrMaxSharedMemoryPerBlockOptin);
#ifdef VF_STIXEL_SHARED_BYTES
    return device < VF_STIXEL_SHARED_BYTES ? device : VF_STIXEL_SHARED_BYTES;
#else
    return device;
#endif
}

/** Size of a block of segment_k. */
struct block_size {
    int warps,      /* number of warps, the serial warp included */
        workspaces; /* number of worker warps that have a workspace in shared memory */
};
static const block_size large = {WARPS_MAX, WARPS_MAX - 1}, small = {WARPS_MAX / 2, 4}, least = {WARPS_MAX / 2, 1};
VF_STATIC_ASSERT(WARPS_MAX / 2 <= SUBTILE, "a row of a workspace for every warp, for sum_subtiles()");

/** Size of a block of segment_k. Two small blocks share a multiprocessor if there are more columns than multiprocessors
 *  and both fit; else the largest size that fits. */
static block_size size_for(int height, int disparities, int columns)
{
    const size_t reserved = 1024; /* shared memory of each block that CUDA itself uses [bytes] */
    const size_t block = block_bytes_max(), both = shared_bytes(cudaDevAttrMaxSharedMemoryPerMultiprocessor);
    const size_t of_small = block_bytes(height, disparities, small.workspaces);
    if (columns > vf_multiprocessors() && 2 * (of_small + reserved) <= both && of_small <= block) return small;
    if (block_bytes(height, disparities, large.workspaces) <= block) return large;
    return of_small <= block ? small : least;
}

/** Launches segment_k, one block per column. WIDE: dense_disparities / 32. */
template <int WIDE> static cudaError_t segment(const vf_stixel_view *s, cudaStream_t stream)
{
    const int height = s->geometry.level[0][0].height, disparities = s->tuning.dense_disparities,
              columns = vf_stixel_columns(&s->geometry, &s->tuning);
    const block_size size = size_for(height, disparities, columns);
    const size_t bytes = block_bytes(height, disparities, size.workspaces);
    if (bytes > block_bytes_max()) {
        const cudaError_t query = cudaGetLastError(); /* error of the attribute query in block_bytes_max(), if any */
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
