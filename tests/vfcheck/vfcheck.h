/* SPDX-License-Identifier: MIT */
/* vfcheck: cases, images and options, shared by its files. */
#ifndef VFCHECK_H
#define VFCHECK_H

#include <cuda_runtime_api.h>

#include "port/cuda/cuda.h"
#include "core/context.h"

enum fill {
    FILL_BLACK,
    FILL_WHITE,
    FILL_NOISE,
    FILL_CHECKER,
    FILL_POINTS,
    FILL_CORNERS,
    FILL_STEPS,
    FILL_TEXTURE,
    FILL_LIGHT,
    FILL_REAL,
    FILLS
};
extern const char *const fill_name[FILLS];

struct vf_case {
    int number, width, height, cameras, pitch, skew;
    int second_width, second_height; /* of the second camera: at most the first's */
    int static_mask, frame_mask, rotation, imu, reset;
    int still[2]; /* rows first .. end - 1 that odd frames repeat from the previous frame */
    int placed;   /* 1: two calibrated cameras at different positions, with distortion: they can be rectified */
    int road;     /* 1: the road is given by the rig */
    int street;   /* 1: columns are segmented from the drawn street instead of the images */
    int pair;     /* 1: camera 1 sees camera 0's image shifted by the disparities of street_px() */
    int aligned;  /* 1: pinholes side by side, for which the tuning may enable disparities */
    enum fill fill;
    vfront_format_t format;
    vfront_tuning_t tuning;
};

struct options {
    uint64_t seed;
    int only, cases, frames, flights, steps, vio, bench, brief, path, inertial, motion, dense, neighbour, tiny, small,
        real, verbose;
    long latency, pace;
    const char *pictures;
};
extern struct options options;

void fail_cuda(cudaError_t error, const char *call);
#define CUDA(call)                                                                                                     \
    do {                                                                                                               \
        const cudaError_t error_ = (call);                                                                             \
        if (error_ != cudaSuccess) fail_cuda(error_, #call);                                                           \
    } while (0)

/** Runs flights through vio, of `steps` steps. Returns the number of flights in which host form and kernels differ. */
int check_flights(int count, int steps);
/** Runs flights through the stages of the map; arguments and return as check_flights(). */
int check_map_stages(int count, int steps);
/** Time of a step of vio, on the whole device and on a part of it. */
void run_flights(void);

/** Times of a graph over many runs [us]: median and maximum. */
struct run_times {
    double median_us, most_us;
};
struct run_times run_graph(cudaGraph_t graph, cudaStream_t stream);
/** Prints the time of each launch of a graph that is one chain. Removes all but its first node. */
void print_launches(cudaGraph_t graph, cudaStream_t stream);

/** Tunings of the rows of --bench: the standard one; the corners of paper 000, as in its authors' program; key points
 *  alone, about as many as with Jetson-SLAM's tiles of 30 px. */
vfront_tuning_t standard(void);
vfront_tuning_t corners_alone(int levels);
vfront_tuning_t keypoints_alone(int levels);

/** The rendered flight with an IMU: draws its images; rig of one camera or two, with calibration and IMU or without
 *  both; endless frames from 0 on. Images are pinned; the next call overwrites the IMU samples. */
void flown_draw(int width, int height);
vfront_rig_t flown_rig(int cameras, int calibrated);
vfront_frame_t flown_frame(long step, int cameras, int imu);

/** Records the graph captured by a front end between want_graph(1) and want_graph(0); number of its nodes, 0: none
 *  captured. */
void want_graph(int yes);
int captured_nodes(void);

/** Prints the graphs of steps, on the whole device and on a part of it. */
void run_path(void);

/** Launches an empty kernel. */
cudaError_t floor_launch(cudaStream_t stream);

/** Runs `work` on a given number of multiprocessors. Returns 0 if the driver does not support it. */
int with_part_of_chip(unsigned multiprocessors, void (*work)(void));

uint32_t random_number(uint32_t below);
void random_start(uint64_t seed, uint64_t number);
/** Disparity of a pixel of a drawn street: a road below the middle of the image, as in start_pair()'s rig, and eight
 *  walls side by side on it, in front of sky. */
int street_px(int width, int height, int x, int y);
void draw(enum fill fill, uint8_t *to, int width, int height, int pitch, int frame);
/** Allocates zeroed memory; ends the program if there is none. */
void *zeroed(size_t bytes);
struct vf_context *context_of(vfront_t *vf);

/** Both forms of every stage, by index, on a set of views. */
typedef void host_form(const struct vf_views *v);
typedef cudaError_t launcher(const struct vf_views *v, cudaStream_t stream);
extern host_form *const run_host[VFRONT_STAGES];
extern launcher *const run_cuda[VFRONT_STAGES];

/** Real images from PGM files: loads them; returns the frame-th, cropped or repeated to a size. Returns 0 if there is
 *  none. */
void load_pictures(const char *folder);
int real_picture(uint8_t *to, int width, int height, int frame);

#if VFRONT_CUBLAS
/** Differences of relative motions with cuBLAS from those of the host form, which equal vfront's own kernels. */
struct agreement {
    long hypotheses, apart; /* of the hypotheses' motions: those that differ by more than 1e-4 in R or t */
    int steps, states;      /* of the steps: with another state, or with a wrong flag VFRONT_MOTION_ONE_GPU */
    double R, t;            /* greatest differences of an element if both are good */
};
void agree(struct agreement *a, const struct vf_ego_memory *host, const struct vf_ego_memory *cuda, int hypotheses);
void print_agreement(const struct agreement *a, const char *what);

/** Compares motions with cuBLAS on pairs of bearings, some of them wrong. Hypotheses use the same samples and differ by
 *  rounding. Good motions also differ by pairs near the inlier bound. Returns the number of violated bounds. */
int check_motions(void);
#endif

/** Prints times with the floor measured in the same run: all; stereo-inertial steps; motions; disparities and
 *  stixels. */
void run_bench(void);
void run_inertial(void);
void run_motion(void);
void run_dense(void);
/** Latencies of each kind of image; of each kind of step and wait mode at a camera's pace; with a neighbour that
 *  occupies the device. */
void run_latency(void);
void run_pace(void);
int run_neighbour(void); /* returns 1 if the bits differ with the neighbour */

#endif
