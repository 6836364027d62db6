/* SPDX-License-Identifier: MIT */
#include "consistency.h"

#include <math.h>

#define DEGREES 6

/** Error of a motion, translation first: true minus estimated, and w of R_true = exp([w]) R. */
static void error_of(const vfront_motion_t *m, const pose_t *truth, double e[DEGREES])
{
    double R[9], xyzw[4];
    for (int i = 0; i < 9; i++) {
        R[i] = 0.0;
        for (int k = 0; k < 3; k++) R[i] += truth->R[i / 3 * 3 + k] * (double)m->R[i % 3 * 3 + k];
    }
    pose_quaternion(R, xyzw);
    const double sine = sqrt(xyzw[0] * xyzw[0] + xyzw[1] * xyzw[1] + xyzw[2] * xyzw[2]);
    const double factor = sine > 0.0 ? 2.0 * atan2(sine, xyzw[3]) / sine : 0.0;
    for (int k = 0; k < 3; k++) {
        e[k] = truth->t[k] - (double)m->t[k];
        e[3 + k] = factor * xyzw[k];
    }
}

/** e' S^-1 e by Cholesky's factors of S, of which the upper triangle is given row by row; -1: S is not positive
 *  definite. */
static double mahalanobis(const float *upper, const double e[DEGREES])
{
    double L[DEGREES][DEGREES], y[DEGREES], square = 0.0;
    for (int i = 0; i < DEGREES; i++)
        for (int k = i; k < DEGREES; k++) L[k][i] = (double)*upper++;
    for (int i = 0; i < DEGREES; i++) {
        y[i] = e[i];
        for (int k = 0; k <= i; k++) {
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

void consistency_add(consistency_t *c, const vfront_motion_t *m, const pose_t *truth)
{
    double e[DEGREES];
    if (m->state != VFRONT_MOTION_GOOD) return;
    error_of(m, truth, e);
    const double square = mahalanobis(m->covariance, e);
    if (square < 0.0) return;
    c->count++;
    c->sum += square / DEGREES;
    c->beyond += square > CONSISTENCY_BOUND;
}
