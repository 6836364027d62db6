/* SPDX-License-Identifier: MIT */
/* Launchers of the kernels, one a stage: each enqueues the stage's work for *s on a stream.
 * cudaErrorLaunchOutOfResources: a block of threads needs more shared memory than the device has. */
#ifndef VF_CUDA_H
#define VF_CUDA_H

#include <cuda_runtime_api.h>

#include "core/views.h"

#define VF_STAGE(name, needs, what) cudaError_t vf_##name##_cuda(const struct vf_##name##_view *s, cudaStream_t stream);
#include "stages.def"
#undef VF_STAGE

#endif
