/* SPDX-License-Identifier: MIT */
/* Preparation of a stage: vf_<stage>_prepare() fills those parts of the stage's memory that stay as they are for the
 * life of a front end, such as masks and tables. Called once, by vfront_init(). */
#ifndef VF_PREPARE_H
#define VF_PREPARE_H

#include "geometry.h"

struct vf_prepare {
    const vfront_rig_t *rig;            /* as the caller gives it */
    const vfront_rig_t *seen;           /* as the stages see it: rectified, where the tuning asks for that */
    const double (*R_rig_seen)[9];      /* a camera: takes axes of `seen` to those of `rig` */
    const struct vf_geometry *geometry; /* all of it */
    const vfront_tuning_t *tuning;      /* likewise */
    const uint32_t *blind_px;           /* a camera: pixels for which its lens has no bearing */
    void *scratch;                      /* host memory for what is put together, all zeros; left so */
    size_t scratch_bytes;
    /** Copies into the memory of a stage, which may lie on a device. */
    vfront_status_t (*write)(const struct vf_prepare *p, void *to, const void *from, size_t bytes);
    void *port; /* of write() */
};

#endif
