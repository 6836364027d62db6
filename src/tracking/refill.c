/* SPDX-License-Identifier: MIT */
/* Host form of refill: sorts out the features that ended, and makes new ones at detected corners. */
#include "refill.h"

#include "image/ingest.h"
#include "track.h"

/** 1 if tracked feature i has come so near to an older tracked feature that they merge. */
static int has_run_into_another(const struct vf_refill_view *s, uint32_t i)
{
    const struct vf_feature *f = s->track->moved;
    for (uint32_t j = 0; j < i; j++)
        if (!f[j].end && vf_refill_same(&s->tuning, f[i].x_q16, f[i].y_q16, f[j].x_q16, f[j].y_q16)) return 1;
    return 0;
}

/** Splits the features that track has moved into live and ended ones, and keeps their order. used: out, 1 for each
 *  template index in use. Returns the number of live features. */
static uint32_t split_features(const struct vf_refill_view *s, uint32_t count, uint8_t used[VFRONT_TRACKS])
{
    struct vf_refill_memory *r = s->refill;
    uint32_t live = 0;
    r->lost_count = 0;
    memset(r->ended, 0, sizeof r->ended);
    memset(used, 0, VFRONT_TRACKS);
    for (uint32_t i = 0; i < count; i++) {
        const struct vf_feature *f = &s->track->moved[i];
        const uint32_t end = f->end ? f->end : has_run_into_another(s, i) ? VFRONT_END_MERGED : 0;
        if (end) {
            r->lost[r->lost_count++] = i;
            r->ended[end]++;
            continue;
        }
        used[f->template_index] = 1;
        r->feature[s->parity][live++] = *f;
    }
    return live;
}

/** Marks every grid cell that gets no new feature: it contains a live feature, or its corner is too near to one. */
static void suppress_cells(const struct vf_refill_view *s, uint32_t live, uint8_t suppressed[VFRONT_CELLS])
{
    const struct vf_feature *f = s->refill->feature[s->parity];
    const uint64_t *corner = s->detect->corner[s->parity][0];
    memset(suppressed, 0, VFRONT_CELLS);
    for (uint32_t i = 0; i < live; i++) {
        const int32_t home = vf_refill_cell(&s->geometry, &s->tuning, f[i].x_q16, f[i].y_q16);
        const struct vf_cell_range w = vf_refill_neighbours(&s->geometry, &s->tuning, home);
        suppressed[home] = 1;
        for (int32_t y = w.y0; y <= w.y1; y++)
            for (int32_t x = w.x0; x <= w.x1; x++) {
                const int32_t cell = y * s->geometry.cells_x[0] + x;
                const struct vf_position_q16 p = vf_corner_position(s->geometry.step_q16, corner[cell]);
                suppressed[cell] |= (uint8_t)vf_refill_near(&s->tuning, f[i].x_q16, f[i].y_q16, p.x_q16, p.y_q16);
            }
    }
}

/** Non-maximum suppression: 1 if no better corner of another cell is too near to the corner of `cell`. key: key of that
 *  corner. */
static int is_local_best(const struct vf_refill_view *s, int32_t cell, uint64_t key)
{
    const struct vf_cell_range w = vf_refill_neighbours(&s->geometry, &s->tuning, cell);
    const struct vf_position_q16 p = vf_corner_position(s->geometry.step_q16, key);
    for (int32_t y = w.y0; y <= w.y1; y++) {
        for (int32_t x = w.x0; x <= w.x1; x++) {
            const uint64_t other = s->detect->corner[s->parity][0][y * s->geometry.cells_x[0] + x];
            const struct vf_position_q16 q = vf_corner_position(s->geometry.step_q16, other);
            if (other > key && vf_refill_near(&s->tuning, q.x_q16, q.y_q16, p.x_q16, p.y_q16)) return 0;
        }
    }
    return 1;
}

/** Selects the corners that may become new features, at most one per cell, into s->refill->candidate. Returns their
 *  number. */
static uint32_t find_candidates(const struct vf_refill_view *s, int32_t cells, uint32_t live)
{
    uint8_t suppressed[VFRONT_CELLS];
    uint32_t found = 0;
    suppress_cells(s, live, suppressed);
    for (int32_t cell = 0; cell < cells; cell++) {
        const uint64_t key = s->detect->corner[s->parity][0][cell];
        const int fit = key && !suppressed[cell] && is_local_best(s, cell, key);
        s->refill->candidate[cell] = fit ? key : 0;
        found += (uint32_t)fit;
    }
    return found;
}

/** Least key among the `wanted` best corners in s->refill->candidate, found bit by bit from the highest. */
static uint64_t threshold_key(const struct vf_refill_view *s, int32_t cells, uint32_t wanted)
{
    uint64_t threshold = 0;
    for (int bit = VF_KEY_BITS - 1; bit >= 0; bit--) {
        const uint64_t trial = threshold | 1ull << bit;
        uint32_t above = 0;
        for (int32_t cell = 0; cell < cells; cell++) above += s->refill->candidate[cell] >= trial;
        if (above >= wanted) threshold = trial;
    }
    return threshold;
}

void vf_refill_host(const struct vf_refill_view *s)
{
    struct vf_refill_memory *r = s->refill;
    const struct vf_track_counts before = vf_refill_counts_before(&s->tuning, s->ingest->params.frame,
                                                                  &r->counts[s->parity ^ 1]);
    const int32_t cells = s->geometry.cells[0];
    uint8_t used[VFRONT_TRACKS];

    const uint32_t live = split_features(s, before.count, used);
    const uint32_t wanted = (uint32_t)vf_refill_wanted(&s->tuning, (int32_t)live);
    const uint32_t found = wanted ? find_candidates(s, cells, live) : 0;
    const uint64_t threshold = found > wanted ? threshold_key(s, cells, wanted) : 1;
    uint32_t born = 0, template_index = 0;
    for (int32_t cell = 0; found && cell < cells; cell++) {
        if (r->candidate[cell] < threshold) continue;
        while (used[template_index]) template_index++;
        r->feature[s->parity][live + born] = vf_refill_born(s->geometry.step_q16, r->candidate[cell],
                                                            before.last_id + born + 1, template_index++);
        born++;
    }
    r->followed = live;
    r->born = born;
    r->overflow = found > wanted ? found - wanted : 0;
    r->counts[s->parity] = vf_refill_counts(&before, live, born);
}
