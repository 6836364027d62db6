/* SPDX-License-Identifier: MIT */
#include "motion_nees.h"

#include <math.h>

#include "mahalanobis.h"

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

void motion_nees_add(motion_nees_t *c, const vfront_motion_t *m, const pose_t *truth)
{
    double e[DEGREES], S[DEGREES * DEGREES];
    const float *upper = m->covariance;
    if (m->state != VFRONT_MOTION_GOOD) return;
    error_of(m, truth, e);
    for (int i = 0; i < DEGREES; i++)
        for (int k = i; k < DEGREES; k++) S[k * DEGREES + i] = (double)*upper++;
    const double square = mahalanobis(S, e, DEGREES);
    if (square < 0.0) return;
    c->count++;
    c->sum += square / DEGREES;
    c->beyond += square > MOTION_NEES_BOUND;
}
