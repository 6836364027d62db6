/* SPDX-License-Identifier: MIT */
#include "truth.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/common/message.h"
#include "examples/common/text.h"

#define QUATERNION_OFF_MAX 1e-2 /* deviation of its length from 1, for few printed digits */

static char failure[2 * TEXT_PATH_BYTES]; /* why a function failed */
#define FAIL(...) message_print(failure, sizeof failure, __VA_ARGS__)

static truth_pose_t *append(truth_t *truth)
{
    if (truth->count == truth->capacity) {
        const uint32_t capacity = truth->capacity ? 2 * truth->capacity : 1024;
        truth_pose_t *more = realloc(truth->pose, capacity * sizeof *more);
        if (!more) return NULL;
        truth->pose = more;
        truth->capacity = capacity;
    }
    memset(&truth->pose[truth->count], 0, sizeof *truth->pose);
    return &truth->pose[truth->count++];
}

/* ---- lines ------------------------------------------------------------------------------------------------------- */

static int all_finite(const double *v, int count)
{
    for (int i = 0; i < count; i++)
        if (!isfinite(v[i])) return 0;
    return 1;
}

/** The rows of [R | t]. */
static const char *set_from_matrix(const text_t *t, const double v[12], truth_pose_t *to)
{
    to->t_ns = 0;
    for (int i = 0; i < 12; i++) *(i % 4 == 3 ? &to->pose.t[i / 4] : &to->pose.R[i / 4 * 3 + i % 4]) = v[i];
    if (!pose_is_rotation(to->pose.R)) return FAIL("%s:%d: the 3x3 part is not a rotation", t->path, t->line);
    pose_orthonormalise(to->pose.R);
    return NULL;
}

static const char *set_from_quaternion(const text_t *t, const double place[3], const double xyzw[4], truth_pose_t *to)
{
    const double length = sqrt(xyzw[0] * xyzw[0] + xyzw[1] * xyzw[1] + xyzw[2] * xyzw[2] + xyzw[3] * xyzw[3]);
    if (!(fabs(length - 1.0) <= QUATERNION_OFF_MAX)) return FAIL("%s:%d: no unit quaternion", t->path, t->line);
    pose_rotation(to->pose.R, xyzw);
    memcpy(to->pose.t, place, sizeof to->pose.t);
    return NULL;
}

static const char *read_kitti(const text_t *t, const char *line, truth_pose_t *to)
{
    double v[13];
    const int count = text_numbers(line, v, 13);
    if (count != 12)
        return FAIL("%s:%d: %s12 numbers of a pose", t->path, t->line,
                    count < 12 ? "fewer than the " : "more than the ");
    return all_finite(v, 12) ? set_from_matrix(t, v, to) : FAIL("%s:%d: a number that is not finite", t->path, t->line);
}

static const char *read_tum(const text_t *t, const char *line, truth_pose_t *to)
{
    double v[9];
    if (text_numbers(line, v, 9) != 8 || !all_finite(v, 8))
        return FAIL("%s:%d: not a line `t x y z qx qy qz qw`", t->path, t->line);
    if (!(v[0] >= 0.0 && v[0] < 1e10)) return FAIL("%s:%d: not a time in seconds", t->path, t->line);
    to->t_ns = (uint64_t)(v[0] * 1e9 + 0.5);
    return set_from_quaternion(t, &v[1], &v[4], to);
}

/** Biases behind the velocity are not read. */
static const char *read_euroc(const text_t *t, const char *line, truth_pose_t *to)
{
    double v[10];
    char *end;
    to->t_ns = strtoull(line, &end, 10);
    end += strspn(end, " \t");
    const int count = end == line || *line == '-' || *end != ',' ? 0 : text_numbers(end + 1, v, 10);
    if (count < 7 || !all_finite(v, 7)) return FAIL("%s:%d: not a line `t [ns],x,y,z,qw,qx,qy,qz`", t->path, t->line);
    const double xyzw[4] = {v[4], v[5], v[6], v[3]};
    to->has_velocity = count == 10 && all_finite(&v[7], 3);
    if (to->has_velocity) memcpy(to->velocity_mps, &v[7], sizeof to->velocity_mps);
    return set_from_quaternion(t, v, xyzw, to);
}

/* ---- files ------------------------------------------------------------------------------------------------------- */

static const char *read_lines(truth_t *truth, text_t *t)
{
    static const char *(*const read[])(const text_t *, const char *, truth_pose_t *) = {read_kitti, read_tum,
                                                                                        read_euroc};
    const char *error = NULL;
    for (const char *line; !error && (line = text_line(t)) != NULL;) {
        double v[9];
        if (!truth->count)
            truth->kind = strchr(line, ',') ? TRUTH_EUROC : text_numbers(line, v, 9) == 8 ? TRUTH_TUM : TRUTH_KITTI;
        truth_pose_t *to = append(truth);
        if (!to) return FAIL("%s: no memory", t->path);
        error = read[truth->kind](t, line, to);
        if (!error && truth->kind != TRUTH_KITTI && truth->count > 1 && to->t_ns <= to[-1].t_ns)
            error = FAIL("%s:%d: not after the time of the line before", t->path, t->line);
    }
    return error || truth->count ? error : FAIL("%s: no pose in it", t->path);
}

const char *truth_read(truth_t *truth, const char *path)
{
    text_t t;
    const char *error = text_open(&t, path);
    truth->count = 0;
    if (!error) error = read_lines(truth, &t);
    text_close(&t);
    if (error) truth_free(truth);
    return error;
}

void truth_free(truth_t *truth)
{
    free(truth->pose);
    memset(truth, 0, sizeof *truth);
}

/* ---- pose of a frame --------------------------------------------------------------------------------------------- */

/** Index of the first pose after a time. */
static uint32_t pose_after(const truth_t *truth, uint64_t t_ns)
{
    uint32_t low = 0, high = truth->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (truth->pose[middle].t_ns <= t_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/** Pose at a time: `share` of the motion from a to b, or, with b NULL, a itself. */
struct place {
    const truth_pose_t *a, *b;
    double share;
};

static uint64_t apart_ns(const truth_pose_t *pose, uint64_t t_ns)
{
    return pose->t_ns > t_ns ? pose->t_ns - t_ns : t_ns - pose->t_ns;
}

/** Find a time among the poses. Returns 0 outside of their times and in gaps. */
static int find(const truth_t *truth, uint64_t t_ns, struct place *at)
{
    const uint32_t after = pose_after(truth, t_ns);
    const truth_pose_t *a = &truth->pose[after - (after > 0)], *b = &truth->pose[after - (after == truth->count)];
    if (a != b && b->t_ns - a->t_ns <= TRUTH_GAP_NS) {
        *at = (struct place){a, b, (double)(t_ns - a->t_ns) / (double)(b->t_ns - a->t_ns)};
        return 1;
    }
    *at = (struct place){apart_ns(a, t_ns) <= TRUTH_APART_NS ? a : b, NULL, 0.0};
    return apart_ns(at->a, t_ns) <= TRUTH_APART_NS;
}

int truth_at(const truth_t *truth, uint32_t frame, uint64_t t_ns, pose_t *pose)
{
    struct place at;
    if (truth->kind == TRUTH_KITTI) {
        if (frame >= truth->count) return 0;
        *pose = truth->pose[frame].pose;
        return 1;
    }
    if (!find(truth, t_ns, &at)) return 0;
    *pose = at.b ? pose_interpolate(&at.a->pose, &at.b->pose, at.share) : at.a->pose;
    return 1;
}

int truth_velocity_at(const truth_t *truth, uint64_t t_ns, double velocity_mps[3])
{
    struct place at;
    if (truth->kind != TRUTH_EUROC || !find(truth, t_ns, &at)) return 0;
    if (!at.a->has_velocity || (at.b && !at.b->has_velocity)) return 0;
    for (int i = 0; i < 3; i++) {
        const double v = at.a->velocity_mps[i];
        velocity_mps[i] = at.b ? v + at.share * (at.b->velocity_mps[i] - v) : v;
    }
    return 1;
}
