/* SPDX-License-Identifier: MIT */
/* View of stixel (base/view.h), in a header of its own for the stage's other headers. */
#ifndef VF_STIXEL_VIEW_H
#define VF_STIXEL_VIEW_H

#include "base/view.h"

/* View of stixel. scratch: valid only while the stage runs. */
/* clang-format off */
#define VF_READS_stixel(X) X(ingest) X(rectify) X(dense)
#define VF_BEFORE_stixel(X)
#define VF_GEOMETRY_stixel(X) X(level) X(focal_px) X(pair) X(centre_px) X(horizon_px) X(road_slope) X(stixel_model)
#define VF_TUNING_stixel(X) \
    X(dense_disparities) X(stixel_width_px) X(stixel_far_m)

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
