/* SPDX-License-Identifier: MIT
 *
 * Results as text files in a folder, one for each kind: tracks.csv, keypoints.csv, descriptors.csv, depth.csv,
 * matches.csv, motion.csv, covariance.csv, prediction.csv, stixels.csv, road.csv, obstacles.csv, health.csv, timing.csv
 * state.csv and digest.txt. Numbers have as many digits as reading them back without loss needs. The trajectory goes to
 * trajectory.txt and trajectory_kitti.txt, ground truth of the same frames to truth.txt, with twelve digits; poses of
 * the IMU of frames with a state to trajectory_state.txt, ground truth of theirs to truth_state.txt.
 * examples/replay/README.md lists the columns.
 *
 * A function that can fail returns NULL, or a one-line message that names the file; the message is valid until the
 * next call.
 */
#ifndef RESULTS_H
#define RESULTS_H

#include "vfront.h"
#include "state.h"
#include "trajectory.h"

/** Open files. */
typedef struct results results_t;

/** Optional files. */
enum {
    RESULTS_DESCRIPTORS = 1,
    RESULTS_DEPTHS = 2,
    RESULTS_MATCHES = 4,
    RESULTS_MOTION = 8,
    RESULTS_TRUTH = 16,
    RESULTS_STIXELS = 32,
    RESULTS_STATE = 64,
    RESULTS_LOOPS = 128,
    RESULTS_FRAMES = 256, /* tables with a few rows a frame */
    RESULTS_POINTS = 512  /* those with a row for each track, key point, stixel... */
};

/**
 * Open all files; the folder and its parents are created, files of an earlier run are overwritten.
 * @param[in] there  Sum of RECORD_...: files not in it are not written, and those of an earlier run are removed, as
 * are trajectory.svg, state.svg and faults.csv.
 */
const char *results_open(results_t **results, const char *folder, int32_t cameras, unsigned there);

/**
 * Append a frame to each file and flush it: a full disk is noticed at once, a crash loses nothing.
 * @param[in]  trajectory   Pose of the camera; NULL without RESULTS_MOTION.
 * @param[in]  state        State of the IMU; NULL without RESULTS_STATE.
 */
const char *results_frame(results_t *results, const vfront_result_t *result, const trajectory_frame_t *trajectory,
                          const state_frame_t *state);

/** Close the files. NULL is ignored. */
const char *results_close(results_t *results);

/** Create a folder and its parents. */
const char *results_folder(const char *folder);

/** Name of a bit of vfront_health_t.imu. */
#define RESULTS_IMU_FAULTS 11u
const char *results_imu_fault_name(uint32_t bit);

/** Names of vfront_health_state_t and vfront_end_t ("tracking", "border"); "?" for any other number. */
const char *results_state_name(uint32_t state);
const char *results_end_name(uint32_t end);

#endif
