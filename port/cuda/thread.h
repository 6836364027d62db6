/* SPDX-License-Identifier: MIT */
/* A thread that makes calls for another one, one job at a time, so that a call that never returns can be given up: the
 * caller waits for a job until a time of its choice, and no longer. All that a job touches lies in memory of the
 * thread, which therefore lives for as long as a call may still use it. Nothing is allocated after the start. */
#ifndef VF_THREAD_H
#define VF_THREAD_H

#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>

/** Memory shared by a thread and its caller, on the thread's own stack. */
struct vf_thread {
    sem_t bell;           /* wakes the thread */
    uint32_t given, done; /* jobs so far; equal: the thread is idle, and its memory is the caller's */
    uint32_t left;        /* 1: the caller is leaving, 2: it has left and touches this no more */
    uint32_t awake_us;    /* time for which the thread looks for a job before it sleeps */
};

/** A clock that does not go back [ns]. */
uint64_t vf_now_ns(void);
/** Tells the processor that this is a loop that waits. */
void vf_relax(void);

/** Starts a thread with all signals blocked. `main` calls vf_thread_begin() with what it is given, then
 *  vf_thread_next() in a loop, and vf_thread_done() after each job. *made: what begin was told. Returns 0 if there can
 *  be no thread. */
int vf_thread_start(pthread_t *id, void *(*main)(void *), void **made);

/** The thread's side. begin: tells the starter where the thread's memory is, which is ready by then. next: waits for a
 *  job; returns 0 when the caller has left. done: that job is done. */
void vf_thread_begin(struct vf_thread *t, uint32_t awake_us, void **made, void *memory);
int vf_thread_next(struct vf_thread *t);
void vf_thread_done(struct vf_thread *t);

/** The caller's side. rouse: wakes the thread ahead of a job, so that it is awake when the job comes. give: starts a
 *  job; the thread must be idle. idle: 1 if it is. wait: waits until it is idle, or until the clock shows until_ns, and
 *  returns whether it is. */
void vf_thread_rouse(struct vf_thread *t);
void vf_thread_give(struct vf_thread *t);
int vf_thread_idle(const struct vf_thread *t);
int vf_thread_wait(const struct vf_thread *t, uint64_t until_ns);

/** Ends the thread as soon as it is idle; the caller must not touch *t any more. Waits for that until the clock shows
 *  until_ns; a thread that still lives then ends by itself when its call returns. */
void vf_thread_leave(struct vf_thread *t, pthread_t id, uint64_t until_ns);

#endif
