/* SPDX-License-Identifier: MIT */
#include "samples.h"

#include "preintegrate.h"

/* ---- sample by sample -------------------------------------------------------------------------------------------- */

/** Unit of the specific force (enum vf_stationary) by its magnitude in one sample. VF_STATIONARY_NONE if the rates do
 *  not look stationary. gravity: [m/s^2]; 0: 9.81. */
static uint32_t stationary_kind(const vfront_imu_t *imu, double gravity)
{
    const double *a = imu->accel_m_s2, square = a[0] * a[0] + a[1] * a[1] + a[2] * a[2];
    const double expected = gravity > 0.0 ? gravity : 9.81;
    if (!vf_all_within(imu->gyro_rad_s, 3, 0.2)) return VF_STATIONARY_NONE;
    if (vf_within(square, 0.64 * expected * expected, 1.44 * expected * expected)) return VF_STATIONARY_IN_M_S2;
    if (vf_within(square, 0.64, 1.44)) return VF_STATIONARY_IN_G;
    return square > 0.0 && square < 0.25 ? VF_STATIONARY_NO_GRAVITY : VF_STATIONARY_NONE;
}

/** Updates the detection of stuck samples and of the unit of the forces with one sample. before: previous sample, or
 *  NULL; gravity: [m/s^2]. */
static void monitor(struct vf_samples_monitor *w, const vfront_imu_t *before, const vfront_imu_t *now, double gravity)
{
    const uint32_t stationary = stationary_kind(now, gravity);
    const int gap = !before || now->t_ns - before->t_ns > VFRONT_IMU_GAP_NS;
    const int gyro = before && !memcmp(before->gyro_rad_s, now->gyro_rad_s, sizeof now->gyro_rad_s);
    const int accel = before && !memcmp(before->accel_m_s2, now->accel_m_s2, sizeof now->accel_m_s2);
    w->gyro_run = gyro ? w->gyro_run + (w->gyro_run < UINT32_MAX) : 1;
    w->accel_run = accel ? w->accel_run + (w->accel_run < UINT32_MAX) : 1;
    if (gap || stationary != w->stationary) w->since_ns = now->t_ns;
    w->stationary = stationary;
    if (stationary != VF_STATIONARY_NONE && now->t_ns - w->since_ns >= VF_SAMPLES_STATIONARY_NS)
        w->confirmed = stationary;
}

/* ---- across frames ----------------------------------------------------------------------------------------------- */

void vf_samples_append(struct vf_samples *r, const vfront_imu_noise_t *noise, const vfront_imu_t *imu, uint32_t n,
                       uint64_t last_ns, int given, int restart)
{
    const uint32_t kept = restart ? 0 : r->kept, taken = vf_imu_until(imu, n, last_ns);
    r->next = r->monitor;
    if (restart) memset(&r->next, 0, sizeof r->next);
    r->next_has_imu = given || (!restart && r->has_imu);
    r->restart = restart != 0;
    r->total = kept + taken;
    r->ahead = n - taken;
    if (taken) memcpy(&r->buffer[VF_SAMPLES_EARLIER + kept], imu, taken * sizeof *imu);
    for (uint32_t i = kept; i < r->total; i++)
        monitor(&r->next, i ? vf_samples_at(r, i - 1) : NULL, vf_samples_at(r, i), noise->gravity_m_s2);
}

void vf_samples_select(struct vf_samples *r, uint64_t from_ns, uint64_t to_ns)
{
    r->from_ns = from_ns;
    r->to_ns = to_ns;
    r->first = r->count = 0;
    if (to_ns <= from_ns || !r->total) return;
    const vfront_imu_t *sample = vf_samples_at(r, 0);
    const uint32_t until = vf_imu_until(sample, r->total, from_ns), before = vf_imu_until(sample, r->total, to_ns - 1);
    r->first = until ? until - 1 : 0;
    r->count = (before < r->total ? before + 1 : before) - r->first;
}

/** Number of samples directly before sample `from` that are kept with it, at most VF_SAMPLES_EARLIER. */
static uint32_t earlier_than(const struct vf_samples *r, uint32_t from)
{
    const uint32_t all = r->restart ? 0 : r->earlier + from;
    return all > VF_SAMPLES_EARLIER ? VF_SAMPLES_EARLIER : all;
}

const vfront_imu_t *vf_samples_around(const struct vf_samples *r, uint32_t *count)
{
    const uint32_t earlier = earlier_than(r, r->first);
    *count = r->count ? earlier + r->total - r->first : 0;
    return vf_samples_at(r, r->first) - earlier;
}

void vf_samples_keep(struct vf_samples *r)
{
    const uint32_t until = vf_imu_until(vf_samples_at(r, 0), r->total, r->to_ns), drop = until ? until - 1 : 0,
                   earlier = earlier_than(r, drop);
    vfront_imu_t *to = &r->buffer[VF_SAMPLES_EARLIER - earlier];
    memmove(to, to + drop, (earlier + r->total - drop) * sizeof *to);
    r->kept = r->total - drop;
    r->earlier = earlier;
    r->has_imu = r->next_has_imu;
    r->monitor = r->next;
}

/* ---- faults of a step -------------------------------------------------------------------------------------------- */

/** Longest interval between consecutive samples of the step [ns]. */
static uint64_t longest_interval_ns(const struct vf_samples *r)
{
    const vfront_imu_t *imu = vf_samples_at(r, r->first);
    uint64_t longest = 0;
    for (uint32_t i = 1; i < r->count; i++)
        if (imu[i].t_ns - imu[i - 1].t_ns > longest) longest = imu[i].t_ns - imu[i - 1].t_ns;
    return longest;
}

int vf_samples_inner_gap(const struct vf_samples *r) { return longest_interval_ns(r) > VFRONT_IMU_GAP_NS; }

int vf_samples_gap(const struct vf_samples *r, uint64_t max_ns)
{
    const vfront_imu_t *imu = vf_samples_at(r, r->first);
    if (!r->count) return r->to_ns - r->from_ns > max_ns;
    const uint64_t first_ns = imu[0].t_ns, last_ns = imu[r->count - 1].t_ns;
    if (first_ns > r->from_ns && first_ns - r->from_ns > max_ns) return 1;
    if (last_ns < r->to_ns && r->to_ns - last_ns > max_ns) return 1;
    return longest_interval_ns(r) > max_ns;
}

static int is_saturated(const struct vf_samples *r, const vfront_imu_noise_t *noise)
{
    int found = 0;
    for (uint32_t i = r->first; i < r->first + r->count; i++)
        found |= vf_imu_at_limit(vf_samples_at(r, i)->gyro_rad_s, noise->gyro_limit_rad_s) |
                 vf_imu_at_limit(vf_samples_at(r, i)->accel_m_s2, noise->accel_limit_m_s2);
    return found;
}

static int is_zero(const struct vf_samples *r)
{
    int zero = r->count > 0;
    for (uint32_t i = r->first; i < r->first + r->count; i++)
        zero &= vf_all_within(vf_samples_at(r, i)->gyro_rad_s, 3, 0.0) &
                vf_all_within(vf_samples_at(r, i)->accel_m_s2, 3, 0.0);
    return zero;
}

/** 1 if all rates, or all forces, are bit-equal from the step's first sample to the newest one, in at least `stuck`
 *  samples. */
static int is_stuck(const struct vf_samples *r, uint32_t stuck)
{
    const uint32_t all = r->total - r->first, min_run = all > stuck ? all : stuck;
    return stuck && r->count && (r->next.gyro_run >= min_run || r->next.accel_run >= min_run);
}

uint32_t vf_samples_faults(const struct vf_samples *r, const vfront_imu_noise_t *noise, uint32_t stuck)
{
    const int known = !vf_imu_noise_none(noise);
    const uint64_t max_interval_ns = known ? (uint64_t)(VF_IMU_GAP_INTERVALS * 1e9 / noise->rate_hz)
                                           : VFRONT_IMU_GAP_NS;
    uint32_t faults = 0;
    if (!r->next_has_imu || r->to_ns <= r->from_ns) return 0;
    if (!r->total || vf_samples_at(r, r->total - 1)->t_ns <= r->from_ns) faults |= VFRONT_IMU_MISSING;
    if (vf_samples_gap(r, max_interval_ns)) faults |= VFRONT_IMU_GAP;
    if (known && is_saturated(r, noise)) faults |= VFRONT_IMU_SATURATED;
    if (is_stuck(r, stuck)) faults |= VFRONT_IMU_STUCK;
    if (is_zero(r)) faults |= VFRONT_IMU_ZERO;
    if (r->ahead) faults |= VFRONT_IMU_AHEAD;
    if (r->next.confirmed == VF_STATIONARY_IN_G) faults |= VFRONT_IMU_IN_G;
    if (r->next.confirmed == VF_STATIONARY_NO_GRAVITY) faults |= VFRONT_IMU_NO_GRAVITY;
    return faults;
}
