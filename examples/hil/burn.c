/* SPDX-License-Identifier: MIT */
#include "burn.h"

#include <pthread.h>
#include <stdatomic.h>

static pthread_t thread[BURN_MOST];
static int count;
static atomic_int wanted;

static void *burn(void *number)
{
    volatile unsigned long x = 1;
    const int own = (int)((pthread_t *)number - thread);
    while (atomic_load(&wanted) > own) x = x * 6364136223846793005u + 1;
    return number;
}

int burn_set(int threads)
{
    if (threads < 0 || threads > BURN_MOST) return 0;
    atomic_store(&wanted, threads);
    while (count > threads) pthread_join(thread[--count], 0);
    while (count < threads) {
        if (pthread_create(&thread[count], 0, burn, &thread[count])) return 0;
        count++;
    }
    return 1;
}
