/* SPDX-License-Identifier: MIT */
/* Pose graph: one Gauss-Newton step over all keyframes, with a fixed number of conjugate gradient steps.
 *
 * Unknowns are small motions x = (v, w) of each keyframe about the origin of the map: p <- exp(w) p + v, R <- exp(w) R.
 * Then an edge from i to j, whose residual is r at the position c of j, has A_c (x_j - x_i) + r, A_c (v, w) = (v + w x
 * c, w), with one variance for the axes of the position and one for those of the attitude: no matrix has to be kept.
 * The chain of keyframes in the order of their frames is the preconditioner: its inverse is a sum from the end, a
 * product with each edge's covariance, and a sum from the beginning. With it a step spreads over the whole chain at
 * once, where a block-Jacobi one needs as many steps as the chain is long. Where z is up, w is a turn about z.
 *
 * Loops are weighted by their residuals, (s / (s + e))^2 with e the squared residual over VF_MAP_BOUND (Geman-McClure),
 * whose scale s begins high where loops are new and falls to 1 (graduated non-convexity): a loop that contradicts the
 * others and the chain ends with no weight. Ties keep theirs.
 *
 * Exact   double precision; sums over keyframes in VF_MAP_PARTS parts, one after the other in each, then the parts
 */
#ifndef VF_MAP_GRAPH_H
#define VF_MAP_GRAPH_H

#include "loop.h"
#include "map_state.h"

/** Conjugate gradient steps of a frame. */
#define VF_MAP_STEPS 12

/** Squared residual, in variances, beyond which a loop counts as wrong: 99 % of six. */
#define VF_MAP_BOUND 16.8

/** Deviations of what is between two paths [m, rad]: nothing is known, and it follows where loops lead. */
#define VF_MAP_GAP_M 10.0
#define VF_MAP_GAP_RAD 1.0

/** Largest turn of a keyframe in a step [rad]. */
#define VF_MAP_TURN_RAD 0.5

#if VFRONT_MAP

/** Graph that the functions below work on. */
struct vf_map_graph {
    const struct vf_keyframe_entry *ring;
    struct vf_map_state *state;
    struct vf_map_work *work;
    const struct vf_keyframe_now *coming; /* its keyframe is a node whose head may not be in the ring yet; NULL: none */
};

/** Pose of a node in its path. */
VF_FN const struct vf_path_pose *vf_map_path_of(const struct vf_map_graph *g, uint32_t slot)
{
    return g->coming && g->coming->slot == slot ? &g->coming->last.pose : &g->ring[slot].head.pose;
}

/* ---- one edge ---------------------------------------------------------------------------------------------------- */

/** Rotation vector of a unit quaternion. */
VF_FN void vf_map_logarithm(const double q[4], double out[3])
{
    const double sign = q[0] < 0.0 ? -1.0 : 1.0, square = q[1] * q[1] + q[2] * q[2] + q[3] * q[3];
    const double sine = sqrt(square), scale = sine > 1e-9 ? 2.0 * vf_atan2(sine, sign * q[0]) / sine : 2.0;
    for (int k = 0; k < 3; k++) out[k] = sign * scale * q[1 + k];
}

/** Residual of an edge: pose b against a T. upright: of the attitude, the turn about z alone. */
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

/** out = A_c^T W (A_c d + r): force of an edge at a difference d of its ends; r NULL: 0. */
VF_FN void vf_map_force(const struct vf_map_edge *e, const double d[6], const double *r, int upright, double out[6])
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

/** d with A_c^T W A_c d = s, in place. */
VF_FN void vf_map_yield(const struct vf_map_edge *e, int upright, double s[6])
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

/** v[i] <- v[0] + .. + v[i], or, from the end, v[i] + .. + v[last]. */
VF_FN void vf_map_scan(struct vf_map_work *w, double v[VFRONT_KEYFRAMES][6], int backwards)
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

/** Scalar product. */
VF_FN void vf_map_product(struct vf_map_work *w, const double a[VFRONT_KEYFRAMES][6],
                          const double b[VFRONT_KEYFRAMES][6], double *out)
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

/** Chain edge that ends in keyframe i of the order. */
VF_FN void vf_map_chain_edge(const struct vf_map_graph *g, int i)
{
    const uint16_t *order = g->state->order;
    struct vf_map_edge *e = &g->work->chain[i];
    const struct vf_map_pose *own = &g->state->node[order[i]];
    memset(e, 0, sizeof *e);
    memcpy(e->c, own->p, sizeof e->c);
    e->m2 = VF_MAP_GAP_M * VF_MAP_GAP_M, e->rad2 = VF_MAP_GAP_RAD * VF_MAP_GAP_RAD;
    if (!i) return;
    const struct vf_path_pose *a = vf_map_path_of(g, order[i - 1]), *b = vf_map_path_of(g, order[i]);
    if (!vf_path_placed(a, b)) return;
    struct vf_map_pose from, to, T;
    vf_map_of_path(a, &from);
    vf_map_of_path(b, &to);
    vf_map_between(&from, &to, &T);
    vf_map_residual(&g->state->node[order[i - 1]], &T, own, (int)g->state->upright, e);
    vf_map_edge_variance(a, b, &e->m2, &e->rad2);
}

/** Variances of a loop over its weight. */
VF_FN void vf_map_weigh(const struct vf_map_loop *l, const double r[6], double scale, double *m2, double *rad2)
{
    *m2 = (double)l->sigma_m * (double)l->sigma_m;
    *rad2 = (double)l->sigma_rad * (double)l->sigma_rad;
    if (l->a == VF_MAP_FRAME) return;
    const double off = ((r[0] * r[0] + r[1] * r[1]) + r[2] * r[2]) / *m2 +
                       ((r[3] * r[3] + r[4] * r[4]) + r[5] * r[5]) / *rad2,
                 root = 1.0 + off / (VF_MAP_BOUND * scale);
    *m2 *= root * root;
    *rad2 *= root * root;
}

/** Loop that ends in keyframe i of the order, if it is active and both its ends are nodes. */
VF_FN void vf_map_loop_edge(const struct vf_map_graph *g, int i)
{
    struct vf_map_work *w = g->work;
    const struct vf_map_state *m = g->state;
    const struct vf_map_loop *l = &m->loop[m->order[i]];
    struct vf_map_edge *e = &w->loop[i];
    struct vf_map_pose frame;
    vf_map_identity(&frame);
    w->from[i] = l->a == VF_NONE || !l->active ? VF_NONE : l->a == VF_MAP_FRAME ? VF_MAP_FRAME : w->at[l->a];
    if (w->from[i] == VF_NONE) return;
    vf_map_residual(l->a == VF_MAP_FRAME ? &frame : &m->node[l->a], &l->pose, &m->node[m->order[i]], (int)m->upright,
                    e);
    vf_map_weigh(l, e->r, m->scale, &e->m2, &e->rad2);
}

/** Index of the places, edges with residuals, and the lists of loops by where they begin. */
VF_FN void vf_map_edges(const struct vf_map_graph *g)
{
    struct vf_map_work *w = g->work;
    const struct vf_map_state *m = g->state;
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
        uint32_t before = 0, rank = 0, ties = 0, loops = 0;
        for (int k = 0; k < count; k++) {
            before += w->from[k] != VF_NONE && w->from[k] < (uint32_t)i;
            rank += w->from[k] != VF_NONE && (w->from[k] < own || (w->from[k] == own && k < i));
            ties += w->from[k] == VF_MAP_FRAME;
            loops += w->from[k] != VF_NONE;
        }
        if (!i) w->ties = ties, w->loops = loops;
        w->first[i] = before;
        if (own != VF_NONE) w->begins[rank] = (uint32_t)i;
    }
    VF_ITEM_SYNC();
}

/** Sum of the forces of all edges at each keyframe into out: of differences of v (NULL: 0) and, with residual 1, of the
 *  residuals. Where there is no tie the first keyframe is held. */
VF_FN void vf_map_forces(const struct vf_map_graph *g, const double v[VFRONT_KEYFRAMES][6], int residual,
                         double out[VFRONT_KEYFRAMES][6])
{
    struct vf_map_work *w = g->work;
    const int count = (int)g->state->count, upright = (int)g->state->upright, first = !w->ties;
    VF_PARTS(i, count)
    {
        double d[6];
        for (int k = 0; k < 6; k++) d[k] = v && i ? v[i][k] - v[i - 1][k] : 0.0;
        vf_map_force(&w->chain[i], d, residual ? w->chain[i].r : NULL, upright, w->f[i]);
        if (w->from[i] == VF_NONE) continue;
        for (int k = 0; k < 6; k++) d[k] = v ? v[i][k] - (w->from[i] == VF_MAP_FRAME ? 0.0 : v[w->from[i]][k]) : 0.0;
        vf_map_force(&w->loop[i], d, residual ? w->loop[i].r : NULL, upright, w->g[i]);
    }
    VF_ITEM_SYNC();
    VF_PARTS(n, VFRONT_KEYFRAMES * 6)
    {
        const int i = n / 6, k = n % 6;
        double sum = 0.0;
        if (i >= first && i < count) {
            sum = w->f[i][k] - (i + 1 < count ? w->f[i + 1][k] : 0.0);
            if (w->from[i] != VF_NONE) sum += w->g[i][k];
            for (uint32_t l = w->first[i]; l < w->first[i + 1]; l++) sum -= w->g[w->begins[l]][k];
        }
        out[i][k] = sum;
    }
    VF_ITEM_SYNC();
}

/** z = r through the inverse of the chain. */
VF_FN void vf_map_condition(const struct vf_map_graph *g)
{
    struct vf_map_work *w = g->work;
    const int count = (int)g->state->count, upright = (int)g->state->upright, first = !w->ties;
    VF_PARTS(n, VFRONT_KEYFRAMES * 6) w->z[n / 6][n % 6] = w->r[n / 6][n % 6];
    VF_ITEM_SYNC();
    vf_map_scan(w, w->z, 1);
    VF_PARTS(i, VFRONT_KEYFRAMES)
    {
        if (i >= first && i < count)
            vf_map_yield(!i && w->from[0] == VF_MAP_FRAME ? &w->loop[0] : &w->chain[i], upright, w->z[i]);
        else
            for (int k = 0; k < 6; k++) w->z[i][k] = 0.0;
    }
    VF_ITEM_SYNC();
    vf_map_scan(w, w->z, 0);
}

/** One conjugate gradient step. */
VF_FN void vf_map_descend(const struct vf_map_graph *g)
{
    struct vf_map_work *w = g->work;
    vf_map_forces(g, (const double(*)[6])w->p, 0, w->z);
    vf_map_product(w, (const double(*)[6])w->p, (const double(*)[6])w->z, &w->pq);
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
    vf_map_condition(g);
    vf_map_product(w, (const double(*)[6])w->r, (const double(*)[6])w->z, &w->rz);
    VF_PARTS(one, 1) w->beta = w->beta > 0.0 ? w->rz / w->beta : 0.0;
    VF_ITEM_SYNC();
    VF_PARTS(n, VFRONT_KEYFRAMES * 6) w->p[n / 6][n % 6] = w->z[n / 6][n % 6] + w->beta * w->p[n / 6][n % 6];
    VF_ITEM_SYNC();
}

/** Pose of a keyframe moved by x times a scale. */
VF_FN void vf_map_shift(const double x[6], double scale, struct vf_map_pose *pose)
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

/** Lowers variances to those of neighbour k of keyframe i and an edge between them. An attitude that is off moves what
 *  is seen from there. */
VF_FN void vf_map_nearer(const struct vf_map_state *m, int i, int k, double edge_m2, double edge_rad2, float *m2,
                         float *rad2)
{
    const uint32_t own = m->order[i], other = m->order[k];
    if (!m->placed_node[other]) return;
    const double lever = vf_map_lever_m2(m->node[own].p, m->node[other].p, (double)m->node_rad2[other]);
    const float by_m2 = m->node_m2[other] + (float)(edge_m2 + lever), by_rad2 = m->node_rad2[other] + (float)edge_rad2;
    *m2 = by_m2 < *m2 ? by_m2 : *m2;
    *rad2 = by_rad2 < *rad2 ? by_rad2 : *rad2;
}

/** The same by the loop that ends in keyframe `loop`, with the weight that it has behind a turn. */
VF_FN void vf_map_nearer_by_loop(const struct vf_map_graph *g, int i, int k, int loop, float *m2, float *rad2)
{
    double edge_m2, edge_rad2;
    vf_map_weigh(&g->state->loop[g->state->order[loop]], g->work->loop[loop].r, 1.0, &edge_m2, &edge_rad2);
    vf_map_nearer(g->state, i, k, edge_m2, edge_rad2, m2, rad2);
}

/** Variances of all keyframes, along edges, by one of them in each frame. */
VF_FN void vf_map_spread(const struct vf_map_graph *g)
{
    struct vf_map_state *m = g->state;
    struct vf_map_work *w = g->work;
    const int count = (int)m->count;
    VF_PARTS(i, count)
    {
        const uint32_t slot = m->order[i];
        float m2 = m->node_m2[slot], rad2 = m->node_rad2[slot];
        if (i) vf_map_nearer(m, i, i - 1, w->chain[i].m2, w->chain[i].rad2, &m2, &rad2);
        if (i + 1 < count) vf_map_nearer(m, i, i + 1, w->chain[i + 1].m2, w->chain[i + 1].rad2, &m2, &rad2);
        if (w->from[i] < (uint32_t)count) vf_map_nearer_by_loop(g, i, (int)w->from[i], i, &m2, &rad2);
        for (uint32_t l = w->first[i]; l < w->first[i + 1]; l++)
            vf_map_nearer_by_loop(g, i, (int)w->begins[l], (int)w->begins[l], &m2, &rad2);
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

/** One Gauss-Newton step: moves all keyframes. No loop is an edge: nothing moves. */
VF_FN void vf_map_optimise(const struct vf_map_graph *g)
{
    struct vf_map_work *w = g->work;
    vf_map_edges(g);
    vf_map_forces(g, NULL, 1, w->r);
    VF_PARTS(n, VFRONT_KEYFRAMES * 6)
    {
        w->r[n / 6][n % 6] = -w->r[n / 6][n % 6];
        w->x[n / 6][n % 6] = 0.0;
    }
    VF_ITEM_SYNC();
    vf_map_condition(g);
    vf_map_product(w, (const double(*)[6])w->r, (const double(*)[6])w->z, &w->rz);
    VF_PARTS(n, VFRONT_KEYFRAMES * 6) w->p[n / 6][n % 6] = w->z[n / 6][n % 6];
    VF_ITEM_SYNC();
    VF_NO_UNROLL
    for (int i = 0; i < VF_MAP_STEPS; i++) vf_map_descend(g);
    VF_PARTS(part, VF_MAP_PARTS)
    {
        double most = 0.0;
        for (int i = part * VF_MAP_PART; i < (part + 1) * VF_MAP_PART; i++) {
            const double *x = w->x[i] + 3, square = (x[0] * x[0] + x[1] * x[1]) + x[2] * x[2];
            most = square > most ? square : most;
        }
        w->part[part][0] = most;
    }
    VF_ITEM_SYNC();
    VF_PARTS(one, 1)
    {
        double most = 0.0;
        for (int part = 0; part < VF_MAP_PARTS; part++) most = w->part[part][0] > most ? w->part[part][0] : most;
        w->turn = most > VF_MAP_TURN_RAD * VF_MAP_TURN_RAD ? VF_MAP_TURN_RAD / sqrt(most) : 1.0;
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, w->loops ? (int)g->state->count : 0)
    if (i || w->ties) vf_map_shift(w->x[i], w->turn, &g->state->node[g->state->order[i]]);
    VF_ITEM_SYNC();
}

#endif

#endif
