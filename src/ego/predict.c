/* SPDX-License-Identifier: MIT */
/* Host form of predict. */
#include "predict.h"

#include "tracking/match.h"

#if VFRONT_MATCHES
/** Sums the parallaxes of the previous frame's key points. R: rotation up to the previous frame. */
static void sum_parallaxes(const struct vf_predict_view *s, const float R[9], struct vf_parallax_sums *sums)
{
    const int32_t before = s->parity ^ 1, count = vf_predict_matches(s, s->given);
    for (int32_t i = 0; i < count; i++)
        vf_predict_add_parallax(sums, R, s->bearing->point[before][0][i].bearing, s->match->before[before][i]);
}
#endif

void vf_predict_host(const struct vf_predict_view *s)
{
    const struct vf_params *params = s->given;
    struct vf_depth_sums sums = {0, 0, 0};
    for (int32_t i = 0; i < vf_predict_ranges(s, params); i++)
        vf_predict_add_range(&sums, vf_stereo_range(s->stereo, s->parity ^ 1, (uint32_t)i).m);
    vf_predict_step(s, params, &s->predict->now);
    s->predict->prior = vf_predict_prior(&sums);
    struct vf_parallax_prior *parallax = &s->predict->parallax;
    struct vf_parallax_sums left = {0, 0};
    vf_predict_previous_rotation(s, params, s->predict->now.source, parallax);
#if VFRONT_MATCHES
    sum_parallaxes(s, parallax->R, &left);
#endif
    parallax->rms = vf_predict_parallax_rms(&left, parallax->stale);
    vf_predict_keep(params, &s->predict->given[s->parity]);
}
