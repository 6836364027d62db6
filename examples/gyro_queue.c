/* SPDX-License-Identifier: MIT */
#include "gyro_queue.h"

#include <string.h>

static void append(gyro_queue_t *q, const vfront_gyro_t *reading)
{
    if (q->count == VFRONT_GYRO_SAMPLES) memmove(q->reading, q->reading + 1, --q->count * sizeof *q->reading);
    q->reading[q->count++] = *reading;
}

void gyro_queue_add(gyro_queue_t *q, vfront_frame_t *frame)
{
    for (uint32_t i = 0; i < frame->gyro_count; i++) {
        const vfront_gyro_t *r = &frame->gyro[i];
        const int older = q->count && r->t_ns <= q->reading[q->count - 1].t_ns;
        if (!older) append(q, r);
    }
    frame->gyro = frame->gyro || q->count ? q->reading : NULL;
    frame->gyro_count = q->count;
}

void gyro_queue_clear(gyro_queue_t *q) { q->count = 0; }
