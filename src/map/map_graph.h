/* SPDX-License-Identifier: MIT */
/* Pose graph: one Gauss-Newton step over all keyframes, with a fixed number of conjugate gradient steps.
 *
 * Unknowns: x = (v, w) of each keyframe, a small motion about the map origin: p <- exp(w) p + v, R <- exp(w) R.
 * Edge from i to j with residual r, at the position c of j: A_c (x_j - x_i) + r, A_c (v, w) = (v + w x c, w).
 * Noise: one variance for the axes of position, one for those of attitude, so that no matrix is stored.
 *
 * Preconditioner: the chain of keyframes in order of frames. Its inverse is a backward sum, a product with each edge's
 * covariance and a forward sum. A block-Jacobi preconditioner would need as many steps as the chain is long. With z up,
 * w is a rotation about z.
 *
 * Robust weight of a loop: (s / (s + e))^2, e = chi^2 / VF_MAP_BOUND (Geman-McClure). The scale s is high when loops
 * are new and falls to 1 (graduated non-convexity), so that a loop which contradicts the others gets no weight. Priors
 * have weight 1.
 *
 * Exact   double precision; sums over keyframes in VF_MAP_PARTS parts, in order within each part, then over the parts
 */
#ifndef VF_MAP_GRAPH_H
#define VF_MAP_GRAPH_H

#include "loop.h"
#include "map_data.h"

/** Number of conjugate gradient steps per frame. */
#define VF_MAP_CG_STEPS 12

/** Bound of a loop's chi^2, the squared normalised residual: 99 % quantile for 6 degrees of freedom. Above it a loop is
 *  taken for wrong. */
#define VF_MAP_BOUND 16.8

/** Standard deviation of position of an edge between two chains whose relative pose is unknown [m]: large, so that
 *  loops between the chains determine it. */
#define VF_MAP_GAP_M 10.0
/** Standard deviation of attitude of an edge between two chains whose relative pose is unknown [rad]. */
#define VF_MAP_GAP_RAD 1.0

/** Largest rotation of a keyframe in one Gauss-Newton step [rad]. A larger step is scaled down as a whole. */
#define VF_MAP_STEP_RAD 0.5

#if VFRONT_MAP

/** Pose graph: pointers to the keyframe ring, the map data and the buffers. */
struct vf_map_graph {
    const struct vf_keyframe_entry *ring;
    struct vf_map_data *data;
    struct vf_map_work *work;
    const struct vf_keyframe_now
        *pending; /* keyframe of the previous frame, a node that may not be in the ring yet; NULL: none */
};

/** Pose of the keyframe in ring slot `slot` in its motion chain. */
VF_FN const struct vf_chain_pose *vf_map_chain_pose(const struct vf_map_graph *g, uint32_t slot)
{
    return g->pending && g->pending->slot == slot ? &g->pending->last.pose : &g->ring[slot].head.pose;
}

/* ---- one edge ---------------------------------------------------------------------------------------------------- */

/** Rotation vector of a unit quaternion. */
VF_FN void vf_map_logarithm(const double q[4], double out[3])
{
    const double sign = q[0] < 0.0 ? -1.0 : 1.0, square = q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    const double sine = sqrt(square), scale = sine > 1e-9 ? 2.0 * vf_atan2(sine, sign * q[0]) / sine : 2.0;
    for (int k = 0; k < 3; k++) out[k] = sign * scale * q[1 + k];
}

/** Computes the residual of an edge from pose a to pose b: difference of b from its prediction a T. T: measured pose of
 *  b in axes of a. upright 1: only the rotation about z counts. */
VF_FN void vf_map_residual(const struct vf_map_pose *a, const struct vf_map_pose *T, const struct vf_map_pose *b,
                           int upright, struct vf_map_edge *e)
{
    struct vf_map_pose to;
    double q[4];
    vf_map_compose(a, T, &to);
    const double back[4] = {to.q[0], -to.q[1], -to.q[2], -to.q[3]};
    vf_quaternion_multiply(b->q, back, q);
    for (int k = 0; k < 3; k++) {
        e->c[k] = b->p[k];
        e->r[k] = b->p[k] - to.p[k];
    }
    vf_map_logarithm(q, e->r + 3);
    if (upright) e->r[3] = e->r[4] = 0.0;
}

/** Gradient of an edge: out = A_c^T W (A_c d + r), A_c (v, w) = (v + w x c, w), c = e->c. d: difference of the unknowns
 *  (v, w) between the two ends. W: inverse variances. r: residual; NULL: 0. */
VF_FN void vf_map_edge_gradient(const struct vf_map_edge *e, const double d[6], const double *r, int upright,
                                double out[6])
{
    double u[6];
    vf_cross_double(d + 3, e->c, u);
    for (int k = 0; k < 3; k++) {
        u[k] = (u[k] + d[k] + (r ? r[k] : 0.0)) * e->per_m2;
        u[3 + k] = (d[3 + k] + (r ? r[3 + k] : 0.0)) * e->per_rad2;
    }
    vf_cross_double(e->c, u, out + 3);
    for (int k = 0; k < 3; k++) {
        out[k] = u[k];
        out[3 + k] += u[3 + k];
    }
    if (upright) out[3] = out[4] = 0.0;
}

/** Solves the normal equations of one edge, A_c^T W A_c d = s, A_c (v, w) = (v + w x c, w). W: inverse variances. s:
 *  right side on entry, solution d on return. */
VF_FN void vf_map_edge_solve(const struct vf_map_edge *e, int upright, double s[6])
{
    double u[3];
    vf_cross_double(e->c, s, u);
    for (int k = 0; k < 3; k++) {
        s[3 + k] = (s[3 + k] - u[k]) * e->rad2;
        s[k] *= e->m2;
    }
    if (upright) s[3] = s[4] = 0.0;
    vf_cross_double(s + 3, e->c, u);
    for (int k = 0; k < 3; k++) s[k] -= u[k];
}

/* ---- sums over keyframes: one block ------------------------------------------------------------------------------ */

/** Prefix sums over the keyframes i, in place: v[i] becomes v[0] + .. + v[i]. backwards 1: v[i] becomes v[i] + .. +
 *  v[last]. Run by one block. */
VF_FN void vf_map_prefix_sum(struct vf_map_work *w, double v[VFRONT_KEYFRAMES][6], int backwards)
{
    VF_PARTS(n, VF_MAP_PARTS * 6)
    {
        const int part = n / 6, k = n % 6;
        double sum = 0.0;
        for (int i = 0; i < VF_MAP_PART; i++) {
            const int at = part * VF_MAP_PART + (backwards ? VF_MAP_PART - 1 - i : i);
            v[at][k] = sum += v[at][k];
        }
        w->part[part][k] = sum;
    }
    VF_ITEM_SYNC();
    VF_PARTS(k, 6)
    {
        double sum = 0.0;
        for (int i = 0; i < VF_MAP_PARTS; i++) {
            const int part = backwards ? VF_MAP_PARTS - 1 - i : i;
            const double own = w->part[part][k];
            w->part[part][k] = sum;
            sum += own;
        }
    }
    VF_ITEM_SYNC();
    VF_PARTS(n, VFRONT_KEYFRAMES * 6) v[n / 6][n % 6] += w->part[n / 6 / VF_MAP_PART][n % 6];
    VF_ITEM_SYNC();
}

/** Dot product: *out = sum of a[i][k] b[i][k] over all keyframes i and components k. Run by one block. */
VF_FN void vf_map_dot(struct vf_map_work *w, const double a[VFRONT_KEYFRAMES][6], const double b[VFRONT_KEYFRAMES][6],
                      double *out)
{
    VF_PARTS(n, VF_MAP_PARTS * 6)
    {
        const int part = n / 6, k = n % 6;
        double sum = 0.0;
        for (int i = part * VF_MAP_PART; i < (part + 1) * VF_MAP_PART; i++) sum += a[i][k] * b[i][k];
        w->part[part][k] = sum;
    }
    VF_ITEM_SYNC();
    VF_PARTS(k, 6)
    {
        double sum = 0.0;
        for (int part = 0; part < VF_MAP_PARTS; part++) sum += w->part[part][k];
        w->part[0][k] = sum;
    }
    VF_ITEM_SYNC();
    VF_PARTS(one, 1)
    *out = ((w->part[0][0] + w->part[0][1]) + (w->part[0][2] + w->part[0][3])) + (w->part[0][4] + w->part[0][5]);
    VF_ITEM_SYNC();
}

/* ---- edges of all keyframes: one block --------------------------------------------------------------------------- */

/** Computes the chain edge from node i - 1 to node i: its residual and variances. */
VF_FN void vf_map_chain_edge(const struct vf_map_graph *g, int i)
{
    const uint16_t *order = g->data->order;
    struct vf_map_edge *e = &g->work->chain[i];
    const struct vf_map_pose *own = &g->data->node[order[i]];
    memset(e, 0, sizeof *e);
    memcpy(e->c, own->p, sizeof e->c);
    e->m2 = VF_MAP_GAP_M * VF_MAP_GAP_M, e->rad2 = VF_MAP_GAP_RAD * VF_MAP_GAP_RAD;
    if (!i) return;
    const struct vf_chain_pose *a = vf_map_chain_pose(g, order[i - 1]), *b = vf_map_chain_pose(g, order[i]);
    if (!vf_chain_position_known(a, b)) return;
    struct vf_map_pose from, to, T;
    vf_map_from_chain(a, &from);
    vf_map_from_chain(b, &to);
    vf_map_between(&from, &to, &T);
    vf_map_residual(&g->data->node[order[i - 1]], &T, own, (int)g->data->upright, e);
    vf_map_edge_variance(a, b, &e->m2, &e->rad2);
}

/** Variances of a loop, each axis, divided by its robust weight. r: residual of the loop. scale: factor on the chi^2
 *  bound VF_MAP_BOUND. */
VF_FN void vf_map_robust_variance(const struct vf_map_loop *l, const double r[6], double scale, double *m2,
                                  double *rad2)
{
    *m2 = (double)l->sigma_m * (double)l->sigma_m;
    *rad2 = (double)l->sigma_rad * (double)l->sigma_rad;
    if (l->a == VF_MAP_FRAME) return;
    const double chi2 = ((r[0] * r[0] + r[1] * r[1]) + r[2] * r[2]) / *m2 +
                        ((r[3] * r[3] + r[4] * r[4]) + r[5] * r[5]) / *rad2,
                 root = 1.0 + chi2 / (VF_MAP_BOUND * scale);
    *m2 *= root * root;
    *rad2 *= root * root;
}

/** Computes the loop edge that ends in node i, if i has an active loop whose two ends are nodes: its residual and
 *  variances. */
VF_FN void vf_map_loop_edge(const struct vf_map_graph *g, int i)
{
    struct vf_map_work *w = g->work;
    const struct vf_map_data *m = g->data;
    const struct vf_map_loop *l = &m->loop[m->order[i]];
    struct vf_map_edge *e = &w->loop[i];
    struct vf_map_pose frame;
    vf_map_identity(&frame);
    w->from[i] = l->a == VF_NONE || !l->active ? VF_NONE : l->a == VF_MAP_FRAME ? VF_MAP_FRAME : w->at[l->a];
    if (w->from[i] == VF_NONE) return;
    vf_map_residual(l->a == VF_MAP_FRAME ? &frame : &m->node[l->a], &l->pose, &m->node[m->order[i]], (int)m->upright,
                    e);
    vf_map_robust_variance(l, e->r, m->scale, &e->m2, &e->rad2);
}

/** Computes the node of each ring slot and all edges with residuals, and sorts loops by the node where they begin. Run
 *  by one block. */
VF_FN void vf_map_edges(const struct vf_map_graph *g)
{
    struct vf_map_work *w = g->work;
    const struct vf_map_data *m = g->data;
    const int count = (int)m->count;
    VF_PARTS(i, VFRONT_KEYFRAMES) w->at[i] = VF_NONE;
    VF_ITEM_SYNC();
    VF_PARTS(i, count) w->at[m->order[i]] = (uint32_t)i;
    VF_ITEM_SYNC();
    VF_PARTS(i, VFRONT_KEYFRAMES)
    {
        w->from[i] = VF_NONE;
        if (i >= count) continue;
        vf_map_chain_edge(g, i);
        vf_map_loop_edge(g, i);
        w->chain[i].per_m2 = 1.0 / w->chain[i].m2, w->chain[i].per_rad2 = 1.0 / w->chain[i].rad2;
        if (w->from[i] != VF_NONE) w->loop[i].per_m2 = 1.0 / w->loop[i].m2, w->loop[i].per_rad2 = 1.0 / w->loop[i].rad2;
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, VFRONT_KEYFRAMES + 1)
    {
        const uint32_t own = i < VFRONT_KEYFRAMES ? w->from[i] : VF_NONE;
        uint32_t before = 0, rank = 0, priors = 0, loops = 0;
        for (int k = 0; k < count; k++) {
            before += w->from[k] != VF_NONE && w->from[k] < (uint32_t)i;
            rank += w->from[k] != VF_NONE && (w->from[k] < own || (w->from[k] == own && k < i));
            priors += w->from[k] == VF_MAP_FRAME;
            loops += w->from[k] != VF_NONE;
        }
        if (!i) w->priors = priors, w->loops = loops;
        w->first[i] = before;
        if (own != VF_NONE) w->outgoing[rank] = (uint32_t)i;
    }
    VF_ITEM_SYNC();
}

/** Gradient at each node i, out[i]: sum of the gradients (vf_map_edge_gradient()) of the edges that end at i, minus
 *  those of the edges that begin at i. v: unknowns of the nodes; NULL: 0. residual 0: the edges' residuals count as 0.
 *  Without priors node 0 is fixed, and its gradient is 0. Run by one block. */
VF_FN void vf_map_gradient(const struct vf_map_graph *g, const double v[VFRONT_KEYFRAMES][6], int residual,
                           double out[VFRONT_KEYFRAMES][6])
{
    struct vf_map_work *w = g->work;
    const int count = (int)g->data->count, upright = (int)g->data->upright, first = !w->priors;
    VF_PARTS(i, count)
    {
        double d[6];
        for (int k = 0; k < 6; k++) d[k] = v && i ? v[i][k] - v[i - 1][k] : 0.0;
        vf_map_edge_gradient(&w->chain[i], d, residual ? w->chain[i].r : NULL, upright, w->f[i]);
        if (w->from[i] == VF_NONE) continue;
        for (int k = 0; k < 6; k++) d[k] = v ? v[i][k] - (w->from[i] == VF_MAP_FRAME ? 0.0 : v[w->from[i]][k]) : 0.0;
        vf_map_edge_gradient(&w->loop[i], d, residual ? w->loop[i].r : NULL, upright, w->g[i]);
    }
    VF_ITEM_SYNC();
    VF_PARTS(n, VFRONT_KEYFRAMES * 6)
    {
        const int i = n / 6, k = n % 6;
        double sum = 0.0;
        if (i >= first && i < count) {
            sum = w->f[i][k] - (i + 1 < count ? w->f[i + 1][k] : 0.0);
            if (w->from[i] != VF_NONE) sum += w->g[i][k];
            for (uint32_t l = w->first[i]; l < w->first[i + 1]; l++) sum -= w->g[w->outgoing[l]][k];
        }
        out[i][k] = sum;
    }
    VF_ITEM_SYNC();
}

/** Applies the preconditioner: z = M^-1 r, with M the matrix of the normal equations of the chain edges alone, without
 *  loops. Run by one block. */
VF_FN void vf_map_precondition(const struct vf_map_graph *g)
{
    struct vf_map_work *w = g->work;
    const int count = (int)g->data->count, upright = (int)g->data->upright, first = !w->priors;
    VF_PARTS(n, VFRONT_KEYFRAMES * 6) w->z[n / 6][n % 6] = w->r[n / 6][n % 6];
    VF_ITEM_SYNC();
    vf_map_prefix_sum(w, w->z, 1);
    VF_PARTS(i, VFRONT_KEYFRAMES)
    {
        if (i >= first && i < count)
            vf_map_edge_solve(!i && w->from[0] == VF_MAP_FRAME ? &w->loop[0] : &w->chain[i], upright, w->z[i]);
        else
            for (int k = 0; k < 6; k++) w->z[i][k] = 0.0;
    }
    VF_ITEM_SYNC();
    vf_map_prefix_sum(w, w->z, 0);
}

/** Makes one conjugate gradient step. Run by one block. */
VF_FN void vf_map_cg_step(const struct vf_map_graph *g)
{
    struct vf_map_work *w = g->work;
    vf_map_gradient(g, (const double(*)[6])w->p, 0, w->z);
    vf_map_dot(w, (const double(*)[6])w->p, (const double(*)[6])w->z, &w->pq);
    VF_PARTS(one, 1)
    {
        w->alpha = w->pq > 0.0 ? w->rz / w->pq : 0.0;
        w->beta = w->rz;
    }
    VF_ITEM_SYNC();
    VF_PARTS(n, VFRONT_KEYFRAMES * 6)
    {
        const int i = n / 6, k = n % 6;
        w->x[i][k] += w->alpha * w->p[i][k];
        w->r[i][k] -= w->alpha * w->z[i][k];
    }
    VF_ITEM_SYNC();
    vf_map_precondition(g);
    vf_map_dot(w, (const double(*)[6])w->r, (const double(*)[6])w->z, &w->rz);
    VF_PARTS(one, 1) w->beta = w->beta > 0.0 ? w->rz / w->beta : 0.0;
    VF_ITEM_SYNC();
    VF_PARTS(n, VFRONT_KEYFRAMES * 6) w->p[n / 6][n % 6] = w->z[n / 6][n % 6] + w->beta * w->p[n / 6][n % 6];
    VF_ITEM_SYNC();
}

/** Moves a pose by scale * x. x: translation [m], rotation vector [rad], both in map axes. */
VF_FN void vf_map_retract(const double x[6], double scale, struct vf_map_pose *pose)
{
    struct vf_map_pose move;
    double w[3];
    for (int k = 0; k < 3; k++) {
        move.p[k] = scale * x[k];
        w[k] = scale * x[3 + k];
    }
    vf_quaternion_exponential(w, move.q);
    vf_map_compose(&move, pose, pose);
}

/** Lowers *m2 and *rad2, the variances of node i, if the path over node k gives less: variances of k plus those of the
 *  edge from k to i. Attitude variance of k adds to the position variance of i in proportion to their squared
 *  distance. */
VF_FN void vf_map_relax_variance(const struct vf_map_data *m, int i, int k, double edge_m2, double edge_rad2, float *m2,
                                 float *rad2)
{
    const uint32_t own = m->order[i], other = m->order[k];
    if (!m->placed_node[other]) return;
    const double lever = vf_map_lever_m2(m->node[own].p, m->node[other].p, (double)m->node_rad2[other]);
    const float by_m2 = m->node_m2[other] + (float)(edge_m2 + lever), by_rad2 = m->node_rad2[other] + (float)edge_rad2;
    *m2 = by_m2 < *m2 ? by_m2 : *m2;
    *rad2 = by_rad2 < *rad2 ? by_rad2 : *rad2;
}

/** Lowers *m2 and *rad2, the variances of node i, by the path over node k and the loop between i and k. loop: the one
 *  of the two nodes where the loop ends. The loop's robust weight is that at scale 1. */
VF_FN void vf_map_relax_by_loop(const struct vf_map_graph *g, int i, int k, int loop, float *m2, float *rad2)
{
    double edge_m2, edge_rad2;
    vf_map_robust_variance(&g->data->loop[g->data->order[loop]], g->work->loop[loop].r, 1.0, &edge_m2, &edge_rad2);
    vf_map_relax_variance(g->data, i, k, edge_m2, edge_rad2, m2, rad2);
}

/** Lowers the variances of all nodes by one relaxation along every edge per frame, as in Bellman-Ford shortest paths.
 *  Run by one block. */
VF_FN void vf_map_propagate_variance(const struct vf_map_graph *g)
{
    struct vf_map_data *m = g->data;
    struct vf_map_work *w = g->work;
    const int count = (int)m->count;
    VF_PARTS(i, count)
    {
        const uint32_t slot = m->order[i];
        float m2 = m->node_m2[slot], rad2 = m->node_rad2[slot];
        if (i) vf_map_relax_variance(m, i, i - 1, w->chain[i].m2, w->chain[i].rad2, &m2, &rad2);
        if (i + 1 < count) vf_map_relax_variance(m, i, i + 1, w->chain[i + 1].m2, w->chain[i + 1].rad2, &m2, &rad2);
        if (w->from[i] < (uint32_t)count) vf_map_relax_by_loop(g, i, (int)w->from[i], i, &m2, &rad2);
        for (uint32_t l = w->first[i]; l < w->first[i + 1]; l++)
            vf_map_relax_by_loop(g, i, (int)w->outgoing[l], (int)w->outgoing[l], &m2, &rad2);
        w->m2[i] = m2, w->rad2[i] = rad2;
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, count)
    {
        const uint32_t slot = m->order[i];
        if (!m->placed_node[slot]) continue;
        m->node_m2[slot] = w->m2[i];
        m->node_rad2[slot] = w->rad2[i];
    }
    VF_ITEM_SYNC();
}

/** Makes one Gauss-Newton step over all nodes. Without active loops nothing moves. Run by one block. */
VF_FN void vf_map_optimise(const struct vf_map_graph *g)
{
    struct vf_map_work *w = g->work;
    vf_map_edges(g);
    vf_map_gradient(g, NULL, 1, w->r);
    VF_PARTS(n, VFRONT_KEYFRAMES * 6)
    {
        w->r[n / 6][n % 6] = -w->r[n / 6][n % 6];
        w->x[n / 6][n % 6] = 0.0;
    }
    VF_ITEM_SYNC();
    vf_map_precondition(g);
    vf_map_dot(w, (const double(*)[6])w->r, (const double(*)[6])w->z, &w->rz);
    VF_PARTS(n, VFRONT_KEYFRAMES * 6) w->p[n / 6][n % 6] = w->z[n / 6][n % 6];
    VF_ITEM_SYNC();
    VF_NO_UNROLL
    for (int i = 0; i < VF_MAP_CG_STEPS; i++) vf_map_cg_step(g);
    VF_PARTS(part, VF_MAP_PARTS)
    {
        double largest = 0.0;
        for (int i = part * VF_MAP_PART; i < (part + 1) * VF_MAP_PART; i++) {
            const double *x = w->x[i] + 3, square = (x[0] * x[0] + x[1] * x[1]) + x[2] * x[2];
            largest = square > largest ? square : largest;
        }
        w->part[part][0] = largest;
    }
    VF_ITEM_SYNC();
    VF_PARTS(one, 1)
    {
        double largest = 0.0;
        for (int part = 0; part < VF_MAP_PARTS; part++)
            largest = w->part[part][0] > largest ? w->part[part][0] : largest;
        w->turn = largest > VF_MAP_STEP_RAD * VF_MAP_STEP_RAD ? VF_MAP_STEP_RAD / sqrt(largest) : 1.0;
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, w->loops ? (int)g->data->count : 0)
    if (i || w->priors) vf_map_retract(w->x[i], w->turn, &g->data->node[g->data->order[i]]);
    VF_ITEM_SYNC();
}

#endif

#endif
