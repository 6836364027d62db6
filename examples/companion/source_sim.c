/* SPDX-License-Identifier: MIT
 *
 * A simulator, in lock step: sim:HOST:PORT, an IPv4 address. It sends the chunks of a recording (recording/wire.h): a
 * header with rig and noise, then samples of the IMU, whose time becomes that of the clock, and frames, which arrive at
 * the time of the chunk before. Once all that follows from a chunk is done and sent, it gets CHUNK_EVENT "on".
 */
#include "source_internal.h"

#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "examples/common/message.h"
#include "examples/recording/bytes.h"
#include "examples/recording/frame.h"
#include "examples/recording/header.h"
#include "examples/recording/wire.h"
#include "examples/replay/calibration.h"

#define HEADER_BYTES_MAX (8u << 20) /* with static masks */
#define CONNECT_MS 10000
#define POLL_MS 100

struct simulator {
    source_settings_t settings;
    wire_t wire;
    recording_header_t header;
    recorded_frame_t recorded;
    uint32_t given;
    int owes; /* 1: a chunk is not answered yet */
    const char *fault;
};

/** Rig of the header, and room for the largest frame of it. */
static const char *take_header(struct simulator *s)
{
    chunk_t c;
    uint8_t *payload;
    size_t max = FRAME_SMALL_BYTES;
    const char *error = wire_limit(&s->wire, HEADER_BYTES_MAX);
    if (!error) error = wire_greet(&s->wire);
    if (!error) error = wire_await_greeting(&s->wire);
    if (!error) error = wire_receive(&s->wire, &c, &payload, WIRE_TIMEOUT_MS);
    if (error) return error;
    if (c.type != CHUNK_HEADER) return "the simulator does not begin with a header";
    error = header_read(&s->header, payload, c.bytes);
    if (error) return error;
    clock_set_ns(c.t_ns);
    for (int32_t i = 0; i < s->header.rig.cameras; i++)
        max += 3 * (size_t)s->header.rig.camera[i].width_px * (size_t)s->header.rig.camera[i].height_px;
    return wire_limit(&s->wire, max);
}

static const char *open_simulator(void **of, const source_settings_t *settings)
{
    struct simulator *s = calloc(1, sizeof *s);
    if (!s) return "no memory for a simulator";
    *of = s;
    s->settings = *settings;
    s->wire.fd = -1;
    const char *error = wire_connect(&s->wire, settings->where + strlen("sim:"), CONNECT_MS);
    if (!error) error = take_header(s);
    if (!error && settings->calibration) error = calibration_read(&s->header.rig, settings->calibration);
    return error ? message_text("%s: %s", settings->where, error) : NULL;
}

static void close_simulator(void *of)
{
    struct simulator *s = of;
    if (!s) return;
    wire_close(&s->wire);
    header_free(&s->header);
    free(s);
}

/** Samples, each at its time, then the time of the chunk. */
static void take_samples(struct simulator *s, const chunk_t *c, uint8_t *payload)
{
    bytes_t from = bytes_of(payload, c->bytes);
    const uint32_t count = (uint32_t)bytes_get(&from, 4);
    for (uint32_t i = 0; i < count; i++) {
        vfront_imu_t sample = {.t_ns = bytes_get(&from, 8)};
        for (int k = 0; k < 3; k++) sample.gyro_rad_s[k] = bytes_get_double(&from);
        for (int k = 0; k < 3; k++) sample.accel_m_s2[k] = bytes_get_double(&from);
        if (from.short_of) return;
        if (sample.t_ns > clock_ns() && sample.t_ns <= c->t_ns) clock_set_ns(sample.t_ns);
        if (s->settings.has_samples) s->settings.take(s->settings.context, &sample);
    }
    if (c->t_ns > clock_ns()) clock_set_ns(c->t_ns);
}

static source_status_t fail(struct simulator *s, const char *error)
{
    s->fault = message_text("%s: %s", s->settings.where, error);
    return SOURCE_FAILED;
}

static source_status_t next_frame(void *of, vfront_frame_t *frame, uint64_t *arrived_ns)
{
    struct simulator *s = of;
    chunk_t c;
    uint8_t *payload;
    if (s->settings.frames && s->given == s->settings.frames) return SOURCE_END;
    const char *error = s->owes ? wire_send(&s->wire, CHUNK_EVENT, clock_ns(), "on", 2, NULL, 0) : NULL;
    s->owes = 0;
    if (!error) error = wire_receive(&s->wire, &c, &payload, POLL_MS);
    if (error) return fail(s, error);
    if (c.type == CHUNK_END) return SOURCE_END;
    s->owes = c.type == CHUNK_IMU || c.type == CHUNK_FRAME;
    if (c.type == CHUNK_IMU) take_samples(s, &c, payload);
    if (c.type != CHUNK_FRAME) return SOURCE_NOTHING;
    error = frame_read(&s->recorded, &s->header.rig, payload, c.bytes);
    if (error) return fail(s, error);
    s->given++;
    *frame = s->recorded.frame;
    frame->imu = NULL;
    frame->imu_count = 0;
    *arrived_ns = clock_ns();
    return SOURCE_FRAME;
}

static const vfront_rig_t *rig_of(const void *of) { return &((const struct simulator *)of)->header.rig; }
static int has_samples(const void *of) { return ((const struct simulator *)of)->header.rig.imu.rate_hz > 0.0; }

static uint64_t skipped(const void *of)
{
    (void)of;
    return 0;
}

static const char *fault_of(void *of)
{
    struct simulator *s = of;
    const char *fault = s->fault;
    s->fault = NULL;
    return fault;
}

const source_kind_t source_sim = {.open = open_simulator,
                                  .close = close_simulator,
                                  .rig = rig_of,
                                  .has_samples = has_samples,
                                  .next = next_frame,
                                  .fault = fault_of,
                                  .skipped = skipped};
