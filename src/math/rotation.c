/* SPDX-License-Identifier: MIT */
#include "rotation.h"

#include "angle.h"
#include "quaternion.h"

void vf_rotation_multiply(double out[9], const double a[9], const double b[9])
{
    double p[9];
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) p[3 * r + c] = a[3 * r] * b[c] + a[3 * r + 1] * b[3 + c] + a[3 * r + 2] * b[6 + c];
    memcpy(out, p, sizeof p);
}

void vf_rotation_transpose(double out[9], const double a[9])
{
    const double t[9] = {a[0], a[3], a[6], a[1], a[4], a[7], a[2], a[5], a[8]};
    memcpy(out, t, sizeof t);
}

int vf_rotation_valid(const double R[9])
{
    double t[9], p[9];
    vf_rotation_transpose(t, R);
    vf_rotation_multiply(p, t, R);
    for (int i = 0; i < 9; i++) {
        const double error = p[i] - (i % 4 == 0 ? 1.0 : 0.0);
        if (!(error > -1e-3 && error < 1e-3)) return 0; /* also if an element is NaN */
    }
    const double determinant = R[0] * (R[4] * R[8] - R[5] * R[7]) - R[1] * (R[3] * R[8] - R[5] * R[6]) +
                               R[2] * (R[3] * R[7] - R[4] * R[6]);
    return determinant > 0.0;
}

/** Rotation matrix of a rotation vector (Rodrigues): exact to double rounding below half a radian. */
static void exponential(double R[9], const double v[3])
{
    double a, b;
    vf_sine_series(v[0] * v[0] + v[1] * v[1] + v[2] * v[2], &a, &b);
    const double x = v[0], y = v[1], z = v[2];
    const double out[9] = {1.0 - b * (y * y + z * z), b * x * y - a * z,         b * x * z + a * y,
                           b * x * y + a * z,         1.0 - b * (x * x + z * z), b * y * z - a * x,
                           b * x * z - a * y,         b * y * z + a * x,         1.0 - b * (x * x + y * y)};
    memcpy(R, out, sizeof out);
}

/** Rate at a time by linear interpolation; beyond the samples that of the nearest one. from: index of a sample before
 *  which none is needed. */
static void rate_at(double rate[3], const struct vf_rates *rates, uint32_t from, uint64_t t_ns)
{
    const uint32_t count = rates->count;
    uint32_t after = from;
    while (after < count && vf_rate(rates, after).t_ns < t_ns) after++;
    const vfront_gyro_t b = vf_rate(rates, after < count ? after : count - 1),
                        a = after > 0 ? vf_rate(rates, after - 1) : b;
    const double interval = (double)(b.t_ns - a.t_ns);
    const double w = interval > 0.0 && after < count ? (double)(t_ns - a.t_ns) / interval : 1.0;
    for (int i = 0; i < 3; i++) rate[i] = a.rate_rad_s[i] + w * (b.rate_rad_s[i] - a.rate_rad_s[i]);
}

/** Extends `body`, the rotation from current IMU axes to those at the start, by a constant rate [rad/s] over an
 *  interval. Rotates in steps below half a radian, for which exponential() is exact. */
static void integrate(double body[9], const double rate[3], double seconds)
{
    const double magnitude_rad_s = (rate[0] < 0 ? -rate[0] : rate[0]) + (rate[1] < 0 ? -rate[1] : rate[1]) +
                                   (rate[2] < 0 ? -rate[2] : rate[2]);
    const double needed = magnitude_rad_s * seconds * 2.0 + 1.0;
    /* at most 1000 steps: faster rates give no usable rotation prior */
    const int steps = needed < 1000.0 ? (int)needed : 1000;
    double step[9];
    const double v[3] = {rate[0] * seconds / steps, rate[1] * seconds / steps, rate[2] * seconds / steps};
    exponential(step, v);
    for (int i = 0; i < steps; i++) vf_rotation_multiply(body, body, step);
}

const double *vf_rotation_mounting(const vfront_camera_t *camera)
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1}, none[9] = {0};
    return memcmp(camera->R_cam_imu, none, sizeof none) ? camera->R_cam_imu : identity;
}

/** 1 if two cameras have equal extrinsics: R_cam_imu and t_cam_imu_m. */
static int same_extrinsics(const vfront_camera_t *a, const vfront_camera_t *b)
{
    int same = 1;
    for (int i = 0; i < 9; i++) same &= vf_rotation_mounting(a)[i] == vf_rotation_mounting(b)[i];
    for (int i = 0; i < 3; i++) same &= a->t_cam_imu_m[i] == b->t_cam_imu_m[i];
    return same;
}

void vf_rotation_between(double R[9], double t_m[3], const vfront_camera_t *from, const vfront_camera_t *to)
{
    double transposed[9];
    /* sets the exact identity for equal extrinsics, because the product is only as orthonormal as R_cam_imu: to 1e-3 */
    const int same = same_extrinsics(from, to);
    vf_rotation_transpose(transposed, vf_rotation_mounting(from));
    vf_rotation_multiply(R, vf_rotation_mounting(to), transposed);
    for (int i = 0; i < 9 && same; i++) R[i] = i % 4 == 0;
    for (int i = 0; i < 3; i++)
        t_m[i] = same ? 0.0
                      : to->t_cam_imu_m[i] - (R[3 * i] * from->t_cam_imu_m[0] + R[3 * i + 1] * from->t_cam_imu_m[1] +
                                              R[3 * i + 2] * from->t_cam_imu_m[2]);
}

int vf_rotation_rates_reach(const struct vf_rates *rates, uint64_t t_ns)
{
    if (rates->count < 2) return 0;
    const uint64_t first = vf_rate(rates, 0).t_ns, last = vf_rate(rates, rates->count - 1).t_ns,
                   interval = (last - first) / (rates->count - 1);
    const uint64_t beyond = t_ns < first ? first - t_ns : t_ns > last ? t_ns - last : 0;
    return beyond <= interval || beyond - interval <= interval / 2;
}

void vf_rotation_mean_rate(float mean_radps[3], const vfront_camera_t *camera, const struct vf_rates *rates,
                           uint64_t from_ns, uint64_t to_ns)
{
    const double *R_cam_imu = vf_rotation_mounting(camera), over = 1.0 / ((double)(to_ns - from_ns) * 1e-9);
    double sum[3] = {0.0, 0.0, 0.0};
    uint64_t at = from_ns;
    for (uint32_t i = 0; i <= rates->count && at < to_ns; i++) {
        const uint64_t t_ns = i < rates->count ? vf_rate(rates, i).t_ns : to_ns, next = t_ns < to_ns ? t_ns : to_ns;
        if (next <= at) continue;
        double a[3], b[3];
        rate_at(a, rates, i, at);
        rate_at(b, rates, i, next);
        for (int k = 0; k < 3; k++) sum[k] += 0.5 * (a[k] + b[k]) * ((double)(next - at) * 1e-9);
        at = next;
    }
    for (int k = 0; k < 3; k++)
        mean_radps[k] = (float)(-over * (R_cam_imu[3 * k] * sum[0] + R_cam_imu[3 * k + 1] * sum[1] +
                                         R_cam_imu[3 * k + 2] * sum[2]));
}

/** Rate of the scene in axes of a camera at a time, by gyro samples [rad/s]. */
static void scene_rate_at(double out[3], const vfront_camera_t *camera, const struct vf_rates *rates, uint64_t t_ns)
{
    const double *R_cam_imu = vf_rotation_mounting(camera);
    double rate[3];
    rate_at(rate, rates, 0, t_ns);
    vf_transform_double(R_cam_imu, rate, out);
    for (int k = 0; k < 3; k++) out[k] = -out[k];
}

void vf_rotation_rate_change(double change_radps[3], const double R_cur_prev[9], const vfront_camera_t *camera,
                             const struct vf_rates *rates, uint64_t from_ns, uint64_t to_ns)
{
    double from[3], to[3], turned[3];
    scene_rate_at(from, camera, rates, from_ns);
    scene_rate_at(to, camera, rates, to_ns);
    vf_transform_double(R_cur_prev, from, turned);
    for (int k = 0; k < 3; k++) change_radps[k] = to[k] - turned[k];
}

void vf_rotation_of_rates(double R_cur_prev[9], const vfront_camera_t *camera, const struct vf_rates *rates,
                          uint64_t from_ns, uint64_t to_ns)
{
    double body[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    uint64_t at = from_ns;
    for (uint32_t i = 0; i <= rates->count && at < to_ns; i++) {
        const uint64_t t_ns = i < rates->count ? vf_rate(rates, i).t_ns : to_ns, next = t_ns < to_ns ? t_ns : to_ns;
        if (next <= at) continue;
        double a[3], b[3];
        rate_at(a, rates, i, at);
        rate_at(b, rates, i, next);
        const double mean[3] = {0.5 * (a[0] + b[0]), 0.5 * (a[1] + b[1]), 0.5 * (a[2] + b[2])};
        integrate(body, mean, (double)(next - at) * 1e-9);
        at = next;
    }
    const double *R_cam_imu = vf_rotation_mounting(camera);
    double back[9], R_imu_cam[9];
    vf_rotation_transpose(back, body);
    vf_rotation_transpose(R_imu_cam, R_cam_imu);
    vf_rotation_multiply(back, R_cam_imu, back);
    vf_rotation_multiply(R_cur_prev, back, R_imu_cam);
}

void vf_rotation_homography(float H[9], const double focal_px[2], const vfront_camera_t *c, const double R[9])
{
    const double fx = focal_px[0], fy = focal_px[1], K[9] = {fx, 0, c->cx_px, 0, fy, c->cy_px, 0, 0, 1};
    const double inverse[9] = {1.0 / fx, 0, -c->cx_px / fx, 0, 1.0 / fy, -c->cy_px / fy, 0, 0, 1};
    double p[9];
    vf_rotation_multiply(p, K, R);
    vf_rotation_multiply(p, p, inverse);
    for (int i = 0; i < 9; i++) H[i] = (float)p[i];
}
