/* SPDX-License-Identifier: MIT */
#include "source_internal.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "examples/dataset.h"

#define LEAD_NS 100000000u /* from the start to the arrival of the first frame */
#define READINGS 1024u     /* most of a frame */
#define SKIPS_MOST 8       /* frames passed over in a row: a source that is slower than its own time ends there */

struct player {
    source_settings_t settings;
    dataset_t *dataset;
    uint32_t next, frames; /* frames: 0: endless */
    int has_frame;         /* 1: `frame` was read and is not given yet */
    vfront_frame_t frame;
    vfront_imu_t reading[READINGS]; /* of the frames read, not given yet */
    uint32_t readings, given;
    int has_shift;
    uint64_t shift_ns; /* modulo 2^64: from stamps to the clock */
    uint64_t given_ns; /* stamp of the frame given last; 0: none */
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
static int has_readings(const void *of) { return dataset_has_imu(((const struct player *)of)->dataset); }
static uint64_t skipped(const void *of) { return ((const struct player *)of)->skipped; }

static const char *fault_of(void *of)
{
    struct player *p = of;
    const char *fault = p->fault;
    p->fault = NULL;
    return fault;
}

/** Moves the frame and its readings to the machine's clock, so that the first frame arrives a little later than now. */
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
    if (p->given) {
        memmove(p->reading, p->reading + p->given, (p->readings - p->given) * sizeof *p->reading);
        p->readings -= p->given;
        p->given = 0;
    }
    for (uint32_t i = 0; i < f->imu_count && p->readings < READINGS; i++) {
        p->reading[p->readings] = f->imu[i];
        p->reading[p->readings++].t_ns += p->shift_ns;
    }
    f->imu = NULL;
    f->imu_count = 0;
    f->gyro = NULL;
    f->gyro_count = 0;
}

/** Reads the next frame, if it is not read yet. */
static source_found_t read_ahead(struct player *p)
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

/** Gives the readings up to a time, each at its own. 0: a signal came. */
static int give_readings(struct player *p, uint64_t until_ns)
{
    for (; p->given < p->readings && p->reading[p->given].t_ns <= until_ns; p->given++) {
        if (!wait_until(p, p->reading[p->given].t_ns)) return 0;
        if (p->settings.has_readings) p->settings.take(p->settings.context, &p->reading[p->given]);
    }
    return 1;
}

static source_found_t next_frame(void *of, vfront_frame_t *frame, uint64_t *arrived_ns)
{
    struct player *p = of;
    for (int skips = 0;; skips++) {
        const source_found_t found = read_ahead(p);
        if (found != SOURCE_FRAME) return found;
        const uint64_t there_ns = p->frame.t_ns + p->frame.exposure_ns;
        /* the reading at or after the middle of exposure comes a little later than the frame */
        const uint64_t last_ns = p->readings > p->given ? p->reading[p->readings - 1].t_ns : 0;
        if (!give_readings(p, last_ns > there_ns ? last_ns : there_ns) || !wait_until(p, there_ns))
            return SOURCE_NOTHING;
        p->has_frame = 0;
        *frame = p->frame;
        *arrived_ns = last_ns > there_ns ? last_ns : there_ns;
        const uint64_t interval_ns = p->given_ns ? frame->t_ns - p->given_ns : 0;
        const int is_last = p->frames && p->next == p->frames;
        p->given_ns = frame->t_ns;
        const int is_newest = p->settings.is_fast || is_last || clock_ns() < there_ns + interval_ns;
        if (is_newest || !interval_ns || skips == SKIPS_MOST) return SOURCE_FRAME;
        p->skipped++; /* the next one is there by now */
    }
}

const source_kind_t source_dataset = {.open = open_dataset,
                                      .close = close_dataset,
                                      .rig = rig_of,
                                      .has_readings = has_readings,
                                      .next = next_frame,
                                      .fault = fault_of,
                                      .skipped = skipped};
