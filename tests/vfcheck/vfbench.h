/* SPDX-License-Identifier: MIT */
/* Front ends that vfcheck measures, and their steps: shared by the files with times. */
#ifndef VFBENCH_H
#define VFBENCH_H

#include "vfcheck.h"

#define WIDTH 752
#define HEIGHT 480

/** Means over some steps, but for the order statistics of wall time. */
struct wall {
    float p50, p99, p999, most, device, submit, tracks, partners, keypoints, depths, matches, states, loops;
    float air_p50, air_p99, air_p999, air_most; /* of steps with a good state before them and behind */
    float stage[VFRONT_STAGES];
    int nodes; /* of the graph; 0: there is none */
};

/** Pictures of every kind. */
void draw_pictures(int width, int height);

/** Begins a front end: of a rig; of so many cameras without calibration; of two calibrated ones side by side; on the
 *  rendered flight. It ends with finish(). */
void start_as(const vfront_rig_t *rig, const vfront_tuning_t *tuning, vfront_port_t port);
void start_rig(int width, int height, int cameras, const vfront_tuning_t *tuning, vfront_port_t port);
void start_pair(int width, int height, const vfront_tuning_t *tuning);
void start_flown(const vfront_tuning_t *tuning);
void finish(void);

/** A step on pictures of a kind; the next one of the rendered flight, if that was begun. */
const vfront_result_t *next_step(int width, int height, enum fill fill, long frame);

/** Clock [us]; an order for qsort; a share of sorted values that are not greater. */
double now_us(void);
int by_value(const void *a, const void *c);
float share(float *sorted, long n, double p);

/** Steps, after some that are not counted; the rendered flight has frames of its own. */
struct wall measure_steps(int width, int height, enum fill fill, long steps);
void print_wall(const char *what, const struct wall *w);

/** Steps with the state of the IMU, without and with the map. */
void bench_inertial(void);
/** Order statistics of such steps: of those alone that have a good state before them and behind, and of all. */
void latency_of_state(void);
/** Steps of the standard tuning on pictures of other sizes, by one camera and two, with fewer key points, and on
 *  noise. */
void bench_growth(void);

#endif
