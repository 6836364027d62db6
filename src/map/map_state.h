/* SPDX-License-Identifier: MIT */
/* State of the map, which one step hands to the next: poses of the keyframes in the frame of the map, accepted loops as
 * edges of the pose graph, and T_map_odom. It is all that the graph needs beside the ring of keyframes; a place of the
 * ring has one number in both.
 *
 * Memory  143 bytes a keyframe, 2 of them
 */
#ifndef VF_MAP_STATE_H
#define VF_MAP_STATE_H

#include "keyframe_state.h"

/** Rigid transform in double precision: x_to = R(q) x_from + p. */
struct vf_map_pose {
    double p[3], q[4];
};

/** Loop: pose of keyframe b relative to keyframe a, the earlier one. b is the place at which it is kept: a keyframe
 *  keeps one loop. Where a is VF_MAP_FRAME it is a tie: pose of b in the map, left of a loop whose a has made room. */
struct vf_map_loop {
    struct vf_map_pose pose;   /* T_a_b */
    float sigma_m, sigma_rad;  /* of each axis */
    uint32_t a;                /* place in the ring, VF_MAP_FRAME; VF_NONE: there is no loop */
    uint32_t inliers;          /* of the overlap */
    uint32_t active, reserved; /* 1: an edge of the graph; 0: from the next turn on */
};

/** Where a tie begins: the axes of the map. */
#define VF_MAP_FRAME 0xfffffffeu

/** Least deviations of a tie. */
#define VF_MAP_TIE_M 0.001
#define VF_MAP_TIE_RAD 0.0001

struct vf_map_state {
    struct vf_map_pose node[VFRONT_KEYFRAMES]; /* T_map_cam of each keyframe */
    struct vf_map_loop loop[VFRONT_KEYFRAMES];
    struct vf_map_pose work;         /* T_map_odom as the graph has it now, for keyframes that are new */
    struct vf_map_pose told;         /* T_map_odom of the result */
    double variance_m2;              /* of the last keyframe in the map, of each axis: along the shortest way that */
    double variance_rad2;            /* loops leave; and of its yaw */
    double told_m2, told_rad2;       /* the same of the last turn */
    float node_m2[VFRONT_KEYFRAMES]; /* the same of each keyframe */
    float node_rad2[VFRONT_KEYFRAMES];
    double scale;                          /* of the bound of a loop's residual in the next step: down to 1 in a turn */
    uint32_t count;                        /* nodes of the graph */
    uint32_t loops;                        /* loops that are active */
    uint32_t path;                         /* path of the frame */
    uint32_t placed;                       /* 1: where this path lies in the map is known */
    uint32_t upright;                      /* 1: z of the map is up, and yaw and position alone are corrected */
    uint32_t counter;                      /* jumps of T_map_odom */
    uint32_t metric;                       /* 1: some path had lengths */
    uint32_t loaded;                       /* 1: keyframes of a map that was loaded are nodes */
    uint32_t made, reserved;               /* keyframes that have come */
    uint32_t seen[VFRONT_KEYFRAMES];       /* of each keyframe: `made` when it came or was last found again */
    uint16_t order[VFRONT_KEYFRAMES];      /* places of the nodes, the oldest first */
    uint8_t placed_node[VFRONT_KEYFRAMES]; /* 1: where the keyframe lies in the map is known */
};
VF_STATIC_ASSERT(sizeof(struct vf_map_state) % 8 == 0, "vfront: state of the map is copied by words");

/** Parts of a sum over keyframes, and keyframes in each. */
#define VF_MAP_PARTS 64
#define VF_MAP_PART (VFRONT_KEYFRAMES / VF_MAP_PARTS)

/** Edge of the graph, with its residual. */
struct vf_map_edge {
    double r[6];     /* of the position in axes of the map [m], of the attitude likewise [rad] */
    double c[3];     /* where */
    double m2, rad2; /* variances of an axis; of a loop over its weight */
    double per_m2, per_rad2;
};

/** Work of a step; all by the order of the keyframes. */
struct vf_map_work {
    struct vf_map_edge chain[VFRONT_KEYFRAMES], loop[VFRONT_KEYFRAMES]; /* that end in each keyframe */
    double x[VFRONT_KEYFRAMES][6], r[VFRONT_KEYFRAMES][6], z[VFRONT_KEYFRAMES][6], p[VFRONT_KEYFRAMES][6];
    double f[VFRONT_KEYFRAMES][6], g[VFRONT_KEYFRAMES][6]; /* forces of the edges */
    double part[VF_MAP_PARTS][6];
    double rz, pq, alpha, beta, turn;
    float m2[VFRONT_KEYFRAMES], rad2[VFRONT_KEYFRAMES]; /* variances of the keyframes */
    uint32_t from[VFRONT_KEYFRAMES];      /* where the loop of a keyframe begins, VF_MAP_FRAME; VF_NONE: it has none */
    uint32_t at[VFRONT_KEYFRAMES];        /* of each place of the ring: its keyframe in the order; VF_NONE: none */
    uint32_t first[VFRONT_KEYFRAMES + 1]; /* of each keyframe: first of the loops that begin there */
    uint32_t begins[VFRONT_KEYFRAMES];    /* loops, by the keyframe at which they begin, by where they end */
    uint16_t order[VFRONT_KEYFRAMES];
    uint32_t index, near;        /* keyframe that goes, in the order; place of its neighbour. VF_NONE: there is none */
    struct vf_map_pose way;      /* from that keyframe to its neighbour, */
    double way_m2, way_rad2;     /* and how well it is known */
    struct vf_map_pose move;     /* of keyframes of a path, or of all */
    uint32_t moves, moved_path;  /* vf_map_move */
    struct vf_path_pose known;   /* of a path that is moved: pose in it, */
    double known_m2, known_rad2; /* and how well that is known in the map */
    uint32_t ties, loops;        /* number of ties, 0: the first keyframe is held; of loops and ties that are edges */
    uint32_t held, fresh;        /* number of ties, or of edges from now on; of those of them that were none */
    uint32_t reserved;
    uint32_t is_node[VFRONT_LOOPS];          /* of each loop of the step. 1: its keyframe is a node; */
    struct vf_map_pose motion[VFRONT_LOOPS]; /* pose of the frame in axes of the keyframe; */
    struct vf_map_loop came[VFRONT_LOOPS];   /* the loop, with the last keyframe */
};

/** Memory of map, which keyframe reads as the frame before left it. */
struct vf_map_memory {
#if VFRONT_MAP
    struct vf_map_state state[2]; /* out, by parity */
    struct vf_map_work work;      /* of a step */
#else
    uint64_t nothing;
#endif
};

VF_FN void vf_map_identity(struct vf_map_pose *out)
{
    memset(out, 0, sizeof *out);
    out->q[0] = 1.0;
}

/** out = a b; `out` may be either. */
VF_FN void vf_map_compose(const struct vf_map_pose *a, const struct vf_map_pose *b, struct vf_map_pose *out)
{
    double R[9], p[3];
    vf_quaternion_matrix(a->q, R);
    vf_transform_double(R, b->p, p);
    for (int k = 0; k < 3; k++) out->p[k] = a->p[k] + p[k];
    vf_quaternion_multiply(a->q, b->q, out->q);
    vf_quaternion_unit(out->q);
}

/** out = inverse of a; `out` may be a. */
VF_FN void vf_map_inverse(const struct vf_map_pose *a, struct vf_map_pose *out)
{
    const double q[4] = {a->q[0], -a->q[1], -a->q[2], -a->q[3]};
    double R[9], p[3];
    vf_quaternion_matrix(q, R);
    vf_transform_double(R, a->p, p);
    for (int k = 0; k < 3; k++) out->p[k] = -p[k];
    memcpy(out->q, q, sizeof q);
}

/** out = inverse of a, times b. */
VF_FN void vf_map_between(const struct vf_map_pose *a, const struct vf_map_pose *b, struct vf_map_pose *out)
{
    struct vf_map_pose back;
    vf_map_inverse(a, &back);
    vf_map_compose(&back, b, out);
}

/** Pose in a path as a transform. */
VF_FN void vf_map_of_path(const struct vf_path_pose *pose, struct vf_map_pose *out)
{
    memcpy(out->p, pose->position_m, sizeof out->p);
    memcpy(out->q, pose->q_path_cam, sizeof out->q);
}

/** Transform as a pose, in axes that are no path's. */
VF_FN void vf_map_to_path(const struct vf_map_pose *from, struct vf_path_pose *out)
{
    memset(out, 0, sizeof *out);
    memcpy(out->position_m, from->p, sizeof out->position_m);
    memcpy(out->q_path_cam, from->q, sizeof out->q_path_cam);
}

/** Transform with `a` to the left of the inverse of b: out = a b^-1, the axes of b's path in those of a. upright: 1, of
 *  its rotation the turn about z alone; b comes to where a is all the same. */
VF_FN void vf_map_frame_of(const struct vf_map_pose *a, const struct vf_map_pose *b, int upright,
                           struct vf_map_pose *out)
{
    struct vf_map_pose back;
    double R[9], p[3];
    vf_map_inverse(b, &back);
    vf_map_compose(a, &back, out);
    if (!upright) return;
    const double length = sqrt(out->q[0] * out->q[0] + out->q[3] * out->q[3]);
    out->q[0] = length > 0.0 ? out->q[0] / length : 1.0;
    out->q[3] = length > 0.0 ? out->q[3] / length : 0.0;
    out->q[1] = out->q[2] = 0.0;
    vf_quaternion_matrix(out->q, R);
    vf_transform_double(R, b->p, p);
    for (int k = 0; k < 3; k++) out->p[k] = a->p[k] - p[k];
}

/** Pose of a frame in the map from that in its path, as the graph has it. Returns 0 if that is not known. */
VF_FN int vf_map_pose_of(const struct vf_map_state *m, const struct vf_path_pose *own, struct vf_path_pose *out)
{
    struct vf_map_pose pose;
    if (!m->placed || !m->count || m->path != own->path || own->source < VF_PATH_METRIC) return 0;
    vf_map_of_path(own, &pose);
    vf_map_compose(&m->work, &pose, &pose);
    vf_map_to_path(&pose, out);
    return 1;
}

/** By how far the pose of a frame in the map may be off: 3 standard deviations of all axes together [m], and of its
 *  yaw [rad], and what a path may be off by in any case. */
VF_FN double vf_map_off_m(const struct vf_map_state *m) { return 3.0 * sqrt(3.0 * m->variance_m2) + VF_PATH_SLACK_M; }
VF_FN double vf_map_off_rad(const struct vf_map_state *m) { return 3.0 * sqrt(m->variance_rad2) + VF_PATH_SLACK_RAD; }

/** Variance of each axis of a position that is seen from another one whose attitude has a variance about each axis. */
VF_FN double vf_map_lever_m2(const double a[3], const double b[3], double rad2)
{
    double square = 0.0;
    for (int k = 0; k < 3; k++) square += (a[k] - b[k]) * (a[k] - b[k]);
    return square * rad2 * (2.0 / 3.0);
}

/** Deviations of the motion between two keyframes of a path that follow each other, of each axis: what the motions say,
 *  and a share of the way and of the turn, since errors of a calibration are the same in every frame. Where the
 *  keyframes between them have made room the way has many laps, and says next to nothing of the heading either. */
#define VF_MAP_EDGE_SHARE 0.05
#define VF_MAP_EDGE_M 0.002
#define VF_MAP_EDGE_RAD 0.003
#define VF_MAP_EDGE_RAD_PER_M 0.001
VF_FN void vf_map_edge_variance(const struct vf_path_pose *from, const struct vf_path_pose *to, double *m2,
                                double *rad2)
{
    const double more = to->position_variance_m2 - from->position_variance_m2,
                 turn = to->turn_variance_rad2 - from->turn_variance_rad2, way = to->length_m - from->length_m,
                 half = vf_path_half_cosine(from, to), sine2 = 4.0 * (1.0 - half * half);
    *m2 = (more > 0.0 ? more / 3.0 : 0.0) + VF_MAP_EDGE_SHARE * VF_MAP_EDGE_SHARE * way * way +
          VF_MAP_EDGE_M * VF_MAP_EDGE_M;
    *rad2 = (turn > 0.0 ? turn : 0.0) + 0.0004 * (sine2 > 0.0 ? sine2 : 0.0) +
            VF_MAP_EDGE_RAD_PER_M * VF_MAP_EDGE_RAD_PER_M * way * way + VF_MAP_EDGE_RAD * VF_MAP_EDGE_RAD;
}

#endif
