/* SPDX-License-Identifier: MIT
 *
 * Frames over UDP: a payload in datagrams of DATAGRAM_BYTES, each behind a head of four 32-bit numbers, little-endian:
 * "VFRD", the frame's number, which part it is, bytes of the payload. What does not come is asked for again, over the
 * connection (recording/wire.h).
 *
 * A function that can fail returns NULL, or a one-line message, valid until the next call.
 */
#ifndef HIL_DATAGRAMS_H
#define HIL_DATAGRAMS_H

#include <stddef.h>
#include <stdint.h>

#define DATAGRAM_BYTES 1400u /* with all heads below the 1500 of Ethernet */
#define DATAGRAM_HEAD_BYTES 16u

/** One end. Set fd to -1 before it is opened. */
typedef struct datagrams {
    int fd;             /**< -1: closed. */
    uint32_t from;      /**< IPv4 address that is taken, in the order of the network. */
    uint8_t *payload;   /**< Of the frame that is gathered. */
    uint8_t *has;       /**< 1 for each of its parts that is there. */
    size_t room, bytes; /**< Bytes taken for it, and its own. */
    uint32_t number;
    uint32_t parts, missing;
    uint64_t foreign, unexpected; /**< Datagrams of other addresses; those that are no part that is missing. */
} datagrams_t;

/** Parts of a payload. */
static inline uint32_t datagrams_parts(size_t bytes)
{
    return (uint32_t)((bytes + DATAGRAM_BYTES - 1) / DATAGRAM_BYTES);
}

/** Take datagrams of address `peer` at HOST:PORT. */
const char *datagrams_listen(datagrams_t *d, const char *where, uint16_t port, const char *peer);

/** Send to HOST:PORT. */
const char *datagrams_connect(datagrams_t *d, const char *where);
void datagrams_close(datagrams_t *d);

/** Send parts first to first + count - 1 of a payload. flips: bits to be flipped in the first of them, on the link. */
const char *datagrams_send(const datagrams_t *d, uint32_t number, const uint8_t *payload, size_t bytes, uint32_t first,
                           uint32_t count, uint32_t flips);

/** Gather a frame from now on, of at most `most` bytes. */
const char *datagrams_begin(datagrams_t *d, uint32_t number, size_t bytes, size_t max);

/** Takes what comes, until the frame is whole (missing 0) or no part that was missing has come for timeout_ms, whatever
 *  else does. */
const char *datagrams_receive(datagrams_t *d, int timeout_ms);

/** The first part from `from` on that is missing, and how many are behind it. 0: none is. */
uint32_t datagrams_gap(const datagrams_t *d, uint32_t from, uint32_t *first);

#endif
