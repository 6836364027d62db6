/* SPDX-License-Identifier: MIT
 *
 * A loop without an end: frames of the rendered flight with an IMU, held in memory, shown forward and back, its
 * readings turned around with it, to two vfront_t side by side. Their digests are equal; memory of the process and of
 * the device stays as it is; the last steps take as long as the first.
 *
 *   steady [--steps N] [--seconds N] [--frames N] [--every N] [--size WxH] [--port auto|cuda|host]
 *          [--set NAME=VALUE]...
 *
 * --every: steps between two comparisons; the last 1,000 are all compared. Exit: 0 held, 1 not, 2 usage.
 */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#ifdef VFRONT_CUDA
#include <cuda_runtime_api.h>
#endif

#include "examples/hil/cache.h"

#define RUNS 2
#define TENTHS 10
#define WARM 1000u          /* number of steps until memory is constant */
#define LAST 1000u          /* number of steps that are all compared */
#define GROWTH (256u << 10) /* tolerance for growth of the process without a leak: pages of its libraries [byte] */
#define SLOWER 1.5          /* largest ratio of the last tenth to the first: tolerance for other load */

static vfront_t vf[RUNS];
static cache_t *cache;

static struct {
    long steps, seconds, frames, every;
    char size[32];
    vfront_port_t port;
    vfront_tuning_t tuning;
} options = {10000, 86400, 200, 10, "192x144", VFRONT_PORT_AUTO, {0}};

static int fail(const char *what, const char *more)
{
    printf("steady: %s: %s\n", what, more);
    return 1;
}

static int set_tuning(const char *text)
{
    char name[64];
    const char *equals = strchr(text, '=');
    if (!equals) return 0;
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    return vfront_tuning_set(&options.tuning, name, (int32_t)strtol(equals + 1, NULL, 10)) == VFRONT_OK;
}

static int parse(int count, char **word)
{
    static const char *const port[] = {"auto", "cuda", "host"};
    const struct {
        const char *name;
        long *to;
    } number[] = {{"--steps", &options.steps},
                  {"--seconds", &options.seconds},
                  {"--frames", &options.frames},
                  {"--every", &options.every}};
    vfront_tuning_default(&options.tuning);
    options.tuning.vio = VFRONT_VIO;
    for (int i = 1; i + 1 < count; i += 2) {
        int known = strcmp(word[i], "--set") == 0 && set_tuning(word[i + 1]);
        for (size_t k = 0; k < sizeof number / sizeof *number; k++) {
            if (strcmp(word[i], number[k].name) != 0) continue;
            *number[k].to = strtol(word[i + 1], NULL, 10);
            known = *number[k].to > 0;
        }
        for (int k = 0; k < 3; k++) {
            if (strcmp(word[i], "--port") != 0 || strcmp(word[i + 1], port[k]) != 0) continue;
            options.port = (vfront_port_t)k;
            known = 1;
        }
        if (strcmp(word[i], "--size") == 0) known = snprintf(options.size, sizeof options.size, "%s", word[i + 1]) < 32;
        if (!known) return 0;
    }
    return count % 2 && options.frames > 2;
}

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/** Memory of the process and of the device in use [byte]. */
struct memory {
    size_t process, device;
};

static struct memory memory_now(void)
{
    struct memory m = {0, 0};
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%*d %ld", &pages) == 1) m.process = (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
    if (f) fclose(f);
#ifdef VFRONT_CUDA
    size_t left, total;
    if (options.port != VFRONT_PORT_HOST && cudaMemGetInfo(&left, &total) == cudaSuccess) m.device = total - left;
#endif
    return m;
}

/** Frame of a step, at a constant rate, and its IMU samples, none delivered before. */
static const char *frame_of(uint64_t step, vfront_frame_t *f)
{
    static vfront_imu_t samples[VFRONT_IMU_SAMPLES];
    static uint64_t last_ns;
    vfront_frame_t first, later;
    const uint64_t turn = 2 * ((uint64_t)options.frames - 1), at = step % turn;
    const int is_back = at >= (uint64_t)options.frames || (at == 0 && step);
    const uint32_t index = (uint32_t)(at < (uint64_t)options.frames ? at : turn - at);
    const char *error = cache_frame(cache, 0, &first);
    if (!error) error = cache_frame(cache, 1, &later);
    if (error) return error;
    const uint64_t interval_ns = later.t_ns - first.t_ns;
    if ((error = cache_frame(cache, index, f)) != NULL) return error;
    const uint64_t shown_ns = f->t_ns, t_ns = first.t_ns + step * interval_ns;
    if (is_back && (error = cache_frame(cache, index + 1, &later)) != NULL) return error;
    const vfront_frame_t *from = is_back ? &later : f;
    uint32_t n = 0;
    for (uint32_t i = 0; i < from->imu_count; i++) {
        vfront_imu_t r = from->imu[is_back ? from->imu_count - 1 - i : i];
        r.t_ns = is_back ? t_ns - interval_ns + (later.t_ns - r.t_ns) : t_ns - (shown_ns - r.t_ns);
        for (int k = 0; k < 3 && is_back; k++) r.gyro_rad_s[k] = -r.gyro_rad_s[k];
        if (r.t_ns <= last_ns || (r.t_ns > t_ns + interval_ns / 2)) continue;
        last_ns = r.t_ns;
        samples[n++] = r;
    }
    f->t_ns = t_ns;
    f->imu = from->imu ? samples : NULL;
    f->imu_count = n;
    f->gyro = NULL;
    f->gyro_count = 0;
    for (int i = 0; i < VFRONT_CAMERAS; i++) f->picture[i].t_ns = 0;
    return NULL;
}

/** Statistics of the steps so far. */
struct tally {
    uint64_t compared, differ, digest, good;
    double tenth_s[TENTHS];
    struct memory warm, end;
};

static const char *step_both(uint64_t step, int compares, struct tally *o)
{
    vfront_frame_t f;
    const vfront_result_t *r[RUNS];
    uint64_t digest[RUNS];
    const char *error = frame_of(step, &f);
    for (int i = 0; i < RUNS && !error; i++)
        if (vfront_submit(&vf[i], &f)) error = vfront_detail(&vf[i]);
    for (int i = 0; i < RUNS && !error; i++)
        if (vfront_wait(&vf[i], UINT32_MAX, &r[i])) error = vfront_detail(&vf[i]);
    if (error) return error;
    o->good += r[0]->nav.state == VFRONT_NAV_GOOD;
    if (!compares) return NULL;
    for (int i = 0; i < RUNS; i++) digest[i] = vfront_digest(r[i]);
    o->compared++;
    o->differ += digest[0] != digest[1];
    o->digest = (o->digest ^ digest[0]) * 0x100000001b3u;
    return NULL;
}

static uint64_t run(struct tally *o, const char **error)
{
    const double begin_s = now_s();
    const uint64_t steps = (uint64_t)options.steps, tenth = steps / TENTHS ? steps / TENTHS : 1;
    double since_s = begin_s;
    uint64_t step = 0;
    for (; step < steps && !*error && now_s() - begin_s < (double)options.seconds; step++) {
        *error = step_both(step, step % (uint64_t)options.every == 0 || step + LAST >= steps, o);
        if (step == WARM) o->warm = memory_now();
        if ((step + 1) % tenth || step / tenth >= TENTHS) continue;
        o->tenth_s[step / tenth] = (now_s() - since_s) / (double)tenth;
        since_s = now_s();
        printf("%9" PRIu64 " steps, %.1f us a step of both, process %zu KiB, device %zu KiB\n", step + 1,
               o->tenth_s[step / tenth] * 1e6, memory_now().process >> 10, memory_now().device >> 10);
        fflush(stdout);
    }
    o->end = memory_now();
    return step;
}

static int evaluate(const struct tally *o, uint64_t steps)
{
    int failures = 0;
    printf("%" PRIu64 " steps, %" PRIu64 " compared, digest %016" PRIx64 ", state good in %.1f %%\n", steps,
           o->compared, o->digest, steps ? 100.0 * (double)o->good / (double)steps : 0.0);
    if (steps < (uint64_t)options.steps) failures += fail("time is over", "fewer steps than asked for");
    if (o->differ || !o->compared) failures += fail("digests", "not equal");
    if (steps > WARM && o->end.process > o->warm.process + GROWTH) failures += fail("memory of the process", "grows");
    if (steps > WARM && o->end.device != o->warm.device) failures += fail("memory of the device", "changes");
    if (steps == (uint64_t)options.steps && o->tenth_s[TENTHS - 1] > SLOWER * o->tenth_s[1])
        failures += fail("time", "the last tenth is slower");
    return failures;
}

int main(int count, char **word)
{
    static struct tally o;
    char where[64];
    dataset_t *dataset;
    if (!parse(count, word)) return fail("usage", "see the head of tests/core/steady.c"), 2;
    snprintf(where, sizeof where, "synthetic:%s", options.size);
    const char *error = dataset_open(&dataset, where, VFRONT_CAMERAS, NULL, NULL, NULL);
    if (error) return fail(where, error);
    if (options.tuning.vio) dataset_use_imu(dataset);
    cache = cache_open(dataset, (uint32_t)options.frames);
    for (int i = 0; i < RUNS && !error; i++)
        if (vfront_init(&vf[i], dataset_rig(dataset), &options.tuning, options.port)) error = vfront_detail(&vf[i]);
    const uint64_t steps = error || !cache ? 0 : run(&o, &error);
    const int failures = error ? fail("a step", error) : evaluate(&o, steps);
    for (int i = 0; i < RUNS; i++) vfront_shutdown(&vf[i]);
    cache_close(cache);
    dataset_close(dataset);
    return failures != 0;
}
