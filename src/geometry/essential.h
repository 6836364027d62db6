/* SPDX-License-Identifier: MIT */
/* essential: essential matrices from five, seven or eight pairs of bearings, and the pose that one means.
 *
 * In      unit vectors to the same points, before and now
 * Out     every E with now^T E before = 0: up to ten of five pairs, three of seven, one of eight; of each the pose that has all pairs in front
 * Rule    bearings before are first turned to lie as close to those now as one rotation can bring them. What is left is small, and E is an
 *         antisymmetric matrix plus a symmetric one as small: E = A + parallax S. In a and S as unknowns the linear equations are as good for
 *         points seen from nearly the same place as for others, where in the nine elements of E single precision finds little any more.
 *         Five pairs: the null space by Householder reflections, ten cubic equations, Gauss-Jordan elimination and the polynomial of degree 10
 *         after Nister (2004), all roots of it (polynomial.h), then Newton's method on the five equations themselves (polish.h).
 *         Seven: a cubic by Cardano's formula; eight: linear; both refined from residuals. Both may leave E only nearly essential: the
 *         pose is then that of the essential matrix nearest to it
 * Exact   single precision in one order but for what is lost there and not found again: how far bearings are apart, the elimination, the
 *         polynomial of degree 10, and residuals, which are double. Of 100,000 problems tests/geometry/essential.c finds all solutions to 1e-5 in
 *         99.98 % of five points 2 to 10 away after a way of up to 1, 99.96 % of up to 0.1 and 99.92 % of up to 0.03; in 99.97 % and more of
 *         seven and eight. With double precision everywhere it is 100.00, 99.99 and 100.00 % of five
 * Memory  a team's work is 8 kB
 */
#ifndef VF_ESSENTIAL_H
#define VF_ESSENTIAL_H

#include "polish.h"
#include "math/polynomial.h"

#define VF_PAIRS 8           /* at most */
#define VF_ESSENTIALS 10     /* at most */
#define VF_ESSENTIAL_STEPS 8 /* of Newton's method on each of five points, at most */
#define VF_ALIGN_STEPS 3
#define VF_ESSENTIAL_ROUNDS 2 /* of refinement of those of seven and eight */

/** A linear form of the four unknowns, and an entry that stays 0. */
typedef float vf_linear[5];
/** A quadratic form of the four unknowns: coefficients of 00 01 02 03 11 12 13 22 23 33. */
typedef float vf_quadratic[10];

struct vf_essential_forms {
    vf_linear a[3], s[6],
        trace;                 /* antisymmetric part as a vector; symmetric part: diagonal, then 01 12 20; its trace */
    vf_quadratic aa[6], ss[6]; /* a a^T and S S, likewise */
    vf_quadratic b[3], minor[3];       /* S a; cofactors of the first row of S */
    vf_quadratic length, square, pull; /* |a|^2, trace of S S, half the trace of S squared less that */
};

struct vf_essential_roots {
    double b[3][3][5]; /* polynomials of z; the unknowns x, y, 1 are in the null space of the matrix */
    double minor[3][7];
    struct vf_polynomial_work polynomial;
};

struct vf_essential_work {
    float E[VF_ESSENTIALS][9]; /* out */
    int32_t good[VF_ESSENTIALS];
    float R[9];                /* rotation that takes bearings before close to those now */
    float parallax;            /* how close */
    float turned[VF_PAIRS][3]; /* bearings before, so rotated */
    float row[VF_PAIRS][9];
    float inverse[VF_PAIRS]; /* of reflections */
    float corner[VF_PAIRS];  /* on the diagonal of what reflections leave, which is triangular */
    float null[4][9];
    float column[20][11]; /* of the ten equations; then solutions */
    double exact[20][11]; /* of the ten equations as they are eliminated */
    float residual[3][VF_PAIRS];
    union {
        struct vf_essential_forms forms;
        struct vf_essential_roots roots;
    } u;
};

/* ---- equations --------------------------------------------------------------------------------------------------- */

/** The rotation, a few times the best small one. */
VF_FN void vf_essential_align(struct vf_essential_work *w, const float before[][3], const float now[][3], int n)
{
    float R[9];
    for (int k = 0; k < 9; k++) R[k] = k % 4 == 0 ? 1.0f : 0.0f;
    for (int step = 0; step < VF_ALIGN_STEPS; step++) {
        VF_TEAM(i, n)
        {
            vf_transform(R, before[i], w->turned[i]);
            vf_cross(w->turned[i], now[i], w->row[i]);
        }
        VF_TEAM_SYNC();
        float g[3] = {0.0f, 0.0f, 0.0f}, xx = 0.0f, xy = 0.0f, xz = 0.0f, yy = 0.0f, yz = 0.0f, zz = 0.0f;
        for (int i = 0; i < n; i++) {
            const float *p = w->turned[i];
            for (int k = 0; k < 3; k++) g[k] += w->row[i][k];
            xx += 1.001f - p[0] * p[0];
            yy += 1.001f - p[1] * p[1];
            zz += 1.001f - p[2] * p[2];
            xy -= p[0] * p[1];
            xz -= p[0] * p[2];
            yz -= p[1] * p[2];
        }
        const float c0[3] = {yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy};
        const float c1[3] = {c0[1], xx * zz - xz * xz, xy * xz - xx * yz}, c2[3] = {c0[2], c1[2], xx * yy - xy * xy};
        const float scale = 1.0f / (xx * c0[0] + xy * c0[1] + xz * c0[2]);
        const float turn[3] = {scale * vf_dot(c0, g), scale * vf_dot(c1, g), scale * vf_dot(c2, g)};
        vf_pose_turn(R, turn);
        VF_TEAM_SYNC();
    }
    VF_TEAM(k, 9) w->R[k] = R[k];
}

/** Rows of the linear equations, in the scaled unknowns: E = ([a]x + parallax S) R. */
VF_FN void vf_essential_rows(struct vf_essential_work *w, const float before[][3], const float now[][3], int n)
{
    vf_essential_align(w, before, now, n);
    VF_TEAM_SYNC();
    VF_TEAM(i, n)
    {
        float *f = w->turned[i], *row = w->row[i], apart[3];
        const float *g = now[i], *h = before[i];
        for (int k = 0; k < 3; k++) { /* what is left is small: in single precision it would have lost digits */
            const float *R = w->R + 3 * k;
            const double turned = (double)R[0] * (double)h[0] + (double)R[1] * (double)h[1] +
                                  (double)R[2] * (double)h[2];
            f[k] = (float)turned;
            apart[k] = (float)((double)g[k] - turned);
        }
        vf_cross(f, apart, row);
        for (int k = 0; k < 3; k++) {
            const int l = (k + 1) % 3;
            row[3 + k] = f[k] * g[k];
            row[6 + k] = f[k] * g[l] + f[l] * g[k];
        }
    }
    VF_TEAM_SYNC();
    float sum = 0.0f;
    for (int i = 0; i < n; i++) sum += vf_dot(w->row[i], w->row[i]);
    const float parallax = sqrtf(sum / (float)n);
    VF_TEAM_SYNC();
    VF_TEAM(i, n)
    {
        for (int k = 0; k < 3; k++) w->row[i][k] = w->row[i][k] / parallax;
        if (i == 0) w->parallax = parallax;
    }
    VF_TEAM_SYNC();
}

/** The product of all reflections, and a vector. */
VF_FN void vf_essential_reflect(const struct vf_essential_work *w, int n, float v[9])
{
    for (int k = n - 1; k >= 0; k--) {
        float along = 0.0f;
        for (int j = k; j < 9; j++) along += w->row[k][j] * v[j];
        along *= w->inverse[k];
        for (int j = k; j < 9; j++) v[j] -= along * w->row[k][j];
    }
}

/** Makes the rows triangular by Householder reflections. */
VF_FN void vf_essential_reduce(struct vf_essential_work *w, int n)
{
    VF_ROLL
    for (int k = 0; k < n; k++) {
        float v[9], square = 0.0f; /* what is left of row k, and zeros before it */
        for (int j = 0; j < 9; j++) v[j] = j >= k ? w->row[k][j] : 0.0f;
        for (int j = 0; j < 9; j++) square += v[j] * v[j];
        const float head = w->row[k][k], length = head > 0.0f ? -sqrtf(square) : sqrtf(square);
        const float inverse = 1.0f / (length * (length - head)); /* of half the square of the reflection's vector */
        for (int j = 0; j < 9; j++) v[j] = j == k ? head - length : v[j];
        VF_TEAM_SYNC();
        VF_TEAM(i, n - k)
        {
            float *other = w->row[k + i], along = 0.0f;
            if (i == 0) {
                other[k] = head - length;
                w->inverse[k] = inverse;
                w->corner[k] = length;
                continue;
            }
            for (int j = 0; j < 9; j++) along += v[j] * other[j];
            along *= inverse;
            for (int j = 0; j < 9; j++) other[j] -= along * v[j];
        }
        VF_TEAM_SYNC();
    }
}

/** The same from elsewhere: a QR decomposition of the rows as columns, the way LAPACK's geqrf leaves one. */
VF_FN void vf_essential_take_reflections(struct vf_essential_work *w, int n, const float *a, const float *tau)
{
    VF_TEAM(i, n)
    {
        for (int j = 0; j < 9; j++) w->row[i][j] = i == j ? 1.0f : a[9 * i + j];
        w->inverse[i] = tau[i];
        w->corner[i] = a[9 * i + i];
    }
    VF_TEAM_SYNC();
}

/** Null space of the rows, after that: 9 - n vectors, orthonormal. */
VF_FN void vf_essential_null(struct vf_essential_work *w, int n)
{
    VF_TEAM(i, 9 - n)
    {
        float v[9];
        for (int j = 0; j < 9; j++) v[j] = j == n + i ? 1.0f : 0.0f;
        vf_essential_reflect(w, n, v);
        for (int j = 0; j < 9; j++) w->null[i][j] = v[j];
    }
    VF_TEAM_SYNC();
}

/* ---- five points: cubic equations -------------------------------------------------------------------------------- */

/** Where element (i, j) of a symmetric matrix stands. */
VF_FN int vf_symmetric(int i, int j) { return i == j ? i : (i + 1) % 3 == j ? 3 + i : 3 + j; }

/** The unknowns of a monomial, the lesser first, two bits each. Cubic monomials stand in Nister's order (2004, section 3.2.3):
 *  x3 y3 x2y xy2 x2z x2 y2z y2 xyz xy, xz2 xz x yz2 yz y z3 z2 z 1. */
VF_FN int vf_monomial2(int m) { return (int)(0xfead95c840ull >> 4 * m) & 15; }
VF_FN int vf_monomial3(int m)
{
    return (int)((m < 10 ? 0xd24d65c20510540ull : 0xffeeaaf79a7ce28ull) >> 6 * (m % 10)) & 63;
}

/** Coefficient of a monomial in a product of two linear forms. */
VF_FN float vf_product2(const float u[5], const float v[5], int i, int j)
{
    return i == j ? u[i] * v[i] : u[i] * v[j] + u[j] * v[i];
}

/** A cubic monomial as products of a linear and a quadratic one: there are three, two or one; those that are not have unknown 4. */
struct vf_split {
    int linear[3], quadratic[3];
};
VF_FN struct vf_split vf_split(int m)
{
    const int of = vf_monomial3(m), p = of & 3, q = of >> 2 & 3, r = of >> 4, base_p = p * (9 - p) / 2 - p,
              base_q = q * (9 - q) / 2 - q;
    struct vf_split s;
    s.linear[0] = p;
    s.linear[1] = q == p ? 4 : q;
    s.linear[2] = r == q ? 4 : r;
    s.quadratic[0] = base_q + r;
    s.quadratic[1] = base_p + r;
    s.quadratic[2] = base_p + q;
    return s;
}

/** Coefficient of a cubic monomial in a product of a linear and a quadratic form. */
VF_FN float vf_product3(const struct vf_split *s, const float u[5], const float v[10])
{
    return u[s->linear[0]] * v[s->quadratic[0]] + u[s->linear[1]] * v[s->quadratic[1]] +
           u[s->linear[2]] * v[s->quadratic[2]];
}

/** The linear and the quadratic forms. */
VF_FN void vf_essential_forms(struct vf_essential_work *w)
{
    struct vf_essential_forms *f = &w->u.forms;
    VF_TEAM(i, 5)
    {
        const float *null = w->null[i < 4 ? i : 0];
        for (int k = 0; k < 3; k++) f->a[k][i] = i < 4 ? null[k] : 0.0f;
        for (int k = 0; k < 6; k++) f->s[k][i] = i < 4 ? null[3 + k] : 0.0f;
        f->trace[i] = i < 4 ? null[3] + null[4] + null[5] : 0.0f;
    }
    VF_TEAM_SYNC();
    VF_TEAM(task, 30)
    {
        const int m = task % 10, i = vf_monomial2(m) & 3, j = vf_monomial2(m) >> 2, g = task / 10, h = (g + 1) % 3,
                  l = (g + 2) % 3;
        const float *gg = f->s[g], *hh = f->s[h], *gh = f->s[3 + g], *hl = f->s[3 + h], *lg = f->s[3 + l];
        f->aa[g][m] = vf_product2(f->a[g], f->a[g], i, j);
        f->aa[3 + g][m] = vf_product2(f->a[g], f->a[h], i, j);
        f->ss[g][m] = vf_product2(gg, gg, i, j) + vf_product2(gh, gh, i, j) + vf_product2(lg, lg, i, j);
        f->ss[3 + g][m] = vf_product2(gg, gh, i, j) + vf_product2(gh, hh, i, j) + vf_product2(lg, hl, i, j);
        f->b[g][m] = vf_product2(gg, f->a[g], i, j) + vf_product2(gh, f->a[h], i, j) + vf_product2(lg, f->a[l], i, j);
        f->minor[g][m] = vf_product2(f->s[vf_symmetric(1, h)], f->s[vf_symmetric(2, l)], i, j) -
                         vf_product2(f->s[vf_symmetric(1, l)], f->s[vf_symmetric(2, h)], i, j);
    }
    VF_TEAM_SYNC();
    VF_TEAM(m, 10)
    {
        const int i = vf_monomial2(m) & 3, j = vf_monomial2(m) >> 2;
        f->length[m] = f->aa[0][m] + f->aa[1][m] + f->aa[2][m];
        f->square[m] = f->ss[0][m] + f->ss[1][m] + f->ss[2][m];
        f->pull[m] = 0.5f * vf_product2(f->trace, f->trace, i, j) - f->square[m];
    }
    VF_TEAM_SYNC();
}

/** Coefficients of one monomial in the ten equations. With A = [a]x and b = S a, what makes A + parallax S essential comes apart into a
 *  symmetric part, an antisymmetric one, and one without a; no term of it is small beside the others but those with parallax^2:
 *    2 |a|^2 S - 2 (a b^T + b a^T) + tr S (a a^T - |a|^2) + (a b) + parallax^2 (S^3 - tr(S^2) S / 2) = 0
 *    2 S b - tr S b + (tr(S)^2 / 2 - tr(S^2)) a = 0
 *    det S + tr(S^3) - tr S tr(S^2) / 2 = 0 */
VF_FN void vf_essential_monomial(const struct vf_essential_forms *f, float parallax, int m, float equation[11])
{
    const struct vf_split s = vf_split(m);
    const float square = parallax * parallax, inner = vf_product3(&s, f->a[0], f->b[0]) +
                                                      vf_product3(&s, f->a[1], f->b[1]) +
                                                      vf_product3(&s, f->a[2], f->b[2]);
    const float on_diagonal = inner - vf_product3(&s, f->trace, f->length);
    float cube = 0.0f, determinant = 0.0f;
    for (int i = 0; i < 3; i++)
        for (int j = i; j < 3; j++) {
            const int e = vf_symmetric(i, j);
            float third = 0.0f;
            for (int k = 0; k < 3; k++) third += vf_product3(&s, f->s[vf_symmetric(j, k)], f->ss[vf_symmetric(i, k)]);
            cube += i == j ? third : 0.0f;
            third -= 0.5f * vf_product3(&s, f->s[e], f->square);
            equation[e] = 2.0f * (vf_product3(&s, f->s[e], f->length) - vf_product3(&s, f->a[i], f->b[j]) -
                                  vf_product3(&s, f->a[j], f->b[i])) +
                          vf_product3(&s, f->trace, f->aa[e]) + (i == j ? on_diagonal : 0.0f) + square * third;
        }
    for (int i = 0; i < 3; i++) {
        float twice = 0.0f;
        for (int k = 0; k < 3; k++) twice += vf_product3(&s, f->s[vf_symmetric(i, k)], f->b[k]);
        equation[6 + i] = 2.0f * twice - vf_product3(&s, f->trace, f->b[i]) + vf_product3(&s, f->a[i], f->pull);
        determinant += vf_product3(&s, f->s[vf_symmetric(0, i)], f->minor[i]);
    }
    equation[9] = determinant + cube - 0.5f * vf_product3(&s, f->trace, f->square);
}

/** Gauss-Jordan elimination with the greatest pivot of each column. The first four monomials are only swept from the equations below theirs,
 *  which is all that the other six equations need. In double precision: what single precision rounds off on the way grows most here. */
VF_FN void vf_essential_eliminate(struct vf_essential_work *w)
{
    VF_TEAM(c, 20)
    for (int r = 0; r < 10; r++) w->exact[c][r] = (double)w->column[c][r];
    VF_TEAM_SYNC();
    VF_ROLL
    for (int k = 0; k < 10; k++) {
        const double head = w->exact[k][k];
        double pivots[10], pivot = head;
        int p = k;
        for (int r = 0; r < 10; r++) pivots[r] = w->exact[k][r];
        for (int r = 1; r < 10; r++) {
            const int more = (r > k) & (fabs(pivots[r]) > fabs(pivot));
            p = more ? r : p;
            pivot = more ? pivots[r] : pivot;
        }
        for (int r = 0; r < 10; r++) pivots[r] = r == p ? head : r < k && r < 4 ? 0.0 : pivots[r];
        const double inverse = 1.0 / pivot;
        VF_TEAM(c, 19 - k)
        {
            double *column = w->exact[k + 1 + c];
            const double first = column[k], top = column[p] * inverse;
            for (int r = 0; r < 10; r++) {
                const double left = r == p ? first : column[r];
                column[r] = r == k ? top : left - pivots[r] * top;
            }
        }
        VF_TEAM_SYNC();
    }
}

/** The same from elsewhere: the last ten columns, as the first ten are made the identity. */
VF_FN void vf_essential_take_columns(struct vf_essential_work *w, const float *x)
{
    VF_TEAM(c, 10)
    for (int r = 0; r < 10; r++) w->exact[10 + c][r] = (double)x[10 * c + r];
    VF_TEAM_SYNC();
}

/** Polynomials of z from the last six equations (Nister's k, l, m), and their determinant, of degree 10. */
VF_FN void vf_essential_polynomial(struct vf_essential_work *w)
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
    float most = 0.0f;
    for (int m = 0; m < 11; m++) {
        const float size = fabsf((float)u->polynomial.c[m]);
        most = size > most ? size : most;
    }
    VF_TEAM_SYNC();
    VF_TEAM(m, 11) u->polynomial.c[m] *= (double)(1.0f / most);
    VF_TEAM_SYNC();
}

/** A matrix in the scaled unknowns, antisymmetric part and then the symmetric one, as the camera sees turned bearings. */
VF_FN void vf_essential_of(float parallax, const float u[9], float E[9])
{
    const float e = parallax;
    const float all[9] = {e * u[3],        e * u[6] - u[2], e * u[8] + u[1], e * u[6] + u[2], e * u[4],
                          e * u[7] - u[0], e * u[8] - u[1], e * u[7] + u[0], e * u[5]};
    for (int k = 0; k < 9; k++) E[k] = all[k];
}

/** The essential matrix of a root, as the camera sees the turned bearings: A + parallax S. */
VF_FN void vf_essential_of_root(const struct vf_essential_work *w, const float root[2], float E[9])
{
    const float x = root[0], y = root[1];
    float m[3][3], best[3] = {0.0f, 0.0f, 0.0f}, most = 0.0f, u[9];
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
        for (int k = 0; k < 3; k++) best[k] = square > most ? c[k] : best[k];
        most = square > most ? square : most;
    }
    for (int k = 0; k < 9; k++)
        u[k] = best[0] * w->null[0][k] + best[1] * w->null[1][k] + best[2] * (x * w->null[2][k] + y * w->null[3][k]);
    vf_essential_of(w->parallax, u, E);
}

/* ---- decomposition ----------------------------------------------------------------------------------------------- */

/** The greatest cross product of two columns (step 3) or rows (step 1) of a matrix, as a unit vector. */
VF_FN void vf_essential_kernel(const float E[9], int step, float out[3])
{
    const int other = 4 - step;
    float most = 0.0f, best[3] = {0.0f, 0.0f, 0.0f};
    for (int i = 0; i < 3; i++) {
        const int a = i * other, b = (i + 1) % 3 * other;
        const float u[3] = {E[a], E[a + step], E[a + 2 * step]}, v[3] = {E[b], E[b + step], E[b + 2 * step]};
        float c[3];
        vf_cross(u, v, c);
        const float square = vf_dot(c, c);
        for (int k = 0; k < 3; k++) best[k] = square > most ? c[k] : best[k];
        most = square > most ? square : most;
    }
    for (int k = 0; k < 3; k++) out[k] = best[k];
    vf_pose_unit(out);
}

/** Two unit vectors that make a right-handed system with one: a x b = v. */
VF_FN void vf_essential_plane(const float v[3], float a[3], float b[3])
{
    const float x = fabsf(v[0]), y = fabsf(v[1]), z = fabsf(v[2]);
    const float axis[3] = {x <= y && x <= z ? 1.0f : 0.0f, y < x && y <= z ? 1.0f : 0.0f, z < x && z < y ? 1.0f : 0.0f};
    vf_cross(v, axis, a);
    vf_pose_unit(a);
    vf_cross(v, a, b);
}

/** Two rotations and a unit vector with [t]x R nearest to a matrix that is essential, or nearly so. What a decomposition into singular values
 *  would give, without one: t and v are its left and right null vectors (Nister 2004, appendix B); between the planes across them it is a
 *  2x2 matrix, whose rotation has a closed form. */
VF_FN void vf_essential_decompose(const float E[9], float R[2][9], float t[3])
{
    float v[3], va[3], vb[3], ua[3], ub[3], ea[3], eb[3];
    vf_essential_kernel(E, 3, t);
    vf_essential_kernel(E, 1, v);
    vf_essential_plane(v, va, vb);
    vf_essential_plane(t, ua, ub);
    vf_transform(E, va, ea);
    vf_transform(E, vb, eb);
    float aa = vf_dot(ua, ea), ab = vf_dot(ua, eb), ba = vf_dot(ub, ea), bb = vf_dot(ub, eb);
    const float flip = aa * bb - ab * ba < 0.0f ? -1.0f : 1.0f;
    ba *= flip;
    bb *= flip;
    for (int k = 0; k < 3; k++) {
        t[k] *= flip;
        ub[k] *= flip;
    }
    const float c = aa + bb, s = ba - ab, length = sqrtf(c * c + s * s), cosine = c / length, sine = s / length;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) { /* [t]x turns ua to ub and ub to -ua: what it has to turn is a quarter behind */
            const float plane = sine * (ua[i] * va[j] + ub[i] * vb[j]) + cosine * (ua[i] * vb[j] - ub[i] * va[j]);
            R[0][3 * i + j] = t[i] * v[j] + plane;
            R[1][3 * i + j] = t[i] * v[j] - plane;
        }
}

/* ---- five points: polish ----------------------------------------------------------------------------------------- */

/** Makes of a matrix, as the camera sees turned bearings, the essential matrix near it that fits five pairs of bearings as they came. Returns
 *  whether there is one. */
VF_FN int vf_essential_polish(const float turn[9], const float before[][3], const float now[][3], float E[9])
{
    float R[2][9], t[3], whole[9];
    struct vf_polish m;
    float last = 1.0f;
    vf_essential_decompose(E, R, t);
    vf_product(R[0], turn, whole);
    vf_polish_of(&m, whole, t);
    VF_ROLL
    for (int k = 0; k < VF_ESSENTIAL_STEPS && !(last < 1e-10f); k++) last = vf_polish_step(&m, before, now);
    vf_polish_rotation(m.q, whole);
    for (int k = 0; k < 3; k++) {
        E[k] = m.t[1] * whole[6 + k] - m.t[2] * whole[3 + k];
        E[3 + k] = m.t[2] * whole[k] - m.t[0] * whole[6 + k];
        E[6 + k] = m.t[0] * whole[3 + k] - m.t[1] * whole[k];
    }
    return last < 1e-6f;
}

/* ---- five, seven and eight points -------------------------------------------------------------------------------- */

/** The ten equations of five points, from the null space. */
VF_FN void vf_essential_equations(struct vf_essential_work *w)
{
    vf_essential_forms(w);
    VF_TEAM(m, 20) vf_essential_monomial(&w->u.forms, w->parallax, m, w->column[m]);
    VF_TEAM_SYNC();
}

/** Essential matrices that five pairs of bearings fit, from what elimination leaves of the last ten columns. Returns how many. */
VF_FN int vf_essential_five_of(struct vf_essential_work *w, const float before[][3], const float now[][3])
{
    vf_essential_polynomial(w);
    vf_polynomial_roots(&w->u.roots.polynomial, 10);
    VF_TEAM(k, VF_ESSENTIALS)
    { /* root k of those found */
        int left = k, at = -1;
        for (int i = 0; i < 20; i++) {
            const float *root = w->u.roots.polynomial.root[i];
            if (root[0] == 0.0f && root[1] == 0.0f) continue;
            if (left == 0) at = i;
            left--;
        }
        w->good[k] = 0;
        if (at < 0) continue;
        float E[9];
        vf_essential_of_root(w, w->u.roots.polynomial.root[at], E);
        w->good[k] = vf_essential_polish(w->R, before, now, E);
        for (int i = 0; i < 9; i++) w->column[k][i] = E[i];
    }
    VF_TEAM_SYNC();
    int count = 0;
    for (int k = 0; k < VF_ESSENTIALS; k++) {
        if (!w->good[k]) continue;
        VF_TEAM(i, 9) w->E[count][i] = w->column[k][i];
        count++;
    }
    VF_TEAM_SYNC();
    return count;
}

/** The same in double precision. */
VF_FN void vf_essential_exact(float parallax, const double u[9], double E[9])
{
    const double e = (double)parallax, xy = e * u[6], yz = e * u[7], zx = e * u[8];
    const double all[9] = {e * u[3],  xy - u[2], zx + u[1], xy + u[2], e * u[4],
                           yz - u[0], zx - u[1], yz + u[0], e * u[5]};
    for (int k = 0; k < 9; k++) E[k] = all[k];
}

/** What it leaves of the equation of one pair of bearings as they came. */
VF_FN float vf_essential_residual(const struct vf_essential_work *w, const double u[9], const float before[3],
                                  const float now[3])
{
    double E[9], f[3], sum = 0.0;
    vf_essential_exact(w->parallax, u, E);
    for (int k = 0; k < 3; k++)
        f[k] = (double)w->R[3 * k] * (double)before[0] + (double)w->R[3 * k + 1] * (double)before[1] +
               (double)w->R[3 * k + 2] * (double)before[2];
    for (int k = 0; k < 3; k++) sum += (double)now[k] * (E[3 * k] * f[0] + E[3 * k + 1] * f[1] + E[3 * k + 2] * f[2]);
    return (float)sum;
}

/** Takes away what residuals say; they become those of triangular equations on the way. */
VF_FN void vf_essential_correct(const struct vf_essential_work *w, int n, const float residual[], double u[9])
{
    float v[9];
    const float inverse = 1.0f / w->parallax;
    for (int i = 0; i < 9; i++) {
        v[i] = 0.0f;
        if (i >= n) continue;
        float sum = residual[i] * inverse;
        for (int k = 0; k < i; k++) sum -= w->row[i][k] * v[k];
        v[i] = sum / w->corner[i];
    }
    vf_essential_reflect(w, n, v);
    for (int i = 0; i < 9; i++) u[i] -= (double)v[i];
}

/** Moves u along d to where its matrix is singular, by one step of Newton's method. */
VF_FN void vf_essential_flatten(float parallax, const float d[9], double u[9])
{
    double E[9];
    float D[9];
    vf_essential_exact(parallax, u, E);
    vf_essential_of(parallax, d, D);
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

/** Makes `count` vectors in the scaled unknowns, in w->exact, fit n pairs, and those of seven singular; each of those has in w->column the
 *  direction in which it may move. In double precision: where two matrices of seven are close together, what single precision rounds off
 *  moves them by much. Then puts their matrices in their place. */
VF_FN int vf_essential_refine(struct vf_essential_work *w, const float before[][3], const float now[][3], int n,
                              int count)
{
    VF_ROLL
    for (int round = 0; round < VF_ESSENTIAL_ROUNDS; round++) {
        VF_TEAM(task, count * n)
        {
            const int k = task / n, i = task % n;
            w->residual[k][i] = vf_essential_residual(w, w->exact[k], before[i], now[i]);
        }
        VF_TEAM_SYNC();
        VF_TEAM(k, count)
        {
            vf_essential_correct(w, n, w->residual[k], w->exact[k]);
            if (n == 7) vf_essential_flatten(w->parallax, w->column[k], w->exact[k]);
        }
        VF_TEAM_SYNC();
    }
    VF_TEAM(k, count)
    {
        float u[9], turned[9];
        for (int i = 0; i < 9; i++) u[i] = (float)w->exact[k][i];
        vf_essential_of(w->parallax, u, turned);
        vf_product(turned, w->R, w->E[k]);
    }
    VF_TEAM_SYNC();
    return count;
}

/** Essential matrices, or nearly, that seven pairs of bearings fit, from the null space: what two unknowns leave is singular. Returns how
 *  many: three at most. */
VF_FN int vf_essential_seven_of(struct vf_essential_work *w, const float before[][3], const float now[][3])
{
    VF_TEAM(i, 9) w->null[2][i] = w->null[3][i] = 0.0f;
    VF_TEAM_SYNC();
    vf_essential_forms(w);
    VF_TEAM(m, 4)
    { /* xxx yyy xxy xyy */
        const struct vf_essential_forms *f = &w->u.forms;
        const struct vf_split s = vf_split(m);
        const float square = w->parallax * w->parallax;
        float inner = 0.0f, determinant = 0.0f;
        for (int i = 0; i < 3; i++) inner += vf_product3(&s, f->a[i], f->b[i]);
        for (int i = 0; i < 3; i++) determinant += vf_product3(&s, f->s[vf_symmetric(0, i)], f->minor[i]);
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
            w->exact[k][i] = (double)(scale * (x * w->null[0][i] + y * w->null[1][i]));
            w->column[k][i] = scale * (x * w->null[1][i] - y * w->null[0][i]);
        }
    }
    VF_TEAM_SYNC();
    return vf_essential_refine(w, before, now, 7, count);
}

/** The essential matrix, or nearly, that eight pairs of bearings fit, from the null space. Returns how many: one. */
VF_FN int vf_essential_eight_of(struct vf_essential_work *w, const float before[][3], const float now[][3])
{
    VF_TEAM(i, 9) w->exact[0][i] = (double)w->null[0][i];
    VF_TEAM_SYNC();
    return vf_essential_refine(w, before, now, 8, 1);
}

/** All of it: essential matrices that five, seven or eight pairs of bearings fit. Returns how many. */
VF_FN int vf_essential_five(struct vf_essential_work *w, const float before[][3], const float now[][3])
{
    vf_essential_rows(w, before, now, 5);
    vf_essential_reduce(w, 5);
    vf_essential_null(w, 5);
    vf_essential_equations(w);
    vf_essential_eliminate(w);
    return vf_essential_five_of(w, before, now);
}
VF_FN int vf_essential_seven(struct vf_essential_work *w, const float before[][3], const float now[][3])
{
    vf_essential_rows(w, before, now, 7);
    vf_essential_reduce(w, 7);
    vf_essential_null(w, 7);
    return vf_essential_seven_of(w, before, now);
}
VF_FN int vf_essential_eight(struct vf_essential_work *w, const float before[][3], const float now[][3])
{
    vf_essential_rows(w, before, now, 8);
    vf_essential_reduce(w, 8);
    vf_essential_null(w, 8);
    return vf_essential_eight_of(w, before, now);
}

/** The pose of an essential matrix that has all pairs in front of both cameras; 0: none has. */
VF_FN int vf_essential_pose(const float E[9], const float before[][3], const float now[][3], int n,
                            struct vf_pose *pose)
{
    float R[2][9], t[3];
    int fits = 15; /* one bit for each of R t, R -t, R' t, R' -t */
    vf_essential_decompose(E, R, t);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            float g[3], gh[3], th[3], tg[3];
            vf_transform(R[k], before[i], g);
            vf_cross(g, now[i], gh);
            vf_cross(t, now[i], th);
            vf_cross(t, g, tg);
            const float depth_before = -vf_dot(th, gh), depth_now = -vf_dot(tg, gh); /* times the square of gh */
            if (!(depth_before > 0.0f && depth_now > 0.0f)) fits &= ~(1 << 2 * k);
            if (!(depth_before < 0.0f && depth_now < 0.0f)) fits &= ~(2 << 2 * k);
        }
    if (!fits) return 0;
    const int other = !(fits & 3);
    const float sign = fits & (other ? 4 : 1) ? 1.0f : -1.0f;
    for (int k = 0; k < 9; k++) pose->R[k] = other ? R[1][k] : R[0][k];
    for (int k = 0; k < 3; k++) pose->t[k] = sign * t[k];
    return vf_pose_valid(pose);
}

#endif
