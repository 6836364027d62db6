/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* nanosleep */
#include "paced.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "examples/replay/fault_apply.h"
#include "examples/replay/gyro_queue.h"
#include "session.h"

#define IN_FLIGHT_MAX 2 /* a frame under way, and one that waits */

/** A run under way. */
struct run {
    const trial_settings_t *settings;
    paced_t *paced;
    session_t session;
    fault_injector_t *injector;
    gyro_queue_t queue;
    uint64_t sent_ns[IN_FLIGHT_MAX]; /* of frames that are not answered, in order */
    int in_flight;
    double *step_ms;
    uint64_t first_ns, begun_ns, before_ns; /* before_ns: time of the frame before since the first */
    reply_t reply;
};

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/** What came of the oldest frame under way. */
static void take_reply(struct run *run)
{
    paced_t *p = run->paced;
    const reply_t *r = &run->reply;
    const uint64_t sent_ns = run->sent_ns[0];
    run->step_ms[p->answered++] = r->outcome.step_us * 1e-3;
    if (r->has_odometry) {
        const double ms = (double)(r->odometry_ns - sent_ns) * 1e-6;
        p->latency_ms[p->odometry++] = ms;
        p->late += ms * 1e3 > run->settings->tuning->deadline_us;
    }
    run->in_flight--;
    memmove(run->sent_ns, run->sent_ns + 1, sizeof run->sent_ns - sizeof *run->sent_ns);
    memset(&run->reply, 0, sizeof run->reply);
}

/** Take what comes up to a time; with nothing under way that is a sleep. */
static const char *wait_until(struct run *run, uint64_t t_ns)
{
    for (;;) {
        const uint64_t now_ns = wire_now_ns();
        const int left_ms = t_ns > now_ns ? (int)((t_ns - now_ns) / 1000000u) : 0;
        if (!run->in_flight) {
            const uint64_t left_ns = t_ns > now_ns ? t_ns - now_ns : 0;
            const struct timespec left = {(time_t)(left_ns / 1000000000u), (long)(left_ns % 1000000000u)};
            nanosleep(&left, NULL);
            return NULL;
        }
        const char *error = session_await(&run->session, &run->reply, left_ms);
        if (error) return error;
        if (run->reply.has_outcome)
            take_reply(run);
        else if (wire_now_ns() >= t_ns)
            return NULL;
    }
}

/** By how much the link is late with a frame. */
static uint64_t delay_ns(struct run *run, uint32_t index, uint64_t since_ns)
{
    const fault_script_t *s = run->settings->script;
    double ms = 0.0;
    for (uint32_t i = 0; s && i < s->count; i++) {
        const fault_t *f = &s->fault[i];
        if (f->kind == FAULT_DELAY && fault_active(f, index, since_ns, run->before_ns)) ms += f->argument[0];
    }
    run->before_ns = since_ns;
    return (uint64_t)(ms * 1e6);
}

static const char *send_frame(struct run *run, uint32_t index)
{
    vfront_frame_t frame;
    int deliveries = 1;
    const char *error = dataset_read(run->settings->dataset, index, &frame);
    if (error) return error;
    if (!index) run->first_ns = frame.t_ns;
    const uint64_t due_ns = frame.t_ns - run->first_ns;
    if (run->injector) deliveries = fault_apply(run->injector, &frame);
    gyro_queue_add(&run->queue, &frame);
    if (!index) run->begun_ns = wire_now_ns();
    error = wait_until(run, run->begun_ns + due_ns + delay_ns(run, index, due_ns));
    if (error || deliveries < 1) return error;
    if (run->in_flight == IN_FLIGHT_MAX) {
        run->paced->not_sent++;
        return NULL;
    }
    session_round(&run->session, &frame);
    error = session_send(&run->session, &frame, dataset_rig(run->settings->dataset)->cameras, 0, 0);
    run->sent_ns[run->in_flight++] = run->session.wire.t_sent_ns;
    run->paced->sent++;
    gyro_queue_clear(&run->queue);
    return error;
}

const char *paced_run(paced_t *paced, const trial_settings_t *s)
{
    static struct run run;
    memset(&run, 0, sizeof run);
    memset(paced, 0, sizeof *paced);
    run.settings = s;
    run.paced = paced;
    run.session.wire.fd = run.session.datagrams.fd = -1;
    paced->latency_ms = calloc(s->frames + 1u, sizeof *paced->latency_ms);
    run.step_ms = calloc(s->frames + 1u, sizeof *run.step_ms);
    const vfront_rig_t *rig = dataset_rig(s->dataset);
    const char *error = paced->latency_ms && run.step_ms ? NULL : "no memory for the times";
    if (!error && s->script) error = fault_open(&run.injector, s->script, "script", rig);
    if (!error) error = session_open(&run.session, s->board, &s->transports, rig, s->tuning);
    for (uint32_t i = 0; i < s->frames && !error; i++) error = send_frame(&run, i);
    while (!error && run.in_flight) {
        error = session_await(&run.session, &run.reply, WIRE_TIMEOUT_MS);
        if (!error && !run.reply.has_outcome) error = "the board does not answer";
        if (!error) take_reply(&run);
    }
    session_close(&run.session);
    fault_close(run.injector);
    if (!error) {
        qsort(paced->latency_ms, paced->odometry, sizeof *paced->latency_ms, by_size);
        qsort(run.step_ms, paced->answered, sizeof *run.step_ms, by_size);
        paced->step_p50_ms = paced->answered ? run.step_ms[paced->answered / 2] : 0.0;
    }
    free(run.step_ms);
    return error;
}

double paced_percentile(const paced_t *p, double percent)
{
    if (!p->odometry) return 0.0;
    const uint32_t at = (uint32_t)(percent / 100.0 * p->odometry);
    return p->latency_ms[at < p->odometry ? at : p->odometry - 1];
}

void paced_print(const paced_t *p, double deadline_ms)
{
    printf("frames       %" PRIu32 " sent, %" PRIu32 " not, as the board had two; %" PRIu32 " results, %" PRIu32
           " ODOMETRY\n",
           p->sent, p->not_sent, p->answered, p->odometry);
    printf("latency      last byte of a frame to first byte of its ODOMETRY: p50 %.2f ms, p99 %.2f ms, p99.9 %.2f ms, "
           "max %.2f ms; p50 of the steps %.2f ms\n",
           paced_percentile(p, 50), paced_percentile(p, 99), paced_percentile(p, 99.9), paced_percentile(p, 100),
           p->step_p50_ms);
    printf("deadline     %.1f ms: missed by %" PRIu32 " of %" PRIu32 "\n", deadline_ms, p->late, p->odometry);
}

void paced_free(paced_t *p)
{
    free(p->latency_ms);
    memset(p, 0, sizeof *p);
}
