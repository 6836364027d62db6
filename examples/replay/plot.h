/* SPDX-License-Identifier: MIT
 *
 * Plot of a trajectory as SVG: top view (x and z of the first camera, equal scale), and height over time; with
 * ground truth if available, start, end, steps without a known translation, a scale bar, and the accuracy.
 */
#ifndef PLOT_H
#define PLOT_H

#include "accuracy.h"
#include "trajectory.h"

/**
 * @param[in] path        File to write.
 * @param[in] title       Any text.
 * @param[in] trajectory  One frame or more.
 * @param[in] accuracy    NULL without ground truth.
 * @return NULL, or a one-line message, valid until the next call.
 */
const char *plot_write(const char *path, const char *title, const trajectory_t *trajectory, const accuracy_t *accuracy);

#endif
