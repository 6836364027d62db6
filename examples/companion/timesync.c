/* SPDX-License-Identifier: MIT */
#include "timesync.h"

#include <math.h>
#include <string.h>

#define TRIP_MAX_S 1.0              /* a longer one is not used */
#define FLOOR_S 20e-6               /* deviation of a round trip as short as any: stamps, scheduling */
#define SKEW_S 100e-6               /* of a crystal, at first */
#define WANDER 1e-7                 /* random walk of the skew [1/sqrt(s)] */
#define JITTER_S 1e-6               /* random walk of the offset [s/sqrt(s)] */
#define SKEW_MAX 300e-6             /* of two crystals, at any time */
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

/** What a round trip allows. */
static timesync_bounds_t bounds_of(const timesync_t *s, int64_t offset_ns, uint64_t at_ns, double trip_s)
{
    const double offset_s = (double)(offset_ns - s->base_ns) * 1e-9, half_s = trip_s / 2.0 + FLOOR_S;
    return (timesync_bounds_t){.at_ns = at_ns, .least_s = offset_s - half_s, .most_s = offset_s + half_s};
}

/** What both allow, the one before widened by the time since. 0: nothing; *to is unchanged. */
static int intersect(timesync_bounds_t *to, const timesync_bounds_t *with)
{
    const double wider_s = with->at_ns > to->at_ns ? SKEW_MAX * 1e-9 * (double)(with->at_ns - to->at_ns) : 0.0;
    const timesync_bounds_t both = {.at_ns = with->at_ns,
                                    .least_s = fmax(to->least_s - wider_s, with->least_s),
                                    .most_s = fmin(to->most_s + wider_s, with->most_s)};
    if (both.least_s > both.most_s) return 0;
    *to = both;
    return 1;
}

static void begin(timesync_t *s, int64_t offset_ns, uint64_t at_ns, double trip_s)
{
    const double sigma_s = trip_s / 2.0 + FLOOR_S;
    s->base_ns = offset_ns;
    s->at_ns = at_ns;
    s->offset_s = s->skew = 0.0;
    s->P[0] = sigma_s * sigma_s;
    s->P[1] = 0.0;
    s->P[2] = SKEW_S * SKEW_S;
    s->count = s->outliers = 0;
    s->bounds = bounds_of(s, offset_ns, at_ns, trip_s);
}

static void correct(timesync_t *s, double residual_s, double variance)
{
    const double S = s->P[0] + variance, k0 = s->P[0] / S, k1 = s->P[1] / S;
    s->offset_s += k0 * residual_s;
    s->skew += k1 * residual_s;
    s->P[2] -= k1 * s->P[1];
    s->P[1] -= k0 * s->P[1];
    s->P[0] -= k0 * s->P[0];
    s->offset_s = fmin(fmax(s->offset_s, s->bounds.least_s), s->bounds.most_s);
    s->skew = fmin(fmax(s->skew, -SKEW_MAX), SKEW_MAX);
}

/** A round trip contrary to all before: taken once many agree. */
static timesync_result_t outlier(timesync_t *s, int64_t offset_ns, uint64_t at_ns, double trip_s)
{
    const timesync_bounds_t its = bounds_of(s, offset_ns, at_ns, trip_s);
    if (s->outliers && intersect(&s->other, &its)) {
        s->outliers++;
    } else {
        s->other = its;
        s->outliers = 1;
    }
    if (s->outliers < TIMESYNC_JUMP) return TIMESYNC_OUTLIER;
    s->jump_s = (double)(offset_ns - s->base_ns) * 1e-9 - s->offset_s;
    begin(s, offset_ns, at_ns, trip_s);
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
        begin(s, offset_ns, middle_ns, trip_s);
    } else {
        const double min_s = timesync_trip_s(s);
        const double slack_s = (fmax(trip_s - min_s, 0.0) + excess_s(s, min_s)) / 2.0;
        const double variance = FLOOR_S * FLOOR_S + slack_s * slack_s / 3.0; /* even within its bounds */
        const timesync_bounds_t its = bounds_of(s, offset_ns, middle_ns, trip_s);
        if (!intersect(&s->bounds, &its)) return outlier(s, offset_ns, middle_ns, trip_s);
        predict(s, middle_ns);
        correct(s, (double)(offset_ns - s->base_ns) * 1e-9 - s->offset_s, variance);
        s->outliers = 0;
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
