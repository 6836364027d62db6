/* SPDX-License-Identifier: MIT */
/* vfcheck's kernel times for the emulation, which has none. */
#include <stdio.h>

#include "tests/vfcheck/vfcheck.h"

static void none(void) { puts("times: none, these kernels are emulated"); }

void run_bench(void) { none(); }
void run_inertial(void) { none(); }
void run_motion(void) { none(); }
void run_dense(void) { none(); }
void run_latency(void) { none(); }
void run_pace(void) { none(); }
int run_neighbour(void) { return none(), 0; }
int with_part_of_chip(unsigned multiprocessors, void (*work)(void)) { return (void)multiprocessors, (void)work, 0; }
