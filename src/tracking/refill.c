/* SPDX-License-Identifier: MIT */
#include "core/stages.h"

/** Splits the moved features into those that live, in order, and those that ended. Marks the slots in use. */
static uint32_t part(const struct vf_step *s, uint32_t count, uint8_t used[VFRONT_TRACKS])
{
    struct vf_track_memory *m = &s->memory->track;
    struct vf_refill_memory *r = &s->memory->refill;
    uint32_t live = 0;
    r->lost_count = 0;
    memset(r->ended, 0, sizeof r->ended);
    memset(used, 0, VFRONT_TRACKS);
    for (uint32_t i = 0; i < count; i++) {
        const struct vf_feature *f = &m->moved[i];
        if (f->end) {
            r->lost[r->lost_count++] = i;
            r->ended[f->end]++;
            continue;
        }
        used[f->slot] = 1;
        m->feature[s->parity][live++] = *f;
    }
    return live;
}

/** Bars every cell that holds a live feature, or whose corner lies too near to one. */
static void bar_cells(const struct vf_step *s, uint32_t live, uint8_t barred[VFRONT_CELLS])
{
    const struct vf_feature *f = s->memory->track.feature[s->parity];
    const uint64_t *corner = s->memory->detect.corner[0];
    memset(barred, 0, VFRONT_CELLS);
    for (uint32_t i = 0; i < live; i++) {
        const int32_t home = vf_refill_cell(&s->geometry, &s->tuning, f[i].x_q16, f[i].y_q16);
        const struct vf_window w = vf_refill_window(&s->geometry, &s->tuning, home);
        barred[home] = 1;
        for (int32_t y = w.y0; y <= w.y1; y++)
            for (int32_t x = w.x0; x <= w.x1; x++) {
                const int32_t cell = y * s->geometry.cells_x[0] + x;
                const struct vf_place p = vf_detect_place(&s->geometry, corner[cell]);
                barred[cell] |= (uint8_t)vf_refill_near(&s->tuning, f[i].x_q16, f[i].y_q16, p.x_q16, p.y_q16);
            }
    }
}

/** Whether no better corner of another cell lies too near. */
static int clear_of_corners(const struct vf_step *s, int32_t cell, uint64_t key)
{
    const struct vf_window w = vf_refill_window(&s->geometry, &s->tuning, cell);
    const struct vf_place p = vf_detect_place(&s->geometry, key);
    for (int32_t y = w.y0; y <= w.y1; y++) {
        for (int32_t x = w.x0; x <= w.x1; x++) {
            const uint64_t other = s->memory->detect.corner[0][y * s->geometry.cells_x[0] + x];
            const struct vf_place q = vf_detect_place(&s->geometry, other);
            if (other > key && vf_refill_near(&s->tuning, q.x_q16, q.y_q16, p.x_q16, p.y_q16)) return 0;
        }
    }
    return 1;
}

/** Fills in the candidates; returns how many there are. */
static uint32_t find_candidates(const struct vf_step *s, int32_t cells, uint32_t live)
{
    uint8_t barred[VFRONT_CELLS];
    uint32_t found = 0;
    bar_cells(s, live, barred);
    for (int32_t cell = 0; cell < cells; cell++) {
        const uint64_t key = s->memory->detect.corner[0][cell];
        const int fit = key && !barred[cell] && clear_of_corners(s, cell, key);
        s->memory->refill.candidate[cell] = fit ? key : 0;
        found += (uint32_t)fit;
    }
    return found;
}

/** The least key among the `wanted` best candidates, bit by bit from the top. */
static uint64_t least_wanted(const struct vf_step *s, int32_t cells, uint32_t wanted)
{
    uint64_t least = 0;
    for (int bit = VF_KEY_BITS - 1; bit >= 0; bit--) {
        const uint64_t trial = least | 1ull << bit;
        uint32_t above = 0;
        for (int32_t cell = 0; cell < cells; cell++) above += s->memory->refill.candidate[cell] >= trial;
        if (above >= wanted) least = trial;
    }
    return least;
}

void vf_refill_host(const struct vf_step *s)
{
    if (!s->tuning.track_target) return;
    struct vf_track_memory *m = &s->memory->track;
    struct vf_refill_memory *r = &s->memory->refill;
    const struct vf_census before = vf_refill_before(s->memory->ingest.params.frame, &m->census[s->parity ^ 1]);
    const int32_t cells = vf_cells(&s->geometry, 0);
    uint8_t used[VFRONT_TRACKS];

    const uint32_t live = part(s, before.count, used);
    const uint32_t wanted = (uint32_t)vf_refill_wanted(&s->tuning, (int32_t)live);
    const uint32_t found = wanted ? find_candidates(s, cells, live) : 0;
    const uint64_t least = found > wanted ? least_wanted(s, cells, wanted) : 1;
    uint32_t born = 0, slot = 0;
    for (int32_t cell = 0; found && cell < cells; cell++) {
        if (r->candidate[cell] < least) continue;
        while (used[slot]) slot++;
        m->feature[s->parity][live + born] = vf_refill_born(&s->geometry, r->candidate[cell], before.ids + born + 1,
                                                            slot++);
        born++;
    }
    r->followed = live;
    r->born = born;
    r->overflow = found > wanted ? found - wanted : 0;
    m->census[s->parity] = vf_refill_census(&before, live, born);
}
