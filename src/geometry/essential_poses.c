/* SPDX-License-Identifier: MIT */
#include "essential_lanes.h"

#if VFRONT_EGO

#define CONVERGED 1e-10f /* squared length of a Newton step below which a pose has converged */

/** Loads candidates first .. first + here - 1 into the lanes of g, one per lane. The remaining lanes repeat candidate
 *  `first`. */
static void gather(struct vf_solutions *g, const struct vf_candidates *c, const union vf_samples *sample, int first,
                   int here)
{
    for (int l = 0; l < VF_BATCH; l++) {
        const int at = first + (l < here ? l : 0), s = c->from[at];
        for (int i = 0; i < VF_SAMPLE_VALUES; i++) g->sample.value[i][l] = sample->value[i][s];
        g->x[l] = c->root[at][0];
        g->y[l] = c->root[at][1];
    }
}

/** Essential matrices of the roots of all lanes, as vf_essential_from_root() computes them. */
VF_HOT_FLAT static void from_roots(struct vf_solutions *restrict g)
{
    VF_KEEP_LOOP
    for (int l = 0; l < VF_BATCH; l++) {
        const float x = g->x[l], y = g->y[l], y2 = y * y, x2 = x * x;
        float m[3][3], best[3] = {0.0f, 0.0f, 0.0f}, largest = 0.0f, u[9], E[9];
        vf_lanes(*null)[9] = g->sample.of.null_space;
        VF_UNROLL_FULL
        for (int r = 0; r < 3; r++) {
            VF_UNROLL_FULL
            for (int c = 0; c < 3; c++) {
                vf_lanes *all = g->sample.of.b[r][c];
                const float b[5] = {all[0][l], all[1][l], all[2][l], all[3][l], all[4][l]};
                const float low = b[0] * y + b[1] * x, high = b[2] * y + b[3] * x;
                m[r][c] = c < 2 ? low * y2 + high * x2
                                : (b[0] * y2 + b[1] * x * y) * y2 + (b[2] * y2 + b[3] * x * y + b[4] * x2) * x2;
            }
        }
        VF_UNROLL_FULL
        for (int r = 0; r < 3; r++) {
            float c[3];
            vf_cross(m[r], m[(r + 1) % 3], c);
            const float square = vf_dot(c, c);
            VF_UNROLL_FULL
            for (int k = 0; k < 3; k++) best[k] = square > largest ? c[k] : best[k];
            largest = square > largest ? square : largest;
        }
        VF_UNROLL_FULL
        for (int k = 0; k < 9; k++)
            u[k] = best[0] * null[0][k][l] + best[1] * null[1][k][l] +
                   best[2] * (x * null[2][k][l] + y * null[3][k][l]);
        vf_essential_from_unknowns(g->sample.of.parallax[l], u, E);
        VF_UNROLL_FULL
        for (int k = 0; k < 9; k++) g->E[k][l] = E[k];
    }
}

/** Starts the Newton refinement of all lanes: converts essential matrices to poses. First part of
 *  vf_essential_polish(). */
VF_HOT_FLAT static void begin_polish(struct vf_solutions *restrict g)
{
    VF_KEEP_LOOP
    for (int l = 0; l < VF_BATCH; l++) {
        float E[9], align[9], R[2][9], t[3], rotation[9];
        struct vf_polish m;
        VF_UNROLL_FULL
        for (int k = 0; k < 9; k++) {
            E[k] = g->E[k][l];
            align[k] = g->sample.of.R[k][l];
        }
        vf_essential_decompose(E, R, t);
        vf_matrix_product(R[0], align, rotation);
        vf_polish_from_pose(&m, rotation, t);
        VF_UNROLL_FULL
        for (int k = 0; k < 4; k++) g->q[k][l] = m.q[k];
        VF_UNROLL_FULL
        for (int k = 0; k < 3; k++) g->t[k][l] = m.t[k];
        g->step_squared[l] = 1.0f;
    }
}

/** Linearises the five epipolar constraints at the poses of all lanes. Writes the linear systems g->m, and the two
 *  directions g->tangent in which the translation may move. */
static inline void linearise(struct vf_solutions *restrict g)
{
    VF_KEEP_LOOP
    for (int l = 0; l < VF_BATCH; l++) {
        const struct vf_polish m = {{g->q[0][l], g->q[1][l], g->q[2][l], g->q[3][l]},
                                    {g->t[0][l], g->t[1][l], g->t[2][l]}};
        float before[5][3], now[5][3], R[9], tangent[2][3], residual[5], row[5][6];
        vf_lanes_points(g->sample.of.before, l, before);
        vf_lanes_points(g->sample.of.now, l, now);
        vf_polish_rotation(m.q, R);
        vf_polish_tangents(m.t, tangent[0], tangent[1]);
        vf_polish_residuals(&m, (const float(*)[3])before, (const float(*)[3])now, residual);
        VF_UNROLL_FULL
        for (int i = 0; i < 5; i++) vf_polish_row(&m, R, tangent, before[i], now[i], residual[i], row[i]);
        VF_UNROLL_FULL
        for (int i = 0; i < 5; i++) {
            VF_UNROLL_FULL
            for (int k = 0; k < 6; k++) g->m[i][k][l] = row[i][k];
        }
        VF_UNROLL_FULL
        for (int k = 0; k < 3; k++) {
            g->tangent[0][k][l] = tangent[0][k];
            g->tangent[1][k][l] = tangent[1][k];
        }
    }
}

/** Exchanges row k of a 5x6 linear system with its pivot row: the one with the largest element of column k. */
static inline void exchange(vf_lanes m[5][6], int k)
{
    vf_lanes pivot;
    int32_t row[VF_BATCH];
    for (int l = 0; l < VF_BATCH; l++) {
        row[l] = k;
        pivot[l] = m[k][k][l];
    }
    for (int r = k + 1; r < 5; r++)
        for (int l = 0; l < VF_BATCH; l++) {
            const int larger = fabsf(m[r][k][l]) > fabsf(pivot[l]);
            row[l] = larger ? r : row[l];
            pivot[l] = larger ? m[r][k][l] : pivot[l];
        }
    for (int r = k + 1; r < 5; r++)
        for (int c = k; c < 6; c++)
            for (int l = 0; l < VF_BATCH; l++) {
                const float top = m[k][c][l], element = m[r][c][l];
                m[r][c][l] = row[l] == r ? top : element;
                m[k][c][l] = row[l] == r ? element : top;
            }
}

/** Solves the 5x5 linear systems of all lanes by Gaussian elimination, as vf_solve5() does. Column 5 of m is the right
 *  side. */
static inline void solve(vf_lanes m[5][6], vf_lanes x[5])
{
    vf_lanes inverse[5];
    for (int k = 0; k < 5; k++) {
        exchange(m, k);
        for (int l = 0; l < VF_BATCH; l++) inverse[k][l] = 1.0f / m[k][k][l];
        for (int r = k + 1; r < 5; r++) {
            vf_lanes factor;
            for (int l = 0; l < VF_BATCH; l++) factor[l] = m[r][k][l] * inverse[k][l];
            for (int c = k + 1; c < 6; c++)
                for (int l = 0; l < VF_BATCH; l++) m[r][c][l] -= factor[l] * m[k][c][l];
        }
    }
    for (int k = 4; k >= 0; k--) {
        vf_lanes sum;
        for (int l = 0; l < VF_BATCH; l++) sum[l] = m[k][5][l];
        for (int c = k + 1; c < 5; c++)
            for (int l = 0; l < VF_BATCH; l++) sum[l] -= m[k][c][l] * x[c][l];
        for (int l = 0; l < VF_BATCH; l++) x[k][l] = sum[l] * inverse[k][l];
    }
}

/** One Newton step of the poses, on the lanes that have not converged, as vf_polish_step() does. */
VF_HOT_FLAT static void polish_step(struct vf_solutions *restrict g)
{
    linearise(g);
    solve(g->m, g->change);
    VF_KEEP_LOOP
    for (int l = 0; l < VF_BATCH; l++) {
        struct vf_polish m = {{g->q[0][l], g->q[1][l], g->q[2][l], g->q[3][l]}, {g->t[0][l], g->t[1][l], g->t[2][l]}};
        const float x[5] = {g->change[0][l], g->change[1][l], g->change[2][l], g->change[3][l], g->change[4][l]};
        float tangent[2][3] = {{g->tangent[0][0][l], g->tangent[0][1][l], g->tangent[0][2][l]},
                               {g->tangent[1][0][l], g->tangent[1][1][l], g->tangent[1][2][l]}};
        const float last = g->step_squared[l], square = vf_polish_move(&m, x, tangent);
        VF_UNROLL_FULL
        for (int k = 0; k < 4; k++) g->q[k][l] = last < CONVERGED ? g->q[k][l] : m.q[k];
        VF_UNROLL_FULL
        for (int k = 0; k < 3; k++) g->t[k][l] = last < CONVERGED ? g->t[k][l] : m.t[k];
        g->step_squared[l] = last < CONVERGED ? last : square;
    }
}

static int all_converged(const struct vf_solutions *g)
{
    int moves = 0;
    for (int l = 0; l < VF_BATCH; l++) moves |= !(g->step_squared[l] < CONVERGED);
    return !moves;
}

/** Ends the Newton refinement of all lanes: converts poses to essential matrices. Last part of
 *  vf_essential_polish(). */
VF_HOT_FLAT static void end_polish(struct vf_solutions *restrict g)
{
    VF_KEEP_LOOP
    for (int l = 0; l < VF_BATCH; l++) {
        const float q[4] = {g->q[0][l], g->q[1][l], g->q[2][l], g->q[3][l]},
                    t[3] = {g->t[0][l], g->t[1][l], g->t[2][l]};
        float R[9];
        vf_polish_rotation(q, R);
        VF_UNROLL_FULL
        for (int k = 0; k < 3; k++) {
            g->E[k][l] = t[1] * R[6 + k] - t[2] * R[3 + k];
            g->E[3 + k][l] = t[2] * R[k] - t[0] * R[6 + k];
            g->E[6 + k][l] = t[0] * R[3 + k] - t[1] * R[k];
        }
    }
}

/** Depths of a point in the previous ([0]) and the current camera ([1]), up to a positive factor; below 0: behind
 *  it. */
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

/** Sign of t that puts all points in front of both cameras; 0: neither sign does. */
static inline float sign_of(const float R[9], const float t[3], float before[5][3], float now[5][3])
{
    float ahead = 1.0f, behind = 1.0f;
    VF_UNROLL_FULL
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

/** Poses of the essential matrices of all lanes by the cheirality test, as vf_essential_pose() finds them. */
VF_HOT_FLAT static void find_poses(struct vf_solutions *restrict g)
{
    VF_KEEP_LOOP
    for (int l = 0; l < VF_BATCH; l++) {
        float E[9], R[2][9], t[3], before[5][3], now[5][3];
        VF_UNROLL_FULL
        for (int k = 0; k < 9; k++) E[k] = g->E[k][l];
        vf_lanes_points(g->sample.of.before, l, before);
        vf_lanes_points(g->sample.of.now, l, now);
        vf_essential_decompose(E, R, t);
        const float first = sign_of(R[0], t, before, now), second = sign_of(R[1], t, before, now),
                    sign = first == 0.0f ? second : first;
        VF_UNROLL_FULL
        for (int k = 0; k < 9; k++) g->pose[k][l] = first == 0.0f ? R[1][k] : R[0][k];
        VF_UNROLL_FULL
        for (int k = 0; k < 3; k++) g->pose[9 + k][l] = sign * t[k];
        g->sign[l] = g->step_squared[l] < 1e-6f ? sign : 0.0f;
    }
}

/** Appends the valid poses of candidates first .. first + here - 1 to the poses of their samples in b. */
static void keep_poses(struct vf_essential_batch *b, const struct vf_solutions *g, const struct vf_candidates *c,
                       int first, int here)
{
    for (int l = 0; l < here; l++) {
        const int s = c->from[first + l];
        struct vf_pose *pose = &b->pose[s][b->poses[s]];
        if (g->sign[l] == 0.0f) continue;
        for (int k = 0; k < 9; k++) pose->R[k] = g->pose[k][l];
        for (int k = 0; k < 3; k++) pose->t[k] = g->pose[9 + k][l];
        b->poses[s] += vf_pose_valid(pose);
    }
}

void vf_essential_poses(struct vf_essential_batch *b, const struct vf_candidates *c, const union vf_samples *sample,
                        struct vf_solutions *g)
{
    for (int first = 0; first < c->count; first += VF_BATCH) {
        const int here = vf_min(c->count - first, VF_BATCH);
        gather(g, c, sample, first, here);
        from_roots(g);
        begin_polish(g);
        for (int k = 0; k < VF_ESSENTIAL_NEWTON_STEPS && !all_converged(g); k++) polish_step(g);
        end_polish(g);
        find_poses(g);
        keep_poses(b, g, c, first, here);
    }
}

#endif
