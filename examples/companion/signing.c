/* SPDX-License-Identifier: MIT */
#include "signing.h"

#include <stdio.h>
#include <string.h>

#include "examples/common/message.h"
#include "sha256.h"

enum { SIGNATURE = 13, DIGEST = 6, TIME = 6, FLAGS_AT = 2, SYSTEM_AT = 5, COMPONENT_AT = 6 };

#define EPOCH_S 1420070400u /* 1 January 2015 */
#define STEP_NS 10000u
#define MINUTE 6000000u

static int digit(int c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
}

/** 64 digits, and a newline at most. */
static int read_digits(uint8_t key[SIGNING_KEY], const uint8_t *text, size_t bytes)
{
    if (bytes != 2 * SIGNING_KEY && !(bytes == 2 * SIGNING_KEY + 1 && text[bytes - 1] == '\n')) return 0;
    for (int i = 0; i < SIGNING_KEY; i++) {
        const int high = digit(text[2 * i]), low = digit(text[2 * i + 1]);
        if (high < 0 || low < 0) return 0;
        key[i] = (uint8_t)(16 * high + low);
    }
    return 1;
}

const char *signing_read_key(uint8_t key[SIGNING_KEY], const char *path)
{
    uint8_t text[2 * SIGNING_KEY + 2];
    FILE *file = fopen(path, "rb");
    if (!file) return message_text("--key %.80s: cannot be read", path);
    const size_t bytes = fread(text, 1, sizeof text, file);
    fclose(file);
    if (bytes == SIGNING_KEY) return memcpy(key, text, SIGNING_KEY), NULL;
    return read_digits(key, text, bytes) ? NULL : message_text("--key %.80s: not 32 bytes or 64 digits", path);
}

uint64_t signing_time(uint64_t unix_ns)
{
    const uint64_t epoch_ns = EPOCH_S * 1000000000ull;
    return unix_ns > epoch_ns ? (unix_ns - epoch_ns) / STEP_NS : 0;
}

/** Signature of a frame that has link and time behind it. */
static void sign(uint8_t out[DIGEST], const signing_t *s, const uint8_t *frame, size_t bytes)
{
    uint8_t all[SIGNING_KEY + MAVLINK_FRAME_MAX], digest[SHA256_BYTES];
    memcpy(all, s->key, SIGNING_KEY);
    memcpy(all + SIGNING_KEY, frame, bytes);
    sha256(digest, all, SIGNING_KEY + bytes);
    memcpy(out, digest, DIGEST);
}

size_t signing_encode(signing_t *s, uint8_t frame[MAVLINK_FRAME_MAX], const mavlink_message_t *m, uint64_t time)
{
    size_t bytes = mavlink_encode_flagged(frame, m, MAVLINK_SIGNED);
    if (!bytes) return 0;
    s->newest = time > s->newest ? time : s->newest + 1;
    frame[bytes++] = s->link;
    for (int i = 0; i < TIME; i++) frame[bytes++] = (uint8_t)(s->newest >> 8 * i);
    sign(frame + bytes, s, frame, bytes);
    return bytes + DIGEST;
}

/** The time of its stream's last frame; NULL: of a stream too many. */
static uint64_t *stream_of(signing_t *s, uint32_t name, uint64_t time)
{
    for (int i = 0; i < s->streams; i++)
        if (s->stream[i] == name) return &s->stream_newest[i];
    if (s->streams == SIGNING_STREAMS || time + MINUTE < s->newest) return NULL;
    s->stream[s->streams] = name;
    return &s->stream_newest[s->streams++];
}

int signing_accept(void *of, const uint8_t *frame, size_t bytes)
{
    signing_t *s = of;
    uint8_t right[DIGEST];
    uint64_t time = 0;
    uint32_t differs = 0;
    if (!(frame[FLAGS_AT] & MAVLINK_SIGNED) || bytes < SIGNATURE) return s->forged++, 0;
    const uint8_t *behind = frame + bytes - SIGNATURE;
    sign(right, s, frame, bytes - DIGEST);
    for (int i = 0; i < DIGEST; i++) differs |= (uint32_t)(right[i] ^ behind[1 + TIME + i]);
    if (differs) return s->forged++, 0;
    for (int i = 0; i < TIME; i++) time |= (uint64_t)behind[1 + i] << 8 * i;
    uint64_t *newest = stream_of(s, (uint32_t)frame[SYSTEM_AT] << 16 | (uint32_t)frame[COMPONENT_AT] << 8 | *behind,
                                 time);
    if (!newest || time <= *newest) return s->replayed++, 0;
    *newest = time;
    if (time > s->newest) s->newest = time;
    return 1;
}
