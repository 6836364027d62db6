/* SPDX-License-Identifier: MIT */
/* Motion between two frames without readings of an IMU, in the form in which the window takes one with readings: a
 * rig that turns and moves on as before, with the errors of not knowing better.
 *
 * In      the newest frame's attitude and angular rate; time offset and biases (struct vf_window_carried)
 * Out     struct vf_window_motion
 * Rule    turn at the last rate; forces that hold the velocity against gravity in the last attitude. Rate and
 *         acceleration are white, of VF_UNREAD_RATE and VF_UNREAD_ACCEL: so position and velocity go together as the
 *         integrals of one acceleration. Forces made from the attitude must not tell that attitude again: their
 *         direction is off by VF_UNREAD_TILT_RAD, which is what a step tells of the tilt. Biases: not told, and their
 *         random walk goes on
 * Exact   double precision in one order, on the host
 */
#ifndef VF_WINDOW_UNREAD_H
#define VF_WINDOW_UNREAD_H

#include "window_inertial.h"

/** Density of the unknown rate [rad^2/s] and acceleration [m^2/s^3]: over a twentieth of a second each axis turns by
 *  0.1 rad beside the last rate and changes its velocity by 0.35 m/s, over a tenth by 0.14 rad and 0.5 m/s. */
#define VF_UNREAD_RATE 0.2
#define VF_UNREAD_ACCEL 2.5

/** Deviation of the direction of the forces, each axis [rad]. */
#define VF_UNREAD_TILT_RAD 1.0

/** Turn beyond which the last rate says nothing of it [rad]. */
#define VF_UNREAD_TURN_RAD 1.0

/** Covariance of the errors (w, v, p) over dt_s, row-major; v, p: what the forces add up to. */
VF_FN void vf_unread_covariance(const double v[3], const double p[3], double dt_s, double P[81])
{
    const double *sum[2];
    const double walk[2][2] = {{VF_UNREAD_ACCEL * dt_s, VF_UNREAD_ACCEL * dt_s * dt_s / 2.0},
                               {VF_UNREAD_ACCEL * dt_s * dt_s / 2.0, VF_UNREAD_ACCEL * dt_s * dt_s * dt_s / 3.0}};
    sum[0] = v;
    sum[1] = p;
    memset(P, 0, 81 * sizeof *P);
    for (int k = 0; k < 3; k++) P[10 * (VF_ROW_W + k)] = VF_UNREAD_RATE * dt_s;
    for (int a = 0; a < 2; a++)
        for (int b = 0; b < 2; b++) {
            const double *x = sum[a], *y = sum[b], dot = x[0] * y[0] + x[1] * y[1] + x[2] * y[2];
            for (int i = 0; i < 3; i++)
                for (int j = 0; j < 3; j++) { /* [x] [y]' = x.y 1 - y x' */
                    const double turned = (i == j ? dot : 0.0) - y[i] * x[j];
                    P[9 * (VF_ROW_V + 3 * a + i) + VF_ROW_V + 3 * b + j] =
                        VF_UNREAD_TILT_RAD * VF_UNREAD_TILT_RAD * turned + (i == j ? walk[a][b] : 0.0);
                }
        }
}

/** Rate between two attitudes dt_s apart, in IMU axes of the second one; none where it is not known. */
VF_FN void vf_unread_rate(const double before[4], const double now[4], double dt_s, double rate[3])
{
    const double back[4] = {before[0], -before[1], -before[2], -before[3]};
    double between[4];
    vf_quaternion_multiply(back, now, between);
    vf_window_logarithm(between, rate);
    for (int k = 0; k < 3; k++) rate[k] = dt_s > 0.0 ? rate[k] / dt_s : 0.0;
}

/** Motion from the newest frame, with attitude q and angular rate `rate` in IMU axes, to a time later than it. */
VF_FN void vf_window_motion_unread(struct vf_window_motion *m, const struct vf_window_carried *c,
                                   const vfront_imu_noise_t *noise, const double q[4], const double rate[3],
                                   uint64_t t_ns)
{
    double R[9], turn[3];
    memset(m, 0, sizeof *m);
    const double dt = (double)(t_ns - c->t_ns) * 1e-9 + (c->offset_s - c->own_offset_s);
    m->t_ns = t_ns;
    m->motion.dt_s = dt;
    m->motion.flags = VFRONT_NAV_GAP;
    memcpy(m->bias, c->bias, sizeof m->bias);
    vf_quaternion_matrix(q, R);
    const double angle = sqrt(rate[0] * rate[0] + rate[1] * rate[1] + rate[2] * rate[2]) * dt;
    for (int k = 0; k < 3; k++) {
        turn[k] = angle < VF_UNREAD_TURN_RAD ? rate[k] * dt : 0.0;
        m->before[k] = m->rate[k] = rate[k];
        m->motion.v[k] = R[6 + k] * noise->gravity_m_s2 * dt;
        m->motion.p[k] = 0.5 * R[6 + k] * noise->gravity_m_s2 * dt * dt;
    }
    vf_quaternion_exponential(turn, m->motion.q);
    vf_unread_covariance(m->motion.v, m->motion.p, dt, m->motion.P);
    vf_inertial_scale_of(&m->scale, &m->motion, noise);
}

#endif
