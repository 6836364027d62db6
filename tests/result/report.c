/* SPDX-License-Identifier: MIT */
/* report: every field of a result from known states, health by hand, and the digest: which bytes of a result it covers,
 * and in which order. */
#include "report_oracle.h"

/* ---- a known state ----------------------------------------------------------------------------------------------- */

static vfront_result_t *result(void) { return &pinned.result[memory.ingest.params.result]; }

/** Two cameras if there are two, no key points, no features, dark images. */
static void set_up_empty(void)
{
    set_up(VFRONT_CAMERAS, 50, 40, 0);
    if (VFRONT_CAMERAS > 1) lay_out_levels(VFRONT_CAMERAS - 1, 40, 50, 0);
    set_cells_about(16, 16);
    memset(&memory.ingest.params, 0, sizeof memory.ingest.params);
    memset(memory.select.count, 0, sizeof memory.select.count);
    memset(memory.select.dropped, 0, sizeof memory.select.dropped);
    memset(memory.detect.corner, 0, sizeof memory.detect.corner);
    memset(memory.pyramid.tile, 0, sizeof memory.pyramid.tile);
    memset(&memory.refill, 0, sizeof memory.refill);
#if VFRONT_STEREO
    memory.stereo.count = 0;
#endif
#if VFRONT_MATCHES
    memory.match.count = 0;
#endif
    memory.ingest.params.frame = 9;
    memory.ingest.params.result = (uint32_t)roll(3);
}

static void random_feature(struct vf_feature *f, uint64_t id)
{
    scribble(f, sizeof *f);
    f->id = id;
    f->x_q16 = roll(VFRONT_WIDTH << 16);
    f->y_q16 = roll(VFRONT_HEIGHT << 16);
    f->dx_q16 = between(-40 * 65536, 40 * 65536);
    f->dy_q16 = between(-40 * 65536, 40 * 65536);
    f->alpha_q14 = between(-16000, 48000);
    f->offset_q5 = between(-8000, 8000);
    f->residual_q3 = (uint32_t)roll(2040);
    f->level = (uint8_t)roll(VFRONT_LEVELS);
    f->end = (uint8_t)between(0, VFRONT_END_BACK);
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

static void frame_and_times(void **state)
{
    (void)state;
    shake(1);
    for (uint32_t i = 0; i < 3; i++) {
        set_up_empty();
        memory.ingest.params.t_ns = roll64();
        memory.ingest.params.t_mid_ns = roll64();
        memory.ingest.params.dt_ns = roll64();
        memory.ingest.params.frame = roll64();
        memory.ingest.params.ticket = roll64();
        memory.ingest.params.result = i;
        scribble(pinned.result, sizeof pinned.result);
        memcpy(&pinned.result[(i + 1) % 3], &pinned.result[(i + 2) % 3], sizeof pinned.result[0]);
        const vfront_timing_t timing = result()->timing;
        RUN(report);
        assert_int_equal(result()->t_ns, memory.ingest.params.t_ns);
        assert_int_equal(result()->t_mid_ns, memory.ingest.params.t_mid_ns);
        assert_int_equal(result()->frame, memory.ingest.params.frame);
        assert_int_equal(result()->health.dt_ns, memory.ingest.params.dt_ns);
        assert_int_equal(pinned.done, memory.ingest.params.ticket);
        assert_memory_equal(&result()->timing, &timing, sizeof timing); /* written by the host */
        assert_memory_equal(&pinned.result[(i + 1) % 3], &pinned.result[(i + 2) % 3], sizeof pinned.result[0]);
    }
}

/** Motions and their inliers: random bits. */
static void random_ego(void)
{
    step.tuning.ego = VFRONT_EGO && roll(4) > 0;
    scribble(&memory.ego, sizeof memory.ego);
#if VFRONT_EGO
    for (uint32_t i = 0; i < VFRONT_CORRESPONDENCES; i++) memory.ego.inlier_mask[i] = (uint8_t)roll(4);
#endif
}

/** Random partners of tracks, with the stage active or not. */
static void random_partners(void)
{
    step.geometry.pair.placed = VFRONT_STEREO && roll(3) > 0;
    step.tuning.track_stereo = VFRONT_STEREO && roll(3) > 0;
#if VFRONT_STEREO
    for (uint32_t i = 0; i < VFRONT_TRACKS; i++) {
        struct vf_partner *p = &memory.partner.partner[i];
        p->x_q16 = roll(1 << 26);
        p->y_q16 = roll(1 << 26);
        p->disparity_px = (float)roll(1000) * 0.1f - 1.0f;
        p->disparity_sigma_px = (float)roll(1000) * 0.001f;
        p->depth_m = (float)roll(1000) * 0.1f;
        p->depth_sigma_m = (float)roll(1000) * 0.01f;
    }
#endif
}

/** Partner of a track in the result: copied, or all 0. */
static void compare_partner(const vfront_track_t *t, uint32_t i)
{
    const float is[6] = {t->stereo_x_px,        t->stereo_y_px, t->disparity_px,
                         t->disparity_sigma_px, t->depth_m,     t->depth_sigma_m};
    double should[6] = {0, 0, 0, 0, 0, 0};
#if VFRONT_STEREO
    const struct vf_partner *p = &memory.partner.partner[i];
    const double there[6] = {p->x_q16 / 65536.0,      p->y_q16 / 65536.0,
                             (double)p->disparity_px, (double)p->disparity_sigma_px,
                             (double)p->depth_m,      (double)p->depth_sigma_m};
    if (step.geometry.pair.placed && step.tuning.track_stereo) memcpy(should, there, sizeof should);
#endif
    for (int k = 0; k < 6; k++) same_float(is[k], should[k]);
    (void)i;
}

static void tracks(void **state)
{
    const double focal = 0.9 * VFRONT_WIDTH;
    (void)state;
    shake(2);
    scribble(memory.bearing.node, sizeof memory.bearing.node);
    for (uint32_t count = 0; count <= VFRONT_TRACKS; count += VFRONT_TRACKS / 32) {
        set_up_empty();
        lay_out_levels(0, VFRONT_WIDTH, VFRONT_HEIGHT, 0);
        set_cells_about(64, 64);
        const int32_t blind = roll(2) ? step.geometry.nodes_x[0] : roll(step.geometry.nodes_x[0]);
        step.geometry.calibrated[0] = roll(3) > 0;
        if (VFRONT_CAMERAS > 1) step.geometry.calibrated[VFRONT_CAMERAS - 1] = roll(2);
        make_grid(focal, blind);
        struct vf_feature *f = memory.refill.feature[step.parity];
        for (uint32_t i = 0; i < count; i++) random_feature(&f[i], 1000 + 3 * (uint64_t)i);
        for (uint32_t i = 0; i < count; i++) f[i].age = roll(3) ? 1 + (uint32_t)roll(9) : 0;
        memory.refill.counts[step.parity] = (struct vf_track_counts){99, count, 0};
        random_ego();
        random_partners();
        RUN(report);
        assert_int_equal(result()->tracks_count, count);
        for (uint32_t i = 0; i < count; i++) {
            const vfront_track_t *t = &result()->tracks[i];
            assert_int_equal(t->id, f[i].id);
            same_float(t->x_px, f[i].x_q16 / 65536.0);
            same_float(t->y_px, f[i].y_q16 / 65536.0);
            same_float(t->dx_px, f[i].dx_q16 / 65536.0);
            same_float(t->dy_px, f[i].dy_q16 / 65536.0);
            same_float(t->gain, 1.0 + f[i].alpha_q14 / 16384.0);
            same_float(t->offset_grey, f[i].offset_q5 / 32.0);
            same_float(t->residual_grey, f[i].residual_q3 / 8.0);
            assert_int_equal(t->age, f[i].age);
            assert_int_equal(t->level, f[i].level);
            assert_int_equal(t->score, f[i].score);
            assert_int_equal(t->agrees, f[i].age && ego_on() ? agrees_of(i) : 0);
            compare_bearing(t->bearing, &f[i], focal, blind, step.geometry.calibrated[0]);
            compare_partner(t, i);
        }
    }
}

static void lost_tracks(void **state)
{
    int merged = 0;
    (void)state;
    shake(3);
    for (uint32_t count = 0; count <= VFRONT_TRACKS; count += VFRONT_TRACKS / 32) {
        set_up_empty();
        memory.refill.lost_count = count;
        for (uint32_t i = 0; i < VFRONT_TRACKS; i++) random_feature(&memory.track.moved[i], i + 1);
        const uint32_t gap = VFRONT_TRACKS - count;
        for (uint32_t i = 0; i < count; i++) memory.refill.lost[i] = i + (i < count / 2 ? gap / 2 : gap);
        RUN(report);
        assert_int_equal(result()->lost_count, count);
        for (uint32_t i = 0; i < count; i++) {
            const struct vf_feature *f = &memory.track.moved[memory.refill.lost[i]];
            const vfront_lost_t *l = &result()->lost[i];
            assert_int_equal(l->id, f->id);
            if (f->end) {
                same_float(l->x_px, f->x_q16 / 65536.0);
                same_float(l->y_px, f->y_q16 / 65536.0);
                assert_int_equal(l->age, f->age);
                assert_int_equal(l->end, f->end);
            } else { /* tracked by track, ended by refill */
                same_float(l->x_px, ((double)f->x_q16 - f->dx_q16) / 65536.0);
                same_float(l->y_px, ((double)f->y_q16 - f->dy_q16) / 65536.0);
                assert_int_equal(l->age, f->age - 1);
                assert_int_equal(l->end, VFRONT_END_MERGED);
                merged++;
            }
        }
    }
    assert_true(merged > 20);
}

/** Key points of a camera in its slots, kept apart from the arena. */
struct point {
    int32_t level, u, v, high;
    uint32_t score;
};
static struct point point[VFRONT_CAMERAS][VFRONT_KEYPOINTS];

static void put_point(int32_t camera, int32_t slot, struct point p)
{
    point[camera][slot] = p;
    memory.select.key[camera][slot] = vf_detect_key(p.high, p.score, p.level, p.u, p.v);
}

/** Groups of levels that share slots: one per searched level if there are shares. */
static int32_t groups(void)
{
    const int32_t levels = vf_min(step.geometry.scales, step.tuning.detect_levels);
    return step.tuning.select_share_percent > 0 ? levels : 1;
}
static int32_t first_slot(int32_t group)
{
    return step.tuning.select_share_percent > 0 ? step.geometry.share[group] : 0;
}
static int32_t slots_of(int32_t group)
{
    const int32_t *share = step.geometry.share;
    return step.tuning.select_share_percent > 0 ? share[group + 1] - share[group] : step.tuning.select_points;
}

static void random_point(int32_t camera, int32_t group, int32_t slot)
{
    const int32_t level = groups() > 1 ? group : roll(step.geometry.scales);
    const struct vf_level *l = &step.geometry.scale[camera][level];
    const uint32_t most = roll(2) ? 4080 : UINT32_MAX;
    put_point(camera, slot,
              (struct point){level, roll(l->width), roll(l->height), roll(2), (uint32_t)(1 + roll64() % most)});
}

/** Key points of a camera: each group full, empty, or with some, at most `most`. Noise for angles, descriptors and
 *  bearings, in empty slots, and for counts of absent groups. */
static void random_points(int32_t camera, int32_t most)
{
    scribble(memory.select.key[camera], sizeof memory.select.key[camera]);
    scribble(memory.select.count[camera], sizeof memory.select.count[camera]);
#if VFRONT_DESCRIPTORS
    for (int parity = 0; parity < 2; parity++) {
        scribble(memory.describe.descriptor[parity][camera], sizeof memory.describe.descriptor[parity][camera]);
        for (uint32_t i = 0; i < VFRONT_KEYPOINTS; i++)
            memory.describe.angle[parity][camera][i] = (float)between(-314159265, 314159265) * 1e-8f;
    }
#endif
    for (uint32_t i = 0; i < 2 * VFRONT_KEYPOINTS; i++)
        for (int k = 0; k < 3; k++)
            memory.bearing.point[i % 2][camera][i / 2].bearing[k] = (float)between(-100000, 100000) * 1e-5f;
    for (int32_t group = 0; group < groups(); group++) {
        const int32_t room = vf_min(slots_of(group), most), count = roll(3) ? roll(room + 1) : roll(2) ? room : 0;
        memory.select.count[camera][group] = (uint32_t)count;
        for (int32_t i = 0; i < count; i++) random_point(camera, group, first_slot(group) + i);
    }
}

/** Compares the i-th key point of a result with the content of a slot. */
static void compare_point(int32_t camera, uint32_t i, int32_t slot, int described)
{
    const struct point *p = &point[camera][slot];
    const vfront_keypoint_t *is = &result()->keypoints[camera][i];
    const double x = place_of(p->u, p->level), y = place_of(p->v, p->level);
    same_float(is->x_px, x);
    same_float(is->y_px, y);
    assert_int_equal(is->level, p->level);
    assert_int_equal(is->score, p->score);
    assert_int_equal(is->low, !p->high);
    assert_int_equal(is->cell, cell_of(camera, x, y));
#if VFRONT_DESCRIPTORS
    if (described) {
        assert_memory_equal(&is->angle_rad, &memory.describe.angle[step.parity][camera][i], sizeof is->angle_rad);
        const vfront_descriptor_t *should = &memory.describe.descriptor[step.parity][camera][i];
        assert_memory_equal(&result()->descriptors[camera][i], should, sizeof *should);
    }
#endif
    const float *bearing = memory.bearing.point[step.parity][camera][i].bearing;
    for (int k = 0; k < 3; k++) same_float(is->bearing[k], step.geometry.calibrated[camera] ? (double)bearing[k] : 0.0);
    if (!described) same_float(is->angle_rad, 0.0);
}

static vfront_result_t was;

/** The key points of a camera: those of all groups without a gap, in the order of their slots; the entries after them
 *  do not change. */
static void compare_points(int32_t camera, int described)
{
    uint32_t count = 0;
    for (int32_t group = 0; group < groups(); group++)
        for (uint32_t k = 0; k < memory.select.count[camera][group]; k++)
            compare_point(camera, count++, first_slot(group) + (int32_t)k, described);
    assert_int_equal(result()->keypoints_count[camera], count);
    assert_int_equal(result()->descriptors_count[camera], described ? count : 0);
    assert_memory_equal(&result()->keypoints[camera][count], &was.keypoints[camera][count],
                        (VFRONT_KEYPOINTS - count) * sizeof(vfront_keypoint_t));
#if VFRONT_DESCRIPTORS
    const uint32_t copied = described ? count : 0;
    assert_memory_equal(&result()->descriptors[camera][copied], &was.descriptors[camera][copied],
                        (VFRONT_KEYPOINTS - copied) * sizeof(vfront_descriptor_t));
#endif
}

/** Key points with and without shares, described or not, of cameras of different sizes, in full, empty and partly
 *  filled groups. */
static void key_points(void **state)
{
    static const int32_t percent[] = {0, 1, 50, 83, 91, 100};
    (void)state;
    shake(4);
    for (int i = 0; i < 90; i++) {
        const int describe = roll(VFRONT_DESCRIPTORS + 1), wanted = roll(5) > 0;
        set_up_empty();
        for (int32_t camera = 0; camera < VFRONT_CAMERAS; camera++)
            lay_out_levels(camera, between(16, 64), between(16, 64), 0);
        set_cells_about(i % 2 ? 4 : 16, 7);
        set_culls_about(between(3, 20), between(3, 20));
        step.tuning.describe = describe;
        step.tuning.detect_levels = between(1, VFRONT_SCALES);
        step.tuning.select_share_percent = percent[i % 6];
        step.tuning.select_points = !wanted ? 0 : roll(2) ? VFRONT_KEYPOINTS : between(1, vf_min(VFRONT_KEYPOINTS, 30));
        share_out();
        for (int32_t camera = 0; camera < VFRONT_CAMERAS; camera++) {
            random_points(camera, i < 12 ? VFRONT_KEYPOINTS : 100);
            step.geometry.calibrated[camera] = roll(2);
        }
        scribble(result(), sizeof *result());
        was = *result();
        RUN(report);
        for (int32_t camera = 0; camera < VFRONT_CAMERAS; camera++) compare_points(camera, describe && wanted);
    }
}

/** By hand: 7 slots, of three levels 4, 2 and 1; the second level has none, the first one, two or four. */
static void known_slots(void **state)
{
    (void)state;
    shake(16);
#if VFRONT_SCALES < 3 || VFRONT_KEYPOINTS < 7
    skip();
#else
    for (uint32_t first = 1; first <= 4; first *= 2) {
        set_up_empty();
        set_cells_about(16, 16);
        step.tuning.select_points = 7;
        step.tuning.select_share_percent = 50;
        step.tuning.detect_levels = 3;
        step.tuning.describe = 0;
        share_out();
        for (int32_t slot = 0; slot < 7; slot++)
            put_point(0, slot, (struct point){slot < 4 ? 0 : slot < 6 ? 1 : 2, 5 + slot, 7, 1, (uint32_t)(100 + slot)});
        memory.select.count[0][0] = first;
        memory.select.count[0][2] = 1;
        RUN(report);
        assert_int_equal(result()->keypoints_count[0], first + 1);
        const vfront_keypoint_t *is = result()->keypoints[0];
        for (uint32_t i = 0; i < first; i++) assert_true(is[i].level == 0 && is[i].score == 100 + i);
        assert_true(is[first].level == 2 && is[first].score == 106);
    }
#endif
}

/** By hand: on level 0, on level 1 where pixels are 6/5 as large, and with the largest score. */
static void known_key_points(void **state)
{
    (void)state;
    shake(5);
    set_up_empty();
    set_cells_about(16, 16);
    step.tuning.describe = 0;
    step.tuning.select_share_percent = 0;
    memory.select.count[0][0] = 1;
    put_point(0, 0, (struct point){0, 7, 9, 1, 4080});
    RUN(report);
    const vfront_keypoint_t *is = &result()->keypoints[0][0];
    assert_int_equal(result()->keypoints_count[0], 1);
    assert_true(is->x_px == 7.0f && is->y_px == 9.0f && is->score == 4080 && !is->low && is->level == 0 &&
                is->cell == 0);
    if (VFRONT_SCALES < 2 || VFRONT_SCALE_NUM * 5 != VFRONT_SCALE_DEN * 6) skip();
    put_point(0, 0, (struct point){1, 27, 2, 0, UINT32_MAX});
    RUN(report);
    assert_true(is->score == UINT32_MAX && is->low == 1 && is->level == 1);
    /* 27.5 * 1.2 - 0.5; halves are rounded up */
    assert_true(fabs((double)is->x_px - 32.5) < 1e-4 && fabs((double)is->y_px - 2.5) < 1e-4);
    if (step.tuning.cell_width_px == 16) assert_int_equal(is->cell, 2);
}

#if VFRONT_STEREO && VFRONT_MATCHES
/** Reason why there are no depths or matches: both need descriptors, depths a second camera with a calibrated pose. */
enum { OFF_TUNED, OFF_UNDESCRIBED, OFF_UNWANTED, OFF_ALONE, OFF_UNPLACED, ON };
static void set_up_matches(int why)
{
    set_up_empty();
    step.geometry.pair.placed = why != OFF_UNPLACED && why != OFF_ALONE;
    if (why == OFF_ALONE) step.geometry.cameras = 1;
    step.tuning.stereo = step.tuning.match = why != OFF_TUNED;
    step.tuning.describe = why != OFF_UNDESCRIBED;
    if (why == OFF_UNWANTED) step.tuning.select_points = 0;
    scribble(&memory.stereo, sizeof memory.stereo);
    scribble(&memory.match, sizeof memory.match);
    memory.stereo.count = (uint32_t)(roll(4) ? roll(VFRONT_KEYPOINTS + 1) : VFRONT_KEYPOINTS);
    memory.match.count = (uint32_t)(roll(4) ? roll(VFRONT_KEYPOINTS + 1) : VFRONT_KEYPOINTS);
    step.geometry.calibrated[0] = roll(2);
    random_ego();
}

/** Depths and matches are copied, except the mask of motions, up to their count; none if tuning or rig exclude them. */
static void depths_and_matches(void **state)
{
    (void)state;
    shake(17);
    for (int i = 0; i < 60; i++) {
        const int why = i % (ON + 1);
        set_up_matches(why);
        RUN(report);
        const uint32_t depths = why == ON ? memory.stereo.count : 0;
        const uint32_t matches = why == ON || why == OFF_ALONE || why == OFF_UNPLACED ? memory.match.count : 0;
        assert_int_equal(result()->depths_count, depths);
        assert_int_equal(result()->matches_count, matches);
        assert_memory_equal(result()->depths, memory.stereo.depth, depths * sizeof(vfront_depth_t));
        for (uint32_t k = 0; k < matches; k++) {
            vfront_match_t should = memory.match.match[k];
            should.agrees = (uint16_t)(ego_on() ? agrees_of(VFRONT_TRACKS + k) : 0);
            assert_memory_equal(&result()->matches[k], &should, sizeof should);
        }
    }
}
#endif

#if VFRONT_VIO
/** 1 if the stage vio runs. */
static int vio_on(void) { return step.tuning.vio && step.geometry.calibrated[0]; }
#endif

/** Random output of the estimator, with the stage active or not. */
static void random_vio(void)
{
    step.tuning.vio = roll(VFRONT_VIO + 1);
#if VFRONT_VIO
    step.tuning.track_target = VFRONT_TRACKS;
    scribble(memory.vio.nav, sizeof memory.vio.nav);
    scribble(memory.vio.summary, sizeof memory.vio.summary);
    scribble(&memory.observe, sizeof memory.observe);
    memory.observe.count = (uint32_t)between(1, VF_VIO_OBSERVATIONS);
    memory.vio.request.accepted = (uint32_t)roll(VF_BANK);
    memory.vio.request.member[memory.vio.request.accepted].command = roll(2) ? VF_VIO_CONTINUE : VF_VIO_NONE;
#endif
}

/** Motions are copied; they are the identity if none was requested. */
static void motions(void **state)
{
    int navs = 0;
    (void)state;
    shake(18);
    for (int i = 0; i < 40; i++) {
        vfront_motion_t none;
        memset(&none, 0, sizeof none);
        none.R[0] = none.R[4] = none.R[8] = 1.0f;
        const vfront_motion_t *relative = &none, *metric = &none, *good = &none;
        set_up_empty();
        step.geometry.calibrated[0] = roll(4) > 0;
        random_ego();
        random_vio();
#if VFRONT_EGO
        if (ego_on())
            relative = &memory.ego.relative, metric = &memory.ego.metric, good = &memory.ego.good[step.parity];
#endif
        scribble(result(), sizeof *result());
        RUN(report);
        assert_memory_equal(&result()->relative, relative, sizeof *relative);
        assert_memory_equal(&result()->metric, metric, sizeof *metric);
        assert_memory_equal(&result()->good, good, sizeof *good);
        vfront_prediction_t predicted = memory.predict.now;
        if (!step.geometry.calibrated[0]) {
            memset(&predicted, 0, sizeof predicted);
            predicted.R[0] = predicted.R[4] = predicted.R[8] = 1.0f;
        }
        assert_memory_equal(&result()->predicted, &predicted, sizeof predicted);
        vfront_nav_t nav;
        memset(&nav, 0, sizeof nav);
#if VFRONT_VIO
        if (vio_on()) nav = memory.vio.nav[memory.vio.request.accepted];
        navs += vio_on();
#endif
        assert_memory_equal(&result()->nav, &nav, sizeof nav);
    }
    assert_true(!VFRONT_VIO || navs > 5);
}

#if VFRONT_VIO
/** Input of the estimator's supervisor: a summary, and the observations where a state is to be found with one camera
 *  alone: no pair, and no state yet. */
static void input_of_the_supervisor(void **state)
{
    static struct vf_vio_report before;
    int copied = 0, running = 0;
    (void)state;
    shake(39);
    for (int i = 0; i < 200; i++) {
        set_up_empty();
        step.geometry.calibrated[0] = roll(4) > 0;
        step.geometry.pair.placed = roll(2);
        random_vio();
        const int one = vio_on() && !step.geometry.pair.placed,
                  has_state = vf_vio_command_of(&memory.vio) != VF_VIO_NONE;
        const uint32_t expected = one && !has_state ? memory.observe.count : 0;
        scribble(&pinned.vio, sizeof pinned.vio);
        before = pinned.vio;
        RUN(report);
        assert_memory_equal(pinned.vio.summary, vio_on() ? memory.vio.summary : before.summary, sizeof before.summary);
        assert_memory_equal(pinned.vio.nav, vio_on() ? memory.vio.nav : before.nav, sizeof before.nav);
        assert_int_equal(pinned.vio.observations, expected);
        assert_memory_equal(pinned.vio.observation, memory.observe.observation, expected * sizeof *before.observation);
        assert_memory_equal(&pinned.vio.observation[expected], &before.observation[expected],
                            (VF_VIO_OBSERVATIONS - expected) * sizeof *before.observation);
        copied += expected > 0;
        running += one && has_state;
    }
    assert_true(copied > 5 && running > 5);
}
#endif

#if VFRONT_MAP
/** Random map data; i: number of the case. */
static void draw_map(int i)
{
    struct vf_map_data *m = &memory.map.data[step.parity];
    scribble(&m->output, sizeof m->output);
    scribble(&memory.map.data[step.parity ^ 1].output, sizeof m->output); /* must not matter */
    scribble(&memory.keyframe.now[step.parity].pose, sizeof memory.keyframe.now[step.parity].pose);
    m->metric = i % 5 > 0;
    m->placed = i % 2 > 0;
    m->counter = 7u + (uint32_t)i;
    m->count = 100u + (uint32_t)i;
    m->loops = 50u + (uint32_t)i;
    m->output_m2 = 0.25;
    m->output_rad2 = 0.0625;
}

static void map_output(uint32_t active)
{
    const vfront_map_t none = {.state = VFRONT_MAP_NONE}, *r = &result()->map;
    const struct vf_map_data *m = &memory.map.data[step.parity];
    const struct vf_chain_pose *pose = &memory.keyframe.now[step.parity].pose;
    if (!active) {
        assert_memory_equal(r, &none, sizeof none);
        return;
    }
    assert_memory_equal(r->position_m, pose->position_m, sizeof r->position_m);
    assert_memory_equal(r->q_odom_cam, pose->q_chain_cam, sizeof r->q_odom_cam);
    assert_memory_equal(r->t_map_odom_m, m->output.p, sizeof r->t_map_odom_m);
    assert_memory_equal(r->q_map_odom, m->output.q, sizeof r->q_map_odom);
    const int scaled = m->metric && (step.geometry.active & VF_BIT(stereo));
    assert_int_equal(r->state, !scaled ? VFRONT_MAP_NO_SCALE : m->placed ? VFRONT_MAP_GOOD : VFRONT_MAP_LOST);
    assert_true(r->sigma_m == (r->state == VFRONT_MAP_GOOD ? 0.5 : 0.0));
    assert_true(r->sigma_rad == (r->state == VFRONT_MAP_GOOD ? 0.25 : 0.0));
    assert_int_equal(r->counter, m->counter);
    assert_int_equal(r->nodes, m->count);
    assert_int_equal(r->loops, m->loops);
}

/** Keyframes, loops and the correspondences of the reported loop; none of inactive stages. */
static void loops(void **state)
{
    (void)state;
    shake(38);
    for (int i = 0; i < 60; i++) {
        const uint32_t active = i % 3 > 0, count = (uint32_t)roll(VFRONT_LOOPS + 1),
                       shown = count ? (uint32_t)roll((int32_t)count) : VF_NONE, keyframes = (uint32_t)roll(513);
        set_up_empty();
        scribble(&memory.loop, sizeof memory.loop);
        step.geometry.calibrated[0] = step.tuning.ego = 1;
        step.tuning.map = (int32_t)active;
        memory.loop.count = count;
        memory.loop.shown = shown;
        for (int k = 0; k < VFRONT_LOOPS; k++) memory.loop.from[k] = (uint32_t)((k + i) % VFRONT_LOOPS);
        memory.keyframe.now[step.parity].due = (uint32_t)i & 1;
        memory.keyframe.now[step.parity].count = keyframes;
        memory.keyframe.now[step.parity ^ 1].count = 1000; /* must not matter */
        draw_map(i);
        uint32_t pairs = 0;
        for (int k = 0; k < VFRONT_LOOPS; k++) {
            struct vf_relpose_work *w = &memory.relpose.work[k];
            scribble(w->output, sizeof w->output);
            w->count = (uint32_t)roll(VFRONT_LOOP_PAIRS + 1);
        }
        const struct vf_relpose_work *of = shown == VF_NONE ? NULL : &memory.relpose.work[memory.loop.from[shown]];
        if (of) pairs = of->count;
        scribble(result(), sizeof *result());
        RUN(report);
        assert_int_equal(result()->keyframe, active * ((uint32_t)i & 1));
        assert_int_equal(result()->keyframes_count, active * keyframes);
        assert_int_equal(result()->loops_count, active * count);
        assert_int_equal(result()->loop_pairs_count, active * pairs);
        assert_int_equal(result()->loop_pairs_of, active && of ? shown : 0);
        assert_int_equal(result()->reserved, 0);
        map_output(active);
        if (!active) continue;
        assert_memory_equal(result()->loops, memory.loop.loop, count * sizeof(vfront_loop_t));
        if (of) assert_memory_equal(result()->loop_pairs, of->output, pairs * sizeof(vfront_loop_pair_t));
    }
}
#endif

/* ---- health ------------------------------------------------------------------------------------------------------ */

static void counts_are_passed_on(void **state)
{
    (void)state;
    shake(6);
    set_up_empty();
    struct vf_refill_memory *r = &memory.refill;
    r->followed = 11;
    r->born = 12;
    r->overflow = 13;
    r->lost_count = 0;
    for (uint32_t i = 0; i < VFRONT_ENDS; i++) r->ended[i] = 20 + i;
    memory.ingest.params.gap = 1;
    memory.ingest.params.gyro_short = 1;
    memory.ingest.params.gyro_stuck = 1;
    memory.ingest.params.imu = VFRONT_IMU_GAP;
    memory.ingest.params.imu_samples = 11;
    memory.ingest.params.reset_counter = 100;
    memory.report.chain[step.parity] = (struct vf_chain){70, 71, 1, 1}; /* must not matter */
    memory.report.chain[step.parity ^ 1] = (struct vf_chain){7, 9, 1, 0};
    RUN(report);
    const vfront_health_t *h = &result()->health;
    assert_int_equal(h->followed, 11);
    assert_int_equal(h->born, 12);
    assert_int_equal(h->overflow, 13);
    for (uint32_t i = 0; i < VFRONT_ENDS; i++) assert_int_equal(h->ended[i], 20 + i);
    assert_int_equal(h->gap, 1);
    assert_int_equal(h->gyro_short, 1);
    assert_int_equal(h->gyro_stuck, 1);
    assert_int_equal(h->imu, VFRONT_IMU_GAP);
    assert_int_equal(h->imu_samples, 11);
    assert_int_equal(h->reset_counter, 107);
    assert_int_equal(h->motion_breaks, 9);
}

#if VFRONT_EGO
/** Health of time and image age: the interval against its running mean, repeated images, late images, and the deviation
 *  of motions from the given rotation. */
static void time_in_health(void **state)
{
    (void)state;
    for (int active = 0; active < 2; active++) {
        shake(37);
        set_up_empty();
        step.geometry.calibrated[0] = active;
        memory.ingest.params.frame = 30;
        memory.ingest.params.dt_ns = active ? 58000000 : 50000000;
        memory.report.interval[step.parity ^ 1] = (struct vf_running_mean_interval){8, 800000, 100, 0};
        memory.freeze.repeated[step.parity][0] = active ? 5 : 0;
        memory.ego.running_means[step.parity].late = 3;
        memory.ingest.params.rotation_rms_rad = 0.2f;
        RUN(report);
        const vfront_health_t *h = &result()->health;
        assert_int_equal(h->irregular, active);
        assert_in_range(h->interval_us, active ? 50100 : 50000, active ? 51100 : 50000);
        assert_int_equal(h->repeated, active);
        assert_int_equal(h->late, active ? 3 : 0);
        assert_true(h->prior_rms_rad == 0.2f);
    }
}
#endif

/** Intervals between frames by hand [us]: the running mean after eight of them, and deviations. */
static void irregular_intervals(void **state)
{
    enum { REGULAR, SHAKY, DRIFT, MISSING, SLOWER, VARIANTS };
    (void)state;
    for (int variant = 0; variant < VARIANTS; variant++) {
        struct vf_running_mean_interval u = {9, 9, 9, 9};
        int irregular = 0, last = 0;
        for (uint64_t frame = 0; frame < 60; frame++) {
            const int64_t shaken = variant == SHAKY ? ((int64_t)frame * 7 % 5 - 2) * 1000 : 0,
                          off = frame < 20           ? 0
                                : variant == DRIFT   ? 500
                                : variant == SLOWER  ? 50000
                                : variant == MISSING ? (frame == 20) * 50000
                                : variant == SHAKY   ? (frame == 20) * 9000
                                                     : 0;
            u = vf_report_interval(&u, frame, (uint64_t)(50000 + shaken + off) * 1000);
            if (u.irregular) irregular++, last = (int)frame;
            assert_true(!u.irregular || frame >= 20);
            if (frame == 20) assert_int_equal(u.irregular, variant != REGULAR);
            assert_int_equal(u.frames, frame < 8 ? frame : 8);
        }
        assert_true(irregular <= 3 && last <= 22);
        assert_in_range(u.us_q4 / 16, variant == SLOWER ? 99000 : 49700, variant == SLOWER ? 100000 : 50520);
    }
    const struct vf_running_mean_interval running_mean = {8, 800000, 100, 0};
    for (int side = -1; side <= 1; side += 2)
        for (int over = 0; over < 2; over++) { /* 1/256 of 50 ms are 195.3125 us */
            const struct vf_running_mean_interval u = vf_report_interval(
                &running_mean, 30, (uint64_t)(50000000 + side * (195312 + over * 63)));
            assert_int_equal(u.irregular, over);
        }
}

#if VFRONT_EGO
/** Standard deviation of an estimate with this weight, number of frames and mean age [px]; `square`: its spread. */
static double deviation(double square, double weight, double frames, double age)
{
    const double variance = square / (weight * weight) * (1.0 + 96.0 / frames) + 0.01 / (frames * frames) + 25e-8 * age;
    return sqrt(variance / (1.0 + variance));
}

/** Offsets of the rig and their standard deviations, from known estimates; unknown if the stages are inactive. */
static void rig_offsets(void **state)
{
    (void)state;
    for (int active = 0; active < 2; active++) {
        shake(36);
        set_up_empty();
        step.geometry.calibrated[0] = active;
        step.geometry.pair.placed = active;
        memory.stereo.pair[step.parity] = (struct vf_pair_health){
            .state = VFRONT_STEREO_SUSPECT, .permille = 321, .offset_px = 1.5f, .frames = 5, .mean_permille_q8 = 6};
        memory.epipolar.estimate[step.parity] = (struct vf_rig_estimate){
            .value = -0.25f, .weight = 500.0f, .frames = 64.0f, .age = 40.0f, .square = 90.0f};
        memory.ego.disparity[step.parity] = (struct vf_rig_estimate){
            .value = 0.5f, .uncorrected = 0.25f, .weight = 800.0f, .frames = 32.0f, .age = 16.0f, .square = 70.0f};
        RUN(report);
        const vfront_health_t *h = &result()->health;
        assert_int_equal(h->stereo, active ? VFRONT_STEREO_SUSPECT : VFRONT_STEREO_NONE);
        assert_int_equal(h->stereo_permille, active ? 321 : 0);
        same_float(h->stereo_offset_px, active ? 1.5 : 0.0);
        same_float(h->epipolar_offset_px, active ? -0.25 : 0.0);
        same_float(h->disparity_offset_px, active ? 0.5 : 0.0);
        const double epipolar = active ? deviation(90.0, 500.0, 64.0, 40.0) : 1.0;
        const double disparity = active ? hypot(deviation(70.0, 800.0, 32.0, 16.0), 0.4 * 0.25) : 1.0;
        REQUIRE(fabs((double)h->epipolar_sigma_px - epipolar) < 1e-6, "rows: %g", (double)h->epipolar_sigma_px);
        REQUIRE(fabs((double)h->disparity_sigma_px - disparity) < 1e-6, "disparity: %g", (double)h->disparity_sigma_px);
    }
}
#endif

/** Corners in `count` cells of a camera, with any key; noise after the last cell. */
static void random_corners(int32_t camera, int32_t count)
{
    const int32_t cells = cells_of(camera);
    uint64_t *corner = memory.detect.corner[step.parity][camera];
    scribble(memory.detect.corner[step.parity ^ 1][camera], sizeof memory.detect.corner[0][0]); /* must not matter */
    scribble(corner, sizeof memory.detect.corner[0][0]);
    for (int32_t cell = 0; cell < cells; cell++) corner[cell] = 0;
    for (int32_t left = count; left > 0;) {
        uint64_t *one = corner + roll(cells);
        left -= *one == 0;
        *one = 1ull << roll(62);
        if (roll(2)) *one = vf_detect_key(roll(2), (uint32_t)(1 + roll(4080)), roll(VFRONT_SCALES), roll(64), roll(64));
    }
}

/** Corners beyond the slots of a camera's groups, in none of them, one or many; noise for absent groups. Returns their
 *  number. */
static uint32_t random_dropped(int32_t camera, int some)
{
    uint32_t all = 0;
    for (int32_t group = 0; group < VFRONT_SCALES; group++) {
        const int last = group == groups() - 1, here = some && (roll(2) || (last && !all));
        const uint32_t dropped = here ? 1 + (uint32_t)roll(30000) : 0;
        memory.select.dropped[camera][group] = group < groups() ? dropped : 1 + (uint32_t)roll(30000);
        all += group < groups() ? dropped : 0;
    }
    return all;
}

/** Cells without a corner, corners beyond the slots, and full lists, per camera. */
static void full_and_starved(void **state)
{
    (void)state;
    shake(15);
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t full = i & 1 ? VFRONT_FULL_TRACKS : 0, dropped[VFRONT_CAMERAS];
        int32_t starved[VFRONT_CAMERAS];
        set_up_empty();
        step.tuning.select_share_percent = i & 32 ? 0 : 91;
        step.tuning.detect_levels = between(1, VFRONT_SCALES);
        share_out();
        memory.refill.overflow = i & 1 ? 1 + (uint32_t)roll(1000) : 0;
        scribble(memory.detect.best, sizeof memory.detect.best); /* must not matter */
        for (int32_t c = 0; c < VFRONT_CAMERAS; c++) {
            starved[c] = i % 32 < 8 ? 0 : i % 32 < 16 ? cells_of(c) : roll(cells_of(c) + 1);
            random_corners(c, cells_of(c) - starved[c]);
            dropped[c] = random_dropped(c, i >> 1 >> c & 1);
            full |= dropped[c] ? 2u << c : 0;
        }
        RUN(report);
        const vfront_health_t *h = &result()->health;
        assert_int_equal(h->full, full);
        assert_int_equal(h->overflow, memory.refill.overflow);
        for (int32_t c = 0; c < VFRONT_CAMERAS; c++) {
            assert_int_equal(h->dropped[c], dropped[c]);
            assert_int_equal(h->cells[c], cells_of(c));
            assert_int_equal(h->starved[c], starved[c]);
        }
    }
}

static void states_and_quality(void **state)
{
    static const struct {
        uint64_t frame;
        uint32_t followed, lost, gap;
        int32_t target;
        uint32_t state, quality;
    } known[] = {
        {0, 0, 0, 0, 200, VFRONT_STARTING, 1},     {0, 0, 0, 1, 200, VFRONT_STARTING, 1},
        {1, 200, 0, 0, 200, VFRONT_TRACKING, 100}, {1, 100, 100, 0, 200, VFRONT_TRACKING, 50},
        {1, 99, 101, 0, 200, VFRONT_DEGRADED, 49}, {1, 200, 0, 1, 200, VFRONT_DEGRADED, 100},
        {1, 1, 0, 0, 3, VFRONT_DEGRADED, 33},      {1, 2, 0, 0, 3, VFRONT_TRACKING, 66},
        {1, 1, 0, 0, 1, VFRONT_TRACKING, 100},     {1ull << 40, 4, 0, 0, 200, VFRONT_DEGRADED, 2},
        {1, 0, 0, 0, 0, VFRONT_TRACKING, 100}, /* nothing is to be tracked */
        {1, 0, 1, 0, 200, VFRONT_LOST, 1},         {1, 0, 200, 1, 200, VFRONT_LOST, 1},
        {1, 0, 0, 0, 200, VFRONT_DEGRADED, 1},     {1, 1, 5, 0, 200, VFRONT_DEGRADED, 1},
        {0, 0, 0, 0, 0, VFRONT_STARTING, 100},     {1, 0, 0, 1, 0, VFRONT_DEGRADED, 100},
    };
    (void)state;
    shake(7);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        set_up_empty();
        memory.ingest.params.frame = known[i].frame;
        memory.ingest.params.gap = known[i].gap;
        memory.refill.followed = known[i].followed;
        memory.refill.lost_count = known[i].lost > VFRONT_TRACKS ? VFRONT_TRACKS : known[i].lost;
        memory.report.chain[step.parity ^ 1] = (struct vf_chain){3, 0, known[i].followed + known[i].lost > 0, 0};
        step.tuning.track_target = known[i].target;
        RUN(report);
        REQUIRE(result()->health.state == known[i].state && result()->health.quality == known[i].quality,
                "line %zu: state %u quality %u", i, result()->health.state, result()->health.quality);
    }
}

#if VFRONT_EGO
enum { NONE, GOOD, ROTATION, FEW, UNSURE }; /* as vfront_motion_state_t */

/** One frame of a history: counts and motions, and the state by the table at vfront_health_state_t. */
struct chain_step {
    uint32_t followed, born, relative, metric;
    uint32_t state, reset_counter, motion_breaks;
};

static void run_chain_step(uint64_t frame, const struct chain_step *p)
{
    step.parity = (int32_t)(frame & 1);
    memory.ingest.params.frame = frame;
    memory.refill.followed = p->followed;
    memory.refill.born = p->born;
    memory.refill.counts[step.parity].count = p->followed + p->born;
    memory.ego.relative.state = p->relative;
    memory.ego.metric.state = p->metric;
    RUN(report);
}

static void set_up_chain(void)
{
    set_up_empty();
    step.tuning.ego = step.geometry.calibrated[0] = 1;
    step.tuning.track_target = 4;
    step.tuning.first_counter = 20;
    memory.ingest.params.reset_counter = 10;
    scribble(memory.report.chain, sizeof memory.report.chain); /* not read in the first frame */
}

/** Histories that continue and that end, with and without a metric motion, frame by frame. */
static void chains(void **state)
{
    enum { START = VFRONT_STARTING, TRACK = VFRONT_TRACKING, BAD = VFRONT_DEGRADED, LOST = VFRONT_LOST };
    static const struct chain_step known[] = {
        {0, 4, NONE, NONE, START, 10, 20},   {4, 0, GOOD, GOOD, TRACK, 10, 20},
        {0, 4, UNSURE, GOOD, BAD, 10, 20}, /* all tracks end, but the motion is known */
        {4, 0, GOOD, UNSURE, TRACK, 10, 21}, {3, 1, GOOD, FEW, TRACK, 10, 21},   /* one gap, of two frames */
        {4, 0, GOOD, GOOD, TRACK, 10, 21},   {0, 4, GOOD, UNSURE, LOST, 11, 22}, /* the relative one does not count */
        {0, 4, GOOD, UNSURE, LOST, 12, 22}, /* again: none of its tracks is followed */
        {0, 0, UNSURE, FEW, LOST, 13, 22},   {0, 0, UNSURE, FEW, BAD, 13, 22},  /* lasts one frame */
        {0, 0, UNSURE, GOOD, BAD, 13, 22},   {0, 0, UNSURE, GOOD, BAD, 13, 22}, /* by the motion alone */
        {0, 4, UNSURE, FEW, LOST, 14, 23},   {2, 2, UNSURE, FEW, TRACK, 14, 23},
        {1, 3, UNSURE, FEW, BAD, 14, 23},    {0, 0, ROTATION, FEW, LOST, 15, 23},
        {0, 0, GOOD, GOOD, BAD, 15, 23},     {0, 0, GOOD, NONE, BAD, 15, 24}, /* missing: also a gap */
    };
    static const struct chain_step mono[] = {
        {0, 4, NONE, NONE, START, 10, 20},  {0, 4, GOOD, NONE, BAD, 10, 20},  {0, 4, ROTATION, NONE, BAD, 10, 20},
        {0, 4, UNSURE, NONE, LOST, 11, 20}, {0, 0, FEW, NONE, LOST, 12, 20},  {0, 0, FEW, NONE, BAD, 12, 20},
        {0, 0, GOOD, NONE, BAD, 12, 20},    {0, 0, NONE, NONE, LOST, 13, 20},
    };
    (void)state;
    shake(19);
    for (int which = 0; which < 2; which++) {
        const struct chain_step *p = which ? mono : known;
        const size_t steps = which ? sizeof mono / sizeof *mono : sizeof known / sizeof *known;
        set_up_chain();
        for (size_t i = 0; i < steps; i++) {
            run_chain_step(i, &p[i]);
            const vfront_health_t *h = &result()->health;
            REQUIRE(h->state == p[i].state && h->reset_counter == p[i].reset_counter &&
                        h->motion_breaks == p[i].motion_breaks,
                    "%s, step %zu: state %u reset_counter %u motion_breaks %u", which ? "mono" : "stereo", i, h->state,
                    h->reset_counter, h->motion_breaks);
        }
    }
}

/** Random histories against the wording of vfront.h. */
static void random_chains(void **state)
{
    uint32_t losses_seen = 0, breaks_seen = 0;
    (void)state;
    shake(20);
    for (int round = 0; round < 200; round++) {
        struct chain_step p[40] = {{0}};
        uint32_t losses = 0, breaks = 0;
        const int mono = roll(2);
        set_up_chain();
        for (int i = 0; i < 40; i++) {
            p[i].followed = i ? (uint32_t)(roll(2) * roll(5)) : 0;
            p[i].born = (uint32_t)(roll(2) * roll(5));
            p[i].relative = i ? (uint32_t)roll(5) : NONE;
            p[i].metric = i && !mono ? (uint32_t)between(roll(4) ? GOOD : NONE, UNSURE) : NONE;
            const struct chain_step *b = i ? &p[i - 1] : NULL;
            int known[2];
            for (int k = 0; k < 2; k++) {
                const struct chain_step *q = k ? b : &p[i];
                known[k] = q && (q->metric == GOOD ||
                                 (q->metric == NONE && (q->relative == GOOD || q->relative == ROTATION)));
            }
            const int lost = b && !p[i].followed && !known[0] && (b->followed || b->born || known[1]);
            losses += (uint32_t)lost;
            breaks += b && b->metric == GOOD && p[i].metric != GOOD;
            run_chain_step((uint64_t)i, &p[i]);
            const vfront_health_t *h = &result()->health;
            assert_int_equal(h->state == VFRONT_LOST, lost);
            assert_int_equal(h->reset_counter, 10 + losses);
            assert_int_equal(h->motion_breaks, 20 + breaks);
        }
        losses_seen += losses;
        breaks_seen += breaks;
    }
    assert_true(losses_seen > 300 && breaks_seen > 300);
}

/** Counters wrap from their last value to 0. */
static void counters_wrap(void **state)
{
    (void)state;
    shake(21);
    set_up_chain();
    memory.report.chain[0] = (struct vf_chain){UINT32_MAX, UINT32_MAX, 1, 1};
    memory.ingest.params.reset_counter = 0;
    const struct chain_step p = {0, 0, UNSURE, UNSURE, 0, 0, 0};
    run_chain_step(9, &p);
    assert_int_equal(result()->health.state, VFRONT_LOST);
    assert_int_equal(result()->health.reset_counter, 0);
    assert_int_equal(result()->health.motion_breaks, 0);
}
#endif

/** Brightness sums randomly distributed over the tiles; floats against double precision: the mean, truncated to 1/256
 *  grey level. */
static void brightness_sums(void **state)
{
    (void)state;
    shake(8);
    for (int i = 0; i < 50; i++) {
        double sum[VFRONT_CAMERAS] = {0}, edge[VFRONT_CAMERAS] = {0}, dark[VFRONT_CAMERAS] = {0},
               bright[VFRONT_CAMERAS] = {0};
        set_up(VFRONT_CAMERAS, between(16, VFRONT_WIDTH), between(16, VFRONT_HEIGHT), 0);
        set_up_empty();
        for (int32_t c = 0; c < VFRONT_CAMERAS; c++)
            lay_out_levels(c, between(16, VFRONT_WIDTH), between(16, VFRONT_HEIGHT), 0);
        set_cells_about(64, 64);
        scribble(memory.pyramid.tile, sizeof memory.pyramid.tile); /* tiles beyond the image are not summed */
        for (int32_t c = 0; c < VFRONT_CAMERAS; c++) {
            const struct vf_level *l = &step.geometry.level[c][0];
            const int32_t across = (int32_t)ceil(l->width / 64.0), tiles = across * (int32_t)ceil(l->height / 64.0);
            for (int32_t t = 0; t < tiles; t++) {
                const int32_t left = l->width - t % across * 64, below = l->height - t / across * 64;
                const int32_t pixels = (left < 64 ? left : 64) * (below < 64 ? below : 64);
                const struct vf_tile_stats one = {(uint32_t)roll(pixels * 255 + 1), (uint32_t)roll(pixels + 1),
                                                  (uint32_t)roll(pixels + 1), (uint32_t)roll(pixels * 255 + 1)};
                memory.pyramid.tile[c][t] = one;
                sum[c] += one.sum;
                edge[c] += one.edge;
                dark[c] += one.dark;
                bright[c] += one.bright;
            }
        }
        RUN(report);
        for (int32_t c = 0; c < VFRONT_CAMERAS; c++) {
            const struct vf_level *l = &step.geometry.level[c][0];
            const double pixels = (double)l->width * l->height, differences = 4.0 * (l->width / 2) * (l->height / 2);
            const vfront_health_t *h = &result()->health;
            same_float(h->brightness_grey[c], floor(sum[c] / pixels * 256.0) / 256.0);
            same_float(h->sharpness_grey[c], floor(edge[c] / differences * 256.0) / 256.0);
            assert_int_equal(h->dark_permille[c], floor(dark[c] * 1000.0 / pixels));
            assert_int_equal(h->bright_permille[c], floor(bright[c] * 1000.0 / pixels));
        }
    }
}

/** Tiles of camera 0 of one brightness and one sharpness [grey levels]. */
static void even_brightness(uint32_t brightness, uint32_t sharpness)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    const int32_t across = (l->width + 63) / 64, tiles = across * ((l->height + 63) / 64);
    for (int32_t t = 0; t < tiles; t++) {
        const int32_t left = l->width - t % across * 64, below = l->height - t / across * 64;
        const int32_t width = left < 64 ? left : 64, height = below < 64 ? below : 64;
        const struct vf_tile_stats one = {brightness * (uint32_t)(width * height), 0, 0,
                                          sharpness * 4u * (uint32_t)(width / 2 * (height / 2))};
        memory.pyramid.tile[0][t] = one;
    }
}

/** Changes of brightness, by hand: against the running mean, with the floors of vfront.h. */
static void changes_of_brightness(void **state)
{
    static const struct {
        uint32_t brightness, sharpness, times, brightness_changed, sharpness_changed;
    } variant[] = {
        {100, 20, 1, 0, 0},                      /* the first frame has no predecessor */
        {100, 20, 9, 0, 0},  {150, 40, 1, 0, 0}, /* 151 of 101, 40.25 of 20.25 */
        {100, 20, 60, 0, 0}, {152, 41, 1, 1, 1}, {100, 20, 60, 0, 0}, {65, 10, 1, 0, 0},
        {100, 20, 60, 0, 0}, {64, 9, 1, 1, 1},   {100, 20, 60, 0, 0}, {0, 0, 1, 1, 1},
    };
    (void)state;
    set_up_empty();
    lay_out_levels(0, 128, 128, 0);
    set_cells_about(64, 64);
    scribble(memory.report.running_mean, sizeof memory.report.running_mean); /* not read in the first frame */
    memory.ingest.params.frame = 0;
    for (size_t i = 0; i < sizeof variant / sizeof *variant; i++)
        for (uint32_t n = 0; n < variant[i].times; n++, memory.ingest.params.frame++) {
            step.parity ^= 1;
            even_brightness(variant[i].brightness, variant[i].sharpness);
            RUN(report);
            const vfront_health_t *h = &result()->health;
            if (n + 1 < variant[i].times) continue; /* returns to the mean */
            REQUIRE(h->brightness_changed[0] == variant[i].brightness_changed &&
                        h->sharpness_changed[0] == variant[i].sharpness_changed,
                    "line %zu: %u %u", i, h->brightness_changed[0], h->sharpness_changed[0]);
        }
    even_brightness(30, 5); /* lasting: it becomes the mean */
    int frames = 0;
    do {
        step.parity ^= 1;
        memory.ingest.params.frame++;
        RUN(report);
    } while (result()->health.brightness_changed[0] && ++frames < 100);
    REQUIRE(frames > 3 && frames < 20, "usual after %d frames", frames);
}

/** The largest image, all white and all black: nothing overflows. */
static void brightness_at_its_limits(void **state)
{
    (void)state;
    shake(9);
    for (int white = 0; white < 2; white++) {
        set_up_empty();
        lay_out_levels(0, VFRONT_WIDTH, VFRONT_HEIGHT, 0);
        set_cells_about(64, 64);
        for (int32_t y = 0; y < VFRONT_HEIGHT; y += 64)
            for (int32_t x = 0; x < VFRONT_WIDTH; x += 64) {
                const uint32_t pixels = 64 * (uint32_t)(VFRONT_HEIGHT - y < 64 ? VFRONT_HEIGHT - y : 64);
                const struct vf_tile_stats tile = {white ? 255 * pixels : 0, white ? 0 : pixels, white ? pixels : 0,
                                                   255 * pixels};
                memory.pyramid.tile[0][y / 64 * (VFRONT_WIDTH / 64) + x / 64] = tile;
            }
        RUN(report);
        same_float(result()->health.brightness_grey[0], white ? 255.0 : 0.0);
        assert_int_equal(result()->health.dark_permille[0], white ? 0 : 1000);
        assert_int_equal(result()->health.bright_permille[0], white ? 1000 : 0);
        if (VFRONT_HEIGHT % 2 == 0) same_float(result()->health.sharpness_grey[0], 255.0);
    }
}

/** A camera that the rig does not have reports zeros, whatever its memory contains. */
static void absent_camera(void **state)
{
    (void)state;
    if (VFRONT_CAMERAS < 2) skip();
    shake(10);
    set_up_empty();
    step.geometry.cameras = 1;
    scribble(memory.pyramid.tile[1], sizeof memory.pyramid.tile[1]);
    for (int32_t group = 0; group < VFRONT_SCALES; group++)
        memory.select.count[VFRONT_CAMERAS - 1][group] = memory.select.dropped[VFRONT_CAMERAS - 1][group] = 5;
    for (int parity = 0; parity < 2; parity++)
        scribble(memory.detect.corner[parity][VFRONT_CAMERAS - 1], sizeof memory.detect.corner[0][0]);
    scribble(result(), sizeof *result());
    RUN(report);
    const vfront_health_t *h = &result()->health;
    assert_int_equal(result()->keypoints_count[VFRONT_CAMERAS - 1], 0);
    assert_int_equal(result()->descriptors_count[VFRONT_CAMERAS - 1], 0);
    assert_true(h->cells[VFRONT_CAMERAS - 1] == 0 && h->starved[VFRONT_CAMERAS - 1] == 0);
    assert_true(h->dropped[VFRONT_CAMERAS - 1] == 0 && h->full == 0);
    same_float(h->brightness_grey[VFRONT_CAMERAS - 1], 0.0);
    same_float(h->sharpness_grey[VFRONT_CAMERAS - 1], 0.0);
    assert_true(h->dark_permille[VFRONT_CAMERAS - 1] == 0 && h->bright_permille[VFRONT_CAMERAS - 1] == 0);
}

/** The stage changes only its own memory in the arena. */
static void all_else_stays(void **state)
{
    (void)state;
    shake(11);
    scribble_arena();
    set_up_empty();
    for (int32_t camera = 0; camera < VFRONT_CAMERAS; camera++) random_points(camera, VFRONT_KEYPOINTS);
    memcpy(&expected, &memory, sizeof memory);
    const struct vf_chain *before = &memory.report.chain[step.parity ^ 1];
    expected.report.chain[step.parity] = (struct vf_chain){before->losses + (before->linked != 0),
                                                           before->breaks + (before->metric != 0), 0, 0};
    memset(memory.report.running_mean, 0, sizeof memory.report.running_mean); /* tested by changes_of_brightness() */
    memset(memory.report.interval, 0, sizeof memory.report.interval);         /* tested by irregular_intervals() */
    RUN(report);
    memcpy(expected.report.running_mean, memory.report.running_mean, sizeof memory.report.running_mean);
    memcpy(expected.report.interval, memory.report.interval, sizeof memory.report.interval);
    same_arena("report");
}

/* ---- digest ------------------------------------------------------------------------------------------------------ */

static void make_sample(uint64_t seed)
{
    shake(seed);
    scribble(&sample, sizeof sample);
    sample.tracks_count = 3;
    sample.lost_count = 2;
    for (uint32_t c = 0; c < VFRONT_CAMERAS; c++) {
        sample.keypoints_count[c] = sample_keypoints(c);
        sample.descriptors_count[c] = sample_descriptors(c);
    }
    sample.depths_count = VFRONT_STEREO * sample_matches();
    sample.matches_count = VFRONT_MATCHES * sample_matches();
#if VFRONT_MAP
    sample.keyframes_count = 5;
    sample.loops_count = 2;
    sample.loop_pairs_count = 3;
#endif
}

/** Flips each byte of a result: the digest changes, or does not, as specified. */
static void every_byte_counts_or_not(void **state)
{
    size_t covered = 0;
    (void)state;
    make_sample(12);
    const uint64_t digest = vfront_digest(&sample);
    uint8_t *bytes = (uint8_t *)&sample;
    for (size_t at = 0; at < sizeof sample; at++) {
        const uint8_t flip = (uint8_t)(1u << roll(8));
        if (is_count(at)) continue; /* below: a wrong count would read beyond the arrays */
        bytes[at] ^= flip;
        REQUIRE((vfront_digest(&sample) == digest) == is_exempt(at), "byte %zu", at);
        bytes[at] ^= flip;
        covered += !is_exempt(at);
    }
    assert_true(covered > 250);
    assert_int_equal(vfront_digest(&sample), digest);
}

static void every_bit_of_a_field_counts(void **state)
{
    (void)state;
    make_sample(13);
    const uint64_t digest = vfront_digest(&sample);
    uint8_t *bytes = (uint8_t *)&sample;
    for (size_t bit = 0; bit < 8 * sizeof sample; bit++) {
        if (is_count(bit / 8) || is_exempt(bit / 8)) continue;
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
        REQUIRE(vfront_digest(&sample) != digest, "byte %zu bit %zu", bit / 8, bit % 8);
        bytes[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

static void every_count_counts(void **state)
{
    enum { LISTS = 3 + (1 + VFRONT_DESCRIPTORS) * VFRONT_CAMERAS, COUNTS = LISTS + VFRONT_STEREO + VFRONT_MATCHES };
    uint64_t digest[COUNTS];
    (void)state;
    for (int i = 0; i < COUNTS; i++) {
        make_sample(14);
        if (i == 1) sample.tracks_count++;
        if (i == 2) sample.lost_count++;
        if (i > 2 && i < 3 + VFRONT_CAMERAS) sample.keypoints_count[i - 3]++;
        if (i >= 3 + VFRONT_CAMERAS && i < LISTS) sample.descriptors_count[i - 3 - VFRONT_CAMERAS]++;
        if (i == LISTS && VFRONT_STEREO) sample.depths_count++;
        if (i == LISTS + VFRONT_STEREO && VFRONT_MATCHES) sample.matches_count++;
        digest[i] = vfront_digest(&sample);
        for (int k = 0; k < i; k++) assert_true(digest[k] != digest[i]);
    }
    memset(&sample, 0, sizeof sample); /* also where what the counts bring in is zeros */
    digest[0] = vfront_digest(&sample);
    sample.tracks_count = 1;
    digest[1] = vfront_digest(&sample);
    sample.tracks_count = 0;
    sample.lost_count = 1;
    digest[2] = vfront_digest(&sample);
    assert_true(digest[0] != digest[1] && digest[0] != digest[2] && digest[1] != digest[2]);
}

static void put_doubles(const double *value, int n)
{
    for (int i = 0; i < n; i++) {
        uint64_t bits;
        memcpy(&bits, &value[i], sizeof bits);
        put(bits, 8);
    }
}

static void put_nav(const vfront_nav_t *n)
{
    put(n->t_ns, 8);
    put(n->age_ns, 8);
    put_doubles(n->position_m, 3);
    put_doubles(n->velocity_mps, 3);
    put_doubles(n->q_odom_imu, 4);
    put_doubles(n->gyro_bias_rad_s, 3);
    put_doubles(n->accel_bias_m_s2, 3);
    put_doubles(n->covariance, 120);
    put_doubles(&n->offset_s, 1);
    put_doubles(&n->offset_sigma_s, 1);
    put_doubles(&n->residual_mean_square, 1);
    put(n->flags, 4);
    put(n->state, 4);
    put(n->landmarks, 4);
    put(n->quality, 4);
    put(n->reset_counter, 4);
    put(n->protection, 4);
    put_doubles(n->protection_level_m, 3);
    put_doubles(n->protection_level_rad, 3);
    put_doubles(n->protection_level_mps, 3);
}

/** Tests that were made. */
static void put_innovations(const vfront_innovation_t *test)
{
    for (uint64_t i = 0; i < VFRONT_TESTS; i++, test++) {
        if (!(test->test_ratio > 0.0)) continue;
        put(i, 4);
        put_doubles(test->value, 9);
        put_doubles(test->variance, 9);
        put_doubles(&test->test_ratio, 1);
    }
}

/** The order of the fields is fixed, because digests are compared between versions. A count precedes its list; the
 *  cameras' fields of health go camera by camera. */
static void order_of_the_fields(void **state)
{
    (void)state;
    assert_true(fnv1a("", 0) == 0xcbf29ce484222325ull && fnv1a("foobar", 6) == 0x85944171f73967e8ull); /* published */
    for (uint64_t seed = 15; seed < 25; seed++) {
        make_sample(seed);
        written_count = 0;
        put(sample.t_ns, 8);
        put(sample.t_mid_ns, 8);
        put(sample.frame, 8);
        put_health(&sample.health);
        put_lists();
        put_matches();
        put_motion(&sample.relative);
        put_motion(&sample.metric);
        put_motion(&sample.good);
        put_prediction(&sample.predicted);
        if (seed % 2) sample.nav.state = 0; /* then there is none, and nothing of it counts */
        for (int i = 0; i < VFRONT_TESTS; i++) sample.innovation[i].test_ratio = (double)((seed >> i) % 2);
        if (sample.nav.state) put_nav(&sample.nav), put_innovations(sample.innovation);
#if VFRONT_MAP
        if (seed % 3 == 0) sample.keyframes_count = 0; /* likewise */
        put_loops();
#endif
        assert_true(vfront_digest(&sample) == fnv1a((const char *)written, written_count));
    }
    assert_true(vfront_digest(NULL) == 0);
}

int main(void)
{
    const struct CMUnitTest test[] = {
        cmocka_unit_test(frame_and_times),
        cmocka_unit_test(tracks),
        cmocka_unit_test(lost_tracks),
        cmocka_unit_test(key_points),
        cmocka_unit_test(known_slots),
        cmocka_unit_test(known_key_points),
#if VFRONT_STEREO && VFRONT_MATCHES
        cmocka_unit_test(depths_and_matches),
#endif
        cmocka_unit_test(motions),
#if VFRONT_VIO
        cmocka_unit_test(input_of_the_supervisor),
#endif
#if VFRONT_MAP
        cmocka_unit_test(loops),
#endif
        cmocka_unit_test(counts_are_passed_on),
        cmocka_unit_test(irregular_intervals),
#if VFRONT_EGO
        cmocka_unit_test(time_in_health),
        cmocka_unit_test(rig_offsets),
#endif
        cmocka_unit_test(full_and_starved),
        cmocka_unit_test(states_and_quality),
#if VFRONT_EGO
        cmocka_unit_test(chains),
        cmocka_unit_test(random_chains),
        cmocka_unit_test(counters_wrap),
#endif
        cmocka_unit_test(brightness_sums),
        cmocka_unit_test(changes_of_brightness),
        cmocka_unit_test(brightness_at_its_limits),
        cmocka_unit_test(absent_camera),
        cmocka_unit_test(all_else_stays),
        cmocka_unit_test(every_byte_counts_or_not),
        cmocka_unit_test(every_bit_of_a_field_counts),
        cmocka_unit_test(every_count_counts),
        cmocka_unit_test(order_of_the_fields),
    };
    return cmocka_run_group_tests_name("report", test, NULL, NULL);
}
