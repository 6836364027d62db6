/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* clock_gettime */
#include "header.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "bytes.h"
#include "examples/common/message.h"
#include "examples/common/tuning_names.h"

#ifndef RECORDING_SOURCES
#define RECORDING_SOURCES "unknown"
#endif
#define TUNING_MAX 1024u

static char failure[600]; /* why a function failed */
#define FAIL(...) message_print(failure, sizeof failure, __VA_ARGS__)

static const vfront_value_t config[] = {VFRONT_CONFIG(VFRONT_VALUE_OF)};
#define CONFIG_COUNT (sizeof config / sizeof *config)
_Static_assert(CONFIG_COUNT <= HEADER_CONFIG_MAX, "HEADER_CONFIG_MAX is too small");

const char *header_sources(void) { return RECORDING_SOURCES; }

void header_make(recording_header_t *h, const char *program, const char *source, const vfront_rig_t *rig,
                 const vfront_tuning_t *tuning, const vfront_info_t *info)
{
    struct timespec now;
    memset(h, 0, sizeof *h);
    clock_gettime(CLOCK_REALTIME, &now);
    h->abi = VFRONT_ABI;
    h->port = (uint32_t)info->port;
    h->began_ns = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    snprintf(h->version, sizeof h->version, "%s", vfront_version());
    snprintf(h->sources, sizeof h->sources, "%s", header_sources());
    snprintf(h->program, sizeof h->program, "%s", program);
    snprintf(h->source, sizeof h->source, "%.255s", source);
    snprintf(h->device, sizeof h->device, "%s", info->device);
    h->config_count = CONFIG_COUNT;
    for (size_t i = 0; i < CONFIG_COUNT; i++) {
        snprintf(h->config[i].name, sizeof h->config[i].name, "%s", config[i].name);
        h->config[i].value = config[i].value;
    }
    h->rig = *rig;
    h->tuning = *tuning;
}

/* ---- write ------------------------------------------------------------------------------------------------------- */

static size_t mask_bytes(const vfront_camera_t *c) { return (size_t)c->width_px * (size_t)c->height_px; }

size_t header_bytes(const recording_header_t *h)
{
    size_t bytes = 65536;
    for (size_t i = 0; vfront_tuning_entry(i); i++) bytes += HEADER_TEXT + 4;
    for (int32_t i = 0; i < h->rig.cameras; i++) bytes += h->rig.camera[i].mask ? mask_bytes(&h->rig.camera[i]) : 0;
    return bytes;
}

static void put_doubles(bytes_t *b, const double *value, int count)
{
    for (int i = 0; i < count; i++) bytes_put_double(b, value[i]);
}

static void put_camera(bytes_t *b, const vfront_camera_t *c)
{
    const double lens[4] = {c->fx_px, c->fy_px, c->cx_px, c->cy_px};
    bytes_put(b, (uint32_t)c->width_px, 4);
    bytes_put(b, (uint32_t)c->height_px, 4);
    bytes_put(b, (uint32_t)c->lens, 4);
    put_doubles(b, lens, 4);
    put_doubles(b, c->distortion, 8);
    put_doubles(b, c->R_cam_imu, 9);
    put_doubles(b, c->t_cam_imu_m, 3);
    bytes_put_double(b, c->row_us);
    bytes_put(b, c->mask != NULL, 1);
    for (int32_t y = 0; c->mask && y < c->height_px; y++) {
        uint8_t *to = bytes_take(b, (size_t)c->width_px);
        if (to) memcpy(to, c->mask + (size_t)y * c->mask_pitch_bytes, (size_t)c->width_px);
    }
}

static void put_imu(bytes_t *b, const vfront_imu_noise_t *n)
{
    const double value[8] = {n->gyro_density,     n->accel_density,    n->gyro_walk, n->accel_walk,
                             n->gyro_limit_rad_s, n->accel_limit_m_s2, n->rate_hz,   n->gravity_m_s2};
    put_doubles(b, value, 8);
}

static void put_tuning(bytes_t *b, const vfront_tuning_t *t)
{
    uint32_t count = 0;
    while (vfront_tuning_entry(count)) count++;
    bytes_put(b, count, 4);
#define PUT(name, standard, least, most, meaning)                                                                      \
    bytes_put_text(b, #name);                                                                                          \
    bytes_put(b, (uint32_t)t->name, 4);
    VFRONT_TUNING(PUT)
#undef PUT
}

size_t header_write(const recording_header_t *h, uint8_t *payload, size_t most)
{
    bytes_t b = bytes_of(payload, most);
    bytes_put(&b, HEADER_VERSION, 4);
    bytes_put(&b, h->abi, 4);
    bytes_put(&b, h->port, 4);
    bytes_put(&b, h->began_ns, 8);
    bytes_put_text(&b, h->version);
    bytes_put_text(&b, h->sources);
    bytes_put_text(&b, h->program);
    bytes_put_text(&b, h->source);
    bytes_put_text(&b, h->device);
    bytes_put(&b, h->config_count, 4);
    for (uint32_t i = 0; i < h->config_count; i++) {
        bytes_put_text(&b, h->config[i].name);
        bytes_put(&b, h->config[i].value, 8);
    }
    bytes_put(&b, (uint32_t)h->rig.cameras, 4);
    for (int32_t i = 0; i < h->rig.cameras; i++) put_camera(&b, &h->rig.camera[i]);
    put_doubles(&b, &h->rig.road_height_m, 1);
    put_doubles(&b, &h->rig.road_pitch_rad, 1);
    put_imu(&b, &h->rig.imu);
    bytes_put(&b, (uint64_t)h->rig.imu_offset_ns, 8);
    put_tuning(&b, &h->tuning);
    return b.used;
}

/* ---- read -------------------------------------------------------------------------------------------------------- */

static void get_doubles(bytes_t *b, double *value, int count)
{
    for (int i = 0; i < count; i++) value[i] = bytes_get_double(b);
}

static const char *get_mask(recording_header_t *h, bytes_t *b, int32_t i)
{
    vfront_camera_t *c = &h->rig.camera[i];
    const uint64_t has = bytes_get(b, 1);
    if (!has) return NULL;
    const uint8_t *from = has == 1 ? bytes_take(b, mask_bytes(c)) : NULL; /* what is there bounds the memory taken */
    if (!from) return FAIL("camera %d: its mask is not whole", (int)i);
    h->mask[i] = malloc(mask_bytes(c));
    if (!h->mask[i]) return FAIL("no memory for the mask of camera %d", (int)i);
    memcpy(h->mask[i], from, mask_bytes(c));
    c->mask = h->mask[i];
    c->mask_pitch_bytes = (uint32_t)c->width_px;
    return NULL;
}

static const char *get_camera(recording_header_t *h, bytes_t *b, int32_t i)
{
    vfront_camera_t *c = &h->rig.camera[i];
    double lens[4];
    c->width_px = (int32_t)bytes_get(b, 4);
    c->height_px = (int32_t)bytes_get(b, 4);
    const uint32_t model = (uint32_t)bytes_get(b, 4);
    get_doubles(b, lens, 4);
    get_doubles(b, c->distortion, 8);
    get_doubles(b, c->R_cam_imu, 9);
    get_doubles(b, c->t_cam_imu_m, 3);
    get_doubles(b, &c->row_us, 1);
    c->fx_px = lens[0];
    c->fy_px = lens[1];
    c->cx_px = lens[2];
    c->cy_px = lens[3];
    if (c->width_px < 16 || c->height_px < 16 || c->width_px > 4096 || c->height_px > 4096)
        return FAIL("camera %d: pictures of %dx%d px", (int)i, (int)c->width_px, (int)c->height_px);
    if (c->width_px > VFRONT_WIDTH || c->height_px > VFRONT_HEIGHT)
        return FAIL("camera %d: %dx%d px are more than this build takes, %dx%d: define VFRONT_WIDTH and VFRONT_HEIGHT "
                    "in a header and build with `make CFG=header.h`",
                    (int)i, (int)c->width_px, (int)c->height_px, VFRONT_WIDTH, VFRONT_HEIGHT);
    if (!vfront_lens_name((vfront_lens_t)model)) return FAIL("camera %d: lens model %" PRIu32, (int)i, model);
    c->lens = (vfront_lens_t)model;
    return get_mask(h, b, i);
}

static const char *get_rig(recording_header_t *h, bytes_t *b)
{
    const uint32_t cameras = (uint32_t)bytes_get(b, 4);
    double imu[8];
    if (cameras < 1 || cameras > VFRONT_CAMERAS)
        return FAIL("%" PRIu32 " cameras; this build takes 1 to %d", cameras, VFRONT_CAMERAS);
    h->rig.cameras = (int32_t)cameras;
    for (int32_t i = 0; i < h->rig.cameras; i++) {
        const char *error = get_camera(h, b, i);
        if (error) return error;
    }
    get_doubles(b, &h->rig.road_height_m, 1);
    get_doubles(b, &h->rig.road_pitch_rad, 1);
    get_doubles(b, imu, 8);
    h->rig.imu = (vfront_imu_noise_t){imu[0], imu[1], imu[2], imu[3], imu[4], imu[5], imu[6], imu[7]};
    h->rig.imu_offset_ns = (int64_t)bytes_get(b, 8);
    return NULL;
}

static const char *get_config(recording_header_t *h, bytes_t *b)
{
    h->config_count = (uint32_t)bytes_get(b, 4);
    if (h->config_count > HEADER_CONFIG_MAX) return FAIL("%" PRIu32 " values of the config", h->config_count);
    for (uint32_t i = 0; i < h->config_count; i++) {
        bytes_get_text(b, h->config[i].name);
        h->config[i].value = bytes_get(b, 8);
    }
    return NULL;
}

/** Values by name, so that a build whose tuning has more takes its standard ones for those. */
static const char *get_tuning(recording_header_t *h, bytes_t *b)
{
    const uint32_t count = (uint32_t)bytes_get(b, 4);
    vfront_tuning_default(&h->tuning);
    if (count > TUNING_MAX) return FAIL("%" PRIu32 " tuning values", count);
    for (uint32_t i = 0; i < count && !b->short_of; i++) {
        char name[HEADER_TEXT];
        bytes_get_text(b, name);
        const int32_t value = (int32_t)bytes_get(b, 4);
        const char *error = b->short_of ? NULL : tuning_names_set(&h->tuning, name, value);
        if (error) return FAIL("%s", error);
    }
    return NULL;
}

const char *header_read(recording_header_t *h, uint8_t *payload, size_t bytes)
{
    bytes_t b = bytes_of(payload, bytes);
    memset(h, 0, sizeof *h);
    const uint32_t version = (uint32_t)bytes_get(&b, 4);
    if (version != HEADER_VERSION)
        return FAIL("version %" PRIu32 " of the format; this program reads %u", version, HEADER_VERSION);
    h->abi = (uint32_t)bytes_get(&b, 4);
    h->port = (uint32_t)bytes_get(&b, 4);
    h->began_ns = bytes_get(&b, 8);
    bytes_get_text(&b, h->version);
    bytes_get_text(&b, h->sources);
    bytes_get_text(&b, h->program);
    bytes_get_text(&b, h->source);
    bytes_get_text(&b, h->device);
    const char *error = get_config(h, &b);
    if (!error) error = get_rig(h, &b);
    if (!error) error = get_tuning(h, &b);
    if (!error && b.short_of) error = FAIL("the header is not whole");
    if (!error && bytes_left(&b)) error = FAIL("%zu bytes too many in the header", bytes_left(&b));
    if (error) header_free(h);
    return error;
}

void header_free(recording_header_t *h)
{
    for (int i = 0; i < VFRONT_CAMERAS; i++) {
        free(h->mask[i]);
        h->mask[i] = NULL;
        h->rig.camera[i].mask = NULL;
    }
}

/** 1 for values of the config that may differ between two builds of the same bits: where the step runs. */
static int changes_nothing(const char *name) { return strcmp(name, "VFRONT_HOST") == 0; }

const char *header_other_config(const recording_header_t *h)
{
    for (size_t i = 0; i < CONFIG_COUNT; i++)
        for (uint32_t k = 0; k < h->config_count; k++) {
            if (strcmp(config[i].name, h->config[k].name) != 0 || config[i].value == h->config[k].value) continue;
            if (changes_nothing(config[i].name)) continue;
            return FAIL("%s: %" PRIu64 " in the recording, %" PRIu64 " in this build", config[i].name,
                        h->config[k].value, config[i].value);
        }
    return NULL;
}
