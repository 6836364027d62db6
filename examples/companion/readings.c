/* SPDX-License-Identifier: MIT */
#include "readings.h"

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

uint64_t readings_last_ns(const readings_t *r) { return r->count ? r->reading[r->count - 1].t_ns : 0; }

int readings_add(readings_t *r, const vfront_imu_t *reading)
{
    if (!is_good(reading) || reading->t_ns <= readings_last_ns(r)) {
        r->refused++;
        return 0;
    }
    if (r->count == READINGS_MOST) {
        const uint32_t out = READINGS_MOST / 2;
        memmove(r->reading, r->reading + out, (r->count - out) * sizeof *r->reading);
        r->not_given += r->given < out ? out - r->given : 0;
        r->given = r->given > out ? r->given - out : 0;
        r->count -= out;
    }
    r->reading[r->count++] = *reading;
    r->total++;
    return 1;
}

uint32_t readings_for_frame(readings_t *r, vfront_imu_t *out, uint32_t most)
{
    const uint32_t left = r->count - r->given, n = left < most ? left : most;
    memcpy(out, r->reading + r->count - n, n * sizeof *out);
    r->not_given += left - n;
    r->given = r->count;
    return n;
}

void readings_give_back(readings_t *r, uint32_t count) { r->given -= count < r->given ? count : r->given; }

/** Index of the last reading at or before a time; -1: none. */
static int32_t before(const readings_t *r, uint64_t t_ns)
{
    int32_t i = (int32_t)r->count - 1;
    while (i >= 0 && r->reading[i].t_ns > t_ns) i--;
    return i;
}

int readings_rate(const readings_t *r, uint64_t t_ns, double rate_rad_s[3])
{
    const int32_t i = before(r, t_ns);
    if (!r->count) return 0;
    const vfront_imu_t *a = &r->reading[i < 0 ? 0 : i], *b = i >= 0 && (uint32_t)i + 1 < r->count ? a + 1 : a;
    const double share = b == a ? 0.0 : (double)(t_ns - a->t_ns) / (double)(b->t_ns - a->t_ns);
    for (int k = 0; k < 3; k++) rate_rad_s[k] = a->gyro_rad_s[k] + share * (b->gyro_rad_s[k] - a->gyro_rad_s[k]);
    return 1;
}

int readings_carry(const readings_t *r, const vfront_nav_t *nav, const vfront_imu_noise_t *noise, uint64_t t_ns,
                   vfront_nav_t *out)
{
    if (t_ns <= nav->t_ns || readings_last_ns(r) < t_ns) return 0;
    const int32_t first = before(r, nav->t_ns), last = before(r, t_ns), i = first < 0 ? 0 : first;
    const int32_t end = r->reading[last < 0 ? 0 : last].t_ns < t_ns ? last + 2 : last + 1;
    return vfront_propagate(nav, noise, r->reading + i, (uint32_t)(end - i), t_ns, out) == VFRONT_OK;
}
