/* SPDX-License-Identifier: MIT */
/* ego on the GPU, four launches:
 *
 * 16 blocks list the correspondences (ego_list.cuh).
 * A warp per hypothesis makes motions from a sample and scores them (ego_hypothesis.cuh). With VFRONT_CUBLAS, further
 * launches before it solve the linear systems (ego_systems.cuh).
 * A block per refined hypothesis finds it by its rank and refines it (ego_refine.cuh).
 * A block per property assesses the best motions, further blocks search an alternative motion; the last block to finish
 * writes the report (ego_assess.cuh, ego_covariance.cuh).
 *
 * src/ego/ego.h lists the arithmetic shared with the host.
 */
#include "kernels/kernel.cuh"

#include "ego/ego.h"
#include "image/ingest.h"
#include "tracking/match.h"
#include "tracking/refill.h"

#if VFRONT_EGO
#include "ego_list.cuh"
#include "ego_hypothesis.cuh"
#include "ego_refine.cuh"
#include "ego_assess.cuh"
#endif

extern "C" cudaError_t vf_ego_cuda(const vf_ego_view *s, cudaStream_t stream)
{
#if VFRONT_EGO
    const int relative = vf_ego_hypotheses(s, VF_RELATIVE),
              all = relative + vf_ego_hypotheses(s, VF_METRIC) + vf_ego_hypotheses(s, VF_ROTATION_ONLY);
    vf_ego_list_k<<<VF_EGO_LIST_BLOCKS, VF_BLOCK, 0, stream>>>(*s);
#if VFRONT_CUBLAS
    const cudaError_t error = relative ? vf_ego_solve_systems(s, relative, stream) : cudaSuccess;
    if (error) return error;
#endif
    if (all) vf_ego_hypothesis_k<<<vf_blocks(all, VF_EGO_TEAMS), VF_EGO_TEAMS * VF_WARP, 0, stream>>>(*s);
    vf_ego_refine_k<<<dim3(VF_EGO_REFINED, VF_SEARCHES), VF_EGO_LANES, 0, stream>>>(*s);
    vf_ego_assess_k<<<VF_EGO_PROPERTIES + vf_blocks(relative, VF_EGO_SEARCHED), VF_EGO_COVARIANCE_THREADS, 0, stream>>>(
        *s);
    return cudaGetLastError();
#else
    (void)s, (void)stream;
    return cudaSuccess;
#endif
}
