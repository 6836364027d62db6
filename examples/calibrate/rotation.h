/* SPDX-License-Identifier: MIT
 *
 * Rotation matrices, row-major, and rotation vectors [rad].
 */
#ifndef ROTATION_H
#define ROTATION_H

/** Rotation of a rotation vector, and the vector of a rotation, of at most pi. */
void rotation_of(const double w[3], double R[9]);
void rotation_vector(const double R[9], double w[3]);

/** c = a b; a^T; a^T b. The result is none of the arguments. */
void rotation_multiply(const double a[9], const double b[9], double c[9]);
void rotation_transpose(const double a[9], double c[9]);
void rotation_between(const double a[9], const double b[9], double c[9]);

/** R v. */
void rotation_apply(const double R[9], const double v[3], double to[3]);

double rotation_length(const double v[3]);
double rotation_dot(const double a[3], const double b[3]);
void rotation_cross(const double a[3], const double b[3], double c[3]);

#endif
