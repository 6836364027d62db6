/* SPDX-License-Identifier: MIT */
/* Host form of predict. */
#include "predict.h"

void vf_predict_host(const struct vf_predict_view *s)
{
    const struct vf_params *params = &s->ingest->params;
    struct vf_depth_sums sums = {0, 0, 0};
    for (int32_t i = 0; i < vf_predict_ranges(s, params); i++)
        vf_predict_add_range(&sums, vf_stereo_range(s->stereo, s->parity ^ 1, (uint32_t)i).m);
    vf_predict_step(s, params, &s->predict->now);
    s->predict->prior = vf_predict_prior(&sums);
}
