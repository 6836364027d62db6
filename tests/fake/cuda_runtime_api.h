/* SPDX-License-Identifier: MIT */
/* The part of the CUDA runtime's interface that port/cuda uses, for machines without a toolkit, where
 * tests/fake/cudart.c replaces the runtime. With a toolkit, `make test` also compiles the same files against its
 * headers, which reveals a wrong signature or number. Of release 13, unless CUDART_VERSION means 10.2:
 * tests/fake/cuda-10.2. Structs are incomplete, and not in the toolkit's order. */
#ifndef FAKE_CUDA_RUNTIME_API_H
#define FAKE_CUDA_RUNTIME_API_H

#include <stddef.h>

#ifndef CUDART_VERSION
#define CUDART_VERSION 13000
#endif

typedef enum cudaError {
    cudaSuccess = 0,
    cudaErrorInvalidValue = 1,
    cudaErrorMemoryAllocation = 2,
    cudaErrorInitializationError = 3,
#if CUDART_VERSION >= 11010
    cudaErrorStubLibrary = 34,
    cudaErrorUnsupportedPtxVersion = 222,
#endif
    cudaErrorInsufficientDriver = 35,
    cudaErrorInvalidDeviceFunction = 98,
    cudaErrorNoDevice = 100,
    cudaErrorInvalidDevice = 101,
    cudaErrorNoKernelImageForDevice = 209,
    cudaErrorInvalidResourceHandle = 400,
    cudaErrorNotReady = 600,
    cudaErrorIllegalAddress = 700,
    cudaErrorLaunchOutOfResources = 701,
    cudaErrorLaunchFailure = 719,
    cudaErrorSystemDriverMismatch = 803,
    cudaErrorCompatNotSupportedOnDevice = 804,
    cudaErrorNotPermitted = 800,
    cudaErrorNotSupported = 801,
    cudaErrorStreamCaptureUnsupported = 900,
    cudaErrorStreamCaptureInvalidated = 901,
    cudaErrorStreamCaptureUnjoined = 904,
    cudaErrorUnknown = 999
} cudaError_t;

typedef struct CUstream_st *cudaStream_t;
typedef struct CUevent_st *cudaEvent_t;
typedef struct CUgraph_st *cudaGraph_t;
typedef struct CUgraphNode_st *cudaGraphNode_t;
typedef struct CUgraphExec_st *cudaGraphExec_t;

enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2 };
enum cudaDeviceAttr {
    cudaDevAttrMultiProcessorCount = 16,
    cudaDevAttrMaxSharedMemoryPerMultiprocessor = 81,
    cudaDevAttrMaxSharedMemoryPerBlockOptin = 97
};
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal = 1 };
enum cudaMemoryType {
    cudaMemoryTypeUnregistered = 0,
    cudaMemoryTypeHost = 1,
    cudaMemoryTypeDevice = 2,
    cudaMemoryTypeManaged = 3
};

struct cudaPointerAttributes {
    enum cudaMemoryType type;
    int device;
    void *devicePointer, *hostPointer;
#if CUDART_VERSION < 11000
    enum cudaMemoryType memoryType;
    int isManaged;
#else
    long reserved[8];
#endif
};

struct cudaDeviceProp {
    char name[256];
    size_t sharedMemPerBlockOptin;
    int major, minor, multiProcessorCount;
};

enum cudaGraphNodeType { cudaGraphNodeTypeKernel = 0 };
struct cudaKernelNodeParams {
    void *func;
    struct {
        unsigned x, y, z;
    } gridDim, blockDim;
};
#if CUDART_VERSION >= 11070
enum cudaGraphInstantiateFlags { cudaGraphInstantiateFlagUseNodePriority = 8 };
typedef enum cudaLaunchAttributeID { cudaLaunchAttributePriority = 8 } cudaLaunchAttributeID;
typedef union cudaLaunchAttributeValue {
    char pad[64];
    int priority;
} cudaLaunchAttributeValue;
#endif
#if CUDART_VERSION >= 12030
typedef struct cudaGraphEdgeData_st {
    unsigned char from_port, to_port, type;
} cudaGraphEdgeData;
#endif

#define cudaStreamNonBlocking 0x01
#define cudaEventDisableTiming 0x02
#define cudaHostAllocMapped 0x02

#define CUDA_CALL(name, parameters, arguments, makes) cudaError_t name parameters;
#include "cuda_calls.def"
#undef CUDA_CALL

/* used by the tests and by the kernels' launchers, not by the port */
cudaError_t cudaGetDevice(int *device);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags);
cudaError_t cudaMemGetInfo(size_t *free, size_t *total);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaMemset(void *to, int value, size_t bytes);
cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr which, int device);
cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t *nodes, size_t *count);
#if CUDART_VERSION >= 13000
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, cudaGraphEdgeData *data,
                              size_t *count);
#else
cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t *from, cudaGraphNode_t *to, size_t *count);
#endif
cudaError_t cudaGraphNodeGetType(cudaGraphNode_t node, enum cudaGraphNodeType *type);
cudaError_t cudaGraphKernelNodeGetParams(cudaGraphNode_t node, struct cudaKernelNodeParams *params);
#if CUDART_VERSION >= 11070
cudaError_t cudaGraphKernelNodeGetAttribute(cudaGraphNode_t node, cudaLaunchAttributeID attribute,
                                            cudaLaunchAttributeValue *value);
#endif
#if CUDART_VERSION >= 12030
cudaError_t cudaFuncGetName(const char **name, const void *kernel);
#endif
const char *cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError(void);
const char *cudaGetErrorName(cudaError_t error);

#endif
