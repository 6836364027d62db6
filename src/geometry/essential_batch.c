/* SPDX-License-Identifier: MIT */
#include "essential_lanes.h"

#if VFRONT_EGO

#define LANES VF_BATCH

/** Linear and quadratic forms in the four unknowns (essential.h), each coefficient with a value per lane. */
typedef vf_lanes linear[5];
typedef vf_lanes quadratic[10];
typedef double exact_lanes[LANES];

/** Members of struct vf_essential_forms, for all lanes. */
struct forms {
    linear a[3], s[6], trace;
    quadratic aa[6], ss[6], b[3], cofactor[3], norm_a, trace_ss, trace_gap;
};

/** Data passed between the steps of the batch solver. Members of a union belong to steps that do not overlap. */
struct work {
    union vf_samples sample;
    union {
        struct {
            union {
                struct {
                    vf_lanes row[5][9];
                    struct forms forms;
                };
                struct {
                    exact_lanes b[3][3][5], minor[3][7];
                };
            };
            exact_lanes column[20][10]; /* [monomial][equation]: coefficients of the ten cubic equations */
        };
        struct vf_solutions solutions;
    };
    struct vf_roots roots;
    struct vf_candidates candidates;
};

/* ---- null space -------------------------------------------------------------------------------------------------- */

/** Gauss-Newton step of the rotation that aligns the bearings, on all lanes, as in vf_essential_align(). */
static inline void align_step(struct work *restrict w)
{
    VF_KEEP_LOOP
    for (int l = 0; l < LANES; l++) {
        float R[9], before[5][3], now[5][3], g[3] = {0.0f, 0.0f, 0.0f};
        float xx = 0.0f, xy = 0.0f, xz = 0.0f, yy = 0.0f, yz = 0.0f, zz = 0.0f;
        vf_lanes_points(w->sample.of.before, l, before);
        vf_lanes_points(w->sample.of.now, l, now);
        VF_UNROLL_FULL
        for (int k = 0; k < 9; k++) R[k] = w->sample.of.R[k][l];
        VF_UNROLL_FULL
        for (int i = 0; i < 5; i++) {
            float p[3], cross[3];
            vf_transform(R, before[i], p);
            vf_cross(p, now[i], cross);
            for (int k = 0; k < 3; k++) g[k] += cross[k];
            xx += 1.001f - p[0] * p[0];
            yy += 1.001f - p[1] * p[1];
            zz += 1.001f - p[2] * p[2];
            xy -= p[0] * p[1];
            xz -= p[0] * p[2];
            yz -= p[1] * p[2];
        }
        vf_essential_turn(R, xx, xy, xz, yy, yz, zz, g);
        VF_UNROLL_FULL
        for (int k = 0; k < 9; k++) w->sample.of.R[k][l] = R[k];
    }
}

/** Writes the epipolar constraint of correspondence i on all lanes, as vf_essential_rows() does. */
static inline void make_row(struct work *restrict w, int i)
{
    VF_KEEP_LOOP
    for (int l = 0; l < LANES; l++) {
        float f[3], difference[3], row[3];
        vf_lanes *before = w->sample.of.before[i], *now = w->sample.of.now[i], *R = w->sample.of.R;
        const float h[3] = {before[0][l], before[1][l], before[2][l]}, g[3] = {now[0][l], now[1][l], now[2][l]};
        VF_UNROLL_FULL
        for (int k = 0; k < 3; k++) {
            const double rotated = (double)R[3 * k][l] * (double)h[0] + (double)R[3 * k + 1][l] * (double)h[1] +
                                   (double)R[3 * k + 2][l] * (double)h[2];
            f[k] = (float)rotated;
            difference[k] = (float)((double)g[k] - rotated);
        }
        vf_cross(f, difference, row);
        VF_UNROLL_FULL
        for (int k = 0; k < 3; k++) {
            const int n = (k + 1) % 3;
            w->row[i][k][l] = row[k];
            w->row[i][3 + k][l] = f[k] * g[k];
            w->row[i][6 + k][l] = f[k] * g[n] + f[n] * g[k];
        }
    }
}

/** Aligns the bearings and writes the five epipolar constraints on all lanes, as vf_essential_rows() does. */
VF_HOT_FLAT static void make_rows(struct work *restrict w)
{
    for (int k = 0; k < 9; k++)
        for (int l = 0; l < LANES; l++) w->sample.of.R[k][l] = k % 4 == 0 ? 1.0f : 0.0f;
    for (int round = 0; round < VF_ESSENTIAL_ALIGN_STEPS; round++) align_step(w);
    for (int i = 0; i < 5; i++) make_row(w, i);
    for (int l = 0; l < LANES; l++) w->sample.of.parallax[l] = 0.0f;
    for (int i = 0; i < 5; i++)
        for (int l = 0; l < LANES; l++) {
            const float row[9] = {w->row[i][0][l], w->row[i][1][l], w->row[i][2][l]};
            w->sample.of.parallax[l] += vf_dot(row, row);
        }
    for (int l = 0; l < LANES; l++) w->sample.of.parallax[l] = sqrtf(w->sample.of.parallax[l] / 5.0f);
    for (int i = 0; i < 15; i++)
        for (int l = 0; l < LANES; l++) w->row[i / 3][i % 3][l] = w->row[i / 3][i % 3][l] / w->sample.of.parallax[l];
}

/** Householder reflection in each lane: v -= scale (u . v) u, over elements first .. 8. */
static inline void reflect(vf_lanes v[9], vf_lanes u[9], const float *scale, int first)
{
    vf_lanes dot;
    for (int l = 0; l < LANES; l++) dot[l] = 0.0f;
    for (int j = first; j < 9; j++)
        for (int l = 0; l < LANES; l++) dot[l] += u[j][l] * v[j][l];
    for (int l = 0; l < LANES; l++) dot[l] *= scale[l];
    for (int j = first; j < 9; j++)
        for (int l = 0; l < LANES; l++) v[j][l] -= dot[l] * u[j][l];
}

/** Null space of the constraints by QR decomposition, on all lanes, as vf_essential_qr() and vf_essential_null_space()
 *  do. */
VF_HOT_FLAT static void find_null_spaces(struct work *w)
{
    vf_lanes tau[5];
    for (int k = 0; k < 5; k++) {
        vf_lanes square;
        for (int l = 0; l < LANES; l++) square[l] = 0.0f;
        for (int j = k; j < 9; j++)
            for (int l = 0; l < LANES; l++) square[l] += w->row[k][j][l] * w->row[k][j][l];
        for (int l = 0; l < LANES; l++) {
            const float head = w->row[k][k][l], root = sqrtf(square[l]), length = head > 0.0f ? -root : root;
            tau[k][l] = 1.0f / (length * (length - head));
            w->row[k][k][l] = head - length;
        }
        for (int i = k + 1; i < 5; i++) reflect(w->row[i], w->row[k], tau[k], k);
    }
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < 9; j++)
            for (int l = 0; l < LANES; l++) w->sample.of.null_space[i][j][l] = j == 5 + i ? 1.0f : 0.0f;
        for (int k = 4; k >= 0; k--) reflect(w->sample.of.null_space[i], w->row[k], tau[k], k);
    }
}

/* ---- cubic equations --------------------------------------------------------------------------------------------- */

/** Coefficient of the product of unknowns i and j in the product of two linear forms u and v, in lane l. */
static inline float product(vf_lanes u[5], vf_lanes v[5], int i, int j, int l)
{
    return i == j ? u[i][l] * v[i][l] : u[i][l] * v[j][l] + u[j][l] * v[i][l];
}

/** Coefficient of the product of unknowns i and j in u0 v0 + u1 v1 + u2 v2, products of linear forms, on all lanes. */
static inline void sum_products(float *restrict sum, vf_lanes *u0, vf_lanes *v0, vf_lanes *u1, vf_lanes *v1,
                                vf_lanes *u2, vf_lanes *v2, int i, int j)
{
    VF_KEEP_LOOP
    for (int l = 0; l < LANES; l++)
        sum[l] = product(u0, v0, i, j, l) + product(u1, v1, i, j, l) + product(u2, v2, i, j, l);
}

/** Coefficients of quadratic monomial m, the product of unknowns i and j, in the forms that belong to row g (0 .. 2) of
 *  S. */
static inline void form_products(struct forms *f, int g, int m, int i, int j)
{
    const int h = (g + 1) % 3, n = (g + 2) % 3;
    vf_lanes *gg = f->s[g], *hh = f->s[h], *gh = f->s[3 + g], *hn = f->s[3 + h], *ng = f->s[3 + n],
             *up = f->s[vf_symmetric_index(1, h)], *down = f->s[vf_symmetric_index(2, n)],
             *left = f->s[vf_symmetric_index(1, n)], *right = f->s[vf_symmetric_index(2, h)];
    float *restrict square = f->aa[g][m], *restrict mixed = f->aa[3 + g][m], *restrict cofactor = f->cofactor[g][m];
    VF_KEEP_LOOP
    for (int l = 0; l < LANES; l++) {
        square[l] = product(f->a[g], f->a[g], i, j, l);
        mixed[l] = product(f->a[g], f->a[h], i, j, l);
        cofactor[l] = product(up, down, i, j, l) - product(left, right, i, j, l);
    }
    sum_products(f->ss[g][m], gg, gg, gh, gh, ng, ng, i, j);
    sum_products(f->ss[3 + g][m], gg, gh, gh, hh, ng, hn, i, j);
    sum_products(f->b[g][m], gg, f->a[g], gh, f->a[h], ng, f->a[n], i, j);
}

/** Linear and quadratic forms from the null space, on all lanes, as vf_essential_make_forms() computes them. */
VF_HOT_FLAT static void make_forms(struct work *w)
{
    struct forms *f = &w->forms;
    for (int i = 0; i < 5; i++) {
        vf_lanes *null = w->sample.of.null_space[i < 4 ? i : 0];
        for (int l = 0; l < LANES; l++) {
            for (int k = 0; k < 3; k++) f->a[k][i][l] = i < 4 ? null[k][l] : 0.0f;
            for (int k = 0; k < 6; k++) f->s[k][i][l] = i < 4 ? null[3 + k][l] : 0.0f;
            f->trace[i][l] = i < 4 ? null[3][l] + null[4][l] + null[5][l] : 0.0f;
        }
    }
    for (int m = 0; m < 10; m++) {
        const int i = vf_quadratic_monomial(m) & 3, j = vf_quadratic_monomial(m) >> 2;
        for (int g = 0; g < 3; g++)
            if (i == j)
                form_products(f, g, m, i, i);
            else
                form_products(f, g, m, i, j);
        for (int l = 0; l < LANES; l++) {
            f->norm_a[m][l] = f->aa[0][m][l] + f->aa[1][m][l] + f->aa[2][m][l];
            f->trace_ss[m][l] = f->ss[0][m][l] + f->ss[1][m][l] + f->ss[2][m][l];
            f->trace_gap[m][l] = 0.5f * product(f->trace, f->trace, i, j, l) - f->trace_ss[m][l];
        }
    }
}

/** Coefficient of a cubic monomial in the product of a linear form u and a quadratic form v, in lane l. s:
 *  factorisations of the monomial. */
static inline float term(const struct vf_cubic_factors *s, vf_lanes u[5], vf_lanes v[10], int l)
{
    return u[s->linear[0]][l] * v[s->quadratic[0]][l] + u[s->linear[1]][l] * v[s->quadratic[1]][l] +
           u[s->linear[2]][l] * v[s->quadratic[2]][l];
}

/** Coefficients of a cubic monomial in equations 0 to 5 of vf_essential_coefficients(), those of the symmetric part.
 *  cube: out, its coefficient in tr(S^3), for equation 9. */
static inline void symmetric_equations(struct forms *f, vf_lanes parallax, const struct vf_cubic_factors *s,
                                       exact_lanes equation[10], vf_lanes cube)
{
    vf_lanes on_diagonal;
    for (int l = 0; l < LANES; l++) {
        on_diagonal[l] = term(s, f->a[0], f->b[0], l) + term(s, f->a[1], f->b[1], l) + term(s, f->a[2], f->b[2], l) -
                         term(s, f->trace, f->norm_a, l);
        cube[l] = 0.0f;
    }
    VF_UNROLL_FULL
    for (int i = 0; i < 3; i++) {
        VF_UNROLL_FULL
        for (int j = i; j < 3; j++) {
            const int e = vf_symmetric_index(i, j);
            VF_KEEP_LOOP
            for (int l = 0; l < LANES; l++) {
                float third = 0.0f;
                VF_UNROLL_FULL
                for (int k = 0; k < 3; k++)
                    third += term(s, f->s[vf_symmetric_index(j, k)], f->ss[vf_symmetric_index(i, k)], l);
                cube[l] += i == j ? third : 0.0f;
                third -= 0.5f * term(s, f->s[e], f->trace_ss, l);
                equation[e][l] = (double)(2.0f * (term(s, f->s[e], f->norm_a, l) - term(s, f->a[i], f->b[j], l) -
                                                  term(s, f->a[j], f->b[i], l)) +
                                          term(s, f->trace, f->aa[e], l) + (i == j ? on_diagonal[l] : 0.0f) +
                                          parallax[l] * parallax[l] * third);
            }
        }
    }
}

/** Coefficients of a cubic monomial in equations 6 to 9 of vf_essential_coefficients(). cube: its coefficient in
 *  tr(S^3). */
static inline void other_equations(struct forms *f, const struct vf_cubic_factors *s, vf_lanes cube,
                                   exact_lanes equation[10])
{
    vf_lanes determinant;
    for (int l = 0; l < LANES; l++) determinant[l] = 0.0f;
    VF_UNROLL_FULL
    for (int i = 0; i < 3; i++) {
        VF_KEEP_LOOP
        for (int l = 0; l < LANES; l++) {
            float twice = 0.0f;
            VF_UNROLL_FULL
            for (int k = 0; k < 3; k++) twice += term(s, f->s[vf_symmetric_index(i, k)], f->b[k], l);
            equation[6 + i][l] = (double)(2.0f * twice - term(s, f->trace, f->b[i], l) +
                                          term(s, f->a[i], f->trace_gap, l));
            determinant[l] += term(s, f->s[vf_symmetric_index(0, i)], f->cofactor[i], l);
        }
    }
    VF_KEEP_LOOP
    for (int l = 0; l < LANES; l++)
        equation[9][l] = (double)(determinant[l] + cube[l] - 0.5f * term(s, f->trace, f->trace_ss, l));
}

/** Coefficients of all 20 monomials in the ten cubic equations, on all lanes. */
VF_HOT_FLAT static void make_equations(struct work *w)
{
    for (int m = 0; m < 20; m++) {
        const struct vf_cubic_factors s = vf_cubic_factors_of(m);
        vf_lanes cube;
        symmetric_equations(&w->forms, w->sample.of.parallax, &s, w->column[m], cube);
        other_equations(&w->forms, &s, cube, w->column[m]);
    }
}

/* ---- elimination ------------------------------------------------------------------------------------------------- */

/** Finds the pivot row of column k in each lane: the largest element of rows k .. 9. row: out. */
static inline void find_pivots(exact_lanes column[10], int k, int32_t row[LANES])
{
    exact_lanes largest, at;
    for (int l = 0; l < LANES; l++) {
        largest[l] = fabs(column[k][l]);
        at[l] = (double)k;
    }
    for (int r = k + 1; r < 10; r++)
        for (int l = 0; l < LANES; l++) {
            const double magnitude = fabs(column[r][l]);
            const int larger = magnitude > largest[l];
            at[l] = larger ? (double)r : at[l];
            largest[l] = larger ? magnitude : largest[l];
        }
    for (int l = 0; l < LANES; l++) row[l] = (int32_t)at[l];
}

/** Exchanges row k with the pivot row of each lane, in columns k .. 19. */
static inline void exchange_rows(exact_lanes column[20][10], int k, const int32_t row[LANES])
{
    for (int l = 0; l < LANES; l++)
        for (int c = k, p = row[l]; c < 20 && p != k; c++) {
            const double held = column[c][k][l];
            column[c][k][l] = column[c][p][l];
            column[c][p][l] = held;
        }
}

/** Gauss-Jordan elimination of the ten cubic equations on all lanes, as in vf_essential_eliminate(). */
VF_HOT_FLAT static void eliminate(struct work *w)
{
    for (int k = 0; k < 10; k++) {
        int32_t row[LANES];
        exact_lanes inverse, *pivots = w->column[k];
        find_pivots(pivots, k, row);
        exchange_rows(w->column, k, row);
        for (int l = 0; l < LANES; l++) inverse[l] = 1.0 / pivots[k][l];
        for (int r = 0; r < k && r < 4; r++)
            for (int l = 0; l < LANES; l++) pivots[r][l] = 0.0;
        for (int c = k + 1; c < 20; c++) {
            exact_lanes top, *column = w->column[c];
            for (int l = 0; l < LANES; l++) top[l] = column[k][l] * inverse[l];
            for (int r = 0; r < 10; r++)
                for (int l = 0; l < LANES; l++) column[r][l] -= pivots[r][l] * top[l];
            for (int l = 0; l < LANES; l++) column[k][l] = top[l];
        }
    }
}

/* ---- polynomial -------------------------------------------------------------------------------------------------- */

static inline void make_polynomials(struct work *w)
{
    for (int task = 0; task < 9; task++) {
        const int r = task / 3, v = task % 3, upper = 4 + 2 * r, lower = upper + 1, count = v < 2 ? 3 : 4;
        for (int i = 0; i <= count; i++)
            for (int l = 0; l < LANES; l++) {
                const double first = i < count ? w->column[9 + 3 * v + count - i][upper][l] : 0.0,
                             second = i > 0 ? w->column[9 + 3 * v + count - i + 1][lower][l] : 0.0;
                w->b[r][v][i][l] = first - second;
            }
        for (int l = 0; l < LANES && count == 3; l++) w->b[r][v][4][l] = 0.0;
        for (int i = 0; i < 5; i++)
            for (int l = 0; l < LANES; l++) w->sample.of.b[r][v][i][l] = (float)w->b[r][v][i][l];
    }
}

static inline void make_minors(struct work *w)
{
    for (int task = 0; task < 21; task++) {
        const int r = task / 7, m = task % 7, s = (r + 1) % 3, t = (r + 2) % 3;
        exact_lanes *sum = &w->minor[r][m];
        for (int l = 0; l < LANES; l++) (*sum)[l] = 0.0;
        for (int i = m < 3 ? 0 : m - 3; i <= 3 && i <= m; i++)
            for (int l = 0; l < LANES; l++)
                (*sum)[l] += w->b[s][0][i][l] * w->b[t][1][m - i][l] - w->b[s][1][i][l] * w->b[t][0][m - i][l];
    }
}

/** Polynomial of degree 10 of each lane, into w->roots.c, as vf_essential_resultant() computes it. */
VF_HOT_FLAT static void make_resultants(struct work *w)
{
    exact_lanes *c = w->roots.c;
    vf_lanes largest;
    make_polynomials(w);
    make_minors(w);
    for (int l = 0; l < LANES; l++) largest[l] = 0.0f;
    for (int m = 0; m < 11; m++) {
        for (int l = 0; l < LANES; l++) c[m][l] = 0.0;
        for (int r = 0; r < 3; r++)
            for (int i = m < 4 ? 0 : m - 4; i <= 6 && i <= m; i++)
                for (int l = 0; l < LANES; l++) c[m][l] += w->minor[r][i][l] * w->b[r][2][m - i][l];
        for (int l = 0; l < LANES; l++) {
            const float magnitude = fabsf((float)c[m][l]);
            largest[l] = magnitude > largest[l] ? magnitude : largest[l];
        }
    }
    for (int m = 0; m < 11; m++)
        for (int l = 0; l < LANES; l++) c[m][l] *= (double)(1.0f / largest[l]);
}

/* ---- solutions --------------------------------------------------------------------------------------------------- */

/** Lists the real roots of the first `count` samples' polynomials, up to VF_ESSENTIAL_SOLUTIONS of a sample. */
static void list_candidates(struct vf_candidates *c, const struct vf_roots *roots, int count)
{
    c->count = 0;
    for (int l = 0; l < count; l++)
        for (int i = 0, of_sample = 0; i < 20 && of_sample < VF_ESSENTIAL_SOLUTIONS; i++) {
            const float x = roots->root[i][0][l], y = roots->root[i][1][l];
            if (x == 0.0f && y == 0.0f) continue;
            c->from[c->count] = (uint8_t)l;
            c->root[c->count][0] = x;
            c->root[c->count++][1] = y;
            of_sample++;
        }
}

void vf_essential_batch_solve(struct vf_essential_batch *b, int count)
{
    struct work w;
    memset(b->poses, 0, sizeof b->poses);
    memcpy(w.sample.of.before, b->before, sizeof b->before);
    memcpy(w.sample.of.now, b->now, sizeof b->now);
    /* bearings of unused lanes are zeroed: their constraints become NaN, and they have no root */
    for (int i = 0; i < 30; i++)
        for (int l = count; l < LANES; l++) w.sample.value[i][l] = 0.0f;
    make_rows(&w);
    find_null_spaces(&w);
    make_forms(&w);
    make_equations(&w);
    eliminate(&w);
    make_resultants(&w);
    vf_roots_find(&w.roots, 10);
    list_candidates(&w.candidates, &w.roots, count);
    vf_essential_poses(b, &w.candidates, &w.sample, &w.solutions);
}

#endif
