/* SPDX-License-Identifier: MIT
 *
 * Draws a path as SVG: from above (x and z of the first camera), in one scale for both, and its height over time; ground truth beside it
 * where there is some, the start, the end, steps of which the place is not known, a scale, and the figures of its accuracy.
 */
#ifndef PLOT_H
#define PLOT_H

#include "accuracy.h"
#include "trajectory.h"

/**
 * @param[in] path        Of the file.
 * @param[in] title       Any text.
 * @param[in] trajectory  One frame or more.
 * @param[in] accuracy    NULL: there is no ground truth.
 * @return NULL, or one line that says what went wrong; it is valid until the next call.
 */
const char *plot_write(const char *path, const char *title, const trajectory_t *trajectory, const accuracy_t *accuracy);

#endif
