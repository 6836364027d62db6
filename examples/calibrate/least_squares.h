/* SPDX-License-Identifier: MIT
 *
 * Weighted least squares by normal equations, kept apart for stretches of time, so that the deviation of each parameter
 * comes from leaving out one stretch after the other (delete-one jackknife). That holds where residuals of neighbouring
 * frames are correlated, as those of tracks and of motion chains are.
 */
#ifndef LEAST_SQUARES_H
#define LEAST_SQUARES_H

#define LEAST_SQUARES_PARAMETERS 32
#define LEAST_SQUARES_BLOCKS 10 /* stretches of time of equal length */

typedef struct least_squares {
    int n; /* parameters */
    double x[LEAST_SQUARES_PARAMETERS];
    double without[LEAST_SQUARES_BLOCKS]
                  [LEAST_SQUARES_PARAMETERS]; /* x without a stretch: least_squares_deviations() */
    int used[LEAST_SQUARES_BLOCKS];           /* residuals of each stretch */
    double H[LEAST_SQUARES_BLOCKS + 1][LEAST_SQUARES_PARAMETERS * LEAST_SQUARES_PARAMETERS]; /* last: priors */
    double g[LEAST_SQUARES_BLOCKS + 1][LEAST_SQUARES_PARAMETERS];
} least_squares_t;

/** Begin with x 0. */
void least_squares_begin(least_squares_t *ls, int n);

/** Drop the equations, keep x. */
void least_squares_clear(least_squares_t *ls);

/** Add a residual r(x), its derivative `row` by the n parameters, and its weight, 1 / variance. */
void least_squares_add(least_squares_t *ls, int block, const double *row, double r, double weight);

/** Add a prior of a parameter: 0 with this standard deviation. */
void least_squares_prior(least_squares_t *ls, int parameter, double sigma);

/** Gauss-Newton step. Returns the largest change of a parameter; -1: the equations have no solution. */
double least_squares_step(least_squares_t *ls);

/** Fill `without` at the solution. Returns the number of stretches that have residuals; 0: no solution. */
int least_squares_deviations(least_squares_t *ls);

/** Jackknife standard deviation of a value computed from x: `value` of each used stretch left out. */
double least_squares_deviation(const least_squares_t *ls, const double value[LEAST_SQUARES_BLOCKS]);

/** Standard deviation of a parameter by equations and priors: large where residuals do not show it. */
double least_squares_formal(const least_squares_t *ls, int parameter);

/** Standard deviation of a parameter: the larger one of the jackknife's and that by the equations and priors. */
double least_squares_sigma(const least_squares_t *ls, int parameter);

#endif
