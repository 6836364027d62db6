/* SPDX-License-Identifier: MIT */
/* Check of camera 1 against the estimator: range information against least squares in double precision; when and for
 * how long camera 1 is excluded; simulated flights with a late and with a valid camera 1. */
#include "simulation_vio.h"

/* ---- range information ------------------------------------------------------------------------------------------- */

enum { SEEN = 5 };
#define BASELINE_M 0.11

/** Poses of the frames relative to the anchor, and observations of a landmark by camera 0 and, in some frames, camera
 *  1. */
static void any_landmark(struct vf_landmark *l, struct vf_pose pose[SEEN])
{
    double turn[3], R[9], b[3], Y[3], stereo_bearing[3];
    any_direction(b);
    memset(l, 0, sizeof *l);
    l->inverse = (float)real(0.05, 0.5);
    for (int k = 0; k < 3; k++) l->bearing[k] = (float)b[k];
    for (int f = 0; f < SEEN; f++) {
        struct vf_vio_observation *s = &l->observation[f];
        l->seen |= 1u << f;
        s->weight = (float)real(200, 900);
        s->stereo_weight = f % 2 ? (float)real(200, 900) : 0.0f;
        for (int k = 0; k < 3; k++) turn[k] = 0.3 * real(-1, 1);
        rotation_of(turn, R);
        rotate(R, b, Y);
        for (int i = 0; i < 9; i++) pose[f].R[i] = (float)R[i];
        for (int k = 0; k < 3; k++) pose[f].t[k] = f ? (float)(0.1 * real(-1, 1)) : 0.0f;
        for (int k = 0; k < 3; k++) Y[k] += l->inverse * pose[f].t[k];
        for (int k = 0; k < 3; k++) stereo_bearing[k] = Y[k] - (k ? 0 : BASELINE_M * l->inverse);
        unit(Y);
        unit(stereo_bearing);
        for (int k = 0; k < 3; k++) s->bearing[k] = (float)Y[k], s->stereo_bearing[k] = (float)stereo_bearing[k];
    }
}

/** Information of the inverse range by least squares over bearing, inverse range and the scale of camera 0's path,
 *  whose standard deviation is `share`. Jacobian by differences of directions; for camera 1 of the angle to its
 *  baseline. */
static double solved_information(const struct vf_landmark *l, const struct vf_pose pose[SEEN], double sigma,
                                 double share)
{
    static const int others[3] = {0, 1, 3};
    double H[4][4] = {{0}}, side[3], up[3], b[3];
    for (int k = 0; k < 3; k++) b[k] = l->bearing[k];
    H[2][2] = 1 / (sigma * sigma);
    H[3][3] = 1 / (share * share);
    sim_tangent_basis(b, side, up);
    for (int f = 0; f < SEEN; f++) {
        double J[4][3]; /* of the direction, by each parameter */
        for (int c = 0; c < 4; c++)
            for (int sign_index = 0; sign_index < 2; sign_index++) {
                const double h = (sign_index ? -1 : 1) * 1e-5;
                double x[3], y[3], inverse = l->inverse + (c == 2 ? h : 0);
                for (int k = 0; k < 3; k++) x[k] = b[k] + (c == 0 ? h * side[k] : c == 1 ? h * up[k] : 0);
                for (int k = 0; k < 3; k++)
                    y[k] = pose[f].R[3 * k] * x[0] + pose[f].R[3 * k + 1] * x[1] + pose[f].R[3 * k + 2] * x[2] +
                           inverse * (1 + (c == 3 ? h : 0)) * pose[f].t[k];
                unit(y);
                for (int k = 0; k < 3; k++) J[c][k] = sign_index ? (J[c][k] - y[k]) / 2e-5 : y[k];
            }
        for (int r = 0; r < 4; r++)
            for (int c = 0; c < 4; c++)
                H[r][c] += l->observation[f].weight * l->observation[f].weight * dot(J[r], J[c]);
        const double x = (double)l->observation[f].stereo_bearing[0],
                     across = BASELINE_M * sqrt(1 - x * x) * (double)l->observation[f].stereo_weight;
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

/** The information is within 1/4 of the reference; the approximation puts all frames at about the anchor's position. An
 *  outlier of camera 1 does not count, and the tested observation adds nothing. Camera 0's observations count less if
 *  the scale of the path is uncertain. */
static void range_information(void **state)
{
    (void)state;
    const struct vf_landmark_rig rig = {.R_1_0 = {1, 0, 0, 0, 1, 0, 0, 0, 1},
                                        .t_1_0 = {-(float)BASELINE_M, 0.0f, 0.0f},
                                        .baseline = {-1.0f, 0.0f, 0.0f},
                                        .outlier = 9.0f,
                                        .range_sigma = 1.0f};
    const struct vf_camera_motion still = {{0.0f, 0.0f, 0.0f}, {0.0f, 0.0f, 0.0f}};
    shake(3);
    for (int run = 0; run < 4000; run++) {
        struct vf_landmark l;
        struct vf_pose pose[SEEN];
        struct vf_stereo_check_rows rows = {.weight = {0}};
        any_landmark(&l, pose);
        const int wrong = run % 3 == 1 ? 1 : -1, tested = run % 3 == 2 ? 3 : -1;
        if (wrong >= 0) { /* by 0.2 rad along the epipolar line */
            float along[3];
            vf_landmark_epipolar_direction(&rig, l.observation[wrong].stereo_bearing, along);
            for (int k = 0; k < 3; k++) l.observation[wrong].stereo_bearing[k] += 0.2f * along[k];
            vf_unit(l.observation[wrong].stereo_bearing);
        }
        for (int f = 0; f < SEEN; f++)
            vf_stereo_check_row(&rows, f, &l, &l.observation[f], &rig, &pose[f], &still, f == tested);
        if (wrong >= 0) l.observation[wrong].stereo_weight = 0.0f;
        if (tested >= 0) l.observation[tested].stereo_weight = l.observation[tested].weight = 0.0f;
        const double share = run % 4 ? real(0.01, 1) : 1e-6;
        const float range_doubt = l.inverse * l.inverse * (float)(share * share);
        const double want = solved_information(&l, pose, 1.0, share),
                     got = (double)vf_stereo_check_known(&rows, &rig, range_doubt);
        REQUIRE(fabs(got / want - 1) < 0.25, "known %g, not %g\n", got, want);
        for (int f = 0; f < SEEN; f++)
            REQUIRE(fabsf(rows.residual[f]) < (f == tested ? 0.1f : 1e-9f), "residual %g\n", (double)rows.residual[f]);
    }
}

/** Relative uncertainty of a path's length: velocity standard deviation times the time since the anchor, at most two
 *  seconds, over the length. */
static void range_doubt(void **state)
{
    (void)state;
    const struct vf_landmark l = {.anchor = 1, .inverse = 0.5f};
    const struct vf_pose pose = {.t = {0.3f, 0.0f, -0.4f}};
    memset(&window, 0, sizeof window);
    for (int c = 0; c < 3; c++) window.covariance[(VF_NAV_V + c) * (VF_VIO_REPORTED + 1)] = 0.0003 * (c + 1);
    window.slot[1].t_ns = 1000000000u;
    static const double seconds[4] = {0.25, 1.5, 2.5, 20}, lasts[4] = {0.25, 1.5, 2, 2};
    for (int i = 0; i < 4; i++) {
        window.slot[0].t_ns = window.slot[1].t_ns + (uint64_t)(1e9 * seconds[i]);
        const double share = sqrt(0.0018) * lasts[i] / 0.5, got = (double)vf_stereo_check_doubt(&window, &l, &pose);
        REQUIRE(fabs(got - 0.25 * share * share) < 1e-6 * got, "%g s: %g\n", seconds[i], got);
    }
}

/* ---- rule -------------------------------------------------------------------------------------------------------- */

/** 1 if camera 1 is excluded after a frame with `tested` observations, `contrary` of them inconsistent. */
static int is_left_out(uint32_t tested, uint32_t contrary)
{
    vfront_nav_t nav;
    vf_stereo_check_exclude(&window, tested, contrary);
    vf_vio_nav(&window, &work, &nav);
    assert_int_equal(nav.flags, window.stereo_check_off_s > 0 ? VFRONT_NAV_ONE_CAMERA : 0);
    return nav.flags != 0;
}

/** Excluded if more than 1/3 of at least 16 observations are inconsistent, until three seconds of consistent frames;
 *  frames without any change nothing. After eight seconds of inconsistency the exclusion is no longer renewed and ends
 *  three seconds later. */
static void left_out_rule(void **state)
{
    (void)state;
    memset(&window, 0, sizeof window);
    window.slot[0].motion.dt_s = 0.125;
    assert_false(is_left_out(15, 15) || is_left_out(16, 5) || is_left_out(0, 0));
    assert_true(is_left_out(16, 6));
    for (int i = 0; i < 100; i++) assert_true(is_left_out(0, 0));
    for (int i = 0; i < 23; i++) assert_true(is_left_out(40, i % 14));
    assert_false(is_left_out(40, 0));
    for (int i = 0; i < 64; i++) assert_true(is_left_out(100, 60));
    for (int i = 0; i < 23; i++) assert_true(is_left_out(100, 60));
    for (int i = 0; i < 50; i++) assert_false(is_left_out(100, 60));
    assert_false(is_left_out(100, 0));
    assert_true(is_left_out(100, 60));
}

/* ---- flights ----------------------------------------------------------------------------------------------------- */

/** Result of a flight. */
struct flight_result {
    double drift_m, square; /* largest position error; mean of its e' P^-1 e */
    double first_s, last_s; /* first and last time with camera 1 excluded; -1: never */
};

static struct flight_result fly(const struct sim_options *o)
{
    struct flight_result f = {.first_s = -1, .last_s = -1};
    vfront_nav_t nav;
    sim_begin(o);
    for (int k = 0; k < sim.frames; k++) {
        const double t = k / sim.rig.hz;
        double e[15], P[9];
        sim_step(k, 1.0, &nav);
        sim_errors(&sim, &nav, e);
        sim_block(&nav, 0, 3, P);
        f.square += sim_nees(P, e, 3) / sim.frames;
        f.drift_m = fmax(f.drift_m, length(e));
        if (!(nav.flags & VFRONT_NAV_ONE_CAMERA)) continue;
        for (int i = 0; i < VF_VIO_LANDMARKS; i++) {
            const struct vf_landmark *l = &window.landmark[i];
            REQUIRE(!l->id || !(l->seen >> window.newest & 1) || !(l->observation[window.newest].stereo_weight > 0),
                    "%.2f s: camera 1 excluded, but landmark %d has its observation\n", t, i);
        }
        if (f.first_s < 0) f.first_s = t;
        f.last_s = t;
    }
    print_message("%s, late %g to %g s: left out %.2f to %.2f s, drift %.2f cm, position %.2f of 3\n", o->trajectory,
                  o->late[0], o->late[1], f.first_s, f.last_s, 100 * f.drift_m, f.square);
    return f;
}

/** A camera 1 that shows the previous frame is excluded within half a second, and used again within four seconds of its
 *  end. The state stays consistent with its covariance. */
static void late_camera(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct sim_options o = sim_drawn_options("eight", 14, 30, i + 1);
        o.late[0] = 2, o.late[1] = 8;
        const struct flight_result f = fly(&o);
        REQUIRE(f.first_s >= 2 && f.first_s < 2.5, "left out from %g s on\n", f.first_s);
        REQUIRE(f.last_s > 7 && f.last_s < 12, "left out until %g s\n", f.last_s);
        REQUIRE(f.drift_m < 0.1 && f.square < 9, "drift %g m, squared %g\n", f.drift_m, f.square);
    }
}

/** A valid camera 1 is never excluded: with noise, stereo outliers, calibration errors within their priors, far
 *  landmarks, on a road, with rolling shutter. */
static void valid_camera(void **state)
{
    (void)state;
    for (int i = 0; i < 6; i++) {
        struct sim_options o = sim_drawn_options(i == 3   ? "road"
                                                 : i == 4 ? "hover"
                                                          : "eight",
                                                 8, i == 1 ? 400 : 15, i + 1);
        if (i == 1) o.outliers = 0.1, o.walk = 0.2;
        if (i == 2) o.near = 10, o.far = 60;
        if (i == 3) snprintf(o.rig, sizeof o.rig, "kitti"), o.near = 5, o.far = 60;
        if (i == 5) o.row_s = 2e-5;
        for (int k = 0; k < 3; k++)
            o.drawn[k] = k == 0 ? VF_VIO_MOUNT_SIGMA_RAD : k == 1 ? VF_VIO_TIME_OFFSET_SIGMA_S : SIM_TURN_RAD;
        const struct flight_result f = fly(&o);
        REQUIRE(f.first_s < 0, "left out at %g s\n", f.first_s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(range_information), cmocka_unit_test(range_doubt),
                                       cmocka_unit_test(left_out_rule), cmocka_unit_test(late_camera),
                                       cmocka_unit_test(valid_camera)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
