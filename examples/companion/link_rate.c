/* SPDX-License-Identifier: MIT */
#include "link_rate.h"

#include <stdio.h>

#define NARROW 0.9  /* share of the messages below which a link is too narrow */
#define ENOUGH 0.97 /* from which on it no longer is */

int link_rate_update(link_rate_t *r, const link_t *l, uint64_t now_ns)
{
    const int was_narrow = r->is_narrow;
    if (r->since_ns && now_ns < r->since_ns + LINK_RATE_NS) return 0;
    const double seconds = (double)(now_ns - r->since_ns) * 1e-9;
    if (r->since_ns) {
        r->hz = (double)(l->states - r->states) / seconds;
        r->sent_hz = (double)(l->states_sent - r->states_sent) / seconds;
        r->is_known = 1;
        r->is_narrow = r->hz > 0.0 && r->sent_hz < (was_narrow ? ENOUGH : NARROW) * r->hz;
    }
    r->since_ns = now_ns;
    r->states = l->states;
    r->states_sent = l->states_sent;
    return r->is_narrow != was_narrow;
}

void link_rate_text(const link_rate_t *r, int number, char text[LINK_RATE_TEXT])
{
    snprintf(text, LINK_RATE_TEXT, "link %d: %.0f of %.0f Hz", number, r->sent_hz, r->hz);
}
