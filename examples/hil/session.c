/* SPDX-License-Identifier: MIT */
#include "session.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/recording/bytes.h"

#define HEADER_BYTES_MOST (8u << 20)
#define REPLY_BYTES_MOST 65536u

static char message[700];

/** What the board says when it cannot go on. */
static const char *board_says(const uint8_t *text, size_t bytes)
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
    const char *error = wire_limit(&s->wire, HEADER_BYTES_MOST);
    if (!error) error = wire_await_greeting(&s->wire);
    if (!error) error = wire_receive(&s->wire, &c, &payload, WIRE_TIMEOUT_MS);
    if (error) return error;
    if (c.type == CHUNK_EVENT) return board_says(payload, c.bytes);
    if (c.type != CHUNK_HEADER) return "the board does not answer with a header";
    return header_read(&s->board, payload, c.bytes);
}

const char *session_open(session_t *s, const char *where, const vfront_rig_t *rig, const vfront_tuning_t *tuning)
{
    static recording_header_t own;
    const vfront_info_t info = {.port = VFRONT_PORT_HOST, .device = "bench"};
    memset(s, 0, sizeof *s);
    header_make(&own, "hil-bench", where, rig, tuning, &info);
    const char *error = wire_connect(&s->wire, where, 10000);
    if (error) return error;
    const size_t most = header_bytes(&own);
    uint8_t *payload = malloc(most);
    if (!payload) error = "no memory for the header";
    if (!error) error = wire_greet(&s->wire);
    if (!error) error = wire_send(&s->wire, CHUNK_HEADER, 0, payload, header_write(&own, payload, most), NULL, 0);
    free(payload);
    if (!error) error = take_board_header(s);
    if (!error) error = wire_limit(&s->wire, REPLY_BYTES_MOST);
    if (error) session_close(s);
    return error;
}

void session_close(session_t *s)
{
    if (s->wire.fd >= 0) wire_send(&s->wire, CHUNK_END, 0, "\0\0\0\0\0\0\0", 8, NULL, 0);
    wire_close(&s->wire);
    header_free(&s->board);
}

const char *session_send(session_t *s, const vfront_frame_t *frame, int32_t cameras, int after_reset, uint32_t flips)
{
    s->wire.flips = flips;
    const char *error = wire_send_frame(&s->wire, frame, cameras, after_reset);
    s->wire.flips = 0;
    return error;
}

const char *session_readings(session_t *s, const vfront_imu_t *reading, uint32_t count, uint64_t now_ns)
{
    static uint8_t payload[4 + 56 * VFRONT_IMU_SAMPLES];
    bytes_t to = bytes_of(payload, sizeof payload);
    if (count > VFRONT_IMU_SAMPLES) return "more readings than a frame can have";
    bytes_put(&to, count, 4);
    for (uint32_t i = 0; i < count; i++) {
        bytes_put(&to, reading[i].t_ns, 8);
        for (int k = 0; k < 3; k++) bytes_put_double(&to, reading[i].gyro_rad_s[k]);
        for (int k = 0; k < 3; k++) bytes_put_double(&to, reading[i].accel_m_s2[k]);
    }
    return wire_send(&s->wire, CHUNK_IMU, now_ns, payload, to.used, NULL, 0);
}

/** A message of MAVLink, as it is on any link. */
static void take_mavlink(session_t *s, const uint8_t *payload, size_t bytes, reply_t *reply)
{
    mavlink_message_t m;
    if (bytes < 2) return;
    const uint8_t *at = payload + 2;
    size_t left = bytes - 2;
    while (mavlink_parse(&s->parser, &at, &left, &m)) {
        if (s->take) s->take(s->context, &m);
        if (m.id == MAVLINK_ODOMETRY) {
            if (!reply->has_odometry) reply->odometry_ns = s->wire.t_came_ns;
            reply->has_odometry = 1;
            reply->odometry = m;
        }
        if (m.id == MAVLINK_OBSTACLE_DISTANCE) {
            reply->has_obstacles = 1;
            reply->obstacles = m;
        }
    }
}

const char *session_await(session_t *s, reply_t *reply, int timeout_ms)
{
    for (;;) {
        chunk_t c;
        uint8_t *payload;
        const char *error = wire_receive(&s->wire, &c, &payload, timeout_ms);
        if (error || c.type == 0) return error;
        if (c.type == CHUNK_MAVLINK) take_mavlink(s, payload, c.bytes, reply);
        if (c.type == CHUNK_EVENT) {
            reply->is_damaged = c.bytes == 7 && memcmp(payload, "damaged", 7) == 0;
            reply->is_on = c.bytes == 2 && memcmp(payload, "on", 2) == 0;
            return reply->is_damaged || reply->is_on ? NULL : board_says(payload, c.bytes);
        }
        if (c.type != CHUNK_RESULT) continue;
        reply->has_outcome = 1;
        reply->t_ns = c.t_ns;
        return outcome_read(&reply->outcome, payload, c.bytes);
    }
}

const char *session_burn(session_t *s, int threads)
{
    char text[32];
    const int bytes = snprintf(text, sizeof text, "burn %d", threads);
    return wire_send(&s->wire, CHUNK_EVENT, 0, text, (size_t)bytes, NULL, 0);
}
