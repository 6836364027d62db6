/* SPDX-License-Identifier: MIT
 *
 * What operators are told, and when. Each topic has one text, of which the newest counts. One for the worse goes at
 * once, unless it is what was sent of the topic within NOTICE_NS: then nothing has changed. All others wait until
 * nothing was sent for NOTICE_NS, and are forgotten where the topic has another text by then.
 */
#ifndef COMPANION_NOTICES_H
#define COMPANION_NOTICES_H

#include <stdint.h>

#include "health.h"

#define NOTICE_NS 2000000000u
#define NOTICE_TEXT 51 /* bytes of a STATUSTEXT and its end */
#define NOTICE_LINKS 4

/** Severities of STATUSTEXT; up to SEVERITY_WARNING it is one for the worse. */
enum { SEVERITY_CRITICAL = 2, SEVERITY_ERROR = 3, SEVERITY_WARNING = 4, SEVERITY_NOTICE = 5, SEVERITY_INFO = 6 };

/** Topics. */
enum {
    NOTICE_STATE,
    NOTICE_TRUST,
    NOTICE_PICTURES,
    NOTICE_STEREO,
    NOTICE_DEVICE, /**< IMU of this machine. */
    NOTICE_START,
    NOTICE_STEP,
    NOTICE_COMMAND,
    NOTICE_MAP,
    NOTICE_SAVE,
    NOTICE_HEALTH,                                   /**< And those of its other words. */
    NOTICE_DUPLICATE = NOTICE_HEALTH + HEALTH_WORDS, /**< Of the first link; the others follow, as of those below. */
    NOTICE_SIGNED = NOTICE_DUPLICATE + NOTICE_LINKS,
    NOTICE_RATE = NOTICE_SIGNED + NOTICE_LINKS,
    NOTICE_CLOCK = NOTICE_RATE + NOTICE_LINKS,
    NOTICE_JUMP = NOTICE_CLOCK + NOTICE_LINKS,
    NOTICE_STAMPS = NOTICE_JUMP + NOTICE_LINKS,
    NOTICE_TOPICS = NOTICE_STAMPS + NOTICE_LINKS
};

/** A topic. */
typedef struct notice {
    int waits, severity;
    uint64_t since_ns; /**< When it began to wait. */
    uint64_t sent_ns;  /**< When `sent` went; 0: nothing yet. */
    char text[NOTICE_TEXT], sent[NOTICE_TEXT];
} notice_t;

/** Zero it. */
typedef struct notices {
    notice_t topic[NOTICE_TOPICS];
    uint64_t sent_ns; /**< When anything went last. */
} notices_t;

void notices_put(notices_t *notices, int topic, int severity, const char *text, uint64_t now_ns);

/** The next one that is due; to be called until it returns NULL. */
const char *notices_next(notices_t *notices, uint64_t now_ns, int *severity);

#endif
