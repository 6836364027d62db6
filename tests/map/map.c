/* SPDX-License-Identifier: MIT */
/* map: drawn flights in laps against the true poses. Errors with the map stay bounded, those without it grow.
 * T_map_odom changes only at period ends. An interrupted chain is lost, and is placed correctly by a loop at once. One
 * camera has no metric map. A scene that has changed. Evicted keyframes and their loops. A distance of many laps. A
 * repeated frame. The graph step before all other stages. A saved and loaded map continues with the same bits. When
 * keyframes were last confirmed. The graph itself: graph.py. */
#include "tests/fixture/stage.h"

#include "core/map.h"

#if VFRONT_MAP

#include "map_flight.h"

static struct map_flight flight;
static struct vf_memory before;
static double R0[9], p0[3]; /* camera to hall, of the first frame */
static vfront_map_t output;

static void begin(enum map_kind kind)
{
    memset(&memory, 0, sizeof memory);
    map_begin(&flight, kind);
    map_geometry(&step, kind, &memory);
}

static void run(void)
{
    map_frame(&flight, &step);
    if (!flight.frame) memcpy(R0, flight.R, sizeof R0), memcpy(p0, flight.p, sizeof p0);
    map_stages(&step);
    vf_map_result(&memory.map, &memory.keyframe, step.geometry.active, step.parity, &output);
    map_next(&flight);
}

static const struct vf_map_data *now(void) { return &memory.map.data[step.parity]; }

/** Distance of the camera's position in the map, or in the odometry frame, from the true one. */
static double off(int in_map)
{
    double p[3], R[9], want[3], sum = 0.0;
    memcpy(p, output.position_m, sizeof p);
    if (in_map) {
        vf_quaternion_matrix(output.q_map_odom, R);
        vf_transform_double(R, output.position_m, p);
        for (int k = 0; k < 3; k++) p[k] += output.t_map_odom_m[k];
    }
    for (int k = 0; k < 3; k++) {
        want[k] = flight.p[k];
        if (flight.kind == MAP_NAV) continue;
        want[k] = 0.0;
        for (int n = 0; n < 3; n++) want[k] += R0[3 * n + k] * (flight.p[n] - p0[n]);
    }
    for (int k = 0; k < 3; k++) sum += (p[k] - want[k]) * (p[k] - want[k]);
    return sqrt(sum);
}

/** Three laps: in the last one the map error is at most a third of the odometry's. T_map_odom only changes at the end
 *  of a period. */
static void laps(void **state)
{
    (void)state;
    for (int kind = MAP_STEREO; kind <= MAP_NAV; kind++) {
        double sum[2] = {0.0, 0.0};
        shake(81);
        begin((enum map_kind)kind);
        flight.yaw_drift_rad = 1e-3;
        flight.lap = 100;
        for (int frame = 0; frame < 300; frame++) {
            const vfront_map_t last = output;
            run();
            if (frame > 1) assert_int_equal(output.state, VFRONT_MAP_GOOD);
            if (frame && frame % VF_MAP_PERIOD && frame > 1) {
                assert_memory_equal(output.t_map_odom_m, last.t_map_odom_m, sizeof last.t_map_odom_m);
                assert_memory_equal(output.q_map_odom, last.q_map_odom, sizeof last.q_map_odom);
                assert_int_equal(output.counter, last.counter);
            }
            for (int k = 0; k < 2 && frame >= 200; k++) sum[k] += off(k) * off(k) / 100.0;
        }
        assert_true(output.loops > 10 && output.nodes > 40);
        assert_true(sqrt(sum[1]) < 0.2 && 3.0 * sqrt(sum[1]) < sqrt(sum[0]));
        assert_true(output.sigma_m > 0.01 && output.sigma_m < 0.3 && output.sigma_rad > 0.003 &&
                    output.sigma_rad < 0.05);
        assert_int_equal(now()->upright, kind == MAP_NAV);
        if (kind == MAP_NAV) assert_true(output.q_map_odom[1] == 0.0 && output.q_map_odom[2] == 0.0);
    }
}

/** seen[] of each keyframe is the number of keyframes made when it was made, or when a loop with it, of any kind, was
 *  last accepted. A loop that is not accepted does not change it. */
static void seen(void **state)
{
    (void)state;
    for (int kind = MAP_ONE_CAMERA; kind <= MAP_STEREO; kind++) {
        uint32_t made = 0, again = 0, refused = 0, want[VFRONT_KEYFRAMES] = {0};
        shake(83);
        begin((enum map_kind)kind);
        flight.lap = 60;
        for (int frame = 0; frame < 120; frame++) {
            run();
            const struct vf_keyframe_now *own = &memory.keyframe.now[step.parity];
            for (uint32_t i = 0; i < memory.loop.count; i++) {
                const uint32_t slot = memory.recall.candidate[memory.loop.from[i]];
                const int accepted = memory.loop.loop[i].state == VFRONT_LOOP_ACCEPTED;
                again += accepted && want[slot] < made;
                refused += !accepted && want[slot] < made;
                if (accepted) want[slot] = made;
            }
            if (own->due) want[own->slot] = ++made;
            assert_int_equal(now()->made, made);
            assert_memory_equal(now()->seen, want, sizeof want);
        }
        assert_true(made > 20 && again > 20 && refused > 20);
    }
}

/** Sudden displacement: lost, and placed correctly within 30 frames, in one jump; the odometry has none. */
static void found(void **state)
{
    int times = 0;
    (void)state;
    for (int turn = 0; turn < 4; turn++) {
        shake(90 + (uint64_t)turn);
        begin(MAP_STEREO);
        flight.lap = 120;
        for (int frame = 0; frame < 130; frame++) run();
        const uint32_t counter = output.counter;
        flight.frame += 2 * (30 + (uint64_t)roll(60)); /* the camera is where it was on the first lap */
        flight.cut = 1;
        run();
        flight.cut = 0;
        if (output.state == VFRONT_MAP_LOST) {
            assert_true(output.sigma_m == 0.0);
            assert_int_equal(output.counter, counter);
        }
        for (int frame = 0; frame < 30 && output.state == VFRONT_MAP_LOST; frame++) {
            const vfront_map_t last = output;
            run();
            double moved = 0.0;
            for (int k = 0; k < 3; k++) moved += fabs(output.position_m[k] - last.position_m[k]);
            assert_true(moved < 0.5);
        }
        if (output.state != VFRONT_MAP_GOOD) continue;
        times++;
        assert_int_equal(output.counter, counter + 1);
        assert_true(off(1) < 0.25);
        for (int frame = 0; frame < 30; frame++) run();
        assert_int_equal(output.state, VFRONT_MAP_GOOD);
        assert_true(off(1) < 0.25);
    }
    assert_int_equal(times, 4);
}

/** Displacement to a place where half of the points have changed: placed correctly or still lost, never elsewhere. With
 *  random descriptors it stays lost, T_map_odom does not change, and no loop is accepted. */
static void changed(void **state)
{
    int times = 0;
    (void)state;
    for (int turn = 0; turn < 6; turn++) {
        shake(120 + (uint64_t)turn);
        begin(MAP_STEREO);
        flight.lap = 120;
        for (int frame = 0; frame < 130; frame++) run();
        const vfront_map_t last = output;
        flight.frame += 2 * (30 + (uint64_t)roll(60));
        flight.cut = 1;
        flight.changed_percent = 50;
        if (turn % 2) flight.kind = MAP_NONSENSE;
        run();
        flight.cut = 0;
        for (int frame = 0; frame < 40; frame++) {
            run();
            if (output.state == VFRONT_MAP_GOOD) assert_true(off(1) < 0.3);
            if (turn % 2 == 0) continue;
            assert_int_equal(output.state, VFRONT_MAP_LOST);
            assert_int_equal(output.counter, last.counter);
            assert_memory_equal(output.t_map_odom_m, last.t_map_odom_m, sizeof last.t_map_odom_m);
            for (uint32_t i = 0; i < memory.loop.count; i++)
                assert_int_not_equal(memory.loop.loop[i].state, VFRONT_LOOP_ACCEPTED);
        }
        times += output.state == VFRONT_MAP_GOOD;
    }
    assert_int_equal(times, 3);
}

/* ---- saved and loaded -------------------------------------------------------------------------------------------- */

static vfront_status_t port_read(struct vf_context *s, const void **at, const void *from, size_t bytes)
{
    static uint8_t copy[VF_READ_BYTES];
    (void)s;
    assert_true(bytes <= sizeof copy);
    memcpy(copy, from, bytes);
    *at = copy;
    return VFRONT_OK;
}

static vfront_status_t port_write(struct vf_context *s, void *to, const void *from, size_t bytes)
{
    (void)s;
    memcpy(to, from, bytes);
    return VFRONT_OK;
}

/** Context of the flight, before its next frame. */
static struct vf_context *block(void)
{
    static const struct vf_port port = {.write = port_write, .read = port_read};
    static struct vf_context s;
    memset(&s, 0, sizeof s);
    s.port = &port;
    s.memory = &memory;
    s.step[0].geometry = step.geometry;
    s.frame = flight.frame;
    s.parity = (int32_t)(flight.frame % 2);
    return &s;
}

static size_t save(uint8_t *to)
{
    size_t used;
    assert_int_equal(vf_map_save(block(), to, VFRONT_MAP_BYTES, &used), VFRONT_OK);
    return used;
}

/** Frame without key points. */
static void dark(int given)
{
    map_frame(&flight, &step);
    memory.bearing.count[step.parity][0] = 0;
    memory.ingest.params.map_given = (uint32_t)given;
    map_stages(&step);
    map_next(&flight);
}

/** A map saved between two frames at the end of a period. Without key points from then on, the graph of the flight and
 *  that of a run that loaded the map have the same bits in every frame; so has a map saved again. */
static void goes_on(void **state)
{
    static uint8_t image[VFRONT_MAP_BYTES], flown[VFRONT_MAP_BYTES], other[VFRONT_MAP_BYTES];
    static struct vf_memory then;
    int due = 0, pending = 0;
    (void)state;
    for (int turn = 0; turn < 4; turn++) {
        shake(200 + (uint64_t)turn);
        begin(turn % 2 ? MAP_NAV : MAP_STEREO);
        flight.yaw_drift_rad = 1e-3;
        flight.lap = 60;
        while (flight.frame < (uint64_t)turn % 3) dark(0);
        while (flight.frame < 24u * (5 + (uint64_t)turn)) run();
        const struct vf_map_data *m = now();
        for (uint32_t i = 0; i < m->count; i++)
            pending += m->loop[m->order[i]].a != VF_NONE && !m->loop[m->order[i]].active;
        due += (int)memory.keyframe.now[step.parity].due;
        assert_true(m->loops > 3);
        const size_t bytes = save(image);
        then = memory;
        for (int frames = 1; frames < 60; frames += 29) {
            memory = then;
            flight.frame = 24u * (5 + (uint64_t)turn);
            for (int i = 0; i < frames; i++) dark(0);
            assert_int_equal(save(flown), bytes);
            memset(&memory, 0x5a, sizeof memory); /* as left by another run */
            flight.frame = 0;
            assert_int_equal(vf_map_load(block(), image, bytes), VFRONT_OK);
            struct vf_context *s = block();
            s->map.given = 1;
            size_t used;
            assert_int_equal(vf_map_save(s, other, sizeof other, &used), VFRONT_OK);
            assert_int_equal(used, bytes);
            assert_memory_equal(other, image, bytes);
            for (int i = 0; i < frames; i++) dark(!i);
            assert_int_equal(save(other), bytes);
            assert_memory_equal(other, flown, bytes);
            assert_true(memcmp(other, image, bytes) != 0); /* the graph has moved */
        }
    }
    assert_true(due && pending);
}

/** A map loaded before the first frame is lost until a loop places this chain in it. Loaded beside another map, or in
 *  flight, it keeps its poses, its place is unknown, and the chain of the flight remains whole. */
static void loaded(void **state)
{
    static uint8_t image[VFRONT_MAP_BYTES];
    (void)state;
    shake(87);
    begin(MAP_STEREO);
    flight.lap = 60;
    while (flight.frame < 90) run();
    const size_t bytes = save(image);
    const uint32_t nodes = output.nodes;
    for (int at = 0; at < 30; at += 10) {
        begin(MAP_STEREO); /* another hall */
        flight.lap = 60;
        while (flight.frame < (uint64_t)at) run();
        const uint32_t own = at ? output.nodes : 0;
        const uint32_t came = at ? now()->made : 0;
        assert_int_equal(vf_map_load(block(), image, bytes), VFRONT_OK);
        for (uint32_t i = 0; i < VFRONT_KEYFRAMES; i++) { /* they are new here */
            const struct vf_map_data *m = &memory.map.data[at % 2 ^ 1];
            if (memory.keyframe.ring[i].head.origin) assert_true(m->seen[i] == came && m->made == came);
        }
        for (int frame = 0; frame < 30; frame++) {
            memory.ingest.params.map_given = !flight.frame;
            map_frame(&flight, &step);
            memory.ingest.params.map_given = !flight.frame;
            map_stages(&step);
            vf_map_result(&memory.map, &memory.keyframe, step.geometry.active, step.parity, &output);
            map_next(&flight);
            assert_int_equal(output.state, at ? VFRONT_MAP_GOOD : VFRONT_MAP_LOST);
            assert_true(output.nodes >= nodes + own);
            for (uint32_t i = 0; i < output.nodes; i++) {
                const uint32_t slot = now()->order[i];
                assert_true(now()->placed_node[slot] == (at ? i >= nodes : i < nodes));
                assert_true((memory.keyframe.ring[slot].head.origin != 0) == (i < nodes));
            }
        }
        assert_true(output.nodes > nodes + own);
    }
}

/** One camera has keyframes and loops but no metric map, also with an estimator, whose positions are metric. */
static void no_scale(void **state)
{
    (void)state;
    for (int imu = 0; imu < 2; imu++) {
        uint32_t accepted = 0;
        shake(84);
        begin(imu ? MAP_NAV : MAP_ONE_CAMERA);
        step.geometry.active &= ~VF_BIT(stereo);
        flight.lap = 60;
        for (int frame = 0; frame < 120; frame++) {
            map_frame(&flight, &step);
            memory.ego.metric.state = VFRONT_MOTION_NONE;
            map_stages(&step);
            vf_map_result(&memory.map, &memory.keyframe, step.geometry.active, step.parity, &output);
            map_next(&flight);
            assert_int_equal(output.state, VFRONT_MAP_NO_SCALE);
            assert_true(output.q_map_odom[0] == 1.0 && output.t_map_odom_m[0] == 0.0 && output.loops == 0 &&
                        !output.counter);
            assert_true(output.sigma_m == 0.0 && output.sigma_rad == 0.0);
            for (uint32_t i = 0; i < memory.loop.count; i++) {
                accepted += memory.loop.loop[i].state == VFRONT_LOOP_ACCEPTED;
                assert_int_not_equal(memory.loop.loop[i].kind, VFRONT_LOOP_METRIC);
            }
        }
        assert_int_equal(memory.keyframe.now[step.parity].pose.source, imu ? VF_CHAIN_NAV : VF_CHAIN_ROTATIONS);
        assert_true(accepted > 20);
    }
}

/** Frame of the keyframe in a ring slot, or of this frame's keyframe. */
static uint64_t frame_of(uint32_t slot)
{
    const struct vf_keyframe_now *k = &memory.keyframe.now[step.parity];
    return k->due && k->slot == slot ? k->last.frame : memory.keyframe.ring[slot].head.frame;
}

/** All keyframes are nodes, each once, this frame's included; ends of loops are nodes. */
static void consistent(void)
{
    const struct vf_map_data *m = now();
    static uint8_t seen[VFRONT_KEYFRAMES];
    memset(seen, 0, sizeof seen);
    for (uint32_t i = 0; i < m->count; i++) {
        assert_true(m->order[i] < VFRONT_KEYFRAMES && !seen[m->order[i]]);
        seen[m->order[i]] = 1;
        if (i) assert_true(frame_of(m->order[i - 1]) < frame_of(m->order[i]));
    }
    for (int i = 0; i < VFRONT_KEYFRAMES; i++) {
        if (m->loop[i].a == VF_NONE) continue;
        assert_true(seen[i]);
        if (m->loop[i].a == VF_MAP_FRAME) {
            assert_true(m->placed_node[i] && m->loop[i].active);
            continue;
        }
        assert_true(m->loop[i].a < VFRONT_KEYFRAMES && seen[m->loop[i].a] && m->loop[i].a != (uint32_t)i);
    }
    assert_int_equal(m->count, memory.keyframe.now[step.parity].count);
}

/** True pose on a circle of 100 keyframes, and the odometry's. */
static void around(int i, struct vf_map_pose *truth, struct vf_map_pose *odometry)
{
    const double angle = 0.0628 * i, drift = 2e-4 * i;
    for (int k = 0; k < 2; k++) {
        struct vf_map_pose *p = k ? odometry : truth;
        const double yaw = angle + (k ? drift : 0.0);
        vf_map_identity(p);
        p->p[0] = 5.0 * sin(yaw), p->p[1] = 5.0 - 5.0 * cos(yaw), p->p[2] = k ? 0.001 * i : 0.0;
        p->q[0] = cos(0.5 * yaw), p->q[3] = sin(0.5 * yaw);
    }
}

/** A frame that is a keyframe, made by hand, with a loop to one of a lap before. */
static int evict_oldest; /* 1: the oldest keyframe is evicted, 0: any */
static int first_known;  /* 1: all loops lead to the first 8 keyframes, 0: to any */
static void made(int i)
{
    static struct vf_views v;
    struct vf_map_pose truth, odometry, other, T;
    struct vf_keyframe_now *k = &memory.keyframe.now[i % 2], *last = &memory.keyframe.now[(i % 2) ^ 1];
    step.parity = i % 2;
    memory.ingest.params.frame = (uint64_t)i;
    if (i) memory.keyframe.ring[last->slot].head = last->last;
    around(i, &truth, &odometry);
    memset(k, 0, sizeof *k);
    k->due = 1;
    k->count = i < VFRONT_KEYFRAMES ? (uint32_t)i + 1 : VFRONT_KEYFRAMES;
    k->slot = i < VFRONT_KEYFRAMES || evict_oldest ? (uint32_t)(i % VFRONT_KEYFRAMES)
                                                   : (uint32_t)roll(VFRONT_KEYFRAMES);
    if (i && k->slot == last->slot) k->slot = (k->slot + 1) % VFRONT_KEYFRAMES;
    k->pose.chain = 1, k->pose.source = VF_CHAIN_METRIC, k->pose.length_m = 0.314 * i;
    memcpy(k->pose.position_m, odometry.p, sizeof odometry.p);
    memcpy(k->pose.q_chain_cam, odometry.q, sizeof odometry.q);
    k->last.frame = (uint64_t)i, k->last.pose = k->pose, k->last.used = 1;
    memory.loop.count = 0;
    const uint32_t a = (uint32_t)roll(first_known ? 8 : i < VFRONT_KEYFRAMES ? i + 1 : VFRONT_KEYFRAMES);
    const int of = (int)memory.keyframe.ring[a].head.frame;
    if (i > 100 && memory.keyframe.ring[a].head.used && of < i - 60) {
        double R[9];
        around(of, &other, &odometry);
        vf_map_between(&truth, &other, &T); /* p_now = R p_keyframe + t */
        vf_quaternion_matrix(T.q, R);
        memset(&memory.loop.loop[0], 0, sizeof memory.loop.loop[0]);
        for (int n = 0; n < 9; n++) memory.loop.loop[0].R[n] = (float)R[n];
        for (int n = 0; n < 3; n++) memory.loop.loop[0].t[n] = (float)T.p[n];
        memory.loop.loop[0].state = VFRONT_LOOP_ACCEPTED, memory.loop.loop[0].kind = VFRONT_LOOP_METRIC;
        memory.loop.from[0] = 0;
        memory.loop.count = 1;
        memory.recall.candidate[0] = a;
        memory.relpose.found[0].inliers = 50;
    }
    vf_map_make_view(&v.map, &step);
    vf_map_host(&v.map);
}

/** More keyframes than ring slots: nodes are evicted, any or the oldest, their loops move to neighbours, and the map
 *  stays right, even when none of the first lap is left. */
static void room(void **state)
{
    (void)state;
    for (evict_oldest = 0; evict_oldest < 2; evict_oldest++) {
        const int frames = VFRONT_KEYFRAMES + (evict_oldest ? 300 : 120);
        double worst = 0.0;
        shake(85);
        begin(MAP_STEREO);
        for (int i = 0; i < frames; i++) {
            made(i);
            consistent();
        }
        for (uint32_t i = 0; i < now()->count; i++) {
            struct vf_map_pose truth, odometry;
            double sum = 0.0;
            around((int)frame_of(now()->order[i]), &truth, &odometry);
            for (int k = 0; k < 3; k++) sum += pow(truth.p[k] - now()->node[now()->order[i]].p[k], 2.0);
            worst = fmax(worst, sqrt(sum));
        }
        print_message("%d keyframes: the map is off by %.3f m at most\n", frames, worst);
        assert_int_equal(now()->count, VFRONT_KEYFRAMES);
        assert_true(now()->loops > 100);
        assert_true(worst < 0.1); /* the odometry is off by 1.1 m and more */
    }
}

/** Number of priors, and largest error of a keyframe [m]. */
static uint32_t count_priors(double *worst)
{
    uint32_t priors = 0;
    *worst = 0.0;
    for (uint32_t i = 0; i < now()->count; i++) {
        const uint32_t slot = now()->order[i];
        struct vf_map_pose truth, odometry;
        double sum = 0.0;
        around((int)frame_of(slot), &truth, &odometry);
        for (int k = 0; k < 3; k++) sum += pow(truth.p[k] - now()->node[slot].p[k], 2.0);
        *worst = fmax(*worst, sqrt(sum));
        priors += now()->loop[slot].a == VF_MAP_FRAME;
    }
    return priors;
}

/** Loops only to the first keyframes, which are then evicted: their other ends get priors at their poses, with at least
 *  their variances, and so does the first node. The map stays right. Variances do not exceed those of a neighbour plus
 *  the edge between. */
static void priors(void **state)
{
    double worst, least = 1e9, most = 0.0;
    (void)state;
    first_known = evict_oldest = 1;
    shake(88);
    begin(MAP_STEREO);
    for (int i = 0; i < VFRONT_KEYFRAMES; i++) made(i);
    assert_int_equal(count_priors(&worst), 0);
    assert_true(worst < 0.1);
    for (int i = VFRONT_KEYFRAMES; i < VFRONT_KEYFRAMES + 40; i++) {
        made(i);
        consistent();
    }
    first_known = 0;
    const struct vf_map_data *m = now();
    print_message("%u ties, off by %.3f m\n", count_priors(&worst), worst);
    assert_true(count_priors(&worst) > 30 && m->loop[m->order[0]].a == VF_MAP_FRAME);
    assert_true(worst < 0.1);
    for (uint32_t i = 0; i < m->count; i++) {
        const uint32_t slot = m->order[i];
        double m2, rad2;
        if (m->loop[slot].a == VF_MAP_FRAME)
            assert_true(m->loop[slot].sigma_m * m->loop[slot].sigma_m > 0.999f * m->node_m2[slot]);
        least = fmin(least, (double)m->node_rad2[slot]);
        if (!i || i + 60 > m->count) continue; /* the last ones are new */
        most = fmax(most, (double)m->node_rad2[slot]);
        const struct vf_chain_pose *a = &memory.keyframe.ring[m->order[i - 1]].head.pose;
        vf_map_edge_variance(a, &memory.keyframe.ring[slot].head.pose, &m2, &rad2);
        assert_true((double)m->node_rad2[slot] <= 1.001 * ((double)m->node_rad2[m->order[i - 1]] + rad2));
    }
    assert_true(least > 1e-6);       /* no keyframe defines the map frame any more */
    assert_true(most < 0.04 * 0.04); /* by the chain alone: 0.07 */
}

/** Two keyframes of a chain, ten laps apart, between which the odometry has drifted by 0.24 rad unknowingly: a loop
 *  between them prevails over the odometry. */
static void far_apart(void **state)
{
    (void)state;
    shake(89);
    begin(MAP_STEREO);
    run();
    struct vf_map_data *m = &memory.map.data[step.parity];
    const struct vf_map_graph g = {memory.keyframe.ring, m, &memory.map.work, NULL};
    for (uint32_t i = 0; i < 2; i++) {
        struct vf_chain_pose *own = &memory.keyframe.ring[i].head.pose;
        memset(own, 0, sizeof *own);
        own->chain = 1, own->source = VF_CHAIN_METRIC;
        own->q_chain_cam[0] = cos(0.12 * i), own->q_chain_cam[2] = sin(0.12 * i);
        own->position_m[0] = 2.0 * i;
        own->length_m = 250.0 * i;
        own->rotation_variance_rad2 = 2400 * 1e-7 * i;
        vf_map_from_chain(own, &m->node[i]);
        m->order[i] = (uint16_t)i;
    }
    m->count = 2, m->scale = VF_MAP_SCALE;
    const struct vf_map_loop loop = {{{2.0, 0.0, 0.0}, {1.0, 0.0, 0.0, 0.0}}, 0.02f, 0.005f, 0, 40, 1, 0};
    m->loop[1] = loop;
    for (int i = 0; i < VF_MAP_PERIOD; i++) {
        vf_map_optimise(&g);
        m->scale = m->scale > VF_MAP_SCALE_DECAY ? m->scale / VF_MAP_SCALE_DECAY : 1.0;
    }
    print_message("heading off by %.4f rad\n", 2.0 * fabs(m->node[1].q[2]));
    assert_true(2.0 * fabs(m->node[1].q[2]) < 0.005 && fabs(m->node[1].p[0] - 2.0) < 0.02);
}

/** Loops with a keyframe that was replaced after this frame was compared with it: none enters the graph, where the slot
 *  belongs to the new keyframe. */
static void made_room(void **state)
{
    static struct vf_views v;
    int kept = 0;
    (void)state;
    shake(90);
    begin(MAP_STEREO);
    flight.lap = 60;
    while (flight.frame < 200) {
        const uint32_t slot = memory.keyframe.now[step.parity].slot;
        run();
        const uint32_t last = memory.keyframe.now[step.parity].slot;
        if (memory.keyframe.now[step.parity ^ 1].due || now()->loop[last].a == VF_NONE || last != slot) continue;
        const uint32_t a = now()->loop[last].a;
        if (memory.map.data[step.parity ^ 1].loop[last].a == a) continue; /* not of this frame */
        before = memory;
        memory.keyframe.now[step.parity ^ 1].due = 1;
        memory.keyframe.now[step.parity ^ 1].slot = a;
        vf_map_make_view(&v.map, &step);
        vf_map_host(&v.map);
        assert_true(now()->loop[last].a != a);
        memory = before;
        kept++;
    }
    print_message("%d loops that were kept, and would be no more\n", kept);
    assert_true(kept > 5);
}

/** The graph step before all other stages of the frame gives the same bits as after them, in the first frame and after
 *  new keyframes, also with evictions. */
static void early(void **state)
{
    static struct vf_memory behind;
    static struct vf_views v;
    uint32_t due = 0, full = 0, loops = 0;
    (void)state;
    for (int kind = MAP_STEREO; kind <= MAP_NAV; kind++) {
        shake(91);
        begin((enum map_kind)kind);
        flight.lap = 60;
        for (int frame = 0; frame < 130; frame++) {
            if (frame == 100) /* fills the rest of the ring with one keyframe */
                for (uint32_t i = memory.keyframe.now[1].count; i < VFRONT_KEYFRAMES; i++) {
                    memory.keyframe.ring[i].head = memory.keyframe.ring[0].head;
                    memory.keyframe.now[1].count = VFRONT_KEYFRAMES;
                }
            map_frame(&flight, &step);
            before = memory;
            map_stages(&step);
            behind = memory;
            memory = before;
            vf_map_make_view(&v.map, &step);
            vf_keyframe_make_view(&v.keyframe, &step);
            vf_loop_make_view(&v.loop, &step);
            vf_map_solve(&v.map);
            memory.recall = behind.recall;
            memory.relpose = behind.relpose;
            vf_keyframe_host(&v.keyframe);
            vf_loop_host(&v.loop);
            vf_map_update(&v.map);
            assert_memory_equal(&memory.map, &behind.map, sizeof memory.map);
            assert_memory_equal(&memory.keyframe, &behind.keyframe, sizeof memory.keyframe);
            map_next(&flight);
            due += memory.keyframe.now[step.parity ^ 1].due;
            full += memory.keyframe.now[step.parity].due && memory.keyframe.now[step.parity].count == VFRONT_KEYFRAMES;
            loops += now()->loops > 0;
        }
    }
    assert_true(due > 40 && full > 5 && loops > 20);
}

static void twice(void **state)
{
    (void)state;
    shake(86);
    begin(MAP_STEREO);
    for (int frame = 0; frame < 100; frame++) {
        run();
        if (memory.keyframe.now[step.parity ^ 1].due) continue; /* recall sees one more keyframe */
        before = memory;
        map_stages(&step);
        assert_memory_equal(&memory.map, &before.map, sizeof memory.map);
    }
    flight.frame = 0; /* as after vfront_reset() */
    run();
    assert_true(!output.loops && output.nodes == 1 && !output.counter && output.q_map_odom[0] == 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laps),     cmocka_unit_test(found), cmocka_unit_test(changed),   cmocka_unit_test(loaded),
        cmocka_unit_test(no_scale), cmocka_unit_test(room),  cmocka_unit_test(priors),    cmocka_unit_test(twice),
        cmocka_unit_test(goes_on),  cmocka_unit_test(seen),  cmocka_unit_test(far_apart), cmocka_unit_test(made_room),
        cmocka_unit_test(early)};
    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}

#else

int main(void) { return 77; }

#endif
