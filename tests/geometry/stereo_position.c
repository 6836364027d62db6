/* SPDX-License-Identifier: MIT */
/* stereo: subpixel positions on images of textured planes drawn exactly for both cameras, against the same search in
 * double precision. */
#include "stereo_position_oracle.h"

#if VFRONT_STEREO

/* ---- textured planes --------------------------------------------------------------------------------------------- */

/** Statistics of random walls in front of a rig, slanted by up to `slant`. Roll and ratio of focal lengths are small
 *  enough that patches are hardly rotated or scaled. */
static void look_at_walls(struct position_figures *f, enum kind kind, double slant, int all, double sigma)
{
    static const double z_axis[3] = {0, 0, 1};
    memset(f, 0, sizeof *f);
    for (int round = 0; round < 2; round++) {
        if (!set_up_rig(kind)) skip();
        const double side[3] = {0.1, 0.02, 0.01};
        if (kind == ROLLED) location(z_axis, real(-0.05, 0.05), side);
        rig.camera[1].fx_px = rig.camera[1].fy_px = rig.camera[0].fx_px * real(0.99, 1.01);
        finish_rig();
        build_wall(length(rig.t) * real(8, 16), real(-slant, slant), real(0, 3.14), 5.0);
        look_at_wall(f, all ? step.geometry.scales : 1, sigma);
    }
}

/** Position errors for all rigs, slants, levels and noise. */
static void positions_on_walls(void **state)
{
    static const struct {
        int all;
        double slant, sigma, bound;
    } variant[] = {{0, 0.0, 0.0, 0.045}, {1, 0.0, 3.0, 0.06}, {0, 0.6, 3.0, 0.075}, {1, 0.6, 0.0, 0.11}};
    int within = 1;
    (void)state;
    shake(5);
    scribble_arena();
    shake(5); /* scribble_arena() draws a number of values that depends on the config */
    for (int kind = 0; kind < FORWARD; kind++)
        for (size_t i = 0; i < sizeof variant / sizeof *variant; i++) {
            struct position_figures f;
            char what[64];
            look_at_walls(&f, (enum kind)kind, variant[i].slant, variant[i].all, variant[i].sigma);
            snprintf(what, sizeof what, "%s, %s, slant %.1f, noise %.0f", rig_name[kind],
                     variant[i].all ? "all levels" : "level 0", variant[i].slant, variant[i].sigma);
            /* distortion within the patch */
            within &= print_positions(what, &f) <= variant[i].bound + (kind >= FISHEYE ? 0.04 : 0.0);
            assert_true(f.depths > 0.85 * f.there && f.there > 300);
        }
    print_compared(5000, 20);
    assert_true(within);
}

/** Position errors of rectified pinholes in front of a frontal wall: no interpolation across rows, constant disparity.
 *  Bias over the subpixel phase. */
static void positions_of_rectified_pairs(void **state)
{
    (void)state;
    shake(6);
    for (int finest = 4; finest <= 12; finest *= 3) {
        struct position_figures f;
        char what[64];
        memset(&f, 0, sizeof f);
        for (int round = 0; round < 6; round++) {
            if (!set_up_rig(RECTIFIED)) skip();
            build_wall(length(rig.t) * rig.camera[0].fx_px / (12.0 + round / 6.0), 0.0, 0.0, finest);
            look_at_wall(&f, 1, 0.0);
        }
        snprintf(what, sizeof what, "rectified, waves from %d px", finest);
        assert_true(print_positions(what, &f) < 0.02);
        print_bias(&f);
        assert_true(f.depths > 0.95 * f.there && fabs(f.sum / f.depths) < 0.005);
    }
    print_compared(2000, 0);
}

/* ---- inconsistent images ----------------------------------------------------------------------------------------- */

/** Makes a rig of pinholes of 300 px focal length in front of a wall of a given disparity. Camera 1 is to the right of
 *  camera 0 (axis 0) or below it (axis 1). */
static void set_up_axis(int axis, double disparity_px, double finest_px)
{
    static const double z_axis[3] = {0, 0, 1};
    const double centre[2][3] = {{0.1, 0, 0}, {0, 0.1, 0}};
    for (int32_t c = 0; c < 2; c++) set_camera(c, VFRONT_LENS_RADTAN, 321, 241, 300);
    location(z_axis, 0, centre[axis]);
    finish_rig();
    step.tuning.stereo_band_px = 4;
    step.tuning.stereo_cut_percent = 0;
    build_wall(30.0 / disparity_px, 0.0, 0.0, finest_px);
}

/** Puts points on an occluding edge 40 px from the middle of camera 0, and their matches at the disparity of the nearer
 *  plane. */
static void points_on_edge(double disparity_px)
{
    uint32_t n = 0;
    while (n < POINTS) {
        const double beside = 40.0 + real(-0.5, 0.5), other = real(-70, 70);
        const double x = 160.0 + (wall.axis ? other : beside), y = 120.0 + (wall.axis ? beside : other);
        const double moved[2] = {rig.t[0] != 0.0 ? disparity_px : 0.0, rig.t[1] != 0.0 ? disparity_px : 0.0};
        if (!put_point(0, n, 0, x, y, 14) || !put_point(1, n, 0, x - moved[0], y - moved[1], 14)) continue;
        scribble(&bits_of(0)[n], sizeof(vfront_descriptor_t));
        bits_of(1)[n] = bits_of(0)[n];
        angle_of(0)[n] = angle_of(1)[n] = (float)real(-3, 3);
        n++;
    }
    *count_of(0) = *count_of(1) = n;
}

/** Occluding edge in the middle of patches. Across the line both halves disagree, and the match is rejected if the
 *  tuning enables it. Along the line both halves agree. Positions equal those in double precision in both cases. */
static void occluding_edges(void **state)
{
    static const double more[] = {0.0, 0.4, 1.5};
    (void)state;
    shake(20);
    if (!fits(321, 241, 0)) skip();
    for (int variant = 0; variant < 12; variant++) {
        const int axis = variant / 3 % 2,
                  along = variant / 6; /* axis: of the baseline; along: 1: the edge is parallel to the line */
        uint32_t kept[2];
        set_up_axis(axis, 9.0, 20.0);
        wall.near = 30.0 / (9.0 + more[variant % 3]);
        wall.axis = axis ^ along;
        wall.edge = 40.0 * wall.near / 300.0;
        draw(0, 0.0);
        draw(1, 0.0);
        points_on_edge(9.0 + more[variant % 3]);
        for (int any = 0; any < 2; any++) {
            step.tuning.stereo_apart_mpx = any ? 0 : 800;
            run_and_compare("edge");
            kept[any] = memory.stereo.count;
        }
        print_message("         %s, edge %s it, %.1f px apart: %u of %u stay, %u without the test\n",
                      axis ? "down" : "across", along ? "along" : "across", more[variant % 3], kept[0], *count_of(0),
                      kept[1]);
        assert_true(kept[0] <= kept[1] && kept[1] > *count_of(0) * 2 / 3);
        if (more[variant % 3] == 0.0) assert_true(kept[0] == kept[1]);
        if (more[variant % 3] < 0.5) assert_true(kept[0] > *count_of(0) * 2 / 3);
        if (more[variant % 3] > 1.0) assert_true(along ? kept[0] > *count_of(0) / 4 : kept[0] < *count_of(0) / 5);
    }
    print_compared(2000, 300);
}

/** Level 0 of camera 1 shifted against its other levels: positions follow up to 1.5 px, and are rejected beyond. */
static void positions_beyond_the_steps(void **state)
{
    (void)state;
    shake(21);
    if (!fits(321, 241, 0) || VFRONT_SCALES < 2) skip();
    for (int32_t twelfths = -30; twelfths <= 30; twelfths += 4) {
        const double off = twelfths / 12.0;
        uint32_t there = 0, coarse = 0, good = 0;
        set_up_axis(0, 10.0, 14.0);
        draw(0, 0.0);
        draw(1, 0.0);
        RUN(scale);
        points_on_wall(POINTS, vf_min(3, step.geometry.scales), 0, 1.0);
        for (int k = 0; k < WAVES; k++)
            wall.at[k][2] -= wall.at[k][0] * off * wall.distance / 300.0; /* shift to the right */
        draw(1, 0.0);
        run_and_compare("too far");
        for (uint32_t i = 0; i < *count_of(0); i++)
            coarse += points(0)[i].level > 0; /* points of level 0 are not affected */
        for (uint32_t n = 0; n < memory.stereo.count; n++) {
            const vfront_depth_t *d = &memory.stereo.depth[n];
            if (points(0)[d->keypoint].level == 0) continue;
            there++;
            good += fabs(truth[d->keypoint][0] + off - (double)d->x_px) < 0.2;
        }
        if (fabs(off) < 1.2) REQUIRE(good > coarse * 0.9, "off by %g: %u of %u", off, good, coarse);
        if (fabs(off) > 1.8) REQUIRE(there < coarse * 0.05, "off by %g: %u of %u", off, there, coarse);
    }
    print_compared(1000, 500);
}

/** Matches one level coarser: only if stereo_levels allows them, with the same accuracy. */
static void matches_of_other_levels(void **state)
{
    (void)state;
    shake(22);
    if (!fits(321, 241, 0) || VFRONT_SCALES < 3) skip();
    for (int32_t levels = 0; levels < 3; levels++) {
        struct position_figures f;
        uint32_t mutual = 0;
        memset(&f, 0, sizeof f);
        set_up_axis(1, 12.0, 6.0);
        draw(0, 1.0);
        draw(1, 1.0);
        RUN(scale);
        points_on_wall(POINTS, 3, 1, 1.0);
        step.tuning.stereo_levels = levels;
        run_and_compare("levels");
        for (uint32_t i = 0; i < *count_of(0); i++) mutual += memory.stereo.best[i] != UINT32_MAX;
        for (uint32_t i = 0; i < memory.stereo.count; i++) note_position(&f, &memory.stereo.depth[i]);
        assert_int_equal(mutual, levels ? *count_of(0) : *count_of(0) / 3);
        assert_true(memory.stereo.count > mutual * 0.9 && sqrt(f.square / f.depths) < 0.05 && f.gross == 0);
    }
}

/** A constant added to the image of camera 1 changes no bit of the result, because patches are compared without their
 *  means. */
static void brightness_does_not_matter(void **state)
{
    static struct vf_stereo_memory was;
    (void)state;
    shake(7);
    if (!set_up_rig(TOED_IN)) skip();
    build_wall(3.0, 0.3, 1.0, 6.0);
    draw(0, 0.0);
    draw(1, 0.0);
    const struct vf_level *l = &step.geometry.level[1][0];
    uint8_t *grey = memory.ingest.picture[step.parity][1];
    for (int32_t i = 0; i < l->pitch * l->height; i++) grey[i] = (uint8_t)vf_clamp(grey[i], 0, 200);
    points_on_wall(POINTS, 1, 0, 1.0);
    run_and_check("as it is");
    was = memory.stereo;
    assert_true(was.count > POINTS / 2);
    for (int32_t i = 0; i < l->pitch * l->height; i++) grey[i] = (uint8_t)(grey[i] + 55);
    run_and_check("brighter");
    assert_int_equal(memory.stereo.count, was.count);
    assert_memory_equal(memory.stereo.depth, was.depth, was.count * sizeof *was.depth);
    assert_memory_equal(memory.stereo.cost, was.cost, *count_of(0) * sizeof *was.cost);
}

/* ---- patches ----------------------------------------------------------------------------------------------------- */

/** Runs the stage with one point and its match 8 px to the left, at (x, y) in camera 1. Returns 1 if there is a
 *  depth. */
static int has_depth_at(int32_t u, int32_t v, int32_t x, int32_t y)
{
    assert_true(put_point(0, 0, 0, u, v, 0) && put_point(1, 0, 0, x, y, 0));
    scribble(bits_of(0), sizeof(vfront_descriptor_t));
    *bits_of(1) = *bits_of(0);
    *angle_of(0) = *angle_of(1) = 0.0f;
    *count_of(0) = *count_of(1) = 1;
    run();
    assert_int_equal(memory.stereo.best[0], 0);
    return memory.stereo.count == 1;
}

/** Bounds of all patches of a point and its match with `more` px to spare: 5 px around and one more for interpolation,
 *  one more to either side for the gradient, 5 more to either side of the match. Returns 1 if all are inside. */
static int fits_patches(int32_t u, int32_t v, int32_t x, int32_t y, int32_t more)
{
    const vfront_camera_t *c0 = &rig.camera[0], *c1 = &rig.camera[1];
    const int left = u - 6 >= more && u + 7 < c0->width_px - more && v - 5 >= more && v + 6 < c0->height_px - more;
    return left && x - 10 >= more && x + 11 < c1->width_px - more && y - 5 >= more && y + 6 < c1->height_px - more;
}

/** Patches at the border of camera 1, which is smaller than camera 0, and then of camera 0: no depth if a patch leaves
 *  the image. */
static void patches_at_the_border(void **state)
{
    static const double centre[3] = {0.1, 0, 0}, axis[3] = {0, 0, 1};
    int depths = 0, none = 0;
    (void)state;
    shake(9);
    if (!fits(361, 261, 0)) skip();
    for (int32_t wide = 0; wide < 2; wide++) {
        set_camera(0, VFRONT_LENS_RADTAN, 321, 241, 300);
        set_camera(1, VFRONT_LENS_RADTAN, wide ? 361 : 317, wide ? 261 : 237, 300);
        rig.camera[1].cx_px += wide ? 0.0 : 2.0;
        location(axis, 0, centre);
        finish_rig();
        step.tuning.stereo_band_px = 1;
        build_wall(30.0 / 8.0, 0.0, 0.0, 6.0);
        draw(0, 0.0);
        draw(1, 0.0);
        for (int edge = 0; edge < 70; edge++) {
            const int32_t u = edge % 2 ? between(0, 24) : between(296, 320);
            const int32_t v = edge % 4 < 2 ? between(12, 228) : edge % 8 < 4 ? roll(12) : 240 - roll(12);
            const int32_t x = u - 168 + (int32_t)rig.camera[1].cx_px, y = v - 120 + (int32_t)rig.camera[1].cy_px;
            if (x < 0 || y < 0 || x >= rig.camera[1].width_px || y >= rig.camera[1].height_px) continue;
            const int is = has_depth_at(u, v, x, y);
            if (!fits_patches(u, v, x, y, 0)) assert_false(is);
            if (fits_patches(u, v, x, y, 1)) REQUIRE(is, "no depth at %d %d", u, v);
            depths += is;
            none += !is;
        }
    }
    assert_true(depths > 20 && none > 20);
}

/** No depth without texture: uniform images, and stripes along the line. */
static void flat_patches(void **state)
{
    (void)state;
    shake(10);
    for (int variant = 0; variant < 3; variant++) {
        if (!set_up_rig(RECTIFIED)) skip();
        build_wall(3.0, 0.0, 0.0, 6.0);
        points_on_wall(POINTS, 1, 0,
                       variant < 2 ? 1.0 : 0.0); /* off its row, the epipolar line of a match is not exactly a row */
        for (int32_t c = 0; c < 2; c++)
            for (int32_t y = 0; y < step.geometry.level[c][0].height; y++)
                memset(memory.ingest.picture[step.parity][c] + y * step.geometry.level[c][0].pitch,
                       variant < 2 ? 100 * variant : y * 37 % 256, (size_t)step.geometry.level[c][0].width);
        run_and_check("flat");
        uint32_t mutual = 0;
        for (uint32_t i = 0; i < *count_of(0); i++) mutual += memory.stereo.best[i] != UINT32_MAX;
        assert_true(mutual > *count_of(0) / 2);
        assert_int_equal(memory.stereo.count, 0);
    }
}

/** A bright column in camera 0, and one between two pixels in camera 1: equal costs on both sides, no unique minimum,
 *  no depth. */
static void ambiguous_minimum(void **state)
{
    (void)state;
    if (!fits(321, 241, 0)) skip();
    shake(23);
    for (int between_px = 0; between_px < 2; between_px++) {
        set_up_axis(0, 10.0, 10.0);
        for (int32_t c = 0; c < 2; c++)
            for (int32_t y = 0; y < 241; y++)
                for (int32_t x = 0; x < 321; x++) {
                    const double off = x - (c ? 150.0 + between_px / 2.0 : 160.0);
                    uint8_t *row = memory.ingest.picture[step.parity][c] + y * step.geometry.level[c][0].pitch;
                    row[x] = (uint8_t)(20.0 + 200.0 * exp(-off * off / 9.0));
                }
        assert_int_equal(has_depth_at(160, 120, 151, 120), !between_px);
    }
}

/** Matches 6 px off along the line, beyond the 5 px of the search: minimum at the end, no depth, although Gauss-Newton
 *  might converge from there. */
static void matches_off_the_minimum(void **state)
{
    uint32_t depths = 0, astray = 0;
    (void)state;
    shake(11);
    if (!set_up_rig(RECTIFIED)) skip();
    build_wall(length(rig.t) * rig.camera[0].fx_px / 20.0, 0.0, 0.0, 24.0);
    draw(0, 0.0);
    draw(1, 0.0);
    points_on_wall(POINTS, 1, 0, 0.0);
    for (uint32_t i = 0; i < *count_of(1); i++)
        put_point(1, i, 0, true_point[1][i].x + (i % 2 ? 6.0 : -6.0), true_point[1][i].y, 0);
    run_and_check("astray");
    depths = memory.stereo.count;
    for (uint32_t i = 0; i < depths; i++) {
        const vfront_depth_t *d = &memory.stereo.depth[i];
        astray += fabs((double)d->x_px - truth[d->keypoint][0]) > 1.0;
    }
    print_message("         %u of %u points astray have a depth\n", depths, *count_of(0));
    assert_true(depths <= *count_of(0) / 5 && astray == depths);
}

/** Outlier rejection: exactly the altered patches are rejected, if stereo_cut_percent is not 0. */
static void outliers_by_cost(void **state)
{
    (void)state;
    shake(12);
    for (int percent = 0; percent <= 400; percent += 50) {
        if (!set_up_rig(RECTIFIED)) skip();
        build_wall(length(rig.t) * rig.camera[0].fx_px / 12.4, 0.0, 0.0, 6.0);
        draw(0, 3.0);
        draw(1, 3.0);
        step.tuning.stereo_band_px = 4;
        points_on_wall(POINTS, 1, 0, 1.0);
        const int32_t pitch = step.geometry.level[1][0].pitch;
        for (uint32_t i = 0; i < *count_of(0); i += 8) { /* altered patch */
            uint8_t *at = memory.ingest.picture[step.parity][1] + (int32_t)truth[i][1] * pitch + (int32_t)truth[i][0];
            for (int32_t k = 0; k < 7; k++) memset(at + k * pitch, 255, 7);
        }
        step.tuning.stereo_cut_percent = 0;
        run_and_check("no cut");
        const uint32_t all = memory.stereo.count;
        step.tuning.stereo_cut_percent = percent;
        run_and_check("cut");
        assert_true(percent ? memory.stereo.count < all : memory.stereo.count == all);
        assert_true(percent < 200 || memory.stereo.count > all / 2);
    }
}

#endif

int main(void)
{
#if VFRONT_STEREO
    const struct CMUnitTest test[] = {
        cmocka_unit_test(positions_on_walls),      cmocka_unit_test(positions_of_rectified_pairs),
        cmocka_unit_test(occluding_edges),         cmocka_unit_test(positions_beyond_the_steps),
        cmocka_unit_test(matches_of_other_levels), cmocka_unit_test(brightness_does_not_matter),
        cmocka_unit_test(patches_at_the_border),   cmocka_unit_test(flat_patches),
        cmocka_unit_test(ambiguous_minimum),       cmocka_unit_test(matches_off_the_minimum),
        cmocka_unit_test(outliers_by_cost),
    };
    return cmocka_run_group_tests_name("stereo_position", test, NULL, NULL);
#else
    printf("stereo_position: SKIPPED, the config has no stereo\n");
    return 77;
#endif
}
