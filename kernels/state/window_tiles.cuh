/* SPDX-License-Identifier: MIT */
/* Factorisation of the window's system on a GPU: tiles of 4x4 elements, one a thread, which stay in registers.
 *
 * In      elements of the lower triangle of a matrix of all columns, and of a row below it
 * Out     solution; or the corner of the factor of the last columns
 * Rule    panel by panel: the tile on the diagonal is factorised (vf_solve_corner()), the tiles below it are divided
 *         by it (vf_solve_row()), and take their products from all tiles behind. The tile on the next diagonal is
 *         factorised as soon as it is ready, while others are still at work. A solution goes back panel by panel
 * Exact   each element has the terms of src/state/window_solve.h in the same order
 * Memory  8 KB of shared memory */
#ifndef VF_WINDOW_TILES_CUH
#define VF_WINDOW_TILES_CUH

#include "state/window_solve.h"

#define VF_SOLVE_TILES ((VF_WINDOW_COLUMNS + 1 + VF_SOLVE_PANEL - 1) / VF_SOLVE_PANEL) /* of a column */
#define VF_SOLVE_THREADS ((VF_SOLVE_TILES * (VF_SOLVE_TILES + 1) / 2 + 31) / 32 * 32)

/** What tiles hand to each other. */
struct vf_tiles {
    double corner[VF_SOLVE_PANEL][VF_SOLVE_PANEL], inverse[VF_SOLVE_PANEL];
    double left[VF_SOLVE_PANEL][VF_SOLVE_TILES * VF_SOLVE_PANEL];   /* L of the panel, by columns */
    double across[VF_SOLVE_PANEL][VF_SOLVE_TILES * VF_SOLVE_PANEL]; /* L D of it */
    double x[VF_SOLVE_TILES * VF_SOLVE_PANEL];
    int order[VF_SOLVE_TILES * VF_SOLVE_PANEL]; /* columns of the matrix, as they are factorised */
};

/** Tile of a thread: rows 4 row.., columns 4 column..; row -1: none. */
struct vf_tile {
    int row, column;
    double a[VF_SOLVE_PANEL][VF_SOLVE_PANEL], whole[VF_SOLVE_PANEL], inverse[VF_SOLVE_PANEL];
};

static __device__ __forceinline__ void vf_tile_of(vf_tile *t, int thread)
{
    int row = 0;
    while (thread > row) thread -= ++row;
    t->row = row < VF_SOLVE_TILES ? row : -1;
    t->column = thread;
}

/** Columns of a panel that are pivots. */
static __device__ __forceinline__ int vf_tile_pivots(int panel)
{
    return min(VF_SOLVE_PANEL, VF_WINDOW_COLUMNS - VF_SOLVE_PANEL * panel);
}

/** Tile on the diagonal factorised, and shown to the others. */
static __device__ __forceinline__ void vf_tile_corner(vf_tile *t, vf_tiles *m)
{
    vf_solve_corner(t->a, vf_tile_pivots(t->row), t->whole, t->inverse);
    VF_UNROLL
    for (int r = 0; r < VF_SOLVE_PANEL; r++) {
        m->inverse[r] = t->inverse[r];
        VF_UNROLL
        for (int c = 0; c < VF_SOLVE_PANEL; c++) m->corner[r][c] = t->a[r][c];
    }
}

/** Tile below the diagonal divided by it. */
static __device__ __forceinline__ void vf_tile_below(vf_tile *t, vf_tiles *m)
{
    VF_UNROLL
    for (int r = 0; r < VF_SOLVE_PANEL; r++) {
        double across[VF_SOLVE_PANEL];
        vf_solve_row(m->corner, VF_SOLVE_PANEL, m->inverse, t->a[r], across);
        VF_UNROLL
        for (int k = 0; k < VF_SOLVE_PANEL; k++) {
            m->left[k][VF_SOLVE_PANEL * t->row + r] = t->a[r][k];
            m->across[k][VF_SOLVE_PANEL * t->row + r] = across[k];
        }
    }
}

/** Tile behind a panel less its products. */
static __device__ __forceinline__ void vf_tile_behind(vf_tile *t, const vf_tiles *m)
{
    VF_UNROLL
    for (int k = 0; k < VF_SOLVE_PANEL; k++) {
        double left[VF_SOLVE_PANEL], across[VF_SOLVE_PANEL];
        VF_UNROLL
        for (int i = 0; i < VF_SOLVE_PANEL; i++) {
            left[i] = m->left[k][VF_SOLVE_PANEL * t->row + i];
            across[i] = m->across[k][VF_SOLVE_PANEL * t->column + i];
        }
        VF_UNROLL
        for (int r = 0; r < VF_SOLVE_PANEL; r++) VF_UNROLL
        for (int c = 0; c < VF_SOLVE_PANEL; c++) t->a[r][c] -= left[r] * across[c];
    }
}

/** Tiles of all threads factorised. */
static __device__ __forceinline__ void vf_tile_factor(vf_tile *t, vf_tiles *m, double damping)
{
    const int diagonal = t->row == t->column;
    VF_UNROLL
    for (int i = 0; i < VF_SOLVE_PANEL; i++) {
        t->whole[i] = vf_solve_damped(t->a[i][i], damping);
        if (diagonal) t->a[i][i] = t->whole[i];
        t->inverse[i] = 0.0;
    }
    if (diagonal && t->row == 0) vf_tile_corner(t, m);
    __syncthreads();
    for (int panel = 0; panel < VF_SOLVE_TILES - 1; panel++) {
        if (t->column == panel && t->row > panel) vf_tile_below(t, m);
        __syncthreads();
        if (t->column > panel && t->row > panel) vf_tile_behind(t, m);
        if (diagonal && t->row == panel + 1) vf_tile_corner(t, m);
        __syncthreads();
    }
}

/** x <- L'^-1 x of the panel of a tile on the diagonal: its own columns, in shared memory. */
static __device__ __forceinline__ void vf_tile_back_corner(const vf_tile *t, vf_tiles *m)
{
    double x[VF_SOLVE_PANEL];
    const int pivots = vf_tile_pivots(t->row);
    VF_UNROLL
    for (int c = 0; c < VF_SOLVE_PANEL; c++) x[c] = m->x[VF_SOLVE_PANEL * t->column + c];
    VF_UNROLL
    for (int r = VF_SOLVE_PANEL - 1; r > 0; r--) VF_UNROLL
    for (int c = 0; c < r; c++)
        if (r < pivots) x[c] -= t->a[r][c] * x[r];
    VF_UNROLL
    for (int c = 0; c < VF_SOLVE_PANEL; c++) m->x[VF_SOLVE_PANEL * t->column + c] = x[c];
}

/** What a panel's x takes from that of the columns of a tile before it. */
static __device__ __forceinline__ void vf_tile_back_before(const vf_tile *t, vf_tiles *m)
{
    const int pivots = vf_tile_pivots(t->row);
    double x[VF_SOLVE_PANEL];
    VF_UNROLL
    for (int c = 0; c < VF_SOLVE_PANEL; c++) x[c] = m->x[VF_SOLVE_PANEL * t->column + c];
    VF_UNROLL
    for (int r = VF_SOLVE_PANEL - 1; r >= 0; r--) VF_UNROLL
    for (int c = 0; c < VF_SOLVE_PANEL; c++)
        if (r < pivots) x[c] -= t->a[r][c] * m->x[VF_SOLVE_PANEL * t->row + r];
    VF_UNROLL
    for (int c = 0; c < VF_SOLVE_PANEL; c++) m->x[VF_SOLVE_PANEL * t->column + c] = x[c];
}

/** Solution by the factor and the row below the matrix, behind the factorisation; x: VF_WINDOW_COLUMNS. */
static __device__ __forceinline__ void vf_tile_back(const vf_tile *t, vf_tiles *m, double *x)
{
    const int last = VF_WINDOW_COLUMNS % VF_SOLVE_PANEL; /* of the row below, in its tile */
    if (t->row == VF_SOLVE_TILES - 1) {
        VF_UNROLL
        for (int c = 0; c < VF_SOLVE_PANEL; c++) m->x[VF_SOLVE_PANEL * t->column + c] = t->a[last][c];
    }
    __syncthreads();
    for (int panel = VF_SOLVE_TILES - 1; panel >= 0; panel--) {
        if (t->row == panel && t->column == panel) vf_tile_back_corner(t, m);
        __syncthreads();
        if (t->row == panel && t->column < panel) vf_tile_back_before(t, m);
        __syncthreads();
    }
    for (int i = threadIdx.x; i < VF_WINDOW_COLUMNS; i += blockDim.x) x[i] = m->x[i];
}

/** Solution of the system at the estimate, damped: vf_window_solve(). */
static __device__ __forceinline__ void vf_tile_solve(vf_window_work *k, vf_tiles *m)
{
    const vf_window_system &s = k->system[k->at];
    vf_tile t;
    vf_tile_of(&t, threadIdx.x);
    VF_UNROLL
    for (int i = 0; i < VF_SOLVE_PANEL * VF_SOLVE_PANEL; i++) {
        const int r = VF_SOLVE_PANEL * t.row + i / VF_SOLVE_PANEL, c = VF_SOLVE_PANEL * t.column + i % VF_SOLVE_PANEL;
        t.a[i / VF_SOLVE_PANEL][i % VF_SOLVE_PANEL] = t.row < 0 || c >= VF_WINDOW_COLUMNS || r > VF_WINDOW_COLUMNS ? 0.0
                                                      : r < VF_WINDOW_COLUMNS ? s.H[r * VF_WINDOW_COLUMNS + c]
                                                                              : -s.g[c];
    }
    vf_tile_factor(&t, m, k->damping);
    vf_tile_back(&t, m, k->x);
}

/** Corner of the factor of the columns whose covariance is told, the last: vf_window_cover(). */
static __device__ __forceinline__ void vf_tile_cover(const vf_window *w, vf_window_work *k, vf_tiles *m)
{
    enum { N = VF_WINDOW_COLUMNS, M = VF_WINDOW_SAID };
    const vf_window_system &s = k->system[k->at];
    vf_tile t;
    vf_tile_of(&t, threadIdx.x);
    for (int i = threadIdx.x; i < N; i += blockDim.x) m->order[i] = vf_window_said_last(w, i);
    __syncthreads();
    VF_UNROLL
    for (int i = 0; i < VF_SOLVE_PANEL * VF_SOLVE_PANEL; i++) {
        const int r = VF_SOLVE_PANEL * t.row + i / VF_SOLVE_PANEL, c = VF_SOLVE_PANEL * t.column + i % VF_SOLVE_PANEL;
        t.a[i / VF_SOLVE_PANEL][i % VF_SOLVE_PANEL] = t.row < 0 || c >= N || r >= N
                                                          ? 0.0
                                                          : s.H[m->order[r] * N + m->order[c]];
    }
    vf_tile_factor(&t, m, 0.0);
    VF_UNROLL
    for (int i = 0; i < VF_SOLVE_PANEL * VF_SOLVE_PANEL; i++) {
        const int r = VF_SOLVE_PANEL * t.row + i / VF_SOLVE_PANEL - (N - M),
                  c = VF_SOLVE_PANEL * t.column + i % VF_SOLVE_PANEL - (N - M);
        if (t.row < 0 || r < 0 || r >= M || c < 0 || c > r) continue;
        if (c < r)
            k->corner[r][c] = t.a[i / VF_SOLVE_PANEL][i % VF_SOLVE_PANEL];
        else
            k->corner_inverse[r] = t.inverse[i % VF_SOLVE_PANEL];
    }
    __syncthreads();
}

#endif
