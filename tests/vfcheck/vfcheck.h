/* SPDX-License-Identifier: MIT */
/* vfcheck: cases, pictures and options, shared by its files. */
#ifndef VFCHECK_H
#define VFCHECK_H

#include <cuda_runtime_api.h>

#include "port/cuda/cuda.h"
#include "port/port.h"

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
    int still[2]; /* first row, and the one behind the last, that odd frames repeat of the frame before them */
    int placed;   /* 1: two calibrated cameras in different places, with distortion: they can be rectified */
    int road;     /* 1: the rig says where it is */
    int street;   /* 1: columns are cut of what is drawn for it, not of what the pictures give */
    int pair;     /* 1: camera 1 sees what camera 0 sees, moved by the disparities of street_px() */
    int aligned;  /* 1: pinholes side by side, which the tuning may ask for disparities */
    enum fill fill;
    vfront_format_t format;
    vfront_tuning_t tuning;
};

struct options {
    uint64_t seed;
    int only, cases, frames, flights, steps, window, bench, brief, path, inertial, motion, dense, neighbour, tiny,
        small, real, verbose;
    long latency;
    const char *pictures;
};
extern struct options options;

void fail_cuda(cudaError_t error, const char *call);
#define CUDA(call)                                                                                                     \
    do {                                                                                                               \
        const cudaError_t error_ = (call);                                                                             \
        if (error_ != cudaSuccess) fail_cuda(error_, #call);                                                           \
    } while (0)

/** Flights through the stage window, of that many steps. Returns the number of those in which host form and kernels
 *  differ. */
int check_flights(int count, int steps);
/** The same through the stages of the map. */
int check_places(int count, int steps);
/** Time of a step of window, on the whole device and on a part of it. */
void run_flights(void);

/** Times of a graph [us]: of many runs the median, and the most. */
struct spread {
    double median_us, most_us;
};
struct spread run_graph(cudaGraph_t graph, cudaStream_t stream);
/** Prints the time of each launch of a graph that is one chain. The graph has lost all but its first node then. */
void print_launches(cudaGraph_t graph, cudaStream_t stream);

/** Tunings of the rows of --bench: the standard one; the corners of paper 000, as its authors' program finds them; key
 *  points alone, about as many as Jetson-SLAM's tiles of 30 px give. */
vfront_tuning_t standard(void);
vfront_tuning_t corners_alone(int levels);
vfront_tuning_t keypoints_alone(int levels);

/** The rendered flight with an IMU: draws its pictures; a rig of one camera or two, calibrated and with an IMU or
 *  neither; frames from 0 on, without an end. Pictures are pinned; readings are overwritten by the next call. */
void flown_draw(int width, int height);
vfront_rig_t flown_rig(int cameras, int calibrated);
vfront_frame_t flown_frame(long step, int cameras, int imu);

/** Notes the graph that a front end captures, between want_graph(1) and want_graph(0); the number of its nodes, 0 where
 *  none was captured. */
void want_graph(int yes);
int captured_nodes(void);

/** Draws the graphs of steps, on the whole device and on a part of it. */
void run_path(void);

/** Launches a kernel that does nothing. */
cudaError_t floor_launch(cudaStream_t stream);

/** Runs `work` with so many multiprocessors of the device only. Returns 0 when the driver cannot do that. */
int with_part_of_chip(unsigned multiprocessors, void (*work)(void));

uint32_t random_number(uint32_t below);
void random_start(uint64_t seed, uint64_t number);
/** Disparity of a pixel of a drawn street: a road from the middle of the picture downwards, as start_pair()'s rig has
 *  it, and eight walls that stand on it side by side, in front of sky. */
int street_px(int width, int height, int x, int y);
void draw(enum fill fill, uint8_t *to, int width, int height, int pitch, int frame);
/** Memory of zeros; ends the program where there is none. */
void *zeroed(size_t bytes);
struct vf_state *state_of(vfront_t *vf);

/** Both forms of every stage, by number, on a set of views. */
typedef void host_form(const struct vf_views *v);
typedef cudaError_t launcher(const struct vf_views *v, cudaStream_t stream);
extern host_form *const run_host[VFRONT_STAGES];
extern launcher *const run_cuda[VFRONT_STAGES];

/** Real pictures, from PGM files: loads them; gives the frame-th, cut or repeated to a size. Returns 0 when there is
 *  none. */
void load_pictures(const char *folder);
int real_picture(uint8_t *to, int width, int height, int frame);

#if VFRONT_CUBLAS
/** Differences of relative motions through cuBLAS from those of the host form, which are those of vfront's own kernels.
 *  */
struct agreement {
    long hypotheses, apart; /* of the hypotheses' motions: farther than 1e-4 in R or t */
    int steps,
        states;  /* of the steps: with another state, or without VFRONT_MOTION_ONE_GPU on the one side that has it */
    double R, t; /* greatest differences of an element where both are good */
};
void agree(struct agreement *a, const struct vf_ego_memory *host, const struct vf_ego_memory *cuda, int hypotheses);
void print_agreement(const struct agreement *a, const char *what);

/** Compares them on pairs of bearings, some of them wrong. Hypotheses are the same samples and differ by rounding; good
 *  motions by pairs near the bound for outliers, too, on which the one counts and the other not. Returns how many
 *  bounds do not hold. */
int check_motions(void);
#endif

/** Times, printed with the floor measured in the same run; those of stereo-inertial steps, of motions, of disparities
 *  and stixels alone. */
void run_bench(void);
void run_inertial(void);
void run_motion(void);
void run_dense(void);
/** Latencies: of each kind of picture, and of each way to wait with the processor's time that it takes; beside a
 *  neighbour that keeps the device at work. */
void run_latency(void);
int run_neighbour(void); /* 1: the bits beside it are others */

#endif
