/* SPDX-License-Identifier: MIT */
/* vfcheck: times of each kind of step at a camera's pace, 30 Hz, in both wait modes, beside the same steps back to
 * back. */
#include <stdio.h>

#include "vfbench.h"

static void print_pace(const char *what, const char *wait, const struct wall *w, const struct wall *back_to_back)
{
    printf(
        "  %-44s %7.1f us p50 %7.1f p99 %7.1f p99.9, processor %4.2f, submit %5.1f, device %6.1f | back to back %7.1f "
        "p50 %7.1f p99, processor %4.2f, submit %5.1f  %s\n",
        what, (double)w->p50, (double)w->p99, (double)w->p999, (double)w->processor, (double)w->submit,
        (double)w->device, (double)back_to_back->p50, (double)back_to_back->p99, (double)back_to_back->processor,
        (double)back_to_back->submit, wait);
}

/** Prints the rows of a kind of step, one for each wait mode. */
static void bench_kind(const char *what, vfront_tuning_t t, int is_flown)
{
    static const char *const name[] = {"spin", "nap"};
    for (t.wait = VFRONT_WAIT_SPIN; t.wait <= VFRONT_WAIT_NAP; t.wait++) {
        if (is_flown)
            start_flown(&t);
        else
            start_rig(WIDTH, HEIGHT, 1, &t, VFRONT_PORT_CUDA);
        const struct wall back_to_back = measure_steps(WIDTH, HEIGHT, FILL_REAL, 1000),
                          w = measure_at_pace(WIDTH, HEIGHT, FILL_REAL, options.pace);
        print_pace(what, name[t.wait], &w, &back_to_back);
        finish();
    }
}

static void bench_pictures(void)
{
    vfront_tuning_t t = corners_alone(1);
    t.track_target = 0;
    if (!options.brief) {
        bench_kind("FAST SAD-A, 1 level, no tracks", t, 0);
        bench_kind("8 levels, one picture", keypoints_alone(8), 0);
        bench_kind("mono: 5 levels, detect on 2, track 200", corners_alone(vf_min(2, VFRONT_SCALES)), 0);
    }
    bench_kind("standard: the same, 8 levels, descriptors", standard(), 0);
}

static void bench_pace(void)
{
    printf(
        "\nsteps every 33 ms, %ld of each kind, from submit to result, %dx%d; processor: time of all threads over wall "
        "time\n",
        options.pace, WIDTH, HEIGHT);
    bench_pictures();
#if VFRONT_VIO && VFRONT_CAMERAS > 1
    vfront_tuning_t t = standard();
    bench_kind("all: tracks, depths, matches, motion", t, 1);
    t.vio = 1;
    bench_kind("the same with the state of the IMU", t, 1);
    t.map = VFRONT_MAP;
    if (VFRONT_MAP) bench_kind("and with the map", t, 1);
#endif
}

void run_pace(void)
{
    draw_pictures(WIDTH, HEIGHT);
    flown_draw(WIDTH, HEIGHT);
    bench_pace();
    if (options.brief) return;
    if (!with_part_of_chip(8, bench_pace)) printf("8 multiprocessors: NOT RUN (no green contexts here)\n");
}
