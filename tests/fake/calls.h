/* SPDX-License-Identifier: MIT */
/* Calls and launches of port/cuda by number and by name, and the kinds of objects they make: for tests that intercept
 * the runtime. */
#ifndef FAKE_CALLS_H
#define FAKE_CALLS_H

/** Duration of a stage by the device's clock, and of the pause before it [ns]. */
extern uint64_t fake_stage_ns;

enum { NOTHING, STREAM, EVENT, DEVICE, PINNED, GRAPH, EXEC, KINDS };

enum call {
#define CUDA_CALL(name, parameters, arguments, makes) CALL_##name,
#include "tests/fake/cuda_calls.def"
#undef CUDA_CALL
#define VF_STAGE(name, needs, what) CALL_##name,
#include "stages.def"
#undef VF_STAGE
#define APART(name, part) CALL_##part##_##name,
    VF_APART(APART)
#undef APART
        CALLS
};

static const char *const call_name[CALLS] = {
#define CUDA_CALL(name, parameters, arguments, makes) #name,
#include "tests/fake/cuda_calls.def"
#undef CUDA_CALL
#define VF_STAGE(name, needs, what) "launch of stage " #name,
#include "stages.def"
#undef VF_STAGE
#define APART(name, part) #part " launch of stage " #name,
    VF_APART(APART)
#undef APART
};

#endif
