/* SPDX-License-Identifier: MIT */
/* loop: each state of a loop from relative poses made by hand, by chain and by map. Drawn flights: all accepted loops
 * are right; a lap is recognised, also when half of the landmarks have changed; random descriptors give no loop. */
#include "tests/fixture/stage.h"

#if VFRONT_MAP

#include "map_flight.h"

static struct map_flight flight;

static void run(void)
{
    static struct vf_views v;
    vf_loop_make_view(&v.loop, &step);
    vf_loop_host(&v.loop);
}

static void at(struct vf_chain_pose *p, double x, uint32_t chain)
{
    memset(p, 0, sizeof *p);
    p->position_m[0] = x;
    p->q_chain_cam[0] = 1.0;
    p->chain = chain;
    p->source = VF_CHAIN_METRIC;
}

/** Relative pose to a keyframe at x of a chain, which sees this frame `away` m ahead along x, rotated by angle. */
static void relpose(int c, uint64_t frame, double x, uint32_t chain, double away, double angle)
{
    struct vf_relpose_estimate *f = &memory.relpose.found[c];
    struct vf_keyframe *k = &memory.relpose.head[c];
    memset(f, 0, sizeof *f);
    memset(k, 0, sizeof *k);
    at(&k->pose, x, chain);
    k->frame = frame;
    k->used = 1;
    f->valid = 1;
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
    for (int i = 0; i < VF_LOOP_RECENT; i++) memory.loop.recent[step.parity ^ 1].hypothesis[i].frame = VF_LOOP_NO_FRAME;
    at(&memory.keyframe.now[step.parity].pose, 10.0, 3);
}

static uint32_t state_of(int i) { return memory.loop.loop[i].state; }

static void states(void **state)
{
    (void)state;
    clean(100);
    relpose(0, 5, 8.0, 3, 2.0, 0.0);
    run();
    assert_int_equal(memory.loop.count, 1);
    assert_int_equal(state_of(0), VFRONT_LOOP_ALONE);
    relpose(2, 9, 8.5, 3, 1.52, 0.0);
    run();
    assert_int_equal(memory.loop.count, 2);
    assert_int_equal(state_of(0), VFRONT_LOOP_ACCEPTED);
    assert_int_equal(state_of(1), VFRONT_LOOP_ACCEPTED);
    assert_int_equal(memory.loop.loop[0].agreeing, 1);
    relpose(2, 9, 8.5, 3, 1.8, 0.0); /* they differ by 0.3 m */
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_ALONE);
    relpose(2, 9, 8.5, 3, 1.5, 0.09); /* by 5 degrees */
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_ALONE);
    relpose(2, 9, 8.5, 3, 1.5, 0.06);
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_ACCEPTED);
    memory.relpose.found[0].valid = 0;
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_FEW);
    assert_int_equal(state_of(1), VFRONT_LOOP_ALONE);
    assert_true(memory.loop.loop[0].R[0] == 1.0f && memory.loop.loop[0].t[0] == 0.0f);
    clean(100);
    relpose(0, 5, 8.0, 3, 2.5, 0.0); /* 0.5 m off, where only 0.3 m are allowed */
    relpose(1, 9, 8.5, 3, 2.0, 0.0);
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_FAR);
    assert_int_equal(state_of(1), VFRONT_LOOP_FAR);
    memory.keyframe.now[step.parity].pose.length_m = 10.0; /* a distance with a drift bound of 0.3 m more */
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_ACCEPTED);
    relpose(0, 5, 8.0, 3, 2.0, 0.2);
    relpose(1, 9, 8.5, 3, 1.5, 0.2);
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_FAR);
}

/** Keyframes of another chain: two others must agree, and no other motion may fit. */
static void another_chain(void **state)
{
    (void)state;
    clean(100);
    relpose(0, 5, 8.0, 2, 2.0, 1.0);
    relpose(1, 9, 8.0, 2, 2.05, 1.0);
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_ALONE);
    relpose(2, 14, 8.0, 2, 1.95, 1.0);
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_ACCEPTED);
    memory.relpose.found[0].rival = 1;
    run();
    assert_int_equal(state_of(0), VFRONT_LOOP_TWO);
    relpose(2, 14, 8.0, 1, 1.95, 1.0); /* of a third chain: no relation to the second */
    run();
    assert_int_equal(state_of(1), VFRONT_LOOP_ALONE);
}

/** Relative poses of recent frames are moved along the chain; they expire after VF_LOOP_FRAMES. */
static void earlier(void **state)
{
    (void)state;
    for (int later = 1; later <= 20; later++) {
        clean(100);
        relpose(0, 5, 8.0, 3, 2.0, 0.0);
        run();
        step.parity ^= 1;
        memory.ingest.params.frame = 100 + (uint64_t)later;
        at(&memory.keyframe.now[step.parity].pose, 10.5, 3);
        relpose(0, 9, 8.5, 3, 2.0, 0.0);
        run();
        assert_int_equal(state_of(0), later <= VF_LOOP_FRAMES ? VFRONT_LOOP_ACCEPTED : VFRONT_LOOP_ALONE);
    }
    /* the same keyframe again: twice before */
    clean(100);
    for (int i = 0; i < 3; i++) {
        memory.ingest.params.frame = 100 + (uint64_t)i;
        at(&memory.keyframe.now[step.parity].pose, 10.0, 3);
        relpose(0, 5, 8.0, 3, 2.0, 0.0);
        run();
        assert_int_equal(state_of(0), i < VF_LOOP_REPEATS ? VFRONT_LOOP_ALONE : VFRONT_LOOP_ACCEPTED);
        step.parity ^= 1;
    }
}

/* ---- by the map -------------------------------------------------------------------------------------------------- */

/** Map of the previous frame, in which chain 3 lies 5 m aside. */
static struct vf_map_data *map_of_chain_3(void)
{
    struct vf_map_data *m = &memory.map.data[step.parity ^ 1];
    memset(m, 0, sizeof *m);
    vf_map_identity(&m->work);
    m->work.p[1] = 5.0;
    m->placed = 1;
    m->chain = 3;
    m->count = 1;
    return m;
}

/** Sets the pose of candidate c's keyframe in the map: at x, rotated by angle; its chain is not rotated. */
static void node(int c, double x, double angle)
{
    struct vf_map_data *m = &memory.map.data[step.parity ^ 1];
    const uint32_t slot = 7 + (uint32_t)c;
    memory.recall.candidate[c] = slot;
    vf_map_identity(&m->node[slot]);
    m->node[slot].p[0] = x, m->node[slot].p[1] = 5.0;
    m->node[slot].q[0] = cos(0.5 * angle), m->node[slot].q[3] = sin(0.5 * angle);
    m->placed_node[slot] = 1;
}

/** Two keyframes of the frame's chain, whose relative poses contradict the chain by `off` metres and agree with each
 *  other. In the map they imply an error of this frame of `off_map`, rotated by `angle`. */
static void drifted(double off, double off_map, double angle)
{
    for (int c = 0; c < 2; c++) {
        relpose(c, 5 + 4 * (uint64_t)c, 8.0, 3, 2.0 + off, angle);
        node(c, 10.0 + off_map - (2.0 + off), 0.0);
    }
    run();
}

/** A loop beyond the drift bound of the chain is accepted within the error bound of the frame's pose in the map, and
 *  not beyond. */
static void near_in_the_map(void **state)
{
    (void)state;
    shake(44);
    for (int turn = 0; turn < 200; turn++) {
        clean(100);
        struct vf_map_data *m = map_of_chain_3();
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

/** The map is not used in the first frame, nor if the frame's chain or the keyframe has no pose in it, nor for a
 *  keyframe replaced since, whose slot holds another one. */
static void not_in_the_map(void **state)
{
    (void)state;
    for (int variant = 0; variant < 7; variant++) {
        clean(100);
        struct vf_map_data *m = map_of_chain_3();
        drifted(0.5, 0.0, 0.0);
        assert_int_equal(state_of(0), VFRONT_LOOP_ACCEPTED);
        if (variant == 0) m->placed = 0;
        if (variant == 1) m->chain = 2;
        if (variant == 2) m->count = 0;
        if (variant == 3) m->placed_node[7] = 0;
        if (variant == 4) memory.ingest.params.frame = 0;
        if (variant == 5) memory.keyframe.now[step.parity].pose.source = VF_CHAIN_ROTATIONS;
        if (variant == 6) memory.keyframe.now[step.parity ^ 1].due = 1, memory.keyframe.now[step.parity ^ 1].slot = 7;
        run();
        assert_int_equal(state_of(0), VFRONT_LOOP_FAR);
        if (variant == 3 || variant == 6) assert_int_equal(state_of(1), VFRONT_LOOP_ACCEPTED);
    }
}

/** Keyframes of several chains agree in the map, where they have a pose: for another chain than the frame's two are
 *  needed, for its own chain one. */
static void agree_in_the_map(void **state)
{
    (void)state;
    for (int own = 0; own < 2; own++) {
        clean(100);
        struct vf_map_data *m = map_of_chain_3();
        for (int c = 0; c < 3 - own; c++) {
            relpose(c, 5 + 4 * (uint64_t)c, 8.0, own && !c ? 3 : 2 - (uint32_t)c, 2.0, 0.0);
            node(c, 8.0, 0.0);
        }
        run();
        assert_int_equal(state_of(0), VFRONT_LOOP_ACCEPTED);
        assert_int_equal(memory.loop.loop[0].agreeing, 2 - own);
        m->placed_node[8] = 0;
        run();
        assert_int_equal(state_of(0), VFRONT_LOOP_ALONE);
        node(1, 8.3, 0.0); /* would be 0.3 m off */
        run();
        assert_int_equal(state_of(0), VFRONT_LOOP_ALONE);
        node(1, 8.1, 0.06);
        run();
        assert_int_equal(state_of(0), VFRONT_LOOP_ACCEPTED);
        node(1, 8.0, 0.09);
        run();
        assert_int_equal(state_of(0), VFRONT_LOOP_ALONE);
        node(1, 8.0, 0.0);
        memory.relpose.found[1].kind = VF_RELATIVE; /* without scale it has no position in the map */
        run();
        assert_int_equal(state_of(0), VFRONT_LOOP_ALONE);
    }
}

/** Relative poses of earlier frames are moved to this one in the map, too, while the frame's chain continues. */
static void earlier_in_the_map(void **state)
{
    (void)state;
    for (int cut = 0; cut < 2; cut++) {
        clean(100);
        map_of_chain_3();
        relpose(0, 5, 8.0, 2, 2.0, 0.0);
        node(0, 8.0, 0.0);
        relpose(1, 9, 8.0, 1, 2.0, 0.0);
        node(1, 8.0, 0.0);
        run();
        step.parity ^= 1;
        memory.ingest.params.frame = 101;
        map_of_chain_3();
        at(&memory.keyframe.now[step.parity].pose, 10.5, cut ? 4 : 3);
        relpose(0, 14, 8.5, 0, 2.0, 0.0);
        memory.relpose.head[1].used = 0;
        node(0, 8.5, 0.0);
        run();
        assert_int_equal(state_of(0), cut ? VFRONT_LOOP_ALONE : VFRONT_LOOP_ACCEPTED);
    }
}

/* ---- flights ----------------------------------------------------------------------------------------------------- */

/** Flight of three laps. Returns the number of frames of the last two with an accepted loop; fails if one is wrong. */
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
                                       cmocka_unit_test(another_chain),
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
