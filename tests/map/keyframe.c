/* SPDX-License-Identifier: MIT */
/* keyframe: poses of a chain against the sum of its motions in double precision; when a frame becomes a keyframe, also
 * where all tracks survive the flight; that it enters the ring one frame later, and that a repeated frame gives the
 * same ring; evictions from a full ring against densities in double precision; what begins a new chain. */
#include "tests/fixture/stage.h"

#if VFRONT_MAP

#include "map_flight.h"

static struct map_flight flight;
static struct vf_memory before;

static void begin(enum map_kind kind)
{
    memset(&memory, 0, sizeof memory);
    map_begin(&flight, kind);
    flight.lap = 60;
    map_geometry(&step, kind, &memory);
}

static struct vf_keyframe_now *now(void) { return &memory.keyframe.now[step.parity]; }

static void run(void)
{
    map_frame(&flight, &step);
    map_stages(&step);
    map_next(&flight);
}

/** Poses are those of the camera up to the errors of the motions; with an estimator, in its axes. */
static void poses(void **state)
{
    (void)state;
    for (int kind = MAP_STEREO; kind <= MAP_NAV; kind++) {
        double R0[9], p0[3];
        shake(61);
        begin((enum map_kind)kind);
        for (int frame = 0; frame < 130; frame++) {
            double off = 0.0;
            run();
            if (!frame) memcpy(R0, flight.R, sizeof R0), memcpy(p0, flight.p, sizeof p0);
            for (int k = 0; k < 3; k++) {
                double want = flight.p[k]; /* in axes of the first camera, or of the hall */
                for (int n = 0; n < 3 && kind == MAP_STEREO; n++)
                    want = n ? want + R0[3 * n + k] * (flight.p[n] - p0[n]) : R0[k] * (flight.p[0] - p0[0]);
                off += (now()->pose.position_m[k] - want) * (now()->pose.position_m[k] - want);
            }
            if (frame > 1 || kind == MAP_STEREO)
                assert_true(sqrt(off) < (kind == MAP_NAV ? 0.15 : 0.03 + 0.003 * frame));
        }
        assert_int_equal(now()->pose.source, kind == MAP_NAV ? VF_CHAIN_NAV : VF_CHAIN_METRIC);
        assert_true(now()->pose.length_m > 30.0);
    }
}

/** A keyframe enters the ring one frame later, where nothing else changes. The same when the frame is repeated. */
static void a_step_later(void **state)
{
    int made = 0;
    (void)state;
    shake(62);
    begin(MAP_STEREO);
    for (int frame = 0; frame < 60; frame++) {
        const struct vf_keyframe_now last = frame ? *now() : (struct vf_keyframe_now){.due = 0};
        before = memory;
        run();
        if (last.due) {
            made++;
            assert_memory_equal(&memory.keyframe.ring[last.slot].set, &before.recall.set[step.parity ^ 1],
                                sizeof(struct vf_keyframe_points));
            assert_memory_equal(&memory.keyframe.ring[last.slot].head, &last.last, sizeof last.last);
            memcpy(&before.keyframe.ring[last.slot], &memory.keyframe.ring[last.slot], sizeof before.keyframe.ring[0]);
        }
        assert_memory_equal(memory.keyframe.ring, before.keyframe.ring, sizeof memory.keyframe.ring);
        before = memory;
        map_stages(&step);
        assert_memory_equal(&memory.keyframe, &before.keyframe, sizeof memory.keyframe);
        assert_memory_equal(&memory.loop, &before.loop, sizeof memory.loop);
    }
    assert_true(made > 8 && made < 25);
    flight.frame = 0; /* as after vfront_reset() */
    run();
    for (int i = 0; i < VFRONT_KEYFRAMES; i++) assert_int_equal(memory.keyframe.ring[i].head.used, 0);
    assert_int_equal(now()->count, now()->due);
}

/** Frame in which all tracks survive and the camera has moved by `metres` to the side; its points stay as they are. */
static void slide(double metres)
{
    static struct vf_views v;
    step.parity = (int32_t)(flight.frame % 2);
    memory.ingest.params.frame = flight.frame++;
    memory.refill.counts[step.parity].count = 60;
    memory.refill.counts[step.parity].last_id = 60;
    for (uint32_t i = 0; i < 60; i++) memory.refill.feature[step.parity][i].id = i + 1;
    memset(&memory.ego.metric, 0, sizeof memory.ego.metric);
    memory.ego.metric.R[0] = memory.ego.metric.R[4] = memory.ego.metric.R[8] = 1.0f;
    memory.ego.metric.t[0] = (float)-metres;
    memory.ego.metric.state = VFRONT_MOTION_GOOD;
    memory.recall.set[step.parity] = memory.recall.set[step.parity ^ 1];
    vf_keyframe_make_view(&v.keyframe, &step);
    vf_keyframe_host(&v.keyframe);
}

/** With all tracks alive a frame becomes a keyframe after a motion of a tenth of the point distance, in either
 *  direction, and not before. Without a known distance it does not. */
static void moved(void **state)
{
    (void)state;
    shake(64);
    for (int turn = 0; turn < 40; turn++) {
        const double scale = map_real(0.3, 20.0);
        double inverse = 0.0, at = 0.0, last = 0.0;
        int ranged = 0, made = 0;
        begin(MAP_STEREO);
        for (int i = 0; i < 60; i++) {
            struct vf_keyframe_point *p = &memory.recall.set[1].point[i];
            p->range_m = turn < 2 || i % 5 == 0 ? 0.0f : (float)(scale * map_real(0.5, 4.0));
            ranged += p->range_m > 0.0f;
            if (p->range_m > 0.0f) inverse += 1.0 / (double)p->range_m;
        }
        memory.recall.set[1].count = 60;
        const double most = ranged ? 0.1 * ranged / inverse : 1e9, each = most * map_real(0.05, 0.2);
        slide(0.0);
        assert_int_equal(now()->due, 1);
        for (int frame = 1; frame < 200; frame++) {
            const double by = ranged ? (frame / 60 % 2 ? -each : each) : 0.5;
            slide(by);
            at += by;
            const double off = fabs(at - last) / most;
            if (off > 0.99 && off < 1.01) break; /* within rounding */
            if (now()->due != (off > 1.0)) fail_msg("turn %d, frame %d: %g of the bound", turn, frame, off);
            last = now()->due ? at : last;
            made += (int)now()->due;
        }
        assert_true(ranged || !made);
    }
}

/** 1 if keyframe a of the ring is kept longer than its neighbour b: if only a was confirmed lately; if both were, the
 *  older; if neither was, the younger. Loaded ones are older than all others. Of two of one age the one with the
 *  greater ring slot is kept. */
static int outranks(int a, int b)
{
    const struct vf_map_data *m = &memory.map.data[step.parity ^ 1];
    const struct vf_keyframe *k[2] = {&memory.keyframe.ring[a].head, &memory.keyframe.ring[b].head};
    const int late[2] = {m->made - m->seen[a] <= 8 * VFRONT_KEYFRAMES, m->made - m->seen[b] <= 8 * VFRONT_KEYFRAMES};
    if (late[0] != late[1]) return late[0];
    if (!k[0]->origin != !k[1]->origin) return late[0] == (k[0]->origin != 0);
    if (k[0]->frame == k[1]->frame) return a > b;
    return late[0] == (k[0]->frame < k[1]->frame);
}

/** Density at a keyframe of those kept longer, in double precision: in the map of the previous frame, or in its
 *  chain. */
static double density(int i)
{
    const struct vf_keyframe_entry *r = memory.keyframe.ring;
    const struct vf_map_data *m = &memory.map.data[step.parity ^ 1];
    double sum = 1.0;
    for (int k = 0; k < VFRONT_KEYFRAMES; k++) {
        const int in_map = m->placed_node[i] && m->placed_node[k];
        const double *p[2] = {r[i].head.pose.position_m, r[k].head.pose.position_m},
                     *q[2] = {r[i].head.pose.q_chain_cam, r[k].head.pose.q_chain_cam};
        double d2 = 0.0, half = 0.0;
        if (in_map) p[0] = m->node[i].p, p[1] = m->node[k].p, q[0] = m->node[i].q, q[1] = m->node[k].q;
        if (k == i || !outranks(k, i) || (!in_map && r[k].head.pose.chain != r[i].head.pose.chain)) continue;
        for (int n = 0; n < 3; n++) d2 += pow(p[0][n] - p[1][n], 2.0);
        for (int n = 0; n < 4; n++) half += q[0][n] * q[1][n];
        sum += 1.0 / (d2 + 2.0 * (1.0 - cos(2.0 * acos(fmin(1.0, fabs(half))))) + 0.25);
    }
    return sum;
}

/** Density in a key: six bits after the first. */
static double output_density(uint64_t key)
{
    const uint32_t bits = (uint32_t)(key >> 49 & 0x3fffu) << 17;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

/** Full ring: keyframes of this and another chain, a third of them at one place. From round 3 on most have a pose in
 *  the map, different from their chain. From round 6 on some are neither in this chain nor in the map. From round 9 on
 *  two thirds come from two loaded maps that are alike. */
static void fill(int turn)
{
    struct vf_map_data *m = &memory.map.data[step.parity];
    m->made = 100000;
    for (int i = 0; i < VFRONT_KEYFRAMES; i++) {
        struct vf_keyframe *k = &memory.keyframe.ring[i].head;
        const double half = map_real(0.0, 1.5), at = i % 3 ? 40.0 : 2.0;
        memset(k, 0, sizeof *k);
        k->used = 1;
        k->frame = 1 + ((uint64_t)i * 37) % VFRONT_KEYFRAMES;
        if (turn > 8 && i % 3) k->frame = (uint64_t)i / 3, k->origin = (uint64_t)(i % 3);
        k->pose.chain = now()->pose.chain + (turn > 5 || turn < 3 ? i % 7 == 0 : 0);
        k->pose.source = VF_CHAIN_METRIC;
        for (int n = 0; n < 3; n++) k->pose.position_m[n] = map_real(-at, at);
        k->pose.q_chain_cam[0] = cos(half), k->pose.q_chain_cam[2] = sin(half);
        m->placed_node[i] = turn < 3 ? k->pose.chain != now()->pose.chain : i % 5 > 0;
        vf_map_identity(&m->node[i]);
        for (int n = 0; n < 3; n++) m->node[i].p[n] = map_real(-at, at);
        m->seen[i] = m->made - (uint32_t)map_real(0.0, turn % 3 == 1 ? 1.0 : 16.0 * VFRONT_KEYFRAMES);
        if (turn < 9 || i % 3 < 2) continue;
        k->pose = memory.keyframe.ring[i - 1].head.pose;
        m->node[i] = m->node[i - 1];
        m->placed_node[i] = m->placed_node[i - 1];
        m->seen[i] = m->seen[i - 1];
    }
}

/** 1 if keyframe i is lost: of this run, but neither in this frame's chain nor in the map. */
static int lost(int i)
{
    const struct vf_keyframe *k = &memory.keyframe.ring[i].head;
    return !memory.map.data[step.parity ^ 1].placed_node[i] && !k->origin && k->pose.chain != now()->pose.chain;
}

/** Lost keyframes are evicted first, then the one where those kept longer are densest, but none of the last
 *  VF_KEYFRAME_RECENT_FRAMES frames of this run. The keys of all others differ. */
static void full(void **state)
{
    (void)state;
    for (int turn = 0; turn < 12; turn++) {
        const uint64_t last = turn % 2 ? VFRONT_KEYFRAMES + 1 : VFRONT_KEYFRAMES + 100;
        double most = 0.0;
        int any = 0;
        shake(63 + (uint64_t)turn);
        begin(MAP_STEREO);
        run();
        fill(turn);
        *now() = (struct vf_keyframe_now){
            .pose = now()->pose, .count = VFRONT_KEYFRAMES, .last = {.frame = last, .used = 1}};
        now()->last.pose.chain = now()->pose.chain + 1; /* makes this frame a keyframe */
        flight.frame = last + 3 + (uint64_t)(step.parity == (int32_t)(last % 2));
        flight.frame += (uint64_t)(flight.frame % 2 == (uint64_t)step.parity);
        run();
        assert_int_equal(now()->due, 1);
        assert_int_equal(now()->count, VFRONT_KEYFRAMES);
        const int slot = (int)now()->slot;
        for (int i = 0; i < VFRONT_KEYFRAMES; i++) any |= lost(i);
        for (int i = 0; i < VFRONT_KEYFRAMES; i++) {
            const struct vf_keyframe *k = &memory.keyframe.ring[i].head;
            const int recent = !k->origin && k->frame + 48 > last;
            const uint64_t key = memory.keyframe.evict_key[i];
            for (int n = 0; n < i; n++) assert_true(key == 1 || key != memory.keyframe.evict_key[n]);
            assert_true(recent == (key == 1));
            const double output = output_density(key), want = density(i);
            if (!recent && (output > want * 1.00001 || output < want / 1.016))
                fail_msg("turn %d, keyframe %d: density %g, want %g", turn, i, output, want);
            assert_true(!recent || i != slot);
            if (!recent && lost(i) == any) most = fmax(most, density(i));
        }
        assert_int_equal(lost(slot), any);
        assert_int_equal(any, turn > 5);
        assert_true(density(slot) > most / 1.016);
        assert_true(memory.keyframe.evict_key[slot] == memory.keyframe.evict_max);
        for (int i = 0; i < VFRONT_KEYFRAMES; i++)
            assert_true(memory.keyframe.evict_key[i] <= memory.keyframe.evict_max);
    }
}

/** A frame without a motion from the previous one begins a chain, and so does another source. */
static void chains(void **state)
{
    uint32_t chain;
    (void)state;
    shake(70);
    begin(MAP_STEREO);
    for (int i = 0; i < 20; i++) run();
    chain = now()->pose.chain;
    assert_int_equal(chain, 1);
    map_frame(&flight, &step);
    memory.ego.metric.state = memory.ego.relative.state = VFRONT_MOTION_FEW;
    map_stages(&step);
    map_next(&flight);
    assert_int_equal(now()->pose.chain, chain + 1);
    assert_int_equal(now()->pose.source, VF_CHAIN_NONE);
    run();
    assert_int_equal(now()->pose.chain, chain + 1);
    map_frame(&flight, &step);
    memory.ego.metric.state = VFRONT_MOTION_UNSURE;
    map_stages(&step);
    map_next(&flight);
    assert_int_equal(now()->pose.chain, chain + 2);
    assert_int_equal(now()->pose.source, VF_CHAIN_ROTATIONS);
    /* too few points: no keyframe */
    for (int i = 0; i < 6; i++) {
        map_frame(&flight, &step);
        memory.bearing.count[step.parity][0] = 30;
        map_stages(&step);
        map_next(&flight);
        assert_int_equal(now()->due, 0);
    }
}

/** Rotation matrices as quaternions, all branches. */
static void quaternions(void **state)
{
    (void)state;
    shake(71);
    for (int i = 0; i < 10000; i++) {
        double q[4], R[9], found[4], dot = 0.0;
        float f[9];
        for (int k = 0; k < 4; k++) q[k] = i % 5 == k ? 1e-4 * map_normal() : map_normal();
        vf_quaternion_unit(q);
        vf_quaternion_matrix(q, R);
        for (int k = 0; k < 9; k++) f[k] = (float)R[k];
        vf_keyframe_quaternion(f, found);
        for (int k = 0; k < 4; k++) dot += q[k] * found[k];
        assert_true(fabs(fabs(dot) - 1.0) < 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(poses),  cmocka_unit_test(a_step_later),
                                       cmocka_unit_test(moved),  cmocka_unit_test(full),
                                       cmocka_unit_test(chains), cmocka_unit_test(quaternions)};
    return cmocka_run_group_tests_name("keyframe", tests, NULL, NULL);
}

#else

int main(void) { return 77; }

#endif
