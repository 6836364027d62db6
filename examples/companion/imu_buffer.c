/* SPDX-License-Identifier: MIT */
#include "imu_buffer.h"

#include <math.h>
#include <string.h>

static int is_good(const vfront_imu_t *r)
{
    for (int i = 0; i < 3; i++) {
        if (!(fabs(r->gyro_rad_s[i]) <= VFRONT_GYRO_MOST_RAD_S)) return 0; /* NaN, too */
        if (!(fabs(r->accel_m_s2[i]) <= VFRONT_ACCEL_MOST_M_S2)) return 0;
    }
    return 1;
}

uint64_t imu_buffer_last_ns(const imu_buffer_t *r) { return r->count ? r->sample[r->count - 1].t_ns : 0; }

int imu_buffer_add(imu_buffer_t *r, const vfront_imu_t *sample)
{
    if (!is_good(sample) || sample->t_ns <= imu_buffer_last_ns(r)) {
        r->refused++;
        return 0;
    }
    if (r->count == IMU_BUFFER_MAX) {
        const uint32_t out = IMU_BUFFER_MAX / 2;
        memmove(r->sample, r->sample + out, (r->count - out) * sizeof *r->sample);
        r->expired_count += r->taken < out ? out - r->taken : 0;
        r->taken = r->taken > out ? r->taken - out : 0;
        r->count -= out;
    }
    r->sample[r->count++] = *sample;
    r->total++;
    return 1;
}

uint32_t imu_buffer_take(imu_buffer_t *r, vfront_imu_t *out, uint32_t max)
{
    const uint32_t left = r->count - r->taken, n = left < max ? left : max;
    memcpy(out, r->sample + r->count - n, n * sizeof *out);
    r->expired_count += left - n;
    r->taken = r->count;
    return n;
}

void imu_buffer_return(imu_buffer_t *r, uint32_t count) { r->taken -= count < r->taken ? count : r->taken; }

/** Index of the last sample at or before a time; -1: none. */
static int32_t before(const imu_buffer_t *r, uint64_t t_ns)
{
    int32_t i = (int32_t)r->count - 1;
    while (i >= 0 && r->sample[i].t_ns > t_ns) i--;
    return i;
}

int imu_buffer_rate(const imu_buffer_t *r, uint64_t t_ns, double rate_rad_s[3])
{
    const int32_t i = before(r, t_ns);
    if (!r->count) return 0;
    const vfront_imu_t *a = &r->sample[i < 0 ? 0 : i], *b = i >= 0 && (uint32_t)i + 1 < r->count ? a + 1 : a;
    const double share = b == a ? 0.0 : (double)(t_ns - a->t_ns) / (double)(b->t_ns - a->t_ns);
    for (int k = 0; k < 3; k++) rate_rad_s[k] = a->gyro_rad_s[k] + share * (b->gyro_rad_s[k] - a->gyro_rad_s[k]);
    return 1;
}

int imu_buffer_propagate(const imu_buffer_t *r, const vfront_nav_t *nav, const vfront_imu_noise_t *noise, uint64_t t_ns,
                         vfront_nav_t *out)
{
    if (t_ns <= nav->t_ns || imu_buffer_last_ns(r) < t_ns) return 0;
    const int32_t first = before(r, nav->t_ns), last = before(r, t_ns), i = first < 0 ? 0 : first;
    const int32_t end = r->sample[last < 0 ? 0 : last].t_ns < t_ns ? last + 2 : last + 1;
    return vfront_propagate(nav, noise, r->sample + i, (uint32_t)(end - i), t_ns, out) == VFRONT_OK;
}
