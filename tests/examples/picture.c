/* SPDX-License-Identifier: MIT */
/* picture: BMP of each kind, bottom up and top down, and JPEG, whose grey levels are known; cut or wrong files are
 * named. */
#define _DEFAULT_SOURCE /* mkstemp */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "examples/replay/picture.h"
#include "tests/fixture/temporary.h"

#define WIDTH 5 /* rows end with padding */
#define HEIGHT 3

/** 32x16 px, grey 10 + 7 x, quality 90. */
static const uint8_t jpeg[] = {
    0xff, 0xd8, 0xff, 0xe0, 0x00, 0x10, 0x4a, 0x46, 0x49, 0x46, 0x00, 0x01, 0x01, 0x00, 0x00, 0x01, 0x00, 0x01,
    0x00, 0x00, 0xff, 0xdb, 0x00, 0x43, 0x00, 0x03, 0x02, 0x02, 0x03, 0x02, 0x02, 0x03, 0x03, 0x03, 0x03, 0x04,
    0x03, 0x03, 0x04, 0x05, 0x08, 0x05, 0x05, 0x04, 0x04, 0x05, 0x0a, 0x07, 0x07, 0x06, 0x08, 0x0c, 0x0a, 0x0c,
    0x0c, 0x0b, 0x0a, 0x0b, 0x0b, 0x0d, 0x0e, 0x12, 0x10, 0x0d, 0x0e, 0x11, 0x0e, 0x0b, 0x0b, 0x10, 0x16, 0x10,
    0x11, 0x13, 0x14, 0x15, 0x15, 0x15, 0x0c, 0x0f, 0x17, 0x18, 0x16, 0x14, 0x18, 0x12, 0x14, 0x15, 0x14, 0xff,
    0xc0, 0x00, 0x0b, 0x08, 0x00, 0x10, 0x00, 0x20, 0x01, 0x01, 0x11, 0x00, 0xff, 0xc4, 0x00, 0x15, 0x00, 0x01,
    0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x08, 0x09, 0xff,
    0xc4, 0x00, 0x17, 0x10, 0x00, 0x03, 0x01, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00,
    0x00, 0x00, 0x00, 0x07, 0x43, 0x81, 0xff, 0xda, 0x00, 0x08, 0x01, 0x01, 0x00, 0x00, 0x3f, 0x00, 0x03, 0x2f,
    0xe7, 0x82, 0x55, 0x7f, 0x3c, 0x12, 0xab, 0xf9, 0xe0, 0x96, 0x5f, 0xcf, 0x08, 0x7e, 0xbf, 0x9e, 0x09, 0x55,
    0xfc, 0xf0, 0x4a, 0xaf, 0xe7, 0x82, 0x59, 0x7f, 0x3c, 0x3f, 0xff, 0xd9,
};

static const char *read_bytes(picture_t *p, const uint8_t *bytes, size_t count)
{
    char path[64];
    const int file = mkstemp(temporary(path, "picture"));
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, count), (ssize_t)count);
    assert_int_equal(close(file), 0);
    const char *error = picture_read(p, path);
    remove(path);
    return error;
}

static void put(uint8_t *to, uint32_t v, int bytes)
{
    for (int i = 0; i < bytes; i++) to[i] = (uint8_t)(v >> 8 * i);
}

/** Red, green and blue of a pixel. */
static void colour(int x, int y, int is_grey, uint8_t rgb[3])
{
    for (int i = 0; i < 3; i++) rgb[i] = (uint8_t)(40 * x + 15 * y + (is_grey ? 0 : 20 * i));
}

/** BMP of so many bits a pixel; of 8 with a palette, in which entry i is 3 i. Returns its bytes. */
static size_t make_bmp(uint8_t *to, int bits, int top_down, int is_grey)
{
    const uint32_t palette = bits == 8 ? 4 * 256 : 0, offset = 54 + palette;
    const size_t row = (size_t)(WIDTH * bits / 8 + 3) / 4 * 4;
    memset(to, 0, offset + HEIGHT * row);
    memcpy(to, "BM", 2);
    put(to + 10, offset, 4);
    put(to + 14, 40, 4);
    put(to + 18, WIDTH, 4);
    put(to + 22, top_down ? 0u - HEIGHT : HEIGHT, 4);
    put(to + 26, 1, 2);
    put(to + 28, (uint32_t)bits, 2);
    for (uint32_t i = 0; i < palette / 4; i++) memset(to + 54 + 4 * i, (int)(3 * i & 255), 3);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            uint8_t rgb[3], *at = to + offset + (size_t)(top_down ? y : HEIGHT - 1 - y) * row + (size_t)(x * bits / 8);
            colour(x, y, is_grey, rgb);
            if (bits == 8) *at = (uint8_t)(x + 10 * y);
            for (int i = 0; i < 3 && bits > 8; i++) at[i] = rgb[2 - i];
        }
    return offset + HEIGHT * row;
}

static void bmp(void **state)
{
    static const int bits[] = {8, 24, 32};
    uint8_t file[2048];
    picture_t p = {0};
    (void)state;
    for (int i = 0; i < 3; i++)
        for (int top_down = 0; top_down < 2; top_down++) {
            const size_t bytes = make_bmp(file, bits[i], top_down, 0);
            assert_null(read_bytes(&p, file, bytes));
            assert_true(p.width_px == WIDTH && p.height_px == HEIGHT && p.bytes == 1);
            assert_int_equal(p.coloured, bits[i] > 8);
            for (int y = 0; y < HEIGHT; y++)
                for (int x = 0; x < WIDTH; x++) {
                    uint8_t rgb[3];
                    colour(x, y, 0, rgb);
                    const int luma = (299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000;
                    assert_int_equal(((uint8_t *)p.pixels)[y * WIDTH + x], bits[i] == 8 ? 3 * (x + 10 * y) : luma);
                }
            for (size_t cut = 2; cut < bytes; cut += 7) assert_non_null(read_bytes(&p, file, cut));
        }
    make_bmp(file, 24, 0, 1);
    put(file + 28, 4, 2);
    assert_non_null(strstr(read_bytes(&p, file, 200), "a BMP of 4 bits, compression 0: only 8, 24 and 32 bits"));
    make_bmp(file, 8, 0, 1);
    put(file + 30, 1, 4);
    assert_non_null(strstr(read_bytes(&p, file, 1100), "a BMP of 8 bits, compression 1"));
    make_bmp(file, 24, 0, 1);
    put(file + 18, 0x7fffffff, 4);
    assert_non_null(strstr(read_bytes(&p, file, 200), "not within 1.."));
    picture_free(&p);
}

static void jpeg_by_libjpeg(void **state)
{
    picture_t p = {0};
    (void)state;
#ifdef HAVE_JPEG
    assert_null(read_bytes(&p, jpeg, sizeof jpeg));
    assert_true(p.width_px == 32 && p.height_px == 16 && p.bytes == 1 && !p.coloured);
    for (int i = 0; i < 32 * 16; i++) assert_in_range(((uint8_t *)p.pixels)[i] + 3 - (10 + 7 * (i % 32)), 0, 6);
    for (size_t cut = 4; cut < sizeof jpeg - 2; cut += 5)
        assert_non_null(strstr(read_bytes(&p, jpeg, cut), "truncated or damaged JPEG"));
#else
    assert_non_null(strstr(read_bytes(&p, jpeg, sizeof jpeg), "a JPEG, and this build has no libjpeg"));
#endif
    picture_free(&p);
}

static void names(void **state)
{
    (void)state;
    assert_true(picture_named("a.JPG") && picture_named("b.jpeg") && picture_named("c.bmp") && picture_named("d.png"));
    assert_false(picture_named(".a.jpg") || picture_named("jpg") || picture_named("a.gif"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bmp),
        cmocka_unit_test(jpeg_by_libjpeg),
        cmocka_unit_test(names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
