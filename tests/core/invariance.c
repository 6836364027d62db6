/* SPDX-License-Identifier: MIT */
/* What must not make a difference makes none: run, reset, restart, neighbour, format, pitch, kind of memory, place in
 * memory, kind of mask. And what must make one does. */
#include "tests/fixture/pair.h"

#include <math.h>
#include <stdlib.h>

#define FRAMES 8

static uint64_t digest[FRAMES]; /* of a first, plain run */

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

/** Starts pair_vf and notes the digests of a plain run. */
static int first_run(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    must(vfront_init(&pair_vf, &rig, NULL, pair_port));
    for (uint64_t i = 0; i < FRAMES; i++) {
        const vfront_frame_t f = pair_frame(i);
        const vfront_result_t *r;
        must(vfront_step(&pair_vf, &f, &r));
        assert_true(r->depths_count > 20 &&
                    (i == 0 || r->matches_count > 20)); /* so that the digest tells of them, too */
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
    for (uint32_t i = 1; i < 4; i++) { /* an odd number of frames in between: the parity is another */
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

/** Two front ends step in turn, the other one with other pictures. */
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

/** The same key points and descriptors again after a reset, whatever came in between. */
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
        const vfront_frame_t f = pair_frame(FRAMES + 3); /* an odd number of frames, and other pictures left behind */
        must(vfront_step(&pair_vf, &f, &r));
        must(vfront_reset(&pair_vf));
    }
}

/** Pairs of cameras and tunings in which every stage has something to do. */
enum { PLAIN, RECTIFIED, UNGUIDED, FISHEYE, UNCALIBRATED, PAIRS };
static vfront_rig_t pair_of(int way, vfront_tuning_t *t)
{
    vfront_rig_t rig = pair_cameras();
    vfront_tuning_default(t);
    t->rectify = way == RECTIFIED;
    t->match_guided = way != UNGUIDED;
    t->dense = VFRONT_DENSE && way == RECTIFIED;
    t->stixel = VFRONT_STIXELS && way == RECTIFIED;
    rig.road_height_m = 0.5; /* there are stixels whatever the pictures show */
    for (int c = 0; c < VFRONT_CAMERAS && way == FISHEYE; c++) {
        memset(rig.camera[c].distortion, 0, sizeof rig.camera[c].distortion);
        rig.camera[c].lens = VFRONT_LENS_EQUIDISTANT;
    }
    if (way == UNCALIBRATED) rig.camera[0].fx_px = rig.camera[0].fy_px = 0;
    return rig;
}

static void partners_found(int way, const vfront_result_t *r)
{
    assert_true((r->depths_count > 20) == (way != UNCALIBRATED));
    assert_true(r->frame == 0 || r->matches_count > 20);
#if VFRONT_DENSE
    assert_true((r->disparity.valid > VFRONT_WIDTH * VFRONT_HEIGHT / 4) == (way == RECTIFIED));
#endif
#if VFRONT_STIXELS
    uint32_t stixels = 0;
    for (uint32_t i = 0; i < r->columns_count; i++) stixels += r->stixels_count[i];
    assert_true((stixels > r->columns_count && r->road.state == VFRONT_ROAD_GIVEN) == (way == RECTIFIED));
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

/** The same pictures give the same disparities and stixels, the first time and the thousandth. */
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

/** The same depths and matches again after a reset and after frames that were refused, whatever came in between. */
static void partners_after_reset(void **state)
{
    (void)state;
    static vfront_result_t first[FRAMES];
    uint64_t world[FRAMES];
    for (int way = 0; way < PAIRS; way++) {
        vfront_tuning_t t;
        const vfront_rig_t rig = pair_of(way, &t);
        const vfront_result_t *r;
        vfront_shutdown(&pair_vf);
        must(vfront_init(&pair_vf, &rig, &t, pair_port));
        for (int round = 0; round < 3; round++) {
            for (uint64_t i = 0; i < FRAMES; i++) {
                vfront_frame_t f = pair_frame(i), bad = pair_frame(i + 3);
                bad.picture[VFRONT_CAMERAS - 1].pitch_bytes = 0;
                if (round) assert_int_equal(vfront_submit(&pair_vf, &bad), VFRONT_E_PITCH);
                must(vfront_step(&pair_vf, &f, &r));
                partners_found(way, r);
                if (!round) first[i] = *r, world[i] = vfront_digest(r);
                pair_same_partners(r, &first[i]);
                assert_true(vfront_digest(r) == world[i]); /* disparities and stixels among it */
            }
            const vfront_frame_t f = pair_frame(FRAMES + 3);
            must(vfront_step(&pair_vf, &f, &r));
            must(vfront_reset(&pair_vf));
        }
    }
}

#if VFRONT_HOST
/** This port's results are the host port's. */
static void same_as_host(void **state)
{
    (void)state;
    for (int way = 0; way < PAIRS; way++) {
        vfront_tuning_t t;
        const vfront_rig_t rig = pair_of(way, &t);
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
            partners_found(way, a);
            pair_same_partners(a, b);
            assert_true(vfront_digest(a) == vfront_digest(b));
        }
    }
}
#endif

/** Key points are of their picture alone: not of the frames before, nor of what is tracked in them. */
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

/* ---- rigs and neighbours that are not alike ---------------------------------------------------------------------- */

/* Two cameras of two sizes, and noise of one grain for each. */
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

/** The key points of either camera are those of a rig of that camera alone. */
static void cameras_of_two_sizes(void **state)
{
    (void)state;
    static vfront_result_t both, alone[2];
    const uint8_t *const one[] = {wide_grey, high_grey}, *const other[] = {high_grey, wide_grey};
    for (int way = 0; way < 8; way++) {
        const int swapped = way & 1;
        vfront_info_t info;
        vfront_tuning_t t;
        vfront_tuning_default(&t);
        t.describe = way >> 1 & 1;
        t.describe_margin_px = 4;
        t.select_points = way & 4 ? VFRONT_KEYPOINTS : 11;
        vfront_rig_t rig = unlike_rig(swapped);
        pair_shot(&rig, &t, swapped ? other : one, &both);
        must(vfront_info(&pair_vf, &info));
        t.detect_levels = info.scales; /* a camera by itself may have more */
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

/** Two front ends that have nothing in common but the machine step in turn: each as when it is alone. */
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
        memset(room->block + off + sizeof *room / 8, 0xa5, 64); /* what lies behind it stays */
        must(vfront_init(vf, &rig, NULL, pair_port));
        run(vf);
        vfront_shutdown(vf);
        for (size_t i = 0; i < 64; i++) assert_int_equal(((uint8_t *)(room->block + off + sizeof *room / 8))[i], 0xa5);
    }
}

/** The caller's buffers are free when vfront_submit() returns; the result lives until the next-but-one. */
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

/** The library's own input buffers, of full size and aligned, two in turn. */
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

/** An input buffer is host memory, too, and so is what lies within one. Rows of 150 bytes, so that the CUDA port's own
 *  pitch is another. */
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
 *  sees any byte read beyond the last row. */
static void formats_and_pitches(void **state)
{
    (void)state;
    static const uint32_t extra[] = {0, 2, 30, 64}; /* bytes a row */
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

/** Values over a format's range are white. */
static void over_range(void **state)
{
    (void)state;
    static uint16_t wide[120][160];
    static uint8_t grey[120][160];
    for (int y = 0; y < 120; y++)
        for (int x = 0; x < 160; x++) {
            wide[y][x] = (uint16_t)(pair_grey[0][160 * y + x] << (x % 2 ? 4 : 5)); /* as 12 bits: some up to 8160 */
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

/** Where there is nothing to see nothing is followed, whatever the light model makes of it. */
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

static uint8_t hole[120][167]; /* right half and an island are under the mask */

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

/** Of key points, too, none lies under the mask, and there are some in each camera. */
static void points_seen(const vfront_result_t *r)
{
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        assert_true(r->keypoints_count[c] > 0);
        for (uint32_t k = 0; k < r->keypoints_count[c]; k++)
            assert_true(hole[(int)(r->keypoints[c][k].y_px + 0.5f)][(int)(r->keypoints[c][k].x_px + 0.5f)]);
    }
}

/** A lattice of pixels that are seen, under a mask of all else: what is searched is single pixels, on every level. */
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

/** A static mask, the same mask with every frame, half of it each way, at several pitches and values: all the same. */
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
    for (int way = 0; way < 4; way++) { /* static; static, packed; each frame's; half and half */
        vfront_shutdown(&pair_vf);
        must(vfront_init(&pair_vf, way < 2 ? &rig[way] : way == 2 ? &plain : &rig[2], NULL, pair_port));
        memset(hole, way == 0 ? 1 : 0, sizeof hole); /* read within vfront_init() only */
        dig();
        for (uint64_t i = 0; i < FRAMES; i++) {
            vfront_frame_t f = pair_frame(i);
            const vfront_result_t *r;
            if (way == 2) mask_frame(&f, 167, hole[0]);
            if (way == 3) mask_frame(&f, 160, right[0]);
            must(vfront_step(&pair_vf, &f, &r));
            if (way == 0) want[i] = vfront_digest(r);
            assert_true(vfront_digest(r) == want[i]);
            assert_true(r->tracks_count > 0 && r->keypoints_count[0] > 0);
            for (uint32_t k = 0; k < r->tracks_count; k++)
                assert_true(hole[(int)(r->tracks[k].y_px + 0.5f)][(int)(r->tracks[k].x_px + 0.5f)]);
            points_seen(r);
        }
        assert_true(want[0] != digest[0]);
    }
    /* a frame's mask is of this frame only, and under a mask everywhere there is nothing */
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

/** A mask of nothing but ones is no mask. */
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

/* ---- rotation prior ---------------------------------------------------------------------------------------------- */

/* The camera turns to the right (about y, which points down): the picture moves left by 30 px a frame, more than the
 * pyramid of this small picture can follow by itself. Focal length 1600 px. */
#define TURN_PX 30
static const struct scene turning = {160, 120, 77, -16 * TURN_PX, 0};

static uint8_t turned[4][160 * 120];

/** exp of the rotation about a unit axis, by Rodrigues' formula. */
static void rotation(double R[9], const double axis[3], double angle)
{
    const double s = sin(angle), c = cos(angle), x = axis[0], y = axis[1], z = axis[2];
    const double out[9] = {c + x * x * (1 - c),     x * y * (1 - c) - z * s, x * z * (1 - c) + y * s,
                           y * x * (1 - c) + z * s, c + y * y * (1 - c),     y * z * (1 - c) - x * s,
                           z * x * (1 - c) - y * s, z * y * (1 - c) + x * s, c + z * z * (1 - c)};
    memcpy(R, out, sizeof out);
}

static void multiply(double out[9], const double a[9], const double b[9])
{
    double p[9];
    for (int i = 0; i < 9; i++)
        p[i] = a[i / 3 * 3] * b[i % 3] + a[i / 3 * 3 + 1] * b[3 + i % 3] + a[i / 3 * 3 + 2] * b[6 + i % 3];
    memcpy(out, p, sizeof p);
}

struct kept {
    uint32_t right, had; /* tracks followed to where they must be; tracks that did not leave the picture */
    vfront_track_t track[4][VFRONT_TRACKS];
    uint32_t count[4];
};

static void note(struct kept *k, int frame, const vfront_result_t *r)
{
    for (uint32_t i = 0; i < r->health.followed; i++)
        k->right += fabsf(r->tracks[i].dx_px + TURN_PX) < 0.3f && fabsf(r->tracks[i].dy_px) < 0.3f;
    for (uint32_t i = 0; frame && i < k->count[frame - 1]; i++) k->had += k->track[frame - 1][i].x_px - TURN_PX > 10;
    k->count[frame] = r->tracks_count;
    memcpy(k->track[frame], r->tracks, sizeof r->tracks);
}

/** Four frames of the turning camera; `fill` gives each its prior. */
static void turn(const vfront_rig_t *rig, int32_t prior, void (*fill)(vfront_frame_t *, double angle), double angle,
                 struct kept *k)
{
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.track_prior = prior;
    t.track_retry = 0;
    vfront_shutdown(&pair_vf);
    must(vfront_init(&pair_vf, rig, &t, pair_port));
    memset(k, 0, sizeof *k);
    for (int i = 0; i < 4; i++) {
        const vfront_result_t *r;
        vfront_frame_t f = pair_frame((uint64_t)i);
        for (int c = 0; c < VFRONT_CAMERAS; c++) f.picture[c] = scene_picture(&turning, turned[i]);
        if (fill) fill(&f, angle);
        must(vfront_step(&pair_vf, &f, &r));
        note(k, i, r);
    }
}

static double R_cur_prev[9];
static void give_rotation(vfront_frame_t *f, double angle)
{
    const double down[3] = {0, 1, 0};
    rotation(R_cur_prev, down, -angle);
    f->R_cur_prev = R_cur_prev;
}

static vfront_gyro_t reading[8];
static double gyro_axis[3];
static void give_gyro(vfront_frame_t *f, double angle) /* readings before, between and behind, unevenly */
{
    static const int64_t at_us[8] = {-40000, -31000, -30000, -17000, -9000, -8999, -1000, 3000};
    for (int i = 0; i < 8; i++) {
        reading[i].t_ns = f->t_ns + (uint64_t)(at_us[i] * 1000);
        const double noise = i % 2 ? 1e-9 : -1e-9; /* readings that are all equal are those of a stuck gyro */
        for (int k = 0; k < 3; k++) reading[i].rate_rad_s[k] = gyro_axis[k] * angle / (FRAME_NS * 1e-9) * (1 + noise);
    }
    f->gyro = reading;
    f->gyro_count = 8;
}

static void same_tracks(const struct kept *a, const struct kept *b)
{
    assert_int_equal(a->right, b->right);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(a->count[i], b->count[i]);
        for (uint32_t k = 0; k < a->count[i]; k++) {
            assert_true(a->track[i][k].id == b->track[i][k].id);
            assert_true(fabsf(a->track[i][k].x_px - b->track[i][k].x_px) < 0.02f);
            assert_true(fabsf(a->track[i][k].y_px - b->track[i][k].y_px) < 0.02f);
        }
    }
}

static void rotation_priors(void **state)
{
    (void)state;
    static struct kept none, matrix, gyro, mounted, wrong, unused;
    const double angle = atan(TURN_PX / 1600.0);
    vfront_rig_t rig = scene_rig(&turning, VFRONT_CAMERAS);
    for (int i = 0; i < 4; i++) scene_draw(&turning, i, turned[i], 160);

    turn(&rig, VFRONT_PRIOR_ROTATION, NULL, 0, &none);
    assert_true(none.had > 20 && none.right * 10 < none.had); /* it is needed */
    turn(&rig, VFRONT_PRIOR_ROTATION, give_rotation, angle, &matrix);
    assert_true(matrix.had > 20 && matrix.right * 10 > matrix.had * 9);
    turn(&rig, VFRONT_PRIOR_ROTATION, give_rotation, -angle, &wrong);
    assert_true(wrong.right * 10 < wrong.had);
    turn(&rig, VFRONT_PRIOR_NONE, give_rotation, angle, &unused);
    same_tracks(&unused, &none);

    gyro_axis[0] = 0, gyro_axis[1] = 1, gyro_axis[2] = 0;
    turn(&rig, VFRONT_PRIOR_ROTATION, give_gyro, angle, &gyro);
    same_tracks(&gyro, &matrix);

    /* an IMU that is mounted at an odd angle says the same in its own axes: w_imu = R_cam_imu^T w_cam */
    const double a[3] = {0.6, 0, 0.8}, b[3] = {0, 0, 1};
    double first[9], second[9];
    rotation(first, a, 1.1);
    rotation(second, b, -2.3);
    multiply(rig.camera[0].R_cam_imu, first, second);
    for (int k = 0; k < 3; k++) gyro_axis[k] = rig.camera[0].R_cam_imu[3 + k];
    turn(&rig, VFRONT_PRIOR_ROTATION, give_gyro, angle, &mounted);
    same_tracks(&mounted, &matrix);
}

/** Without a calibration gyro readings are not used, and harm nothing. With a matrix they are not looked at either. */
static void gyro_aside(void **state)
{
    (void)state;
    static struct kept none, ignored, matrix, both;
    vfront_rig_t rig = scene_rig(&turning, VFRONT_CAMERAS);
    gyro_axis[0] = 0, gyro_axis[1] = 1, gyro_axis[2] = 0;
    turn(&rig, VFRONT_PRIOR_ROTATION, NULL, 0, &none);
    turn(&rig, VFRONT_PRIOR_ROTATION, give_rotation, 0.01, &matrix);
    rig.camera[0].fx_px = rig.camera[0].fy_px = 0;
    turn(&rig, VFRONT_PRIOR_ROTATION, give_gyro, 0.01, &ignored);
    same_tracks(&ignored, &none);
    rig = scene_rig(&turning, VFRONT_CAMERAS);
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.track_prior = VFRONT_PRIOR_ROTATION;
    t.track_retry = 0;
    vfront_shutdown(&pair_vf);
    must(vfront_init(&pair_vf, &rig, &t, pair_port));
    memset(&both, 0, sizeof both);
    for (int i = 0; i < 4; i++) {
        const vfront_result_t *r;
        vfront_frame_t f = pair_frame((uint64_t)i);
        for (int c = 0; c < VFRONT_CAMERAS; c++) f.picture[c] = scene_picture(&turning, turned[i]);
        give_gyro(&f, -0.5);
        give_rotation(&f, 0.01);
        must(vfront_step(&pair_vf, &f, &r));
        note(&both, i, r);
    }
    same_tracks(&both, &matrix);
}

/* ---- digest ------------------------------------------------------------------------------------------------------ */

/** Each part of a result counts in its own digest and in that of all, and in no other. */
static void digest_of_parts(void **state)
{
    (void)state;
    static const uint32_t parts[] = {VFRONT_PART_REST, VFRONT_PART_DISPARITIES, VFRONT_PART_STIXELS, VFRONT_PART_ALL};
    static vfront_result_t r, changed;
    vfront_frame_t f = pair_frame(0);
    const vfront_result_t *got;
    must(vfront_step(&pair_vf, &f, &got));
    r = *got;
    assert_true(vfront_digest_parts(&r, VFRONT_PART_ALL) == vfront_digest(&r));
    assert_true(vfront_digest_parts(NULL, VFRONT_PART_ALL) == 0);
    for (int changes = 0; changes < 3; changes++) {
        changed = r;
        if (changes == 0) changed.health.quality ^= 1;
#if VFRONT_DENSE
        if (changes == 1) changed.disparity.valid ^= 1;
#endif
#if VFRONT_STIXELS
        if (changes == 2) changed.road.state ^= 1;
#endif
        for (int i = 0; i < 4; i++) {
            const int same = vfront_digest_parts(&changed, parts[i]) == vfront_digest_parts(&r, parts[i]);
            const int there = changes == 0 || (changes == 1 ? VFRONT_DENSE : VFRONT_STIXELS);
            if (same != !((i == changes || i == 3) && there)) fail_msg("part %u, change %d", parts[i], changes);
        }
    }
}

/** The digest sees every field of a result but timing and health.reset_counter, and nothing beyond the counts. */
static void digest_covers(void **state)
{
    (void)state;
    static vfront_result_t r, changed;
    vfront_frame_t f = pair_frame(0);
    const vfront_result_t *got;
    must(vfront_step(&pair_vf, &f, &got));
    r = *got;
    r.lost_count = 2;
    memset(r.lost, 1, 2 * sizeof *r.lost);
    r.depths_count = r.matches_count = 2;
    memset(r.depths, 1, 2 * sizeof *r.depths);
    memset(r.matches, 1, 2 * sizeof *r.matches);
#if VFRONT_DENSE
    static uint16_t px16[3][8];
    static uint8_t confidence[3][8];
    r.disparity = (vfront_disparity_t){px16[0], confidence[0], 5, 3, 8, 7};
#endif
    const uint64_t want = vfront_digest(&r);

    changed = r;
    memset(&changed.timing, 0x5a, sizeof changed.timing);
    changed.health.reset_counter ^= 1;
    memset(changed.tracks + r.tracks_count, 0x5a, sizeof *r.tracks);
    memset(changed.lost + r.lost_count, 0x5a, sizeof *r.lost);
    memset(changed.depths + r.depths_count, 0x5a, sizeof *r.depths);
    memset(changed.matches + r.matches_count, 0x5a, sizeof *r.matches);
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        if (r.keypoints_count[c] < VFRONT_KEYPOINTS)
            memset(changed.keypoints[c] + r.keypoints_count[c], 0x5a, sizeof **r.keypoints);
        if (r.descriptors_count[c] < VFRONT_KEYPOINTS)
            memset(changed.descriptors[c] + r.descriptors_count[c], 0x5a, sizeof **r.descriptors);
    }
    assert_true(vfront_digest(&changed) == want);

#define SEEN(member)                                                                                                   \
    do {                                                                                                               \
        for (size_t i = 0; i < 8 * sizeof r.member; i++) {                                                             \
            changed = r;                                                                                               \
            ((uint8_t *)&changed.member)[i / 8] ^= (uint8_t)(1u << i % 8);                                             \
            if (vfront_digest(&changed) == want) fail_msg("bit %d of " #member " does not count", (int)i);             \
        }                                                                                                              \
    } while (0)
    SEEN(t_ns);
    SEEN(t_mid_ns);
    SEEN(frame);
    SEEN(health.state);
    SEEN(health.quality);
    SEEN(health.motion_breaks);
    SEEN(health.followed);
    SEEN(health.born);
    SEEN(health.ended);
    SEEN(health.overflow);
    SEEN(health.gap);
    SEEN(health.gyro_short);
    SEEN(health.dt_ns);
    SEEN(health.cells);
    SEEN(health.starved);
    SEEN(health.brightness_grey);
    SEEN(health.sharpness_grey);
    SEEN(health.dark_permille);
    SEEN(health.bright_permille);
    SEEN(tracks[0].id);
    SEEN(tracks[0].x_px);
    SEEN(tracks[0].y_px);
    SEEN(tracks[0].dx_px);
    SEEN(tracks[0].dy_px);
    SEEN(tracks[0].gain);
    SEEN(tracks[0].offset_grey);
    SEEN(tracks[0].residual_grey);
    SEEN(tracks[0].age);
    SEEN(tracks[0].level);
    SEEN(tracks[0].score);
    SEEN(tracks[0].bearing);
    SEEN(tracks[1].score);
    SEEN(tracks[1].bearing);
    SEEN(depths[0].keypoint);
    SEEN(depths[0].partner);
    SEEN(depths[0].distance);
    SEEN(depths[1].x_px);
    SEEN(depths[1].y_px);
    SEEN(depths[1].depth_m);
    SEEN(depths[1].sigma_m);
    SEEN(matches[0]);
    SEEN(matches[1]);
    SEEN(lost[0]);
    SEEN(lost[1].end);
    SEEN(keypoints[0][0]);
    SEEN(keypoints[VFRONT_CAMERAS - 1][1]);
    SEEN(health.dropped);
    SEEN(health.full);
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        const uint32_t last = r.keypoints_count[c] - 1;
        assert_true(last > 10 && r.descriptors_count[c] == last + 1);
        SEEN(keypoints[c][last].angle_rad);
        SEEN(keypoints[c][last].score);
        SEEN(keypoints[c][last].level);
        SEEN(descriptors[c][0]);
        SEEN(descriptors[c][last]);
        changed = r, changed.descriptors_count[c]--;
        assert_true(vfront_digest(&changed) != want);
        changed = r, changed.descriptors_count[c] = 0;
        assert_true(vfront_digest(&changed) != want);
    }
#if VFRONT_DENSE
    SEEN(disparity.valid);
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 8; x++)
            for (int bit = 0; bit < 24; bit++) { /* of both; what lies beyond the width does not count */
                px16[y][x] ^= (uint16_t)(bit < 16 ? 1u << bit : 0);
                confidence[y][x] ^= (uint8_t)(bit < 16 ? 0 : 1u << (bit - 16));
                assert_int_equal(vfront_digest(&r) != want, x < 5);
                px16[y][x] = 0;
                confidence[y][x] = 0;
            }
#endif
    changed = r, changed.tracks_count--;
    assert_true(vfront_digest(&changed) != want);
    changed = r, changed.lost_count--;
    assert_true(vfront_digest(&changed) != want);
    changed = r, changed.keypoints_count[0]--;
    assert_true(vfront_digest(&changed) != want);
    changed = r, changed.depths_count--;
    assert_true(vfront_digest(&changed) != want);
    changed = r, changed.matches_count--;
    assert_true(vfront_digest(&changed) != want);
#undef SEEN
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
        AFTER(input_buffers_as_host_memory),
        AFTER(formats_and_pitches),
        AFTER(over_range),
        AFTER(uniform_pictures),
        AFTER(masks),
        AFTER(mask_of_ones),
        AFTER(rotation_priors),
        AFTER(gyro_aside),
        AFTER(digest_covers),
        AFTER(digest_of_parts),
    };
    return pair_run("same", tests, sizeof tests / sizeof *tests);
}
