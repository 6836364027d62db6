/* SPDX-License-Identifier: MIT */
/* Simulated flight without images: IMU samples and landmark observations along a trajectory (trajectory.h), with noise,
 * calibration errors and faults as selected. All in double precision, drawn by the tests' generator from one seed:
 * equal options give equal flights.
 *
 * IMU      truth + random-walk bias + white noise: densities / sqrt(dt), walks * sqrt(dt)
 * Tracks   a landmark is drawn where camera 0 first observes it: anywhere in the image, on a wall of a hall or at a
 *          depth between two bounds. Its track ends when it leaves the image or after a random number of frames, as if
 *          hidden or lost; a landmark with a new id replaces it
 * Noise    of a bearing: normal, equal on both axes across it. Of camera 1: along the epipolar line of the noisy
 *          bearing only, and on the disparity, as patch matching gives it. So an error of the bearing along the line is
 *          also one of the stereo bearing
 */
#ifndef SIMULATION_H
#define SIMULATION_H

#include "trajectory.h"

enum { SIM_OBSERVATIONS = 256, SIM_SAMPLES = 131072, SIM_FRAMES = 16384 };

/** Time of the first frame on the IMU clock [ns], where trajectory time is 0. Samples start SIM_LEAD_S earlier. */
#define SIM_START_NS 100000000000ull
#define SIM_LEAD_S 0.1

/** Samples given with a frame extend beyond its interval by this on either side [s]. */
#define SIM_MARGIN_S 0.03

/** Rig of one or two equal cameras: x_imu = R_imu_cam x_0 + p_imu_cam, x_1 = R_1_0 x_0 + t_1_0. */
struct sim_rig {
    double R_imu_cam[9], p_imu_cam[3], R_1_0[9], t_1_0[3];
    double focal, width, height, cx, cy; /* [px] */
    double hz;
    int cameras;
};

/** Standard deviation of the rotation between the cameras about each axis that the estimator assumes [rad]. */
#define SIM_TURN_RAD 0.001

/** Simulation options; defaults in sim_defaults(). Shares: 0..1. */
struct sim_options {
    char trajectory[256];    /* file of a recorded trajectory, or name of a drawn one */
    char rig[16];            /* euroc, kitti, mono */
    double from_s;           /* start time in a recorded trajectory */
    double seconds;          /* at most the length of the trajectory */
    double tempo;            /* factor on the time of a drawn trajectory */
    double imu_hz;           /* sample rate */
    double noise;            /* factor on EuRoC's IMU densities and walks; known to the estimator */
    double pixel;            /* noise of bearings and disparities [px] */
    double walk;             /* random walk of a track's error from frame to frame [px] */
    int place;               /* 1: the noise is on the stereo position itself, not on the disparity */
    double partners;         /* share of observations with a stereo observation */
    double outliers;         /* share of bearings, and of stereo bearings, that are wrong by 3 to 10 px */
    double moving;           /* share of landmarks that move at 0.5 m/s */
    double moving_object[2]; /* time range in which a moving object covers the left 3/5 of the image [s] */
    double object_mps;       /* speed of the moving object, to the right */
    double life;             /* mean length of a track that stays in the image [frames] */
    int observations;        /* tracks per frame, at most SIM_OBSERVATIONS */
    double near, far;        /* depths of landmarks [m]; 0: a hall around the trajectory */
    double vibration;        /* amplitude at the accelerometer [m/s^2]; 1/10 of it at the gyro [rad/s] */
    double offset_s;         /* IMU time minus camera time */
    double extrinsics;       /* error of the assumed R_imu_cam [deg] */
    double lever;            /* error of the assumed p_imu_cam [m] */
    double stereo;           /* error of the assumed R_1_0 [deg] */
    double turned;           /* error of the assumed R_1_0 about its z axis [deg] */
    double turn_urad; /* standard deviation of the rotation between the cameras that the estimator assumes [urad] */
    double focal;     /* relative error of the assumed focal length */
    double row_s;     /* exposure delay from row to row */
    int unmodelled;   /* 1: the estimator ignores row_s */
    double black[2];  /* time range without observations [s] */
    double gap[2];    /* time range without samples [s] */
    double late[2];   /* time range in which camera 1 shows the previous frame [s] */
    double dropped;   /* share of missing frames */
    double drawn[3];  /* standard deviations of each flight's calibration errors: R_imu_cam per axis [rad], time offset
                      * [s], R_1_0 about y and z [rad]; 0: none */
    double first[5];  /* initial standard deviations: position and yaw [m, rad], tilt [rad], velocity, gyro bias,
                      * accelerometer bias */
    double seed;
};

/** Tracked landmark. */
struct sim_track {
    uint32_t id;        /* 0: unused */
    int moving_object;  /* 1: on the moving object */
    double at[3], v[3]; /* position at the start of the flight, velocity, in the world */
    double error[2];    /* error random-walked along the track, two axes across the bearing [rad] */
    int frames;         /* frames left, at most */
};

/** Observation of a landmark. Tangent basis of a bearing: sim_tangent_basis(). */
struct sim_observation {
    uint32_t id;
    double bearing[3], sigma, stereo_bearing[3],
        stereo_sigma;                   /* as the estimator gets them; stereo_sigma 0: no stereo observation */
    double row_delay_s, stereo_delay_s; /* of camera 0's row; of camera 1's row relative to it */
    int track;                          /* index of the track, for tests */
};

struct sim_frame {
    uint64_t stamp_ns; /* camera clock; IMU clock: stamp_ns + offset */
    double t_s;        /* true trajectory time */
    int n;
    struct sim_observation observation[SIM_OBSERVATIONS];
};

struct simulation {
    struct sim_options option; /* its time offset includes the drawn error */
    struct trajectory trajectory;
    struct sim_rig rig, assumed; /* true rig, rig that the estimator assumes */
    vfront_imu_noise_t noise;    /* as the estimator gets it */
    uint32_t samples;
    vfront_imu_t imu[SIM_SAMPLES];
    double bias[SIM_SAMPLES][6]; /* true biases at each sample: gyro, accelerometer */
    double hall[6];              /* minimum and maximum of x, y, z */
    struct sim_track track[SIM_OBSERVATIONS];
    uint32_t ids;
    int frames; /* of the whole flight, dropped ones included; at most SIM_FRAMES */
};

/** Default options: EuRoC's rig in the drawn figure of eight. */
static inline struct sim_options sim_defaults(void)
{
    const struct sim_options defaults = {.trajectory = "eight",
                                         .rig = "euroc",
                                         .seconds = 20,
                                         .tempo = 1,
                                         .imu_hz = 200,
                                         .noise = 1,
                                         .pixel = 0.5,
                                         .partners = 0.9,
                                         .object_mps = 0.5,
                                         .life = 15,
                                         .observations = 250,
                                         .first = {1e-4, 0.0174532925, 0.1, 0.01, 0.1},
                                         .turn_urad = 1e6 * SIM_TURN_RAD,
                                         .seed = 1};
    return defaults;
}

/** Reseeds the generator for one part of the flight, so that a change in it leaves the other parts unchanged. */
static inline void sim_reseed(const struct simulation *s, uint64_t part)
{
    shake((uint64_t)s->option.seed * 16u + part);
    for (int i = 0; i < 8; i++) (void)roll64();
}

/* ---- rig --------------------------------------------------------------------------------------------------------- */

/** Camera mounting from the mean of the world's z axis in body axes, `up`: the camera looks ahead with its image
 *  upright. A body with x up looks along z (EuRoC's), one with z up along x. */
static inline void sim_mount(struct sim_rig *rig, const double up[3])
{
    static const double ahead_z[9] = {0, -1, 0, 1, 0, 0, 0, 0, 1}, ahead_x[9] = {0, 0, 1, -1, 0, 0, 0, -1, 0};
    static const double turn[3] = {0.012, -0.017, 0.009}, place_z[3] = {-0.0216, -0.0647, 0.0098},
                        place_x[3] = {0.08, 0.05, -0.02};
    const int x_up = fabs(up[0]) > fabs(up[2]);
    double E[9];
    rotation_of(turn, E);
    product(x_up ? ahead_z : ahead_x, E, 0, rig->R_imu_cam);
    memcpy(rig->p_imu_cam, x_up ? place_z : place_x, sizeof rig->p_imu_cam);
}

/** Rig by name. Returns 0 if the name is unknown. */
static inline int sim_build(struct sim_rig *rig, const char *name, const double up[3])
{
    const int kitti = !strcmp(name, "kitti"), mono = !strcmp(name, "mono");
    const double turn[3] = {0.004, 0.007, -0.003};
    if (!kitti && !mono && strcmp(name, "euroc")) return 0;
    *rig = (struct sim_rig){.focal = kitti ? 707 : 460,
                            .width = kitti ? 1226 : 752,
                            .height = kitti ? 370 : 480,
                            .hz = kitti ? 10 : 20,
                            .cameras = mono ? 1 : 2};
    rig->cx = 0.49 * rig->width, rig->cy = 0.51 * rig->height;
    sim_mount(rig, up);
    rotation_of(turn, rig->R_1_0);
    rig->t_1_0[0] = kitti ? -0.54 : -0.11, rig->t_1_0[1] = 0.001, rig->t_1_0[2] = -0.0008;
    return 1;
}

/** Draws calibration errors from the estimator's priors. */
static inline void sim_draw_calibration(struct simulation *s)
{
    const double *sigma = s->option.drawn;
    sim_reseed(s, 4);
    const double mount[3] = {sigma[0] * normal(), sigma[0] * normal(), sigma[0] * normal()};
    const double across[3] = {0, sigma[2] * normal(), 0};
    const double about[3] = {0, 0, sigma[2] * normal()};
    double E[9];
    s->option.offset_s += sigma[1] * normal();
    rotation_of(mount, E);
    product(E, s->assumed.R_imu_cam, 0, s->assumed.R_imu_cam);
    rotation_of(across, E);
    product(E, s->assumed.R_1_0, 0, s->assumed.R_1_0);
    rotation_of(about, E);
    product(E, s->assumed.R_1_0, 0, s->assumed.R_1_0);
}

/** Assumed rig: the true one with the selected errors, about and along random axes. */
static inline void sim_miscalibrate(struct simulation *s)
{
    const double degree = 0.017453292519943295;
    double E[9], direction[3];
    s->assumed = s->rig;
    sim_reseed(s, 1);
    any_rotation(s->option.extrinsics * degree, E);
    product(s->rig.R_imu_cam, E, 0, s->assumed.R_imu_cam);
    any_direction(direction);
    for (int k = 0; k < 3; k++) s->assumed.p_imu_cam[k] += s->option.lever * direction[k];
    any_rotation(s->option.stereo * degree, E);
    product(E, s->rig.R_1_0, 0, s->assumed.R_1_0);
    const double turn[3] = {0, 0, s->option.turned * degree};
    rotation_of(turn, E);
    product(E, s->assumed.R_1_0, 0, s->assumed.R_1_0);
    sim_draw_calibration(s);
}

/** Position and axes of camera 0 in the world. */
static inline void sim_camera(const struct simulation *s, const struct trajectory_state *at, double c[3], double R[9])
{
    rotate(at->R, s->rig.p_imu_cam, c);
    for (int k = 0; k < 3; k++) c[k] += at->p[k];
    product(at->R, s->rig.R_imu_cam, 0, R);
}

/* ---- IMU --------------------------------------------------------------------------------------------------------- */

/** Noise of EuRoC's IMU times `times`. */
static inline vfront_imu_noise_t sim_noise(double times, double hz)
{
    const vfront_imu_noise_t noise = {.gyro_density = 1.7e-4 * times,
                                      .accel_density = 2e-3 * times,
                                      .gyro_walk = 1.9e-5 * times,
                                      .accel_walk = 3e-3 * times,
                                      .gyro_limit_rad_s = 35,
                                      .accel_limit_m_s2 = 160,
                                      .rate_hz = hz,
                                      .gravity_m_s2 = 9.81};
    return noise;
}

/** Propeller vibration on one axis: three sines of 80 to 200 Hz whose frequencies wander by 3 Hz. */
struct sim_vibration {
    double hz[3], phase[3], wander[3];
};

static inline double sim_vibration_at(const struct sim_vibration *v, double t)
{
    double sum = 0.0;
    for (int k = 0; k < 3; k++)
        sum += sin(6.283185307179586 * (v->hz[k] * t + 3.0 * sin(v->wander[k] * t) / v->wander[k]) + v->phase[k]) / 3.0;
    return sum;
}

static inline double sim_limit(double value, double limit) { return fmax(-limit, fmin(limit, value)); }

/** True rate and specific force in body axes. */
static inline void sim_imu_signal(const struct trajectory_state *at, double gravity, double w[3], double f[3])
{
    const double a[3] = {at->a[0], at->a[1], at->a[2] + gravity};
    for (int k = 0; k < 3; k++) {
        w[k] = at->w[k];
        f[k] = at->R[k] * a[0] + at->R[3 + k] * a[1] + at->R[6 + k] * a[2];
    }
}

/** Trajectory time of a time on the IMU clock, clamped to the trajectory. */
static inline double sim_time(const struct simulation *s, uint64_t t_ns)
{
    const double t = ((double)(int64_t)(t_ns - SIM_START_NS)) * 1e-9 + SIM_LEAD_S;
    return fmax(0.0, fmin(t, s->trajectory.seconds));
}

/** Makes all samples of the flight, and the biases at each. */
static inline void sim_measure(struct simulation *s)
{
    const struct sim_options *o = &s->option;
    struct sim_vibration shaking[6];
    double b[6];
    sim_reseed(s, 2);
    for (int c = 0; c < 6; c++) {
        b[c] = (c < 3 ? 0.02 : 0.2) * normal();
        for (int k = 0; k < 3; k++) {
            shaking[c].hz[k] = real(80, 200), shaking[c].phase[k] = real(0, 6.28);
            shaking[c].wander[k] = real(0.5, 2);
        }
    }
    s->samples = 0;
    const double root = sqrt(o->imu_hz);
    for (uint64_t i = 0; s->samples < SIM_SAMPLES; i++) {
        const uint64_t t_ns = SIM_START_NS - (uint64_t)(SIM_LEAD_S * 1e9) + (uint64_t)((double)i * 1e9 / o->imu_hz);
        const double t = ((double)i) / o->imu_hz;
        if (t > s->trajectory.seconds) break;
        struct trajectory_state at;
        double signal[6];
        trajectory_at(&s->trajectory, sim_time(s, t_ns), &at);
        sim_imu_signal(&at, s->noise.gravity_m_s2, signal, signal + 3);
        vfront_imu_t sample = {.t_ns = t_ns};
        for (int c = 0; c < 6; c++) {
            const double white = (c < 3 ? s->noise.gyro_density : s->noise.accel_density) * root * normal();
            const double shaken = o->vibration * (c < 3 ? 0.1 : 1.0) * sim_vibration_at(&shaking[c], t);
            const double limit = c < 3 ? s->noise.gyro_limit_rad_s : s->noise.accel_limit_m_s2;
            *(c < 3 ? &sample.gyro_rad_s[c] : &sample.accel_m_s2[c - 3]) = sim_limit(signal[c] + b[c] + white + shaken,
                                                                                     limit);
            s->bias[s->samples][c] = b[c];
            b[c] += (c < 3 ? s->noise.gyro_walk : s->noise.accel_walk) / root * normal();
        }
        const double flight = t - SIM_LEAD_S;
        if (flight >= o->gap[0] && flight < o->gap[1]) continue;
        s->imu[s->samples++] = sample;
    }
}

/** Index of the first sample later than a time. */
static inline uint32_t sim_after(const struct simulation *s, uint64_t t_ns)
{
    uint32_t low = 0, high = s->samples;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (s->imu[middle].t_ns <= t_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/** True biases at a time, linear between samples. */
static inline void sim_bias(const struct simulation *s, uint64_t t_ns, double b[6])
{
    const uint32_t n = sim_after(s, t_ns), i = n ? n - 1 : 0, j = n < s->samples ? n : s->samples - 1;
    const double span = i == j ? 1.0 : (double)(s->imu[j].t_ns - s->imu[i].t_ns);
    const double part = t_ns > s->imu[i].t_ns ? fmin(1.0, (double)(t_ns - s->imu[i].t_ns) / span) : 0.0;
    for (int c = 0; c < 6; c++) b[c] = s->bias[i][c] + part * (s->bias[j][c] - s->bias[i][c]);
}

/** Samples of a time range with SIM_MARGIN_S on either side: index of the first, and their number. */
static inline uint32_t sim_samples_between(const struct simulation *s, uint64_t from_ns, uint64_t to_ns,
                                           uint32_t *first)
{
    const uint64_t margin = (uint64_t)(SIM_MARGIN_S * 1e9);
    const uint32_t begin = sim_after(s, from_ns - margin), end = sim_after(s, to_ns + margin);
    *first = begin ? begin - 1 : 0;
    return end - *first;
}

/* ---- observations ------------------------------------------------------------------------------------------------ */

/** The two axes across a direction. */
static inline void sim_tangent_basis(const double v[3], double side[3], double up[3])
{
    const double y[3] = {0, 1, 0};
    cross(y, v, side);
    unit(side);
    cross(v, side, up);
}

/** Direction rotated by two small angles along its tangent axes. */
static inline void sim_rotated(const double v[3], const double by[2], double out[3])
{
    double side[3], up[3];
    sim_tangent_basis(v, side, up);
    for (int k = 0; k < 3; k++) out[k] = v[k] + tan(by[0]) * side[k] + tan(by[1]) * up[k];
    unit(out);
}

/** 1 if the point x in a camera's axes is in its image. */
static inline int sim_in_image(const struct sim_rig *rig, const double x[3])
{
    if (x[2] < 0.1) return 0;
    const double u = rig->focal * x[0] / x[2] + rig->cx, v = rig->focal * x[1] / x[2] + rig->cy;
    return u > 4 && v > 4 && u < rig->width - 4 && v < rig->height - 4;
}

/** Position of a landmark at a trajectory time. */
static inline void sim_landmark(const struct sim_track *track, double t, double at[3])
{
    for (int k = 0; k < 3; k++) at[k] = track->at[k] + t * track->v[k];
}

/** Hall with walls, floor and ceiling 3 m beyond the trajectory, so that camera 0 always has them in view. */
static inline void sim_hall_bounds(struct simulation *s)
{
    struct trajectory_state at;
    for (int k = 0; k < 6; k++) s->hall[k] = k % 2 ? -1e9 : 1e9;
    for (double t = 0; t <= s->trajectory.seconds; t += 0.1) {
        trajectory_at(&s->trajectory, t, &at);
        for (int k = 0; k < 3; k++) {
            s->hall[2 * k] = fmin(s->hall[2 * k], at.p[k] - (k == 2 ? 1.5 : 3.0));
            s->hall[2 * k + 1] = fmax(s->hall[2 * k + 1], at.p[k] + 3.0);
        }
    }
}

/** Distance of a new landmark along a ray. Hall: at least half way to the wall, so that the scene has depth; else
 *  uniform between the bounds. */
static inline double sim_distance(const struct simulation *s, const double c[3], const double ray[3])
{
    double wall = 1e9;
    if (s->option.far > 0) return real(s->option.near, s->option.far);
    for (int k = 0; k < 3; k++)
        if (fabs(ray[k]) > 1e-9) wall = fmin(wall, (s->hall[2 * k + (ray[k] > 0)] - c[k]) / ray[k]);
    return fmax(0.5, wall * real(0.5, 1.0));
}

/** Largest distance from the epipolar line at which a stereo match is found [px]. */
#define SIM_LINE_PX 2.0

/** Share of the image width that the moving object covers. */
#define SIM_OBJECT_SHARE 0.6

/** 1 while the moving object is present. */
static inline int sim_object_present(const struct simulation *s, double t)
{
    return t >= s->option.moving_object[0] && t < s->option.moving_object[1];
}

/** Draws a new landmark anywhere in the image of camera 0, which is at c with axes R. */
static inline void sim_new_landmark(struct simulation *s, struct sim_track *track, double t, const double c[3],
                                    const double R[9])
{
    const struct sim_rig *rig = &s->rig;
    const double u = real(5, rig->width - 5);
    double ray[3] = {(u - rig->cx) / rig->focal, (real(5, rig->height - 5) - rig->cy) / rig->focal, 1.0};
    unit(ray);
    rotate(R, ray, ray);
    const double distance = sim_distance(s, c, ray);
    memset(track, 0, sizeof *track);
    track->id = ++s->ids;
    track->frames = 2 + (int)(-s->option.life * log(real(1e-12, 1.0)));
    if (real(0, 1) < s->option.moving) {
        any_direction(track->v);
        for (int k = 0; k < 3; k++) track->v[k] *= 0.5;
    }
    track->moving_object = sim_object_present(s, t - SIM_LEAD_S) && u < SIM_OBJECT_SHARE * rig->width;
    for (int k = 0; k < 3 && track->moving_object; k++) track->v[k] = s->option.object_mps * R[3 * k];
    for (int k = 0; k < 3; k++) track->at[k] = c[k] + distance * ray[k] - t * track->v[k];
}

/** Adds an outlier of 3 to 10 px in a random direction. */
static inline void sim_outlier(const struct simulation *s, double by[2])
{
    const double size = real(3, 10) / s->rig.focal, direction = real(0, 6.283185307179586);
    by[0] += size * cos(direction), by[1] += size * sin(direction);
}

/** Applies the error of the assumed focal length to a direction. */
static inline void sim_wrong_focal(const struct simulation *s, double v[3])
{
    v[0] *= 1.0 + s->option.focal, v[1] *= 1.0 + s->option.focal;
    unit(v);
}

/** Projects direction v of camera 1 onto the epipolar line of a bearing by the assumed rig, and moves it along the
 *  line. */
static inline void sim_onto_epipolar_line(const struct sim_rig *rig, const double bearing[3], const double v[3],
                                          double along, double out[3])
{
    double turned[3], normal_of[3], direction[3];
    rotate(rig->R_1_0, bearing, turned);
    cross(rig->t_1_0, turned, normal_of);
    unit(normal_of);
    const double off = dot(v, normal_of);
    for (int k = 0; k < 3; k++) out[k] = v[k] - off * normal_of[k];
    unit(out);
    cross(normal_of, out, direction);
    for (int k = 0; k < 3; k++) out[k] += tan(along) * direction[k];
    unit(out);
}

/** 1 if a direction of camera 1 is within SIM_LINE_PX of the epipolar line of a bearing. */
static inline int sim_near_epipolar_line(const struct sim_rig *rig, const double bearing[3], const double v[3])
{
    double turned[3], normal_of[3];
    rotate(rig->R_1_0, bearing, turned);
    cross(rig->t_1_0, turned, normal_of);
    unit(normal_of);
    return fabs(dot(v, normal_of)) < SIM_LINE_PX / rig->focal;
}

/** Landmark in camera 0 axes at a trajectory time. */
static inline void sim_in_camera(const struct simulation *s, const struct sim_track *track, double t, double x[3])
{
    struct trajectory_state at;
    double c[3], R[9], p[3];
    trajectory_at(&s->trajectory, fmax(0.0, fmin(t, s->trajectory.seconds)), &at);
    sim_camera(s, &at, c, R);
    sim_landmark(track, t, p);
    for (int k = 0; k < 3; k++) p[k] -= c[k];
    for (int k = 0; k < 3; k++) x[k] = R[k] * p[0] + R[3 + k] * p[1] + R[6 + k] * p[2];
}

/** Exposure delay of a landmark's row relative to the middle row. x: landmark in camera 0 axes, at the frame's time t
 *  on entry, at the row's time on return. */
static inline double sim_row_delay(const struct simulation *s, const struct sim_track *track, int camera, double t,
                                   double x[3])
{
    double late = 0.0;
    for (int i = 0; i < 4 && s->option.row_s != 0.0; i++) {
        double there[3] = {x[0], x[1], x[2]};
        if (camera) {
            rotate(s->rig.R_1_0, x, there);
            for (int k = 0; k < 3; k++) there[k] += s->rig.t_1_0[k];
        }
        late = s->option.row_s * (s->rig.focal * there[1] / there[2] + s->rig.cy - 0.5 * (s->rig.height - 1.0));
        sim_in_camera(s, track, t + late, x);
    }
    return late;
}

/** Stereo observation. x: landmark in camera 0 axes; x_1: likewise at the time of camera 1's row; seen: noisy bearing
 *  before the lens error. Returns 0 if camera 1 does not observe it. */
static inline int sim_stereo_observation(const struct simulation *s, const double x[3], const double x_1[3],
                                         const double seen[3], struct sim_observation *observation)
{
    double there[3], direction[3], along = s->option.pixel / s->rig.focal * normal();
    const double share = real(0, 1), wrong = real(0, 1), size = real(3, 10) * (real(-1, 1) < 0 ? -1 : 1);
    rotate(s->rig.R_1_0, x_1, there);
    for (int k = 0; k < 3; k++) there[k] += s->rig.t_1_0[k];
    if (s->rig.cameras < 2 || share >= s->option.partners || !sim_in_image(&s->rig, there)) return 0;
    for (int k = 0; k < 3; k++) direction[k] = s->option.place ? x_1[k] : x_1[k] - x[k] + seen[k] * x[2] / seen[2];
    rotate(s->rig.R_1_0, direction, there);
    for (int k = 0; k < 3; k++) there[k] += s->rig.t_1_0[k];
    unit(there);
    sim_wrong_focal(s, there);
    if (!sim_near_epipolar_line(&s->assumed, observation->bearing, there)) return 0;
    if (wrong < s->option.outliers) along += size / s->rig.focal;
    sim_onto_epipolar_line(&s->assumed, observation->bearing, there, along, observation->stereo_bearing);
    observation->stereo_sigma = fmax(s->option.pixel, 1e-3) / s->rig.focal;
    return 1;
}

/** Observation of a landmark at x_frame, camera 0 axes, in a frame at trajectory time t. */
static inline void sim_observation(struct simulation *s, struct sim_track *track, double t, const double x_frame[3],
                                   struct sim_observation *observation)
{
    double x[3] = {x_frame[0], x_frame[1], x_frame[2]}, x_1[3] = {x[0], x[1], x[2]};
    const double flight = t - SIM_LEAD_S, before = 1.0 / s->rig.hz;
    const int is_late = flight >= s->option.late[0] && flight < s->option.late[1];
    if (is_late) sim_in_camera(s, track, t - before, x_1);
    const double late = sim_row_delay(s, track, 0, t, x),
                 late_1 = sim_row_delay(s, track, 1, is_late ? t - before : t, x_1);
    const double sigma = s->option.pixel / s->rig.focal, step = s->option.walk / s->rig.focal;
    double by[2] = {track->error[0] + sigma * normal(), track->error[1] + sigma * normal()}, v[3], seen[3];
    track->error[0] += step * normal(), track->error[1] += step * normal();
    if (real(0, 1) < s->option.outliers) sim_outlier(s, by);
    memcpy(v, x, sizeof v);
    unit(v);
    sim_rotated(v, by, seen);
    memset(observation, 0, sizeof *observation);
    observation->id = track->id;
    observation->track = (int)(track - s->track);
    memcpy(observation->bearing, seen, sizeof seen);
    sim_wrong_focal(s, observation->bearing);
    observation->sigma = fmax(s->option.pixel, 1e-3) / s->rig.focal;
    observation->row_delay_s = s->option.unmodelled ? 0.0 : late;
    observation->stereo_delay_s = s->option.unmodelled ? 0.0 : late_1 - late;
    (void)sim_stereo_observation(s, x, x_1, seen, observation);
}

/** 1 if the moving object hides a landmark at x (camera 0 axes), or the landmark disappeared with it. */
static inline int sim_hidden(const struct simulation *s, const struct sim_track *track, double t, const double x[3])
{
    const int there = sim_object_present(s, t - SIM_LEAD_S);
    const double u = s->rig.focal * x[0] / x[2] + s->rig.cx;
    return track->moving_object ? !there : there && u < SIM_OBJECT_SHARE * s->rig.width;
}

/** Updates a track for a frame; an ended one is replaced by a new landmark. Returns 1 if the landmark is in view. */
static inline int sim_update_track(struct simulation *s, struct sim_track *track, double t, const double c[3],
                                   const double R[9], double x[3])
{
    double at[3];
    for (int born = 0; born < 2; born++) {
        if (track->id && track->frames > 0) {
            sim_landmark(track, t, at);
            for (int k = 0; k < 3; k++) at[k] -= c[k];
            for (int k = 0; k < 3; k++) x[k] = R[k] * at[0] + R[3 + k] * at[1] + R[6 + k] * at[2];
            if (sim_in_image(&s->rig, x) && !sim_hidden(s, track, t, x)) return 1;
        }
        if (!born) sim_new_landmark(s, track, t, c, R);
    }
    track->id = 0;
    return 0;
}

/** Makes frame k, 0..frames - 1, called in this order. Returns 0 if the frame is dropped. */
static inline int sim_frame(struct simulation *s, int k, struct sim_frame *frame)
{
    const struct sim_options *o = &s->option;
    struct trajectory_state at;
    double c[3], R[9], x[3];
    frame->stamp_ns = SIM_START_NS + (uint64_t)((double)k * 1e9 / s->rig.hz);
    frame->t_s = sim_time(s, frame->stamp_ns) + o->offset_s;
    frame->n = 0;
    sim_reseed(s, 16 + (uint64_t)k * 1000000u);
    const int dropped = real(0, 1) < o->dropped && k,
              black = k / s->rig.hz >= o->black[0] && k / s->rig.hz < o->black[1];
    trajectory_at(&s->trajectory, frame->t_s, &at);
    sim_camera(s, &at, c, R);
    for (int i = 0; i < o->observations; i++) {
        if (black) s->track[i].id = 0;
        if (black || !sim_update_track(s, &s->track[i], frame->t_s, c, R, x)) continue;
        s->track[i].frames--;
        sim_observation(s, &s->track[i], frame->t_s, x, &frame->observation[frame->n++]);
    }
    return !dropped;
}

/* ---- initialization ---------------------------------------------------------------------------------------------- */

/** Mean of the world's z axis in body axes. */
static inline void sim_up(const struct trajectory *trajectory, double up[3])
{
    struct trajectory_state at;
    memset(up, 0, 3 * sizeof *up);
    for (double t = 0; t <= trajectory->seconds; t += 0.1) {
        trajectory_at(trajectory, t, &at);
        for (int k = 0; k < 3; k++) up[k] += at.R[6 + k];
    }
}

/** Sets up a flight by its options. Returns 0 if trajectory or rig is unknown. */
static inline int sim_start(struct simulation *s, const struct sim_options *option)
{
    double up[3];
    const double seconds = option->seconds + 2 * SIM_LEAD_S;
    s->option = *option;
    if (!trajectory_draw(&s->trajectory, option->trajectory, seconds, option->tempo) &&
        !trajectory_from_file(&s->trajectory, option->trajectory, option->from_s, seconds))
        return 0;
    sim_up(&s->trajectory, up);
    if (!sim_build(&s->rig, option->rig, up)) return 0;
    s->noise = sim_noise(option->noise, option->imu_hz);
    sim_miscalibrate(s);
    sim_hall_bounds(s);
    sim_measure(s);
    memset(s->track, 0, sizeof s->track);
    s->ids = 0;
    s->frames = (int)((s->trajectory.seconds - 2 * SIM_LEAD_S) * s->rig.hz + 1e-6) + 1;
    s->frames = s->frames < SIM_FRAMES ? s->frames : SIM_FRAMES;
    return 1;
}

/** Truth at a time on the IMU clock. */
static inline void sim_truth(const struct simulation *s, uint64_t t_ns, struct trajectory_state *at, double bias[6])
{
    trajectory_at(&s->trajectory, sim_time(s, t_ns), at);
    sim_bias(s, t_ns, bias);
}

/** Quaternion w x y z of a rotation matrix, by the largest of its four components. */
static inline void sim_quaternion(const double R[9], double q[4])
{
    const double square[4] = {1 + R[0] + R[4] + R[8], 1 + R[0] - R[4] - R[8], 1 - R[0] + R[4] - R[8],
                              1 - R[0] - R[4] + R[8]};
    int best = 0;
    for (int i = 1; i < 4; i++)
        if (square[i] > square[best]) best = i;
    const double d[3] = {R[7] - R[5], R[2] - R[6], R[3] - R[1]}, e[3] = {R[1] + R[3], R[2] + R[6], R[5] + R[7]};
    const double table[4][4] = {{square[0], d[0], d[1], d[2]},
                                {d[0], square[1], e[0], e[1]},
                                {d[1], e[0], square[2], e[2]},
                                {d[2], e[1], e[2], square[3]}};
    double n = 0;
    for (int i = 0; i < 4; i++) n += table[best][i] * table[best][i];
    for (int i = 0; i < 4; i++) q[i] = table[best][i] / sqrt(n);
}

/** Initial state at the time of the first frame: truth minus an error drawn from its covariance. */
static inline void sim_first(const struct simulation *s, vfront_nav_t *nav)
{
    const double *d = s->option.first;
    const double sigma[15] = {d[0], d[0], d[0], d[1], d[1], d[0], d[2], d[2], d[2], d[3], d[3], d[3], d[4], d[4], d[4]};
    struct trajectory_state at;
    double bias[6], e[15], R[9];
    memset(nav, 0, sizeof *nav);
    nav->t_ns = SIM_START_NS;
    sim_truth(s, nav->t_ns, &at, bias);
    sim_reseed(s, 3);
    for (int i = 0, k = 0; i < 15; k += 15 - i, i++) {
        nav->covariance[k] = sigma[i] * sigma[i];
        e[i] = sigma[i] * normal();
    }
    const double back[3] = {-e[3], -e[4], -e[5]};
    rotation_of(back, R);
    product(R, at.R, 0, R);
    sim_quaternion(R, nav->q_odom_imu);
    for (int k = 0; k < 3; k++) {
        nav->position_m[k] = at.p[k] - e[k];
        nav->velocity_mps[k] = at.v[k] - e[6 + k];
        nav->gyro_bias_rad_s[k] = bias[k] - e[9 + k];
        nav->accel_bias_m_s2[k] = bias[3 + k] - e[12 + k];
    }
}

/** Errors true - estimated in the order of vfront_nav_t; attitude: rotation vector from estimated to true. */
static inline void sim_errors(const struct simulation *s, const vfront_nav_t *nav, double e[15])
{
    struct trajectory_state at;
    double bias[6], R[9];
    const double *q = nav->q_odom_imu, xyzw[4] = {q[1], q[2], q[3], q[0]};
    sim_truth(s, nav->t_ns, &at, bias);
    trajectory_rotation(xyzw, R);
    rotation_between(at.R, R, e + 3);
    for (int k = 0; k < 3; k++) {
        e[k] = at.p[k] - nav->position_m[k];
        e[6 + k] = at.v[k] - nav->velocity_mps[k];
        e[9 + k] = bias[k] - nav->gyro_bias_rad_s[k];
        e[12 + k] = bias[3 + k] - nav->accel_bias_m_s2[k];
    }
}

/** Square block of a covariance, rows and columns first..first + n - 1. */
static inline void sim_block(const vfront_nav_t *nav, int first, int n, double *P)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            const int r = first + (i < j ? i : j), c = first + (i < j ? j : i);
            P[i * n + j] = nav->covariance[r * 15 - r * (r - 1) / 2 + c - r];
        }
}

/** e' P^-1 e, n at most 15; -1 if P is not positive definite. */
static inline double sim_nees(const double *P, const double *e, int n)
{
    double L[225], y[15], sum = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double a = P[i * n + j];
            for (int k = 0; k < j; k++) a -= L[i * n + k] * L[j * n + k];
            if (i == j && !(a > 0)) return -1;
            L[i * n + j] = i == j ? sqrt(a) : a / L[j * n + j];
        }
    for (int i = 0; i < n; i++) {
        y[i] = e[i];
        for (int k = 0; k < i; k++) y[i] -= L[i * n + k] * y[k];
        y[i] /= L[i * n + i];
        sum += y[i] * y[i];
    }
    return sum;
}

#endif
