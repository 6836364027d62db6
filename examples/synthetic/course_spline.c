/* SPDX-License-Identifier: MIT */
#include "course_spline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/common/message.h"
#include "examples/common/pose.h"
#include "examples/common/text.h"

enum { DEGREE = 5, VALUES = 7, POSES_MIN = 8, BESIDE = 4, NEAR_MAX = 256 };
#define LENGTH_MAX_S 7200.0
#define APART_S 0.004 /* a line nearer in time to the one before is left out */
#define BACK_S 0.1

/** Line of the file: time [s]; position and quaternion, of the same sign as that of the line before. */
struct line {
    double t_s, value[VALUES];
};

struct lines {
    struct line *line;
    uint32_t count, capacity;
};

static char failure[TEXT_PATH_BYTES + 200]; /* why a function failed */
#define FAIL(...) message_print(failure, sizeof failure, __VA_ARGS__)

/* ---- file -------------------------------------------------------------------------------------------------------- */

static struct line *append(struct lines *l)
{
    if (l->count == l->capacity) {
        const uint32_t capacity = l->capacity ? 2 * l->capacity : 4096;
        struct line *more = realloc(l->line, capacity * sizeof *more);
        if (!more) return NULL;
        l->line = more;
        l->capacity = capacity;
    }
    return &l->line[l->count++];
}

/** Quaternion to length 1 and to the sign nearer to that of the line before. Returns 0 if it is none. */
static int set_quaternion(struct line *to, const struct line *before)
{
    double *q = &to->value[3], square = 0.0, along = 0.0;
    for (int i = 0; i < 4; i++) square += q[i] * q[i];
    if (!(square > 0.25 && square < 4.0)) return 0;
    for (int i = 0; i < 4 && before; i++) along += q[i] * before->value[3 + i];
    const double factor = (along < 0.0 ? -1.0 : 1.0) / sqrt(square);
    for (int i = 0; i < 4; i++) q[i] *= factor;
    return 1;
}

static const char *read_line(struct lines *l, const text_t *t, const char *text)
{
    double v[9];
    if (text_numbers(text, v, 9) != 8)
        return FAIL("%s:%d: not the 8 numbers of a trajectory: t [s] px py pz qx qy qz qw", t->path, t->line);
    for (int i = 0; i < 8; i++)
        if (!(v[i] > -1e10 && v[i] < 1e10)) return FAIL("%s:%d: a number that is no pose", t->path, t->line);
    const double since_s = l->count ? v[0] - l->line[l->count - 1].t_s : APART_S;
    if (since_s < -BACK_S) return FAIL("%s:%d: goes back in time", t->path, t->line);
    if (since_s < APART_S) return NULL;
    struct line *to = append(l);
    if (!to) return FAIL("%s: no memory", t->path);
    const struct line *before = l->count > 1 ? to - 1 : NULL;
    to->t_s = v[0];
    memcpy(to->value, &v[1], sizeof to->value);
    if (!set_quaternion(to, before)) return FAIL("%s:%d: a quaternion that is not of length 1", t->path, t->line);
    return NULL;
}

/* ---- control points ---------------------------------------------------------------------------------------------- */

/** Lines first..last-1 around a time: those within reach, and at least BESIDE on either side, where there are any, so
 *  that nothing is carried on across a gap of the recording from one side alone. */
static void lines_around(const struct lines *l, double t_s, double reach_s, uint32_t *first, uint32_t *last)
{
    uint32_t low = 0, high = l->count;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (l->line[middle].t_s < t_s)
            low = middle + 1;
        else
            high = middle;
    }
    *first = *last = low;
    while (*first > 0 && low - *first < NEAR_MAX && (low - *first < BESIDE || t_s - l->line[*first - 1].t_s <= reach_s))
        --*first;
    while (*last < l->count && *last - low < NEAR_MAX && (*last - low < BESIDE || l->line[*last].t_s - t_s <= reach_s))
        ++*last;
}

/** Value at 0 of the parabola that fits weighted lines best, for all values of a pose. sum[i] is that of w x^i, y[i]
 *  that of w x^i value: the first row of the inverse of the normal matrix is enough. */
static void parabola(const double sum[5], double y[3][VALUES], double value[VALUES])
{
    const double row[3] = {sum[2] * sum[4] - sum[3] * sum[3], sum[2] * sum[3] - sum[1] * sum[4],
                           sum[1] * sum[3] - sum[2] * sum[2]};
    const double det = sum[0] * row[0] + sum[1] * row[1] + sum[2] * row[2];
    for (int k = 0; k < VALUES; k++) value[k] = (row[0] * y[0][k] + row[1] * y[1][k] + row[2] * y[2][k]) / det;
}

/** Pose at a time, smoothed: lines near in time count more, by tricube weights. */
static void smooth(const struct lines *l, double t_s, double reach_s, double value[VALUES])
{
    double sum[5] = {0.0}, y[3][VALUES] = {{0.0}};
    uint32_t first, last;
    lines_around(l, t_s, reach_s, &first, &last);
    double widest = reach_s;
    for (uint32_t i = first; i < last; i++)
        if (fabs(l->line[i].t_s - t_s) > widest) widest = fabs(l->line[i].t_s - t_s);
    widest *= 1.01;
    for (uint32_t i = first; i < last; i++) {
        const double x = (l->line[i].t_s - t_s) / widest, part = fabs(x), cube = 1.0 - part * part * part;
        double weight = cube * cube * cube;
        for (int k = 0; k < 5; k++, weight *= x) {
            sum[k] += weight;
            for (int j = 0; j < VALUES && k < 3; j++) y[k][j] += weight * l->line[i].value[j];
        }
    }
    parabola(sum, y, value);
}

static const char *set_points(spline_t *s, const struct lines *l, double reach_s, const char *path)
{
    if (l->count < POSES_MIN) return FAIL("%s: %u poses, %d are needed", path, (unsigned)l->count, (int)POSES_MIN);
    const double begin = l->line[0].t_s, end = l->line[l->count - 1].t_s;
    s->seconds = end - begin;
    if (!(s->seconds >= 0.5 && s->seconds <= LENGTH_MAX_S))
        return FAIL("%s: %.3g s long; 0.5 s to %.0f s are needed", path, s->seconds, LENGTH_MAX_S);
    s->points = (uint32_t)(s->seconds / SPLINE_STEP_S) + DEGREE + 2;
    s->point = malloc(s->points * sizeof *s->point);
    if (!s->point) return FAIL("%s: no memory", path);
    for (uint32_t i = 0; i < s->points; i++) {
        const double t = begin + ((double)i - 2.0) * SPLINE_STEP_S;
        smooth(l, t < begin ? begin : t > end ? end : t, reach_s, s->point[i]);
    }
    return NULL;
}

const char *spline_read(spline_t *s, const char *path, double reach_s)
{
    text_t t;
    struct lines lines = {NULL, 0, 0};
    const char *error = text_open(&t, path);
    for (const char *line; !error && (line = text_line(&t)) != NULL;) error = read_line(&lines, &t, line);
    if (!error) error = set_points(s, &lines, reach_s, path);
    text_close(&t);
    free(lines.line);
    if (error) spline_free(s);
    return error;
}

void spline_free(spline_t *s)
{
    free(s->point);
    memset(s, 0, sizeof *s);
}

/* ---- state ------------------------------------------------------------------------------------------------------- */

/** Weights of six control points at the place u, 0..1, of their interval, and the first and second derivatives by u. */
static void weights(double u, double b[3][DEGREE + 1])
{
    static const double polynomial[DEGREE + 1][DEGREE + 1] = {
        {1, -5, 10, -10, 5, -1},    {26, -50, 20, 20, -20, 5}, {66, 0, -60, 0, 30, -10},
        {26, 50, 20, -20, -20, 10}, {1, 5, 10, 10, 5, -5},     {0, 0, 0, 0, 0, 1},
    };
    for (int i = 0; i <= DEGREE; i++) {
        const double *c = polynomial[i];
        b[0][i] = b[1][i] = b[2][i] = 0.0;
        for (int k = DEGREE; k >= 0; k--) b[0][i] = b[0][i] * u + c[k] / 120.0;
        for (int k = DEGREE; k >= 1; k--) b[1][i] = b[1][i] * u + k * c[k] / 120.0;
        for (int k = DEGREE; k >= 2; k--) b[2][i] = b[2][i] * u + k * (k - 1) * c[k] / 120.0;
    }
}

/** Rate in body axes: twice the vector part of q^-1 dq/dt; the length of q does not matter. */
static void rate_of(const double q[4], const double d[4], double rate_rad_s[3])
{
    const double square = q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    for (int i = 0; i < 3; i++) {
        const int j = (i + 1) % 3, k = (i + 2) % 3;
        rate_rad_s[i] = 2.0 * (q[3] * d[i] - d[3] * q[i] - q[j] * d[k] + q[k] * d[j]) / square;
    }
}

void spline_at(const spline_t *s, double t_s, spline_state_t *state)
{
    const double inside = !(t_s > 0.0) ? 0.0 : t_s < s->seconds ? t_s : s->seconds, steps = inside / SPLINE_STEP_S;
    uint32_t first = (uint32_t)steps;
    if (first + DEGREE >= s->points) first = s->points - DEGREE - 1;
    double b[3][DEGREE + 1], value[3][VALUES] = {{0.0}}, scale = 1.0;
    weights(steps - first, b);
    for (int d = 0; d < 3; d++, scale /= SPLINE_STEP_S)
        for (int i = 0; i <= DEGREE; i++)
            for (int k = 0; k < VALUES; k++) value[d][k] += b[d][i] * s->point[first + (uint32_t)i][k] * scale;
    memcpy(state->p_m, value[0], sizeof state->p_m);
    memcpy(state->v_mps, value[1], sizeof state->v_mps);
    memcpy(state->a_mps2, value[2], sizeof state->a_mps2);
    pose_rotation(state->R_world_body, &value[0][3]);
    rate_of(&value[0][3], &value[1][3], state->rate_rad_s);
}
