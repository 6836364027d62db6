/* SPDX-License-Identifier: MIT */
#include "chunk.h"

#include "bytes.h"
#include "crc.h"

#define MARK 0x43524656u /* "VFRC" */

void chunk_write_head(uint8_t head[CHUNK_HEAD_BYTES], const chunk_t *c)
{
    bytes_t b = bytes_of(head, CHUNK_HEAD_BYTES);
    bytes_put(&b, MARK, 4);
    bytes_put(&b, c->type, 2);
    bytes_put(&b, 0, 2);
    bytes_put(&b, c->bytes, 4);
    bytes_put(&b, c->number, 4);
    bytes_put(&b, c->t_ns, 8);
    bytes_put(&b, c->crc, 4);
    bytes_put(&b, crc32_of(0, head, CHUNK_HEAD_BYTES - 4), 4);
}

const char *chunk_read_head(const uint8_t head[CHUNK_HEAD_BYTES], chunk_t *c)
{
    uint8_t copy[CHUNK_HEAD_BYTES];
    memcpy(copy, head, sizeof copy);
    bytes_t b = bytes_of(copy, sizeof copy);
    const uint32_t mark = (uint32_t)bytes_get(&b, 4);
    c->type = (uint32_t)bytes_get(&b, 2);
    const uint32_t zero = (uint32_t)bytes_get(&b, 2);
    c->bytes = (uint32_t)bytes_get(&b, 4);
    c->number = (uint32_t)bytes_get(&b, 4);
    c->t_ns = bytes_get(&b, 8);
    c->crc = (uint32_t)bytes_get(&b, 4);
    if (mark != MARK) return "no chunk begins there";
    if ((uint32_t)bytes_get(&b, 4) != crc32_of(0, head, CHUNK_HEAD_BYTES - 4) || zero)
        return "the head of the chunk is damaged";
    return c->bytes > CHUNK_BYTES_MAX ? "a chunk of more than 80 MB" : NULL;
}

const char *chunk_type_name(uint32_t type)
{
    static const char *const name[] = {"unknown", "header",  "frame", "result", "fault", "event",
                                       "imu",     "mavlink", "lost",  "end",    "ahead", "map"};
    return name[type < sizeof name / sizeof *name ? type : 0];
}
