/* SPDX-License-Identifier: MIT
 *
 * Messages that wait for a link: one of each kind, of which the newest wins. A link that is too slow for all of them
 * carries fewer, never older ones.
 *
 *   kind    the message's id; of COMMAND_LONG also what it asks for, of PARAM_VALUE which it is, of STATUSTEXT its
 *           words, of TIMESYNC whether it is a request or an answer
 *   order   TIMESYNC first, as its round trip is measured; then the kind that has waited longest, so that none starves
 *   age     what has a stamp is dropped where it would end OUTBOX_AGE_NS or more after it was put here. A failure
 *           (quality -1) is not: it says nothing of its time
 */
#ifndef COMPANION_OUTBOX_H
#define COMPANION_OUTBOX_H

#include "mavlink.h"

#define OUTBOX_KINDS 24
#define OUTBOX_AGE_NS 200000000u /* PX4 does not begin to fuse samples that are farther apart */

/** A message that waits. */
typedef struct outbox_slot {
    int is_used;
    uint64_t kind;
    uint64_t since_ns; /**< When the first of its kind came that has not gone. */
    uint64_t put_ns;   /**< When this one came. */
    mavlink_message_t message;
} outbox_slot_t;

/** Zero it. */
typedef struct outbox {
    outbox_slot_t slot[OUTBOX_KINDS];
    uint64_t replaced; /**< By a newer one of their kind. */
    uint64_t stale;    /**< Too old. */
    uint64_t full;     /**< Of one kind too many. */
} outbox_t;

/** Puts a message. Returns its slot; NULL: there is none left. */
const outbox_slot_t *outbox_put(outbox_t *outbox, const mavlink_message_t *message, uint64_t now_ns);

/** Takes the message that is next. wire_ns: time from now on until its last byte is out. 0: none waits. */
int outbox_take(outbox_t *outbox, uint64_t now_ns, uint64_t wire_ns, mavlink_message_t *message);

/** 1: something waits. */
int outbox_waits(const outbox_t *outbox);

#endif
