/* SPDX-License-Identifier: MIT */
/* Layout of a vfront_t: the state, and behind it the host port's arenas. */
#ifndef VF_HOST_H
#define VF_HOST_H

#include "port/port.h"

struct vf_block {
    struct vf_state state;
#if VFRONT_HOST
    _Alignas(64) struct vf_memory memory;
    _Alignas(64) struct vf_pinned pinned;
#endif
};

#endif
