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

/* Stages with launches that need fewer stages than the rest of theirs, X(name, needs): vf_<name>_early_cuda(), behind
 * which vf_<name>_cuda() has the rest. What they write no other stage reads before that. The stage's clock begins with
 * the rest. */
#define VF_EARLY(X)                                                                                                    \
    X(match, VF_BIT(ingest) | VF_BIT(predict))                                                                         \
    X(window, 0)                                                                                                       \
    X(keyframe, VF_BIT(ingest) | VF_BIT(place) | VF_BIT(overlap))                                                      \
    X(map, VF_BIT(ingest))
#define VF_EARLY_LAUNCHER(name, needs)                                                                                 \
    cudaError_t vf_##name##_early_cuda(const struct vf_##name##_view *s, cudaStream_t stream);
VF_EARLY(VF_EARLY_LAUNCHER)

#endif
