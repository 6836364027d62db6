/* SPDX-License-Identifier: MIT
 *
 * Little-endian numbers in memory, written and read in order, on machines of either byte order. Both sides keep within
 * their memory: what does not fit is not written or reads as 0, and `short_of` is set.
 */
#ifndef RECORDING_BYTES_H
#define RECORDING_BYTES_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/** Memory under way. */
typedef struct bytes {
    uint8_t *memory;
    size_t size, used;
    int short_of; /**< 1: more was written or read than there is. */
} bytes_t;

static inline bytes_t bytes_of(void *memory, size_t size) { return (bytes_t){memory, size, 0, 0}; }

static inline size_t bytes_left(const bytes_t *b) { return b->size - b->used; }

/** The next `size` bytes, or NULL where there are fewer. */
static inline uint8_t *bytes_take(bytes_t *b, size_t size)
{
    if (b->short_of || size > b->size - b->used) {
        b->short_of = 1;
        return NULL;
    }
    b->used += size;
    return b->memory + (b->used - size);
}

static inline void bytes_put(bytes_t *b, uint64_t number, int size)
{
    uint8_t *to = bytes_take(b, (size_t)size);
    if (!to) return;
    for (int i = 0; i < size; i++) to[i] = (uint8_t)(number >> 8 * i);
}

static inline uint64_t bytes_get(bytes_t *b, int size)
{
    const uint8_t *from = bytes_take(b, (size_t)size);
    uint64_t number = 0;
    for (int i = 0; from && i < size; i++) number |= (uint64_t)from[i] << 8 * i;
    return number;
}

static inline void bytes_put_double(bytes_t *b, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bytes_put(b, bits, 8);
}

static inline double bytes_get_double(bytes_t *b)
{
    const uint64_t bits = bytes_get(b, 8);
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/** Text of up to 255 bytes behind its length; more is cut off. */
static inline void bytes_put_text(bytes_t *b, const char *text)
{
    size_t length = strlen(text);
    if (length > 255) length = 255;
    bytes_put(b, length, 1);
    uint8_t *to = bytes_take(b, length);
    if (to) memcpy(to, text, length);
}

/** Bytes that cannot be printed become '?'. */
static inline void bytes_get_text(bytes_t *b, char text[256])
{
    const size_t length = (size_t)bytes_get(b, 1);
    const uint8_t *from = bytes_take(b, length);
    size_t i = 0;
    for (; from && i < length; i++) text[i] = from[i] >= ' ' && from[i] <= '~' ? (char)from[i] : '?';
    text[i] = 0;
}

#endif
