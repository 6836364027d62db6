/* SPDX-License-Identifier: MIT */
#include "trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/companion/trust.h"
#include "examples/replay/fault_apply.h"
#include "examples/replay/gyro_queue.h"
#include "examples/replay/state.h"

static vfront_t vf;
static char message[700];

/** A run under way. */
struct run {
    const trial_settings_t *settings;
    trial_t *trial;
    session_t session;
    fault_injector_t *injector;
    gyro_queue_t queue;
    states_t states;
    uint32_t breaks;     /* motion_breaks of the last result */
    vfront_nav_t before; /* last state */
    trust_t trust;       /* as the board's: both begin anew in the same frame */
    int has_before;
    uint64_t dice;
    int threads; /* that burn on the board */
    uint64_t first_ns, before_ns;
    vfront_frame_t held; /* of a reorder: a frame that goes behind the next one */
    int has_held;
    uint8_t *pixels[VFRONT_CAMERAS];
};

static const char *failed(const char *what, vfront_status_t status)
{
    snprintf(message, sizeof message, "%s: %s: %s", what, vfront_status_name(status), vfront_detail(&vf));
    return message;
}

/* ---- signs of a result ------------------------------------------------------------------------------------------- */

static unsigned signs_of_cameras(const vfront_health_t *h)
{
    unsigned s = 0;
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        if (h->frozen[c]) s |= SIGN_FROZEN;
        if (h->dark_permille[c] >= 900) s |= SIGN_DARK;
        if (h->bright_permille[c] >= 900) s |= SIGN_BRIGHT;
        if (h->brightness_changed[c] || h->sharpness_changed[c]) s |= SIGN_PHOTOMETRIC;
    }
    return s;
}

static unsigned signs_of(struct run *run, const vfront_result_t *r)
{
    const vfront_health_t *h = &r->health;
    const uint32_t flags = r->metric.flags | r->relative.flags;
    unsigned s = signs_of_cameras(h);
    if (h->stereo == VFRONT_STEREO_SUSPECT || h->stereo == VFRONT_STEREO_BLIND) s |= SIGN_STEREO;
    if (h->gap || h->irregular) s |= SIGN_STAMP;
    if (h->motion_breaks != run->breaks || flags & (VFRONT_MOTION_CONTRADICTS | VFRONT_MOTION_JUMP)) s |= SIGN_BREAK;
    if (h->late || h->repeated) s |= SIGN_LATE;
    if (h->gyro_short || h->gyro_stuck || h->imu || flags & VFRONT_MOTION_PRIOR) s |= SIGN_GYRO;
    if (h->missing) s |= SIGN_MISSING;
    if (h->state == VFRONT_DEGRADED || h->state == VFRONT_LOST) s |= SIGN_QUALITY;
    if (r->timing.overrun) s |= SIGN_LATENCY;
    if (r->nav.state > VFRONT_NAV_GOOD || (r->nav.state == VFRONT_NAV_GOOD && r->nav.quality < 50)) s |= SIGN_STATE;
    run->breaks = h->motion_breaks;
    return s;
}

static int all_finite(const double *value, int count)
{
    for (int i = 0; i < count; i++)
        if (!isfinite(value[i])) return 0;
    return 1;
}

static int motion_is_finite(const vfront_motion_t *m)
{
    int good = isfinite(m->rms_px) && isfinite(m->parallax_px);
    for (int i = 0; i < 9; i++) good &= isfinite(m->R[i]) != 0;
    for (int i = 0; i < 3; i++) good &= isfinite(m->t[i]) != 0;
    for (int i = 0; i < 21; i++) good &= isfinite(m->covariance[i]) != 0;
    return good;
}

static int result_is_finite(const vfront_result_t *r)
{
    const vfront_nav_t *n = &r->nav;
    return all_finite(n->position_m, 3) && all_finite(n->velocity_mps, 3) && all_finite(n->q_odom_imu, 4) &&
           all_finite(n->covariance, 120) && all_finite(n->gyro_bias_rad_s, 3) && all_finite(n->accel_bias_m_s2, 3) &&
           motion_is_finite(&r->relative) && motion_is_finite(&r->metric) && motion_is_finite(&r->good);
}

static int odometry_is_finite(const mavlink_message_t *m)
{
    int good = isfinite(*m->as.odometry.x) && isfinite(*m->as.odometry.y) && isfinite(*m->as.odometry.z) &&
               isfinite(*m->as.odometry.vx) && isfinite(*m->as.odometry.vy) && isfinite(*m->as.odometry.vz);
    for (int i = 0; i < 4; i++) good &= isfinite(m->as.odometry.q[i]) != 0;
    for (int i = 0; i < 21; i++)
        good &= isfinite(m->as.odometry.pose_covariance[i]) && isfinite(m->as.odometry.velocity_covariance[i]);
    return good;
}

/** Errors of the state, and whether it goes on from the one before. */
static const char *evaluate_state(struct run *run, uint32_t index, const vfront_result_t *r, trial_frame_t *f)
{
    const vfront_nav_t *n = &r->nav;
    dataset_state_t truth;
    const int64_t by_ns = f->has_state ? (int64_t)(n->t_ns - r->t_ns) : 0;
    const int known = dataset_has_truth(run->settings->dataset) &&
                      dataset_truth_imu(run->settings->dataset, index, by_ns, &truth);
    if (!state_add(&run->states, r->t_ns, n, known ? &truth : NULL, dataset_has_up(run->settings->dataset)))
        return "no memory for the states";
    const state_frame_t *s = state_last(&run->states);
    if (s->has_state && s->has_truth) {
        double e[3], square = 0.0;
        for (int i = 0; i < 3; i++) {
            e[i] = s->truth.t[i] - s->pose.t[i];
            square += e[i] * e[i];
        }
        f->has_error = 1;
        f->error_m = sqrt(square);
        const double distance = state_mahalanobis(n, e, 0);
        f->sigmas = distance >= 0.0 ? sqrt(distance) : (double)INFINITY;
    }
    if (f->has_state && run->has_before && n->reset_counter == run->before.reset_counter) {
        double square = 0.0, variance = 0.0;
        const double dt = (double)(n->t_ns - run->before.t_ns) * 1e-9;
        for (int i = 0; i < 3; i++) {
            const double d = n->position_m[i] - run->before.position_m[i] -
                             0.5 * dt * (n->velocity_mps[i] + run->before.velocity_mps[i]);
            square += d * d;
            variance += state_variance(&run->before, i);
        }
        f->jump_m = sqrt(square);
        f->jump_sigmas = variance > 0.0 ? f->jump_m / sqrt(variance) : 0.0;
    }
    if (f->has_state) {
        run->before = *n;
        run->has_before = 1;
    }
    return NULL;
}

/* ---- a frame ----------------------------------------------------------------------------------------------------- */

/** Digests of both. */
static void compare(struct run *run, uint32_t index, const outcome_t *board, const outcome_t *own)
{
    trial_t *t = run->trial;
    const char *at = outcome_difference(board, own, run->settings->tuning->failover != VFRONT_FAILOVER_LIGHT);
    t->compared++;
    if (!at || t->differ++) return;
    t->first = index;
    snprintf(t->first_at, sizeof t->first_at, "%s", at);
}

/** Own step, and the board's beside it. */
static const char *step(struct run *run, uint32_t index, const vfront_frame_t *frame)
{
    trial_frame_t *f = &run->trial->frame[index];
    const vfront_result_t *r = NULL;
    static reply_t reply;
    outcome_t own;
    memset(&reply, 0, sizeof reply);
    const vfront_status_t status = vfront_step(&vf, frame, &r);
    if (!status || status == VFRONT_E_IMU || status == VFRONT_E_GYRO) gyro_queue_clear(&run->queue);
    outcome_of(&own, status, status ? NULL : r);
    const char *error = session_await(&run->session, &reply, WIRE_TIMEOUT_MS);
    if (!error && !reply.has_outcome) error = "the board does not answer";
    if (error) return error;
    run->trial->has_no_gpu |= reply.has_no_gpu;
    if (reply.outcome.failed_over) f->signs |= SIGN_PORT;
    compare(run, index, &reply.outcome, &own);
    f->is_delivered = 1;
    f->status = status;
    f->is_finite = 1;
    if (status) {
        f->signs |= status == VFRONT_E_TIME ? SIGN_STAMP : SIGN_GYRO;
        return NULL;
    }
    f->signs |= signs_of(run, r);
    f->state = r->nav.state;
    f->quality = r->nav.quality;
    f->resets = r->nav.reset_counter;
    f->has_state = state_is_valid(r->nav.state);
    f->has_odometry = reply.has_odometry;
    f->odometry_quality = reply.has_odometry ? reply.odometry.as.odometry.quality[0] : 0;
    f->is_finite = result_is_finite(r) && (!reply.has_odometry || odometry_is_finite(&reply.odometry));
    run->trial->odometry += reply.has_odometry != 0;
    error = evaluate_state(run, index, r, f);
    vfront_nav_t checked;
    trust_check(&run->trust, r, &checked);
    trust_reset(&run->trust, &vf);
    return error;
}

static uint64_t roll(struct run *run)
{
    run->dice = run->dice * 6364136223846793005u + 1442695040888963407u;
    return run->dice >> 33;
}

/** What the script does to the link in this frame. */
struct link_state {
    int is_lost, is_behind, threads, has_fault;
    uint32_t flips, call; /* call of the GPU that fails */
};

static struct link_state look_at_link(struct run *run, uint32_t index, uint64_t t_ns)
{
    struct link_state l = {0};
    const fault_script_t *s = run->settings->script;
    const uint64_t since_ns = t_ns - run->first_ns;
    for (uint32_t i = 0; s && i < s->count; i++) {
        const fault_t *f = &s->fault[i];
        if (!fault_active(f, index, since_ns, run->before_ns)) continue;
        l.has_fault = 1;
        const double percent = (double)(roll(run) % 10000) / 100.0;
        if (f->kind == FAULT_LOSS) l.is_lost |= percent < f->argument[0];
        if (f->kind == FAULT_REORDER) l.is_behind |= percent < f->argument[0];
        if (f->kind == FAULT_CORRUPT) l.flips += (uint32_t)f->argument[0];
        if (f->kind == FAULT_BURN) l.threads += (int)f->argument[0];
        if (f->kind == FAULT_FAIL) l.call = (uint32_t)f->argument[0];
    }
    run->before_ns = since_ns;
    return l;
}

/** Send a frame whose bits are flipped: it must be named, and have no effect. */
static const char *send_damaged(struct run *run, uint32_t index, const vfront_frame_t *frame, uint32_t flips)
{
    static reply_t reply;
    const int32_t cameras = dataset_rig(run->settings->dataset)->cameras;
    memset(&reply, 0, sizeof reply);
    const char *error = session_send(&run->session, frame, cameras, 0, flips);
    if (!error) error = session_await(&run->session, &reply, WIRE_TIMEOUT_MS);
    if (!error && !reply.is_damaged) error = "the board took a frame whose bits were flipped";
    run->trial->frame[index].signs |= SIGN_DAMAGED;
    run->trial->damaged++;
    return error;
}

static const char *deliver(struct run *run, uint32_t index, vfront_frame_t *frame)
{
    gyro_queue_add(&run->queue, frame);
    session_round(&run->session, frame);
    const char *error = session_send(&run->session, frame, dataset_rig(run->settings->dataset)->cameras, 0, 0);
    return error ? error : step(run, index, frame);
}

/** Keep a frame that is to come behind the next one. Its samples come in their order, with that one. */
static void hold(struct run *run, vfront_frame_t *frame)
{
    gyro_queue_add(&run->queue, frame);
    run->held = *frame;
    for (int32_t i = 0; i < dataset_rig(run->settings->dataset)->cameras; i++) {
        vfront_picture_t *p = &run->held.picture[i];
        const size_t bytes = (size_t)p->pitch_bytes * (size_t)p->height_px;
        if (p->format == VFRONT_NO_PICTURE) continue;
        memcpy(run->pixels[i], p->data, bytes);
        p->data = run->pixels[i];
    }
    run->held.gyro = NULL;
    run->held.imu = NULL;
    run->held.gyro_count = run->held.imu_count = 0;
    run->has_held = 1;
}

static const char *run_frame(struct run *run, uint32_t index)
{
    vfront_frame_t frame;
    int deliveries = 1;
    const trial_settings_t *s = run->settings;
    const char *error = s->cache ? cache_frame(s->cache, index, &frame) : dataset_read(s->dataset, index, &frame);
    if (error) return error;
    if (!index) run->first_ns = frame.t_ns;
    const struct link_state l = look_at_link(run, index, frame.t_ns);
    if (run->injector) deliveries = fault_apply(run->injector, &frame);
    if (deliveries < 0) return "faults need pictures of the rig's size in host memory";
    trial_frame_t *f = &run->trial->frame[index];
    f->has_fault = l.has_fault;
    f->is_finite = 1;
    if (l.threads != run->threads) error = session_burn(&run->session, run->threads = l.threads);
    if (!error && l.call) error = session_fail_gpu(&run->session, l.call);
    if (error) return error;
    if (l.is_behind && !run->has_held) {
        hold(run, &frame);
        return NULL;
    }
    if (l.flips) error = send_damaged(run, index, &frame, l.flips);
    if (l.is_lost || l.flips || !deliveries) { /* its samples come with the next one */
        run->trial->lost += l.is_lost != 0;
        gyro_queue_add(&run->queue, &frame);
        return error;
    }
    for (int i = 0; i < deliveries && !error; i++) error = deliver(run, index, &frame);
    if (!error && run->has_held) {
        run->has_held = 0;
        error = deliver(run, index, &run->held);
    }
    return error;
}

/* ---- open, close ------------------------------------------------------------------------------------------------- */

static const char *open_run(struct run *run)
{
    const trial_settings_t *s = run->settings;
    const vfront_rig_t *rig = dataset_rig(s->dataset);
    const vfront_status_t status = vfront_init(&vf, rig, s->tuning, s->port);
    if (status) return failed("vfront_init on this computer", status);
    for (int32_t i = 0; i < rig->cameras; i++) {
        run->pixels[i] = malloc(2 * (size_t)rig->camera[i].width_px * (size_t)rig->camera[i].height_px);
        if (!run->pixels[i]) return "no memory for a picture";
    }
    run->trial->frame = calloc(s->frames ? s->frames : 1, sizeof *run->trial->frame);
    if (!run->trial->frame) return "no memory for the frames";
    run->trial->frames = s->frames;
    run->dice = s->script ? s->script->seed : 1;
    const char *error = s->script ? fault_open(&run->injector, s->script, "script", rig) : NULL;
    return error ? error : session_open(&run->session, s->board, &s->transports, rig, s->tuning);
}

const char *trial_run(trial_t *trial, const trial_settings_t *settings)
{
    static struct run run;
    memset(&run, 0, sizeof run);
    memset(trial, 0, sizeof *trial);
    run.settings = settings;
    run.trial = trial;
    run.session.wire.fd = run.session.datagrams.fd = -1;
    const char *error = open_run(&run);
    for (uint32_t i = 0; i < settings->frames && !error && !trial->has_no_gpu; i++) {
        error = run_frame(&run, i);
        if (!error) continue;
        char copy[600];
        snprintf(copy, sizeof copy, "%s", error);
        snprintf(message, sizeof message, "frame %" PRIu32 ": %s", i, copy);
        error = message;
    }
    trial->resent = run.session.resent;
    trial->line_lost = run.session.line_lost;
    session_close(&run.session);
    fault_close(run.injector);
    state_free(&run.states);
    for (int i = 0; i < VFRONT_CAMERAS; i++) free(run.pixels[i]);
    vfront_shutdown(&vf);
    return error;
}

void trial_free(trial_t *trial)
{
    free(trial->frame);
    memset(trial, 0, sizeof *trial);
}
