/* SPDX-License-Identifier: MIT
 *
 * Web page of the companion (examples/companion/view.h): answers to good and bad requests, pictures against sums made
 * here, JSON by a parser of its own, readers that are slow, many, silent or absurd.
 */
#define _POSIX_C_SOURCE 200809L /* MSG_NOSIGNAL, nanosleep */
#include <arpa/inet.h>
#include <math.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "examples/companion/view.h"
#include "tests/fixture/random.h"

enum { WIDTH = 1000, HEIGHT = 600, ANSWER_MAX = 1 << 20 };

static view_t view;
static vfront_result_t result;
static uint8_t grey[HEIGHT][WIDTH];
static uint64_t now_ns;
static char answer[ANSWER_MAX];
static size_t answer_bytes;

static int open_view(void **state)
{
    (void)state;
    memset(&view, 0, sizeof view);
    memset(&result, 0, sizeof result);
    now_ns = 1000000000u;
    return view_open(&view, "0", "Drone.local") != NULL;
}

static int close_view(void **state)
{
    (void)state;
    view_close(&view);
    return 0;
}

/* ---- a client ---------------------------------------------------------------------------------------------------- */

static int connect_client(void)
{
    const struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)view.port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    assert_true(fd >= 0);
    assert_int_equal(connect(fd, (const struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

/** Length of the content by the head of `text`. */
static size_t length_of(const char *text)
{
    const char *line = strstr(text, "Content-Length: ");
    assert_non_null(line);
    return (size_t)strtoul(line + 16, NULL, 10);
}

/** Reads at most `most` bytes more of an answer. 0: the other side has closed. */
static int read_some(int fd, size_t max)
{
    for (int turns = 0; turns < 50; turns++) {
        view_service(&view, now_ns);
        const ssize_t n = recv(fd, answer + answer_bytes, max, MSG_DONTWAIT);
        if (n < 0) continue;
        answer_bytes += (size_t)n;
        answer[answer_bytes] = '\0';
        return n > 0;
    }
    return 0;
}

/** Reads a whole answer; returns its content. */
static const char *read_answer(int fd)
{
    answer_bytes = 0;
    answer[0] = '\0';
    for (;;) {
        assert_true(read_some(fd, ANSWER_MAX - 1 - answer_bytes));
        const char *content = strstr(answer, "\r\n\r\n");
        if (!content) continue;
        content += 4;
        if (answer_bytes == (size_t)(content - answer) + length_of(answer)) return content;
    }
}

static const char *ask(int fd, const char *request)
{
    assert_int_equal(send(fd, request, strlen(request), MSG_NOSIGNAL), strlen(request));
    return read_answer(fd);
}

static int is_closed(int fd)
{
    char byte;
    for (int turns = 0; turns < 5; turns++) view_service(&view, now_ns);
    return recv(fd, &byte, 1, MSG_DONTWAIT) == 0;
}

/* ---- a frame ----------------------------------------------------------------------------------------------------- */

static int show(const vfront_picture_t *picture, const char *rejection)
{
    const view_frame_t frame = {.picture = picture, .rejection = rejection};
    now_ns += VIEW_PERIOD_NS;
    const int wants = view_is_due(&view, &result, now_ns);
    if (wants) view_update(&view, &result, &frame, now_ns);
    return wants;
}

static vfront_picture_t picture_of(const void *data, int width, int height, int bytes, vfront_format_t format)
{
    return (vfront_picture_t){.data = data,
                              .width_px = width,
                              .height_px = height,
                              .pitch_bytes = (uint32_t)(WIDTH * bytes),
                              .format = format};
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/** Skips a value; returns what follows it, or NULL where it is none. */
static const char *value(const char *at)
{
    if (!at) return NULL;
    if (*at == '{' || *at == '[') {
        const char close = *at == '{' ? '}' : ']';
        const int is_object = *at == '{';
        if (*++at == close) return at + 1;
        for (;;) {
            if (is_object) {
                at = *at == '"' ? value(at) : NULL;
                if (!at || *at++ != ':') return NULL;
            }
            at = value(at);
            if (!at) return NULL;
            if (*at == close) return at + 1;
            if (*at++ != ',') return NULL;
        }
    }
    if (*at == '"') {
        for (at++; *at && *at != '"'; at++)
            if ((unsigned char)*at < ' ' || *at == '\\') return NULL;
        return *at ? at + 1 : NULL;
    }
    if (strncmp(at, "null", 4) == 0) return at + 4;
    char *end;
    if (!strchr("-0123456789", *at)) return NULL;
    strtod(at, &end);
    return end;
}

/** Number behind a name, the `index`th of a list. */
static double number(const char *json, const char *name, int index)
{
    char wanted[64];
    snprintf(wanted, sizeof wanted, "\"%s\":", name);
    const char *at = strstr(json, wanted);
    assert_non_null(at);
    at += strlen(wanted);
    if (*at == '[') at++;
    for (int i = 0; i < index; i++) {
        at = value(at);
        assert_non_null(at);
        at++;
    }
    return strncmp(at, "null", 4) == 0 ? (double)NAN : strtod(at, NULL);
}

/** Returns the picture behind the JSON. */
static const uint8_t *check_json(const char *content)
{
    const char *end = value(content);
    assert_non_null(end);
    assert_int_equal(*end, '\n');
    return (const uint8_t *)end + 1;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

static void page_is_whole(void **state)
{
    (void)state;
    const int fd = connect_client();
    for (int times = 0; times < 3; times++) { /* one connection */
        const char *content = ask(fd, "GET / HTTP/1.1\r\nHost: localhost:80\r\n\r\n");
        assert_int_equal(strncmp(answer, "HTTP/1.1 200 ", 13), 0);
        assert_int_equal(strncmp(content, "<!DOCTYPE html>", 15), 0);
        assert_non_null(strstr(content, "</html>\n"));
        assert_int_equal(answer_bytes, view_page_bytes);
    }
    close(fd);
}

static void picture_is_made_smaller(void **state)
{
    (void)state;
    static uint16_t wide[HEIGHT][WIDTH];
    const int fd = connect_client();
    ask(fd, "GET /now HTTP/1.1\r\n\r\n");
    assert_int_equal(strncmp(answer, "HTTP/1.1 503 ", 13), 0);
    assert_true(is_closed(fd));
    close(fd);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) {
            grey[y][x] = (uint8_t)(roll64() >> 56);
            wide[y][x] = (uint16_t)(grey[y][x] << 4 | 9);
        }
    const struct {
        vfront_picture_t picture;
        int times;
    } known[] = {{picture_of(grey, WIDTH, HEIGHT, 1, VFRONT_GREY8), 2},
                 {picture_of(grey, 321, 241, 1, VFRONT_GREY8), 1},
                 {picture_of(wide, 640, 481, 2, VFRONT_GREY12), 2},
                 {picture_of(grey, 1, 1, 1, VFRONT_NV12), 1}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        const int times = known[k].times, width = known[k].picture.width_px / times,
                  height = known[k].picture.height_px / times, reader = connect_client();
        assert_true(show(&known[k].picture, NULL));
        const char *json = ask(reader, "GET /now HTTP/1.1\r\nHost: 127.0.0.1:8000\r\n\r\n");
        const uint8_t *out = check_json(json);
        assert_int_equal(number(json, "picture", 0), width);
        assert_int_equal(number(json, "picture", 1), height);
        assert_int_equal(number(json, "picture", 2), times);
        assert_int_equal((const char *)out + width * height - answer, answer_bytes);
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++) {
                int sum = 0;
                for (int j = 0; j < times * times; j++) sum += grey[y * times + j / times][x * times + j % times];
                assert_int_equal(out[y * width + x], sum / (times * times));
            }
        close(reader);
    }
}

static void no_picture_is_none(void **state)
{
    (void)state;
    const vfront_picture_t none[] = {{.format = VFRONT_NO_PICTURE},
                                     {.data = grey, .width_px = 9, .height_px = 9, .memory = VFRONT_DEVICE_MEMORY}};
    for (int k = 0; k < 2; k++) {
        const int fd = connect_client();
        show(&none[k], "it \"says\" so\\\n");
        const char *json = ask(fd, "GET /now HTTP/1.1\r\n\r\n");
        assert_int_equal((const char *)check_json(json) - answer, answer_bytes);
        assert_int_equal(number(json, "picture", 0), 0);
        assert_non_null(strstr(json, "\"distrust\":\"it says so\""));
        close(fd);
    }
}

static void state_is_shown(void **state)
{
    (void)state;
    const vfront_picture_t none = {.format = VFRONT_NO_PICTURE};
    vfront_nav_t *n = &result.nav;
    n->t_ns = 5;
    n->state = VFRONT_NAV_GOOD;
    n->quality = 77;
    n->position_m[1] = -2.5;
    n->gyro_bias_rad_s[2] = 0.1;
    n->velocity_mps[0] = (double)NAN;
    n->covariance[0] = 0.04; /* x */
    n->covariance[1] = -0.01;
    for (int i = 0, at = 0; i < 15; at += 15 - i, i++)
        if (i == 3) n->covariance[at] = 1e-4;
    result.timing.step_us = 130.0f;
    const int fd = connect_client();
    show(&none, NULL);
    const char *json = ask(fd, "GET /now HTTP/1.1\r\n\r\n");
    check_json(json);
    assert_non_null(strstr(json, "\"state\":\"good\""));
    assert_true(number(json, "quality", 0) == 77.0 && number(json, "position_m", 1) == -2.5);
    assert_true(isnan(number(json, "velocity_mps", 0)));
    assert_true(fabs(number(json, "gyro_bias_dps", 2) - 5.72958) < 1e-4);
    assert_true(fabs(number(json, "position_sigma_m", 0) - 0.2) < 1e-6);
    assert_true(fabs(number(json, "attitude_sigma_deg", 0) - 0.572958) < 1e-5);
    assert_true(number(json, "position_covariance", 1) == -0.01);
    assert_true(number(json, "times", 4) == 1.0 && number(json, "steps", 0) == 1.0);
    close(fd);
}

/** However much there is, the line is whole, and a picture of the largest size has room behind it. */
static void lists_end_early(void **state)
{
    (void)state;
    const vfront_picture_t picture = picture_of(grey, 640, 480, 1, VFRONT_GREY8);
    result.tracks_count = VFRONT_TRACKS;
    for (int i = 0; i < VFRONT_TRACKS; i++)
        result.tracks[i] = (vfront_track_t){.x_px = -1234567.8f, .y_px = 1e30f, .dx_px = 1e30f, .age = UINT32_MAX};
    result.nav.t_ns = 1;
    for (int i = 0; i < 3 * VIEW_TRAJECTORY; i++) {
        result.nav.position_m[0] = -1e9 + i;
        result.nav.position_m[1] = 1e9;
        view_is_due(&view, &result, now_ns);
    }
    const int fd = connect_client();
    assert_true(show(&picture, NULL));
    const char *json = ask(fd, "GET /now HTTP/1.1\r\n\r\n");
    const uint8_t *out = check_json(json);
    assert_true((const char *)out - json <= VIEW_TEXT);
    assert_int_equal((const char *)out + 640 * 480 - answer, answer_bytes);
    close(fd);
}

/** The path keeps its first and its last place, and goes through all that lies between at even distances. */
static void trajectory_is_thinned(void **state)
{
    (void)state;
    result.nav.t_ns = 1;
    for (int i = 0; i <= 5000; i++) {
        result.nav.position_m[0] = 0.5 * i;
        view_is_due(&view, &result, now_ns);
        assert_true(view.trajectory_count <= VIEW_TRAJECTORY);
        assert_true(view.trajectory_m[0][0] == 0.0f &&
                    view.trajectory_m[view.trajectory_count - 1][0] == 0.5f * (float)i);
    }
    assert_true(view.trajectory_count > VIEW_TRAJECTORY / 4);
    for (uint32_t i = 2; i + 1 < view.trajectory_count; i++)
        assert_true(fabsf(view.trajectory_m[i][0] - view.trajectory_m[i - 1][0]) <=
                    1.5f * 0.5f * (float)view.trajectory_stride);
}

static void nothing_is_made_for_nobody(void **state)
{
    (void)state;
    const vfront_picture_t picture = picture_of(grey, 64, 48, 1, VFRONT_GREY8);
    assert_true(show(&picture, NULL)); /* one to begin with */
    assert_false(show(&picture, NULL));
    const int fd = connect_client();
    ask(fd, "GET /now HTTP/1.1\r\n\r\n");
    assert_false(view_is_due(&view, &result, view.made_ns + VIEW_PERIOD_NS - 1));
    assert_true(view_is_due(&view, &result, view.made_ns + VIEW_PERIOD_NS));
    now_ns += VIEW_ACTIVE_NS;
    assert_false(show(&picture, NULL));
    close(fd);
}

/** Slow readers get the frame that they began, all of it, while others are made; then the newest. */
static void readers_are_slow(void **state)
{
    (void)state;
    enum { READERS = 3, ROUNDS = 4 };
    static char kept[READERS][ANSWER_MAX];
    size_t kept_bytes[READERS] = {0};
    int fd[READERS], frames[READERS] = {0};
    const struct timespec nap = {.tv_nsec = 500000};
    const int small = 32768;
    result.frame = 1;
    memset(grey, 1, sizeof grey);
    const vfront_picture_t picture = picture_of(grey, 640, 480, 1, VFRONT_GREY8);
    const view_frame_t frame = {.picture = &picture};
    view_update(&view, &result, &frame, now_ns);
    for (int i = 0; i < READERS; i++) {
        fd[i] = connect_client();
        setsockopt(fd[i], SOL_SOCKET, SO_RCVBUF, &small, sizeof small);
        view_service(&view, now_ns);
        for (int k = 0; k < VIEW_CLIENTS; k++)
            if (view.client[k].fd >= 0) setsockopt(view.client[k].fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof small);
        assert_true(send(fd[i], "GET /now HTTP/1.1\r\n\r\n", 21, MSG_NOSIGNAL) == 21);
    }
    for (int step = 0; step < 10000 && (frames[0] < ROUNDS || frames[1] < ROUNDS || frames[2] < ROUNDS); step++) {
        result.frame++;
        memset(grey, (int)(result.frame % 251), sizeof grey);
        view_update(&view, &result, &frame, now_ns);
        for (int i = 0; i < READERS; i++) {
            view_service(&view, now_ns);
            const ssize_t n = recv(fd[i], kept[i] + kept_bytes[i], 1000u << (i + 3), MSG_DONTWAIT);
            if (n <= 0) nanosleep(&nap, NULL);
            if (n <= 0) continue;
            kept_bytes[i] += (size_t)n;
            kept[i][kept_bytes[i]] = '\0';
            const char *content = strstr(kept[i], "\r\n\r\n");
            if (!content || kept_bytes[i] < (size_t)(content + 4 - kept[i]) + length_of(kept[i])) continue;
            const uint8_t *out = check_json(content + 4);
            const int expected = (int)fmod(number(content + 4, "frame", 0), 251.0);
            for (int k = 0; k < 640 * 480; k++) assert_int_equal(out[k], expected);
            kept_bytes[i] = 0;
            frames[i]++;
            assert_true(send(fd[i], "GET /now HTTP/1.1\r\n\r\n", 21, MSG_NOSIGNAL) == 21);
        }
    }
    for (int i = 0; i < READERS; i++) {
        assert_true(frames[i] >= ROUNDS);
        close(fd[i]);
    }
    now_ns += VIEW_IDLE_NS; /* all are gone, whatever they were at */
    view_service(&view, now_ns);
    for (int i = 0; i < VIEW_BUFFERS; i++) assert_int_equal(view.buffer[i].readers, 0);
}

static void bad_requests_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *request, *status;
    } known[] = {{"POST / HTTP/1.1\r\n\r\n", "405"},
                 {"get / HTTP/1.1\r\n\r\n", "405"},
                 {"GET /../etc/passwd HTTP/1.1\r\n\r\n", "404"},
                 {"GET /nowhere HTTP/1.1\r\n\r\n", "404"},
                 {"GET  / HTTP/1.1\r\n\r\n", "404"},
                 {"GET /\r\n\r\n", "404"},
                 {"GET /now HTTP/1.1\r\nX: y\r\nhOST:\tplace.example\r\n\r\n", "403"},
                 {"GET / HTTP/1.1\r\nHost: localhost.place.example\r\n\r\n", "403"},
                 {"GET / HTTP/1.1\r\nHost: 127.0.0.1.place\r\n\r\n", "403"}};
    for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
        const int fd = connect_client();
        ask(fd, known[k].request);
        assert_int_equal(strncmp(answer, "HTTP/1.1 ", 9), 0);
        assert_int_equal(strncmp(answer + 9, known[k].status, 3), 0);
        assert_true(is_closed(fd));
        close(fd);
    }
    char longest[VIEW_REQUEST];
    memset(longest, 'a', sizeof longest);
    const int fd = connect_client();
    memcpy(longest, "GET / ", 6);
    assert_true(send(fd, longest, sizeof longest - 1, MSG_NOSIGNAL) > 0);
    read_answer(fd);
    assert_int_equal(strncmp(answer, "HTTP/1.1 431 ", 13), 0);
    close(fd);
    const int nul = connect_client();
    assert_true(send(nul, "GET /\0 HTTP\r\n\r\n", 15, MSG_NOSIGNAL) == 15);
    assert_true(is_closed(nul));
    close(nul);
}

static void connections_are_few(void **state)
{
    (void)state;
    int fd[VIEW_CLIENTS + 1];
    for (int i = 0; i < VIEW_CLIENTS; i++) {
        fd[i] = connect_client();
        view_service(&view, now_ns);
    }
    fd[VIEW_CLIENTS] = connect_client();
    assert_true(is_closed(fd[VIEW_CLIENTS]));
    close(fd[VIEW_CLIENTS]);
    for (int i = 0; i < VIEW_CLIENTS; i++) assert_false(is_closed(fd[i]));
    now_ns += VIEW_IDLE_NS - 1;
    assert_false(is_closed(fd[0]));
    now_ns += 1;
    for (int i = 0; i < VIEW_CLIENTS; i++) assert_true(is_closed(fd[i]));
    for (int i = 0; i < VIEW_CLIENTS; i++) close(fd[i]);
    const int next = connect_client();
    ask(next, "GET / HTTP/1.1\r\n\r\n");
    close(next);
}

/** Clients that hold all places with a byte now and then give way, the slowest first; one that is served does not. */
static void slow_clients_give_way(void **state)
{
    (void)state;
    int fd[VIEW_CLIENTS];
    const int yes = 1;
    for (int i = 0; i < VIEW_CLIENTS; i++) {
        fd[i] = connect_client();
        setsockopt(fd[i], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        view_service(&view, now_ns);
    }
    for (uint64_t at_ns = 0; at_ns < VIEW_SLOW_NS; at_ns += VIEW_SLOW_NS / 4, now_ns += VIEW_SLOW_NS / 4) {
        for (int i = 0; i < VIEW_CLIENTS - 1; i++) assert_int_equal(send(fd[i], "G", 1, MSG_NOSIGNAL), 1);
        ask(fd[VIEW_CLIENTS - 1], "GET / HTTP/1.1\r\n\r\n"); /* it has a place, and is never slow */
    }
    for (int k = 0; k < VIEW_CLIENTS - 1; k++) {
        const int next = connect_client();
        ask(next, "GET / HTTP/1.1\r\n\r\n");
        ask(fd[VIEW_CLIENTS - 1], "GET / HTTP/1.1\r\n\r\n");
        close(next);
        view_service(&view, now_ns);
    }
    int closed = 0;
    for (int i = 0; i < VIEW_CLIENTS - 1; i++) {
        closed += is_closed(fd[i]);
        close(fd[i]);
    }
    assert_int_equal(closed, 1); /* the place of the first was enough for all that came */
    ask(fd[VIEW_CLIENTS - 1], "GET / HTTP/1.1\r\n\r\n");
    close(fd[VIEW_CLIENTS - 1]);
}

/** The page is given by the name that was set, and its address is for people. */
static void names_are_known(void **state)
{
    (void)state;
    static const char *const good[] = {"drone.local", "DRONE.LOCAL:80", "Drone.local:12345"};
    static const char *const bad[] = {"drone.local.place", "drone", "adrone.local", "drone.localx:80"};
    char request[128], url[VIEW_URL], wanted[VIEW_URL];
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const int fd = connect_client();
        snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", good[i]);
        ask(fd, request);
        assert_int_equal(strncmp(answer, "HTTP/1.1 200 ", 13), 0);
        close(fd);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const int fd = connect_client();
        snprintf(request, sizeof request, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", bad[i]);
        ask(fd, request);
        assert_int_equal(strncmp(answer, "HTTP/1.1 403 ", 13), 0);
        close(fd);
    }
    view_url(&view, url);
    snprintf(wanted, sizeof wanted, "http://Drone.local:%d/", view.port);
    assert_string_equal(url, wanted);
    view.name[0] = '\0';
    view_url(&view, url);
    snprintf(wanted, sizeof wanted, "http://127.0.0.1:%d/", view.port);
    assert_string_equal(url, wanted);
    static view_t all;
    assert_null(view_open(&all, "0.0.0.0:0", NULL));
    view_url(&all, url);
    assert_null(strstr(url, "//0.0.0.0"));
    view_close(&all);
}

/** Second picture, clocks, obstacles, what is waited for, and a hint while there is no state. */
static void company_is_shown(void **state)
{
    (void)state;
    static uint16_t cm[VFRONT_OBSTACLE_BINS];
    for (int i = 0; i < VFRONT_OBSTACLE_BINS; i++) cm[i] = (uint16_t)(100 + i);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < WIDTH; x++) grey[y][x] = (uint8_t)(x % 2 ? 90 : 100);
    const vfront_picture_t first = picture_of(grey, 640, 400, 1, VFRONT_GREY8),
                           second = picture_of(grey, 640, 400, 1, VFRONT_GREY8);
    const view_peer_t peer[2] = {{.name = "PX4", .is_armed = 1, .trip_ms = 2.5, .clock_sigma_ms = 0.25},
                                 {.name = "ArduPilot", .trip_ms = 3.0, .clock_sigma_ms = (double)NAN}};
    view_frame_t frame = {.picture = &first, .picture_1 = &second, .peer = peer, .peers = 2, .obstacles_cm = cm};
    result.nav.state = VFRONT_NAV_INITIALISING;
    result.tracks_count = 100;
    view_update(&view, &result, &frame, now_ns);
    const int fd = connect_client();
    const char *json = ask(fd, "GET /now HTTP/1.1\r\n\r\n");
    const uint8_t *out = check_json(json);
    assert_true(number(json, "picture", 0) == 640.0 && number(json, "picture_1", 0) == 320.0 &&
                number(json, "picture_1", 1) == 200.0 && number(json, "picture_1", 2) == 2.0);
    assert_int_equal((const char *)out + 640 * 400 + 320 * 200 - answer, answer_bytes);
    assert_int_equal(out[640 * 400], 95);
    assert_true(number(json, "sharpness", 0) == 20.0 && number(json, "sharpness", 1) == 20.0);
    assert_true(number(json, "obstacles_cm", 71) == 171.0);
    assert_non_null(strstr(json, "\"peers\":[{\"name\":\"PX4\",\"trip_ms\":[2.5],\"clock_sigma_ms\":[0.25],"
                                 "\"is_armed\":1},{\"name\":\"ArduPilot\",\"trip_ms\":[3],\"clock_sigma_ms\":[null]"));
    assert_non_null(strstr(json, "\"hint\":\"no state yet: move the vehicle by 20 cm\""));
    result.health.imu = VFRONT_IMU_MISSING;
    view_update(&view, &result, &frame, now_ns);
    assert_non_null(strstr(ask(fd, "GET /now HTTP/1.1\r\n\r\n"), "\"hint\":\"no state yet: no samples of the IMU\""));
    result.tracks_count = 3;
    view_update(&view, &result, &frame, now_ns);
    assert_non_null(strstr(ask(fd, "GET /now HTTP/1.1\r\n\r\n"), "\"hint\":\"no state yet: few tracks"));
    frame = (view_frame_t){.waits = "a camera"};
    view_update(&view, &result, &frame, now_ns);
    json = ask(fd, "GET /now HTTP/1.1\r\n\r\n");
    assert_int_equal((const char *)check_json(json) - answer, answer_bytes);
    assert_non_null(strstr(json, "\"waits\":\"a camera\""));
    assert_non_null(strstr(json, "\"hint\":\"\""));
    assert_null(strstr(json, "obstacles_cm"));
    assert_true(isnan(number(json, "sharpness", 0)));
    close(fd);
}

/** Clients that send a byte now and then do not keep others out: a request has its time. */
static void slow_clients_are_dropped(void **state)
{
    (void)state;
    const uint64_t begin_ns = now_ns;
    const int writer = connect_client(), reader = connect_client();
    const int yes = 1;
    setsockopt(writer, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    setsockopt(reader, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    ask(reader, "GET / HTTP/1.1\r\n\r\n"); /* a request that is over does not count */
    for (int i = 0; i < 4; i++, now_ns += VIEW_TOTAL_NS / 4) {
        assert_int_equal(send(writer, "G", 1, MSG_NOSIGNAL), 1);
        assert_int_equal(send(reader, "G", 1, MSG_NOSIGNAL), 1);
        view_service(&view, now_ns);
        assert_false(is_closed(writer));
    }
    assert_true(now_ns == begin_ns + VIEW_TOTAL_NS);
    assert_true(is_closed(writer) && is_closed(reader));
    close(writer);
    close(reader);
}

/** Requests of chance, and good ones with bytes changed, cut or left hanging. */
static void chance_is_survived(void **state)
{
    (void)state;
    static const char good[] = "GET /now HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: */*\r\n\r\n";
    const vfront_picture_t picture = picture_of(grey, 64, 48, 1, VFRONT_GREY8);
    for (int k = 0; k < 3000; k++) {
        char bytes[256];
        size_t count = sizeof good - 1;
        memcpy(bytes, good, count);
        for (uint64_t changes = roll64() % 4; changes; changes--) bytes[roll64() % count] = (char)roll64();
        if (roll64() % 3 == 0) count = roll64() % (count + 1);
        const int fd = connect_client();
        if (count) assert_true(send(fd, bytes, count, MSG_NOSIGNAL) > 0);
        view_service(&view, now_ns);
        if (k % 7 == 0) show(&picture, NULL);
        view_service(&view, now_ns);
        close(fd);
        view_service(&view, now_ns);
    }
    now_ns += VIEW_IDLE_NS;
    view_service(&view, now_ns);
    show(&picture, NULL);
    const int fd = connect_client();
    check_json(ask(fd, good));
    close(fd);
}

static void listen_addresses_are_checked(void **state)
{
    (void)state;
    static view_t other;
    static const char *const bad[] = {"",        "x",  "70000000", "65536",      ":80",       "host:80",
                                      "1.2.3:x", "-1", "[::1:80",  "127.0.0.1:", "127.0.0.1", "80:80:80"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *error = view_open(&other, bad[i], NULL);
        if (!error) print_error("%s was taken\n", bad[i]);
        assert_non_null(error);
        assert_false(other.is_open);
    }
    char taken[32];
    snprintf(taken, sizeof taken, "127.0.0.1:%d", view.port);
    assert_non_null(strstr(view_open(&other, taken, NULL), "in use"));
    static const char *const bad_names[] = {"", "a b", "a\r\nb", "a/b", "[::1]", "http:"};
    for (size_t i = 0; i < sizeof bad_names / sizeof *bad_names; i++)
        assert_non_null(strstr(view_open(&other, "0", bad_names[i]), "--view-name"));
    assert_false(view_is_due(&other, &result, now_ns)); /* not open: all calls do nothing */
    view_service(&other, now_ns);
    view_close(&other);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_view, close_view)
    const struct CMUnitTest tests[] = {
        TEST(page_is_whole),
        TEST(picture_is_made_smaller),
        TEST(no_picture_is_none),
        TEST(state_is_shown),
        TEST(lists_end_early),
        TEST(trajectory_is_thinned),
        TEST(nothing_is_made_for_nobody),
        TEST(readers_are_slow),
        TEST(bad_requests_are_refused),
        TEST(connections_are_few),
        TEST(slow_clients_are_dropped),
        TEST(slow_clients_give_way),
        TEST(names_are_known),
        TEST(company_is_shown),
        TEST(chance_is_survived),
        TEST(listen_addresses_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
