/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* sockets, nanosleep */
#include "datagrams.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "examples/recording/bytes.h"
#include "examples/recording/wire.h"

#define MARK 0x44524656u     /* "VFRD" */
#define ROOM_BYTES (8 << 20) /* of the socket, asked for */
#define AT_ONCE 32u          /* datagrams between two pauses of PAUSE_NS */
#define PAUSE_NS 100000

static char text[200];

static const char *fail(const char *where)
{
    snprintf(text, sizeof text, "datagrams, %.80s: %s", where, strerror(errno));
    return text;
}

/** A socket that waits for nobody, with as much room as the system gives. */
static int open_socket(int option)
{
    const int room = ROOM_BYTES, fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0) return fd;
    setsockopt(fd, SOL_SOCKET, option, &room, sizeof room);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

const char *datagrams_listen(datagrams_t *d, const char *where, uint16_t port, const char *peer)
{
    struct sockaddr_in address;
    struct in_addr from;
    const char *error = wire_address(where, &address);
    if (error) return error;
    if (inet_pton(AF_INET, peer, &from) != 1) return "datagrams: the peer is no IPv4 address";
    address.sin_port = htons(port);
    memset(d, 0, sizeof *d);
    d->from = from.s_addr;
    d->fd = open_socket(SO_RCVBUF);
    if (d->fd >= 0 && bind(d->fd, (struct sockaddr *)&address, sizeof address) == 0) return NULL;
    error = fail(where);
    datagrams_close(d);
    return error;
}

const char *datagrams_connect(datagrams_t *d, const char *where)
{
    struct sockaddr_in address;
    const char *error = wire_address(where, &address);
    if (error) return error;
    memset(d, 0, sizeof *d);
    d->fd = open_socket(SO_SNDBUF);
    if (d->fd >= 0 && connect(d->fd, (struct sockaddr *)&address, sizeof address) == 0) return NULL;
    error = fail(where);
    datagrams_close(d);
    return error;
}

void datagrams_close(datagrams_t *d)
{
    if (d->fd >= 0) close(d->fd);
    free(d->payload);
    free(d->has);
    memset(d, 0, sizeof *d);
    d->fd = -1;
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

/** Bits of the payload of a datagram that are flipped on the link. */
static void flip(uint8_t *payload, size_t bytes, uint32_t flips)
{
    uint64_t dice = flips;
    for (; bytes && flips; flips--) {
        dice = dice * 6364136223846793005u + 1442695040888963407u;
        payload[(dice >> 33) % bytes] ^= (uint8_t)(1u << (dice >> 61));
    }
}

static const char *send_one(const datagrams_t *d, const uint8_t *datagram, size_t bytes)
{
    for (;;) {
        if (send(d->fd, datagram, bytes, 0) >= 0 || errno == ECONNREFUSED) return NULL; /* it is asked for again */
        if (errno != EAGAIN && errno != EINTR && errno != ENOBUFS) return fail("send");
        struct pollfd p = {.fd = d->fd, .events = POLLOUT};
        if (poll(&p, 1, 1000) == 0) return "datagrams: nothing is taken for 1 s";
    }
}

const char *datagrams_send(const datagrams_t *d, uint32_t number, const uint8_t *payload, size_t bytes, uint32_t first,
                           uint32_t count, uint32_t flips)
{
    uint8_t datagram[DATAGRAM_HEAD_BYTES + DATAGRAM_BYTES];
    const uint32_t parts = datagrams_parts(bytes);
    const char *error = NULL;
    for (uint32_t i = first; i < parts && i - first < count && !error; i++) {
        const size_t at = (size_t)i * DATAGRAM_BYTES, left = bytes - at;
        const size_t size = left < DATAGRAM_BYTES ? left : DATAGRAM_BYTES;
        bytes_t to = bytes_of(datagram, sizeof datagram);
        bytes_put(&to, MARK, 4);
        bytes_put(&to, number, 4);
        bytes_put(&to, i, 4);
        bytes_put(&to, bytes, 4);
        memcpy(bytes_take(&to, size), payload + at, size);
        if (i == first) flip(datagram + DATAGRAM_HEAD_BYTES, size, flips);
        error = send_one(d, datagram, to.used);
        if ((i - first) % AT_ONCE == AT_ONCE - 1) nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return error;
}

/* ---- gathering --------------------------------------------------------------------------------------------------- */

const char *datagrams_begin(datagrams_t *d, uint32_t number, size_t bytes, size_t max)
{
    if (!bytes || bytes > max) return "a frame of datagrams that is larger than any of the rig";
    if (bytes > d->room) {
        uint8_t *payload = realloc(d->payload, max), *has = realloc(d->has, datagrams_parts(max));
        if (payload) d->payload = payload;
        if (has) d->has = has;
        if (!payload || !has) return "no memory for a frame of datagrams";
        d->room = max;
    }
    d->number = number;
    d->bytes = bytes;
    d->parts = d->missing = datagrams_parts(bytes);
    memset(d->has, 0, d->parts);
    return NULL;
}

/** A datagram, from anywhere. */
static void take_one(datagrams_t *d, uint8_t *datagram, size_t count)
{
    bytes_t from = bytes_of(datagram, count);
    const uint32_t mark = (uint32_t)bytes_get(&from, 4), number = (uint32_t)bytes_get(&from, 4);
    const uint32_t part = (uint32_t)bytes_get(&from, 4), bytes = (uint32_t)bytes_get(&from, 4);
    const size_t at = (size_t)part * DATAGRAM_BYTES, left = at < d->bytes ? d->bytes - at : 0;
    const size_t size = left < DATAGRAM_BYTES ? left : DATAGRAM_BYTES;
    if (from.short_of || mark != MARK || number != d->number || bytes != d->bytes || part >= d->parts ||
        bytes_left(&from) != size || d->has[part]) {
        d->unexpected++;
        return;
    }
    memcpy(d->payload + at, datagram + DATAGRAM_HEAD_BYTES, size);
    d->has[part] = 1;
    d->missing--;
}

/** Takes a datagram. 1: there was one, 0: there was none, -1: the socket failed. */
static int receive(datagrams_t *d)
{
    uint8_t datagram[DATAGRAM_HEAD_BYTES + DATAGRAM_BYTES + 1];
    struct sockaddr_in from;
    socklen_t bytes = sizeof from;
    const ssize_t came = recvfrom(d->fd, datagram, sizeof datagram, 0, (struct sockaddr *)&from, &bytes);
    if (came < 0) return errno == EAGAIN || errno == EINTR ? 0 : -1;
    if (from.sin_addr.s_addr == d->from)
        take_one(d, datagram, (size_t)came);
    else
        d->foreign++;
    return 1;
}

const char *datagrams_receive(datagrams_t *d, int timeout_ms)
{
    const uint64_t timeout_ns = (uint64_t)timeout_ms * 1000000u;
    uint64_t now_ns = wire_now_ns(), end_ns = now_ns + timeout_ns;
    while (d->missing && now_ns <= end_ns) {
        const uint32_t missing = d->missing;
        const int came = receive(d);
        if (came < 0) return fail("receive");
        now_ns = wire_now_ns();
        if (d->missing < missing) end_ns = now_ns + timeout_ns;
        if (came || now_ns >= end_ns) continue;
        struct pollfd p = {.fd = d->fd, .events = POLLIN};
        poll(&p, 1, (int)((end_ns - now_ns) / 1000000u) + 1);
    }
    return NULL;
}

uint32_t datagrams_gap(const datagrams_t *d, uint32_t from, uint32_t *first)
{
    uint32_t count = 0;
    while (from < d->parts && d->has[from]) from++;
    *first = from;
    while (from + count < d->parts && !d->has[from + count]) count++;
    return count;
}
