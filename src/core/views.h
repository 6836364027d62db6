/* SPDX-License-Identifier: MIT */
/* Views of all stages, and order of the stages. base/view.h defines what a view is. */
#ifndef VF_VIEWS_H
#define VF_VIEWS_H

#include "camera/rectify.h"
#include "depth/dense.h"
#include "depth/stixel.h"
#include "features/bearing.h"
#include "features/describe.h"
#include "features/detect.h"
#include "features/select.h"
#include "ego/ego.h"
#include "ego/predict.h"
#include "geometry/epipolar.h"
#include "geometry/stereo.h"
#include "image/freeze.h"
#include "image/ingest.h"
#include "image/pyramid.h"
#include "image/scale.h"
#include "image/smooth.h"
#include "map/keyframe.h"
#include "map/loop.h"
#include "map/map.h"
#include "map/relpose.h"
#include "map/recall.h"
#include "result/report.h"
#include "vio/vio.h"
#include "tracking/match.h"
#include "tracking/partner.h"
#include "tracking/refill.h"
#include "tracking/track.h"

struct vf_step;

/** Views of all stages, one of each, for one parity. */
struct vf_views {
#define VF_STAGE(name, needs, what) struct vf_##name##_view name;
#include "stages.def"
#undef VF_STAGE
};

/** Fills in the view of one stage: vf_<stage>_make_view(). vf_views_make(): the views of all stages. step: its geometry
 *  must be derived, and the addresses of its arenas set. */
#define VF_STAGE(name, needs, what)                                                                                    \
    void vf_##name##_make_view(struct vf_##name##_view *view, const struct vf_step *step);
#include "stages.def"
#undef VF_STAGE
void vf_views_make(struct vf_views *views, const struct vf_step *step);

/** Active stages that must finish before `stage` starts, directly or transitively. A set of stages is a mask of bits
 *  VF_BIT(). */
uint32_t vf_stage_predecessors(enum vf_stage stage, uint32_t active);

/** Smallest subset of `stages` to wait for: when it has finished, all active ones of `stages` have finished. */
uint32_t vf_stages_minimal(uint32_t stages, uint32_t active);

/** Smallest set of active stages to wait for before `stage` starts: vf_stages_minimal() of its predecessors. */
uint32_t vf_stage_edges(enum vf_stage stage, uint32_t active);

#endif
