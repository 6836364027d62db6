/* SPDX-License-Identifier: MIT
 *
 * Rate of ODOMETRY that a link carries, beside that which is sent: a slow line carries fewer.
 */
#ifndef COMPANION_LINK_RATE_H
#define COMPANION_LINK_RATE_H

#include "link.h"

#define LINK_RATE_NS 5000000000u /* time that a rate is of */
#define LINK_RATE_TEXT 40        /* bytes of "link 4: 100 of 100 Hz" and more, and its end */

/** Zero it. */
typedef struct link_rate {
    uint64_t since_ns;
    uint64_t states, states_sent; /**< Of the link, then. */
    double hz, sent_hz;           /**< Messages a second that were to go, that went. */
    int is_known;
    int is_narrow; /**< 1: the link carries clearly fewer than are sent. */
} link_rate_t;

/** Once a second or so. 1: whether the link is too narrow has changed. */
int link_rate_update(link_rate_t *rate, const link_t *link, uint64_t now_ns);

/** "link 1: 12 of 40 Hz"; number: of the link, from 1 on. */
void link_rate_text(const link_rate_t *rate, int number, char text[LINK_RATE_TEXT]);

#endif
