/* SPDX-License-Identifier: MIT */
/* Tunings of the rows of vfcheck --bench, also used by --path. */
#include "vfcheck.h"

vfront_tuning_t standard(void)
{
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    return t;
}

vfront_tuning_t corners_alone(int levels)
{
    vfront_tuning_t t = standard();
    t.detect_levels = levels;
    t.detect_threshold = 10;
    t.detect_arc_most = 16;
    t.detect_threshold_low = t.detect_rank = t.describe = 0;
    t.cull_width_px = t.cull_height_px = 32;
    return t;
}

vfront_tuning_t keypoints_alone(int levels)
{
    vfront_tuning_t t = standard();
    t.track_target = t.match = t.stereo = t.ego = 0;
    t.detect_levels = vf_min(levels, VFRONT_SCALES);
    t.select_points = vf_min(1800, VFRONT_KEYPOINTS);
    return t;
}
