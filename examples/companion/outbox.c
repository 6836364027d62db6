/* SPDX-License-Identifier: MIT */
#include "outbox.h"

#include <string.h>

static uint64_t kind_of(const mavlink_message_t *m)
{
    uint32_t detail = 0;
    if (m->id == MAVLINK_COMMAND_LONG) memcpy(&detail, m->as.command.param1, sizeof detail);
    if (m->id == MAVLINK_TIMESYNC) detail = m->as.timesync.tc1[0] != 0;
    if (m->id == MAVLINK_PARAM_VALUE) detail = m->as.param_value.param_index[0];
    if (m->id == MAVLINK_STATUSTEXT)
        detail = mavlink_crc(0xffff, (const uint8_t *)m->as.text.text, sizeof m->as.text.text);
    return (uint64_t)m->id << 32 | detail;
}

const outbox_slot_t *outbox_put(outbox_t *o, const mavlink_message_t *m, uint64_t now_ns)
{
    const uint64_t kind = kind_of(m);
    outbox_slot_t *found = NULL;
    for (int i = 0; i < OUTBOX_KINDS; i++) {
        outbox_slot_t *s = &o->slot[i];
        if (!s->is_used && !found) found = s;
        if (!s->is_used || s->kind != kind) continue;
        o->replaced++;
        found = s;
        break;
    }
    if (!found) {
        o->full++;
        return NULL;
    }
    if (!found->is_used) found->since_ns = now_ns;
    found->is_used = 1;
    found->kind = kind;
    found->put_ns = now_ns;
    found->message = *m;
    return found;
}

/** 1: it is of a time that must not be over. */
static int expires(const mavlink_message_t *m)
{
    return m->id == MAVLINK_TIMESYNC || m->id == MAVLINK_VISION_POSITION_ESTIMATE ||
           m->id == MAVLINK_LOCAL_POSITION_NED_SYSTEM_GLOBAL_OFFSET || m->id == MAVLINK_OBSTACLE_DISTANCE ||
           (m->id == MAVLINK_ODOMETRY && m->as.odometry.quality[0] >= 0);
}

/** 1: a goes before b. */
static int is_before(const outbox_slot_t *a, const outbox_slot_t *b)
{
    const int sync = a->message.id == MAVLINK_TIMESYNC, other = b->message.id == MAVLINK_TIMESYNC;
    return sync != other ? sync : a->since_ns < b->since_ns;
}

int outbox_take(outbox_t *o, uint64_t now_ns, uint64_t wire_ns, mavlink_message_t *m)
{
    outbox_slot_t *next = NULL;
    for (int i = 0; i < OUTBOX_KINDS; i++) {
        outbox_slot_t *s = &o->slot[i];
        if (s->is_used && expires(&s->message) && now_ns + wire_ns >= s->put_ns + OUTBOX_AGE_NS) {
            o->stale++;
            s->is_used = 0;
        }
        if (s->is_used && (!next || is_before(s, next))) next = s;
    }
    if (!next) return 0;
    *m = next->message;
    next->is_used = 0;
    return 1;
}

int outbox_waits(const outbox_t *o)
{
    for (int i = 0; i < OUTBOX_KINDS; i++)
        if (o->slot[i].is_used) return 1;
    return 0;
}
