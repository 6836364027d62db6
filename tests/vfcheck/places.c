/* SPDX-License-Identifier: MIT */
/* vfcheck: the stages of the map on drawn flights, host form and kernels step by step, each on an arena of its own:
 * every byte of what they keep is compared. Laps with one camera, with two, with a state of the IMU, and descriptors
 * without any sense: from an empty ring on for half of the steps; then, behind frames that the host form does alone,
 * with a full ring of several paths. */
#include "vfcheck.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/memory.h"

#if VFRONT_MAP

#include "tests/fixture/dice.h"
#include "tests/map/map_flight.h"

#define AHEAD 230 /* frames that the host form does alone: a keyframe every third one */
#define CUT 70    /* of these, each so many begin a path */

static const char *const kind_name[] = {"one camera", "two cameras", "state of the IMU", "descriptors at random"};
static struct vf_memory *host, *device, *copied;
static struct vf_step own, other;
static struct vf_views own_view[2], other_view[2];
static cudaStream_t stream;

static void open_places(void)
{
    host = zeroed(sizeof *host);
    copied = zeroed(sizeof *copied);
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaMalloc((void **)&device, sizeof *device));
}

static void close_places(void)
{
    free(host);
    free(copied);
    CUDA(cudaStreamDestroy(stream));
    CUDA(cudaFree(device));
}

/** What the stages before have written. */
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
    UP(window)
#undef UP
}

/** Stage that differs; NULL: none. */
static const char *difference(void)
{
#define DOWN(stage)                                                                                                    \
    CUDA(cudaMemcpy(&copied->stage, &device->stage, sizeof copied->stage, cudaMemcpyDeviceToHost));                    \
    if (memcmp(&copied->stage, &host->stage, sizeof host->stage)) return #stage;
    DOWN(place)
    DOWN(overlap)
    DOWN(keyframe)
    DOWN(loop)
    DOWN(map)
#undef DOWN
    return NULL;
}

/** A step of the host form. Returns the views of the step. */
static const struct vf_views *step_host(struct map_flight *f)
{
    map_frame(f, &own);
    const struct vf_views *a = &own_view[own.parity];
    vf_place_host(&a->place);
    vf_overlap_host(&a->overlap);
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
    CUDA(vf_map_early_cuda(&b->map, stream)); /* before the keyframe of the frame before is in the ring */
    CUDA(vf_place_cuda(&b->place, stream));
    CUDA(vf_overlap_cuda(&b->overlap, stream));
    CUDA(vf_keyframe_early_cuda(&b->keyframe, stream));
    CUDA(vf_keyframe_cuda(&b->keyframe, stream));
    CUDA(vf_loop_cuda(&b->loop, stream));
    CUDA(vf_map_cuda(&b->map, stream));
    CUDA(cudaStreamSynchronize(stream));
    return difference();
}

/** Frames of the host form alone, until the ring is full; then the device has the same memory. */
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

/** What flights have come to. */
struct tally {
    int accepted, keyframes, full; /* full: keyframes for which another one makes room */
};

/** A flight. Returns 1 if a step of it differs. */
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
        vf_views_look(&own_view[parity], &own);
        vf_views_look(&other_view[parity], &other);
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

int check_places(int count, int steps)
{
    int failures = 0;
    struct tally all = {0, 0, 0};
    open_places();
    for (int i = 0; i < count; i++) {
        shake(options.seed + (uint64_t)i);
        failures += fly((enum map_kind)(i % MAP_KINDS), steps, &all);
    }
    close_places();
    const int is_filled = VFRONT_KEYFRAMES <= 64 && count && steps > 12; /* longer rings are not full so soon */
    if (!failures && is_filled && !all.full) failures++, printf("map: no keyframe made room\n");
    printf("map: %d flights of %d steps, %d keyframes, %d of them in a full ring, %d loops accepted, %d failures\n",
           count, steps, all.keyframes, all.full, all.accepted, failures);
    return failures;
}

#else

int check_places(int count, int steps)
{
    (void)count, (void)steps;
    return 0;
}

#endif
