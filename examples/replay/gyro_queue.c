/* SPDX-License-Identifier: MIT */
#include "gyro_queue.h"

#include <string.h>

static void append(gyro_queue_t *q, const vfront_gyro_t *sample)
{
    if (q->count == VFRONT_GYRO_SAMPLES) memmove(q->sample, q->sample + 1, --q->count * sizeof *q->sample);
    q->sample[q->count++] = *sample;
}

static void append_imu(gyro_queue_t *q, const vfront_imu_t *sample)
{
    if (q->imu_count == GYRO_QUEUE_IMU) memmove(q->imu, q->imu + 1, --q->imu_count * sizeof *q->imu);
    q->imu[q->imu_count++] = *sample;
}

static void add_imu(gyro_queue_t *q, vfront_frame_t *frame)
{
    for (uint32_t i = 0; i < frame->imu_count; i++) {
        const vfront_imu_t *r = &frame->imu[i];
        const int older = q->imu_count && r->t_ns <= q->imu[q->imu_count - 1].t_ns;
        if (!older) append_imu(q, r);
    }
    frame->imu = frame->imu || q->imu_count ? q->imu : NULL;
    frame->imu_count = q->imu_count;
}

void gyro_queue_add(gyro_queue_t *q, vfront_frame_t *frame)
{
    for (uint32_t i = 0; i < frame->gyro_count; i++) {
        const vfront_gyro_t *r = &frame->gyro[i];
        const int older = q->count && r->t_ns <= q->sample[q->count - 1].t_ns;
        if (!older) append(q, r);
    }
    frame->gyro = frame->gyro || q->count ? q->sample : NULL;
    frame->gyro_count = q->count;
    add_imu(q, frame);
}

void gyro_queue_clear(gyro_queue_t *q) { q->count = q->imu_count = 0; }
