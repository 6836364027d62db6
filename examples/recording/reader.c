/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* fseeko */
#define _FILE_OFFSET_BITS 64
#include "reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bytes.h"
#include "crc.h"

/** Chunk in the file. */
struct position {
    chunk_t chunk;
    uint64_t offset; /* of its head */
};

/** Frame: its chunk, that of what came of it and that of the map loaded before it, or NO_CHUNK. */
#define NO_CHUNK UINT32_MAX
struct frame_position {
    uint32_t chunk, outcome, map;
};

struct reader {
    FILE *file;
    char path[4200];
    uint64_t bytes;
    struct position *position;
    struct frame_position *frame;
    uint32_t chunks, frames, room, whole; /* room: of both lists */
    char trouble[160];                    /* "" none */
    int is_cut, ended;
    recording_header_t header;
    uint32_t map;     /* chunk of a map behind the last frame, or NO_CHUNK */
    uint8_t *payload; /* of the chunk read last */
    size_t payload_room;
    uint8_t *map_payload; /* of the map read last */
    size_t map_room;
    recorded_frame_t recorded;
};

static char message[4800];

__attribute__((format(printf, 2, 3))) static const char *fail(const reader_t *r, const char *format, ...)
{
    va_list list;
    const int used = snprintf(message, 4300, "%s: ", r->path);
    va_start(list, format);
    vsnprintf(message + (used < 4299 ? used : 4299), 480, format, list);
    va_end(list);
    return message;
}

int reader_recognises(const char *path)
{
    char magic[RECORDING_MAGIC_BYTES] = {0};
    struct stat s;
    if (stat(path, &s) || !S_ISREG(s.st_mode)) return 0;
    FILE *file = fopen(path, "rb");
    const size_t got = file ? fread(magic, 1, sizeof magic, file) : 0;
    if (file) fclose(file);
    return got == sizeof magic && memcmp(magic, RECORDING_MAGIC, sizeof magic) == 0;
}

/* ---- through the file -------------------------------------------------------------------------------------------- */

/** Room for one more in both lists, which never have more than the file has chunks. */
static int make_room(reader_t *r)
{
    if (r->chunks < r->room) return 1;
    const uint32_t room = r->room ? 2 * r->room : 1024;
    struct position *positions = realloc(r->position, room * sizeof *positions);
    if (positions) r->position = positions;
    struct frame_position *frames = positions ? realloc(r->frame, room * sizeof *frames) : NULL;
    if (!frames) return 0;
    r->frame = frames;
    r->room = room;
    return 1;
}

/** Missing frames of a CHUNK_LOST, whose payload the file is at. */
static uint64_t lost_frames(reader_t *r, const chunk_t *c)
{
    uint8_t payload[8] = {0};
    const size_t got = c->bytes == sizeof payload ? fread(payload, 1, sizeof payload, r->file) : 0;
    bytes_t b = bytes_of(payload, sizeof payload);
    return got == sizeof payload && crc32_of(0, payload, got) == c->crc ? bytes_get(&b, 4) : 1;
}

static const char *add(reader_t *r, const chunk_t *c, uint64_t offset)
{
    if (!make_room(r)) return fail(r, "no memory for its list of chunks");
    r->position[r->chunks] = (struct position){*c, offset};
    struct frame_position *last = r->frames ? &r->frame[r->frames - 1] : NULL;
    if (c->type == CHUNK_FRAME) {
        r->frame[r->frames++] = (struct frame_position){r->chunks, NO_CHUNK, r->map};
        r->map = NO_CHUNK;
    } else if (c->type == CHUNK_MAP) {
        r->map = r->chunks;
    } else if (c->type == CHUNK_RESULT && last && last->outcome == NO_CHUNK && r->whole == NO_CHUNK) {
        last->outcome = r->chunks;
    } else if (c->type == CHUNK_LOST && r->whole == NO_CHUNK && lost_frames(r, c)) {
        r->whole = r->frames;
    }
    r->ended |= c->type == CHUNK_END;
    r->chunks++;
    return NULL;
}

/** 1 if nothing but zeros is from the place in the file to its end: room that the disk gave, but never got. */
static int only_zeros(reader_t *r)
{
    for (int byte; (byte = getc(r->file)) != EOF;)
        if (byte) return 0;
    return 1;
}

static void note_cut(reader_t *r, uint64_t offset)
{
    r->is_cut = 1;
    snprintf(r->trouble, sizeof r->trouble, "ends within the chunk at byte %" PRIu64 ", as after a power cut", offset);
}

/** Head at an offset. Returns 1; 0 at the end, which may be the wrong one. */
static int next_head(reader_t *r, uint64_t offset, chunk_t *c)
{
    uint8_t head[CHUNK_HEAD_BYTES];
    if (offset == r->bytes) {
        r->is_cut = !r->ended;
        if (!r->ended) snprintf(r->trouble, sizeof r->trouble, "not ended: its program was stopped, or the power cut");
        return 0;
    }
    const size_t got = fseeko(r->file, (off_t)offset, SEEK_SET) ? 0 : fread(head, 1, sizeof head, r->file);
    const char *why = got < sizeof head ? NULL : chunk_read_head(head, c);
    if (got < sizeof head || (why && !head[sizeof head - 1] && only_zeros(r))) {
        note_cut(r, offset);
        return 0;
    }
    if (!why && c->number != r->chunks) why = "chunks are missing";
    if (why) {
        snprintf(r->trouble, sizeof r->trouble, "at byte %" PRIu64 ": %s", offset, why);
        return 0;
    }
    if (c->bytes <= r->bytes - offset - sizeof head) return 1;
    note_cut(r, offset);
    return 0;
}

/** Drop the last chunk if zeros have taken the place of its end. */
static void drop_unfinished(reader_t *r)
{
    chunk_t c;
    uint8_t *payload;
    if (!r->chunks || !reader_chunk(r, r->chunks - 1, &c, &payload)) return;
    const uint32_t last = --r->chunks;
    note_cut(r, r->position[last].offset);
    if (!r->frames) return;
    if (r->frame[r->frames - 1].chunk == last)
        r->frames--;
    else if (r->frame[r->frames - 1].outcome == last)
        r->frame[r->frames - 1].outcome = NO_CHUNK;
}

static const char *list_chunks(reader_t *r)
{
    uint64_t offset = RECORDING_MAGIC_BYTES;
    chunk_t c;
    const char *error = NULL;
    r->whole = r->map = NO_CHUNK;
    while (!error && next_head(r, offset, &c)) {
        error = add(r, &c, offset);
        offset += CHUNK_HEAD_BYTES + c.bytes;
    }
    if (r->is_cut) drop_unfinished(r);
    if (r->whole == NO_CHUNK || r->whole > r->frames) r->whole = r->frames;
    return error;
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

uint32_t reader_chunks(const reader_t *r) { return r->chunks; }

const char *reader_chunk(reader_t *r, uint32_t at, chunk_t *chunk, uint8_t **payload)
{
    *payload = NULL;
    memset(chunk, 0, sizeof *chunk);
    if (at >= r->chunks) return fail(r, "has %" PRIu32 " chunks, not one of number %" PRIu32, r->chunks, at);
    const struct position *p = &r->position[at];
    if (p->chunk.bytes > r->payload_room) { /* at most what the file has */
        uint8_t *more = realloc(r->payload, p->chunk.bytes);
        if (!more) return fail(r, "no memory for a chunk of %" PRIu32 " bytes", p->chunk.bytes);
        r->payload = more;
        r->payload_room = p->chunk.bytes;
    }
    if (fseeko(r->file, (off_t)(p->offset + CHUNK_HEAD_BYTES), SEEK_SET) ||
        (p->chunk.bytes && fread(r->payload, 1, p->chunk.bytes, r->file) != p->chunk.bytes))
        return fail(r, "cannot be read at byte %" PRIu64 ": %s", p->offset, strerror(errno));
    if (crc32_of(0, r->payload, p->chunk.bytes) != p->chunk.crc)
        return fail(r, "the %s at byte %" PRIu64 " is damaged: its CRC is another", chunk_type_name(p->chunk.type),
                    p->offset);
    *chunk = p->chunk;
    *payload = r->payload;
    return NULL;
}

const char *reader_frame(reader_t *r, uint32_t index, const recorded_frame_t **frame)
{
    uint8_t *payload;
    chunk_t c;
    if (index >= r->frames) return fail(r, "has %" PRIu32 " frames", r->frames);
    const char *error = reader_chunk(r, r->frame[index].chunk, &c, &payload);
    if (error) return error;
    error = frame_read(&r->recorded, &r->header.rig, payload, c.bytes);
    if (error) return fail(r, "frame %" PRIu32 ": %s", index, error);
    *frame = &r->recorded;
    return NULL;
}

/** Exchanges the room of payloads for that of maps, so that a frame that was read stays. */
static void swap_rooms(reader_t *r)
{
    uint8_t *payload = r->payload;
    const size_t room = r->payload_room;
    r->payload = r->map_payload;
    r->payload_room = r->map_room;
    r->map_payload = payload;
    r->map_room = room;
}

const char *reader_map(reader_t *r, uint32_t index, const uint8_t **image, size_t *bytes)
{
    uint8_t *payload;
    chunk_t c;
    *image = NULL;
    *bytes = 0;
    if (index >= r->frames || r->frame[index].map == NO_CHUNK) return NULL;
    swap_rooms(r);
    const char *error = reader_chunk(r, r->frame[index].map, &c, &payload);
    swap_rooms(r);
    if (error) return error;
    *image = payload;
    *bytes = c.bytes;
    return NULL;
}

const char *reader_outcome(reader_t *r, uint32_t index, outcome_t *outcome, int *has)
{
    uint8_t *payload;
    chunk_t c;
    *has = index < r->frames && r->frame[index].outcome != NO_CHUNK;
    if (!*has) return NULL;
    const struct frame_position *p = &r->frame[index];
    uint8_t *kept = r->payload; /* the frame that was read last stays */
    const size_t room = r->payload_room;
    r->payload = NULL;
    r->payload_room = 0;
    const char *error = reader_chunk(r, p->outcome, &c, &payload);
    if (!error) {
        error = outcome_read(outcome, payload, c.bytes);
        if (error) error = fail(r, "frame %" PRIu32 ": %s", index, error);
    }
    free(r->payload);
    r->payload = kept;
    r->payload_room = room;
    return error;
}

/* ---- open, close ------------------------------------------------------------------------------------------------- */

static const char *read_header(reader_t *r)
{
    uint8_t *payload;
    chunk_t c;
    if (!r->chunks) return fail(r, "%s", *r->trouble ? r->trouble : "no chunk in it");
    const char *error = reader_chunk(r, 0, &c, &payload);
    if (error) return error;
    if (c.type != CHUNK_HEADER) return fail(r, "begins with a chunk of type %" PRIu32 ", not the header", c.type);
    error = header_read(&r->header, payload, c.bytes);
    return error ? fail(r, "%s", error) : NULL;
}

static const char *open_file(reader_t *r, const char *path)
{
    struct stat s;
    if (snprintf(r->path, sizeof r->path, "%s", path) >= (int)sizeof r->path) return "a name that is too long";
    r->file = fopen(path, "rb");
    if (!r->file || stat(path, &s)) return fail(r, "%s", strerror(errno));
    r->bytes = (uint64_t)s.st_size;
    if (!reader_recognises(path)) return fail(r, "no recording: it does not begin as a .vfr file does");
    const char *error = list_chunks(r);
    return error ? error : read_header(r);
}

const char *reader_open(reader_t **out, const char *path)
{
    *out = NULL;
    reader_t *r = calloc(1, sizeof *r);
    if (!r) return "no memory";
    const char *error = open_file(r, path);
    if (error)
        reader_close(r);
    else
        *out = r;
    return error;
}

void reader_close(reader_t *r)
{
    if (!r) return;
    if (r->file) fclose(r->file);
    header_free(&r->header);
    free(r->position);
    free(r->frame);
    free(r->payload);
    free(r->map_payload);
    free(r);
}

const recording_header_t *reader_header(const reader_t *r) { return &r->header; }

uint32_t reader_frames(const reader_t *r) { return r->frames; }

uint64_t reader_time_ns(const reader_t *r, uint32_t index)
{
    return index < r->frames ? r->position[r->frame[index].chunk].chunk.t_ns : 0;
}

uint32_t reader_whole(const reader_t *r) { return r->whole; }

const char *reader_trouble(const reader_t *r, int *is_cut)
{
    *is_cut = r->is_cut;
    return *r->trouble ? r->trouble : NULL;
}
