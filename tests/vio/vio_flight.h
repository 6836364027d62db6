/* SPDX-License-Identifier: MIT */
/* Drawn flights for the sliding-window estimator: a smooth trajectory from sums of sines, samples with noise and
 * random-walk biases, and points observed by two cameras. All in double precision from the definitions. */
#ifndef VIO_FLIGHT_H
#define VIO_FLIGHT_H

#include "tests/vio/window_step.h"
#include "tests/imu/imu_oracle.h"

/** Initial standard deviations: position [m], tilt, yaw [rad], velocity, gyro and accelerometer bias. */
#define FIRST_M 1e-4
#define FIRST_TILT 0.02
#define FIRST_YAW 1e-4
#define FIRST_MPS 0.1
#define FIRST_GYRO 0.01
#define FIRST_ACCEL 0.1

enum { POINTS = 150, RATE = 200, FRAME_HZ = 20, FLIGHT_SAMPLES = 16384 };
static const double focal_px = 460, baseline_m = 0.11;

/** Options of a flight.
 *  - size: amplitude of the trajectory; pixel: noise of bearings and disparities [px]; life: mean length of a track
 *    [frames]
 *  - wrong: share of observations with an error of twenty standard deviations; dark: time without observations in
 *    the middle [s]
 *  - vibration: per axis, at 80 to 190 Hz [m/s^2]; 1/100 of it on rates [rad/s]
 *  - offset_s, disparity: true time offset and disparity offset [s, rad]; mount_rad: standard deviation of the error
 *    of the assumed camera attitude, per axis
 *  - row_s: rolling-shutter delay per row; turned: error of the assumed roll of camera 1 [rad] */
struct flight {
    const char *name;
    int runs;
    double seconds, size, pixel, life, wrong, dark, offset_s, disparity, vibration, mount_rad, row_s, turned;
};

/** Means over runs and steps: squared normalised errors of position, attitude, velocity; of both offsets at the end;
 *  root mean square errors; mean error of camera 1's roll; standard deviations of position and yaw at the end. */
struct flight_result {
    double nees[3], offset, disparity, position_m, attitude_rad, offset_s, disparity_rad, sigma[2],
        residual_mean_square, turned;
};

struct wave {
    double size, rate, phase;
};

static struct vf_vio_work work;

/** Trajectory: position as three waves per axis; roll, pitch, yaw as two. */
struct flight_trajectory {
    struct wave p[3][3], turn[3][2];
};

struct flight_point {
    uint32_t id;
    int frames; /* frames left */
    double at[3];
};

static inline void any_trajectory(struct flight_trajectory *trajectory, double size)
{
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++)
            trajectory->p[k][i] = (struct wave){size * (k == 2 ? 0.4 : 1.2) * real(0.5, 1.5) / (1 + i),
                                                0.5 + i * real(0, 1.2), real(0, 6.28)};
        for (int i = 0; i < 2; i++)
            trajectory->turn[k][i] = (struct wave){
                (size < 0.5 ? size + 0.1 : 1) * (k == 2 ? 0.5 : 0.12) * real(0.5, 1.5), real(0.4, 1.9), real(0, 6.28)};
    }
}

/** Position, velocity and acceleration. */
static inline void flight_position(const struct flight_trajectory *trajectory, double t, double p[3], double v[3],
                                   double a[3])
{
    for (int k = 0; k < 3; k++) {
        p[k] = v[k] = a[k] = 0;
        for (int i = 0; i < 3; i++) {
            const struct wave *w = &trajectory->p[k][i];
            const double s = sin(w->rate * t + w->phase), c = cos(w->rate * t + w->phase);
            p[k] += w->size * s;
            v[k] += w->size * w->rate * c;
            a[k] -= w->size * w->rate * w->rate * s;
        }
    }
}

/** Attitude: Rz(yaw) Ry(pitch) Rx(roll). */
static inline void flight_attitude(const struct flight_trajectory *trajectory, double t, double R[9])
{
    double one[9];
    memset(R, 0, 9 * sizeof *R);
    for (int k = 2; k >= 0; k--) {
        double w[3] = {0};
        for (int i = 0; i < 2; i++)
            w[k] += trajectory->turn[k][i].size * sin(trajectory->turn[k][i].rate * t + trajectory->turn[k][i].phase);
        rotation_of(w, one);
        if (k == 2)
            memcpy(R, one, sizeof one);
        else
            product(R, one, 0, R);
    }
}

/** Angular rate in IMU axes, by differences over 0.1 ms. */
static inline void flight_rate(const struct flight_trajectory *trajectory, double t, double rate[3])
{
    double A[9], B[9], R[9], w[3];
    flight_attitude(trajectory, t + 1e-4, A);
    flight_attitude(trajectory, t - 1e-4, B);
    flight_attitude(trajectory, t, R);
    rotation_between(A, B, w);
    for (int k = 0; k < 3; k++) rate[k] = (R[k] * w[0] + R[3 + k] * w[1] + R[6 + k] * w[2]) / 2e-4;
}

static inline uint64_t flight_ns(double t) { return 1500000000u + (uint64_t)llround(t * 1e9); }

/** Samples from 0.5 s before the flight on. bias: bias at its start, on return. Returns their number. */
static inline uint32_t simulate_imu(const struct flight_trajectory *trajectory, double seconds, double vibration,
                                    const vfront_imu_noise_t *noise, vfront_imu_t *imu, double bias[6])
{
    double b[6];
    uint32_t n = 0;
    double rate[6], phase[6];
    for (int c = 0; c < 6; c++) {
        b[c] = (c < 3 ? 0.02 : 0.1) * normal();
        rate[c] = 6.283185307179586 * (vibration > 0 ? real(80, 190) : 0);
        phase[c] = vibration > 0 ? real(0, 6.28) : 0;
    }
    for (int i = -RATE / 2; i < (seconds + 0.5) * RATE && n < FLIGHT_SAMPLES; i++, n++) {
        double p[3], v[3], a[3], R[9], w[3], t = (double)i / RATE;
        flight_position(trajectory, t, p, v, a);
        flight_attitude(trajectory, t, R);
        flight_rate(trajectory, t, w);
        a[2] += noise->gravity_m_s2;
        if (i == 0) memcpy(bias, b, sizeof b);
        imu[n].t_ns = flight_ns(t);
        for (int c = 0; c < 3; c++) {
            b[c] += noise->gyro_walk / sqrt(RATE) * normal();
            b[3 + c] += noise->accel_walk / sqrt(RATE) * normal();
            imu[n].gyro_rad_s[c] = w[c] + b[c] + 0.01 * vibration * sin(rate[c] * t + phase[c]) +
                                   noise->gyro_density * sqrt(RATE) * normal();
            imu[n].accel_m_s2[c] = R[c] * a[0] + R[3 + c] * a[1] + R[6 + c] * a[2] + b[3 + c] +
                                   vibration * sin(rate[3 + c] * t + phase[3 + c]) +
                                   noise->accel_density * sqrt(RATE) * normal();
        }
    }
    return n;
}

/** Rig with cameras that look along the IMU's x axis, forward; z up. */
static inline struct vf_vio_rig flight_rig(void)
{
    struct vf_vio_rig rig = {
        .R_imu_cam = {0, 0, 1, -1, 0, 0, 0, -1, 0}, .p_imu_cam_m = {0.05, 0.055, 0.01}, .cameras = 2};
    const double w[3] = {0.004, -0.01, 0.006};
    rotation_of(w, rig.R_1_0);
    rig.t_1_0_m[0] = -baseline_m;
    rig.t_1_0_m[1] = 0.001;
    return rig;
}

/** Initial state: truth with an error drawn from its covariance. */
static inline vfront_nav_t first_state(const struct flight_trajectory *trajectory, const double bias[6])
{
    static const double sigma[15] = {FIRST_M,    FIRST_M,    FIRST_M,     FIRST_TILT,  FIRST_TILT,
                                     FIRST_YAW,  FIRST_MPS,  FIRST_MPS,   FIRST_MPS,   FIRST_GYRO,
                                     FIRST_GYRO, FIRST_GYRO, FIRST_ACCEL, FIRST_ACCEL, FIRST_ACCEL};
    vfront_nav_t nav = {.t_ns = flight_ns(0)};
    double p[3], v[3], a[3], R[9], e[15], turn[9];
    flight_position(trajectory, 0, p, v, a);
    flight_attitude(trajectory, 0, R);
    for (int i = 0; i < 15; i++) {
        e[i] = sigma[i] * normal();
        nav.covariance[vf_nav_index(i, i)] = sigma[i] * sigma[i];
    }
    const double w[3] = {-e[3], -e[4], -e[5]};
    rotation_of(w, turn);
    product(turn, R, 0, R);
    nav.q_odom_imu[0] = sqrt(fmax(0, 1 + R[0] + R[4] + R[8])) / 2; /* well below half a turn */
    nav.q_odom_imu[1] = (R[7] - R[5]) / (4 * nav.q_odom_imu[0]);
    nav.q_odom_imu[2] = (R[2] - R[6]) / (4 * nav.q_odom_imu[0]);
    nav.q_odom_imu[3] = (R[3] - R[1]) / (4 * nav.q_odom_imu[0]);
    for (int k = 0; k < 3; k++) {
        nav.position_m[k] = p[k] - e[k];
        nav.velocity_mps[k] = v[k] - e[6 + k];
        nav.gyro_bias_rad_s[k] = bias[k] - e[9 + k];
        nav.accel_bias_m_s2[k] = bias[3 + k] - e[12 + k];
    }
    return nav;
}

/** Direction with noise across it. */
static inline void blur(const double b[3], double sigma, float out[3])
{
    double axis[3] = {b[1], b[2], b[0]}, one[3], two[3], r[3];
    cross(b, axis, one);
    unit(one);
    cross(b, one, two);
    const double x = sigma * normal(), y = sigma * normal();
    for (int k = 0; k < 3; k++) r[k] = b[k] + x * one[k] + y * two[k];
    unit(r);
    for (int k = 0; k < 3; k++) out[k] = (float)r[k];
}

/** Observation of a point X in camera 0 axes: bearing with noise; stereo bearing of the point on that bearing at the
 *  same range, with noise along the line. moved: the point's shift in these axes until camera 1's row is exposed. */
static inline struct vf_observation observation_of(const struct flight *f, const struct vf_vio_rig *rig, uint32_t id,
                                                   const double X[3], const double moved[3])
{
    struct vf_observation s = {
        .id = id, .sigma = (float)(f->pixel / focal_px), .stereo_sigma = (float)(f->pixel / focal_px)};
    double b[3] = {X[0], X[1], X[2]}, Y[3], along[3];
    unit(b);
    blur(b, s.sigma * (real(0, 1) < f->wrong ? 20 : 1), s.bearing);
    for (int k = 0; k < 3; k++) Y[k] = (double)s.bearing[k] * length(X) + moved[k];
    rotate(rig->R_1_0, Y, Y);
    for (int k = 0; k < 3; k++) Y[k] += rig->t_1_0_m[k];
    unit(Y);
    for (int k = 0; k < 3; k++) along[k] = rig->t_1_0_m[k] - dot(rig->t_1_0_m, Y) * Y[k];
    unit(along);
    const double turn = along[1] * Y[0] - along[0] * Y[1]; /* along' [z] Y */
    const double off = (double)s.stereo_sigma * normal() + f->disparity + f->turned * turn;
    for (int k = 0; k < 3; k++) Y[k] += off * along[k];
    unit(Y);
    for (int k = 0; k < 3; k++) s.stereo_bearing[k] = (float)Y[k];
    return s;
}

/** Point in camera 0 axes. Returns 1 if it is in the image. */
static inline int in_view(const double R[9], const double c[3], const double at[3], double X[3])
{
    const double d[3] = {at[0] - c[0], at[1] - c[1], at[2] - c[2]};
    for (int k = 0; k < 3; k++) X[k] = R[k] * d[0] + R[3 + k] * d[1] + R[6 + k] * d[2];
    return X[2] > 0.3 && fabs(X[0] / X[2]) < 0.82 && fabs(X[1] / X[2]) < 0.52;
}

/** Position and axes of camera 0 at a time on the IMU clock. */
static inline void camera_at(const struct flight_trajectory *trajectory, const struct vf_vio_rig *rig, double t,
                             double c[3], double axes[9])
{
    double v[3], a[3], R[9], arm[3];
    flight_position(trajectory, t, c, v, a);
    flight_attitude(trajectory, t, R);
    product(R, rig->R_imu_cam, 0, axes);
    rotate(R, rig->p_imu_cam_m, arm);
    for (int k = 0; k < 3; k++) c[k] += arm[k];
}

/** Exposure delay of the row of a camera that observes a point, relative to the middle row at t. X: the point at the
 *  row's time, camera 0 axes. */
static inline double row_of(const struct flight *f, const struct flight_trajectory *trajectory,
                            const struct vf_vio_rig *rig, int camera, double t, const double point[3], double X[3])
{
    double late = 0, c[3], axes[9];
    for (int i = 0; i < 4; i++) {
        double Y[3] = {X[0], X[1], X[2]};
        if (camera) rotate(rig->R_1_0, X, Y);
        for (int k = 0; k < 3 && camera; k++) Y[k] += rig->t_1_0_m[k];
        late = f->row_s * focal_px * Y[1] / Y[2];
        camera_at(trajectory, rig, t + late, c, axes);
        (void)in_view(axes, c, point, X);
    }
    return late;
}

/** Rolling-shutter observation of a point that is at X at the frame's time t. */
static inline struct vf_observation rolling_observation(const struct flight *f,
                                                        const struct flight_trajectory *trajectory,
                                                        const struct vf_vio_rig *rig, double t,
                                                        const struct flight_point *point, const double X[3])
{
    double x[2][3] = {{X[0], X[1], X[2]}, {X[0], X[1], X[2]}}, late[2], moved[3] = {0, 0, 0};
    for (int c = 0; c < 2 && f->row_s != 0; c++) {
        late[c] = row_of(f, trajectory, rig, c, t, point->at, x[c]);
        for (int k = 0; k < 3 && c; k++) moved[k] = x[1][k] - x[0][k];
    }
    struct vf_observation s = observation_of(f, rig, point->id, x[0], moved);
    if (f->row_s != 0) s.row_delay_s = (float)late[0], s.stereo_delay_s = (float)(late[1] - late[0]);
    return s;
}

/** Observations of all points at a time on the IMU clock. Points out of view or at the end of their life are
 *  replaced. */
static inline void observe_points(const struct flight *f, const struct flight_trajectory *trajectory,
                                  const struct vf_vio_rig *rig, double t, struct flight_point point[POINTS],
                                  uint32_t *ids, struct vf_observation observation[POINTS])
{
    double p[3], camera[9], X[3];
    camera_at(trajectory, rig, t, p, camera);
    for (int i = 0; i < POINTS; i++) {
        if (!point[i].id || point[i].frames-- <= 0 || !in_view(camera, p, point[i].at, X)) {
            const double z = 2 + 8 * real(0, 1) * real(0, 1);
            X[0] = real(-0.8, 0.8) * z;
            X[1] = real(-0.5, 0.5) * z;
            X[2] = z;
            rotate(camera, X, point[i].at);
            for (int k = 0; k < 3; k++) point[i].at[k] += p[k];
            point[i].id = ++*ids;
            point[i].frames = 1 + (int)(-f->life * log(real(1e-9, 1)));
        }
        observation[i] = rolling_observation(f, trajectory, rig, t, &point[i], X);
    }
}

/** Adds the errors of a state, and their squares normalised by its covariance. */
static inline void add_errors(const struct flight_trajectory *trajectory, const vfront_nav_t *nav,
                              struct flight_result *sum)
{
    const double t = ((double)nav->t_ns - 1.5e9) * 1e-9;
    double p[3], v[3], a[3], R[9], now[9], e[9];
    wide of[9];
    flight_position(trajectory, t, p, v, a);
    flight_attitude(trajectory, t, R);
    wide_matrix(nav->q_odom_imu, of);
    for (int k = 0; k < 9; k++) now[k] = (double)of[k];
    rotation_between(R, now, e + 3);
    for (int k = 0; k < 3; k++) {
        e[k] = p[k] - nav->position_m[k];
        e[6 + k] = v[k] - nav->velocity_mps[k];
    }
    for (int b = 0; b < 3; b++) {
        double P[9];
        for (int i = 0; i < 9; i++) {
            const int r = 3 * b + i / 3, c = 3 * b + i % 3;
            P[i] = nav->covariance[r < c ? vf_nav_index(r, c) : vf_nav_index(c, r)];
        }
        sum->nees[b] += chi_squared(P, e + 3 * b, 3);
    }
    sum->residual_mean_square += nav->residual_mean_square;
    sum->position_m += dot(e, e);
    sum->attitude_rad += dot(e + 3, e + 3);
    sum->sigma[0] = sqrt(nav->covariance[0]);
    sum->sigma[1] = sqrt(nav->covariance[vf_nav_index(5, 5)]);
}

/** Flies one run. Returns the number of steps. */
static inline int fly_once(struct vf_vio_window *w, const struct flight *f, struct flight_result *sum)
{
    static vfront_imu_t imu[FLIGHT_SAMPLES];
    struct flight_point point[POINTS] = {{0}};
    struct flight_trajectory trajectory;
    struct vf_observation observation[POINTS];
    double bias[6];
    uint32_t ids = 0;
    const vfront_imu_noise_t noise = {1.7e-4, 2e-3, 2e-5, 3e-3, 30, 300, RATE, 9.81};
    const struct vf_vio_rig rig = flight_rig();
    struct vf_vio_rig assumed = rig;
    any_trajectory(&trajectory, f->size);
    const uint32_t n = simulate_imu(&trajectory, f->seconds, f->vibration, &noise, imu, bias);
    const vfront_nav_t first = first_state(&trajectory, bias);
    double off[3], turn[9];
    for (int k = 0; k < 3; k++) off[k] = f->mount_rad * normal();
    rotation_of(off, turn);
    product(turn, rig.R_imu_cam, 0, assumed.R_imu_cam);
    vf_vio_expect_calibration(&assumed, f->turned != 0 ? 0.005 : 0.001, 1e-6);
    vf_vio_start(w, &assumed, &noise, &first);
    const int steps = (int)(f->seconds * FRAME_HZ);
    for (int i = 0; i <= steps; i++) {
        const double t = (double)i / FRAME_HZ;
        observe_points(f, &trajectory, &rig, t + f->offset_s, point, &ids, observation);
        const uint32_t from = vf_imu_until(imu, n, flight_ns(t - 0.2));
        const int dark = fabs(t - f->seconds / 2) < f->dark / 2;
        const struct vf_vio_frame frame = {flight_ns(t), imu + from, n - from < 60 ? n - from : 60, observation,
                                           dark ? 0 : POINTS};
        vfront_nav_t nav;
        vf_vio_step(w, &work, &frame);
        vf_vio_nav(w, &work, &nav);
        if (i) add_errors(&trajectory, &nav, sum);
    }
    const double late = w->offset_s - f->offset_s, apart = w->stereo[VF_STEREO_OFFSET] - f->disparity;
    sum->offset += late * late / w->covariance[VF_VIO_REPORTED_TIME_OFFSET * (VF_VIO_REPORTED + 1)];
    sum->disparity += apart * apart / w->covariance[VF_VIO_REPORTED_DISPARITY * (VF_VIO_REPORTED + 1)];
    sum->offset_s += late * late;
    sum->turned += fabs(w->stereo[VF_STEREO_ROLL] - f->turned) / f->runs;
    sum->disparity_rad += apart * apart;
    return steps;
}

/** Flies all runs of a flight. */
static inline void fly(struct vf_vio_window *w, const struct flight *f, struct flight_result *sum)
{
    int steps = 0;
    memset(sum, 0, sizeof *sum);
    for (int run = 0; run < f->runs; run++) steps += fly_once(w, f, sum);
    for (int b = 0; b < 3; b++) sum->nees[b] /= steps;
    sum->residual_mean_square /= steps;
    sum->position_m = sqrt(sum->position_m / steps);
    sum->attitude_rad = sqrt(sum->attitude_rad / steps);
    sum->offset /= f->runs;
    sum->disparity /= f->runs;
    sum->offset_s = sqrt(sum->offset_s / f->runs);
    sum->disparity_rad = sqrt(sum->disparity_rad / f->runs);
}

#endif
