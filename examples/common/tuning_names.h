/* SPDX-License-Identifier: MIT
 *
 * Tuning values of 0.7 that 0.8.0 renamed, merged with another or removed: so that recordings of 0.7 open, and an old
 * name gets an answer that says the new one.
 */
#ifndef TUNING_NAMES_H
#define TUNING_NAMES_H

#include "vfront.h"

/** Sets a value as 0.7 named it. A removed one is ignored at its standard value. Values are set in the order of 0.7's
 *  table, in which the value that one was merged with comes first. Returns NULL, or what is wrong with name and value,
 *  valid until the next call. */
const char *tuning_names_set(vfront_tuning_t *tuning, const char *name, int32_t value);

/** What became of a name of 0.7: "window is now vio", "ego_seed: removed in 0.8.0". NULL: 0.7 had no such name, or it
 *  still stands. Valid until the next call. */
const char *tuning_names_answer(const char *name);

#endif
