/* SPDX-License-Identifier: MIT */
#include "frame.h"

#include <inttypes.h>

#include "bytes.h"
#include "examples/common/message.h"

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "pixels of two bytes are copied as they are");

static char failure[240]; /* why a function failed */
#define FAIL(...) message_print(failure, sizeof failure, __VA_ARGS__)

static size_t pixel_bytes(vfront_format_t format) { return format == VFRONT_GREY8 || format == VFRONT_NV12 ? 1 : 2; }

size_t frame_row_bytes(const vfront_picture_t *p)
{
    return p->format == VFRONT_NO_PICTURE ? 0 : (size_t)p->width_px * pixel_bytes(p->format);
}

static size_t picture_bytes(const vfront_picture_t *p) { return frame_row_bytes(p) * (size_t)p->height_px; }

static size_t mask_bytes(const vfront_picture_t *p)
{
    return p->mask && p->format != VFRONT_NO_PICTURE ? (size_t)p->mask_width_px * (size_t)p->mask_height_px : 0;
}

static int is_writable(const vfront_picture_t *p)
{
    if (p->format == VFRONT_NO_PICTURE) return 1;
    if (!p->data || (unsigned)p->format > VFRONT_YUYV || p->memory == VFRONT_DEVICE_MEMORY) return 0;
    if (p->width_px < 1 || p->height_px < 1 || p->width_px > 4096 || p->height_px > 4096) return 0;
    if (p->pitch_bytes < frame_row_bytes(p)) return 0;
    return !p->mask || (p->mask_width_px == p->width_px && p->mask_height_px == p->height_px &&
                        p->mask_pitch_bytes >= (uint32_t)p->mask_width_px);
}

size_t frame_bytes(const vfront_frame_t *f, int32_t cameras)
{
    size_t bytes = 26u;
    if (f->gyro_count > VFRONT_GYRO_SAMPLES || f->imu_count > VFRONT_IMU_SAMPLES) return 0;
    if ((f->gyro_count && !f->gyro) || (f->imu_count && !f->imu)) return 0;
    bytes += (f->R_cur_prev ? 72u : 0) + 32u * f->gyro_count + 56u * f->imu_count;
    for (int32_t i = 0; i < cameras; i++) {
        if (!is_writable(&f->picture[i])) return 0;
        bytes += 21u + picture_bytes(&f->picture[i]) + mask_bytes(&f->picture[i]);
    }
    return bytes;
}

size_t frame_write_small(const vfront_frame_t *f, int32_t cameras, int flags, uint8_t *to, size_t max)
{
    bytes_t b = bytes_of(to, max);
    flags |= (f->gyro ? FRAME_HAS_GYRO : 0) | (f->imu ? FRAME_HAS_IMU : 0) | (f->R_cur_prev ? FRAME_HAS_ROTATION : 0);
    bytes_put(&b, f->t_ns, 8);
    bytes_put(&b, f->exposure_ns, 4);
    bytes_put(&b, (uint64_t)flags, 1);
    bytes_put(&b, (uint64_t)cameras, 1);
    bytes_put(&b, f->gyro_count, 4);
    bytes_put(&b, f->imu_count, 4);
    bytes_put(&b, 0, 4);
    for (int32_t i = 0; i < cameras; i++) {
        const vfront_picture_t *p = &f->picture[i];
        bytes_put(&b, (uint32_t)p->width_px, 4);
        bytes_put(&b, (uint32_t)p->height_px, 4);
        bytes_put(&b, (uint32_t)p->format, 4);
        bytes_put(&b, p->t_ns, 8);
        bytes_put(&b, mask_bytes(p) > 0, 1);
    }
    for (int i = 0; f->R_cur_prev && i < 9; i++) bytes_put_double(&b, f->R_cur_prev[i]);
    for (uint32_t i = 0; i < f->gyro_count; i++) {
        bytes_put(&b, f->gyro[i].t_ns, 8);
        for (int k = 0; k < 3; k++) bytes_put_double(&b, f->gyro[i].rate_rad_s[k]);
    }
    for (uint32_t i = 0; i < f->imu_count; i++) {
        bytes_put(&b, f->imu[i].t_ns, 8);
        for (int k = 0; k < 3; k++) bytes_put_double(&b, f->imu[i].gyro_rad_s[k]);
        for (int k = 0; k < 3; k++) bytes_put_double(&b, f->imu[i].accel_m_s2[k]);
    }
    return b.used;
}

/* ---- read -------------------------------------------------------------------------------------------------------- */

/** Heads of the pictures; which have a mask goes to `masked`. */
static const char *read_pictures(vfront_frame_t *f, const vfront_rig_t *rig, bytes_t *b, int masked[VFRONT_CAMERAS])
{
    for (int32_t i = 0; i < rig->cameras; i++) {
        vfront_picture_t *p = &f->picture[i];
        p->width_px = (int32_t)bytes_get(b, 4);
        p->height_px = (int32_t)bytes_get(b, 4);
        const uint32_t format = (uint32_t)bytes_get(b, 4);
        p->t_ns = bytes_get(b, 8);
        const uint64_t has_mask = bytes_get(b, 1);
        if (format > VFRONT_NO_PICTURE) return FAIL("camera %d: pixel format %" PRIu32, (int)i, format);
        p->format = (vfront_format_t)format;
        masked[i] = has_mask == 1;
        if (has_mask > 1) return FAIL("camera %d: neither a mask nor none", (int)i);
        if (p->format == VFRONT_NO_PICTURE) continue;
        if (p->width_px != rig->camera[i].width_px || p->height_px != rig->camera[i].height_px)
            return FAIL("camera %d: a picture of %dx%d px, the rig has %dx%d", (int)i, (int)p->width_px,
                        (int)p->height_px, (int)rig->camera[i].width_px, (int)rig->camera[i].height_px);
    }
    return NULL;
}

static void read_samples(recorded_frame_t *out, int flags, bytes_t *b)
{
    vfront_frame_t *f = &out->frame;
    for (int i = 0; flags & FRAME_HAS_ROTATION && i < 9; i++) out->R_cur_prev[i] = bytes_get_double(b);
    for (uint32_t i = 0; i < f->gyro_count; i++) {
        out->gyro[i].t_ns = bytes_get(b, 8);
        for (int k = 0; k < 3; k++) out->gyro[i].rate_rad_s[k] = bytes_get_double(b);
    }
    for (uint32_t i = 0; i < f->imu_count; i++) {
        out->imu[i].t_ns = bytes_get(b, 8);
        for (int k = 0; k < 3; k++) out->imu[i].gyro_rad_s[k] = bytes_get_double(b);
        for (int k = 0; k < 3; k++) out->imu[i].accel_m_s2[k] = bytes_get_double(b);
    }
    f->R_cur_prev = flags & FRAME_HAS_ROTATION ? out->R_cur_prev : NULL;
    f->gyro = flags & FRAME_HAS_GYRO ? out->gyro : NULL;
    f->imu = flags & FRAME_HAS_IMU ? out->imu : NULL;
}

static void read_pixels(vfront_picture_t *p, int masked, bytes_t *b)
{
    p->data = bytes_take(b, picture_bytes(p));
    p->pitch_bytes = (uint32_t)frame_row_bytes(p);
    p->memory = VFRONT_HOST_MEMORY;
    if (!masked) return;
    p->mask_width_px = p->width_px;
    p->mask_height_px = p->height_px;
    p->mask_pitch_bytes = (uint32_t)p->width_px;
    p->mask = bytes_take(b, (size_t)p->width_px * (size_t)p->height_px);
}

const char *frame_read(recorded_frame_t *out, const vfront_rig_t *rig, uint8_t *payload, size_t bytes)
{
    bytes_t b = bytes_of(payload, bytes);
    int masked[VFRONT_CAMERAS] = {0};
    vfront_frame_t *f = &out->frame;
    memset(f, 0, sizeof *f);
    f->t_ns = bytes_get(&b, 8);
    f->exposure_ns = (uint32_t)bytes_get(&b, 4);
    const int flags = (int)bytes_get(&b, 1);
    const int32_t cameras = (int32_t)bytes_get(&b, 1);
    f->gyro_count = (uint32_t)bytes_get(&b, 4);
    f->imu_count = (uint32_t)bytes_get(&b, 4);
    bytes_get(&b, 4);
    out->after_reset = flags & FRAME_AFTER_RESET;
    if (cameras != rig->cameras) return FAIL("pictures of %d cameras, the rig has %d", (int)cameras, (int)rig->cameras);
    if (f->gyro_count > VFRONT_GYRO_SAMPLES || f->imu_count > VFRONT_IMU_SAMPLES)
        return FAIL("%" PRIu32 " gyro and %" PRIu32 " IMU samples; this build takes %d and %d", f->gyro_count,
                    f->imu_count, VFRONT_GYRO_SAMPLES, VFRONT_IMU_SAMPLES);
    if ((f->gyro_count && !(flags & FRAME_HAS_GYRO)) || (f->imu_count && !(flags & FRAME_HAS_IMU)))
        return FAIL("samples of a frame that has none");
    const char *error = read_pictures(f, rig, &b, masked);
    if (error) return error;
    read_samples(out, flags, &b);
    for (int32_t i = 0; i < rig->cameras; i++)
        if (f->picture[i].format != VFRONT_NO_PICTURE) read_pixels(&f->picture[i], masked[i], &b);
    if (b.short_of) return FAIL("the frame is not whole");
    return !bytes_left(&b) ? NULL : FAIL("%zu bytes too many in the frame", bytes_left(&b));
}
