/* SPDX-License-Identifier: MIT */
/* View of stixel: all that the stage may read and write (core/view.h). On its own because the stage's other headers
 * need it. */
#ifndef VF_STIXEL_VIEW_H
#define VF_STIXEL_VIEW_H

#include "core/view.h"

/* View of stixel: core/view.h. scratch: valid while the stage runs. */
/* clang-format off */
#define VF_READS_stixel(X) X(ingest) X(rectify) X(dense)
#define VF_BEFORE_stixel(X)
#define VF_GEOMETRY_stixel(X) X(level) X(focal_px) X(pair) X(centre_px) X(horizon_px) X(road_slope)
#define VF_TUNING_stixel(X) \
    X(dense_disparities) X(stixel_width_px) X(stixel_median) X(stixel_far_m) X(stixel_object_mpx) X(stixel_ground_mpx) \
    X(stixel_slack_mpx) X(stixel_depth_mm) X(stixel_height_mm) X(stixel_tilt_mdeg) X(stixel_sky_grey)
/* clang-format on */
VF_GEOMETRY_OF(stixel);
VF_TUNING_OF(stixel);
struct vf_stixel_view {
    VF_VIEW(stixel);
    struct vf_stixel_tuning tuning;
    struct vf_pictures pictures;
    struct vf_stixel_scratch *scratch;
};
VF_HOST_FORM(stixel);

#endif
