/* SPDX-License-Identifier: MIT
 *
 * Gyro or IMU samples since the last frame that the front end took. A frame that is dropped or refused does not end
 * the interval that the next frame's samples must cover, so its samples are handed over again, with those of the
 * next.
 */
#ifndef GYRO_QUEUE_H
#define GYRO_QUEUE_H

#include "vfront.h"

/** Most IMU samples of a frame: vfront has kept up to two, which it counts. */
#define GYRO_QUEUE_IMU (VFRONT_IMU_SAMPLES - (VFRONT_IMU_SAMPLES > 2 ? 2 : 1))

/** Zero it before the first frame. */
typedef struct gyro_queue {
    vfront_gyro_t sample[VFRONT_GYRO_SAMPLES]; /**< By rising time; the newest where there are more. */
    uint32_t count;
    vfront_imu_t imu[GYRO_QUEUE_IMU]; /**< Likewise. */
    uint32_t imu_count;
} gyro_queue_t;

/** Append the samples of a frame that are newer than the last. `frame` then has all samples of the queue, valid until
 *  the next call. A frame with a gyro or an IMU keeps one, be it without a sample; a frame without stays so while the
 *  queue is empty. */
void gyro_queue_add(gyro_queue_t *queue, vfront_frame_t *frame);

/** The frame was taken, or its samples were refused: none of them is needed again. */
void gyro_queue_clear(gyro_queue_t *queue);

#endif
