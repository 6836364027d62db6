/* SPDX-License-Identifier: MIT */
/* How cameras sit to each other; the rotation between two frames, from a given matrix or from gyro readings, and the homography it
 * means for the picture. Runs on the host, once a frame at most, in double precision and without libm, so it gives the same bits
 * everywhere. */
#ifndef VF_ROTATION_H
#define VF_ROTATION_H

#include "core/vf.h"

/** Product and transpose of row-major 3x3 matrices; `out` may be one of them in the product. */
void vf_rotation_multiply(double out[9], const double a[9], const double b[9]);
void vf_rotation_transpose(double out[9], const double a[9]);

/** R_cam_imu of a camera, of which all 0 means the identity. */
const double *vf_rotation_mounting(const vfront_camera_t *camera);

/** Whether a row-major 3x3 matrix is a rotation: finite, orthonormal to 1e-3, determinant +1. */
int vf_rotation_valid(const double R[9]);

/** How two cameras sit to each other: p_to = R p_from + t_m [m]. */
void vf_rotation_between(double R[9], double t_m[3], const vfront_camera_t *from, const vfront_camera_t *to);

/** Rotation of camera 0, previous axes to current axes, over (from_ns, to_ns], from gyro readings in IMU axes. */
void vf_rotation_gyro(double R_cur_prev[9], const vfront_camera_t *camera, const vfront_gyro_t *gyro, uint32_t count,
                      uint64_t from_ns, uint64_t to_ns);

/** K R K^-1: where a pixel of the previous picture lies in the current one if the camera only turned. */
void vf_rotation_homography(float H[9], const vfront_camera_t *camera, const double R_cur_prev[9]);

#endif
