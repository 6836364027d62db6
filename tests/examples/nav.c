/* SPDX-License-Identifier: MIT */
/* State of the IMU through the public interface, on the rendered flight with its IMU: cold start, errors in their
 * covariance, blackout, samples that are missing or come late, no IMU, what is refused. Host port. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "examples/synthetic/synthetic.h"

#define WIDTH 320
#define HEIGHT 240
#define FRAMES 75 /* drawn */

static uint8_t picture[FRAMES][2][HEIGHT * WIDTH];
static vfront_rig_t rig;
static vfront_t vf, twin;
static uint64_t delivered_ns[2]; /* samples up to there were given to vf, twin */

static int draw(void **state)
{
    (void)state;
    synthetic_t *flight = synthetic_open(WIDTH, HEIGHT);
    if (!flight) return -1;
    synthetic_rig(flight, &rig);
    synthetic_imu_noise(&rig.imu);
    for (uint32_t i = 0; i < FRAMES; i++)
        for (int32_t c = 0; c < 2; c++) synthetic_render(flight, i, c, picture[i][c], WIDTH);
    synthetic_close(flight);
    return 0;
}

static vfront_tuning_t tuning(void)
{
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.vio = 1;
    return t;
}

static void open_with(vfront_t *v, const vfront_tuning_t *t)
{
    vfront_shutdown(v);
    delivered_ns[v == &twin] = synthetic_time_ns(0) - 20000000u;
    if (vfront_init(v, &rig, t, VFRONT_PORT_HOST)) fail_msg("%s", vfront_detail(v));
}

/** Step with the pictures of a frame, black or as they are, and the samples up to it, or none. */
static const vfront_result_t *step(vfront_t *v, uint32_t i, int black, int samples)
{
    static uint8_t dark[HEIGHT * WIDTH];
    static vfront_imu_t imu[VFRONT_IMU_SAMPLES];
    vfront_frame_t f = {.t_ns = synthetic_time_ns(i)};
    uint64_t *from_ns = &delivered_ns[v == &twin];
    const uint64_t to_ns = f.t_ns + 7000000u;
    const vfront_result_t *r;
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        f.picture[c].data = black ? dark : picture[i][c];
        f.picture[c].width_px = WIDTH;
        f.picture[c].height_px = HEIGHT;
        f.picture[c].pitch_bytes = WIDTH;
        f.picture[c].format = VFRONT_GREY8;
    }
    if (samples) {
        f.imu = imu;
        f.imu_count = synthetic_imu(*from_ns, to_ns, imu, VFRONT_IMU_SAMPLES);
        *from_ns = to_ns;
    }
    const vfront_status_t status = vfront_step(v, &f, &r);
    if (status) fail_msg("%s: %s", vfront_status_name(status), vfront_detail(v));
    return r;
}

/* ---- truth ------------------------------------------------------------------------------------------------------- */

/** Truth turned about z, or without a known up as a whole, and moved so that it begins at a state. */
struct aligned {
    double A[9], from[3], to[3];
};

static void axes(const double q[4], double R[9])
{
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double out[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                           2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                           2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    memcpy(R, out, sizeof out);
}

static struct aligned align(const vfront_nav_t *n)
{
    double p[3], R[9], v[3], own[9];
    struct aligned a;
    synthetic_state(n->t_ns, p, R, v);
    axes(n->q_odom_imu, own);
    double sine = 0.0, cosine = 0.0; /* of own R' about z */
    for (int k = 0; k < 3; k++) {
        sine += own[3 + k] * R[k] - own[k] * R[3 + k];
        cosine += own[k] * R[k] + own[3 + k] * R[3 + k];
    }
    const double length = sqrt(sine * sine + cosine * cosine), c = cosine / length, sn = sine / length;
    const double about_z[9] = {c, -sn, 0, sn, c, 0, 0, 0, 1};
    for (int i = 0; i < 9; i++) {
        a.A[i] = n->flags & VFRONT_NAV_NO_GRAVITY ? 0 : about_z[i];
        for (int k = 0; k < 3 && n->flags & VFRONT_NAV_NO_GRAVITY; k++) a.A[i] += own[i / 3 * 3 + k] * R[i % 3 * 3 + k];
    }
    memcpy(a.from, p, sizeof p);
    memcpy(a.to, n->position_m, sizeof p);
    return a;
}

static void turn(const struct aligned *a, const double in[3], double out[3])
{
    for (int r = 0; r < 3; r++) out[r] = a->A[3 * r] * in[0] + a->A[3 * r + 1] * in[1] + a->A[3 * r + 2] * in[2];
}

/** Errors of position, attitude and velocity. */
static void errors(const struct aligned *a, const vfront_nav_t *n, double e[9])
{
    double p[3], R[9], v[3], own[9], moved[3], d[3], true_axes[9];
    synthetic_state(n->t_ns, p, R, v);
    axes(n->q_odom_imu, own);
    for (int k = 0; k < 3; k++) d[k] = p[k] - a->from[k];
    turn(a, d, moved);
    for (int k = 0; k < 3; k++) e[k] = moved[k] + a->to[k] - n->position_m[k];
    for (int c = 0; c < 3; c++) {
        const double column[3] = {R[c], R[3 + c], R[6 + c]};
        double out[3];
        turn(a, column, out);
        for (int r = 0; r < 3; r++) true_axes[3 * r + c] = out[r];
    }
    double D[9]; /* R_true own' */
    for (int r = 0; r < 3; r++)
        for (int c = 0; c < 3; c++) {
            D[3 * r + c] = 0.0;
            for (int k = 0; k < 3; k++) D[3 * r + c] += true_axes[3 * r + k] * own[3 * c + k];
        }
    e[3] = 0.5 * (D[7] - D[5]);
    e[4] = 0.5 * (D[2] - D[6]);
    e[5] = 0.5 * (D[3] - D[1]);
    turn(a, v, moved);
    for (int k = 0; k < 3; k++) e[6 + k] = moved[k] - n->velocity_mps[k];
}

static double variance(const vfront_nav_t *n, int i) { return n->covariance[i * 15 - i * (i - 1) / 2]; }

/** Largest error of position, attitude, velocity in their deviations. */
static double worst(const struct aligned *a, const vfront_nav_t *n, int from, int to)
{
    double e[9], max = 0.0;
    errors(a, n, e);
    for (int i = from; i < to; i++) max = fmax(max, fabs(e[i]) / sqrt(variance(n, i)));
    return max;
}

/** Steps from frame 0 on until there is a state. Returns its frame. */
static uint32_t begin(vfront_t *v, vfront_nav_t *first)
{
    for (uint32_t i = 0; i < FRAMES; i++) {
        const vfront_nav_t *n = &step(v, i, 0, 1)->nav;
        if (n->state == VFRONT_NAV_GOOD) {
            *first = *n;
            return i;
        }
        assert_int_equal(n->state, VFRONT_NAV_INITIALISING);
        assert_true(n->quality == 1 && n->t_ns == 0 && n->landmarks == 0);
    }
    fail_msg("no state");
    return 0;
}

/* ---- tests ------------------------------------------------------------------------------------------------------- */

/** A state within half a second; then errors are within their deviations, and small. */
static void cold_start(void **state)
{
    (void)state;
    const vfront_tuning_t t = tuning();
    vfront_nav_t n;
    open_with(&vf, &t);
    const uint32_t first = begin(&vf, &n);
    const struct aligned a = align(&n);
    double e[9], mean = 0.0;
    assert_true(first >= 4 && first <= 15);
    assert_true(n.position_m[0] * n.position_m[0] < 0.25);
    for (uint32_t i = first + 1; i < FRAMES; i++) {
        const vfront_result_t *r = step(&vf, i, 0, 1);
        n = r->nav;
        assert_int_equal(n.state, VFRONT_NAV_GOOD);
        assert_true(n.t_ns > r->t_mid_ns - 20000000u && n.t_ns < r->t_mid_ns + 20000000u);
        assert_true(n.landmarks > 20 && n.quality >= 50 && n.reset_counter == 0 && n.age_ns == 0 &&
                    n.residual_mean_square < 6.0);
        assert_true(fabs(n.offset_s) < 4.0 * n.offset_sigma_s && n.offset_sigma_s < 0.006);
        assert_true(worst(&a, &n, 0, 9) < 6.0);
        errors(&a, &n, e);
        for (int k = 0; k < 9; k++) mean += e[k] * e[k] / variance(&n, k) / 9.0 / (FRAMES - first - 1);
    }
    errors(&a, &n, e);
    print_message("end: %.1f %.1f %.1f mm, %.2f %.2f %.2f mrad, %.1f %.1f %.1f mm/s; mean square in deviations %.2f\n",
                  1e3 * e[0], 1e3 * e[1], 1e3 * e[2], 1e3 * e[3], 1e3 * e[4], 1e3 * e[5], 1e3 * e[6], 1e3 * e[7],
                  1e3 * e[8], mean);
    assert_true(mean < 4.0 && sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]) < 0.06);
    assert_true(sqrt(e[3] * e[3] + e[4] * e[4]) < 0.01);
}

/** The same bits twice, and all but the state as without it, until the state gives the prediction. */
static void same_bits(void **state)
{
    (void)state;
    static vfront_result_t copy;
    vfront_tuning_t t = tuning();
    uint64_t with[16];
    uint32_t stated = 0;
    open_with(&vf, &t);
    for (uint32_t i = 0; i < 16; i++) with[i] = vfront_digest(step(&vf, i, 0, 1));
    open_with(&vf, &t);
    t.vio = 0;
    open_with(&twin, &t);
    for (uint32_t i = 0; i < 16; i++) {
        const vfront_result_t *r = step(&vf, i, 0, 1);
        assert_true(vfront_digest(r) == with[i]);
        copy = *r;
        memset(&copy.nav, 0, sizeof copy.nav);
        const vfront_result_t *other = step(&twin, i, 0, 1);
        assert_true(other->nav.state == VFRONT_NAV_NONE && other->nav.quality == 0);
        stated += (r->predicted.source & VFRONT_PREDICT_STATE) != 0;
        assert_false(other->predicted.source & VFRONT_PREDICT_STATE);
        if (!stated) assert_true(vfront_digest(other) == vfront_digest(&copy));
        if (r->nav.state == VFRONT_NAV_GOOD) {
            assert_true(vfront_digest(&copy) != with[i]);
        }
    }
    assert_true(stated > 0 && stated < 14);
}

/** Black pictures: samples carry the state on, with a covariance that grows and holds; no jump when pictures come
 *  back. */
static void blackout(void **state)
{
    (void)state;
    const vfront_tuning_t t = tuning();
    vfront_nav_t n, before;
    open_with(&vf, &t);
    const uint32_t first = begin(&vf, &n);
    const struct aligned a = align(&n);
    for (uint32_t i = first + 1; i < 40; i++) n = step(&vf, i, 0, 1)->nav;
    for (uint32_t i = 40; i < 55; i++) {
        before = n;
        n = step(&vf, i, 1, 1)->nav;
        assert_true(n.state == VFRONT_NAV_COASTING && n.landmarks == 0 && n.reset_counter == 0);
        assert_true(n.age_ns > 20000000u * (i - 39ull) && n.age_ns < 40000000u * (i - 38ull) && n.quality < 50);
        assert_true(n.quality >= 1 && variance(&n, 0) > variance(&before, 0) && variance(&n, 6) > variance(&before, 6));
        assert_true(worst(&a, &n, 0, 9) < 6.0);
    }
    for (uint32_t i = 55; i < FRAMES; i++) {
        before = n;
        n = step(&vf, i, 0, 1)->nav;
        assert_true(n.reset_counter == 0 && worst(&a, &n, 0, 9) < 6.0);
        const double dt = 1e-9 * (double)(n.t_ns - before.t_ns);
        for (int k = 0; k < 3; k++) {
            const double jump = n.position_m[k] - before.position_m[k] -
                                0.5 * dt * (n.velocity_mps[k] + before.velocity_mps[k]);
            assert_true(fabs(jump) < 3.0 * sqrt(variance(&before, k)) + 0.02);
        }
    }
    assert_int_equal(n.state, VFRONT_NAV_GOOD);
}

/** State in the last frame. */
static vfront_nav_t last_with(int32_t imu_percent)
{
    vfront_tuning_t t = tuning();
    vfront_nav_t n;
    t.vio_imu_percent = imu_percent;
    open_with(&vf, &t);
    for (uint32_t i = begin(&vf, &n) + 1; i < FRAMES; i++) n = step(&vf, i, 0, 1)->nav;
    assert_int_equal(n.state, VFRONT_NAV_GOOD);
    return n;
}

/** Samples count by vio_imu_percent: with noise ten times as large tilt and the bias along gravity
 *  are known worse, at most by that. */
static void noise_in_flight(void **state)
{
    (void)state;
    const vfront_nav_t standard = last_with(100), noisy = last_with(1000);
    const double tilt = (variance(&noisy, 3) + variance(&noisy, 4)) / (variance(&standard, 3) + variance(&standard, 4)),
                 bias = variance(&noisy, 14) / variance(&standard, 14);
    if (!(tilt > 1.5 && tilt < 100.0 && bias > 3.0 && bias < 100.0)) fail_msg("%g, %g", tilt, bias);
}

/** Steps until there is a state again, with a counter of `resets`, at the last pose; or, with an alignment, there where
 *  the truth is, all states between, too. Returns the next frame. */
static uint32_t again(uint32_t i, uint32_t resets, vfront_nav_t *last, const struct aligned *a)
{
    vfront_nav_t n;
    do {
        n = step(&vf, i++, 0, 1)->nav;
        if (worst(a, &n, 0, 6) > 4.0) fail_msg("off by %g deviations", worst(a, &n, 0, 6));
        if (n.state == VFRONT_NAV_GOOD) break;
        assert_true(n.state == VFRONT_NAV_LOST && n.quality == 1 && n.reset_counter == resets - 1);
    } while (i < FRAMES);
    assert_true(n.state == VFRONT_NAV_GOOD && n.reset_counter == resets);
    for (uint32_t end = i + 8; i < end && i < FRAMES; i++) {
        *last = n = step(&vf, i, 0, 1)->nav;
        assert_true(n.state == VFRONT_NAV_GOOD && n.reset_counter == resets && worst(a, &n, 0, 9) < 6.0);
    }
    return i;
}

/** Without samples the state goes on by two cameras, in its frame, and with samples when they are back. */
static void stereo_only(void **state)
{
    (void)state;
    const vfront_tuning_t t = tuning();
    vfront_nav_t n, before;
    open_with(&vf, &t);
    const uint32_t first = begin(&vf, &n);
    const struct aligned a = align(&n);
    uint32_t vision_only = 0, back = 0;
    for (uint32_t i = first + 1; i < FRAMES; i++) {
        const int samples = i < 20 || i >= 55;
        before = n;
        n = step(&vf, i, 0, samples)->nav;
        if (i == 55) delivered_ns[0] = synthetic_time_ns(i) + 7000000u;
        vision_only += n.state == VFRONT_NAV_STEREO_ONLY;
        back += i >= 55 && n.state == VFRONT_NAV_GOOD;
        assert_true(n.state == VFRONT_NAV_GOOD || n.state == VFRONT_NAV_STEREO_ONLY);
        assert_true(n.reset_counter == 0 && n.landmarks > 20 && n.age_ns == 0 && worst(&a, &n, 0, 9) < 6.0);
        const double dt = 1e-9 * (double)(n.t_ns - before.t_ns);
        for (int k = 0; k < 3; k++) {
            const double jump = n.position_m[k] - before.position_m[k] -
                                0.5 * dt * (n.velocity_mps[k] + before.velocity_mps[k]);
            assert_true(fabs(jump) < 3.0 * sqrt(variance(&before, k)) + 0.02);
        }
        if (n.state != VFRONT_NAV_STEREO_ONLY) continue;
        assert_true(i > 24 && i < 57 && n.flags & VFRONT_NAV_GAP && n.quality > 1 && n.quality <= 50);
        for (int k = 9; k < 15 && vision_only > 4; k++) /* biases are not observed: priors of imu/imu_prior.h */
            assert_true(variance(&n, k) > 0.98 * variance(&before, k));
    }
    assert_true(vision_only >= 25 && back >= 18);
}

/** A short gap of the samples widens the covariance; a long one without pictures ends the state, and a new one goes on
 *  in its frame, as far off as it says. So does one after vfront_reset() in flight. */
static void restarts_once(void **state)
{
    (void)state;
    const vfront_tuning_t t = tuning();
    vfront_nav_t n, last;
    open_with(&vf, &t);
    for (uint32_t k = begin(&vf, &n) + 1; k < 22; k++) n = step(&vf, k, 0, 1)->nav;
    const double without_gap = variance(&n, 6);
    open_with(&vf, &t);
    const uint32_t first = begin(&vf, &n);
    const struct aligned a = align(&n);
    uint32_t i = first + 1;
    for (; i < 20; i++) last = step(&vf, i, 0, 1)->nav;
    for (; i < 22; i++) n = step(&vf, i, 0, 0)->nav;
    assert_true(n.state == VFRONT_NAV_GOOD && n.flags & VFRONT_NAV_GAP && n.reset_counter == 0);
    assert_true(variance(&n, 6) > 1.01 * without_gap && worst(&a, &n, 0, 9) < 6.0);
    for (; n.state != VFRONT_NAV_LOST; i++) {
        last = n;
        n = step(&vf, i, 1, 0)->nav;
    }
    assert_true(last.state == VFRONT_NAV_STEREO_ONLY && last.quality == 1 && i > 34 && i < 42);
    last = n;
    delivered_ns[0] = synthetic_time_ns(i - 1);
    i = again(i, 1, &last, &a);
    assert_int_equal(vfront_reset(&vf), VFRONT_OK);
    again(i, 2, &last, &a);
}

/* ---- two cameras alone ------------------------------------------------------------------------------------------- */

/** Steps without samples until two cameras have begun a state. Returns its frame. */
static uint32_t begin_vision_only(vfront_nav_t *first, uint32_t max)
{
    for (uint32_t i = 0; i <= max; i++) {
        *first = step(&vf, i, 0, 0)->nav;
        if (first->state == VFRONT_NAV_STEREO_ONLY) return i;
        assert_true(first->state == VFRONT_NAV_INITIALISING && first->quality == 1 && first->t_ns == 0);
    }
    fail_msg("no state in %d frames", (int)max);
    return 0;
}

/** A state that two cameras have begun has a flag, and nobody carries it on by samples. */
static void has_no_gravity(const vfront_nav_t *n)
{
    vfront_imu_noise_t noise;
    vfront_imu_t imu[2] = {{n->t_ns, {0, 0, 0}, {0, 0, 9.81}}, {n->t_ns + 5000000, {0, 0, 0}, {0, 0, 9.81}}};
    vfront_nav_t out;
    synthetic_imu_noise(&noise);
    assert_int_equal(n->state, VFRONT_NAV_STEREO_ONLY);
    assert_true(n->flags == (VFRONT_NAV_NO_GRAVITY | VFRONT_NAV_GAP) && n->quality <= 50);
    assert_int_equal(vfront_propagate(n, &noise, imu, 2, VFRONT_IMU_LAST, &out), VFRONT_E_NAV);
    for (int k = 9; k < 15; k++) { /* biases are not observed: priors of imu/imu_prior.h */
        const double known = k < 12 ? 0.1 : 0.2;
        assert_true(variance(n, k) > 0.98 * known * known);
    }
}

/** A rig without an IMU: a state from the third frame on, whose z is the up of camera 0's picture; errors since then
 *  are within their deviations. Samples that come nevertheless are a rotation prior, and nothing more. */
static void no_imu(void **state)
{
    (void)state;
    const vfront_tuning_t t = tuning();
    const vfront_imu_noise_t known = rig.imu;
    vfront_nav_t n, with_samples;
    double R[9], e[9], mean = 0.0;
    memset(&rig.imu, 0, sizeof rig.imu);
    open_with(&vf, &t);
    open_with(&twin, &t);
    assert_int_equal(begin_vision_only(&n, 2), 2);
    axes(n.q_odom_imu, R);
    for (int k = 0; k < 3; k++)
        assert_true(n.position_m[k] == 0.0 && fabs(R[6 + k] + rig.camera[0].R_cam_imu[3 + k]) < 1e-9);
    const struct aligned a = align(&n);
    for (uint32_t i = 0; i < 3; i++) with_samples = step(&twin, i, 0, 1)->nav;
    has_no_gravity(&with_samples);
    for (uint32_t i = 3; i < FRAMES; i++) {
        n = step(&vf, i, 0, 0)->nav;
        has_no_gravity(&n);
        assert_true(n.landmarks > 20 && n.reset_counter == 0 && n.age_ns == 0 && worst(&a, &n, 0, 9) < 6.0);
        errors(&a, &n, e);
        for (int k = 0; k < 6; k++) mean += e[k] * e[k] / variance(&n, k) / 6.0 / (FRAMES - 3);
        if (i > 25) continue;
        with_samples = step(&twin, i, 0, 1)->nav;
        has_no_gravity(&with_samples);
        assert_true(with_samples.reset_counter == 0 && worst(&a, &with_samples, 0, 9) < 6.0);
    }
    print_message("no IMU, end: %.1f %.1f %.1f mm, %.2f %.2f %.2f mrad; mean square in deviations %.2f\n", 1e3 * e[0],
                  1e3 * e[1], 1e3 * e[2], 1e3 * e[3], 1e3 * e[4], 1e3 * e[5], mean);
    /* nothing but the stated calibration gives the scale */
    assert_true(mean < 4.0 && sqrt(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]) < 0.07);
    rig.imu = known;
}

/** Without an IMU a state ends after half a second of darkness; the next one has its whole pose. */
static void no_imu_dark(void **state)
{
    (void)state;
    const vfront_tuning_t t = tuning();
    const vfront_imu_noise_t known = rig.imu;
    vfront_nav_t n, last;
    memset(&rig.imu, 0, sizeof rig.imu);
    open_with(&vf, &t);
    uint32_t i = begin_vision_only(&n, 2) + 1, dark = 0;
    const struct aligned a = align(&n);
    for (; i < 20; i++) last = n = step(&vf, i, 0, 0)->nav;
    for (; n.state != VFRONT_NAV_LOST; i++, dark++) {
        n = step(&vf, i, 1, 0)->nav;
        if (n.state != VFRONT_NAV_LOST) last = n;
        assert_true(n.reset_counter == 0 && variance(&n, 0) > 0 && dark < 20);
    }
    assert_true(dark > 14 && last.quality == 1);
    last = n;
    while (i < 60) {
        n = step(&vf, i++, 0, 0)->nav;
        if (n.state != VFRONT_NAV_LOST) break;
        assert_memory_equal(n.q_odom_imu, last.q_odom_imu, sizeof n.q_odom_imu);
        assert_true(variance(&n, 0) > variance(&last, 0) && variance(&n, 5) > variance(&last, 5));
    }
    assert_true(n.state == VFRONT_NAV_STEREO_ONLY && n.reset_counter == 1);
    for (; i < FRAMES; i++) {
        n = step(&vf, i, 0, 0)->nav;
        has_no_gravity(&n);
        assert_true(n.reset_counter == 1 && worst(&a, &n, 0, 9) < 6.0);
    }
    rig.imu = known;
}

/** Samples come late: until then two cameras, with a second state that knows gravity, and one reset. */
static void gravity_later(void **state)
{
    (void)state;
    const vfront_tuning_t t = tuning();
    vfront_nav_t n, before;
    open_with(&vf, &t);
    uint32_t i = begin_vision_only(&n, 9) + 1;
    assert_true(i > 8); /* VFRONT_IMU_GAP_NS */
    struct aligned a = align(&n);
    for (; i < 30; i++) n = step(&vf, i, 0, 0)->nav;
    delivered_ns[0] = synthetic_time_ns(i) - 20000000u;
    do {
        before = n;
        has_no_gravity(&n);
        assert_true(n.reset_counter == 0 && worst(&a, &n, 0, 9) < 6.0);
        n = step(&vf, i++, 0, 1)->nav;
    } while (n.state != VFRONT_NAV_GOOD && i < 45);
    assert_true(n.state == VFRONT_NAV_GOOD && n.reset_counter == 1 && n.flags == 0);
    double square = 0;
    const double dt = 1e-9 * (double)(n.t_ns - before.t_ns), *q = n.q_odom_imu, *w = before.q_odom_imu;
    for (int k = 0; k < 3; k++)
        square += (n.position_m[k] - before.position_m[k]) * (n.position_m[k] - before.position_m[k]);
    const double speed = sqrt(n.velocity_mps[0] * n.velocity_mps[0] + n.velocity_mps[1] * n.velocity_mps[1] +
                              n.velocity_mps[2] * n.velocity_mps[2]);
    assert_true(fabs(sqrt(square) - speed * dt) < 0.01); /* position and yaw go on */
    assert_true(fabs((q[0] * w[3] - q[3] * w[0]) / sqrt((q[0] * q[0] + q[3] * q[3]) * (w[0] * w[0] + w[3] * w[3]))) <
                0.1);
    a = align(&n);
    for (; i < FRAMES; i++) {
        n = step(&vf, i, 0, 1)->nav;
        assert_true(n.state == VFRONT_NAV_GOOD && n.reset_counter == 1 && worst(&a, &n, 0, 9) < 6.0);
    }
}

/** One camera without samples never has a state, and reports that there can be none. */
static void one_camera(void **state)
{
    (void)state;
    const vfront_tuning_t t = tuning();
    static const vfront_nav_t none = {.flags = VFRONT_NAV_NO_SCALE};
    rig.cameras = 1;
    open_with(&vf, &t);
    for (uint32_t i = 0; i < FRAMES; i++) {
        const vfront_nav_t n = step(&vf, i, 0, 0)->nav;
        assert_memory_equal(&n, &none, sizeof n);
    }
    rig.cameras = 2;
}

/** One camera with samples waits for motion that gives scale, reports that, and guesses nothing: this flight is too
 *  short and too even. */
static void one_camera_waits(void **state)
{
    (void)state;
    const vfront_tuning_t t = tuning();
    rig.cameras = 1;
    open_with(&vf, &t);
    for (uint32_t i = 0; i < FRAMES; i++) {
        const vfront_nav_t n = step(&vf, i, 0, 1)->nav;
        assert_true(n.state == VFRONT_NAV_INITIALISING && n.flags == VFRONT_NAV_NO_SCALE && n.t_ns == 0);
    }
    rig.cameras = 2;
}

/** What a state needs is named. */
static void refused(void **state)
{
    (void)state;
    vfront_tuning_t t = tuning();
    const vfront_rig_t whole = rig;
    vfront_shutdown(&vf);
    memset(&rig.imu, 0, sizeof rig.imu);
    rig.cameras = 1;
    assert_int_equal(vfront_init(&vf, &rig, &t, VFRONT_PORT_HOST), VFRONT_E_CALIBRATION);
    assert_non_null(strstr(vfront_detail(&vf), "rig.imu"));
    rig = whole;
    rig.camera[0].fx_px = rig.camera[0].fy_px = 0.0;
    assert_int_equal(vfront_init(&vf, &rig, &t, VFRONT_PORT_HOST), VFRONT_E_CALIBRATION);
    assert_non_null(strstr(vfront_detail(&vf), "camera[0]"));
    rig = whole;
    t.ego = 0;
    assert_int_equal(vfront_init(&vf, &rig, &t, VFRONT_PORT_HOST), VFRONT_E_TUNING);
    assert_non_null(strstr(vfront_detail(&vf), "ego"));
    t = tuning();
    t.track_target = 0;
    assert_int_equal(vfront_init(&vf, &rig, &t, VFRONT_PORT_HOST), VFRONT_E_TUNING);
    assert_non_null(strstr(vfront_detail(&vf), "track_target"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cold_start),      cmocka_unit_test(same_bits),     cmocka_unit_test(blackout),
        cmocka_unit_test(stereo_only),     cmocka_unit_test(restarts_once), cmocka_unit_test(refused),
        cmocka_unit_test(noise_in_flight), cmocka_unit_test(no_imu),        cmocka_unit_test(no_imu_dark),
        cmocka_unit_test(gravity_later),   cmocka_unit_test(one_camera),    cmocka_unit_test(one_camera_waits),
    };
    return cmocka_run_group_tests(tests, draw, NULL);
}
