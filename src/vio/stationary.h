/* SPDX-License-Identifier: MIT */
/* Stationary test of the sliding window, and the zero-velocity update of a stationary interval.
 *
 * In      preintegral of the newest interval; observations of landmarks; reference bearing of each landmark
 * Out     vf_vio_window.stationary; `stationary` of the newest slot
 * Rule    IMU samples: mean angular rate and mean specific force of the interval equal those of the intervals before
 *         it, to noise. No sample is missing or saturated.
 *         Observations: the reference bearing of a landmark is that of the last frame with motion, or of its first
 *         observation if that is later. Least squares fit one velocity and one angular rate of the camera to all
 *         changes of bearings since the reference, over time. Both must be 0 to VF_STATIONARY_CHI2. A landmark that has
 *         changed by more than VF_STATIONARY_OWN moves by itself and is left out; a share of VF_STATIONARY_GO_ON must
 *         not have moved.
 *         Start: a stationary period begins once the observations would detect VF_STATIONARY_MPS in any direction, by
 *         VF_STATIONARY_CHI2, and do not. Longer tracks and nearer landmarks make this sooner, as far as their ranges
 *         are known. A slower motion counts as stationary until the observations detect it. If the IMU signal has not
 *         changed then, the next start needs twice the standard deviations, doubled VF_STATIONARY_CREEPS times at most.
 *         A change of the IMU signal resets this.
 *         Zero-velocity update: the poses at both ends of a stationary interval are equal, to a random walk of
 *         VF_STATIONARY_WALK_M and VF_STATIONARY_WALK_RAD per root of a second. The velocity at its end is 0, to
 *         VF_STATIONARY_STILL_MPS. When the period ends, all intervals in the window lose the update.
 *         Keyframes: at the start of a period all frames but the newest are marginalized. So their information on its
 *         pose remains when their landmarks are lost, and all later first estimates are of one place. The frame of the
 *         start anchors the landmarks of all tracks that begin during the period, because the camera observes them from
 *         its place.
 * Exact   rows in single precision; sums in double precision, in order of the observations
 * Cost    20 us for a frame with 256 observations, on one core of a server
 */
#ifndef VF_VIO_STATIONARY_H
#define VF_VIO_STATIONARY_H

#include "solve.h"

/** Velocity that the observations must be able to detect before a stationary period begins [m/s]. */
#define VF_STATIONARY_MPS 0.005

/** Largest number of times that the deviations needed for VF_STATIONARY_MPS are doubled, once for each consecutive
 *  stationary period that slow motion ends. */
#define VF_STATIONARY_CREEPS 4

/** Largest squared norm of the fitted velocity and angular rate (six components, whitened) that continues a stationary
 *  period, and the one that begins it. */
#define VF_STATIONARY_CHI2 VF_CHI2_6_E6
#define VF_STATIONARY_CHI2_BEGIN VF_CHI2_6_E2

/** Largest squared norm of the bearing change of a landmark that does not move (two components, whitened). */
#define VF_STATIONARY_OWN ((float)VF_CHI2_2_E6)

/** Least share of tested landmarks without motion that begins a stationary period. */
#define VF_STATIONARY_BEGIN 0.7
/** Least share of tested landmarks without motion that continues a stationary period. */
#define VF_STATIONARY_GO_ON 0.25

/** Largest squared change of mean angular rate or mean specific force without motion, summed over the axes
 *  [variances]. */
#define VF_STATIONARY_QUIET VF_CHI2_3_E6
/** Largest number of intervals in the running means of angular rate and specific force. */
#define VF_STATIONARY_INTERVALS ((double)VF_IMU_MEAN_FRAMES)

/** Standard deviation of the position's random walk after 1 s without motion [m]. */
#define VF_STATIONARY_WALK_M 1e-4
/** Standard deviation of the attitude's random walk after 1 s without motion [rad]. */
#define VF_STATIONARY_WALK_RAD 2e-5
/** Standard deviation of the velocity at the end of a stationary interval [m/s]. */
#define VF_STATIONARY_STILL_MPS 1e-3

/* ---- factor ------------------------------------------------------------------------------------------------------ */

/** Computes the residuals of the zero-velocity update between states a and b, and their weights, 0 if the interval is
 *  not stationary. */
VF_FN void vf_stationary_rows(struct vf_vio_inertial *f, const struct vf_vio_slot *a, const struct vf_vio_slot *b)
{
    const double walk[2] = {VF_STATIONARY_WALK_M, VF_STATIONARY_WALK_RAD};
    double turn[3];
    vf_quaternion_difference(b->value.q, a->value.q, turn);
    for (int k = 0; k < 2; k++) f->still[k] = b->stationary ? 1.0 / (walk[k] * sqrt(b->motion.dt_s)) : 0.0;
    f->still[2] = b->stationary ? 1.0 / VF_STATIONARY_STILL_MPS : 0.0;
    for (int k = 0; k < 3; k++) {
        f->moved[k] = (b->value.p[k] - a->value.p[k]) * f->still[0];
        f->moved[3 + k] = turn[k] * f->still[1];
        f->moved[6 + k] = b->value.v[k] * f->still[2];
    }
}

/** Element (r, c) of the normal equations of the zero-velocity update; c = VF_INERTIAL_COLUMNS: element r of the
 *  gradient. The derivatives are 1 by the second state and -1 by the first pose, whatever the estimate, so that
 *  unobservable directions stay so. */
VF_FN double vf_stationary_element(const struct vf_vio_inertial *f, int r, int c)
{
    const int error = r % VF_NAV_ERRORS, first = r < VF_NAV_ERRORS;
    if (error >= 9 || (first && error >= 6)) return 0.0;
    const double root = f->still[error / 3];
    if (c == VF_INERTIAL_COLUMNS) return first ? -root * f->moved[error] : root * f->moved[error];
    if (c % VF_NAV_ERRORS != error) return 0.0;
    if (error >= 6) return c < VF_NAV_ERRORS ? 0.0 : root * root;
    return first == (c < VF_NAV_ERRORS) ? root * root : -root * root;
}

/** Sets the linearization point of a stationary state that is not in the prior yet: pose of the previous state's
 *  linearization point, velocity 0. The unobservable direction, mainly tilt against accelerometer bias, is then the
 *  same in all intervals of a stationary period. The current estimates do not serve for this: they differ between
 *  frames by more than the zero-velocity update allows. */
VF_FN void vf_stationary_first(const struct vf_vio_slot *before, struct vf_vio_slot *s)
{
    const struct vf_vio_state *from = before->prior ? &before->first : &before->value;
    if (s->prior || !s->stationary) return;
    s->prior = 1;
    s->first = s->value;
    memcpy(s->first.q, from->q, sizeof s->first.q);
    for (int k = 0; k < 3; k++) {
        s->first.p[k] = from->p[k];
        s->first.v[k] = 0.0;
    }
}

/* ---- IMU samples ------------------------------------------------------------------------------------------------- */

/** 1 if mean angular rate and mean specific force of the newest interval equal their running means. Updates these
 *  means. Run by one thread. */
VF_FN int vf_stationary_quiet(struct vf_vio_stationary *stationary, const struct vf_vio_slot *s)
{
    const double dt = s->motion.dt_s, least[2] = {VF_STATIONARY_RAD_S, VF_STATIONARY_M_S2};
    const double n = stationary->intervals < VF_STATIONARY_INTERVALS ? stationary->intervals : VF_STATIONARY_INTERVALS;
    double mean[6], square[2] = {0.0, 0.0};
    int quiet = s->motion.flags == 0;
    vf_quaternion_logarithm(s->motion.q, mean);
    for (int k = 0; k < 3; k++) {
        mean[k] = mean[k] / dt + s->bias[k];
        mean[3 + k] = s->motion.v[k] / dt + s->bias[3 + k];
    }
    for (int k = 0; k < 6; k++) {
        const double off = n > 0.0 ? mean[k] - stationary->mean[k] : 0.0;
        square[k / 3] += off * off;
        stationary->mean[k] += n > 0.0 ? off / (n + 1.0) : mean[k] - stationary->mean[k];
    }
    for (int k = 0; k < 2; k++) {
        const double variance = s->motion.P[10 * (k ? VF_ROW_V : VF_ROW_W)] / (dt * dt);
        quiet &= square[k] < VF_STATIONARY_QUIET * (variance * (1.0 + 1.0 / (n + 1.0)) + least[k] * least[k]);
    }
    return quiet;
}

/* ---- observations ------------------------------------------------------------------------------------------------ */

/** Writes the two whitened rows of observation `at`. Columns 0 .. 5: derivatives of its bearing by velocity and angular
 *  rate of the camera, in camera axes. Column 6: change of the bearing since the reference. Sets `tested` and `still`.
 *  variance: of the inverse range [1/m^2]. It is taken off the square of the estimate, which exceeds the square of the
 *  true value by as much. */
VF_FN void vf_stationary_row(struct vf_stationary_sums *s, int at, const struct vf_landmark *l,
                             const struct vf_observation *seen, uint64_t t_ns, float variance)
{
    float axis[2][3], square = 0.0f;
    const float inverse2 = l->inverse * l->inverse - variance, inverse = inverse2 > 0.0f ? sqrtf(inverse2) : 0.0f;
    const float time = (float)((double)(t_ns - l->still_ns) * 1e-9), depth = vf_dot(l->still, seen->bearing);
    const float weight = sqrtf(0.5f) / seen->sigma; /* 1 / standard deviation of a difference of bearings [1/rad] */
    s->tested[at] = l->still_ns != t_ns;
    if (!s->tested[at] || !(depth > (float)VF_LANDMARK_MIN_DEPTH)) return;
    vf_landmark_tangent_basis(l->still, axis[0], axis[1]);
    VF_UNROLL
    for (int i = 0; i < 2; i++) {
        float about[3];
        vf_cross(axis[i], l->still, about);
        const float r = vf_dot(axis[i], seen->bearing) / depth * weight;
        s->row[i][6][at] = r;
        square += r * r;
        for (int k = 0; k < 3; k++) {
            s->row[i][k][at] = -axis[i][k] * inverse * time * weight;
            s->row[i][3 + k][at] = about[k] * time * weight;
        }
    }
    s->still[at] = square < VF_STATIONARY_OWN;
}

/** Sums one element of the normal equations over the landmarks that have not moved. a: row; b: column; 6: right
 *  side. */
VF_FN void vf_stationary_sum(struct vf_stationary_sums *s, uint32_t rows, int a, int b)
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

/** Counts the observations of one kind. still: 0: with a reference bearing; 1: without motion since the reference. */
VF_FN void vf_stationary_count(struct vf_stationary_sums *s, uint32_t rows, int still)
{
    int32_t number = 0;
    VF_UNROLL_16
    for (uint32_t i = 0; i < rows; i++) number += still ? s->still[i] : s->tested[i];
    s->number[still] = number;
}

/** Squared norm of the fitted velocity and angular rate (six components), whitened by their covariance. */
VF_FN double vf_stationary_square(const struct vf_stationary_sums *s)
{
    double L[36], y[6], square = 0.0;
    vf_solve_cholesky(s->H, L, 6, 6, VF_SOLVE_ROUNDING);
    memcpy(y, s->g, sizeof y);
    vf_solve_forward(L, y, 6, 6);
    for (int k = 0; k < 6; k++) square += y[k] * y[k];
    return square;
}

/** 1 if the observations would detect VF_STATIONARY_MPS in any direction: the smallest eigenvalue of the velocity block
 *  of H exceeds VF_STATIONARY_CHI2 / VF_STATIONARY_MPS^2. creeps: number of times that the standard deviations are
 *  doubled. */
VF_FN int vf_stationary_would_detect(const struct vf_stationary_sums *s, uint32_t creeps)
{
    double A[9], L[9];
    const double mps = VF_STATIONARY_MPS / (double)(1 << creeps), least = VF_STATIONARY_CHI2 / (mps * mps);
    int positive = 1;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) A[3 * i + j] = s->H[6 * i + j] - (i == j ? least : 0.0);
    for (int i = 0; i < 3; i++) positive &= A[4 * i] > 0.0;
    return positive && vf_solve_cholesky(A, L, 3, 3, 0.0) == 0;
}

/** Begins, continues or ends a stationary period with the newest frame. Run by one thread. */
VF_FN void vf_stationary_decide(struct vf_vio_window *w, struct vf_vio_work *k)
{
    struct vf_vio_stationary *stationary = &w->stationary;
    struct vf_vio_slot *s = &w->slot[w->newest];
    const double tested = k->stationary.number[0], still = k->stationary.number[1];
    const int before = stationary->holds;
    const double square = vf_stationary_square(&k->stationary),
                 share = before ? VF_STATIONARY_GO_ON : VF_STATIONARY_BEGIN;
    const int quiet = s->motion.dt_s > 0.0 && vf_stationary_quiet(stationary, s);
    k->stationary.anew = !(quiet && still > 0.0 && still >= share * tested && square < VF_STATIONARY_CHI2);
    if (!quiet)
        stationary->creeps = 0;
    else if (before && square >= VF_STATIONARY_CHI2 && stationary->creeps < VF_STATIONARY_CREEPS)
        stationary->creeps++;
    if (k->stationary.anew) {
        stationary->holds = 0;
        stationary->intervals = 0;
        stationary->anchor = -1;
        for (int f = 0; f < VF_VIO_FRAMES; f++) w->slot[f].stationary = 0;
    } else {
        stationary->intervals++;
        stationary->holds = before || (square < VF_STATIONARY_CHI2_BEGIN &&
                                       vf_stationary_would_detect(&k->stationary, stationary->creeps));
        s->stationary = stationary->holds;
    }
    k->stationary.begins = stationary->holds && !before;
    if (!stationary->holds) return;
    w->flags |= VFRONT_NAV_STATIONARY;
    for (int i = 0; i < 3; i++) s->rate[i] = 0.0;
}

/** Removes the newest frame's observations from their landmarks at the start of a stationary period, so that the
 *  marginalization does not use them. vf_stationary_anchor() makes each the first observation of its landmark. Runs in
 *  one block. */
VF_FN void vf_stationary_part(struct vf_vio_window *w, const struct vf_vio_work *k)
{
    VF_PARTS(i, (int)k->observations)
    if (k->landmark_of[i] >= 0) w->landmark[k->landmark_of[i]].seen &= ~(1u << w->newest);
    VF_ITEM_SYNC();
}

/** Anchors the landmarks of accepted observations in the newest frame, after the marginalization at the start of a
 *  stationary period, because their anchors are dropped. Runs in one block. */
VF_FN void vf_stationary_anchor(struct vf_vio_window *w, const struct vf_vio_work *k)
{
    VF_PARTS(i, (int)k->observations)
    {
        if (!vf_vio_accepted(k, (uint32_t)i)) continue;
        struct vf_landmark *l = &w->landmark[k->landmark_of[i]];
        l->anchor = w->newest;
        l->seen = 1u << w->newest;
        memcpy(l->bearing, l->observation[w->newest].bearing, sizeof l->bearing);
    }
    VF_ITEM_SYNC();
}

/** Sets the reference bearing of a landmark, for the stationary test, to its bearing in the newest frame. */
VF_FN void vf_stationary_refer(struct vf_landmark *l, const struct vf_observation *seen, uint64_t t_ns)
{
    memcpy(l->still, seen->bearing, sizeof l->still);
    l->still_ns = t_ns;
}

/** Tests whether the camera is stationary in the newest frame. Requires k->landmark_of and
 *  k->range_information. Runs in one block. */
VF_FN void vf_vio_test_stationary(struct vf_vio_window *w, struct vf_vio_work *k,
                                  const struct vf_observation *observation, uint32_t observations)
{
    const uint64_t t_ns = w->slot[w->newest].t_ns;
    const float noise = (float)vf_vio_noise_variance(w);
    VF_PARTS(i, (int)observations)
    {
        const int l = k->landmark_of[i];
        k->stationary.tested[i] = k->stationary.still[i] = 0;
        if (l >= 0)
            vf_stationary_row(&k->stationary, i, &w->landmark[l], &observation[i], t_ns,
                              noise / k->range_information[l]);
    }
    VF_ITEM_SYNC();
    enum { ROWS = 6, COLUMNS = ROWS + 1, COUNTS = 64 }; /* the counts run in another warp than the sums */
    VF_PARTS(i, COUNTS + 2)
    {
        if (i < ROWS * COLUMNS) vf_stationary_sum(&k->stationary, observations, i / COLUMNS, i % COLUMNS);
        if (i >= COUNTS) vf_stationary_count(&k->stationary, observations, i - COUNTS);
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, 1)
    vf_stationary_decide(w, k);
    VF_ITEM_SYNC();
    VF_PARTS(i, (int)observations)
    if (k->stationary.anew && k->landmark_of[i] >= 0)
        vf_stationary_refer(&w->landmark[k->landmark_of[i]], &observation[i], t_ns);
}

#endif
