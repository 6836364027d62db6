/* SPDX-License-Identifier: MIT
 *
 * Links (examples/companion/link.h) on this machine: datagrams over loopback, a pair of pseudo terminals, files; peers
 * that are not the configured one, devices that go away, full disks, slow lines, and bytes at random.
 */
#define _GNU_SOURCE /* posix_openpt, ptsname, cfmakeraw */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <termios.h>
#include <unistd.h>

#include "examples/companion/clock.h"
#include "examples/companion/link_rate.h"
#include "tests/fixture/random.h"
#include "tests/fixture/temporary.h"

/** A socket of this machine's loopback; its port in *port. */
static int bound(uint16_t *port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof a;
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    assert_true(fd >= 0 && bind(fd, (struct sockaddr *)&a, sizeof a) == 0);
    assert_true(getsockname(fd, (struct sockaddr *)&a, &bytes) == 0);
    *port = ntohs(a.sin_port);
    return fd;
}

static mavlink_message_t attitude(float roll)
{
    mavlink_message_t m;
    memset(&m, 0, sizeof m);
    m.id = MAVLINK_ATTITUDE;
    m.system = m.component = 1;
    m.as.attitude.roll[0] = roll;
    return m;
}

static size_t frame_of(uint8_t frame[MAVLINK_FRAME_MAX], float roll, uint8_t sequence)
{
    mavlink_message_t m = attitude(roll);
    m.sequence = sequence;
    return mavlink_encode(frame, &m);
}

static void wait_for(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    assert_int_equal(poll(&p, 1, 5000), 1);
}

static void test_datagrams(void **state)
{
    static link_t l;
    struct sockaddr_in from;
    socklen_t bytes = sizeof from;
    uint8_t frame[MAVLINK_FRAME_MAX], got[512];
    uint16_t port, other_port;
    char spec[64];
    mavlink_message_t m = attitude(0.5f);
    (void)state;
    const int peer = bound(&port), stranger = bound(&other_port);
    snprintf(spec, sizeof spec, "udp:127.0.0.1:%u", port);
    assert_null(link_open(&l, spec));
    assert_int_equal(link_send(&l, &m), 1);
    wait_for(peer);
    const ssize_t n = recvfrom(peer, got, sizeof got, 0, (struct sockaddr *)&from, &bytes);
    assert_int_equal(n, frame_of(frame, 0.5f, 0));
    assert_memory_equal(got, frame, (size_t)n);

    const size_t length = frame_of(frame, 0.75f, 3);
    assert_true(sendto(stranger, frame, length, 0, (struct sockaddr *)&from, bytes) == (ssize_t)length);
    frame_of(frame, 0.25f, 9);
    assert_true(sendto(peer, frame, 9, 0, (struct sockaddr *)&from, bytes) == 9); /* cut off: the next one counts */
    assert_true(sendto(peer, frame, length, 0, (struct sockaddr *)&from, bytes) == (ssize_t)length);
    wait_for(l.fd);
    assert_int_equal(link_receive(&l, &m), 1);
    assert_true(m.as.attitude.roll[0] == 0.25f); /* the stranger's is not there */
    assert_int_equal(link_receive(&l, &m), 0);
    assert_int_equal(l.lost, 0);
    frame_of(frame, 0.25f, 12);
    assert_true(sendto(peer, frame, length, 0, (struct sockaddr *)&from, bytes) == (ssize_t)length);
    wait_for(l.fd);
    assert_int_equal(link_receive(&l, &m), 1);
    assert_int_equal(l.lost, 2); /* 10 and 11 */

    close(peer); /* nobody listens: nothing breaks, and it is reported once */
    int printed = 0;
    for (int i = 0; i < 20; i++) {
        m = attitude(0.0f);
        link_send(&l, &m);
        while (link_receive(&l, &m)) continue;
        printed += link_maintain(&l) != NULL;
    }
    assert_int_equal(printed, 1);
    link_close(&l);
    close(stranger);
}

static void test_local_port(void **state)
{
    static link_t a, b;
    uint16_t port, local;
    char spec[64];
    (void)state;
    const int peer = bound(&port), free_one = bound(&local);
    close(free_one);
    snprintf(spec, sizeof spec, "udp:127.0.0.1:%u:%u", port, local);
    assert_null(link_open(&a, spec));
    const char *error = link_open(&b, spec);
    assert_non_null(error);
    assert_non_null(strstr(error, "another companion"));
    link_close(&a);
    close(peer);
}

static void test_bad_names(void **state)
{
    static const char *const names[] = {"",
                                        "udp",
                                        "udp:",
                                        "udp:127.0.0.1",
                                        "udp:127.0.0.1:",
                                        "udp::14550",
                                        "udp:127.0.0.1:0",
                                        "udp:127.0.0.1:65536",
                                        "udp:127.0.0.1:14550:",
                                        "udp:127.0.0.1:14550:x",
                                        "udp:[::1:14550",
                                        "udp:127.0.0.1:1455000000",
                                        "serial:/dev/null",
                                        "serial::9600",
                                        "serial:/dev/null:57600",
                                        "serial:/dev/null:1234",
                                        "serial:/dev/null:57600x",
                                        "file:",
                                        "file:/nowhere/file",
                                        "tcp:127.0.0.1",
                                        "tcp::5760",
                                        "tcp:127.0.0.1:0",
                                        "tcp:127.0.0.1:5760:5761",
                                        "tcp:[::1:5760",
                                        "udpin:",
                                        "udpin:0",
                                        "udpin:65536",
                                        "udpin:127.0.0.1:14540",
                                        "%s%n:%s"};
    static link_t l;
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *error = link_open(&l, names[i]);
        REQUIRE(error && strstr(error, "--link"), "%s was opened ", names[i]);
        assert_int_equal(l.fd, -1);
        mavlink_message_t m = attitude(0.0f);
        assert_int_equal(link_send(&l, &m), 0);
        assert_int_equal(link_receive(&l, &m), 0);
    }
}

/** The master of a pseudo terminal; the name of its other end in `spec`. Where there is none the test is skipped by
 *  name. */
static int terminal(const char *test, char *spec, size_t bytes)
{
    const int fd = posix_openpt(O_RDWR | O_NOCTTY);
    struct termios t;
    if (fd < 0 || grantpt(fd) != 0 || unlockpt(fd) != 0) {
        printf("skipped, no pseudo terminal: %s\n", test);
        skip();
    }
    assert_true(tcgetattr(fd, &t) == 0);
    cfmakeraw(&t);
    tcsetattr(fd, TCSANOW, &t);
    fcntl(fd, F_SETFL, O_NONBLOCK);
    snprintf(spec, bytes, "serial:%s:921600", ptsname(fd));
    return fd;
}

static void test_serial(void **state)
{
    static link_t l;
    char spec[96];
    uint8_t frame[MAVLINK_FRAME_MAX], got[512];
    mavlink_message_t m = attitude(0.5f);
    (void)state;
    const int master = terminal(__func__, spec, sizeof spec);
    assert_null(link_open(&l, spec));
    assert_int_equal(link_send(&l, &m), 1);
    const size_t n = frame_of(frame, 0.5f, 0);
    wait_for(master);
    assert_int_equal(read(master, got, sizeof got), n);
    assert_memory_equal(got, frame, n);
    for (size_t i = 0; i < n; i++) { /* a byte at a time */
        assert_true(write(master, frame + i, 1) == 1);
        wait_for(l.fd);
        assert_int_equal(link_receive(&l, &m), i == n - 1);
    }
    for (int i = 0; i < 20000; i++) { /* nobody reads: the newest wins, no call waits */
        m = attitude((float)i);
        link_send(&l, &m);
    }
    assert_true(l.outbox.replaced > 0 && link_waits(&l));
    float last = -1.0f;
    mavlink_parser_t parser = {0};
    uint64_t messages = 0;
    for (int round = 0; round < 2000; round++) {
        const ssize_t k = read(master, got, sizeof got);
        const uint8_t *rest = got;
        size_t count = k > 0 ? (size_t)k : 0;
        while (mavlink_parse(&parser, &rest, &count, &m)) {
            assert_true(m.as.attitude.roll[0] > last);
            last = m.as.attitude.roll[0];
            messages++;
        }
        link_maintain(&l);
        if (k <= 0 && !link_waits(&l)) break;
    }
    assert_int_equal(parser.damaged, 0);
    assert_int_equal(parser.noise, 0);
    assert_int_equal(messages, 20000 - l.outbox.replaced);
    assert_true(last == 19999.0f);

    close(master); /* unplugged */
    int printed = 0;
    for (int i = 0; i < 10; i++) {
        m = attitude(0.0f);
        link_send(&l, &m);
        while (link_receive(&l, &m)) continue;
        printed += link_maintain(&l) != NULL;
    }
    assert_int_equal(l.fd, -1);
    assert_int_equal(printed, 1);
    link_close(&l);
}

/** A device that is not there yet is waited for, and reported. */
static void test_not_there_yet(void **state)
{
    static link_t l;
    char spec[96], folder[64], name[80];
    mavlink_message_t m = attitude(0.5f);
    (void)state;
    assert_non_null(mkdtemp(temporary(folder, "link")));
    snprintf(name, sizeof name, "%s/tty", folder);
    snprintf(spec, sizeof spec, "serial:%s:57600", name);
    clock_set_ns(1000000000u);
    assert_null(link_open(&l, spec));
    assert_int_equal(link_send(&l, &m), 0);
    assert_non_null(strstr(link_maintain(&l), "is gone; it is tried again every second"));
    char other[96];
    const int master = terminal(__func__, other, sizeof other);
    assert_true(symlink(ptsname(master), name) == 0);
    clock_set_ns(2100000000u);
    assert_non_null(strstr(link_maintain(&l), "is back"));
    assert_int_equal(link_send(&l, &m), 1);
    link_close(&l);
    close(master);
    unlink(name);
    rmdir(folder);
}

/** A device that went away is opened again once it is back: its name leads to another terminal then. */
static void test_plugged_again(void **state)
{
    static link_t l;
    char spec[96], folder[64], name[80];
    uint8_t got[512];
    (void)state;
    assert_non_null(mkdtemp(temporary(folder, "link")));
    snprintf(name, sizeof name, "%s/tty", folder);
    int master = terminal(__func__, spec, sizeof spec);
    assert_true(symlink(ptsname(master), name) == 0);
    snprintf(spec, sizeof spec, "serial:%s:57600", name);
    clock_set_ns(1000000000u);
    assert_null(link_open(&l, spec));
    close(master);
    unlink(name);
    mavlink_message_t m = attitude(0.0f);
    link_send(&l, &m);
    link_receive(&l, &m);
    link_receive(&l, &m);
    assert_non_null(strstr(link_maintain(&l), "is gone"));
    char other[96];
    const int again = terminal(__func__, other, sizeof other);
    assert_true(symlink(ptsname(again), name) == 0);
    assert_null(link_maintain(&l)); /* not before its second */
    clock_set_ns(2100000000u);
    assert_non_null(strstr(link_maintain(&l), "is back"));
    m = attitude(0.5f);
    assert_int_equal(link_send(&l, &m), 1);
    wait_for(again);
    assert_true(read(again, got, sizeof got) == 20); /* without its zeros */
    link_close(&l);
    close(again);
    unlink(name);
    rmdir(folder);
}

static void test_files(void **state)
{
    static link_t l;
    char path[64], spec[80];
    uint8_t frame[MAVLINK_FRAME_MAX], got[4096];
    mavlink_message_t m;
    (void)state;
    const int fd = mkstemp(temporary(path, "link"));
    snprintf(spec, sizeof spec, "file:%s", path);
    assert_null(link_open(&l, spec));
    size_t bytes = 0;
    for (uint8_t i = 0; i < 30; i++) {
        m = attitude((float)i);
        assert_int_equal(link_send(&l, &m), 1);
        assert_int_equal(link_receive(&l, &m), 0);
        bytes += frame_of(frame, (float)i, i);
    }
    assert_int_equal(read(fd, got, sizeof got), bytes);
    link_close(&l);
    close(fd);
    unlink(path);
    if (access("/dev/full", W_OK) != 0) return;
    assert_null(link_open(&l, "file:/dev/full"));
    int printed = 0;
    for (int i = 0; i < 10; i++) {
        m = attitude(0.0f);
        link_send(&l, &m);
        const char *news = link_maintain(&l);
        printed += news != NULL && strstr(news, "disk full") != NULL;
    }
    assert_int_equal(printed, 1);
    link_close(&l);
}

/** A stream with bits flipped and bytes lost, over a terminal: what is whole comes out, and nothing that was not sent.
 *  */
static void test_damage(void **state)
{
    static link_t l;
    char spec[96];
    uint8_t frame[MAVLINK_FRAME_MAX];
    mavlink_message_t m;
    int whole = 0, found = 0;
    (void)state;
    shake(21);
    const int master = terminal(__func__, spec, sizeof spec);
    assert_null(link_open(&l, spec));
    for (int i = 0; i < 20000; i++) {
        size_t n = frame_of(frame, (float)(i + 1), (uint8_t)i);
        const uint64_t kind = roll64() % 10;
        if (kind == 0) frame[roll64() % n] ^= (uint8_t)(1u << roll64() % 8);
        if (kind == 1) n -= 1 + roll64() % (n - 1);
        if (kind == 2) n = 0;
        if (kind == 3)
            for (size_t k = 0; k < n; k++) frame[k] = (uint8_t)roll64();
        whole += kind > 3;
        assert_true(write(master, frame, n) == (ssize_t)n);
        while (link_receive(&l, &m)) {
            assert_int_equal(m.id, MAVLINK_ATTITUDE);
            const float roll = m.as.attitude.roll[0];
            assert_true(roll >= 1.0f && roll <= (float)(i + 1) && roll == (float)(int)roll);
            found++;
        }
    }
    assert_in_range(found, whole * 97 / 100, whole + 1);
    link_close(&l);
    close(master);
}

/** udpin: the first address that a message of the autopilot comes from is its; strangers are refused, until it has been
 *  silent for a time. */
static void test_udpin(void **state)
{
    static link_t l, other;
    uint16_t port, ports[2];
    char spec[64];
    uint8_t frame[MAVLINK_FRAME_MAX], got[512];
    mavlink_message_t m;
    (void)state;
    const int free_one = bound(&port), stranger = bound(&ports[0]), peer = bound(&ports[1]);
    close(free_one);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    snprintf(spec, sizeof spec, "udpin:%u", port);
    clock_set_ns(1000000000u);
    assert_null(link_open(&l, spec));
    assert_non_null(strstr(link_open(&other, spec), "another companion"));
    l.system = l.component = 1;
    m = attitude(0.5f);
    assert_int_equal(link_send(&l, &m), 0); /* nobody is there */
    const size_t n = frame_of(frame, 0.25f, 0);
    m.system = 255;
    const size_t length = mavlink_encode(got, &m);
    assert_true(sendto(stranger, got, length, 0, (struct sockaddr *)&to, sizeof to) == (ssize_t)length);
    assert_true(sendto(peer, frame, n, 0, (struct sockaddr *)&to, sizeof to) == (ssize_t)n);
    assert_true(sendto(stranger, frame, n, 0, (struct sockaddr *)&to, sizeof to) == (ssize_t)n);
    wait_for(l.fd);
    assert_int_equal(link_receive(&l, &m), 1); /* a ground station's: no peer */
    assert_true(m.system == 255 && !l.address.bytes);
    assert_int_equal(link_receive(&l, &m), 1);
    assert_int_equal(link_receive(&l, &m), 0);
    assert_int_equal(l.parser.messages, 2); /* the stranger's second one was there before there was a peer */
    m = attitude(0.5f);
    assert_int_equal(link_send(&l, &m), 1);
    wait_for(peer);
    assert_true(read(peer, got, sizeof got) > 0);
    clock_set_ns(1000000001u + LINK_PEER_NS);
    link_maintain(&l);
    assert_int_equal(link_send(&l, &m), 0);
    assert_true(sendto(stranger, frame, n, 0, (struct sockaddr *)&to, sizeof to) == (ssize_t)n);
    wait_for(l.fd);
    assert_int_equal(link_receive(&l, &m), 1);
    assert_int_equal(link_send(&l, &m), 1);
    wait_for(stranger);
    link_close(&l);
    close(peer);
    close(stranger);
}

/** A server of this machine's loopback. */
static int server(uint16_t port)
{
    const int yes = 1;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) == 0);
    int error = bind(fd, (struct sockaddr *)&a, sizeof a);
    for (int i = 0; i < 200 && error; i++) { /* a connection of another program may have that port for a moment */
        usleep(10000);
        error = bind(fd, (struct sockaddr *)&a, sizeof a);
    }
    REQUIRE(!error, "bind %u: %s ", port, strerror(errno));
    REQUIRE(listen(fd, 1) == 0, "listen %u: %s ", port, strerror(errno));
    return fd;
}

/** tcp: a server that is not there yet, is there, goes away and is back. No call waits. */
static void test_tcp(void **state)
{
    static link_t l;
    uint16_t port;
    char spec[64];
    uint8_t frame[MAVLINK_FRAME_MAX], got[4096];
    mavlink_message_t m = attitude(0.5f);
    const char *words = NULL;
    uint64_t t = 1000000000u;
    (void)state;
    signal(SIGPIPE, SIG_IGN);
    const int first = server(0);
    struct sockaddr_in at;
    socklen_t bytes = sizeof at;
    assert_true(getsockname(first, (struct sockaddr *)&at, &bytes) == 0);
    port = ntohs(at.sin_port);
    close(first);
    snprintf(spec, sizeof spec, "tcp:127.0.0.1:%u", port);
    clock_set_ns(t);
    assert_null(link_open(&l, spec));
    for (int i = 0; i < 100 && !words; i++, usleep(1000)) words = link_maintain(&l);
    assert_true(words && strstr(words, "is gone") && l.fd < 0);
    for (int round = 0; round < 2; round++) {
        const int listener = server(port);
        clock_set_ns(t += 1100000000u);
        words = NULL;
        for (int i = 0; i < 100 && !words; i++, usleep(1000)) words = link_maintain(&l);
        assert_true(words && strstr(words, "is back"));
        const int peer = accept(listener, NULL, NULL);
        assert_int_equal(link_send(&l, &m), 1);
        wait_for(peer);
        const size_t n = mavlink_encode(frame, &m);
        assert_int_equal(read(peer, got, sizeof got), n);
        assert_true(write(peer, frame, n - 3) == (ssize_t)n - 3 && link_receive(&l, &m) == 0);
        assert_true(write(peer, frame + n - 3, 3) == 3);
        wait_for(l.fd);
        usleep(1000);
        assert_int_equal(link_receive(&l, &m), 1);
        if (!round) /* nobody reads: the newest wins, and little is under way */
            for (int i = 0; i < 3000; i++) link_send(&l, &m), link_maintain(&l);
        close(peer);
        close(listener);
        words = NULL;
        for (int i = 0; i < 100 && !words; i++, usleep(1000)) {
            while (link_receive(&l, &m)) continue;
            words = link_maintain(&l);
        }
        assert_true(words && strstr(words, "is gone"));
    }
    link_close(&l);
}

/* ---- a slow line ------------------------------------------------------------------------------------------------- */

ssize_t __real_write(int fd, const void *bytes, size_t count);
ssize_t __wrap_write(int fd, const void *bytes, size_t count);
int __real_ioctl(int fd, unsigned long request, void *value);
int __wrap_ioctl(int fd, unsigned long request, void *value);

/** Serial device with a buffer of 4,096 bytes, drained at its rate by the companion's clock. */
static struct slow_line {
    int fd, baud;
    double held; /* bytes */
    uint64_t at_ns;
    mavlink_parser_t parser;
    int sent[512];                       /* messages by id */
    uint64_t oldest_ns, last_ns, gap_ns; /* most age of a state, time of the last one, most time between two */
} line = {.fd = -1};

static void drain(void)
{
    const uint64_t now_ns = clock_ns();
    line.held = fmax(0.0, line.held - (double)(now_ns - line.at_ns) * 1e-10 * line.baud);
    line.at_ns = now_ns;
}

ssize_t __wrap_write(int fd, const void *bytes, size_t count)
{
    mavlink_message_t m;
    const uint8_t *rest = bytes;
    if (fd != line.fd || fd < 0) return __real_write(fd, bytes, count);
    drain();
    const size_t room = (size_t)(4096.0 - line.held), taken = count < room ? count : room;
    if (!taken) return errno = EAGAIN, -1;
    line.held += (double)taken;
    const uint64_t end_ns = clock_ns() + (uint64_t)(line.held * 1e10 / line.baud);
    for (size_t n = taken; mavlink_parse(&line.parser, &rest, &n, &m);) {
        line.sent[m.id]++;
        if (m.id != MAVLINK_ODOMETRY) continue;
        const uint64_t stamp_ns = m.as.odometry.time_usec[0] * 1000u, age_ns = end_ns - stamp_ns;
        if (age_ns > line.oldest_ns) line.oldest_ns = age_ns;
        if (line.last_ns && stamp_ns - line.last_ns > line.gap_ns) line.gap_ns = stamp_ns - line.last_ns;
        line.last_ns = stamp_ns;
    }
    return (ssize_t)taken;
}

int __wrap_ioctl(int fd, unsigned long request, void *value)
{
    if (fd != line.fd || request != TIOCOUTQ) return __real_ioctl(fd, request, value);
    drain();
    *(int *)value = (int)line.held;
    return 0;
}

static void send_one(link_t *l, uint32_t id, uint64_t now_ns, uint8_t value)
{
    mavlink_message_t m;
    memset(&m, 0, sizeof m);
    m.id = id;
    if (id == MAVLINK_ODOMETRY) {
        memset(m.as.odometry.pose_covariance, 1, sizeof m.as.odometry.pose_covariance);
        m.as.odometry.time_usec[0] = now_ns / 1000u;
        m.as.odometry.quality[0] = (int8_t)value;
    }
    if (id == MAVLINK_TIMESYNC) m.as.timesync.tc1[0] = value;
    if (id == MAVLINK_STATUSTEXT) memset(m.as.text.text, 'a' + value % 26, 40);
    if (id == MAVLINK_HEARTBEAT) m.as.heartbeat.type[0] = value;
    link_send(l, &m);
}

/** A minute of 40 states a second with all else that goes out beside them. Returns states a second of the last 5 s. */
static double fly_slowly(int baud, char text[LINK_RATE_TEXT])
{
    static link_t l;
    link_rate_t rate = {0};
    char spec[96];
    const int master = terminal(__func__, spec, sizeof spec);
    clock_set_ns(1000000000u);
    assert_null(link_open(&l, spec));
    l.baud = baud;
    memset(&line, 0, sizeof line);
    line.fd = l.fd;
    line.baud = baud;
    line.at_ns = clock_ns();
    for (uint64_t ms = 1000; ms < 61000; ms++) {
        const uint64_t now_ns = ms * 1000000u;
        clock_set_ns(now_ns);
        if (ms % 25 == 0) send_one(&l, MAVLINK_ODOMETRY, now_ns, 80);
        if (ms % 100 == 7) send_one(&l, MAVLINK_TIMESYNC, now_ns, 0);
        if (ms % 100 == 50) send_one(&l, MAVLINK_TIMESYNC, now_ns, 1);
        if (ms % 1000 == 3) send_one(&l, MAVLINK_HEARTBEAT, now_ns, 18);
        if (ms % 2000 == 11) send_one(&l, MAVLINK_STATUSTEXT, now_ns, (uint8_t)(ms / 2000));
        if (ms % 2 == 0) link_maintain(&l);
        link_rate_update(&rate, &l, now_ns);
    }
    assert_int_equal(line.parser.damaged + line.parser.noise, 0);
    link_rate_text(&rate, 1, text);
    line.fd = -1;
    link_close(&l);
    close(master);
    return rate.sent_hz;
}

/** 57,600 baud carry half of the states, none of them old, and everything else; 921,600 all of them. 4,800 carry none:
 *  each would be too old. */
static void test_slow_line(void **state)
{
    char text[LINK_RATE_TEXT];
    (void)state;
    const double hz = fly_slowly(57600, text);
    printf("57,600 baud: %s; %.0f ms old at most, %.0f ms apart\n", text, 1e-6 * (double)line.oldest_ns,
           1e-6 * (double)line.gap_ns);
    REQUIRE(hz > 15.0 && hz < 23.0 && strstr(text, " of 40 Hz"), "%s ", text);
    REQUIRE(line.oldest_ns < 120000000u && line.gap_ns <= 125000000u, "%.0f ms old, %.0f ms apart ",
            1e-6 * (double)line.oldest_ns, 1e-6 * (double)line.gap_ns);
    assert_in_range(line.sent[MAVLINK_TIMESYNC], 1190, 1200);
    assert_in_range(line.sent[MAVLINK_HEARTBEAT], 59, 60);
    assert_in_range(line.sent[MAVLINK_STATUSTEXT], 29, 30);
    assert_true(fly_slowly(115200, text) > 39.5);
    assert_true(fly_slowly(921600, text) > 39.5);
    assert_true(line.oldest_ns < 10000000u);
    assert_true(fly_slowly(4800, text) == 0.0 && line.sent[MAVLINK_ODOMETRY] == 0);
    assert_true(line.sent[MAVLINK_HEARTBEAT] > 30);
}

/** A failure waits as long as it takes, and takes the place of states before it. */
static void test_failure_waits(void **state)
{
    static outbox_t o;
    mavlink_message_t m = {.id = MAVLINK_ODOMETRY}, got;
    (void)state;
    m.as.odometry.quality[0] = 80;
    assert_non_null(outbox_put(&o, &m, 1000));
    m.as.odometry.quality[0] = -1;
    outbox_put(&o, &m, 2000);
    assert_int_equal(outbox_take(&o, 10u * (uint64_t)OUTBOX_AGE_NS, 0, &got), 1);
    assert_int_equal(got.as.odometry.quality[0], -1);
    assert_int_equal(outbox_take(&o, 10u * (uint64_t)OUTBOX_AGE_NS, 0, &got), 0);
    m.as.odometry.quality[0] = 80;
    outbox_put(&o, &m, 2000);
    assert_int_equal(outbox_take(&o, 2000 + OUTBOX_AGE_NS, 0, &got), 0);
    assert_int_equal(o.stale, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_datagrams), cmocka_unit_test(test_local_port),    cmocka_unit_test(test_bad_names),
        cmocka_unit_test(test_serial),    cmocka_unit_test(test_plugged_again), cmocka_unit_test(test_files),
        cmocka_unit_test(test_damage),    cmocka_unit_test(test_slow_line),     cmocka_unit_test(test_not_there_yet),
        cmocka_unit_test(test_udpin),     cmocka_unit_test(test_tcp),           cmocka_unit_test(test_failure_waits)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
