/* SPDX-License-Identifier: MIT */
/* Host form of epipolar: measures one match after the other, on patches copied to memory. */
#include "epipolar.h"

#include "stereo_patch.h"

#if VFRONT_STEREO
/** Measures how far the match of key point i lies across its epipolar line: Gauss-Newton step [1/4096 px], or
 *  VF_EPIPOLAR_NO_STEP. shift_px: shift across epipolar lines, from stereo's position to the predicted one [px]. */
static int32_t measure_step(const struct vf_epipolar_view *s, uint32_t i, float shift_px)
{
    const struct vf_level *l0 = &s->geometry.level[0][0], *l1 = &s->geometry.level[1][0];
    const uint8_t *left = s->pictures.level0[s->parity][0], *right = s->pictures.level0[s->parity][1];
    const struct vf_epipolar_patches at = vf_epipolar_patches_of(&s->bearing->point[s->parity][0][i],
                                                                 &s->stereo->location[i], shift_px);
    struct vf_stereo_patch w[6];
    struct vf_epipolar_normal sum;
    memset(&sum, 0, sizeof sum);
    if (!vf_epipolar_inside(l0, l1, &at)) return VF_EPIPOLAR_NO_STEP;
    vf_stereo_read_patch(&w[0], left, l0, at.own);
    vf_stereo_read_patch(&w[1], left, l0, at.ahead);
    vf_stereo_read_patch(&w[2], left, l0, at.behind);
    vf_stereo_read_patch(&w[3], left, l0, at.left);
    vf_stereo_read_patch(&w[4], left, l0, at.right);
    vf_stereo_read_patch(&w[5], right, l1, at.other);
    for (int32_t r = 0; r < VF_STEREO_SIDE; r++)
        for (int32_t c = 0; c < VF_STEREO_SIDE; c++)
            vf_epipolar_accumulate(&sum, w[0].grey[r][c], w[1].grey[r][c], w[2].grey[r][c], w[3].grey[r][c],
                                   w[4].grey[r][c], w[5].grey[r][c]);
    return vf_epipolar_step_q12(&sum);
}
#endif

void vf_epipolar_host(const struct vf_epipolar_view *s)
{
#if VFRONT_STEREO
    struct vf_epipolar_memory *m = s->epipolar;
    const int now = s->parity, before = s->parity ^ 1;
    const uint64_t frame = s->ingest->params.frame;
    const uint32_t count = s->bearing->count[now][0];
    const float shift_px = vf_epipolar_shift_px(s);
    for (uint32_t k = 0, i; (i = vf_epipolar_point(k, frame)) < count; k++)
        if (s->stereo->cost[i] != VF_NONE) vf_epipolar_add(&m->sums[now], measure_step(s, i, shift_px));
    m->estimate[now] = vf_epipolar_next(&m->sums[now], s->stereo->pair[now].state == VFRONT_STEREO_GOOD, frame == 0,
                                        s->tuning.rig_offset, &m->estimate[before]);
    memset(&m->sums[before], 0, sizeof m->sums[before]);
#else
    (void)s;
#endif
}
