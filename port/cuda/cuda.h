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

/* Stages that the state does not wait for, with many blocks: motion from frame to frame. Their launches have the next
 * lower priority, unless that is the lowest, which other work has. From CUDA 12 on; before it a graph has the priority
 * of its stream. */
#define VF_LOWER (VF_BIT(match) | VF_BIT(ego))

/* Launchers of a stage apart from vf_<name>_cuda(), in their order: X(name, part), vf_<name>_<part>_cuda(). Before it
 * those of VF_EARLY. Behind it two branches in which a stage ends, beside one another: with the last one the stage's
 * clock ends, and the stages behind wait for it; the late one writes what the next step needs and this one does not
 * read, but for the mirror of report. */
#define VF_APART_BEFORE(X) X(match, early) X(window, early) X(keyframe, early) X(map, early)
#define VF_APART_BEHIND(X) X(window, last) X(window, late)
#define VF_APART(X) VF_APART_BEFORE(X) VF_APART_BEHIND(X)
#define VF_APART_LAUNCHER(name, part)                                                                                  \
    cudaError_t vf_##name##_##part##_cuda(const struct vf_##name##_view *s, cudaStream_t stream);
VF_APART(VF_APART_LAUNCHER)

#endif
