/* SPDX-License-Identifier: MIT
 *
 * How far a path is from ground truth, in the figures of the field. Frames without ground truth are left out.
 *   ATE    absolute trajectory error (Sturm et al. 2012): distance of the places, when the path is laid over ground truth as well as it can
 *          be, turned and shifted, and for a path without metres scaled as well (Umeyama 1991)
 *   RPE    relative pose error (the same) over one frame: what is left when the true step is taken back. For a path without metres the
 *          angle between the true direction and that of the step
 *   drift  of KITTI's odometry benchmark (Geiger et al. 2012): RPE over segments of 100, 200, ... 800 m, from every tenth frame, over the
 *          length, in the mean. Where the way is too short for any, over all of it
 */
#ifndef ACCURACY_H
#define ACCURACY_H

#include <stdint.h>

#include "trajectory.h"

/** Of many errors. */
typedef struct accuracy_spread {
    uint32_t count;
    double rmse, median, most;
} accuracy_spread_t;

typedef struct accuracy {
    uint32_t frames; /**< With ground truth. */
    double way_m;    /**< Length of ground truth through them. */
    double scale;    /**< By which the path is multiplied for the ATE; 1 for a metric one. */
    double ate_m;    /**< RMSE. */
    accuracy_spread_t step_m,
        step_deg; /**< RPE over one frame, of the place and of the rotation. Only frames that follow each other. */
    accuracy_spread_t direction_deg; /**< Of those whose true step and own have a direction. */
    uint32_t segments;               /**< 0: the drift is that of the whole way. */
    double drift_percent, drift_deg_m;
} accuracy_t;

/** Returns 0 where there is nothing to compare: fewer than two frames have ground truth; or no memory. */
int accuracy_of(const trajectory_t *trajectory, accuracy_t *accuracy);

#endif
