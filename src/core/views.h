/* SPDX-License-Identifier: MIT */
/* The views of all stages: core/view.h says what a view is. */
#ifndef VF_VIEWS_H
#define VF_VIEWS_H

#include "camera/rectify.h"
#include "depth/dense.h"
#include "depth/stixel.h"
#include "features/bearing.h"
#include "features/describe.h"
#include "features/detect.h"
#include "features/select.h"
#include "geometry/ego.h"
#include "geometry/predict.h"
#include "geometry/rows.h"
#include "geometry/stereo.h"
#include "image/freeze.h"
#include "image/ingest.h"
#include "image/pyramid.h"
#include "image/scale.h"
#include "image/smooth.h"
#include "map/keyframe.h"
#include "map/loop.h"
#include "map/map.h"
#include "map/overlap.h"
#include "map/place.h"
#include "result/report.h"
#include "state/window.h"
#include "tracking/match.h"
#include "tracking/partner.h"
#include "tracking/refill.h"
#include "tracking/track.h"

struct vf_step;

/** One view of each stage. */
struct vf_views {
#define VF_STAGE(name, needs, what) struct vf_##name##_view name;
#include "stages.def"
#undef VF_STAGE
};

/** Fills in the view of one stage, vf_<stage>_look(), and those of all, from a step whose geometry is derived and whose
 *  arenas are known. */
#define VF_STAGE(name, needs, what) void vf_##name##_look(struct vf_##name##_view *view, const struct vf_step *step);
#include "stages.def"
#undef VF_STAGE
void vf_views_look(struct vf_views *views, const struct vf_step *step);

/** Stages that a stage must not overtake in a step, itself not among them: those that it waits for, and theirs;
 *  only active ones. */
uint32_t vf_stage_behind(enum vf_stage stage, uint32_t active);

/** Fewest of some stages such that waiting for them is waiting for all that are active. */
uint32_t vf_stages_last(uint32_t stages, uint32_t active);

/** The same of those that a stage must not overtake. */
uint32_t vf_stage_edges(enum vf_stage stage, uint32_t active);

#endif
