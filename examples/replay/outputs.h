/* SPDX-License-Identifier: MIT
 *
 * Results that a run provides: they depend on the build, the tuning, the calibration and the data set.
 */
#ifndef OUTPUTS_H
#define OUTPUTS_H

#include "dataset.h"
#include "options.h"

/** 1 if matches with the previous frame are found. */
int outputs_has_matches(const struct options *o);

/** 1 if motions are metric. */
int outputs_metric_motion(const struct options *o, const vfront_rig_t *rig);

/* Reason for a missing result, or NULL if it is available. Disparities: of those on the host. */
const char *outputs_no_depth(const struct options *o, const vfront_rig_t *rig);
const char *outputs_no_motion(const struct options *o, const vfront_rig_t *rig);
const char *outputs_no_disparities(const struct options *o);
const char *outputs_no_pictures_of_disparities(const struct options *o); /* disparity/ */
const char *outputs_no_stixels(const struct options *o);
const char *outputs_no_state(const struct options *o, const dataset_t *d);

/** Available files, a sum of RECORD_... (record.h). */
unsigned outputs_to_write(const struct options *o, const dataset_t *d);

/** Layers to be drawn: for OVERLAY_ALL those that are available. */
overlay_what_t outputs_to_draw(const struct options *o, const vfront_rig_t *rig);

/** Print a message for each result that the options ask for and that is missing. */
void outputs_warn(const struct options *o, const vfront_rig_t *rig);

#endif
