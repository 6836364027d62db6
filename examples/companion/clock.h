/* SPDX-License-Identifier: MIT
 *
 * Clock of the companion: the machine's monotonic clock; or, where a data set is played as fast as it can be, the time
 * of the data set; or, for machines that are too slow for it, a clock that is slower than the machine's.
 */
#ifndef COMPANION_CLOCK_H
#define COMPANION_CLOCK_H

#include <stdint.h>

/** Time [ns]. Of any thread. */
uint64_t clock_ns(void);

/** From now on the time is what it is set to, 0 and later, and stays in between. */
void clock_set_ns(uint64_t t_ns);

/** From now on the time passes `times` times as slowly, 1..1000. Before the first clock_ns(). */
void clock_slow(int times);

/** Sleeps until a time of the machine's clock; returns at once where the time is set. 0: a signal came before. */
int clock_sleep_until_ns(uint64_t t_ns);

#endif
