/* SPDX-License-Identifier: MIT */
/* vfcheck: the stages of the map on simulated flights, host form and kernels step by step, each on its own arena: every
 * byte of their memory is compared. Laps with one camera, with two, with the estimator, and with random descriptors.
 * Half of the steps start from an empty ring; then, after frames of the host form alone, with a full ring of several
 * motion chains. */
#include "vfcheck.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"

#if VFRONT_MAP

#include "tests/fixture/dice.h"
#include "tests/map/map_flight.h"

#define AHEAD 230 /* number of frames of the host form alone: every third one is a keyframe */
#define CUT 70    /* number of these after which a new motion chain starts */

static const char *const kind_name[] = {"one camera", "two cameras", "state of the IMU", "descriptors at random"};
static struct vf_memory *host, *device, *copied;
static struct vf_step own, other;
static struct vf_views own_view[2], other_view[2];
static cudaStream_t stream;

static void open_arenas(void)
{
    host = zeroed(sizeof *host);
    copied = zeroed(sizeof *copied);
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&device, sizeof *device));
}

static void close_arenas(void)
{
    free(host);
    free(copied);
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(device));
}

/** Uploads the memory of the earlier stages. */
static void upload(void)
{
#define UP(member) CUDA(cudaMemcpy(&device->member, &host->member, sizeof host->member, cudaMemcpyHostToDevice));
    UP(ingest.params)
    UP(freeze)
    UP(select.key)
    UP(select.count)
    UP(bearing.point)
    UP(bearing.count)
    UP(describe)
#if VFRONT_STEREO
    UP(stereo.range_m)
    UP(stereo.range_sigma_m)
#endif
    UP(refill.feature)
    UP(refill.counts)
    UP(ego.relative)
    UP(ego.metric)
    UP(vio)
#undef UP
}

/** Name of a stage that differs; NULL: none. */
static const char *difference(void)
{
#define DOWN(stage)                                                                                                    \
    CUDA(cudaMemcpy(&copied->stage, &device->stage, sizeof copied->stage, cudaMemcpyDeviceToHost));                    \
    if (memcmp(&copied->stage, &host->stage, sizeof host->stage)) return #stage;
    DOWN(recall)
    DOWN(relpose)
    DOWN(keyframe)
    DOWN(loop)
    DOWN(map)
#undef DOWN
    return NULL;
}

/** Steps the host form. Returns the views of the step. */
static const struct vf_views *step_host(struct map_flight *f)
{
    map_frame(f, &own);
    const struct vf_views *a = &own_view[own.parity];
    vf_recall_host(&a->recall);
    vf_relpose_host(&a->relpose);
    vf_keyframe_host(&a->keyframe);
    vf_loop_host(&a->loop);
    vf_map_host(&a->map);
    map_next(f);
    return a;
}

static const char *step_both(struct map_flight *f)
{
    const struct vf_views *b = &other_view[step_host(f) - own_view];
    upload();
    CUDA(vf_map_early_cuda(&b->map, stream)); /* before the previous frame's keyframe enters the ring */
    CUDA(vf_recall_cuda(&b->recall, stream));
    CUDA(vf_relpose_cuda(&b->relpose, stream));
    CUDA(vf_keyframe_early_cuda(&b->keyframe, stream));
    CUDA(vf_keyframe_cuda(&b->keyframe, stream));
    CUDA(vf_loop_cuda(&b->loop, stream));
    CUDA(vf_map_cuda(&b->map, stream));
    CUDA(cudaStreamSynchronize(stream));
    return difference();
}

/** Runs frames of the host form alone until the ring is full; then copies its memory to the device. */
static void go_ahead(struct map_flight *f)
{
    f->lap = 40;
    for (int i = 0; i < AHEAD; i++) {
        f->cut = i % CUT == 0;
        step_host(f);
    }
    f->cut = 0;
    CUDA(cudaMemcpy(device, host, sizeof *host, cudaMemcpyHostToDevice));
}

/** Statistics of the flights. */
struct tally {
    int accepted, keyframes, full; /* full: keyframes that replace another one */
};

/** Runs a flight. Returns 1 if a step differs. */
static int fly(enum map_kind kind, int steps, struct tally *all)
{
    static struct map_flight flight;
    memset(host, 0, sizeof *host);
    CUDA(cudaMemset(device, 0, sizeof *device));
    map_begin(&flight, kind);
    flight.lap = (uint32_t)(steps * 2 / 5 > 12 ? steps * 2 / 5 : 12);
    for (int parity = 0; parity < 2; parity++) {
        map_geometry(&own, kind, host);
        other = own;
        other.memory = device;
        own.parity = other.parity = parity;
        vf_views_make(&own_view[parity], &own);
        vf_views_make(&other_view[parity], &other);
    }
    for (int i = 0; i < steps; i++) {
        if (i == steps / 2) go_ahead(&flight);
        const char *name = step_both(&flight);
        if (name) {
            printf("%s, step %d: %s differs\n", kind_name[kind], i, name);
            return 1;
        }
        const struct vf_keyframe_now *now = &host->keyframe.now[own.parity];
        for (uint32_t k = 0; k < host->loop.count; k++)
            all->accepted += host->loop.loop[k].state == VFRONT_LOOP_ACCEPTED;
        all->keyframes += (int)now->due;
        all->full += now->due && now->count == VFRONT_KEYFRAMES;
    }
    return 0;
}

int check_map_stages(int count, int steps)
{
    int failures = 0;
    struct tally all = {0, 0, 0};
    open_arenas();
    for (int i = 0; i < count; i++) {
        shake(options.seed + (uint64_t)i);
        failures += fly((enum map_kind)(i % MAP_KINDS), steps, &all);
    }
    close_arenas();
    const int is_filled = VFRONT_KEYFRAMES <= 64 && count && steps > 12; /* longer rings take too long to fill */
    if (!failures && is_filled && !all.full) failures++, printf("map: no keyframe made room\n");
    printf("map: %d flights of %d steps, %d keyframes, %d of them in a full ring, %d loops accepted, %d failures\n",
           count, steps, all.keyframes, all.full, all.accepted, failures);
    return failures;
}

#else

int check_map_stages(int count, int steps)
{
    (void)count, (void)steps;
    return 0;
}

#endif
