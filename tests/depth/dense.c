/* SPDX-License-Identifier: MIT */
/* dense: comparison with semi-global matching written from the papers, in double precision, with all path costs kept,
 * and filters that process every pixel independently: disparities and confidences of any images, bit by bit. Images of
 * known disparities. Through the public interface: refusals, and where results lie. */
#include "tests/fixture/stage.h"

#if VFRONT_DENSE

#define MOST_PX 12000 /* pixels of an image here */
#define MOST_D VFRONT_DISPARITIES
enum { NONE = 0xffff };

static int32_t width, height, all;                    /* pixels, disparities */
static uint8_t shown[2][MOST_PX], hidden[2][MOST_PX]; /* images; 1: masked */
static double sums[MOST_PX][MOST_D];
static int should[MOST_PX], confidence[MOST_PX]; /* disparity [1/16 px] or NONE; confidence */
static int filled;                               /* pixels of all cases filled with their neighbours' median */
static int half_occluded;                        /* pixels of all cases that got the disparity on their left */

static int min_of(int a, int b) { return a < b ? a : b; }
static int max_of(int a, int b) { return a > b ? a : b; }
static int at_px(int x, int y) { return y * width + x; }

/* ---- oracle ------------------------------------------------------------------------------------------------------ */

static int nearest(int camera, int x, int y)
{
    return shown[camera][at_px(min_of(max_of(x, 0), width - 1), min_of(max_of(y, 0), height - 1))];
}

/** Census words of all pixels, in any order of bits: whether a pixel of 5x5 is brighter than the opposite one (above or
 *  left of the centre); whether each second pixel around 7x7 is brighter than the centre. Brighter: by 2 or more. */
static uint32_t census[2][MOST_PX];
static void census_transform(void)
{
    memset(census, 0, sizeof census);
    for (int k = 0; k < 2 * width * height * 49; k++) {
        const int c = k % 2, u = k / 2 % 7 - 3, v = k / 14 % 7 - 3, at = k / 98, x = at % width, y = at / width;
        const int near = max_of(abs(u), abs(v)) <= 2, first = v < 0 || (v == 0 && u < 0);
        const int other = near ? nearest(c, x - u, y - v) : nearest(c, x, y);
        if (near ? !first : (u + v) % 2) continue;
        census[c][at] = census[c][at] << 1 | (nearest(c, x + u, y + v) - other >= 2);
    }
}

static double min_double(double a, double b) { return a < b ? a : b; }

/** Adds the path costs of one direction to the sums: Hirschmueller (2008), equation 13. A third of the larger penalty
 *  where grey levels differ by more than 16. */
static void add_paths(int dx, int dy, const double (*cost)[MOST_D])
{
    static double path[MOST_PX][MOST_D];
    const vfront_tuning_t *t = &step.tuning;
    for (int k = 0; k < width * height; k++) {
        const int x = dx < 0 ? width - 1 - k % width : k % width, y = dy < 0 ? height - 1 - k / width : k / width;
        const int xb = x - dx, yb = y - dy, here = at_px(x, y);
        const int starts = xb < 0 || yb < 0 || xb >= width || yb >= height;
        const double *before = starts ? NULL : path[at_px(xb, yb)];
        const int edge = !starts && abs(shown[0][here] - shown[0][at_px(xb, yb)]) > 16,
                  p2 = edge ? max_of(t->dense_p1, (int)floor(t->dense_p2 / 3.0)) : t->dense_p2;
        double least = HUGE_VAL;
        for (int d = 0; d < all && before; d++) least = min_double(least, before[d]);
        for (int d = 0; d < all; d++) {
            double from = starts ? 0.0 : min_double(before[d], least + p2);
            if (!starts && d > 0) from = min_double(from, before[d - 1] + t->dense_p1);
            if (!starts && d < all - 1) from = min_double(from, before[d + 1] + t->dense_p1);
            path[here][d] = cost[here][d] + from - (starts ? 0.0 : least);
            sums[here][d] += path[here][d];
        }
    }
}

static void add_all_paths(void)
{
    static const int direction[8][2] = {{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1, 1}, {-1, -1}, {1, -1}, {-1, 1}};
    static double cost[MOST_PX][MOST_D];
    census_transform();
    for (int y = 0; y < height; y++)
        for (int x = 0; x < width; x++)
            for (int d = 0; d < all; d++) {
                cost[at_px(x, y)][d] = __builtin_popcount(
                    census[0][at_px(x, y)] ^ census[1][at_px(max_of(x - step.tuning.dense_least_px - d, 0), y)]);
                sums[at_px(x, y)][d] = 0.0;
            }
    for (int k = 0; k < 8; k++) add_paths(direction[k][0], direction[k][1], (const double(*)[MOST_D])cost);
}

/** Best disparity of a pixel with its match inside camera 1, as an index; -1: none; the first of equals. */
static int best_of(int x, int y)
{
    int best = -1;
    for (int d = 0; d < all && x - step.tuning.dense_least_px - d >= 0; d++)
        if (best < 0 || sums[at_px(x, y)][d] < sums[at_px(x, y)][best]) best = d;
    return best;
}

/** Best disparity of a pixel of camera 1, as an index; -1: none; the first of equals. */
static int best_back(int xr, int y)
{
    int best = -1;
    for (int d = 0; d < all && xr + step.tuning.dense_least_px + d < width; d++)
        if (best < 0 || sums[at_px(xr + step.tuning.dense_least_px + d, y)][d] <
                            sums[at_px(xr + step.tuning.dense_least_px + best, y)][best])
            best = d;
    return best;
}

static void find_winner(int x, int y)
{
    const double *sum = sums[at_px(x, y)];
    const int best = best_of(x, y), candidates = min_of(all, x - step.tuning.dense_least_px + 1);
    int *to = &should[at_px(x, y)], second = -1;
    *to = NONE;
    confidence[at_px(x, y)] = 0;
    for (int d = 0; d < candidates; d++)
        if (abs(d - best) > 1 && (second < 0 || sum[d] < sum[second])) second = d;
    if (second < 0 || sum[second] <= sum[best]) return;
    const double cost = sum[best] / 8.0, margin = (sum[second] - sum[best]) / sum[second];
    if (cost > 0.0 &&
        sum[second] * sum[best] * step.tuning.dense_unique_percent >= 800.0 * 8 * (sum[second] - sum[best]))
        return;
    double px = step.tuning.dense_least_px + best;
    if (best > 0 && best + 1 < candidates) {
        const double slope = fmax(sum[best - 1], sum[best + 1]) - sum[best];
        if (slope > 0.0) px += (sum[best - 1] - sum[best + 1]) / (2.0 * slope);
    }
    *to = (int)floor(px * 16.0 + 0.5);
    confidence[at_px(x, y)] = cost > 0.0 ? min_of(max_of((int)floor(margin * 255.0 * 8.0 / cost + 1e-9), 1), 255) : 255;
}

static void check_back(int x, int y)
{
    int *to = &should[at_px(x, y)];
    if (*to == NONE) return;
    const int px = (int)floor(*to / 16.0 + 0.5), back = best_back(x - px, y) + step.tuning.dense_least_px;
    if (abs(back - px) > step.tuning.dense_back_px || hidden[0][at_px(x, y)] || hidden[1][at_px(x - px, y)]) *to = NONE;
}

static int by_size(const void *a, const void *b) { return *(const int *)a - *(const int *)b; }

/** Median of 3x3. A pixel without a disparity is filled from four or more neighbours that agree within 2 px. */
static void take_median(const int *from, int x, int y)
{
    const int here = at_px(x, y), hole = from[here] == NONE;
    int list[9], count = 0;
    for (int v = max_of(y - 1, 0); v <= min_of(y + 1, height - 1); v++)
        for (int u = max_of(x - 1, 0); u <= min_of(x + 1, width - 1); u++)
            if (from[at_px(u, v)] != NONE) list[count++] = from[at_px(u, v)];
    qsort(list, (size_t)count, sizeof *list, by_size);
    if (hole) {
        if (count < 4 || list[count - 1] - list[0] > 2 * 16 || list[(count - 1) / 2] > 16 * x) return;
        const int match = x - (int)floor(list[(count - 1) / 2] / 16.0 + 0.5);
        if (hidden[0][here] || hidden[1][at_px(match, y)]) return;
        confidence[here] = 1;
        filled++;
    }
    should[here] = min_of(list[(count - 1) / 2], 16 * x);
}

static int connected(const int *v, int a, int b) { return v[a] != NONE && v[b] != NONE && abs(v[a] - v[b]) <= 16; }

/** Pixels of the segment of a pixel, by flood fill. */
static int flood(const int *v, int start, int *list, uint8_t *seen)
{
    int count = 0;
    list[count++] = start;
    seen[start] = 1;
    for (int k = 0; k < count; k++) {
        const int x = list[k] % width, y = list[k] / width;
        const int next[4] = {x > 0 ? list[k] - 1 : -1, x < width - 1 ? list[k] + 1 : -1, y > 0 ? list[k] - width : -1,
                             y < height - 1 ? list[k] + width : -1};
        for (int n = 0; n < 4; n++) {
            if (next[n] < 0 || seen[next[n]] || !connected(v, list[k], next[n])) continue;
            seen[next[n]] = 1;
            list[count++] = next[n];
        }
    }
    return count;
}

/** 1 if a tile contains the whole segment. */
static int in_a_tile(const int *list, int count)
{
    for (int y0 = 0; y0 < height; y0 += 32)
        for (int x0 = 0; x0 < width; x0 += 32) {
            int inside = 0;
            for (int k = 0; k < count; k++) {
                const int x = list[k] % width - x0, y = list[k] / width - y0;
                inside += x >= 0 && y >= 0 && x < 64 && y < 64;
            }
            if (inside == count) return 1;
        }
    return 0;
}

/** Least label in the connected run of a line around a pixel. stride: from pixel to pixel; back, on: pixels of the line
 *  before and after it. */
static int least_label(const int *v, const int *label, int at, int stride, int back, int on)
{
    int least = label[at];
    for (int k = at; back-- && connected(v, k, k - stride); k -= stride) least = min_of(least, label[k - stride]);
    for (int k = at; on-- && connected(v, k, k + stride); k += stride) least = min_of(least, label[k + stride]);
    return least;
}

/** 1 if all labels of a segment are equal after eight sweeps along rows and columns. */
static int labels_converge(const int *v, const int *list, int count)
{
    static int label[MOST_PX], next[MOST_PX];
    for (int k = 0; k < count; k++) label[list[k]] = list[k];
    for (int sweep = 0; sweep < 16; sweep++) {
        for (int k = 0; k < count; k++) {
            const int at = list[k], x = at % width, y = at / width;
            next[at] = sweep % 2 ? least_label(v, label, at, width, y, height - 1 - y)
                                 : least_label(v, label, at, 1, x, width - 1 - x);
        }
        for (int k = 0; k < count; k++) label[list[k]] = next[list[k]];
    }
    for (int k = 1; k < count; k++)
        if (label[list[k]] != label[list[0]]) return 0;
    return 1;
}

static void drop_speckles(void)
{
    static int before[MOST_PX], list[MOST_PX];
    static uint8_t seen[MOST_PX];
    memcpy(before, should, sizeof before);
    memset(seen, 0, sizeof seen);
    for (int at = 0; at < width * height; at++) {
        if (seen[at] || before[at] == NONE) continue;
        const int count = flood(before, at, list, seen);
        if (count >= step.tuning.dense_speckle_px || !in_a_tile(list, count) || !labels_converge(before, list, count))
            continue;
        for (int k = 0; k < count; k++) should[list[k]] = NONE;
    }
}

/** Disparity of the nearest pixel on the left (by -1) or right (by 1) of one that has none; its column. */
static int beside(const int *v, int x, int y, int by, int *column)
{
    do x += by;
    while (x >= 0 && x < width && v[at_px(x, y)] == NONE);
    *column = x;
    return x < 0 || x >= width ? NONE : v[at_px(x, y)];
}

/** Gives each pixel that a nearer surface hides from camera 1 the disparity of the farther one, on its left. */
static void fill_hidden(const int *from, int x, int y)
{
    int first, last;
    const int here = at_px(x, y), far = beside(from, x, y, -1, &first), near = beside(from, x, y, 1, &last);
    if (from[here] != NONE || far == NONE || near == NONE) return;
    const double hides_px = (near - far) / 16.0;
    const int match = x - (int)floor(far / 16.0 + 0.5);
    if (hides_px < 1.0 || last - first - 2 > hides_px || hidden[0][here] || hidden[1][at_px(match, y)]) return;
    should[here] = far;
    confidence[here] = 1;
    half_occluded++;
}

static void expect(void)
{
    static int before[MOST_PX];
    add_all_paths();
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) find_winner(x, y);
        for (int x = 0; x < width; x++) check_back(x, y);
    }
    memcpy(before, should, sizeof before);
    for (int k = 0; k < width * height; k++) take_median(before, k % width, k / width);
    drop_speckles();
    memcpy(before, should, sizeof before);
    for (int k = 0; k < width * height; k++) fill_hidden(before, k % width, k / width);
}

/* ---- test bench -------------------------------------------------------------------------------------------------- */

static void set_picture(int32_t wide, int32_t high)
{
    width = wide;
    height = high;
    set_up(2, wide, high, roll(2));
    step.tuning.dense = 1;
    memset(hidden, 0, sizeof hidden);
    pinned.params.result = memory.ingest.params.result = (uint32_t)roll(3);
}

/** Writes images and masks to the input of the stage. */
static void put(void)
{
    for (int c = 0; c < 2; c++) {
        const struct vf_level *l = &step.geometry.level[c][0];
        uint8_t *to = memory.ingest.picture[step.parity][c];
        step.geometry.masked[c] = roll(2);
        const int framed = roll(2) || (!step.geometry.masked[c] && memchr(hidden[c], 1, sizeof hidden[c]));
        memory.ingest.params.source[c].mask = framed ? &shown[0][0] : NULL;
        for (int k = 0; k < width * height; k++) {
            const size_t at = (size_t)(k / width * l->pitch + k % width);
            to[at] = shown[c][k];
            memory.ingest.mask_static[c][at] = memory.ingest.mask_frame[c][at] = 255;
            if (hidden[c][k] && (!step.geometry.masked[c] || (framed && roll(2))))
                memory.ingest.mask_frame[c][at] = 0;
            else if (hidden[c][k])
                memory.ingest.mask_static[c][at] = 0;
        }
    }
}

/** Runs the stage and compares its result and the whole arena. Returns the number of pixels with a disparity. */
static int check(const char *what)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    struct vf_dense_copy *copy = &pinned.dense[memory.ingest.params.result];
    uint32_t valid = 0;
    all = step.tuning.dense_disparities;
    put();
    expect();
    memset(pinned.dense, 0x5a, sizeof pinned.dense);
    memcpy(&expected, &memory, sizeof memory);
    for (int k = 0; k < width * height; k++) {
        const size_t at = (size_t)(k / width * l->pitch + k % width);
        expected.dense.disparity[at] = (uint16_t)should[k];
        expected.dense.confidence[at] = (uint8_t)(should[k] == NONE ? 0 : confidence[k]);
        valid += should[k] != NONE;
    }
    expected.dense.valid = valid;
    RUN(dense);
    for (int k = 0; k < width * height; k++) {
        const size_t at = (size_t)(k / width * l->pitch + k % width);
        REQUIRE(memory.dense.disparity[at] == should[k], "%s: (%d, %d) of %dx%d: %d, should be %d", what, k % width,
                k / width, width, height, memory.dense.disparity[at], should[k]);
        if (step.tuning.dense == VFRONT_DENSE_DEVICE) continue;
        assert_int_equal(copy->disparity[at], should[k]);
        assert_int_equal(copy->confidence[at], expected.dense.confidence[at]);
        copy->disparity[at] = 0x5a5a;
        copy->confidence[at] = 0x5a;
    }
    for (size_t i = 0; i < sizeof pinned.dense; i++) assert_int_equal(((uint8_t *)pinned.dense)[i], 0x5a);
    memcpy(&expected.dense_scratch, &memory.dense_scratch, sizeof expected.dense_scratch);
    same_arena(what);
    return (int)valid;
}

static int value_noise(int x, int y, int seed)
{
    uint32_t h = (uint32_t)x * 73856093u ^ (uint32_t)y * 19349663u ^ (uint32_t)seed * 83492791u;
    h = (h ^ h >> 13) * 0x5bd1e995u;
    return (int)((h ^ h >> 15) & 255);
}

/** Draws a textured scene for camera 0, and the same for camera 1 with each pixel moved by its disparity_of(); noise
 *  where no pixel is moved to. */
static void draw(int (*disparity_of)(int, int), int levels)
{
    for (int k = 0; k < width * height; k++) {
        shown[0][k] = (uint8_t)(value_noise(k % width, k / width, 1) * levels / 256 * (255 / max_of(levels - 1, 1)));
        shown[1][k] = (uint8_t)roll(256);
    }
    for (int far = 0; far < 300; far++) /* near pixels occlude far ones */
        for (int k = 0; k < width * height; k++)
            if (disparity_of(k % width, k / width) == far && k % width >= far) shown[1][k - far] = shown[0][k];
}

static int plane_px;
static int plane(int x, int y) { return (void)x, (void)y, plane_px; }
static int box(int x, int y)
{
    return x > width / 3 && x < 2 * width / 3 && y > height / 4 && y < 3 * height / 4 ? 9 : 3;
}
static int slope(int x, int y) { return 2 + y / 4 + x / 16; }

static void random_tuning(void)
{
    vfront_tuning_t *t = &step.tuning;
    t->dense_disparities = 64 << roll(3);
    while (t->dense_disparities > VFRONT_DISPARITIES) t->dense_disparities /= 2;
    t->dense_least_px = roll(3) ? 0 : between(1, roll(4) ? 12 : 200);
    t->dense_p2 = roll(2) ? 36 : roll(40);
    t->dense_p1 = roll(2) ? min_of(6, t->dense_p2) : roll(t->dense_p2 + 1);
    t->dense_unique_percent = roll(2) ? 5 : roll(100);
    t->dense_back_px = roll(2) ? 1 : roll(257);
    t->dense_speckle_px = !roll(8) ? 0 : roll(2) ? 100 : roll(1001);
    t->dense = roll(2) ? VFRONT_DENSE_COPIED : VFRONT_DENSE_DEVICE;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void random_cases(void **state)
{
    (void)state;
    static int (*const world[])(int, int) = {plane, box, slope};
    int valid = 0;
    for (int i = 0; i < 45; i++) {
        shake(100 + (uint64_t)i);
        scribble_arena();
        set_picture(i % 4 ? between(16, 100) : 16, i % 5 ? between(16, 80) : 16);
        random_tuning();
        plane_px = roll(20);
        draw(world[roll(3)], i % 3 ? 256 : 2);
        for (int k = 0; k < width * height; k++) {
            if (i % 7 == 6) shown[0][k] = (uint8_t)roll(256); /* unrelated images */
            hidden[0][k] = roll(40) == 0;
            hidden[1][k] = roll(40) == 0;
        }
        valid += check("random");
    }
    REQUIRE(valid > 15000 && filled > 500 && half_occluded > 100,
            "%d pixels have a disparity, %d were filled, %d are half-occluded", valid, filled,
            half_occluded); /* otherwise the filters had no work */
}

/** Uniform images: no disparities, even with the most tolerant filters. */
static void flat(void **state)
{
    (void)state;
    shake(1);
    for (int grey = 0; grey < 256; grey += 85) {
        set_picture(100, 60);
        step.tuning.dense_unique_percent = 0;
        step.tuning.dense_back_px = 256;
        memset(shown, grey, sizeof shown);
        assert_int_equal(check("flat"), 0);
    }
}

/** Matching costs of 0 everywhere, and of the largest value. */
static void extremes(void **state)
{
    (void)state;
    shake(2);
    for (int p2 = 0; p2 <= 39; p2 += 13)
        for (int i = 0; i < 4; i++) {
            set_picture(90, 60);
            step.tuning.dense_p1 = min_of(step.tuning.dense_p1, p2);
            step.tuning.dense_p2 = p2;
            for (int k = 0; k < width * height; k++) {
                const int x = k % width, y = k / width;
                shown[0][k] = (x + y) % 2 ? 255 : 0;
                shown[1][k] = i == 0   ? shown[0][k]
                              : i == 1 ? 255 - shown[0][k]
                              : i == 2 ? 128
                                       : (uint8_t)(x % 5 == 2 && y % 5 == 2 ? 0 : 255);
                if (i == 3) shown[0][k] = (uint8_t)(x % 5 == 2 && y % 5 == 2 ? 255 : 0);
            }
            check("extremes");
        }
}

/** Images narrower than the range of disparities, down to the smallest; and matches that all lie outside the image. */
static void narrow(void **state)
{
    (void)state;
    shake(3);
    for (int wide = 16; wide <= 70; wide += 9) {
        set_picture(wide, 16);
        step.tuning.dense_disparities = VFRONT_DISPARITIES;
        plane_px = 3;
        draw(plane, 256);
        check("narrow");
        step.tuning.dense_least_px = wide;
        assert_int_equal(check("all outside"), 0);
        step.tuning.dense_least_px = 1024;
        assert_int_equal(check("far outside"), 0);
        step.tuning.dense_least_px = wide - 1;
        assert_int_equal(check("one pixel inside"), 0);
    }
}

/** Disparities of a known scene are right. */
static void known(void **state)
{
    (void)state;
    static int (*const world[])(int, int) = {plane, box, slope};
    for (int i = 0; i < 3; i++) {
        int right = 0, wrong = 0, seen = 0;
        shake(4);
        set_picture(110, 70);
        step.tuning.dense_disparities = 64;
        plane_px = 17;
        draw(world[i], 256);
        check("known");
        for (int k = 0; k < width * height; k++) {
            const int d = world[i](k % width, k / width);
            seen += k % width >= d;
            right += should[k] != NONE && abs(should[k] - 16 * d) <= 8;
            wrong += should[k] != NONE && abs(should[k] - 16 * d) > 16;
        }
        REQUIRE(right * 100 > seen * (i == 2 ? 70 : 90) && wrong * 100 < seen * 3, "world %d: %d right, %d wrong of %d",
                i, right, wrong, seen);
    }
}

/** A pole of 4 px, nearer and brighter than a wall, has its disparity. What it hides of the wall has none, or the
 *  wall's. */
static void thin(void **state)
{
    (void)state;
    enum { WALL = 4, POLE = 24, FIRST = 60, PX = 4 };
    int pole = 0, wrong = 0;
    shake(9);
    set_picture(110, 70);
    step.tuning.dense_disparities = 64;
    for (int k = 0; k < width * height; k++) {
        const int x = k % width, y = k / width;
        for (int c = 0; c < 2; c++) {
            const int u = c ? x + POLE : x, is_pole = u >= FIRST && u < FIRST + PX;
            const int grey = value_noise(is_pole ? u : x + c * WALL, y, 3) / 2;
            shown[c][k] = (uint8_t)(is_pole ? 120 + grey : grey);
        }
    }
    check("thin");
    for (int k = 0; k < width * height; k++) {
        const int x = k % width;
        pole += x >= FIRST && x < FIRST + PX && abs(should[k] - 16 * POLE) <= 16;
        wrong += x >= FIRST - (POLE - WALL) && x < FIRST - (POLE - WALL) + PX && should[k] != NONE &&
                 abs(should[k] - 16 * WALL) > 16;
    }
    REQUIRE(pole * 10 > PX * height * 9 && wrong * 10 < PX * height, "%d pixels of the pole, %d wrong behind it of %d",
            pole, wrong, PX * height);
}

/** dense_least_px shifts the range of disparities, not the result. */
static void range(void **state)
{
    (void)state;
    static uint16_t first[MOST_PX];
    shake(5);
    for (int least = 0; least <= 40; least += 20) {
        set_picture(120, 40);
        step.tuning.dense_disparities = 64;
        step.tuning.dense_least_px = least;
        plane_px = 45;
        for (int k = 0; k < width * height; k++) {
            shown[0][k] = (uint8_t)value_noise(k % width, k / width, 2);
            shown[1][k] = (uint8_t)value_noise(k % width + 45, k / width, 2);
        }
        REQUIRE(check("range") > 60 * height, "least %d", least);
        for (int k = 0; k < width * height; k++) {
            if (!least)
                first[k] = (uint16_t)should[k];
            else if (should[k] != NONE && first[k] != NONE)
                assert_in_range(should[k], first[k] - 8, first[k] + 8);
        }
    }
}

/** Switched off, the stage writes nothing. */
static void all_else_stays(void **state)
{
    (void)state;
    shake(6);
    scribble_arena();
    set_picture(64, 48);
    put();
    step.tuning.dense = 0;
    memcpy(&expected, &memory, sizeof memory);
    RUN(dense);
    same_arena("switched off");
}

/** Speckle filter: winding segments, and segments at the limits of size, range and tile. Masks, which act on single
 *  pixels, shape the segments. */
static void speckles(void **state)
{
    (void)state;
    int kept[2] = {0, 0};
    for (int i = 0; i < 24; i++) {
        shake(700 + (uint64_t)i);
        set_picture(150, 80);
        step.tuning.dense_disparities = 64;
        step.tuning.dense_back_px = 256;
        step.tuning.dense_speckle_px = i < 8 ? 1000 : between(2, 200);
        plane_px = 2;
        draw(i % 2 ? plane : box, 256);
        for (int k = 0; k < width * height; k++) {
            const int x = k % width, y = k / width,
                      serpentine = y > 62 || x % 10 == 9 || (y % 2 && x % 10 != (y % 4 == 1 ? 8 : 0));
            if (i < 8)
                hidden[0][k] = (uint8_t)(i % 4 == 0   ? serpentine
                                         : i % 4 == 1 ? x % 35 == 0 || y % 35 == 0
                                         : i % 4 == 2 ? x % 7 < 6
                                                      : (x / 3 + y / 5) % 2);
            else
                hidden[0][k] = (uint8_t)(roll(10) < i % 5 + 1);
        }
        kept[i < 8] += check("speckles");
    }
    REQUIRE(kept[0] > 0 && kept[1] > 0, "%d and %d pixels stay", kept[0], kept[1]);
}

/** Lines of pixels that end within a tile are removed; those that end a pixel beyond it are kept. */
static void lines(void **state)
{
    (void)state;
    static const struct {
        int x, y, length, down, stays;
    } line[] = {
        {32, 4, 64, 0, 0},   {32, 8, 65, 0, 1},   {31, 12, 64, 0, 1}, {64, 16, 64, 0, 0},
        {63, 20, 65, 0, 1},  {40, 24, 56, 0, 0},  {130, 0, 64, 1, 0}, {134, 0, 65, 1, 1},
        {138, 31, 33, 1, 0}, {142, 31, 34, 1, 1}, {20, 32, 40, 1, 0},
    };
    enum { LINES = sizeof line / sizeof *line };
    shake(8);
    set_picture(149, 80);
    step.tuning.dense_disparities = 64;
    step.tuning.dense_speckle_px = 1000;
    plane_px = 0;
    draw(plane, 256);
    memset(hidden[0], 1, sizeof hidden[0]);
    for (int k = 0; k < LINES; k++)
        for (int i = 0; i < line[k].length; i++)
            hidden[0][at_px(line[k].x + (line[k].down ? 0 : i), line[k].y + (line[k].down ? i : 0))] = 0;
    check("lines");
    for (int k = 0; k < LINES; k++)
        for (int i = 0; i < line[k].length; i++) {
            const int at = at_px(line[k].x + (line[k].down ? 0 : i), line[k].y + (line[k].down ? i : 0));
            REQUIRE((should[at] != NONE) == line[k].stays, "pixel %d of line %d", i, k);
        }
}

/* ---- through the public interface -------------------------------------------------------------------------------- */

static vfront_t vf;

static vfront_rig_t rig_of_two(int wide, int high)
{
    vfront_rig_t rig = {.cameras = 2};
    for (int c = 0; c < 2; c++) {
        rig.camera[c] = (vfront_camera_t){
            .width_px = wide, .height_px = high, .fx_px = wide, .fy_px = wide, .cx_px = wide / 2, .cy_px = high / 2};
        rig.camera[c].t_cam_imu_m[0] = -0.2 * c;
    }
    return rig;
}

static vfront_status_t open_dense(const vfront_rig_t *rig, const char *name, int value)
{
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.dense = 1;
    if (name) assert_int_equal(vfront_tuning_set(&t, name, value), VFRONT_OK);
    vfront_shutdown(&vf);
    return vfront_init(&vf, rig, &t, VFRONT_PORT_HOST);
}

static void refused(const vfront_rig_t *rig, vfront_status_t status, const char *name, int value, const char *what)
{
    REQUIRE(open_dense(rig, name, value) == status && strstr(vfront_detail(&vf), what), "'%s' instead of '%s'",
            vfront_detail(&vf), what);
}

static void refuses(void **state)
{
    (void)state;
    static const vfront_rig_t empty;
    vfront_rig_t rig = rig_of_two(100, 80), none = empty;
    refused(&rig, VFRONT_E_TUNING, "dense_disparities", 96, "none of 64, 128, 256: dense_disparities");
    refused(&rig, VFRONT_E_TUNING, "dense_p2", 4, "below dense_p1: dense_p2");
    none.cameras = 1;
    none.camera[0] = rig.camera[0];
    refused(&none, VFRONT_E_CALIBRATION, NULL, 0, "dense needs two calibrated cameras in different places");
    rig.camera[1].t_cam_imu_m[0] = 0.0;
    refused(&rig, VFRONT_E_CALIBRATION, NULL, 0, "dense needs two calibrated cameras in different places");
#define REFUSED(change, what)                                                                                          \
    rig = rig_of_two(100, 80);                                                                                         \
    change;                                                                                                            \
    refused(&rig, VFRONT_E_CALIBRATION, NULL, 0, what);                                                                \
    assert_non_null(strstr(vfront_detail(&vf), "dense needs rectify, or pinholes side by side"))
    REFUSED(rig.camera[1].height_px = 79, "rig.camera[1].width_px or height_px");
    REFUSED(rig.camera[1].fy_px += 0.02, "rig.camera[1].fx_px");
    REFUSED(rig.camera[1].cx_px += 0.02, "cx_px");
    REFUSED(rig.camera[1].cy_px -= 0.02, "cy_px");
    REFUSED(rig.camera[0].distortion[4] = 0.01, "distortion");
    REFUSED(rig.camera[1].distortion[1] = -0.01, "distortion");
    REFUSED(rig.camera[0].lens = VFRONT_LENS_EQUIDISTANT, "lens");
    REFUSED(rig.camera[1].lens = VFRONT_LENS_EQUIDISTANT, "lens");
    REFUSED((rig.camera[1].t_cam_imu_m[0] = 0.001, rig.camera[1].t_cam_imu_m[1] = 0.1), "t_cam_imu_m"); /* above */
    REFUSED(rig.camera[1].t_cam_imu_m[1] = 0.001, "t_cam_imu_m");
    REFUSED(rig.camera[1].t_cam_imu_m[2] = -0.001, "t_cam_imu_m");
    const double c = cos(0.002), s = sin(0.002), about_z[9] = {c, -s, 0, s, c, 0, 0, 0, 1};
    REFUSED(memcpy(rig.camera[1].R_cam_imu, about_z, sizeof about_z), "R_cam_imu");
    assert_int_equal(open_dense(&rig, "rectify", 1), VFRONT_OK); /* rectify removes the obstacle */
    rig = rig_of_two(100, 80);
    rig.camera[1].fx_px += 0.005;
    assert_int_equal(open_dense(&rig, NULL, 0), VFRONT_OK);
    vfront_shutdown(&vf);
}

static uint8_t frames[2][VFRONT_HEIGHT][VFRONT_WIDTH];

static const vfront_result_t *look(int wide, int high, uint64_t t_ns)
{
    const vfront_result_t *result;
    vfront_frame_t f = {.t_ns = t_ns};
    for (int c = 0; c < 2; c++)
        f.picture[c] = (vfront_picture_t){
            .data = frames[c], .width_px = wide, .height_px = high, .pitch_bytes = VFRONT_WIDTH};
    REQUIRE(vfront_step(&vf, &f, &result) == VFRONT_OK, "%s", vfront_detail(&vf));
    return result;
}

static uint32_t count_valid(const vfront_disparity_t *d)
{
    uint32_t valid = 0;
    for (int y = 0; y < d->height_px; y++)
        for (int x = 0; x < d->width_px; x++) {
            const int there = d->px16[y * d->pitch + x] != VFRONT_NO_DISPARITY;
            assert_int_equal(there, d->confidence[y * d->pitch + x] != 0);
            valid += (uint32_t)there;
        }
    return valid;
}

/** Results of successive frames do not overlap; equal images give equal bits; vfront_info() gives the addresses of the
 *  stage's memory. */
static void through_front_end(void **state)
{
    (void)state;
    const vfront_rig_t rig = rig_of_two(101, 77);
    uint64_t digest[3];
    vfront_disparity_t before = {0};
    vfront_info_t info;
    for (int y = 0; y < 77; y++)
        for (int x = 0; x < 101; x++)
            for (int c = 0; c < 2; c++) frames[c][y][x] = (uint8_t)value_noise(x + 7 * c, y, 3);
    for (int run = 0; run < 3; run++) {
        assert_int_equal(open_dense(&rig, run == 2 ? "dense" : "dense_disparities", run == 2 ? 2 : 64), VFRONT_OK);
        for (uint64_t k = 0; k < 5; k++) {
            const vfront_result_t *r = look(101, 77, 1 + 1000 * k);
            const vfront_disparity_t *d = &r->disparity;
            assert_int_equal(d->width_px, 101);
            assert_int_equal(d->height_px, 77);
            digest[run] = vfront_digest(r);
            assert_true(d->valid > 101 * 77 * 8 / 10);
            assert_true((d->px16 == NULL) == (run == 2) && (d->confidence == NULL) == (run == 2));
            if (run == 2) continue;
            assert_int_equal(count_valid(d), d->valid);
            if (k) assert_true(d->px16 != before.px16 && count_valid(&before) == before.valid);
            before = *d;
        }
        assert_int_equal(vfront_info(&vf, &info), VFRONT_OK);
        assert_int_equal(info.disparity_pitch, before.pitch);
        if (run < 2)
            for (int y = 0; y < 77; y++)
                assert_memory_equal(info.disparity_px16 + y * info.disparity_pitch, before.px16 + y * before.pitch,
                                    2 * 101);
    }
    assert_true(digest[0] == digest[1] && digest[1] != digest[2]);
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    vfront_shutdown(&vf);
    assert_int_equal(vfront_init(&vf, &rig, &t, VFRONT_PORT_HOST), VFRONT_OK);
    const vfront_result_t *r = look(101, 77, 1);
    assert_true(!r->disparity.px16 && !r->disparity.valid);
    assert_int_equal(vfront_info(&vf, &info), VFRONT_OK);
    assert_null(info.disparity_px16);
    vfront_shutdown(&vf);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(random_cases),   cmocka_unit_test(flat),     cmocka_unit_test(extremes),
        cmocka_unit_test(narrow),         cmocka_unit_test(known),    cmocka_unit_test(thin),
        cmocka_unit_test(range),          cmocka_unit_test(speckles), cmocka_unit_test(lines),
        cmocka_unit_test(all_else_stays), cmocka_unit_test(refuses),  cmocka_unit_test(through_front_end),
    };
    return cmocka_run_group_tests_name("dense", test, NULL, NULL);
}

#else

int main(void)
{
    print_message("no disparities in this config\n");
    return 77;
}

#endif
