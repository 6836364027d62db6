/* SPDX-License-Identifier: MIT */
/* loop: each state of a loop from overlaps made by hand, by the path and by the map; and drawn flights: all that is
 * accepted is right, and a lap is found again, also where half of the landmarks look otherwise; nothing is in
 * descriptors without sense. */
#include "tests/fixture/stage.h"

#if VFRONT_MAP

#include "map_flight.h"

static struct map_flight flight;

static void run(void)
{
    static struct vf_views v;
    vf_loop_look(&v.loop, &step);
    vf_loop_host(&v.loop);
}

static void at(struct vf_path_pose *p, double x, uint32_t path)
{
    memset(p, 0, sizeof *p);
    p->position_m[0] = x;
    p->q_path_cam[0] = 1.0;
    p->path = path;
    p->source = VF_PATH_METRIC;
}

/** An overlap with a keyframe at x of a path, which sees this frame `away` m ahead of it along x, turned by angle. */
static void overlap(int c, uint64_t frame, double x, uint32_t path, double away, double angle)
{
    struct vf_overlap_found *f = &memory.overlap.found[c];
    struct vf_keyframe *k = &memory.overlap.head[c];
    memset(f, 0, sizeof *f);
    memset(k, 0, sizeof *k);
    at(&k->pose, x, path);
    k->frame = frame;
    k->used = 1;
    f->enough = 1;
    f->kind = VF_METRIC;
    f->inliers = 40;
    f->pairs = 50;
    f->pose.R[0] = f->pose.R[4] = (float)cos(angle), f->pose.R[8] = 1.0f;
    f->pose.R[1] = (float)-sin(angle), f->pose.R[3] = (float)sin(angle);
    f->pose.t[0] = (float)(-away * cos(angle)), f->pose.t[1] = (float)(-away * sin(angle));
    for (int i = 0; i < 3; i++) f->covariance[vf_motion_diagonal(i)] = 1e-5f;
}

static void clean(uint64_t frame)
{
    memset(&memory, 0, sizeof memory);
    map_geometry(&step, MAP_STEREO, &memory);
    memory.ingest.params.frame = frame;
    memory.loop.recent[step.parity ^ 1].next = 0;
    for (int i = 0; i < VF_LOOP_KEPT; i++) memory.loop.recent[step.parity ^ 1].claim[i].frame = VF_LOOP_NEVER;
    at(&memory.keyframe.now[step.parity].pose, 10.0, 3);
}

static uint32_t state_of(int i) { return memory.loop.loop[i].state; }

static void states(void **state)
{
    (void)state;
    clean(100);
    overlap(0, 5, 8.0, 3, 2.0, 0.0);
    run();
    assert_int_equal(memory.loop.count, 1);
    assert_int_equal(state_of(0), VFRONT_LOOP_ALONE);
    overlap(2, 9, 8.5, 3, 1.52, 0.0);
    run();
    assert_int_equal(memory.loop.count, 2);
    assert_int_equal(state_of(0), VFRONT_LOOP_ACCEPTED);
    assert_int_equal(state_of(1), VFRONT_LOOP_ACCEPTED);
    assert_int_equal(memory.loop.loop[0].agreeing, 1);
    overlap(2, 9, 8.5, 3, 1.8, 0.0); /* they differ by 0.3 m */
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_ALONE);
    overlap(2, 9, 8.5, 3, 1.5, 0.09); /* by 5 degrees */
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_ALONE);
    overlap(2, 9, 8.5, 3, 1.5, 0.06);
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_ACCEPTED);
    memory.overlap.found[0].enough = 0;
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_FEW);
    assert_int_equal(state_of(1), VFRONT_LOOP_ALONE);
    assert_true(memory.loop.loop[0].R[0] == 1.0f && memory.loop.loop[0].t[0] == 0.0f);
    clean(100);
    overlap(0, 5, 8.0, 3, 2.5, 0.0); /* 0.5 m off, where 0.3 m and nothing more are allowed */
    overlap(1, 9, 8.5, 3, 2.0, 0.0);
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_FAR);
    assert_int_equal(state_of(1), VFRONT_LOOP_FAR);
    memory.keyframe.now[step.parity].pose.length_m = 10.0; /* a way along which 0.3 m more may come up */
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_ACCEPTED);
    overlap(0, 5, 8.0, 3, 2.0, 0.2);
    overlap(1, 9, 8.5, 3, 1.5, 0.2);
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_FAR);
}

/** Keyframes of another path: two others have to agree, and no other motion may fit. */
static void another_path(void **state)
{
    (void)state;
    clean(100);
    overlap(0, 5, 8.0, 2, 2.0, 1.0);
    overlap(1, 9, 8.0, 2, 2.05, 1.0);
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_ALONE);
    overlap(2, 14, 8.0, 2, 1.95, 1.0);
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_ACCEPTED);
    memory.overlap.found[0].rival = 1;
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_TWO);
    overlap(2, 14, 8.0, 1, 1.95, 1.0); /* of a third path: it says nothing of the second */
    run();
    assert_int_equal(state_of(1), VFRONT_LOOP_ALONE);
}

/** Overlaps of the last frames are carried along the path; they are forgotten after VF_LOOP_FRAMES. */
static void earlier(void **state)
{
    (void)state;
    for (int later = 1; later <= 20; later++) {
        clean(100);
        overlap(0, 5, 8.0, 3, 2.0, 0.0);
        run();
        step.parity ^= 1;
        memory.ingest.params.frame = 100 + (uint64_t)later;
        at(&memory.keyframe.now[step.parity].pose, 10.5, 3);
        overlap(0, 9, 8.5, 3, 2.0, 0.0);
        run();
        assert_int_equal(state_of(0), later <= VF_LOOP_FRAMES ? VFRONT_LOOP_ACCEPTED : VFRONT_LOOP_ALONE);
    }
    /* the same keyframe again: twice before */
    clean(100);
    for (int i = 0; i < 3; i++) {
        memory.ingest.params.frame = 100 + (uint64_t)i;
        at(&memory.keyframe.now[step.parity].pose, 10.0, 3);
        overlap(0, 5, 8.0, 3, 2.0, 0.0);
        run();
        assert_int_equal(state_of(0), i < VF_LOOP_AGAIN ? VFRONT_LOOP_ALONE : VFRONT_LOOP_ACCEPTED);
        step.parity ^= 1;
    }
}

/* ---- by the map -------------------------------------------------------------------------------------------------- */

/** Map of the frame before, in which path 3 lies 5 m aside. */
static struct vf_map_state *map_of_path_3(void)
{
    struct vf_map_state *m = &memory.map.state[step.parity ^ 1];
    memset(m, 0, sizeof *m);
    vf_map_identity(&m->work);
    m->work.p[1] = 5.0;
    m->placed = 1;
    m->path = 3;
    m->count = 1;
    return m;
}

/** The keyframe of overlap c has a place in the map: at x, turned by angle, as the one in its path is by none. */
static void node(int c, double x, double angle)
{
    struct vf_map_state *m = &memory.map.state[step.parity ^ 1];
    const uint32_t slot = 7 + (uint32_t)c;
    memory.place.candidate[c] = slot;
    vf_map_identity(&m->node[slot]);
    m->node[slot].p[0] = x, m->node[slot].p[1] = 5.0;
    m->node[slot].q[0] = cos(0.5 * angle), m->node[slot].q[3] = sin(0.5 * angle);
    m->placed_node[slot] = 1;
}

/** Two keyframes of the frame's path, whose overlaps contradict the path by `off` metres and agree with each other; in
 *  the map they lie where this frame is off by `off_map` and turned by `angle`. */
static void drifted(double off, double off_map, double angle)
{
    for (int c = 0; c < 2; c++) {
        overlap(c, 5 + 4 * (uint64_t)c, 8.0, 3, 2.0 + off, angle);
        node(c, 10.0 + off_map - (2.0 + off), 0.0);
    }
    run();
}

/** A loop that is too far by the path is taken within what the frame's place in the map is off by, and not beyond. */
static void near_in_the_map(void **state)
{
    (void)state;
    shake(44);
    for (int turn = 0; turn < 200; turn++) {
        clean(100);
        struct vf_map_state *m = map_of_path_3();
        m->variance_m2 = turn % 4 ? map_real(0.0, 0.1) : 0.0;
        m->variance_rad2 = turn % 3 ? map_real(0.0, 0.01) : 0.0;
        const double sigma = sqrt(3e-5), most_m = 3.0 * sqrt(3.0 * m->variance_m2) + 0.3 + 3.0 * sigma,
                     most_rad = 3.0 * sqrt(m->variance_rad2) + 0.1, share = map_real(0.0, 2.0);
        if (share > 0.99 && share < 1.01) continue;
        const int by_angle = turn % 2;
        drifted(0.5, by_angle ? 0.0 : share * most_m, by_angle ? share * most_rad : 0.0);
        if (state_of(0) != (share > 1.0 ? VFRONT_LOOP_FAR : VFRONT_LOOP_ACCEPTED))
            fail_msg("turn %d: %g of the bound: state %d", turn, share, (int)state_of(0));
    }
}

/** The map says nothing where the frame's path, or the keyframe, has no place in it, nor in the first frame; nor of a
 *  keyframe that has made room, at whose place it has another one. */
static void not_in_the_map(void **state)
{
    (void)state;
    for (int way = 0; way < 7; way++) {
        clean(100);
        struct vf_map_state *m = map_of_path_3();
        drifted(0.5, 0.0, 0.0);
        assert_int_equal(state_of(0), VFRONT_LOOP_ACCEPTED);
        if (way == 0) m->placed = 0;
        if (way == 1) m->path = 2;
        if (way == 2) m->count = 0;
        if (way == 3) m->placed_node[7] = 0;
        if (way == 4) memory.ingest.params.frame = 0;
        if (way == 5) memory.keyframe.now[step.parity].pose.source = VF_PATH_TURNS;
        if (way == 6) memory.keyframe.now[step.parity ^ 1].due = 1, memory.keyframe.now[step.parity ^ 1].slot = 7;
        run();
        assert_int_equal(state_of(0), VFRONT_LOOP_FAR);
        if (way == 3 || way == 6) assert_int_equal(state_of(1), VFRONT_LOOP_ACCEPTED);
    }
}

/** Keyframes of several paths agree in the map, where they have a place in it: of another path than the frame's two,
 *  of its own path one. */
static void agree_in_the_map(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        clean(100);
        struct vf_map_state *m = map_of_path_3();
        for (int c = 0; c < 3 - own; c++) {
            overlap(c, 5 + 4 * (uint64_t)c, 8.0, own && !c ? 3 : 2 - (uint32_t)c, 2.0, 0.0);
            node(c, 8.0, 0.0);
        }
        run();
        assert_int_equal(state_of(0), VFRONT_LOOP_ACCEPTED);
        assert_int_equal(memory.loop.loop[0].agreeing, 2 - own);
        m->placed_node[8] = 0;
        run();
        assert_int_equal(state_of(0), VFRONT_LOOP_ALONE);
        node(1, 8.3, 0.0); /* where it would be 0.3 m off */
        run();
        assert_int_equal(state_of(0), VFRONT_LOOP_ALONE);
        node(1, 8.1, 0.06);
        run();
        assert_int_equal(state_of(0), VFRONT_LOOP_ACCEPTED);
        node(1, 8.0, 0.09);
        run();
        assert_int_equal(state_of(0), VFRONT_LOOP_ALONE);
        node(1, 8.0, 0.0);
        memory.overlap.found[1].kind = VF_RELATIVE; /* without length it is nowhere in the map */
        run();
        assert_int_equal(state_of(0), VFRONT_LOOP_ALONE);
    }
}

/** Overlaps of earlier frames are carried to this one in the map, too, where the frame's path goes on. */
static void earlier_in_the_map(void **state)
{
    (void)state;
    for (int cut = 0; cut < 2; cut++) {
        clean(100);
        map_of_path_3();
        overlap(0, 5, 8.0, 2, 2.0, 0.0);
        node(0, 8.0, 0.0);
        overlap(1, 9, 8.0, 1, 2.0, 0.0);
        node(1, 8.0, 0.0);
        run();
        step.parity ^= 1;
        memory.ingest.params.frame = 101;
        map_of_path_3();
        at(&memory.keyframe.now[step.parity].pose, 10.5, cut ? 4 : 3);
        overlap(0, 14, 8.5, 0, 2.0, 0.0);
        memory.overlap.head[1].used = 0;
        node(0, 8.5, 0.0);
        run();
        assert_int_equal(state_of(0), cut ? VFRONT_LOOP_ALONE : VFRONT_LOOP_ACCEPTED);
    }
}

/* ---- flights ----------------------------------------------------------------------------------------------------- */

/** A flight of three laps. Returns frames of the last two with an accepted loop; fails where one is wrong. */
static int fly(enum map_kind kind, uint32_t changed_percent)
{
    static double p[1000][3];
    int found = 0;
    memset(&memory, 0, sizeof memory);
    map_begin(&flight, kind);
    flight.lap = 60;
    map_geometry(&step, kind, &memory);
    for (int frame = 0; frame < 180; frame++) {
        int accepted = 0;
        flight.changed_percent = frame % 60 == 0 && frame ? changed_percent : 0;
        map_frame(&flight, &step);
        memcpy(p[frame], flight.p, sizeof p[frame]);
        map_stages(&step);
        for (uint32_t i = 0; i < memory.loop.count; i++) {
            const vfront_loop_t *l = &memory.loop.loop[i];
            if (l->state != VFRONT_LOOP_ACCEPTED) continue;
            accepted = 1;
            if (kind == MAP_ONE_CAMERA)
                assert_true(l->kind == VFRONT_LOOP_ROTATION ||
                            (l->kind == VFRONT_LOOP_RELATIVE && l->parallax_rad >= 0.4f));
            else
                assert_int_equal(l->kind, VFRONT_LOOP_METRIC);
            double off = 0.0;
            for (int k = 0; k < 3 && l->kind == VFRONT_LOOP_METRIC; k++) {
                double t = 0.0;
                for (int n = 0; n < 3; n++) t += flight.R[3 * n + k] * (p[l->frame][n] - flight.p[n]);
                off += (t - (double)l->t[k]) * (t - (double)l->t[k]);
            }
            if (sqrt(off) > 0.15) fail_msg("kind %d, frame %d: %g m", kind, frame, sqrt(off));
        }
        found += accepted && frame >= 60;
        map_next(&flight);
    }
    return found;
}

static void flights(void **state)
{
    (void)state;
    static const uint32_t changed[] = {0, 50};
    for (int kind = MAP_ONE_CAMERA; kind < MAP_KINDS; kind++)
        for (int i = 0; i < 2; i++) {
            shake(40 + (uint64_t)kind);
            const int found = fly((enum map_kind)kind, changed[i]);
            print_message("kind %d, %u %% of the landmarks changed each lap: loops in %d of 120 frames\n", kind,
                          changed[i], found);
            if (kind == MAP_NONSENSE)
                assert_int_equal(found, 0);
            else
                assert_true(found >= (i ? 30 : 108));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(states),
                                       cmocka_unit_test(another_path),
                                       cmocka_unit_test(earlier),
                                       cmocka_unit_test(near_in_the_map),
                                       cmocka_unit_test(not_in_the_map),
                                       cmocka_unit_test(agree_in_the_map),
                                       cmocka_unit_test(earlier_in_the_map),
                                       cmocka_unit_test(flights)};
    return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}

#else

int main(void) { return 77; }

#endif
