/* SPDX-License-Identifier: MIT */
/* The memory map: the device arena, one struct per stage, and the pinned arena, shared by host and device. Both are
 * structs of fixed size, so every offset is a compile-time constant. Only core/ and the ports include it; a stage sees
 * the parts that its view names. */
#ifndef VF_MEMORY_H
#define VF_MEMORY_H

#include "views.h"

/** Device arena: the memory of every stage. Each member starts at a multiple of 64 bytes. */
struct vf_memory {
#define VF_STAGE(name, needs, what)                                                                                    \
    union {                                                                                                            \
        struct vf_##name##_memory name;                                                                                \
        uint8_t name##_bytes[(sizeof(struct vf_##name##_memory) + 63) / 64 * 64];                                      \
    };
#include "stages.def"
#undef VF_STAGE
    /* [stage]: its start and end [ns of the device clock]; not part of digests */
    VF_CACHE_LINE uint64_t clock[VFRONT_STAGES][2];
    /* not in the union below, because stereo and dense may run concurrently */
    VF_CACHE_LINE struct vf_stereo_scratch stereo_scratch;
    /* scratch memory, valid only while its stage runs; last, so that all data kept between steps precede it */
    VF_CACHE_LINE union {
        VF_CACHE_LINE struct vf_dense_scratch dense_scratch;
        VF_CACHE_LINE struct vf_stixel_scratch stixel_scratch;
    };
};

/** Pinned arena: memory shared by host and device. */
struct vf_pinned {
    struct vf_params params;                 /* host to device: parameters of the frame */
    struct vf_vio_request request;           /* host to device: what the supervisor requests of the stage vio */
    uint64_t clock[VFRONT_STAGES][2];        /* device to host: copy of vf_memory.clock */
    struct vf_vio_report vio;                /* device to host: report of the stage vio for the supervisor */
    VF_CACHE_LINE uint64_t done;             /* device to host: ticket of the last frame whose result is complete */
    VF_CACHE_LINE vfront_result_t result[3]; /* used in turn; a result is valid until the second submit after its own */
    struct vf_dense_copy dense[3];           /* disparities of result[i] */
    /* [buffer][camera]: input images that the caller writes, buffers used in turn */
    VF_CACHE_LINE uint8_t input[VFRONT_INPUTS][VFRONT_CAMERAS][(VFRONT_INPUT_BYTES + 63) / 64 * 64];
    /* [camera]: mask of the frame, with the row pitch of geometry.raw */
    uint8_t mask[VFRONT_CAMERAS][(VFRONT_PICTURE_BYTES + 63) / 64 * 64];
};

/** Data from which the views of all stages are made, for one parity. */
struct vf_step {
    struct vf_geometry geometry;
    vfront_tuning_t tuning;
    /* 0 or 1: index of this frame's set in memory with two sets; the other set is the previous frame's */
    int32_t parity;
    struct vf_memory *memory;
    struct vf_pinned *pinned;
    struct vf_carry_mirror *mirror; /* host copy of the data that a fail-over needs, in pinned memory; NULL: none */
};

#define VF_STAGE(name, needs, what)                                                                                    \
    VF_STATIC_ASSERT((int)VF_##name == (int)VFRONT_STAGE_##name,                                                       \
                     "vfront: VFRONT_STAGE_LIST must be in the order of src/stages.def");
#include "stages.def"
#undef VF_STAGE
VF_STATIC_ASSERT((int)VF_STAGE_COUNT == (int)VFRONT_STAGES, "vfront: VFRONT_STAGE_LIST must be all of src/stages.def");

#endif
