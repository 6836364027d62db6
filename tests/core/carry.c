/* SPDX-License-Identifier: MIT */
/* Data that a step passes to the next one: the lists in result/carry.h are complete and minimal. Between two steps on
 * the host port, everything except the lists, the previous frame's images and data prepared by vfront_init() is
 * overwritten with noise; digests are unchanged. Each listed member corrupted alone changes a digest, except
 * bearing.first, which host forms do not need. With EMULATED (tests/emulate) the noise test also runs on the kernels,
 * which read other members than the host forms. */
#include "tests/fixture/pair.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/context.h"
#include "result/carry.h"
#include "tests/fixture/rendered.h"

#define FRAMES 13

static struct vf_context *context_of(vfront_t *vf)
{
    return (struct vf_context *)(((uintptr_t)vf + 63) & ~(uintptr_t)63);
}

/* ---- members ----------------------------------------------------------------------------------------------------- */

/** A member of the arena, or its two sets. */
struct arena_member {
    const char *name;
    size_t at, other; /* offsets of the sets of parity 0 and 1; equal: one set */
    size_t bytes;     /* bytes of a set */
    int cleared;      /* 1: of the next frame's parity, cleared; else of the previous frame's */
    int condition;    /* 1: only passed by a step with the estimator running; 2: by one whose frame is a keyframe */
};

#define AT(arena_member) offsetof(struct vf_memory, arena_member)
#define SIZE(arena_member) sizeof(((struct vf_memory *)0)->arena_member)
#define STATED_ALL 0
#define STATED_POINT 0
#define STATED_TRACK 0
#define STATED_STATE 1
#define STATED_KEYED 2
static const struct arena_member listed[] = {
#define SET(stage, member, part, extent)                                                                               \
    {#stage "." #member, AT(stage.member[0] part), AT(stage.member[1] part), SIZE(stage.member[0] part), 0,            \
     STATED_##extent},
    VF_CARRY(SET) VF_CARRY_REPORT(SET)
#undef SET
#define SET(stage, member) {#stage "." #member, AT(stage.member), AT(stage.member), SIZE(stage.member), 0, 0},
        VF_CARRY_SINGLE(SET) SET(track, templates) SET(track, template_normal)
#if VFRONT_MAP
            SET(keyframe, ring)
#endif
#undef SET
#define SET(stage, member, value)                                                                                      \
    {#stage "." #member, AT(stage.member[0]), AT(stage.member[1]), SIZE(stage.member[0]), 1, 0},
                VF_CLEARED(SET)
#undef SET
};
/** Images of the previous frame, and data prepared once. */
static const struct arena_member others[] = {
#define SET(member) {#member, AT(member[0]), AT(member[1]), SIZE(member[0]), 0, 0},
    SET(ingest.picture) SET(rectify.picture) SET(pyramid.pixels)
#undef SET
#define SET(member) {#member, AT(member), AT(member), SIZE(member), 0, 0},
        SET(ingest.mask_static) SET(rectify.remap) SET(bearing.node) SET(stixel.tables)
#ifdef EMULATED
    /* 0 between steps, as after vfront_init() */
    SET(freeze.blocks_done) SET(epipolar.blocks_done) SET(ego.blocks_done) SET(ego.parts_done) SET(report.blocks_done)
        SET(stixel.blocks_done) SET(stixel.line)
#endif
#undef SET
};
#define COUNT(list) (sizeof(list) / sizeof *(list))

#ifdef EMULATED
#define PORT VFRONT_PORT_CUDA
#else
#define PORT VFRONT_PORT_HOST
#endif

#ifndef EMULATED
/** Members for which any bits are safe: compared and computed with, but never used as an index. */
static int any_bits(const char *name)
{
    static const char *const safe[] = {"freeze.frames",
                                       "freeze.shown",
                                       "freeze.repeated",
                                       "stereo.pair",
                                       "epipolar.estimate",
                                       "match.before",
                                       "partner.range",
                                       "predict.given",
                                       "ego.good",
                                       "ego.running_means",
                                       "ego.last",
                                       "ego.disparity",
                                       "report.chain",
                                       "report.interval",
                                       "report.running_mean",
                                       "describe.angle",
                                       "describe.descriptor",
                                       "stereo.range_m",
                                       "stereo.range_sigma_m"};
    for (size_t i = 0; i < COUNT(safe); i++)
        if (!strcmp(name, safe[i])) return 1;
    return 0;
}
#endif

static size_t offset_of(const struct arena_member *p, int32_t parity)
{
    return (p->cleared ? parity : parity ^ 1) ? p->other : p->at;
}

/* ---- the sequence ------------------------------------------------------------------------------------------------ */

/** FULL: everything on, raw images, calibration offsets corrected; ROAD: a road visible in every other frame; FLIGHT,
 *  VISION_ONLY: the estimator with IMU, and vision only; LOOPS: few tracks, so that all keyframes soon may be loops. */
enum sequence { FULL, PLAIN, ROAD, FLIGHT, VISION_ONLY, LOOPS, SEQUENCES };
static uint64_t undisturbed[SEQUENCES][FRAMES];
static int has_state[FRAMES], has_vision_only[FRAMES]; /* of FLIGHT and VISION_ONLY */
static int loops;                                      /* state of the first loop in the last frame of LOOPS; 0: none */
static struct vf_memory kept;

/** 1 if the frame of `kept` had a state of the estimator. Without the stage vio its request is noise. */
static int had_state(void)
{
#if VFRONT_VIO
    if (kept.vio.request.accepted >= VF_BANK) return 0;
#endif
    return vf_vio_has_state(&kept.vio, VF_BIT(vio));
}

/** Overwrites all data that must not matter. parity: of the next frame. */
static void noise(struct vf_memory *m, int32_t parity)
{
    kept = *m;
    uint32_t *word = (uint32_t *)m;
    static uint32_t x = 1;
    for (size_t i = 0; i < sizeof *m / 4; i++) word[i] = x = x * 1664525u + 1013904223u;
    for (size_t i = 0; i < COUNT(listed) + COUNT(others); i++) {
        const struct arena_member *p = i < COUNT(listed) ? &listed[i] : &others[i - COUNT(listed)];
        const size_t at = offset_of(p, parity);
        if (p->condition == STATED_STATE && !had_state()) continue;
        if (p->condition == STATED_KEYED && !vf_keyframe_due(&kept.keyframe, VF_BIT(keyframe), parity ^ 1)) continue;
        memcpy((uint8_t *)m + at, (const uint8_t *)&kept + at, p->bytes);
    }
}

enum variant { ZERO, STALE, PATTERN, VARIANTS };

/** Corrupts one member: zeroes, the other set, or a pattern. */
static void spoil(struct vf_memory *m, const struct arena_member *p, enum variant variant, int32_t parity)
{
    uint8_t *to = (uint8_t *)m + offset_of(p, parity);
    if (variant == STALE)
        memcpy(to, (uint8_t *)m + offset_of(p, parity ^ 1), p->bytes);
    else
        memset(to, variant == ZERO ? 0 : 0x3f, p->bytes);
}

/** Rig of pinholes side by side. */
static vfront_rig_t road_rig(void)
{
    vfront_rig_t rig = {.cameras = VFRONT_CAMERAS};
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        const vfront_camera_t pinhole = {
            .width_px = 160, .height_px = 120, .fx_px = 100, .fy_px = 100, .cx_px = 80, .cy_px = 40};
        rig.camera[c] = pinhole;
        rig.camera[c].t_cam_imu_m[0] = -0.1 * c;
    }
    return rig;
}

/** Draws texture on a plane with 0.4 px of disparity per row below row 40; absent in odd frames. */
static void draw_road(uint64_t i, vfront_frame_t *f)
{
    static uint8_t grey[2][120][160];
    uint32_t x = 7 + (uint32_t)i;
    for (int v = 0; v < 120; v++) {
        uint8_t row[256];
        const int d = i % 2 ? 0 : v < 40 ? 0 : (v - 40) * 2 / 5;
        for (int u = 0; u < 256; u++) row[u] = (uint8_t)((x = x * 1664525u + 1013904223u) >> 24);
        memcpy(grey[0][v], row, 160);
        memcpy(grey[1][v], row + d, 160);
    }
    for (int c = 0; c < VFRONT_CAMERAS; c++) f->picture[c].data = grey[c];
}

/** Frame of a flight away and back to its start, with images that differ from the last eight. */
static vfront_frame_t there_and_back(uint64_t i)
{
    static const uint64_t picture[FRAMES] = {0, 2, 4, 6, 8, 10, 9, 7, 5, 3, 1, 0, 2};
    const vfront_frame_t shown = rendered_frame(picture[i]);
    vfront_frame_t f = rendered_frame(i);
    memcpy(f.picture, shown.picture, sizeof f.picture);
    f.imu = NULL;
    f.imu_count = 0;
    return f;
}

static vfront_frame_t frame_at(enum sequence which, uint64_t i)
{
    static uint8_t mask[VFRONT_WIDTH * VFRONT_HEIGHT], dark[VFRONT_CAMERAS][VFRONT_WIDTH * VFRONT_HEIGHT];
    static vfront_gyro_t gyro[8];
    vfront_frame_t f = pair_frame(i), same = pair_frame(i == 7 || i == 8 ? 6 : i);
    if (which == LOOPS) return there_and_back(i);
    if (which >= FLIGHT) f = rendered_frame(i);
    if (which == VISION_ONLY) f.imu = NULL, f.imu_count = 0;
    if (which >= FLIGHT) return f;
    for (size_t k = 0; k < sizeof mask; k++) mask[k] = (k + 3 * i) % 11 > 0;
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        vfront_picture_t *p = &f.picture[c];
        p->data = same.picture[c].data;
        if (i == 10) {
            for (size_t k = 0; k < 160 * 120; k++) dark[c][k] = ((const uint8_t *)p->data)[k] / 2;
            p->data = dark[c];
        }
        if (i % 3 == 1) p->mask = mask, p->mask_width_px = 160, p->mask_height_px = 120, p->mask_pitch_bytes = 160;
    }
    for (uint64_t k = 0; k < 8; k++) {
        gyro[k].t_ns = f.t_ns + k * 8000000u - 44000000u;
        gyro[k].rate_rad_s[1] = 0.02;
    }
    if (i % 4 == 3) f.gyro = gyro, f.gyro_count = 8;
    if (which == ROAD) draw_road(i, &f);
    return f;
}

/** Runs the sequence. Returns the first frame whose digest differs from the undisturbed run, or FRAMES. member:
 *  corrupted before each frame; NULL: noise instead, or nothing if variant is VARIANTS. */
static uint64_t fly(enum sequence which, const struct arena_member *member, enum variant variant)
{
    vfront_rig_t rig = which == ROAD ? road_rig() : which >= FLIGHT ? rendered_rig() : pair_cameras();
    if (which == VISION_ONLY) memset(&rig.imu, 0, sizeof rig.imu);
    vfront_tuning_t t;
    uint64_t differs = FRAMES;
    vfront_tuning_default(&t);
    t.abandon_us = 60000000; /* emulated kernels are slow */
    t.deadline_us = 10000000;
    t.rectify = which == FULL;
    t.dense = t.stixel = which == FULL || which == ROAD;
    t.rig_offset = which == PLAIN;
    t.vio = which == FLIGHT || which == VISION_ONLY;
    t.map = VFRONT_MAP && which != ROAD;
    if (which == LOOPS) t.stereo = 0; /* 96 key points are too few for depths as well */
    t.track_template_frames = 3;
    t.track_target = which == LOOPS ? 3 : 100;
    t.track_back_mpx = 500;
    assert_int_equal(vfront_init(&pair_vf, &rig, &t, PORT), VFRONT_OK);
    struct vf_context *s = context_of(&pair_vf);
    for (uint64_t i = 0; i < FRAMES && (variant == VARIANTS || differs == FRAMES); i++) {
        const vfront_frame_t f = frame_at(which, i);
        const vfront_result_t *r;
        if (i == 4 && which < FLIGHT) assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
        if (!member && variant != VARIANTS) noise(s->memory, s->parity);
        if (member && i) spoil(s->memory, member, variant, s->parity);
        assert_int_equal(vfront_step(&pair_vf, &f, &r), VFRONT_OK);
        if (variant == VARIANTS && which == FLIGHT) has_state[i] = r->nav.state == VFRONT_NAV_GOOD;
        if (variant == VARIANTS && which == VISION_ONLY) has_vision_only[i] = r->nav.state == VFRONT_NAV_STEREO_ONLY;
        const uint64_t digest = vfront_digest(r);
#if VFRONT_MAP
        if (variant == VARIANTS && which == LOOPS) loops = r->loops_count ? (int)r->loops[0].state : 0;
#endif
        if (variant == VARIANTS) undisturbed[which][i] = digest;
        if (digest != undisturbed[which][i] && differs == FRAMES) differs = i;
    }
    vfront_shutdown(&pair_vf);
    return differs;
}

/** 1 if a sequence is run. With emulated kernels half of them, for time. */
static int is_flown(enum sequence which)
{
    return PORT == VFRONT_PORT_HOST || which == FULL || which == FLIGHT || which == LOOPS;
}

static void complete(void **state)
{
    (void)state;
    for (enum sequence which = 0; which < SEQUENCES; which++) {
        if (!is_flown(which)) continue;
        const uint64_t differs = fly(which, NULL, ZERO);
        if (differs < FRAMES) fail_msg("frame %d needs more than the lists have", (int)differs);
    }
}

#ifndef EMULATED
static void needed(void **state)
{
    (void)state;
    int spare = 0;
    assert_int_equal(loops, VFRONT_MAP ? VFRONT_LOOP_ACCEPTED : 0);
    for (uint64_t i = 0; i < FRAMES; i++) {
        assert_int_equal(has_state[i], i >= RENDERED_BEGINS);
        assert_int_equal(has_vision_only[i], i >= 2);
    }
    for (size_t i = 0; i < COUNT(listed); i++) {
        const struct arena_member *p = &listed[i];
        int differs = !strcmp(p->name, "bearing.first"); /* only the kernels of match read it */
        for (enum sequence which = 0; which < SEQUENCES && !differs; which++)
            for (enum variant variant = 0; variant < VARIANTS && !differs; variant++) {
                if (variant == PATTERN && !any_bits(p->name)) continue;
                differs = fly(which, p, variant) < FRAMES;
            }
        if (!differs) print_message("%s makes no difference\n", p->name);
        spare += !differs;
    }
    assert_int_equal(spare, 0);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(complete),
#ifndef EMULATED
                                       cmocka_unit_test(needed)
#endif
    };
    pair_draw();
    rendered_draw();
    for (enum sequence which = 0; which < SEQUENCES; which++)
        if (is_flown(which)) fly(which, NULL, VARIANTS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
