/* SPDX-License-Identifier: MIT
 *
 * Check of two cameras with each other: distances of correspondences from their epipolar lines. What takes them onto
 * the lines is fitted: rotation of camera 1, direction of the baseline, ratio of the focal lengths. What then remains,
 * region by region, is the lens.
 */
#ifndef CAMERA_CHECK_H
#define CAMERA_CHECK_H

#include "finding.h"
#include "gather.h"

enum { CAMERA_COLUMNS = 8, CAMERA_ROWS = 6 };

/** Mean distance from the epipolar line by region of camera 1 [px], positive: along the normal of its plane. */
typedef struct camera_map {
    int count[CAMERA_ROWS][CAMERA_COLUMNS];
    double given[CAMERA_ROWS][CAMERA_COLUMNS];  /* by the calibration as it is */
    double fitted[CAMERA_ROWS][CAMERA_COLUMNS]; /* after the fit */
} camera_map_t;

/** Adds findings. Returns 1 if the cameras fit so badly that depths mean nothing. */
int camera_check(findings_t *all, const gathered_t *data, camera_map_t *map);

#endif
