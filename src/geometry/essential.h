/* SPDX-License-Identifier: MIT */
/* essential: shared parts of the solvers for the essential matrix, five-point (essential_five.h) and seven- and
 * eight-point (essential_linear.h): linear epipolar constraints, their null space, forms in the unknowns of that space,
 * decomposition of an essential matrix into a pose.
 *
 * In      unit bearings of five, seven or eight correspondences in the previous and the current camera
 * Out     every E with now^T E before = 0: up to ten from five correspondences, three from seven, one from eight; for
 *         each of them the pose that puts all points in front of both cameras
 * Rule    the bearings of the previous camera are first rotated onto those of the current one as closely as one
 *         rotation can. The remaining differences are small, and E R^T is an antisymmetric matrix plus a symmetric one
 *         of the size of those differences: E R^T = [a]x + parallax S. With a and S as unknowns the linear constraints
 *         are well conditioned for a short baseline, too, where in the nine elements of E single precision finds hardly
 *         anything. Their null space follows from Householder reflections. The matrices of seven and eight
 *         correspondences may be essential only approximately: the pose is then that of the nearest essential matrix
 * Exact   single precision in one order, but for steps that lose digits which later steps cannot recover, which are
 *         double: differences of bearings, elimination, polynomial of degree 10, residuals. Measured by
 *         tests/geometry/essential.c on 100,000 problems with points at distances 2 to 10: all solutions of five points
 *         to 1e-5 in 99.98 % of the problems with a baseline of up to 1, 99.96 % of up to 0.1, 99.92 % of up to 0.03;
 *         of seven and eight points in 99.97 % and more. With double precision everywhere 100.00, 99.99 and 100.00 % of
 *         five points
 * Memory  8 kB of scratch for a team (team.h)
 * Shared  host form and kernels share all of it. With VFRONT_CUBLAS the kernels leave QR decomposition and elimination
 *         to cuBLAS: vf_essential_load_qr() stands for vf_essential_qr(), vf_essential_load_eliminated() for
 *         vf_essential_eliminate(), because cuBLAS has its own order of operations
 */
#ifndef VF_ESSENTIAL_H
#define VF_ESSENTIAL_H

#include "math/polynomial.h"
#include "math/pose.h"

#define VF_ESSENTIAL_POINTS 8      /* largest number of correspondences */
#define VF_ESSENTIAL_SOLUTIONS 10  /* largest number of essential matrices */
#define VF_ESSENTIAL_ALIGN_STEPS 3 /* Gauss-Newton steps of the alignment of bearings */

/** Linear form: coefficients of the four unknowns, and a fifth entry that is always 0. The unknowns are the weights of
 *  the vectors of the null space. */
typedef float vf_linear_form[5];
/** Quadratic form of the four unknowns: coefficients of the products 00 01 02 03 11 12 13 22 23 33. */
typedef float vf_quadratic_form[10];

/** Elements of a, S and of products of both as forms in the four unknowns. Symmetric matrices have six elements, in
 *  the order 00 11 22 01 12 20. */
struct vf_essential_forms {
    vf_linear_form a[3], s[6], trace;    /* vector of the antisymmetric part; symmetric part S; trace of S */
    vf_quadratic_form aa[6], ss[6];      /* a a^T and S S */
    vf_quadratic_form b[3], cofactor[3]; /* S a; cofactors of the first row of S */
    vf_quadratic_form norm_a;            /* |a|^2 */
    vf_quadratic_form trace_ss;          /* tr(S S) */
    vf_quadratic_form trace_gap;         /* tr(S)^2 / 2 - tr(S S) */
};

/** Five points: elimination of the unknowns x and y. */
struct vf_essential_roots {
    double b[3][3][5];  /* 3x3 matrix of polynomials in z; (x, y, 1) is in its null space (Nister 2004) */
    double minor[3][7]; /* its 2x2 minors in the first two columns */
    struct vf_polynomial_scratch polynomial; /* its determinant */
};

/** Scratch of a team. */
struct vf_essential_scratch {
    float E[VF_ESSENTIAL_SOLUTIONS][9];    /* out: essential matrices, row-major */
    int32_t valid[VF_ESSENTIAL_SOLUTIONS]; /* 1: Newton's method converged for that root */
    float R[9];                            /* rotation of the alignment */
    float parallax;                        /* rms length of rotated before x now */
    float rotated[VF_ESSENTIAL_POINTS][3]; /* bearings of the previous camera, rotated by R */
    /* linear constraints; then, below the diagonal the triangular matrix, from there on vectors of the reflections */
    float row[VF_ESSENTIAL_POINTS][9];
    float tau[VF_ESSENTIAL_POINTS];      /* of the reflections I - tau v v^T */
    float diagonal[VF_ESSENTIAL_POINTS]; /* of the triangular matrix */
    float null_space[4][9];              /* orthonormal */
    /* five points: coefficients of the ten cubic equations, by monomial; then one vector for each solution */
    float column[20][11];
    /* five points: those coefficients in the elimination; seven and eight points: solutions as unknowns a, S */
    double exact[20][11];
    float residual[3][VF_ESSENTIAL_POINTS]; /* of the constraints, by solution */
    union {
        struct vf_essential_forms forms;
        struct vf_essential_roots roots;
    } u;
};

/* ---- linear constraints and their null space --------------------------------------------------------------------- */

/** Alignment: rotation w->R that brings the bearings of the previous camera closest to those of the current one, by
 *  Gauss-Newton steps from the identity. */
VF_FN void vf_essential_align(struct vf_essential_scratch *w, const float before[][3], const float now[][3], int n)
{
    float R[9];
    for (int k = 0; k < 9; k++) R[k] = k % 4 == 0 ? 1.0f : 0.0f;
    for (int round = 0; round < VF_ESSENTIAL_ALIGN_STEPS; round++) {
        VF_TEAM(i, n)
        {
            vf_transform(R, before[i], w->rotated[i]);
            vf_cross(w->rotated[i], now[i], w->row[i]);
        }
        VF_TEAM_SYNC();
        float g[3] = {0.0f, 0.0f, 0.0f}, xx = 0.0f, xy = 0.0f, xz = 0.0f, yy = 0.0f, yz = 0.0f, zz = 0.0f;
        for (int i = 0; i < n; i++) {
            const float *p = w->rotated[i];
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
        const float step_rad[3] = {scale * vf_dot(c0, g), scale * vf_dot(c1, g), scale * vf_dot(c2, g)};
        vf_pose_rotate(R, step_rad);
        VF_TEAM_SYNC();
    }
    VF_TEAM(k, 9) w->R[k] = R[k];
}

/** Linear constraints w->row of n correspondences, in the scaled unknowns a and S: E = ([a]x + parallax S) R. */
VF_FN void vf_essential_rows(struct vf_essential_scratch *w, const float before[][3], const float now[][3], int n)
{
    vf_essential_align(w, before, now, n);
    VF_TEAM_SYNC();
    VF_TEAM(i, n)
    {
        float *f = w->rotated[i], *row = w->row[i], difference[3];
        const float *g = now[i], *h = before[i];
        for (int k = 0; k < 3; k++) { /* in double: small differences lose digits */
            const float *R = w->R + 3 * k;
            const double rotated = (double)R[0] * (double)h[0] + (double)R[1] * (double)h[1] +
                                   (double)R[2] * (double)h[2];
            f[k] = (float)rotated;
            difference[k] = (float)((double)g[k] - rotated);
        }
        vf_cross(f, difference, row);
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

/** v <- Q v, with Q the product of the n reflections. */
VF_FN void vf_essential_apply_q(const struct vf_essential_scratch *w, int n, float v[9])
{
    for (int k = n - 1; k >= 0; k--) {
        float dot = 0.0f;
        for (int j = k; j < 9; j++) dot += w->row[k][j] * v[j];
        dot *= w->tau[k];
        for (int j = k; j < 9; j++) v[j] -= dot * w->row[k][j];
    }
}

/** QR decomposition of the transposed rows by Householder reflections, in place. */
VF_FN void vf_essential_qr(struct vf_essential_scratch *w, int n)
{
    VF_NO_UNROLL
    for (int k = 0; k < n; k++) {
        float v[9], square = 0.0f; /* v: row k from the diagonal on, zeros before it */
        for (int j = 0; j < 9; j++) v[j] = j >= k ? w->row[k][j] : 0.0f;
        for (int j = 0; j < 9; j++) square += v[j] * v[j];
        const float head = w->row[k][k], length = head > 0.0f ? -sqrtf(square) : sqrtf(square);
        const float inverse = 1.0f / (length * (length - head)); /* 2 / |vector of the reflection|^2 */
        for (int j = 0; j < 9; j++) v[j] = j == k ? head - length : v[j];
        VF_TEAM_SYNC();
        VF_TEAM(i, n - k)
        {
            float *other = w->row[k + i], dot = 0.0f;
            if (i == 0) {
                other[k] = head - length;
                w->tau[k] = inverse;
                w->diagonal[k] = length;
                continue;
            }
            for (int j = 0; j < 9; j++) dot += v[j] * other[j];
            dot *= inverse;
            for (int j = 0; j < 9; j++) other[j] -= dot * v[j];
        }
        VF_TEAM_SYNC();
    }
}

/** Take a QR decomposition of the transposed rows from LAPACK's geqrf (cuBLAS), a and tau, in place of
 *  vf_essential_qr(). */
VF_FN void vf_essential_load_qr(struct vf_essential_scratch *w, int n, const float *a, const float *tau)
{
    VF_TEAM(i, n)
    {
        for (int j = 0; j < 9; j++) w->row[i][j] = i == j ? 1.0f : a[9 * i + j];
        w->tau[i] = tau[i];
        w->diagonal[i] = a[9 * i + i];
    }
    VF_TEAM_SYNC();
}

/** Null space of n decomposed constraints, w->null_space: 9 - n orthonormal vectors. */
VF_FN void vf_essential_null_space(struct vf_essential_scratch *w, int n)
{
    VF_TEAM(i, 9 - n)
    {
        float v[9];
        for (int j = 0; j < 9; j++) v[j] = j == n + i ? 1.0f : 0.0f;
        vf_essential_apply_q(w, n, v);
        for (int j = 0; j < 9; j++) w->null_space[i][j] = v[j];
    }
    VF_TEAM_SYNC();
}

/* ---- forms in the unknowns of the null space --------------------------------------------------------------------- */

/** Index of element (i, j) of a symmetric matrix in the order 00 11 22 01 12 20. */
VF_FN int vf_symmetric_index(int i, int j) { return i == j ? i : (i + 1) % 3 == j ? 3 + i : 3 + j; }

/** Unknowns of a monomial by rising index, two bits each. Quadratic monomials are in the order of vf_quadratic_form,
 *  cubic ones in that of Nister (2004, section 3.2.3):
 *  x3 y3 x2y xy2 x2z x2 y2z y2 xyz xy, xz2 xz x yz2 yz y z3 z2 z 1. */
VF_FN int vf_quadratic_monomial(int m) { return (int)(0xfead95c840ull >> 4 * m) & 15; }
VF_FN int vf_cubic_monomial(int m)
{
    return (int)((m < 10 ? 0xd24d65c20510540ull : 0xffeeaaf79a7ce28ull) >> 6 * (m % 10)) & 63;
}

/** Coefficient of the monomial of unknowns i and j in the product of two linear forms. */
VF_FN float vf_quadratic_coefficient(const float u[5], const float v[5], int i, int j)
{
    return i == j ? u[i] * v[i] : u[i] * v[j] + u[j] * v[i];
}

/** Factorisations of a cubic monomial into unknown and quadratic monomial: three, two or one. Unused ones have unknown
 *  4, whose coefficient is 0. */
struct vf_cubic_factors {
    int linear[3], quadratic[3];
};
VF_FN struct vf_cubic_factors vf_cubic_factors_of(int m)
{
    const int unknowns = vf_cubic_monomial(m), p = unknowns & 3, q = unknowns >> 2 & 3, r = unknowns >> 4,
              base_p = p * (9 - p) / 2 - p, base_q = q * (9 - q) / 2 - q;
    struct vf_cubic_factors s;
    s.linear[0] = p;
    s.linear[1] = q == p ? 4 : q;
    s.linear[2] = r == q ? 4 : r;
    s.quadratic[0] = base_q + r;
    s.quadratic[1] = base_p + r;
    s.quadratic[2] = base_p + q;
    return s;
}

/** Coefficient of a cubic monomial in the product of a linear and a quadratic form. */
VF_FN float vf_cubic_coefficient(const struct vf_cubic_factors *s, const float u[5], const float v[10])
{
    return u[s->linear[0]] * v[s->quadratic[0]] + u[s->linear[1]] * v[s->quadratic[1]] +
           u[s->linear[2]] * v[s->quadratic[2]];
}

/** Forms as a loop over the cubic monomials takes them, and vf_cubic_coefficient() of one from them. On a GPU the lane
 *  of a monomial looks up its factors. On the host they are put in the order of the monomials first, so that the loop
 *  is vector code. */
#ifdef __CUDA_ARCH__
typedef struct vf_essential_forms vf_cubic_forms;
typedef struct vf_cubic_factors vf_cubic_place;
VF_FN vf_cubic_place vf_cubic_place_of(int m) { return vf_cubic_factors_of(m); }
VF_FN float vf_cubic_term(const vf_cubic_place *s, const float u[5], const float v[10])
{
    return vf_cubic_coefficient(s, u, v);
}
#else
typedef float vf_cubic_row[3][20]; /* [factorisation][monomial]: coefficient of the factor */
typedef struct {
    vf_cubic_row a[3], s[6], trace, aa[6], ss[6], b[3], cofactor[3], norm_a, trace_ss, trace_gap;
} vf_cubic_forms;
typedef int vf_cubic_place;
VF_FN vf_cubic_place vf_cubic_place_of(int m) { return m; }
VF_FN float vf_cubic_term(const vf_cubic_place *m, const float u[3][20], const float v[3][20])
{
    return u[0][*m] * v[0][*m] + u[1][*m] * v[1][*m] + u[2][*m] * v[2][*m];
}

/** Puts the forms in the order of the monomials. */
VF_FN void vf_cubic_order(const struct vf_essential_forms *f, vf_cubic_forms *to)
{
    for (int m = 0; m < 20; m++) {
        const struct vf_cubic_factors s = vf_cubic_factors_of(m);
        for (int t = 0; t < 3; t++) {
            const int l = s.linear[t], q = s.quadratic[t];
            for (int k = 0; k < 3; k++) {
                to->a[k][t][m] = f->a[k][l];
                to->b[k][t][m] = f->b[k][q];
                to->cofactor[k][t][m] = f->cofactor[k][q];
            }
            for (int k = 0; k < 6; k++) {
                to->s[k][t][m] = f->s[k][l];
                to->aa[k][t][m] = f->aa[k][q];
                to->ss[k][t][m] = f->ss[k][q];
            }
            to->trace[t][m] = f->trace[l];
            to->norm_a[t][m] = f->norm_a[q];
            to->trace_ss[t][m] = f->trace_ss[q];
            to->trace_gap[t][m] = f->trace_gap[q];
        }
    }
}
#endif

/** Compute all forms from the null space. */
VF_FN void vf_essential_make_forms(struct vf_essential_scratch *w)
{
    struct vf_essential_forms *f = &w->u.forms;
    VF_TEAM(i, 5)
    {
        const float *null = w->null_space[i < 4 ? i : 0];
        for (int k = 0; k < 3; k++) f->a[k][i] = i < 4 ? null[k] : 0.0f;
        for (int k = 0; k < 6; k++) f->s[k][i] = i < 4 ? null[3 + k] : 0.0f;
        f->trace[i] = i < 4 ? null[3] + null[4] + null[5] : 0.0f;
    }
    VF_TEAM_SYNC();
    VF_TEAM(task, 30)
    {
        const int m = task % 10, i = vf_quadratic_monomial(m) & 3, j = vf_quadratic_monomial(m) >> 2, g = task / 10,
                  h = (g + 1) % 3, l = (g + 2) % 3;
        const float *gg = f->s[g], *hh = f->s[h], *gh = f->s[3 + g], *hl = f->s[3 + h], *lg = f->s[3 + l];
        f->aa[g][m] = vf_quadratic_coefficient(f->a[g], f->a[g], i, j);
        f->aa[3 + g][m] = vf_quadratic_coefficient(f->a[g], f->a[h], i, j);
        f->ss[g][m] = vf_quadratic_coefficient(gg, gg, i, j) + vf_quadratic_coefficient(gh, gh, i, j) +
                      vf_quadratic_coefficient(lg, lg, i, j);
        f->ss[3 + g][m] = vf_quadratic_coefficient(gg, gh, i, j) + vf_quadratic_coefficient(gh, hh, i, j) +
                          vf_quadratic_coefficient(lg, hl, i, j);
        f->b[g][m] = vf_quadratic_coefficient(gg, f->a[g], i, j) + vf_quadratic_coefficient(gh, f->a[h], i, j) +
                     vf_quadratic_coefficient(lg, f->a[l], i, j);
        f->cofactor[g][m] =
            vf_quadratic_coefficient(f->s[vf_symmetric_index(1, h)], f->s[vf_symmetric_index(2, l)], i, j) -
            vf_quadratic_coefficient(f->s[vf_symmetric_index(1, l)], f->s[vf_symmetric_index(2, h)], i, j);
    }
    VF_TEAM_SYNC();
    VF_TEAM(m, 10)
    {
        const int i = vf_quadratic_monomial(m) & 3, j = vf_quadratic_monomial(m) >> 2;
        f->norm_a[m] = f->aa[0][m] + f->aa[1][m] + f->aa[2][m];
        f->trace_ss[m] = f->ss[0][m] + f->ss[1][m] + f->ss[2][m];
        f->trace_gap[m] = 0.5f * vf_quadratic_coefficient(f->trace, f->trace, i, j) - f->trace_ss[m];
    }
    VF_TEAM_SYNC();
}

/** Matrix of rotated bearings, [a]x + parallax S, from the unknowns u: a, then S. */
VF_FN void vf_essential_from_unknowns(float parallax, const float u[9], float E[9])
{
    const float e = parallax;
    const float all[9] = {e * u[3],        e * u[6] - u[2], e * u[8] + u[1], e * u[6] + u[2], e * u[4],
                          e * u[7] - u[0], e * u[8] - u[1], e * u[7] + u[0], e * u[5]};
    for (int k = 0; k < 9; k++) E[k] = all[k];
}

/* ---- decomposition ----------------------------------------------------------------------------------------------- */

/** Null vector of a matrix of rank 2, left (step 3) or right (step 1): the largest cross product of two columns or
 *  rows, as a unit vector. */
VF_FN void vf_essential_null_vector(const float E[9], int step, float out[3])
{
    const int other = 4 - step;
    float largest = 0.0f, best[3] = {0.0f, 0.0f, 0.0f};
    for (int i = 0; i < 3; i++) {
        const int a = i * other, b = (i + 1) % 3 * other;
        const float u[3] = {E[a], E[a + step], E[a + 2 * step]}, v[3] = {E[b], E[b + step], E[b + 2 * step]};
        float c[3];
        vf_cross(u, v, c);
        const float square = vf_dot(c, c);
        for (int k = 0; k < 3; k++) best[k] = square > largest ? c[k] : best[k];
        largest = square > largest ? square : largest;
    }
    for (int k = 0; k < 3; k++) out[k] = best[k];
    vf_unit_reciprocal(out);
}

/** Unit vectors a, b that complete a unit vector v to a right-handed system: a x b = v. */
VF_FN void vf_essential_plane_axes(const float v[3], float a[3], float b[3])
{
    const float x = fabsf(v[0]), y = fabsf(v[1]), z = fabsf(v[2]);
    const float axis[3] = {x <= y && x <= z ? 1.0f : 0.0f, y < x && y <= z ? 1.0f : 0.0f, z < x && z < y ? 1.0f : 0.0f};
    vf_cross(v, axis, a);
    vf_unit_reciprocal(a);
    vf_cross(v, a, b);
}

/** Decompose a matrix that is essential, exactly or approximately: the two rotations R and the unit vector t for which
 *  [t]x R is nearest to it up to scale. Gives the result of a singular value decomposition without one: t and v are the
 *  left and right null vectors (Nister 2004, appendix B); restricted to the planes normal to them the matrix is 2x2,
 *  and the nearest rotation of that has a closed form. */
VF_FN void vf_essential_decompose(const float E[9], float R[2][9], float t[3])
{
    float v[3], va[3], vb[3], ua[3], ub[3], ea[3], eb[3];
    vf_essential_null_vector(E, 3, t);
    vf_essential_null_vector(E, 1, v);
    vf_essential_plane_axes(v, va, vb);
    vf_essential_plane_axes(t, ua, ub);
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
        for (int j = 0; j < 3;
             j++) { /* [t]x maps ua to ub and ub to -ua, a rotation by 90 degrees, which is undone here */
            const float plane = sine * (ua[i] * va[j] + ub[i] * vb[j]) + cosine * (ua[i] * vb[j] - ub[i] * va[j]);
            R[0][3 * i + j] = t[i] * v[j] + plane;
            R[1][3 * i + j] = t[i] * v[j] - plane;
        }
}

/** Cheirality test: pose of an essential matrix, with |t| = 1, that puts all n points in front of both cameras. Returns
 *  0 if there is none. */
VF_FN int vf_essential_pose(const float E[9], const float before[][3], const float now[][3], int n,
                            struct vf_pose *pose)
{
    float R[2][9], t[3];
    int candidates = 15; /* bits: R[0] t, R[0] -t, R[1] t, R[1] -t */
    vf_essential_decompose(E, R, t);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            float g[3], gh[3], th[3], tg[3];
            vf_transform(R[k], before[i], g);
            vf_cross(g, now[i], gh);
            vf_cross(t, now[i], th);
            vf_cross(t, g, tg);
            const float depth_before = -vf_dot(th, gh), depth_now = -vf_dot(tg, gh); /* times the square of gh */
            if (!(depth_before > 0.0f && depth_now > 0.0f)) candidates &= ~(1 << 2 * k);
            if (!(depth_before < 0.0f && depth_now < 0.0f)) candidates &= ~(2 << 2 * k);
        }
    if (!candidates) return 0;
    const int other = !(candidates & 3);
    const float sign = candidates & (other ? 4 : 1) ? 1.0f : -1.0f;
    for (int k = 0; k < 9; k++) pose->R[k] = other ? R[1][k] : R[0][k];
    for (int k = 0; k < 3; k++) pose->t[k] = sign * t[k];
    return vf_pose_valid(pose);
}

#endif
