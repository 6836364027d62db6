/* SPDX-License-Identifier: MIT */
/* Names of tuning values of 0.7 (examples/common/tuning_names.h): what they are now, by hand; and the header of a
 * recording made by 0.7.0: `replay --frames 3 --set match_window_px=50 --record FILE synthetic:64x48`. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "examples/common/tuning_names.h"
#include "examples/recording/header.h"

#define RECORDING "tests/examples/recording-0.7.vfr"
#define CHUNK_HEAD 40 /* bytes before the payload of the first chunk: those of the file, and of the chunk */

static vfront_tuning_t tuning, standard;

static int set_up(void **state)
{
    (void)state;
    vfront_tuning_default(&tuning);
    vfront_tuning_default(&standard);
    return 0;
}

/** A name of this version is set as it is; an unknown one is refused, and so is an old one by the library itself. */
static void names_of_now(void **state)
{
    (void)state;
    assert_null(tuning_names_set(&tuning, "deadline_us", 1234));
    assert_int_equal(tuning.deadline_us, 1234);
    assert_non_null(strstr(tuning_names_set(&tuning, "deadline_us", -1), "deadline_us"));
    assert_non_null(strstr(tuning_names_set(&tuning, "nothing", 0), "nothing"));
    assert_null(tuning_names_answer("deadline_us"));
    assert_null(tuning_names_answer("nothing"));
    assert_int_equal(vfront_tuning_set(&tuning, "match_window_px", 60), VFRONT_E_TUNING);
    assert_int_equal(vfront_tuning_set(&tuning, "ego_seed", 1), VFRONT_E_TUNING);
}

static void renamed(void **state)
{
    (void)state;
    assert_null(tuning_names_set(&tuning, "match_window_px", 33));
    assert_int_equal(tuning.match_radius_px, 33);
    assert_null(tuning_names_set(&tuning, "window_sight_mpx", 900));
    assert_int_equal(tuning.vio_observation_mpx, 900);
    assert_non_null(tuning_names_set(&tuning, "window_sight_mpx", 1));
    assert_string_equal(tuning_names_answer("window"), "window is now vio");
    assert_string_equal(tuning_names_answer("track_light"), "track_light is now track_photometric");
}

static void removed(void **state)
{
    (void)state;
    assert_null(tuning_names_set(&tuning, "track_texture", 10));
    assert_null(tuning_names_set(&tuning, "stixel_depth_mm", 10200));
    assert_memory_equal(&tuning, &standard, sizeof tuning);
    assert_string_equal(tuning_names_set(&tuning, "track_texture", 11),
                        "tuning value track_texture is 11: removed in 0.8.0, where it is 10");
    assert_memory_equal(&tuning, &standard, sizeof tuning);
    assert_string_equal(tuning_names_answer("ego_seed"), "ego_seed: removed in 0.8.0");
    assert_string_equal(tuning_names_answer("stixel_depth_mm"), "stixel_depth_mm: removed in 0.8.0, see stixel_model");
}

/** A switch of a stage is the value 2 of that stage now, if the stage is on. */
static void merged(void **state)
{
    (void)state;
    assert_null(tuning_names_set(&tuning, "ego_matches", 1));
    assert_memory_equal(&tuning, &standard, sizeof tuning);
    if (VFRONT_EGO) {
        assert_null(tuning_names_set(&tuning, "ego_matches", 0));
        assert_int_equal(tuning.ego, VFRONT_EGO_TRACKS);
        tuning.ego = 0;
        assert_null(tuning_names_set(&tuning, "ego_matches", 0));
        assert_int_equal(tuning.ego, 0);
    }
    assert_non_null(tuning_names_set(&tuning, "match_guided", 3));
    assert_string_equal(tuning_names_answer("failover_dense"), "failover_dense=0 is now failover=2");
    assert_null(tuning_names_set(&tuning, "first_motion_breaks", 7));
    assert_int_equal(tuning.first_counter, 7);
    assert_null(tuning_names_set(&tuning, "first_reset_counter", 7));
    assert_non_null(tuning_names_set(&tuning, "first_reset_counter", 0));
}

static void recording_of_0_7(void **state)
{
    (void)state;
    static uint8_t bytes[40000];
    static recording_header_t header;
    FILE *f = fopen(RECORDING, "rb");
    assert_non_null(f);
    const size_t count = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_true(count > CHUNK_HEAD && count < sizeof bytes);
    const size_t size = bytes[16] | (size_t)bytes[17] << 8;
    const char *error = header_read(&header, bytes + CHUNK_HEAD, size);
    if (VFRONT_CAMERAS < 2 || VFRONT_WIDTH < 64) return header_free(&header);
    if (error) fail_msg("%s", error);
    assert_string_equal(header.version, "0.7.0");
    assert_int_equal(header.tuning.match_radius_px, 50);
    header.tuning.match_radius_px = standard.match_radius_px;
    assert_int_equal(header.tuning.vio_imu_percent, 500); /* the standard of 0.7 */
    header.tuning.vio_imu_percent = standard.vio_imu_percent;
    assert_int_equal(header.tuning.vio_stereo_urad, 0); /* likewise */
    header.tuning.vio_stereo_urad = standard.vio_stereo_urad;
    assert_int_equal(header.tuning.rig_centre_mpx, 150); /* likewise */
    header.tuning.rig_centre_mpx = standard.rig_centre_mpx;
    assert_int_equal(header.tuning.dense_back_px, 2); /* likewise */
    header.tuning.dense_back_px = standard.dense_back_px;
    assert_memory_equal(&header.tuning, &standard, sizeof standard);
    header_free(&header);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test_setup(names_of_now, set_up),     cmocka_unit_test_setup(renamed, set_up),
        cmocka_unit_test_setup(removed, set_up),          cmocka_unit_test_setup(merged, set_up),
        cmocka_unit_test_setup(recording_of_0_7, set_up),
    };
    return cmocka_run_group_tests_name("tuning_names", test, NULL, NULL);
}
