/* SPDX-License-Identifier: MIT */
/* Motion of camera 0 from a state and IMU samples against drawn truths. State, samples and camera mounting have errors
 * drawn from their covariances; the truth is integrated by Runge-Kutta. Without errors the motion is exact; with them
 * the mean squared normalised error is that of the covariance. */
#include "tests/imu/imu_oracle.h"

#include "nav/nav_motion.h"

enum { SAMPLES = 64, RATE = 200 };

static vfront_imu_t clean[SAMPLES], given[SAMPLES];

/** Truth and its stated estimate. */
struct scene {
    vfront_imu_noise_t noise;
    double L[VF_NAV_ERRORS * VF_NAV_ERRORS]; /* L L' = covariance of the state */
    vfront_nav_t nav;                        /* estimate */
    struct vf_vio_rig rig;
    uint64_t t_ns[3]; /* of the frames */
    double weight;    /* 1: errors are drawn; 0: no errors */
};

static void any_scene(struct scene *s)
{
    static const double sigma[5] = {0.3, 0.02, 0.05, 2e-3, 0.05};
    double w[3], R[9];
    memset(s, 0, sizeof *s);
    s->noise = any_noise(RATE);
    any_samples(clean, SAMPLES, RATE, 5.0, real(0, 1.5), real(0, 4), 1);
    for (int i = 0; i < 3; i++) s->t_ns[i] = clean[8].t_ns + (uint64_t)between(0, 4000000) + (uint64_t)i * 60000000u;
    for (int i = 0; i < VF_NAV_ERRORS; i++)
        for (int j = 0; j <= i; j++)
            s->L[i * VF_NAV_ERRORS + j] = sigma[i / 3] * (i == j ? real(0.3, 1) : 0.15 * normal());
    for (int i = 0; i < VF_NAV_ERRORS; i++)
        for (int j = i; j < VF_NAV_ERRORS; j++)
            for (int k = 0; k <= i; k++)
                s->nav.covariance[vf_nav_index(i, j)] += s->L[i * VF_NAV_ERRORS + k] * s->L[j * VF_NAV_ERRORS + k];
    s->nav.t_ns = s->t_ns[0];
    for (int k = 0; k < 3; k++) {
        s->nav.position_m[k] = real(-5, 5);
        s->nav.velocity_mps[k] = real(-3, 3);
        s->nav.gyro_bias_rad_s[k] = real(-0.02, 0.02);
        s->nav.accel_bias_m_s2[k] = real(-0.3, 0.3);
        s->rig.p_imu_cam_m[k] = real(-0.2, 0.2);
        w[k] = real(-1, 1);
    }
    vf_quaternion_exponential(w, s->nav.q_odom_imu);
    any_rotation(real(0, 2), R);
    memcpy(s->rig.R_imu_cam, R, sizeof R);
}

/** Pose of camera 0 for an IMU pose: attitude R, position p. */
static void camera_of(const struct scene *s, const double R[9], const double p[3], const double mount[3], double Rc[9],
                      double pc[3])
{
    double M[9];
    rotation_of(mount, M);
    product(M, s->rig.R_imu_cam, 0, M);
    product(R, M, 0, Rc);
    rotate(R, s->rig.p_imu_cam_m, pc);
    for (int k = 0; k < 3; k++) pc[k] += p[k];
}

/** Draws the truth; returns the motion of camera 0 from frame 0 to frame `last`. Also makes the samples that the
 *  library gets. */
static struct rigid draw_truth(const struct scene *s, int last)
{
    double e[VF_NAV_ERRORS], n[VF_NAV_ERRORS], R[2][9], p[2][3], mount[3], Rc[2][9], pc[2][3], apart[3], w[3];
    struct wide_motion m = wide_start();
    struct rigid out;
    wide zero[6] = {0}, matrix[9];
    for (int i = 0; i < VF_NAV_ERRORS; i++) n[i] = s->weight * normal();
    for (int i = 0; i < VF_NAV_ERRORS; i++) {
        e[i] = 0.0;
        for (int k = 0; k <= i; k++) e[i] += s->L[i * VF_NAV_ERRORS + k] * n[k];
    }
    for (int i = 0; i < SAMPLES; i++) {
        given[i] = clean[i];
        for (int k = 0; k < 3; k++) {
            given[i].gyro_rad_s[k] += s->nav.gyro_bias_rad_s[k] + e[9 + k] +
                                      s->weight * s->noise.gyro_density * sqrt(RATE) * normal();
            given[i].accel_m_s2[k] += s->nav.accel_bias_m_s2[k] + e[12 + k] +
                                      s->weight * s->noise.accel_density * sqrt(RATE) * normal();
        }
    }
    wide_matrix(s->nav.q_odom_imu, matrix);
    for (int i = 0; i < 9; i++) R[0][i] = (double)matrix[i];
    memcpy(w, &e[3], sizeof w);
    rotation_of(w, R[1]);
    product(R[1], R[0], 0, R[0]);
    for (int k = 0; k < 3; k++) {
        p[0][k] = s->nav.position_m[k] + e[k];
        mount[k] = s->weight * VF_VIO_MOUNT_SIGMA_RAD * normal();
        m.y[9 + k] = (wide)(s->nav.velocity_mps[k] + e[6 + k]);
        m.y[12 + k] = (wide)p[0][k];
    }
    for (int i = 0; i < 9; i++) m.y[i] = (wide)R[0][i];
    wide_integrate(&m, clean, SAMPLES, s->t_ns[0], s->t_ns[last], zero, (wide)s->noise.gravity_m_s2, 4);
    for (int i = 0; i < 9; i++) R[1][i] = (double)m.y[i];
    for (int k = 0; k < 3; k++) p[1][k] = (double)m.y[12 + k];
    for (int i = 0; i < 2; i++) camera_of(s, R[i], p[i], mount, Rc[i], pc[i]);
    for (int k = 0; k < 3; k++) apart[k] = pc[0][k] - pc[1][k];
    for (int r = 0; r < 3; r++) {
        out.t[r] = Rc[1][r] * apart[0] + Rc[1][3 + r] * apart[1] + Rc[1][6 + r] * apart[2];
        for (int c = 0; c < 3; c++)
            out.R[3 * r + c] = Rc[1][r] * Rc[0][c] + Rc[1][3 + r] * Rc[0][3 + c] + Rc[1][6 + r] * Rc[0][6 + c];
    }
    return out;
}

/** Motion predicted by the library. */
static void predict(const struct scene *s, int last, vfront_prediction_t *p)
{
    struct vf_nav_propagation propagation;
    const struct vf_imu_model model = vf_imu_model_of(&s->noise, given, SAMPLES);
    vf_nav_propagation_begin(&propagation, &s->nav);
    for (int i = 0; i < last; i++) {
        struct vf_preintegral d;
        vf_preintegrate(&d, &model, s->nav.gyro_bias_rad_s, s->nav.accel_bias_m_s2, given, SAMPLES, s->t_ns[i],
                        s->t_ns[i + 1]);
        vf_nav_propagation_extend(&propagation, &s->noise, &d);
        assert_int_equal(propagation.valid, 1);
    }
    vf_nav_motion_of(&propagation, &s->rig, p);
}

/** Errors (t, w) of a predicted motion, and their covariance. */
static void errors_of(const struct rigid *truth, const vfront_prediction_t *p, double e[6], double S[36])
{
    double R[9], w[3];
    for (int i = 0; i < 9; i++) R[i] = (double)p->R[i];
    rotation_between(truth->R, R, w);
    for (int k = 0; k < 3; k++) {
        e[k] = truth->t[k] - (double)p->t[k];
        e[3 + k] = w[k];
    }
    for (int r = 0, k = 0; r < 6; r++)
        for (int c = r; c < 6; c++, k++) S[6 * r + c] = S[6 * c + r] = (double)p->covariance[k];
}

/** Without errors the predicted motion equals the truth, over one frame and over two. */
static void exact(void **state)
{
    (void)state;
    shake(1);
    for (int i = 0; i < 200; i++) {
        struct scene s;
        vfront_prediction_t p;
        double e[6], S[36];
        any_scene(&s);
        const int last = 1 + i % 2;
        const struct rigid truth = draw_truth(&s, last);
        predict(&s, last, &p);
        errors_of(&truth, &p, e, S);
        assert_int_equal(p.source, VFRONT_PREDICT_STATE);
        for (int k = 0; k < 6; k++) REQUIRE(fabs(e[k]) < 5e-6, "scene %d: %g\n", i, e[k]);
    }
}

/** Adds errors drawn from the floor of the predicted covariance. */
static void add_floor(const struct rigid *truth, double e[6])
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    double w[3];
    rotation_between(truth->R, identity, w);
    for (int k = 0; k < 6; k++)
        e[k] += k < 3 ? VF_NAV_TRANSLATION_M * normal() + VF_NAV_MOTION_SHARE * length(truth->t) * normal()
                      : VF_NAV_ROTATION_RAD * normal() + VF_NAV_MOTION_SHARE * length(w) * normal();
}

/** Mean squared normalised errors of translation, rotation, and both. */
static void covariance(void **state)
{
    enum { RUNS = 4000 };
    double sum[3] = {0, 0, 0};
    (void)state;
    shake(2);
    for (int i = 0; i < RUNS; i++) {
        struct scene s;
        vfront_prediction_t p;
        double e[6], S[36], part[9];
        any_scene(&s);
        s.weight = 1.0;
        const int last = 1 + i % 2;
        const struct rigid truth = draw_truth(&s, last);
        predict(&s, last, &p);
        errors_of(&truth, &p, e, S);
        add_floor(&truth, e);
        sum[2] += chi_squared(S, e, 6) / 6;
        for (int k = 0; k < 2; k++) {
            for (int c = 0; c < 9; c++) part[c] = S[6 * (3 * k + c / 3) + 3 * k + c % 3];
            sum[k] += chi_squared(part, &e[3 * k], 3) / 3;
        }
    }
    print_message("normalised squares: translation %.3f, rotation %.3f, both %.3f\n", sum[0] / RUNS, sum[1] / RUNS,
                  sum[2] / RUNS);
    for (int k = 0; k < 3; k++) REQUIRE(fabs(sum[k] / RUNS - 1) < 0.06, "part %d: %.3f\n", k, sum[k] / RUNS);
}

int main(void)
{
    const struct CMUnitTest test[] = {cmocka_unit_test(exact), cmocka_unit_test(covariance)};
    return cmocka_run_group_tests_name("nav_motion", test, NULL, NULL);
}
