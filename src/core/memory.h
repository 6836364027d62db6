/* SPDX-License-Identifier: MIT */
/* The memory map: the device arena, one struct a stage, and the pinned arena, shared by host and device. Both are
 * structs of fixed size, so every offset is a compile-time constant. Only core/ and the ports include it: a stage sees
 * the parts that its view names. */
#ifndef VF_MEMORY_H
#define VF_MEMORY_H

#include "views.h"

/** The device arena. Each member starts at a multiple of 64 bytes. */
struct vf_memory {
#define VF_STAGE(name, needs, what)                                                                                    \
    union {                                                                                                            \
        struct vf_##name##_memory name;                                                                                \
        uint8_t name##_bytes[(sizeof(struct vf_##name##_memory) + 63) / 64 * 64];                                      \
    };
#include "stages.def"
#undef VF_STAGE
    /* start and end of each stage [ns of the device's clock]; no part of the bits */
    VF_LINE uint64_t clock[VFRONT_STAGES][2];
    VF_LINE struct vf_stereo_scratch stereo_scratch; /* of its kernels; dense may run beside it */
    VF_LINE union { /* scratch: valid while its stage runs; last, so that all before it is what a step keeps */
        VF_LINE struct vf_dense_scratch dense_scratch;
        VF_LINE struct vf_stixel_scratch stixel_scratch;
    };
};

/** The pinned arena. */
struct vf_pinned {
    struct vf_params params;           /* host to device */
    struct vf_window_given given;      /* likewise, for window */
    uint64_t clock[VFRONT_STAGES][2];  /* device to host, a copy of vf_memory.clock */
    VF_LINE uint64_t done;             /* ticket of the last frame whose result is complete */
    VF_LINE vfront_result_t result[3]; /* in turn: a result lives until the next-but-one submit */
    struct vf_dense_copy dense[3];     /* disparities of each result */
    /* the library's input buffers, in turn */
    VF_LINE uint8_t input[VFRONT_INPUTS][VFRONT_CAMERAS][(VFRONT_INPUT_BYTES + 63) / 64 * 64];
    /* the frame's masks, rows of level 0's pitch */
    uint8_t mask[VFRONT_CAMERAS][(VFRONT_PICTURE_BYTES + 63) / 64 * 64];
};

/** Everything that views are made of, for one parity. */
struct vf_step {
    struct vf_geometry geometry;
    vfront_tuning_t tuning;
    int32_t parity; /* index of this frame's buffers; the other set is the frame before's */
    struct vf_memory *memory;
    struct vf_pinned *pinned;
    struct vf_carry_mirror *mirror; /* in pinned memory; NULL: none is kept */
};

#define VF_STAGE(name, needs, what)                                                                                    \
    VF_STATIC_ASSERT((int)VF_##name == (int)VFRONT_STAGE_##name,                                                       \
                     "vfront: VFRONT_STAGE_LIST must be in the order of src/stages.def");
#include "stages.def"
#undef VF_STAGE
VF_STATIC_ASSERT((int)VF_STAGE_COUNT == (int)VFRONT_STAGES, "vfront: VFRONT_STAGE_LIST must be all of src/stages.def");

#endif
