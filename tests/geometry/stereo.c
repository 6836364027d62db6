/* SPDX-License-Identifier: MIT */
/* stereo: search for matches against every pair of points; depth and its standard deviation against triangulation and
 * its derivative in double precision; depths through the public interface. stereo_position.c tests subpixel
 * positions. */
#include "stereo_oracle.h"

#if VFRONT_STEREO

/* ---- the search -------------------------------------------------------------------------------------------------- */

static void flip_bits(vfront_descriptor_t *d, int32_t bits)
{
    for (; bits > 0; bits--) {
        const int32_t bit = roll(256);
        d->word[bit / 32] ^= 1u << bit % 32;
    }
}

/** Puts point j of camera 1 near the epipolar line of point i, mostly on its level, at any depth, with a similar
 *  descriptor. */
static int put_match(uint32_t i, uint32_t j, int32_t level)
{
    double px[2];
    if (abs(points(0)[i].level - level) > (roll(8) ? 0 : roll(3))) return 0;
    if (!project_to_camera1(true_point[0][i].bearing, pow(10.0, real(-0.5, 2.0)), px)) return 0;
    const double apart = real(0.0, 2.5) * size_of(level);
    if (!put_point(1, j, level, px[0] + real(-apart, apart), px[1] + real(-apart, apart), 0)) return 0;
    bits_of(1)[j] = bits_of(0)[i];
    flip_bits(&bits_of(1)[j], roll(3) ? roll(20) : roll(150));
    angle_of(1)[j] = (float)remainder((double)angle_of(0)[i] + (roll(4) ? real(-0.3, 0.3) : real(-4, 4)), 6.28318530);
    return 1;
}

static void random_points(uint32_t left, uint32_t right, int alike)
{
    static vfront_descriptor_t like;
    const int32_t *level = rising_levels(left);
    scribble(&like, sizeof like);
    for (uint32_t i = 0; i < left; i++) {
        put_anywhere(0, i, level[i]);
        scribble(&bits_of(0)[i], sizeof like);
        if (alike) bits_of(0)[i] = like;
        angle_of(0)[i] = (float)real(-3.14159, 3.14159);
    }
    level = rising_levels(right);
    for (uint32_t j = 0; j < right; j++) {
        int tries = 0;
        put_anywhere(1, j, level[j]);
        while (left && tries++ < 1000 && !put_match((uint32_t)roll((int32_t)left), j, level[j])) continue;
        if (alike == 2) bits_of(1)[j] = like;
    }
    *count_of(0) = left;
    *count_of(1) = right;
}

static void random_tuning(void)
{
    vfront_tuning_t *t = &step.tuning;
    t->stereo_band_px = roll(4) ? between(1, 3) : between(1, 64);
    t->stereo_disparity_px = roll(4) ? between(40, 200) : roll(2) ? between(1, 5) : between(1, 4096);
    t->stereo_cut_percent = roll(3) ? between(80, 300) : 0;
    t->stereo_distance = roll(4) ? between(20, 120) : roll(257);
    t->stereo_levels = roll(3) ? roll(2) : roll(8);
    t->match_distance = roll(257); /* tuning of another stage */
    t->match_ratio_percent = roll(4) ? between(60, 100) : between(1, 100);
    t->match_turn_deg = roll(4) ? between(10, 60) : between(1, 180);
    t->match_levels = roll(8);
}

static int compare_search(const char *what)
{
    int mutual = 0;
    for (uint32_t i = 0; i < *count_of(0); i++) {
        const int32_t best = best_match_of_left(i);
        const uint32_t should = best < 0 ? UINT32_MAX : hamming[i][best] << 16 | (uint32_t)best;
        REQUIRE(memory.stereo.best[i] == should, "%s: point %u found %x, should be %x", what, i, memory.stereo.best[i],
                should);
        mutual += best >= 0 && best_match_of_right((uint32_t)best) == (int32_t)i;
        if (best < 0 || best_match_of_right((uint32_t)best) != (int32_t)i)
            assert_int_equal(memory.stereo.cost[i], UINT32_MAX);
    }
    for (uint32_t j = 0; j < *count_of(1); j++) {
        const int32_t best = best_match_of_right(j);
        const uint32_t should = best < 0 ? UINT32_MAX : hamming[best][j] << 16 | (uint32_t)best;
        REQUIRE(memory.stereo.back[step.parity][j] == should, "%s: point %u was found by %x, should be %x", what, j,
                memory.stereo.back[step.parity][j], should);
    }
    return mutual;
}

/** Random points of all rigs and tunings: best matches in both directions against every pair. Includes empty lists, and
 *  descriptors alike or different. */
static void search_of_all_rigs(void **state)
{
    (void)state;
    shake(1);
    scribble_arena();
    for (int kind = 0; kind < RIGS; kind++) {
        int mutual = 0, moved = 0, left = 0, depths = 0;
        for (int round = 0; round < 14; round++) {
            const int alike = round == 12 ? 2 : round == 13;
            if (!set_up_rig((enum kind)kind)) skip();
            random_tuning();
            if (round < 4)
                step.tuning.stereo_band_px = 2, step.tuning.stereo_disparity_px = 128,
                step.tuning.match_ratio_percent = 90;
            random_points(round == 5 ? 0 : (uint32_t)roll(POINTS), round == 6 ? 0 : (uint32_t)roll(POINTS), alike);
            moved += fill_pairs();
            run_and_check(rig_name[kind]);
            mutual += compare_search(rig_name[kind]);
            left += (int)*count_of(0);
            depths += (int)memory.stereo.count;
        }
        print_message("         %-10s %d points, %d partners, %d depths in noise, %d points moved away from bounds\n",
                      rig_name[kind], left, mutual, depths, moved);
        assert_true(mutual > 60 || POINTS < 200);
    }
}

/** Ratio test by hand: the best candidate differs by 128 bits; another one at another position differs by more, or does
 *  not exist. */
static void known_ratios(void **state)
{
    static const struct {
        int32_t percent, other, found; /* other: Hamming distance of the second candidate; -1: none */
    } variant[] = {{50, -1, 1},  {49, -1, 0},  {50, 256, 1},  {50, 255, 0}, {51, 251, 1},
                   {51, 250, 0}, {99, 129, 0}, {100, 129, 1}, {100, 128, 1}};
    (void)state;
    shake(18);
    for (size_t i = 0; i < sizeof variant / sizeof *variant; i++) {
        if (!set_up_rig(RECTIFIED)) skip();
        step.tuning.stereo_distance = 256;
        step.tuning.match_ratio_percent = variant[i].percent;
        assert_true(put_point(0, 0, 0, 150, 100, 0) && put_point(1, 0, 0, 140, 100, 0) &&
                    put_point(1, 1, 0, 130, 100, 0));
        memset(bits_of(0), 0, sizeof(vfront_descriptor_t));
        memset(bits_of(1), 0, 2 * sizeof(vfront_descriptor_t));
        for (int32_t bit = 0; bit < 256; bit++) {
            bits_of(1)[0].word[bit / 32] |= (bit < 128 ? 1u : 0u) << bit % 32;
            bits_of(1)[1].word[bit / 32] |= (bit < variant[i].other ? 1u : 0u) << bit % 32;
        }
        angle_of(0)[0] = angle_of(1)[0] = angle_of(1)[1] = 0.0f;
        *count_of(0) = 1;
        *count_of(1) = variant[i].other < 0 ? 1 : 2;
        run_and_check("ratio");
        REQUIRE((memory.stereo.best[0] == 128 << 16) == variant[i].found, "line %zu: found %x", i,
                memory.stereo.best[0]);
    }
}

/* ---- distances of matches ---------------------------------------------------------------------------------------- */

/** Distance of a match of a rectified pair by hand: from its row [px], and whether it lies beyond infinity. */
static void distances_by_hand(void **state)
{
    static const struct {
        int32_t x, y;
        int px, behind;
    } variant[] = {{140, 100, 0, 0}, {140, 101, 1, 0}, {140, 98, -2, 0}, {150, 101, 1, 0},
                   {151, 100, 0, 1}, {151, 99, -1, 1}, {149, 102, 2, 0}};
    int up = 0; /* 1: distances downwards are positive, -1: negative */
    (void)state;
    shake(31);
    for (size_t i = 0; i < sizeof variant / sizeof *variant; i++) {
        if (!set_up_rig(RECTIFIED)) skip();
        step.tuning.stereo_distance = 256;
        step.tuning.stereo_band_px = 3;
        assert_true(put_point(0, 0, 0, 150, 100, 0) && put_point(1, 0, 0, variant[i].x, variant[i].y, 0));
        memset(bits_of(0), 0, sizeof(vfront_descriptor_t));
        memset(bits_of(1), 0, sizeof(vfront_descriptor_t));
        angle_of(0)[0] = angle_of(1)[0] = 0.0f;
        *count_of(0) = *count_of(1) = 1;
        run_and_check("distance");
        const struct vf_pair_distance is = memory.stereo.distance[0];
        const double half = step.geometry.scale[1][0].width / 2.0, middle = step.geometry.scale[1][0].height / 2.0;
        REQUIRE(abs(abs(is.px) - abs(variant[i].px) * 32) <= 1 && is.behind == variant[i].behind, "line %zu: %d", i,
                is.px);
        assert_true(is.scale == 32 && fabs(is.x / 32.0 - (variant[i].x / half - 1)) < 0.02 &&
                    fabs(is.y / 32.0 - (variant[i].y - middle) / half) < 0.02);
        if (!variant[i].px) continue;
        const int sign = is.px * variant[i].px > 0 ? 1 : -1;
        assert_true(!up || sign == up);
        up = sign;
    }
}

/** No output is written if tuning or rig disable the stage. */
static void nothing_to_do(void **state)
{
    (void)state;
    shake(2);
    for (int why = 0; why < 4; why++) {
        if (!set_up_rig(RECTIFIED)) skip();
        random_points(50, 50, 0);
        if (why == 0) step.tuning.stereo = 0;
        if (why == 1) step.tuning.describe = 0;
        if (why == 2) step.tuning.select_points = 0;
        if (why == 3) step.geometry.pair.placed = 0;
        memcpy(&expected, &memory, sizeof memory);
        RUN(stereo);
        same_arena("nothing to do");
        assert_false(step.geometry.active & VF_BIT(stereo)); /* else the result would list depths */
    }
}

/* ---- depth ------------------------------------------------------------------------------------------------------- */

/** Range at which a ray of camera 0 meets the plane spanned by the ray of camera 1 and the normal of the epipolar
 *  plane. */
static double triangulated(const double first[3], const double second[3])
{
    double far[3], normal[3], a[3], b[3];
    rotate(rig.R, first, far);
    cross(far, rig.t, normal);
    cross(rig.t, second, a);
    cross(far, second, b);
    return -dot(a, normal) / dot(b, normal);
}

static double range_at(const double first[3], double x, double y)
{
    const double px[2] = {x, y};
    double second[3];
    return vf_lens_bearing(&rig.lens[1], px, second) ? triangulated(first, second) : NAN;
}

struct depth_figures {
    double worst[3], sigma, off_px;
    int points, near[3];
};

/** Random ray of camera 0, range and position in camera 1, at least 20 px inside both images. Returns the disparity
 *  [px]; 0: outside. */
static double random_visible_point(double first[3], double *range, double px[2])
{
    double unused[3];
    const double at[2] = {real(20, rig.camera[0].width_px - 20), real(20, rig.camera[0].height_px - 20)};
    *range = pow(10.0, real(-0.5, 1.8));
    if (!vf_lens_bearing(&rig.lens[0], at, first) || !project_to_camera1(first, *range, px)) return 0.0;
    if (px[0] < 20 || px[1] < 20 || px[0] > rig.camera[1].width_px - 20 || px[1] > rig.camera[1].height_px - 20)
        return 0.0;
    if (!vf_lens_bearing(&rig.lens[1], px, unused)) return 0.0;
    return step.geometry.focal_px[1] * tan(epipolar_angles_of(first, unused).angle);
}

/** Point of camera 0 with its linearised epipolar line. */
struct line_case {
    struct vf_point a;
    struct vf_epipolar_plane e;
    struct vf_epipolar_line line;
};

/** Linearised epipolar line at a position of camera 1. Returns 0 if there is none. */
static int find_line(const struct vf_epipolar_plane *e, struct vf_stereo_position from, struct vf_epipolar_line *line)
{
    float at[3][3];
    for (int k = 0; k < 3; k++)
        vf_bearing_at(memory.bearing.node[1], step.geometry.nodes_x[1], from.x_q16 + (k == 1 ? 65536 : 0),
                      from.y_q16 + (k == 2 ? 65536 : 0), at[k]);
    return vf_stereo_line(e, from, at[0], at[1], at[2], line);
}

static struct vf_stereo_position position_at(double x, double y)
{
    const struct vf_stereo_position position = {(int32_t)floor(x * 65536.0 + 0.5), (int32_t)floor(y * 65536.0 + 0.5)};
    return position;
}

/** Makes the line case of a ray, linearised up to 2 px away from its position in camera 1. */
static void make_line_case(struct line_case *c, const double first[3], const double px[2])
{
    memset(c, 0, sizeof *c);
    c->a.level = roll(step.geometry.scales);
    c->a.step = (float)size_of(c->a.level);
    for (int k = 0; k < 3; k++) c->a.bearing[k] = (float)first[k];
    c->e = vf_stereo_epipolar(&step.geometry.pair, c->a.bearing);
    assert_true(find_line(&c->e, position_at(px[0] + real(-2, 2), px[1] + real(-2, 2)), &c->line));
}

static void note_depth(struct depth_figures *f, double disparity, double is, double should)
{
    static const double least[3] = {10.0, 3.0, 1.0};
    for (int k = 0; k < 3; k++) {
        if (disparity < least[k]) continue;
        f->near[k]++;
        f->worst[k] = fmax(f->worst[k], fabs(is - should) / fabs(should));
    }
    f->points++;
}

/** Standard deviation of a depth from its numerical derivative along the line. */
static double sigma_of(const double first[3], const double px[2], const double along[2], double sigma_px)
{
    const double h = 0.01, more = range_at(first, px[0] + h * along[0], px[1] + h * along[1]);
    const double less = range_at(first, px[0] - h * along[0], px[1] - h * along[1]);
    REQUIRE(more < less, "the line runs away from nearer places: %g %g", less, more);
    return (less - more) / (2 * h) * fabs(first[2]) * sigma_px;
}

/** Standard deviation of a disparity [px]: root of the sum of three independent variances. */
static double deviation_px(double size, double fit_px)
{
    const vfront_tuning_t *t = &step.tuning;
    return hypot(hypot(0.1 * sqrt(size), 4.0 * fit_px * size), t->rig_disparity_mpx / 1000.0);
}

/** Compares the depth at the exact position of a random point. */
static void check_known_depth(struct depth_figures *f)
{
    double first[3], px[2], range;
    const double disparity = random_visible_point(first, &range, px);
    if (disparity < 1.0) return;
    struct line_case c;
    vfront_depth_t is = {0};
    make_line_case(&c, first, px);
    const double along[2] = {(double)c.line.direction_x, (double)c.line.direction_y};
    const double to[2] = {px[0] - c.line.start.x_q16 / 65536.0, px[1] - c.line.start.y_q16 / 65536.0};
    const double shift = to[0] * along[0] + to[1] * along[1], off = fabs(to[0] * along[1] - to[1] * along[0]);
    assert_true(fabs(hypot(along[0], along[1]) - 1.0) < 1e-6);
    f->off_px = fmax(f->off_px, off);
    const struct vf_stereo_position position = vf_stereo_move(&c.line, c.line.start, (float)shift);
    const double fit_px = 0.02 * (f->points % 16);
    REQUIRE(
        vf_stereo_depth(VIEW(stereo), memory.bearing.node[1], &c.e, &c.a, &c.line, 0.0f, position, (float)fit_px, &is),
        "no depth at %g m", range);
    REQUIRE(hypot((double)is.x_px - px[0], (double)is.y_px - px[1]) < off + 1e-3, "found at %f %f", (double)is.x_px,
            (double)is.y_px);
    note_depth(f, disparity, (double)is.depth_m, range * first[2]);
    const double sigma = sigma_of(first, px, along, deviation_px(size_of(c.a.level), fit_px));
    if (disparity >= 3.0) f->sigma = fmax(f->sigma, fabs((double)is.sigma_m - sigma) / sigma);
}

/** Depths and standard deviations at exact positions, for all rigs. */
static void known_depths(void **state)
{
    (void)state;
    shake(3);
    print_message("%-10s %8s %36s %12s %12s\n", "rig", "points", "depth, from 10, 3, 1 px of disparity", "sigma",
                  "off line px");
    for (int kind = 0; kind < RIGS; kind++) {
        struct depth_figures f;
        memset(&f, 0, sizeof f);
        for (int round = 0; round < 8; round++) {
            if (!set_up_rig((enum kind)kind)) skip();
            step.tuning.rig_disparity_mpx = between(1, 3000);
            for (int n = 0; n < 1500; n++) check_known_depth(&f);
        }
        print_message("%-10s %8d %14.1e %10.1e %10.1e %12.1e %12.1e\n", rig_name[kind], f.points, f.worst[0],
                      f.worst[1], f.worst[2], f.sigma, f.off_px);
        assert_true(f.points > 1000 && f.near[0] > 300);
        assert_true(f.worst[0] <= 1e-3 && f.worst[2] < 1e-2);
        assert_true(f.sigma < (kind == FORWARD ? 0.2 : kind == FISHEYE ? 0.1 : 0.03) && f.off_px < 0.1);
    }
}

/** Standard deviation from a patch, against its definition on random grey levels. */
static void fits_of_patches(void **state)
{
    double worst = 0.0;
    (void)state;
    shake(31);
    for (int tries = 0; tries < 2000; tries++) {
        const int steep = between(0, 400), noisy = between(0, 800);
        struct vf_stereo_sums half[2];
        double gradient[2][55], off[121], mean = 0.0, apart = 0.0, square = 0.0;
        memset(half, 0, sizeof half);
        for (int k = 0; k < 121; k++) mean += (off[k] = between(-noisy, noisy)) / 121.0;
        for (int k = 0; k < 121; k++) apart += fabs(off[k] - mean) / 16.0 / 121.0;
        for (int h = 0; h < 2; h++) {
            double middle = 0.0;
            for (int k = 0; k < 55; k++) {
                const int32_t rise = between(-steep, steep);
                vf_stereo_accumulate(&half[h], 2000 + 4 * rise, 2000, between(-noisy, noisy));
                middle += (gradient[h][k] = rise / 8.0) / 55.0;
            }
            for (int k = 0; k < 55; k++) square += pow(gradient[h][k] - middle, 2);
        }
        const double should = fmin(1.5, sqrt(acos(-1.0) / 2.0) * apart / sqrt(fmax(square, 1.0 / 64.0))),
                     is = (double)vf_stereo_fit_px((uint32_t)lround(apart * 16.0 * 121.0 * 121.0), half);
        worst = fmax(worst, fabs(is - should));
    }
    print_message("deviation that a window says: off by %.2g px at most\n", worst);
    assert_true(worst < 1e-5);
}

/** Depths by hand: pinholes of 300 px focal length, 0.1 m apart, and the bound of 0.25 px. */
static void depths_by_hand(void **state)
{
    static const double centre[3] = {0.1, 0, 0}, axis[3] = {0, 0, 1};
    (void)state;
    shake(4);
    if (!fits(321, 241, 0)) skip();
    set_camera(0, VFRONT_LENS_RADTAN, 321, 241, 300);
    set_camera(1, VFRONT_LENS_RADTAN, 321, 241, 300);
    location(axis, 0, centre);
    finish_rig();
    step.tuning.rig_disparity_mpx = 100;
    for (int32_t disparity_q3 = 1; disparity_q3 <= 240; disparity_q3++) {
        const double disparity = disparity_q3 / 8.0;
        struct vf_epipolar_line line;
        vfront_depth_t is;
        assert_true(put_point(0, 0, 0, 160, 120, 0));
        const struct vf_epipolar_plane e = vf_stereo_epipolar(&step.geometry.pair, points(0)->bearing);
        assert_true(find_line(&e, position_at(150.25, 120.05), &line)); /* start off the line */
        assert_true(fabs((double)line.direction_x + 1.0) < 1e-6);
        assert_true(abs(line.start.x_q16 - 9846784) < 66 && abs(line.start.y_q16 - (120 << 16)) < 66);
        const struct vf_stereo_position position = vf_stereo_move(&line, line.start, (float)(disparity - 9.75));
        const int there = vf_stereo_depth(VIEW(stereo), memory.bearing.node[1], &e, points(0), &line, 0.0f, position,
                                          0.05f, &is);
        if (disparity_q3 != 2) assert_int_equal(there, disparity > 0.25);
        if (!there) continue;
        const double depth = 30.0 / disparity,
                     sigma = 30.0 / (disparity * disparity) * sqrt(0.1 * 0.1 + 0.2 * 0.2 + 0.1 * 0.1);
        REQUIRE(fabs((double)is.depth_m - depth) < 1e-4 * depth, "%g px: %g m", disparity, (double)is.depth_m);
        REQUIRE(fabs((double)is.sigma_m - sigma) < 0.02 * sigma, "%g px: sigma %g m, should be %g", disparity,
                (double)is.sigma_m, sigma);
        assert_true(fabs((double)is.x_px - 160.0 + disparity) < 1e-3 && fabs((double)is.y_px - 120.0) < 1e-3);
    }
}

/** Puts two points of one level at random on a row of wide pinholes. Returns their disparity [px]; NAN: outside the
 *  image, or nearly behind. */
static double pair_on_a_row(int32_t level)
{
    const double right = 320.0 + size_of(level);
    if (!put_point(0, 0, level, real(0, right), 120.0, 0) || !put_point(1, 0, level, real(0, right), 120.0, 0))
        return NAN;
    const struct epipolar_angles g = epipolar_angles_of(true_point[0][0].bearing, true_point[1][0].bearing);
    scribble(bits_of(0), sizeof(vfront_descriptor_t));
    *bits_of(1) = *bits_of(0);
    *angle_of(0) = *angle_of(1) = 0.0f;
    *count_of(0) = *count_of(1) = 1;
    return fabs(g.angle) < 1.4 ? rig.camera[1].fx_px * tan(g.angle) : NAN;
}

/** Runs the search with bounds near a disparity. Returns 1 if the two points match. */
static int found_within_bounds(double disparity, int32_t level)
{
    vfront_tuning_t *t = &step.tuning;
    t->stereo_band_px = t->stereo_disparity_px = 64;
    if (disparity > 0) t->stereo_disparity_px = vf_clamp((int32_t)(disparity * real(0.9, 1.1)), 1, 4096);
    if (disparity < 0) t->stereo_band_px = vf_clamp((int32_t)(-disparity / size_of(level) * real(0.9, 1.1)), 8, 64);
    run();
    const double most = t->stereo_disparity_px, least = -t->stereo_band_px * size_of(level);
    const int is = memory.stereo.best[0] == 0, should = disparity <= most && disparity >= least;
    const int doubtful = fabs(disparity - most) < 1e-3 || fabs(disparity - least) < 1e-3;
    REQUIRE(doubtful || is == should, "%g px of %g..%g: found %x", disparity, least, most, memory.stereo.best[0]);
    return is;
}

/** Triangulates the point of camera 0 with a position near the least disparity of a depth, 0.25 px. Returns 1 if there
 *  is a depth. */
static int depth_from_enough(void)
{
    const double disparity = real(0.05, 0.45), focal = rig.camera[1].fx_px,
                 angle = atan((true_point[0][0].x - rig.camera[0].cx_px) / rig.camera[0].fx_px) -
                         atan(disparity / focal);
    const struct vf_epipolar_plane e = vf_stereo_epipolar(&step.geometry.pair, points(0)->bearing);
    const struct vf_stereo_position position = position_at(rig.camera[1].cx_px + focal * tan(angle),
                                                           true_point[1][0].y);
    struct vf_epipolar_line line;
    vfront_depth_t depth;
    assert_true(find_line(&e, position, &line));
    const int is = vf_stereo_depth(VIEW(stereo), memory.bearing.node[1], &e, points(0), &line, 0.0f, position, 0.0f,
                                   &depth);
    REQUIRE(fabs(disparity - 0.25) < 0.01 || is == (disparity >= 0.25), "%g px: %d", disparity, is);
    return is;
}

/** Bounds of the disparity apply to the tangent of the angle, which matters at large angles to the direction at
 *  infinity. Tested in the search at both ends, and for the depth. */
static void disparity_bounds(void **state)
{
    static const double centre[3] = {0.5, 0, 0}, axis[3] = {0, 0, 1};
    int count[3][2] = {{0, 0}, {0, 0}, {0, 0}}; /* [near bound, far bound, depth][no, yes] */
    (void)state;
    shake(19);
    if (!fits(321, 241, 0)) skip();
    for (int32_t c = 0; c < 2; c++) set_camera(c, VFRONT_LENS_RADTAN, 321, 241, 80);
    location(axis, 0, centre);
    finish_rig();
    for (int n = 0; n < 6000; n++) {
        const int32_t level = roll(step.geometry.scales);
        const double disparity = pair_on_a_row(level);
        if (isnan(disparity)) continue;
        count[disparity < 0][found_within_bounds(disparity, level)]++;
        if (disparity > 1.0) count[2][depth_from_enough()]++;
    }
    for (int k = 0; k < 3; k++)
        REQUIRE(count[k][0] > 100 && count[k][1] > 100, "%d: %d, %d", k, count[k][0], count[k][1]);
}

/* ---- through the public interface -------------------------------------------------------------------------------- */

#if VFRONT_HOST
static vfront_t front;

/** Runs the front end on one drawn frame, with extrinsics in the user's form. */
static const vfront_result_t *shoot(const vfront_tuning_t *t)
{
    vfront_rig_t r;
    vfront_frame_t f;
    const vfront_result_t *out = NULL;
    vfront_shutdown(&front); /* left over from a failed test */
    memset(&r, 0, sizeof r);
    memset(&f, 0, sizeof f);
    r.cameras = 2;
    f.t_ns = 1;
    for (int c = 0; c < 2; c++) {
        r.camera[c] = rig.camera[c];
        f.picture[c].data = memory.ingest.picture[step.parity][c];
        f.picture[c].width_px = r.camera[c].width_px;
        f.picture[c].height_px = r.camera[c].height_px;
        f.picture[c].pitch_bytes = (uint32_t)step.geometry.level[c][0].pitch;
    }
    memcpy(r.camera[1].R_cam_imu, rig.R, sizeof rig.R);
    memcpy(r.camera[1].t_cam_imu_m, rig.t, sizeof rig.t);
    REQUIRE(vfront_init(&front, &r, t, VFRONT_PORT_HOST) == VFRONT_OK, "%s", vfront_detail(&front));
    REQUIRE(vfront_step(&front, &f, &out) == VFRONT_OK, "%s", vfront_detail(&front));
    return out;
}

/** Checks depths against the wall: most points have one, and nearly none is off by more than three standard
 *  deviations. */
static void check_wall_depths(const char *name, const vfront_result_t *r)
{
    uint32_t good = 0;
    double square = 0.0;
    for (uint32_t n = 0; n < r->depths_count; n++) {
        const vfront_depth_t *d = &r->depths[n];
        const vfront_keypoint_t *k = &r->keypoints[0][d->keypoint];
        const double px[2] = {(double)k->x_px, (double)k->y_px}, origin[3] = {0, 0, 0};
        double ray[3];
        assert_true(n == 0 || d->keypoint > r->depths[n - 1].keypoint);
        assert_true(vf_lens_bearing(&rig.lens[0], px, ray));
        const double off = ((double)d->depth_m - range_to_wall(origin, ray) * ray[2]) / (double)d->sigma_m;
        good += fabs(off) < 3.0;
        square += fabs(off) < 3.0 ? off * off : 0.0;
    }
    print_message("         %-10s %u key points, %u depths, %u good, %.2f sigma rms\n", name, r->keypoints_count[0],
                  r->depths_count, good, sqrt(square / good));
    assert_true(r->depths_count > r->keypoints_count[0] / 20 && good > 0.98 * r->depths_count &&
                sqrt(square / good) < 0.6);
}

/** Depths of the whole front end on side-by-side rigs, with image noise. */
static void depths_of_a_whole_step(void **state)
{
    vfront_tuning_t t;
    (void)state;
    shake(15);
    vfront_tuning_default(&t);
    t.describe_margin_px = 16;
    for (int kind = 0; kind < FORWARD; kind++) {
        if (kind == ROLLED) continue;
        if (!set_up_rig((enum kind)kind)) skip();
        build_wall(length(rig.t) * 10.0, 0.3, 0.7, 5.0);
        draw(0, 1.0);
        draw(1, 1.0);
        check_wall_depths(rig_name[kind], shoot(&t));
        vfront_shutdown(&front);
    }
}

/** No depths without a stereo pair: disabled, no descriptors, no calibration, or both cameras at the same position. */
static void no_depths_without_a_pair(void **state)
{
    (void)state;
    shake(16);
    for (int why = 0; why < 6; why++) {
        vfront_tuning_t t;
        vfront_tuning_default(&t);
        if (!set_up_rig(RECTIFIED)) skip();
        build_wall(length(rig.t) * 10.0, 0.3, 0.7, 5.0);
        draw(0, 0.0);
        draw(1, 0.0);
        if (why == 1) t.stereo = 0;
        if (why == 2) t.describe = 0;
        if (why == 3) rig.camera[0].fx_px = rig.camera[0].fy_px = 0.0;
        if (why == 4) rig.camera[1].fx_px = rig.camera[1].fy_px = 0.0;
        if (why == 5) memset(rig.t, 0, sizeof rig.t);
        const vfront_result_t *r = shoot(&t);
        assert_true(r->keypoints_count[0] > 50 && (r->depths_count > 20) == (why == 0) &&
                    (why == 0 || r->depths_count == 0));
        vfront_shutdown(&front);
    }
}

/** No depths with equal extrinsics, also if the rotation is orthonormal to 1e-3 only. */
static void no_depths_in_one_place(void **state)
{
    const double R[9] = {1.0002, 0, 0, 0, 1, 0, 0, 0, 1};
    vfront_rig_t r;
    vfront_frame_t f;
    const vfront_result_t *out = NULL;
    (void)state;
    vfront_shutdown(&front); /* left over from a failed test */
    shake(17);
    if (!set_up_rig(RECTIFIED)) skip();
    build_wall(3.0, 0.0, 0.7, 5.0);
    draw(0, 0.0);
    memset(&r, 0, sizeof r);
    memset(&f, 0, sizeof f);
    r.cameras = 2;
    f.t_ns = 1;
    for (int c = 0; c < 2; c++) {
        r.camera[c] = rig.camera[0];
        r.camera[c].t_cam_imu_m[0] = 80.0;
        memcpy(r.camera[c].R_cam_imu, R, sizeof R);
        f.picture[c].data = memory.ingest.picture[step.parity][0] + 8 * c;
        f.picture[c].width_px = r.camera[c].width_px -= 8;
        f.picture[c].height_px = r.camera[c].height_px;
        f.picture[c].pitch_bytes = (uint32_t)step.geometry.level[0][0].pitch;
    }
    REQUIRE(vfront_init(&front, &r, NULL, VFRONT_PORT_HOST) == VFRONT_OK, "%s", vfront_detail(&front));
    REQUIRE(vfront_step(&front, &f, &out) == VFRONT_OK, "%s", vfront_detail(&front));
    const uint32_t points = out->keypoints_count[0], depths = out->depths_count;
    vfront_shutdown(&front);
    assert_true(points > 50);
    assert_int_equal(depths, 0);
}
#endif

/* ---- edge cases -------------------------------------------------------------------------------------------------- */

/** Points at and around the epipole in the middle of the image, and points without a bearing: results are finite or
 *  absent. */
static void around_the_epipole(void **state)
{
    (void)state;
    shake(13);
    for (int round = 0; round < 12; round++) {
        if (!set_up_rig(FORWARD)) skip();
        double minus[3], at[2], here[3];
        for (int k = 0; k < 3; k++) minus[k] = -rig.t[k];
        scribble(memory.ingest.picture[step.parity], sizeof memory.ingest.picture[0]);
        if (!vf_lens_project(&rig.lens[1], rig.t[2] > 0 ? rig.t : minus, at)) continue;
        for (int k = 0; k < 3; k++) here[k] = rig.R[k] * rig.t[0] + rig.R[3 + k] * rig.t[1] + rig.R[6 + k] * rig.t[2];
        for (int k = 0; k < 3 && here[2] < 0; k++) here[k] = -here[k];
        double first[2];
        assert_true(vf_lens_project(&rig.lens[0], here, first));
        for (uint32_t i = 0; i < 50; i++) {
            for (int c = 0; c < 2; c++)
                while (!put_point(c, i, 0, (c ? at : first)[0] + between(-12, 12),
                                  (c ? at : first)[1] + between(-12, 12), 12))
                    continue;
            if (i % 10 == 9) memset(points(roll(2))[i].bearing, 0, sizeof(float[3]));
            if (i % 10 == 8) memcpy(points(0)[i].bearing, step.geometry.pair.epipole, sizeof(float[3]));
            scribble(&bits_of(0)[i], sizeof(vfront_descriptor_t));
            bits_of(1)[i] = bits_of(0)[i];
            angle_of(0)[i] = angle_of(1)[i] = 0.0f;
        }
        *count_of(0) = *count_of(1) = 50;
        step.tuning.stereo_band_px = 64;
        step.tuning.stereo_disparity_px = 4096;
        step.tuning.stereo_cut_percent = 0;
        run_and_check("epipole");
        for (uint32_t i = 9; i < 50; i += 10) { /* points without a bearing have no match in either direction */
            if (length((double[3]){points(0)[i].bearing[0], points(0)[i].bearing[1], points(0)[i].bearing[2]}) < 0.5)
                assert_int_equal(memory.stereo.best[i], UINT32_MAX);
            else
                assert_int_equal(memory.stereo.back[step.parity][i], UINT32_MAX);
        }
    }
}

/** Largest number of points on the largest images, all with equal descriptors: no overrun, and the first of equal
 *  candidates is chosen. */
static void most_points(void **state)
{
    (void)state;
    shake(14);
    if (VFRONT_KEYPOINTS > 4096) skip();
    set_camera(0, VFRONT_LENS_RADTAN, VFRONT_WIDTH, VFRONT_HEIGHT, VFRONT_WIDTH);
    set_camera(1, VFRONT_LENS_RADTAN, VFRONT_WIDTH, VFRONT_HEIGHT, VFRONT_WIDTH);
    location((const double[3]){0, 0, 1}, 0.0, (const double[3]){0.2, 0, 0});
    finish_rig();
    step.tuning.stereo_band_px = 64;
    step.tuning.stereo_disparity_px = 4096;
    memset(bits_of(0), 0, VFRONT_KEYPOINTS * sizeof(vfront_descriptor_t));
    memset(bits_of(1), 0, VFRONT_KEYPOINTS * sizeof(vfront_descriptor_t));
    for (uint32_t i = 0; i < VFRONT_KEYPOINTS; i++)
        for (int32_t c = 0; c < 2; c++) {
            put_point(c, 0, 0, real(0, VFRONT_WIDTH - 1), VFRONT_HEIGHT / 2 + roll(2), 0);
            points(c)[i] = points(c)[0];
            angle_of(c)[i] = 0.0f;
        }
    *count_of(0) = *count_of(1) = VFRONT_KEYPOINTS;
    run();
    uint32_t looked = 0;
    for (uint32_t j = 0; j < VFRONT_KEYPOINTS; j++) looked += memory.stereo.back[step.parity][j] != UINT32_MAX;
    assert_true(looked > VFRONT_KEYPOINTS / 2 && memory.stereo.count <= VFRONT_KEYPOINTS);
    for (uint32_t n = 0; n < memory.stereo.count; n++) assert_true(isfinite(memory.stereo.depth[n].depth_m));
}

#endif

int main(void)
{
#if VFRONT_STEREO
    const struct CMUnitTest test[] = {
        cmocka_unit_test(search_of_all_rigs),
        cmocka_unit_test(known_ratios),
        cmocka_unit_test(distances_by_hand),
        cmocka_unit_test(nothing_to_do),
        cmocka_unit_test(known_depths),
        cmocka_unit_test(fits_of_patches),
        cmocka_unit_test(depths_by_hand),
        cmocka_unit_test(disparity_bounds),
#if VFRONT_HOST
        cmocka_unit_test(depths_of_a_whole_step),
        cmocka_unit_test(no_depths_without_a_pair),
        cmocka_unit_test(no_depths_in_one_place),
#endif
        cmocka_unit_test(around_the_epipole),
        cmocka_unit_test(most_points),
    };
    return cmocka_run_group_tests_name("stereo", test, NULL, NULL);
#else
    printf("stereo: SKIPPED, the config has no stereo\n");
    return 77;
#endif
}
