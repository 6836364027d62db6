/* SPDX-License-Identifier: MIT */
/* Camera 1 held against the window: what is known of a range against least squares in double; when camera 1 is left
 * out, and for how long; simulated flights in which its picture is that of the frame before, and in which it is not. */
#include "simulation_window.h"

#include "state/window_step.h"

/* ---- knowledge of a range ---------------------------------------------------------------------------------------- */

enum { SEEN = 5 };
#define BASELINE_M 0.11

/** Pose of each frame relative to the host, and what camera 0, and camera 1 in some, sees of a landmark. */
static void any_landmark(struct vf_landmark *l, struct vf_pose pose[SEEN])
{
    double turn[3], R[9], b[3], Y[3], other[3];
    any_direction(b);
    memset(l, 0, sizeof *l);
    l->inverse = (float)real(0.05, 0.5);
    for (int k = 0; k < 3; k++) l->bearing[k] = (float)b[k];
    for (int f = 0; f < SEEN; f++) {
        struct vf_window_sight *s = &l->sight[f];
        l->seen |= 1u << f;
        s->weight = (float)real(200, 900);
        s->other_weight = f % 2 ? (float)real(200, 900) : 0.0f;
        for (int k = 0; k < 3; k++) turn[k] = 0.3 * real(-1, 1);
        rotation_of(turn, R);
        rotate(R, b, Y);
        for (int i = 0; i < 9; i++) pose[f].R[i] = (float)R[i];
        for (int k = 0; k < 3; k++) pose[f].t[k] = f ? (float)(0.1 * real(-1, 1)) : 0.0f;
        for (int k = 0; k < 3; k++) Y[k] += l->inverse * pose[f].t[k];
        for (int k = 0; k < 3; k++) other[k] = Y[k] - (k ? 0 : BASELINE_M * l->inverse);
        unit(Y);
        unit(other);
        for (int k = 0; k < 3; k++) s->bearing[k] = (float)Y[k], s->other[k] = (float)other[k];
    }
}

/** 1 / variance of the inverse range by least squares over bearing, inverse range and the length of camera 0's way, a
 *  share of it with deviation `share`: derivatives by differences of directions, of camera 1 of the angle at which its
 *  baseline is seen. */
static double solved(const struct vf_landmark *l, const struct vf_pose pose[SEEN], double sigma, double share)
{
    static const int others[3] = {0, 1, 3};
    double H[4][4] = {{0}}, side[3], up[3], b[3];
    for (int k = 0; k < 3; k++) b[k] = l->bearing[k];
    H[2][2] = 1 / (sigma * sigma);
    H[3][3] = 1 / (share * share);
    sim_across(b, side, up);
    for (int f = 0; f < SEEN; f++) {
        double J[4][3]; /* of the direction, by each parameter */
        for (int c = 0; c < 4; c++)
            for (int way = 0; way < 2; way++) {
                const double h = (way ? -1 : 1) * 1e-5;
                double x[3], y[3], inverse = l->inverse + (c == 2 ? h : 0);
                for (int k = 0; k < 3; k++) x[k] = b[k] + (c == 0 ? h * side[k] : c == 1 ? h * up[k] : 0);
                for (int k = 0; k < 3; k++)
                    y[k] = pose[f].R[3 * k] * x[0] + pose[f].R[3 * k + 1] * x[1] + pose[f].R[3 * k + 2] * x[2] +
                           inverse * (1 + (c == 3 ? h : 0)) * pose[f].t[k];
                unit(y);
                for (int k = 0; k < 3; k++) J[c][k] = way ? (J[c][k] - y[k]) / 2e-5 : y[k];
            }
        for (int r = 0; r < 4; r++)
            for (int c = 0; c < 4; c++) H[r][c] += l->sight[f].weight * l->sight[f].weight * dot(J[r], J[c]);
        const double x = (double)l->sight[f].other[0],
                     across = BASELINE_M * sqrt(1 - x * x) * (double)l->sight[f].other_weight;
        H[2][2] += across * across;
    }
    for (int i = 0; i < 3; i++) {
        const int k = others[i];
        for (int r = 0; r < 4; r++)
            for (int c = 0; c < 4 && r != k; c++)
                if (c != k) H[r][c] -= H[r][k] * H[k][c] / H[k][k];
    }
    return H[2][2];
}

/** Within a quarter of the solution, since the motion is a part of the range; a sight of camera 1 far from the range
 *  does not count, the one that is tested tells nothing, and camera 0's tell less of a way that is not known. */
static void known(void **state)
{
    (void)state;
    const struct vf_landmark_rig rig = {.R_1_0 = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                                        .t_1_0 = {-(float)BASELINE_M, 0.0f, 0.0f},
                                        .outlier = 9.0f,
                                        .range_sigma = 1.0f};
    const struct vf_landmark_drift still = {{0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f}};
    shake(3);
    for (int run = 0; run < 4000; run++) {
        struct vf_landmark l;
        struct vf_pose pose[SEEN];
        struct vf_second_rows rows = {.weight = {0}};
        any_landmark(&l, pose);
        const int wrong = run % 3 == 1 ? 1 : -1, tested = run % 3 == 2 ? 3 : -1;
        if (wrong >= 0) { /* by 0.2 rad along the epipolar line */
            float along[3];
            vf_landmark_along(&rig, l.sight[wrong].other, along);
            for (int k = 0; k < 3; k++) l.sight[wrong].other[k] += 0.2f * along[k];
            vf_unit(l.sight[wrong].other);
        }
        for (int f = 0; f < SEEN; f++) vf_second_row(&rows, f, &l, &l.sight[f], &rig, &pose[f], &still, f == tested);
        if (wrong >= 0) l.sight[wrong].other_weight = 0.0f;
        if (tested >= 0) l.sight[tested].other_weight = l.sight[tested].weight = 0.0f;
        const double share = run % 4 ? real(0.01, 1) : 1e-6;
        const float doubt = l.inverse * l.inverse * (float)(share * share);
        const double want = solved(&l, pose, 1.0, share), got = (double)vf_second_known(&rows, &rig, doubt);
        REQUIRE(fabs(got / want - 1) < 0.25, "known %g, not %g\n", got, want);
        for (int f = 0; f < SEEN; f++)
            REQUIRE(fabsf(rows.residual[f]) < (f == tested ? 0.1f : 1e-9f), "residual %g\n", (double)rows.residual[f]);
    }
}

/** Share of its length by which a way may be off: deviation of the velocity for the time since the host, of two seconds
 *  at most, over the way. */
static void doubt(void **state)
{
    (void)state;
    const struct vf_landmark l = {.host = 1, .inverse = 0.5f};
    const struct vf_pose pose = {.t = {0.3f, 0.0f, -0.4f}};
    memset(&window, 0, sizeof window);
    for (int c = 0; c < 3; c++) window.covariance[(VF_NAV_V + c) * (VF_WINDOW_SAID + 1)] = 0.0003 * (c + 1);
    window.slot[1].t_ns = 1000000000u;
    static const double seconds[4] = {0.25, 1.5, 2.5, 20}, lasts[4] = {0.25, 1.5, 2, 2};
    for (int i = 0; i < 4; i++) {
        window.slot[0].t_ns = window.slot[1].t_ns + (uint64_t)(1e9 * seconds[i]);
        const double share = sqrt(0.0018) * lasts[i] / 0.5, got = (double)vf_second_doubt(&window, &l, &pose);
        REQUIRE(fabs(got - 0.25 * share * share) < 1e-6 * got, "%g s: %g\n", seconds[i], got);
    }
}

/* ---- rule -------------------------------------------------------------------------------------------------------- */

/** 1 if camera 1 is left out after a frame with so many sights, of which some contradict. */
static int off(uint32_t tested, uint32_t contrary)
{
    vfront_nav_t nav;
    vf_second_judge(&window, tested, contrary);
    vf_window_nav(&window, &work, &nav);
    assert_int_equal(nav.flags, window.second_off_s > 0 ? VFRONT_NAV_ONE_CAMERA : 0);
    return nav.flags != 0;
}

/** Left out by more than a third of sixteen sights at least, and for three seconds of frames that agree; frames without
 *  any change nothing. After eight seconds of contradiction it is taken again, three seconds later. */
static void rule(void **state)
{
    (void)state;
    memset(&window, 0, sizeof window);
    window.slot[0].motion.dt_s = 0.125;
    assert_false(off(15, 15) || off(16, 5) || off(0, 0));
    assert_true(off(16, 6));
    for (int i = 0; i < 100; i++) assert_true(off(0, 0));
    for (int i = 0; i < 23; i++) assert_true(off(40, i % 14));
    assert_false(off(40, 0));
    for (int i = 0; i < 64; i++) assert_true(off(100, 60));
    for (int i = 0; i < 23; i++) assert_true(off(100, 60));
    for (int i = 0; i < 50; i++) assert_false(off(100, 60));
    assert_false(off(100, 0));
    assert_true(off(100, 60));
}

/* ---- flights ----------------------------------------------------------------------------------------------------- */

/** What came of a flight. */
struct flown {
    double drift_m, square; /* largest error in position; mean of e' P^-1 e of it */
    double first_s, last_s; /* first and last time at which camera 1 is left out; -1: never */
};

static struct flown fly(const struct sim_options *o)
{
    struct flown f = {.first_s = -1, .last_s = -1};
    vfront_nav_t nav;
    sim_begin(o);
    for (int k = 0; k < sim.frames; k++) {
        const double t = k / sim.rig.hz;
        double e[15], P[9];
        sim_step(k, 1.0, &nav);
        sim_errors(&sim, &nav, e);
        sim_block(&nav, 0, 3, P);
        f.square += sim_square(P, e, 3) / sim.frames;
        f.drift_m = fmax(f.drift_m, length(e));
        if (!(nav.flags & VFRONT_NAV_ONE_CAMERA)) continue;
        for (int i = 0; i < VF_WINDOW_LANDMARKS; i++) {
            const struct vf_landmark *l = &window.landmark[i];
            REQUIRE(!l->id || !(l->seen >> window.newest & 1) || !(l->sight[window.newest].other_weight > 0),
                    "%.2f s: left out, and landmark %d has its sight\n", t, i);
        }
        if (f.first_s < 0) f.first_s = t;
        f.last_s = t;
    }
    print_message("%s, late %g to %g s: left out %.2f to %.2f s, drift %.2f cm, position %.2f of 3\n", o->path,
                  o->late[0], o->late[1], f.first_s, f.last_s, 100 * f.drift_m, f.square);
    return f;
}

/** A camera 1 whose picture is that of the frame before is left out within half a second, and taken again within four
 *  seconds of its end; the state stays as good as its covariance. */
static void late(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct sim_options o = sim_path("eight", 14, 30, i + 1);
        o.late[0] = 2, o.late[1] = 8;
        const struct flown f = fly(&o);
        REQUIRE(f.first_s >= 2 && f.first_s < 2.5, "left out from %g s on\n", f.first_s);
        REQUIRE(f.last_s > 7 && f.last_s < 12, "left out until %g s\n", f.last_s);
        REQUIRE(f.drift_m < 0.1 && f.square < 9, "drift %g m, squared %g\n", f.drift_m, f.square);
    }
}

/** One whose pictures are right is not left out: by noise, by wrong partners, by a calibration as wrong as is taken for
 *  possible, with far landmarks, on a road, or with a rolling shutter. */
static void right(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct sim_options o = sim_path(i == 3 ? "road" : i == 4 ? "hover" : "eight", 8, i == 1 ? 400 : 15, i + 1);
        if (i == 1) o.outliers = 0.1, o.walk = 0.2;
        if (i == 2) o.near = 10, o.far = 60;
        if (i == 3) snprintf(o.rig, sizeof o.rig, "kitti"), o.near = 5, o.far = 60;
        if (i == 5) o.row_s = 2e-5;
        for (int k = 0; k < 3; k++)
            o.drawn[k] = k == 0 ? VF_WINDOW_MOUNT_RAD : k == 1 ? VF_WINDOW_OFFSET_S : VF_WINDOW_DISPARITY_RAD;
        const struct flown f = fly(&o);
        REQUIRE(f.first_s < 0, "left out at %g s\n", f.first_s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(known), cmocka_unit_test(doubt), cmocka_unit_test(rule),
                                       cmocka_unit_test(late), cmocka_unit_test(right)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
