/* SPDX-License-Identifier: MIT
 *
 * Command line of replay. examples/README.md describes every option.
 */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "course.h"
#include "overlay.h"
#include "vfront.h"

struct options {
    const char *dataset, *out, *calibration, *truth, *fault; /* NULL: not given; dataset always is */
    vfront_port_t port;
    uint32_t frames;        /* 0: all */
    overlay_what_t overlay; /* 0: none */
    int mono, no_gyro, pairs, quiet;
    int window_given; /* 1: --set names the tuning value `window` */
    course_settings_t render;
    int render_given; /* 1: --render sets a value */
    vfront_tuning_t tuning;
};

/** Parse the command line, or print help. Returns CONTINUE, or an exit code (message.h). */
int options_read(struct options *o, int count, char **word);

#endif
