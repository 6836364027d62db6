/* SPDX-License-Identifier: MIT */
/* Keyframe: what is remembered of a frame, its pose and up to VF_PLACE_POINTS described points in its own axes.
 *
 * Memory  15.8 KB a keyframe
 */
#ifndef VF_KEYFRAME_STATE_H
#define VF_KEYFRAME_STATE_H

#include "math/pose.h"
#include "math/quaternion.h"

/** Points of a frame: the best key point of each cell of a grid laid over the picture. */
#define VF_PLACE_COLUMNS 20
#define VF_PLACE_ROWS 15
#define VF_PLACE_POINTS (VF_PLACE_COLUMNS * VF_PLACE_ROWS)

/** Words of a point, each of other bits of its descriptor. */
#define VF_PLACE_TABLES 2

/** Word that stands for none: that of a point whose word another point before it has, too. */
#define VF_PLACE_NO_WORD 0xffffu

/** Point of a frame, in axes of camera 0. */
struct vf_place_point {
    vfront_descriptor_t descriptor;
    int16_t bearing_q15[3]; /* unit vector, times 32767 */
    uint16_t keypoint;      /* index in vfront_result_t.keypoints[0] of its frame */
    float range_m;          /* distance; 0: unknown */
    uint16_t sigma_q16;     /* its standard deviation, as a share of it */
    uint16_t level;
};
VF_STATIC_ASSERT(sizeof(struct vf_place_point) == 48, "vfront: size of a remembered point");

/** Points of a frame. */
struct vf_place_set {
    uint32_t count, reserved[3];
    struct vf_place_point point[VF_PLACE_POINTS]; /* by rising cell */
    uint16_t word[VF_PLACE_TABLES][VF_PLACE_POINTS];
};

/** Bearing of a point. */
VF_FN void vf_place_bearing(const struct vf_place_point *p, float bearing[3])
{
    for (int k = 0; k < 3; k++) bearing[k] = (float)p->bearing_q15[k] * (1.0f / 32767.0f);
    vf_unit_reciprocal(bearing);
}

/** Source of the poses of a path. */
enum vf_path_source {
    VF_PATH_NONE,   /* nothing: the frame is not connected with the one before */
    VF_PATH_TURNS,  /* relative motions: attitudes alone are known */
    VF_PATH_METRIC, /* metric motions */
    VF_PATH_NAV     /* state of the IMU: z up */
};

/** Pose of camera 0 in axes of a path, which goes on for as long as each frame is connected with the one before. Poses
 *  of two paths say nothing of each other. */
struct vf_path_pose {
    double position_m[3], q_path_cam[4];
    double position_variance_m2, turn_variance_rad2; /* since the path began: sum over axes; most of an axis */
    double length_m;                                 /* way since the path began */
    uint32_t path, source;                           /* number, vf_path_source */
};

/** Keyframe, but for its points. */
struct vf_keyframe {
    uint64_t origin;  /* 0: it is of this run; else the id of the map with which it was loaded, image.h */
    uint64_t frame;   /* vfront_result_t.frame, of its run */
    uint64_t t_ns;    /* middle of its exposure */
    uint64_t last_id; /* greatest id of a track then */
    struct vf_path_pose pose;
    uint32_t tracks; /* their number */
    uint32_t used;   /* 1: there is one in this place of the ring */
};

/** Number that two keyframes do not share, but for those of two maps. */
VF_FN uint64_t vf_keyframe_number(const struct vf_keyframe *k) { return k->frame | (uint64_t)(k->origin != 0) << 63; }

/** 1 if poses of both have attitudes in the same axes. */
VF_FN int vf_path_turned(const struct vf_path_pose *a, const struct vf_path_pose *b) { return a->path == b->path; }

/** 1 if they have positions, too. The frame with which a path begins has no source, and is where it is. */
VF_FN int vf_path_placed(const struct vf_path_pose *a, const struct vf_path_pose *b)
{
    return a->path == b->path && (a->source >= VF_PATH_METRIC || b->source >= VF_PATH_METRIC);
}

/** Squared distance of two positions [m^2]. */
VF_FN double vf_path_distance2(const struct vf_path_pose *a, const struct vf_path_pose *b)
{
    double sum = 0.0;
    for (int k = 0; k < 3; k++) sum += (a->position_m[k] - b->position_m[k]) * (a->position_m[k] - b->position_m[k]);
    return sum;
}

/** Cosine of half the angle between two attitudes. */
VF_FN double vf_path_half_cosine(const struct vf_path_pose *a, const struct vf_path_pose *b)
{
    double sum = 0.0;
    for (int k = 0; k < 4; k++) sum += a->q_path_cam[k] * b->q_path_cam[k];
    return sum < 0.0 ? -sum : sum;
}

/** Drift from one pose to a later one of the same path: by how far positions may be off [m], 3 standard deviations
 *  and a share of the way, since errors of a calibration are the same in every frame. */
#define VF_PATH_SHARE 0.03
#define VF_PATH_SLACK_M 0.3
VF_FN double vf_path_drift_m(const struct vf_path_pose *from, const struct vf_path_pose *to)
{
    const double more = to->position_variance_m2 - from->position_variance_m2, way = to->length_m - from->length_m;
    return 3.0 * sqrt(more > 0.0 ? more : 0.0) + VF_PATH_SHARE * way + VF_PATH_SLACK_M;
}

/** The same of attitudes [rad]. */
#define VF_PATH_SLACK_RAD 0.1
VF_FN double vf_path_drift_rad(const struct vf_path_pose *from, const struct vf_path_pose *to)
{
    const double more = to->turn_variance_rad2 - from->turn_variance_rad2;
    return 3.0 * sqrt(more > 0.0 ? more : 0.0) + VF_PATH_SLACK_RAD;
}

#endif
