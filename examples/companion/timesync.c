/* SPDX-License-Identifier: MIT */
#include "timesync.h"

#include <math.h>
#include <string.h>

#define TRIP_MAX_S 1.0  /* a longer one is not used */
#define FLOOR_S 20e-6   /* deviation of a round trip as short as any: stamps, scheduling */
#define SKEW_S 100e-6   /* of a crystal, at first */
#define WANDER 1e-7     /* random walk of the skew [1/sqrt(s)] */
#define JITTER_S 1e-6   /* random walk of the offset [s/sqrt(s)] */
#define GATE 6.0        /* deviations from which on a round trip is strange */
#define GATE_MIN_S 2e-3 /* and no less than that */
#define OUTLIERS_MAX 5  /* in a row that agree: the clock was set */
#define OUTLIER_AGREEMENT_S 0.05
#define TIME_MAX_NS (INT64_MAX / 4) /* of any clock: 73 years */

double timesync_trip_s(const timesync_t *s)
{
    const uint32_t n = s->count < TIMESYNC_RECENT ? s->count : TIMESYNC_RECENT;
    double min = TRIP_MAX_S;
    for (uint32_t i = 0; i < n; i++)
        if (s->trip_s[i] < min) min = s->trip_s[i];
    return min;
}

double timesync_last_trip_s(const timesync_t *s)
{
    return s->count ? s->trip_s[(s->count - 1) % TIMESYNC_RECENT] : TRIP_MAX_S;
}

/** By how much even the shortest round trip of late may be longer than the shortest that there can be: the mean of what
 *  all of them are longer, over the root of their number, as of delays that add up from two exponential ones. */
static double excess_s(const timesync_t *s, double min_s)
{
    const uint32_t n = s->count < TIMESYNC_RECENT ? s->count : TIMESYNC_RECENT;
    double sum = 0.0;
    for (uint32_t i = 0; i < n; i++) sum += s->trip_s[i] - min_s;
    const double mean = n < TIMESYNC_MIN && sum / n < min_s ? min_s : sum / n;
    return mean / sqrt((double)n);
}

static void predict(timesync_t *s, uint64_t t_ns)
{
    const double dt = t_ns > s->at_ns ? (double)(t_ns - s->at_ns) * 1e-9 : 0.0;
    s->offset_s += s->skew * dt;
    s->P[0] += dt * (2.0 * s->P[1] + dt * s->P[2]) + JITTER_S * JITTER_S * dt + WANDER * WANDER * dt * dt * dt / 3.0;
    s->P[1] += dt * s->P[2] + WANDER * WANDER * dt * dt / 2.0;
    s->P[2] += WANDER * WANDER * dt;
    if (t_ns > s->at_ns) s->at_ns = t_ns;
}

static void begin(timesync_t *s, int64_t offset_ns, uint64_t at_ns, double sigma_s)
{
    s->base_ns = offset_ns;
    s->at_ns = at_ns;
    s->offset_s = s->skew = 0.0;
    s->P[0] = sigma_s * sigma_s;
    s->P[1] = 0.0;
    s->P[2] = SKEW_S * SKEW_S;
    s->count = s->outlier = 0;
}

static void correct(timesync_t *s, double residual_s, double variance)
{
    const double S = s->P[0] + variance, k0 = s->P[0] / S, k1 = s->P[1] / S;
    s->offset_s += k0 * residual_s;
    s->skew += k1 * residual_s;
    s->P[2] -= k1 * s->P[1];
    s->P[1] -= k0 * s->P[1];
    s->P[0] -= k0 * s->P[0];
}

/** A round trip far from all before: taken once several agree. */
static timesync_result_t outlier(timesync_t *s, int64_t offset_ns, uint64_t at_ns, double trip_s)
{
    const double apart_s = fabs((double)(offset_ns - s->outlier_ns)) * 1e-9;
    s->outlier = s->outlier && apart_s < OUTLIER_AGREEMENT_S ? s->outlier + 1 : 1;
    s->outlier_ns = offset_ns;
    if (s->outlier < OUTLIERS_MAX) return TIMESYNC_OUTLIER;
    begin(s, offset_ns, at_ns, trip_s / 2.0 + FLOOR_S);
    s->trip_s[0] = trip_s;
    s->count = 1;
    s->resets++;
    return TIMESYNC_RESET;
}

timesync_result_t timesync_add(timesync_t *s, uint64_t sent_ns, int64_t remote_ns, uint64_t received_ns)
{
    if (received_ns < sent_ns || received_ns > TIME_MAX_NS || remote_ns <= 0 || remote_ns > TIME_MAX_NS)
        return TIMESYNC_OUTLIER;
    const uint64_t trip_ns = received_ns - sent_ns, middle_ns = sent_ns + trip_ns / 2;
    const double trip_s = (double)trip_ns * 1e-9;
    if (trip_s > TRIP_MAX_S) return TIMESYNC_OUTLIER;
    const int64_t offset_ns = remote_ns - (int64_t)middle_ns;
    if (!s->count) {
        begin(s, offset_ns, middle_ns, trip_s / 2.0 + FLOOR_S);
    } else {
        const double min_s = timesync_trip_s(s);
        const double slack_s = (fmax(trip_s - min_s, 0.0) + excess_s(s, min_s)) / 2.0;
        const double variance = FLOOR_S * FLOOR_S + slack_s * slack_s / 3.0; /* even within its bounds */
        predict(s, middle_ns);
        const double residual_s = (double)(offset_ns - s->base_ns) * 1e-9 - s->offset_s;
        const double gate_s = GATE * sqrt(s->P[0] + variance);
        if (fabs(residual_s) > fmax(gate_s, GATE_MIN_S)) return outlier(s, offset_ns, middle_ns, trip_s);
        correct(s, residual_s, variance);
        s->outlier = 0;
    }
    s->trip_s[s->count++ % TIMESYNC_RECENT] = trip_s;
    return TIMESYNC_ACCEPTED;
}

int timesync_local(const timesync_t *s, int64_t remote_ns, uint64_t now_ns, uint64_t *local_ns, double *sigma_s)
{
    timesync_t now = *s;
    if (remote_ns <= 0 || remote_ns > TIME_MAX_NS) return 0;
    if (s->count < TIMESYNC_MIN || now_ns > s->at_ns + TIMESYNC_SILENCE_NS) return 0;
    predict(&now, now_ns);
    const double common_s = timesync_trip_s(s) / 4.0, sigma = sqrt(now.P[0] + common_s * common_s);
    const int64_t local = remote_ns - now.base_ns - (int64_t)(now.offset_s * 1e9);
    if (sigma > TIMESYNC_SIGMA_MAX_S || local <= 0) return 0;
    *local_ns = (uint64_t)local;
    *sigma_s = sigma;
    return 1;
}
