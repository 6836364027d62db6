/* SPDX-License-Identifier: MIT */
/* Ports: all that depends on the platform. A port is one folder and one struct vf_port; nothing else changes for a new
 * one. Arguments are checked before a port sees them. */
#ifndef VF_PORT_H
#define VF_PORT_H

#include "core/memory.h"
#include "state/nav.h"

/** Row of refused stamps, each of which follows the one before. As many as VF_STAMPS_OF_A_CLOCK are a clock that was
 *  set. */
#define VF_STAMPS_OF_A_CLOCK 3
struct vf_refused_stamps {
    uint64_t last_ns; /* the last one */
    int32_t length;   /* 0: none since the last accepted frame */
};

/** Fail-over to the host port: core/failover.h. */
struct vf_failover {
    int32_t ready; /* 1: the host port stood by when the CUDA port was opened */
    int32_t over;  /* 1: it runs now */
    uint32_t late; /* results in a row that came after deadline_us */
    uint32_t reserved;
    char why[128]; /* reason for which it runs, or "" */
};

/** Rotation of camera 0, in axes as the stages see them, over frames in which it had no picture. */
struct vf_unseen {
    double R[9];     /* from the axes at its last picture */
    uint32_t frames; /* 0: the last frame had a picture */
    int32_t known;   /* 1: R is known */
};

/** Maps that were loaded since vfront_init() or vfront_reset(): core/map.c. */
struct vf_loaded {
    uint32_t given; /* 1: before the first frame, which is to come */
    uint32_t paths; /* their paths, all together */
};

/** The library's side of a vfront_t. */
struct vf_state {
    char detail[128]; /* first in every version and config: vfront_detail() reads it in memory that was refused, too */
    uint64_t magic;
    const struct vf_port *port;
    struct vf_step step[2];         /* by parity; addresses as the stages see them */
    struct vf_views view[2];        /* of these steps */
    struct vf_pinned *pinned;       /* the pinned arena as the host sees it */
    struct vf_pinned *inputs;       /* the pinned arena whose input buffers the caller has, whatever port runs */
    struct vf_carry_mirror *mirror; /* of the CUDA port, as the host sees it, or NULL */
    struct vf_failover failover;
    struct vf_memory *memory;             /* the device arena; an address of the device on the CUDA port */
    vfront_rig_t rig;                     /* without its masks */
    vfront_rig_t seen;                    /* the same as the stages see it: rectified, where that is asked for */
    double R_rig_seen[VFRONT_CAMERAS][9]; /* rectified: takes axes of `seen` to those of the rig */
    int32_t valid_px[VFRONT_CAMERAS][4];
    uint32_t blind_px[VFRONT_CAMERAS];
    int32_t parity;          /* of the next frame */
    int32_t input;           /* input buffer of the next frame */
    int32_t under_way;       /* a frame is submitted and not yet waited for */
    vfront_status_t failed;  /* not VFRONT_OK: the device failed, or was given up: only vfront_shutdown() helps */
    uint64_t ticket;         /* of the last frame submitted */
    uint64_t frame;          /* frames done since init or reset */
    uint64_t t_ns, t_mid_ns; /* of the last frame done */
    struct vf_refused_stamps refused;
    struct vf_readings readings; /* of the IMU */
    struct vf_nav nav;           /* its state */
    struct vf_loaded map;
    uint32_t misread;                     /* VFRONT_IMU_AXES, _IN_DEGREES, _CLOCK of the last frame */
    uint32_t late;                        /* health.late of the last frame */
    struct vf_unseen unseen, unseen_next; /* after the last frame, and with the one to be submitted */
    int32_t clock_set; /* the frame to be submitted, or under way, is the first of a clock that was set */
    uint64_t submitted_ns;
    uint64_t give_up_ns;    /* time at which the call under way, or the step, is given up */
    uint32_t resets;        /* value of health.reset_counter at the last reset */
    uint32_t reset_counter; /* as last reported */
    uint32_t overruns;
    size_t pinned_bytes, device_bytes;
    char device[64];
    uint32_t abandoned;     /* ports given up since the memory was zeroed; outlasts init and shutdown */
    size_t abandoned_bytes; /* device and pinned memory that they keep, likewise */
    _Alignas(16) unsigned char private[1024]; /* of the port */
};

/** Most bytes that a port reads at once. */
#define VF_READ_BYTES (sizeof((struct vf_pinned *)0)->mask)

/** Magic of a vf_state in use. */
#define VF_MAGIC 0x76667231746e6f72ull

/** No function waits beyond state->give_up_ns: what is not done by then is given up, with VFRONT_E_ABANDONED. After
 *  that status close and recover are the only functions that may be called. */
struct vf_port {
    vfront_port_t id;
    /** Takes both arenas, zeroed; fills in step[].memory, step[].pinned, pinned, memory, *_bytes and device. On failure
     *  close gives back what it took. */
    vfront_status_t (*open)(struct vf_state *state);
    /** Copies into the device arena. Called between open and ready, after recover, and while nothing is under way. */
    vfront_status_t (*write)(struct vf_state *state, void *to, const void *from, size_t bytes);
    /** Copies out of the device arena, while nothing is under way. *at: where they are on the host until the next call
     *  of the port; bytes: at most VF_READ_BYTES. */
    vfront_status_t (*read)(struct vf_state *state, const void **at, const void *from, size_t bytes);
    /** Prepares the submission of each parity and runs it once with the parameters in the pinned arena. */
    vfront_status_t (*ready)(struct vf_state *state);
    /** Address of a picture of `bytes` bytes as the stages see it: in place, or copied row by row into `input`, then
     *  with a new pitch. */
    vfront_status_t (*adopt)(struct vf_state *state, const vfront_picture_t *picture, uint8_t *input,
                             struct vf_source *source);
    /** Address, as the stages see it, of a place in the pinned arena. */
    const uint8_t *(*seen)(struct vf_state *state, const uint8_t *pinned);
    /** Starts all stages for step[state->parity]. */
    vfront_status_t (*submit)(struct vf_state *state);
    /** Returns when vf_pinned.done holds state->ticket; VFRONT_E_TIMEOUT when that took timeout_us, if that comes
     *  before give_up_ns. */
    vfront_status_t (*wait)(struct vf_state *state, uint32_t timeout_us);
    /** VFRONT_OK if the port works again after a step that failed or was given up; nothing is under way then. */
    vfront_status_t (*recover)(struct vf_state *state);
    /** Waits for what is under way and gives everything back. VFRONT_E_ABANDONED: could not, and what is left belongs
     *  to whatever hangs. */
    vfront_status_t (*close)(struct vf_state *state);
    /** A clock that does not go back [ns]. */
    uint64_t (*now_ns)(void);
};

extern const struct vf_port vf_port_host;
extern const struct vf_port vf_port_cuda;

/** Notes why a call was refused or failed, for vfront_detail(); returns the status. `format` takes at most one %d, then
 *  one %s. */
vfront_status_t vf_refuse(struct vf_state *state, vfront_status_t status, const char *what, int32_t index,
                          const char *rest);

#endif
