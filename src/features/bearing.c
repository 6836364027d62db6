/* SPDX-License-Identifier: MIT */
#include "core/stages.h"

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

/** Clears the pixels of a row, or only counts them, that lie in squares without a bearing. A place in the left half of a pixel may belong to
 *  the square before. */
static uint32_t clear_row(uint8_t *row, int32_t width, const uint8_t *lacking)
{
    uint32_t blind = 0;
    for (int32_t x = 0; x < width; x++) {
        const int32_t i = x / VF_NODE_PX + VF_NODES_BEFORE;
        if (!lacking[i] && !(x && x % VF_NODE_PX == 0 && lacking[i - 1])) continue;
        if (row) row[x] = 0;
        blind++;
    }
    return blind;
}

uint32_t vf_bearing_blind(uint8_t *mask, size_t pitch, int32_t width, int32_t height, const struct vf_lens *lens)
{
    const int32_t across = vf_nodes(width), down = vf_nodes(height);
    struct vf_node row[VF_NODES(VFRONT_WIDTH)];
    uint8_t lacks[4][VF_NODES(VFRONT_WIDTH)];                                 /* of the last four rows of the grid */
    uint8_t lacking[2][VF_NODES(VFRONT_WIDTH)], both[VF_NODES(VFRONT_WIDTH)]; /* of the last two rows of squares */
    uint32_t blind = 0;
    memset(lacking, 0, sizeof lacking);
    for (int32_t j = 0; j < down; j++) {
        vf_bearing_row(row, across, lens, j);
        for (int32_t i = 0; i < across; i++) lacks[j % 4][i] = !row[i].holds;
        if (j < 3) continue;
        uint8_t *const here = lacking[j % 2], *const above = lacking[(j + 1) % 2];
        for (int32_t i = 1; i < across - 2; i++) {
            here[i] = 0;
            for (int k = 0; k < 16; k++) here[i] |= lacks[k / 4][i - 1 + k % 4];
        }
        for (int32_t i = 0; i < across; i++) both[i] = here[i] | above[i];
        const int32_t first = VF_NODE_PX * (j - 2 - VF_NODES_BEFORE); /* row of pixels of these squares */
        for (int32_t y = vf_max(first, 0); y < vf_min(first + VF_NODE_PX, height); y++)
            blind += clear_row(mask ? mask + (size_t)y * pitch : NULL, width, y && y == first ? both : here);
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
            point[i] = vf_bearing_point(s, m->node[camera], camera,
                                        s->memory->select.key[camera][vf_slot(s, count, (int32_t)i)]);
            vf_bearing_begin(first, i, points, i ? point[i - 1].level : 0, point[i].level);
        }
    }
    vf_bearing_forget(s, 0, 1);
}
