/* SPDX-License-Identifier: MIT
 *
 * Rigid transforms. T_a_b takes points of b to a: p_a = R p_b + t. The pose of a camera in the world is T_world_cam: t is where it is, the
 * columns of R are its axes. Plain arithmetic and sqrt: the same bits on every machine.
 */
#ifndef POSE_H
#define POSE_H

typedef struct pose {
    double R[9]; /**< Row-major. */
    double t[3]; /**< [m] */
} pose_t;

extern const pose_t pose_identity;

/** T_a_c = T_a_b T_b_c. */
pose_t pose_chain(const pose_t *ab, const pose_t *bc);

/** T_b_a. */
pose_t pose_inverse(const pose_t *ab);

/** Makes a matrix that is nearly a rotation the nearest one, so that errors of rounding do not add up from product to product. */
void pose_straighten(double R[9]);

/** Whether R^T R is the identity to 10^-3 in each number, as the library asks of a rig, and nothing is mirrored. NaN: no. */
int pose_is_rotation(const double R[9]);

/** Unit quaternion x y z w of a rotation, w not below 0. */
void pose_quaternion(const double R[9], double xyzw[4]);

/** The rotation of a quaternion of any length but 0. */
void pose_turn(double R[9], const double xyzw[4]);

/** Between two poses, `share` of the way from a to b: place and quaternion in a straight line. For poses that are near each other: between
 *  two that differ by 0.1 rad the rotation is off by less than 10^-5 rad. */
pose_t pose_between(const pose_t *a, const pose_t *b, double share);

#endif
