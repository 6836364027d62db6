/* SPDX-License-Identifier: MIT
 *
 * Results as text files in a folder, one for each kind: tracks.csv, keypoints.csv, descriptors.csv, depth.csv,
 * matches.csv, motion.csv, covariance.csv, prediction.csv, stixels.csv, road.csv, obstacles.csv, health.csv, timing.csv
 * state.csv and digest.txt. Numbers have as many digits as reading them back without loss needs. The trajectory goes to
 * trajectory.txt and trajectory_kitti.txt, ground truth of the same frames to truth.txt, with twelve digits; poses of
 * the IMU of frames with a state to trajectory_state.txt, ground truth of theirs to truth_state.txt.
 * examples/README.md lists the columns.
 *
 * A function that can fail returns NULL, or a one-line message that names the file; the message is valid until the
 * next call.
 */
#ifndef RECORD_H
#define RECORD_H

#include "vfront.h"
#include "state.h"
#include "trajectory.h"

/** Open files. */
typedef struct record record_t;

/** Optional files. */
enum {
    RECORD_DESCRIPTORS = 1,
    RECORD_DEPTHS = 2,
    RECORD_MATCHES = 4,
    RECORD_MOTION = 8,
    RECORD_TRUTH = 16,
    RECORD_STIXELS = 32,
    RECORD_STATE = 64,
    RECORD_LOOPS = 128
};

/**
 * Open all files; the folder and its parents are created, files of an earlier run are overwritten.
 * @param[in] there  Sum of RECORD_...: files not in it are not written, and those of an earlier run are removed, as
 * are path.svg, state.svg and faults.csv.
 */
const char *record_open(record_t **record, const char *folder, int32_t cameras, unsigned there);

/**
 * Append a frame to each file and flush it: a full disk is noticed at once, a crash loses nothing.
 * @param[in]  trajectory   Pose of the camera; NULL without RECORD_MOTION.
 * @param[in]  state        State of the IMU; NULL without RECORD_STATE.
 */
const char *record_frame(record_t *record, const vfront_result_t *result, const trajectory_frame_t *trajectory,
                         const state_frame_t *state);

/** Close the files. NULL is ignored. */
const char *record_close(record_t *record);

/** Create a folder and its parents. */
const char *record_folder(const char *folder);

/** Name of a bit of vfront_health_t.imu. */
#define RECORD_IMU_FAULTS 11u
const char *record_imu_fault_name(uint32_t bit);

/** Names of vfront_state_t and vfront_end_t ("tracking", "border"); "?" for any other number. */
const char *record_state_name(uint32_t state);
const char *record_end_name(uint32_t end);

#endif
