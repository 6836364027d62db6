/* SPDX-License-Identifier: MIT
 *
 * Writes results as text into a folder, one file for each kind: tracks.csv, keypoints.csv, descriptors.csv, depth.csv, matches.csv,
 * motion.csv, stixels.csv, road.csv, obstacles.csv, health.csv, timing.csv and digest.txt. Numbers are printed with as many digits as they need to be read back without loss.
 * The path that the motions make goes to trajectory.txt and trajectory_kitti.txt, ground truth of the same frames to truth.txt, with twelve
 * digits.
 * A function that can fail returns NULL, or one line that says what went wrong and with which file; the line is valid until
 * the next call.
 */
#ifndef RECORD_H
#define RECORD_H

#include "vfront.h"
#include "trajectory.h"

/** Open files. */
typedef struct record record_t;

/** What may be there to be written, or not. */
enum {
    RECORD_DESCRIPTORS = 1,
    RECORD_DEPTHS = 2,
    RECORD_MATCHES = 4,
    RECORD_MOTION = 8,
    RECORD_TRUTH = 16,
    RECORD_STIXELS = 32
};

/**
 * Makes the folder, and those above it, where they are not there; files of an earlier run are overwritten.
 * @param[in] there  Sum of RECORD_...: what is not in it gets no file, and one of an earlier run is removed, as is path.svg.
 */
const char *record_open(record_t **record, const char *folder, int32_t cameras, unsigned there);

/**
 * Appends a frame to each file and hands it to the system: a full disk is noticed at once, a crash loses nothing.
 * @param[in] before  Result of the frame before; NULL: this is the first.
 * @param[in] place   Where the camera is; NULL without RECORD_MOTION.
 */
const char *record_frame(record_t *record, const vfront_result_t *result, const vfront_result_t *before,
                         const trajectory_frame_t *place);

/** Closes the files; what was written stays. NULL is ignored. */
const char *record_close(record_t *record);

/** Makes a folder, and those above it. */
const char *record_folder(const char *folder);

/** Words for vfront_state_t and vfront_end_t ("tracking", "border"); "?" for any other number. */
const char *record_state_name(uint32_t state);
const char *record_end_name(uint32_t end);

#endif
