/* SPDX-License-Identifier: MIT */
#include "notices.h"

#include <stdio.h>
#include <string.h>

static int is_worse(const notice_t *t) { return t->severity <= SEVERITY_WARNING; }

static int is_of_late(uint64_t sent_ns, uint64_t now_ns)
{
    return sent_ns && now_ns >= sent_ns && now_ns < sent_ns + NOTICE_NS;
}

void notices_put(notices_t *n, int topic, int severity, const char *text, uint64_t now_ns)
{
    notice_t *t = &n->topic[topic];
    if (is_of_late(t->sent_ns, now_ns) && strcmp(t->sent, text) == 0) {
        t->waits = 0;
        return;
    }
    if (!t->waits) t->since_ns = now_ns;
    t->waits = 1;
    t->severity = severity;
    snprintf(t->text, sizeof t->text, "%s", text);
}

const char *notices_next(notices_t *n, uint64_t now_ns, int *severity)
{
    notice_t *next = NULL;
    for (int i = 0; i < NOTICE_TOPICS; i++) {
        notice_t *t = &n->topic[i];
        if (!t->waits || (!is_worse(t) && is_of_late(n->sent_ns, now_ns))) continue;
        if (!next || is_worse(t) > is_worse(next) || (is_worse(t) == is_worse(next) && t->since_ns < next->since_ns))
            next = t;
    }
    if (!next) return NULL;
    next->waits = 0;
    next->sent_ns = n->sent_ns = now_ns ? now_ns : 1;
    memcpy(next->sent, next->text, sizeof next->sent);
    *severity = next->severity;
    return next->sent;
}
