/* SPDX-License-Identifier: MIT
 *
 * What a recording shows of its calibration: correspondences between the two cameras, found by descriptors alone, so
 * that a wrong calibration does not choose them; rotations and metric motions of camera 0, estimated without the IMU;
 * samples of the IMU.
 */
#ifndef GATHER_H
#define GATHER_H

#include "examples/replay/dataset.h"

/** Correspondence: a key point of camera 0 and the one that is like it in camera 1. */
typedef struct pair {
    uint32_t frame;
    float px[2][2]; /* of each camera [px] */
    float size;     /* of a pixel of its level [px] */
} pair_t;

/** Step from the frame before. */
typedef struct step {
    uint64_t from_ns, to_ns;      /* t_mid_ns of both, on the clock of the frames */
    int has_rotation, has_motion; /* 1: rotation of camera 0 is known; metric motion is known */
    double turn[9];               /* p_now = turn p_before, of camera 0's bearings, without depths */
    pose_t motion;                /* p_now = R p_before + t, metric */
} step_t;

typedef struct gathered {
    vfront_rig_t rig;
    const char *kind;
    pair_t *pair;
    size_t pairs, pairs_room;
    step_t *step;
    size_t steps, steps_room;
    vfront_imu_t *imu; /* forces 0 where there is a gyro only */
    size_t samples, samples_room;
    int has_accel;
    uint32_t frames, refused;
    uint64_t from_ns, to_ns; /* first and last frame */
} gathered_t;

struct gather_options {
    const char *dataset, *calibration;
    uint32_t frames; /* 0: all */
    int mono, quiet;
};

/** Run vfront over the recording. Returns NULL, or a message. */
const char *gather(gathered_t *to, const struct gather_options *options);

#endif
