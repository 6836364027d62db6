/* SPDX-License-Identifier: MIT */
/* Fail-over on a flight with the estimator running, with IMU or vision only. A step fails, dies halfway or never ends
 * before the estimator starts, at its start, while it runs, and after it ends. The same with a loaded map, and with
 * loading calls that fail and hang. Results and maps are bit for bit those of a run without faults on the host port.
 * airborne [--quick]    --quick: one switch and return, and one map, because kernels are emulated */
#define _POSIX_C_SOURCE 200809L
#include "takeover.h"

/* ---- estimator
 * ---------------------------------------------------------------------------------------------------- */

/** Estimator with IMU. Faults in each kind of step: before its start, at its start (4, 19), while it runs. Also with
 *  missing IMU samples, vision only (11, 12), without images (5, 14), after vfront_reset() (15). */
static void with_state(void **state)
{
    (void)state;
    static const uint64_t in[] = {0, 3, 4, 5, 7, 9, 11, 12, 14, 15, 19, 20};
    airborne = 1;
    for (size_t k = 0; k < sizeof in / sizeof *in; k++)
        for (uint64_t back = 0; back < 3; back += 1 + in[k] % 2) {
            fly(FAILS, LAUNCH, in[k], back, call_name[LAUNCH]);
            fly(HALF, LAUNCH, in[k], back, "without its ticket");
        }
    for (uint64_t at = RENDERED_BEGINS - 1; at < RENDERED_BEGINS + 2; at++) fly(HELD, LAUNCH, at, 1, "does not end");
    airborne = 0;
}

/** Estimator with vision only. Faults before its start, at its start (2, 17), while it runs, without images (5), after
 *  vfront_reset(). */
static void with_state_vision_only(void **state)
{
    (void)state;
    static const uint64_t in[] = {1, 2, 3, 5, 16, 17};
    airborne = vision_only = 1;
    for (size_t k = 0; k < sizeof in / sizeof *in; k++) fly(HALF, LAUNCH, in[k], 1 + k % 2, "without its ticket");
    airborne = vision_only = 0;
}

static void there_and_back_with_state(void **state)
{
    (void)state;
    airborne = 1;
    go_there_and_back(quick ? RENDERED_BEGINS + 5 : FLIGHT_FRAMES);
    vision_only = 1;
    go_there_and_back(quick ? 5 : FLIGHT_FRAMES);
    airborne = vision_only = 0;
}

/* ---- a map ------------------------------------------------------------------------------------------------------- */

#if VFRONT_MAP
static uint8_t image[VFRONT_MAP_BYTES];
static size_t length;

/** Makes a map of the flight. */
static void make_map(void)
{
    const vfront_rig_t rig = rig_of();
    const vfront_tuning_t t = tuning();
    const vfront_result_t *r = NULL;
    assert_int_equal(vfront_init(&pair_twin, &rig, &t, VFRONT_PORT_HOST), VFRONT_OK);
    for (uint64_t i = 0; i < FLIGHT_FRAMES; i++) {
        const vfront_frame_t f = flight_for(&pair_twin, i, 0);
        assert_int_equal(vfront_step(&pair_twin, &f, &r), VFRONT_OK);
    }
    assert_int_equal(vfront_map_save(&pair_twin, image, sizeof image, &length), VFRONT_OK);
    assert_true(r->keyframes_count > 0);
    vfront_shutdown(&pair_twin);
}

/** Requires both front ends to have the same map. */
static void same_map(void)
{
    static uint8_t map[2][VFRONT_MAP_BYTES];
    size_t bytes[2];
    assert_int_equal(vfront_map_save(&pair_vf, map[0], sizeof map[0], &bytes[0]), VFRONT_OK);
    assert_int_equal(vfront_map_save(&pair_twin, map[1], sizeof map[1], &bytes[1]), VFRONT_OK);
    assert_int_equal(bytes[0], bytes[1]);
    assert_memory_equal(map[0], map[1], bytes[0]);
}

/** Flies with a map loaded before frame `load`, a fault in frame `at`, and the return two frames later. */
static void fly_with_map(uint64_t load, uint64_t at)
{
    int on_host = 0;
    start(VFRONT_PORT_CUDA);
    for (uint64_t i = 0; i < (quick ? 6 : 11); i++) {
        if (i == load) {
            assert_int_equal(vfront_map_load(&pair_vf, image, length), VFRONT_OK);
            assert_int_equal(vfront_map_load(&pair_twin, image, length), VFRONT_OK);
        }
        if (i == at) make(HALF, LAUNCH);
        on_host |= i == at;
        step(i, on_host);
        same_map();
        if (i != at + 2) continue;
        over();
        assert_int_equal(go_back(), VFRONT_OK);
        on_host = 0;
    }
    assert_true(result->keyframes_count > 1);
    end();
}

/** A map loaded on the GPU is also in the ring of the host port; one loaded on the host port is copied back. If the GPU
 *  fails during the call, the host port loads the map. */
static void with_map(void **state)
{
    (void)state;
    static const enum call call[] = {COPY, SYNCHRONIZE};
    airborne = 1;
    make_map();
    if (quick) fly_with_map(2, 2);
    for (uint64_t load = 0; load < 6 && !quick; load++)
        for (uint64_t at = load ? load - 1 : 0; at < load + 3; at++) fly_with_map(load, at);
    for (int variant = 0; variant < 8 && !quick; variant++) {
        brief = variant & 1;
        start(VFRONT_PORT_CUDA);
        brief = 0;
        const uint64_t before = variant & 2 ? 5 : 0;
        const int fails_to_save = before && variant & 4;
        for (uint64_t i = 0; i < before; i++) step(i, 0);
        if (variant & 1)
            fault.hangs = call[variant >> 2];
        else
            fault.fails = call[variant >> 2];
        if (fails_to_save) same_map();
        assert_int_equal(vfront_map_load(&pair_vf, image, length), VFRONT_OK);
        assert_int_equal(vfront_map_load(&pair_twin, image, length), VFRONT_OK);
        took_over(call_name[call[variant >> 2]]);
        over();
        for (uint64_t i = before; i < before + 3; i++) step(i, 1);
        same_map();
        for (vfront_status_t status = VFRONT_E_ABANDONED; status;)
            assert_true((status = go_back()) == VFRONT_OK || status == VFRONT_E_ABANDONED);
        for (uint64_t i = before + 3; i < before + 6; i++) step(i, 0);
        same_map();
        end();
    }
    airborne = 0;
}

#else
static void with_map(void **state) { (void)state; }
#endif

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(with_state),
        cmocka_unit_test(with_state_vision_only),
        cmocka_unit_test(there_and_back_with_state),
        cmocka_unit_test(with_map),
    };
    const struct CMUnitTest few[] = {cmocka_unit_test(there_and_back_with_state), cmocka_unit_test(with_map)};
    if (!ready(argc, argv)) return without_device();
    return quick ? cmocka_run_group_tests(few, NULL, NULL) : cmocka_run_group_tests(tests, NULL, NULL);
}
