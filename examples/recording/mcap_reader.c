/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* fseeko */
#include "mcap_reader.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "crc.h"
#include "examples/common/message.h"

#ifdef HAVE_LZ4
#include <lz4frame.h>
#endif
#ifdef HAVE_ZSTD
#include <zstd.h>
#endif

#define MAGIC "\x89MCAP0\r\n"
#define MAGIC_BYTES 8u
#define RECORD_HEAD_BYTES 9u
#define CHUNK_BYTES_MAX (1u << 30) /* of a chunk in memory */

enum { HEADER = 1, SCHEMA = 3, CHANNEL = 4, MESSAGE = 5, CHUNK = 6, DATA_END = 15 };

/** Messages in the file, of a chunk, or one that lies outside of any. */
struct chunk_place {
    uint64_t offset, stored_bytes, bytes; /* bytes: once uncompressed */
    char compression[8];
};

struct schema {
    uint16_t id;
    char name[128], encoding[32];
};

struct mcap_reader {
    FILE *file;
    char path[4200];
    uint64_t size;
    mcap_source_t *source;
    struct schema *schema;
    struct chunk_place *chunk;
    uint32_t sources, schemas, chunks;
    uint8_t *stored, *plain; /* of the chunk read last, compressed and not */
    size_t stored_room, plain_room;
    uint32_t plain_chunk; /* which one lies in `plain` */
    int is_loaded;
    char trouble[160];
};

static char failure[4700];
#define FAIL(...) message_print(failure, sizeof failure, __VA_ARGS__)

/* ---- memory ------------------------------------------------------------------------------------------------------ */

/** Room for one more element of a list, which doubles at powers of two. */
static void *grow(void *list, uint32_t count, size_t size)
{
    return count & (count - 1) ? list : realloc(list, 2u * (size_t)(count ? count : 1) * size);
}

static int reserve(uint8_t **memory, size_t *room, size_t bytes)
{
    if (bytes <= *room) return 1;
    uint8_t *more = realloc(*memory, bytes);
    if (!more) return 0;
    *memory = more;
    *room = bytes;
    return 1;
}

static const char *read_at(mcap_reader_t *r, uint64_t offset, void *to, size_t bytes)
{
    errno = 0;
    if (fseeko(r->file, (off_t)offset, SEEK_SET) == 0 && fread(to, 1, bytes, r->file) == bytes) return NULL;
    return FAIL("%s: %s", r->path, errno ? strerror(errno) : "ends while it is read");
}

/** Text behind its length in four bytes, cut off where `room` ends; what cannot be printed becomes '?'. */
static void get_text(bytes_t *b, char *to, size_t room)
{
    const size_t length = (size_t)bytes_get(b, 4);
    const uint8_t *from = bytes_take(b, length);
    size_t i = 0;
    for (; from && i < length && i + 1 < room; i++) to[i] = from[i] >= ' ' && from[i] <= '~' ? (char)from[i] : '?';
    to[i] = 0;
}

/* ---- compression ------------------------------------------------------------------------------------------------- */

#ifdef HAVE_LZ4
static int expand_lz4(uint8_t *to, size_t bytes, const uint8_t *from, size_t stored)
{
    LZ4F_dctx *context;
    size_t used = 0, made = 0, hint = 1;
    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION))) return 0;
    while (hint && used < stored) {
        size_t out = bytes - made, in = stored - used;
        hint = LZ4F_decompress(context, to + made, &out, from + used, &in, NULL);
        if (LZ4F_isError(hint) || (!in && !out)) break;
        used += in;
        made += out;
    }
    LZ4F_freeDecompressionContext(context);
    return hint == 0 && made == bytes;
}
#endif

/** Uncompress a chunk. Returns NULL, or what is wrong. */
static const char *expand(uint8_t *to, const struct chunk_place *c, const uint8_t *from)
{
    int is_whole = 0;
    if (!c->bytes) return NULL; /* no messages: some writers then store nothing, not even a frame of lz4 */
    if (!*c->compression) {
        is_whole = c->stored_bytes == c->bytes;
        if (is_whole) memcpy(to, from, (size_t)c->bytes);
    } else if (strcmp(c->compression, "lz4") == 0) {
#ifdef HAVE_LZ4
        is_whole = expand_lz4(to, (size_t)c->bytes, from, (size_t)c->stored_bytes);
#else
        return "compressed with lz4, which this build cannot read: install liblz4-dev and build again";
#endif
    } else if (strcmp(c->compression, "zstd") == 0) {
#ifdef HAVE_ZSTD
        is_whole = ZSTD_decompress(to, (size_t)c->bytes, from, (size_t)c->stored_bytes) == c->bytes;
#else
        return "compressed with zstd, which this build cannot read: install libzstd-dev and build again";
#endif
    } else {
        return "compressed in a way that is not known: none, lz4 and zstd are";
    }
    return is_whole ? NULL : "damaged, it cannot be uncompressed";
}

/** Messages of a chunk into r->plain. */
static const char *load(mcap_reader_t *r, uint32_t number)
{
    const struct chunk_place *c = &r->chunk[number];
    if (r->is_loaded && r->plain_chunk == number) return NULL;
    r->is_loaded = 0;
    if (!reserve(&r->stored, &r->stored_room, (size_t)c->stored_bytes + 1) ||
        !reserve(&r->plain, &r->plain_room, (size_t)c->bytes + 1))
        return FAIL("%s: no memory for a chunk of %llu bytes", r->path, (unsigned long long)c->bytes);
    const char *error = read_at(r, c->offset, r->stored, (size_t)c->stored_bytes);
    if (error) return error;
    error = expand(r->plain, c, r->stored);
    if (error) return FAIL("%s: chunk at byte %llu: %s", r->path, (unsigned long long)c->offset, error);
    r->plain_chunk = number;
    r->is_loaded = 1;
    return NULL;
}

/* ---- records ----------------------------------------------------------------------------------------------------- */

static const char *take_schema(mcap_reader_t *r, bytes_t *b)
{
    struct schema s = {.id = (uint16_t)bytes_get(b, 2)};
    get_text(b, s.name, sizeof s.name);
    get_text(b, s.encoding, sizeof s.encoding);
    for (uint32_t i = 0; i < r->schemas; i++)
        if (r->schema[i].id == s.id) return NULL;
    struct schema *more = grow(r->schema, r->schemas, sizeof *more);
    if (!more) return FAIL("%s: no memory", r->path);
    r->schema = more;
    r->schema[r->schemas++] = s;
    return NULL;
}

static const char *take_channel(mcap_reader_t *r, bytes_t *b)
{
    mcap_source_t s = {.number = r->sources, .id = (uint16_t)bytes_get(b, 2), .schema_id = (uint16_t)bytes_get(b, 2)};
    get_text(b, s.topic, sizeof s.topic);
    get_text(b, s.encoding, sizeof s.encoding);
    for (uint32_t i = 0; i < r->sources; i++)
        if (r->source[i].id == s.id) return NULL;
    for (uint32_t i = 0; i < r->schemas; i++) {
        if (r->schema[i].id != s.schema_id) continue;
        memcpy(s.schema, r->schema[i].name, sizeof s.schema);
        memcpy(s.schema_encoding, r->schema[i].encoding, sizeof s.schema_encoding);
    }
    mcap_source_t *more = grow(r->source, r->sources, sizeof *more);
    if (!more) return FAIL("%s: no memory", r->path);
    r->source = more;
    r->source[r->sources++] = s;
    return NULL;
}

static const char *take_message(mcap_reader_t *r, bytes_t *b, uint32_t chunk, mcap_visit_t *visit, void *user)
{
    const uint16_t id = (uint16_t)bytes_get(b, 2);
    bytes_get(b, 4);
    mcap_message_t m = {.log_ns = bytes_get(b, 8)};
    bytes_get(b, 8);
    m.data = b->memory + b->used;
    m.place = (mcap_place_t){chunk, (uint32_t)bytes_left(b), (uint64_t)(m.data - r->plain)};
    for (uint32_t i = 0; i < r->sources && !b->short_of; i++)
        if (r->source[i].id == id) return visit(user, &r->source[i], &m);
    return b->short_of ? NULL : FAIL("%s: a message of channel %u, which the file does not have", r->path, id);
}

/** A record of schema, channel or message, in the loaded chunk. */
static const char *take_record(mcap_reader_t *r, int kind, bytes_t *b, uint32_t chunk, mcap_visit_t *visit, void *user)
{
    if (kind == SCHEMA) return take_schema(r, b);
    if (kind == CHANNEL) return take_channel(r, b);
    return kind == MESSAGE ? take_message(r, b, chunk, visit, user) : NULL;
}

/** Records of the loaded chunk. */
static const char *take_records(mcap_reader_t *r, uint32_t chunk, mcap_visit_t *visit, void *user)
{
    bytes_t all = bytes_of(r->plain, (size_t)r->chunk[chunk].bytes);
    const char *error = NULL;
    while (bytes_left(&all) && !error) {
        const int kind = (int)bytes_get(&all, 1);
        const uint64_t bytes = bytes_get(&all, 8);
        uint8_t *at = bytes_take(&all, bytes > SIZE_MAX ? SIZE_MAX : (size_t)bytes);
        bytes_t b = bytes_of(at, (size_t)bytes);
        if (at) error = take_record(r, kind, &b, chunk, visit, user);
        if (!error && (!at || b.short_of))
            error = FAIL("%s: chunk at byte %llu: a record that is not whole", r->path,
                         (unsigned long long)r->chunk[chunk].offset);
    }
    return error;
}

static const char *add_chunk(mcap_reader_t *r, const struct chunk_place *c)
{
    if (c->bytes > CHUNK_BYTES_MAX || c->stored_bytes > CHUNK_BYTES_MAX)
        return FAIL("%s: chunk at byte %llu: %llu bytes, over 2^30", r->path, (unsigned long long)c->offset,
                    (unsigned long long)c->bytes);
    struct chunk_place *more = grow(r->chunk, r->chunks, sizeof *more);
    if (!more) return FAIL("%s: no memory", r->path);
    r->chunk = more;
    r->chunk[r->chunks++] = *c;
    return load(r, r->chunks - 1);
}

/** A record outside of chunks: schema, channel, or a message, which counts as a chunk of its own. */
static const char *take_alone(mcap_reader_t *r, int kind, uint64_t at, uint64_t bytes, mcap_visit_t *visit, void *user)
{
    const struct chunk_place c = {.offset = at, .stored_bytes = bytes, .bytes = bytes};
    const char *error = add_chunk(r, &c);
    if (error) return error;
    bytes_t b = bytes_of(r->plain, (size_t)bytes);
    error = take_record(r, kind, &b, r->chunks - 1, visit, user);
    return !error && b.short_of ? FAIL("%s: record at byte %llu is not whole", r->path, (unsigned long long)at) : error;
}

static const char *take_chunk(mcap_reader_t *r, uint64_t at, uint64_t bytes, mcap_visit_t *visit, void *user)
{
    uint8_t head[64];
    struct chunk_place c = {0};
    const size_t count = bytes < sizeof head ? (size_t)bytes : sizeof head;
    const char *error = read_at(r, at, head, count);
    if (error) return error;
    bytes_t b = bytes_of(head, count);
    bytes_get(&b, 8);
    bytes_get(&b, 8);
    c.bytes = bytes_get(&b, 8);
    const uint32_t crc = (uint32_t)bytes_get(&b, 4);
    get_text(&b, c.compression, sizeof c.compression);
    c.stored_bytes = bytes_get(&b, 8);
    c.offset = at + b.used;
    if (b.short_of || c.stored_bytes > bytes - b.used)
        return FAIL("%s: chunk at byte %llu: its head is damaged", r->path, (unsigned long long)at);
    error = add_chunk(r, &c);
    if (error) return error;
    if (crc && crc != crc32_of(0, r->plain, (size_t)c.bytes))
        return FAIL("%s: chunk at byte %llu: damaged, its CRC is another one", r->path, (unsigned long long)at);
    return take_records(r, r->chunks - 1, visit, user);
}

/** The data section: up to its end, or the file's. */
static const char *take_file(mcap_reader_t *r, mcap_visit_t *visit, void *user)
{
    uint64_t at = MAGIC_BYTES;
    const char *error = NULL;
    for (int kind = 0; !error && kind != DATA_END;) {
        uint8_t head[RECORD_HEAD_BYTES];
        if (r->size - at < sizeof head) {
            message_print(r->trouble, sizeof r->trouble, "ends at byte %llu, without an end of its messages",
                          (unsigned long long)at);
            break;
        }
        error = read_at(r, at, head, sizeof head);
        bytes_t b = bytes_of(head, sizeof head);
        kind = (int)bytes_get(&b, 1);
        const uint64_t bytes = bytes_get(&b, 8);
        if (!error && bytes > r->size - at - sizeof head) {
            message_print(r->trouble, sizeof r->trouble, "ends within the record at byte %llu", (unsigned long long)at);
            break;
        }
        at += sizeof head;
        if (!error && kind == CHUNK) error = take_chunk(r, at, bytes, visit, user);
        if (!error && (kind == SCHEMA || kind == CHANNEL || kind == MESSAGE))
            error = take_alone(r, kind, at, bytes, visit, user);
        at += bytes;
    }
    return error;
}

/* ---- interface --------------------------------------------------------------------------------------------------- */

int mcap_recognises(const char *path)
{
    char start[MAGIC_BYTES] = {0};
    FILE *file = fopen(path, "rb");
    const size_t count = file ? fread(start, 1, sizeof start, file) : 0;
    if (file) fclose(file);
    return count == sizeof start && memcmp(start, MAGIC, sizeof start) == 0;
}

const char *mcap_reader_open(mcap_reader_t **out, const char *path, mcap_visit_t *visit, void *user)
{
    *out = NULL;
    mcap_reader_t *r = calloc(1, sizeof *r);
    if (!r) return FAIL("%s: no memory", path);
    message_print(r->path, sizeof r->path, "%s", path);
    r->file = fopen(path, "rb");
    const char *error = r->file && fseeko(r->file, 0, SEEK_END) == 0 ? NULL : FAIL("%s: %s", path, strerror(errno));
    if (!error) r->size = (uint64_t)ftello(r->file);
    if (!error) error = take_file(r, visit, user);
    if (error)
        mcap_reader_close(r);
    else
        *out = r;
    return error;
}

void mcap_reader_close(mcap_reader_t *r)
{
    if (!r) return;
    if (r->file) fclose(r->file);
    free(r->source);
    free(r->schema);
    free(r->chunk);
    free(r->stored);
    free(r->plain);
    free(r);
}

const char *mcap_reader_trouble(const mcap_reader_t *r) { return *r->trouble ? r->trouble : NULL; }

uint32_t mcap_reader_sources(const mcap_reader_t *r) { return r->sources; }

const mcap_source_t *mcap_reader_source(const mcap_reader_t *r, uint32_t number)
{
    return number < r->sources ? &r->source[number] : NULL;
}

const char *mcap_reader_message(mcap_reader_t *r, const mcap_place_t *place, uint8_t **data)
{
    const char *error = load(r, place->chunk);
    *data = error ? NULL : r->plain + place->offset;
    return error;
}
