/* SPDX-License-Identifier: MIT */
/* Host form of road, part of stixel. */
#include "road.h"

#include "image/ingest.h"
#include "stixel.h"

#if VFRONT_STIXELS

/** 1 if a bin of the v-disparity histogram votes in the Hough transform. row: from the top. */
static int is_voter(const struct vf_stixel_memory *m, int32_t disparities, int32_t row, int32_t bin)
{
    return m->voters[(row * disparities + bin) / 32] >> bin % 32 & 1;
}

/** Key, vf_road_key(), of the plausible line with most votes; 0: no such line. */
static uint64_t strongest_line(const struct vf_stixel_view *s, const struct vf_stixel_memory *m)
{
    const int32_t disparities = s->tuning.dense_disparities, height = s->geometry.level[0][0].height;
    uint64_t best = 0;
    for (int32_t angle = 0; angle < VF_ROAD_ANGLES; angle++) {
        const double sine = m->tables.sine[angle], cosine = m->tables.cosine[angle];
        uint16_t votes[VFRONT_HEIGHT + VFRONT_DISPARITIES + 2] = {0};
        for (int32_t y = 0; y < height; y++)
            for (int32_t d = 1; d < disparities; d++)
                if (is_voter(m, disparities, y, d)) votes[vf_road_rho(sine, cosine, d, y, disparities)]++;
        for (int32_t i = 0; i < height + disparities + 2; i++) {
            const double horizon_px = (i - disparities) / sine;
            const uint64_t key = vf_road_key(votes[i], angle, i);
            if (votes[i] > VF_ROAD_VOTES_MIN && key > best && vf_road_plausible(s, horizon_px, -sine / cosine))
                best = key;
        }
    }
    return best;
}

/** Fits a line to the voting bins within 1 px of the strongest line. key: key of the strongest line. Returns 0 if there
 *  is no road. */
static int fit(const struct vf_stixel_view *s, const struct vf_stixel_memory *m, uint64_t key, double *horizon_px,
               double *slope)
{
    const int32_t disparities = s->tuning.dense_disparities, height = s->geometry.level[0][0].height;
    const int32_t angle = vf_road_key_angle(key), rho = vf_road_key_rho(key);
    struct vf_road_moments sums = {0, 0, 0, 0, 0, 0};
    if (!key) return 0;
    for (int32_t y = 0; y < height; y++)
        for (int32_t d = 1; d < disparities; d++)
            if (is_voter(m, disparities, y, d))
                vf_road_add(&sums, vf_road_rho(m->tables.sine[angle], m->tables.cosine[angle], d, y, disparities) - rho,
                            d, y);
    return vf_road_fit(s, &sums, horizon_px, slope);
}

void vf_road_find(const struct vf_stixel_view *s)
{
    struct vf_stixel_memory *m = s->stixel;
    const int32_t height = s->geometry.level[0][0].height;
    double horizon_px = 0.0, slope = 0.0;
    if (s->geometry.road_slope > 0.0f) {
        vf_road_given(s, &m->road);
    } else {
        const uint64_t key = strongest_line(s, m);
        const int found = fit(s, m, key, &horizon_px, &slope);
        vf_road_update(&m->road, s->ingest->params.frame == 0, found, horizon_px, slope, (uint32_t)(key >> 32));
    }
    m->horizon = vf_road_horizon(&m->road, height);
    if (m->horizon < 0) return;
    for (int32_t v = 0; v < height; v++) m->ground[v] = vf_road_ground(s, &m->tables, &m->road, m->horizon, v);
}

#endif
