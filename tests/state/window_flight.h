/* SPDX-License-Identifier: MIT */
/* Drawn flights through the window: a smooth path in sums of sines, readings with noise and walking biases, and a cloud
 * of points seen by two cameras. Everything is made in double precision from the definition. */
#ifndef WINDOW_FLIGHT_H
#define WINDOW_FLIGHT_H

#include "state/window_work.h"
#include "state_oracle.h"

/** Deviations of the first state: position [m], tilt, yaw [rad], velocity, biases of gyro and accelerometer. */
#define FIRST_M 1e-4
#define FIRST_TILT 0.02
#define FIRST_YAW 1e-4
#define FIRST_MPS 0.1
#define FIRST_GYRO 0.01
#define FIRST_ACCEL 0.1

enum { POINTS = 150, RATE = 200, FRAME_HZ = 20, FLIGHT_READINGS = 16384 };
static const double focal_px = 460, baseline_m = 0.11;

/** What is drawn. size: amplitude of the path; pixel: noise of sights and of disparities [px]; life: mean life of a
 *  track [frames]; wrong: share of sights off by twenty deviations; dark: seconds without sights in the middle;
 *  vibration: of the frame, on each axis, at 80 to 190 Hz [m/s^2], and a hundredth of it of rates [rad/s]; offset_s,
 *  disparity: true time offset, and offset of disparities [rad]; mount_rad: deviation of the camera's attitude on the
 *  IMU from that told, each axis; row_s: time from a row to the next one of a rolling shutter; turned: turn of camera 1
 *  about its optical axis beside that told [rad]. */
struct flight {
    const char *name;
    int runs;
    double seconds, size, pixel, life, wrong, dark, offset_s, disparity, vibration, mount_rad, row_s, turned;
};

/** Means over runs and steps: squares of normalised errors of position, attitude, velocity; at the end those of the
 *  offsets, root mean square errors; mean error of camera 1's turn; deviations of position and yaw at the end. */
struct flown {
    double nees[3], offset, disparity, position_m, attitude_rad, offset_s, disparity_rad, sigma[2], misfit, turned;
};

struct wave {
    double size, rate, phase;
};

static struct vf_window_work window_work;

/** Path: position in three waves an axis; roll, pitch, yaw in two. */
struct flight_path {
    struct wave p[3][3], turn[3][2];
};

struct flight_point {
    uint32_t id;
    int frames; /* left to live */
    double at[3];
};

static inline void any_path(struct flight_path *path, double size)
{
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 3; i++)
            path->p[k][i] = (struct wave){size * (k == 2 ? 0.4 : 1.2) * real(0.5, 1.5) / (1 + i),
                                          0.5 + i * real(0, 1.2), real(0, 6.28)};
        for (int i = 0; i < 2; i++)
            path->turn[k][i] = (struct wave){(size < 0.5 ? size + 0.1 : 1) * (k == 2 ? 0.5 : 0.12) * real(0.5, 1.5),
                                             real(0.4, 1.9), real(0, 6.28)};
    }
}

/** Position, velocity and acceleration. */
static inline void flight_position(const struct flight_path *path, double t, double p[3], double v[3], double a[3])
{
    for (int k = 0; k < 3; k++) {
        p[k] = v[k] = a[k] = 0;
        for (int i = 0; i < 3; i++) {
            const struct wave *w = &path->p[k][i];
            const double s = sin(w->rate * t + w->phase), c = cos(w->rate * t + w->phase);
            p[k] += w->size * s;
            v[k] += w->size * w->rate * c;
            a[k] -= w->size * w->rate * w->rate * s;
        }
    }
}

/** Attitude: Rz(yaw) Ry(pitch) Rx(roll). */
static inline void flight_attitude(const struct flight_path *path, double t, double R[9])
{
    double one[9];
    memset(R, 0, 9 * sizeof *R);
    for (int k = 2; k >= 0; k--) {
        double w[3] = {0};
        for (int i = 0; i < 2; i++)
            w[k] += path->turn[k][i].size * sin(path->turn[k][i].rate * t + path->turn[k][i].phase);
        rotation_of(w, one);
        if (k == 2)
            memcpy(R, one, sizeof one);
        else
            product(R, one, 0, R);
    }
}

/** Angular rate in IMU axes, by differences over 0.1 ms. */
static inline void flight_rate(const struct flight_path *path, double t, double rate[3])
{
    double A[9], B[9], R[9], w[3];
    flight_attitude(path, t + 1e-4, A);
    flight_attitude(path, t - 1e-4, B);
    flight_attitude(path, t, R);
    rotation_between(A, B, w);
    for (int k = 0; k < 3; k++) rate[k] = (R[k] * w[0] + R[3 + k] * w[1] + R[6 + k] * w[2]) / 2e-4;
}

static inline uint64_t flight_ns(double t) { return 1500000000u + (uint64_t)llround(t * 1e9); }

/** Readings from 0.5 s before the flight on; bias: at its start, on return. Returns their number. */
static inline uint32_t measure_flight(const struct flight_path *path, double seconds, double vibration,
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
    for (int i = -RATE / 2; i < (seconds + 0.5) * RATE && n < FLIGHT_READINGS; i++, n++) {
        double p[3], v[3], a[3], R[9], w[3], t = (double)i / RATE;
        flight_position(path, t, p, v, a);
        flight_attitude(path, t, R);
        flight_rate(path, t, w);
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

/** Cameras that look along the IMU's x axis, which is forward; z up. */
static inline struct vf_window_rig flight_rig(void)
{
    struct vf_window_rig rig = {
        .R_imu_cam = {0, 0, 1, -1, 0, 0, 0, -1, 0}, .p_imu_cam_m = {0.05, 0.055, 0.01}, .cameras = 2};
    const double w[3] = {0.004, -0.01, 0.006};
    rotation_of(w, rig.R_1_0);
    rig.t_1_0_m[0] = -baseline_m;
    rig.t_1_0_m[1] = 0.001;
    return rig;
}

/** First state: the truth, off by an error drawn from its covariance. */
static inline vfront_nav_t first_state(const struct flight_path *path, const double bias[6])
{
    static const double sigma[15] = {FIRST_M,    FIRST_M,    FIRST_M,     FIRST_TILT,  FIRST_TILT,
                                     FIRST_YAW,  FIRST_MPS,  FIRST_MPS,   FIRST_MPS,   FIRST_GYRO,
                                     FIRST_GYRO, FIRST_GYRO, FIRST_ACCEL, FIRST_ACCEL, FIRST_ACCEL};
    vfront_nav_t nav = {.t_ns = flight_ns(0)};
    double p[3], v[3], a[3], R[9], e[15], turn[9];
    flight_position(path, 0, p, v, a);
    flight_attitude(path, 0, R);
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

/** Direction turned by noise across it. */
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

/** Sight of a point at X in axes of camera 0: bearing with noise; place in camera 1 of the point at that bearing and of
 *  that range, with noise along the line. gone: where it moves in these axes until camera 1 sees it. */
static inline struct vf_sight sight_of(const struct flight *f, const struct vf_window_rig *rig, uint32_t id,
                                       const double X[3], const double gone[3])
{
    struct vf_sight s = {.id = id, .sigma = (float)(f->pixel / focal_px), .other_sigma = (float)(f->pixel / focal_px)};
    double b[3] = {X[0], X[1], X[2]}, Y[3], along[3];
    unit(b);
    blur(b, s.sigma * (real(0, 1) < f->wrong ? 20 : 1), s.bearing);
    for (int k = 0; k < 3; k++) Y[k] = (double)s.bearing[k] * length(X) + gone[k];
    rotate(rig->R_1_0, Y, Y);
    for (int k = 0; k < 3; k++) Y[k] += rig->t_1_0_m[k];
    unit(Y);
    for (int k = 0; k < 3; k++) along[k] = rig->t_1_0_m[k] - dot(rig->t_1_0_m, Y) * Y[k];
    unit(along);
    const double turn = along[1] * Y[0] - along[0] * Y[1]; /* along' [z] Y */
    const double off = (double)s.other_sigma * normal() + f->disparity + f->turned * turn;
    for (int k = 0; k < 3; k++) Y[k] += off * along[k];
    unit(Y);
    for (int k = 0; k < 3; k++) s.other[k] = (float)Y[k];
    return s;
}

/** Point in axes of camera 0, 1 where it is in the picture. */
static inline int in_view(const double R[9], const double c[3], const double at[3], double X[3])
{
    const double d[3] = {at[0] - c[0], at[1] - c[1], at[2] - c[2]};
    for (int k = 0; k < 3; k++) X[k] = R[k] * d[0] + R[3 + k] * d[1] + R[6 + k] * d[2];
    return X[2] > 0.3 && fabs(X[0] / X[2]) < 0.82 && fabs(X[1] / X[2]) < 0.52;
}

/** Camera 0 at a time of the IMU's clock: its place and axes. */
static inline void camera_at(const struct flight_path *path, const struct vf_window_rig *rig, double t, double c[3],
                             double axes[9])
{
    double v[3], a[3], R[9], arm[3];
    flight_position(path, t, c, v, a);
    flight_attitude(path, t, R);
    product(R, rig->R_imu_cam, 0, axes);
    rotate(R, rig->p_imu_cam_m, arm);
    for (int k = 0; k < 3; k++) c[k] += arm[k];
}

/** Time by which the row of a camera that sees a point is later than the middle row, at t; X: the point then, in axes
 *  of camera 0. */
static inline double row_of(const struct flight *f, const struct flight_path *path, const struct vf_window_rig *rig,
                            int camera, double t, const double point[3], double X[3])
{
    double late = 0, c[3], axes[9];
    for (int i = 0; i < 4; i++) {
        double Y[3] = {X[0], X[1], X[2]};
        if (camera) rotate(rig->R_1_0, X, Y);
        for (int k = 0; k < 3 && camera; k++) Y[k] += rig->t_1_0_m[k];
        late = f->row_s * focal_px * Y[1] / Y[2];
        camera_at(path, rig, t + late, c, axes);
        (void)in_view(axes, c, point, X);
    }
    return late;
}

/** A sight of a rolling shutter: X is the point at the frame's time t. */
static inline struct vf_sight rolling_sight(const struct flight *f, const struct flight_path *path,
                                            const struct vf_window_rig *rig, double t, const struct flight_point *point,
                                            const double X[3])
{
    double x[2][3] = {{X[0], X[1], X[2]}, {X[0], X[1], X[2]}}, late[2], gone[3] = {0, 0, 0};
    for (int c = 0; c < 2 && f->row_s != 0; c++) {
        late[c] = row_of(f, path, rig, c, t, point->at, x[c]);
        for (int k = 0; k < 3 && c; k++) gone[k] = x[1][k] - x[0][k];
    }
    struct vf_sight s = sight_of(f, rig, point->id, x[0], gone);
    if (f->row_s != 0) s.late_s = (float)late[0], s.later_s = (float)(late[1] - late[0]);
    return s;
}

/** Sights of all points at a time of the IMU's clock; points that have left the view or lived their time are replaced
 *  by others. */
static inline void look(const struct flight *f, const struct flight_path *path, const struct vf_window_rig *rig,
                        double t, struct flight_point point[POINTS], uint32_t *ids, struct vf_sight sight[POINTS])
{
    double p[3], camera[9], X[3];
    camera_at(path, rig, t, p, camera);
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
        sight[i] = rolling_sight(f, path, rig, t, &point[i], X);
    }
}

/** Errors of a state and their squares by its covariance, added up. */
static inline void judge(const struct flight_path *path, const vfront_nav_t *nav, struct flown *sum)
{
    const double t = ((double)nav->t_ns - 1.5e9) * 1e-9;
    double p[3], v[3], a[3], R[9], now[9], e[9];
    wide of[9];
    flight_position(path, t, p, v, a);
    flight_attitude(path, t, R);
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
    sum->misfit += nav->misfit;
    sum->position_m += dot(e, e);
    sum->attitude_rad += dot(e + 3, e + 3);
    sum->sigma[0] = sqrt(nav->covariance[0]);
    sum->sigma[1] = sqrt(nav->covariance[vf_nav_index(5, 5)]);
}

/** One run. Returns the number of steps. */
static inline int fly_once(struct vf_window *w, const struct flight *f, struct flown *sum)
{
    static vfront_imu_t imu[FLIGHT_READINGS];
    struct flight_point point[POINTS] = {{0}};
    struct flight_path path;
    struct vf_sight sight[POINTS];
    double bias[6];
    uint32_t ids = 0;
    const vfront_imu_noise_t noise = {1.7e-4, 2e-3, 2e-5, 3e-3, 30, 300, RATE, 9.81};
    const struct vf_window_rig rig = flight_rig();
    struct vf_window_rig told = rig;
    any_path(&path, f->size);
    const uint32_t n = measure_flight(&path, f->seconds, f->vibration, &noise, imu, bias);
    const vfront_nav_t first = first_state(&path, bias);
    double off[3], turn[9];
    for (int k = 0; k < 3; k++) off[k] = f->mount_rad * normal();
    rotation_of(off, turn);
    product(turn, rig.R_imu_cam, 0, told.R_imu_cam);
    told.turn_rad = f->turned != 0 ? 0.005 : 0;
    vf_window_start(w, &told, &noise, &first);
    const int steps = (int)(f->seconds * FRAME_HZ);
    for (int i = 0; i <= steps; i++) {
        const double t = (double)i / FRAME_HZ;
        look(f, &path, &rig, t + f->offset_s, point, &ids, sight);
        const uint32_t from = vf_imu_until(imu, n, flight_ns(t - 0.2));
        const int dark = fabs(t - f->seconds / 2) < f->dark / 2;
        const struct vf_window_frame frame = {flight_ns(t), imu + from, n - from < 60 ? n - from : 60, sight,
                                              dark ? 0 : POINTS};
        vfront_nav_t nav;
        vf_window_step(w, &window_work, &frame);
        vf_window_nav(w, &window_work, &nav);
        if (i) judge(&path, &nav, sum);
    }
    const double late = w->offset_s - f->offset_s, apart = w->stereo_rad[0] - f->disparity;
    sum->offset += late * late / w->covariance[VF_WINDOW_SAID_OFFSET * (VF_WINDOW_SAID + 1)];
    sum->disparity += apart * apart / w->covariance[VF_WINDOW_SAID_DISPARITY * (VF_WINDOW_SAID + 1)];
    sum->offset_s += late * late;
    sum->turned += fabs(w->stereo_rad[VF_STEREO_TURN] - f->turned) / f->runs;
    sum->disparity_rad += apart * apart;
    return steps;
}

/** All runs of a flight. */
static inline void fly(struct vf_window *w, const struct flight *f, struct flown *sum)
{
    int steps = 0;
    memset(sum, 0, sizeof *sum);
    for (int run = 0; run < f->runs; run++) steps += fly_once(w, f, sum);
    for (int b = 0; b < 3; b++) sum->nees[b] /= steps;
    sum->misfit /= steps;
    sum->position_m = sqrt(sum->position_m / steps);
    sum->attitude_rad = sqrt(sum->attitude_rad / steps);
    sum->offset /= f->runs;
    sum->disparity /= f->runs;
    sum->offset_s = sqrt(sum->offset_s / f->runs);
    sum->disparity_rad = sqrt(sum->disparity_rad / f->runs);
}

#endif
