/* SPDX-License-Identifier: MIT */
/* Keyframe: pose of camera 0 in one frame, and up to VF_KEYFRAME_POINTS points with descriptors and bearings.
 *
 * Memory  15.8 KB a keyframe
 */
#ifndef VF_KEYFRAME_DATA_H
#define VF_KEYFRAME_DATA_H

#include "math/pose.h"
#include "math/quaternion.h"

/** Columns and rows of the grid over the image. A keyframe stores the best key point of each cell. */
#define VF_KEYFRAME_COLUMNS 20
#define VF_KEYFRAME_ROWS 15
#define VF_KEYFRAME_POINTS (VF_KEYFRAME_COLUMNS * VF_KEYFRAME_ROWS)

/** Number of look-up tables for place recognition. A point has one word per table: 16 bits of its descriptor, others in
 *  each table. */
#define VF_RECALL_TABLES 2

/** Value that stands for no word: the point does not exist, or an earlier point of the same frame has the same word. */
#define VF_RECALL_NO_WORD 0xffffu

/** Point of a keyframe: a key point of camera 0, with its bearing in axes of camera 0. */
struct vf_keyframe_point {
    vfront_descriptor_t descriptor;
    int16_t bearing_q15[3]; /* bearing: unit vector times 32767 */
    uint16_t keypoint;      /* index in vfront_result_t.keypoints[0] of the keyframe's frame */
    float range_m;          /* distance from camera 0 [m]; 0: unknown */
    uint16_t sigma_q16;     /* standard deviation of range_m divided by range_m [1/65536] */
    uint16_t level;
};
VF_STATIC_ASSERT(sizeof(struct vf_keyframe_point) == 48, "vfront: size of a remembered point");

/** Points of a keyframe and their words. */
struct vf_keyframe_points {
    uint32_t count, reserved[3];
    struct vf_keyframe_point point[VF_KEYFRAME_POINTS]; /* in order of their grid cells; `count` are used */
    uint16_t word[VF_RECALL_TABLES][VF_KEYFRAME_POINTS];
};

/** Bearing of a keyframe point as a unit vector in axes of camera 0. */
VF_FN void vf_keyframe_bearing(const struct vf_keyframe_point *p, float bearing[3])
{
    for (int k = 0; k < 3; k++) bearing[k] = (float)p->bearing_q15[k] * (1.0f / 32767.0f);
    vf_unit_reciprocal(bearing);
}

/** Source of the poses of a motion chain. */
enum vf_chain_source {
    VF_CHAIN_NONE,      /* no source: the motion from the previous frame is unknown */
    VF_CHAIN_ROTATIONS, /* relative motions of one camera: only attitudes are known */
    VF_CHAIN_METRIC,    /* metric motions of two cameras: positions and attitudes are known */
    VF_CHAIN_NAV        /* pose of the inertial estimator, whose z axis is up */
};

/** Pose of camera 0 in the axes of a motion chain. A chain lasts while the motion between successive frames is known.
 *  Poses of different chains have no known relation. */
struct vf_chain_pose {
    double position_m[3], q_chain_cam[4];
    double position_variance_m2, /* variance of position_m since the chain began, sum over axes [m^2] */
        rotation_variance_rad2;  /* variance of the attitude since the chain began, worst axis [rad^2] */
    double length_m;             /* distance travelled since the chain began [m] */
    uint32_t chain, source;      /* number of the chain; source of the pose, a vf_chain_source */
};

/** Head of a keyframe: all its data except the points. */
struct vf_keyframe {
    uint64_t origin;  /* 0: made in this run; else the id of the map that it was loaded with (serialize.h) */
    uint64_t frame;   /* number of its frame: vfront_result_t.frame in the run that made it */
    uint64_t t_ns;    /* middle of its exposure [ns] */
    uint64_t last_id; /* greatest track id in its frame */
    struct vf_chain_pose pose;
    uint32_t tracks; /* number of tracks in its frame */
    uint32_t used;   /* 1: this ring slot holds a keyframe */
};

/** Number that identifies a keyframe. Keyframes of two different loaded maps may have the same number. */
VF_FN uint64_t vf_keyframe_number(const struct vf_keyframe *k) { return k->frame | (uint64_t)(k->origin != 0) << 63; }

/** 1 if the attitudes of two poses are in the same axes: both poses belong to one motion chain. */
VF_FN int vf_chain_attitude_known(const struct vf_chain_pose *a, const struct vf_chain_pose *b)
{
    return a->chain == b->chain;
}

/** 1 if attitudes and positions of two poses are in the same axes: one motion chain, with positions. It suffices that
 *  one pose has a metric source, because the frame that begins a chain may have no source. */
VF_FN int vf_chain_position_known(const struct vf_chain_pose *a, const struct vf_chain_pose *b)
{
    return a->chain == b->chain && (a->source >= VF_CHAIN_METRIC || b->source >= VF_CHAIN_METRIC);
}

/** Squared distance between two positions [m^2]. */
VF_FN double vf_chain_distance2(const struct vf_chain_pose *a, const struct vf_chain_pose *b)
{
    double sum = 0.0;
    for (int k = 0; k < 3; k++) sum += (a->position_m[k] - b->position_m[k]) * (a->position_m[k] - b->position_m[k]);
    return sum;
}

/** Cosine of half the angle between two attitudes. */
VF_FN double vf_chain_half_cosine(const struct vf_chain_pose *a, const struct vf_chain_pose *b)
{
    double sum = 0.0;
    for (int k = 0; k < 4; k++) sum += a->q_chain_cam[k] * b->q_chain_cam[k];
    return sum < 0.0 ? -sum : sum;
}

/** Part of the position drift bound that is proportional to the distance travelled: covers calibration errors, which do
 *  not average out. */
#define VF_CHAIN_DRIFT_SHARE 0.03
/** Constant part of the position drift bound [m]. */
#define VF_CHAIN_MARGIN_M 0.3
/** Bound of the position drift from one pose to a later one of the same motion chain [m]: 3 standard deviations, plus
 *  VF_CHAIN_DRIFT_SHARE times the distance travelled, plus VF_CHAIN_MARGIN_M. */
VF_FN double vf_chain_drift_m(const struct vf_chain_pose *from, const struct vf_chain_pose *to)
{
    const double more = to->position_variance_m2 - from->position_variance_m2, segment = to->length_m - from->length_m;
    return 3.0 * sqrt(more > 0.0 ? more : 0.0) + VF_CHAIN_DRIFT_SHARE * segment + VF_CHAIN_MARGIN_M;
}

/** Constant part of the attitude drift bound [rad]. */
#define VF_CHAIN_MARGIN_RAD 0.1
/** Bound of the attitude drift from one pose to a later one of the same motion chain [rad]: 3 standard deviations plus
 *  VF_CHAIN_MARGIN_RAD. */
VF_FN double vf_chain_drift_rad(const struct vf_chain_pose *from, const struct vf_chain_pose *to)
{
    const double more = to->rotation_variance_rad2 - from->rotation_variance_rad2;
    return 3.0 * sqrt(more > 0.0 ? more : 0.0) + VF_CHAIN_MARGIN_RAD;
}

#endif
