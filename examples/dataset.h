/* SPDX-License-Identifier: MIT
 *
 * Sequences of frames from disk or from a drawn flight. What a name stands for is found out by looking:
 *   synthetic      the word: a stereo flight with gyro that needs no file (synthetic.h)
 *   EuRoC / ASL    a folder with mav0, or mav0 itself: cam0, cam1 and imu0 with data.csv, sensor.yaml
 *   KITTI          a folder with image_0, and image_1, calib.txt, times.txt where they are there
 *   a folder       of PNG, PGM or PPM pictures, taken in the order of their names, and times.txt where it is there
 *
 * A function that can fail returns NULL, or one line that says what went wrong and with which file; the line is valid until
 * the next call. What is odd but no failure is said on stderr, once.
 */
#ifndef DATASET_H
#define DATASET_H

#include "vfront.h"
#include "pose.h"

/** An open data set. */
typedef struct dataset dataset_t;

/**
 * Finds out what `where` is, lists all frames, reads the first and the calibration.
 * @param[in]  cameras_most  1: camera 0 only, 2: both where both are there.
 * @param[in]  calibration   Files for calibration_read(), instead of those that come with the data set; or NULL.
 * @param[in]  truth         A file of ground truth (truth.h), instead of what comes with the data set: poses.txt or groundtruth.txt in its
 *                           folder, EuRoC's state_groundtruth_estimate0, or the drawn flight itself; "none"; or NULL.
 * @param[out] dataset       NULL on failure.
 */
const char *dataset_open(dataset_t **dataset, const char *where, int32_t cameras_most, const char *calibration,
                         const char *truth);
void dataset_close(dataset_t *dataset);

/** What it was found to be ("EuRoC"). */
const char *dataset_kind(const dataset_t *dataset);

/** Frames; 0: it goes on for ever. */
uint32_t dataset_frames(const dataset_t *dataset);

/** Whether there are gyro readings. */
int dataset_has_gyro(const dataset_t *dataset);

/** Sizes are those of the first pictures; what is not calibrated is 0. Valid until dataset_close(). */
const vfront_rig_t *dataset_rig(const dataset_t *dataset);

/** Whether there is ground truth. */
int dataset_has_truth(const dataset_t *dataset);

/**
 * Where camera 0 was.
 * @param[in]  seen         Camera 0 as the results see it: that of the rig, or where rectification puts it.
 * @param[out] T_world_cam  As it was when 0 is returned.
 * @return 0: not known for this frame.
 */
int dataset_truth(const dataset_t *dataset, uint32_t index, const vfront_camera_t *seen, pose_t *T_world_cam);

/** Reads a frame. Everything that `frame` points to belongs to the data set and is valid until the next call. */
const char *dataset_read(dataset_t *dataset, uint32_t index, vfront_frame_t *frame);

#endif
