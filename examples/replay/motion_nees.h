/* SPDX-License-Identifier: MIT
 *
 * Whether covariances of motions are honest: normalised estimation error squared (NEES, Bar-Shalom et al. 2001) of
 * metric motions against ground truth, which counts as exact. e' S^-1 e over 6 degrees of freedom, translation and
 * rotation: 1 in the mean if the covariances S are right, more if errors are larger.
 */
#ifndef MOTION_NEES_H
#define MOTION_NEES_H

#include <stdint.h>

#include "examples/common/pose.h"
#include "vfront.h"

#define MOTION_NEES_BOUND 22.4577 /* of e' S^-1 e: 99.9 % of a chi-squared distribution of 6 degrees are below */

/** Zero it before the first motion. */
typedef struct motion_nees {
    uint32_t count, beyond; /**< Motions, and those beyond the bound. */
    double sum;             /**< Of e' S^-1 e / 6. */
} motion_nees_t;

/**
 * Add a motion; one that is not GOOD, or whose covariance is not positive definite, is left out.
 * @param[in] truth  T_now_before, the true motion in the convention of vfront_motion_t: p_now = R p_before + t.
 */
void motion_nees_add(motion_nees_t *motion_nees, const vfront_motion_t *motion, const pose_t *truth);

#endif
