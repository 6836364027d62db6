/* SPDX-License-Identifier: MIT */
/* Paths, ground truth, accuracy and the drawing of replay (examples/replay/trajectory.h, truth.h, accuracy.h, plot.h).
 * The
 * oracle works with 4x4 matrices that are inverted by elimination, rotations from axis and angle, and compares by
 * trying: no rotation near or far may lay a path better over ground truth, every segment is looked for from its
 * start. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "examples/replay/accuracy.h"
#include "examples/replay/motion.h"
#include "examples/replay/plot.h"
#include "examples/replay/truth.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define PI 3.14159265358979323846

static char folder[] = P_tmpdir "/vfront-trajectory-XXXXXX";
static const char *const names[] = {"t", "s"};

static int make_folder(void **state)
{
    (void)state;
    return !mkdtemp(folder);
}

static int remove_folder(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        char path[80];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

static const char *in_folder(const char *name)
{
    static char path[80];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static uint64_t seed;

/** -1..1. */
static double any(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(int64_t)seed * 0x1p-63;
}

/* ---- oracle: matrices -------------------------------------------------------------------------------------------- */

/** Rodrigues' formula. */
static void axis_angle(double R[9], const double axis[3], double angle)
{
    const double n = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]), c = cos(angle), s = sin(angle);
    const double x = axis[0] / n, y = axis[1] / n, z = axis[2] / n;
    const double out[9] = {c + x * x * (1 - c),     x * y * (1 - c) - z * s, x * z * (1 - c) + y * s,
                           y * x * (1 - c) + z * s, c + y * y * (1 - c),     y * z * (1 - c) - x * s,
                           z * x * (1 - c) - y * s, z * y * (1 - c) + x * s, c + z * z * (1 - c)};
    memcpy(R, out, sizeof out);
}

static pose_t any_pose(double angle, double reach)
{
    pose_t p;
    double axis[3];
    for (int i = 0; i < 3; i++) axis[i] = any() + 1e-3;
    axis_angle(p.R, axis, angle * any());
    for (int i = 0; i < 3; i++) p.t[i] = reach * any();
    return p;
}

static void matrix_of(double M[16], const pose_t *p)
{
    for (int i = 0; i < 16; i++) M[i] = i / 4 == 3 ? i == 15 : i % 4 == 3 ? p->t[i / 4] : p->R[i / 4 * 3 + i % 4];
}

static void product(double out[16], const double a[16], const double b[16])
{
    double p[16] = {0};
    for (int i = 0; i < 64; i++) p[i / 16 * 4 + i % 4] += a[i / 16 * 4 + i / 4 % 4] * b[i / 4 % 4 * 4 + i % 4];
    memcpy(out, p, sizeof p);
}

/** Gauss and Jordan, with the largest pivot of the column. */
static void invert(double out[16], const double M[16])
{
    double A[4][8] = {{0}};
    for (int i = 0; i < 16; i++) A[i / 4][i % 4] = M[i];
    for (int i = 0; i < 4; i++) A[i][4 + i] = 1.0;
    for (int c = 0; c < 4; c++) {
        int max = c;
        for (int r = c; r < 4; r++)
            if (fabs(A[r][c]) > fabs(A[max][c])) max = r;
        for (int k = 0; k < 8; k++) {
            const double swap = A[c][k];
            A[c][k] = A[max][k];
            A[max][k] = swap;
        }
        const double pivot = A[c][c];
        for (int k = 0; k < 8; k++) A[c][k] /= pivot;
        for (int r = 0; r < 4; r++) {
            const double by = r == c ? 0.0 : A[r][c];
            for (int k = 0; k < 8; k++) A[r][k] -= by * A[c][k];
        }
    }
    for (int i = 0; i < 16; i++) out[i] = A[i / 4][4 + i % 4];
}

/** inverse(inverse(P_i) P_k) inverse(Q_i) Q_k: place [m] and angle [degrees], the angle from how far it takes the
 *  axes. */
static void error_of(const trajectory_frame_t *i, const trajectory_frame_t *k, double *place_m, double *angle_deg)
{
    double P[2][16], Q[2][16], own[16], truth[16], E[16], chord = 0.0;
    matrix_of(P[0], &i->pose);
    matrix_of(P[1], &k->pose);
    matrix_of(Q[0], &i->truth);
    matrix_of(Q[1], &k->truth);
    invert(P[0], P[0]);
    product(own, P[0], P[1]);
    invert(Q[0], Q[0]);
    product(truth, Q[0], Q[1]);
    invert(own, own);
    product(E, own, truth);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            chord += (E[4 * r + c] - (r == c)) * (E[4 * r + c] - (r == c)); /* 8 sin^2(angle / 2) */
    *angle_deg = 2.0 * asin(sqrt(chord / 8.0)) * 180.0 / PI;
    *place_m = sqrt(E[3] * E[3] + E[7] * E[7] + E[11] * E[11]);
}

static void near(double got, double expected, double max, const char *what)
{
    if (!(fabs(got - expected) <= max)) fail_msg("%s is %.17g, not %.17g to %g", what, got, expected, max);
}

static void same_pose(const pose_t *got, const pose_t *expected, double max, const char *what)
{
    for (int i = 0; i < 9; i++) near(got->R[i], expected->R[i], max, what);
    for (int i = 0; i < 3; i++) near(got->t[i], expected->t[i], max, what);
}

/* ---- poses ------------------------------------------------------------------------------------------------------- */

static void test_quaternion(void **state)
{
    (void)state;
    for (int i = 0; i < 3000; i++) {
        pose_t p, back;
        double q[4], axis[3] = {any(), any(), any()};
        if (i < 7) /* about one or more axes */
            for (int k = 0; k < 3; k++) axis[k] = (i + 1) >> k & 1;
        axis_angle(p.R, axis, i < 14 ? PI : PI * any()); /* half a turn has w = 0 */
        pose_quaternion(p.R, q);
        near(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3], 1.0, 1e-14, "length");
        assert_true(q[3] >= 0.0);
        for (int k = 0; k < 4; k++) q[k] *= 1.7;
        pose_rotation(back.R, q);
        for (int k = 0; k < 9; k++) near(back.R[k], p.R[k], 1e-14, "rotation");
    }
    const double sine = sin(0.3), q[4] = {0, 0, sine, cos(0.3)}, axis[3] = {0, 0, 1};
    double R[9], expected[9];
    axis_angle(expected, axis, 0.6);
    pose_rotation(R, q);
    for (int k = 0; k < 9; k++) near(R[k], expected[k], 1e-15, "rotation about z");
}

/** R (I + E) with a symmetric E has R as its nearest rotation: by the polar decomposition. */
static void test_straighten(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        const pose_t p = any_pose(PI, 0.0);
        double E[9], bent[9];
        for (int r = 0; r < 3; r++)
            for (int c = r; c < 3; c++) E[3 * r + c] = E[3 * c + r] = 2e-4 * any();
        for (int k = 0; k < 9; k++) {
            bent[k] = p.R[k];
            for (int m = 0; m < 3; m++) bent[k] += p.R[k / 3 * 3 + m] * E[3 * m + k % 3];
        }
        assert_true(pose_is_rotation(bent));
        pose_orthonormalise(bent);
        for (int k = 0; k < 9; k++) near(bent[k], p.R[k], 1e-14, "nearest rotation");
    }
    const double mirrored[9] = {1, 0, 0, 0, 1, 0, 0, 0, -1}, longer[9] = {1.001, 0, 0, 0, 1, 0, 0, 0, 1};
    const double nan[9] = {NAN, 0, 0, 0, 1, 0, 0, 0, 1};
    assert_false(pose_is_rotation(mirrored));
    assert_false(pose_is_rotation(longer));
    assert_false(pose_is_rotation(nan));
}

static void test_between(void **state)
{
    (void)state;
    for (int i = 0; i < 1000; i++) {
        const pose_t a = any_pose(PI, 5.0);
        const double axis[3] = {any(), any(), any()}, angle = 0.1 * any(), share = 0.5 + 0.5 * any();
        pose_t turned, part, b, expected;
        memset(&turned, 0, sizeof turned);
        part = turned;
        axis_angle(turned.R, axis, angle);
        axis_angle(part.R, axis, angle * share);
        b = pose_compose(&a, &turned);
        expected = pose_compose(&a, &part);
        for (int k = 0; k < 3; k++) {
            b.t[k] += k;
            expected.t[k] += k * share;
        }
        const pose_t got = pose_interpolate(&a, &b, share);
        same_pose(&got, &expected, 1e-5, "pose between");
    }
}

/* ---- paths ------------------------------------------------------------------------------------------------------- */

/** The motion from a pose to the next, as the library gives it. */
static void motion(const pose_t *before, const pose_t *now, float R[9], float t[3])
{
    double B[16], N[16], M[16];
    matrix_of(B, before);
    matrix_of(N, now);
    invert(N, N);
    product(M, N, B);
    for (int i = 0; i < 9; i++) R[i] = (float)M[i / 3 * 4 + i % 3];
    for (int i = 0; i < 3; i++) t[i] = (float)M[4 * i + 3];
}

static pose_t walk(const pose_t *from, double angle, double reach)
{
    pose_t step = any_pose(angle, reach);
    step.t[2] += reach;
    return pose_compose(from, &step);
}

static void test_metric(void **state)
{
    (void)state;
    trajectory_t tr = {.metric = 1};
    pose_t truth = any_pose(PI, 100.0);
    for (uint32_t i = 0; i < 500; i++) {
        float R[9], t[3];
        const pose_t before = truth;
        if (i) truth = walk(&truth, 0.2, 1.0);
        motion(&before, &truth, R, t);
        assert_true(trajectory_add(&tr, 1000u * i, R, t, &truth));
    }
    same_pose(&tr.frame[0].pose, &pose_identity, 0.0, "first pose");
    for (uint32_t i = 0; i < 500; i++) same_pose(&tr.frame[i].pose, &tr.frame[i].truth, 1e-4, "pose");
    assert_int_equal(tr.steps[TRAJECTORY_FULL], 499);
    assert_int_equal(tr.frame[3].t_ns, 3000);
    double length_m = 0.0;
    for (uint32_t i = 1; i < 500; i++) {
        const double *a = tr.frame[i].truth.t, *b = tr.frame[i - 1].truth.t;
        length_m += sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
    }
    near(tr.length_m, length_m, 1e-3, "way");
    trajectory_free(&tr);
}

/** Only the directions count, whatever their length; ground truth has the lengths, with a gap and none at first. */
static void test_lengths(void **state)
{
    (void)state;
    static const float R[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, t[3] = {0, 0, -0.25f};
    trajectory_t tr = {.metric = 0, .step_m = 0.0}, alone = {.metric = 0, .step_m = 1.0};
    static const double z[8] = {0, 0, 2, 3, 7, 7.5, 8, 9}, expected[8] = {0, 0, 0, 1, 2, 3, 3.5, 4.5};
    for (uint32_t i = 0; i < 8; i++) {
        pose_t truth = any_pose(PI, 0.0);
        truth = pose_identity;
        truth.t[2] = z[i];
        assert_true(trajectory_add(&tr, i, R, t, i < 2 || i == 4 ? NULL : &truth));
        assert_true(trajectory_add(&alone, i, R, t, NULL));
    }
    /* unknown, unknown, met in frame 2 without a length, 1, gap: 1 again, no step that is known: 1, then 0.5 and 1 */
    for (uint32_t i = 0; i < 8; i++) {
        near(tr.frame[i].pose.t[2], expected[i], 1e-12, "place with lengths of ground truth");
        near(alone.frame[i].pose.t[2], i, 1e-12, "place without ground truth");
        assert_int_equal(tr.frame[i].has_truth, i >= 2 && i != 4);
    }
    near(tr.frame[2].truth.t[2], 0.0, 0.0, "where they meet");
    near(tr.frame[7].truth.t[2], 7.0, 1e-12, "ground truth from there on");
    trajectory_free(&tr);
    trajectory_free(&alone);
}

static void test_steps(void **state)
{
    (void)state;
    static const float t[3] = {0, 0, -1};
    const double axis[3] = {0, 1, 0};
    double quarter[9];
    float R[9], straight[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    trajectory_t tr = {.metric = 1};
    axis_angle(quarter, axis, -PI / 2.0); /* what was ahead is to the left: the camera turned to the right */
    for (int i = 0; i < 9; i++) R[i] = (float)quarter[i];
    assert_true(trajectory_add(&tr, 0, R, t, NULL));
    assert_true(trajectory_add(&tr, 1, straight, t, NULL));
    assert_true(trajectory_add(&tr, 2, NULL, t, NULL));
    assert_true(trajectory_add(&tr, 3, R, NULL, NULL));
    assert_true(trajectory_add(&tr, 4, straight, t, NULL));
    const double expected[5][3] = {{0, 0, 0}, {0, 0, 1}, {0, 0, 1}, {0, 0, 1}, {1, 0, 1}};
    for (int i = 0; i < 5; i++)
        for (int k = 0; k < 3; k++) near(tr.frame[i].pose.t[k], expected[i][k], 1e-7, "place");
    assert_int_equal(tr.steps[TRAJECTORY_FULL], 2);
    assert_int_equal(tr.steps[TRAJECTORY_ROTATION_ONLY], 1);
    assert_int_equal(tr.steps[TRAJECTORY_UNKNOWN], 1);
    near(tr.length_m, 2.0, 1e-7, "way");
    trajectory_free(&tr);
}

/** Rounding of 10^5 products does not bend the axes. */
static void test_orthonormal(void **state)
{
    (void)state;
    trajectory_t tr = {.metric = 1};
    for (uint32_t i = 0; i < 100000; i++) {
        const pose_t step = any_pose(0.3, 1.0);
        float R[9], t[3] = {0, 0, 0};
        for (int k = 0; k < 9; k++) R[k] = (float)step.R[k];
        assert_true(trajectory_add(&tr, i, R, t, NULL));
    }
    const double *R = tr.frame[99999].pose.R;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            near(R[3 * r] * R[3 * c] + R[3 * r + 1] * R[3 * c + 1] + R[3 * r + 2] * R[3 * c + 2], r == c, 1e-14,
                 "R R^T");
    trajectory_free(&tr);
}

/** Choice between two motions for the trajectory: t of the relative one is 1, of the metric one 2 ahead. */
static void test_motion(void **state)
{
    (void)state;
    enum {
        NONE = VFRONT_MOTION_NONE,
        GOOD = VFRONT_MOTION_GOOD,
        ROTATION = VFRONT_MOTION_ROTATION,
        FEW = VFRONT_MOTION_FEW,
        STILL = 1
    };
    static const struct {
        int metric;
        uint32_t relative, flags, metric_state;
        trajectory_step_t step;
        double moved;
    } rule[] = {
        {0, GOOD, 0, NONE, TRAJECTORY_FULL, 1},
        {0, GOOD, STILL, NONE, TRAJECTORY_FULL, 0},
        {0, ROTATION, 0, NONE, TRAJECTORY_ROTATION_ONLY, 0},
        {0, ROTATION, STILL, NONE, TRAJECTORY_FULL, 0},
        {0, FEW, 0, NONE, TRAJECTORY_UNKNOWN, 0},
        {0, NONE, 0, NONE, TRAJECTORY_UNKNOWN, 0},
        {1, GOOD, 0, GOOD, TRAJECTORY_FULL, 2},
        {1, FEW, 0, GOOD, TRAJECTORY_FULL, 2},
        {1, GOOD, STILL, GOOD, TRAJECTORY_FULL, 2},
        {1, GOOD, 0, FEW, TRAJECTORY_ROTATION_ONLY, 0},
        {1, ROTATION, 0, FEW, TRAJECTORY_ROTATION_ONLY, 0},
        {1, FEW, 0, FEW, TRAJECTORY_UNKNOWN, 0},
        {1, GOOD, STILL, FEW, TRAJECTORY_FULL, 0},
        {0, GOOD, 0, GOOD, TRAJECTORY_FULL, 1},
    };
    static vfront_result_t result;
    static motion_t m;
    for (size_t i = 0; i < COUNT(rule); i++) {
        memset(&m, 0, sizeof m);
        motion_start(&m, rule[i].metric, 0);
        memset(&result, 0, sizeof result);
        assert_true(motion_add(&m, &result, NULL));
        result.t_ns = 7;
        result.relative = (vfront_motion_t){.state = rule[i].relative, .flags = rule[i].flags, .inliers = 30};
        result.relative.R[0] = result.relative.R[4] = result.relative.R[8] = 1.0f;
        result.metric = result.relative;
        result.metric.state = rule[i].metric_state;
        result.relative.t[2] = -1.0f;
        result.metric.t[2] = -2.0f;
        assert_true(motion_add(&m, &result, NULL));
        const trajectory_frame_t *last = motion_last(&m);
        if (last->step != rule[i].step) fail_msg("rule %zu: step %d, not %d", i, (int)last->step, (int)rule[i].step);
        near(last->pose.t[2], rule[i].moved, 1e-12, "moved");
        assert_int_equal(last->t_ns, 7);
        assert_int_equal(m.state[MOTION_RELATIVE][rule[i].relative], rule[i].relative ? 1 : 2);
        assert_int_equal(m.state[MOTION_METRIC][rule[i].metric_state], rule[i].metric_state ? 1 : 2);
        assert_int_equal(m.inliers[MOTION_RELATIVE][30], rule[i].relative == GOOD);
        trajectory_free(&m.trajectory);
    }
}

/* ---- accuracy ---------------------------------------------------------------------------------------------------- */

/** A path beside ground truth, put down as it is. */
static trajectory_t made(uint32_t count, int metric, double noise, double reach)
{
    trajectory_t tr = {.metric = metric, .count = count, .aligned = 1};
    tr.frame = calloc(count, sizeof *tr.frame);
    assert_non_null(tr.frame);
    pose_t truth = any_pose(PI, 10.0);
    for (uint32_t i = 0; i < count; i++) {
        const pose_t off = any_pose(noise, noise);
        tr.frame[i].t_ns = i * 100000000u;
        tr.frame[i].has_truth = 1;
        tr.frame[i].step = TRAJECTORY_FULL;
        tr.frame[i].truth = truth;
        tr.frame[i].pose = pose_compose(&truth, &off);
        truth = walk(&truth, 0.1, reach);
    }
    return tr;
}

/** Lays the path over ground truth in a way, scaled as well as can be where it has no metres. */
static double error_with(const trajectory_t *tr, const double R[9])
{
    double a[3] = {0}, b[3] = {0}, ab = 0.0, aa = 0.0, square = 0.0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < tr->count; i++)
        for (int k = 0; k < 3 && tr->frame[i].has_truth; k++) {
            a[k] += tr->frame[i].pose.t[k];
            b[k] += tr->frame[i].truth.t[k];
            n += k == 0;
        }
    for (int pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < tr->count; i++) {
            const trajectory_frame_t *f = &tr->frame[i];
            double turned[3] = {0}, off[3];
            for (int k = 0; k < 9; k++) turned[k / 3] += R[k] * (f->pose.t[k % 3] - a[k % 3] / n);
            const double scale = tr->metric ? 1.0 : ab > 0.0 ? ab / aa : 0.0; /* below 0 it would mirror */
            for (int k = 0; k < 3 && f->has_truth; k++) {
                off[k] = f->truth.t[k] - b[k] / n;
                if (pass == 0) ab += turned[k] * off[k];
                if (pass == 0) aa += turned[k] * turned[k];
                if (pass) square += (off[k] - scale * turned[k]) * (off[k] - scale * turned[k]);
            }
        }
    return sqrt(square / n);
}

/** None of many rotations is better, and one of them comes near: from each the way goes downhill in ever smaller
 *  turns. */
static double best_error(const trajectory_t *tr)
{
    double best = INFINITY;
    for (int start = 0; start < 12; start++) {
        pose_t at = any_pose(PI, 0.0);
        double error = error_with(tr, at.R);
        for (double reach = 1.0; reach > 1e-8; reach *= 0.8)
            for (int i = 0; i < 60; i++) {
                const pose_t turn = any_pose(reach, 0.0), tried = pose_compose(&turn, &at);
                const double e = error_with(tr, tried.R);
                if (!(e < error)) continue;
                error = e;
                at = tried;
            }
        if (error < best) best = error;
    }
    return best;
}

static void compare_alignment(const trajectory_t *tr, const char *what)
{
    accuracy_t a;
    assert_true(accuracy_of(tr, &a));
    const double best = best_error(tr);
    if (!(a.ate_m <= best * (1.0 + 1e-9) + 1e-12)) fail_msg("%s: ATE %.12g, but %.12g can be had", what, a.ate_m, best);
    near(a.ate_m, best, 1e-6 + 1e-5 * best, what);
}

static void test_alignment(void **state)
{
    (void)state;
    static const char *const name[] = {"any path", "in a plane", "on a line", "mirrored", "with gaps", "two frames"};
    for (int metric = 0; metric < 2; metric++)
        for (int kind = 0; kind < 6; kind++) {
            trajectory_t tr = made(kind == 5 ? 2 : 30, metric, 0.6, 1.0);
            const pose_t world = any_pose(PI, 3.0);
            for (uint32_t i = 0; i < tr.count; i++) {
                trajectory_frame_t *f = &tr.frame[i];
                if (kind == 1) f->pose.t[1] = f->truth.t[1] = 4.0;
                if (kind == 2) f->pose.t[0] = f->pose.t[1] = f->truth.t[0] = f->truth.t[1] = 4.0;
                if (kind == 3) f->pose.t[0] = -f->pose.t[0];
                if (kind == 4) f->has_truth = i % 3 == 0;
                f->pose = pose_compose(&world, &f->pose);
            }
            compare_alignment(&tr, name[kind]);
            trajectory_free(&tr);
        }
}

/** A path that is ground truth turned, shifted and scaled. */
static void test_similarity(void **state)
{
    (void)state;
    for (int metric = 0; metric < 2; metric++) {
        trajectory_t tr = made(200, metric, 0.0, 1.0);
        const pose_t world = any_pose(PI, 50.0);
        accuracy_t a;
        for (uint32_t i = 0; i < tr.count; i++) {
            for (int k = 0; k < 3 && !metric; k++) tr.frame[i].pose.t[k] /= 2.5;
            tr.frame[i].pose = pose_compose(&world, &tr.frame[i].pose);
        }
        assert_true(accuracy_of(&tr, &a));
        near(a.ate_m, 0.0, 1e-11, "ATE");
        near(a.scale, metric ? 1.0 : 2.5, 1e-12, "scale");
        near(a.step_deg.max, 0.0, 1e-6, "rotation");
        near(a.direction_deg.max, 0.0, 1e-5, "direction");
        assert_int_equal(a.frames, 200);
        trajectory_free(&tr);
    }
}

static void test_no_truth(void **state)
{
    (void)state;
    trajectory_t tr = made(5, 1, 0.1, 1.0);
    accuracy_t a;
    for (uint32_t i = 0; i < 5; i++) tr.frame[i].has_truth = i == 2;
    assert_false(accuracy_of(&tr, &a));
    tr.count = 0;
    assert_false(accuracy_of(&tr, &a));
    tr.count = 5;
    for (uint32_t i = 0; i < 5; i++) { /* at rest: nothing to divide by */
        tr.frame[i].has_truth = 1;
        tr.frame[i].pose = tr.frame[i].truth = tr.frame[0].truth;
    }
    for (tr.metric = 0; tr.metric < 2; tr.metric++) {
        assert_true(accuracy_of(&tr, &a));
        near(a.ate_m + a.step_m.max + a.drift_percent + a.length_m, 0.0, 1e-12, "figures of a camera at rest");
        near(a.scale, 1.0, 0.0, "scale");
        assert_int_equal(a.direction_deg.count, 0);
    }
    trajectory_free(&tr);
}

static int rising(const void *a, const void *b) { return *(const double *)a < *(const double *)b ? -1 : 1; }

/** An even and an odd number of steps, one of them missing each time. */
static void test_relative(void **state)
{
    (void)state;
    for (uint32_t frames = 59; frames <= 60; frames++) {
        trajectory_t tr = made(frames, 1, 0.05, 1.0);
        double place[60], angle[60], square[2] = {0, 0};
        uint32_t n = 0;
        accuracy_t a;
        tr.frame[20].has_truth = 0;
        for (uint32_t i = 1; i < frames; i++) {
            if (i == 20 || i == 21) continue;
            error_of(&tr.frame[i - 1], &tr.frame[i], &place[n], &angle[n]);
            square[0] += place[n] * place[n];
            square[1] += angle[n] * angle[n];
            n++;
        }
        assert_true(accuracy_of(&tr, &a));
        assert_int_equal(a.step_m.count, n);
        qsort(place, n, sizeof *place, rising);
        qsort(angle, n, sizeof *angle, rising);
        near(a.step_m.rmse, sqrt(square[0] / n), 1e-12, "RPE");
        near(a.step_deg.rmse, sqrt(square[1] / n), 1e-9, "RPE of the rotation");
        near(a.step_m.median, n % 2 ? place[n / 2] : 0.5 * (place[n / 2] + place[n / 2 - 1]), 1e-12, "median");
        near(a.step_deg.max, angle[n - 1], 1e-9, "largest");
        trajectory_free(&tr);
    }
}

/** The angle between the true direction and the own one, in axes of the camera before. */
static void test_direction(void **state)
{
    (void)state;
    trajectory_t tr = made(2, 0, 0.0, 1.0);
    const double axis[3] = {0.3, -0.5, 0.8};
    for (int degrees = 0; degrees <= 180; degrees += 20) {
        double R[9], across[3] = {0.8, 0.0, -0.3}, turned[3] = {0}; /* at right angles to the axis */
        accuracy_t a;
        axis_angle(R, axis, degrees * PI / 180.0);
        for (int k = 0; k < 9; k++) turned[k / 3] += R[k] * across[k % 3];
        for (int w = 0; w < 2; w++) {
            const pose_t world = any_pose(PI, 10.0);
            pose_t *p = w ? &tr.frame[0].truth : &tr.frame[0].pose, step = any_pose(1.0, 0.0);
            memcpy(step.t, w ? across : turned, sizeof step.t);
            *p = world;
            *(w ? &tr.frame[1].truth : &tr.frame[1].pose) = pose_compose(&world, &step);
        }
        assert_true(accuracy_of(&tr, &a));
        near(a.direction_deg.rmse, degrees, 1e-6, "direction");
        assert_int_equal(a.direction_deg.count, 1);
    }
    trajectory_free(&tr);
}

/** Distance along ground truth from one frame with ground truth to a later one. */
static double along_m(const trajectory_t *tr, uint32_t i, uint32_t k)
{
    double sum = 0.0;
    uint32_t last = i;
    for (uint32_t j = i + 1; j <= k; j++) {
        if (!tr->frame[j].has_truth) continue;
        const double *a = tr->frame[j].truth.t, *b = tr->frame[last].truth.t;
        sum += sqrt((a[0] - b[0]) * (a[0] - b[0]) + (a[1] - b[1]) * (a[1] - b[1]) + (a[2] - b[2]) * (a[2] - b[2]));
        last = j;
    }
    return sum;
}

static void test_drift(void **state)
{
    (void)state;
    for (int gap = 0; gap < 2; gap++) {
        trajectory_t tr = made(700, 1, 0.2, 1.0);
        accuracy_t a;
        double percent = 0.0, deg_m = 0.0;
        uint32_t segments = 0, known = 0;
        for (uint32_t i = 100; i < 140; i++) tr.frame[i].has_truth = !gap;
        for (uint32_t i = 0; i < tr.count; i++) {
            if (!tr.frame[i].has_truth || known++ % 10) continue; /* every tenth of those that are known */
            for (int length = 100; length <= 800; length += 100) {
                uint32_t k = i;
                double place, angle;
                while (k < tr.count && (!tr.frame[k].has_truth || !(along_m(&tr, i, k) > length))) k++;
                if (k == tr.count) continue;
                error_of(&tr.frame[i], &tr.frame[k], &place, &angle);
                percent += 100.0 * place / length;
                deg_m += angle / length;
                segments++;
            }
        }
        assert_true(segments > 20);
        assert_true(accuracy_of(&tr, &a));
        assert_int_equal(a.segments, segments);
        near(a.drift_percent, percent / segments, 1e-9, "drift");
        near(a.drift_deg_m, deg_m / segments, 1e-9, "drift of the rotation");
        near(a.length_m, along_m(&tr, 0, tr.count - 1), 1e-9, "way");
        trajectory_free(&tr);
    }
}

static void test_whole_length(void **state)
{
    (void)state;
    trajectory_t tr = made(50, 1, 0.2, 0.5);
    accuracy_t a;
    double place, angle;
    error_of(&tr.frame[0], &tr.frame[49], &place, &angle);
    assert_true(accuracy_of(&tr, &a));
    assert_int_equal(a.segments, 0);
    assert_true(a.length_m < 100.0);
    near(a.drift_percent, 100.0 * place / along_m(&tr, 0, 49), 1e-9, "drift");
    near(a.drift_deg_m, angle / along_m(&tr, 0, 49), 1e-9, "drift of the rotation");
    trajectory_free(&tr);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static const char *put(const char *content)
{
    const char *path = in_folder("t");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(content, f);
    assert_int_equal(fclose(f), 0);
    return path;
}

/** Round trip of poses through files, in both formats. */
static void test_written(void **state)
{
    (void)state;
    for (int kitti = 0; kitti < 2; kitti++) {
        pose_t pose[20], got;
        truth_t truth = {.count = 0};
        FILE *f = fopen(in_folder("t"), "w");
        assert_non_null(f);
        for (uint32_t i = 0; i < 20; i++) {
            pose[i] = any_pose(PI, 100.0);
            if (kitti)
                trajectory_write_kitti(f, &pose[i]);
            else
                trajectory_write_tum(f, 1400000000000000000u + i * 50000000u, &pose[i]);
        }
        assert_int_equal(fclose(f), 0);
        assert_null(truth_read(&truth, in_folder("t")));
        assert_int_equal(truth.kind, kitti ? TRUTH_KITTI : TRUTH_TUM);
        assert_int_equal(truth.count, 20);
        for (uint32_t i = 0; i < 20; i++) {
            assert_true(truth_at(&truth, i, 1400000000000000000u + i * 50000000u, &got));
            same_pose(&got, &pose[i], kitti ? 1e-9 : 1e-3,
                      "pose read back"); /* times in double: 0.2 us of 50 ms between two poses */
        }
        truth_free(&truth);
    }
}

static void test_euroc(void **state)
{
    (void)state;
    truth_t truth = {.count = 0};
    pose_t got;
    const double axis[3] = {0, 0, 1};
    double R[9];
    const char *wrong = truth_read(&truth, put("#timestamp, p_RS_R_x [m]...\n1000000000, 1, 2, 3, 1, 0, 0, 0, 9, 9, 9\n"
                                               "1100000000, 2, 2, 3, 0.9998, 0, 0, 0.02, 9, 9, 9\n"
                                               "1400000000,3,2,3,0.7071068,0,0,0.7071068\n"));
    if (wrong) fail_msg("%s", wrong);
    assert_int_equal(truth.kind, TRUTH_EUROC);
    assert_true(truth_at(&truth, 99, 1050000000, &got));
    near(got.t[0], 1.5, 1e-12, "half-way");
    axis_angle(R, axis, 0.02);
    for (int i = 0; i < 9; i++) near(got.R[i], R[i], 1e-5, "turned half-way");
    assert_true(truth_at(&truth, 0, 1000000000, &got) && got.t[0] == 1.0);
    assert_true(truth_at(&truth, 0, 999000000, &got) && got.t[0] == 1.0); /* 1 ms before */
    assert_false(truth_at(&truth, 0, 998900000, &got));
    assert_false(truth_at(&truth, 0, 1250000000, &got)); /* 300 ms are a gap */
    assert_true(truth_at(&truth, 0, 1399500000, &got) && got.t[0] == 3.0);
    assert_true(truth_at(&truth, 0, 1401000000, &got) && got.t[0] == 3.0);
    assert_false(truth_at(&truth, 0, 1401000001, &got));
    axis_angle(R, axis, PI / 2.0);
    assert_true(truth_at(&truth, 0, 1400000000, &got));
    for (int i = 0; i < 9; i++) near(got.R[i], R[i], 1e-7, "rotation");
    truth_free(&truth);
}

static void test_faults(void **state)
{
    (void)state;
    static const struct {
        const char *content, *message;
    } fault[] = {
        {"", ": no pose in it"},
        {"# nothing\n\n", ": no pose in it"},
        {"1 0 0 0 0 1 0 0 0 0 1", ":1: fewer than the 12 numbers"},
        {"1 0 0 0 0 1 0 0 0 0 1 0\n1 0 0 0 0 1 0 0 0 0 1 0 7\n", ":2: more than the 12 numbers"},
        {"hello\n", ":1: fewer than the 12 numbers"},
        {"1 0 0 0 0 1 0 0 0 0 1 nan\n", ":1: a number that is not finite"},
        {"1 0 0 0 0 1 0 0 0 0 -1 0\n", ":1: the 3x3 part is not a rotation"},
        {"2 0 0 0 0 1 0 0 0 0 1 0\n", ":1: the 3x3 part is not a rotation"},
        {"1 0 0 0 0 0 0 1\n2 0 0 0 0 0 0\n", ":2: not a line `t x y z qx qy qz qw`"},
        {"1 0 0 0 0 0 0 1\n2 0 0 0 0 0 0 inf\n", ":2: not a line `t x y z qx qy qz qw`"},
        {"1 0 0 0 0 0 0 1\n1 0 0 0 0 0 0 1\n", ":2: not after the time of the line before"},
        {"-1 0 0 0 0 0 0 1\n", ":1: not a time in seconds"},
        {"1 0 0 0 0 0 0 0\n", ":1: no unit quaternion"},
        {"1 0 0 0 0 0 0 1.02\n", ":1: no unit quaternion"},
        {"1000,0,0,0,1,0,0,0\nx,0,0,0,1,0,0,0\n", ":2: not a line `t [ns],x,y,z,qw,qx,qy,qz`"},
        {"1000,0,0,0,1,0,0\n", ":1: not a line `t [ns],x,y,z,qw,qx,qy,qz`"},
        {"-1000,0,0,0,1,0,0,0\n", ":1: not a line `t [ns],x,y,z,qw,qx,qy,qz`"},
        {"1000,0,0,0,0,0,0,0\n", ":1: no unit quaternion"},
        {"1000,0,0,0,1,0,0,0\n900,0,0,0,1,0,0,0\n", ":2: not after the time of the line before"},
    };
    for (size_t i = 0; i < COUNT(fault); i++) {
        truth_t truth = {.count = 0};
        const char *path = put(fault[i].content), *wrong = truth_read(&truth, path);
        char expected[200];
        snprintf(expected, sizeof expected, "%s%s", path, fault[i].message);
        if (!wrong) fail_msg("nothing wrong, but it should say: %s", expected);
        if (strncmp(wrong, expected, strlen(expected)) != 0) fail_msg("\"%s\" does not say \"%s\"", wrong, expected);
        assert_null(truth.pose);
    }
    truth_t truth = {.count = 0};
    assert_non_null(strstr(truth_read(&truth, in_folder("none")), "/none: No such file"));
}

/* ---- drawing ----------------------------------------------------------------------------------------------------- */

static char drawing[1 << 20];

static const char *draw(const char *title, const trajectory_t *tr, const accuracy_t *a)
{
    const char *wrong = plot_write(in_folder("s"), title, tr, a);
    if (wrong) fail_msg("%s", wrong);
    FILE *f = fopen(in_folder("s"), "r");
    assert_non_null(f);
    drawing[fread(drawing, 1, sizeof drawing - 1, f)] = 0;
    fclose(f);
    return drawing;
}

static int times(const char *text, const char *word)
{
    int count = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) count++;
    return count;
}

static void test_drawn(void **state)
{
    (void)state;
    trajectory_t tr = made(100, 1, 0.1, 1.0);
    accuracy_t a;
    assert_true(accuracy_of(&tr, &a));
    const char *svg = draw("a < b & c", &tr, &a);
    assert_int_equal(times(svg, "a &lt; b &amp; c"), 1);
    assert_int_equal(times(svg, "<svg"), 1);
    assert_int_equal(times(svg, "</svg>\n"), 1);
    assert_int_equal(times(svg, "ground truth</text>"), 2); /* legend, and frames with it */
    assert_int_equal(times(svg, "ATE "), 1);
    assert_int_equal(times(svg, "unknown length"), 0);
    assert_int_equal(times(svg, "nan"), 0);
    assert_int_equal(times(svg, "inf"), 0);
    tr.frame[50].step = TRAJECTORY_UNKNOWN;
    tr.steps[TRAJECTORY_UNKNOWN] = 1;
    svg = draw("t", &tr, NULL);
    assert_int_equal(times(svg, "unknown length"), 1);
    assert_int_equal(times(svg, "l7 7m0 -7l-7 7"), 3); /* in both panels and the legend */
    assert_int_equal(times(svg, "no ground truth"), 1);
    tr.aligned = 0;
    for (int i = 0; i < 100; i++) tr.frame[i].has_truth = 0;
    svg = draw("t", &tr, NULL);
    assert_int_equal(times(svg, "ground truth</text>"), 1); /* that there is none */
    tr.metric = 0;
    assert_int_equal(times(draw("t", &tr, NULL), "[steps]"), 3);
    tr.count = 1; /* nothing to scale by */
    svg = draw("t", &tr, NULL);
    assert_int_equal(times(svg, "nan") + times(svg, "inf"), 0);
    assert_non_null(strstr(plot_write("/dev/full", "t", &tr, NULL), "/dev/full: No space"));
    assert_non_null(strstr(plot_write("/nowhere/trajectory.svg", "t", &tr, NULL), "/nowhere/trajectory.svg: No such"));
    trajectory_free(&tr);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quaternion),  cmocka_unit_test(test_straighten), cmocka_unit_test(test_between),
        cmocka_unit_test(test_metric),      cmocka_unit_test(test_lengths),    cmocka_unit_test(test_steps),
        cmocka_unit_test(test_orthonormal), cmocka_unit_test(test_motion),     cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_similarity),  cmocka_unit_test(test_no_truth),   cmocka_unit_test(test_relative),
        cmocka_unit_test(test_direction),   cmocka_unit_test(test_drift),      cmocka_unit_test(test_whole_length),
        cmocka_unit_test(test_written),     cmocka_unit_test(test_euroc),      cmocka_unit_test(test_faults),
        cmocka_unit_test(test_drawn),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
