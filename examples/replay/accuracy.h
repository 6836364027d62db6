/* SPDX-License-Identifier: MIT
 *
 * Accuracy of a trajectory against ground truth. Frames without ground truth are left out.
 *   ATE    absolute trajectory error (Sturm et al. 2012): distance of the positions after rigid alignment, for a
 *          trajectory without metric scale after similarity alignment (Umeyama 1991)
 *   RPE    relative pose error (Sturm et al. 2012) over one frame: inverse true step times estimated step. For a
 *          trajectory without metric scale also the angle between the directions of both steps
 *   drift  of KITTI's odometry benchmark (Geiger et al. 2012): RPE over segments of 100, 200, ... 800 m, from every
 *          tenth frame, divided by the length, mean. If the trajectory is too short for any segment: over all of it
 */
#ifndef ACCURACY_H
#define ACCURACY_H

#include <stdint.h>

#include "trajectory.h"

/** Statistics of errors. */
typedef struct accuracy_statistics {
    uint32_t count;
    double rmse, median, max;
} accuracy_statistics_t;

typedef struct accuracy {
    uint32_t frames;                        /**< With ground truth. */
    double length_m;                        /**< Length of ground truth over them. */
    double reach_m;                         /**< Greatest distance of ground truth from where it began. */
    double scale;                           /**< Of the alignment for the ATE; 1 for a metric trajectory. */
    double fit_scale;                       /**< Factor that fits the trajectory to ground truth best, metric or not. */
    double ate_m;                           /**< RMSE. */
    accuracy_statistics_t step_m, step_deg; /**< RPE over one frame, position and rotation. Consecutive frames only. */
    accuracy_statistics_t direction_deg;    /**< Of steps that have a direction, true and estimated. */
    uint32_t segments;                      /**< 0: the drift is that of the whole trajectory. */
    double drift_percent, drift_deg_m;
    double end_m, end_deg; /**< Error of the last frame against the first. */
} accuracy_t;

/** 1 if the camera moved so far that a drift per length means something: else noise of ground truth is its length. */
int accuracy_has_distance(const accuracy_t *accuracy);

/** Returns 0 if fewer than two frames have ground truth, or without memory. */
int accuracy_of(const trajectory_t *trajectory, accuracy_t *accuracy);

#endif
