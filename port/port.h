/* SPDX-License-Identifier: MIT */
/* Ports: all platform-dependent code. A port is one folder and one struct vf_port. Arguments are checked before a port
 * gets them. */
#ifndef VF_PORT_H
#define VF_PORT_H

#include "base/params.h"

struct vf_context; /* defined in core/context.h */

/** Functions of a port. None waits beyond context->abandon_ns: unfinished work is abandoned, with VFRONT_E_ABANDONED.
 *  After that status only close and recover may be called. */
struct vf_port {
    vfront_port_t id;
    /** Allocates the device arena and the pinned arena, zeroed. Stores their addresses and sizes in the context:
     *  step[].memory, step[].pinned, pinned, memory, *_bytes; and the name `device`. After a failure close() frees
     *  them. */
    vfront_status_t (*open)(struct vf_context *context);
    /** Copies `bytes` bytes from host memory into the device arena. Allowed between open and ready, after recover, and
     *  while no frame is in flight. */
    vfront_status_t (*write)(struct vf_context *context, void *to, const void *from, size_t bytes);
    /** Copies `bytes` bytes, at most VF_READ_BYTES, out of the device arena, while no frame is in flight. *at: host
     *  address of the copy, valid until the next call of the port. */
    vfront_status_t (*read)(struct vf_context *context, const void **at, const void *from, size_t bytes);
    /** Prepares the work of a frame for both parities, even and odd frames, and runs each once with the parameters in
     *  the pinned arena. */
    vfront_status_t (*ready)(struct vf_context *context);
    /** Sets the address and pitch, *source, by which the stages read an image: the image itself, or its copy in
     *  `input`. */
    vfront_status_t (*adopt)(struct vf_context *context, const vfront_picture_t *picture, uint8_t *input,
                             struct vf_source *source);
    /** Converts a host address in the pinned arena into the address by which the stages access it. */
    const uint8_t *(*seen)(struct vf_context *context, const uint8_t *pinned);
    /** Starts all stages of the current frame, on the buffers step[context->parity]. */
    vfront_status_t (*submit)(struct vf_context *context);
    /** Waits until the frame is complete: vf_pinned.done equals context->ticket. Returns VFRONT_E_TIMEOUT after
     *  timeout_us, if that is before abandon_ns. */
    vfront_status_t (*wait)(struct vf_context *context, uint32_t timeout_us);
    /** Tests the port after a failed or abandoned frame. VFRONT_OK: it works again, and no frame is in flight. */
    vfront_status_t (*recover)(struct vf_context *context);
    /** Waits for the frame in flight and frees the port's resources. VFRONT_E_ABANDONED: a call of the driver hangs,
     *  and memory that it may still use stays allocated. */
    vfront_status_t (*close)(struct vf_context *context);
    /** Reads a monotonic clock [ns]. */
    uint64_t (*now_ns)(void);
};

extern const struct vf_port vf_port_host;
extern const struct vf_port vf_port_cuda;

/** Runs on the host the active stages among `stages`, a set of VF_BIT(), on the buffers step[context->parity] of the
 *  host port. */
void vf_host_run(struct vf_context *context, uint32_t stages);

#endif
