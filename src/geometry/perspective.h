/* SPDX-License-Identifier: MIT */
/* perspective: the pose of a camera from three points.
 *
 * In      three points in axes of the camera before, in any unit, and their bearings now
 * Out     up to four poses
 * Rule    the quartic of Grunert (1841) in the form of Haralick, Lee, Ottenberg and Noelle (1994) for the quotient of two distances; then
 *         Newton's method on the three distances, with residuals in a form that does not cancel when bearings are close together
 * Exact   distances and quartic in double precision, of which there are few operations; steps and poses in single, in one order
 */
#ifndef VF_PERSPECTIVE_H
#define VF_PERSPECTIVE_H

#include "math/polynomial.h"
#include "math/pose.h"

#define VF_PERSPECTIVE_STEPS 3

struct vf_perspective_work {
    struct vf_polynomial_work polynomial;
    struct vf_pose pose[8];
    int32_t good[8];
};

/** The triangle: squares of the sides across from each point, and 2 - 2 cos of the angles under which they are seen. */
struct vf_triangle {
    double side[3], apart[3];
};

VF_FN double vf_dot_exact(const float a[3], const float b[3])
{
    return (double)a[0] * (double)b[0] + (double)a[1] * (double)b[1] + (double)a[2] * (double)b[2];
}

/** Bearings are unit vectors to single precision; that they are not quite is taken into account. */
VF_FN struct vf_triangle vf_triangle(const float point[3][3], const float bearing[3][3])
{
    struct vf_triangle t;
    for (int k = 0; k < 3; k++) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        const double x = (double)point[i][0] - (double)point[j][0], y = (double)point[i][1] - (double)point[j][1],
                     z = (double)point[i][2] - (double)point[j][2];
        const double longer = vf_dot_exact(bearing[i], bearing[i]) + vf_dot_exact(bearing[j], bearing[j]) - 2.0;
        t.side[k] = x * x + y * y + z * z;
        t.apart[k] = 2.0 - 2.0 * vf_dot_exact(bearing[i], bearing[j]) * (1.0 - 0.5 * longer);
    }
    return t;
}

/** Coefficients of the quartic for v = distance 2 / distance 0. */
VF_FN void vf_perspective_quartic(const struct vf_triangle *t, double c[5])
{
    const double over = 1.0 / t->side[1], aa = t->side[0] * over, cc = t->side[2] * over, less = aa - cc,
                 more = aa + cc;
    const double cos_a = 1.0 - 0.5 * t->apart[0], cos_b = 1.0 - 0.5 * t->apart[1], cos_c = 1.0 - 0.5 * t->apart[2];
    const double ac = cos_a * cos_c, a2 = cos_a * cos_a, c2 = cos_c * cos_c;
    c[4] = (less - 1.0) * (less - 1.0) - 4.0 * cc * a2;
    c[3] = 4.0 * (less * (1.0 - less) * cos_b - (1.0 - more) * ac + 2.0 * cc * a2 * cos_b);
    c[2] = 2.0 * (less * less - 1.0 + 2.0 * less * less * cos_b * cos_b + 2.0 * (1.0 - cc) * a2 -
                  4.0 * more * ac * cos_b + 2.0 * (1.0 - aa) * c2);
    c[1] = 4.0 * (2.0 * aa * c2 * cos_b - less * (1.0 + less) * cos_b - (1.0 - more) * ac);
    c[0] = (1.0 + less) * (1.0 + less) - 4.0 * aa * c2;
}

/** Distances of a root, not yet exact; root[1] times v = root[0]. */
VF_FN void vf_perspective_distances(const struct vf_triangle *t, const float root[2], double s[3])
{
    const double x = (double)root[0], y = (double)root[1], less = (t->side[0] - t->side[2]) / t->side[1];
    const double cos_a = 1.0 - 0.5 * t->apart[0], cos_b = 1.0 - 0.5 * t->apart[1], cos_c = 1.0 - 0.5 * t->apart[2];
    const double below = 2.0 * (cos_c * y - cos_a * x),
                 above = (less - 1.0) * x * x - 2.0 * less * cos_b * x * y + (1.0 + less) * y * y;
    const float scale = sqrtf((float)(t->side[1] / ((x - y) * (x - y) + x * y * t->apart[1])));
    s[0] = y * (double)scale;
    s[1] = above / below * (double)scale;
    s[2] = x * (double)scale;
}

/** One step of Newton's method on the three distances; returns how much they changed, relative. */
VF_FN float vf_perspective_step(const struct vf_triangle *t, double s[3])
{
    float J[3][3], r[3];
    for (int k = 0; k < 3; k++) {
        const int i = (k + 1) % 3, j = (k + 2) % 3;
        const double apart = s[i] - s[j];
        r[k] = (float)(t->side[k] - apart * apart - s[i] * s[j] * t->apart[k]);
        J[k][k] = 0.0f;
        J[k][i] = (float)(2.0 * apart + s[j] * t->apart[k]);
        J[k][j] = (float)(s[i] * t->apart[k] - 2.0 * apart);
    }
    /* J has no diagonal, which leaves two terms of the determinant */
    const float forth = J[0][1] * J[1][2] * J[2][0], back = J[0][2] * J[1][0] * J[2][1], scale = 1.0f / (forth + back);
    const float x = (-J[1][2] * J[2][1] * r[0] + J[0][2] * J[2][1] * r[1] + J[0][1] * J[1][2] * r[2]) * scale;
    const float y = (J[1][2] * J[2][0] * r[0] - J[0][2] * J[2][0] * r[1] + J[0][2] * J[1][0] * r[2]) * scale;
    const float z = (J[1][0] * J[2][1] * r[0] + J[0][1] * J[2][0] * r[1] - J[0][1] * J[1][0] * r[2]) * scale;
    s[0] += (double)x;
    s[1] += (double)y;
    s[2] += (double)z;
    return fabsf(x / (float)s[0]) + fabsf(y / (float)s[1]) + fabsf(z / (float)s[2]);
}

/** Axes of a triangle: along its first side, in its plane, across it; as rows. */
VF_FN void vf_perspective_axes(const float first[3], const float second[3], float axes[9])
{
    for (int k = 0; k < 3; k++) axes[k] = first[k];
    vf_pose_unit(axes);
    vf_cross(axes, second, axes + 6);
    vf_pose_unit(axes + 6);
    vf_cross(axes + 6, axes, axes + 3);
    vf_pose_unit(axes + 3);
    vf_cross(axes, axes + 3, axes + 6); /* of a thin triangle the first cross product was not quite across */
}

/** The pose that takes the points to their distances along their bearings. */
VF_FN void vf_perspective_pose(const float point[3][3], const float bearing[3][3], const double s[3],
                               struct vf_pose *pose)
{
    double now[3][3];
    float before[2][3], seen[2][3], from[9], to[9];
    for (int i = 0; i < 3; i++) {
        const double scale = s[i] * (1.5 - 0.5 * vf_dot_exact(bearing[i], bearing[i])); /* over its length */
        for (int k = 0; k < 3; k++) now[i][k] = scale * (double)bearing[i][k];
    }
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 3; k++) {
            before[i][k] = (float)((double)point[i + 1][k] - (double)point[0][k]);
            seen[i][k] = (float)(now[i + 1][k] - now[0][k]);
        }
    vf_perspective_axes(before[0], before[1], from);
    vf_perspective_axes(seen[0], seen[1], to);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            pose->R[3 * r + c] = to[r] * from[c] + to[3 + r] * from[3 + c] + to[6 + r] * from[6 + c];
    for (int r = 0; r < 3; r++) pose->t[r] = (float)now[0][r] - vf_dot(pose->R + 3 * r, point[0]);
}

/** Poses, in memory that the team shares, from which three points are seen along three bearings. Returns how many. */
VF_FN int vf_perspective_three(struct vf_perspective_work *w, const float point[3][3], const float bearing[3][3],
                               struct vf_pose pose[4])
{
    const struct vf_triangle t = vf_triangle(point, bearing);
    double c[5];
    vf_perspective_quartic(&t, c);
    float most = 0.0f;
    for (int k = 0; k < 5; k++) {
        const float size = fabsf((float)c[k]);
        most = size > most ? size : most;
    }
    VF_TEAM(k, 5) w->polynomial.c[k] = c[k] * (double)(1.0f / most);
    VF_TEAM_SYNC();
    vf_polynomial_roots(&w->polynomial, 4);
    VF_TEAM(k, 8)
    {
        const float *root = w->polynomial.root[k];
        w->good[k] = 0;
        if (!(root[0] * root[1] > 0.0f)) continue;
        double s[3];
        float change = 0.0f;
        vf_perspective_distances(&t, root, s);
        for (int step = 0; step < VF_PERSPECTIVE_STEPS; step++) change = vf_perspective_step(&t, s);
        if (!(change < 1e-3f && s[0] > 0.0 && s[1] > 0.0 && s[2] > 0.0)) continue;
        vf_perspective_pose(point, bearing, s, &w->pose[k]);
        w->good[k] = vf_pose_valid(&w->pose[k]);
    }
    VF_TEAM_SYNC();
    int count = 0;
    for (int k = 0; k < 8 && count < 4; k++) {
        if (!w->good[k]) continue;
        VF_TEAM(i, 9) pose[count].R[i] = w->pose[k].R[i];
        VF_TEAM(i, 3) pose[count].t[i] = w->pose[k].t[i];
        count++;
    }
    VF_TEAM_SYNC();
    return count;
}

#endif
