/* SPDX-License-Identifier: MIT */
/* Host form of bearing. */
#include "bearing.h"

void vf_bearing_host(const struct vf_bearing_view *s)
{
    struct vf_bearing_memory *m = s->bearing;
    for (int32_t camera = 0; camera < s->geometry.cameras; camera++) {
        const uint32_t *count = s->select->count[camera];
        struct vf_point *point = m->point[s->parity][camera];
        uint32_t *first = m->first[s->parity][camera];
        const uint32_t points = vf_keypoints(s->geometry.groups, count);
        m->count[s->parity][camera] = points;
        if (!points) vf_bearing_mark_empty(first);
        for (uint32_t i = 0; i < points; i++) {
            const int32_t index = vf_keypoint_index(s->geometry.groups, s->geometry.group_first, count, (int32_t)i);
            point[i] = vf_bearing_point(s, m->node[camera], camera, s->select->key[camera][index]);
            vf_bearing_mark_level(first, i, points, i ? point[i - 1].level : 0, point[i].level);
        }
    }
}

vfront_status_t vf_bearing_prepare(const struct vf_prepare *p, const struct vf_bearing_view *s)
{
    struct vf_node row[VF_NODES(VFRONT_WIDTH)];
    vfront_status_t status = VFRONT_OK;
    for (int32_t i = 0; i < s->geometry.cameras; i++) {
        const struct vf_level *l = &p->geometry->level[i][0];
        const struct vf_lens lens = vf_lens_of(&p->seen->camera[i]);
        const int32_t across = vf_nodes(l->width);
        for (int32_t j = 0; j < vf_nodes(l->height) && !status; j++) {
            vf_grid_row(row, across, &lens, j);
            status = p->write(p, s->bearing->node[i] + j * across, row, sizeof *row * (size_t)across);
        }
    }
    return status;
}
