/* SPDX-License-Identifier: MIT */
/* What every stage knows: the geometry of a step, the memory map, and the few rules of arithmetic that more than one stage
 * needs. Everything here compiles as C11 and as CUDA C++14, and means the same in both. */
#ifndef VF_H
#define VF_H

#include <stdint.h>
#include <string.h>

#include "vfront.h"

#ifdef __CUDACC__
#define VF_FN static __host__ __device__ __forceinline__
#define VF_STATIC_ASSERT(condition, message) static_assert(condition, message)
#define VF_ALIGN(bytes) alignas(bytes)
#else
#define VF_FN static inline
#define VF_STATIC_ASSERT(condition, message) _Static_assert(condition, message)
#define VF_ALIGN(bytes) _Alignas(bytes)
#endif
#define VF_LINE VF_ALIGN(64) /* at the start of a cache line */

/* The host forms' inner loops are plain C over rows. Where the compiler can, it makes a second copy for AVX2 and the loader
 * picks; integer results are the same by definition, and no floating point stands in them. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__CUDACC__) && !defined(__SANITIZE_ADDRESS__) &&              \
    !defined(VF_NO_CLONES)
#define VF_HOT __attribute__((target_clones("avx2", "default")))
#else
#define VF_HOT
#endif

/** The same for loops over floating point, with all that they call within: products and sums are not contracted, roots and quotients are those
 *  of IEEE in vectors too, so that the bits are. */
#if defined(__GNUC__) && !defined(__clang__) && !defined(__CUDACC__)
#define VF_LOOP VF_HOT __attribute__((flatten))
#else
#define VF_LOOP VF_HOT
#endif

/** Before a short loop within a long one, which can become vector code when the short one is gone. */
#if defined(__CUDA_ARCH__) || (defined(__clang__) && !defined(__CUDACC__))
#define VF_PEEL _Pragma("unroll")
#elif defined(__CUDACC__)
#define VF_PEEL
#else
#define VF_PEEL _Pragma("GCC unroll 32")
#endif

VF_STATIC_ASSERT((-5 >> 1) == -3, "vfront relies on arithmetic right shifts of negative numbers");

/** No index, no partner, no sum. */
#define VF_NONE 0xffffffffu

/* ---- geometry ---------------------------------------------------------------------------------------------------- */

/** One pyramid level of one camera. */
struct vf_level {
    uint32_t offset;       /* bytes from the start of the camera's pyramid */
    int32_t pitch;         /* bytes from row to row, a multiple of 64 */
    int32_t width, height; /* px */
};

/** How camera 1 sits to camera 0. */
struct vf_pair {
    int32_t placed;   /* 1: both are calibrated, and in different places */
    float R[9];       /* takes axes of camera 0 to axes of camera 1 */
    float epipole[3]; /* where camera 1 sees camera 0: unit vector */
    float baseline_m;
};

/** What follows from rig, tuning and config, and stays for the life of a front end. */
struct vf_geometry {
    int32_t cameras;
    int32_t levels;
    struct vf_level level[VFRONT_CAMERAS][VFRONT_LEVELS]; /* of the tracker: halves */
    int32_t scales;
    struct vf_level scale[VFRONT_CAMERAS][VFRONT_SCALES]; /* of the key points; the first has the size of level 0 */
    uint32_t step_q16[8]; /* size of their pixels [px of level 0]; for every level that a key of three bits can name */
    uint32_t inverse_q19[8];                                  /* its inverse */
    int32_t cells_x[VFRONT_CAMERAS], cells_y[VFRONT_CAMERAS]; /* in which tracks are born */
    int32_t culls_x[VFRONT_CAMERAS], culls_y[VFRONT_CAMERAS]; /* in which key points are culled */
    int32_t share[VFRONT_SCALES + 1];    /* key points that levels before this one may have, when each has a share */
    int32_t masked[VFRONT_CAMERAS];      /* 1: there is a static mask */
    int32_t rectified;                   /* 1: level 0 is */
    struct vf_level raw[VFRONT_CAMERAS]; /* pictures as they come */
    int32_t calibrated[VFRONT_CAMERAS];
    int32_t nodes_x[VFRONT_CAMERAS]; /* of the grid of bearings */
    float focal_px[VFRONT_CAMERAS];  /* px a radian, in the middle */
    struct vf_pair pair;
    float centre_px[2];           /* principal point of camera 0 */
    float horizon_px, road_slope; /* of the road that the rig gives; slope 0: none */
};

/* ---- parameters: all that differs from frame to frame ------------------------------------------------------------ */

/** A picture as the ingest stage reads it; addresses are valid where the stage runs. */
struct vf_source {
    const uint8_t *data;
    const uint8_t *mask; /* or NULL */
    uint32_t pitch;
    uint32_t mask_pitch;
    uint32_t format; /* vfront_format_t */
    uint32_t reserved;
};

/** Written by the host into pinned memory, copied by the ingest stage to where the other stages read it. */
struct vf_params {
    struct vf_source source[VFRONT_CAMERAS];
    uint64_t t_ns, t_mid_ns, dt_ns;
    uint64_t frame;         /* since init or reset */
    uint64_t ticket;        /* written into vf_pinned.done by the last stage */
    uint32_t reset_counter; /* health.reset_counter at the last reset */
    uint32_t gap;
    uint32_t result; /* which of vf_pinned.result to write */
    uint32_t rotation_given;
    float H[9]; /* homography of a pure rotation, previous to current picture of camera 0; row-major */
    float R[9]; /* that rotation, previous to current axes of camera 0; row-major; none given: the identity */
};

/* ---- the step: everything a stage may touch ---------------------------------------------------------------------- */

struct vf_memory;
struct vf_pinned;
struct vf_systems;
struct vf_cublas;

/** The argument of every stage, passed by value to kernels. */
struct vf_step {
    struct vf_geometry geometry;
    vfront_tuning_t tuning;
    int32_t parity; /* buffers of this frame; those of the frame before have the other */
    struct vf_memory *memory;
    struct vf_pinned *pinned;
#if VFRONT_CUBLAS
    struct vf_systems *systems; /* of a port that leaves them to cuBLAS; else NULL */
    struct vf_cublas *cublas;
#endif
};

/* ---- shared arithmetic ------------------------------------------------------------------------------------------- */

VF_FN int32_t vf_min(int32_t a, int32_t b) { return a < b ? a : b; }
VF_FN int32_t vf_max(int32_t a, int32_t b) { return a > b ? a : b; }
VF_FN int32_t vf_clamp(int32_t v, int32_t least, int32_t most) { return vf_min(vf_max(v, least), most); }
VF_FN int32_t vf_abs(int32_t v) { return v < 0 ? -v : v; }

/** Level 0 coordinate, in Q16, of the centre of pixel u of a level whose pixels are step_q16 large. */
VF_FN int32_t vf_centre_q16(int32_t u, uint32_t step_q16)
{
    return (int32_t)((uint32_t)(2 * u + 1) * step_q16 >> 1) - 0x8000;
}

/** Level 0 pixel in which that centre lies. */
VF_FN int32_t vf_pixel0(int32_t u, uint32_t step_q16) { return (int32_t)((uint32_t)(2 * u + 1) * step_q16 >> 17); }

/** Level 0 coordinate (Q16) to that of a level of halves (Q16). */
VF_FN int32_t vf_to_level_q16(int32_t x_q16, int32_t level) { return ((x_q16 + 0x8000) >> level) - 0x8000; }

/** Nearest whole pixel of a Q16 coordinate. */
VF_FN int32_t vf_pixel(int32_t x_q16) { return (x_q16 + 0x8000) >> 16; }

/** Nearest integer, halves away from zero; |v| must be below 2^30. */
VF_FN int32_t vf_round(float v) { return (int32_t)(v < 0.0f ? v - 0.5f : v + 0.5f); }

#endif
