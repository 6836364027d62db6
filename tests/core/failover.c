/* SPDX-License-Identifier: MIT */
/* Fail-over in flight. Each CUDA call of a step fails or hangs, or a step is lost, never ends, dies halfway or ends
 * late, in each frame of a sequence. All results are bit for bit those of a run without faults on the host port, also
 * after vfront_return(). airborne.c tests flights with the estimator, return.c failing returns.
 * failover [--quick]    --quick: one switch and return, because kernels are emulated */
#define _POSIX_C_SOURCE 200809L
#include "takeover.h"

/* ---- faults of every kind, in every frame ------------------------------------------------------------------------ */

static void each(enum kind kind, enum call call, const char *why, int every)
{
    for (uint64_t at = 0; at < 8; at += (uint64_t)every) {
        /* images in the caller's memory, copied without a call, or no images */
        if (call == LOOK_UP && (at % 4 == 3 || at == UNSEEN)) continue;
        fly(kind, call, at, 0, why);
        fly(kind, call, at, 1 + at % 2, why);
    }
}

static void calls_fail(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        plain = i;
        each(FAILS, LAUNCH, call_name[LAUNCH], 1);
        each(FAILS, QUERY, call_name[QUERY], 1);
        each(FAILS, LOOK_UP, call_name[LOOK_UP], 1);
    }
    plain = 0;
}

static void calls_hang(void **state)
{
    (void)state;
    each(HANGS, LAUNCH, call_name[LAUNCH], 3);
    each(HANGS, QUERY, call_name[QUERY], 3);
    each(HANGS, LOOK_UP, call_name[LOOK_UP], 2);
}

static void steps_end_badly(void **state)
{
    (void)state;
    each(LOST, LAUNCH, "without its ticket", 1);
    each(ENDLESS, LAUNCH, "does not end", 3);
    each(HELD, LAUNCH, "does not end", 3);
    each(HALF, LAUNCH, "without its ticket", 1);
}

static void there_and_back(void **state)
{
    (void)state;
    fly(FAILS, LAUNCH, 0, 1, call_name[LAUNCH]); /* the GPU has no frame of its own when it becomes active again */
    go_there_and_back(quick ? FRAMES : 3 * FRAMES);
}

/** A step abandoned by another call than vfront_wait(): the frame is not lost. */
static void given_up_elsewhere(void **state)
{
    (void)state;
    brief = 1;
    start(VFRONT_PORT_CUDA);
    brief = 0;
    for (uint64_t i = 0; i < 2; i++) step(i, 0);
    make(ENDLESS, LAUNCH);
    const vfront_frame_t f = frame_for(&pair_vf, 2, 1);
    assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
    while (!context_of(&pair_vf)->failover.switched) {
        pair_refused(vfront_submit(&pair_vf, &f), VFRONT_E_BUSY, "under way");
        pair_refused(vfront_return(&pair_vf), VFRONT_E_BUSY, "under way");
        pair_refused(vfront_reset(&pair_vf), VFRONT_E_BUSY, "under way");
    }
    took_over("does not end");
    assert_int_equal(vfront_wait(&pair_vf, 0, &result), VFRONT_OK);
    same(2, 1);
    step(3, 1);
    over();
    assert_int_equal(go_back(), VFRONT_OK);
    step(4, 0);
    end();
}

/** Steps with late results, a given number in succession; a timely one restarts the count. */
static void be_late(void)
{
    const vfront_rig_t rig = rig_of();
    vfront_tuning_t t = tuning();
    t.failover_overruns = 3;
    t.deadline_us = 1;
    assert_int_equal(vfront_init(&pair_vf, &rig, &t, VFRONT_PORT_CUDA), VFRONT_OK);
    t.deadline_us = LATE_US;
    assert_int_equal(vfront_init(&pair_twin, &rig, &t, VFRONT_PORT_HOST), VFRONT_OK);
    for (uint64_t i = 0; i < FRAMES; i++) {
        const vfront_frame_t f = frame_for(&pair_vf, i, 1), g = frame_for(&pair_twin, i, 0);
        const vfront_result_t *b;
        context_of(&pair_vf)->step[0].tuning.deadline_us = i == 1 ? LATE_US : 1;
        assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
        assert_int_equal(vfront_step(&pair_twin, &g, &b), VFRONT_OK);
        assert_true(vfront_digest(result) == vfront_digest(b));
        assert_int_equal(result->nav.state, airborne ? state_at(i) : VFRONT_NAV_NONE);
        const int host = (i > 4 && i < 7) || i > 9;
        assert_int_equal(result->timing.port, host ? VFRONT_PORT_HOST : VFRONT_PORT_CUDA);
        assert_int_equal(result->timing.overruns, i + (i < 1)); /* those of the host port count too: none is dropped */
        if (i == 4) took_over("in a row that came after deadline_us: 3");
        if (i == 6) assert_int_equal(go_back(), VFRONT_OK);
    }
    end();
}

static void late_in_a_row(void **state)
{
    (void)state;
    be_late();
    airborne = 1; /* the host port takes over after frame 4, in which the estimator starts */
    be_late();
    airborne = 0;
}

/* ---- disabled stages
 * ---------------------------------------------------------------------------------------------- */

static void without_disparities(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    vfront_tuning_t t = tuning();
    t.failover = VFRONT_FAILOVER_LIGHT;
    assert_int_equal(vfront_init(&pair_vf, &rig, &t, VFRONT_PORT_CUDA), VFRONT_OK);
    assert_int_equal(vfront_init(&pair_twin, &rig, &t, VFRONT_PORT_HOST), VFRONT_OK);
    for (uint64_t i = 0; i < 6; i++) {
        if (i == 3) make(LOST, LAUNCH);
        const vfront_frame_t f = frame_for(&pair_vf, i, 1), g = frame_for(&pair_twin, i, 0);
        const vfront_result_t *b;
        assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
        assert_int_equal(vfront_step(&pair_twin, &g, &b), VFRONT_OK);
        assert_true(vfront_digest_parts(result, VFRONT_PART_REST) == vfront_digest_parts(b, VFRONT_PART_REST));
        assert_true((vfront_digest(result) == vfront_digest(b)) == (i < 3));
        assert_true(b->disparity.valid > 1000 && b->columns_count > 0);
        if (i < 3) continue;
        assert_true(result->disparity.valid == 0 && !result->disparity.px16 && result->columns_count == 0);
        assert_true(result->road.state == VFRONT_ROAD_NONE);
        for (int k = 0; k < VFRONT_OBSTACLE_BINS; k++)
            assert_int_equal(result->obstacles_cm[k], VFRONT_OBSTACLE_UNKNOWN);
    }
    over();
    assert_int_equal(go_back(), VFRONT_OK);
    end();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(calls_fail),          cmocka_unit_test(calls_hang),         cmocka_unit_test(steps_end_badly),
        cmocka_unit_test(there_and_back),      cmocka_unit_test(given_up_elsewhere), cmocka_unit_test(late_in_a_row),
        cmocka_unit_test(without_disparities),
    };
    const struct CMUnitTest few[] = {cmocka_unit_test(there_and_back)};
    if (!ready(argc, argv)) return without_device();
    return quick ? cmocka_run_group_tests(few, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
}
