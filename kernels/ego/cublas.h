/* SPDX-License-Identifier: MIT */
/* cublas: the cuBLAS handle passed to launchers. The CUDA port creates it in vfront_init() if the config has
 * VFRONT_CUBLAS; a launcher that uses it records a failed call. */
#ifndef VF_CUBLAS_H
#define VF_CUBLAS_H

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#if CUDART_VERSION < 11000
#error "vfront: VFRONT_CUBLAS needs CUDA 11 or later (see vfront_cfg.h)"
#endif

struct vf_cublas {
    cublasHandle_t handle;
    const char *call;      /* name of the last call if it failed, with "%s" for its status; else NULL */
    cublasStatus_t status; /* status of the last call */
};

/** Records the status of a cuBLAS call. Returns the closest error of the CUDA runtime. */
static inline cudaError_t vf_cublas_note(struct vf_cublas *c, cublasStatus_t status, const char *call)
{
    c->call = status == CUBLAS_STATUS_SUCCESS ? NULL : call;
    c->status = status;
    switch (status) {
    case CUBLAS_STATUS_SUCCESS: return cudaSuccess;
    case CUBLAS_STATUS_ALLOC_FAILED: return cudaErrorMemoryAllocation;
    case CUBLAS_STATUS_ARCH_MISMATCH: return cudaErrorNoKernelImageForDevice;
    case CUBLAS_STATUS_NOT_INITIALIZED: return cudaErrorInitializationError;
    case CUBLAS_STATUS_INVALID_VALUE: return cudaErrorInvalidValue;
    case CUBLAS_STATUS_EXECUTION_FAILED: return cudaErrorLaunchFailure;
    case CUBLAS_STATUS_NOT_SUPPORTED: return cudaErrorNotSupported;
    case CUBLAS_STATUS_LICENSE_ERROR: return cudaErrorNotPermitted;
    default: return cudaErrorUnknown; /* internal or mapping error of cuBLAS */
    }
}

#endif
