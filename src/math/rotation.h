/* SPDX-License-Identifier: MIT */
/* Rotations in double precision: relative pose of two cameras; rotation prior between two frames, from a given matrix
 * or from gyro samples, and its homography. Host only, at most once per frame. Without libm: the same bits on every
 * system. */
#ifndef VF_ROTATION_H
#define VF_ROTATION_H

#include "base/vf.h"

/** Product and transpose of row-major 3x3 matrices. In the product, `out` may be a or b. */
void vf_rotation_multiply(double out[9], const double a[9], const double b[9]);
void vf_rotation_transpose(double out[9], const double a[9]);

/** Rotation from IMU axes to axes of a camera: R_cam_imu, or the identity if R_cam_imu is all zeros. */
const double *vf_rotation_mounting(const vfront_camera_t *camera);

/** 1 if a row-major 3x3 matrix is a rotation: finite, orthonormal to 1e-3, determinant +1. */
int vf_rotation_valid(const double R[9]);

/** Relative pose of two cameras from their extrinsics: p_to = R p_from + t_m [m]. Equal extrinsics give the exact
 *  identity. */
void vf_rotation_between(double R[9], double t_m[3], const vfront_camera_t *from, const vfront_camera_t *to);

/** Rates in IMU axes, from gyro or IMU samples: `count` structs of `stride` bytes, each beginning with a
 *  vfront_gyro_t. */
struct vf_rates {
    const void *first;
    uint32_t stride, count;
};

/** Gyro sample i, 0..count - 1. */
VF_FN vfront_gyro_t vf_rate(const struct vf_rates *rates, uint32_t i)
{
    vfront_gyro_t rate;
    memcpy(&rate, (const uint8_t *)rates->first + (size_t)i * rates->stride, sizeof rate);
    return rate;
}

/** 1 if t_ns is inside the time range of the samples, or outside by at most 1.5 mean intervals between samples. 0 for
 *  fewer than two samples. */
int vf_rotation_rates_reach(const struct vf_rates *rates, uint64_t t_ns);

/** Mean rate of the scene's rotation in axes of a camera over (from_ns, to_ns] [rad/s]: the camera's rate with opposite
 *  sign. */
void vf_rotation_mean_rate(float mean_radps[3], const vfront_camera_t *camera, const struct vf_rates *rates,
                           uint64_t from_ns, uint64_t to_ns);

/** Rate at to_ns - rate at from_ns, by gyro samples, of the scene, both in axes of a camera at to_ns [rad/s]:
 *  derivative of the rotation between them by a delay of both. R_cur_prev: that rotation. */
void vf_rotation_rate_change(double change_radps[3], const double R_cur_prev[9], const vfront_camera_t *camera,
                             const struct vf_rates *rates, uint64_t from_ns, uint64_t to_ns);

/** Rotation from the axes of a camera at from_ns to those at to_ns, integrated from gyro samples. */
void vf_rotation_of_rates(double R_cur_prev[9], const vfront_camera_t *camera, const struct vf_rates *rates,
                          uint64_t from_ns, uint64_t to_ns);

/** Homography of a pure rotation, K R K^-1: pixels of the previous image to pixels of the current one. focal_px: at the
 *  optical axis, along x and y. */
void vf_rotation_homography(float H[9], const double focal_px[2], const vfront_camera_t *camera,
                            const double R_cur_prev[9]);

#endif
