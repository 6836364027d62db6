/* SPDX-License-Identifier: MIT */
#include "source_pair.h"

#include "clock.h"

int source_is_missing(const source_camera_t *c)
{
    return c->is_gone || (!c->is_held && clock_ns() > c->last_ns + SOURCE_PATIENCE_NS);
}

int source_are_together(const source_camera_t *c, int count, int *older)
{
    int there = 0;
    *older = -1;
    for (int i = 0; i < count; i++) {
        if (source_is_missing(&c[i])) continue;
        if (!c[i].is_held) return 0;
        there++;
    }
    if (there < 2) return there;
    const uint64_t a_ns = c[0].picture.t_ns, b_ns = c[1].picture.t_ns;
    if ((a_ns < b_ns ? b_ns - a_ns : a_ns - b_ns) <= SOURCE_APART_NS) return 1;
    *older = a_ns < b_ns ? 0 : 1;
    return 0;
}

void source_fill(vfront_frame_t *frame, const source_camera_t *c, int count, uint64_t *arrived_ns)
{
    frame->t_ns = c[c[0].is_held ? 0 : count - 1].picture.t_ns;
    *arrived_ns = 0;
    for (int i = 0; i < count; i++) {
        frame->picture[i].format = VFRONT_NO_PICTURE;
        if (!c[i].is_held) continue;
        frame->picture[i] = c[i].picture;
        if (c[i].arrived_ns > *arrived_ns) *arrived_ns = c[i].arrived_ns;
    }
}
