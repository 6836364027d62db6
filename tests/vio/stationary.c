/* SPDX-License-Identifier: MIT */
/* Stationary test: Jacobian of the zero-velocity update against differences; simulated flights that stand, creep, sway
 * and take off: when the state is reported stationary, and its drift. */
#include "simulation_vio.h"

#include "vio/stationary.h"

/* ---- factor ------------------------------------------------------------------------------------------------------ */

/** Pose and velocity with one error component of vfront_nav_t applied. */
static struct vf_vio_state moved(const struct vf_vio_state *v, int error, double by)
{
    struct vf_vio_state out = *v;
    double turn[3] = {0}, q[4];
    if (error < 3) out.p[error] += by;
    if (error >= 3 && error < 6) turn[error - 3] = by;
    if (error >= 6 && error < 9) out.v[error - 6] += by;
    if (error >= 9) out.bias[error - 9] += by;
    vf_quaternion_exponential(turn, q);
    vf_quaternion_multiply(q, v->q, out.q);
    return out;
}

/** Gradient and Hessian of half the squared residuals match the factor's normal equations. */
static void factor(void **state)
{
    (void)state;
    struct vf_vio_slot a = {.number = 1}, b = {.number = 2, .stationary = 1};
    static struct vf_vio_inertial f, other;
    shake(5);
    for (int k = 0; k < 4; k++) a.value.q[k] = normal();
    vf_quaternion_unit(a.value.q);
    for (int k = 0; k < 3; k++) a.value.p[k] = normal();
    b.value = a.value;
    b.motion.dt_s = 0.05;
    for (int k = 0; k < 9; k++) b.value = moved(&b.value, k, 1e-5 * normal());
    vf_stationary_rows(&f, &a, &b);
    for (int r = 0; r < 30; r++) {
        double slope = 0, J[30][9];
        for (int c = 0; c < 30; c++)
            for (int side = 0; side < 2; side++) {
                struct vf_vio_slot x = a, y = b;
                struct vf_vio_slot *one = c < 15 ? &x : &y;
                one->value = moved(&one->value, c % 15, side ? -1e-6 : 1e-6);
                vf_stationary_rows(&other, &x, &y);
                for (int i = 0; i < 9; i++) J[c][i] = side ? (J[c][i] - other.moved[i]) / 2e-6 : other.moved[i];
            }
        for (int i = 0; i < 9; i++) slope += J[r][i] * f.moved[i];
        const double element = vf_stationary_element(&f, r, 30);
        REQUIRE(fabs(slope - element) < 1e-3 * (1 + fabs(slope)), "row %d: slope %g, not %g\n", r, element, slope);
        for (int c = 0; c < 30; c++) {
            double sum = 0;
            for (int i = 0; i < 9; i++) sum += J[r][i] * J[c][i];
            const double size = sqrt(vf_stationary_element(&f, r, r) * vf_stationary_element(&f, c, c));
            REQUIRE(fabs(sum - vf_stationary_element(&f, r, c)) < 1e-4 * size + 1e-6, "row %d, column %d: %g, not %g\n",
                    r, c, vf_stationary_element(&f, r, c), sum);
        }
    }
    b.stationary = 0;
    vf_stationary_rows(&f, &a, &b);
    for (int r = 0; r < 30; r++)
        for (int c = 0; c <= 30; c++) assert_true(vf_stationary_element(&f, r, c) == 0);
}

/* ---- flights ----------------------------------------------------------------------------------------------------- */

/** Result of a flight. */
struct flight_result {
    int frames, standing;    /* number of frames; those reported stationary */
    double first_s, last_s;  /* time of the first and the last stationary frame */
    double drift_m, yaw_rad; /* largest position error; yaw error in the last frame */
    double square;           /* mean of e' P^-1 e of the position */
    int keyframes;           /* number of keyframes */
};

/** Adds a frame's errors. */
static void add_errors(struct flight_result *f, const vfront_nav_t *nav)
{
    const double t = (double)(nav->t_ns - SIM_START_NS) * 1e-9;
    double e[15], P[9];
    sim_errors(&sim, nav, e);
    sim_block(nav, 0, 3, P);
    f->square += sim_nees(P, e, 3);
    f->drift_m = fmax(f->drift_m, length(e));
    f->yaw_rad = fabs(e[5]);
    f->keyframes += window.slot[window.newest].keyframe;
    f->frames++;
    REQUIRE(!(nav->flags & VFRONT_NAV_STATIONARY) == !window.stationary.holds,
            "%.2f s: flag and window.stationary differ\n", t);
    if (!(nav->flags & VFRONT_NAV_STATIONARY)) return;
    if (!f->standing++) f->first_s = t;
    f->last_s = t;
}

static struct flight_result fly(const struct sim_options *o)
{
    struct flight_result f = {0};
    vfront_nav_t nav;
    sim_begin(o);
    for (int k = 0; k < sim.frames; k++) {
        sim_step(k, 1.0, &nav);
        add_errors(&f, &nav);
    }
    f.square /= f.frames;
    print_message("%-9s life %3.0f, seed %.0f: %4d of %4d frames stand, %.2f to %.2f s; %d keyframes; drift %.2f cm, "
                  "yaw %.3f deg, position %.2f of 3\n",
                  o->trajectory, o->life, o->seed, f.standing, f.frames, f.first_s, f.last_s, f.keyframes,
                  100 * f.drift_m, 57.2957795 * f.yaw_rad, f.square);
    return f;
}

/** A stationary camera is detected in time and stays so; the position is held. */
static void is_stationary(void **state)
{
    (void)state;
    for (int seed = 1; seed <= 2; seed++) {
        const struct sim_options o = sim_drawn_options("stand", 15, seed == 1 ? 60 : 300, seed);
        const struct flight_result f = fly(&o);
        REQUIRE(f.first_s < 4 && f.standing == f.frames - (int)(20 * f.first_s + 0.5),
                "stationary from %g to %g s ended early\n", f.first_s, f.last_s);
        REQUIRE(f.keyframes < 10, "%d keyframes\n", f.keyframes);
        REQUIRE(f.drift_m < 0.005 && f.yaw_rad < 0.001, "drift: %g m, %g rad\n", f.drift_m, f.yaw_rad);
    }
}

/** A camera that moves ahead at 1 cm/s, the direction of least parallax, or sways is never stationary. */
static void moves(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct sim_options o = sim_drawn_options(i < 3 ? "straight" : "hover", 10, i == 1 ? 300 : 60, i + 1);
        o.tempo = i < 2 ? 0.005 : i == 2 ? 0.025 : 1;
        if (i == 1) o.near = 10, o.far = 40;
        REQUIRE(fly(&o).standing == 0, "%s at %g of its speed stands\n", o.trajectory, o.tempo);
    }
}

/* Skips flights of equal code under a sanitizer, where they take ten times as long. */
#ifdef __SANITIZE_ADDRESS__
enum { FLIGHTS_LEFT_OUT = 1 };
#else
enum { FLIGHTS_LEFT_OUT = 0 };
#endif

/** A slow sway by 20 cm, at most 1.8 cm/s or 4 mm/s, is never stationary. */
static void sways(void **state)
{
    (void)state;
    if (FLIGHTS_LEFT_OUT) skip();
    for (int i = 0; i < 2; i++) {
        struct sim_options o = sim_drawn_options("hover", 12, 60, i + 1);
        o.tempo = i ? 0.02 : 0.1;
        const struct flight_result f = fly(&o);
        REQUIRE(f.standing == 0 && f.square < 12, "at %g of its speed: %d frames stand, squared %g\n", o.tempo,
                f.standing, f.square);
    }
}

/** A camera that creeps at 2 mm/s, below the detectable speed, may be stationary for a moment, but not repeatedly. The
 *  state stays consistent with its covariance. */
static void creeps(void **state)
{
    (void)state;
    if (FLIGHTS_LEFT_OUT) skip();
    struct sim_options o = sim_drawn_options("straight", 40, 60, 5);
    o.tempo = 0.001;
    const struct flight_result f = fly(&o);
    REQUIRE(f.standing > 0 && f.standing < 200, "%d frames stand\n", f.standing);
    REQUIRE(f.drift_m < 0.02 && f.square < 12, "drift %g m, squared %g\n", f.drift_m, f.square);
}

/** Stationary, take-off at 10 s, landing 37 s after the start: the stationary period ends in time and restarts, and the
 *  state stays consistent with its covariance. */
static void takes_off(void **state)
{
    (void)state;
    struct sim_options o = sim_drawn_options("take-off", 13, 60, 1);
    const struct flight_result off = fly(&o);
    REQUIRE(off.standing > 120 && off.last_s < 10.3, "stood until %g s\n", off.last_s);
    REQUIRE(off.drift_m < 0.04 && off.square < 12, "drift %g m, squared %g\n", off.drift_m, off.square);
    o.seconds = 45;
    const struct flight_result on = fly(&o);
    REQUIRE(on.standing > off.standing + 60 && on.last_s > 44.5, "%d frames, until %g s\n", on.standing, on.last_s);
}

/** A moving object over 3/5 of the image neither ends a stationary period nor starts a motion. */
static void passes(void **state)
{
    (void)state;
    struct sim_options o = sim_drawn_options("stand", 12, 60, 3);
    o.moving_object[0] = 5, o.moving_object[1] = 9;
    const struct flight_result f = fly(&o);
    REQUIRE(f.standing > 160 && f.drift_m < 0.01, "%d frames stand, drift %g m\n", f.standing, f.drift_m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factor), cmocka_unit_test(is_stationary), cmocka_unit_test(moves), cmocka_unit_test(sways),
        cmocka_unit_test(creeps), cmocka_unit_test(takes_off),     cmocka_unit_test(passes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
