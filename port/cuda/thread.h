/* SPDX-License-Identifier: MIT */
/* Worker thread that makes calls for another thread, one job at a time. The caller waits for a job until a time limit,
 * so that it can abandon a call that never returns. All data of a job lie in memory of the worker, which lives as long
 * as a call may use it. Nothing is allocated after the start. */
#ifndef VF_THREAD_H
#define VF_THREAD_H

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

/** Memory that the worker thread and its caller share; it lies on the worker's stack. */
struct vf_thread {
    sem_t wake;        /* posted to wake the worker when it sleeps */
    uint32_t started,  /* number of jobs that the caller has started */
        done;          /* number of jobs done; equal to `started`: the worker is idle, its memory accessible */
    uint32_t ending;   /* 0: no; 1: the caller is leaving; 2: it has left and no longer accesses this struct */
    uint32_t awake_us; /* time for which the worker polls for a job before it sleeps [us] */
};

/** Reads the monotonic clock [ns]. */
uint64_t vf_now_ns(void);
/** Executes the processor's pause instruction, for polling loops. */
void vf_cpu_relax(void);

/** Starts a worker thread with all signals blocked. Its function `main` calls vf_thread_begin(), then vf_thread_next()
 *  in a loop, and vf_thread_done() after each job. *made: memory that the worker gave to vf_thread_begin(). Returns 0
 *  if no thread can be created. */
int vf_thread_start(pthread_t *id, void *(*main)(void *), void **made);

/** Worker: passes its initialised memory to the caller, as *made. awake_us: vf_thread.awake_us. */
void vf_thread_begin(struct vf_thread *t, uint32_t awake_us, void **made, void *memory);
/** Worker: waits for a job. Returns 0 when the caller has left. */
int vf_thread_next(struct vf_thread *t);
/** Worker: reports that the current job is done. */
void vf_thread_done(struct vf_thread *t);

/** Caller: wakes the worker early, while a job is being prepared. */
void vf_thread_wake(struct vf_thread *t);
/** Caller: starts a job. The worker must be idle. */
void vf_thread_start_job(struct vf_thread *t);
/** Caller: returns 1 if the worker is idle. */
int vf_thread_idle(const struct vf_thread *t);
/** Caller: waits until the worker is idle or the clock reaches until_ns. Returns 1 if the worker is idle. */
int vf_thread_wait(const struct vf_thread *t, uint64_t until_ns);

/** Ends the worker as soon as it is idle, and waits for its end until the clock reaches until_ns. The caller must not
 *  access *t any more. A worker that is still busy then ends by itself when its call returns. */
void vf_thread_end(struct vf_thread *t, pthread_t id, uint64_t until_ns);

#endif
