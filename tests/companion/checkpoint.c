/* SPDX-License-Identifier: MIT
 *
 * What a restart takes along (examples/companion/checkpoint.h): the same numbers back; carried on, less sure with time;
 * a file that is cut off or damaged anywhere, old, or of another boot is not taken; a reader beside the writer never
 * finds half of one.
 */
#define _GNU_SOURCE /* mkdtemp */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "examples/companion/checkpoint.h"
#include "tests/fixture/random.h"
#include "tests/fixture/temporary.h"

static char folder[64], path[80];
static const checkpoint_t kept = {.t_ns = 5000000000u,
                                  .position_m = {1.5, -2.25, -0.1},
                                  .yaw_rad = 0.3,
                                  .sigma_m = {0.01, 0.02, 0.03},
                                  .sigma_yaw_rad = 0.001,
                                  .velocity_mps = {1.0, 0.0, 0.0},
                                  .yaw_rate_rad_s = 0.1,
                                  .reset_counter = 255,
                                  .restarts = 3,
                                  .answers = 500};

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(temporary(folder, "keep"))) return 1;
    snprintf(path, sizeof path, "%s/state", folder);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static void test_back(void **state)
{
    checkpoint_t k;
    const char *reason;
    (void)state;
    unlink(path);
    assert_false(checkpoint_read(path, kept.t_ns, &k, &reason));
    assert_null(reason); /* the first start */
    assert_null(checkpoint_write(path, &kept));
    assert_true(checkpoint_read(path, kept.t_ns, &k, &reason));
    assert_memory_equal(&k, &kept, sizeof k); /* to the last bit */
    assert_true(checkpoint_read(path, kept.t_ns + 2000000000u, &k, &reason));
    assert_memory_equal(&k, &kept, sizeof k); /* time alone changes nothing yet */
}

static void test_carried(void **state)
{
    checkpoint_t k = kept, turning = kept;
    (void)state;
    checkpoint_carry(&k, kept.t_ns + 2000000000u); /* 2 s at 1 m/s; 2 m/s^2 and 0.4 rad/s are what may have been */
    assert_true(k.t_ns == kept.t_ns + 2000000000u && fabs(k.position_m[0] - 3.5) < 1e-12);
    assert_true(k.position_m[1] == kept.position_m[1] && k.yaw_rad == kept.yaw_rad);
    assert_true(fabs(k.sigma_m[0] - sqrt(1e-4 + 16.0)) < 1e-9);
    assert_true(fabs(k.sigma_m[1] - sqrt(4e-4 + 16.0)) < 1e-9);
    assert_true(fabs(k.sigma_yaw_rad - hypot(0.001, 0.8)) < 1e-9);
    turning.yaw_rate_rad_s = -1.0; /* it turned faster than that */
    checkpoint_carry(&turning, kept.t_ns + 1000000000u);
    assert_true(fabs(turning.sigma_yaw_rad - hypot(0.001, 1.0)) < 1e-9);
    memcpy(&k, &kept, sizeof k);
    checkpoint_carry(&k, kept.t_ns - 1000000000u); /* never back */
    assert_memory_equal(&k, &kept, sizeof k);
}

/** Another process reads while this one writes. */
static void test_whole(void **state)
{
    int status;
    (void)state;
    assert_null(checkpoint_write(path, &kept));
    const pid_t child = fork();
    if (!child) {
        for (int i = 0; i < 3000; i++) {
            checkpoint_t k;
            const char *reason;
            if (!checkpoint_read(path, kept.t_ns + 3000, &k, &reason)) _exit(1);
        }
        _exit(0);
    }
    for (uint64_t i = 0; i < 2000; i++) {
        checkpoint_t k = kept;
        k.t_ns += i;
        assert_null(checkpoint_write(path, &k));
    }
    assert_true(waitpid(child, &status, 0) == child && WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_not_taken(void **state)
{
    checkpoint_t k;
    const char *reason;
    char text[1024] = "";
    (void)state;
    assert_null(checkpoint_write(path, &kept));
    assert_false(checkpoint_read(path, kept.t_ns + CHECKPOINT_AGE_NS + 1, &k, &reason));
    assert_non_null(strstr(reason, "minute"));
    assert_false(checkpoint_read(path, kept.t_ns - 1, &k, &reason)); /* of the future */
    assert_non_null(strstr(reason, "started"));
    assert_non_null(checkpoint_write("/nowhere/state", &kept));
    FILE *f = fopen(path, "r");
    const size_t bytes = fread(text, 1, sizeof text, f);
    fclose(f);
    assert_true(bytes > 100);
    shake(1);
    for (size_t cut = 0; cut < bytes - 1; cut++) { /* the line's end may be missing */
        for (int kind = 0; kind < 2; kind++) {
            char damaged[1024];
            memcpy(damaged, text, bytes);
            if (kind) damaged[cut] = (char)(damaged[cut] ^ (1 << roll64() % 7));
            f = fopen(path, "w");
            fwrite(damaged, 1, kind ? bytes : cut, f);
            fclose(f);
            const int taken = checkpoint_read(path, kept.t_ns, &k, &reason);
            /* digits of the checksum have two forms each: a letter may be large */
            REQUIRE(!taken || memcmp(&k, &kept, sizeof k) == 0, "taken with byte %zu %s ", cut,
                    kind ? "changed" : "cut off");
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_back), cmocka_unit_test(test_carried),
                                       cmocka_unit_test(test_whole), cmocka_unit_test(test_not_taken)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
