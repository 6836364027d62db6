/* SPDX-License-Identifier: MIT
 *
 * Check of two cameras and the accelerometer: the metric motion of the cameras beside the integrals of the forces.
 * Fitted are the scale of the cameras, gravity, and the accelerometer's bias.
 */
#ifndef ACCEL_CHECK_H
#define ACCEL_CHECK_H

#include "finding.h"
#include "gyro_check.h"

/** Adds findings. depths: 0: depths of the cameras mean nothing, only gravity is checked. */
void accel_check(findings_t *all, const gathered_t *data, const gyro_fit_t *gyro, int depths);

#endif
