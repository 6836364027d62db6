/* SPDX-License-Identifier: MIT
 *
 * Stands in for the cameras and the IMU of mono.c, stereo.c and vio.c, so that they run without data: a rig that flies
 * through a room with painted walls. A program of yours has a camera instead.
 *
 * World and IMU axes: x forward, y left, z up. Camera axes: x right, y down, z forward. Units: m, s, rad.
 */
#ifndef ROOM_H
#define ROOM_H

#include "vfront.h"

#define ROOM_WIDTH_PX 320
#define ROOM_HEIGHT_PX 240
#define ROOM_FOCAL_PX 195.0
#define ROOM_BASELINE_M 0.11
#define ROOM_FRAME_NS 33333333u
#define ROOM_IMU_NS 5000000u
#define ROOM_GRAVITY_M_S2 9.81
#define ROOM_QUARTER 1.5707963267948966 /* turn */

static const double room_half_m[3] = {4.0, 3.0, 1.5};
static const double room_wave[3][3] = {{0.9, 0.8, 0.0}, {0.7, 1.1, 1.0}, {0.3, 1.3, 2.0}}; /* amplitude, rad/s, phase */
static const double room_yaw[3] = {0.35, 0.7, 0.5};

static inline double room_sine(double x)
{
    const double turn = 6.283185307179586;
    x -= turn * (double)(int64_t)(x / turn + (x < 0.0 ? -0.5 : 0.5));
    double term = x, sum = x;
    for (int i = 2; i < 24; i += 2) sum += term *= -x * x / (i * (i + 1));
    return sum;
}

/** Derivative number `order` of a wave, 0..2. */
static inline double room_value(const double wave[3], double t, int order)
{
    const double factor = wave[0] * (order > 0 ? wave[1] : 1.0) * (order > 1 ? wave[1] : 1.0);
    return factor * room_sine(wave[1] * t + wave[2] + order * ROOM_QUARTER);
}

/** Random number, 0..2^32 - 1. */
static inline uint32_t room_random(int64_t a, int64_t b, uint32_t c)
{
    uint64_t z = (uint64_t)a * 0x9e3779b97f4a7c15u + (uint64_t)b * 0xbf58476d1ce4e5b9u + c * 0x94d049bb133111ebu;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (uint32_t)(z >> 32);
}

/** Smooth random brightness of a wall, -1..1, with features of a size [m]. */
static inline double room_noise(double u, double v, double size_m, uint32_t wall)
{
    const double x = u / size_m + 1000.0, y = v / size_m + 1000.0;
    const int64_t i = (int64_t)x, k = (int64_t)y;
    const double fx = x - (double)i, fy = y - (double)k;
    double g[4];
    for (int n = 0; n < 4; n++) g[n] = room_random(i + (n & 1), k + (n >> 1), wall) * 4.656612873077393e-10 - 1.0;
    return (g[0] * (1 - fx) + g[1] * fx) * (1 - fy) + (g[2] * (1 - fx) + g[3] * fx) * fy;
}

/** Brightness of a wall at a point [m], 0..255. */
static inline double room_grey(double u, double v, uint32_t wall)
{
    const double g = 128.0 + 90.0 * room_noise(u, v, 0.3, wall) + 60.0 * room_noise(u, v, 0.1, wall + 6);
    return g < 0.0 ? 0.0 : g > 255.0 ? 255.0 : g;
}

/** Brightness that a ray of any length meets, from a point in the room. */
static inline double room_look(const double from[3], const double ray[3])
{
    double t = 1e9;
    int wall = 0;
    for (int i = 0; i < 3; i++) {
        const double end = ray[i] > 0.0 ? room_half_m[i] : -room_half_m[i];
        if (ray[i] != 0.0 && (end - from[i]) / ray[i] < t) {
            t = (end - from[i]) / ray[i];
            wall = i;
        }
    }
    const int u = (wall + 1) % 3, v = (wall + 2) % 3;
    return room_grey(from[u] + t * ray[u], from[v] + t * ray[v], (uint32_t)wall * 2 + (ray[wall] > 0.0));
}

/** Picture of camera 0 or 1 at a time, grey[ROOM_HEIGHT_PX][ROOM_WIDTH_PX]: the mean of four rays a pixel. */
static inline void room_render(uint64_t t_ns, int32_t camera, uint8_t *grey)
{
    const double t = (double)t_ns * 1e-9, yaw = room_value(room_yaw, t, 0);
    const double s = room_sine(yaw), c = room_sine(yaw + ROOM_QUARTER);
    double from[3];
    for (int i = 0; i < 3; i++) from[i] = room_value(room_wave[i], t, 0);
    from[0] += camera * s * ROOM_BASELINE_M;
    from[1] -= camera * c * ROOM_BASELINE_M;
    for (int y = 0; y < ROOM_HEIGHT_PX; y++)
        for (int x = 0; x < ROOM_WIDTH_PX; x++) {
            double sum = 0.5;
            for (int k = 0; k < 4; k++) {
                const double right = (x - ROOM_WIDTH_PX / 2 + (k & 1) * 0.5 - 0.25) / ROOM_FOCAL_PX;
                const double down = (y - ROOM_HEIGHT_PX / 2 + (k >> 1) * 0.5 - 0.25) / ROOM_FOCAL_PX;
                const double ray[3] = {c + s * right, s - c * right, -down};
                sum += 0.25 * room_look(from, ray);
            }
            grey[y * ROOM_WIDTH_PX + x] = (uint8_t)sum;
        }
}

/** Cameras and IMU: calibration and noise. */
static inline vfront_rig_t room_rig(int32_t cameras, int has_imu)
{
    vfront_rig_t rig = {.cameras = cameras};
    for (int32_t i = 0; i < cameras && i < VFRONT_CAMERAS; i++) {
        vfront_camera_t *c = &rig.camera[i];
        const double R_cam_imu[9] = {0, -1, 0, 0, 0, -1, 1, 0, 0};
        c->width_px = ROOM_WIDTH_PX;
        c->height_px = ROOM_HEIGHT_PX;
        c->fx_px = c->fy_px = ROOM_FOCAL_PX;
        c->cx_px = ROOM_WIDTH_PX / 2;
        c->cy_px = ROOM_HEIGHT_PX / 2;
        for (int k = 0; k < 9; k++) c->R_cam_imu[k] = R_cam_imu[k];
        c->t_cam_imu_m[0] = -i * ROOM_BASELINE_M;
    }
    if (has_imu) {
        const vfront_imu_noise_t noise = {1.7e-4, 2e-3, 2e-5, 3e-3, 17.0, 150.0, 200.0, ROOM_GRAVITY_M_S2};
        rig.imu = noise;
    }
    return rig;
}

/** IMU sample at a time: rates and forces with constant biases and with noise. */
static inline vfront_imu_t room_imu(uint64_t t_ns)
{
    static const double bias[6] = {0.011, -0.018, 0.024, -0.06, 0.09, 0.04};
    const double t = (double)t_ns * 1e-9, yaw = room_value(room_yaw, t, 0);
    const double s = room_sine(yaw), c = room_sine(yaw + ROOM_QUARTER);
    double a[3];
    for (int i = 0; i < 3; i++) a[i] = room_value(room_wave[i], t, 2);
    vfront_imu_t imu = {.t_ns = t_ns,
                        .gyro_rad_s = {0.0, 0.0, room_value(room_yaw, t, 1)},
                        .accel_m_s2 = {c * a[0] + s * a[1], c * a[1] - s * a[0], a[2] + ROOM_GRAVITY_M_S2}};
    for (uint32_t i = 0; i < 3; i++) {
        imu.gyro_rad_s[i] += bias[i] + room_random((int64_t)t_ns, 0, i) * 2e-12 - 0.004;
        imu.accel_m_s2[i] += bias[3 + i] + room_random((int64_t)t_ns, 1, i) * 2e-11 - 0.04;
    }
    return imu;
}

#endif
