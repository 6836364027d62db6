/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* MSG_NOSIGNAL, SOCK_CLOEXEC */
#include "wire.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "examples/common/message.h"
#include "bytes.h"
#include "crc.h"
#include "frame.h"

static char failure[300]; /* why a function failed */
#define FAIL(...) message_print(failure, sizeof failure, __VA_ARGS__)

uint64_t wire_now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- connections ------------------------------------------------------------------------------------------------- */

const char *wire_address(const char *where, struct sockaddr_in *address)
{
    char host[64];
    char *end;
    const char *colon = strrchr(where, ':');
    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    if (!colon || colon == where || (size_t)(colon - where) >= sizeof host)
        return FAIL("%.80s: not HOST:PORT, as 127.0.0.1:14600", where);
    memcpy(host, where, (size_t)(colon - where));
    host[colon - where] = 0;
    const long port = strtol(colon + 1, &end, 10);
    if (!colon[1] || *end || port < 0 || port > 65535) return FAIL("%.80s: no port 0..65535", where);
    if (inet_pton(AF_INET, host, &address->sin_addr) != 1) return FAIL("%.64s: no IPv4 address", host);
    address->sin_port = htons((uint16_t)port);
    return NULL;
}

const char *wire_listen(int *listener, const char *where, uint16_t *port)
{
    struct sockaddr_in address;
    socklen_t bytes = sizeof address;
    const int yes = 1;
    const char *error = wire_address(where, &address);
    *listener = -1;
    if (error) return error;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return FAIL("%.80s: %s", where, strerror(errno));
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) || listen(fd, 2) ||
        getsockname(fd, (struct sockaddr *)&address, &bytes)) {
        const int why = errno;
        close(fd);
        return FAIL("%.80s: %s", where, strerror(why));
    }
    *listener = fd;
    *port = ntohs(address.sin_port);
    return NULL;
}

static void begin(wire_t *w, int fd)
{
    const int yes = 1;
    memset(w, 0, sizeof *w);
    w->fd = fd;
    w->timeout_ms = WIRE_TIMEOUT_MS;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

const char *wire_accept(wire_t *w, int listener, const char *peer, int timeout_ms, int *waited, uint32_t *foreign)
{
    struct sockaddr_in from;
    struct in_addr wanted;
    *waited = 0;
    if (inet_pton(AF_INET, peer, &wanted) != 1) return FAIL("%.64s: no IPv4 address", peer);
    for (;;) {
        struct pollfd p = {.fd = listener, .events = POLLIN};
        socklen_t bytes = sizeof from;
        const int ready = poll(&p, 1, timeout_ms);
        if (ready <= 0) return ready < 0 && errno != EINTR ? FAIL("poll: %s", strerror(errno)) : NULL;
        const int fd = accept4(listener, (struct sockaddr *)&from, &bytes, SOCK_CLOEXEC);
        if (fd < 0) continue;
        if (from.sin_addr.s_addr == wanted.s_addr) {
            begin(w, fd);
            *waited = 1;
            return NULL;
        }
        ++*foreign;
        close(fd);
    }
}

const char *wire_connect(wire_t *w, const char *where, int timeout_ms)
{
    struct sockaddr_in address;
    const char *error = wire_address(where, &address);
    memset(w, 0, sizeof *w);
    w->fd = -1;
    if (error) return error;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return FAIL("%.80s: %s", where, strerror(errno));
    begin(w, fd);
    if (connect(fd, (struct sockaddr *)&address, sizeof address) && errno == EINPROGRESS) {
        struct pollfd p = {.fd = fd, .events = POLLOUT};
        int why = ETIMEDOUT;
        socklen_t bytes = sizeof why;
        if (poll(&p, 1, timeout_ms) > 0) getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &bytes);
        if (!why) return NULL;
        errno = why;
    }
    const int why = errno;
    wire_close(w);
    return FAIL("%.80s: %s", where, strerror(why));
}

void wire_close(wire_t *w)
{
    if (w->fd >= 0) close(w->fd);
    free(w->payload);
    w->payload = NULL;
    w->fd = -1;
}

const char *wire_limit(wire_t *w, size_t bytes)
{
    w->limit = bytes;
    if (bytes <= w->room) return NULL;
    uint8_t *more = realloc(w->payload, bytes);
    if (!more) return FAIL("no memory for chunks of %zu bytes", bytes);
    w->payload = more;
    w->room = bytes;
    return NULL;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------- */

static const char *send_all(wire_t *w, const void *from, size_t bytes)
{
    const uint8_t *at = from;
    while (bytes) {
        const ssize_t sent = send(w->fd, at, bytes, MSG_NOSIGNAL);
        if (sent > 0) {
            at += sent;
            bytes -= (size_t)sent;
            continue;
        }
        if (sent < 0 && errno != EAGAIN && errno != EINTR) return FAIL("the connection broke: %s", strerror(errno));
        struct pollfd p = {.fd = w->fd, .events = POLLOUT};
        if (poll(&p, 1, w->timeout_ms) == 0) return FAIL("nothing is taken for %d ms", w->timeout_ms);
    }
    w->t_sent_ns = wire_now_ns();
    return NULL;
}

/** All of `bytes`. got: 0 if nothing came within timeout_ms; what has begun has the connection's own time. */
static const char *receive_all(wire_t *w, uint8_t *to, size_t bytes, int timeout_ms, int *got)
{
    size_t have = 0;
    *got = 0;
    while (have < bytes) {
        const ssize_t came = recv(w->fd, to + have, bytes - have, 0);
        if (came > 0) {
            if (!have) w->t_arrival_ns = wire_now_ns();
            have += (size_t)came;
            continue;
        }
        if (came == 0) return FAIL("the other side closed the connection");
        if (errno != EAGAIN && errno != EINTR) return FAIL("the connection broke: %s", strerror(errno));
        struct pollfd p = {.fd = w->fd, .events = POLLIN};
        const int ready = poll(&p, 1, have ? w->timeout_ms : timeout_ms);
        if (ready > 0 || (ready < 0 && have && errno == EINTR)) continue;
        if (have) return FAIL("the rest of a chunk did not come for %d ms", w->timeout_ms);
        return NULL;
    }
    *got = 1;
    return NULL;
}

const char *wire_greet(wire_t *w) { return send_all(w, RECORDING_MAGIC, RECORDING_MAGIC_BYTES); }

const char *wire_await_greeting(wire_t *w)
{
    uint8_t magic[RECORDING_MAGIC_BYTES];
    int got;
    const char *error = receive_all(w, magic, sizeof magic, w->timeout_ms, &got);
    if (!error && !got) error = FAIL("no greeting for %d ms", w->timeout_ms);
    if (!error && memcmp(magic, RECORDING_MAGIC, sizeof magic)) error = FAIL("the other side speaks something else");
    return error;
}

/* ---- chunks ------------------------------------------------------------------------------------------------------ */

static const char *send_head(wire_t *w, chunk_type_t type, uint64_t t_ns, size_t bytes, uint32_t crc)
{
    uint8_t head[CHUNK_HEAD_BYTES];
    if (bytes > CHUNK_BYTES_MAX) return FAIL("a chunk of %zu bytes", bytes);
    const chunk_t c = {(uint32_t)type, (uint32_t)bytes, w->sent++, crc, t_ns};
    chunk_write_head(head, &c);
    return send_all(w, head, sizeof head);
}

const char *wire_send(wire_t *w, chunk_type_t type, uint64_t t_ns, const void *one, size_t one_bytes, const void *two,
                      size_t two_bytes)
{
    const uint32_t crc = crc32_of(crc32_of(0, one, one_bytes), two, two_bytes);
    const char *error = send_head(w, type, t_ns, one_bytes + two_bytes, crc);
    if (!error) error = send_all(w, one, one_bytes);
    return error ? error : send_all(w, two, two_bytes);
}

/** Bytes that follow each other, for the CRC first and then for the wire, with bits flipped on the wire alone; or into
 *  memory. */
struct stream {
    wire_t *wire;
    uint32_t crc;
    int is_sent;
    bytes_t *to;
};

static const char *stream_bytes(struct stream *s, const void *bytes, size_t count)
{
    if (s->to) {
        uint8_t *at = bytes_take(s->to, count);
        if (at) memcpy(at, bytes, count);
        return NULL;
    }
    if (!s->is_sent) {
        s->crc = crc32_of(s->crc, bytes, count);
        return NULL;
    }
    if (s->wire->flips && count && count <= 8192) {
        uint8_t changed[8192];
        memcpy(changed, bytes, count);
        for (; s->wire->flips; s->wire->flips--) {
            s->wire->dice = s->wire->dice * 6364136223846793005u + 1442695040888963407u;
            changed[(s->wire->dice >> 33) % count] ^= (uint8_t)(1u << (s->wire->dice >> 61));
        }
        return send_all(s->wire, changed, count);
    }
    return send_all(s->wire, bytes, count);
}

static const char *stream_picture(struct stream *s, const vfront_picture_t *p)
{
    const size_t row = frame_row_bytes(p);
    const char *error = NULL;
    if (row && row == p->pitch_bytes && !p->mask) return stream_bytes(s, p->data, row * (size_t)p->height_px);
    for (int32_t y = 0; row && y < p->height_px && !error; y++)
        error = stream_bytes(s, (const uint8_t *)p->data + (size_t)y * p->pitch_bytes, row);
    for (int32_t y = 0; row && p->mask && y < p->height_px && !error; y++)
        error = stream_bytes(s, p->mask + (size_t)y * p->mask_pitch_bytes, (size_t)p->mask_width_px);
    return error;
}

size_t wire_write_frame(const vfront_frame_t *frame, int32_t cameras, int after_reset, uint8_t *to, size_t max)
{
    bytes_t b = bytes_of(to, max);
    struct stream s = {NULL, 0, 0, &b};
    if (!frame_bytes(frame, cameras)) return 0;
    b.used = frame_write_small(frame, cameras, after_reset ? FRAME_AFTER_RESET : 0, to, max);
    for (int32_t i = 0; i < cameras; i++) stream_picture(&s, &frame->picture[i]);
    return b.short_of ? 0 : b.used;
}

const char *wire_send_frame(wire_t *w, const vfront_frame_t *frame, int32_t cameras, int after_reset)
{
    uint8_t small[FRAME_SMALL_BYTES];
    struct stream s = {w, 0, 0, NULL};
    const size_t bytes = frame_bytes(frame, cameras);
    if (!bytes) return FAIL("a frame that cannot be sent: not in host memory, or no picture");
    const size_t used = frame_write_small(frame, cameras, after_reset ? FRAME_AFTER_RESET : 0, small, sizeof small);
    const char *error = NULL;
    for (; s.is_sent < 2 && !error; s.is_sent++) {
        if (s.is_sent) error = send_head(w, CHUNK_FRAME, frame->t_ns, bytes, s.crc);
        if (!error) error = stream_bytes(&s, small, used);
        for (int32_t i = 0; i < cameras && !error; i++) error = stream_picture(&s, &frame->picture[i]);
    }
    return error;
}

const char *wire_receive(wire_t *w, chunk_t *c, uint8_t **payload, int timeout_ms)
{
    uint8_t head[CHUNK_HEAD_BYTES];
    int got;
    memset(c, 0, sizeof *c);
    *payload = w->payload;
    const char *error = receive_all(w, head, sizeof head, timeout_ms, &got);
    if (error || !got) return error;
    const uint64_t arrival_ns = w->t_arrival_ns;
    error = chunk_read_head(head, c);
    if (!error && c->number != w->received++) error = "chunks are missing";
    if (error) return FAIL("a chunk that is none: %s", error);
    if (c->bytes > w->limit)
        return FAIL("a %s of %" PRIu32 " bytes, at most %zu are taken", chunk_type_name(c->type), c->bytes, w->limit);
    error = receive_all(w, w->payload, c->bytes, w->timeout_ms, &got);
    if (!error && !got && c->bytes) error = FAIL("a chunk without its payload");
    w->t_arrival_ns = arrival_ns;
    if (error || crc32_of(0, w->payload, c->bytes) == c->crc) return error;
    w->damaged++;
    c->type = 0;
    return NULL;
}
