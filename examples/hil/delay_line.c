/* SPDX-License-Identifier: MIT */
#include "delay_line.h"

#include <string.h>

void delay_line_put(delay_line_t *d, uint64_t now_ns, const uint8_t *content, size_t bytes)
{
    while (bytes) {
        const size_t now = bytes < DELAY_LINE_BYTES ? bytes : DELAY_LINE_BYTES;
        if (d->count == DELAY_LINE_BLOCKS) {
            d->lost += bytes;
            return;
        }
        const uint32_t i = (d->first + d->count++) % DELAY_LINE_BLOCKS;
        d->block[i].due_ns = now_ns + d->latency_ns;
        d->block[i].bytes = now;
        memcpy(d->block[i].content, content, now);
        content += now;
        bytes -= now;
    }
}

const uint8_t *delay_line_take(delay_line_t *d, uint64_t now_ns, size_t *bytes)
{
    const uint32_t i = d->first;
    if (!d->count || d->block[i].due_ns > now_ns) return NULL;
    d->first = (i + 1) % DELAY_LINE_BLOCKS;
    d->count--;
    *bytes = d->block[i].bytes;
    return d->block[i].content;
}
