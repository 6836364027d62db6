/* SPDX-License-Identifier: MIT */
/* Errors of a motion extrapolated at constant angular rate and velocity.
 *
 * Rule    Angular rate and acceleration are white, with densities VF_VISION_ONLY_RATE and VF_VISION_ONLY_ACCEL; errors
 *         of position and velocity are integrals of one acceleration, and so correlated. The direction of the specific
 *         force has a standard deviation of VF_VISION_ONLY_TILT_RAD. It is computed from the attitude and must not
 *         count as a measurement of the tilt.
 * Exact   double precision in one order
 */
#ifndef VF_EXTRAPOLATE_H
#define VF_EXTRAPOLATE_H

#include "math/vector.h"
#include "preintegrate.h"

/** Density of the white error of the extrapolated angular rate on each axis [rad^2/s]: 0.1 rad after 0.05 s. */
#define VF_VISION_ONLY_RATE 0.2
/** Density of the white acceleration that the extrapolation neglects, on each axis [m^2/s^3]: 0.35 m/s after 0.05 s. */
#define VF_VISION_ONLY_ACCEL 2.5

/** Standard deviation of the direction of the extrapolated specific force on each axis [rad]. */
#define VF_VISION_ONLY_TILT_RAD 1.0

/** Computes the covariance of the errors (rotation w, velocity v, position p) after dt_s [s], row-major. v, p: first
 *  and second integral of the specific force. */
VF_FN void vf_vision_only_covariance(const double v[VF_AXES], const double p[VF_AXES], double dt_s,
                                     double P[VF_ROWS * VF_ROWS])
{
    enum { N = VF_ROWS };
    const double *sum[2];
    const double density = VF_VISION_ONLY_ACCEL * dt_s,
                 walk[2][2] = {{density, density * dt_s / 2.0},
                               {density * dt_s / 2.0, density * dt_s * dt_s / (double)VF_AXES}};
    sum[0] = v;
    sum[1] = p;
    memset(P, 0, N * N * sizeof *P);
    for (int k = VF_ROW_W; k < VF_ROW_W + VF_AXES; k++) P[(N + 1) * k] = VF_VISION_ONLY_RATE * dt_s;
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++) {
            const double *x = sum[a], *y = sum[b], dot = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
            double *block = &P[N * (a ? VF_ROW_P : VF_ROW_V) + (b ? VF_ROW_P : VF_ROW_V)];
            for (int i = 0; i < VF_AXES; i++)
                /* product of the cross-product matrices of x and y: [x] [y]' = (x'y) I - y x' */
                for (int j = 0; j < VF_AXES; j++) {
                    const double turned = (i == j ? dot : 0.0) - y[i] * x[j];
                    block[N * i + j] = VF_VISION_ONLY_TILT_RAD * VF_VISION_ONLY_TILT_RAD * turned +
                                       (i == j ? walk[a][b] : 0.0);
                }
        }
}

/** Angular rate between two attitudes dt_s apart, in IMU axes of the second one [rad/s]; 0 if dt_s is not above 0. */
VF_FN void vf_vision_only_rate(const double before[VF_QUATERNION], const double now[VF_QUATERNION], double dt_s,
                               double rate[VF_AXES])
{
    double back[VF_QUATERNION], between[VF_QUATERNION];
    for (int k = 0; k < VF_QUATERNION; k++) back[k] = k ? -before[k] : before[k];
    vf_quaternion_multiply(back, now, between);
    vf_quaternion_logarithm(between, rate);
    for (int k = 0; k < VF_AXES; k++) rate[k] = dt_s > 0.0 ? rate[k] / dt_s : 0.0;
}

#endif
