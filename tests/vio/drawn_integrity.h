/* SPDX-License-Identifier: MIT */
/* Integrity of a flight with a fault: errors beside the protection level, alerts, delay and recovery. The same numbers
 * of the same world without the fault stand beside them. Include in one file only, behind drawn_result.h.
 *
 * A frame is misleading if it gives a level, whatever its state is called, and an error is beyond both the level and
 * integrity_least. An alert is what a user of the result can read: ALERT_NO_LEVEL and what follows it. */
#ifndef DRAWN_INTEGRITY_H
#define DRAWN_INTEGRITY_H

#include "drawn_fault.h"
#include "drawn_result.h"

/** Of position, attitude, velocity [m, rad, m/s]: errors below are not called misleading; alert limits of a user. */
static const double integrity_least[KINDS] = {0.05, 2 * DEGREE, 0.1};
static const double integrity_limit[KINDS] = {1, 5 * DEGREE, 1};

/** Alerts, a bit each. */
enum {
    ALERT_NO_LEVEL = 1, /* no state, or the frame was refused by name */
    ALERT_STATE = 2,    /* COASTING, STEREO_ONLY */
    ALERT_NAV = 4,      /* DISPUTED, ONE_CAMERA */
    ALERT_IMU = 8,      /* health.imu */
    ALERT_STEREO = 16,  /* health.stereo SUSPECT or BLIND, health.calibration */
    ALERT_PICTURES = 32 /* health.late, .repeated, .frozen, .missing */
};

/** Bins of the diagrams: 10 a decade from 1e-4 on, of error and of level [m, rad, m/s]. */
enum { DIAGRAM_BINS = 80 };

/** Numbers of a flight: X(name, meaning). Times since the fault begins; frames, unless said, from there on. */
/* clang-format off */
#define INTEGRITY(X) \
    X(frames, "frames that were given") \
    X(during, "of these, frames with the fault") \
    X(refused, "frames refused by a status of the samples or stamps") \
    X(levels, "frames with a level") \
    X(during_levels, "of these, frames with the fault") \
    X(good, "frames GOOD") \
    X(alerted, "frames with an alert") \
    X(right_before, "1: the last frame before was GOOD, without alert, and none before was misleading") \
    X(misleading, "frames misleading in any quantity") \
    X(misleading_p, "in position") \
    X(misleading_a, "in attitude") \
    X(misleading_v, "in velocity") \
    X(silent, "misleading frames without an alert") \
    X(hazardous, "misleading frames without an alert, the level within its limit, the error over it") \
    X(unavailable, "frames with a level over its limit") \
    X(beyond_s, "first misleading frame [s]; -1: none") \
    X(alert_s, "first alert [s]; -1: none") \
    X(alert_bits, "alerts of all frames, a bit each") \
    X(delay_s, "from the first misleading frame to the first alert from it on [s]; -1: none, or none misleading") \
    X(recovery_s, "from the end to a frame GOOD, without alert, not misleading [s]; -1: never; -2: no end") \
    X(worst_m, "largest error of the position in frames with the fault and a level [m]") \
    X(worst_deg, "of the attitude [deg]") \
    X(worst_mps, "of the velocity [m/s]") \
    X(most_m, "largest error of the position [m]") \
    X(resets, "states that replaced another one") \
    X(flight_s, "whole flight, from the first state on: duration [s]") \
    X(flight_alerts, "runs of frames with an alert, from the first frame GOOD on, of the whole flight") \
    X(flight_state_alerts, "of these by state or flag alone") \
    X(flight_misleading, "misleading frames of the whole flight")
/* clang-format on */

#define INTEGRITY_MEMBER(name, meaning) double name;
struct integrity {
    INTEGRITY(INTEGRITY_MEMBER)
};
#define INTEGRITY_NAME(name, meaning) #name,
static const char *const integrity_names[] = {INTEGRITY(INTEGRITY_NAME)};
#define INTEGRITY_MEANING(name, meaning) meaning,
static const char *const integrity_meanings[] = {INTEGRITY(INTEGRITY_MEANING)};
enum { INTEGRITY_NUMBERS = sizeof integrity_names / sizeof *integrity_names };
_Static_assert(sizeof(struct integrity) == INTEGRITY_NUMBERS * sizeof(double), "integrity is its numbers");

static struct integrity integrity;

/** Frames by error, level, and alert: 1 with one. */
static long diagram[KINDS][DIAGRAM_BINS][DIAGRAM_BINS][2];

/** Whole flight, from the first frame GOOD on: what levels and separations are beside errors and chance. */
enum { TAILS = 4, MEMBERS = 2 }; /* 10^-1 to 10^-4 a frame; members without accelerometer, without IMU */
static struct {
    long frames;                   /* with a level */
    long beyond[TAILS][KINDS];     /* axes of these beyond the bound of this probability: bound_of() */
    long members[MEMBERS];         /* frames with this member */
    double square[MEMBERS][KINDS]; /* sum of its separations' squares over their variances, mean of the axes */
} bounds;

/** What the sums above need of the frames before. */
static struct {
    int begun, alert, state_alert, was_right, misled;
    double first_s;
} before_now;

/** Frame as a user has it. */
struct integrity_frame {
    double level[KINDS];               /* [m, rad, m/s]; negative: none */
    double most[KINDS], length[KINDS]; /* largest level of an axis; length of the errors */
    double error[KINDS];
    unsigned alert;
    int misleading[KINDS], any;
};

/* ---- level ------------------------------------------------------------------------------------------------------- */

/** Protection level of an axis of a state: errors in the order of the covariance [m, rad, m/s]; negative: none. */
static double level_of(const vfront_nav_t *nav, int axis)
{
    const double *const level[KINDS] = {nav->protection_level_m, nav->protection_level_rad, nav->protection_level_mps};
    return nav->protection == VFRONT_PROTECTION_GIVEN ? level[axis / 3][axis % 3] : -1;
}

/* ---- alerts ------------------------------------------------------------------------------------------------------ */

static unsigned alerts_of(const vfront_result_t *r, const double level[KINDS])
{
    const vfront_health_t *h = &r->health;
    unsigned alert = 0;
    if (level[0] < 0) alert |= ALERT_NO_LEVEL;
    if (r->nav.state == VFRONT_NAV_COASTING || r->nav.state == VFRONT_NAV_STEREO_ONLY) alert |= ALERT_STATE;
    if (r->nav.flags & (VFRONT_NAV_DISPUTED | VFRONT_NAV_ONE_CAMERA)) alert |= ALERT_NAV;
    if (h->imu) alert |= ALERT_IMU;
    if (h->stereo == VFRONT_STEREO_SUSPECT || h->stereo == VFRONT_STEREO_BLIND || h->calibration) alert |= ALERT_STEREO;
    if (h->late || h->repeated || h->frozen[0] || h->frozen[1] || h->missing) alert |= ALERT_PICTURES;
    return alert;
}

/** Frame of a result; r NULL: it was refused. e: errors of its state. */
static void integrity_read(const vfront_result_t *r, const double e[9], struct integrity_frame *f)
{
    memset(f, 0, sizeof *f);
    for (int kind = 0; kind < KINDS; kind++) f->level[kind] = -1;
    for (int axis = 0; r && axis < 3 * KINDS; axis++) {
        const double error = fabs(e[axis]), level = level_of(&r->nav, axis);
        const int kind = axis / 3, none = f->level[kind] < 0;
        f->length[kind] = length(e + 3 * kind);
        f->most[kind] = fmax(f->most[kind], level);
        f->misleading[kind] |= level >= 0 && error > level && error > integrity_least[kind];
        f->any |= f->misleading[kind];
        if (level < 0 || !(none || error * f->level[kind] > f->error[kind] * level)) continue;
        f->error[kind] = error, f->level[kind] = level;
    }
    f->alert = r ? alerts_of(r, f->level) : ALERT_NO_LEVEL;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

static void integrity_begin(void)
{
    memset(&integrity, 0, sizeof integrity);
    memset(&before_now, 0, sizeof before_now);
    memset(diagram, 0, sizeof diagram);
    memset(&bounds, 0, sizeof bounds);
    integrity.beyond_s = integrity.alert_s = integrity.delay_s = integrity.recovery_s = -1;
    before_now.first_s = -1;
}

static int diagram_bin(double v)
{
    const double at = v > 1e-4 ? 10 * log10(v / 1e-4) : 0;
    return at < DIAGRAM_BINS ? (int)at : DIAGRAM_BINS - 1;
}

/** Bound of an axis for k deviations, like a level (src/nav/nav_level.h) but by what a result has alone: its own
 *  deviation, and of each other member its separation and the larger deviation. Without what is kept of members that
 *  began anew. */
static double bound_of(const vfront_result_t *r, int axis, double k)
{
    double bound = k * sqrt(r->nav.covariance[vf_nav_index(axis, axis)]);
    for (int member = 0; member < MEMBERS; member++) {
        const vfront_innovation_t *test = &r->innovation[VFRONT_TEST_NO_ACCEL + member];
        if (test->variance[axis] > 0) bound = fmax(bound, fabs(test->value[axis]) + k * sqrt(test->variance[axis]));
    }
    return bound;
}

/** Adds a frame with a level to `bounds`. */
static void bounds_add(const vfront_result_t *r, const double e[9])
{
    static const double k[TAILS] = {1.645, 2.576, 3.291, 3.891}; /* of a normal distribution, two-sided */
    bounds.frames++;
    for (int at = 0; at < TAILS * 3 * KINDS; at++) {
        const int tail = at / (3 * KINDS), axis = at % (3 * KINDS);
        bounds.beyond[tail][axis / 3] += fabs(e[axis]) > bound_of(r, axis, k[tail]);
    }
    for (int member = 0; member < MEMBERS; member++) {
        const vfront_innovation_t *test = &r->innovation[VFRONT_TEST_NO_ACCEL + member];
        bounds.members[member] += test->variance[0] > 0;
        for (int axis = 0; axis < 3 * KINDS; axis++)
            if (test->variance[axis] > 0)
                bounds.square[member][axis / 3] += test->value[axis] * test->value[axis] / test->variance[axis] / 3;
    }
}

/** Whole flight: alerts that a flight without a fault must not have. t: since the first frame [s]. */
static void integrity_flight(const vfront_result_t *r, const double e[9], const struct integrity_frame *f, double t)
{
    const int good = r && r->nav.state == VFRONT_NAV_GOOD,
              state = (f->alert & (ALERT_NO_LEVEL | ALERT_STATE | ALERT_NAV)) != 0;
    if (before_now.first_s < 0 && good) before_now.first_s = t;
    if (before_now.first_s < 0) return;
    integrity.flight_s = t - before_now.first_s;
    integrity.flight_alerts += f->alert && !before_now.alert;
    integrity.flight_state_alerts += state && !before_now.state_alert;
    integrity.flight_misleading += f->any;
    if (f->level[0] >= 0) bounds_add(r, e);
    before_now.alert = f->alert != 0, before_now.state_alert = state;
}

/** Frames from the beginning of the fault on. */
static void integrity_after(const vfront_result_t *r, const struct integrity_frame *f, const struct fault *fault,
                            double t)
{
    struct integrity *n = &integrity;
    const int during = fault_active(fault, t), good = r && r->nav.state == VFRONT_NAV_GOOD, level = f->level[0] >= 0;
    const double since = t - fault->begin_s;
    double *const worst[KINDS] = {&n->worst_m, &n->worst_deg, &n->worst_mps}, *const misled[KINDS] = {&n->misleading_p,
                                                                                                      &n->misleading_a,
                                                                                                      &n->misleading_v};
    int over = 0, useless = 0;
    n->frames++, n->during += during, n->refused += !r;
    n->levels += level, n->during_levels += level && during;
    n->good += good, n->alerted += f->alert != 0;
    n->misleading += f->any, n->silent += f->any && !f->alert;
    if (f->any && n->beyond_s < 0) n->beyond_s = since;
    if (f->alert && n->alert_s < 0) n->alert_s = since;
    if (f->alert && n->beyond_s >= 0 && n->delay_s < 0) n->delay_s = since - n->beyond_s;
    n->alert_bits = (double)((unsigned)n->alert_bits | f->alert);
    if (!during && n->recovery_s < 0 && good && !f->alert && !f->any) n->recovery_s = since - fault->length_s;
    for (int kind = 0; kind < KINDS && level; kind++) {
        *misled[kind] += f->misleading[kind];
        useless |= f->most[kind] > integrity_limit[kind];
        over |= f->error[kind] > integrity_limit[kind] && f->level[kind] <= integrity_limit[kind];
        if (during) *worst[kind] = fmax(*worst[kind], f->length[kind] / (kind == 1 ? DEGREE : 1));
        diagram[kind][diagram_bin(f->error[kind])][diagram_bin(f->level[kind])][f->alert != 0]++;
    }
    n->hazardous += over && !f->alert, n->unavailable += useless;
    if (level) n->most_m = fmax(n->most_m, f->length[0]);
    if (r) n->resets = r->nav.reset_counter;
}

/** Adds a frame at t, since the first frame [s]. r NULL: it was refused. */
static void integrity_add(const vfront_result_t *r, const double e[9], const struct fault *fault, double t,
                          struct integrity_frame *f)
{
    integrity_read(r, e, f);
    integrity_flight(r, e, f, t);
    if (t < fault->begin_s) {
        before_now.misled |= f->any;
        integrity.right_before = r && r->nav.state == VFRONT_NAV_GOOD && !f->alert && !before_now.misled;
        return;
    }
    integrity_after(r, f, fault, t);
}

static void integrity_conclude(const struct fault *fault, double last_s)
{
    if (fault->begin_s + fault->length_s > last_s) integrity.recovery_s = -2;
}

#endif
