/* SPDX-License-Identifier: MIT */
#ifndef VF_RECTIFY_H
#define VF_RECTIFY_H

#include "lens.h"

struct vf_rectify_memory {
    uint64_t nothing;
};

#endif
