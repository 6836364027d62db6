/* SPDX-License-Identifier: MIT */
#include "tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bytes.h"

enum table { FRAMES, SAMPLES, DIGESTS, MAVLINK, EVENTS, TABLES };

static const char *const name[TABLES] = {"frames.csv", "samples.csv", "digests.csv", "mavlink.csv", "events.csv"};
static const char *const head[TABLES] = {
    "frame,t_ns,exposure_ns,after_reset,pictures,gyro_samples,imu_samples\n",
    "source,t_ns,gx_rad_s,gy_rad_s,gz_rad_s,ax_m_s2,ay_m_s2,az_m_s2\n",
    "frame,t_ns,status,port,failed_over,step_us,result",
    "t_ns,link,direction,bytes\n",
    "t_ns,channel,text\n",
};

struct tables {
    FILE *file[TABLES];
    reader_t *reader;
    uint32_t frame; /* number of the next frame */
    recorded_frame_t recorded;
};

static void write_sample(FILE *file, const char *source, const vfront_imu_t *r)
{
    const double *g = r->gyro_rad_s, *a = r->accel_m_s2;
    fprintf(file, "%s,%" PRIu64 ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g\n", source, r->t_ns, g[0], g[1], g[2], a[0], a[1],
            a[2]);
}

static const char *write_frame(struct tables *t, const chunk_t *c, uint8_t *payload)
{
    const vfront_rig_t *rig = &reader_header(t->reader)->rig;
    const char *error = frame_read(&t->recorded, rig, payload, c->bytes);
    if (error) return error;
    const vfront_frame_t *f = &t->recorded.frame;
    int pictures = 0;
    for (int32_t i = 0; i < rig->cameras; i++) pictures += f->picture[i].format != VFRONT_NO_PICTURE;
    fprintf(t->file[FRAMES], "%" PRIu32 ",%" PRIu64 ",%" PRIu32 ",%d,%d,%" PRIu32 ",%" PRIu32 "\n", t->frame++, f->t_ns,
            f->exposure_ns, t->recorded.after_reset, pictures, f->gyro_count, f->imu_count);
    for (uint32_t i = 0; i < f->imu_count; i++) write_sample(t->file[SAMPLES], "frame", &f->imu[i]);
    for (uint32_t i = 0; i < f->gyro_count; i++)
        fprintf(t->file[SAMPLES], "gyro,%" PRIu64 ",%.17g,%.17g,%.17g,,,\n", f->gyro[i].t_ns, f->gyro[i].rate_rad_s[0],
                f->gyro[i].rate_rad_s[1], f->gyro[i].rate_rad_s[2]);
    return NULL;
}

static const char *write_outcome(struct tables *t, const chunk_t *c, uint8_t *payload)
{
    outcome_t o;
    const char *error = outcome_read(&o, payload, c->bytes);
    if (error) return error;
    fprintf(t->file[DIGESTS], "%" PRIu32 ",%" PRIu64 ",%s,%s,%" PRIu32 ",%" PRIu32 ",%" PRIu64, t->frame - !!t->frame,
            c->t_ns, vfront_status_name((vfront_status_t)o.status),
            o.port == VFRONT_PORT_CUDA   ? "cuda"
            : o.port == VFRONT_PORT_HOST ? "host"
                                         : "",
            o.failed_over, o.step_us, o.frame);
    for (size_t i = 0; i < VFRONT_STAGES; i++) fprintf(t->file[DIGESTS], ",%016" PRIx64, o.stage[i]);
    fputc('\n', t->file[DIGESTS]);
    return NULL;
}

static const char *write_samples(struct tables *t, const chunk_t *c, uint8_t *payload)
{
    bytes_t b = bytes_of(payload, c->bytes);
    const uint64_t count = bytes_get(&b, 4);
    for (uint64_t i = 0; i < count && !b.short_of; i++) {
        vfront_imu_t r;
        r.t_ns = bytes_get(&b, 8);
        for (int k = 0; k < 3; k++) r.gyro_rad_s[k] = bytes_get_double(&b);
        for (int k = 0; k < 3; k++) r.accel_m_s2[k] = bytes_get_double(&b);
        if (!b.short_of) write_sample(t->file[SAMPLES], "imu", &r);
    }
    return b.short_of || bytes_left(&b) ? "the samples are not whole" : NULL;
}

static const char *write_message(struct tables *t, const chunk_t *c, const uint8_t *payload)
{
    if (c->bytes < 2) return "the message is not whole";
    fprintf(t->file[MAVLINK], "%" PRIu64 ",%u,%s,", c->t_ns, payload[0], payload[1] ? "sent" : "received");
    for (uint32_t i = 2; i < c->bytes; i++) fprintf(t->file[MAVLINK], "%02x", payload[i]);
    fputc('\n', t->file[MAVLINK]);
    return NULL;
}

/** Text of a channel, without what would end a field. */
static void write_text(struct tables *t, const chunk_t *c, const uint8_t *payload)
{
    fprintf(t->file[EVENTS], "%" PRIu64 ",%s,", c->t_ns, chunk_type_name(c->type));
    for (uint32_t i = 0; i < c->bytes; i++)
        fputc(payload[i] < ' ' || payload[i] > '~' || payload[i] == ',' || payload[i] == '"' ? '_' : payload[i],
              t->file[EVENTS]);
    fputc('\n', t->file[EVENTS]);
}

static void write_lost(struct tables *t, const chunk_t *c, uint8_t *payload)
{
    bytes_t b = bytes_of(payload, c->bytes);
    const uint64_t frames = bytes_get(&b, 4), others = bytes_get(&b, 4);
    fprintf(t->file[EVENTS], "%" PRIu64 ",lost,%" PRIu64 " frames and %" PRIu64 " others\n", c->t_ns, frames, others);
}

static const char *write_chunk(struct tables *t, uint32_t at)
{
    chunk_t c;
    uint8_t *payload;
    const char *error = reader_chunk(t->reader, at, &c, &payload);
    if (error) return error;
    switch (c.type) {
    case CHUNK_FRAME: return write_frame(t, &c, payload);
    case CHUNK_RESULT: return write_outcome(t, &c, payload);
    case CHUNK_IMU: return write_samples(t, &c, payload);
    case CHUNK_MAVLINK: return write_message(t, &c, payload);
    case CHUNK_FAULT:
    case CHUNK_EVENT: write_text(t, &c, payload); return NULL;
    case CHUNK_LOST: write_lost(t, &c, payload); return NULL;
    default: return NULL;
    }
}

const char *tables_write(reader_t *reader, const char *folder)
{
    static struct tables t;
    static char message[4700];
    const char *error = NULL;
    int last = 0;
    memset(&t, 0, sizeof t);
    t.reader = reader;
    for (; last < TABLES && !error; last++) {
        char path[4700];
        snprintf(path, sizeof path, "%.4200s/%s", folder, name[last]);
        t.file[last] = fopen(path, "w");
        if (!t.file[last]) {
            snprintf(message, sizeof message, "%.4200s/%s: %s", folder, name[last], strerror(errno));
            error = message;
            break;
        }
        fputs(head[last], t.file[last]);
    }
    for (size_t i = 0; !error && i < VFRONT_STAGES; i++) fprintf(t.file[DIGESTS], ",%s", vfront_stage_name(i));
    if (!error) fputc('\n', t.file[DIGESTS]);
    for (uint32_t i = 0; !error && i < reader_chunks(reader); i++) error = write_chunk(&t, i);
    for (int i = 0; i < last; i++) {
        const int failed = ferror(t.file[i]);
        if (!fclose(t.file[i]) && !failed) continue;
        snprintf(message, sizeof message, "%.4200s/%s: %s", folder, name[i], strerror(errno));
        if (!error) error = message;
    }
    return error;
}
