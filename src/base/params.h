/* SPDX-License-Identifier: MIT */
/* Geometry: constants of a front end, from rig, tuning and config. Parameters: values that differ from frame to frame.
 * A stage sees the part of the geometry that its view names: base/view.h. */
#ifndef VF_PARAMS_H
#define VF_PARAMS_H

#include "vf.h"

/** One pyramid level of a camera's images. */
struct vf_level {
    /* offset from the start of the buffer of levels 1 and up [bytes]; 0 for level 0, which has its own buffer */
    uint32_t offset;
    int32_t pitch;         /* row pitch [bytes], a multiple of 64 */
    int32_t width, height; /* size of the level [px] */
};

/** Pose of the second camera of a pair relative to the first. */
struct vf_pair {
    int32_t placed;   /* 1: both cameras are calibrated, at different positions */
    float R[9];       /* rotation from axes of the first camera to axes of the second */
    float epipole[3]; /* direction from the second camera to the first, in axes of the second: unit vector */
    float baseline_m; /* distance between the cameras [m] */
};

/** Parameters of a stixel model: a row of VFRONT_STIXEL_MODELS. */
struct vf_stixel_model {
#define VF_STIXEL_MEMBER(name, car, rover, drone) int32_t name;
    VFRONT_STIXEL_MODELS(VF_STIXEL_MEMBER)
#undef VF_STIXEL_MEMBER
};

/** Constants of a front end, from rig, tuning and config. */
struct vf_geometry {
    int32_t cameras;
    int32_t levels;
    /* [camera][level]: pyramid of the tracker; each level has half the width and height of the level before */
    struct vf_level level[VFRONT_CAMERAS][VFRONT_LEVELS];
    int32_t scales; /* number of key point levels: those that are at least 16 px wide and high in all cameras */
    /* [camera][level]: pyramid of the key points; its level 0 is as large as level 0 of the tracker's pyramid */
    struct vf_level scale[VFRONT_CAMERAS][VFRONT_SCALES];
    /* [level]: size of the level's pixels [1/65536 px of level 0], for the 8 levels that a corner's sort key can
     * hold */
    uint32_t step_q16[8];
    uint32_t inverse_q19[8]; /* [level]: 2^19 / size of the level's pixels [px of level 0] */
    /* number of columns and rows of the grid of cells in which new tracks start */
    int32_t cells_x[VFRONT_CAMERAS], cells_y[VFRONT_CAMERAS];
    /* number of columns and rows of the culling cells, whose best corners may become key points */
    int32_t culls_x[VFRONT_CAMERAS], culls_y[VFRONT_CAMERAS];
    /* [i]: sum of the key point quotas of levels 0..i - 1, if each level has a quota */
    int32_t share[VFRONT_SCALES + 1];
    int32_t masked[VFRONT_CAMERAS];      /* 1: the camera has a static mask */
    int32_t rectified;                   /* 1: level 0 holds rectified images */
    struct vf_level raw[VFRONT_CAMERAS]; /* size and pitch of the raw images */
    int32_t calibrated[VFRONT_CAMERAS];
    int32_t nodes_x[VFRONT_CAMERAS]; /* number of nodes per row of the bearing grid */
    float focal_px[VFRONT_CAMERAS];  /* mean of the horizontal and vertical focal length [px] */
    float row_s[VFRONT_CAMERAS];     /* rolling shutter: time between rows of the raw image [s] */
    struct vf_pair pair;
    float centre_px[2]; /* principal point (x, y) of camera 0 [px] */
    struct vf_stixel_model stixel_model;
    /* road given by the rig: row of the horizon [px], and disparity per row [px/px]; slope 0: no road given */
    float horizon_px, road_slope;
    /* derived by vf_geometry_derive() from the members above and the tuning */
    int32_t searched; /* number of key point levels that are built and searched for corners */
    /* number of groups of key points that have their own quota: one group per level, or one of all levels */
    int32_t groups;
    /* [group]: index of its first key point; [groups]: sum of all quotas */
    int32_t group_first[VFRONT_SCALES + 1];
    int32_t cells[VFRONT_CAMERAS];      /* number of cells for new tracks: cells_x * cells_y */
    int32_t culls[VFRONT_CAMERAS];      /* number of culling cells of a level: culls_x * culls_y */
    int32_t cull_slots[VFRONT_CAMERAS]; /* number of culling cells of all searched levels: culls * searched */
    uint32_t active; /* set of stages that have work, by VF_BIT(); the graph leaves out the other stages */
};

/** Computes the members from `searched` on. Requires all members before them, and the tuning. */
void vf_geometry_derive(struct vf_geometry *geometry, const vfront_tuning_t *tuning);

/** Parameters of the stixel model `kind`: VFRONT_STIXEL_CAR, _ROVER or _DRONE. */
struct vf_stixel_model vf_stixel_model_of(int32_t kind);

/** Input image as ingest reads it; addresses are valid on the device that runs the stage. */
struct vf_source {
    const uint8_t *data;
    const uint8_t *mask; /* mask of the image, 0 = ignore; or NULL */
    uint32_t pitch;
    uint32_t mask_pitch;
    uint32_t format;  /* vfront_format_t of data */
    uint32_t missing; /* 1: no image arrived; `data` is the image of the previous frame */
};

/** Parameters of a frame. The host writes them to pinned memory; ingest copies them to where the other stages read
 *  them. */
struct vf_params {
    struct vf_source source[VFRONT_CAMERAS];
    uint64_t t_ns, t_mid_ns, dt_ns;
    uint64_t frame;         /* number of the frame since init or reset, from 0 */
    uint64_t ticket;        /* number of the submitted frame since init; the last stage writes it into vf_pinned.done */
    uint32_t reset_counter; /* value of vfront_health_t.reset_counter after the last reset */
    uint32_t gap;           /* vfront_health_t.gap: 1: more than health_gap_ms since the previous frame */
    uint32_t gyro_short;    /* vfront_health_t.gyro_short: 1: samples do not reach both frames */
    uint32_t gyro_stuck;    /* vfront_health_t.gyro_stuck: 1: rates are bit-equal */
    uint32_t imu;           /* vfront_health_t.imu: set of VFRONT_IMU_MISSING, ... */
    uint32_t imu_samples;   /* vfront_health_t.imu_samples: number of IMU samples of the step */
    uint32_t result;        /* index of the vf_pinned.result to write, 0..2 */
    uint32_t rotation_given; /* 1: R and H between the last two images of camera 0 are known */
    uint32_t rate_known;     /* 1: rate_radps is known; camera 0 has new images in this and the previous frame */
    float rate_radps[3];     /* mean rate by IMU or gyro samples, corrected by the errors of the gyro as known so far:
                                rotation of the scene in axes of camera 0 [rad/s] */
    uint32_t rotation_explicit;   /* 1: R comes from vfront_frame_t.R_cur_prev; 0: from samples */
    float rotation_covariance[6]; /* covariance of R, upper triangle by rows [rad^2] */
    float rotation_rms_rad;       /* vfront_health_t.prior_rms_rad */
    uint32_t map_given;           /* 1: first frame, and the ring of keyframes contains a loaded map */
    uint32_t late;                /* vfront_health_t.late of the previous frame: age of camera 0's images [frames] */
    float H[9];                   /* homography of a pure rotation, previous to current image of camera 0; row-major */
    float R[9]; /* rotation from previous to current axes of camera 0, row-major; identity if rotation_given is 0 */
    vfront_prediction_t state_motion; /* motion of camera 0 by the estimator and its IMU samples; source 0: none */
};

#endif
