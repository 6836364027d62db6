/* SPDX-License-Identifier: MIT
 *
 * Share of the states that go over a link whose queue is not in this machine: a bridge from a network to a slow line,
 * or a modem, takes all that is sent, and holds it. How long it holds it is known by TIMESYNC: the autopilot's time as
 * it answers, less the time at which it was asked, is offset and way there; what it is more than the least of late is
 * the time in queues. A queue on the way back changes nothing of it.
 *
 * More than UPLINK_QUEUE_S: fewer states go, by a factor a time; less than a part of it: more, slowly. More than
 * UPLINK_FULL_S: none until it has drained, as long as answers come.
 */
#ifndef COMPANION_UPLINK_H
#define COMPANION_UPLINK_H

#include <stdint.h>

#define UPLINK_QUEUE_S 0.05         /* time in queues from which on fewer states go */
#define UPLINK_FULL_S 0.12          /* and none at all: with the way of a message under the 200 ms of outbox.h */
#define UPLINK_STALE_NS 500000000u  /* age from which on the last answer says nothing of queues */
#define UPLINK_SPAN_NS 5000000000u  /* that a least is of */
#define UPLINK_SPANS 6              /* so many: clocks part by 9 ms in them at most */
#define UPLINK_SHARE_MIN 0.125      /* 5 of 40 Hz, with which PX4 goes on fusing */
#define UPLINK_SOONER_NS 300000000u /* between two steps down, beside the time in queues */
#define UPLINK_LATER_NS 1000000000u /* between two steps up */

/** Zero it. */
typedef struct uplink {
    double frame_s; /**< Time of a state on the line of this machine, which an answer may have waited for. Set by the
                         caller. */
    int64_t least_ns[UPLINK_SPANS]; /**< Of each span, the newest first. */
    int spans;                      /**< That have one. */
    uint64_t span_ns;               /**< Begin of the newest. */
    double queue_s;                 /**< Time in queues by the last answer. */
    uint64_t answered_ns;           /**< When that came. */
    double held_back;               /**< 1 less the share that goes. */
    double credit;
    uint64_t changed_ns;
} uplink_t;

/** An answer. remote_ns: the autopilot's time in it. */
void uplink_add(uplink_t *uplink, uint64_t sent_ns, int64_t remote_ns, uint64_t now_ns);

/** 1: the next state goes; 0: it is left out. */
int uplink_takes(uplink_t *uplink, uint64_t now_ns);

#endif
