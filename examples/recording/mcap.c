/* SPDX-License-Identifier: MIT */
#include "mcap.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crc.h"

#define MAGIC "\x89MCAP0\r\n"
#define MAGIC_BYTES 8u
#define CHUNK_BYTES (1u << 20) /* from which on a chunk is written */

enum {
    HEADER = 1,
    FOOTER = 2,
    SCHEMA = 3,
    CHANNEL = 4,
    MESSAGE = 5,
    CHUNK = 6,
    MESSAGE_INDEX = 7,
    CHUNK_INDEX = 8,
    STATISTICS = 11,
    DATA_END = 15
};

/** Bytes that grow. */
struct buffer {
    uint8_t *bytes;
    size_t used, room;
    int failed; /* 1: no memory */
};

/** Message in the chunk under way, and chunk in the file. */
struct message_position {
    int channel;
    uint64_t t_ns, offset;
};
struct chunk_position {
    uint64_t first_ns, last_ns, offset, bytes, index_bytes, records;
    uint64_t index_offset[MCAP_CHANNELS_MAX]; /* 0: no message of the channel */
};

struct mcap {
    FILE *file;
    char path[4200];
    uint64_t offset;                      /* of the next byte of the file */
    int error;                            /* errno of the first failure; 0 */
    struct buffer schemas, names;         /* records of schemas, of channels */
    struct buffer chunk, record, summary; /* records of the chunk under way; scratch; summary */
    struct buffer positions, chunks;      /* of message_position, of chunk_position */
    int channels, channel;                /* channel: of the message under way */
    int is_cdr[MCAP_CHANNELS_MAX];
    uint64_t count[MCAP_CHANNELS_MAX], first_ns, last_ns, begun_ns;
    size_t length_at, data_at; /* of the message under way, in `chunk` */
};

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static int reserve(struct buffer *b, size_t more)
{
    if (b->used + more <= b->room) return 1;
    size_t room = b->room ? b->room : 4096;
    while (room < b->used + more) room *= 2;
    uint8_t *moved = b->failed ? NULL : realloc(b->bytes, room);
    if (!moved) {
        b->failed = 1;
        return 0;
    }
    b->bytes = moved;
    b->room = room;
    return 1;
}

static void add(struct buffer *b, const void *from, size_t count)
{
    if (!count || !reserve(b, count)) return;
    memcpy(b->bytes + b->used, from, count);
    b->used += count;
}

static void add_number(struct buffer *b, uint64_t number, int bytes)
{
    uint8_t at[8];
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(number >> 8 * i);
    add(b, at, (size_t)bytes);
}

static void set_number(struct buffer *b, size_t at, uint64_t number, int bytes)
{
    if (b->failed) return;
    for (int i = 0; i < bytes; i++) b->bytes[at + (size_t)i] = (uint8_t)(number >> 8 * i);
}

static void add_string(struct buffer *b, const char *text)
{
    add_number(b, strlen(text), 4);
    add(b, text, strlen(text));
}

/** Begin a record; end_record() sets its length. */
static size_t begin_record(struct buffer *b, int opcode)
{
    add_number(b, (uint64_t)opcode, 1);
    add_number(b, 0, 8);
    return b->used;
}

static void end_record(struct buffer *b, size_t from) { set_number(b, from - 8, b->used - from, 8); }

static void write_out(mcap_t *m, const void *from, size_t bytes)
{
    if (!m->error && bytes && fwrite(from, 1, bytes, m->file) != bytes) m->error = errno ? errno : EIO;
    m->offset += bytes;
}

static void write_buffer(mcap_t *m, struct buffer *b)
{
    if (b->failed && !m->error) m->error = ENOMEM;
    write_out(m, b->bytes, b->failed ? 0 : b->used);
    b->used = 0;
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

/** Index of the messages of one channel in the chunk that was written last. */
static void write_index(mcap_t *m, int channel, struct chunk_position *position)
{
    const struct message_position *p = (const void *)m->positions.bytes;
    const size_t count = m->positions.used / sizeof *p;
    uint64_t messages = 0;
    for (size_t i = 0; i < count; i++) messages += p[i].channel == channel;
    if (!messages) return;
    position->index_offset[channel] = m->offset;
    const size_t from = begin_record(&m->record, MESSAGE_INDEX);
    add_number(&m->record, (uint64_t)channel + 1, 2);
    add_number(&m->record, 16 * messages, 4);
    for (size_t i = 0; i < count; i++) {
        if (p[i].channel != channel) continue;
        add_number(&m->record, p[i].t_ns, 8);
        add_number(&m->record, p[i].offset, 8);
    }
    end_record(&m->record, from);
    write_buffer(m, &m->record);
}

static void write_chunk(mcap_t *m)
{
    struct chunk_position position = {.first_ns = UINT64_MAX, .offset = m->offset, .records = m->chunk.used};
    const struct message_position *p = (const void *)m->positions.bytes;
    if (m->chunk.failed | m->positions.failed) m->error = ENOMEM;
    if (!m->chunk.used || m->error) return;
    for (size_t i = 0; i < m->positions.used / sizeof *p; i++) {
        if (p[i].t_ns < position.first_ns) position.first_ns = p[i].t_ns;
        if (p[i].t_ns > position.last_ns) position.last_ns = p[i].t_ns;
    }
    const size_t from = begin_record(&m->record, CHUNK);
    add_number(&m->record, position.first_ns, 8);
    add_number(&m->record, position.last_ns, 8);
    add_number(&m->record, m->chunk.used, 8);
    add_number(&m->record, crc32_of(0, m->chunk.bytes, m->chunk.used), 4);
    add_string(&m->record, "");
    add_number(&m->record, m->chunk.used, 8);
    set_number(&m->record, from - 8, m->record.used - from + m->chunk.used, 8);
    write_buffer(m, &m->record);
    write_buffer(m, &m->chunk);
    position.bytes = m->offset - position.offset;
    for (int i = 0; i < m->channels; i++) write_index(m, i, &position);
    position.index_bytes = m->offset - position.offset - position.bytes;
    m->positions.used = 0;
    add(&m->chunks, &position, sizeof position);
}

/* ---- messages ---------------------------------------------------------------------------------------------------- */

void mcap_begin(mcap_t *m, int channel, uint64_t t_ns)
{
    const struct message_position position = {channel, t_ns, m->chunk.used};
    add(&m->positions, &position, sizeof position);
    m->length_at = begin_record(&m->chunk, MESSAGE);
    add_number(&m->chunk, (uint64_t)channel + 1, 2);
    add_number(&m->chunk, m->count[channel]++, 4);
    add_number(&m->chunk, t_ns, 8);
    add_number(&m->chunk, t_ns, 8);
    if (t_ns < m->first_ns) m->first_ns = t_ns;
    if (t_ns > m->last_ns) m->last_ns = t_ns;
    if (m->is_cdr[channel]) add_number(&m->chunk, 0x0100, 4); /* version 1, little-endian */
    m->data_at = m->chunk.used;
}

void mcap_text(mcap_t *m, const char *format, ...)
{
    va_list list;
    if (!reserve(&m->chunk, 1024)) return;
    va_start(list, format);
    const int used = vsnprintf((char *)m->chunk.bytes + m->chunk.used, 1024, format, list);
    va_end(list);
    m->chunk.used += used < 1023 ? (size_t)used : 1023u;
}

void mcap_put(mcap_t *m, uint64_t number, int bytes)
{
    while ((m->chunk.used - m->data_at) % (size_t)bytes && !m->chunk.failed) add_number(&m->chunk, 0, 1);
    add_number(&m->chunk, number, bytes);
}

void mcap_put_float(mcap_t *m, float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    mcap_put(m, bits, 4);
}

void mcap_put_double(mcap_t *m, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    mcap_put(m, bits, 8);
}

void mcap_put_doubles(mcap_t *m, const double *value, int count)
{
    for (int i = 0; i < count; i++) mcap_put_double(m, value[i]);
}

void mcap_put_string(mcap_t *m, const char *text) { mcap_put_bytes(m, (const uint8_t *)text, strlen(text) + 1); }

void mcap_put_bytes(mcap_t *m, const uint8_t *bytes, size_t count)
{
    mcap_put(m, count, 4);
    add(&m->chunk, bytes, count);
}

void mcap_put_time(mcap_t *m, uint64_t t_ns)
{
    mcap_put(m, t_ns / 1000000000u, 4);
    mcap_put(m, t_ns % 1000000000u, 4);
}

void mcap_end(mcap_t *m)
{
    end_record(&m->chunk, m->length_at);
    if (m->chunk.used >= CHUNK_BYTES) write_chunk(m);
}

/* ---- file -------------------------------------------------------------------------------------------------------- */

static char text[4700];

static const char *fail(const char *path, const char *why)
{
    snprintf(text, sizeof text, "%.4200s: %s", path, why);
    return text;
}

const char *mcap_open(mcap_t **out, const char *path, const char *library)
{
    *out = NULL;
    mcap_t *m = calloc(1, sizeof *m);
    if (!m) return fail(path, "no memory");
    snprintf(m->path, sizeof m->path, "%s", path);
    m->first_ns = UINT64_MAX;
    m->file = fopen(path, "wb");
    if (!m->file) {
        free(m);
        return fail(path, strerror(errno));
    }
    write_out(m, MAGIC, MAGIC_BYTES);
    const size_t from = begin_record(&m->record, HEADER);
    add_string(&m->record, "");
    add_string(&m->record, library);
    end_record(&m->record, from);
    write_buffer(m, &m->record);
    *out = m;
    return NULL;
}

/** Append a record to a list, and to the chunk under way. */
static void add_to_both(mcap_t *m, struct buffer *list)
{
    add(&m->chunk, m->record.bytes, m->record.failed ? 0 : m->record.used);
    add(list, m->record.bytes, m->record.failed ? 0 : m->record.used);
    m->record.used = 0;
}

int mcap_channel(mcap_t *m, const char *topic, const char *schema, const char *fields)
{
    const int is_cdr = *fields != '{';
    const uint64_t number = (uint64_t)m->channels + 1;
    size_t from = begin_record(&m->record, SCHEMA);
    add_number(&m->record, number, 2);
    add_string(&m->record, schema);
    add_string(&m->record, is_cdr ? "ros2msg" : "jsonschema");
    add_string(&m->record, fields);
    end_record(&m->record, from);
    add_to_both(m, &m->schemas);
    from = begin_record(&m->record, CHANNEL);
    add_number(&m->record, number, 2);
    add_number(&m->record, number, 2);
    add_string(&m->record, topic);
    add_string(&m->record, is_cdr ? "cdr" : "json");
    add_number(&m->record, 0, 4);
    end_record(&m->record, from);
    add_to_both(m, &m->names);
    m->is_cdr[m->channels] = is_cdr;
    return m->channels++;
}

static void add_chunk_index(mcap_t *m, const struct chunk_position *p)
{
    const size_t from = begin_record(&m->summary, CHUNK_INDEX);
    uint64_t channels = 0;
    for (int i = 0; i < m->channels; i++) channels += p->index_offset[i] > 0;
    add_number(&m->summary, p->first_ns, 8);
    add_number(&m->summary, p->last_ns, 8);
    add_number(&m->summary, p->offset, 8);
    add_number(&m->summary, p->bytes, 8);
    add_number(&m->summary, 10 * channels, 4);
    for (int i = 0; i < m->channels; i++) {
        if (!p->index_offset[i]) continue;
        add_number(&m->summary, (uint64_t)i + 1, 2);
        add_number(&m->summary, p->index_offset[i], 8);
    }
    add_number(&m->summary, p->index_bytes, 8);
    add_string(&m->summary, "");
    add_number(&m->summary, p->records, 8);
    add_number(&m->summary, p->records, 8);
    end_record(&m->summary, from);
}

static void add_statistics(mcap_t *m, size_t chunks)
{
    const size_t from = begin_record(&m->summary, STATISTICS);
    uint64_t messages = 0;
    for (int i = 0; i < m->channels; i++) messages += m->count[i];
    add_number(&m->summary, messages, 8);
    add_number(&m->summary, (uint64_t)m->channels, 2);
    add_number(&m->summary, (uint64_t)m->channels, 4);
    add_number(&m->summary, 0, 4);
    add_number(&m->summary, 0, 4);
    add_number(&m->summary, chunks, 4);
    add_number(&m->summary, messages ? m->first_ns : 0, 8);
    add_number(&m->summary, m->last_ns, 8);
    add_number(&m->summary, 10 * (uint64_t)m->channels, 4);
    for (int i = 0; i < m->channels; i++) {
        add_number(&m->summary, (uint64_t)i + 1, 2);
        add_number(&m->summary, m->count[i], 8);
    }
    end_record(&m->summary, from);
}

static void write_end(mcap_t *m)
{
    size_t from = begin_record(&m->record, DATA_END);
    add_number(&m->record, 0, 4);
    end_record(&m->record, from);
    write_buffer(m, &m->record);
    const uint64_t summary_at = m->offset;
    const size_t chunks = m->chunks.used / sizeof(struct chunk_position);
    m->summary.used = 0;
    add(&m->summary, m->schemas.bytes, m->schemas.used);
    add(&m->summary, m->names.bytes, m->names.used);
    for (size_t i = 0; i < chunks; i++) add_chunk_index(m, (const struct chunk_position *)(void *)m->chunks.bytes + i);
    add_statistics(m, chunks);
    from = begin_record(&m->summary, FOOTER);
    add_number(&m->summary, summary_at, 8);
    add_number(&m->summary, 0, 8);
    set_number(&m->summary, from - 8, 20, 8); /* its CRC follows, and is of all before it */
    add_number(&m->summary, m->summary.failed ? 0 : crc32_of(0, m->summary.bytes, m->summary.used), 4);
    write_buffer(m, &m->summary);
    write_out(m, MAGIC, MAGIC_BYTES);
}

const char *mcap_close(mcap_t *m)
{
    if (!m) return NULL;
    write_chunk(m);
    write_end(m);
    if ((fclose(m->file) || m->schemas.failed || m->names.failed || m->chunks.failed) && !m->error)
        m->error = errno ? errno : ENOMEM;
    const char *error = m->error ? fail(m->path, strerror(m->error)) : NULL;
    free(m->schemas.bytes);
    free(m->names.bytes);
    free(m->chunk.bytes);
    free(m->record.bytes);
    free(m->summary.bytes);
    free(m->positions.bytes);
    free(m->chunks.bytes);
    free(m);
    return error;
}
