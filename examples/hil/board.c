/* SPDX-License-Identifier: MIT
 *
 * hil-board: the companion's computer on a bench. It takes rig, tuning and frames from hil-bench, steps, and answers
 * with the status and the digests of each result, and before these, at once, with the ODOMETRY that the companion's
 * sender makes of it. examples/hil/README.md has the options.
 */
#define _POSIX_C_SOURCE 200809L /* sigaction */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/replay/calibration.h"
#include "examples/companion/obstacles.h"
#include "examples/companion/resume.h"
#include "examples/companion/trust.h"
#include "examples/common/message.h"
#include "examples/recording/crc.h"
#include "examples/recording/frame.h"
#include "examples/recording/header.h"
#include "examples/recording/outcome.h"
#include "examples/replay/state.h"
#include "announce.h"
#include "burn.h"
#include "datagrams.h"
#include "gpu_fault.h"
#include "line.h"
#include "examples/recording/wire.h"

#define HEADER_BYTES_MAX (8u << 20) /* with static masks */
#define OBSTACLE_HEIGHT_M 0.8       /* above and below the vehicle, that is an obstacle */
#define SYSTEM 1
#define RETRIES_MAX 100 /* times that what does not come is asked for */
#define GAPS_MAX 32     /* of a frame that are asked for at a time */
#define DATAGRAM_MS 20  /* without a datagram */
#define LINE_MS 100     /* without a message of the line */
#define KEEP_NS 100000000u
#define COMPONENT 197 /* MAV_COMP_ID_VISUAL_INERTIAL_ODOMETRY */

static const char help[] =
    "usage: hil-board [options]\n"
    "\n"
    "Steps the frames that hil-bench sends, over TCP or, to the same port, UDP, and answers with digests and "
    "ODOMETRY.\n"
    "\n"
    "options:\n"
    "  --listen HOST:PORT  IPv4 address and port to wait at, 127.0.0.1:14600 without it; port 0: any, which is "
    "printed\n"
    "  --peer HOST         address of the bench, the only one that is taken: 127.0.0.1 without it\n"
    "  --line LINK         samples of the IMU come, and MAVLink goes, over udp:HOST:PORT:LOCAL or "
    "serial:DEVICE:BAUD,\n"
    "                      where the bench has a line, too\n"
    "  --keep FILE         pose of the last session, from which a flight that restarts the board may go on\n"
    "  --port WHICH        auto, host or cuda; auto is cuda if a usable GPU is present\n"
    "  --once              end after one session\n"
    "  --help              print this help\n"
    "\n"
    "exit code: 0 done, 1 a session failed (with --once), 2 wrong usage\n";

static vfront_t vf;
static volatile sig_atomic_t stopped;

struct board {
    const char *listen, *peer, *line_name, *keep;
    uint16_t number; /* of the port that it listens at */
    vfront_port_t port;
    int once;
    wire_t wire;
    recording_header_t header;
    vfront_tuning_t tuning;
    sender_t sender;
    imu_buffer_t samples;
    trust_t trust;
    peer_t autopilot; /* of the bench */
    mavlink_parser_t parser;
    checkpoint_t kept, checkpoint; /* of the session, or the state, before; of this one */
    int has_kept, keeps;           /* 1: kept is one; the file is written */
    uint64_t keep_ns;
    vfront_camera_t seen; /* camera 0 of the results */
    pose_t T_body_cam;    /* its pose on the body */
    uint8_t sequence;     /* of MAVLink messages */
    uint32_t frames, refused;
    datagrams_t datagrams;
    line_t line;
    int uses_line;                           /* 1: the bench, too */
    uint32_t line_sent;                      /* messages sent over it in this session */
    vfront_imu_t sample[VFRONT_IMU_SAMPLES]; /* of the next frame, over the line */
    uint32_t count;
};

/* Axes of the IMU are taken to be x forward, y left, z up: those of the body are x forward, y right, z down. */
static const pose_t T_body_imu = {.R = {1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0}};

static void stop(int signal)
{
    (void)signal;
    stopped = 1;
}

static int read_option(struct board *b, const char *name, const char *value)
{
    static const char *const port[] = {"auto", "cuda", "host"};
    static const vfront_port_t number[] = {VFRONT_PORT_AUTO, VFRONT_PORT_CUDA, VFRONT_PORT_HOST};
    if (!value) return message(EXIT_USAGE, "%s: a value is missing, or no such option; --help lists them", name);
    if (strcmp(name, "--listen") == 0) return b->listen = value, CONTINUE;
    if (strcmp(name, "--peer") == 0) return b->peer = value, CONTINUE;
    if (strcmp(name, "--line") == 0) return b->line_name = value, CONTINUE;
    if (strcmp(name, "--keep") == 0) return b->keep = value, CONTINUE;
    for (int i = 0; i < 3 && strcmp(name, "--port") == 0; i++)
        if (strcmp(value, port[i]) == 0) return b->port = number[i], CONTINUE;
    return message(EXIT_USAGE, "%s %s: no such option; --help lists them", name, value);
}

static int read_options(struct board *b, int count, char **word)
{
    b->listen = "127.0.0.1:14600";
    b->peer = "127.0.0.1";
    for (int at = 1; at < count; at++) {
        if (strcmp(word[at], "--help") == 0) {
            fputs(help, stdout);
            return EXIT_DONE;
        }
        if (strcmp(word[at], "--once") == 0) {
            b->once = 1;
            continue;
        }
        const int code = read_option(b, word[at], at + 1 < count ? word[at + 1] : NULL);
        if (code != CONTINUE) return code;
        at++;
    }
    return CONTINUE;
}

/* ---- a session --------------------------------------------------------------------------------------------------- */

static char text[600];

/** Header of the bench: what to initialise vfront with. */
static const char *begin_session(struct board *b)
{
    chunk_t c;
    uint8_t *payload;
    const char *error = wire_limit(&b->wire, HEADER_BYTES_MAX);
    if (!error) error = wire_await_greeting(&b->wire);
    if (!error) error = wire_receive(&b->wire, &c, &payload, WIRE_TIMEOUT_MS);
    if (error) return error;
    if (c.type != CHUNK_HEADER) return "the bench does not begin with a header";
    error = header_read(&b->header, payload, c.bytes);
    if (error) return error;
    const vfront_status_t status = vfront_init(&vf, &b->header.rig, &b->header.tuning, b->port);
    if (!status) return NULL;
    snprintf(text, sizeof text, "vfront_init: %s: %s", vfront_status_name(status), vfront_detail(&vf));
    return text;
}

/** The board's own header, and room for the largest frame. */
static const char *answer_session(struct board *b)
{
    static recording_header_t own;
    static uint8_t payload[HEADER_BYTES_MAX];
    size_t max = FRAME_SMALL_BYTES;
    vfront_info_t info;
    vfront_info(&vf, &info);
    header_make(&own, "hil-board", "hil-bench", &b->header.rig, &b->header.tuning, &info);
    const size_t bytes = header_write(&own, payload, sizeof payload);
    for (int32_t i = 0; i < own.rig.cameras; i++)
        max += 3 * (size_t)own.rig.camera[i].width_px * (size_t)own.rig.camera[i].height_px;
    const char *error = wire_greet(&b->wire);
    if (!error) error = wire_send(&b->wire, CHUNK_HEADER, 0, payload, bytes, NULL, 0);
    return error ? error : wire_limit(&b->wire, max);
}

static void begin_sender(struct board *b)
{
    vfront_info_t info;
    vfront_info(&vf, &info);
    memset(&b->sender, 0, sizeof b->sender);
    memset(&b->samples, 0, sizeof b->samples);
    memset(&b->trust, 0, sizeof b->trust);
    memset(&b->autopilot, 0, sizeof b->autopilot);
    memset(&b->parser, 0, sizeof b->parser);
    b->autopilot.settings = (peer_settings_t){.system = SYSTEM, .component = 1};
    b->has_kept = b->keeps = 0;
    b->keep_ns = 0;
    b->sender.settings = (sender_settings_t){
        .rate_hz = 100.0, .carries_on = 1, .T_body_imu = T_body_imu, .noise = b->header.rig.imu};
    b->seen = info.camera[0];
    const pose_t T_cam_imu = calibration_extrinsics(&b->seen), T_imu_cam = pose_inverse(&T_cam_imu);
    b->T_body_cam = pose_compose(&T_body_imu, &T_imu_cam);
    b->frames = b->refused = b->line_sent = b->count = 0;
    b->uses_line = 0;
}

static const char *send_event(struct board *b, const char *event)
{
    return wire_send(&b->wire, CHUNK_EVENT, 0, event, strlen(event), NULL, 0);
}

/** Before what the bench waits for: how many messages went over the line. */
static const char *send_line_count(struct board *b)
{
    char word[32];
    snprintf(word, sizeof word, "sent %" PRIu32, b->line_sent);
    return b->uses_line ? send_event(b, word) : NULL;
}

static const char *send_messages(struct board *b, uint64_t t_ns, mavlink_message_t *m, int count)
{
    const char *error = NULL;
    for (int i = 0; i < count && !error; i++) {
        uint8_t frame[2 + MAVLINK_FRAME_MAX] = {0, 1};
        m[i].system = SYSTEM;
        m[i].component = COMPONENT;
        if (b->uses_line) {
            b->line_sent++;
            error = line_send(&b->line.link, &m[i]);
            continue;
        }
        m[i].sequence = b->sequence++;
        error = wire_send(&b->wire, CHUNK_MAVLINK, t_ns, frame, 2 + mavlink_encode(frame + 2, &m[i]), NULL, 0);
    }
    return error;
}

#if VFRONT_DENSE
/** Distances of obstacles in every direction, as the companion sends them, where the tuning has disparities. */
static int make_obstacles(const struct board *b, const vfront_result_t *r, mavlink_message_t *m)
{
    const obstacles_settings_t settings = {.height_m = OBSTACLE_HEIGHT_M, .min_m = 0.3, .max_m = 20.0};
    uint16_t cm[VFRONT_OBSTACLE_BINS];
    double up[3];
    if (!b->header.tuning.dense) return 0;
    const int has_up = odometry_has_up(&r->nav);
    if (has_up) odometry_up(up, &r->nav, &T_body_imu);
    obstacles_of(cm, &settings, &r->disparity, &b->seen, calibration_baseline_m(&b->header.rig), &b->T_body_cam,
                 has_up ? up : NULL);
    obstacles_message(m, cm, &settings, r->t_mid_ns);
    return 1;
}
#else
static int make_obstacles(const struct board *b, const vfront_result_t *r, mavlink_message_t *m)
{
    (void)b;
    (void)r;
    (void)m;
    return 0;
}
#endif

/** Messages of a state, as the companion's links have them. */
static int take_state(struct board *b, const vfront_nav_t *nav, uint64_t now_ns, mavlink_message_t *m)
{
    const checkpoint_t *kept = b->has_kept ? &b->kept : NULL;
    if (resume_sender(&b->sender, &b->autopilot, 1, kept, nav) == RESUME_WAITS) return 0;
    const int count = sender_state(&b->sender, nav, &b->samples, now_ns, m);
    if (b->keeps && now_ns >= b->keep_ns && resume_checkpoint(&b->checkpoint, &b->sender)) {
        b->keep_ns = now_ns + KEEP_NS;
        const char *fault = checkpoint_write(b->keep, &b->checkpoint);
        if (fault) message(CONTINUE, "%s", fault);
    }
    return count;
}

static const char *send_result(struct board *b, uint64_t t_ns, vfront_status_t status, const vfront_result_t *r)
{
    uint8_t payload[OUTCOME_BYTES];
    mavlink_message_t m[SENDER_MESSAGES + 1];
    outcome_t outcome;
    int count = 0;
    if (r) {
        vfront_nav_t nav;
        trust_check(&b->trust, r, &nav);
        count = take_state(b, &nav, nav.t_ns ? nav.t_ns : r->t_mid_ns, m);
        count += make_obstacles(b, r, &m[count]);
    }
    const char *error = send_messages(b, t_ns, m, count);
    outcome_of(&outcome, status, r);
    if (r && trust_reset(&b->trust, &vf)) {
        b->has_kept |= resume_checkpoint(&b->kept, &b->sender);
        sender_restart(&b->sender);
    }
    outcome_write(&outcome, payload);
    if (!error) error = send_line_count(b);
    return error ? error : wire_send(&b->wire, CHUNK_RESULT, t_ns, payload, sizeof payload, NULL, 0);
}

static const char *take_frame(struct board *b, uint8_t *payload, size_t bytes)
{
    static recorded_frame_t recorded;
    const vfront_result_t *result = NULL;
    const char *error = frame_read(&recorded, &b->header.rig, payload, bytes);
    if (error) return error;
    if (b->count) {
        recorded.frame.imu = b->sample;
        recorded.frame.imu_count = b->count;
        b->count = 0;
    }
    if (recorded.after_reset) vfront_reset(&vf);
    for (uint32_t i = 0; i < recorded.frame.imu_count; i++) imu_buffer_add(&b->samples, &recorded.frame.imu[i]);
    const vfront_status_t status = vfront_step(&vf, &recorded.frame, &result);
    b->frames++;
    b->refused += status != VFRONT_OK;
    return send_result(b, recorded.frame.t_ns, status, status ? NULL : result);
}

/** Samples of an IMU beside those of frames: time goes on, be there a frame or not, and what the companion sends then
 *  goes out. The bench gets a word when that is over. */
static const char *advance_time(struct board *b, uint64_t now_ns, const vfront_imu_t *sample, uint32_t count)
{
    mavlink_message_t m[SENDER_MESSAGES];
    const char *error = NULL;
    for (uint32_t i = 0; i < count && !error; i++) {
        if (!imu_buffer_add(&b->samples, &sample[i])) continue;
        error = send_messages(b, sample[i].t_ns, m, sender_tick(&b->sender, &b->samples, sample[i].t_ns, m));
    }
    if (!error) error = send_messages(b, now_ns, m, sender_tick(&b->sender, &b->samples, now_ns, m));
    if (!error) error = send_line_count(b);
    return error ? error : send_event(b, "on");
}

/** Such samples in a chunk. */
static const char *take_samples(struct board *b, uint64_t now_ns, uint8_t *payload, size_t bytes)
{
    static vfront_imu_t sample[VFRONT_IMU_SAMPLES];
    bytes_t from = bytes_of(payload, bytes);
    uint32_t count = (uint32_t)bytes_get(&from, 4), n = 0;
    if (count > VFRONT_IMU_SAMPLES) count = VFRONT_IMU_SAMPLES;
    for (; n < count; n++) {
        sample[n].t_ns = bytes_get(&from, 8);
        for (int k = 0; k < 3; k++) sample[n].gyro_rad_s[k] = bytes_get_double(&from);
        for (int k = 0; k < 3; k++) sample[n].accel_m_s2[k] = bytes_get_double(&from);
        if (from.short_of) break;
    }
    return advance_time(b, now_ns, sample, n);
}

/* ---- beside the connection --------------------------------------------------------------------------------------- */

static const char *begin_line(struct board *b)
{
    if (!b->line_name) return "the bench has a line, and this board none: --line";
    b->uses_line = 1;
    line_clear(&b->line);
    return send_event(b, "on");
}

static const char *gather_samples(struct board *b, const announce_t *a)
{
    char word[32];
    const char *error = NULL;
    snprintf(word, sizeof word, "again %" PRIu32, a->number);
    if (!b->uses_line || a->samples > VFRONT_IMU_SAMPLES) return "samples over a line that cannot come";
    for (int i = 0; i < RETRIES_MAX && !error && !stopped; i++) {
        if (line_receive(&b->line, a->first_ns, a->last_ns, b->sample, a->samples, LINE_MS)) {
            b->count = a->samples;
            return NULL;
        }
        (void)link_maintain(&b->line.link);
        error = send_event(b, word);
    }
    return error ? error : "samples do not come over the line";
}

static const char *gather_frame(struct board *b, const announce_t *a)
{
    datagrams_t *d = &b->datagrams;
    const char *error = d->fd < 0 ? datagrams_listen(d, b->listen, b->number, b->peer) : NULL;
    if (!error) error = datagrams_begin(d, a->number, a->bytes, b->wire.limit);
    for (int i = 0; i < RETRIES_MAX && !error && !stopped; i++) {
        uint32_t first = 0, count;
        error = datagrams_receive(d, DATAGRAM_MS);
        if (error || !d->missing) return error;
        for (int k = 0; k < GAPS_MAX && !error && (count = datagrams_gap(d, first, &first)); k++, first += count) {
            char word[64];
            snprintf(word, sizeof word, "again %" PRIu32 " %" PRIu32 " %" PRIu32, a->number, first, count);
            error = send_event(b, word);
        }
    }
    return error ? error : "datagrams of a frame do not come";
}

static const char *take_announce(struct board *b, const chunk_t *c, uint8_t *payload)
{
    announce_t a;
    if (!announce_read(&a, payload, c->bytes)) return "a chunk of what is ahead that is none";
    if (a.what == ANNOUNCE_LINE) return begin_line(b);
    const char *error = a.samples ? gather_samples(b, &a) : NULL;
    if (error || a.what == ANNOUNCE_CHUNK) return error;
    if (a.what == ANNOUNCE_SAMPLES) {
        const uint32_t count = b->count;
        b->count = 0;
        return advance_time(b, c->t_ns, b->sample, count);
    }
    error = gather_frame(b, &a);
    if (error) return error;
    if (crc32_of(0, b->datagrams.payload, a.bytes) == a.crc) return take_frame(b, b->datagrams.payload, a.bytes);
    b->count = 0;
    b->wire.damaged++;
    return NULL;
}

/** A message of the autopilot that the bench flies. */
static void take_message(struct board *b, uint64_t t_ns, const uint8_t *payload, size_t bytes)
{
    mavlink_message_t m, out[PEER_MESSAGES];
    const uint8_t *at = payload + 2;
    size_t left = bytes > 2 ? bytes - 2 : 0;
    while (left && mavlink_parse(&b->parser, &at, &left, &m)) peer_receive(&b->autopilot, &m, t_ns, &b->samples, out);
}

/** A session that follows another one, as a process does. */
static void follow(struct board *b, int has_file, uint64_t now_ns)
{
    const char *reason = NULL;
    b->keeps = has_file && b->keep;
    b->has_kept = b->keeps && checkpoint_read(b->keep, now_ns, &b->kept, &reason);
    sender_follow(&b->sender, (uint8_t)(b->has_kept ? b->kept.reset_counter : now_ns / 1000000000u));
}

/** What the bench wants of the board itself: "burn N", threads that keep its processors busy; "gpu N", the CUDA
 *  call from now on that fails; "follow", to begin behind a session before, "follow keep" with --keep. */
static const char *take_event(struct board *b, uint64_t t_ns, const uint8_t *payload, size_t bytes)
{
    char word[32] = "";
    int number;
    if (bytes >= sizeof word) return NULL;
    memcpy(word, payload, bytes);
    if (strcmp(word, "follow keep") == 0 && !b->keep) return "the flight needs --keep of the board";
    if (strncmp(word, "follow", 6) == 0) return follow(b, word[6] != 0, t_ns), NULL;
    if (sscanf(word, "burn %d", &number) == 1 && !burn_set(number))
        message(CONTINUE, "burn %d: so many threads are not to be had", number);
    if (sscanf(word, "gpu %d", &number) != 1) return NULL;
    vfront_info_t info;
    vfront_info(&vf, &info);
    return number > 0 && info.port == VFRONT_PORT_CUDA && gpu_fault_set((uint32_t)number) ? NULL
                                                                                          : send_event(b, "no GPU");
}

static const char *take_chunks(struct board *b)
{
    const char *error = NULL;
    uint64_t damaged = 0;
    while (!error && !stopped) {
        chunk_t c;
        uint8_t *payload;
        error = wire_receive(&b->wire, &c, &payload, 1000);
        if (!error && c.type == CHUNK_ANNOUNCE) error = take_announce(b, &c, payload);
        if (!error && b->wire.damaged != damaged) {
            damaged = b->wire.damaged;
            b->count = 0;
            error = send_event(b, "damaged");
        }
        if (error || c.type == 0) continue;
        if (c.type == CHUNK_END) return NULL;
        if (c.type == CHUNK_EVENT) error = take_event(b, c.t_ns, payload, c.bytes);
        if (c.type == CHUNK_MAVLINK) take_message(b, c.t_ns, payload, c.bytes);
        if (c.type == CHUNK_IMU) error = take_samples(b, c.t_ns, payload, c.bytes);
        if (c.type == CHUNK_FRAME) error = take_frame(b, payload, c.bytes);
    }
    return error;
}

/** A session, up to its end. A failure is reported to the bench, too. */
static int serve(struct board *b)
{
    const char *error = begin_session(b);
    if (!error) error = answer_session(b);
    if (!error) {
        begin_sender(b);
        error = take_chunks(b);
    }
    if (error) {
        char copy[600];
        snprintf(copy, sizeof copy, "%s", error);
        message(CONTINUE, "%s", copy);
        if (!b->wire.sent) wire_greet(&b->wire);
        wire_send(&b->wire, CHUNK_EVENT, 0, copy, strlen(copy), NULL, 0);
    } else {
        printf("hil-board: %" PRIu32 " frames, %" PRIu32 " refused, %" PRIu64 " damaged\n", b->frames, b->refused,
               b->wire.damaged);
    }
    fflush(stdout);
    burn_set(0);
    gpu_fault_set(0);
    wire_close(&b->wire);
    header_free(&b->header);
    vfront_shutdown(&vf);
    return error ? EXIT_FAILED : CONTINUE;
}

int main(int count, char **word)
{
    static struct board b;
    struct sigaction action = {.sa_handler = stop};
    int listener, waited;
    uint32_t foreign = 0;
    message_program = "hil-board";
    int code = read_options(&b, count, word);
    if (code != CONTINUE) return code;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    b.datagrams.fd = b.line.link.fd = -1;
    const char *error = wire_listen(&listener, b.listen, &b.number);
    if (!error && b.line_name) error = link_open(&b.line.link, b.line_name);
    if (error) return message(EXIT_FAILED, "%s", error);
    printf("hil-board: port %u\n", b.number);
    fflush(stdout);
    while (!stopped && code == CONTINUE) {
        const uint32_t before = foreign;
        error = wire_accept(&b.wire, listener, b.peer, 1000, &waited, &foreign);
        if (error) return message(EXIT_FAILED, "%s", error);
        if (foreign != before) message(CONTINUE, "connections from other addresses than %s: %" PRIu32, b.peer, foreign);
        if (!waited) continue;
        code = serve(&b);
        if (b.once) break;
        code = CONTINUE;
    }
    return code == CONTINUE ? EXIT_DONE : code;
}
