/* SPDX-License-Identifier: MIT */
#include "pair.h"

#include <stdio.h>

vfront_port_t pair_port = VFRONT_PORT_HOST;
vfront_t pair_vf, pair_twin;
const struct scene pair_scene = {160, 120, 1, 21, -13};
uint8_t pair_grey[PICTURES][VFRONT_WIDTH * VFRONT_HEIGHT];

static uint64_t next; /* frame of both */

void pair_draw(void)
{
    for (int i = 0; i < PICTURES; i++) scene_draw(&pair_scene, i, pair_grey[i], (uint32_t)pair_scene.width_px);
}

vfront_frame_t pair_frame(uint64_t number)
{
    vfront_frame_t f;
    memset(&f, 0, sizeof f);
    f.t_ns = 1000000000u + number * FRAME_NS;
    f.exposure_ns = 4000000;
    /* there and back again, so that any number of frames is one motion */
    const uint64_t phase = number % (2 * PICTURES - 2), at = phase < PICTURES ? phase : 2 * PICTURES - 2 - phase;
    for (int i = 0; i < VFRONT_CAMERAS; i++) f.picture[i] = scene_picture(&pair_scene, pair_grey[at]);
    return f;
}

void pair_start_with(const vfront_rig_t *rig, const vfront_tuning_t *tuning)
{
    next = 0;
    assert_int_equal(vfront_init(&pair_vf, rig, tuning, pair_port), VFRONT_OK);
    assert_int_equal(vfront_init(&pair_twin, rig, tuning, pair_port), VFRONT_OK);
}

void pair_at(uint64_t frame) { next = frame; }

int pair_start(void **state)
{
    (void)state;
    const vfront_rig_t rig = scene_rig(&pair_scene, VFRONT_CAMERAS);
    pair_start_with(&rig, NULL);
    return 0;
}

int pair_end(void **state)
{
    (void)state;
    vfront_shutdown(&pair_vf);
    vfront_shutdown(&pair_twin);
    return 0;
}

const vfront_result_t *pair_step(void)
{
    const vfront_frame_t frame = pair_frame(next++);
    const vfront_result_t *a, *b;
    assert_int_equal(vfront_step(&pair_twin, &frame, &b), VFRONT_OK);
    assert_int_equal(vfront_step(&pair_vf, &frame, &a), VFRONT_OK);
    assert_true(vfront_digest(a) == vfront_digest(b));
    assert_true(a->health.reset_counter == b->health.reset_counter);
    assert_true(a->tracks_count > 0 && (a->frame == 0 || a->health.followed > 0));
    return a;
}

void pair_refused(vfront_status_t got, vfront_status_t want, const char *detail)
{
    if (got != want) fail_msg("%s instead of %s", vfront_status_name(got), vfront_status_name(want));
    if (!strstr(vfront_detail(&pair_vf), detail)) fail_msg("detail \"%s\" lacks \"%s\"", vfront_detail(&pair_vf), detail);
}

#ifdef VFRONT_CUDA
static void no_device(void **state)
{
    (void)state;
    print_message("skipped on the CUDA port: %s\n", vfront_detail(&pair_vf));
    skip();
}
#endif

int pair_run(const char *name, const struct CMUnitTest tests[], size_t count)
{
    int failed = 0;
    pair_draw();
#if VFRONT_HOST
    print_message("%s on the host port\n", name);
    failed += _cmocka_run_group_tests(name, tests, count, NULL, NULL);
#endif
#ifdef VFRONT_CUDA
    const vfront_rig_t rig = scene_rig(&pair_scene, 1);
    const vfront_status_t status = vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_CUDA);
    vfront_shutdown(&pair_vf);
    if (status == VFRONT_E_NO_DEVICE || status == VFRONT_E_DRIVER) {
        const struct CMUnitTest none[] = {cmocka_unit_test(no_device)};
        return failed + cmocka_run_group_tests_name(name, none, NULL, NULL);
    }
    pair_port = VFRONT_PORT_CUDA; /* any other failure shows in the tests */
    print_message("%s on the CUDA port\n", name);
    failed += _cmocka_run_group_tests(name, tests, count, NULL, NULL);
#endif
    (void)count;
    return failed;
}
