/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* poll */
#include "line.h"

#include <poll.h>
#include <string.h>

#include "examples/recording/wire.h"

#define SAMPLES_MAX (sizeof((line_t *)0)->sample / sizeof(vfront_imu_t))
#define TRIES_MAX 2000 /* of 1 ms, for a device that takes nothing */

enum { SYSTEM = 1, COMPONENT = 1, RATES_AND_FORCES = 0x3f };

/** A number as 32 bits hold it. `volatile`: of six such conversions in a loop gcc 12.2 -O3 leaves out the last two. */
static double as_float(double value)
{
    volatile float f = (float)value;
    return (double)f;
}

void line_round(vfront_imu_t *r)
{
    r->t_ns -= r->t_ns % 1000u;
    for (int i = 0; i < 3; i++) {
        r->gyro_rad_s[i] = as_float(r->gyro_rad_s[i]);
        r->accel_m_s2[i] = as_float(r->accel_m_s2[i]);
    }
}

/** 1: it is out, or waits in the link; 0: there is no device. */
static int is_taken(link_t *link, const mavlink_message_t *m)
{
    const uint64_t dropped = link->dropped;
    (void)link_send(link, m);
    return link->dropped == dropped;
}

/** A message that waited would give way to the next one of its kind, and none is to be missing. */
const char *line_send(link_t *link, const mavlink_message_t *m)
{
    int is_there = 0;
    for (int tries = 0; tries < TRIES_MAX; tries++) {
        if (!is_there) is_there = is_taken(link, m);
        if (is_there && !link_waits(link)) return NULL;
        poll(NULL, 0, 1);
        (void)link_maintain(link);
    }
    return "the line takes nothing for 2 s";
}

const char *line_send_samples(link_t *link, const vfront_imu_t *sample, uint32_t count)
{
    const char *error = NULL;
    for (uint32_t i = 0; i < count && !error; i++) {
        mavlink_message_t m = {.id = MAVLINK_HIGHRES_IMU, .system = SYSTEM, .component = COMPONENT};
        float *const rate[3] = {m.as.highres_imu.xgyro, m.as.highres_imu.ygyro, m.as.highres_imu.zgyro};
        float *const force[3] = {m.as.highres_imu.xacc, m.as.highres_imu.yacc, m.as.highres_imu.zacc};
        m.as.highres_imu.time_usec[0] = sample[i].t_ns / 1000u;
        m.as.highres_imu.fields_updated[0] = RATES_AND_FORCES;
        for (int k = 0; k < 3; k++) {
            *rate[k] = (float)sample[i].gyro_rad_s[k];
            *force[k] = (float)sample[i].accel_m_s2[k];
        }
        error = line_send(link, &m);
    }
    return error;
}

void line_clear(line_t *l)
{
    mavlink_message_t m;
    while (link_receive(&l->link, &m)) continue;
    l->count = 0;
}

/** A sample to its place, if it is not there. */
static void put(line_t *l, const mavlink_message_t *m)
{
    vfront_imu_t r = {.t_ns = 0};
    if (m->id != MAVLINK_HIGHRES_IMU || m->system != SYSTEM || m->component != COMPONENT) return;
    if (m->as.highres_imu.fields_updated[0] != RATES_AND_FORCES) return;
    if (m->as.highres_imu.time_usec[0] > UINT64_MAX / 1000u) return;
    const float *const rate[3] = {m->as.highres_imu.xgyro, m->as.highres_imu.ygyro, m->as.highres_imu.zgyro};
    const float *const force[3] = {m->as.highres_imu.xacc, m->as.highres_imu.yacc, m->as.highres_imu.zacc};
    r.t_ns = m->as.highres_imu.time_usec[0] * 1000u;
    for (int k = 0; k < 3; k++) {
        r.gyro_rad_s[k] = (double)*rate[k];
        r.accel_m_s2[k] = (double)*force[k];
    }
    uint32_t at = l->count;
    while (at && l->sample[at - 1].t_ns > r.t_ns) at--;
    if (at && l->sample[at - 1].t_ns == r.t_ns) return;
    if (l->count == SAMPLES_MAX) {
        l->refused++;
        return;
    }
    memmove(l->sample + at + 1, l->sample + at, (l->count - at) * sizeof r);
    l->sample[at] = r;
    l->count++;
}

/** Hand over those from first_ns to last_ns, if there are `count` of them. */
static int hand_over(line_t *l, uint64_t first_ns, uint64_t last_ns, vfront_imu_t *out, uint32_t count)
{
    uint32_t begin = 0, end;
    while (begin < l->count && l->sample[begin].t_ns < first_ns) begin++;
    for (end = begin; end < l->count && l->sample[end].t_ns <= last_ns;) end++;
    if (end - begin != count) return 0;
    memcpy(out, l->sample + begin, count * sizeof *out);
    memmove(l->sample, l->sample + end, (l->count - end) * sizeof *out);
    l->count -= end;
    return 1;
}

int line_receive(line_t *l, uint64_t first_ns, uint64_t last_ns, vfront_imu_t *out, uint32_t count, int timeout_ms)
{
    const uint64_t end_ns = wire_now_ns() + (uint64_t)timeout_ms * 1000000u;
    for (;;) {
        mavlink_message_t m;
        struct pollfd p = {.fd = l->link.fd, .events = POLLIN};
        while (link_receive(&l->link, &m)) put(l, &m);
        if (hand_over(l, first_ns, last_ns, out, count)) return 1;
        const uint64_t now_ns = wire_now_ns();
        if (now_ns >= end_ns || poll(&p, 1, (int)((end_ns - now_ns) / 1000000u) + 1) <= 0) return 0;
    }
}
