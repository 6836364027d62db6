/* SPDX-License-Identifier: MIT */
/* Factorisation of the window's system on a GPU: tiles of 4x4 elements, one a thread, which stay in registers.
 *
 * In      elements of the lower triangle of a matrix of all columns, and of a row below it
 * Out     solution; or the corner of the factor of the last columns
 * Rule    the tiles of a column lie in one warp, a short column beside a long one. Panel by panel the warp of its
 *         column factorises the tile on the diagonal, each lane for itself, and divides the tiles below by it
 *         (vf_solve_pivot(), vf_solve_pivot_row()). Then the warp of the next column takes the products of this panel
 *         from its tiles, and while it goes on with that column's pivots, a chain of quotients, the others take
 *         theirs. The factor goes to memory on the way. A solution goes back panel by panel in one warp, whose lanes
 *         hold four columns each
 * Exact   each element has the terms of src/state/window_solve.h in the same order
 * Memory  18 KB of shared memory */
#ifndef VF_WINDOW_TILES_CUH
#define VF_WINDOW_TILES_CUH

#include "state/window_solve.h"

#define VF_SOLVE_PAIRED (2 * VF_SOLVE_TILES - VF_WARP) /* two columns of which the numbers have this sum fill a warp */
#define VF_SOLVE_WARPS (VF_SOLVE_PAIRED / 2 + 1)
#define VF_SOLVE_THREADS (VF_WARP * VF_SOLVE_WARPS)
#define VF_SOLVE_SHOWN (VF_SOLVE_PANEL * VF_SOLVE_PANEL + 2) /* of a tile, by columns; no two lanes in one bank */
VF_STATIC_ASSERT(VF_SOLVE_TILES >= 26 && VF_SOLVE_TILES <= VF_WARP, "vfront: pairs of columns fill warps, all do");

/** Values that tiles hand to each other. */
struct vf_tiles {
    double diagonal[VF_SOLVE_PANEL][VF_SOLVE_PANEL];  /* tile of a panel before it is factorised */
    double left[2][VF_SOLVE_TILES][VF_SOLVE_SHOWN];   /* L of a panel, by parity */
    double across[2][VF_SOLVE_TILES][VF_SOLVE_SHOWN]; /* L D of it */
    double whole[VF_SOLVE_TILES * VF_SOLVE_PANEL];    /* diagonal of the matrix */
    double held[VF_SOLVE_TILES * VF_SOLVE_PANEL];     /* vf_solve_held() of it */
    int order[VF_SOLVE_TILES * VF_SOLVE_PANEL];       /* columns of the matrix, as they are factorised */
};

/** Tile of a thread: rows 4 row.., columns 4 column..; row -1: none. */
struct vf_tile {
    int row, column;
    double a[VF_SOLVE_PANEL][VF_SOLVE_PANEL], inverse[VF_SOLVE_PANEL];
};

/** Warp of a column's tiles: of those without a partner the last one, which the middle column fills by half. */
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

/** Columns of the last panel that are pivots; all of the others are. */
#define VF_SOLVE_LAST (VF_WINDOW_COLUMNS - VF_SOLVE_PANEL * (VF_SOLVE_TILES - 1))

/** Column of a panel: the tile on the diagonal factorised, those below it divided by it, and shown to the others. */
template <int pivots> static __device__ __forceinline__ void vf_tile_column(vf_tile *t, vf_tiles *m, int panel)
{
    double corner[VF_SOLVE_PANEL][VF_SOLVE_PANEL], across[VF_SOLVE_PANEL][VF_SOLVE_PANEL];
    double whole[VF_SOLVE_PANEL], held[VF_SOLVE_PANEL];
    VF_UNROLL
    for (int r = 0; r < VF_SOLVE_PANEL; r++) {
        whole[r] = m->whole[VF_SOLVE_PANEL * panel + r];
        held[r] = m->held[VF_SOLVE_PANEL * panel + r];
        t->inverse[r] = 0.0;
        VF_UNROLL
        for (int c = 0; c < VF_SOLVE_PANEL; c++) corner[r][c] = m->diagonal[r][c];
    }
    VF_UNROLL
    for (int j = 0; j < pivots; j++) {
        vf_solve_pivot(corner, j, whole, held, t->inverse);
        VF_UNROLL
        for (int r = 0; r < VF_SOLVE_PANEL; r++) vf_solve_pivot_row(corner, j, t->inverse, t->a[r], across[r]);
    }
    VF_UNROLL
    for (int r = 0; r < VF_SOLVE_PANEL; r++) VF_UNROLL
    for (int c = 0; c < VF_SOLVE_PANEL; c++) {
        if (t->row == panel) {
            t->a[r][c] = corner[r][c];
        } else if (c < pivots) {
            m->left[panel % 2][t->row][VF_SOLVE_PANEL * c + r] = t->a[r][c];
            m->across[panel % 2][t->row][VF_SOLVE_PANEL * c + r] = across[r][c];
        }
    }
}

/** The same, of its warp. */
static __device__ __forceinline__ void vf_tile_panel(vf_tile *t, vf_tiles *m, int panel)
{
    VF_UNROLL
    for (int r = 0; r < VF_SOLVE_PANEL; r++) VF_UNROLL
    for (int c = 0; c < VF_SOLVE_PANEL; c++)
        if (t->row == panel && t->column == panel) m->diagonal[r][c] = t->a[r][c];
    __syncwarp();
    if (t->column != panel || t->row < 0) return;
    if (panel < VF_SOLVE_TILES - 1)
        vf_tile_column<VF_SOLVE_PANEL>(t, m, panel);
    else
        vf_tile_column<VF_SOLVE_LAST>(t, m, panel);
}

/** Tile behind a panel less its products. */
static __device__ __forceinline__ void vf_tile_behind(vf_tile *t, const vf_tiles *m, int panel)
{
    const double *left = m->left[panel % 2][t->row], *across = m->across[panel % 2][t->column];
    VF_UNROLL
    for (int k = 0; k < VF_SOLVE_PANEL; k++) VF_UNROLL
    for (int r = 0; r < VF_SOLVE_PANEL; r++) VF_UNROLL
    for (int c = 0; c < VF_SOLVE_PANEL; c++)
        t->a[r][c] -= left[VF_SOLVE_PANEL * k + r] * across[VF_SOLVE_PANEL * k + c];
}

/** Element i of the tile of row and column in memory: tiles of a row side by side, as lanes read them. */
static __device__ __forceinline__ int vf_tile_at(int row, int column, int i)
{
    return VF_WARP * (VF_SOLVE_PANEL * VF_SOLVE_PANEL * row + i) + column;
}

static __device__ __forceinline__ void vf_tile_keep(const vf_tile *t, double *factor)
{
    VF_UNROLL
    for (int i = 0; i < VF_SOLVE_PANEL * VF_SOLVE_PANEL; i++)
        factor[vf_tile_at(t->row, t->column, i)] = t->a[i / VF_SOLVE_PANEL][i % VF_SOLVE_PANEL];
}

/** Tiles of all threads factorised, and written to `factor`, where it is given. */
static __device__ __forceinline__ void vf_tile_factor(vf_tile *t, vf_tiles *m, double damping, double *factor)
{
    const int warp = threadIdx.x / VF_WARP;
    VF_UNROLL
    for (int i = 0; i < VF_SOLVE_PANEL; i++) {
        t->inverse[i] = 0.0;
        if (t->row < 0 || t->row != t->column) continue;
        t->a[i][i] = vf_solve_damped(t->a[i][i], damping);
        m->whole[VF_SOLVE_PANEL * t->row + i] = t->a[i][i];
        m->held[VF_SOLVE_PANEL * t->row + i] = vf_solve_held(t->a[i][i]);
    }
    __syncthreads();
    if (warp == 0) vf_tile_panel(t, m, 0);
    __syncthreads();
    for (int panel = 0; panel < VF_SOLVE_TILES - 1; panel++) {
        const int next = warp == vf_tile_warp(panel + 1), behind = t->row >= 0 && t->column > panel;
        if (next && behind) vf_tile_behind(t, m, panel);
        __syncthreads(); /* others wait: the next column is what all will wait for */
        if (next) {
            vf_tile_panel(t, m, panel + 1);
        } else if (behind) {
            vf_tile_behind(t, m, panel);
        }
        if (factor && t->row >= 0 && t->column == panel) vf_tile_keep(t, factor);
        __syncthreads();
    }
    if (factor && t->row >= 0 && t->column == VF_SOLVE_TILES - 1) vf_tile_keep(t, factor);
    __syncthreads();
}

/** Tile of a row of the factor and of the lane's columns. */
static __device__ __forceinline__ void vf_tile_fetch(double a[VF_SOLVE_PANEL * VF_SOLVE_PANEL], const double *factor,
                                                     int row, int lane)
{
    if (lane <= row) VF_UNROLL
    for (int i = 0; i < VF_SOLVE_PANEL * VF_SOLVE_PANEL; i++) a[i] = factor[vf_tile_at(row, lane, i)];
}

/** x <- L'^-1 x of a panel: in its lane of its own columns, then in those before. */
template <int pivots>
static __device__ __forceinline__ void vf_tile_back(const double a[VF_SOLVE_PANEL * VF_SOLVE_PANEL], int panel,
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

/** Solution by the factor in memory, by one warp; a lane holds four columns, and the tiles of three rows ahead. The row
 *  below the matrix is in the last row of tiles. x: VF_WINDOW_COLUMNS. */
static __device__ __forceinline__ void vf_tile_backwards(const double *factor, double *x)
{
    enum { LAST = VF_SOLVE_TILES - 1, BELOW = VF_WINDOW_COLUMNS % VF_SOLVE_PANEL };
    const int lane = threadIdx.x % VF_WARP;
    double own[VF_SOLVE_PANEL], tile[3][VF_SOLVE_PANEL * VF_SOLVE_PANEL], last[VF_SOLVE_PANEL * VF_SOLVE_PANEL] = {0.0};
    vf_tile_fetch(last, factor, LAST, lane);
    VF_UNROLL
    for (int i = 0; i < 3; i++) vf_tile_fetch(tile[i], factor, LAST - 1 - i, lane);
    VF_UNROLL
    for (int c = 0; c < VF_SOLVE_PANEL; c++) own[c] = last[VF_SOLVE_PANEL * BELOW + c];
    vf_tile_back<VF_SOLVE_LAST>(last, LAST, lane, own);
    for (int panel = LAST - 1; panel >= 0; panel -= 3) VF_UNROLL
    for (int i = 0; i < 3; i++) {
        if (panel >= i) vf_tile_back<VF_SOLVE_PANEL>(tile[i], panel - i, lane, own);
        vf_tile_fetch(tile[i], factor, panel - i - 3, lane);
    }
    VF_UNROLL
    for (int c = 0; c < VF_SOLVE_PANEL; c++)
        if (VF_SOLVE_PANEL * lane + c < VF_WINDOW_COLUMNS) x[VF_SOLVE_PANEL * lane + c] = own[c];
}

/** Solution of the system at the estimate, damped: vf_window_solve(). */
static __device__ __forceinline__ void vf_tile_solve(vf_window_work *k, vf_tiles *m)
{
    const vf_window_system &s = k->system[k->at];
    vf_tile t;
    vf_tile_of(&t);
    VF_UNROLL
    for (int i = 0; i < VF_SOLVE_PANEL * VF_SOLVE_PANEL; i++) { /* H has both triangles */
        const int r = VF_SOLVE_PANEL * t.row + i % VF_SOLVE_PANEL, c = VF_SOLVE_PANEL * t.column + i / VF_SOLVE_PANEL;
        t.a[i % VF_SOLVE_PANEL][i / VF_SOLVE_PANEL] = t.row < 0 || c >= VF_WINDOW_COLUMNS || r > VF_WINDOW_COLUMNS ? 0.0
                                                      : r < VF_WINDOW_COLUMNS ? s.H[c * VF_WINDOW_COLUMNS + r]
                                                                              : -s.g[c];
    }
    vf_tile_factor(&t, m, k->damping, k->matrix);
    if (threadIdx.x < VF_WARP) vf_tile_backwards(k->matrix, k->x);
}

/** Corner of the factor of the columns whose covariance is told, the last: vf_window_cover(). */
static __device__ __forceinline__ void vf_tile_cover(const vf_window *w, vf_window_work *k, vf_tiles *m)
{
    enum { N = VF_WINDOW_COLUMNS, M = VF_WINDOW_SAID };
    const vf_window_system &s = k->system[k->at];
    vf_tile t;
    vf_tile_of(&t);
    for (int i = threadIdx.x; i < N; i += blockDim.x) m->order[i] = vf_window_said_last(w, i);
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
