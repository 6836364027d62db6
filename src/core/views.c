/* SPDX-License-Identifier: MIT */
/* Makes the views of all stages from the memory map, and finds which stages must wait for which others. */
#include "views.h"

#include "memory.h"

#define COPY_GEOMETRY(member) memcpy(&v->geometry.member, &s->geometry.member, sizeof v->geometry.member);
#define COPY_TUNING(value) v->tuning.value = s->tuning.value;
#define POINT(stage) v->stage = &s->memory->stage;

/* ---- members besides geometry, tuning and the memory of stages --------------------------------------------------- */

static void set_pictures(struct vf_pictures *p, const struct vf_step *s)
{
    for (int parity = 0; parity < 2; parity++)
        for (int camera = 0; camera < VFRONT_CAMERAS; camera++) {
            p->level0[parity][camera] = s->memory->ingest.picture[parity][camera];
#if VFRONT_RECTIFY
            if (s->geometry.rectified) p->level0[parity][camera] = s->memory->rectify.picture[parity][camera];
#endif
        }
}

static void set_masks(struct vf_masks *m, const struct vf_step *s)
{
    for (int camera = 0; camera < VFRONT_CAMERAS; camera++) {
        m->fixed[camera] = s->geometry.masked[camera] ? s->memory->ingest.mask_static[camera] : NULL;
        m->frame[camera] = s->memory->ingest.mask_frame[camera];
#if VFRONT_RECTIFY
        if (s->geometry.rectified) m->frame[camera] = s->memory->rectify.mask[camera];
#endif
    }
}

/** Sets the view of patch alignment: images of camera 0 on all pyramid levels, and tuning. */
static void set_pyramids(struct vf_align_view *v, const struct vf_step *s)
{
    struct vf_pictures p;
    set_pictures(&p, s);
    VF_TUNING_align(COPY_TUNING) memcpy(v->level, s->geometry.level[0], sizeof v->level);
    for (int parity = 0; parity < 2; parity++) {
        v->level0[parity] = p.level0[parity][0];
        v->pyramid[parity] = s->memory->pyramid.pixels[parity][0];
    }
}

/** Copies geometry and tuning of the stage stixel to the view of report. */
static void set_stixels(struct vf_report_view *v, const struct vf_step *s)
{
    struct vf_stixel_view t;
    vf_stixel_make_view(&t, s);
    v->stixel_geometry = t.geometry;
    v->stixel_tuning = t.tuning;
}

#define PICTURES set_pictures(&v->pictures, s)
#define MASKS set_masks(&v->masks, s)

#define MORE_ingest v->given = &s->pinned->params
#define MORE_freeze (void)0
#define MORE_rectify (void)0
#define MORE_pyramid PICTURES
#define MORE_scale PICTURES
#define MORE_smooth PICTURES
#define MORE_predict v->given = &s->pinned->params
#define MORE_track set_pyramids(&v->align, s), MASKS
#define MORE_detect PICTURES, MASKS
#define MORE_refill (void)0
#define MORE_select (void)0
#define MORE_bearing (void)0
#define MORE_describe PICTURES
#define MORE_stereo PICTURES, v->scratch = &s->memory->stereo_scratch
#define MORE_epipolar PICTURES
#define MORE_match set_pyramids(&v->align, s)
#define MORE_partner set_pyramids(&v->align, s), PICTURES, MASKS
#define MORE_observe (void)0
#define MORE_vio v->request = &s->pinned->request
#define MORE_recall (void)0
#define MORE_relpose (void)0
#define MORE_keyframe (void)0
#define MORE_loop (void)0
#define MORE_map (void)0
#define MORE_ego (void)0 /* the CUDA port sets the members for cuBLAS of this stage's view: systems and cublas */
#define MORE_dense PICTURES, MASKS, v->scratch = &s->memory->dense_scratch, v->copy = s->pinned->dense
#define MORE_stixel PICTURES, v->scratch = &s->memory->stixel_scratch
#define MORE_report                                                                                                    \
    set_stixels(v, s), v->result = s->pinned->result, v->vio_out = &s->pinned->vio, v->done = &s->pinned->done,        \
                       v->clocks = (const uint64_t(*)[2])s->memory->clock, v->clocks_out = s->pinned->clock,           \
                       v->mirror = s->mirror

/* ---- one stage --------------------------------------------------------------------------------------------------- */

#define VF_STAGE(name, needs, what)                                                                                    \
    void vf_##name##_make_view(struct vf_##name##_view *v, const struct vf_step *s)                                    \
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

void vf_views_make(struct vf_views *views, const struct vf_step *step)
{
#define VF_STAGE(name, needs, what) vf_##name##_make_view(&views->name, step);
#include "stages.def"
#undef VF_STAGE
}

/* ---- order of the stages ----------------------------------------------------------------------------------------- */

/* Asserts that the stages whose memory a stage reads are its needs in stages.def, and that all of them precede it. */
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

/** Stages that a stage waits for although it does not need them. The wait keeps the GPU free for other stages on the
 *  critical path:
 *  - track waits for smooth, so that blocks of track do not occupy multiprocessors that detect needs
 *  - freeze, and without tracks pyramid and smooth, wait for detect and run beside select, which uses one block per
 *  image
 *  - match waits for stereo if vio is active, and runs beside vio, which leaves most multiprocessors idle */
static uint32_t delayed(int stage, uint32_t active)
{
    if (stage == (int)VF_track) return VF_BIT(smooth) & active;
    if (stage == (int)VF_freeze) return VF_BIT(detect) & active;
    if ((stage == (int)VF_pyramid || stage == (int)VF_smooth) && !(active & VF_BIT(track)))
        return VF_BIT(detect) & active;
    if (stage == (int)VF_match && active & VF_BIT(vio)) return VF_BIT(stereo) & active;
    return 0;
}

static uint32_t awaited(int stage, uint32_t active) { return needed[stage] | delayed(stage, active); }

uint32_t vf_stage_predecessors(enum vf_stage stage, uint32_t active)
{
    uint32_t predecessors = awaited((int)stage, active), before = 0;
    while (predecessors != before) {
        before = predecessors;
        for (int i = 0; i < VFRONT_STAGES; i++)
            if (before >> i & 1) predecessors |= awaited(i, active);
    }
    return predecessors & active;
}

uint32_t vf_stages_minimal(uint32_t stages, uint32_t active)
{
    uint32_t last = stages & active;
    for (int i = 0; i < VFRONT_STAGES; i++)
        if ((stages & active) >> i & 1) last &= ~vf_stage_predecessors((enum vf_stage)i, active);
    return last;
}

uint32_t vf_stage_edges(enum vf_stage stage, uint32_t active)
{
    return vf_stages_minimal(vf_stage_predecessors(stage, active), active);
}
