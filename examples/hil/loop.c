/* SPDX-License-Identifier: MIT */
#include "loop.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "airframe.h"
#include "autopilot.h"
#include "examples/companion/clock.h"
#include "examples/replay/fault_apply.h"
#include "examples/replay/gyro_queue.h"
#include "examples/synthetic/renderer.h"
#include "scene.h"
#include "session.h"

#define START_NS 1000000000u /* of the first frame */
#define LEAD_NS 100000000u   /* samples begin so long before it */
#define ROOM_M 3.6           /* of the hall beside the square: farther away is a wall, or through it */
#define MESSAGES_MAX 64      /* under way to the pilot */
#define SAMPLES_MAX 32       /* between two frames */
#define CONVERGES 24         /* messages: half a second, at the 40 a second that ArduPilot gets */

static char text[700];

/** A message under way. */
struct flying {
    uint64_t due_ns;
    mavlink_message_t message;
};

/** A flight under way. */
struct run {
    const loop_settings_t *settings;
    loop_t *loop;
    session_t session;
    scene_t scene;
    fault_injector_t *injector;
    gyro_queue_t queue;
    airframe_t airframe;
    airframe_imu_t own, camera; /* IMUs of the pilot and of the camera */
    vfront_imu_t newest;        /* sample of the pilot's */
    truth_t truth;
    int is_away, was_away; /* 1: the board is; it was */
    uint64_t back_ns;      /* when it was back */
    int counter_before;    /* last reset_counter before it was away */
    pilot_t pilot;
    uint64_t now_ns;
    uint64_t wall_ns;                 /* in real time: this computer's clock at the first frame */
    uint64_t sent_ns;                 /* in real time: when the board was given what it answers */
    vfront_imu_t sample[SAMPLES_MAX]; /* since the frame before */
    uint32_t samples;
    struct flying flying[MESSAGES_MAX];
    int messages;
    uint64_t before_ns;          /* time since the first frame of the frame before */
    uint64_t dice;               /* of the link */
    double home_m[3], R_home[9]; /* where it took off, and its yaw there */
    uint32_t takeoffs;
    int quality, is_finite; /* of messages since the frame before */
    int last_counter;       /* reset_counter; -1: none */
};

/* ---- messages ---------------------------------------------------------------------------------------------------- */

static int is_finite(const mavlink_message_t *m)
{
    int good = isfinite(*m->as.odometry.x) && isfinite(*m->as.odometry.y) && isfinite(*m->as.odometry.z) &&
               isfinite(*m->as.odometry.vx) && isfinite(*m->as.odometry.vy) && isfinite(*m->as.odometry.vz);
    for (int i = 0; i < 4; i++) good &= isfinite(m->as.odometry.q[i]) != 0;
    for (int i = 0; i < 21; i++)
        good &= isfinite(m->as.odometry.pose_covariance[i]) && isfinite(m->as.odometry.velocity_covariance[i]);
    return good;
}

/** How long a message that comes now is under way. */
static uint64_t delay_ns(struct run *run, const mavlink_message_t *m)
{
    if (!run->settings->is_real_time) return LOOP_DELAY_NS;
    const uint64_t taken_ns = clock_ns() - run->sent_ns;
    if (m->id == MAVLINK_ODOMETRY) run->loop->answers_ns += taken_ns;
    if (taken_ns > run->loop->slowest_ns) run->loop->slowest_ns = taken_ns;
    return LOOP_CAMERA_NS + taken_ns;
}

/** ODOMETRY beside the truth, before a restart and after it. */
static void take_truth(struct run *run, const mavlink_message_t *m, int counter)
{
    truth_errors_t *errors = run->was_away ? &run->loop->after : &run->loop->before;
    truth_compare(&run->truth, m, errors);
    if (!run->was_away || !errors->messages) return;
    if (errors->messages == 1) {
        const double *p = run->pilot.now.p_m, own_m[3] = {p[0], -p[1], -p[2]};
        double e[4];
        if (truth_error(&run->truth, run->pilot.now.t_ns, own_m, 0.0, e)) run->loop->own_m = square_root(dot(e, e));
    }
    if (errors->messages <= CONVERGES) run->loop->has_same_counter = counter == run->counter_before;
    run->loop->resumed_s = (double)(int64_t)(errors->first_ns - run->back_ns) * 1e-9;
}

/** A message of the board sets out for the pilot. */
static void take(void *context, const mavlink_message_t *m)
{
    struct run *run = context;
    if (m->id == MAVLINK_ODOMETRY) {
        run->loop->messages++;
        run->quality = m->as.odometry.quality[0];
        run->loop->failures += run->quality < 0;
        run->is_finite &= is_finite(m);
        const int counter = m->as.odometry.reset_counter[0];
        take_truth(run, m, counter);
        run->loop->resets += run->last_counter >= 0 && counter != run->last_counter;
        run->last_counter = counter;
    }
    run->loop->obstacles += m->id == MAVLINK_OBSTACLE_DISTANCE;
    const uint64_t due_ns = run->now_ns + delay_ns(run, m);
    if (run->messages == MESSAGES_MAX) return;
    run->flying[run->messages].due_ns = due_ns;
    run->flying[run->messages++].message = *m;
}

static void arrive(struct run *run)
{
    int kept = 0;
    for (int i = 0; i < run->messages; i++) {
        if (run->flying[i].due_ns <= run->now_ns)
            pilot_message(&run->pilot, &run->flying[i].message, run->now_ns);
        else
            run->flying[kept++] = run->flying[i];
    }
    run->messages = kept;
}

/* ---- the vehicle ------------------------------------------------------------------------------------------------- */

/** Up to a time: rotors, body, both IMUs, the pilot. */
static void fly_until(struct run *run, uint64_t t_ns)
{
    const uint64_t step_ns = (uint64_t)(AIRFRAME_STEP_S * 1e9 + 0.5);
    while (run->now_ns + step_ns <= t_ns) {
        airframe_step(&run->airframe, run->pilot.rotor_n);
        run->now_ns += step_ns;
        truth_add(&run->truth, &run->airframe, run->now_ns);
        arrive(run);
        if (run->now_ns % AIRFRAME_SAMPLE_NS) continue;
        airframe_imu_read(&run->own, &run->airframe, run->now_ns, &run->newest);
        if (run->samples < SAMPLES_MAX)
            airframe_imu_read(&run->camera, &run->airframe, run->now_ns, &run->sample[run->samples++]);
        pilot_imu(&run->pilot, &run->newest);
    }
}

/** Set point in the world, where it should be, from where it took off. */
static void note(struct run *run, loop_frame_t *f)
{
    const airframe_t *a = &run->airframe;
    const pilot_t *p = &run->pilot;
    double square = 0.0, aim[3];
    if (p->takeoffs != run->takeoffs) {
        run->takeoffs = p->takeoffs;
        memcpy(run->home_m, a->p_m, sizeof run->home_m);
        double back[9]; /* axes of the pilot's frame in the world, by its own attitude */
        for (int i = 0; i < 9; i++) back[i] = p->now.R_local_body[i % 3 * 3 + i / 3];
        multiply(run->R_home, a->R_world_body, back);
    }
    for (int k = 0; k < 3; k++) aim[k] = run->home_m[k] + dot(&run->R_home[3 * k], p->setpoint_m);
    f->t_ns = run->now_ns;
    f->phase = p->phase;
    f->quality = run->quality;
    f->is_finite = run->is_finite;
    f->ahead_m = LOOP_WALL_M - a->p_m[0];
    f->speed_mps = square_root(dot(a->v_mps, a->v_mps) + 1e-6);
    memcpy(f->at_m, a->p_m, sizeof f->at_m);
    memcpy(f->setpoint_m, aim, sizeof f->setpoint_m);
    for (int k = 0; k < 3; k++) square += (a->p_m[k] - aim[k]) * (a->p_m[k] - aim[k]);
    f->error_m = p->phase == PILOT_FLIES ? square_root(square + 1e-6) : 0.0;
    run->quality = 0;
    run->is_finite = 1;
}

/** 1 if it is in a wall, or upside down. */
static int has_crashed(const struct run *run)
{
    const double *p = run->airframe.p_m;
    const double ahead_max = run->settings->has_wall ? LOOP_WALL_M : PILOT_SIDE_M + ROOM_M;
    return p[0] < -ROOM_M || p[0] > ahead_max || p[1] < -ROOM_M || p[1] > PILOT_SIDE_M + ROOM_M || p[2] > 4.0 ||
           run->airframe.R_world_body[8] < 0.3;
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

/** Faults of the script for the link. */
struct link_state {
    int is_lost, has_fault;
    uint32_t flips;
};

static struct link_state look(struct run *run, uint32_t index, uint64_t since_ns)
{
    struct link_state l = {0};
    const fault_script_t *s = run->settings->script;
    for (uint32_t i = 0; s && i < s->count; i++) {
        const fault_t *f = &s->fault[i];
        if (!fault_active(f, index, since_ns, run->before_ns)) continue;
        l.has_fault = 1;
        const double percent = (double)(synthetic_hash(run->dice++) % 10000) / 100.0;
        if (f->kind == FAULT_LOSS) l.is_lost |= percent < f->argument[0];
        if (f->kind == FAULT_CORRUPT) l.flips += (uint32_t)f->argument[0];
    }
    run->before_ns = since_ns;
    return l;
}

static const char *await(struct run *run, reply_t *reply)
{
    const char *error = session_await(&run->session, reply, WIRE_TIMEOUT_MS);
    if (!error && !reply->has_outcome && !reply->is_on && !reply->is_damaged) return "the board does not answer";
    return error;
}

/** A frame to the board, and its answer. Samples wait in the queue until a step has taken them. */
static const char *deliver(struct run *run, vfront_frame_t *frame, uint32_t flips)
{
    static reply_t reply;
    memset(&reply, 0, sizeof reply);
    run->sent_ns = clock_ns();
    session_round(&run->session, frame);
    const char *error = session_send(&run->session, frame, run->scene.rig.cameras, 0, flips);
    if (!error) error = await(run, &reply);
    if (error || reply.is_damaged) return error;
    if (!reply.outcome.status || reply.outcome.status == VFRONT_E_IMU) gyro_queue_clear(&run->queue);
    return NULL;
}

/** What the pilot tells the board of itself. */
static const char *send_pose(struct run *run)
{
    mavlink_message_t m[AUTOPILOT_MESSAGES];
    const int count = autopilot_messages(&run->pilot, &run->newest, !run->settings->restart.has_no_pose, m);
    const char *error = NULL;
    for (int i = 0; i < count && !error; i++) error = session_send_message(&run->session, &m[i], run->pilot.now.t_ns);
    return error;
}

/** A frame with its faults, and the samples once more on their own, by which the board's time goes on. */
static const char *send(struct run *run, uint32_t index)
{
    static reply_t reply;
    static vfront_imu_t own[SAMPLES_MAX];
    vfront_frame_t frame;
    int deliveries = 1;
    scene_draw(&run->scene, index, &run->airframe, run->now_ns, &frame);
    fly_until(run, (run->now_ns / AIRFRAME_SAMPLE_NS + 1) * AIRFRAME_SAMPLE_NS); /* the sample behind the middle */
    frame.imu = run->sample;
    frame.imu_count = run->samples;
    const struct link_state l = look(run, index, run->now_ns - START_NS);
    run->loop->frame[index].has_fault = l.has_fault;
    if (run->injector) deliveries = fault_apply(run->injector, &frame);
    if (deliveries < 0) return "faults need pictures of the rig's size in host memory";
    run->samples = 0;
    const uint32_t count = frame.imu_count < SAMPLES_MAX ? frame.imu_count : SAMPLES_MAX;
    if (count) memcpy(own, frame.imu, count * sizeof *own);
    gyro_queue_add(&run->queue, &frame);
    const char *error = NULL;
    if (l.is_lost) return NULL; /* nor do its samples come */
    error = send_pose(run);
    for (int i = 0; i < deliveries && !error; i++) error = deliver(run, &frame, l.flips);
    memset(&reply, 0, sizeof reply);
    run->sent_ns = clock_ns();
    if (!error) error = session_send_imu(&run->session, own, count, run->now_ns);
    return error ? error : await(run, &reply);
}

/* ---- open, close ------------------------------------------------------------------------------------------------- */

/** In real time: waits for the time of a frame, and notes how late it is. */
static void keep_pace(struct run *run, uint32_t index)
{
    if (!run->settings->is_real_time) return;
    if (!index) run->wall_ns = clock_ns();
    const uint64_t due_ns = run->wall_ns + (uint64_t)index * LOOP_FRAME_NS;
    while (clock_ns() < due_ns && clock_sleep_until_ns(due_ns))
        ;
    const uint64_t behind_ns = clock_ns() - due_ns;
    if (behind_ns > run->loop->behind_ns) run->loop->behind_ns = behind_ns;
}

static const char *connect_board(struct run *run)
{
    const loop_settings_t *s = run->settings;
    const char *error = session_open(&run->session, s->board, &s->transports, &run->scene.rig, s->tuning);
    run->session.take = take;
    run->session.context = run;
    return error ? error : session_follow(&run->session, s->restart.has_file, run->now_ns);
}

/** Restart of the board: it is away in this frame. */
static int be_away(struct run *run, uint32_t index, const char **error)
{
    const loop_restart_t *r = &run->settings->restart;
    const uint64_t since_ns = (uint64_t)(index - LOOP_FAULT_FRAME) * LOOP_FRAME_NS, begin_ns = r->at_ms * 1000000ull;
    const int is_away = r->away_ms && index >= LOOP_FAULT_FRAME && since_ns >= begin_ns &&
                        since_ns < begin_ns + r->away_ms * 1000000ull;
    if (is_away && !run->is_away) {
        session_close(&run->session);
        run->counter_before = run->last_counter;
    }
    if (!is_away && run->is_away) {
        run->was_away = 1;
        run->back_ns = run->now_ns;
        *error = connect_board(run);
    }
    run->is_away = is_away;
    run->loop->frame[index].has_fault = is_away;
    if (is_away) run->samples = 0;
    return is_away;
}

static const char *open_run(struct run *run)
{
    const loop_settings_t *s = run->settings;
    const double length_m = s->has_wall ? 7.0 : 3.0;
    run->loop->frame = calloc(s->frames ? s->frames : 1, sizeof *run->loop->frame);
    if (!run->loop->frame) return "no memory for a flight";
    run->loop->room = s->frames;
    const char *error = scene_open(&run->scene, s->width_px, s->height_px, length_m);
    if (error) return error;
    if (s->has_wall) scene_add_wall(&run->scene, LOOP_WALL_M);
    airframe_begin(&run->airframe, 0.0, 0.0, s->seed);
    airframe_imu_begin(&run->own, s->seed + 100);
    airframe_imu_begin(&run->camera, s->seed + 200);
    run->dice = s->seed + 300;
    run->now_ns = START_NS - LEAD_NS;
    run->is_finite = 1;
    run->last_counter = -1;
    run->pilot.mission = s->has_wall ? PILOT_AHEAD : PILOT_SQUARE;
    run->pilot.square_ns = START_NS + (uint64_t)LOOP_FAULT_FRAME * LOOP_FRAME_NS + 1000000000u;
    if (s->restart.away_ms && !s->restart.has_no_pose) run->pilot.silence_ns = LOOP_PATIENCE_NS;
    if (s->restart.hovers) run->pilot.square_ns = UINT64_MAX;
    if (s->script) error = fault_open(&run->injector, s->script, "script", &run->scene.rig);
    return error ? error : connect_board(run);
}

static void close_run(struct run *run)
{
    session_close(&run->session);
    fault_close(run->injector);
    scene_close(&run->scene);
}

const char *loop_run(loop_t *loop, const loop_settings_t *settings)
{
    static struct run run;
    memset(&run, 0, sizeof run);
    memset(loop, 0, sizeof *loop);
    run.settings = settings;
    run.loop = loop;
    run.session.wire.fd = run.session.datagrams.fd = -1;
    const char *error = open_run(&run);
    for (uint32_t i = 0; i < settings->frames && !error && !loop->has_crashed; i++) {
        keep_pace(&run, i);
        fly_until(&run, START_NS + (uint64_t)i * LOOP_FRAME_NS);
        if (!be_away(&run, i, &error) && !error) error = send(&run, i);
        note(&run, &loop->frame[i]);
        loop->frames = i + 1;
        loop->has_crashed = has_crashed(&run);
        if (!error) continue;
        char copy[600];
        snprintf(copy, sizeof copy, "%s", error);
        snprintf(text, sizeof text, "frame %" PRIu32 ": %s", i, copy);
        error = text;
    }
    loop->touch_mps = run.airframe.touch_mps;
    loop->tilt_cosine_min = run.airframe.tilt_cosine_min;
    close_run(&run);
    return error;
}

void loop_free(loop_t *loop)
{
    free(loop->frame);
    memset(loop, 0, sizeof *loop);
}
