/* SPDX-License-Identifier: MIT */
/* Flight through a drawn world: motion, rig as it is and as it is calibrated, IMU samples, times of the frames that
 * arrive. All in double precision from the definitions.
 *
 * Times   true time t [s], 0 at the first sample. IMU clock: FLIGHT_EPOCH_NS + t, with jitter. Camera clock: less the
 *         time offset, with jitter
 */
#ifndef DRAWN_FLIGHT_H
#define DRAWN_FLIGHT_H

#include "drawn_world.h"
#include "trajectory.h"

/** Zero of true time on the IMU clock [ns]; lead of the samples on the first frame, and trail [s]. */
#define FLIGHT_EPOCH_NS 100000000000ull
#define FLIGHT_LEAD_S 0.3
#define FLIGHT_TRAIL_S 0.2

/** Pictures, unless the program has others. */
#ifndef FLIGHT_WIDTH
#define FLIGHT_WIDTH 752
#define FLIGHT_HEIGHT 480
#endif

/** Room for 1,800 s: memory that is never touched costs nothing. */
enum { FLIGHT_SAMPLES = 1 << 21, FLIGHT_FRAMES = 1 << 17 };

#define DEGREE 0.017453292519943295

/** Pinhole without distortion. */
struct flight_camera {
    double f, cx, cy; /* [px] */
};

/** Rig: x_imu = R_imu_cam x_0 + p_imu_cam, x_1 = R_1_0 x_0 + t_1_0. */
struct flight_rig {
    double R_imu_cam[9], p_imu_cam[3], R_1_0[9], t_1_0[3];
    struct flight_camera camera[2];
};

/** Waves of one axis. */
struct flight_wave {
    double size[2], rate[2], phase[2];
};

struct flight {
    struct world world;
    uint64_t seed;
    double seconds;
    struct trajectory trajectory;
    struct flight_rig rig, assumed;
    /* motion */
    struct flight_wave place[3], turn[3];
    double steady[3], begin_s, ramp_s, steady_ramp_s;
    double peak_accel, peak_rate; /* of the trajectory [m/s^2, rad/s] */
    /* IMU */
    vfront_imu_noise_t noise; /* as stated: data sheet */
    uint32_t samples;
    vfront_imu_t imu[FLIGHT_SAMPLES];
    double bias[FLIGHT_SAMPLES][6];
    /* frames */
    int frames;
    double frame_s[FLIGHT_FRAMES];    /* true time of the middle of the exposure */
    uint64_t stamp_ns[FLIGHT_FRAMES]; /* start of the exposure, camera clock */
    double exposure_s;
};

/** Parts of a world with a generator of their own, beyond its quantities. */
enum { PART_MOTION = 1000, PART_RIG, PART_IMU, PART_TIMES, PART_SCENE = 100000 };

/* ---- motion ------------------------------------------------------------------------------------------------------ */

static inline double flight_wave_at(const struct flight_wave *w, double t)
{
    return w->size[0] * sin(w->rate[0] * t + w->phase[0]) + w->size[1] * sin(w->rate[1] * t + w->phase[1]);
}

/** Second derivative of a wave. */
static inline double flight_wave_accel(const struct flight_wave *w, double t)
{
    double a = 0;
    for (int i = 0; i < 2; i++) a -= w->size[i] * w->rate[i] * w->rate[i] * sin(w->rate[i] * t + w->phase[i]);
    return a;
}

/** Integral of trajectory_ramp(). */
static inline double flight_ramp_integral(double t, double from, double lasts)
{
    const double u = fmin(fmax((t - from) / lasts, 0.0), 1.0), u5 = u * u * u * u * u;
    return lasts * u5 * (7.0 - u * (14.0 - u * (10.0 - 2.5 * u))) + fmax(t - from - lasts, 0.0);
}

static inline void flight_position(const struct flight *f, double t, double p[3])
{
    const double on = trajectory_ramp(t, f->begin_s, f->ramp_s);
    const double along = flight_ramp_integral(t, f->begin_s, f->steady_ramp_s);
    for (int k = 0; k < 3; k++) p[k] = on * flight_wave_at(&f->place[k], t) + f->steady[k] * along;
}

/** Attitude: of a multirotor its z axis along the thrust, acceleration minus gravity; of others by waves. */
static inline void flight_attitude(const struct flight *f, double t, double R[9])
{
    const double on = trajectory_ramp(t, f->begin_s, f->ramp_s), h = 0.01;
    double before[3], now[3], after[3], thrust[3], axis[3], swing[9];
    const double turn[3] = {0, 0, f->turn[2].phase[0] + on * flight_wave_at(&f->turn[2], t)};
    rotation_of(turn, R);
    if (f->world.vehicle > 1.5) {
        const double lean[3] = {on * flight_wave_at(&f->turn[0], t), on * flight_wave_at(&f->turn[1], t), 0};
        rotation_of(lean, swing);
    } else {
        flight_position(f, t - h, before), flight_position(f, t, now), flight_position(f, t + h, after);
        for (int k = 0; k < 3; k++)
            thrust[k] = (before[k] - 2 * now[k] + after[k]) / (h * h) + (k == 2 ? f->world.gravity : 0);
        unit(thrust);
        const double side = sqrt(thrust[0] * thrust[0] + thrust[1] * thrust[1]), angle = atan2(side, thrust[2]);
        axis[0] = side > 0 ? -thrust[1] / side * angle : 0, axis[1] = side > 0 ? thrust[0] / side * angle : 0;
        axis[2] = 0;
        rotation_of(axis, swing);
    }
    product(swing, R, 0, R);
}

static inline void flight_draw_wave(struct flight_wave *w, double hz, double size)
{
    for (int i = 0; i < 2; i++) {
        w->rate[i] = 6.283185307179586 * hz * real(0.7, 1.4);
        w->size[i] = size * real(0.3, 1);
        w->phase[i] = real(0, 6.283185307179586);
    }
}

/** Scales the waves of the place so that the largest acceleration is that of the world. Downwards it stays below 0.6
 *  gravity, so that the thrust points up. */
static inline void flight_scale(struct flight *f)
{
    double most = 0, down = 0;
    for (double t = 0; t < f->seconds; t += 0.01) {
        double a[3];
        for (int k = 0; k < 3; k++) a[k] = flight_wave_accel(&f->place[k], t);
        most = fmax(most, length(a));
        down = fmax(down, fabs(a[2]));
    }
    const double by = f->world.accel / most, by_z = fmin(by, 0.6 * f->world.gravity / down);
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 2; i++) f->place[k].size[i] *= k == 2 ? by_z : by;
}

static inline void flight_draw_motion(struct flight *f)
{
    const struct world *w = &f->world;
    const double rate = 6.283185307179586 * w->motion_hz;
    double direction[3];
    world_reseed(f->seed, PART_MOTION);
    for (int k = 0; k < 3; k++) flight_draw_wave(&f->place[k], w->motion_hz, (k == 2 ? 0.5 : 1) / (rate * rate));
    for (int k = 0; k < 3; k++) flight_draw_wave(&f->turn[k], w->motion_hz, 1);
    for (int k = 0; k < 3; k++) {
        const struct flight_wave *v = &f->turn[k];
        const double most = v->size[0] * v->rate[0] + v->size[1] * v->rate[1];
        for (int i = 0; i < 2; i++) f->turn[k].size[i] *= (k == 2 ? 1 : 0.5) * w->turn_rate / most;
    }
    any_direction(direction);
    direction[2] *= 0.2;
    unit(direction);
    const double speed = fmin(w->speed * w->near_m, 15); /* [m/s] */
    for (int k = 0; k < 3; k++) f->steady[k] = speed * direction[k];
    f->ramp_s = fmax(1, 1.5 / w->motion_hz);
    f->steady_ramp_s = fmax(1, speed / 4);
    f->begin_s = w->rest_s >= 0 ? FLIGHT_LEAD_S + w->rest_s : -fmax(f->ramp_s, f->steady_ramp_s) - 1;
    flight_scale(f);
    f->trajectory.knots = trajectory_knots(f->seconds + FLIGHT_LEAD_S + FLIGHT_TRAIL_S);
    for (int k = 0; k < f->trajectory.knots; k++) {
        const double t = (k - 2) * TRAJECTORY_STEP_S;
        flight_position(f, t, f->trajectory.p[k]);
        flight_attitude(f, t, f->trajectory.R[k]);
    }
    trajectory_finish(&f->trajectory, f->seconds + FLIGHT_LEAD_S + FLIGHT_TRAIL_S);
}

/** State at a true time, clamped to the flight. */
static inline void flight_at(const struct flight *f, double t, struct trajectory_state *at)
{
    trajectory_at(&f->trajectory, fmax(0, fmin(t, f->trajectory.seconds)), at);
}

/* ---- rig --------------------------------------------------------------------------------------------------------- */

static inline void flight_turned(const double R[9], double angle, int before, double out[9])
{
    double E[9];
    any_rotation(angle, E);
    if (before)
        product(E, R, 0, out);
    else
        product(R, E, 0, out);
}

/** Rig as it is, and as it is calibrated. */
static inline void flight_draw_rig(struct flight *f)
{
    static const double ahead[9] = {0, 0, 1, -1, 0, 0, 0, -1, 0}; /* body: x ahead, y left, z up */
    const struct world *w = &f->world;
    const double focal = 0.5 * FLIGHT_WIDTH / tan(0.5 * DEGREE * w->view_deg);
    const double up[3] = {0, -DEGREE * (w->down > 2.5 ? -90 : w->pitch_deg), 0};
    double E[9], direction[3];
    struct flight_rig *r = &f->rig;
    world_reseed(f->seed, PART_RIG);
    rotation_of(up, E);
    product(E, ahead, 0, r->R_imu_cam);
    flight_turned(r->R_imu_cam, 0.02, 0, r->R_imu_cam);
    for (int k = 0; k < 3; k++) r->p_imu_cam[k] = real(-0.1, 0.1);
    const double same[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    flight_turned(same, 0.008, 0, r->R_1_0);
    r->t_1_0[0] = -w->baseline, r->t_1_0[1] = 0.001, r->t_1_0[2] = -0.0008;
    for (int c = 0; c < 2; c++)
        r->camera[c] = (struct flight_camera){focal, 0.5 * FLIGHT_WIDTH + real(-8, 8),
                                              0.5 * FLIGHT_HEIGHT + real(-8, 8)};
    f->assumed = *r;
    struct flight_rig *a = &f->assumed;
    flight_turned(r->R_imu_cam, DEGREE * w->mount_deg, 0, a->R_imu_cam);
    any_direction(direction);
    for (int k = 0; k < 3; k++) a->p_imu_cam[k] += 1e-3 * w->mount_mm * direction[k];
    flight_turned(r->R_1_0, DEGREE * w->stereo_deg, 1, a->R_1_0);
    for (int k = 0; k < 3; k++) a->t_1_0[k] *= 1 + 1e-3 * w->baseline_mm / w->baseline;
    a->camera[0].f += w->focal_0, a->camera[1].f += w->focal_1;
    a->camera[0].cx += w->centre_x0, a->camera[0].cy += w->centre_y0;
    a->camera[1].cx += w->centre_x1, a->camera[1].cy += w->centre_y1;
}

/** Position and axes of camera 0 in the world at a true time. */
static inline void flight_camera_at(const struct flight *f, double t, double c[3], double R[9])
{
    struct trajectory_state at;
    flight_at(f, t, &at);
    rotate(at.R, f->rig.p_imu_cam, c);
    for (int k = 0; k < 3; k++) c[k] += at.p[k];
    product(at.R, f->rig.R_imu_cam, 0, R);
}

/* ---- IMU --------------------------------------------------------------------------------------------------------- */

static inline vfront_imu_noise_t flight_stated_noise(const struct world *w)
{
    const struct world_imu *c = &world_imus[(int)w->imu];
    const vfront_imu_noise_t n = {.gyro_density = c->gyro_dps * DEGREE,
                                  .accel_density = c->accel_ug * 9.81e-6,
                                  .gyro_walk = c->gyro_walk,
                                  .accel_walk = c->accel_walk,
                                  .gyro_limit_rad_s = c->limit_dps * DEGREE,
                                  .accel_limit_m_s2 = c->limit_g * 9.81,
                                  .rate_hz = w->imu_hz,
                                  .gravity_m_s2 = 9.81};
    return n;
}

/** Constant errors of the IMU: each signal is A times the truth, plus G times the force at the gyro, plus bias and
 *  tones. */
struct flight_imu_errors {
    double A[2][9], G[9], bias[6];
    double tone[6], tone_rate[4], tone_phase[6][4], wander[4];
};

static inline void flight_draw_imu_errors(const struct flight *f, struct flight_imu_errors *e)
{
    const struct world *w = &f->world;
    const double g = w->g_sensitivity * world_imus[(int)w->imu].dps_per_g * DEGREE / 9.81;
    /* low pass of the IMU at 0.4 of its rate, of second order */
    const double part = w->tone_hz / (0.4 * w->imu_hz), filter = 1 / (1 + part * part);
    any_direction(e->bias);
    any_direction(e->bias + 3);
    for (int c = 0; c < 6; c++) e->bias[c] *= c < 3 ? w->gyro_bias : w->accel_bias;
    for (int s = 0; s < 2; s++)
        for (int i = 0; i < 9; i++)
            e->A[s][i] = i % 4 ? real(-1, 1) * w->imu_turn * DEGREE : 1 + real(-1, 1) * w->imu_scale;
    for (int i = 0; i < 9; i++) e->G[i] = g * real(-1, 1);
    for (int k = 0; k < 4; k++) {
        e->tone_rate[k] = 6.283185307179586 * w->tone_hz * real(0.95, 1.05);
        e->wander[k] = real(0.5, 2);
    }
    for (int c = 0; c < 6; c++) {
        e->tone[c] = 0.25 * w->tone * filter * (c < 3 ? w->tone_turn : 1) * real(0.5, 1);
        for (int k = 0; k < 4; k++) e->tone_phase[c][k] = real(0, 6.283185307179586);
    }
}

/** Tones of four rotors on one axis; their rates wander by 3 Hz. */
static inline double flight_tones(const struct flight_imu_errors *e, int c, double t)
{
    double sum = 0;
    for (int k = 0; k < 4; k++)
        sum += sin(e->tone_rate[k] * t + 19 / e->wander[k] * sin(e->wander[k] * t) + e->tone_phase[c][k]);
    return e->tone[c] * sum;
}

/** Sample without noise at a true time: gyro, accelerometer. */
static inline void flight_signal(struct flight *f, const struct flight_imu_errors *e, double t, double out[6])
{
    struct trajectory_state at;
    double force[3];
    flight_at(f, t, &at);
    const double a[3] = {at.a[0], at.a[1], at.a[2] + f->world.gravity};
    for (int k = 0; k < 3; k++) force[k] = at.R[k] * a[0] + at.R[3 + k] * a[1] + at.R[6 + k] * a[2];
    for (int k = 0; k < 3; k++) {
        out[k] = dot(e->A[0] + 3 * k, at.w) + dot(e->G + 3 * k, force);
        out[3 + k] = dot(e->A[1] + 3 * k, force);
    }
    for (int c = 0; c < 6; c++) out[c] += flight_tones(e, c, t);
    f->peak_accel = fmax(f->peak_accel, length(at.a));
    f->peak_rate = fmax(f->peak_rate, length(at.w));
}

static inline void flight_measure(struct flight *f)
{
    const struct world *w = &f->world;
    const double root = sqrt(w->imu_hz), end = f->trajectory.seconds;
    struct flight_imu_errors e;
    f->noise = flight_stated_noise(w);
    f->peak_accel = f->peak_rate = 0;
    world_reseed(f->seed, PART_IMU);
    flight_draw_imu_errors(f, &e);
    for (f->samples = 0; f->samples < FLIGHT_SAMPLES && f->samples / w->imu_hz < end; f->samples++) {
        const double t = f->samples / w->imu_hz, jitter = fmax(-0.3, fmin(0.3, w->imu_jitter * normal())) / w->imu_hz;
        double signal[6], value[6];
        vfront_imu_t *s = &f->imu[f->samples];
        memset(s, 0, sizeof *s);
        s->t_ns = FLIGHT_EPOCH_NS + (uint64_t)llround(1e9 * (t + jitter + 1e-3));
        flight_signal(f, &e, t + 1e-3, signal);
        for (int c = 0; c < 6; c++) {
            const double density = c < 3 ? f->noise.gyro_density : f->noise.accel_density;
            const double limit = c < 3 ? f->noise.gyro_limit_rad_s : f->noise.accel_limit_m_s2;
            value[c] = fmax(-limit, fmin(limit, signal[c] + e.bias[c] + w->imu_noise * density * root * normal()));
            f->bias[f->samples][c] = e.bias[c];
            e.bias[c] += w->imu_noise * (c < 3 ? f->noise.gyro_walk : f->noise.accel_walk) / root * normal();
        }
        memcpy(s->gyro_rad_s, value, sizeof s->gyro_rad_s);
        memcpy(s->accel_m_s2, value + 3, sizeof s->accel_m_s2);
    }
}

/* ---- frames ------------------------------------------------------------------------------------------------------ */

/** Times of the frames that arrive. Losses: a chain of two states, which loses `missing` of all in runs of
 *  `missing_run`. */
static inline void flight_draw_times(struct flight *f)
{
    const struct world *w = &f->world;
    const double end_share = 1 / w->missing_run,
                 begin_share = w->missing > 0 ? end_share * w->missing / (1 - w->missing) : 0;
    int lost = 0;
    f->exposure_s = fmin(1e-3 * w->exposure_ms, 0.5 / w->camera_hz);
    f->frames = 0;
    world_reseed(f->seed, PART_TIMES);
    for (int i = 0; i / w->camera_hz < f->seconds && f->frames < FLIGHT_FRAMES; i++) {
        const double t = FLIGHT_LEAD_S + i / w->camera_hz, by = real(0, 1), jitter = 1e-3 * w->jitter_ms * normal();
        lost = i && (lost ? by >= end_share : by < begin_share);
        if (lost) continue;
        const double stamp = t - 0.5 * f->exposure_s - 1e-3 * w->offset_ms +
                             fmax(-0.3 / w->camera_hz, fmin(0.3 / w->camera_hz, jitter));
        f->frame_s[f->frames] = t;
        f->stamp_ns[f->frames++] = FLIGHT_EPOCH_NS + (uint64_t)llround(1e9 * stamp);
    }
}

/** Makes the flight of a world. */
static inline void flight_make(struct flight *f, uint64_t seed, const struct world *w, double seconds)
{
    f->seed = seed;
    f->world = *w;
    f->seconds = seconds;
    flight_draw_motion(f);
    flight_draw_rig(f);
    flight_measure(f);
    flight_draw_times(f);
}

/** True biases at a time on the IMU clock. */
static inline void flight_bias(const struct flight *f, uint64_t t_ns, double bias[6])
{
    const double at = 1e-9 * (double)(int64_t)(t_ns - FLIGHT_EPOCH_NS) * f->world.imu_hz;
    const uint32_t i = at < 0 ? 0 : at >= f->samples ? f->samples - 1 : (uint32_t)at;
    memcpy(bias, f->bias[i], sizeof f->bias[i]);
}

#endif
