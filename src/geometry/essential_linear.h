/* SPDX-License-Identifier: MIT */
/* essential_linear: essential matrices of seven and of eight correspondences.
 *
 * In      unit bearings of seven or eight correspondences in the previous and the current camera
 * Out     up to three matrices from seven, one from eight; with noise they are only approximately essential; those of
 *         seven are singular
 * Rule    Null space of the linear constraints (essential.h). Seven: the determinant is a cubic in the ratio of the two
 *         unknowns, solved by Cardano's formula. Eight: the null vector. Both results are refined
 *         so that the residuals of the constraints vanish.
 * Exact   single precision in one order; residuals and unknowns of the refinement in double
 * Shared  host form and kernels share all of it
 */
#ifndef VF_ESSENTIAL_LINEAR_H
#define VF_ESSENTIAL_LINEAR_H

#include "essential.h"

#define VF_ESSENTIAL_REFINE_STEPS 2

/* ---- refinement -------------------------------------------------------------------------------------------------- */

/** Essential matrix E = [a]x + parallax S of the aligned bearings, in double precision. u: the three elements of a,
 *  then the six of S. */
VF_FN void vf_essential_from_unknowns_double(float parallax, const double u[9], double E[9])
{
    const double e = (double)parallax, xy = e * u[6], yz = e * u[7], zx = e * u[8];
    const double all[9] = {e * u[3],  xy - u[2], zx + u[1], xy + u[2], e * u[4],
                           yz - u[0], zx - u[1], yz + u[0], e * u[5]};
    for (int k = 0; k < 9; k++) E[k] = all[k];
}

/** Residual now^T E before of the epipolar constraint of one correspondence. u: the unknowns a, S of E. */
VF_FN float vf_essential_residual(const struct vf_essential_scratch *w, const double u[9], const float before[3],
                                  const float now[3])
{
    double E[9], f[3], sum = 0.0;
    vf_essential_from_unknowns_double(w->parallax, u, E);
    for (int k = 0; k < 3; k++)
        f[k] = (double)w->R[3 * k] * (double)before[0] + (double)w->R[3 * k + 1] * (double)before[1] +
               (double)w->R[3 * k + 2] * (double)before[2];
    for (int k = 0; k < 3; k++) sum += (double)now[k] * (E[3 * k] * f[0] + E[3 * k + 1] * f[1] + E[3 * k + 2] * f[2]);
    return (float)sum;
}

/** Subtracts from the unknowns u the least-norm correction that makes n residuals 0. Uses forward substitution in the
 *  triangular matrix of the QR decomposition. */
VF_FN void vf_essential_least_norm_step(const struct vf_essential_scratch *w, int n, const float residual[],
                                        double u[9])
{
    float v[9];
    const float inverse = 1.0f / w->parallax;
    for (int i = 0; i < 9; i++) {
        v[i] = 0.0f;
        if (i >= n) continue;
        float sum = residual[i] * inverse;
        for (int k = 0; k < i; k++) sum -= w->row[i][k] * v[k];
        v[i] = sum / w->diagonal[i];
    }
    vf_essential_apply_q(w, n, v);
    for (int i = 0; i < 9; i++) u[i] -= (double)v[i];
}

/** Newton step of the unknowns u along the direction d that makes the determinant of the matrix 0. Steps of 0.1 |d| or
 *  more are not taken. */
VF_FN void vf_essential_make_singular(float parallax, const float d[9], double u[9])
{
    double E[9];
    float D[9];
    vf_essential_from_unknowns_double(parallax, u, E);
    vf_essential_from_unknowns(parallax, d, D);
    const double c0 = E[4] * E[8] - E[5] * E[7], c1 = E[5] * E[6] - E[3] * E[8], c2 = E[3] * E[7] - E[4] * E[6];
    const float e[9] = {(float)E[0], (float)E[1], (float)E[2], (float)E[3], (float)E[4],
                        (float)E[5], (float)E[6], (float)E[7], (float)E[8]};
    const float slope = D[0] * (float)c0 + D[1] * (float)c1 + D[2] * (float)c2 + D[3] * (e[2] * e[7] - e[1] * e[8]) +
                        D[4] * (e[0] * e[8] - e[2] * e[6]) + D[5] * (e[1] * e[6] - e[0] * e[7]) +
                        D[6] * (e[1] * e[5] - e[2] * e[4]) + D[7] * (e[2] * e[3] - e[0] * e[5]) +
                        D[8] * (e[0] * e[4] - e[1] * e[3]);
    const float step = (float)(E[0] * c0 + E[1] * c1 + E[2] * c2) / slope;
    for (int k = 0; k < 9; k++) u[k] -= fabsf(step) < 0.1f ? (double)(step * d[k]) : 0.0;
}

/** Refines `count` solutions w->exact[k], vectors of the unknowns a, S, to satisfy n constraints. For n = 7 their
 *  matrices also become singular; w->column[k] is then the null-space direction in which solution k may move. In double
 *  precision, because two close solutions of seven points are sensitive to rounding. Writes the essential matrices
 *  w->E. Returns `count`. */
VF_FN int vf_essential_refine(struct vf_essential_scratch *w, const float before[][3], const float now[][3], int n,
                              int count)
{
    VF_NO_UNROLL
    for (int round = 0; round < VF_ESSENTIAL_REFINE_STEPS; round++) {
        VF_TEAM(task, count * n)
        {
            const int k = task / n, i = task % n;
            w->residual[k][i] = vf_essential_residual(w, w->exact[k], before[i], now[i]);
        }
        VF_TEAM_SYNC();
        VF_TEAM(k, count)
        {
            vf_essential_least_norm_step(w, n, w->residual[k], w->exact[k]);
            if (n == 7) vf_essential_make_singular(w->parallax, w->column[k], w->exact[k]);
        }
        VF_TEAM_SYNC();
    }
    VF_TEAM(k, count)
    {
        float u[9], rotated[9];
        for (int i = 0; i < 9; i++) u[i] = (float)w->exact[k][i];
        vf_essential_from_unknowns(w->parallax, u, rotated);
        vf_matrix_product(rotated, w->R, w->E[k]);
    }
    VF_TEAM_SYNC();
    return count;
}

/* ---- solutions --------------------------------------------------------------------------------------------------- */

/** Finds the combinations of the two null-space vectors whose matrix is singular, and writes these matrices of seven
 *  correspondences to w->E. Returns their number, at most 3. */
VF_FN int vf_essential_seven_solve(struct vf_essential_scratch *w, const float before[][3], const float now[][3])
{
    VF_TEAM(i, 9) w->null_space[2][i] = w->null_space[3][i] = 0.0f;
    VF_TEAM_SYNC();
    vf_essential_make_forms(w);
    VF_TEAM(m, 4)
    { /* coefficients of the determinant: monomials xxx yyy xxy xyy of the weights x, y of the two vectors */
        const struct vf_essential_forms *f = &w->u.forms;
        const struct vf_cubic_factors s = vf_cubic_factors_of(m);
        const float square = w->parallax * w->parallax;
        float inner = 0.0f, determinant = 0.0f;
        for (int i = 0; i < 3; i++) inner += vf_cubic_coefficient(&s, f->a[i], f->b[i]);
        for (int i = 0; i < 3; i++)
            determinant += vf_cubic_coefficient(&s, f->s[vf_symmetric_index(0, i)], f->cofactor[i]);
        w->residual[0][m] = inner + square * determinant;
    }
    VF_TEAM_SYNC();
    const float cubic[4] = {w->residual[0][1], w->residual[0][3], w->residual[0][2], w->residual[0][0]};
    float root[3][2];
    const int count = vf_cubic_roots(cubic, root);
    VF_TEAM_SYNC();
    VF_TEAM(k, count)
    {
        const float x = root[k][0], y = root[k][1], scale = 1.0f / sqrtf(x * x + y * y);
        for (int i = 0; i < 9; i++) {
            w->exact[k][i] = (double)(scale * (x * w->null_space[0][i] + y * w->null_space[1][i]));
            w->column[k][i] = scale * (x * w->null_space[1][i] - y * w->null_space[0][i]);
        }
    }
    VF_TEAM_SYNC();
    return vf_essential_refine(w, before, now, 7, count);
}

/** Writes the essential matrix of eight correspondences to w->E, from the null space of their constraints. Returns 1,
 *  the number of matrices. */
VF_FN int vf_essential_eight_solve(struct vf_essential_scratch *w, const float before[][3], const float now[][3])
{
    VF_TEAM(i, 9) w->exact[0][i] = (double)w->null_space[0][i];
    VF_TEAM_SYNC();
    return vf_essential_refine(w, before, now, 8, 1);
}

/** Finds the essential matrices of seven correspondences and writes them to w->E. Returns their number. */
VF_FN int vf_essential_seven(struct vf_essential_scratch *w, const float before[][3], const float now[][3])
{
    vf_essential_rows(w, before, now, 7);
    vf_essential_qr(w, 7);
    vf_essential_null_space(w, 7);
    return vf_essential_seven_solve(w, before, now);
}

/** Finds the essential matrix of eight correspondences and writes it to w->E. Returns 1, the number of matrices. */
VF_FN int vf_essential_eight(struct vf_essential_scratch *w, const float before[][3], const float now[][3])
{
    vf_essential_rows(w, before, now, 8);
    vf_essential_qr(w, 8);
    vf_essential_null_space(w, 8);
    return vf_essential_eight_solve(w, before, now);
}

#endif
