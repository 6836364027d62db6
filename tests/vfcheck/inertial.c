/* SPDX-License-Identifier: MIT */
/* vfcheck: times of stereo-inertial steps on the rendered flight, with the estimator, and with the map. */
#include <stdio.h>

#include "vfbench.h"

#if VFRONT_VIO && VFRONT_CAMERAS > 1
#if VFRONT_MAP
/** Prints the time that the map's stages add to a step, by their own clocks and by the step's. */
static void print_map(const struct wall *with, const struct wall *without)
{
    static const int stage[] = {VF_recall, VF_relpose, VF_keyframe, VF_loop, VF_map};
    double sum = 0.0;
    printf("    the map, %d keyframes at most:", VFRONT_KEYFRAMES);
    for (size_t i = 0; i < sizeof stage / sizeof *stage; i++) {
        printf(" %s %.1f", vfront_stage_name((size_t)stage[i]), (double)with->stage[stage[i]]);
        sum += (double)with->stage[stage[i]];
    }
    printf(", together %.1f; the step grows by %.1f us p50, %.1f of the device; %.1f loops a step\n", sum,
           (double)(with->p50 - without->p50), (double)(with->device - without->device), (double)with->loops);
}
#endif

static struct wall bench_flight(const char *what, const vfront_tuning_t *t)
{
    start_flown(t);
    const struct wall w = measure_steps(0, 0, FILL_REAL, 400);
    print_wall(what, &w);
    if (t->vio) printf("    a good state of the IMU in %.0f %% of the steps\n", 100.0 * (double)w.states);
    finish();
    return w;
}

void bench_inertial(void)
{
    vfront_tuning_t t = standard();
    flown_draw(WIDTH, HEIGHT);
    printf("\nstereo-inertial steps on the rendered flight of %dx%d\n", WIDTH, HEIGHT);
    bench_flight("  all: tracks, depths, matches, motion", &t);
    t.vio = 1;
    const struct wall without = bench_flight("  the same with the state of the IMU", &t);
    (void)without;
#if VFRONT_MAP
    t.map = 1;
    const struct wall with = bench_flight("  and with the map", &t);
    print_map(&with, &without);
    t.failover = 1;
    const struct wall mirrored = bench_flight("  and with the host port standing by", &t);
    printf("    the mirror: the step grows by %.1f us p50, %.1f of the device\n", (double)(mirrored.p50 - with.p50),
           (double)(mirrored.device - with.device));
#else
    puts("  with the map: not in this config");
#endif
}

void latency_of_state(void)
{
    vfront_tuning_t t = standard();
    t.vio = 1;
    flown_draw(WIDTH, HEIGHT);
    start_flown(&t);
    const struct wall w = measure_steps(0, 0, FILL_REAL, options.latency);
    printf("  stereo-inertial, rendered flight, p50 / p99 / p99.9 / max: in the air %.1f / %.1f / %.1f / %.1f",
           (double)w.air_p50, (double)w.air_p99, (double)w.air_p999, (double)w.air_most);
    printf("  p99.9 to p50 %.2f; with the steps that begin a state %.1f / %.1f / %.1f / %.1f",
           (double)(w.air_p999 / w.air_p50), (double)w.p50, (double)w.p99, (double)w.p999, (double)w.most);
    printf("; a good state in %.0f %%; submit %.1f, device %.1f\n", 100.0 * (double)w.states, (double)w.submit,
           (double)w.device);
    finish();
}
#else
void bench_inertial(void) { puts("\nstereo-inertial steps: not in this config"); }
void latency_of_state(void) { puts("  stereo-inertial: not in this config"); }
#endif
