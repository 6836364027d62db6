/* SPDX-License-Identifier: MIT
 *
 * State of the IMU as an autopilot takes it: pose of the body in a local frame, its velocity and rates in body axes,
 * and their covariances, as MAVLink's ODOMETRY has them in LOCAL_FRD and BODY_FRD.
 *
 * Body axes: x forward, y right, z down (FRD), origin where the vehicle's is. The mount has the pose of the IMU on it.
 * Local frame: z down, x where the body's x axis pointed, level, in the first state; origin where the body was then.
 * After a restart it goes on from a pose that is given: odometry_resume().
 */
#ifndef COMPANION_ODOMETRY_H
#define COMPANION_ODOMETRY_H

#include "examples/common/pose.h"
#include "vfront.h"

/** Largest deviation of the yaw of a restart with which a pose is sent. Autopilots turn the velocity of ODOMETRY by its
 *  quaternion: three deviations, 15 degrees, are a quarter of the phase margin of 60 degrees that position control has,
 *  beyond which it circles. */
#define ODOMETRY_YAW_SIGMA_MAX_RAD 0.087

/** Pose of the body in the local frame that a first state has. Zeroed: the frame begins there. */
typedef struct odometry_start {
    double position_m[3], yaw_rad;
    double sigma_m[3], sigma_yaw_rad;
} odometry_start_t;

/** Local frame in the odometry frame of the library. Zero it before the first state. */
typedef struct odometry_frame {
    int is_set;
    odometry_start_t start;
    double R_local_odom[9]; /**< Once is_set. */
    double first_m[3];      /**< Body's position in the odometry frame in the first state. */
} odometry_frame_t;

/** State of the body. */
typedef struct odometry {
    uint64_t t_ns;                /**< As that of the state that it was made from. */
    double position_m[3];         /**< Of the body in the local frame. */
    double q_local_body[4];       /**< w x y z: from body axes to those of the local frame. */
    double euler_rad[3];          /**< Roll, pitch, yaw of the same. */
    double velocity_mps[3];       /**< Of the body's origin, in body axes. */
    double rate_rad_s[3];         /**< In body axes. */
    double pose_covariance[21];   /**< x y z roll pitch yaw, upper triangle by rows. */
    double motion_covariance[21]; /**< Velocity and rates, likewise. */
} odometry_t;

/** What else the state depends on. */
typedef struct odometry_inputs {
    pose_t T_body_imu;       /**< Mount: axes and position of the IMU on the body. */
    double rate_rad_s[3];    /**< The gyro's sample at the time of the state, in IMU axes, bias included. */
    double rate_sigma_rad_s; /**< Its noise, each axis. */
    double stamp_sigma_s;    /**< Deviation of the state's time. */
} odometry_inputs_t;

/** Makes the next state the first one, which has this pose. */
void odometry_resume(odometry_frame_t *frame, const odometry_start_t *start);

/** State of the body. Sets the local frame where it is not set. */
void odometry_of(odometry_t *out, odometry_frame_t *frame, const vfront_nav_t *nav, const odometry_inputs_t *inputs);

/** 1 for a state with a known up. One that two cameras have begun by themselves has angles that are none
 *  against gravity: no autopilot may have it, and nothing is level in it. */
int odometry_has_up(const vfront_nav_t *nav);

/** Up, in body axes, by the attitude of a state: unit vector. */
void odometry_up(double up[3], const vfront_nav_t *nav, const pose_t *T_body_imu);

/** Index in the upper triangle, by rows, of a symmetric matrix of n rows: of row i and column j >= i. */
int odometry_index(int n, int i, int j);

#endif
