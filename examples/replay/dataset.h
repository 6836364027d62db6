/* SPDX-License-Identifier: MIT
 *
 * Sequences of frames from disk or from the rendered flight. The kind is recognised by content:
 *   synthetic      the word: a rendered stereo flight with gyro, without files (synthetic.h); synthetic:640x400 of
 *                  another size, synthetic@470 from that frame on
 *   a trajectory   a text file, lines `t [s] px py pz qx qy qz qw`: a rendered flight along it (course.h)
 *   recording      a .vfr file (recording/chunk.h): frames as vfront was given them
 *   EuRoC / ASL    a folder with mav0, or mav0 itself: cam0, cam1 and imu0 with data.csv, sensor.yaml
 *   KITTI          a folder with image_0; image_1, calib.txt, times.txt are optional, as are imu.csv (lines
 *                  `t [s],wx,wy,wz [rad/s],ax,ay,az [m/s^2]`), T_cam0_imu.txt (4x4 matrix) and imu.yaml (Kalibr's:
 *                  noise of the IMU)
 *   TUM RGB-D      a folder with rgb.txt, lines `t [s] file name`; groundtruth.txt is optional
 *   two folders    left and right in a folder, with pictures of the same names
 *   live           v4l2:..., gst:..., or a video file: where the program has set dataset_live
 *   a folder       of PNG, JPEG, BMP, PGM or PPM pictures in the order of their names; times.txt is optional. Names
 *                  that begin with left and right: of two cameras
 *
 * A function that can fail returns NULL, or a one-line message that names the file; the message is valid until the
 * next call. Oddities that are no failure are noted on stderr, once.
 */
#ifndef DATASET_H
#define DATASET_H

#include "vfront.h"
#include "examples/synthetic/course.h"
#include "examples/common/pose.h"
#include "examples/recording/reader.h"

/** An open data set. */
typedef struct dataset dataset_t;

/** Cameras and videos, which have no list of frames. Functions that can fail return as those of dataset.h do. */
typedef struct dataset_live {
    int (*recognises)(const char *where);
    const char *(*open)(void **of, const char *where, const char *calibration); /* calibration: or NULL */
    const vfront_rig_t *(*rig)(const void *of);
    const char *(*next)(void *of, vfront_frame_t *frame, int *has_ended); /* the frame is valid until the next call */
    void (*close)(void *of);
} dataset_live_t;

/** Set by a program that has them, before dataset_open(); NULL: none. */
extern const dataset_live_t *dataset_live;

/**
 * Recognise and open a data set: list all frames, read the first one, the calibration and the ground truth.
 * @param[in]  cameras_max  1: camera 0 only, 2: both where both are there.
 * @param[in]  calibration   Files for calibration_read() instead of those of the data set; one imu.yaml: its noise in
 *                           place of that of the data set; or NULL.
 * @param[in]  truth         Ground truth file (truth.h) instead of that of the data set: poses.txt or
 *                           groundtruth.txt in its folder, EuRoC's state_groundtruth_estimate0, or the rendered
 *                           flight; "none"; or NULL.
 * @param[in]  render        Settings of a flight along a trajectory; NULL: standard.
 * @param[out] dataset       NULL on failure.
 */
const char *dataset_open(dataset_t **dataset, const char *where, int32_t cameras_max, const char *calibration,
                         const char *truth, const course_settings_t *render);
void dataset_close(dataset_t *dataset);

/** Name of its kind ("EuRoC"). */
const char *dataset_kind(const dataset_t *dataset);

/** 1 for a flight along a trajectory, to which settings apply. */
int dataset_is_course(const dataset_t *dataset);
/** The recording that is read; NULL: it is another data set. */
reader_t *dataset_recording(const dataset_t *dataset);

/** 1 if vfront_reset() was called before the frame read last, in the run that was recorded. */
int dataset_after_reset(const dataset_t *dataset);

/** 1: cameras or a video; 1: they have ended, and dataset_read() gave no frame. */
int dataset_is_live(const dataset_t *dataset);
int dataset_has_ended(const dataset_t *dataset);

/** Number of frames; 0: endless. */
uint32_t dataset_frames(const dataset_t *dataset);

/** Time from the first frame to the second, within what deadline_us may be [us]. */
int32_t dataset_interval_us(const dataset_t *dataset);

/** 1 if there are usable gyro or IMU samples. */
int dataset_has_gyro(const dataset_t *dataset);

/** 1 if they are those of an IMU: frames have `imu` in place of `gyro`. */
int dataset_has_imu(const dataset_t *dataset);

/** Rig: sizes of the first pictures, and the calibration; uncalibrated values are 0. Valid until dataset_close(). */
const vfront_rig_t *dataset_rig(const dataset_t *dataset);

/** 1 if there is ground truth. */
int dataset_has_truth(const dataset_t *dataset);

/**
 * Ground truth pose of camera 0.
 * @param[in]  seen         Camera 0 of the results: that of the rig, or the rectified one (vfront_info_t.camera).
 * @param[out] T_world_cam  Unchanged if 0 is returned.
 * @return 0: unknown for this frame.
 */
int dataset_truth(const dataset_t *dataset, uint32_t index, const vfront_camera_t *seen, pose_t *T_world_cam);

/** Ground truth of the IMU. */
typedef struct dataset_state {
    pose_t T_world_imu;     /**< z of the world is up if dataset_has_up(). */
    double velocity_mps[3]; /**< In axes of the world; 0 without. */
    int has_velocity;
} dataset_state_t;

/**
 * Ground truth of the IMU in a frame.
 * @param[in]  offset_ns  By how much its time on the clock of the samples is later than the stamp of the frame:
 *                        EuRoC's ground truth is on that clock, all other on that of the frames.
 * @param[out] state      Undefined if 0 is returned.
 * @return 0: unknown for this frame.
 */
int dataset_truth_imu(const dataset_t *dataset, uint32_t index, int64_t offset_ns, dataset_state_t *state);

/** 1 if velocities are those of the ground truth's file; else each is the slope of a parabola through the positions of
 *  five frames. */
int dataset_has_velocity(const dataset_t *dataset);

/** 1 if the ground truth has a known up: EuRoC's by its axes, any other by the accelerometer, in the mean over
 *  all frames. */
int dataset_has_up(const dataset_t *dataset);

/** Makes the rendered flight give samples of an IMU in place of a gyro's. No effect on any other data set. */
void dataset_use_imu(dataset_t *dataset);

/** Read a frame. All memory that `frame` points to belongs to the data set and is valid until the next call. */
const char *dataset_read(dataset_t *dataset, uint32_t index, vfront_frame_t *frame);

#endif
