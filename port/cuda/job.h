/* SPDX-License-Identifier: MIT */
/* Data of a job of the CUDA port's thread, and macros for its CUDA calls. Each call is recorded before it is made; a
 * failed one ends the job. */
#ifndef VF_JOB_H
#define VF_JOB_H

#include "cuda.h"
#include "thread.h"
#if VFRONT_CUBLAS
#include "kernels/ego/cublas.h"
#endif

/** Indices of CUDA streams: one per stage, then one for launches that write data of the next frame; number of
 *  streams. */
enum { VF_LATE_STREAM = VFRONT_STAGES, VF_STREAMS };

/** Time by which a thread wakes up before the event that it waits for, and for which the worker polls for a frame that
 *  is late [ns]. */
#define VF_LEAD_NS 100000u

/** State of the CUDA port, in memory of its worker thread. Other threads access it between jobs only, except
 * `at`, `ended` and `ticket`, which are atomic. */
struct vf_cuda {
    struct vf_thread thread;
    const char *at;                            /* text of the CUDA call that the thread is in, or made last */
    vfront_status_t (*job)(struct vf_cuda *c); /* function of the current job */
    vfront_status_t status;                    /* status that the job returned */
    const char *what,                          /* reason of a failure: format with %s and %d, for vf_refuse() */
        *rest;                                 /* text for the %s of `what` */
    int32_t number;                            /* number for the %d of `what` */
    int in_init; /* 1: failures get the detailed statuses of vfront_init(); 0: VFRONT_E_DEVICE, in a frame */
    /* The next members are arguments and results of jobs. */
    int32_t wait;    /* tuning value `wait`: VFRONT_WAIT_SPIN or VFRONT_WAIT_NAP */
    int32_t ordinal, /* tuning value `device`: number of the GPU */
        rank;        /* tuning value `priority`: 0 is the device's highest */
    void *to;
    const void *from, *last;
    size_t bytes, pinned_bytes;
    int mirrored; /* not 0: a mirror of the state is kept for fail-over (tuning value `failover`) */
    vfront_memory_t kind;
    const uint8_t *seen;
    int32_t parity;
    uint32_t active;
    int idle;      /* 1: stream[0] has no work left */
    char name[64]; /* name of the GPU */
    /* The members below are resources that the port frees when it closes. */
    cudaStream_t stream[VF_STREAMS]; /* [0] runs the graphs; the others only serve the capture of branches */
    cudaEvent_t done[VF_STREAMS];
    cudaGraph_t graph[2];
    cudaGraphExec_t exec[2], next; /* next: the one that the next frame launches, or NULL; of the worker alone */
    const uint64_t *ended;         /* in pinned memory: equals `ticket` once the last step launched has ended */
    uint64_t ticket;
    void *device, *pinned, *pinned_seen;
#if VFRONT_CUBLAS
    struct vf_cublas cublas;
#endif
    struct vf_views view[2]; /* copies of the views, since an abandoned launcher must not read the caller's memory */
};

/** Stores the reason of a failed job, and returns the job's status. call: failed call; a %s in it stands for the name
 *  of the error. */
vfront_status_t vf_cuda_fault(struct vf_cuda *c, cudaError_t error, const char *call);
/** Like vf_cuda_fault(), for a launcher of stage `stage` that failed in a call of cuBLAS or CUDA. */
vfront_status_t vf_cuda_launch_fault(struct vf_cuda *c, cudaError_t error, const char *stage);

/** Records the call that the thread is about to make, so that a hang can be reported by its name. */
static inline void vf_cuda_at(struct vf_cuda *c, const char *call) { __atomic_store_n(&c->at, call, __ATOMIC_RELAXED); }

/** Makes a CUDA call in the job of `c`; if it fails, returns from the enclosing function. */
#define VF_TRY(call)                                                                                                   \
    do {                                                                                                               \
        vf_cuda_at(c, #call);                                                                                          \
        const cudaError_t error_ = (call);                                                                             \
        if (error_ != cudaSuccess) return vf_cuda_fault(c, error_, #call ": %s");                                      \
    } while (0)

/** Makes a CUDA call that frees a resource, and ignores its result. */
#define VF_RELEASE(call) (vf_cuda_at(c, #call), (void)(call))

/** Prepares for the next frame's launch, shortly before it: uploads its graph again, which warms the processor's caches
 *  and shortens a launch after 33 ms by 20 to 30 us. Not while a step runs. Errors are left to the launch. */
void vf_cuda_prepare(struct vf_cuda *c);

/** Job in graph.c: captures the graphs of both parities and runs each once. c->active and c->view must be set. It sets
 *  c->in_init to 0. */
vfront_status_t vf_cuda_ready_job(struct vf_cuda *c);

#endif
