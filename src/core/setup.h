/* SPDX-License-Identifier: MIT */
/* Set-up of a front end. */
#ifndef VF_SETUP_H
#define VF_SETUP_H

#include "port/port.h"

/** Checks rig and tuning, lays out the geometry, opens the first port that `port` allows and prepares its stages. The
 *  state must be zeroed. On failure the port has given everything back or was given up; vfront_detail() says why. */
vfront_status_t vf_setup(struct vf_state *state, const vfront_rig_t *rig, const vfront_tuning_t *tuning,
                         vfront_port_t port);

/** Closes the port, and waits for that until patience_ns have passed. VFRONT_E_ABANDONED: what it holds stays, and is
 *  counted. */
vfront_status_t vf_close_port(struct vf_state *state, uint64_t patience_ns);

#endif
