/* SPDX-License-Identifier: MIT
 *
 * sitl-vehicle: airframe, IMU and rendered cameras around ArduPilot's firmware in software and the companion, each a
 * process of its own, in lock step. examples/hil/README.md has options and commands.
 */
#define _GNU_SOURCE /* accept4 */
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "delay_line.h"
#include "examples/common/message.h"
#include "examples/recording/bytes.h"
#include "examples/recording/header.h"
#include "examples/recording/wire.h"
#include "examples/replay/fault_apply.h"
#include "examples/synthetic/renderer.h"
#include "json_physics.h"
#include "scene.h"
#include "truth.h"

#define STEP_NS 1000000u
#define FRAME_NS 33333333u
#define ARRIVAL_NS 20000000u      /* from the middle of exposure to the state: readout, transfer, the step */
#define AHEAD_NS 1000000000000ull /* of the companion's clock: not the autopilot's */
#define SILENCE_MS 3000           /* without servo outputs */
#define RETRY_NS 100000000u       /* between two tries to reach the autopilot's port */
#define HEADER_BYTES_MAX (1u << 20)
#define MOMENTS_NS 2000000u /* of an exposure with motion blur */
#define DEGREES 57.29577951308232

static const char help[] =
    "usage: sitl-vehicle [options]\n"
    "\n"
    "Vehicle and cameras for ArduPilot's firmware in software, on its JSON interface, and the companion. "
    "Commands\n"
    "are lines of its input, each answered with a line of JSON: run MS, companion, part, fault, mark, end.\n"
    "\n"
    "options:\n"
    "  --json PORT         where servo outputs come, 9002\n"
    "  --autopilot H:PORT  the firmware's serial port over TCP, 127.0.0.1:5762\n"
    "  --latency MS        of the link between the two, each way; 0\n"
    "  --size WxH          of pictures; 192x144\n"
    "  --hall M            its length along x; 3\n"
    "  --fault FILE        script, begun by the command fault\n"
    "  --blur MS           exposure, with motion blur; without it 5 ms, sharp\n"
    "  --accel M_S2        error of the companion's accelerometer, forward\n"
    "  --ppm N             by which the companion's clock is fast\n"
    "  --wrong P,DEG       calibration that the companion gets: focal length too large by P %, cameras turned by DEG\n"
    "  --seed N            of wind and noise; 1\n"
    "  --help              this page\n"
    "\n"
    "exit code: 0 done, 1 failed, 2 wrong usage\n";

struct vehicle {
    int json_port, width_px, height_px;
    const char *autopilot, *fault;
    double latency_ms, hall_m, blur_ms, accel_m_s2, ppm, focal_percent, turn_deg;
    uint64_t seed;
    json_physics_t physics;
    airframe_t airframe;
    airframe_imu_t own, camera; /* IMUs of the autopilot and of the companion */
    truth_t truth;
    truth_errors_t errors; /* of messages since the command mark */
    scene_t scene;
    vfront_rig_t rig; /* as the companion has it */
    fault_script_t script;
    fault_injector_t *injector;
    int has_fault;        /* 1: the script is under way */
    uint32_t fault_frame; /* since it is */
    uint64_t fault_ns, fault_before_ns, dice;
    double stuck[3]; /* rates of the last good sample */
    vfront_frame_t frame;
    int deliveries;                         /* of the frame under way */
    uint64_t now_ns, next_frame_ns, due_ns; /* due: arrival of the frame under way; 0: none is */
    uint32_t frames;
    wire_t wire;
    int has_companion;
    int cameras_fd, links_fd; /* listeners for the companion */
    uint16_t cameras_port, links_port;
    int link_fd, serial_fd;
    uint64_t retry_ns;
    delay_line_t up, down;
    mavlink_parser_t parser;
    uint32_t odometry;
    int quality, counter;
    double vision[4];              /* last ODOMETRY: x, y, z [m], yaw [rad] */
    double age_min_ms, age_max_ms; /* of ODOMETRY as it reaches the autopilot, since the command mark */
};

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int read_option(struct vehicle *v, const char *name, const char *value)
{
    const struct {
        const char *name;
        double *number, min, max;
    } numbers[] = {{"--latency", &v->latency_ms, 0, 1000},
                   {"--hall", &v->hall_m, 3, 20},
                   {"--blur", &v->blur_ms, 2, 30},
                   {"--accel", &v->accel_m_s2, -5, 5},
                   {"--ppm", &v->ppm, -1000, 1000}};
    char more;
    if (!value) return message(EXIT_USAGE, "%s: a value is missing, or no such option; --help lists them", name);
    if (strcmp(name, "--autopilot") == 0) return v->autopilot = value, CONTINUE;
    if (strcmp(name, "--fault") == 0) return v->fault = value, CONTINUE;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(name, numbers[i].name) != 0) continue;
        const int n = sscanf(value, "%lf%c", numbers[i].number, &more);
        if (n == 1 && *numbers[i].number >= numbers[i].min && *numbers[i].number <= numbers[i].max) return CONTINUE;
        return message(EXIT_USAGE, "%s %s: not a number in %g..%g", name, value, numbers[i].min, numbers[i].max);
    }
    if (strcmp(name, "--json") == 0 && sscanf(value, "%d%c", &v->json_port, &more) == 1 && v->json_port >= 0 &&
        v->json_port < 65536)
        return CONTINUE;
    if (strcmp(name, "--size") == 0 && sscanf(value, "%dx%d%c", &v->width_px, &v->height_px, &more) == 2)
        return CONTINUE;
    if (strcmp(name, "--wrong") == 0 && sscanf(value, "%lf,%lf%c", &v->focal_percent, &v->turn_deg, &more) == 2)
        return CONTINUE;
    if (strcmp(name, "--seed") == 0 && sscanf(value, "%" SCNu64 "%c", &v->seed, &more) == 1) return CONTINUE;
    return message(EXIT_USAGE, "%s %s: no such option, or value; --help lists them", name, value);
}

static int read_options(struct vehicle *v, int count, char **word)
{
    v->json_port = 9002;
    v->autopilot = "127.0.0.1:5762";
    v->width_px = 192;
    v->height_px = 144;
    v->hall_m = 3.0;
    v->seed = 1;
    for (int at = 1; at < count; at += 2) {
        if (strcmp(word[at], "--help") == 0) {
            fputs(help, stdout);
            return EXIT_DONE;
        }
        const int code = read_option(v, word[at], at + 1 < count ? word[at + 1] : NULL);
        if (code != CONTINUE) return code;
    }
    return CONTINUE;
}

/* ---- the companion ----------------------------------------------------------------------------------------------- */

/** Companion's time. */
static uint64_t companion_ns(const struct vehicle *v)
{
    return AHEAD_NS + v->now_ns + (uint64_t)(int64_t)((double)v->now_ns * v->ppm * 1e-6);
}

static void part(struct vehicle *v)
{
    wire_close(&v->wire);
    if (v->link_fd >= 0) close(v->link_fd);
    v->link_fd = -1;
    v->has_companion = 0;
    v->due_ns = 0;
    v->up.count = v->down.count = 0;
}

/** Calibration with its errors. */
static void set_rig(struct vehicle *v)
{
    v->rig = v->scene.rig;
    const double turns = v->turn_deg / 360.0,
                 R[9] = {cosine(turns), 0, sine(turns), 0, 1, 0, -sine(turns), 0, cosine(turns)};
    for (int32_t i = 0; i < v->rig.cameras; i++) {
        vfront_camera_t *c = &v->rig.camera[i];
        double turned[9];
        multiply(turned, R, c->R_cam_imu);
        memcpy(c->R_cam_imu, turned, sizeof turned);
        c->fx_px *= 1.0 + v->focal_percent / 100.0;
        c->fy_px *= 1.0 + v->focal_percent / 100.0;
    }
}

static const char *send_header(struct vehicle *v)
{
    static recording_header_t header;
    static uint8_t payload[HEADER_BYTES_MAX];
    const vfront_info_t info = {.port = VFRONT_PORT_HOST, .device = "sitl-vehicle"};
    vfront_tuning_t tuning;
    vfront_tuning_default(&tuning);
    header_make(&header, "sitl-vehicle", "sitl", &v->rig, &tuning, &info);
    const char *error = wire_limit(&v->wire, 4096);
    if (!error) error = wire_greet(&v->wire);
    if (!error) error = wire_await_greeting(&v->wire);
    if (error) return error;
    return wire_send(&v->wire, CHUNK_HEADER, companion_ns(v), payload, header_write(&header, payload, sizeof payload),
                     NULL, 0);
}

/** Takes the companion's connections. */
static const char *join(struct vehicle *v)
{
    int is_there = 0;
    uint32_t foreign = 0;
    wire_t link;
    part(v);
    memset(&v->parser, 0, sizeof v->parser);
    const char *error = wire_accept(&v->wire, v->cameras_fd, "127.0.0.1", WIRE_TIMEOUT_MS, &is_there, &foreign);
    if (!error && !is_there) error = "no companion";
    if (!error) error = send_header(v);
    if (!error) error = wire_accept(&link, v->links_fd, "127.0.0.1", WIRE_TIMEOUT_MS, &is_there, &foreign);
    if (!error && !is_there) error = "no link of the companion";
    if (error) return error;
    v->link_fd = link.fd;
    v->has_companion = 1;
    return NULL;
}

/** Waits until the companion has done what follows from a chunk. */
static void await(struct vehicle *v, const char *error)
{
    chunk_t c = {0};
    uint8_t *payload;
    while (!error && c.type != CHUNK_EVENT) {
        error = wire_receive(&v->wire, &c, &payload, WIRE_TIMEOUT_MS);
        if (!error && !c.type) error = "the companion does not answer";
    }
    if (!error) return;
    message(CONTINUE, "%.3f s: %s", (double)v->now_ns * 1e-9, error);
    part(v);
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

/** 1: a fault of the samples takes this one away; others change its rates. */
static int spoil(struct vehicle *v, vfront_imu_t *s)
{
    double *const w = s->gyro_rad_s;
    int is_gone = 0, is_stuck = 0;
    for (uint32_t i = 0; v->has_fault && i < v->script.count; i++) {
        const fault_t *f = &v->script.fault[i];
        if (f->target != FAULT_GYRO || !fault_active(f, v->fault_frame, v->now_ns - v->fault_ns, v->fault_before_ns))
            continue;
        const double percent = f->arguments ? f->argument[0] : 100.0;
        is_gone |= f->kind == FAULT_GAP && (double)(synthetic_hash(v->dice++) % 10000) < 100.0 * percent;
        is_stuck |= f->kind == FAULT_STUCK;
        const int stays = (int)f->argument[0], a = stays == 0 ? 1 : 0, b = stays == 2 ? 1 : 2;
        if (f->kind == FAULT_SWAPPED) {
            const double kept = w[a];
            w[a] = w[b];
            w[b] = kept;
        }
        for (int k = 0; k < 3; k++) {
            if (f->kind == FAULT_BIAS) w[k] += f->argument[k];
            if (f->kind == FAULT_SATURATED) w[k] = fmax(-f->argument[0], fmin(f->argument[0], w[k]));
        }
    }
    for (int k = 0; k < 3; k++) {
        if (is_stuck) w[k] = v->stuck[k];
        v->stuck[k] = w[k];
    }
    return is_gone;
}

/** 1: the link loses the frame of now. */
static int is_lost(struct vehicle *v)
{
    int lost = 0;
    for (uint32_t i = 0; v->has_fault && i < v->script.count; i++) {
        const fault_t *f = &v->script.fault[i];
        if (f->kind != FAULT_LOSS || !fault_active(f, v->fault_frame, v->now_ns - v->fault_ns, v->fault_before_ns))
            continue;
        lost |= (double)(synthetic_hash(v->dice++) % 10000) < 100.0 * f->argument[0];
    }
    return lost;
}

/** Puts faults into the frame of now. */
static void begin_frame(struct vehicle *v)
{
    v->frame.t_ns += companion_ns(v) - v->now_ns;
    v->deliveries = 1;
    if (v->has_fault) {
        v->deliveries = fault_apply(v->injector, &v->frame);
        if (v->deliveries < 0 || is_lost(v)) v->deliveries = 0;
        v->fault_before_ns = v->now_ns - v->fault_ns;
        v->fault_frame++;
    }
    v->frames++;
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

static void send_samples(struct vehicle *v)
{
    uint8_t payload[60];
    bytes_t to = bytes_of(payload, sizeof payload);
    vfront_imu_t s;
    airframe_imu_read(&v->camera, &v->airframe, companion_ns(v), &s);
    s.accel_m_s2[0] += v->accel_m_s2;
    const int is_gone = spoil(v, &s);
    if (!v->has_companion) return;
    bytes_put(&to, is_gone ? 0 : 1, 4);
    if (!is_gone) {
        bytes_put(&to, s.t_ns, 8);
        for (int k = 0; k < 3; k++) bytes_put_double(&to, s.gyro_rad_s[k]);
        for (int k = 0; k < 3; k++) bytes_put_double(&to, s.accel_m_s2[k]);
    }
    await(v, wire_send(&v->wire, CHUNK_IMU, companion_ns(v), payload, to.used, NULL, 0));
}

/** Exposes the frame that is next. 1: it is whole. */
static int expose(struct vehicle *v)
{
    const uint64_t middle_ns = v->next_frame_ns, half_ns = (uint64_t)(v->blur_ms * 0.5e6);
    if (!half_ns) {
        if (v->now_ns < middle_ns) return 0;
        scene_draw(&v->scene, v->frames, &v->airframe, v->now_ns, &v->frame);
        return 1;
    }
    if (v->now_ns + half_ns >= middle_ns && v->now_ns % MOMENTS_NS == 0) scene_gather(&v->scene, &v->airframe);
    if (v->now_ns < middle_ns + half_ns) return 0;
    scene_expose(&v->scene, v->frames, middle_ns - half_ns, (uint32_t)(2 * half_ns), &v->frame);
    return 1;
}

static void take_pictures(struct vehicle *v)
{
    if (v->due_ns && v->now_ns >= v->due_ns && v->now_ns % AIRFRAME_SAMPLE_NS == 0) {
        v->due_ns = 0;
        for (int i = 0; i < v->deliveries && v->has_companion; i++)
            await(v, wire_send_frame(&v->wire, &v->frame, v->rig.cameras, 0));
    }
    if (v->due_ns || !expose(v)) return;
    v->due_ns = v->next_frame_ns + ARRIVAL_NS;
    v->next_frame_ns += FRAME_NS;
    begin_frame(v);
}

/** ODOMETRY on its way to the autopilot, beside the truth. */
static void look(struct vehicle *v, const uint8_t *content, size_t bytes)
{
    mavlink_message_t m;
    while (mavlink_parse(&v->parser, &content, &bytes, &m)) {
        if (m.id != MAVLINK_ODOMETRY) continue;
        const double age_ms = ((double)companion_ns(v) - 1e3 * (double)m.as.odometry.time_usec[0]) * 1e-6;
        v->odometry++;
        v->quality = m.as.odometry.quality[0];
        v->counter = m.as.odometry.reset_counter[0];
        v->vision[0] = (double)*m.as.odometry.x;
        v->vision[1] = (double)*m.as.odometry.y;
        v->vision[2] = (double)*m.as.odometry.z;
        v->vision[3] = truth_yaw(m.as.odometry.q);
        v->age_min_ms = fmin(v->age_min_ms, age_ms);
        v->age_max_ms = fmax(v->age_max_ms, age_ms);
        truth_compare(&v->truth, &m, &v->errors);
    }
}

/** Bytes that came on a socket, into a line; 0: it is closed. */
static int pump_in(int fd, delay_line_t *line, uint64_t now_ns)
{
    uint8_t content[4096];
    for (;;) {
        const ssize_t n = recv(fd, content, sizeof content, MSG_DONTWAIT);
        if (n == 0) return 0;
        if (n < 0) return errno == EAGAIN || errno == EINTR;
        delay_line_put(line, now_ns, content, (size_t)n);
    }
}

static void connect_autopilot(struct vehicle *v)
{
    wire_t w;
    if (v->serial_fd >= 0 || v->now_ns < v->retry_ns) return;
    v->retry_ns = v->now_ns + RETRY_NS;
    if (!wire_connect(&w, v->autopilot, 1000)) v->serial_fd = w.fd;
}

static void pump(struct vehicle *v)
{
    size_t bytes;
    connect_autopilot(v);
    if (v->link_fd >= 0 && !pump_in(v->link_fd, &v->up, v->now_ns)) {
        close(v->link_fd);
        v->link_fd = -1;
    }
    if (v->serial_fd >= 0 && !pump_in(v->serial_fd, &v->down, v->now_ns)) {
        close(v->serial_fd);
        v->serial_fd = -1;
    }
    for (const uint8_t *from; (from = delay_line_take(&v->up, v->now_ns, &bytes)) != NULL;) {
        look(v, from, bytes);
        if (v->serial_fd >= 0) (void)send(v->serial_fd, from, bytes, MSG_NOSIGNAL);
    }
    for (const uint8_t *from; (from = delay_line_take(&v->down, v->now_ns, &bytes)) != NULL;)
        if (v->link_fd >= 0) (void)send(v->link_fd, from, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/** A millisecond. */
static void step(struct vehicle *v, const double thrust_n[4])
{
    airframe_step(&v->airframe, thrust_n);
    v->now_ns += STEP_NS;
    truth_add(&v->truth, &v->airframe, companion_ns(v));
    if (v->now_ns % AIRFRAME_SAMPLE_NS == 0) send_samples(v);
    take_pictures(v);
    pump(v);
}

/** Servo outputs, the time until the next, the answer to them. Returns the milliseconds of it; 0: the firmware is
 *  silent. */
static long turn(struct vehicle *v)
{
    double thrust_n[4];
    vfront_imu_t imu;
    if (!json_physics_receive(&v->physics, SILENCE_MS)) return 0;
    const uint32_t rate_hz = v->physics.rate_hz;
    const long ms = rate_hz && rate_hz <= 500 ? 1000 / (long)rate_hz : 1;
    json_physics_thrust(v->physics.pwm_us, thrust_n);
    for (long i = 0; i < ms; i++) step(v, thrust_n);
    airframe_imu_read(&v->own, &v->airframe, v->now_ns, &imu);
    json_physics_send(&v->physics, v->now_ns, &imu, &v->airframe);
    return ms;
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

static void answer(const struct vehicle *v, const char *word)
{
    const airframe_t *a = &v->airframe;
    const truth_errors_t *e = &v->errors;
    printf("{\"word\": \"%s\", \"t\": %.3f, \"p\": [%.4f, %.4f, %.4f], \"v\": [%.4f, %.4f, %.4f], \"yaw\": %.3f, "
           "\"tilt\": %.2f, \"floor\": %d, \"touch\": %.3f, \"companion\": %d, \"serial\": %d, \"restarts\": %d, "
           "\"odometry\": %" PRIu32 ", \"quality\": %d, \"counter\": %d, \"age\": [%.2f, %.2f], \"checked\": %" PRIu32
           ", \"vision\": [%.4f, %.4f, %.4f, %.5f], \"worst_m\": %.4f, \"worst_deg\": %.3f, \"worst_sigmas\": %.3f, "
           "\"sigma_m\": %.4f, \"lost\": %" PRIu64 "}\n",
           word, (double)v->now_ns * 1e-9, a->p_m[0], -a->p_m[1], AIRFRAME_LEGS_M - a->p_m[2], a->v_mps[0],
           -a->v_mps[1], -a->v_mps[2], -DEGREES * atan2(a->R_world_body[3], a->R_world_body[0]),
           DEGREES * acos(fmax(-1.0, fmin(1.0, a->R_world_body[8]))), a->is_on_floor, a->touch_mps, v->has_companion,
           v->serial_fd >= 0, v->physics.restarts, v->odometry, v->quality, v->counter,
           v->age_min_ms < 1e6 ? v->age_min_ms : 0.0, v->age_max_ms, e->messages, v->vision[0], v->vision[1],
           v->vision[2], v->vision[3], e->worst_m, DEGREES * e->worst_rad, e->worst_sigmas, e->sigma_m,
           v->up.lost + v->down.lost);
    fflush(stdout);
}

static void mark(struct vehicle *v)
{
    memset(&v->errors, 0, sizeof v->errors);
    v->age_min_ms = 1e9;
    v->age_max_ms = 0.0;
}

static const char *run(struct vehicle *v, long ms)
{
    for (long done, at = 0; at < ms; at += done)
        if (!(done = turn(v))) return "silent";
    return "run";
}

/** One command. 0: it was the last. */
static int obey(struct vehicle *v, const char *line)
{
    long ms;
    const char *word = "done", *error = NULL;
    if (sscanf(line, "run %ld", &ms) == 1)
        word = run(v, ms);
    else if (strncmp(line, "companion", 9) == 0)
        error = join(v);
    else if (strncmp(line, "part", 4) == 0)
        part(v);
    else if (strncmp(line, "fault", 5) == 0) {
        v->has_fault = v->injector != NULL;
        v->fault_frame = 0;
        v->fault_ns = v->now_ns;
        v->fault_before_ns = 0;
    } else if (strncmp(line, "mark", 4) == 0)
        mark(v);
    else if (strncmp(line, "end", 3) == 0)
        return 0;
    else
        error = "no such command";
    if (error) message(CONTINUE, "%s", error);
    answer(v, error ? "failed" : word);
    return 1;
}

static const char *open_vehicle(struct vehicle *v)
{
    v->wire.fd = v->link_fd = v->serial_fd = v->cameras_fd = v->links_fd = v->physics.fd = -1;
    const char *error = json_physics_open(&v->physics, (uint16_t)v->json_port);
    if (!error) error = scene_open(&v->scene, v->width_px, v->height_px, v->hall_m);
    if (!error) error = wire_listen(&v->cameras_fd, "127.0.0.1:0", &v->cameras_port);
    if (!error) error = wire_listen(&v->links_fd, "127.0.0.1:0", &v->links_port);
    if (!error && v->fault) error = fault_script_read(&v->script, v->fault);
    if (!error && v->fault) error = fault_open(&v->injector, &v->script, v->fault, &v->scene.rig);
    if (error) return error;
    set_rig(v);
    airframe_begin(&v->airframe, 0.0, 0.0, v->seed);
    airframe_imu_begin(&v->own, v->seed + 100);
    airframe_imu_begin(&v->camera, v->seed + 200);
    v->dice = v->seed + 300;
    v->up.latency_ns = v->down.latency_ns = (uint64_t)(v->latency_ms * 1e6);
    v->now_ns = 1000000000u;
    v->next_frame_ns = v->now_ns + FRAME_NS;
    v->counter = -1;
    mark(v);
    return NULL;
}

int main(int count, char **word)
{
    static struct vehicle v;
    char line[200];
    message_program = "sitl-vehicle";
    const int code = read_options(&v, count, word);
    if (code != CONTINUE) return code;
    signal(SIGPIPE, SIG_IGN);
    const char *error = open_vehicle(&v);
    if (!error) {
        printf("{\"json\": %d, \"cameras\": %d, \"links\": %d}\n", v.physics.port, v.cameras_port, v.links_port);
        fflush(stdout);
        while (fgets(line, sizeof line, stdin) && obey(&v, line))
            ;
    }
    part(&v);
    if (v.serial_fd >= 0) close(v.serial_fd);
    json_physics_close(&v.physics);
    fault_close(v.injector);
    fault_script_free(&v.script);
    scene_close(&v.scene);
    return error ? message(EXIT_FAILED, "%s", error) : EXIT_DONE;
}
