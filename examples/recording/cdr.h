/* SPDX-License-Identifier: MIT
 *
 * Messages of ROS 2 as bytes (CDR, version 1, little-endian), written and read in order: a head of four bytes, then
 * numbers at multiples of their size from there. A reader keeps within its memory: what is not there reads as 0, and
 * `short_of` is set.
 */
#ifndef RECORDING_CDR_H
#define RECORDING_CDR_H

#include "bytes.h"

#define CDR_HEAD_BYTES 4u

/** Begin to read a message. Returns 0 where it is not of this kind. */
static inline int cdr_begin(bytes_t *b, uint8_t *data, size_t size)
{
    *b = bytes_of(data, size);
    const uint64_t head = bytes_get(b, 4);
    return !b->short_of && (head & 0xffffu) == 0x0100u;
}

static inline void cdr_align(bytes_t *b, size_t to) { bytes_take(b, (to - (b->used - CDR_HEAD_BYTES) % to) % to); }

static inline uint64_t cdr_get(bytes_t *b, int size)
{
    cdr_align(b, (size_t)size);
    return bytes_get(b, size);
}

static inline double cdr_double(bytes_t *b)
{
    cdr_align(b, 8);
    return bytes_get_double(b);
}

static inline void cdr_doubles(bytes_t *b, double *value, int count)
{
    for (int i = 0; i < count; i++) value[i] = cdr_double(b);
}

/** Bytes of a sequence, or NULL. */
static inline uint8_t *cdr_sequence(bytes_t *b, size_t *count)
{
    *count = (size_t)cdr_get(b, 4);
    return bytes_take(b, *count);
}

/** Text; what does not fit is cut off, and what cannot be printed becomes '?'. */
static inline void cdr_text(bytes_t *b, char *to, size_t room)
{
    size_t count, i = 0;
    const uint8_t *from = cdr_sequence(b, &count);
    for (; from && i + 1 < room && i < count && from[i]; i++)
        to[i] = from[i] >= ' ' && from[i] <= '~' ? (char)from[i] : '?';
    to[i] = 0;
}

/** A stamp [ns]; 0 before 1970. */
static inline uint64_t cdr_time_ns(bytes_t *b)
{
    const uint64_t seconds = cdr_get(b, 4), ns = cdr_get(b, 4);
    return seconds > INT32_MAX ? 0 : seconds * 1000000000u + ns;
}

#endif
