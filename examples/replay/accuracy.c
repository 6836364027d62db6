/* SPDX-License-Identifier: MIT */
#include "accuracy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEG 57.29577951308232
#define SEGMENT_M 100.0 /* shortest segment, and the increment to the next */
#define SEGMENTS 8
#define SEGMENT_FRAMES 10u /* from one first frame to the next */
#define LENGTH_MIN_M 1e-9  /* a step that is shorter has no direction */
#define REACH_MIN_M 0.1    /* a camera that stays nearer to where it began has no distance */

static double dot(const double a[3], const double b[3]) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

static double length_of(const double v[3]) { return sqrt(dot(v, v)); }

static double distance(const double a[3], const double b[3])
{
    const double v[3] = {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
    return length_of(v);
}

/** Angle of a rotation [deg], from sine and cosine: accurate for small angles. */
static double angle_deg(const double R[9])
{
    const double v[3] = {R[7] - R[5], R[2] - R[6], R[3] - R[1]};
    return DEG * atan2(length_of(v), R[0] + R[4] + R[8] - 1.0);
}

static double angle_between_deg(const double a[3], const double b[3])
{
    const double v[3] = {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
    return DEG * atan2(length_of(v), dot(a, b));
}

/** T_i_k, the motion between two frames. */
static pose_t between(const pose_t *i, const pose_t *k)
{
    const pose_t back = pose_inverse(i);
    return pose_compose(&back, k);
}

/** Relative pose error from i to k: inverse true motion times estimated motion. */
static pose_t error_between(const trajectory_frame_t *i, const trajectory_frame_t *k)
{
    const pose_t own = between(&i->pose, &k->pose), truth = between(&i->truth, &k->truth);
    return between(&truth, &own);
}

/* ---- alignment --------------------------------------------------------------------------------------------------- */

/** Jacobi rotation of rows and columns p and q of a symmetric matrix, after which A[p][q] is 0; applied to the
 *  columns of V too. */
static void jacobi_rotation(double A[4][4], double V[4][4], int p, int q)
{
    if (A[p][q] == 0.0) return;
    const double half = 0.5 * (A[q][q] - A[p][p]) / A[p][q];
    const double tangent = (half < 0.0 ? -1.0 : 1.0) / (fabs(half) + sqrt(1.0 + half * half));
    const double c = 1.0 / sqrt(1.0 + tangent * tangent), s = tangent * c;
    for (int i = 0; i < 4; i++) {
        const double a = A[i][p], b = A[i][q];
        A[i][p] = c * a - s * b;
        A[i][q] = s * a + c * b;
    }
    for (int i = 0; i < 4; i++) {
        const double a = A[p][i], b = A[q][i], v = V[i][p], w = V[i][q];
        A[p][i] = c * a - s * b;
        A[q][i] = s * a + c * b;
        V[i][p] = c * v - s * w;
        V[i][q] = s * v + c * w;
    }
}

/** Eigenvector of the largest eigenvalue of a symmetric matrix, by cyclic Jacobi sweeps, which converge
 *  quadratically. */
static void largest_eigenvector(double A[4][4], double out[4])
{
    double V[4][4] = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
    int max = 0;
    for (int round = 0; round < 12; round++)
        for (int p = 0; p < 3; p++)
            for (int q = p + 1; q < 4; q++) jacobi_rotation(A, V, p, q);
    for (int i = 1; i < 4; i++)
        if (A[i][i] > A[max][max]) max = i;
    for (int i = 0; i < 4; i++) out[i] = V[i][max];
}

/** Moments of the positions about their means: estimated a, true b. */
struct moments {
    double mean_a[3], mean_b[3], ab[9], aa;
    uint32_t count;
};

static void sum_means(const trajectory_t *tr, struct moments *s)
{
    memset(s, 0, sizeof *s);
    for (uint32_t i = 0; i < tr->count; i++) {
        const trajectory_frame_t *f = &tr->frame[i];
        for (int k = 0; k < 3 && f->has_truth; k++) {
            s->mean_a[k] += f->pose.t[k];
            s->mean_b[k] += f->truth.t[k];
        }
        s->count += f->has_truth != 0;
    }
    for (int k = 0; k < 3 && s->count; k++) {
        s->mean_a[k] /= s->count;
        s->mean_b[k] /= s->count;
    }
}

static void sum_products(const trajectory_t *tr, struct moments *s)
{
    for (uint32_t i = 0; i < tr->count; i++) {
        const trajectory_frame_t *f = &tr->frame[i];
        double a[3], b[3];
        for (int k = 0; k < 3; k++) {
            a[k] = f->pose.t[k] - s->mean_a[k];
            b[k] = f->truth.t[k] - s->mean_b[k];
        }
        if (!f->has_truth) continue;
        for (int k = 0; k < 9; k++) s->ab[k] += a[k / 3] * b[k % 3];
        s->aa += dot(a, a);
    }
}

/** Rotation of the alignment, by Horn's quaternion method (1987): never a reflection, and valid for positions in a
 *  plane or on a line. The result equals that of Umeyama (1991). */
static void best_rotation(const double S[9], double R[9])
{
    double N[4][4] = {
        {S[0] + S[4] + S[8], S[5] - S[7], S[6] - S[2], S[1] - S[3]},
        {S[5] - S[7], S[0] - S[4] - S[8], S[1] + S[3], S[6] + S[2]},
        {S[6] - S[2], S[1] + S[3], S[4] - S[0] - S[8], S[5] + S[7]},
        {S[1] - S[3], S[6] + S[2], S[5] + S[7], S[8] - S[0] - S[4]},
    };
    double q[4];
    largest_eigenvector(N, q);
    const double xyzw[4] = {q[1], q[2], q[3], q[0]};
    pose_rotation(R, xyzw);
}

/** ATE: RMSE of the positions after alignment [m]. Squares are summed position by position: differences of the
 *  moments would cancel. */
static double absolute_error_m(const trajectory_t *tr, double *scale, double *fit_scale)
{
    struct moments s;
    double R[9], turned = 0.0, square = 0.0;
    sum_means(tr, &s);
    sum_products(tr, &s);
    best_rotation(s.ab, R);
    for (int i = 0; i < 9; i++) turned += R[i] * s.ab[i % 3 * 3 + i / 3];
    *fit_scale = s.aa > 0.0 ? turned / s.aa : 1.0;
    *scale = tr->metric ? 1.0 : *fit_scale;
    for (uint32_t i = 0; i < tr->count; i++) {
        const trajectory_frame_t *f = &tr->frame[i];
        if (!f->has_truth) continue;
        for (int k = 0; k < 3; k++) {
            double off = s.mean_b[k] - f->truth.t[k];
            for (int m = 0; m < 3; m++) off += *scale * R[3 * k + m] * (f->pose.t[m] - s.mean_a[m]);
            square += off * off;
        }
    }
    return sqrt(square / s.count);
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    const double one = *(const double *)a, other = *(const double *)b;
    return (one > other) - (one < other);
}

/** Statistics of v[count], which is sorted. The median of an even count is the mean of the two in the middle. */
static accuracy_statistics_t statistics_of(double *v, uint32_t count)
{
    accuracy_statistics_t s = {.count = count};
    if (!count) return s;
    qsort(v, count, sizeof *v, compare);
    for (uint32_t i = 0; i < count; i++) s.rmse += v[i] * v[i];
    s.rmse = sqrt(s.rmse / count);
    s.median = 0.5 * (v[(count - 1) / 2] + v[count / 2]);
    s.max = v[count - 1];
    return s;
}

static int measure_steps(const trajectory_t *tr, accuracy_t *a)
{
    double *v[3];
    uint32_t steps = 0, directions = 0;
    v[0] = malloc(3 * sizeof *v[0] * tr->count);
    if (!v[0]) return 0;
    v[1] = v[0] + tr->count;
    v[2] = v[1] + tr->count;
    for (uint32_t i = 1; i < tr->count; i++) {
        const trajectory_frame_t *before = &tr->frame[i - 1], *now = &tr->frame[i];
        if (!before->has_truth || !now->has_truth) continue;
        const pose_t error = error_between(before, now);
        const pose_t own = between(&before->pose, &now->pose), truth = between(&before->truth, &now->truth);
        v[0][steps] = length_of(error.t);
        v[1][steps++] = angle_deg(error.R);
        if (length_of(own.t) > LENGTH_MIN_M && length_of(truth.t) > LENGTH_MIN_M)
            v[2][directions++] = angle_between_deg(own.t, truth.t);
    }
    a->step_m = statistics_of(v[0], steps);
    a->step_deg = statistics_of(v[1], steps);
    a->direction_deg = statistics_of(v[2], directions);
    free(v[0]);
    return 1;
}

/* ---- drift ------------------------------------------------------------------------------------------------------- */

/** Frame with ground truth, and the length of ground truth up to it. */
struct waypoint {
    const trajectory_frame_t *frame;
    double length_m;
};

static void find_waypoints(const trajectory_t *tr, struct waypoint *m)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tr->count; i++) {
        const trajectory_frame_t *f = &tr->frame[i];
        if (!f->has_truth) continue;
        m[count].frame = f;
        m[count].length_m = count ? m[count - 1].length_m + distance(m[count - 1].frame->truth.t, f->truth.t) : 0.0;
        count++;
    }
}

static void add_drift(accuracy_t *a, const struct waypoint *from, const struct waypoint *to, double length_m)
{
    const pose_t error = error_between(from->frame, to->frame);
    a->drift_percent += 100.0 * length_of(error.t) / length_m;
    a->drift_deg_m += angle_deg(error.R) / length_m;
}

/** Segments from every tenth frame. As in the benchmark, a segment ends with the first frame beyond its nominal
 *  length, and the error is divided by the nominal length. */
static void add_segments(accuracy_t *a, const struct waypoint *m, uint32_t count)
{
    for (uint32_t first = 0; first < count; first += SEGMENT_FRAMES)
        for (uint32_t k = 1, last = first; k <= SEGMENTS; k++) {
            while (last < count && !(m[last].length_m > m[first].length_m + SEGMENT_M * k)) last++;
            if (last == count) break;
            add_drift(a, &m[first], &m[last], SEGMENT_M * k);
            a->segments++;
        }
}

static int measure_drift(const trajectory_t *tr, accuracy_t *a)
{
    struct waypoint *m = malloc(sizeof *m * tr->count);
    if (!m) return 0;
    find_waypoints(tr, m);
    const trajectory_frame_t *first = m[0].frame, *last = m[a->frames - 1].frame;
    const pose_t end = error_between(first, last);
    a->length_m = m[a->frames - 1].length_m;
    a->end_m = length_of(end.t);
    a->end_deg = angle_deg(end.R);
    for (uint32_t i = 1; i < a->frames; i++) {
        const double from_m = distance(first->truth.t, m[i].frame->truth.t);
        if (from_m > a->reach_m) a->reach_m = from_m;
    }
    add_segments(a, m, a->frames);
    if (a->segments) {
        a->drift_percent /= a->segments;
        a->drift_deg_m /= a->segments;
    } else if (a->length_m > LENGTH_MIN_M) {
        add_drift(a, &m[0], &m[a->frames - 1], a->length_m);
    }
    free(m);
    return 1;
}

int accuracy_has_distance(const accuracy_t *a) { return a->reach_m >= REACH_MIN_M; }

int accuracy_of(const trajectory_t *tr, accuracy_t *a)
{
    memset(a, 0, sizeof *a);
    for (uint32_t i = 0; i < tr->count; i++) a->frames += tr->frame[i].has_truth != 0;
    if (a->frames < 2) return 0;
    a->ate_m = absolute_error_m(tr, &a->scale, &a->fit_scale);
    return measure_steps(tr, a) && measure_drift(tr, a);
}
