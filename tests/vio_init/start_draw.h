/* SPDX-License-Identifier: MIT */
/* Random initialization problems: samples with noise, biases and vibration; motions of camera 0 with errors of their
 * covariance, partly common to all motions. The truth is integrated in long double from noise-free samples. */
#ifndef START_DRAW_H
#define START_DRAW_H

#include "tests/imu/imu_oracle.h"

#include "vio_init/start.h"

enum { RATE = 200, MAX_INTERVALS = VF_START_FRAMES - 1, MAX_SAMPLES = 20 * MAX_INTERVALS + 1 };

/** Kind of problem. */
struct scenario {
    const char *name;
    double gyro, accel;    /* root mean square rate and acceleration per axis, sines up to 3 Hz [rad/s, m/s^2] */
    double speed;          /* of the body [m/s] */
    double turn;           /* rate about the vertical, with the centripetal acceleration [rad/s] */
    double vibration;      /* of the force per axis [m/s^2]; 1/100 of it on rates [rad/s] */
    double shift, spin;    /* standard deviations of the motions [m, rad] */
    int samples_per_frame; /* samples per frame */
    int intervals;
    uint32_t missing; /* bits of missing motions */
};

/** Problem as drawn. */
struct drawn {
    struct vf_vio_rig rig;
    vfront_imu_noise_t noise;
    int n; /* number of samples */
    vfront_imu_t truth[MAX_SAMPLES], imu[MAX_SAMPLES];
    vfront_motion_t motion[MAX_INTERVALS];    /* since the previous frame, per interval */
    struct wide_motion at[MAX_INTERVALS + 1]; /* truth at the frames */
    double bias[MAX_INTERVALS + 1][6];
    uint64_t t_ns[MAX_INTERVALS + 1];
};

/** Noise-free samples of a body that starts with attitude and velocity of d->at[0]. */
static inline void true_samples(const struct scenario *f, struct drawn *d)
{
    static const wide none[6] = {0};
    static vfront_imu_t sines[MAX_SAMPLES];
    struct wide_motion x = d->at[0];
    any_samples(sines, (uint32_t)d->n, RATE, 3, f->gyro, f->accel, 0);
    for (int i = 0; i < d->n; i++) {
        d->truth[i] = sines[i];
        const wide curve[3] = {-f->turn * x.y[10], f->turn * x.y[9], 9.81L};
        for (int k = 0; k < 3; k++) {
            wide force = sines[i].accel_m_s2[k] - (k == 2 ? 9.8 : 0);
            for (int r = 0; r < 3; r++) force += x.y[3 * r + k] * curve[r];
            d->truth[i].accel_m_s2[k] = (double)force;
            d->truth[i].gyro_rad_s[k] += f->turn * (double)x.y[6 + k];
        }
        if (i) wide_integrate(&x, &d->truth[i - 1], 2, d->truth[i - 1].t_ns, d->truth[i].t_ns, none, 9.81L, 1);
    }
}

/** Motion of camera 0 from a to b, from the camera's axes and position in the world. */
static inline void motion_of(const struct vf_vio_rig *rig, const struct wide_motion *a, const struct wide_motion *b,
                             double R[9], double t[3])
{
    wide axes[2][9], at[2][3];
    for (int m = 0; m < 2; m++) {
        const wide *y = m ? b->y : a->y;
        for (int i = 0; i < 9; i++) {
            axes[m][i] = 0;
            for (int k = 0; k < 3; k++) axes[m][i] += y[i / 3 * 3 + k] * rig->R_imu_cam[3 * k + i % 3];
        }
        for (int r = 0; r < 3; r++) {
            at[m][r] = y[12 + r];
            for (int k = 0; k < 3; k++) at[m][r] += y[3 * r + k] * rig->p_imu_cam_m[k];
        }
    }
    for (int r = 0; r < 3; r++) {
        wide sum = 0;
        for (int k = 0; k < 3; k++) sum += axes[1][3 * k + r] * (at[0][k] - at[1][k]);
        t[r] = (double)sum;
        for (int c = 0; c < 3; c++) {
            sum = 0;
            for (int k = 0; k < 3; k++) sum += axes[1][3 * k + r] * axes[0][3 * k + c];
            R[3 * r + c] = (double)sum;
        }
    }
}

/** Motion with an error of covariance L L' removed; z: normalised error. */
static inline void noisy_motion(vfront_motion_t *m, const double R[9], const double t[3], const double L[36],
                                const double z[6])
{
    double e[6], D[9], M[9];
    memset(m, 0, sizeof *m);
    m->state = VFRONT_MOTION_GOOD;
    for (int i = 0, at = 0; i < 6; i++) {
        e[i] = 0;
        for (int k = 0; k < 6; k++) e[i] -= L[6 * i + k] * z[k];
        for (int j = i; j < 6; j++, at++)
            for (int k = 0; k < 6; k++) m->covariance[at] += (float)(L[6 * i + k] * L[6 * j + k]);
    }
    rotation_of(e + 3, D);
    product(D, R, 0, M);
    for (int k = 0; k < 9; k++) m->R[k] = (float)M[k];
    for (int k = 0; k < 3; k++) m->t[k] = (float)(t[k] + e[k]);
}

/** Samples with random-walk biases, noise and vibration. */
static inline void measure(const struct scenario *f, struct drawn *d)
{
    double tone[6], phase[6], b[6];
    memcpy(b, d->bias[0], sizeof b);
    for (int c = 0; c < 6; c++) tone[c] = real(80, 190), phase[c] = real(0, 6.28);
    for (int i = 0; i < d->n; i++) {
        d->imu[i] = d->truth[i];
        for (int c = 0; c < 6; c++) {
            const int gyro = c < 3;
            const double walk = gyro ? d->noise.gyro_walk : d->noise.accel_walk,
                         density = gyro ? d->noise.gyro_density : d->noise.accel_density;
            double *value = gyro ? &d->imu[i].gyro_rad_s[c] : &d->imu[i].accel_m_s2[c - 3];
            if (i) b[c] += walk / sqrt(RATE) * normal();
            *value += b[c] + density * sqrt(RATE) * normal() +
                      1.4142 * f->vibration * (gyro ? 0.01 : 1) * sin(6.283185 * tone[c] * i / RATE + phase[c]);
        }
        if (i % f->samples_per_frame) continue;
        memcpy(d->bias[i / f->samples_per_frame], b, sizeof b);
        d->t_ns[i / f->samples_per_frame] = d->truth[i].t_ns;
    }
}

/** Draws a problem with a random camera mounting. */
static inline void draw(const struct scenario *f, struct drawn *d)
{
    static const wide none[6] = {0};
    double w[3], R[9], L[36], same[6], share = real(0, 1);
    memset(d, 0, sizeof *d);
    d->noise = any_noise(RATE);
    d->rig.cameras = 2;
    d->n = f->intervals * f->samples_per_frame + 1;
    for (int k = 0; k < 3; k++) w[k] = normal(), d->rig.p_imu_cam_m[k] = 0.1 * normal(), same[k] = normal();
    rotation_of(w, d->rig.R_imu_cam);
    for (int k = 0; k < 3; k++) w[k] = normal(), same[3 + k] = normal();
    rotation_of(w, R);
    for (int k = 0; k < 9; k++) d->at[0].y[k] = R[k];
    any_direction(w);
    for (int k = 0; k < 3; k++) d->at[0].y[9 + k] = f->speed * w[k];
    for (int c = 0; c < 6; c++)
        d->bias[0][c] = (c < 3 ? VF_START_GYRO_BIAS_RAD_S : VF_START_ACCEL_BIAS_M_S2) * normal();
    true_samples(f, d);
    measure(f, d);
    for (int i = 0; i < 36; i++)
        L[i] = i % 6 > i / 6 ? 0 : (i < 18 ? f->shift : f->spin) * (i % 7 == 0 ? real(0.7, 1.3) : real(-0.4, 0.4));
    for (int i = 0; i < f->intervals; i++) {
        double z[6], t[3];
        d->at[i + 1] = d->at[i];
        wide_integrate(&d->at[i + 1], &d->truth[i * f->samples_per_frame], (uint32_t)f->samples_per_frame + 1,
                       d->t_ns[i], d->t_ns[i + 1], none, 9.81L, 1);
        motion_of(&d->rig, &d->at[i], &d->at[i + 1], R, t);
        for (int k = 0; k < 6; k++) z[k] = sqrt(share) * same[k] + sqrt(1 - share) * normal();
        noisy_motion(&d->motion[i], R, t, L, z);
        if (f->missing >> i & 1) d->motion[i].state = VFRONT_MOTION_FEW;
    }
}

/** Submits frame i, 0..intervals, with its samples and one more at either end. mono: 0: metric motions, 1: relative
 *  ones. */
static inline enum vf_start_status add_frame(struct vf_start *s, const struct scenario *f, const struct drawn *d, int i,
                                             int mono)
{
    const int low = i ? (i - 1) * f->samples_per_frame : 0, high = i * f->samples_per_frame + (i < f->intervals);
    const struct vf_start_frame frame = {d->t_ns[i], d->imu + low, (uint32_t)(high - low + 1),
                                         i && !mono ? &d->motion[i - 1] : NULL, i && mono ? &d->motion[i - 1] : NULL};
    return vf_start_step(s, &frame);
}

/** Errors of tilt (w[2] = 0) and velocity of a state against attitude R and velocity, after rotation about z to equal
 *  yaw. */
static inline void state_error(const vfront_nav_t *nav, const wide R[9], const double velocity[3], double w[3],
                               double dv[3])
{
    wide own[9], turned[9], e[3] = {0};
    double Z[9], yaw = 0;
    wide_matrix(nav->q_odom_imu, own);
    for (int i = 0; i < 8; i++) {
        const double by[3] = {0, 0, -yaw};
        rotation_of(by, Z);
        for (int k = 0; k < 9; k++) {
            turned[k] = 0;
            for (int j = 0; j < 3; j++) turned[k] += Z[k / 3 * 3 + j] * R[3 * j + k % 3];
        }
        wide_between(turned, own, e);
        yaw += (double)e[2];
    }
    rotate(Z, velocity, dv);
    for (int k = 0; k < 3; k++) w[k] = (double)e[k], dv[k] -= nav->velocity_mps[k];
}

/** Errors true - estimated at a frame. */
static inline void errors(const struct drawn *d, int frame, const vfront_nav_t *nav, double e[15])
{
    const wide *y = d->at[frame].y;
    const double v[3] = {(double)y[9], (double)y[10], (double)y[11]};
    state_error(nav, y, v, e + 3, e + 6);
    for (int k = 0; k < 3; k++) {
        e[k] = -nav->position_m[k];
        e[9 + k] = d->bias[frame][k] - nav->gyro_bias_rad_s[k];
        e[12 + k] = d->bias[frame][3 + k] - nav->accel_bias_m_s2[k];
    }
}

/** Squared normalised error of components first..first + n - 1. */
static inline double normalised(const vfront_nav_t *nav, const double e[15], int first, int n)
{
    double P[225];
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            P[i * n + j] = nav->covariance[vf_nav_index(first + (i < j ? i : j), first + (i < j ? j : i))];
    return chi_squared(P, e + first, n);
}

#endif
