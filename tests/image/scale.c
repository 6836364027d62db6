/* SPDX-License-Identifier: MIT */
/* scale and smooth: every level against two oracles. One is the rule of src/image/scale.h, edge by edge in 64-bit
 * integers, and must be met to the bit. The other is the mean of an area twice as wide and high as the footprint of
 * a pixel, with the true ratio of the levels, met within the tolerance that edges rounded to 1/128 px give. Smoothed
 * levels are compared with sums over 7x7 neighbours. Nothing else in the arena changes. */
#include "tests/fixture/stage.h"

/* ---- images ------------------------------------------------------------------------------------------------------ */

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

/** Level 0: the raw or the rectified image. */
static uint8_t *level0_of(struct vf_memory *m, int32_t camera)
{
#if VFRONT_RECTIFY
    if (step.geometry.rectified) return m->rectify.picture[step.parity][camera];
#endif
    return m->ingest.picture[step.parity][camera];
}

/** Pixel of a level. Level 0 is the image; the others have their own memory. */
static uint8_t *pixel(struct vf_memory *m, int32_t camera, int32_t level, int32_t x, int32_t y)
{
    const struct vf_level *l = scale_of(camera, level);
    if (level == 0) return level0_of(m, camera) + y * l->pitch + x;
    return m->scale.pixels[camera] + l->offset + (uint32_t)(y * l->pitch + x);
}

/** Fills a level within its size. The padding after each row remains noise and must have no effect. */
static void draw(int32_t camera, int32_t level, enum fill fill)
{
    const struct vf_level *l = scale_of(camera, level);
    for (int32_t y = 0; y < l->height; y++)
        for (int32_t x = 0; x < l->width; x++)
            *pixel(&memory, camera, level, x, y) = *pixel(&expected, camera, level, x, y) = paint(fill, x, y);
}

static int grey(int32_t camera, int32_t level, int32_t x, int32_t y) { return *pixel(&memory, camera, level, x, y); }

/** Number of scale levels of the frame, at most VFRONT_SCALES. */
static int32_t scales(void) { return step.geometry.scales < VFRONT_SCALES ? step.geometry.scales : VFRONT_SCALES; }

static int32_t searched(void) { return scales() < step.tuning.detect_levels ? scales() : step.tuning.detect_levels; }

/* ---- oracle: the rule to the bit --------------------------------------------------------------------------------- */

/** Weights of level 0 in the pixels of a level, along one axis: share[u][k] is the weight of pixel first[u] + k in
 *  pixel u [1/256]. */
#define TAPS_MAX 36
#define LONGEST 4096
struct axis {
    int32_t size, first[LONGEST], taps[LONGEST], share[LONGEST][TAPS_MAX];
};

/** Level 0 pixel that contains each 1/128 px of a level, along one axis. */
static int32_t owner[128 * LONGEST];

/** Edge j of level 0 on a level, in 1/128 px: j / step, halves up. */
static int64_t edge_at(int64_t j, int32_t level) { return (j * step.geometry.inverse_q19[level] * 2 + 4096) / 8192; }

/** Fills owner[] for a level of `size` px. Every pixel of the level must be covered. */
static void find_owners(int32_t size0, int32_t size, int32_t level)
{
    for (int32_t j = 0; j < size0; j++)
        for (int64_t at = edge_at(j, level); at < edge_at(j + 1, level) && at < 128 * (int64_t)size; at++)
            owner[at] = j;
    REQUIRE(edge_at(size0, level) >= 128 * (int64_t)size, "level %d of %d px: %d px are not covered", level, size0,
            size);
}

/** Index of the k-th (0..3) half pixel in the support of pixel u, which reaches half a pixel beyond it on both
 *  sides; clamped to the level. */
static int32_t half_of(int32_t u, int32_t k, int32_t size)
{
    const int32_t half = 2 * u - 1 + k;
    return half < 0 ? 0 : half > 2 * size - 1 ? 2 * size - 1 : half;
}

/** Counts, for each pixel of a level, the 1/128 px of its four half pixels by their owner. */
static void find_weights(struct axis *a, int32_t size0, int32_t size, int32_t level)
{
    memset(a, 0, sizeof *a);
    a->size = size;
    find_owners(size0, size, level);
    for (int32_t u = 0; u < size; u++) {
        a->first[u] = owner[64 * half_of(u, 0, size)];
        for (int32_t k = 0; k < 256; k++) {
            const int32_t tap = owner[64 * half_of(u, k / 64, size) + k % 64] - a->first[u];
            assert_true(tap >= 0 && tap < TAPS_MAX);
            a->taps[u] = tap + 1 > a->taps[u] ? tap + 1 : a->taps[u];
            a->share[u][tap]++;
        }
    }
}

static struct axis across, down;

static uint8_t mean_at(int32_t camera, int32_t u, int32_t v)
{
    uint64_t sum = 0;
    for (int32_t k = 0; k < down.taps[v]; k++)
        for (int32_t i = 0; i < across.taps[u]; i++)
            sum += (uint64_t)(down.share[v][k] * across.share[u][i] *
                              grey(camera, 0, across.first[u] + i, down.first[v] + k));
    return (uint8_t)((sum * 2 + 65536) / 131072);
}

static void find_weights_2d(int32_t camera, int32_t level)
{
    const struct vf_level *l0 = scale_of(camera, 0), *l = scale_of(camera, level);
    find_weights(&across, l0->width, l->width, level);
    find_weights(&down, l0->height, l->height, level);
}

static void expect_levels(int32_t camera)
{
    for (int32_t level = 1; level < searched(); level++) {
        find_weights_2d(camera, level);
        for (int32_t v = 0; v < down.size; v++)
            for (int32_t u = 0; u < across.size; u++) *pixel(&expected, camera, level, u, v) = mean_at(camera, u, v);
    }
}

/** Runs the stage and compares the whole arena. */
static void scale_and_compare(const char *what)
{
    for (int32_t camera = 0; camera < step.geometry.cameras; camera++) expect_levels(camera);
    RUN(scale);
    same_arena(what);
}

/* ---- oracle: the mean of an area --------------------------------------------------------------------------------- */

/** Largest error of an edge [px of the level]: from rounding to 1/128, and the inverse of the step to 2^-19. */
static long double edge_error(int32_t size0) { return 1.0L / 256 + size0 / 1048576.0L; }

/** Largest total error of the weights of an area, along one axis: errors of all its edges and of two more that may
 *  enter, relative to its length of two pixels. */
static long double weight_error(int32_t level, int32_t size0)
{
    return (ceill(2 * scale_ratio(level)) + 3) * edge_error(size0) / 2;
}

/** Length of the overlap of from..to with pixel j [px]. */
static long double inside(long double from, long double to, int32_t j)
{
    const long double least = from > j ? from : j, most = to < j + 1 ? to : j + 1;
    return most > least ? most - least : 0.0L;
}

/** Weight of pixel j of level 0 in the area of pixel u of a level, which reaches half a pixel beyond it on both
 *  sides; a part beyond the level is replaced by as much next to its border. */
static long double weight_of(int32_t j, int32_t u, int32_t level, int32_t size)
{
    const long double ratio = scale_ratio(level), end = size * ratio, half = ratio / 2;
    const long double from = u * ratio - half, to = (u + 1) * ratio + half;
    long double weight = inside(from > 0.0L ? from : 0.0L, to < end ? to : end, j);
    if (u == 0) weight += inside(0.0L, half, j);
    if (u == size - 1) weight += inside(end - half, end, j);
    return weight / (2 * ratio);
}

/** Level 0 pixels that may have a weight in a pixel of a level. */
struct reach {
    int32_t first, last;
};
static struct reach reach_of(int32_t u, int32_t level, int32_t size0)
{
    const long double ratio = scale_ratio(level);
    const int32_t first = (int32_t)floorl((u - 0.5L) * ratio) - 1, last = (int32_t)ceill((u + 1.5L) * ratio);
    return (struct reach){first > 0 ? first : 0, last < size0 ? last : size0 - 1};
}

/** Fails unless a pixel is the mean of its area within the tolerance: half a grey level, and the contrast around the
 *  pixel times the weight error. */
static void is_mean_of_area(int32_t camera, int32_t level, int32_t u, int32_t v)
{
    const struct vf_level *l0 = scale_of(camera, 0), *l = scale_of(camera, level);
    const struct reach rx = reach_of(u, level, l0->width), ry = reach_of(v, level, l0->height);
    const long double off_x = weight_error(level, l0->width), off_y = weight_error(level, l0->height);
    long double mean = 0.0L, all = 0.0L;
    int least = 255, most = 0;
    for (int32_t y = ry.first; y <= ry.last; y++)
        for (int32_t x = rx.first; x <= rx.last; x++) {
            const int is = grey(camera, 0, x, y);
            const long double weight = weight_of(x, u, level, l->width) * weight_of(y, v, level, l->height);
            mean += weight * is;
            all += weight;
            least = is < least ? is : least;
            most = is > most ? is : most;
        }
    /* a level may reach beyond the image by what an edge may be off, on both axes */
    REQUIRE(fabsl(all - 1.0L) <= 2 * edge_error(VFRONT_WIDTH + VFRONT_HEIGHT), "level %d at %d,%d: %.5Lf is covered",
            level, u, v, all);
    const long double allowed = 0.5L + (most - least) * (off_x + off_y + off_x * off_y) + 1e-9L;
    const int is = grey(camera, level, u, v);
    REQUIRE(fabsl(is - mean / all) <= allowed, "level %d of %dx%d at %d,%d: is %d, should be %.3Lf within %.3Lf", level,
            l0->width, l0->height, u, v, is, mean / all, allowed);
}

/* ---- oracle: smoothed levels ------------------------------------------------------------------------------------- */

static const int32_t bell[7] = {18, 34, 48, 56, 48, 34, 18};

#if VFRONT_DESCRIPTORS
/** Coordinate reflected about the first and last pixel of a row until it lies inside. */
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

/** Smoothed levels in turn, from level 0. */
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
            for (int32_t x = 0; x < l->width; x++)
                *smoothed(&expected, camera, level, x, y) = bell_mean(camera, level, x, y);
    }
}
#endif

/** Runs the stage and compares the whole arena. */
static void smooth_and_compare(const char *what)
{
#if VFRONT_DESCRIPTORS
    for (int32_t camera = 0; camera < step.geometry.cameras && step.tuning.describe && step.tuning.select_points;
         camera++)
        expect_smoothed(camera);
#endif
    RUN(smooth);
    same_arena(what);
}

/* ---- tests: levels ----------------------------------------------------------------------------------------------- */

static const struct size {
    int32_t width, height;
} size[] = {{16, 16}, {17, 31},  {19, 20},   {31, 17},   {33, 64},    {64, 33},     {64, 64},
            {63, 65}, {65, 63},  {127, 129}, {191, 130}, {257, 255},  {512, 40},    {40, 512},
            {97, 16}, {16, 131}, {641, 479}, {752, 480}, {1241, 376}, {1919, 1199}, {VFRONT_WIDTH, VFRONT_HEIGHT}};
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
            step.geometry.rectified = VFRONT_RECTIFY && roll(2);
            draw(0, 0, (enum fill)fill);
            scale_and_compare(what);
        }
}

/** Small images of any size, in cameras of different sizes, with any number of levels searched. */
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
            RUN(scale);
            for (int32_t level = 1; level < scales(); level++) {
                const struct vf_level *l = scale_of(0, level);
                const int32_t every = l->width * l->height > 30000 ? 7 : 1;
                for (int32_t v = 0; v < l->height; v += every)
                    for (int32_t u = 0; u < l->width; u += every) is_mean_of_area(0, level, u, v);
                is_mean_of_area(0, level, l->width - 1, l->height - 1);
                is_mean_of_area(0, level, l->width - 1, 0);
                is_mean_of_area(0, level, 0, l->height - 1);
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
        scribble(level0_of(&memory, 0), (size_t)(l0->pitch * l0->height));
        for (int32_t i = 0; i < l0->width * l0->height; i++)
            *pixel(&memory, 0, 0, i % l0->width, i / l0->width) = (uint8_t)is;
        RUN(scale);
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

/** All level 0 pixels have the same total weight, also at the borders: the mean of a level equals that of the image.
 *  Pixels beyond the last row and column of a level are drawn in the mean grey. */
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
        RUN(scale);
        for (int32_t level = 1; level < scales(); level++)
            REQUIRE(fabs(mean_of(level) - mean_of(0)) < 0.4, "level %d: mean %.3f, should be %.3f", level,
                    mean_of(level), mean_of(0));
    }
}

/** Total weight of a single pixel over all pixels of a level: 1/step^2 of its grey, anywhere, at the borders too. It
 *  enters three of them along each axis, each rounded; over many single pixels the rounding errors average out. */
static void a_pixel_leaves_its_share(void **state)
{
    double off[VFRONT_SCALES] = {0.0};
    (void)state;
    if (!fits(64, 64, 0)) skip();
    shake(6);
    for (int i = 0; i < 400; i++) {
        set_up(1, 64, 64, 0);
        draw(0, 0, BLACK);
        *pixel(&memory, 0, 0, i % 4 ? roll(48) : 0, i % 3 ? roll(48) : 0) = 255;
        RUN(scale);
        for (int32_t level = 1; level < scales(); level++) {
            const struct vf_level *l = scale_of(0, level);
            const double ratio = (double)scale_ratio(level), share = 255.0 / ratio / ratio;
            const double is = mean_of(level) * l->width * l->height, edges = 2 * ratio * (double)edge_error(64);
            REQUIRE(fabs(is - share) < 3 * 3 * 0.5 + share * (2 + edges) * edges, "level %d: %.2f, should be %.2f",
                    level, is, share);
            off[level] += (is - share) / 400;
        }
    }
    for (int32_t level = 1; level < scales(); level++) {
        const double ratio = (double)scale_ratio(level);
        REQUIRE(fabs(off[level]) < 0.5 + 2.55 / ratio / ratio, "level %d: %.3f in the mean", level, off[level]);
    }
}

/** Largest sum of stripes of +1 and -1, 1 px wide, over an interval of a length that begins anywhere. */
static double stripes_over(double length)
{
    const double beyond = fmod(length, 2.0);
    return beyond < 1.0 ? beyond : 2.0 - beyond;
}

/** Largest contrast of such stripes that remains in a pixel: over an area 2 px of the level long; at the border of
 *  the level over 3/2 px and half a pixel. A weight error counts twice, since it moves weight from +1 to -1. */
static double ripple(int32_t u, int32_t size, int32_t level, int32_t size0)
{
    const double ratio = (double)scale_ratio(level);
    const int at_end = u == 0 || u == size - 1;
    const double sum = at_end ? stripes_over(1.5 * ratio) + stripes_over(0.5 * ratio) : stripes_over(2 * ratio);
    return sum / (2 * ratio) + 2 * (double)weight_error(level, size0);
}

/** No aliasing: stripes and checks too fine for a level become grey there, not coarse patterns as by subsampling. */
static void fine_patterns_become_grey(void **state)
{
    (void)state;
    shake(7);
    for (int32_t fill = CHECKER; fill <= STRIPES; fill++) {
        const int32_t width = VFRONT_WIDTH < 752 ? VFRONT_WIDTH : 752,
                      height = VFRONT_HEIGHT < 480 ? VFRONT_HEIGHT : 480;
        set_up(1, width, height, 0);
        draw(0, 0, (enum fill)fill);
        RUN(scale);
        for (int32_t level = 1; level < scales(); level++) {
            const struct vf_level *l = scale_of(0, level);
            for (int32_t i = 0; i < l->width * l->height; i++) {
                const int32_t u = i % l->width, v = i / l->width, is = grey(0, level, u, v);
                const double left_v = fill == CHECKER ? ripple(v, l->height, level, height) : 1.0;
                const double most = 127.5 * ripple(u, l->width, level, width) * left_v + 0.5 + 1e-9;
                REQUIRE(fabs(is - 127.5) <= most, "fill %d level %d at %d,%d: %d is more than %.1f from grey", fill,
                        level, u, v, is, most);
            }
        }
    }
}

/** By hand, for levels of 6/5: 6 pixels of level 0 are 5 of level 1; edges fall on 0, 106.7, 213.3, 320, 426.7,
 *  533.3, 640 in 1/128 px. Pixel 0 of level 1 is what lies from -64 to 192, pixel 1 from 64 to 320, and so on; of
 *  pixels -1 to 6 of level 0 it takes: */
static const int32_t known_share[5][8] = {
    {64, 107, 85, 0, 0, 0, 0, 0},  {0, 43, 106, 107, 0, 0, 0, 0}, {0, 0, 21, 107, 107, 21, 0, 0},
    {0, 0, 0, 0, 107, 106, 43, 0}, {0, 0, 0, 0, 0, 85, 107, 64},
};

/** Draws pixel `at` of every row, or column, white on a black image of 24x24. */
static void draw_line(int32_t at, int32_t turned)
{
    set_up(1, 24, 24, 0);
    draw(0, 0, BLACK);
    for (int32_t i = 0; i < 24; i++) *pixel(&memory, 0, 0, turned ? i : at, turned ? at : i) = 255;
    RUN(scale);
}

static void takes(int32_t u, int32_t turned, int32_t share)
{
    const int is = grey(0, VFRONT_SCALES > 1, turned ? 3 : u, turned ? u : 3);
    REQUIRE(is == (share * 255 + 128) / 256, "pixel %d, turned %d: is %d, should be %d of 256", u, turned, is, share);
}

static void known_shares(void **state)
{
    (void)state;
    if (VFRONT_SCALES < 2 || VFRONT_SCALE_NUM != 6 || VFRONT_SCALE_DEN != 5) skip();
    shake(8);
    for (int32_t turned = 0; turned < 2; turned++) {
        for (int32_t x = -1; x <= 6; x++) {
            draw_line(12 + x, turned);
            for (int32_t u = 0; u < 5; u++) takes(10 + u, turned, known_share[u][x + 1]);
        }
        draw_line(0, turned); /* at the ends what lies within 64/128 counts twice: 107 + 64 */
        takes(0, turned, 171);
        takes(1, turned, 43);
        draw_line(1, turned);
        takes(0, turned, 85);
        draw_line(23, turned);
        takes(19, turned, 171);
        takes(18, turned, 43);
        draw_line(22, turned);
        takes(19, turned, 85);
    }
}

/* ---- tests: the arithmetic that both forms share ----------------------------------------------------------------- */

/** Compares the first level 0 pixel of every half pixel of a level. */
static void halves_begin(int32_t level)
{
    for (int32_t h = 0; h < 2 * across.size; h++)
        assert_int_equal(vf_scale_first(h, step.geometry.step_q16[level], step.geometry.inverse_q19[level]),
                         owner[64 * h]);
}

static void shares_of_pixel(int32_t u, int32_t level)
{
    const uint32_t inverse_q19 = step.geometry.inverse_q19[level];
    const int32_t first = vf_scale_first(vf_scale_support(u), step.geometry.step_q16[level], inverse_q19);
    int32_t sum = 0;
    assert_int_equal(first, across.first[u]);
    assert_true(across.taps[u] <= VF_SCALE_TAPS);
    for (int32_t k = 0; k < TAPS_MAX; k++) {
        assert_int_equal(vf_scale_weight(u, across.size, first + k, inverse_q19), across.share[u][k]);
        sum += across.share[u][k];
    }
    assert_true(first == 0 || vf_scale_weight(u, across.size, first - 1, inverse_q19) == 0);
    assert_int_equal(sum, 256);
}

/** Sum of the weights of each level 0 pixel over all pixels of a level: twice the length that it covers, up to the
 *  end of the level. */
static void weights_of_source_pixels(int32_t level)
{
    static int32_t given[LONGEST];
    memset(given, 0, sizeof given);
    for (int32_t u = 0; u < across.size; u++)
        for (int32_t k = 0; k < across.taps[u]; k++) given[across.first[u] + k] += across.share[u][k];
    for (int32_t j = 0; j < scale_of(0, 0)->width && edge_at(j + 1, level) <= 128 * across.size; j++)
        assert_int_equal(given[j], 2 * (edge_at(j + 1, level) - edge_at(j, level)));
}

/** Supports of all pixels of all levels, for the widest image and others: their first pixel, weights, sums of
 *  weights, and at most VF_SCALE_TAPS taps. */
static void shares_of_every_pixel(void **state)
{
    (void)state;
    shake(9);
    for (int i = 0; i < 40; i++) {
        set_up(1, i ? between(16, VFRONT_WIDTH) : VFRONT_WIDTH, VFRONT_HEIGHT, 0);
        for (int32_t level = 0; level < scales(); level++) {
            find_weights(&across, scale_of(0, 0)->width, scale_of(0, level)->width, level);
            halves_begin(level);
            weights_of_source_pixels(level);
            for (int32_t u = 0; u < across.size; u++) shares_of_pixel(u, level);
        }
    }
}

/** Edges and sizes for all possible steps, edges exactly halfway between two of 1/128 px included. */
static void edges_of_any_step(void **state)
{
    int64_t between_two = 0;
    (void)state;
    shake(16);
    for (int i = 0; i < 400; i++) {
        const int64_t inverse_q19 = between(32768 >> i % 12, 524288 >> i % 12) << i % 12;
        for (int64_t j = 0; j <= LONGEST; j++) {
            const int64_t is = vf_scale_edge((int32_t)j, (uint32_t)inverse_q19), product = j * inverse_q19;
            assert_int_equal(is, product / 4096 + (product % 4096 >= 2048));
            assert_int_equal(vf_scale_size((int32_t)j, (uint32_t)inverse_q19), is / 128);
            between_two += product % 4096 == 2048;
        }
    }
    assert_true(between_two > 1000);
}

/** All possible image sizes: the number of pixels of each level, that level 0 covers them, and that they fit the
 *  memory of the config. */
static void sizes_of_levels(void **state)
{
    (void)state;
    shake(10);
    for (int32_t side = 16; side <= (VFRONT_WIDTH > VFRONT_HEIGHT ? VFRONT_WIDTH : VFRONT_HEIGHT); side++) {
        const int32_t width = side < VFRONT_WIDTH ? side : VFRONT_WIDTH,
                      height = side < VFRONT_HEIGHT ? side : VFRONT_HEIGHT;
        set_up(1, width, height, 0);
        assert_true(step.geometry.scales >= 1 && step.geometry.step_q16[0] == 65536 &&
                    step.geometry.inverse_q19[0] == 524288);
        for (int32_t level = 0; level < scales(); level++) {
            const struct vf_level *l = scale_of(0, level);
            const uint32_t inverse_q19 = step.geometry.inverse_q19[level];
            assert_int_equal(vf_scale_size(width, inverse_q19), l->width);
            assert_int_equal(vf_scale_size(height, inverse_q19), l->height);
            assert_true(l->width >= 16 && l->height >= 16 &&
                        fabsl(l->width + 0.5L - width / scale_ratio(level)) < 0.51L);
            assert_true(edge_at(width, level) >= 128 * l->width && edge_at(height, level) >= 128 * l->height);
            assert_true(l->width <= VFRONT_SCALED(VFRONT_WIDTH, level) &&
                        l->height <= VFRONT_SCALED(VFRONT_HEIGHT, level));
        }
        assert_true(step.geometry.scales == VFRONT_SCALES || scaled_size(width, step.geometry.scales) < 16 ||
                    scaled_size(height, step.geometry.scales) < 16);
    }
    const struct vf_level *last = scale_of(0, VFRONT_SCALES - 1);
    if (VFRONT_SCALES > 1)
        assert_true(last->offset + (uint32_t)(last->pitch * last->height) <= sizeof memory.scale.pixels[0]);
}

/** Only searched levels are made; with one level there is nothing to do. */
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
        if (levels == 1) RUN(scale);
        same_arena("levels searched");
    }
}

/* ---- tests: smoothed levels -------------------------------------------------------------------------------------- */

/** Fills all levels independently of each other. */
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
            step.geometry.rectified = VFRONT_RECTIFY && roll(2);
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

/** Without descriptors nothing is written: no stage reads smoothed levels. */
static void nothing_without_descriptors(void **state)
{
    (void)state;
    shake(14);
    scribble_arena();
    for (int32_t i = 0; i < 3; i++) {
        set_up(VFRONT_CAMERAS, 40, 33, 0);
        step.tuning.describe = i == 0 && VFRONT_DESCRIPTORS;
        step.tuning.select_points = i == 1 ? VFRONT_KEYPOINTS : 0;
        RUN(smooth);
        same_arena("nothing to smooth");
    }
}

/** The weights are those of a normal distribution with sigma 2 px, and sum to one. */
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

/** By hand: a white pixel becomes the kernel; in a corner with its reflections. */
static void known_impulse(void **state)
{
    (void)state;
#if VFRONT_DESCRIPTORS
    shake(15);
    set_up(1, 16, 16, 0);
    draw(0, 0, BLACK);
    *pixel(&memory, 0, 0, 8, 8) = 255;
    *pixel(&memory, 0, 0, 1, 1) = 255;
    RUN(smooth);
    assert_int_equal(*smoothed(&memory, 0, 0, 8, 8), 12);  /* 56 * 56 * 255 / 65536 = 12.2 */
    assert_int_equal(*smoothed(&memory, 0, 0, 9, 8), 10);  /* 48 * 56: 10.46 */
    assert_int_equal(*smoothed(&memory, 0, 0, 8, 6), 7);   /* 56 * 34: 7.41 */
    assert_int_equal(*smoothed(&memory, 0, 0, 11, 11), 1); /* 18 * 18: 1.26 */
    assert_int_equal(*smoothed(&memory, 0, 0, 12, 8), 0);
    assert_int_equal(*smoothed(&memory, 0, 0, 1, 1),
                     32); /* itself and, 2 px farther, its mirror image: (56 + 34)^2: 31.52 */
    assert_int_equal(*smoothed(&memory, 0, 0, 0, 0), 36); /* 1 px on both sides: (48 + 48)^2: 35.86 */
    assert_int_equal(*smoothed(&memory, 0, 0, 0, 1), 34); /* (48 + 48) * (56 + 34): 33.6 */
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
        cmocka_unit_test(edges_of_any_step),
        cmocka_unit_test(sizes_of_levels),
        cmocka_unit_test(levels_searched_are_made),
        cmocka_unit_test(smoothed_levels_of_all_sizes),
        cmocka_unit_test(smoothed_levels_of_random_sizes),
        cmocka_unit_test(nothing_without_descriptors),
        cmocka_unit_test(bell_of_two_pixels),
        cmocka_unit_test(known_impulse),
    };
    return cmocka_run_group_tests_name("scale", test, NULL, NULL);
}
