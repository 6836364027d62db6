/* SPDX-License-Identifier: MIT */
/* Stage observe: bearings of tracks and stereo tracks against the lens models in double precision, for every lens;
 * standard deviations; conditions without observations or without stereo observations; row delays. Nothing else in the
 * arena changes. */
#include "tests/geometry/stereo_oracle.h"

#if VFRONT_VIO && VFRONT_STEREO

static struct vf_feature *features(void) { return memory.refill.feature[step.parity]; }
static uint32_t *count(void) { return &memory.refill.counts[step.parity].count; }

/** Tracks and stereo tracks at random positions in both images. */
static void put_tracks(uint32_t wanted)
{
    scribble(&memory.refill, sizeof memory.refill);
    scribble(&memory.partner, sizeof memory.partner);
    memset(&memory.freeze, 0, sizeof memory.freeze);
    memory.ingest.params.late = 0;
    memset(&memory.stereo.pair, 0, sizeof memory.stereo.pair);
    memory.stereo.pair[step.parity].state = VFRONT_STEREO_GOOD;
    *count() = wanted;
    for (uint32_t i = 0; i < wanted; i++) {
        struct vf_feature *f = &features()[i];
        struct vf_partner *p = &memory.partner.partner[i];
        f->id = i % 9 == 4 ? (7ull << 32) + i + 1 : 3u * i + 1;
        f->x_q16 = between(0, (rig.camera[0].width_px - 1) << 16);
        f->y_q16 = between(0, (rig.camera[0].height_px - 1) << 16);
        p->x_q16 = between(0, (rig.camera[1].width_px - 1) << 16);
        p->y_q16 = between(0, (rig.camera[1].height_px - 1) << 16);
        p->disparity_sigma_px = i % 4 == 1 ? 0.0f : (float)real(0.05, 1.0);
    }
}

/** Bearing of a pixel by the camera's lens model. */
static void direction(int camera, int32_t x_q16, int32_t y_q16, double out[3])
{
    const double px[2] = {x_q16 / 65536.0, y_q16 / 65536.0};
    if (!vf_lens_bearing(&rig.lens[camera], px, out)) out[0] = NAN; /* the grid may still have one near the limit */
}

/** Bearings equal to 0.02 px, because the grid interpolates linearly. */
static void same_direction(const float found[3], const double expected_direction[3], int camera)
{
    const double within = 0.02 / (double)step.geometry.focal_px[camera];
    for (int k = 0; k < 3 && !isnan(expected_direction[0]); k++)
        if (fabs((double)found[k] - expected_direction[k]) > within)
            fail_msg("camera %d: %g, not %g", camera, (double)found[k], expected_direction[k]);
}

static const struct vf_observe_memory *run_observe(int two)
{
    RUN(observe); /* run once before, so that the expected arena has all outputs */
    memcpy(&expected, &memory, sizeof memory);
    scribble(memory.observe.observation, *count() * sizeof memory.observe.observation[0]);
    memory.observe.count = ~0u;
    if (memory.freeze.frames[step.parity][0] || memory.freeze.repeated[step.parity][0] || memory.ingest.params.late)
        memcpy(memory.observe.observation, expected.observe.observation, sizeof memory.observe.observation);
    RUN(observe);
    same_arena("observe");
    for (uint32_t i = 0; i < memory.observe.count && !two; i++)
        assert_true(memory.observe.observation[i].stereo_sigma == 0.0f &&
                    memory.observe.observation[i].stereo_bearing[0] == 0.0f);
    return &memory.observe;
}

static int set_up_observe(enum kind kind)
{
    if (!set_up_rig(kind)) return 0;
    step.tuning.vio = step.tuning.track_stereo = 1;
    step.tuning.track_target = VFRONT_TRACKS;
    step.tuning.vio_observation_mpx = between(100, 2000);
    memset(&memory.observe, 0, sizeof memory.observe);
    put_tracks(VFRONT_TRACKS < VF_VIO_OBSERVATIONS ? VFRONT_TRACKS : VF_VIO_OBSERVATIONS);
    return 1;
}

static void bearings(void **state)
{
    static const enum kind kinds[] = {RECTIFIED, TOED_IN, BARREL, FISHEYE};
    (void)state;
    shake(51);
    for (int run = 0; run < 24; run++) {
        if (!set_up_observe(kinds[run % 4])) skip();
        const struct vf_observe_memory *m = run_observe(1);
        uint32_t both = 0;
        assert_int_equal(m->count, *count());
        for (uint32_t i = 0; i < m->count; i++) {
            const struct vf_feature *f = &features()[i];
            const struct vf_partner *p = &memory.partner.partner[i];
            const struct vf_observation *s = &m->observation[i];
            double own[3], other[3];
            if (!s->id) continue; /* the lens has no bearing there */
            direction(0, f->x_q16, f->y_q16, own);
            same_direction(s->bearing, own, 0);
            assert_int_equal(s->id, (uint32_t)f->id);
            assert_true(fabs((double)s->sigma * (double)step.geometry.focal_px[0] * 1000.0 -
                             step.tuning.vio_observation_mpx) < 1e-3);
            assert_true((s->stereo_sigma > 0.0f) <= (p->disparity_sigma_px > 0.0f));
            if (!(s->stereo_sigma > 0.0f)) continue;
            direction(1, p->x_q16, p->y_q16, other);
            same_direction(s->stereo_bearing, other, 1);
            assert_true(fabs((double)s->stereo_sigma * (double)step.geometry.focal_px[1] -
                             (double)p->disparity_sigma_px) < 1e-5);
            both++;
        }
        assert_true(both > m->count / 2);
    }
}

/** More tracks than VF_VIO_OBSERVATIONS: the first ones. Frozen, repeated or late image of camera 0: no observations.
 *  Of camera 1, or an inconsistent pair: no stereo observations. Pair unchecked: stereo observations are used. */
static void no_observations(void **state)
{
    (void)state;
    shake(52);
    for (int run = 0; run < 28; run++) {
        if (!set_up_observe(TOED_IN)) skip();
        const int fault = run % 7;
        if (fault == 0) memory.freeze.frames[step.parity][0] = 1;
        if (fault == 1) memory.freeze.repeated[step.parity][0] = 3;
        if (fault == 2) memory.freeze.frames[step.parity][1] = 2;
        if (fault == 3) memory.freeze.repeated[step.parity][1] = 2;
        if (fault == 4) memory.stereo.pair[step.parity].state = run % 2 ? VFRONT_STEREO_SUSPECT : VFRONT_STEREO_BLIND;
        if (fault == 5) memory.stereo.pair[step.parity].holdoff = 1; /* consistent again, but not for long enough */
        if (fault == 6) memory.ingest.params.late = 3;
        assert_int_equal(run_observe(0)->count, fault < 2 || fault == 6 ? 0 : *count());
        if (!set_up_observe(TOED_IN)) skip();
        step.tuning.stereo = 0;
        uint32_t partners = 0;
        const struct vf_observe_memory *m = run_observe(1);
        for (uint32_t i = 0; i < m->count; i++) partners += m->observation[i].stereo_sigma > 0.0f;
        assert_true(partners > m->count / 2);
        *count() = 0;
        assert_int_equal(run_observe(1)->count, 0);
    }
}

/** Raw row of a rectified pixel in the test's remap table. */
static double raw_row(double x, double y) { return 3.25 + 0.98 * y + 0.02 * x; }

static void put_remap(void)
{
#if VFRONT_RECTIFY
    for (int c = 0; c < 2; c++) {
        const int width = VF_REMAP_ENTRIES(rig.camera[c].width_px), height = VF_REMAP_ENTRIES(rig.camera[c].height_px);
        for (int i = 0; i < width * height; i++) {
            const double x = i % width * VF_REMAP_STEP_PX, y = i / width * VF_REMAP_STEP_PX;
            memory.rectify.remap[c][i] = (struct vf_remap_entry){0, (int32_t)(raw_row(x, y) * VF_REMAP_UNITS)};
            if (i % 7 == 3) memory.rectify.remap[c][i].x = VF_REMAP_INVALID;
        }
    }
#endif
}

/** Rolling shutter: row delays of both cameras relative to the middle row of the raw image. Rectified: to a tenth of a
 *  row. Without a remap entry: the pixel's own row. */
static void row_delays(void **state)
{
    (void)state;
    shake(53);
    for (int run = 0; run < 30; run++) {
        if (!set_up_observe(TOED_IN)) skip();
        const int rectified = VFRONT_RECTIFY && run % 3 == 1;
        put_remap();
        step.geometry.rectified = rectified;
        double middle[2], row_s[2];
        for (int c = 0; c < 2; c++) {
            row_s[c] = run % 5 ? real(-60e-6, 60e-6) : 0.0;
            step.geometry.row_s[c] = (float)row_s[c];
            step.geometry.raw[c] = step.geometry.level[c][0];
            middle[c] = 0.5 * (step.geometry.raw[c].height - 1);
        }
        const struct vf_observe_memory *m = run_observe(1);
        uint32_t late = 0;
        for (uint32_t i = 0; i < m->count; i++) {
            const struct vf_observation *s = &m->observation[i];
            const struct vf_feature *f = &features()[i];
            const struct vf_partner *p = &memory.partner.partner[i];
            if (!s->id) continue;
            const double y[2] = {f->y_q16 / 65536.0, p->y_q16 / 65536.0},
                         x[2] = {f->x_q16 / 65536.0, p->x_q16 / 65536.0};
            double expected_s[2], other[2], within = rectified ? 0.11 : 1e-3;
            for (int c = 0; c < 2; c++) {
                expected_s[c] = row_s[c] * ((rectified ? raw_row(x[c], y[c]) : y[c]) - middle[c]);
                other[c] = row_s[c] * (y[c] - middle[c]);
            }
            const int one = s->stereo_sigma > 0.0f;
            const double actual_s[2] = {(double)s->row_delay_s, (double)s->row_delay_s + (double)s->stereo_delay_s};
            for (int c = 0; c < 1 + one; c++) {
                const double off = fabs(actual_s[c] - expected_s[c]), without = fabs(actual_s[c] - other[c]);
                if (!(off <= within * fabs(row_s[c]) + 1e-9 || (rectified && without <= 1e-3 * fabs(row_s[c]) + 1e-9)))
                    fail_msg("camera %d: %g s, not %g", c, actual_s[c], expected_s[c]);
            }
            assert_true(one || s->stereo_delay_s == 0.0f);
            late += s->row_delay_s != 0.0f;
        }
        assert_true(run % 5 ? late > m->count / 2 : late == 0);
    }
}
#endif

int main(void)
{
#if VFRONT_VIO && VFRONT_STEREO
    const struct CMUnitTest tests[] = {cmocka_unit_test(bearings), cmocka_unit_test(no_observations),
                                       cmocka_unit_test(row_delays)};
    return cmocka_run_group_tests(tests, NULL, NULL);
#else
    puts("observe: skipped, the config has no vio");
    return 77;
#endif
}
