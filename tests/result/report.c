/* SPDX-License-Identifier: MIT */
/* report: every field of a result from states that are known, health by hand, and the digest: which bytes of a result it
 * covers, and in which order. */
#include "tests/fixture/stage.h"

/* ---- a known state ----------------------------------------------------------------------------------------------- */

static vfront_result_t *result(void) { return &pinned.result[memory.ingest.params.result]; }

/** Two cameras where there are two, no key points, no features, no light. */
static void set_up_empty(void)
{
    set_up(VFRONT_CAMERAS, 50, 40, 0);
    if (VFRONT_CAMERAS > 1) lay_out_levels(VFRONT_CAMERAS - 1, 40, 50, 0);
    set_cells_about(16, 16);
    memset(&memory.ingest.params, 0, sizeof memory.ingest.params);
    memset(memory.select.count, 0, sizeof memory.select.count);
    memset(memory.select.dropped, 0, sizeof memory.select.dropped);
    memset(memory.detect.corner, 0, sizeof memory.detect.corner);
    memset(memory.pyramid.light, 0, sizeof memory.pyramid.light);
    memset(&memory.refill, 0, sizeof memory.refill);
    memset(memory.track.census, 0, sizeof memory.track.census);
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
    f->end = (uint8_t)between(1, VFRONT_ENDS - 1);
}

/* ---- fields ------------------------------------------------------------------------------------------------------ */

/** Compares floats by their bits. */
static void same_float(float is, double should)
{
    const float nearest = (float)should;
    REQUIRE(memcmp(&is, &nearest, sizeof is) == 0, "is %.9g, should be %.9g", (double)is, (double)nearest);
}

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
        vf_report_host(&step);
        assert_int_equal(result()->t_ns, memory.ingest.params.t_ns);
        assert_int_equal(result()->t_mid_ns, memory.ingest.params.t_mid_ns);
        assert_int_equal(result()->frame, memory.ingest.params.frame);
        assert_int_equal(result()->health.dt_ns, memory.ingest.params.dt_ns);
        assert_int_equal(pinned.done, memory.ingest.params.ticket);
        assert_memory_equal(&result()->timing, &timing, sizeof timing); /* is the host's to write */
        assert_memory_equal(&pinned.result[(i + 1) % 3], &pinned.result[(i + 2) % 3], sizeof pinned.result[0]);
    }
}

/** Whether the motion of camera 0 was asked for. */
static int ego_on(void) { return VFRONT_EGO && step.tuning.ego && step.geometry.calibrated[0]; }

/** Motions, and who agrees with them: anything. */
static void random_ego(void)
{
    step.tuning.ego = VFRONT_EGO && roll(4) > 0;
    scribble(&memory.ego, sizeof memory.ego);
#if VFRONT_EGO
    for (uint32_t i = 0; i < VFRONT_SIGHTS; i++) memory.ego.agrees[i] = (uint8_t)roll(4);
#endif
}

/** With which motions a candidate agrees, tracks first, then matches. */
static uint32_t agrees_of(uint32_t candidate)
{
#if VFRONT_EGO
    return memory.ego.agrees[candidate];
#else
    return candidate & 0;
#endif
}

/** A grid of bearings 8 px apart, from two places before the picture on: a pinhole `focal` px long about a corner of the picture.
 *  From the column `blind` on there are none. */
static void make_grid(double focal, int32_t blind)
{
    const struct vf_level *l = &step.geometry.level[0][0];
    const int32_t across = step.geometry.nodes_x[0], down = (int32_t)ceil(l->height / 8.0) + 5;
    for (int32_t j = 0; j < down; j++)
        for (int32_t i = 0; i < across; i++) {
            const double x = 8.0 * (i - 2) / focal, y = 8.0 * (j - 2) / focal, z = 1.0 / sqrt(x * x + y * y + 1.0);
            memory.bearing.node[0][j * across + i] = (struct vf_node){(float)(x * z), (float)(y * z), (float)z,
                                                                      i < blind};
        }
}

/** The bearing of a track: of that pinhole, none where a place of the 4x4 around is blind, none of a camera that is not calibrated. */
static void compare_bearing(const float is[3], const struct vf_feature *f, double focal, int32_t blind, int calibrated)
{
    const double x = f->x_q16 / 65536.0 / focal, y = f->y_q16 / 65536.0 / focal, z = 1.0 / sqrt(x * x + y * y + 1.0);
    const int seen = calibrated && (int32_t)floor(f->x_q16 / 65536.0 / 8.0) + 2 + 2 < blind;
    const double should[3] = {seen ? x * z : 0.0, seen ? y * z : 0.0, seen ? z : 0.0};
    for (int k = 0; k < 3; k++)
        REQUIRE(seen ? fabs((double)is[k] - should[k]) < 3e-7 : is[k] == 0.0f, "at %.3f: %.9f, should be %.9f",
                f->x_q16 / 65536.0, (double)is[k], should[k]);
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
        struct vf_feature *f = memory.track.feature[step.parity];
        for (uint32_t i = 0; i < count; i++) random_feature(&f[i], 1000 + 3 * (uint64_t)i);
        for (uint32_t i = 0; i < count; i++) f[i].age = roll(3) ? 1 + (uint32_t)roll(9) : 0;
        memory.track.census[step.parity] = (struct vf_census){99, count, 0};
        random_ego();
        vf_report_host(&step);
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
        }
    }
}

static void lost_tracks(void **state)
{
    (void)state;
    shake(3);
    for (uint32_t count = 0; count <= VFRONT_TRACKS; count += VFRONT_TRACKS / 32) {
        set_up_empty();
        memory.refill.lost_count = count;
        for (uint32_t i = 0; i < VFRONT_TRACKS; i++) random_feature(&memory.track.moved[i], i + 1);
        const uint32_t gap = VFRONT_TRACKS - count;
        for (uint32_t i = 0; i < count; i++) memory.refill.lost[i] = i + (i < count / 2 ? gap / 2 : gap);
        vf_report_host(&step);
        assert_int_equal(result()->lost_count, count);
        for (uint32_t i = 0; i < count; i++) {
            const struct vf_feature *f = &memory.track.moved[memory.refill.lost[i]];
            const vfront_lost_t *l = &result()->lost[i];
            assert_int_equal(l->id, f->id);
            same_float(l->x_px, f->x_q16 / 65536.0);
            same_float(l->y_px, f->y_q16 / 65536.0);
            assert_int_equal(l->age, f->age);
            assert_int_equal(l->end, f->end);
        }
    }
}

/** Key points of a camera in its slots, kept apart from the arena. */
struct point {
    int32_t level, u, v, strong;
    uint32_t score;
};
static struct point point[VFRONT_CAMERAS][VFRONT_KEYPOINTS];

static void put_point(int32_t camera, int32_t slot, struct point p)
{
    point[camera][slot] = p;
    memory.select.key[camera][slot] = vf_detect_key(p.strong, p.score, p.level, p.u, p.v);
}

/** Groups of levels that share slots: each level searched has its own where there are shares. */
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

/** Key points of a camera: in each group as many as it has slots, none, or some, `most` at most. Noise for angles,
 *  descriptors and bearings, in slots that stay empty, and for what is counted in groups that there are not. */
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

/** Size of the pixels of a level [px of level 0], in 2^-16 as vfront.h says. */
static double size_of(int32_t level)
{
    return floor(pow((double)VFRONT_SCALE_NUM / VFRONT_SCALE_DEN, level) * 65536.0 + 0.5) / 65536.0;
}

/** Level 0 coordinate of a pixel of a level, a multiple of 2^-16: the centre, rounded down where it has one bit more. */
static double place_of(int32_t u, int32_t level)
{
    return floor(((u + 0.5) * size_of(level) - 0.5) * 65536.0) / 65536.0;
}

static int32_t cell_of(int32_t camera, double x, double y)
{
    const int32_t column = (int32_t)floor(x + 0.5) / step.tuning.cell_width_px;
    const int32_t row = (int32_t)floor(y + 0.5) / step.tuning.cell_height_px;
    return row * step.geometry.cells_x[camera] + column;
}

/** Compares the i-th key point of a result with what stands in a slot. */
static void compare_point(int32_t camera, uint32_t i, int32_t slot, int described)
{
    const struct point *p = &point[camera][slot];
    const vfront_keypoint_t *is = &result()->keypoints[camera][i];
    const double x = place_of(p->u, p->level), y = place_of(p->v, p->level);
    same_float(is->x_px, x);
    same_float(is->y_px, y);
    assert_int_equal(is->level, p->level);
    assert_int_equal(is->score, p->score);
    assert_int_equal(is->weak, !p->strong);
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

/** The key points of a camera: those of all groups without a gap, in the order of their slots; behind them all is as it was. */
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

/** Key points with shares and without, described or not, of cameras of different sizes, in groups full, empty or between. */
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
        vf_report_host(&step);
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
        vf_report_host(&step);
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
    vf_report_host(&step);
    const vfront_keypoint_t *is = &result()->keypoints[0][0];
    assert_int_equal(result()->keypoints_count[0], 1);
    assert_true(is->x_px == 7.0f && is->y_px == 9.0f && is->score == 4080 && !is->weak && is->level == 0 &&
                is->cell == 0);
    if (VFRONT_SCALES < 2 || VFRONT_SCALE_NUM * 5 != VFRONT_SCALE_DEN * 6) skip();
    put_point(0, 0, (struct point){1, 27, 2, 0, UINT32_MAX});
    vf_report_host(&step);
    assert_true(is->score == UINT32_MAX && is->weak == 1 && is->level == 1);
    /* 27.5 * 1.2 - 0.5; halves are rounded up */
    assert_true(fabs((double)is->x_px - 32.5) < 1e-4 && fabs((double)is->y_px - 2.5) < 1e-4);
    if (step.tuning.cell_width_px == 16) assert_int_equal(is->cell, 2);
}

#if VFRONT_STEREO && VFRONT_MATCHES
/** Whether partners of a kind can be had: with descriptors, and for depths a second camera that is placed. */
enum { OFF_TUNED, OFF_UNDESCRIBED, OFF_UNWANTED, OFF_ALONE, OFF_UNPLACED, ON };
static void set_up_partners(int why)
{
    set_up_empty();
    step.geometry.pair.placed = why != OFF_UNPLACED;
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

/** Depths and matches are copied as they stand, but for what agrees with a motion, as many as there are; none where the tuning or the rig leaves none. */
static void partners(void **state)
{
    (void)state;
    shake(17);
    for (int i = 0; i < 60; i++) {
        const int why = i % (ON + 1);
        set_up_partners(why);
        vf_report_host(&step);
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

/** Motions are copied as they stand; where none was asked for they are the identity. */
static void motions(void **state)
{
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
#if VFRONT_EGO
        if (ego_on())
            relative = &memory.ego.relative, metric = &memory.ego.metric, good = &memory.ego.good[step.parity];
#endif
        scribble(result(), sizeof *result());
        vf_report_host(&step);
        assert_memory_equal(&result()->relative, relative, sizeof *relative);
        assert_memory_equal(&result()->metric, metric, sizeof *metric);
        assert_memory_equal(&result()->good, good, sizeof *good);
    }
}

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
    memory.ingest.params.reset_counter = 100;
    memory.track.census[step.parity].losses = 7;
    memory.track.census[step.parity ^ 1].losses = 70;
    vf_report_host(&step);
    const vfront_health_t *h = &result()->health;
    assert_int_equal(h->followed, 11);
    assert_int_equal(h->born, 12);
    assert_int_equal(h->overflow, 13);
    for (uint32_t i = 0; i < VFRONT_ENDS; i++) assert_int_equal(h->ended[i], 20 + i);
    assert_int_equal(h->gap, 1);
    assert_int_equal(h->reset_counter, 107);
}

/** Corners of tracks in `count` cells of a camera, whatever is in their keys; noise behind the last cell. */
static void random_corners(int32_t camera, int32_t count)
{
    const int32_t cells = cells_of(camera);
    uint64_t *corner = memory.detect.corner[camera];
    scribble(corner, sizeof memory.detect.corner[camera]);
    for (int32_t cell = 0; cell < cells; cell++) corner[cell] = 0;
    for (int32_t left = count; left > 0;) {
        uint64_t *one = corner + roll(cells);
        left -= *one == 0;
        *one = 1ull << roll(62);
        if (roll(2)) *one = vf_detect_key(roll(2), (uint32_t)(1 + roll(4080)), roll(VFRONT_SCALES), roll(64), roll(64));
    }
}

/** Corners beyond the slots of a camera's groups, in none of them, one or many; noise for absent groups. Returns how many. */
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

/** Cells without a corner, corners beyond the slots, and the lists that were full, camera by camera. */
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
        scribble(memory.detect.best, sizeof memory.detect.best); /* is of no account */
        for (int32_t c = 0; c < VFRONT_CAMERAS; c++) {
            starved[c] = i % 32 < 8 ? 0 : i % 32 < 16 ? cells_of(c) : roll(cells_of(c) + 1);
            random_corners(c, cells_of(c) - starved[c]);
            dropped[c] = random_dropped(c, i >> 1 >> c & 1);
            full |= dropped[c] ? 2u << c : 0;
        }
        vf_report_host(&step);
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
        int32_t target, degraded_percent;
        uint32_t state, quality;
    } known[] = {
        {0, 0, 0, 0, 200, 50, VFRONT_STARTING, 1},
        {0, 0, 0, 1, 200, 50, VFRONT_STARTING, 1},
        {1, 200, 0, 0, 200, 50, VFRONT_TRACKING, 100},
        {1, 100, 100, 0, 200, 50, VFRONT_TRACKING, 50},
        {1, 99, 101, 0, 200, 50, VFRONT_DEGRADED, 49},
        {1, 99, 0, 0, 200, 49, VFRONT_TRACKING, 49},
        {1, 199, 0, 0, 200, 100, VFRONT_DEGRADED, 99},
        {1, 200, 0, 0, 200, 100, VFRONT_TRACKING, 100},
        {1, 0, 0, 0, 200, 1, VFRONT_DEGRADED, 1},
        {1, 1, 0, 0, 200, 1, VFRONT_DEGRADED, 1},
        {1, 2, 0, 0, 200, 1, VFRONT_TRACKING, 1},
        {1, 200, 0, 1, 200, 50, VFRONT_DEGRADED, 100},
        {1, 0, 1, 0, 200, 50, VFRONT_LOST, 1},
        {1, 0, 200, 1, 200, 50, VFRONT_LOST, 1},
        {1, 0, 0, 0, 200, 50, VFRONT_DEGRADED, 1},
        {1, 1, 5, 0, 200, 50, VFRONT_DEGRADED, 1},
        {1, 1, 5, 0, 200, 2, VFRONT_DEGRADED, 1},
        {1, 1, 0, 0, 1, 100, VFRONT_TRACKING, 100},
        {1, 2, 0, 0, 3, 67, VFRONT_DEGRADED, 66},
        {1, 2, 0, 0, 3, 66, VFRONT_TRACKING, 66},
        {1ull << 40, 4, 0, 0, 200, 2, VFRONT_TRACKING, 2},
        {0, 0, 0, 0, 0, 50, VFRONT_STARTING, 100},
        {1, 0, 0, 0, 0, 100, VFRONT_TRACKING, 100}, /* nothing is to be tracked */
        {1, 0, 0, 1, 0, 50, VFRONT_DEGRADED, 100},
    };
    (void)state;
    shake(7);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        set_up_empty();
        memory.ingest.params.frame = known[i].frame;
        memory.ingest.params.gap = known[i].gap;
        memory.refill.followed = known[i].followed;
        memory.refill.lost_count = known[i].lost > VFRONT_TRACKS ? VFRONT_TRACKS : known[i].lost;
        step.tuning.track_target = known[i].target;
        step.tuning.health_degraded_percent = known[i].degraded_percent;
        vf_report_host(&step);
        REQUIRE(result()->health.state == known[i].state && result()->health.quality == known[i].quality,
                "line %zu: state %u quality %u", i, result()->health.state, result()->health.quality);
    }
}

/** Sums of light in random portions over the tiles; floats against double precision: the mean, cut to 1/256 grey level. */
static void light(void **state)
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
        scribble(memory.pyramid.light, sizeof memory.pyramid.light); /* tiles beyond the picture's are not summed up */
        for (int32_t c = 0; c < VFRONT_CAMERAS; c++) {
            const struct vf_level *l = &step.geometry.level[c][0];
            const int32_t across = (int32_t)ceil(l->width / 64.0), tiles = across * (int32_t)ceil(l->height / 64.0);
            for (int32_t t = 0; t < tiles; t++) {
                const int32_t left = l->width - t % across * 64, below = l->height - t / across * 64;
                const int32_t pixels = (left < 64 ? left : 64) * (below < 64 ? below : 64);
                const struct vf_light one = {(uint32_t)roll(pixels * 255 + 1), (uint32_t)roll(pixels + 1),
                                             (uint32_t)roll(pixels + 1), (uint32_t)roll(pixels * 255 + 1)};
                memory.pyramid.light[c][t] = one;
                sum[c] += one.sum;
                edge[c] += one.edge;
                dark[c] += one.dark;
                bright[c] += one.bright;
            }
        }
        vf_report_host(&step);
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

/** The largest picture, all white and all black: nothing overflows. */
static void light_at_its_limits(void **state)
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
                const struct vf_light tile = {white ? 255 * pixels : 0, white ? 0 : pixels, white ? pixels : 0,
                                              255 * pixels};
                memory.pyramid.light[0][y / 64 * (VFRONT_WIDTH / 64) + x / 64] = tile;
            }
        vf_report_host(&step);
        same_float(result()->health.brightness_grey[0], white ? 255.0 : 0.0);
        assert_int_equal(result()->health.dark_permille[0], white ? 0 : 1000);
        assert_int_equal(result()->health.bright_permille[0], white ? 1000 : 0);
        if (VFRONT_HEIGHT % 2 == 0) same_float(result()->health.sharpness_grey[0], 255.0);
    }
}

/** A camera that the rig does not have reports zeros, whatever its memory holds. */
static void absent_camera(void **state)
{
    (void)state;
    if (VFRONT_CAMERAS < 2) skip();
    shake(10);
    set_up_empty();
    step.geometry.cameras = 1;
    scribble(memory.pyramid.light[1], sizeof memory.pyramid.light[1]);
    for (int32_t group = 0; group < VFRONT_SCALES; group++)
        memory.select.count[VFRONT_CAMERAS - 1][group] = memory.select.dropped[VFRONT_CAMERAS - 1][group] = 5;
    scribble(memory.detect.corner[VFRONT_CAMERAS - 1], sizeof memory.detect.corner[0]);
    scribble(result(), sizeof *result());
    vf_report_host(&step);
    const vfront_health_t *h = &result()->health;
    assert_int_equal(result()->keypoints_count[VFRONT_CAMERAS - 1], 0);
    assert_int_equal(result()->descriptors_count[VFRONT_CAMERAS - 1], 0);
    assert_true(h->cells[VFRONT_CAMERAS - 1] == 0 && h->starved[VFRONT_CAMERAS - 1] == 0);
    assert_true(h->dropped[VFRONT_CAMERAS - 1] == 0 && h->full == 0);
    same_float(h->brightness_grey[VFRONT_CAMERAS - 1], 0.0);
    same_float(h->sharpness_grey[VFRONT_CAMERAS - 1], 0.0);
    assert_true(h->dark_permille[VFRONT_CAMERAS - 1] == 0 && h->bright_permille[VFRONT_CAMERAS - 1] == 0);
}

/** The stage changes nothing in the arena but its own part. */
static void all_else_stays(void **state)
{
    (void)state;
    shake(11);
    scribble_arena();
    set_up_empty();
    for (int32_t camera = 0; camera < VFRONT_CAMERAS; camera++) random_points(camera, VFRONT_KEYPOINTS);
    memcpy(&expected, &memory, sizeof memory);
    vf_report_host(&step);
    same_arena("report");
}

/* ---- digest ------------------------------------------------------------------------------------------------------ */

static vfront_result_t sample;

/** Key points of a camera in the sample; there is room for one more. */
static uint32_t sample_keypoints(uint32_t camera) { return VFRONT_KEYPOINTS > 3 ? 2 + camera : 0; }

/** Descriptors: as many, but in camera 0 one less, to tell the two counts apart. */
static uint32_t sample_descriptors(uint32_t camera)
{
    return sample_keypoints(camera) ? sample_keypoints(camera) - !camera : 0;
}

/** Depths, and matches. */
static uint32_t sample_partners(void) { return VFRONT_KEYPOINTS > 3 ? 2 : 0; }

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
    sample.depths_count = VFRONT_STEREO * sample_partners();
    sample.matches_count = VFRONT_MATCHES * sample_partners();
}

/** Whether a byte lies in a list, from the entry `count` on, of the `room` that there are. */
static int is_beyond(size_t at, size_t list, size_t entry, size_t count, size_t room)
{
    return at >= list + count * entry && at < list + room * entry;
}
#define BEYOND(list, count)                                                                                            \
    is_beyond(at, offsetof(vfront_result_t, list), sizeof *sample.list, (count),                                       \
              sizeof sample.list / sizeof *sample.list)

/** Where the fields of a result end, and what aligns the whole begins. */
static size_t end_of_fields(void)
{
#if VFRONT_MATCHES
    return offsetof(vfront_result_t, matches) + sizeof sample.matches;
#elif VFRONT_DESCRIPTORS
    return offsetof(vfront_result_t, descriptors) + sizeof sample.descriptors;
#else
    return offsetof(vfront_result_t, keypoints) + sizeof sample.keypoints;
#endif
}

/** Whether a byte lies in a list of partners where it does not count: behind the last, or reserved. */
static int is_exempt_partner(size_t at)
{
#if VFRONT_STEREO
    const size_t reserved = offsetof(vfront_result_t, depths) + offsetof(vfront_depth_t, reserved);
    for (uint32_t i = 0; i < sample.depths_count; i++)
        if (at - reserved - i * sizeof *sample.depths < sizeof sample.depths->reserved) return 1;
    if (BEYOND(depths, sample.depths_count)) return 1;
#endif
#if VFRONT_MATCHES
    if (BEYOND(matches, sample.matches_count)) return 1;
#endif
    return at >= end_of_fields();
}

/** Whether a byte of the sample is outside of what a digest is over: `timing`, health.reset_counter, what is reserved, what aligns, and
 *  what lies beyond the counts. Everything else counts, so that a new field cannot be forgotten. */
static int is_exempt(size_t at)
{
    const size_t reset = offsetof(vfront_result_t, health) + offsetof(vfront_health_t, reset_counter);
    if (at >= reset && at < reset + sizeof sample.health.reset_counter) return 1;
    /* what aligns dt_ns */
    const size_t gap = offsetof(vfront_result_t, health) + offsetof(vfront_health_t, gap);
    const size_t dt = offsetof(vfront_result_t, health) + offsetof(vfront_health_t, dt_ns);
    if (at >= gap + sizeof sample.health.gap && at < dt) return 1;
    /* timing, and what aligns tracks */
    if (at >= offsetof(vfront_result_t, timing) && at < offsetof(vfront_result_t, tracks)) return 1;
    static const size_t motion[] = {offsetof(vfront_result_t, relative), offsetof(vfront_result_t, metric),
                                    offsetof(vfront_result_t, good)};
    for (int i = 0; i < 3; i++) {
        const size_t used = offsetof(vfront_motion_t, covariance) + sizeof sample.good.covariance,
                     reserved = offsetof(vfront_motion_t, reserved);
        if (at >= motion[i] + used && at < motion[i] + sizeof sample.good) return 1; /* what aligns it */
        if (at >= motion[i] + reserved && at < motion[i] + reserved + sizeof sample.good.reserved) return 1;
    }
    VF_STATIC_ASSERT(offsetof(vfront_track_t, agrees) + sizeof(uint32_t) == sizeof(vfront_track_t),
                     "nothing aligns a track");
    if (BEYOND(tracks, sample.tracks_count) || BEYOND(lost, sample.lost_count)) return 1;
    for (uint32_t c = 0; c < VFRONT_CAMERAS; c++) {
        if (BEYOND(keypoints[c], sample_keypoints(c))) return 1;
#if VFRONT_DESCRIPTORS
        if (BEYOND(descriptors[c], sample_descriptors(c))) return 1;
#endif
    }
    return is_exempt_partner(at);
}

static int is_count(size_t at)
{
    return at >= offsetof(vfront_result_t, tracks_count) && at < offsetof(vfront_result_t, timing);
}

/** Flips each byte of a result: the digest changes, or it does not, as it should. */
static void every_byte_counts_or_not(void **state)
{
    size_t covered = 0;
    (void)state;
    make_sample(12);
    const uint64_t digest = vfront_digest(&sample);
    uint8_t *bytes = (uint8_t *)&sample;
    for (size_t at = 0; at < sizeof sample; at++) {
        const uint8_t flip = (uint8_t)(1u << roll(8));
        if (is_count(at)) continue; /* below: a wild count would read beyond the arrays */
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
    enum {
        PARTNERS = 3 + (1 + VFRONT_DESCRIPTORS) * VFRONT_CAMERAS,
        COUNTS = PARTNERS + VFRONT_STEREO + VFRONT_MATCHES
    };
    uint64_t digest[COUNTS];
    (void)state;
    for (int i = 0; i < COUNTS; i++) {
        make_sample(14);
        if (i == 1) sample.tracks_count++;
        if (i == 2) sample.lost_count++;
        if (i > 2 && i < 3 + VFRONT_CAMERAS) sample.keypoints_count[i - 3]++;
        if (i >= 3 + VFRONT_CAMERAS && i < PARTNERS) sample.descriptors_count[i - 3 - VFRONT_CAMERAS]++;
        if (i == PARTNERS && VFRONT_STEREO) sample.depths_count++;
        if (i == PARTNERS + VFRONT_STEREO && VFRONT_MATCHES) sample.matches_count++;
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

/* FNV-1a, 64 bits, as its authors publish it, over bytes put down low byte first. */
static uint8_t put_down[65536];
static size_t put_count;

static void put(uint64_t number, int bytes)
{
    for (; bytes > 0; bytes--, number /= 256) put_down[put_count++] = (uint8_t)(number % 256);
}

static void put_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    put(bits, 4);
}

static uint64_t fnv1a(const char *text, size_t count)
{
    uint64_t hash = 14695981039346656037ull;
    for (size_t i = 0; i < count; i++) hash = (hash ^ (uint8_t)text[i]) * 1099511628211ull;
    return hash;
}

static void put_health(const vfront_health_t *h)
{
    put(h->state, 4);
    put(h->quality, 4);
    put(h->followed, 4);
    put(h->born, 4);
    for (int i = 0; i < VFRONT_ENDS; i++) put(h->ended[i], 4);
    put(h->overflow, 4);
    put(h->full, 4);
    for (int c = 0; c < VFRONT_CAMERAS; c++) put(h->dropped[c], 4);
    put(h->gap, 4);
    put(h->dt_ns, 8);
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        put(h->cells[c], 4);
        put(h->starved[c], 4);
        put_float(h->brightness_grey[c]);
        put_float(h->sharpness_grey[c]);
        put(h->dark_permille[c], 4);
        put(h->bright_permille[c], 4);
    }
}

static void put_lists(void)
{
    put(sample.tracks_count, 4);
    for (const vfront_track_t *t = sample.tracks; t < sample.tracks + sample.tracks_count; t++) {
        const float number[] = {t->x_px, t->y_px, t->dx_px, t->dy_px, t->gain, t->offset_grey, t->residual_grey};
        put(t->id, 8);
        for (size_t i = 0; i < sizeof number / sizeof *number; i++) put_float(number[i]);
        put(t->age, 4);
        put(t->level, 4);
        put(t->score, 4);
        for (int k = 0; k < 3; k++) put_float(t->bearing[k]);
        put(t->agrees, 4);
    }
    put(sample.lost_count, 4);
    for (const vfront_lost_t *l = sample.lost; l < sample.lost + sample.lost_count; l++) {
        put(l->id, 8);
        put_float(l->x_px);
        put_float(l->y_px);
        put(l->age, 4);
        put(l->end, 4);
    }
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        put(sample.keypoints_count[c], 4);
        for (const vfront_keypoint_t *k = sample.keypoints[c]; k < sample.keypoints[c] + sample.keypoints_count[c];
             k++) {
            put_float(k->x_px);
            put_float(k->y_px);
            put_float(k->angle_rad);
            put(k->score, 4);
            put(k->cell, 2);
            put(k->level, 1);
            put(k->weak, 1);
            for (int i = 0; i < 3; i++) put_float(k->bearing[i]);
        }
#if VFRONT_DESCRIPTORS
        for (uint32_t i = 0; i < sample.descriptors_count[c]; i++)
            for (int k = 0; k < 8; k++) put(sample.descriptors[c][i].word[k], 4);
#endif
    }
}

static void put_partners(void)
{
    put(sample.depths_count, 4);
#if VFRONT_STEREO
    for (const vfront_depth_t *p = sample.depths; p < sample.depths + sample.depths_count; p++) {
        const float number[] = {p->x_px, p->y_px, p->depth_m, p->sigma_m};
        put(p->keypoint, 2);
        put(p->partner, 2);
        put(p->distance, 2);
        for (int i = 0; i < 4; i++) put_float(number[i]);
    }
#endif
    put(sample.matches_count, 4);
#if VFRONT_MATCHES
    for (const vfront_match_t *m = sample.matches; m < sample.matches + sample.matches_count; m++) {
        put(m->keypoint, 2);
        put(m->before, 2);
        put(m->distance, 2);
        put(m->second, 2);
        put(m->agrees, 2);
        put(m->settled, 2);
        put_float(m->x_px);
        put_float(m->y_px);
        for (int i = 0; i < 3; i++) put_float(m->bearing[i]);
    }
#endif
}

static void put_motion(const vfront_motion_t *m)
{
    const uint32_t number[] = {m->state, m->flags, m->pairs, m->inliers, m->others, m->hypotheses, m->needed};
    for (int i = 0; i < 7; i++) put(number[i], 4);
    put_float(m->rms_px);
    put_float(m->parallax_px);
    put(m->frame, 8);
    for (int i = 0; i < 9; i++) put_float(m->R[i]);
    for (int i = 0; i < 3; i++) put_float(m->t[i]);
    for (int i = 0; i < 21; i++) put_float(m->covariance[i]);
}

/** The order of the fields is part of the promise: digests are kept from version to version. A count stands right before
 *  its list, the cameras' fields of health camera by camera. */
static void order_of_the_fields(void **state)
{
    (void)state;
    assert_true(fnv1a("", 0) == 0xcbf29ce484222325ull && fnv1a("foobar", 6) == 0x85944171f73967e8ull); /* published */
    for (uint64_t seed = 15; seed < 25; seed++) {
        make_sample(seed);
        put_count = 0;
        put(sample.t_ns, 8);
        put(sample.t_mid_ns, 8);
        put(sample.frame, 8);
        put_health(&sample.health);
        put_lists();
        put_partners();
        put_motion(&sample.relative);
        put_motion(&sample.metric);
        put_motion(&sample.good);
        assert_true(vfront_digest(&sample) == fnv1a((const char *)put_down, put_count));
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
        cmocka_unit_test(partners),
#endif
        cmocka_unit_test(motions),
        cmocka_unit_test(counts_are_passed_on),
        cmocka_unit_test(full_and_starved),
        cmocka_unit_test(states_and_quality),
        cmocka_unit_test(light),
        cmocka_unit_test(light_at_its_limits),
        cmocka_unit_test(absent_camera),
        cmocka_unit_test(all_else_stays),
        cmocka_unit_test(every_byte_counts_or_not),
        cmocka_unit_test(every_bit_of_a_field_counts),
        cmocka_unit_test(every_count_counts),
        cmocka_unit_test(order_of_the_fields),
    };
    return cmocka_run_group_tests_name("report", test, NULL, NULL);
}
