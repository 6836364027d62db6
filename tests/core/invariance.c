/* SPDX-License-Identifier: MIT */
/* Digests that must be equal: after another run, reset, restart, with a neighbour, another format, pitch, kind of
 * memory, address, kind of mask. And digests that must differ. */
#include "tests/fixture/pair.h"

#include <math.h>
#include <stdlib.h>

#define FRAMES 8

static uint64_t digest[FRAMES]; /* digests of a first, plain run */

static void must(vfront_status_t status)
{
    if (status) fail_msg("%s: %s", vfront_status_name(status), vfront_detail(&pair_vf));
}

static uint64_t step(vfront_t *vf, const vfront_frame_t *f)
{
    const vfront_result_t *r;
    must(vfront_step(vf, f, &r));
    return vfront_digest(r);
}

static void run(vfront_t *vf)
{
    for (uint64_t i = 0; i < FRAMES; i++) {
        const vfront_frame_t f = pair_frame(i);
        assert_true(step(vf, &f) == digest[i]);
    }
}

/** Starts pair_vf and records the digests of a plain run. */
static int first_run(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    must(vfront_init(&pair_vf, &rig, NULL, pair_port));
    for (uint64_t i = 0; i < FRAMES; i++) {
        const vfront_frame_t f = pair_frame(i);
        const vfront_result_t *r;
        must(vfront_step(&pair_vf, &f, &r));
        assert_true(r->depths_count > 20 && (i == 0 || r->matches_count > 20)); /* so that the digest covers them too */
        digest[i] = vfront_digest(r);
        for (uint64_t k = 0; k < i; k++) assert_true(digest[k] != digest[i]);
    }
    must(vfront_reset(&pair_vf));
    return 0;
}

static void after_reset(void **state)
{
    (void)state;
    vfront_frame_t f = pair_frame(100);
    const vfront_result_t *r;
    run(&pair_vf);
    for (uint32_t i = 1; i < 4; i++) { /* an odd number of frames in between, so that the parity differs */
        must(vfront_reset(&pair_vf));
        must(vfront_step(&pair_vf, &f, &r));
        assert_int_equal(r->health.reset_counter, 2 * i);
        assert_int_equal(r->tracks[0].id, 1);
        must(vfront_reset(&pair_vf));
        run(&pair_vf);
    }
}

static void after_restart(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    for (int i = 0; i < 3; i++) {
        vfront_shutdown(&pair_vf);
        must(vfront_init(&pair_vf, &rig, NULL, pair_port));
        run(&pair_vf);
    }
}

/** Two front ends step in turn, the second with other images. */
static void side_by_side(void **state)
{
    (void)state;
    const vfront_rig_t rig = scene_rig(&pair_scene, 1);
    must(vfront_init(&pair_twin, &rig, NULL, pair_port));
    for (uint64_t i = 0; i < FRAMES; i++) {
        const vfront_frame_t f = pair_frame(i), other = pair_frame(3 * i + 1);
        const vfront_result_t *a, *b;
        must(vfront_submit(&pair_twin, &other));
        must(vfront_submit(&pair_vf, &f));
        must(vfront_wait(&pair_twin, UINT32_MAX, &b));
        must(vfront_wait(&pair_vf, UINT32_MAX, &a));
        assert_true(vfront_digest(a) == digest[i]);
        assert_true(vfront_digest(b) != digest[i]);
    }
}

/** The same key points and descriptors after a reset, whatever came in between. */
static void points_after_reset(void **state)
{
    (void)state;
    static vfront_result_t first[FRAMES];
    for (int round = 0; round < 3; round++) {
        const vfront_result_t *r;
        for (uint64_t i = 0; i < FRAMES; i++) {
            const vfront_frame_t f = pair_frame(i);
            must(vfront_step(&pair_vf, &f, &r));
            if (!round) first[i] = *r;
            assert_true(r->keypoints_count[0] > 20 && r->descriptors_count[0] > 20);
            for (int c = 0; c < VFRONT_CAMERAS; c++) pair_same_points(r, c, &first[i], c);
        }
        const vfront_frame_t f = pair_frame(FRAMES + 3); /* an odd number of frames, and other images left behind */
        must(vfront_step(&pair_vf, &f, &r));
        must(vfront_reset(&pair_vf));
    }
}

/** Pairs of cameras and tunings with work for every stage. */
enum { PLAIN, RECTIFIED, UNGUIDED, FISHEYE, UNCALIBRATED, PAIRS };
static vfront_rig_t pair_of(int variant, vfront_tuning_t *t)
{
    vfront_rig_t rig = pair_cameras();
    vfront_tuning_default(t);
    t->rectify = variant == RECTIFIED;
    if (variant == UNGUIDED) t->match = VFRONT_MATCH_WHOLE;
    t->dense = VFRONT_DENSE && variant == RECTIFIED;
    t->stixel = VFRONT_STIXELS && variant == RECTIFIED;
    rig.road_height_m = 0.5; /* a given road, so that there are stixels for any images */
    for (int c = 0; c < VFRONT_CAMERAS && variant == FISHEYE; c++) {
        memset(rig.camera[c].distortion, 0, sizeof rig.camera[c].distortion);
        rig.camera[c].lens = VFRONT_LENS_EQUIDISTANT;
    }
    if (variant == UNCALIBRATED) rig.camera[0].fx_px = rig.camera[0].fy_px = 0;
    return rig;
}

static void partners_found(int variant, const vfront_result_t *r)
{
    assert_true((r->depths_count > 20) == (variant != UNCALIBRATED));
    assert_true(r->frame == 0 || r->matches_count > 20);
#if VFRONT_DENSE
    assert_true((r->disparity.valid > VFRONT_WIDTH * VFRONT_HEIGHT / 4) == (variant == RECTIFIED));
#endif
#if VFRONT_STIXELS
    uint32_t stixels = 0;
    for (uint32_t i = 0; i < r->columns_count; i++) stixels += r->stixels_count[i];
    assert_true((stixels > r->columns_count && r->road.state == VFRONT_ROAD_GIVEN) == (variant == RECTIFIED));
#endif
}

#if VFRONT_DENSE
#if VFRONT_STIXELS
static void same_stixels(const vfront_result_t *a, const vfront_result_t *b)
{
    assert_memory_equal(&a->road, &b->road, sizeof a->road);
    assert_memory_equal(a->obstacles_cm, b->obstacles_cm, sizeof a->obstacles_cm);
    assert_true(a->columns_count == b->columns_count && a->columns_crowded == b->columns_crowded);
    for (uint32_t i = 0; i < a->columns_count; i++) {
        assert_int_equal(a->stixels_count[i], b->stixels_count[i]);
        for (uint32_t k = 0; k < a->stixels_count[i]; k++)
            assert_memory_equal(&a->stixels[i][k], &b->stixels[i][k], sizeof a->stixels[i][k]);
    }
}
#else
static void same_stixels(const vfront_result_t *a, const vfront_result_t *b) { (void)a, (void)b; }
#endif

/** The same images give the same disparities and stixels, the first time and the thousandth. */
static void disparities_again(void **state)
{
    (void)state;
    static uint16_t first[VFRONT_WIDTH * VFRONT_HEIGHT];
    static vfront_result_t cut;
    vfront_tuning_t t;
    const vfront_rig_t rig = pair_of(RECTIFIED, &t);
    t.ego = 0;
    vfront_shutdown(&pair_vf);
    must(vfront_init(&pair_vf, &rig, &t, pair_port));
    const uint64_t runs = pair_fake() ? 20 : 1000;
    for (uint64_t i = 0; i < runs; i++) {
        const vfront_result_t *r;
        vfront_frame_t f = pair_frame(i);
        for (int c = 0; c < 2; c++) f.picture[c].data = pair_frame(0).picture[c].data;
        must(vfront_step(&pair_vf, &f, &r));
        const vfront_disparity_t *d = &r->disparity;
        assert_true(d->valid > VFRONT_WIDTH * VFRONT_HEIGHT / 4);
        if (!i) cut = *r;
        same_stixels(r, &cut);
        for (int32_t y = 0; y < d->height_px; y++) {
            if (!i) memcpy(first + y * d->width_px, d->px16 + y * d->pitch, sizeof *first * (size_t)d->width_px);
            assert_memory_equal(first + y * d->width_px, d->px16 + y * d->pitch, sizeof *first * (size_t)d->width_px);
        }
    }
}
#endif

/** One lens by two models, omni with xi 1 and eucm with alpha 1/2, whose focal lengths differ by a factor of 2: the
 *  same depths to rounding, and the same deviations of them. */
static void one_lens_two_models(void **state)
{
    (void)state;
    static vfront_result_t first;
    for (int omni = 0; omni < 2; omni++) {
        vfront_rig_t rig = pair_cameras();
        const vfront_result_t *r = NULL;
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            vfront_camera_t *camera = &rig.camera[c];
            memset(camera->distortion, 0, sizeof camera->distortion);
            camera->lens = omni ? VFRONT_LENS_OMNI : VFRONT_LENS_EUCM;
            camera->distortion[0] = omni ? 1.0 : 0.5;
            camera->distortion[1] = omni ? 0.0 : 1.0;
            camera->fx_px *= omni ? 2.0 : 1.0;
            camera->fy_px *= omni ? 2.0 : 1.0;
        }
        vfront_shutdown(&pair_vf);
        must(vfront_init(&pair_vf, &rig, NULL, pair_port));
        for (uint64_t i = 0; i < 3; i++) {
            const vfront_frame_t f = pair_frame(i);
            must(vfront_step(&pair_vf, &f, &r));
        }
        if (!omni) first = *r;
        assert_true(r->depths_count > 20 && r->depths_count == first.depths_count);
        for (uint32_t i = 0; i < r->depths_count; i++) {
            const vfront_depth_t *is = &r->depths[i], *was = &first.depths[i];
            assert_true(fabsf(is->depth_m - was->depth_m) <= 1e-3f * was->depth_m);
            assert_true(fabsf(is->sigma_m - was->sigma_m) <= 1e-3f * was->sigma_m);
        }
    }
}

/** The same depths and matches after a reset and after refused frames, whatever came in between. */
static void partners_after_reset(void **state)
{
    (void)state;
    static vfront_result_t first[FRAMES];
    uint64_t world[FRAMES];
    for (int variant = 0; variant < PAIRS; variant++) {
        vfront_tuning_t t;
        const vfront_rig_t rig = pair_of(variant, &t);
        const vfront_result_t *r;
        vfront_shutdown(&pair_vf);
        must(vfront_init(&pair_vf, &rig, &t, pair_port));
        for (int round = 0; round < 3; round++) {
            for (uint64_t i = 0; i < FRAMES; i++) {
                vfront_frame_t f = pair_frame(i), bad = pair_frame(i + 3);
                bad.picture[VFRONT_CAMERAS - 1].pitch_bytes = 0;
                if (round) assert_int_equal(vfront_submit(&pair_vf, &bad), VFRONT_E_PITCH);
                must(vfront_step(&pair_vf, &f, &r));
                partners_found(variant, r);
                if (!round) first[i] = *r, world[i] = vfront_digest(r);
                pair_same_partners(r, &first[i]);
                assert_true(vfront_digest(r) == world[i]); /* includes disparities and stixels */
            }
            const vfront_frame_t f = pair_frame(FRAMES + 3);
            must(vfront_step(&pair_vf, &f, &r));
            must(vfront_reset(&pair_vf));
        }
    }
}

#if VFRONT_HOST
/** Results of this port equal the host port's. */
static void same_as_host(void **state)
{
    (void)state;
    for (int variant = 0; variant < PAIRS; variant++) {
        vfront_tuning_t t;
        const vfront_rig_t rig = pair_of(variant, &t);
        vfront_shutdown(&pair_vf);
        vfront_shutdown(&pair_twin);
        must(vfront_init(&pair_vf, &rig, &t, pair_port));
        must(vfront_init(&pair_twin, &rig, &t, VFRONT_PORT_HOST));
        const vfront_rig_t seen = pair_seen(&pair_vf, &rig);
        for (uint64_t i = 0; i < FRAMES; i++) {
            const vfront_frame_t f = pair_frame(i);
            const vfront_result_t *a, *b;
            must(vfront_step(&pair_vf, &f, &a));
            must(vfront_step(&pair_twin, &f, &b));
            const char *broken = pair_broken(&seen, &t, a);
            if (broken) fail_msg("not so: %s", broken);
            partners_found(variant, a);
            pair_same_partners(a, b);
            assert_true(vfront_digest(a) == vfront_digest(b));
        }
    }
}
#endif

/** Key points depend only on their image: not on earlier frames, nor on tracks. */
static void points_of_a_picture(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < FRAMES; i++) {
        const vfront_frame_t f = pair_frame(i);
        const vfront_result_t *r, *alone;
        must(vfront_step(&pair_vf, &f, &r));
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            vfront_rig_t rig = pair_cameras();
            vfront_frame_t lone = f;
            rig.cameras = 1;
            rig.camera[0] = rig.camera[c];
            lone.picture[0] = f.picture[c];
            vfront_shutdown(&pair_twin);
            must(vfront_init(&pair_twin, &rig, NULL, pair_port));
            must(vfront_step(&pair_twin, &lone, &alone));
            pair_same_points(r, c, alone, 0);
        }
    }
}

/* ---- unequal rigs and neighbours --------------------------------------------------------------------------------- */

/* Two cameras of two sizes, and noise with its own grain for each. */
static const struct scene wide = {192, 97, 0, 0, 0}, high = {85, 144, 0, 0, 0};
static uint8_t wide_grey[192 * 97], high_grey[85 * 144];

static vfront_rig_t unlike_rig(int swapped)
{
    vfront_rig_t rig = scene_rig(swapped ? &high : &wide, VFRONT_CAMERAS);
    rig.camera[VFRONT_CAMERAS - 1] = scene_rig(swapped ? &wide : &high, 1).camera[0];
    scene_fill(wide_grey, 192, 97, SCENE_NOISE, 3);
    scene_fill(high_grey, 85, 144, SCENE_NOISE, 2);
    return rig;
}

/** The key points of each camera equal those of a rig of that camera alone. */
static void cameras_of_two_sizes(void **state)
{
    (void)state;
    static vfront_result_t both, alone[2];
    const uint8_t *const one[] = {wide_grey, high_grey}, *const other[] = {high_grey, wide_grey};
    for (int variant = 0; variant < 8; variant++) {
        const int swapped = variant & 1;
        vfront_info_t info;
        vfront_tuning_t t;
        vfront_tuning_default(&t);
        t.describe = variant >> 1 & 1;
        t.describe_margin_px = 4;
        t.select_points = variant & 4 ? VFRONT_KEYPOINTS : 11;
        vfront_rig_t rig = unlike_rig(swapped);
        pair_shot(&rig, &t, swapped ? other : one, &both);
        must(vfront_info(&pair_vf, &info));
        t.detect_levels = info.scales; /* a single camera may have more */
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            vfront_rig_t single = rig;
            single.cameras = 1;
            single.camera[0] = rig.camera[c];
            pair_shot(&single, &t, (swapped ? other : one) + c, &alone[c]);
            assert_true(both.keypoints_count[c] > 0);
            pair_same_points(&both, c, &alone[c], 0);
            assert_int_equal(both.health.dropped[c], alone[c].health.dropped[0]);
            assert_int_equal(both.health.cells[c], alone[c].health.cells[0]);
            assert_int_equal(both.health.starved[c], alone[c].health.starved[0]);
        }
    }
}

/** Two unrelated front ends step in turn: each gives the same results as alone. */
static void unlike_neighbours(void **state)
{
    (void)state;
    const vfront_rig_t rig = unlike_rig(0);
    uint64_t want[FRAMES];
    vfront_frame_t other[FRAMES];
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.detect_score = VFRONT_SCORE_MT;
    t.detect_rank = 0;
    t.detect_levels = 2;
    t.select_points = 13;
    t.track_target = 40;
    for (int alone = 1; alone >= 0; alone--) {
        must(vfront_init(&pair_twin, &rig, &t, pair_port));
        for (uint64_t i = 0; i < FRAMES; i++) {
            const vfront_frame_t f = pair_frame(i);
            const vfront_result_t *a = NULL, *b;
            other[i] = pair_frame(2 * i + 5);
            other[i].picture[0] = scene_picture(&wide, wide_grey);
            other[i].picture[VFRONT_CAMERAS - 1] = scene_picture(&high, high_grey);
            must(vfront_submit(&pair_twin, &other[i]));
            if (!alone) must(vfront_submit(&pair_vf, &f));
            must(vfront_wait(&pair_twin, UINT32_MAX, &b));
            if (!alone) must(vfront_wait(&pair_vf, UINT32_MAX, &a));
            if (alone) want[i] = vfront_digest(b);
            assert_true(vfront_digest(b) == want[i]);
            assert_true(alone || vfront_digest(a) == digest[i]);
        }
        vfront_shutdown(&pair_twin);
    }
}

/** A vfront_t need only be aligned to 8 bytes. */
static void any_place(void **state)
{
    (void)state;
    static vfront_t room[2];
    const vfront_rig_t rig = pair_cameras();
    for (size_t off = 0; off < 8; off++) {
        vfront_t *vf = (vfront_t *)((uint64_t *)room + off);
        memset(room, 0, sizeof room);
        memset(room->block + off + sizeof *room / 8, 0xa5, 64); /* memory behind it is unchanged */
        must(vfront_init(vf, &rig, NULL, pair_port));
        run(vf);
        vfront_shutdown(vf);
        for (size_t i = 0; i < 64; i++) assert_int_equal(((uint8_t *)(room->block + off + sizeof *room / 8))[i], 0xa5);
    }
}

/** The caller's buffers are free when vfront_submit() returns; a result is valid until the second submit after its
 *  own. */
static void lifetimes(void **state)
{
    (void)state;
    static uint8_t grey[VFRONT_CAMERAS][VFRONT_WIDTH * VFRONT_HEIGHT];
    const vfront_result_t *r[FRAMES];
    for (uint64_t i = 0; i < FRAMES; i++) {
        vfront_frame_t f = pair_frame(i);
        for (int c = 0; c < VFRONT_CAMERAS; c++) f.picture[c].data = memcpy(grey[c], f.picture[c].data, sizeof grey[c]);
        if (i >= 2) assert_true(vfront_digest(r[i - 2]) == digest[i - 2]);
        must(vfront_submit(&pair_vf, &f));
        memset(grey, 0xff, sizeof grey);
        memset(&f, 0xff, sizeof f);
        if (i >= 1) assert_true(vfront_digest(r[i - 1]) == digest[i - 1]);
        must(vfront_wait(&pair_vf, UINT32_MAX, &r[i]));
        if (i >= 1) assert_true(vfront_digest(r[i - 1]) == digest[i - 1]);
        assert_true(vfront_digest(r[i]) == digest[i]);
    }
}

/** The library's input buffers, of full size and aligned, two in turn. */
static void input_buffers(void **state)
{
    (void)state;
    for (uint64_t i = 0; i < FRAMES; i++) {
        vfront_frame_t f = pair_frame(i);
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            void *data, *again;
            must(vfront_input(&pair_vf, c, &data));
            must(vfront_input(&pair_vf, c, &again));
            assert_ptr_equal(data, again);
            assert_true((uintptr_t)data % 64 == 0);
            memset(data, 0x77, VFRONT_INPUT_BYTES);
            memcpy(data, f.picture[c].data, 160 * 120);
            f.picture[c].data = data;
            f.picture[c].memory = VFRONT_PINNED_MEMORY;
        }
        assert_true(step(&pair_vf, &f) == digest[i]);
    }
}

/** A driver owns both buffers of each camera and fills them in its own order. What it holds during a step, with other
 *  contents, is neither read nor written. Images in either kind of memory. */
static void input_buffers_of_a_driver(void **state)
{
    (void)state;
    void *both[VFRONT_CAMERAS][VFRONT_INPUTS], *again[VFRONT_INPUTS], *next;
    static uint8_t other[VFRONT_INPUT_BYTES];
    memset(other, 0x3c, sizeof other);
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        must(vfront_inputs(&pair_vf, c, both[c]));
        assert_true(both[c][0] != both[c][1]);
    }
    for (uint64_t i = 0; i < FRAMES; i++) {
        vfront_frame_t f = pair_frame(i);
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            const int of = (int)(scene_hash((uint32_t)i, (uint32_t)c, 77) & 1u);
            must(vfront_inputs(&pair_vf, c, again));
            must(vfront_input(&pair_vf, c, &next));
            assert_memory_equal(again, both[c], sizeof again);
            assert_true(next == both[c][0] || next == both[c][1]);
            memset(both[c][of ^ 1], 0x3c, VFRONT_INPUT_BYTES);
            f.picture[c].data = memcpy(both[c][of], f.picture[c].data, 160 * 120);
            f.picture[c].memory = i % 3 ? VFRONT_HOST_MEMORY : VFRONT_PINNED_MEMORY;
        }
        assert_true(step(&pair_vf, &f) == digest[i]);
        for (int c = 0; c < VFRONT_CAMERAS; c++)
            assert_memory_equal(both[c][f.picture[c].data == both[c][0]], other, VFRONT_INPUT_BYTES);
    }
}

/** An input buffer, and any part of it, is also host memory. Rows of 150 bytes, unlike the CUDA port's own pitch. */
static void input_buffers_as_host_memory(void **state)
{
    (void)state;
    static const struct scene narrow = {150, 120, 9, 21, 0};
    static uint8_t grey[150 * 120];
    static const size_t at[] = {0, 150, 16 * 1024};
    const vfront_rig_t rig = scene_rig(&narrow, 1);
    vfront_shutdown(&pair_vf);
    must(vfront_init(&pair_vf, &rig, NULL, pair_port));
    must(vfront_init(&pair_twin, &rig, NULL, pair_port));
    for (int i = 0; i < 9; i++) {
        vfront_frame_t f = pair_frame((uint64_t)i);
        void *data;
        scene_draw(&narrow, i, grey, 150);
        f.picture[0] = scene_picture(&narrow, grey);
        const uint64_t want = step(&pair_twin, &f);
        must(vfront_input(&pair_vf, 0, &data));
        f.picture[0].data = memcpy((uint8_t *)data + at[i % 3], grey, sizeof grey);
        assert_true(step(&pair_vf, &f) == want);
    }
}

/** Every format, at several pitches, in host memory and in the input buffers. Memory from malloc, so that a sanitizer
 *  detects any read beyond the last row. */
static void formats_and_pitches(void **state)
{
    (void)state;
    static const uint32_t extra[] = {0, 2, 30, 64}; /* additional bytes per row */
    for (int format = VFRONT_GREY8; format <= VFRONT_YUYV; format++)
        for (size_t e = 0; e < sizeof extra / sizeof *extra; e++)
            for (int odd = 0; odd < 2; odd++) {
                const uint32_t bytes = scene_pixel_bytes((vfront_format_t)format);
                if (odd && bytes == 2) continue;
                const uint32_t row = 160 * bytes, pitch = row + extra[e] + (odd ? 1 : 0);
                uint8_t *room = malloc(pitch * 120);
                for (uint64_t i = 0; i < FRAMES; i++) {
                    vfront_frame_t f = pair_frame(i);
                    uint8_t *exact[VFRONT_CAMERAS];
                    for (int c = 0; c < VFRONT_CAMERAS; c++) {
                        scene_pack(room, pitch, f.picture[c].data, 160, 160, 120, (vfront_format_t)format);
                        exact[c] = malloc(pitch * 119 + row); /* the last row need not be padded */
                        f.picture[c].data = memcpy(exact[c], room, pitch * 119 + row);
                        f.picture[c].pitch_bytes = pitch;
                        f.picture[c].format = (vfront_format_t)format;
                    }
                    const uint64_t got = step(&pair_vf, &f);
                    for (int c = 0; c < VFRONT_CAMERAS; c++) free(exact[c]);
                    if (got != digest[i]) fail_msg("format %d, pitch %u, frame %d", format, pitch, (int)i);
                }
                must(vfront_reset(&pair_vf));
                free(room);
            }
}

/** Values above a format's range are white. */
static void over_range(void **state)
{
    (void)state;
    static uint16_t wide[120][160];
    static uint8_t grey[120][160];
    for (int y = 0; y < 120; y++)
        for (int x = 0; x < 160; x++) {
            wide[y][x] = (uint16_t)(pair_grey[0][160 * y + x] << (x % 2 ? 4 : 5)); /* 12 bits: some up to 8160 */
            grey[y][x] = (uint8_t)(wide[y][x] > 4095 ? 255 : wide[y][x] >> 4);
        }
    vfront_frame_t f = pair_frame(0);
    for (int c = 0; c < VFRONT_CAMERAS; c++) f.picture[c].data = grey;
    const uint64_t want = step(&pair_vf, &f);
    must(vfront_reset(&pair_vf));
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        f.picture[c].data = wide;
        f.picture[c].pitch_bytes = 320;
        f.picture[c].format = VFRONT_GREY12;
    }
    assert_true(step(&pair_vf, &f) == want);
}

/** Uniform images: nothing is tracked, with any photometric model. */
static void uniform_pictures(void **state)
{
    (void)state;
    static const uint8_t grey[] = {0, 1, 128, 255};
    static uint8_t blank[160 * 120];
    for (size_t i = 0; i < sizeof grey; i++) {
        const vfront_result_t *r;
        for (uint64_t k = 0; k < 4; k++) {
            vfront_frame_t f = pair_frame(k);
            memset(blank, grey[i], sizeof blank);
            for (int c = 0; k == 3 && c < VFRONT_CAMERAS; c++) f.picture[c].data = blank;
            must(vfront_step(&pair_vf, &f, &r));
        }
        assert_int_equal(r->health.followed, 0);
        assert_int_equal(r->health.state, VFRONT_LOST);
        assert_int_equal(r->health.reset_counter, 2 * i + 2); /* every loss of all tracks counts, and every reset */
        must(vfront_reset(&pair_vf));
    }
}

/* ---- masks ------------------------------------------------------------------------------------------------------- */

static uint8_t hole[120][167]; /* the right half and an island are masked */

static void dig(void)
{
    memset(hole, 1, sizeof hole);
    for (int y = 0; y < 120; y++)
        for (int x = 0; x < 160; x++)
            if (x >= 80 || (x > 20 && x < 40 && y > 30 && y < 60)) hole[y][x] = 0;
}

static vfront_rig_t masked_rig(uint32_t pitch, const uint8_t *mask)
{
    vfront_rig_t rig = pair_cameras();
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        rig.camera[c].mask = mask;
        rig.camera[c].mask_pitch_bytes = pitch;
    }
    return rig;
}

static void mask_frame(vfront_frame_t *f, uint32_t pitch, const uint8_t *mask)
{
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        f->picture[c].mask = mask;
        f->picture[c].mask_width_px = 160;
        f->picture[c].mask_height_px = 120;
        f->picture[c].mask_pitch_bytes = pitch;
    }
}

/** No key point lies under the mask, and each camera has some. */
static void points_seen(const vfront_result_t *r)
{
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        assert_true(r->keypoints_count[c] > 0);
        for (uint32_t k = 0; k < r->keypoints_count[c]; k++)
            assert_true(hole[(int)(r->keypoints[c][k].y_px + 0.5f)][(int)(r->keypoints[c][k].x_px + 0.5f)]);
    }
}

/** A grid of single visible pixels in a mask: single pixels are searched, on every level. */
static void mask_with_gaps(void **state)
{
    (void)state;
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.describe_margin_px = 4;
    uint32_t coarse = 0;
    for (int y = 0; y < 120; y++)
        for (int x = 0; x < 160; x++) hole[y][x] = x % 3 == 0 && y % 2 == 0;
    const vfront_rig_t rig = masked_rig(167, hole[0]);
    vfront_shutdown(&pair_vf);
    must(vfront_init(&pair_vf, &rig, &t, pair_port));
    for (uint64_t i = 0; i < FRAMES; i++) {
        const vfront_frame_t f = pair_frame(i);
        const vfront_result_t *r;
        must(vfront_step(&pair_vf, &f, &r));
        points_seen(r);
        for (uint32_t k = 0; k < r->keypoints_count[0]; k++) coarse += r->keypoints[0][k].level > 0;
    }
    assert_true(coarse > 20);
}

/** A static mask, the same mask with every frame, or half of it each way, at several pitches and values: equal
 *  results. */
static void masks(void **state)
{
    (void)state;
    static uint8_t packed[120][160], left[120][160], right[120][160];
    static const uint8_t nothing[120][160];
    dig();
    for (int y = 0; y < 120; y++)
        for (int x = 0; x < 160; x++) {
            packed[y][x] = (uint8_t)(hole[y][x] ? scene_hash(1, (uint32_t)x, (uint32_t)y) | 1 : 0);
            left[y][x] = (uint8_t)(x < 80 ? hole[y][x] : 255);
            right[y][x] = (uint8_t)(x < 80 ? 255 : hole[y][x]);
        }
    vfront_rig_t rig[] = {masked_rig(167, hole[0]), masked_rig(160, packed[0]), masked_rig(160, left[0])};
    const vfront_rig_t plain = pair_cameras();
    uint64_t want[FRAMES];
    for (int variant = 0; variant < 4; variant++) { /* static; static, packed; each frame's; half and half */
        vfront_shutdown(&pair_vf);
        must(vfront_init(&pair_vf, variant < 2 ? &rig[variant] : variant == 2 ? &plain : &rig[2], NULL, pair_port));
        memset(hole, variant == 0 ? 1 : 0, sizeof hole); /* read within vfront_init() only */
        dig();
        for (uint64_t i = 0; i < FRAMES; i++) {
            vfront_frame_t f = pair_frame(i);
            const vfront_result_t *r;
            if (variant == 2) mask_frame(&f, 167, hole[0]);
            if (variant == 3) mask_frame(&f, 160, right[0]);
            must(vfront_step(&pair_vf, &f, &r));
            if (variant == 0) want[i] = vfront_digest(r);
            assert_true(vfront_digest(r) == want[i]);
            assert_true(r->tracks_count > 0 && r->keypoints_count[0] > 0);
            for (uint32_t k = 0; k < r->tracks_count; k++)
                assert_true(hole[(int)(r->tracks[k].y_px + 0.5f)][(int)(r->tracks[k].x_px + 0.5f)]);
            points_seen(r);
        }
        assert_true(want[0] != digest[0]);
    }
    /* a frame's mask applies to this frame only; a mask of zeros leaves no pixel */
    must(vfront_reset(&pair_vf));
    vfront_frame_t f = pair_frame(0);
    const vfront_result_t *r;
    mask_frame(&f, 160, nothing[0]);
    must(vfront_step(&pair_vf, &f, &r));
    assert_int_equal(r->tracks_count + r->keypoints_count[0] + r->keypoints_count[VFRONT_CAMERAS - 1], 0);
    f = pair_frame(1);
    must(vfront_step(&pair_vf, &f, &r));
    assert_true(r->tracks_count > 0);
}

/** A mask of ones only equals no mask. */
static void mask_of_ones(void **state)
{
    (void)state;
    memset(hole, 1, sizeof hole);
    const vfront_rig_t rig = masked_rig(167, hole[0]);
    vfront_shutdown(&pair_vf);
    must(vfront_init(&pair_vf, &rig, NULL, pair_port));
    for (uint64_t i = 0; i < FRAMES; i++) {
        vfront_frame_t f = pair_frame(i);
        mask_frame(&f, 167, hole[0]);
        assert_true(step(&pair_vf, &f) == digest[i]);
    }
}

#define AFTER(test) cmocka_unit_test_setup_teardown(test, first_run, pair_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        AFTER(after_reset),
        AFTER(after_restart),
        AFTER(side_by_side),
        AFTER(points_after_reset),
        AFTER(points_of_a_picture),
        AFTER(cameras_of_two_sizes),
        AFTER(partners_after_reset),
        AFTER(one_lens_two_models),
#if VFRONT_DENSE
        AFTER(disparities_again),
#endif
#if VFRONT_HOST
        AFTER(same_as_host),
#endif
        AFTER(unlike_neighbours),
        AFTER(mask_with_gaps),
        AFTER(any_place),
        AFTER(lifetimes),
        AFTER(input_buffers),
        AFTER(input_buffers_of_a_driver),
        AFTER(input_buffers_as_host_memory),
        AFTER(formats_and_pitches),
        AFTER(over_range),
        AFTER(uniform_pictures),
        AFTER(masks),
        AFTER(mask_of_ones),
    };
    return pair_run("same", tests, sizeof tests / sizeof *tests);
}
