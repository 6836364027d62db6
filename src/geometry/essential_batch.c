/* SPDX-License-Identifier: MIT */
#include "essential_batch.h"

#include "essential_five.h"

#define LANES VF_BATCH
#define CONVERGED 1e-10f /* squared length of the last step, as in vf_essential_polish() */
#define CANDIDATES (VF_BATCH * VF_ESSENTIAL_SOLUTIONS)

/** A value of each lane; forms as in essential.h, coefficients by lane. */
typedef float lanes[LANES];
typedef double exact_lanes[LANES];
typedef lanes linear[5];
typedef lanes quadratic[10];

/** struct vf_essential_forms of each lane. */
struct forms {
    linear a[3], s[6], trace;
    quadratic aa[6], ss[6], b[3], cofactor[3], norm_a, trace_ss, trace_gap;
};

/** What the solutions of a sample are made from. */
#define SAMPLE_VALUES (15 + 15 + 9 + 1 + 36 + 45)
union samples {
    struct {
        lanes before[5][3], now[5][3], R[9], parallax, null_space[4][9], b[3][3][5]; /* b: rounded */
    } of;
    lanes value[SAMPLE_VALUES];
};
VF_STATIC_ASSERT(sizeof(union samples) == SAMPLE_VALUES * sizeof(lanes), "values fill a sample");

/** Candidates side by side: what belongs to their samples, and their solutions. */
struct candidates {
    union samples sample;                    /* of each */
    lanes x, y;                              /* root */
    lanes E[9], q[4], t[3], step_squared;    /* q, t: struct vf_polish */
    lanes m[5][6], tangent[2][3], change[5]; /* of a step: its system, its axes, its solution */
    lanes pose[12];                          /* struct vf_pose */
    lanes sign;                              /* 0: no pose */
};

/** What the steps hand on. Members of a union are those of steps that follow one another. */
struct work {
    union samples sample;
    union {
        struct {
            union {
                struct {
                    lanes row[5][9];
                    struct forms forms;
                };
                struct {
                    exact_lanes b[3][3][5], minor[3][7];
                };
            };
            exact_lanes column[20][10]; /* coefficients of the ten equations, by monomial */
        };
        struct candidates candidates;
    };
    struct vf_roots roots;
    uint8_t from[CANDIDATES]; /* sample of each candidate */
    float root[CANDIDATES][2];
};

/* ---- null space -------------------------------------------------------------------------------------------------- */

/** Points of a lane. */
static inline void load_points(lanes from[5][3], int l, float point[5][3])
{
    VF_PEEL
    for (int i = 0; i < 5; i++) {
        VF_PEEL
        for (int k = 0; k < 3; k++) point[i][k] = from[i][k][l];
    }
}

/** A step of vf_essential_align() of all lanes. */
static inline void align_step(struct work *restrict w)
{
    VF_KEEP
    for (int l = 0; l < LANES; l++) {
        float R[9], before[5][3], now[5][3], g[3] = {0.0f, 0.0f, 0.0f};
        float xx = 0.0f, xy = 0.0f, xz = 0.0f, yy = 0.0f, yz = 0.0f, zz = 0.0f;
        load_points(w->sample.of.before, l, before);
        load_points(w->sample.of.now, l, now);
        VF_PEEL
        for (int k = 0; k < 9; k++) R[k] = w->sample.of.R[k][l];
        VF_PEEL
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
        const float c0[3] = {yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy};
        const float c1[3] = {c0[1], xx * zz - xz * xz, xy * xz - xx * yz}, c2[3] = {c0[2], c1[2], xx * yy - xy * xy};
        const float scale = 1.0f / (xx * c0[0] + xy * c0[1] + xz * c0[2]);
        const float step_rad[3] = {scale * vf_dot(c0, g), scale * vf_dot(c1, g), scale * vf_dot(c2, g)};
        vf_pose_rotate(R, step_rad);
        VF_PEEL
        for (int k = 0; k < 9; k++) w->sample.of.R[k][l] = R[k];
    }
}

/** Row of the constraints of point i, as in vf_essential_rows(), of all lanes. */
static inline void make_row(struct work *restrict w, int i)
{
    VF_KEEP
    for (int l = 0; l < LANES; l++) {
        float f[3], difference[3], row[3];
        lanes *before = w->sample.of.before[i], *now = w->sample.of.now[i], *R = w->sample.of.R;
        const float h[3] = {before[0][l], before[1][l], before[2][l]}, g[3] = {now[0][l], now[1][l], now[2][l]};
        VF_PEEL
        for (int k = 0; k < 3; k++) {
            const double rotated = (double)R[3 * k][l] * (double)h[0] + (double)R[3 * k + 1][l] * (double)h[1] +
                                   (double)R[3 * k + 2][l] * (double)h[2];
            f[k] = (float)rotated;
            difference[k] = (float)((double)g[k] - rotated);
        }
        vf_cross(f, difference, row);
        VF_PEEL
        for (int k = 0; k < 3; k++) {
            const int n = (k + 1) % 3;
            w->row[i][k][l] = row[k];
            w->row[i][3 + k][l] = f[k] * g[k];
            w->row[i][6 + k][l] = f[k] * g[n] + f[n] * g[k];
        }
    }
}

/** vf_essential_rows() of all lanes. */
VF_LOOP static void make_rows(struct work *restrict w)
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

/** Reflection of a vector of each lane: v -= scale (u . v) u, from element `first` on. */
static inline void reflect(lanes v[9], lanes u[9], const float *scale, int first)
{
    lanes dot;
    for (int l = 0; l < LANES; l++) dot[l] = 0.0f;
    for (int j = first; j < 9; j++)
        for (int l = 0; l < LANES; l++) dot[l] += u[j][l] * v[j][l];
    for (int l = 0; l < LANES; l++) dot[l] *= scale[l];
    for (int j = first; j < 9; j++)
        for (int l = 0; l < LANES; l++) v[j][l] -= dot[l] * u[j][l];
}

/** vf_essential_qr() and vf_essential_null_space() of all lanes. */
VF_LOOP static void find_null_spaces(struct work *w)
{
    lanes tau[5];
    for (int k = 0; k < 5; k++) {
        lanes square;
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

/** vf_quadratic_coefficient() of a lane. */
static inline float product(lanes u[5], lanes v[5], int i, int j, int l)
{
    return i == j ? u[i][l] * v[i][l] : u[i][l] * v[j][l] + u[j][l] * v[i][l];
}

/** Sum of the products of three pairs of linear forms, element i j. */
static inline void sum_products(float *restrict sum, lanes *u0, lanes *v0, lanes *u1, lanes *v1, lanes *u2, lanes *v2,
                                int i, int j)
{
    VF_KEEP
    for (int l = 0; l < LANES; l++)
        sum[l] = product(u0, v0, i, j, l) + product(u1, v1, i, j, l) + product(u2, v2, i, j, l);
}

/** Elements i j, monomial m, of the quadratic forms of row g. */
static inline void form_products(struct forms *f, int g, int m, int i, int j)
{
    const int h = (g + 1) % 3, n = (g + 2) % 3;
    lanes *gg = f->s[g], *hh = f->s[h], *gh = f->s[3 + g], *hn = f->s[3 + h], *ng = f->s[3 + n],
          *up = f->s[vf_symmetric_index(1, h)], *down = f->s[vf_symmetric_index(2, n)],
          *left = f->s[vf_symmetric_index(1, n)], *right = f->s[vf_symmetric_index(2, h)];
    float *restrict square = f->aa[g][m], *restrict mixed = f->aa[3 + g][m], *restrict cofactor = f->cofactor[g][m];
    VF_KEEP
    for (int l = 0; l < LANES; l++) {
        square[l] = product(f->a[g], f->a[g], i, j, l);
        mixed[l] = product(f->a[g], f->a[h], i, j, l);
        cofactor[l] = product(up, down, i, j, l) - product(left, right, i, j, l);
    }
    sum_products(f->ss[g][m], gg, gg, gh, gh, ng, ng, i, j);
    sum_products(f->ss[3 + g][m], gg, gh, gh, hh, ng, hn, i, j);
    sum_products(f->b[g][m], gg, f->a[g], gh, f->a[h], ng, f->a[n], i, j);
}

/** vf_essential_make_forms() of all lanes. */
VF_LOOP static void make_forms(struct work *w)
{
    struct forms *f = &w->forms;
    for (int i = 0; i < 5; i++) {
        lanes *null = w->sample.of.null_space[i < 4 ? i : 0];
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

/** vf_cubic_coefficient() of a lane. */
static inline float term(const struct vf_cubic_factors *s, lanes u[5], lanes v[10], int l)
{
    return u[s->linear[0]][l] * v[s->quadratic[0]][l] + u[s->linear[1]][l] * v[s->quadratic[1]][l] +
           u[s->linear[2]][l] * v[s->quadratic[2]][l];
}

/** The first six equations of vf_essential_coefficients(), and the cube of the tenth, for a monomial. */
static inline void symmetric_equations(struct forms *f, lanes parallax, const struct vf_cubic_factors *s,
                                       exact_lanes equation[10], lanes cube)
{
    lanes on_diagonal;
    for (int l = 0; l < LANES; l++) {
        on_diagonal[l] = term(s, f->a[0], f->b[0], l) + term(s, f->a[1], f->b[1], l) + term(s, f->a[2], f->b[2], l) -
                         term(s, f->trace, f->norm_a, l);
        cube[l] = 0.0f;
    }
    VF_PEEL
    for (int i = 0; i < 3; i++) {
        VF_PEEL
        for (int j = i; j < 3; j++) {
            const int e = vf_symmetric_index(i, j);
            VF_KEEP
            for (int l = 0; l < LANES; l++) {
                float third = 0.0f;
                VF_PEEL
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

/** The other four. */
static inline void other_equations(struct forms *f, const struct vf_cubic_factors *s, lanes cube,
                                   exact_lanes equation[10])
{
    lanes determinant;
    for (int l = 0; l < LANES; l++) determinant[l] = 0.0f;
    VF_PEEL
    for (int i = 0; i < 3; i++) {
        VF_KEEP
        for (int l = 0; l < LANES; l++) {
            float twice = 0.0f;
            VF_PEEL
            for (int k = 0; k < 3; k++) twice += term(s, f->s[vf_symmetric_index(i, k)], f->b[k], l);
            equation[6 + i][l] = (double)(2.0f * twice - term(s, f->trace, f->b[i], l) +
                                          term(s, f->a[i], f->trace_gap, l));
            determinant[l] += term(s, f->s[vf_symmetric_index(0, i)], f->cofactor[i], l);
        }
    }
    VF_KEEP
    for (int l = 0; l < LANES; l++)
        equation[9][l] = (double)(determinant[l] + cube[l] - 0.5f * term(s, f->trace, f->trace_ss, l));
}

/** vf_essential_coefficients() of all monomials. */
VF_LOOP static void make_equations(struct work *w)
{
    for (int m = 0; m < 20; m++) {
        const struct vf_cubic_factors s = vf_cubic_factors_of(m);
        lanes cube;
        symmetric_equations(&w->forms, w->sample.of.parallax, &s, w->column[m], cube);
        other_equations(&w->forms, &s, cube, w->column[m]);
    }
}

/* ---- elimination ------------------------------------------------------------------------------------------------- */

/** Row of the pivot of column k of each lane. */
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

/** Exchange row k and the pivot's of each lane, in column k and those behind it. */
static inline void exchange_rows(exact_lanes column[20][10], int k, const int32_t row[LANES])
{
    for (int l = 0; l < LANES; l++)
        for (int c = k, p = row[l]; c < 20 && p != k; c++) {
            const double held = column[c][k][l];
            column[c][k][l] = column[c][p][l];
            column[c][p][l] = held;
        }
}

/** vf_essential_eliminate() of all lanes. */
VF_LOOP static void eliminate(struct work *w)
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

/** vf_essential_resultant() of all lanes, into w->roots.c. */
VF_LOOP static void make_resultants(struct work *w)
{
    exact_lanes *c = w->roots.c;
    lanes largest;
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

/** List the real roots, up to VF_ESSENTIAL_SOLUTIONS of a sample. Returns their number. */
static int list_candidates(struct work *w, int count)
{
    int candidates = 0;
    for (int l = 0; l < count; l++)
        for (int i = 0, of_sample = 0; i < 20 && of_sample < VF_ESSENTIAL_SOLUTIONS; i++) {
            const float x = w->roots.root[i][0][l], y = w->roots.root[i][1][l];
            if (x == 0.0f && y == 0.0f) continue;
            w->from[candidates] = (uint8_t)l;
            w->root[candidates][0] = x;
            w->root[candidates++][1] = y;
            of_sample++;
        }
    return candidates;
}

/** Gather candidates first .. first + here; places behind them repeat the first. */
static void gather(struct work *w, int first, int here)
{
    struct candidates *c = &w->candidates;
    for (int l = 0; l < LANES; l++) {
        const int at = first + (l < here ? l : 0), s = w->from[at];
        for (int i = 0; i < SAMPLE_VALUES; i++) c->sample.value[i][l] = w->sample.value[i][s];
        c->x[l] = w->root[at][0];
        c->y[l] = w->root[at][1];
    }
}

/** vf_essential_from_root() of all lanes. */
VF_LOOP static void from_roots(struct candidates *restrict g)
{
    VF_KEEP
    for (int l = 0; l < LANES; l++) {
        const float x = g->x[l], y = g->y[l], y2 = y * y, x2 = x * x;
        float m[3][3], best[3] = {0.0f, 0.0f, 0.0f}, largest = 0.0f, u[9], E[9];
        lanes(*null)[9] = g->sample.of.null_space;
        VF_PEEL
        for (int r = 0; r < 3; r++) {
            VF_PEEL
            for (int c = 0; c < 3; c++) {
                lanes *all = g->sample.of.b[r][c];
                const float b[5] = {all[0][l], all[1][l], all[2][l], all[3][l], all[4][l]};
                const float low = b[0] * y + b[1] * x, high = b[2] * y + b[3] * x;
                m[r][c] = c < 2 ? low * y2 + high * x2
                                : (b[0] * y2 + b[1] * x * y) * y2 + (b[2] * y2 + b[3] * x * y + b[4] * x2) * x2;
            }
        }
        VF_PEEL
        for (int r = 0; r < 3; r++) {
            float c[3];
            vf_cross(m[r], m[(r + 1) % 3], c);
            const float square = vf_dot(c, c);
            VF_PEEL
            for (int k = 0; k < 3; k++) best[k] = square > largest ? c[k] : best[k];
            largest = square > largest ? square : largest;
        }
        VF_PEEL
        for (int k = 0; k < 9; k++)
            u[k] = best[0] * null[0][k][l] + best[1] * null[1][k][l] +
                   best[2] * (x * null[2][k][l] + y * null[3][k][l]);
        vf_essential_from_unknowns(g->sample.of.parallax[l], u, E);
        VF_PEEL
        for (int k = 0; k < 9; k++) g->E[k][l] = E[k];
    }
}

/** Start of vf_essential_polish() of all lanes. */
VF_LOOP static void begin_polish(struct candidates *restrict g)
{
    VF_KEEP
    for (int l = 0; l < LANES; l++) {
        float E[9], align[9], R[2][9], t[3], rotation[9];
        struct vf_polish m;
        VF_PEEL
        for (int k = 0; k < 9; k++) {
            E[k] = g->E[k][l];
            align[k] = g->sample.of.R[k][l];
        }
        vf_essential_decompose(E, R, t);
        vf_matrix_product(R[0], align, rotation);
        vf_polish_from_pose(&m, rotation, t);
        VF_PEEL
        for (int k = 0; k < 4; k++) g->q[k][l] = m.q[k];
        VF_PEEL
        for (int k = 0; k < 3; k++) g->t[k][l] = m.t[k];
        g->step_squared[l] = 1.0f;
    }
}

/** Linearised constraints of vf_polish_step(), in m; the two tangents of the translation. */
static inline void linearise(struct candidates *restrict g)
{
    VF_KEEP
    for (int l = 0; l < LANES; l++) {
        const struct vf_polish m = {{g->q[0][l], g->q[1][l], g->q[2][l], g->q[3][l]},
                                    {g->t[0][l], g->t[1][l], g->t[2][l]}};
        float before[5][3], now[5][3], R[9], tangent[2][3], residual[5], row[5][6];
        load_points(g->sample.of.before, l, before);
        load_points(g->sample.of.now, l, now);
        vf_polish_rotation(m.q, R);
        vf_polish_tangents(m.t, tangent[0], tangent[1]);
        vf_polish_residuals(&m, (const float(*)[3])before, (const float(*)[3])now, residual);
        VF_PEEL
        for (int i = 0; i < 5; i++) vf_polish_row(&m, R, tangent, before[i], now[i], residual[i], row[i]);
        VF_PEEL
        for (int i = 0; i < 5; i++) {
            VF_PEEL
            for (int k = 0; k < 6; k++) g->m[i][k][l] = row[i][k];
        }
        VF_PEEL
        for (int k = 0; k < 3; k++) {
            g->tangent[0][k][l] = tangent[0][k];
            g->tangent[1][k][l] = tangent[1][k];
        }
    }
}

/** Exchange row k of the system and that of the largest element of column k, which becomes the pivot. */
static inline void exchange(lanes m[5][6], int k)
{
    lanes pivot;
    int32_t row[LANES];
    for (int l = 0; l < LANES; l++) {
        row[l] = k;
        pivot[l] = m[k][k][l];
    }
    for (int r = k + 1; r < 5; r++)
        for (int l = 0; l < LANES; l++) {
            const int larger = fabsf(m[r][k][l]) > fabsf(pivot[l]);
            row[l] = larger ? r : row[l];
            pivot[l] = larger ? m[r][k][l] : pivot[l];
        }
    for (int r = k + 1; r < 5; r++)
        for (int c = k; c < 6; c++)
            for (int l = 0; l < LANES; l++) {
                const float top = m[k][c][l], element = m[r][c][l];
                m[r][c][l] = row[l] == r ? top : element;
                m[k][c][l] = row[l] == r ? element : top;
            }
}

/** vf_solve5() of all lanes. */
static inline void solve(lanes m[5][6], lanes x[5])
{
    lanes inverse[5];
    for (int k = 0; k < 5; k++) {
        exchange(m, k);
        for (int l = 0; l < LANES; l++) inverse[k][l] = 1.0f / m[k][k][l];
        for (int r = k + 1; r < 5; r++) {
            lanes factor;
            for (int l = 0; l < LANES; l++) factor[l] = m[r][k][l] * inverse[k][l];
            for (int c = k + 1; c < 6; c++)
                for (int l = 0; l < LANES; l++) m[r][c][l] -= factor[l] * m[k][c][l];
        }
    }
    for (int k = 4; k >= 0; k--) {
        lanes sum;
        for (int l = 0; l < LANES; l++) sum[l] = m[k][5][l];
        for (int c = k + 1; c < 5; c++)
            for (int l = 0; l < LANES; l++) sum[l] -= m[k][c][l] * x[c][l];
        for (int l = 0; l < LANES; l++) x[k][l] = sum[l] * inverse[k][l];
    }
}

/** vf_polish_step() of the lanes that have not converged. */
VF_LOOP static void polish_step(struct candidates *restrict g)
{
    linearise(g);
    solve(g->m, g->change);
    VF_KEEP
    for (int l = 0; l < LANES; l++) {
        struct vf_polish m = {{g->q[0][l], g->q[1][l], g->q[2][l], g->q[3][l]}, {g->t[0][l], g->t[1][l], g->t[2][l]}};
        const float x[5] = {g->change[0][l], g->change[1][l], g->change[2][l], g->change[3][l], g->change[4][l]};
        float tangent[2][3] = {{g->tangent[0][0][l], g->tangent[0][1][l], g->tangent[0][2][l]},
                               {g->tangent[1][0][l], g->tangent[1][1][l], g->tangent[1][2][l]}};
        const float last = g->step_squared[l], square = vf_polish_move(&m, x, tangent);
        VF_PEEL
        for (int k = 0; k < 4; k++) g->q[k][l] = last < CONVERGED ? g->q[k][l] : m.q[k];
        VF_PEEL
        for (int k = 0; k < 3; k++) g->t[k][l] = last < CONVERGED ? g->t[k][l] : m.t[k];
        g->step_squared[l] = last < CONVERGED ? last : square;
    }
}

static int all_converged(const struct candidates *g)
{
    int moves = 0;
    for (int l = 0; l < LANES; l++) moves |= !(g->step_squared[l] < CONVERGED);
    return !moves;
}

/** End of vf_essential_polish() of all lanes. */
VF_LOOP static void end_polish(struct candidates *restrict g)
{
    VF_KEEP
    for (int l = 0; l < LANES; l++) {
        const float q[4] = {g->q[0][l], g->q[1][l], g->q[2][l], g->q[3][l]},
                    t[3] = {g->t[0][l], g->t[1][l], g->t[2][l]};
        float R[9];
        vf_polish_rotation(q, R);
        VF_PEEL
        for (int k = 0; k < 3; k++) {
            g->E[k][l] = t[1] * R[6 + k] - t[2] * R[3 + k];
            g->E[3 + k][l] = t[2] * R[k] - t[0] * R[6 + k];
            g->E[6 + k][l] = t[0] * R[3 + k] - t[1] * R[k];
        }
    }
}

/** Depths of a point in both cameras, of either sign, as in vf_essential_pose(). */
static inline void find_depths(const float R[9], const float t[3], const float before[3], const float now[3],
                               float depth[2])
{
    float g[3], gh[3], th[3], tg[3];
    vf_transform(R, before, g);
    vf_cross(g, now, gh);
    vf_cross(t, now, th);
    vf_cross(t, g, tg);
    depth[0] = -vf_dot(th, gh);
    depth[1] = -vf_dot(tg, gh);
}

/** Sign of t with which all points are in front of both cameras; 0: neither. */
static inline float sign_of(const float R[9], const float t[3], float before[5][3], float now[5][3])
{
    float ahead = 1.0f, behind = 1.0f;
    VF_PEEL
    for (int i = 0; i < 5; i++) {
        float depth[2];
        find_depths(R, t, before[i], now[i], depth);
        ahead = depth[0] > 0.0f ? ahead : 0.0f;
        ahead = depth[1] > 0.0f ? ahead : 0.0f;
        behind = depth[0] < 0.0f ? behind : 0.0f;
        behind = depth[1] < 0.0f ? behind : 0.0f;
    }
    return ahead - behind;
}

/** vf_essential_pose() of all lanes. */
VF_LOOP static void find_poses(struct candidates *restrict g)
{
    VF_KEEP
    for (int l = 0; l < LANES; l++) {
        float E[9], R[2][9], t[3], before[5][3], now[5][3];
        VF_PEEL
        for (int k = 0; k < 9; k++) E[k] = g->E[k][l];
        load_points(g->sample.of.before, l, before);
        load_points(g->sample.of.now, l, now);
        vf_essential_decompose(E, R, t);
        const float first = sign_of(R[0], t, before, now), second = sign_of(R[1], t, before, now),
                    sign = first == 0.0f ? second : first;
        VF_PEEL
        for (int k = 0; k < 9; k++) g->pose[k][l] = first == 0.0f ? R[1][k] : R[0][k];
        VF_PEEL
        for (int k = 0; k < 3; k++) g->pose[9 + k][l] = sign * t[k];
        g->sign[l] = g->step_squared[l] < 1e-6f ? sign : 0.0f;
    }
}

/** Keep the valid poses of candidates first .. first + here. */
static void keep_poses(struct vf_essential_batch *b, const struct work *w, int first, int here)
{
    const struct candidates *g = &w->candidates;
    for (int l = 0; l < here; l++) {
        const int s = w->from[first + l];
        struct vf_pose *pose = &b->pose[s][b->poses[s]];
        if (g->sign[l] == 0.0f) continue;
        for (int k = 0; k < 9; k++) pose->R[k] = g->pose[k][l];
        for (int k = 0; k < 3; k++) pose->t[k] = g->pose[9 + k][l];
        b->poses[s] += vf_pose_valid(pose);
    }
}

/** Poses of all candidates. */
static void solve_candidates(struct vf_essential_batch *b, struct work *w, int candidates)
{
    struct candidates *g = &w->candidates;
    for (int first = 0; first < candidates; first += LANES) {
        const int here = vf_min(candidates - first, LANES);
        gather(w, first, here);
        from_roots(g);
        begin_polish(g);
        for (int k = 0; k < VF_ESSENTIAL_NEWTON_STEPS && !all_converged(g); k++) polish_step(g);
        end_polish(g);
        find_poses(g);
        keep_poses(b, w, first, here);
    }
}

void vf_essential_batch_solve(struct vf_essential_batch *b, int count)
{
    struct work w;
    memset(b->poses, 0, sizeof b->poses);
    memcpy(w.sample.of.before, b->before, sizeof b->before);
    memcpy(w.sample.of.now, b->now, sizeof b->now);
    for (int i = 0; i < 30; i++) /* of no sample: NaN from its constraints on, so that it has no root */
        for (int l = count; l < LANES; l++) w.sample.value[i][l] = 0.0f;
    make_rows(&w);
    find_null_spaces(&w);
    make_forms(&w);
    make_equations(&w);
    eliminate(&w);
    make_resultants(&w);
    vf_roots_find(&w.roots, 10);
    solve_candidates(b, &w, list_candidates(&w, count));
}
