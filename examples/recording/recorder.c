/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* clock_gettime, fdatasync, sem_t */
#include "recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "bytes.h"
#include "crc.h"
#include "frame.h"
#include "outcome.h"

#define PIECE_BYTES (1u << 20) /* of a write */
#define MESSAGE_BYTES 4600

struct recorder {
    int file, is_regular;
    char path[4200];
    int32_t cameras;
    pthread_t thread;
    pthread_mutex_t lock; /* of those who put in; never held across a wait, but for a copy of pictures */
    sem_t filled;         /* posted after each chunk, and at the end */
    uint8_t *ring;
    size_t size;
    /* Bytes ever put in by the caller, and taken out by the thread, modulo 2^32 or 2^64; their places in the ring are
     * these modulo size, a power of two. */
    atomic_size_t in, out;
    atomic_int done, error;                        /* no more comes; errno of the file, once */
    uint32_t number;                               /* of the next chunk */
    uint32_t unreported_frames, unreported_others; /* lost since the last CHUNK_LOST */
    recorder_counts_t counts;
};

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static double monotonic_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/** Copy bytes of the ring, which may go on at its begin. */
static void ring_copy(const recorder_t *r, size_t from, uint8_t *to, size_t bytes)
{
    const size_t at = from % r->size, first = bytes < r->size - at ? bytes : r->size - at;
    memcpy(to, r->ring + at, first);
    memcpy(to + first, r->ring, bytes - first);
}

static uint32_t ring_crc(const recorder_t *r, size_t from, size_t bytes)
{
    const size_t at = from % r->size, first = bytes < r->size - at ? bytes : r->size - at;
    return crc32_of(crc32_of(0, r->ring + at, first), r->ring, bytes - first);
}

/** Write all of it, unless the file has failed. */
static void write_out(recorder_t *r, const uint8_t *from, size_t bytes)
{
    while (bytes && !atomic_load(&r->error)) {
        const ssize_t wrote = write(r->file, from, bytes);
        if (wrote < 0 && errno == EINTR) continue;
        if (wrote <= 0) {
            atomic_store(&r->error, wrote < 0 ? errno : EIO);
            return;
        }
        from += wrote;
        bytes -= (size_t)wrote;
    }
}

/** Write the chunk at the end of the ring. Its room is free piece by piece. */
static void write_chunk(recorder_t *r)
{
    uint8_t head[CHUNK_HEAD_BYTES];
    chunk_t c;
    size_t out = atomic_load(&r->out);
    ring_copy(r, out, head, sizeof head);
    chunk_read_head(head, &c);
    c.crc = ring_crc(r, out + sizeof head, c.bytes);
    chunk_write_head(head, &c);
    write_out(r, head, sizeof head);
    out += sizeof head;
    for (size_t left = c.bytes; left;) {
        const size_t at = out % r->size;
        size_t piece = left < PIECE_BYTES ? left : PIECE_BYTES;
        if (piece > r->size - at) piece = r->size - at;
        write_out(r, r->ring + at, piece);
        out += piece;
        left -= piece;
        atomic_store(&r->out, out);
    }
    atomic_store(&r->out, out);
}

static void *write_all(void *argument)
{
    recorder_t *r = argument;
    double synced_s = monotonic_s();
    for (;;) {
        while (sem_wait(&r->filled)) {} /* EINTR */
        if (atomic_load(&r->out) == atomic_load(&r->in)) {
            if (atomic_load(&r->done)) break;
            continue;
        }
        write_chunk(r);
        if (!r->is_regular || monotonic_s() - synced_s < 1.0) continue;
        fdatasync(r->file);
        synced_s = monotonic_s();
    }
    return NULL;
}

/* ---- the caller's side ------------------------------------------------------------------------------------------- */

/** Chunk under way: bytes go into the ring at `at`, and count when the chunk is published. */
struct filling {
    recorder_t *r;
    size_t at;
};

static void fill(struct filling *f, const void *from, size_t bytes)
{
    const size_t at = f->at % f->r->size, first = bytes < f->r->size - at ? bytes : f->r->size - at;
    memcpy(f->r->ring + at, from, first);
    memcpy(f->r->ring, (const uint8_t *)from + first, bytes - first);
    f->at += bytes;
}

/** Begin a chunk, leaving `spare` bytes of the ring free. Returns 0 if there is no room. */
static int begin(struct filling *f, recorder_t *r, chunk_type_t type, uint64_t t_ns, size_t bytes, size_t spare)
{
    uint8_t head[CHUNK_HEAD_BYTES];
    const size_t in = atomic_load(&r->in), used = in - atomic_load(&r->out);
    if (bytes > CHUNK_BYTES_MAX || r->size - used < spare || r->size - used - spare < bytes + sizeof head) return 0;
    if (used + bytes + sizeof head > r->counts.peak_bytes) r->counts.peak_bytes = used + bytes + sizeof head;
    const chunk_t c = {(uint32_t)type, (uint32_t)bytes, r->number++, 0, t_ns};
    chunk_write_head(head, &c);
    *f = (struct filling){r, in};
    fill(f, head, sizeof head);
    return 1;
}

static void publish(struct filling *f)
{
    f->r->counts.bytes += f->at - atomic_load(&f->r->in);
    atomic_store(&f->r->in, f->at);
    sem_post(&f->r->filled);
}

/** Record what was lost, before anything else. Returns 0 if there is no room even for that. */
static int put_lost(recorder_t *r, uint64_t t_ns)
{
    uint8_t payload[8];
    struct filling f;
    bytes_t b = bytes_of(payload, sizeof payload);
    if (!(r->unreported_frames | r->unreported_others)) return 1;
    bytes_put(&b, r->unreported_frames, 4);
    bytes_put(&b, r->unreported_others, 4);
    if (!begin(&f, r, CHUNK_LOST, t_ns, sizeof payload, 0)) return 0;
    fill(&f, payload, sizeof payload);
    publish(&f);
    r->unreported_frames = r->unreported_others = 0;
    return 1;
}

static void lose(recorder_t *r, int is_frame)
{
    if (is_frame) {
        r->counts.frames_lost++;
        r->unreported_frames++;
    } else {
        r->counts.others_lost++;
        r->unreported_others++;
    }
}

static void put(recorder_t *r, chunk_type_t type, uint64_t t_ns, const void *one, size_t one_bytes, const void *two,
                size_t two_bytes)
{
    struct filling f;
    pthread_mutex_lock(&r->lock);
    if (!put_lost(r, t_ns) || !begin(&f, r, type, t_ns, one_bytes + two_bytes, 0)) {
        lose(r, 0);
    } else {
        if (one_bytes) fill(&f, one, one_bytes);
        if (two_bytes) fill(&f, two, two_bytes);
        publish(&f);
    }
    pthread_mutex_unlock(&r->lock);
}

/** A frame, under the lock. */
static void put_frame(recorder_t *r, const vfront_frame_t *frame, int after_reset)
{
    uint8_t small[FRAME_SMALL_BYTES];
    struct filling f;
    const size_t bytes = frame_bytes(frame, r->cameras);
    if (!bytes || !put_lost(r, frame->t_ns) || !begin(&f, r, CHUNK_FRAME, frame->t_ns, bytes, r->size / 8)) {
        lose(r, 1);
        return;
    }
    fill(&f, small, frame_write_small(frame, r->cameras, after_reset ? FRAME_AFTER_RESET : 0, small, sizeof small));
    for (int32_t i = 0; i < r->cameras; i++) {
        const vfront_picture_t *p = &frame->picture[i];
        const size_t row = frame_row_bytes(p);
        if (!row) continue;
        if (row == p->pitch_bytes)
            fill(&f, p->data, row * (size_t)p->height_px);
        else
            for (int32_t y = 0; y < p->height_px; y++)
                fill(&f, (const uint8_t *)p->data + (size_t)y * p->pitch_bytes, row);
        for (int32_t y = 0; p->mask && y < p->height_px; y++)
            fill(&f, p->mask + (size_t)y * p->mask_pitch_bytes, (size_t)p->mask_width_px);
    }
    publish(&f);
    r->counts.frames++;
}

void recorder_frame(recorder_t *r, const vfront_frame_t *frame, int after_reset)
{
    if (!r) return;
    pthread_mutex_lock(&r->lock);
    put_frame(r, frame, after_reset);
    pthread_mutex_unlock(&r->lock);
}

void recorder_result(recorder_t *r, uint64_t t_ns, vfront_status_t status, const vfront_result_t *result)
{
    uint8_t payload[OUTCOME_BYTES];
    outcome_t outcome;
    if (!r) return;
    outcome_of(&outcome, status, result);
    outcome_write(&outcome, payload);
    put(r, CHUNK_RESULT, t_ns, payload, sizeof payload, NULL, 0);
}

void recorder_map(recorder_t *r, uint64_t t_ns, const void *image, size_t bytes)
{
    if (r) put(r, CHUNK_MAP, t_ns, image, bytes, NULL, 0);
}

void recorder_text(recorder_t *r, chunk_type_t type, uint64_t t_ns, const char *text)
{
    if (r) put(r, type, t_ns, text, strlen(text), NULL, 0);
}

void recorder_imu(recorder_t *r, uint64_t t_ns, const vfront_imu_t *imu, uint32_t count)
{
    uint8_t payload[4 + 56 * 64];
    while (r && count) {
        const uint32_t now = count < 64 ? count : 64;
        bytes_t b = bytes_of(payload, sizeof payload);
        bytes_put(&b, now, 4);
        for (uint32_t i = 0; i < now; i++) {
            bytes_put(&b, imu[i].t_ns, 8);
            for (int k = 0; k < 3; k++) bytes_put_double(&b, imu[i].gyro_rad_s[k]);
            for (int k = 0; k < 3; k++) bytes_put_double(&b, imu[i].accel_m_s2[k]);
        }
        put(r, CHUNK_IMU, t_ns, payload, b.used, NULL, 0);
        imu += now;
        count -= now;
    }
}

void recorder_mavlink(recorder_t *r, uint64_t t_ns, int link, int sent, const void *bytes, size_t count)
{
    const uint8_t head[2] = {(uint8_t)link, sent != 0};
    if (r) put(r, CHUNK_MAVLINK, t_ns, head, sizeof head, bytes, count);
}

void recorder_counts(recorder_t *r, recorder_counts_t *counts)
{
    memset(counts, 0, sizeof *counts);
    if (!r) return;
    pthread_mutex_lock(&r->lock);
    *counts = r->counts;
    pthread_mutex_unlock(&r->lock);
}

/* ---- open, close ------------------------------------------------------------------------------------------------- */

static char message[MESSAGE_BYTES];

static const char *fail(const char *path, const char *why)
{
    snprintf(message, sizeof message, "%.4200s: %s", path, why);
    return message;
}

const char *recorder_trouble(const recorder_t *r)
{
    const int error = r ? atomic_load(&r->error) : 0;
    return error ? fail(r->path, strerror(error)) : NULL;
}

static void release(recorder_t *r)
{
    if (r->file >= 0) close(r->file);
    pthread_mutex_destroy(&r->lock);
    free(r->ring);
    free(r);
}

/** A lock whose holder has the priority of those who wait for it. Returns 0 where there is none. */
static int make_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0) return 0;
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    const int good = pthread_mutex_init(lock, &attributes) == 0;
    pthread_mutexattr_destroy(&attributes);
    return good;
}

static const char *start(recorder_t *r, const recording_header_t *header)
{
    sigset_t all, before;
    const size_t max = header_bytes(header);
    uint8_t *payload = malloc(max);
    if (!payload) return "no memory for the header";
    const size_t bytes = header_write(header, payload, max);
    write_out(r, (const uint8_t *)RECORDING_MAGIC, RECORDING_MAGIC_BYTES);
    put(r, CHUNK_HEADER, 0, payload, bytes, NULL, 0);
    free(payload);
    if (r->counts.others_lost) return "the header is larger than the buffer";
    sigfillset(&all); /* signals are the caller's */
    pthread_sigmask(SIG_BLOCK, &all, &before);
    const int failed = pthread_create(&r->thread, NULL, write_all, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return failed ? strerror(failed) : NULL;
}

const char *recorder_open(recorder_t **out, const char *path, size_t buffer_bytes, const recording_header_t *header)
{
    *out = NULL;
    recorder_t *r = calloc(1, sizeof *r);
    if (!r) return fail(path, "no memory");
    if (!make_lock(&r->lock)) {
        free(r);
        return fail(path, "no mutex");
    }
    r->file = -1;
    r->size = RECORDER_BUFFER_MIN_BYTES;
    while (r->size <= buffer_bytes / 2) r->size *= 2;
    r->cameras = header->rig.cameras;
    const char *why = snprintf(r->path, sizeof r->path, "%s", path) < (int)sizeof r->path ? NULL : "name too long";
    if (!why && !(r->ring = malloc(r->size))) why = "no memory for the buffer";
    if (r->ring) memset(r->ring, 0, r->size); /* its pages are there before the first frame */
    if (!why) r->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (!why && r->file < 0) why = strerror(errno);
    if (!why) {
        r->is_regular = lseek(r->file, 0, SEEK_CUR) >= 0;
        sem_init(&r->filled, 0, 0);
        why = start(r, header);
    }
    if (why) {
        const char *error = fail(path, why);
        release(r);
        return error;
    }
    *out = r;
    return NULL;
}

const char *recorder_close(recorder_t *r)
{
    uint8_t payload[8];
    bytes_t b = bytes_of(payload, sizeof payload);
    if (!r) return NULL;
    while (atomic_load(&r->in) != atomic_load(&r->out) && !atomic_load(&r->error)) /* the end needs room */
        nanosleep(&(struct timespec){0, 1000000}, NULL);
    bytes_put(&b, r->counts.frames, 4);
    bytes_put(&b, r->counts.frames_lost, 4);
    put(r, CHUNK_END, 0, payload, sizeof payload, NULL, 0);
    atomic_store(&r->done, 1);
    sem_post(&r->filled);
    pthread_join(r->thread, NULL);
    sem_destroy(&r->filled);
    if (r->is_regular && !atomic_load(&r->error) && fsync(r->file)) atomic_store(&r->error, errno);
    if (close(r->file) && !atomic_load(&r->error)) atomic_store(&r->error, errno);
    r->file = -1;
    const char *error = recorder_trouble(r);
    release(r);
    return error;
}
