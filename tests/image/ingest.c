/* SPDX-License-Identifier: MIT */
/* ingest: every format at every value, odd sizes and pitches, masks; nothing else in the arena changes. Sources end
 * right before an inaccessible page, as the lower right part of a larger image may. */
#define _DEFAULT_SOURCE
#include <sys/mman.h>
#include <unistd.h>

#include "tests/fixture/stage.h"

/* ---- sources ----------------------------------------------------------------------------------------------------- */

/** Memory region that ends at an inaccessible page. */
struct region {
    uint8_t *start, *end;
};
static struct region picture_region[VFRONT_CAMERAS], mask_region[VFRONT_CAMERAS];

static struct region make_region(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (bytes + page - 1) / page * page;
    uint8_t *start = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(start != MAP_FAILED);
    assert_int_equal(mprotect(start + size, page, PROT_NONE), 0);
    return (struct region){start, start + size};
}

static int make_regions(void **state)
{
    (void)state;
    for (int i = 0; i < VFRONT_CAMERAS; i++) {
        picture_region[i] = make_region((size_t)VFRONT_HEIGHT * (2 * VFRONT_WIDTH + 128));
        mask_region[i] = make_region((size_t)VFRONT_HEIGHT * (VFRONT_WIDTH + 128));
    }
    return 0;
}

static int two_bytes(uint32_t format) { return format != VFRONT_GREY8 && format != VFRONT_NV12; }

/** Source of noise for a camera, with `gap` bytes of padding behind each row. */
static void make_source(int32_t camera, uint32_t format, uint32_t gap, int with_mask)
{
    const struct vf_level *l = &step.geometry.raw[camera];
    const uint32_t row = (uint32_t)l->width * (two_bytes(format) ? 2 : 1), rows = (uint32_t)l->height - 1;
    struct vf_source *source = &pinned.params.source[camera];
    scribble(&pinned.params.t_ns, sizeof pinned.params - offsetof(struct vf_params, t_ns));
    source->format = format;
    source->pitch = row + gap;
    source->mask_pitch = (uint32_t)l->width + gap / 2;
    source->data = picture_region[camera].end - (rows * source->pitch + row);
    source->mask = with_mask ? mask_region[camera].end - (rows * source->mask_pitch + (uint32_t)l->width) : NULL;
    scribble((uint8_t *)(uintptr_t)source->data, rows * source->pitch + row);
    if (with_mask) scribble((uint8_t *)(uintptr_t)source->mask, rows * source->mask_pitch + (uint32_t)l->width);
}

/* ---- oracle ------------------------------------------------------------------------------------------------------ */

/** Grey level of a value in 0..white: the range in 256 equal parts; larger values saturate. */
static uint8_t shade(unsigned value, unsigned white)
{
    return value > white ? 255 : (uint8_t)floor(256.0 * value / (white + 1.0));
}

static uint8_t shade_at(const struct vf_source *source, int32_t x, int32_t y)
{
    const uint8_t *row = source->data + (size_t)y * source->pitch;
    uint16_t value;
    memcpy(&value, two_bytes(source->format) ? row + 2 * x : row, 1 + (size_t)two_bytes(source->format));
    switch (source->format) {
    case VFRONT_GREY8:
    case VFRONT_NV12: return row[x];
    case VFRONT_YUYV: return row[2 * x];
    case VFRONT_GREY10: return shade(value, 1023);
    case VFRONT_GREY12: return shade(value, 4095);
    default: return shade(value, 65535);
    }
}

static void expect_camera(int32_t camera)
{
    const struct vf_level *l = &step.geometry.raw[camera];
    const struct vf_source *source = &pinned.params.source[camera];
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            expected.ingest.picture[step.parity][camera][y * l->pitch + x] = shade_at(source, x, y);
            if (source->mask)
                expected.ingest.mask_frame[camera][y * l->pitch + x] =
                    source->mask[(size_t)y * source->mask_pitch + (size_t)x];
        }
}

/** Runs the stage and compares the whole arena. */
static void run_and_compare(const char *what)
{
    const struct vf_params given = pinned.params;
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++) expect_camera(camera);
    expected.ingest.params = given;
    RUN(ingest);
    same_arena(what);
    assert_memory_equal(&pinned.params, &given, sizeof given);
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static const struct size {
    int32_t width, height;
} size[] = {{16, 16}, {17, 31},  {33, 64},   {63, 16},   {64, 17},
            {65, 19}, {127, 40}, {641, 479}, {752, 480}, {VFRONT_WIDTH, VFRONT_HEIGHT}};

static void one_picture(struct size z, uint32_t format, uint32_t gap)
{
    char what[96];
    const int with_mask = roll(2);
    snprintf(what, sizeof what, "%dx%d format %u gap %u mask %d", z.width, z.height, format, gap, with_mask);
    set_up(1, z.width, z.height, roll(3) == 0);
    make_source(0, format, gap, with_mask);
    run_and_compare(what);
}

static void formats_sizes_pitches_masks(void **state)
{
    static const uint32_t gap[] = {0, 2, 38, 64};
    (void)state;
    shake(1);
    scribble_arena();
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        for (uint32_t format = VFRONT_GREY8; format <= VFRONT_YUYV; format++)
            for (size_t k = 0; k < sizeof gap / sizeof *gap; k++)
                if (fits(size[i].width, size[i].height, 0))
                    one_picture(size[i], format, gap[k] + (gap[k] && !two_bytes(format))); /* odd where it may be */
}

static void cameras_of_two_sizes_and_formats(void **state)
{
    (void)state;
    if (VFRONT_CAMERAS < 2 || !fits(67, 41, 0)) skip();
    shake(2);
    scribble_arena();
    for (int32_t with_mask = 0; with_mask < 4; with_mask++) {
        set_up(VFRONT_CAMERAS, 67, 41, 0);
        lay_out_levels(VFRONT_CAMERAS - 1, 50, 53, 0);
        make_source(0, VFRONT_GREY12, 2, with_mask & 1);
        make_source(VFRONT_CAMERAS - 1, VFRONT_GREY8, 3, with_mask & 2);
        run_and_compare("two cameras");
    }
}

/** All values of 16 bits, in rows of 64. */
static void every_value_of_two_bytes(void **state)
{
    (void)state;
    if (!fits(64, 64, 0)) skip();
    shake(3);
    scribble_arena();
    for (uint32_t format = VFRONT_GREY10; format <= VFRONT_GREY16; format++)
        for (int32_t first = 0; first < 65536; first += 64 * 64) {
            set_up(1, 64, 64, 0);
            make_source(0, format, 0, 0);
            for (int32_t i = 0; i < 64 * 64; i++) {
                const uint16_t value = (uint16_t)(first + i);
                memcpy((uint8_t *)(uintptr_t)pinned.params.source[0].data + 2 * i, &value, 2);
            }
            run_and_compare("every value");
        }
}

/** By hand. */
static void known_values(void **state)
{
    static const struct {
        uint32_t format;
        uint16_t value;
        uint8_t grey;
    } known[] = {
        {VFRONT_GREY10, 0, 0},       {VFRONT_GREY10, 3, 0},       {VFRONT_GREY10, 4, 1},
        {VFRONT_GREY10, 512, 128},   {VFRONT_GREY10, 1019, 254},  {VFRONT_GREY10, 1020, 255},
        {VFRONT_GREY10, 1023, 255},  {VFRONT_GREY10, 1024, 255},  {VFRONT_GREY10, 5000, 255},
        {VFRONT_GREY10, 65535, 255}, {VFRONT_GREY12, 15, 0},      {VFRONT_GREY12, 16, 1},
        {VFRONT_GREY12, 4079, 254},  {VFRONT_GREY12, 4080, 255},  {VFRONT_GREY12, 4096, 255},
        {VFRONT_GREY12, 61440, 255}, {VFRONT_GREY16, 255, 0},     {VFRONT_GREY16, 256, 1},
        {VFRONT_GREY16, 32767, 127}, {VFRONT_GREY16, 32768, 128}, {VFRONT_GREY16, 65279, 254},
        {VFRONT_GREY16, 65535, 255},
    };
    (void)state;
    shake(4);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        set_up(1, 16, 16, 0);
        make_source(0, known[i].format, 0, 0);
        memcpy((uint8_t *)(uintptr_t)pinned.params.source[0].data + 2 * (5 * 16 + 7), &known[i].value, 2);
        RUN(ingest);
        const int is = memory.ingest.picture[step.parity][0][5 * step.geometry.level[0][0].pitch + 7];
        REQUIRE(is == known[i].grey, "format %u value %d: is %d, should be %d", known[i].format, known[i].value, is,
                known[i].grey);
    }
}

/** vf_ingest_pixel(), shared by both forms. The host form copies one-byte formats without it. */
static void rule_of_a_pixel(void **state)
{
    (void)state;
    shake(7);
    for (uint32_t format = VFRONT_GREY8; format <= VFRONT_YUYV; format++) {
        set_up(1, 33, 64, 0);
        make_source(0, format, 4, 0);
        const struct vf_source *source = &pinned.params.source[0];
        for (int32_t y = 0; y < 64; y++)
            for (int32_t x = 0; x < 33; x++)
                assert_int_equal(vf_ingest_pixel(source->data + (size_t)y * source->pitch, format, x),
                                 shade_at(source, x, y));
    }
}

/** Luma of NV12 and YUYV: chroma has no effect. */
static void chroma_has_no_effect(void **state)
{
    (void)state;
    shake(5);
    set_up(1, 17, 16, 0);
    make_source(0, VFRONT_YUYV, 6, 0);
    uint8_t *data = (uint8_t *)(uintptr_t)pinned.params.source[0].data;
    for (int32_t y = 0; y < 16; y++)
        for (int32_t x = 0; x < 17; x++) {
            data[y * 40 + 2 * x] = (uint8_t)(10 * y + x);
            data[y * 40 + 2 * x + 1] = 255;
        }
    RUN(ingest);
    for (int32_t y = 0; y < 16; y++)
        for (int32_t x = 0; x < 17; x++)
            assert_int_equal(memory.ingest.picture[step.parity][0][y * 64 + x], 10 * y + x);
}

/** vf_usable(): 0 under either mask. A mask that is not given has no effect, whatever its plane contains. */
static void usable_under_masks(void **state)
{
    (void)state;
    shake(6);
    for (int32_t given = 0; given < 4; given++) {
        set_up(1, 19, 23, 1);
        make_source(0, VFRONT_GREY8, 5, given & 1);
        step.geometry.masked[0] = given >> 1;
        for (size_t i = 0; i < sizeof memory.ingest.mask_static[0]; i++)
            memory.ingest.mask_static[0][i] = (uint8_t)(roll(2) * 7);
        for (int32_t i = 0; given & 1 && i < 22 * 21 + 19; i++)
            ((uint8_t *)(uintptr_t)pinned.params.source[0].mask)[i] = (uint8_t)(roll(2) * 128);
        RUN(ingest);
        const struct vf_masks *masks = &VIEW(detect)->masks;
        const int framed = vf_framed(&memory.ingest.params, 0);
        assert_int_equal(framed, given & 1);
        for (int32_t y = 0; y < 23; y++)
            for (int32_t x = 0; x < 19; x++) {
                const int frame_forbids = given & 1 && pinned.params.source[0].mask[y * 21 + x] == 0;
                const int static_forbids = given >> 1 &&
                                           memory.ingest.mask_static[0][y * step.geometry.level[0][0].pitch + x] == 0;
                const int usable = vf_usable(masks, 0, framed, y * step.geometry.raw[0].pitch + x) != 0;
                REQUIRE(usable == !(frame_forbids || static_forbids), "masks %d at %d, %d", given, x, y);
            }
    }
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(formats_sizes_pitches_masks),
        cmocka_unit_test(cameras_of_two_sizes_and_formats),
        cmocka_unit_test(every_value_of_two_bytes),
        cmocka_unit_test(known_values),
        cmocka_unit_test(rule_of_a_pixel),
        cmocka_unit_test(chroma_has_no_effect),
        cmocka_unit_test(usable_under_masks),
    };
    return cmocka_run_group_tests_name("ingest", test, make_regions, NULL);
}
