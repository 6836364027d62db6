/* SPDX-License-Identifier: MIT */
/* loop: each state of a loop from overlaps made by hand; and drawn flights: all that is accepted is right, and a lap is
 * found again, also where half of the landmarks look otherwise; nothing is in descriptors without sense. */
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(states), cmocka_unit_test(another_path),
                                       cmocka_unit_test(earlier), cmocka_unit_test(flights)};
    return cmocka_run_group_tests_name("loop", tests, NULL, NULL);
}

#else

int main(void) { return 77; }

#endif
