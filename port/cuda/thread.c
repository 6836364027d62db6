/* SPDX-License-Identifier: MIT */
/* A thread that makes calls for another one. */
#define _GNU_SOURCE /* pthread_tryjoin_np */
#include "thread.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <time.h>

uint64_t vf_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void vf_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/** Waits a little, the longer the longer it has been waited: spins for 20 us, then gives the processor away again and
 *  again, because the other thread may need it, and sleeps after 2 ms. */
static void wait_a_little(uint64_t waited_ns)
{
    const struct timespec nap = {0, 50000};
    if (waited_ns < 20000u)
        vf_relax();
    else if (waited_ns < 2000000u)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

void vf_thread_begin(struct vf_thread *t, uint32_t awake_us, void **made, void *memory)
{
    t->given = t->done = t->left = 0;
    t->awake_us = awake_us;
    sem_init(&t->bell, 0, 0);
    __atomic_store_n(made, memory, __ATOMIC_RELEASE);
}

static int has_job(const struct vf_thread *t) { return !vf_thread_idle(t); }

/** 1 if the caller is leaving. Then it is waited for, because it still touches the bell. */
static int is_left(const struct vf_thread *t)
{
    if (!__atomic_load_n(&t->left, __ATOMIC_ACQUIRE)) return 0;
    while (__atomic_load_n(&t->left, __ATOMIC_ACQUIRE) != 2) sched_yield();
    return 1;
}

int vf_thread_next(struct vf_thread *t)
{
    for (;;) {
        const uint64_t start = vf_now_ns(), awake_ns = (uint64_t)t->awake_us * 1000u;
        for (uint64_t waited = 0; waited < awake_ns; waited = vf_now_ns() - start) {
            for (int i = 0; i < 32; i++, vf_relax()) {
                if (is_left(t)) return 0;
                if (has_job(t)) return 1;
            }
            wait_a_little(waited);
        }
        while (!sem_trywait(&t->bell)) {} /* rung for jobs that were seen without it */
        if (!is_left(t) && !has_job(t)) sem_wait(&t->bell);
    }
}

void vf_thread_done(struct vf_thread *t) { __atomic_store_n(&t->done, t->done + 1, __ATOMIC_RELEASE); }

/* ---- its caller -------------------------------------------------------------------------------------------------- */

int vf_thread_start(pthread_t *id, void *(*main)(void *), void **made)
{
    sigset_t all, before;
    *made = NULL;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the application's threads; this one inherits that */
    const int error = pthread_create(id, NULL, main, made);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    while (!error && !__atomic_load_n(made, __ATOMIC_ACQUIRE)) sched_yield();
    return !error;
}

int vf_thread_idle(const struct vf_thread *t)
{
    return __atomic_load_n(&t->given, __ATOMIC_ACQUIRE) == __atomic_load_n(&t->done, __ATOMIC_ACQUIRE);
}

void vf_thread_rouse(struct vf_thread *t) { sem_post(&t->bell); }

void vf_thread_give(struct vf_thread *t)
{
    __atomic_store_n(&t->given, t->given + 1, __ATOMIC_RELEASE);
    sem_post(&t->bell);
}

int vf_thread_wait(const struct vf_thread *t, uint64_t until_ns)
{
    const uint64_t start = vf_now_ns();
    for (uint64_t now = start; !vf_thread_idle(t); now = vf_now_ns()) {
        if (now >= until_ns) return 0;
        for (int i = 0; i < 32 && !vf_thread_idle(t); i++) vf_relax();
        if (!vf_thread_idle(t)) wait_a_little(now - start);
    }
    return 1;
}

void vf_thread_leave(struct vf_thread *t, pthread_t id, uint64_t until_ns)
{
    __atomic_store_n(&t->left, 1, __ATOMIC_RELEASE);
    sem_post(&t->bell);
    __atomic_store_n(&t->left, 2, __ATOMIC_RELEASE);
    const uint64_t start = vf_now_ns();
    for (uint64_t now = start; pthread_tryjoin_np(id, NULL); now = vf_now_ns()) {
        if (now >= until_ns) {
            pthread_detach(id);
            return;
        }
        wait_a_little(now - start);
    }
}
