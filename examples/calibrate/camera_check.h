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

enum { CAMERA_COLUMNS = 8, CAMERA_ROWS = 6, CAMERA_REGION_LEAST = 20 /* correspondences of a region that counts */ };

/** Mean distance from the epipolar line of the other camera's point, by region of a camera's picture [px]. */
typedef struct camera_map {
    int count[CAMERA_ROWS][CAMERA_COLUMNS];
    double across[CAMERA_ROWS][CAMERA_COLUMNS][2]; /* mean direction across the lines, in the picture; length <= 1 */
    double given[CAMERA_ROWS][CAMERA_COLUMNS];     /* along it, by the calibration as it is */
    double fitted[CAMERA_ROWS][CAMERA_COLUMNS];    /* after the fit */
} camera_map_t;

/** Adds findings; fills the maps of both cameras. Returns 1 if the cameras fit so badly that depths mean nothing. */
int camera_check(findings_t *all, const gathered_t *data, camera_map_t map[2]);

#endif
