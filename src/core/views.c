/* SPDX-License-Identifier: MIT */
/* The views of all stages, assembled from the memory map; and the order of the stages, from their needs. */
#include "views.h"

#include "memory.h"

#define COPY_GEOMETRY(member) memcpy(&v->geometry.member, &s->geometry.member, sizeof v->geometry.member);
#define COPY_TUNING(value) v->tuning.value = s->tuning.value;
#define POINT(stage) v->stage = &s->memory->stage;

/* ---- members that are neither geometry nor tuning nor the memory of a stage -------------------------------------- */

static void look_at_pictures(struct vf_pictures *p, const struct vf_step *s)
{
    for (int parity = 0; parity < 2; parity++)
        for (int camera = 0; camera < VFRONT_CAMERAS; camera++) {
            p->level0[parity][camera] = s->memory->ingest.picture[parity][camera];
#if VFRONT_RECTIFY
            if (s->geometry.rectified) p->level0[parity][camera] = s->memory->rectify.picture[parity][camera];
#endif
        }
}

static void look_at_masks(struct vf_masks *m, const struct vf_step *s)
{
    for (int camera = 0; camera < VFRONT_CAMERAS; camera++) {
        m->fixed[camera] = s->geometry.masked[camera] ? s->memory->ingest.mask_static[camera] : NULL;
        m->frame[camera] = s->memory->ingest.mask_frame[camera];
#if VFRONT_RECTIFY
        if (s->geometry.rectified) m->frame[camera] = s->memory->rectify.mask[camera];
#endif
    }
}

/** Level 0 and the pyramid of camera 0, and the tuning of the alignment of patches. */
static void look_at_pyramids(struct vf_align_view *v, const struct vf_step *s)
{
    struct vf_pictures p;
    look_at_pictures(&p, s);
    VF_TUNING_align(COPY_TUNING) memcpy(v->level, s->geometry.level[0], sizeof v->level);
    for (int parity = 0; parity < 2; parity++) {
        v->level0[parity] = p.level0[parity][0];
        v->pyramid[parity] = s->memory->pyramid.pixels[parity][0];
    }
}

/** Geometry and tuning of stixel, for report. */
static void look_at_stixels(struct vf_report_view *v, const struct vf_step *s)
{
    struct vf_stixel_view t;
    vf_stixel_look(&t, s);
    v->stixel_geometry = t.geometry;
    v->stixel_tuning = t.tuning;
}

#define PICTURES look_at_pictures(&v->pictures, s)
#define MASKS look_at_masks(&v->masks, s)

#define MORE_ingest v->given = &s->pinned->params
#define MORE_freeze (void)0
#define MORE_rectify (void)0
#define MORE_pyramid PICTURES
#define MORE_scale PICTURES
#define MORE_smooth PICTURES
#define MORE_predict v->given = &s->pinned->params
#define MORE_track look_at_pyramids(&v->align, s), MASKS
#define MORE_detect PICTURES, MASKS
#define MORE_refill (void)0
#define MORE_select (void)0
#define MORE_bearing (void)0
#define MORE_describe PICTURES
#define MORE_stereo PICTURES, v->scratch = &s->memory->stereo_scratch
#define MORE_rows PICTURES
#define MORE_match look_at_pyramids(&v->align, s)
#define MORE_partner look_at_pyramids(&v->align, s), PICTURES, MASKS
#define MORE_sight (void)0
#define MORE_window v->given = &s->pinned->given
#define MORE_place (void)0
#define MORE_overlap (void)0
#define MORE_keyframe (void)0
#define MORE_loop (void)0
#define MORE_map (void)0
#define MORE_ego (void)0 /* what cuBLAS needs is the CUDA port's to fill in */
#define MORE_dense PICTURES, MASKS, v->scratch = &s->memory->dense_scratch, v->copy = s->pinned->dense
#define MORE_stixel PICTURES, v->scratch = &s->memory->stixel_scratch
#define MORE_report                                                                                                    \
    look_at_stixels(v, s), v->result = s->pinned->result, v->done = &s->pinned->done,                                  \
                           v->clocks = (const uint64_t(*)[2])s->memory->clock, v->clocks_out = s->pinned->clock,       \
                           v->mirror = s->mirror

/* ---- one stage --------------------------------------------------------------------------------------------------- */

#define VF_STAGE(name, needs, what)                                                                                    \
    void vf_##name##_look(struct vf_##name##_view *v, const struct vf_step *s)                                         \
    {                                                                                                                  \
        memset(v, 0, sizeof *v);                                                                                       \
        VF_GEOMETRY_##name(COPY_GEOMETRY) VF_TUNING_##name(COPY_TUNING) VF_READS_##name(POINT) VF_BEFORE_##name(POINT) \
            v->parity = s->parity;                                                                                     \
        v->name = &s->memory->name;                                                                                    \
        v->clock = s->memory->clock[VF_##name];                                                                        \
        MORE_##name;                                                                                                   \
    }
#include "stages.def"
#undef VF_STAGE

void vf_views_look(struct vf_views *views, const struct vf_step *step)
{
#define VF_STAGE(name, needs, what) vf_##name##_look(&views->name, step);
#include "stages.def"
#undef VF_STAGE
}

/* ---- order ------------------------------------------------------------------------------------------------------- */

/* Check: the stages that a stage reads are those in its list of needs, and none of them runs after it. */
#define BIT(stage) | VF_BIT(stage)
#define VF_STAGE(name, needs, what)                                                                                    \
    VF_STATIC_ASSERT((0u VF_READS_##name(BIT)) == (needs),                                                             \
                     "vfront: needs of " #name " in src/stages.def and its view");                                     \
    VF_STATIC_ASSERT((needs) < VF_BIT(name), "vfront: " #name " in src/stages.def needs a stage that is not before "   \
                                             "it");
#include "stages.def"
#undef VF_STAGE

static const uint32_t needed[] = {
#define VF_STAGE(name, needs, what) needs,
#include "stages.def"
#undef VF_STAGE
};

/** Stages that one waits for though it does not need them, because it has time: so `detect`, on the longest way through
 *  the step, has the GPU for itself. `track` waits for `smooth`: begun earlier, its blocks lie on the multiprocessors
 *  that `detect` wants; on an H200 a stereo step takes 288 us of the device's time then instead of 265, one of a single
 *  camera 121 instead of 113. Nothing before `select` needs what `freeze` finds or, without tracks, what `pyramid` and
 *  `smooth` make: they run beside `select`, which is one block a picture; of 1,800 points with descriptors 76 us of a
 *  step become 65, of a pair 101 become 88. With the state of the IMU `stereo` is on the longest way and `match` is
 *  not: it waits, and runs beside `window`, which leaves most multiprocessors idle. */
static uint32_t delayed(int stage, uint32_t active)
{
    if (stage == (int)VF_track) return VF_BIT(smooth) & active;
    if (stage == (int)VF_freeze) return VF_BIT(detect) & active;
    if ((stage == (int)VF_pyramid || stage == (int)VF_smooth) && !(active & VF_BIT(track)))
        return VF_BIT(detect) & active;
    if (stage == (int)VF_match && active & VF_BIT(window)) return VF_BIT(stereo) & active;
    return 0;
}

static uint32_t awaited(int stage, uint32_t active) { return needed[stage] | delayed(stage, active); }

uint32_t vf_stage_behind(enum vf_stage stage, uint32_t active)
{
    uint32_t behind = awaited((int)stage, active), before = 0;
    while (behind != before) {
        before = behind;
        for (int i = 0; i < VFRONT_STAGES; i++)
            if (before >> i & 1) behind |= awaited(i, active);
    }
    return behind & active;
}

uint32_t vf_stages_last(uint32_t stages, uint32_t active)
{
    uint32_t last = stages & active;
    for (int i = 0; i < VFRONT_STAGES; i++)
        if ((stages & active) >> i & 1) last &= ~vf_stage_behind((enum vf_stage)i, active);
    return last;
}

uint32_t vf_stage_edges(enum vf_stage stage, uint32_t active)
{
    return vf_stages_last(vf_stage_behind(stage, active), active);
}
