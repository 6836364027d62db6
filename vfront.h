/* SPDX-License-Identifier: MIT
 *
 * vfront: vision front end and visual-inertial odometry for drones. A step takes pictures and samples of an IMU or a
 * gyro. It gives state of the IMU, tracks, key points, depths, motions, disparities, stixels, loops, and health.
 *
 *     static vfront_t vf;                                // all host memory, zeroed
 *     vfront_init(&vf, &rig, NULL, VFRONT_PORT_AUTO);    // takes device and pinned memory
 *     for (;;) { fill(&frame); if (!vfront_step(&vf, &frame, &result)) use(&result->nav, result->tracks); }
 *     vfront_shutdown(&vf);
 *
 * Rules and thresholds of states and flags: src/ESTIMATOR.md, "Health and faults".
 *
 * Threads   Calls with a vfront_t: one thread at a time for each vfront_t, not always the same one. Two vfront_t share
 *           nothing. Any thread may read a valid result. Calls without a vfront_t: any thread, any time. No call from a
 *           signal handler. Stack of a calling thread: VFRONT_STACK_BYTES. The CUDA port has a thread of its own for
 *           all CUDA calls: signals blocked, scheduling and processors of the caller of vfront_init().
 * Memory    Fixed by vfront_cfg.h. Nothing is allocated after vfront_init().
 * Bits      A result, but `timing` and health.reset_counter, is a pure function of config, rig, tuning, and the frames
 *           and maps since vfront_init(), or vfront_reset() and the state then, on every port, also if the GPU failed.
 * Picture   Row-major, origin top left, x right, y down. Pixel centres are integers. Pixels are those of level 0.
 * Camera    x right, y down, z forward along the optical axis. Results refer to vfront_info_t.camera.
 * IMU       Axes of the samples. At rest an accelerometer measures +gravity along the axis that points up.
 * Odometry  Frame of `nav`: z up; origin at the first state, x and y by the shortest turn of IMU axes. It never jumps.
 */
#ifndef VFRONT_H
#define VFRONT_H

#include <stddef.h>
#include <stdint.h>

#include "vfront_cfg.h"

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/** Version of this header: src/CHANGELOG.md. VFRONT_ABI rises with every change of a declaration. */
#define VFRONT_VERSION_MAJOR 0
#define VFRONT_VERSION_MINOR 8
#define VFRONT_VERSION_PATCH 0
#define VFRONT_VERSION "0.8.0"
#define VFRONT_ABI 14

/* ==== tier 1: a stereo-inertial program ==== */

/** Outcome of a call. Every status but VFRONT_OK leaves vfront_t as it was, but for a refused stamp (vfront_frame_t).
 *  The quality of a result is in vfront_health_t. The numbers never change. */
typedef enum vfront_status {
    VFRONT_OK = 0,
    VFRONT_E_NULL = -1,           /* Required pointer is NULL */
    VFRONT_E_STATE = -2,          /* Call out of order; vfront_t copied or moved after vfront_init() */
    VFRONT_E_BUSY = -3,           /* Frame in progress: call vfront_wait() first */
    VFRONT_E_CONFIG = -4,         /* Config or header differs from the library's: vfront_detail() */
    VFRONT_E_SIZE = -5,           /* Wrong size: picture, buffer, number of cameras or cells */
    VFRONT_E_PITCH = -6,          /* Pitch less than a row, or odd for two bytes a pixel */
    VFRONT_E_ALIGN = -7,          /* Odd address for two bytes a pixel; vfront_t not aligned to 8 */
    VFRONT_E_FORMAT = -8,         /* Unknown vfront_format_t; no picture in a first frame */
    VFRONT_E_MEMORY_KIND = -9,    /* Unknown vfront_memory_t, or not that of the address, or of this port */
    VFRONT_E_MASK = -10,          /* Mask not of the picture's size, or its pitch less than a row */
    VFRONT_E_TIME = -11,          /* Stamp refused; time out of range of vfront_propagate() */
    VFRONT_E_CALIBRATION = -12,   /* Value not finite or out of range: vfront_detail() */
    VFRONT_E_TUNING = -13,        /* Tuning value unknown, or out of range */
    VFRONT_E_GYRO = -14,          /* Gyro samples out of order, not finite, over 100 rad/s, too many */
    VFRONT_E_PRIOR = -15,         /* Rotation prior is no rotation, or camera 0 is not calibrated */
    VFRONT_E_PORT = -16,          /* Port unknown, or not in this build */
    VFRONT_E_NO_DEVICE = -17,     /* No GPU that this build has code for, or not number `device` */
    VFRONT_E_DRIVER = -18,        /* GPU driver missing, or too old for this build */
    VFRONT_E_DEVICE_MEMORY = -19, /* Too little device, pinned or shared memory: vfront_detail() */
    VFRONT_E_DEVICE = -20,        /* CUDA call or kernel failed; so do later steps without `failover` */
    VFRONT_E_TIMEOUT = -21,       /* Frame still in progress: wait again */
    VFRONT_E_ABANDONED = -22,     /* GPU hung for abandon_us (init: abandon_init_ms): vfront_shutdown() */
    VFRONT_E_STICKY = -23,        /* CUDA refuses all calls of this process; host port works */
    VFRONT_E_IMU = -24,           /* IMU samples out of order, not finite, out of range, too many, beside gyro */
    VFRONT_E_NAV = -25,           /* State not finite, absurd, no unit quaternion, no covariance */
    VFRONT_E_MAP = -26,           /* Map image damaged, cut, of another version */
    VFRONT_E_MAP_OTHER = -27,     /* Map of another config or other cameras: vfront_detail() */
    VFRONT_E_MAP_TWICE = -28      /* Keyframes of this map are loaded already */
} vfront_status_t;

/** Processor that runs the stages. AUTO: CUDA if possible, else HOST. CUDA: NVIDIA GPU. HOST: the calling thread. */
typedef enum vfront_port { VFRONT_PORT_AUTO = 0, VFRONT_PORT_CUDA = 1, VFRONT_PORT_HOST = 2 } vfront_port_t;

typedef struct vfront vfront_t; /* Defined below */
typedef struct vfront_gyro vfront_gyro_t;
typedef struct vfront_result vfront_result_t;
typedef struct vfront_tuning vfront_tuning_t;

/* ---- rig: cameras and IMU, once, for vfront_init() ---- */
/** Lens model and coefficients; r^2 = (X^2 + Y^2) / Z^2 of a point in camera axes. */
typedef enum vfront_lens {
    VFRONT_LENS_RADTAN = 0,      /* Brown: k1 k2 p1 p2 k3. All 0: a pinhole */
    VFRONT_LENS_RATIONAL = 1,    /* k1 k2 p1 p2 k3 k4 k5 k6: radial part over 1 + k4 r^2 + k5 r^4 + k6 r^6 */
    VFRONT_LENS_EQUIDISTANT = 2, /* Kannala and Brandt: k1 k2 k3 k4, of the angle to the axis */
    VFRONT_LENS_DS = 3,          /* Double sphere: xi, -0.99..0.99; alpha, 0..1. fx_px: times 1 + xi */
    VFRONT_LENS_EUCM = 4,        /* Extended unified: alpha, 0..1; beta, 0.01..100 */
    VFRONT_LENS_OMNI = 5         /* Mei: xi, -0.99..99; k1 k2 p1 p2. fx_px: times 1 + xi */
} vfront_lens_t;

/** One camera. Focal lengths 0: not calibrated, so no rotation prior, bearing or depth. Without an IMU camera 0 is in
 *  its place. Camera 1 is in the place of camera 0 (no depth), or right of, above or below it, 10^-4 to 20 m away, axes
 *  less than 90 degrees apart. */
typedef struct vfront_camera {
    int32_t width_px, height_px; /* 16..VFRONT_WIDTH, 16..VFRONT_HEIGHT [px] */
    double fx_px, fy_px;         /* Focal lengths [px]: 1/20..100 widths, horizontal view over 1 degree; or both 0 */
    double cx_px, cy_px;         /* Principal point [px], at most one picture size outside the picture */
    vfront_lens_t lens;
    double distortion[8];     /* In the model's order, others 0; k at most 10^6, p1 and p2 at most 1 */
    double R_cam_imu[9];      /* Rotation, row-major, from IMU axes to camera axes. All 0: identity */
    double t_cam_imu_m[3];    /* IMU in camera axes [m], each at most 100: p_cam = R_cam_imu p_imu + t_cam_imu_m */
    const uint8_t *mask;      /* Static mask, host memory [height_px][mask_pitch_bytes], 0: ignore; or NULL */
    uint32_t mask_pitch_bytes; /* Bytes from row to row, at least width_px */
    double row_us;            /* Rolling shutter: time of a row [us], negative: upwards; 0: global. All: at most 10^5 */
} vfront_camera_t;

/** IMU sample, each axis at most VFRONT_GYRO_MOST_RAD_S, VFRONT_ACCEL_MOST_M_S2. */
typedef struct vfront_imu {
    uint64_t t_ns;        /* Time [ns], on the clock of the IMU: imu_offset_ns */
    double gyro_rad_s[3]; /* Angular rate, IMU axes [rad/s] */
    double accel_m_s2[3]; /* Specific force, IMU axes [m/s^2] */
} vfront_imu_t;

/** Errors of an IMU at rest, as in Kalibr's imu.yaml. In flight they are larger: vio_imu_percent. */
typedef struct vfront_imu_noise {
    double gyro_density;     /* Noise density of the rates, each axis [rad/s/sqrt(Hz)], 0..1 */
    double accel_density;    /* Noise density of the forces, each axis [m/s^2/sqrt(Hz)], 0..10 */
    double gyro_walk;        /* Random walk of the gyro's bias, each axis [rad/s^2/sqrt(Hz)], 0..1 */
    double accel_walk;       /* Random walk of the accelerometer's bias, each axis [m/s^3/sqrt(Hz)], 0..10 */
    double gyro_limit_rad_s; /* Rate of saturation, each axis [rad/s], 0.1..VFRONT_GYRO_MOST_RAD_S */
    double accel_limit_m_s2; /* Force of saturation, each axis [m/s^2], 1..VFRONT_ACCEL_MOST_M_S2 */
    double rate_hz;          /* Nominal sample rate [Hz], 10..20000; a gap: over 1.5 intervals */
    double gravity_m_s2;     /* Magnitude of gravity [m/s^2], 0..30 */
} vfront_imu_noise_t;

/** All cameras. Tracks, depths, matches and motions belong to camera 0. */
typedef struct vfront_rig {
    int32_t cameras;                        /* 1..VFRONT_CAMERAS */
    vfront_camera_t camera[VFRONT_CAMERAS]; /* Cameras 0..cameras - 1 */
    double road_height_m;                   /* Height of camera 0 above the road [m], 0..100; 0: estimated */
    double road_pitch_rad;                  /* Pitch of camera 0, upwards [rad], -0.87..0.87; with road_height_m */
    vfront_imu_noise_t imu;                 /* Errors of the IMU; all 0: not known */
    int64_t imu_offset_ns;                  /* t_imu = t_cam + imu_offset_ns, as Kalibr has it [ns], -10^9..10^9 */
} vfront_rig_t;

/* ---- frame: input of a step ---- */
/** Pixel format, converted to 8-bit grey; values over the range become white. */
typedef enum vfront_format {
    VFRONT_GREY8 = 0,     /* uint8_t */
    VFRONT_GREY10 = 1,    /* uint16_t in the machine's byte order, 0..1023 */
    VFRONT_GREY12 = 2,    /* uint16_t, 0..4095 */
    VFRONT_GREY16 = 3,    /* uint16_t, 0..65535 */
    VFRONT_NV12 = 4,      /* 8-bit luma plane at `data`; the chroma plane is not read */
    VFRONT_YUYV = 5,      /* Two bytes a pixel, luma first */
    VFRONT_NO_PICTURE = 6 /* No picture, not in a first frame: counts as frozen */
} vfront_format_t;

/** Memory of a picture. */
typedef enum vfront_memory {
    VFRONT_HOST_MEMORY = 0,   /* Copied in vfront_submit(), except buffers of vfront_input() */
    VFRONT_PINNED_MEMORY = 1, /* cudaHostAlloc()...: read in place until vfront_wait() returns */
    VFRONT_DEVICE_MEMORY = 2  /* GPU memory, read in place, too. CUDA port only, not with `failover` */
} vfront_memory_t;

/** Picture of one camera in a frame. */
typedef struct vfront_picture {
    const void *data;            /* [height_px][pitch_bytes]; even for two bytes a pixel */
    int32_t width_px, height_px; /* Equal to those of the rig [px] */
    uint32_t pitch_bytes;        /* Bytes from row to row, at least a row; even for two bytes a pixel */
    vfront_format_t format;
    vfront_memory_t memory;
    uint64_t t_ns;                   /* Own stamp [ns], within frame_skew_us of the frame's; 0: equal */
    const uint8_t *mask;             /* Frame's mask, host memory [height_px][mask_pitch_bytes], 0: ignore; or NULL */
    int32_t mask_width_px, mask_height_px; /* With a mask: equal to width_px, height_px */
    uint32_t mask_pitch_bytes;       /* With a mask: bytes from row to row, at least width_px */
} vfront_picture_t;

/** Pictures of all cameras at one time. Memory may be reused after vfront_submit(), but see vfront_memory_t. A stamp is
 *  at most frame_jump_ms after that of the last frame. Three refused stamps in a row mean that the clock was set: the
 *  third is accepted. Each IMU sample is given once, in order, with the first frame after it,
 *  not cut to frames; again if that frame is refused. */
typedef struct vfront_frame {
    uint64_t t_ns;                /* Stamp: start of exposure, on any one clock [ns] */
    uint32_t exposure_ns;         /* Exposure time [ns], or 0. t_mid_ns, of the middle row, is t_ns plus half of it */
    vfront_picture_t picture[VFRONT_CAMERAS];
    /* Rotation prior instead of gyro, imu: rig's camera 0, before to now, row-major, orthonormal to 1e-3; or NULL */
    const double *R_cur_prev;
    const vfront_gyro_t *gyro;    /* [gyro_count] samples from t_mid_ns before to t_mid_ns, one beyond each; or NULL */
    uint32_t gyro_count;          /* 0..VFRONT_GYRO_SAMPLES */
    const vfront_imu_t *imu;      /* [imu_count] samples that no accepted frame has had; or NULL. Not with gyro */
    uint32_t imu_count;           /* 0..VFRONT_IMU_SAMPLES, less the samples kept from earlier frames */
} vfront_frame_t;

/* ---- result: what such a program reads of vfront_result_t (tier 3)
 *  nav.state, .flags, .quality  worth of nav, the state of the IMU
 *  nav.reset_counter            changed: a new state began, and may jump within its deviations
 *  tracks[0..tracks_count - 1]  vfront_track_t: id, x_px, y_px, bearing, depth_m, depth_sigma_m
 *  health.state, .imu, .stereo  health of tracking, faults of IMU samples, consistency of both cameras
 *  timing.step_us, .overrun     time of the step [us]; 1: over deadline_us */

/** Bits of vfront_nav_t.flags: events since the state before. */
typedef enum vfront_nav_flags {
    VFRONT_NAV_SATURATED = 1,  /* Saturated samples: larger covariance */
    VFRONT_NAV_GAP = 2,        /* Missing samples: larger covariance */
    VFRONT_NAV_STATIONARY = 4, /* Zero-velocity update */
    VFRONT_NAV_NO_GRAVITY = 8, /* Begun by two cameras alone: z is -y of camera 0 then */
    VFRONT_NAV_NO_SCALE = 16,  /* No state: one camera, and no scale yet */
    VFRONT_NAV_DISPUTED = 32,  /* Most of the picture contradicts the IMU: a moving object */
    VFRONT_NAV_ONE_CAMERA = 64, /* Camera 1 contradicts ranges of landmarks, and is left out */
    VFRONT_NAV_NO_ACCEL = 128, VFRONT_NAV_NO_IMU = 256 /* Left out: contradicts two cameras */
} vfront_nav_flags_t;

/** Source of the state of the IMU. */
typedef enum vfront_nav_state {
    VFRONT_NAV_NONE = 0,         /* No state: `vio` 0, or neither samples nor metric motions */
    VFRONT_NAV_INITIALISING = 1, /* No state yet */
    VFRONT_NAV_GOOD = 2,         /* State by pictures and IMU */
    VFRONT_NAV_COASTING = 3,     /* State by IMU alone for age_ns */
    VFRONT_NAV_LOST = 4,         /* No estimate: the last state, carried on by samples alone */
    VFRONT_NAV_STEREO_ONLY = 5   /* By two cameras: no IMU, after VFRONT_IMU_GAP_NS, NO_ACCEL, NO_IMU */
} vfront_nav_state_t;

/** Whether a state has protection levels, or why not. */
typedef enum vfront_protection {
    VFRONT_PROTECTION_NO_STATE = 0, VFRONT_PROTECTION_GIVEN = 1,
    VFRONT_PROTECTION_NO_BANK = 2,   /* One camera, VFRONT_BANK below 3, no samples in use, or begun without gravity */
    VFRONT_PROTECTION_NO_MEMBER = 3, /* The member of the bank without the IMU has no estimate */
    VFRONT_PROTECTION_NO_ORIGIN = 4  /* Unknown time since a state before: vfront_reset(), a clock that was set */
} vfront_protection_t;

/** State of the IMU. Errors, three each: position [m], attitude [rad], velocity [m/s], gyro bias [rad/s], accelerometer
 *  bias [m/s^2]; true = estimated + error, but R_true = exp([w]) R with w in axes of the odometry frame. */
typedef struct vfront_nav {
    uint64_t t_ns;              /* t_mid_ns on the clock of the IMU, by imu_offset_ns, offset_s [ns]; 0: no state */
    double position_m[3];       /* Position of the IMU [m], each at most 10^9 */
    double velocity_mps[3];     /* Velocity, axes of the odometry frame [m/s], each at most 10^5 */
    double q_odom_imu[4];       /* Unit quaternion w x y z: from IMU axes to those of the odometry frame */
    double gyro_bias_rad_s[3];  /* Bias of the gyro: sample - truth [rad/s], each at most 10 */
    double accel_bias_m_s2[3];  /* Bias of the accelerometer: sample - truth [m/s^2], each at most 100 */
    double covariance[120];     /* Upper triangle, by rows, of the 15x15 covariance of errors, those of losses too */
    uint32_t flags, state;      /* vfront_nav_flags_t, vfront_nav_state_t */
    uint64_t age_ns;            /* Time since 4 consistent landmarks of earlier frames [ns] */
    double offset_s;            /* Estimated time offset: t_imu = t_cam + imu_offset_ns + offset_s [s] */
    double offset_sigma_s;      /* Standard deviation of offset_s [s] */
    double residual_mean_square; /* Mean squared normalised residual; 1 to 7 is normal */
    uint32_t landmarks;         /* Landmarks observed in this frame */
    uint32_t quality;           /* 1..100; 0: NONE; GOOD: 50 + 50 landmarks / 60; COASTING: 50 to 1 in 5 s of age_ns; */
                               /* STEREO_ONLY: 1 + 49 landmarks / 60; others 1. */
    uint32_t reset_counter; /* States that replaced another one since vfront_init() */
    uint32_t protection;    /* vfront_protection_t */
    /* Bounds of errors, axes of the odometry frame [m, rad, m/s]: exceeded in protection_risk_ppm / 10^6 frames an
     * hour, even if the IMU is wrong; or, for 2 s, pictures that contradict it. 0: not GIVEN */
    double protection_level_m[3], protection_level_rad[3], protection_level_mps[3];
} vfront_nav_t;

/** What nav is tested against: motion of camera 0 by images (nav: the predicted one); members of the bank. */
typedef enum vfront_test {
    VFRONT_TEST_MOTION = 0, VFRONT_TEST_ALL = 1, VFRONT_TEST_NO_ACCEL = 2, VFRONT_TEST_NO_IMU = 3, VFRONT_TESTS = 4
} vfront_test_t;

/** That minus nav. MOTION: t [m], rotation [rad], axes of camera 0; others: errors 0 to 8 of nav. Variance 0: none. */
typedef struct vfront_innovation {
    double value[9], variance[9];
    double test_ratio; /* Largest value^2 / variance over its threshold: above 1 contradicts; 0: equal, not tested */
} vfront_innovation_t;

/* ---- calls of the loop ---- */
/**
 * Initialises a vision system: checks everything, takes all memory, captures the step as CUDA graphs, runs each once.
 * vf: zeroed memory, or after vfront_shutdown(). rig and tuning are read within the call only; tuning NULL: standard
 * values. VFRONT_PORT_AUTO takes the host port when the CUDA port cannot be had: vfront_detail() has why.
 * @retval VFRONT_E_NULL, VFRONT_E_ALIGN, VFRONT_E_STATE  vf or rig is NULL; vf not aligned to 8 bytes; vf in use.
 * @retval VFRONT_E_CONFIG       "VFRONT_WIDTH: 1280 in the application, 1920 in the library" (vfront_detail()).
 * @retval VFRONT_E_SIZE         Cameras, picture size, or more than VFRONT_CELLS, VFRONT_CULL_CELLS, VFRONT_COLUMNS.
 * @retval VFRONT_E_CALIBRATION  Camera, road, IMU out of range, or not as `rectify`, `dense`, `vio`, `map` need.
 * @retval VFRONT_E_MASK, VFRONT_E_PORT  Pitch of a static mask less than a row; port unknown or not in this build.
 * @retval VFRONT_E_TUNING       Value out of range, in conflict with another, or a `priority` that the device lacks.
 * @retval VFRONT_E_NO_DEVICE, VFRONT_E_DRIVER, VFRONT_E_DEVICE_MEMORY, VFRONT_E_DEVICE, VFRONT_E_ABANDONED  CUDA port.
 */
static inline vfront_status_t vfront_init(vfront_t *vf, const vfront_rig_t *rig, const vfront_tuning_t *tuning,
                                          vfront_port_t port);

/**
 * Submits a frame: VFRONT_OK: in progress. Returns at once on the CUDA port, after the work on the host port.
 * @retval VFRONT_E_NULL, VFRONT_E_STATE, VFRONT_E_BUSY  A pointer (gyro, imu: with a count); not initialised; in use.
 * @retval VFRONT_E_TIME    Stamp refused (vfront_frame_t), or picture beyond frame_skew_us. Checked first.
 * @retval VFRONT_E_SIZE, VFRONT_E_PITCH, VFRONT_E_ALIGN, VFRONT_E_FORMAT, VFRONT_E_MEMORY_KIND, VFRONT_E_MASK  Picture.
 * @retval VFRONT_E_PRIOR, VFRONT_E_GYRO, VFRONT_E_IMU  Rotation prior, gyro samples, IMU samples refused.
 * @retval VFRONT_E_DEVICE, VFRONT_E_ABANDONED  The CUDA port failed or was abandoned, now or before; no fail-over.
 */
vfront_status_t vfront_submit(vfront_t *vf, const vfront_frame_t *frame);

/**
 * Waits for the frame in progress, at most timeout_us [us]; UINT32_MAX: until the step ends or is abandoned. The result
 * is valid until the next-but-one vfront_submit(); NULL unless VFRONT_OK. VFRONT_E_TIMEOUT: still in progress.
 * @retval VFRONT_E_NULL, VFRONT_E_STATE  vf or result is NULL; not initialised, or no frame submitted.
 * @retval VFRONT_E_DEVICE, VFRONT_E_ABANDONED  As of vfront_submit(). The frame has no effect.
 */
vfront_status_t vfront_wait(vfront_t *vf, uint32_t timeout_us, const vfront_result_t **result);

/** vfront_submit() and vfront_wait() without time-out. Every status of both. */
vfront_status_t vfront_step(vfront_t *vf, const vfront_frame_t *frame, const vfront_result_t **result);

/**
 * Drops all but memory, tuning, rig and the last state, where the next one begins. Track ids restart at first_track_id,
 * health.motion_breaks at first_counter; health.reset_counter rises.
 * @retval VFRONT_E_NULL, VFRONT_E_STATE, VFRONT_E_BUSY  vf is NULL; not initialised; a frame is in progress.
 * @retval VFRONT_E_DEVICE, VFRONT_E_ABANDONED  The CUDA port failed or was abandoned.
 */
vfront_status_t vfront_reset(vfront_t *vf);

/**
 * Releases all memory after the frame in progress; vf can be initialised again. VFRONT_OK: also where nothing is to do.
 * @retval VFRONT_E_STATE      Copied or moved after vfront_init(): shut down the original.
 * @retval VFRONT_E_ABANDONED  A step or CUDA call outlasted abandon_us. What the GPU holds stays with the port's thread
 *     (vfront_info_t.abandoned), and so must pictures that it reads in place. The process may not exit.
 */
vfront_status_t vfront_shutdown(vfront_t *vf);

/** One line on the last refused or failed call ("rig.camera[0].fx_px is not finite"), or "". Name of a status
 *  ("VFRONT_E_SIZE"), or "unknown status". Never NULL. */
const char *vfront_detail(const vfront_t *vf);
const char *vfront_status_name(vfront_status_t status);

/* ==== tier 2: the other calls ==== */

typedef struct vfront_tuning_entry vfront_tuning_entry_t; /* Defined below */
typedef struct vfront_info vfront_info_t;

/** Value of application and library; of one layout in all versions. */
typedef struct vfront_value {
    const char *name;
    uint64_t value;
} vfront_value_t;

/** vfront_init() without inline function, same statuses: values are the `count` VFRONT_VALUES; NULL: VFRONT_E_NULL. */
vfront_status_t vfront_init_values(vfront_t *vf, const vfront_rig_t *rig, const vfront_tuning_t *tuning,
                                   vfront_port_t port, const vfront_value_t *values, size_t count);

/** VFRONT_VERSION of the library. Never NULL. */
const char *vfront_version(void);
/** Facts fixed by vfront_init(). VFRONT_E_NULL: vf or info is NULL. VFRONT_E_STATE: not initialised. */
vfront_status_t vfront_info(const vfront_t *vf, vfront_info_t *info);
/** Name of stage number `stage`, in run order ("detect"), or NULL for VFRONT_STAGES and above. */
const char *vfront_stage_name(size_t stage);
/** Name of a lens model ("radtan"), or NULL for an unknown one. */
const char *vfront_lens_name(vfront_lens_t lens);

/** Input buffer of camera 0..rig.cameras - 1: VFRONT_INPUT_BYTES of pinned memory, aligned to 64, that the GPU reads
 *  in place. Each camera has two, in turn; this one no frame in progress reads. VFRONT_E_NULL: vf or data is NULL.
 *  VFRONT_E_STATE: not initialised. VFRONT_E_SIZE: no such camera. */
vfront_status_t vfront_input(vfront_t *vf, int32_t camera, void **data);
/** Both input buffers of a camera, until vfront_shutdown(), for a driver with an order of its own (V4L2 USERPTR); same
 *  statuses. A picture must not change from submit to wait. All pictures of the camera then lie there or are
 *  VFRONT_NO_PICTURE. */
vfront_status_t vfront_inputs(vfront_t *vf, int32_t camera, void *data[VFRONT_INPUTS]);

/** Sets all tuning values to their standard values. No effect on NULL. */
void vfront_tuning_default(vfront_tuning_t *tuning);
/** Sets vio and a step with what state and motions need: tracks, no key points, no map; half the time. NULL: none. */
void vfront_tuning_state(vfront_tuning_t *tuning);
/** Sets a tuning value by name. VFRONT_E_NULL: a NULL. VFRONT_E_TUNING: no such name, or out of range: unchanged. */
vfront_status_t vfront_tuning_set(vfront_tuning_t *tuning, const char *name, int32_t value);
/** Description of tuning value number `index`, in the order of VFRONT_TUNING, or NULL past the last. */
const vfront_tuning_entry_t *vfront_tuning_entry(size_t index);

/** Pixel (x, y) [px], inside the picture or not, at which a camera sees a ray in camera axes. A lens model holds in
 *  front of the camera (fisheyes: up to 180 degrees), up to the radius to which its radial function rises, at most
 *  10^4 (DS, EUCM, OMNI: 100), and where p1 and p2 do not fold the picture. Returns 1; or 0, px unchanged: the lens
 *  does not hold, camera not calibrated, ray 0, infinite or NaN, a NULL. */
int vfront_lens_project(const vfront_camera_t *camera, const double ray[3], double px[2]);
/** Inverse of vfront_lens_project(): a unit vector, to 10^-6 px. Returns 1; or 0, bearing unchanged: no such ray, px
 *  not finite, a NULL. */
int vfront_lens_bearing(const vfront_camera_t *camera, const double px[2], double bearing[3]);

#define VFRONT_PROPAGATE_SAMPLES 4096u     /* Most samples of vfront_propagate() */
#define VFRONT_IMU_LAST UINT64_MAX         /* t_ns of vfront_propagate(): the last sample's */
#define VFRONT_PROPAGATE_NS 10000000000ull /* Longest time of vfront_propagate() [ns] */

/**
 * Propagates a state and its covariance by n IMU samples, strictly increasing in time: a pure function, the same bits
 * on every machine. Samples are linear in between; the list begins with the last one up to nav->t_ns. t_ns [ns], of
 * its clock: up to VFRONT_PROPAGATE_NS later, or VFRONT_IMU_LAST. out: may be nav; unchanged unless VFRONT_OK; flags of
 * nav but VFRONT_NAV_STATIONARY, and VFRONT_NAV_SATURATED, VFRONT_NAV_GAP.
 * @retval VFRONT_E_NULL, VFRONT_E_CALIBRATION  A pointer is NULL; a value of `noise` not finite or out of range.
 * @retval VFRONT_E_NAV   `nav`: not finite, out of range, |q_odom_imu|^2 not 1 to 10^-6, a variance below 0 (here
 *                        or in the outcome), a correlation above 1 by over 10^-6 (or 10^-12 of the larger variance),
 *                        VFRONT_NAV_NO_GRAVITY.
 * @retval VFRONT_E_IMU   No sample or too many; not finite, out of range, not in order; over VFRONT_IMU_GAP_NS (one
 *                        sample alone: 1.5 / rate_hz) without one up to t_ns.
 * @retval VFRONT_E_TIME  t_ns before nav->t_ns, or more than VFRONT_PROPAGATE_NS after it.
 */
vfront_status_t vfront_propagate(const vfront_nav_t *nav, const vfront_imu_noise_t *noise, const vfront_imu_t *imu,
                                 uint32_t n, uint64_t t_ns, vfront_nav_t *out);

/**
 * Saves keyframes and pose graph (tuning value `map`) between two frames, as an image of `used` bytes, at most
 * VFRONT_MAP_BYTES; the same bytes on every port and machine. Bounded by abandon_us.
 * @retval VFRONT_E_NULL, VFRONT_E_STATE, VFRONT_E_BUSY  A pointer; not initialised, or `map` is 0; frame in progress.
 * @retval VFRONT_E_SIZE  The buffer is too small, its content undefined; used: what is needed, else 0.
 * @retval VFRONT_E_DEVICE, VFRONT_E_ABANDONED  The CUDA port failed, now or before, and there is no fail-over.
 */
vfront_status_t vfront_map_save(vfront_t *vf, void *buffer, size_t bytes, size_t *used);

/**
 * Loads such an image, whole or not at all, between two frames. Loops may lead to its keyframes from the next frame on,
 * after init and reset from the second. A first map before the first frame brings its poses and axes; a loop must
 * locate the trajectory (VFRONT_MAP_LOST). vfront_reset() drops it. Other statuses: as of vfront_map_save().
 * @retval VFRONT_E_MAP        Not an image of a map, of another version, cut, damaged, absurd, of over 64 maps.
 * @retval VFRONT_E_MAP_OTHER  Of another config (descriptors, levels, points of a keyframe) or vfront_info_t.camera.
 * @retval VFRONT_E_MAP_TWICE, VFRONT_E_SIZE  Keyframes of it are loaded already; more than VFRONT_KEYFRAMES in all.
 */
vfront_status_t vfront_map_load(vfront_t *vf, const void *buffer, size_t bytes);

/**
 * Goes back to the GPU between two frames, bounded by abandon_us, after the host port took over (`failover`): the GPU
 * failed, was abandoned, or late failover_overruns times. After any status but VFRONT_OK the host port goes on.
 * @retval VFRONT_E_NULL, VFRONT_E_BUSY  vf is NULL; a frame is in progress.
 * @retval VFRONT_E_STATE, VFRONT_E_STICKY  Not initialised, or no port failed over; no GPU again in this process.
 * @retval VFRONT_E_ABANDONED, VFRONT_E_DEVICE  The call or step still hangs, or the GPU again; a CUDA call failed.
 */
vfront_status_t vfront_return(vfront_t *vf);

/** FNV-1a digest, 64 bits, of a result without `timing`, health.reset_counter: src/core/digest.c. 0 for NULL. */
uint64_t vfront_digest(const vfront_result_t *result);

/** Digest of parts of a result, a sum of VFRONT_PART_: disparities; road, stixels, obstacles (STIXELS); the REST. */
enum { VFRONT_PART_REST = 1, VFRONT_PART_DISPARITIES = 2, VFRONT_PART_STIXELS = 4, VFRONT_PART_ALL = 7 };
uint64_t vfront_digest_parts(const vfront_result_t *result, uint32_t parts);

/** Digest of the output of one stage; of `report`: vfront_digest(). 0 for NULL, past the last, not in this build, and
 *  for rectify, pyramid, scale, smooth, detect, observe. */
uint64_t vfront_digest_stage(const vfront_result_t *result, size_t stage);

/* ==== tier 3: the other types ==== */

/* ---- tuning: values that may change from flight to flight, given once, to vfront_init() ---- */
/** Choices of tuning values. Scores, photometric models: Nagy et al., Faster than FAST (2020). */
enum { VFRONT_SCORE_SAD_B = 0, VFRONT_SCORE_SAD_A = 1, VFRONT_SCORE_MT = 2 };
enum { VFRONT_PHOTOMETRIC_NONE = 0, VFRONT_PHOTOMETRIC_GAIN = 1, VFRONT_PHOTOMETRIC_OFFSET = 2,
       VFRONT_PHOTOMETRIC_BOTH = 3 };
enum { VFRONT_PRIOR_NONE = 0, VFRONT_PRIOR_ROTATION = 1, VFRONT_PRIOR_VELOCITY = 2, VFRONT_PRIOR_BOTH = 3 };
enum { VFRONT_MATCH_GUIDED = 1, VFRONT_MATCH_WHOLE = 2 };
enum { VFRONT_STEREO_PREDICTED = 1, VFRONT_STEREO_MATCHES = 2 };
enum { VFRONT_EGO_ALL = 1, VFRONT_EGO_TRACKS = 2 };
enum { VFRONT_DENSE_COPIED = 1, VFRONT_DENSE_DEVICE = 2 };
enum { VFRONT_STIXEL_CAR = 0, VFRONT_STIXEL_ROVER = 1, VFRONT_STIXEL_DRONE = 2 };
enum { VFRONT_FAILOVER_ALL = 1, VFRONT_FAILOVER_LIGHT = 2 };
enum { VFRONT_WAIT_SPIN = 0, VFRONT_WAIT_NAP = 1 };

/** Every tuning value, an integer, by owner: X(name, standard, least, most, "meaning [unit]"). */
#define VFRONT_TUNING(X) \
    /* corners */ \
    X(detect_levels, VFRONT_SCALES, 1, VFRONT_SCALES, "levels of VFRONT_SCALES searched for corners") \
    X(detect_threshold, 20, 1, 254, "threshold of the segment test [grey levels]") \
    X(detect_threshold_low, 7, 0, 254, \
      "second threshold; corners that pass only this one rank behind all others; 0: none [grey levels]") \
    X(detect_arc_most, 16, 9, 16, \
      "largest number of contiguous pixels, on the circle of 16, that make a corner; more are a blob (bounded " \
      "rectification): 13 for drawn shapes among specks, 16, no bound, for all other pictures") \
    X(detect_score, 1, 0, 2, "corner score, for non-maximum suppression: 0 SAD-B, 1 SAD-A, 2 MT") \
    X(detect_rank, 2, 0, 2, \
      "ranking of corners: 0 corner score, 1 Harris response in 7x7 px, 2 Harris response in 5x5 px times squared " \
      "corner score") \
    X(detect_radius, 1, 1, 4, "radius of non-maximum suppression [px of the level]") \
    X(detect_border_px, 8, 3, 512, "margin of the picture without key points and tracks [px]") \
    /* grid of tracks, culling, selection */ \
    X(cell_width_px, VFRONT_CELL_PX, 3, 4096, \
      "width of a cell of the grid for new tracks, at most one in each cell [px]") \
    X(cell_height_px, VFRONT_CELL_PX, 3, 4096, "height of a cell of that grid [px]") \
    X(cull_width_px, 8, 3, 4096, \
      "width of a culling cell, in which the best corner of each level is kept; the second best, too, where " \
      "corners over the first threshold are fewer than select_points and select_aggregate_px is 0 [px]") \
    X(cull_height_px, 8, 3, 4096, "height of a culling cell [px]") \
    X(select_aggregate_px, 0, 0, 63, \
      "aggregation over levels: only the best point of a window this wide is kept, up to 4 culling cells; 0: no " \
      "aggregation [px]") \
    X(select_points, VFRONT_KEYPOINTS, 0, VFRONT_KEYPOINTS, \
      "largest number of key points of a picture, the best are kept; 0: no key points") \
    X(select_share_percent, 91, 0, 100, \
      "key points of a level, relative to the next finer level; 0: no shares, the best of all levels together [%]") \
    /* descriptors */ \
    X(describe, VFRONT_DESCRIPTORS, 0, VFRONT_DESCRIPTORS, "1: key points get an orientation and a descriptor") \
    X(describe_margin_px, 19, 3, 64, \
      "margin of every level without corners, when key points are described [px of the level]") \
    /* rectification */ \
    X(rectify, 0, 0, VFRONT_RECTIFY, \
      "1: pictures of two calibrated cameras in different places are rectified; all other stages use the rectified " \
      "pictures") \
    X(rectify_focal_percent, 100, 10, 400, \
      "focal length of rectified pictures, relative to the mean of both cameras [%]") \
    /* matches with the frame before */ \
    X(match, VFRONT_MATCHES, 0, 2 * VFRONT_MATCHES, \
      "key points of camera 0 are matched with those of the frame before: 0 no, 1 around the predicted position, 2 " \
      "in the whole picture") \
    X(match_radius_px, 60, 1, 4096, \
      "largest distance from the predicted position; less where the covariance of the predicted motion allows [px]") \
    X(match_distance, 64, 0, 256, "largest Hamming distance of the descriptors of a match [bits]") \
    X(match_ratio_percent, 90, 1, 100, \
      "uniqueness: largest Hamming distance of a match, relative to the second best elsewhere; 100: no test [%]") \
    X(match_turn_deg, 30, 1, 180, \
      "largest difference of the orientations of a match; between frames after removal of the most frequent one " \
      "[degrees]") \
    X(match_levels, 1, 0, 7, "largest difference of the levels of a match") \
    /* stereo matches */ \
    X(stereo, VFRONT_STEREO, 0, 2 * VFRONT_STEREO, \
      "key points of camera 0 are matched with those of camera 1 and get a depth, if both are calibrated and " \
      "apart: 0 no, 1 yes; those without a match are searched where the predicted motion and the last depths put " \
      "them, 2 matches alone") \
    X(stereo_band_px, 2, 1, 64, \
      "largest distance of a stereo match from the epipolar line [px of the coarser level of the two]") \
    X(stereo_distance, 100, 0, 256, "largest Hamming distance of the descriptors of a stereo match [bits]") \
    X(stereo_levels, 0, 0, 7, "largest difference of the levels of a stereo match") \
    X(stereo_disparity_px, 128, 1, 4096, "largest disparity, as in the middle of the picture [px]") \
    X(stereo_apart_mpx, 800, 0, 10000, \
      "largest difference of the sub-pixel shifts of the two halves of a window; 0: no check [1/1000 px]") \
    X(stereo_cut_percent, 250, 0, 10000, \
      "largest window difference of a stereo match, relative to the median of all; 0: no check [%]") \
    /* calibration of the rig */ \
    X(rig_centre_mpx, 200, 0, 10000, "calibration: standard deviation of the pictures' centres [1/1000 px]") \
    X(rig_focal_ppm, 5000, 0, 100000, "calibration: standard deviation of the focal length [1/1,000,000]") \
    X(rig_disparity_mpx, 10, 0, 10000, \
      "calibration: standard deviation of an error that all disparities have in common [1/1000 px]") \
    X(rig_offset, 0, 0, 1, \
      "calibration: 1: offsets of the rows and of the disparities, as health has them, are corrected slowly, 0: " \
      "only reported") \
    /* camera motion */ \
    X(ego, VFRONT_EGO, 0, 2 * VFRONT_EGO, \
      "motion of camera 0 since the frame before, if it is calibrated: 0 no, 1 from tracks and matches, 2 from " \
      "tracks alone") \
    X(ego_points, 5, 5, 8, "minimal sample of relative motions, in correspondences: 5, 7 or 8") \
    X(ego_hypotheses, (VFRONT_HYPOTHESES > 512 ? 512 : VFRONT_HYPOTHESES), 0, VFRONT_HYPOTHESES, \
      "hypotheses of the relative motion in each step; 0: no relative motion") \
    X(ego_metric_hypotheses, (VFRONT_HYPOTHESES > 256 ? 256 : VFRONT_HYPOTHESES), 0, VFRONT_HYPOTHESES, \
      "hypotheses of the metric motion in each step; 0: no metric motion") \
    X(ego_error_mpx, 1000, 10, 100000, \
      "largest error of an inlier, times the pixel size of its level; 0.15 of it for tracks and refined matches; " \
      "with a depth 0.5 of it and 3 % of the displacement [1/1000 px]") \
    X(ego_least, 12, 8, 1000, \
      "least number of inliers of a motion, to which ego_least_percent of all correspondences are added") \
    X(ego_least_percent, 20, 0, 90, "inliers needed beyond ego_least, relative to all correspondences [%]") \
    X(ego_jump_mmps2, 60000, 0, 1000000, \
      "largest acceleration of the camera between two metric motions; 0: any [mm/s^2]") \
    /* visual-inertial odometry */ \
    X(vio, 0, 0, VFRONT_VIO, \
      "1: sliding-window estimator of the IMU's state, from IMU samples and tracks; needs tracks, ego, a " \
      "calibrated camera 0, and the noise of the IMU in the rig or a second calibrated camera") \
    X(vio_observation_mpx, 1000, 50, 10000, \
      "standard deviation of an observation along each axis; twice its scatter, since the errors of a track are " \
      "correlated from frame to frame [1/1000 px]") \
    X(vio_imu_percent, 1000, 10, 10000, \
      "noise densities of the IMU, relative to those of the rig: data sheets have an IMU at rest, in flight there " \
      "are vibrations [%]") \
    X(vio_stationary, 1, 0, 1, \
      "1: zero-velocity update while the camera is stationary (VFRONT_NAV_STATIONARY), from the next " \
      "initialization on") \
    X(vio_stereo_urad, 1000, 0, 20000, \
      "standard deviation of the calibrated rotation between the cameras about each axis; the estimator estimates " \
      "that about both axes across the baseline, with covariance, in every flight; 0 counts as 1 [1/10^6 rad]") \
    X(protection_risk_ppm, 100, 1, 1000000000, \
      "frames an hour in which an error may exceed a protection level, on each axis [1/10^6]") \
    /* map */ \
    X(map, 0, 0, VFRONT_MAP, \
      "1: keyframes and loops; needs tracks, key points with descriptors, ego, and a calibrated camera 0") \
    /* semi-global matching */ \
    X(dense, 0, 0, 2 * VFRONT_DENSE, \
      "disparity of every pixel of camera 0; both cameras must be rectified, or pinholes side by side: 0 no, 1 " \
      "copied to the host, 2 left in vfront_info_t.disparity_px16, for the application's own kernels") \
    X(dense_disparities, VFRONT_DISPARITIES, 64, VFRONT_DISPARITIES, "disparities searched: 64, 128 or 256") \
    X(dense_least_px, 0, 0, 1024, "least disparity searched [px]") \
    X(dense_p1, 5, 0, 39, "penalty of a disparity change by 1 px from pixel to pixel along a path [bits of 24]") \
    X(dense_p2, 39, 0, 39, "penalty of a larger change, at least dense_p1; across edges a third [bits of 24]") \
    X(dense_unique_percent, 1, 0, 99, \
      "uniqueness: least margin of the best aggregated cost below the next best that is no neighbour, where a path " \
      "costs 8 bits a pixel; in proportion to that cost [%]") \
    X(dense_back_px, 1, 0, 256, \
      "left-right check: largest difference from the disparity found from camera 1; 256: no check [px]") \
    X(dense_speckle_px, 100, 0, 1000, "regions of fewer pixels are removed; 0: none [px]") \
    /* stixels */ \
    X(stixel, 0, 0, VFRONT_STIXELS, \
      "1: columns are divided into ground, objects and sky; needs dense and dense_least_px 0") \
    X(stixel_width_px, 5, 1, 16, "width of a column [px]") \
    X(stixel_far_m, 100, 1, 650, "largest distance of an obstacle; a direction with farther objects only is free [m]") \
    X(stixel_model, 0, 0, 2, "model of the street and its obstacles: 0 of a car, 1 of a rover, 2 of a drone") \
    /* tracks */ \
    X(track_target, (VFRONT_TRACKS > 200 ? 200 : VFRONT_TRACKS), 0, VFRONT_TRACKS, \
      "number of tracks to keep alive; 0: no tracking") \
    X(track_refill_percent, 100, 0, 100, \
      "new tracks start when fewer than this share of track_target are alive; 100: as soon as one is missing [%]") \
    X(track_distance_px, 8, 0, 256, "least distance of a new track from every other, up to 4 cells [px]") \
    X(track_levels, 5, 1, 6, "pyramid levels used for tracking, if there are as many") \
    X(track_patch8_level, 6, 0, 6, "first level with a patch of 8x8 instead of 16x16 px") \
    X(track_iterations, (VFRONT_ITERATIONS > 12 ? 12 : VFRONT_ITERATIONS), 1, VFRONT_ITERATIONS, \
      "largest number of Gauss-Newton steps on one level") \
    X(track_photometric, 3, 0, 3, "photometric model: 0 none, 1 gain, 2 offset, 3 both") \
    X(track_residual_grey, 4, 0, 255, \
      "largest mean absolute residual of a track, which ends above it, in a patch without contrast [grey levels]") \
    X(track_residual_percent, 70, 0, 1000, \
      "what is added to that, as a share of the standard deviation of the patch's grey levels [%]") \
    X(track_back_mpx, 1000, 0, 10000, "forward-backward check: largest distance from the start; 0: none [1/1000 px]") \
    X(track_prior, 3, 0, 3, \
      "initial guess: 0 none, 1 rotation, 2 velocity, 3 both: rotation predicted and last parallax") \
    X(track_retry, 1, 0, 1, "1: a track that fails from its initial guess is tried again from its last position") \
    X(track_template_frames, 0, 0, 100000, "frames after which the template of a track is renewed; 0: never") \
    X(track_stereo, VFRONT_STEREO, 0, VFRONT_STEREO, \
      "1: tracks are looked for in camera 1 and get a disparity and a depth, if both cameras are calibrated and in " \
      "different places; depths of metric motions, too, where they outnumber those of matches") \
    /* counters */ \
    X(first_track_id, 1, 1, 2147483647, "id of the first track; above 1 for a front end that takes over in flight") \
    X(first_counter, 0, 0, 2147483647, "first value of health.motion_breaks and health.reset_counter, likewise") \
    /* clock and IMU: checks of a frame */ \
    X(gyro_stuck_samples, 5, 0, 4096, \
      "least number of gyro or IMU samples of a frame that are equal to the bit, which shows a stuck " \
      "sensor; 0: no check") \
    X(frame_jump_ms, 10000, 100, 3600000, "longest time between two frames; a stamp farther ahead is refused [ms]") \
    X(frame_skew_us, 2000, 0, 1000000, "largest difference of a picture's own time from its frame's [us]") \
    X(health_gap_ms, 200, 1, 100000, "longest time between two frames that is no gap [ms]") \
    /* time, port and device */ \
    X(deadline_us, 20000, 1, 10000000, "longest time of a step, from submit to result, that is no overrun [us]") \
    X(abandon_us, 1000000, 100, 600000000, \
      "time after which a step on the GPU is abandoned, from submit; likewise a shutdown [us]") \
    X(abandon_init_ms, 60000, 10, 3600000, \
      "time after which vfront_init() abandons the GPU, whose driver may compile kernels then [ms]") \
    X(wait, 0, 0, 1, "how vfront_wait() waits for the GPU: 0 sleeps, and spins for the last 100 us; 1 sleeps only") \
    X(failover, 0, 0, 2 * (VFRONT_HOST && !VFRONT_CUBLAS), \
      "when the GPU fails, the host port takes over with the same frame and the same bits: 0 no, 1 yes, 2 without " \
      "disparities and stixels, to save time; needs VFRONT_HOST, and no VFRONT_CUBLAS") \
    X(failover_overruns, 0, 0, 1000000, \
      "results in a row after deadline_us with which the host port takes over; 0: never") \
    X(device, 0, 0, 63, "GPU, by its number in the CUDA runtime; of that device its primary context") \
    X(priority, 0, 0, 100, \
      "priority of the work on the GPU: 0 the highest that the device has, n the n-th below it, motions one lower, " \
      "unless that is the lowest; counts within a process or under MPS")

/** stixel_model: X(name, car, rover, drone). Deviations of disparities, slack at a foot [1/1000 px]; step of ground,
 *  depth of objects, deviation of height [mm]; of pitch [1/1000 degree], its largest tangent [1/1000]; 1: objects above
 *  sky. */
#define VFRONT_STIXEL_MODELS(X) \
    X(object_mpx, 1000, 800, 800) X(ground_mpx, 2000, 800, 700) X(step_mm, 250, 0, 0) X(pitch_ppt, 200, 1192, 1192) \
    X(slack_mpx, 3000, 1250, 1250) X(depth_mm, 10200, 300, 300) X(height_mm, 50, 20, 20) X(tilt_mdeg, 50, 100, 100) \
    X(above_sky, 0, 1, 1)

/** Tuning values of one flight: vfront_tuning_default(). */
struct vfront_tuning {
#define VFRONT_TUNING_MEMBER(name, standard, least, most, meaning) int32_t name;
    VFRONT_TUNING(VFRONT_TUNING_MEMBER)
#undef VFRONT_TUNING_MEMBER
};

/** Description of a tuning value. */
struct vfront_tuning_entry {
    const char *name;              /* Name, as vfront_tuning_set() takes it */
    const char *meaning;           /* Meaning and [unit] */
    int32_t standard, least, most; /* Standard value and range */
};

/* ---- features of a step ---- */
#define VFRONT_IMU_GAP_NS 200000000u    /* Longest time without an IMU sample [ns] */
#define VFRONT_IMU_AHEAD_NS 1000000000u /* Longest time from t_mid_ns of its frame to a sample [ns] */
#define VFRONT_GYRO_MOST_RAD_S 100.0    /* Largest rate, each axis [rad/s] */
#define VFRONT_ACCEL_MOST_M_S2 1000.0   /* Largest force, each axis [m/s^2] */

/** Gyro sample. */
struct vfront_gyro {
    uint64_t t_ns;        /* Time on the clock of the IMU, strictly increasing [ns] */
    double rate_rad_s[3]; /* Angular rate, IMU axes [rad/s], each of magnitude at most 100 */
};

/** Track: a feature followed from frame to frame in camera 0. */
typedef struct vfront_track {
    uint64_t id;                    /* first_track_id, + 1, + 2... by birth; never reused */
    float x_px, y_px;               /* Position in this frame, a multiple of 2^-16 [px] */
    float dx_px, dy_px;             /* Displacement since the frame before [px]; 0 when age is 0 */
    float gain, offset_grey;        /* Picture = gain * template + offset [grey levels] */
    float residual_grey;            /* Mean absolute residual of the aligned patch [grey levels] */
    uint32_t age;                   /* Frames since detection */
    uint32_t level, score;          /* Level of VFRONT_SCALES and score of its corner */
    float bearing[3];               /* Unit vector, camera axes; 0 0 0: not calibrated */
    uint32_t agrees;                /* Inlier of motions: VFRONT_AGREES_RELATIVE... */
    float stereo_x_px, stereo_y_px; /* Stereo track in camera 1, a multiple of 2^-16 [px] */
    float disparity_px;             /* Focal length at camera 1's axis (DS, OMNI: over 1 + xi) times tan(angle) [px] */
    float disparity_sigma_px;       /* Standard deviation of disparity_px [px]; 0: no stereo track */
    float depth_m, depth_sigma_m;   /* Depth along z of camera 0, its standard deviation [m]; 0: none */
} vfront_track_t;

/** Reason of the end of a track. */
typedef enum vfront_end {
    VFRONT_END_BORDER = 1,   /* Within detect_border_px of the border, or outside */
    VFRONT_END_MASK = 2,     /* Under a mask */
    VFRONT_END_RESIDUAL = 3, /* Residual over its bound, or gain beyond 1/4..4 */
    VFRONT_END_TEXTURE = 4,  /* Too little texture for a position */
    VFRONT_END_DIVERGED = 5, /* Alignment diverged */
    VFRONT_END_BACK = 6,     /* Forward-backward check failed */
    VFRONT_END_MERGED = 7    /* Within 2 px (track_distance_px, if less) of an older track */
} vfront_end_t;
#define VFRONT_ENDS 8 /* Values of vfront_end_t, with the unused 0 */

/** Track that ended in this step. */
typedef struct vfront_lost {
    uint64_t id;
    float x_px, y_px;  /* Last position, in the frame before [px] */
    uint32_t age, end; /* Age in the frame before; reason, vfront_end_t */
} vfront_lost_t;

/** Key point: best or second best corner of its level in its culling cell. Pixel (u, v) of a level lies at
 *  (u + 1/2) s - 1/2, s = (VFRONT_SCALE_NUM / VFRONT_SCALE_DEN)^level rounded to 2^-16. */
typedef struct vfront_keypoint {
    float x_px, y_px;   /* Position, a multiple of 2^-16 [px] */
    float angle_rad;    /* Orientation, -pi..pi, from x towards y [rad]; 0 when not described */
    uint32_t score;     /* Rank, at least 1: corner score (SAD to 4080, MT to 254); 25 / 2^24 Harris response over 7x7
                           px [grey^4]; 25 / 2^38 that over 5x5 px times squared corner score (SAD: 1/16) */
    uint16_t cell;      /* Row-major number of its cell in the grid for new tracks */
    uint8_t level, low; /* Level of VFRONT_SCALES below detect_levels; 1: passed detect_threshold_low only */
    float bearing[3];   /* Unit vector in axes of its camera; 0 0 0: not calibrated */
} vfront_keypoint_t;

/** Descriptor, as OpenCV's ORB: bit i is word[i / 32] >> (i % 32) & 1. */
typedef struct vfront_descriptor { uint32_t word[8]; } vfront_descriptor_t;

#define VFRONT_NO_MATCH 65535 /* Value of vfront_depth_t.match without a match */

/** Depth of a key point, by its match in camera 1 or a search around its predicted depth. */
typedef struct vfront_depth {
    uint16_t keypoint, match;    /* Index in keypoints[0]; in keypoints[1], or VFRONT_NO_MATCH */
    uint16_t distance, reserved; /* Hamming distance of the descriptors [bits], 0 without a match; 0 */
    float x_px, y_px;            /* Position in camera 1, to sub-pixel [px] */
    float depth_m, sigma_m;      /* Depth along z of camera 0, its standard deviation [m] */
} vfront_depth_t;

/** Match of a key point with one of the frame before. */
typedef struct vfront_match {
    uint16_t keypoint, before;      /* Index in keypoints[0], of this result and of that of the frame before */
    uint16_t distance;              /* Hamming distance of the descriptors [bits] */
    uint16_t second;                /* Distance of the second best match elsewhere [bits]; 256: none */
    uint16_t agrees;                /* Inlier of motions, as vfront_track_t.agrees */
    uint16_t refined;               /* 1: aligned to sub-pixel; 0: position of the key point */
    float x_px, y_px;               /* Position in this frame [px] */
    float bearing[3];               /* Unit vector of that position, as vfront_track_t.bearing */
    float x_before_px, y_before_px; /* Position of `before`, or of its match, in that frame [px] */
    uint32_t id;                    /* Chain of matches, unique for 2^32 / VFRONT_KEYPOINTS frames */
    uint32_t age;                   /* Matches in this chain so far, at least 1 */
} vfront_match_t;

/* ---- motion of camera 0 ---- */
/** State of a motion; R is the identity and t is 0 where they are not valid. */
typedef enum vfront_motion_state {
    VFRONT_MOTION_NONE = 0,     /* Not estimated: first frame, calibration, tuning; metric: no depth */
    VFRONT_MOTION_GOOD = 1,     /* R, t and covariance are valid */
    VFRONT_MOTION_ROTATION = 2, /* Relative: a rotation alone; R is valid */
    VFRONT_MOTION_FEW = 3,      /* Fewer correspondences than ego_least */
    VFRONT_MOTION_UNSURE = 4,   /* Too few inliers (ego_least, ego_least_percent), or invalid: reason in flags */
    VFRONT_MOTION_FROZEN = 5    /* Picture of camera 0 frozen, in this frame or the one before */
} vfront_motion_state_t;

/** Bits of vfront_motion_t.flags. */
enum {
    VFRONT_MOTION_STILL = 1,        /* Half of the correspondences moved under 0.2 px */
    VFRONT_MOTION_PLANE = 2,        /* Relative: nearly all inliers in one plane */
    VFRONT_MOTION_PARALLAX = 4,     /* Relative: the direction of t is weak */
    VFRONT_MOTION_TWO = 8,          /* Relative: outliers fit another motion: moving object */
    VFRONT_MOTION_ONE_GPU = 16,     /* Relative: by VFRONT_CUBLAS, bits of this GPU alone */
    VFRONT_MOTION_STEREO = 32,      /* Metric: health.stereo SUSPECT or BLIND in this frame or the one before */
    VFRONT_MOTION_CONTRADICTS = 64, /* Contradicts the other motion; the weaker is UNSURE */
    VFRONT_MOTION_PRIOR = 128,      /* Contradicts the rotation prior: UNSURE */
    VFRONT_MOTION_OUTLIERS = 256,   /* Share of inliers below 40 % of its running mean */
    VFRONT_MOTION_WIDE = 512,       /* Metric: inliers by a bound three times as wide */
    VFRONT_MOTION_LATE = 1024,      /* Pictures are late (health.late), or no longer late */
    VFRONT_MOTION_JUMP = 2048       /* Metric: acceleration over ego_jump_mmps2 */
};

/** Bits of `agrees`: inlier of the relative, of the metric motion. */
enum { VFRONT_AGREES_RELATIVE = 1, VFRONT_AGREES_METRIC = 2 };

/** Motion of camera 0 from the frame before to this one: p_now = R p_before + t for static points. */
typedef struct vfront_motion {
    uint32_t state, flags;       /* vfront_motion_state_t; VFRONT_MOTION_STILL... */
    uint32_t pairs, inliers;     /* Correspondences, metric: with a depth; inliers among them */
    uint32_t others;             /* Outliers that fit one other motion, of at most 512 */
    uint32_t hypotheses, needed; /* Hypotheses scored; number for 99 % success, at most 10^6 */
    float rms_px;                /* RMS error of the inliers, mid-picture [px] */
    float parallax_px;           /* Median displacement of the inliers, R removed [px] */
    uint32_t reserved;
    uint64_t frame;       /* vfront_result_t.frame of the result in which it was estimated */
    float R[9], t[3];     /* Rotation, row-major; translation, metric: [m], relative: a unit vector */
    float covariance[21]; /* Upper triangle by rows, 6x6, of (t, w), R_true = exp([w]) R, w [rad], axes now */
} vfront_motion_t;

/** Bits of vfront_prediction_t.source; 0: unknown. */
enum {
    VFRONT_PREDICT_ROTATION = 1, /* Rotation prior of the frame: gyro, IMU or R_cur_prev */
    VFRONT_PREDICT_MOTION = 2,   /* Last good metric motion, at constant velocity */
    VFRONT_PREDICT_TURN = 4,     /* Last good relative rotation, at a constant rate */
    VFRONT_PREDICT_STATE = 8     /* State of the frame before, propagated by IMU samples */
};

/** Motion since the last frame with a picture, as predicted. */
typedef struct vfront_prediction {
    uint32_t source; /* VFRONT_PREDICT_ROTATION... */
    uint32_t reserved;
    float R[9], t[3];     /* As vfront_motion_t, t [m]; identity and 0 where unknown */
    float covariance[21]; /* As vfront_motion_t; unknown: 10 m/s, 2 rad/s times the interval; at first: 0 */
} vfront_prediction_t;

/* ---- disparities and stixels ---- */
/** Disparity image: pixel (x, y) of camera 0 is (x - disparity, y) in camera 1. Depth: fx_px times baseline over it. */
typedef struct vfront_disparity {
    const uint16_t *px16;        /* [height_px][pitch] on the host [1/16 px]; NULL unless `dense` is 1 */
    const uint8_t *confidence;   /* [height_px][pitch], margin, 1..255; 1: filled; 0: none. Stixels: 72 on */
    int32_t width_px, height_px; /* Size of camera 0's picture [px] */
    int32_t pitch;               /* Elements from row to row */
    uint32_t valid;              /* Pixels with a disparity */
} vfront_disparity_t;
#define VFRONT_NO_DISPARITY 0xffffu /* Value of px16 for a pixel without disparity */

typedef enum vfront_stixel_type {
    VFRONT_STIXEL_GROUND = 0, /* Road, level steps */
    VFRONT_STIXEL_OBJECT = 1, /* Upright: one distance over all rows */
    VFRONT_STIXEL_SKY = 2,    /* At infinite distance */
    VFRONT_STIXEL_UNKNOWN = 3 /* Below the horizon, no match in camera 1 */
} vfront_stixel_type_t;

/** Stixel: a vertical segment of a column. */
typedef struct vfront_stixel {
    uint16_t base_px, top_px;  /* Lowest and highest row, both inclusive */
    uint32_t type;             /* vfront_stixel_type_t */
    float disparity_px;        /* Mean of its valid disparities [px]; -1: none */
    float distance_m, sigma_m; /* Distance along z of camera 0, deviation [m]; 0: none */
    float cost;                /* Share in the cost of its column [nat] */
} vfront_stixel_t;

/** Road. NONE: unknown, so no stixels. SEEN: found in this frame. HELD: an earlier one. GIVEN: by the rig. */
typedef enum vfront_road_state {
    VFRONT_ROAD_NONE = 0, VFRONT_ROAD_SEEN = 1, VFRONT_ROAD_HELD = 2, VFRONT_ROAD_GIVEN = 3
} vfront_road_state_t;

/** Road: its disparity is slope * (row - horizon_px). All 0 when there is none. */
typedef struct vfront_road {
    uint32_t state;            /* vfront_road_state_t */
    uint32_t votes, unseen;    /* Votes for the road's line; frames in a row without it */
    float horizon_px, slope;   /* Row of the horizon; disparity from row to row [px] */
    float pitch_rad, height_m; /* Pitch of camera 0, upwards [rad]; height above the road [m] */
} vfront_road_t;

#define VFRONT_OBSTACLE_BINS 72        /* Directions, 5 degrees each, first centred ahead, clockwise from above */
#define VFRONT_OBSTACLE_UNKNOWN 65535u /* Distance of an unknown direction */

/* ---- health ---- */
/** Health of tracking. */
typedef enum vfront_health_state {
    VFRONT_STARTING = 0, /* First frame since init, reset or a set clock */
    VFRONT_TRACKING = 1, /* Normal operation */
    VFRONT_DEGRADED = 2, /* Followed tracks below 50 % of track_target, or a gap */
    VFRONT_LOST = 3      /* No track or motion connects this frame with the one before */
} vfront_health_state_t;

/** Bits of vfront_health_t.imu: faults of IMU samples. */
typedef enum vfront_imu_fault {
    VFRONT_IMU_MISSING = 1,      /* No sample after t_mid_ns of the frame before */
    VFRONT_IMU_GAP = 2,          /* Over 1.5 intervals without a sample */
    VFRONT_IMU_SATURATED = 4,    /* Sample at gyro_limit_rad_s, accel_limit_m_s2 or above */
    VFRONT_IMU_STUCK = 8,        /* Rates or forces equal to the bit: gyro_stuck_samples */
    VFRONT_IMU_ZERO = 16,        /* All values of the step are 0 */
    VFRONT_IMU_IN_G = 32,        /* Forces seem to be in g, by the last rest */
    VFRONT_IMU_NO_GRAVITY = 64,  /* Forces seem to lack gravity, by the last rest */
    VFRONT_IMU_AHEAD = 128,      /* Samples over VFRONT_IMU_AHEAD_NS after t_mid_ns were dropped */
    VFRONT_IMU_AXES = 256,       /* Rates contradict the pictures in axes, scale or sign */
    VFRONT_IMU_IN_DEGREES = 512, /* Rates are 40 to 80 times those of the pictures: degrees */
    VFRONT_IMU_CLOCK = 1024      /* Rates are those of the pictures at another time: imu_late_us */
} vfront_imu_fault_t;

/** Bits of vfront_health_t.full: lists that were too short. */
enum { VFRONT_FULL_TRACKS = 1, VFRONT_FULL_KEYPOINTS = 2 };

/** Consistency of both cameras. */
typedef enum vfront_stereo_state {
    VFRONT_STEREO_NONE = 0,    /* Depths are not computed */
    VFRONT_STEREO_GOOD = 1,    /* Matches on lines, or off by a constant; tracks keep partners */
    VFRONT_STEREO_SUSPECT = 2, /* Few, off lines, beyond infinity, or a frame late */
    VFRONT_STEREO_BLIND = 3    /* A camera without points or picture; frozen, blurred */
} vfront_stereo_state_t;

/** Health of a step. Counters are modulo 2^32. epipolar_offset_px: positive left of lines to smaller depths. */
typedef struct vfront_health {
    uint32_t state;         /* vfront_health_state_t */
    uint32_t quality;       /* Followed tracks over track_target [%], 1..100; target 0: 100 */
    uint32_t reset_counter; /* first_counter, + 1 for each reset, set clock, VFRONT_LOST */
    uint32_t motion_breaks; /* first_counter, + 1 for each end of good metric motions */
    uint32_t followed;      /* Tracks of the frame before still alive */
    uint32_t born;
    uint32_t ended[VFRONT_ENDS];      /* Tracks that ended, by vfront_end_t */
    uint32_t overflow;                /* Corners left over when track_target was reached */
    uint32_t dropped[VFRONT_CAMERAS]; /* Corners beyond select_points or a level's share */
    uint32_t full;                    /* VFRONT_FULL_TRACKS, VFRONT_FULL_KEYPOINTS << camera */
    uint32_t gap;                     /* 1: more than health_gap_ms since the frame before */
    uint32_t gyro_short;              /* 1: samples do not reach both frames: no rotation prior */
    uint32_t gyro_stuck;              /* 1: rates equal to the bit, gyro_stuck_samples: no prior */
    uint32_t imu;                     /* VFRONT_IMU_MISSING...; 0 in the first frame */
    uint32_t imu_samples;             /* IMU samples of the step, with the two that enclose it */
    int32_t imu_late_us;              /* With VFRONT_IMU_CLOCK: to be added to imu_offset_ns [us] */
    uint32_t calibration;             /* 1: does not fit the pictures */
    uint32_t irregular;                          /* 1: frame interval off its mean by 1/256 and 5 mean deviations */
    uint32_t interval_us;                        /* Running mean of 8 frame intervals [us]; 0: none yet */
    uint32_t repeated;                           /* Bit 1 << camera: equals one of its last eight pictures */
    uint32_t missing;                            /* Bit 1 << camera: VFRONT_NO_PICTURE */
    uint32_t late;                               /* Age of camera 0's pictures, 2..8 [frames]; 0: not known */
    float prior_rms_rad;                         /* RMS of motion less corrected prior, 64 frames [rad]; 0: unknown */
    uint32_t frozen[VFRONT_CAMERAS];             /* Frames in a row whose picture equals the one before */
    uint32_t stereo;                             /* vfront_stereo_state_t */
    uint32_t stereo_permille;                    /* Key points with a match in camera 1, else tracks [1/1000] */
    float stereo_offset_px;                      /* Mean epipolar distance of matches [px of the coarser level] */
    float epipolar_offset_px;                    /* Offset of camera 1 across epipolar lines, at right: down [px] */
    float epipolar_sigma_px;                     /* Its standard deviation [px]; 1 at first */
    float disparity_offset_px;                   /* Common error of all disparities; positive: too large [px] */
    float disparity_sigma_px;                    /* Standard deviation of disparity_offset_px [px] */
    uint64_t dt_ns;                              /* Time since the frame before [ns]; 0 in the first */
    uint32_t cells[VFRONT_CAMERAS];              /* Cells of the grid for new tracks */
    uint32_t starved[VFRONT_CAMERAS];            /* Cells for new tracks without a corner on any level */
    float brightness_grey[VFRONT_CAMERAS];       /* Mean of the picture [grey levels] */
    float sharpness_grey[VFRONT_CAMERAS];        /* Mean absolute difference of neighbouring pixels [grey levels] */
    uint32_t brightness_changed[VFRONT_CAMERAS]; /* 1: below 65 % or above 150 % of its mean over 8 frames */
    uint32_t sharpness_changed[VFRONT_CAMERAS];  /* 1: below 50 % or above 200 % of its mean over 8 frames */
    uint32_t dark_permille[VFRONT_CAMERAS];      /* Pixels of 5 grey levels or less [1/1000 of the picture] */
    uint32_t bright_permille[VFRONT_CAMERAS];    /* Pixels of 250 grey levels or more [1/1000 of the picture] */
} vfront_health_t;

/** Stages in run order: X(name); needs: src/stages.def. */
#define VFRONT_STAGE_LIST(X) \
    X(ingest) X(freeze) X(rectify) X(pyramid) X(scale) X(smooth) X(predict) X(track) X(detect) X(refill) X(select) \
    X(bearing) X(describe) X(stereo) X(epipolar) X(match) X(partner) X(observe) X(vio) X(recall) X(relpose) X(ego) \
    X(keyframe) X(loop) X(map) X(dense) X(stixel) X(report)

/** Number of each stage, VFRONT_STAGE_ingest...; number of stages. */
typedef enum vfront_stage {
#define VFRONT_STAGE_NUMBER(name) VFRONT_STAGE_##name,
    VFRONT_STAGE_LIST(VFRONT_STAGE_NUMBER)
#undef VFRONT_STAGE_NUMBER
    VFRONT_STAGES
} vfront_stage_t;

/* ---- loops and map ---- */
#define VFRONT_LOOPS 3        /* Most loops of a step */
#define VFRONT_LOOP_PAIRS 300 /* Most correspondences of a loop */

/** Outcome of a loop. */
typedef enum vfront_loop_state {
    VFRONT_LOOP_ACCEPTED = 1, /* Camera 0 is where the keyframe was; the pose is valid */
    VFRONT_LOOP_FEW = 2,      /* Too few inliers, or in one part of the picture: R identity, t 0 */
    VFRONT_LOOP_FAR = 3,      /* Farther than the trajectory can have drifted */
    VFRONT_LOOP_TWO = 4,      /* Two motions fit, and no trajectory decides */
    VFRONT_LOOP_ALONE = 5     /* No other keyframe of this frame or the last 15 confirms it */
} vfront_loop_state_t;

/** Valid part of a pose. METRIC: R, t. RELATIVE: R, direction of t (parallax_rad 0.4 or more). ROTATION: R; t is 0. */
typedef enum vfront_loop_kind {
    VFRONT_LOOP_METRIC = 1, VFRONT_LOOP_RELATIVE = 2, VFRONT_LOOP_ROTATION = 3
} vfront_loop_kind_t;

/** Loop: camera 0 relative to a keyframe of the same place: p_now = R p_keyframe + t. */
typedef struct vfront_loop {
    uint64_t frame, t_ns;       /* vfront_result_t.frame and t_mid_ns [ns] of the keyframe */
    uint32_t state, kind;       /* vfront_loop_state_t, vfront_loop_kind_t */
    uint32_t pairs;             /* Correspondences: each other's nearest by descriptor */
    uint32_t inliers, agreeing; /* Inliers of pairs; other keyframes that confirm the pose */
    float parallax_rad;         /* Mean angle between bearings, without the rotation [rad] */
    float R[9], t[3];           /* Rotation, row-major; translation [m], or a unit vector */
    float covariance[21];       /* As vfront_motion_t.covariance, by the residuals alone */
    uint32_t loaded;            /* 1: of a loaded map; frame and t_ns are those of its run */
} vfront_loop_t;

/** Correspondence of a loop. */
typedef struct vfront_loop_pair {
    uint16_t keypoint, before; /* Index in keypoints[0], of this result and of that of the keyframe */
    uint16_t distance;         /* Hamming distance of the descriptors [bits] */
    uint16_t inlier;           /* 1: consistent with the pose */
} vfront_loop_pair_t;

/** Knowledge of T_map_odom. */
typedef enum vfront_map_state {
    VFRONT_MAP_NONE = 0,    /* No map: tuning value `map` 0. All else is 0 */
    VFRONT_MAP_GOOD = 1,    /* The trajectory of this frame is connected with the map */
    VFRONT_MAP_LOST = 2,    /* Not connected, no loop yet: T_map_odom is not valid */
    VFRONT_MAP_NO_SCALE = 3 /* No scale: loops correct nothing */
} vfront_map_state_t;

/** Pose of camera 0 in the odometry frame, and pose T_map_odom of the odometry frame in the map frame:
 *  x_map = R(q_map_odom) x_odom + t_map_odom_m. Without `nav` the odometry frame is the frame of camera 0 at the start
 *  of the trajectory. The map frame is the odometry frame of the first trajectory in the map. */
typedef struct vfront_map {
    double position_m[3];      /* Camera 0 in the odometry frame [m] */
    double q_odom_cam[4];      /* Unit quaternion w x y z: from camera axes to those of the odometry frame */
    double t_map_odom_m[3];    /* Origin of the odometry frame in the map [m] */
    double q_map_odom[4];      /* Unit quaternion w x y z: from axes of the odometry frame to those of the map */
    double sigma_m, sigma_rad; /* Deviations of the last keyframe in the map: each axis [m], yaw [rad]; 0: not GOOD */
    uint32_t state;            /* vfront_map_state_t */
    uint32_t counter;          /* Jumps of T_map_odom by over 3 deviations since init or reset */
    uint32_t nodes, loops;     /* Number of keyframes and of loops in the pose graph */
} vfront_map_t;

/* ---- result ---- */
/** Times of a step. */
typedef struct vfront_timing {
    float stage_us[VFRONT_STAGES]; /* First to last work of each stage, device's clock [us]; 0: left out */
    float device_us;               /* First to last work of all stages [us] */
    float step_us;                 /* From vfront_submit() to the result, on the host's clock [us] */
    uint32_t overrun;              /* 1: step_us exceeds deadline_us */
    uint32_t overruns;             /* Overruns since vfront_init() */
    uint32_t port;                 /* vfront_port_t that computed the result */
    uint32_t failed_over;          /* 1: computed by the host port that took over (`failover`) */
} vfront_timing_t;

/** Result of a step. Arrays have `_count` elements; those beyond are undefined. */
struct vfront_result {
    uint64_t t_ns, t_mid_ns; /* Stamp, middle of the exposure [ns] */
    uint64_t frame;          /* Frames since init, reset or a set clock */
    vfront_health_t health;
    uint32_t tracks_count, lost_count;
    uint32_t keypoints_count[VFRONT_CAMERAS];
    uint32_t descriptors_count[VFRONT_CAMERAS]; /* `describe` 1: keypoints_count; 0: 0 */
    uint32_t depths_count, matches_count;
    uint32_t keyframe, keyframes_count; /* 1: this frame is a keyframe; number of keyframes kept */
    uint32_t loops_count, loop_pairs_count;
    uint32_t loop_pairs_of; /* Index in `loops` of the loop of loop_pairs: the best one */
    uint32_t reserved;
    vfront_motion_t relative; /* Motion by bearings: rotation, direction of t */
    vfront_motion_t metric;   /* Motion by depths of the frame before */
    vfront_motion_t good;     /* Last GOOD motion, metric before relative */
    vfront_prediction_t predicted;
    vfront_nav_t nav;
    vfront_innovation_t innovation[VFRONT_TESTS]; /* Of nav, by vfront_test_t */
    vfront_timing_t timing;
    vfront_track_t tracks[VFRONT_TRACKS];                          /* Alive, by rising id */
    vfront_lost_t lost[VFRONT_TRACKS];                             /* Ended in this step, by rising id */
    vfront_keypoint_t keypoints[VFRONT_CAMERAS][VFRONT_KEYPOINTS]; /* By level, culling cell, best first */
#if VFRONT_DESCRIPTORS
    vfront_descriptor_t descriptors[VFRONT_CAMERAS][VFRONT_KEYPOINTS]; /* Of the key points, in their order */
#endif
#if VFRONT_STEREO
    vfront_depth_t depths[VFRONT_KEYPOINTS]; /* By rising keypoint; every match in camera 1 at most once */
#endif
#if VFRONT_MATCHES
    vfront_match_t matches[VFRONT_KEYPOINTS]; /* By rising keypoint; every `before` at most once */
#endif
#if VFRONT_MAP
    vfront_map_t map;                                 /* Odometry frame in the map */
    vfront_loop_t loops[VFRONT_LOOPS];                /* The likeliest keyframe first */
    vfront_loop_pair_t loop_pairs[VFRONT_LOOP_PAIRS]; /* Pairs of loop_pairs_of, by rising distance */
#endif
#if VFRONT_DENSE
    vfront_disparity_t disparity;
#endif
#if VFRONT_STIXELS
    vfront_road_t road;
    uint32_t columns_count;                                   /* Columns; 0 when `stixel` is 0 */
    uint32_t columns_width_px;                                /* Width w of a column [px]; column i begins at i w */
    uint32_t columns_crowded;                                 /* Columns cut to VFRONT_SEGMENTS stixels */
    uint16_t stixels_count[VFRONT_COLUMNS];                   /* Stixels of each column; 0: no road, or no disparity */
    /* Camera 0 to nearest object by direction [cm]; stixel_far_m * 100 + 1: free; VFRONT_OBSTACLE_UNKNOWN */
    uint16_t obstacles_cm[VFRONT_OBSTACLE_BINS];
    vfront_stixel_t stixels[VFRONT_COLUMNS][VFRONT_SEGMENTS]; /* Of each column, from the bottom up */
#endif
};

/** Facts fixed by vfront_init(). */
struct vfront_info {
    vfront_port_t port;
    char device[64]; /* GPU, or "host" */
    size_t host_bytes;
    size_t pinned_bytes, device_bytes;
    char failover[128];                    /* Why the host port took over; "" while it did not */
    uint32_t abandoned;                    /* GPU ports whose thread is still in a CUDA call */
    size_t abandoned_bytes;                /* Device and pinned memory that those ports hold */
    int32_t levels, scales;                /* Levels built, of VFRONT_LEVELS and VFRONT_SCALES */
    int32_t cells[VFRONT_CAMERAS];         /* Cells of the grid for new tracks */
    uint32_t blind_px[VFRONT_CAMERAS];     /* Pixels without bearing in a calibrated lens: masked */
    int32_t rectified;                     /* 1: pictures are rectified */
    vfront_camera_t camera[VFRONT_CAMERAS]; /* Cameras of the results: the rig's or rectified; no masks */
    int32_t valid_px[VFRONT_CAMERAS][4];   /* Column, row, width, height of what is covered [px] */
    const uint16_t *disparity_px16;        /* Port memory [height_px][disparity_pitch], last disparities [1/16 px] */
    const uint8_t *disparity_confidence;   /* Confidences. Both NULL if `dense` is 0, written from submit to wait */
    int32_t disparity_pitch;               /* Elements from row to row of both images */
};

/* ---- memory of vfront_t; comparison of application and library ---- */
/** Size of vfront_t [bytes]. */
#define VFRONT_BLOCK_BYTES \
    (VFRONT_CONTEXT_BYTES + VFRONT_SAMPLE_BYTES * VFRONT_IMU_SAMPLES + VFRONT_VIO * VFRONT_NAV_BYTES + \
     1ull * VFRONT_HOST * \
         (VFRONT_STANDBY_BYTES + VFRONT_SMALL_BYTES + VFRONT_LINES_BYTES + \
          VFRONT_CAMERAS * (VFRONT_CAMERA_BYTES + VFRONT_POINTS_BYTES) + \
          VFRONT_TRACKS_BYTES + VFRONT_MATCHES_BYTES + VFRONT_MOTION_BYTES + VFRONT_VIO * VFRONT_VIO_BYTES + \
          VFRONT_MAP * (VFRONT_PLACES_BYTES + VFRONT_KEYFRAME_BYTES * VFRONT_KEYFRAMES) + VFRONT_DISPARITY_BYTES + \
          VFRONT_STIXEL_BYTES + 3u * sizeof(vfront_result_t)))

/** A vision system: zeroed before vfront_init(), then the library's. Static storage or heap: 119 MB in the standard
 *  config. Not to be copied or moved until vfront_shutdown(). */
struct vfront {
    uint64_t block[(VFRONT_BLOCK_BYTES + 7u) / 8u];
};

/** Types whose size is compared: X(type). */
#define VFRONT_TYPES(X) \
    X(vfront_status_t) X(vfront_camera_t) X(vfront_imu_t) X(vfront_imu_noise_t) X(vfront_rig_t) X(vfront_tuning_t) \
    X(vfront_tuning_entry_t) X(vfront_gyro_t) X(vfront_picture_t) X(vfront_frame_t) X(vfront_track_t) \
    X(vfront_lost_t) X(vfront_keypoint_t) X(vfront_descriptor_t) X(vfront_depth_t) X(vfront_match_t) \
    X(vfront_motion_t) X(vfront_prediction_t) X(vfront_disparity_t) X(vfront_stixel_t) X(vfront_road_t) \
    X(vfront_health_t) X(vfront_nav_t) X(vfront_innovation_t) X(vfront_loop_t) X(vfront_loop_pair_t) \
    X(vfront_map_t) X(vfront_timing_t) X(vfront_result_t) X(vfront_info_t) X(vfront_t)

/** Initialisers of a vfront_value_t[]. */
#define VFRONT_VALUE_OF(name) {#name, name},
#define VFRONT_SIZE_OF(type) {"sizeof(" #type ")", sizeof(type)},
#define VFRONT_VALUES VFRONT_VALUE_OF(VFRONT_ABI) VFRONT_CONFIG(VFRONT_VALUE_OF) VFRONT_TYPES(VFRONT_SIZE_OF)

static inline vfront_status_t vfront_init(vfront_t *vf, const vfront_rig_t *rig, const vfront_tuning_t *tuning,
                                          vfront_port_t port)
{
    static const vfront_value_t values[] = {VFRONT_VALUES};
    return vfront_init_values(vf, rig, tuning, port, values, sizeof values / sizeof *values);
}

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif
#endif
