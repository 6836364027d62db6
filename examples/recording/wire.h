/* SPDX-License-Identifier: MIT
 *
 * Connection between bench and board: the chunks of a recording (chunk.h) over TCP, in both directions. Each
 * begins with RECORDING_MAGIC and a header; what the bench sends could be written to a file and replayed.
 *
 * A connection is taken from one address only. No call waits without a bound, and no memory is taken for what the other
 * side claims beyond a limit that this side sets.
 *
 * A function that can fail returns NULL, or a one-line message, valid until the next call.
 */
#ifndef RECORDING_WIRE_H
#define RECORDING_WIRE_H

#include "chunk.h"
#include "vfront.h"

#define WIRE_TIMEOUT_MS 30000

/** A connection. Zero it before wire_accept() or wire_connect(). */
typedef struct wire {
    int fd;                  /**< -1: closed. */
    uint32_t sent, received; /**< Numbers of the next chunks. */
    uint8_t *payload;        /**< Of the chunk received last. */
    size_t room, limit;      /**< Bytes taken for it; most that a chunk may have. */
    uint64_t damaged;        /**< Chunks received whose payload does not match its CRC. */
    int timeout_ms;          /**< Of a send, and of the rest of a chunk that has begun. */
    uint64_t t_sent_ns;      /**< When the last byte of the last chunk was handed to the kernel, CLOCK_MONOTONIC. */
    uint64_t t_arrival_ns;   /**< When the first byte of the last chunk received was read. */
    uint32_t flips;          /**< Bits to be flipped in the payload of the next chunk, behind its CRC: a fault. */
    uint64_t dice;
} wire_t;

struct sockaddr_in;

/** HOST:PORT, an IPv4 address. */
const char *wire_address(const char *where, struct sockaddr_in *address);

/** Listen at HOST:PORT, an IPv4 address; port 0: any. Returns the port. */
const char *wire_listen(int *listener, const char *where, uint16_t *port);

/** Take a connection from address `peer`; others are closed, and counted. waited: 0 if none came within timeout_ms. */
const char *wire_accept(wire_t *wire, int listener, const char *peer, int timeout_ms, int *waited, uint32_t *foreign);
const char *wire_connect(wire_t *wire, const char *where, int timeout_ms);
void wire_close(wire_t *wire);

/** Largest chunk that is taken from now on. */
const char *wire_limit(wire_t *wire, size_t bytes);

/** Magic, and the magic of the other side. */
const char *wire_greet(wire_t *wire);
const char *wire_await_greeting(wire_t *wire);

/** A chunk, of two parts. */
const char *wire_send(wire_t *wire, chunk_type_t type, uint64_t t_ns, const void *one, size_t one_bytes,
                      const void *two, size_t two_bytes);
const char *wire_send_frame(wire_t *wire, const vfront_frame_t *frame, int32_t cameras, int after_reset);

/** Payload of a frame into memory of frame_bytes(). Returns its bytes; 0: a frame that cannot be sent. */
size_t wire_write_frame(const vfront_frame_t *frame, int32_t cameras, int after_reset, uint8_t *to, size_t max);

/** The next chunk, and its payload, valid until the next call. Type 0: none came within timeout_ms. A damaged one is
 *  counted and passed over: type 0, too. */
const char *wire_receive(wire_t *wire, chunk_t *chunk, uint8_t **payload, int timeout_ms);

/** CLOCK_MONOTONIC [ns]. */
uint64_t wire_now_ns(void);

#endif
