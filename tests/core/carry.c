/* SPDX-License-Identifier: MIT */
/* State that a step hands to the next one: result/carry.h lists all of it, and nothing else. On the host port,
 * between two steps, everything but the lists, the frame before's pictures and what vfront_init() prepares is
 * overwritten with noise: the digests stay. And of the lists every member alone is spoiled: some digest changes, but
 * for bearing.first, which host forms do not need. With EMULATED (tests/emulate) the same of the kernels, which read
 * other members than the host forms, but for the spoiling. */
#include "tests/fixture/pair.h"

#include <stdio.h>
#include <stdlib.h>

#include "port/host/host.h"
#include "result/carry.h"
#include "tests/fixture/rendered.h"

#define FRAMES 13

static struct vf_state *state_of(vfront_t *vf) { return (struct vf_state *)(((uintptr_t)vf + 63) & ~(uintptr_t)63); }

/* ---- members ----------------------------------------------------------------------------------------------------- */

/** A member of the arena, or two sets of it. */
struct place {
    const char *name;
    size_t at, other; /* offsets of the sets of parity 0 and 1; equal: one set */
    size_t bytes;     /* of a set */
    int cleared;      /* 1: of the next frame's parity, else of the frame before's */
    int stated;       /* 1: handed on by a step with a state of the IMU only; 2: by one whose frame is a keyframe */
};

#define AT(place) offsetof(struct vf_memory, place)
#define SIZE(place) sizeof(((struct vf_memory *)0)->place)
#define STATED_ALL 0
#define STATED_POINT 0
#define STATED_TRACK 0
#define STATED_STATE 1
#define STATED_KEYED 2
static const struct place listed[] = {
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
/** Pictures of the frame before, and what is prepared once. */
static const struct place others[] = {
#define SET(member) {#member, AT(member[0]), AT(member[1]), SIZE(member[0]), 0, 0},
    SET(ingest.picture) SET(rectify.picture) SET(pyramid.pixels)
#undef SET
#define SET(member) {#member, AT(member), AT(member), SIZE(member), 0, 0},
        SET(ingest.mask_static) SET(rectify.remap) SET(bearing.node) SET(stixel.tables)
#ifdef EMULATED
    /* 0 between steps: what a step has left so is not handed on, it is as vfront_init() made it */
    SET(freeze.blocks_done) SET(rows.blocks_done) SET(ego.blocks_done) SET(ego.parts_done) SET(report.blocks_done)
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
/** Of these any bits are safe: they are compared and computed with, but nothing is addressed by them. */
static int any_bits(const char *name)
{
    static const char *const safe[] = {"freeze.frames",
                                       "freeze.shown",
                                       "freeze.repeated",
                                       "stereo.pair",
                                       "rows.estimate",
                                       "match.before",
                                       "partner.range",
                                       "predict.given",
                                       "ego.good",
                                       "ego.usual",
                                       "ego.last",
                                       "ego.disparity",
                                       "report.path",
                                       "report.interval",
                                       "report.usual",
                                       "describe.angle",
                                       "describe.descriptor",
                                       "stereo.range_m",
                                       "stereo.range_sigma_m"};
    for (size_t i = 0; i < COUNT(safe); i++)
        if (!strcmp(name, safe[i])) return 1;
    return 0;
}
#endif

static size_t offset_of(const struct place *p, int32_t parity)
{
    return (p->cleared ? parity : parity ^ 1) ? p->other : p->at;
}

/* ---- the sequence ------------------------------------------------------------------------------------------------ */

/** Everything on; pictures as they come, offsets of the rig corrected; a road that is seen in every other frame; a
 *  flight with a state of the IMU, one with a state by two cameras alone; one in which all keyframes may be loops soon,
 *  since there are so few tracks. */
enum sequence { FULL, PLAIN, ROAD, FLIGHT, UNREAD, PLACES, SEQUENCES };
static uint64_t undisturbed[SEQUENCES][FRAMES];
static int has_state[FRAMES], has_unread[FRAMES]; /* of the flights */
static int loops;                                 /* state of the first one in the last frame of the places */
static struct vf_memory kept;

/** Overwrites what is not to matter. parity: of the next frame. */
static void noise(struct vf_memory *m, int32_t parity)
{
    kept = *m;
    uint32_t *word = (uint32_t *)m;
    static uint32_t x = 1;
    for (size_t i = 0; i < sizeof *m / 4; i++) word[i] = x = x * 1664525u + 1013904223u;
    for (size_t i = 0; i < COUNT(listed) + COUNT(others); i++) {
        const struct place *p = i < COUNT(listed) ? &listed[i] : &others[i - COUNT(listed)];
        const size_t at = offset_of(p, parity);
        if (p->stated == STATED_STATE && !vf_window_stated(&kept.window, VF_BIT(window))) continue;
        if (p->stated == STATED_KEYED && !vf_keyframe_due(&kept.keyframe, VF_BIT(keyframe), parity ^ 1)) continue;
        memcpy((uint8_t *)m + at, (const uint8_t *)&kept + at, p->bytes);
    }
}

enum way { ZERO, STALE, PATTERN, WAYS };

/** Spoils one member: zeroes, the other set, or a pattern. */
static void spoil(struct vf_memory *m, const struct place *p, enum way way, int32_t parity)
{
    uint8_t *to = (uint8_t *)m + offset_of(p, parity);
    if (way == STALE)
        memcpy(to, (uint8_t *)m + offset_of(p, parity ^ 1), p->bytes);
    else
        memset(to, way == ZERO ? 0 : 0x3f, p->bytes);
}

/** Pinholes side by side. */
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

/** Texture on a plane that rises by 0.4 px of disparity a row, below row 40; in odd frames it is not there. */
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

/** Away and back to the place where it began, by other pictures than the last eight. */
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
    if (which == PLACES) return there_and_back(i);
    if (which >= FLIGHT) f = rendered_frame(i);
    if (which == UNREAD) f.imu = NULL;
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

/** Runs the sequence; returns the first frame with another digest than that of the undisturbed run, or FRAMES. member:
 *  to be spoiled before each frame; NULL: noise instead, or nothing where way is WAYS. */
static uint64_t fly(enum sequence which, const struct place *member, enum way way)
{
    vfront_rig_t rig = which == ROAD ? road_rig() : which >= FLIGHT ? rendered_rig() : pair_cameras();
    if (which == UNREAD) memset(&rig.imu, 0, sizeof rig.imu);
    vfront_tuning_t t;
    uint64_t differs = FRAMES;
    vfront_tuning_default(&t);
    t.abandon_us = 60000000; /* kernels that are emulated take their time */
    t.deadline_us = 10000000;
    t.rectify = which == FULL;
    t.dense = t.stixel = which == FULL || which == ROAD;
    t.rig_offset = which == PLAIN;
    t.window = which == FLIGHT || which == UNREAD;
    t.map = VFRONT_MAP && which != ROAD;
    if (which == PLACES) t.stereo = 0; /* 96 key points are too few for depths as well */
    t.track_template_frames = 3;
    t.track_target = which == PLACES ? 3 : 100;
    t.track_back_mpx = 500;
    assert_int_equal(vfront_init(&pair_vf, &rig, &t, PORT), VFRONT_OK);
    struct vf_state *s = state_of(&pair_vf);
    for (uint64_t i = 0; i < FRAMES && (way == WAYS || differs == FRAMES); i++) {
        const vfront_frame_t f = frame_at(which, i);
        const vfront_result_t *r;
        if (i == 4 && which < FLIGHT) assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
        if (!member && way != WAYS) noise(s->memory, s->parity);
        if (member && i) spoil(s->memory, member, way, s->parity);
        assert_int_equal(vfront_step(&pair_vf, &f, &r), VFRONT_OK);
        if (way == WAYS && which == FLIGHT) has_state[i] = r->nav.state == VFRONT_NAV_GOOD;
        if (way == WAYS && which == UNREAD) has_unread[i] = r->nav.state == VFRONT_NAV_STEREO_ONLY;
        const uint64_t digest = vfront_digest(r);
#if VFRONT_MAP
        if (way == WAYS && which == PLACES) loops = r->loops_count ? (int)r->loops[0].state : 0;
#endif
        if (way == WAYS) undisturbed[which][i] = digest;
        if (digest != undisturbed[which][i] && differs == FRAMES) differs = i;
    }
    vfront_shutdown(&pair_vf);
    return differs;
}

/** 1: the sequence is run. Of those with kernels that are emulated, half: for time. */
static int is_flown(enum sequence which)
{
    return PORT == VFRONT_PORT_HOST || which == FULL || which == FLIGHT || which == PLACES;
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
        assert_int_equal(has_unread[i], i >= 2);
    }
    for (size_t i = 0; i < COUNT(listed); i++) {
        const struct place *p = &listed[i];
        int differs = !strcmp(p->name, "bearing.first"); /* the kernels of match read it alone */
        for (enum sequence which = 0; which < SEQUENCES && !differs; which++)
            for (enum way way = 0; way < WAYS && !differs; way++) {
                if (way == PATTERN && !any_bits(p->name)) continue;
                differs = fly(which, p, way) < FRAMES;
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
        if (is_flown(which)) fly(which, NULL, WAYS);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
