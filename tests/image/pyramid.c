/* SPDX-License-Identifier: MIT */
/* pyramid: every level of odd and even sizes against means in double precision, tile statistics against a count over
 * the whole image, results by hand; nothing else of the arena changes. */
#include "tests/fixture/stage.h"

/* ---- images ------------------------------------------------------------------------------------------------------ */

enum fill { NOISE, BLACK, WHITE, CHECKER, LIMITS, RAMP, FILLS };

static uint8_t paint(enum fill fill, int32_t x, int32_t y)
{
    static const uint8_t limit[] = {4, 5, 6, 249, 250, 251};
    switch (fill) {
    case NOISE: return (uint8_t)roll(256);
    case BLACK: return 0;
    case WHITE: return 255;
    case CHECKER: return (x + y) % 2 ? 255 : 0;
    case LIMITS: return limit[roll(6)];
    default: return (uint8_t)(x + 3 * y);
    }
}

/** Level 0: the raw or the rectified image. */
static uint8_t *level0_of(struct vf_memory *m, int32_t camera)
{
#if VFRONT_RECTIFY
    if (step.geometry.rectified) return m->rectify.picture[step.parity][camera];
#endif
    return m->ingest.picture[step.parity][camera];
}

static uint8_t *pixel(struct vf_memory *m, int32_t camera, int32_t level, int32_t x, int32_t y)
{
    const struct vf_level *l = &step.geometry.level[camera][level];
    if (level == 0) return level0_of(m, camera) + y * l->pitch + x;
    return &m->pyramid.pixels[step.parity][camera][l->offset + (uint32_t)(y * l->pitch + x)];
}

/** Fills level 0 within its size. The padding after each row remains noise and must have no effect. */
static void draw(int32_t camera, enum fill fill)
{
    const struct vf_level *l = &step.geometry.level[camera][0];
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++)
            *pixel(&memory, camera, 0, x, y) = *pixel(&expected, camera, 0, x, y) = paint(fill, x, y);
}

/* ---- oracle ------------------------------------------------------------------------------------------------------ */

static int grey(int32_t camera, int32_t level, int32_t x, int32_t y) { return *pixel(&expected, camera, level, x, y); }

static void expect_levels(int32_t camera)
{
    for (int32_t level = 1; level < step.geometry.levels; level++) {
        const struct vf_level *l = &step.geometry.level[camera][level];
        for (int32_t y = 0; y < l->height; y++)
            for (int32_t x = 0; x < l->width; x++) {
                double mean = 0.0;
                for (int32_t i = 0; i < 4; i++) mean += grey(camera, level - 1, 2 * x + i % 2, 2 * y + i / 2) / 4.0;
                *pixel(&expected, camera, level, x, y) = (uint8_t)floor(mean + 0.5);
            }
    }
}

/** Sum of absolute differences to the right and downwards within the 2x2 block at even coordinates; 0 in an
 *  incomplete block. */
static uint32_t edges_at(int32_t camera, int32_t x, int32_t y)
{
    const struct vf_level *l = &step.geometry.level[camera][0];
    const int whole = (x | 1) < l->width && (y | 1) < l->height;
    uint32_t sum = 0;
    if (whole && x % 2 == 0) sum += (uint32_t)abs(grey(camera, 0, x, y) - grey(camera, 0, x + 1, y));
    if (whole && y % 2 == 0) sum += (uint32_t)abs(grey(camera, 0, x, y) - grey(camera, 0, x, y + 1));
    return sum;
}

static void expect_stats(int32_t camera)
{
    const struct vf_level *l = &step.geometry.level[camera][0];
    const int32_t across = (int32_t)ceil(l->width / 64.0), down = (int32_t)ceil(l->height / 64.0);
    struct vf_tile_stats *stats = expected.pyramid.tile[camera];
    memset(stats, 0, sizeof *stats * (size_t)(across * down));
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            struct vf_tile_stats *tile = &stats[y / 64 * across + x / 64];
            tile->sum += (uint32_t)grey(camera, 0, x, y);
            tile->dark += grey(camera, 0, x, y) < 6;
            tile->bright += grey(camera, 0, x, y) > 249;
            tile->edge += edges_at(camera, x, y);
        }
}

static void run_and_compare(const char *what)
{
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++) {
        expect_levels(camera);
        expect_stats(camera);
    }
    RUN(pyramid);
    same_arena(what);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static const struct size {
    int32_t width, height;
} size[] = {{16, 16},
            {17, 31},
            {31, 17},
            {33, 64},
            {64, 33},
            {64, 64},
            {63, 65},
            {65, 63},
            {128, 64},
            {127, 129},
            {191, 130},
            {257, 255},
            {512, 40},
            {40, 512},
            {641, 479},
            {752, 480},
            {1241, 376},
            {1919, 1199},
            {VFRONT_WIDTH, VFRONT_HEIGHT}};

static void levels_and_stats_of_all_sizes(void **state)
{
    (void)state;
    shake(1);
    scribble_arena();
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        for (int32_t fill = 0; fill < FILLS; fill++) {
            char what[64];
            snprintf(what, sizeof what, "%dx%d fill %d", size[i].width, size[i].height, fill);
            if (!fits(size[i].width, size[i].height, 0)) continue;
            if (size[i].width * size[i].height > 500000 && fill != NOISE) continue;
            set_up(1, size[i].width, size[i].height, fill % 2);
            step.geometry.rectified = VFRONT_RECTIFY && fill / 2 % 2;
            draw(0, (enum fill)fill);
            run_and_compare(what);
        }
}

static void cameras_of_two_sizes(void **state)
{
    (void)state;
    if (VFRONT_CAMERAS < 2 || !fits(150, 100, 0)) skip();
    shake(2);
    scribble_arena();
    for (int32_t i = 0; i < 4; i++) {
        set_up(VFRONT_CAMERAS, 150, 99, 0);
        lay_out_levels(i % 2 ? 0 : VFRONT_CAMERAS - 1, 83, 100, 0);
        step.geometry.rectified = VFRONT_RECTIFY && i / 2 % 2;
        draw(0, NOISE);
        draw(VFRONT_CAMERAS - 1, LIMITS);
        run_and_compare("two cameras");
    }
}

/** Statistics of all tiles sum to those of the image, counted without tiles. */
static void stats_of_the_whole_picture(void **state)
{
    (void)state;
    shake(3);
    for (size_t i = 0; i < sizeof size / sizeof *size; i++) {
        uint64_t sum = 0, dark = 0, bright = 0, edge = 0, tiles_sum = 0, tiles_dark = 0, tiles_bright = 0,
                 tiles_edge = 0;
        if (!fits(size[i].width, size[i].height, 0) || size[i].width * size[i].height > 500000) continue;
        set_up(1, size[i].width, size[i].height, 0);
        draw(0, i % 2 ? LIMITS : NOISE);
        for (int32_t y = 0; y < size[i].height; y++)
            for (int32_t x = 0; x < size[i].width; x++) {
                sum += (uint64_t)grey(0, 0, x, y);
                dark += grey(0, 0, x, y) <= 5;
                bright += grey(0, 0, x, y) >= 250;
                edge += edges_at(0, x, y);
            }
        RUN(pyramid);
        for (int32_t t = 0; t < (size[i].width + 63) / 64 * ((size[i].height + 63) / 64); t++) {
            const struct vf_tile_stats *stats = &memory.pyramid.tile[0][t];
            tiles_sum += stats->sum;
            tiles_dark += stats->dark;
            tiles_bright += stats->bright;
            tiles_edge += stats->edge;
        }
        REQUIRE(sum == tiles_sum && dark == tiles_dark && bright == tiles_bright && edge == tiles_edge, "%dx%d",
                size[i].width, size[i].height);
    }
}

/** By hand: means of four, halves up. */
static void known_means(void **state)
{
    static const struct {
        uint8_t four[4], mean;
    } known[] = {
        {{0, 0, 0, 0}, 0},           {{0, 0, 0, 1}, 0},           {{0, 1, 0, 1}, 1},
        {{1, 1, 1, 0}, 1},           {{255, 255, 255, 255}, 255}, {{255, 254, 255, 255}, 255},
        {{254, 254, 255, 255}, 255}, {{254, 254, 254, 255}, 254}, {{10, 20, 30, 41}, 25},
        {{10, 20, 30, 42}, 26},      {{255, 0, 0, 0}, 64},        {{0, 253, 0, 0}, 63},
    };
    (void)state;
    if (!HALF || !fits(33, 33, 0)) skip();
    shake(4);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        set_up(1, 33, 33, 0);
        draw(0, NOISE);
        for (int32_t k = 0; k < 4; k++) *pixel(&memory, 0, 0, 10 + k % 2, 30 + k / 2) = known[i].four[k];
        RUN(pyramid);
        assert_int_equal(*pixel(&memory, 0, HALF, 5, 15), known[i].mean);
    }
}

/** By hand: columns of 0, 3, 6, 9 ... have means of 1.5, 7.5 ..., halves up 2, 8 ..., and those have means of 5, 17
 *  ... */
static void known_ramp(void **state)
{
    (void)state;
    if (!QUARTER || !fits(64, 64, 0)) skip();
    shake(5);
    set_up(1, 64, 64, 0);
    for (int32_t i = 0; i < 64 * 64; i++) *pixel(&memory, 0, 0, i % 64, i / 64) = (uint8_t)(3 * (i % 64));
    RUN(pyramid);
    for (int32_t i = 0; i < 32 * 32; i++) assert_int_equal(*pixel(&memory, 0, HALF, i % 32, i / 32), 6 * (i % 32) + 2);
    for (int32_t i = 0; i < 16 * 16; i++)
        assert_int_equal(*pixel(&memory, 0, QUARTER, i % 16, i / 16), 12 * (i % 16) + 5);
}

/** By hand: sums of an image of 17x19, white except one black and two nearly white pixels. */
static void known_stats(void **state)
{
    (void)state;
    shake(6);
    set_up(1, 17, 19, 0);
    draw(0, WHITE);
    *pixel(&memory, 0, 0, 4, 7) = 0;    /* 2x2 of (4, 6): two differences of 255 */
    *pixel(&memory, 0, 0, 16, 3) = 249; /* the last column is in no 2x2 */
    *pixel(&memory, 0, 0, 1, 18) = 250; /* nor is the last row */
    RUN(pyramid);
    const struct vf_tile_stats *stats = &memory.pyramid.tile[0][0];
    assert_int_equal(stats->sum, 17 * 19 * 255 - 255 - 6 - 5);
    assert_int_equal(stats->dark, 1);
    assert_int_equal(stats->bright, 17 * 19 - 2);
    assert_int_equal(stats->edge, 510);
}

/** Largest sums of a tile. */
static void extreme_stats(void **state)
{
    (void)state;
    shake(7);
    set_up(1, 64, 64, 0);
    draw(0, WHITE);
    RUN(pyramid);
    assert_int_equal(memory.pyramid.tile[0][0].sum, 64 * 64 * 255);
    assert_int_equal(memory.pyramid.tile[0][0].bright, 64 * 64);
    assert_int_equal(memory.pyramid.tile[0][0].edge, 0);
    draw(0, CHECKER);
    RUN(pyramid);
    assert_int_equal(memory.pyramid.tile[0][0].edge, 32 * 32 * 4 * 255);
    assert_int_equal(memory.pyramid.tile[0][0].dark, 64 * 32);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(levels_and_stats_of_all_sizes),
        cmocka_unit_test(cameras_of_two_sizes),
        cmocka_unit_test(stats_of_the_whole_picture),
        cmocka_unit_test(known_means),
        cmocka_unit_test(known_ramp),
        cmocka_unit_test(known_stats),
        cmocka_unit_test(extreme_stats),
    };
    return cmocka_run_group_tests_name("pyramid", test, NULL, NULL);
}
