/* SPDX-License-Identifier: MIT */
#include "source_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct source {
    const source_kind_t *kind;
    void *of;
};

/** Kind by the word before the colon; all else is a data set. */
static const source_kind_t *kind_of(const char *where)
{
    return strncmp(where, "v4l2:", 5) == 0  ? &source_v4l2
           : strncmp(where, "gst:", 4) == 0 ? &source_gst
           : strncmp(where, "sim:", 4) == 0 ? &source_sim
                                            : &source_dataset;
}

const char *source_open(source_t **source, const source_settings_t *settings)
{
    *source = calloc(1, sizeof **source);
    if (!*source) return "no memory for a source";
    (*source)->kind = kind_of(settings->where);
    const char *error = (*source)->kind->open(&(*source)->of, settings);
    const source_t *s = *source;
    if (settings->is_absent) *settings->is_absent = error && s->kind->is_absent && s->of && s->kind->is_absent(s->of);
    if (!error) return NULL;
    source_close(*source);
    *source = NULL;
    return error;
}

void source_close(source_t *s)
{
    if (!s) return;
    s->kind->close(s->of);
    free(s);
}

const char *source_start(source_t *s, const source_inputs_t *inputs)
{
    return s->kind->start ? s->kind->start(s->of, inputs) : NULL;
}

const vfront_rig_t *source_rig(const source_t *s) { return s->kind->rig(s->of); }
int source_has_samples(const source_t *s) { return s->kind->has_samples(s->of); }
const char *source_fault(source_t *s) { return s->kind->fault(s->of); }
uint64_t source_skipped(const source_t *s) { return s->kind->skipped(s->of); }

source_status_t source_next(source_t *s, vfront_frame_t *frame, uint64_t *arrived_ns)
{
    memset(frame, 0, sizeof *frame);
    return s->kind->next(s->of, frame, arrived_ns);
}

void source_done(source_t *s)
{
    if (s->kind->done) s->kind->done(s->of);
}
