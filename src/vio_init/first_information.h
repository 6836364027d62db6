/* SPDX-License-Identifier: MIT */
/* Information that an estimator begins with. Velocity and gyro bias of a first state follow from motions of camera 0,
 * turned into IMU axes by the stated mounting: both turn with the error y of that mounting.
 *
 * In      first state with the covariance of its errors e as if the mounting were right; mean angular rate
 * Out     information of e and y, (I, -D)' P^-1 (I, -D) and the prior of the mounting, where e has the part D y
 * Rule    D y of the velocity: R y x v; of the gyro bias, the rate of the samples less that of the images: w x y
 * Exact   double precision in one order, on the host
 */
#ifndef VF_FIRST_INFORMATION_H
#define VF_FIRST_INFORMATION_H

#include "vio/work.h"

/** Computes the information of a first state and of the mounting of camera 0, VF_VIO_FIRST^2. rate: mean angular rate
 *  over the motions from which the state's velocity and gyro bias are, IMU axes [rad/s]; both turn with the mounting,
 *  which their covariance leaves out. NULL: neither is from motions. */
VF_FN void vf_start_information(const vfront_nav_t *first, const double *rate, double *information)
{
    const int m = VF_NAV_ERRORS, n = VF_VIO_FIRST;
    static const double along[] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
    double P[VF_NAV_ERRORS * VF_NAV_ERRORS], R[sizeof along / sizeof *along];
    struct vf_inertial by; /* its first rows: derivatives of the state's errors by the mounting */
    memset(&by, 0, sizeof by);
    vf_quaternion_matrix(first->q_odom_imu, R);
    if (rate) {
        vf_inertial_block(&by, 0, VF_NAV_V, R, first->velocity_mps, 1.0);
        vf_inertial_block(&by, 0, VF_NAV_GYRO, along, rate, -1.0);
    }
    for (int i = 0; i < m; i++)
        for (int j = i; j < m; j++) P[i * m + j] = P[j * m + i] = first->covariance[vf_nav_index(i, j)];
    vf_solve_cholesky(P, P, m, m, 0.0);
    for (int i = 0; i < n; i++) { /* rows of (I, -D)' P^-1 (I, -D), and the prior of the mounting */
        double x[VF_NAV_ERRORS], *out = &information[i * n];
        for (int j = 0; j < m; j++) x[j] = i < m ? i == j : -by.J[i - m][j];
        vf_solve_forward(P, x, m, m);
        vf_solve_back(P, x, m, m);
        memcpy(out, x, sizeof x);
        for (int k = m; k < n; k++) {
            out[k] = i == k ? 1.0 / (VF_VIO_MOUNT_SIGMA_RAD * VF_VIO_MOUNT_SIGMA_RAD) : 0.0;
            for (int j = 0; j < m; j++) out[k] -= x[j] * by.J[k - m][j];
        }
    }
}

#endif
