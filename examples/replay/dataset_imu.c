/* SPDX-License-Identifier: MIT */
#include "dataset_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- files of samples ------------------------------------------------------------------------------------------- */

/** Rates and forces of a line, behind its time: six numbers, and nothing else. */
static const char *read_values(const text_t *t, const char *from, vfront_imu_t *sample)
{
    double value[6];
    int count = 0;
    for (char *end; *from; from = end + strspn(end, " \t,")) {
        const double number = strtod(from, &end);
        if (end == from) return dataset_fail("%s:%d: \"%.20s\" is not a number", t->path, t->line, from);
        if (!isfinite(number)) return dataset_fail("%s:%d: a number that is not finite", t->path, t->line);
        if (count < 6) value[count] = number;
        count++;
    }
    if (count != 6)
        return dataset_fail("%s:%d: %d numbers behind the time instead of 6: wx,wy,wz [rad/s],ax,ay,az [m/s^2]",
                            t->path, t->line, count);
    memcpy(sample->gyro_rad_s, value, sizeof sample->gyro_rad_s);
    memcpy(sample->accel_m_s2, value + 3, sizeof sample->accel_m_s2);
    return NULL;
}

/** Time at the start of a line [s], below 0 too. Returns the rest of the line behind the comma, or NULL. */
static char *read_seconds(char *line, double *t_s)
{
    char *end;
    *t_s = strtod(line, &end);
    if (end == line || !(*t_s > -1e10 && *t_s < 1e10) || !*end || !strchr(" \t,", *end)) return NULL;
    return end + strspn(end, " \t,");
}

int dataset_add_sample(struct dataset *d, uint32_t *capacity, const vfront_imu_t *sample)
{
    if (d->imu_count && sample->t_ns <= d->imu[d->imu_count - 1].t_ns) return 0;
    if (d->imu_count == *capacity) {
        *capacity = *capacity ? 2 * *capacity : 4096;
        vfront_imu_t *more = realloc(d->imu, *capacity * sizeof *more);
        if (!more) return -1;
        d->imu = more;
    }
    d->imu[d->imu_count++] = *sample;
    return 1;
}

const char *dataset_read_imu(struct dataset *d, const char *folder, const char *name, int in_seconds)
{
    text_t t;
    uint32_t capacity = 0;
    double before_s = -1e10;
    const char *error = dataset_open_text(&t, folder, name);
    for (char *line; !error && (line = text_line(&t)) != NULL;) {
        vfront_imu_t sample = {0};
        double t_s = 0.0;
        const char *values = in_seconds ? read_seconds(line, &t_s) : dataset_read_time_ns(line, &sample.t_ns);
        const vfront_imu_t *before = d->imu_count ? &d->imu[d->imu_count - 1] : NULL;
        if (in_seconds) sample.t_ns = t_s > 0.0 ? (uint64_t)(t_s * 1e9 + 0.5) : 0;
        if (!values)
            error = dataset_fail("%s:%d: does not begin with a time [%s] and a comma", t.path, t.line,
                                 in_seconds ? "s" : "ns");
        else if ((in_seconds && t_s <= before_s) || (before && sample.t_ns <= before->t_ns))
            error = dataset_fail("%s:%d: not after the time of the line before", t.path, t.line);
        if (!error) error = read_values(&t, values, &sample);
        if (!error && t_s >= 0.0 && dataset_add_sample(d, &capacity, &sample) < 0)
            error = dataset_fail("%s: no memory", t.path);
        before_s = in_seconds ? t_s : before_s;
    }
    if (!error && !d->imu_count) error = dataset_fail("%s: no sample", t.path);
    text_close(&t);
    return error;
}

/* ---- samples of a frame ----------------------------------------------------------------------------------------- */

/** Number of samples that frames have been given up to one: those up to the first one at or after its time; none while
 *  the IMU has not begun. */
static uint32_t handed_until(const struct dataset *d, uint32_t index)
{
    const uint64_t t_ns = dataset_middle_ns(d, index);
    const int64_t by_ns = d->rig.imu_offset_ns;
    const uint64_t at_ns = by_ns >= 0 || t_ns > (uint64_t)-by_ns ? t_ns + (uint64_t)by_ns : 0;
    uint32_t low = 0, high = d->imu_count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (d->imu[middle].t_ns < at_ns)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == d->imu_count) return low;
    return low || d->imu[0].t_ns == at_ns ? low + 1 : 0;
}

void dataset_set_imu(struct dataset *d, uint32_t index, vfront_frame_t *frame)
{
    const uint32_t end = handed_until(d, index);
    uint32_t first = index ? handed_until(d, index - 1) : end > 2 ? end - 2 : 0;
    if (!end) return;
    if (end - first > VFRONT_IMU_SAMPLES) {
        if (!d->noted_imu)
            dataset_note("%u IMU samples between two frames, over VFRONT_IMU_SAMPLES: the last ones are used",
                         end - first);
        d->noted_imu = 1;
        first = end - VFRONT_IMU_SAMPLES;
    }
    frame->imu = &d->imu[first];
    frame->imu_count = end - first;
}
