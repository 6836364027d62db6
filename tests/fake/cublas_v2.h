/* SPDX-License-Identifier: MIT */
/* The part of cuBLAS that port/cuda and the kernels use, after its public documentation, for builds without a toolkit.
 * tests/core/cublas.c defines the functions of port/cuda; those of the kernels are only declared, for
 * tests/house/configs.py. */
#ifndef FAKE_CUBLAS_V2_H
#define FAKE_CUBLAS_V2_H

#include <cuda_runtime_api.h>

typedef struct cublasContext *cublasHandle_t;
typedef enum {
    CUBLAS_STATUS_SUCCESS = 0,
    CUBLAS_STATUS_NOT_INITIALIZED = 1,
    CUBLAS_STATUS_ALLOC_FAILED = 3,
    CUBLAS_STATUS_INVALID_VALUE = 7,
    CUBLAS_STATUS_ARCH_MISMATCH = 8,
    CUBLAS_STATUS_MAPPING_ERROR = 11,
    CUBLAS_STATUS_EXECUTION_FAILED = 13,
    CUBLAS_STATUS_INTERNAL_ERROR = 14,
    CUBLAS_STATUS_NOT_SUPPORTED = 15,
    CUBLAS_STATUS_LICENSE_ERROR = 16
} cublasStatus_t;

cublasStatus_t cublasCreate_v2(cublasHandle_t *handle);
cublasStatus_t cublasDestroy_v2(cublasHandle_t handle);
typedef enum { CUBLAS_OP_N = 0, CUBLAS_OP_T = 1 } cublasOperation_t;
cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream);
cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes);
cublasStatus_t cublasSgeqrfBatched(cublasHandle_t handle, int m, int n, float *const a[], int lda, float *const tau[],
                                   int *info, int count);
cublasStatus_t cublasSgetrfBatched(cublasHandle_t handle, int n, float *const a[], int lda, int *pivots, int *info,
                                   int count);
cublasStatus_t cublasSgetrsBatched(cublasHandle_t handle, cublasOperation_t form, int n, int columns,
                                   const float *const a[], int lda, const int *pivots, float *const b[], int ldb,
                                   int *info, int count);
#define cublasCreate cublasCreate_v2
#define cublasDestroy cublasDestroy_v2
#define cublasSetStream cublasSetStream_v2
#define cublasSetWorkspace cublasSetWorkspace_v2

#endif
