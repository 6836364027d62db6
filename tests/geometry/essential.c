/* SPDX-License-Identifier: MIT */
/* Essential matrices of five, seven and eight points, against all solutions of an independent method in long double.
 * The constraints are interpolated from their values instead of expanded. The resultant in one unknown is a determinant
 * evaluated on the unit circle, and all its roots, also complex ones, are found together. The oracle solves the same
 * rounded input. Prints the share of problems with every solution found to 1e-5 and to larger bounds. Usage: essential
 * [--problems N] */
#include <complex.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "geometry/essential_batch.h"
#include "geometry/essential_five.h"
#include "geometry/essential_linear.h"
#include "tests/fixture/random.h"

typedef long double real;
typedef long double _Complex complex_t;

static int problems = 1500;
static double between(double least, double most) { return least + (most - least) * (double)(roll64() >> 11) * 0x1p-53; }

/* ---- problems ---------------------------------------------------------------------------------------------------- */

/** Kind of problem: rotation vector up to turn_rad long, translation up to `way` long; points in a field of view of 90
 *  degrees at depths 2 to 10. */
struct kind {
    const char *name;
    double turn_rad, extent;
};
static const struct kind kinds[] = {{"far apart", 0.5, 1.0}, {"near", 0.1, 0.1}, {"very near", 0.02, 0.03}};
enum { KINDS = sizeof kinds / sizeof *kinds };

static struct {
    float before[8][3], now[8][3];
    real R[9], t[3];
} given;

static void random_in_ball(real v[3], double size)
{
    double square;
    do {
        square = 0.0;
        for (int k = 0; k < 3; k++) {
            v[k] = between(-1, 1);
            square += (double)(v[k] * v[k]);
        }
    } while (square > 1.0 || square < 0.01);
    for (int k = 0; k < 3; k++) v[k] *= (real)size;
}

/** Rotation matrix of a rotation vector (Rodrigues). */
static void rotation_of(const real w[3], real R[9])
{
    const real angle = sqrtl(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]), s = sinl(angle) / angle,
               v = (1 - cosl(angle)) / (angle * angle);
    const real K[9] = {0, -w[2], w[1], w[2], 0, -w[0], -w[1], w[0], 0};
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            real kk = 0;
            for (int k = 0; k < 3; k++) kk += K[3 * r + k] * K[3 * k + c];
            R[3 * r + c] = (r == c) + s * K[3 * r + c] + v * kk;
        }
}

static void set_unit(float out[3], const real v[3])
{
    const real length = sqrtl(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    for (int k = 0; k < 3; k++) out[k] = (float)(v[k] / length);
}

/** Draws correspondence i. Returns 0 if the point is not in front of the current camera. */
static int see(int i)
{
    const real depth = between(2, 10), before[3] = {between(-1, 1) * depth, between(-1, 1) * depth, depth};
    real now[3];
    for (int k = 0; k < 3; k++)
        now[k] = given.R[3 * k] * before[0] + given.R[3 * k + 1] * before[1] + given.R[3 * k + 2] * before[2] +
                 given.t[k];
    set_unit(given.before[i], before);
    set_unit(given.now[i], now);
    return now[2] > 0.1L;
}

static void give(const struct kind *kind)
{
    real w[3];
    random_in_ball(w, kind->turn_rad);
    rotation_of(w, given.R);
    random_in_ball(given.t, kind->extent);
    for (int i = 0; i < 8; i++)
        while (!see(i)) continue;
}

/* ---- tools of the oracle ----------------------------------------------------------------------------------------- */

/** Orthonormalises vector b against the vectors before it (Gram-Schmidt). */
static void orthonormalise(real basis[][9], int b)
{
    real square = 0;
    for (int o = 0; o < b; o++) {
        real along = 0;
        for (int k = 0; k < 9; k++) along += basis[b][k] * basis[o][k];
        for (int k = 0; k < 9; k++) basis[b][k] -= along * basis[o][k];
    }
    for (int k = 0; k < 9; k++) square += basis[b][k] * basis[b][k];
    for (int k = 0; k < 9; k++) basis[b][k] /= sqrtl(square);
}

/** Null space of the n epipolar constraints by elimination with full pivoting. */
static void null_space(int n, real basis[][9])
{
    real a[8][9];
    int at[9];
    for (int k = 0; k < 9; k++) at[k] = k;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < 9; k++) a[i][k] = (real)given.now[i][k / 3] * given.before[i][k % 3];
    for (int k = 0; k < n; k++) {
        int pr = k, pc = k;
        for (int r = k; r < n; r++)
            for (int c = k; c < 9; c++)
                if (fabsl(a[r][c]) > fabsl(a[pr][pc])) pr = r, pc = c;
        for (int c = 0; c < 9; c++) {
            const real held = a[k][c];
            a[k][c] = a[pr][c];
            a[pr][c] = held;
        }
        for (int r = 0; r < n; r++) {
            const real held = a[r][k];
            a[r][k] = a[r][pc];
            a[r][pc] = held;
        }
        const int held = at[k];
        at[k] = at[pc];
        at[pc] = held;
        for (int r = 0; r < n; r++) {
            const real f = a[r][k] / a[k][k];
            for (int c = k; c < 9 && r != k; c++) a[r][c] -= f * a[k][c];
        }
    }
    for (int b = 0; b < 9 - n; b++)
        for (int k = 0; k < 9; k++) basis[b][at[k]] = k < n ? -a[k][n + b] / a[k][k] : k == n + b;
    for (int b = 0; b < 9 - n; b++) orthonormalise(basis, b);
}

static real determinant3(const real E[9])
{
    return E[0] * (E[4] * E[8] - E[5] * E[7]) - E[1] * (E[3] * E[8] - E[5] * E[6]) + E[2] * (E[3] * E[7] - E[4] * E[6]);
}

/** Ten polynomials that vanish for an essential matrix: 2 E E^T E - tr(E E^T) E, and the determinant. */
static void constraints(const real E[9], real out[10])
{
    real P[9], trace = 0;
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            P[3 * r + c] = E[3 * r] * E[3 * c] + E[3 * r + 1] * E[3 * c + 1] + E[3 * r + 2] * E[3 * c + 2];
    for (int k = 0; k < 3; k++) trace += P[4 * k];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            out[3 * r + c] = 2 * (P[3 * r] * E[c] + P[3 * r + 1] * E[3 + c] + P[3 * r + 2] * E[6 + c]) -
                             trace * E[3 * r + c];
    out[9] = determinant3(E);
}

/** All complex roots of a polynomial (Durand 1960, Kerner 1966). */
static void all_roots(const real *c, int degree, complex_t *root)
{
    for (int k = 0; k < degree; k++) root[k] = cpowl(0.4L + 0.9L * I, k);
    for (int step = 0; step < 300; step++) {
        real change = 0;
        for (int k = 0; k < degree; k++) {
            complex_t value = c[degree];
            for (int i = degree - 1; i >= 0; i--) value = value * root[k] + c[i];
            value /= c[degree];
            for (int j = 0; j < degree; j++)
                if (j != k) value /= root[k] - root[j];
            root[k] -= value;
            change = fmaxl(change, cabsl(value) / (cabsl(root[k]) + 1e-30L));
        }
        if (change < 1e-17L) return;
    }
}

static complex_t determinant10(complex_t m[10][10])
{
    complex_t product = 1;
    for (int k = 0; k < 10; k++) {
        int p = k;
        for (int r = k; r < 10; r++)
            if (cabsl(m[r][k]) > cabsl(m[p][k])) p = r;
        for (int c = 0; c < 10 && p != k; c++) {
            const complex_t held = m[k][c];
            m[k][c] = m[p][c];
            m[p][c] = held;
        }
        product *= p == k ? m[k][k] : -m[k][k];
        for (int r = k + 1; r < 10; r++) {
            const complex_t f = m[r][k] / m[k][k];
            for (int c = k; c < 10; c++) m[r][c] -= f * m[k][c];
        }
    }
    return product;
}

/* ---- five points: resultant in z -------------------------------------------------------------------------------- */

/** Powers of x, y and z in the twenty monomials of degree 3 or less; z is the hidden variable. */
static int power[20][3];
static real inverse20[20][20]; /* matrix from values at twenty points to coefficients */
static real place[20][3];

static real monomial(int m, const real at[3])
{
    return powl(at[0], power[m][0]) * powl(at[1], power[m][1]) * powl(at[2], power[m][2]);
}

static void invert20(real a[20][20])
{
    memset(inverse20, 0, sizeof inverse20);
    for (int k = 0; k < 20; k++) inverse20[k][k] = 1;
    for (int k = 0; k < 20; k++) {
        int p = k;
        for (int r = k; r < 20; r++)
            if (fabsl(a[r][k]) > fabsl(a[p][k])) p = r;
        for (int c = 0; c < 20 && p != k; c++) {
            const real held = a[k][c], other = inverse20[k][c];
            a[k][c] = a[p][c], inverse20[k][c] = inverse20[p][c];
            a[p][c] = held, inverse20[p][c] = other;
        }
        const real pivot = a[k][k];
        for (int c = 0; c < 20; c++) a[k][c] /= pivot, inverse20[k][c] /= pivot;
        for (int r = 0; r < 20; r++) {
            const real f = r == k ? 0 : a[r][k];
            for (int c = 0; c < 20; c++) a[r][c] -= f * a[k][c], inverse20[r][c] -= f * inverse20[k][c];
        }
    }
}

static void prepare(void)
{
    static real a[20][20];
    int n = 0;
    for (int x = 0; x <= 3; x++)
        for (int y = 0; x + y <= 3; y++)
            for (int z = 0; x + y + z <= 3; z++, n++) power[n][0] = x, power[n][1] = y, power[n][2] = z;
    shake(1);
    for (int i = 0; i < 20; i++)
        for (int k = 0; k < 3; k++) place[i][k] = between(-1, 1);
    for (int i = 0; i < 20; i++)
        for (int m = 0; m < 20; m++) a[i][m] = monomial(m, place[i]);
    invert20(a);
}

static void combine(const real basis[4][9], const real at[3], real E[9])
{
    for (int k = 0; k < 9; k++) E[k] = at[0] * basis[0][k] + at[1] * basis[1][k] + at[2] * basis[2][k] + basis[3][k];
}

/** Matrix of the ten constraints on the monomials of x and y, for a value of z. */
static void resultant_at(const real coefficient[10][20], complex_t z, complex_t m[10][10])
{
    static const int column_of[4][4] = {{0, 1, 2, 3}, {4, 5, 6}, {7, 8}, {9}}; /* column of x^i y^j */
    memset(m, 0, sizeof(complex_t[10][10]));
    for (int e = 0; e < 10; e++)
        for (int k = 0; k < 20; k++)
            m[e][column_of[power[k][0]][power[k][1]]] += coefficient[e][k] * (power[k][2] == 0   ? 1
                                                                              : power[k][2] == 1 ? z
                                                                              : power[k][2] == 2 ? z * z
                                                                                                 : z * z * z);
}

/** x and y of a root z from the null vector of resultant_at(): elements 4 and 1 over element 0. */
static void others_of(const real coefficient[10][20], real z, real at[3])
{
    complex_t m[10][10];
    real a[10][10], v[10];
    int column[10];
    resultant_at(coefficient, z, m);
    for (int r = 0; r < 10; r++)
        for (int c = 0; c < 10; c++) a[r][c] = creall(m[r][c]);
    for (int k = 0; k < 10; k++) column[k] = k;
    for (int k = 0; k < 9; k++) {
        int pr = k, pc = k;
        for (int r = k; r < 10; r++)
            for (int c = k; c < 10; c++)
                if (fabsl(a[r][c]) > fabsl(a[pr][pc])) pr = r, pc = c;
        for (int c = 0; c < 10; c++) {
            const real held = a[k][c];
            a[k][c] = a[pr][c];
            a[pr][c] = held;
        }
        for (int r = 0; r < 10; r++) {
            const real held = a[r][k];
            a[r][k] = a[r][pc];
            a[r][pc] = held;
        }
        const int held = column[k];
        column[k] = column[pc];
        column[pc] = held;
        for (int r = k + 1; r < 10; r++) {
            const real f = a[r][k] / a[k][k];
            for (int c = k; c < 10; c++) a[r][c] -= f * a[k][c];
        }
    }
    for (int k = 9; k >= 0; k--) {
        real sum = k == 9;
        for (int c = k + 1; c < 10; c++) sum -= a[k][c] * v[column[c]];
        v[column[k]] = k == 9 ? 1 : sum / a[k][k];
    }
    at[0] = v[4] / v[0];
    at[1] = v[1] / v[0];
    at[2] = z;
}

/** Gauss-Newton on the ten constraints. Returns the last relative change. */
static real gauss_newton(const real basis[4][9], real at[3])
{
    real change = 1;
    for (int step = 0; step < 10; step++) {
        real E[9], f[10], J[3][10], N[3][4];
        combine(basis, at, E);
        constraints(E, f);
        for (int k = 0; k < 3; k++) {
            const real h = 1e-7L * (1 + fabsl(at[k]));
            real up[9], down[9], a[10], b[10];
            for (int i = 0; i < 9; i++) up[i] = E[i] + h * basis[k][i], down[i] = E[i] - h * basis[k][i];
            constraints(up, a);
            constraints(down, b);
            for (int i = 0; i < 10; i++) J[k][i] = (a[i] - b[i]) / (2 * h);
        }
        for (int r = 0; r < 3; r++) {
            N[r][3] = 0;
            for (int c = 0; c < 3; c++) N[r][c] = 0;
            for (int i = 0; i < 10; i++) {
                for (int c = 0; c < 3; c++) N[r][c] += J[r][i] * J[c][i];
                N[r][3] -= J[r][i] * f[i];
            }
        }
        for (int k = 0; k < 3; k++)
            for (int r = 0; r < 3; r++) {
                const real g = r == k ? 0 : N[r][k] / N[k][k];
                for (int c = k; c < 4; c++) N[r][c] -= g * N[k][c];
            }
        change = 0;
        for (int k = 0; k < 3; k++) {
            at[k] += N[k][3] / N[k][k];
            change = fmaxl(change, fabsl(N[k][3] / N[k][k]) / (1 + fabsl(at[k])));
        }
    }
    return change;
}

struct solutions {
    int count;
    real E[10][9];
};

static void add(struct solutions *s, const real E[9])
{
    real square = 0;
    for (int k = 0; k < 9; k++) square += E[k] * E[k];
    for (int k = 0; k < 9; k++) s->E[s->count][k] = E[k] / sqrtl(square);
    s->count++;
}

static int is_known(const struct solutions *s, const real E[9])
{
    for (int i = 0; i < s->count; i++) {
        real dot = 0, square = 0;
        for (int k = 0; k < 9; k++) dot += s->E[i][k] * E[k], square += E[k] * E[k];
        if (square - dot * dot < 1e-18L * square) return 1;
    }
    return 0;
}

/** Replaces a basis by another random basis of the same space. */
static void mix(real basis[4][9])
{
    real from[4][9];
    memcpy(from, basis, sizeof from);
    for (int b = 0; b < 4; b++)
        for (int k = 0; k < 9; k++) basis[b][k] = 0;
    for (int b = 0; b < 4; b++) {
        for (int o = 0; o < 4; o++) {
            const real w = between(-1, 1);
            for (int k = 0; k < 9; k++) basis[b][k] += w * from[o][k];
        }
        orthonormalise(basis, b);
    }
}

/** All essential matrices of five points in a basis. Returns 0 if a root did not converge. */
static int solve_five_in(real basis[4][9], struct solutions *s)
{
    enum { POINTS = 16 };
    real coefficient[10][20] = {{0}}, c[11];
    complex_t value[POINTS], root[10];
    for (int i = 0; i < 20; i++) {
        real E[9], f[10];
        combine((const real(*)[9])basis, place[i], E);
        constraints(E, f);
        for (int e = 0; e < 10; e++)
            for (int m = 0; m < 20; m++) coefficient[e][m] += inverse20[m][i] * f[e];
    }
    for (int k = 0; k < POINTS; k++) {
        complex_t m[10][10];
        resultant_at((const real(*)[20])coefficient, cexpl(2 * 3.14159265358979323846264L * I * k / POINTS), m);
        value[k] = determinant10(m);
    }
    for (int i = 0; i < 11; i++) {
        complex_t sum = 0;
        for (int k = 0; k < POINTS; k++)
            sum += value[k] * cexpl(-2 * 3.14159265358979323846264L * I * (i * k % POINTS) / POINTS);
        c[i] = creall(sum);
    }
    all_roots(c, 10, root);
    s->count = 0;
    for (int k = 0; k < 10; k++) {
        real at[3], E[9];
        const real off = fabsl(cimagl(root[k])) / (1 + cabsl(root[k]) * cabsl(root[k]));
        if (off > 1e-4L) continue; /* between the two bounds: possibly two real roots blurred by rounding */
        others_of((const real(*)[20])coefficient, creall(root[k]), at);
        if (!(gauss_newton((const real(*)[9])basis, at) < 1e-9L)) {
            if (off < 1e-9L) return 0;
            continue;
        }
        combine((const real(*)[9])basis, at, E);
        if (!is_known(s, E)) add(s, E);
    }
    return 1;
}

/** All essential matrices of five points, in up to eight random bases. Returns 0 if none converged; the problem is
 *  discarded. */
static int solve_five(struct solutions *s)
{
    real basis[4][9];
    null_space(5, basis);
    for (int attempt = 0; attempt < 8; attempt++) {
        mix(basis);
        if (solve_five_in(basis, s)) return 1;
    }
    return 0;
}

static int solve_seven(struct solutions *s)
{
    real basis[2][9], c[4], f[4];
    complex_t root[3];
    null_space(7, basis);
    for (int i = 0; i < 4; i++) {
        real E[9];
        for (int k = 0; k < 9; k++) E[k] = (i - 1) * basis[0][k] + basis[1][k];
        f[i] = determinant3(E); /* values at -1, 0, 1, 2 */
    }
    c[0] = f[1];
    c[2] = (f[0] + f[2]) / 2 - f[1];
    c[3] = (f[3] - f[0] - 3 * (f[2] - f[1])) / 6;
    c[1] = f[2] - c[0] - c[2] - c[3];
    all_roots(c, 3, root);
    s->count = 0;
    for (int r = 0; r < 3; r++) {
        real E[9];
        if (fabsl(cimagl(root[r])) > 1e-12L * (1 + cabsl(root[r]) * cabsl(root[r]))) continue;
        for (int k = 0; k < 9; k++) E[k] = creall(root[r]) * basis[0][k] + basis[1][k];
        add(s, E);
    }
    return 1;
}

static int solve_eight(struct solutions *s)
{
    real basis[1][9];
    null_space(8, basis);
    s->count = 0;
    add(s, basis[0]);
    return 1;
}

/* ---- success rates ----------------------------------------------------------------------------------------------- */

static struct vf_essential_scratch work;

static int solve(int points)
{
    const float(*before)[3] = (const float(*)[3])given.before, (*now)[3] = (const float(*)[3])given.now;
    return points == 5   ? vf_essential_five(&work, before, now)
           : points == 7 ? vf_essential_seven(&work, before, now)
                         : vf_essential_eight(&work, before, now);
}

/** QR decomposition in the format of LAPACK's geqrf (G. Golub, C. Van Loan, 1996, 5.2.1), as a substitute for
 *  cuBLAS. */
static void factor_rows(float *a, float *tau, int n)
{
    for (int k = 0; k < n; k++) {
        float *v = a + 9 * k, square = 0.0f;
        for (int j = k + 1; j < 9; j++) square += v[j] * v[j];
        const float alpha = v[k], beta = -copysignf(sqrtf(alpha * alpha + square), alpha);
        tau[k] = (beta - alpha) / beta;
        for (int j = k + 1; j < 9; j++) v[j] /= alpha - beta;
        v[k] = beta;
        for (int c = k + 1; c < n; c++) {
            float along = a[9 * c + k];
            for (int j = k + 1; j < 9; j++) along += v[j] * a[9 * c + j];
            for (int j = k; j < 9; j++) a[9 * c + j] -= tau[k] * along * (j == k ? 1.0f : v[j]);
        }
    }
}

/** Solution of ten equations for ten right sides by LU decomposition with partial pivoting (G. Golub, C. Van Loan,
 *  1996, 3.4.3), as a substitute for cuBLAS. */
static void solve_columns(float *a, float *b)
{
    for (int k = 0; k < 10; k++) {
        int p = k;
        for (int r = k + 1; r < 10; r++)
            if (fabsf(a[10 * k + r]) > fabsf(a[10 * k + p])) p = r;
        for (int c = 0; c < 20 && p != k; c++) {
            float *column = c < 10 ? a + 10 * c : b + 10 * (c - 10);
            const float held = column[k];
            column[k] = column[p];
            column[p] = held;
        }
        for (int r = k + 1; r < 10; r++) {
            const float factor = a[10 * k + r] / a[10 * k + k];
            for (int c = k + 1; c < 10; c++) a[10 * c + r] -= factor * a[10 * c + k];
            for (int c = 0; c < 10; c++) b[10 * c + r] -= factor * b[10 * c + k];
        }
    }
    for (int c = 0; c < 10; c++)
        for (int r = 9; r >= 0; r--) {
            for (int k = r + 1; k < 10; k++) b[10 * c + r] -= a[10 * k + r] * b[10 * c + k];
            b[10 * c + r] /= a[10 * r + r];
        }
}

/** Solves by the code path of VFRONT_CUBLAS. */
static int solve_by_factors(int points)
{
    const float(*before)[3] = (const float(*)[3])given.before, (*now)[3] = (const float(*)[3])given.now;
    float a[200], tau[8];
    vf_essential_rows(&work, before, now, points);
    for (int i = 0; i < 9 * points; i++) a[i] = work.row[i / 9][i % 9];
    factor_rows(a, tau, points);
    vf_essential_load_qr(&work, points, a, tau);
    vf_essential_null_space(&work, points);
    if (points == 7) return vf_essential_seven_solve(&work, before, now);
    if (points == 8) return vf_essential_eight_solve(&work, before, now);
    vf_essential_equations(&work);
    for (int i = 0; i < 200; i++) a[i] = work.column[i / 10][i % 10];
    solve_columns(a, a + 100);
    memset(work.column, 0xff, sizeof work.column);
    vf_essential_load_eliminated(&work, a + 100);
    return vf_essential_five_solve(&work, before, now);
}

static real distance(const real should[9], const float is[9])
{
    real square = 0, with = 0, against = 0;
    for (int k = 0; k < 9; k++) square += (real)is[k] * is[k];
    for (int k = 0; k < 9; k++) {
        const real e = is[k] / sqrtl(square);
        with += (e - should[k]) * (e - should[k]);
        against += (e + should[k]) * (e + should[k]);
    }
    return sqrtl(fminl(with, against));
}

/** Largest residuals of the epipolar constraints, and of the constraints on the matrix: all ten for five points, the
 *  determinant for seven. */
static void residuals(int points, const float is[9], double *epipolar, double *constraint)
{
    real E[9], f[10], square = 0;
    for (int k = 0; k < 9; k++) square += (real)is[k] * is[k];
    for (int k = 0; k < 9; k++) E[k] = is[k] / sqrtl(square);
    constraints(E, f);
    for (int k = points == 5 ? 0 : 9; k < 10 && points < 8; k++) *constraint = fmax(*constraint, (double)fabsl(f[k]));
    for (int i = 0; i < points; i++) {
        real r = 0;
        for (int k = 0; k < 9; k++) r += given.now[i][k / 3] * E[k] * given.before[i][k % 3];
        *epipolar = fmax(*epipolar, (double)fabsl(r));
    }
}

struct success_counts {
    int asked, thrown, within[3], true_found;
    long solutions, found;
    double epipolar, constraint;
};

/** 1 if one of the poses is the one from which the bearings were made, to 1e-2. */
static int finds_truth(int points, int count)
{
    for (int k = 0; k < count; k++) {
        struct vf_pose pose;
        real off = 0, length = 0;
        if (!vf_essential_pose(work.E[k], (const float(*)[3])given.before, (const float(*)[3])given.now, points, &pose))
            continue;
        for (int i = 0; i < 3; i++) length += given.t[i] * given.t[i];
        for (int i = 0; i < 9; i++) off = fmaxl(off, fabsl(pose.R[i] - given.R[i]));
        for (int i = 0; i < 3; i++) off = fmaxl(off, fabsl(pose.t[i] - given.t[i] / sqrtl(length)));
        if (off < 1e-2L) return 1;
    }
    return 0;
}

static void try_one(int points, int (*extent)(int points), struct success_counts *t)
{
    struct solutions s;
    if (!(points == 5 ? solve_five(&s) : points == 7 ? solve_seven(&s) : solve_eight(&s))) {
        t->thrown++;
        return;
    }
    const int count = extent(points);
    real worst = 0;
    for (int i = 0; i < s.count; i++) {
        real best = 9;
        for (int k = 0; k < count; k++) best = fminl(best, distance(s.E[i], work.E[k]));
        worst = fmaxl(worst, best);
    }
    t->asked++;
    t->solutions += s.count;
    t->found += count;
    for (int k = 0; k < 3; k++) t->within[k] += worst <= powl(10, k - 5);
    for (int k = 0; k < count; k++) residuals(points, work.E[k], &t->epipolar, &t->constraint);
    t->true_found += finds_truth(points, count);
}

static double share(int part, int whole) { return 100.0 * part / whole; }

static void shares(int points, int (*extent)(int points), const double least_percent[KINDS])
{
    for (int k = 0; k < KINDS; k++) {
        struct success_counts t;
        memset(&t, 0, sizeof t);
        shake((uint64_t)(100 * points + k));
        for (int i = 0; i < problems; i++) {
            give(&kinds[k]);
            try_one(points, extent, &t);
        }
        print_message("%d points, %-9s: %d problems, %d thrown away, %.3f solutions, %.3f found; all to 1e-5 in %.3f "
                      "%%, 1e-4 %.3f %%, 1e-3 %.3f %%; "
                      "true pose %.2f %%; at most %.1e of the epipolar equations left, %.1e of the constraints\n",
                      points, kinds[k].name, t.asked, t.thrown, (double)t.solutions / t.asked,
                      (double)t.found / t.asked, share(t.within[0], t.asked), share(t.within[1], t.asked),
                      share(t.within[2], t.asked), share(t.true_found, t.asked), t.epipolar, t.constraint);
        REQUIRE(t.thrown <= problems / 100 && t.asked > 0, "the oracle solves too few");
        REQUIRE(problems < 1000 || share(t.within[0], t.asked) >= least_percent[k], "%d points, %s", points,
                kinds[k].name);
    }
}

static void five(void **state)
{
    (void)state;
    const double least[KINDS] = {99.9, 99.8, 99.6};
    shares(5, solve, least);
}

static void seven(void **state)
{
    (void)state;
    const double least[KINDS] = {99.9, 99.9, 99.9};
    shares(7, solve, least);
}

static void eight(void **state)
{
    (void)state;
    const double least[KINDS] = {99.9, 99.9, 99.9};
    shares(8, solve, least);
}

/** Success rates with the factorisations that cuBLAS would compute. */
static void factored(void **state)
{
    (void)state;
    const double least[KINDS] = {99.5, 99.0, 98.5};
    shares(5, solve_by_factors, least);
    shares(7, solve_by_factors, least);
    shares(8, solve_by_factors, least);
}

/* ---- poses ------------------------------------------------------------------------------------------------------- */

/** Decomposing a matrix made from a pose returns the pose, for both signs of the matrix. */
static void poses(void **state)
{
    (void)state;
    shake(9);
    for (int i = 0; i < 20000; i++) {
        float E[9];
        struct vf_pose pose;
        real length = 0;
        give(&kinds[i % KINDS]);
        for (int k = 0; k < 3; k++) length += given.t[k] * given.t[k];
        const real scale = (i & 8 ? -1 : 1) * between(0.1, 10);
        for (int k = 0; k < 9; k++) {
            const int r = k / 3, c = k % 3, u = (r + 1) % 3, v = (r + 2) % 3;
            E[k] = (float)(scale * (given.t[u] * given.R[3 * v + c] - given.t[v] * given.R[3 * u + c]) / sqrtl(length));
        }
        REQUIRE(vf_essential_pose(E, (const float(*)[3])given.before, (const float(*)[3])given.now, 8, &pose),
                "case %d", i);
        for (int k = 0; k < 9; k++) REQUIRE(fabsl(pose.R[k] - given.R[k]) < 2e-6L, "case %d", i);
        for (int k = 0; k < 3; k++) REQUIRE(fabsl(pose.t[k] - given.t[k] / sqrtl(length)) < 2e-6L, "case %d", i);
    }
}

/** Decomposition of random matrices gives rotations. */
static void rotations(void **state)
{
    (void)state;
    shake(10);
    for (int i = 0; i < 20000; i++) {
        float E[9], R[2][9], t[3];
        for (int k = 0; k < 9; k++) E[k] = (float)between(-1, 1);
        vf_essential_decompose(E, R, t);
        for (int which = 0; which < 2; which++) {
            real M[9];
            for (int k = 0; k < 9; k++) M[k] = R[which][k];
            REQUIRE(fabsl(determinant3(M) - 1) < 1e-5L, "case %d", i);
            for (int r = 0; r < 3; r++)
                for (int c = 0; c < 3; c++) {
                    const real dot = M[3 * r] * M[3 * c] + M[3 * r + 1] * M[3 * c + 1] + M[3 * r + 2] * M[3 * c + 2];
                    REQUIRE(fabsl(dot - (r == c)) < 3e-6L, "case %d", i);
                }
        }
    }
}

/* ---- batches ---------------------------------------------------------------------------------------------------- */

/** Poses of one sample of a batch from the scalar solver. Returns their number. */
static int poses_alone(const struct vf_essential_batch *b, int s, struct vf_pose pose[10])
{
    float before[5][3], now[5][3];
    int count = 0;
    for (int i = 0; i < 15; i++) {
        before[i / 3][i % 3] = b->before[i / 3][i % 3][s];
        now[i / 3][i % 3] = b->now[i / 3][i % 3][s];
    }
    const int matrices = vf_essential_five(&work, (const float(*)[3])before, (const float(*)[3])now);
    for (int k = 0; k < matrices; k++)
        count += vf_essential_pose(work.E[k], (const float(*)[3])before, (const float(*)[3])now, 5, &pose[count]);
    return count;
}

/** The batch solver gives the same bits as the scalar solver. Samples are random; every third batch also has samples
 *  without a solution, or with NaN. */
static void batches(void **state)
{
    (void)state;
    static struct vf_essential_batch b;
    int with_poses = 0;
    shake(12);
    for (int i = 0; i < 400; i++) {
        const int count = i % 2 ? VF_BATCH : 1 + (int)between(0, VF_BATCH);
        memset(&b, i & 4 ? 0xff : 0, sizeof b);
        for (int s = 0; s < count; s++) {
            give(&kinds[s % KINDS]);
            for (int k = 0; k < 15; k++) {
                const int bad = i % 3 == 2 && between(0, 1) < 0.02;
                b.before[k / 3][k % 3][s] = bad ? (s % 2 ? NAN : 0.0f) : given.before[k / 3][k % 3];
                b.now[k / 3][k % 3][s] = i % 3 == 2 && s == 5 ? given.before[0][k % 3] : given.now[k / 3][k % 3];
            }
        }
        vf_essential_batch_solve(&b, count);
        for (int s = 0; s < count; s++) {
            struct vf_pose alone[10];
            const int should = poses_alone(&b, s, alone);
            REQUIRE(b.poses[s] == should, "batch %d, sample %d: %d poses, not %d", i, s, b.poses[s], should);
            REQUIRE(!memcmp(b.pose[s], alone, (size_t)should * sizeof *alone), "batch %d, sample %d", i, s);
            with_poses += should > 0;
        }
    }
    REQUIRE(with_poses > 2000, "%d samples with poses", with_poses);
}

/* ---- bad input --------------------------------------------------------------------------------------------------- */

static void bad_input(void **state)
{
    (void)state;
    static const float odd[] = {0.0f, -0.0f, 1.0f, NAN, INFINITY, -INFINITY, 1e-30f, 1e30f, 3e38f};
    shake(11);
    for (int i = 0; i < 30000; i++) {
        const int points = i % 3 == 0 ? 5 : i % 3 == 1 ? 7 : 8, how = i / 3 % 6;
        give(&kinds[i % KINDS]);
        for (int p = 0; p < 8; p++)
            for (int k = 0; k < 3; k++) {
                if (how == 0) given.now[p][k] = given.before[p][k];
                if (how == 1) given.before[p][k] = given.before[0][k], given.now[p][k] = given.now[0][k];
                if (how == 2) given.before[p][k] = given.now[p][k] = 0.0f;
                if (how == 3 && between(0, 1) < 0.1) given.before[p][k] = odd[(int)between(0, 9)];
                if (how == 4 && between(0, 1) < 0.5) given.now[p][k] = odd[(int)between(0, 9)];
                if (how == 5 && p > 2) given.before[p][k] = given.before[1][k], given.now[p][k] = given.now[1][k];
            }
        memset(&work, i & 64 ? 0xff : 0, sizeof work);
        const int count = i & 32 ? solve_by_factors(points) : solve(points);
        REQUIRE(count >= 0 && count <= (points == 5 ? 10 : points == 7 ? 3 : 1), "%d matrices", count);
        for (int k = 0; k < count; k++) {
            struct vf_pose pose;
            if (!vf_essential_pose(work.E[k], (const float(*)[3])given.before, (const float(*)[3])given.now, points,
                                   &pose))
                continue;
            for (int e = 0; e < 9; e++) REQUIRE(isfinite(pose.R[e]) && fabsf(pose.R[e]) < 1.001f, "case %d", i);
            for (int e = 0; e < 3; e++) REQUIRE(isfinite(pose.t[e]) && fabsf(pose.t[e]) < 1.001f, "case %d", i);
        }
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(five),  cmocka_unit_test(seven),     cmocka_unit_test(eight),   cmocka_unit_test(factored),
        cmocka_unit_test(poses), cmocka_unit_test(rotations), cmocka_unit_test(batches), cmocka_unit_test(bad_input)};
    if (argc == 3 && strcmp(argv[1], "--problems") == 0) problems = atoi(argv[2]);
    prepare();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
