/* SPDX-License-Identifier: MIT */
#include "source_internal.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "examples/replay/dataset.h"

#define LEAD_NS 100000000u /* from the start to the arrival of the first frame */
#define SAMPLES 1024u      /* most of a frame */
#define SKIPS_MAX 8        /* frames passed over in a row: a source that is slower than its own time ends there */

struct player {
    source_settings_t settings;
    dataset_t *dataset;
    uint32_t next, frames; /* frames: 0: endless */
    int has_frame;         /* 1: `frame` was read and is not given yet */
    vfront_frame_t frame;
    vfront_imu_t sample[SAMPLES]; /* of the frames read, not given yet */
    uint32_t samples, delivered;
    int has_shift;
    uint64_t shift_ns;     /* modulo 2^64: from stamps to the clock */
    uint64_t delivered_ns; /* stamp of the frame given last; 0: none */
    uint64_t skipped;
    const char *fault;
};

static const char *open_dataset(void **of, const source_settings_t *settings)
{
    struct player *p = calloc(1, sizeof *p);
    if (!p) return "no memory for a data set";
    *of = p;
    p->settings = *settings;
    const char *error = dataset_open(&p->dataset, settings->where, VFRONT_CAMERAS, settings->calibration, NULL, NULL);
    if (error) return error;
    dataset_use_imu(p->dataset);
    p->frames = dataset_frames(p->dataset);
    if (settings->frames && (!p->frames || settings->frames < p->frames)) p->frames = settings->frames;
    return NULL;
}

static void close_dataset(void *of)
{
    struct player *p = of;
    if (p) dataset_close(p->dataset);
    free(p);
}

static const vfront_rig_t *rig_of(const void *of) { return dataset_rig(((const struct player *)of)->dataset); }
static int has_samples(const void *of) { return dataset_has_imu(((const struct player *)of)->dataset); }
static uint64_t skipped(const void *of) { return ((const struct player *)of)->skipped; }

static const char *fault_of(void *of)
{
    struct player *p = of;
    const char *fault = p->fault;
    p->fault = NULL;
    return fault;
}

/** Moves the frame and its samples to the machine's clock, so that the first frame arrives a little later than now. */
static void shift(struct player *p)
{
    vfront_frame_t *f = &p->frame;
    if (!p->has_shift) {
        p->shift_ns = p->settings.is_fast ? 0 : clock_ns() + LEAD_NS - f->t_ns - f->exposure_ns;
        p->has_shift = 1;
    }
    f->t_ns += p->shift_ns;
    for (int i = 0; i < VFRONT_CAMERAS; i++)
        if (f->picture[i].t_ns) f->picture[i].t_ns += p->shift_ns;
    if (p->delivered) {
        memmove(p->sample, p->sample + p->delivered, (p->samples - p->delivered) * sizeof *p->sample);
        p->samples -= p->delivered;
        p->delivered = 0;
    }
    for (uint32_t i = 0; i < f->imu_count && p->samples < SAMPLES; i++) {
        p->sample[p->samples] = f->imu[i];
        p->sample[p->samples++].t_ns += p->shift_ns;
    }
    f->imu = NULL;
    f->imu_count = 0;
    f->gyro = NULL;
    f->gyro_count = 0;
}

/** Reads the next frame, if it is not read yet. */
static source_status_t read_ahead(struct player *p)
{
    if (p->has_frame) return SOURCE_FRAME;
    if (p->frames && p->next == p->frames) return SOURCE_END;
    p->fault = dataset_read(p->dataset, p->next, &p->frame);
    if (p->fault) return SOURCE_FAILED;
    p->next++;
    p->has_frame = 1;
    shift(p);
    return SOURCE_FRAME;
}

/** Waits for a time, on whichever clock it is. 0: a signal came. */
static int wait_until(const struct player *p, uint64_t t_ns)
{
    if (!p->settings.is_fast) return clock_sleep_until_ns(t_ns);
    if (t_ns > clock_ns() || p->next == 1) clock_set_ns(t_ns);
    return 1;
}

/** Gives the samples up to a time, each at its own. 0: a signal came. */
static int deliver_samples(struct player *p, uint64_t until_ns)
{
    for (; p->delivered < p->samples && p->sample[p->delivered].t_ns <= until_ns; p->delivered++) {
        if (!wait_until(p, p->sample[p->delivered].t_ns)) return 0;
        if (p->settings.has_samples) p->settings.take(p->settings.context, &p->sample[p->delivered]);
    }
    return 1;
}

static source_status_t next_frame(void *of, vfront_frame_t *frame, uint64_t *arrived_ns)
{
    struct player *p = of;
    for (int skips = 0;; skips++) {
        const source_status_t found = read_ahead(p);
        if (found != SOURCE_FRAME) return found;
        const uint64_t there_ns = p->frame.t_ns + p->frame.exposure_ns;
        /* the sample at or after the middle of exposure comes a little later than the frame */
        const uint64_t last_ns = p->samples > p->delivered ? p->sample[p->samples - 1].t_ns : 0;
        if (!deliver_samples(p, last_ns > there_ns ? last_ns : there_ns) || !wait_until(p, there_ns))
            return SOURCE_NOTHING;
        p->has_frame = 0;
        *frame = p->frame;
        *arrived_ns = last_ns > there_ns ? last_ns : there_ns;
        const uint64_t interval_ns = p->delivered_ns ? frame->t_ns - p->delivered_ns : 0;
        const int is_last = p->frames && p->next == p->frames;
        p->delivered_ns = frame->t_ns;
        const int is_newest = p->settings.is_fast || is_last || clock_ns() < there_ns + interval_ns;
        if (is_newest || !interval_ns || skips == SKIPS_MAX) return SOURCE_FRAME;
        p->skipped++; /* the next one is there by now */
    }
}

const source_kind_t source_dataset = {.open = open_dataset,
                                      .close = close_dataset,
                                      .rig = rig_of,
                                      .has_samples = has_samples,
                                      .next = next_frame,
                                      .fault = fault_of,
                                      .skipped = skipped};
