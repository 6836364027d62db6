/* SPDX-License-Identifier: MIT */
/* scale and smooth: every level against two oracles of its own. One takes the rule of src/scale.h at its word, edge by edge in whole
 * numbers of 64 bits, and must be met to the bit. The other is what the rule stands for: the mean of the area that a pixel covers, with
 * the true ratio of the levels, met within what rounding edges to 1/256 px allows. Smoothed levels are held against sums over 7x7
 * neighbours. Nothing else of the arena changes. */
#include "stand.h"

/* ---- pictures -------------------------------------------------------------------------------------------------------- */

enum fill { NOISE, BINARY, BLACK, WHITE, CHECKER, STRIPES, LATTICE, RAMP, FILLS };

static uint8_t paint(enum fill fill, int32_t x, int32_t y)
{
    switch (fill) {
    case NOISE: return (uint8_t)roll(256);
    case BINARY: return roll(2) ? 255 : 0;
    case BLACK: return 0;
    case WHITE: return 255;
    case CHECKER: return (x + y) % 2 ? 255 : 0;
    case STRIPES: return x % 2 ? 255 : 0;
    case LATTICE: return x % 7 == 0 || y % 5 == 0 ? 255 : 0;
    default: return (uint8_t)((x + 3 * y) / 8);
    }
}

/** A pixel of a level: level 0 lies in the pyramid, the others in a memory of their own. */
static uint8_t *pixel(struct vf_memory *m, int32_t camera, int32_t level, int32_t x, int32_t y)
{
    const struct vf_level *l = scale_of(camera, level);
    uint8_t *start = level ? m->scale.pixels[camera] : m->pyramid.pixels[step.parity][camera];
    return start + l->offset + (uint32_t)(y * l->pitch + x);
}

/** Fills a level within its size only: what lies behind a row stays noise, and must play no part. */
static void draw(int32_t camera, int32_t level, enum fill fill)
{
    const struct vf_level *l = scale_of(camera, level);
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++)
            *pixel(&memory, camera, level, x, y) = *pixel(&expected, camera, level, x, y) = paint(fill, x, y);
}

static int grey(int32_t camera, int32_t level, int32_t x, int32_t y) { return *pixel(&memory, camera, level, x, y); }

/** Levels that there are; never more than the config has. */
static int32_t scales(void) { return step.geometry.scales < VFRONT_SCALES ? step.geometry.scales : VFRONT_SCALES; }

static int32_t searched(void) { return scales() < step.tuning.detect_levels ? scales() : step.tuning.detect_levels; }

/* ---- oracle: the rule to the bit ------------------------------------------------------------------------------------- */

/** What the pixels of a level take from those of level 0, along one axis: pixel u takes share[u][k] of pixel first[u] + k, in 1/256. */
#define MOST_TAPS 20
#define LONGEST 4096
struct axis {
    int32_t size, first[LONGEST], taps[LONGEST], share[LONGEST][MOST_TAPS];
};

/** Edge j of level 0 on a level, in 1/256 px: j / step, halves up. */
static int64_t edge_at(int64_t j, int32_t level) { return (j * step.geometry.inverse_q19[level] * 2 + 2048) / 4096; }

/** Hands out each pixel of level 0 to the pixels of the level that it reaches into. Every pixel of the level must be covered. */
static void hand_out(struct axis *a, int32_t size0, int32_t size, int32_t level)
{
    memset(a, 0, sizeof *a);
    a->size = size;
    for (int32_t j = 0; j < size0; j++) {
        const int64_t from = edge_at(j, level), to = edge_at(j + 1, level);
        for (int64_t at = from; at < to; at++) {
            const int64_t u = at / 256;
            if (u >= size) return;
            if (!a->taps[u]) a->first[u] = j;
            a->taps[u] = j - a->first[u] + 1;
            assert_true(a->taps[u] <= MOST_TAPS);
            a->share[u][j - a->first[u]]++;
        }
    }
    REQUIRE(edge_at(size0, level) == 256 * (int64_t)size, "level %d of %d px: %d px are not covered", level, size0, size);
}

static struct axis across, down;

static uint8_t mean_at(int32_t camera, int32_t u, int32_t v)
{
    uint64_t sum = 0;
    for (int32_t k = 0; k < down.taps[v]; k++)
        for (int32_t i = 0; i < across.taps[u]; i++)
            sum += (uint64_t)(down.share[v][k] * across.share[u][i] * grey(camera, 0, across.first[u] + i, down.first[v] + k));
    return (uint8_t)((sum * 2 + 65536) / 131072);
}

static void hand_out_level(int32_t camera, int32_t level)
{
    const struct vf_level *l0 = scale_of(camera, 0), *l = scale_of(camera, level);
    hand_out(&across, l0->width, l->width, level);
    hand_out(&down, l0->height, l->height, level);
}

static void expect_levels(int32_t camera)
{
    for (int32_t level = 1; level < searched(); level++) {
        hand_out_level(camera, level);
        for (int32_t v = 0; v < down.size; v++)
            for (int32_t u = 0; u < across.size; u++) *pixel(&expected, camera, level, u, v) = mean_at(camera, u, v);
    }
}

/** Runs the stage and compares the whole arena. */
static void scale_and_compare(const char *what)
{
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++) expect_levels(camera);
    vf_scale_host(&step);
    same_arena(what);
}

/* ---- oracle: the mean of an area ------------------------------------------------------------------------------------- */

/** How far an edge may lie from where it should [px of the level]: rounded to 1/256, and the inverse of the step to 2^-19. */
static long double edge_error(int32_t size0) { return 1.0L / 512 + size0 / 1048576.0L; }

/** Pixels of level 0 that a pixel of a level reaches into, along one axis. */
struct reach {
    int32_t first, last;
    long double from, to;
};
static struct reach reach_of(int32_t u, int32_t level, int32_t size0)
{
    const long double ratio = scale_ratio(level);
    const struct reach r = {(int32_t)floorl(u * ratio), (int32_t)ceill((u + 1) * ratio) - 1, u * ratio, (u + 1) * ratio};
    return r.last < size0 ? r : (struct reach){r.first, size0 - 1, r.from, size0};
}

/** How much of pixel j lies within the reach, of all of it. */
static long double part_of(struct reach r, int32_t j)
{
    const long double from = r.from > j ? r.from : j, to = r.to < j + 1 ? r.to : j + 1;
    return (to - from) / (r.to - r.from);
}

/** Fails unless a pixel is the mean of its area within what rounding allows: half a grey level, and what lies between the brightest and
 *  the darkest pixel around for each edge that may be off. */
static void is_mean_of_area(int32_t camera, int32_t level, int32_t u, int32_t v)
{
    const struct vf_level *l0 = scale_of(camera, 0);
    const struct reach rx = reach_of(u, level, l0->width), ry = reach_of(v, level, l0->height);
    const long double edges = ceill(scale_ratio(level)) + 1;
    const long double off_x = edges * edge_error(l0->width), off_y = edges * edge_error(l0->height);
    long double mean = 0.0L;
    int least = 255, most = 0;
    for (int32_t y = ry.first > 0 ? ry.first - 1 : 0; y <= ry.last + 1 && y < l0->height; y++)
        for (int32_t x = rx.first > 0 ? rx.first - 1 : 0; x <= rx.last + 1 && x < l0->width; x++) {
            const int is = grey(camera, 0, x, y);
            const int within = x >= rx.first && x <= rx.last && y >= ry.first && y <= ry.last;
            if (within) mean += part_of(rx, x) * part_of(ry, y) * is;
            least = is < least ? is : least;
            most = is > most ? is : most;
        }
    const long double allowed = 0.5L + (most - least) * (off_x + off_y + off_x * off_y) + 1e-9L;
    REQUIRE(fabsl(grey(camera, level, u, v) - mean) <= allowed, "level %d of %dx%d at %d,%d: is %d, should be %.3Lf within %.3Lf", level,
            l0->width, l0->height, u, v, grey(camera, level, u, v), mean, allowed);
}

/* ---- oracle: smoothed levels ----------------------------------------------------------------------------------------- */

static const int32_t bell[7] = {18, 34, 48, 56, 48, 34, 18};

#if VFRONT_DESCRIPTORS
/** A place beyond the end of a row goes back from its last pixel as far as it is beyond it. */
static int32_t mirrored(int32_t i, int32_t size)
{
    while (i < 0 || i >= size) i = i < 0 ? -i : (size - 1) - (i - (size - 1));
    return i;
}

static uint8_t bell_mean(int32_t camera, int32_t level, int32_t x, int32_t y)
{
    const struct vf_level *l = scale_of(camera, level);
    int64_t sum = 0;
    double mean = 0.0;
    for (int32_t j = -3; j <= 3; j++)
        for (int32_t i = -3; i <= 3; i++) {
            const int is = grey(camera, level, mirrored(x + i, l->width), mirrored(y + j, l->height));
            sum += (int64_t)bell[i + 3] * bell[j + 3] * is;
            mean += bell[i + 3] / 256.0 * (bell[j + 3] / 256.0) * is;
        }
    const int rounded = (int)((sum + 32768) >> 16);
    assert_true(rounded == (int)floor(mean + 0.5)); /* sums of 1/65536 are exact in double precision */
    return (uint8_t)rounded;
}

/** Smoothed levels lie one after the other, level 0 among them. */
static uint8_t *smoothed(struct vf_memory *m, int32_t camera, int32_t level, int32_t x, int32_t y)
{
    const struct vf_level *l0 = scale_of(camera, 0), *l = scale_of(camera, level);
    const uint32_t before = level ? (uint32_t)(l0->pitch * l0->height) + l->offset : 0;
    return &m->smooth.pixels[camera][before + (uint32_t)(y * l->pitch + x)];
}

static void expect_smoothed(int32_t camera)
{
    for (int32_t level = 0; level < searched(); level++) {
        const struct vf_level *l = scale_of(camera, level);
        for (int32_t y = 0; y < l->height; y++)
            for (int32_t x = 0; x < l->width; x++) *smoothed(&expected, camera, level, x, y) = bell_mean(camera, level, x, y);
    }
}
#endif

/** Runs the stage and compares the whole arena. */
static void smooth_and_compare(const char *what)
{
#if VFRONT_DESCRIPTORS
    for (int32_t camera = 0; camera < step.geometry.cameras && step.tuning.describe && step.tuning.select_points; camera++)
        expect_smoothed(camera);
#endif
    vf_smooth_host(&step);
    same_arena(what);
}

/* ---- tests: levels --------------------------------------------------------------------------------------------------- */

static const struct size {
    int32_t width, height;
} size[] = {{16, 16},   {17, 31},   {19, 20},   {31, 17},    {33, 64},     {64, 33},     {64, 64}, {63, 65},
            {65, 63},   {127, 129}, {191, 130}, {257, 255},  {512, 40},    {40, 512},    {97, 16}, {16, 131},
            {641, 479}, {752, 480}, {1241, 376}, {1919, 1199}, {VFRONT_WIDTH, VFRONT_HEIGHT}};
#define SIZES (sizeof size / sizeof *size)

static int is_large(struct size z) { return z.width * z.height > 500000; }

static void levels_of_all_sizes(void **state)
{
    (void)state;
    shake(1);
    scribble_arena();
    for (size_t i = 0; i < SIZES; i++)
        for (int32_t fill = 0; fill < FILLS; fill++) {
            char what[64];
            snprintf(what, sizeof what, "%dx%d fill %d", size[i].width, size[i].height, fill);
            if (!fits(size[i].width, size[i].height, 0) || (is_large(size[i]) && fill != NOISE)) continue;
            set_up(1, size[i].width, size[i].height, roll(3));
            draw(0, 0, (enum fill)fill);
            scale_and_compare(what);
        }
}

/** Small pictures of any size, in cameras of different sizes, with any number of levels searched. */
static void levels_of_random_sizes(void **state)
{
    (void)state;
    shake(2);
    scribble_arena();
    for (int32_t i = 0; i < 60; i++) {
        char what[64];
        set_up(between(1, VFRONT_CAMERAS), between(16, 64), between(16, 64), roll(3));
        for (int32_t camera = 0; camera < step.geometry.cameras; camera++) {
            const int32_t width = between(16, VFRONT_WIDTH < 300 ? VFRONT_WIDTH : 300);
            lay_out_levels(camera, width, between(16, VFRONT_HEIGHT < 200 ? VFRONT_HEIGHT : 200), roll(3));
            snprintf(what, sizeof what, "random size %d, camera %d %d px wide", i, camera, width);
        }
        for (int32_t camera = 0; camera < step.geometry.cameras; camera++) draw(camera, 0, (enum fill)roll(2));
        step.tuning.detect_levels = between(1, VFRONT_SCALES);
        scale_and_compare(what);
    }
}

static void pixels_are_means_of_areas(void **state)
{
    (void)state;
    shake(3);
    for (size_t i = 0; i < SIZES; i++)
        for (int32_t fill = 0; fill < FILLS; fill++) {
            if (!fits(size[i].width, size[i].height, 0) || (is_large(size[i]) && fill != NOISE)) continue;
            set_up(1, size[i].width, size[i].height, 0);
            draw(0, 0, (enum fill)fill);
            vf_scale_host(&step);
            for (int32_t level = 1; level < scales(); level++) {
                const struct vf_level *l = scale_of(0, level);
                const int32_t every = l->width * l->height > 30000 ? 7 : 1;
                for (int32_t v = 0; v < l->height; v += every)
                    for (int32_t u = 0; u < l->width; u += every) is_mean_of_area(0, level, u, v);
                is_mean_of_area(0, level, l->width - 1, l->height - 1);
            }
        }
}

static void one_grey_stays(void **state)
{
    (void)state;
    shake(4);
    for (int32_t is = 0; is < 256; is++) {
        set_up(1, between(16, 64), between(16, 64), roll(2));
        const struct vf_level *l0 = scale_of(0, 0);
        scribble(&memory.pyramid.pixels[step.parity][0], (size_t)(l0->pitch * l0->height));
        for (int32_t i = 0; i < l0->width * l0->height; i++) *pixel(&memory, 0, 0, i % l0->width, i / l0->width) = (uint8_t)is;
        vf_scale_host(&step);
        for (int32_t level = 1; level < scales(); level++) {
            const struct vf_level *l = scale_of(0, level);
            for (int32_t i = 0; i < l->width * l->height; i++)
                assert_int_equal(grey(0, level, i % l->width, i / l->width), is);
        }
    }
}

static double mean_of(int32_t level)
{
    const struct vf_level *l = scale_of(0, level);
    double sum = 0.0;
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++) sum += grey(0, level, x, y);
    return sum / l->width / l->height;
}

/** Every pixel of level 0 counts as much as any other: the mean of a level is that of the picture. What the last row and column of a
 *  level leave out is drawn in the mean grey. */
static void the_mean_stays(void **state)
{
    (void)state;
    if (VFRONT_SCALES < 2 || !fits(192, 144, 0)) skip();
    shake(5);
    for (int32_t i = 0; i < 8; i++) {
        set_up(1, 192, 144, 0);
        draw(0, 0, i % 2 ? NOISE : BINARY);
        for (int32_t k = 0; k < 192 * 144; k++)
            if (k % 192 > 176 || k / 192 > 128) *pixel(&memory, 0, 0, k % 192, k / 192) = 128;
        vf_scale_host(&step);
        for (int32_t level = 1; level < scales(); level++)
            REQUIRE(fabs(mean_of(level) - mean_of(0)) < 0.4, "level %d: mean %.3f, should be %.3f", level, mean_of(level), mean_of(0));
    }
}

/** A pixel alone leaves its own share of light behind, wherever it is: 1/step^2 of its grey, over all pixels of a level. */
static void a_pixel_leaves_its_share(void **state)
{
    (void)state;
    if (!fits(64, 64, 0)) skip();
    shake(6);
    for (int32_t i = 0; i < 200; i++) {
        set_up(1, 64, 64, 0);
        draw(0, 0, BLACK);
        *pixel(&memory, 0, 0, 5 + roll(40), 5 + roll(40)) = 255;
        vf_scale_host(&step);
        for (int32_t level = 1; level < scales(); level++) {
            const struct vf_level *l = scale_of(0, level);
            const double ratio = (double)scale_ratio(level), share = 255.0 / ratio / ratio;
            const double is = mean_of(level) * l->width * l->height;
            REQUIRE(fabs(is - share) < 2.0 + 0.02 * share, "level %d: %.2f, should be %.2f", level, is, share);
        }
    }
}

/** What is left of stripes of black and white, 1 px wide, in a pixel that is `ratio` of them wide: at most this much of their contrast. */
static double ripple(double ratio)
{
    const double beyond = fmod(ratio, 2.0);
    return (beyond < 1.0 ? beyond : 2.0 - beyond) / ratio;
}

/** Stripes and checks too fine for a level become grey there, and not coarse patterns, as they would if pixels were left out. */
static void fine_patterns_become_grey(void **state)
{
    (void)state;
    shake(7);
    for (int32_t fill = CHECKER; fill <= STRIPES; fill++) {
        const int32_t width = VFRONT_WIDTH < 752 ? VFRONT_WIDTH : 752, height = VFRONT_HEIGHT < 480 ? VFRONT_HEIGHT : 480;
        set_up(1, width, height, 0);
        draw(0, 0, (enum fill)fill);
        vf_scale_host(&step);
        for (int32_t level = 1; level < scales(); level++) {
            const struct vf_level *l = scale_of(0, level);
            const double left = ripple((double)scale_ratio(level)), rounding = 4 * 2 * 255 * (double)edge_error(width) + 0.5;
            const double most = 127.5 * (fill == CHECKER ? left * left : left) + rounding;
            for (int32_t i = 0; i < l->width * l->height; i++) {
                const int is = grey(0, level, i % l->width, i / l->width);
                REQUIRE(fabs(is - 127.5) <= most, "fill %d level %d at %d,%d: %d is more than %.1f from grey", fill, level, i % l->width,
                        i / l->width, is, most);
            }
        }
    }
}

/** By hand, for levels of 6/5: 6 pixels of level 0 are 5 of level 1, so a pixel of level 1 holds 5/6 of one and 1/6 of the next, and so
 *  on; edges fall on 0, 213.3, 426.7, 640, 853.3, 1066.7, 1280 in 1/256 px. */
static void known_shares(void **state)
{
    static const int32_t share[5][2] = {{213, 43}, {171, 85}, {128, 128}, {85, 171}, {43, 213}};
    (void)state;
    if (VFRONT_SCALES < 2 || VFRONT_SCALE_NUM != 6 || VFRONT_SCALE_DEN != 5) skip();
    shake(8);
    for (int32_t x = 0; x < 6; x++)
        for (int32_t turned = 0; turned < 2; turned++) {
            set_up(1, 24, 24, 0);
            draw(0, 0, BLACK);
            for (int32_t i = 0; i < 24; i++) *pixel(&memory, 0, 0, turned ? i : 12 + x, turned ? 12 + x : i) = 255;
            vf_scale_host(&step);
            for (int32_t u = 0; u < 5; u++) {
                const int32_t taken = u == x ? share[u][0] : u == x - 1 ? share[u][1] : 0;
                assert_int_equal(grey(0, 1, turned ? 3 : 10 + u, turned ? 10 + u : 3), (taken * 255 + 128) / 256);
            }
        }
}

/* ---- tests: the arithmetic that both forms share -------------------------------------------------------------------- */

/** All pixels of all levels of the widest picture: where they begin, how much they take, that it adds up, and that there are no more taps
 *  than the forms have room for. */
static void shares_of_every_pixel(void **state)
{
    (void)state;
    shake(9);
    set_up(1, VFRONT_WIDTH, VFRONT_HEIGHT, 0);
    for (int32_t level = 0; level < scales(); level++) {
        const uint32_t step_q16 = step.geometry.step_q16[level], inverse_q19 = step.geometry.inverse_q19[level];
        hand_out_level(0, level);
        for (int32_t u = 0; u < across.size; u++) {
            int32_t sum = 0;
            assert_int_equal(vf_scale_first(u, step_q16, inverse_q19), across.first[u]);
            assert_true(across.taps[u] <= VF_TAPS);
            for (int32_t k = 0; k < MOST_TAPS; k++) {
                const int32_t is = vf_scale_weight(u, across.first[u] + k, inverse_q19);
                if (across.share[u][k]) assert_int_equal(is, across.share[u][k]);
                if (!across.share[u][k]) assert_true(is <= 0);
                sum += across.share[u][k];
            }
            assert_true(across.first[u] == 0 || vf_scale_weight(u, across.first[u] - 1, inverse_q19) <= 0);
            assert_int_equal(sum, 256);
        }
    }
}

/** Every size there can be: how many pixels a level has, that they are covered, and that the config has room for them. */
static void sizes_of_levels(void **state)
{
    (void)state;
    shake(10);
    for (int32_t side = 16; side <= (VFRONT_WIDTH > VFRONT_HEIGHT ? VFRONT_WIDTH : VFRONT_HEIGHT); side++) {
        const int32_t width = side < VFRONT_WIDTH ? side : VFRONT_WIDTH, height = side < VFRONT_HEIGHT ? side : VFRONT_HEIGHT;
        set_up(1, width, height, 0);
        assert_true(step.geometry.scales >= 1 && step.geometry.step_q16[0] == 65536 && step.geometry.inverse_q19[0] == 524288);
        for (int32_t level = 0; level < scales(); level++) {
            const struct vf_level *l = scale_of(0, level);
            const uint32_t inverse_q19 = step.geometry.inverse_q19[level];
            assert_int_equal(vf_scale_size(width, inverse_q19), l->width);
            assert_int_equal(vf_scale_size(height, inverse_q19), l->height);
            assert_true(l->width >= 16 && l->height >= 16 && fabsl(l->width + 0.5L - width / scale_ratio(level)) < 0.51L);
            assert_true(edge_at(width, level) >= 256 * l->width && edge_at(height, level) >= 256 * l->height);
            assert_true(l->width <= VFRONT_SCALED(VFRONT_WIDTH, level) && l->height <= VFRONT_SCALED(VFRONT_HEIGHT, level));
        }
        assert_true(step.geometry.scales == VFRONT_SCALES || scaled_size(width, step.geometry.scales) < 16
                    || scaled_size(height, step.geometry.scales) < 16);
    }
    const struct vf_level *last = scale_of(0, VFRONT_SCALES - 1);
    if (VFRONT_SCALES > 1)
        assert_true(last->offset + (uint32_t)(last->pitch * last->height) <= sizeof memory.scale.pixels[0]);
}

/** Only levels that are searched are made; with one there is nothing to do. */
static void levels_searched_are_made(void **state)
{
    (void)state;
    shake(11);
    scribble_arena();
    for (int32_t levels = 1; levels <= VFRONT_SCALES; levels++) {
        set_up(VFRONT_CAMERAS, 64, 64, 0);
        step.tuning.detect_levels = levels;
        for (int32_t camera = 0; camera < VFRONT_CAMERAS; camera++) draw(camera, 0, NOISE);
        memcpy(&expected, &memory, sizeof memory);
        if (levels > 1) scale_and_compare("levels searched");
        if (levels == 1) vf_scale_host(&step);
        same_arena("levels searched");
    }
}

/* ---- tests: smoothed levels ------------------------------------------------------------------------------------------ */

/** Levels filled independently of each other, as no picture would have them. */
static void draw_all(int32_t camera, enum fill fill)
{
    for (int32_t level = 0; level < scales(); level++) draw(camera, level, fill);
}

static void smoothed_levels_of_all_sizes(void **state)
{
    (void)state;
    if (!VFRONT_DESCRIPTORS) skip();
    shake(12);
    scribble_arena();
    for (size_t i = 0; i < SIZES; i++)
        for (int32_t fill = 0; fill < FILLS; fill++) {
            char what[64];
            snprintf(what, sizeof what, "smoothed %dx%d fill %d", size[i].width, size[i].height, fill);
            if (!fits(size[i].width, size[i].height, 0) || (is_large(size[i]) && fill != NOISE)) continue;
            set_up(1, size[i].width, size[i].height, roll(3));
            draw_all(0, (enum fill)fill);
            smooth_and_compare(what);
        }
}

static void smoothed_levels_of_random_sizes(void **state)
{
    (void)state;
    if (!VFRONT_DESCRIPTORS) skip();
    shake(13);
    scribble_arena();
    for (int32_t i = 0; i < 40; i++) {
        set_up(VFRONT_CAMERAS, between(16, 64), between(16, 64), roll(3));
        lay_out_levels(0, between(16, VFRONT_WIDTH < 200 ? VFRONT_WIDTH : 200), between(16, 64), roll(3));
        for (int32_t camera = 0; camera < VFRONT_CAMERAS; camera++) draw_all(camera, (enum fill)roll(2));
        step.tuning.detect_levels = between(1, VFRONT_SCALES);
        step.tuning.select_points = between(1, VFRONT_KEYPOINTS);
        smooth_and_compare("smoothed, random size");
    }
}

/** Without descriptors nobody reads smoothed levels, and nothing is written. */
static void nothing_is_smoothed_for_nobody(void **state)
{
    (void)state;
    shake(14);
    scribble_arena();
    for (int32_t i = 0; i < 3; i++) {
        set_up(VFRONT_CAMERAS, 40, 33, 0);
        step.tuning.describe = i == 0 && VFRONT_DESCRIPTORS;
        step.tuning.select_points = i == 1 ? VFRONT_KEYPOINTS : 0;
        vf_smooth_host(&step);
        same_arena("nothing to smooth");
    }
}

/** The weights are those of a normal distribution with a sigma of 2 px, and add up to one. */
static void bell_of_two_pixels(void **state)
{
    static const int32_t weight[] = {VF_SMOOTH_WEIGHTS};
    double all = 0.0;
    int32_t sum = 0;
    (void)state;
    for (int32_t i = -3; i <= 3; i++) all += exp(-i * i / 8.0);
    for (int32_t i = -3; i <= 3; i++) {
        assert_int_equal(weight[i + 3], bell[i + 3]);
        assert_true(fabs(weight[i + 3] - 256.0 * exp(-i * i / 8.0) / all) < 1.0);
        sum += weight[i + 3];
    }
    assert_int_equal(sum, 256);
    for (int32_t size = 16; size < 40; size++)
        for (int32_t i = -15; i < size + 15; i++)
            assert_int_equal(vf_mirror(i, size), i < 0 ? abs(i) : i >= size ? size - 1 - (i - (size - 1)) : i);
}

/** By hand: a white pixel becomes the weights; in the corner it is seen in mirrors as well. */
static void known_spot(void **state)
{
    (void)state;
#if VFRONT_DESCRIPTORS
    shake(15);
    set_up(1, 16, 16, 0);
    draw(0, 0, BLACK);
    *pixel(&memory, 0, 0, 8, 8) = 255;
    *pixel(&memory, 0, 0, 1, 1) = 255;
    vf_smooth_host(&step);
    assert_int_equal(*smoothed(&memory, 0, 0, 8, 8), 12);   /* 56 * 56 * 255 / 65536 = 12.2 */
    assert_int_equal(*smoothed(&memory, 0, 0, 9, 8), 10);   /* 48 * 56: 10.46 */
    assert_int_equal(*smoothed(&memory, 0, 0, 8, 6), 7);    /* 56 * 34: 7.41 */
    assert_int_equal(*smoothed(&memory, 0, 0, 11, 11), 1);  /* 18 * 18: 1.26 */
    assert_int_equal(*smoothed(&memory, 0, 0, 12, 8), 0);
    assert_int_equal(*smoothed(&memory, 0, 0, 1, 1), 32);   /* itself and, 2 px farther, its mirror image: (56 + 34)^2: 31.52 */
    assert_int_equal(*smoothed(&memory, 0, 0, 0, 0), 36);   /* 1 px on both sides: (48 + 48)^2: 35.86 */
    assert_int_equal(*smoothed(&memory, 0, 0, 0, 1), 34);   /* (48 + 48) * (56 + 34): 33.6 */
#else
    skip();
#endif
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(levels_of_all_sizes),
        cmocka_unit_test(levels_of_random_sizes),
        cmocka_unit_test(pixels_are_means_of_areas),
        cmocka_unit_test(one_grey_stays),
        cmocka_unit_test(the_mean_stays),
        cmocka_unit_test(a_pixel_leaves_its_share),
        cmocka_unit_test(fine_patterns_become_grey),
        cmocka_unit_test(known_shares),
        cmocka_unit_test(shares_of_every_pixel),
        cmocka_unit_test(sizes_of_levels),
        cmocka_unit_test(levels_searched_are_made),
        cmocka_unit_test(smoothed_levels_of_all_sizes),
        cmocka_unit_test(smoothed_levels_of_random_sizes),
        cmocka_unit_test(nothing_is_smoothed_for_nobody),
        cmocka_unit_test(bell_of_two_pixels),
        cmocka_unit_test(known_spot),
    };
    return cmocka_run_group_tests_name("scale", test, NULL, NULL);
}
