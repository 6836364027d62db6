/* SPDX-License-Identifier: MIT
 *
 * Plot of states as SVG: position, velocity and rotation over time with three standard deviations, as errors
 * where there is ground truth, else as they are. Coasting, frames without a state and restarts are marked.
 */
#ifndef STATE_PLOT_H
#define STATE_PLOT_H

#include "state.h"

/**
 * @param[in] path    File to write.
 * @param[in] title   Any text.
 * @param[in] states  One frame with a state or more.
 * @return NULL, or a one-line message, valid until the next call.
 */
const char *state_plot(const char *path, const char *title, const states_t *states);

#endif
