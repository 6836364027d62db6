/* SPDX-License-Identifier: MIT */
/* Maps saved and loaded through the public interface.
 * - Saving changes nothing, and gives the same bytes on every port. The test reads them by the layout in
 * src/map/serialize.h with its own arithmetic.
 * - Loaded before the first frame or later, on either port, results have the same bits, and loops lead to the loaded
 * keyframes. Saving a loaded map gives the same image.
 * - Refused by name and without effect: every changed byte, every length, other cameras, another config, the same map
 * twice, no room, invalid values, random images with a correct CRC. */
#include "tests/fixture/pair.h"

#include <stdlib.h>

#include "core/context.h"
#include "tests/fixture/random.h"
#include "tests/fixture/rendered.h"

#if VFRONT_MAP

#define FRAMES 22
#define TURN_BACK 12 /* frame of the flight at which the sequence turns back */

static uint8_t image[VFRONT_MAP_BYTES], other[VFRONT_MAP_BYTES];
static size_t length;

/* ---- independent reader of the layout ---------------------------------------------------------------------------- */

static uint64_t number(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    while (bytes--) value = value << 8 | at[bytes];
    return value;
}

static void set(uint8_t *at, uint64_t value, int bytes)
{
    for (; bytes--; value >>= 8) *at++ = (uint8_t)value;
}

/** Bytes of the section of the keyframes; if that is no valid size, all available bytes. */
static size_t keyframe_section(const uint8_t *at, size_t bytes)
{
    const uint64_t own = number(at + 72, 8);
    return own <= bytes - 80 ? (size_t)own : bytes - 80;
}

/** Recomputes id and CRC of the content, bit by bit. */
static void mend(uint8_t *at, size_t bytes)
{
    uint64_t id = 0xcbf29ce484222325ull;
    uint32_t crc = 0xffffffffu;
    for (size_t i = 80; i < 80 + keyframe_section(at, bytes); i += 8) id = (id ^ number(at + i, 8)) * 0x100000001b3ull;
    set(at + 24, id, 8);
    set(at + 60, 0, 4);
    for (size_t i = 0; i < bytes; i++) {
        crc ^= at[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    set(at + 60, ~crc, 4);
}

/** Checks an image against the layout. Returns the number of its keyframes. */
static uint32_t read_layout(const uint8_t *at, size_t bytes)
{
    const uint32_t count = (uint32_t)number(at + 52, 4);
    assert_memory_equal(at, "VFRONT\x8d\x0a", 8);
    assert_true(number(at + 8, 4) == 4 && number(at + 12, 4) == 64 && number(at + 16, 8) == bytes);
    assert_true(number(at + 48, 4) == 2 && number(at + 56, 4) == 0);
    assert_memory_equal(at + 64, "KEYF", 4);
    assert_true(number(at + 68, 4) == 1);
    memcpy(other, at, bytes);
    mend(other, bytes);
    assert_memory_equal(other, at, bytes);
    size_t used = 80;
    for (uint32_t i = 0; i < count; i++) used += 120 + (52 * number(at + used + 112, 4) + 7) / 8 * 8;
    assert_int_equal(used, 80 + number(at + 72, 8));
    assert_memory_equal(at + used, "GRPH", 4);
    const size_t nodes = number(at + used + 20, 4);
    assert_true(number(at + used + 4, 4) == 1 && number(at + used + 8, 8) == 16 + 144 * nodes && nodes <= count);
    assert_int_equal(used + 32 + 144 * nodes, bytes);
    return count;
}

/* ---- the sequence ------------------------------------------------------------------------------------------------ */

static vfront_tuning_t tuning(void)
{
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.map = 1;
    t.stereo = 0;       /* 96 key points are too few for depths as well */
    t.track_target = 3; /* few enough that no track connects keyframes */
    t.track_back_mpx = 500;
    return t;
}

static vfront_rig_t cameras(void)
{
    vfront_rig_t rig = rendered_rig();
    memset(&rig.imu, 0, sizeof rig.imu);
    return rig;
}

static void start(void)
{
    const vfront_rig_t rig = cameras();
    const vfront_tuning_t t = tuning();
    assert_int_equal(vfront_init(&pair_vf, &rig, &t, pair_port), VFRONT_OK);
    assert_int_equal(vfront_init(&pair_twin, &rig, &t, VFRONT_PORT_HOST), VFRONT_OK);
}

/** Frame i of the sequence: forwards and backwards over a part of the flight. */
static vfront_frame_t frame_of(uint64_t i)
{
    const uint64_t at = i % (2 * TURN_BACK);
    vfront_frame_t f = rendered_frame(2 * (at < TURN_BACK ? at : 2 * TURN_BACK - 1 - at));
    f.t_ns = 1000000000u + i * FRAME_NS;
    f.imu = NULL;
    f.imu_count = 0;
    return f;
}

static vfront_result_t last;

/** Steps both front ends and requires equal digests. */
static void step(uint64_t i)
{
    const vfront_frame_t f = frame_of(i);
    const vfront_result_t *a, *b;
    assert_int_equal(vfront_step(&pair_vf, &f, &a), VFRONT_OK);
    assert_int_equal(vfront_step(&pair_twin, &f, &b), VFRONT_OK);
    if (vfront_digest(a) != vfront_digest(b)) fail_msg("frame %d: other bits", (int)i);
    last = *a;
}

static size_t save(vfront_t *vf, uint8_t *to)
{
    size_t used;
    memset(to, 0x5a, VFRONT_MAP_BYTES);
    if (vfront_map_save(vf, to, VFRONT_MAP_BYTES, &used)) fail_msg("save: %s", vfront_detail(vf));
    return used;
}

static void load_both(const uint8_t *from, size_t bytes)
{
    for (int i = 0; i < 2; i++) {
        vfront_t *vf = i ? &pair_twin : &pair_vf;
        if (vfront_map_load(vf, from, bytes)) fail_msg("load: %s", vfront_detail(vf));
    }
}

/** Saves after each frame: nothing changes, and both ports give the same bytes. The last image is kept. */
static void saving(void **state)
{
    (void)state;
    start();
    length = save(&pair_vf, image);
    assert_int_equal(read_layout(image, length), 0);
    for (uint64_t i = 0; i < FRAMES; i++) {
        step(i);
        length = save(&pair_vf, image);
        assert_int_equal(read_layout(image, length), last.keyframes_count);
        assert_int_equal(save(&pair_twin, other), length);
        assert_memory_equal(image, other, length);
    }
    if (last.keyframes_count < 3) fail_msg("%d keyframes", (int)last.keyframes_count);
    pair_end(NULL);
    start(); /* a run that never saved */
    for (uint64_t i = 0; i < FRAMES; i++) step(i);
    assert_int_equal(save(&pair_vf, other), length);
    assert_memory_equal(image, other, length);
    pair_end(NULL);
}

/** Loads before frame `at`: the same bits, and loops to the loaded keyframes. */
static void load_at(uint64_t at)
{
    uint32_t loaded = 0, accepted = 0, before = 0;
    const uint32_t count = (uint32_t)number(image + 52, 4);
    start();
    for (uint64_t i = 0; i < FRAMES; i++) {
        if (i == at) load_both(image, length);
        if (i == at && !i) { /* saved again it is the same */
            assert_int_equal(save(&pair_vf, other), length);
            assert_memory_equal(image, other, length);
        }
        step(i);
        if (i < at) before = last.keyframes_count;
        if (i >= at) assert_true(last.keyframes_count >= before + count);
        for (uint32_t k = 0; k < last.loops_count; k++) {
            loaded += last.loops[k].loaded;
            accepted += last.loops[k].loaded && last.loops[k].state == VFRONT_LOOP_ACCEPTED;
            assert_true(i >= at || !last.loops[k].loaded);
        }
    }
    assert_true(loaded > 3 && (at || accepted > 2));
    const size_t bytes = save(&pair_vf, other);
    assert_int_equal(save(&pair_twin, image), bytes);
    assert_memory_equal(image, other, bytes);
    assert_int_equal(read_layout(image, bytes), last.keyframes_count);
    pair_end(NULL);
}

static void loading(void **state)
{
    static uint8_t kept[VFRONT_MAP_BYTES];
    (void)state;
    const size_t bytes = length;
    memcpy(kept, image, length);
    for (uint64_t at = 0; at < 8; at += 7) {
        memcpy(image, kept, length = bytes);
        load_at(at);
    }
    memcpy(image, kept, length = bytes);
}

/** vfront_reset() forgets a map, even before any frame. */
static void forgotten(void **state)
{
    (void)state;
    start();
    load_both(image, length);
    assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
    assert_int_equal(vfront_reset(&pair_twin), VFRONT_OK);
    step(0);
    assert_true(last.keyframes_count <= 1);
    load_both(image, length);
    step(1);
    assert_true(last.keyframes_count >= number(image + 52, 4));
    assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
    assert_int_equal(vfront_reset(&pair_twin), VFRONT_OK);
    load_both(image, length);
    step(2);
    step(3);
    pair_end(NULL);
}

/** A timestamp that jumps is rejected by name, and the map is kept. Three that agree mean a clock change: all
 *  keyframes, loaded ones too, are forgotten as by vfront_reset(), and the map can be loaded again. */
static void clock_leaps(void **state)
{
    const vfront_result_t *r;
    (void)state;
    for (int back = 0; back < 2; back++) {
        start();
        load_both(image, length);
        for (uint64_t i = 0; i < 6; i++) step(i);
        const size_t bytes = save(&pair_vf, other);
        for (uint64_t i = 0; i < 3; i++) {
            vfront_frame_t f = frame_of(6 + i);
            f.t_ns = back ? f.t_ns - 900000000u : f.t_ns + 3600000000000u;
            for (int k = 0; k < 2; k++) {
                vfront_t *vf = k ? &pair_twin : &pair_vf;
                const vfront_status_t status = vfront_step(vf, &f, &r);
                assert_int_equal(status, i < 2 ? VFRONT_E_TIME : VFRONT_OK);
                if (i == 2) assert_true(r->frame == 0 && r->keyframes_count <= 1 && r->map.nodes == r->keyframes_count);
            }
            if (i == 2) continue;
            static uint8_t after[VFRONT_MAP_BYTES];
            assert_int_equal(save(&pair_vf, after), bytes);
            assert_memory_equal(after, other, bytes);
        }
        load_both(image, length);
        pair_end(NULL);
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static void refused(const uint8_t *at, size_t bytes, vfront_status_t want, const char *detail)
{
    pair_refused(vfront_map_load(&pair_vf, at, bytes), want, detail);
}

/** Makes a short image: the first keyframes of another one, with at most `points` points. */
static size_t shorten(uint8_t *to, const uint8_t *from, uint32_t keyframes, uint32_t points)
{
    size_t used = 80, at = 80;
    memcpy(to, from, 80);
    for (uint32_t i = 0; i < keyframes; i++) {
        const uint32_t all = (uint32_t)number(from + at + 112, 4), n = all < points ? all : points;
        memset(to + used, 0, 120 + (52 * n + 7) / 8 * 8);
        memcpy(to + used, from + at, 112);
        set(to + used + 112, n, 4);
        memcpy(to + used + 120, from + at + 120, 48 * (size_t)n);
        for (uint32_t t = 0; t < 2; t++)
            memcpy(to + used + 120 + 48 * (size_t)n + 2 * t * (size_t)n,
                   from + at + 120 + 48 * (size_t)all + 2 * t * (size_t)all, 2 * (size_t)n);
        used += 120 + (52 * n + 7) / 8 * 8;
        at += 120 + (52 * all + 7) / 8 * 8;
    }
    set(to + 52, keyframes, 4);
    set(to + 72, used - 80, 8);
    const uint8_t *graph = from + 80 + number(from + 72, 8);
    const size_t all = number(graph + 20, 4), nodes = all < keyframes ? all : keyframes;
    memcpy(to + used, graph, 32 + 144 * nodes);
    set(to + used + 8, 16 + 144 * nodes, 8);
    set(to + used + 20, nodes, 4);
    used += 32 + 144 * nodes;
    set(to + 16, used, 8);
    mend(to, used);
    return used;
}

static void damaged(void **state)
{
    static uint8_t small[VFRONT_MAP_BYTES];
    (void)state;
    start();
    for (uint64_t i = 0; i < 3; i++) step(i);
    const size_t bytes = shorten(small, image, 3, 20);
    for (size_t i = 0; i < bytes; i++) {
        small[i] ^= (uint8_t)(1u << i % 8);
        assert_int_equal(vfront_map_load(&pair_vf, small, bytes), VFRONT_E_MAP);
        small[i] ^= (uint8_t)(1u << i % 8);
    }
    for (size_t i = 0; i < length; i += 1 + i / 64) {
        image[i] ^= 0x80;
        assert_int_equal(vfront_map_load(&pair_vf, image, length), VFRONT_E_MAP);
        image[i] ^= 0x80;
    }
    for (size_t i = 0; i < bytes; i++) assert_int_equal(vfront_map_load(&pair_vf, small, i), VFRONT_E_MAP);
    for (size_t i = 0; i < length; i += 97) assert_int_equal(vfront_map_load(&pair_vf, image, i), VFRONT_E_MAP);
    assert_int_equal(vfront_map_load(&pair_vf, image, length + 8), VFRONT_E_MAP);
    for (uint64_t i = 3; i < 8; i++) step(i); /* the twin saw none of it */
    pair_end(NULL);
}

/** Requires that an image with a changed value and a correct CRC is refused. */
static void refused_with(size_t at, uint64_t value, int bytes, vfront_status_t want, const char *detail)
{
    memcpy(other, image, length);
    set(other + at, value, bytes);
    mend(other, length);
    refused(other, length, want, detail);
}

static uint64_t bits(double value)
{
    uint64_t b;
    memcpy(&b, &value, sizeof b);
    return b;
}

/** Invalid values of the graph. */
static void graph_values(void)
{
    const size_t head = 80 + number(image + 72, 8), first = head + 32, loop = first + 144, kept = length;
    static uint8_t image_kept[VFRONT_MAP_BYTES];
    memcpy(image_kept, image, length);
    length = loop + 144; /* two nodes, neither of which ends a loop */
    set(image + 16, length, 8);
    set(image + head + 8, 16 + 144 * 2, 8);
    set(image + head + 20, 2, 4);
    memset(image + first, 0, 288);
    for (int i = 0; i < 2; i++) {
        set(image + first + 144 * i + 24, bits(1.0), 8);
        set(image + first + 144 * i + 128, 0xffffffffu, 4);
    }
    refused_with(head, 'g', 1, VFRONT_E_MAP, "another name");
    refused_with(head + 4, 2, 4, VFRONT_E_MAP, "section of another version");
    refused_with(head + 8, 16, 8, VFRONT_E_MAP, "size of a section");
    refused_with(head + 16, 2, 4, VFRONT_E_MAP, "axes");
    refused_with(head + 20, number(image + head + 20, 4) - 1, 4, VFRONT_E_MAP, "number of nodes");
    refused_with(head + 20, number(image + 52, 4) + 1, 4, VFRONT_E_MAP, "number of nodes");
    refused_with(head + 24, bits(0.5), 8, VFRONT_E_MAP, "scale");
    refused_with(head + 24, bits(0.0 / 0.0), 8, VFRONT_E_MAP, "scale");
    refused_with(first, bits(1.0 / 0.0), 8, VFRONT_E_MAP, "pose of a node");
    refused_with(first + 24, bits(0.0 / 0.0), 8, VFRONT_E_MAP, "pose of a node");
    refused_with(first + 24, bits(1.5), 8, VFRONT_E_MAP, "pose of a node");
    refused_with(first + 56, 0xbf800000u, 4, VFRONT_E_MAP, "variance of a node");
    refused_with(first + 60, 0x7fc00000u, 4, VFRONT_E_MAP, "variance of a node");
    refused_with(first + 140, 1, 4, VFRONT_E_MAP, "must be 0");
    refused_with(first + 136, 2, 4, VFRONT_E_MAP, "flags"); /* an edge that is no loop */
    refused_with(first + 64, 1, 8, VFRONT_E_MAP, "must be 0");
    refused_with(first + 132, 1, 4, VFRONT_E_MAP, "must be 0");
    set(image + loop + 88, bits(1.0), 8); /* a loop from the second keyframe to the first */
    set(image + loop + 120, 0x3c23d70a, 4);
    set(image + loop + 124, 0x3c23d70a, 4);
    set(image + loop + 128, 0, 4);
    refused_with(loop + 136, 4, 4, VFRONT_E_MAP, "flags");
    refused_with(loop + 128, 1, 4, VFRONT_E_MAP, "keyframe of a loop");
    refused_with(loop + 128, 2, 4, VFRONT_E_MAP, "keyframe of a loop");
    refused_with(loop + 128, 0xfffffffeu, 4, VFRONT_E_MAP,
                 "keyframe of a loop"); /* a loop of a node that is not placed */
    refused_with(loop + 64, bits(0.0 / 0.0), 8, VFRONT_E_MAP, "pose of a loop");
    refused_with(loop + 88, bits(0.9), 8, VFRONT_E_MAP, "pose of a loop");
    refused_with(loop + 120, 0, 4, VFRONT_E_MAP, "deviation of a loop");
    refused_with(loop + 120, 0x7fc00000u, 4, VFRONT_E_MAP, "deviation of a loop");
    refused_with(loop + 124, 0xbf800000u, 4, VFRONT_E_MAP, "deviation of a loop");
    memcpy(image, image_kept, length = kept);
}

static void values(void **state)
{
    (void)state;
    start();
    refused_with(0, 'v', 1, VFRONT_E_MAP, "not an image");
    refused_with(8, 2, 4, VFRONT_E_MAP, "another version");
    refused_with(12, 72, 4, VFRONT_E_MAP, "size of the header");
    refused_with(16, length + 8, 8, VFRONT_E_MAP, "cut");
    refused_with(32, 1, 8, VFRONT_E_MAP_OTHER, "another config");
    refused_with(40, 1, 8, VFRONT_E_MAP_OTHER, "other cameras");
    refused_with(48, 1, 4, VFRONT_E_MAP, "number of sections");
    refused_with(52, number(image + 52, 4) + 1, 4, VFRONT_E_MAP, "cut");
    refused_with(52, number(image + 52, 4) - 1, 4, VFRONT_E_MAP, "bytes behind");
    refused_with(52, 0xffffffffu, 4, VFRONT_E_MAP, "cut");
    refused_with(56, 1, 4, VFRONT_E_MAP, "must be 0");
    refused_with(64, 'G', 1, VFRONT_E_MAP, "another name");
    refused_with(68, 2, 4, VFRONT_E_MAP, "section of another version");
    refused_with(72, length, 8, VFRONT_E_MAP, "size of a section");
    refused_with(72, UINT64_MAX - 7, 8, VFRONT_E_MAP, "size of a section");
    refused_with(72, number(image + 72, 8) - 4, 8, VFRONT_E_MAP, "size of a section");
    refused_with(72, number(image + 72, 8) - 8, 8, VFRONT_E_MAP, "another name");
    refused_with(88, 0x800000000000ull, 8, VFRONT_E_MAP, "frame of");
    refused_with(104, bits(1.0 / 0.0), 8, VFRONT_E_MAP, "position");
    refused_with(112, bits(0.0 / 0.0), 8, VFRONT_E_MAP, "position");
    refused_with(128, bits(1.5), 8, VFRONT_E_MAP, "attitude");
    refused_with(136, bits(0.0 / 0.0), 8, VFRONT_E_MAP, "attitude");
    refused_with(160, bits(-1.0), 8, VFRONT_E_MAP, "variance");
    refused_with(176, bits(0.0 / 0.0), 8, VFRONT_E_MAP, "variance");
    refused_with(184, 1, 4, VFRONT_E_MAP, "chain");
    refused_with(188, 9, 4, VFRONT_E_MAP, "source");
    refused_with(192, 301, 4, VFRONT_E_MAP, "number of points");
    refused_with(196, 1, 4, VFRONT_E_MAP, "must be 0");
    refused_with(232, 0x8000, 2, VFRONT_E_MAP, "bearing");
    refused_with(232, number(image + 232, 2) ^ 0x4000, 2, VFRONT_E_MAP, "bearing");
    refused_with(238, VFRONT_KEYPOINTS, 2, VFRONT_E_MAP, "VFRONT_KEYPOINTS");
    refused_with(240, 0xff800000u, 4, VFRONT_E_MAP, "distance");
    refused_with(240, 0x7fc00000u, 4, VFRONT_E_MAP, "distance");
    refused_with(240, 0xbf800000u, 4, VFRONT_E_MAP, "distance");
    refused_with(246, VFRONT_SCALES, 2, VFRONT_E_MAP, "VFRONT_SCALES");
    graph_values();
    memcpy(other, image, length); /* only the id changed */
    mend(other, length);
    set(other + 24, 7, 8);
    uint32_t crc = 0xffffffffu;
    set(other + 60, 0, 4);
    for (size_t i = 0; i < length; i++) {
        crc ^= other[i];
        for (int bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    set(other + 60, ~crc, 4);
    refused(other, length, VFRONT_E_MAP, "id");
    for (uint64_t i = 0; i < 4; i++) step(i);
    pair_end(NULL);
}

/** Cameras that differ in one number. */
static void other_cameras(void **state)
{
    (void)state;
    for (int variant = 0; variant < 6; variant++) {
        vfront_rig_t rig = cameras();
        const vfront_tuning_t t = tuning();
        if (variant == 0) rig.camera[0].cx_px += 0.25;
        if (variant == 1) rig.camera[1].fx_px += 0.25;
        if (variant == 2) rig.camera[1].t_cam_imu_m[0] *= 1.5;
        if (variant == 3) rig.cameras = 1;
        if (variant == 4) rig.camera[0].width_px -= 1;
        if (variant == 5) rig.camera[0].distortion[0] += 1e-9;
        assert_int_equal(vfront_init(&pair_vf, &rig, &t, pair_port), VFRONT_OK);
        refused(image, length, VFRONT_E_MAP_OTHER, "other cameras");
        vfront_shutdown(&pair_vf);
    }
}

/** The same map twice, also within another one; and maps until the ring is full. */
static void twice_and_full(void **state)
{
    static uint8_t both[VFRONT_MAP_BYTES];
    (void)state;
    start();
    load_both(image, length);
    refused(image, length, VFRONT_E_MAP_TWICE, "loaded already");
    memcpy(other, image, length); /* the same id with another graph */
    set(other + 80 + number(image + 72, 8) + 24, bits(2.0), 8);
    mend(other, length);
    assert_memory_equal(other + 24, image + 24, 8);
    refused(other, length, VFRONT_E_MAP_TWICE, "loaded already");
    step(0);
    refused(image, length, VFRONT_E_MAP_TWICE, "loaded already");
    for (uint64_t i = 1; i < 5; i++) step(i);
    const size_t bytes = save(&pair_vf, both);
    refused(both, bytes, VFRONT_E_MAP_TWICE, "loaded already");
    pair_end(NULL);
    start();
    load_both(both, bytes);
    refused(image, length, VFRONT_E_MAP_TWICE, "loaded already");
    uint32_t count = (uint32_t)number(both + 52, 4);
    const uint32_t each = (uint32_t)number(image + 52, 4);
    for (uint64_t i = 1; count + each <= VFRONT_KEYFRAMES; i++, count += each) {
        memcpy(other, image, length);
        set(other + 96, i, 8); /* another time: another map */
        mend(other, length);
        load_both(other, length);
    }
    memcpy(other, image, length);
    set(other + 96, 999, 8);
    mend(other, length);
    refused(other, length, VFRONT_E_SIZE, "VFRONT_KEYFRAMES");
    for (uint64_t i = 0; i < FRAMES; i++) step(i); /* keyframes of this run replace others */
    assert_int_equal(last.keyframes_count, VFRONT_KEYFRAMES);
    refused(other, length, VFRONT_E_SIZE, "room for, 0");
    pair_end(NULL);
}

/** Makes an image of keyframes without points, each of another map. */
static size_t of_maps(uint8_t *to, uint32_t maps)
{
    static uint8_t graph[32];
    shorten(to, image, 1, 0);
    memcpy(graph, to + 80 + 120, sizeof graph);
    for (uint32_t i = 0; i < maps; i++) {
        memmove(to + 80 + 120 * (size_t)i, to + 80, 120);
        set(to + 80 + 120 * (size_t)i, 1 + i, 8);
    }
    size_t used = 80 + 120 * (size_t)maps;
    set(to + 52, maps, 4);
    set(to + 72, used - 80, 8);
    memcpy(to + used, graph, sizeof graph);
    set(to + used + 8, 16, 8); /* no node */
    set(to + used + 20, 0, 4);
    used += sizeof graph;
    set(to + 16, used, 8);
    mend(to, used);
    return used;
}

/** An image with keyframes of 64 maps is loaded, of 65 refused. One motion chain more than there are numbers is refused
 *  too, here as if maps had been loaded continually. */
static void many(void **state)
{
    (void)state;
    start();
    refused(other, of_maps(other, 65), VFRONT_E_MAP, "more than 64 maps");
    load_both(other, of_maps(other, 64));
    for (uint64_t i = 0; i < FRAMES; i++) step(i);
    pair_end(NULL);
    start();
    struct vf_context *s = (struct vf_context *)(((uintptr_t)&pair_vf + 63) & ~(uintptr_t)63);
    s->map.chains = 0x7fffffffu;
    refused(image, length, VFRONT_E_SIZE, "too many paths");
    s->map.chains = 0;
    load_both(image, length);
    for (uint64_t i = 0; i < FRAMES; i++) step(i);
    pair_end(NULL);
}

static void calls(void **state)
{
    size_t used = 1;
    (void)state;
    assert_int_equal(vfront_map_save(NULL, other, sizeof other, &used), VFRONT_E_NULL);
    assert_int_equal(vfront_map_load(NULL, image, length), VFRONT_E_NULL);
    assert_int_equal(vfront_map_save(&pair_vf, other, sizeof other, &used), VFRONT_E_STATE);
    assert_int_equal(vfront_map_load(&pair_vf, image, length), VFRONT_E_STATE);
    start();
    pair_refused(vfront_map_save(&pair_vf, NULL, 1, &used), VFRONT_E_NULL, "buffer");
    pair_refused(vfront_map_save(&pair_vf, other, 1, NULL), VFRONT_E_NULL, "used");
    pair_refused(vfront_map_load(&pair_vf, NULL, 1), VFRONT_E_NULL, "buffer");
    step(0);
    const vfront_frame_t f = frame_of(1);
    const vfront_result_t *r;
    assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
    pair_refused(vfront_map_save(&pair_vf, other, sizeof other, &used), VFRONT_E_BUSY, "under way");
    pair_refused(vfront_map_load(&pair_vf, image, length), VFRONT_E_BUSY, "under way");
    assert_int_equal(vfront_wait(&pair_vf, UINT32_MAX, &r), VFRONT_OK);
    assert_int_equal(vfront_step(&pair_twin, &f, &r), VFRONT_OK);
    const size_t bytes = save(&pair_vf, other);
    for (size_t room = 0; room < bytes; room += 1 + room / 8) {
        memset(other, 0x5a, sizeof other);
        pair_refused(vfront_map_save(&pair_vf, other, room, &used), VFRONT_E_SIZE, "too small");
        assert_int_equal(used, bytes);
        for (size_t i = room; i < room + 64; i++) assert_int_equal(other[i], 0x5a);
    }
    assert_int_equal(vfront_map_save(&pair_vf, other, bytes, &used), VFRONT_OK);
    for (uint64_t i = 2; i < 6; i++) step(i);
    pair_end(NULL);
    const vfront_rig_t rig = cameras();
    vfront_tuning_t t = tuning();
    t.map = 0;
    assert_int_equal(vfront_init(&pair_vf, &rig, &t, pair_port), VFRONT_OK);
    pair_refused(vfront_map_save(&pair_vf, other, sizeof other, &used), VFRONT_E_STATE, "map is 0");
    pair_refused(vfront_map_load(&pair_vf, image, length), VFRONT_E_STATE, "map is 0");
    vfront_shutdown(&pair_vf);
}

/** Random changes with a correct id and CRC: refused without effect, or loaded by both with the same bits. */
static void wild(void **state)
{
    static uint8_t small[VFRONT_MAP_BYTES], kept[VFRONT_MAP_BYTES];
    uint32_t taken = 0;
    (void)state;
    const size_t bytes = shorten(kept, image, 3, 60);
    start();
    shake(5);
    for (int turn = 0; turn < 800; turn++) {
        memcpy(small, kept, bytes);
        for (uint64_t n = 1 + (roll64() >> 62); n; n--) {
            const size_t at = 80 + (size_t)(roll64() >> 8) % (bytes - 80);
            small[at] = roll64() >> 63 ? (uint8_t)(roll64() >> 56) : small[at] ^ (uint8_t)(1u << (roll64() >> 61));
        }
        mend(small, bytes);
        const vfront_status_t status = vfront_map_load(&pair_vf, small, bytes);
        assert_int_equal(vfront_map_load(&pair_twin, small, bytes), status);
        assert_true(status == VFRONT_OK || status == VFRONT_E_MAP || status == VFRONT_E_MAP_TWICE ||
                    status == VFRONT_E_SIZE);
        taken += status == VFRONT_OK;
        if (turn % 200 == 199)
            for (uint64_t i = 0; i < 3; i++) step((uint64_t)turn + i);
        if (turn % 200 != 199) continue;
        assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
        assert_int_equal(vfront_reset(&pair_twin), VFRONT_OK);
    }
    assert_true(taken > 50);
    pair_end(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(saving),        cmocka_unit_test(loading),        cmocka_unit_test(forgotten),
        cmocka_unit_test(clock_leaps),   cmocka_unit_test(damaged),        cmocka_unit_test(values),
        cmocka_unit_test(other_cameras), cmocka_unit_test(twice_and_full), cmocka_unit_test(many),
        cmocka_unit_test(calls),         cmocka_unit_test(wild),
    };
    rendered_draw();
    return pair_run("maps", tests, sizeof tests / sizeof *tests);
}

#else

int main(void) { return 0; }

#endif
