/* SPDX-License-Identifier: MIT */
/* Worker thread that makes calls for another thread, one job at a time. The caller waits for a job until a time limit,
 * so that it can abandon a call that never returns. All data of a job lie in memory of the worker, which lives as long
 * as a call may use it. Nothing is allocated after the start. */
#ifndef VF_THREAD_H
#define VF_THREAD_H

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <time.h>

/** Memory that the worker thread and its caller share; it lies on the worker's stack. */
struct vf_thread {
    sem_t wake;                 /* posted to wake the worker when it sleeps */
    uint32_t started,           /* number of jobs that the caller has started */
        done;                   /* number of jobs done; equal to `started`: the worker is idle, its memory accessible */
    uint32_t ending;            /* 0: no; 1: the caller is leaving; 2: it has left and no longer accesses this struct */
    uint64_t from_ns, until_ns; /* times between which the worker polls for a job; outside of them it sleeps [ns] */
    uint64_t ahead_ns;          /* time by which the worker wakes up before from_ns, to prepare for the job [ns] */
    uint64_t prepared_ns;       /* from_ns for which it has prepared; of the worker alone */
};

/** What the worker does next: it ends; a job; it prepares for a job that is due soon. */
enum vf_next { VF_NEXT_END, VF_NEXT_JOB, VF_NEXT_SOON };

/** Reads the monotonic clock [ns]. */
uint64_t vf_now_ns(void);
/** A duration as struct timespec. */
struct timespec vf_timespec(uint64_t ns);
/** Executes the processor's pause instruction, for polling loops. */
void vf_cpu_relax(void);

/** Starts a worker thread with all signals blocked. Its function `main` calls vf_thread_begin(), then vf_thread_next()
 *  in a loop, and vf_thread_done() after each job. *made: memory that the worker gave to vf_thread_begin(). Returns 0
 *  if no thread can be created. */
int vf_thread_start(pthread_t *id, void *(*main)(void *), void **made);

/** Worker: passes its initialised memory to the caller, as *made. */
void vf_thread_begin(struct vf_thread *t, void **made, void *memory);
/** Worker: waits for a job, or for the time to prepare for it. VF_NEXT_END: the caller has left. */
enum vf_next vf_thread_next(struct vf_thread *t);
/** Worker: reports that the current job is done. */
void vf_thread_done(struct vf_thread *t);

/** Caller: sets the times between which the worker polls for its next job [ns]. It heeds them after the next
 *  vf_thread_wake() or vf_thread_start_job(), and then wakes up for them by itself. */
void vf_thread_expect(struct vf_thread *t, uint64_t from_ns, uint64_t until_ns);
/** Caller: wakes the worker, while a job is being prepared. */
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
