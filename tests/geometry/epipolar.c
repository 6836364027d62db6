/* SPDX-License-Identifier: MIT */
/* epipolar: on rendered pairs whose camera 1 has a principal point other than the rig's, the estimate equals the true
 * offset. Steps are compared with a regression in double precision. No other stage's memory changes. rig.c tests the
 * running estimate. */
#include "geometry/epipolar.h"
#include "stereo_oracle.h"

#if VFRONT_STEREO

/* ---- oracle ------------------------------------------------------------------------------------------------------ */

/** Grey level at a subpixel position, interpolated. */
static double grey_at(int32_t camera, double x, double y)
{
    const struct vf_level *l = &step.geometry.level[camera][0];
    const double fx = x - floor(x), fy = y - floor(y);
    const uint8_t *at = memory.ingest.picture[step.parity][camera] + (int)floor(y) * l->pitch + (int)floor(x);
    return (at[0] * (1 - fx) + at[1] * fx) * (1 - fy) + (at[l->pitch] * (1 - fx) + at[l->pitch + 1] * fx) * fy;
}

static int inside(int32_t camera, double x, double y)
{
    const struct vf_level *l = &step.geometry.level[camera][0];
    return x >= 5 && y >= 5 && floor(x) + 6 < l->width && floor(y) + 6 < l->height;
}

/** Step across the line of point i, by regression on the gradients along and across it [px]; NAN: too little texture,
 *  or a patch leaves its image. shift: displacement of the start from the position found by stereo [px]. */
static double regression_step(uint32_t i, double shift)
{
    const struct vf_point *a = &points(0)[i];
    const struct vf_line_match *p = &memory.stereo.location[i];
    const double ex = (double)p->direction_x, ey = (double)p->direction_y, x = a->x_q16 / 65536.0,
                 y = a->y_q16 / 65536.0, u = p->x_q16 / 65536.0 + shift * ey, v = p->y_q16 / 65536.0 - shift * ex;
    double n = 0, s[5] = {0}, q[5] = {0}; /* sums of g, h, d; of gg, gh, hh, gd, hd */
    for (int variant = -1; variant <= 1; variant++)
        if (!inside(0, x + variant * ex, y + variant * ey) || !inside(0, x + variant * ey, y - variant * ex))
            return NAN;
    if (!inside(1, u, v)) return NAN;
    for (int r = -5; r <= 5; r++)
        for (int c = -5; c <= 5; c++, n++) {
            const double g = (grey_at(0, x + c + ex, y + r + ey) - grey_at(0, x + c - ex, y + r - ey)) / 2,
                         h = (grey_at(0, x + c + ey, y + r - ex) - grey_at(0, x + c - ey, y + r + ex)) / 2,
                         d = grey_at(1, u + c, v + r) - grey_at(0, x + c, y + r);
            s[0] += g, s[1] += h, s[2] += d;
            q[0] += g * g, q[1] += g * h, q[2] += h * h, q[3] += g * d, q[4] += h * d;
        }
    const double gg = q[0] / n - s[0] * s[0] / n / n, gh = q[1] / n - s[0] * s[1] / n / n,
                 hh = q[2] / n - s[1] * s[1] / n / n, gd = q[3] / n - s[0] * s[2] / n / n,
                 hd = q[4] / n - s[1] * s[2] / n / n;
    const double left = hh - gh * gh / gg, found = -(hd - gh * gd / gg) / left;
    return left < 16.0 || fabs(found) > 1.0 ? NAN : found;
}

/** Statistics of a frame's matches. */
struct figures {
    double matches, within, sum, truth;
};
static struct figures figures_of(uint64_t frame, const double off_px[2], double shift)
{
    struct figures f = {0};
    for (uint32_t i = 0; i < *count_of(0); i++) {
        if (memory.stereo.cost[i] == UINT32_MAX || i / 4 % 4 != frame % 4) continue;
        const double px = regression_step(i, shift);
        const struct vf_line_match *p = &memory.stereo.location[i];
        if (isnan(px)) continue;
        f.matches++;
        f.within += fabs(px) <= 0.25;
        f.sum += fmin(fmax(px, -0.25), 0.25);
        f.truth += off_px[0] * (double)p->direction_y - off_px[1] * (double)p->direction_x;
    }
    return f;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/** Finds matches of a pair whose camera 1 is drawn with its principal point displaced by off_px from the rig's. */
static int look(enum kind kind, const double off_px[2])
{
    static const double z_axis[3] = {0, 0, 1}, side[3] = {0.1, 0.02, 0.01};
    if (!set_up_rig(kind)) return 0;
    if (kind == ROLLED) location(z_axis, 0.05, side); /* patches are not rotated with the point */
    rig.camera[1].fx_px = rig.camera[1].fy_px = rig.camera[0].fx_px;
    finish_rig();
    const vfront_camera_t as_calibrated = rig.camera[1];
    build_wall(length(rig.t) * real(8, 16), 0.0, 0.0, 5.0);
    draw(0, 1.0);
    rig.camera[1].cx_px += off_px[0];
    rig.camera[1].cy_px += off_px[1];
    vf_lens_make(&rig.lens[1], &rig.camera[1]);
    draw(1, 1.0);
    rig.camera[1] = as_calibrated;
    vf_lens_make(&rig.lens[1], &rig.camera[1]);
    RUN(scale);
    step.tuning.stereo_band_px = 8;
    step.tuning.stereo_cut_percent = 0;
    step.tuning.stereo_disparity_px = 400;
    const uint32_t n = points_on_wall(POINTS, 1, 0, 1.0);
    run();
    memory.stereo.pair[step.parity].state = VFRONT_STEREO_GOOD;
    assert_true(memory.stereo.count > n / 2);
    return 1;
}

/** Runs the stage on the same matches in 12 frames. Compares sums and estimate of each with the oracle, and the last
 *  estimate with the true offset. Returns its error [px]. */
static double watch(const char *what, const double off_px[2])
{
    double error = 0.0;
    memset(&memory.epipolar, 0, sizeof memory.epipolar);
    for (uint64_t frame = 0; frame < 12; frame++) {
        const int now = (int)(frame & 1);
        memory.ingest.params.frame = frame;
        if (now != step.parity) { /* the same frame, in the buffers of the other parity */
            memcpy(memory.ingest.picture[now], memory.ingest.picture[now ^ 1], sizeof memory.ingest.picture[0]);
            memcpy(memory.bearing.point[now], memory.bearing.point[now ^ 1], sizeof memory.bearing.point[0]);
            memcpy(memory.bearing.count[now], memory.bearing.count[now ^ 1], sizeof memory.bearing.count[0]);
            memory.stereo.pair[now] = memory.stereo.pair[now ^ 1];
            step.parity = now;
        }
        const double before = frame ? (double)memory.epipolar.estimate[now ^ 1].value : 0.0;
        const struct figures f = figures_of(frame, off_px, before);
        memcpy(&expected, &memory, sizeof memory);
        RUN(epipolar);
        const struct vf_epipolar_sums *is = &memory.epipolar.sums[now];
        REQUIRE(fabs(is->matches - f.matches) <= 2 && fabs(is->within - f.within) <= 4 &&
                    fabs(is->q12 / 4096.0 - f.sum) <= 0.3 + 0.01 * f.matches,
                "%s: %d matches, %d within, sum %g px; should be %g, %g, %g", what, is->matches, is->within,
                is->q12 / 4096.0, f.matches, f.within, f.sum);
        expected.epipolar.sums[now] = *is;
        memset(&expected.epipolar.sums[now ^ 1], 0, sizeof *is);
        expected.epipolar.estimate[now] = memory.epipolar.estimate[now];
        same_arena(what);
        error = (double)memory.epipolar.estimate[now].value - f.truth / f.matches;
    }
    return error;
}

static void finds_the_offset(void **state)
{
    static const double off_px[][2] = {{0, 0}, {0, 0.3}, {0.3, -0.3}, {-0.5, 0.7}};
    (void)state;
    shake(1);
    for (int kind = 0; kind < FORWARD; kind++)
        for (size_t i = 0; i < sizeof off_px / sizeof *off_px; i++) {
            if (!look((enum kind)kind, off_px[i])) skip();
            const double error = watch(rig_name[kind], off_px[i]);
            print_message("         %-9s %4.1f %4.1f px off: found %+.3f px wrong\n", rig_name[kind], off_px[i][0],
                          off_px[i][1], error);
            REQUIRE(fabs(error) < 0.03, "%s, %g %g px: %g px wrong", rig_name[kind], off_px[i][0], off_px[i][1], error);
        }
}

/** Too few matches, or a pair that is not GOOD, change only the age of the estimate; frame 0 resets it. */
static void learns_nothing(void **state)
{
    static const double none[2] = {0, 0};
    struct vf_rig_estimate known;
    (void)state;
    shake(2);
    if (!look(RECTIFIED, none)) skip();
    for (int variant = 0; variant < 4; variant++) {
        memset(&memory.epipolar, 0, sizeof memory.epipolar);
        memset(&known, 0, sizeof known);
        known = vf_rig_next(&known, 0.25f, 50.0f, 0);
        memory.epipolar.estimate[step.parity ^ 1] = known;
        memory.ingest.params.frame = variant == 1 ? 0 : 8;
        memory.stereo.pair[step.parity].state = variant == 2 ? VFRONT_STEREO_SUSPECT : VFRONT_STEREO_GOOD;
        for (uint32_t i = 5; variant == 3 && i < *count_of(0); i++) memory.stereo.cost[i] = UINT32_MAX;
        RUN(epipolar);
        const struct vf_rig_estimate *e = &memory.epipolar.estimate[step.parity];
        assert_true((variant < 2) == (e->weight > known.weight || (variant == 1 && e->frames == 1.0f)));
        if (variant >= 2) assert_true(memcmp(&e->value, &known.value, sizeof e->value) == 0 && e->age > known.age);
    }
}

/** Steps across the line of drawn patches, against least squares for both steps and the difference of the means. */
static void steps_across(void **state)
{
    double worst = 0.0;
    int seen = 0;
    (void)state;
    shake(4);
    for (int tries = 0; tries < 2000; tries++) {
        const double along = real(-0.5, 0.5), across = real(-1.2, 1.2);
        const int steep = 4 * between(0, 200), noisy = between(0, 60), light = between(-500, 500);
        struct vf_epipolar_normal sum;
        double g[121], h[121], d[121], mean[3] = {0, 0, 0}, A[3] = {0, 0, 0}, b[2] = {0, 0};
        memset(&sum, 0, sizeof sum);
        for (int k = 0; k < 121; k++) {
            const int32_t rise = between(-steep, steep) / 4, more = (rise + between(-steep, steep) / 4) / 2;
            const int32_t off = (int32_t)lround(-2.0 * (rise * along + more * across)) + light + between(-noisy, noisy);
            vf_epipolar_accumulate(&sum, 2000, 2000 + 4 * rise, 2000, 2000 + 4 * more, 2000, 2000 + off);
            g[k] = rise / 8.0, h[k] = more / 8.0, d[k] = off / 16.0;
            mean[0] += g[k] / 121, mean[1] += h[k] / 121, mean[2] += d[k] / 121;
        }
        for (int k = 0; k < 121; k++) {
            const double x = g[k] - mean[0], y = h[k] - mean[1], z = d[k] - mean[2];
            A[0] += x * x, A[1] += x * y, A[2] += y * y, b[0] -= x * z, b[1] -= y * z;
        }
        const double square = A[0] > 0.0 ? A[2] - A[1] * A[1] / A[0] : 0.0;
        const double should = square > 0.0 ? (b[1] - b[0] * A[1] / A[0]) / square : 0.0;
        const int32_t is = vf_epipolar_step_q12(&sum);
        const int steep_enough = square / 121 > 16.0, near = fabs(should) < 1.0;
        if (fabs(square / 121 - 16.0) < 1e-3 || fabs(fabs(should) - 1.0) < 1e-3) continue;
        assert_int_equal(is != VF_EPIPOLAR_NO_STEP, steep_enough && near);
        if (is == VF_EPIPOLAR_NO_STEP) continue;
        worst = fmax(worst, fabs(is / 4096.0 - should));
        seen++;
    }
    print_message("steps across of %d windows: off by %.1e px at most\n", seen, worst);
    assert_true(seen > 500 && worst < 2e-4);
}

/** Mean step of a frame: long steps count as clamped; too few matches give no measurement. */
static void steps_of_a_frame(void **state)
{
    struct vf_rig_estimate before;
    (void)state;
    memset(&before, 0, sizeof before);
    struct vf_epipolar_sums sum = {0, 0, 0};
    for (int k = 0; k < VF_EPIPOLAR_MIN - 1; k++) vf_epipolar_add(&sum, 410);
    vf_epipolar_add(&sum, VF_EPIPOLAR_NO_STEP);
    assert_true(sum.matches == VF_EPIPOLAR_MIN - 1 && vf_epipolar_next(&sum, 1, 0, 0, &before).weight == 0.0f);
    vf_epipolar_add(&sum, 4000);
    assert_true(sum.within == VF_EPIPOLAR_MIN - 1 && sum.q12 == 410 * (VF_EPIPOLAR_MIN - 1) + VF_EPIPOLAR_CLAMP_Q12);
    struct vf_rig_estimate e = vf_epipolar_next(&sum, 1, 0, 0, &before);
    assert_true(fabs((double)e.value - sum.q12 / 4096.0 / sum.within) < 1e-6);
    assert_true(vf_epipolar_next(&sum, 0, 0, 0, &before).weight == 0.0f);
    for (int frame = 0; frame < 5; frame++) e = vf_epipolar_next(&sum, 1, 0, 0, &e);
    const struct vf_rig_estimate anew = vf_epipolar_next(&sum, 1, 1, 0, &e);
    assert_true(anew.frames == 1.0f && anew.age == 0.0f);
}

/** Four consecutive frames measure every point once, in groups of neighbours. */
static void every_point_in_turn(void **state)
{
    int seen[1000] = {0};
    (void)state;
    for (uint64_t frame = 1000000000000; frame < 1000000000004; frame++)
        for (uint32_t k = 0, i; (i = vf_epipolar_point(k, frame)) < 1000; k++) seen[i]++;
    for (int i = 0; i < 1000; i++) assert_int_equal(seen[i], 1);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(finds_the_offset), cmocka_unit_test(learns_nothing),      cmocka_unit_test(steps_across),
        cmocka_unit_test(steps_of_a_frame), cmocka_unit_test(every_point_in_turn),
    };
    return cmocka_run_group_tests_name("rows", test, NULL, NULL);
}
#else
int main(void) { return 77; }
#endif
