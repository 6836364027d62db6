/* SPDX-License-Identifier: MIT
 *
 * Rendered flight with exact ground truth: a stereo camera and a gyro circle through a hall of crates, pillars and
 * posters. The arithmetic is + - * / and sqrt in double and integers, without libm, so the pictures have the same
 * bits on every machine (compile with -ffp-contract=off).
 *
 * World axes [m]: x, y level, z up. Body and IMU axes: x forward, y left, z up. Camera axes: x right, y down, z
 * forward. The camera is at the origin of the IMU. Cameras are rectified: camera 1 lies synthetic_baseline_m() along
 * x of camera 0, with the same axes. The flight repeats after SYNTHETIC_PERIOD_FRAMES; only the noise of the pictures
 * does not.
 */
#ifndef SYNTHETIC_H
#define SYNTHETIC_H

#include "vfront.h"

#define SYNTHETIC_WIDTH_PX 752
#define SYNTHETIC_HEIGHT_PX 480
#define SYNTHETIC_CAMERAS 2
#define SYNTHETIC_FRAME_NS 33333333u
#define SYNTHETIC_GYRO_NS 5000000u
#define SYNTHETIC_GRAVITY_M_S2 9.81
#define SYNTHETIC_PERIOD_FRAMES 750u

/** Renderer and its scene, about 6 MB. One thread at a time: rendering uses buffers in it. */
typedef struct synthetic synthetic_t;

/** Paint the textures and build the scene. Pictures are 16..4096 px on a side. Returns NULL for another size or
 *  without memory. */
synthetic_t *synthetic_open(int32_t width_px, int32_t height_px);
void synthetic_close(synthetic_t *flight);

/** Calibration: sizes, lenses, extrinsics. Two cameras, or one if VFRONT_CAMERAS is 1. */
void synthetic_rig(const synthetic_t *flight, vfront_rig_t *rig);
double synthetic_baseline_m(void);

/** Time of a frame [ns]. The first is at 1 s, so that gyro samples exist before it. */
uint64_t synthetic_time_ns(uint32_t frame);

/** Pose of camera 0: X_world = R_world_cam X_cam + t_world_cam. R row-major, t [m]. */
void synthetic_pose(uint32_t frame, double R_world_cam[9], double t_world_cam[3]);

/** R_cur_prev of a vfront_frame_t: axes of camera 0 in frame - 1 to those in `frame`. Identity for frame 0. */
void synthetic_rotation(uint32_t frame, double R_cur_prev[9]);

/**
 * Samples of a gyro without noise or bias, every SYNTHETIC_GYRO_NS: from the last at or before from_ns to the first
 * at or after to_ns, so that they cover that interval.
 * @return Number of samples written, at most `most`.
 */
uint32_t synthetic_gyro(uint64_t from_ns, uint64_t to_ns, vfront_gyro_t *gyro, uint32_t max);

/**
 * Samples of an IMU of the class of an ADIS16448, every SYNTHETIC_GYRO_NS, with noise and constant biases: those after
 * from_ns, up to to_ns.
 * @return Number of samples written, at most `most`.
 */
uint32_t synthetic_imu(uint64_t from_ns, uint64_t to_ns, vfront_imu_t *imu, uint32_t max);

/** Its errors. */
void synthetic_imu_noise(vfront_imu_noise_t *noise);

/** Position [m], attitude and velocity [m/s] of the IMU at a time, in world axes. */
void synthetic_state(uint64_t t_ns, double p_m[3], double R_world_imu[9], double v_mps[3]);

/** Exposure of a frame: grey level = gain * light + offset_grey. It drifts slowly; camera 1 is a little darker. */
void synthetic_photometric(uint32_t frame, int32_t camera, double *gain, double *offset_grey);

/** Render the picture of a camera, with noise: uint8_t [height_px][pitch_bytes], pitch at least the width. */
void synthetic_render(synthetic_t *flight, uint32_t frame, int32_t camera, uint8_t *pixels, size_t pitch_bytes);

/** The same from another pose of camera 0 than the flight's, as along a recorded trajectory; exposure and noise are
 *  those of `frame`. */
void synthetic_render_from(synthetic_t *flight, uint32_t frame, const double R_world_cam[9],
                           const double t_world_cam[3], int32_t camera, uint8_t *pixels, size_t pitch_bytes);

/** Noise of a camera: deviation of the darkest pixel, and electrons of the brightest, whose number has that of its
 *  square root. Both grow with the gain. */
typedef struct synthetic_sensor {
    double gain, offset_grey; /**< grey level = gain * light + offset_grey. */
    double read_grey;         /**< Deviation without light [grey level]; at most 40. */
    double electrons;         /**< Of grey level 255 at gain 1; 0: no noise of photons. */
    uint64_t key;             /**< Of the random numbers: another one for each picture. */
} synthetic_sensor_t;

/** Add the light that falls on a camera at one moment, of a camera 0 at this pose: uint32_t [height_px][width_px], grey
 *  level * 256 each. Moments of an exposure are added up for motion blur. */
void synthetic_gather(synthetic_t *flight, const double R_world_cam[9], const double t_world_cam[3], int32_t camera,
                      uint32_t *irradiance);

/** Picture from the light of so many moments: uint8_t [height_px][pitch_bytes]. */
void synthetic_expose(const synthetic_t *flight, const uint32_t *irradiance, uint32_t moments,
                      const synthetic_sensor_t *sensor, uint8_t *pixels, size_t pitch_bytes);

/** Put another hall in place of the standard one: around a trajectory, at least 0.7 m from it. The
 *  functions of the standard flight's poses and samples are not of use with it. */
void synthetic_hall(synthetic_t *flight, const double (*positions_m)[3], uint32_t count);

/** Place a textured board origin + a u + b v, a and b 0..1, in such a hall, in place of that of the call before; NULL:
 *  none. */
void synthetic_board(synthetic_t *flight, const double origin_m[3], const double u_m[3], const double v_m[3]);

/** Disparity of every pixel centre of camera 0 [px]: float [height_px][pitch_px]. Depth is fx * baseline /
 *  disparity. */
void synthetic_disparity(synthetic_t *flight, uint32_t frame, float *disparity_px, size_t pitch_px);

/** The same from another pose of camera 0 than the flight's. */
void synthetic_disparity_from(synthetic_t *flight, const double R_world_cam[9], const double t_world_cam[3],
                              float *disparity_px, size_t pitch_px);

/**
 * Ground-truth correspondence: project the scene point at `from_px` (x, y, sub-pixel) of camera 0 in frame `from`
 * into frame `to`.
 * @param[out] to_px  Its position in frame `to`. Not written if the point lies behind the camera.
 * @return 1: visible in frame `to`; 0: occluded, outside of the picture, or behind the camera.
 */
int synthetic_correspondence(const synthetic_t *flight, uint32_t from, const double from_px[2], uint32_t to,
                             double to_px[2]);

#endif
