/* SPDX-License-Identifier: MIT */
/* The library's part of a vfront_t: its context, followed by the arenas of the host port.
 *
 * Call order of the files in core/ and port/, highest first. A file calls only files of lower lines:
 *
 *   vfront           the calls of vfront.h
 *   setup, map       vfront_init(); saving and loading of maps
 *   failover         change from one port to the other
 *   frame            parameters and result of a frame; calls the supervisor, nav/nav.h
 *   check            arguments
 *   views            the views of all stages
 *   port/            the active port, through struct vf_port; vf_host_run()
 *   handshake        values that application and library must agree on
 *   refuse           reason of a refusal
 *
 * tests/house/layers.txt has the same order; layers.py checks it by the includes of the headers. */
#ifndef VF_CONTEXT_H
#define VF_CONTEXT_H

#include "camera/calibration_check.h"
#include "ego/partner_check.h"
#include "imu/gyro_errors.h"
#include "memory.h"
#include "nav/nav.h"
#include "port/port.h"

/** Number of timestamps in a run that show that the camera's clock was set. In a run no timestamp follows the last
 *  accepted frame, but each follows the one before. The last of this number is accepted, those before it are
 *  rejected. */
#define VF_CLOCK_SET_STAMPS 3
/** Run of rejected timestamps, each of which follows the one before. */
struct vf_refused_stamps {
    uint64_t first_ns; /* first rejected timestamp of the run [ns] */
    uint64_t last_ns;  /* last rejected timestamp [ns] */
    int32_t length;    /* number of rejected timestamps in the run; 0: none since the last accepted frame */
    uint32_t count;    /* number of rejected timestamps since the last accepted frame */
    uint32_t reserved;
    uint64_t interval_ns; /* time between the last two accepted frames, of one clock [ns]; 0: unknown */
};

/** State of the fail-over from the CUDA port to the host port (core/failover.h). */
struct vf_failover {
    int32_t ready;    /* 1: a host port was opened on standby, beside the CUDA port */
    int32_t switched; /* 1: the host port has taken over */
    uint32_t late;    /* number of consecutive results that came later than deadline_us */
    uint32_t reserved;
    char why[128]; /* reason of the last fail-over, or "" */
};

/** Rotation of camera 0 over the last frames, in which it had no image. Axes are those of the cameras as the stages see
 *  them. */
struct vf_unseen {
    double R[9];            /* rotation since the last image of camera 0, row-major */
    double dt_s;            /* duration of that rotation [s] */
    double change_radps[3]; /* that of struct vf_gyro_turn [rad/s] */
    uint32_t frames;        /* number of frames since the last image of camera 0; 0: the last frame had one */
    int32_t known;          /* 1: the rotation R is known */
};

/** Maps loaded since vfront_init() or vfront_reset() (core/map.c). */
struct vf_loaded {
    uint32_t given;  /* 1: a map was loaded before the first frame, and that frame is not complete yet */
    uint32_t chains; /* number of motion chains in the loaded maps */
};

/** Context: the library's data in a vfront_t, except memory of the host port. */
struct vf_context {
    char detail[128]; /* text of vfront_detail(); first member in every version, because any version may read it */
    const void *self; /* address of the context when it was initialised, to detect a copy */
    uint64_t magic;   /* VF_MAGIC while the context is initialised */
    const struct vf_port *port;     /* active port */
    struct vf_step step[2];         /* [parity]: geometry, tuning and arenas from which the views are made */
    struct vf_views view[2];        /* [parity]: views of all stages */
    struct vf_pinned *pinned;       /* pinned arena of the active port, host address */
    struct vf_pinned *inputs;       /* pinned arena with the input buffers that the caller fills; kept by a fail-over */
    struct vf_carry_mirror *mirror; /* host copy of what a fail-over needs of the CUDA port's arena; NULL: none */
    struct vf_failover failover;
    struct vf_memory *memory; /* device arena of the active port; on the CUDA port a device address */
    vfront_rig_t rig;         /* rig as given by the caller, without masks */
    /* rig as the stages see it: with rectified cameras if the tuning enables that */
    vfront_rig_t seen;
    double R_rig_seen[VFRONT_CAMERAS][9]; /* [camera]: rotation from axes of `seen` to axes of `rig`, if rectified */
    /* [camera]: column, row, width and height of the valid part of its image [px] */
    int32_t valid_px[VFRONT_CAMERAS][4];
    uint32_t blind_px[VFRONT_CAMERAS]; /* [camera]: number of pixels without a bearing */
    int32_t parity;                    /* 0 or 1: index of the next frame's set in memory with two sets */
    int32_t input;                     /* index of the input buffer of the next frame, < VFRONT_INPUTS */
    int32_t under_way;                 /* 1: a frame was submitted, and its result not fetched yet */
    vfront_status_t failed; /* not VFRONT_OK: the device failed or was abandoned; only vfront_shutdown() is allowed */
    uint64_t ticket;        /* ticket of the last submitted frame: rises from frame to frame since init */
    uint64_t frame;         /* number of completed frames since init or reset */
    uint64_t t_ns,          /* timestamp of the last completed frame [ns] */
        t_mid_ns;           /* middle of the exposure of the last completed frame [ns] */
    struct vf_refused_stamps refused;
    struct vf_samples samples; /* IMU samples of this step, and those kept for the next one */
    struct vf_nav nav;         /* state of nav, the supervisor of the state estimator */
    struct vf_loaded map;
    uint32_t imu_fault; /* faults in the last frame: VFRONT_IMU_AXES, _IN_DEGREES, _CLOCK */
    /* number of frames by which the images of the last frame are late: health.late */
    uint32_t late;
    struct vf_unseen unseen, /* rotation over frames without an image, after the last submitted frame */
        unseen_next;         /* rotation over frames without an image, after the frame that is being submitted */
    struct vf_gyro_errors gyro_errors; /* errors of the gyro as known after the last frame */
    int32_t rate_offset_us;            /* time offset of the rates that ego compares with those of the images [us] */
    struct vf_imu_scale imu_scale;     /* scale and axes of the IMU's gyro, by gyro_errors; 0 with another gyro */
    struct vf_calibration_check calibration; /* whether both cameras fit their calibration */
#if VFRONT_STEREO
    struct vf_partner_check partner_check; /* state of the camera pair without the stage stereo */
#endif
    struct vf_gyro_turn turn; /* rotation of camera 0 between its last two images, before correction of these errors */
    int32_t clock_set;      /* 1: the frame that is being computed is the first one after the camera's clock was set */
    uint64_t submitted_ns;  /* time of the last vfront_submit() [ns] */
    uint64_t abandon_ns;    /* time after which the current call or frame is abandoned [ns] */
    uint32_t resets;        /* health.reset_counter at the last reset */
    uint32_t reset_counter; /* health.reset_counter of the last result */
    uint32_t overruns;      /* number of results that came later than deadline_us */
    size_t pinned_bytes, device_bytes;
    char device[64];
    /* number of abandoned ports since the caller zeroed the vfront_t; kept over init and shutdown */
    uint32_t abandoned;
    size_t abandoned_bytes; /* device and pinned memory of the abandoned ports [bytes]; kept over init and shutdown */
    _Alignas(16) unsigned char private[1024]; /* private data of the CUDA port */
};

/** Largest number of bytes that one call of vf_port.read() copies. */
#define VF_READ_BYTES (sizeof((struct vf_pinned *)0)->mask)

/** Value of vf_context.magic while the context is initialised. */
#define VF_MAGIC 0x76667231746e6f72ull

/** Members of struct vf_context that belong to a port, for the port that is not active: on standby, or failed. */
struct vf_standby_port {
    const struct vf_port *port;
    struct vf_step step[2];
    struct vf_views view[2];
    struct vf_pinned *pinned;
    struct vf_memory *memory;
    char device[64];
};

/** Layout of the library's data in a vfront_t, starting at the first multiple of 64 bytes in it. */
struct vf_block {
    struct vf_context context;
#if VFRONT_HOST
    struct vf_standby_port standby;
    _Alignas(64) struct vf_memory memory;
    _Alignas(64) struct vf_pinned pinned;
#endif
};

/** Context in the caller's vfront_t, at the first multiple of 64 bytes. */
static inline struct vf_context *vf_context_of(const vfront_t *vf)
{
    return (struct vf_context *)(((uintptr_t)vf + 63) & ~(uintptr_t)63);
}

/** Context of an initialised vfront_t; NULL if it is not initialised, or a copy, whose addresses would point into the
 *  original. */
static inline struct vf_context *vf_context_in_use(const vfront_t *vf)
{
    struct vf_context *s = vf_context_of(vf);
    return s->magic == VF_MAGIC && s->self == s ? s : NULL;
}

#endif
