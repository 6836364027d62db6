/* SPDX-License-Identifier: MIT */
/* report on the GPU, in one launch. Block 0 writes the tracks, block 1 all of the result but its lists. The next blocks
 * write key points, matches, loops and stixels, and VF_MIRROR_BLOCKS more the mirror if there is one. The block that
 * finishes last writes the ticket. All output goes to pinned host memory. Records are assembled in shared memory,
 * because long transfers use the bus better. */
#include "kernels/kernel.cuh"

#include "result/carry.h"
#include "result/report.h"

#define THREADS 512
/* Key points that a block writes at a time: enough for a long transfer, few enough for many blocks. */
#define PORTION 128
/* Blocks that write the mirror: a copy, in host memory, of the data for the next frame. */
#ifndef VF_MIRROR_BLOCKS
#define VF_MIRROR_BLOCKS 16
#endif

/** Writes the records `mine` of the first `count` threads of a block as one run of 32-bit words. shared: room for
 *  `count` records in shared memory. Called by all threads of the block. */
template <typename Record> static __device__ void put_records(Record *to, Record *shared, const Record &mine, int count)
{
    __syncthreads();
    if ((int)threadIdx.x < count) shared[threadIdx.x] = mine;
    __syncthreads();
    const uint32_t *from = reinterpret_cast<const uint32_t *>(shared);
    for (int i = threadIdx.x; i < count * (int)(sizeof(Record) / 4); i += THREADS)
        reinterpret_cast<uint32_t *>(to)[i] = from[i];
}

/** Copies a struct word by word, by one warp. */
template <typename T> static __device__ __forceinline__ void copy_by_warp(T *to, const T *from)
{
    VF_STATIC_ASSERT(sizeof(T) % 4 == 0, "copied by words");
#pragma unroll 4
    for (int i = threadIdx.x % VF_WARP; i < (int)(sizeof(T) / 4); i += VF_WARP)
        reinterpret_cast<uint32_t *>(to)[i] = reinterpret_cast<const uint32_t *>(from)[i];
}

/** Sums over each camera's image, for the health of the result. */
struct sums {
    vf_brightness_total brightness[VFRONT_CAMERAS];
    uint32_t occupied[VFRONT_CAMERAS]; /* number of cells with a corner */
};

/** Shared memory of a block. */
union work {
    vfront_track_t track[THREADS];
    vfront_keypoint_t keypoint[PORTION];
    sums sum;
};

/** Writes the tracks and the ended tracks, by one block. track: THREADS records of shared memory. */
static __device__ void put_tracks(const vf_report_view &s, vfront_track_t *track, vfront_result_t *out)
{
    vfront_lost_t *lost = reinterpret_cast<vfront_lost_t *>(track);
    const vf_track_memory &m = *s.track;
    const vf_refill_memory &r = *s.refill;
    const int tracks = r.counts[s.parity].count, ended = r.lost_count, thread = threadIdx.x;
    for (int first = 0; first < tracks; first += THREADS) {
        vfront_track_t t = {};
        if (first + thread < tracks)
            t = vf_report_track(&s, s.bearing->node[0], &r.feature[s.parity][first + thread],
                                vf_ego_inlier_mask(s.ego, s.geometry.active, first + thread),
                                vf_partner_of(s.partner, s.geometry.active, first + thread));
        put_records(out->tracks + first, track, t, vf_min(tracks - first, THREADS));
    }
    for (int first = 0; first < ended; first += THREADS) {
        vfront_lost_t l = {};
        if (first + thread < ended) l = vf_report_lost(&m.moved[r.lost[first + thread]]);
        put_records(out->lost + first, lost, l, vf_min(ended - first, THREADS));
    }
}

/** Writes the key points of a camera from number `first` on, at most PORTION, with angles and descriptors. keypoint:
 *  PORTION records of shared memory. */
static __device__ void put_keypoints(const vf_report_view &s, int camera, int first, int count,
                                     vfront_keypoint_t *keypoint, vfront_result_t *out)
{
    const int thread = threadIdx.x, mine = vf_min(PORTION, count - first);
    vfront_keypoint_t k = {};
    float angle_rad = 0.0f;
#if VFRONT_DESCRIPTORS
    if (vf_report_ran(&s, VF_BIT(describe))) {
        const uint32_t *from = s.describe->descriptor[s.parity][camera][first].word;
        uint32_t *to = out->descriptors[camera][first].word;
        for (int i = thread; i < mine * 8; i += THREADS) to[i] = from[i];
        if (thread < mine) angle_rad = s.describe->angle[s.parity][camera][first + thread];
    }
#endif
    if (thread < mine) {
        const int slot = vf_keypoint_index(s.geometry.groups, s.geometry.group_first, s.select->count[camera],
                                           first + thread);
        k = vf_report_keypoint(&s, camera, s.select->key[camera][slot],
                               &s.bearing->point[s.parity][camera][first + thread], angle_rad);
    }
    put_records(out->keypoints[camera] + first, keypoint, k, mine);
}

/** Writes stereo depths and temporal matches, distributed over `blocks` blocks. block: number of the calling block. */
static __device__ void put_matches(const vf_report_view &s, vfront_result_t *out, int block, int blocks)
{
#if VFRONT_STEREO
    VF_STATIC_ASSERT(sizeof(vfront_depth_t) % 4 == 0, "copied by words");
    const uint32_t *depth = reinterpret_cast<const uint32_t *>(s.stereo->depth);
    for (int i = block * THREADS + threadIdx.x;
         i < (int)vf_stereo_count(s.stereo, s.geometry.active) * (int)sizeof(vfront_depth_t) / 4; i += blocks * THREADS)
        reinterpret_cast<uint32_t *>(out->depths)[i] = depth[i];
#endif
#if VFRONT_MATCHES
    enum { WORDS = sizeof(vfront_match_t) / 4 };
    VF_STATIC_ASSERT(sizeof(vfront_match_t) == 4 * WORDS && offsetof(vfront_match_t, agrees) == 8,
                     "agrees is the lower half of word 2");
    uint32_t *to = reinterpret_cast<uint32_t *>(out->matches);
    const uint32_t *from = reinterpret_cast<const uint32_t *>(s.match->match);
    for (int i = block * THREADS + threadIdx.x; i < (int)vf_match_count(s.match, s.geometry.active) * WORDS;
         i += blocks * THREADS)
        to[i] = i % WORDS == 2
                    ? (from[i] & 0xffff0000u) | vf_ego_inlier_mask(s.ego, s.geometry.active, VFRONT_TRACKS + i / WORDS)
                    : from[i];
#endif
    (void)s, (void)out, (void)block, (void)blocks;
}

/** Writes the loops and the correspondences of one loop, distributed over `blocks` blocks. block: number of the calling
 *  block. */
static __device__ void put_loops(const vf_report_view &s, vfront_result_t *out, int block, int blocks)
{
#if VFRONT_MAP
    VF_STATIC_ASSERT(sizeof(vfront_loop_t) % 4 == 0 && sizeof(vfront_loop_pair_t) % 4 == 0, "copied by words");
    const vf_loop_counts counts = vf_loop_count(s.loop, s.keyframe, s.relpose, s.geometry.active, s.parity);
    const int first = block * THREADS + threadIdx.x, step = blocks * THREADS;
    const uint32_t *loop = reinterpret_cast<const uint32_t *>(s.loop->loop),
                   *pair = counts.pairs ? reinterpret_cast<const uint32_t *>(vf_loop_pairs(s.loop, s.relpose)) : NULL;
    for (int i = first; i < (int)(counts.loops * sizeof(vfront_loop_t) / 4); i += step)
        reinterpret_cast<uint32_t *>(out->loops)[i] = loop[i];
    for (int i = first; i < (int)(counts.pairs * sizeof(vfront_loop_pair_t) / 4); i += step)
        reinterpret_cast<uint32_t *>(out->loop_pairs)[i] = pair[i];
#endif
    (void)s, (void)out, (void)block, (void)blocks;
}

/** Writes stixels, obstacles and the road, distributed over `blocks` blocks. block: number of the calling block. */
static __device__ void put_stixels(const vf_report_view &s, vfront_result_t *out, int block, int blocks)
{
#if VFRONT_STIXELS
    const vf_stixel_memory &m = *s.stixel;
    const int columns = vf_report_columns(&s), first = block * THREADS + threadIdx.x, step = blocks * THREADS;
    for (int i = first; i < columns * VFRONT_SEGMENTS; i += step) {
        const int column = i / VFRONT_SEGMENTS, k = i % VFRONT_SEGMENTS;
        if (k < m.segments[column])
            out->stixels[column][k] = vf_stixel_result(&s.stixel_geometry, &m.segment[column][k]);
    }
    for (int i = first; i < columns; i += step) out->stixels_count[i] = m.segments[i];
    for (int i = first; i < VFRONT_OBSTACLE_BINS; i += step) out->obstacles_cm[i] = vf_report_obstacle(&s, i);
    if (first == 0) out->road = vf_report_road(&s);
#endif
    (void)s, (void)out, (void)block, (void)blocks;
}

/** Writes the number of columns, and of columns with too many segments, by one warp. */
static __device__ void count_columns(const vf_report_view &s, vfront_result_t *out)
{
#if VFRONT_STIXELS
    const int columns = vf_report_columns(&s);
    int crowded = 0;
    for (int i = threadIdx.x % VF_WARP; i < columns; i += VF_WARP) crowded += s.stixel->crowded[i];
    crowded = vf_warp_sum(crowded);
    if (threadIdx.x % VF_WARP) return;
    out->columns_count = columns;
    out->columns_width_px = s.stixel_tuning.stixel_width_px;
    out->columns_crowded = crowded;
#endif
    (void)s, (void)out;
}

/** Copies words, distributed over `blocks` blocks. block: number of the calling block. */
static __device__ void put_words(void *to, const void *from, size_t bytes, int block, int blocks)
{
    uint32_t *word = reinterpret_cast<uint32_t *>(to);
    for (int i = block * THREADS + threadIdx.x; i < (int)(bytes / 4); i += blocks * THREADS)
        word[i] = reinterpret_cast<const uint32_t *>(from)[i];
}

/** Writes the mirror: a copy of the data for the next frame, except report's own members. Distributed over `blocks`
 *  blocks; block: number of the calling block. */
static __device__ void put_mirror(const vf_report_view &s, int block, int blocks)
{
    const vf_refill_memory &r = *s.refill;
    const uint32_t points = s.bearing->count[s.parity][0], tracks = r.counts[s.parity].count,
                   before = s.ingest->params.frame ? r.counts[s.parity ^ 1].count : 0;
    const int has_state = vf_vio_has_state(s.vio, s.geometry.active),
              is_keyframe = vf_keyframe_due(s.keyframe, s.geometry.active, s.parity);
    (void)has_state, (void)is_keyframe;
    vf_carry_mirror &m = *s.mirror;
    vf_carry *c = &m.set[s.parity];
#define MIRROR(stage, member, part, extent)                                                                            \
    VF_STATIC_ASSERT(sizeof s.stage->member[0] part % 4 == 0, "copied by words");                                      \
    put_words(c->stage##_##member, &s.stage->member[s.parity] part,                                                    \
              VF_CARRY_BYTES_##extent(s.stage->member[s.parity] part), block, blocks);
    VF_CARRY(MIRROR)
#undef MIRROR
#define MIRROR(stage, member) put_words(c->stage##_##member, &s.stage->member, sizeof s.stage->member, block, blocks);
    VF_CARRY_SINGLE(MIRROR)
#undef MIRROR
    for (uint32_t i = block; i < before; i += blocks) {
        const vf_feature &f = r.feature[s.parity ^ 1][i];
        if (!vf_carry_template_new(&f)) continue;
        put_words(m.templates[f.template_index], s.track->templates[f.template_index], sizeof m.templates[0], 0, 1);
        put_words(&m.template_normal[f.template_index], &s.track->template_normal[f.template_index],
                  sizeof m.template_normal[0], 0, 1);
    }
}

/** Brightness statistics of a camera's image, by one warp, the same in every lane. */
static __device__ vf_brightness_total total_brightness(const vf_report_view &s, int camera)
{
    const vf_level &l = s.geometry.level[camera][0];
    const int tiles = (l.width + VF_TILE - 1) / VF_TILE * ((l.height + VF_TILE - 1) / VF_TILE);
    vf_brightness_total t = {0, 0, 0, 0};
    for (int i = threadIdx.x % VF_WARP; i < tiles; i += VF_WARP) {
        const vf_tile_stats brightness = s.pyramid->tile[camera][i];
        t.sum += brightness.sum;
        t.edge += brightness.edge;
        t.dark += brightness.dark;
        t.bright += brightness.bright;
    }
    for (int step = VF_WARP / 2; step; step /= 2) {
        t.sum += __shfl_xor_sync(VF_ALL, t.sum, step);
        t.edge += __shfl_xor_sync(VF_ALL, t.edge, step);
        t.dark += __shfl_xor_sync(VF_ALL, t.dark, step);
        t.bright += __shfl_xor_sync(VF_ALL, t.bright, step);
    }
    return t;
}

/** Number of cells of a camera that contain a corner, by one warp. */
static __device__ int count_occupied(const vf_report_view &s, int camera)
{
    const int cells = s.geometry.cells[camera];
    int count = 0;
#pragma unroll 8
    for (int cell = threadIdx.x % VF_WARP; cell < cells; cell += VF_WARP)
        count += s.detect->corner[s.parity][camera][cell] != 0;
    return vf_warp_sum(count);
}

/** Writes the motions and the predicted motion, by one warp. They are copied by words, because a single thread would
 *  wait for each load. */
static __device__ void put_motions(const vf_report_view &s, vfront_result_t *out)
{
    const int lane = threadIdx.x % VF_WARP;
#if VFRONT_EGO
    if (vf_report_ran(&s, VF_BIT(ego))) {
        copy_by_warp(&out->relative, &s.ego->relative);
        copy_by_warp(&out->metric, &s.ego->metric);
        copy_by_warp(&out->good, &s.ego->good[s.parity]);
    } else if (lane == 0)
#else
    if (lane == 0)
#endif
        vf_ego_motions(s.ego, s.geometry.active, s.parity, &out->relative, &out->metric, &out->good);
    if (vf_report_ran(&s, VF_BIT(predict)))
        copy_by_warp(&out->predicted, &s.predict->now);
    else if (lane == 0)
        vf_predict_result(s.predict, s.geometry.active, &out->predicted);
}

/** Writes the observations for the estimator's supervisor, distributed over `blocks` blocks. block: number of the
 *  calling block. */
static __device__ void put_observations(const vf_report_view &s, int block, int blocks)
{
#if VFRONT_VIO
    VF_STATIC_ASSERT(sizeof(vf_observation) % 4 == 0, "copied by words");
    const int words = (int)vf_report_observations(&s) * (int)(sizeof(vf_observation) / 4);
    const uint32_t *from = reinterpret_cast<const uint32_t *>(s.observe->observation);
    uint32_t *to = reinterpret_cast<uint32_t *>(s.vio_out->observation);
    for (int i = block * THREADS + threadIdx.x; i < words; i += blocks * THREADS) to[i] = from[i];
#endif
    (void)s, (void)block, (void)blocks;
}

/** Writes the estimator's state, and the states and summaries of all members for its supervisor, by one warp. */
static __device__ void put_nav(const vf_report_view &s, vfront_result_t *out)
{
#if VFRONT_VIO
    if (threadIdx.x % VF_WARP == 0) s.vio_out->observations = vf_report_observations(&s);
    if (vf_report_ran(&s, VF_BIT(vio))) {
        copy_by_warp(&s.vio_out->summary, &s.vio->summary);
        copy_by_warp(&s.vio_out->nav, &s.vio->nav);
        return copy_by_warp(&out->nav, vf_vio_state_of(s.vio));
    }
#endif
    if (threadIdx.x % VF_WARP == 0) vf_vio_result(s.vio, s.geometry.active, &out->nav);
}

/** Writes times and counts, by one thread. Not inlined, because nvcc 11.8 does not terminate otherwise for sm_53. */
static __device__ __noinline__ void put_counts(const vf_report_view &s, vfront_result_t *out)
{
    const vf_params &params = s.ingest->params;
    for (int camera = 0; camera < VFRONT_CAMERAS; camera++) {
        const uint32_t count = camera < s.geometry.cameras ? vf_keypoints(s.geometry.groups, s.select->count[camera])
                                                           : 0;
        out->keypoints_count[camera] = count;
        out->descriptors_count[camera] = vf_report_ran(&s, VF_BIT(describe)) ? count : 0;
    }
    out->t_ns = params.t_ns;
    out->t_mid_ns = params.t_mid_ns;
    out->frame = params.frame;
    out->tracks_count = s.refill->counts[s.parity].count;
    out->lost_count = s.refill->lost_count;
    out->depths_count = vf_stereo_count(s.stereo, s.geometry.active);
    out->matches_count = vf_match_count(s.match, s.geometry.active);
#if VFRONT_DENSE
    out->disparity.valid = vf_dense_valid(s.dense, s.geometry.active);
#endif
}

/** Writes the health, and report's own data for the next frame, by one thread. */
static __device__ void put_health(const vf_report_view &s, const sums &sum, vfront_result_t *out)
{
    const vf_params &params = s.ingest->params;
    const vf_chain chain = vf_report_next_chain(&s);
    s.report->chain[s.parity] = chain;
    s.report->interval[s.parity] = vf_report_next_interval(&s);
    for (int camera = 0; camera < s.geometry.cameras; camera++)
        s.report->running_mean[s.parity][camera] = vf_report_next_running_mean(&s, camera, &sum.brightness[camera]);
    out->health = vf_report_health(&s, &params, &chain, sum.occupied, sum.brightness);
    if (s.mirror) {
        vf_carry *c = &s.mirror->set[s.parity];
#define MIRROR(stage, member, part, extent)                                                                            \
    memcpy(c->stage##_##member, &s.stage->member[s.parity] part, sizeof c->stage##_##member);
        VF_CARRY_REPORT(MIRROR)
#undef MIRROR
    }
}

/** Writes the result without its lists, and the clocks of the stages, by one block. One warp computes the sums of each
 *  camera. One warp writes each part that does not depend on these sums. */
static __device__ void put_head(const vf_report_view &s, sums &sum, vfront_result_t *out)
{
    const int warp = threadIdx.x / VF_WARP, lane = threadIdx.x % VF_WARP;
    VF_STATIC_ASSERT(VFRONT_CAMERAS + 6 <= THREADS / VF_WARP, "a warp for each part");
    if (warp < VFRONT_CAMERAS) {
        const bool present = warp < s.geometry.cameras;
        const vf_brightness_total brightness = present ? total_brightness(s, warp) : vf_brightness_total{0, 0, 0, 0};
        const uint32_t occupied = present ? count_occupied(s, warp) : 0;
        if (lane == 0) sum.brightness[warp] = brightness;
        if (lane == 0) sum.occupied[warp] = occupied;
    }
    if (warp == VFRONT_CAMERAS) put_motions(s, out);
    if (warp == VFRONT_CAMERAS + 1) put_nav(s, out);
    if (warp == VFRONT_CAMERAS + 2 && lane == 0) put_counts(s, out);
    if (warp == VFRONT_CAMERAS + 3 && lane == 0) vf_report_loops(&s, out);
    if (warp == VFRONT_CAMERAS + 4) count_columns(s, out);
    if (warp == VFRONT_CAMERAS + 5)
        for (int i = lane; i < 2 * VF_report; i += VF_WARP) s.clocks_out[i / 2][i % 2] = s.clocks[i / 2][i % 2];
    __syncthreads();
    if (threadIdx.x == 0) put_health(s, sum, out);
}

/** Writes a frame's result. Block 0: tracks. Block 1: all but the lists. Then blocks_a_camera blocks per camera for its
 *  key points, which together also write matches, loops and stixels. Last blocks: mirror. */
static __global__ void __launch_bounds__(THREADS) report_k(const VF_CONSTANT vf_report_view s, int blocks_a_camera)
{
    __shared__ work w;
    vf_report_memory &m = *s.report;
    vfront_result_t *out = &s.result[s.ingest->params.result];
    const int block = blockIdx.x, own = 2 + s.geometry.cameras * blocks_a_camera;
    if (block == 0 && threadIdx.x == 0) s.clocks_out[VF_report][0] = vf_clock_ns();
    if (block == 0) {
        put_tracks(s, w.track, out);
    } else if (block == 1) {
        put_head(s, w.sum, out);
    } else if (block >= own) {
        put_mirror(s, block - own, gridDim.x - own);
    } else {
        const int camera = (block - 2) / blocks_a_camera,
                  count = vf_keypoints(s.geometry.groups, s.select->count[camera]);
        put_matches(s, out, block - 2, own - 2);
        put_stixels(s, out, block - 2, own - 2);
        put_loops(s, out, block - 2, own - 2);
        put_observations(s, block - 2, own - 2);
        for (int first = (block - 2) % blocks_a_camera * PORTION; first < count; first += blocks_a_camera * PORTION)
            put_keypoints(s, camera, first, count, w.keypoint, out);
    }
    __syncthreads();
    if (threadIdx.x) return;
    if (block == 0) s.clocks_out[VF_report][1] = vf_clock_ns();
    __threadfence_system(); /* the block's part of the result is in host memory before the block is counted */
    if (atomicInc(&m.blocks_done, gridDim.x - 1) != gridDim.x - 1) return;
    __threadfence_system(); /* the ticket is written after the parts of all blocks */
    *(volatile uint64_t *)s.done = s.ingest->params.ticket;
}

extern "C" cudaError_t vf_report_cuda(const vf_report_view *s, cudaStream_t stream)
{
    /* Blocks per camera for its key points: at least one, because they also write matches and stixels. */
    const int blocks = vf_clamp((int)vf_blocks(s->tuning.select_points, PORTION), 1, 32);
    const int more = s->mirror ? VF_MIRROR_BLOCKS : 0;
    report_k<<<2 + s->geometry.cameras * blocks + more, THREADS, 0, stream>>>(*s, blocks);
    return cudaGetLastError();
}
