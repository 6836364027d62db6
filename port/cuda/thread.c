/* SPDX-License-Identifier: MIT */
/* Worker thread of the CUDA port. */
#define _GNU_SOURCE /* for pthread_tryjoin_np() */
#include "thread.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <sys/prctl.h>

#define SECOND_NS 1000000000u

uint64_t vf_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

struct timespec vf_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / SECOND_NS), .tv_nsec = (long)(ns % SECOND_NS)};
}

void vf_cpu_relax(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/** Waits for a short time. waited_ns: time waited so far. Below 20 us it spins, below 2 ms it yields the processor,
 *  which the other thread may need, and above it sleeps. */
static void wait_briefly(uint64_t waited_ns)
{
    const struct timespec nap = {0, 50000};
    if (waited_ns < 20000u)
        vf_cpu_relax();
    else if (waited_ns < 2000000u)
        sched_yield();
    else
        nanosleep(&nap, NULL);
}

/* ---- worker ------------------------------------------------------------------------------------------------------ */

void vf_thread_begin(struct vf_thread *t, void **made, void *memory)
{
    t->started = t->done = t->ending = 0;
    t->from_ns = t->until_ns = t->ahead_ns = t->prepared_ns = 0;
    sem_init(&t->wake, 0, 0);
    prctl(PR_SET_TIMERSLACK, 1ul); /* wakes up by itself without the default tolerance of 50 us */
    __atomic_store_n(made, memory, __ATOMIC_RELEASE);
}

static int has_job(const struct vf_thread *t) { return !vf_thread_idle(t); }

/** 1 if the caller is leaving. Then first waits until the caller has left, because a leaving caller still accesses the
 *  semaphore. */
static int is_ending(const struct vf_thread *t)
{
    if (!__atomic_load_n(&t->ending, __ATOMIC_ACQUIRE)) return 0;
    while (__atomic_load_n(&t->ending, __ATOMIC_ACQUIRE) != 2) sched_yield();
    return 1;
}

/** Sleeps until the caller wakes the worker, or for sleep_ns; 0: without an end. The semaphore's clock may be set
 *  meanwhile: then the worker wakes up too early, or with the next job only. */
static void sleep_for(struct vf_thread *t, uint64_t sleep_ns)
{
    struct timespec end;
    if (is_ending(t) || has_job(t)) return;
    if (!sleep_ns) {
        sem_wait(&t->wake);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &end);
    const time_t seconds = end.tv_sec;
    end = vf_timespec((uint64_t)end.tv_nsec + sleep_ns);
    end.tv_sec += seconds;
    sem_timedwait(&t->wake, &end);
}

enum vf_next vf_thread_next(struct vf_thread *t)
{
    for (int soon = 0;;) {
        for (int i = 0; i < 32; i++, vf_cpu_relax()) {
            if (is_ending(t)) return VF_NEXT_END;
            if (has_job(t)) return VF_NEXT_JOB;
        }
        if (soon) return VF_NEXT_SOON;
        while (!sem_trywait(&t->wake)) {} /* earlier posts: what they announced is read below */
        const uint64_t from = __atomic_load_n(&t->from_ns, __ATOMIC_RELAXED), now = vf_now_ns(),
                       wake = from > t->ahead_ns ? from - t->ahead_ns : 0;
        if (now < wake && t->prepared_ns != from) {
            sleep_for(t, wake - now);
            soon = vf_now_ns() >= wake;
            if (soon) t->prepared_ns = from;
        } else if (now < __atomic_load_n(&t->until_ns, __ATOMIC_RELAXED)) {
            sched_yield(); /* the other thread may need the processor */
        } else {
            sleep_for(t, 0);
        }
    }
}

void vf_thread_done(struct vf_thread *t) { __atomic_store_n(&t->done, t->done + 1, __ATOMIC_RELEASE); }

/* ---- caller ------------------------------------------------------------------------------------------------------ */

int vf_thread_start(pthread_t *id, void *(*main)(void *), void **made)
{
    sigset_t all, before;
    *made = NULL;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all,
                    &before); /* the new thread inherits this mask, so that signals go to the application's threads */
    const int error = pthread_create(id, NULL, main, made);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    while (!error && !__atomic_load_n(made, __ATOMIC_ACQUIRE)) sched_yield();
    return !error;
}

int vf_thread_idle(const struct vf_thread *t)
{
    return __atomic_load_n(&t->started, __ATOMIC_ACQUIRE) == __atomic_load_n(&t->done, __ATOMIC_ACQUIRE);
}

void vf_thread_expect(struct vf_thread *t, uint64_t from_ns, uint64_t until_ns)
{
    __atomic_store_n(&t->from_ns, from_ns, __ATOMIC_RELAXED);
    __atomic_store_n(&t->until_ns, until_ns, __ATOMIC_RELAXED);
}

void vf_thread_wake(struct vf_thread *t) { sem_post(&t->wake); }

void vf_thread_start_job(struct vf_thread *t)
{
    __atomic_store_n(&t->started, t->started + 1, __ATOMIC_RELEASE);
    sem_post(&t->wake);
}

int vf_thread_wait(const struct vf_thread *t, uint64_t until_ns)
{
    const uint64_t start = vf_now_ns();
    for (uint64_t now = start; !vf_thread_idle(t); now = vf_now_ns()) {
        if (now >= until_ns) return 0;
        for (int i = 0; i < 32 && !vf_thread_idle(t); i++) vf_cpu_relax();
        if (!vf_thread_idle(t)) wait_briefly(now - start);
    }
    return 1;
}

void vf_thread_end(struct vf_thread *t, pthread_t id, uint64_t until_ns)
{
    __atomic_store_n(&t->ending, 1, __ATOMIC_RELEASE);
    sem_post(&t->wake);
    __atomic_store_n(&t->ending, 2, __ATOMIC_RELEASE);
    const uint64_t start = vf_now_ns();
    for (uint64_t now = start; pthread_tryjoin_np(id, NULL); now = vf_now_ns()) {
        if (now >= until_ns) {
            pthread_detach(id);
            return;
        }
        wait_briefly(now - start);
    }
}
