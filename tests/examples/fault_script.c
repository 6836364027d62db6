/* SPDX-License-Identifier: MIT */
/* fault_script: every kind and form of a line, a message for every way to get one wrong, and random texts, of which
 * each is either refused with a message that names file and line or read into faults within their ranges. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "examples/replay/fault_script.h"
#include "tests/fixture/random.h"

#define S 1000000000ull /* a second [ns] */
#define NO_END UINT64_MAX

static fault_script_t script;

static const char *parse(const char *text) { return fault_script_parse(&script, "s.txt", text, strlen(text)); }

/** Parses a script of one line; its fault. */
static fault_t one(const char *text)
{
    const char *error = parse(text);
    REQUIRE(!error, "%s: %s", text, error);
    REQUIRE(script.count == 1, "%s: %u faults", text, script.count);
    const fault_t f = script.fault[0];
    fault_script_free(&script);
    return f;
}

static void test_kinds(void **state)
{
    static const struct {
        const char *line;
        fault_kind_t kind;
        fault_target_t target;
        int arguments;
        double argument[3];
    } row[] = {
        {"5 both drop", FAULT_DROP, FAULT_BOTH, 0, {0}},
        {"5 both duplicate", FAULT_DUPLICATE, FAULT_BOTH, 0, {0}},
        {"5 camera0 freeze", FAULT_FREEZE, FAULT_CAMERA_0, 0, {0}},
        {"5 camera1 freeze-rows 20 60.5", FAULT_FREEZE_ROWS, FAULT_CAMERA_1, 2, {20, 60.5}},
        {"5 both stop", FAULT_STOP, FAULT_BOTH, 0, {0}},
        {"5 both black", FAULT_BLACK, FAULT_BOTH, 0, {0}},
        {"5 both white", FAULT_WHITE, FAULT_BOTH, 0, {0}},
        {"5 camera0 noise 12.5", FAULT_NOISE, FAULT_CAMERA_0, 1, {12.5}},
        {"5 camera0 blur 64", FAULT_BLUR, FAULT_CAMERA_0, 1, {64}},
        {"5 both dim 15", FAULT_DIM, FAULT_BOTH, 1, {15}},
        {"5 both brighten 1e3", FAULT_BRIGHTEN, FAULT_BOTH, 1, {1000}},
        {"5 camera0 flip", FAULT_FLIP, FAULT_CAMERA_0, 0, {3}},
        {"5 camera0 flip x", FAULT_FLIP, FAULT_CAMERA_0, 1, {1}},
        {"5 camera0 flip y", FAULT_FLIP, FAULT_CAMERA_0, 1, {2}},
        {"5 both swap", FAULT_SWAP, FAULT_BOTH, 0, {0}},
        {"5 camera1 late 30", FAULT_LATE, FAULT_CAMERA_1, 1, {30}},
        {"5 clock jump 3600", FAULT_JUMP, FAULT_CLOCK, 1, {3600}},
        {"5 clock back 0.5", FAULT_BACK, FAULT_CLOCK, 1, {0.5}},
        {"5 clock jitter 2e-3", FAULT_JITTER, FAULT_CLOCK, 1, {0.002}},
        {"5 clock drift -100", FAULT_DRIFT, FAULT_CLOCK, 1, {-100}},
        {"5 gyro gap", FAULT_GAP, FAULT_GYRO, 0, {100}},
        {"5 gyro gap 40", FAULT_GAP, FAULT_GYRO, 1, {40}},
        {"5 gyro stuck", FAULT_STUCK, FAULT_GYRO, 0, {0}},
        {"5 gyro saturated 0.5", FAULT_SATURATED, FAULT_GYRO, 1, {0.5}},
        {"5 gyro bias -0.1 0 2", FAULT_BIAS, FAULT_GYRO, 3, {-0.1, 0, 2}},
        {"5 gyro swapped xy", FAULT_SWAPPED, FAULT_GYRO, 1, {2}},
        {"5 gyro swapped yz", FAULT_SWAPPED, FAULT_GYRO, 1, {0}},
        {"5 gyro swapped xz", FAULT_SWAPPED, FAULT_GYRO, 1, {1}},
        {"5 link loss 30", FAULT_LOSS, FAULT_LINK, 1, {30}},
        {"5 link reorder 100", FAULT_REORDER, FAULT_LINK, 1, {100}},
        {"5 link delay 12.5", FAULT_DELAY, FAULT_LINK, 1, {12.5}},
        {"5 link corrupt 3", FAULT_CORRUPT, FAULT_LINK, 1, {3}},
        {"5 cpu burn 4", FAULT_BURN, FAULT_CPU, 1, {4}},
        {"5 gpu fail 3", FAULT_FAIL, FAULT_GPU, 1, {3}},
    };
    int seen[FAULT_KIND_COUNT] = {0};
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        const fault_t f = one(row[i].line);
        REQUIRE(f.kind == row[i].kind && f.target == row[i].target && f.arguments == row[i].arguments, "%s",
                row[i].line);
        for (int k = 0; k < 3; k++) REQUIRE(f.argument[k] == row[i].argument[k], "%s: argument %d", row[i].line, k);
        REQUIRE(f.first == 5 && f.last == 5 && !f.by_time && f.line == 1, "%s", row[i].line);
        seen[f.kind] = 1;
    }
    for (int i = 0; i < (int)FAULT_KIND_COUNT; i++)
        REQUIRE(seen[i], "%s has no row in this test", fault_kind_name((fault_kind_t)i));
}

static void test_when(void **state)
{
    static const struct {
        const char *when;
        int by_time, one_time;
        uint64_t first, last;
    } row[] = {
        {"0", 0, 0, 0, 0},
        {"30-44", 0, 0, 30, 44},
        {"30-30", 0, 0, 30, 30},
        {"4294967295-", 0, 0, 4294967295u, NO_END},
        {"1.5s", 1, 1, 3 * S / 2, 3 * S / 2},
        {"0s-2.25s", 1, 0, 0, 9 * S / 4},
        {"2s-", 1, 0, 2 * S, NO_END},
    };
    (void)state;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        char line[64];
        snprintf(line, sizeof line, "%s both black", row[i].when);
        const fault_t f = one(line);
        REQUIRE(f.by_time == row[i].by_time && f.one_time == row[i].one_time && f.first == row[i].first &&
                    f.last == row[i].last,
                "%s", line);
    }
}

/** Frames at 0, 0.1 s, 0.2 s...: those in which a line is active, as a string of 0 and 1. */
static void expect_active(const char *when, const char *frames)
{
    char line[64], is[32] = "";
    snprintf(line, sizeof line, "%s both black", when);
    const fault_t f = one(line);
    for (uint32_t i = 0; frames[i]; i++) is[i] = fault_active(&f, i, i * S / 10, i ? (i - 1) * S / 10 : 0) ? '1' : '0';
    assert_string_equal(is, frames);
}

static void test_active(void **state)
{
    (void)state;
    expect_active("0", "10000000");
    expect_active("2-4", "00111000");
    expect_active("5-", "00000111");
    expect_active("0.2s-0.4s", "00111000");
    expect_active("0.15s-0.45s", "00111000");
    expect_active("0.35s-", "00001111");
    expect_active("0.35s", "00001000");
    expect_active("0.3s", "00010000");
    expect_active("0s", "10000000");
}

static void test_layout(void **state)
{
    (void)state;
    assert_null(
        parse("# a comment\n\n  1\tboth   black # another\r\nseed 77\n\n3-4 gyro bias 1 2 3#x\n5 camera0 freeze"));
    assert_int_equal(script.count, 3);
    assert_int_equal(script.seed, 77);
    assert_int_equal(script.fault[0].line, 3);
    assert_int_equal(script.fault[1].line, 6);
    assert_int_equal(script.fault[2].line, 7);
    fault_script_free(&script);
    assert_null(parse("1 both black"));
    assert_int_equal(script.seed, 1);
    fault_script_free(&script);
}

/** A line that is refused, and what its message names. */
static void refused(const char *line, const char *names)
{
    char text[400], place[16];
    const int number = 1 + (int)(strlen(line) % 3);
    snprintf(text, sizeof text, "%.*s%s\n1 both black\n", number - 1, "\n\n\n", line);
    snprintf(place, sizeof place, "s.txt:%d: ", number);
    const char *error = parse(text);
    REQUIRE(error && strncmp(error, place, strlen(place)) == 0 && strstr(error, names), "%s: \"%s\" and not \"%s%s\"",
            line, error ? error : "accepted", place, names);
    REQUIRE(!script.fault && !script.count, "%s: not empty", line);
}

static void test_messages(void **state)
{
    (void)state;
    refused("x both black", "x: not a frame or a range of frames");
    refused("-3 both black", "-3: not a frame");
    refused("1.5 both black", "1.5: not a frame");
    refused("3s-4 both black", "3s-4: not a frame");
    refused("3-4s both black", "3-4s: not a frame");
    refused("4-3 both black", "4-3: ends before it begins");
    refused("2s-1.5s both black", "ends before it begins");
    refused("4294967296 both black", "not a frame");
    refused("1e2 both black", "not a frame");
    refused("1 camera2 black", "camera2: no such target; expected camera0, camera1, both, gyro, clock");
    refused("1 both blank", "blank: no such kind; expected drop, duplicate, freeze, ");
    refused("1 gyro black", "gyro: no target of black; expected camera0, camera1, both");
    refused("1 camera0 drop", "camera0: no target of drop; expected both");
    refused("1 camera1 swap", "expected both");
    refused("1 both jump 3", "both: no target of jump; expected clock");
    refused("1 both stuck", "expected gyro");
    refused("1 both", "expected WHEN TARGET KIND");
    refused("seed", "seed: expected one whole number");
    refused("seed 1 2", "seed: expected one whole number");
    refused("seed -1", "seed: expected one whole number");
    refused("1 both black 3", "black: 1 argument, but black takes 0");
    refused("1 both noise", "noise: 0 arguments, but noise takes 1; expected SIGMA");
    refused("1 gyro bias 1 2", "bias: 2 arguments, but bias takes 3; expected X Y Z");
    refused("1 gyro gap 1 2", "takes 0 or one more");
    refused("1 both dim 101", "dim 101: not in 0..100; expected PERCENT");
    refused("1 both brighten 99", "not in 100..10000");
    refused("1 both blur 1.5", "blur 1.5: not in 1..64");
    refused("1 both blur 0", "not in 1..64");
    refused("1 both late 31", "late 31: not in 1..30");
    refused("1 both late 15e-1", "late 15e-1: not in 1..30");
    refused("1 both noise nan", "noise nan: not in");
    refused("1 both noise inf", "noise inf: not in");
    refused("1 both noise 1e999", "noise 1e999: not in");
    refused("1 both noise 1e", "noise 1e: not in");
    refused("1 both noise -1", "noise -1: not in");
    refused("1 both noise 0x10", "noise 0x10: not in");
    refused("1 both noise 1.2.3", "noise 1.2.3: not in");
    refused("1 both flip z", "flip z: not in 1..3; expected x, y or xy");
    refused("1 gyro swapped yx", "expected xy, yz or xz");
    refused("1 both freeze-rows 60 20", "no rows from 60 to 20");
    refused("1 gyro bias 1 2 3 4", "more than 6 words");
    refused("1 both bl\x80"
            "ck",
            "byte 0x80: a script is plain ASCII text");
    refused("1 both aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "more than 63");
    const char *error = fault_script_parse(&script, "s.txt", "1 both black\0\n", 14);
    assert_true(error && strstr(error, "s.txt:1: byte 0x00"));
    error = parse("# nothing\n");
    assert_true(error && strstr(error, "s.txt: no fault in it"));
    error = fault_script_read(&script, "/nosuch/faults.txt");
    assert_true(error && strstr(error, "/nosuch/faults.txt: No such file"));
    error = fault_script_read(&script, P_tmpdir);
    assert_true(error && strstr(error, P_tmpdir));
}

static void test_file(void **state)
{
    char path[] = P_tmpdir "/vfront-fault-XXXXXX";
    (void)state;
    const int descriptor = mkstemp(path);
    FILE *f = fdopen(descriptor, "w");
    assert_non_null(f);
    fputs("seed 3\n7-9 camera1 late 2\n", f);
    fclose(f);
    assert_null(fault_script_read(&script, path));
    assert_true(script.count == 1 && script.seed == 3 && script.fault[0].kind == FAULT_LATE);
    fault_script_free(&script);
    remove(path);
}

/* ---- random texts ------------------------------------------------------------------------------------------------ */

static uint32_t below(uint32_t n) { return (uint32_t)(roll64() >> 32) % n; }

/** A word of the language, or one that is nearly one. */
static const char *any_word(void)
{
    static const char *const word[] = {"1",
                                       "3-9",
                                       "4-",
                                       "1.5s",
                                       "2s-",
                                       "0s-1s",
                                       "seed",
                                       "camera0",
                                       "camera1",
                                       "both",
                                       "gyro",
                                       "clock",
                                       "drop",
                                       "freeze",
                                       "blur",
                                       "noise",
                                       "dim",
                                       "flip",
                                       "late",
                                       "jump",
                                       "drift",
                                       "gap",
                                       "bias",
                                       "x",
                                       "xy",
                                       "yz",
                                       "-7",
                                       "0.5",
                                       "1e3",
                                       "1e",
                                       "99999999999999999999",
                                       "swapped",
                                       "freeze-rows",
                                       "#",
                                       "\n"};
    return word[below(sizeof word / sizeof *word)];
}

static size_t random_text(char *text, size_t room)
{
    size_t used = 0;
    const int lines = below(3) != 0;
    while (used + 40 < room && below(24)) {
        if (lines && !below(3))
            used += (size_t)snprintf(text + used, room - used, "%u-%u both noise %u\n", below(99), below(99),
                                     below(300));
        else if (below(5))
            used += (size_t)snprintf(text + used, room - used, "%s%c", any_word(), below(4) ? ' ' : '\n');
        else
            text[used++] = (char)roll64();
    }
    return used;
}

static void check_fault(const fault_t *f)
{
    REQUIRE(f->kind < FAULT_KIND_COUNT && f->target < FAULT_TARGETS && f->line > 0 && f->first <= f->last &&
                f->arguments <= FAULT_ARGUMENTS_MAX,
            "a fault out of range");
    static const struct {
        int targets;
        double least, most;
    } kind[] = {
#define ROW(symbol, name, targets, arguments_min, arguments_max, least, most, meaning) {targets, least, most},
        FAULT_KINDS(ROW)
#undef ROW
    };
    REQUIRE(kind[f->kind].targets >> f->target & 1, "%s of %s", fault_kind_name(f->kind), fault_target_name(f->target));
    for (int i = 0; i < f->arguments; i++)
        REQUIRE(f->argument[i] >= kind[f->kind].least && f->argument[i] <= kind[f->kind].most, "%s %g",
                fault_kind_name(f->kind), f->argument[i]);
}

static void test_random(void **state)
{
    uint32_t accepted = 0, texts = 200000;
    (void)state;
    shake(1);
    for (uint32_t i = 0; i < texts; i++) {
        char text[600];
        const size_t bytes = random_text(text, sizeof text);
        char *exact = malloc(bytes ? bytes : 1); /* so that a sanitizer sees a byte too many */
        assert_non_null(exact);
        memcpy(exact, text, bytes);
        const char *error = fault_script_parse(&script, "s.txt", exact, bytes);
        REQUIRE(!error == (script.count > 0), "text %u: %s, %u faults", i, error ? error : "accepted", script.count);
        if (error) REQUIRE(strncmp(error, "s.txt:", 6) == 0 && !strchr(error, '\n'), "text %u: %s", i, error);
        for (uint32_t k = 0; k < script.count; k++) check_fault(&script.fault[k]);
        accepted += !error;
        fault_script_free(&script);
        free(exact);
    }
    print_message("%u of %u texts accepted\n", accepted, texts);
    assert_in_range(accepted, texts / 200, texts / 2);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(test_kinds),  cmocka_unit_test(test_when),     cmocka_unit_test(test_active),
        cmocka_unit_test(test_layout), cmocka_unit_test(test_messages), cmocka_unit_test(test_file),
        cmocka_unit_test(test_random),
    };
    return cmocka_run_group_tests_name("fault_script", test, NULL, NULL);
}
