/* SPDX-License-Identifier: MIT */
#include "check.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

void check_open(check_t *c, reader_t *reader, const char *other, const vfront_tuning_t *tuning)
{
    c->reader = reader;
    c->other = other;
    c->dense = tuning->failover != VFRONT_FAILOVER_LIGHT;
    const char *config = reader ? header_other_config(reader_header(reader)) : NULL;
    if (config) fprintf(stderr, "note: other results than those recorded can be expected: %s\n", config);
}

const char *check_frame(check_t *c, uint32_t index, vfront_status_t status, const vfront_result_t *result,
                        const char **notice)
{
    static char line[200];
    outcome_t now, recorded;
    int has = 0;
    *notice = NULL;
    if (!c->reader || c->other) return NULL;
    if (index < reader_whole(c->reader)) {
        const char *error = reader_outcome(c->reader, index, &recorded, &has);
        if (error) return error;
    }
    c->frames_ended += !has;
    if (!has) return NULL;
    outcome_of(&now, status, result);
    const char *at = outcome_difference(&recorded, &now, c->dense);
    c->compared++;
    if (!at) return NULL;
    if (!c->differ++) {
        c->first = index;
        c->first_at = at;
        if (strcmp(at, "status") == 0)
            snprintf(line, sizeof line, "frame %" PRIu32 ": %s, in the recording %s", index,
                     vfront_status_name((vfront_status_t)now.status),
                     vfront_status_name((vfront_status_t)recorded.status));
        else
            snprintf(line, sizeof line, "frame %" PRIu32 ": differs from the recording, first in the stage %s", index,
                     at);
        *notice = line;
    }
    return NULL;
}

void check_print(const check_t *c)
{
    if (!c->reader) return;
    const recording_header_t *h = reader_header(c->reader);
    printf("%-12s by %s %s, sources %s%s, on %s\n", "recording", h->program, h->version, h->sources,
           strcmp(h->sources, header_sources()) ? " (others than these)" : "", h->device);
    if (c->other) {
        printf("%-12s results are not compared: %s makes this another run\n", "", c->other);
        return;
    }
    printf("%-12s %" PRIu32 " of %" PRIu32 " results as recorded", "", c->compared - c->differ, c->compared);
    if (c->differ) printf("; the first other one in frame %" PRIu32 ", %s", c->first, c->first_at);
    if (c->frames_ended)
        printf("; %" PRIu32 " frames are not compared, as frames before them are lost", c->frames_ended);
    putchar('\n');
}
