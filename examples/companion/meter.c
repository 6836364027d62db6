/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "meter.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "clock.h"
#include "examples/common/message.h"
#include "examples/replay/state.h"

#define SHARE_NS 100000000.0 /* least time that shares are of */

static uint64_t time_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/** Processor time of this thread since the last mark. */
static uint64_t mark(meter_t *m)
{
    const uint64_t now_ns = time_ns(CLOCK_THREAD_CPUTIME_ID), since_ns = now_ns - m->mark_cpu_ns;
    m->mark_cpu_ns = now_ns;
    return since_ns;
}

void meter_source(meter_t *m)
{
    const uint64_t since_ns = mark(m);
    if (m->begin_ns) {
        m->source_cpu_ns += since_ns;
        return;
    }
    m->begin_ns = clock_ns();
    m->begin_cpu_ns = time_ns(CLOCK_PROCESS_CPUTIME_ID);
}

void meter_begin(meter_t *m) { mark(m); }

void meter_end(meter_t *m) { m->step_cpu_ns += mark(m); }

void meter_frame(meter_t *m, const vfront_result_t *r)
{
    const double us = (double)r->timing.step_us;
    m->frames++;
    m->step_us_sum += us;
    if (us > m->step_us_max) m->step_us_max = us;
    m->state = r->nav.state;
    m->quality = (int32_t)r->nav.quality;
    m->states += state_is_valid(r->nav.state) != 0;
    mark(m); /* what follows until the next frame is the source's */
}

void meter_refused(meter_t *m) { m->refused++; }

void meter_latency(meter_t *m, uint64_t arrived_ns, uint64_t sent_ns, uint64_t step_ns)
{
    const uint64_t all_ns = sent_ns > arrived_ns ? sent_ns - arrived_ns : 0;
    const uint64_t beyond_ns = all_ns > step_ns ? all_ns - step_ns : 0;
    m->latency_ns[m->latencies++ % METER_LATENCIES] = beyond_ns < UINT32_MAX ? (uint32_t)beyond_ns : UINT32_MAX;
}

static int by_size(const void *a, const void *b)
{
    const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

/** Line of percentiles of the latency. */
static void print_latency(const meter_t *m)
{
    static uint32_t sorted[METER_LATENCIES];
    const size_t n = m->latencies < METER_LATENCIES ? (size_t)m->latencies : METER_LATENCIES;
    static const double share[] = {0.5, 0.99, 0.999};
    if (!n) return;
    memcpy(sorted, m->latency_ns, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, by_size);
    printf("last byte of a frame to first byte of its ODOMETRY, beyond the step:");
    for (size_t i = 0; i < 3; i++)
        printf(" p%g %.0f us,", 100.0 * share[i], sorted[(size_t)(share[i] * (double)(n - 1) + 0.5)] * 1e-3);
    printf(" most %.0f us of %zu\n", sorted[n - 1] * 1e-3, n);
}

static long memory_kb(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_SELF, &usage) == 0 ? usage.ru_maxrss : 0;
}

/** Shares of a core, 0 while SHARE_NS have not passed, by the companion's clock: with --fast and --slow of the time
 *  that it has, not of the machine's. */
static void shares(const meter_t *m, double share[3])
{
    const double wall = (double)(clock_ns() - m->begin_ns);
    memset(share, 0, 3 * sizeof *share);
    if (!(wall > SHARE_NS)) return;
    const double all = (double)(time_ns(CLOCK_PROCESS_CPUTIME_ID) - m->begin_cpu_ns);
    share[0] = 100.0 * (double)m->step_cpu_ns / wall;
    share[1] = 100.0 * (double)m->source_cpu_ns / wall;
    share[2] = 100.0 * (all - (double)m->step_cpu_ns - (double)m->source_cpu_ns) / wall;
}

void meter_print(const meter_t *m, uint64_t skipped, links_t *l, int is_last)
{
    double share[3];
    if (!m->begin_ns) return;
    shares(m, share);
    pthread_mutex_lock(&l->lock);
    const sender_t s = l->sender;
    pthread_mutex_unlock(&l->lock);
    if (!is_last) {
        char carried[LINKS_SUMMARY];
        links_summary(l, carried);
        message(CONTINUE,
                "%s%s%" PRIu64 " frames, %" PRIu64 " passed over, %s %" PRId32 ", %" PRIu64
                " messages; cpu: step %.0f %%, source %.0f %%, companion %.1f %% of a core; %ld MB",
                carried, *carried ? "; " : "", m->frames, skipped, state_name(m->state), m->quality, s.sent, share[0],
                share[1], share[2], memory_kb() / 1024);
        return;
    }
    char given[LINKS_SUMMARY];
    links_summary(l, given);
    printf("%s\n", given);
    printf("frames %" PRIu64 ", refused %" PRIu64 ", passed over %" PRIu64 ", with a state %" PRIu64 "\n", m->frames,
           m->refused, skipped, m->states);
    printf("messages: %" PRIu64 " ODOMETRY, of which %" PRIu64 " carried on between frames; %" PRIu64
           " failures, %" PRIu64 " states too late\n",
           s.sent, s.carried, s.failures, s.stale);
    for (int i = 0; i < l->count; i++) {
        pthread_mutex_lock(&l->lock);
        const link_t k = l->peer[i].link; /* printing may wait; the lock is held across no wait */
        pthread_mutex_unlock(&l->lock);
        printf("%s: %" PRIu64 " messages, %" PRIu64 " bytes out, %" PRIu64 " dropped, %" PRIu64
               " replaced by newer ones, %" PRIu64 " too old; %" PRIu64 " in, %" PRIu64 " damaged, %" PRIu64 " lost\n",
               k.name, k.sent, k.sent_bytes, k.dropped + k.outbox.full, k.outbox.replaced, k.outbox.stale,
               k.parser.messages, k.parser.damaged, k.lost);
    }
    printf("step: mean %.2f ms, most %.2f ms\n", m->frames ? m->step_us_sum * 1e-3 / (double)m->frames : 0.0,
           m->step_us_max * 1e-3);
    print_latency(m);
    printf("cpu: step %.1f %%, source %.1f %%, companion %.2f %% of a core; memory %ld MB\n", share[0], share[1],
           share[2], memory_kb() / 1024);
}
