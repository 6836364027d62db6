/* SPDX-License-Identifier: MIT */
/* roots, host form: vf_polynomial_roots() (polynomial.h), vectorised over a batch of polynomials.
 *
 * In      coefficients of up to VF_ROOTS_BATCH polynomials of one degree
 * Out     the roots of each, at the indices that vf_polynomial_roots() gives them
 * Rule    That of polynomial.h. All intervals with a root, of one derivative of all polynomials, are listed.
 *         VF_ROOTS_LANES brackets at a time are narrowed, because a single bracket is a chain of dependent steps.
 * Exact   each lane does the operations of polynomial.h in the same order, and stops at the same step: the same bits
 * Memory  about 15 kB of stack
 * Shared  a step of a bracket and nearly real pairs are shared with polynomial.h; values and intervals are written
 *         twice
 */
#ifndef VF_ROOTS_H
#define VF_ROOTS_H

#include "polynomial.h"

#define VF_ROOTS_BATCH 16 /* number of polynomials solved together */
#define VF_ROOTS_LANES 16 /* number of root brackets narrowed together */

struct vf_roots {
    /* in: [power][polynomial]: coefficients, largest absolute value about 1; 0 if unused */
    double c[VF_POLYNOMIAL_DEGREE + 1][VF_ROOTS_BATCH];
    /* out: [k][0, 1][polynomial]: numerator and denominator of root k; 0 / 0: no root */
    float root[2 * VF_POLYNOMIAL_DEGREE][2][VF_ROOTS_BATCH];
};

void vf_roots_find(struct vf_roots *w, int degree);

#endif
