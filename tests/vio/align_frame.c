/* SPDX-License-Identifier: MIT */
/* Alignment of frames without samples: drawn flights of two cameras alone at drawn rates, with lost frames and
 * wrong tracks. Frames with samples, and those of one camera, stay where they are predicted. */
#include "simulation_vio.h"

/** Errors of a flight without samples from its fourth frame on: position at its end [m]; mean squared normalised errors
 *  of position and attitude, an element. */
struct flight_errors {
    double end_m, square[2];
};

/** Runs frame k. alone: 1: without samples. before_ns: stamp of the frame before, in and out. */
static void run_frame(int alone, uint64_t *before_ns, vfront_nav_t *nav)
{
    static struct vf_observation observation[SIM_OBSERVATIONS];
    uint32_t first;
    const uint32_t n = sim_samples_between(&sim, *before_ns, frame.stamp_ns, &first);
    const struct vf_vio_frame given = {frame.stamp_ns, sim.imu + first, alone ? 0 : n, observation, (uint32_t)frame.n};
    sim_to_observations(observation, 1.0);
    vf_vio_step(&window, &work, &given);
    vf_vio_nav(&window, &work, nav);
    *before_ns = frame.stamp_ns;
}

static struct flight_errors fly(int seed)
{
    shake((uint64_t)seed);
    struct sim_options o = sim_drawn_options(real(0, 1) < 0.5 ? "eight" : "hover", 8, real(20, 80), seed);
    struct flight_errors out = {0, {0, 0}};
    double e[15], P[9], frames = 0;
    uint64_t before_ns = SIM_START_NS;
    vfront_nav_t nav;
    o.tempo = real(0.5, 2.0), o.outliers = real(0, 0.2), o.partners = real(0.5, 0.95);
    const double lost = real(0, 0.4);
    const int every = (int)real(1, 5);
    sim_begin(&o);
    for (int k = 0; k < sim.frames; k++) {
        const int alone = k > 2;
        sim_frame(&sim, k, &frame);
        if (alone && (k % every || real(0, 1) < lost)) continue;
        run_frame(alone, &before_ns, &nav);
        sim_errors(&sim, &nav, e);
        for (int i = 0; i < 2 && alone; i++) {
            sim_block(&nav, 3 * i, 3, P);
            out.square[i] += sim_nees(P, e + 3 * i, 3) / 3;
        }
        frames += alone;
    }
    for (int i = 0; i < 2; i++) out.square[i] /= frames;
    out.end_m = length(e);
    print_message("seed %d, %s: each %d. frame, %.0f %% lost, tempo %.2f, %.0f %% wrong: %.3f m, NEES %.2f, %.2f\n",
                  seed, o.trajectory, every, 100 * lost, o.tempo, 100 * o.outliers, out.end_m, out.square[0],
                  out.square[1]);
    return out;
}

/** Drift and its covariance hold at every rate. With extrapolated poses alone the flights end 1.5 times as far off, and
 *  12 of 48 have a squared error over 3. */
static void flights(void **state)
{
    (void)state;
    enum { RUNS = 48 };
    double log_m = 0.0;
    int wrong = 0;
    for (int i = 0; i < RUNS; i++) {
        const struct flight_errors f = fly(1000 + i);
        log_m += log(f.end_m) / RUNS;
        wrong += f.square[0] > 3 || f.square[1] > 3;
    }
    print_message("end: %.4f m, %d wrong\n", exp(log_m), wrong);
    REQUIRE(exp(log_m) < 0.05, "geometric mean at the end %.4f m\n", exp(log_m));
    REQUIRE(wrong <= 5, "%d flights of %d with a squared error over 3\n", wrong, RUNS);
}

/** Pose of the newest frame is not moved if it has samples, or if there is one camera. */
static void predicted(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        struct sim_options o = sim_drawn_options("eight", 2, 60, 7);
        uint64_t before_ns = SIM_START_NS;
        vfront_nav_t nav;
        sim_begin(&o);
        for (int k = 0; k < 20; k++) {
            sim_frame(&sim, k, &frame);
            run_frame(0, &before_ns, &nav);
        }
        struct vf_vio_slot *s = &window.slot[window.newest];
        s->value.p[0] += 0.05;
        s->motion.flags = i ? VFRONT_NAV_GAP : 0;
        window.rig.cameras = i == 1 ? 1 : 2;
        vf_vio_previous_states(&window, &work);
        vf_vio_select_all_factors(&window, &work);
        vf_vio_anchor_lists(&window, &work);
        vf_vio_update_poses(&window, &work);
        const struct vf_vio_state before = s->value;
        for (int k = 0; k < 3; k++) s->motion.P[10 * (VF_ROW_P + k)] = 1.0;
        for (int k = 0; k < 3; k++) s->motion.P[10 * (VF_ROW_W + k)] = 1.0;
        vf_vio_align_frame(&window, &work, (uint32_t)frame.n);
        const double moved_m = before.p[0] - s->value.p[0];
        REQUIRE(i == 2 ? fabs(moved_m - 0.05) < 0.005 : !memcmp(&before, &s->value, sizeof before), "case %d: %g m\n",
                i, moved_m);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(flights), cmocka_unit_test(predicted)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
