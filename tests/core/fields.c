/* SPDX-License-Identifier: MIT */
/* Fields of a result covered by its digest, and by the digests of its parts. */
#include "tests/fixture/pair.h"

static void must(vfront_status_t status)
{
    if (status) fail_msg("%s: %s", vfront_status_name(status), vfront_detail(&pair_vf));
}

/** Each part of a result changes its own digest and the full one, and no other. */
static void digest_of_parts(void **state)
{
    (void)state;
    static const uint32_t parts[] = {VFRONT_PART_REST, VFRONT_PART_DISPARITIES, VFRONT_PART_STIXELS, VFRONT_PART_ALL};
    static vfront_result_t r, changed;
    vfront_frame_t f = pair_frame(0);
    const vfront_result_t *got;
    must(vfront_step(&pair_vf, &f, &got));
    r = *got;
    assert_true(vfront_digest_parts(&r, VFRONT_PART_ALL) == vfront_digest(&r));
    assert_true(vfront_digest_parts(NULL, VFRONT_PART_ALL) == 0);
    for (int changes = 0; changes < 3; changes++) {
        changed = r;
        if (changes == 0) changed.health.quality ^= 1;
#if VFRONT_DENSE
        if (changes == 1) changed.disparity.valid ^= 1;
#endif
#if VFRONT_STIXELS
        if (changes == 2) changed.road.state ^= 1;
#endif
        for (int i = 0; i < 4; i++) {
            const int same = vfront_digest_parts(&changed, parts[i]) == vfront_digest_parts(&r, parts[i]);
            const int there = changes == 0 || (changes == 1 ? VFRONT_DENSE : VFRONT_STIXELS);
            if (same != !((i == changes || i == 3) && there)) fail_msg("part %u, change %d", parts[i], changes);
        }
    }
}

/** The output of a stage changes its digest, and no other except that of report, which covers all. */
static void digest_of_stages(void **state)
{
    (void)state;
    static vfront_result_t r, changed;
    vfront_frame_t f[2] = {pair_frame(0), pair_frame(1)};
    const vfront_result_t *got;
    for (int i = 0; i < 2; i++) must(vfront_step(&pair_vf, &f[i], &got));
    r = *got;
    assert_true(r.tracks_count && r.tracks[0].age && r.keypoints_count[0] && r.depths_count && r.matches_count);
    r.lost_count = 1;
    memset(r.lost, 1, sizeof *r.lost);
    uint32_t young = 0;
    while (young < r.tracks_count && r.tracks[young].age) young++;
    if (young == r.tracks_count) r.tracks[--young].age = 0;
    assert_true(young > 0);
    const struct {
        size_t stage;
        void *field;
    } row[] = {
        {VFRONT_STAGE_ingest, &changed.health.brightness_grey[0]},
        {VFRONT_STAGE_ingest, &changed.health.sharpness_grey[0]},
        {VFRONT_STAGE_ingest, &changed.health.dark_permille[0]},
        {VFRONT_STAGE_ingest, &changed.health.missing},
        {VFRONT_STAGE_freeze, &changed.health.frozen[0]},
        {VFRONT_STAGE_freeze, &changed.health.repeated},
        {VFRONT_STAGE_predict, &changed.predicted.t[1]},
        {VFRONT_STAGE_track, &changed.tracks[0].x_px},
        {VFRONT_STAGE_track, &changed.tracks[0].gain},
        {VFRONT_STAGE_track, &changed.lost[0].end},
        {VFRONT_STAGE_refill, &changed.tracks[young].y_px},
        {VFRONT_STAGE_refill, &changed.health.born},
        {VFRONT_STAGE_select, &changed.keypoints[0][0].score},
        {VFRONT_STAGE_select, &changed.health.dropped[0]},
        {VFRONT_STAGE_bearing, &changed.keypoints[0][0].bearing[2]},
        {VFRONT_STAGE_describe, &changed.keypoints[0][0].angle_rad},
        {VFRONT_STAGE_describe, &changed.descriptors[0][0].word[7]},
        {VFRONT_STAGE_stereo, &changed.depths[0].sigma_m},
        {VFRONT_STAGE_stereo, &changed.health.stereo},
        {VFRONT_STAGE_epipolar, &changed.health.epipolar_sigma_px},
        {VFRONT_STAGE_match, &changed.matches[0].x_px},
        {VFRONT_STAGE_partner, &changed.tracks[0].disparity_px},
        {VFRONT_STAGE_vio, &changed.nav.covariance[119]},
        {VFRONT_STAGE_ego, &changed.metric.covariance[20]},
        {VFRONT_STAGE_ego, &changed.tracks[0].agrees},
        {VFRONT_STAGE_ego, &changed.matches[0].agrees},
#if VFRONT_DENSE
        {VFRONT_STAGE_dense, &changed.disparity.valid},
#endif
#if VFRONT_STIXELS
        {VFRONT_STAGE_stixel, &changed.road.state},
#endif
        {VFRONT_STAGE_report, &changed.health.quality}
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        changed = r;
        *(uint8_t *)row[i].field ^= 1;
        for (size_t k = 0; k <= VFRONT_STAGES; k++) {
            const int same = vfront_digest_stage(&changed, k) == vfront_digest_stage(&r, k);
            const int counts = k == row[i].stage || (k == VFRONT_STAGE_report && row[i].stage != VFRONT_STAGE_vio);
            const int nav = row[i].stage == VFRONT_STAGE_vio && k == VFRONT_STAGE_report; /* without an estimate this
                                                                                             part is empty */
            if (!nav && same == counts) fail_msg("row %zu, stage %s", i, vfront_stage_name(k));
        }
    }
    assert_true(vfront_digest_stage(&r, VFRONT_STAGE_report) == vfront_digest(&r));
    assert_true(vfront_digest_stage(NULL, VFRONT_STAGE_report) == 0);
    assert_true(vfront_digest_stage(&r, VFRONT_STAGES) == 0 && vfront_digest_stage(&r, SIZE_MAX) == 0);
    assert_true(vfront_digest_stage(&r, VFRONT_STAGE_pyramid) == 0);
}

/** The digest covers every field of a result except timing and health.reset_counter, and nothing beyond the counts. */
static void digest_covers(void **state)
{
    (void)state;
    static vfront_result_t r, changed;
    vfront_frame_t f = pair_frame(0);
    const vfront_result_t *got;
    must(vfront_step(&pair_vf, &f, &got));
    r = *got;
    r.lost_count = 2;
    memset(r.lost, 1, 2 * sizeof *r.lost);
    r.depths_count = r.matches_count = 2;
    for (int i = 0; i < 2; i++) {
        memset(&r.depths[i], 1, sizeof r.depths[i]);
        memset(&r.matches[i], 1, sizeof r.matches[i]);
    }
#if VFRONT_DENSE
    static uint16_t px16[3][8];
    static uint8_t confidence[3][8];
    r.disparity = (vfront_disparity_t){px16[0], confidence[0], 5, 3, 8, 7};
#endif
    const uint64_t want = vfront_digest(&r);

    changed = r;
    memset(&changed.timing, 0x5a, sizeof changed.timing);
    changed.health.reset_counter ^= 1;
    memset(changed.tracks + r.tracks_count, 0x5a, sizeof *r.tracks);
    memset(changed.lost + r.lost_count, 0x5a, sizeof *r.lost);
    memset(changed.depths + r.depths_count, 0x5a, sizeof *r.depths);
    memset(changed.matches + r.matches_count, 0x5a, sizeof *r.matches);
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        if (r.keypoints_count[c] < VFRONT_KEYPOINTS)
            memset(changed.keypoints[c] + r.keypoints_count[c], 0x5a, sizeof **r.keypoints);
        if (r.descriptors_count[c] < VFRONT_KEYPOINTS)
            memset(changed.descriptors[c] + r.descriptors_count[c], 0x5a, sizeof **r.descriptors);
    }
    assert_true(vfront_digest(&changed) == want);

#define SEEN(member)                                                                                                   \
    do {                                                                                                               \
        for (size_t i = 0; i < 8 * sizeof r.member; i++) {                                                             \
            changed = r;                                                                                               \
            ((uint8_t *)&changed.member)[i / 8] ^= (uint8_t)(1u << i % 8);                                             \
            if (vfront_digest(&changed) == want) fail_msg("bit %d of " #member " does not count", (int)i);             \
        }                                                                                                              \
    } while (0)
    SEEN(t_ns);
    SEEN(t_mid_ns);
    SEEN(frame);
    SEEN(health.state);
    SEEN(health.quality);
    SEEN(health.motion_breaks);
    SEEN(health.followed);
    SEEN(health.born);
    SEEN(health.ended);
    SEEN(health.overflow);
    SEEN(health.gap);
    SEEN(health.gyro_short);
    SEEN(health.dt_ns);
    SEEN(health.cells);
    SEEN(health.starved);
    SEEN(health.brightness_grey);
    SEEN(health.sharpness_grey);
    SEEN(health.dark_permille);
    SEEN(health.bright_permille);
    SEEN(tracks[0].id);
    SEEN(tracks[0].x_px);
    SEEN(tracks[0].y_px);
    SEEN(tracks[0].dx_px);
    SEEN(tracks[0].dy_px);
    SEEN(tracks[0].gain);
    SEEN(tracks[0].offset_grey);
    SEEN(tracks[0].residual_grey);
    SEEN(tracks[0].age);
    SEEN(tracks[0].level);
    SEEN(tracks[0].score);
    SEEN(tracks[0].bearing);
    SEEN(tracks[1].score);
    SEEN(tracks[1].bearing);
    SEEN(depths[0].keypoint);
    SEEN(depths[0].match);
    SEEN(depths[0].distance);
    SEEN(depths[1].x_px);
    SEEN(depths[1].y_px);
    SEEN(depths[1].depth_m);
    SEEN(depths[1].sigma_m);
    SEEN(matches[0]);
    SEEN(matches[1]);
    SEEN(lost[0]);
    SEEN(lost[1].end);
    SEEN(keypoints[0][0]);
    SEEN(keypoints[VFRONT_CAMERAS - 1][1]);
    SEEN(health.dropped);
    SEEN(health.full);
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        const uint32_t last = r.keypoints_count[c] - 1;
        assert_true(last > 10 && r.descriptors_count[c] == last + 1);
        SEEN(keypoints[c][last].angle_rad);
        SEEN(keypoints[c][last].score);
        SEEN(keypoints[c][last].level);
        SEEN(descriptors[c][0]);
        SEEN(descriptors[c][last]);
        changed = r, changed.descriptors_count[c]--;
        assert_true(vfront_digest(&changed) != want);
        changed = r, changed.descriptors_count[c] = 0;
        assert_true(vfront_digest(&changed) != want);
    }
#if VFRONT_DENSE
    SEEN(disparity.valid);
    for (int y = 0; y < 3; y++)
        for (int x = 0; x < 8; x++)
            for (int bit = 0; bit < 24; bit++) { /* of both; data beyond the width is not covered */
                px16[y][x] ^= (uint16_t)(bit < 16 ? 1u << bit : 0);
                confidence[y][x] ^= (uint8_t)(bit < 16 ? 0 : 1u << (bit - 16));
                assert_int_equal(vfront_digest(&r) != want, x < 5);
                px16[y][x] = 0;
                confidence[y][x] = 0;
            }
#endif
    changed = r, changed.tracks_count--;
    assert_true(vfront_digest(&changed) != want);
    changed = r, changed.lost_count--;
    assert_true(vfront_digest(&changed) != want);
    changed = r, changed.keypoints_count[0]--;
    assert_true(vfront_digest(&changed) != want);
    changed = r, changed.depths_count--;
    assert_true(vfront_digest(&changed) != want);
    changed = r, changed.matches_count--;
    assert_true(vfront_digest(&changed) != want);
#undef SEEN
}

#define PAIR(test) cmocka_unit_test_setup_teardown(test, pair_start, pair_end)

int main(void)
{
    const struct CMUnitTest tests[] = {PAIR(digest_covers), PAIR(digest_of_parts), PAIR(digest_of_stages)};
    return pair_run("fields", tests, sizeof tests / sizeof *tests);
}
