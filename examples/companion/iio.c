/* SPDX-License-Identifier: MIT */
#define _DEFAULT_SOURCE /* dirent's types */
#include "iio.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/common/message.h"

#define DEVICES_MAX 64
#define BUFFER_SCANS 256
#define RETRY_NS 1000000000u
#define BAD_STAMP_NS 1000000000u /* older than that no sample can be */
#define AHEAD_NS 10000000u       /* nor later than now by more, which was a little before */
#define TEXT 96                  /* of a file */

enum { TIME = 6 };

static const char *const name_of[IIO_CHANNELS] = {"in_anglvel_x", "in_anglvel_y", "in_anglvel_z", "in_accel_x",
                                                  "in_accel_y",   "in_accel_z",   "in_timestamp"};

/* ---- sysfs ------------------------------------------------------------------------------------------------------- */

/** First line of a file of the device. 0: it cannot be read. */
static int get(const iio_t *iio, const char *name, char text[TEXT])
{
    char path[640];
    snprintf(path, sizeof path, "%s/%s", iio->folder, name);
    FILE *f = fopen(path, "r");
    const int good = f && fgets(text, TEXT, f);
    if (f) fclose(f);
    if (good) text[strcspn(text, "\r\n")] = 0;
    return good;
}

static int get_double(const iio_t *iio, const char *name, double *value)
{
    char text[TEXT], *end;
    if (!get(iio, name, text)) return 0;
    const double v = strtod(text, &end);
    if (end == text || *end || !(v > -1e9 && v < 1e9)) return 0;
    *value = v;
    return 1;
}

static int put(const iio_t *iio, const char *name, const char *text)
{
    char path[640];
    snprintf(path, sizeof path, "%s/%s", iio->folder, name);
    FILE *f = fopen(path, "r+");
    if (!f) return 0;
    const int good = fprintf(f, "%s\n", text) > 0;
    return fclose(f) == 0 && good;
}

/** Folder of the device of that number or name. */
static const char *find(iio_t *iio, int *number)
{
    char text[TEXT], *end;
    const long asked = strtol(iio->device, &end, 10);
    const int by_number = end != iio->device && !*end;
    for (int i = 0; i < DEVICES_MAX; i++) {
        snprintf(iio->folder, sizeof iio->folder, "%s/sys/bus/iio/devices/iio:device%d", iio->root, i);
        if (by_number && i != asked) continue;
        if (!get(iio, "name", text) || (!by_number && strcmp(text, iio->device) != 0)) continue;
        *number = i;
        return NULL;
    }
    *iio->folder = 0;
    iio->is_absent = 1;
    return message_text("iio:%s: no such device", iio->device);
}

/* ---- layout ------------------------------------------------------------------------------------------------------ */

/** Type of a scan element, as "le:s16/16>>0". */
static int read_type(iio_channel_t *c, const char *text)
{
    char order, sign, rest;
    uint32_t storage;
    if (sscanf(text, "%ce:%c%u/%u>>%u%c", &order, &sign, &c->bits, &storage, &c->shift, &rest) != 5) return 0;
    if ((order != 'l' && order != 'b') || (sign != 's' && sign != 'u')) return 0;
    if (storage != 8 && storage != 16 && storage != 32 && storage != 64) return 0;
    if (c->bits < 1 || c->bits > storage || c->shift >= storage || c->bits + c->shift > storage) return 0;
    c->is_big_endian = order == 'b';
    c->is_signed = sign == 's';
    c->bytes = storage / 8;
    return 1;
}

/** Scale or offset: of the axis, or of all three. */
static int get_of(const iio_t *iio, int channel, const char *what, double *value)
{
    char name[64];
    snprintf(name, sizeof name, "%s_%s", name_of[channel], what);
    if (get_double(iio, name, value)) return 1;
    snprintf(name, sizeof name, "%.*s_%s", (int)(strlen(name_of[channel]) - 2), name_of[channel], what);
    return get_double(iio, name, value);
}

static const char *read_channel(iio_t *iio, int i)
{
    iio_channel_t *c = &iio->channel[i];
    char name[64], text[TEXT];
    double index;
    snprintf(name, sizeof name, "scan_elements/%s_type", name_of[i]);
    if (!get(iio, name, text)) return message_text("iio:%s: has no %s in its buffer", iio->device, name_of[i]);
    if (!read_type(c, text))
        return message_text("iio:%s: %s: %s is no type of a scan element", iio->device, name_of[i], text);
    snprintf(name, sizeof name, "scan_elements/%s_index", name_of[i]);
    if (!get_double(iio, name, &index) || index < 0.0 || index > 1000.0)
        return message_text("iio:%s: %s: no index", iio->device, name_of[i]);
    c->index = (uint32_t)index;
    c->scale = 1.0;
    c->offset = 0.0;
    if (i == TIME) return c->bytes == 8 ? NULL : message_text("iio:%s: its time is not of 64 bits", iio->device);
    if (!get_of(iio, i, "scale", &c->scale)) return message_text("iio:%s: %s: no scale", iio->device, name_of[i]);
    (void)get_of(iio, i, "offset", &c->offset);
    return NULL;
}

/** Places in the scan: by rising index, each at a multiple of its size; the scan at one of the largest. */
static const char *lay_out(iio_t *iio)
{
    uint32_t used = 0, largest = 1, done = 0;
    for (uint32_t n = 0; n < IIO_CHANNELS; n++) {
        int next = -1;
        for (int i = 0; i < IIO_CHANNELS; i++)
            if (!(done >> i & 1u) && (next < 0 || iio->channel[i].index < iio->channel[next].index)) next = i;
        iio_channel_t *c = &iio->channel[next];
        for (int i = 0; i < IIO_CHANNELS; i++)
            if (i != next && iio->channel[i].index == c->index)
                return message_text("iio:%s: two channels with the index %u", iio->device, c->index);
        used = (used + c->bytes - 1) / c->bytes * c->bytes;
        c->at = used;
        used += c->bytes;
        if (c->bytes > largest) largest = c->bytes;
        done |= 1u << next;
    }
    iio->scan_bytes = (used + largest - 1) / largest * largest;
    return NULL;
}

/** Switches every element of the buffer on or off. */
static const char *choose_elements(iio_t *iio)
{
    char path[512], name[300];
    snprintf(path, sizeof path, "%s/scan_elements", iio->folder);
    DIR *dir = opendir(path);
    if (!dir) return message_text("iio:%s: has no buffer", iio->device);
    const char *error = NULL;
    for (struct dirent *entry; !error && (entry = readdir(dir)) != NULL;) {
        const size_t length = strlen(entry->d_name);
        int wanted = 0;
        if (length < 4 || length > 200 || strcmp(entry->d_name + length - 3, "_en") != 0) continue;
        for (int i = 0; i < IIO_CHANNELS; i++)
            wanted |= strlen(name_of[i]) == length - 3 && strncmp(entry->d_name, name_of[i], length - 3) == 0;
        snprintf(name, sizeof name, "scan_elements/%s", entry->d_name);
        if (!put(iio, name, wanted ? "1" : "0")) error = message_text("iio:%s: %s cannot be set", iio->device, name);
    }
    closedir(dir);
    return error;
}

static void ask_rate(iio_t *iio)
{
    static const char *const name[] = {"in_anglvel_sampling_frequency", "in_accel_sampling_frequency",
                                       "sampling_frequency"};
    char text[32];
    snprintf(text, sizeof text, "%g", iio->asked_hz);
    iio->hz = 0.0;
    for (size_t i = 0; i < sizeof name / sizeof *name; i++) {
        (void)put(iio, name[i], text); /* it keeps its own where it has no such rate */
        (void)get_double(iio, name[i], &iio->hz);
    }
}

/* ---- open, close ------------------------------------------------------------------------------------------------- */

static const char *set_up(iio_t *iio)
{
    char text[TEXT], length[16];
    const char *error = NULL;
    (void)put(iio, "buffer/enable", "0"); /* of a program before; elsewise nothing can be set */
    for (int i = 0; i < IIO_CHANNELS && !error; i++) error = read_channel(iio, i);
    if (!error) error = lay_out(iio);
    if (!error) error = choose_elements(iio);
    if (error) return error;
    if (!put(iio, "current_timestamp_clock", "monotonic") || !get(iio, "current_timestamp_clock", text) ||
        strcmp(text, "monotonic") != 0)
        return message_text("iio:%s: its clock cannot be set to the companion's, CLOCK_MONOTONIC", iio->device);
    ask_rate(iio);
    snprintf(length, sizeof length, "%d", BUFFER_SCANS);
    (void)put(iio, "buffer/length", length);
    (void)put(iio, "buffer/watermark", "1"); /* older kernels have none, and wake at once */
    return put(iio, "buffer/enable", "1") ? NULL : message_text("iio:%s: its buffer cannot be enabled", iio->device);
}

/** Opens, or opens again. */
static const char *open_device(iio_t *iio)
{
    int number = 0;
    char path[640];
    iio->is_absent = 0;
    const char *error = find(iio, &number);
    if (!error) error = set_up(iio);
    if (error) return error;
    snprintf(path, sizeof path, "%s/dev/iio:device%d", iio->root, number);
    iio->in_count = 0;
    iio->fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    iio->is_absent = iio->fd < 0 && errno == ENOENT;
    return iio->fd >= 0 ? NULL : message_text("%s: %s", path, strerror(errno));
}

const char *iio_open(iio_t *iio, const char *root, const char *device, double hz)
{
    memset(iio, 0, sizeof *iio);
    iio->fd = -1;
    iio->asked_hz = hz;
    if (strlen(root) >= sizeof iio->root || strlen(device) >= sizeof iio->device || !*device)
        return message_text("iio:%.64s: not the number or name of a device", device);
    snprintf(iio->root, sizeof iio->root, "%s", root);
    snprintf(iio->device, sizeof iio->device, "%s", device);
    return open_device(iio);
}

void iio_close(iio_t *iio)
{
    if (!*iio->device || !*iio->folder) return;
    if (iio->fd >= 0) close(iio->fd);
    iio->fd = -1;
    (void)put(iio, "buffer/enable", "0");
}

const char *iio_maintain(iio_t *iio, uint64_t now_ns)
{
    if (!*iio->device || iio->fd >= 0 || now_ns < iio->retry_ns) return NULL;
    iio->retry_ns = now_ns + RETRY_NS;
    const int was_absent = iio->is_absent;
    const char *error = open_device(iio);
    if (!error) return "vision: the IMU is back";
    return was_absent && !iio->is_absent ? error : NULL;
}

/* ---- samples ---------------------------------------------------------------------------------------------------- */

static int64_t raw_of(const iio_channel_t *c, const uint8_t *scan)
{
    uint64_t v = 0;
    for (uint32_t i = 0; i < c->bytes; i++)
        v |= (uint64_t)scan[c->at + i] << 8 * (c->is_big_endian ? c->bytes - 1 - i : i);
    v >>= c->shift;
    if (c->bits == 64) return (int64_t)v;
    v &= (1ull << c->bits) - 1;
    const uint64_t sign = 1ull << (c->bits - 1);
    return c->is_signed && v & sign ? (int64_t)v - (int64_t)(sign << 1) : (int64_t)v;
}

static double value_of(const iio_channel_t *c, const uint8_t *scan)
{
    return ((double)raw_of(c, scan) + c->offset) * c->scale;
}

uint32_t iio_read(iio_t *iio, uint64_t now_ns, vfront_imu_t *out, uint32_t max)
{
    uint32_t count = 0, at = 0;
    if (!*iio->device || iio->fd < 0) return 0;
    const ssize_t came = read(iio->fd, iio->in + iio->in_count, sizeof iio->in - iio->in_count);
    if (came == 0 || (came < 0 && errno != EAGAIN && errno != EINTR && errno != EBUSY)) {
        close(iio->fd);
        iio->fd = -1;
        iio->retry_ns = now_ns + RETRY_NS;
    }
    if (came > 0) iio->in_count += (uint32_t)came;
    for (; count < max && iio->in_count - at >= iio->scan_bytes; at += iio->scan_bytes) {
        const uint8_t *scan = iio->in + at;
        const int64_t t_ns = raw_of(&iio->channel[TIME], scan);
        iio->scans++;
        if (t_ns <= 0 || (uint64_t)t_ns > now_ns + AHEAD_NS || (uint64_t)t_ns + BAD_STAMP_NS < now_ns) {
            iio->bad_stamps++;
            continue;
        }
        vfront_imu_t *r = &out[count++];
        r->t_ns = (uint64_t)t_ns;
        for (int k = 0; k < 3; k++) {
            r->gyro_rad_s[k] = value_of(&iio->channel[k], scan);
            r->accel_m_s2[k] = value_of(&iio->channel[3 + k], scan);
        }
    }
    iio->in_count -= at;
    memmove(iio->in, iio->in + at, iio->in_count);
    return count;
}
