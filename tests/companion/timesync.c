/* SPDX-License-Identifier: MIT
 *
 * The autopilot's clock (examples/companion/timesync.h) against simulated links, whose true offset is known: how far
 * off it is, and whether its deviation covers that.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "examples/companion/timesync.h"
#include "tests/fixture/random.h"

#define REQUEST_NS 100000000u

/** A link and a clock. */
struct simulation {
    double offset_s, skew;  /* of the autopilot's clock at time 0 */
    double there_s, back_s; /* shortest ways */
    double jitter_s;        /* longest delay beyond, each way */
    int is_exponential;     /* 1: mean delay is jitter_s, without a bound */
};

static double even(void) { return (double)(roll64() >> 11) * 0x1p-53; }

static double delay(const struct simulation *s)
{
    return s->is_exponential ? -s->jitter_s * log(1.0 - even()) : s->jitter_s * even();
}

static int64_t remote_ns(const struct simulation *s, uint64_t local_ns)
{
    return (int64_t)local_ns + (int64_t)(s->offset_s * 1e9 + s->skew * (double)local_ns);
}

static timesync_result_t trip(timesync_t *sync, const struct simulation *s, uint64_t sent_ns)
{
    const uint64_t there_ns = sent_ns + (uint64_t)((s->there_s + delay(s)) * 1e9);
    const uint64_t back_ns = there_ns + (uint64_t)((s->back_s + delay(s)) * 1e9);
    return timesync_add(sync, sent_ns, remote_ns(s, there_ns), back_ns);
}

/** Runs a link for some seconds: root mean square and most error after the first 20 s, and the share of errors within
 *  two deviations. */
static void run(const struct simulation *s, double seconds, double *rms_s, double *max_s, double *within)
{
    timesync_t sync = {0};
    int known = 0, inside = 0, late = 0;
    *max_s = *rms_s = 0.0;
    const uint64_t end_ns = (uint64_t)(seconds * 1e9);
    for (uint64_t t = 1000000000u; t < end_ns; t += REQUEST_NS) {
        uint64_t local_ns = 0;
        double sigma_s = 0.0;
        trip(&sync, s, t);
        const uint64_t event_ns = t + 50000000u; /* something that the autopilot stamps in between */
        if (!timesync_local(&sync, remote_ns(s, event_ns), event_ns + 3000000u, &local_ns, &sigma_s)) continue;
        const double error_s = fabs((double)((int64_t)local_ns - (int64_t)event_ns)) * 1e-9;
        known++;
        inside += error_s <= 2.0 * sigma_s;
        if (t <= 21000000000u) continue;
        late++;
        *max_s = fmax(*max_s, error_s);
        *rms_s += error_s * error_s;
    }
    *rms_s = sqrt(*rms_s / (late ? late : 1));
    *within = known ? (double)inside / known : 0.0;
    REQUIRE(known > (int)(8.0 * seconds), "known in %d of %.0f round trips ", known, 10.0 * seconds);
}

/** Jitter of 5 ms: of up to 5 ms, and of 5 ms in the mean without a bound: within 0.5 ms in 99 of 100 cases from
 *  the 20th second on, and deviations that hold. */
static void test_jitter(void **state)
{
    int far = 0;
    double sum = 0.0;
    (void)state;
    shake(1);
    for (int round = 0; round < 200; round++) {
        const struct simulation s = {.offset_s = 1000.0 * even(),
                                     .skew = 1e-4 * (even() - 0.5),
                                     .there_s = 1e-3,
                                     .back_s = 1e-3,
                                     .jitter_s = 5e-3,
                                     .is_exponential = round % 2};
        double rms_s, max_s, within;
        run(&s, 120.0, &rms_s, &max_s, &within);
        far += max_s > 0.5e-3;
        sum += rms_s * rms_s;
        REQUIRE(max_s < 1e-3, "off by %.3f ms in round %d ", max_s * 1e3, round);
        REQUIRE(within > 0.9, "%.2f within two deviations in round %d ", within, round);
    }
    printf("jitter of 5 ms: root mean square %.3f ms; in %d of 200 links ever beyond 0.5 ms\n", sqrt(sum / 200.0) * 1e3,
           far);
    REQUIRE(sqrt(sum / 200.0) < 0.5e-3 / 2.6, "%.3f ms ", sqrt(sum / 200.0) * 1e3); /* 99 of 100 within 0.5 ms */
}

/** A way there that is 4 ms longer than the way back: no filter sees it, but the deviation has to allow for it. */
static void test_uneven(void **state)
{
    const struct simulation s = {.offset_s = 5.0, .there_s = 5e-3, .back_s = 1e-3, .jitter_s = 1e-3};
    double rms_s, max_s, within;
    (void)state;
    shake(3);
    run(&s, 60.0, &rms_s, &max_s, &within);
    REQUIRE(max_s > 1.5e-3 && max_s < 2.5e-3, "off by %.3f ms ", max_s * 1e3);
    REQUIRE(within > 0.95, "%.2f within two deviations ", within);
}

/** No offset before there are some round trips, nor long after the last. */
static void test_silence(void **state)
{
    const struct simulation s = {.offset_s = 5.0, .there_s = 1e-3, .back_s = 1e-3, .jitter_s = 1e-4};
    timesync_t sync = {0};
    uint64_t local_ns = 77, t = 1000000000u;
    double sigma_s = 77.0;
    (void)state;
    shake(4);
    for (uint32_t i = 0; i < TIMESYNC_MIN; i++, t += REQUEST_NS) {
        assert_false(timesync_local(&sync, remote_ns(&s, t), t, &local_ns, &sigma_s));
        assert_int_equal(trip(&sync, &s, t), TIMESYNC_ACCEPTED);
    }
    assert_true(local_ns == 77 && sigma_s == 77.0);
    assert_true(timesync_local(&sync, remote_ns(&s, t), t, &local_ns, &sigma_s));
    const double early_s = sigma_s;
    assert_true(timesync_local(&sync, remote_ns(&s, t), t + 8000000000u, &local_ns, &sigma_s));
    assert_true(sigma_s > early_s); /* it grows while nothing comes */
    assert_false(timesync_local(&sync, remote_ns(&s, t), t + 11000000000u, &local_ns, &sigma_s));
    assert_false(timesync_local(&sync, 5, t, &local_ns, &sigma_s)); /* before the companion's clock began */
}

/** A single wild round trip is left out; an autopilot that began anew is followed. */
static void test_restart(void **state)
{
    struct simulation s = {.offset_s = 500.0, .there_s = 1e-3, .back_s = 1e-3, .jitter_s = 1e-3};
    timesync_t sync = {0};
    uint64_t local_ns = 0, t = 1000000000u;
    double sigma_s;
    (void)state;
    shake(5);
    for (int i = 0; i < 100; i++, t += REQUEST_NS) trip(&sync, &s, t);
    struct simulation wild = s;
    wild.offset_s += 0.3;
    assert_int_equal(trip(&sync, &wild, t), TIMESYNC_OUTLIER);
    t += REQUEST_NS;
    assert_int_equal(trip(&sync, &s, t), TIMESYNC_ACCEPTED);
    s.offset_s = -10.0; /* its clock begins anew */
    for (int i = 1; i < TIMESYNC_JUMP; i++, t += REQUEST_NS) assert_int_equal(trip(&sync, &s, t), TIMESYNC_OUTLIER);
    assert_int_equal(trip(&sync, &s, t), TIMESYNC_RESET);
    REQUIRE(fabs(sync.jump_s + 510.0) < 2e-3, "a jump of %.4f s ", sync.jump_s);
    assert_false(timesync_local(&sync, remote_ns(&s, t), t, &local_ns, &sigma_s));
    for (int i = 0; i < 100; i++) trip(&sync, &s, t += REQUEST_NS);
    assert_true(timesync_local(&sync, remote_ns(&s, t), t, &local_ns, &sigma_s));
    assert_true(fabs((double)((int64_t)local_ns - (int64_t)t)) < 0.5e6);
}

/** Wrong answers among the right ones, in 10 minutes: five in a row, every second one, every second one a little more
 *  than is believed. The last ones move the clock by half of a round trip at most. */
static void test_forged(void **state)
{
    const struct simulation s = {.offset_s = 500.0, .skew = 3e-5, .there_s = 1e-3, .back_s = 1e-3, .jitter_s = 4e-3};
    (void)state;
    shake(7);
    for (int kind = 0; kind < 3; kind++) {
        timesync_t sync = {0};
        uint64_t t = 1000000000u;
        double most_s = 0.0;
        for (int i = 0; i < 6000; i++, t += REQUEST_NS) {
            struct simulation wrong = s;
            const int is_wrong = i > 100 && (kind == 0 ? i % 50 < 5 : i % 2);
            if (is_wrong && kind < 2) wrong.offset_s += 0.5;
            if (is_wrong && kind == 2) /* ever a little more than is believed */
                wrong.offset_s = (double)sync.base_ns * 1e-9 + sync.offset_s - s.skew * (double)t * 1e-9 + 1.5e-3;
            trip(&sync, &wrong, t);
            uint64_t local_ns;
            double sigma_s;
            if (i < 100) continue;
            assert_true(timesync_local(&sync, remote_ns(&s, t), t + 3000000u, &local_ns, &sigma_s));
            most_s = fmax(most_s, fabs((double)((int64_t)local_ns - (int64_t)t)) * 1e-9);
        }
        assert_int_equal(sync.resets, 0);
        printf("forged answers, kind %d: off by %.3f ms at most\n", kind, 1e3 * most_s);
        REQUIRE(most_s < (kind == 2 ? 5.1e-3 : 0.5e-3), "kind %d: off by %.3f ms ", kind, 1e3 * most_s);
    }
}

/** Numbers that cannot be: none of them is taken, none does harm. */
static void test_absurd(void **state)
{
    static const int64_t remote[] = {0, -1, INT64_MIN, INT64_MAX, 1};
    static const uint64_t local[] = {0, 1, 1000000000u, INT64_MAX, UINT64_MAX};
    (void)state;
    shake(6);
    for (int i = 0; i < 20000; i++) {
        timesync_t sync = {0};
        uint64_t local_ns;
        double sigma_s = 0.0;
        for (int k = 0; k < 12; k++) {
            const uint64_t a = roll64() % 2 ? local[roll64() % 5] : roll64(),
                           b = roll64() % 2 ? a + roll64() % 1000000u : roll64();
            timesync_add(&sync, a, roll64() % 2 ? remote[roll64() % 5] : (int64_t)roll64(), b);
            if (timesync_local(&sync, (int64_t)roll64(), roll64(), &local_ns, &sigma_s)) assert_true(isfinite(sigma_s));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_jitter),  cmocka_unit_test(test_uneven),
                                       cmocka_unit_test(test_silence), cmocka_unit_test(test_restart),
                                       cmocka_unit_test(test_forged),  cmocka_unit_test(test_absurd)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
