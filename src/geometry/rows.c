/* SPDX-License-Identifier: MIT */
/* Host form of rows: windows in memory, one match after the other. */
#include "rows.h"

#include "stereo_window.h"

#if VFRONT_STEREO
/** Step across the line that the windows around a match show, or VF_ROWS_NO_STEP. */
static int32_t measure_step(const struct vf_rows_view *s, uint32_t i, float shift_px)
{
    const struct vf_level *l0 = &s->geometry.level[0][0], *l1 = &s->geometry.level[1][0];
    const uint8_t *left = s->pictures.level0[s->parity][0], *right = s->pictures.level0[s->parity][1];
    const struct vf_rows_windows at = vf_rows_windows_of(&s->bearing->point[s->parity][0][i], &s->stereo->place[i],
                                                         shift_px);
    struct vf_stereo_window w[6];
    struct vf_rows_normal sum;
    memset(&sum, 0, sizeof sum);
    if (!vf_rows_inside(l0, l1, &at)) return VF_ROWS_NO_STEP;
    vf_stereo_read_window(&w[0], left, l0, at.own);
    vf_stereo_read_window(&w[1], left, l0, at.ahead);
    vf_stereo_read_window(&w[2], left, l0, at.behind);
    vf_stereo_read_window(&w[3], left, l0, at.left);
    vf_stereo_read_window(&w[4], left, l0, at.right);
    vf_stereo_read_window(&w[5], right, l1, at.other);
    for (int32_t r = 0; r < VF_STEREO_SIDE; r++)
        for (int32_t c = 0; c < VF_STEREO_SIDE; c++)
            vf_rows_accumulate(&sum, w[0].grey[r][c], w[1].grey[r][c], w[2].grey[r][c], w[3].grey[r][c],
                               w[4].grey[r][c], w[5].grey[r][c]);
    return vf_rows_step_q12(&sum);
}
#endif

void vf_rows_host(const struct vf_rows_view *s)
{
#if VFRONT_STEREO
    struct vf_rows_memory *m = s->rows;
    const int now = s->parity, before = s->parity ^ 1;
    const uint64_t frame = s->ingest->params.frame;
    const uint32_t count = s->bearing->count[now][0];
    const float shift_px = vf_rows_shift_px(s);
    for (uint32_t k = 0, i; (i = vf_rows_point(k, frame)) < count; k++)
        if (s->stereo->cost[i] != VF_NONE) vf_rows_add(&m->sums[now], measure_step(s, i, shift_px));
    m->estimate[now] = vf_rows_next(&m->sums[now], s->stereo->pair[now].state == VFRONT_STEREO_GOOD, frame == 0,
                                    s->tuning.rig_offset, &m->estimate[before]);
    memset(&m->sums[before], 0, sizeof m->sums[before]);
#else
    (void)s;
#endif
}
