/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* poll */
#include "session.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/recording/crc.h"
#include "examples/recording/frame.h"

#define HEADER_BYTES_MAX (8u << 20)
#define REPLY_BYTES_MAX 65536u
#define LINE_WAIT_MS 300 /* for the messages that the board has sent over the line, whatever else comes there */

static char message[700];

/** Report of a board that cannot go on. */
static const char *board_message(const uint8_t *text, size_t bytes)
{
    size_t used = (size_t)snprintf(message, sizeof message, "the board: ");
    for (size_t i = 0; i < bytes && used + 1 < sizeof message; i++)
        message[used++] = text[i] >= ' ' && text[i] <= '~' ? (char)text[i] : '?';
    message[used] = 0;
    return message;
}

static const char *take_board_header(session_t *s)
{
    chunk_t c;
    uint8_t *payload;
    const char *error = wire_limit(&s->wire, HEADER_BYTES_MAX);
    if (!error) error = wire_await_greeting(&s->wire);
    if (!error) error = wire_receive(&s->wire, &c, &payload, WIRE_TIMEOUT_MS);
    if (error) return error;
    if (c.type == CHUNK_EVENT) return board_message(payload, c.bytes);
    if (c.type != CHUNK_HEADER) return "the board does not answer with a header";
    return header_read(&s->board, payload, c.bytes);
}

/** Datagrams and line, where they are wanted. */
static const char *open_transports(session_t *s, const char *where, const session_transports_t *transports)
{
    const char *error = transports->has_datagrams ? datagrams_connect(&s->datagrams, where) : NULL;
    if (error || !transports->line) return error;
    error = link_open(&s->line, transports->line);
    if (!error && s->line.kind == LINK_FILE) error = "the line: a file has no other end";
    if (error) return error;
    const announce_t announce = {.what = ANNOUNCE_LINE};
    uint8_t payload[ANNOUNCE_BYTES];
    reply_t reply = {0};
    announce_write(&announce, payload);
    error = wire_send(&s->wire, CHUNK_ANNOUNCE, 0, payload, sizeof payload, NULL, 0);
    if (!error) error = session_await(s, &reply, WIRE_TIMEOUT_MS);
    return error || reply.is_on ? error : "the board does not answer";
}

const char *session_open(session_t *s, const char *where, const session_transports_t *transports,
                         const vfront_rig_t *rig, const vfront_tuning_t *tuning)
{
    static recording_header_t own;
    const vfront_info_t info = {.port = VFRONT_PORT_HOST, .device = "bench"};
    memset(s, 0, sizeof *s);
    s->datagrams.fd = s->line.fd = -1;
    header_make(&own, "hil-bench", where, rig, tuning, &info);
    const char *error = wire_connect(&s->wire, where, 10000);
    if (error) return error;
    const size_t max = header_bytes(&own);
    uint8_t *payload = malloc(max);
    if (!payload) error = "no memory for the header";
    if (!error) error = wire_greet(&s->wire);
    if (!error) error = wire_send(&s->wire, CHUNK_HEADER, 0, payload, header_write(&own, payload, max), NULL, 0);
    free(payload);
    if (!error) error = take_board_header(s);
    if (!error) error = wire_limit(&s->wire, REPLY_BYTES_MAX);
    if (!error) error = open_transports(s, where, transports);
    if (error) session_close(s);
    return error;
}

void session_close(session_t *s)
{
    if (s->wire.fd >= 0) wire_send(&s->wire, CHUNK_END, 0, "\0\0\0\0\0\0\0", 8, NULL, 0);
    wire_close(&s->wire);
    header_free(&s->board);
    if (s->datagrams.fd >= 0) datagrams_close(&s->datagrams);
    if (s->line.kind) link_close(&s->line);
    for (int i = 0; i < SESSION_PENDING; i++) free(s->pending[i].payload);
    memset(s->pending, 0, sizeof s->pending);
}

void session_round(session_t *s, vfront_frame_t *frame)
{
    if (!s->line.kind || !frame->imu) return;
    memcpy(s->rounded, frame->imu, frame->imu_count * sizeof *s->rounded);
    for (uint32_t i = 0; i < frame->imu_count; i++) line_round(&s->rounded[i]);
    frame->imu = s->rounded;
}

/* ---- sending ----------------------------------------------------------------------------------------------------- */

/** Samples that are to go over the line, and room for a frame in datagrams. */
static session_pending_t *hold(session_t *s, const vfront_imu_t *sample, uint32_t count, uint32_t what)
{
    session_pending_t *k = &s->pending[s->frames % SESSION_PENDING];
    k->announce = (announce_t){.what = what, .number = s->frames++, .samples = count};
    for (uint32_t i = 0; i < count; i++) {
        k->sample[i] = sample[i];
        line_round(&k->sample[i]);
    }
    if (count) k->announce.first_ns = k->sample[0].t_ns;
    if (count) k->announce.last_ns = k->sample[count - 1].t_ns;
    return k;
}

static const char *send_announce(session_t *s, const session_pending_t *k, uint64_t t_ns)
{
    uint8_t payload[ANNOUNCE_BYTES];
    announce_write(&k->announce, payload);
    const char *error = wire_send(&s->wire, CHUNK_ANNOUNCE, t_ns, payload, sizeof payload, NULL, 0);
    return error ? error : line_send_samples(&s->line, k->sample, k->announce.samples);
}

/** The frame's payload, for datagrams. */
static const char *write_payload(session_pending_t *k, const vfront_frame_t *frame, int32_t cameras, int after_reset)
{
    const size_t bytes = frame_bytes(frame, cameras);
    if (bytes > k->room) {
        uint8_t *more = realloc(k->payload, bytes);
        if (!more) return "no memory for a frame";
        k->payload = more;
        k->room = bytes;
    }
    k->announce.bytes = (uint32_t)wire_write_frame(frame, cameras, after_reset, k->payload, bytes);
    if (!k->announce.bytes) return "a frame that cannot be sent: not in host memory, or no picture";
    k->announce.crc = crc32_of(0, k->payload, k->announce.bytes);
    return NULL;
}

/** A frame whose samples or pictures, or both, go beside the connection. */
static const char *send_by_transports(session_t *s, const vfront_frame_t *frame, int32_t cameras, int after_reset,
                                      uint32_t flips)
{
    vfront_frame_t f = *frame;
    const int is_datagrams = s->datagrams.fd >= 0;
    const uint32_t count = s->line.kind && f.imu ? f.imu_count : 0;
    session_pending_t *k = hold(s, f.imu, count, is_datagrams ? ANNOUNCE_DATAGRAMS : ANNOUNCE_CHUNK);
    if (count) f.imu_count = 0;
    const char *error = is_datagrams ? write_payload(k, &f, cameras, after_reset) : NULL;
    if (!error) error = send_announce(s, k, f.t_ns);
    if (error) return error;
    if (!is_datagrams) {
        s->wire.flips = flips;
        error = wire_send_frame(&s->wire, &f, cameras, after_reset);
        s->wire.flips = 0;
        return error;
    }
    error = datagrams_send(&s->datagrams, k->announce.number, k->payload, k->announce.bytes, 0, UINT32_MAX, flips);
    s->wire.t_sent_ns = wire_now_ns();
    return error;
}

const char *session_send(session_t *s, const vfront_frame_t *frame, int32_t cameras, int after_reset, uint32_t flips)
{
    if (s->datagrams.fd >= 0 || s->line.kind) return send_by_transports(s, frame, cameras, after_reset, flips);
    s->wire.flips = flips;
    const char *error = wire_send_frame(&s->wire, frame, cameras, after_reset);
    s->wire.flips = 0;
    return error;
}

const char *session_send_imu(session_t *s, const vfront_imu_t *sample, uint32_t count, uint64_t now_ns)
{
    static uint8_t payload[4 + 56 * VFRONT_IMU_SAMPLES];
    bytes_t to = bytes_of(payload, sizeof payload);
    if (count > VFRONT_IMU_SAMPLES) return "more samples than a frame can have";
    if (s->line.kind) return send_announce(s, hold(s, sample, count, ANNOUNCE_SAMPLES), now_ns);
    bytes_put(&to, count, 4);
    for (uint32_t i = 0; i < count; i++) {
        bytes_put(&to, sample[i].t_ns, 8);
        for (int k = 0; k < 3; k++) bytes_put_double(&to, sample[i].gyro_rad_s[k]);
        for (int k = 0; k < 3; k++) bytes_put_double(&to, sample[i].accel_m_s2[k]);
    }
    return wire_send(&s->wire, CHUNK_IMU, now_ns, payload, to.used, NULL, 0);
}

/* ---- receiving --------------------------------------------------------------------------------------------------- */

/** A message of the board, whose first byte came at arrival_ns. */
static void take_message(session_t *s, const mavlink_message_t *m, uint64_t arrival_ns, reply_t *reply)
{
    if (s->take) s->take(s->context, m);
    if (m->id == MAVLINK_ODOMETRY) {
        if (!reply->has_odometry) reply->odometry_ns = arrival_ns;
        reply->has_odometry = 1;
        reply->odometry = *m;
    }
    if (m->id == MAVLINK_OBSTACLE_DISTANCE) {
        reply->has_obstacles = 1;
        reply->obstacles = *m;
    }
}

/** MAVLink in a chunk, as it is on any link. */
static void take_mavlink(session_t *s, const uint8_t *payload, size_t bytes, reply_t *reply)
{
    mavlink_message_t m;
    if (bytes < 2) return;
    const uint8_t *at = payload + 2;
    size_t left = bytes - 2;
    while (mavlink_parse(&s->parser, &at, &left, &m)) take_message(s, &m, s->wire.t_arrival_ns, reply);
}

/** What has come over the line. */
static void receive_line(session_t *s, reply_t *reply)
{
    mavlink_message_t m;
    if (!s->line.kind) return;
    (void)link_maintain(&s->line);
    while (link_receive(&s->line, &m)) {
        s->line_received++;
        take_message(s, &m, s->line.in_ns, reply);
    }
}

/** Messages that the board had sent when it reported; a line may lose some. */
static void await_line(session_t *s, reply_t *reply)
{
    const uint64_t end_ns = wire_now_ns() + LINE_WAIT_MS * (uint64_t)1000000;
    for (receive_line(s, reply); s->line_received < s->line_sent; receive_line(s, reply)) {
        struct pollfd p = {.fd = s->line.fd, .events = POLLIN};
        const uint64_t now_ns = wire_now_ns();
        if (now_ns < end_ns && poll(&p, 1, (int)((end_ns - now_ns) / 1000000u) + 1) > 0) continue;
        s->line_lost += s->line_sent - s->line_received;
        s->line_received = s->line_sent;
    }
}

/** A chunk, with an ear for the line. */
static const char *receive(session_t *s, reply_t *reply, chunk_t *c, uint8_t **payload, int timeout_ms)
{
    const uint64_t end_ns = wire_now_ns() + (uint64_t)(timeout_ms > 0 ? timeout_ms : 0) * 1000000u;
    if (!s->line.kind) return wire_receive(&s->wire, c, payload, timeout_ms);
    for (;;) {
        struct pollfd p[2] = {{.fd = s->wire.fd, .events = POLLIN}, {.fd = s->line.fd, .events = POLLIN}};
        const uint64_t now_ns = wire_now_ns();
        const int ready = poll(p, 2, now_ns < end_ns ? (int)((end_ns - now_ns) / 1000000u) : 0);
        receive_line(s, reply);
        if (ready > 0 && !p[0].revents && wire_now_ns() < end_ns) continue;
        return wire_receive(&s->wire, c, payload, 0);
    }
}

/** What the board asks for again: samples, or datagrams. 0: it asks for nothing. */
static int resend(session_t *s, const char *word, const char **error)
{
    uint32_t number, first, count;
    const int n = sscanf(word, "again %" SCNu32 " %" SCNu32 " %" SCNu32, &number, &first, &count);
    if (n != 1 && n != 3) return 0;
    const session_pending_t *k = &s->pending[number % SESSION_PENDING];
    if (k->announce.number != number) return 1;
    if (n == 1) {
        s->resent += k->announce.samples;
        *error = line_send_samples(&s->line, k->sample, k->announce.samples);
    } else if (k->payload && s->datagrams.fd >= 0) {
        s->resent += count;
        *error = datagrams_send(&s->datagrams, number, k->payload, k->announce.bytes, first, count, 0);
    }
    return 1;
}

/** An event of the board. 1: the reply is there, or an error. */
static int take_event(session_t *s, const uint8_t *payload, size_t bytes, reply_t *reply, const char **error)
{
    char word[64];
    const size_t used = bytes < sizeof word - 1 ? bytes : sizeof word - 1;
    memcpy(word, payload, used);
    word[used] = 0;
    if (resend(s, word, error)) return *error != NULL;
    if (sscanf(word, "sent %" SCNu32, &s->line_sent) == 1) return 0;
    if (strcmp(word, "no GPU") == 0) {
        reply->has_no_gpu = 1;
        return 0;
    }
    reply->is_damaged = strcmp(word, "damaged") == 0;
    reply->is_on = strcmp(word, "on") == 0;
    await_line(s, reply);
    if (!reply->is_damaged && !reply->is_on) *error = board_message(payload, bytes);
    return 1;
}

const char *session_await(session_t *s, reply_t *reply, int timeout_ms)
{
    for (;;) {
        chunk_t c;
        uint8_t *payload;
        const char *error = receive(s, reply, &c, &payload, timeout_ms);
        if (error || c.type == 0) return error;
        if (c.type == CHUNK_MAVLINK) take_mavlink(s, payload, c.bytes, reply);
        if (c.type == CHUNK_EVENT && take_event(s, payload, c.bytes, reply, &error)) return error;
        if (c.type != CHUNK_RESULT) continue;
        await_line(s, reply);
        reply->has_outcome = 1;
        reply->t_ns = c.t_ns;
        return outcome_read(&reply->outcome, payload, c.bytes);
    }
}

const char *session_send_message(session_t *s, const mavlink_message_t *m, uint64_t t_ns)
{
    uint8_t frame[2 + MAVLINK_FRAME_MAX] = {0, 0};
    return wire_send(&s->wire, CHUNK_MAVLINK, t_ns, frame, 2 + mavlink_encode(frame + 2, m), NULL, 0);
}

const char *session_follow(session_t *s, int has_file, uint64_t t_ns)
{
    const char *const word = has_file ? "follow keep" : "follow";
    return wire_send(&s->wire, CHUNK_EVENT, t_ns, word, strlen(word), NULL, 0);
}

const char *session_burn(session_t *s, int threads)
{
    char text[32];
    const int bytes = snprintf(text, sizeof text, "burn %d", threads);
    return wire_send(&s->wire, CHUNK_EVENT, 0, text, (size_t)bytes, NULL, 0);
}

const char *session_fail_gpu(session_t *s, uint32_t call)
{
    char text[32];
    const int bytes = snprintf(text, sizeof text, "gpu %" PRIu32, call);
    return wire_send(&s->wire, CHUNK_EVENT, 0, text, (size_t)bytes, NULL, 0);
}
