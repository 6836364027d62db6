/* SPDX-License-Identifier: MIT */
/* The pose graph of the map as a shared library, for graph.py. */
#include <stdlib.h>

#include "map/map.h"

VF_STATIC_ASSERT(VFRONT_MAP, "graph.py needs a config with a map");

/** Keyframe: pose in its chain, variances of that pose, number. */
struct given_node {
    double p[3], q[4], position_variance_m2, rotation_variance_rad2, length_m;
    uint32_t chain, source;
};
struct given_loop {
    double p[3], q[4], sigma_m, sigma_rad;
    uint32_t a, b; /* nodes in order */
};

/** Largest number of keyframes. */
int graph_room(void) { return VFRONT_KEYFRAMES; }

/** Frames of a period, in which the robust scale falls. */
int graph_turn(void) { return VF_MAP_PERIOD; }

/** Bound of a loop's chi^2. */
double graph_bound(void) { return VF_MAP_BOUND; }

/** Variances of the edge between two keyframes. */
void graph_edge(const struct given_node *a, const struct given_node *b, double *m2, double *rad2)
{
    struct vf_chain_pose pose[2];
    memset(pose, 0, sizeof pose);
    for (int i = 0; i < 2; i++) {
        const struct given_node *n = i ? b : a;
        memcpy(pose[i].position_m, n->p, sizeof n->p);
        memcpy(pose[i].q_chain_cam, n->q, sizeof n->q);
        pose[i].position_variance_m2 = n->position_variance_m2;
        pose[i].rotation_variance_rad2 = n->rotation_variance_rad2;
        pose[i].length_m = n->length_m;
    }
    vf_map_edge_variance(&pose[0], &pose[1], m2, rad2);
}

/** Poses of `count` keyframes in the map after several frames, from their poses in the chain, with all loops new at
 *  first. out: p, q each; weight: final weight of each loop. Returns 0 without memory. */
int graph_solve(const struct given_node *node, int count, const struct given_loop *loop, int loops, int upright,
                int frames, double (*out)[7], double *weight)
{
    struct vf_keyframe_entry *ring = calloc(VFRONT_KEYFRAMES, sizeof *ring);
    struct vf_map_data *m = calloc(1, sizeof *m);
    struct vf_map_work *w = calloc(1, sizeof *w);
    const struct vf_map_graph g = {ring, m, w, NULL};
    if (ring && m && w) {
        m->count = (uint32_t)count;
        m->upright = (uint32_t)upright;
        m->scale = VF_MAP_SCALE;
        for (int i = 0; i < VFRONT_KEYFRAMES; i++) m->loop[i].a = VF_NONE;
        for (int i = 0; i < count; i++) {
            const uint32_t slot = (uint32_t)(count - 1 - i); /* no ring slot equals its node */
            struct vf_chain_pose *pose = &ring[slot].head.pose;
            ring[slot].head.used = 1;
            memcpy(pose->position_m, node[i].p, sizeof node[i].p);
            memcpy(pose->q_chain_cam, node[i].q, sizeof node[i].q);
            pose->position_variance_m2 = node[i].position_variance_m2;
            pose->rotation_variance_rad2 = node[i].rotation_variance_rad2;
            pose->length_m = node[i].length_m;
            pose->chain = node[i].chain;
            pose->source = node[i].source;
            vf_map_from_chain(pose, &m->node[slot]);
            m->order[i] = (uint16_t)slot;
        }
        for (int i = 0; i < loops; i++) {
            struct vf_map_loop *l = &m->loop[count - 1 - (int)loop[i].b];
            memcpy(l->pose.p, loop[i].p, sizeof loop[i].p);
            memcpy(l->pose.q, loop[i].q, sizeof loop[i].q);
            l->sigma_m = (float)loop[i].sigma_m;
            l->sigma_rad = (float)loop[i].sigma_rad;
            l->a = (uint32_t)count - 1 - loop[i].a;
            l->active = 1;
        }
        for (int i = 0; i < frames; i++) {
            vf_map_optimise(&g);
            m->scale = m->scale > VF_MAP_SCALE_DECAY ? m->scale / VF_MAP_SCALE_DECAY : 1.0;
        }
        vf_map_edges(&g);
        for (int i = 0; i < count; i++) {
            memcpy(out[i], m->node[m->order[i]].p, 3 * sizeof(double));
            memcpy(out[i] + 3, m->node[m->order[i]].q, 4 * sizeof(double));
        }
        for (int i = 0; i < loops; i++) weight[i] = loop[i].sigma_m * loop[i].sigma_m / w->loop[loop[i].b].m2;
    }
    free(ring);
    free(m);
    free(w);
    return ring && m && w;
}
