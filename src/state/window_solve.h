/* SPDX-License-Identifier: MIT */
/* Linear algebra of the window: factors of a symmetric matrix, solutions by them, and elimination of columns.
 *
 * Rule    H = L D L', L with a diagonal of 1: a column's quotients by its pivot are products with the pivot's inverse.
 *         vf_solve_factor(), for small matrices of the start, is Cholesky's form, H = L L'
 * Exact   double precision. An element has the terms of the columns before it subtracted in their order, whoever
 *         computes it
 */
#ifndef VF_WINDOW_SOLVE_H
#define VF_WINDOW_SOLVE_H

#include "window_work.h"

/** Pivot below this part of its diagonal element: the column cannot be told from those before, and is held, by a pivot
 *  of VF_SOLVE_HELD times that element. */
#define VF_SOLVE_PIVOT 1e-13
#define VF_SOLVE_HELD 1e12

/** Lower factor L of an n x n matrix H, rows of `width`, with the diagonal times 1 + damping. A column without a
 *  diagonal has one of 1. L may be H. Returns the number of columns held. */
VF_FN int vf_solve_factor(const double *H, double *L, int n, int width, double damping)
{
    int held = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            const double whole = i != j ? 0.0 : H[i * width + i] > 0.0 ? H[i * width + i] * (1.0 + damping) : 1.0;
            double sum = i == j ? whole : H[i * width + j];
            for (int k = 0; k < j; k++) sum -= L[i * width + k] * L[j * width + k];
            if (i == j) {
                const int good = sum > VF_SOLVE_PIVOT * whole;
                held += !good;
                L[i * width + i] = good ? sqrt(sum) : sqrt(whole) * 1e6;
            } else {
                L[i * width + j] = sum / L[j * width + j];
            }
        }
    return held;
}

/** x <- L^-1 x. */
VF_FN void vf_solve_forward(const double *L, double *x, int n, int width)
{
    for (int i = 0; i < n; i++) {
        double sum = x[i];
        for (int k = 0; k < i; k++) sum -= L[i * width + k] * x[k];
        x[i] = sum / L[i * width + i];
    }
}

/** x <- L'^-1 x. */
VF_FN void vf_solve_back(const double *L, double *x, int n, int width)
{
    for (int i = n - 1; i >= 0; i--) {
        const double value = x[i] / L[i * width + i];
        x[i] = value;
        for (int k = 0; k < i; k++) x[k] -= L[i * width + k] * value;
    }
}

/* ---- L D L' in panels -------------------------------------------------------------------------------------------- */

/** Diagonal element with damping; a column without one has 1. */
VF_FN double vf_solve_damped(double diagonal, double damping)
{
    return diagonal > 0.0 ? diagonal * (1.0 + damping) : 1.0;
}

/** 1 / D of a column that is held. */
VF_FN double vf_solve_held(double whole) { return 1.0 / (whole * VF_SOLVE_HELD); }

/** Pivot j of a panel's corner: L below the diagonal, D L' above it; inverse: 1 / D. The quotient does not wait for the
 *  comparison. */
VF_FN void vf_solve_pivot(double a[VF_SOLVE_PANEL][VF_SOLVE_PANEL], int j, const double whole[VF_SOLVE_PANEL],
                          const double held[VF_SOLVE_PANEL], double inverse[VF_SOLVE_PANEL])
{
    const double over = 1.0 / a[j][j];
    inverse[j] = a[j][j] > VF_SOLVE_PIVOT * whole[j] ? over : held[j];
    VF_UNROLL
    for (int r = j + 1; r < VF_SOLVE_PANEL; r++) {
        a[j][r] = a[r][j];
        a[r][j] = a[r][j] * inverse[j];
    }
    VF_UNROLL
    for (int r = j + 1; r < VF_SOLVE_PANEL; r++) VF_UNROLL
    for (int c = j + 1; c <= r; c++) a[r][c] -= a[r][j] * a[j][c];
}

/** The same of a row below the corner: L in place, `across` that row of L D. */
VF_FN void vf_solve_pivot_row(double corner[VF_SOLVE_PANEL][VF_SOLVE_PANEL], int j,
                              const double inverse[VF_SOLVE_PANEL], double row[VF_SOLVE_PANEL],
                              double across[VF_SOLVE_PANEL])
{
    across[j] = row[j];
    row[j] = row[j] * inverse[j];
    VF_UNROLL
    for (int c = j + 1; c < VF_SOLVE_PANEL; c++) row[c] -= row[j] * corner[j][c];
}

/** All pivots of a corner, `pivots` of them. */
VF_FN void vf_solve_corner(double a[VF_SOLVE_PANEL][VF_SOLVE_PANEL], int pivots, const double whole[VF_SOLVE_PANEL],
                           const double held[VF_SOLVE_PANEL], double inverse[VF_SOLVE_PANEL])
{
    VF_UNROLL
    for (int j = 0; j < VF_SOLVE_PANEL; j++)
        if (j < pivots) vf_solve_pivot(a, j, whole, held, inverse);
}

/** The same of a row below it. */
VF_FN void vf_solve_row(double corner[VF_SOLVE_PANEL][VF_SOLVE_PANEL], int pivots, const double inverse[VF_SOLVE_PANEL],
                        double row[VF_SOLVE_PANEL], double across[VF_SOLVE_PANEL])
{
    VF_UNROLL
    for (int j = 0; j < VF_SOLVE_PANEL; j++)
        if (j < pivots) vf_solve_pivot_row(corner, j, inverse, row, across);
}

/** Diagonal of a matrix with damping. */
VF_FN void vf_solve_whole(double *M, struct vf_solve_room *room, int n, int width, double damping)
{
    VF_PARTS(i, n)
    {
        room->whole[i] = vf_solve_damped(M[i * width + i], damping);
        room->held[i] = vf_solve_held(room->whole[i]);
        M[i * width + i] = room->whole[i];
    }
    VF_ITEM_SYNC();
}

/** Share of a panel of four columns from j on, taken from those behind it. */
VF_FN void vf_solve_behind(double *M, const struct vf_solve_room *room, int j, int n, int rows, int width)
{
    const double *u0 = room->across[0], *u1 = room->across[1], *u2 = room->across[2], *u3 = room->across[3];
    VF_ROWS(r, j + VF_SOLVE_PANEL, rows)
    {
        double *a = &M[r * width];
        const double l0 = a[j], l1 = a[j + 1], l2 = a[j + 2], l3 = a[j + 3];
        VF_COLUMNS(c, j + VF_SOLVE_PANEL, r < n ? r + 1 : n)
        a[c] = (((a[c] - l0 * u0[c]) - l1 * u1[c]) - l2 * u2[c]) - l3 * u3[c];
    }
    VF_ITEM_SYNC();
}

/** Corner of the panel of columns from j on. By one item, which has it in registers. */
VF_FN void vf_solve_corner_of(double *M, struct vf_solve_room *room, int j, int pivots, int width)
{
    double a[VF_SOLVE_PANEL][VF_SOLVE_PANEL], whole[VF_SOLVE_PANEL], held[VF_SOLVE_PANEL], inverse[VF_SOLVE_PANEL];
    VF_UNROLL
    for (int r = 0; r < VF_SOLVE_PANEL; r++) {
        whole[r] = r < pivots ? room->whole[j + r] : 1.0;
        held[r] = r < pivots ? room->held[j + r] : 1.0;
        VF_UNROLL
        for (int c = 0; c < VF_SOLVE_PANEL; c++) a[r][c] = c <= r && r < pivots ? M[(j + r) * width + j + c] : 0.0;
    }
    vf_solve_corner(a, pivots, whole, held, inverse);
    VF_UNROLL
    for (int r = 0; r < VF_SOLVE_PANEL; r++) {
        if (r < pivots) room->inverse[j + r] = inverse[r];
        VF_UNROLL
        for (int c = 0; c < VF_SOLVE_PANEL; c++) {
            room->corner[r][c] = a[r][c];
            if (c < r && r < pivots) M[(j + r) * width + j + c] = a[r][c];
        }
    }
}

/** Factors of the n x n matrix M, rows of `width`, in place, the diagonal times 1 + damping: L below the diagonal; rows
 *  from n to `rows` become D^-1 L^-1 times what they were. Of one block. */
VF_FN void vf_solve_factor_items(double *M, struct vf_solve_room *room, int n, int rows, int width, double damping)
{
    vf_solve_whole(M, room, n, width, damping);
    for (int j = 0; j < n; j += VF_SOLVE_PANEL) {
        const int pivots = n - j < VF_SOLVE_PANEL ? n - j : VF_SOLVE_PANEL;
        VF_PARTS(i, 1)
        vf_solve_corner_of(M, room, j, pivots, width);
        VF_ITEM_SYNC();
        VF_PARTS(i, rows - j - pivots)
        {
            const int r = j + pivots + i;
            double row[VF_SOLVE_PANEL] = {0.0, 0.0, 0.0, 0.0}, across[VF_SOLVE_PANEL];
            for (int k = 0; k < pivots; k++) row[k] = M[r * width + j + k];
            vf_solve_row(room->corner, pivots, &room->inverse[j], row, across);
            for (int k = 0; k < pivots; k++) {
                M[r * width + j + k] = row[k];
                room->across[k][r] = across[k];
            }
        }
        VF_ITEM_SYNC();
        if (pivots == VF_SOLVE_PANEL) vf_solve_behind(M, room, j, n, rows, width);
    }
}

/** x <- L'^-1 x, L of vf_solve_factor_items(). */
VF_FN void vf_solve_back_unit(const double *L, double *x, int n, int width)
{
    for (int i = n - 1; i >= 0; i--)
        for (int k = 0; k < i; k++) x[k] -= L[i * width + k] * x[i];
}

/* ---- elimination ------------------------------------------------------------------------------------------------- */

/** Room of an elimination: matrix of the columns that go; their rows; and what their factorisation needs. */
struct vf_solve_places {
    double *matrix, (*row)[VF_WINDOW_COLUMNS + 1];
    struct vf_solve_room *room;
};

/** Rows of the columns that go, behind their factor: L^-1 times them. */
VF_FN void vf_solve_gone_rows(const struct vf_solve_places *at, const struct vf_window_system *s, const int32_t *gone,
                              int count)
{
    const int n = VF_WINDOW_COLUMNS;
    VF_PARTS(c, n + 1)
    {
        for (int i = 0; i < count; i++) {
            double sum = c < n ? s->H[gone[i] * n + c] : s->g[gone[i]];
            for (int k = 0; k < i; k++) sum -= at->matrix[i * count + k] * at->row[k][c];
            at->row[i][c] = sum;
        }
    }
    VF_ITEM_SYNC();
}

/** Rest of H x = -g where columns gone[0..count) are eliminated, into `left`: it holds for the others; their
 *  rows and columns are 0. Of a block of `blocks`, each of which does the factor anew and writes a share of the
 *  rows. */
VF_FN void vf_solve_eliminate(const struct vf_window_system *s, const int32_t *gone, int count,
                              const struct vf_solve_places *at, int block, int blocks, struct vf_window_system *left)
{
    const int n = VF_WINDOW_COLUMNS;
    VF_PARTS(i, count * count)
    at->matrix[i] = s->H[gone[i / count] * n + gone[i % count]];
    VF_ITEM_SYNC();
    vf_solve_factor_items(at->matrix, at->room, count, count, count, 0.0);
    vf_solve_gone_rows(at, s, gone, count);
    VF_ROWS(i, 0, (n - block + blocks - 1) / blocks)
    {
        const int r = i * blocks + block;
        int gone_row = 0;
        for (int k = 0; k < count; k++) gone_row |= gone[k] == r;
        VF_COLUMNS(c, r, n + 1)
        {
            double sum = c == n ? s->g[r] : s->H[r * n + c];
            int none = gone_row;
            for (int k = 0; k < count; k++) {
                none |= gone[k] == c;
                sum -= at->row[k][r] * at->room->inverse[k] * at->row[k][c];
            }
            if (none) sum = 0.0;
            if (c == n)
                left->g[r] = sum;
            else
                left->H[r * n + c] = left->H[c * n + r] = sum;
        }
    }
    VF_ITEM_SYNC();
}

#endif
