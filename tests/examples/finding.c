/* SPDX-License-Identifier: MIT */
/* Statistics of build/calibrate: Student's distribution beside tables; the probability of a finding over drawn fits
 * whose residuals are correlated in time, as those of motion chains are. */
#include "examples/calibrate/finding.h"
#include "examples/calibrate/least_squares.h"
#include "tests/fixture/rigid.h"

enum { FITS = 2000, RESIDUALS = 600 };

/** Two-sided probabilities of tables (Abramowitz and Stegun, 26.10). */
static void student(void **state)
{
    static const struct {
        double t, dof, probability;
    } table[] = {{12.706, 1, 0.05}, {4.303, 2, 0.05},   {2.262, 9, 0.05},        {4.781, 9, 0.001},
                 {2.042, 30, 0.05}, {3.646, 30, 0.001}, {1.960, HUGE_VAL, 0.05}, {3.291, HUGE_VAL, 0.001}};
    (void)state;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        const double p = finding_student(table[i].t, table[i].dof);
        REQUIRE(fabs(p / table[i].probability - 1.0) < 2e-3, "t %g, dof %g: %g", table[i].t, table[i].dof, p);
    }
    assert_true(finding_student(0.0, 9.0) == 1.0);
}

/** Equations of a line through y over x, at the parameters. */
static void add_all(least_squares_t *ls, const double *x, const double *y)
{
    least_squares_clear(ls);
    for (int i = 0; i < RESIDUALS; i++) {
        const double row[2] = {-1.0, -x[i]}, r = y[i] - ls->x[0] - ls->x[1] * x[i];
        least_squares_add(ls, i * LEAST_SQUARES_BLOCKS / RESIDUALS, row, r, 1e3);
    }
}

/** Probability of a slope that is off by as much as a good one is, in noise that is correlated over ten residuals. */
static double drawn_probability(double tolerance)
{
    static least_squares_t ls;
    findings_t all = {.count = 0};
    double x[RESIDUALS], y[RESIDUALS], noise = 0.0;
    const double slope = tolerance * normal();
    for (int i = 0; i < RESIDUALS; i++) {
        noise = 0.9 * noise + normal();
        x[i] = sin(0.37 * i);
        y[i] = 0.5 + slope * x[i] + noise;
    }
    least_squares_begin(&ls, 2);
    add_all(&ls, x, y);
    assert_true(least_squares_step(&ls) >= 0.0);
    add_all(&ls, x, y);
    assert_int_equal(least_squares_deviations(&ls), LEAST_SQUARES_BLOCKS);
    const finding_t f = {.name = "slope",
                         .unit = "",
                         .value = ls.x[1],
                         .sigma = least_squares_sigma(&ls, 1),
                         .tolerance = tolerance,
                         .dof = LEAST_SQUARES_BLOCKS - 1};
    return finding_add(&all, &f)->probability;
}

/** A right value is called wrong as often as the probability says, with a tolerance and without one. */
static void honest(void **state)
{
    (void)state;
    shake(1);
    for (int with = 0; with < 2; with++) {
        int below[3] = {0};
        static const double limit[3] = {0.5, 0.1, 0.01};
        for (int i = 0; i < FITS; i++) {
            const double p = drawn_probability(with ? 0.3 : 1e-6);
            for (int k = 0; k < 3; k++) below[k] += p < limit[k];
        }
        for (int k = 0; k < 3; k++) {
            const double expected = limit[k] * FITS, bound = 4.0 * sqrt(expected);
            print_message("    below %.2f: %d of %d\n", limit[k], below[k], FITS);
            REQUIRE(below[k] < 1.3 * expected + bound && below[k] > 0.5 * expected - bound, "%d", below[k]);
        }
    }
}

/** What residuals do not show keeps the deviation of its prior, and is unknown. */
static void not_shown(void **state)
{
    static least_squares_t ls;
    findings_t all = {.count = 0};
    const double row[2] = {1.0, 0.0};
    (void)state;
    least_squares_begin(&ls, 2);
    for (int i = 0; i < 100; i++) least_squares_add(&ls, i / 10, row, 1e-3, 1e6);
    least_squares_prior(&ls, 1, 0.3);
    assert_true(least_squares_deviations(&ls) == LEAST_SQUARES_BLOCKS);
    const finding_t f = {.name = "x",
                         .unit = "",
                         .value = ls.x[1],
                         .sigma = least_squares_sigma(&ls, 1),
                         .tolerance = 0.01,
                         .dof = LEAST_SQUARES_BLOCKS - 1};
    assert_true(fabs(f.sigma - 0.3) < 1e-9);
    assert_int_equal(finding_add(&all, &f)->decision, FINDING_UNKNOWN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(student), cmocka_unit_test(honest),
                                       cmocka_unit_test(not_shown)};
    return cmocka_run_group_tests_name("finding", tests, NULL, NULL);
}
