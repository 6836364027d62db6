/* SPDX-License-Identifier: MIT
 *
 * Rendered flight along a recorded trajectory: a stereo camera and an IMU on a body that flies the curve of a file
 * (course_spline.h), in a hall that is built around it. Pictures have motion blur, noise of photons, and exposure
 * that is set anew every few seconds; the IMU has noise, biases that walk, and the vibration of rotors. Ground truth
 * is exact: it is the curve.
 *
 * World: that of the file, z up. Body: that of the file, which is the IMU. Cameras look along x of a body whose z is
 * up or down, 12 degrees below it, along z of any other (EuRoC's: x is up): by the mean attitude. Camera 0 is
 * COURSE_LEVER_M away from the IMU; both are rectified. Basic arithmetic and sqrt only: equal bits on every machine.
 */
#ifndef COURSE_H
#define COURSE_H

#include "course_spline.h"
#include "synthetic.h"

/** Settings: name, standard value, least, most, meaning. */
#define COURSE_SETTINGS(X)                                                                                             \
    X(width_px, 752, 64, 4096, "width of the pictures [px]; the focal length is 0.61 of it")                           \
    X(height_px, 480, 48, 4096, "height of the pictures [px]")                                                         \
    X(rate_hz, 20, 5, 100, "pictures a second")                                                                        \
    X(from_ms, 0, 0, 3600000, "where on the trajectory the flight begins [ms]")                                        \
    X(smooth_ms, 120, 50, 1000,                                                                                        \
      "lines so long before and after a time give its pose; more where stamps are rough, as those of KAIST-VIO: 300 "  \
      "[ms]")                                                                                                          \
    X(exposure_us, 5000, 0, 40000, "exposure time of every picture, which blurs what moves; 0: no blur [us]")          \
    X(blur_mpx, 2000, 250, 16000,                                                                                      \
      "largest displacement in the picture between two moments of an exposure: less is finer, and slower [1/1000 px]") \
    X(step_percent, 25, 0, 60, "by how much brightness may jump every 3 seconds [%]")                                  \
    X(photons_percent, 100, 0, 10000, "light on the sensor: 10,000 electrons at white; 0: no noise of photons [%]")    \
    X(imu_percent, 100, 0, 10000,                                                                                      \
      "noise of the IMU's samples and walk of its biases, relative to the rig's values [%]")                           \
    X(vibration_mm_s2, 1000, 0, 20000, "vibration of four rotors at 80 to 200 Hz, amplitude each [mm/s^2]")            \
    X(board_percent, 0, 0, 90,                                                                                         \
      "part of the picture's width that a board hides, which moves in front of the cameras; 0: none [%]")              \
    X(board_from_ms, 20000, 0, 3600000, "when it comes in, after the first picture [ms]")                              \
    X(board_to_ms, 30000, 0, 3600000, "when it leaves [ms]")                                                           \
    X(seed, 1, 0, 1000000, "of all random numbers")

/** Values of the settings. */
typedef struct course_settings {
#define COURSE_MEMBER(name, standard, least, most, meaning) int32_t name;
    COURSE_SETTINGS(COURSE_MEMBER)
#undef COURSE_MEMBER
} course_settings_t;

/** Description of a setting. */
typedef struct course_setting {
    const char *name;
    int32_t standard, least, most;
    const char *meaning;
} course_setting_t;

extern const course_settings_t course_standard;

/** Setting number `index`, or NULL past the last. */
const course_setting_t *course_setting(size_t index);

/** Set a value by its name. Returns 0 if there is no such name, or the value is out of its range. */
int course_set(course_settings_t *settings, const char *name, int32_t value);

#define COURSE_GRAVITY_M_S2 9.81

/** A flight. One thread at a time. */
typedef struct course course_t;

/**
 * Open a flight: read the trajectory, build the hall, draw the samples of the IMU.
 * @param[out] course  NULL on failure.
 * @return NULL, or a one-line message that names the file, valid until the next call.
 */
const char *course_open(course_t **course, const char *path, const course_settings_t *settings);
void course_close(course_t *course);

uint32_t course_frames(const course_t *course);

/** Cameras, their poses on the IMU, and the IMU's noise. Two cameras, or one if VFRONT_CAMERAS is 1. */
void course_rig(const course_t *course, vfront_rig_t *rig);

/** Start of the exposure of a frame [ns], and its length. The first is at 1 s. */
uint64_t course_time_ns(const course_t *course, uint32_t frame);
uint32_t course_exposure_ns(const course_t *course);

/** All samples of the IMU, 200 Hz. */
const vfront_imu_t *course_imu(const course_t *course, uint32_t *count);

/** State of the IMU at a time. */
void course_state(const course_t *course, uint64_t t_ns, spline_state_t *state);

/** Pose of camera 0 at a time: R row-major, t [m]. */
void course_pose(const course_t *course, uint64_t t_ns, double R_world_cam[9], double t_world_cam[3]);

/** Render a picture: uint8_t [height_px][pitch_bytes]. */
void course_render(course_t *course, uint32_t frame, int32_t camera, uint8_t *pixels, size_t pitch_bytes);

#endif
