/* SPDX-License-Identifier: MIT */
/* State of the camera pair from the tracks' partners (ego/partner_check.h), on drawn tracks: how often it is wrong
 * without a fault, and what it says of faults. Tracks live and die, and lose their partner in groups of neighbours. */
#include <math.h>
#include <string.h>

#include "tests/fixture/random.h"
#include "ego/partner_check.h"

#define ALIKE 4 /* tracks that share the fate of a partner */

static vfront_result_t result;
static struct vf_partner_check check;

/** A scene: share of tracks that go on to the next frame, that keep a partner, that get one; disparity of a partner. */
struct scene {
    double lives, keeps, gets;
    float disparity_px;
    uint32_t tracks;
};
static const struct scene ordinary = {0.95, 0.9, 0.4, 20.0f, 200};

/** Uniform in 0 .. 1. */
static double draw(void) { return (double)(roll64() >> 11) / 9007199254740992.0; }

static int set_up(void **state)
{
    (void)state;
    memset(&result, 0, sizeof result);
    memset(&check, 0, sizeof check);
    result.health.state = VFRONT_STARTING;
    return 0;
}

/** Draws the next frame. Returns health.stereo. */
static uint32_t step(const struct scene *s, uint64_t dt_ns)
{
    static uint64_t next_id = 1;
    vfront_track_t *t = result.tracks;
    uint32_t kept = 0;
    double fate = 0.0;
    for (uint32_t i = 0; i < result.tracks_count; i++)
        if (draw() < s->lives) t[kept++] = t[i];
    while (kept < s->tracks) t[kept++] = (vfront_track_t){.id = next_id++};
    result.tracks_count = s->tracks;
    for (uint32_t i = 0; i < s->tracks; i++) {
        if (i % ALIKE == 0 || s->gets < 0.1) fate = draw(); /* partners by chance have no neighbours */
        const int has = fate < (t[i].disparity_sigma_px > 0.0f ? s->keeps : s->gets);
        t[i].disparity_sigma_px = has ? 0.1f : 0.0f;
        t[i].disparity_px = has ? s->disparity_px : 0.0f;
    }
    result.frame++;
    result.relative.state = VFRONT_MOTION_FEW;
    result.metric.state = VFRONT_MOTION_GOOD;
    result.metric.flags = VFRONT_MOTION_STILL;
    result.metric.rms_px = 0.1f;
    result.metric.frame = result.frame;
    result.good = result.metric;
    result.health.motion_breaks = 7; /* the port counts none */
    for (uint32_t i = 0; i < result.tracks_count; i++) t[i].agrees = VFRONT_AGREES_METRIC | VFRONT_AGREES_RELATIVE;
    result.health.dt_ns = dt_ns;
    vf_partner_check(&check, &result);
    result.health.state = VFRONT_TRACKING;
    return result.health.stereo;
}

static void go(const struct scene *s, int frames)
{
    for (int i = 0; i < frames; i++) step(s, 50000000u);
}

/** Without a fault: 200 scenes of 300 frames, drawn rich or bare, calm or changing: at most one frame in 10,000 is not
 *  GOOD. */
static void false_alarms(void **state)
{
    shake(1);
    uint32_t wrong = 0, frames = 0;
    for (int n = 0; n < 200; n++) {
        const struct scene s = {0.8 + 0.2 * draw(), 0.6 + 0.39 * draw(), 0.2 + 0.5 * draw(), 20.0f,
                                (uint32_t)(40.0 + 160.0 * draw())};
        set_up(state);
        for (int i = 0; i < 300; i++, frames++) wrong += step(&s, 50000000u) != VFRONT_STEREO_GOOD;
    }
    print_message("%u of %u frames without a fault are not GOOD\n", wrong, frames);
    assert_true(wrong * 10000 <= frames);
}

/** Partners are lost from one frame to the next, down to a share: SUSPECT at once; the motion is GOOD in the second
 *  frame after. */
static void partners_lost(void **state)
{
    static const double keeps[] = {0.0, 0.02, 0.2, 0.35};
    shake(2);
    for (int n = 0; n < 400; n++) {
        struct scene fault = ordinary;
        fault.keeps = keeps[n % 4];
        fault.gets = 0.02;
        set_up(state);
        go(&ordinary, 10 + n % 30);
        assert_int_equal(result.metric.state, VFRONT_MOTION_GOOD);
        assert_int_equal(step(&fault, 50000000u), VFRONT_STEREO_SUSPECT);
        assert_int_equal(result.metric.state, VFRONT_MOTION_UNSURE);
        assert_int_equal(result.metric.flags, VFRONT_MOTION_STEREO);
        assert_true(result.metric.R[0] == 1.0f && result.metric.R[1] == 0.0f && result.metric.rms_px == 0.0f);
        assert_true(result.good.frame == result.frame - 1 && result.good.state == VFRONT_MOTION_GOOD);
        assert_int_equal(result.tracks[0].agrees, VFRONT_AGREES_RELATIVE);
        assert_int_equal(result.health.motion_breaks, 8);
        for (int i = 0; i < 20; i++) assert_int_equal(step(&fault, 50000000u), VFRONT_STEREO_SUSPECT);
        struct scene again = ordinary;
        again.gets = 0.7;
        assert_int_equal(step(&again, 50000000u), VFRONT_STEREO_GOOD);
        assert_int_equal(result.metric.state, VFRONT_MOTION_UNSURE); /* its other frame was SUSPECT */
        step(&ordinary, 50000000u);
        assert_int_equal(result.metric.state, VFRONT_MOTION_GOOD);
        assert_true(result.good.frame == result.frame && result.health.motion_breaks == 8);
    }
}

/** Camera 1 is covered for good, however that begins: it is never GOOD again. */
static void covered(void **state)
{
    enum { AT_ONCE, BLURRED, AFTER_A_GAP, WITH_A_GAP, IN_A_TURN, FEW_TRACKS, SLOWLY, BEGINNINGS };
    const int last = VFRONT_CAMERAS - 1;
    shake(8);
    for (int n = 0; n < 10 * BEGINNINGS; n++) {
        const int how = n % BEGINNINGS;
        struct scene s = ordinary, dark = ordinary;
        set_up(state);
        if (how == FEW_TRACKS) s.tracks = dark.tracks = 16 + (uint32_t)(roll64() % 24);
        s.gets = how == FEW_TRACKS ? 0.8 : s.gets;
        go(&s, 40);
        dark.keeps = dark.gets = 0.0;
        if (how == BLURRED) result.health.sharpness_grey[0] = 10.0f;
        if (how == AFTER_A_GAP) {
            result.health.missing = 2;
            go(&s, 20);
            result.health.missing = 0;
        }
        if (how == IN_A_TURN) s.lives = 0.0, s.keeps = s.gets = 0.0, step(&s, 50000000u);
        for (int i = 0; how == SLOWLY && i < 100; i++) s.keeps *= 0.97, s.gets *= 0.97, step(&s, 50000000u);
        for (int i = 0; i < 300; i++) {
            result.health.missing = how == WITH_A_GAP && i == 50 ? 2 : 0;
            const uint32_t now = step(&dark, 50000000u);
            REQUIRE(now != VFRONT_STEREO_GOOD, "beginning %d: GOOD after %d frames\n", how, i);
            REQUIRE(how == BLURRED || how == WITH_A_GAP || now == VFRONT_STEREO_SUSPECT, "beginning %d: %u\n", how,
                    now);
        }
        result.health.sharpness_grey[last] = 0.0f;
    }
}

/** A pair without a fault, after gaps, and at two intervals in turn. */
static void gaps(void **state)
{
    uint32_t wrong = 0, frames = 0;
    shake(9);
    for (int n = 0; n < 100; n++) {
        struct scene calm = {0.99, 0.97, 0.6, 20.0f, 200};
        set_up(state);
        go(&calm, 30);
        result.health.missing = n % 2 ? 2 : 0;
        if (n % 2) go(&calm, 100);
        result.health.missing = 0;
        wrong += step(&calm, 10000000000u) != VFRONT_STEREO_GOOD;
        for (int i = 0; i < 300; i++, frames++)
            wrong += step(&calm, i % 2 ? 95000000u : 5000000u) != VFRONT_STEREO_GOOD;
    }
    print_message("%u of %u frames after gaps are not GOOD\n", wrong, frames);
    assert_true(wrong * 10000 <= frames);
}

/** A pair that never fits, and cameras that are exchanged, whose partners are beyond infinity: SUSPECT from the first
 *  frame on. */
static void from_the_start(void **state)
{
    shake(3);
    struct scene s = ordinary;
    s.keeps = s.gets = 0.01;
    for (int i = 0; i < 300; i++) assert_int_equal(step(&s, 50000000u), VFRONT_STEREO_SUSPECT);
    set_up(state);
    s = ordinary;
    s.disparity_px = -3.0f;
    for (int i = 0; i < 300; i++) assert_int_equal(step(&s, 50000000u), VFRONT_STEREO_SUSPECT);
}

/** A scene that has fewer partners from some frame on is a scene, after a while. */
static void scene_changes(void **state)
{
    shake(4);
    struct scene bare = ordinary;
    (void)state;
    go(&ordinary, 30);
    bare.keeps = 0.3;
    bare.gets = 0.1;
    assert_int_equal(step(&bare, 50000000u), VFRONT_STEREO_SUSPECT);
    go(&bare, 100);
    assert_int_equal(result.health.stereo, VFRONT_STEREO_GOOD);
}

/** Ten frames are lost: as many partners are missing as ten frames take. */
static void frames_lost(void **state)
{
    shake(5);
    struct scene jump = ordinary;
    jump.keeps = 0.35; /* 0.9^10 */
    for (int n = 0; n < 100; n++) {
        set_up(state);
        go(&ordinary, 30);
        assert_int_equal(step(&jump, 500000000u), VFRONT_STEREO_GOOD);
    }
}

/** A picture that is missing, frozen or blurred, and hardly any track: BLIND; the pictures tell, not the partners. */
static void blind(void **state)
{
    shake(6);
    struct scene s = ordinary;
    const int last = VFRONT_CAMERAS - 1;
    (void)state;
    go(&ordinary, 20);
    result.health.missing = 2;
    assert_int_equal(step(&s, 50000000u), VFRONT_STEREO_BLIND);
    assert_int_equal(result.metric.state, VFRONT_MOTION_UNSURE);
    result.health.missing = 0;
    result.health.frozen[last] = 3;
    assert_int_equal(step(&s, 50000000u), VFRONT_STEREO_BLIND);
    result.health.frozen[last] = 0;
    assert_int_equal(step(&s, 50000000u), VFRONT_STEREO_GOOD);
    result.health.sharpness_grey[0] = 10.0f;
    result.health.sharpness_grey[last] = 4.0f;
    assert_int_equal(step(&s, 50000000u), VFRONT_STEREO_GOOD); /* blurred, and its partners are there */
    s.keeps = s.gets = 0.0;
    assert_int_equal(step(&s, 50000000u), VFRONT_STEREO_BLIND);
    result.health.sharpness_grey[last] = 10.0f;
    assert_int_equal(step(&s, 50000000u), VFRONT_STEREO_SUSPECT);
    s = ordinary;
    s.tracks = 15;
    assert_int_equal(step(&s, 50000000u), VFRONT_STEREO_BLIND);
    assert_int_equal(result.metric.state, VFRONT_MOTION_GOOD); /* few tracks alone refuse no motion */
    s.tracks = 0;
    assert_int_equal(step(&s, 50000000u), VFRONT_STEREO_BLIND);
    assert_int_equal(result.health.stereo_permille, 0);
}

/** Numbers of tracks by comparing each with each. */
static void counts(void **state)
{
    shake(7);
    (void)state;
    for (int n = 0; n < 300; n++) {
        struct scene s = {draw(), draw(), draw(), -1.0f + 2.0f * (float)draw(), (uint32_t)(VFRONT_TRACKS * draw())};
        const struct vf_partner_check before = check;
        step(&s, 50000000u);
        const struct vf_partner_counts got = vf_partner_count(&before, result.tracks, result.tracks_count);
        struct vf_partner_counts n_of = {0, 0, 0, 0, 0};
        for (uint32_t i = 0; i < result.tracks_count; i++) {
            const vfront_track_t *t = &result.tracks[i];
            const int has = t->disparity_sigma_px > 0.0f;
            n_of.all++;
            n_of.partners += (uint32_t)has;
            n_of.behind += (uint32_t)(has && t->disparity_px < -0.5f);
            for (uint32_t k = 0; k < before.count; k++) {
                n_of.known += before.id[k] == t->id;
                n_of.again += (uint32_t)(before.id[k] == t->id && has);
            }
        }
        assert_memory_equal(&got, &n_of, sizeof got);
        assert_true(result.health.stereo_permille * n_of.all <= 1000 * n_of.partners);
    }
}

/** Tails without what was seen before are those of equally likely numbers; all of them together are 1, and rise. */
static void tails(void **state)
{
    (void)state;
    for (uint32_t n = 1; n <= VF_PARTNER_GROUPS; n++)
        for (uint32_t k = 0; k <= n; k++)
            assert_true(fabs(vf_partner_tail(k, n, 0.3, 0.0) - (k + 1.0) / (n + 1.0)) < 1e-12);
    for (int again = 0; again <= 10; again++) {
        double before = 0.0;
        for (uint32_t k = 0; k <= VF_PARTNER_GROUPS; k++) {
            const double tail = vf_partner_tail(k, VF_PARTNER_GROUPS, 0.1 * again, 8.0 * VF_PARTNER_GROUPS);
            assert_true(tail >= before);
            before = tail;
        }
        assert_true(fabs(before - 1.0) < 1e-12);
    }
    /* one of two groups, after three of three: (3 + 1)(0 + 1) 2 / ((5)(6)) for one, 1 * 2 / (5 * 6) for none */
    assert_true(fabs(vf_partner_tail(1, 2, 1.0, 3.0) - 10.0 / 30.0) < 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(false_alarms, set_up),   cmocka_unit_test_setup(partners_lost, set_up),
        cmocka_unit_test_setup(from_the_start, set_up), cmocka_unit_test_setup(scene_changes, set_up),
        cmocka_unit_test_setup(frames_lost, set_up),    cmocka_unit_test_setup(blind, set_up),
        cmocka_unit_test_setup(covered, set_up),        cmocka_unit_test_setup(gaps, set_up),
        cmocka_unit_test_setup(counts, set_up),         cmocka_unit_test(tails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
