/* SPDX-License-Identifier: MIT
 *
 * Signatures of MAVLink 2 (examples/companion/signing.h) and SHA-256 under them, by the digests of FIPS 180-4;
 * tests/companion/mavlink.py compares with pymavlink.
 */
#define _DEFAULT_SOURCE /* mkstemp, P_tmpdir */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "examples/companion/sha256.h"
#include "examples/companion/signing.h"
#include "tests/fixture/random.h"
#include "tests/fixture/temporary.h"

static void check_digest(const char *text, const char *want)
{
    uint8_t digest[SHA256_BYTES];
    char hex[2 * SHA256_BYTES + 1];
    sha256(digest, (const uint8_t *)text, strlen(text));
    for (int i = 0; i < SHA256_BYTES; i++) snprintf(hex + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(hex, want);
}

static void test_digests(void **state)
{
    static char many[1000001];
    (void)state;
    check_digest("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    check_digest("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check_digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                 "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    memset(many, 'a', sizeof many - 1);
    check_digest(many, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

static const char *key_of(uint8_t key[SIGNING_KEY], const char *text, size_t bytes)
{
    char path[64];
    const int fd = mkstemp(temporary(path, "key"));
    assert_true(fd >= 0 && write(fd, text, bytes) == (ssize_t)bytes);
    close(fd);
    const char *error = signing_read_key(key, path);
    unlink(path);
    return error;
}

static void test_key_files(void **state)
{
    static const char digits[] = "000102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F\n";
    uint8_t key[SIGNING_KEY] = {0};
    (void)state;
    assert_null(key_of(key, digits, 65));
    for (int i = 0; i < SIGNING_KEY; i++) assert_int_equal(key[i], i);
    assert_null(key_of(key, digits, 64));
    assert_null(key_of(key, digits, 32));
    assert_memory_equal(key, digits, SIGNING_KEY);
    assert_non_null(key_of(key, digits, 0));
    assert_non_null(key_of(key, digits, 31));
    assert_non_null(key_of(key, digits, 63));
    assert_non_null(
        strstr(key_of(key, "g00102030405060708090a0b0c0d0e0f101112131415161718191A1B1C1D1E1F", 64), "--key"));
    assert_non_null(signing_read_key(key, "/nowhere/key"));
}

static size_t signed_frame(signing_t *s, uint8_t frame[MAVLINK_FRAME_MAX], uint64_t time)
{
    mavlink_message_t m;
    memset(&m, 0, sizeof m);
    m.id = MAVLINK_HEARTBEAT;
    m.system = m.component = 1;
    m.as.heartbeat.type[0] = 2;
    return signing_encode(s, frame, &m, time);
}

/** What a parser with a key takes: each frame once, in its order, by its key, a new stream's not of long ago. */
static void test_replay(void **state)
{
    static signing_t theirs, ours, other;
    static mavlink_parser_t parser = {.accept = signing_accept, .of = &ours};
    uint8_t frame[4][MAVLINK_FRAME_MAX], plain[MAVLINK_FRAME_MAX];
    size_t bytes[4];
    mavlink_message_t m = {.id = MAVLINK_HEARTBEAT, .system = 1, .component = 1};
    (void)state;
    memset(theirs.key, 7, SIGNING_KEY);
    memset(ours.key, 7, SIGNING_KEY);
    memset(other.key, 8, SIGNING_KEY);
    theirs.link = other.link = 3;
    ours.newest = 90000000;
    other.newest = 100000010;
    bytes[0] = signed_frame(&theirs, frame[0], 100000000);
    bytes[1] = signed_frame(&theirs, frame[1], 100000000); /* a clock that stands: its time rises all the same */
    bytes[2] = signed_frame(&other, frame[2], 0);
    theirs.link = 4;
    theirs.newest = 0;
    bytes[3] = signed_frame(&theirs, frame[3], 90000000); /* another link, 100 s old */
    static const int order[] = {1, 0, 1, 2, 3}, taken[] = {1, 0, 0, 0, 0};
    for (int i = 0; i < 5; i++) {
        const uint8_t *at = frame[order[i]];
        size_t left = bytes[order[i]];
        REQUIRE(mavlink_parse(&parser, &at, &left, &m) == taken[i], "frame %d ", i);
        if (taken[i]) assert_true(m.is_signed && m.as.heartbeat.type[0] == 2);
    }
    const uint8_t *at = plain;
    size_t left = mavlink_encode(plain, &m);
    assert_int_equal(mavlink_parse(&parser, &at, &left, &m), 0);
    assert_true(ours.forged == 2 && ours.replayed == 3 && parser.is_signed == 5);
    assert_int_equal(signing_time(1420070400000000000u + 10000), 1);
    assert_int_equal(signing_time(0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_digests), cmocka_unit_test(test_key_files),
                                       cmocka_unit_test(test_replay)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
