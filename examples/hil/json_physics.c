/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE /* SOCK_CLOEXEC */
#include "json_physics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "examples/common/message.h"
#include "examples/common/pose.h"
#include "examples/recording/wire.h"

#define MAGIC 18458u
#define DATAGRAM_BYTES (8u + 2u * JSON_PHYSICS_OUTPUTS)
#define SQUARE_SHARE 0.65 /* of the thrust that grows with the square of the output; the rest is linear */

const char *json_physics_open(json_physics_t *j, uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t bytes = sizeof at;
    memset(j, 0, sizeof *j);
    j->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (j->fd < 0) return message_text("no socket: %s", strerror(errno));
    if (bind(j->fd, (struct sockaddr *)&at, sizeof at) || getsockname(j->fd, (struct sockaddr *)&at, &bytes))
        return message_text("port %d: %s", port, strerror(errno));
    j->port = ntohs(at.sin_port);
    return NULL;
}

void json_physics_close(json_physics_t *j)
{
    if (j->fd >= 0) close(j->fd);
    j->fd = -1;
}

static uint32_t little(const uint8_t *from, int bytes)
{
    uint32_t number = 0;
    for (int i = 0; i < bytes; i++) number |= (uint32_t)from[i] << 8 * i;
    return number;
}

int json_physics_parse(json_physics_t *j, const uint8_t *datagram, size_t bytes, uint32_t *count)
{
    if (bytes != DATAGRAM_BYTES || little(datagram, 2) != MAGIC) return 0;
    j->rate_hz = little(datagram + 2, 2);
    *count = little(datagram + 4, 4);
    for (int i = 0; i < JSON_PHYSICS_OUTPUTS; i++) j->pwm_us[i] = (uint16_t)little(datagram + 8 + 2 * i, 2);
    return 1;
}

static void answer(json_physics_t *j)
{
    (void)sendto(j->fd, j->line, (size_t)j->line_bytes, 0, (const struct sockaddr *)&j->firmware, sizeof j->firmware);
}

int json_physics_receive(json_physics_t *j, int timeout_ms)
{
    uint64_t now_ns = wire_now_ns();
    const uint64_t end_ns = now_ns + (uint64_t)timeout_ms * 1000000u;
    for (; now_ns <= end_ns; now_ns = wire_now_ns()) {
        struct pollfd p = {.fd = j->fd, .events = POLLIN};
        struct sockaddr_in from;
        uint8_t datagram[256];
        uint32_t count;
        socklen_t length = sizeof from;
        if (poll(&p, 1, (int)((end_ns - now_ns) / 1000000u) + 1) <= 0) return 0;
        const ssize_t n = recvfrom(j->fd, datagram, sizeof datagram, 0, (struct sockaddr *)&from, &length);
        if (n < 0 || !json_physics_parse(j, datagram, (size_t)n, &count)) continue;
        j->firmware = from;
        if (j->has_count && count == j->count && j->line_bytes) {
            answer(j);
            continue;
        }
        j->restarts += j->has_count && count < j->count;
        j->has_count = 1;
        j->count = count;
        return 1;
    }
    return 0;
}

int json_physics_write(char line[JSON_PHYSICS_LINE], uint64_t t_ns, const vfront_imu_t *imu, const airframe_t *a)
{
    static const double flip[3] = {1.0, -1.0, -1.0}; /* forward, left, up to forward, right, down; north is x */
    double R[9], q[4], gyro[3], force[3], p[3], v[3];
    for (int r = 0; r < 3; r++) {
        for (int c = 0; c < 3; c++) R[3 * r + c] = flip[r] * a->R_world_body[3 * r + c] * flip[c];
        gyro[r] = flip[r] * imu->gyro_rad_s[r];
        force[r] = flip[r] * imu->accel_m_s2[r];
        p[r] = flip[r] * (a->p_m[r] - (r == 2 ? AIRFRAME_LEGS_M : 0.0));
        v[r] = flip[r] * a->v_mps[r];
    }
    pose_quaternion(R, q); /* x, y, z, w */
    return snprintf(
        line, JSON_PHYSICS_LINE,
        "\n{\"timestamp\":%.6f,\"imu\":{\"gyro\":[%.9g,%.9g,%.9g],\"accel_body\":[%.9g,%.9g,%.9g]},"
        "\"position\":[%.9g,%.9g,%.9g],\"quaternion\":[%.9g,%.9g,%.9g,%.9g],\"velocity\":[%.9g,%.9g,%.9g]}\n",
        (double)t_ns * 1e-9, gyro[0], gyro[1], gyro[2], force[0], force[1], force[2], p[0], p[1], p[2], q[3], q[0],
        q[1], q[2], v[0], v[1], v[2]);
}

void json_physics_send(json_physics_t *j, uint64_t t_ns, const vfront_imu_t *imu, const airframe_t *a)
{
    j->line_bytes = json_physics_write(j->line, t_ns, imu, a);
    answer(j);
}

void json_physics_thrust(const uint16_t pwm_us[JSON_PHYSICS_OUTPUTS], double thrust_n[4])
{
    static const int output_of[4] = {2, 0, 1, 3}; /* front left, front right, rear left, rear right */
    for (int i = 0; i < 4; i++) {
        const double u = (pwm_us[output_of[i]] - 1000.0) / 1000.0, part = u < 0.0 ? 0.0 : u > 1.0 ? 1.0 : u;
        thrust_n[i] = AIRFRAME_ROTOR_MAX_N * ((1.0 - SQUARE_SHARE) * part + SQUARE_SHARE * part * part);
    }
}
