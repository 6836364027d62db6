/* SPDX-License-Identifier: MIT
 *
 * Rigid transforms. T_a_b takes points of b to a: p_a = R p_b + t. The pose of a camera in the world is T_world_cam:
 * t is its position, the columns of R are its axes. Basic arithmetic and sqrt only: equal bits on every machine.
 */
#ifndef POSE_H
#define POSE_H

typedef struct pose {
    double R[9]; /**< Row-major. */
    double t[3]; /**< [m] */
} pose_t;

extern const pose_t pose_identity;

/** T_a_c = T_a_b T_b_c. */
pose_t pose_compose(const pose_t *ab, const pose_t *bc);

/** T_b_a. */
pose_t pose_inverse(const pose_t *ab);

/** Replace a matrix close to a rotation by the nearest rotation, so that rounding errors do not accumulate over
 *  products. */
void pose_orthonormalise(double R[9]);

/** 1 if R^T R is the identity to 10^-3 in each element, as the library requires of a rig, and det R > 0. NaN: 0. */
int pose_is_rotation(const double R[9]);

/** Unit quaternion x y z w of a rotation, w not below 0. */
void pose_quaternion(const double R[9], double xyzw[4]);

/** The rotation of a quaternion of any length but 0. */
void pose_rotation(double R[9], const double xyzw[4]);

/** Interpolated pose, `share` 0..1 from a to b: position and quaternion linearly. For close poses: for a difference
 *  of 0.1 rad the error of the rotation is below 10^-5 rad. */
pose_t pose_interpolate(const pose_t *a, const pose_t *b, double share);

#endif
