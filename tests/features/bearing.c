/* SPDX-License-Identifier: MIT */
/* bearing: key points against the lens, inverted at their position in double precision; no point without a bearing
 * comes out of the public interface. Positions between pixels are tested in tests/camera/grid.c. */
#include "tests/camera/grid_oracle.h"

/* ---- key points -------------------------------------------------------------------------------------------------- */

static int32_t searched(void)
{
    return step.geometry.scales < step.tuning.detect_levels ? step.geometry.scales : step.tuning.detect_levels;
}
static int32_t groups(void) { return step.tuning.select_share_percent > 0 ? searched() : 1; }
static int32_t first_slot(int32_t group)
{
    return step.tuning.select_share_percent > 0 ? step.geometry.share[group] : 0;
}
static int32_t slots_of(int32_t group)
{
    const int32_t *share = step.geometry.share;
    return step.tuning.select_share_percent > 0 ? share[group + 1] - share[group] : step.tuning.select_points;
}

/** Key point at an index of key[], kept apart from the arena. */
struct drawn_point {
    int32_t level, u, v;
};
static struct drawn_point drawn_point[VFRONT_CAMERAS][VFRONT_KEYPOINTS];

static void draw_point(int32_t camera, int32_t slot, int32_t level)
{
    const struct vf_level *l = &step.geometry.scale[camera][level];
    const int32_t u = roll(4) ? roll(l->width) : roll(2) * (l->width - 1),
                  v = roll(4) ? roll(l->height) : roll(2) * (l->height - 1);
    const struct drawn_point s = {level, u, v};
    drawn_point[camera][slot] = s;
    memory.select.key[camera][slot] = vf_detect_key(roll(2), (uint32_t)roll64(), level, s.u, s.v);
}

/** Some key points in every group's part of key[], by rising level as they are selected; the rest of keys and counts is
 *  noise. */
static void draw_points(int32_t camera)
{
    scribble(memory.select.key[camera], sizeof memory.select.key[camera]);
    for (int32_t group = 0; group < VFRONT_SCALES; group++) memory.select.count[camera][group] = (uint32_t)roll(100);
    for (int32_t group = 0; group < groups(); group++) {
        const int32_t count = roll(4) ? roll(slots_of(group) + 1) : roll(2) * slots_of(group);
        int32_t level = step.tuning.select_share_percent > 0 ? group : 0;
        memory.select.count[camera][group] = (uint32_t)count;
        for (int32_t i = 0; i < count; i++) {
            draw_point(camera, first_slot(group) + i, level);
            while (groups() == 1 && level < searched() - 1 && roll(count) < 2 * searched())
                level++; /* now and then past one or more */
        }
    }
}

/** Level 0 position of a pixel of a level, in 1/65536 px: its centre, rounded down. */
static int32_t centre_of(int32_t u, int32_t level)
{
    const double size = floor(pow((double)VFRONT_SCALE_NUM / VFRONT_SCALE_DEN, level) * 65536.0 + 0.5);
    return (int32_t)floor((u + 0.5) * size - 32768.0);
}

static struct figures random_figures[KINDS];

/** Expected i-th key point; its bearing must be near that of the lens and is then copied. */
static void expect_point(int32_t camera, int kind, const struct vf_lens *lens, uint32_t i, const struct drawn_point *s)
{
    struct vf_point *should = &expected.bearing.point[step.parity][camera][i];
    const struct vf_point *is = &memory.bearing.point[step.parity][camera][i];
    should->x_q16 = centre_of(s->u, s->level);
    should->y_q16 = centre_of(s->v, s->level);
    should->u = (int16_t)s->u;
    should->v = (int16_t)s->v;
    should->level = s->level;
    should->step = (float)(floor(pow((double)VFRONT_SCALE_NUM / VFRONT_SCALE_DEN, s->level) * 65536.0 + 0.5) / 65536.0);
    compare_bearing(known[kind].name, lens, lens->fx_px, should->x_q16 / 65536.0, should->y_q16 / 65536.0, is->bearing,
                    &random_figures[kind]);
    memcpy(should->bearing, is->bearing, sizeof is->bearing);
}

/** Expected index of the first key point of each level. */
static void expect_levels(int32_t camera, uint32_t count)
{
    for (int32_t level = 0; level <= VFRONT_SCALES; level++) {
        uint32_t before = 0;
        for (uint32_t i = 0; i < count; i++) before += expected.bearing.point[step.parity][camera][i].level < level;
        expected.bearing.first[step.parity][camera][level] = before;
    }
}

static void expect_camera(int32_t camera, int kind)
{
    const struct vf_lens lens = lens_of(&known[kind].camera);
    uint32_t count = 0;
    for (int32_t group = 0; group < groups(); group++)
        for (uint32_t k = 0; k < memory.select.count[camera][group]; k++)
            expect_point(camera, kind, &lens, count++, &drawn_point[camera][first_slot(group) + (int32_t)k]);
    expected.bearing.count[step.parity][camera] = count;
    expect_levels(camera, count);
}

/** 1 if bearings are used: by match, or by the result of a calibrated camera. Otherwise the stage is inactive. */
static int is_read(void)
{
    int is = step.tuning.describe && step.tuning.match;
    for (int32_t c = 0; c < step.geometry.cameras; c++) is |= step.geometry.calibrated[c];
    return is && step.tuning.select_points > 0;
}

/** Rigs of one or two cameras of different lenses and sizes, both parities, with shares and without, described or not,
 *  lists full or empty: points in the order of the result, and not a byte more. */
static void random_points(void **state)
{
    static const int32_t percent[] = {0, 1, 50, 91, 100};
    int ran[2] = {0, 0};
    (void)state;
    shake(4);
    scribble_arena();
    for (int round = 0; round < 60; round++) {
        const int kind[2] = {round % KINDS, roll(KINDS)};
        const int32_t cameras = between(1, VFRONT_CAMERAS);
        int room = 1;
        for (int32_t c = 0; c < cameras; c++)
            room &= fits(known[kind[c]].camera.width_px, known[kind[c]].camera.height_px, 0);
        if (!room) continue;
        set_up(cameras, known[kind[0]].camera.width_px, known[kind[0]].camera.height_px, roll(2));
        for (int32_t c = 1; c < cameras; c++)
            lay_out_levels(c, known[kind[c]].camera.width_px, known[kind[c]].camera.height_px, 0);
        step.tuning.detect_levels = between(1, VFRONT_SCALES);
        step.tuning.select_share_percent = percent[round % 5];
        step.tuning.select_points = roll(6) ? between(1, roll(4) ? vf_min(300, VFRONT_KEYPOINTS) : VFRONT_KEYPOINTS)
                                            : 0;
        step.tuning.describe = roll(VFRONT_DESCRIPTORS + 1);
        step.tuning.match = roll(VFRONT_MATCHES + 1);
        share_out();
        for (int32_t c = 0; c < cameras; c++) {
            const struct vf_lens lens = lens_of(&known[kind[c]].camera);
            step.geometry.calibrated[c] = roll(3) > 0; /* used by is_read() only */
            write_grid(c, &lens);
            draw_points(c);
        }
        memcpy(&expected, &memory, sizeof memory);
        RUN(bearing);
        for (int32_t c = 0; c < cameras && is_read(); c++) expect_camera(c, kind[c]);
        ran[is_read()]++;
        same_arena("points");
    }
    assert_true(ran[0] > 4 && ran[1] > 10);
    for (int kind = 0; kind < KINDS; kind++)
        assert_true(known[kind].bound_px == 0.0 || random_figures[kind].worst_px <= known[kind].bound_px);
}

/* ---- through the public interface -------------------------------------------------------------------------------- */

#if VFRONT_HOST
static vfront_t front;
static uint8_t picture[2][256 * 256];

/** Noise that moves by (dx, dy) px a frame, smoothed so that it can be tracked. */
static void draw(uint8_t *grey, int32_t width, int32_t height, int32_t dx, int32_t dy)
{
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) {
            const double u = x + dx, v = y + dy;
            const double wave = sin(0.61 * u + 0.2 * v) + sin(0.5 * v - 0.31 * u) +
                                sin(0.23 * u + 0.37 * v + 2.0 * sin(0.05 * u)) + sin(0.9 * u) * sin(0.8 * v);
            grey[y * width + x] = (uint8_t)(128.0 + 30.0 * wave);
        }
}

static const vfront_result_t *shoot(const vfront_rig_t *rig, int frame)
{
    static vfront_frame_t f;
    const vfront_result_t *r = NULL;
    memset(&f, 0, sizeof f);
    f.t_ns = 1000000000u + 33000000u * (uint64_t)frame;
    for (int32_t c = 0; c < rig->cameras; c++) {
        const vfront_camera_t *camera = &rig->camera[c];
        draw(picture[c], camera->width_px, camera->height_px, 3 * frame, c - 2 * frame);
        f.picture[c].data = picture[c];
        f.picture[c].width_px = camera->width_px;
        f.picture[c].height_px = camera->height_px;
        f.picture[c].pitch_bytes = (uint32_t)camera->width_px;
    }
    REQUIRE(vfront_step(&front, &f, &r) == VFRONT_OK, "%s", vfront_detail(&front));
    return r;
}

/** Requires that a position has the bearing of its lens and lies on no masked pixel. Returns 1 if it would be blind. */
static int check_seen(const vfront_camera_t *c, const struct vf_lens *lens, float x, float y, const float bearing[3])
{
    const int32_t px = (int32_t)floor((double)x + 0.5), py = (int32_t)floor((double)y + 0.5),
                  blind = is_blind(c, lens, px, py);
    struct figures f = {0.0, 0.0, 0, 0, 0};
    if (c->fx_px == 0.0) {
        assert_true(bearing[0] == 0.0f && bearing[1] == 0.0f && bearing[2] == 0.0f);
        return blind;
    }
    REQUIRE(!blind, "a point at %.3f %.3f, where the lens does not see", (double)x, (double)y);
    compare_bearing("result", lens, lens->fx_px, (double)x, (double)y, bearing, &f);
    REQUIRE(f.blind == 0 && f.worst_px < 0.5, "at %.3f %.3f: %.4f px off", (double)x, (double)y, f.worst_px);
    return 0;
}

/** Number of points of five frames where a lens has no bearing; with that lens in the rig there must be none. */
static int points_on_blind(const vfront_rig_t *rig, const vfront_camera_t *sees)
{
    vfront_tuning_t t;
    int blind = 0, points = 0, tracked = 0;
    vfront_tuning_default(&t);
    t.detect_border_px = 3;
    t.describe_margin_px = 3;
    t.cell_width_px = t.cell_height_px = 8;
    t.track_distance_px = 5;
    REQUIRE(vfront_init(&front, rig, &t, VFRONT_PORT_HOST) == VFRONT_OK, "%s", vfront_detail(&front));
    for (int frame = 0; frame < 5; frame++) {
        const vfront_result_t *r = shoot(rig, frame);
        for (int32_t c = 0; c < rig->cameras; c++) {
            const struct vf_lens lens = lens_of(&sees[c]);
            for (uint32_t i = 0; i < r->tracks_count && c == 0; i++) {
                vfront_camera_t camera = sees[0];
                if (rig->camera[0].fx_px == 0.0) camera.fx_px = 0.0;
                blind += check_seen(&camera, &lens, r->tracks[i].x_px, r->tracks[i].y_px, r->tracks[i].bearing);
                tracked += r->tracks[i].age > 0;
            }
            for (uint32_t i = 0; i < r->keypoints_count[c]; i++) {
                const vfront_keypoint_t *k = &r->keypoints[c][i];
                vfront_camera_t camera = sees[c];
                if (rig->camera[c].fx_px == 0.0) camera.fx_px = 0.0;
                blind += check_seen(&camera, &lens, k->x_px, k->y_px, k->bearing);
                points++;
            }
        }
    }
    REQUIRE(points > 100 && tracked > 20, "%d points, %d tracked", points, tracked);
    return blind;
}

/** Neither key points nor tracks where a lens has no bearing, and vfront_info() reports the number of these pixels.
 *  Without calibration there are some, so that the test is effective. */
static void nothing_on_blind_pixels(void **state)
{
    static const int pair[][2] = {{CORNERS, ROUND}, {ROUND, CORNERS}, {OFF_CENTRE, EUROC}, {CORNERS, OFF_CENTRE}};
    (void)state;
    for (size_t n = 0; n < sizeof pair / sizeof *pair; n++) {
        vfront_rig_t rig;
        vfront_camera_t sees[2];
        vfront_info_t info;
        int in_range = 1;
        memset(&rig, 0, sizeof rig);
        rig.cameras = pair[n][1] == EUROC ? 1 : VFRONT_CAMERAS;
        for (int32_t c = 0; c < rig.cameras; c++) {
            rig.camera[c] = sees[c] = known[pair[n][c]].camera;
            in_range &= fits(sees[c].width_px, sees[c].height_px, 0);
        }
        if (!in_range) skip();
        assert_int_equal(points_on_blind(&rig, sees), 0);
        assert_int_equal(vfront_info(&front, &info), VFRONT_OK);
        for (int32_t c = 0; c < rig.cameras; c++) {
            const struct vf_lens lens = lens_of(&sees[c]);
            if (sees[c].width_px <= 256) assert_int_equal(info.blind_px[c], look_at_all(&sees[c], &lens));
            rig.camera[c].fx_px = rig.camera[c].fy_px = 0.0;
            memset(rig.camera[c].distortion, 0, sizeof rig.camera[c].distortion);
            rig.camera[c].lens = VFRONT_LENS_RADTAN;
        }
        vfront_shutdown(&front);
        const int blind = points_on_blind(&rig, sees);
        REQUIRE(blind > 10, "rig %zu: %d points where nothing is seen", n, blind);
        assert_int_equal(vfront_info(&front, &info), VFRONT_OK);
        for (int32_t c = 0; c < rig.cameras; c++) assert_int_equal(info.blind_px[c], 0);
        vfront_shutdown(&front);
    }
}

/** The rig's mask applies together with the blind pixels: nothing in its left half. */
static void mask_beside_blind_pixels(void **state)
{
    static uint8_t mask[256 * 256];
    (void)state;
    vfront_rig_t rig;
    memset(&rig, 0, sizeof rig);
    rig.cameras = 1;
    rig.camera[0] = known[CORNERS].camera;
    for (int32_t i = 0; i < 256 * 256; i++) mask[i] = i % 256 >= 100;
    rig.camera[0].mask = mask;
    rig.camera[0].mask_pitch_bytes = 256;
    if (!fits(203, 151, 0)) skip();
    assert_int_equal(points_on_blind(&rig, &known[CORNERS].camera), 0);
    const vfront_result_t *r = shoot(&rig, 9);
    assert_true(r->keypoints_count[0] > 10);
    for (uint32_t i = 0; i < r->keypoints_count[0]; i++) assert_true(r->keypoints[0][i].x_px >= 99.5f);
    for (uint32_t i = 0; i < r->tracks_count; i++) assert_true(r->tracks[i].x_px >= 99.5f);
    vfront_shutdown(&front);
}
#endif

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(random_points),
#if VFRONT_HOST
        cmocka_unit_test(nothing_on_blind_pixels),
        cmocka_unit_test(mask_beside_blind_pixels),
#endif
    };
    return cmocka_run_group_tests_name("bearing", test, NULL, NULL);
}
