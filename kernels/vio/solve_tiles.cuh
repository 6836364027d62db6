/* SPDX-License-Identifier: MIT */
/* LDL' factorization of the estimator's system on a GPU, one 4x4 tile per thread, in registers.
 *
 * In      lower triangle of a matrix over all columns, and one row below it
 * Out     solution; or the last corner of the factor
 * Rule    all tiles of a tile column are in one warp; a short and a long column share a warp. The warp of the panel's
 *         column factorizes the diagonal tile redundantly in every lane and eliminates the tiles below
 *         (vf_solve_pivot(), vf_solve_pivot_row()).
 *         Look-ahead: the warp of the next column subtracts this panel's products first and starts on its pivots, a
 *         serial chain of divisions. Meanwhile the other warps update their tiles and store the factor to memory.
 *         Back-substitution goes panel by panel in one warp, four columns per lane.
 * Exact   terms of each element in the same order as src/vio/solve.h
 * Memory  18 KB of shared memory
 */
#ifndef VF_VIO_SOLVE_TILES_CUH
#define VF_VIO_SOLVE_TILES_CUH

#include "vio/solve.h"

/* sum of the indices of two tile columns that together fill a warp */
#define VF_SOLVE_PAIRED (2 * VF_SOLVE_TILES - VF_WARP)
#define VF_SOLVE_WARPS (VF_SOLVE_PAIRED / 2 + 1)
#define VF_SOLVE_THREADS (VF_WARP * VF_SOLVE_WARPS)
/* doubles from tile to tile in shared memory; the 2 extra ones avoid bank conflicts */
#define VF_SOLVE_TILE_STRIDE (VF_SOLVE_PANEL * VF_SOLVE_PANEL + 2)
VF_STATIC_ASSERT(VF_SOLVE_TILES >= 26 && VF_SOLVE_TILES <= VF_WARP, "vfront: pairs of columns fill warps, all do");

/** Values that threads exchange between tiles, in shared memory. */
struct vf_tiles {
    double diagonal[VF_SOLVE_PANEL][VF_SOLVE_PANEL]; /* diagonal tile before its factorization */
    /* factor L of a panel (tile column), by parity of its index */
    double lower[2][VF_SOLVE_TILES][VF_SOLVE_TILE_STRIDE];
    /* product L D of a panel (tile column), by parity of its index */
    double across[2][VF_SOLVE_TILES][VF_SOLVE_TILE_STRIDE];
    double damped_diagonal[VF_SOLVE_TILES * VF_SOLVE_PANEL]; /* diagonal of the damped matrix */
    double fixed[VF_SOLVE_TILES * VF_SOLVE_PANEL]; /* vf_solve_fixed_inverse() of each element of damped_diagonal */
    int order[VF_SOLVE_TILES * VF_SOLVE_PANEL];    /* column of the matrix at each place of the factorization */
};

/** Tile of a thread, VF_SOLVE_PANEL x VF_SOLVE_PANEL elements. */
struct vf_tile {
    int row,                                  /* index of the tile row, first matrix row 4 * row; -1: no tile */
        column;                               /* index of the tile column, first matrix column 4 * column */
    double a[VF_SOLVE_PANEL][VF_SOLVE_PANEL], /* elements of the matrix, then of its factor */
        inverse[VF_SOLVE_PANEL];              /* inverse pivots of the tile's columns */
};

/** Index of the warp that holds a tile column. Columns that fill no warp in pairs share the last warp with the middle
 *  column. */
static __device__ __forceinline__ int vf_tile_warp(int column)
{
    return column < VF_SOLVE_WARPS ? column : column <= VF_SOLVE_PAIRED ? VF_SOLVE_PAIRED - column : VF_SOLVE_WARPS - 1;
}

static __device__ __forceinline__ void vf_tile_of(vf_tile *t)
{
    const int warp = threadIdx.x / VF_WARP;
    int lane = threadIdx.x % VF_WARP, column = warp;
    if (lane >= VF_SOLVE_TILES - column) {
        lane -= VF_SOLVE_TILES - column;
        column = warp < VF_SOLVE_WARPS - 1 ? VF_SOLVE_PAIRED - warp : VF_SOLVE_PAIRED + 1;
        for (; column < VF_SOLVE_TILES && lane >= VF_SOLVE_TILES - column; column++) lane -= VF_SOLVE_TILES - column;
    }
    t->row = column < VF_SOLVE_TILES ? column + lane : -1;
    t->column = column;
}

/** Number of pivots in the last panel (tile column); other panels have VF_SOLVE_PANEL. */
#define VF_SOLVE_LAST_PIVOTS (VF_VIO_COLUMNS - VF_SOLVE_PANEL * (VF_SOLVE_TILES - 1))

/** Factorizes a panel (tile column), with one of its tiles: factorizes the diagonal tile and eliminates the tile below
 *  it. Stores L and L D for the other tiles. */
template <int pivots> static __device__ __forceinline__ void vf_tile_factor_column(vf_tile *t, vf_tiles *m, int panel)
{
    double corner[VF_SOLVE_PANEL][VF_SOLVE_PANEL], across[VF_SOLVE_PANEL][VF_SOLVE_PANEL];
    double damped_diagonal[VF_SOLVE_PANEL], fixed[VF_SOLVE_PANEL];
    VF_UNROLL
    for (int r = 0; r < VF_SOLVE_PANEL; r++) {
        damped_diagonal[r] = m->damped_diagonal[VF_SOLVE_PANEL * panel + r];
        fixed[r] = m->fixed[VF_SOLVE_PANEL * panel + r];
        t->inverse[r] = 0.0;
        VF_UNROLL
        for (int c = 0; c < VF_SOLVE_PANEL; c++) corner[r][c] = m->diagonal[r][c];
    }
    VF_UNROLL
    for (int j = 0; j < pivots; j++) {
        vf_solve_pivot(corner, j, damped_diagonal, fixed, t->inverse);
        VF_UNROLL
        for (int r = 0; r < VF_SOLVE_PANEL; r++) vf_solve_pivot_row(corner, j, t->inverse, t->a[r], across[r]);
    }
    VF_UNROLL
    for (int r = 0; r < VF_SOLVE_PANEL; r++) VF_UNROLL
    for (int c = 0; c < VF_SOLVE_PANEL; c++) {
        if (t->row == panel) {
            t->a[r][c] = corner[r][c];
        } else if (c < pivots) {
            m->lower[panel % 2][t->row][VF_SOLVE_PANEL * c + r] = t->a[r][c];
            m->across[panel % 2][t->row][VF_SOLVE_PANEL * c + r] = across[r][c];
        }
    }
}

/** Factorizes a panel (tile column), by the warp that holds it. */
static __device__ __forceinline__ void vf_tile_factor_panel(vf_tile *t, vf_tiles *m, int panel)
{
    VF_UNROLL
    for (int r = 0; r < VF_SOLVE_PANEL; r++) VF_UNROLL
    for (int c = 0; c < VF_SOLVE_PANEL; c++)
        if (t->row == panel && t->column == panel) m->diagonal[r][c] = t->a[r][c];
    __syncwarp();
    if (t->column != panel || t->row < 0) return;
    if (panel < VF_SOLVE_TILES - 1)
        vf_tile_factor_column<VF_SOLVE_PANEL>(t, m, panel);
    else
        vf_tile_factor_column<VF_SOLVE_LAST_PIVOTS>(t, m, panel);
}

/** Subtracts the products of a factorized panel from a tile of a later column. */
static __device__ __forceinline__ void vf_tile_update_trailing(vf_tile *t, const vf_tiles *m, int panel)
{
    const double *lower = m->lower[panel % 2][t->row], *across = m->across[panel % 2][t->column];
    VF_UNROLL
    for (int k = 0; k < VF_SOLVE_PANEL; k++) VF_UNROLL
    for (int r = 0; r < VF_SOLVE_PANEL; r++) VF_UNROLL
    for (int c = 0; c < VF_SOLVE_PANEL; c++)
        t->a[r][c] -= lower[VF_SOLVE_PANEL * k + r] * across[VF_SOLVE_PANEL * k + c];
}

/** Index in the stored factor of element i of tile (row, column). Tiles of a row are interleaved for coalesced
 *  loads. */
static __device__ __forceinline__ int vf_tile_index(int row, int column, int i)
{
    return VF_WARP * (VF_SOLVE_PANEL * VF_SOLVE_PANEL * row + i) + column;
}

static __device__ __forceinline__ void vf_tile_store(const vf_tile *t, double *factor)
{
    VF_UNROLL
    for (int i = 0; i < VF_SOLVE_PANEL * VF_SOLVE_PANEL; i++)
        factor[vf_tile_index(t->row, t->column, i)] = t->a[i / VF_SOLVE_PANEL][i % VF_SOLVE_PANEL];
}

/** Factorizes the matrix in the tiles of all threads, damped by `damping` (Levenberg-Marquardt). Stores the factor
 *  unless `factor` is NULL. */
static __device__ __forceinline__ void vf_tile_factor(vf_tile *t, vf_tiles *m, double damping, double *factor)
{
    const int warp = threadIdx.x / VF_WARP;
    VF_UNROLL
    for (int i = 0; i < VF_SOLVE_PANEL; i++) {
        t->inverse[i] = 0.0;
        if (t->row < 0 || t->row != t->column) continue;
        t->a[i][i] = vf_solve_damped(t->a[i][i], damping);
        m->damped_diagonal[VF_SOLVE_PANEL * t->row + i] = t->a[i][i];
        m->fixed[VF_SOLVE_PANEL * t->row + i] = vf_solve_fixed_inverse(t->a[i][i]);
    }
    __syncthreads();
    if (warp == 0) vf_tile_factor_panel(t, m, 0);
    __syncthreads();
    for (int panel = 0; panel < VF_SOLVE_TILES - 1; panel++) {
        const int next = warp == vf_tile_warp(panel + 1), is_trailing = t->row >= 0 && t->column > panel;
        if (next && is_trailing) vf_tile_update_trailing(t, m, panel);
        __syncthreads(); /* the other warps wait, so that the next column is not delayed */
        if (next) {
            vf_tile_factor_panel(t, m, panel + 1);
        } else if (is_trailing) {
            vf_tile_update_trailing(t, m, panel);
        }
        if (factor && t->row >= 0 && t->column == panel) vf_tile_store(t, factor);
        __syncthreads();
    }
    if (factor && t->row >= 0 && t->column == VF_SOLVE_TILES - 1) vf_tile_store(t, factor);
    __syncthreads();
}

/** Loads tile (row, lane) of the stored factor: each lane loads the tile in its own four columns. */
static __device__ __forceinline__ void vf_tile_load(double a[VF_SOLVE_PANEL * VF_SOLVE_PANEL], const double *factor,
                                                    int row, int lane)
{
    if (lane <= row) VF_UNROLL
    for (int i = 0; i < VF_SOLVE_PANEL * VF_SOLVE_PANEL; i++) a[i] = factor[vf_tile_index(row, lane, i)];
}

/** Back-substitution of one panel of four unknowns: first in the lane of its columns, then in all lower columns. a:
 *  tile of the panel's row in the lane's columns; x: the lane's four unknowns, updated. */
template <int pivots>
static __device__ __forceinline__ void vf_tile_back_panel(const double a[VF_SOLVE_PANEL * VF_SOLVE_PANEL], int panel,
                                                          int lane, double x[VF_SOLVE_PANEL])
{
    double known[VF_SOLVE_PANEL];
    if (lane == panel) VF_UNROLL
    for (int r = pivots - 1; r > 0; r--) VF_UNROLL
    for (int c = 0; c < r; c++) x[c] -= a[VF_SOLVE_PANEL * r + c] * x[r];
    VF_UNROLL
    for (int c = 0; c < pivots; c++) known[c] = __shfl_sync(VF_ALL, x[c], panel);
    if (lane < panel) VF_UNROLL
    for (int r = pivots - 1; r >= 0; r--) VF_UNROLL
    for (int c = 0; c < VF_SOLVE_PANEL; c++) x[c] -= a[VF_SOLVE_PANEL * r + c] * known[r];
}

/** Back-substitution with the stored factor, by one warp. A lane holds four columns and prefetches tiles of three rows.
 *  The right side is in the last tile row. x: solution, VF_VIO_COLUMNS numbers. */
static __device__ __forceinline__ void vf_tile_back_substitute(const double *factor, double *x)
{
    enum { LAST = VF_SOLVE_TILES - 1, BELOW = VF_VIO_COLUMNS % VF_SOLVE_PANEL };
    const int lane = threadIdx.x % VF_WARP;
    double own[VF_SOLVE_PANEL], tile[3][VF_SOLVE_PANEL * VF_SOLVE_PANEL], last[VF_SOLVE_PANEL * VF_SOLVE_PANEL] = {0.0};
    vf_tile_load(last, factor, LAST, lane);
    VF_UNROLL
    for (int i = 0; i < 3; i++) vf_tile_load(tile[i], factor, LAST - 1 - i, lane);
    VF_UNROLL
    for (int c = 0; c < VF_SOLVE_PANEL; c++) own[c] = last[VF_SOLVE_PANEL * BELOW + c];
    vf_tile_back_panel<VF_SOLVE_LAST_PIVOTS>(last, LAST, lane, own);
    for (int panel = LAST - 1; panel >= 0; panel -= 3) VF_UNROLL
    for (int i = 0; i < 3; i++) {
        if (panel >= i) vf_tile_back_panel<VF_SOLVE_PANEL>(tile[i], panel - i, lane, own);
        vf_tile_load(tile[i], factor, panel - i - 3, lane);
    }
    VF_UNROLL
    for (int c = 0; c < VF_SOLVE_PANEL; c++)
        if (VF_SOLVE_PANEL * lane + c < VF_VIO_COLUMNS) x[VF_SOLVE_PANEL * lane + c] = own[c];
}

/** Solves the damped system of the current estimate for its increment k->x. */
static __device__ __forceinline__ void vf_tile_solve(vf_vio_work *k, vf_tiles *m)
{
    const vf_vio_system &s = k->system[k->at];
    vf_tile t;
    vf_tile_of(&t);
    VF_UNROLL
    /* reads H[c][r] for H[r][c], which is equal, so that loads are coalesced */
    for (int i = 0; i < VF_SOLVE_PANEL * VF_SOLVE_PANEL; i++) {
        const int r = VF_SOLVE_PANEL * t.row + i % VF_SOLVE_PANEL, c = VF_SOLVE_PANEL * t.column + i / VF_SOLVE_PANEL;
        t.a[i % VF_SOLVE_PANEL][i / VF_SOLVE_PANEL] = t.row < 0 || c >= VF_VIO_COLUMNS || r > VF_VIO_COLUMNS ? 0.0
                                                      : r < VF_VIO_COLUMNS ? s.H[c * VF_VIO_COLUMNS + r]
                                                                           : -s.g[c];
    }
    vf_tile_factor(&t, m, k->damping, k->matrix);
    if (threadIdx.x < VF_WARP) vf_tile_back_substitute(k->matrix, k->x);
}

/** Factorizes H with the reported columns last. Sets k->corner and k->corner_inverse to the factor's last corner, for
 *  the covariance. */
static __device__ __forceinline__ void vf_tile_covariance(const vf_vio_window *w, vf_vio_work *k, vf_tiles *m)
{
    enum { N = VF_VIO_COLUMNS, M = VF_VIO_REPORTED };
    const vf_vio_system &s = k->system[k->at];
    vf_tile t;
    vf_tile_of(&t);
    for (int i = threadIdx.x; i < N; i += blockDim.x) m->order[i] = vf_vio_reported_column(w, i);
    __syncthreads();
    VF_UNROLL
    for (int i = 0; i < VF_SOLVE_PANEL * VF_SOLVE_PANEL; i++) {
        const int r = VF_SOLVE_PANEL * t.row + i / VF_SOLVE_PANEL, c = VF_SOLVE_PANEL * t.column + i % VF_SOLVE_PANEL;
        t.a[i / VF_SOLVE_PANEL][i % VF_SOLVE_PANEL] = t.row < 0 || c >= N || r >= N
                                                          ? 0.0
                                                          : s.H[m->order[r] * N + m->order[c]];
    }
    vf_tile_factor(&t, m, 0.0, NULL);
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
