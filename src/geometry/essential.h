/* SPDX-License-Identifier: MIT */
/* essential: shared parts of the solvers for the essential matrix, five-point (essential_five.h) and seven- and
 * eight-point (essential_linear.h): epipolar constraints, their null space, polynomial forms in its unknowns,
 * decomposition into a pose.
 *
 * In      unit bearings of five, seven or eight correspondences in the previous and the current camera
 * Out     every E with now^T E before = 0: up to ten from five correspondences, three from seven, one from eight; for
 *         each the pose that puts all points in front of both cameras
 * Rule    - A rotation R first aligns the previous bearings with the current ones in the least-squares sense. E is then
 *           written as E R^T = [a]x + parallax S, with S symmetric and the scalar `parallax` the root mean square of
 *           |R before x now|. The unknowns a, S keep the linear constraints well conditioned for a short baseline,
 *           where the nine elements of E would not. Householder reflections give the null space
 *         - Matrices from seven and eight correspondences may be essential only approximately; the pose is that of the
 *           nearest essential matrix
 * Exact   Single precision in one order. Differences of bearings, elimination, polynomial of degree 10 and residuals
 *         are double, because their rounding errors cannot be recovered later. tests/geometry/essential.c measures the
 *         success rates.
 * Memory  8 kB of scratch for a team (team.h)
 * Shared  Host form and kernels share all of it. With VFRONT_CUBLAS, kernels leave QR decomposition and elimination to
 *         cuBLAS: vf_essential_load_qr() replaces vf_essential_qr(), vf_essential_load_eliminated() replaces
 *         vf_essential_eliminate(). cuBLAS has its own order of operations.
 */
#ifndef VF_ESSENTIAL_H
#define VF_ESSENTIAL_H

#include "math/polynomial.h"
#include "math/pose.h"

#define VF_ESSENTIAL_POINTS 8      /* largest number of correspondences of a solver */
#define VF_ESSENTIAL_SOLUTIONS 10  /* largest number of essential matrices that a solver finds */
#define VF_ESSENTIAL_ALIGN_STEPS 3 /* number of Gauss-Newton steps that align previous and current bearings */

/** Linear form in four unknowns, the weights of the null-space vectors: four coefficients, and a fifth entry that is
 *  always 0. */
typedef float vf_linear_form[5];
/** Quadratic form in four unknowns u[0 .. 3]: coefficients of the products u[i] u[j] with ij = 00 01 02 03 11 12 13 22
 *  23 33. */
typedef float vf_quadratic_form[10];

/** Elements of a, S and of their products as forms in the four unknowns, with E R^T = [a]x + parallax S. Symmetric
 *  matrices have six elements, in the order 00 11 22 01 12 20. */
struct vf_essential_forms {
    vf_linear_form a[3],         /* vector a of the antisymmetric part */
        s[6],                    /* symmetric matrix S */
        trace;                   /* tr(S) */
    vf_quadratic_form aa[6],     /* symmetric matrix a a^T */
        ss[6];                   /* symmetric matrix S S */
    vf_quadratic_form b[3],      /* vector S a */
        cofactor[3];             /* cofactors of the first row of S */
    vf_quadratic_form norm_a;    /* |a|^2, with the vector a of the antisymmetric part */
    vf_quadratic_form trace_ss;  /* tr(S S), with the symmetric matrix S */
    vf_quadratic_form trace_gap; /* tr(S)^2 / 2 - tr(S S), with the symmetric matrix S */
};

/** Elimination of the unknowns x and y in the five-point solver (Nister 2004), which leaves a polynomial in z. */
struct vf_essential_roots {
    double b[3][3][5];  /* [row][column][power of z]: 3x3 matrix of polynomials; its null vector is (x, y, 1) */
    double minor[3][7]; /* [row left out][power of z]: 2x2 minors of the first two columns of b */
    struct vf_polynomial_scratch polynomial; /* determinant of b, of degree 10, and its roots */
};

/** Scratch memory of the essential-matrix solvers for one team (math/team.h). */
struct vf_essential_scratch {
    float E[VF_ESSENTIAL_SOLUTIONS][9];    /* out: essential matrices, row-major */
    int32_t valid[VF_ESSENTIAL_SOLUTIONS]; /* [real root of the five-point polynomial]: 1: Newton's method converged */
    float R[9];                            /* rotation that aligns the previous bearings with the current ones */
    float parallax;                        /* root mean square of |rotated x now| over the correspondences */
    float rotated[VF_ESSENTIAL_POINTS][3]; /* previous bearings, rotated by R */
    /* [correspondence]: linear constraint. After the QR decomposition: triangular matrix left of the diagonal,
     * Householder vectors from the diagonal on. */
    float row[VF_ESSENTIAL_POINTS][9];
    float tau[VF_ESSENTIAL_POINTS];      /* factor of each Householder reflection I - tau v v^T */
    float diagonal[VF_ESSENTIAL_POINTS]; /* diagonal of the triangular matrix of the QR decomposition */
    float null_space[4][9];              /* orthonormal vectors that span the null space of the constraints */
    /* five points: [monomial][equation]: coefficients of the ten cubic equations; later [solution]: a vector */
    float column[20][11];
    /* five points: [monomial][equation]: the coefficients in double precision, for the elimination. Seven and eight
     * points: [solution]: the nine unknowns a, S. */
    double exact[20][11];
    float residual[3][VF_ESSENTIAL_POINTS]; /* [solution][correspondence]: residual of the epipolar constraint */
    union {
        struct vf_essential_forms forms;
        struct vf_essential_roots roots;
    } u;
};

/* ---- linear constraints and their null space --------------------------------------------------------------------- */

/** One Gauss-Newton step of the rotation R that aligns bearings. xx to zz: normal matrix. g: sum of the cross products
 *  of the rotated bearings with the current ones. */
VF_FN void vf_essential_turn(float R[9], float xx, float xy, float xz, float yy, float yz, float zz, const float g[3])
{
    const float c0[3] = {yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy};
    const float c1[3] = {c0[1], xx * zz - xz * xz, xy * xz - xx * yz}, c2[3] = {c0[2], c1[2], xx * yy - xy * xy};
    const float scale = 1.0f / (xx * c0[0] + xy * c0[1] + xz * c0[2]);
    const float step_rad[3] = {scale * vf_dot(c0, g), scale * vf_dot(c1, g), scale * vf_dot(c2, g)};
    vf_pose_rotate(R, step_rad);
}

/** Finds the rotation w->R that best aligns the previous bearings with the current ones: Gauss-Newton steps from the
 *  identity. */
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
        vf_essential_turn(R, xx, xy, xz, yy, yz, zz, g);
        VF_TEAM_SYNC();
    }
    VF_TEAM(k, 9) w->R[k] = R[k];
}

/** Writes the epipolar constraints of n correspondences to w->row. They are linear in the unknowns a, S of
 *  E = ([a]x + parallax S) R. */
VF_FN void vf_essential_rows(struct vf_essential_scratch *w, const float before[][3], const float now[][3], int n)
{
    vf_essential_align(w, before, now, n);
    VF_TEAM_SYNC();
    VF_TEAM(i, n)
    {
        float *f = w->rotated[i], *row = w->row[i], difference[3];
        const float *g = now[i], *h = before[i];
        /* in double precision, because the difference of nearly equal bearings loses digits */
        for (int k = 0; k < 3; k++) {
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

/** Multiplies v by the orthogonal matrix Q of the QR decomposition, the product of n Householder reflections. */
VF_FN void vf_essential_apply_q(const struct vf_essential_scratch *w, int n, float v[9])
{
    for (int k = n - 1; k >= 0; k--) {
        float dot = 0.0f;
        for (int j = k; j < 9; j++) dot += w->row[k][j] * v[j];
        dot *= w->tau[k];
        for (int j = k; j < 9; j++) v[j] -= dot * w->row[k][j];
    }
}

/** QR decomposition of the transposed n x 9 matrix of constraints by Householder reflections, in place in w->row. */
VF_FN void vf_essential_qr(struct vf_essential_scratch *w, int n)
{
    VF_NO_UNROLL
    for (int k = 0; k < n; k++) {
        float v[9], square = 0.0f; /* v: constraint k from the diagonal element on, zeros before it */
        for (int j = 0; j < 9; j++) v[j] = j >= k ? w->row[k][j] : 0.0f;
        for (int j = 0; j < 9; j++) square += v[j] * v[j];
        const float head = w->row[k][k], length = head > 0.0f ? -sqrtf(square) : sqrtf(square);
        /* factor of the reflection: 2 / |Householder vector|^2 */
        const float inverse = 1.0f / (length * (length - head));
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

/** Loads the QR decomposition of the transposed constraints that geqrf of cuBLAS has written to a and tau. Replaces
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

/** Writes the null space of n constraints, 9 - n orthonormal vectors, to w->null_space. Uses their QR decomposition. */
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

/** Index of element (i, j) of a symmetric 3x3 matrix whose six elements are stored in the order 00 11 22 01 12 20. */
VF_FN int vf_symmetric_index(int i, int j) { return i == j ? i : (i + 1) % 3 == j ? 3 + i : 3 + j; }

/** Indices of the unknowns x, y, z, 1 (0 to 3) in monomial number m, rising, two bits each. Quadratic monomials are in
 *  the order of vf_quadratic_form, cubic ones in that of Nister (2004, section 3.2.3):
 *    x3 y3 x2y xy2 x2z x2 y2z y2 xyz xy, xz2 xz x yz2 yz y z3 z2 z 1. */
VF_FN int vf_quadratic_monomial(int m) { return (int)(0xfead95c840ull >> 4 * m) & 15; }
VF_FN int vf_cubic_monomial(int m)
{
    return (int)((m < 10 ? 0xd24d65c20510540ull : 0xffeeaaf79a7ce28ull) >> 6 * (m % 10)) & 63;
}

/** Coefficient of the product of unknowns i and j in the product of two linear forms u and v. */
VF_FN float vf_quadratic_coefficient(const float u[5], const float v[5], int i, int j)
{
    return i == j ? u[i] * v[i] : u[i] * v[j] + u[j] * v[i];
}

/** The one to three factorisations of a cubic monomial into an unknown, linear[], and a quadratic monomial,
 *  quadratic[]. Unused entries have unknown 4, whose coefficient is 0 in every linear form. */
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

/** Coefficient of a cubic monomial in the product of a linear form u and a quadratic form v. s: factorisations of the
 *  monomial. */
VF_FN float vf_cubic_coefficient(const struct vf_cubic_factors *s, const float u[5], const float v[10])
{
    return u[s->linear[0]] * v[s->quadratic[0]] + u[s->linear[1]] * v[s->quadratic[1]] +
           u[s->linear[2]] * v[s->quadratic[2]];
}

/** vf_cubic_forms: layout of the forms for a loop over cubic monomials. vf_cubic_term(): vf_cubic_coefficient() from
 *  this layout. On a GPU each lane looks up the factors of its monomial. The host reorders the forms by monomial first,
 *  so that the loop is vectorised. */
#ifdef __CUDA_ARCH__
typedef struct vf_essential_forms vf_cubic_forms;
typedef struct vf_cubic_factors vf_cubic_lookup;
VF_FN vf_cubic_lookup vf_cubic_lookup_of(int m) { return vf_cubic_factors_of(m); }
VF_FN float vf_cubic_term(const vf_cubic_lookup *s, const float u[5], const float v[10])
{
    return vf_cubic_coefficient(s, u, v);
}
#else
typedef float vf_cubic_row[3][20]; /* coefficients of one form, by [factorisation][cubic monomial] */
typedef struct {
    vf_cubic_row a[3], s[6], trace, aa[6], ss[6], b[3], cofactor[3], norm_a, trace_ss, trace_gap;
} vf_cubic_forms;
typedef int vf_cubic_lookup;
VF_FN vf_cubic_lookup vf_cubic_lookup_of(int m) { return m; }
VF_FN float vf_cubic_term(const vf_cubic_lookup *m, const float u[3][20], const float v[3][20])
{
    return u[0][*m] * v[0][*m] + u[1][*m] * v[1][*m] + u[2][*m] * v[2][*m];
}

/** Copies the coefficients of all forms into the host's layout, ordered by cubic monomial. */
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

/** Computes w->u.forms, all linear and quadratic forms, from the null-space vectors. */
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

/** Essential matrix E = [a]x + parallax S of the aligned bearings. u: the three elements of a, then the six of S. */
VF_FN void vf_essential_from_unknowns(float parallax, const float u[9], float E[9])
{
    const float e = parallax;
    const float all[9] = {e * u[3],        e * u[6] - u[2], e * u[8] + u[1], e * u[6] + u[2], e * u[4],
                          e * u[7] - u[0], e * u[8] - u[1], e * u[7] + u[0], e * u[5]};
    for (int k = 0; k < 9; k++) E[k] = all[k];
}

/* ---- decomposition ----------------------------------------------------------------------------------------------- */

/** Unit null vector of a 3x3 matrix of rank 2: the largest cross product of two columns or two rows. step 3: left null
 *  vector, from columns; step 1: right null vector, from rows. */
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

/** Unit vectors a, b that complete a unit vector v to a right-handed frame: a x b = v. */
VF_FN void vf_essential_plane_axes(const float v[3], float a[3], float b[3])
{
    const float x = fabsf(v[0]), y = fabsf(v[1]), z = fabsf(v[2]);
    const float axis[3] = {x <= y && x <= z ? 1.0f : 0.0f, y < x && y <= z ? 1.0f : 0.0f, z < x && z < y ? 1.0f : 0.0f};
    vf_cross(v, axis, a);
    vf_unit_reciprocal(a);
    vf_cross(v, a, b);
}

/** Decomposes an essential matrix E, exact or approximate: two rotations R and a unit vector t for which [t]x R is
 *  nearest to E up to scale. Equals the result of a singular value decomposition: t and v are the left and right null
 *  vectors (Nister 2004, appendix B). Between the planes normal to v and t, E is a 2x2 matrix, whose nearest rotation
 *  has a closed form. */
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
        for (int j = 0; j < 3; j++) { /* undoes [t]x, which rotates by 90 degrees: ua to ub, ub to -ua */
            const float plane = sine * (ua[i] * va[j] + ub[i] * vb[j]) + cosine * (ua[i] * vb[j] - ub[i] * va[j]);
            R[0][3 * i + j] = t[i] * v[j] + plane;
            R[1][3 * i + j] = t[i] * v[j] - plane;
        }
}

/** Cheirality test: finds the pose of an essential matrix E, with |t| = 1, that puts all n points in front of both
 *  cameras. Returns 0 if there is none. */
VF_FN int vf_essential_pose(const float E[9], const float before[][3], const float now[][3], int n,
                            struct vf_pose *pose)
{
    float R[2][9], t[3];
    int candidates = 15; /* poses that are still possible: bit 0: R[0], t; 1: R[0], -t; 2: R[1], t; 3: R[1], -t */
    vf_essential_decompose(E, R, t);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 2; k++) {
            float g[3], gh[3], th[3], tg[3];
            vf_transform(R[k], before[i], g);
            vf_cross(g, now[i], gh);
            vf_cross(t, now[i], th);
            vf_cross(t, g, tg);
            const float depth_before = -vf_dot(th, gh), depth_now = -vf_dot(tg, gh); /* depths times |gh|^2 */
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
