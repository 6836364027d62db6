/* SPDX-License-Identifier: MIT
 *
 * Lines of the summary about states.
 */
#ifndef STATE_PRINT_H
#define STATE_PRINT_H

#include "state_accuracy.h"

/**
 * @param[in] accuracy      NULL: no ground truth beside the states.
 * @param[in] file_velocity  1: the file of the ground truth has velocities; 0: they are those of a curve.
 */
void state_print(const states_t *states, const state_accuracy_t *accuracy, int file_velocity);

#endif
