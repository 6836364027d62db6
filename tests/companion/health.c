/* SPDX-License-Identifier: MIT
 *
 * Words of health (examples/companion/health.h), on results that are made up.
 */
#include <stdio.h>
#include <string.h>

#include "examples/companion/health.h"
#include "tests/fixture/random.h"

#define FRAME_NS 33333333u

static health_t health;
static vfront_result_t result;
static char reported[4096];

/** So many frames; reports on them, a line each. */
static const char *run(int frames)
{
    *reported = 0;
    for (int i = 0; i < frames; i++) {
        char text[HEALTH_TEXT];
        int is_bad;
        result.t_ns += FRAME_NS;
        while (health_next(&health, &result, text, &is_bad)) {
            assert_int_equal(is_bad, !strstr(text, ": over"));
            strcat(strcat(reported, text + strlen("vision: ")), "\n");
        }
    }
    return reported;
}

static void begin(void)
{
    memset(&health, 0, sizeof health);
    memset(&result, 0, sizeof result);
    result.t_ns = 1000000000u;
    result.health.state = VFRONT_TRACKING;
}

/** Each word alone, when it begins and a second after its end; a word that comes and goes once. */
static void test_words(void **state)
{
    vfront_health_t *h = &result.health;
    static const char *const name[] = {"camera 0 frozen",     "camera 1 frozen",
                                       "camera 0 dark",       "camera 1 dark",
                                       "camera 0 bright",     "camera 1 bright",
                                       "pictures late",       "stamps irregular",
                                       "tracks are lost",     "few tracks",
                                       "cameras disagree",    "no IMU samples",
                                       "IMU saturated",       "IMU stuck",
                                       "IMU all zero",        "IMU in g, not m/s^2",
                                       "IMU without gravity", "IMU samples too early",
                                       "IMU axes wrong",      "IMU in degrees, not rad",
                                       "IMU clock off"};
    static const uint32_t imu[] = {1, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
    (void)state;
    for (int i = 0; i < HEALTH_WORDS; i++) {
        char want[64];
        begin();
        assert_string_equal(run(30), "");
        for (int k = 0; k < 4; k++) {
            if (i < 2) h->frozen[i] = 1;
            if (i / 2 == 1) h->dark_permille[i % 2] = 900;
            if (i / 2 == 2) h->bright_permille[i % 2] = 1000;
            if (i == 6) h->late = 1;
            if (i == 7) h->irregular = 1;
            if (i == 8 || i == 9) h->state = i == 8 ? VFRONT_LOST : VFRONT_DEGRADED;
            if (i == 10 && k % 2) h->stereo = VFRONT_STEREO_SUSPECT;
            result.nav.flags = i == 10 && k % 2 == 0 ? VFRONT_NAV_ONE_CAMERA : 0;
            if (i >= 11) h->imu = imu[i - 11] | VFRONT_IMU_GAP;
            snprintf(want, sizeof want, "%s\n", name[i]);
            assert_string_equal(run(5), k ? "" : want);
            memset(h, 0, sizeof *h);
            h->state = VFRONT_TRACKING;
            result.nav.flags = 0;
            assert_string_equal(run(20), "");
        }
        snprintf(want, sizeof want, "%s: over\n", name[i]);
        assert_string_equal(run(30), want);
        assert_string_equal(run(100), "");
    }
}

static void test_together(void **state)
{
    (void)state;
    begin();
    result.health.state = VFRONT_LOST;
    result.health.dark_permille[0] = result.health.dark_permille[1] = 999;
    assert_string_equal(run(3), "camera 0 dark\ncamera 1 dark\ntracks are lost\n");
    result.t_ns = 5; /* a clock that was set */
    result.health.state = VFRONT_TRACKING;
    assert_string_equal(run(1), "tracks are lost: over\n");
}

/** Every fault of the IMU has its word, none a number. */
static void test_imu_words(void **state)
{
    char text[HEALTH_IMU_TEXT];
    (void)state;
    assert_string_equal(health_imu_words(VFRONT_IMU_GAP, text), "");
    assert_string_equal(health_imu_words(VFRONT_IMU_CLOCK, text), "IMU clock off");
    assert_string_equal(health_imu_words(VFRONT_IMU_STUCK | VFRONT_IMU_IN_G | VFRONT_IMU_GAP, text),
                        "IMU stuck, IMU in g, not m/s^2");
    assert_true(strlen(health_imu_words(UINT32_MAX, text)) < HEALTH_IMU_TEXT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_words), cmocka_unit_test(test_together),
                                       cmocka_unit_test(test_imu_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
