/* SPDX-License-Identifier: MIT */
/* What a job of the CUDA port's thread works on, and how it makes its CUDA calls: each is noted before it is made, and
 * one that fails ends the job. */
#ifndef VF_JOB_H
#define VF_JOB_H

#include "cuda.h"
#include "thread.h"
#if VFRONT_CUBLAS
#include "kernels/geometry/cublas.h"
#endif

/** Streams: one a stage, and that of late launches. */
enum { VF_LATE_STREAM = VFRONT_STAGES, VF_STREAMS };

/** State of the port, in memory of its thread. Its caller touches it between jobs only, but for `at`. */
struct vf_cuda {
    struct vf_thread thread;
    const char *at; /* call that the thread is in, or was in last */
    /* the job, and what became of it: a status, with a format and a word for vf_refuse() */
    vfront_status_t (*job)(struct vf_cuda *c);
    vfront_status_t status;
    const char *what, *rest;
    int32_t number;
    int in_init; /* 1: statuses are those of vfront_init(), else of a step */
    /* what jobs take and give */
    int32_t wait;          /* tuning value wait */
    int32_t ordinal, rank; /* tuning values device, priority */
    void *to;
    const void *from, *last;
    size_t bytes, pinned_bytes;
    int mirrored; /* tuning value failover */
    vfront_memory_t kind;
    const uint8_t *seen;
    int32_t parity;
    uint32_t active;
    int idle;      /* the stream has nothing to do */
    char name[64]; /* of the device */
    /* what is to be given back */
    cudaStream_t stream[VF_STREAMS]; /* [0] runs the graphs; the others exist to capture branches */
    cudaEvent_t done[VF_STREAMS];
    cudaGraph_t graph[2];
    cudaGraphExec_t exec[2];
    void *device, *pinned, *pinned_seen;
#if VFRONT_CUBLAS
    struct vf_cublas cublas;
#endif
    struct vf_views view[2]; /* a copy: a launcher that is given up must not read the caller's */
};

/** Notes why a job failed; returns its status. A %s in `call` stands for the name of the error. */
vfront_status_t vf_cuda_fault(struct vf_cuda *c, cudaError_t error, const char *call);
/** The same for a stage's launcher, which failed in a call of cuBLAS or of CUDA. */
vfront_status_t vf_cuda_launch_fault(struct vf_cuda *c, cudaError_t error, const char *stage);

/** Notes which call the thread is about to make. */
static inline void vf_cuda_at(struct vf_cuda *c, const char *call) { __atomic_store_n(&c->at, call, __ATOMIC_RELAXED); }

/** Makes a CUDA call for the job of `c`, and returns from the function around it when that fails. */
#define VF_TRY(call)                                                                                                   \
    do {                                                                                                               \
        vf_cuda_at(c, #call);                                                                                          \
        const cudaError_t error_ = (call);                                                                             \
        if (error_ != cudaSuccess) return vf_cuda_fault(c, error_, #call ": %s");                                      \
    } while (0)

/** Makes a CUDA call that gives something back, whatever becomes of it. */
#define VF_GIVE_BACK(call) (vf_cuda_at(c, #call), (void)(call))

/** Job in graph.c: captures the graphs of both parities and runs each once. `active` and `view` must be set. From then
 *  on statuses are those of a step. */
vfront_status_t vf_cuda_ready_job(struct vf_cuda *c);

#endif
