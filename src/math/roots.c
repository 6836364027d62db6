/* SPDX-License-Identifier: MIT */
#include "roots.h"

#if VFRONT_EGO

#define DEGREE VF_POLYNOMIAL_DEGREE
/* number of polynomials: VF_ROOTS_BATCH as given, then each with reversed coefficients */
#define SIDES (2 * VF_ROOTS_BATCH)
#define LANES VF_ROOTS_LANES

/** Calls a function with a constant degree, so that loops over coefficients are unrolled. */
/* clang-format off */
#define BY_DEGREE(degree, call)                                                                                        \
    switch (degree) {                                                                                                  \
    case 1: call(1); break;                                                                                            \
    case 2: call(2); break;                                                                                            \
    case 3: call(3); break;                                                                                            \
    case 4: call(4); break;                                                                                            \
    case 5: call(5); break;                                                                                            \
    case 6: call(6); break;                                                                                            \
    case 7: call(7); break;                                                                                            \
    case 8: call(8); break;                                                                                            \
    case 9: call(9); break;                                                                                            \
    default: call(10);                                                                                                 \
    }
/* clang-format on */

/** Derivatives of all polynomials, all of one degree. Their search intervals divide -1..1 at the roots of the
 *  derivatives one degree lower. */
struct derivative {
    double exact[DEGREE + 1][SIDES]; /* [power][polynomial]: coefficients of the derivatives */
    double value[DEGREE + 1][SIDES]; /* [end][polynomial]: values at the ends of the search intervals */
    /* [degree % 2][end][polynomial]: interval ends in rising order: -1, roots of the derivative of this degree, 1 */
    float knot[2][DEGREE + 2][SIDES];
    float half[DEGREE - 1][SIDES];  /* [power][polynomial]: half of the polynomials' second derivative */
    uint8_t bracket[DEGREE][SIDES]; /* [interval][polynomial]: 1: the interval contains a root */
    uint16_t place[DEGREE * SIDES]; /* list of the intervals with a root: SIDES * interval + polynomial */
};

/** Root brackets that are narrowed together, one per lane, and the coefficients of the derivative of each. */
struct brackets {
    double exact[DEGREE + 1][LANES];
    float rounded[DEGREE + 1][LANES];
    float low[LANES], high[LANES], x[LANES], last_step[LANES]; /* [lane]: members of struct vf_root_bracket */
    int32_t negative[LANES];
};

/* ---- narrowing of brackets --------------------------------------------------------------------------------------- */

/** Narrows each bracket by one step, unless its last step had length 0. exact: 1: evaluates in double precision; 0: in
 *  single precision. */
static inline void step_all(struct brackets *b, int degree, int exact)
{
    VF_KEEP_LOOP
    for (int l = 0; l < LANES; l++) {
        const float x = b->x[l], last_step = b->last_step[l];
        const double at = (double)x;
        float value = b->rounded[degree][l], slope = 0.0f;
        VF_UNROLL_FULL
        for (int i = degree - 1; i >= 0; i--) {
            slope = slope * x + value;
            value = value * x + b->rounded[i][l];
        }
        if (exact) {
            double v = b->exact[degree][l];
            VF_UNROLL_FULL
            for (int i = degree - 1; i >= 0; i--) v = v * at + b->exact[i][l];
            value = (float)v;
        }
        struct vf_root_bracket one = {b->low[l], b->high[l], x, last_step, b->negative[l]};
        vf_root_bracket_step(&one, value, slope);
        b->low[l] = one.low;
        b->high[l] = one.high;
        b->x[l] = last_step > 0.0f ? one.x : x;
        b->last_step[l] = last_step > 0.0f ? one.last_step : last_step;
    }
}

static inline int any_moves(const struct brackets *b)
{
    int moves = 0;
    for (int l = 0; l < LANES; l++) moves |= b->last_step[l] > 0.0f;
    return moves;
}

VF_HOT_FLAT static void narrow_float(struct brackets *b, int degree)
{
#define STEP(d) step_all(b, d, 0)
    for (int k = 0; k < VF_ROOT_STEPS_FLOAT && any_moves(b); k++) BY_DEGREE(degree, STEP)
#undef STEP
}

VF_HOT_FLAT static void narrow_double(struct brackets *b, int degree)
{
#define STEP(d) step_all(b, d, 1)
    for (int k = 0; k < VF_ROOT_STEPS_DOUBLE && any_moves(b); k++) BY_DEGREE(degree, STEP)
#undef STEP
}

/** Loads the brackets of `count` listed intervals, one per lane. Further lanes get an interval of length 0, which does
 *  not move. */
static void load(struct brackets *b, const struct derivative *w, int degree, const uint16_t *place, int count)
{
    for (int l = 0; l < LANES; l++) {
        const int used = l < count, p = place[used ? l : 0] % SIDES, i = place[used ? l : 0] / SIDES;
        const float *low = &w->knot[(degree - 1) % 2][i][p];
        for (int k = 0; k <= degree; k++) b->exact[k][l] = w->exact[k][p];
        b->low[l] = low[0];
        b->high[l] = used ? low[SIDES] : low[0];
        b->negative[l] = w->value[i][p] < 0.0;
    }
}

VF_HOT_FLAT static void begin(struct brackets *b, int degree)
{
    for (int k = 0; k <= degree; k++)
        for (int l = 0; l < LANES; l++) b->rounded[k][l] = (float)b->exact[k][l];
    for (int l = 0; l < LANES; l++) {
        b->x[l] = 0.5f * (b->low[l] + b->high[l]);
        b->last_step[l] = b->high[l] - b->low[l];
    }
}

/** Finds the root of each of the `count` listed intervals. Writes it to w->knot[degree % 2]. */
static void find_roots(struct derivative *w, int degree, int count)
{
    struct brackets b;
    for (int first = 0; first < count; first += LANES) {
        const int here = vf_min(count - first, LANES);
        float low[LANES], high[LANES];
        load(&b, w, degree, w->place + first, here);
        memcpy(low, b.low, sizeof low);
        memcpy(high, b.high, sizeof high);
        begin(&b, degree);
        narrow_float(&b, degree);
        memcpy(b.low, low, sizeof low);
        memcpy(b.high, high, sizeof high);
        for (int l = 0; l < LANES; l++) b.last_step[l] = high[l] - low[l];
        narrow_double(&b, degree);
        for (int l = 0; l < here; l++) {
            const int place = w->place[first + l];
            w->knot[degree % 2][place / SIDES + 1][place % SIDES] = b.x[l];
        }
    }
}

/* ---- intervals --------------------------------------------------------------------------------------------------- */

/** Sets w->exact to the derivatives of the given degree, divided by the factorial of their order: binomial coefficients
 *  times coefficients of the polynomials. whole: degree of the polynomials. */
VF_HOT_FLAT static void differentiate(struct derivative *w, const struct vf_roots *in, int whole, int degree)
{
    const int order = whole - degree;
    int choose = 1;
    for (int k = 0; k <= degree; k++) {
        const double factor = (double)choose, *up = in->c[k + order], *down = in->c[degree - k];
        for (int p = 0; p < VF_ROOTS_BATCH; p++) w->exact[k][p] = factor * up[p];
        for (int p = 0; p < VF_ROOTS_BATCH; p++) w->exact[k][VF_ROOTS_BATCH + p] = factor * down[p];
        choose = choose * (k + 1 + order) / (k + 1);
    }
}

static inline void evaluate(struct derivative *w, const float (*knot)[SIDES], int degree)
{
    for (int i = 0; i <= degree; i++) {
        VF_KEEP_LOOP
        for (int p = 0; p < SIDES; p++) {
            const double x = (double)knot[i][p];
            double v = w->exact[degree][p];
            VF_UNROLL_FULL
            for (int k = degree - 1; k >= 0; k--) v = v * x + w->exact[k][p];
            w->value[i][p] = v;
        }
    }
}

/** Evaluates the derivative of a degree at the ends of its intervals: -1, the points found for the derivative one
 *  degree lower, and 1. */
VF_HOT_FLAT static void evaluate_knots(struct derivative *w, int degree){
#define EVALUATE(d) evaluate(w, (const float(*)[SIDES])w->knot[(d - 1) % 2], d)
    BY_DEGREE(degree, EVALUATE)
#undef EVALUATE
}

/** Marks the intervals that contain a root, in w->bracket. Writes the end where the derivative is closer to 0 to
 *  w->knot[degree % 2]; find_roots() replaces it where there is a root. */
VF_HOT_FLAT static void choose_ends(struct derivative *w, int degree)
{
    const float(*knot)[SIDES] = (const float(*)[SIDES])w->knot[(degree - 1) % 2];
    float(*next)[SIDES] = w->knot[degree % 2];
    for (int i = 0; i < degree; i++)
        for (int p = 0; p < SIDES; p++) {
            const double first = w->value[i][p], last = w->value[i + 1][p];
            const float low = knot[i][p], high = knot[i + 1][p];
            const int empty = !(low < high), same = (first < 0.0) == (last < 0.0), at_low = fabs(first) < fabs(last);
            next[i + 1][p] = (empty | at_low) ? low : high;
            w->bracket[i][p] = (uint8_t)((empty | same) ^ 1);
        }
    for (int p = 0; p < SIDES; p++) {
        next[0][p] = -1.0f;
        next[degree + 1][p] = 1.0f;
    }
}

/** Lists the intervals with a root in w->place. Returns their number. */
static int list_brackets(struct derivative *w, int degree)
{
    int count = 0;
    for (int i = 0; i < degree; i++)
        for (int p = 0; p < SIDES; p++) {
            w->place[count] = (uint16_t)(SIDES * i + p);
            count += w->bracket[i][p];
        }
    return count;
}

/** Stores the root of polynomial p (not of a derivative) in its interval i, as a fraction root[0] / root[1]. 0 / 0: no
 *  root. If the signs at both ends of the interval differ, find_roots() has found the root. If they are equal, a
 *  complex pair near an end, with a small imaginary part, counts as a root (vf_polynomial_double_root()). */
static void store_root(const struct derivative *w, int degree, int i, int p, float root[2])
{
    const float low = w->knot[(degree - 1) % 2][i][p], high = w->knot[(degree - 1) % 2][i + 1][p];
    const double first = w->value[i][p], last = w->value[i + 1][p];
    const int at_low = fabs(first) < fabs(last), reversed = p >= VF_ROOTS_BATCH;
    float half[DEGREE - 1], at = w->knot[degree % 2][i + 1][p];
    int found = w->bracket[i][p];
    if (!found && low < high) {
        const struct vf_polynomial second = {NULL, half, degree - 2};
        for (int k = 0; k <= degree - 2; k++) half[k] = w->half[k][p];
        found = vf_polynomial_double_root(second, at_low ? low : high, (float)(at_low ? first : last),
                                          at_low ? 1.0f : -1.0f, &at);
    }
    root[0] = !found ? 0.0f : reversed ? 1.0f : at;
    root[1] = !found ? 0.0f : reversed ? at : 1.0f;
}

void vf_roots_find(struct vf_roots *roots, int degree)
{
    struct derivative w;
    for (int p = 0; p < SIDES; p++) {
        w.knot[0][0][p] = -1.0f;
        w.knot[0][1][p] = 1.0f;
    }
    for (int d = 1; d <= degree; d++) {
        differentiate(&w, roots, degree, d);
        evaluate_knots(&w, d);
        choose_ends(&w, d);
        find_roots(&w, d, list_brackets(&w, d));
        for (int k = 0; k <= d && d == degree - 2; k++)
            for (int p = 0; p < SIDES; p++) w.half[k][p] = (float)w.exact[k][p];
    }
    for (int i = 0; i < degree; i++)
        for (int p = 0; p < SIDES; p++) {
            float root[2];
            store_root(&w, degree, i, p, root);
            const int at = p < VF_ROOTS_BATCH ? i : degree + i;
            roots->root[at][0][p % VF_ROOTS_BATCH] = root[0];
            roots->root[at][1][p % VF_ROOTS_BATCH] = root[1];
        }
}

#endif
