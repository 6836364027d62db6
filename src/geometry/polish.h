/* SPDX-License-Identifier: MIT */
/* polish: Newton's method for a relative pose on the five epipolar constraints of five correspondences.
 *
 * In      a relative pose near a solution; unit bearings of five correspondences in the previous and the current camera
 * Out     the relative pose that satisfies now^T [t]x R before = 0 for all five
 * Rule    A step solves the five linearised constraints for a rotation vector and for the motion of the translation in
 *         two directions normal to it.
 * Exact   Single precision in one order; residuals in double, because errors of 1e-7 in them move the pose by 1e-3.
 * Shared  host form and kernels share all of it
 */
#ifndef VF_POLISH_H
#define VF_POLISH_H

#include "math/pose.h"
#include "math/team.h"

/** Relative pose with one redundant parameter each for rotation and translation: a quaternion (w, x, y, z) and a
 *  translation, both of any length. Rounding cannot make the rotation invalid. */
struct vf_polish {
    float q[4], t[3];
};

/** Rotation matrix R of a quaternion q of any length, times the squared length of q. */
VF_FN void vf_polish_rotation(const float q[4], float R[9])
{
    const float aa = q[0] * q[0], bb = q[1] * q[1], cc = q[2] * q[2], dd = q[3] * q[3];
    const float ab = q[0] * q[1], ac = q[0] * q[2], ad = q[0] * q[3], bc = q[1] * q[2], bd = q[1] * q[3],
                cd = q[2] * q[3];
    const float all[9] = {aa + bb - (cc + dd), 2.0f * (bc - ad),    2.0f * (bd + ac),
                          2.0f * (bc + ad),    aa + cc - (bb + dd), 2.0f * (cd - ab),
                          2.0f * (bd - ac),    2.0f * (cd + ab),    aa + dd - (bb + cc)};
    for (int k = 0; k < 9; k++) R[k] = all[k];
}

/** Scales quaternion and translation to unit length. */
VF_FN void vf_polish_normalise(struct vf_polish *m)
{
    const float scale = 1.0f / sqrtf(m->q[0] * m->q[0] + m->q[1] * m->q[1] + m->q[2] * m->q[2] + m->q[3] * m->q[3]);
    for (int k = 0; k < 4; k++) m->q[k] *= scale;
    vf_unit_reciprocal(m->t);
}

/** Converts a rotation matrix and a translation to a unit quaternion and a unit translation. The quaternion is computed
 *  from its largest component, so that no digits cancel. */
VF_FN void vf_polish_from_pose(struct vf_polish *m, const float R[9], const float t[3])
{
    const float a = R[0] + R[4] + R[8], b = R[0] - R[4] - R[8], c = R[4] - R[0] - R[8], d = R[8] - R[0] - R[4];
    const float ab = R[7] - R[5], ac = R[2] - R[6], ad = R[3] - R[1], bc = R[1] + R[3], bd = R[2] + R[6],
                cd = R[5] + R[7];
    const int a_most = a >= b && a >= c && a >= d, b_most = !a_most && b >= c && b >= d,
              c_most = !a_most && !b_most && c >= d;
    m->q[0] = a_most ? 1.0f + a : b_most ? ab : c_most ? ac : ad;
    m->q[1] = a_most ? ab : b_most ? 1.0f + b : c_most ? bc : bd;
    m->q[2] = a_most ? ac : b_most ? bc : c_most ? 1.0f + c : cd;
    m->q[3] = a_most ? ad : b_most ? bd : c_most ? cd : 1.0f + d;
    for (int k = 0; k < 3; k++) m->t[k] = t[k];
    vf_polish_normalise(m);
}

/** Residuals of the five epipolar constraints, computed in double precision. With a short baseline an error of 1e-7 in
 *  them moves the pose by 1e-3. */
VF_FN void vf_polish_residuals(const struct vf_polish *m, const float before[][3], const float now[][3],
                               float residual[5])
{
    const double a = (double)m->q[0], b = (double)m->q[1], c = (double)m->q[2], d = (double)m->q[3];
    const double x = (double)m->t[0], y = (double)m->t[1], z = (double)m->t[2];
    const double aa = a * a, bb = b * b, cc = c * c, dd = d * d, ab = a * b, ac = a * c, ad = a * d, bc = b * c,
                 bd = b * d, cd = c * d;
    const double R[9] = {aa + bb - (cc + dd), 2.0 * (bc - ad), 2.0 * (bd + ac), 2.0 * (bc + ad),    aa + cc - (bb + dd),
                         2.0 * (cd - ab),     2.0 * (bd - ac), 2.0 * (cd + ab), aa + dd - (bb + cc)};
    double E[9];
    for (int k = 0; k < 3; k++) {
        E[k] = y * R[6 + k] - z * R[3 + k];
        E[3 + k] = z * R[k] - x * R[6 + k];
        E[6 + k] = x * R[3 + k] - y * R[k];
    }
    VF_PEEL_HOST
    for (int i = 0; i < 5; i++) {
        const double u = (double)before[i][0], v = (double)before[i][1], s = (double)before[i][2];
        residual[i] = (float)((double)now[i][0] * (E[0] * u + E[1] * v + E[2] * s) +
                              (double)now[i][1] * (E[3] * u + E[4] * v + E[5] * s) +
                              (double)now[i][2] * (E[6] * u + E[7] * v + E[8] * s));
    }
}

/** Solves a 5x5 linear system for x by Gaussian elimination with partial pivoting. Column 5 of M is the right side. All
 *  indices are constants after unrolling, so that M stays in registers. */
VF_FN void vf_solve5(float M[5][6], float x[5])
{
    float inverse[5];
    VF_UNROLL
    for (int k = 0; k < 5; k++) {
        int p = k;
        float pivot = M[k][k];
        for (int r = k + 1; r < 5; r++) {
            const int larger = fabsf(M[r][k]) > fabsf(pivot);
            p = larger ? r : p;
            pivot = larger ? M[r][k] : pivot;
        }
        for (int c = k; c < 6; c++) {
            float top = M[k][c];
            for (int r = k + 1; r < 5; r++) {
                const float element = M[r][c];
                M[r][c] = r == p ? M[k][c] : element;
                top = r == p ? element : top;
            }
            M[k][c] = top;
        }
        inverse[k] = 1.0f / pivot;
        for (int r = k + 1; r < 5; r++) {
            const float factor = M[r][k] * inverse[k];
            for (int c = k + 1; c < 6; c++) M[r][c] -= factor * M[k][c];
        }
    }
    VF_UNROLL
    for (int k = 4; k >= 0; k--) {
        float sum = M[k][5];
        for (int c = k + 1; c < 5; c++) sum -= M[k][c] * x[c];
        x[k] = sum * inverse[k];
    }
}

/** Two directions a, b in which a translation t of fixed length can move: normal to t and to each other, about as long
 *  as t. */
VF_FN void vf_polish_tangents(const float t[3], float a[3], float b[3])
{
    const float x = fabsf(t[0]), y = fabsf(t[1]), z = fabsf(t[2]);
    const float axis[3] = {x <= y && x <= z ? 1.0f : 0.0f, y < x && y <= z ? 1.0f : 0.0f, z < x && z < y ? 1.0f : 0.0f};
    vf_cross(t, axis, a);
    vf_cross(t, a, b);
}

/** Row of the linear system of a Newton step: epipolar constraint of one correspondence. Columns 0 .. 2: rotation
 *  vector; 3, 4: motion of t along the two tangents; 5: right side. R: rotation of m. */
VF_FN void vf_polish_row(const struct vf_polish *m, const float R[9], float tangent[2][3], const float before[3],
                         const float now[3], float residual, float row[6])
{
    float g[3], gh[3], ht[3];
    vf_transform(R, before, g);
    vf_cross(g, now, gh);
    vf_cross(now, m->t, ht);
    vf_cross(g, ht, row);
    row[3] = vf_dot(tangent[0], gh);
    row[4] = vf_dot(tangent[1], gh);
    row[5] = -residual;
}

/** Moves a pose by a Newton step, at most about 0.3 rad. x: rotation vector, then motion of t along the two tangents.
 *  Returns the squared length of x. */
VF_FN float vf_polish_move(struct vf_polish *m, const float x[5], float tangent[2][3])
{
    const float square = x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3] + x[4] * x[4], limit = 0.3f;
    const float scale = square > limit * limit ? limit / sqrtf(square) : 1.0f, h = 0.5f * scale;
    const float q[4] = {m->q[0], m->q[1], m->q[2], m->q[3]};
    m->q[0] = q[0] - h * (x[0] * q[1] + x[1] * q[2] + x[2] * q[3]);
    m->q[1] = q[1] + h * (x[0] * q[0] + x[1] * q[3] - x[2] * q[2]);
    m->q[2] = q[2] + h * (x[1] * q[0] + x[2] * q[1] - x[0] * q[3]);
    m->q[3] = q[3] + h * (x[2] * q[0] + x[0] * q[2] - x[1] * q[1]);
    for (int k = 0; k < 3; k++) m->t[k] += scale * (x[3] * tangent[0][k] + x[4] * tangent[1][k]);
    return square;
}

/** Moves a pose by one Newton step on the five epipolar constraints, at most about 0.3 rad. Returns the squared length
 *  of the step [rad^2, approximately]. Quaternion and translation grow slightly in length, which does not matter,
 *  because the constraints are homogeneous in both. */
VF_FN float vf_polish_step(struct vf_polish *m, const float before[][3], const float now[][3])
{
    float R[9], M[5][6], tangent[2][3], residual[5], x[5];
    vf_polish_rotation(m->q, R);
    vf_polish_tangents(m->t, tangent[0], tangent[1]);
    vf_polish_residuals(m, before, now, residual);
    for (int i = 0; i < 5; i++) vf_polish_row(m, R, tangent, before[i], now[i], residual[i], M[i]);
    vf_solve5(M, x);
    return vf_polish_move(m, x, tangent);
}

#endif
