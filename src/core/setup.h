/* SPDX-License-Identifier: MIT */
/* Setup of a front end by vfront_init(), and closing of its port. */
#ifndef VF_SETUP_H
#define VF_SETUP_H

#include "context.h"

/** Checks rig and tuning, lays out the geometry, opens the first port that `port` allows and prepares its stages.
 *  Requires a zeroed context. On failure the port is closed or abandoned; vfront_detail() gives the reason. */
vfront_status_t vf_setup(struct vf_context *context, const vfront_rig_t *rig, const vfront_tuning_t *tuning,
                         vfront_port_t port);

/** Closes the active port, waiting at most timeout_ns. With VFRONT_E_ABANDONED the port's memory stays allocated, and
 *  is counted in context->abandoned_bytes. */
vfront_status_t vf_close_port(struct vf_context *context, uint64_t timeout_ns);

#endif
