/* SPDX-License-Identifier: MIT */
/* What every test has: a condition that is said when it fails, and random numbers. */
#ifndef CHANCE_H
#define CHANCE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/** Fails with a message when the condition does not hold. */
#define REQUIRE(condition, ...)                         \
    do {                                                \
        if (!(condition)) {                             \
            print_error("ERROR: " __VA_ARGS__);         \
            print_error(" [" #condition "]\n");         \
            fail();                                     \
        }                                               \
    } while (0)

/* ---- random numbers: xorshift64*, from a seed that each test sets, so that no test depends on another ---------------- */

static uint64_t dice;

static inline void shake(uint64_t seed) { dice = seed * 0x9e3779b97f4a7c15ull + 1; }

static inline uint64_t roll64(void)
{
    dice ^= dice >> 12;
    dice ^= dice << 25;
    dice ^= dice >> 27;
    return dice * 0x2545f4914f6cdd1dull;
}

#endif
