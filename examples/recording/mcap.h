/* SPDX-License-Identifier: MIT
 *
 * MCAP files (https://mcap.dev/spec) with messages of ROS 2 (CDR) and in JSON: chunks without compression, with CRCs,
 * an index of every message and a summary, so that a reader can begin anywhere.
 *
 *     mcap_begin(m, channel, t_ns);
 *     mcap_text(m, "{\"x\":%.9g}", x);      or    mcap_put(m, x, 4); mcap_put_string(m, "camera0");
 *     mcap_end(m);
 */
#ifndef RECORDING_MCAP_H
#define RECORDING_MCAP_H

#include <stddef.h>
#include <stdint.h>

#define MCAP_CHANNELS_MAX 24

typedef struct mcap mcap_t;

/** Create a file. Returns NULL, or a message that names it, valid until the next call. */
const char *mcap_open(mcap_t **mcap, const char *path, const char *library);

/** A channel, and its schema of name `schema`: the fields of a message of ROS 2, or a JSON Schema, which begins with a
 *  brace. Before the first message. Returns its number. */
int mcap_channel(mcap_t *mcap, const char *topic, const char *schema, const char *text);

/** A message: begin, any number of parts, end. */
void mcap_begin(mcap_t *mcap, int channel, uint64_t t_ns);
void mcap_end(mcap_t *mcap);

/** Text of a message in JSON. */
__attribute__((format(printf, 2, 3))) void mcap_text(mcap_t *mcap, const char *format, ...);

/* Parts of a message in CDR, each at a multiple of its size: numbers, text, a sequence of bytes. */
void mcap_put(mcap_t *mcap, uint64_t number, int bytes);
void mcap_put_float(mcap_t *mcap, float value);
void mcap_put_double(mcap_t *mcap, double value);
void mcap_put_doubles(mcap_t *mcap, const double *value, int count);
void mcap_put_string(mcap_t *mcap, const char *text);
void mcap_put_bytes(mcap_t *mcap, const uint8_t *bytes, size_t count);
void mcap_put_time(mcap_t *mcap, uint64_t t_ns);

/** Returns NULL, or a message: what failed since mcap_open(). */
const char *mcap_close(mcap_t *mcap);

#endif
