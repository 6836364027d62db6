/* SPDX-License-Identifier: MIT
 *
 * Motion of the rendered flight: a circle with sums of sine waves on top, its gyro samples and exposure.
 */
#include "renderer.h"

#define START_NS 1000000000u
#define LAP_NS ((uint64_t)SYNTHETIC_FRAME_NS * SYNTHETIC_PERIOD_FRAMES)

/** Periodic component of the motion: amplitude * sin(cycles * phase + start); angles [turn], cycles per lap. */
struct wave {
    double amplitude, cycles, start;
};

/** Position [m] and attitude [turn] as sums of waves; one turn of yaw per lap comes on top (attitude_at). Cycles are
 *  whole numbers, so the motion is periodic. */
static const struct wave motion[6][4] = {
    {{4.1, 1, 0.25}, {0.22, 5, 0.1}, {0.10, 9, 0.7}, {0.02, 31, 0.2}},     /* x */
    {{4.1, 1, 0.0}, {0.25, 4, 0.6}, {0.09, 8, 0.3}, {0.02, 29, 0.5}},      /* y */
    {{0.35, 3, 0.4}, {0.18, 7, 0.2}, {0.05, 13, 0.9}, {0.015, 37, 0.1}},   /* z */
    {{0.016, 4, 0.8}, {0.012, 9, 0.1}, {0.005, 17, 0.4}, {0.0012, 43, 0}}, /* roll */
    {{0.012, 3, 0.3}, {0.010, 8, 0.6}, {0.005, 19, 0.2}, {0.0010, 47, 0}}, /* pitch, nose down */
    {{0.030, 2, 0.1}, {0.022, 5, 0.7}, {0.006, 15, 0.5}, {0.0015, 41, 0}}, /* yaw */
};
static const double height_m = 1.9;

/** Phase of the lap at a time, 0..1. */
static double phase_at(uint64_t t_ns) { return (double)((t_ns + LAP_NS - START_NS) % LAP_NS) / (double)LAP_NS; }

static double wave_value(const struct wave wave[4], double phase)
{
    double sum = 0.0;
    for (int i = 0; i < 4; i++) sum += wave[i].amplitude * sine(wave[i].cycles * phase + wave[i].start);
    return sum;
}

/** Time derivative of a sum of waves [1/s]. */
static double wave_rate(const struct wave wave[4], double phase)
{
    double sum = 0.0;
    for (int i = 0; i < 4; i++)
        sum += wave[i].amplitude * wave[i].cycles * cosine(wave[i].cycles * phase + wave[i].start);
    return sum * TWO_PI / ((double)LAP_NS * 1e-9);
}

/** Second time derivative of a sum of waves [1/s^2]. */
static double wave_bend(const struct wave wave[4], double phase)
{
    const double lap = TWO_PI / ((double)LAP_NS * 1e-9);
    double sum = 0.0;
    for (int i = 0; i < 4; i++)
        sum -= wave[i].amplitude * wave[i].cycles * wave[i].cycles * sine(wave[i].cycles * phase + wave[i].start);
    return sum * lap * lap;
}

/** Roll, pitch, yaw [turn]. The nose points along the circle, a quarter turn ahead of its radius. */
static void attitude_at(double angle[3], double phase)
{
    for (int i = 0; i < 3; i++) angle[i] = wave_value(motion[3 + i], phase);
    angle[2] += phase + 0.25;
}

void synthetic_camera_axes(double R[9])
{
    const double tilt = 12.0 / 360.0, c = cosine(tilt), s = sine(tilt);
    const double out[9] = {0, -1, 0, -s, 0, -c, c, 0, -s};
    memcpy(R, out, sizeof out);
}

/** Attitude of the IMU. */
static void imu_axes_at(double phase, double R_world_imu[9])
{
    double angle[3];
    attitude_at(angle, phase);
    const double cr = cosine(angle[0]), sr = sine(angle[0]), cp = cosine(angle[1]), sp = sine(angle[1]);
    const double cy = cosine(angle[2]), sy = sine(angle[2]);
    const double R[9] = {cy * cp,
                         cy * sp * sr - sy * cr,
                         cy * sp * cr + sy * sr,
                         sy * cp,
                         sy * sp * sr + cy * cr,
                         sy * sp * cr - cy * sr,
                         -sp,
                         cp * sr,
                         cp * cr};
    memcpy(R_world_imu, R, sizeof R);
}

static void pose_at(uint64_t t_ns, double R_world_cam[9], double t_world_cam[3])
{
    const double phase = phase_at(t_ns);
    double R_world_imu[9], R_cam_imu[9];
    imu_axes_at(phase, R_world_imu);
    synthetic_camera_axes(R_cam_imu);
    double R_imu_cam[9];
    for (int i = 0; i < 9; i++) R_imu_cam[i] = R_cam_imu[i % 3 * 3 + i / 3];
    multiply(R_world_cam, R_world_imu, R_imu_cam);
    for (int i = 0; i < 3; i++) t_world_cam[i] = wave_value(motion[i], phase) + (i == 2 ? height_m : 0.0);
}

/** Angular rate in IMU axes [rad/s], from the rates of yaw, pitch and roll. */
static void rate_at(uint64_t t_ns, double rate_rad_s[3])
{
    const double phase = phase_at(t_ns);
    double angle[3], rate[3];
    attitude_at(angle, phase);
    for (int i = 0; i < 3; i++) rate[i] = wave_rate(motion[3 + i], phase) * TWO_PI;
    rate[2] += TWO_PI / ((double)LAP_NS * 1e-9);
    const double cr = cosine(angle[0]), sr = sine(angle[0]), cp = cosine(angle[1]), sp = sine(angle[1]);
    rate_rad_s[0] = rate[0] - rate[2] * sp;
    rate_rad_s[1] = rate[1] * cr + rate[2] * sr * cp;
    rate_rad_s[2] = rate[2] * cr * cp - rate[1] * sr;
}

uint64_t synthetic_time_ns(uint32_t frame) { return START_NS + (uint64_t)frame * SYNTHETIC_FRAME_NS; }

double synthetic_baseline_m(void) { return BASELINE_M; }

void synthetic_pose(uint32_t frame, double R_world_cam[9], double t_world_cam[3])
{
    pose_at(synthetic_time_ns(frame), R_world_cam, t_world_cam);
}

void synthetic_rotation(uint32_t frame, double R_cur_prev[9])
{
    double prev[9], cur[9], cur_back[9], t[3];
    synthetic_pose(frame ? frame - 1 : 0, prev, t);
    synthetic_pose(frame, cur, t);
    for (int i = 0; i < 9; i++) cur_back[i] = cur[i % 3 * 3 + i / 3];
    multiply(R_cur_prev, cur_back, prev);
}

uint32_t synthetic_gyro(uint64_t from_ns, uint64_t to_ns, vfront_gyro_t *gyro, uint32_t max)
{
    uint32_t count = 0;
    for (uint64_t t_ns = from_ns / SYNTHETIC_GYRO_NS * SYNTHETIC_GYRO_NS; count < max; t_ns += SYNTHETIC_GYRO_NS) {
        gyro[count].t_ns = t_ns;
        rate_at(t_ns, gyro[count].rate_rad_s);
        count++;
        if (t_ns >= to_ns) break;
    }
    return count;
}

/** Specific force in IMU axes [m/s^2]. */
static void force_at(uint64_t t_ns, double force_m_s2[3])
{
    const double phase = phase_at(t_ns);
    double R[9], a[3];
    imu_axes_at(phase, R);
    for (int i = 0; i < 3; i++) a[i] = wave_bend(motion[i], phase) + (i == 2 ? SYNTHETIC_GRAVITY_M_S2 : 0.0);
    for (int i = 0; i < 3; i++) force_m_s2[i] = R[i] * a[0] + R[3 + i] * a[1] + R[6 + i] * a[2];
}

/** Number of deviation 1, nearly normal: a sum of twelve uniform ones. */
static double drawn(uint64_t t_ns, uint64_t axis)
{
    uint64_t x = t_ns / SYNTHETIC_GYRO_NS * 8 + axis + 1;
    double sum = -6.0;
    for (int i = 0; i < 12; i++) { /* splitmix64 */
        uint64_t z = x += 0x9e3779b97f4a7c15u;
        z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
        z = (z ^ z >> 27) * 0x94d049bb133111ebu;
        sum += (double)((z ^ z >> 31) >> 11) * 0x1p-53;
    }
    return sum;
}

void synthetic_imu_noise(vfront_imu_noise_t *noise)
{
    const vfront_imu_noise_t n = {
        1.7e-4, 2e-3, 2e-5, 3e-3, 17.0, 150.0, 1e9 / SYNTHETIC_GYRO_NS, SYNTHETIC_GRAVITY_M_S2};
    *noise = n;
}

uint32_t synthetic_imu(uint64_t from_ns, uint64_t to_ns, vfront_imu_t *imu, uint32_t max)
{
    static const double bias[6] = {0.011, -0.018, 0.024, -0.06, 0.09, 0.04};
    const double root = sqrt(1e9 / SYNTHETIC_GYRO_NS);
    vfront_imu_noise_t noise;
    uint32_t count = 0;
    synthetic_imu_noise(&noise);
    uint64_t t_ns = (from_ns / SYNTHETIC_GYRO_NS + 1) * SYNTHETIC_GYRO_NS;
    for (; t_ns <= to_ns && count < max; t_ns += SYNTHETIC_GYRO_NS, count++) {
        vfront_imu_t *r = &imu[count];
        r->t_ns = t_ns;
        rate_at(t_ns, r->gyro_rad_s);
        force_at(t_ns, r->accel_m_s2);
        for (uint32_t k = 0; k < 3; k++) {
            r->gyro_rad_s[k] += bias[k] + noise.gyro_density * root * drawn(t_ns, k);
            r->accel_m_s2[k] += bias[3 + k] + noise.accel_density * root * drawn(t_ns, 3 + k);
        }
    }
    return count;
}

void synthetic_state(uint64_t t_ns, double p_m[3], double R_world_imu[9], double v_mps[3])
{
    const double phase = phase_at(t_ns);
    imu_axes_at(phase, R_world_imu);
    for (int i = 0; i < 3; i++) {
        p_m[i] = wave_value(motion[i], phase) + (i == 2 ? height_m : 0.0);
        v_mps[i] = wave_rate(motion[i], phase);
    }
}

void synthetic_photometric(uint32_t frame, int32_t camera, double *gain, double *offset_grey)
{
    const double phase = phase_at(synthetic_time_ns(frame));
    *gain = (1.0 + 0.13 * sine(4.0 * phase)) * (camera ? 0.96 : 1.0);
    *offset_grey = 4.0 + 6.0 * sine(3.0 * phase + 0.2) - (camera ? 2.0 : 0.0);
}
