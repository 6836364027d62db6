/* SPDX-License-Identifier: MIT */
/* disparity: round trip of every disparity value through picture files, for any pitch. The reader is also tested on
 * pictures from other programs, so that writer and reader cannot share an error. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "examples/replay/disparity.h"
#include "examples/replay/picture.h"

#define SIDE 256 /* of a picture of all that 16 bits hold */
#define PITCH 300

static char folder[] = P_tmpdir "/vfront-disparity-XXXXXX";
static picture_t picture;

static void put(const char *path, const uint8_t *bytes, size_t count)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, count, f), count);
    fclose(f);
}

/** The file of a frame: whichever this build writes. Returns NULL or what went wrong. */
static const char *read_back(const char *name)
{
    char path[80];
    snprintf(path, sizeof path, "%s/%s.png", folder, name);
    FILE *f = fopen(path, "rb");
    if (f)
        fclose(f);
    else
        snprintf(path, sizeof path, "%s/%s.pgm", folder, name);
    return picture_read(&picture, path);
}

static void all_values(void **state)
{
    static uint16_t px16[SIDE * PITCH];
    const vfront_disparity_t d = {.px16 = px16 + 7, .width_px = SIDE, .height_px = SIDE - 1, .pitch = PITCH};
    (void)state;
    for (int first = 0; first < 2; first++) { /* the last row shows the last 256 in the second picture */
        const char *name = first ? "1234567" : "000042";
        memset(px16, 0x11, sizeof px16);
        for (int y = 0; y < SIDE - 1; y++)
            for (int x = 0; x < SIDE; x++) px16[7 + y * PITCH + x] = (uint16_t)((y + first) * SIDE + x);
        assert_null(disparity_write(folder, first ? 1234567 : 42, &d));
        assert_null(read_back(name));
        assert_true(picture.bytes == 2 && picture.width_px == SIDE && picture.height_px == SIDE - 1 &&
                    !picture.coloured);
        for (int y = 0; y < SIDE - 1; y++)
            for (int x = 0; x < SIDE; x++) {
                const int now = (y + first) * SIDE + x;
                const double px = now / 16.0;
                const int should = now == VFRONT_NO_DISPARITY ? 0
                                   : px * 256.0 > 65535.0     ? 65535
                                   : now                      ? (int)(px * 256.0)
                                                              : 1;
                const int is = ((const uint16_t *)picture.pixels)[y * SIDE + x];
                if (is != should) fail_msg("disparity %d/16 px: %d instead of %d", now, is, should);
                assert_int_equal(disparity_grey((uint16_t)now), should);
            }
    }
}

/** Pictures of 16 bits that OpenCV wrote. */
static void foreign(void **state)
{
    static const uint8_t png[] = {
        0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0x00, 0x00, 0x00, 0x0d, 0x49, 0x48, 0x44, 0x52, 0x00, 0x00,
        0x00, 0x03, 0x00, 0x00, 0x00, 0x01, 0x10, 0x00, 0x00, 0x00, 0x00, 0x6e, 0x1b, 0x97, 0x2b, 0x00, 0x00, 0x00,
        0x0f, 0x49, 0x44, 0x41, 0x54, 0x08, 0x1d, 0x63, 0x14, 0x32, 0x99, 0x39, 0x33, 0xd4, 0x04, 0x00, 0x06, 0x8b,
        0x02, 0x03, 0xff, 0x49, 0x5b, 0x27, 0x00, 0x00, 0x00, 0x00, 0x49, 0x45, 0x4e, 0x44, 0xae, 0x42, 0x60, 0x82,
    };
    static const uint8_t pgm[] = {'P', '5', '\n', '3',  ' ',  '1',  '\n', '6', '5', '5',
                                  '3', '5', '\n', 0x12, 0x34, 0xab, 0xcd, 0,   1};
    char path[80];
    (void)state;
    for (int plain = 0; plain < 2; plain++) {
#ifndef HAVE_PNG
        if (!plain) continue;
#endif
        snprintf(path, sizeof path, "%s/foreign.%s", folder, plain ? "pgm" : "png");
        put(path, plain ? pgm : png, plain ? sizeof pgm : sizeof png);
        assert_null(picture_read(&picture, path));
        const uint16_t *is = picture.pixels;
        assert_true(picture.bytes == 2 && picture.width_px == 3 && picture.height_px == 1);
        assert_true(is[0] == 0x1234 && is[1] == 0xabcd && is[2] == 1);
        remove(path);
    }
}

static void nothing_to_write(void **state)
{
    static uint16_t px16[16];
    vfront_disparity_t d = {.width_px = 4, .height_px = 4, .pitch = 4};
    char path[80];
    (void)state;
    assert_null(disparity_write(folder, 3, &d));
    assert_non_null(read_back("000003"));
    d.px16 = px16;
    snprintf(path, sizeof path, "%s/none", folder);
    const char *wrong = disparity_write(path, 3, &d);
    assert_true(wrong && strstr(wrong, "none/000003.p") && strstr(wrong, "No such file"));
}

static int make(void **state)
{
    (void)state;
    return !mkdtemp(folder);
}

static int clear(void **state)
{
    char line[80];
    (void)state;
    picture_free(&picture);
    snprintf(line, sizeof line, "rm -r %s", folder);
    return system(line);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(foreign),
        cmocka_unit_test(all_values),
        cmocka_unit_test(nothing_to_write),
    };
    return cmocka_run_group_tests_name("disparity", test, make, clear);
}
