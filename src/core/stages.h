/* SPDX-License-Identifier: MIT */
/* What stages.def declares: the host form of every stage, and its kernel's launcher. */
#ifndef VF_STAGES_H
#define VF_STAGES_H

#include "memory.h"

/** Host form: does the stage on the calling thread, on memory that the processor can address. */
#define VF_STAGE(name, needs, what) void vf_##name##_host(const struct vf_step *s);
#include "stages.def"
#undef VF_STAGE

#endif
