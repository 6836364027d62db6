/* SPDX-License-Identifier: MIT
 *
 * Header of a recording: everything that the bits of its results depend on beside its frames.
 *
 * Payload of CHUNK_HEADER: u32 HEADER_VERSION, u32 VFRONT_ABI, u32 port, u64 time of day [ns since 1970], texts
 * (u8 length, bytes) version, sources, program, source, port; u32 n, n times text name, u64 value: config; rig: u32
 * cameras, of each i32 width, height, lens, f64 fx fy cx cy, 8 distortion, 9 R_cam_imu, 3 t_cam_imu_m, row_us,
 * u8 1 and width x height bytes or u8 0: mask; f64 road height, road pitch, 8 values of the IMU, i64 imu_offset_ns;
 * u32 n, n times text name, i32 value: tuning.
 */
#ifndef RECORDING_HEADER_H
#define RECORDING_HEADER_H

#include "vfront.h"

#define HEADER_VERSION 2u
#define HEADER_TEXT 256
#define HEADER_CONFIG_MAX 64u
#define HEADER_MASK_BYTES (4096u * 4096u)

/** Header in memory. */
typedef struct recording_header {
    uint32_t abi, port;        /**< VFRONT_ABI; vfront_port_t that ran. */
    uint64_t began_ns;         /**< Time of day [ns since 1970]. */
    char version[HEADER_TEXT]; /**< Of the library. */
    char sources[HEADER_TEXT]; /**< Digest of its sources. */
    char program[HEADER_TEXT]; /**< Program that recorded. */
    char source[HEADER_TEXT];  /**< Where its frames came from. */
    char device[HEADER_TEXT];  /**< vfront_info_t.device. */
    uint32_t config_count;
    struct {
        char name[HEADER_TEXT];
        uint64_t value;
    } config[HEADER_CONFIG_MAX];
    vfront_rig_t rig; /**< Its masks lie in `mask`. */
    vfront_tuning_t tuning;
    uint8_t *mask[VFRONT_CAMERAS]; /**< Freed by header_free(); NULL: none. */
} recording_header_t;

/** Header of a run of this program. rig, tuning and info are those of its vfront_init(); masks are only pointed to. */
void header_make(recording_header_t *header, const char *program, const char *source, const vfront_rig_t *rig,
                 const vfront_tuning_t *tuning, const vfront_info_t *info);

/** Most bytes of its payload. */
size_t header_bytes(const recording_header_t *header);

/** Write the payload; returns its bytes. */
size_t header_write(const recording_header_t *header, uint8_t *payload, size_t max);

/** Read the payload, from anywhere. Returns NULL, or what is wrong with it, valid until the next call. Then, and not
 *  after success, there is nothing to be freed. */
const char *header_read(recording_header_t *header, uint8_t *payload, size_t bytes);
void header_free(recording_header_t *header);

/** First value of the config that this build has otherwise, of those that change bits, as a message ("VFRONT_TRACKS:
 *  256 in the recording, 512 in this build"), or NULL. Valid until the next call. */
const char *header_other_config(const recording_header_t *header);

/** Digest of the sources of this build. */
const char *header_sources(void);

#endif
