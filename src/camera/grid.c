/* SPDX-License-Identifier: MIT */
#include "camera/grid.h"

void vf_grid_row(struct vf_node *row, int32_t nodes, const struct vf_lens *lens, int32_t j)
{
    for (int32_t i = 0; i < nodes; i++) {
        const double px[2] = {VF_GRID_PX * (i - VF_GRID_MARGIN), VF_GRID_PX * (j - VF_GRID_MARGIN)};
        double bearing[3] = {0.0, 0.0, 0.0};
        row[i].valid = vf_lens_bearing(lens, px, bearing);
        row[i].x = (float)bearing[0];
        row[i].y = (float)bearing[1];
        row[i].z = (float)bearing[2];
    }
}

/** Counts the pixels of a mask row that lie in blind cells of the bearing grid, whose bearings cannot be interpolated.
 *  Clears these pixels if `row` is not NULL. blind[i]: 1 for the cell right of node i. A pixel centred on a node lies
 *  in the cells on both sides. */
static uint32_t clear_row(uint8_t *row, int32_t width, const uint8_t *blind)
{
    uint32_t count = 0;
    for (int32_t x = 0; x < width; x++) {
        const int32_t i = x / VF_GRID_PX + VF_GRID_MARGIN;
        if (!blind[i] && !(x && x % VF_GRID_PX == 0 && blind[i - 1])) continue;
        if (row) row[x] = 0;
        count++;
    }
    return count;
}

uint32_t vf_grid_blind(uint8_t *mask, size_t pitch, int32_t width, int32_t height, const struct vf_lens *lens)
{
    const int32_t across = vf_nodes(width), down = vf_nodes(height);
    struct vf_node row[VF_NODES(VFRONT_WIDTH)];
    /* [j % 4][i]: 1: node i of row j has no bearing; the last four rows of nodes */
    uint8_t invalid[4][VF_NODES(VFRONT_WIDTH)];
    /* [j % 2][i]: 1: bearings in the cell right of node i cannot be interpolated; the last two rows of cells. both[i]:
     * 1 in either of these rows. */
    uint8_t blind[2][VF_NODES(VFRONT_WIDTH)], both[VF_NODES(VFRONT_WIDTH)];
    uint32_t count = 0;
    memset(blind, 0, sizeof blind);
    for (int32_t j = 0; j < down; j++) {
        vf_grid_row(row, across, lens, j);
        for (int32_t i = 0; i < across; i++) invalid[j % 4][i] = !row[i].valid;
        if (j < 3) continue;
        uint8_t *const here = blind[j % 2], *const above = blind[(j + 1) % 2];
        for (int32_t i = 1; i < across - 2; i++) {
            here[i] = 0;
            for (int k = 0; k < 16; k++) here[i] |= invalid[k / 4][i - 1 + k % 4];
        }
        for (int32_t i = 0; i < across; i++) both[i] = here[i] | above[i];
        const int32_t first = VF_GRID_PX * (j - 2 - VF_GRID_MARGIN); /* first pixel row of the cells in `here` */
        for (int32_t y = vf_max(first, 0); y < vf_min(first + VF_GRID_PX, height); y++)
            count += clear_row(mask ? mask + (size_t)y * pitch : NULL, width, y && y == first ? both : here);
    }
    return count;
}
