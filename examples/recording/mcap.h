/* SPDX-License-Identifier: MIT
 *
 * MCAP files (https://mcap.dev/spec) with messages in JSON: chunks without compression, with CRCs, an index of every
 * message and a summary, so that a reader can begin anywhere.
 *
 *     mcap_begin(m, channel, t_ns);
 *     mcap_text(m, "{\"x\":%.9g}", x);
 *     mcap_end(m);
 */
#ifndef RECORDING_MCAP_H
#define RECORDING_MCAP_H

#include <stddef.h>
#include <stdint.h>

#define MCAP_CHANNELS_MAX 16

typedef struct mcap mcap_t;

/** Create a file. Returns NULL, or a message that names it, valid until the next call. */
const char *mcap_open(mcap_t **mcap, const char *path, const char *library);

/** A channel, and its schema: a JSON Schema of name `schema`. Before the first message. Returns its number. */
int mcap_channel(mcap_t *mcap, const char *topic, const char *schema, const char *json);

/** A message: begin, any number of texts and bytes, end. */
void mcap_begin(mcap_t *mcap, int channel, uint64_t t_ns);
__attribute__((format(printf, 2, 3))) void mcap_text(mcap_t *mcap, const char *format, ...);
void mcap_base64(mcap_t *mcap, const uint8_t *bytes, size_t count);
void mcap_end(mcap_t *mcap);

/** Returns NULL, or a message: what failed since mcap_open(). */
const char *mcap_close(mcap_t *mcap);

#endif
