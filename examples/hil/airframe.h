/* SPDX-License-Identifier: MIT
 *
 * Quadrotor: a rigid body on four rotors that answer with a lag, with drag, gusts of wind, and a floor under its legs;
 * and an IMU on it, with the noise of an ADIS16448 and the vibration of its rotors.
 *
 * World: z up, the floor at 0. Body, which is the IMU: x forward, y left, z up. Rotors: front left, front right, rear
 * left, rear right; the first and the last turn in one direction, the others in the other. Basic arithmetic and square
 * roots only: the same flight on every machine.
 */
#ifndef HIL_AIRFRAME_H
#define HIL_AIRFRAME_H

#include "vfront.h"

#define AIRFRAME_STEP_S 0.001
#define AIRFRAME_MASS_KG 1.5
#define AIRFRAME_GRAVITY_M_S2 9.81
#define AIRFRAME_ARM_M 0.13         /* from the middle to a rotor, along x and along y */
#define AIRFRAME_TORQUE_M 0.016     /* torque about z of a rotor, for 1 N of its thrust [Nm] */
#define AIRFRAME_ROTOR_MAX_N 8.0    /* thrust of a rotor */
#define AIRFRAME_LEGS_M 0.12        /* height of the middle on the floor */
#define AIRFRAME_SAMPLE_NS 5000000u /* between samples of the IMU */

/** Moments of inertia about x, y, z [kg m^2]. */
#define AIRFRAME_INERTIA                                                                                               \
    {                                                                                                                  \
        0.015, 0.015, 0.026                                                                                            \
    }

/** Errors of an IMU over time: zero it, then airframe_imu_begin(). */
typedef struct airframe_imu {
    double gyro_bias_rad_s[3], accel_bias_m_s2[3];
    uint64_t random;
} airframe_imu_t;

/** State. airframe_begin() sets it. */
typedef struct airframe {
    double p_m[3], v_mps[3], R_world_body[9], rate_rad_s[3];
    double thrust_n[4];
    double force_m_s2[3]; /**< Specific force, in body axes: what an accelerometer without errors reads. */
    double gust_n[3];
    double turns[4];        /**< Of the rotors. */
    double touch_mps;       /**< Fastest descent at which a leg came to the floor. */
    double tilt_cosine_min; /**< Least cosine of the tilt so far. */
    int is_on_floor;        /**< 1: a leg touches it. */
    uint64_t random;        /**< Of the wind. */
} airframe_t;

/** At rest on the floor at x, y, looking along x. */
void airframe_begin(airframe_t *airframe, double x_m, double y_m, uint64_t seed);

/** Goes on by AIRFRAME_STEP_S with these thrusts asked of the rotors [N]. */
void airframe_step(airframe_t *airframe, const double asked_n[4]);

/** Noise of the IMU, as the rig has it. */
void airframe_imu_noise(vfront_imu_noise_t *noise);

/** An IMU with biases of its own. */
void airframe_imu_begin(airframe_imu_t *imu, uint64_t seed);

/** Sample of now. */
void airframe_imu_read(airframe_imu_t *imu, const airframe_t *airframe, uint64_t t_ns, vfront_imu_t *sample);

#endif
