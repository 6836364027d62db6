/* SPDX-License-Identifier: MIT */
/* map: drawn flights in laps beside where the camera was: errors with the map stay, those without it grow; T_map_odom
 * changes at the ends of turns alone; a path that is cut is lost, and found at once, in the right place, by a loop; one
 * camera has no map of lengths; a place that has changed; keyframes that make room, and loops with them; a way of
 * many laps; a step that is done twice; the step of the graph before all else; a map that was saved and loaded goes on
 * with the same bits; when keyframes were found again. The graph itself: graph.py. */
#include "tests/fixture/stage.h"

#include "core/map.h"

#if VFRONT_MAP

#include "map_flight.h"

static struct map_flight flight;
static struct vf_memory before;
static double R0[9], p0[3]; /* camera to hall, of the first frame */
static vfront_map_t told;

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
    vf_map_result(&memory.map, &memory.keyframe, step.geometry.active, step.parity, &told);
    map_next(&flight);
}

static const struct vf_map_state *now(void) { return &memory.map.state[step.parity]; }

/** Distance of a position of the camera in the map, or in the odometry frame, from where it was. */
static double off(int in_map)
{
    double p[3], R[9], want[3], sum = 0.0;
    memcpy(p, told.position_m, sizeof p);
    if (in_map) {
        vf_quaternion_matrix(told.q_map_odom, R);
        vf_transform_double(R, told.position_m, p);
        for (int k = 0; k < 3; k++) p[k] += told.t_map_odom_m[k];
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

/** Three laps: in the last one the map is off by a third of the odometry at most; T_map_odom is that of the frame
 *  before, but at the end of a turn. */
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
            const vfront_map_t last = told;
            run();
            if (frame > 1) assert_int_equal(told.state, VFRONT_MAP_GOOD);
            if (frame && frame % VF_MAP_TURN && frame > 1) {
                assert_memory_equal(told.t_map_odom_m, last.t_map_odom_m, sizeof last.t_map_odom_m);
                assert_memory_equal(told.q_map_odom, last.q_map_odom, sizeof last.q_map_odom);
                assert_int_equal(told.counter, last.counter);
            }
            for (int k = 0; k < 2 && frame >= 200; k++) sum[k] += off(k) * off(k) / 100.0;
        }
        assert_true(told.loops > 10 && told.nodes > 40);
        assert_true(sqrt(sum[1]) < 0.2 && 3.0 * sqrt(sum[1]) < sqrt(sum[0]));
        assert_true(told.sigma_m > 0.01 && told.sigma_m < 0.3 && told.sigma_rad > 0.003 && told.sigma_rad < 0.05);
        assert_int_equal(now()->upright, kind == MAP_NAV);
        if (kind == MAP_NAV) assert_true(told.q_map_odom[1] == 0.0 && told.q_map_odom[2] == 0.0);
    }
}

/** Of each keyframe the number of those that had come when it came itself, or when a loop with it, of any kind, was
 *  accepted last; that of a loop which is not accepted stays. */
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
                const uint32_t slot = memory.place.candidate[memory.loop.from[i]];
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

/** Elsewhere all of a sudden: lost, and found within 30 frames, where it is, in one jump; the odometry has none. */
static void found(void **state)
{
    int times = 0;
    (void)state;
    for (int turn = 0; turn < 4; turn++) {
        shake(90 + (uint64_t)turn);
        begin(MAP_STEREO);
        flight.lap = 120;
        for (int frame = 0; frame < 130; frame++) run();
        const uint32_t counter = told.counter;
        flight.frame += 2 * (30 + (uint64_t)roll(60)); /* the camera is where it was on the first lap */
        flight.cut = 1;
        run();
        flight.cut = 0;
        if (told.state == VFRONT_MAP_LOST) {
            assert_true(told.sigma_m == 0.0);
            assert_int_equal(told.counter, counter);
        }
        for (int frame = 0; frame < 30 && told.state == VFRONT_MAP_LOST; frame++) {
            const vfront_map_t last = told;
            run();
            double moved = 0.0;
            for (int k = 0; k < 3; k++) moved += fabs(told.position_m[k] - last.position_m[k]);
            assert_true(moved < 0.5);
        }
        if (told.state != VFRONT_MAP_GOOD) continue;
        times++;
        assert_int_equal(told.counter, counter + 1);
        assert_true(off(1) < 0.25);
        for (int frame = 0; frame < 30; frame++) run();
        assert_int_equal(told.state, VFRONT_MAP_GOOD);
        assert_true(off(1) < 0.25);
    }
    assert_int_equal(times, 4);
}

/** Lost in a place of which half of the points look otherwise now: found where it is, or still lost, never elsewhere.
 *  Of descriptors without sense it stays lost, T_map_odom is as it was, and no loop is accepted. */
static void changed(void **state)
{
    int times = 0;
    (void)state;
    for (int turn = 0; turn < 6; turn++) {
        shake(120 + (uint64_t)turn);
        begin(MAP_STEREO);
        flight.lap = 120;
        for (int frame = 0; frame < 130; frame++) run();
        const vfront_map_t last = told;
        flight.frame += 2 * (30 + (uint64_t)roll(60));
        flight.cut = 1;
        flight.changed_percent = 50;
        if (turn % 2) flight.kind = MAP_NONSENSE;
        run();
        flight.cut = 0;
        for (int frame = 0; frame < 40; frame++) {
            run();
            if (told.state == VFRONT_MAP_GOOD) assert_true(off(1) < 0.3);
            if (turn % 2 == 0) continue;
            assert_int_equal(told.state, VFRONT_MAP_LOST);
            assert_int_equal(told.counter, last.counter);
            assert_memory_equal(told.t_map_odom_m, last.t_map_odom_m, sizeof last.t_map_odom_m);
            for (uint32_t i = 0; i < memory.loop.count; i++)
                assert_int_not_equal(memory.loop.loop[i].state, VFRONT_LOOP_ACCEPTED);
        }
        times += told.state == VFRONT_MAP_GOOD;
    }
    assert_int_equal(times, 3);
}

/* ---- saved and loaded -------------------------------------------------------------------------------------------- */

static vfront_status_t port_read(struct vf_state *s, const void **at, const void *from, size_t bytes)
{
    static uint8_t copy[VF_READ_BYTES];
    (void)s;
    assert_true(bytes <= sizeof copy);
    memcpy(copy, from, bytes);
    *at = copy;
    return VFRONT_OK;
}

static vfront_status_t port_write(struct vf_state *s, void *to, const void *from, size_t bytes)
{
    (void)s;
    memcpy(to, from, bytes);
    return VFRONT_OK;
}

/** Control block of the flight, before its next frame. */
static struct vf_state *block(void)
{
    static const struct vf_port port = {.write = port_write, .read = port_read};
    static struct vf_state s;
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

/** A frame in which nothing is seen. */
static void dark(int given)
{
    map_frame(&flight, &step);
    memory.bearing.count[step.parity][0] = 0;
    memory.ingest.params.map_given = (uint32_t)given;
    map_stages(&step);
    map_next(&flight);
}

/** After laps, saved between two frames at the end of a turn: where nothing is seen from then on, the graph of the
 *  flight and that of one that loaded the image have the same bits, frame by frame; so has the image once more. */
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
        const struct vf_map_state *m = now();
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
            memset(&memory, 0x5a, sizeof memory); /* as another run left it */
            flight.frame = 0;
            assert_int_equal(vf_map_load(block(), image, bytes), VFRONT_OK);
            struct vf_state *s = block();
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

/** Loaded before the first frame, a map is lost until a loop tells where this path lies in it; beside another one, or
 *  in flight, it is as it was flown, nothing is known of where it lies, and the path of the flight stays whole. */
static void loaded(void **state)
{
    static uint8_t image[VFRONT_MAP_BYTES];
    (void)state;
    shake(87);
    begin(MAP_STEREO);
    flight.lap = 60;
    while (flight.frame < 90) run();
    const size_t bytes = save(image);
    const uint32_t nodes = told.nodes;
    for (int at = 0; at < 30; at += 10) {
        begin(MAP_STEREO); /* another hall */
        flight.lap = 60;
        while (flight.frame < (uint64_t)at) run();
        const uint32_t own = at ? told.nodes : 0;
        const uint32_t came = at ? now()->made : 0;
        assert_int_equal(vf_map_load(block(), image, bytes), VFRONT_OK);
        for (uint32_t i = 0; i < VFRONT_KEYFRAMES; i++) { /* it has come now */
            const struct vf_map_state *m = &memory.map.state[at % 2 ^ 1];
            if (memory.keyframe.ring[i].head.origin) assert_true(m->seen[i] == came && m->made == came);
        }
        for (int frame = 0; frame < 30; frame++) {
            memory.ingest.params.map_given = !flight.frame;
            map_frame(&flight, &step);
            memory.ingest.params.map_given = !flight.frame;
            map_stages(&step);
            vf_map_result(&memory.map, &memory.keyframe, step.geometry.active, step.parity, &told);
            map_next(&flight);
            assert_int_equal(told.state, at ? VFRONT_MAP_GOOD : VFRONT_MAP_LOST);
            assert_true(told.nodes >= nodes + own);
            for (uint32_t i = 0; i < told.nodes; i++) {
                const uint32_t slot = now()->order[i];
                assert_true(now()->placed_node[slot] == (at ? i >= nodes : i < nodes));
                assert_true((memory.keyframe.ring[slot].head.origin != 0) == (i < nodes));
            }
        }
        assert_true(told.nodes > nodes + own);
    }
}

/** One camera has keyframes, loops, and no map of lengths: with a state of the IMU, too, where positions have them. */
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
            vf_map_result(&memory.map, &memory.keyframe, step.geometry.active, step.parity, &told);
            map_next(&flight);
            assert_int_equal(told.state, VFRONT_MAP_NO_SCALE);
            assert_true(told.q_map_odom[0] == 1.0 && told.t_map_odom_m[0] == 0.0 && told.loops == 0 && !told.counter);
            assert_true(told.sigma_m == 0.0 && told.sigma_rad == 0.0);
            for (uint32_t i = 0; i < memory.loop.count; i++) {
                accepted += memory.loop.loop[i].state == VFRONT_LOOP_ACCEPTED;
                assert_int_not_equal(memory.loop.loop[i].kind, VFRONT_LOOP_METRIC);
            }
        }
        assert_int_equal(memory.keyframe.now[step.parity].pose.source, imu ? VF_PATH_NAV : VF_PATH_TURNS);
        assert_true(accepted > 20);
    }
}

/** Frame of the keyframe at a place of the ring: in the ring, or that of this frame. */
static uint64_t frame_of(uint32_t slot)
{
    const struct vf_keyframe_now *k = &memory.keyframe.now[step.parity];
    return k->due && k->slot == slot ? k->last.frame : memory.keyframe.ring[slot].head.frame;
}

/** All keyframes are nodes, each once, that of this frame, too; ends of loops are nodes. */
static void consistent(void)
{
    const struct vf_map_state *m = now();
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

/** Pose on a circle of 100 keyframes, and what the odometry makes of it. */
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
static int oldest_goes; /* 1: the oldest keyframe makes room, 0: any */
static int first_known; /* 1: all loops lead to the first 8 keyframes, 0: to any */
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
    k->slot = i < VFRONT_KEYFRAMES || oldest_goes ? (uint32_t)(i % VFRONT_KEYFRAMES) : (uint32_t)roll(VFRONT_KEYFRAMES);
    if (i && k->slot == last->slot) k->slot = (k->slot + 1) % VFRONT_KEYFRAMES;
    k->pose.path = 1, k->pose.source = VF_PATH_METRIC, k->pose.length_m = 0.314 * i;
    memcpy(k->pose.position_m, odometry.p, sizeof odometry.p);
    memcpy(k->pose.q_path_cam, odometry.q, sizeof odometry.q);
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
        memory.place.candidate[0] = a;
        memory.overlap.found[0].inliers = 50;
    }
    vf_map_look(&v.map, &step);
    vf_map_host(&v.map);
}

/** More keyframes than places: nodes go, any or the oldest, their loops pass on to neighbours, and the map stays right,
 *  also when none of the first lap's is left. */
static void room(void **state)
{
    (void)state;
    for (oldest_goes = 0; oldest_goes < 2; oldest_goes++) {
        const int frames = VFRONT_KEYFRAMES + (oldest_goes ? 300 : 120);
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

/** Number of ties, and how far keyframes are off at most [m]. */
static uint32_t tied(double *worst)
{
    uint32_t ties = 0;
    *worst = 0.0;
    for (uint32_t i = 0; i < now()->count; i++) {
        const uint32_t slot = now()->order[i];
        struct vf_map_pose truth, odometry;
        double sum = 0.0;
        around((int)frame_of(slot), &truth, &odometry);
        for (int k = 0; k < 3; k++) sum += pow(truth.p[k] - now()->node[slot].p[k], 2.0);
        *worst = fmax(*worst, sqrt(sum));
        ties += now()->loop[slot].a == VF_MAP_FRAME;
    }
    return ties;
}

/** Loops that lead to the first keyframes alone, which then make room: those that they led to are tied to where they
 *  are, with at least the variance that they had, the first of the graph among them; the map stays right. Variances are
 *  no more than those of neighbours and the edge between. */
static void ties(void **state)
{
    double worst, least = 1e9, most = 0.0;
    (void)state;
    first_known = oldest_goes = 1;
    shake(88);
    begin(MAP_STEREO);
    for (int i = 0; i < VFRONT_KEYFRAMES; i++) made(i);
    assert_int_equal(tied(&worst), 0);
    assert_true(worst < 0.1);
    for (int i = VFRONT_KEYFRAMES; i < VFRONT_KEYFRAMES + 40; i++) {
        made(i);
        consistent();
    }
    first_known = 0;
    const struct vf_map_state *m = now();
    print_message("%u ties, off by %.3f m\n", tied(&worst), worst);
    assert_true(tied(&worst) > 30 && m->loop[m->order[0]].a == VF_MAP_FRAME);
    assert_true(worst < 0.1);
    for (uint32_t i = 0; i < m->count; i++) {
        const uint32_t slot = m->order[i];
        double m2, rad2;
        if (m->loop[slot].a == VF_MAP_FRAME)
            assert_true(m->loop[slot].sigma_m * m->loop[slot].sigma_m > 0.999f * m->node_m2[slot]);
        least = fmin(least, (double)m->node_rad2[slot]);
        if (!i || i + 60 > m->count) continue; /* the last ones are new */
        most = fmax(most, (double)m->node_rad2[slot]);
        const struct vf_path_pose *a = &memory.keyframe.ring[m->order[i - 1]].head.pose;
        vf_map_edge_variance(a, &memory.keyframe.ring[slot].head.pose, &m2, &rad2);
        assert_true((double)m->node_rad2[slot] <= 1.001 * ((double)m->node_rad2[m->order[i - 1]] + rad2));
    }
    assert_true(least > 1e-6);       /* no keyframe is the frame of the map any more */
    assert_true(most < 0.04 * 0.04); /* the path alone: 0.07 */
}

/** Two keyframes of a path, ten laps apart, in which the odometry has turned by 0.24 rad too much without knowing it: a
 *  loop between them has its way, not the odometry. */
static void far_apart(void **state)
{
    (void)state;
    shake(89);
    begin(MAP_STEREO);
    run();
    struct vf_map_state *m = &memory.map.state[step.parity];
    const struct vf_map_graph g = {memory.keyframe.ring, m, &memory.map.work, NULL};
    for (uint32_t i = 0; i < 2; i++) {
        struct vf_path_pose *own = &memory.keyframe.ring[i].head.pose;
        memset(own, 0, sizeof *own);
        own->path = 1, own->source = VF_PATH_METRIC;
        own->q_path_cam[0] = cos(0.12 * i), own->q_path_cam[2] = sin(0.12 * i);
        own->position_m[0] = 2.0 * i;
        own->length_m = 250.0 * i;
        own->turn_variance_rad2 = 2400 * 1e-7 * i;
        vf_map_of_path(own, &m->node[i]);
        m->order[i] = (uint16_t)i;
    }
    m->count = 2, m->scale = VF_MAP_SCALE;
    const struct vf_map_loop loop = {{{2.0, 0.0, 0.0}, {1.0, 0.0, 0.0, 0.0}}, 0.02f, 0.005f, 0, 40, 1, 0};
    m->loop[1] = loop;
    for (int i = 0; i < VF_MAP_TURN; i++) {
        vf_map_optimise(&g);
        m->scale = m->scale > VF_MAP_SCALE_FALL ? m->scale / VF_MAP_SCALE_FALL : 1.0;
    }
    print_message("heading off by %.4f rad\n", 2.0 * fabs(m->node[1].q[2]));
    assert_true(2.0 * fabs(m->node[1].q[2]) < 0.005 && fabs(m->node[1].p[0] - 2.0) < 0.02);
}

/** Loops with a keyframe that has made room for that of the frame before since this frame was compared with it: none of
 *  them comes into the graph, where its place is the new keyframe's. */
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
        if (memory.map.state[step.parity ^ 1].loop[last].a == a) continue; /* not of this frame */
        before = memory;
        memory.keyframe.now[step.parity ^ 1].due = 1;
        memory.keyframe.now[step.parity ^ 1].slot = a;
        vf_map_look(&v.map, &step);
        vf_map_host(&v.map);
        assert_true(now()->loop[last].a != a);
        memory = before;
        kept++;
    }
    print_message("%d loops that were kept, and would be no more\n", kept);
    assert_true(kept > 5);
}

/** The step of the graph before all other stages of the frame: the same bits as behind them, in the first frame and
 *  behind keyframes, also where these make room. */
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
            if (frame == 100) /* the rest of the ring becomes full, of one keyframe */
                for (uint32_t i = memory.keyframe.now[1].count; i < VFRONT_KEYFRAMES; i++) {
                    memory.keyframe.ring[i].head = memory.keyframe.ring[0].head;
                    memory.keyframe.now[1].count = VFRONT_KEYFRAMES;
                }
            map_frame(&flight, &step);
            before = memory;
            map_stages(&step);
            behind = memory;
            memory = before;
            vf_map_look(&v.map, &step);
            vf_keyframe_look(&v.keyframe, &step);
            vf_loop_look(&v.loop, &step);
            vf_map_solve(&v.map);
            memory.place = behind.place;
            memory.overlap = behind.overlap;
            vf_keyframe_host(&v.keyframe);
            vf_loop_host(&v.loop);
            vf_map_bend(&v.map);
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
        if (memory.keyframe.now[step.parity ^ 1].due) continue; /* place sees one keyframe more */
        before = memory;
        map_stages(&step);
        assert_memory_equal(&memory.map, &before.map, sizeof memory.map);
    }
    flight.frame = 0; /* as after vfront_reset() */
    run();
    assert_true(!told.loops && told.nodes == 1 && !told.counter && told.q_map_odom[0] == 1.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laps),     cmocka_unit_test(found), cmocka_unit_test(changed),   cmocka_unit_test(loaded),
        cmocka_unit_test(no_scale), cmocka_unit_test(room),  cmocka_unit_test(ties),      cmocka_unit_test(twice),
        cmocka_unit_test(goes_on),  cmocka_unit_test(seen),  cmocka_unit_test(far_apart), cmocka_unit_test(made_room),
        cmocka_unit_test(early)};
    return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}

#else

int main(void) { return 77; }

#endif
