/* SPDX-License-Identifier: MIT
 *
 * Link that carries MAVLink: datagrams, a serial device, or a file of the bytes as they would go out. No call waits.
 *
 *   udp:HOST:PORT         to that address; only what comes from it is taken. HOST is a name, an IPv4 address, or an
 *                         IPv6 address in brackets
 *   udp:HOST:PORT:LOCAL   the same, from the port LOCAL of this machine: where the autopilot sends to a fixed port
 *   udpin:PORT            waits at that port: the first address that a message of the autopilot comes from is its;
 *                         all others are refused until it has been silent for LINK_PEER_NS
 *   tcp:HOST:PORT         connects to a server; connected again when it went away and is back
 *   serial:DEVICE:BAUD    8 bits, no parity, one stop bit, no flow control; opened again when it went away and is back
 *   file:PATH             written anew; nothing comes from it
 *
 * A message goes to the device only while that has little left to drain (TIOCOUTQ, SIOCOUTQ): what waits, waits here,
 * where a newer one takes its place (outbox.h), and not in the system's buffers, which hold seconds of a slow line.
 *
 * One thread at a time for each link.
 */
#ifndef COMPANION_LINK_H
#define COMPANION_LINK_H

#include "examples/recording/recorder.h"
#include "outbox.h"
#include "signing.h"

#define LINK_PEER_NS 5000000000u /* of silence after which udpin takes another peer */

/** Kind of a link. */
typedef enum link_kind {
    LINK_NONE = 0,
    LINK_UDP,
    LINK_UDPIN,
    LINK_TCP,
    LINK_SERIAL,
    LINK_FILE,
    LINK_DDS /**< Not MAVLink: uxrce.h opens it and sends. */
} link_kind_t;

/** Address, as the system has it; of 0 bytes: none. */
typedef struct link_address {
    _Alignas(8) uint8_t content[128];
    uint32_t bytes;
} link_address_t;

/** A link. Zero it before link_open(). */
typedef struct link {
    link_kind_t kind;
    int fd;                    /**< To poll for readable; -1: none. */
    char name[96];             /**< Specification, for messages. */
    char path[64];             /**< Of a device. */
    int baud;                  /**< Of a device. */
    link_address_t address;    /**< Of a server, or of the peer of udpin; none: there is none. */
    link_address_t from;       /**< That the last datagram came from. */
    int is_connecting;         /**< 1: a server has not answered yet. */
    uint8_t system, component; /**< Of the autopilot, set by the caller; 0: udpin takes any for it. */
    uint64_t peer_ns;          /**< When something came from the peer of udpin. */
    uint64_t retry_ns;   /**< When a device or server that is gone is tried again, or one that connects is given up. */
    uint8_t sequence;    /**< Of the next message. */
    uint8_t in[2048];    /**< Bytes read and not yet parsed. */
    const uint8_t *rest; /**< In `in`. */
    size_t rest_count;
    uint64_t in_ns; /**< clock_ns() when they were read. */
    outbox_t outbox;
    uint8_t out[MAVLINK_FRAME_MAX]; /**< Rest of the frame under way. */
    size_t out_count;
    mavlink_parser_t parser;
    signing_t signing; /**< Zeroed: nothing is signed. */
    uint64_t sent;     /**< Messages. */
    uint64_t sent_bytes;
    uint64_t dropped;             /**< Messages for which there was no device; those that waited in vain: outbox. */
    uint64_t state_age_ns;        /**< Age of the last ODOMETRY as it went. */
    uint64_t states, states_sent; /**< ODOMETRY: that was to go, that went. */
    uint64_t errors;              /**< Failed reads and writes. */
    uint64_t lost;                /**< Messages of the last sender that are missing by its sequence. */
    int last_sequence;            /**< Of `last_sender`; -1: none. */
    int last_sender;              /**< System and component. */
    int reported;                 /**< 1: an error that goes on was reported. */
    recorder_t *recorder; /**< Takes all bytes as they come and go; NULL: none does. Set by the caller, once open. */
    int number;           /**< Of the link, for the recorder. */
} link_t;

/** Opens a link. Returns NULL, or a one-line message, valid until the next call. */
const char *link_open(link_t *link, const char *specification);
void link_close(link_t *link);

/** From now on all that goes is signed, and only what is signed with the same key is taken. id: of the link,
 *  from 1 on. */
void link_sign(link_t *link, const uint8_t key[SIGNING_KEY], uint8_t id);

/** Next message that has come. 1: there is one. */
int link_receive(link_t *link, mavlink_message_t *message);

/** Sends a message: system and component are set by the caller, its sequence as it goes. 1: it is on its way; 0: it
 *  waits, or there is no device. */
int link_send(link_t *link, const mavlink_message_t *message);

/** 1: something waits for the device. */
int link_waits(const link_t *link);

/** Sends what waits, and opens a device again that went away. To be called now and then, at least every 100 ms.
 *  Returns NULL, or a message to be printed once: an error that begins, or its end. */
const char *link_maintain(link_t *link);

#endif
