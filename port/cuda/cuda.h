/* SPDX-License-Identifier: MIT */
/* Launchers of the kernels, one per stage: each enqueues the work of the stage for *s on a stream.
 * cudaErrorLaunchOutOfResources: a block needs more shared memory than the device has. */
#ifndef VF_CUDA_H
#define VF_CUDA_H

#include <cuda_runtime_api.h>

#include "core/views.h"

#define VF_STAGE(name, needs, what) cudaError_t vf_##name##_cuda(const struct vf_##name##_view *s, cudaStream_t stream);
#include "stages.def"
#undef VF_STAGE

/* Stages with early launches: X(name, stages whose output the early launches need). Early launches start before the
 * stage's main launches, because they wait for fewer stages. vf_<name>_early_cuda() enqueues them, then
 * vf_<name>_cuda() the main launches. No other stage reads what early launches write. The stage's time is measured
 * without them. */
#define VF_EARLY(X)                                                                                                    \
    X(match, VF_BIT(ingest) | VF_BIT(predict))                                                                         \
    X(vio, 0)                                                                                                          \
    X(keyframe, VF_BIT(ingest) | VF_BIT(recall) | VF_BIT(relpose))                                                     \
    X(map, VF_BIT(ingest))

/* Set of stages whose launches have many blocks, and whose results the state estimate does not wait for: motion between
 * frames. Their launches have the next lower priority than all others, unless that is the lowest, which is left to
 * other applications. Before CUDA 12 all launches of a graph have one priority. */
#define VF_LOW_PRIORITY (VF_BIT(match) | VF_BIT(ego))

/* Launchers of a stage beside its main launcher vf_<name>_cuda(): X(name, part) is vf_<name>_<part>_cuda(). Part
 * `early` comes before the main launches. Parts `last` and `late` come after them and run concurrently. `last`
 * completes the stage's output: later stages wait for it, and the stage's time ends with it. `late` writes data of the
 * next frame; in this frame only stage report reads them, which copies them for fail-over. */
#define VF_APART_BEFORE(X) X(match, early) X(vio, early) X(keyframe, early) X(map, early)
#define VF_APART_BEHIND(X) X(vio, last) X(vio, late)
#define VF_APART(X) VF_APART_BEFORE(X) VF_APART_BEHIND(X)
#define VF_APART_LAUNCHER(name, part)                                                                                  \
    cudaError_t vf_##name##_##part##_cuda(const struct vf_##name##_view *s, cudaStream_t stream);
VF_APART(VF_APART_LAUNCHER)

#endif
