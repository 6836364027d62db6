/* SPDX-License-Identifier: MIT */
#include "uplink.h"

#include <string.h>

#define DOWN 0.7  /* factor of a step down */
#define UP 1.1    /* and up */
#define EMPTY 0.4 /* part of UPLINK_QUEUE_S below which a queue is as good as empty */

/** Least way of late, the answer's own among them. */
static int64_t least_with(uplink_t *u, int64_t way_ns, uint64_t now_ns)
{
    if (!u->spans || now_ns >= u->span_ns + UPLINK_SPAN_NS) {
        memmove(u->least_ns + 1, u->least_ns, (UPLINK_SPANS - 1) * sizeof *u->least_ns);
        u->least_ns[0] = way_ns;
        u->span_ns = now_ns;
        u->spans += u->spans < UPLINK_SPANS;
    }
    if (way_ns < u->least_ns[0]) u->least_ns[0] = way_ns;
    int64_t least_ns = way_ns;
    for (int i = 0; i < u->spans; i++)
        if (u->least_ns[i] < least_ns) least_ns = u->least_ns[i];
    return least_ns;
}

void uplink_add(uplink_t *u, uint64_t sent_ns, int64_t remote_ns, uint64_t now_ns)
{
    const int64_t way_ns = remote_ns - (int64_t)sent_ns;
    u->queue_s = (double)(way_ns - least_with(u, way_ns, now_ns)) * 1e-9 - u->frame_s;
    u->answered_ns = now_ns;
    const uint64_t since_ns = now_ns - u->changed_ns;
    double share = 1.0 - u->held_back;
    if (u->queue_s > UPLINK_QUEUE_S && since_ns >= UPLINK_SOONER_NS + (uint64_t)(u->queue_s * 1e9))
        share = share * DOWN > UPLINK_SHARE_MIN ? share * DOWN : UPLINK_SHARE_MIN;
    else if (u->queue_s < EMPTY * UPLINK_QUEUE_S && since_ns >= UPLINK_LATER_NS)
        share = share * UP < 1.0 ? share * UP : 1.0;
    else
        return;
    u->held_back = 1.0 - share;
    u->changed_ns = now_ns;
}

int uplink_takes(uplink_t *u, uint64_t now_ns)
{
    if (u->queue_s > UPLINK_FULL_S && now_ns < u->answered_ns + UPLINK_STALE_NS) return 0;
    u->credit += 1.0 - u->held_back;
    if (u->credit < 1.0) return 0;
    u->credit -= 1.0;
    return 1;
}
