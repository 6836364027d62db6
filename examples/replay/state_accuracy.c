/* SPDX-License-Identifier: MIT */
#include "state_accuracy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEG 57.29577951308232
#define SECOND_NS 999000000u /* least and greatest time of a pair for the RPE: frames are not exactly in time */
#define SECOND_MAX_NS 1500000000u
#define NEES_FROM 5 /* frames of a stretch that the NEES leaves out */

static int compared(const state_frame_t *f) { return f->has_state && f->has_truth; }

static double square_of(const double v[3]) { return v[0] * v[0] + v[1] * v[1] + v[2] * v[2]; }

/** Rotation vector of a rotation, from its quaternion: accurate for small and for large angles. */
static void vector_of(const double R[9], double w[3])
{
    double q[4];
    pose_quaternion(R, q);
    const double sine = sqrt(square_of(q)), factor = sine > 0.0 ? 2.0 * atan2(sine, q[3]) / sine : 2.0;
    for (int k = 0; k < 3; k++) w[k] = factor * q[k];
}

void state_errors(const state_frame_t *f, const pose_t *moved, double e[9])
{
    const pose_t truth = pose_compose(moved, &f->truth);
    double R[9];
    for (int i = 0; i < 9; i++) {
        R[i] = 0.0;
        for (int k = 0; k < 3; k++) R[i] += truth.R[i / 3 * 3 + k] * f->pose.R[i % 3 * 3 + k];
    }
    vector_of(R, &e[3]);
    for (int r = 0; r < 3; r++) {
        e[r] = truth.t[r] - f->pose.t[r];
        e[6 + r] = -f->nav.velocity_mps[r];
        for (int k = 0; k < 3; k++) e[6 + r] += moved->R[3 * r + k] * f->true_velocity_mps[k];
    }
}

void state_segments(const states_t *s, pose_t *moved)
{
    pose_t at = pose_identity;
    uint32_t resets = 0;
    int begun = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const state_frame_t *f = &s->frame[i];
        if (compared(f) && (!begun || f->nav.reset_counter != resets)) {
            at = state_alignment(&f->truth, &f->pose, s->has_up && state_has_up(&f->nav));
            resets = f->nav.reset_counter;
            begun = 1;
        }
        moved[i] = at;
    }
}

/* ---- path -------------------------------------------------------------------------------------------------------- */

/** ATE, drift and scale, by accuracy.h. */
static int measure_trajectory(const states_t *s, accuracy_t *a)
{
    trajectory_t tr = {.metric = 1};
    tr.frame = calloc(s->with_state, sizeof *tr.frame);
    if (!tr.frame) return 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const state_frame_t *f = &s->frame[i];
        if (!f->has_state) continue;
        trajectory_frame_t *to = &tr.frame[tr.count++];
        to->t_ns = f->t_ns;
        to->pose = f->pose;
        to->has_truth = f->has_truth;
        to->truth = f->truth;
    }
    const int good = accuracy_of(&tr, a);
    free(tr.frame);
    return good;
}

/** ATE after the best turn about z: the angle of it is that of the sum of products of level positions about their
 *  means, as complex numbers. */
static double ate_yaw(const states_t *s, uint32_t frames)
{
    double own[3] = {0}, truth[3] = {0}, dot = 0.0, cross = 0.0, square = 0.0;
    for (uint32_t i = 0; i < s->count; i++)
        for (int k = 0; k < 3 && compared(&s->frame[i]); k++) {
            own[k] += s->frame[i].pose.t[k] / frames;
            truth[k] += s->frame[i].truth.t[k] / frames;
        }
    for (uint32_t i = 0; i < s->count; i++) {
        const state_frame_t *f = &s->frame[i];
        if (!compared(f)) continue;
        const double a[2] = {f->pose.t[0] - own[0], f->pose.t[1] - own[1]};
        const double b[2] = {f->truth.t[0] - truth[0], f->truth.t[1] - truth[1]};
        dot += a[0] * b[0] + a[1] * b[1];
        cross += a[0] * b[1] - a[1] * b[0];
    }
    const double length = sqrt(dot * dot + cross * cross);
    const double c = length > 0.0 ? dot / length : 1.0, n = length > 0.0 ? cross / length : 0.0;
    for (uint32_t i = 0; i < s->count; i++) {
        const state_frame_t *f = &s->frame[i];
        if (!compared(f)) continue;
        const double a[3] = {f->pose.t[0] - own[0], f->pose.t[1] - own[1], f->pose.t[2] - own[2]};
        const double off[3] = {c * a[0] - n * a[1] + truth[0] - f->truth.t[0],
                               n * a[0] + c * a[1] + truth[1] - f->truth.t[1], a[2] + truth[2] - f->truth.t[2]};
        square += square_of(off);
    }
    return sqrt(square / frames);
}

static void add_second(const state_frame_t *from, const state_frame_t *to, double square[2])
{
    const pose_t own_back = pose_inverse(&from->pose), true_back = pose_inverse(&from->truth);
    const pose_t own = pose_compose(&own_back, &to->pose), truth = pose_compose(&true_back, &to->truth);
    const pose_t back = pose_inverse(&truth), error = pose_compose(&back, &own);
    double w[3];
    vector_of(error.R, w);
    square[0] += square_of(error.t);
    square[1] += square_of(w);
}

static void measure_seconds(const states_t *s, state_accuracy_t *a)
{
    double square[2] = {0.0, 0.0};
    for (uint32_t i = 0, k = 0; i < s->count; i++) {
        const state_frame_t *f = &s->frame[i];
        if (!compared(f)) continue;
        while (k < s->count && (!compared(&s->frame[k]) || s->frame[k].t_ns < f->t_ns + SECOND_NS)) k++;
        if (k == s->count) break;
        if (s->frame[k].t_ns > f->t_ns + SECOND_MAX_NS) continue;
        add_second(f, &s->frame[k], square);
        a->seconds++;
    }
    a->second_m = a->seconds ? sqrt(square[0] / a->seconds) : 0.0;
    a->second_deg = a->seconds ? DEG * sqrt(square[1] / a->seconds) : 0.0;
}

/* ---- attitude, velocity, covariance ------------------------------------------------------------------------------ */

/** Angle between both verticals [rad], from the last rows of both rotations. */
static double tilt_of(const state_frame_t *f)
{
    const double *a = &f->pose.R[6], *b = &f->truth.R[6];
    const double cross[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    return atan2(sqrt(square_of(cross)), a[0] * b[0] + a[1] * b[1] + a[2] * b[2]);
}

static void add_nees(state_nees_t *n, double square)
{
    if (square < 0.0) return;
    n->count++;
    n->beyond += square > STATE_NEES_BOUND;
    n->mean += (square - n->mean) / n->count;
}

static int measure_errors(const states_t *s, state_accuracy_t *a)
{
    pose_t *moved = malloc(s->count * sizeof *moved);
    double tilt = 0.0, velocity = 0.0, e[9];
    uint32_t resets = 0, into = 0; /* into: frames of the stretch so far */
    if (!moved) return 0;
    state_segments(s, moved);
    for (uint32_t i = 0; i < s->count; i++) {
        const state_frame_t *f = &s->frame[i];
        if (!compared(f)) continue;
        if (f->nav.reset_counter != resets) into = 0;
        resets = f->nav.reset_counter;
        state_errors(f, &moved[i], e);
        if (s->has_up && state_has_up(&f->nav)) {
            tilt += tilt_of(f) * tilt_of(f);
            a->tilts++;
        }
        if (f->has_velocity) velocity += square_of(&e[6]);
        a->velocities += f->has_velocity != 0;
        if (into++ < NEES_FROM || (!s->has_up && state_has_up(&f->nav))) continue;
        add_nees(&a->position, state_mahalanobis(&f->nav, e, 0));
        add_nees(&a->attitude, state_mahalanobis(&f->nav, e, 3));
    }
    free(moved);
    a->tilt_deg = a->tilts ? DEG * sqrt(tilt / a->tilts) : 0.0;
    a->velocity_mps = a->velocities ? sqrt(velocity / a->velocities) : 0.0;
    return 1;
}

int state_accuracy_of(const states_t *s, state_accuracy_t *a)
{
    memset(a, 0, sizeof *a);
    if (!s->with_state || !measure_trajectory(s, &a->trajectory)) return 0;
    measure_seconds(s, a);
    if (!measure_errors(s, a)) return 0;
    if (a->tilts == a->trajectory.frames) a->ate_yaw_m = ate_yaw(s, a->trajectory.frames);
    return 1;
}
