/* SPDX-License-Identifier: MIT */
/* The memory map: what each stage keeps in the device arena, and what host and device share in the pinned arena. Both are
 * structs of fixed size, so every offset is a compile-time constant. */
#ifndef VF_MEMORY_H
#define VF_MEMORY_H

#include "features/bearing.h"
#include "depth/dense.h"
#include "features/describe.h"
#include "features/detect.h"
#include "geometry/ego.h"
#include "image/ingest.h"
#include "tracking/match.h"
#include "image/pyramid.h"
#include "camera/rectify.h"
#include "tracking/refill.h"
#include "result/report.h"
#include "image/scale.h"
#include "features/select.h"
#include "image/smooth.h"
#include "geometry/stereo.h"
#include "depth/stixel.h"
#include "tracking/track.h"

/** The device arena. Each member starts at a multiple of 64 bytes. */
struct vf_memory {
#define VF_STAGE(name, needs, what)                                                                                    \
    union {                                                                                                            \
        struct vf_##name##_memory name;                                                                                \
        uint8_t name##_bytes[(sizeof(struct vf_##name##_memory) + 63) / 64 * 64];                                      \
    };
#include "stages.def"
#undef VF_STAGE
    union { /* the last, so that all before it is what a step keeps */
        VF_LINE struct vf_dense_passing dense_passing;
        VF_LINE struct vf_stixel_work stixel_work;
    };
};

/** The pinned arena. */
struct vf_pinned {
    struct vf_params params;           /* host to device */
    uint64_t clock[VFRONT_STAGES][2];  /* device to host, like report.clock */
    VF_LINE uint64_t done;             /* ticket of the last frame that is whole in its result */
    VF_LINE vfront_result_t result[3]; /* in turn: a result lives until the next-but-one submit */
    struct vf_dense_copy dense[3];     /* disparities of each result */
    VF_LINE uint8_t
        input[2][VFRONT_CAMERAS][(VFRONT_INPUT_BYTES + 63) / 64 * 64]; /* the library's input buffers, in turn */
    uint8_t mask[VFRONT_CAMERAS]
                [(VFRONT_PICTURE_BYTES + 63) / 64 * 64]; /* the frame's masks, rows of level 0's pitch */
};

/** Stages in run order. */
enum vf_stage {
#define VF_STAGE(name, needs, what) VF_##name,
#include "stages.def"
#undef VF_STAGE
    VF_STAGE_COUNT
};
#define VF_BIT(name) (1u << VF_##name)
VF_STATIC_ASSERT(VF_STAGE_COUNT == VFRONT_STAGES,
                 "vfront: VFRONT_STAGES must be the number of lines in src/stages.def");

/** A level of a camera's pyramid in the buffers of a parity. */
VF_FN uint8_t *vf_level_pixels(const struct vf_step *s, int32_t parity, int32_t camera, int32_t level)
{
    return s->memory->pyramid.pixels[parity][camera] + s->geometry.level[camera][level].offset;
}

/** A camera's picture as it came. */
VF_FN uint8_t *vf_raw_pixels(const struct vf_step *s, int32_t camera)
{
#if VFRONT_RECTIFY
    if (vf_rectify_on(s)) return s->memory->rectify.raw[camera];
#endif
    return vf_level_pixels(s, s->parity, camera, 0);
}

/** A level of VFRONT_SCALES of a camera: level 0 is the pyramid's. */
VF_FN uint8_t *vf_scale_pixels(const struct vf_step *s, int32_t camera, int32_t level)
{
    return level ? s->memory->scale.pixels[camera] + s->geometry.scale[camera][level].offset
                 : vf_level_pixels(s, s->parity, camera, 0);
}

#if VFRONT_DESCRIPTORS
/** The same, smoothed. */
VF_FN uint8_t *vf_smooth_pixels(const struct vf_step *s, int32_t camera, int32_t level)
{
    const struct vf_level *l0 = &s->geometry.scale[camera][0];
    return s->memory->smooth.pixels[camera] +
           (level ? (uint32_t)(l0->pitch * l0->height) + s->geometry.scale[camera][level].offset : 0);
}
#endif

/** Whether the frame has a mask for a camera. */
VF_FN int vf_framed(const struct vf_step *s, int32_t camera)
{
    return s->memory->ingest.params.source[camera].mask != NULL;
}

/** A frame's mask as it goes with level 0. */
VF_FN const uint8_t *vf_frame_mask(const struct vf_step *s, int32_t camera)
{
#if VFRONT_RECTIFY
    if (vf_rectify_on(s)) return s->memory->rectify.mask[camera];
#endif
    return s->memory->ingest.mask_frame[camera];
}

/** Whether a level 0 pixel is usable: not under the static mask nor, in a framed picture, under the frame's. */
VF_FN int vf_usable(const struct vf_step *s, int32_t camera, int framed, int32_t x, int32_t y)
{
    const int32_t at = y * s->geometry.level[camera][0].pitch + x;
    return (!s->geometry.masked[camera] || s->memory->ingest.mask_static[camera][at]) &&
           (!framed || vf_frame_mask(s, camera)[at]);
}

/** Forgets what points found and who looked at them: every `step`-th of them from `first` on. */
VF_FN void vf_bearing_forget(const struct vf_step *s, int32_t first, int32_t step)
{
    (void)s; /* in a config without either */
    for (int32_t i = first; i < VFRONT_KEYPOINTS; i += step) {
#if VFRONT_STEREO
        s->memory->stereo.back[i] = VF_NONE;
#endif
#if VFRONT_MATCHES
        s->memory->match.back[i] = s->memory->match.found[i] = VF_NONE;
        s->memory->match.second[i] = 256;
#endif
    }
}

/** Distance of a key point of camera 0 in the frame of a parity; 0: not known. */
VF_FN struct vf_range vf_range(const struct vf_step *s, int32_t parity, uint32_t keypoint)
{
    struct vf_range r = {0.0f, 0.0f};
#if VFRONT_STEREO
    r.m = s->memory->stereo.range_m[parity][keypoint];
    r.sigma_m = s->memory->stereo.range_sigma_m[parity][keypoint];
#else
    (void)s, (void)parity, (void)keypoint;
#endif
    return r;
}

/** With which motions a pair agrees: a track, or behind those a match. */
VF_FN uint32_t vf_agrees(const struct vf_step *s, uint32_t candidate)
{
#if VFRONT_EGO
    if (vf_ego_on(s)) return s->memory->ego.agrees[candidate];
#endif
    (void)s, (void)candidate;
    return 0;
}

/** The motions of a step: relative, metric, the last that was good. */
VF_FN void vf_motions(const struct vf_step *s, vfront_motion_t *relative, vfront_motion_t *metric,
                      vfront_motion_t *good)
{
#if VFRONT_EGO
    if (vf_ego_on(s)) {
        *relative = s->memory->ego.relative;
        *metric = s->memory->ego.metric;
        *good = s->memory->ego.good[s->parity];
        return;
    }
#endif
    (void)s;
    vf_ego_blank(relative, VFRONT_MOTION_NONE);
    vf_ego_blank(metric, VFRONT_MOTION_NONE);
    vf_ego_blank(good, VFRONT_MOTION_NONE);
}

/** Lengths of the lists of partners. */
VF_FN uint32_t vf_depths(const struct vf_step *s)
{
#if VFRONT_STEREO
    if (vf_stereo_on(s)) return s->memory->stereo.count;
#endif
    (void)s;
    return 0;
}
VF_FN uint32_t vf_matches(const struct vf_step *s)
{
#if VFRONT_MATCHES
    if (vf_match_on(s)) return s->memory->match.count;
#endif
    (void)s;
    return 0;
}

#if VFRONT_DENSE
/** A pixel's disparity if it is of use: under no mask, nor where it leads to in camera 1, which finds the same. framed: cameras whose frame has a
 *  mask; back: keys of camera 1's row. */
VF_FN uint32_t vf_dense_checked(const struct vf_step *s, const int framed[2], const uint32_t *back, int32_t x,
                                int32_t y, uint32_t disparity)
{
    if (disparity == VF_DENSE_NONE) return VF_DENSE_NONE;
    const int32_t there = x - vf_dense_px(disparity);
    const int fine = vf_dense_agrees(&s->tuning, disparity, back[there]) && vf_usable(s, 0, framed[0], x, y) &&
                     vf_usable(s, 1, framed[1], there, y);
    return fine ? disparity : VF_DENSE_NONE;
}
#endif

/** Pixels with a disparity. */
VF_FN uint32_t vf_disparities(const struct vf_step *s)
{
#if VFRONT_DENSE
    if (vf_dense_on(s)) return s->memory->dense.valid;
#endif
    (void)s;
    return 0;
}

#if VFRONT_STIXELS
/** Columns that are cut. */
VF_FN int32_t vf_columns(const struct vf_step *s) { return vf_stixel_on(s) ? vf_stixel_columns(s) : 0; }

VF_FN vfront_road_t vf_report_road(const struct vf_step *s)
{
    const vfront_road_t none = {0, 0, 0, 0.0f, 0.0f, 0.0f, 0.0f};
    return vf_stixel_on(s) ? vf_stixel_road(s, &s->memory->stixel.road) : none;
}

VF_FN uint16_t vf_report_obstacle(const struct vf_step *s, int32_t bin)
{
    const uint32_t cm = vf_stixel_on(s) ? s->memory->stixel.nearest_cm[bin] : VF_NONE;
    return (uint16_t)(cm < VFRONT_OBSTACLE_UNKNOWN ? cm : VFRONT_OBSTACLE_UNKNOWN);
}
#endif

#endif
