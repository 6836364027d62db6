/* SPDX-License-Identifier: MIT */
/* Nothing is allocated after vfront_init(): 1,000 steps of all kinds, including refused frames, timeouts and resets,
 * with every stage active, and again with rectified images, disparities and stixels. Three checks:
 * - malloc and its relatives are replaced; neither the stepping thread nor that of the port calls any of them, in libc
 * or in the driver
 * - every CUDA call of the port is wrapped (-Wl,--wrap), and only those that a step needs may occur
 * - address space, heap and free device memory are the same before and after */
#define _GNU_SOURCE
#include "tests/fixture/pair.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#ifdef VFRONT_CUDA
#include "port/cuda/cuda.h"
#endif

#define STEPS 1000
#define FAKE_STEPS 200
#define CONVERGED 16 /* number of steps after which a driver, too, must have allocated everything */

/* ---- the checks ------------------------------------------------------------------------------------------------- */

static volatile struct { /* volatile, because compilers assume that malloc() reads no variable of a program */
    int armed;
    long step;          /* number of the current step */
    long calls;         /* calls of allocators by the stepping threads */
    long first, latest; /* first and last step with such a call */
    const char *last;   /* name of the last such call */
    long others;        /* calls by the CUDA driver's own threads, which occur in an idle process too */
    long wrong;         /* CUDA calls that no step needs */
    int loses, returns; /* loses: launches fail; returns: vfront_return() or a map may copy */
    int failover;       /* 1: every 50th step fails over to the host port, and returns to the GPU ten steps later */
} net;
static _Thread_local int steps_here; /* 1: the thread of the test, or the one that makes the port's CUDA calls */

static void caught(const char *name)
{
    if (!net.armed) return;
    if (!steps_here) {
        net.others++;
        return;
    }
    if (!net.calls++) net.first = net.step;
    net.latest = net.step;
    net.last = name;
}

/* glibc's own functions, under the names for programs that replace malloc. */
void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *old);

void *malloc(size_t bytes) { return caught("malloc"), __libc_malloc(bytes); }
void *calloc(size_t count, size_t bytes) { return caught("calloc"), __libc_calloc(count, bytes); }
void *realloc(void *old, size_t bytes) { return caught("realloc"), __libc_realloc(old, bytes); }
void *reallocarray(void *old, size_t count, size_t bytes)
{
    return caught("reallocarray"), __libc_realloc(old, count * bytes);
}
void *memalign(size_t alignment, size_t bytes) { return caught("memalign"), __libc_memalign(alignment, bytes); }
void *aligned_alloc(size_t alignment, size_t bytes)
{
    return caught("aligned_alloc"), __libc_memalign(alignment, bytes);
}
void *valloc(size_t bytes) { return caught("valloc"), __libc_memalign(4096, bytes); }
int posix_memalign(void **out, size_t alignment, size_t bytes)
{
    caught("posix_memalign");
    *out = __libc_memalign(alignment, bytes);
    return *out ? 0 : 12;
}
void free(void *old)
{
    if (old) caught("free");
    __libc_free(old);
}

#ifdef VFRONT_CUDA
static int needed(const char *call)
{
    static const char *const step[] = {"cudaPointerGetAttributes", "cudaGraphLaunch", "cudaStreamQuery",
                                       "cudaGraphUpload"};
    for (size_t i = 0; i < sizeof step / sizeof *step; i++)
        if (strcmp(call, step[i]) == 0) return 1;
    if (net.returns) return !strcmp(call, "cudaMemcpyAsync") || !strcmp(call, "cudaStreamSynchronize");
    return 0;
}

#define CUDA_CALL(name, parameters, arguments, makes)                                                                  \
    cudaError_t __real_##name parameters;                                                                              \
    cudaError_t __wrap_##name parameters;                                                                              \
    cudaError_t __wrap_##name parameters                                                                               \
    {                                                                                                                  \
        steps_here = 1;                                                                                                \
        if (net.armed && !needed(#name)) {                                                                             \
            net.wrong++;                                                                                               \
            net.last = #name;                                                                                          \
        }                                                                                                              \
        if (net.loses && strcmp(#name, "cudaGraphLaunch") == 0) return cudaErrorUnknown;                               \
        return __real_##name arguments;                                                                                \
    }
#include "tests/fake/cuda_calls.def"
#undef CUDA_CALL
#endif

/** Memory held by the process. */
struct held {
    long pages;    /* pages of address space */
    size_t heap;   /* bytes of the heap in use */
    size_t device; /* free bytes of the device */
};

static struct held look(void)
{
    static char text[128];
    struct held h = {0, mallinfo2().uordblks, 0};
    FILE *f = fopen("/proc/self/statm", "r");
    if (f) {
        setvbuf(f, NULL, _IONBF, 0);
        if (fgets(text, sizeof text, f)) h.pages = strtol(text, NULL, 10);
        fclose(f);
    }
#ifdef VFRONT_CUDA
    size_t total;
    if (pair_port == VFRONT_PORT_CUDA) assert_int_equal(cudaMemGetInfo(&h.device, &total), cudaSuccess);
#endif
    return h;
}

/** Waits until the device's free memory is constant for a while. It counts all processes, and one that has just ended
 *  may still be releasing memory. */
static void wait_steady(void)
{
    const struct timespec tick = {0, 20 * 1000 * 1000};
    struct held last = look();
    for (int quiet = 0, tries = 0; pair_port == VFRONT_PORT_CUDA && quiet < 10 && tries < 500; tries++) {
        nanosleep(&tick, NULL);
        const struct held now = look();
        quiet = now.device == last.device ? quiet + 1 : 0;
        last = now;
    }
}

/** Fails with all three numbers if one of them changed. */
static void same_held(const struct held *before, const struct held *after)
{
    const long long heap = (long long)after->heap - (long long)before->heap, pages = after->pages - before->pages;
    const long long device = (long long)before->device - (long long)after->device;
    if (!heap && !pages && !device) return;
    fail_msg("what the process holds has changed:%s%s%s; heap %+lld bytes of %zu, address space %+lld pages of %ld, "
             "device %+lld bytes with %zu free before (other processes' memory counts)",
             heap ? " heap" : "", pages ? " pages" : "", device ? " device" : "", heap, before->heap, pages,
             before->pages, device, before->device);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static uint8_t packed[VFRONT_CAMERAS][6][PICTURES][2 * VFRONT_WIDTH * VFRONT_HEIGHT];
static uint8_t mask[VFRONT_WIDTH * VFRONT_HEIGHT];
static vfront_gyro_t gyro[2];
static vfront_imu_t imu[2];
static const double still[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

static void prepare(void)
{
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        for (int format = 0; format < 6; format++)
            for (int i = 0; i < PICTURES; i++)
                scene_pack(packed[c][format][i], 160 * scene_pixel_bytes((vfront_format_t)format),
                           c ? pair_right[i] : pair_grey[i], 160, 160, 120, (vfront_format_t)format);
    for (size_t i = 0; i < sizeof mask; i++) mask[i] = i % 7 > 0;
}

/** Frame of the i-th kind. */
static vfront_frame_t frame_of(uint64_t i)
{
    vfront_frame_t f = pair_frame(i);
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        vfront_picture_t *p = &f.picture[c];
        p->format = (vfront_format_t)(i % 6);
        p->data = packed[c][i % 6][i % PICTURES];
        p->pitch_bytes = 160 * scene_pixel_bytes(p->format);
        if (i % 4 == 1) {
            void *data, *both[VFRONT_INPUTS];
            if (vfront_input(&pair_vf, c, &data) || vfront_inputs(&pair_vf, c, both)) fail();
            memcpy(data, p->data, p->pitch_bytes * 120);
            p->data = data;
            p->memory = VFRONT_PINNED_MEMORY;
        }
        if (i % 5 == 2) p->mask = mask, p->mask_width_px = 160, p->mask_height_px = 120, p->mask_pitch_bytes = 160;
    }
    gyro[0].t_ns = f.t_ns - 1000000;
    gyro[1].t_ns = f.t_ns;
    if (i % 3 == 1) f.R_cur_prev = still;
    if (i % 3 == 2) f.gyro = gyro, f.gyro_count = 2;
    for (uint32_t k = 0; k < 2; k++) imu[k].t_ns = f.t_ns + 5000000u * k;
    if (i % 3 == 1 && i % 100 >= 50) f.imu = imu, f.imu_count = 2; /* vision only before */
    return f;
}

static struct {
    int depths, matches, motions, disparities, stixels, states; /* number of frames that have some */
} worked;

/** Saves a map at intervals, and loads it after vfront_reset(). */
static void keep_map(uint64_t i)
{
#if VFRONT_MAP
    static uint8_t image[VFRONT_MAP_BYTES];
    static size_t bytes;
    net.returns = 1;
    if (i % 100 == 70 && vfront_map_save(&pair_vf, image, sizeof image, &bytes)) fail();
    if (i && i % 100 == 0 && vfront_map_load(&pair_vf, image, bytes)) fail();
    net.returns = 0;
#else
    (void)i;
#endif
}

static void step(uint64_t i)
{
    const vfront_result_t *r;
    keep_map(i);
    vfront_frame_t f = frame_of(i), bad = f;
    bad.picture[VFRONT_CAMERAS - 1].format = (vfront_format_t)77;
    if (vfront_submit(&pair_vf, &bad) != VFRONT_E_FORMAT) fail();
    const int goes = net.failover && pair_port == VFRONT_PORT_CUDA;
    if (goes && i % 50 == 30) {
        net.returns = 1;
        if (vfront_return(&pair_vf)) fail();
        net.returns = 0;
    }
    net.loses = goes && i % 50 == 20;
    if (vfront_submit(&pair_vf, &f)) fail();
    net.loses = 0;
    vfront_status_t status;
    do status = vfront_wait(&pair_vf, 0, &r);
    while (status == VFRONT_E_TIMEOUT);
    if (status || !vfront_digest(r) || !r->tracks_count || !r->descriptors_count[0]) fail();
    if (goes && (int)r->timing.failed_over != (i % 50 >= 20 && i % 50 < 30)) fail();
    worked.depths += r->depths_count > 0;
    worked.matches += r->matches_count > 0;
    worked.states += r->nav.state == VFRONT_NAV_STEREO_ONLY;
    worked.motions += r->relative.inliers > 0 && r->metric.inliers > 0;
#if VFRONT_STIXELS
    worked.disparities += r->disparity.px16 && r->disparity.valid > 1000;
    for (uint32_t k = 0; k < r->columns_count; k++)
        if (r->stixels_count[k]) {
            worked.stixels++;
            break;
        }
#endif
    if (i % 100 == 99 && vfront_reset(&pair_vf)) fail();
}

static void run(int rectify, int failover)
{
    prepare();
    vfront_rig_t rig = pair_with_imu();
    const int dense = rectify && VFRONT_STIXELS;
    rig.road_height_m = dense ? 0.5 : 0.0; /* a given road, so that there are stixels for any images */
    vfront_tuning_t tuning;
    vfront_tuning_default(&tuning);
    tuning.rectify = rectify;
    tuning.failover = failover;
    tuning.vio = tuning.map = 1;
    tuning.wait = rectify ? VFRONT_WAIT_NAP : VFRONT_WAIT_SPIN; /* sleeping is up to the driver: vfront.h */
    tuning.dense = tuning.stixel = dense;
    assert_int_equal(vfront_init(&pair_vf, &rig, &tuning, pair_port), VFRONT_OK);
    const int steps = pair_fake() ? FAKE_STEPS : STEPS;
    net.calls = net.wrong = net.others = 0;
    net.failover = failover;
    memset(&worked, 0, sizeof worked);
    struct held before = {0, 0, 0};
    net.armed = 1;
    for (uint64_t i = 0; i < (uint64_t)steps; i++) {
        if (i == CONVERGED) {
            net.armed = 0;
            wait_steady();
            before = look();
            net.armed = 1;
        }
        net.step = (long)i;
        step(i);
    }
    net.armed = 0;
    const struct held after = look();
    const int most = steps * 9 / 10;
    if (worked.depths < most || worked.matches < most || worked.motions < most) /* every stage was active */
        fail_msg("of %d frames %d have depths, %d matches, %d motions", steps, worked.depths, worked.matches,
                 worked.motions);
    if (!worked.states) fail_msg("no state in %d frames", steps);
    if (dense && (worked.disparities < most || worked.stixels < most))
        fail_msg("of %d frames %d have disparities, %d stixels", steps, worked.disparities, worked.stixels);
    vfront_shutdown(&pair_vf);
    if (net.others) print_message("threads of the driver called allocators %ld times\n", net.others);
    if (net.wrong) fail_msg("%s was called %ld times after vfront_init()", net.last, net.wrong);
    if (net.calls)
        fail_msg("%s and others were called %ld times after vfront_init(), in steps %ld to %ld", net.last, net.calls,
                 net.first, net.latest);
    same_held(&before, &after);
}

static void nothing_allocated(void **state)
{
    (void)state;
    run(0, 0);
}

static void nothing_allocated_rectified(void **state)
{
    (void)state;
    run(1, 0);
}

/** With the host port on standby, with fail-over and return. */
static void nothing_allocated_failing_over(void **state)
{
    (void)state;
    run(1, 1);
}

/** Each check detects a single allocation. */
static void nets_hold(void **state)
{
    (void)state;
    void *volatile kept;
    wait_steady();
    const struct held before = look();
    net.calls = 0;
    net.armed = 1;
    kept = malloc(1 << 20);
    void *volatile other = aligned_alloc(64, 64);
    free(other);
    net.armed = 0;
    const struct held after = look();
    assert_int_equal(net.calls, 3);
    assert_true(after.heap > before.heap || after.pages > before.pages);
    free(kept);
#ifdef VFRONT_CUDA
    if (pair_port != VFRONT_PORT_CUDA) return;
    void *device;
    net.wrong = 0;
    net.armed = 1;
    assert_int_equal(cudaMalloc(&device, 64 << 20), cudaSuccess);
    net.armed = 0;
    assert_true(look().device < before.device);
    cudaFree(device);
    assert_int_equal(net.wrong, 1);
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(nothing_allocated, pair_end),
        cmocka_unit_test_teardown(nothing_allocated_rectified, pair_end),
        cmocka_unit_test_teardown(nothing_allocated_failing_over, pair_end),
        cmocka_unit_test(nets_hold),
    };
    steps_here = 1;
    return pair_run("alloc", tests, sizeof tests / sizeof *tests);
}
