/* SPDX-License-Identifier: MIT */
/* roots, host form: vf_polynomial_roots() (polynomial.h) of a batch of polynomials side by side, as vector code.
 *
 * In      coefficients of up to VF_ROOTS_BATCH polynomials of one degree
 * Out     the roots of each, in the places in which vf_polynomial_roots() has them
 * Rule    that of polynomial.h: all intervals of a derivative that have a root, of all polynomials, are listed, and
 *         their brackets narrowed by VF_ROOTS_LANES at a time. Alone, each would be a chain of steps that wait for one
 *         another
 * Exact   each lane does the operations of polynomial.h in its order, and stops where that does: the same bits
 * Memory  about 15 kB of stack
 * Shared  a step of a bracket and nearly real pairs, with polynomial.h; values and intervals are written twice
 */
#ifndef VF_ROOTS_H
#define VF_ROOTS_H

#include "polynomial.h"

#define VF_ROOTS_BATCH 16 /* polynomials */
#define VF_ROOTS_LANES 16 /* brackets side by side */

struct vf_roots {
    double c[VF_POLYNOMIAL_DEGREE + 1][VF_ROOTS_BATCH];      /* in: as vf_polynomial_scratch.c; 0 in unused places */
    float root[2 * VF_POLYNOMIAL_DEGREE][2][VF_ROOTS_BATCH]; /* out: as vf_polynomial_scratch.root */
};

void vf_roots_find(struct vf_roots *w, int degree);

#endif
