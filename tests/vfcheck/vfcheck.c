/* SPDX-License-Identifier: MIT */
/* vfcheck: host form and kernel of every stage on the same bytes, compared with memcmp; if they agree, timed. After
 * dav1d's checkasm. Needs a CUDA device; without one it reports that and exits with 77. */
#define _POSIX_C_SOURCE 200809L
#include "vfcheck.h"

#include <math.h> /* sqrt */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "port/cuda/cuda.h"

/* ---- random numbers: each case starts from (seed, its own number), so that it can be run alone ------------------- */

static uint64_t random_state;

uint32_t random_number(uint32_t below)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)((random_state >> 33) * (uint64_t)below >> 31);
}

void random_start(uint64_t seed, uint64_t number)
{
    random_state = seed * 0x9e3779b97f4a7c15ull + number * 0xd1b54a32d192ed03ull + 1;
}

/* ---- images ------------------------------------------------------------------------------------------------------ */

const char *const fill_name[FILLS] = {"black",   "white", "noise",   "checker",  "points",
                                      "corners", "steps", "texture", "texture+", "real"};

/** Draws a smooth texture with corners: rectangles and discs of all sizes on value noise, moving with the frame. */
static void draw_texture(uint8_t *to, int width, int height, int pitch, int frame, int light)
{
    uint32_t h = 12345;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            to[y * pitch + x] = (uint8_t)(90 + (x + 3 * frame) / 7 % 9 + (y + frame) / 11 % 7);
    for (int i = 0; i < 120 + width * height / 900; i++) {
        h = h * 1664525u + 1013904223u;
        const int size = 3 + (int)(h >> 8) % 40, grey = (int)(h >> 16) % 256;
        h = h * 1664525u + 1013904223u;
        const int x0 = (int)(h >> 8) % (width + 80) - 40 + 3 * frame, y0 = (int)(h >> 4) % (height + 80) - 40 + frame;
        for (int y = y0; y < y0 + size; y++)
            for (int x = x0; x < x0 + size * 2 / 3; x++)
                if (x >= 0 && y >= 0 && x < width && y < height) to[y * pitch + x] = (uint8_t)grey;
    }
    if (!light) return;
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            const int v = to[y * pitch + x] * (100 + 4 * frame) / 100 + 3 * frame + (int)random_number(5) - 2;
            to[y * pitch + x] = (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
        }
}

static uint8_t plain_pixel(enum fill fill, int x, int y, int frame)
{
    switch (fill) {
    case FILL_WHITE: return 255;
    case FILL_NOISE: return (uint8_t)random_number(256);
    case FILL_CHECKER: return (x + frame + y) % 2 ? 255 : 0;
    case FILL_POINTS: return (x + 2 * frame) % 9 == 4 && y % 9 == 4 ? 255 : 0;
    case FILL_CORNERS: return (x + 2 * frame) % 8 < 4 && y % 8 < 4 ? 255 : 0;
    case FILL_STEPS: return (uint8_t)(((x + frame) / 16 * 37 + y / 12 * 71) % 256);
    default: return 0;
    }
}

void draw(enum fill fill, uint8_t *to, int width, int height, int pitch, int frame)
{
    if (fill == FILL_TEXTURE || fill == FILL_LIGHT) {
        draw_texture(to, width, height, pitch, frame, fill == FILL_LIGHT);
        return;
    }
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) to[y * pitch + x] = plain_pixel(fill, x, y, frame);
}

/* ---- one set of buffers for all cases ---------------------------------------------------------------------------- */

static vfront_t *host_vf, *cuda_vf; /* allocated, because large configs would not link */
static struct bench {
    struct vf_memory *chain, *back, *before,
        *device; /* host arena, copy from the device, host arena before the stage, device arena */
    struct vf_pinned *pinned, *pinned_cuda;
    uint8_t *picture[VFRONT_CAMERAS]; /* pinned */
    uint8_t *mask;
    cudaStream_t stream;
} b;

void fail_cuda(cudaError_t error, const char *call)
{
    fprintf(stderr, "vfcheck: %s: %s\n", call, cudaGetErrorString(error));
    exit(1);
}

void *zeroed(size_t bytes)
{
    void *p = calloc(1, bytes);
    if (p) return p;
    fprintf(stderr, "vfcheck: no memory for %zu bytes\n", bytes);
    exit(1);
}

static void open_buffers(void)
{
    host_vf = zeroed(sizeof *host_vf);
    cuda_vf = zeroed(sizeof *cuda_vf);
    CUDA(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking));
    CUDA(cudaHostAlloc((void **)&b.chain, sizeof *b.chain, cudaHostAllocMapped));
    CUDA(cudaHostAlloc((void **)&b.back, sizeof *b.back, cudaHostAllocMapped));
    b.before = zeroed(sizeof *b.before);
    CUDA(cudaMalloc((void **)&b.device, sizeof *b.device));
    CUDA(cudaMemset(b.device->clock, 0, sizeof b.device->clock)); /* not compared; kernels raise them */
    CUDA(cudaHostAlloc((void **)&b.pinned, sizeof *b.pinned, cudaHostAllocMapped));
    CUDA(cudaHostAlloc((void **)&b.pinned_cuda, sizeof *b.pinned_cuda, cudaHostAllocMapped));
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        CUDA(cudaHostAlloc((void **)&b.picture[c], VFRONT_INPUT_BYTES + 4096, cudaHostAllocMapped));
    b.mask = malloc(VFRONT_PICTURE_BYTES);
    if (!b.mask) exit(1);
}

struct vf_context *context_of(vfront_t *vf) { return (struct vf_context *)(((uintptr_t)vf + 63) & ~(uintptr_t)63); }

/* ---- a case: a rig, a tuning, a few frames ----------------------------------------------------------------------- */

struct options options = {.seed = 1, .frames = 4};

static int failures, cases, frames_of[VFRONT_STAGES]; /* number of frames in which each stage was compared */

static void report_failure(const struct vf_case *k, int frame, const char *what)
{
    failures++;
    printf("FAIL case %d (%dx%d, %d cameras, %s) frame %d: %s; again with --seed %llu --case %d\n", k->number, k->width,
           k->height, k->cameras, fill_name[k->fill], frame, what, (unsigned long long)options.seed, k->number);
}

static int width_of(const struct vf_case *k, int camera) { return camera ? k->second_width : k->width; }
static int height_of(const struct vf_case *k, int camera) { return camera ? k->second_height : k->height; }

/** First differing byte of two ranges, or -1. */
static long differs(const void *a, const void *c, size_t bytes)
{
    if (!memcmp(a, c, bytes)) return -1;
    const uint8_t *p = a, *q = c;
    long i = 0;
    while (p[i] == q[i]) i++;
    return i;
}

#if VFRONT_CUBLAS
static struct agreement pictures;

/** Greatest difference of two elements, or `most` if larger. */
static double apart(const float *a, const float *c, int count, double most)
{
    for (int i = 0; i < count; i++) {
        const double d = (double)a[i] - (double)c[i], size = d < 0 ? -d : d;
        most = size <= most || most != most ? most : size; /* NaN is kept */
    }
    return most;
}

void agree(struct agreement *a, const struct vf_ego_memory *host, const struct vf_ego_memory *cuda, int hypotheses)
{
    const vfront_motion_t *x = &host->relative, *y = &cuda->relative;
    a->steps++;
    a->states += x->state != y->state || (x->flags & VFRONT_MOTION_ONE_GPU) ||
                 (y->state && !(y->flags & VFRONT_MOTION_ONE_GPU));
    if (x->state == VFRONT_MOTION_GOOD && y->state == VFRONT_MOTION_GOOD) {
        a->R = apart(x->R, y->R, 9, a->R);
        a->t = apart(x->t, y->t, 3, a->t);
    }
    a->hypotheses += hypotheses;
    for (int h = 0; h < hypotheses; h++) {
        const struct vf_pose *p = &host->pose[VF_RELATIVE][h], *q = &cuda->pose[VF_RELATIVE][h];
        const int there = host->score[VF_RELATIVE][h] > 0;
        const double most = apart(p->t, q->t, 3, apart(p->R, q->R, 9, 0.0));
        a->apart += there != (cuda->score[VF_RELATIVE][h] > 0) || (there && !(most <= 1e-4));
    }
}

void print_agreement(const struct agreement *a, const char *what)
{
    printf("cuBLAS beside the host form, %s: %ld of %ld hypotheses apart (%.3f %%), %d of %d states; good motions at "
           "most %.1e in R, %.1e in t\n",
           what, a->apart, a->hypotheses, a->hypotheses ? 100.0 * (double)a->apart / (double)a->hypotheses : 0.0,
           a->states, a->steps, a->R, a->t);
}

/** Compares ego with cuBLAS. Data independent of cuBLAS is compared with memcmp: pairs, rotations, the metric
 *  motion. */
static int compare_motions(const struct vf_ego_view *s, const struct vf_ego_memory *host,
                           const struct vf_ego_memory *cuda)
{
    agree(&pictures, host, cuda, vf_ego_hypotheses(s, VF_RELATIVE));
    int bad = memcmp(&host->list, &cuda->list, sizeof host->list) ||
              memcmp(host->count, cuda->count, sizeof host->count);
    for (int n = VF_RELATIVE + 1; n < VF_SEARCHES; n++)
        bad |= memcmp(host->pose[n], cuda->pose[n], sizeof host->pose[n]) ||
               memcmp(host->score[n], cuda->score[n], sizeof host->score[n]) ||
               memcmp(host->refined[n], cuda->refined[n], sizeof host->refined[n]);
    return bad || memcmp(&host->metric, &cuda->metric, sizeof host->metric);
}
#endif

/** Bytes of the arena kept by a step: all before the clocks and the scratch, in which the ports may differ. */
#define KEPT_BYTES offsetof(struct vf_memory, clock)

/** Compares the memory of all stages except `not_these`. */
static int compare_memory(const struct vf_case *k, int frame, const char *stage, unsigned not_these)
{
    char text[160];
    int bad = 0;
#define VF_STAGE(name, needs, what)                                                                                    \
    if (!(not_these >> VF_##name & 1)) {                                                                               \
        const long at = differs(&b.chain->name, &b.back->name, sizeof b.chain->name);                                  \
        if (at >= 0) {                                                                                                 \
            snprintf(text, sizeof text, "after stage %s: memory of " #name " differs at byte %ld", stage, at);         \
            report_failure(k, frame, text);                                                                            \
            bad = 1;                                                                                                   \
        }                                                                                                              \
    }
#include "stages.def"
#undef VF_STAGE
    return bad;
}

/** 1 if the kernels of a stage changed the memory of another stage. */
static int foreign_write(const struct vf_case *k, int frame, int stage)
{
    char text[160];
    int bad = 0;
#define VF_STAGE(name, needs, what)                                                                                    \
    if (stage != VF_##name && differs(&b.before->name, &b.back->name, sizeof b.back->name) >= 0) {                     \
        snprintf(text, sizeof text, "stage %s writes memory of " #name, vfront_stage_name((size_t)stage));             \
        report_failure(k, frame, text);                                                                                \
        bad = 1;                                                                                                       \
    }
#include "stages.def"
#undef VF_STAGE
    return bad;
}

static int compare_results(const vfront_result_t *x, const vfront_result_t *y)
{
    if (vfront_digest(x) != vfront_digest(y) || memcmp(&x->health, &y->health, sizeof x->health)) return 1;
    if (memcmp(x->tracks, y->tracks, x->tracks_count * sizeof *x->tracks)) return 1;
    if (memcmp(x->lost, y->lost, x->lost_count * sizeof *x->lost)) return 1;
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        if (memcmp(x->keypoints[c], y->keypoints[c], x->keypoints_count[c] * sizeof *x->keypoints[c])) return 1;
    return 0;
}

#if VFRONT_CUBLAS
static int whole, in_part, left_out; /* frames compared end to end: completely, without data dependent on cuBLAS, not at
                                        all */

/** Copies a result without the relative motion and the flags of the solver. parted: 1: also without this frame's data
 *  derived from that motion. */
static const vfront_result_t *without_relative(const vfront_result_t *r, int parted, vfront_result_t *copy)
{
    *copy = *r;
    memset(&copy->relative, 0, sizeof copy->relative);
    memset(&copy->good, 0, sizeof copy->good);
    if (!parted) return copy;
    copy->health.imu_late_us = 0;
    memset(&copy->nav, 0, sizeof copy->nav);
    copy->keyframe = copy->keyframes_count = copy->loops_count = copy->loop_pairs_count = copy->loop_pairs_of = 0;
#if VFRONT_MAP
    memset(&copy->map, 0, sizeof copy->map);
#endif
    for (uint32_t i = 0; i < copy->tracks_count; i++) copy->tracks[i].agrees = 0;
    for (uint32_t i = 0; i < copy->matches_count; i++) copy->matches[i].agrees = 0;
    return copy;
}

/** Compares the results of a frame end to end. parted: 1 if relative motions of earlier frames of the case differ in
 *  any bit, because predictions, keyframes and estimates depend on them; set if those of this frame differ. */
static int compare_until_parted(const vfront_result_t *host, const vfront_result_t *cuda, int *parted)
{
    static vfront_result_t copy[2];
    vfront_motion_t relative = cuda->relative;
    relative.flags &= ~(uint32_t)VFRONT_MOTION_ONE_GPU;
    left_out += *parted;
    if (*parted) return 0;
    *parted = memcmp(&host->relative, &relative, sizeof relative) != 0;
    in_part += *parted;
    whole += !*parted;
    return compare_results(without_relative(host, *parted, &copy[0]), without_relative(cuda, *parted, &copy[1]));
}
#endif

/** Compares the supervisor's input besides a result. */
static int compare_vio_reports(const struct vf_vio_report *x, const struct vf_vio_report *y)
{
#if VFRONT_VIO
    return memcmp(&x->summary, &y->summary, sizeof x->summary) || x->observations != y->observations ||
           memcmp(x->observation, y->observation, x->observations * sizeof *x->observation);
#else
    return (void)x, (void)y, 0;
#endif
}

/** Compares the disparities copied to the host by a stage. */
static int compare_disparities(const struct vf_step *s, const struct vf_dense_copy *x, const struct vf_dense_copy *y)
{
    int differ = 0;
#if VFRONT_DENSE
    const struct vf_level *l = &s->geometry.level[0][0];
    for (int32_t row = 0; row < l->height && s->tuning.dense == VFRONT_DENSE_COPIED; row++) {
        const size_t at = (size_t)row * (size_t)l->pitch;
        differ |= memcmp(x->disparity + at, y->disparity + at, sizeof *x->disparity * (size_t)l->width) ||
                  memcmp(x->confidence + at, y->confidence + at, (size_t)l->width);
    }
#endif
    (void)s, (void)x, (void)y;
    return differ;
}

/** Replaces the disparities and confidences of both ports by a street: road, walls at several depths, sky, noise and
 *  holes, so that columns have all kinds of segments. */
static void draw_street(const struct vf_step *s)
{
#if VFRONT_STIXELS
    const struct vf_level *l = &s->geometry.level[0][0];
    const int most = s->tuning.dense_disparities * VF_DENSE_UNITS - 1,
              noise = 1 + (int)random_number(2 * VF_DENSE_UNITS);
    const double given = (double)s->geometry.road_slope, slope = given > 0.0 ? given : 0.2;
    const double horizon = given > 0.0 ? (double)s->geometry.horizon_px : 0.4 * l->height;
    int top[3] = {0}, bottom[3] = {0}, wall[3] = {0};
    for (int32_t x = 0; x < l->width; x++) {
        for (int i = 0; i < 3 && (x == 0 || random_number(20) == 0); i++) {
            top[i] = (int)random_number((uint32_t)l->height);
            bottom[i] = top[i] + (int)random_number((uint32_t)l->height);
            wall[i] = (int)random_number((uint32_t)most / (random_number(2) ? 1u : 8u));
        }
        for (int32_t y = 0; y < l->height; y++) {
            double d = y > horizon ? slope * (y - horizon) * VF_DENSE_UNITS : 0.0;
            for (int i = 0; i < 3; i++)
                if (y >= top[i] && y < bottom[i]) d = wall[i];
            d += (int)random_number((uint32_t)noise) - noise / 2;
            b.chain->dense.disparity[y * l->pitch + x] = random_number(9) == 0 ? VF_DENSE_NONE
                                                                               : (uint16_t)(d < 0.0    ? 0.0
                                                                                            : d > most ? most
                                                                                                       : d);
            b.chain->dense.confidence[y * l->pitch + x] = (uint8_t)(random_number(6) ? 255 : random_number(256));
        }
    }
    CUDA(cudaMemcpy(b.device->dense.confidence, b.chain->dense.confidence, sizeof b.chain->dense.confidence,
                    cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(b.device->dense.disparity, b.chain->dense.disparity, sizeof b.chain->dense.disparity,
                    cudaMemcpyHostToDevice));
#endif
    (void)s;
}

static int partners_found;                   /* stereo partners of tracks found, over all cases */
static int expected_depths, expected_listed; /* depths found without a match, over all cases; those of them that are
                                                listed */

/** Makes both ports expect depths: a predicted motion, a GOOD pair in the previous frame, and ranges of its key points
 *  as if from matches, nearly equal or as measured. */
static void draw_expectations(const struct vf_step *s)
{
#if VFRONT_STEREO
    const int before = s->parity ^ 1;
    const float disparity_px = 1.0f + 0.1f * (float)random_number(200);
    const float range_m = s->geometry.pair.baseline_m * s->geometry.focal_px[1] / disparity_px;
    const uint32_t own = random_number(4) == 0;
    struct vf_predict_memory *predict = &b.chain->predict;
    struct vf_stereo_memory *stereo = &b.chain->stereo;
    vf_predict_stationary(0.0f, &predict->now);
    predict->now.source = VFRONT_PREDICT_MOTION;
    stereo->pair[before].state = VFRONT_STEREO_GOOD;
    for (uint32_t i = 0; i < b.chain->bearing.count[before][0]; i++) {
        stereo->matched[before][i] = 1;
        if (own) continue;
        stereo->range_m[before][i] = range_m * (1.0f + 0.001f * (float)random_number(20));
        stereo->range_sigma_m[before][i] = 0.001f * range_m * (float)random_number(10);
    }
    CUDA(cudaMemcpy(&b.device->predict, predict, sizeof *predict, cudaMemcpyHostToDevice));
    CUDA(cudaMemcpy(&b.device->stereo, stereo, sizeof *stereo, cudaMemcpyHostToDevice));
#endif
    (void)s;
}

/** Gives tracks inverse ranges of the previous frame, nearly equal or random. */
static void draw_ranges(const struct vf_step *s)
{
#if VFRONT_STEREO
    const int any = random_number(4) == 0;
    const float disparity_px = 1.0f + 0.1f * (float)random_number(300);
    const float inverse_1pm = disparity_px / (s->geometry.pair.baseline_m * s->geometry.focal_px[1]);
    struct vf_partner_memory *partner = &b.chain->partner;
    for (uint32_t i = 0; i < VFRONT_TRACKS; i++) {
        struct vf_partner_range *r = &partner->range[s->parity ^ 1][i];
        const uint32_t bits = random_number(0xffffffffu);
        if (any) memcpy(&r->inverse_1pm, &bits, sizeof bits);
        if (!any) r->inverse_1pm = inverse_1pm * (1.0f + 0.01f * (float)random_number(20));
        r->sigma_1pm = 0.01f * inverse_1pm * (float)random_number(10);
    }
    CUDA(cudaMemcpy(&b.device->partner, partner, sizeof *partner, cudaMemcpyHostToDevice));
#endif
    (void)s;
}

/** Counts the stereo partners found. */
static void count_partners(int32_t parity)
{
#if VFRONT_STEREO
    for (uint32_t i = 0; i < b.chain->refill.counts[parity].count; i++)
        partners_found += b.chain->partner.partner[i].disparity_sigma_px > 0.0f;
#endif
    (void)parity;
}

/** Counts the expected depths found. */
static void count_expected(int32_t parity)
{
#if VFRONT_STEREO
    const struct vf_stereo_memory *m = &b.chain->stereo;
    for (uint32_t i = 0; i < b.chain->bearing.count[parity][0]; i++)
        expected_depths += m->cost[i] != VF_NONE && m->candidate[i].match == VFRONT_NO_MATCH;
    for (uint32_t i = 0; i < m->count; i++) expected_listed += m->depth[i].match == VFRONT_NO_MATCH;
#endif
    (void)parity;
}

/** Launches of a stage separate from its main ones: before or after them. */
static cudaError_t launch_apart(enum vf_stage stage, int behind, const struct vf_views *v, cudaStream_t stream)
{
    cudaError_t error = cudaSuccess;
#define APART(name, part)                                                                                              \
    if (stage == VF_##name && !error) error = vf_##name##_##part##_cuda(&v->name, stream);
    if (!behind) {
        VF_APART_BEFORE(APART)
    } else {
        VF_APART_BEHIND(APART)
    }
#undef APART
    return error;
}

#define VF_STAGE(name, needs, what)                                                                                    \
    static void host_##name(const struct vf_views *v) { vf_##name##_host(&v->name); }                                  \
    static cudaError_t cuda_##name(const struct vf_views *v, cudaStream_t stream)                                      \
    {                                                                                                                  \
        cudaError_t error = launch_apart(VF_##name, 0, v, stream);                                                     \
        if (!error) error = vf_##name##_cuda(&v->name, stream);                                                        \
        return error ? error : launch_apart(VF_##name, 1, v, stream);                                                  \
    }
#include "stages.def"
#undef VF_STAGE
host_form *const run_host[VFRONT_STAGES] = {
#define VF_STAGE(name, needs, what) host_##name,
#include "stages.def"
#undef VF_STAGE
};
launcher *const run_cuda[VFRONT_STAGES] = {
#define VF_STAGE(name, needs, what) cuda_##name,
#include "stages.def"
#undef VF_STAGE
};

/** Runs one stage both ways from the same bytes; b.chain has the host's output afterwards. Returns 0 if they agree. */
static int check_stage(const struct vf_case *k, int frame, struct vf_step host, int stage)
{
    struct vf_step cuda = host;
    host.memory = b.chain;
    host.pinned = b.pinned;
    cuda.memory = b.device;
    cuda.pinned = b.pinned_cuda;
    struct vf_views host_view, cuda_view;
    vf_views_make(&host_view, &host);
    vf_views_make(&cuda_view, &cuda);
#if VFRONT_CUBLAS
    cuda_view.ego.systems = context_of(cuda_vf)->view[0].ego.systems;
    cuda_view.ego.cublas = context_of(cuda_vf)->view[0].ego.cublas;
#endif
    if (stage == 0)
        CUDA(cudaMemcpyAsync(b.device, b.chain, KEPT_BYTES, cudaMemcpyHostToDevice, b.stream)); /* else already equal */
    if (!(host.geometry.active >> stage & 1)) return 0;
    frames_of[stage]++;
    if (stage == VF_stixel && k->street) draw_street(&host);
    if (stage == VF_stereo && k->pair && frame > 0) draw_expectations(&host);
    if (stage == VF_partner && frame % 2) draw_ranges(&host);
    memcpy(b.before, b.chain, KEPT_BYTES);
    CUDA(run_cuda[stage](&cuda_view, b.stream));
    CUDA(cudaMemcpyAsync(b.back, b.device, KEPT_BYTES, cudaMemcpyDeviceToHost, b.stream));
    run_host[stage](&host_view);
    CUDA(cudaStreamSynchronize(b.stream));
    if (stage == VF_stereo) count_expected(host.parity);
    if (stage == VF_partner) count_partners(host.parity);
    unsigned not_these = 0;
#if VFRONT_CUBLAS
    if (stage == VF_ego) {
        not_these |= VF_BIT(ego);
        if (compare_motions(&host_view.ego, &b.chain->ego, &b.back->ego))
            report_failure(k, frame, "after stage ego: what is not cuBLAS's differs");
        CUDA(cudaMemcpy(&b.device->ego, &b.chain->ego, sizeof b.chain->ego,
                        cudaMemcpyHostToDevice)); /* for the following stages */
    }
#endif
    int bad = compare_memory(k, frame, vfront_stage_name((size_t)stage), not_these) | foreign_write(k, frame, stage);
    if (stage == VF_dense) {
        const uint32_t slot = b.pinned->params.result;
        const int differ = compare_disparities(&host, &b.pinned->dense[slot], &b.pinned_cuda->dense[slot]);
        if (differ) report_failure(k, frame, "after stage dense: disparities on the host differ");
        bad |= differ;
    }
    if (stage == VF_report) {
        const uint32_t slot = b.pinned->params.result;
        const int differ = compare_results(&b.pinned->result[slot], &b.pinned_cuda->result[slot]) ||
                           compare_vio_reports(&b.pinned->vio, &b.pinned_cuda->vio) ||
                           b.pinned->done != b.pinned_cuda->done;
        if (differ) report_failure(k, frame, "after stage report: result differs");
        bad |= differ;
    }
    return bad;
}

/** Draws IMU samples at 200 Hz, from those of the previous frame to 5 ms after this one; sometimes too few, too large,
 *  or stuck. */
static void pick_imu(const struct vf_case *k, int frame, vfront_frame_t *f)
{
    static vfront_imu_t imu[12];
    const int first = frame ? 10 * frame - 8 : 0, all = 10 * frame + 2 - first, fault = (k->number / 3 + frame) % 8;
    for (int i = 0; i < all; i++) {
        const int n = fault == 5 ? 0 : k->number + first + i;
        imu[i].t_ns = 1000 + (uint64_t)(first + i) * 5000000u;
        for (int axis = 0; axis < 3; axis++) {
            imu[i].gyro_rad_s[axis] = (fault == 6 ? 60.0 : 0.2) * ((n * (7 + axis) % 23) / 11.0 - 1.0);
            imu[i].accel_m_s2[axis] = axis == 2 ? 9.81 + 0.01 * (n % 5) : 0.02 * (n % 7);
        }
    }
    f->imu = imu;
    f->imu_count = (uint32_t)(fault == 7 ? all / 2 : all);
}

static void pick_frame(const struct vf_case *k, int frame, vfront_frame_t *f)
{
    static double R[9];
    memset(f, 0, sizeof *f);
    f->t_ns = 1000 + (uint64_t)frame * 50000000u;
    f->exposure_ns = 2000000;
    for (int c = 0; c < k->cameras; c++) {
        vfront_picture_t *p = &f->picture[c];
        p->data = b.picture[c] + k->skew;
        p->width_px = width_of(k, c);
        p->height_px = height_of(k, c);
        p->pitch_bytes = (uint32_t)k->pitch;
        p->format = k->format;
        p->memory = VFRONT_PINNED_MEMORY;
        if (!k->frame_mask) continue;
        p->mask = b.mask;
        p->mask_width_px = width_of(k, c);
        p->mask_height_px = height_of(k, c);
        p->mask_pitch_bytes = (uint32_t)k->width;
    }
    if (k->imu) pick_imu(k, frame, f);
    if (k->rotation == 1) {
        const double a = 0.004, near_one = 1.0 - a * a / 2;
        const double turn[9] = {near_one, 0, a, 0, 1, 0, -a, 0, near_one};
        memcpy(R, turn, sizeof R);
        f->R_cur_prev = R;
    }
}

int street_px(int width, int height, int x, int y)
{
    const int wall = x * 8 / width, wall_px = 4 + 3 * (wall * 5 % 8), foot = height / 2 + wall_px * 100 / 11,
              road_px = (y - height / 2) * 11 / 100;
    if (y >= foot) return road_px;
    return y >= height / 2 - height / 32 * (1 + wall * 3 % 8) ? wall_px : 0;
}

/** Converts an image of camera 0 of the street to camera 1. Runs from left to right, so that it works in place. */
static void move_to_second(uint8_t *grey, int width, int height)
{
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            const int from = x + street_px(width, height, x, y);
            grey[y * width + x] = grey[y * width + (from < width ? from : width - 1)];
        }
}

static uint8_t last_grey[VFRONT_CAMERAS][VFRONT_PICTURE_BYTES]; /* images of the previous frame */

/** Replaces rows of this frame by those of the previous one: a frozen image, or a partly frozen one. */
static void repeat_rows(const struct vf_case *k, int camera, uint8_t *grey, int width, int height)
{
    const int first = vf_min(k->still[0], height), end = vf_min(k->still[1], height);
    if (end > first) memcpy(grey + first * width, last_grey[camera] + first * width, (size_t)((end - first) * width));
}

static void draw_frame(const struct vf_case *k, int frame)
{
    static uint8_t grey[VFRONT_PICTURE_BYTES];
    const int bytes = vf_format_bytes((uint32_t)k->format);
    for (int c = 0; c < k->cameras; c++) {
        const int width = width_of(k, c), height = height_of(k, c);
        const int seen = frame + (k->pair ? 0 : 2 * c);
        if (k->fill == FILL_REAL)
            real_picture(grey, width, height, seen);
        else
            draw(k->fill, grey, width, height, width, seen);
        if (k->pair && c) move_to_second(grey, width, height);
        if (frame % 2) repeat_rows(k, c, grey, width, height);
        memcpy(last_grey[c], grey, sizeof grey);
        for (int y = 0; y < height; y++) {
            uint8_t *row = b.picture[c] + k->skew + (size_t)y * (size_t)k->pitch;
            if (bytes == 1) {
                memcpy(row, grey + y * width, (size_t)width);
                continue;
            }
            for (int x = 0; x < width; x++) {
                const uint32_t g = grey[y * width + x];
                const int shift = vf_format_bits((uint32_t)k->format) - 8;
                const uint16_t wide = k->format == VFRONT_YUYV ? (uint16_t)(g | random_number(256) << 8)
                                                               : (uint16_t)(g << shift | random_number(1u << shift));
                memcpy(row + 2 * x, &wide, 2);
            }
        }
    }
    if (k->frame_mask)
        for (int i = 0; i < k->width * k->height; i++)
            b.mask[i] = (uint8_t)((i / k->width / 20 + i % k->width / 30 + frame) % 5 != 0);
}

/** Number between two bounds, in 10000 steps. */
static double random_between(double least, double most)
{
    return least + (most - least) * random_number(10001) / 10000.0;
}

/** Coefficients of a lens through a sphere. Returns its focal length over that at the optical axis. */
static double random_sphere(vfront_camera_t *c)
{
    double *k = c->distortion;
    if (c->lens == VFRONT_LENS_EUCM) {
        k[0] = random_between(0.3, 0.7);
        k[1] = random_between(0.8, 1.3);
        return 1.0;
    }
    k[0] = c->lens == VFRONT_LENS_DS ? random_between(-0.35, 0.2) : random_between(0.5, 1.5);
    k[1] = c->lens == VFRONT_LENS_DS ? random_between(0.4, 0.65) : random_between(-0.2, 0.1);
    for (int i = 3; i < 5 && c->lens == VFRONT_LENS_OMNI; i++) k[i] = random_between(-1e-3, 1e-3);
    return 1.0 + k[0];
}

/** Gives a camera a lens of any model but the rational one, which has Brown's code. Returns about half its vertical
 *  field of view [rad]. */
static double random_lens(vfront_camera_t *c)
{
    static const vfront_lens_t lens[] = {VFRONT_LENS_RADTAN, VFRONT_LENS_RADTAN, VFRONT_LENS_EQUIDISTANT,
                                         VFRONT_LENS_DS,     VFRONT_LENS_EUCM,   VFRONT_LENS_OMNI};
    const double size = sqrt((double)c->width_px * c->height_px),
                 long_side = 0.25 * c->width_px; /* also for flat images the field of view exceeds a degree */
    c->fx_px = random_between(0.45, 0.9) * (size > long_side ? size : long_side);
    c->fy_px = c->fx_px * random_between(0.97, 1.03);
    c->cx_px = c->width_px * random_between(0.45, 0.55);
    c->cy_px = c->height_px * random_between(0.45, 0.55);
    c->lens = lens[random_number(sizeof lens / sizeof *lens)];
    if (c->lens > VFRONT_LENS_EQUIDISTANT) {
        const double axis_px = c->fy_px, over = random_sphere(c);
        c->fx_px *= over;
        c->fy_px *= over;
        return c->height_px / axis_px;
    }
    c->distortion[0] = c->lens == VFRONT_LENS_RADTAN ? random_between(-0.3, 0.1) : random_between(-0.02, 0.02);
    c->distortion[1] = random_between(-0.01, c->lens == VFRONT_LENS_RADTAN ? 0.08 : 0.01);
    for (int i = 2; i < 4; i++) c->distortion[i] = random_between(-1e-3, 1e-3);
    return c->height_px / c->fy_px;
}

/** Calibrates two cameras and places the second to the right of the first, rotated by a fraction of the field of
 *  view. */
static void place_cameras(vfront_rig_t *rig)
{
    const double high = random_lens(&rig->camera[0]), high1 = random_lens(&rig->camera[1]),
                 most = 0.1 * (high < high1 ? high : high1);
    const double turn = most < 0.1 ? most : 0.1, y = random_between(-turn, turn), x = random_between(-turn, turn);
    const double cy = sqrt(1 - y * y), cx = sqrt(1 - x * x);
    const double R[9] = {cy, 0, y, y * x, cx, -cy * x, -y * cx, x, cy * cx}; /* about y, then x: their sines */
    memcpy(rig->camera[1].R_cam_imu, R, sizeof R);
    for (int i = 0; i < 3; i++)
        rig->camera[1].t_cam_imu_m[i] = i ? random_between(-0.01, 0.01) : -random_between(0.05, 0.3);
}

static vfront_rig_t rig_of(const struct vf_case *k, const uint8_t *mask)
{
    vfront_rig_t rig = {.cameras = k->cameras};
    for (int c = 0; c < k->cameras; c++) {
        rig.camera[c].width_px = width_of(k, c);
        rig.camera[c].height_px = height_of(k, c);
        rig.camera[c].fx_px = rig.camera[c].fy_px = width_of(k, c);
        rig.camera[c].cx_px = width_of(k, c) / 2;
        rig.camera[c].cy_px = height_of(k, c) / 2;
        rig.camera[c].mask = mask;
        rig.camera[c].mask_pitch_bytes = (uint32_t)k->width;
        rig.camera[c].row_us = k->number % 3 == 2 ? 8.0 * (k->number % 5 - 2) + c : 0.0; /* rolling shutter */
    }
    if (k->imu && k->number % 2) rig.imu = (vfront_imu_noise_t){2e-4, 2e-3, 2e-5, 3e-3, 8.0, 150.0, 200.0, 9.81};
    if (k->aligned) rig.camera[1].t_cam_imu_m[0] = -0.1;
    if (k->placed) place_cameras(&rig);
    if (k->road) { /* from far below the image to far above it */
        rig.road_height_m = 0.02 + 0.1 * k->height / (20.0 + k->number % 200);
        rig.road_pitch_rad = (k->number % 7 - 3) * 0.28;
    }
    return rig;
}

/** Runs a case stage by stage on the same bytes. At the same time both ports run end to end, each on its own state. */
static void run_case(const struct vf_case *k)
{
    static uint8_t still_mask[VFRONT_PICTURE_BYTES];
    for (int i = 0; i < k->width * k->height; i++)
        still_mask[i] = (uint8_t)(i % k->width < k->width - 30 || i / k->width > 25);
    const vfront_rig_t rig = rig_of(k, k->static_mask ? still_mask : NULL);
    vfront_status_t status = vfront_init(host_vf, &rig, &k->tuning, VFRONT_PORT_HOST);
    if (!status) status = vfront_init(cuda_vf, &rig, &k->tuning, VFRONT_PORT_CUDA);
    if (status) {
        report_failure(k, -1, vfront_status_name(status));
        printf("     %s / %s\n", vfront_detail(host_vf), vfront_detail(cuda_vf));
        vfront_shutdown(host_vf);
        return;
    }
    const vfront_result_t *host = NULL, *cuda = NULL;
    int bad = 0;
#if VFRONT_CUBLAS
    int parted = 0;
#endif
    for (int frame = 0; frame < options.frames && !bad; frame++) {
        vfront_frame_t f;
        draw_frame(k, frame);
        pick_frame(k, frame, &f);
        if (frame == 2 && k->reset) vfront_reset(host_vf), vfront_reset(cuda_vf);
        const struct vf_step step = context_of(host_vf)->step[context_of(host_vf)->parity];
        memcpy(b.chain, context_of(host_vf)->memory, KEPT_BYTES);
        status = vfront_step(host_vf, &f, &host);
        if (!status) status = vfront_step(cuda_vf, &f, &cuda);
        if (status) {
            report_failure(k, frame, vfront_status_name(status));
            break;
        }
        b.pinned->params = b.pinned_cuda->params = context_of(host_vf)->pinned->params;
        for (int c = 0; c < k->cameras && k->frame_mask; c++)
            memcpy(b.pinned->mask[c], context_of(host_vf)->pinned->mask[c], sizeof b.pinned->mask[c]);
        for (int c = 0; c < k->cameras && k->frame_mask; c++)
            b.pinned->params.source[c].mask = b.pinned_cuda->params.source[c].mask = b.pinned->mask[c];
        for (int stage = 0; stage < VFRONT_STAGES && !bad; stage++) bad = check_stage(k, frame, step, stage);
#if VFRONT_CUBLAS
        const int differ = compare_until_parted(host, cuda, &parted);
#else
        const int differ = compare_results(host, cuda);
#endif
        if (!bad && differ) {
            report_failure(k, frame, "end to end: results of the two ports differ");
            bad = 1;
        }
    }
    vfront_shutdown(host_vf);
    vfront_shutdown(cuda_vf);
    cases++;
}

/* ---- cases ------------------------------------------------------------------------------------------------------- */

/** Random tuning values, each from its whole range or near its standard value. */
static void random_tuning(vfront_tuning_t *t, const struct vf_case *k)
{
    const vfront_tuning_entry_t *e;
    for (size_t i = 0; (e = vfront_tuning_entry(i)); i++) {
        const int64_t span = (int64_t)e->most - e->least + 1;
        const int32_t value = e->least + (int32_t)random_number((uint32_t)(span > 64 ? 64 : span));
        if (random_number(3)) vfront_tuning_set(t, e->name, value);
    }
    if (t->detect_threshold_low >= t->detect_threshold) t->detect_threshold_low = 0;
    if (random_number(2)) t->detect_border_px = 3 + (int32_t)random_number(20);
    while (((k->width + t->cell_width_px - 1) / t->cell_width_px) *
               ((k->height + t->cell_height_px - 1) / t->cell_height_px) >
           VFRONT_CELLS) {
        t->cell_width_px++;
        t->cell_height_px++;
    }
    while (((k->width + t->cull_width_px - 1) / t->cull_width_px) *
               ((k->height + t->cull_height_px - 1) / t->cull_height_px) >
           VFRONT_CULL_CELLS) {
        t->cull_width_px++;
        t->cull_height_px++;
    }
    if (t->ego_points == 6) t->ego_points = 5;
    if (t->select_aggregate_px > 4 * vf_min(t->cull_width_px, t->cull_height_px)) t->select_aggregate_px = 3;
    if (t->track_distance_px > 4 * t->cell_width_px) t->track_distance_px = 4 * t->cell_width_px;
    if (t->track_distance_px > 4 * t->cell_height_px) t->track_distance_px = 4 * t->cell_height_px;
    t->dense_disparities = 64;
    while (2 * t->dense_disparities <= VFRONT_DISPARITIES && random_number(3)) t->dense_disparities *= 2;
    if (t->dense_p2 < t->dense_p1) t->dense_p2 = t->dense_p1;
    if (random_number(2)) t->dense_least_px = (int32_t)random_number(8);
    if (random_number(2)) t->track_residual_grey = 5 + (int32_t)random_number(60);
    if (random_number(2)) t->track_residual_percent = (int32_t)random_number(200);
    if (random_number(2)) t->track_back_mpx = (int32_t)random_number(2) * 3000;
    if (random_number(2)) t->track_target = VFRONT_TRACKS;
    if (random_number(2)) t->detect_levels = VFRONT_SCALES;
    if (random_number(2)) t->select_points = 1 + (int32_t)random_number(VFRONT_KEYPOINTS);
    if (random_number(2)) t->select_aggregate_px = (int32_t)random_number(8);
}

/** Sets values that no case may change: the first device, which every machine has, and the timeouts needed by emulated
 *  kernels and compute-sanitizer. */
static void be_patient(vfront_tuning_t *t)
{
    t->device = t->priority = 0;
    t->abandon_us = 600000000;
    t->abandon_init_ms = 3600000;
    t->failover_overruns = 0;
}

/** Makes both cameras see a street whose texture tracks and key points find: stereo partners, depths. */
static void see_twice(struct vf_case *k)
{
    k->fill = FILL_LIGHT;
    k->width = k->second_width = vf_min(129, VFRONT_WIDTH);
    k->height = k->second_height = vf_min(97, VFRONT_HEIGHT);
    k->pitch = k->width;
    k->format = VFRONT_GREY8;
    k->cameras = vf_min(2, VFRONT_CAMERAS);
    k->aligned = k->pair = k->cameras > 1;
    k->skew = k->static_mask = k->frame_mask = k->placed = 0;
    k->still[0] = k->still[1] = 0;
    vfront_tuning_default(&k->tuning);
    be_patient(&k->tuning);
    k->tuning.cell_width_px = k->tuning.cell_height_px = 16;
    k->tuning.dense = VFRONT_DENSE && k->aligned;
    k->tuning.dense_disparities = 64;
}

static struct vf_case make_case(int number, int sizes_per_fill)
{
    static const int size[][2] = {{752, 480}, {641, 479}, {1241, 376}, {320, 240}, {129, 97},
                                  {64, 64},   {33, 500},  {17, 31},    {16, 16}};
    struct vf_case k = {.number = number};
    random_start(options.seed, (uint64_t)number);
    k.fill = (enum fill)(number / sizes_per_fill % FILLS);
    const int s = options.tiny    ? 4 + number % 5
                  : options.small ? 3 + number % 6
                                  : number % (int)(sizeof size / sizeof *size);
    k.width = size[s][0];
    k.height = size[s][1];
    if (k.width > VFRONT_WIDTH) k.width = VFRONT_WIDTH;
    if (k.height > VFRONT_HEIGHT) k.height = VFRONT_HEIGHT;
    k.cameras = 1 + (int)random_number(VFRONT_CAMERAS);
    k.second_width = random_number(3) ? k.width : 16 + (int)random_number((uint32_t)k.width - 15);
    k.second_height = random_number(3) ? k.height : 16 + (int)random_number((uint32_t)k.height - 15);
    k.format = (vfront_format_t)(random_number(2) ? 0 : random_number(6));
    const int bytes = vf_format_bytes((uint32_t)k.format);
    k.pitch = bytes * k.width + bytes * (int)(random_number(2) ? random_number(40) : 0);
    if (random_number(2)) k.pitch = (k.pitch + 63) / 64 * 64;
    k.skew = random_number(2) ? 0 : bytes * (int)random_number(16);
    k.static_mask = random_number(3) == 0;
    k.frame_mask = random_number(3) == 0;
    k.rotation = (int)random_number(2);
    k.imu = VFRONT_IMU_SAMPLES >= 16 && number % 3 == 0;
    k.reset = random_number(4) == 0;
    vfront_tuning_default(&k.tuning);
    if (number % 3) random_tuning(&k.tuning, &k);
    k.tuning.vio = VFRONT_VIO && k.imu && number % 2;
    k.tuning.map = VFRONT_MAP && number % 3 == 0 && number / 3 % 4 < 2;
    be_patient(&k.tuning);
    k.placed = k.cameras > 1 && random_number(3) == 0;
    k.tuning.rectify = VFRONT_RECTIFY && k.placed && random_number(2);
    k.aligned = k.cameras > 1 && !k.placed && k.second_width == k.width && k.second_height == k.height;
    k.tuning.dense = VFRONT_DENSE && (k.aligned || k.tuning.rectify) && random_number(4);
    k.tuning.stixel = VFRONT_STIXELS && k.tuning.dense && random_number(4);
    k.tuning.stixel_width_px = random_number(2) ? 5 : 1 + (int32_t)random_number(16);
    while (k.width / k.tuning.stixel_width_px > VFRONT_COLUMNS) k.tuning.stixel_width_px++;
    if (k.tuning.stixel) k.tuning.dense_least_px = 0;
    k.road = (int)random_number(2);
    k.street = random_number(4) > 0;
    k.still[0] = random_number(2) ? 0 : (int)random_number((uint32_t)k.height);
    k.still[1] = random_number(3) ? 0 : random_number(2) ? k.height : k.still[0] + 6 + (int)random_number(4);
    k.pair = k.aligned && random_number(2);
    /* a smaller one can leave the middle of a small image invisible */
    k.tuning.rectify_focal_percent = 50 + (int32_t)random_number(100);
    if (number % 9 == 5) see_twice(&k);
    return k;
}

/** Makes cases of real camera sizes with all stages on: drawn textures with changing brightness and, if available, real
 *  images. */
static struct vf_case make_real_case(int number)
{
    static const int size[][2] = {{752, 480}, {1226, 370}, {1280, 720}};
    struct vf_case k = {.number = number};
    random_start(options.seed, (uint64_t)number);
    k.fill = number / 3 % 2 ? FILL_LIGHT : FILL_REAL;
    k.width = k.second_width = vf_min(size[number % 3][0], VFRONT_WIDTH);
    k.height = k.second_height = vf_min(size[number % 3][1], VFRONT_HEIGHT);
    k.pitch = k.width;
    k.cameras = vf_min(2, VFRONT_CAMERAS);
    k.aligned = k.pair = k.cameras > 1;
    vfront_tuning_default(&k.tuning);
    be_patient(&k.tuning);
    k.tuning.dense = VFRONT_DENSE && k.aligned;
    k.tuning.dense_disparities = vf_min(128, VFRONT_DISPARITIES);
    k.tuning.stixel = VFRONT_STIXELS && k.tuning.dense;
    k.road = number % 2;
    k.rotation = number / 6 % 2;
    return k;
}

static void usage(void)
{
    puts(
        "vfcheck [--seed N] [--case N] [--cases N] [--frames N] [--pictures DIR] [--tiny | --small | --real] "
        "[--flights N] [--steps N]\n"
        "        [--bench [--brief]] [--path] [--inertial] [--motion] [--vio] [--dense] [--latency STEPS] "
        "[--pace STEPS] [--neighbour] [--verbose]\n"
        "Every stage's host form against its kernel, byte by byte, on random, adversarial and real pictures, and both "
        "ports end to\n"
        "end; the stage window on drawn flights: --flights, of --steps steps each; 14 of 60, with --case none. --tiny, "
        "--small: no\n"
        "pictures over 129x97, over 320x240. --real: cases of 752x480, 1226x370 and 1280x720 px with everything "
        "switched on.\n"
        "--pictures: PGM files of one size, taken in the order of their names. --bench: times, if all agree; with "
        "--brief\n"
        "those of the kernels and of a few steps. --inertial, --motion, --vio, --dense: those of stereo-inertial "
        "steps, of\n"
        "motions, of window, of disparities and stixels alone. --path: the graphs of steps, and the longest way "
        "through "
        "each.\n"
        "--latency: so many steps of each kind of picture. --pace: so many steps of each kind at 30 Hz, by both ways "
        "to\n"
        "wait. --neighbour: steps beside kernels that keep the whole device at work. Exit: 0 all agree, 1 not, 2 "
        "usage, 77 no "
        "device.");
}

static int parse(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const int more = i + 1 < argc;
        if (!strcmp(argv[i], "--bench"))
            options.bench = 1;
        else if (!strcmp(argv[i], "--brief"))
            options.brief = 1;
        else if (!strcmp(argv[i], "--path"))
            options.path = 1;
        else if (!strcmp(argv[i], "--inertial"))
            options.inertial = 1;
        else if (!strcmp(argv[i], "--motion"))
            options.motion = 1;
        else if (!strcmp(argv[i], "--vio"))
            options.vio = 1;
        else if (!strcmp(argv[i], "--dense"))
            options.dense = 1;
        else if (!strcmp(argv[i], "--neighbour"))
            options.neighbour = 1;
        else if (!strcmp(argv[i], "--small"))
            options.small = 1;
        else if (!strcmp(argv[i], "--tiny"))
            options.tiny = 1;
        else if (!strcmp(argv[i], "--real"))
            options.real = 1;
        else if (!strcmp(argv[i], "--verbose"))
            options.verbose = 1;
        else if (!strcmp(argv[i], "--seed") && more)
            options.seed = strtoull(argv[++i], NULL, 0);
        else if (!strcmp(argv[i], "--case") && more)
            options.only = atoi(argv[++i]) + 1;
        else if (!strcmp(argv[i], "--cases") && more)
            options.cases = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--frames") && more)
            options.frames = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--flights") && more)
            options.flights = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--steps") && more)
            options.steps = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--latency") && more)
            options.latency = atol(argv[++i]);
        else if (!strcmp(argv[i], "--pace") && more)
            options.pace = atol(argv[++i]);
        else if (!strcmp(argv[i], "--pictures") && more)
            options.pictures = argv[++i];
        else
            return 0;
    }
    return 1;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0); /* findings are shown even if a run is interrupted */
    options.cases = 270;
    options.flights = -1;
    options.steps = 60;
    if (!parse(argc, argv)) {
        usage();
        return 2;
    }
    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess || !devices) {
        printf("parity: NOT RUN (no CUDA device: %s)\n", cudaGetErrorString(error));
        return 77;
    }
    struct cudaDeviceProp properties;
    CUDA(cudaGetDeviceProperties(&properties, 0));
    printf("device %s, compute capability %d.%d, %d multiprocessors, seed %llu\n", properties.name, properties.major,
           properties.minor, properties.multiProcessorCount, (unsigned long long)options.seed);
    open_buffers();
    load_pictures(options.pictures);
    for (int i = 0; i < options.cases; i++) {
        if (options.only && i != options.only - 1) continue;
        struct vf_case k = options.real ? make_real_case(i) : make_case(i, options.cases < 90 ? 1 : 9);
        if (k.fill == FILL_REAL && !real_picture(NULL, 0, 0, 0)) k.fill = FILL_LIGHT;
        if (options.verbose) printf("case %d %dx%d %s\n", i, k.width, k.height, fill_name[k.fill]);
        run_case(&k);
    }
    failures += check_flights(options.flights >= 0 ? options.flights : options.only ? 0 : 16, options.steps);
    failures += check_map_stages(options.flights >= 0 ? 2 * options.flights : options.only ? 0 : 16, options.steps);
    printf("parity: %d cases of %d frames, %d stages each and end to end, %d failures\n", cases, options.frames,
           VFRONT_STAGES, failures);
    if (!cases) return 2;
    printf("frames of each stage:");
    for (int i = 0; i < VFRONT_STAGES; i++) printf(" %s %d", vfront_stage_name((size_t)i), frames_of[i]);
    printf("; %d depths expected, %d listed; %d partners\n", expected_depths, expected_listed, partners_found);
#if VFRONT_CUBLAS
    printf("end to end: %d frames whole, %d less what cuBLAS has a part in, %d behind those not compared\n", whole,
           in_part, left_out);
    print_agreement(&pictures, "pictures");
    if (pictures.steps >= 50 && (pictures.apart * 50 > pictures.hypotheses || pictures.states * 50 > pictures.steps)) {
        printf("FAIL bounds: 2 %% of the hypotheses, 2 %% of the states\n");
        failures++;
    }
    failures += check_motions();
#endif
    if (failures) return 1; /* no times of wrong code */
    if (options.bench || options.vio) run_flights();
    if (options.path) run_path();
    if (options.inertial) run_inertial();
    if (options.motion) run_motion();
    if (options.dense) run_dense();
    if (options.bench) run_bench();
    if (options.latency) run_latency();
    if (options.pace) run_pace();
    return options.neighbour ? run_neighbour() : 0;
}
