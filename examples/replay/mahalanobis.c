/* SPDX-License-Identifier: MIT */
#include "mahalanobis.h"

#include <math.h>

double mahalanobis(const double *S, const double *e, int n)
{
    double L[MAHALANOBIS_MAX][MAHALANOBIS_MAX], y[MAHALANOBIS_MAX], square = 0.0;
    for (int i = 0; i < n; i++) {
        y[i] = e[i];
        for (int k = 0; k <= i; k++) {
            L[i][k] = S[i * n + k];
            for (int j = 0; j < k; j++) L[i][k] -= L[i][j] * L[k][j];
            if (k < i) L[i][k] /= L[k][k];
        }
        if (!(L[i][i] > 0.0)) return -1.0;
        L[i][i] = sqrt(L[i][i]);
        for (int k = 0; k < i; k++) y[i] -= L[i][k] * y[k];
        y[i] /= L[i][i];
        square += y[i] * y[i];
    }
    return square;
}
