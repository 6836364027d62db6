/* SPDX-License-Identifier: MIT
 *
 * Bytes of a connection that arrive later: a link with a latency, on simulated time.
 */
#ifndef HIL_DELAY_LINE_H
#define HIL_DELAY_LINE_H

#include <stddef.h>
#include <stdint.h>

#define DELAY_LINE_BLOCKS 1024u
#define DELAY_LINE_BYTES 1024u

/** One direction. Zero it. */
typedef struct delay_line {
    uint64_t latency_ns;
    uint32_t first, count;
    uint64_t lost; /**< Bytes for which there was no room. */
    struct {
        uint64_t due_ns;
        size_t bytes;
        uint8_t content[DELAY_LINE_BYTES];
    } block[DELAY_LINE_BLOCKS];
} delay_line_t;

/** Bytes that set out at a time. */
void delay_line_put(delay_line_t *line, uint64_t now_ns, const uint8_t *content, size_t bytes);

/** Next block that is there by a time, valid until the next call of delay_line_put(); NULL: none. */
const uint8_t *delay_line_take(delay_line_t *line, uint64_t now_ns, size_t *bytes);

#endif
