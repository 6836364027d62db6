/* SPDX-License-Identifier: MIT */
/* Map data handed from frame to frame: keyframe poses in map axes, accepted loops as edges of the pose graph, and
 * T_map_odom. With the keyframe ring they are all that the pose graph needs. Arrays of VFRONT_KEYFRAMES are indexed by
 * ring slot.
 *
 * Memory  143 bytes a keyframe, in two copies
 */
#ifndef VF_MAP_DATA_H
#define VF_MAP_DATA_H

#include "keyframe_data.h"

/** Rigid transform in double precision: x_to = R(q) x_from + p, q = (w, x, y, z). */
struct vf_map_pose {
    double p[3], q[4];
};

/** Loop: pose of keyframe b relative to an earlier keyframe a. It is stored at the ring slot of b; each keyframe stores
 *  at most one loop. With a = VF_MAP_FRAME it is a prior: pose of b in the map, which replaces a loop when its keyframe
 *  a is evicted. */
struct vf_map_loop {
    struct vf_map_pose pose;  /* T_a_b: pose of b in axes of a */
    float sigma_m, sigma_rad; /* standard deviations of `pose`, each axis [m], [rad] */
    uint32_t a;               /* ring slot of keyframe a; VF_MAP_FRAME: prior; VF_NONE: no loop */
    uint32_t inliers;         /* inliers of the relative pose that the loop was made from */
    /* 1: the loop is an edge of the graph; 0: it becomes one at the next frame number divisible by VF_MAP_PERIOD */
    uint32_t active, reserved;
};

/** Value of vf_map_loop.a that marks a prior: the loop begins at the map axes, not at a keyframe. */
#define VF_MAP_FRAME 0xfffffffeu

/** Standard deviation added to the position of a prior, each axis [m]; keeps the sum above 0. */
#define VF_MAP_PRIOR_M 0.001
/** Standard deviation added to the attitude of a prior, each axis [rad]; keeps the sum above 0. */
#define VF_MAP_PRIOR_RAD 0.0001

struct vf_map_data {
    struct vf_map_pose node[VFRONT_KEYFRAMES]; /* T_map_cam: pose of each keyframe in the map */
    struct vf_map_loop loop[VFRONT_KEYFRAMES];
    struct vf_map_pose work;           /* latest T_map_odom of the graph; gives new keyframes their pose in the map */
    struct vf_map_pose output;         /* T_map_odom reported in the result */
    double variance_m2;                /* variance of the last keyframe's position in the map, each axis [m^2] */
    double variance_rad2;              /* variance of the last keyframe's attitude in the map, each axis [rad^2] */
    double output_m2, output_rad2;     /* variance_m2 and variance_rad2 that belong to `output` */
    float node_m2[VFRONT_KEYFRAMES];   /* variance of each keyframe's position in the map, each axis [m^2] */
    float node_rad2[VFRONT_KEYFRAMES]; /* variance of each keyframe's attitude in the map, each axis [rad^2] */
    double scale;            /* factor on the chi^2 bound of loops in the next step; falls to 1 within a period */
    uint32_t count;          /* number of nodes of the graph */
    uint32_t loops;          /* number of loops that are edges */
    uint32_t chain;          /* number of the frame's motion chain */
    uint32_t placed;         /* 1: the pose of the frame's motion chain in the map is known */
    uint32_t upright;        /* 1: z of the map is up, so that only yaw and position are corrected */
    uint32_t counter;        /* number of jumps of T_map_odom since the first frame */
    uint32_t metric;         /* 1: some motion chain had metric scale */
    uint32_t loaded;         /* 1: keyframes of a loaded map are nodes */
    uint32_t made, reserved; /* number of keyframes made so far */
    uint32_t seen[VFRONT_KEYFRAMES];  /* by ring slot: `made` when the keyframe was made or last confirmed by a loop */
    uint16_t order[VFRONT_KEYFRAMES]; /* ring slots of the nodes, oldest first */
    uint8_t placed_node[VFRONT_KEYFRAMES]; /* 1: the pose of the keyframe in the map is known */
};
VF_STATIC_ASSERT(sizeof(struct vf_map_data) % 8 == 0, "vfront: state of the map is copied by words");

/** Number of parts into which a sum over keyframes is split, computed concurrently. */
#define VF_MAP_PARTS 64
/** Number of keyframes in each part of a sum over keyframes. */
#define VF_MAP_PART (VFRONT_KEYFRAMES / VF_MAP_PARTS)

/** Edge of the pose graph with its residual. */
struct vf_map_edge {
    double r[6];             /* residual of position in map axes [m] and of attitude in map axes [rad] */
    double c[3];             /* position of the edge's second end in the map [m] */
    double m2, rad2;         /* variances of `r`, each axis [m^2], [rad^2]; for a loop divided by its robust weight */
    double per_m2, per_rad2; /* inverse variances 1 / m2, 1 / rad2 */
};

/** Buffers of one frame, indexed by node (position in `order`) except where noted. */
struct vf_map_work {
    struct vf_map_edge chain[VFRONT_KEYFRAMES], /* edge from the previous node to each node */
        loop[VFRONT_KEYFRAMES];                 /* edge of the loop that ends at each node */
    double x[VFRONT_KEYFRAMES][6],              /* solution of the conjugate gradients: motion of each node */
        r[VFRONT_KEYFRAMES][6],                 /* residual of the conjugate gradients */
        z[VFRONT_KEYFRAMES][6],                 /* preconditioned residual, or system matrix times search direction */
        p[VFRONT_KEYFRAMES][6];                 /* search direction of the conjugate gradients */
    double f[VFRONT_KEYFRAMES][6],              /* gradient of the chain edge that ends at each node */
        g[VFRONT_KEYFRAMES][6];                 /* gradient of the loop edge that ends at each node */
    double part[VF_MAP_PARTS][6];               /* partial sums over keyframes */
    double rz, pq, alpha, beta,                 /* scalars of the conjugate gradients */
        turn;                                   /* factor on the solution x, at most 1, that bounds rotations */
    float m2[VFRONT_KEYFRAMES],                 /* new position variance of each node, each axis [m^2] */
        rad2[VFRONT_KEYFRAMES];                 /* new attitude variance of each node, each axis [rad^2] */
    uint32_t from[VFRONT_KEYFRAMES]; /* node where each node's loop begins; VF_MAP_FRAME: prior; VF_NONE: no loop */
    uint32_t at[VFRONT_KEYFRAMES];   /* node index of each ring slot; VF_NONE: none */
    uint32_t first[VFRONT_KEYFRAMES + 1]; /* index in `outgoing` of the first loop that begins at each node */
    uint32_t outgoing[VFRONT_KEYFRAMES];  /* for each loop the node where it ends, sorted by the node where it begins */
    uint16_t order[VFRONT_KEYFRAMES];     /* copy of vf_map_data.order from before a node is removed */
    uint32_t index,                       /* index of the evicted node in `order`; VF_NONE: none */
        neighbour;                        /* ring slot of the evicted node's neighbour in its chain; VF_NONE: none */
    struct vf_map_pose segment;           /* pose of the neighbour relative to the evicted node */
    double segment_m2, segment_rad2;      /* variances of `segment`, each axis [m^2], [rad^2] */
    struct vf_map_pose move;     /* transform by which keyframe poses in the map are multiplied from the left */
    uint32_t move_kind,          /* keyframes that move: VF_MAP_MOVE_NONE, _ALL or _CHAIN */
        moved_chain;             /* number of the motion chain whose keyframes move */
    struct vf_chain_pose known;  /* chain pose of that end of an accepted loop which lies in the moved chain */
    double known_m2, known_rad2; /* variances of the map pose of this loop end, each axis [m^2], [rad^2] */
    uint32_t priors,             /* number of active priors; 0: node 0 is held fixed */
        loops;                   /* number of active loops, priors included */
    uint32_t held,               /* counter: number of priors, or of active loops */
        added;                   /* counter: number of loops that become edges in this frame */
    uint32_t reserved;
    uint32_t is_node[VFRONT_LOOPS];            /* by loop of this frame; 1: its keyframe is a node */
    struct vf_map_pose motion[VFRONT_LOOPS];   /* by loop: pose of this frame in axes of the loop's keyframe */
    struct vf_map_loop incoming[VFRONT_LOOPS]; /* loops of this frame as edges that end at the last keyframe */
};

/** Memory of stage map. Stages keyframe and loop read the data of the previous frame. */
struct vf_map_memory {
#if VFRONT_MAP
    struct vf_map_data data[2]; /* out: data of this and the previous frame, by parity */
    struct vf_map_work work;    /* buffers of the current frame */
#else
    uint64_t nothing;
#endif
};

VF_FN void vf_map_identity(struct vf_map_pose *out)
{
    memset(out, 0, sizeof *out);
    out->q[0] = 1.0;
}

/** Composes two transforms: out = a b. out may be a or b. */
VF_FN void vf_map_compose(const struct vf_map_pose *a, const struct vf_map_pose *b, struct vf_map_pose *out)
{
    double R[9], p[3];
    vf_quaternion_matrix(a->q, R);
    vf_transform_double(R, b->p, p);
    for (int k = 0; k < 3; k++) out->p[k] = a->p[k] + p[k];
    vf_quaternion_multiply(a->q, b->q, out->q);
    vf_quaternion_unit(out->q);
}

/** Inverts a transform: out = a^-1. out may be a. */
VF_FN void vf_map_inverse(const struct vf_map_pose *a, struct vf_map_pose *out)
{
    const double q[4] = {a->q[0], -a->q[1], -a->q[2], -a->q[3]};
    double R[9], p[3];
    vf_quaternion_matrix(q, R);
    vf_transform_double(R, a->p, p);
    for (int k = 0; k < 3; k++) out->p[k] = -p[k];
    memcpy(out->q, q, sizeof q);
}

/** Computes pose b in axes of pose a: out = a^-1 b. */
VF_FN void vf_map_between(const struct vf_map_pose *a, const struct vf_map_pose *b, struct vf_map_pose *out)
{
    struct vf_map_pose back;
    vf_map_inverse(a, &back);
    vf_map_compose(&back, b, out);
}

/** Converts a chain pose into a transform: position and attitude only. */
VF_FN void vf_map_from_chain(const struct vf_chain_pose *pose, struct vf_map_pose *out)
{
    memcpy(out->p, pose->position_m, sizeof out->p);
    memcpy(out->q, pose->q_chain_cam, sizeof out->q);
}

/** Converts a transform into a chain pose whose chain number and variances are 0. */
VF_FN void vf_map_to_chain(const struct vf_map_pose *from, struct vf_chain_pose *out)
{
    memset(out, 0, sizeof *out);
    memcpy(out->position_m, from->p, sizeof out->position_m);
    memcpy(out->q_chain_cam, from->q, sizeof out->q_chain_cam);
}

/** Computes the transform that maps pose b to pose a: out = a b^-1. upright 1: keeps only the rotation about z, and
 *  adjusts the translation so that b still maps to the position of a. */
VF_FN void vf_map_align(const struct vf_map_pose *a, const struct vf_map_pose *b, int upright, struct vf_map_pose *out)
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

/** Computes the pose of a frame in the map from its chain pose `own` and the latest T_map_odom. Returns 0 if the pose
 *  in the map is unknown. */
VF_FN int vf_map_pose_of(const struct vf_map_data *m, const struct vf_chain_pose *own, struct vf_chain_pose *out)
{
    struct vf_map_pose pose;
    if (!m->placed || !m->count || m->chain != own->chain || own->source < VF_CHAIN_METRIC) return 0;
    vf_map_from_chain(own, &pose);
    vf_map_compose(&m->work, &pose, &pose);
    vf_map_to_chain(&pose, out);
    return 1;
}

/** Bound of the position error of a frame in the map [m]: 3 standard deviations plus VF_CHAIN_MARGIN_M. */
VF_FN double vf_map_bound_m(const struct vf_map_data *m)
{
    return 3.0 * sqrt(3.0 * m->variance_m2) + VF_CHAIN_MARGIN_M;
}
/** Bound of the attitude error of a frame in the map [rad]: 3 standard deviations plus VF_CHAIN_MARGIN_RAD. */
VF_FN double vf_map_bound_rad(const struct vf_map_data *m)
{
    return 3.0 * sqrt(m->variance_rad2) + VF_CHAIN_MARGIN_RAD;
}

/** Position variance of point b, each axis [m^2], that results from the attitude variance rad2 of point a, about each
 *  axis: 2/3 of squared distance times rad2. */
VF_FN double vf_map_lever_m2(const double a[3], const double b[3], double rad2)
{
    double square = 0.0;
    for (int k = 0; k < 3; k++) square += (a[k] - b[k]) * (a[k] - b[k]);
    return square * rad2 * (2.0 / 3.0);
}

/** Standard deviation of the translation between two keyframes, each axis, as a share of the path length: calibration
 *  errors. */
#define VF_MAP_EDGE_SHARE 0.05
/** Constant standard deviation of the translation between two keyframes, each axis [m]. */
#define VF_MAP_EDGE_M 0.002
/** Constant standard deviation of the rotation between two keyframes, each axis [rad]. */
#define VF_MAP_EDGE_RAD 0.003
/** Standard deviation of the rotation between two keyframes, each axis, per metre of path [rad/m]. Reason: if keyframes
 *  between the two were evicted, the path may have full turns, which the angle between the two does not show. */
#define VF_MAP_EDGE_RAD_PER_M 0.001
/** Variances of the motion between two successive keyframes of a chain, each axis: *m2 of the translation [m^2], *rad2
 *  of the rotation [rad^2]. Each is the growth of the chain's variance between the keyframes, plus VF_MAP_EDGE terms.
 *  For the rotation a term is added that grows with the rotation angle. */
VF_FN void vf_map_edge_variance(const struct vf_chain_pose *from, const struct vf_chain_pose *to, double *m2,
                                double *rad2)
{
    const double more = to->position_variance_m2 - from->position_variance_m2,
                 turn = to->rotation_variance_rad2 - from->rotation_variance_rad2,
                 segment = to->length_m - from->length_m, half = vf_chain_half_cosine(from, to),
                 sine2 = 4.0 * (1.0 - half * half);
    *m2 = (more > 0.0 ? more / 3.0 : 0.0) + VF_MAP_EDGE_SHARE * VF_MAP_EDGE_SHARE * segment * segment +
          VF_MAP_EDGE_M * VF_MAP_EDGE_M;
    *rad2 = (turn > 0.0 ? turn : 0.0) + 0.0004 * (sine2 > 0.0 ? sine2 : 0.0) +
            VF_MAP_EDGE_RAD_PER_M * VF_MAP_EDGE_RAD_PER_M * segment * segment + VF_MAP_EDGE_RAD * VF_MAP_EDGE_RAD;
}

#endif
