/* SPDX-License-Identifier: MIT */
#include "stages.h"

void vf_bearing_row(struct vf_node *row, int32_t nodes, const struct vf_lens *lens, int32_t j)
{
    for (int32_t i = 0; i < nodes; i++) {
        const double px[2] = {VF_NODE_PX * (i - VF_NODES_BEFORE), VF_NODE_PX * (j - VF_NODES_BEFORE)};
        double bearing[3] = {0.0, 0.0, 0.0};
        row[i].holds = vf_lens_bearing(lens, px, bearing);
        row[i].x = (float)bearing[0];
        row[i].y = (float)bearing[1];
        row[i].z = (float)bearing[2];
    }
}

/** Clears the part of `mask` that lies between two places of the grid along both axes; returns its size. */
static uint32_t clear_square(uint8_t *mask, size_t pitch, int32_t width, int32_t height, int32_t i, int32_t j)
{
    const int32_t x0 = vf_max(VF_NODE_PX * (i - VF_NODES_BEFORE), 0), x1 = vf_min(VF_NODE_PX * (i + 1 - VF_NODES_BEFORE), width);
    const int32_t y0 = vf_max(VF_NODE_PX * (j - VF_NODES_BEFORE), 0), y1 = vf_min(VF_NODE_PX * (j + 1 - VF_NODES_BEFORE), height);
    if (x1 <= x0 || y1 <= y0) return 0;
    for (int32_t y = y0; y < y1 && mask; y++) memset(mask + (size_t)y * pitch + x0, 0, (size_t)(x1 - x0));
    return (uint32_t)((x1 - x0) * (y1 - y0));
}

uint32_t vf_bearing_blind(uint8_t *mask, size_t pitch, int32_t width, int32_t height, const struct vf_lens *lens)
{
    const int32_t across = vf_nodes(width), down = vf_nodes(height);
    struct vf_node row[VF_NODES(VFRONT_WIDTH)];
    uint8_t lacks[4][VF_NODES(VFRONT_WIDTH)]; /* of the last four rows of the grid */
    uint32_t blind = 0;
    for (int32_t j = 0; j < down; j++) {
        vf_bearing_row(row, across, lens, j);
        for (int32_t i = 0; i < across; i++) lacks[j % 4][i] = !row[i].holds;
        for (int32_t i = 1; j >= 3 && i < across - 2; i++) {
            int lacking = 0;
            for (int k = 0; k < 16; k++) lacking |= lacks[k / 4][i - 1 + k % 4];
            if (lacking) blind += clear_square(mask, pitch, width, height, i, j - 2);
        }
    }
    return blind;
}

void vf_bearing_host(const struct vf_step *s)
{
    struct vf_bearing_memory *m = &s->memory->bearing;
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++) {
        const uint32_t *count = s->memory->select.count[camera];
        struct vf_point *point = m->point[s->parity][camera];
        uint32_t *first = m->first[s->parity][camera];
        const uint32_t points = vf_keypoints(s, count);
        m->count[s->parity][camera] = points;
        if (!points) vf_bearing_none(first);
        for (uint32_t i = 0; i < points; i++) {
            point[i] = vf_bearing_point(s, m->node[camera], camera, s->memory->select.key[camera][vf_slot(s, count, (int32_t)i)]);
            vf_bearing_begin(first, i, points, i ? point[i - 1].level : 0, point[i].level);
        }
    }
    vf_bearing_forget(s, 0, 1);
}
