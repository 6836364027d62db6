/* SPDX-License-Identifier: MIT */
/* Views: all that a stage may read and write. The header of each stage declares its own, struct vf_<stage>_view, by
 * four lists:
 *
 *   VF_READS_<stage>(X)     stages whose memory of this frame it reads; stages.def names the same ones as its needs
 *   VF_BEFORE_<stage>(X)    stages that run later in a step, or beside it, whose memory of the frame before it reads,
 *                           by parity
 *   VF_GEOMETRY_<stage>(X)  members of vf_geometry that it uses
 *   VF_TUNING_<stage>(X)    tuning values that it uses
 *
 * A view holds const pointers to those memories, copies of those members, and a pointer to the stage's own memory, all
 * under the names that they have elsewhere: s->pyramid->light, s->geometry.level, s->tuning.track_target. core/views.c
 * makes all views once, in vfront_init(), for each parity. Kernels take them by value. */
#ifndef VF_VIEW_H
#define VF_VIEW_H

#include "geometry.h"
#include "stage.h"

#define VF_TYPE_OF(type, member) __typeof__(((type *)0)->member)
#define VF_GEOMETRY_MEMBER(name) VF_TYPE_OF(struct vf_geometry, name) name;
#define VF_TUNING_MEMBER(name) int32_t name;
#define VF_INPUT_MEMBER(stage) const struct vf_##stage##_memory *stage;

/** Types of the geometry and the tuning of a view: struct vf_<stage>_geometry, struct vf_<stage>_tuning. */
#define VF_GEOMETRY_OF(stage)                                                                                          \
    struct vf_##stage##_geometry {                                                                                     \
        VF_GEOMETRY_##stage(VF_GEOMETRY_MEMBER)                                                                        \
    }
#define VF_TUNING_OF(stage)                                                                                            \
    struct vf_##stage##_tuning {                                                                                       \
        VF_TUNING_##stage(VF_TUNING_MEMBER)                                                                            \
    }

/** Members of a view but its tuning. parity: index of this frame's buffers, where a memory has two sets; the other set
 *  is the frame before's. clock: start and end of the stage in the current step [ns of the device's clock], on the CUDA
 *  port. */
#define VF_VIEW(stage)                                                                                                 \
    struct vf_##stage##_geometry geometry;                                                                             \
    int32_t parity;                                                                                                    \
    VF_READS_##stage(VF_INPUT_MEMBER) VF_BEFORE_##stage(VF_INPUT_MEMBER) struct vf_##stage##_memory *stage;            \
    uint64_t *clock

/** Prototype of the host form of a stage: runs it on the calling thread, on memory that the processor can address. */
#define VF_HOST_FORM(stage) void vf_##stage##_host(const struct vf_##stage##_view *s)

/** Level 0 of each camera, as ingest or rectify left it: [parity][camera], rows of geometry.level[camera][0].pitch
 *  bytes. */
struct vf_pictures {
    const uint8_t *level0[2][VFRONT_CAMERAS];
};

/** Masks that go with level 0, rows of its pitch, 0 = ignore: of the rig, or NULL; of the frame, to be read only where
 *  the frame has one. */
struct vf_masks {
    const uint8_t *fixed[VFRONT_CAMERAS];
    const uint8_t *frame[VFRONT_CAMERAS];
};

/** 1 where the static mask, and in a frame with a mask (framed 1) the frame's, leave a pixel of level 0 usable. at: y *
 *  pitch + x. */
VF_FN int vf_usable(const struct vf_masks *masks, int32_t camera, int framed, int32_t at)
{
    return (!masks->fixed[camera] || masks->fixed[camera][at]) && (!framed || masks->frame[camera][at]);
}

/** 1 where the frame has a mask for a camera. */
VF_FN int vf_framed(const struct vf_params *params, int32_t camera) { return params->source[camera].mask != NULL; }

#endif
