/* SPDX-License-Identifier: MIT
 *
 * Channels of a recording as tables, without running it again: frames.csv, samples.csv, digests.csv, mavlink.csv,
 * events.csv.
 */
#ifndef RECORDING_TABLES_H
#define RECORDING_TABLES_H

#include "reader.h"

/** Write them into a folder that is there. Returns NULL, or a message that names the file. */
const char *tables_write(reader_t *reader, const char *folder);

#endif
