/* SPDX-License-Identifier: MIT */
/* vfcheck: steps with a neighbour in the same process that occupies the whole device, like a deep network: their times
 * and bits compared with those alone, and the neighbour's loss. */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "vfbench.h"

#define STEPS 400
#define PACE_US 5000 /* 200 frames a second */

cudaError_t neighbour_launch(int blocks, unsigned block_us, cudaStream_t stream);

static int ends;
static long kernels; /* number of the neighbour's kernels that have ended */

/** Launches kernels of about 1 ms back to back, in a stream of default priority, a few ahead, until stopped. */
static void *neighbour(void *unused)
{
    enum { AHEAD = 4 };
    cudaStream_t stream;
    cudaEvent_t done[AHEAD];
    struct cudaDeviceProp properties;
    CUDA(cudaGetDeviceProperties(&properties, 0));
    const int blocks = 8 * 50 * properties.multiProcessorCount; /* 8 blocks of 256 threads fill a multiprocessor */
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < AHEAD; i++) CUDA(cudaEventCreateWithFlags(&done[i], cudaEventDisableTiming));
    for (long i = 0; !__atomic_load_n(&ends, __ATOMIC_ACQUIRE); i++) {
        if (i >= AHEAD) {
            CUDA(cudaEventSynchronize(done[i % AHEAD]));
            __atomic_add_fetch(&kernels, 1, __ATOMIC_RELAXED);
        }
        CUDA(neighbour_launch(blocks, 20, stream));
        CUDA(cudaEventRecord(done[i % AHEAD], stream));
    }
    CUDA(cudaStreamSynchronize(stream));
    for (int i = 0; i < AHEAD; i++) CUDA(cudaEventDestroy(done[i]));
    CUDA(cudaStreamDestroy(stream));
    return unused;
}

static pthread_t begin_neighbour(void)
{
    pthread_t thread;
    ends = 0;
    if (pthread_create(&thread, NULL, neighbour, NULL)) exit(1);
    return thread;
}
static void end_neighbour(pthread_t thread)
{
    __atomic_store_n(&ends, 1, __ATOMIC_RELEASE);
    pthread_join(thread, NULL);
}

/** Times of steps at the highest and at the lowest priority of the device. */
static void bench_priorities(const char *setting)
{
    vfront_tuning_t t = standard();
    int least, greatest;
    CUDA(cudaDeviceGetStreamPriorityRange(&least, &greatest));
    for (int lowest = 0; lowest < 2; lowest++) {
        t.priority = lowest ? least - greatest : 0;
        start_rig(WIDTH, HEIGHT, 1, &t, VFRONT_PORT_CUDA);
        const struct wall w = measure_steps(WIDTH, HEIGHT, FILL_REAL, 1000);
        printf("  %-17s priority %3d (%s)  %8.1f / %8.1f / %8.1f us p50 / p99 / max\n", setting, greatest + t.priority,
               lowest ? "lowest " : "highest", (double)w.p50, (double)w.p99, (double)w.most);
        finish();
    }
}

#if VFRONT_VIO && VFRONT_CAMERAS > 1
/** Steps of the rendered flight: times, digest of all results, and the neighbour's rate meanwhile [1/s]. */
struct flown_steps {
    float p50, p99, most;
    uint64_t digest;
    double kernels_per_s;
};

/** Waits until a time of now_us(). */
static void wait_until(double us)
{
    const double left = us - now_us();
    if (left <= 0.0) return;
    const struct timespec pause = {0, (long)(left * 1e3)};
    nanosleep(&pause, NULL);
}

/** Runs the complete config in a stream of the highest priority, at 200 frames per second. */
static struct flown_steps fly(void)
{
    struct flown_steps f = {.digest = 0};
    float time[STEPS];
    vfront_tuning_t t = standard();
    t.vio = 1;
#if VFRONT_MAP
    t.map = 1;
#endif
    start_flown(&t);
    const double begin_us = now_us();
    const long before = __atomic_load_n(&kernels, __ATOMIC_RELAXED);
    for (long i = 0; i < STEPS; i++) {
        wait_until(begin_us + (double)(i * PACE_US));
        const double submitted_us = now_us();
        const vfront_result_t *r = next_step(0, 0, FILL_REAL, i);
        time[i] = (float)(now_us() - submitted_us);
        f.digest = (f.digest ^ vfront_digest(r)) * 0x9e3779b97f4a7c15ull;
    }
    const long after = __atomic_load_n(&kernels, __ATOMIC_RELAXED);
    f.kernels_per_s = (double)(after - before) / ((now_us() - begin_us) * 1e-6);
    finish();
    qsort(time, STEPS, sizeof *time, by_value);
    f.p50 = share(time, STEPS, 0.5);
    f.p99 = share(time, STEPS, 0.99);
    f.most = time[STEPS - 1];
    return f;
}

/** Rate of the neighbour alone, over the duration of the steps [1/s]. */
static double rate_alone(void)
{
    const double begin_us = now_us();
    const long before = __atomic_load_n(&kernels, __ATOMIC_RELAXED);
    wait_until(begin_us + 0.9e6);
    const long after = __atomic_load_n(&kernels, __ATOMIC_RELAXED);
    return (double)(after - before) / ((now_us() - begin_us) * 1e-6);
}

/** Returns 1 if the bits differ with a neighbour. */
static int bench_whole(void)
{
    flown_draw(WIDTH, HEIGHT);
    const struct flown_steps alone = fly();
    const pthread_t thread = begin_neighbour();
    rate_alone();
    const double rate = rate_alone();
    const struct flown_steps beside = fly();
    end_neighbour(thread);
    const int is_same = alone.digest == beside.digest;
    printf("the whole of it, pairs of the rendered flight with the state of the IMU%s, %d steps, 200 a second\n",
           VFRONT_MAP ? " and the map" : "", STEPS);
    printf("  alone             %8.1f / %8.1f / %8.1f us p50 / p99 / max\n", (double)alone.p50, (double)alone.p99,
           (double)alone.most);
    printf("  beside neighbour  %8.1f / %8.1f / %8.1f us p50 / p99 / max; p99 %.2f x alone; %s\n", (double)beside.p50,
           (double)beside.p99, (double)beside.most, (double)(beside.p99 / alone.p99),
           is_same ? "the same bits" : "FAIL: other bits");
    printf("  the neighbour     %.0f kernels a second alone, %.0f beside the steps: %.1f %% less\n", rate,
           beside.kernels_per_s, 100.0 * (1.0 - beside.kernels_per_s / rate));
    return !is_same;
}
#else
static int bench_whole(void) { return 0; }
#endif

int run_neighbour(void)
{
    draw_pictures(WIDTH, HEIGHT);
    printf("\na neighbour in the same process that keeps the device at work, %dx%d\n", WIDTH, HEIGHT);
    bench_priorities("alone");
    const pthread_t thread = begin_neighbour();
    bench_priorities("beside neighbour");
    end_neighbour(thread);
    return bench_whole();
}
