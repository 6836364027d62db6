/* SPDX-License-Identifier: MIT */
/* Late and lost steps. vfront_wait(), repeatedly, and vfront_shutdown() wait for a late step, which gives the same
 * result in the end. A lost step, which writes no ticket, is a fault of its own front end only. */
#include "failing_call.h"

#include <time.h>

/** Shutdown waits for a frame under way. */
static void shutdown_under_way(void **state)
{
    (void)state;
    vfront_frame_t f = pair_frame(0);
    pair_step();
    f.t_ns += 2 * FRAME_NS;
    fault.late = -1;
    assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
    assert_non_null(held.exec);
    vfront_shutdown(&pair_vf);
    assert_null(held.exec);
}

static void no_ticket(void **state)
{
    (void)state;
    const vfront_frame_t f = pair_frame(pair_step()->frame + 1);
    fault.lost = 1;
    assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
    pair_refused(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_E_DEVICE, "ticket");
    assert_null(result);
    no_fault();
    failed_for_good();
}

static double now_us(void)
{
    struct timespec t;
    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/** A late frame is waited for repeatedly, and gives the same result in the end. */
static void late(void **state)
{
    (void)state;
    const vfront_result_t *before = NULL;
    uint64_t digest = 0;
    for (uint64_t i = 0; i < 6; i++) {
        const vfront_frame_t f = pair_frame(i), later = pair_frame(i + 1);
        const vfront_result_t *other;
        assert_int_equal(vfront_step(&pair_twin, &f, &other), VFRONT_OK);
        fault.late = 3;
        assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
        for (int k = 0; k < 3; k++) {
            result = other;
            assert_int_equal(vfront_wait(&pair_vf, 0, &result), VFRONT_E_TIMEOUT);
            assert_null(result);
            pair_refused(vfront_submit(&pair_vf, &later), VFRONT_E_BUSY, "under way");
            pair_refused(vfront_reset(&pair_vf), VFRONT_E_BUSY, "under way");
        }
        vfront_status_t status;
        do status = vfront_wait(&pair_vf, i % 2 ? 0 : UINT32_MAX, &result);
        while (i % 2 && status == VFRONT_E_TIMEOUT); /* a real device is slow */
        assert_int_equal(status, VFRONT_OK);
        assert_true(vfront_digest(result) == vfront_digest(other));
        assert_true(vfront_digest(before) == digest); /* the previous result still exists */
        before = result;
        digest = vfront_digest(result);
    }
    const vfront_frame_t last = pair_frame(6);
    fault.late = -1;
    assert_int_equal(vfront_submit(&pair_vf, &last), VFRONT_OK);
    const double start_us = now_us();
    assert_int_equal(vfront_wait(&pair_vf, 20000, &result), VFRONT_E_TIMEOUT);
    const double took = now_us() - start_us;
    assert_true(vfront_digest(before) == digest);
    assert_true(took > 19000 && took < 2e6);
    fault.late = 0;
    assert_int_equal(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_OK);
}

/** While a frame is late the caller's buffers are free, except pinned ones. */
static void late_copies(void **state)
{
    (void)state;
    static uint8_t grey[160 * 120], mask[160 * 120];
    for (uint64_t i = 0; i < 6; i++) {
        vfront_frame_t f = pair_frame(i);
        const vfront_result_t *other;
        memcpy(grey, f.picture[0].data, sizeof grey);
        for (size_t k = 0; k < sizeof mask; k++) mask[k] = k % 160 > 50;
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            f.picture[c].data = grey;
            f.picture[c].mask = mask;
            f.picture[c].mask_width_px = 160;
            f.picture[c].mask_height_px = 120;
            f.picture[c].mask_pitch_bytes = 160;
        }
        assert_int_equal(vfront_step(&pair_twin, &f, &other), VFRONT_OK);
        fault.late = 1;
        assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
        memset(grey, 255, sizeof grey);
        memset(mask, 0, sizeof mask);
        memset(&f, 255, sizeof f);
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            void *next; /* the input buffer that the frame under way does not read */
            assert_int_equal(vfront_input(&pair_vf, c, &next), VFRONT_OK);
            memset(next, 255, VFRONT_INPUT_BYTES);
        }
        assert_int_equal(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_OK);
        assert_true(vfront_digest(result) == vfront_digest(other));
    }
}

/** A fault of one front end does not affect another. */
static void neighbour(void **state)
{
    (void)state;
    static vfront_t other;
    const vfront_rig_t rig = scene_rig(&pair_scene, VFRONT_CAMERAS);
    assert_int_equal(vfront_init(&other, &rig, NULL, VFRONT_PORT_CUDA), VFRONT_OK);
    const vfront_frame_t f = pair_frame(0);
    fault.lost = 1;
    assert_int_equal(vfront_step(&other, &f, &result), VFRONT_E_DEVICE);
    no_fault();
    pair_step();
    vfront_shutdown(&other);
    pair_step();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        PAIR(shutdown_under_way), PAIR(no_ticket), PAIR(late), PAIR(late_copies),
        PAIR(neighbour),          NAPS(no_ticket), NAPS(late),
    };
    return run(tests, sizeof tests / sizeof *tests);
}
