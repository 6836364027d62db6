/* SPDX-License-Identifier: MIT
 *
 * Recordings, .vfr: what went into vfront and the digests of what came out. A file, or a stream, is eight bytes,
 * RECORDING_MAGIC, and chunks one behind the other, the first of type CHUNK_HEADER. It only grows at its end. All
 * numbers are little-endian.
 *
 *   | bytes | of a chunk                                                    |
 *   |-------|---------------------------------------------------------------|
 *   | 0..3  | "VFRC"                                                        |
 *   | 4, 5  | type, chunk_type_t                                            |
 *   | 6, 7  | 0                                                             |
 *   | 8..11 | bytes of the payload, at most CHUNK_BYTES_MAX                |
 *   | 12..15| number of the chunk, from 0                                   |
 *   | 16..23| time [ns]: of a frame its stamp, of all else the time it came |
 *   | 24..27| CRC of the payload                                            |
 *   | 28..31| CRC of bytes 0..27                                            |
 *   | 32..  | payload                                                       |
 */
#ifndef RECORDING_CHUNK_H
#define RECORDING_CHUNK_H

#include <stddef.h>
#include <stdint.h>

#define RECORDING_MAGIC "VFR1\r\n\x1a\n"
#define RECORDING_MAGIC_BYTES 8u
#define CHUNK_HEAD_BYTES 32u
#define CHUNK_BYTES_MAX (80u << 20) /* two pictures of 4096x4096 of two bytes, with room for the rest */

/** What a chunk holds. A reader leaves out types that it does not know. */
typedef enum chunk_type {
    CHUNK_HEADER = 1,    /**< Config, rig, tuning (header.h). */
    CHUNK_FRAME = 2,     /**< Frame as vfront_submit() was given it (frame.h). */
    CHUNK_RESULT = 3,    /**< Status and digests of the frame before it (outcome.h). */
    CHUNK_FAULT = 4,     /**< Text: faults that were put into the frame behind it. */
    CHUNK_EVENT = 5,     /**< Text: what happened. */
    CHUNK_IMU = 6,       /**< Samples as they came: u32 number; of each u64 time, six f64 (gyro, accelerometer). */
    CHUNK_MAVLINK = 7,   /**< u8 link, u8 1: sent, 0: received; bytes of a message, or of what was read at once. */
    CHUNK_LOST = 8,      /**< What was not recorded, as the buffer was full: u32 frames, u32 other chunks. */
    CHUNK_END = 9,       /**< The recording was ended, not cut off: u32 frames, u32 frames lost. */
    CHUNK_ANNOUNCE = 10, /**< On a bench: what comes beside the chunks (hil/announce.h). In no recording. */
    CHUNK_MAP = 11       /**< Image of the map that was loaded before the frame behind it (vfront_map_load()). */
} chunk_type_t;

/** Head of a chunk. */
typedef struct chunk {
    uint32_t type, bytes, number, crc;
    uint64_t t_ns;
} chunk_t;

/** Write a head, with the CRCs. */
void chunk_write_head(uint8_t head[CHUNK_HEAD_BYTES], const chunk_t *chunk);

/** Read a head. Returns NULL, or what is wrong with it: no chunk, damaged, too large. */
const char *chunk_read_head(const uint8_t head[CHUNK_HEAD_BYTES], chunk_t *chunk);

/** Name of a type ("frame"), or "unknown". */
const char *chunk_type_name(uint32_t type);

#endif
