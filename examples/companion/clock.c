/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, clock_nanosleep */
#include "clock.h"

#include <stdatomic.h>
#include <time.h>

static _Atomic int is_set; /* 0: the machine's clock */
static _Atomic uint64_t set_ns;
static uint64_t begin_ns; /* of a slow clock */
static uint64_t slow = 1;

static uint64_t machine_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void clock_slow(int times)
{
    begin_ns = machine_ns();
    slow = (uint64_t)times;
}

uint64_t clock_ns(void) { return is_set ? set_ns : begin_ns + (machine_ns() - begin_ns) / slow; }

void clock_set_ns(uint64_t t_ns)
{
    set_ns = t_ns;
    is_set = 1;
}

int clock_sleep_until_ns(uint64_t t_ns)
{
    if (t_ns > begin_ns) t_ns = begin_ns + (t_ns - begin_ns) * slow;
    const struct timespec t = {.tv_sec = (time_t)(t_ns / 1000000000u), .tv_nsec = (long)(t_ns % 1000000000u)};
    return is_set || clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == 0;
}
