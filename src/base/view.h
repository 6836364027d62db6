/* SPDX-License-Identifier: MIT */
/* Views: all memory that a stage may read and write. The header of each stage declares struct vf_<stage>_view by four
 * lists:
 *
 *   VF_READS_<stage>(X)     stages whose memory of this frame it reads; equal to its needs in stages.def
 *   VF_BEFORE_<stage>(X)    later or concurrent stages of whose memory it reads the previous frame's set
 *   VF_GEOMETRY_<stage>(X)  members of vf_geometry that it uses
 *   VF_TUNING_<stage>(X)    tuning values that it uses
 *
 * A view holds const pointers to those memories, copies of those members, and a pointer to the stage's own memory.
 * Names are the same in all views: s->pyramid, s->geometry.level, s->tuning.track_target. core/views.c makes all views
 * once, in vfront_init(), for each parity. Kernels take them by value. */
#ifndef VF_VIEW_H
#define VF_VIEW_H

#include "params.h"
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

/** Members of a view except its tuning. parity: index of this frame's buffers in memory with two sets; the other set is
 *  the previous frame's. clock: start and end of the stage in the current step, CUDA port only [ns of the device
 *  clock]. */
#define VF_VIEW(stage)                                                                                                 \
    struct vf_##stage##_geometry geometry;                                                                             \
    int32_t parity;                                                                                                    \
    VF_READS_##stage(VF_INPUT_MEMBER) VF_BEFORE_##stage(VF_INPUT_MEMBER) struct vf_##stage##_memory *stage;            \
    uint64_t *clock

/** Prototype of the host form of a stage: runs it on the calling thread, on host memory. */
#define VF_HOST_FORM(stage) void vf_##stage##_host(const struct vf_##stage##_view *s)

/** Level 0 of each camera, as written by ingest or rectify: [parity][camera], row pitch geometry.level[camera][0].pitch
 *  bytes. */
struct vf_pictures {
    const uint8_t *level0[2][VFRONT_CAMERAS];
};

/** Masks of level 0, with the pitch of level 0; value 0: the pixel is ignored. fixed: mask of the rig, or NULL; frame:
 *  mask of the frame, valid only if the frame has one. */
struct vf_masks {
    const uint8_t *fixed[VFRONT_CAMERAS];
    const uint8_t *frame[VFRONT_CAMERAS];
};

/** 1 if a pixel of level 0 passes the static mask, and the frame's mask if `framed`. at: y * pitch + x. */
VF_FN int vf_usable(const struct vf_masks *masks, int32_t camera, int framed, int32_t at)
{
    return (!masks->fixed[camera] || masks->fixed[camera][at]) && (!framed || masks->frame[camera][at]);
}

/** 1 if the frame has a mask for a camera. */
VF_FN int vf_framed(const struct vf_params *params, int32_t camera) { return params->source[camera].mask != NULL; }

#endif
