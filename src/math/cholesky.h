/* SPDX-License-Identifier: MIT */
/* Solution of small symmetric systems, H = L L'.
 *
 * Exact   double precision in one order; by one thread
 */
#ifndef VF_CHOLESKY_H
#define VF_CHOLESKY_H

#include <math.h>

#include "base/vf.h"

/** Least pivot of an independent column, relative to its diagonal element. A column with a smaller pivot is fixed. */
#define VF_SOLVE_PIVOT 1e-13
/** Pivot of a fixed column, relative to its diagonal element. It keeps the solution of that column near 0. */
#define VF_SOLVE_FIXED_PIVOT (1.0 / VF_SOLVE_PIVOT)

/** Relative size of what rounding may do to a small system: its damping, and other values that count as 0. */
#define VF_SOLVE_ROUNDING 1e-9

/** Computes the lower Cholesky factor L of the n x n matrix H, row stride `width`, diagonal times 1 + damping. A
 *  diagonal element of 0 counts as 1. L may be H. Returns the number of linearly dependent columns, which are fixed. */
VF_FN int vf_solve_cholesky(const double *H, double *L, int n, int width, double damping)
{
    int fixed = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            const double damped_diagonal = i != j                   ? 0.0
                                           : H[i * width + i] > 0.0 ? H[i * width + i] * (1.0 + damping)
                                                                    : 1.0;
            double sum = i == j ? damped_diagonal : H[i * width + j];
            for (int k = 0; k < j; k++) sum -= L[i * width + k] * L[j * width + k];
            if (i == j) {
                const int good = sum > VF_SOLVE_PIVOT * damped_diagonal;
                fixed += !good;
                L[i * width + i] = good ? sqrt(sum) : sqrt(damped_diagonal) * sqrt(VF_SOLVE_FIXED_PIVOT);
            } else {
                L[i * width + j] = sum / L[j * width + j];
            }
        }
    return fixed;
}

/** Forward substitution: x becomes L^-1 x. */
VF_FN void vf_solve_forward(const double *L, double *x, int n, int width)
{
    for (int i = 0; i < n; i++) {
        double sum = x[i];
        for (int k = 0; k < i; k++) sum -= L[i * width + k] * x[k];
        x[i] = sum / L[i * width + i];
    }
}

/** Back substitution: x becomes L'^-1 x. */
VF_FN void vf_solve_back(const double *L, double *x, int n, int width)
{
    for (int i = n - 1; i >= 0; i--) {
        const double value = x[i] / L[i * width + i];
        x[i] = value;
        for (int k = 0; k < i; k++) x[k] -= L[i * width + k] * value;
    }
}

#endif
