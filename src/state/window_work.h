/* SPDX-License-Identifier: MIT */
/* Memory of the window that does not outlast a step.
 *
 * Two sets of systems, rows and maps: one at the estimate, one at the estimate on trial. A set that loses is written
 * over.
 */
#ifndef VF_WINDOW_WORK_H
#define VF_WINDOW_WORK_H

#include "math/team.h"
#include "window_relative.h"

/** Pairs of frames a <= b. */
#define VF_WINDOW_PAIRS (VF_WINDOW_FRAMES * (VF_WINDOW_FRAMES + 1) / 2)

/** Factors of readings: between the states. */
#define VF_WINDOW_MOTIONS (VF_WINDOW_STATES - 1)

/** Parts in which costs are summed. */
#define VF_WINDOW_PARTS 32

/** Columns of the time offset and the mounting, in one. */
#define VF_WINDOW_CAMERA 4

/** Most columns that are eliminated at once: those of a state and the pose of a keyframe; where rest begins all but
 *  those of a state and the cameras'. */
#define VF_WINDOW_GONE (VF_NAV_ERRORS + 6)
#define VF_WINDOW_GONE_MOST (VF_WINDOW_OFFSET - VF_NAV_ERRORS)

/** Normal equations of the landmarks of one host over the poses relative to it; vf_window_spread() turns them in place
 *  into those over the poses of the frames. */
struct vf_window_host {
    uint32_t count;                                        /* landmarks */
    uint32_t frames;                                       /* bit f: has an equation; not the host's own */
    uint32_t part[VF_WINDOW_PARTS], seen[VF_WINDOW_PARTS]; /* of the landmarks in parts: number, frames */
    uint32_t list[VF_WINDOW_LANDMARKS];                    /* slot, and from bit 16 on who sees it; slots rise */
    double H[VF_WINDOW_PAIRS][6][6];                       /* rows of frame a, columns of frame b */
    double g[1 + VF_WINDOW_STEREO][VF_WINDOW_FRAMES][6];   /* right side; with the offsets of camera 1 */
    double stereo[VF_WINDOW_STEREO_SUMS];                  /* of these, as in struct vf_landmark_more */
    double left[VF_WINDOW_FRAMES][6][6];                   /* of a: its rows with the columns of the host */
    double camera[VF_WINDOW_FRAMES][VF_WINDOW_CAMERA][6];  /* of a: with time offset and mounting */
    double own[6][6], own_camera[VF_WINDOW_CAMERA][6];     /* of the host: with itself; with those */
    double both[VF_WINDOW_CAMERA][VF_WINDOW_CAMERA];       /* of those with themselves */
    /* right side; with the offsets of camera 1 */
    double own_g[1 + VF_WINDOW_STEREO][6], camera_g[1 + VF_WINDOW_STEREO][VF_WINDOW_CAMERA];
    struct vf_relative_map map[2][VF_WINDOW_FRAMES]; /* by set */
    struct vf_pose pose[VF_WINDOW_FRAMES];
    float change[VF_WINDOW_FRAMES][6]; /* of the relative poses, by the last solution */
};

/** Factor of readings. a, b: slots of the states, a -1: none. */
struct vf_window_inertial {
    int32_t a, b;
    struct vf_inertial rows;
    double H[VF_INERTIAL_COLUMNS][VF_INERTIAL_COLUMNS], g[VF_INERTIAL_COLUMNS];
    int32_t column[VF_WINDOW_COLUMNS]; /* of H, for each of the system; -1: none */
    double still[3], moved[9];         /* at rest: weights of position, attitude, velocity; residuals (window_rest.h) */
};

/** Test of rest: rows of the sights, two each, the last column their residuals; normal equations of velocity and rate
 *  of the camera. */
struct vf_rest_sums {
    float row[2][7][VF_WINDOW_SIGHTS];
    int32_t tested[VF_WINDOW_SIGHTS], still[VF_WINDOW_SIGHTS]; /* it has a reference; it has not moved from it */
    double H[36], g[6], number[2];                             /* number: tested, still */
    int32_t anew;   /* 1: the camera moves, as far as one knows: references are of this frame */
    int32_t begins; /* 1: rest is taken for granted from this frame on */
};

/** Columns of a panel of a factorisation. */
#define VF_SOLVE_PANEL 4

/** Levels of the gate (window_gate.h). */
#define VF_GATE_LEVELS 8

/** Verdicts of the gate on sights: taken; taken only where others are few, since the landmark is on trial; not taken,
 *  since the landmark was refused too often, or since an error of its range explains the sight; refused. */
enum { VF_GATE_TAKEN, VF_GATE_ON_TRIAL, VF_GATE_SPENT, VF_GATE_REFUSED };

/** Counts of the gate: sights of landmarks, as follows. */
enum {
    VF_GATE_OF_PROVEN,         /* with a range, taken, and not on trial */
    VF_GATE_OF_REFUSED,        /* refused */
    VF_GATE_OF_REFUSED_RANGED, /* of these, with a range */
    VF_GATE_OF_BOTH,           /* from both cameras */
    VF_GATE_OF_TESTED,         /* that the gate has tested */
    VF_GATE_OF_NOT_TAKEN,      /* of these, refused, or of landmarks refused too often */
    VF_GATE_OF_OLD,            /* of these, neither on trial nor spent */
    VF_GATE_OF_CLOSE,          /* of the old ones, close to the prediction */
    VF_GATE_COUNTS
};

/** Room of a matrix and a row below it, and of its factor on a GPU: rows of 32 tiles of 4x4. */
#define VF_SOLVE_TILES ((VF_WINDOW_COLUMNS + 1 + VF_SOLVE_PANEL - 1) / VF_SOLVE_PANEL) /* of a column */
#define VF_SOLVE_ROOM                                                                                                  \
    ((VF_WINDOW_COLUMNS + 1) * VF_WINDOW_COLUMNS > 512 * VF_SOLVE_TILES ? (VF_WINDOW_COLUMNS + 1) * VF_WINDOW_COLUMNS  \
                                                                        : 512 * VF_SOLVE_TILES)

/** Room of a factorisation (window_solve.h), beside the matrix. */
struct vf_solve_room {
    double whole[VF_WINDOW_COLUMNS];                      /* diagonal before the factorisation */
    double held[VF_WINDOW_COLUMNS];                       /* 1 / D of columns that are held */
    double inverse[VF_WINDOW_COLUMNS];                    /* 1 / D */
    double corner[VF_SOLVE_PANEL][VF_SOLVE_PANEL];        /* of a panel: L below the diagonal, D L' above it */
    double across[VF_SOLVE_PANEL][VF_WINDOW_COLUMNS + 1]; /* of a panel: D L' of the rows below */
};

/** Room of an elimination; on a GPU in shared memory. */
struct vf_solve_gone {
    double matrix[VF_WINDOW_GONE * VF_WINDOW_GONE];
    double row[VF_WINDOW_GONE][VF_WINDOW_COLUMNS + 1];
    struct vf_solve_room room;
};

/** The same for the most columns that are eliminated at once. */
struct vf_solve_gone_most {
    double matrix[VF_WINDOW_GONE_MOST * VF_WINDOW_GONE_MOST];
    double row[VF_WINDOW_GONE_MOST][VF_WINDOW_COLUMNS + 1];
    struct vf_solve_room room;
};

struct vf_window_work {
    int32_t at, trial;   /* sets: of the estimate, being made */
    int32_t steps;       /* of the optimisation, so far */
    int32_t undone;      /* 1: the last step was undone: landmarks are to be put back */
    int32_t still;       /* 1: landmarks do not move before their rows are made */
    uint32_t known;      /* sights of landmarks that are taken */
    uint32_t refused;    /* sights that are not (window_gate.h) */
    uint32_t contrary;   /* of these, those that do not agree in this frame */
    uint32_t hosts;      /* bit h: its landmarks are in the system */
    uint32_t sights;     /* of the newest frame */
    uint32_t told;       /* landmarks that it sees and that stay */
    int32_t folds;       /* 1: all frames but the newest leave at once: it sees hardly any landmark */
    int32_t leaves, key; /* marginalisation: state, keyframe that leave; -1: none */
    uint32_t leaving;    /* bit f: the frame of slot f is gone after it */
    int32_t gone, gone_list[VF_WINDOW_GONE_MOST];
    uint32_t in[VF_WINDOW_FRAMES];       /* of each host: bits of its frames and itself; 0: no landmarks */
    uint32_t of[VF_WINDOW_FRAMES];       /* of each frame: bits of the hosts in which it is so */
    int32_t before[VF_WINDOW_FRAMES];    /* of each state: slot of the state before; -1: none */
    uint32_t alive[VF_WINDOW_LANDMARKS]; /* of landmarks: host, from bit 16 on who sees it; VF_WINDOW_NOBODY: none */
    double damping, cost;
    double part[VF_WINDOW_PARTS];
    double seen[VF_WINDOW_PARTS];                                      /* cost of sights, in parts */
    uint32_t off[VF_WINDOW_PARTS];                                     /* sights refused, in parts */
    uint32_t counts[VF_GATE_COUNTS];                                   /* of the gate */
    uint32_t number[VF_WINDOW_PARTS];                                  /* counts in parts */
    double from_first[VF_WINDOW_COLUMNS], of_prior[VF_WINDOW_COLUMNS]; /* x; prior's H x */
    double x[VF_WINDOW_COLUMNS];
    struct vf_relative_camera camera[VF_WINDOW_FRAMES];
    struct vf_landmark_drift drift[VF_WINDOW_FRAMES];
    struct vf_window_inertial inertial[VF_WINDOW_MOTIONS];
    struct vf_rest_sums rest;
    struct vf_window_host host[VF_WINDOW_FRAMES];
    struct vf_window_system system[2];
    struct vf_landmark_row row[2][VF_WINDOW_LANDMARKS];
    struct vf_landmark_more more[VF_WINDOW_LANDMARKS];
    int32_t landmark_of[VF_WINDOW_SIGHTS]; /* of each sight; -1: none; -2: no track */
    /* gate: squared residual of each sight at the prediction, -1: none; what a range explains of it; verdict on it, and
     * the least with which it is not taken; sights within each level, and all */
    float square[VF_WINDOW_SIGHTS], explained[VF_WINDOW_SIGHTS];
    int32_t off_sight[VF_WINDOW_SIGHTS], least_off;
    uint32_t counted[VF_WINDOW_SIGHTS]; /* bit n: the sight is one of counts[n] */
    /* of vf_second_verdict(): on camera 1's sight; 1 / variance of the inverse range by all other sights [m^2] */
    int32_t second[VF_WINDOW_LANDMARKS];
    float known_range[VF_WINDOW_LANDMARKS];
    uint32_t within[VF_GATE_LEVELS + 1];
    int32_t in_sight[VF_WINDOW_LANDMARKS]; /* 1: its track is in the newest frame */
    int32_t place[VF_WINDOW_LANDMARKS];    /* of slots for new landmarks, see vf_window_slot_place() */
    int32_t order[VF_WINDOW_LANDMARKS];    /* slots for new landmarks, best first */
    int32_t stays[VF_WINDOW_LANDMARKS];    /* 1: left when the frames that leave are gone */
    int32_t slots;
    double score[VF_WINDOW_FRAMES]; /* of keyframes, for the one that leaves */
    /* estimate before a step of the optimisation */
    struct vf_window_value kept[VF_WINDOW_FRAMES];
    double kept_offset_s, kept_stereo_rad[VF_WINDOW_STEREO], kept_mount[4];
    struct vf_landmark_place kept_place[VF_WINDOW_LANDMARKS];
    /* covariance: corner of the factor, L below the diagonal; its inverse by columns; 1 / D */
    double corner[VF_WINDOW_SAID][VF_WINDOW_SAID], back[VF_WINDOW_SAID][VF_WINDOW_SAID], corner_inverse[VF_WINDOW_SAID];
    /* of each port alone: the matrix and then its factor; on a GPU the factor */
    double matrix[VF_SOLVE_ROOM];
    /* of the host alone */
    uint32_t ids[VF_WINDOW_LANDMARKS]; /* of all landmarks */
    struct vf_solve_room room;
    struct vf_solve_gone eliminated;
    struct vf_solve_gone_most most; /* where rest begins, on a GPU, too */
};

#define VF_WINDOW_NOBODY 0xffffffffu

/** 1 if sight i of the newest frame is that of a landmark, and taken by the gate or on trial. */
VF_FN int vf_window_taken(const struct vf_window_work *k, uint32_t i)
{
    return k->landmark_of[i] >= 0 && k->off_sight[i] < VF_GATE_SPENT;
}

/** Index of a pair of frames, a <= b. */
VF_FN int vf_window_pair(int a, int b) { return a * VF_WINDOW_FRAMES - a * (a - 1) / 2 + b - a; }

/** Frames of a pair. */
VF_FN void vf_window_pair_of(int pair, int *a, int *b)
{
    *a = 0;
    while (pair >= VF_WINDOW_FRAMES - *a) pair -= VF_WINDOW_FRAMES - (*a)++;
    *b = *a + pair;
}

#endif
