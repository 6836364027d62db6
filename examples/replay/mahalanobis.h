/* SPDX-License-Identifier: MIT
 *
 * How far errors are from 0, as their covariance has it.
 */
#ifndef MAHALANOBIS_H
#define MAHALANOBIS_H

enum { MAHALANOBIS_MAX = 6 }; /* errors at once */

/** Square of the Mahalanobis distance e' S^-1 e of `n` errors, 1..MAHALANOBIS_MAX, by Cholesky's factors of S: [n][n],
 *  row by row, of which the lower triangle is read. -1: S is not positive definite. Its mean is n where S is true. */
double mahalanobis(const double *S, const double *e, int n);

#endif
