/* SPDX-License-Identifier: MIT */
/* stixel: against the dynamic programming of paper 002 in double precision (stixel_oracle.h); against the result of its
 * authors' program for a street; against drawn roads with boxes at known distances; and on disparities that no camera
 * gives. Tables against the C library. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include "examples/replay/results.h"
#include "stixel_oracle.h"

#if VFRONT_STIXELS

/* ---- a frame ----------------------------------------------------------------------------------------------------- */

/** Camera 0 of a size, focal length and principal row, with the baseline to the other camera; makes the stage's
 *  tables. */
static void set_stixels(int32_t width, int32_t height, double focal_px, double baseline, double cy)
{
    set_up(2, width, height, 0);
    for (int c = 0; c < 2; c++) {
        step.geometry.calibrated[c] = 1;
        step.geometry.focal_px[c] = (float)focal_px;
    }
    step.geometry.pair.placed = 1;
    step.geometry.pair.baseline_m = (float)baseline;
    step.geometry.centre_px[0] = 0.5f * (float)(width - 1);
    step.geometry.centre_px[1] = (float)cy;
    step.tuning.dense = step.tuning.stixel = 1;
    step.geometry.stixel_model = vf_stixel_model_of(VFRONT_STIXEL_CAR);
    memset(m, 0, sizeof *m);
    memset(memory.ingest.picture, 0, sizeof memory.ingest.picture);
    memset(memory.dense.confidence, 255, sizeof memory.dense.confidence);
    memory.ingest.params.frame = 0;
    h = height;
    all = step.tuning.dense_disparities;
    focal = focal_px;
    base_m = baseline;
    centre_y = cy;
    vf_stixel_make(&m->tables, VIEW(stixel));
}

static void give_road(double horizon_px, double slope)
{
    step.geometry.horizon_px = (float)horizon_px;
    step.geometry.road_slope = (float)slope;
}

static uint16_t *pixel(int x, int y) { return &memory.dense.disparity[y * step.geometry.level[0][0].pitch + x]; }

static uint8_t *grey_at(int x, int y)
{
    return &memory.ingest.picture[step.parity][0][y * step.geometry.level[0][0].pitch + x];
}

/** 1 if a row of a column is bright, and it and its neighbours are within 8 grey levels. */
static int is_blank(int x0, int y)
{
    int least = 255, most = 0;
    for (int x = x0 - 1; x <= x0 + step.tuning.stixel_width_px; x++) {
        if (x < 0 || x >= step.geometry.level[0][0].width) continue;
        if (*grey_at(x, y) < least) least = *grey_at(x, y);
        if (*grey_at(x, y) > most) most = *grey_at(x, y);
    }
    return least >= 100 && most - least <= 8;
}

/** Copies a column of the stage to the oracle. */
static void take_column(int column, double horizon_px, double slope)
{
    for (int v = 0; v < h; v++) {
        d[v] = m->column[column][v] == NONE ? -1.0 : m->column[column][v] / 256.0;
        blank[v] = is_blank(column * step.tuning.stixel_width_px, h - 1 - v);
    }
    sum_rows(horizon_px, slope, column * step.tuning.stixel_width_px);
}

/** Segments of a column; checks that they are contiguous, and that no object is above sky where the model says so. */
static int pieces_of(int column, struct piece *piece)
{
    for (int i = 0; i < m->segments[column]; i++) {
        const struct vf_segment *s = &m->segment[column][i];
        piece[i].base = s->base;
        piece[i].top = s->top;
        piece[i].type = s->type;
        assert_int_equal(s->base, i ? piece[i - 1].top + 1 : 0);
        assert_true(s->top >= s->base);
        assert_false(!m->tables.above_sky && i && piece[i - 1].type == SKY && s->type != SKY);
    }
    assert_int_equal(m->segment[column][m->segments[column] - 1].top, h - 1);
    return m->segments[column];
}

/** Cost of a segmentation that the stage reports. Sky and unknown may be objects of less than 1 px disparity; hidden
 *  rows belong to the segment above, or to the ground. */
static double cost_of(const struct piece *reported_piece, int count)
{
    static struct piece piece[MOST_H + 1];
    const int skip = hidden > 0;
    memcpy(piece + 1, reported_piece + skip, sizeof *piece * (size_t)(count -= skip));
    piece[1].base = 0;
    for (int i = 1; i <= count; i++)
        if (piece[i].type == UNKNOWN) piece[i].type = OBJECT;
    for (int i = 1; i <= count; i++) { /* sky, or an object reported as sky */
        const double sky = total(piece + 1, count);
        if (piece[i].type != SKY) continue;
        piece[i].type = OBJECT;
        if (total(piece + 1, count) > sky) piece[i].type = SKY;
    }
    const double joined = total(piece + 1, count);
    if (!hidden || piece[1].type == GROUND) return joined;
    piece[1].base = hidden;
    piece[0] = (struct piece){GROUND, 0, hidden - 1};
    return fmin(joined, total(piece, count + 1));
}

/** Compares a segmentation reported by the stage with one of the oracle. */
static int same_pieces(const struct piece *a, int n, const struct piece *b, int count)
{
    static struct piece theirs[MOST_H + 1];
    count = reported(b, count, theirs);
    int same = n == count;
    for (int i = 0; i < count && same; i++) same = a[i].base == theirs[i].base && a[i].type == theirs[i].type;
    return same;
}

/** Largest excess of the stage's cost over the minimum: each row of both is rounded to half of 1/4096 nat, and each
 *  transition sums up to four rounded terms. */
static double rounding(int pieces) { return (h + 4.0 * pieces) / 4096.0; }

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static const char *data_folder(void)
{
    const char *folder = getenv("VFRONT_DATA");
    return folder ? folder : "../shared/data";
}

/** Image with known segments of the authors' program, whose boundaries need 1/256 px. The oracle finds them by the
 *  authors' rules, and the stage what the oracle finds by the stage's rules. These differ in five points: sky may
 *  follow any object, sky may follow ground at the horizon, nothing follows sky, a level step is ground, and hidden
 *  rows do not count. */
static void street(void **state)
{
    static float picture[480][640];
    char path[512], line[4096];
    (void)state;
    snprintf(path, sizeof path, "%s/stixels_640x480/disparity.f32", data_folder());
    FILE *f = fopen(path, "rb");
    if (!f) {
        print_message("no %s\n", path);
        skip();
    }
    assert_int_equal(fread(picture, sizeof picture, 1, f), 1);
    fclose(f);
    set_stixels(640, 480, 704.708191, 0.8, 184.0);
    give_road(103.0, 0.230868265);
    vf_road_given(VIEW(stixel), &m->road);
    m->horizon = vf_road_horizon(&m->road, 480);
    assert_int_equal(m->horizon, 376);
    for (int v = 0; v < 480; v++) m->ground[v] = vf_road_ground(VIEW(stixel), &m->tables, &m->road, m->horizon, v);
    snprintf(path, sizeof path, "%s/stixels_640x480/expected.stixels", data_folder());
    f = fopen(path, "r");
    assert_non_null(f);
    int columns = 0, cells = 0;
    horizon = 376;
    extra = 0.0;
    for (int column = 0; column < 128; column++) {
        static struct piece ours[MOST_H], theirs[MOST_H];
        int same = 1, label[480], at = 0, count = 0;
        for (int v = 0; v < 480; v++) {
            uint16_t px[5];
            static const uint8_t sure[5] = {255, 255, 255, 255, 255};
            for (int k = 0; k < 5; k++) px[k] = (uint16_t)floor(picture[479 - v][column * 5 + k] * 256.0 + 0.5);
            m->column[column][v] = (uint16_t)vf_stixel_reduce(px, sure, 5, 256, 128);
        }
        authors = 1;
        take_column(column, 103.0, 0.230868265);
        const int cuts = solve(theirs);
        for (int i = 0; i < cuts; i++)
            for (int v = theirs[i].base; v <= theirs[i].top; v++)
                label[v] = theirs[i].type == OBJECT && mean_of(theirs[i].base, theirs[i].top) < 1.0 ? SKY
                                                                                                    : theirs[i].type;
        assert_non_null(fgets(line, sizeof line, f));
        for (int type, vb, vt, length; sscanf(line + at, "%d,%d,%d,%*f;%n", &type, &vb, &vt, &length) == 3;
             at += length, count++) {
            int found = 0;
            for (int i = 0; i < cuts; i++) found |= theirs[i].base == vb;
            same &= found;
            for (int v = vb; v <= vt; v++) cells += label[v] == type;
        }
        columns += same && count == cuts;
        authors = 0;
        take_column(column, 103.0, 0.230868265);
        vf_stixel_segment_column(VIEW(stixel), column);
        if (!m->segments[column]) continue; /* all hidden */
        const int n = pieces_of(column, ours), best_count = solve(theirs);
        const double off = cost_of(ours, n) - total(theirs, best_count);
        REQUIRE(same_pieces(ours, n, theirs, best_count) || off < rounding(n + best_count),
                "column %d: costs %.4f more than it could\n", column, off);
    }
    fclose(f);
    print_message(
        "the oracle by the authors' rules and their program: the same cuts in %d of 128 columns, the same class "
        "in %.3f %% of %d cells\n",
        columns, cells / 614.4, 128 * 480);
    assert_true(columns >= 126 && cells >= 0.995 * 128 * 480);
}

/** Logarithm and error function against the C library, and the content of the tables. */
static void tables(void **state)
{
    (void)state;
    for (int i = 1; i < 20000; i++) {
        const double x = i * i * 1e-4;
        assert_true(fabs(vf_stixel_ln(x) - log(x)) < 1e-12 * (1.0 + fabs(log(x))));
        assert_true(fabs(vf_stixel_erf_series(x * 1e-3) - erf(x * 1e-3)) < 1e-12);
    }
    set_stixels(640, 480, 704.708191, 0.8, 184.0);
    for (uint32_t x = 1; x < 70000; x++)
        assert_true(fabs(vf_stixel_log(m->tables.log_q16, x) / 4096.0 - log(x / 256.0)) < 2e-4);
    for (double x = -5.0; x < 5.0; x += 0.003) assert_true(fabs(vf_stixel_erf(&m->tables, x) - erf(x)) < 1e-4);
    for (int n = 1; n <= 480; n++)
        for (int k = 0; k < 200; k++) {
            const int mean = roll(128 * 256), rest = roll(n);
            assert_int_equal(vf_stixel_mean((uint32_t)(2 * (mean * n + rest) + 1), m->tables.inverse_q31[n]), mean);
        }
    for (int i = 0; i < 128; i++) {
        const double angle = atan((i * 5 + 2 - 319.5) / 704.708191);
        assert_int_equal(m->tables.obstacle_bin[i], ((int)floor(angle / acos(-1.0) * 36.0 + 0.5) + 72) % 72);
        assert_true(fabs(m->tables.secant[i] * cos(angle) - 1.0) < 1e-6);
    }
}

/** Mean of the disparities whose confidence is 72 or more. */
static void reduction(void **state)
{
    (void)state;
    shake(5);
    for (int i = 0; i < 100000; i++) {
        uint16_t px[16];
        uint8_t sure[16];
        const int width = between(1, 16), holes = roll(4);
        int count = 0, sum = 0;
        for (int k = 0; k < width; k++) {
            px[k] = roll(4) < holes ? NONE : (uint16_t)(roll(5) ? roll(2048) : 40);
            sure[k] = (uint8_t)(roll(3) ? 255 : roll(2) ? 71 + roll(2) : roll(256));
            if (px[k] == NONE || sure[k] < 72) continue;
            count++;
            sum += px[k];
        }
        const double mean = count ? floor(sum * 16.0 / count + 0.5) : NONE;
        assert_int_equal(vf_stixel_reduce(px, sure, width, 16, 128), mean);
    }
    const uint16_t high[3] = {4095, 4095, 4095};
    const uint8_t sure[3] = {72, 72, 72};
    assert_int_equal(vf_stixel_reduce(high, sure, 3, 16, 128), 128 * 256 - 1);
    assert_int_equal(vf_stixel_reduce(high, sure, 3, 16, 256), 4095 * 16);
}

/** Draws the model's parameters over most of their ranges. */
static void draw_tuning(void)
{
    step.geometry.stixel_model.object_mpx = between(500, 2000);
    step.geometry.stixel_model.ground_mpx = between(200, 3000);
    step.geometry.stixel_model.slack_mpx = between(300, 4000);
    step.geometry.stixel_model.depth_mm = between(10, 20000);
    step.geometry.stixel_model.height_mm = between(0, 200);
    step.geometry.stixel_model.tilt_mdeg = between(0, 500);
    step.geometry.stixel_model.step_mm = roll(2) * between(0, 600);
    step.geometry.stixel_model.above_sky = roll(2);
}

/** Draws a column: the road, pieces of any disparity, noise, holes. */
static void draw_column(int x0, int width, double horizon_px, double slope, int kind)
{
    int piece = 0, level = 0;
    for (int y = h - 1; y >= 0; y--) {
        if (!piece--) {
            piece = 1 + roll(kind == 3 ? 6 : h / 3);
            level = roll(3) ? roll(all * 16) : -1;
        }
        const double road = slope * (y - horizon_px);
        for (int x = x0; x < x0 + width; x++) {
            int value = level >= 0 ? level : road > 0.0 ? (int)(road * 16.0) : 0;
            value += kind == 2 ? roll(65) - 32 : roll(9) - 4;
            if (roll(40) == 0) value = roll(all * 16);
            value = value < 0 ? 0 : value >= all * 16 ? all * 16 - 1 : value;
            *pixel(x, y) = kind == 1 && roll(3) == 0 ? NONE : (uint16_t)value;
            *grey_at(x, y) = (uint8_t)(level % 3 ? roll(256) : 200 + roll(roll(12) + 1));
        }
        if (kind == 1 && roll(10) == 0)
            for (int x = x0; x < x0 + width; x++) *pixel(x, y) = NONE;
    }
}

/** Pixels with a confidence below 72 count as if without a disparity, for columns and road. */
static void unsure(void **state)
{
    static struct vf_stixel_memory wanted;
    static uint8_t confidence[VFRONT_PICTURE_BYTES];
    int there = 0, known = 0;
    (void)state;
    shake(23);
    for (int run = 0; run < 8; run++) {
        for (int with = 0; with < 2; with++) {
            set_stixels(150, 120, 400.0, 0.3, 60.0);
            for (int column = 0; column < 30; column++) {
                shake((uint64_t)(900 + 50 * run + column));
                draw_column(column * 5, 5, 40.0, 0.4, run % 3);
            }
            for (int i = 0; i < 150 * 120; i++) {
                const size_t at = (size_t)(pixel(i % 150, i / 150) - memory.dense.disparity);
                if (!with) confidence[at] = (uint8_t)(roll(3) ? 72 + roll(184) : roll(72));
                if (with)
                    memory.dense.confidence[at] = confidence[at];
                else if (confidence[at] < 72)
                    memory.dense.disparity[at] = NONE;
            }
            RUN(stixel);
            if (!with) wanted = *m;
        }
        there += m->road.state != VFRONT_ROAD_NONE;
        for (int column = 0; column < 30; column++)
            for (int v = 0; v < h; v++) known += m->column[column][v] != NONE;
        assert_memory_equal(m->column, wanted.column, sizeof m->column);
        assert_memory_equal(m->voters, wanted.voters, sizeof m->voters);
        assert_memory_equal(&m->road, &wanted.road, sizeof m->road);
        assert_memory_equal(m->segment, wanted.segment, sizeof m->segment);
    }
    REQUIRE(known > 10000, "%d rows have a disparity, %d roads", known, there);
}

/** Random columns: the cheapest segmentation up to rounding. Sums are rounded row by row to half of 1/4096 nat, and
 *  once more per transition. */
static void random_columns(void **state)
{
    static struct piece ours[MOST_H], theirs[MOST_H];
    int columns = 0, same = 0;
    double worst = 0.0;
    (void)state;
    shake(11);
    for (int run = 0; run < 60; run++) {
        set_stixels(100, between(33, 160), 300.0 + roll(500), 0.1 + roll(9) * 0.1, 0.0);
        const double horizon_px = floor(h * (roll(14) - 2) * 0.1), slope = (all - 10.0) / h * (0.3 + roll(8) * 0.1);
        give_road(horizon_px, slope);
        if (run % 3 == 1) draw_tuning();
        vf_stixel_make(&m->tables, VIEW(stixel));
        for (int i = 0; i < 20; i++) draw_column(i * 5, 5, horizon_px, slope, run % 4);
        RUN(stixel);
        horizon = h - 1 - (int)horizon_px;
        horizon = horizon < 0 ? 0 : horizon > h ? h : horizon;
        for (int i = 0; i < 20; i++) {
            take_column(i, horizon_px, (double)(float)slope);
            if (!valid[h]) {
                assert_int_equal(m->segments[i], 0);
                continue;
            }
            extra = 0.0;
            int count = solve(theirs);
            if (count > VFRONT_SEGMENTS) {
                assert_int_equal(m->crowded[i], 1);
                continue;
            }
            const int n = pieces_of(i, ours), equal = same_pieces(ours, n, theirs, count);
            columns++;
            same += equal;
            if (equal) continue;
            const double off = cost_of(ours, n) - total(theirs, count);
            worst = fmax(worst, off);
            REQUIRE(off < rounding(n + count), "run %d, column %d of %d rows: costs %.4f more than it could\n", run, i,
                    h, off);
        }
    }
    print_message(
        "%d of %d random columns are segmented as in double precision, the others at a cost %.4f nat higher at "
        "most\n",
        same, columns, worst);
    assert_true(columns > 900 && same > columns * 97 / 100);
}

/** Columns whose optimum exceeds VFRONT_SEGMENTS segments: at most that many, and no segmentation with as many costs
 *  less. */
static void crowded(void **state)
{
    static struct piece ours[MOST_H], theirs[MOST_H];
    int crowded_columns = 0;
    (void)state;
    shake(3);
    set_stixels(120, 400, 1000.0, 1.0, 240.0);
    give_road(100.0, 0.25);
    for (int i = 0; i < 24; i++)
        for (int y = 0; y < h; y++)
            for (int x = i * 5; x < i * 5 + 5; x++)
                *pixel(x, y) = (uint16_t)((y / (8 + i % 4) % 2 ? 192 : 64) + roll(5));
    RUN(stixel);
    horizon = 299;
    for (int i = 0; i < 24; i++) {
        take_column(i, 100.0, 0.25);
        extra = 0.0;
        const int wanted = solve(theirs);
        const int most = VFRONT_SEGMENTS - (hidden > 0);
        if (wanted <= most) continue;
        crowded_columns++;
        REQUIRE(m->crowded[i], "column %d: optimum of %d segments\n", i, wanted);
        const int n = pieces_of(i, ours);
        assert_true(n <= VFRONT_SEGMENTS);
        /* Extra cost of a segment that the stage must have used: the least sufficient multiple of a quarter nat. */
        int low = 0, high = 256;
        while (high - low > 1) {
            extra = (low + high) / 2 * 0.25;
            if (solve(theirs) > most)
                low = (low + high) / 2;
            else
                high = (low + high) / 2;
        }
        extra = high * 0.25;
        const int count = solve(theirs);
        assert_true(same_pieces(ours, n, theirs, count));
    }
    assert_true(crowded_columns > 4);
}

/** Box on a road. draw_road() draws disparities of a road with a height and pitch and of boxes on it, with noise [1/16
 *  px] and a percentage of holes. */
struct box {
    int from, to; /* columns of pixels */
    double away_m, high_m;
};
static void draw_road(double horizon_px, double slope, const struct box *box, int boxes, int noise, int holes)
{
    const double tilt = atan((horizon_px - centre_y) / focal), height_m = base_m * cos(tilt) / slope;
    for (int y = 0; y < h; y++)
        for (int x = 0; x < step.geometry.level[0][0].width; x++) {
            double value = slope * (y - horizon_px);
            if (value < 0.0) value = 0.0;
            for (int i = 0; i < boxes; i++) {
                const double disparity = focal * base_m / box[i].away_m, foot = horizon_px + disparity / slope;
                const double top = foot - (foot - horizon_px) * box[i].high_m / height_m;
                if (x >= box[i].from && x < box[i].to && y <= foot && y > top && disparity > value) value = disparity;
            }
            int px = (int)(value * 16.0 + 0.5);
            if (px > 0) px += roll(2 * noise + 1) - noise;
            *pixel(x, y) = roll(100) < holes ? NONE : (uint16_t)(px < 0 ? 0 : px >= all * 16 ? all * 16 - 1 : px);
        }
}

/** Road and horizon are found in noise, with holes and boxes on the road, filtered, bridged, lost, and found again. */
static void road(void **state)
{
    const struct box box[3] = {{40, 120, 9.0, 1.5}, {300, 420, 22.0, 2.5}, {500, 560, 14.0, 1.8}};
    (void)state;
    shake(8);
    set_stixels(640, 480, 500.0, 0.4, 240.0);
    double worst = 0.0, steep = 0.0;
    for (int k = 0; k < 12; k++) {
        const double horizon_px = 150.0 + 12.3 * k, slope = 0.12 + 0.01 * k;
        memory.ingest.params.frame = 0;
        draw_road(horizon_px, slope, box, 3, k, 3 * k);
        RUN(stixel);
        assert_int_equal(m->road.state, VFRONT_ROAD_SEEN);
        worst = fmax(worst, fabs(m->road.horizon_px - horizon_px));
        steep = fmax(steep, fabs(m->road.slope / slope - 1.0));
    }
    print_message("horizon to %.2f px, slope to %.1f %%\n", worst, 100.0 * steep);
    assert_true(worst < 4.0 && steep < 0.05);
    const double before = m->road.horizon_px;
    for (uint64_t frame = 1; frame <= VF_ROAD_HOLD + 2; frame++) {
        memory.ingest.params.frame = frame;
        for (int i = 0; i < 640 * 480; i++) *pixel(i % 640, i / 640) = (uint16_t)(frame % 2 ? NONE : roll(all * 16));
        RUN(stixel);
        const int held = frame <= VF_ROAD_HOLD;
        assert_int_equal(m->road.state, held ? VFRONT_ROAD_HELD : VFRONT_ROAD_NONE);
        if (held)
            assert_true(m->road.horizon_px == before);
        else
            for (int i = 0; i < 128; i++) assert_int_equal(m->segments[i], 0);
    }
    for (int i = 0; i < VFRONT_OBSTACLE_BINS; i++) assert_int_equal(m->nearest_cm[i], VF_NONE);
    memory.ingest.params.frame++;
    draw_road(200.0, 0.2, box, 3, 2, 5);
    RUN(stixel);
    assert_int_equal(m->road.state, VFRONT_ROAD_SEEN);
    memory.ingest.params.frame++;
    draw_road(208.0, 0.2, box, 3, 2, 5); /* the camera pitches: half of the change */
    RUN(stixel);
    assert_true(m->road.horizon_px > 202.0 && m->road.horizon_px < 206.0);
    memory.ingest.params.frame++;
    draw_road(350.0, 0.2, box, 3, 2, 5); /* too much for a pitch motion */
    RUN(stixel);
    assert_int_equal(m->road.state, VFRONT_ROAD_HELD);
}

/** Distances of boxes and of the free road in front of them, against the drawn ones. */
static void distances(void **state)
{
    const struct box box[4] = {
        {20, 100, 8.0, 1.5}, {180, 260, 16.0, 2.0}, {330, 420, 26.0, 3.0}, {520, 600, 12.0, 1.7}};
    (void)state;
    shake(21);
    set_stixels(640, 480, 500.0, 0.4, 240.0);
    for (int k = 0; k < 4; k++) {
        draw_road(180.0, 0.16, box, 4, 2 + 2 * k, 8 * k);
        memory.ingest.params.frame = 0;
        RUN(stixel);
        int found = 0, wrong = 0;
        double worst = 0.0, foot_off = 0.0;
        for (int column = 0; column < 128; column++) {
            const struct box *b = NULL;
            for (int i = 0; i < 4; i++)
                if (column * 5 >= box[i].from + 5 && column * 5 + 5 <= box[i].to - 5) b = &box[i];
            int edge = 0;
            for (int i = 0; i < 4 && !b; i++) edge |= column * 5 + 10 > box[i].from && column * 5 - 5 < box[i].to;
            double near = 1e9;
            int base = -1;
            for (int i = 0; i < m->segments[column]; i++) {
                const vfront_stixel_t t = vf_stixel_result(&VIEW(stixel)->geometry, &m->segment[column][i]);
                if (t.type != VFRONT_STIXEL_OBJECT || t.distance_m >= near) continue;
                near = t.distance_m;
                base = t.base_px;
                if (b) assert_true(fabs(near - b->away_m) < t.sigma_m);
            }
            if (!b && !edge) wrong += near < 40.0;
            if (!b) continue;
            found += near < 1e8;
            worst = fmax(worst, fabs(near / b->away_m - 1.0));
            foot_off = fmax(foot_off, fabs(base - (180.0 + 200.0 / b->away_m / 0.16)));
        }
        print_message("noise %d/16 px, %d %% holes: boxes in %d columns, distance to %.2f %%, foot to %.1f px; %d "
                      "columns of free road with an object\n",
                      2 + 2 * k, 8 * k, found, 100.0 * worst, foot_off, wrong);
        assert_true(found >= 54 && worst < 0.05 && foot_off < 32.0 && wrong <= 2);
        for (int i = 0; i < 4; i++) { /* straight through the box */
            const double angle = atan(((box[i].from + box[i].to) / 2 - 319.5) / 500.0);
            const uint32_t cm = m->nearest_cm[((int)floor(angle / acos(-1.0) * 36.0 + 0.5) + 72) % 72];
            REQUIRE(cm > box[i].away_m * 95.0 && cm < box[i].away_m * 125.0, "box %d: %u cm\n", i, cm);
        }
        assert_int_equal(m->nearest_cm[36], VF_NONE);
    }
}

/** Model of a kind: 0 car, 1 rover, 2 drone. */
static void set_preset(int which)
{
    step.geometry.stixel_model = vf_stixel_model_of(which);
    vf_stixel_make(&m->tables, VIEW(stixel));
}

/** A line whose pitch is beyond that of the model is no road: a car's camera is not pitched by 17 degrees. */
static void pitch(void **state)
{
    static const struct box none = {0, 0, 9.0, 0.0};
    (void)state;
    shake(9);
    set_stixels(640, 480, 500.0, 0.4, 240.0);
    for (int k = 0; k < 6; k++) {
        const int model = k % 3, steep = k / 3; /* 8 or 17 degrees */
        set_preset(model);
        memory.ingest.params.frame = 0;
        draw_road(240.0 - (steep ? 150.0 : 70.0), 0.2, &none, 0, 2, 5);
        RUN(stixel);
        assert_int_equal(m->road.state, steep && model == VFRONT_STIXEL_CAR ? VFRONT_ROAD_NONE : VFRONT_ROAD_SEEN);
    }
}

/** Models: that of the tuning value is in use, that of the car by standard; the values by hand. */
static void presets(void **state)
{
    (void)state;
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    const struct vf_stixel_model car = vf_stixel_model_of(t.stixel_model),
                                 rover = vf_stixel_model_of(VFRONT_STIXEL_ROVER),
                                 drone = vf_stixel_model_of(VFRONT_STIXEL_DRONE);
    const int32_t should[3][9] = {{1000, 2000, 3000, 10200, 50, 50, 250, 200, 0},
                                  {800, 800, 1250, 300, 20, 100, 0, 1192, 1},
                                  {800, 700, 1250, 300, 20, 100, 0, 1192, 1}};
    const struct vf_stixel_model *is[3] = {&car, &rover, &drone};
    for (int k = 0; k < 3; k++) {
        const int32_t nine[9] = {is[k]->object_mpx, is[k]->ground_mpx, is[k]->slack_mpx,
                                 is[k]->depth_mm,   is[k]->height_mm,  is[k]->tilt_mdeg,
                                 is[k]->step_mm,    is[k]->pitch_ppt,  is[k]->above_sky};
        assert_memory_equal(nine, should[k], sizeof nine);
    }
    assert_int_equal(vfront_tuning_set(&t, "stixel_model", 3), VFRONT_E_TUNING);
}

/** Stones of 0.1 to 1 m at 1 to 10 m in front of a low camera with 18 px m: share found among those of 3 px and more;
 *  false objects per frame. */
static void look_for_stones(int preset, double *found_share, double *false_a_frame)
{
    int found = 0, stones = 0, wrong = 0;
    shake(77);
    for (int frame = 0; frame < 12; frame++) {
        struct box box[5];
        const double up_m = 0.3 + 0.05 * roll(7), horizon_px = 60.0 + roll(60), slope = 0.07 / up_m;
        set_stixels(512, 285, 257.7, 0.07, 142.0);
        set_preset(preset);
        give_road(horizon_px, slope);
        for (int i = 0; i < 5; i++) {
            box[i].from = 50 + 90 * i;
            box[i].away_m = exp(log(10.0) * roll(1000) * 1e-3);
            box[i].high_m = 0.1 * exp(log(10.0) * roll(1000) * 1e-3);
            box[i].to = box[i].from + 20 + roll(50);
        }
        draw_road(horizon_px, slope, box, 5, 4, 10);
        RUN(stixel);
        for (int column = 10; column < 102; column++) {
            const struct box *b = NULL;
            int edge = 0;
            for (int i = 0; i < 5; i++) {
                if (column * 5 >= box[i].from && column * 5 + 5 <= box[i].to) b = &box[i];
                edge |= column * 5 + 5 > box[i].from && column * 5 < box[i].to;
            }
            const double away_px = b ? 257.7 * 0.07 / b->away_m : 0.0, foot = horizon_px + away_px / slope,
                         top = b ? foot - (foot - horizon_px) * b->high_m / up_m : 0.0,
                         above = fmax(slope * (top - horizon_px), 0.0);
            int hit = 0;
            for (int i = 0; i < m->segments[column]; i++) {
                const struct vf_segment *t = &m->segment[column][i];
                if (t->type != OBJECT || t->mean_q8 < 256) continue;
                hit |= b && fabs(t->mean_q8 / 256.0 - away_px) < 1.0;
                wrong += !edge;
            }
            if (!b || away_px - above < 3.0 || foot > 284.0 || away_px > column * 5) continue;
            stones++;
            found += hit;
        }
    }
    assert_true(stones > 100);
    *found_share = (double)found / stones;
    *false_a_frame = wrong / 12.0;
}
static void low_cameras(void **state)
{
    double share[3], alarms[3];
    (void)state;
    for (int i = 0; i < 3; i++) look_for_stones(i, &share[i], &alarms[i]);
    print_message(
        "stones that stand out by 3 px: car's values %.1f %%, rover's %.1f %%, drone's %.1f %%; false a frame "
        "%.2f, %.2f, %.2f\n",
        100.0 * share[0], 100.0 * share[1], 100.0 * share[2], alarms[0], alarms[1], alarms[2]);
    for (int i = 1; i < 3; i++) assert_true(share[i] >= 0.95 && alarms[i] <= 1.0);
}

/** Sky without disparities, bright or dark; if bright, with the disparities of objects below in every third pixel: no
 *  object extends into it. Where the ground has no match in camera 1 it is unknown, and its direction never free. */
static void sky_and_margin(void **state)
{
    const struct box box[3] = {{130, 210, 9.0, 2.5}, {300, 420, 22.0, 4.0}, {520, 560, 14.0, 1.8}};
    (void)state;
    shake(19);
    for (int bright = 0; bright < 2; bright++) {
        int sky = 0, object = 0;
        set_stixels(640, 480, 500.0, 0.4, 240.0);
        give_road(180.0, 0.16);
        draw_road(180.0, 0.16, box, 3, 4, 8);
        for (int y = 0; y < 480; y++)
            for (int x = 0; x < 640; x++) {
                uint16_t *to = pixel(x, y);
                if (*to != NONE && *to > x * 16) *to = roll(2) ? NONE : (uint16_t)roll(x * 16 + 1);
                if (y < 180 && (*to == NONE || *to < 16)) {
                    *to = bright && roll(3) == 0 ? 5 * 16 : NONE;
                    *grey_at(x, y) = (uint8_t)(bright ? 220 + roll(6) : 50);
                } else {
                    *grey_at(x, y) = (uint8_t)roll(256);
                }
            }
        RUN(stixel);
        for (int column = 0; column < 128; column++) {
            const int expected_hidden = (int)ceil((479 - 180 - column * 5 / 0.16));
            for (int i = 0; i < m->segments[column]; i++) {
                const struct vf_segment *t = &m->segment[column][i];
                assert_false(t->type == SKY && t->base < 299);
                if (t->top < expected_hidden - 2) assert_int_equal(t->type, VFRONT_STIXEL_UNKNOWN);
                for (int v = t->base; v <= t->top; v++) {
                    const int y = 479 - v,
                              clear = *grey_at(column * 5 + 2, y) == 50 || *grey_at(column * 5 + 2, y) >= 220;
                    if (y >= 180 || !clear || column < 16) continue;
                    sky++;
                    object += t->type == OBJECT;
                }
            }
            if (column < 15)
                REQUIRE(m->nearest_cm[m->tables.obstacle_bin[column]] != vf_stixel_free_cm(VIEW(stixel)) || column > 9,
                        "column %d is free\n", column);
        }
        print_message("%s sky: %.2f %% of %d rows are called object\n", bright ? "bright" : "dark",
                      100.0 * object / sky, sky);
        assert_true(sky > 10000 && object < sky / 50);
    }
}

/** Objects of a column within 50 m that begin below the horizon; rows of a class from row `from` to row `to`, from the
 *  top. */
static int objects_at(int column)
{
    int count = 0;
    for (int i = 0; i < m->segments[column]; i++)
        count += m->segment[column][i].type == OBJECT && m->segment[column][i].base < m->horizon &&
                 m->segment[column][i].mean_q8 >= 4 * 256;
    return count;
}
static int rows_at(int column, int type, int from, int to)
{
    int count = 0;
    for (int i = 0; i < m->segments[column]; i++)
        for (int v = m->segment[column][i].base; v <= m->segment[column][i].top; v++)
            count += m->segment[column][i].type == type && h - 1 - v >= from && h - 1 - v <= to;
    return count;
}

/** Lawns behind kerbs at 4 m, 0.2 and 0.6 m above the road, and a ditch 0.4 m below it: only the higher lawn is an
 *  object; a box of 0.8 m is one. Camera 1.6 m above the road. */
static void lawns(void **state)
{
    static const double rise_m[3] = {0.2, 0.6, -0.4};
    const struct box box = {560, 620, 4.0, 0.8};
    int objects[4] = {0};
    (void)state;
    shake(29);
    set_stixels(640, 480, 500.0, 0.4, 180.0);
    give_road(180.0, 0.25);
    draw_road(180.0, 0.25, &box, 1, 4, 8);
    for (int y = 181; y < 380; y++)
        for (int x = 80; x < 530; x++) {
            const double near_px = 500.0 * 0.4 / 4.0,
                         value = fmin(0.25 * 1.6 / (1.6 - rise_m[(x - 80) / 150]) * (y - 180), near_px);
            if (roll(12)) *pixel(x, y) = (uint16_t)(value * 16.0 + 0.5 + roll(9) - 4);
        }
    RUN(stixel);
    for (int i = 0; i < 3; i++)
        for (int column = 17 + 30 * i; column < 45 + 30 * i; column++) objects[i] += objects_at(column) > 0;
    for (int column = 112; column < 124; column++) objects[3] += objects_at(column) > 0;
    print_message("columns with an object: lawn 0.2 m %d of 28, 0.6 m %d of 28, ditch %d of 28, box %d of 12\n",
                  objects[0], objects[1], objects[2], objects[3]);
    assert_true(objects[0] == 0 && objects[1] == 28 && objects[2] == 0 && objects[3] == 12);
}

/** A bright house without texture at 12 m, from its plinth to its roof: no sky below the roof, sky above it. */
static void blank_walls(void **state)
{
    const struct box house = {200, 440, 12.0, 4.5};
    const int foot = 284, roof = 97, eaves = 110; /* rows from the top */
    int wall = 0, sky = 0;
    (void)state;
    shake(37);
    set_stixels(640, 480, 500.0, 0.4, 180.0);
    give_road(180.0, 0.16);
    draw_road(180.0, 0.16, &house, 1, 4, 8);
    for (int y = 0; y < 480; y++)
        for (int x = 0; x < 640; x++) {
            const int plain = y < 180 && y >= eaves && x >= 200 && x < 440,
                      above = y < (x >= 200 && x < 440 ? roof : 180);
            *grey_at(x, y) = (uint8_t)(plain || above ? 220 + roll(6) : roll(256));
            if (above || plain) *pixel(x, y) = NONE;
        }
    RUN(stixel);
    for (int column = 42; column < 86; column++) {
        wall += rows_at(column, OBJECT, roof, foot - 30);
        sky += rows_at(column, SKY, 0, roof - 1);
    }
    print_message("blank wall: %.1f %% of its rows are object; %.1f %% of the sky above it is sky\n",
                  100.0 * wall / (44 * (foot - 29 - roof)), 100.0 * sky / (44 * roof));
    assert_true(wall == 44 * (foot - 29 - roof) && sky > 0.95 * 44 * roof);
}

/** A wire of 6 rows before a blank sky, 110 rows above the horizon: an object for a rover and a drone, whose models
 *  have objects above sky. */
static void wires(void **state)
{
    static const struct box none = {0, 0, 9.0, 0.0};
    (void)state;
    shake(38);
    set_stixels(640, 480, 500.0, 0.4, 180.0);
    for (int model = VFRONT_STIXEL_ROVER; model <= VFRONT_STIXEL_DRONE; model++) {
        int wire = 0, sky = 0;
        set_preset(model);
        give_road(180.0, 0.16);
        draw_road(180.0, 0.16, &none, 0, 4, 8);
        for (int y = 0; y < 180; y++)
            for (int x = 0; x < 640; x++) {
                *grey_at(x, y) = (uint8_t)(220 + roll(6));
                *pixel(x, y) = y >= 64 && y < 70 ? (uint16_t)(20 * 16 + roll(9) - 4) : NONE;
            }
        RUN(stixel);
        for (int column = 42; column < 86; column++) {
            wire += rows_at(column, OBJECT, 64, 69);
            sky += rows_at(column, SKY, 80, 170);
        }
        print_message("wire: %d of %d rows, sky below it %d of %d\n", wire, 44 * 6, sky, 44 * 91);
        assert_true(wire == 44 * 6 && sky > 0.95 * 44 * 91);
    }
}

/** Disparities that no camera gives: named states, and lists whose counts hold. */
static void absurd(void **state)
{
    (void)state;
    shake(2);
    for (int given = 0; given < 3; given++)
        for (int kind = 0; kind < 7; kind++) {
            set_stixels(kind == 6 ? 17 : 203, kind == 6 ? 16 : 240, 200.0, 0.2, 120.0);
            if (given) give_road(given == 1 ? 100.0 : kind % 2 ? -1e5 : 1e5, 0.2);
            if (kind == 6) step.tuning.stixel_width_px = 16;
            const struct vf_stixel_view *view = VIEW(stixel);
            const int width = step.geometry.level[0][0].width, most = all * 16 - 1,
                      columns = vf_stixel_columns(&view->geometry, &view->tuning);
            for (int y = 0; y < h; y++)
                for (int x = 0; x < width; x++) {
                    const int value[7] = {
                        NONE, 0, most, roll(most + 1), y % 2 ? most : 0, 65534, roll(2) ? NONE : roll(most)};
                    *pixel(x, y) = (uint16_t)value[kind];
                }
            for (int i = 0; i < columns + 2 && i < VFRONT_COLUMNS; i++) m->segments[i] = 77;
            RUN(stixel);
            assert_int_equal(m->road.state, given ? VFRONT_ROAD_GIVEN : m->road.state);
            if (!given && kind < 2) assert_int_equal(m->road.state, VFRONT_ROAD_NONE);
            for (int i = 0; i < columns; i++) {
                static struct piece piece[MOST_H];
                assert_true(m->segments[i] <= VFRONT_SEGMENTS);
                if (kind == 0 || m->road.state == VFRONT_ROAD_NONE) assert_int_equal(m->segments[i], 0);
                if (m->segments[i]) pieces_of(i, piece);
                if (given == 1 && kind && kind < 6) assert_true(m->segments[i] > 0);
            }
            assert_int_equal(m->segments[columns], 77);
        }
}

/** Through the public interface: refusals, equal results after each reset (tests/core/invariance.c: 1,000 runs), and
 *  the content of a result. */
static vfront_t vf;
static uint8_t grey[2][128][160];
static vfront_rig_t rig_of(void)
{
    vfront_rig_t rig = {.cameras = 2};
    for (int c = 0; c < 2; c++) {
        vfront_camera_t *k = &rig.camera[c];
        k->width_px = 160;
        k->height_px = 128;
        k->fx_px = k->fy_px = 150.0;
        k->cx_px = 80.0;
        k->cy_px = 64.0;
        k->t_cam_imu_m[0] = -0.3 * c;
    }
    return rig;
}
static const vfront_result_t *look(uint64_t t_ns)
{
    const vfront_result_t *r = NULL;
    vfront_frame_t frame = {.t_ns = t_ns};
    for (int c = 0; c < 2; c++) {
        frame.picture[c].data = grey[c];
        frame.picture[c].width_px = 160;
        frame.picture[c].height_px = 128;
        frame.picture[c].pitch_bytes = 160;
    }
    assert_int_equal(vfront_step(&vf, &frame, &r), VFRONT_OK);
    return r;
}

/** Textured road and a box on it, seen by both cameras: grey levels of ground positions, which the left camera sees
 *  `disparity` to the right. */
static void draw_pair(void)
{
    for (int y = 0; y < 128; y++)
        for (int x = 0; x < 160; x++)
            for (int c = 0; c < 2; c++) {
                double disparity = y > 50 ? 0.25 * (y - 50) : 0.0;
                for (int pass = 0; pass < 2; pass++) { /* the box hides the road */
                    const double left = x + c * (pass ? 10.0 : disparity);
                    if (pass && (left < 60.0 || left >= 110.0 || y < 30 || y > 90)) continue;
                    const uint32_t at = (uint32_t)(int)floor(left) * 2654435761u ^ (uint32_t)y * 40503u * 2246822519u ^
                                        (uint32_t)pass * 77u;
                    grey[c][y][x] = (uint8_t)(40 + (at * 3266489917u >> 25));
                }
            }
}

static void refuses(void **state)
{
    vfront_rig_t rig = rig_of();
    vfront_tuning_t t;
    (void)state;
    vfront_tuning_default(&t);
    t.stixel = 1;
    assert_int_equal(vfront_init(&vf, &rig, &t, VFRONT_PORT_HOST), VFRONT_E_TUNING);
    t.dense = 1;
    t.dense_least_px = 4;
    assert_int_equal(vfront_init(&vf, &rig, &t, VFRONT_PORT_HOST), VFRONT_E_TUNING);
    t.dense_least_px = 0;
    t.stixel_width_px = 1;
    assert_int_equal(vfront_init(&vf, &rig, &t, VFRONT_PORT_HOST), VFRONT_E_SIZE);
    t.stixel_width_px = 5;
    const double bad[5][2] = {{-1.0, 0.0}, {101.0, 0.0}, {NAN, 0.0}, {1.0, 1.0}, {1.0, NAN}};
    for (int i = 0; i < 5; i++) {
        rig.road_height_m = bad[i][0];
        rig.road_pitch_rad = bad[i][1];
        assert_int_equal(vfront_init(&vf, &rig, &t, VFRONT_PORT_HOST), VFRONT_E_CALIBRATION);
    }
    rig.road_height_m = 0.0;
    rig.road_pitch_rad = NAN;
    assert_int_equal(vfront_init(&vf, &rig, &t, VFRONT_PORT_HOST), VFRONT_OK);
    vfront_shutdown(&vf);
}

/** Ground lies below the horizon, row 50, sky above it, and all types are there. */
static void check_types(const vfront_result_t *r)
{
    int ground = 0, object = 0, sky = 0;
    for (uint32_t i = 0; i < r->columns_count; i++)
        for (uint32_t k = 0; k < r->stixels_count[i]; k++) {
            const vfront_stixel_t *t = &r->stixels[i][k];
            ground += t->type == VFRONT_STIXEL_GROUND && t->top_px >= 50;
            object += t->type == VFRONT_STIXEL_OBJECT && t->distance_m > 0.0f;
            sky += t->type == VFRONT_STIXEL_SKY && t->base_px <= 50;
        }
    assert_true(ground >= 20 && object >= 7 && sky >= 20);
}

/** Files of replay contain a result without loss. */
static void written(const vfront_result_t *r)
{
    static const char *const name[4] = {"ground", "object", "sky", "unknown"};
    char folder[] = P_tmpdir "/vfront-stixel-XXXXXX", path[64], line[1024];
    results_t *record;
    assert_non_null(mkdtemp(folder));
    assert_null(results_open(&record, folder, 2, RESULTS_STIXELS | RESULTS_FRAMES | RESULTS_POINTS));
    assert_null(results_frame(record, r, NULL, NULL));
    assert_null(results_close(record));
    snprintf(path, sizeof path, "%s/stixels.csv", folder);
    FILE *f = fopen(path, "r");
    assert_true(f && fgets(line, sizeof line, f));
    for (uint32_t i = 0; i < r->columns_count; i++)
        for (uint32_t k = 0; k < r->stixels_count[i]; k++) {
            const vfront_stixel_t *t = &r->stixels[i][k];
            unsigned at[6];
            char type[16];
            float number[4];
            assert_non_null(fgets(line, sizeof line, f));
            assert_int_equal(sscanf(line, "%u,%u,%u,%u,%u,%u,%15[a-z],%f,%f,%f,%f", at, at + 1, at + 2, at + 3, at + 4,
                                    at + 5, type, number, number + 1, number + 2, number + 3),
                             11);
            assert_true(at[1] == i && at[2] == 5 * i && at[3] == 5 && at[4] == t->base_px && at[5] == t->top_px &&
                        !strcmp(type, name[t->type]));
            assert_true(number[0] == t->disparity_px && number[1] == t->distance_m && number[2] == t->sigma_m &&
                        number[3] == t->cost);
        }
    assert_null(fgets(line, sizeof line, f));
    fclose(f);
    snprintf(path, sizeof path, "%s/obstacles.csv", folder);
    f = fopen(path, "r");
    assert_true(f && fgets(line, sizeof line, f) && fgets(line, sizeof line, f));
    const char *from = line;
    for (int i = 0; i < 2; i++) from = strchr(from, ',') + 1; /* frame, time */
    for (int i = 0; i < VFRONT_OBSTACLE_BINS; i++) {
        assert_int_equal(strtol(from, NULL, 10), r->obstacles_cm[i]);
        from = i + 1 < VFRONT_OBSTACLE_BINS ? strchr(from, ',') + 1 : from;
    }
    fclose(f);
    snprintf(line, sizeof line, "rm -r %s", folder);
    assert_int_equal(system(line), 0);
}

static void through_front_end(void **state)
{
    vfront_rig_t rig = rig_of();
    vfront_tuning_t t;
    uint64_t first = 0;
    (void)state;
    draw_pair();
    vfront_tuning_default(&t);
    t.dense = t.stixel = 1;
    t.dense_disparities = 64;
    rig.road_height_m = 0.3 * cos(atan(14.0 / 150.0)) / 0.25;
    rig.road_pitch_rad = -atan(14.0 / 150.0);
    assert_int_equal(vfront_init(&vf, &rig, &t, VFRONT_PORT_HOST), VFRONT_OK);
    for (int run = 0; run < 4; run++) {
        assert_int_equal(vfront_reset(&vf), VFRONT_OK);
        const vfront_result_t *r = look(1);
        if (!run) first = vfront_digest(r);
        if (!run) written(r);
        assert_true(vfront_digest(r) == first);
        assert_int_equal(r->road.state, VFRONT_ROAD_GIVEN);
        assert_true(fabs(r->road.horizon_px - 50.0) < 1e-3 && fabs(r->road.slope - 0.25) < 1e-5 &&
                    fabs(r->road.height_m - rig.road_height_m) < 1e-4);
        assert_true(fabs(r->road.pitch_rad - rig.road_pitch_rad) < 1e-5);
        assert_int_equal(r->columns_count, 32);
        for (int column = 14; column < 21; column++) {
            double near = 1e9;
            for (int i = 0; i < r->stixels_count[column]; i++)
                if (r->stixels[column][i].type == VFRONT_STIXEL_OBJECT)
                    near = fmin(near, r->stixels[column][i].distance_m);
            REQUIRE(fabs(near - 4.5) < 0.45, "column %d: %.2f m\n", column, near);
        }
        check_types(r);
        assert_true(r->obstacles_cm[0] > 400 && r->obstacles_cm[0] < 510);
        assert_int_equal(r->obstacles_cm[36], VFRONT_OBSTACLE_UNKNOWN);
    }
    vfront_shutdown(&vf);
    vfront_tuning_default(&t);
    assert_int_equal(vfront_init(&vf, &rig, &t, VFRONT_PORT_HOST), VFRONT_OK);
    const vfront_result_t *r = look(1);
    assert_int_equal(r->columns_count, 0);
    assert_int_equal(r->road.state, VFRONT_ROAD_NONE);
    for (int i = 0; i < VFRONT_OBSTACLE_BINS; i++) assert_int_equal(r->obstacles_cm[i], VFRONT_OBSTACLE_UNKNOWN);
    vfront_shutdown(&vf);
}

/* ---- bad input by name ------------------------------------------------------------------------------------------- */

static int no_disparity(int y) { return (void)y, NONE; }
static int zero(int y) { return (void)y, 0; }
static int the_most(int y) { return (void)y, all * 16 - 1; }
static int wall(int y) { return (void)y, 20 * 16; }
static int anything(int y) { return (void)y, roll(all * 16); }
static int stripes(int y) { return y % 2 ? 40 * 16 : 10 * 16; }
static int plain(int y) { return (y + 50) * 16 / 5; } /* its horizon lies 50 rows above the image */

/** Bits: classes that may occur; CUT: columns have segments; nearest obstacle straight ahead. */
enum {
    G = 1 << GROUND,
    O = 1 << OBJECT,
    S = 1 << SKY,
    U = 1 << UNKNOWN,
    CUT = 16,
    NO_DATA = 32,
    FREE = 64,
    NEAR = 128
};
static const struct bad {
    const char *what;
    int width, height, column_px, (*disparity)(int y);
    double horizon_px; /* NAN: the road is estimated */
    int road, is;
} bad_input[] = {
    {"all disparities invalid", 203, 240, 5, no_disparity, NAN, VFRONT_ROAD_NONE, NO_DATA},
    {"all disparities invalid, road given", 203, 240, 5, no_disparity, 100.0, VFRONT_ROAD_GIVEN, NO_DATA},
    {"all zero", 203, 240, 5, zero, NAN, VFRONT_ROAD_NONE, NO_DATA},
    {"all zero, road given", 203, 240, 5, zero, 100.0, VFRONT_ROAD_GIVEN, CUT | U | G | S | O | NO_DATA},
    {"all the maximum", 203, 240, 5, the_most, NAN, VFRONT_ROAD_NONE, NO_DATA},
    {"all the maximum, road given", 203, 240, 5, the_most, 100.0, VFRONT_ROAD_GIVEN, CUT | U | O | NEAR},
    {"a wall and no road", 203, 240, 5, wall, NAN, VFRONT_ROAD_NONE, NO_DATA},
    {"noise and no road", 203, 240, 5, anything, NAN, VFRONT_ROAD_NONE, NO_DATA},
    {"horizon above the picture", 203, 240, 5, plain, -50.0, VFRONT_ROAD_GIVEN, CUT | U | G | FREE},
    {"horizon far above the picture", 203, 240, 5, zero, -1e5, VFRONT_ROAD_GIVEN, CUT | U | G | S | O},
    {"horizon below the picture", 203, 240, 5, zero, 290.0, VFRONT_ROAD_GIVEN, CUT | U | S | FREE},
    {"horizon far below the picture", 203, 240, 5, wall, 1e5, VFRONT_ROAD_GIVEN, CUT | U | O | NEAR},
    {"stripes of one row", 203, 240, 5, stripes, 100.0, VFRONT_ROAD_GIVEN, CUT | U | G | O | S},
    {"picture no wider than a column", 16, 240, 16, wall, 200.0, VFRONT_ROAD_GIVEN, CUT | U | O | NEAR},
    {"less than two columns", 31, 16, 16, anything, 8.0, VFRONT_ROAD_GIVEN, CUT | U | G | O | S},
    {"more disparities than columns of pixels", 17, 240, 1, the_most, 100.0, VFRONT_ROAD_GIVEN, CUT | U | O | NEAR},
};

static void check_columns(const struct bad *b)
{
    const struct vf_stixel_view *view = VIEW(stixel);
    const int columns = vf_stixel_columns(&view->geometry, &view->tuning);
    static struct piece piece[MOST_H];
    for (int i = 0; i < columns; i++) {
        const int count = m->segments[i];
        const int all_hidden = b->is & CUT && vf_stixel_hidden(m->ground, vf_min(m->horizon, h), i * b->column_px) == h;
        REQUIRE((count > 0) == (b->is & CUT && !all_hidden) && count <= VFRONT_SEGMENTS && m->crowded[i] <= 1,
                "%s: column %d has %d segments\n", b->what, i, count);
        if (count) pieces_of(i, piece);
        for (int k = 0; k < count; k++)
            REQUIRE(b->is >> m->segment[i][k].type & 1, "%s: class %d in column %d\n", b->what, m->segment[i][k].type,
                    i);
        for (size_t k = sizeof *m->segment[i] * (size_t)count; k < sizeof m->segment[i]; k++)
            assert_int_equal(((uint8_t *)m->segment[i])[k], 0xa5);
        for (int k = h; k < VFRONT_HEIGHT; k++) assert_int_equal(m->column[i][k], 0xa5a5);
    }
    for (int i = columns; i < VFRONT_COLUMNS; i++) {
        assert_true(m->segments[i] == 0xa5a5 && m->crowded[i] == 0xa5a5);
        for (size_t k = 0; k < sizeof m->segment[i]; k++) assert_int_equal(((uint8_t *)m->segment[i])[k], 0xa5);
    }
}

/** Each input has its named state, and nothing is written outside its list. */
static void named(void **state)
{
    (void)state;
    shake(31);
    scribble_arena();
    for (size_t i = 0; i < sizeof bad_input / sizeof *bad_input; i++) {
        const struct bad *b = &bad_input[i];
        set_stixels(b->width, b->height, 500.0, 0.4, b->height / 2.0);
        if (!isnan(b->horizon_px)) give_road(b->horizon_px, 0.2);
        step.tuning.stixel_width_px = b->column_px;
        vf_stixel_make(&m->tables, VIEW(stixel));
        memset(m->segments, 0xa5, sizeof m->segments);
        memset(m->crowded, 0xa5, sizeof m->crowded);
        memset(m->segment, 0xa5, sizeof m->segment);
        memset(m->column, 0xa5, sizeof m->column);
        for (int y = 0; y < b->height; y++)
            for (int x = 0; x < b->width; x++) *pixel(x, y) = (uint16_t)b->disparity(y);
        memcpy(&expected, &memory, sizeof memory);
        RUN(stixel);
        REQUIRE(m->road.state == (uint32_t)b->road, "%s: road %u\n", b->what, m->road.state);
        check_columns(b);
        const uint32_t ahead = m->nearest_cm[0], free_cm = 100u * (uint32_t)step.tuning.stixel_far_m + 1u;
        const double away_cm = 100.0 * focal * base_m / (b->disparity(0) / 16.0);
        if (b->is & NO_DATA) assert_true(ahead == VF_NONE || ahead == vf_stixel_hidden_cm(VIEW(stixel)));
        if (b->is & FREE) REQUIRE(ahead == free_cm, "%s: %u cm ahead\n", b->what, ahead);
        if (b->is & NEAR) REQUIRE(fabs(ahead - away_cm) < 2.0, "%s: %u cm instead of %.0f\n", b->what, ahead, away_cm);
        memcpy(&expected.stixel, m, sizeof expected.stixel);
        memcpy(&expected.stixel_scratch, &memory.stixel_scratch, sizeof expected.stixel_scratch);
        same_arena(b->what);
    }
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(tables),         cmocka_unit_test(reduction),      cmocka_unit_test(unsure),
        cmocka_unit_test(random_columns), cmocka_unit_test(crowded),        cmocka_unit_test(street),
        cmocka_unit_test(road),           cmocka_unit_test(distances),      cmocka_unit_test(presets),
        cmocka_unit_test(low_cameras),    cmocka_unit_test(sky_and_margin), cmocka_unit_test(absurd),
        cmocka_unit_test(named),          cmocka_unit_test(refuses),        cmocka_unit_test(through_front_end),
        cmocka_unit_test(lawns),          cmocka_unit_test(blank_walls),    cmocka_unit_test(pitch),
        cmocka_unit_test(wires),
    };
    return cmocka_run_group_tests_name("stixel", test, NULL, NULL);
}

#else

int main(void)
{
    print_message("no stixels in this config\n");
    return 77;
}

#endif
