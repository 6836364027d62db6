/* SPDX-License-Identifier: MIT
 *
 * ODOMETRY beside the truth: where the airframe was at the stamp of a message, in the local frame, which is the body's
 * level pose at the stamp of the first one.
 */
#ifndef HIL_TRUTH_H
#define HIL_TRUTH_H

#include "airframe.h"
#include "examples/companion/mavlink.h"

#define TRUTH_HISTORY 512 /* steps of the airframe */

/** Errors of messages. */
typedef struct truth_errors {
    uint32_t messages;    /**< Of quality above 0. */
    uint64_t first_ns;    /**< Stamp of the first one. */
    double worst_m;       /**< Largest error of the position. */
    double worst_rad;     /**< Of the yaw. */
    double worst_sigmas;  /**< Of an axis or the yaw, by its deviation. */
    double sigma_m;       /**< Largest deviation of an axis. */
    double sigma_yaw_rad; /**< Of the yaw. */
} truth_errors_t;

/** Truth of late. Zero it. */
typedef struct truth {
    struct {
        uint64_t t_ns;
        double p_m[3], yaw_rad;
    } at[TRUTH_HISTORY];
    uint32_t count;
    int has_frame;
    double origin_m[3], yaw_rad; /**< Of the local frame. */
} truth_t;

/** Airframe of a time, after each step. */
void truth_add(truth_t *truth, const airframe_t *airframe, uint64_t t_ns);

/** Errors of a position, x forward, y right, z down, and of a yaw at a time. 0: no truth of that time. */
int truth_error(const truth_t *truth, uint64_t t_ns, const double position_m[3], double yaw_rad, double error[4]);

/** Yaw of w, x, y, z [rad]. */
double truth_yaw(const mavlink_f32 q[4]);

/** Error of a message of ODOMETRY, added to `errors`. */
void truth_compare(truth_t *truth, const mavlink_message_t *message, truth_errors_t *errors);

#endif
