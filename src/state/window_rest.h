/* SPDX-License-Identifier: MIT */
/* Rest of the window: whether the camera stands, and the factor that says so.
 *
 * In      preintegral of the newest interval; sights of landmarks, and the bearing of each at the time of reference
 * Out     vf_window.rest; in the newest slot whether its interval is one of rest
 * Rule    readings: mean rate and mean force of an interval are those of the intervals before, to noise, and none is
 *         missing or saturated. Sights: each landmark has a bearing of reference, of the frame in which rest began or
 *         of its first sight later. Its change since then, over time, is that of one velocity and one rate of the
 *         camera for all landmarks, by least squares; these are 0 to VF_REST_CHI2. A landmark that has changed by more
 *         than VF_REST_OWN moves by itself; VF_REST_GO_ON of them have not
 *         Rest is taken for granted from the frame on in which these sights would tell VF_REST_MPS in any direction, by
 *         VF_REST_SIGMAS, from standing, and do not: the longer the tracks and the nearer the landmarks, the sooner. A
 *         camera that creeps at that speed or faster is not taken to stand. One that creeps slower stands until its
 *         sights tell, with readings that go on as they were: then twice the deviations are needed for the next rest,
 *         VF_REST_CREEPS times at most, until readings change
 *         Factor: poses of both ends of an interval of rest are the same, to a random walk of VF_REST_WALK_M and
 *         VF_REST_WALK_RAD a root of a second, and the velocity at its end is 0, to VF_REST_STILL_MPS. Where rest ends,
 *         the intervals of the window lose it, too
 *         Keyframes: with the frame in which rest begins, all others leave. So what they say of its pose stays,
 *         whatever becomes of their landmarks, and first estimates of what follows are those of one place. That frame
 *         hosts the landmarks of all tracks that begin while rest lasts: where they are seen first is its own place
 * Exact   rows in single precision, their sums in order of the sights and all else in double
 * Cost    of a frame with 256 sights 20 us on one core of a server
 */
#ifndef VF_WINDOW_REST_H
#define VF_WINDOW_REST_H

#include "window_solve.h"

/** Velocity that is told from standing [m/s], and by how many deviations, before the camera is taken to stand. */
#define VF_REST_MPS 0.005
#define VF_REST_SIGMAS 7.0

/** Most rests in a row that end by creeping, each of which doubles these deviations. */
#define VF_REST_CREEPS 4

/** Largest sum of squares of the six deviations of velocity and rate, to go on with a rest and to begin one: 1 in 10^6,
 *  1 in 100 is larger by chance. */
#define VF_REST_CHI2 38.0
#define VF_REST_CHI2_BEGIN 16.8

/** Largest sum of squares of the two deviations of a landmark's change: 1 in 8,000 is larger by chance. */
#define VF_REST_OWN 18.0f

/** Share of landmarks that have not moved: least to begin a rest, and to go on with it. */
#define VF_REST_BEGIN 0.7
#define VF_REST_GO_ON 0.25

/** Largest sum of squares of the three deviations of a mean of readings; error of that beside noise [rad/s, m/s^2];
 *  most intervals of which the mean is made. */
#define VF_REST_QUIET 30.0
#define VF_REST_RAD_S 0.002
#define VF_REST_M_S2 0.02
#define VF_REST_INTERVALS 64.0

/** Random walk of a pose at rest [m, rad] in a second; deviation of the velocity [m/s]. */
#define VF_REST_WALK_M 1e-4
#define VF_REST_WALK_RAD 2e-5
#define VF_REST_STILL_MPS 1e-3

/* ---- factor ------------------------------------------------------------------------------------------------------ */

/** Residuals of the interval between two states, and their weights: 0 where it is not at rest. */
VF_FN void vf_rest_rows(struct vf_window_inertial *f, const struct vf_window_slot *a, const struct vf_window_slot *b)
{
    const double walk[2] = {VF_REST_WALK_M, VF_REST_WALK_RAD};
    double turn[3];
    vf_window_turn_between(b->value.q, a->value.q, turn);
    for (int k = 0; k < 2; k++) f->still[k] = b->rest ? 1.0 / (walk[k] * sqrt(b->motion.dt_s)) : 0.0;
    f->still[2] = b->rest ? 1.0 / VF_REST_STILL_MPS : 0.0;
    for (int k = 0; k < 3; k++) {
        f->moved[k] = (b->value.p[k] - a->value.p[k]) * f->still[0];
        f->moved[3 + k] = turn[k] * f->still[1];
        f->moved[6 + k] = b->value.v[k] * f->still[2];
    }
}

/** Their share in an element of the factor's normal equations: row r; column c, or, behind these, the right side. The
 *  derivatives are 1 of the second state, -1 of the first one's pose, at any values: what cannot be seen stays so. */
VF_FN double vf_rest_element(const struct vf_window_inertial *f, int r, int c)
{
    const int error = r % VF_NAV_ERRORS, first = r < VF_NAV_ERRORS;
    if (error >= 9 || (first && error >= 6)) return 0.0;
    const double root = f->still[error / 3];
    if (c == VF_INERTIAL_COLUMNS) return first ? -root * f->moved[error] : root * f->moved[error];
    if (c % VF_NAV_ERRORS != error) return 0.0;
    if (error >= 6) return c < VF_NAV_ERRORS ? 0.0 : root * root;
    return first == (c < VF_NAV_ERRORS) ? root * root : -root * root;
}

/** First estimate of a state that is not in the prior yet, at rest: the pose of the first estimate of the state before,
 *  and no velocity. So what cannot be told, tilt from the bias of the accelerometer above all, is one direction in all
 *  intervals of a rest, though the estimate of its place changes by more from frame to frame than the factor lets poses
 *  differ. */
VF_FN void vf_rest_first(const struct vf_window_slot *before, struct vf_window_slot *s)
{
    const struct vf_window_value *from = before->prior ? &before->first : &before->value;
    if (s->prior || !s->rest) return;
    s->prior = 1;
    s->first = s->value;
    memcpy(s->first.q, from->q, sizeof s->first.q);
    for (int k = 0; k < 3; k++) {
        s->first.p[k] = from->p[k];
        s->first.v[k] = 0.0;
    }
}

/* ---- readings ---------------------------------------------------------------------------------------------------- */

/** 1 if the mean rate and force of the newest interval are those of the intervals before; these follow. By one item. */
VF_FN int vf_rest_quiet(struct vf_window_rest *rest, const struct vf_window_slot *s)
{
    const double dt = s->motion.dt_s, least[2] = {VF_REST_RAD_S, VF_REST_M_S2};
    const double n = rest->intervals < VF_REST_INTERVALS ? rest->intervals : VF_REST_INTERVALS;
    double mean[6], square[2] = {0.0, 0.0};
    int quiet = s->motion.flags == 0;
    vf_window_logarithm(s->motion.q, mean);
    for (int k = 0; k < 3; k++) {
        mean[k] = mean[k] / dt + s->bias[k];
        mean[3 + k] = s->motion.v[k] / dt + s->bias[3 + k];
    }
    for (int k = 0; k < 6; k++) {
        const double off = n > 0.0 ? mean[k] - rest->mean[k] : 0.0;
        square[k / 3] += off * off;
        rest->mean[k] += n > 0.0 ? off / (n + 1.0) : mean[k] - rest->mean[k];
    }
    for (int k = 0; k < 2; k++) {
        const double variance = s->motion.P[10 * (k ? VF_ROW_V : VF_ROW_W)] / (dt * dt);
        quiet &= square[k] < VF_REST_QUIET * (variance * (1.0 + 1.0 / (n + 1.0)) + least[k] * least[k]);
    }
    return quiet;
}

/* ---- sights ------------------------------------------------------------------------------------------------------ */

/** Row of a sight: change of its landmark's bearing since the reference, and its derivatives by the velocity of the
 *  camera, in its axes, and by its rate; all over their deviation. */
VF_FN void vf_rest_row(struct vf_rest_sums *s, int at, const struct vf_landmark *l, const struct vf_sight *seen,
                       uint64_t t_ns)
{
    float axis[2][3], square = 0.0f;
    const float time = (float)((double)(t_ns - l->still_ns) * 1e-9), depth = vf_dot(l->still, seen->bearing);
    const float weight = 0.70710678f / seen->sigma; /* of the difference of two sights */
    s->tested[at] = l->still_ns != t_ns;
    if (!s->tested[at] || !(depth > 0.1f)) return;
    vf_landmark_axes(l->still, axis[0], axis[1]);
    VF_UNROLL
    for (int i = 0; i < 2; i++) {
        float about[3];
        vf_cross(axis[i], l->still, about);
        const float r = vf_dot(axis[i], seen->bearing) / depth * weight;
        s->row[i][6][at] = r;
        square += r * r;
        for (int k = 0; k < 3; k++) {
            s->row[i][k][at] = -axis[i][k] * l->inverse * time * weight;
            s->row[i][3 + k][at] = about[k] * time * weight;
        }
    }
    s->still[at] = square < VF_REST_OWN;
}

/** Element of the sums over all rows of landmarks that have not moved: of the normal equations, row a; column b, or,
 *  behind these, the right side. */
VF_FN void vf_rest_sum(struct vf_rest_sums *s, uint32_t rows, int a, int b)
{
    double sum = 0.0;
    VF_UNROLL_16
    for (uint32_t i = 0; i < rows; i++) {
        const int still = s->still[i];
        if (VF_GROUP_ALONE && !still) continue;
        for (int j = 0; j < 2; j++) {
            const double part = (double)(s->row[j][a][i] * s->row[j][b][i]);
            sum = still ? sum + part : sum;
        }
    }
    if (b < 6)
        s->H[6 * a + b] = sum;
    else
        s->g[a] = sum;
}

/** Number of rows that are tested, or of those still. */
VF_FN void vf_rest_count(struct vf_rest_sums *s, uint32_t rows, int still)
{
    int32_t number = 0;
    VF_UNROLL_16
    for (uint32_t i = 0; i < rows; i++) number += still ? s->still[i] : s->tested[i];
    s->number[still] = number;
}

/** Square of the velocity and rate that fit best, over their covariance. */
VF_FN double vf_rest_square(const struct vf_rest_sums *s)
{
    double L[36], y[6], square = 0.0;
    vf_solve_factor(s->H, L, 6, 6, 1e-9);
    memcpy(y, s->g, sizeof y);
    vf_solve_forward(L, y, 6, 6);
    for (int k = 0; k < 6; k++) square += y[k] * y[k];
    return square;
}

/** 1 if VF_REST_MPS in any direction would be seen: the squared deviations of it are a form whose least value is over
 *  VF_REST_SIGMAS^2; four times that for each rest that ended by creeping. */
VF_FN int vf_rest_told(const struct vf_rest_sums *s, uint32_t creeps)
{
    double A[9], L[9];
    const double sigmas = VF_REST_SIGMAS * (double)(1 << creeps), least = sigmas * sigmas / (VF_REST_MPS * VF_REST_MPS);
    int positive = 1;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) A[3 * i + j] = s->H[6 * i + j] - (i == j ? least : 0.0);
    for (int i = 0; i < 3; i++) positive &= A[4 * i] > 0.0;
    return positive && vf_solve_factor(A, L, 3, 3, 0.0) == 0;
}

/** Verdict on the newest frame. By one item. */
VF_FN void vf_rest_judge(struct vf_window *w, struct vf_window_work *k)
{
    struct vf_window_rest *rest = &w->rest;
    struct vf_window_slot *s = &w->slot[w->newest];
    const double tested = k->rest.number[0], still = k->rest.number[1];
    const int before = rest->holds;
    const double square = vf_rest_square(&k->rest), share = before ? VF_REST_GO_ON : VF_REST_BEGIN;
    const int quiet = s->motion.dt_s > 0.0 && vf_rest_quiet(rest, s);
    k->rest.anew = !(quiet && still > 0.0 && still >= share * tested && square < VF_REST_CHI2);
    if (!quiet)
        rest->creeps = 0;
    else if (before && square >= VF_REST_CHI2 && rest->creeps < VF_REST_CREEPS)
        rest->creeps++;
    if (k->rest.anew) {
        rest->holds = 0;
        rest->intervals = 0;
        rest->host = -1;
        for (int f = 0; f < VF_WINDOW_FRAMES; f++) w->slot[f].rest = 0;
    } else {
        rest->intervals++;
        rest->holds = before || (square < VF_REST_CHI2_BEGIN && vf_rest_told(&k->rest, rest->creeps));
        s->rest = rest->holds;
    }
    k->rest.begins = rest->holds && !before;
    if (!rest->holds) return;
    w->flags |= VFRONT_NAV_STANDING;
    for (int i = 0; i < 3; i++) s->rate[i] = 0.0;
}

/** Rest begins: sights of the newest frame are those of new landmarks, which it hosts, and of no others any more. Of
 *  one block. */
VF_FN void vf_rest_part(struct vf_window *w, const struct vf_window_work *k)
{
    VF_PARTS(i, (int)k->sights)
    if (k->landmark_of[i] >= 0) w->landmark[k->landmark_of[i]].seen &= ~(1u << w->newest);
    VF_ITEM_SYNC();
}

/** Landmarks of the newest frame's sights, whose hosts leave, hosted in it. Of one block. */
VF_FN void vf_rest_host(struct vf_window *w, const struct vf_window_work *k)
{
    VF_PARTS(i, (int)k->sights)
    {
        if (!vf_window_taken(k, (uint32_t)i)) continue;
        struct vf_landmark *l = &w->landmark[k->landmark_of[i]];
        l->host = w->newest;
        l->seen = 1u << w->newest;
        memcpy(l->bearing, l->sight[w->newest].bearing, sizeof l->bearing);
    }
    VF_ITEM_SYNC();
}

/** Reference of a landmark: its bearing in the newest frame. */
VF_FN void vf_rest_refer(struct vf_landmark *l, const struct vf_sight *seen, uint64_t t_ns)
{
    memcpy(l->still, seen->bearing, sizeof l->still);
    l->still_ns = t_ns;
}

/** Verdict of rest on the newest frame; k->landmark_of is set. Of one block. */
VF_FN void vf_window_rest_of(struct vf_window *w, struct vf_window_work *k, const struct vf_sight *sight,
                             uint32_t sights)
{
    const uint64_t t_ns = w->slot[w->newest].t_ns;
    VF_PARTS(i, (int)sights)
    {
        k->rest.tested[i] = k->rest.still[i] = 0;
        if (k->landmark_of[i] >= 0) vf_rest_row(&k->rest, i, &w->landmark[k->landmark_of[i]], &sight[i], t_ns);
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, 66)
    { /* counts by another warp */
        if (i < 42) vf_rest_sum(&k->rest, sights, i / 7, i % 7);
        if (i >= 64) vf_rest_count(&k->rest, sights, i - 64);
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, 1)
    vf_rest_judge(w, k);
    VF_ITEM_SYNC();
    VF_PARTS(i, (int)sights)
    if (k->rest.anew && k->landmark_of[i] >= 0) vf_rest_refer(&w->landmark[k->landmark_of[i]], &sight[i], t_ns);
}

#endif
