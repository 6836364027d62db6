/* SPDX-License-Identifier: MIT */
#include "airframe.h"

#include "examples/common/pose.h"
#include "examples/synthetic/renderer.h"

#define ROTORS 4
#define LAG_S 0.03      /* of a rotor's thrust */
#define DRAG_KG_S 0.35  /* force for 1 m/s of speed */
#define TURN_DRAG 0.003 /* torque for 1 rad/s [Nm s] */
#define GUST_N 0.35     /* deviation of the wind's force on each axis */
#define GUST_S 1.5      /* time over which it changes */
#define LEG_SPRING_N_M 1500.0
#define LEG_DAMPER_N_S_M 30.0
#define LEG_GRIP_N_S_M 30.0 /* friction of a foot for 1 m/s */
#define GRIP_MAX 0.6        /* of the force on it */
#define HOVER_HZ 120.0      /* of a rotor that carries a fourth of the weight */
#define SHAKE_M_S2 1.0      /* a rotor's vibration then */
#define SHAKE_RAD_S 0.01    /* of the rates */

static const double x_of[ROTORS] = {AIRFRAME_ARM_M, AIRFRAME_ARM_M, -AIRFRAME_ARM_M, -AIRFRAME_ARM_M};
static const double y_of[ROTORS] = {AIRFRAME_ARM_M, -AIRFRAME_ARM_M, AIRFRAME_ARM_M, -AIRFRAME_ARM_M};
static const double spin_of[ROTORS] = {1.0, -1.0, -1.0, 1.0};

/** Nearly normal number of deviation 1: a sum of twelve uniform ones. */
static double normal(uint64_t *random)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++) sum += (double)(synthetic_hash((*random)++) >> 11) * 0x1p-53;
    return sum;
}

static void rotate(double out[3], const double R[9], const double v[3])
{
    for (int r = 0; r < 3; r++) out[r] = dot(&R[3 * r], v);
}

void airframe_begin(airframe_t *a, double x_m, double y_m, uint64_t seed)
{
    memset(a, 0, sizeof *a);
    memcpy(a->R_world_body, pose_identity.R, sizeof a->R_world_body);
    a->p_m[0] = x_m;
    a->p_m[1] = y_m;
    a->p_m[2] = AIRFRAME_LEGS_M - AIRFRAME_MASS_KG * AIRFRAME_GRAVITY_M_S2 / (ROTORS * LEG_SPRING_N_M);
    a->force_m_s2[2] = AIRFRAME_GRAVITY_M_S2;
    a->tilt_cosine_min = 1.0;
    a->random = synthetic_hash(seed);
}

/** Force on a foot in world axes, and its torque in body axes, added. 1: it touches the floor. */
static int add_leg(airframe_t *a, int leg, int is_landing, double force_n[3], double torque_nm[3])
{
    const double foot[3] = {x_of[leg], y_of[leg], -AIRFRAME_LEGS_M};
    double at[3], swing[3], speed[3], push[3], push_body[3], turn[3];
    rotate(at, a->R_world_body, foot);
    const double depth = -(a->p_m[2] + at[2]);
    if (depth <= 0.0) return 0;
    cross(swing, a->rate_rad_s, foot);
    rotate(speed, a->R_world_body, swing);
    for (int k = 0; k < 3; k++) speed[k] += a->v_mps[k];
    if (is_landing && -speed[2] > a->touch_mps) a->touch_mps = -speed[2];
    const double up = LEG_SPRING_N_M * depth - LEG_DAMPER_N_S_M * speed[2];
    push[2] = up > 0.0 ? up : 0.0;
    const double slide = LEG_GRIP_N_S_M * square_root(speed[0] * speed[0] + speed[1] * speed[1] + 1e-6);
    const double share = slide > GRIP_MAX * push[2] ? GRIP_MAX * push[2] / slide : 1.0;
    for (int k = 0; k < 2; k++) push[k] = -share * LEG_GRIP_N_S_M * speed[k];
    rotate_back(push_body, a->R_world_body, push);
    cross(turn, foot, push_body);
    for (int k = 0; k < 3; k++) {
        force_n[k] += push[k];
        torque_nm[k] += turn[k];
    }
    return 1;
}

/** Force in world axes without gravity, and torque in body axes. */
static void add_up(airframe_t *a, double force_n[3], double torque_nm[3])
{
    const double *f = a->thrust_n;
    const double lift[3] = {0, 0, f[0] + f[1] + f[2] + f[3]};
    rotate(force_n, a->R_world_body, lift);
    for (int k = 0; k < 3; k++) {
        force_n[k] += a->gust_n[k] - DRAG_KG_S * a->v_mps[k];
        torque_nm[k] = -TURN_DRAG * a->rate_rad_s[k];
    }
    for (int i = 0; i < ROTORS; i++) {
        torque_nm[0] += y_of[i] * f[i];
        torque_nm[1] -= x_of[i] * f[i];
        torque_nm[2] += spin_of[i] * AIRFRAME_TORQUE_M * f[i];
    }
    const int is_landing = !a->is_on_floor;
    a->is_on_floor = 0;
    for (int leg = 0; leg < ROTORS; leg++) a->is_on_floor |= add_leg(a, leg, is_landing, force_n, torque_nm);
}

/** Turn by rate * step. */
static void turn(airframe_t *a)
{
    double R[9], square[9], exp[9];
    const double *w = a->rate_rad_s, t = AIRFRAME_STEP_S;
    const double H[9] = {0, -w[2] * t, w[1] * t, w[2] * t, 0, -w[0] * t, -w[1] * t, w[0] * t, 0};
    multiply(square, H, H);
    for (int i = 0; i < 9; i++) exp[i] = pose_identity.R[i] + H[i] + 0.5 * square[i];
    multiply(R, a->R_world_body, exp);
    pose_orthonormalise(R);
    memcpy(a->R_world_body, R, sizeof R);
}

void airframe_step(airframe_t *a, const double asked_n[4])
{
    static const double inertia[3] = AIRFRAME_INERTIA;
    const double t = AIRFRAME_STEP_S, root = square_root(2.0 * t / GUST_S);
    double force_n[3], torque_nm[3], spin[3], momentum[3];
    for (int i = 0; i < ROTORS; i++) {
        const double max = asked_n[i] < AIRFRAME_ROTOR_MAX_N ? asked_n[i] : AIRFRAME_ROTOR_MAX_N;
        a->thrust_n[i] += t / LAG_S * ((max > 0.0 ? max : 0.0) - a->thrust_n[i]);
        const double share = a->thrust_n[i] * ROTORS / (AIRFRAME_MASS_KG * AIRFRAME_GRAVITY_M_S2);
        a->turns[i] += t * HOVER_HZ * (1.0 + 0.04 * i) * square_root(share + 1e-6);
    }
    for (int k = 0; k < 3; k++) a->gust_n[k] += GUST_N * root * normal(&a->random) - t / GUST_S * a->gust_n[k];
    add_up(a, force_n, torque_nm);
    rotate_back(a->force_m_s2, a->R_world_body, force_n);
    for (int k = 0; k < 3; k++) momentum[k] = inertia[k] * a->rate_rad_s[k];
    cross(spin, a->rate_rad_s, momentum);
    for (int k = 0; k < 3; k++) {
        a->force_m_s2[k] /= AIRFRAME_MASS_KG;
        a->v_mps[k] += t * (force_n[k] / AIRFRAME_MASS_KG - (k == 2 ? AIRFRAME_GRAVITY_M_S2 : 0.0));
        a->p_m[k] += t * a->v_mps[k];
        a->rate_rad_s[k] += t * (torque_nm[k] - spin[k]) / inertia[k];
    }
    turn(a);
    if (a->R_world_body[8] < a->tilt_cosine_min) a->tilt_cosine_min = a->R_world_body[8];
}

/* ---- IMU --------------------------------------------------------------------------------------------------------- */

void airframe_imu_noise(vfront_imu_noise_t *noise)
{
    const vfront_imu_noise_t n = {
        1.7e-4, 2e-3, 2e-5, 3e-3, 17.0, 150.0, 1e9 / AIRFRAME_SAMPLE_NS, AIRFRAME_GRAVITY_M_S2};
    *noise = n;
}

void airframe_imu_begin(airframe_imu_t *imu, uint64_t seed)
{
    memset(imu, 0, sizeof *imu);
    imu->random = synthetic_hash(seed);
    for (int k = 0; k < 3; k++) {
        imu->gyro_bias_rad_s[k] = 0.02 * normal(&imu->random);
        imu->accel_bias_m_s2[k] = 0.06 * normal(&imu->random);
    }
}

void airframe_imu_read(airframe_imu_t *imu, const airframe_t *a, uint64_t t_ns, vfront_imu_t *r)
{
    static const double axes[ROTORS][3] = {{0.6, 0.3, 0.74}, {-0.4, 0.7, 0.59}, {0.7, -0.5, 0.51}, {0.2, 0.8, -0.57}};
    const double root = square_root(1e9 / AIRFRAME_SAMPLE_NS);
    vfront_imu_noise_t n;
    airframe_imu_noise(&n);
    r->t_ns = t_ns;
    for (int k = 0; k < 3; k++) {
        imu->gyro_bias_rad_s[k] += n.gyro_walk / root * normal(&imu->random);
        imu->accel_bias_m_s2[k] += n.accel_walk / root * normal(&imu->random);
        r->gyro_rad_s[k] = a->rate_rad_s[k] + imu->gyro_bias_rad_s[k] + n.gyro_density * root * normal(&imu->random);
        r->accel_m_s2[k] = a->force_m_s2[k] + imu->accel_bias_m_s2[k] + n.accel_density * root * normal(&imu->random);
        for (int i = 0; i < ROTORS; i++) {
            const double share = a->thrust_n[i] * ROTORS / (AIRFRAME_MASS_KG * AIRFRAME_GRAVITY_M_S2);
            r->accel_m_s2[k] += SHAKE_M_S2 * share * axes[i][k] * sine(a->turns[i]);
            r->gyro_rad_s[k] += SHAKE_RAD_S * share * axes[i][(k + 1) % 3] * cosine(a->turns[i]);
        }
    }
}
