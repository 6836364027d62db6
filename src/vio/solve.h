/* SPDX-License-Identifier: MIT */
/* Linear algebra of the estimator: LDL' factorization, solution, Schur complement.
 *
 * Rule    H = L D L' with unit diagonal of L; a column is multiplied by the inverse pivot
 * Exact   double precision. Terms of earlier columns are subtracted from an element in column order, whichever thread
 *         computes it.
 */
#ifndef VF_VIO_SOLVE_H
#define VF_VIO_SOLVE_H

#include "math/cholesky.h"
#include "work.h"

/* ---- LDL' in panels ---------------------------------------------------------------------------------------------- */

/** Diagonal element times 1 + damping; 1 for an empty column. */
VF_FN double vf_solve_damped(double diagonal, double damping)
{
    return diagonal > 0.0 ? diagonal * (1.0 + damping) : 1.0;
}

/** Inverse pivot of a linearly dependent column, whose solution is held near 0. */
VF_FN double vf_solve_fixed_inverse(double damped_diagonal) { return 1.0 / (damped_diagonal * VF_SOLVE_FIXED_PIVOT); }

/** Eliminates pivot j of the diagonal block `a` of a panel, which becomes L below the diagonal and D L' above it.
 *  inverse: out, 1 / D. The quotient is computed before the comparison to hide its latency. */
VF_FN void vf_solve_pivot(double a[VF_SOLVE_PANEL][VF_SOLVE_PANEL], int j, const double damped_diagonal[VF_SOLVE_PANEL],
                          const double fixed[VF_SOLVE_PANEL], double inverse[VF_SOLVE_PANEL])
{
    const double inverse_pivot = 1.0 / a[j][j];
    inverse[j] = a[j][j] > VF_SOLVE_PIVOT * damped_diagonal[j] ? inverse_pivot : fixed[j];
    VF_UNROLL
    for (int r = j + 1; r < VF_SOLVE_PANEL; r++) {
        a[j][r] = a[r][j];
        a[r][j] = a[r][j] * inverse[j];
    }
    VF_UNROLL
    for (int r = j + 1; r < VF_SOLVE_PANEL; r++) VF_UNROLL
    for (int c = j + 1; c <= r; c++) a[r][c] -= a[r][j] * a[j][c];
}

/** Eliminates pivot j in a row below the diagonal block of a panel: `row` becomes L, `across` becomes L D. */
VF_FN void vf_solve_pivot_row(double corner[VF_SOLVE_PANEL][VF_SOLVE_PANEL], int j,
                              const double inverse[VF_SOLVE_PANEL], double row[VF_SOLVE_PANEL],
                              double across[VF_SOLVE_PANEL])
{
    across[j] = row[j];
    row[j] = row[j] * inverse[j];
    VF_UNROLL
    for (int c = j + 1; c < VF_SOLVE_PANEL; c++) row[c] -= row[j] * corner[j][c];
}

/** Eliminates the first `pivots` pivots of the diagonal block of a panel. */
VF_FN void vf_solve_corner(double a[VF_SOLVE_PANEL][VF_SOLVE_PANEL], int pivots,
                           const double damped_diagonal[VF_SOLVE_PANEL], const double fixed[VF_SOLVE_PANEL],
                           double inverse[VF_SOLVE_PANEL])
{
    VF_UNROLL
    for (int j = 0; j < VF_SOLVE_PANEL; j++)
        if (j < pivots) vf_solve_pivot(a, j, damped_diagonal, fixed, inverse);
}

/** Computes the factor's elements in one matrix row below the diagonal block of a panel, for the first `pivots` columns
 *  of the panel. corner: diagonal block, factored by vf_solve_corner(); inverse: 1 / D of its columns. row: elements of
 *  the row, replaced by those of L; across: out, those of L D. */
VF_FN void vf_solve_row(double corner[VF_SOLVE_PANEL][VF_SOLVE_PANEL], int pivots, const double inverse[VF_SOLVE_PANEL],
                        double row[VF_SOLVE_PANEL], double across[VF_SOLVE_PANEL])
{
    VF_UNROLL
    for (int j = 0; j < VF_SOLVE_PANEL; j++)
        if (j < pivots) vf_solve_pivot_row(corner, j, inverse, row, across);
}

/** Damps the diagonal of M, and stores it in the workspace together with the inverse pivots for dependent columns. */
VF_FN void vf_solve_damp_diagonal(double *M, struct vf_solve_workspace *workspace, int n, int width, double damping)
{
    VF_PARTS(i, n)
    {
        workspace->damped_diagonal[i] = vf_solve_damped(M[i * width + i], damping);
        workspace->fixed[i] = vf_solve_fixed_inverse(workspace->damped_diagonal[i]);
        M[i * width + i] = workspace->damped_diagonal[i];
    }
    VF_ITEM_SYNC();
}

/** Subtracts the products of the panel at column j from the columns after the panel. */
VF_FN void vf_solve_update_trailing(double *M, const struct vf_solve_workspace *workspace, int j, int n, int rows,
                                    int width)
{
    const double *u0 = workspace->across[0], *u1 = workspace->across[1], *u2 = workspace->across[2],
                 *u3 = workspace->across[3];
    VF_ROWS(r, j + VF_SOLVE_PANEL, rows)
    {
        double *a = &M[r * width];
        const double l0 = a[j], l1 = a[j + 1], l2 = a[j + 2], l3 = a[j + 3];
        VF_COLUMNS(c, j + VF_SOLVE_PANEL, r < n ? r + 1 : n)
        a[c] = (((a[c] - l0 * u0[c]) - l1 * u1[c]) - l2 * u2[c]) - l3 * u3[c];
    }
    VF_ITEM_SYNC();
}

/** Factorizes the diagonal block of the panel at column j. Run by one thread, in registers. */
VF_FN void vf_solve_corner_of(double *M, struct vf_solve_workspace *workspace, int j, int pivots, int width)
{
    double a[VF_SOLVE_PANEL][VF_SOLVE_PANEL], damped_diagonal[VF_SOLVE_PANEL], fixed[VF_SOLVE_PANEL],
        inverse[VF_SOLVE_PANEL];
    VF_UNROLL
    for (int r = 0; r < VF_SOLVE_PANEL; r++) {
        damped_diagonal[r] = r < pivots ? workspace->damped_diagonal[j + r] : 1.0;
        fixed[r] = r < pivots ? workspace->fixed[j + r] : 1.0;
        VF_UNROLL
        for (int c = 0; c < VF_SOLVE_PANEL; c++) a[r][c] = c <= r && r < pivots ? M[(j + r) * width + j + c] : 0.0;
    }
    vf_solve_corner(a, pivots, damped_diagonal, fixed, inverse);
    VF_UNROLL
    for (int r = 0; r < VF_SOLVE_PANEL; r++) {
        if (r < pivots) workspace->inverse[j + r] = inverse[r];
        VF_UNROLL
        for (int c = 0; c < VF_SOLVE_PANEL; c++) {
            workspace->corner[r][c] = a[r][c];
            if (c < r && r < pivots) M[(j + r) * width + j + c] = a[r][c];
        }
    }
}

/** Factorizes the n x n matrix M = L D L' in place, row stride `width`, diagonal times 1 + damping. L replaces the part
 *  below the diagonal. Each further row r, from n to rows - 1, becomes D^-1 L^-1 r. Runs in one block. */
VF_FN void vf_solve_ldl(double *M, struct vf_solve_workspace *workspace, int n, int rows, int width, double damping)
{
    vf_solve_damp_diagonal(M, workspace, n, width, damping);
    for (int j = 0; j < n; j += VF_SOLVE_PANEL) {
        const int pivots = n - j < VF_SOLVE_PANEL ? n - j : VF_SOLVE_PANEL;
        VF_PARTS(i, 1)
        vf_solve_corner_of(M, workspace, j, pivots, width);
        VF_ITEM_SYNC();
        VF_PARTS(i, rows - j - pivots)
        {
            const int r = j + pivots + i;
            double row[VF_SOLVE_PANEL] = {0.0, 0.0, 0.0, 0.0}, across[VF_SOLVE_PANEL];
            for (int k = 0; k < pivots; k++) row[k] = M[r * width + j + k];
            vf_solve_row(workspace->corner, pivots, &workspace->inverse[j], row, across);
            for (int k = 0; k < pivots; k++) {
                M[r * width + j + k] = row[k];
                workspace->across[k][r] = across[k];
            }
        }
        VF_ITEM_SYNC();
        if (pivots == VF_SOLVE_PANEL) vf_solve_update_trailing(M, workspace, j, n, rows, width);
    }
}

/** Back substitution: x becomes L'^-1 x, with the unit lower triangle L from vf_solve_ldl(). */
VF_FN void vf_solve_back_ldl(const double *L, double *x, int n, int width)
{
    for (int i = n - 1; i >= 0; i--)
        for (int k = 0; k < i; k++) x[k] -= L[i * width + k] * x[i];
}

/* ---- elimination ------------------------------------------------------------------------------------------------- */

/** Scratch of an elimination. */
struct vf_solve_buffers {
    double *matrix,                 /* block of the eliminated columns, then its factor */
        (*row)[VF_VIO_COLUMNS + 1]; /* L^-1 times each eliminated row of [H g] */
    struct vf_solve_workspace *workspace;
};

/** Computes at->row: L^-1 times the rows of the eliminated columns in [H g]. */
VF_FN void vf_solve_eliminated_rows(const struct vf_solve_buffers *at, const struct vf_vio_system *s,
                                    const int32_t *eliminated, int count)
{
    const int n = VF_VIO_COLUMNS;
    VF_PARTS(c, n + 1)
    {
        for (int i = 0; i < count; i++) {
            double sum = c < n ? s->H[eliminated[i] * n + c] : s->g[eliminated[i]];
            for (int k = 0; k < i; k++) sum -= at->matrix[i * count + k] * at->row[k][c];
            at->row[i][c] = sum;
        }
    }
    VF_ITEM_SYNC();
}

/** Writes the Schur complement of H x = -g after elimination of the columns eliminated[0 .. count - 1] to `reduced`.
 *  Eliminated rows and columns of `reduced` are 0. Each of `blocks` blocks repeats the factorization and writes a share
 *  of the rows. */
VF_FN void vf_solve_eliminate(const struct vf_vio_system *s, const int32_t *eliminated, int count,
                              const struct vf_solve_buffers *at, int block, int blocks, struct vf_vio_system *reduced)
{
    const int n = VF_VIO_COLUMNS;
    VF_PARTS(i, count * count)
    at->matrix[i] = s->H[eliminated[i / count] * n + eliminated[i % count]];
    VF_ITEM_SYNC();
    vf_solve_ldl(at->matrix, at->workspace, count, count, count, 0.0);
    vf_solve_eliminated_rows(at, s, eliminated, count);
    VF_ROWS(i, 0, (n - block + blocks - 1) / blocks)
    {
        const int r = i * blocks + block;
        int is_eliminated = 0;
        for (int k = 0; k < count; k++) is_eliminated |= eliminated[k] == r;
        VF_COLUMNS(c, r, n + 1)
        {
            double sum = c == n ? s->g[r] : s->H[r * n + c];
            int none = is_eliminated;
            for (int k = 0; k < count; k++) {
                none |= eliminated[k] == c;
                sum -= at->row[k][r] * at->workspace->inverse[k] * at->row[k][c];
            }
            if (none) sum = 0.0;
            if (c == n)
                reduced->g[r] = sum;
            else
                reduced->H[r * n + c] = reduced->H[c * n + r] = sum;
        }
    }
    VF_ITEM_SYNC();
}

#endif
