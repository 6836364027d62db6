/* SPDX-License-Identifier: MIT */
/* Front ends measured by vfcheck, and their steps: shared by the timing files. */
#ifndef VFBENCH_H
#define VFBENCH_H

#include "vfcheck.h"

#define WIDTH 752
#define HEIGHT 480

/** Means over some steps; order statistics of wall time. */
struct wall {
    float p50, p99, p999, most, device, submit, tracks, partners, keypoints, depths, matches, states, loops;
    float air_p50, air_p99, air_p999, air_most; /* of steps with a good estimate before and after them */
    float processor; /* processor time of steps in all threads of the process, a share of wall time */
    float stage[VFRONT_STAGES];
    int nodes; /* nodes of the graph; 0: none */
};

/** Draws images of every kind. */
void draw_pictures(int width, int height);

/** Starts a front end: with a rig; with uncalibrated cameras; with two calibrated cameras side by side; on the rendered
 *  flight. Ended by finish(). */
void start_as(const vfront_rig_t *rig, const vfront_tuning_t *tuning, vfront_port_t port);
void start_rig(int width, int height, int cameras, const vfront_tuning_t *tuning, vfront_port_t port);
void start_pair(int width, int height, const vfront_tuning_t *tuning);
void start_flown(const vfront_tuning_t *tuning);
void finish(void);

/** Steps on images of a kind, or with the next frame of the rendered flight if that was started. */
const vfront_result_t *next_step(int width, int height, enum fill fill, long frame);

/** Clock [us]; comparison for qsort; share of sorted values not greater than a value. */
double now_us(void);
int by_value(const void *a, const void *c);
float share(float *sorted, long n, double p);

/** Measures steps after a warm-up; the rendered flight has its own frames. */
struct wall measure_steps(int width, int height, enum fill fill, long steps);
/** The same with a frame every 33 ms, for which the calling thread sleeps as for a camera's. */
struct wall measure_at_pace(int width, int height, enum fill fill, long steps);
void print_wall(const char *what, const struct wall *w);

/** Steps with the estimator, without and with the map. */
void bench_inertial(void);
/** Order statistics of these steps: of those with a good estimate before and after them, and of all. */
void latency_of_state(void);
/** Steps of the standard tuning over image sizes, with one camera and two, with fewer key points, and on noise. */
void bench_growth(void);

#endif
