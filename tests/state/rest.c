/* SPDX-License-Identifier: MIT */
/* Rest of the window: derivatives of its factor against differences of its residuals; simulated flights that stand,
 * creep, sway, take off: when the state says that it stands, and how far it drifts meanwhile. */
#include "simulation_window.h"

#include "state/window_rest.h"

/* ---- factor ------------------------------------------------------------------------------------------------------ */

/** Pose and velocity turned and moved by an error of vfront_nav_t. */
static struct vf_window_value moved(const struct vf_window_value *v, int error, double by)
{
    struct vf_window_value out = *v;
    double turn[3] = {0}, q[4];
    if (error < 3) out.p[error] += by;
    if (error >= 3 && error < 6) turn[error - 3] = by;
    if (error >= 6 && error < 9) out.v[error - 6] += by;
    if (error >= 9) out.bias[error - 9] += by;
    vf_quaternion_exponential(turn, q);
    vf_quaternion_multiply(q, v->q, out.q);
    return out;
}

/** Half the squared residuals: their slope and curvature are the right side and the normal equations. */
static void factor(void **state)
{
    (void)state;
    struct vf_window_slot a = {.number = 1}, b = {.number = 2, .rest = 1};
    static struct vf_window_inertial f, other;
    shake(5);
    for (int k = 0; k < 4; k++) a.value.q[k] = normal();
    vf_quaternion_unit(a.value.q);
    for (int k = 0; k < 3; k++) a.value.p[k] = normal();
    b.value = a.value;
    b.motion.dt_s = 0.05;
    for (int k = 0; k < 9; k++) b.value = moved(&b.value, k, 1e-5 * normal());
    vf_rest_rows(&f, &a, &b);
    for (int r = 0; r < 30; r++) {
        double slope = 0, J[30][9];
        for (int c = 0; c < 30; c++)
            for (int side = 0; side < 2; side++) {
                struct vf_window_slot x = a, y = b;
                struct vf_window_slot *one = c < 15 ? &x : &y;
                one->value = moved(&one->value, c % 15, side ? -1e-6 : 1e-6);
                vf_rest_rows(&other, &x, &y);
                for (int i = 0; i < 9; i++) J[c][i] = side ? (J[c][i] - other.moved[i]) / 2e-6 : other.moved[i];
            }
        for (int i = 0; i < 9; i++) slope += J[r][i] * f.moved[i];
        const double told = vf_rest_element(&f, r, 30);
        REQUIRE(fabs(slope - told) < 1e-3 * (1 + fabs(slope)), "row %d: slope %g, not %g\n", r, told, slope);
        for (int c = 0; c < 30; c++) {
            double sum = 0;
            for (int i = 0; i < 9; i++) sum += J[r][i] * J[c][i];
            const double size = sqrt(vf_rest_element(&f, r, r) * vf_rest_element(&f, c, c));
            REQUIRE(fabs(sum - vf_rest_element(&f, r, c)) < 1e-4 * size + 1e-6, "row %d, column %d: %g, not %g\n", r, c,
                    vf_rest_element(&f, r, c), sum);
        }
    }
    b.rest = 0;
    vf_rest_rows(&f, &a, &b);
    for (int r = 0; r < 30; r++)
        for (int c = 0; c <= 30; c++) assert_true(vf_rest_element(&f, r, c) == 0);
}

/* ---- flights ----------------------------------------------------------------------------------------------------- */

/** What came of a flight. */
struct flown {
    int frames, standing;    /* frames; of them, said to stand */
    double first_s, last_s;  /* the first and the last one of these */
    double drift_m, yaw_rad; /* largest error in position; in the last frame in yaw */
    double square;           /* mean of e' P^-1 e of the position */
    int keys;                /* keyframes */
};

/** Adds a frame's errors. */
static void judge(struct flown *f, const vfront_nav_t *nav)
{
    const double t = (double)(nav->t_ns - SIM_START_NS) * 1e-9;
    double e[15], P[9];
    sim_errors(&sim, nav, e);
    sim_block(nav, 0, 3, P);
    f->square += sim_square(P, e, 3);
    f->drift_m = fmax(f->drift_m, length(e));
    f->yaw_rad = fabs(e[5]);
    f->keys += window.slot[window.newest].keyframe;
    f->frames++;
    REQUIRE(!(nav->flags & VFRONT_NAV_STANDING) == !window.rest.holds, "%.2f s: flag and rest differ\n", t);
    if (!(nav->flags & VFRONT_NAV_STANDING)) return;
    if (!f->standing++) f->first_s = t;
    f->last_s = t;
}

static struct flown fly(const struct sim_options *o)
{
    struct flown f = {0};
    vfront_nav_t nav;
    sim_begin(o);
    for (int k = 0; k < sim.frames; k++) {
        sim_step(k, 1.0, &nav);
        judge(&f, &nav);
    }
    f.square /= f.frames;
    print_message("%-9s life %3.0f, seed %.0f: %4d of %4d frames stand, %.2f to %.2f s; %d keyframes; drift %.2f cm, "
                  "yaw %.3f deg, position %.2f of 3\n",
                  o->path, o->life, o->seed, f.standing, f.frames, f.first_s, f.last_s, f.keys, 100 * f.drift_m,
                  57.2957795 * f.yaw_rad, f.square);
    return f;
}

/** Standing is found in time, and stays; the place is held. */
static void stands(void **state)
{
    (void)state;
    for (int seed = 1; seed <= 2; seed++) {
        const struct sim_options o = sim_path("stand", 15, seed == 1 ? 60 : 300, seed);
        const struct flown f = fly(&o);
        REQUIRE(f.first_s < 4 && f.standing == f.frames - (int)(20 * f.first_s + 0.5), "rest of %g to %g s ended\n",
                f.first_s, f.last_s);
        REQUIRE(f.keys < 10, "%d keyframes\n", f.keys);
        REQUIRE(f.drift_m < 0.005 && f.yaw_rad < 0.001, "drift: %g m, %g rad\n", f.drift_m, f.yaw_rad);
    }
}

/** A camera that moves at 1 cm/s, ahead, where sights tell least, or sways, never stands. */
static void moves(void **state)
{
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct sim_options o = sim_path(i < 3 ? "straight" : "hover", 10, i == 1 ? 300 : 60, i + 1);
        o.tempo = i < 2 ? 0.005 : i == 2 ? 0.025 : 1;
        if (i == 1) o.near = 10, o.far = 40;
        REQUIRE(fly(&o).standing == 0, "%s at %g of its speed stands\n", o.path, o.tempo);
    }
}

/* Under a sanitizer, which takes ten times as long, flights by the same code are left out. */
#ifdef __SANITIZE_ADDRESS__
enum { FLIGHTS_LEFT_OUT = 1 };
#else
enum { FLIGHTS_LEFT_OUT = 0 };
#endif

/** A camera that sways slowly, by 20 cm, at most at 1.8 cm/s and at 4 mm/s, never stands. */
static void sways(void **state)
{
    (void)state;
    if (FLIGHTS_LEFT_OUT) skip();
    for (int i = 0; i < 2; i++) {
        struct sim_options o = sim_path("hover", 12, 60, i + 1);
        o.tempo = i ? 0.02 : 0.1;
        const struct flown f = fly(&o);
        REQUIRE(f.standing == 0 && f.square < 12, "at %g of its speed: %d frames stand, squared %g\n", o.tempo,
                f.standing, f.square);
    }
}

/** A camera that creeps at 2 mm/s, slower than can be told from standing at once, may stand for a moment, but not again
 *  and again: the state stays as good as its covariance says. */
static void creeps(void **state)
{
    (void)state;
    if (FLIGHTS_LEFT_OUT) skip();
    struct sim_options o = sim_path("straight", 40, 60, 5);
    o.tempo = 0.001;
    const struct flown f = fly(&o);
    REQUIRE(f.standing > 0 && f.standing < 200, "%d frames stand\n", f.standing);
    REQUIRE(f.drift_m < 0.02 && f.square < 12, "drift %g m, squared %g\n", f.drift_m, f.square);
}

/** Stands, takes off after 10 s, lands 37 s after the start: rest ends in time and begins again, and the state stays as
 *  good as its covariance says. */
static void takes_off(void **state)
{
    (void)state;
    struct sim_options o = sim_path("take-off", 13, 60, 1);
    const struct flown off = fly(&o);
    REQUIRE(off.standing > 120 && off.last_s < 10.3, "stood until %g s\n", off.last_s);
    REQUIRE(off.drift_m < 0.04 && off.square < 12, "drift %g m, squared %g\n", off.drift_m, off.square);
    o.seconds = 45;
    const struct flown on = fly(&o);
    REQUIRE(on.standing > off.standing + 60 && on.last_s > 44.5, "%d frames, until %g s\n", on.standing, on.last_s);
}

/** A body that moves and covers three fifths of the picture does not end a rest, nor begin a motion. */
static void passes(void **state)
{
    (void)state;
    struct sim_options o = sim_path("stand", 12, 60, 3);
    o.body[0] = 5, o.body[1] = 9;
    const struct flown f = fly(&o);
    REQUIRE(f.standing > 160 && f.drift_m < 0.01, "%d frames stand, drift %g m\n", f.standing, f.drift_m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(factor), cmocka_unit_test(stands), cmocka_unit_test(moves),
                                       cmocka_unit_test(sways),  cmocka_unit_test(creeps), cmocka_unit_test(takes_off),
                                       cmocka_unit_test(passes)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
