/* SPDX-License-Identifier: MIT */
/* Features between two steps, and their counts: kept by refill, moved by track. */
#ifndef VF_FEATURE_H
#define VF_FEATURE_H

#include "core/vf.h"

/** State of a tracked feature between two frames. */
struct vf_feature {
    uint64_t id;
    int32_t x_q16, y_q16;    /* position [px of level 0, Q16] */
    int32_t dx_q16, dy_q16;  /* displacement in the last frame [px, Q16] */
    int32_t alpha_q14;       /* illumination gain - 1, since the template was extracted */
    int32_t offset_q5;       /* illumination offset at grey level 0, since then [grey levels, Q5] */
    uint32_t residual_q3;    /* mean absolute residual over the patch [grey levels, Q3] */
    uint32_t age;            /* frames tracked */
    uint32_t score;          /* of the corner that the feature began as */
    uint16_t template_index; /* into vf_track_memory.templates and .template_normal */
    uint8_t level;           /* of VFRONT_SCALES, on which the corner was detected */
    uint8_t template_due;    /* 1: the template is to be extracted when the feature is next tracked */
    uint8_t end;             /* vfront_end_t; 0: alive */
    uint8_t reserved[3];
    uint32_t reserved2[3];
};
VF_STATIC_ASSERT(sizeof(struct vf_feature) == 64, "vfront: a feature is a cache line");

/** Counts of a frame's set of features. */
struct vf_track_counts {
    uint64_t last_id; /* id of the last feature; the next one gets last_id + 1 */
    uint32_t count;   /* features alive */
    uint32_t reserved;
};

#endif
