/* SPDX-License-Identifier: MIT */
/* stixel: against the programme of paper 002 written down in double precision, every pair of rows and every change between classes looked at;
 * against what its authors' program makes of a street; against roads with boxes on them, drawn here, of which distances are known; and on
 * disparities that no camera gives. Tables against the C library. */
#include "stand.h"

#if VFRONT_STIXELS

#define MOST_H VFRONT_HEIGHT
#define MOST_D VFRONT_DISPARITIES
#define FOREVER 1e18
enum { GROUND = 0, OBJECT = 1, SKY = 2, NONE = 0xffff };

static struct vf_stixel_memory *const m = &memory.stixel;
static int32_t h, all; /* rows, disparities */
static double focal, base_m, centre_y;

/* ---- oracle ---------------------------------------------------------------------------------------------------------------------- */

static double d[MOST_H]; /* of a column from the bottom [px]; negative: none */
static double objects[MOST_D][MOST_H + 1], grounds[MOST_H + 1], skies[MOST_H + 1], sums[MOST_H + 1], road_at[MOST_H];
static int valid[MOST_H + 1];
static int horizon; /* row from the bottom */
static double extra; /* on every segment */

static double gauss(double x, double model, double sigma, double inside, double outlier)
{
    const double norm = log(inside) - log((1.0 - outlier) / (sigma * sqrt(2.0 * acos(-1.0))));
    return fmin(log(all) - log(outlier), norm + (x - model) * (x - model) / (2.0 * sigma * sigma));
}
static double inside_of(double model, double sigma)
{
    return (erf((all - model) / (sigma * sqrt(2.0))) - erf(-model / (sigma * sqrt(2.0)))) / 2.0;
}

/** Sums of what the rows below cost, for a road whose disparity is slope * (rows below the horizon). */
static void sum_rows(double horizon_px, double slope)
{
    const double tilt = atan((horizon_px - centre_y) / focal), height_m = base_m * cos(tilt) / slope, by = focal * base_m / height_m;
    for (int v = 0; v < h; v++) {
        const double at = fmin(fmax(slope * (horizon - v), 0.0), all - 1.0), x = tilt + (horizon - v) / focal;
        const double sigma = sqrt(4.0 + by * by * (pow(0.05 * x / height_m, 2.0) + pow(0.05 * acos(-1.0) / 180.0, 2.0)));
        const int none = d[v] < 0.0;
        road_at[v] = at;
        sums[v + 1] = sums[v] + (none ? 0.0 : d[v]);
        valid[v + 1] = valid[v] + !none;
        grounds[v + 1] = grounds[v] + (v >= horizon ? 1e7 : none ? 0.0 : gauss(d[v], at, sigma, inside_of(at, sigma), 0.15));
        skies[v + 1] = skies[v] + (v < horizon ? 1e7 : none ? 0.0 : gauss(d[v], 0.0, 0.1, erf(all / (0.1 * sqrt(2.0))) / 2.0, 0.4));
        for (int k = 0; k < all; k++) {
            const double whole = floor(d[v]), spread = sqrt(1.0 + pow(whole * whole * 10.2 / (focal * base_m), 2.0));
            objects[k][v + 1] = objects[k][v] + (none ? 0.0 : gauss(whole, k, spread, inside_of(whole, spread), 0.15));
        }
    }
}

static double mean_of(int vb, int vt) { return (sums[vt + 1] - sums[vb]) / (valid[vt + 1] - valid[vb]); }

/** What rows vb..vt cost as one segment. */
static double rows_cost(int type, int vb, int vt)
{
    if (type == GROUND) return grounds[vt + 1] - grounds[vb];
    if (type == SKY) return skies[vt + 1] - skies[vb];
    if (valid[vt + 1] == valid[vb]) return FOREVER;
    const double *sum = objects[(int)floor(mean_of(vb, vt) + 1e-9)];
    return sum[vt + 1] - sum[vb];
}

static double first_cost(int type, int vt)
{
    if (type == SKY) return FOREVER;
    if (type == GROUND) return vt <= horizon ? log(2.0) + log(h) : FOREVER;
    return log(h) + log(all) + (vt <= horizon ? log(2.0) : 0.0);
}

/** Of an object with mean `fn` after one with mean `p`. */
static double object_object(double fn, double p, int below)
{
    const double far = floor(p), range = far > 0.0 ? far - focal * base_m / (focal * base_m / far + 10.2) : 0.0;
    const double more = below ? -log(0.7) : log(2.0);
    if (fn > p + range) return more + log((all - p - range) / 0.2);
    return fn < p - range ? more + log((p - range) / 0.8) : FOREVER;
}
static double object_ground(double fn, double g)
{
    if (fn > g + 3.0) return -log(0.7) + log((all - g - 3.0) / 0.1);
    if (fn < g - 3.0) return -log(0.7) + log((g - 3.0) / 0.04);
    return -log(0.7) + log(6.0 / (1.0 - 0.1 - 0.04));
}

/** Of a segment from vb, fn: its mean if it is an object, after one that ends there, p likewise. */
static double change_cost(int type, int before, int vb, double fn, double p)
{
    const int below = vb - 1 < horizon;
    const double length = log(h - vb), g = road_at[vb - 1];
    if (type == GROUND) return below && before != SKY ? length - log(0.3) : FOREVER;
    if (type == SKY && before == GROUND) return !below && g < 1.0 ? length : FOREVER;
    if (type == SKY) return !below && before == OBJECT && p >= 3.0 ? length + log(2.0) : FOREVER;
    if (before == OBJECT) return length + object_object(fn, p, below);
    if (before == GROUND) return length + object_ground(fn, g);
    return fn > 3.0 ? length + log(all - 3.0) : FOREVER;
}

struct state {
    double cost;
    int base, before;
};
static struct state best[3][MOST_H];
struct piece {
    int type, base, top;
};

static void consider(int type, int vt, int vb, int before, double cost)
{
    if (cost >= best[type][vt].cost) return;
    best[type][vt].cost = cost;
    best[type][vt].base = vb;
    best[type][vt].before = before;
}

/** What comes before is as good as it can be by itself, as in the paper: not by what comes after. */
static int solve(struct piece piece[MOST_H])
{
    static const int order[3] = {OBJECT, GROUND, SKY};
    for (int vt = 0; vt < h; vt++) {
        for (int k = 0; k < 3; k++) best[k][vt].cost = 1e6; /* more is impossible */
        for (int vb = 0; vb <= vt; vb++)
            for (int type = 0; type < 3; type++) {
                const double rows = rows_cost(type, vb, vt) + extra;
                const double fn = type == OBJECT && rows < 1e6 ? mean_of(vb, vt) : 0.0;
                if (rows >= 1e6) continue;
                if (vb == 0) consider(type, vt, 0, -1, rows + first_cost(type, vt));
                for (int i = 0; i < 3 && vb; i++) {
                    const struct state *last = &best[order[i]][vb - 1];
                    if (last->cost >= 1e6) continue;
                    const double p = order[i] == OBJECT ? mean_of(last->base, vb - 1) : 0.0;
                    consider(type, vt, vb, order[i], rows + change_cost(type, order[i], vb, fn, p) + last->cost);
                }
            }
    }
    int type = OBJECT, count = 0;
    if (best[GROUND][h - 1].cost < best[type][h - 1].cost) type = GROUND;
    if (best[SKY][h - 1].cost < best[type][h - 1].cost) type = SKY;
    for (int vt = h - 1; vt >= 0; count++) {
        const struct state *s = &best[type][vt];
        piece[count].type = type;
        piece[count].base = s->base;
        piece[count].top = vt;
        type = s->before;
        vt = s->base - 1;
    }
    for (int i = 0; i < count / 2; i++) {
        const struct piece swap = piece[i];
        piece[i] = piece[count - 1 - i];
        piece[count - 1 - i] = swap;
    }
    return count;
}

/** What a segmentation costs. */
static double total(const struct piece *piece, int count)
{
    double cost = 0.0, p = 0.0;
    for (int i = 0; i < count; i++) {
        const struct piece *now = &piece[i];
        const double fn = now->type == OBJECT ? mean_of(now->base, now->top) : 0.0;
        cost += rows_cost(now->type, now->base, now->top) + extra;
        cost += i ? change_cost(now->type, piece[i - 1].type, now->base, fn, p) : first_cost(now->type, now->top);
        p = fn;
    }
    return cost;
}

/** What an object nearer to infinity than a pixel is called. */
static int called(const struct piece *p) { return p->type == OBJECT && mean_of(p->base, p->top) < 1.0 ? SKY : p->type; }

/* ---- a step ------------------------------------------------------------------------------------------------------------------------ */

/** A camera 0 of a size, focal length and principal row, `baseline` beside another; the stage's tables are made. */
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
    memset(m, 0, sizeof *m);
    memory.ingest.params.frame = 0;
    h = height;
    all = step.tuning.dense_disparities;
    focal = focal_px;
    base_m = baseline;
    centre_y = cy;
    vf_stixel_make(&m->tables, &step);
}

static void give_road(double horizon_px, double slope)
{
    step.geometry.horizon_px = (float)horizon_px;
    step.geometry.road_slope = (float)slope;
}

static uint16_t *pixel(int x, int y) { return &memory.dense.disparity[y * step.geometry.level[0][0].pitch + x]; }

/** Takes a column of the stage over for the oracle. */
static void take_column(int column, double horizon_px, double slope)
{
    for (int v = 0; v < h; v++) d[v] = m->column[column][v] == NONE ? -1.0 : m->column[column][v] / 256.0;
    sum_rows(horizon_px, slope);
}

/** A column's segments, as they were before names were changed. */
static int pieces_of(int column, struct piece *piece)
{
    for (int i = 0; i < m->segments[column]; i++) {
        const struct vf_segment *s = &m->segment[column][i];
        piece[i].base = s->base;
        piece[i].top = s->top;
        piece[i].type = s->type;
        assert_int_equal(s->base, i ? piece[i - 1].top + 1 : 0);
        assert_true(s->top >= s->base);
    }
    assert_int_equal(m->segment[column][m->segments[column] - 1].top, h - 1);
    return m->segments[column];
}

static int same_pieces(const struct piece *a, int n, const struct piece *b, int count)
{
    int same = n == count;
    for (int i = 0; i < count && same; i++) same = a[i].base == b[i].base && a[i].type == called(&b[i]);
    return same;
}

/* ---- tests -------------------------------------------------------------------------------------------------------------------------- */

static const char *data_folder(void)
{
    const char *folder = getenv("VFRONT_DATA");
    return folder ? folder : "../shared/data";
}

/** The picture of which the authors' program's segments are known. 1/256 px is needed for its boundaries. */
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
    vf_road_given(&step, &m->road);
    m->horizon = vf_road_horizon(&m->road, 480);
    assert_int_equal(m->horizon, 376);
    for (int v = 0; v < 480; v++) m->ground[v] = vf_road_row(&step, &m->tables, &m->road, m->horizon, v);
    snprintf(path, sizeof path, "%s/stixels_640x480/expected.stixels", data_folder());
    f = fopen(path, "r");
    assert_non_null(f);
    int columns = 0, cells = 0;
    for (int column = 0; column < 128; column++) {
        int same = 1, label[480], at = 0, count = 0;
        for (int v = 0; v < 480; v++) {
            uint16_t px[5];
            for (int k = 0; k < 5; k++) px[k] = (uint16_t)floor(picture[479 - v][column * 5 + k] * 256.0 + 0.5);
            m->column[column][v] = (uint16_t)vf_stixel_reduce(px, 5, 0, 256, 128);
        }
        vf_stixel_cut_column(&step, column);
        for (int i = 0; i < m->segments[column]; i++)
            for (int v = m->segment[column][i].base; v <= m->segment[column][i].top; v++) label[v] = m->segment[column][i].type;
        assert_non_null(fgets(line, sizeof line, f));
        for (int type, vb, vt, length; sscanf(line + at, "%d,%d,%d,%*f;%n", &type, &vb, &vt, &length) == 3; at += length, count++) {
            int found = 0;
            for (int i = 0; i < m->segments[column]; i++) found |= m->segment[column][i].base == vb;
            same &= found;
            for (int v = vb; v <= vt; v++) cells += label[v] == type;
        }
        same &= count == m->segments[column];
        columns += same;
        if (!same) print_message("column %d differs\n", column);
    }
    fclose(f);
    print_message("the authors' program: the same cuts in %d of 128 columns, the same class in %.3f %% of %d cells\n", columns, cells / 614.4, 128 * 480);
    assert_true(columns >= 126 && cells >= 0.995 * 128 * 480);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(street),
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
