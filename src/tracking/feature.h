/* SPDX-License-Identifier: MIT */
/* Tracked features and their counts: stored by refill, moved by track. */
#ifndef VF_FEATURE_H
#define VF_FEATURE_H

#include "base/vf.h"

/** Feature: a corner that is tracked from frame to frame. */
struct vf_feature {
    uint64_t id;
    int32_t x_q16, y_q16;    /* position [px of level 0, Q16] */
    int32_t dx_q16, dy_q16;  /* displacement since the previous frame [px of level 0, Q16] */
    int32_t alpha_q14;       /* photometric gain relative to the template, minus 1 [Q14] */
    int32_t offset_q5;       /* photometric offset at grey level 0 relative to the template [grey levels, Q5] */
    uint32_t residual_q3;    /* mean absolute residual over the patch [grey levels, Q3] */
    uint32_t age;            /* number of frames over which the feature was tracked; 0: new */
    uint32_t score;          /* detection score of the corner */
    uint16_t template_index; /* 0 .. VFRONT_TRACKS - 1: index into vf_track_memory.templates, .template_normal */
    uint8_t level;           /* level on which the corner was detected, < VFRONT_SCALES */
    uint8_t template_due;    /* 1: the template is extracted when the feature is next tracked */
    uint8_t end;             /* reason why the track ended, vfront_end_t; 0: alive */
    uint8_t reserved[3];
    uint32_t reserved2[3];
};
VF_STATIC_ASSERT(sizeof(struct vf_feature) == 64, "vfront: a feature is a cache line");

/** Counts of a frame's set of features. */
struct vf_track_counts {
    uint64_t last_id; /* greatest id given so far; the next new feature gets last_id + 1 */
    uint32_t count;   /* number of live features */
    uint32_t reserved;
};

#endif
