/* SPDX-License-Identifier: MIT */
/* Keyframes and loops of a run, as rows of text. */
#ifndef LOOPS_H
#define LOOPS_H

#include <stdio.h>

#include "vfront.h"

/** Header of loops.csv, and a row for each loop of a result: frame, candidate_frame (that of the keyframe),
 *  correspondences, inliers, agreeing, accepted, state, kind, rotation matrix and translation, deviations of both. */
void loops_header(FILE *file);
void loops_rows(FILE *file, const vfront_result_t *result);

/** Name of a vfront_loop_state_t ("accepted"), of a vfront_loop_kind_t ("metric"); "?" for others. */
const char *loops_state_name(uint32_t state);
const char *loops_kind_name(uint32_t kind);

#endif
