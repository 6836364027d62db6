/* SPDX-License-Identifier: MIT
 *
 * Bytes from anywhere for whatever reads a socket or a file in the companion, the bench, recordings and data sets: true
 * content with bits flipped, bytes cut, doubled, put in, numbers made absurd, checksums made right again; and noise.
 * Nothing crashes, nothing hangs, nothing reads beyond its bytes (build it with SANITIZE=address,undefined). No wait is
 * prolonged by what comes without an end and is not what is waited for.
 *
 *     wild [--bytes N] [--seed S] [--only NAME]    N bytes for each reader, 200,000 without it
 */
#define _DEFAULT_SOURCE /* mkstemp, ftruncate, pwrite, alarm */
#include <arpa/inet.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "examples/replay/calibration.h"
#include "examples/replay/dataset.h"
#include "examples/replay/picture.h"
#include "examples/companion/checkpoint.h"
#include "examples/companion/peer.h"
#include "examples/synthetic/course_spline.h"
#include "examples/replay/fault_script.h"
#include "examples/hil/announce.h"
#include "examples/hil/datagrams.h"
#include "examples/hil/json_physics.h"
#include "examples/hil/line.h"
#include "examples/recording/bytes.h"
#include "examples/recording/crc.h"
#include "examples/recording/header.h"
#include "examples/recording/mcap_reader.h"
#include "examples/recording/outcome.h"
#include "examples/recording/reader.h"
#include "examples/recording/wire.h"
#include "examples/replay/truth.h"
#include "tests/fixture/random.h"
#include "tests/fixture/temporary.h"

#define RANDOM_BYTES_MAX (1u << 17)
#define HANG_S 20

static uint8_t wild[RANDOM_BYTES_MAX], stream[RANDOM_BYTES_MAX]; /* content of a case; a whole session of a bench */
static size_t stream_bytes;
static vfront_rig_t rig;
static char path[64];
static int file = -1;
static volatile uint64_t seen; /* so that what was read is looked at */
static const char *volatile current = "";
static volatile uint64_t current_case, seed = 1;

/** End of a test that lacks what it needs. */
static _Noreturn void abandon_run(int line)
{
    printf("wild: line %d cannot go on\n", line);
    exit(2);
}

/* ---- readers ----------------------------------------------------------------------------------------------------- */

/** The case as a file. */
static const char *as_file(const uint8_t *data, size_t bytes)
{
    if (ftruncate(file, 0) != 0 || pwrite(file, data, bytes, 0) != (ssize_t)bytes) abandon_run(__LINE__);
    return path;
}

static int read_mavlink(uint8_t *data, size_t bytes)
{
    static mavlink_parser_t parser;
    static peer_t peer;
    static imu_buffer_t samples;
    static uint64_t now_ns = 1000000000u;
    mavlink_message_t m, out[PEER_MESSAGES];
    const uint8_t *at = data;
    int taken = 0;
    peer.settings = (peer_settings_t){.system = 1, .component = 1, .wants_imu = 1, .imu_hz = 200.0};
    while (mavlink_parse(&parser, &at, &bytes, &m)) {
        taken++;
        now_ns += 1 + roll64() % 5000000;
        seen += (uint64_t)peer_receive(&peer, &m, now_ns, &samples, out);
        seen += (uint64_t)peer_tick(&peer, now_ns, out);
    }
    return taken;
}

/** The bench's chunks, over a socket. */
static int read_wire(uint8_t *data, size_t bytes)
{
    wire_t w = {.timeout_ms = 1000};
    int fds[2], taken = 0, room = 1 << 20;
    chunk_t c;
    uint8_t *payload;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) abandon_run(__LINE__);
    setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    if (send(fds[0], data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL) != (ssize_t)bytes) abandon_run(__LINE__);
    close(fds[0]);
    w.fd = fds[1];
    const char *error = wire_limit(&w, 1 << 16);
    if (!error) error = wire_await_greeting(&w);
    while (!error) {
        error = wire_receive(&w, &c, &payload, 0);
        if (error || !c.type) break;
        taken++;
        for (uint32_t i = 0; i < c.bytes; i++) seen += payload[i];
    }
    wire_close(&w);
    return taken;
}

/** A datagram of a frame of 3000 bytes. */
static int read_datagram(uint8_t *data, size_t bytes)
{
    static datagrams_t in = {.fd = -1}, out = {.fd = -1};
    uint32_t first;
    if (in.fd < 0) {
        char where[32];
        struct sockaddr_in address;
        socklen_t length = sizeof address;
        if (datagrams_listen(&in, "127.0.0.1:1", 0, "127.0.0.1")) abandon_run(__LINE__);
        if (getsockname(in.fd, (struct sockaddr *)&address, &length) != 0) abandon_run(__LINE__);
        snprintf(where, sizeof where, "127.0.0.1:%d", ntohs(address.sin_port));
        if (datagrams_connect(&out, where)) abandon_run(__LINE__);
    }
    if (datagrams_begin(&in, 7, 3000, 4000)) abandon_run(__LINE__);
    if (send(out.fd, data, bytes < 2000 ? bytes : 2000, 0) < 0) abandon_run(__LINE__);
    if (datagrams_receive(&in, 0)) abandon_run(__LINE__);
    for (size_t i = 0; i < in.bytes; i++) seen += in.payload[i];
    seen += datagrams_gap(&in, 0, &first);
    return in.missing < in.parts;
}

static int read_ahead(uint8_t *data, size_t bytes)
{
    announce_t a;
    return announce_read(&a, data, bytes);
}

static int read_header(uint8_t *data, size_t bytes)
{
    static recording_header_t h;
    if (header_read(&h, data, bytes)) return 0;
    REQUIRE(h.rig.cameras >= 1 && h.rig.cameras <= VFRONT_CAMERAS, "cameras");
    header_free(&h);
    return 1;
}

static int read_frame(uint8_t *data, size_t bytes)
{
    static recorded_frame_t f;
    if (frame_read(&f, &rig, data, bytes)) return 0;
    for (int32_t c = 0; c < rig.cameras; c++) {
        const vfront_picture_t *p = &f.frame.picture[c];
        for (size_t i = 0; p->data && i < (size_t)p->pitch_bytes * (size_t)p->height_px; i++)
            seen += ((const uint8_t *)p->data)[i];
    }
    return 1;
}

static int read_outcome(uint8_t *data, size_t bytes)
{
    outcome_t o;
    return !outcome_read(&o, data, bytes);
}

static int read_recording(uint8_t *data, size_t bytes)
{
    reader_t *r;
    const recorded_frame_t *f;
    outcome_t o;
    chunk_t c;
    uint8_t *payload;
    int has, is_cut, taken = 0;
    if (reader_open(&r, as_file(data, bytes))) return 0;
    for (uint32_t i = 0; i < reader_frames(r); i++) {
        taken += !reader_frame(r, i, &f);
        seen += !reader_outcome(r, i, &o, &has);
    }
    for (uint32_t i = 0; i < reader_chunks(r); i++) seen += !reader_chunk(r, i, &c, &payload);
    seen += reader_trouble(r, &is_cut) != NULL;
    reader_close(r);
    return taken;
}

static const char *look(void *user, const mcap_source_t *source, const mcap_message_t *m)
{
    (void)user;
    for (size_t i = 0; i < m->place.bytes; i++) seen += m->data[i];
    seen += (uint64_t)source->topic[0];
    return NULL;
}

static int read_mcap(uint8_t *data, size_t bytes)
{
    mcap_reader_t *r;
    dataset_t *d;
    vfront_frame_t f;
    const char *name = as_file(data, bytes);
    if (mcap_reader_open(&r, name, look, NULL)) return 0;
    mcap_reader_close(r);
    if (!mcap_recognises(name) || dataset_open(&d, name, 2, NULL, "none", NULL)) return 0;
    const int taken = !dataset_read(d, dataset_frames(d) - 1, &f);
    dataset_close(d);
    return taken;
}

static int read_checkpoint(uint8_t *data, size_t bytes)
{
    checkpoint_t k;
    const char *reason;
    return checkpoint_read(as_file(data, bytes), 5000000000u, &k, &reason);
}

static int read_script(uint8_t *data, size_t bytes)
{
    fault_script_t s = {0};
    const char *error = fault_script_parse(&s, "wild", (const char *)data, bytes);
    for (uint32_t i = 0; i < s.count; i++) seen += (uint64_t)fault_active(&s.fault[i], 7, 1000, 500);
    fault_script_free(&s);
    return !error;
}

/** Cameras, IMU and mount of one YAML, or of KITTI's text. */
static int read_rig(uint8_t *data, size_t bytes)
{
    static vfront_rig_t r;
    vfront_imu_noise_t noise;
    pose_t mount;
    memset(&r, 0, sizeof r);
    r.cameras = VFRONT_CAMERAS;
    const char *name = as_file(data, bytes);
    const int taken = !calibration_read(&r, name);
    seen += !calibration_imu(&noise, name);
    seen += !calibration_mount(&mount, name);
    return taken;
}

/** A picture, of which no pixel may lie outside. */
static int read_picture(uint8_t *data, size_t bytes)
{
    static picture_t p;
    const int taken = !picture_read(&p, as_file(data, bytes));
    const size_t pixels = (size_t)p.width_px * (size_t)p.height_px;
    if (taken) seen += ((uint8_t *)p.pixels)[0] + ((uint8_t *)p.pixels)[pixels - 1];
    if (p.capacity_bytes > 1u << 24) picture_free(&p);
    return taken;
}

static int read_truth(uint8_t *data, size_t bytes)
{
    truth_t t = {0};
    pose_t pose;
    const int taken = !truth_read(&t, as_file(data, bytes));
    if (taken) seen += (uint64_t)truth_at(&t, 1, 1000000000u, &pose);
    truth_free(&t);
    return taken;
}

static int read_trajectory(uint8_t *data, size_t bytes)
{
    spline_t s = {0};
    spline_state_t state;
    const int taken = !spline_read(&s, as_file(data, bytes), 0.12);
    if (taken) spline_at(&s, 0.5 * s.seconds, &state);
    spline_free(&s);
    return taken;
}

/* ---- true content ------------------------------------------------------------------------------------------------ */

static size_t make_mavlink(uint8_t *to)
{
    static const uint32_t id[] = {0, 27, 30, 32, 48, 76, 77, 102, 105, 111, 253, 330, 331};
    size_t used = 0;
    for (int i = 0; i < 12; i++) {
        mavlink_message_t m;
        for (size_t k = 0; k < sizeof m.as; k++) ((uint8_t *)&m.as)[k] = (uint8_t)roll64();
        m.id = id[roll64() % (sizeof id / sizeof *id)];
        m.system = m.component = roll64() % 8 ? 1 : (uint8_t)roll64();
        m.sequence = (uint8_t)i;
        used += mavlink_encode(to + used, &m);
    }
    return used;
}

static size_t make_stream(uint8_t *to)
{
    memcpy(to, stream, stream_bytes);
    return stream_bytes;
}

/** Payload of the first chunk of a type. */
static size_t make_payload(uint8_t *to, uint32_t type)
{
    chunk_t c;
    for (size_t at = RECORDING_MAGIC_BYTES; at < stream_bytes; at += CHUNK_HEAD_BYTES + c.bytes) {
        if (chunk_read_head(stream + at, &c)) abandon_run(__LINE__);
        if (c.type != type) continue;
        memcpy(to, stream + at + CHUNK_HEAD_BYTES, c.bytes);
        return c.bytes;
    }
    abandon_run(__LINE__);
}

static size_t make_header(uint8_t *to) { return make_payload(to, CHUNK_HEADER); }
static size_t make_frame(uint8_t *to) { return make_payload(to, CHUNK_FRAME); }
static size_t make_outcome(uint8_t *to) { return make_payload(to, CHUNK_RESULT); }

/* A file of MCAP: messages of ROS 2 in a chunk without a CRC, and one picture behind it. */

static void put_text(bytes_t *b, const char *text, int is_cdr)
{
    bytes_put(b, strlen(text) + (is_cdr ? 1u : 0), 4);
    for (const char *at = text; *at; at++) bytes_put(b, (uint8_t)*at, 1);
    if (is_cdr) bytes_put(b, 0, 1);
}

/** To a multiple behind the four bytes of the head of a message that begins at `from`. */
static void align(bytes_t *b, size_t from, size_t to)
{
    while ((b->used - from) % to) bytes_put(b, 0, 1);
}

static size_t begin_record(bytes_t *b, int kind)
{
    bytes_put(b, (uint64_t)kind, 1);
    bytes_put(b, 0, 8);
    return b->used;
}

static void end_record(bytes_t *b, size_t from)
{
    bytes_t length = bytes_of(b->memory + from - 8, 8);
    bytes_put(&length, b->used - from, 8);
}

static void put_channel(bytes_t *b, int id, const char *schema, const char *topic)
{
    size_t from = begin_record(b, 3);
    bytes_put(b, (uint64_t)id, 2);
    put_text(b, schema, 0);
    put_text(b, "ros2msg", 0);
    bytes_put(b, 0, 4);
    end_record(b, from);
    from = begin_record(b, 4);
    bytes_put(b, (uint64_t)id, 2);
    bytes_put(b, (uint64_t)id, 2);
    put_text(b, topic, 0);
    put_text(b, "cdr", 0);
    bytes_put(b, 0, 4);
    end_record(b, from);
}

/** Message 1: picture, 2: camera_info, 3: IMU, 4: transform. */
static void put_message(bytes_t *b, int id, uint32_t t_ns)
{
    const size_t record = begin_record(b, 5), from = record + 22 + 4;
    bytes_put(b, (uint64_t)id, 2);
    bytes_put(b, 0, 4);
    bytes_put(b, t_ns, 8);
    bytes_put(b, t_ns, 8);
    bytes_put(b, 0x0100, 4);
    if (id == 4) bytes_put(b, 1, 4);
    bytes_put(b, 1, 4);
    bytes_put(b, t_ns, 4);
    put_text(b, "camera", 1);
    align(b, from, 4);
    if (id == 4) put_text(b, "imu", 1);
    if (id == 1 || id == 2) bytes_put(b, 16, 4);
    if (id == 1 || id == 2) bytes_put(b, 20, 4);
    if (id == 1) {
        put_text(b, "mono8", 1);
        align(b, from, 1);
        bytes_put(b, 0, 1);
        align(b, from, 4);
        bytes_put(b, 20, 4);
        bytes_put(b, 320, 4);
        for (int i = 0; i < 320; i++) bytes_put(b, (uint64_t)i, 1);
    }
    if (id == 2) put_text(b, "plumb_bob", 1);
    if (id == 2) align(b, from, 4);
    if (id == 2) bytes_put(b, 5, 4);
    align(b, from, 8);
    for (int i = 0; id > 1 && i < (id == 2 ? 35 : id == 3 ? 37 : 7); i++) bytes_put_double(b, id == 2 ? 20.0 : 0.5);
    end_record(b, record);
}

static size_t make_mcap(uint8_t *to)
{
    static const char magic[] = "\x89MCAP0\r\n";
    bytes_t b = bytes_of(to, RANDOM_BYTES_MAX);
    memcpy(bytes_take(&b, 8), magic, 8);
    const size_t chunk = begin_record(&b, 6);
    for (int i = 0; i < 3; i++) bytes_put(&b, 0, 8);
    bytes_put(&b, 0, 4);
    put_text(&b, "", 0);
    bytes_put(&b, 0, 8);
    const size_t from = b.used;
    put_channel(&b, 1, "sensor_msgs/msg/Image", "/a/image_raw");
    put_channel(&b, 2, "sensor_msgs/msg/CameraInfo", "/a/camera_info");
    put_channel(&b, 3, "sensor_msgs/msg/Imu", "/imu");
    put_channel(&b, 4, "tf2_msgs/msg/TFMessage", "/tf_static");
    for (int id = 1; id <= 4; id++) put_message(&b, id, 1000u * (uint32_t)id);
    put_message(&b, 3, 9000);
    bytes_t size = bytes_of(to + chunk + 16, 8), stored = bytes_of(to + from - 8, 8);
    bytes_put(&size, b.used - from, 8);
    bytes_put(&stored, b.used - from, 8);
    end_record(&b, chunk);
    put_message(&b, 1, 50000);
    end_record(&b, begin_record(&b, 15));
    return b.used;
}

static size_t put(uint8_t *to, const char *text)
{
    memcpy(to, text, strlen(text));
    return strlen(text);
}

static size_t make_checkpoint(uint8_t *to)
{
    const checkpoint_t k = {.t_ns = 4000000000u,
                            .position_m = {1.0, -2.0, 3.0},
                            .yaw_rad = 0.3,
                            .sigma_m = {0.1, 0.1, 0.1},
                            .sigma_yaw_rad = 0.01,
                            .velocity_mps = {0.5, 0.0, 0.0},
                            .reset_counter = 3,
                            .restarts = 1};
    static uint8_t kept[4096];
    static size_t bytes;
    char name[sizeof path + 8];
    if (bytes) return memcpy(to, kept, bytes), bytes;
    snprintf(name, sizeof name, "%s.keep", path);
    if (checkpoint_write(name, &k)) abandon_run(__LINE__);
    FILE *f = fopen(name, "rb");
    bytes = f ? fread(kept, 1, sizeof kept, f) : 0;
    if (f) fclose(f);
    remove(name);
    return memcpy(to, kept, bytes), bytes;
}

static size_t make_script(uint8_t *to)
{
    return put(to, "seed 7\n10 both drop\n15-17 both duplicate # twice\n28-29 camera1 freeze-rows 30 70\n35 both noise "
                   "20\n1.7s-1.8s both dim 15\n55 clock jump 3600\n30-34 gyro gap 50\n36-39 gyro bias 0.1 0 -0.1\n"
                   "50- clock drift 200\n40 camera0 flip x\n60-61 link loss 30\n62 cpu burn 2\n");
}

static size_t make_rig(uint8_t *to)
{
    static const char *const text[] = {
        "cam0:\n  camera_model: pinhole\n  distortion_model: radtan\n  distortion_coeffs: [-0.28, 0.07, 0.0002, "
        "1.8e-05]\n"
        "  intrinsics: [458.6, 457.3, 367.2, 248.4]\n  resolution: [752, 480]\n  T_cam_imu:\n  - [0.01, 0.99, -0.02, "
        "0.06]\n  - [-0.99, 0.01, 0.004, -0.02]\n  - [0.004, 0.02, 0.99, 0.01]\n  - [0.0, 0.0, 0.0, 1.0]\n"
        "  timeshift_cam_imu: 0.001\n"
        "cam1:\n  camera_model: pinhole\n  distortion_model: equidistant\n  distortion_coeffs: [0.1, 0.01, 0.0, 0.0]\n"
        "  intrinsics: [457.5, 456.1, 379.9, 255.2]\n  resolution: [752, 480]\n  T_cn_cnm1:\n  - [1, 0, 0, -0.11]\n"
        "  - [0, 1, 0, 0]\n  - [0, 0, 1, 0]\n  - [0, 0, 0, 1]\n"
        "body:\n  T_body_imu:\n  - [1, 0, 0, 0.02]\n  - [0, -1, 0, 0]\n  - [0, 0, -1, 0]\n  - [0, 0, 0, 1]\n"
        "imu0:\n  gyroscope_noise_density: 1.7e-4\n  gyroscope_random_walk: 2e-5\n  accelerometer_noise_density: 2e-3\n"
        "  accelerometer_random_walk: 3e-3\n  update_rate: 200\n",
        "sensor_type: camera\ncomment: x\nT_BS:\n  cols: 4\n  rows: 4\n  data: [0.01, -0.99, 0.004, -0.02,\n 0.99, "
        "0.01, "
        "0.02, -0.06,\n -0.02, 0.004, 0.99, 0.009,\n 0.0, 0.0, 0.0, 1.0]\nrate_hz: 20\nresolution: [752, 480]\n"
        "camera_model: pinhole\nintrinsics: [458.6, 457.3, 367.2, 248.4]\ndistortion_model: radial-tangential\n"
        "distortion_coefficients: [-0.28, 0.07, 0.0002, 1.8e-05]\n",
        "P0: 7.188560e+02 0.0 6.071928e+02 0.0 0.0 7.188560e+02 1.852157e+02 0.0 0.0 0.0 1.0 0.0\nP1: 7.188560e+02 0.0 "
        "6.071928e+02 -3.861448e+02 0.0 7.188560e+02 1.852157e+02 0.0 0.0 0.0 1.0 0.0\n",
        "image_width: 160\nimage_height: 120\ncamera_matrix: {rows: 3, cols: 3, data: [100, 0, 80, 0, 100, 60, 0, 0, "
        "1]}\n"
        "distortion_model: plumb_bob\ndistortion_coefficients: {rows: 1, cols: 5, data: [0.1, 0, 0, 0, 0]}\n"
        "rectification_matrix: {rows: 3, cols: 3, data: [1, 0, 0, 0, 1, 0, 0, 0, 1]}\nprojection_matrix: {rows: 3, "
        "cols: 4, data: [110, 0, 80, -13.2, 0, 110, 60, 0, 0, 0, 1, 0]}\n",
        "%YAML:1.0\n---\nM1: !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n   data: [ 100., 0., 80., 0., 100., "
        "60., "
        "0., 0., 1. ]\nD1: [0.1, 0, 0, 0, 0, 0.01, 0, 0]\nM2: [100, 0, 80, 0, 100, 60, 0, 0, 1]\nD2: [0.1, 0, 0, 0]\n"
        "R: [1, 0, 0, 0, 1, 0, 0, 0, 1]\nT: [-0.12, 0, 0]\n"};
    return put(to, text[roll64() % (sizeof text / sizeof *text)]);
}

/** BMP of 9x7 px, of 8, 24 or 32 bits; or PGM. */
static size_t make_picture(uint8_t *to)
{
    static const uint8_t head[54] = {'B', 'M', [14] = 40, [18] = 9, [22] = 7, [26] = 1};
    const uint32_t bits = (uint32_t[]){0, 8, 24, 32}[roll64() % 4], offset = 54 + (bits == 8) * 1024;
    if (!bits) return put(to, "P2\n3 2\n255\n1 2 3\n4 5 6\n");
    const size_t all = offset + 7u * ((9 * bits / 8 + 3) / 4 * 4);
    for (size_t i = 0; i < all; i++) to[i] = (uint8_t)roll64();
    memcpy(to, head, sizeof head);
    to[28] = (uint8_t)bits;
    to[10] = (uint8_t)offset;
    to[11] = (uint8_t)(offset >> 8);
    return all;
}

static size_t make_poses(uint8_t *to)
{
    const uint64_t kind = roll64() % 3;
    size_t used = put(to, kind ? "# t x y z q\n" : "");
    for (int i = 0; i < 60; i++) {
        char line[200];
        const double x = 0.01 * i;
        if (kind == 0) snprintf(line, sizeof line, "1 0 0 %g 0 1 0 %g 0 0 1 %g\n", x, 2 * x, 3 * x);
        if (kind == 1) snprintf(line, sizeof line, "%.2f %g %g 1 0 0 0 1\n", 1.0 + 0.05 * i, x, 2 * x);
        if (kind == 2) snprintf(line, sizeof line, "%d0000000,%g,%g,1,1,0,0,0,0.1,0.2,0\n", 100 + 5 * i, x, 2 * x);
        used += put(to + used, line);
    }
    return used;
}

/** A session as a bench sends it, which is a recording, too: header, frames, outcomes, end. */
static void make_session(void)
{
    static recording_header_t h;
    static uint8_t payload[1 << 18], pixels[64 * 48];
    static const vfront_imu_t sample[3] = {{.t_ns = 1}, {.t_ns = 2}, {.t_ns = 3}};
    const vfront_info_t info = {.port = VFRONT_PORT_HOST, .device = "wild"};
    vfront_tuning_t tuning;
    vfront_frame_t f = {.imu = sample, .imu_count = 3};
    outcome_t outcome;
    wire_t w = {.timeout_ms = 1000};
    int fds[2], room = 1 << 20;
    vfront_tuning_default(&tuning);
    rig.cameras = VFRONT_CAMERAS;
    for (int32_t i = 0; i < rig.cameras; i++) {
        rig.camera[i] = (vfront_camera_t){.width_px = 64, .height_px = 48, .fx_px = 40, .fy_px = 40};
        f.picture[i] = (vfront_picture_t){.data = pixels, .width_px = 64, .height_px = 48, .pitch_bytes = 64};
    }
    header_make(&h, "wild", "nowhere", &rig, &tuning, &info);
    if (header_bytes(&h) > sizeof payload || socketpair(AF_UNIX, SOCK_STREAM, 0, fds) != 0) abandon_run(__LINE__);
    setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    w.fd = fds[0];
    const char *error = wire_greet(&w);
    if (!error) error = wire_send(&w, CHUNK_HEADER, 0, payload, header_write(&h, payload, sizeof payload), NULL, 0);
    for (int i = 0; i < 2 && !error; i++) {
        f.t_ns = 1000000000u + (uint64_t)i * 50000000u;
        outcome_of(&outcome, VFRONT_E_TIME, NULL);
        outcome_write(&outcome, payload);
        error = wire_send_frame(&w, &f, rig.cameras, 0);
        if (!error) error = wire_send(&w, CHUNK_RESULT, f.t_ns, payload, OUTCOME_BYTES, NULL, 0);
    }
    if (!error) error = wire_send(&w, CHUNK_END, 0, "\0\0\0\0\0\0\0", 8, NULL, 0);
    if (error) abandon_run(__LINE__);
    wire_close(&w);
    for (ssize_t n; (n = recv(fds[1], stream + stream_bytes, RANDOM_BYTES_MAX / 2 - stream_bytes, 0)) > 0;)
        stream_bytes += (size_t)n;
    close(fds[1]);
}

/* ---- damage ------------------------------------------------------------------------------------------------------ */

/** Another number in place of one that is there. */
static size_t make_absurd(uint8_t *data, size_t bytes)
{
    static const char *const number[] = {"-1",  "1e999", "nan", "99999999999999999999", "0",  "1e-320", "-inf",
                                         "0x7", ",",     "",    "4294967296",           "%n", "1 1"};
    size_t at = bytes ? roll64() % bytes : 0, end;
    while (at < bytes && (data[at] < '0' || data[at] > '9')) at++;
    for (end = at; end < bytes && data[end] >= '0' && data[end] <= '9';) end++;
    const char *by = number[roll64() % (sizeof number / sizeof *number)];
    if (at == bytes || bytes + strlen(by) > RANDOM_BYTES_MAX) return bytes;
    memmove(data + at + strlen(by), data + end, bytes - end);
    memcpy(data + at, by, strlen(by));
    return bytes - (end - at) + strlen(by);
}

static size_t damage_once(uint8_t *data, size_t bytes, int is_text)
{
    const size_t at = bytes ? roll64() % bytes : 0, span = 1 + roll64() % 40;
    switch (roll64() % (is_text ? 6 : 5)) {
    case 0:
        if (bytes) data[at] ^= (uint8_t)(1u << roll64() % 8);
        return bytes;
    case 1:
        if (bytes) data[at] = roll64() & 1 ? 0xff : (uint8_t)roll64();
        return bytes;
    case 2: return roll64() % 4 ? bytes : at; /* cut off */
    case 3:                                   /* taken out */
        if (at + span >= bytes) return bytes;
        memmove(data + at, data + at + span, bytes - at - span);
        return bytes - span;
    case 4: /* doubled */
        if (at + span > bytes || bytes + span > RANDOM_BYTES_MAX) return bytes;
        memmove(data + at + span, data + at, bytes - at);
        return bytes + span;
    default: return make_absurd(data, bytes);
    }
}

/** Checksums of chunks made right again, as far as heads go. */
/** A part of a frame of 3000 bytes. */
static size_t make_datagram(uint8_t *to)
{
    const uint32_t part = (uint32_t)(roll64() % 3);
    bytes_t b = bytes_of(to, DATAGRAM_HEAD_BYTES);
    bytes_put(&b, 0x44524656u, 4);
    bytes_put(&b, 7, 4);
    bytes_put(&b, part, 4);
    bytes_put(&b, 3000, 4);
    const size_t bytes = part == 2 ? 200 : DATAGRAM_BYTES;
    for (size_t i = 0; i < bytes; i++) to[DATAGRAM_HEAD_BYTES + i] = (uint8_t)i;
    return DATAGRAM_HEAD_BYTES + bytes;
}

static size_t make_announce(uint8_t *to)
{
    const announce_t a = {.what = 1 + (uint32_t)(roll64() % 4), .number = 5, .bytes = 3000, .samples = 7, .last_ns = 9};
    announce_write(&a, to);
    return ANNOUNCE_BYTES;
}

static void mend_chunks(uint8_t *data, size_t bytes)
{
    for (size_t at = RECORDING_MAGIC_BYTES; at + CHUNK_HEAD_BYTES <= bytes;) {
        uint32_t number[2];
        memcpy(number, data + at + 8, sizeof number); /* bytes, number: little-endian machines alone make this right */
        if (number[0] > bytes - at - CHUNK_HEAD_BYTES) return;
        chunk_t c = {.bytes = number[0], .number = number[1]};
        c.type = data[at + 4];
        c.crc = crc32_of(0, data + at + CHUNK_HEAD_BYTES, c.bytes);
        memcpy(&c.t_ns, data + at + 16, sizeof c.t_ns);
        chunk_write_head(data + at, &c);
        at += CHUNK_HEAD_BYTES + c.bytes;
    }
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/** Reader of a kind of content: how it is made, if it is text, if it has chunks. */
static const struct reader_row {
    const char *name;
    int (*read)(uint8_t *data, size_t bytes);
    size_t (*make)(uint8_t *to);
    int is_text, has_chunks;
} row[] = {
    {"link: MAVLink, autopilot", read_mavlink, make_mavlink, 0, 0},
    {"bench: chunks on a socket", read_wire, make_stream, 0, 1},
    {"bench: datagrams", read_datagram, make_datagram, 0, 0},
    {"bench: what is ahead", read_ahead, make_announce, 0, 0},
    {"recording: header", read_header, make_header, 0, 0},
    {"recording: frame", read_frame, make_frame, 0, 0},
    {"recording: outcome", read_outcome, make_outcome, 0, 0},
    {"recording: file", read_recording, make_stream, 0, 1},
    {"MCAP", read_mcap, make_mcap, 0, 0},
    {"file of a restart", read_checkpoint, make_checkpoint, 1, 0},
    {"fault script", read_script, make_script, 1, 0},
    {"rig: cameras and IMU", read_rig, make_rig, 1, 0},
    {"picture: BMP, PGM", read_picture, make_picture, 0, 0},
    {"poses: KITTI, TUM, EuRoC", read_truth, make_poses, 1, 0},
    {"trajectory", read_trajectory, make_poses, 1, 0},
};

static void die(int signal)
{
    char text[160];
    const int n = snprintf(text, sizeof text, "wild: %s: signal %d in case %" PRIu64 " of seed %" PRIu64 "\n", current,
                           signal, current_case, seed);
    if (n > 0 && write(2, text, (size_t)n) < 0) _exit(4);
    _exit(3);
}

/** One case, in memory of its own so that a sanitizer sees a byte too many. Returns its bytes. */
static size_t run_case(const struct reader_row *r, uint64_t number, uint64_t *taken)
{
    current_case = number;
    shake(seed * 1000003 + number);
    size_t bytes = r->make(wild);
    if (roll64() % 16 == 0) {
        bytes = roll64() % 3000;
        for (size_t i = 0; i < bytes; i++) wild[i] = (uint8_t)roll64();
    }
    for (uint64_t i = roll64() % 5; i; i--) bytes = damage_once(wild, bytes, r->is_text);
    if (r->has_chunks && roll64() % 2) mend_chunks(wild, bytes);
    uint8_t *exact = malloc(bytes ? bytes : 1);
    if (!exact) abandon_run(__LINE__);
    memcpy(exact, wild, bytes);
    alarm(HANG_S);
    *taken += r->read(exact, bytes) > 0;
    free(exact);
    return bytes;
}

static int run_all(uint64_t bytes_each, const char *only)
{
    uint64_t all = 0, runs = 0;
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        uint64_t bytes = 0, number = 0, taken = 0;
        if (only && !strstr(row[i].name, only)) continue;
        current = row[i].name;
        while (bytes < bytes_each) bytes += run_case(&row[i], number++, &taken);
        printf("%-28s %10" PRIu64 " cases, %10" PRIu64 " taken, %12" PRIu64 " bytes\n", current, number, taken, bytes);
        fflush(stdout);
        if (!taken || (taken == number && number > 200)) {
            printf("wild: %s: all or none are taken\n", current);
            return 1;
        }
        all += bytes;
        runs++;
    }
    printf("%" PRIu64 " readers, %" PRIu64 " bytes, no crash, no hang\n", runs, all);
    return !runs;
}

/* ---- waits ------------------------------------------------------------------------------------------------------- */

/** A free UDP port. */
static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, length) != 0) abandon_run(__LINE__);
    if (getsockname(fd, (struct sockaddr *)&address, &length) != 0) abandon_run(__LINE__);
    close(fd);
    return ntohs(address.sin_port);
}

/** Another process, which sends every millisecond by `send_one` until it is ended. */
static pid_t flood(void (*send_one)(void *), void *with)
{
    const pid_t process = fork();
    if (process < 0) abandon_run(__LINE__);
    if (process) return process;
    signal(SIGALRM, SIG_DFL);
    alarm(HANG_S);
    for (;; usleep(1000)) send_one(with);
}

static void dry(pid_t process)
{
    kill(process, SIGKILL);
    waitpid(process, NULL, 0);
}

static void send_noise(void *out) { (void)!send(((datagrams_t *)out)->fd, "noise", 5, 0); }

static void send_heartbeat(void *link)
{
    mavlink_message_t m = {.id = MAVLINK_HEARTBEAT, .system = 1, .component = 1};
    (void)link_send(link, &m);
}

/** Servo outputs number 0, again and again. */
static void send_outputs(void *out)
{
    static const uint8_t datagram[8 + 2 * JSON_PHYSICS_OUTPUTS] = {0x1a, 0x48, 250};
    (void)!send(((datagrams_t *)out)->fd, datagram, sizeof datagram, 0);
}

/** Datagrams that are no parts of the frame, or no servo outputs, or those of before, and messages that are no samples,
 *  come a hundred times in each timeout. Waits end all the same; one that does not trips the alarm. */
static void wait_in_floods(void)
{
    const int here = free_port(), there = free_port();
    char where[64];
    datagrams_t in, out;
    static line_t line;
    static link_t other;
    static json_physics_t physics;
    vfront_imu_t sample;
    current = "waits";
    alarm(HANG_S);
    snprintf(where, sizeof where, "127.0.0.1:%d", here);
    if (datagrams_listen(&in, where, (uint16_t)here, "127.0.0.1") || datagrams_connect(&out, where))
        abandon_run(__LINE__);
    if (datagrams_begin(&in, 7, 3000, 4000)) abandon_run(__LINE__);
    pid_t process = flood(send_noise, &out);
    if (datagrams_receive(&in, 100) || !in.missing || !in.unexpected) abandon_run(__LINE__);
    dry(process);
    datagrams_close(&in);
    datagrams_close(&out);

    if (json_physics_open(&physics, 0)) abandon_run(__LINE__);
    snprintf(where, sizeof where, "127.0.0.1:%d", physics.port);
    if (datagrams_connect(&out, where)) abandon_run(__LINE__);
    process = flood(send_noise, &out);
    if (json_physics_receive(&physics, 100)) abandon_run(__LINE__);
    dry(process);
    process = flood(send_outputs, &out);
    if (!json_physics_receive(&physics, 1000)) abandon_run(__LINE__);
    physics.line_bytes = 1; /* as if it were answered */
    if (json_physics_receive(&physics, 100)) abandon_run(__LINE__);
    dry(process);
    json_physics_close(&physics);
    datagrams_close(&out);

    snprintf(where, sizeof where, "udp:127.0.0.1:%d:%d", there, here);
    if (link_open(&line.link, where)) abandon_run(__LINE__);
    snprintf(where, sizeof where, "udp:127.0.0.1:%d:%d", here, there);
    if (link_open(&other, where)) abandon_run(__LINE__);
    process = flood(send_heartbeat, &other);
    if (line_receive(&line, 1, 2, &sample, 1, 100)) abandon_run(__LINE__);
    dry(process);
    link_close(&line.link);
    link_close(&other);
}

/** Notes on damaged files go nowhere; die() and sanitizers write to descriptor 2, which stays. Where stderr cannot be
 *  set, as in musl, the notes are shown. */
static void silence_notes(void)
{
#ifdef __GLIBC__
    FILE *quiet = fopen("/dev/null", "w");
    if (!quiet) abandon_run(__LINE__);
    stderr = quiet;
#endif
}

int main(int count, char **word)
{
    uint64_t bytes_each = 200000;
    const char *only = NULL;
    for (int i = 1; i + 1 < count; i += 2) {
        if (strcmp(word[i], "--bytes") == 0) bytes_each = strtoull(word[i + 1], NULL, 10);
        if (strcmp(word[i], "--seed") == 0) seed = strtoull(word[i + 1], NULL, 10);
        if (strcmp(word[i], "--only") == 0) only = word[i + 1];
    }
    signal(SIGALRM, die);
    signal(SIGSEGV, die);
    signal(SIGABRT, die);
    signal(SIGBUS, die);
    signal(SIGFPE, die);
    file = mkstemp(temporary(path, "wild"));
    if (file < 0) return 2;
    make_session();
    wait_in_floods();
    silence_notes();
    const int code = run_all(bytes_each, only);
    close(file);
    remove(path);
    return code;
}
