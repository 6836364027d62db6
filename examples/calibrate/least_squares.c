/* SPDX-License-Identifier: MIT */
#include "least_squares.h"

#include <math.h>
#include <string.h>

enum { N = LEAST_SQUARES_PARAMETERS, BLOCKS = LEAST_SQUARES_BLOCKS, PRIORS = BLOCKS };

void least_squares_begin(least_squares_t *ls, int n)
{
    memset(ls, 0, sizeof *ls);
    ls->n = n;
}

void least_squares_clear(least_squares_t *ls)
{
    memset(ls->used, 0, sizeof ls->used);
    memset(ls->H, 0, sizeof ls->H);
    memset(ls->g, 0, sizeof ls->g);
}

void least_squares_add(least_squares_t *ls, int block, const double *row, double r, double weight)
{
    double *H = ls->H[block];
    for (int i = 0; i < ls->n; i++) {
        const double w = weight * row[i];
        for (int j = 0; j <= i; j++) H[N * i + j] += w * row[j];
        ls->g[block][i] += w * r;
    }
    ls->used[block]++;
}

void least_squares_prior(least_squares_t *ls, int parameter, double sigma)
{
    ls->H[PRIORS][(N + 1) * parameter] += 1.0 / (sigma * sigma);
    ls->g[PRIORS][parameter] += ls->x[parameter] / (sigma * sigma);
}

/** Cholesky factor of all equations but those of a stretch (-1: of all), and -g of them. 0: not positive definite. */
static int factor(const least_squares_t *ls, int without, double L[N * N], double d[N])
{
    memset(L, 0, N * N * sizeof *L);
    memset(d, 0, N * sizeof *d);
    for (int b = 0; b <= PRIORS; b++) {
        if (b == without) continue;
        for (int i = 0; i < ls->n; i++) {
            d[i] -= ls->g[b][i];
            for (int j = 0; j <= i; j++) L[N * i + j] += ls->H[b][N * i + j];
        }
    }
    for (int i = 0; i < ls->n; i++) {
        const double before = L[(N + 1) * i];
        for (int j = 0; j <= i; j++) {
            for (int k = 0; k < j; k++) L[N * i + j] -= L[N * i + k] * L[N * j + k];
            if (j < i) L[N * i + j] /= L[(N + 1) * j];
        }
        if (!(L[(N + 1) * i] > 1e-12 * before)) return 0;
        L[(N + 1) * i] = sqrt(L[(N + 1) * i]);
    }
    return 1;
}

/** Solve L L' d = d. */
static void substitute(int n, const double L[N * N], double d[N])
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) d[i] -= L[N * i + k] * d[k];
        d[i] /= L[(N + 1) * i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++) d[i] -= L[N * k + i] * d[k];
        d[i] /= L[(N + 1) * i];
    }
}

static int solve(const least_squares_t *ls, int without, double d[N])
{
    double L[N * N];
    if (!factor(ls, without, L, d)) return 0;
    substitute(ls->n, L, d);
    return 1;
}

double least_squares_step(least_squares_t *ls)
{
    double d[N], largest = 0.0;
    if (!solve(ls, -1, d)) return -1.0;
    for (int i = 0; i < ls->n; i++) {
        ls->x[i] += d[i];
        largest = fmax(largest, fabs(d[i]));
    }
    return largest;
}

int least_squares_deviations(least_squares_t *ls)
{
    int blocks = 0;
    double all[N], d[N];
    if (!solve(ls, -1, all)) return 0;
    for (int b = 0; b < BLOCKS; b++) {
        if (!ls->used[b]) continue;
        if (!solve(ls, b, d)) return 0;
        for (int i = 0; i < ls->n; i++) ls->without[b][i] = ls->x[i] + d[i] - all[i];
        blocks++;
    }
    return blocks;
}

double least_squares_deviation(const least_squares_t *ls, const double value[BLOCKS])
{
    double mean = 0.0, square = 0.0;
    int blocks = 0;
    for (int b = 0; b < BLOCKS; b++) {
        if (!ls->used[b]) continue;
        mean += value[b];
        blocks++;
    }
    mean /= fmax(blocks, 1);
    for (int b = 0; b < BLOCKS; b++)
        if (ls->used[b]) square += (value[b] - mean) * (value[b] - mean);
    return blocks > 1 ? sqrt(square * (blocks - 1) / blocks) : HUGE_VAL;
}

double least_squares_formal(const least_squares_t *ls, int parameter)
{
    double L[N * N], d[N];
    if (!factor(ls, -1, L, d)) return HUGE_VAL;
    memset(d, 0, sizeof d);
    d[parameter] = 1.0;
    substitute(ls->n, L, d);
    return sqrt(d[parameter]);
}

double least_squares_sigma(const least_squares_t *ls, int parameter)
{
    double value[BLOCKS];
    for (int b = 0; b < BLOCKS; b++) value[b] = ls->without[b][parameter];
    return fmax(least_squares_deviation(ls, value), least_squares_formal(ls, parameter));
}
