/* SPDX-License-Identifier: MIT */
/* freeze: wholly and partly frozen images of any size, by hand and at random, against an oracle; and nothing else in
 * the arena changes. */
#include "tests/fixture/stage.h"

/* ---- images ------------------------------------------------------------------------------------------------------ */

/** Pixel of an image of the current or the previous frame. */
static uint8_t *pixel(int32_t camera, int before, int32_t x, int32_t y)
{
    return &memory.ingest.picture[step.parity ^ before][camera][y * step.geometry.raw[camera].pitch + x];
}

/** Image of a camera: rows from `first` to before `end` repeat, with an edge of `texture` grey levels at column `edge`;
 *  all others are new. */
static void next_picture(int32_t camera, int32_t first, int32_t end, int32_t edge, int32_t texture)
{
    const struct vf_level *l = &step.geometry.raw[camera];
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            *pixel(camera, 1, x, y) = (uint8_t)(y >= first && y < end ? 100 + (x == edge ? texture : 0) : roll(128));
            *pixel(camera, 0, x, y) = (uint8_t)(y >= first && y < end ? *pixel(camera, 1, x, y) : 128 + roll(128));
        }
}

/* ---- oracle ------------------------------------------------------------------------------------------------------ */

/** 1 if a row that did not change has two neighbours 16 grey levels apart, both in the same 16 columns. */
static int textured(int32_t camera, int32_t y)
{
    for (int32_t x = 1; x < step.geometry.raw[camera].width; x++)
        if (x % 16 && abs(*pixel(camera, 0, x, y) - *pixel(camera, 0, x - 1, y)) >= 16) return 1;
    return 0;
}

/** Factor of a position in the checksum: two rounds of multiplication and shift. */
static uint64_t factor_of(int32_t x, int32_t y)
{
    const uint64_t mask = UINT32_MAX;
    uint64_t h = ((uint64_t)y * 65536 + (uint64_t)x) * 2654435761u & mask;
    h = (h ^ h >> 15) * 2246822519u & mask;
    return h ^ h >> 13;
}

/** Checksum pixel by pixel, and the latest image that has it. */
static void expect_older(int32_t camera)
{
    const struct vf_level *l = &step.geometry.raw[camera];
    struct vf_freeze_memory *f = &expected.freeze;
    struct vf_freeze_checksum *sum = &f->sum[step.parity][camera];
    const uint64_t *before = f->shown[step.parity ^ 1][camera].sum;
    uint64_t *now = f->shown[step.parity][camera].sum;
    uint32_t *repeated = &f->repeated[step.parity][camera];
    for (int32_t y = 0; y < l->height; y += 4) {
        int texture = 0;
        for (int32_t x = 0; x < l->width; x++) {
            sum->sum += ((uint64_t)*pixel(camera, 0, x, y) << 8 * (x % 4)) * factor_of(x & ~3, y);
            texture |= x % 16 && abs(*pixel(camera, 0, x, y) - *pixel(camera, 0, x - 1, y)) >= 16;
        }
        sum->textured += (uint32_t)texture;
    }
    const uint64_t value = memory.ingest.params.frame && sum->textured >= 8 ? sum->sum + !sum->sum : 0;
    now[0] = value;
    for (int i = 1; i < 8; i++) now[i] = memory.ingest.params.frame ? before[i - 1] : 0;
    *repeated = 0;
    for (uint32_t i = 0; i < 8 && value && memory.ingest.params.frame; i++)
        if (before[i] == value) {
            *repeated = i ? i + 1 : 0;
            break;
        }
    memset(&f->sum[step.parity ^ 1][camera], 0, sizeof *sum);
}

static void expect_camera(int32_t camera)
{
    const struct vf_level *l = &step.geometry.raw[camera];
    uint32_t same = expected.freeze.rows[step.parity][camera].same,
             textured_same = expected.freeze.rows[step.parity][camera].textured_same;
    for (int32_t y = 0; y < l->height; y++) {
        int changed = 0;
        for (int32_t x = 0; x < l->width; x++) changed |= *pixel(camera, 0, x, y) != *pixel(camera, 1, x, y);
        same += changed == 0;
        textured_same += changed == 0 && textured(camera, y);
    }
    const int frozen = memory.ingest.params.frame > 0 && (same == (uint32_t)l->height || textured_same >= 8);
    const uint32_t before = expected.freeze.frames[step.parity ^ 1][camera];
    expected.freeze.frames[step.parity][camera] = !frozen ? 0 : before == UINT32_MAX ? before : before + 1;
    expected.freeze.rows[step.parity][camera].same = same;
    expected.freeze.rows[step.parity][camera].textured_same = textured_same;
    memset(&expected.freeze.rows[step.parity ^ 1][camera], 0, sizeof expected.freeze.rows[0][0]);
    expect_older(camera);
}

/** Runs the stage and compares the whole arena. */
static void run_and_compare(const char *what)
{
    memcpy(&expected, &memory, sizeof memory);
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++) expect_camera(camera);
    RUN(freeze);
    same_arena(what);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/** By hand: the number of frames counted. */
static void rows_by_hand(void **state)
{
    enum { HEIGHT = 41 };
    static const struct {
        int32_t first, end, edge, texture;
        uint64_t frame;
        uint32_t frozen;
    } variant[] = {
        {0, HEIGHT, 40, 16, 0, 0}, {0, HEIGHT, 40, 16, 1, 1}, /* whole image */
        {0, HEIGHT, 40, 16, 2, 2}, {0, 0, 40, 16, 3, 0},      /* then it continues */
        {0, HEIGHT, 40, 0, 4, 1},  {0, HEIGHT, 40, 0, 5, 2},  /* without texture, as with a covered camera */
        {0, HEIGHT, 40, 0, 6, 3},  {0, HEIGHT, 40, 0, 0, 0},  /* frame 0 has no predecessor */
        {10, 30, 40, 0, 1, 0},     {10, 30, 40, 15, 2, 0},    /* a band without texture, as a border: not frozen */
        {10, 18, 40, 16, 3, 1},    {10, 18, 40, 16, 4, 2},    /* eight rows with texture */
        {10, 17, 40, 16, 5, 0},    {33, 41, 66, 16, 6, 1},    /* seven; the last rows, the last column */
        {0, 8, 0, 16, 7, 2},       {1, HEIGHT, 40, 0, 8, 0},  /* the first ones; all rows but one, without texture */
    };
    (void)state;
    if (!fits(67, HEIGHT, 0)) skip();
    shake(1);
    set_up(1, 67, HEIGHT, 0);
    memset(&memory, 0, sizeof memory);
    for (size_t i = 0; i < sizeof variant / sizeof *variant; i++) {
        step.parity = (int32_t)(i % 2);
        memory.ingest.params.frame = variant[i].frame;
        next_picture(0, variant[i].first, variant[i].end, variant[i].edge, variant[i].texture);
        run_and_compare("rows by hand");
        REQUIRE(memory.freeze.frames[step.parity][0] == variant[i].frozen, "frame %zu: frozen for %u, should be %u", i,
                memory.freeze.frames[step.parity][0], variant[i].frozen);
    }
}

/** One pixel of the whole image differs: it is not frozen. Every column, the ends of chunks among them. */
static void one_pixel_moves(void **state)
{
    enum { WIDTH = 67, HEIGHT = 41 };
    (void)state;
    if (!fits(WIDTH, HEIGHT, 0)) skip();
    shake(2);
    set_up(1, WIDTH, HEIGHT, 0);
    memset(&memory, 0, sizeof memory);
    memory.ingest.params.frame = 6;
    for (int32_t x = -1; x < WIDTH; x++) {
        memset(&memory.freeze, 0, sizeof memory.freeze);
        next_picture(0, 0, HEIGHT, 40, 0);
        if (x >= 0) ++*pixel(0, 0, x, x % HEIGHT);
        RUN(freeze);
        assert_int_equal(memory.freeze.frames[step.parity][0], x < 0);
    }
}

/** By hand: images that repeat after 1 to 9 frames; images that differ by one grey level of one pixel in every fourth
 *  row, or in another row; images with little texture. */
static void older_pictures(void **state)
{
    enum { WIDTH = 67, HEIGHT = 41 };
    static const struct {
        int picture, level, row, flat;
        uint32_t repeated;
    } variant[] = {
        {2, 0, 0, 0, 0}, /* nothing of frame 0 is kept */
        {1, 0, 0, 0, 0}, {2, 0, 0, 0, 0}, {1, 0, 0, 0, 2},  {1, 0, 0, 0, 0},  {3, 0, 0, 0, 0},
        {4, 0, 0, 0, 0}, {5, 0, 0, 0, 0}, {6, 0, 0, 0, 0},  {7, 0, 0, 0, 0},  {8, 0, 0, 0, 0},
        {9, 0, 0, 0, 0}, {2, 0, 0, 0, 0}, {3, 0, 0, 0, 8},  {3, 1, 8, 0, 0},  {4, 0, 0, 0, 0},
        {3, 1, 9, 0, 3}, {3, 1, 8, 0, 3}, {10, 0, 0, 1, 0}, {11, 0, 0, 1, 0}, {10, 0, 0, 1, 0},
    };
    (void)state;
    if (!fits(WIDTH, HEIGHT, 0)) skip();
    shake(4);
    set_up(1, WIDTH, HEIGHT, 0);
    memset(&memory, 0, sizeof memory);
    for (size_t i = 0; i < sizeof variant / sizeof *variant; i++) {
        step.parity = (int32_t)(i % 2);
        memory.ingest.params.frame = i;
        for (int32_t y = 0; y < HEIGHT; y++)
            for (int32_t x = 0; x < WIDTH; x++) {
                const uint32_t noise = ((uint32_t)variant[i].picture * 977u + (uint32_t)(y * WIDTH + x)) * 2654435761u;
                *pixel(0, 0, x, y) = (uint8_t)(variant[i].flat ? (uint32_t)variant[i].picture : noise >> 24);
            }
        *pixel(0, 0, 66, variant[i].row) = (uint8_t)(*pixel(0, 0, 66, variant[i].row) ^ variant[i].level);
        run_and_compare("older pictures");
        REQUIRE(memory.freeze.repeated[step.parity][0] == variant[i].repeated,
                "frame %zu: repeated after %u, should be %u", i, memory.freeze.repeated[step.parity][0],
                variant[i].repeated);
    }
}

/** Sizes, padding after the rows, two cameras of two sizes; rows that repeat with and without texture. */
static void sizes_and_cameras(void **state)
{
    static const struct {
        int32_t width, height;
    } size[] = {{16, 16}, {17, 31}, {63, 16}, {64, 17}, {65, 19}, {127, 40}, {641, 479}, {752, 480}};
    (void)state;
    shake(3);
    scribble_arena();
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        for (int32_t variant = 0; variant < 6; variant++) {
            if (!fits(size[i].width, size[i].height, 0)) continue;
            set_up(variant & 1 ? VFRONT_CAMERAS : 1, size[i].width, size[i].height, roll(3) == 0);
            if (VFRONT_CAMERAS > 1 && variant & 1 && fits(50, 53, 0)) lay_out_levels(VFRONT_CAMERAS - 1, 50, 53, 0);
            memory.ingest.params.frame = (uint64_t)roll(2);
            memset(memory.freeze.rows[step.parity], 0, sizeof memory.freeze.rows[0]); /* as the last frame leaves it */
            memset(memory.freeze.sum[step.parity], 0, sizeof memory.freeze.sum[0]);
            for (int32_t c = 0; c < step.geometry.cameras; c++) {
                const int32_t height = step.geometry.raw[c].height, first = variant < 2 ? 0 : roll(height);
                if (variant == 5) memory.freeze.frames[step.parity ^ 1][c] = UINT32_MAX;
                next_picture(c, first, variant < 2 ? height : between(first, height), roll(step.geometry.raw[c].width),
                             10 + roll(12));
            }
            run_and_compare("sizes and cameras");
        }
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(rows_by_hand),
        cmocka_unit_test(one_pixel_moves),
        cmocka_unit_test(older_pictures),
        cmocka_unit_test(sizes_and_cameras),
    };
    return cmocka_run_group_tests_name("freeze", test, NULL, NULL);
}
