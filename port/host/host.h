/* SPDX-License-Identifier: MIT */
/* Layout of a vfront_t: the state, and behind it the host port's arenas; and what core/failover.c needs of that
 * port. */
#ifndef VF_HOST_H
#define VF_HOST_H

#include "port/port.h"

/** The port that stands by, or that failed: what of struct vf_state belongs to a port. */
struct vf_seat {
    const struct vf_port *port;
    struct vf_step step[2];
    struct vf_views view[2];
    struct vf_pinned *pinned;
    struct vf_memory *memory;
    char device[64];
};

/** Runs the host forms of the active ones of these stages, by VF_BIT(), for step[state->parity] of the host port. */
void vf_host_run(struct vf_state *state, uint32_t stages);

struct vf_block {
    struct vf_state state;
#if VFRONT_HOST
    struct vf_seat standby;
    _Alignas(64) struct vf_memory memory;
    _Alignas(64) struct vf_pinned pinned;
#endif
};

#endif
