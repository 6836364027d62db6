/* SPDX-License-Identifier: MIT */
/* ego on the GPU, four launches. In the first, one block lists the pairs in their order. In the second, a warp has a hypothesis: it makes
 * motions from a sample, and scores them; with VFRONT_CUBLAS others come before it, and leave it less to do. In the third, a block has
 * one of the best hypotheses of a kind, finds out which that is, and takes it on. In the last, a block finds out each thing that is to be
 * known of the best motions, and many look for another motion among the outliers; the one that is done last judges. */
#include "kernels/block.cuh"

#include "geometry/ego.h"
#include "geometry/essential.h"
#include "geometry/perspective.h"
#if VFRONT_CUBLAS
#include "port/cuda/cublas.h"
#endif

#if VFRONT_EGO

/* ---- the lists --------------------------------------------------------------------------------------------------- */

static __device__ __forceinline__ uint32_t key_of(const vf_step &s, int candidate)
{
    const vf_track_memory &t = s.memory->track;
    if (candidate < VFRONT_TRACKS)
        return candidate < (int)t.census[s.parity].count
                   ? vf_ego_key(&s.tuning, &t.feature[s.parity][candidate], NULL, candidate)
                   : VF_NONE;
#if VFRONT_MATCHES
    const int i = candidate - VFRONT_TRACKS;
    if (i < (int)vf_matches(&s)) return vf_ego_key(&s.tuning, NULL, &s.memory->match.match[i], candidate);
#endif
    return VF_NONE;
}

static __device__ __forceinline__ vf_sight sight_of(const vf_step &s, int candidate)
{
    const vf_bearing_memory &b = s.memory->bearing;
#if VFRONT_MATCHES
    if (candidate >= VFRONT_TRACKS) {
        const vfront_match_t m = s.memory->match.match[candidate - VFRONT_TRACKS];
        const bool metric = vf_ego_metric_on(&s);
        return vf_ego_sight_of_match(&s, &m, &b.point[s.parity ^ 1][0][m.before], &b.point[s.parity][0][m.keypoint],
                                     metric ? vf_range(&s, s.parity ^ 1, m.before) : vf_range_none(),
                                     metric ? vf_range(&s, s.parity, m.keypoint) : vf_range_none());
    }
#endif
    return vf_ego_sight_of_track(&s, b.node[0], &s.memory->track.feature[s.parity][candidate]);
}

/** Lanes of a warp that have the same number as this one. */
static __device__ __forceinline__ unsigned same_as(int number)
{
#if __CUDA_ARCH__ >= 700
    return __match_any_sync(VF_ALL, number);
#else
    unsigned same = 0;
    for (int lane = 0; lane < VF_WARP; lane++) {
        const int other = __shfl_sync(VF_ALL, number, lane);
        same |= (unsigned)(other == number) << lane;
    }
    return same;
#endif
}

/** Candidates of a warp: they follow one another, so that order within a rank is that of the warps, then of the candidates in each. */
#define A_WARP ((VFRONT_SIGHTS + VF_WARPS - 1) / VF_WARPS)

/** Calls work(candidate, its rank or -1) for the candidates of a warp, 32 at a time. */
template <typename Work> static __device__ __forceinline__ void each_candidate(const vf_step &s, Work work)
{
    const int first = (int)threadIdx.x / VF_WARP * A_WARP, lane = threadIdx.x % VF_WARP;
    for (int k = lane; k < A_WARP + lane; k += VF_WARP) {
        const int c = first + k;
        const uint32_t key = k < A_WARP && c < VFRONT_SIGHTS ? key_of(s, c) : VF_NONE;
        work(c, key == VF_NONE ? -1 : (int)(key >> 16));
    }
}

/** From how many each warp has of each rank to where each warp's first of a rank goes. Returns how many there are. */
static __device__ int find_starts(uint16_t (*start)[VF_EGO_RANKS])
{
    __shared__ int whole[VF_WARPS];
    const int rank = threadIdx.x, lane = rank % VF_WARP, warp = rank / VF_WARP;
    int all = 0;
    for (int w = 0; w < VF_WARPS && rank < VF_EGO_RANKS; w++) {
        const int here = start[w][rank];
        start[w][rank] = (uint16_t)all;
        all += here;
    }
    int upto = all;
    for (int step = 1; step < VF_WARP; step *= 2) {
        const int other = __shfl_up_sync(VF_ALL, upto, step);
        upto += lane >= step ? other : 0;
    }
    if (lane == VF_WARP - 1) whole[warp] = upto;
    __syncthreads();
    const int before = vf_warp_sum(lane < warp ? whole[lane] : 0) + upto - all;
    for (int w = 0; w < VF_WARPS && rank < VF_EGO_RANKS; w++) start[w][rank] = (uint16_t)(start[w][rank] + before);
    const int total = vf_warp_sum(whole[lane]);
    __syncthreads();
    return total;
}

/** Copies the sights with a distance, in their order, to their own list. */
static __device__ void list_ranged(const vf_step &s, vf_ego_memory &m, int count)
{
    __shared__ int scan[VF_WARPS + 1];
    int listed = 0;
    for (int first = 0; first < count; first += VF_BLOCK) {
        const int i = first + (int)threadIdx.x;
        const bool ranged = i < count && m.sights[0].range_m[i] > 0.0f;
        int more;
        const int at = listed + vf_count_before(ranged, scan, &more);
        if (ranged) {
            const vf_sight sight = vf_ego_ranged(&s, vf_ego_sight(&m.sights[0], i));
            vf_ego_put_sight(&m.sights[1], at, &sight, m.sights[0].from[i]);
        }
        listed += more;
    }
    if (threadIdx.x == 0) m.count[1] = listed;
}

static __global__ void __launch_bounds__(VF_BLOCK) list_k(const vf_step s)
{
    VF_STATIC_ASSERT(VF_EGO_RANKS <= VF_BLOCK, "a thread a rank");
    __shared__ uint16_t start[VF_WARPS][VF_EGO_RANKS];
    vf_ego_memory &m = s.memory->ego;
    const int thread = threadIdx.x, lane = thread % VF_WARP, warp = thread / VF_WARP;
    if (thread == 0) vf_clock_start(s, VF_ego, 0);
    for (int i = thread; i < VF_WARPS * VF_EGO_RANKS; i += VF_BLOCK) start[i / VF_EGO_RANKS][i % VF_EGO_RANKS] = 0;
    for (int i = thread; i < VFRONT_SIGHTS; i += VF_BLOCK) m.agrees[i] = 0;
    __syncthreads();
    each_candidate(s, [&](int, int rank) {
        const unsigned same = same_as(rank);
        if (rank >= 0 && lane == __ffs((int)same) - 1) start[warp][rank] = (uint16_t)(start[warp][rank] + __popc(same));
        __syncwarp();
    });
    __syncthreads();
    const int count = find_starts(start);
    each_candidate(s, [&](int c, int rank) {
        const unsigned same = same_as(rank);
        const int at = rank >= 0 ? start[warp][rank] + __popc(same & ((1u << lane) - 1)) : 0;
        __syncwarp();
        if (rank >= 0 && lane == __ffs((int)same) - 1) start[warp][rank] = (uint16_t)(start[warp][rank] + __popc(same));
        __syncwarp();
        if (rank < 0) return;
        const vf_sight sight = sight_of(s, c);
        vf_ego_put_sight(&m.sights[0], at, &sight, c);
    });
    if (thread == 0) m.count[0] = count;
    __syncthreads();
    list_ranged(s, m, count);
}

/* ---- hypotheses -------------------------------------------------------------------------------------------------- */

#define TEAMS 4 /* warps of a block, a hypothesis each */
#define SHARE (VF_EGO_SUBSET / VF_WARP)

/** What a warp makes motions from, and with. */
struct bench {
    union {
        vf_essential_work essential;
        vf_perspective_work perspective;
    };
    float before[VF_EGO_MOST_SAMPLES][3], now[VF_EGO_MOST_SAMPLES][3];
    int32_t sample[VF_EGO_MOST_SAMPLES];
    vf_pose pose[10];
};

/** Takes a sample to the bench. */
static __device__ __forceinline__ void take_sample(const vf_step &s, int kind, int h, int size, int count, bench &b)
{
    const int lane = threadIdx.x % VF_WARP;
    vf_ego_sample(&s, s.memory->ingest.params.frame, kind, h, size, count, b.sample);
    if (lane < size) {
        const vf_sight sight = vf_ego_sight(&s.memory->ego.sights[vf_ego_list(kind)], b.sample[lane]);
        for (int k = 0; k < 3; k++) {
            b.before[lane][k] = sight.before[k] * (kind == VF_METRIC ? sight.range_m : 1.0f);
            b.now[lane][k] = sight.now[k];
        }
    }
    __syncwarp();
}

#if VFRONT_CUBLAS
/** Whether a relative hypothesis is one of those that cuBLAS works on. */
static __device__ __forceinline__ bool has_system(const vf_step &s, int h)
{
    return (int)s.memory->ego.count[0] >= s.tuning.ego_points &&
           vf_ego_size(&s, &s.memory->ingest.params, VF_RELATIVE, h) == s.tuning.ego_points;
}

/** Takes what cuBLAS has made of the rows to the bench, and what goes with them. */
static __device__ void take_factors(const vf_systems &y, int h, int size, vf_essential_work &w)
{
    VF_TEAM(k, 9) w.R[k] = y.R[h][k];
    if (VF_TEAM_LANE == 0) w.parallax = y.parallax[h];
    vf_essential_take_reflections(&w, size, y.rows[h][0], y.tau[h]);
    vf_essential_null(&w, size);
}

/** Essential matrices of a sample, from what cuBLAS has made of its systems: how many. */
static __device__ __forceinline__ int make_matrices(const vf_step &s, int h, int size, bench &b)
{
    take_factors(*s.systems, h, size, b.essential);
    if (size == 7) return vf_essential_seven_of(&b.essential, b.before, b.now);
    if (size == 8) return vf_essential_eight_of(&b.essential, b.before, b.now);
    vf_essential_take_columns(&b.essential, s.systems->columns[h][10]);
    return vf_essential_five_of(&b.essential, b.before, b.now);
}
#else
/** Essential matrices of a sample: how many. */
static __device__ __forceinline__ int make_matrices(const vf_step &, int, int size, bench &b)
{
    return size == 5 ? vf_essential_five(&b.essential, b.before, b.now)
           : size == 7 ? vf_essential_seven(&b.essential, b.before, b.now)
                       : vf_essential_eight(&b.essential, b.before, b.now);
}
#endif

/** Motions that the sample means: how many. */
static __device__ __forceinline__ int make_motions(const vf_step &s, int kind, int h, int size, bench &b)
{
    const int lane = threadIdx.x % VF_WARP;
    if (kind == VF_METRIC) return vf_perspective_three(&b.perspective, b.before, b.now, b.pose);
    if (size == 2) {
        if (lane == 0 && kind == VF_TURN) vf_ego_turn(b.before, b.now, &b.pose[0]);
        if (lane == 0 && kind == VF_RELATIVE) vf_ego_translate(s.memory->ingest.params.R, b.before, b.now, &b.pose[0]);
        return 1;
    }
    const int count = make_matrices(s, h, size, b);
    vf_pose pose;
    const bool there = lane < count && vf_essential_pose(b.essential.E[lane], b.before, b.now, size, &pose);
    const unsigned who = __ballot_sync(VF_ALL, there);
    if (there) b.pose[__popc(who & ((1u << lane) - 1))] = pose;
    return __popc(who);
}

/** Tries a hypothesis: keeps the best of the motions that its sample means. */
template <int KIND> static __device__ __forceinline__ void try_one(const vf_step &s, int h, bench &b)
{
    vf_ego_memory &m = s.memory->ego;
    const vf_params &params = s.memory->ingest.params;
    const vf_sights &all = m.sights[vf_ego_list(KIND)];
    const int lane = threadIdx.x % VF_WARP, count = m.count[vf_ego_list(KIND)],
              size = vf_ego_size(&s, &params, KIND, h);
    int best = 0, which = 0;
    if (count >= size) {
        take_sample(s, KIND, h, size, count, b);
        const int motions = make_motions(s, KIND, h, size, b);
        if (lane == 0 && KIND == VF_TURN && h == 0) vf_ego_given(&params, &b.pose[0]);
        __syncwarp();
        const int some = vf_ego_subset(count, VF_EGO_SUBSET);
        vf_sight sight[SHARE];
#pragma unroll
        for (int k = 0; k < SHARE; k++)
            sight[k] = vf_ego_sight(&all, vf_ego_spread(count, VF_EGO_SUBSET, vf_min(k * VF_WARP + lane, some - 1)));
        for (int i = 0; i < motions; i++) {
            const vf_pose pose = b.pose[i];
            int score = 0;
#pragma unroll
            for (int k = 0; k < SHARE; k++)
                score += k * VF_WARP + lane < some ? vf_motion_worth(vf_motion_error(KIND, &pose, &sight[k])) : 0;
            score = vf_warp_sum(score);
            which = score > best ? i : which;
            best = vf_max(score, best);
        }
    }
    if (lane == 0) m.score[KIND][h] = best;
    if (best && lane < (int)(sizeof(vf_pose) / sizeof(float)))
        reinterpret_cast<float *>(&m.pose[KIND][h])[lane] = reinterpret_cast<const float *>(&b.pose[which])[lane];
}

static __global__ void __launch_bounds__(TEAMS *VF_WARP) try_k(const vf_step s)
{
    __shared__ bench b[TEAMS];
    const int warp = threadIdx.x / VF_WARP;
    int h = blockIdx.x * TEAMS + warp;
    const int relative = vf_ego_hypotheses(&s, VF_RELATIVE), metric = vf_ego_hypotheses(&s, VF_METRIC),
              turn = vf_ego_hypotheses(&s, VF_TURN);
    if (h < relative) return try_one<VF_RELATIVE>(s, h, b[warp]);
    h -= relative;
    if (h < metric) return try_one<VF_METRIC>(s, h, b[warp]);
    h -= metric;
    if (h < turn) try_one<VF_TURN>(s, h, b[warp]);
}

#if VFRONT_CUBLAS
/* ---- systems for cuBLAS ------------------------------------------------------------------------------------------ */

/** Writes the rows of each relative hypothesis. Those that have none get the identity, so that cuBLAS has the same to do in every step. */
static __global__ void __launch_bounds__(TEAMS *VF_WARP) rows_k(const vf_step s)
{
    __shared__ bench all[TEAMS];
    vf_systems &y = *s.systems;
    bench &b = all[threadIdx.x / VF_WARP];
    const int h = blockIdx.x * TEAMS + threadIdx.x / VF_WARP, points = s.tuning.ego_points;
    if (h >= vf_ego_hypotheses(&s, VF_RELATIVE)) return;
    const bool there = has_system(s, h);
    if (there) {
        take_sample(s, VF_RELATIVE, h, points, s.memory->ego.count[0], b);
        vf_essential_rows(&b.essential, b.before, b.now, points);
    }
    VF_TEAM(i, 9 * points)
    y.rows[h][i / 9][i % 9] = there ? b.essential.row[i / 9][i % 9] : i % 9 == i / 9 ? 1.0f : 0.0f;
    VF_TEAM(k, 9) y.R[h][k] = there ? b.essential.R[k] : 0.0f;
    if (VF_TEAM_LANE) return;
    y.parallax[h] = there ? b.essential.parallax : 0.0f;
    y.rows_at[h] = y.rows[h][0];
    y.tau_at[h] = y.tau[h];
    y.left_at[h] = y.columns[h][0];
    y.right_at[h] = y.columns[h][10];
}

/** Writes the ten equations of each hypothesis of five points, from the null space of its rows. */
static __global__ void __launch_bounds__(TEAMS *VF_WARP) equations_k(const vf_step s)
{
    __shared__ vf_essential_work all[TEAMS];
    vf_systems &y = *s.systems;
    vf_essential_work &w = all[threadIdx.x / VF_WARP];
    const int h = blockIdx.x * TEAMS + threadIdx.x / VF_WARP;
    if (h >= vf_ego_hypotheses(&s, VF_RELATIVE)) return;
    const bool there = has_system(s, h);
    if (there) {
        take_factors(y, h, 5, w);
        vf_essential_equations(&w);
    }
    VF_TEAM(i, 200) y.columns[h][i / 10][i % 10] = there ? w.column[i / 10][i % 10] : i % 10 == i / 10 ? 1.0f : 0.0f;
}

/** Enqueues the kernels above and cuBLAS's in between. Its handle forgets its workspace with every new stream. */
static cudaError_t solve_systems(const vf_step *s, int hypotheses, cudaStream_t stream)
{
    vf_systems *y = s->systems;
    vf_cublas *blas = s->cublas;
    const unsigned blocks = vf_blocks(hypotheses, TEAMS);
    const int points = s->tuning.ego_points;
    cudaError_t error = cudaSuccess;
    int info;
#define CUBLAS(name, ...)                                                                                              \
    if (!error) error = vf_cublas_note(blas, name(blas->handle, __VA_ARGS__), #name ": %s")
    CUBLAS(cublasSetStream, stream);
    CUBLAS(cublasSetWorkspace, y->workspace, sizeof y->workspace);
    rows_k<<<blocks, TEAMS * VF_WARP, 0, stream>>>(*s);
    CUBLAS(cublasSgeqrfBatched, 9, points, y->rows_at, 9, y->tau_at, &info, hypotheses);
    if (points > 5) return error;
    equations_k<<<blocks, TEAMS * VF_WARP, 0, stream>>>(*s);
    CUBLAS(cublasSgetrfBatched, 10, y->left_at, 10, y->pivots[0], y->info, hypotheses);
    CUBLAS(cublasSgetrsBatched, CUBLAS_OP_N, 10, 10, y->left_at, 10, y->pivots[0], y->right_at, 10, &info, hypotheses);
#undef CUBLAS
    return error;
}
#endif

/* ---- the best go on ---------------------------------------------------------------------------------------------- */

#define THREADS VF_EGO_LANES
#define WARPS (THREADS / VF_WARP)

/** Greatest of a block, in every thread; there: a number of each warp in shared memory. */
static __device__ __forceinline__ uint32_t block_max(uint32_t v, uint32_t *there)
{
    v = ~vf_warp_min(~v);
    __syncthreads();
    if (threadIdx.x % VF_WARP == 0) there[threadIdx.x / VF_WARP] = v;
    __syncthreads();
    for (int w = 0; w < WARPS; w++) v = max(v, there[w]);
    return v;
}

/** The order of the hypothesis of a kind that has a rank among all; 0: there are not so many. */
static __device__ uint32_t find_rank(const vf_step &s, int kind, int rank)
{
    __shared__ uint32_t there[WARPS], order[VFRONT_HYPOTHESES];
    const int all = vf_ego_hypotheses(&s, kind);
    uint32_t best = VF_NONE;
    for (int h = threadIdx.x; h < all; h += THREADS)
        order[h] = vf_ego_order(s.memory->ego.score[kind][h], h); /* read by its thread only */
    for (int r = 0; r <= rank; r++) {
        uint32_t mine = 0;
        for (int h = threadIdx.x; h < all; h += THREADS) mine = order[h] < best ? max(mine, order[h]) : mine;
        best = block_max(mine, there);
    }
    return best;
}

/** Adds up 32 numbers of every lane over the warp, into the first: lane k gets the sum of the k-th. Lanes are added by halves: first those
 *  16 apart, each of which goes on with half of the numbers. */
template <int STEP> static __device__ __forceinline__ void add_halves(float (&v)[VF_WARP])
{
    const bool upper = threadIdx.x & STEP;
#pragma unroll
    for (int k = 0; k < STEP; k++) {
        const float low = v[k], high = v[k + STEP], sent = upper ? low : high, kept = upper ? high : low;
        v[k] = kept + __shfl_xor_sync(VF_ALL, sent, STEP);
    }
    add_halves<STEP / 2>(v);
}
template <> __device__ __forceinline__ void add_halves<0>(float (&)[VF_WARP]) {}

/** The sum over a block, in *out. */
static __device__ __forceinline__ void add_up(const vf_tally &mine, vf_tally *out)
{
    VF_STATIC_ASSERT(VF_TERMS < VF_WARP, "a lane a term");
    __shared__ float part[WARPS][VF_WARP];
    __shared__ int32_t count[3][WARPS];
    const int thread = threadIdx.x, lane = thread % VF_WARP, warp = thread / VF_WARP;
    const int counts[3] = {vf_warp_sum(mine.score), vf_warp_sum((int)mine.inliers), vf_warp_sum((int)mine.rows)};
    float v[VF_WARP];
#pragma unroll
    for (int k = 0; k < VF_WARP; k++) v[k] = k < VF_TERMS ? mine.terms[k < VF_TERMS ? k : 0] : 0.0f;
    add_halves<VF_WARP / 2>(v);
    part[warp][lane] = v[0];
#pragma unroll
    for (int k = 0; k < 3; k++)
        if (lane == 0) count[k][warp] = counts[k];
    __syncthreads();
    if (thread < VF_TERMS) {
        float all[WARPS];
#pragma unroll
        for (int w = 0; w < WARPS; w++) all[w] = part[w][thread];
#pragma unroll
        for (int step = WARPS / 2; step; step /= 2)
            for (int w = 0; w < step; w++) all[w] += all[w + step];
        out->terms[thread] = all[0];
    } else if (thread >= VF_WARP && thread < VF_WARP + 3) {
        int all = 0;
        for (int w = 0; w < WARPS; w++) all += count[thread - VF_WARP][w];
        if (thread == VF_WARP) out->score = all;
        if (thread == VF_WARP + 1) out->inliers = (uint32_t)all;
        if (thread == VF_WARP + 2) out->rows = (uint32_t)all;
    }
    __syncthreads();
}

/** Sums over the sights of a kind, all or `most` of them, what work(sight, sum) adds. */
template <int KIND, typename Work>
static __device__ __forceinline__ void sum_up(const vf_step &s, int most, vf_tally *out, Work work)
{
    const vf_sights &all = s.memory->ego.sights[vf_ego_list(KIND)];
    const int count = s.memory->ego.count[vf_ego_list(KIND)], some = vf_ego_subset(count, most);
    vf_tally mine = {};
    for (int i = threadIdx.x; i < some; i += THREADS) {
        const vf_sight sight = vf_ego_sight(&all, most == VF_EGO_LANES ? vf_ego_spread(count, VF_EGO_LANES, i) : i);
        work(sight, mine);
    }
    add_up(mine, out);
}

/** Copies by the threads of a block, a word each; from nowhere: zeros. */
template <typename T> static __device__ __forceinline__ void copy_words(T *to, const T *from)
{
    VF_STATIC_ASSERT(sizeof(T) % 4 == 0 && sizeof(T) / 4 <= THREADS, "a thread a word");
    if (threadIdx.x < sizeof(T) / 4)
        reinterpret_cast<uint32_t *>(to)[threadIdx.x] = from ? reinterpret_cast<const uint32_t *>(from)[threadIdx.x]
                                                             : 0;
}

template <int KIND> static __device__ void refine(const vf_step &s, int rank)
{
    __shared__ vf_tally sum;
    __shared__ vf_finalist kept;
    __shared__ vf_pose pose;
    __shared__ int32_t stop;
    vf_finalist &f = s.memory->ego.finalist[KIND][rank];
    const uint32_t order = find_rank(s, KIND, rank);
    const int thread = threadIdx.x;
    copy_words(&kept, (const vf_finalist *)NULL);
    if (order) copy_words(&pose, &s.memory->ego.pose[KIND][vf_ego_ordered(order)]);
    if (thread == 0) stop = !order;
    __syncthreads();
#pragma unroll 1
    for (int step = 0; step <= VF_EGO_ROUGH + VF_EGO_STEPS && !stop; step++) {
        const vf_pose p = pose;
        const bool rough = step < VF_EGO_ROUGH;
        sum_up<KIND>(s, rough ? VF_EGO_LANES : VFRONT_SIGHTS, &sum,
                     [&](const vf_sight &sight, vf_tally &to) { vf_ego_add(KIND, &p, &sight, &to); });
        const bool better = sum.score > kept.sum.score;
        __syncthreads();
        if (better && !rough) {
            copy_words(&kept.sum, &sum);
            if (thread == 0) kept.pose = p;
        }
        if (thread == 0)
            stop = step == VF_EGO_ROUGH + VF_EGO_STEPS || !(better || rough) ||
                   !(vf_motion_step(KIND, &pose, sum.terms) || rough);
        __syncthreads();
    }
    copy_words(&f, &kept);
}

static __global__ void __launch_bounds__(THREADS) refine_k(const vf_step s)
{
    if (blockIdx.y == VF_RELATIVE) refine<VF_RELATIVE>(s, blockIdx.x);
    if (blockIdx.y == VF_METRIC) refine<VF_METRIC>(s, blockIdx.x);
    if (blockIdx.y == VF_TURN) refine<VF_TURN>(s, blockIdx.x);
}

/* ---- what it is worth -------------------------------------------------------------------------------------------- */

/** The best finalist of a kind, the first of those that are equal. By whole warps. */
static __device__ __forceinline__ const vf_finalist &best_of(const vf_step &s, int kind)
{
    VF_STATIC_ASSERT(VF_EGO_FINALISTS <= VF_WARP, "a lane a finalist");
    const vf_finalist *f = s.memory->ego.finalist[kind];
    const int lane = threadIdx.x % VF_WARP;
    const uint32_t order = lane < VF_EGO_FINALISTS ? (uint32_t)f[lane].sum.score << 5 | (uint32_t)(31 - lane) : 0;
    return f[31 - (~vf_warp_min(~order) & 31)];
}

/** Median movement of the sights of a kind that agree with a motion, less its turn; finds out who does. Of all, as it is, when ALL is true. */
template <int KIND, bool ALL> static __device__ int median_movement(const vf_step &s, const vf_pose &pose)
{
    VF_STATIC_ASSERT(VF_EGO_BINS == 4 * THREADS, "four bins a thread");
    __shared__ int bin[VF_EGO_BINS], whole[WARPS], median;
    const vf_sights &all = s.memory->ego.sights[vf_ego_list(KIND)];
    const int count = s.memory->ego.count[vf_ego_list(KIND)], thread = threadIdx.x, lane = thread % VF_WARP,
              warp = thread / VF_WARP;
    const float none[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    for (int k = 0; k < 4; k++) bin[4 * thread + k] = 0;
    if (thread == 0) median = 0;
    __syncthreads();
    for (int i = thread; i < count; i += THREADS) {
        const vf_sight sight = vf_ego_sight(&all, i);
        const bool agrees = ALL || vf_motion_worth(vf_motion_error(KIND, &pose, &sight));
        if (!ALL) s.memory->ego.sides[KIND][i] = agrees;
        if (agrees) atomicAdd(&bin[vf_ego_moved(&s, ALL ? none : pose.R, &sight)], 1);
    }
    __syncthreads();
    int mine = 0;
    for (int k = 0; k < 4; k++) mine += bin[4 * thread + k];
    int upto = mine;
    for (int step = 1; step < VF_WARP; step *= 2) {
        const int other = __shfl_up_sync(VF_ALL, upto, step);
        upto += lane >= step ? other : 0;
    }
    if (lane == VF_WARP - 1) whole[warp] = upto;
    __syncthreads();
    int before = upto - mine, total = 0;
    for (int w = 0; w < WARPS; w++) {
        before += w < warp ? whole[w] : 0;
        total += whole[w];
    }
    for (int k = 0; k < 4; k++) {
        const int here = bin[4 * thread + k];
        if (vf_ego_median(before, before + here, total)) median = 4 * thread + k;
        before += here;
    }
    __syncthreads();
    return median;
}

/** Adds the right sides of the inliers' normal equations up in lumps. Returns how many lumps have any. */
template <int KIND>
static __device__ int fill_lumps(const vf_step &s, const vf_pose &pose, const float scale[6], vf_lump *lump)
{
    const vf_sights &all = s.memory->ego.sights[vf_ego_list(KIND)];
    const int count = s.memory->ego.count[vf_ego_list(KIND)], thread = threadIdx.x;
    int lumps = 0;
    for (int i = thread; i < VF_EGO_LUMPS; i += THREADS) lump[i] = vf_lump{};
    __syncthreads();
    for (int i = thread; i < count; i += THREADS) {
        const vf_sight sight = vf_ego_sight(&all, i);
        int32_t part[6];
        if (!vf_ego_part(KIND, &pose, &sight, scale, part)) continue;
        vf_lump &to = lump[vf_ego_lump(&s, &sight)];
#pragma unroll
        for (int k = 0; k < 6; k++) atomicAdd(&to.sum[k], part[k]);
        atomicAdd(&to.pairs, 1);
    }
    __syncthreads();
    for (int i = thread; i < VF_EGO_LUMPS; i += THREADS) lumps += __syncthreads_count(lump[i].pairs > 0);
    return lumps;
}

/** Sum over all lumps of the products of two of their sums, by a warp. */
static __device__ __forceinline__ int64_t sum_of_products(const vf_lump *lump, int i, int j)
{
    long long product = 0;
    for (int n = threadIdx.x % VF_WARP; n < VF_EGO_LUMPS; n += VF_WARP)
        product += (long long)lump[n].sum[i] * lump[n].sum[j];
    for (int step = VF_WARP / 2; step; step /= 2) product += __shfl_xor_sync(VF_ALL, product, step);
    return product;
}

/** The covariance: a warp sums up for some numbers of that of the right side, then a lane has a row. */
template <int KIND> static __device__ void find_covariance(const vf_step &s, vf_lump *lump, vf_facts &f)
{
    VF_STATIC_ASSERT(VF_EGO_LUMPS % THREADS == 0, "all threads count lumps together");
    __shared__ float B[21];
    const vf_finalist &best = best_of(s, KIND);
    const vf_pose pose = best.pose;
    const int i = threadIdx.x, lane = i % VF_WARP, warp = i / VF_WARP;
    float scale[6], L[6][6], row[6], sums[VF_TERMS];
#pragma unroll
    for (int k = 0; k < VF_TERMS; k++) sums[k] = best.sum.terms[k];
    vf_ego_scales(sums, scale);
    const int lumps = fill_lumps<KIND>(s, pose, scale, lump);
#pragma unroll
    for (int j = 0; j < 6; j++)
#pragma unroll
        for (int k = j; k < 6; k++) {
            if (vf_motion_at(j, k) % WARPS != warp) continue;
            const int64_t product = sum_of_products(lump, j, k);
            if (lane == 0) B[vf_motion_at(j, k)] = vf_ego_spread_of(KIND, &best.sum, scale, lumps, j, k, product);
        }
    __syncthreads();
    if (i >= 6) return;
    const int there = vf_motion_root(KIND, pose.t, sums, L);
    if (i == 0) f.solved[KIND] = there;
    vf_motion_covariance_row(L, B, i, row);
#pragma unroll
    for (int j = 0; j < 6; j++)
        if (j >= i) f.covariance[KIND][vf_motion_row(i) + j - i] = there ? row[j] : 0.0f;
}

template <int KIND> static __device__ void gather(const vf_step &s, vf_facts &f)
{
    const vf_finalist &best = best_of(s, KIND);
    const vf_pose pose = best.pose;
    const int parallax = median_movement<KIND, false>(s, pose);
    copy_words(&f.sum[KIND], &best.sum);
    if (threadIdx.x) return;
    f.pose[KIND] = pose;
    f.parallax[KIND] = parallax;
}

/** Inliers of the relative motion that lie in a plane. */
static __device__ uint32_t count_in_plane(const vf_step &s)
{
    __shared__ vf_tally sum;
    __shared__ float plane[3];
    __shared__ int there;
    const vf_pose pose = best_of(s, VF_RELATIVE).pose;
    if (threadIdx.x < 3) plane[threadIdx.x] = 0.0f;
    if (threadIdx.x == 0) there = 1;
    __syncthreads();
#pragma unroll 1
    for (int fit = 0; fit <= VF_EGO_PLANES && there; fit++) {
        const float n[3] = {plane[0], plane[1], plane[2]};
        sum_up<VF_RELATIVE>(s, fit == VF_EGO_PLANES ? VFRONT_SIGHTS : VF_EGO_LANES, &sum,
                            [&](const vf_sight &sight, vf_tally &to) {
                                if (vf_motion_worth(vf_motion_error(VF_RELATIVE, &pose, &sight)))
                                    to.inliers += vf_ego_plane(&pose, n, &sight, fit == 0, to.terms);
                            });
        if (threadIdx.x == 0 && fit < VF_EGO_PLANES) there = vf_ego_fit_plane(sum.terms, plane);
        __syncthreads();
    }
    return there ? sum.inliers : 0;
}

/** Outliers of the best relative motion, in no order. */
struct strays {
    float before[3][VF_EGO_OTHERS], now[3][VF_EGO_OTHERS], weight[VF_EGO_OTHERS];
    int32_t count;
};

/** Counts, for a relative hypothesis of each warp, the outliers of the best relative motion that agree with it. */
static __device__ void look_for_another(const vf_step &s, int block)
{
    __shared__ strays o;
    vf_ego_memory &m = s.memory->ego;
    const int lane = threadIdx.x % VF_WARP, h = block * WARPS + (int)threadIdx.x / VF_WARP, count = m.count[0],
              some = vf_ego_subset(count, VF_EGO_OTHERS);
    const vf_pose best = best_of(s, VF_RELATIVE).pose;
    if (threadIdx.x == 0) o.count = 0;
    __syncthreads();
    for (int k = threadIdx.x; k < some; k += THREADS) {
        const vf_sight sight = vf_ego_sight(&m.sights[0], vf_ego_spread(count, VF_EGO_OTHERS, k));
        if (!vf_ego_astray(vf_motion_error(VF_RELATIVE, &best, &sight))) continue;
        const int at = atomicAdd(&o.count, 1);
        for (int i = 0; i < 3; i++) {
            o.before[i][at] = sight.before[i];
            o.now[i][at] = sight.now[i];
        }
        o.weight[at] = sight.weight;
    }
    __syncthreads();
    if (h >= vf_ego_hypotheses(&s, VF_RELATIVE)) return;
    const vf_pose other = m.pose[VF_RELATIVE][h];
    int agree = 0;
    for (int k = lane; k < o.count && m.score[VF_RELATIVE][h] > 0; k += VF_WARP) {
        const vf_sight sight = {{o.before[0][k], o.before[1][k], o.before[2][k]},
                                {o.now[0][k], o.now[1][k], o.now[2][k]},
                                o.weight[k],
                                0.0f,
                                0.0f,
                                0.0f,
                                0.0f};
        agree += vf_motion_error(VF_RELATIVE, &other, &sight) < 1.0f;
    }
    agree = vf_warp_sum(agree);
    if (lane) return;
    m.second[h] = agree;
    if (h == 0) m.facts.looked = o.count;
}

/** Notes who agrees with the motion that is reported of a list; those of the first come first, and nobody was noted before. */
template <int LIST> static __device__ __forceinline__ void note(vf_ego_memory &m, int kind)
{
    const int count = m.count[LIST], bit = LIST ? VFRONT_AGREES_METRIC : VFRONT_AGREES_RELATIVE;
    if (kind == VF_KINDS) return;
#pragma unroll 4
    for (int i = threadIdx.x; i < count; i += THREADS) {
        const bool agrees = __ldcg(&m.sides[kind][i]);
        const int from = m.sights[LIST].from[i];
        if (agrees) m.agrees[from] = (uint8_t)(LIST ? m.agrees[from] | bit : bit);
    }
}

/** The verdict, by the block that is done last. */
static __device__ void judge(const vf_step &s)
{
    __shared__ uint32_t there[WARPS];
    __shared__ vf_facts facts;
    __shared__ vfront_motion_t motion[2];
    vf_ego_memory &m = s.memory->ego;
    uint32_t others = 0;
    for (int i = threadIdx.x; i < (int)(sizeof facts / 4); i += THREADS)
        reinterpret_cast<uint32_t *>(&facts)[i] = __ldcg(reinterpret_cast<const uint32_t *>(&m.facts) + i);
    for (int h = threadIdx.x; h < vf_ego_hypotheses(&s, VF_RELATIVE); h += THREADS)
        others = max(others, __ldcg(&m.second[h]));
    others = block_max(others, there);
    if (threadIdx.x == 0) {
        facts.others = others;
        if (!vf_ego_hypotheses(&s, VF_RELATIVE)) facts.looked = 0;
        m.facts.others = facts.others;
        m.facts.looked = facts.looked;
    }
    __syncthreads();
    if (threadIdx.x < VF_WARP) {
        vf_ego_judge_relative(&s, &s.memory->ingest.params, m.count[0], &facts, &motion[0]);
    } else if (threadIdx.x < 2 * VF_WARP) {
        vf_ego_judge_metric(&s, &s.memory->ingest.params, m.count[1], &facts, &motion[1]);
    }
    __syncthreads();
    const vfront_motion_t *good = vf_ego_good(&s.memory->ingest.params, &motion[0], &motion[1], &m.good[s.parity ^ 1]);
    copy_words(&m.relative, &motion[0]);
    copy_words(&m.metric, &motion[1]);
    if (good)
        copy_words(&m.good[s.parity], good);
    else if (threadIdx.x == 0)
        vf_ego_blank(&m.good[s.parity], VFRONT_MOTION_NONE);
    note<0>(m, vf_ego_agreed_relative(&motion[0]));
    __syncthreads();
    note<1>(m, vf_ego_agreed_metric(&motion[1]));
    if (threadIdx.x == 0) vf_clock_end(s, VF_ego);
}

#define QUESTIONS 8

static __global__ void __launch_bounds__(THREADS) judge_k(const vf_step s)
{
    __shared__ bool last;
    __shared__ vf_lump lump[VF_EGO_LUMPS];
    vf_ego_memory &m = s.memory->ego;
    const int question = blockIdx.x;
    if (question == 0) {
        const uint32_t in_plane = count_in_plane(s);
        if (threadIdx.x == 0) m.facts.in_plane = in_plane;
    }
    if (question == 1) gather<VF_RELATIVE>(s, m.facts);
    if (question == 2) gather<VF_METRIC>(s, m.facts);
    if (question == 3) gather<VF_TURN>(s, m.facts);
    if (question == 4) {
        const int moved = median_movement<VF_RELATIVE, true>(s, m.facts.pose[0]);
        if (threadIdx.x == 0) m.facts.moved = moved;
    }
    if (question == 5) find_covariance<VF_RELATIVE>(s, lump, m.facts);
    if (question == 6) find_covariance<VF_METRIC>(s, lump, m.facts);
    if (question == 7) find_covariance<VF_TURN>(s, lump, m.facts);
    if (question >= QUESTIONS) look_for_another(s, question - QUESTIONS);
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) last = atomicInc(&m.arrived, gridDim.x - 1) == gridDim.x - 1;
    __syncthreads();
    if (!last) return;
    __threadfence();
    judge(s);
}
#endif

extern "C" cudaError_t vf_ego_cuda(const vf_step *s, cudaStream_t stream)
{
#if VFRONT_EGO
    if (!vf_ego_on(s)) return cudaSuccess;
    const int relative = vf_ego_hypotheses(s, VF_RELATIVE),
              all = relative + vf_ego_hypotheses(s, VF_METRIC) + vf_ego_hypotheses(s, VF_TURN);
    list_k<<<1, VF_BLOCK, 0, stream>>>(*s);
#if VFRONT_CUBLAS
    const cudaError_t error = relative ? solve_systems(s, relative, stream) : cudaSuccess;
    if (error) return error;
#endif
    if (all) try_k<<<vf_blocks(all, TEAMS), TEAMS * VF_WARP, 0, stream>>>(*s);
    refine_k<<<dim3(VF_EGO_FINALISTS, VF_KINDS), THREADS, 0, stream>>>(*s);
    judge_k<<<QUESTIONS + vf_blocks(relative, WARPS), THREADS, 0, stream>>>(*s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
