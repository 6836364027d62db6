/* SPDX-License-Identifier: MIT */
/* partner: on rendered walls seen by every kind of rig. Positions in camera 1 against the true ones; disparity, depth
 * and their standard deviations against the law of sines, a regression and differences in double precision; periodic
 * walls with and without an expectation from the previous frame; tracks without a partner. Nothing else in the arena
 * changes. */
#include "tests/geometry/stereo_oracle.h"

#if VFRONT_STEREO

#define MOST (VFRONT_TRACKS < 200 ? VFRONT_TRACKS : 200)

/* ---- scenes ------------------------------------------------------------------------------------------------------ */

static uint32_t tracks;
static double true_place[MOST][2], bearing[MOST][3]; /* in camera 1 [px]; of the track */

static struct vf_feature *features(void) { return memory.refill.feature[step.parity]; }
static const struct vf_partner *partner(uint32_t i) { return &memory.partner.partner[i]; }
static int found(uint32_t i) { return partner(i)->disparity_sigma_px > 0.0f; }

/** Rig of a kind whose images look alike: patches are not rotated. */
static int make_rig(enum kind kind)
{
    static const double z_axis[3] = {0, 0, 1}, side[3] = {0.1, 0.02, 0.01};
    if (!set_up_rig(kind)) return 0;
    if (kind == ROLLED) location(z_axis, 0.05, side);
    rig.camera[1].fx_px = rig.camera[1].fy_px = rig.camera[0].fx_px;
    finish_rig();
    memset(&memory.predict, 0, sizeof memory.predict);
    memset(&memory.freeze, 0, sizeof memory.freeze);
    memset(&memory.epipolar, 0, sizeof memory.epipolar);
    memset(&memory.ego, 0, sizeof memory.ego);
    memset(&memory.partner, 0, sizeof memory.partner);
    memset(&memory.ingest.params, 0, sizeof memory.ingest.params);
    memory.ingest.params.frame = 7;
    return 1;
}

/** Tracks anywhere on the wall where camera 1 sees them, `margin` px inside both images. */
static void put_tracks(uint32_t wanted, double margin)
{
    const double origin[3] = {0, 0, 0};
    tracks = 0;
    for (int tries = 0; tries < 20000 && tracks < wanted; tries++) {
        const double px[2] = {real(margin, rig.camera[0].width_px - 1 - margin),
                              real(margin, rig.camera[0].height_px - 1 - margin)},
                     *at = true_place[tracks];
        struct vf_feature *f = &features()[tracks];
        memset(f, 0, sizeof *f);
        f->x_q16 = (int32_t)(px[0] * 65536.0);
        f->y_q16 = (int32_t)(px[1] * 65536.0);
        f->template_index = (uint16_t)(VFRONT_TRACKS - 1 - tracks);
        const double own[2] = {f->x_q16 / 65536.0, f->y_q16 / 65536.0};
        if (!vf_lens_bearing(&rig.lens[0], own, bearing[tracks])) continue;
        const double range = range_to_wall(origin, bearing[tracks]);
        if (range <= 0 || fabs(dot(bearing[tracks], wall.normal)) < 0.7 ||
            !project_to_camera1(bearing[tracks], range, true_place[tracks]))
            continue;
        if (at[0] < margin || at[1] < margin || at[0] > rig.camera[1].width_px - 1 - margin ||
            at[1] > rig.camera[1].height_px - 1 - margin)
            continue;
        tracks++;
    }
    memory.refill.counts[step.parity].count = tracks;
}

/** Runs the stage. Only the partners of the tracks and their ranges change. */
static uint32_t run_stage(const char *what)
{
    uint32_t n = 0;
    RUN(pyramid);
    memcpy(&expected, &memory, sizeof memory);
    RUN(partner);
    memcpy(expected.partner.partner, memory.partner.partner, tracks * sizeof *memory.partner.partner);
    for (uint32_t i = 0; i < tracks; i++) {
        const uint32_t k = features()[i].template_index;
        expected.partner.range[step.parity][k] = memory.partner.range[step.parity][k];
        n += (uint32_t)found(i);
    }
    same_arena(what);
    return n;
}

/* ---- oracle ------------------------------------------------------------------------------------------------------ */

/** Angle at the point, and range from camera 0 by the law of sines, for a position in camera 1. */
struct triangle {
    double disparity, range;
};
static struct triangle triangle_of(uint32_t i, const double place_px[2])
{
    double there[3], flat[3], to_camera0[3], normal[3], far[3];
    struct triangle t = {NAN, NAN};
    if (!vf_lens_bearing(&rig.lens[1], place_px, there)) return t;
    const struct epipolar_angles g = epipolar_angles_of(bearing[i], there);
    rotate(rig.R, bearing[i], far);
    cross(rig.t, far, normal);
    unit(normal);
    for (int k = 0; k < 3; k++) {
        flat[k] = there[k] - g.off * normal[k];
        to_camera0[k] = rig.t[k];
    }
    t.disparity = (rig.camera[1].fx_px + rig.camera[1].fy_px) / 2.0 * tan(g.angle);
    t.range = length(rig.t) * sin(angle_between(flat, to_camera0)) / sin(g.angle);
    return t;
}

/** Unit vector along the epipolar line at a position, in the direction of rising disparity. */
static void line_at(uint32_t i, const double place_px[2], double direction[2])
{
    const struct triangle t = triangle_of(i, place_px);
    double a[2], b[2];
    assert_true(project_to_camera1(bearing[i], t.range * 1.001, a) &&
                project_to_camera1(bearing[i], t.range / 1.001, b));
    const double n = hypot(b[0] - a[0], b[1] - a[1]);
    direction[0] = (b[0] - a[0]) / n;
    direction[1] = (b[1] - a[1]) / n;
}

static double grey_at(int32_t camera, double x, double y)
{
    const struct vf_level *l = &step.geometry.level[camera][0];
    const double fx = x - floor(x), fy = y - floor(y);
    const uint8_t *at = memory.ingest.picture[step.parity][camera] + (int)floor(y) * l->pitch + (int)floor(x);
    return (at[0] * (1 - fx) + at[1] * fx) * (1 - fy) + (at[l->pitch] * (1 - fx) + at[l->pitch + 1] * fx) * fy;
}

/** Standard deviation of a position along the line [px]: 8x8 px of camera 1 explained by gain, offset and a shift of
 *  camera 0's. sqrt(pi / 2) of the mean absolute residual over the root of the gradients that gain and offset do not
 *  explain. */
static double fit_of(uint32_t i, const double place_px[2], const double direction[2])
{
    const double x = features()[i].x_q16 / 65536.0, y = features()[i].y_q16 / 65536.0;
    double g[64], t[64], d[64], mean[3] = {0, 0, 0}, A[3] = {0, 0, 0}, b[2] = {0, 0}, sum = 0.0;
    for (int k = 0; k < 64; k++) {
        const double u = k % 8 - 3.5, v = k / 8 - 3.5;
        g[k] = direction[0] * (grey_at(0, x + u + 1, y + v) - grey_at(0, x + u - 1, y + v)) / 2 +
               direction[1] * (grey_at(0, x + u, y + v + 1) - grey_at(0, x + u, y + v - 1)) / 2;
        t[k] = grey_at(0, x + u, y + v);
        d[k] = grey_at(1, place_px[0] + u, place_px[1] + v);
        mean[0] += g[k] / 64, mean[1] += t[k] / 64, mean[2] += d[k] / 64;
    }
    for (int k = 0; k < 64; k++) {
        const double gc = g[k] - mean[0], tc = t[k] - mean[1], dc = d[k] - mean[2];
        A[0] += gc * gc, A[1] += gc * tc, A[2] += tc * tc, b[0] += gc * dc, b[1] += tc * dc;
    }
    const double free = A[0] - A[1] * A[1] / A[2], shift = (b[0] - b[1] * A[1] / A[2]) / free,
                 gain = (b[1] - shift * A[1]) / A[2];
    for (int k = 0; k < 64; k++) sum += fabs(d[k] - mean[2] - gain * (t[k] - mean[1]) - shift * (g[k] - mean[0])) / 64;
    return sqrt(acos(-1.0) / 2.0) * sum / sqrt(free);
}

static double sigma_ratio; /* sum over the checked tracks of standard deviation over expected one */

/** Checks disparity, depth and standard deviations of a track against the position found. Returns error over standard
 *  deviation. */
static double check_partner(const char *what, uint32_t i)
{
    const struct vf_partner *p = partner(i);
    const struct vf_partner_range *r = &memory.partner.range[step.parity][features()[i].template_index];
    const double at[2] = {p->x_q16 / 65536.0, p->y_q16 / 65536.0}, h = 0.01;
    double direction[2];
    const struct triangle t = triangle_of(i, at), true_one = triangle_of(i, true_place[i]);
    REQUIRE(fabs((double)p->disparity_px - t.disparity) < 2e-3, "%s: track %u has disparity %g, should be %g", what, i,
            (double)p->disparity_px, t.disparity);
    line_at(i, at, direction);
    const double nearer[2] = {at[0] + h * direction[0], at[1] + h * direction[1]},
                 farther[2] = {at[0] - h * direction[0], at[1] - h * direction[1]};
    const struct triangle t1 = triangle_of(i, nearer), t0 = triangle_of(i, farther);
    const double fit = fit_of(i, at, direction), px = sqrt(0.08 * 0.08 + 9.0 * fit * fit + 0.01 * 0.01),
                 sigma = px * (t1.disparity - t0.disparity) / (2 * h);
    /* more for single ones that have not converged after the last step */
    REQUIRE(fabs((double)p->disparity_sigma_px / sigma - 2.0) < 1.3, "%s: track %u has sigma %g, should be %g", what, i,
            (double)p->disparity_sigma_px, sigma);
    sigma_ratio += (double)p->disparity_sigma_px / sigma;
    const double z = bearing[i][2], depth = z * t.range,
                 slope = z * (t0.range - t1.range) / (t1.disparity - t0.disparity);
    REQUIRE(t.disparity < 0.25 || fabs((double)p->depth_m - depth) < 1e-3 * (1 + 1 / t.disparity) * depth,
            "%s: track %u has depth %g, should be %g", what, i, (double)p->depth_m, depth);
    REQUIRE(t.disparity < 0.25 || fabs((double)p->depth_sigma_m / ((double)p->disparity_sigma_px * slope) - 1) < 0.02,
            "%s: track %u has depth sigma %g, should be %g", what, i, (double)p->depth_sigma_m,
            (double)p->disparity_sigma_px * slope);
    REQUIRE(t.disparity < 0.25 || (fabs((double)r->inverse_1pm * t.range - 1) < 1e-2 &&
                                   fabs((double)r->sigma_1pm * t.range * depth / (double)p->depth_sigma_m - 1) < 2e-2),
            "%s: track %u is carried with %g +- %g / m", what, i, (double)r->inverse_1pm, (double)r->sigma_1pm);
    return ((double)p->disparity_px - true_one.disparity) / (double)p->disparity_sigma_px;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/** Positions on slanted walls against the true ones. */
static void finds_places(void **state)
{
    (void)state;
    shake(1);
    for (int kind = 0; kind < RIGS; kind++) {
        uint32_t all = 0, kept = 0, wrong = 0;
        double square = 0.0, error = 0.0;
        sigma_ratio = 0.0;
        for (int round = 0; round < 4; round++) {
            if (!make_rig((enum kind)kind)) skip();
            build_wall(length(rig.t) * real(8, 24), real(0, 0.3), real(0, 6), 5.0);
            draw(0, 1.0);
            draw(1, 1.0);
            put_tracks(MOST, 12);
            all += tracks;
            kept += run_stage(rig_name[kind]);
            for (uint32_t i = 0; i < tracks; i++) {
                if (!found(i)) continue;
                const double px = hypot(partner(i)->x_q16 / 65536.0 - true_place[i][0],
                                        partner(i)->y_q16 / 65536.0 - true_place[i][1]);
                const double off = check_partner(rig_name[kind], i);
                wrong += px > 1.0;
                if (px > 1.0) continue;
                square += off * off;
                error += px * px;
            }
        }
        print_message("         %-9s %3.0f %% of %u tracks, %u wrong, rms %.3f px, chi2 %.2f, sigma %.3f\n",
                      rig_name[kind], 100.0 * kept / all, all, wrong, sqrt(error / kept), square / kept,
                      sigma_ratio / kept);
        assert_true(fabs(sigma_ratio / kept - 1.0) < 0.03);
        REQUIRE(kept > all * (kind == FORWARD ? 0.2 : 0.8), "%s: %u of %u", rig_name[kind], kept, all);
        REQUIRE(wrong * 100 <= kept && error < 0.15 * 0.15 * kept && square < 2.0 * kept, "%s: %u wrong, %g px, %g",
                rig_name[kind], wrong, sqrt(error / kept), square / kept);
    }
}

/** Periodic wall, 24 px from wave to wave along the rows. Without an inverse range of the previous frame nothing is
 *  unique. With one, also from before a motion, the expected position is found. A range between two waves finds
 *  nothing; neither does a range of a track of age 0, or in frame 0. */
static void expects_places(void **state)
{
    enum { NOTHING, KNOWN, MOVED, ASTRAY, NEWBORN, FIRST_FRAME, CASES };
    static const char *const name[CASES] = {"nothing", "known", "moved", "astray", "newborn", "first frame"};
    (void)state;
    for (int k = 0; k < CASES; k++) {
        uint32_t right = 0;
        shake(2);
        if (!make_rig(RECTIFIED)) skip();
        const double distance = length(rig.t) * rig.camera[0].fx_px / 40.0, pixel = distance / rig.camera[0].fx_px;
        build_wall(distance, 0.0, 0.0, 5.0);
        for (int i = 0; i < WAVES; i++) {
            wall.at[i][0] = 6.2831853 / (24.0 * pixel) * (1 + i % 3);
            wall.at[i][1] = 0.0;
        }
        draw(0, 0.5);
        draw(1, 0.5);
        put_tracks(MOST, 60);
        if (k == MOVED) { /* forwards by a quarter of the distance, and slightly sideways */
            vfront_prediction_t *p = &memory.predict.now;
            for (int i = 0; i < 9; i += 4) p->R[i] = 1.0f;
            p->t[0] = (float)(0.01 * distance);
            p->t[2] = (float)(-0.25 * distance);
            p->source = roll(2) ? VFRONT_PREDICT_MOTION : VFRONT_PREDICT_STATE;
        }
        memory.ingest.params.frame = k == FIRST_FRAME ? 0 : 7;
        for (uint32_t i = 0; i < tracks; i++) {
            struct vf_feature *f = &features()[i];
            struct vf_partner_range *r = &memory.partner.range[step.parity ^ 1][f->template_index];
            const double range = distance / bearing[i][2];
            double before[3], px[2];
            for (int c = 0; c < 3; c++)
                before[c] = range * bearing[i][c] - (k == MOVED) * (double)memory.predict.now.t[c];
            assert_true(vf_lens_project(&rig.lens[0], before, px));
            f->dx_q16 = f->x_q16 - (int32_t)(px[0] * 65536.0);
            f->dy_q16 = f->y_q16 - (int32_t)(px[1] * 65536.0);
            f->age = k == NEWBORN ? 0 : 3;
            if (k == NOTHING) continue;
            r->inverse_1pm = (float)(1.0 / length(before) * (k == ASTRAY ? 1.3 : 1.0)); /* 12 of 40 px */
            r->sigma_1pm = 0.01f * r->inverse_1pm;
        }
        const uint32_t kept = run_stage("periodic");
        for (uint32_t i = 0; i < tracks; i++)
            right += found(i) && fabs(partner(i)->x_q16 / 65536.0 - true_place[i][0]) < 1.0;
        print_message("         periodic, %-11s: %u of %u tracks, %u right\n", name[k], kept, tracks, right);
        assert_true(tracks > MOST / 4);
        if (k == KNOWN || k == MOVED)
            REQUIRE(right * 50 >= kept * 49 && kept > tracks / 2, "%s: %u of %u, %u right", name[k], kept, tracks,
                    right);
        else
            REQUIRE(kept <= tracks / 20, "%s: %u of %u", name[k], kept, tracks);
    }
}

static void scene_of_rectified(void)
{
    build_wall(length(rig.t) * 15.0, 0.0, 0.0, 5.0);
    draw(0, 1.0);
    draw(1, 1.0);
    put_tracks(MOST, 12);
}

/** A frozen image of either camera, a mask on camera 1, different images, images without contrast: no partner, all
 *  members 0. */
static void has_none(void **state)
{
    enum { AS_IT_IS, FROZEN_0, FROZEN_1, MASKED, OTHER, FLAT, ONE_TRACK_NONE, CASES };
    (void)state;
    for (int k = 0; k < CASES; k++) {
        shake(3);
        if (!make_rig(RECTIFIED)) skip();
        scene_of_rectified();
        if (k == FROZEN_0 || k == FROZEN_1) memory.freeze.frames[step.parity][k - FROZEN_0] = 1;
        step.geometry.masked[1] = k == MASKED;
        memset(memory.ingest.mask_static[1], 0, sizeof memory.ingest.mask_static[1]);
        if (k == OTHER) {
            build_wall(length(rig.t) * 15.0, 0.0, 0.0, 5.0);
            draw(1, 1.0);
        }
        if (k == FLAT) memset(memory.ingest.picture[step.parity][0], 128, sizeof memory.ingest.picture[0][0]);
        if (k == ONE_TRACK_NONE) memory.refill.counts[step.parity].count = tracks = 0;
        const uint32_t kept = run_stage("none");
        if (k == AS_IT_IS) assert_true(kept > tracks * 8 / 10);
        if (k == OTHER) REQUIRE(kept <= tracks / 50, "of another picture: %u of %u", kept, tracks);
        if (k != AS_IT_IS && k != OTHER) assert_int_equal(kept, 0);
        for (uint32_t i = 0; i < tracks; i++) {
            static const struct vf_partner none;
            const struct vf_partner_range *r = &memory.partner.range[step.parity][features()[i].template_index];
            if (found(i)) continue;
            assert_memory_equal(partner(i), &none, sizeof none);
            assert_true(r->sigma_1pm == 0.0f && r->inverse_1pm == 0.0f);
        }
    }
}

/** A nearer wall hides part of the far one from camera 1 only: hardly any track there has a partner. */
static void hidden_places(void **state)
{
    uint32_t there = 0, kept = 0;
    (void)state;
    shake(4);
    for (int round = 0; round < 16; round++) {
        if (!make_rig(RECTIFIED)) skip();
        const double distance = length(rig.t) * 16.0;
        build_wall(distance, 0.0, 0.0, 5.0);
        wall.near = distance / 3.0;
        wall.edge = 0.0;
        wall.axis = 0;
        draw(0, 1.0);
        draw(1, 1.0);
        put_tracks(MOST, 12);
        run_stage("hidden");
        for (uint32_t i = 0; i < tracks; i++) {
            /* left of the edge by less than the difference of disparities; the patch does not reach the nearer wall */
            const double fb = rig.camera[0].fx_px * length(rig.t),
                         off = rig.camera[0].cx_px - features()[i].x_q16 / 65536.0;
            if (off < 10.0 || off > fb / wall.near - fb / distance - 10.0) continue;
            there++;
            kept += (uint32_t)found(i);
        }
    }
    print_message("         hidden: %u of %u tracks\n", kept, there);
    assert_true(there > 50);
    REQUIRE(kept * 20 <= there, "%u of %u", kept, there);
}

/** Offsets that rig_offset corrects: camera 1 is drawn lower than the rig states, as the epipolar estimate knows; the
 *  disparity offset is subtracted. */
static void corrects_offsets(void **state)
{
    double rms[2] = {0, 0}, mean[3] = {0, 0, 0}, should = 0.0;
    uint32_t kept[3] = {0, 0, 0};
    (void)state;
    for (int k = 0; k < 3; k++) {
        shake(5);
        if (!make_rig(RECTIFIED)) skip();
        const vfront_camera_t as_calibrated = rig.camera[1];
        build_wall(length(rig.t) * 15.0, 0.0, 0.0, 5.0);
        draw(0, 1.0);
        rig.camera[1].cy_px += 0.8;
        vf_lens_make(&rig.lens[1], &rig.camera[1]);
        draw(1, 1.0);
        rig.camera[1] = as_calibrated;
        vf_lens_make(&rig.lens[1], &rig.camera[1]);
        put_tracks(MOST, 12);
        step.tuning.rig_offset = k > 0;
        memory.epipolar.estimate[step.parity ^ 1].corrected = 0.8f;
        memory.ego.disparity[step.parity ^ 1].corrected = k == 2 ? 0.3f : 0.0f;
        run_stage("offset");
        for (uint32_t i = 0; i < tracks; i++) {
            if (!found(i)) continue;
            const double off = (double)partner(i)->disparity_px - triangle_of(i, true_place[i]).disparity;
            if (fabs(off) > 1.0) continue;
            kept[k]++;
            mean[k] += off;
            if (k < 2) rms[k] += off * off;
            const double nearer[2] = {true_place[i][0] - 0.3, true_place[i][1]};
            should += k == 2 ? triangle_of(i, true_place[i]).disparity - triangle_of(i, nearer).disparity : 0.0;
        }
        mean[k] /= kept[k];
        assert_true(kept[k] > tracks / 2);
    }
    rms[0] = sqrt(rms[0] / kept[0]), rms[1] = sqrt(rms[1] / kept[1]);
    should /= kept[2];
    print_message("         rows 0.8 px off: rms %.3f px, corrected %.3f; disparities less 0.3: %.3f, should be %.3f\n",
                  rms[0], rms[1], mean[2] - mean[1], should);
    assert_true(rms[1] < 0.1 && rms[1] < 0.5 * rms[0]);
    assert_true(fabs(mean[2] - mean[1] - should) < 0.005);
}

/** Disparities at and beyond both ends of what is searched; depth only from 0.25 px on. */
static void ends_of_the_range(void **state)
{
    (void)state;
    shake(6);
    for (int k = 0; k < 3; k++) {
        static const double disparity[3] = {0.1, 30.0, 80.0};
        uint32_t with_depth = 0;
        if (!make_rig(RECTIFIED)) skip();
        step.tuning.stereo_disparity_px = 40;
        build_wall(length(rig.t) * rig.camera[0].fx_px / disparity[k], 0.0, 0.0, 5.0);
        draw(0, 1.0);
        draw(1, 1.0);
        put_tracks(MOST, 12);
        const uint32_t kept = run_stage("ends");
        for (uint32_t i = 0; i < tracks; i++) with_depth += partner(i)->depth_m > 0.0f;
        if (k == 0) REQUIRE(kept > tracks * 8 / 10 && with_depth == 0, "%u of %u, %u", kept, tracks, with_depth);
        if (k == 1) REQUIRE(kept > tracks * 8 / 10 && with_depth == kept, "%u of %u, %u", kept, tracks, with_depth);
        if (k == 2) REQUIRE(kept <= tracks / 20, "%u of %u", kept, tracks);
    }
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(finds_places),  cmocka_unit_test(expects_places),   cmocka_unit_test(has_none),
        cmocka_unit_test(hidden_places), cmocka_unit_test(corrects_offsets), cmocka_unit_test(ends_of_the_range),
    };
    return cmocka_run_group_tests_name("partner", test, NULL, NULL);
}
#else
int main(void) { return 77; }
#endif
