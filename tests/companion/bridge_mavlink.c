/* SPDX-License-Identifier: MIT
 *
 * The MAVLink codec of the companion for tests in Python: messages are laid out as the tables of fields say.
 */
#include <string.h>

#include "examples/companion/sha256.h"
#include "examples/companion/signing.h"

size_t bridge_size(void);
size_t bridge_as(void);
size_t bridge_parser(void);
const char *bridge_name(uint32_t id);
size_t bridge_field(uint32_t id, size_t index, const char **name, const char **type, int32_t numbers[4]);
size_t bridge_encode(uint8_t *frame, uint32_t id, int sequence, int system, int component, const uint8_t *as);
size_t bridge_parse(mavlink_parser_t *parser, const uint8_t *bytes, size_t count, mavlink_message_t *messages,
                    size_t max);
void bridge_counts(const mavlink_parser_t *parser, uint64_t counts[8]);

size_t bridge_sign(uint8_t *frame, const uint8_t *plain, size_t bytes, const uint8_t *key, int link, uint64_t time);
size_t bridge_accept(signing_t *signing, const uint8_t *key, const uint8_t *frame, size_t bytes);
size_t bridge_signing(void);

size_t bridge_size(void) { return sizeof(mavlink_message_t); }
size_t bridge_as(void) { return offsetof(mavlink_message_t, as); }
size_t bridge_parser(void) { return sizeof(mavlink_parser_t); }
const char *bridge_name(uint32_t id) { return mavlink_name(id); }

size_t bridge_field(uint32_t id, size_t index, const char **name, const char **type, int32_t numbers[4])
{
    size_t count = 0;
    const mavlink_field_t *f = mavlink_fields(id, &count);
    if (!f || index >= count) return 0;
    f += index;
    *name = f->name;
    *type = f->type;
    numbers[0] = f->bytes;
    numbers[1] = f->elements;
    numbers[2] = f->is_extension;
    numbers[3] = f->offset_bytes;
    return 1;
}

size_t bridge_encode(uint8_t *frame, uint32_t id, int sequence, int system, int component, const uint8_t *as)
{
    mavlink_message_t m = {
        .id = id, .sequence = (uint8_t)sequence, .system = (uint8_t)system, .component = (uint8_t)component};
    memcpy(&m.as, as, sizeof m.as);
    return mavlink_encode(frame, &m);
}

size_t bridge_parse(mavlink_parser_t *parser, const uint8_t *bytes, size_t count, mavlink_message_t *messages,
                    size_t max)
{
    size_t n = 0;
    while (n < max && mavlink_parse(parser, &bytes, &count, &messages[n])) n++;
    return n;
}

void bridge_counts(const mavlink_parser_t *p, uint64_t counts[8])
{
    const uint64_t all[8] = {p->bytes,     p->messages,     p->unknown,  p->damaged,
                             p->is_signed, p->incompatible, p->version1, p->noise};
    memcpy(counts, all, sizeof all);
}

/** An unsigned frame, signed. */
size_t bridge_sign(uint8_t *frame, const uint8_t *plain, size_t bytes, const uint8_t *key, int link, uint64_t time)
{
    mavlink_parser_t parser = {0};
    signing_t signing = {.is_on = 1, .link = (uint8_t)link};
    mavlink_message_t m;
    memcpy(signing.key, key, SIGNING_KEY);
    return mavlink_parse(&parser, &plain, &bytes, &m) ? signing_encode(&signing, frame, &m, time) : 0;
}

size_t bridge_signing(void) { return sizeof(signing_t); }

size_t bridge_accept(signing_t *signing, const uint8_t *key, const uint8_t *frame, size_t bytes)
{
    memcpy(signing->key, key, SIGNING_KEY);
    return (size_t)signing_accept(signing, frame, bytes);
}
