/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* cfmakeraw, speeds, TIOCEXCL */
#include "link.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "clock.h"
#include "examples/common/message.h"

#define RETRY_NS 1000000000u /* between two tries to open a device that is gone */
#define BITS_A_BYTE 10       /* of a serial line: start, 8, stop */
#define STOCK_MS 5           /* of bytes that a serial device may hold as a frame is added: two turns of the thread */
#define STOCK_TCP_BYTES 1024 /* that a connection may hold, not acknowledged */
#define CONNECT_NS 5000000000u
#define STOCK_BYTES 4096   /* that a socket may hold, counted as the system does: with its own share of each datagram */
#define ODOMETRY_BYTES 256 /* of the largest message that is sent often */

/** Decimal number least..most at the start of a text that ends there. */
static int read_number(const char *text, long min, long max, long *number)
{
    char *end;
    errno = 0;
    *number = strtol(text, &end, 10);
    return end != text && !*end && !errno && *number >= min && *number <= max;
}

static const struct sockaddr *address_of(const link_address_t *a) { return (const struct sockaddr *)a->content; }

/** 1: opened again when it is gone. */
static int is_reopened(const link_t *l) { return l->kind == LINK_SERIAL || l->kind == LINK_TCP; }

/** 1: there is somebody to send to. */
static int is_there(const link_t *l)
{
    return l->fd >= 0 && !l->is_connecting && (l->kind != LINK_UDPIN || l->address.bytes);
}

/** A device or server that is gone. */
static void lose(link_t *l)
{
    l->errors++;
    if (!is_reopened(l)) return;
    if (l->fd >= 0) close(l->fd);
    l->fd = -1;
    l->out_count = 0;
    l->is_connecting = 0;
    memset(&l->outbox.slot, 0, sizeof l->outbox.slot);
    l->parser.held = 0;
    l->retry_ns = clock_ns() + RETRY_NS;
}

/* ---- datagrams --------------------------------------------------------------------------------------------------- */

/** HOST:PORT[:LOCAL] into its parts. */
static int split_address(const char *text, char host[256], char port[8], char local[8])
{
    const char *end = *text == '[' ? strchr(text, ']') : strchr(text, ':');
    const char *begin = *text == '[' ? text + 1 : text;
    long number;
    if (!end || end == begin || (size_t)(end - begin) > 255) return 0;
    snprintf(host, 256, "%.*s", (int)(end - begin), begin);
    end += *end == ']';
    if (*end != ':') return 0;
    const char *second = strchr(end + 1, ':');
    const size_t length = second ? (size_t)(second - end - 1) : strlen(end + 1);
    if (length < 1 || length > 7) return 0;
    snprintf(port, 8, "%.*s", (int)length, end + 1);
    snprintf(local, 8, "%.7s", second ? second + 1 : "");
    if (second && (strlen(second + 1) > 7 || !read_number(local, 1, 65535, &number))) return 0;
    return read_number(port, 1, 65535, &number);
}

/** Binds a socket to a port of this machine, in the family of the peer. */
static int bind_local(int fd, int family, const char *port)
{
    const struct addrinfo wanted = {.ai_family = family, .ai_socktype = SOCK_DGRAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    if (getaddrinfo(NULL, port, &wanted, &found) != 0) return 0;
    const int good = bind(fd, found->ai_addr, found->ai_addrlen) == 0;
    const int error = errno;
    freeaddrinfo(found);
    errno = error;
    return good;
}

/** A connected socket gets datagrams of its peer alone. */
static const char *open_udp(link_t *l, const char *text)
{
    char host[256], port[8], local[8];
    const struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    if (!split_address(text, host, port, local))
        return message_text("--link %s: not udp:HOST:PORT or udp:HOST:PORT:LOCAL, ports 1..65535", l->name);
    const int error = getaddrinfo(host, port, &wanted, &found);
    if (error) return message_text("--link %s: %.80s: %s", l->name, host, gai_strerror(error));
    const char *fault = NULL;
    l->fd = socket(found->ai_family, SOCK_DGRAM, 0);
    if (l->fd < 0 || fcntl(l->fd, F_SETFL, O_NONBLOCK) != 0)
        fault = message_text("--link %s: no socket: %s", l->name, strerror(errno));
    else if (*local && !bind_local(l->fd, found->ai_family, local))
        fault = message_text("--link %s: port %s: %s%s", l->name, local, strerror(errno),
                             errno == EADDRINUSE ? "; does another companion run?" : "");
    else if (connect(l->fd, found->ai_addr, found->ai_addrlen) != 0)
        fault = message_text("--link %s: %s", l->name, strerror(errno));
    freeaddrinfo(found);
    return fault;
}

/** Waits for the autopilot at a port. */
static const char *open_udpin(link_t *l, const char *text)
{
    long port;
    if (!read_number(text, 1, 65535, &port) || strlen(text) > 7)
        return message_text("--link %s: not udpin:PORT, 1..65535", l->name);
    l->fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (l->fd < 0 || fcntl(l->fd, F_SETFL, O_NONBLOCK) != 0)
        return message_text("--link %s: no socket: %s", l->name, strerror(errno));
    if (bind_local(l->fd, AF_INET, text)) return NULL;
    return message_text("--link %s: %s%s", l->name, strerror(errno),
                        errno == EADDRINUSE ? "; does another companion run?" : "");
}

/** The address that the last datagram came from is the peer's. */
static void take_peer(link_t *l)
{
    if (connect(l->fd, address_of(&l->from), l->from.bytes) != 0) return;
    l->address = l->from;
}

static void release_peer(link_t *l)
{
    const struct sockaddr nobody = {.sa_family = AF_UNSPEC};
    if (connect(l->fd, &nobody, sizeof nobody) != 0) l->errors++;
    l->address.bytes = 0;
    l->out_count = 0;
}

/* ---- servers ----------------------------------------------------------------------------------------------------- */

/** Begins to connect. 0: no socket. */
static int begin_to_connect(link_t *l)
{
    const int yes = 1;
    l->fd = socket(address_of(&l->address)->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (l->fd < 0 || fcntl(l->fd, F_SETFL, O_NONBLOCK) != 0) return 0;
    setsockopt(l->fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    l->is_connecting = 1;
    l->retry_ns = clock_ns() + CONNECT_NS;
    return connect(l->fd, address_of(&l->address), l->address.bytes) == 0 || errno == EINPROGRESS;
}

static const char *open_tcp(link_t *l, const char *text)
{
    char host[256], port[8], local[8];
    const struct addrinfo wanted = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    if (!split_address(text, host, port, local) || *local)
        return message_text("--link %s: not tcp:HOST:PORT, port 1..65535", l->name);
    const int error = getaddrinfo(host, port, &wanted, &found);
    if (error) return message_text("--link %s: %.80s: %s", l->name, host, gai_strerror(error));
    memcpy(l->address.content, found->ai_addr, found->ai_addrlen);
    l->address.bytes = found->ai_addrlen;
    freeaddrinfo(found);
    l->kind = LINK_TCP;
    if (!begin_to_connect(l)) lose(l); /* it is tried again */
    return NULL;
}

/** Ends connecting, one way or the other, once it is known. */
static void connect_on(link_t *l)
{
    struct pollfd p = {.fd = l->fd, .events = POLLOUT};
    int error = 0;
    socklen_t bytes = sizeof error;
    if (poll(&p, 1, 0) <= 0) {
        if (clock_ns() >= l->retry_ns) lose(l);
        return;
    }
    if (getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &error, &bytes) != 0 || error)
        lose(l);
    else
        l->is_connecting = 0;
}

/* ---- serial devices ---------------------------------------------------------------------------------------------- */

static int speed_of(int baud, speed_t *speed)
{
    static const struct {
        int baud;
        speed_t speed;
    } known[] = {{9600, B9600},       {19200, B19200},     {38400, B38400},     {57600, B57600},
                 {115200, B115200},   {230400, B230400},   {460800, B460800},   {500000, B500000},
                 {576000, B576000},   {921600, B921600},   {1000000, B1000000}, {1500000, B1500000},
                 {2000000, B2000000}, {3000000, B3000000}, {4000000, B4000000}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (known[i].baud != baud) continue;
        *speed = known[i].speed;
        return 1;
    }
    return 0;
}

static const char *open_device(link_t *l)
{
    struct termios t;
    speed_t speed = B0;
    errno = 0;
    if (!speed_of(l->baud, &speed))
        return message_text(
            "--link %s: %d baud: not one of 9600, 19200, 38400, 57600, 115200, 230400, 460800, 500000, 576000, "
            "921600, 1000000, 1500000, 2000000, 3000000, 4000000",
            l->name, l->baud);
    l->fd = open(l->path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
    if (l->fd < 0) {
        const int error = errno;
        const char *fault = message_text("--link %s: %s", l->name, strerror(error));
        errno = error;
        return fault;
    }
    if (tcgetattr(l->fd, &t) != 0) return message_text("--link %s: no serial device: %s", l->name, strerror(errno));
    cfmakeraw(&t);
    t.c_cflag |= CLOCAL | CREAD;
    t.c_cflag &= ~(tcflag_t)CRTSCTS;
    cfsetispeed(&t, speed);
    cfsetospeed(&t, speed);
    if (tcsetattr(l->fd, TCSANOW, &t) != 0) return message_text("--link %s: %s", l->name, strerror(errno));
    if (ioctl(l->fd, TIOCEXCL) != 0) l->errors++; /* others may open it, too: no reason to stop */
    tcflush(l->fd, TCIOFLUSH);
    return NULL;
}

static const char *open_serial(link_t *l, const char *text)
{
    long baud;
    const char *colon = strrchr(text, ':');
    if (!colon || colon == text || !read_number(colon + 1, 1, 100000000, &baud))
        return message_text("--link %s: not serial:DEVICE:BAUD", l->name);
    if ((size_t)(colon - text) >= sizeof l->path) return message_text("--link %s: the name is too long", l->name);
    snprintf(l->path, sizeof l->path, "%.*s", (int)(colon - text), text);
    l->baud = (int)baud;
    l->kind = LINK_SERIAL;
    const char *fault = open_device(l);
    if (!fault || l->fd >= 0 || errno != ENOENT) return fault;
    lose(l); /* not there yet: it is tried again */
    return NULL;
}

/* ---- all kinds --------------------------------------------------------------------------------------------------- */

static const char *open_file(link_t *l, const char *path)
{
    if (!*path) return message_text("--link %s: not file:PATH", l->name);
    l->fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_CLOEXEC, 0666);
    return l->fd >= 0 ? NULL : message_text("--link %s: %s", l->name, strerror(errno));
}

const char *link_open(link_t *l, const char *specification)
{
    static const struct {
        const char *prefix;
        link_kind_t kind;
        const char *(*open)(link_t *, const char *);
    } known[] = {{"udp:", LINK_UDP, open_udp},
                 {"udpin:", LINK_UDPIN, open_udpin},
                 {"tcp:", LINK_TCP, open_tcp},
                 {"serial:", LINK_SERIAL, open_serial},
                 {"file:", LINK_FILE, open_file}};
    memset(l, 0, sizeof *l);
    l->fd = l->last_sequence = l->last_sender = -1;
    snprintf(l->name, sizeof l->name, "%.95s", specification);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t length = strlen(known[i].prefix);
        if (strncmp(specification, known[i].prefix, length) != 0) continue;
        const char *error = known[i].open(l, specification + length);
        if (error)
            link_close(l);
        else
            l->kind = known[i].kind;
        return error;
    }
    return message_text("--link %.80s: not udp:HOST:PORT, udpin:PORT, tcp:HOST:PORT, serial:DEVICE:BAUD, "
                        "file:PATH or dds:DOMAIN",
                        specification);
}

static uint64_t unix_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void link_sign(link_t *l, const uint8_t key[SIGNING_KEY], uint8_t id)
{
    l->signing.is_on = 1;
    memcpy(l->signing.key, key, SIGNING_KEY);
    l->signing.link = id;
    l->signing.newest = signing_time(unix_ns());
    l->parser.accept = signing_accept;
    l->parser.of = &l->signing;
}

void link_close(link_t *l)
{
    if (l->fd >= 0) close(l->fd);
    l->fd = -1;
    l->kind = LINK_NONE;
}

/** Reads what there is. A datagram begins with a frame: what is held of the last one is no part of it. */
static int read_more(link_t *l)
{
    if (l->fd < 0 || l->kind == LINK_FILE || l->is_connecting) return 0;
    l->from.bytes = sizeof l->from.content;
    const int is_datagram = l->kind == LINK_UDP || l->kind == LINK_UDPIN;
    const ssize_t n = is_datagram
                          ? recvfrom(l->fd, l->in, sizeof l->in, 0, (struct sockaddr *)l->from.content, &l->from.bytes)
                          : read(l->fd, l->in, sizeof l->in);
    l->in_ns = clock_ns();
    if (n <= 0) {
        const int none = n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
        if (n == 0 && is_datagram) return 1; /* an empty one */
        if (!none) lose(l);
        return 0;
    }
    if (l->kind == LINK_UDPIN && l->address.bytes) { /* what strangers sent before there was a peer is still there */
        if (l->from.bytes != l->address.bytes || memcmp(l->from.content, l->address.content, l->address.bytes) != 0)
            return 1;
        l->peer_ns = l->in_ns;
    }
    recorder_mavlink(l->recorder, l->in_ns, l->number, 0, l->in, (size_t)n);
    if (is_datagram) l->parser.held = 0;
    l->rest = l->in;
    l->rest_count = (size_t)n;
    return 1;
}

/** Counts missing messages by the sequence. */
static void count_lost(link_t *l, const mavlink_message_t *m)
{
    const int sender = m->system << 8 | m->component;
    if (sender == l->last_sender && l->last_sequence >= 0) l->lost += (uint8_t)(m->sequence - l->last_sequence - 1);
    l->last_sender = sender;
    l->last_sequence = m->sequence;
}

static void take_message(link_t *l, const mavlink_message_t *m)
{
    const int is_autopilot = !l->system || (m->system == l->system && m->component == l->component);
    if (l->kind == LINK_UDPIN && !l->address.bytes && is_autopilot) {
        take_peer(l);
        l->peer_ns = l->in_ns;
    }
    count_lost(l, m);
}

int link_receive(link_t *l, mavlink_message_t *message)
{
    for (int reads = 0; reads < 16; reads++) {
        if (l->rest_count || reads) {
            if (mavlink_parse(&l->parser, &l->rest, &l->rest_count, message)) return take_message(l, message), 1;
        }
        if (!read_more(l)) return 0;
    }
    return 0;
}

/** 1: a failed write is worth another try at once. A port without a listener fails the write after the one
 *  that found it so, which did not go out. */
static int is_worth_a_try(link_t *l, int tries)
{
    if (errno == EINTR) return 1;
    if (errno != ECONNREFUSED || tries) return 0;
    l->errors++;
    return 1;
}

/** Writes the rest of the frame under way. 1: it is out. */
static int write_rest(link_t *l)
{
    for (int tries = 0; l->out_count && is_there(l);) {
        const ssize_t n = write(l->fd, l->out, l->out_count);
        if (n <= 0) {
            if (n < 0 && is_worth_a_try(l, tries++)) continue;
            if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK) {
                l->out_count = 0;
                lose(l);
            }
            return 0;
        }
        l->out_count -= (size_t)n;
        memmove(l->out, l->out + n, l->out_count);
    }
    return is_there(l);
}

/** 1: the device has so little left to drain that a frame may follow. wire_ns: until the largest one would be out. */
static int is_free(const link_t *l, uint64_t *wire_ns)
{
    int bytes = 0;
    *wire_ns = 0;
    if (l->kind == LINK_SERIAL) {
        if (ioctl(l->fd, TIOCOUTQ, &bytes) != 0) bytes = 0;
        *wire_ns = (uint64_t)(bytes + ODOMETRY_BYTES) * BITS_A_BYTE * 1000000000u / (uint64_t)l->baud;
        return bytes <= l->baud / BITS_A_BYTE * STOCK_MS / 1000;
    }
    if (l->kind == LINK_FILE || ioctl(l->fd, SIOCOUTQ, &bytes) != 0) return 1;
    return bytes <= (l->kind == LINK_TCP ? STOCK_TCP_BYTES : STOCK_BYTES);
}

/** Sends what waits, as far as the device drains it. */
static void flush(link_t *l)
{
    mavlink_message_t m;
    uint64_t wire_ns;
    while (is_there(l) && write_rest(l) && is_free(l, &wire_ns) && outbox_take(&l->outbox, clock_ns(), wire_ns, &m)) {
        m.sequence = l->sequence++;
        l->out_count = l->signing.is_on ? signing_encode(&l->signing, l->out, &m, signing_time(unix_ns()))
                                        : mavlink_encode(l->out, &m);
        recorder_mavlink(l->recorder, clock_ns(), l->number, 1, l->out, l->out_count);
        l->sent++;
        l->sent_bytes += l->out_count;
        if (m.id != MAVLINK_ODOMETRY) continue;
        l->states_sent++;
        l->state_age_ns = clock_ns() - m.as.odometry.time_usec[0] * 1000u;
    }
}

int link_send(link_t *l, const mavlink_message_t *message)
{
    l->states += message->id == MAVLINK_ODOMETRY;
    const outbox_slot_t *slot = is_there(l) && mavlink_name(message->id) ? outbox_put(&l->outbox, message, clock_ns())
                                                                         : NULL;
    l->dropped += !slot;
    flush(l);
    return slot && !slot->is_used && is_there(l);
}

int link_waits(const link_t *l) { return is_there(l) && (l->out_count || outbox_waits(&l->outbox)); }

/** Tries to open again what is gone. */
static void reopen(link_t *l)
{
    l->retry_ns = clock_ns() + RETRY_NS;
    const int is_open = l->kind == LINK_TCP ? begin_to_connect(l) : open_device(l) == NULL;
    if (is_open) return;
    if (l->fd >= 0) close(l->fd); /* not yet */
    l->fd = -1;
    l->is_connecting = 0;
}

const char *link_maintain(link_t *l)
{
    if (is_reopened(l) && l->fd < 0 && clock_ns() >= l->retry_ns) reopen(l);
    if (l->is_connecting) connect_on(l);
    if (l->kind == LINK_UDPIN && l->address.bytes && clock_ns() > l->peer_ns + LINK_PEER_NS) release_peer(l);
    flush(l);
    if (is_reopened(l)) {
        if (l->is_connecting || l->reported == (l->fd < 0)) return NULL;
        l->reported = l->fd < 0;
        return message_text("%s %s", l->name, l->reported ? "is gone; it is tried again every second" : "is back");
    }
    if (!l->reported && l->errors) {
        l->reported = 1;
        return message_text("%s: bytes could not be %s", l->name,
                            l->kind == LINK_FILE ? "written: is the disk full?" : "sent: does the peer listen?");
    }
    return NULL;
}
