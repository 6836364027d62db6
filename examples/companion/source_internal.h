/* SPDX-License-Identifier: MIT
 *
 * Kinds of sources: each gives its own memory and functions.
 */
#ifndef COMPANION_SOURCE_INTERNAL_H
#define COMPANION_SOURCE_INTERNAL_H

#include "source.h"

/** Functions of a kind; `of` is its memory. */
typedef struct source_kind {
    const char *(*open)(void **of, const source_settings_t *settings);
    int (*is_absent)(const void *of); /* why open() failed: a device that is not there yet; NULL: never */
    void (*close)(void *of);
    const char *(*start)(void *of, const source_inputs_t *inputs); /* NULL: nothing to do */
    const vfront_rig_t *(*rig)(const void *of);
    int (*has_samples)(const void *of);
    source_status_t (*next)(void *of, vfront_frame_t *frame, uint64_t *arrived_ns);
    void (*done)(void *of); /* NULL: nothing to do */
    const char *(*fault)(void *of);
    uint64_t (*skipped)(const void *of);
} source_kind_t;

extern const source_kind_t source_dataset, source_v4l2, source_gst, source_sim;

#endif
