/* SPDX-License-Identifier: MIT
 *
 * A frame as vfront_submit() was given it, as bytes.
 *
 * Payload of CHUNK_FRAME: u64 t_ns, u32 exposure_ns, u8 flags (FRAME_...), u8 cameras, u32 gyro samples, u32 IMU
 * samples; of each camera i32 width, height, u32 format, u64 t_ns, u8 1: there is a mask; f64 R_cur_prev[9] if there;
 * gyro samples: u64 t_ns, f64[3]; IMU samples: u64 t_ns, f64 rates[3], forces[3]; pictures without gaps between the
 * rows, two-byte pixels low byte first (of NV12 the luma alone), each followed by its mask.
 */
#ifndef RECORDING_FRAME_H
#define RECORDING_FRAME_H

#include "vfront.h"

enum { FRAME_AFTER_RESET = 1, FRAME_HAS_GYRO = 2, FRAME_HAS_IMU = 4, FRAME_HAS_ROTATION = 8 };

/** Most bytes of everything but pictures and masks. */
#define FRAME_SMALL_BYTES (256u + 128u * VFRONT_CAMERAS + 32u * VFRONT_GYRO_SAMPLES + 56u * VFRONT_IMU_SAMPLES)

/** Bytes of the payload of a frame; 0: it has a picture in device memory, or is no frame of `cameras` cameras that
 *  could be written. */
size_t frame_bytes(const vfront_frame_t *frame, int32_t cameras);

/** Write the small part, without pictures and masks; returns its bytes. flags: FRAME_AFTER_RESET or 0. */
size_t frame_write_small(const vfront_frame_t *frame, int32_t cameras, int flags, uint8_t *to, size_t max);

/** Bytes of a row of a picture, 0 where there is none. */
size_t frame_row_bytes(const vfront_picture_t *picture);

/** A frame read from bytes: samples of its own, pictures that lie in the payload. */
typedef struct recorded_frame {
    vfront_frame_t frame;
    int after_reset; /**< 1: vfront_reset() was called before it. */
    double R_cur_prev[9];
    vfront_gyro_t gyro[VFRONT_GYRO_SAMPLES];
    vfront_imu_t imu[VFRONT_IMU_SAMPLES];
} recorded_frame_t;

/** Read a payload, from anywhere. cameras: those of the rig, of which each picture must have the size. Returns NULL, or
 *  what is wrong with it, valid until the next call. `out` points into the payload. */
const char *frame_read(recorded_frame_t *out, const vfront_rig_t *rig, uint8_t *payload, size_t bytes);

#endif
