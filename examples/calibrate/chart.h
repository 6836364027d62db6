/* SPDX-License-Identifier: MIT
 *
 * Picture of the findings as SVG: each deviation beside its limit, distances from epipolar lines over both pictures,
 * rates of camera and gyro over time, and how they fit at other time offsets.
 */
#ifndef CHART_H
#define CHART_H

#include "camera_check.h"
#include "gyro_check.h"

/** Returns NULL, or a message. */
const char *chart_write(const char *path, const char *title, const gathered_t *data, const findings_t *all,
                        const camera_map_t map[2], const gyro_fit_t *gyro);

#endif
