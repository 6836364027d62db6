/* SPDX-License-Identifier: MIT */
/* Preparation of a stage: vf_<stage>_prepare() fills the constant parts of the stage's memory, such as masks and
 * tables. Called once, by vfront_init(). */
#ifndef VF_PREPARE_H
#define VF_PREPARE_H

#include "params.h"

struct vf_prepare {
    const vfront_rig_t *rig;            /* rig as given by the caller */
    const vfront_rig_t *seen;           /* rig as seen by the stages: rectified if the tuning enables it */
    const double (*R_rig_seen)[9];      /* per camera: rotates axes of `seen` to those of `rig` */
    const struct vf_geometry *geometry; /* geometry with all members, not only those of a stage's view */
    const vfront_tuning_t *tuning;      /* all tuning values, not only those of a stage's view */
    const uint32_t *blind_px;           /* [camera]: number of pixels of the image without a bearing */
    void *scratch;                      /* scratch in host memory; must be all zeros again after use */
    size_t scratch_bytes;
    /** Copies `bytes` bytes into the memory of a stage, which may be on a device. */
    vfront_status_t (*write)(const struct vf_prepare *p, void *to, const void *from, size_t bytes);
    void *port; /* data of the port, for write() */
};

#endif
