/* SPDX-License-Identifier: MIT */
/* Launchers of the kernels, one a stage: enqueue the stage's work for *s on a stream. */
#ifndef VF_CUDA_H
#define VF_CUDA_H

#include <cuda_runtime_api.h>

#include "core/memory.h"

#define VF_STAGE(name, needs, what) cudaError_t vf_##name##_cuda(const struct vf_step *s, cudaStream_t stream);
#include "stages.def"
#undef VF_STAGE

/** Bytes of shared memory that a block of the stage needs at least: the only one that may need more than every device has. */
size_t vf_stixel_shared(const struct vf_step *s);

#endif
