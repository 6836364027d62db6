/* SPDX-License-Identifier: MIT */
#include "burn.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_t thread[BURN_MAX];
static int number[BURN_MAX];
static int count;
static atomic_int wanted;

static void *burn(void *own)
{
    volatile unsigned long x = 1;
    while (atomic_load(&wanted) > *(int *)own) x = x * 6364136223846793005u + 1;
    return own;
}

int burn_set(int threads)
{
    if (threads < 0 || threads > BURN_MAX) return 0;
    atomic_store(&wanted, threads);
    while (count > threads) pthread_join(thread[--count], 0);
    while (count < threads) {
        number[count] = count;
        if (pthread_create(&thread[count], 0, burn, &number[count])) return 0;
        count++;
    }
    return 1;
}
