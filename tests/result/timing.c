/* SPDX-License-Identifier: MIT */
/* Times of a result from clock values of any size, also beyond 32 bits of nanoseconds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "core/frame.h"

static uint64_t clock_ns;
static uint64_t now_ns(void) { return clock_ns; }

static struct vf_port port;
static struct vf_pinned pinned;
static struct vf_context front;
static vfront_result_t result;

/** Times of a frame whose first stage takes `first_ns` and whose last one ends `all_ns` after the start at
 *  `start_ns`. */
static const vfront_timing_t *times_of(uint64_t start_ns, uint64_t first_ns, uint64_t all_ns)
{
    memset(&front, 0, sizeof front);
    memset(&pinned, 0, sizeof pinned);
    memset(&result, 0, sizeof result);
    vfront_tuning_default(&front.step[0].tuning);
    port.now_ns = now_ns;
    front.port = &port;
    front.pinned = &pinned;
    front.submitted_ns = start_ns;
    clock_ns = start_ns + all_ns;
    pinned.clock[VFRONT_STAGE_ingest][0] = start_ns;
    pinned.clock[VFRONT_STAGE_ingest][1] = start_ns + first_ns;
    pinned.clock[VFRONT_STAGE_report][0] = start_ns + first_ns;
    pinned.clock[VFRONT_STAGE_report][1] = start_ns + all_ns;
    vf_frame_result(&front, &result);
    return &result.timing;
}

/** 1 if a time is that many ns, to the resolution of a float. */
static int is_time(float us, uint64_t ns)
{
    const double want = (double)ns * 1e-3, error = (double)us - want;
    return error <= want * 2e-7 && -error <= want * 2e-7;
}

static void times_of_any_length(void **state)
{
    static const uint64_t start_ns[] = {1, 1ull << 32, UINT64_MAX - (1ull << 52)};
    static const uint64_t first_ns[] = {0, 1, 1500, 999999, UINT32_MAX, 1ull << 32, 4300000000u, 3600000000000u};
    (void)state;
    for (size_t s = 0; s < sizeof start_ns / sizeof *start_ns; s++)
        for (size_t i = 0; i < sizeof first_ns / sizeof *first_ns; i++)
            for (uint64_t more_ns = 1; more_ns < 1ull << 40; more_ns *= 1000) {
                const vfront_timing_t *t = times_of(start_ns[s], first_ns[i], first_ns[i] + more_ns);
                assert_true(is_time(t->stage_us[VFRONT_STAGE_ingest], first_ns[i]));
                assert_true(is_time(t->stage_us[VFRONT_STAGE_report], more_ns));
                assert_true(is_time(t->device_us, first_ns[i] + more_ns));
                assert_true(is_time(t->step_us, first_ns[i] + more_ns));
                assert_int_equal(t->overrun, first_ns[i] + more_ns > 20000000);
                assert_true(t->stage_us[VFRONT_STAGE_track] == 0.0f); /* inactive */
            }
}

/** A clock that runs backwards within a stage gives no time. */
static void clock_goes_back(void **state)
{
    (void)state;
    times_of(1000, 500, 2000);
    pinned.clock[VFRONT_STAGE_ingest][1] = 900;
    pinned.clock[VFRONT_STAGE_report][1] = 950;
    vf_frame_result(&front, &result);
    assert_true(result.timing.stage_us[VFRONT_STAGE_ingest] == 0.0f && result.timing.device_us == 0.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(times_of_any_length), cmocka_unit_test(clock_goes_back)};
    return cmocka_run_group_tests_name("timing", tests, NULL, NULL);
}
