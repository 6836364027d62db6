/* SPDX-License-Identifier: MIT */
/* Check of the calibration, over drawn flights: right ones are never named, wrong ones are, within 2 s at any rate from
 * 5 to 60 Hz with up to 40 % of the frames lost; what does not count; what ends it. */
#include "camera/calibration_check.h"
#include "tests/fixture/rigid.h"

enum { FLIGHTS = 2000 };

static vfront_health_t health_of(uint32_t stereo, uint64_t dt_ns)
{
    vfront_health_t h;
    memset(&h, 0, sizeof h);
    h.state = VFRONT_TRACKING;
    h.stereo = stereo;
    h.dt_ns = dt_ns;
    for (int c = 0; c < VFRONT_CAMERAS; c++) h.sharpness_grey[c] = 5.0f;
    return h;
}

/** Flies for `seconds` with a share of frames SUSPECT. Returns when the calibration is named [s]; 0: never. */
static double fly(struct vf_calibration_check *c, double seconds, double hz, double lost, double suspect, int first)
{
    double t = 0, before = 0;
    for (; t < seconds; t += 1 / hz) {
        if (!first && real(0, 1) < lost) continue;
        const uint32_t stereo = real(0, 1) < suspect ? VFRONT_STEREO_SUSPECT : VFRONT_STEREO_GOOD;
        vfront_health_t h = health_of(stereo, first ? 0 : (uint64_t)(1e9 * (t - before)));
        if (first) h.state = VFRONT_STARTING;
        first = 0;
        before = t;
        if (vf_calibration_check(c, &h)) return t;
    }
    return 0;
}

static void drawn(void **state)
{
    static const struct {
        double suspect, most_named, least_named;
    } flight[] = {{0, 0, 0}, {0.05, 0, 0}, {0.15, 0.005, 0}, {0.75, 1, 0.95}, {0.95, 1, 1}, {1, 1, 1}};
    (void)state;
    shake(1);
    for (size_t i = 0; i < sizeof flight / sizeof *flight; i++) {
        double latest = 0, sum = 0;
        int named = 0, in_time = 0;
        for (int run = 0; run < FLIGHTS; run++) {
            struct vf_calibration_check c;
            memset(&c, 0x55, sizeof c); /* the first frame clears it */
            const double at = fly(&c, 20, exp(real(log(5), log(60))), real(0, 0.4), flight[i].suspect, 1);
            named += at > 0;
            in_time += at > 0 && at <= 2;
            sum += at;
            latest = fmax(latest, at);
        }
        print_message("    %3.0f %% SUSPECT: %d of %d named, %d within 2 s; mean %.2f s, latest %.2f\n",
                      100 * flight[i].suspect, named, FLIGHTS, in_time, named ? sum / named : 0, latest);
        assert_true(named <= flight[i].most_named * FLIGHTS && named >= flight[i].least_named * FLIGHTS);
        if (flight[i].suspect >= 0.95) assert_true(in_time >= 0.95 * FLIGHTS);
    }
}

/** Frames in which camera 0 is not followed or camera 1 is blurred say nothing; nor does a flight that began well. */
static void what_counts(void **state)
{
    struct vf_calibration_check c;
    (void)state;
    shake(2);
    for (int why = 0; why < 4; why++) {
        memset(&c, 0, sizeof c);
        int named = 0;
        for (int frame = 0; frame < 400; frame++) {
            vfront_health_t h = health_of(VFRONT_STEREO_SUSPECT, 50000000);
            if (why == 0) h.born = 100;
            if (why == 1) h.sharpness_grey[VFRONT_CAMERAS - 1] = 2.0f;
            if (why == 2) h.stereo = frame < 50 ? VFRONT_STEREO_GOOD : VFRONT_STEREO_SUSPECT;
            named += vf_calibration_check(&c, &h) != 0;
        }
        REQUIRE((named > 300) == (why == 3) && (why == 3 || !named), "case %d: %d frames", why, named);
    }
    vfront_health_t good = health_of(VFRONT_STEREO_GOOD, 150000000);
    assert_int_equal(vf_calibration_check(&c, &good), 1); /* one frame does not clear it */
    for (int frame = 0; frame < 40; frame++) (void)vf_calibration_check(&c, &good);
    assert_true(!c.wrong && c.fits);
    assert_true(fly(&c, 20, 20, 0, 1, 0) == 0); /* it has fitted */
    assert_true(fly(&c, 20, 20, 0, 1, 1) > 0);  /* another start */
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(drawn), cmocka_unit_test(what_counts)};
    return cmocka_run_group_tests_name("calibration_check", tests, NULL, NULL);
}
