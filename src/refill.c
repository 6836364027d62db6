/* SPDX-License-Identifier: MIT */
#include "stages.h"

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

/** Marks the cells that hold a live feature. */
static void mark_occupied(const struct vf_step *s, uint32_t live, uint8_t occupied[VFRONT_CELLS])
{
    const struct vf_feature *f = s->memory->track.feature[s->parity];
    memset(occupied, 0, VFRONT_CELLS);
    for (uint32_t i = 0; i < live; i++) occupied[vf_refill_cell(&s->geometry, &s->tuning, f[i].x_q16, f[i].y_q16)] = 1;
}

/** Whether a corner is far enough from every live feature. */
static int clear_of_features(const struct vf_step *s, struct vf_place p, uint32_t live)
{
    const struct vf_feature *f = s->memory->track.feature[s->parity];
    for (uint32_t i = 0; i < live; i++)
        if (vf_refill_near(&s->tuning, f[i].x_q16, f[i].y_q16, p.x_q16, p.y_q16)) return 0;
    return 1;
}

/** Whether no better corner of another cell lies too near. Only cells that the distance reaches are looked at. */
static int clear_of_corners(const struct vf_step *s, struct vf_place p, uint64_t key)
{
    const vfront_tuning_t *t = &s->tuning;
    const struct vf_geometry *g = &s->geometry;
    const uint64_t *best = s->memory->detect.best[0];
    const int32_t reach_x = vf_refill_reach(t->track_distance_px, t->cell_width_px);
    const int32_t reach_y = vf_refill_reach(t->track_distance_px, t->cell_height_px);
    const int32_t cx = p.cell % g->cells_x[0], cy = p.cell / g->cells_x[0];
    for (int32_t y = vf_max(cy - reach_y, 0); y <= vf_min(cy + reach_y, g->cells_y[0] - 1); y++) {
        for (int32_t x = vf_max(cx - reach_x, 0); x <= vf_min(cx + reach_x, g->cells_x[0] - 1); x++) {
            const uint64_t other = best[y * g->cells_x[0] + x];
            if (other <= key) continue;
            const struct vf_place q = vf_refill_place(g, t, vf_detect_corner(other));
            if (vf_refill_near(t, q.x_q16, q.y_q16, p.x_q16, p.y_q16)) return 0;
        }
    }
    return 1;
}

/** Fills in the candidates; returns how many there are. */
static uint32_t find_candidates(const struct vf_step *s, int32_t cells, uint32_t live)
{
    uint8_t occupied[VFRONT_CELLS];
    uint32_t found = 0;
    mark_occupied(s, live, occupied);
    for (int32_t cell = 0; cell < cells; cell++) {
        const uint64_t key = s->memory->detect.best[0][cell];
        const struct vf_place p = vf_refill_place(&s->geometry, &s->tuning, vf_detect_corner(key));
        const int fit = key && !occupied[cell] && clear_of_features(s, p, live) && clear_of_corners(s, p, key);
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
    struct vf_track_memory *m = &s->memory->track;
    struct vf_refill_memory *r = &s->memory->refill;
    const struct vf_census before = vf_refill_before(s->memory->ingest.params.frame, &m->census[s->parity ^ 1]);
    const int32_t cells = s->geometry.cells_x[0] * s->geometry.cells_y[0];
    uint8_t used[VFRONT_TRACKS];

    const uint32_t live = part(s, before.count, used);
    const uint32_t wanted = (uint32_t)vf_refill_wanted(&s->tuning, (int32_t)live);
    const uint32_t found = wanted ? find_candidates(s, cells, live) : 0;
    const uint64_t least = found > wanted ? least_wanted(s, cells, wanted) : 1;
    uint32_t born = 0, slot = 0;
    for (int32_t cell = 0; found && cell < cells; cell++) {
        if (r->candidate[cell] < least) continue;
        while (used[slot]) slot++;
        m->feature[s->parity][live + born] =
            vf_refill_born(&s->geometry, &s->tuning, r->candidate[cell], before.ids + born + 1, slot++);
        born++;
    }
    r->followed = live;
    r->born = born;
    r->overflow = found > wanted ? found - wanted : 0;
    m->census[s->parity] = vf_refill_census(&before, live, born);
}
