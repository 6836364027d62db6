/* SPDX-License-Identifier: MIT */
/* IMU samples of frames through the public interface: samples used by a step, equality with a gyro prior, refused and
 * forgotten samples, health. */
#include "tests/fixture/pair.h"

#include <math.h>
#include <stdio.h>

#define MS 1000000ull
#define HOUR (3600000 * MS)
#define PERIOD_NS (5 * MS)
#define ALL 600 /* number of samples of the flight */
#define EXPOSURE_NS (6 * MS)

static const vfront_imu_noise_t noise = {1.7e-4, 2e-3, 1.9e-5, 3e-3, 3.0, 19.0, 200.0, 9.81};
static vfront_imu_t flight[ALL]; /* an IMU that rotates slightly and vibrates */
static vfront_result_t kept;     /* result of pair_vf's last step */

static double any(uint32_t i, uint32_t k) { return (scene_hash(5, i, k) & 1023) / 512.0 - 1.0; }

/** Draws samples from 200 ms before the first frame on, at about 200 Hz. */
static void draw_flight(void)
{
    const uint64_t start_ns = pair_frame(0).t_ns - 200 * MS;
    for (uint32_t i = 0; i < ALL; i++) {
        flight[i].t_ns = start_ns + i * PERIOD_NS + scene_hash(3, i, 0) % (2 * MS);
        for (uint32_t k = 0; k < 3; k++) {
            flight[i].gyro_rad_s[k] = 0.3 * any(i / 4, k) + 0.01 * any(i, k);
            flight[i].accel_m_s2[k] = (k == 2 ? 9.81 : 0) + any(i, 3 + k);
        }
    }
}

static vfront_frame_t frame_at(uint64_t i)
{
    vfront_frame_t f = pair_frame(i);
    f.exposure_ns = EXPOSURE_NS;
    return f;
}

static uint64_t middle(const vfront_frame_t *f) { return f->t_ns + f->exposure_ns / 2; }

static vfront_rig_t rig_with(const vfront_imu_noise_t *errors, int64_t offset_ns)
{
    vfront_rig_t rig = pair_cameras();
    if (errors) rig.imu = *errors;
    rig.imu_offset_ns = offset_ns;
    return rig;
}

static void start(vfront_t *vf, const vfront_rig_t *rig)
{
    vfront_shutdown(vf);
    assert_int_equal(vfront_init(vf, rig, NULL, pair_port), VFRONT_OK);
}

/** Steps pair_vf with samples and keeps a copy of the result. */
static const vfront_health_t *step(vfront_frame_t f, const vfront_imu_t *imu, uint32_t count)
{
    const vfront_result_t *r;
    f.imu = imu;
    f.imu_count = count;
    const vfront_status_t status = vfront_step(&pair_vf, &f, &r);
    if (status) fail_msg("%s: %s", vfront_status_name(status), vfront_detail(&pair_vf));
    kept = *r;
    return &kept.health;
}

/** Digest of a result without the fields specific to an IMU. */
static uint64_t digest_without_imu(const vfront_result_t *r)
{
    static vfront_result_t copy;
    copy = *r;
    copy.health.imu = copy.health.imu_samples = 0;
    return vfront_digest(&copy);
}

/* ---- samples of a step ------------------------------------------------------------------------------------------- */

/** Delivery schedules: total number of samples delivered up to frame i. */
static uint32_t in_time(uint64_t i) { return (uint32_t)((200 * MS + i * FRAME_NS + 12 * MS) / PERIOD_NS); }
static uint32_t cut(uint64_t i) { return (uint32_t)((200 * MS + i * FRAME_NS + 5 * MS) / PERIOD_NS); }
static uint32_t in_heaps(uint64_t i) { return in_time(i < 2 ? i : i / 2 * 2); } /* late in every second frame */
static uint32_t ahead(uint64_t i)
{
    return in_time(i) + (i == 3 ? 25 : i > 3 && i < 8 ? in_time(3) + 25 - in_time(i) : 0);
}
static uint32_t at_last(uint64_t i) { return i < 6 ? 0 : in_time(i); } /* none until frame 6 */

static uint32_t (*const arrival[])(uint64_t) = {in_time, cut, in_heaps, ahead, at_last};

/** Expected samples of a step by a linear search through all delivered ones: those between two times, and one more at
 *  each end. */
static uint32_t searched(uint32_t from, uint32_t arrived, uint64_t from_ns, uint64_t to_ns)
{
    uint32_t count = 0;
    for (uint32_t i = from; i < arrived; i++) {
        const int before = i + 1 < arrived && flight[i + 1].t_ns <= from_ns,
                  behind = i > from && flight[i - 1].t_ns >= to_ns;
        count += !before && !behind;
    }
    return count;
}

/** The same samples as a gyro's, with those before and after that reach a time offset of 15 ms. */
static uint32_t as_rates(uint32_t from, uint32_t arrived, uint64_t from_ns, uint64_t to_ns, vfront_gyro_t *gyro)
{
    uint32_t count = 0;
    for (uint32_t i = from; i < arrived; i++) {
        if (flight[i].t_ns + 20 * MS < from_ns || flight[i].t_ns > to_ns + 20 * MS) continue;
        assert_true(count < VFRONT_GYRO_SAMPLES);
        gyro[count].t_ns = flight[i].t_ns;
        memcpy(gyro[count++].rate_rad_s, flight[i].gyro_rad_s, sizeof gyro->rate_rad_s);
    }
    return count;
}

/** With any delivery schedule a step has the samples of its interval, and they give the same prior as equal gyro
 *  samples. */
static void as_gyro(void **state)
{
    (void)state;
    for (size_t variant = 0; variant < sizeof arrival / sizeof *arrival; variant++) {
        uint32_t given = arrival[variant] == at_last ? in_time(5) : in_time(0) - 12, priors = 0;
        const uint32_t from = given;
        uint64_t before_ns = 0;
        vfront_gyro_t gyro[VFRONT_GYRO_SAMPLES];
        assert_int_equal(vfront_reset(&pair_vf) | vfront_reset(&pair_twin), VFRONT_OK);
        for (uint64_t i = 0; i < 12; i++) {
            const uint32_t arrived = arrival[variant](i) > given ? arrival[variant](i) : given;
            vfront_frame_t f = frame_at(i);
            const vfront_health_t *h = step(f, arrived > from ? &flight[given] : NULL, arrived - given);
            const vfront_result_t *other;
            const int some = i && arrived > from;
            const uint32_t count = some ? searched(from, arrived, before_ns, middle(&f)) : 0,
                           rates = some ? as_rates(from, arrived, before_ns, middle(&f), gyro) : 0;
            if (h->imu_samples != count)
                fail_msg("way %d, frame %d: %u, not %u", (int)variant, (int)i, h->imu_samples, count);
            given = arrived;
            if (given > from) f.gyro = gyro, f.gyro_count = rates;
            assert_int_equal(vfront_step(&pair_twin, &f, &other), VFRONT_OK);
            if (digest_without_imu(&kept) != vfront_digest(other))
                fail_msg("way %d, frame %d: bits", (int)variant, (int)i);
            priors += (other->predicted.source & VFRONT_PREDICT_ROTATION) != 0;
            before_ns = middle(&f);
        }
        if (priors < 5) fail_msg("way %d: %u priors", (int)variant, priors);
    }
}

/** A sample exactly at the middle of exposure is the last of its step, and the first of the next. */
static void at_the_middle(void **state)
{
    (void)state;
    static vfront_imu_t imu[VFRONT_IMU_SAMPLES];
    const uint64_t a = middle(&(vfront_frame_t){.t_ns = frame_at(0).t_ns, .exposure_ns = EXPOSURE_NS});
    for (uint32_t i = 0; i < 8; i++) imu[i] = flight[i], imu[i].t_ns = a + i * (uint64_t)FRAME_NS / 3;
    assert_int_equal(step(frame_at(0), imu, 8)->imu_samples, 0);
    assert_int_equal(step(frame_at(1), NULL, 0)->imu_samples, 4); /* 0, 11, 22, 33 ms */
    assert_int_equal(kept.health.imu | kept.health.gyro_short, 0);
    assert_int_equal(step(frame_at(2), NULL, 0)->imu_samples, 4); /* 33 to 66 ms */
    assert_int_equal(step(frame_at(3), NULL, 0)->imu_samples, 2); /* 66 and 77 ms */
    assert_int_equal(kept.health.gyro_short, 1);
    assert_int_equal(step(frame_at(4), NULL, 0)->imu_samples, 1); /* 77 ms */
}

/** t_imu = t_cam + offset: samples of a clock that is ahead give the same result. */
static void offset(void **state)
{
    (void)state;
    static const int64_t offset_ns[] = {-1000000000, -7000000, 3, 1000000000};
    static vfront_imu_t imu[VFRONT_IMU_SAMPLES];
    static vfront_gyro_t gyro[VFRONT_GYRO_SAMPLES];
    uint64_t digest[3], other[3];
    for (size_t k = 0; k <= sizeof offset_ns / sizeof *offset_ns; k++) {
        const int64_t by_ns = k ? offset_ns[k - 1] : 0;
        const vfront_rig_t rig = rig_with(NULL, by_ns);
        start(&pair_vf, &rig);
        for (uint32_t i = 40; i < 43; i++) { /* the IMU's clock jumps by a second */
            const vfront_frame_t f = frame_at(i);
            const uint32_t from = i > 40 ? in_time(i - 1) : in_time(i) - 10, count = in_time(i) - from;
            for (uint32_t n = 0; n < count; n++) imu[n] = flight[from + n], imu[n].t_ns += (uint64_t)by_ns;
            step(f, imu, count);
            assert_true(i == 40 || kept.predicted.source & VFRONT_PREDICT_ROTATION);
            if (k == 0) digest[i - 40] = vfront_digest(&kept);
            assert_true(vfront_digest(&kept) == digest[i - 40]);
            assert_true(kept.t_mid_ns == middle(&f)); /* on the clock of the frames */
        }
        start(&pair_twin, &rig);
        for (uint32_t i = 40; i < 43; i++) { /* the same for gyro samples */
            vfront_frame_t f = frame_at(i);
            const vfront_result_t *r;
            const uint32_t from = in_time(i) - 14;
            for (uint32_t n = 0; n < 14; n++) {
                gyro[n].t_ns = flight[from + n].t_ns + (uint64_t)by_ns;
                memcpy(gyro[n].rate_rad_s, flight[from + n].gyro_rad_s, sizeof gyro->rate_rad_s);
            }
            f.gyro = gyro;
            f.gyro_count = 14;
            assert_int_equal(vfront_step(&pair_twin, &f, &r), VFRONT_OK);
            if (k == 0) other[i - 40] = vfront_digest(r);
            assert_true(vfront_digest(r) == other[i - 40] && r->health.gyro_short == 0);
        }
    }
}

/** Times at both ends of 64 bits: offsets and half exposures saturate. */
static void ends_of_time(void **state)
{
    (void)state;
    for (int late = 0; late < 2; late++) {
        const vfront_rig_t rig = rig_with(NULL, late ? 1000000000 : -1000000000);
        vfront_frame_t f = frame_at(0);
        vfront_imu_t imu[3] = {flight[0], flight[1], flight[2]};
        start(&pair_vf, &rig);
        f.t_ns = late ? UINT64_MAX - 2000 : 0; /* both middles are out of range: the step has no interval on the IMU's
                                                  clock */
        for (uint64_t k = 0; k < 3; k++) imu[k].t_ns = late ? UINT64_MAX - 3 + k : k;
        assert_int_equal(step(f, imu, 2)->imu_samples, 0);
        f = frame_at(1);
        f.t_ns = late ? UINT64_MAX - 1000 : 1000;
        assert_int_equal(step(f, &imu[2], 1)->imu_samples, 0);
        assert_int_equal(kept.health.imu, 0);
        assert_int_equal(kept.predicted.source & VFRONT_PREDICT_ROTATION, 0);
        f.t_ns = late ? UINT64_MAX - 1 : 1100 * MS; /* early: the step has 100 ms on the IMU's clock, starting at 0 */
        assert_int_equal(step(f, NULL, 0)->imu_samples, late ? 0 : 3);
        assert_int_equal(kept.health.imu, 0);
    }
}

/** Middle of exposure not later than the previous frame's: no interval, and no samples. */
static void middle_goes_back(void **state)
{
    (void)state;
    const uint32_t due = in_time(0);
    vfront_frame_t f = frame_at(0);
    f.exposure_ns = 20 * MS;
    step(f, &flight[due - 10], 10);
    f.t_ns += 2 * MS;
    f.exposure_ns = 0;
    step(f, &flight[due], 2);
    assert_int_equal(kept.health.imu_samples | kept.health.imu | kept.health.gyro_short, 0);
    assert_int_equal(kept.health.calibration, 0);
    assert_int_equal(kept.predicted.source & VFRONT_PREDICT_ROTATION, 0);
    assert_true(step(frame_at(1), &flight[due + 2], in_time(1) - due - 2)->imu_samples > 3);
    assert_int_equal(kept.health.gyro_short, 0);
}

/** A gyro instead of the IMU for a while, and back: each frame's rotation uses its own samples; the IMU is reported
 *  missing. */
static void by_turns(void **state)
{
    (void)state;
    uint32_t given = in_time(0) - 10;
    for (uint64_t i = 0; i < 9; i++) {
        vfront_frame_t f = frame_at(i);
        vfront_gyro_t gyro[14];
        const vfront_result_t *r;
        const int by_gyro = i % 4 == 1 || i % 4 == 2;
        for (uint32_t n = 0; n < 14; n++) {
            gyro[n].t_ns = flight[in_time(i) - 14 + n].t_ns;
            memcpy(gyro[n].rate_rad_s, flight[in_time(i) - 14 + n].gyro_rad_s, sizeof gyro->rate_rad_s);
        }
        if (by_gyro) f.gyro = gyro, f.gyro_count = 14;
        step(f, by_gyro ? NULL : &flight[given], by_gyro ? 0 : in_time(i) - given);
        if (!by_gyro) given = in_time(i);
        f = frame_at(i);
        f.gyro = gyro;
        f.gyro_count = 14;
        assert_int_equal(vfront_step(&pair_twin, &f, &r), VFRONT_OK);
        /* samples read before the gyro's first frame extend into it, but no further */
        assert_int_equal(kept.health.imu, i % 4 == 2 ? VFRONT_IMU_MISSING : 0);
        assert_int_equal(kept.health.gyro_short, 0);
        assert_true(!i || kept.predicted.source & VFRONT_PREDICT_ROTATION);
        kept.health.imu = 0;
        if (digest_without_imu(&kept) != vfront_digest(r)) fail_msg("frame %d: bits", (int)i);
    }
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

static vfront_imu_t bad[VFRONT_IMU_SAMPLES + 1];

/** Requires that a frame with `bad` samples is refused, and that the next one, with the due samples, is unaffected. */
static void refuse(uint64_t *number, uint32_t *given, uint32_t count, vfront_status_t status, const char *detail)
{
    const vfront_result_t *other, *none;
    vfront_frame_t f = frame_at(*number);
    f.imu = bad;
    f.imu_count = count;
    pair_refused(vfront_step(&pair_vf, &f, &none), status, detail);
    pair_refused(vfront_submit(&pair_vf, &f), status, detail);
    f = frame_at(*number);
    f.imu = &flight[*given];
    f.imu_count = in_time(*number) - *given;
    step(f, f.imu, f.imu_count);
    assert_int_equal(vfront_step(&pair_twin, &f, &other), VFRONT_OK);
    if (vfront_digest(&kept) != vfront_digest(other)) fail_msg("%s: something stayed behind", detail);
    assert_true(kept.health.imu_samples > 3 && kept.predicted.source & VFRONT_PREDICT_ROTATION);
    *given = in_time((*number)++);
}

static void refused(void **state)
{
    (void)state;
    static const struct {
        int32_t sample, member; /* 0..2: rate, 3..5: acceleration */
        double value;
        const char *detail;
    } wrong[] = {
        {0, 0, NAN, "frame.imu[0].gyro_rad_s"},       {4, 1, 100.01, "frame.imu[4].gyro_rad_s"},
        {2, 2, -INFINITY, "frame.imu[2].gyro_rad_s"}, {3, 2, -100.01, "frame.imu[3].gyro_rad_s"},
        {1, 3, NAN, "frame.imu[1].accel_m_s2"},       {0, 4, 1000.1, "frame.imu[0].accel_m_s2"},
        {4, 5, INFINITY, "frame.imu[4].accel_m_s2"},  {2, 5, -1000.1, "frame.imu[2].accel_m_s2"},
    };
    uint64_t number = 1;
    uint32_t given = in_time(0);
    vfront_frame_t f = frame_at(0);
    const vfront_result_t *other;
    f.imu = flight + given - 10;
    f.imu_count = 10;
    step(f, f.imu, 10);
    assert_int_equal(vfront_step(&pair_twin, &f, &other), VFRONT_OK);
#define DUE memcpy(bad, &flight[given], 5 * sizeof *bad)
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        DUE;
        const int32_t k = wrong[i].member;
        *(k < 3 ? &bad[wrong[i].sample].gyro_rad_s[k] : &bad[wrong[i].sample].accel_m_s2[k - 3]) = wrong[i].value;
        refuse(&number, &given, 5, VFRONT_E_IMU, wrong[i].detail);
    }
    DUE, bad[3].t_ns = bad[2].t_ns; /* the same time twice */
    refuse(&number, &given, 5, VFRONT_E_IMU, "frame.imu[3].t_ns");
    DUE, bad[3].t_ns = bad[2].t_ns - 1;
    refuse(&number, &given, 5, VFRONT_E_IMU, "frame.imu[3].t_ns");
    DUE, bad[0].t_ns = flight[given - 1].t_ns; /* delivered with the previous frame */
    refuse(&number, &given, 5, VFRONT_E_IMU, "frame.imu[0].t_ns");
    DUE;
    refuse(&number, &given, VFRONT_IMU_SAMPLES + 1, VFRONT_E_IMU, "frame.imu_count");
    refuse(&number, &given, 1000000, VFRONT_E_IMU, "frame.imu_count = 1000000"); /* none of them is read */
    refuse(&number, &given, UINT32_MAX, VFRONT_E_IMU, "frame.imu_count");
#undef DUE
}

/** Samples of a frame refused for another reason are not kept; with gyro samples none is used. */
static void refused_otherwise(void **state)
{
    (void)state;
    const vfront_result_t *r;
    const vfront_gyro_t gyro[2] = {{frame_at(1).t_ns, {0}}, {frame_at(1).t_ns + 1, {0}}};
    const uint32_t due = in_time(0);
    step(frame_at(0), &flight[due - 10], 10);
    vfront_frame_t f = frame_at(1);
    f.imu = &flight[due];
    f.imu_count = 8;
    f.picture[VFRONT_CAMERAS - 1].data = NULL;
    pair_refused(vfront_step(&pair_vf, &f, &r), VFRONT_E_NULL, "].data");
    f = frame_at(1);
    f.imu = &flight[due];
    f.imu_count = 8;
    f.picture[0].memory = VFRONT_DEVICE_MEMORY; /* refused by the last check, in the port */
    if (vfront_step(&pair_vf, &f, &r) == VFRONT_E_MEMORY_KIND) {
        f.t_ns = 0; /* refused by the first check */
        pair_refused(vfront_step(&pair_vf, &f, &r), VFRONT_E_TIME, "frame.t_ns");
    }
    f = frame_at(1);
    f.imu = &flight[due];
    f.imu_count = 8;
    f.gyro = gyro;
    f.gyro_count = 2;
    pair_refused(vfront_step(&pair_vf, &f, &r), VFRONT_E_IMU, "beside frame.gyro");
    f.gyro_count = 0;
    pair_refused(vfront_step(&pair_vf, &f, &r), VFRONT_E_IMU, "beside frame.gyro");
    assert_true(step(frame_at(1), &flight[due], 8)->imu_samples > 3); /* all of them again */
}

/** The largest number of samples, together with the kept ones; samples of past steps make room. */
static void room(void **state)
{
    (void)state;
    vfront_imu_t imu[VFRONT_IMU_SAMPLES + 1];
    const vfront_result_t *r;
    vfront_frame_t f = frame_at(0);
    for (uint32_t i = 0; i <= VFRONT_IMU_SAMPLES; i++) {
        imu[i] = flight[i];
        imu[i].t_ns = middle(&f) + (uint64_t)i * (VFRONT_IMU_AHEAD_NS / VFRONT_IMU_SAMPLES);
    }
    step(f, imu, VFRONT_IMU_SAMPLES); /* all of them are kept */
    f = frame_at(1);
    f.imu = &imu[VFRONT_IMU_SAMPLES];
    f.imu_count = 1;
    pair_refused(vfront_step(&pair_vf, &f, &r), VFRONT_E_IMU, "frame.imu_count = 1");
    f.imu_count = 0;
    assert_int_equal(vfront_step(&pair_vf, &f, &r), VFRONT_OK);
    f = frame_at(20);
    assert_true(step(f, NULL, 0)->imu_samples > VFRONT_IMU_SAMPLES / 2);
    f = frame_at(21);
    step(f, &imu[VFRONT_IMU_SAMPLES], 1);
}

/** Steps for a time at 200 Hz, with accelerations of a magnitude and rates of up to a value. Returns health.imu. */
static uint32_t rest_for(uint64_t *at, double force, double rate, uint64_t ms)
{
    uint32_t faults = 0;
    for (const uint64_t end = *at + ms * MS / FRAME_NS; *at < end; ++*at) {
        vfront_imu_t imu[7];
        const uint64_t t_ns = frame_at(*at).t_ns;
        for (uint32_t i = 0; i < 7; i++) { /* the last one 2 ms after the middle */
            const double wobble = 0.04 * any((uint32_t)*at, i);
            imu[i] = (vfront_imu_t){t_ns + i * PERIOD_NS - 25 * MS, {rate, wobble * rate, -rate}, {0, 0, 0}};
            imu[i].accel_m_s2[0] = force * (0.6 + wobble);
            imu[i].accel_m_s2[1] = force * (-0.8 + wobble);
        }
        faults = step(frame_at(*at), imu, 7)->imu;
    }
    return faults & ~(uint32_t)(VFRONT_IMU_AXES | VFRONT_IMU_CLOCK); /* the simulated rates do not match the images */
}

/** Samples far ahead of their frame are dropped, and later ones are unaffected. */
static void far_ahead(void **state)
{
    (void)state;
    const vfront_rig_t rig = rig_with(&noise, 0);
    start(&pair_vf, &rig);
    uint32_t given = in_time(0);
    step(frame_at(0), &flight[given - 10], 10);
    for (uint32_t i = 1; i < 6; i++) {
        const vfront_frame_t f = frame_at(i);
        const uint32_t count = in_time(i) - given;
        const uint32_t ahead_of = i == 2 || i == 3 || i == 5 ? VFRONT_IMU_AHEAD : 0,
                       hole = i > 2 ? VFRONT_IMU_GAP : 0; /* the dropped ones are missing in the next step */
        memcpy(bad, &flight[given], count * sizeof *bad);
        if (i == 2) bad[count - 1].t_ns = middle(&f) + VFRONT_IMU_AHEAD_NS + 1;
        if (i == 3) bad[count - 1].t_ns = UINT64_MAX;
        if (i == 5) bad[0].t_ns = middle(&f) + HOUR, bad[1].t_ns = middle(&f) + HOUR + 1;
        step(f, bad, i == 5 ? 2 : count);
        if (kept.health.imu != (ahead_of | hole) || kept.health.imu_samples < (i == 5 ? 2 : 6))
            fail_msg("frame %u: %u, %u readings", i, kept.health.imu, kept.health.imu_samples);
        given = in_time(i);
    }
    vfront_frame_t f = frame_at(6);
    bad[0] = flight[given], bad[0].t_ns = middle(&f) + VFRONT_IMU_AHEAD_NS;
    assert_int_equal(step(f, bad, 1)->imu & VFRONT_IMU_AHEAD, 0);
    f = frame_at(7); /* it is kept, so that samples before it are too late; the frame alone does not make them so */
    const vfront_result_t *r;
    f.imu = &flight[given + 1];
    f.imu_count = 5;
    pair_refused(vfront_step(&pair_vf, &f, &r), VFRONT_E_IMU, "frame.imu[0].t_ns");
    assert_int_equal(step(frame_at(7), NULL, 0)->gyro_short, 1);
}

/** vfront_reset() and a clock change forget all samples. Older samples are accepted again, none are missing, and the
 *  bits equal those of a new front end. */
static void forget(int clock, int goes_on)
{
    const vfront_rig_t rig = rig_with(&noise, 0);
    uint64_t at = 560;
    start(&pair_vf, &rig);
    start(&pair_twin, &rig);
    assert_int_equal(rest_for(&at, 1.0, 0.1, 1500), VFRONT_IMU_IN_G);
    const vfront_frame_t last = frame_at(at);
    for (uint32_t i = 0; i < 20; i++) bad[i] = flight[i], bad[i].t_ns = last.t_ns + 5 * MS + i * 45 * MS;
    step(last, bad, 20); /* and all of these are kept */
    if (!clock) assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
    for (uint32_t i = 0, twins = 0; i < 8; i++) {
        vfront_frame_t f = frame_at(i);
        const vfront_result_t *r, *other;
        f.imu = goes_on ? &flight[i ? in_time(i - 1) : 30] : NULL;
        f.imu_count = goes_on ? (uint32_t)(&flight[in_time(i)] - f.imu) : 0;
        if (clock && i < 2) {
            pair_refused(vfront_step(&pair_vf, &f, &r), VFRONT_E_TIME, "frame.t_ns");
            continue;
        }
        step(f, f.imu, f.imu_count);
        assert_int_equal(vfront_step(&pair_twin, &f, &other), VFRONT_OK);
        if (kept.frame != twins || vfront_digest(&kept) != vfront_digest(other))
            fail_msg("clock %d, readings %d, frame %u: faults %u, %u readings", clock, goes_on, i, kept.health.imu,
                     kept.health.imu_samples);
        assert_true(goes_on ? !twins || kept.health.imu_samples > 3 : kept.health.imu == 0);
        twins++;
    }
}

static void forgotten(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) forget(k & 1, k >> 1);
}

/* ---- health ------------------------------------------------------------------------------------------------------ */

#define STEP 11
static vfront_imu_t good[STEP]; /* every 5 ms, from 10 ms before the middle of frame 0 to 7 ms after that of frame 1 */

static void draw_step(void)
{
    const vfront_frame_t f = frame_at(0);
    for (uint32_t i = 0; i < STEP; i++) {
        good[i] = flight[i];
        good[i].t_ns = middle(&f) + i * PERIOD_NS - 10 * MS;
    }
}

static uint32_t faults_of(const vfront_imu_t *imu, uint32_t count)
{
    assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
    assert_int_equal(step(frame_at(0), imu, count)->imu, 0);
    return step(frame_at(1), NULL, 0)->imu;
}

static void start_known(const vfront_imu_noise_t *errors)
{
    const vfront_rig_t rig = rig_with(errors, 0);
    start(&pair_vf, &rig);
    draw_step();
}

static void missing(void **state)
{
    (void)state;
    start_known(NULL);
    assert_int_equal(faults_of(NULL, 0), 0); /* no IMU */
    assert_int_equal(faults_of(good, STEP), 0);
    assert_int_equal(faults_of(good, 0), VFRONT_IMU_MISSING); /* an IMU without samples */
    assert_int_equal(faults_of(good, 3), VFRONT_IMU_MISSING); /* the last sample is at the start */
    assert_int_equal(kept.health.imu_samples, 1);
    assert_int_equal(faults_of(good, 4), 0);
    assert_int_equal(step(frame_at(2), NULL, 0)->imu, VFRONT_IMU_MISSING); /* no more samples */
    assert_int_equal(kept.health.gyro_short, 1);
    assert_int_equal(step(frame_at(9), NULL, 0)->imu, VFRONT_IMU_MISSING | VFRONT_IMU_GAP);
    start_known(&noise);
    assert_int_equal(faults_of(good, 0), VFRONT_IMU_MISSING | VFRONT_IMU_GAP);
}

static void gap(void **state)
{
    (void)state;
    vfront_imu_t imu[STEP];
    start_known(&noise); /* 200 Hz: a gap is more than 7.5 ms */
    assert_int_equal(faults_of(good, STEP), 0);
    for (uint32_t out = 0; out < STEP; out++) { /* one sample removed */
        memcpy(imu, good, sizeof imu);
        memmove(&imu[out], &good[out + 1], (STEP - 1 - out) * sizeof *imu);
        const uint32_t wanted = out > 1 && out < 10 ? VFRONT_IMU_GAP : 0; /* gap of 10 ms, within the step or across its
                                                                             ends */
        if (faults_of(imu, STEP - 1) != wanted) fail_msg("reading %u of %u: %u", out, STEP, kept.health.imu);
    }
    assert_int_equal(faults_of(&good[3], STEP - 3), 0); /* starts 5 ms late */
    assert_int_equal(faults_of(&good[4], STEP - 4), VFRONT_IMU_GAP);
    assert_int_equal(faults_of(good, 8), VFRONT_IMU_GAP); /* ends 8 ms early */
    start_known(NULL);                                    /* without a stated rate VFRONT_IMU_GAP_NS */
    assert_int_equal(faults_of(good, 4), 0);
    for (uint64_t beyond = 0; beyond < 2; beyond++) {
        const vfront_frame_t f = frame_at(0);
        assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
        memcpy(imu, good, sizeof imu);
        imu[3].t_ns = imu[2].t_ns + VFRONT_IMU_GAP_NS + beyond;
        step(f, imu, 4);
        assert_int_equal(step(frame_at(6), NULL, 0)->imu, beyond ? VFRONT_IMU_GAP : 0);
        assert_int_equal(kept.health.gyro_short, beyond); /* rates are not interpolated over such a gap */
        assert_int_equal((kept.predicted.source & VFRONT_PREDICT_ROTATION) == 0, beyond);
    }
}

static void saturated(void **state)
{
    (void)state;
    start_known(&noise);
    for (uint32_t i = 0; i < STEP; i++)
        for (uint32_t k = 0; k < 6; k++)
            for (int least = 0; least < 2; least++) {
                vfront_imu_t imu[STEP];
                memcpy(imu, good, sizeof imu);
                const double limit = (k < 3 ? 3.0 : 19.0) - (least ? 1e-9 : 0), value = i % 2 ? limit : -limit;
                *(k < 3 ? &imu[i].gyro_rad_s[k] : &imu[i].accel_m_s2[k - 3]) = value;
                const uint32_t in_step = i >= 2 && i < 10; /* samples from the one at the start to the first after the
                                                              end */
                if (faults_of(imu, STEP) != (in_step && !least ? VFRONT_IMU_SATURATED : 0)) fail_msg("%u, %u", i, k);
            }
    start_known(NULL); /* no limit is stated */
    good[5].gyro_rad_s[0] = VFRONT_GYRO_MOST_RAD_S;
    good[5].accel_m_s2[0] = -VFRONT_ACCEL_MOST_M_S2;
    assert_int_equal(faults_of(good, STEP), 0);
}

static void stuck(void **state)
{
    (void)state;
    for (int accel = 0; accel < 2; accel++) {
        start_known(&noise);
        for (uint32_t i = 3; i < STEP; i++)
            memcpy(accel ? good[i].accel_m_s2 : good[i].gyro_rad_s, accel ? good[2].accel_m_s2 : good[2].gyro_rad_s,
                   24);
        assert_int_equal(faults_of(good, STEP), VFRONT_IMU_STUCK);
        assert_int_equal(kept.health.gyro_stuck, !accel); /* same as for gyro samples */
        for (uint32_t other = 2; other < STEP; other++) {
            vfront_imu_t imu[STEP];
            memcpy(imu, good, sizeof imu);
            *(accel ? &imu[other].accel_m_s2[2] : &imu[other].gyro_rad_s[2]) += 1e-9;
            if (faults_of(imu, STEP)) fail_msg("reading %u differs", other);
        }
    }
    start_known(NULL); /* an IMU as slow as the camera: over many frames */
    for (uint32_t i = 0; i < 8; i++) {
        vfront_imu_t imu = flight[0];
        imu.t_ns = middle(&(vfront_frame_t){.t_ns = frame_at(i).t_ns, .exposure_ns = EXPOSURE_NS});
        imu.accel_m_s2[0] += i == 1 ? 1e-9
                                    : 0; /* samples 2 to 6 are five equal accelerations, 0 to 4 five equal rates */
        assert_int_equal(step(frame_at(i), &imu, 1)->imu, i > 3 ? VFRONT_IMU_STUCK : 0);
        assert_int_equal(kept.health.gyro_stuck, 0);
    }
    vfront_tuning_t tuning; /* check disabled */
    const vfront_rig_t rig = rig_with(NULL, 0);
    vfront_tuning_default(&tuning);
    tuning.gyro_stuck_samples = 0;
    vfront_shutdown(&pair_vf);
    assert_int_equal(vfront_init(&pair_vf, &rig, &tuning, pair_port), VFRONT_OK);
    for (uint32_t i = 1; i < STEP; i++) memcpy(good[i].gyro_rad_s, good[0].gyro_rad_s, sizeof good->gyro_rad_s);
    assert_int_equal(faults_of(good, STEP), 0);
}

static void zero(void **state)
{
    (void)state;
    start_known(NULL);
    for (uint32_t i = 0; i < STEP; i++) memset(good[i].gyro_rad_s, 0, 48);
    assert_int_equal(faults_of(good, STEP), VFRONT_IMU_ZERO | VFRONT_IMU_STUCK);
    good[5].accel_m_s2[1] = 1e-300;
    assert_int_equal(faults_of(good, STEP), VFRONT_IMU_STUCK); /* equal rates */
    good[5].gyro_rad_s[1] = 1e-300;
    assert_int_equal(faults_of(good, STEP), 0);
    good[5].accel_m_s2[1] = 0; /* all accelerations zero, but not all rates */
    assert_int_equal(faults_of(good, STEP), VFRONT_IMU_STUCK);
}

static void units(void **state)
{
    (void)state;
    uint64_t at = 0;
    start_known(NULL);
    assert_int_equal(rest_for(&at, 1.0, 0.1, 990), 0); /* less than a second */
    assert_int_equal(rest_for(&at, 1.0, 0.1, 99), VFRONT_IMU_IN_G);
    assert_int_equal(rest_for(&at, 2.0, 0.1, 2000), VFRONT_IMU_IN_G); /* not stationary; in g before */
    assert_int_equal(rest_for(&at, 9.81, 0.1, 1200), 0);              /* stationary again at 1 g in m/s^2: the fault is
                                                                         revoked */
    assert_int_equal(rest_for(&at, 1.0, 0.25, 2000), 0);              /* rotating: not stationary */
    assert_int_equal(rest_for(&at, 1.5, 0.1, 2000), 0);               /* neither magnitude */
    assert_int_equal(rest_for(&at, 0.3, 0.1, 1200), VFRONT_IMU_NO_GRAVITY);
    assert_int_equal(rest_for(&at, 0, 0.1, 1200), VFRONT_IMU_NO_GRAVITY | VFRONT_IMU_STUCK); /* does not affect IN_G */
    assert_int_equal(rest_for(&at, 1.0, 0.1, 1200), VFRONT_IMU_IN_G);
    assert_int_equal(rest_for(&at, 0, 0.1, 1200), VFRONT_IMU_IN_G | VFRONT_IMU_STUCK);
    assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
    assert_int_equal(rest_for(&at, 1.0, 0.1, 500), 0); /* forgotten after a reset */
    at += 20;                                          /* a gap interrupts a stationary period */
    assert_int_equal(rest_for(&at, 1.0, 0.1, 700) & VFRONT_IMU_IN_G, 0);
    assert_int_equal(rest_for(&at, 1.0, 0.1, 500), VFRONT_IMU_IN_G);
    vfront_imu_noise_t moon = noise; /* gravity given by the rig */
    moon.gravity_m_s2 = 1.1;
    start_known(&moon);
    assert_int_equal(rest_for(&at, 1.0, 0.1, 2000), 0);
    assert_int_equal(rest_for(&at, 0.1, 0.1, 2000), VFRONT_IMU_NO_GRAVITY);
}

/** Noise of the IMU in the rig: all 0, or each value in its range. */
static void rigs(void **state)
{
    (void)state;
    static const struct {
        size_t at;
        double least, most;
        const char *name;
    } value[] = {
#define VALUE(name, least, most) {offsetof(vfront_imu_noise_t, name), least, most, "rig.imu." #name}
        VALUE(gyro_density, 0, 1), VALUE(accel_density, 0, 10),       VALUE(gyro_walk, 0, 1),
        VALUE(accel_walk, 0, 10),  VALUE(gyro_limit_rad_s, 0.1, 100), VALUE(accel_limit_m_s2, 1, 1000),
        VALUE(rate_hz, 10, 20000), VALUE(gravity_m_s2, 0, 30),
    };
    for (size_t i = 0; i < sizeof value / sizeof *value; i++)
        for (int k = 0; k < 5; k++) {
            vfront_rig_t rig = rig_with(&noise, 0);
            const double least = value[i].least, most = value[i].most,
                         wrong[] = {NAN, least - 1e-9, most + 1e-9 * most, least, most};
            vfront_shutdown(&pair_vf);
            memcpy((char *)&rig.imu + value[i].at, &wrong[k], sizeof *wrong);
            const vfront_status_t status = vfront_init(&pair_vf, &rig, NULL, pair_port);
            if (k < 3) pair_refused(status, VFRONT_E_CALIBRATION, value[i].name);
            assert_true(k < 3 || status == VFRONT_OK);
        }
    vfront_rig_t rig = rig_with(NULL, 0);
    vfront_shutdown(&pair_vf);
    rig.imu.gyro_density = 1e-4; /* a single value */
    pair_refused(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_E_CALIBRATION, "rig.imu.gyro_limit_rad_s");
    rig.imu.gyro_density = -0.0;
    assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
    for (int k = 0; k < 2; k++) {
        vfront_shutdown(&pair_vf);
        rig.imu_offset_ns = k ? INT64_MIN : 1000000001;
        pair_refused(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_E_CALIBRATION, "rig.imu_offset_ns");
    }
}

#define CASE(test) cmocka_unit_test_setup_teardown(test, pair_start, pair_end)

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(as_gyro),   CASE(middle_goes_back),
                                       CASE(by_turns),  CASE(at_the_middle),
                                       CASE(offset),    CASE(ends_of_time),
                                       CASE(refused),   CASE(refused_otherwise),
                                       CASE(room),      CASE(forgotten),
                                       CASE(far_ahead), CASE(missing),
                                       CASE(gap),       CASE(saturated),
                                       CASE(stuck),     CASE(zero),
                                       CASE(units),     CASE(rigs)};
    draw_flight();
    return pair_run("imu", tests, sizeof tests / sizeof *tests);
}
