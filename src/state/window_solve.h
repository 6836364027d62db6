/* SPDX-License-Identifier: MIT */
/* Linear algebra of the window: Cholesky's factor of a symmetric matrix, solutions by it, and elimination of columns.
 *
 * Exact   double precision in one order
 */
#ifndef VF_WINDOW_SOLVE_H
#define VF_WINDOW_SOLVE_H

#include "window_work.h"

/** Pivot below this part of its diagonal element: the column cannot be told from those before, and is held. */
#define VF_SOLVE_PIVOT 1e-13

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

/** Lower factor of an n x n matrix L, rows of n, in place, the diagonal times 1 + damping; below it `more` rows, which
 *  become L^-1 times what they were. A column without a diagonal has one of 1. whole, column: room for n. Of a launch
 *  of one block. Each element has its terms subtracted in the same order as by vf_solve_factor(). */
VF_FN void vf_solve_factor_items(double *L, double *whole, double *column, int n, int more, double damping)
{
    VF_ITEMS(i, n)
    {
        whole[i] = L[i * n + i] > 0.0 ? L[i * n + i] * (1.0 + damping) : 1.0;
        L[i * n + i] = whole[i];
    }
    VF_ITEM_SYNC();
    for (int j = 0; j < n; j++) {
        const double left = L[j * n + j];
        const double pivot = left > VF_SOLVE_PIVOT * whole[j] ? sqrt(left) : sqrt(whole[j]) * 1e6;
        VF_ITEM_SYNC();
        VF_ITEMS(i, n + more - j)
        {
            const double element = i ? L[(j + i) * n + j] / pivot : pivot;
            L[(j + i) * n + j] = element;
            if (j + i < n) column[j + i] = element;
        }
        VF_ITEM_SYNC();
        VF_ROWS(r, j + 1, n + more)
        {
            const double by = L[r * n + j];
            VF_COLUMNS(c, j + 1, r < n ? r + 1 : n)
            L[r * n + c] -= by * column[c];
        }
        VF_ITEM_SYNC();
    }
}

/** x <- L'^-1 y, y is lost. Of a launch of one block. */
VF_FN void vf_solve_back_items(const double *L, double *y, double *x, int n)
{
    for (int j = n - 1; j >= 0; j--) {
        const double value = y[j] / L[j * n + j];
        VF_ITEMS(i, j + 1)
        {
            if (i < j)
                y[i] -= L[j * n + i] * value;
            else
                x[j] = value;
        }
        VF_ITEM_SYNC();
    }
}

/** Columns gone[0..count) eliminated from H x = -g, at most VF_WINDOW_GONE of them: what remains holds for the others;
 *  their rows and columns are 0. rows: room for those of the columns that go; L, whole, column: for their factor. Of
 *  a launch of one block. */
VF_FN void vf_solve_eliminate(struct vf_window_system *s, const int32_t *gone, int count,
                              double rows[VF_WINDOW_GONE][VF_WINDOW_COLUMNS + 1], double *L, double *whole,
                              double *column)
{
    const int n = VF_WINDOW_COLUMNS;
    VF_ITEMS(i, count * (n + 1))
    {
        const int at = gone[i / (n + 1)], c = i % (n + 1);
        rows[i / (n + 1)][c] = c < n ? s->H[at * n + c] : s->g[at];
    }
    VF_ITEMS(i, count * count)
    L[i] = s->H[gone[i / count] * n + gone[i % count]];
    VF_ITEM_SYNC();
    vf_solve_factor_items(L, whole, column, count, 0, 0.0);
    VF_ITEMS(c, n + 1)
    {
        for (int i = 0; i < count; i++) {
            for (int k = 0; k < i; k++) rows[i][c] -= L[i * count + k] * rows[k][c];
            rows[i][c] /= L[i * count + i];
        }
    }
    VF_ITEM_SYNC();
    VF_ROWS(r, 0, n)
    {
        int gone_row = 0;
        for (int k = 0; k < count; k++) gone_row |= gone[k] == r;
        VF_COLUMNS(c, r, n + 1)
        {
            double sum = c == n ? s->g[r] : s->H[r * n + c];
            int left = gone_row;
            for (int k = 0; k < count; k++) {
                left |= gone[k] == c;
                sum -= rows[k][r] * rows[k][c];
            }
            if (left) sum = 0.0;
            if (c == n)
                s->g[r] = sum;
            else
                s->H[r * n + c] = s->H[c * n + r] = sum;
        }
    }
    VF_ITEM_SYNC();
}

#endif
