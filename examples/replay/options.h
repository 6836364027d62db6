/* SPDX-License-Identifier: MIT
 *
 * Command line of replay. examples/replay/README.md describes every option.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "examples/synthetic/course.h"
#include "overlay.h"
#include "vfront.h"

#define OPTIONS_COUNT_ONE(name, standard, least, most, meaning) +1
enum { OPTIONS_TUNINGS = 0 VFRONT_TUNING(OPTIONS_COUNT_ONE) }; /* number of tuning values */

enum { EXPORT_MCAP = 1, EXPORT_CSV = 2 }; /* a bit each */

/** Tables of --tables, each with those before it. */
typedef enum tables_wanted { TABLES_NONE, TABLES_FRAMES, TABLES_ALL } tables_wanted_t;

struct options {
    const char *dataset, *out, *calibration, *truth, *fault; /* NULL: not given; dataset always is */
    const char *view;                                        /* port of the page, or NULL */
    const char *record;                                      /* file to record into, or NULL */
    const char *map_load, *map_save;                         /* files of maps, or NULL */
    unsigned exports;                                        /* EXPORT_MCAP... */
    tables_wanted_t tables;
    size_t record_bytes; /* size of its buffer */
    vfront_port_t port;
    uint32_t frames;        /* 0: all */
    overlay_what_t overlay; /* 0: none */
    int mono, no_gyro, pairs, quiet;
    int vio_given; /* 1: --set names the tuning value `vio` */
    int first_run; /* 1: no DATASET is given: the rendered flight, with all that the build has */
    course_settings_t render;
    int render_given; /* 1: --render sets a value */
    vfront_tuning_t tuning;
    struct {
        int given; /* 1: by --set or a word for it */
        int32_t value;
    } set[OPTIONS_TUNINGS]; /* by their number in vfront_tuning_entry() */
};

/** Parse the command line, or print help. Returns CONTINUE, or an exit code (message.h). */
int options_read(struct options *o, int count, char **word);

/** 1 if --set, or a word for it, sets this tuning value. */
int options_sets(const struct options *o, const char *name);

/** Switch on what the build has for the flight without a DATASET: disparities, stixels, map. */
void options_show_all(struct options *o);

/** Take the tuning of a recording, with what the command line sets in place of its values. */
void options_take_tuning(struct options *o, const vfront_tuning_t *recorded);

/** Option by which a run is another one than that which was recorded ("--mono"), or NULL. */
const char *options_another_run(const struct options *o);

#endif
