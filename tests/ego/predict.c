/* SPDX-License-Identifier: MIT */
/* predict: predicted motion against its rule in double precision, over random motions, times and rotations. The
 * covariance predicted for random accelerations equals that of the errors. */
#include "tests/fixture/rigid.h"

#include "ego/ego_assess.h"

#if VFRONT_EGO

static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

/** Inputs of a prediction. */
struct known {
    int last, relative, given; /* 1: there is a last metric motion; a last relative motion; a rotation given with the
                                  frame */
    int given_before;          /* 1: a rotation was given with the previous frame */
    int stale;                 /* 1: the previous frame had no new image */
    int state_motion, own;     /* 1: the estimator gives the motion; the given rotation is R_cur_prev */
    struct rigid motion, turned, carried;
    double covariance[6][6], R[9], R_before[9];
    double given_covariance[6][6]; /* covariance of the given rotation: rows and columns 3 to 5 */
    uint64_t t_ns, dt_ns, last_t_ns, last_dt_ns, turned_t_ns;
};

/** Upper triangle, row by row, of a symmetric matrix. */
static void pack(double A[6][6], float out[21])
{
    for (int i = 0, k = 0; i < 6; i++)
        for (int j = i; j < 6; j++) out[k++] = (float)A[i][j];
}

/** Random symmetric positive definite matrix: sum of outer products. */
static void any_covariance(double A[6][6])
{
    memset(A, 0, 36 * sizeof(double));
    for (int n = 0; n < 8; n++) {
        double v[6];
        for (int i = 0; i < 6; i++) v[i] = 0.01 * normal();
        for (int i = 0; i < 36; i++) A[i / 6][i % 6] += v[i / 6] * v[i % 6];
    }
}

static struct known any_known(void)
{
    struct known k;
    memset(&k, 0, sizeof k);
    k.last = roll(4) > 0;
    k.relative = roll(4) > 0;
    k.given = roll(2);
    k.given_before = roll(2);
    k.stale = roll(8) == 0;
    k.state_motion = roll(3) == 0;
    k.own = k.given && roll(2);
    any_rotation(real(0.0, 0.3), k.carried.R);
    for (int i = 0; i < 3; i++) k.carried.t[i] = real(-1, 1);
    any_rotation(real(0.0, 0.2), k.turned.R);
    any_rotation(real(0.0, 0.2), k.R_before);
    for (int i = 0; i < 3; i++) k.turned.t[i] = real(-1, 1);
    any_rotation(roll(8) ? real(0.0, 0.2) : 0.0, k.motion.R);
    for (int i = 0; i < 3; i++) k.motion.t[i] = real(-2, 2);
    any_covariance(k.covariance);
    any_covariance(k.given_covariance);
    any_rotation(real(0.0, 0.4), k.R);
    k.dt_ns = (uint64_t)between(5000000, 100000000);
    k.last_dt_ns = (uint64_t)between(5000000, 100000000);
    k.last_t_ns = (uint64_t)between(1, 1000000000) * 1000u;
    k.t_ns = k.last_t_ns + k.dt_ns + (uint64_t)(roll(3) ? 0 : between(0, 600000000));
    k.turned_t_ns = roll(2) ? k.t_ns - k.dt_ns : k.last_t_ns;
    return k;
}

/** Sets the memory to the given inputs. */
static void set_known(const struct known *k)
{
    struct vf_params *p = &pinned.params;
    struct vf_last_motion *last = &memory.ego.last[step.parity ^ 1][VF_LAST_METRIC],
                          *turned = &memory.ego.last[step.parity ^ 1][VF_LAST_RELATIVE];
    struct vf_given_rotation *given = &memory.predict.given[step.parity ^ 1];
    float covariance[21];
    pack(((struct known *)k)->given_covariance, covariance);
    memcpy(p->rotation_covariance, covariance + 15, sizeof p->rotation_covariance);
    p->frame = 5;
    p->t_ns = k->t_ns;
    p->dt_ns = k->dt_ns;
    p->rotation_given = (uint32_t)k->given;
    p->rotation_explicit = (uint32_t)k->own;
    memset(&p->state_motion, 0, sizeof p->state_motion);
    if (k->state_motion) {
        for (int i = 0; i < 9; i++) p->state_motion.R[i] = (float)k->carried.R[i];
        for (int i = 0; i < 3; i++) p->state_motion.t[i] = (float)k->carried.t[i];
        pack(((struct known *)k)->covariance, p->state_motion.covariance);
        p->state_motion.source = VFRONT_PREDICT_STATE;
    }
    for (int i = 0; i < 9; i++) p->R[i] = (float)(k->given ? k->R[i] : identity[i]);
    for (int i = 0; i < 9; i++) last->pose.R[i] = (float)k->motion.R[i];
    for (int i = 0; i < 3; i++) last->pose.t[i] = (float)k->motion.t[i];
    pack(((struct known *)k)->covariance, last->covariance);
    last->t_ns = k->last_t_ns;
    last->dt_ns = k->last ? k->last_dt_ns : 0;
    *turned = *last;
    for (int i = 0; i < 9; i++) turned->pose.R[i] = (float)k->turned.R[i];
    for (int i = 0; i < 3; i++) turned->pose.t[i] = (float)k->turned.t[i];
    turned->t_ns = k->turned_t_ns;
    turned->dt_ns = k->relative ? k->last_dt_ns : 0;
    memory.freeze.frames[step.parity ^ 1][0] = k->stale ? 3 : 0;
    given->given = (uint32_t)k->given_before;
    for (int i = 0; i < 9; i++) given->R[i] = (float)k->R_before[i];
}

static void set_up_step(void)
{
    set_up(1, 64, 64, 0);
    step.geometry.calibrated[0] = 1;
}

/** Replaces the expected rotation and its covariance by those given. */
static void expect_given(const struct known *k, struct rigid *motion, double S[6][6])
{
    memcpy(motion->R, k->R, sizeof k->R);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            if (i > 2 || j > 2) S[i][j] = i > 2 && j > 2 ? k->given_covariance[i][j] : 0.0;
}

/** Expected motion, covariance and source, by the rules of vfront.h. */
static uint32_t expect(const struct known *k, struct rigid *motion, double S[6][6])
{
    if (k->state_motion) {
        *motion = k->carried;
        memcpy(S, k->covariance, 36 * sizeof(double));
        if (k->own) expect_given(k, motion, S);
        return VFRONT_PREDICT_STATE | (k->own ? VFRONT_PREDICT_ROTATION : 0);
    }
    const double dt = 1e-9 * (double)k->dt_ns, was = 1e-9 * (double)k->last_dt_ns, ratio = dt / was;
    const int continued = k->last && k->t_ns - k->last_t_ns <= 500000000;
    const int turned = !continued && k->relative && k->t_ns - k->turned_t_ns <= 500000000;
    const double apart = 1e-9 * (double)(k->t_ns - (continued ? k->last_t_ns : k->turned_t_ns)) - dt / 2 + was / 2;
    double w[3];
    memset(S, 0, 36 * sizeof(double));
    memcpy(motion->R, identity, sizeof identity);
    memset(motion->t, 0, sizeof motion->t);
    for (int i = 0; i < 6; i++) {
        const double unknown = (i < 3 ? 10.0 : 2.0) * dt, grown = (i < 3 ? 5.0 : 10.0) * apart * dt;
        const int from_motion = continued || (turned && i > 2);
        for (int j = 0; j < 6; j++)
            if (continued || (turned && i > 2 && j > 2)) S[i][j] = ratio * ratio * k->covariance[i][j];
        S[i][i] += from_motion ? grown * grown : unknown * unknown;
    }
    rotation_between(turned ? k->turned.R : k->motion.R, identity, w);
    const double angle = length(w);
    for (int i = 0; i < 3; i++) w[i] *= ratio * (ratio * angle > 0.8 ? 0.8 / (ratio * angle) : 1.0);
    for (int i = 0; i < 3 && continued; i++) motion->t[i] = ratio * k->motion.t[i];
    if (continued || turned) rotation_of(w, motion->R);
    if (k->given) expect_given(k, motion, S);
    return (continued ? VFRONT_PREDICT_MOTION : 0) | (k->given ? VFRONT_PREDICT_ROTATION
                                                      : turned ? VFRONT_PREDICT_TURN
                                                               : 0);
}

static void compare(const struct known *k)
{
    const vfront_prediction_t *p = &memory.predict.now;
    struct rigid motion;
    double S[6][6], w[3], R[9];
    const uint32_t source = expect(k, &motion, S);
    assert_int_equal(p->source, source);
    assert_int_equal(p->reserved, 0);
    for (int i = 0; i < 9; i++) R[i] = (double)p->R[i];
    rotation_between(R, motion.R, w);
    REQUIRE(length(w) < 2e-4, "rotation off by %g rad", length(w));
    for (int i = 0; i < 3; i++)
        REQUIRE(fabs((double)p->t[i] - motion.t[i]) <= 1e-5 * (1.0 + fabs(motion.t[i])), "t: %g, should be %g",
                (double)p->t[i], motion.t[i]);
    for (int i = 0, n = 0; i < 6; i++)
        for (int j = i; j < 6; j++, n++)
            REQUIRE(fabs((double)p->covariance[n] - S[i][j]) <= 1e-4 * sqrt(S[i][i] * S[j][j]),
                    "covariance %d %d: %g, should be %g", i, j, (double)p->covariance[n], S[i][j]);
}

/** All sources, at random. Nothing else is written. */
static void random_motions(void **state)
{
    int sources[16] = {0};
    (void)state;
    shake(1);
    for (int i = 0; i < 2000; i++) {
        const struct known k = any_known();
        set_up_step();
        if (i < 4) {
            scribble_arena();
            for (int parity = 0; parity < 2; parity++) memory.bearing.count[parity][0] = VFRONT_KEYPOINTS;
        }
        set_known(&k);
        if (i < 4) memcpy(&expected, &memory, sizeof memory);
        RUN(predict);
        compare(&k);
        sources[memory.predict.now.source]++;
        if (i >= 4) continue;
        expected.predict = memory.predict;
        same_arena("predict");
    }
    assert_true(sources[VFRONT_PREDICT_ROTATION] > 50 && sources[VFRONT_PREDICT_MOTION] > 50);
    assert_true(sources[VFRONT_PREDICT_ROTATION | VFRONT_PREDICT_MOTION] > 50 && sources[VFRONT_PREDICT_TURN] > 50);
    assert_true(sources[0] > 50 && sources[VFRONT_PREDICT_STATE] > 50 && sources[VFRONT_PREDICT_STATE | 1] > 50);
    for (int i = 5; i < 16; i++) assert_true(sources[i] == 0 || i == 8 || i == 9);
}

/** Mean and standard deviation of the known inverse ranges. */
static void mean_depth(void **state)
{
    (void)state;
    if (!VFRONT_STEREO || !VFRONT_MATCHES) skip();
#if VFRONT_STEREO
    shake(5);
    for (int round = 0; round < 50; round++) {
        const int count = roll(VFRONT_KEYPOINTS + 1);
        double sum = 0.0, square = 0.0, known = 0.0;
        const struct known k = any_known();
        set_up_step();
        step.geometry.pair.placed = 1;
        set_known(&k);
        memory.bearing.count[step.parity ^ 1][0] = (uint32_t)count;
        for (int i = 0; i < VFRONT_KEYPOINTS; i++) {
            const double range = roll(3) ? real(0.1, 60.0) : 0.0;
            memory.stereo.range_m[step.parity ^ 1][i] = (float)range;
            if (range == 0.0 || i >= count) continue;
            sum += 1.0 / range;
            square += 1.0 / range / range;
            known++;
        }
        RUN(predict);
        const double mean = known > 0.0 ? sum / known : 0.0,
                     sigma = known > 0.0 ? sqrt(fmax(square / known - mean * mean, 0.0)) : 0.0;
        const struct vf_depth_prior *p = &memory.predict.prior;
        REQUIRE(fabs((double)p->mean_1pm - mean) < 1e-3 && fabs((double)p->sigma_1pm - sigma) < 5e-3,
                "%g +- %g, should be %g +- %g", (double)p->mean_1pm, (double)p->sigma_1pm, mean, sigma);
    }
#endif
}

#if VFRONT_MATCHES
/** Expected rotation of the previous frame step and ratio of the intervals, by the rules of predict.h. Returns the
 *  ratio. */
static double expect_before(const struct known *k, uint32_t source, const double **R)
{
    const int kept = !k->stale && k->relative && k->t_ns - k->turned_t_ns <= 500000000;
    if (kept && (k->t_ns - k->turned_t_ns == k->dt_ns || !k->given_before)) {
        *R = k->turned.R;
        return (double)k->dt_ns / (double)k->last_dt_ns;
    }
    *R = k->given_before && !k->stale ? k->R_before : identity;
    return !k->stale && (k->given_before || !source) ? 1.0 : 0.0;
}

/** Sets the bearings of a key point and of its match in the frame before. Returns its squared parallax. */
static double put_pair(int i, const double R[9])
{
    float *bearing = memory.bearing.point[step.parity ^ 1][0][i].bearing,
          *was = memory.match.before[step.parity ^ 1][i];
    double square = 0.0, turned[3];
    const double v[3] = {real(-0.5, 0.5), real(-0.5, 0.5), 1.0};
    for (int c = 0; c < 3; c++) was[c] = (float)(v[c] / length(v));
    for (int c = 0; c < 3; c++) {
        turned[c] = R[3 * c] * (double)was[0] + R[3 * c + 1] * (double)was[1] + R[3 * c + 2] * (double)was[2];
        bearing[c] = (float)(turned[c] + real(-0.1, 0.1));
        square += ((double)bearing[c] - turned[c]) * ((double)bearing[c] - turned[c]);
    }
    return square;
}

/** Rotation of the previous frame step, and root mean square of the parallaxes after it. */
static void rms_parallax(void **state)
{
    int ratios[3] = {0};
    (void)state;
    shake(6);
    for (int round = 0; round < 400; round++) {
        const int count = round % 8 ? roll(20) : VFRONT_KEYPOINTS;
        const struct known k = any_known();
        struct rigid motion;
        double S[6][6], square = 0.0, matched = 0.0;
        const double *R;
        set_up_step();
        set_known(&k);
        const double ratio = expect_before(&k, expect(&k, &motion, S), &R);
        memory.bearing.count[step.parity ^ 1][0] = (uint32_t)vf_min(count, VFRONT_KEYPOINTS);
        for (int i = 0; i < VFRONT_KEYPOINTS; i++) {
            const double one = put_pair(i, R);
            const int none = roll(3) == 0;
            if (none) memset(memory.match.before[step.parity ^ 1][i], 0, 3 * sizeof(float));
            if (none || i >= count) continue;
            square += one;
            matched++;
        }
        RUN(predict);
        const struct vf_parallax_prior *p = &memory.predict.parallax;
        const double rms = matched > 0.0 && !k.stale ? sqrt(square / matched) : 1.0;
        REQUIRE(fabs((double)p->rms - rms) < 5e-5, "spread %g, should be %g", (double)p->rms, rms);
        assert_int_equal(p->stale, k.stale);
        REQUIRE(fabs((double)p->ratio - ratio) <= 1e-6 * ratio, "ratio %g, should be %g", (double)p->ratio, ratio);
        for (int i = 0; i < 9; i++) assert_true(p->R[i] == (float)R[i]);
        assert_int_equal(memory.predict.given[step.parity].given, k.given);
        for (int i = 0; i < 9; i++)
            assert_true(memory.predict.given[step.parity].R[i] == (float)(k.given ? k.R[i] : identity[i]));
        ratios[ratio == 0.0 ? 0 : ratio == 1.0 ? 1 : 2]++;
    }
    for (int i = 0; i < 3; i++) assert_true(ratios[i] > 20);
}
#endif

/** In the first frame nothing is known, whatever the memory holds. */
static void first_frame(void **state)
{
    (void)state;
    shake(2);
    struct known k = any_known();
    k.last = 1;
    set_up_step();
    set_known(&k);
    pinned.params.frame = 0;
    pinned.params.dt_ns = 0;
    pinned.params.rotation_given = 0;
    pinned.params.state_motion.source = 0;
    RUN(predict);
    vfront_prediction_t rest;
    memset(&rest, 0, sizeof rest);
    rest.R[0] = rest.R[4] = rest.R[8] = 1.0f;
    assert_memory_equal(&memory.predict.now, &rest, sizeof rest);
}

/** Velocities with a random acceleration between the middles of two intervals: the normalised squared error has the
 *  mean that the covariance predicts. */
static void covariance_of_accelerations(void **state)
{
    const int runs = 4000;
    double sum[2] = {0, 0};
    (void)state;
    shake(3);
    for (int i = 0; i < runs; i++) {
        struct known k = any_known();
        struct rigid true_motion;
        double w[3], S[6][6], e[3], R[9];
        k.last = 1;
        k.given = k.state_motion = k.own = 0;
        k.t_ns = k.last_t_ns + k.dt_ns;
        memset(k.covariance, 0, sizeof k.covariance);
        any_rotation(real(0, 0.05), k.motion.R);
        set_up_step();
        set_known(&k);
        RUN(predict);
        const double dt = 1e-9 * (double)k.dt_ns, was = 1e-9 * (double)k.last_dt_ns, apart = (dt + was) / 2;
        rotation_between(k.motion.R, identity, w);
        for (int a = 0; a < 3; a++) {
            w[a] = dt * (w[a] / was + 10.0 * apart * normal());
            true_motion.t[a] = dt * (k.motion.t[a] / was + 5.0 * apart * normal());
        }
        rotation_of(w, true_motion.R);
        expect(&k, &(struct rigid){{0}, {0}}, S);
        for (int a = 0; a < 9; a++) R[a] = (double)memory.predict.now.R[a];
        rotation_between(true_motion.R, R, e);
        for (int a = 0; a < 3; a++) {
            const double d = true_motion.t[a] - (double)memory.predict.now.t[a];
            sum[0] += d * d / S[a][a] / 3;
            sum[1] += e[a] * e[a] / S[3 + a][3 + a] / 3;
        }
    }
    REQUIRE(fabs(sum[0] / runs - 1) < 0.05 && fabs(sum[1] / runs - 1) < 0.05, "normalised errors: %.3f, %.3f",
            sum[0] / runs, sum[1] / runs);
}

/** Last good motion: that of the frame if it is good or a rotation, else the one before; none from before the first
 *  frame. */
static void last_motion(void **state)
{
    (void)state;
    shake(4);
    struct vf_params params;
    struct vf_last_motion before, none;
    vfront_motion_t metric;
    scribble(&params, sizeof params);
    scribble(&before, sizeof before);
    scribble(&metric, sizeof metric);
    memset(&none, 0, sizeof none);
    for (uint64_t frame = 0; frame < 2; frame++)
        for (uint32_t s = VFRONT_MOTION_NONE; s <= VFRONT_MOTION_FROZEN; s++) {
            params.frame = frame;
            metric.state = s;
            const struct vf_last_motion last = vf_ego_last(&params, &metric, &before);
            if (s == VFRONT_MOTION_GOOD || s == VFRONT_MOTION_ROTATION) {
                assert_memory_equal(last.pose.R, metric.R, sizeof metric.R);
                assert_memory_equal(last.pose.t, metric.t, sizeof metric.t);
                assert_memory_equal(last.covariance, metric.covariance, sizeof metric.covariance);
                assert_true(last.t_ns == params.t_ns && last.dt_ns == params.dt_ns);
            } else {
                assert_memory_equal(&last, frame ? &before : &none, sizeof last);
            }
        }
}
#endif

int main(void)
{
#if VFRONT_EGO
    const struct CMUnitTest test[] = {
        cmocka_unit_test(random_motions),
        cmocka_unit_test(mean_depth),
#if VFRONT_MATCHES
        cmocka_unit_test(rms_parallax),
#endif
        cmocka_unit_test(first_frame),
        cmocka_unit_test(covariance_of_accelerations),
        cmocka_unit_test(last_motion),
    };
    return cmocka_run_group_tests_name("predict", test, NULL, NULL);
#else
    return 0;
#endif
}
