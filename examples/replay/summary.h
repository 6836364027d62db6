/* SPDX-License-Identifier: MIT
 *
 * Summary of a run: sums over its frames, printed as a table.
 */
#ifndef SUMMARY_H
#define SUMMARY_H

#include "dataset.h"
#include "motion.h"
#include "options.h"
#include "results.h"
#include "state_accuracy.h"

/** Times of one frame [us]. */
struct frame_times {
    float step_us, device_us, stage_us[VFRONT_STAGES];
};

#define SUMMARY_DEPTH_SHIFT 14 /* of the bits of a depth to its histogram bin: bins of about 0.2 % */
#define SUMMARY_DEPTH_BINS (1u << (31 - SUMMARY_DEPTH_SHIFT))

#define SUMMARY_STATUSES 32 /* more than there are of vfront_status_t */

/** Sums over the frames so far. Zero it before summary_add(). */
struct summary {
    uint64_t frames, alive, age, lived, born, ended[VFRONT_ENDS], overflow, gaps, gyro_short, calibration, overruns,
        quality;
    uint64_t keypoints[VFRONT_CAMERAS], dropped[VFRONT_CAMERAS], descriptors[VFRONT_CAMERAS], state[4], digest;
    uint64_t depths, matches, disparities, pixels, road[4], stixels, crowded;
    uint32_t far_cm, nearest_cm; /* set before the first frame: farthest obstacle; the nearest of all, 0: none */
    uint32_t quality_min, motion_breaks, reset_counter; /* the last two: of the last frame */
    uint32_t steps,
        steps_lost;     /* from one frame to the next with something to follow; those that lost nearly all of it */
    int matches_wanted; /* set before the first frame: steps without tracks are judged by matches */
    uint32_t tracks_before, keypoints_before; /* of the last frame */
    uint32_t failed_over;                     /* frames that the host port computed after it took over */
    uint32_t faulty, not_delivered, twice;    /* frames of the input that a fault touched, dropped, duplicated */
    uint32_t refused[SUMMARY_STATUSES];       /* frames that vfront refused, by -status */
    uint64_t keyframes, loops[VFRONT_LOOP_ALONE + 1], frames_looped; /* loops by vfront_loop_state_t */
    uint32_t keyframes_held;                                         /* in the last frame */
    uint64_t imu_faults[RESULTS_IMU_FAULTS];                         /* steps with each bit of vfront_health_t.imu */
    struct frame_times *frame_times;
    size_t capacity;                        /* of frame_times */
    uint32_t depth_bin[SUMMARY_DEPTH_BINS]; /* histogram of depths, by the upper bits of the float */
};

/** Add a frame. Returns 0 without memory. */
int summary_add(struct summary *t, const vfront_result_t *r);

/** Add a frame that vfront refused. */
void summary_refuse(struct summary *t, vfront_status_t status);

/** 1 if at least two steps, and half of all, lost nearly all there was to follow: these pictures are no sequence. */
int summary_no_sequence(const struct summary *t);

/** Median time of a step [us]. */
double summary_median_step_us(const struct summary *t);

/** Number of refused frames. */
uint32_t summary_refused(const struct summary *t);

/**
 * Print the table to stdout.
 * @param[in] motion    Finished (motion_finish()).
 * @param[in] accuracy  That of the states; NULL: not known.
 */
void summary_print(const vfront_t *vf, const struct options *o, const dataset_t *d, const struct summary *t,
                   const motion_t *motion, const states_t *states, const state_accuracy_t *accuracy);

void summary_free(struct summary *t);

#endif
