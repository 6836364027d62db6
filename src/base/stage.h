/* SPDX-License-Identifier: MIT */
/* Indices of the stages, in run order, and sets of stages as bit masks. */
#ifndef VF_STAGE_H
#define VF_STAGE_H

enum vf_stage {
#define VF_STAGE(name, needs, what) VF_##name,
#include "stages.def"
#undef VF_STAGE
    VF_STAGE_COUNT
};
#define VF_BIT(name) (1u << VF_##name)

#endif
