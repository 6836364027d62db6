/* SPDX-License-Identifier: MIT */
/* Gauss-Newton step of a rigid motion from pairs of rows, with robust weights whose scale comes from the residuals:
 * it converges from a start that is off by many deviations.
 *
 * Rule    Weight: 1 up to a squared residual k, then (k / square)^2. k is the least level 2^i `least` at which half of
 *         the pairs are within k / VF_ROBUST_SPREAD.
 * Exact   rows in single precision, sums and solution in double, each sum in one order
 * Memory  struct vf_robust; all functions but vf_robust_solve() run in one block
 */
#ifndef VF_ROBUST_H
#define VF_ROBUST_H

#include "cholesky.h"
#include "team.h"

#define VF_ROBUST_PAIRS 256 /* largest number of pairs of rows */
#define VF_ROBUST_PARTS 32  /* number of partial sums */
#define VF_ROBUST_LEVELS 16 /* number of levels of k */
enum {
    VF_ROBUST_COLUMNS = 6,
    VF_ROBUST_ROW = VF_ROBUST_COLUMNS + 1, /* elements of a row: Jacobian, residual */
    VF_ROBUST_SUMS = VF_ROBUST_COLUMNS * (VF_ROBUST_ROW + 2) /
                     2 /* products of a row's elements, but residual squared */
};
/** k over the level of half of the squared residuals. Of two normal residuals, one square in 16 exceeds 4 medians. */
#define VF_ROBUST_SPREAD 4.0f

/** Two rows: Jacobian, then residual [standard deviations]. */
struct vf_robust_pair {
    float row[2][VF_ROBUST_ROW];
    float square, weight; /* squared residual, -1: not used; robust weight */
};

struct vf_robust {
    struct vf_robust_pair pair[VF_ROBUST_PAIRS];
    uint32_t within[VF_ROBUST_LEVELS], used;     /* number of pairs within each level, of all that are used */
    double sum[VF_ROBUST_SUMS][VF_ROBUST_PARTS]; /* partial sums of the system */
    double x[VF_ROBUST_COLUMNS];                 /* sum of all steps */
};

/** Robust weight of a squared residual and its cost. Weight 1 and cost `square` up to k. Beyond, weight (k / square)^2,
 *  and cost 2 k - k^2 / square. */
VF_FN float vf_robust_weight(float square, float k, float *cost)
{
    const float part = k / square;
    *cost = square <= k ? square : 2.0f * k - k * part;
    return square <= k ? 1.0f : part * part;
}

/** Computes weights of `pairs` pairs. least: lowest k. Returns the number of pairs used. */
VF_FN uint32_t vf_robust_weights(struct vf_robust *s, int pairs, float least)
{
    VF_PARTS(level, VF_ROBUST_LEVELS)
    {
        const float most = (float)(1 << level) * least / VF_ROBUST_SPREAD;
        uint32_t count = 0, used = 0;
        VF_UNROLL_16
        for (int i = 0; i < pairs; i++) {
            used += s->pair[i].square >= 0.0f;
            count += s->pair[i].square >= 0.0f && s->pair[i].square <= most;
        }
        s->within[level] = count;
        if (!level) s->used = used;
    }
    VF_ITEM_SYNC();
    int level = 0;
    while (level < VF_ROBUST_LEVELS - 1 && 2 * s->within[level] < s->used) level++;
    VF_PARTS(i, pairs)
    {
        float cost;
        const float square = s->pair[i].square;
        s->pair[i].weight = square >= 0.0f ? vf_robust_weight(square, (float)(1 << level) * least, &cost) : 0.0f;
    }
    VF_ITEM_SYNC();
    return s->used;
}

/** Sums the weighted products of `pairs` pairs. */
VF_FN void vf_robust_sums(struct vf_robust *s, int pairs)
{
    VF_PARTS(item, VF_ROBUST_SUMS * VF_ROBUST_PARTS)
    {
        const int n = item / VF_ROBUST_PARTS, part = item % VF_ROBUST_PARTS;
        int a = 0, b = n; /* upper triangle, by rows */
        while (b >= VF_ROBUST_ROW) b -= VF_ROBUST_COLUMNS - a++;
        double sum = 0.0;
        for (int i = part; i < pairs; i += VF_ROBUST_PARTS) {
            const struct vf_robust_pair *p = &s->pair[i];
            if (!(p->weight > 0.0f)) continue;
            for (int row = 0; row < 2; row++)
                sum += (double)p->weight * (double)p->row[row][a] * (double)p->row[row][b];
        }
        s->sum[n][part] = sum;
    }
    VF_ITEM_SYNC();
}

/** Computes the step and adds it to s->x. known: information of each column of s->x about 0. Run by one thread. */
VF_FN void vf_robust_solve(struct vf_robust *s, const double known[VF_ROBUST_COLUMNS], double step[VF_ROBUST_COLUMNS])
{
    enum { N = VF_ROBUST_COLUMNS };
    double H[N * N];
    for (int a = 0, n = 0; a < N; a++)
        for (int b = a; b <= N; b++, n++) {
            double sum = 0.0;
            for (int part = 0; part < VF_ROBUST_PARTS; part++) sum += s->sum[n][part];
            if (b < N)
                H[N * a + b] = H[N * b + a] = sum + (a == b ? known[a] : 0.0);
            else
                step[a] = -sum - known[a] * s->x[a];
        }
    vf_solve_cholesky(H, H, N, N, 0.0);
    vf_solve_forward(H, step, N, N);
    vf_solve_back(H, step, N, N);
    for (int c = 0; c < N; c++) s->x[c] += step[c];
}

#endif
