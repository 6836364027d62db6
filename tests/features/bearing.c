/* SPDX-License-Identifier: MIT */
/* bearing: key points and places between pixels against the lens itself, inverted at the very place in double precision; what a lens does
 * not see against a direct look at every pixel; and that no point without a bearing comes out of the public interface. */
#include "tests/fixture/stage.h"

/* ---- lenses ------------------------------------------------------------------------------------------------------ */

/** Lenses that are sold, one that is not calibrated, strong ones, and ones that do not hold in the corners of their pictures. */
enum kind { EUROC, KALIBR, KITTI, UNKNOWN, GOPRO, BARREL, WIDE, CORNERS, ROUND, OFF_CENTRE, KINDS };
static const struct {
    const char *name;
    vfront_camera_t camera;
    double bound_px; /* of the error of a bearing; 0: only said */
} known[KINDS] = {
    {"euroc",
     {.width_px = 752,
      .height_px = 480,
      .fx_px = 458.654,
      .fy_px = 457.296,
      .cx_px = 367.215,
      .cy_px = 248.375,
      .distortion = {-0.28340811, 0.07395907, 0.00019359, 1.76187114e-05}},
     1e-3},
    {"kalibr fisheye",
     {.width_px = 512,
      .height_px = 512,
      .fx_px = 190.978,
      .fy_px = 190.973,
      .cx_px = 254.93,
      .cy_px = 256.9,
      .lens = VFRONT_LENS_EQUIDISTANT,
      .distortion = {0.00348, 0.000715, -0.002053, 0.000203}},
     1e-3},
    {"kitti pinhole",
     {.width_px = 1241, .height_px = 376, .fx_px = 718.856, .fy_px = 718.856, .cx_px = 607.1928, .cy_px = 185.2157},
     2e-4},
    {"not calibrated", {.width_px = 641, .height_px = 479}, 1e-4},
    {"gopro rational",
     {.width_px = 960,
      .height_px = 540,
      .fx_px = 470.0,
      .fy_px = 470.0,
      .cx_px = 480.0,
      .cy_px = 270.0,
      .lens = VFRONT_LENS_RATIONAL,
      .distortion = {0.9, 0.2, 1e-4, -2e-4, 0.01, 1.2, 0.35, 0.03}},
     1e-3},
    {"barrel, up to its fold",
     {.width_px = 320,
      .height_px = 240,
      .fx_px = 230.0,
      .fy_px = 230.0,
      .cx_px = 160.0,
      .cy_px = 120.0,
      .distortion = {-0.33, 0.06}},
     0.0},
    {"wide pinhole",
     {.width_px = 160, .height_px = 120, .fx_px = 40.0, .fy_px = 40.0, .cx_px = 79.5, .cy_px = 59.5},
     0.0},
    {"blind corners",
     {.width_px = 203,
      .height_px = 151,
      .fx_px = 180.0,
      .fy_px = 182.0,
      .cx_px = 101.0,
      .cy_px = 70.0,
      .distortion = {-0.6}},
     0.0},
    {"round picture",
     {.width_px = 200,
      .height_px = 160,
      .fx_px = 25.0,
      .fy_px = 25.0,
      .cx_px = 100.0,
      .cy_px = 80.0,
      .lens = VFRONT_LENS_EQUIDISTANT},
     0.0},
    {"blind at one side",
     {.width_px = 96,
      .height_px = 64,
      .fx_px = 80.0,
      .fy_px = 80.0,
      .cx_px = 20.0,
      .cy_px = 10.0,
      .distortion = {-0.5}},
     0.0},
};

/** Without a calibration: a pinhole as long as the picture is wide. */
static struct vf_lens lens_of(const vfront_camera_t *camera)
{
    vfront_camera_t c = *camera;
    struct vf_lens lens;
    if (c.fx_px == 0.0) {
        c.fx_px = c.fy_px = c.width_px;
        c.cx_px = (c.width_px - 1) / 2.0;
        c.cy_px = (c.height_px - 1) / 2.0;
    }
    vf_lens_make(&lens, &c);
    return lens;
}

static int32_t nodes_of(int32_t size_px) { return (int32_t)ceil(size_px / 8.0) + 5; }

/** Bearing of a node of the grid, all 0 where there is none. Returns whether there is. */
static int node_of(const struct vf_lens *lens, int32_t i, int32_t j, double bearing[3])
{
    const double px[2] = {8.0 * i - 16.0, 8.0 * j - 16.0};
    bearing[0] = bearing[1] = bearing[2] = 0.0;
    return vf_lens_bearing(lens, px, bearing);
}

static void write_grid(int32_t camera, const struct vf_lens *lens)
{
    const int32_t across = step.geometry.nodes_x[camera], down = nodes_of(step.geometry.level[camera][0].height);
    for (int32_t j = 0; j < down; j++) vf_bearing_row(memory.bearing.node[camera] + j * across, across, lens, j);
}

/* ---- the grid ---------------------------------------------------------------------------------------------------- */

/** Every node is the lens's bearing at its pixel, to single precision; and not one more is written. */
static void nodes_of_the_grid(void **state)
{
    static struct vf_node row[VF_NODES(VFRONT_WIDTH) + 1], noise[VF_NODES(VFRONT_WIDTH) + 1];
    (void)state;
    shake(1);
    for (int kind = 0; kind < KINDS; kind++) {
        const vfront_camera_t *c = &known[kind].camera;
        const struct vf_lens lens = lens_of(c);
        const int32_t across = nodes_of(c->width_px), down = nodes_of(c->height_px);
        if (!fits(c->width_px, c->height_px, 0)) continue;
        assert_true(vf_nodes(c->width_px) == across && vf_nodes(c->height_px) == down);
        for (int32_t j = 0; j < down; j++) {
            scribble(noise, sizeof noise);
            memcpy(row, noise, sizeof row);
            vf_bearing_row(row, across, &lens, j);
            for (int32_t i = 0; i < across; i++) {
                double b[3];
                const int holds = node_of(&lens, i, j, b);
                REQUIRE(row[i].holds == holds && row[i].x == (float)b[0] && row[i].y == (float)b[1] &&
                            row[i].z == (float)b[2],
                        "%s: node %d,%d", known[kind].name, i, j);
            }
            assert_memory_equal(row + across, noise + across, sizeof row - (size_t)across * sizeof *row);
        }
    }
}

/** As many nodes as the largest picture needs are what the arena has room for. */
static void room_for_the_grid(void **state)
{
    (void)state;
    for (int32_t size = 16; size <= 4096; size++) assert_int_equal(vf_nodes(size), nodes_of(size));
    assert_true(sizeof memory.bearing.node[0] / sizeof(struct vf_node) >=
                (size_t)(nodes_of(VFRONT_WIDTH) * nodes_of(VFRONT_HEIGHT)));
}

/* ---- places ------------------------------------------------------------------------------------------------------ */

static double length_of(const double v[3]) { return sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]); }

/** Angle between a bearing and a ray [rad]. */
static double angle_between(const float a[3], const double b[3])
{
    const double c[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    return atan2(length_of(c), a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
}

/** Whether all 16 nodes around a place have a bearing. */
static int holds_around(const struct vf_lens *lens, double x, double y)
{
    const int32_t i = (int32_t)floor(x / 8.0) + 1, j = (int32_t)floor(y / 8.0) + 1;
    int holds = 1;
    for (int32_t k = 0; k < 16; k++) {
        double unused[3];
        holds &= node_of(lens, i + k % 4, j + k / 4, unused);
    }
    return holds;
}

struct figures {
    double worst_px, sum_px;
    int places, blind, over; /* 1e-4 px */
};

/** A bearing that the grid gave for a place, held against the lens there. */
static void compare_bearing(const char *what, const struct vf_lens *lens, double focal_px, double x, double y,
                            const float is[3], struct figures *f)
{
    const double px[2] = {x, y}, length = sqrt((double)is[0] * is[0] + (double)is[1] * is[1] + (double)is[2] * is[2]);
    double should[3];
    f->places++;
    if (!holds_around(lens, x, y)) {
        REQUIRE(is[0] == 0.0f && is[1] == 0.0f && is[2] == 0.0f, "%s at %.4f %.4f: a bearing from nodes that have none",
                what, x, y);
        f->blind++;
        return;
    }
    REQUIRE(fabs(length - 1.0) < 2e-7, "%s at %.4f %.4f: length %.9f", what, x, y, length);
    REQUIRE(vf_lens_bearing(lens, px, should), "%s at %.4f %.4f: the lens has none", what, x, y);
    const double error_px = angle_between(is, should) * focal_px;
    f->sum_px += error_px;
    f->over += error_px > 1e-4;
    f->worst_px = error_px > f->worst_px ? error_px : f->worst_px;
}

static void set_up_kind(int kind)
{
    const vfront_camera_t *c = &known[kind].camera;
    const struct vf_lens lens = lens_of(c);
    set_up(1, c->width_px, c->height_px, 0);
    step.geometry.calibrated[0] = c->fx_px != 0.0;
    step.geometry.focal_px[0] = (float)lens.fx_px;
    write_grid(0, &lens);
}

/** Random places to 1/65536 px, as tracks have them, the first and last among them. */
static void places_of_all_lenses(void **state)
{
    int within = 1;
    (void)state;
    shake(2);
    print_message("%-24s %12s %12s %10s %8s\n", "lens", "worst [px]", "mean [px]", "over 1e-4", "blind");
    for (int kind = 0; kind < KINDS; kind++) {
        const vfront_camera_t *c = &known[kind].camera;
        const struct vf_lens lens = lens_of(c);
        struct figures f = {0.0, 0.0, 0, 0, 0};
        if (!fits(c->width_px, c->height_px, 0)) continue;
        set_up_kind(kind);
        for (int n = 0; n < 20000; n++) {
            const int32_t right = (c->width_px - 1) * 65536, below = (c->height_px - 1) * 65536;
            const int32_t x = n < 4 ? n % 2 * right : roll(right + 1), y = n < 4 ? n / 2 * below : roll(below + 1);
            float is[3];
            vf_bearing_at(&step, memory.bearing.node[0], 0, x, y, is);
            compare_bearing(known[kind].name, &lens, lens.fx_px, x / 65536.0, y / 65536.0, is, &f);
        }
        print_message("%-24s %12.2e %12.2e %9.2f%% %7.1f%%\n", known[kind].name, f.worst_px,
                      f.sum_px / (f.places - f.blind + 1), 100.0 * f.over / f.places, 100.0 * f.blind / f.places);
        within &= known[kind].bound_px == 0.0 ||
                  (f.worst_px <= known[kind].bound_px && f.sum_px < 4e-5 * f.places && f.blind == 0);
        assert_true(kind < CORNERS || f.blind > 100);
        assert_true(f.places - f.blind > 1000);
    }
    assert_true(within);
}

/** A pinhole by hand: on its axis, and at 45 degrees. */
static void known_places(void **state)
{
    static const struct {
        int32_t x, y;
        double bearing[3];
    } at[] = {{48, 40, {0, 0, 1}},
              {56, 40, {0.70710678, 0, 0.70710678}},
              {40, 40, {-0.70710678, 0, 0.70710678}},
              {48, 48, {0, 0.70710678, 0.70710678}},
              {56, 48, {0.57735027, 0.57735027, 0.57735027}}};
    const vfront_camera_t c = {.width_px = 64, .height_px = 64, .fx_px = 8, .fy_px = 8, .cx_px = 48, .cy_px = 40};
    const struct vf_lens lens = lens_of(&c);
    (void)state;
    shake(3);
    set_up(1, 64, 64, 0);
    write_grid(0, &lens);
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        float is[3];
        vf_bearing_at(&step, memory.bearing.node[0], 0, at[i].x << 16, at[i].y << 16, is);
        for (int k = 0; k < 3; k++)
            REQUIRE(fabs((double)is[k] - at[i].bearing[k]) < 2e-7, "place %zu: %.9f", i, (double)is[k]);
    }
}

/** Weights of four places: they reproduce every cubic, and are 1 and 0 at the places themselves. */
static void weights_are_those_of_a_cubic(void **state)
{
    (void)state;
    for (int n = 0; n <= 1000; n++) {
        const double t = n / 1000.0;
        float w[4];
        vf_bearing_weights((float)t, w);
        for (int power = 0; power <= 3; power++) {
            double sum = 0.0;
            for (int k = 0; k < 4; k++) sum += (double)w[k] * pow(k - 1.0, power);
            REQUIRE(fabs(sum - pow(t, power)) < 2e-6, "t = %g, power %d: %g", t, power, sum);
        }
    }
}

/* ---- key points -------------------------------------------------------------------------------------------------- */

static int32_t searched(void)
{
    return step.geometry.scales < step.tuning.detect_levels ? step.geometry.scales : step.tuning.detect_levels;
}
static int32_t groups(void) { return step.tuning.select_share_percent > 0 ? searched() : 1; }
static int32_t first_slot(int32_t group)
{
    return step.tuning.select_share_percent > 0 ? step.geometry.share[group] : 0;
}
static int32_t slots_of(int32_t group)
{
    const int32_t *share = step.geometry.share;
    return step.tuning.select_share_percent > 0 ? share[group + 1] - share[group] : step.tuning.select_points;
}

/** A key point in a slot, kept apart from the arena. */
struct spot {
    int32_t level, u, v;
};
static struct spot spot[VFRONT_CAMERAS][VFRONT_KEYPOINTS];

static void put_spot(int32_t camera, int32_t slot, int32_t level)
{
    const struct vf_level *l = &step.geometry.scale[camera][level];
    const int32_t u = roll(4) ? roll(l->width) : roll(2) * (l->width - 1),
                  v = roll(4) ? roll(l->height) : roll(2) * (l->height - 1);
    const struct spot s = {level, u, v};
    spot[camera][slot] = s;
    memory.select.key[camera][slot] = vf_detect_key(roll(2), (uint32_t)roll64(), level, s.u, s.v);
}

/** Some key points in every group's slots, by rising level as they are selected; what else there is in keys and counts is noise. */
static void random_spots(int32_t camera)
{
    scribble(memory.select.key[camera], sizeof memory.select.key[camera]);
    for (int32_t group = 0; group < VFRONT_SCALES; group++) memory.select.count[camera][group] = (uint32_t)roll(100);
    for (int32_t group = 0; group < groups(); group++) {
        const int32_t count = roll(4) ? roll(slots_of(group) + 1) : roll(2) * slots_of(group);
        int32_t level = step.tuning.select_share_percent > 0 ? group : 0;
        memory.select.count[camera][group] = (uint32_t)count;
        for (int32_t i = 0; i < count; i++) {
            put_spot(camera, first_slot(group) + i, level);
            while (groups() == 1 && level < searched() - 1 && roll(count) < 2 * searched())
                level++; /* now and then past one or more */
        }
    }
}

/** Place of a pixel of a level on level 0, in 1/65536 px: its centre, rounded down. */
static int32_t centre_of(int32_t u, int32_t level)
{
    const double size = floor(pow((double)VFRONT_SCALE_NUM / VFRONT_SCALE_DEN, level) * 65536.0 + 0.5);
    return (int32_t)floor((u + 0.5) * size - 32768.0);
}

static struct figures random_figures[KINDS];

/** What the i-th key point must be, but for its bearing, which must be near that of the lens and is then taken over. */
static void expect_spot(int32_t camera, int kind, const struct vf_lens *lens, uint32_t i, const struct spot *s)
{
    struct vf_point *should = &expected.bearing.point[step.parity][camera][i];
    const struct vf_point *is = &memory.bearing.point[step.parity][camera][i];
    should->x_q16 = centre_of(s->u, s->level);
    should->y_q16 = centre_of(s->v, s->level);
    should->u = (int16_t)s->u;
    should->v = (int16_t)s->v;
    should->level = s->level;
    should->step = (float)(floor(pow((double)VFRONT_SCALE_NUM / VFRONT_SCALE_DEN, s->level) * 65536.0 + 0.5) / 65536.0);
    compare_bearing(known[kind].name, lens, lens->fx_px, should->x_q16 / 65536.0, should->y_q16 / 65536.0, is->bearing,
                    &random_figures[kind]);
    memcpy(should->bearing, is->bearing, sizeof is->bearing);
}

/** How many of the points expected are of levels before each: there the next one begins. */
static void expect_levels(int32_t camera, uint32_t count)
{
    for (int32_t level = 0; level <= VFRONT_SCALES; level++) {
        uint32_t before = 0;
        for (uint32_t i = 0; i < count; i++) before += expected.bearing.point[step.parity][camera][i].level < level;
        expected.bearing.first[step.parity][camera][level] = before;
    }
}

static void expect_camera(int32_t camera, int kind)
{
    const struct vf_lens lens = lens_of(&known[kind].camera);
    uint32_t count = 0;
    for (int32_t group = 0; group < groups(); group++)
        for (uint32_t k = 0; k < memory.select.count[camera][group]; k++)
            expect_spot(camera, kind, &lens, count++, &spot[camera][first_slot(group) + (int32_t)k]);
    expected.bearing.count[step.parity][camera] = count;
    expect_levels(camera, count);
}

/** A point that found nobody, and at which nobody has looked. */
static void expect_forgotten(int32_t i)
{
#if VFRONT_STEREO
    expected.stereo.back[i] = UINT32_MAX;
#endif
#if VFRONT_MATCHES
    expected.match.found[i] = expected.match.back[i] = UINT32_MAX;
    expected.match.second[i] = 256; /* bits there are: no partner differs by more */
#endif
    (void)i; /* in a config without either */
}

/** Rigs of one or two cameras of different lenses and sizes, both parities, with shares and without, described or not, lists full or empty:
 *  points in the order of the result, and not a byte more. */
static void random_points(void **state)
{
    static const int32_t percent[] = {0, 1, 50, 91, 100};
    (void)state;
    shake(4);
    scribble_arena();
    for (int round = 0; round < 40; round++) {
        const int kind[2] = {round % KINDS, roll(KINDS)};
        const int32_t cameras = between(1, VFRONT_CAMERAS);
        int room = 1;
        for (int32_t c = 0; c < cameras; c++)
            room &= fits(known[kind[c]].camera.width_px, known[kind[c]].camera.height_px, 0);
        if (!room) continue;
        set_up(cameras, known[kind[0]].camera.width_px, known[kind[0]].camera.height_px, roll(2));
        for (int32_t c = 1; c < cameras; c++)
            lay_out_levels(c, known[kind[c]].camera.width_px, known[kind[c]].camera.height_px, 0);
        step.tuning.detect_levels = between(1, VFRONT_SCALES);
        step.tuning.select_share_percent = percent[round % 5];
        step.tuning.select_points = roll(6) ? between(1, roll(4) ? vf_min(300, VFRONT_KEYPOINTS) : VFRONT_KEYPOINTS)
                                            : 0;
        step.tuning.describe = roll(VFRONT_DESCRIPTORS + 1);
        share_out();
        for (int32_t c = 0; c < cameras; c++) {
            const struct vf_lens lens = lens_of(&known[kind[c]].camera);
            write_grid(c, &lens);
            random_spots(c);
        }
        memcpy(&expected, &memory, sizeof memory);
        vf_bearing_host(&step);
        for (int32_t c = 0; c < cameras; c++) expect_camera(c, kind[c]);
        for (int32_t i = 0; i < VFRONT_KEYPOINTS; i++) expect_forgotten(i);
        same_arena("points");
    }
    for (int kind = 0; kind < KINDS; kind++)
        assert_true(known[kind].bound_px == 0.0 || random_figures[kind].worst_px <= known[kind].bound_px);
}

/** Only every step-th point from the first on is forgotten. */
static void forgotten_points(void **state)
{
    (void)state;
    shake(5);
    set_up(1, 64, 64, 0);
    for (int n = 0; n < 200; n++) {
        const int32_t stride = between(1, 300), first = roll(2) ? roll(stride) : roll(VFRONT_KEYPOINTS + 5);
        scribble(&memory.stereo, sizeof memory.stereo);
        scribble(&memory.match, sizeof memory.match);
        memcpy(&expected, &memory, sizeof memory);
        for (int32_t i = first; i < VFRONT_KEYPOINTS; i += stride) expect_forgotten(i);
        vf_bearing_forget(&step, first, stride);
        same_arena("forgotten");
    }
}

/* ---- what a lens does not see ------------------------------------------------------------------------------------ */

/** Whether any place that rounds to a pixel lacks a bearing. Places before the first pixel and behind the last are not used. */
static int is_blind(const vfront_camera_t *c, const struct vf_lens *lens, int32_t x, int32_t y)
{
    const double h = 0.4999;
    for (int k = 0; k < 9; k++) {
        const double px = fmin(fmax(x + (k % 3 - 1) * h, 0.0), c->width_px - 1.0);
        const double py = fmin(fmax(y + (k / 3 - 1) * h, 0.0), c->height_px - 1.0);
        if (!holds_around(lens, px, py)) return 1;
    }
    return 0;
}

/* Of pictures up to 256 px on a side. */
static uint8_t blind_mask[256 * 256];

/** A mask of a camera, 255 where it sees, and how many pixels it does not. */
static uint32_t look_at_all(const vfront_camera_t *c, const struct vf_lens *lens)
{
    uint32_t count = 0;
    for (int32_t y = 0; y < c->height_px; y++)
        for (int32_t x = 0; x < c->width_px; x++) {
            const int blind = is_blind(c, lens, x, y);
            blind_mask[y * c->width_px + x] = blind ? 0 : 255;
            count += (uint32_t)blind;
        }
    return count;
}

/** Mask and count against a look at every pixel. What is masked already stays masked, and what lies between rows stays as it is. */
static void blind_pixels(void **state)
{
    static uint8_t is[256 * 300], should[256 * 300];
    (void)state;
    shake(6);
    for (int kind = 0; kind < KINDS; kind++) {
        const vfront_camera_t *c = &known[kind].camera;
        const struct vf_lens lens = lens_of(c);
        const size_t pitch = (size_t)c->width_px + (size_t)roll(40);
        if (c->width_px > 256 || c->height_px > 256 || !fits(c->width_px, c->height_px, 0)) continue;
        const uint32_t count = look_at_all(c, &lens);
        print_message("         %-24s %u of %d pixels blind\n", known[kind].name, count, c->width_px * c->height_px);
        assert_true((count > 500) == (kind >= CORNERS));
        scribble(is, sizeof is);
        memcpy(should, is, sizeof is);
        for (int32_t y = 0; y < c->height_px; y++)
            for (int32_t x = 0; x < c->width_px; x++)
                should[(size_t)y * pitch + (size_t)x] &= blind_mask[y * c->width_px + x];
        assert_int_equal(vf_bearing_blind(NULL, 0, c->width_px, c->height_px, &lens), count);
        assert_int_equal(vf_bearing_blind(is, pitch, c->width_px, c->height_px, &lens), count);
        for (size_t i = 0; i < sizeof is; i++)
            REQUIRE(is[i] == should[i], "%s: %zu,%zu is %d, should be %d", known[kind].name, i % pitch, i / pitch,
                    is[i], should[i]);
    }
}

/* ---- through the public interface -------------------------------------------------------------------------------- */

#if VFRONT_HOST
static vfront_t front;
static uint8_t picture[2][256 * 256];

/** Noise that moves by (dx, dy) px a frame, smoothed so that it can be tracked. */
static void draw(uint8_t *grey, int32_t width, int32_t height, int32_t dx, int32_t dy)
{
    for (int32_t y = 0; y < height; y++)
        for (int32_t x = 0; x < width; x++) {
            const double u = x + dx, v = y + dy;
            const double wave = sin(0.61 * u + 0.2 * v) + sin(0.5 * v - 0.31 * u) +
                                sin(0.23 * u + 0.37 * v + 2.0 * sin(0.05 * u)) + sin(0.9 * u) * sin(0.8 * v);
            grey[y * width + x] = (uint8_t)(128.0 + 30.0 * wave);
        }
}

static const vfront_result_t *shoot(const vfront_rig_t *rig, int frame)
{
    static vfront_frame_t f;
    const vfront_result_t *r = NULL;
    memset(&f, 0, sizeof f);
    f.t_ns = 1000000000u + 33000000u * (uint64_t)frame;
    for (int32_t c = 0; c < rig->cameras; c++) {
        const vfront_camera_t *camera = &rig->camera[c];
        draw(picture[c], camera->width_px, camera->height_px, 3 * frame, c - 2 * frame);
        f.picture[c].data = picture[c];
        f.picture[c].width_px = camera->width_px;
        f.picture[c].height_px = camera->height_px;
        f.picture[c].pitch_bytes = (uint32_t)camera->width_px;
    }
    REQUIRE(vfront_step(&front, &f, &r) == VFRONT_OK, "%s", vfront_detail(&front));
    return r;
}

/** A place with a bearing: as its lens has it, and not on a pixel that counts as masked. Returns whether it would be blind. */
static int check_seen(const vfront_camera_t *c, const struct vf_lens *lens, float x, float y, const float bearing[3])
{
    const int32_t px = (int32_t)floor((double)x + 0.5), py = (int32_t)floor((double)y + 0.5),
                  blind = is_blind(c, lens, px, py);
    struct figures f = {0.0, 0.0, 0, 0, 0};
    if (c->fx_px == 0.0) {
        assert_true(bearing[0] == 0.0f && bearing[1] == 0.0f && bearing[2] == 0.0f);
        return blind;
    }
    REQUIRE(!blind, "a point at %.3f %.3f, where the lens does not see", (double)x, (double)y);
    compare_bearing("result", lens, lens->fx_px, (double)x, (double)y, bearing, &f);
    REQUIRE(f.blind == 0 && f.worst_px < 0.5, "at %.3f %.3f: %.4f px off", (double)x, (double)y, f.worst_px);
    return 0;
}

/** How many points of five frames lie where a lens `sees` nothing; when the rig knows of that, there must be none. */
static int points_on_blind(const vfront_rig_t *rig, const vfront_camera_t *sees)
{
    vfront_tuning_t t;
    int blind = 0, points = 0, tracked = 0;
    vfront_tuning_default(&t);
    t.detect_border_px = 3;
    t.describe_margin_px = 3;
    t.cell_width_px = t.cell_height_px = 8;
    t.track_distance_px = 5;
    REQUIRE(vfront_init(&front, rig, &t, VFRONT_PORT_HOST) == VFRONT_OK, "%s", vfront_detail(&front));
    for (int frame = 0; frame < 5; frame++) {
        const vfront_result_t *r = shoot(rig, frame);
        for (int32_t c = 0; c < rig->cameras; c++) {
            const struct vf_lens lens = lens_of(&sees[c]);
            for (uint32_t i = 0; i < r->tracks_count && c == 0; i++) {
                vfront_camera_t camera = sees[0];
                if (rig->camera[0].fx_px == 0.0) camera.fx_px = 0.0;
                blind += check_seen(&camera, &lens, r->tracks[i].x_px, r->tracks[i].y_px, r->tracks[i].bearing);
                tracked += r->tracks[i].age > 0;
            }
            for (uint32_t i = 0; i < r->keypoints_count[c]; i++) {
                const vfront_keypoint_t *k = &r->keypoints[c][i];
                vfront_camera_t camera = sees[c];
                if (rig->camera[c].fx_px == 0.0) camera.fx_px = 0.0;
                blind += check_seen(&camera, &lens, k->x_px, k->y_px, k->bearing);
                points++;
            }
        }
    }
    REQUIRE(points > 100 && tracked > 20, "%d points, %d tracked", points, tracked);
    return blind;
}

/** Neither key points nor tracks where a lens has no bearing, and vfront_info() says how many pixels these are. With cameras that are not
 *  calibrated there are some, or the test says nothing. */
static void nothing_on_blind_pixels(void **state)
{
    static const int pair[][2] = {{CORNERS, ROUND}, {ROUND, CORNERS}, {OFF_CENTRE, EUROC}, {CORNERS, OFF_CENTRE}};
    (void)state;
    for (size_t n = 0; n < sizeof pair / sizeof *pair; n++) {
        vfront_rig_t rig;
        vfront_camera_t sees[2];
        vfront_info_t info;
        int in_range = 1;
        memset(&rig, 0, sizeof rig);
        rig.cameras = pair[n][1] == EUROC ? 1 : VFRONT_CAMERAS;
        for (int32_t c = 0; c < rig.cameras; c++) {
            rig.camera[c] = sees[c] = known[pair[n][c]].camera;
            in_range &= fits(sees[c].width_px, sees[c].height_px, 0);
        }
        if (!in_range) skip();
        assert_int_equal(points_on_blind(&rig, sees), 0);
        assert_int_equal(vfront_info(&front, &info), VFRONT_OK);
        for (int32_t c = 0; c < rig.cameras; c++) {
            const struct vf_lens lens = lens_of(&sees[c]);
            if (sees[c].width_px <= 256) assert_int_equal(info.blind_px[c], look_at_all(&sees[c], &lens));
            rig.camera[c].fx_px = rig.camera[c].fy_px = 0.0;
            memset(rig.camera[c].distortion, 0, sizeof rig.camera[c].distortion);
            rig.camera[c].lens = VFRONT_LENS_RADTAN;
        }
        vfront_shutdown(&front);
        const int blind = points_on_blind(&rig, sees);
        REQUIRE(blind > 10, "rig %zu: %d points where nothing is seen", n, blind);
        assert_int_equal(vfront_info(&front, &info), VFRONT_OK);
        for (int32_t c = 0; c < rig.cameras; c++) assert_int_equal(info.blind_px[c], 0);
        vfront_shutdown(&front);
    }
}

/** The rig's mask stays beside what the lens does not see: nothing in its left half. */
static void mask_beside_blind_pixels(void **state)
{
    static uint8_t mask[256 * 256];
    (void)state;
    vfront_rig_t rig;
    memset(&rig, 0, sizeof rig);
    rig.cameras = 1;
    rig.camera[0] = known[CORNERS].camera;
    for (int32_t i = 0; i < 256 * 256; i++) mask[i] = i % 256 >= 100;
    rig.camera[0].mask = mask;
    rig.camera[0].mask_pitch_bytes = 256;
    if (!fits(203, 151, 0)) skip();
    assert_int_equal(points_on_blind(&rig, &known[CORNERS].camera), 0);
    const vfront_result_t *r = shoot(&rig, 9);
    assert_true(r->keypoints_count[0] > 10);
    for (uint32_t i = 0; i < r->keypoints_count[0]; i++) assert_true(r->keypoints[0][i].x_px >= 99.5f);
    for (uint32_t i = 0; i < r->tracks_count; i++) assert_true(r->tracks[i].x_px >= 99.5f);
    vfront_shutdown(&front);
}
#endif

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(nodes_of_the_grid),
        cmocka_unit_test(room_for_the_grid),
        cmocka_unit_test(places_of_all_lenses),
        cmocka_unit_test(known_places),
        cmocka_unit_test(weights_are_those_of_a_cubic),
        cmocka_unit_test(random_points),
        cmocka_unit_test(forgotten_points),
        cmocka_unit_test(blind_pixels),
#if VFRONT_HOST
        cmocka_unit_test(nothing_on_blind_pixels),
        cmocka_unit_test(mask_beside_blind_pixels),
#endif
    };
    return cmocka_run_group_tests_name("bearing", test, NULL, NULL);
}
