/* SPDX-License-Identifier: MIT */
/* Scratch memory of one estimator step.
 *
 * Systems, back-substitution rows and relative-pose Jacobians exist twice: one set at the current estimate, one at the
 * trial estimate. A rejected trial set is overwritten. */
#ifndef VF_VIO_WORK_H
#define VF_VIO_WORK_H

#include "math/robust.h"
#include "math/team.h"
#include "factor_relative.h"

/** Number of pairs of frame slots (a, b) with a <= b. */
#define VF_VIO_PAIRS (VF_VIO_FRAMES * (VF_VIO_FRAMES + 1) / 2)

/** Number of inertial factors: one between each two consecutive states. */
#define VF_VIO_INERTIAL_FACTORS (VF_VIO_STATES - 1)

/** Number of partial sums, computed concurrently, that make up a cost or a count. */
#define VF_VIO_PARTS 32

/** Number of columns of the time offset and of camera 0's attitude on the IMU together. */
#define VF_VIO_CAMERA_COLUMNS 4

/** Largest number of columns marginalized in a normal step: one state and the pose of one keyframe. */
#define VF_VIO_MARG_COLUMNS (VF_NAV_ERRORS + 6)
/** Largest number of columns marginalized at the start of a stationary period, or after loss of the landmarks: all but
 *  one state and the calibration. */
#define VF_VIO_MARG_COLUMNS_MAX (VF_VIO_TIME_OFFSET - VF_NAV_ERRORS)

/** Normal equations of the landmarks of one anchor, first over the frames' poses relative to the anchor.
 *  vf_vio_anchor_to_frames() converts them in place to the frames' own poses. */
struct vf_vio_anchor {
    uint32_t count;  /* number of landmarks of the anchor */
    uint32_t frames; /* bit f: frame f observes a landmark of the anchor; the anchor's own bit is 0 */
    /* in each part of all landmarks: number of the anchor's landmarks (part), bits of the frames that observe them
     * (seen) */
    uint32_t part[VF_VIO_PARTS], seen[VF_VIO_PARTS];
    uint32_t list[VF_VIO_LANDMARKS]; /* bits 0 .. 15: landmark slot, ascending; bits 16 .. 31: frames that observe it */
    double H[VF_VIO_PAIRS][6][6];    /* [pair (a, b)]: block of the poses of frame a (rows) and frame b (columns) */
    /* [0][f]: gradient by the pose of frame f; [1 + n][f]: block of this pose and offset n of camera 1 */
    double g[1 + VF_VIO_STEREO_OFFSETS][VF_VIO_FRAMES][6];
    /* block and gradient of the offsets of camera 1, laid out as vf_landmark_equations.stereo_sums */
    double stereo[VF_VIO_STEREO_SUMS];
    double cross_H[VF_VIO_FRAMES][6][6]; /* [a]: block of the poses of frame a (rows) and of the anchor (columns) */
    /* [a][i]: column i of the block of frame a's pose and the calibration: time offset, camera attitude */
    double camera[VF_VIO_FRAMES][VF_VIO_CAMERA_COLUMNS][6];
    double own[6][6],                         /* block of the anchor's pose with itself */
        own_camera[VF_VIO_CAMERA_COLUMNS][6]; /* block of the anchor's pose with time offset, camera attitude */
    /* block of time offset and camera attitude with themselves */
    double camera_H[VF_VIO_CAMERA_COLUMNS][VF_VIO_CAMERA_COLUMNS];
    /* [0]: gradient by the anchor's pose; [1 + n]: block of this pose and offset n of camera 1 */
    double own_g[1 + VF_VIO_STEREO_OFFSETS][6],
        /* [0]: gradient by time offset, camera attitude; [1 + n]: block of these and offset n of camera 1 */
        camera_g[1 + VF_VIO_STEREO_OFFSETS][VF_VIO_CAMERA_COLUMNS];
    /* [set at or trial of vf_vio_work]: derivatives of the frames' poses relative to the anchor */
    struct vf_relative_jacobian jacobian[2][VF_VIO_FRAMES];
    struct vf_pose pose[VF_VIO_FRAMES];
    float change[VF_VIO_FRAMES][6]; /* increments of the frames' poses relative to the anchor, by the last solution */
};

/** Inertial factor between two successive states, with the zero-velocity update of a stationary interval. */
struct vf_vio_inertial {
    int32_t a, b;            /* window slots of the earlier and of the later state; a is -1 in an unused entry */
    struct vf_inertial rows; /* whitened residuals and Jacobian */
    double H[VF_INERTIAL_COLUMNS][VF_INERTIAL_COLUMNS], g[VF_INERTIAL_COLUMNS];
    int32_t column[VF_VIO_COLUMNS]; /* per column of the system: column of H; -1: H does not depend on it */
    double still[3], /* zero-velocity update: weights of position, attitude and velocity (stationary.h) */
        moved[9];    /* zero-velocity update: residuals of position, attitude and velocity, 3 axes each */
};

/** Scratch of the stationary test, and its results for this frame. */
struct vf_stationary_sums {
    float row[2][7][VF_VIO_OBSERVATIONS]; /* two rows per observation: 6 derivatives, then the change of bearing */
    int32_t tested[VF_VIO_OBSERVATIONS],  /* 1: the observation has an earlier reference bearing */
        still[VF_VIO_OBSERVATIONS];       /* 1: the observation has not moved from its reference bearing */
    double H[36], g[6],                   /* normal equations over velocity and angular rate of the camera */
        number[2];                        /* number of observations that are tested [0], that have not moved [1] */
    int32_t anew;                         /* 1: the camera moves; reference bearings are set to this frame */
    int32_t begins;                       /* 1: a stationary period starts with this frame */
};

/** Number of columns per panel of a factorization. */
#define VF_SOLVE_PANEL 4

/** Number of levels of squared residual at which the consistency test counts observations (consistency.h). */
#define VF_CONSISTENCY_LEVELS 8

/** Decision of the consistency test on an observation. */
enum {
    VF_CONSISTENCY_TAKEN,    /* accepted */
    VF_CONSISTENCY_ON_TRIAL, /* landmark on trial; used only while few other observations are accepted */
    VF_CONSISTENCY_SPENT,    /* not used: landmark rejected too often, or a range error explains the residual */
    VF_CONSISTENCY_REFUSED   /* rejected: squared residual above the gate */
};

/** Kinds of observations of landmarks that the consistency test counts. */
enum {
    VF_CONSISTENCY_OF_PROVEN,         /* accepted, of a landmark with a range and not on trial */
    VF_CONSISTENCY_OF_REFUSED,        /* rejected observations */
    VF_CONSISTENCY_OF_REFUSED_RANGED, /* rejected, of a landmark with a range */
    VF_CONSISTENCY_OF_BOTH,           /* observed by both cameras */
    VF_CONSISTENCY_OF_TESTED,         /* observations tested against the prediction */
    VF_CONSISTENCY_OF_NOT_TAKEN,      /* tested, and rejected now or of a landmark rejected too often */
    VF_CONSISTENCY_OF_OLD,            /* tested, of a landmark neither on trial nor rejected too often */
    VF_CONSISTENCY_OF_CLOSE,          /* as VF_CONSISTENCY_OF_OLD, and close to the prediction */
    VF_CONSISTENCY_COUNTS
};

/** Number of tiles of 4x4 elements in a column of the system with one further row. */
#define VF_SOLVE_TILES ((VF_VIO_COLUMNS + 1 + VF_SOLVE_PANEL - 1) / VF_SOLVE_PANEL)
/** Size of the scratch of a factorization [doubles]: matrix with one row below it, or, if larger, its factor on a GPU,
 *  whose rows have 32 tiles of 4x4 elements. */
#define VF_SOLVE_WORKSPACE                                                                                             \
    ((VF_VIO_COLUMNS + 1) * VF_VIO_COLUMNS > 512 * VF_SOLVE_TILES ? (VF_VIO_COLUMNS + 1) * VF_VIO_COLUMNS              \
                                                                  : 512 * VF_SOLVE_TILES)

/** Scratch of a factorization beside the matrix (solve.h). */
struct vf_solve_workspace {
    double damped_diagonal[VF_VIO_COLUMNS]; /* diagonal of the matrix after damping, before factorization */
    double fixed[VF_VIO_COLUMNS];           /* 1 / D of a column if it is linearly dependent */
    double inverse[VF_VIO_COLUMNS];         /* 1 / D, inverse pivots */
    /* diagonal block of the current panel: L below the diagonal, D L' above */
    double corner[VF_SOLVE_PANEL][VF_SOLVE_PANEL];
    double across[VF_SOLVE_PANEL][VF_VIO_COLUMNS + 1]; /* D L' of the rows below the current panel */
};

/** Scratch of the elimination in a normal step; in shared memory on a GPU. */
struct vf_solve_elimination {
    double matrix[VF_VIO_MARG_COLUMNS * VF_VIO_MARG_COLUMNS];
    double row[VF_VIO_MARG_COLUMNS][VF_VIO_COLUMNS + 1];
    struct vf_solve_workspace workspace;
};

/** Scratch of an elimination of the largest number of columns. */
struct vf_solve_elimination_max {
    double matrix[VF_VIO_MARG_COLUMNS_MAX * VF_VIO_MARG_COLUMNS_MAX];
    double row[VF_VIO_MARG_COLUMNS_MAX][VF_VIO_COLUMNS + 1];
    struct vf_solve_workspace workspace;
};

struct vf_vio_work {
    int32_t at, trial;     /* index 0 or 1 of the equations at the estimate, at the trial estimate */
    int32_t iterations;    /* number of optimization steps so far */
    int32_t reverted;      /* 1: the last step was reverted; landmarks are still to be restored */
    int32_t still;         /* 1: the next linear system is computed at the current landmarks, without updating them */
    uint32_t known;        /* number of accepted observations of landmarks in the newest frame */
    uint32_t refused;      /* number of observations with decision VF_CONSISTENCY_SPENT or _REFUSED */
    uint32_t contrary;     /* number of rejected observations of the newest frame that count for a dispute */
    uint32_t anchors;      /* bit h: the landmarks anchored in frame h are in the linear system */
    uint32_t observations; /* number of observations of the newest frame */
    uint32_t reported_landmarks; /* number of kept landmarks that the newest frame observes */
    /* 1: the newest frame observes too few landmarks, so that all other frames are marginalized */
    int32_t collapses;
    int32_t marg_state, marg_keyframe; /* slot of the state, of the keyframe to marginalize; -1: none */
    uint32_t marg_frames;              /* bit f: the frame of slot f is dropped after the marginalization */
    int32_t marg_count, marg_columns[VF_VIO_MARG_COLUMNS_MAX]; /* number and indices of the columns to marginalize */
    /* per anchor: bits of itself and of the frames that observe its landmarks; 0: it has no landmarks */
    uint32_t anchor_frames[VF_VIO_FRAMES];
    uint32_t frame_anchors[VF_VIO_FRAMES]; /* per frame: bits of the anchors whose landmarks it observes */
    int32_t before[VF_VIO_FRAMES];         /* per slot with a state: slot of the previous state; -1: none */
    /* per landmark slot, bits 0 .. 15: anchor; bits 16 .. 31: frames that observe it; empty slot: VF_VIO_NO_LANDMARK */
    uint32_t anchor_and_seen[VF_VIO_LANDMARKS];
    double damping, cost;                   /* damping of the next optimization step; cost at the trial estimate */
    double part[VF_VIO_PARTS];              /* partial sums of the cost */
    double seen[VF_VIO_PARTS];              /* partial sums of the cost of observations */
    uint32_t off[VF_VIO_PARTS];             /* partial counts of rejected observations */
    uint32_t counts[VF_CONSISTENCY_COUNTS]; /* number of observations of each kind (VF_CONSISTENCY_OF_...) */
    uint32_t number[VF_VIO_PARTS];          /* partial counts of observations or landmarks */
    /* estimate minus linearization point (x); H of the prior times x */
    double prior_x[VF_VIO_COLUMNS], prior_Hx[VF_VIO_COLUMNS];
    double x[VF_VIO_COLUMNS];
    struct vf_relative_camera camera[VF_VIO_FRAMES];
    struct vf_camera_motion camera_motion[VF_VIO_FRAMES];
    struct vf_vio_inertial inertial[VF_VIO_INERTIAL_FACTORS];
    struct vf_stationary_sums stationary;
    struct vf_vio_anchor anchor[VF_VIO_FRAMES];
    struct vf_vio_system system[2];
    struct vf_landmark_backsub row[2][VF_VIO_LANDMARKS];
    struct vf_landmark_equations equations[VF_VIO_LANDMARKS];
    int32_t landmark_of[VF_VIO_OBSERVATIONS]; /* landmark slot of each observation; -1: no landmark; -2: no track */
    float square[VF_VIO_OBSERVATIONS],     /* squared residual of each observation at the prediction; -1: not tested */
        explained[VF_VIO_OBSERVATIONS];    /* part of the squared residual that a range error explains */
    int32_t decision[VF_VIO_OBSERVATIONS], /* decision of the consistency test: VF_CONSISTENCY_TAKEN .. _REFUSED */
        least_rejected;                    /* lowest decision with which an observation is not used */
    uint32_t counted[VF_VIO_OBSERVATIONS]; /* per observation: bit n is set if it counts in counts[n] */
    /* camera 1's observation of each landmark: 1 inconsistent, 0 consistent, -1 no observation */
    int32_t stereo_check[VF_VIO_LANDMARKS];
    /* information of each landmark's inverse range, from all observations but that of the newest frame [m^2] */
    float range_information[VF_VIO_LANDMARKS];
    uint32_t within[VF_CONSISTENCY_LEVELS + 1]; /* number of observations within each level; last: of all tested ones */
    struct vf_robust align;                     /* rows and system of the alignment (align_frame.h) */
    int32_t is_tracked[VF_VIO_LANDMARKS];       /* 1: the newest frame has the track of the landmark */
    int32_t slot_rank[VF_VIO_LANDMARKS]; /* rank of each slot for new landmarks, lowest first: vf_vio_slot_rank() */
    int32_t order[VF_VIO_LANDMARKS];     /* slots for new landmarks, best first */
    int32_t is_kept[VF_VIO_LANDMARKS];   /* 1: the landmark is kept after the marginalization */
    int32_t slots;                       /* number of slots in `order` */
    double score[VF_VIO_FRAMES];         /* score of each keyframe for marginalization: vf_vio_keyframe_scores() */
    /* saved_: estimate before an optimization step, for its reversal */
    struct vf_vio_state saved[VF_VIO_FRAMES];
    double saved_offset_s, saved_stereo[VF_VIO_STEREO_OFFSETS], saved_mount[4];
    struct vf_landmark_estimate saved_landmark[VF_VIO_LANDMARKS];
    double corner[VF_VIO_REPORTED][VF_VIO_REPORTED], /* last diagonal block of the LDL' factor, L below the diagonal */
        back[VF_VIO_REPORTED][VF_VIO_REPORTED],      /* inverse of the L in `corner`, by columns */
        corner_inverse[VF_VIO_REPORTED];             /* 1 / D of the rows of `corner` */
    double matrix[VF_SOLVE_WORKSPACE];       /* LDL' factor of the system; on the host first the matrix itself */
    uint32_t ids[VF_VIO_LANDMARKS];          /* host only: track ids of all landmark slots */
    struct vf_solve_workspace workspace;     /* host only: scratch of the factorization of the system */
    struct vf_solve_elimination eliminated;  /* host only: scratch of the marginalization in a normal step */
    struct vf_solve_elimination_max largest; /* host and GPU: scratch of the marginalization of the most columns */
};

#define VF_VIO_NO_LANDMARK 0xffffffffu

/** 1 if observation i of the newest frame belongs to a landmark and is accepted, or its landmark is on trial. */
VF_FN int vf_vio_accepted(const struct vf_vio_work *k, uint32_t i)
{
    return k->landmark_of[i] >= 0 && k->decision[i] < VF_CONSISTENCY_SPENT;
}

/** Index of a pair of frame slots, a <= b. */
VF_FN int vf_vio_pair_index(int a, int b) { return a * VF_VIO_FRAMES - a * (a - 1) / 2 + b - a; }

/** Computes the frame slots of a pair, a <= b, from its index. */
VF_FN void vf_vio_pair_frames(int pair, int *a, int *b)
{
    *a = 0;
    while (pair >= VF_VIO_FRAMES - *a) pair -= VF_VIO_FRAMES - (*a)++;
    *b = *a + pair;
}

#endif
