/* SPDX-License-Identifier: MIT */
/* Static masks of the cameras, in the memory of ingest. They depend only on rig and lenses. */
#ifndef VF_MASKS_H
#define VF_MASKS_H

#include "base/prepare.h"
#include "image/ingest.h"

/** Makes the static masks: masks of the rig, pixels without a bearing, and with rectified images also pixels from
 *  outside the raw image. Called by vfront_init(). */
vfront_status_t vf_masks_prepare(const struct vf_prepare *p, const struct vf_ingest_view *s);

#endif
