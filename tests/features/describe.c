/* SPDX-License-Identifier: MIT */
/* describe: angles against the arc tangent of moments in double precision, over a disc by the table of its rows;
 * descriptors against the pattern rotated in double precision. Levels and smoothed levels are filled independently, and
 * key points lie where a test places them. */
#include "tests/fixture/stage.h"

#if VFRONT_DESCRIPTORS

#include "features/describe_pattern.h"

static const int pattern[256][4] = {VF_PATTERN_PAIRS};

/* ---- images and key points --------------------------------------------------------------------------------------- */

/** Level 0: the raw or the rectified image. */
static uint8_t *level0_of(int32_t camera)
{
#if VFRONT_RECTIFY
    if (step.geometry.rectified) return memory.rectify.picture[step.parity][camera];
#endif
    return memory.ingest.picture[step.parity][camera];
}

static uint8_t *level_row(int32_t camera, int32_t level, int32_t y)
{
    const struct vf_level *l = &step.geometry.scale[camera][level];
    if (level == 0) return level0_of(camera) + y * l->pitch;
    return &memory.scale.pixels[camera][l->offset + (uint32_t)(y * l->pitch)];
}

static uint8_t *smooth_row(int32_t camera, int32_t level, int32_t y)
{
    const struct vf_level *l = &step.geometry.scale[camera][level], *l0 = &step.geometry.scale[camera][0];
    uint8_t *all = memory.smooth.pixels[camera];
    return level == 0 ? all + y * l0->pitch : all + l0->pitch * l0->height + (ptrdiff_t)l->offset + y * l->pitch;
}

enum fill { NOISE, BINARY, RAMP, BLOBS, FAINT, FILLS };

static uint8_t shade(enum fill fill, const int32_t by[4], int32_t x, int32_t y)
{
    const double wave = sin(x * by[0] * 0.03) * cos(y * by[1] * 0.03);
    switch (fill) {
    case NOISE: return (uint8_t)roll(256);
    case BINARY: return (uint8_t)(255 * roll(2));
    case RAMP: return (uint8_t)vf_clamp(128 + (by[2] * x + by[3] * y) / 8, 0, 255);
    case BLOBS: return (uint8_t)(128.0 + 127.0 * wave);
    default: return (uint8_t)(77 + (roll(60) == 0));
    }
}

/** Fills a level, and its smoothed one with something else. */
static void paint(int32_t camera, int32_t level, enum fill fill)
{
    const struct vf_level *l = &step.geometry.scale[camera][level];
    const int32_t by[4] = {between(1, 9), between(1, 9), between(-20, 20), between(-20, 20)};
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) {
            level_row(camera, level, y)[x] = shade(fill, by, x, y);
            smooth_row(camera, level, y)[x] = shade(fill, by, y + 1, x);
        }
}

static void paint_all(int32_t camera)
{
    for (int32_t level = 0; level < step.geometry.scales; level++) paint(camera, level, (enum fill)roll(FILLS));
}

static void set_key(int32_t camera, int32_t slot, int32_t level, int32_t u, int32_t v)
{
    memory.select.key[camera][slot] = vf_detect_key(roll(2), (uint32_t)roll64(), level, u, v);
}

/** Number of groups, i.e. levels that share a quota: one per level if there are shares. Here all levels are
 *  searched. */
static int32_t groups(void) { return step.tuning.select_share_percent > 0 ? step.geometry.scales : 1; }
static int32_t first_slot(int32_t group)
{
    return step.tuning.select_share_percent > 0 ? step.geometry.share[group] : 0;
}
static int32_t slots_of(int32_t group)
{
    const int32_t *share = step.geometry.share;
    return step.tuning.select_share_percent > 0 ? share[group + 1] - share[group] : step.tuning.select_points;
}

/** Key points at least `margin` px of their level from its border, in no order; at least `least` and at most `most` of
 *  each group, within its quota. Unused entries of key[], and counts of groups that do not exist, are noise. */
static void random_keys(int32_t camera, int32_t least, int32_t most, int32_t margin)
{
    scribble(memory.select.key[camera], sizeof memory.select.key[camera]);
    for (int32_t group = 0; group < VFRONT_SCALES; group++) memory.select.count[camera][group] = (uint32_t)roll(100);
    for (int32_t group = 0; group < groups(); group++) {
        const int32_t count = between(vf_min(least, slots_of(group)), vf_min(most, slots_of(group)));
        memory.select.count[camera][group] = (uint32_t)count;
        for (int32_t i = 0; i < count; i++) {
            const int32_t level = groups() > 1 ? group : roll(step.geometry.scales);
            const struct vf_level *l = &step.geometry.scale[camera][level];
            const int32_t edge = vf_min(margin, vf_min(l->width - 1, l->height - 1) / 2);
            const int32_t u = between(edge, l->width - 1 - edge), v = between(edge, l->height - 1 - edge);
            set_key(camera, first_slot(group) + i, level, u, v);
        }
    }
}

/* ---- oracle ------------------------------------------------------------------------------------------------------ */

/** A coordinate mirrored about the first and the last pixel, step by step. */
static int32_t mirrored(int32_t i, int32_t size)
{
    while (i < 0 || i >= size) i = i < 0 ? -i : size - 1 - (i - (size - 1));
    return i;
}

static int grey_at(uint8_t *(*row)(int32_t, int32_t, int32_t), int32_t camera, int32_t level, int32_t x, int32_t y)
{
    const struct vf_level *l = &step.geometry.scale[camera][level];
    return row(camera, level, mirrored(y, l->height))[mirrored(x, l->width)];
}

struct moments {
    double x, y;
};

/** First moments of brightness over the disc of OpenCV's ORB. */
static struct moments moments_of(int32_t camera, const struct vf_corner *c)
{
    static const int half[16] = {15, 15, 15, 15, 14, 14, 14, 13, 13, 12, 11, 10, 9, 8, 6, 3};
    struct moments m = {0.0, 0.0};
    for (int32_t v = -15; v <= 15; v++)
        for (int32_t u = -half[abs(v)]; u <= half[abs(v)]; u++) {
            const int grey = grey_at(level_row, camera, c->level, c->x + u, c->y + v);
            m.x += u * grey;
            m.y += v * grey;
        }
    return m;
}

/** A pattern point rotated by an angle of this cosine and sine; unsure: near a rounding boundary. */
struct place {
    int32_t x, y;
    int unsure;
};

static int is_near_half(double v, double near) { return fabs(v - floor(v) - 0.5) < near; }

static struct place turned(double cosine, double sine, const int at[2], double near)
{
    const double x = at[0] * cosine - at[1] * sine, y = at[0] * sine + at[1] * cosine;
    const struct place p = {(int32_t)floor(x + 0.5), (int32_t)floor(y + 0.5),
                            is_near_half(x, near) || is_near_half(y, near)};
    return p;
}

static int is_darker(int32_t camera, const struct vf_corner *c, struct place a, struct place b)
{
    const int first = grey_at(smooth_row, camera, c->level, c->x + a.x, c->y + a.y);
    return first < grey_at(smooth_row, camera, c->level, c->x + b.x, c->y + b.y);
}

static int bit_of(const vfront_descriptor_t *d, int i) { return (int)(d->word[i / 32] >> (i % 32) & 1); }

static uint64_t points, bits_checked, bits_unsure, bits_differ, turns_unsure;
static double worst_angle;

/** Against the pattern rotated in double precision: bits differ only where a rotated coordinate is within 1/1000 px of
 *  a half. */
static void compare_with_doubles(int32_t camera, const struct vf_corner *c, struct moments m,
                                 const vfront_descriptor_t *d)
{
    const double length = hypot(m.x, m.y), cosine = length > 0.0 ? m.x / length : 1.0,
                 sine = length > 0.0 ? m.y / length : 0.0;
    for (int i = 0; i < 256; i++) {
        const struct place a = turned(cosine, sine, pattern[i], 0.001), b = turned(cosine, sine, pattern[i] + 2, 0.001);
        const int same = bit_of(d, i) == is_darker(camera, c, a, b), unsure = a.unsure || b.unsure;
        REQUIRE(same || unsure, "camera %d level %d %d,%d: bit %d is %d", camera, c->level, c->x, c->y, i,
                bit_of(d, i));
        bits_checked++;
        bits_unsure += (uint64_t)unsure;
        bits_differ += (uint64_t)!same;
    }
}

static int is_turned_by(int32_t camera, const struct vf_corner *c, double cos_q14, double sin_q14,
                        const vfront_descriptor_t *d)
{
    for (int i = 0; i < 256; i++) {
        const struct place a = turned(cos_q14 / 16384.0, sin_q14 / 16384.0, pattern[i], 0.0);
        const struct place b = turned(cos_q14 / 16384.0, sin_q14 / 16384.0, pattern[i] + 2, 0.0);
        if (bit_of(d, i) != is_darker(camera, c, a, b)) return 0;
    }
    return 1;
}

/** All bits against the pattern rotated by cosine and sine in 1/16384, which doubles represent exactly. Single
 *  precision may round a value within 3/1000 of a half to either side, so up to two of each are tried. */
static void compare_exactly(int32_t camera, const struct vf_corner *c, struct moments m, const vfront_descriptor_t *d)
{
    const double length = hypot(m.x, m.y), half = 0.5 - 0.003;
    const double x = length > 0.0 ? 16384.0 * m.x / length : 16384.0, y = length > 0.0 ? 16384.0 * m.y / length : 0.0;
    const double x0 = ceil(x - 1.0 + half), x1 = floor(x + 1.0 - half), y0 = ceil(y - 1.0 + half),
                 y1 = floor(y + 1.0 - half);
    int found = 0;
    for (double a = x0; a <= x1; a++)
        for (double b = y0; b <= y1; b++) found |= is_turned_by(camera, c, a, b, d);
    REQUIRE(found, "camera %d level %d %d,%d: bits of no turn by %.4f, %.4f", camera, c->level, c->x, c->y, x, y);
    turns_unsure += x0 < x1 || y0 < y1;
}

/** Compares the i-th key point of a camera, whose key is at index `slot`. */
static void compare_key(int32_t camera, int32_t i, int32_t slot)
{
    const struct vf_corner c = vf_detect_corner(memory.select.key[camera][slot]);
    const struct moments m = moments_of(camera, &c);
    const vfront_descriptor_t *bits = &memory.describe.descriptor[step.parity][camera][i];
    const double is = (double)memory.describe.angle[step.parity][camera][i], error = fabs(is - atan2(m.y, m.x));
    REQUIRE(error < 1e-6, "camera %d level %d %d,%d: angle %.9f, should be %.9f", camera, c.level, c.x, c.y, is,
            atan2(m.y, m.x));
    worst_angle = error > worst_angle ? error : worst_angle;
    compare_with_doubles(camera, &c, m, bits);
    compare_exactly(camera, &c, m, bits);
    points++;
}

static void compare_all(void)
{
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++)
        for (int32_t group = 0, i = 0; group < groups(); group++)
            for (uint32_t k = 0; k < memory.select.count[camera][group]; k++)
                compare_key(camera, i++, first_slot(group) + (int32_t)k);
}

static void print_figures(void)
{
    print_message(
        "         %llu points, largest error of an angle %.2g rad; of %llu bits %llu near a boundary, %llu differ "
        "there; %llu turns near one\n",
        (unsigned long long)points, worst_angle, (unsigned long long)bits_checked, (unsigned long long)bits_unsure,
        (unsigned long long)bits_differ, (unsigned long long)turns_unsure);
}

/** Frame with described key points, all levels in one group. Returns 0 if the config has no room for it. */
static int set_up_described(int32_t cameras, int32_t width, int32_t height)
{
    if (!fits(width, height, 0)) return 0;
    set_up(cameras, width, height, roll(2));
    set_cells_about(32, 32);
    step.tuning.describe = 1;
    step.tuning.detect_levels = VFRONT_SCALES;
    step.tuning.select_points = VFRONT_KEYPOINTS;
    step.tuning.select_share_percent = 0;
    memset(memory.select.count, 0, sizeof memory.select.count);
    return 1;
}

static int32_t smaller(int32_t a, int32_t b) { return a < b ? a : b; }

/* ---- tests: the arc tangent -------------------------------------------------------------------------------------- */

static double angle_error(double y, double x) { return fabs((double)vf_atan2f((float)y, (float)x) - atan2(y, x)); }

/** Over all directions: integers up to 400 in all four quadrants, and random ones of every size that moments have. */
static void angles_of_all_directions(void **state)
{
    double worst = 0.0;
    (void)state;
    shake(1);
    for (int32_t y = -400; y <= 400; y++)
        for (int32_t x = -400; x <= 400; x++) worst = fmax(worst, angle_error(y, x));
    for (int i = 0; i < 4000000; i++) {
        const int32_t most = 1 << between(1, 20);
        worst = fmax(worst, angle_error(between(-most, most), between(-most, most)));
    }
    print_message("         largest error %.3g rad\n", worst);
    assert_true(worst < 5e-7);
}

static void same_bits(float is, float should)
{
    REQUIRE(memcmp(&is, &should, sizeof is) == 0, "is %.9g, should be %.9g", (double)is, (double)should);
}

/** Axes are exact, and what is mirrored about the x axis has the opposite angle. */
static void angles_by_hand(void **state)
{
    (void)state;
    shake(2);
    same_bits(vf_atan2f(0.0f, 0.0f), 0.0f);
    same_bits(vf_atan2f(0.0f, 7.0f), 0.0f);
    same_bits(vf_atan2f(7.0f, 0.0f), 1.57079637f);
    same_bits(vf_atan2f(-7.0f, 0.0f), -1.57079637f);
    same_bits(vf_atan2f(0.0f, -7.0f), 3.14159274f);
    for (int i = 0; i < 100000; i++) {
        const float x = (float)between(-1000000, 1000000), y = (float)between(1, 1000000), turned_up = vf_atan2f(y, x);
        same_bits(vf_atan2f(-y, x), -turned_up);
        same_bits(vf_atan2f(4.0f * y, 4.0f * x), turned_up);
        assert_true(turned_up > 0.0f && turned_up <= 3.14159274f);
    }
}

/* ---- tests: the pattern ------------------------------------------------------------------------------------------ */

/** 256 pairs within reach; FNV-1a over their numbers, a byte each, is that of the table bit_pattern_31_ in OpenCV
 *  4.6. */
static void pattern_is_that_of_orb(void **state)
{
    static const int8_t given[][4] = {VF_PATTERN_PAIRS};
    uint64_t hash = 14695981039346656037ull;
    (void)state;
    assert_int_equal(sizeof given / sizeof *given, 256);
    for (int i = 0; i < 256; i++)
        for (int k = 0; k < 4; k++) {
            hash = (hash ^ (uint8_t)given[i][k]) * 1099511628211ull;
            assert_true(hypot(given[i][k & 2], given[i][(k & 2) + 1]) < VF_PATTERN_RADIUS + 0.5);
        }
    assert_true(hash == 0x1f34d6cd6d716873ull);
}

/* ---- tests: random ----------------------------------------------------------------------------------------------- */

/** Copies to the expected memory the entries of a camera's key points: those of all groups, without a gap, in the
 *  buffers of this frame. */
static void expect_points(int32_t camera)
{
    const int32_t parity = step.parity;
    size_t count = 0;
    for (int32_t group = 0; group < groups(); group++) count += memory.select.count[camera][group];
    memcpy(expected.describe.angle[parity][camera], memory.describe.angle[parity][camera], count * sizeof(float));
    memcpy(expected.describe.descriptor[parity][camera], memory.describe.descriptor[parity][camera],
           count * sizeof(vfront_descriptor_t));
}

/** Key points of all cameras and levels, at any distance from the border from 3 px up, with shares and without; no
 *  other byte is written. */
static void random_points(void **state)
{
    static const int32_t percent[] = {0, 0, 1, 50, 91, 100};
    (void)state;
    shake(3);
    scribble_arena();
    points = bits_checked = bits_unsure = bits_differ = turns_unsure = 0;
    for (int i = 0; i < 32; i++) {
        const int32_t width = between(16, smaller(VFRONT_WIDTH, i % 3 ? 90 : 400));
        const int32_t height = between(16, smaller(VFRONT_HEIGHT, 150));
        if (!set_up_described(between(1, VFRONT_CAMERAS), width, height)) continue;
        if (step.geometry.cameras > 1 && i % 2) lay_out_levels(1, between(16, 64), between(16, 64), 0);
        if (i % 3 == 0) step.tuning.select_points = between(1, smaller(VFRONT_KEYPOINTS, 250));
        step.tuning.select_share_percent = percent[roll(6)];
        share_out();
        step.geometry.rectified = VFRONT_RECTIFY && i % 4 == 1;
        for (int32_t camera = 0; camera < step.geometry.cameras; camera++) {
            paint_all(camera);
            random_keys(camera, 0, groups() > 1 ? 70 : 250, i % 2 ? 3 : between(3, 30));
        }
        memcpy(&expected, &memory, sizeof memory);
        RUN(describe);
        compare_all();
        for (int32_t camera = 0; camera < step.geometry.cameras; camera++) expect_points(camera);
        same_arena("random");
    }
    print_figures();
    assert_true(VFRONT_KEYPOINTS < 1000 ||
                (points > 2000 && bits_unsure < bits_checked / 50 && bits_differ < bits_unsure));
}

/** The largest number of key points, in the largest image, up to its far corner; with and without shares. */
static void largest_picture(void **state)
{
    (void)state;
    shake(4);
    for (int32_t percent = 0; percent <= 91; percent += 91) {
        if (!set_up_described(VFRONT_CAMERAS, VFRONT_WIDTH, VFRONT_HEIGHT)) skip();
        step.tuning.select_share_percent = percent;
        share_out();
        for (int32_t camera = 0; camera < VFRONT_CAMERAS; camera++) {
            const struct vf_level *l = &step.geometry.scale[camera][step.geometry.scales - 1];
            scribble(level0_of(camera), VFRONT_PICTURE_BYTES);
            scribble(memory.scale.pixels[camera], sizeof memory.scale.pixels[0]);
            scribble(memory.smooth.pixels[camera], sizeof memory.smooth.pixels[0]);
            random_keys(camera, VFRONT_KEYPOINTS, VFRONT_KEYPOINTS, 3);
            set_key(camera, VFRONT_KEYPOINTS - 1, step.geometry.scales - 1, l->width - 4, l->height - 4);
        }
        RUN(describe);
        for (int32_t camera = 0; camera < VFRONT_CAMERAS; camera++) {
            for (int32_t slot = 0; slot < VFRONT_KEYPOINTS; slot += 1 + VFRONT_KEYPOINTS / 100)
                compare_key(camera, slot, slot);
            compare_key(camera, VFRONT_KEYPOINTS - 1, VFRONT_KEYPOINTS - 1);
        }
    }
}

/** The smallest level, 16 px: every pixel that the margin of 3 px allows is mirrored about on all four sides. */
static void smallest_level(void **state)
{
    (void)state;
    shake(5);
    for (int fill = 0; fill < FILLS; fill++)
        for (int shape = 0; shape < 3; shape++) {
            int32_t count = 0;
            if (!set_up_described(VFRONT_CAMERAS, shape == 1 ? 23 : 16, shape == 2 ? 40 : 16)) skip();
            assert_int_equal(step.geometry.scales, 1);
            for (int32_t camera = 0; camera < VFRONT_CAMERAS; camera++) {
                const struct vf_level *l = &step.geometry.scale[camera][0];
                paint(camera, 0, (enum fill)fill);
                for (int32_t y = count = 0; y < l->height; y++)
                    for (int32_t x = 0; x < l->width; x++)
                        if (x >= 3 && y >= 3 && x < l->width - 3 && y < l->height - 3 && count < VFRONT_KEYPOINTS)
                            set_key(camera, count++, 0, x, y);
                memory.select.count[camera][0] = (uint32_t)count;
            }
            RUN(describe);
            compare_all();
        }
}

/* ---- tests: by hand ---------------------------------------------------------------------------------------------- */

/** Nothing is written without descriptors, with select_points 0, or without any key point. */
static void nothing_to_describe(void **state)
{
    (void)state;
    shake(6);
    scribble_arena();
    for (int why = 0; why < 3; why++) {
        if (!set_up_described(VFRONT_CAMERAS, 64, 64)) skip();
        step.tuning.select_share_percent = 50;
        share_out();
        for (int32_t camera = 0; camera < VFRONT_CAMERAS; camera++) random_keys(camera, 30, 30, 16);
        if (why == 0) step.tuning.describe = 0;
        if (why == 1) step.tuning.select_points = 0;
        if (why == 2) memset(memory.select.count, 0, sizeof memory.select.count);
        memcpy(&expected, &memory, sizeof memory);
        RUN(describe);
        same_arena(why == 0 ? "describe = 0" : why == 1 ? "select_points = 0" : "no key points");
    }
}

static void fill_all(uint8_t grey)
{
    memset(memory.ingest.picture, grey, sizeof memory.ingest.picture);
    memset(memory.scale.pixels, grey, sizeof memory.scale.pixels);
    memset(memory.smooth.pixels, grey, sizeof memory.smooth.pixels);
}

/** An image without contrast has angle 0, and no pixel is darker than another. */
static void constant_pictures(void **state)
{
    static const vfront_descriptor_t none = {{0}};
    static const uint8_t grey[] = {0, 1, 128, 255};
    (void)state;
    shake(7);
    for (size_t g = 0; g < sizeof grey; g++) {
        if (!set_up_described(VFRONT_CAMERAS, 64, 48)) skip();
        fill_all(grey[g]);
        for (int32_t camera = 0; camera < VFRONT_CAMERAS; camera++) random_keys(camera, 50, 50, 3);
        RUN(describe);
        for (int32_t camera = 0; camera < VFRONT_CAMERAS; camera++)
            for (uint32_t i = 0; i < memory.select.count[camera][0]; i++) {
                same_bits(memory.describe.angle[step.parity][camera][i], 0.0f);
                assert_memory_equal(&memory.describe.descriptor[step.parity][camera][i], &none, sizeof none);
            }
    }
}

/** One bright pixel in the disc: the angle points to it. Outside the disc it has no effect. */
static void angle_to_one_pixel(void **state)
{
    static const int half[16] = {15, 15, 15, 15, 14, 14, 14, 13, 13, 12, 11, 10, 9, 8, 6, 3};
    (void)state;
    shake(8);
    if (!set_up_described(1, 64, 64)) skip();
    fill_all(0);
    set_key(0, 0, 0, 30, 33);
    memory.select.count[0][0] = 1;
    for (int32_t v = -20; v <= 20; v++)
        for (int32_t u = -20; u <= 20; u++) {
            const int within = abs(v) <= 15 && abs(u) <= half[abs(v)];
            level_row(0, 0, 33 + v)[30 + u] = 200;
            RUN(describe);
            level_row(0, 0, 33 + v)[30 + u] = 0;
            const double is = (double)memory.describe.angle[step.parity][0][0], should = within ? atan2(v, u) : 0.0;
            REQUIRE(fabs(is - should) < 5e-7, "pixel at %d,%d: %.9f, should be %.9f", u, v, is, should);
        }
}

/** Bit i compares pair i: with angle 0 a dark pixel at the first point of a pair sets it, at the second it does not. */
static void one_dark_place(void **state)
{
    (void)state;
    shake(9);
    if (!set_up_described(1, 64, 64)) skip();
    fill_all(100);
    set_key(0, 0, 0, 30, 33);
    memory.select.count[0][0] = 1;
    for (int i = 0; i < 256; i++)
        for (int end = 0; end < 2; end++) {
            const int *at = pattern[i] + 2 * end;
            smooth_row(0, 0, 33 + at[1])[30 + at[0]] = 99;
            RUN(describe);
            smooth_row(0, 0, 33 + at[1])[30 + at[0]] = 100;
            for (int k = 0; k < 256; k++) { /* other pairs may share the pixel */
                const int first = pattern[k][0] == at[0] && pattern[k][1] == at[1];
                REQUIRE(bit_of(&memory.describe.descriptor[step.parity][0][0], k) == first, "pair %d place %d: bit %d",
                        i, end, k);
            }
        }
}

/** Rotates a square level and its smoothed one by 90 degrees, x to y. */
static void turn_picture(int32_t size)
{
    static uint8_t was[2][64][64];
    for (int32_t y = 0; y < size; y++) {
        memcpy(was[0][y], level_row(0, 0, y), (size_t)size);
        memcpy(was[1][y], smooth_row(0, 0, y), (size_t)size);
    }
    for (int32_t y = 0; y < size; y++)
        for (int32_t x = 0; x < size; x++) {
            level_row(0, 0, x)[size - 1 - y] = was[0][y][x];
            smooth_row(0, 0, x)[size - 1 - y] = was[1][y][x];
        }
}

/** An image rotated by 90 degrees has rotated angles and equal descriptors, except for points on a rounding
 *  boundary. */
static void quarter_turns(void **state)
{
    static vfront_descriptor_t was[100];
    static float angle[100];
    enum { COUNT = VFRONT_KEYPOINTS < 100 ? VFRONT_KEYPOINTS : 100 };
    int64_t differ = 0;
    (void)state;
    shake(10);
    if (!set_up_described(1, 64, 64)) skip();
    for (int fill = 0; fill < FILLS; fill++) {
        paint(0, 0, (enum fill)fill);
        for (int32_t i = 0; i < COUNT; i++) set_key(0, i, 0, between(3, 60), between(3, 60));
        memory.select.count[0][0] = COUNT;
        for (int quarter = 0; quarter <= 4; quarter++) {
            RUN(describe);
            for (int32_t i = 0; i < COUNT; i++) {
                const struct vf_corner c = vf_detect_corner(memory.select.key[0][i]);
                const struct moments m = moments_of(0, &c);
                const double turn = (double)(memory.describe.angle[step.parity][0][i] - angle[i]) - 1.5707963267949;
                if (quarter && (m.x != 0.0 || m.y != 0.0)) assert_true(fabs(remainder(turn, 6.28318530717959)) < 2e-6);
                for (int k = 0; k < 256 && quarter && (m.x != 0.0 || m.y != 0.0); k++)
                    differ += bit_of(&memory.describe.descriptor[step.parity][0][i], k) != bit_of(&was[i], k);
                set_key(0, i, 0, 63 - c.y, c.x);
            }
            memcpy(was, memory.describe.descriptor[step.parity][0], sizeof was[0] * COUNT);
            memcpy(angle, memory.describe.angle[step.parity][0], sizeof angle[0] * COUNT);
            turn_picture(64);
        }
    }
    print_message("         %d bits differ in %d turns\n", (int)differ, 4 * FILLS * COUNT);
    assert_true(differ < FILLS * COUNT);
}

/** VF_PATTERN_RADIUS bounds the pattern rotated by any angle, and a level of 16 px is mirrored about once. */
static void reach_of_the_pattern(void **state)
{
    int32_t most = 0;
    (void)state;
    for (int32_t i = 0; i < 20000; i++) {
        const double a = i * 6.28318530717959 / 20000;
        const struct vf_rotation_q14 t = vf_describe_rotation((int32_t)(cos(a) * 1e6), (int32_t)(sin(a) * 1e6));
        for (int k = 0; k < 512; k++) {
            const int *at = pattern[k / 2] + 2 * (k % 2);
            most = vf_max(most, vf_max(vf_abs(vf_rotated_x(t, at[0], at[1])), vf_abs(vf_rotated_y(t, at[0], at[1]))));
        }
    }
    assert_int_equal(most, VF_PATTERN_RADIUS);
}

#endif

int main(void)
{
#if VFRONT_DESCRIPTORS
    const struct CMUnitTest test[] = {
        cmocka_unit_test(angles_of_all_directions),
        cmocka_unit_test(angles_by_hand),
        cmocka_unit_test(pattern_is_that_of_orb),
        cmocka_unit_test(random_points),
        cmocka_unit_test(largest_picture),
        cmocka_unit_test(smallest_level),
        cmocka_unit_test(nothing_to_describe),
        cmocka_unit_test(constant_pictures),
        cmocka_unit_test(angle_to_one_pixel),
        cmocka_unit_test(one_dark_place),
        cmocka_unit_test(quarter_turns),
        cmocka_unit_test(reach_of_the_pattern),
    };
    return cmocka_run_group_tests_name("describe", test, NULL, NULL);
#else
    printf("describe: SKIPPED, the config has no descriptors\n");
    return 77;
#endif
}
