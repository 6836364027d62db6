/* SPDX-License-Identifier: MIT */
/* ego on the GPU with VFRONT_CUBLAS: cuBLAS solves the linear systems of the minimal solvers, one batch over all
 * relative hypotheses. Kernels before and between its calls write the systems; vf_ego_hypothesis_k() reads the
 * solutions. */
#ifndef VF_EGO_SYSTEMS_CUH
#define VF_EGO_SYSTEMS_CUH

#include "cublas.h"
#include "ego_sample.cuh"

/** 1 if cuBLAS solves the linear systems of relative hypothesis h: it has a full sample and does not use the given
 *  rotation. */
static __device__ __forceinline__ bool has_system(const vf_ego_view &s, int h)
{
    return (int)s.ego->count[0] >= s.tuning.ego_points &&
           vf_ego_sample_size(&s, &s.ingest->params, VF_RELATIVE, h) == s.tuning.ego_points;
}

/** Loads the QR decomposition of the constraints of hypothesis h and computes their null space. size: correspondences
 *  of its sample. */
static __device__ void load_null_space(const vf_systems &y, int h, int size, vf_essential_scratch &w)
{
    VF_TEAM(k, 9) w.R[k] = y.R[h][k];
    if (VF_TEAM_LANE == 0) w.parallax = y.parallax[h];
    vf_essential_load_qr(&w, size, y.rows[h][0], y.tau[h]);
    vf_essential_null_space(&w, size);
}

/** Computes the essential matrices of hypothesis h from cuBLAS's solutions. size: correspondences of its sample.
 *  Returns the number of matrices. */
static __device__ __forceinline__ int vf_ego_essential(const vf_ego_view &s, int h, int size, vf_ego_scratch &b)
{
    load_null_space(*s.systems, h, size, b.essential);
    if (size == 7) return vf_essential_seven_solve(&b.essential, b.before, b.now);
    if (size == 8) return vf_essential_eight_solve(&b.essential, b.before, b.now);
    vf_essential_load_eliminated(&b.essential, s.systems->columns[h][10]);
    return vf_essential_five_solve(&b.essential, b.before, b.now);
}

/** Writes the epipolar constraints of each relative hypothesis. Hypotheses without a system get the identity, so that
 *  cuBLAS has the same work in every frame. */
static __global__ void __launch_bounds__(VF_EGO_TEAMS *VF_WARP) vf_ego_rows_k(const VF_CONSTANT vf_ego_view s)
{
    __shared__ vf_ego_scratch all[VF_EGO_TEAMS];
    vf_systems &y = *s.systems;
    vf_ego_scratch &b = all[threadIdx.x / VF_WARP];
    const int h = blockIdx.x * VF_EGO_TEAMS + threadIdx.x / VF_WARP, points = s.tuning.ego_points;
    if (h >= vf_ego_hypotheses(&s, VF_RELATIVE)) return;
    const bool there = has_system(s, h);
    if (there) {
        vf_ego_load_sample(s, VF_RELATIVE, h, points, s.ego->count[0], b);
        vf_essential_rows(&b.essential, b.before, b.now, points);
    }
    VF_TEAM(i, 9 * points)
    y.rows[h][i / 9][i % 9] = there ? b.essential.row[i / 9][i % 9] : i % 9 == i / 9 ? 1.0f : 0.0f;
    VF_TEAM(k, 9) y.R[h][k] = there ? b.essential.R[k] : 0.0f;
    if (VF_TEAM_LANE) return;
    y.parallax[h] = there ? b.essential.parallax : 0.0f;
    y.rows_at[h] = y.rows[h][0];
    y.tau_at[h] = y.tau[h];
    y.left_at[h] = y.columns[h][0];
    y.right_at[h] = y.columns[h][10];
}

/** Writes the ten equations of each five-point hypothesis, from the null space of its constraints. */
static __global__ void __launch_bounds__(VF_EGO_TEAMS *VF_WARP) vf_ego_equations_k(const VF_CONSTANT vf_ego_view s)
{
    __shared__ vf_essential_scratch all[VF_EGO_TEAMS];
    vf_systems &y = *s.systems;
    vf_essential_scratch &w = all[threadIdx.x / VF_WARP];
    const int h = blockIdx.x * VF_EGO_TEAMS + threadIdx.x / VF_WARP;
    if (h >= vf_ego_hypotheses(&s, VF_RELATIVE)) return;
    const bool there = has_system(s, h);
    if (there) {
        load_null_space(y, h, 5, w);
        vf_essential_equations(&w);
    }
    VF_TEAM(i, 200) y.columns[h][i / 10][i % 10] = there ? w.column[i / 10][i % 10] : i % 10 == i / 10 ? 1.0f : 0.0f;
}

/** Enqueues vf_ego_rows_k(), vf_ego_equations_k() and the calls of cuBLAS. Sets stream and workspace in every frame,
 *  because the handle loses its workspace with every new stream. */
static cudaError_t vf_ego_solve_systems(const vf_ego_view *s, int hypotheses, cudaStream_t stream)
{
    vf_systems *y = s->systems;
    vf_cublas *blas = s->cublas;
    const unsigned blocks = vf_blocks(hypotheses, VF_EGO_TEAMS);
    const int points = s->tuning.ego_points;
    cudaError_t error = cudaSuccess;
    int info;
#define CUBLAS(name, ...)                                                                                              \
    if (!error) error = vf_cublas_note(blas, name(blas->handle, __VA_ARGS__), #name ": %s")
    CUBLAS(cublasSetStream, stream);
    CUBLAS(cublasSetWorkspace, y->workspace, sizeof y->workspace);
    vf_ego_rows_k<<<blocks, VF_EGO_TEAMS * VF_WARP, 0, stream>>>(*s);
    CUBLAS(cublasSgeqrfBatched, 9, points, y->rows_at, 9, y->tau_at, &info, hypotheses);
    if (points > 5) return error;
    vf_ego_equations_k<<<blocks, VF_EGO_TEAMS * VF_WARP, 0, stream>>>(*s);
    CUBLAS(cublasSgetrfBatched, 10, y->left_at, 10, y->pivots[0], y->info, hypotheses);
    CUBLAS(cublasSgetrsBatched, CUBLAS_OP_N, 10, 10, y->left_at, 10, y->pivots[0], y->right_at, 10, &info, hypotheses);
#undef CUBLAS
    return error;
}

#endif
