/* SPDX-License-Identifier: MIT */
#include "readings.h"

#include "preintegrate.h"

/* ---- one reading after the other --------------------------------------------------------------------------------- */

/** Kind of a reading, were the IMU at rest for long. */
static uint32_t rest_of(const vfront_imu_t *imu, double gravity)
{
    const double *a = imu->accel_m_s2, square = a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
    const double right = gravity > 0.0 ? gravity : 9.81;
    if (!vf_all_within(imu->gyro_rad_s, 3, 0.2)) return VF_REST_NONE;
    if (vf_within(square, 0.64 * right * right, 1.44 * right * right)) return VF_REST_RIGHT;
    if (vf_within(square, 0.64, 1.44)) return VF_REST_IN_G;
    return square > 0.0 && square < 0.25 ? VF_REST_NO_GRAVITY : VF_REST_NONE;
}

/** Next state of a watch. before: the reading before, or NULL. */
static void watch(struct vf_readings_watch *w, const vfront_imu_t *before, const vfront_imu_t *now, double gravity)
{
    const uint32_t rest = rest_of(now, gravity);
    const int apart = !before || now->t_ns - before->t_ns > VFRONT_IMU_GAP_NS;
    const int gyro = before && !memcmp(before->gyro_rad_s, now->gyro_rad_s, sizeof now->gyro_rad_s);
    const int accel = before && !memcmp(before->accel_m_s2, now->accel_m_s2, sizeof now->accel_m_s2);
    w->gyro_run = gyro ? w->gyro_run + (w->gyro_run < UINT32_MAX) : 1;
    w->accel_run = accel ? w->accel_run + (w->accel_run < UINT32_MAX) : 1;
    if (apart || rest != w->rest) w->since_ns = now->t_ns;
    w->rest = rest;
    if (rest != VF_REST_NONE && now->t_ns - w->since_ns >= VF_READINGS_REST_NS) w->verdict = rest;
}

/* ---- over frames ------------------------------------------------------------------------------------------------- */

void vf_readings_take(struct vf_readings *r, const vfront_imu_noise_t *noise, const vfront_imu_t *imu, uint32_t n,
                      uint64_t last_ns, int given, int anew)
{
    const uint32_t kept = anew ? 0 : r->kept, taken = vf_imu_until(imu, n, last_ns);
    r->next = r->watch;
    if (anew) memset(&r->next, 0, sizeof r->next);
    r->next_begun = given || (!anew && r->begun);
    r->total = kept + taken;
    r->ahead = n - taken;
    if (taken) memcpy(&r->reading[kept], imu, taken * sizeof *imu);
    for (uint32_t i = kept; i < r->total; i++)
        watch(&r->next, i ? &r->reading[i - 1] : NULL, &r->reading[i], noise->gravity_m_s2);
}

void vf_readings_step(struct vf_readings *r, uint64_t from_ns, uint64_t to_ns)
{
    r->from_ns = from_ns;
    r->to_ns = to_ns;
    r->first = r->count = 0;
    if (to_ns <= from_ns || !r->total) return;
    const uint32_t until = vf_imu_until(r->reading, r->total, from_ns),
                   before = vf_imu_until(r->reading, r->total, to_ns - 1);
    r->first = until ? until - 1 : 0;
    r->count = (before < r->total ? before + 1 : before) - r->first;
}

void vf_readings_keep(struct vf_readings *r)
{
    const uint32_t until = vf_imu_until(r->reading, r->total, r->to_ns), drop = until ? until - 1 : 0;
    memmove(r->reading, &r->reading[drop], (r->total - drop) * sizeof *r->reading);
    r->kept = r->total - drop;
    r->begun = r->next_begun;
    r->watch = r->next;
}

/* ---- faults of a step -------------------------------------------------------------------------------------------- */

/** Longest time between two readings in a row of the step [ns]. */
static uint64_t longest_ns(const struct vf_readings *r)
{
    const vfront_imu_t *imu = &r->reading[r->first];
    uint64_t longest = 0;
    for (uint32_t i = 1; i < r->count; i++)
        if (imu[i].t_ns - imu[i - 1].t_ns > longest) longest = imu[i].t_ns - imu[i - 1].t_ns;
    return longest;
}

int vf_readings_apart(const struct vf_readings *r) { return longest_ns(r) > VFRONT_IMU_GAP_NS; }

int vf_readings_gap(const struct vf_readings *r, uint64_t most_ns)
{
    const vfront_imu_t *imu = &r->reading[r->first];
    if (!r->count) return r->to_ns - r->from_ns > most_ns;
    const uint64_t first_ns = imu[0].t_ns, last_ns = imu[r->count - 1].t_ns;
    if (first_ns > r->from_ns && first_ns - r->from_ns > most_ns) return 1;
    if (last_ns < r->to_ns && r->to_ns - last_ns > most_ns) return 1;
    return longest_ns(r) > most_ns;
}

static int is_saturated(const struct vf_readings *r, const vfront_imu_noise_t *noise)
{
    int found = 0;
    for (uint32_t i = r->first; i < r->first + r->count; i++)
        found |= vf_imu_at_limit(r->reading[i].gyro_rad_s, noise->gyro_limit_rad_s) |
                 vf_imu_at_limit(r->reading[i].accel_m_s2, noise->accel_limit_m_s2);
    return found;
}

static int is_zero(const struct vf_readings *r)
{
    int zero = r->count > 0;
    for (uint32_t i = r->first; i < r->first + r->count; i++)
        zero &= vf_all_within(r->reading[i].gyro_rad_s, 3, 0.0) & vf_all_within(r->reading[i].accel_m_s2, 3, 0.0);
    return zero;
}

/** 1 if rates or forces have been the same from the step's first reading to the last that is known. */
static int is_stuck(const struct vf_readings *r, uint32_t stuck)
{
    const uint32_t all = r->total - r->first, least = all > stuck ? all : stuck;
    return stuck && r->count && (r->next.gyro_run >= least || r->next.accel_run >= least);
}

uint32_t vf_readings_faults(const struct vf_readings *r, const vfront_imu_noise_t *noise, uint32_t stuck)
{
    const int known = !vf_imu_noise_none(noise);
    const uint64_t usual_ns = known ? (uint64_t)(1.5e9 / noise->rate_hz) : VFRONT_IMU_GAP_NS;
    uint32_t faults = 0;
    if (!r->next_begun || r->to_ns <= r->from_ns) return 0;
    if (!r->total || r->reading[r->total - 1].t_ns <= r->from_ns) faults |= VFRONT_IMU_MISSING;
    if (vf_readings_gap(r, usual_ns)) faults |= VFRONT_IMU_GAP;
    if (known && is_saturated(r, noise)) faults |= VFRONT_IMU_SATURATED;
    if (is_stuck(r, stuck)) faults |= VFRONT_IMU_STUCK;
    if (is_zero(r)) faults |= VFRONT_IMU_ZERO;
    if (r->ahead) faults |= VFRONT_IMU_AHEAD;
    if (r->next.verdict == VF_REST_IN_G) faults |= VFRONT_IMU_IN_G;
    if (r->next.verdict == VF_REST_NO_GRAVITY) faults |= VFRONT_IMU_NO_GRAVITY;
    return faults;
}
