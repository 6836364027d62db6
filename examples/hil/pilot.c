/* SPDX-License-Identifier: MIT */
#include "pilot.h"

#include "airframe.h"
#include "examples/common/pose.h"
#include "examples/synthetic/renderer.h"

#define STEP_S 0.005
#define WAIT_NS 1000000000u /* of messages before it takes off */
#define CLIMB_S 3.0
#define DESCENT_MPS 0.5
#define JOLT_M_S2 16.0 /* of a touch-down, against 9.8 in the air */
#define SPEED_MPS 0.9  /* along the square, at most */
#define CORNER_S 1.5   /* of a turn at a corner */
#define AHEAD_MPS 1.0  /* towards a wall */
#define STOP_M 1.5     /* from it */
#define BRAKE_M_S2 0.6
#define ROOM_NS 500000000u /* age at which a message of obstacles is none; PX4's */
#define SECTORS 3          /* of 5 degrees on either side that count as ahead */
#define UNKNOWN 65535u

/* Gains of the observer, for a message as good as that: half of them where its deviation is SIGMA_M, SIGMA_MPS,
 * SIGMA_RAD. */
#define OF_POSITION 0.3
#define OF_VELOCITY 0.3
#define OF_ATTITUDE 0.2
#define OF_GYRO_BIAS 0.1
#define OF_ACCEL_BIAS 0.15
#define SIGMA_M 0.2
#define SIGMA_MPS 0.3
#define SIGMA_RAD 0.1

/* Of the controller. */
#define BY_POSITION 1.1  /* velocity for 1 m [1/s] */
#define VELOCITY_MAX 1.5 /* [m/s] */
#define BY_VELOCITY 2.8  /* acceleration for 1 m/s [1/s] */
#define BY_SUM 0.8       /* for 1 m of the sum [1/s^2] */
#define SUM_MAX_M 1.0
#define FORCE_MAX 3.5   /* level acceleration [m/s^2] */
#define BY_ATTITUDE 7.0 /* rate for 1 rad [1/s] */
#define RATE_MAX 2.5    /* [rad/s] */
#define BY_RATE 18.0    /* angular acceleration for 1 rad/s [1/s] */

static double clamp(double v, double max) { return v > max ? max : v < -max ? -max : v; }

static void rotate(double out[3], const double R[9], const double v[3])
{
    for (int r = 0; r < 3; r++) out[r] = dot(&R[3 * r], v);
}

/** R = exp(w) R for a small w, in axes of the left side. */
static void turn_left(double R[9], const double w[3])
{
    double out[9];
    const double T[9] = {1, -w[2], w[1], w[2], 1, -w[0], -w[1], w[0], 1};
    multiply(out, T, R);
    pose_orthonormalise(out);
    memcpy(R, out, sizeof out);
}

/** R = R exp(w), in axes of the right side. */
static void turn_right(double R[9], const double w[3])
{
    double left[3];
    rotate(left, R, w);
    turn_left(R, left);
}

/** Turn that takes R to `to`, in axes of the left side, for a small one. */
static void turn_between(double w[3], const double to[9], const double R[9])
{
    double back[9], D[9];
    for (int i = 0; i < 9; i++) back[i] = R[i % 3 * 3 + i / 3];
    multiply(D, to, back);
    w[0] = 0.5 * (D[7] - D[5]);
    w[1] = 0.5 * (D[2] - D[6]);
    w[2] = 0.5 * (D[3] - D[1]);
}

/** How long it goes on without a message. */
static uint64_t silence_of(const pilot_t *p) { return p->silence_ns ? p->silence_ns : PILOT_SILENCE_NS; }

/* ---- observer ---------------------------------------------------------------------------------------------------- */

static void predict(pilot_t *p, const vfront_imu_t *r)
{
    double force[3], accel[3], w[3];
    for (int k = 0; k < 3; k++) {
        w[k] = STEP_S * (r->gyro_rad_s[k] - p->gyro_bias_rad_s[k]);
        force[k] = r->accel_m_s2[k] - p->accel_bias_m_s2[k];
    }
    turn_right(p->now.R_local_body, w);
    rotate(accel, p->now.R_local_body, force);
    accel[2] -= AIRFRAME_GRAVITY_M_S2;
    for (int k = 0; k < 3; k++) {
        p->now.p_m[k] += STEP_S * (p->now.v_mps[k] + 0.5 * STEP_S * accel[k]);
        p->now.v_mps[k] += STEP_S * accel[k];
    }
    p->now.t_ns = r->t_ns;
    p->history[p->samples++ % PILOT_HISTORY] = p->now;
}

/** Share of a gain that a deviation leaves. */
static double share_of(double nominal, double variance) { return nominal * nominal / (nominal * nominal + variance); }

/** Shares of the gains by the covariance of each part of the message. */
struct shares {
    double position, velocity, attitude;
};

static struct shares shares_of(const mavlink_message_t *m)
{
    const mavlink_f32 *pose = m->as.odometry.pose_covariance, *velocity = m->as.odometry.velocity_covariance;
    return (struct shares){
        .position = share_of(SIGMA_M, (double)pose[0] + (double)pose[6]),
        .velocity = share_of(SIGMA_MPS, (double)velocity[0] + (double)velocity[6]),
        .attitude = share_of(SIGMA_RAD, (double)pose[15] + (double)pose[18])}; /* of roll and pitch */
}

/** State of the message, its axes turned: z up. */
static void state_of(pilot_state_t *s, const mavlink_message_t *m)
{
    const mavlink_f32 *w = m->as.odometry.q;
    const double q[4] = {(double)w[1], (double)w[2], (double)w[3], (double)w[0]}; /* w is first there, last here */
    const double v[3] = {(double)*m->as.odometry.vx, -(double)*m->as.odometry.vy, -(double)*m->as.odometry.vz};
    pose_rotation(s->R_local_body, q);
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++)
            if ((r == 0) != (c == 0)) s->R_local_body[3 * r + c] = -s->R_local_body[3 * r + c];
    rotate(s->v_mps, s->R_local_body, v);
    s->p_m[0] = (double)*m->as.odometry.x;
    s->p_m[1] = -(double)*m->as.odometry.y;
    s->p_m[2] = -(double)*m->as.odometry.z;
    s->t_ns = m->as.odometry.time_usec[0] * 1000u;
}

/** Number of the past state nearest before a time; that of now where it is later, the oldest where it is earlier. */
static uint32_t history_at(const pilot_t *p, uint64_t t_ns)
{
    const uint32_t oldest = p->samples > PILOT_HISTORY ? p->samples - PILOT_HISTORY : 0;
    uint32_t i = p->samples - 1;
    while (i > oldest && p->history[i % PILOT_HISTORY].t_ns > t_ns) i--;
    return i;
}

/** Past at exactly that time: on with its velocity. */
static pilot_state_t history_state(const pilot_t *p, uint32_t number, uint64_t t_ns)
{
    pilot_state_t s = p->history[number % PILOT_HISTORY];
    const double by_s = t_ns > s.t_ns ? (double)(t_ns - s.t_ns) * 1e-9 : 0.0, step_s = by_s < STEP_S ? by_s : STEP_S;
    for (int k = 0; k < 3; k++) s.p_m[k] += step_s * s.v_mps[k];
    return s;
}

/** Move a state by corrections. */
static void shift(pilot_state_t *s, const double p_m[3], const double v_mps[3], const double w[3], double since_s)
{
    for (int k = 0; k < 3; k++) {
        s->p_m[k] += p_m[k] + since_s * v_mps[k];
        s->v_mps[k] += v_mps[k];
    }
    turn_left(s->R_local_body, w);
}

static void correct(pilot_t *p, const pilot_state_t *seen, const struct shares *of)
{
    const uint32_t at = history_at(p, seen->t_ns);
    const pilot_state_t then = history_state(p, at, seen->t_ns);
    double dp[3], dv[3], w[3], w_body[3], dv_body[3];
    turn_between(w, seen->R_local_body, then.R_local_body);
    rotate_back(w_body, then.R_local_body, w);
    for (int k = 0; k < 3; k++) dv[k] = of->velocity * (seen->v_mps[k] - then.v_mps[k]);
    rotate_back(dv_body, then.R_local_body, dv);
    for (int k = 0; k < 3; k++) {
        dp[k] = OF_POSITION * of->position * (seen->p_m[k] - then.p_m[k]);
        dv[k] *= OF_VELOCITY;
        w[k] *= OF_ATTITUDE * of->attitude;
        p->gyro_bias_rad_s[k] = clamp(p->gyro_bias_rad_s[k] - OF_GYRO_BIAS * of->attitude * w_body[k], 0.2);
        p->accel_bias_m_s2[k] = clamp(p->accel_bias_m_s2[k] - OF_ACCEL_BIAS * dv_body[k], 0.5);
    }
    for (uint32_t i = at; i != p->samples; i++) {
        pilot_state_t *s = &p->history[i % PILOT_HISTORY];
        shift(s, dp, dv, w, (double)(s->t_ns - then.t_ns) * 1e-9);
    }
    shift(&p->now, dp, dv, w, (double)(p->now.t_ns - then.t_ns) * 1e-9);
}

/** The state is that of a message, carried on to now by the past samples. */
static void begin_anew(pilot_t *p, const pilot_state_t *seen)
{
    const uint64_t t_ns = p->now.t_ns;
    const double since_s = t_ns > seen->t_ns ? (double)(t_ns - seen->t_ns) * 1e-9 : 0.0;
    p->now = *seen;
    p->now.t_ns = t_ns;
    for (int k = 0; k < 3; k++) p->now.p_m[k] += since_s * seen->v_mps[k];
    p->samples = 0;
    p->history[p->samples++] = p->now;
    p->has_state = 1;
    memset(p->sum, 0, sizeof p->sum);
}

static void take_odometry(pilot_t *p, const mavlink_message_t *m, uint64_t now_ns)
{
    pilot_state_t seen;
    if (m->as.odometry.quality[0] < 0) return;
    state_of(&seen, m);
    const int is_first = !p->message_ns || now_ns > p->message_ns + silence_of(p);
    const int is_new = is_first || p->reset_counter != m->as.odometry.reset_counter[0];
    p->reset_counter = m->as.odometry.reset_counter[0];
    if (is_first) p->since_ns = now_ns;
    p->message_ns = now_ns;
    const struct shares shares = shares_of(m);
    if (is_new)
        begin_anew(p, &seen);
    else
        correct(p, &seen, &shares);
}

/** The least distance in the sectors ahead; 0 where one of them is unknown. */
static void take_obstacles(pilot_t *p, const mavlink_message_t *m, uint64_t now_ns)
{
    const uint16_t *cm = m->as.obstacles.distances;
    double min = 1e9;
    for (int i = -SECTORS; i <= SECTORS; i++) {
        const double clearance = cm[(i + 72) % 72] == UNKNOWN ? 0.0 : 0.01 * cm[(i + 72) % 72];
        if (clearance < min) min = clearance;
    }
    if (min <= 0.0) return; /* what was known before counts until it is too old */
    p->clearance_m = min;
    p->clearance_ns = now_ns;
}

void pilot_message(pilot_t *p, const mavlink_message_t *m, uint64_t now_ns)
{
    if (m->id == MAVLINK_ODOMETRY) take_odometry(p, m, now_ns);
    if (m->id == MAVLINK_OBSTACLE_DISTANCE) take_obstacles(p, m, now_ns);
}

/* ---- guide ------------------------------------------------------------------------------------------------------- */

/** Share 0..1 of a distance that begins and ends at rest, and its speed, for a share of its time. */
static double smooth(double time, double *speed)
{
    const double t = time < 0.0 ? 0.0 : time > 1.0 ? 1.0 : time;
    *speed = 6.0 * t * (1.0 - t);
    return t * t * (3.0 - 2.0 * t);
}

/** Point of the square, a time after its begin. */
static void along_square(pilot_t *p, double t_s)
{
    static const double corner[5][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}, {0, 0}};
    const double side_s = 1.5 * PILOT_SIDE_M / SPEED_MPS, leg_s = side_s + CORNER_S;
    double speed, unused;
    if (t_s < 0.0) return;
    const int leg = t_s < 4.0 * leg_s ? (int)(t_s / leg_s) : 4;
    if (leg == 4) return;
    const double share = smooth((t_s - leg * leg_s) / side_s, &speed);
    for (int k = 0; k < 2; k++) {
        const double side_m = PILOT_SIDE_M * (corner[leg + 1][k] - corner[leg][k]);
        p->setpoint_m[k] = PILOT_SIDE_M * corner[leg][k] + share * side_m;
        p->setpoint_mps[k] = t_s - leg * leg_s < side_s ? speed * side_m / side_s : 0.0;
    }
    p->setpoint_turns = 0.25 * (leg + smooth((t_s - leg * leg_s - side_s) / CORNER_S, &unused));
}

/** Ahead, as fast as the room allows, and no farther. */
static void fly_ahead(pilot_t *p)
{
    const int is_known = p->clearance_ns && p->now.t_ns < p->clearance_ns + ROOM_NS;
    const double age_s = is_known ? (double)(p->now.t_ns - p->clearance_ns) * 1e-9 : 0.0;
    const double clearance_m = is_known ? p->clearance_m - age_s * p->now.v_mps[0] - STOP_M : 0.0;
    const double max = clearance_m > 0.0 ? square_root(2.0 * BRAKE_M_S2 * clearance_m + 1e-6) : 0.0;
    const double asked = max < AHEAD_MPS ? max : AHEAD_MPS;
    p->setpoint_mps[0] += clamp(asked - p->setpoint_mps[0], (asked < p->setpoint_mps[0] ? 3.0 : 0.5) * STEP_S);
    p->setpoint_m[0] += STEP_S * p->setpoint_mps[0];
}

static void update_setpoint(pilot_t *p)
{
    const double t_s = (double)(p->now.t_ns - p->armed_ns) * 1e-9;
    double speed;
    p->setpoint_m[2] = PILOT_HEIGHT_M * smooth(t_s / CLIMB_S, &speed);
    p->setpoint_mps[2] = t_s < CLIMB_S ? PILOT_HEIGHT_M * speed / CLIMB_S : 0.0;
    if (p->takeoffs > 1) return;
    if (p->mission == PILOT_SQUARE && p->now.t_ns >= p->square_ns)
        along_square(p, (double)(p->now.t_ns - p->square_ns) * 1e-9);
    if (p->mission == PILOT_AHEAD && t_s > CLIMB_S + 1.0) fly_ahead(p);
}

static void take_off(pilot_t *p)
{
    p->phase = PILOT_FLIES;
    p->takeoffs++;
    p->armed_ns = p->now.t_ns;
    memcpy(p->home_m, p->now.p_m, sizeof p->home_m);
    memset(p->setpoint_m, 0, sizeof p->setpoint_m);
    memset(p->setpoint_mps, 0, sizeof p->setpoint_mps);
    memset(p->sum, 0, sizeof p->sum);
    /* yaw stays that of now: turns of the nose, whose cosine and sine are these */
    const double c = p->now.R_local_body[0], s = p->now.R_local_body[3];
    p->setpoint_turns = atan2(s, c) / TWO_PI;
}

/** 1 if a sample is the jolt of the floor. */
static int is_jolt(const vfront_imu_t *r) { return dot(r->accel_m_s2, r->accel_m_s2) > JOLT_M_S2 * JOLT_M_S2; }

static void choose_phase(pilot_t *p, const vfront_imu_t *r)
{
    const uint64_t now_ns = p->now.t_ns;
    const int has_messages = p->message_ns && now_ns <= p->message_ns + silence_of(p);
    if (p->phase == PILOT_WAITS && has_messages && now_ns >= p->since_ns + WAIT_NS) take_off(p);
    if (p->phase == PILOT_FLIES && !has_messages) {
        p->phase = PILOT_BLIND;
        p->blind_ns = now_ns;
        p->descent_s = (p->now.p_m[2] - p->home_m[2]) / DESCENT_MPS + 2.0;
    }
    const int is_over = (double)(now_ns - p->blind_ns) * 1e-9 > p->descent_s;
    if (p->phase == PILOT_BLIND && (is_over || is_jolt(r))) p->phase = PILOT_WAITS;
}

/* ---- controller -------------------------------------------------------------------------------------------------- */

/** Acceleration asked for, gravity made up for. */
static void steer(pilot_t *p, double force[3])
{
    for (int k = 0; k < 3; k++) {
        const double off = p->phase == PILOT_FLIES ? p->home_m[k] + p->setpoint_m[k] - p->now.p_m[k] : 0.0;
        const double own = p->phase == PILOT_FLIES ? p->setpoint_mps[k] : k == 2 ? -DESCENT_MPS : 0.0;
        const double error = clamp(own + BY_POSITION * off, VELOCITY_MAX) - p->now.v_mps[k];
        if (p->phase == PILOT_FLIES) p->sum[k] = clamp(p->sum[k] + STEP_S * error, SUM_MAX_M);
        force[k] = clamp(BY_VELOCITY * error + BY_SUM * p->sum[k], FORCE_MAX);
    }
    force[2] += AIRFRAME_GRAVITY_M_S2;
}

/** Attitude whose z lies along the force and whose nose points where it is to. */
static void attitude_for(const double force[3], double turns, double R[9], double *length)
{
    const double nose[3] = {cosine(turns), sine(turns), 0};
    double x[3], y[3], z[3];
    *length = square_root(dot(force, force));
    for (int k = 0; k < 3; k++) z[k] = force[k] / *length;
    cross(y, z, nose);
    const double across = square_root(dot(y, y));
    for (int k = 0; k < 3; k++) y[k] /= across;
    cross(x, y, z);
    for (int k = 0; k < 3; k++) {
        R[3 * k] = x[k];
        R[3 * k + 1] = y[k];
        R[3 * k + 2] = z[k];
    }
}

/** Thrust of each rotor for a sum and torques. */
static void mix(double rotor_n[4], double sum_n, const double torque_nm[3])
{
    static const double x[4] = {1, 1, -1, -1}, y[4] = {1, -1, 1, -1}, spin[4] = {1, -1, -1, 1};
    for (int i = 0; i < 4; i++)
        rotor_n[i] = 0.25 * (sum_n + (y[i] * torque_nm[0] - x[i] * torque_nm[1]) / AIRFRAME_ARM_M +
                             spin[i] * torque_nm[2] / AIRFRAME_TORQUE_M);
}

static void control(pilot_t *p, const vfront_imu_t *r)
{
    static const double inertia[3] = AIRFRAME_INERTIA;
    double force[3], R[9], w[3], w_body[3], torque_nm[3], length;
    if (p->phase == PILOT_WAITS) {
        memset(p->rotor_n, 0, sizeof p->rotor_n);
        return;
    }
    steer(p, force);
    attitude_for(force, p->setpoint_turns, R, &length);
    turn_between(w, R, p->now.R_local_body);
    rotate_back(w_body, p->now.R_local_body, w);
    for (int k = 0; k < 3; k++) {
        const double asked = clamp(BY_ATTITUDE * w_body[k], RATE_MAX);
        const double rate = r->gyro_rad_s[k] - p->gyro_bias_rad_s[k];
        torque_nm[k] = inertia[k] * BY_RATE * (asked - rate);
    }
    torque_nm[2] = clamp(torque_nm[2], 0.05);
    const double z[3] = {p->now.R_local_body[2], p->now.R_local_body[5], p->now.R_local_body[8]};
    const double lift = AIRFRAME_MASS_KG * dot(force, z);
    mix(p->rotor_n, lift > 0.0 ? lift : 0.0, torque_nm);
}

void pilot_imu(pilot_t *p, const vfront_imu_t *sample)
{
    if (!p->has_state) memcpy(p->now.R_local_body, pose_identity.R, sizeof p->now.R_local_body);
    predict(p, sample);
    choose_phase(p, sample);
    if (p->phase == PILOT_FLIES) update_setpoint(p);
    control(p, sample);
}
