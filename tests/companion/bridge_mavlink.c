/* SPDX-License-Identifier: MIT
 *
 * The MAVLink codec of the companion for tests in Python: messages are laid out as the tables of fields say.
 */
#include <string.h>

#include "examples/companion/mavlink.h"

size_t bridge_size(void);
size_t bridge_as(void);
size_t bridge_parser(void);
const char *bridge_name(uint32_t id);
size_t bridge_field(uint32_t id, size_t index, const char **name, const char **type, int32_t numbers[4]);
size_t bridge_encode(uint8_t *frame, uint32_t id, int sequence, int system, int component, const uint8_t *as);
size_t bridge_parse(mavlink_parser_t *parser, const uint8_t *bytes, size_t count, mavlink_message_t *messages,
                    size_t max);
void bridge_counts(const mavlink_parser_t *parser, uint64_t counts[8]);

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
