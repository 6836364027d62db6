/* SPDX-License-Identifier: MIT */
/* Motions of a camera, and how well a point that was seen before and is seen now agrees with one: the error, squared, in units of its
 * bound, and what the point adds to the normal equations of a step that makes errors less.
 *
 * Three kinds. A turn has no translation. A relative motion has one of unknown length: a pair of bearings spans a plane with it, and the
 * error is the angle that both together lie off that plane, which to first order is the angular error of the best point that they could
 * both mean (paper 003, equation 19; P. Sampson, 1982). Where that point would lie behind a camera, the best is the one infinitely far
 * away, and the error is by how far the camera's turn misses, which both bearings share. A metric motion carries a point, whose distance
 * was measured, to where it should be seen now: the error is that of its bearing, and that of its distance, where this was measured again.
 * The distance in the frame before has an error, too, which moves both at once: it is a fourth unknown, eliminated in closed form.
 *
 * The bound on an angle is that of equation 20, a number of pixels over the focal length. 1 - cos(angle), which the paper compares, has no
 * digits left in single precision where it matters; the sine does.
 *
 * Single precision in one order; roots and quotients correctly rounded. No branch, so that loops over many points become vector code. */
#ifndef VF_MOTION_H
#define VF_MOTION_H

#include "features/bearing.h"
#include "math/pose.h"

enum vf_motion_kind { VF_RELATIVE, VF_TURN, VF_METRIC, VF_KINDS };

/** A point seen in both frames. */
struct vf_sight {
    float before[3], now[3];        /* bearings of camera 0 */
    float weight;                   /* one over the largest sine of the angle of an inlier */
    float range_m, range_sigma_m;   /* how far away it was in the frame before */
    float near_1pm, near_sigma_1pm; /* one over how far away it is now; sigma 0: not known */
};

/** Standard deviation of an angle, as a part of its bound; errors of a metric motion are bounded by so many standard deviations. */
#define VF_MOTION_SIGMAS 3.0f

/** Numbers of the normal equations: upper triangle of the matrix, right side, sum of squares. Unknowns are t, then the turn. */
#define VF_TERMS 28
#define VF_TERM_G 21
#define VF_TERM_E 27

/** Above any error that counts, and far from infinite. */
#define VF_MOTION_FAR 1e9f

VF_FN float vf_motion_least(float a, float b) { return a < b ? a : b; }

/* ---- errors ------------------------------------------------------------------------------------------------------ */

/** Of the turn alone. */
VF_FN float vf_motion_turn_error(const struct vf_pose *p, const struct vf_sight *s)
{
    float a[3];
    vf_transform(p->R, s->before, a);
    const float x = a[0] - s->now[0], y = a[1] - s->now[1], z = a[2] - s->now[2];
    return vf_motion_least((x * x + y * y + z * z) * (s->weight * s->weight), VF_MOTION_FAR);
}

/** A pair of bearings and the plane that the first spans with the translation. */
struct vf_span {
    float a[3];         /* the first, turned */
    float ta[3], bt[3]; /* t x a, now x t */
    float off, square;  /* how far now lies off the plane; by this, squared, over `square` both are */
    int behind;         /* they meet behind a camera */
};
VF_FN struct vf_span vf_motion_span(const struct vf_pose *p, const struct vf_sight *s)
{
    struct vf_span k;
    float ab[3];
    vf_transform(p->R, s->before, k.a);
    vf_cross(p->t, k.a, k.ta);
    vf_cross(s->now, p->t, k.bt);
    vf_cross(k.a, s->now, ab);
    k.off = vf_dot(s->now, k.ta);
    k.square = vf_dot(k.ta, k.ta) + vf_dot(k.bt, k.bt) - 2.0f * (k.off * k.off);
    k.square = k.square > 1e-12f
                   ? k.square
                   : 1e-12f; /* two lines through the epipole agree; rounding leaves less than 0 of none */
    const int behind_before = vf_dot(k.bt, ab) <= 0.0f, behind_now = vf_dot(k.ta, ab) >= 0.0f;
    k.behind = behind_before | behind_now;
    return k;
}
VF_FN float vf_motion_relative_error(const struct vf_pose *p, const struct vf_sight *s)
{
    const struct vf_span k = vf_motion_span(p, s);
    const float x = k.a[0] - s->now[0], y = k.a[1] - s->now[1], z = k.a[2] - s->now[2], square = s->weight * s->weight;
    const float plane = k.off * k.off / k.square * square, apart = 0.5f * (x * x + y * y + z * z) * square;
    return vf_motion_least((k.behind & (apart > plane)) ? apart : plane, VF_MOTION_FAR);
}

/** Where a point with a distance should be seen, in standard deviations from where it is, and how that grows with its distance. */
struct vf_carried {
    float turned[3];      /* R X [m] */
    float to[3], inverse; /* direction of R X + t; one over its length [1/m] */
    float u[4], v[4];     /* residuals; what one standard deviation of the distance before adds to them */
    float weight[2];      /* one over the standard deviation of the direction's residuals, of the distance's */
};
VF_FN struct vf_carried vf_motion_carried(const struct vf_pose *p, const struct vf_sight *s)
{
    struct vf_carried c;
    float a[3], y[3], square = 1e-12f;
    vf_transform(p->R, s->before, a);
    for (int k = 0; k < 3; k++) {
        c.turned[k] = s->range_m * a[k];
        y[k] = c.turned[k] + p->t[k];
        square += y[k] * y[k];
    }
    c.inverse = 1.0f / sqrtf(square);
    c.weight[0] = VF_MOTION_SIGMAS * s->weight;
    c.weight[1] = s->near_sigma_1pm > 0.0f ? 1.0f / s->near_sigma_1pm : 0.0f;
    for (int k = 0; k < 3; k++) c.to[k] = y[k] * c.inverse;
    const float along = vf_dot(c.to, a), grows = s->range_sigma_m * c.inverse;
    for (int k = 0; k < 3; k++) {
        c.u[k] = (c.to[k] - s->now[k]) * c.weight[0];
        c.v[k] = (a[k] - along * c.to[k]) * grows * c.weight[0];
    }
    c.u[3] = (c.inverse - s->near_1pm) * c.weight[1];
    c.v[3] = -along * c.inverse * grows * c.weight[1];
    return c;
}
VF_FN float vf_motion_dot4(const float a[4], const float b[4])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}
/** ln(1 + x), x >= 0, to 1 % up to 1, and more than it beyond: the first of its Pade approximations that grows with x for ever. */
VF_FN float vf_motion_log1p(float x) { return x * (6.0f + x) / (6.0f + 4.0f * x); }

/** The farther a motion carries points, the more an error of the distance before excuses: without the logarithm, which is that of how wide
 *  the errors may lie (of the determinant of their covariance), the longest way would be the best. */
VF_FN float vf_motion_metric_error(const struct vf_pose *p, const struct vf_sight *s)
{
    const struct vf_carried c = vf_motion_carried(p, s);
    const float spread = vf_motion_dot4(c.v, c.v);
    const float slip = vf_motion_dot4(c.u, c.v) /
                       (1.0f + spread); /* standard deviations that the distance is best off by */
    float square = slip * slip + vf_motion_log1p(spread);
    for (int k = 0; k < 4; k++) square += (c.u[k] - slip * c.v[k]) * (c.u[k] - slip * c.v[k]);
    const float error = square * (1.0f / (VF_MOTION_SIGMAS * VF_MOTION_SIGMAS));
    return vf_dot(c.to, s->now) > 0.0f ? vf_motion_least(error, VF_MOTION_FAR)
                                       : VF_MOTION_FAR; /* behind: and NaN is far as well */
}

/** Error of a sight, squared, in units of its bound: an inlier's is below 1. */
VF_FN float vf_motion_error(int kind, const struct vf_pose *p, const struct vf_sight *s)
{
    return kind == VF_TURN     ? vf_motion_turn_error(p, s)
           : kind == VF_METRIC ? vf_motion_metric_error(p, s)
                               : vf_motion_relative_error(p, s);
}

/** What a sight with such an error is worth (MSAC: P. Torr, A. Zisserman, 2000): an integer, so that sums have no order. */
#define VF_MOTION_WORTH 255
VF_FN int32_t vf_motion_worth(float error)
{
    const float within = vf_motion_least(error, 1.0f); /* 1 where it is NaN */
    return (1 + (int32_t)((1.0f - within) * (VF_MOTION_WORTH - 1.0f))) & -(within < 1.0f);
}

/* ---- normal equations -------------------------------------------------------------------------------------------- */

/** Adds a row's part: J^T J, J^T r, r^2, times a factor. */
VF_FN void vf_motion_add(float terms[VF_TERMS], const float J[6], float r, float factor)
{
    VF_PEEL
    for (int i = 0, k = 0; i < 6; k += 6 - i, i++) {
        const float Ji = factor * J[i];
        VF_PEEL
        for (int j = i; j < 6; j++) terms[k + j - i] += Ji * J[j];
        terms[VF_TERM_G + i] += Ji * r;
    }
    terms[VF_TERM_E] += factor * r * r;
}

VF_FN void vf_motion_turn_terms(const struct vf_pose *p, const struct vf_sight *s, float terms[VF_TERMS])
{
    float a[3];
    vf_transform(p->R, s->before, a);
    const float w = s->weight;
    const float J[3][6] = {
        {0, 0, 0, 0, w * a[2], -w * a[1]}, {0, 0, 0, -w * a[2], 0, w * a[0]}, {0, 0, 0, w * a[1], -w * a[0], 0}};
    VF_PEEL
    for (int k = 0; k < 3; k++) vf_motion_add(terms, J[k], w * (a[k] - s->now[k]), 1.0f);
}

/** Bounds of a sight within which, of where the camera flies to, it counts for less: there the direction of its plane is as uncertain as that place,
 *  and without this one such sight outweighed all others of a frame (rendered flight: normalised error squared 5.3, with it 1.4). */
#define VF_MOTION_NEAR 100.0f

/** The error is off / sqrt(square), and both move. What moves the root must not be left out: where there is little parallax it is as much as
 *  the rest, and steps without it end elsewhere than at the least error. */
VF_FN void vf_motion_relative_terms(const struct vf_pose *p, const struct vf_sight *s, float terms[VF_TERMS])
{
    const struct vf_span k = vf_motion_span(p, s);
    const float square = k.square + VF_MOTION_NEAR * VF_MOTION_NEAR / (s->weight * s->weight),
                w = s->weight / sqrtf(square), part = k.off / square;
    float ab[3], turn[3], ta_t[3], a_ta[3], bt_b[3], a_ta_t[3], J[6];
    vf_cross(k.a, s->now, ab);
    vf_cross(k.a, k.bt, turn);
    vf_cross(k.ta, p->t, ta_t);
    vf_cross(k.a, k.ta, a_ta);
    vf_cross(k.bt, s->now, bt_b);
    vf_cross(k.a, ta_t, a_ta_t);
    for (int i = 0; i < 3; i++) {
        J[i] = w * (ab[i] - part * (a_ta[i] + bt_b[i]));
        J[3 + i] = w * (turn[i] - part * a_ta_t[i]);
    }
    vf_motion_add(terms, J, w * k.off, 1.0f);
}

VF_FN void vf_motion_metric_terms(const struct vf_pose *p, const struct vf_sight *s, float terms[VF_TERMS])
{
    const struct vf_carried c = vf_motion_carried(p, s);
    const float scale = 1.0f / VF_MOTION_SIGMAS, side = c.weight[0] * c.inverse * scale,
                deep = c.weight[1] * c.inverse * c.inverse * scale;
    const float *x = c.turned;
    float J[4][6], along[6] = {0, 0, 0, 0, 0, 0}, uv = 0.0f;
    VF_PEEL
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 3; i++) J[k][i] = side * ((k == i ? 1.0f : 0.0f) - c.to[k] * c.to[i]);
    for (int i = 0; i < 3; i++) J[3][i] = -deep * c.to[i];
    VF_PEEL
    for (int k = 0; k < 4; k++) { /* the turn moves R X by w x R X */
        J[k][3] = J[k][2] * x[1] - J[k][1] * x[2];
        J[k][4] = J[k][0] * x[2] - J[k][2] * x[0];
        J[k][5] = J[k][1] * x[0] - J[k][0] * x[1];
        vf_motion_add(terms, J[k], c.u[k] * scale, 1.0f);
        VF_PEEL
        for (int i = 0; i < 6; i++) along[i] += c.v[k] * J[k][i];
        uv += c.v[k] * c.u[k];
    }
    vf_motion_add(terms, along, uv * scale, -1.0f / (1.0f + vf_motion_dot4(c.v, c.v)));
}

/** Adds to the normal equations what a sight gives. */
VF_FN void vf_motion_terms(int kind, const struct vf_pose *p, const struct vf_sight *s, float terms[VF_TERMS])
{
    if (kind == VF_TURN)
        vf_motion_turn_terms(p, s, terms);
    else if (kind == VF_METRIC)
        vf_motion_metric_terms(p, s, terms);
    else
        vf_motion_relative_terms(p, s, terms);
}

/* ---- a step ------------------------------------------------------------------------------------------------------ */

/** What holds t along itself: as much as the matrix, whose upper triangle that is, has for translations in all. Turns may have 10^5 times as much,
 *  beside which single precision would lose what is known of translations. */
VF_FN float vf_motion_hold(const float sums[VF_TERMS]) { return sums[0] + sums[6] + sums[11]; }

/** Lower triangle of the root of a symmetric 6x6 matrix (Cholesky), from the upper triangle in `sums`, its diagonal inverted; the unknowns
 *  that a kind does not have are held where they are. Returns 0 where there is none. */
VF_FN int vf_motion_root(int kind, const float t[3], const float sums[VF_TERMS], float L[6][6])
{
    const float hold = vf_motion_hold(sums);
    int n = 0, there = 1;
    for (int i = 0; i < 6; i++)
        for (int j = i; j < 6; j++) L[j][i] = sums[n++];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++) {
            if (kind == VF_RELATIVE) L[i][j] += hold * t[i] * t[j];
            if (kind == VF_TURN) L[i][j] = i == j ? 1.0f : 0.0f;
        }
    for (int j = 0; j < 6; j++) {
        float d = L[j][j];
        for (int k = 0; k < j; k++) d -= L[j][k] * L[j][k];
        there &= d > 1e-6f * L[j][j]; /* also when it is NaN */
        L[j][j] = there ? 1.0f / sqrtf(d) : 1.0f;
        for (int i = j + 1; i < 6; i++) {
            float v = L[i][j];
            for (int k = 0; k < j; k++) v -= L[i][k] * L[j][k];
            L[i][j] = v * L[j][j];
        }
    }
    return there;
}

/** Solves L x = b. */
VF_FN void vf_motion_solve_lower(float L[6][6], const float b[6], float x[6])
{
    for (int i = 0; i < 6; i++) {
        float v = b[i];
        for (int k = 0; k < i; k++) v -= L[i][k] * x[k];
        x[i] = v * L[i][i];
    }
}

/** Solves L^T x = b; they may be the same. */
VF_FN void vf_motion_solve_upper(float L[6][6], const float b[6], float x[6])
{
    for (int i = 5; i >= 0; i--) {
        float v = b[i];
        for (int k = i + 1; k < 6; k++) v -= L[k][i] * x[k];
        x[i] = v * L[i][i];
    }
}

/** Solves L L^T x = b. */
VF_FN void vf_motion_solve(float L[6][6], const float b[6], float x[6])
{
    vf_motion_solve_lower(L, b, x);
    vf_motion_solve_upper(L, x, x);
}

/** Moves a motion by a step of Gauss and Newton. Returns 0, and leaves it, where there is none. */
VF_FN int vf_motion_step(int kind, struct vf_pose *p, const float sums[VF_TERMS])
{
    float L[6][6], step[6];
    if (!vf_motion_root(kind, p->t, sums, L)) return 0;
    vf_motion_solve(L, sums + VF_TERM_G, step);
    const float turn[3] = {-step[3], -step[4], -step[5]};
    if (!(vf_dot(turn, turn) < 1.0f)) return 0; /* more than a radian is no step */
    vf_pose_turn(p->R, turn);
    for (int k = 0; k < 3 && kind != VF_TURN; k++) p->t[k] -= step[k];
    if (kind == VF_RELATIVE) vf_pose_unit(p->t);
    return 1;
}

/** Where row i begins in an upper triangle, from its diagonal on, and where what is in row i, column j, or the other way round, is. */
VF_FN int vf_motion_row(int i) { return i * (13 - i) / 2; }
VF_FN int vf_motion_at(int i, int j) { return i < j ? vf_motion_row(i) + j - i : vf_motion_row(j) + i - j; }

/** Row i of the covariance, when the right side of the normal equations has the covariance whose upper triangle is B. L is the root of their
 *  matrix. Between the roots of that stands what is nearly a multiple of the identity, so that few digits are lost even where turns and
 *  translations can hardly be told apart. */
VF_FN void vf_motion_covariance_row(float L[6][6], const float B[21], int i, float row[6])
{
    float half[6][6], middle[6][6], unit[6], side[6];
    VF_PEEL
    for (int j = 0; j < 6; j++) {
        float column[6];
        VF_PEEL
        for (int k = 0; k < 6; k++) column[k] = B[vf_motion_at(j, k)];
        vf_motion_solve_lower(L, column, half[j]);
        unit[j] = i == j ? 1.0f : 0.0f;
    }
    VF_PEEL
    for (int j = 0; j < 6; j++) {
        float column[6];
        VF_PEEL
        for (int k = 0; k < 6; k++) column[k] = half[k][j];
        vf_motion_solve_lower(L, column, middle[j]);
    }
    vf_motion_solve_lower(L, unit, side);
    VF_PEEL
    for (int j = 0; j < 6; j++) {
        row[j] = 0.0f;
        VF_PEEL
        for (int k = 0; k < 6; k++) row[j] += middle[j][k] * side[k];
    }
    vf_motion_solve_upper(L, row, row);
}

/** The covariance, upper triangle row by row. Returns 0 where there is none. */
VF_FN int vf_motion_covariance(int kind, const struct vf_pose *p, const float sums[VF_TERMS], const float B[21],
                               float covariance[21])
{
    float L[6][6], row[6];
    if (!vf_motion_root(kind, p->t, sums, L)) return 0;
    for (int i = 0; i < 6; i++) {
        vf_motion_covariance_row(L, B, i, row);
        for (int j = i; j < 6; j++) covariance[vf_motion_at(i, j)] = row[j];
    }
    return 1;
}

#endif
