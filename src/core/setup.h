/* SPDX-License-Identifier: MIT */
/* Set-up of a front end. */
#ifndef VF_SETUP_H
#define VF_SETUP_H

#include "port/port.h"

/** Checks rig and tuning, lays out the geometry, opens the first port that `port` allows and prepares its stages. The
 *  state must be zeroed. On failure the port has given everything back, and vfront_detail() says why. */
vfront_status_t vf_setup(struct vf_state *state, const vfront_rig_t *rig, const vfront_tuning_t *tuning,
                         vfront_port_t port);

#endif
