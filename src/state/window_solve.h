/* SPDX-License-Identifier: MIT */
/* Linear algebra of the window: Cholesky's factor of a symmetric matrix, solutions by it, and elimination of columns.
 *
 * Exact   double precision in one order
 */
#ifndef VF_WINDOW_SOLVE_H
#define VF_WINDOW_SOLVE_H

#include "window.h"

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

/** Columns gone[0..count) eliminated from H x = -g, at most VF_NAV_ERRORS + 6 of them: what remains holds for the
 *  others; their rows and columns are 0. */
VF_FN void vf_solve_eliminate(struct vf_window_system *s, const int *gone, int count)
{
    enum { MOST = VF_NAV_ERRORS + 6 };
    const int n = VF_WINDOW_COLUMNS;
    double L[MOST * MOST], rows[MOST][VF_WINDOW_COLUMNS], g[MOST];
    int eliminated[VF_WINDOW_COLUMNS] = {0};
    for (int i = 0; i < count; i++) {
        eliminated[gone[i]] = 1;
        g[i] = s->g[gone[i]];
        for (int j = 0; j < count; j++) L[i * MOST + j] = s->H[gone[i] * n + gone[j]];
        for (int c = 0; c < n; c++) rows[i][c] = s->H[gone[i] * n + c];
    }
    vf_solve_factor(L, L, count, MOST, 0.0);
    for (int i = 0; i < count; i++) { /* rows <- L^-1 rows, g <- L^-1 g */
        for (int k = 0; k < i; k++) {
            for (int c = 0; c < n; c++) rows[i][c] -= L[i * MOST + k] * rows[k][c];
            g[i] -= L[i * MOST + k] * g[k];
        }
        for (int c = 0; c < n; c++) rows[i][c] /= L[i * MOST + i];
        g[i] /= L[i * MOST + i];
    }
    for (int r = 0; r < n; r++)
        for (int c = r; c < n; c++) {
            double sum = s->H[r * n + c];
            for (int i = 0; i < count; i++) sum -= rows[i][r] * rows[i][c];
            s->H[r * n + c] = s->H[c * n + r] = eliminated[r] || eliminated[c] ? 0.0 : sum;
        }
    for (int r = 0; r < n; r++) {
        for (int i = 0; i < count; i++) s->g[r] -= rows[i][r] * g[i];
        if (eliminated[r]) s->g[r] = 0.0;
    }
}

#endif
