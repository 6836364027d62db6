/* SPDX-License-Identifier: MIT */
/* Times of vfcheck. A kernel's time is the growth of a graph per additional node, which excludes launch and
 * measurement; the floor beside it is the same for an empty kernel. A step's time is wall time from submit to result,
 * beside an empty graph. */
#define _POSIX_C_SOURCE 200809L
#include "vfbench.h"

#include <cuda.h>
#include <dlfcn.h>
#include <math.h> /* sqrt */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "port/cuda/cuda.h"

#define PICTURES 8
#define CAMERA_NS 33333333 /* interval between frames at a camera's pace */

/* ---- measuring --------------------------------------------------------------------------------------------------- */

double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

int by_value(const void *a, const void *c)
{
    const float x = *(const float *)a, y = *(const float *)c;
    return (x > y) - (x < y);
}

float share(float *sorted, long n, double p)
{
    const long i = (long)(p * (double)n);
    return sorted[i < n ? i : n - 1];
}

static cudaError_t nothing(const struct vf_views *s, cudaStream_t stream)
{
    (void)s;
    return floor_launch(stream);
}

static cudaGraphExec_t executable(cudaGraph_t graph)
{
    cudaGraphExec_t exec;
#if CUDART_VERSION >= 12000
    CUDA(cudaGraphInstantiate(&exec, graph, 0));
#else
    CUDA(cudaGraphInstantiate(&exec, graph, NULL, NULL, 0));
#endif
    return exec;
}

/** Median GPU time of a graph of `nodes` runs of a launcher [us]. */
static float graph_us(launcher *launch, const struct vf_views *s, int nodes, cudaStream_t stream)
{
    enum { RUNS = 101 };
    float time[RUNS];
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t start, end;
    CUDA(cudaEventCreate(&start));
    CUDA(cudaEventCreate(&end));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < nodes; i++) CUDA(launch(s, stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    exec = executable(graph);
    for (int i = -10; i < RUNS; i++) {
        float ms;
        CUDA(cudaEventRecord(start, stream));
        CUDA(cudaGraphLaunch(exec, stream));
        CUDA(cudaEventRecord(end, stream));
        CUDA(cudaEventSynchronize(end));
        CUDA(cudaEventElapsedTime(&ms, start, end));
        if (i >= 0) time[i] = ms * 1000.0f;
    }
    qsort(time, RUNS, sizeof *time, by_value);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaEventDestroy(start));
    CUDA(cudaEventDestroy(end));
    return time[RUNS / 2];
}

/** GPU time of one run, as the growth from 5 to 25 runs in a graph [us]. */
static float node_us(launcher *launch, const struct vf_views *s, cudaStream_t stream)
{
    return (graph_us(launch, s, 25, stream) - graph_us(launch, s, 5, stream)) / 20.0f;
}

/* ---- the front end to measure ------------------------------------------------------------------------------------ */

static vfront_t *vf;                      /* allocated, because large configs would not link */
static uint8_t *picture[FILLS][PICTURES]; /* pinned */

void draw_pictures(int width, int height)
{
    random_start(7, 7);
    for (int fill = 0; fill < FILLS; fill++)
        for (int i = 0; i < PICTURES; i++) {
            if (!picture[fill][i])
                CUDA(cudaHostAlloc((void **)&picture[fill][i], VFRONT_PICTURE_BYTES, cudaHostAllocMapped));
            if (fill != FILL_REAL || !real_picture(picture[fill][i], width, height, i))
                draw(fill == FILL_REAL ? FILL_LIGHT : (enum fill)fill, picture[fill][i], width, height, width, i);
        }
}

static int
    disparity_px;       /* disparity of all points between the cameras of a calibrated pair; 0: each camera sees another
                      image */
static int street;      /* 1: a calibrated pair sees a street */
static int flown;       /* 1: frames are those of the rendered flight */
static uint8_t *beside; /* pinned: image of the second camera for the street */

/** Front end to measure, allocated at the first call. */
static vfront_t *front_end(void)
{
    if (!vf) vf = zeroed(sizeof *vf);
    return vf;
}

void start_as(const vfront_rig_t *rig, const vfront_tuning_t *tuning, vfront_port_t port)
{
    want_graph(1);
    const vfront_status_t status = vfront_init(front_end(), rig, tuning, port);
    want_graph(0);
    if (!status) return;
    fprintf(stderr, "vfcheck: %s: %s\n", vfront_status_name(status), vfront_detail(vf));
    exit(1);
}

void start_flown(const vfront_tuning_t *tuning)
{
    const vfront_rig_t rig = flown_rig(2, 1);
    flown = 1;
    start_as(&rig, tuning, VFRONT_PORT_CUDA);
}

void finish(void)
{
    flown = 0;
    vfront_shutdown(vf);
}

void start_rig(int width, int height, int cameras, const vfront_tuning_t *tuning, vfront_port_t port)
{
    vfront_rig_t rig = {.cameras = cameras};
    for (int c = 0; c < cameras; c++) {
        rig.camera[c].width_px = width;
        rig.camera[c].height_px = height;
    }
    disparity_px = 0;
    start_as(&rig, tuning, port);
}

#if VFRONT_CAMERAS > 1
static int given_road; /* 1: the road is given by the rig */

/** Draws the second camera's image of the street; the first camera's is the first real image. */
static __attribute__((unused)) void draw_beside(int width, int height)
{
    if (!beside) CUDA(cudaHostAlloc((void **)&beside, VFRONT_PICTURE_BYTES, cudaHostAllocMapped));
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++) {
            const int from = x + street_px(width, height, x, y);
            beside[y * width + x] = picture[FILL_REAL][0][y * width + (from < width ? from : width - 1)];
        }
}

/** Starts a pair of cameras side by side; the second sees the first one's image shifted left by 10 px. */
void start_pair(int width, int height, const vfront_tuning_t *tuning)
{
    vfront_rig_t rig = {.cameras = 2};
    for (int c = 0; c < 2; c++) {
        vfront_camera_t *camera = &rig.camera[c];
        camera->width_px = width;
        camera->height_px = height;
        camera->fx_px = camera->fy_px = 0.6 * width;
        camera->cx_px = 0.5 * width;
        camera->cy_px = 0.5 * height;
        camera->distortion[0] = tuning->rectify ? -0.28 : 0.0;
        camera->distortion[1] = tuning->rectify ? 0.07 : 0.0;
    }
    rig.camera[1].t_cam_imu_m[0] = -0.11;
    if (given_road) rig.road_height_m = 1.0;
    disparity_px = 10;
    start_as(&rig, tuning, VFRONT_PORT_CUDA);
}
#endif

static void start(int width, int height, const vfront_tuning_t *tuning, vfront_port_t port)
{
    start_rig(width, height, 1, tuning, port);
}

/** Image of a frame: forwards and backwards through the images, so that motion is small at the turns too. */
static const uint8_t *pick(enum fill fill, long frame)
{
    const long turn = frame % (2 * PICTURES - 2);
    return picture[fill][turn < PICTURES ? turn : 2 * PICTURES - 2 - turn];
}

static double submit_us;    /* duration of the last vfront_submit(), */
static double step_us;      /* and including its vfront_wait() */
static double processor_us; /* processor time that this thread used meanwhile */
static int is_pageable;     /* 1: images are in host memory that the device cannot access */

static double used_us(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

const vfront_result_t *next_step(int width, int height, enum fill fill, long frame)
{
    vfront_frame_t f = {.t_ns = (uint64_t)(frame + 1) * 10000000u};
    if (flown) f = flown_frame(frame, 2, 1);
    for (int c = 0; c < context_of(vf)->rig.cameras && !flown; c++) {
        f.picture[c].data = disparity_px ? pick(fill, frame) + c * disparity_px : pick(fill, frame + c);
        if (street) f.picture[c].data = c ? beside : picture[FILL_REAL][0];
        f.picture[c].width_px = width;
        f.picture[c].height_px = height;
        f.picture[c].pitch_bytes = (uint32_t)width;
        f.picture[c].memory = is_pageable ? VFRONT_HOST_MEMORY : VFRONT_PINNED_MEMORY;
    }
    const vfront_result_t *r;
    const double used = used_us(CLOCK_THREAD_CPUTIME_ID), begin = now_us();
    vfront_status_t status = vfront_submit(vf, &f);
    submit_us = now_us() - begin;
    if (!status) status = vfront_wait(vf, UINT32_MAX, &r);
    step_us = now_us() - begin;
    processor_us = used_us(CLOCK_THREAD_CPUTIME_ID) - used;
    if (!status) return r;
    fprintf(stderr, "vfcheck: %s: %s\n", vfront_status_name(status), vfront_detail(vf));
    exit(1);
}

/** Sleeps until a camera's next frame. */
static void wait_for_camera(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    const long long due = ((t.tv_sec * 1000000000ll + t.tv_nsec) / CAMERA_NS + 1) * CAMERA_NS;
    t = (struct timespec){(time_t)(due / 1000000000), (long)(due % 1000000000)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static int paced; /* 1: frames come at a camera's pace */

struct wall measure_at_pace(int width, int height, enum fill fill, long steps)
{
    vfront_reset(vf);
    paced = 1;
    const struct wall w = measure_steps(width, height, fill, steps);
    paced = 0;
    return w;
}

struct wall measure_steps(int width, int height, enum fill fill, long steps)
{
    struct wall w;
    double others = 0.0, inside = 0.0, all = 0.0; /* processor time of other threads, of steps; wall time of steps */
    float *time = zeroed(sizeof(float) * (size_t)steps), *air = zeroed(sizeof(float) * (size_t)steps);
    long flown_steps = 0;
    int good = 0;
    memset(&w, 0, sizeof w);
    w.nodes = captured_nodes();
    for (long i = -50; i < steps; i++) {
        if (!i) others -= used_us(CLOCK_PROCESS_CPUTIME_ID) - used_us(CLOCK_THREAD_CPUTIME_ID);
        if (paced && i >= -10) wait_for_camera();
        const vfront_result_t *r = next_step(width, height, fill, i + 50);
        const int was = good;
        good = r->nav.state == VFRONT_NAV_GOOD;
        if (i < 0) continue;
        time[i] = (float)step_us;
        inside += processor_us;
        all += step_us;
        if (was && good) air[flown_steps++] = time[i];
        w.device += r->timing.device_us;
        w.submit += (float)submit_us;
        w.tracks += (float)r->health.followed;
        w.keypoints += (float)r->keypoints_count[0];
        w.depths += (float)r->depths_count;
        w.matches += (float)r->matches_count;
        w.states += (float)good;
        w.loops += (float)r->loops_count;
        for (uint32_t k = 0; k < r->tracks_count; k++) w.partners += r->tracks[k].disparity_sigma_px > 0.0f;
        for (int s = 0; s < VFRONT_STAGES; s++) w.stage[s] += r->timing.stage_us[s];
    }
    others += used_us(CLOCK_PROCESS_CPUTIME_ID) - used_us(CLOCK_THREAD_CPUTIME_ID);
    w.processor = (float)((others + inside) / all);
    qsort(time, (size_t)steps, sizeof *time, by_value);
    w.p50 = share(time, steps, 0.5);
    w.p99 = share(time, steps, 0.99);
    w.p999 = share(time, steps, 0.999);
    w.most = time[steps - 1];
    if (flown_steps) {
        qsort(air, (size_t)flown_steps, sizeof *air, by_value);
        w.air_p50 = share(air, flown_steps, 0.5);
        w.air_p99 = share(air, flown_steps, 0.99);
        w.air_p999 = share(air, flown_steps, 0.999);
        w.air_most = air[flown_steps - 1];
    }
    w.device /= (float)steps;
    w.submit /= (float)steps;
    w.tracks /= (float)steps;
    w.keypoints /= (float)steps;
    w.depths /= (float)steps;
    w.matches /= (float)steps;
    w.states /= (float)steps;
    w.loops /= (float)steps;
    w.partners /= (float)steps;
    for (int s = 0; s < VFRONT_STAGES; s++) w.stage[s] /= (float)steps;
    free(time);
    free(air);
    return w;
}

/** Wall time of a graph of `nodes` empty nodes in sequence. */
static float empty_graph_wall(int nodes)
{
    enum { RUNS = 1001 };
    float time[RUNS];
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < nodes; i++) CUDA(floor_launch(stream));
    CUDA(cudaStreamEndCapture(stream, &graph));
    exec = executable(graph);
    for (int i = -100; i < RUNS; i++) {
        const double begin = now_us();
        CUDA(cudaGraphLaunch(exec, stream));
        CUDA(cudaStreamSynchronize(stream));
        if (i >= 0) time[i] = (float)(now_us() - begin);
    }
    qsort(time, RUNS, sizeof *time, by_value);
    CUDA(cudaGraphExecDestroy(exec));
    CUDA(cudaGraphDestroy(graph));
    CUDA(cudaStreamDestroy(stream));
    return time[RUNS / 2];
}

void print_wall(const char *what, const struct wall *w)
{
    printf("%-44s %7.1f us p50 %7.1f p99", what, (double)w->p50, (double)w->p99);
    if (w->nodes) {
        const double empty = (double)empty_graph_wall(w->nodes);
        printf(" (%4.1f x %d empty nodes, %.1f)", (double)w->p50 / empty, w->nodes, empty);
    }
    printf("  submit %.1f device %5.1f |", (double)w->submit, (double)w->device);
    for (int s = 0; s < VFRONT_STAGES; s++)
        if (w->stage[s] > 0.0f) printf(" %s %.1f", vfront_stage_name((size_t)s), (double)w->stage[s]);
    printf(" | %.0f followed, %.0f partners, %.0f key points, %.0f depths, %.0f matches\n", (double)w->tracks,
           (double)w->partners, (double)w->keypoints, (double)w->depths, (double)w->matches);
}

/* ---- the table --------------------------------------------------------------------------------------------------- */

/** 1 if a launcher's stage is part of the front end's step. */
static int is_active(launcher *launch)
{
    for (int i = 0; i < VFRONT_STAGES; i++)
        if (run_cuda[i] == launch) return (int)(context_of(vf)->step[0].geometry.active >> i & 1);
    return 1;
}

/** Time of a stage's kernels on the memory left by a few steps of a front end, which is then shut down. */
static float launched_us(int width, int height, launcher *launch)
{
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (long i = 0; i < 12; i++) next_step(width, height, FILL_REAL, i);
    const struct vf_context *context = context_of(vf);
    const int idle = !is_active(launch);
    const float us = idle ? 0.0f : node_us(launch, &context->view[context->parity ^ 1], stream);
    vfront_shutdown(vf);
    CUDA(cudaStreamDestroy(stream));
    return us;
}
static float stage_us(int width, int height, const vfront_tuning_t *t, launcher *launch)
{
    start(width, height, t, VFRONT_PORT_CUDA);
    return launched_us(width, height, launch);
}

static void bench_kernels(int width, int height)
{
    vfront_tuning_t t = standard();
    const float floor = stage_us(width, height, &t, nothing);
    printf("\nkernels in a graph, GPU time a run, %dx%d; a kernel that does nothing: %.2f us\n", width, height,
           (double)floor);
    for (int i = 0; i < VFRONT_STAGES; i++) {
        const float us = stage_us(width, height, &t, run_cuda[i]);
        printf("  %-30s %6.2f us (%4.1f x nothing)\n", vfront_stage_name((size_t)i), (double)us, (double)(us / floor));
    }
    if (options.brief) return;
    static const char *const score[] = {"SAD-B", "SAD-A", "MT"};
    t = corners_alone(1);
    float radius[5] = {0};
    for (t.detect_score = 0; t.detect_score < 3; t.detect_score++) {
        const float us = stage_us(width, height, &t, run_cuda[VF_detect]);
        printf("  detect, 1 level, %-13s %6.2f us (%4.1f x nothing)\n", score[t.detect_score], (double)us,
               (double)(us / floor));
    }
    t.detect_score = VFRONT_SCORE_SAD_A;
    for (t.detect_radius = 1; t.detect_radius <= 4; t.detect_radius++)
        radius[t.detect_radius] = stage_us(width, height, &t, run_cuda[VF_detect]);
    printf("  detect, radius 1 / 2 / 3 / 4   %.2f / %.2f / %.2f / %.2f us, growth %.2f x\n", (double)radius[1],
           (double)radius[2], (double)radius[3], (double)radius[4], (double)(radius[4] / radius[1]));
    t = standard();
    for (int tracks = 100; tracks <= 200; tracks += 100)
        for (int parameters = 2; parameters <= 4; parameters += 2) {
            t.track_target = tracks;
            t.track_photometric = parameters == 4 ? VFRONT_PHOTOMETRIC_BOTH : VFRONT_PHOTOMETRIC_NONE;
            const float us = stage_us(width, height, &t, run_cuda[VF_track]);
            printf("  track %d, %d parameters        %6.2f us (%4.1f x nothing)\n", tracks, parameters, (double)us,
                   (double)(us / floor));
        }
}

/** Prints the times of one kind of step as a row. */
static void bench_step(const char *what, int width, int height, const vfront_tuning_t *t, long steps)
{
    start(width, height, t, VFRONT_PORT_CUDA);
    const struct wall w = measure_steps(width, height, FILL_REAL, steps);
    print_wall(what, &w);
    vfront_shutdown(vf);
}

static void bench_steps(int width, int height, long steps)
{
    vfront_tuning_t t = corners_alone(1);
    printf(
        "\nsteps, wall time from submit to result, pinned pictures, %dx%d; beside it a graph of as many empty nodes\n",
        width, height);
    t.track_target = 0;
    bench_step("  FAST SAD-A, 1 level, no tracks", width, height, &t, steps);
    t = corners_alone(vf_min(2, VFRONT_SCALES));
    bench_step("  mono: 5 levels, detect on 2, track 200", width, height, &t, steps);
    t = standard();
    bench_step("  standard: the same, 8 levels, descriptors", width, height, &t, steps);
}

/* ---- key points across scales: the rows of papers 001 and 004 ---------------------------------------------------- */

static struct wall bench_keypoints(const char *what, int width, int height, int cameras, enum fill fill,
                                   vfront_tuning_t t)
{
    start_rig(width, height, cameras, &t, VFRONT_PORT_CUDA);
    const struct wall w = measure_steps(width, height, fill, 1000);
    print_wall(what, &w);
    vfront_shutdown(vf);
    return w;
}

/** Time of detect and select, and the number of key points. */
static void bench_culling(const char *what, int number, int width, int height, const vfront_tuning_t *t)
{
    start(width, height, t, VFRONT_PORT_CUDA);
    const uint32_t count = next_step(width, height, FILL_REAL, 0)->keypoints_count[0];
    vfront_shutdown(vf);
    printf("  %s %3d  detect %6.2f us, select %6.2f us, %5u key points\n", what, number,
           (double)stage_us(width, height, t, run_cuda[VF_detect]),
           (double)stage_us(width, height, t, run_cuda[VF_select]), count);
}

static void bench_tables(int width, int height)
{
    static const int cell[] = {3, 5, 8, 12, 16, 24, 32, 48, 64, 100};
    vfront_tuning_t t = keypoints_alone(8);
    printf("\nculling against the size of a cell, %dx%d, 8 levels (paper 004, figure 9a)\n", width, height);
    for (size_t i = 0; i < sizeof cell / sizeof *cell; i++) {
        t.cull_width_px = t.cull_height_px = cell[i];
        const int cells = ((width + cell[i] - 1) / cell[i]) * ((height + cell[i] - 1) / cell[i]);
        if (cells <= VFRONT_CULL_CELLS) bench_culling("cell", cell[i], width, height, &t);
    }
    printf("against the number of levels\n");
    for (int levels = 1; levels <= VFRONT_SCALES; levels++) {
        t = keypoints_alone(levels);
        bench_culling("levels", levels, width, height, &t);
    }
    printf("with aggregation in a window (paper 004, figures 9b to 9d)\n");
    for (int window = 0; window <= 9; window += 3) {
        t = keypoints_alone(8);
        t.select_aggregate_px = window;
        bench_culling("window", window, width, height, &t);
    }
    printf("Harris response against the number of corners (paper 001, figures 12 and 13): threshold, detect without / "
           "with it\n");
    for (int threshold = 80; threshold >= 2; threshold /= 2) {
        t = keypoints_alone(8);
        t.detect_threshold = threshold;
        t.detect_threshold_low = t.detect_rank = 0;
        const float without = stage_us(width, height, &t, run_cuda[VF_detect]);
        t.detect_rank = 1;
        const float with = stage_us(width, height, &t, run_cuda[VF_detect]);
        printf("  threshold %3d  %6.2f / %6.2f us, %.2f x\n", threshold, (double)without, (double)with,
               (double)(with / without));
    }
}

static void bench_scales(int width, int height)
{
    vfront_tuning_t t = keypoints_alone(8);
    printf("\nkey points with descriptors on the host, from pinned pictures, %dx%d\n", width, height);
    const struct wall natural = bench_keypoints("  8 levels, one picture", width, height, 1, FILL_REAL, t);
    t.select_aggregate_px = 3;
    bench_keypoints("  the same with aggregation", width, height, 1, FILL_REAL, t);
    t.select_aggregate_px = 0;
    if (VFRONT_CAMERAS > 1) bench_keypoints("  stereo pair", width, height, 2, FILL_REAL, t);
    const struct wall noise = bench_keypoints("  8 levels, one picture of noise", width, height, 1, FILL_NOISE, t);
    printf("    noise to natural %.2f\n", (double)(noise.p50 / natural.p50));
    t.describe = 0;
    bench_keypoints("  8 levels, no descriptors", width, height, 1, FILL_REAL, t);
    t = keypoints_alone(4);
    bench_keypoints("  4 levels", width, height, 1, FILL_REAL, t);
}

/* ---- two images, and two frames ---------------------------------------------------------------------------------- */

#if VFRONT_STEREO && VFRONT_MATCHES && VFRONT_RECTIFY
static void bench_pairs(int width, int height)
{
    vfront_tuning_t t = keypoints_alone(8);
    t.select_points = vf_min(1300, VFRONT_KEYPOINTS);
    t.stereo = 1;
    printf("\npairs of pictures and of frames, %dx%d; a kernel that does nothing: %.2f us\n", width, height,
           (double)stage_us(width, height, &t, nothing));
    start_pair(width, height, &t);
    printf("  stereo, 1,300 points in each             %6.2f us\n",
           (double)launched_us(width, height, run_cuda[VF_stereo]));
    start_pair(width, height, &t);
    struct wall w = measure_steps(width, height, FILL_REAL, 1000);
    print_wall("  pair in, points, descriptors, depth out", &w);
    vfront_shutdown(vf);
    t.rectify = 1;
    start_pair(width, height, &t);
    printf("  rectify, both                            %6.2f us\n",
           (double)launched_us(width, height, run_cuda[VF_rectify]));
    start_pair(width, height, &t);
    w = measure_steps(width, height, FILL_REAL, 1000);
    print_wall("  the same, rectified", &w);
    vfront_shutdown(vf);
    t = keypoints_alone(8);
    t.select_points = vf_min(2000, VFRONT_KEYPOINTS);
    for (t.match = VFRONT_MATCH_WHOLE; t.match >= VFRONT_MATCH_GUIDED; t.match--)
        printf("  match 2,000 with 2,000, %-16s %6.2f us\n", t.match == VFRONT_MATCH_GUIDED ? "guided" : "all with all",
               (double)stage_us(width, height, &t, run_cuda[VF_match]));
    t.match = VFRONT_MATCH_GUIDED;
    start(width, height, &t, VFRONT_PORT_CUDA);
    w = measure_steps(width, height, FILL_REAL, 1000);
    print_wall("  one picture in, matches out", &w);
    vfront_shutdown(vf);
    t = standard();
    start_pair(width, height, &t);
    printf("  partner, as many tracks as there are     %6.2f us\n",
           (double)launched_us(width, height, run_cuda[VF_partner]));
    start_pair(width, height, &t);
    w = measure_steps(width, height, FILL_REAL, 1000);
    print_wall("  all: tracks, depths, matches, motion", &w);
    vfront_shutdown(vf);
    t.track_stereo = 0;
    start_pair(width, height, &t);
    w = measure_steps(width, height, FILL_REAL, 1000);
    print_wall("  the same without partners of tracks", &w);
    vfront_shutdown(vf);
    t.track_back_mpx = 0;
    start_pair(width, height, &t);
    w = measure_steps(width, height, FILL_REAL, 1000);
    print_wall("  and without the tracker's way back", &w);
    vfront_shutdown(vf);
}
#else
static void bench_pairs(int width, int height) { printf("\npairs, %dx%d: not in this config\n", width, height); }
#endif

/* ---- motion ------------------------------------------------------------------------------------------------------ */

#if VFRONT_EGO && VFRONT_STEREO && VFRONT_MATCHES
#define EGO_FOCAL_PX 800.0
#define EGO_DEPTHS 2 /* every EGO_DEPTHS-th pair has a distance */

/** Computes the bearing of a point in a camera: a unit vector, with an error of up to half a pixel on each axis. */
static void see(const double point[3], float bearing[3])
{
    double v[3] = {point[0] / point[2], point[1] / point[2], 1.0}, square = 0.0;
    for (int k = 0; k < 2; k++) v[k] += (random_number(10001) / 10000.0 - 0.5) / EGO_FOCAL_PX;
    for (int k = 0; k < 3; k++) square += v[k] * v[k];
    for (int k = 0; k < 3; k++) bearing[k] = (float)(v[k] / sqrt(square));
}
static void random_point(double point[3])
{
    point[2] = 4.0 + random_number(4001) / 1000.0;
    point[0] = point[2] * ((int)random_number(WIDTH) - WIDTH / 2) / EGO_FOCAL_PX;
    point[1] = point[2] * ((int)random_number(HEIGHT) - HEIGHT / 2) / EGO_FOCAL_PX;
}

/** Writes pairs of bearings as matches of a frame, for a camera that moves sideways by 0.3 m and turns by 2 degrees.
 *  Some pairs are wrong. */
static void put_pairs(struct vf_memory *m, int32_t parity, int pairs, int outlier_percent, uint64_t seed)
{
    random_start(seed, (uint64_t)outlier_percent);
    const double sine = 0.0349, cosine = sqrt(1.0 - sine * sine);
    for (int i = 0; i < pairs; i++) {
        double was[3], wrong[3];
        random_point(was);
        random_point(wrong);
        const double is[3] = {cosine * was[0] + sine * was[2] + 0.3, was[1], cosine * was[2] - sine * was[0]};
        struct vf_point *before = &m->bearing.point[parity ^ 1][0][i], *now = &m->bearing.point[parity][0][i];
        see(was, before->bearing);
        see((int)random_number(100) < outlier_percent ? wrong : is, now->bearing);
        before->step = now->step = 1.0f;
        const float range_m = (float)was[2] / before->bearing[2];
        m->stereo.range_m[parity ^ 1][i] = i % EGO_DEPTHS ? 0.0f : range_m;
        m->stereo.range_sigma_m[parity ^ 1][i] = 0.005f * range_m;
        m->stereo.range_m[parity][i] = 0.0f;
        m->match.match[i] = (vfront_match_t){.keypoint = (uint16_t)i,
                                             .before = (uint16_t)i,
                                             .distance = (uint16_t)random_number(64),
                                             .second = 256,
                                             .bearing = {now->bearing[0], now->bearing[1], now->bearing[2]}};
    }
    m->match.count = (uint32_t)pairs;
    m->refill.counts[parity].count = 0;
    m->ingest.params.frame = 1;
    m->ingest.params.rotation_given = 0;
}

/** Starts a pair of cameras for these bearings. */
static void start_seeing(const vfront_tuning_t *t)
{
    vfront_rig_t rig = {.cameras = 2};
    for (int c = 0; c < 2; c++)
        rig.camera[c] = (vfront_camera_t){.width_px = WIDTH,
                                          .height_px = HEIGHT,
                                          .fx_px = EGO_FOCAL_PX,
                                          .fy_px = EGO_FOCAL_PX,
                                          .cx_px = WIDTH / 2,
                                          .cy_px = HEIGHT / 2};
    rig.camera[1].t_cam_imu_m[0] = -0.11;
    start_as(&rig, t, VFRONT_PORT_CUDA);
}

#if VFRONT_CUBLAS
/** Compares one step with cuBLAS with the host form on the same pairs. */
static void compare_step(const vfront_tuning_t *t, int outlier_percent, struct agreement *a)
{
    struct vf_memory *memory = calloc(1, sizeof *memory),
                     *back = malloc(sizeof *back); /* allocated, because static arrays would make this program too large
                                                      to link */
    if (!memory || !back) exit(1);
    start_seeing(t);
    const struct vf_step *cuda = &context_of(vf)->step[0];
    struct vf_step host = *cuda;
    struct vf_ego_view view;
    host.memory = memory;
    vf_ego_make_view(&view, &host);
    put_pairs(memory, cuda->parity, 1000, outlier_percent, 11);
    CUDA(cudaMemcpy(cuda->memory, memory, sizeof *memory, cudaMemcpyHostToDevice));
    CUDA(run_cuda[VF_ego](&context_of(vf)->view[0], 0));
    CUDA(cudaMemcpy(back, cuda->memory, sizeof *back, cudaMemcpyDeviceToHost));
    vf_ego_host(&view);
    agree(a, &memory->ego, &back->ego, t->ego_hypotheses);
    vfront_shutdown(vf);
    free(memory);
    free(back);
}

int check_motions(void)
{
    static const int32_t points[] = {5, 7, 8};
    int bad = 0;
    for (int i = 0; i < 3; i++) {
        vfront_tuning_t t = standard();
        struct agreement a = {0, 0, 0, 0, 0, 0};
        char what[96];
        t.stereo = 1;
        t.ego_points = points[i];
        t.ego_hypotheses = vf_min(512, VFRONT_HYPOTHESES);
        t.ego_metric_hypotheses = 0;
        for (int percent = 0; percent < 60; percent += 4) compare_step(&t, percent, &a);
        snprintf(what, sizeof what, "%d points, 1,000 pairs, 0 to 56 %% wrong", points[i]);
        print_agreement(&a, what);
        if (a.apart * 200 <= a.hypotheses && !a.states && a.R <= 2e-3 && a.t <= 2e-2) continue;
        printf("FAIL bounds: 0.5 %% of the hypotheses, no state, 2e-3 in R, 2e-2 in t\n");
        bad++;
    }
    return bad;
}
#endif

/** Time of the stage with 1,000 such pairs. */
static float ego_us(const vfront_tuning_t *t, int outlier_percent, const char *what)
{
    struct vf_memory *memory = calloc(1, sizeof *memory);
    if (!memory) exit(1);
    start_seeing(t);
    const struct vf_step *s = &context_of(vf)->step[0];
    cudaStream_t stream;
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    put_pairs(memory, s->parity, 1000, outlier_percent, 3);
    CUDA(cudaMemcpy(s->memory, memory, sizeof *memory, cudaMemcpyHostToDevice));
    const float us = node_us(run_cuda[VF_ego], &context_of(vf)->view[0], stream);
    CUDA(cudaMemcpy(memory, s->memory, sizeof *memory, cudaMemcpyDeviceToHost));
    const vfront_motion_t *r = &memory->ego.relative, *m = &memory->ego.metric;
    if (what)
        printf("  %-40s %6.2f us   relative %u of %u, metric %u of %u agree\n", what, (double)us, r->inliers, r->pairs,
               m->inliers, m->pairs);
    vfront_shutdown(vf);
    free(memory);
    CUDA(cudaStreamDestroy(stream));
    return us;
}

static void bench_ego(void)
{
    static const int32_t points[] = {5, 7, 8};
    vfront_tuning_t t = standard();
    t.stereo = 1;
    printf(
        "\nmotion from 1,000 pairs, 500 of them with a distance, half of them wrong: a graph's growth by one run%s\n",
        VFRONT_CUBLAS ? "; small systems through cuBLAS" : "");
    for (int i = 0; i < 3; i++) {
        char what[64];
        t.ego_points = points[i];
        t.ego_metric_hypotheses = 0;
        t.ego_hypotheses = vf_min(1024, VFRONT_HYPOTHESES);
        snprintf(what, sizeof what, "%d points, %d hypotheses", points[i], t.ego_hypotheses);
        ego_us(&t, 50, what);
    }
    t.ego_points = 5;
    t.ego_hypotheses = vf_min(145, VFRONT_HYPOTHESES);
    ego_us(&t, 50, "5 points, 145 hypotheses");
    t.ego_hypotheses = 0;
    t.ego_metric_hypotheses = vf_min(256, VFRONT_HYPOTHESES);
    ego_us(&t, 50, "metric, 256 hypotheses");
    vfront_tuning_t tuning = standard();
    ego_us(&tuning, 50, "standard tuning: both");
    if (options.brief) return;
    printf("  against the share of outliers [%%], 5 points, 1,024 hypotheses (paper 003, figures 5 to 8):");
    t.ego_hypotheses = vf_min(1024, VFRONT_HYPOTHESES);
    t.ego_metric_hypotheses = 0;
    for (int percent = 5; percent <= 70; percent += 13) printf(" %d: %.1f", percent, (double)ego_us(&t, percent, NULL));
    printf(" us\n");
}
#else
static void bench_ego(void) { printf("\nmotion: not in this config\n"); }
#if VFRONT_CUBLAS
int check_motions(void) { return 0; }
#endif
#endif

/* ---- disparities ------------------------------------------------------------------------------------------------- */

#if VFRONT_DENSE
static void bench_dense(int width, int height, int disparities)
{
    vfront_tuning_t t = keypoints_alone(1);
    if (width > VFRONT_WIDTH || height > VFRONT_HEIGHT || disparities > VFRONT_DISPARITIES) return;
    draw_pictures(width, height);
    t.select_points = t.describe = 0;
    t.dense = VFRONT_DENSE_DEVICE;
    t.dense_disparities = disparities;
    start_pair(width, height, &t);
    printf("  dense %4dx%d, %3d disparities, all filters %7.2f us\n", width, height, disparities,
           (double)launched_us(width, height, run_cuda[VF_dense]));
    t.dense = VFRONT_DENSE_COPIED;
    start_pair(width, height, &t);
    const struct wall w = measure_steps(width, height, FILL_REAL, 200);
    print_wall("    pair in, disparities on the host", &w);
    vfront_shutdown(vf);
}

/** Steps with disparities on images that the device reads in place, and on images that the host copies first. */
static void bench_pageable(int width, int height)
{
    vfront_tuning_t t = keypoints_alone(1);
    if (width > VFRONT_WIDTH || height > VFRONT_HEIGHT || VFRONT_DISPARITIES < 128) return;
    draw_pictures(width, height);
    t.dense = VFRONT_DENSE_COPIED;
    t.dense_disparities = 128;
    for (is_pageable = 0; is_pageable < 2; is_pageable++) {
        start_pair(width, height, &t);
        const struct wall w = measure_steps(width, height, FILL_REAL, 500);
        printf("  %dx%d, %s pictures, key points and disparities out: %.1f us p50, beyond the device's time %.1f, of "
               "which ingest takes %.1f\n",
               width, height, is_pageable ? "pageable" : "pinned", (double)w.p50, (double)(w.p50 - w.device),
               (double)w.stage[VF_ingest]);
        vfront_shutdown(vf);
    }
    is_pageable = 0;
}
static void bench_disparities(void)
{
    printf("\ndisparities\n");
    bench_pageable(1226, 370);
    bench_dense(640, 480, 128);
    bench_dense(1280, 480, 128);
    bench_dense(640, 480, 64);
    bench_dense(640, 480, 256);
}
static void bench_few_disparities(void) { bench_dense(640, 480, 128); }
#else
static void bench_disparities(void) { printf("\ndisparities: not in this config\n"); }
static void bench_few_disparities(void) {}
#endif

/* ---- stixels ----------------------------------------------------------------------------------------------------- */

#if VFRONT_STIXELS
enum scene { STREET, WALL, WALL_AND_NO_ROAD };
/** Times the stage on disparities of two images: a street, or a wall that fills the image. With a wall and no road,
 *  columns are not segmented: that is the time of the reduction and of the road search alone. */
static void bench_columns(int width, int height, int disparities, enum scene scene)
{
    static const char *const called[] = {"a street", "a wall", "road looked for, none found"};
    vfront_tuning_t t = keypoints_alone(1);
    if (width > VFRONT_WIDTH || height > VFRONT_HEIGHT || disparities > VFRONT_DISPARITIES ||
        width / 5 > VFRONT_COLUMNS)
        return;
    draw_pictures(width, height);
    t.select_points = t.describe = 0;
    t.dense = t.stixel = 1;
    t.dense_disparities = disparities;
    given_road = scene != WALL_AND_NO_ROAD;
    street = scene == STREET;
    if (street) draw_beside(width, height);
    start_pair(width, height, &t);
    const vfront_result_t *r = next_step(width, height, FILL_REAL, 0);
    int segments = 0;
    for (uint32_t i = 0; i < r->columns_count; i++) segments += r->stixels_count[i];
    const double each = segments / (double)r->columns_count;
    vfront_shutdown(vf);
    start_pair(width, height, &t);
    printf("  stixel %4dx%d, 5 px, %3d disparities, %-27s %7.2f us, %3.1f segments a column\n", width, height,
           disparities, called[scene], (double)launched_us(width, height, run_cuda[VF_stixel]), each);
    given_road = street = 0;
}
static void bench_stixels(void)
{
    static const int size[][2] = {{640, 480}, {1024, 440}, {1280, 480}, {1024, 768}, {320, 480},
                                  {640, 120}, {640, 240},  {640, 360},  {640, 960}};
    printf("\nstixels\n");
    for (enum scene scene = STREET; scene <= WALL; scene++) {
        for (size_t i = 0; i < sizeof size / sizeof *size; i++) bench_columns(size[i][0], size[i][1], 128, scene);
        bench_columns(640, 480, 64, scene);
    }
    for (size_t i = 1; i < 4; i++) bench_columns(size[i][0], size[i][1], 128, WALL_AND_NO_ROAD);
    bench_columns(640, 480, 128, WALL_AND_NO_ROAD);
}
static void bench_few_stixels(void)
{
    for (enum scene scene = STREET; scene <= WALL_AND_NO_ROAD; scene++) bench_columns(640, 480, 128, scene);
}
#else
static void bench_stixels(void) { printf("\nstixels: not in this config\n"); }
static void bench_few_stixels(void) {}
#endif

/* ---- a part of the chip ------------------------------------------------------------------------------------------ */

#if CUDA_VERSION >= 12040
static CUcontext part_of_chip; /* NULL: the whole device */
static CUresult (*set_current)(CUcontext context);
#endif

/** The CUDA port makes its calls in its own thread, which selects the device once; this wrapper selects the part of the
 *  chip under test. The linker puts it in front of the runtime's function (-Wl,--wrap). */
cudaError_t __real_cudaSetDevice(int device);
cudaError_t __wrap_cudaSetDevice(int device);
cudaError_t __wrap_cudaSetDevice(int device)
{
#if CUDA_VERSION >= 12040
    if (part_of_chip) return set_current(part_of_chip) ? cudaErrorUnknown : cudaSuccess;
#endif
    return __real_cudaSetDevice(device);
}

int with_part_of_chip(unsigned multiprocessors, void (*work)(void))
{
#if CUDA_VERSION >= 12040
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) return 0;
#define DRIVER(name) CUresult (*name##_)() = (CUresult(*)())dlsym(driver, #name)
    DRIVER(cuDeviceGetDevResource);
    DRIVER(cuDevSmResourceSplitByCount);
    DRIVER(cuDevResourceGenerateDesc);
    DRIVER(cuGreenCtxCreate);
    DRIVER(cuCtxFromGreenCtx);
    DRIVER(cuCtxSetCurrent);
    DRIVER(cuCtxGetCurrent);
    DRIVER(cuGreenCtxDestroy);
#undef DRIVER
    if (!cuDeviceGetDevResource_ || !cuGreenCtxCreate_ || !cuDevSmResourceSplitByCount_ || !cuCtxFromGreenCtx_)
        return 0;
    CUdevResource all, part, rest;
    CUdevResourceDesc desc;
    CUgreenCtx green;
    CUcontext context, before;
    unsigned groups = 1;
    if (cuCtxGetCurrent_(&before) || cuDeviceGetDevResource_(0, &all, CU_DEV_RESOURCE_TYPE_SM) ||
        cuDevSmResourceSplitByCount_(&part, &groups, &all, &rest, 0u, multiprocessors) ||
        cuDevResourceGenerateDesc_(&desc, &part, 1u) ||
        cuGreenCtxCreate_(&green, desc, 0, (unsigned)CU_GREEN_CTX_DEFAULT_STREAM) ||
        cuCtxFromGreenCtx_(&context, green) || cuCtxSetCurrent_(context))
        return 0;
    part_of_chip = context;
    set_current = (CUresult(*)(CUcontext))cuCtxSetCurrent_;
    printf("\n==== with %u of the multiprocessors (green context)\n", part.sm.smCount);
    work();
    part_of_chip = NULL;
    cuCtxSetCurrent_(before);
    cuGreenCtxDestroy_(green);
    return 1;
#else
    (void)multiprocessors, (void)work;
    return 0;
#endif
}

static void bench_few_depths(void)
{
    bench_few_disparities();
    bench_few_stixels();
}
static void bench_depths(void)
{
    bench_disparities();
    bench_stixels();
}

static void bench_all(void)
{
    draw_pictures(WIDTH, HEIGHT);
    bench_steps(WIDTH, HEIGHT, options.brief ? 500 : 2000);
    bench_kernels(WIDTH, HEIGHT);
    bench_scales(WIDTH, HEIGHT);
    bench_pairs(WIDTH, HEIGHT);
    bench_inertial();
    bench_ego();
    bench_depths();
    if (options.brief) return;
    bench_growth();
    draw_pictures(WIDTH, HEIGHT);
    bench_tables(WIDTH, HEIGHT);
    if (VFRONT_WIDTH < 1920 || VFRONT_HEIGHT < 1080) return;
    draw_pictures(1920, 1080);
    bench_steps(1920, 1080, 500);
    bench_scales(1920, 1080);
}

static void bench_host(void)
{
    const vfront_tuning_t t = standard();
    draw_pictures(WIDTH, HEIGHT);
    start(WIDTH, HEIGHT, &t, VFRONT_PORT_HOST);
    const struct wall w = measure_steps(WIDTH, HEIGHT, FILL_REAL, 200);
    printf("\nhost port, one thread, %dx%d\n", WIDTH, HEIGHT);
    print_wall("  standard tuning                       ", &w);
    vfront_shutdown(vf);
}

void run_inertial(void)
{
    bench_inertial();
    if (!with_part_of_chip(8, bench_inertial)) printf("\n8 multiprocessors: NOT RUN (no green contexts here)\n");
}

void run_motion(void)
{
    bench_ego();
    if (!with_part_of_chip(8, bench_ego)) printf("\n8 multiprocessors: NOT RUN (no green contexts here)\n");
}

void run_dense(void)
{
    bench_depths();
    if (options.brief) return;
    if (!with_part_of_chip(8, bench_few_depths)) printf("\n8 multiprocessors: NOT RUN (no green contexts here)\n");
}

void run_bench(void)
{
    bench_all();
    if (!with_part_of_chip(8, bench_all)) printf("\n8 multiprocessors: NOT RUN (no green contexts here)\n");
    bench_host();
}

/* ---- latency ----------------------------------------------------------------------------------------------------- */

/** Energy used by the device since its driver was loaded [mJ], or 0. */
static unsigned long long energy_mj(void)
{
    static int (*energy)(void *, unsigned long long *);
    static void *device;
    if (!energy) {
        void *nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW);
        int (*init)(void) = nvml ? (int (*)(void))dlsym(nvml, "nvmlInit_v2") : NULL;
        int (*handle)(unsigned,
                      void **) = nvml ? (int (*)(unsigned, void **))dlsym(nvml, "nvmlDeviceGetHandleByIndex_v2") : NULL;
        if (!init || !handle || init() || handle(0, &device)) return 0;
        energy = (int (*)(void *, unsigned long long *))dlsym(nvml, "nvmlDeviceGetTotalEnergyConsumption");
        if (!energy) return 0;
    }
    unsigned long long mj = 0;
    return energy(device, &mj) ? 0 : mj;
}

/** Cost of the mirror: steps with and without the host port on standby, on the same images. */
static void latency_of_failover(const vfront_tuning_t *standard_tuning)
{
    for (int on = 0; on < 2; on++) {
        vfront_tuning_t t = *standard_tuning;
        t.failover = on;
        start(WIDTH, HEIGHT, &t, VFRONT_PORT_CUDA);
        const struct wall w = measure_steps(WIDTH, HEIGHT, FILL_REAL, options.latency);
        printf("  failover %d %7.1f / %7.1f / %7.1f / %7.1f  submit %.1f\n", on, (double)w.p50, (double)w.p99,
               (double)w.p999, (double)w.most, (double)w.submit);
        vfront_shutdown(vf);
    }
}

void run_latency(void)
{
    static const enum fill kind[] = {FILL_REAL, FILL_BLACK, FILL_NOISE, FILL_CHECKER, FILL_CORNERS};
    const vfront_tuning_t t = standard();
    draw_pictures(WIDTH, HEIGHT);
    size_t before = 0, after = 0, total;
    float natural = 0;
    printf("\nlatency over %ld steps of %dx%d, us: p50 / p99 / p99.9 / max\n", options.latency, WIDTH, HEIGHT);
    for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
        start(WIDTH, HEIGHT, &t, VFRONT_PORT_CUDA);
        for (long k = 0; k < 10; k++) next_step(WIDTH, HEIGHT, kind[i], k);
        vfront_reset(vf);
        CUDA(cudaMemGetInfo(&before, &total));
        const unsigned long long mj = energy_mj();
        const double begin = now_us();
        const struct wall w = measure_steps(WIDTH, HEIGHT, kind[i], options.latency);
        const double mean = (now_us() - begin) / (double)(options.latency + 50);
        const double used = (double)(energy_mj() - mj) / (double)(options.latency + 50);
        CUDA(cudaMemGetInfo(&after, &total));
        if (!i) natural = w.p50;
        printf("  %-10s %7.1f / %7.1f / %7.1f / %7.1f  p99.9 to p50 %.2f, p50 to natural %.2f, %.0f followed, %.2f mJ "
               "a step at %.0f us, device memory %+ld bytes\n",
               fill_name[kind[i]], (double)w.p50, (double)w.p99, (double)w.p999, (double)w.most,
               (double)(w.p999 / w.p50), (double)(w.p50 / natural), (double)w.tracks, used, mean,
               (long)before - (long)after);
        vfront_shutdown(vf);
    }
    latency_of_state();
    if (!with_part_of_chip(8, latency_of_state)) printf("8 multiprocessors: NOT RUN (no green contexts here)\n");
    if (VFRONT_HOST && !VFRONT_CUBLAS) latency_of_failover(&t);
    vfront_info_t info;
    start(WIDTH, HEIGHT, &t, VFRONT_PORT_CUDA);
    vfront_info(vf, &info);
    printf("memory: host %zu, pinned %zu, device %zu bytes\n", info.host_bytes, info.pinned_bytes, info.device_bytes);
    vfront_shutdown(vf);
}
