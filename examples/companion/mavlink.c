/* SPDX-License-Identifier: MIT */
#include "mavlink.h"

#include <string.h>

enum { HEADER = 10, CHECKSUM = 2, SIGNATURE = 13 };
enum { BEGIN = 0xfd, BEGIN_VERSION1 = 0xfe };

/** A message as the wire has it. */
struct layout {
    uint32_t id;
    const char *name;
    uint8_t extra; /* byte of the checksum */
    uint8_t fields;
    const mavlink_field_t *field;
};

#define ROW(member, type, name, elements, extension)                                                                   \
    {#name,    #type,     sizeof(mavlink_##type),                                                                      \
     elements, extension, offsetof(mavlink_message_t, as.member.name) - offsetof(mavlink_message_t, as)},
#define PLAIN(member, type, name, elements) ROW(member, type, name, elements, 0)
#define EXTENSION(member, type, name, elements) ROW(member, type, name, elements, 1)
#define FIELDS(name, id, extra, member)                                                                                \
    static const mavlink_field_t member##_fields[] = {MAVLINK_##name##_FIELDS(PLAIN, EXTENSION, member)};
MAVLINK_MESSAGES(FIELDS)

#define LAYOUT(name, id, extra, member)                                                                                \
    {id, #name, extra, sizeof member##_fields / sizeof *member##_fields, member##_fields},
static const struct layout layouts[] = {MAVLINK_MESSAGES(LAYOUT)};

static const struct layout *find(uint32_t id)
{
    for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++)
        if (layouts[i].id == id) return &layouts[i];
    return NULL;
}

const char *mavlink_name(uint32_t id)
{
    const struct layout *l = find(id);
    return l ? l->name : NULL;
}

const mavlink_field_t *mavlink_fields(uint32_t id, size_t *count)
{
    const struct layout *l = find(id);
    if (l) *count = l->fields;
    return l ? l->field : NULL;
}

uint16_t mavlink_crc(uint16_t crc, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint8_t low = (uint8_t)(bytes[i] ^ (crc & 0xff));
        low = (uint8_t)(low ^ (low << 4));
        crc = (uint16_t)((crc >> 8) ^ (low << 8) ^ (low << 3) ^ (low >> 4));
    }
    return crc;
}

static uint16_t checksum(const uint8_t *frame, size_t payload, uint8_t extra)
{
    return mavlink_crc(mavlink_crc(0xffff, frame + 1, HEADER - 1 + payload), &extra, 1);
}

/** The bytes of an element, low byte first, from the machine's order or into it. */
static uint64_t load(const void *from, size_t bytes)
{
    uint8_t b;
    uint16_t h;
    uint32_t w;
    uint64_t d;
    switch (bytes) {
    case 1: return memcpy(&b, from, 1), b;
    case 2: return memcpy(&h, from, 2), h;
    case 4: return memcpy(&w, from, 4), w;
    default: return memcpy(&d, from, 8), d;
    }
}

static void store(void *to, uint64_t value, size_t bytes)
{
    const uint8_t b = (uint8_t)value;
    const uint16_t h = (uint16_t)value;
    const uint32_t w = (uint32_t)value;
    switch (bytes) {
    case 1: memcpy(to, &b, 1); break;
    case 2: memcpy(to, &h, 2); break;
    case 4: memcpy(to, &w, 4); break;
    default: memcpy(to, &value, 8); break;
    }
}

/** Writes the payload. Returns its length, with trailing zeros. */
static size_t pack(uint8_t *payload, const struct layout *l, const mavlink_message_t *m)
{
    size_t at = 0;
    for (int f = 0; f < l->fields; f++) {
        const mavlink_field_t *field = &l->field[f];
        const uint8_t *from = (const uint8_t *)&m->as + field->offset_bytes;
        for (int e = 0; e < field->elements; e++, from += field->bytes) {
            const uint64_t value = load(from, field->bytes);
            for (int b = 0; b < field->bytes; b++) payload[at++] = (uint8_t)(value >> 8 * b);
        }
    }
    return at;
}

/** Reads a payload of `length` bytes; those that it lacks are 0. */
static void unpack(mavlink_message_t *m, const struct layout *l, const uint8_t *payload, size_t length)
{
    size_t at = 0;
    memset(&m->as, 0, sizeof m->as);
    for (int f = 0; f < l->fields; f++) {
        const mavlink_field_t *field = &l->field[f];
        uint8_t *to = (uint8_t *)&m->as + field->offset_bytes;
        for (int e = 0; e < field->elements; e++, to += field->bytes) {
            uint64_t value = 0;
            for (int b = 0; b < field->bytes; b++, at++)
                if (at < length) value |= (uint64_t)payload[at] << 8 * b;
            store(to, value, field->bytes);
        }
    }
}

size_t mavlink_encode(uint8_t frame[MAVLINK_FRAME_MAX], const mavlink_message_t *m)
{
    return mavlink_encode_flagged(frame, m, 0);
}

size_t mavlink_encode_flagged(uint8_t frame[MAVLINK_FRAME_MAX], const mavlink_message_t *m, uint8_t flags)
{
    const struct layout *l = find(m->id);
    if (!l) return 0;
    size_t length = pack(frame + HEADER, l, m);
    while (length > 1 && frame[HEADER + length - 1] == 0) length--;
    const uint8_t header[HEADER] = {BEGIN,
                                    (uint8_t)length,
                                    flags,
                                    0,
                                    m->sequence,
                                    m->system,
                                    m->component,
                                    (uint8_t)m->id,
                                    (uint8_t)(m->id >> 8),
                                    (uint8_t)(m->id >> 16)};
    memcpy(frame, header, HEADER);
    const uint16_t sum = checksum(frame, length, l->extra);
    frame[HEADER + length] = (uint8_t)sum;
    frame[HEADER + length + 1] = (uint8_t)(sum >> 8);
    return HEADER + length + CHECKSUM;
}

/** Takes the first bytes of those held away. */
static void drop(mavlink_parser_t *p, size_t count)
{
    p->held -= (uint32_t)count;
    memmove(p->frame, p->frame + count, p->held);
}

/** Takes bytes away until one that may begin a frame is the first. */
static void align(mavlink_parser_t *p)
{
    uint32_t at = 0;
    for (; at < p->held && p->frame[at] != BEGIN; at++) p->version1 += p->frame[at] == BEGIN_VERSION1;
    p->noise += at;
    drop(p, at);
}

static uint32_t frame_id(const uint8_t *frame) { return frame[7] | (uint32_t)frame[8] << 8 | (uint32_t)frame[9] << 16; }

/** Bytes of the frame that begins what is held; 0: some are missing. A frame of an unknown id, whose checksum proves
 *  nothing, has to be followed by another one. */
static size_t frame_bytes(const mavlink_parser_t *p)
{
    if (p->held < HEADER) return 0;
    const size_t bytes = HEADER + (size_t)p->frame[1] + CHECKSUM + (p->frame[2] & MAVLINK_SIGNED ? SIGNATURE : 0);
    return p->held >= bytes + !find(frame_id(p->frame)) ? bytes : 0;
}

/** Looks at a whole frame and takes it away; what is no frame, its first byte only, so that a frame which begins inside
 *  is found. Returns 1 if it is a message. */
static int take(mavlink_parser_t *p, size_t bytes, mavlink_message_t *m)
{
    const uint8_t *f = p->frame;
    const size_t length = f[1];
    const uint32_t id = frame_id(f);
    const struct layout *l = find(id);
    if (f[2] & ~MAVLINK_SIGNED) {
        p->incompatible++;
        return drop(p, 1), 0;
    }
    if (!l) { /* its payload may hold frames, as that of a log does: they are not ours */
        const int is_frame = f[bytes] == BEGIN || f[bytes] == BEGIN_VERSION1;
        p->unknown += (uint64_t)is_frame;
        return drop(p, is_frame ? bytes : 1), 0;
    }
    const uint16_t sum = (uint16_t)(f[HEADER + length] | f[HEADER + length + 1] << 8);
    if (sum != checksum(f, length, l->extra)) {
        p->damaged++;
        return drop(p, 1), 0;
    }
    const int refused = p->accept ? !p->accept(p->of, f, bytes) : f[2] & MAVLINK_SIGNED;
    p->is_signed += refused != 0;
    p->messages += !refused;
    m->id = id;
    m->sequence = f[4];
    m->system = f[5];
    m->component = f[6];
    m->is_signed = (f[2] & MAVLINK_SIGNED) != 0;
    unpack(m, l, f + HEADER, length);
    drop(p, bytes);
    return !refused;
}

/** A whole frame of those held. Returns 1 if it is a message, 0 if bytes are missing. */
static int next(mavlink_parser_t *p, mavlink_message_t *m)
{
    for (;;) {
        align(p);
        const size_t bytes = frame_bytes(p);
        if (!bytes) return 0;
        if (take(p, bytes, m)) return 1;
    }
}

int mavlink_parse(mavlink_parser_t *p, const uint8_t **bytes, size_t *count, mavlink_message_t *m)
{
    for (;;) {
        if (next(p, m)) return 1;
        if (!*count) return 0;
        const size_t room = sizeof p->frame - p->held, taken = *count < room ? *count : room;
        memcpy(p->frame + p->held, *bytes, taken);
        p->held += (uint32_t)taken;
        p->bytes += taken;
        *bytes += taken;
        *count -= taken;
    }
}
