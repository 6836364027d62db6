/* SPDX-License-Identifier: MIT */
/* essential_five: essential matrices of five correspondences (Nister 2004), all real solutions.
 *
 * In      unit bearings of five correspondences in the previous and the current camera
 * Out     up to ten essential matrices
 * Rule    Null space of the linear constraints (essential.h); ten cubic equations in its unknowns; Gauss-Jordan
 *         elimination; polynomial of degree 10 and all its real roots (polynomial.h). Newton's method on the five
 *         constraints refines each solution (polish.h).
 * Exact   single precision in one order; elimination and polynomial in double
 * Shared  Host form and kernels share all of it, except the elimination with VFRONT_CUBLAS (essential.h). The host form
 *         of ego solves samples in batches (essential_batch.h).
 */
#ifndef VF_ESSENTIAL_FIVE_H
#define VF_ESSENTIAL_FIVE_H

#include "essential.h"
#include "polish.h"

#define VF_ESSENTIAL_NEWTON_STEPS 8 /* largest number of Newton steps that refine an essential matrix */

/* ---- cubic equations --------------------------------------------------------------------------------------------- */

/** Coefficients of cubic monomial m in the ten equations of the five-point solver. They state that [a]x + parallax S is
 *  an essential matrix. With b = S a, its cubic constraint has a symmetric part (six equations) and an antisymmetric
 *  part (three); the last equation uses the determinant:
 *    2 |a|^2 S - 2 (a b^T + b a^T) + tr S (a a^T - |a|^2) + (a b) + parallax^2 (S^3 - tr(S^2) S / 2) = 0
 *    2 S b - tr S b + (tr(S)^2 / 2 - tr(S^2)) a = 0
 *    det S + tr(S^3) - tr S tr(S^2) / 2 = 0 */
VF_FN void vf_essential_coefficients(const vf_cubic_forms *f, float parallax, int m, float equation[10])
{
    const vf_cubic_lookup s = vf_cubic_lookup_of(m);
    const float square = parallax * parallax, inner = vf_cubic_term(&s, f->a[0], f->b[0]) +
                                                      vf_cubic_term(&s, f->a[1], f->b[1]) +
                                                      vf_cubic_term(&s, f->a[2], f->b[2]);
    const float on_diagonal = inner - vf_cubic_term(&s, f->trace, f->norm_a);
    float cube = 0.0f, determinant = 0.0f;
    VF_PEEL_HOST
    for (int i = 0; i < 3; i++) {
        VF_PEEL_HOST
        for (int j = i; j < 3; j++) {
            const int e = vf_symmetric_index(i, j);
            float third = 0.0f;
            VF_PEEL_HOST
            for (int k = 0; k < 3; k++)
                third += vf_cubic_term(&s, f->s[vf_symmetric_index(j, k)], f->ss[vf_symmetric_index(i, k)]);
            cube += i == j ? third : 0.0f;
            third -= 0.5f * vf_cubic_term(&s, f->s[e], f->trace_ss);
            equation[e] = 2.0f * (vf_cubic_term(&s, f->s[e], f->norm_a) - vf_cubic_term(&s, f->a[i], f->b[j]) -
                                  vf_cubic_term(&s, f->a[j], f->b[i])) +
                          vf_cubic_term(&s, f->trace, f->aa[e]) + (i == j ? on_diagonal : 0.0f) + square * third;
        }
    }
    VF_PEEL_HOST
    for (int i = 0; i < 3; i++) {
        float twice = 0.0f;
        VF_PEEL_HOST
        for (int k = 0; k < 3; k++) twice += vf_cubic_term(&s, f->s[vf_symmetric_index(i, k)], f->b[k]);
        equation[6 + i] = 2.0f * twice - vf_cubic_term(&s, f->trace, f->b[i]) +
                          vf_cubic_term(&s, f->a[i], f->trace_gap);
        determinant += vf_cubic_term(&s, f->s[vf_symmetric_index(0, i)], f->cofactor[i]);
    }
    equation[9] = determinant + cube - 0.5f * vf_cubic_term(&s, f->trace, f->trace_ss);
}

/** Gauss-Jordan elimination with partial pivoting of the ten cubic equations, from w->column to w->exact. Monomials 0
 *  to 3 are eliminated only from the equations below their pivot, because only equations 4 to 9 are used. In double
 *  precision, because rounding errors grow most here. */
VF_FN void vf_essential_eliminate(struct vf_essential_scratch *w)
{
    VF_TEAM(c, 20)
    for (int r = 0; r < 10; r++) w->exact[c][r] = (double)w->column[c][r];
    VF_TEAM_SYNC();
    VF_NO_UNROLL
    for (int k = 0; k < 10; k++) {
        const double head = w->exact[k][k];
        double pivots[10], pivot = head;
        int p = k;
        for (int r = 0; r < 10; r++) pivots[r] = w->exact[k][r];
        for (int r = 1; r < 10; r++) {
            const int larger = (r > k) & (fabs(pivots[r]) > fabs(pivot));
            p = larger ? r : p;
            pivot = larger ? pivots[r] : pivot;
        }
        for (int r = 0; r < 10; r++) pivots[r] = r == p ? head : r < k && r < 4 ? 0.0 : pivots[r];
        const double inverse = 1.0 / pivot;
        VF_TEAM(c, 19 - k)
        {
            double *column = w->exact[k + 1 + c];
            const double first = column[k], top = column[p] * inverse;
#ifdef __CUDA_ARCH__
            for (int r = 0; r < 10; r++) {
                const double element = r == p ? first : column[r];
                column[r] = r == k ? top : element - pivots[r] * top;
            }
#else /* host: vectorised; on a GPU the loads of this loop would wait for the store before it */
            column[p] = first;
            for (int r = 0; r < 10; r++) column[r] -= pivots[r] * top;
            column[k] = top;
#endif
        }
        VF_TEAM_SYNC();
    }
}

/** Writes the coefficients of the ten cubic equations to w->column, from the null-space vectors. */
VF_FN void vf_essential_equations(struct vf_essential_scratch *w)
{
    vf_essential_make_forms(w);
#ifdef __CUDA_ARCH__
    VF_TEAM(m, 20) vf_essential_coefficients(&w->u.forms, w->parallax, m, w->column[m]);
    VF_TEAM_SYNC();
#else
    vf_cubic_forms forms;
    float equation[10][20];
    vf_cubic_order(&w->u.forms, &forms);
    VF_TEAM(m, 20)
    {
        float of_monomial[10];
        vf_essential_coefficients(&forms, w->parallax, m, of_monomial);
        VF_UNROLL_FULL
        for (int r = 0; r < 10; r++) equation[r][m] = of_monomial[r];
    }
    for (int m = 0; m < 20; m++)
        for (int r = 0; r < 10; r++) w->column[m][r] = equation[r][m];
#endif
}

/** Loads the equations that cuBLAS has eliminated: x, their last ten columns, when the first ten are the identity.
 *  Replaces vf_essential_eliminate(). */
VF_FN void vf_essential_load_eliminated(struct vf_essential_scratch *w, const float *x)
{
    VF_TEAM(c, 10)
    for (int r = 0; r < 10; r++) w->exact[10 + c][r] = (double)x[10 * c + r];
    VF_TEAM_SYNC();
}

/* ---- polynomial of degree 10 ------------------------------------------------------------------------------------- */

/** Computes a 3x3 matrix of polynomials in z from equations 4 to 9 (rows k, l, m of Nister 2004), and its determinant,
 *  of degree 10. */
VF_FN void vf_essential_resultant(struct vf_essential_scratch *w)
{
    struct vf_essential_roots *u = &w->u.roots;
    VF_TEAM(task, 9)
    {
        const int r = task / 3, v = task % 3, upper = 4 + 2 * r, lower = upper + 1, count = v < 2 ? 3 : 4;
        double *b = u->b[r][v];
        for (int i = 0; i <= count; i++) {
            const double first = i < count ? w->exact[9 + 3 * v + count - i][upper] : 0.0;
            const double second = i > 0 ? w->exact[9 + 3 * v + count - i + 1][lower] : 0.0;
            b[i] = first - second;
        }
        if (count == 3) b[4] = 0.0;
    }
    VF_TEAM_SYNC();
    VF_TEAM(task, 21)
    {
        const int r = task / 7, m = task % 7, s = (r + 1) % 3, t = (r + 2) % 3;
        double sum = 0.0;
        for (int i = m < 3 ? 0 : m - 3; i <= 3 && i <= m; i++)
            sum += u->b[s][0][i] * u->b[t][1][m - i] - u->b[s][1][i] * u->b[t][0][m - i];
        u->minor[r][m] = sum;
    }
    VF_TEAM_SYNC();
    VF_TEAM(m, 11)
    {
        double sum = 0.0;
        for (int r = 0; r < 3; r++)
            for (int i = m < 4 ? 0 : m - 4; i <= 6 && i <= m; i++) sum += u->minor[r][i] * u->b[r][2][m - i];
        u->polynomial.c[m] = sum;
    }
    VF_TEAM_SYNC();
    float largest = 0.0f;
    for (int m = 0; m < 11; m++) {
        const float magnitude = fabsf((float)u->polynomial.c[m]);
        largest = magnitude > largest ? magnitude : largest;
    }
    VF_TEAM_SYNC();
    VF_TEAM(m, 11) u->polynomial.c[m] *= (double)(1.0f / largest);
    VF_TEAM_SYNC();
}

/** Essential matrix [a]x + parallax S of the aligned bearings, for a root z = root[0] / root[1] of the polynomial. */
VF_FN void vf_essential_from_root(const struct vf_essential_scratch *w, const float root[2], float E[9])
{
    const float x = root[0], y = root[1];
    float m[3][3], best[3] = {0.0f, 0.0f, 0.0f}, largest = 0.0f, u[9];
    const float y2 = y * y, x2 = x * x;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            const double *exact = w->u.roots.b[r][c];
            const float b[5] = {(float)exact[0], (float)exact[1], (float)exact[2], (float)exact[3], (float)exact[4]};
            const float low = b[0] * y + b[1] * x, high = b[2] * y + b[3] * x;
            m[r][c] = c < 2 ? low * y2 + high * x2
                            : (b[0] * y2 + b[1] * x * y) * y2 + (b[2] * y2 + b[3] * x * y + b[4] * x2) * x2;
        }
    for (int r = 0; r < 3; r++) {
        float c[3];
        vf_cross(m[r], m[(r + 1) % 3], c);
        const float square = vf_dot(c, c);
        for (int k = 0; k < 3; k++) best[k] = square > largest ? c[k] : best[k];
        largest = square > largest ? square : largest;
    }
    for (int k = 0; k < 9; k++)
        u[k] = best[0] * w->null_space[0][k] + best[1] * w->null_space[1][k] +
               best[2] * (x * w->null_space[2][k] + y * w->null_space[3][k]);
    vf_essential_from_unknowns(w->parallax, u, E);
}

/* ---- solutions --------------------------------------------------------------------------------------------------- */

/** Refines an essential matrix by Newton's method. E: in, for the aligned bearings; out, for the five original
 *  correspondences. align: rotation that aligned the bearings. Returns 1 if it converged. */
VF_FN int vf_essential_polish(const float align[9], const float before[][3], const float now[][3], float E[9])
{
    float R[2][9], t[3], rotation[9];
    struct vf_polish m;
    float step_squared = 1.0f;
    vf_essential_decompose(E, R, t);
    vf_matrix_product(R[0], align, rotation);
    vf_polish_from_pose(&m, rotation, t);
    VF_NO_UNROLL
    for (int k = 0; k < VF_ESSENTIAL_NEWTON_STEPS && !(step_squared < 1e-10f); k++)
        step_squared = vf_polish_step(&m, before, now);
    vf_polish_rotation(m.q, rotation);
    for (int k = 0; k < 3; k++) {
        E[k] = m.t[1] * rotation[6 + k] - m.t[2] * rotation[3 + k];
        E[3 + k] = m.t[2] * rotation[k] - m.t[0] * rotation[6 + k];
        E[6 + k] = m.t[0] * rotation[3 + k] - m.t[1] * rotation[k];
    }
    return step_squared < 1e-6f;
}

/** Solves the eliminated equations of five correspondences and writes the essential matrices to w->E. Returns their
 *  number. */
VF_FN int vf_essential_five_solve(struct vf_essential_scratch *w, const float before[][3], const float now[][3])
{
    vf_essential_resultant(w);
    vf_polynomial_roots(&w->u.roots.polynomial, 10);
    VF_TEAM(k, VF_ESSENTIAL_SOLUTIONS)
    { /* item k of the team: real root number k of the polynomial */
        int skip = k, at = -1;
        for (int i = 0; i < 20; i++) {
            const float *root = w->u.roots.polynomial.root[i];
            if (root[0] == 0.0f && root[1] == 0.0f) continue;
            if (skip == 0) at = i;
            skip--;
        }
        w->valid[k] = 0;
        if (at < 0) continue;
        float E[9];
        vf_essential_from_root(w, w->u.roots.polynomial.root[at], E);
        w->valid[k] = vf_essential_polish(w->R, before, now, E);
        for (int i = 0; i < 9; i++) w->column[k][i] = E[i];
    }
    VF_TEAM_SYNC();
    int count = 0;
    for (int k = 0; k < VF_ESSENTIAL_SOLUTIONS; k++) {
        if (!w->valid[k]) continue;
        VF_TEAM(i, 9) w->E[count][i] = w->column[k][i];
        count++;
    }
    VF_TEAM_SYNC();
    return count;
}

/** Writes the essential matrices of five correspondences to w->E. Returns their number. */
VF_FN int vf_essential_five(struct vf_essential_scratch *w, const float before[][3], const float now[][3])
{
    vf_essential_rows(w, before, now, 5);
    vf_essential_qr(w, 5);
    vf_essential_null_space(w, 5);
    vf_essential_equations(w);
    vf_essential_eliminate(w);
    return vf_essential_five_solve(w, before, now);
}

#endif
