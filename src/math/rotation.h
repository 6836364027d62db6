/* SPDX-License-Identifier: MIT */
/* Rotations in double precision: relative pose of two cameras; rotation prior between two frames, from a given matrix
 * or from gyro readings, and the homography that it induces. Host only, at most once a frame. Without libm: the same
 * bits on every system. */
#ifndef VF_ROTATION_H
#define VF_ROTATION_H

#include "core/vf.h"

/** Product and transpose of row-major 3x3 matrices. In the product, `out` may be a or b. */
void vf_rotation_multiply(double out[9], const double a[9], const double b[9]);
void vf_rotation_transpose(double out[9], const double a[9]);

/** Rotation from IMU axes to axes of a camera, R_cam_imu; all zeros stand for the identity. */
const double *vf_rotation_mounting(const vfront_camera_t *camera);

/** Validity test: 1 if a row-major 3x3 matrix is a rotation, that is finite, orthonormal to 1e-3, determinant +1. */
int vf_rotation_valid(const double R[9]);

/** Relative pose of two cameras from their extrinsics: p_to = R p_from + t_m [m]. Equal extrinsics give the exact
 *  identity. */
void vf_rotation_between(double R[9], double t_m[3], const vfront_camera_t *from, const vfront_camera_t *to);

/** Rates in IMU axes, of gyro or IMU readings: the first `count` structs of `stride` bytes, which begin as a
 *  vfront_gyro_t does. */
struct vf_rates {
    const void *first;
    uint32_t stride, count;
};

/** Rate number i. */
VF_FN vfront_gyro_t vf_rate(const struct vf_rates *rates, uint32_t i)
{
    vfront_gyro_t rate;
    memcpy(&rate, (const uint8_t *)rates->first + (size_t)i * rates->stride, sizeof rate);
    return rate;
}

/** 1 if rates reach a time: it lies among them, or beyond the first or the last by at most one and a half times the
 *  mean time between two of them. Fewer than two reach nothing. */
int vf_rotation_rates_reach(const struct vf_rates *rates, uint64_t t_ns);

/** Mean rate over (from_ns, to_ns] in axes of a camera, of opposite sign: how the scene turns [rad/s]. */
void vf_rotation_mean_rate(float mean_radps[3], const vfront_camera_t *camera, const struct vf_rates *rates,
                           uint64_t from_ns, uint64_t to_ns);

/** Rotation from the previous to the current axes of camera 0 over (from_ns, to_ns], integrated from rates. */
void vf_rotation_of_rates(double R_cur_prev[9], const vfront_camera_t *camera, const struct vf_rates *rates,
                          uint64_t from_ns, uint64_t to_ns);

/** Homography of a pure rotation, K R K^-1: pixels of the previous picture to pixels of the current one. */
void vf_rotation_homography(float H[9], const vfront_camera_t *camera, const double R_cur_prev[9]);

#endif
