/* SPDX-License-Identifier: MIT
 *
 * IMU of a flight along a trajectory: of the class of an ADIS16448, on a frame that four rotors shake.
 */
#include "course_internal.h"

#define ROTORS 4

/** Nearly normal number of deviation 1: a sum of twelve uniform ones. */
static double normal(uint64_t *state)
{
    double sum = -6.0;
    for (int i = 0; i < 12; i++) sum += (double)(synthetic_hash((*state)++) >> 11) * 0x1p-53;
    return sum;
}

void course_imu_noise(vfront_imu_noise_t *noise)
{
    const vfront_imu_noise_t n = {1.7e-4, 2e-3, 2e-5, 3e-3, 17.0, 150.0, 1e9 / SAMPLE_NS, COURSE_GRAVITY_M_S2};
    *noise = n;
}

/** Rotor: its speed goes up and down by a tenth; it shakes the frame in a direction of its own. */
struct rotor {
    double hz, wander_hz, start; /* speed; how often it goes up and down; start [turn] */
    double force[3], rate[3];    /* amplitude on each axis, of 1 in all; of the rates for 1 m/s^2 [rad/s] */
};

static void draw_rotors(struct rotor rotor[ROTORS], uint64_t *random)
{
    for (int i = 0; i < ROTORS; i++) {
        struct rotor *r = &rotor[i];
        double square = 1e-6;
        r->hz = 80.0 + 120.0 * (double)(synthetic_hash((*random)++) >> 11) * 0x1p-53;
        r->wander_hz = 0.2 + 0.3 * (double)(synthetic_hash((*random)++) >> 11) * 0x1p-53;
        r->start = (double)(synthetic_hash((*random)++) >> 11) * 0x1p-53;
        for (int k = 0; k < 3; k++) {
            r->force[k] = normal(random);
            r->rate[k] = 0.01 * normal(random);
            square += r->force[k] * r->force[k];
        }
        for (int k = 0; k < 3; k++) r->force[k] /= square_root(square);
    }
}

/** Add what the rotors do at a time [s] with this amplitude [m/s^2]. */
static void shake(const struct rotor rotor[ROTORS], double t_s, double amplitude, vfront_imu_t *sample)
{
    for (int i = 0; i < ROTORS; i++) {
        const struct rotor *r = &rotor[i];
        const double turns = r->hz * t_s + r->start +
                             0.1 * r->hz / (TWO_PI * r->wander_hz) * sine(r->wander_hz * t_s + r->start);
        const double swing = amplitude * sine(turns), later = amplitude * cosine(turns);
        for (int k = 0; k < 3; k++) {
            sample->accel_m_s2[k] += r->force[k] * swing;
            sample->gyro_rad_s[k] += r->rate[k] * later;
        }
    }
}

/** Sample of the body's own motion, without errors. */
static void sense(const struct course *c, uint64_t t_ns, vfront_imu_t *sample)
{
    spline_state_t s;
    course_state(c, t_ns, &s);
    s.a_mps2[2] += COURSE_GRAVITY_M_S2;
    sample->t_ns = t_ns;
    memcpy(sample->gyro_rad_s, s.rate_rad_s, sizeof sample->gyro_rad_s);
    rotate_back(sample->accel_m_s2, s.R_world_body, s.a_mps2);
}

int course_draw_imu(struct course *c)
{
    const uint64_t first_ns = START_NS - BEFORE_NS, last_ns = course_time_ns(c, c->frames - 1) + 2 * BEFORE_NS;
    const double times = 0.01 * c->set.imu_percent, root = square_root(1e9 / SAMPLE_NS);
    uint64_t random = synthetic_hash((uint64_t)c->set.seed) ^ 1;
    double bias[6] = {0.011, -0.018, 0.024, -0.06, 0.09, 0.04};
    struct rotor rotor[ROTORS];
    vfront_imu_noise_t n;
    course_imu_noise(&n);
    draw_rotors(rotor, &random);
    c->imu = malloc(((last_ns - first_ns) / SAMPLE_NS + 1) * sizeof *c->imu);
    if (!c->imu) return 0;
    for (uint64_t t_ns = first_ns; t_ns <= last_ns; t_ns += SAMPLE_NS) {
        vfront_imu_t *r = &c->imu[c->imu_count++];
        sense(c, t_ns, r);
        shake(rotor, (double)t_ns * 1e-9, 1e-3 * c->set.vibration_mm_s2, r);
        for (int k = 0; k < 3; k++) {
            bias[k] += times * n.gyro_walk / root * normal(&random);
            bias[3 + k] += times * n.accel_walk / root * normal(&random);
            r->gyro_rad_s[k] += bias[k] + times * n.gyro_density * root * normal(&random);
            r->accel_m_s2[k] += bias[3 + k] + times * n.accel_density * root * normal(&random);
        }
    }
    return 1;
}
