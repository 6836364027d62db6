/* SPDX-License-Identifier: MIT */
/* Geometry and parameters of a step: what follows from rig, tuning and config for the life of a front end, and what
 * differs from frame to frame. A stage sees the part of the geometry that its view names: core/view.h. */
#ifndef VF_GEOMETRY_H
#define VF_GEOMETRY_H

#include "vf.h"

/** One level of the pictures of one camera. */
struct vf_level {
    uint32_t offset;       /* bytes from the start of the camera's levels 1 and up; 0 for level 0, a plane of its own */
    int32_t pitch;         /* bytes from row to row, a multiple of 64 */
    int32_t width, height; /* px */
};

/** Pose of camera 1 relative to camera 0. */
struct vf_pair {
    int32_t placed;   /* 1: both are calibrated, and in different places */
    float R[9];       /* takes axes of camera 0 to axes of camera 1 */
    float epipole[3]; /* direction from camera 1 to camera 0, in axes of camera 1: unit vector */
    float baseline_m;
};

/** Constants of a front end, from rig, tuning and config. */
struct vf_geometry {
    int32_t cameras;
    int32_t levels;
    struct vf_level level[VFRONT_CAMERAS][VFRONT_LEVELS]; /* of the tracker: halves */
    int32_t scales;                                       /* levels of key points that fit the pictures */
    struct vf_level scale[VFRONT_CAMERAS][VFRONT_SCALES]; /* of the key points; the first has the size of level 0 */
    uint32_t step_q16[8]; /* size of their pixels [px of level 0]; for every level that a key of three bits can name */
    uint32_t inverse_q19[8];                                  /* its inverse */
    int32_t cells_x[VFRONT_CAMERAS], cells_y[VFRONT_CAMERAS]; /* grid in which tracks are born */
    int32_t culls_x[VFRONT_CAMERAS], culls_y[VFRONT_CAMERAS]; /* grid in which key points are culled */
    /* capacity of key points of all levels before this one, where each level has a share */
    int32_t share[VFRONT_SCALES + 1];
    int32_t masked[VFRONT_CAMERAS];      /* 1: there is a static mask */
    int32_t rectified;                   /* 1: level 0 holds rectified pictures */
    struct vf_level raw[VFRONT_CAMERAS]; /* pictures as the cameras give them */
    int32_t calibrated[VFRONT_CAMERAS];
    int32_t nodes_x[VFRONT_CAMERAS]; /* nodes in a row of the grid of bearings */
    float focal_px[VFRONT_CAMERAS];  /* mean focal length [px] */
    float row_s[VFRONT_CAMERAS];     /* time from a row of the raw picture to the next one [s] */
    struct vf_pair pair;
    float centre_px[2];           /* principal point of camera 0 */
    float horizon_px, road_slope; /* of the road that the rig gives [row, px of disparity a row]; slope 0: none */
    /* derived from the above and the tuning by vf_geometry_derive() */
    int32_t searched; /* levels of key points that are made and searched for corners */
    int32_t groups;   /* groups of key points with a quota each: one a level where levels have shares, else one */
    /* index of the first key point of a group; behind the last: sum of all quotas */
    int32_t group_first[VFRONT_SCALES + 1];
    int32_t cells[VFRONT_CAMERAS];  /* cells_x * cells_y */
    int32_t culls[VFRONT_CAMERAS];  /* culls_x * culls_y */
    int32_t places[VFRONT_CAMERAS]; /* culling cells of all levels searched */
    uint32_t active;                /* stages with work to do, by VF_BIT(); the others are left out of the step */
};

/** Fills in the derived members. All others, and the tuning, must be set. */
void vf_geometry_derive(struct vf_geometry *geometry, const vfront_tuning_t *tuning);

/** Picture as the ingest stage reads it; addresses are valid where the stage runs. */
struct vf_source {
    const uint8_t *data;
    const uint8_t *mask; /* or NULL */
    uint32_t pitch;
    uint32_t mask_pitch;
    uint32_t format;  /* vfront_format_t of data */
    uint32_t missing; /* 1: no picture came, data is that of the frame before */
};

/** Parameters of a frame, written by the host into pinned memory and copied by the ingest stage to where the other
 *  stages read them. */
struct vf_params {
    struct vf_source source[VFRONT_CAMERAS];
    uint64_t t_ns, t_mid_ns, dt_ns;
    uint64_t frame;         /* number since init or reset */
    uint64_t ticket;        /* written into vf_pinned.done by the last stage */
    uint32_t reset_counter; /* health.reset_counter at the last reset */
    uint32_t gap;
    uint32_t gyro_short; /* health.gyro_short */
    uint32_t gyro_stuck; /* health.gyro_stuck */
    uint32_t imu;        /* health.imu */
    uint32_t imu_readings;
    uint32_t result; /* index of the vf_pinned.result to write */
    uint32_t rotation_given;
    uint32_t rate_known;   /* 1: rate_radps is known, and both pictures of camera 0 are new */
    float rate_radps[3];   /* mean rate by the readings, as a rotation of the scene in axes of camera 0 [rad/s] */
    uint32_t rotation_own; /* 1: it is R_cur_prev of the frame */
    uint32_t map_given;    /* 1: the first frame, and the ring of keyframes holds a map that was loaded */
    uint32_t late;         /* health.late of the frame before */
    float H[9];            /* homography of a pure rotation, previous to current picture of camera 0; row-major */
    float R[9]; /* that rotation, previous to current axes of camera 0; row-major; identity where none is given */
    vfront_prediction_t stated; /* motion of camera 0 by the state and the readings; its source 0: none */
};

#endif
