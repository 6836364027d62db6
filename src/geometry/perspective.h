/* SPDX-License-Identifier: MIT */
/* perspective: pose of a camera from three points (perspective-three-point, P3P).
 *
 * In      three points in axes of the previous camera, in any unit of length, and their unit bearings in the current
 *         camera
 * Out     up to four poses
 * Rule    Quartic of Grunert (1841) in the form of Haralick, Lee, Ottenberg and Noelle (1994) for the ratio of two
 *         distances. Then Newton's method on the three distances, with residuals that do not cancel when bearings are
 *         close together.
 * Exact   distances and quartic in double precision, which are few operations; Newton steps and poses in single, in one
 *         order
 * Shared  host form and kernels share all of it; a team (team.h) works on the roots in parallel
 */
#ifndef VF_PERSPECTIVE_H
#define VF_PERSPECTIVE_H

#include "math/polynomial.h"
#include "math/pose.h"

#define VF_PERSPECTIVE_NEWTON_STEPS 3 /* number of Newton steps that refine the distances of the three points */

struct vf_perspective_scratch {
    struct vf_polynomial_scratch polynomial;
    struct vf_pose pose[8]; /* [root of `polynomial`]: its pose */
    int32_t valid[8];       /* [root of `polynomial`]: 1: its pose is a solution */
};

/** Sides of the triangle of the three points. Element k belongs to the side opposite of point k. */
struct vf_triangle {
    double side2[3];  /* squared length of the side */
    double chord2[3]; /* squared chord between the unit bearings of the side's ends: 2 - 2 cos(angle) */
};

/** Dot product in double precision. */
VF_FN double vf_dot_double(const float a[3], const float b[3])
{
    return (double)a[0] * (double)b[0] + (double)a[1] * (double)b[1] + (double)a[2] * (double)b[2];
}

/** Sides of the triangle of three points, and chords between their bearings. The bearings have unit length only in
 *  single precision, which is compensated to first order. */
VF_FN struct vf_triangle vf_measure_triangle(const float point[3][3], const float bearing[3][3])
{
    struct vf_triangle t;
    for (int k = 0; k < 3; k++) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        const double x = (double)point[i][0] - (double)point[j][0], y = (double)point[i][1] - (double)point[j][1],
                     z = (double)point[i][2] - (double)point[j][2];
        const double excess = vf_dot_double(bearing[i], bearing[i]) + vf_dot_double(bearing[j], bearing[j]) - 2.0;
        t.side2[k] = x * x + y * y + z * z;
        t.chord2[k] = 2.0 - 2.0 * vf_dot_double(bearing[i], bearing[j]) * (1.0 - 0.5 * excess);
    }
    return t;
}

/** Coefficients of the P3P quartic c[0] + c[1] v + ... + c[4] v^4 in v = distance of point 2 / distance of point 0. */
VF_FN void vf_perspective_quartic(const struct vf_triangle *t, double c[5])
{
    const double inverse = 1.0 / t->side2[1], aa = t->side2[0] * inverse, cc = t->side2[2] * inverse,
                 difference = aa - cc, sum = aa + cc;
    const double cos_a = 1.0 - 0.5 * t->chord2[0], cos_b = 1.0 - 0.5 * t->chord2[1], cos_c = 1.0 - 0.5 * t->chord2[2];
    const double ac = cos_a * cos_c, a2 = cos_a * cos_a, c2 = cos_c * cos_c;
    c[4] = (difference - 1.0) * (difference - 1.0) - 4.0 * cc * a2;
    c[3] = 4.0 * (difference * (1.0 - difference) * cos_b - (1.0 - sum) * ac + 2.0 * cc * a2 * cos_b);
    c[2] = 2.0 * (difference * difference - 1.0 + 2.0 * difference * difference * cos_b * cos_b +
                  2.0 * (1.0 - cc) * a2 - 4.0 * sum * ac * cos_b + 2.0 * (1.0 - aa) * c2);
    c[1] = 4.0 * (2.0 * aa * c2 * cos_b - difference * (1.0 + difference) * cos_b - (1.0 - sum) * ac);
    c[0] = (1.0 + difference) * (1.0 + difference) - 4.0 * aa * c2;
}

/** Approximate distances s of the three points from the camera, for a root v = root[0] / root[1] of the quartic. v is
 *  distance 2 / distance 0. */
VF_FN void vf_perspective_distances(const struct vf_triangle *t, const float root[2], double s[3])
{
    const double x = (double)root[0], y = (double)root[1], difference = (t->side2[0] - t->side2[2]) / t->side2[1];
    const double cos_a = 1.0 - 0.5 * t->chord2[0], cos_b = 1.0 - 0.5 * t->chord2[1], cos_c = 1.0 - 0.5 * t->chord2[2];
    const double denominator = 2.0 * (cos_c * y - cos_a * x),
                 numerator = (difference - 1.0) * x * x - 2.0 * difference * cos_b * x * y + (1.0 + difference) * y * y;
    const float scale = sqrtf((float)(t->side2[1] / ((x - y) * (x - y) + x * y * t->chord2[1])));
    s[0] = y * (double)scale;
    s[1] = numerator / denominator * (double)scale;
    s[2] = x * (double)scale;
}

/** One Newton step on the distances s of the three points from the camera. Returns the sum of their relative
 *  changes. */
VF_FN float vf_perspective_step(const struct vf_triangle *t, double s[3])
{
    float J[3][3], r[3];
    for (int k = 0; k < 3; k++) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        const double d = s[i] - s[j];
        r[k] = (float)(t->side2[k] - d * d - s[i] * s[j] * t->chord2[k]);
        J[k][k] = 0.0f;
        J[k][i] = (float)(2.0 * d + s[j] * t->chord2[k]);
        J[k][j] = (float)(s[i] * t->chord2[k] - 2.0 * d);
    }
    /* the diagonal of J is 0, which leaves two terms of the determinant */
    const float forth = J[0][1] * J[1][2] * J[2][0], back = J[0][2] * J[1][0] * J[2][1], scale = 1.0f / (forth + back);
    const float x = (-J[1][2] * J[2][1] * r[0] + J[0][2] * J[2][1] * r[1] + J[0][1] * J[1][2] * r[2]) * scale;
    const float y = (J[1][2] * J[2][0] * r[0] - J[0][2] * J[2][0] * r[1] + J[0][2] * J[1][0] * r[2]) * scale;
    const float z = (J[1][0] * J[2][1] * r[0] + J[0][1] * J[2][0] * r[1] - J[0][1] * J[1][0] * r[2]) * scale;
    s[0] += (double)x;
    s[1] += (double)y;
    s[2] += (double)z;
    return fabsf(x / (float)s[0]) + fabsf(y / (float)s[1]) + fabsf(z / (float)s[2]);
}

/** Orthonormal axes of a triangle, rows of `axes`: along its side `first`; in its plane; normal to the plane. second:
 *  another side. */
VF_FN void vf_perspective_axes(const float first[3], const float second[3], float axes[9])
{
    for (int k = 0; k < 3; k++) axes[k] = first[k];
    vf_unit_reciprocal(axes);
    vf_cross(axes, second, axes + 6);
    vf_unit_reciprocal(axes + 6);
    vf_cross(axes + 6, axes, axes + 3);
    vf_unit_reciprocal(axes + 3);
    /* the normal again, because the one from the two sides is inaccurate for a thin triangle */
    vf_cross(axes, axes + 3, axes + 6);
}

/** Pose that moves each point to its distance s along its bearing. It aligns the triangle of the points with the
 *  triangle in the current camera. */
VF_FN void vf_perspective_pose(const float point[3][3], const float bearing[3][3], const double s[3],
                               struct vf_pose *pose)
{
    double now[3][3];
    float side_before[2][3], side_now[2][3], from[9], to[9];
    for (int i = 0; i < 3; i++) {
        /* distance over the length of the bearing, which is 1 only in single precision; to first order */
        const double scale = s[i] * (1.5 - 0.5 * vf_dot_double(bearing[i], bearing[i]));
        for (int k = 0; k < 3; k++) now[i][k] = scale * (double)bearing[i][k];
    }
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) {
            side_before[i][k] = (float)((double)point[i + 1][k] - (double)point[0][k]);
            side_now[i][k] = (float)(now[i + 1][k] - now[0][k]);
        }
    vf_perspective_axes(side_before[0], side_before[1], from);
    vf_perspective_axes(side_now[0], side_now[1], to);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            pose->R[3 * r + c] = to[r] * from[c] + to[3 + r] * from[3 + c] + to[6 + r] * from[6 + c];
    for (int r = 0; r < 3; r++) pose->t[r] = (float)now[0][r] - vf_dot(pose->R + 3 * r, point[0]);
}

/** Solves P3P: finds the poses for which three points lie along three bearings. pose: out; it and w are in memory
 *  shared by the team. Returns the number of poses, at most 4. */
VF_FN int vf_perspective_three(struct vf_perspective_scratch *w, const float point[3][3], const float bearing[3][3],
                               struct vf_pose pose[4])
{
    const struct vf_triangle t = vf_measure_triangle(point, bearing);
    double c[5];
    vf_perspective_quartic(&t, c);
    float largest = 0.0f;
    for (int k = 0; k < 5; k++) {
        const float magnitude = fabsf((float)c[k]);
        largest = magnitude > largest ? magnitude : largest;
    }
    VF_TEAM(k, 5) w->polynomial.c[k] = c[k] * (double)(1.0f / largest);
    VF_TEAM_SYNC();
    vf_polynomial_roots(&w->polynomial, 4);
    VF_TEAM(k, 8)
    {
        const float *root = w->polynomial.root[k];
        w->valid[k] = 0;
        if (!(root[0] * root[1] > 0.0f)) continue;
        double s[3];
        float change = 0.0f;
        vf_perspective_distances(&t, root, s);
        for (int step = 0; step < VF_PERSPECTIVE_NEWTON_STEPS; step++) change = vf_perspective_step(&t, s);
        if (!(change < 1e-3f && s[0] > 0.0 && s[1] > 0.0 && s[2] > 0.0)) continue;
        vf_perspective_pose(point, bearing, s, &w->pose[k]);
        w->valid[k] = vf_pose_valid(&w->pose[k]);
    }
    VF_TEAM_SYNC();
    int count = 0;
    for (int k = 0; k < 8 && count < 4; k++) {
        if (!w->valid[k]) continue;
        VF_TEAM(i, 9) pose[count].R[i] = w->pose[k].R[i];
        VF_TEAM(i, 3) pose[count].t[i] = w->pose[k].t[i];
        count++;
    }
    VF_TEAM_SYNC();
    return count;
}

#endif
