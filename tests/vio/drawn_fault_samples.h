/* SPDX-License-Identifier: MIT */
/* Faults of the IMU in its samples, and of the cameras' clock in the stamps of frames. */
#ifndef DRAWN_FAULT_SAMPLES_H
#define DRAWN_FAULT_SAMPLES_H

#include "drawn_fault.h"

/** Value c of a sample: 0..2 gyro, 3..5 accelerometer. */
static double *sample_value(vfront_imu_t *s, int c) { return (c < 3 ? s->gyro_rad_s : s->accel_m_s2) + c % 3; }

/** 1 if the fault touches value c. */
static int sample_touched(const struct fault *f, int c)
{
    const enum fault_sensor of = c < 3 ? FAULT_GYRO : FAULT_ACCEL;
    return (f->sensor == FAULT_IMU || f->sensor == of) && (f->axis == ALL_AXES || f->axis == c % 3);
}

/** Part of an error of size 1 along value c: on all axes along a drawn direction. */
static double sample_part(const struct fault *f, int c) { return f->axis == ALL_AXES ? f->direction[c % 3] : f->sign; }

/** Value c of a sample with the fault. held: the last one before the fault. */
typedef double sample_rule(const struct fault *f, int c, double value, double since_s, double held);

static void sample_apply(const struct fault *f, vfront_imu_t *imu, uint32_t from, uint32_t to, sample_rule *rule)
{
    const vfront_imu_t first = imu[from ? from - 1 : 0];
    for (uint32_t i = from; i < to; i++) {
        const double since = fault_time(imu[i].t_ns) - f->begin_s;
        for (int c = 0; c < 6; c++) {
            double *v = sample_value(&imu[i], c);
            vfront_imu_t held = first;
            if (sample_touched(f, c)) *v = rule(f, c, *v, since, *sample_value(&held, c));
        }
    }
}

#define SAMPLE_RULE(name, out)                                                                                         \
    static double name##_of(const struct fault *f, int c, double value, double since_s, double held)                   \
    {                                                                                                                  \
        (void)f, (void)c, (void)value, (void)since_s, (void)held;                                                      \
        return out;                                                                                                    \
    }                                                                                                                  \
    static void name(const struct fault *f, vfront_imu_t *imu, uint32_t *count, uint32_t from, uint32_t to)            \
    {                                                                                                                  \
        (void)count;                                                                                                   \
        world_reseed(f->seed, PART_FAULT_NOISE);                                                                       \
        sample_apply(f, imu, from, to, name##_of);                                                                     \
    }
SAMPLE_RULE(sample_bias, value + f->size * sample_part(f, c))
SAMPLE_RULE(sample_ramp, value + f->size * since_s * sample_part(f, c))
SAMPLE_RULE(sample_scale, value *(1 + f->sign * f->size))
SAMPLE_RULE(sample_negate, -value)
SAMPLE_RULE(sample_stick, held)
SAMPLE_RULE(sample_saturate, fmax(-f->size, fmin(f->size, value)))
SAMPLE_RULE(sample_noise, value + f->size * normal())

/** Axes exchanged: no order leaves all in place. */
static void sample_permute(const struct fault *f, vfront_imu_t *imu, uint32_t *count, uint32_t from, uint32_t to)
{
    static const int orders[5][3] = {{1, 0, 2}, {0, 2, 1}, {2, 1, 0}, {1, 2, 0}, {2, 0, 1}};
    (void)count;
    for (uint32_t i = from; i < to; i++) {
        vfront_imu_t was = imu[i];
        for (int c = 0; c < 6; c++)
            if (sample_touched(f, c))
                *sample_value(&imu[i], c) = *sample_value(&was, c - c % 3 + orders[f->order][c % 3]);
    }
}

/** IMU turned in its mount. */
static void sample_turn(const struct fault *f, vfront_imu_t *imu, uint32_t *count, uint32_t from, uint32_t to)
{
    const double angle = f->sign * f->size * DEGREE;
    const double w[3] = {angle * (f->axis == 0), angle * (f->axis == 1), angle * (f->axis == 2)};
    double R[9];
    (void)count;
    rotation_of(w, R);
    for (uint32_t i = from; i < to; i++)
        rotate(R, imu[i].gyro_rad_s, imu[i].gyro_rad_s), rotate(R, imu[i].accel_m_s2, imu[i].accel_m_s2);
}

/** Values of `size` seconds ago with stamps of now. */
static void sample_delay(const struct fault *f, vfront_imu_t *imu, uint32_t *count, uint32_t from, uint32_t to)
{
    const uint64_t late_ns = (uint64_t)(1e9 * f->size);
    if (*count < 2) return;
    for (uint32_t i = to, j = to < *count - 2 ? to : *count - 2;
         i-- > from;) { /* backwards: what is read is still unchanged */
        const uint64_t t_ns = imu[i].t_ns - late_ns;
        while (j && imu[j].t_ns > t_ns) j--;
        const double dt = (double)(imu[j + 1].t_ns - imu[j].t_ns);
        const double part = t_ns > imu[j].t_ns ? (double)(t_ns - imu[j].t_ns) / dt : 0;
        for (int c = 0; c < 6; c++) {
            const double a = *sample_value(&imu[j], c), b = *sample_value(&imu[j + 1], c);
            *sample_value(&imu[i], c) = a + part * (b - a);
        }
    }
}

/** Takes each sample out with a probability of size [%]. */
static void sample_drop(const struct fault *f, vfront_imu_t *imu, uint32_t *count, uint32_t from, uint32_t to)
{
    uint32_t n = from;
    world_reseed(f->seed, PART_FAULT_NOISE);
    for (uint32_t i = from; i < *count; i++) {
        if (i < to && real(0, 100) < f->size) continue;
        imu[n++] = imu[i];
    }
    *count = n;
}

static void sample_lose(const struct fault *f, vfront_imu_t *imu, uint32_t *count, uint32_t from, uint32_t to)
{
    struct fault all = *f;
    all.size = 101;
    sample_drop(&all, imu, count, from, to);
}

static int sample_earlier(const void *a, const void *b)
{
    const vfront_imu_t *x = a, *y = b;
    return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
}

/** Stamps off by a normal error of deviation `size`; the order of stamps stays: a driver sorts. */
static void sample_jitter(const struct fault *f, vfront_imu_t *imu, uint32_t *count, uint32_t from, uint32_t to)
{
    (void)count;
    if (to <= from + 1) return;
    const uint64_t least = imu[from].t_ns, most = imu[to - 1].t_ns;
    world_reseed(f->seed, PART_FAULT_NOISE);
    for (uint32_t i = from; i < to; i++) {
        const double t = (double)(imu[i].t_ns - least) + 1e9 * f->size * normal();
        imu[i].t_ns = least + (uint64_t)fmax(0, fmin(t, (double)(most - least)));
    }
    qsort(imu + from, to - from, sizeof *imu, sample_earlier);
    for (uint32_t i = from + 1; i < to; i++)
        if (imu[i].t_ns <= imu[i - 1].t_ns) imu[i].t_ns = imu[i - 1].t_ns + 1;
    for (uint32_t i = to; i < *count && imu[i].t_ns <= imu[i - 1].t_ns; i++) imu[i].t_ns = imu[i - 1].t_ns + 1;
}

/** Exchanges a sample with the next one, with a probability of size [%]. */
static void sample_disorder(const struct fault *f, vfront_imu_t *imu, uint32_t *count, uint32_t from, uint32_t to)
{
    (void)count;
    world_reseed(f->seed, PART_FAULT_NOISE);
    for (uint32_t i = from; i + 1 < to; i++) {
        if (real(0, 100) >= f->size) continue;
        const vfront_imu_t earlier = imu[i];
        imu[i] = imu[i + 1], imu[i + 1] = earlier;
        i++;
    }
}

/* ---- stamps ------------------------------------------------------------------------------------------------------ */

static void stamp_move(uint64_t *stamp_ns, double by_s)
{
    *stamp_ns = (uint64_t)((int64_t)*stamp_ns + (int64_t)llround(1e9 * by_s));
}

static void stamp_step(const struct fault *f, struct flight *of, int from, int to)
{
    for (int k = from; k < to; k++) stamp_move(&of->stamp_ns[k], f->sign * f->size);
}

/** What has built up stays until the fault ends. */
static void stamp_drift(const struct fault *f, struct flight *of, int from, int to)
{
    for (int k = from; k < to; k++)
        stamp_move(&of->stamp_ns[k], f->sign * 1e-6 * f->size * (of->frame_s[k] - FLIGHT_LEAD_S - f->begin_s));
}

static void stamp_jitter(const struct fault *f, struct flight *of, int from, int to)
{
    world_reseed(f->seed, PART_FAULT_NOISE);
    for (int k = from; k < to; k++) stamp_move(&of->stamp_ns[k], f->size * normal());
}

static void stamp_lose(const struct fault *f, struct flight *of, int from, int to)
{
    int n = from;
    world_reseed(f->seed, PART_FAULT_NOISE);
    for (int k = from; k < of->frames; k++) {
        if (k < to && real(0, 100) < f->size) continue;
        of->frame_s[n] = of->frame_s[k];
        of->stamp_ns[n++] = of->stamp_ns[k];
    }
    of->frames = n;
}

/* ---- a flight ---------------------------------------------------------------------------------------------------- */

/** Puts a fault of samples or stamps into a flight that is made. */
static void fault_into_flight(const struct fault *f, struct flight *of)
{
    if (f->kind->samples) {
        uint32_t from = 0, to;
        while (from < of->samples && fault_time(of->imu[from].t_ns) < f->begin_s) from++;
        for (to = from; to < of->samples && fault_active(f, fault_time(of->imu[to].t_ns));) to++;
        f->kind->samples(f, of->imu, &of->samples, from, to);
    }
    if (f->kind->stamps) {
        int from = 0, to;
        while (from < of->frames && of->frame_s[from] - FLIGHT_LEAD_S < f->begin_s) from++;
        for (to = from; to < of->frames && fault_active(f, of->frame_s[to] - FLIGHT_LEAD_S);) to++;
        f->kind->stamps(f, of, from, to);
    }
}

#endif
