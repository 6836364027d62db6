/* SPDX-License-Identifier: MIT
 *
 * vfront: the vision system of a flight computer. In, one fixed step at a time: camera frames, readings of a gyro or
 * an IMU. Out: tracked features, key points with descriptors and bearings, depth, matches with the frame before, the
 * motion of the camera, disparities, stixels, and the health of the step. The same bits from every GPU and from the
 * CPU.
 *
 *     static vfront_t vf;                                        // all host memory: static, no heap
 *     vfront_init(&vf, &rig, NULL, VFRONT_PORT_AUTO);            // takes device memory and pinned memory, once
 *     for (;;) { fill(&frame); vfront_step(&vf, &frame, &result); use(result->tracks, result->tracks_count); }
 *     vfront_shutdown(&vf);
 *
 * Memory:   fixed by vfront_cfg.h; nothing is allocated after vfront_init().
 * Threads:  one thread at a time for each vfront_t; any number of vfront_t. The CUDA port has a thread of its own, which
 *           makes all CUDA calls, so that one that hangs can be given up: abandon_us. Its signals are blocked; it has
 *           the scheduling policy and the processors of the thread that called vfront_init().
 * Bits:     everything in vfront_result_t but `timing` and health.reset_counter is a pure function of config, rig,
 *           tuning and the frames and maps since vfront_init() or vfront_reset(), whichever ports computed them and also where
 *           the GPU failed in between (vfront_return()). vfront_digest() condenses it. Of refused
 *           frames nothing is input but the stamps that VFRONT_E_TIME refuses: see vfront_frame_t.
 * Picture:  row-major, origin at the top left, x to the right, y down; the centre of a pixel has integer coordinates.
 *           Positions are in pixels of level 0, the full picture, unless another level is named.
 * Camera:   x to the right, y down, z forward along the optical axis.
 *
 * Sections: status, port, calls; then types: IMU, rig, tuning, frame, result, health, timing, info, state; last sizes
 * of memory.
 */
#ifndef VFRONT_H
#define VFRONT_H

#include <stddef.h>
#include <stdint.h>

#include "vfront_cfg.h"

/** Prefix of the symbols of a library that was built with `make PREFIX_SYMBOLS=name_`: -DVFRONT_PREFIX=name_. A program
 *  can hold two such libraries, each with its own config; every source file of it sees one of them. */
#ifdef VFRONT_PREFIX
#define VFRONT_JOIN_(prefix, name) prefix##name
#define VFRONT_JOIN(prefix, name) VFRONT_JOIN_(prefix, name)
#define vfront_init_values VFRONT_JOIN(VFRONT_PREFIX, vfront_init_values)
#define vfront_version VFRONT_JOIN(VFRONT_PREFIX, vfront_version)
#define vfront_submit VFRONT_JOIN(VFRONT_PREFIX, vfront_submit)
#define vfront_wait VFRONT_JOIN(VFRONT_PREFIX, vfront_wait)
#define vfront_step VFRONT_JOIN(VFRONT_PREFIX, vfront_step)
#define vfront_reset VFRONT_JOIN(VFRONT_PREFIX, vfront_reset)
#define vfront_shutdown VFRONT_JOIN(VFRONT_PREFIX, vfront_shutdown)
#define vfront_input VFRONT_JOIN(VFRONT_PREFIX, vfront_input)
#define vfront_inputs VFRONT_JOIN(VFRONT_PREFIX, vfront_inputs)
#define vfront_info VFRONT_JOIN(VFRONT_PREFIX, vfront_info)
#define vfront_detail VFRONT_JOIN(VFRONT_PREFIX, vfront_detail)
#define vfront_status_name VFRONT_JOIN(VFRONT_PREFIX, vfront_status_name)
#define vfront_stage_name VFRONT_JOIN(VFRONT_PREFIX, vfront_stage_name)
#define vfront_digest VFRONT_JOIN(VFRONT_PREFIX, vfront_digest)
#define vfront_digest_stage VFRONT_JOIN(VFRONT_PREFIX, vfront_digest_stage)
#define vfront_digest_parts VFRONT_JOIN(VFRONT_PREFIX, vfront_digest_parts)
#define vfront_return VFRONT_JOIN(VFRONT_PREFIX, vfront_return)
#define vfront_tuning_default VFRONT_JOIN(VFRONT_PREFIX, vfront_tuning_default)
#define vfront_tuning_set VFRONT_JOIN(VFRONT_PREFIX, vfront_tuning_set)
#define vfront_tuning_entry VFRONT_JOIN(VFRONT_PREFIX, vfront_tuning_entry)
#define vfront_lens_project VFRONT_JOIN(VFRONT_PREFIX, vfront_lens_project)
#define vfront_lens_bearing VFRONT_JOIN(VFRONT_PREFIX, vfront_lens_bearing)
#define vfront_map_save VFRONT_JOIN(VFRONT_PREFIX, vfront_map_save)
#define vfront_map_load VFRONT_JOIN(VFRONT_PREFIX, vfront_map_load)
#define vfront_propagate VFRONT_JOIN(VFRONT_PREFIX, vfront_propagate)
#endif

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/** Version of this header. Below 1.0 the interface may change with the minor number; src/README.md has the changes. */
#define VFRONT_VERSION_MAJOR 0
#define VFRONT_VERSION_MINOR 7
#define VFRONT_VERSION_PATCH 0
#define VFRONT_VERSION "0.7.0"

/** Number of the binary interface: rises with every change of a declaration in this header, be it one that leaves all
 *  sizes as they are. tests/house/abi.sh holds this. */
#define VFRONT_ABI 8

/* ---- status and port --------------------------------------------------------------------------------------------- */

/** Outcome of a call. Every status but VFRONT_OK leaves the state from before the call as it was; only a refused stamp
 *  is noted, see vfront_frame_t. The quality of a result is part of vfront_health_t, never of a status. The numbers do
 *  not change between versions. */
typedef enum vfront_status {
    VFRONT_OK = 0,
    VFRONT_E_NULL = -1,          /**< Required pointer is NULL. */
    VFRONT_E_STATE = -2,         /**< Call out of order: not initialised, initialised twice, wait without submit. */
    VFRONT_E_BUSY = -3,          /**< Frame under way: call vfront_wait() first. */
    VFRONT_E_CONFIG = -4,        /**< Library and application were compiled with different configs or versions of
                                      vfront.h; vfront_detail() names the first value that differs. */
    VFRONT_E_SIZE = -5,          /**< Picture size out of range or not the rig's, number of a camera or of cells out of
                                      range. */
    VFRONT_E_PITCH = -6,         /**< Pitch smaller than a row, or odd for a format of two bytes a pixel. */
    VFRONT_E_ALIGN = -7,         /**< Odd address for a format of two bytes a pixel, or vfront_t not aligned to 8. */
    VFRONT_E_FORMAT = -8,        /**< Unknown vfront_format_t. */
    VFRONT_E_MEMORY_KIND = -9,   /**< Unknown vfront_memory_t, address not of that kind, or kind not on this port. */
    VFRONT_E_MASK = -10,         /**< Mask of another size than the picture, or its pitch is smaller than a row. */
    VFRONT_E_TIME = -11,         /**< Stamp of a frame not after that of the frame before, or more than frame_jump_ms
                                      after it; or time of a picture farther than frame_skew_us from that of its
                                      frame. Or time to which vfront_propagate() cannot carry a state. */
    VFRONT_E_CALIBRATION = -12,  /**< Calibration value not finite or absurd; vfront_detail() names it, but one of
                                      vfront_imu_noise_t. */
    VFRONT_E_TUNING = -13,       /**< Unknown tuning value, or one out of its range; vfront_detail() names it. */
    VFRONT_E_GYRO = -14,         /**< Gyro readings out of order, not finite, over 100 rad/s, or too many. */
    VFRONT_E_PRIOR = -15,        /**< Rotation prior that is not a rotation, or that has no calibrated camera 0. */
    VFRONT_E_PORT = -16,         /**< Unknown port, or one that is not in this build. */
    VFRONT_E_NO_DEVICE = -17,    /**< No GPU for which this build has code, or none of the number `device`. */
    VFRONT_E_DRIVER = -18,       /**< GPU driver missing, or too old for the CUDA runtime in this build. */
    VFRONT_E_DEVICE_MEMORY = -19,/**< Not enough device memory or pinned memory. Also a GPU whose blocks cannot have the
                                      shared memory of a stage; vfront_detail() then names the stage. */
    VFRONT_E_DEVICE = -20,       /**< CUDA call or kernel failed. Later steps return it too, until vfront_shutdown(); not
                                      with the tuning value `failover`. */
    VFRONT_E_TIMEOUT = -21,      /**< Time-out ran out; the frame is still under way: wait again. */
    VFRONT_E_ABANDONED = -22,    /**< The GPU or its driver did not answer within abandon_us (in vfront_init()
                                      abandon_init_ms) and was given up; vfront_detail() names the CUDA call. Later
                                      steps return it too, until vfront_shutdown(). */
    VFRONT_E_STICKY = -23,       /**< A kernel of this process failed so that CUDA lets no call of it work again: a bad
                                      address, a trap, an assertion, an error of memory. Only a new process has the GPU
                                      again; the host port works in this one, too. */
    VFRONT_E_IMU = -24,          /**< IMU readings out of order, twice of one time, not finite, out of range, too many,
                                      or given beside gyro readings; for vfront_propagate() also none, or too far
                                      apart. */
    VFRONT_E_NAV = -25,          /**< State that is none: not finite, absurd, attitude not a unit quaternion, variance
                                      below 0 or correlation above 1. */
    VFRONT_E_MAP = -26,          /**< Image of a map that is damaged, cut, of another version, or none. */
    VFRONT_E_MAP_OTHER = -27,    /**< Map of another config or of other cameras; vfront_detail() says of which. */
    VFRONT_E_MAP_TWICE = -28     /**< Map of which keyframes are loaded already. */
} vfront_status_t;

/** Processor that runs the stages. */
typedef enum vfront_port {
    VFRONT_PORT_AUTO = 0, /**< CUDA where a GPU can be used, else host. */
    VFRONT_PORT_CUDA = 1, /**< NVIDIA GPU. */
    VFRONT_PORT_HOST = 2  /**< Processor of the calling thread, that one thread alone. */
} vfront_port_t;

/* ---- calls ------------------------------------------------------------------------------------------------------- */

typedef struct vfront vfront_t;                           /**< One vision system: memory of the caller. */
typedef struct vfront_camera vfront_camera_t;             /**< One camera: size, lens, pose. */
typedef struct vfront_rig vfront_rig_t;                   /**< All cameras. */
typedef struct vfront_tuning vfront_tuning_t;             /**< Values that may change from flight to flight. */
typedef struct vfront_tuning_entry vfront_tuning_entry_t; /**< Name, meaning and range of a tuning value. */
typedef struct vfront_frame vfront_frame_t;               /**< Input of a step. */
typedef struct vfront_result vfront_result_t;             /**< Output of a step. */
typedef struct vfront_info vfront_info_t;                 /**< Facts fixed by vfront_init(). */
typedef struct vfront_imu vfront_imu_t;                   /**< Reading of an IMU. */
typedef struct vfront_imu_noise vfront_imu_noise_t;       /**< Errors of an IMU. */
typedef struct vfront_nav vfront_nav_t;                   /**< Position, velocity, attitude, biases, covariance. */

/**
 * Initialises a vision system: checks everything, takes all memory, captures the step as CUDA graphs and runs each of
 * them once, so that the first frame takes no longer than any other. Compares the header that the application was
 * compiled with with the library's: VFRONT_ABI, every value of the config, the size of every struct.
 *
 * A front end that takes over from another one in flight, on another port or after a fault, counts on from there:
 * first_track_id above the ids of the other (or, where these exceed its range, any number that is free again),
 * first_motion_breaks and first_reset_counter one higher, since no motion connects the two.
 *
 * @param[in,out] vf      Zeroed memory, or a vfront_t after vfront_shutdown(). Aligned to 8 bytes.
 * @param[in]     rig     Cameras. Read within the call only.
 * @param[in]     tuning  Tuning values, read within the call only. NULL: standard values.
 * @param[in]     port    VFRONT_PORT_AUTO takes the host port when the CUDA port cannot be had for any reason:
 *                        vfront_info() has the port taken, vfront_detail() the reason.
 *
 * @retval VFRONT_OK             Ready.
 * @retval VFRONT_E_NULL         vf or rig is NULL.
 * @retval VFRONT_E_ALIGN        vf is not aligned to 8 bytes.
 * @retval VFRONT_E_STATE        vf is in use already.
 * @retval VFRONT_E_CONFIG       A value of the config, the size of a struct or VFRONT_ABI differs between application
 *                               and library: "VFRONT_WIDTH: 1280 in the application, 1920 in the library" is what
 *                               vfront_detail() then says. Nothing of vf changes but that text.
 * @retval VFRONT_E_SIZE         Number of cameras or a picture size out of range, or more cells than VFRONT_CELLS or
 *                               VFRONT_CULL_CELLS.
 * @retval VFRONT_E_CALIBRATION  Value of a vfront_camera_t, the road or the IMU out of its range, or poses of the
 *                               cameras that the tuning values `rectify` or `dense` cannot use.
 * @retval VFRONT_E_MASK         Pitch of a static mask smaller than a row.
 * @retval VFRONT_E_TUNING       Value out of its range, in conflict with another, or a `priority` that the device
 *                               lacks; vfront_detail() names it.
 * @retval VFRONT_E_PORT         Unknown port, or not in this build.
 * @retval VFRONT_E_NO_DEVICE, VFRONT_E_DRIVER, VFRONT_E_DEVICE_MEMORY, VFRONT_E_DEVICE, VFRONT_E_ABANDONED  CUDA port only;
 *                               vfront_detail() names the call that failed, or the stage that needs more shared memory
 *                               than a block of this GPU can have.
 */
static inline vfront_status_t vfront_init(vfront_t *vf, const vfront_rig_t *rig, const vfront_tuning_t *tuning,
                                          vfront_port_t port);

/** Value that application and library must agree on. The layout of this struct is the same in all versions. */
typedef struct vfront_value {
    const char *name; /**< Name, as vfront_detail() gives it. */
    uint64_t value;   /**< Value in the application. */
} vfront_value_t;

/** Form of vfront_init() for programs that cannot call an inline function: values are those of the application,
 *  VFRONT_VALUES, `count` of them. VFRONT_E_NULL also where values is NULL. */
vfront_status_t vfront_init_values(vfront_t *vf, const vfront_rig_t *rig, const vfront_tuning_t *tuning,
                                   vfront_port_t port, const vfront_value_t *values, size_t count);

/** Version of the library, VFRONT_VERSION of the header that it was compiled with. Never NULL. */
const char *vfront_version(void);

/**
 * Submits a frame. Returns at once on the CUDA port, when the work is done on the host port.
 *
 * @retval VFRONT_OK        Under way; vfront_wait() gives the result.
 * @retval VFRONT_E_NULL    vf, frame or a picture's data is NULL.
 * @retval VFRONT_E_STATE   Not initialised.
 * @retval VFRONT_E_BUSY    Another frame is under way.
 * @retval VFRONT_E_TIME    Frame not after the frame before, or more than frame_jump_ms after it; or a picture older or
 *                          newer than the frame by more than frame_skew_us. The stamp of the frame is checked first.
 * @retval VFRONT_E_SIZE, VFRONT_E_PITCH, VFRONT_E_ALIGN, VFRONT_E_FORMAT, VFRONT_E_MEMORY_KIND, VFRONT_E_MASK
 *                          Picture refused.
 * @retval VFRONT_E_PRIOR, VFRONT_E_GYRO, VFRONT_E_IMU  Rotation prior, gyro readings or IMU readings refused.
 * @retval VFRONT_E_DEVICE  The CUDA port failed, in this call or before, and there is no fail-over: vfront_return().
 * @retval VFRONT_E_ABANDONED  It was given up, in this call or before: see vfront_shutdown().
 * After any status but VFRONT_OK the next step goes on as if this frame had never come. One thing stays behind: a stamp
 * that VFRONT_E_TIME refuses is noted, because three that agree are a clock that was set (vfront_frame_t).
 */
vfront_status_t vfront_submit(vfront_t *vf, const vfront_frame_t *frame);

/**
 * Waits for the frame under way.
 *
 * @param[in]  timeout_us  Longest wait [us]; UINT32_MAX: until the step ends or is given up.
 * @param[out] result      Result, valid until the next-but-one vfront_submit(). NULL unless VFRONT_OK is returned.
 *
 * @retval VFRONT_OK         Result complete.
 * @retval VFRONT_E_NULL     vf or result is NULL.
 * @retval VFRONT_E_STATE    Not initialised, or no frame submitted.
 * @retval VFRONT_E_TIMEOUT  Still under way: wait again.
 * @retval VFRONT_E_DEVICE   The device failed, and there is no fail-over; the frame has no effect.
 * @retval VFRONT_E_ABANDONED  The step did not end within abandon_us of its vfront_submit() and was given up; the frame
 *                           has no effect: see vfront_shutdown().
 */
vfront_status_t vfront_wait(vfront_t *vf, uint32_t timeout_us, const vfront_result_t **result);

/** Submits a frame and waits for it without a time-out. Every status of vfront_submit() and vfront_wait(), when they
 *  return it. */
vfront_status_t vfront_step(vfront_t *vf, const vfront_frame_t *frame, const vfront_result_t **result);

/**
 * Drops all tracks, the time of the last frame, the refused stamps and the IMU readings kept; memory, tuning and rig
 * stay. Track ids start again at first_track_id, health.motion_breaks at first_motion_breaks; health.reset_counter
 * rises.
 * @retval VFRONT_E_NULL    vf is NULL.
 * @retval VFRONT_E_STATE   Not initialised.
 * @retval VFRONT_E_BUSY    A frame is under way.
 * @retval VFRONT_E_DEVICE  The CUDA port failed before.
 * @retval VFRONT_E_ABANDONED  It was given up, in this call or before.
 */
vfront_status_t vfront_reset(vfront_t *vf);

/**
 * Goes back to the GPU after the host port took over. Fail-over, with the tuning value `failover`:
 *
 * The host port stands by from vfront_init() on, and the GPU keeps on the host what the next step needs. When a CUDA
 * call or a kernel fails in a step, or a step is given up (abandon_us), vfront_submit() or vfront_wait() computes the
 * same frame on the host port, from the state of the frame before, and returns its result as if nothing had happened:
 * the same digest, the same ids, the same `nav`. It takes the time of a host step longer, whatever its time-out. Later
 * frames are computed there, too. The same happens, from the next frame on, after failover_overruns results in a row
 * that came after deadline_us. timing.port and timing.failed_over say where a result comes from, vfront_info_t.failover
 * says why; after vfront_submit(), vfront_wait() or vfront_step() vfront_detail() says so, too.
 *
 * Where the host is slower than the camera, results come late and each counts as an overrun: the library drops no
 * frame, and has no queue. The application submits what it can, always the newest frame; frames that it leaves out are
 * frames that never came. failover_dense 0 leaves out disparities and stixels there: their counts are 0, and all other
 * bits are those of vfront_digest_parts(result, VFRONT_PART_REST).
 *
 * Pictures in device memory or managed memory are refused (VFRONT_E_MEMORY_KIND), since nothing can be read there after
 * a fault. Pictures in pinned memory are copied by vfront_submit() while the GPU works. Buffers of vfront_input() stay
 * the same ones on either port. With VFRONT_PORT_HOST, or where AUTO found no GPU, the tuning value has no effect.
 *
 * vfront_return(): takes the state of the host port to the device, between two frames; the next
 * results are, bit for bit, those of a run that never left it (with failover_dense 0 the road of
 * the stixels is that of the last frame on the GPU). Bounded by abandon_us. The library never resets a CUDA context.
 * @retval VFRONT_E_NULL       vf is NULL.
 * @retval VFRONT_E_STATE      Not initialised, or no port failed over.
 * @retval VFRONT_E_BUSY       A frame is under way.
 * @retval VFRONT_E_STICKY     The GPU cannot be had again in this process.
 * @retval VFRONT_E_ABANDONED  The call or the step that was given up still hangs, or the GPU does so now.
 * @retval VFRONT_E_DEVICE     A CUDA call failed.
 * After any status but VFRONT_OK the host port goes on.
 */
vfront_status_t vfront_return(vfront_t *vf);

/**
 * Releases all memory, after the end of a frame under way; vf can be initialised again. No effect on NULL or on a vf
 * that is not initialised.
 *
 * A GPU that hangs: every call returns. A step that is not over abandon_us after its vfront_submit() is given up, and so
 * is a CUDA call that does not return until then; VFRONT_E_ABANDONED says so. After it vfront_shutdown() returns at
 * once, before it at the latest after abandon_us, and vf can be initialised again, on the host port. What the GPU port
 * holds cannot be freed then: it is left to the port's thread, which frees it and ends should the hang ever end. Until
 * then vfront_info_t.abandoned counts it. Pictures in pinned or device memory of the application, which the GPU reads
 * in place, must stay for as long. The exit of the process may wait for the driver, too.
 *
 * @retval VFRONT_OK           All is released, or nothing was to be done.
 * @retval VFRONT_E_ABANDONED  The GPU port was given up; vfront_detail() says at which CUDA call.
 */
vfront_status_t vfront_shutdown(vfront_t *vf);

/**
 * Saves the keyframes that are remembered (VFRONT_MAP, tuning value `map`), with their pose graph: copies them into the
 * caller's buffer as an image, which vfront_map_load() takes, in this run or another one, on any machine. The library
 * reads and writes no files. To be called between two frames, that is not while one is under way; changes nothing. The
 * same frames give the same bytes on every port and machine. 512 keyframes take 12 ms of one core of a server on the
 * host port; bounded by abandon_us.
 *
 * @param[out] buffer  Its content is undefined unless VFRONT_OK is returned.
 * @param[in]  bytes   Size of the buffer; VFRONT_MAP_BYTES is always enough.
 * @param[out] used    Bytes of the image; with VFRONT_E_SIZE those that it needs, else 0.
 * @retval VFRONT_E_NULL   A pointer is NULL.
 * @retval VFRONT_E_STATE  Not initialised, or `map` is 0.
 * @retval VFRONT_E_BUSY   A frame is under way.
 * @retval VFRONT_E_SIZE   The buffer is too small.
 * @retval VFRONT_E_DEVICE, VFRONT_E_ABANDONED  The CUDA port failed, now or before, and there is no fail-over.
 */
vfront_status_t vfront_map_save(vfront_t *vf, void *buffer, size_t bytes, size_t *used);

/**
 * Loads an image of vfront_map_save(): its keyframes come into the ring, beside those that are in it, and from the next
 * frame on (after vfront_init() and vfront_reset() from the second one on) loops may lead to them (vfront_loop_t.loaded).
 * Loaded before the first frame, and as the first one, a map goes on where it was saved: with poses, loops and axes of
 * its graph. What begins anew is the path: it is lost (VFRONT_MAP_LOST) until a loop tells where it lies in the map. Of a
 * map that is loaded beside another one, or in flight, places and loops are known, and its poses are in axes of the
 * runs that made them, which nothing connects with the map of this run but a loop.
 * To be called between two frames, or before the first one. vfront_reset(), and a clock that was set, forget keyframes
 * that were loaded, too. Results are a function of what was loaded, and before which frame. An image is taken as a
 * whole or not at all: every byte is checked before anything changes.
 *
 * @retval VFRONT_E_NULL       A pointer is NULL.
 * @retval VFRONT_E_STATE      Not initialised, or `map` is 0.
 * @retval VFRONT_E_BUSY       A frame is under way.
 * @retval VFRONT_E_MAP        Not an image of a map, of another version, cut, damaged in any byte, or with values that
 *                             no map has; vfront_detail() says which.
 * @retval VFRONT_E_MAP_OTHER  A map of another config (descriptors, levels, points a keyframe) or of other cameras: those
 *                             of vfront_info_t.seen count, all their numbers.
 * @retval VFRONT_E_MAP_TWICE  Keyframes of this map, or of one that is in it, are in the ring already.
 * @retval VFRONT_E_SIZE       The ring has no room for its keyframes: VFRONT_KEYFRAMES.
 * @retval VFRONT_E_DEVICE, VFRONT_E_ABANDONED  The CUDA port failed, now or before, and there is no fail-over.
 */
vfront_status_t vfront_map_load(vfront_t *vf, const void *buffer, size_t bytes);

/**
 * Input buffer of a camera, in the library's own pinned memory: the GPU reads it in place, so a camera driver that
 * writes there causes no copy. Each camera has two, used in turn; this is the one that no frame under way reads. Give
 * it as vfront_picture_t.data with VFRONT_PINNED_MEMORY.
 *
 * @param[in]  camera  0..rig.cameras - 1.
 * @param[out] data    VFRONT_INPUT_BYTES bytes, aligned to 64.
 * @retval VFRONT_E_NULL   vf or data is NULL.
 * @retval VFRONT_E_STATE  Not initialised.
 * @retval VFRONT_E_SIZE   No such camera.
 */
vfront_status_t vfront_input(vfront_t *vf, int32_t camera, void **data);

/**
 * Both input buffers of a camera, for a camera driver that is given its buffers before the first frame and fills them in
 * an order of its own, as V4L2's USERPTR has it. They stay the same ones until vfront_shutdown(). A picture may lie in
 * either of them, in any order, also twice in a row, and must not change from vfront_submit() until vfront_wait()
 * returns; the other buffer is neither read nor written meanwhile. While the driver has them, each picture of this
 * camera must lie in one of them, or be VFRONT_NO_PICTURE: a picture in other host memory is copied into a buffer of the
 * library's choice.
 *
 * @param[in]  camera  0..rig.cameras - 1.
 * @param[out] data    Two times VFRONT_INPUT_BYTES bytes, aligned to 64.
 * @retval VFRONT_E_NULL   vf or data is NULL.
 * @retval VFRONT_E_STATE  Not initialised.
 * @retval VFRONT_E_SIZE   No such camera.
 */
vfront_status_t vfront_inputs(vfront_t *vf, int32_t camera, void *data[VFRONT_INPUTS]);

/** Facts fixed by vfront_init(): port, memory, cameras of the results. VFRONT_E_NULL: vf or info is NULL;
 *  VFRONT_E_STATE: not initialised. */
vfront_status_t vfront_info(const vfront_t *vf, vfront_info_t *info);

/** One line on the last call that was refused or failed ("rig.camera[0].fx_px is not finite"), or "". Never NULL. */
const char *vfront_detail(const vfront_t *vf);

/** Name of a status ("VFRONT_E_SIZE"), or "unknown status". Never NULL. */
const char *vfront_status_name(vfront_status_t status);

/** Name of stage number `stage`, in run order ("detect"), or NULL for VFRONT_STAGES and above. */
const char *vfront_stage_name(size_t stage);

/** Digest of everything in a result but `timing` and health.reset_counter: FNV-1a, 64 bits, over the fields low byte
 *  first, in the order of src/core/digest.c. 0 for NULL. */
uint64_t vfront_digest(const vfront_result_t *result);

/** Parts of a result, for vfront_digest_parts(): disparities; road, stixels and obstacles; everything else. */
enum { VFRONT_PART_REST = 1, VFRONT_PART_DISPARITIES = 2, VFRONT_PART_STIXELS = 4, VFRONT_PART_ALL = 7 };

/** Digest of some parts of a result, as vfront_digest(), which is that of all. parts: VFRONT_PART_REST... To compare a
 *  result with one for which the host port left out disparities and stixels (failover_dense). 0 for NULL. */
uint64_t vfront_digest_parts(const vfront_result_t *result, uint32_t parts);

/** Digest of what one stage has put into a result, to name the first stage, in run order, at which two results of the
 *  same frame differ. Of `report`: vfront_digest(), so that results which differ do so in it at the latest. 0 for NULL,
 *  for a stage of which a result has nothing but through later ones (rectify, pyramid, scale, smooth, detect, sight),
 *  for one that is not in this build, and past the last. */
uint64_t vfront_digest_stage(const vfront_result_t *result, size_t stage);

/** Sets all tuning values to their standard values. No effect on NULL. */
void vfront_tuning_default(vfront_tuning_t *tuning);

/**
 * Sets a tuning value by name. Values that depend on each other are checked in vfront_init().
 * @retval VFRONT_E_NULL    tuning or name is NULL.
 * @retval VFRONT_E_TUNING  No such name, or the value is out of its range. Nothing changed.
 */
vfront_status_t vfront_tuning_set(vfront_tuning_t *tuning, const char *name, int32_t value);

/** Description of tuning value number `index`, in the order of VFRONT_TUNING, or NULL past the last. */
const vfront_tuning_entry_t *vfront_tuning_entry(size_t index);

/**
 * Projects a ray to the pixel at which a camera sees it. A lens model holds for rays in front of the camera, up to the
 * radius r = tan(angle to the axis), or for VFRONT_LENS_EQUIDISTANT the angle itself, below 180 degrees, to which its
 * radial function rises; r is at most 10^4. It does not hold either where p1 or p2 bends rays so much that the picture
 * would fold. In double precision, the same bits on every machine. Finds the range of the lens anew at each call, a few
 * microseconds.
 *
 * @param[in]  camera  Any camera that vfront_init() takes. One that is not calibrated has no pixel for any ray.
 * @param[in]  ray     Direction in camera axes, of any length.
 * @param[out] px      Pixel (x, y), which may lie outside the picture. Unchanged when 0 is returned.
 * @return 1; or 0 when the lens does not hold for this ray, the ray is 0, infinite or NaN, or an argument is NULL.
 *
 * D. C. Brown, Decentering distortion of lenses (1966), in the form of OpenCV (2014); J. Kannala, S. S. Brandt, A
 * generic camera model and calibration method for conventional, wide-angle, and fish-eye lenses (2006).
 */
int vfront_lens_project(const vfront_camera_t *camera, const double ray[3], double px[2]);

/**
 * Bearing of a pixel: the inverse of vfront_lens_project(), to 10^-6 px. Newton's method within bounds that always hold
 * the root, with a fixed number of steps at most.
 *
 * @param[in]  camera   As for vfront_lens_project().
 * @param[in]  px       Pixel (x, y), inside the picture or not.
 * @param[out] bearing  Unit vector in camera axes. Unchanged when 0 is returned.
 * @return 1; or 0 when no ray for which the lens holds meets this pixel, px is not finite, or an argument is NULL.
 */
int vfront_lens_bearing(const vfront_camera_t *camera, const double px[2], double bearing[3]);

/**
 * Carries a state and its covariance on by IMU readings: to now, at the rate of the IMU. A pure function: no vfront_t,
 * no memory but `out`, the same bits on every machine. Readings are linear in between, and constant before the first
 * and after the last; those outside of the time from nav->t_ns to t_ns serve only to say how fast the IMU's signal
 * changes, and the nearest ones on either side to interpolate. So the application keeps a list of readings that begins
 * with the last one up to the time of its state, and gives the whole of it each time:
 *
 *     list[n++] = reading;                                                    // at 200 Hz
 *     vfront_propagate(&state, &noise, list, n, VFRONT_IMU_LAST, &now);       // state: of the last frame, earlier
 *
 * The work is bounded by n and the time: 10 s at 200 Hz take 0.6 ms and 0.1 s takes 6 us on one core of a server.
 *
 * @param[in]  nav    State to begin with.
 * @param[in]  noise  The IMU's errors.
 * @param[in]  imu    Readings, strictly increasing in time.
 * @param[in]  n      Their number, 1..VFRONT_IMU_READINGS.
 * @param[in]  t_ns   Time of the state wanted, nav->t_ns..nav->t_ns + VFRONT_PROPAGATE_NS; or VFRONT_IMU_LAST: that of
 *                    the last reading.
 * @param[out] out    State at that time; may be nav. Unchanged unless VFRONT_OK is returned. Its flags are those of nav
 *                    but for VFRONT_NAV_STANDING and, in addition, those of this way. A state that is
 *                    VFRONT_NAV_STEREO_ONLY is carried on as any other, by readings that are there again; without
 *                    readings nothing carries it on.
 *
 * @retval VFRONT_OK             State at t_ns. Readings that are saturated or missing are told by flags, and by the
 *                               covariance: see vfront_nav_flags_t.
 * @retval VFRONT_E_NULL         A pointer is NULL.
 * @retval VFRONT_E_CALIBRATION  A value of `noise` is not finite or out of its range.
 * @retval VFRONT_E_NAV          `nav` is no state: a value is not finite or out of its range, the quaternion is not of
 *                               length 1 to 10^-6, a variance is below 0, or comes out below 0, which no covariance
 *                               does; or it has VFRONT_NAV_NO_GRAVITY: nothing says what readings mean in its frame.
 * @retval VFRONT_E_IMU          No reading, too many, one that is not finite or out of its range, not later than the one
 *                               before; two that are more than VFRONT_IMU_GAP_NS apart, and the way goes through there;
 *                               the first one that much after nav->t_ns, or the last one that much before t_ns. With
 *                               one reading alone that time is 1.5 / rate_hz.
 * @retval VFRONT_E_TIME         t_ns is before nav->t_ns, or more than VFRONT_PROPAGATE_NS after it.
 */
vfront_status_t vfront_propagate(const vfront_nav_t *nav, const vfront_imu_noise_t *noise, const vfront_imu_t *imu,
                                 uint32_t n, uint64_t t_ns, vfront_nav_t *out);

/* ---- IMU: readings, and their errors ----------------------------------------------------------------------------- */

/* IMU axes: those of the readings. An accelerometer measures specific force: at rest, +gravity along the axis that is
 * up. */

/** Longest time without a reading [ns]. */
#define VFRONT_IMU_GAP_NS 200000000u
/** Longest time by which a reading that is given with a frame is later than the middle of its exposure [ns]. */
#define VFRONT_IMU_AHEAD_NS 1000000000u
/** Largest magnitude of a reading on each axis [rad/s, m/s^2]. */
#define VFRONT_GYRO_MOST_RAD_S 100.0
#define VFRONT_ACCEL_MOST_M_S2 1000.0

/** IMU reading, in IMU axes. */
struct vfront_imu {
    uint64_t t_ns;        /**< Time [ns]; in a frame on the IMU's clock, see imu_offset_ns of vfront_rig_t. */
    double gyro_rad_s[3]; /**< Angular rate [rad/s]. */
    double accel_m_s2[3]; /**< Specific force [m/s^2]. */
};

/** Errors of an IMU. Densities and walks as in Kalibr's imu.yaml and EuRoC's sensor.yaml, of an IMU at rest. In flight
 *  these densities are often too small by a factor of 5 to 10, because of vibration: the state of a frame takes
 *  window_imu_percent of them; vfront_propagate() takes what it is given. */
struct vfront_imu_noise {
    double gyro_density;     /**< Noise density of the gyro, each axis [rad/s/sqrt(Hz)], 0..1. */
    double accel_density;    /**< Noise density of the accelerometer, each axis [m/s^2/sqrt(Hz)], 0..10. */
    double gyro_walk;        /**< Random walk of the gyro's bias, each axis [rad/s^2/sqrt(Hz)], 0..1. */
    double accel_walk;       /**< Random walk of the accelerometer's bias, each axis [m/s^3/sqrt(Hz)], 0..10. */
    double gyro_limit_rad_s; /**< Magnitude from which on a rate is saturated, each axis [rad/s],
                                  0.1..VFRONT_GYRO_MOST_RAD_S. */
    double accel_limit_m_s2; /**< Magnitude from which on a force is saturated, each axis [m/s^2],
                                  1..VFRONT_ACCEL_MOST_M_S2. */
    double rate_hz;          /**< Usual number of readings a second, 10..20000: readings are missing where more than 1.5
                                  usual intervals pass without one. */
    double gravity_m_s2;     /**< Magnitude of gravity [m/s^2], 0..30. */
};

/* ---- rig: cameras and IMU, given once, to vfront_init() ---------------------------------------------------------- */

/** Lens model: how a lens bends rays, with x = X / Z, y = Y / Z, r^2 = x^2 + y^2 of a point (X, Y, Z) in camera axes,
 *  and k1... the coefficients in `distortion`. */
typedef enum vfront_lens {
    VFRONT_LENS_RADTAN = 0,      /**< Brown (1966): k1 k2 p1 p2 k3. All 0: a pinhole; k3 of a model of four is 0. */
    VFRONT_LENS_RATIONAL = 1,    /**< k1 k2 p1 p2 k3 k4 k5 k6: radial polynomial over 1 + k4 r^2 + k5 r^4 + k6 r^6. */
    VFRONT_LENS_EQUIDISTANT = 2  /**< Kannala and Brandt (2006): k1 k2 k3 k4, of the angle to the axis. */
} vfront_lens_t;

/** One camera. Focal lengths of 0 mean "not calibrated": no rotation prior, no bearing, no depth. */
struct vfront_camera {
    int32_t width_px;         /**< 16..VFRONT_WIDTH, any number. */
    int32_t height_px;        /**< 16..VFRONT_HEIGHT, any number. */
    double fx_px, fy_px;      /**< Focal lengths [px], between 1/20 and 100 times the width, with a horizontal field of
                                   view of at least 1 degree; or both 0. */
    double cx_px, cy_px;      /**< Principal point [px], at most one picture size outside the picture. */
    vfront_lens_t lens;       /**< Lens model. */
    double distortion[8];     /**< Coefficients of the lens model, in its order; the unused ones must be 0. Magnitude at
                                   most 10^6, of p1 and p2 at most 1. */
    double R_cam_imu[9];      /**< Rotation matrix, row-major, from IMU axes to camera axes. All 0: identity. */
    double t_cam_imu_m[3];    /**< Position of the IMU in camera axes [m], each of magnitude at most 100:
                                   p_cam = R_cam_imu p_imu + t_cam_imu_m. A rig without IMU has camera 0 in its place.
                                   The relative pose of two cameras follows from R_cam_imu and t_cam_imu_m of both. Two
                                   equal poses or one common place: no depth. Else camera 1 stands right of camera 0,
                                   above or below it, at a distance of 10^-4 to 20 m, and the optical axes are less
                                   than 90 degrees apart. */
    const uint8_t *mask;      /**< Static mask in host memory, [height_px][mask_pitch_bytes], 0 = ignore this pixel; or
                                   NULL. Read within vfront_init() only. */
    uint32_t mask_pitch_bytes;/**< Bytes from row to row of the mask, at least width_px. */
    double row_us;            /**< Rolling shutter: time from the exposure of a row to that of the next one [us]; negative
                                   where the last row is the first; 0: all rows at once. Of all rows at most 10^5. A
                                   frame's times are those of the middle row; the state (vfront_result_t.nav) takes each
                                   track at the time of its row. */
};

/** All cameras, of one size or of different sizes. Tracks, depths, matches and motion belong to camera 0; key points
 *  are found in every camera. */
struct vfront_rig {
    int32_t cameras;                        /**< 1..VFRONT_CAMERAS. */
    vfront_camera_t camera[VFRONT_CAMERAS]; /**< Cameras 0..cameras - 1. */
    double road_height_m;  /**< Height of camera 0 (vfront_info_t.seen) above the road of the stixels [m], 0..100; 0:
                                the road is estimated from the disparities. */
    double road_pitch_rad; /**< Pitch of camera 0 above the road plane [rad], -0.87..0.87, positive upwards. Read only
                                when road_height_m is not 0. */
    vfront_imu_noise_t imu; /**< Errors of the IMU, each value in its range; or all 0: they are not known. */
    int64_t imu_offset_ns; /**< Time offset of the IMU [ns], -10^9..10^9: what happens at time t of the frames' clock
                                has the time t + imu_offset_ns in readings of gyro and IMU: t_imu = t_cam + offset, as
                                Kalibr's timeshift_cam_imu. */
};

/* ---- tuning: values that may change from flight to flight, given once, to vfront_init() -------------------------- */

/* Sources: B. Nagy, P. Foehn, D. Scaramuzza, Faster than FAST: GPU-accelerated frontend for high-speed VIO (2020);
 * A. Kumar et al., High-speed stereo visual SLAM for low-powered computing devices (2023): bounded rectification;
 * S. Ouerghi, R. Boutteau, X. Savatier, F. Tlili, CUDA-accelerated feature-based egomotion estimation (2019). In the
 * sources of the library they are papers 000, 004 and 003. */

/** Values of detect_score: corner scores of Nagy et al. (2020), II.D. */
enum { VFRONT_SCORE_SAD_B = 0, VFRONT_SCORE_SAD_A = 1, VFRONT_SCORE_MT = 2 };
/** Values of track_light: photometric models of Nagy et al. (2020), II.E: translation alone, with gain, with offset,
 *  with both. */
enum { VFRONT_LIGHT_NONE = 0, VFRONT_LIGHT_GAIN = 1, VFRONT_LIGHT_OFFSET = 2, VFRONT_LIGHT_BOTH = 3 };
/** Values of track_prior: initial guess of a track's motion. VFRONT_PRIOR_ROTATION takes the rotation that the frame
 *  gives; VFRONT_PRIOR_VELOCITY the track's last displacement. VFRONT_PRIOR_BOTH takes the rotation predicted
 *  (vfront_result_t.predicted) and the parallax that the track had in the last frame, and where nothing is predicted
 *  the velocity. The velocity of a new track is that of a point of usual depth by the motion predicted. */
enum { VFRONT_PRIOR_NONE = 0, VFRONT_PRIOR_ROTATION = 1, VFRONT_PRIOR_VELOCITY = 2, VFRONT_PRIOR_BOTH = 3 };

/** Values of wait: the least latency; less time of the processor. */
enum { VFRONT_WAIT_SPIN = 0, VFRONT_WAIT_NAP = 1 };

/** Standard size of a cell of the grid for new tracks [px]: small, so that the strongest corners become tracks wherever
 *  they are; larger where the largest picture of the config has more such cells than VFRONT_CELLS. */
#define VFRONT_CELLS_OF(px) ((VFRONT_WIDTH + (px)-1) / (px) * ((VFRONT_HEIGHT + (px)-1) / (px)))
#define VFRONT_CELL_PX \
    (VFRONT_CELLS_OF(12) <= VFRONT_CELLS   ? 12 \
     : VFRONT_CELLS_OF(16) <= VFRONT_CELLS ? 16 \
     : VFRONT_CELLS_OF(24) <= VFRONT_CELLS ? 24 \
                                           : 32)

/** Every tuning value: X(name, standard, least, most, "meaning [unit]"). All are integers. */
#define VFRONT_TUNING(X) \
    X(detect_levels, VFRONT_SCALES, 1, VFRONT_SCALES, "levels of VFRONT_SCALES searched for corners") \
    X(detect_threshold, 20, 1, 254, "threshold of the segment test [grey levels]") \
    X(detect_threshold_low, 7, 0, 254, "second threshold; corners that pass only this one rank behind all others; 0: none [grey levels]") \
    X(detect_arc, 9, 9, 12, "least number of contiguous pixels, on the circle of 16, that make a corner") \
    X(detect_arc_most, 16, 9, 16, "largest number of contiguous pixels of a corner; more make a spot, not a corner (bounded rectification): 13 for drawn shapes among specks, 16, no bound, for all other pictures") \
    X(detect_score, 1, 0, 2, "corner score, which decides between neighbouring corners: 0 SAD-B, 1 SAD-A, 2 MT") \
    X(detect_rank, 2, 0, 2, "ranking of corners: 0 corner score, 1 Harris response in 7x7 px, 2 Harris response in 5x5 px times squared corner score") \
    X(detect_radius, 1, 1, 4, "radius of non-maximum suppression [px of the level]") \
    X(detect_border_px, 8, 3, 512, "margin of the picture without key points and tracks [px]") \
    X(cell_width_px, VFRONT_CELL_PX, 3, 4096, "width of a cell of the grid for new tracks, at most one in each cell [px]") \
    X(cell_height_px, VFRONT_CELL_PX, 3, 4096, "height of a cell of that grid [px]") \
    X(cull_width_px, 8, 3, 4096, "width of a culling cell, in which the best corner of each level is kept; also the second best, where strong ones are fewer than select_points and there is no aggregation [px]") \
    X(cull_height_px, 8, 3, 4096, "height of a culling cell [px]") \
    X(select_window_px, 0, 0, 63, "aggregation over levels: only the strongest point of a window this wide is kept, up to 4 culling cells; 0: no aggregation [px]") \
    X(select_points, VFRONT_KEYPOINTS, 0, VFRONT_KEYPOINTS, "largest number of key points of a picture, the best are kept; 0: no key points") \
    X(select_share_percent, 91, 0, 100, "key points of a level, relative to the next finer level; 0: no shares, the best of all levels together [%]") \
    X(describe, VFRONT_DESCRIPTORS, 0, VFRONT_DESCRIPTORS, "1: key points get an orientation and a descriptor") \
    X(describe_margin_px, 19, 3, 64, "margin of every level without corners, when key points are described [px of the level]") \
    X(rectify, 0, 0, VFRONT_RECTIFY, "1: pictures of two calibrated cameras in different places are rectified; all other stages use the rectified pictures") \
    X(rectify_focal_percent, 100, 10, 400, "focal length of rectified pictures, relative to the mean of both cameras [%]") \
    X(match, VFRONT_MATCHES, 0, VFRONT_MATCHES, "1: key points of camera 0 are matched with those of the frame before") \
    X(match_guided, 1, 0, 1, "1: search around the predicted position, 0: search in the whole picture") \
    X(match_window_px, 60, 1, 4096, "largest distance from the predicted position; less where the covariance of the predicted motion allows [px]") \
    X(match_distance, 64, 0, 256, "largest Hamming distance of the descriptors of a match [bits]") \
    X(match_ratio_percent, 90, 1, 100, "uniqueness: largest Hamming distance of a match, relative to the second best elsewhere; 100: no test [%]") \
    X(match_turn_deg, 30, 1, 180, "largest difference of the orientations of a match; between frames after removal of the most frequent one [degrees]") \
    X(match_levels, 1, 0, 7, "largest difference of the levels of a match") \
    X(match_settle, 1, 0, 1, "1: match positions are refined to sub-pixel, 0: position of the key point, a whole pixel of its level") \
    X(match_residual_grey, 20, 1, 255, "largest mean absolute residual of the patch of a refined match; above it the match is not refined [grey levels]") \
    X(stereo, VFRONT_STEREO, 0, VFRONT_STEREO, "1: key points of camera 0 are matched with those of camera 1 and get a depth, if both are calibrated and in different places") \
    X(stereo_band_px, 2, 1, 64, "largest distance of a stereo match from the epipolar line [px of the coarser level of the two]") \
    X(stereo_distance, 100, 0, 256, "largest Hamming distance of the descriptors of a stereo match [bits]") \
    X(stereo_levels, 0, 0, 7, "largest difference of the levels of a stereo match") \
    X(stereo_disparity_px, 128, 1, 4096, "largest disparity, as in the middle of the picture [px]") \
    X(stereo_least_mpx, 250, 1, 1000000, "least disparity that gives a depth, as in the middle of the picture [1/1000 px]") \
    X(stereo_apart_mpx, 800, 0, 10000, "largest difference of the sub-pixel shifts of the two halves of a window; 0: no check [1/1000 px]") \
    X(stereo_cut_percent, 250, 0, 10000, "largest window difference of a stereo match, relative to the median of all; 0: no check [%]") \
    X(stereo_sigma_mpx, 100, 1, 10000, "least standard deviation of a disparity at level 0; at other levels times the square root of their pixel size [1/1000 px]") \
    X(stereo_expected, 1, 0, 1, "1: key points without a match in camera 1 are looked for where the motion predicted and the depths of the frame before put them, 0: no depth without a match") \
    X(stereo_fit_percent, 400, 0, 10000, "share in a disparity's standard deviation of what its window says: difference of the pictures over their gradient, times the pixel size of the level [%]") \
    X(rig_centre_mpx, 150, 0, 10000, "calibration: standard deviation of the pictures' centres [1/1000 px]") \
    X(rig_focal_ppm, 5000, 0, 100000, "calibration: standard deviation of the focal length [1/1,000,000]") \
    X(rig_disparity_mpx, 10, 0, 10000, "calibration: standard deviation of an error that all disparities have in common [1/1000 px]") \
    X(rig_offset, 0, 0, 1, "calibration: 1: offsets of the rows and of the disparities, as health has them, are corrected slowly, 0: only reported") \
    X(ego, VFRONT_EGO, 0, VFRONT_EGO, "1: motion of camera 0 since the frame before, if it is calibrated") \
    X(ego_points, 5, 5, 8, "minimal sample of relative motions, in correspondences: 5, 7 or 8") \
    X(ego_hypotheses, (VFRONT_HYPOTHESES > 512 ? 512 : VFRONT_HYPOTHESES), 0, VFRONT_HYPOTHESES, "hypotheses of the relative motion in each step; 0: no relative motion") \
    X(ego_metric_hypotheses, (VFRONT_HYPOTHESES > 256 ? 256 : VFRONT_HYPOTHESES), 0, VFRONT_HYPOTHESES, "hypotheses of the metric motion in each step; 0: no metric motion") \
    X(ego_seed, 1, 0, 2147483647, "seed of the random samples") \
    X(ego_tracks, 1, 0, 1, "1: tracks are correspondences of the motion") \
    X(ego_matches, VFRONT_MATCHES, 0, VFRONT_MATCHES, "1: matches with the frame before are correspondences of the motion") \
    X(ego_rotation, 1, 0, 1, "1: when the frame has a rotation prior, some hypotheses start from it") \
    X(ego_error_mpx, 1000, 10, 100000, "largest error of an inlier, times the pixel size of its level; 0.15 of it for tracks and refined matches; with a depth 0.5 of it and 3 % of the displacement [1/1000 px]") \
    X(ego_least, 12, 8, 1000, "least number of inliers of a motion, to which ego_least_percent of all correspondences are added") \
    X(ego_least_percent, 20, 0, 90, "inliers needed beyond ego_least, relative to all correspondences [%]") \
    X(ego_jump_mmps2, 60000, 0, 1000000, "largest acceleration of the camera between two metric motions; 0: any [mm/s^2]") \
    X(ego_still_mpx, 200, 0, 10000, "the camera stands still if half of the correspondences moved by at most this [1/1000 px]") \
    X(predict_speed_mmps2, 5000, 1, 1000000, "prediction: standard deviation of the acceleration along each axis [mm/s^2]") \
    X(predict_turn_mradps2, 10000, 1, 1000000, "prediction: standard deviation of the angular acceleration about each axis [mrad/s^2]") \
    X(window, 0, 0, VFRONT_WINDOW, "1: state of the IMU by its readings and by tracks; needs tracks, ego, a calibrated camera 0, and the noise of the IMU in the rig or a second calibrated camera") \
    X(window_sight_mpx, 1000, 50, 10000, "standard deviation of a track's position in a frame, along each axis, for that state; twice the scatter, since much of a track's error is the same in frame after frame [1/1000 px]") \
    X(window_imu_percent, 500, 10, 10000, "noise densities of the IMU's readings for that state, relative to those of the rig; data sheets tell that of an IMU at rest, and in flight there are vibrations, errors of scale and of axes [%]") \
    X(window_rest, 1, 0, 1, "1: a camera that stands is told so (VFRONT_NAV_STANDING), and held in its place; from the next first state on") \
    X(window_stereo_urad, 0, 0, 20000, "standard deviation of the calibrated turn of camera 1 about its optical axis, which the state then corrects; 0: it is right. A common offset of all disparities is corrected always [1/10^6 rad]") \
    X(map, 0, 0, VFRONT_MAP, "1: places are remembered: keyframes and loops; needs tracks, key points with descriptors, ego, and a calibrated camera 0") \
    X(dense, 0, 0, VFRONT_DENSE, "1: disparity of every pixel of camera 0; both cameras must be rectified, or pinholes side by side") \
    X(dense_paths, 8, 4, 8, "directions of path aggregation of matching costs: 8, or 4 (rows and columns)") \
    X(dense_disparities, VFRONT_DISPARITIES, 64, VFRONT_DISPARITIES, "disparities searched: 64, 128 or 256") \
    X(dense_least_px, 0, 0, 1024, "least disparity searched [px]") \
    X(dense_p1, 5, 0, 39, "penalty of a disparity change by 1 px from pixel to pixel along a path [bits of 24]") \
    X(dense_p2, 39, 0, 39, "penalty of a larger change, at least dense_p1 [bits of 24]") \
    X(dense_unique_percent, 1, 0, 99, "uniqueness: least margin of the best aggregated cost below the next best that is no neighbour, where a path costs 8 bits a pixel; in proportion to that cost [%]") \
    X(dense_back_px, 2, 0, 256, "left-right check: largest difference from the disparity found from camera 1; 256: no check [px]") \
    X(dense_median, 1, 0, 1, "1: median of 3x3 px, over the pixels that have a disparity; fills single pixels without one") \
    X(dense_speckle_px, 100, 0, 1000, "regions of fewer pixels are removed; 0: none [px]") \
    X(dense_speckle_mpx, 1000, 0, 16000, "largest difference of the disparities of neighbours in one region [1/1000 px]") \
    X(dense_copy, 1, 0, 1, "1: disparities are copied to the host, 0: they stay in vfront_info_t.disparity_px16, for the application's own kernels") \
    X(stixel, 0, 0, VFRONT_STIXELS, "1: columns are divided into ground, objects and sky; needs dense 1 and dense_least_px 0") \
    X(stixel_width_px, 5, 1, 16, "width of a column [px]") \
    X(stixel_median, 0, 0, 1, "disparity of a row of a column: 1 median, 0 mean of its pixels") \
    X(stixel_far_m, 100, 1, 650, "largest distance of an obstacle; a direction with farther objects only is free [m]") \
    X(stixel_object_mpx, 1000, 300, 8000, "standard deviation of the disparities of an upright object [1/1000 px]") \
    X(stixel_ground_mpx, 2000, 100, 8000, "the same of the ground, with its unevenness [1/1000 px]") \
    X(stixel_slack_mpx, 3000, 100, 16000, "an object whose disparity is so close to that of the ground at its foot stands on it [1/1000 px]") \
    X(stixel_depth_mm, 10200, 10, 100000, "depth over which one object extends [mm]") \
    X(stixel_height_mm, 50, 0, 1000, "standard deviation of the camera's height above the ground, which is not quite plane [mm]") \
    X(stixel_tilt_mdeg, 50, 0, 5000, "standard deviation of the camera's pitch against the ground [1/1000 degree]") \
    X(stixel_sky_grey, 100, 0, 256, "least brightness of sky: a row of a column this bright and without texture may be; 256: none [grey levels]") \
    X(track_target, (VFRONT_TRACKS > 200 ? 200 : VFRONT_TRACKS), 0, VFRONT_TRACKS, "number of tracks to keep alive; 0: no tracking") \
    X(track_refill_percent, 100, 0, 100, "new tracks start when fewer than this share of track_target are alive; 100: as soon as one is missing [%]") \
    X(track_distance_px, 8, 0, 256, "least distance of a new track from every other, up to 4 cells [px]") \
    X(track_levels, 5, 1, 6, "pyramid levels used for tracking, if there are as many") \
    X(track_patch8_level, 6, 0, 6, "first level with a patch of 8x8 instead of 16x16 px") \
    X(track_iterations, (VFRONT_ITERATIONS > 12 ? 12 : VFRONT_ITERATIONS), 1, VFRONT_ITERATIONS, "largest number of Gauss-Newton steps on one level") \
    X(track_epsilon_mpx, 20, 1, 1000, "convergence: a shorter step ends the finest level; at least 100 on the other levels [1/1000 px]") \
    X(track_light, 3, 0, 3, "photometric model: 0 none, 1 gain, 2 offset, 3 both") \
    X(track_residual_grey, 4, 0, 255, "largest mean absolute residual of a track, which ends above it, in a patch without contrast [grey levels]") \
    X(track_residual_percent, 70, 0, 1000, "what is added to that, as a share of the standard deviation of the patch's grey levels [%]") \
    X(track_texture, 10, 0, 1000000, "least eigenvalue of the mean structure tensor of a patch [1/100 grey level^2 a px^2]") \
    X(track_back_mpx, 1000, 0, 10000, "forward-backward check: largest distance from the start; 0: no check [1/1000 px]") \
    X(track_prior, 3, 0, 3, "initial guess: 0 none, 1 rotation, 2 velocity, 3 both: rotation predicted and last parallax") \
    X(track_retry, 1, 0, 1, "1: a track that fails from its initial guess is tried again from its last position") \
    X(track_template_frames, 0, 0, 100000, "frames after which the template of a track is renewed; 0: never") \
    X(track_template_grey, 4, 0, 255, "residual above which the template of a track is renewed; 0: never [grey levels]") \
    X(track_partner, VFRONT_STEREO, 0, VFRONT_STEREO, "1: tracks are looked for in camera 1 and get a disparity and a depth, if both cameras are calibrated and in different places") \
    X(health_degraded_percent, 50, 1, 100, "fewer followed tracks than this share of track_target: degraded [%]") \
    X(first_track_id, 1, 1, 2147483647, "id of the first track; above 1 for a front end that takes over in flight") \
    X(first_motion_breaks, 0, 0, 2147483647, "first value of health.motion_breaks, likewise") \
    X(first_reset_counter, 0, 0, 2147483647, "first value of health.reset_counter, likewise") \
    X(gyro_stuck_readings, 5, 0, 4096, "gyro readings of a frame, or IMU readings, at least so many and all equal to the bit, that are those of a stuck sensor; 0: no check") \
    X(frame_jump_ms, 10000, 100, 3600000, "longest time between two frames; a stamp farther ahead is refused [ms]") \
    X(frame_skew_us, 2000, 0, 1000000, "largest difference of a picture's time, if it has one, from that of its frame [us]") \
    X(health_gap_ms, 200, 1, 100000, "longest time between two frames that is no gap [ms]") \
    X(deadline_us, 20000, 1, 10000000, "longest time of a step, from submit to result, that is no overrun [us]") \
    X(abandon_us, 1000000, 100, 600000000, "time after which a step on the GPU is given up, from submit; likewise a shutdown [us]") \
    X(abandon_init_ms, 60000, 10, 3600000, "time after which vfront_init() gives up the GPU, whose driver may compile kernels then [ms]") \
    X(wait, 0, 0, 1, "how vfront_wait() waits for the GPU: 0 spins, 1 spins for 50 us, then sleeps 50 us at a time") \
    X(failover, 0, 0, (VFRONT_HOST && !VFRONT_CUBLAS), "1: when the GPU fails, the host port takes over with the same frame and the same bits; needs VFRONT_HOST, and no VFRONT_CUBLAS") \
    X(failover_overruns, 0, 0, 1000000, "results in a row after deadline_us with which the host port takes over; 0: never") \
    X(failover_dense, 1, 0, 1, "0: a host port that took over leaves out disparities and stixels, to save time") \
    X(device, 0, 0, 63, "GPU, by its number in the CUDA runtime; of that device its primary context") \
    X(priority, 0, 0, 100, "priority of the work on the GPU: 0 the highest that the device has, n the n-th below it, motions one lower, unless that is the lowest; counts within a process or under MPS")

/** Values of the model of stixels for three kinds of cameras: X(name, car, rover, drone). Those of the car are the
 *  standard values, of the program of the paper's authors. What they depend on is focal length times baseline, which is
 *  distance times disparity [m px]: 200 to 500 of a car, 10 to 30 of a rover or a small drone. An obstacle stands out
 *  by the difference of its disparity and that of the ground seen just above it: a stone of 0.2 m at 3 m by 3 px, if a
 *  rover looks at it from 0.4 m. stixel_ground_mpx has to be less than a third of that, and not above
 *  stixel_object_mpx; it holds the noise of disparities and the unevenness of the ground, a bump of 2 cm being 0.3 px
 *  there. stixel_slack_mpx: a third to a half of the least step. stixel_depth_mm: depth of the largest obstacle that is
 *  to be one stixel; its share in the deviation of a disparity d is d^2 times it over focal length times baseline, so
 *  that with the depth of a lorry stones are noise to a short baseline. stixel_height_mm, stixel_tilt_mdeg: how far the
 *  ground may be from the plane that was found for all of the picture. For one of them:
 *
 *      #define SET(name, car, rover, drone) tuning.name = rover;
 *      VFRONT_STIXEL_PRESETS(SET)
 */
#define VFRONT_STIXEL_PRESETS(X) \
    X(stixel_object_mpx, 1000, 800, 800) \
    X(stixel_ground_mpx, 2000, 800, 700) \
    X(stixel_slack_mpx, 3000, 1250, 1250) \
    X(stixel_depth_mm, 10200, 300, 300) \
    X(stixel_height_mm, 50, 20, 20) \
    X(stixel_tilt_mdeg, 50, 100, 100)

/** Tuning values of one flight. vfront_tuning_default() fills them in. */
struct vfront_tuning {
#define VFRONT_TUNING_MEMBER(name, standard, least, most, meaning) int32_t name;
    VFRONT_TUNING(VFRONT_TUNING_MEMBER)
#undef VFRONT_TUNING_MEMBER
};

/** Description of a tuning value, from vfront_tuning_entry(). */
struct vfront_tuning_entry {
    const char *name;              /**< Name, as vfront_tuning_set() takes it. */
    const char *meaning;           /**< Meaning and [unit]. */
    int32_t standard, least, most; /**< Standard value and range. */
};

/* ---- frame: input of a step -------------------------------------------------------------------------------------- */

/** Pixel format. Every format is converted to 8-bit grey: low bits beyond 8 are dropped, values over a format's range
 *  become white. */
typedef enum vfront_format {
    VFRONT_GREY8 = 0,  /**< uint8_t. */
    VFRONT_GREY10 = 1, /**< uint16_t in the machine's byte order, 0..1023. */
    VFRONT_GREY12 = 2, /**< uint16_t, 0..4095. */
    VFRONT_GREY16 = 3, /**< uint16_t, 0..65535. */
    VFRONT_NV12 = 4,   /**< 8-bit luma plane at `data`; the chroma plane is not read. */
    VFRONT_YUYV = 5,   /**< Two bytes a pixel, luma first. */
    VFRONT_NO_PICTURE = 6 /**< The camera has no picture of this frame, as when it has stopped; nothing else of its
                            vfront_picture_t is read. All that comes of the camera is as if its last picture were frozen
                            (vfront_health_t.frozen, .missing); IMU readings and the state of the IMU go on. Not in the
                            first frame after vfront_init() or vfront_reset(). */
} vfront_format_t;

/** Kind of memory in which a picture lies. */
typedef enum vfront_memory {
    VFRONT_HOST_MEMORY = 0,   /**< Any host memory. Copied within vfront_submit(), so free again when that returns.
                                   Exception: a picture in a buffer from vfront_input() is read in place, as pinned
                                   memory. */
    VFRONT_PINNED_MEMORY = 1, /**< From vfront_input(), cudaHostAlloc() or cudaHostRegister(). Read in place by the GPU,
                                   so it must not change until vfront_wait() returns. On the host port equal to
                                   VFRONT_HOST_MEMORY, read in place. */
    VFRONT_DEVICE_MEMORY = 2  /**< Device memory, read in place until vfront_wait() returns. CUDA port only, and not with
                                   the tuning value `failover`. */
} vfront_memory_t;

/** Picture of one camera in a frame. */
typedef struct vfront_picture {
    const void *data;         /**< [height_px][pitch_bytes]. Even address for formats of two bytes a pixel. */
    int32_t width_px;         /**< Equal to the rig's. */
    int32_t height_px;        /**< Equal to the rig's. */
    uint32_t pitch_bytes;     /**< Bytes from row to row, at least one row of pixels; even for formats of two bytes a
                                   pixel. What lies between rows may be read, and has no effect. */
    vfront_format_t format;   /**< Pixel format of data. */
    vfront_memory_t memory;   /**< Kind of memory of data. */
    uint64_t t_ns;            /**< Time of the picture, within frame_skew_us of the frame's; 0: the frame's t_ns. */
    const uint8_t *mask;      /**< Mask of this frame in host memory, in addition to the static one,
                                   [mask_height_px][mask_pitch_bytes], 0 = ignore this pixel; or NULL. */
    int32_t mask_width_px;    /**< Equal to width_px when mask is given. */
    int32_t mask_height_px;   /**< Equal to height_px when mask is given. */
    uint32_t mask_pitch_bytes;/**< Bytes from row to row of the mask, at least width_px when mask is given. */
} vfront_picture_t;

/** Gyro reading in IMU axes. */
typedef struct vfront_gyro {
    uint64_t t_ns;        /**< Time on the clock of the frame, but for imu_offset_ns; strictly increasing. */
    double rate_rad_s[3]; /**< Angular rate about x, y, z [rad/s], each of magnitude at most 100. */
} vfront_gyro_t;

/** Frame: the pictures of all cameras at one time, and the motion prior. Memory behind every pointer may be reused once
 *  vfront_submit() returns, with the exceptions in vfront_memory_t.
 *
 *  Stamps: a stamp follows another one if it is later, by at most frame_jump_ms. One that does not follow the stamp of
 *  the last accepted frame is refused by VFRONT_E_TIME and noted; any stamp is right after vfront_init() and
 *  vfront_reset(). Three refused stamps in a row, the second following the first and the third the second, are a clock
 *  that was set, forward or back: the third frame is accepted, as the first one after a vfront_reset(). An accepted
 *  frame ends the row, and so does vfront_reset(); a refused stamp that does not follow the last refused one begins a
 *  new row. A frame that is refused for another reason neither lengthens nor ends it, be it the third. So a corrupt
 *  stamp costs its own frame, alone or by turns with good ones, and a clock that is set costs two. Two kinds of corrupt
 *  stamps are accepted, since nothing tells them from good ones: one that is ahead by no more than frame_jump_ms, and
 *  the very first one. At most the next two frames are refused then, and the third resets.
 *
 *  IMU readings: each is given once, with the first frame that is submitted after it was read, in the order of their
 *  times, over all frames. What counts is the middle of exposure, t_mid_ns: a step takes the readings from the last one
 *  up to that of the frame before to the first one from that of its own on; later ones are kept for the next frame, so
 *  readings need not be cut to frames. Their rates are the frame's rotation prior as gyro readings are; the rest
 *  vfront_health_t.imu watches. Of a refused frame no reading is kept: they are given again with the next one. Readings
 *  are refused by VFRONT_E_IMU where one is not later than the one before, be it of a frame before; not finite, or over
 *  VFRONT_GYRO_MOST_RAD_S or VFRONT_ACCEL_MOST_M_S2; or where they are, with those kept, more than VFRONT_IMU_SAMPLES.
 *  The same frame without readings is taken then.
 *  After a long time without frames the last ones of that number are enough. One that is over VFRONT_IMU_AHEAD_NS after
 *  the middle of exposure is dropped. One that is ahead by less is kept, be its time wrong, and readings before it are
 *  refused. vfront_reset() and a clock that is set forget all readings kept. */
struct vfront_frame {
    uint64_t t_ns;        /**< Stamp: start of exposure on any one clock [ns], rising from frame to frame by at most
                               frame_jump_ms. */
    uint32_t exposure_ns; /**< Exposure time [ns], or 0. vfront_result_t.t_mid_ns is t_ns and half of it. */
    vfront_picture_t picture[VFRONT_CAMERAS]; /**< Pictures of the rig's cameras. */
    const double *R_cur_prev; /**< Rotation prior, row-major 3x3, or NULL: from axes of camera 0 at the frame before to
                                   axes of camera 0 now, camera 0 of the rig even when pictures are rectified.
                                   Determinant 1, orthonormal to 1e-3. Takes precedence over gyro. */
    const vfront_gyro_t *gyro;/**< [gyro_count] readings from the middle of exposure of the frame before to that of this
                                   one, best with one more at each end; or NULL: no gyro. Integrated piecewise linearly,
                                   the first and the last held constant over time without readings. Not used where
                                   they leave out too much of that time: vfront_health_t.gyro_short. */
    uint32_t gyro_count;      /**< 0..VFRONT_GYRO_SAMPLES. */
    const vfront_imu_t *imu;  /**< [imu_count] readings of the IMU that no accepted frame has had; or NULL. In place of
                                   gyro: a frame has one of the two. See above. */
    uint32_t imu_count;       /**< 0..VFRONT_IMU_SAMPLES, less those kept. */
};

/* ---- result: output of a step ------------------------------------------------------------------------------------ */

/** Track: a feature followed from frame to frame in camera 0. */
typedef struct vfront_track {
    uint64_t id;         /**< first_track_id, that + 1, + 2... in order of birth since vfront_init() or vfront_reset();
                              never used twice: 64 bits last for 500,000 years of a million births a second. */
    float x_px, y_px;    /**< Position in this frame, a multiple of 2^-16 [px]. */
    float dx_px, dy_px;  /**< Displacement since the frame before [px]; 0 when age is 0. */
    float gain;          /**< Photometric model, picture = gain * template + offset; 1 when the model has no gain. */
    float offset_grey;   /**< Offset of the photometric model [grey levels]. */
    float residual_grey; /**< Mean absolute residual of the patch after alignment [grey levels]; 0 when age is 0. */
    uint32_t age;        /**< Frames since the feature was detected; 0 in the frame that detects it. */
    uint32_t level;      /**< Level of VFRONT_SCALES on which its corner was detected. */
    uint32_t score;      /**< Corner score with which it was detected. */
    float bearing[3];    /**< Unit vector towards the feature in camera axes (vfront_info_t.seen); 0 0 0 for a camera
                              that is not calibrated. */
    uint32_t agrees;     /**< Motions of the result of which the track is an inlier: VFRONT_AGREES_RELATIVE,
                              VFRONT_AGREES_METRIC. */
    float partner_x_px, partner_y_px; /**< Place in camera 1 at which the patch around the track is found in this frame,
                              on its epipolar line, a multiple of 2^-16 [px]. */
    float disparity_px;  /**< Focal length of camera 1 (mean of fx_px and fy_px) times the tangent of the angle between
                              the bearing of that place and the track's bearing as a point at infinity would have it: in
                              the middle of rectified pictures x_px - partner_x_px, and less towards their sides. May be
                              slightly negative for points far away [px]. */
    float disparity_sigma_px; /**< Standard deviation of disparity_px [px]; 0: the track has no partner in this frame, and
                              all of these values are 0, as with track_partner 0, without two calibrated cameras, in a
                              frame with a frozen picture, and where camera 1 does not see the patch or not only once. */
    float depth_m;       /**< Coordinate along the z axis of camera 0 (vfront_info_t.seen) [m]; 0: none, also for a
                              disparity below stereo_least_mpx. */
    float depth_sigma_m; /**< Standard deviation of depth_m [m]; 0: none. */
} vfront_track_t;

/** Reason for which a track ended. */
typedef enum vfront_end {
    VFRONT_END_BORDER = 1,   /**< Position outside the picture, or nearer to its border than detect_border_px. */
    VFRONT_END_MASK = 2,     /**< Position under a mask. */
    VFRONT_END_RESIDUAL = 3, /**< Patch not found: residual over its bound (track_residual_grey, track_residual_percent),
                                  or gain at its own, 1/4 or 4. */
    VFRONT_END_TEXTURE = 4,  /**< Too little texture for a position: least eigenvalue below track_texture. */
    VFRONT_END_DIVERGED = 5, /**< Divergence of the alignment. */
    VFRONT_END_BACK = 6,     /**< Forward-backward check failed. */
    VFRONT_END_MERGED = 7    /**< Nearer than 2 px to an older track (track_distance_px, where that is less): both follow
                                  one feature. */
} vfront_end_t;
#define VFRONT_ENDS 8 /**< Number of values of vfront_end_t, the unused 0 among them. */

/** Track that ended in this step. */
typedef struct vfront_lost {
    uint64_t id;      /**< Id of the track. */
    float x_px, y_px; /**< Last valid position, in the frame before [px]. */
    uint32_t age;     /**< Age in the frame before, its last one. */
    uint32_t end;     /**< Reason, vfront_end_t. */
} vfront_lost_t;

/** Key point: the best corner of its level in its culling cell; where strong corners are too few, the second best. */
typedef struct vfront_keypoint {
    float x_px, y_px;  /**< Position, a multiple of 2^-16 [px]. The centre of pixel (u, v) of a level whose pixels are s
                            times as large lies at (u + 1/2) s - 1/2 and (v + 1/2) s - 1/2, with
                            s = (VFRONT_SCALE_NUM / VFRONT_SCALE_DEN)^level rounded to 2^-16. */
    float angle_rad;   /**< Orientation, -pi..pi, from the x axis towards the y axis: direction of the patch's centre of
                            brightness. 0 when the key point is not described. */
    uint32_t score;    /**< Value by which key points are ranked, at least 1. detect_rank 0: SAD-B, SAD-A up to 4080, MT
                            up to 254. 1: Harris response det - 0.04 trace^2 times 25 / 2^24, from plain sums of 3x3
                            Sobel gradients over 7x7 px [grey levels^4]. 2: Harris response over 5x5 px times 25 / 2^14,
                            times the squared corner score (a 16th of it for SAD-B, SAD-A), over 2^24. 1 for smaller
                            values, those of edges among them. */
    uint16_t cell;     /**< Row-major number of its cell in the grid for new tracks. */
    uint8_t level;     /**< Level of VFRONT_SCALES, 0..detect_levels - 1. */
    uint8_t weak;      /**< 1: passed detect_threshold_low only. */
    float bearing[3];  /**< Unit vector in axes of its own camera, as vfront_track_t.bearing. */
} vfront_keypoint_t;

/** Binary descriptor: bit i is word[i / 32] >> (i % 32) & 1; on a machine that stores the low byte first these are the
 *  32 bytes of OpenCV's ORB. Descriptors are compared by Hamming distance, the number of bits that differ. */
typedef struct vfront_descriptor {
    uint32_t word[8]; /**< 256 bits. */
} vfront_descriptor_t;

/** partner of a key point that has no match in camera 1. */
#define VFRONT_NO_PARTNER 65535

/** Depth of a key point of camera 0: by its match in camera 1, or where the motion predicted and the depths around it
 *  in the frame before put it (stereo_expected). */
typedef struct vfront_depth {
    uint16_t keypoint;  /**< Index in keypoints[0]. */
    uint16_t partner;   /**< Index in keypoints[1] of the match; VFRONT_NO_PARTNER: it has none. */
    uint16_t distance;  /**< Hamming distance of the descriptors; 0 without a match. */
    uint16_t reserved;  /**< 0. */
    float x_px, y_px;   /**< Position in camera 1 at which the patch around the key point is found, on its epipolar
                             line, to sub-pixel [px]. */
    float depth_m;      /**< Coordinate along the z axis of camera 0 (vfront_info_t.seen) [m]. */
    float sigma_m;      /**< Standard deviation of depth_m [m], from that of the disparity: stereo_sigma_mpx, what the
                             window of the match says (stereo_fit_percent), and rig_disparity_mpx. */
} vfront_depth_t;

/** Match: key point of camera 0 matched with one of the frame before. */
typedef struct vfront_match {
    uint16_t keypoint; /**< Index in keypoints[0]. */
    uint16_t before;   /**< Index in keypoints[0] of the result of the frame before. */
    uint16_t distance; /**< Hamming distance of the descriptors. */
    uint16_t second;   /**< Hamming distance of the second best match elsewhere; 256: none. */
    uint16_t agrees;   /**< Motions of which the match is an inlier, as vfront_track_t.agrees. */
    uint16_t settled;  /**< 1: the patch of the frame before was aligned in this frame, to sub-pixel; 0: it was not, and
                            the position is the key point's own, a whole pixel of its level. */
    float x_px, y_px;  /**< Position in this frame [px]. */
    float bearing[3];  /**< Unit vector of that position, as vfront_track_t.bearing. */
    float x_before_px, y_before_px; /**< Position in the frame before [px]: that of the match that `before` had there,
                                         else that of the key point. So a settled match goes on from the very point at
                                         which the last one ended. */
    uint32_t id;       /**< Number of the chain of matches that this one belongs to: equal in frame after frame while
                            each match's `before` has a match of its own, and not given again within
                            2^32 / VFRONT_KEYPOINTS frames; from vfront_reset() on numbers begin again. */
    uint32_t age;      /**< Number of matches in that chain so far, this one included; at least 1. */
} vfront_match_t;

/** State of a motion estimate. */
typedef enum vfront_motion_state {
    VFRONT_MOTION_NONE = 0,     /**< Not estimated: first frame, no calibration, tuning value 0; metric: no depth. */
    VFRONT_MOTION_GOOD = 1,     /**< R, t and covariance are valid. */
    VFRONT_MOTION_ROTATION = 2, /**< Relative: a rotation alone explains the correspondences. R is valid, t is 0. */
    VFRONT_MOTION_FEW = 3,      /**< Fewer correspondences than ego_least: R is the identity, t is 0. */
    VFRONT_MOTION_UNSURE = 4,   /**< No motion has as many inliers as ego_least and ego_least_percent require, or a flag
                                     says why the one that has is not to be relied on: R is the identity, t is 0. */
    VFRONT_MOTION_FROZEN = 5    /**< This frame's picture of camera 0 or that of the frame before is frozen
                                     (health.frozen), so nothing is known of the time between them: R is the identity,
                                     t is 0. */
} vfront_motion_state_t;

/** Bits of vfront_motion_t.flags. */
enum {
    VFRONT_MOTION_STILL = 1,    /**< Camera at rest: half of the correspondences moved by at most ego_still_mpx. */
    VFRONT_MOTION_PLANE = 2,    /**< Relative: nearly all inliers lie in one plane; a second motion may fit as well. */
    VFRONT_MOTION_PARALLAX = 4, /**< Relative: a rotation alone explains most of the correspondences, so the direction
                                     of t is weak. */
    VFRONT_MOTION_TWO = 8,      /**< Relative: many of the outliers fit one other motion: another object moves, too. With a
                                     parallax below 3 ego_error_mpx either may be the camera's motion, so that it is
                                     VFRONT_MOTION_UNSURE. */
    VFRONT_MOTION_ONE_GPU = 16, /**< Relative: computed with VFRONT_CUBLAS; only the same GPU with the same libraries
                                     repeats these bits. No prediction is made from it. */
    VFRONT_MOTION_STEREO = 32,  /**< Metric: health.stereo is not VFRONT_STEREO_GOOD in this frame or in the one before,
                                     whose depths the motion is estimated from. */
    VFRONT_MOTION_CONTRADICTS = 64, /**< Rotation or direction of t contradicts that of the step's other motion; the
                                     weaker of both is VFRONT_MOTION_UNSURE. */
    VFRONT_MOTION_PRIOR = 128,  /**< Rotation contradicts the frame's rotation prior (gyro or R_cur_prev), so that the
                                     motion is VFRONT_MOTION_UNSURE: by more than 5 of its sigmas, 5 mrad, 5 % of the
                                     prior's angle and a quarter of its change since the frame before. Once 16 motions
                                     have shown how they differ from their priors, a gyro's bias and noise, also by more
                                     than that mean and 5 of its sigmas, 5 of health.prior_rms_rad (at least
                                     0.5 mrad), 2 % and a quarter of the change; and then also the motion of the next
                                     frame. Forgotten after 64 such frames in a row. Without prior nothing is
                                     compared. */
    VFRONT_MOTION_OUTLIERS = 256, /**< Less than 40 % of the usual share of inliers. */
    VFRONT_MOTION_WIDE = 512,   /**< Metric: too few correspondences are inliers, but three quarters are if their
                                     positions may be wrong by three times as much, as after dropped frames. Inliers,
                                     motion and covariance are those of this bound. */
    VFRONT_MOTION_LATE = 1024,  /**< Pictures are late, health.late, or are of their time again in this frame: the
                                     motion is not of the interval that the stamps name. */
    VFRONT_MOTION_JUMP = 2048   /**< Metric: an acceleration over ego_jump_mmps2 lies between this motion and the last
                                     one that fits; of two such motions in a row the second is good if it agrees with
                                     the first. */
};

/** Bits of vfront_track_t.agrees and vfront_match_t.agrees: inlier of the relative, of the metric motion. */
enum { VFRONT_AGREES_RELATIVE = 1, VFRONT_AGREES_METRIC = 2 };

/** Motion of camera 0 (axes of vfront_info_t.seen[0]) from the frame before to this one: p_now = R p_before + t for
 *  static points. */
typedef struct vfront_motion {
    uint32_t state;      /**< vfront_motion_state_t. */
    uint32_t flags;      /**< VFRONT_MOTION_STILL... */
    uint32_t pairs;      /**< Number of correspondences; metric: of those with a depth in the frame before. */
    uint32_t inliers;    /**< Number of inliers among them. */
    uint32_t others;     /**< Outliers that fit one other motion, of the outliers examined, at most 512. */
    uint32_t hypotheses; /**< Number of hypotheses scored. */
    uint32_t needed;     /**< Number of hypotheses that this share of inliers needs for one sample without outliers in
                              99 of 100 cases (Ouerghi et al. (2019), equation 15); at most 1,000,000. */
    float rms_px;        /**< Root mean square error of the inliers, in pixels in the middle of the picture [px]. */
    float parallax_px;   /**< Median displacement of the inliers after removal of the rotation R [px]. */
    uint32_t reserved;   /**< 0. */
    uint64_t frame;      /**< vfront_result_t.frame of the result in which it was estimated. */
    float R[9];          /**< Rotation matrix, row-major: from camera axes at the frame before to camera axes now. */
    float t[3];          /**< Translation. Metric: [m]. Relative: a unit vector, the length is unknown. */
    float covariance[21];/**< Upper triangle, row by row, of the 6x6 covariance of (t, w), with R_true = exp([w]) R, w
                              [rad], in camera axes now. From the variation of the inliers' errors between parts of the
                              picture, from how many correspondences lie near the bound, and from the deviations of the
                              calibration: rig_centre_mpx, rig_focal_ppm, rig_disparity_mpx. Where the residuals of a
                              metric motion show an error of all disparities, up to 1 px of it counts as a deviation.
                              Errors of the calibration are the same in every frame: the sum of many motions is off by
                              more than independent errors would add up to. Relative: t has no variance along
                              itself. */
} vfront_motion_t;

/** Bits of vfront_prediction_t.source; 0: nothing is known, the camera is taken to rest. */
enum {
    VFRONT_PREDICT_ROTATION = 1, /**< Rotation of the frame (gyro or R_cur_prev). */
    VFRONT_PREDICT_MOTION = 2,   /**< Last good metric motion, at constant velocity; with VFRONT_PREDICT_ROTATION its
                                      translation alone. */
    VFRONT_PREDICT_TURN = 4,     /**< Rotation of the last good relative motion, at a constant rate. */
    VFRONT_PREDICT_STATE = 8     /**< State of the frame before (vfront_result_t.nav), carried on by the frame's IMU
                                      readings; with VFRONT_PREDICT_ROTATION its translation, and R_cur_prev. */
};

/** Pose of camera 0 that was expected before the pictures of the step were looked at: motion since the frame before, in
 *  the axes and the form of vfront_motion_t; behind frames without a new picture of camera 0 the rotation of the frame
 *  and the motion by a state are those since its last new picture. A state that is VFRONT_NAV_GOOD or
 *  VFRONT_NAV_COASTING and has readings says the motion, but for 8 frames after one in which that was off by over 5
 *  deviations. */
typedef struct vfront_prediction {
    uint32_t source;      /**< VFRONT_PREDICT_ROTATION... */
    uint32_t reserved;    /**< 0. */
    float R[9];           /**< Rotation matrix, row-major; the identity where it is unknown. */
    float t[3];           /**< Translation [m]; 0 where it is unknown. */
    float covariance[21]; /**< Covariance of (t, w), as vfront_motion_t.covariance. Of a motion at constant velocity: its
                               own, and that of a random acceleration, predict_speed_mmps2 and predict_turn_mradps2. Of
                               a rotation of the frame: 2 mrad and 2 % of its angle. Of a state: that of its velocity,
                               tilt and biases and of the readings, with 0.5 mm and 1 % of the way, 0.5 mrad and 1 % of
                               the angle. Unknown: 10 m/s and 2 rad/s, times
                               the time since the frame before; of the translation also where the rotation is
                               that of a relative motion. All 0 in the first frame, and without a calibration of
                               camera 0. */
} vfront_prediction_t;

/** Disparity image of camera 0: pixel (x, y) corresponds to (x - disparity, y) in camera 1. Its coordinate along the z
 *  axis of camera 0 is fx_px times the baseline over the disparity, with fx_px of vfront_info_t.seen. */
typedef struct vfront_disparity {
    const uint16_t *px16;      /**< [height_px][pitch], disparity [1/16 px], VFRONT_NO_DISPARITY where there is none. On
                                    the host, valid as long as the result. NULL unless the tuning values `dense` and
                                    `dense_copy` are 1. */
    const uint8_t *confidence; /**< [height_px][pitch], margin over the next best disparity in relation to how well both
                                    pixels match, 1 (least, or taken from neighbours) .. 255; 0 where there is no
                                    disparity. Stixels take 72 and more. */
    int32_t width_px, height_px; /**< Size of camera 0's picture [px]. */
    int32_t pitch;             /**< Elements from row to row. */
    uint32_t valid;            /**< Number of pixels with a disparity; 0 when `dense` is 0. */
} vfront_disparity_t;
#define VFRONT_NO_DISPARITY 0xffffu /**< Value of px16 for a pixel without disparity. */

/** Class of a stixel. */
typedef enum vfront_stixel_type {
    VFRONT_STIXEL_GROUND = 0, /**< Road surface. */
    VFRONT_STIXEL_OBJECT = 1, /**< Obstacle, upright: one distance over all its rows. */
    VFRONT_STIXEL_SKY = 2,    /**< Sky, at infinite distance. */
    VFRONT_STIXEL_UNKNOWN = 3 /**< Below the horizon, and not seen: the ground there has no match in camera 1, left of whose
                                   picture it would lie; or all that was found is farther than the ground can be. */
} vfront_stixel_type_t;

/** Stixel: a vertical segment of a column of the picture. */
typedef struct vfront_stixel {
    uint16_t base_px, top_px; /**< Lowest and highest row, both inclusive; row 0 is the top of the picture. */
    uint32_t type;            /**< vfront_stixel_type_t. */
    float disparity_px;       /**< Mean of its valid disparities [px]; -1: none. */
    float distance_m;         /**< Coordinate along the z axis of camera 0 [m]; 0 for sky and without disparity. */
    float sigma_m;            /**< Standard deviation of distance_m [m] for a disparity with that of stixel_object_mpx. */
    float cost;               /**< Share in the cost of its column, the negative logarithm of a probability [nat]. */
} vfront_stixel_t;

/** State of the road estimate. */
typedef enum vfront_road_state {
    VFRONT_ROAD_NONE = 0,  /**< No estimate, or the last one is too old: there are no stixels. */
    VFRONT_ROAD_SEEN = 1,  /**< Found in this frame. */
    VFRONT_ROAD_HELD = 2,  /**< Not found in this frame, or far from the last estimate, which is kept. */
    VFRONT_ROAD_GIVEN = 3  /**< Given by the rig. */
} vfront_road_state_t;

/** Road: its disparity is slope * (row - horizon_px). All 0 when there is none. */
typedef struct vfront_road {
    uint32_t state;    /**< vfront_road_state_t. */
    uint32_t votes;    /**< Votes for the line of this frame in the histogram of rows and disparities (v-disparity); a
                            road has more than 25. */
    uint32_t unseen;   /**< Number of consecutive frames in which it was not found. */
    float horizon_px;  /**< Row of the horizon, which may lie outside the picture [px]. */
    float slope;       /**< Increase of the disparity from row to row [px]. */
    float pitch_rad;   /**< Pitch of camera 0 above the road plane, positive upwards [rad]. */
    float height_m;    /**< Height of camera 0 above the road [m]. */
} vfront_road_t;

/** Number of directions of obstacles, 5 degrees each: the middle of the first is straight ahead, the others follow
 *  clockwise as seen from above. */
#define VFRONT_OBSTACLE_BINS 72
#define VFRONT_OBSTACLE_UNKNOWN 65535u /**< Value of obstacles_cm for a direction of which nothing is known. */

/* ---- health and timing ------------------------------------------------------------------------------------------- */

/** State of the vision system. The motion of a step is known if the metric one is VFRONT_MOTION_GOOD; where no metric
 *  motion is estimated (one camera, or a tuning without it: VFRONT_MOTION_NONE), if the relative one is
 *  VFRONT_MOTION_GOOD or VFRONT_MOTION_ROTATION. The first line that fits holds:
 *
 *  | step                                                                     | state    | reset_counter       |
 *  |--------------------------------------------------------------------------|----------|---------------------|
 *  | first one since vfront_init()                                            | STARTING | first_reset_counter |
 *  | first one since vfront_reset(), or of a clock that was set               | STARTING | + 1                 |
 *  | no track followed and no motion known, but the step before left a track  |          |                     |
 *  | or knew its motion: the path ends here                                   | LOST     | + 1                 |
 *  | fewer followed tracks than health_degraded_percent, motion known or not  | DEGRADED | as before           |
 *  | gap since the frame before                                               | DEGRADED | as before           |
 *  | all others                                                               | TRACKING | as before           |
 *
 *  So tracks that all end while the motion is known do not end the path; neither does a motion that is missing while
 *  tracks are followed, which motion_breaks counts. */
typedef enum vfront_state {
    VFRONT_STARTING = 0, /**< First frame since vfront_init() or vfront_reset(), or of a clock that was set. */
    VFRONT_TRACKING = 1, /**< Normal operation. */
    VFRONT_DEGRADED = 2, /**< Fewer followed tracks than health_degraded_percent, or a gap between the frames. */
    VFRONT_LOST = 3      /**< Nothing connects this frame with the one before. Lasts one frame: the next is
                              VFRONT_DEGRADED until enough of its new tracks are followed, or VFRONT_LOST again if none
                              is; reset_counter keeps count. */
} vfront_state_t;

/** Bits of vfront_health_t.imu: what is wrong with the IMU readings of a step, or those before. What comes of it:
 *
 *  | input                                          | named by                            | rotation prior | state      |
 *  |------------------------------------------------|-------------------------------------|----------------|------------|
 *  | no readings                                    | VFRONT_IMU_MISSING                  | none           | see below  |
 *  | a gap                                          | VFRONT_IMU_GAP, VFRONT_NAV_GAP      | gyro_short     | covariance |
 *  | out of order, twice of one time, not finite,   |                                     |                |            |
 *  | over the greatest magnitude, too many          | VFRONT_E_IMU: the frame is refused  |                | as it was  |
 *  | saturated                                      | VFRONT_IMU_SATURATED, _NAV_         | used           | covariance |
 *  | all equal to the bit; all 0                    | VFRONT_IMU_STUCK; _ZERO             | gyro_stuck     | see below  |
 *  | forces in g, or without gravity                | VFRONT_IMU_IN_G, _NO_GRAVITY        | used           | none begins|
 *  | rates in degrees; about other axes             | VFRONT_IMU_IN_DEGREES, _AXES        | none           | see below  |
 *  | of another time: 10 ms to 4 frames             | VFRONT_IMU_CLOCK, imu_late_us       | used: motions  | see below  |
 *  |                                                |                                     | are UNSURE     |            |
 *  | of a time over a second ahead                  | VFRONT_IMU_AHEAD                    | of those left  | covariance |
 *  | cameras that do not see the same               | health.stereo, not an IMU's fault   |                |            |
 *
 *  Rates that contradict a motion of the pictures are named at once by its VFRONT_MOTION_PRIOR; a state leaves out the
 *  readings of the next 8 frames then, unless the other motion is GOOD and agrees with them, so that what is said of
 *  40 frames comes before it is lost.
 *  See below: as without readings. A state goes on by two cameras (VFRONT_NAV_STEREO_ONLY), with one it ends; none
 *  begins. It goes on by readings as soon as they are right again. Covariance: a state goes on, and its covariance is
 *  that of what is missing. */
typedef enum vfront_imu_fault {
    VFRONT_IMU_MISSING = 1,     /**< No reading later than the middle of exposure of the frame before, or none at all;
                                     also in frames with `gyro`, once there was an IMU. */
    VFRONT_IMU_GAP = 2,         /**< Readings are missing between the middles of exposure of both frames: two in a row
                                     are more than 1.5 usual intervals apart (rate_hz of the rig's `imu`; where that is
                                     not known, VFRONT_IMU_GAP_NS), or the first begins that much late, or the last one
                                     ends that much early. */
    VFRONT_IMU_SATURATED = 4,   /**< A reading of the step is at gyro_limit_rad_s or accel_limit_m_s2 of the rig's
                                     `imu`, or above. */
    VFRONT_IMU_STUCK = 8,       /**< All rates or all forces of the step's readings and all later ones are equal to the
                                     bit, and with those before them at least gyro_stuck_readings are. */
    VFRONT_IMU_ZERO = 16,       /**< All values of the step's readings are 0. */
    VFRONT_IMU_IN_G = 32,       /**< Forces seem to be in g, not in m/s^2: at the last rest their magnitude was 0.8 to
                                     1.2. Rest: for a second and more no rate over 0.2 rad/s on any axis, and a
                                     magnitude that is always near gravity (the rig's, where it is known, else 9.81;
                                     within 20 %), always near 1, or always below 0.5 but not 0. */
    VFRONT_IMU_NO_GRAVITY = 64, /**< Gravity seems to be taken out of the forces: at the last rest their magnitude was
                                     below 0.5. */
    VFRONT_IMU_AHEAD = 128,     /**< Readings of the frame were over VFRONT_IMU_AHEAD_NS after the middle of its
                                     exposure, and were dropped: clocks of IMU and frames differ, or imu_offset_ns is
                                     wrong. */
    VFRONT_IMU_AXES = 256,      /**< Rates are not those of the pictures, over the last 40 frames with a motion, in axes,
                                     scale or sign: R_cam_imu is wrong, axes are swapped. Of this bit and the next two
                                     one at most is set; they are of gyro readings, too, and compare what changes, so
                                     that a steady bias is no fault; said after 8 frames in a row with enough of it.
                                     Taken back after 8 frames in a row in which the camera turns and the rates of the
                                     last 5 agree, less the gyro's usual bias, or those of the last 40 do. A bias that
                                     has just come or gone is taken for this fault, too, for some 20 frames. */
    VFRONT_IMU_IN_DEGREES = 512,/**< Rates are 40 to 80 times those of the pictures: degrees, it seems, for radians. */
    VFRONT_IMU_CLOCK = 1024     /**< Rates are those of the pictures, but of another time: imu_late_us. Clocks of IMU and
                                     frames differ, imu_offset_ns is wrong, or pictures are late: what is wrong is not
                                     known, and motions are held against the readings as they are. */
} vfront_imu_fault_t;

/** Bits of vfront_health_t.full. */
enum { VFRONT_FULL_TRACKS = 1, VFRONT_FULL_KEYPOINTS = 2 };

/** Agreement of the two cameras. */
typedef enum vfront_stereo_state {
    VFRONT_STEREO_NONE = 0,    /**< Depths of key points are not computed. */
    VFRONT_STEREO_GOOD = 1,    /**< As many matches as usual, as near to their epipolar lines as usual. */
    VFRONT_STEREO_SUSPECT = 2, /**< Cameras that have moved, are swapped, or whose pictures are not of one time. Matches
                                    for less than 5 % of the key points, or 65 % of the usual share; farther from their
                                    epipolar lines than usual by 0.25 px and by half (0.8 px while nothing is usual);
                                    or 40 % of them beyond infinity. Usual: mean over good frames, of the share over the
                                    last 8, of the distance from the lines over 256. The usual share follows a scene
                                    that has changed for good; the usual distance does not, because a camera that has
                                    moved stays moved: only vfront_reset() does. After a frame with matches off their
                                    lines, or beyond infinity, the state leaves camera 1 out until there have been 30
                                    in which they are where they belong: an error of time shows in some motions
                                    alone, and is in the depths of all. */
    VFRONT_STEREO_BLIND = 3    /**< A camera sees nothing: fewer than 16 key points in camera 0, or in camera 1 less than
                                    a quarter of those in camera 0 (dark, covered, out of focus); or a picture is
                                    frozen. */
} vfront_stereo_state_t;

/** Health of a step. In terms of MAVLink's ODOMETRY, whose quality is -1 for failed, 0 for unknown, 1..100 for worst to
 *  best; whether a motion is known is defined at vfront_state_t:
 *
 *  | step                                               | ODOMETRY.quality                 |
 *  |----------------------------------------------------|----------------------------------|
 *  | motion known (state TRACKING or DEGRADED)          | `quality`, 1..100                |
 *  | motion not known (any state), or no result in time | -1 in one message, then silence  |
 *  | first one (STARTING)                               | silence: there is no motion yet  |
 *
 *  -1 is the sender's word, not vfront's: only the sender knows of frames that were refused or never came. 0 is never
 *  sent: autopilots take it for a sender that has no quality, and may fuse it. `quality` rates the tracks; what a
 *  motion is worth is told by its covariance. ODOMETRY.reset_counter rises by one, modulo 256, in the first message
 *  after reset_counter or motion_breaks has changed: the sum of motions goes on elsewhere then. */
typedef struct vfront_health {
    uint32_t state;          /**< vfront_state_t. */
    uint32_t quality;        /**< Followed tracks over track_target [%], 1..100, never 0; 100 when track_target is 0. */
    uint32_t reset_counter;  /**< first_reset_counter, and 1 for each vfront_reset(), each clock that was set and each
                                  step in state VFRONT_LOST since vfront_init(). After 2^32 - 1 comes 0. */
    uint32_t motion_breaks;  /**< first_motion_breaks, and 1 for each step since vfront_init() or vfront_reset() whose
                                  metric motion is not VFRONT_MOTION_GOOD while that of the step before was: a hole in
                                  the sum of motions, however long, counts once, where it begins. A reset is none: it
                                  raises reset_counter. After 2^32 - 1 comes 0. */
    uint32_t followed;       /**< Tracks of the frame before that are still alive. */
    uint32_t born;           /**< New tracks. */
    uint32_t ended[VFRONT_ENDS]; /**< Tracks that ended, by vfront_end_t. */
    uint32_t overflow;       /**< Corners fit for a new track beyond track_target; 0 in a frame that starts none. */
    uint32_t dropped[VFRONT_CAMERAS]; /**< Corners, the best of their culling cells, dropped because
                                           select_points, or their level's share of it, is exceeded; the best are
                                           kept. 0 when select_points is 0. */
    uint32_t full;           /**< Lists that were too short: VFRONT_FULL_TRACKS, VFRONT_FULL_KEYPOINTS << camera. */
    uint32_t gap;            /**< 1: more than health_gap_ms since the frame before. */
    uint32_t gyro_short;     /**< 1: readings of a gyro or an IMU were given, but do not reach both frames, so that they
                                  are not used as rotation prior. They reach a frame if its middle of exposure lies
                                  among them, or before the first or after the last by at most one sample interval,
                                  and half of one more for jitter. Sample interval: mean time between successive
                                  readings; of two readings the time between them. One reading alone has none and
                                  reaches nothing, nor does a gyro without readings (gyro_count 0, gyro not NULL). 0
                                  in the first frame. It is of what is given: R_cur_prev, which takes precedence, does
                                  not change it. Of an IMU 1 also where frames no longer have readings, or two in a
                                  row of the step are over VFRONT_IMU_GAP_NS apart; 0 where the middle of exposure is
                                  not later than that of the frame before. */
    uint32_t gyro_stuck;     /**< 1: all rates of the frame's gyro readings, or of the step's IMU readings, are equal to
                                  the bit, at least gyro_stuck_readings, so that they are not used as rotation prior. A
                                  simulated gyro without noise is one, too: gyro_stuck_readings 0. */
    uint32_t imu;            /**< What is wrong with the IMU readings, VFRONT_IMU_MISSING...; 0 also in the first frame,
                                  and, but for the last three, as long as no frame had `imu` since vfront_init() or
                                  vfront_reset(). */
    uint32_t imu_readings;   /**< IMU readings of the step: those from the last one up to the middle of exposure of the
                                  frame before to the first one from that of this frame on; 0 in the first frame. */
    int32_t imu_late_us;     /**< With VFRONT_IMU_CLOCK: readings are of a time that is so much too late, to be added to
                                  imu_offset_ns of the rig; negative: too early [us]. */
    uint32_t reserved;       /**< 0. */
    uint32_t irregular;      /**< 1: the time since the frame before differs from the usual one, the mean of the last 8, by
                                  more than 1/256 and 5 times as much as the last 8 did in the mean: a clock that runs
                                  otherwise than before, stamps that jitter, a frame that is missing. It changes nothing
                                  else. A lasting change becomes usual. */
    uint32_t interval_us;    /**< Usual time between two frames, that of this one included [us]; 0: none yet. */
    uint32_t repeated;       /**< Bit of each camera whose picture equals one of the last eight, but not the last:
                                  1 << camera. Pictures with little texture are not compared. */
    uint32_t missing;        /**< Bit of each camera that had no picture in this frame (VFRONT_NO_PICTURE): 1 << camera. */
    uint32_t late;           /**< Frames by which pictures of camera 0 are older than their stamps, 2..8; 0: nothing says
                                  that they are late. Begins with a picture that was there before, ends with a motion
                                  that makes up for it, or after 64 frames; the state takes none of these pictures. A
                                  delay that was there from the first frame on, or that comes without an old picture, is
                                  not seen by this. */
    float prior_rms_rad;     /**< Root mean square difference between the rotations of motions and priors, less its
                                  mean (a gyro's bias): mean over up to 64 frames [rad]; 0: not known. */
    uint32_t frozen[VFRONT_CAMERAS]; /**< Frames in a row whose picture equals that of the frame before, this one
                                          included: in all rows, or in 8 or more rows with texture while others change.
                                          0: it does not. */
    uint32_t stereo;                 /**< vfront_stereo_state_t. */
    uint32_t stereo_permille;        /**< Key points of camera 0 that have a match in camera 1, before its depth is
                                          looked for [1/1000]. */
    float stereo_offset_px;          /**< Mean distance of these matches from their epipolar lines [px of the coarser of
                                          both levels]. */
    float rows_offset_px;            /**< Offset of camera 1 across the epipolar lines, a mean over about 1,000 frames
                                          with stereo GOOD: how far matches lie to the left of the direction in which
                                          their line leads to smaller depths, which is down where camera 1 is the right
                                          one [px]. What rig_offset corrects is included. */
    float rows_sigma_px;             /**< Its standard deviation, which grows slowly while nothing is seen; 1 before
                                          anything is [px]. */
    float disparity_offset_px;       /**< Error that all disparities have in common, positive if they are too large, as
                                          the depths in metric motions that are GOOD show it: a mean over about 1,000
                                          such frames [px]. What rig_offset corrects is included. */
    float disparity_sigma_px;        /**< Its standard deviation, likewise [px]. */
    uint64_t dt_ns;          /**< Time since the frame before [ns]; 0 in the first. */
    uint32_t cells[VFRONT_CAMERAS];        /**< Cells of the grid for new tracks. */
    uint32_t starved[VFRONT_CAMERAS];      /**< Cells of them without a corner on any level; 0 where none is searched:
                                              track_target and select_points 0. */
    float brightness_grey[VFRONT_CAMERAS]; /**< Mean of the picture [grey levels]. */
    float sharpness_grey[VFRONT_CAMERAS];  /**< Mean absolute difference of neighbouring pixels [grey levels]: falls
                                                with blur. */
    uint32_t brightness_changed[VFRONT_CAMERAS]; /**< 1: brightness_grey below 65 % or above 150 % of its mean over the
                                                      last 8 frames, 1 grey level added to both: a lamp, a shadow, a
                                                      fault of exposure. */
    uint32_t sharpness_changed[VFRONT_CAMERAS];  /**< 1: sharpness_grey below 50 % or above 200 % of its mean over the
                                                      last 8 frames, 1/4 grey level added to both: blur, dirt, noise. */
    uint32_t dark_permille[VFRONT_CAMERAS];  /**< Pixels of 5 grey levels or less [1/1000 of the picture]. */
    uint32_t bright_permille[VFRONT_CAMERAS];/**< Pixels of 250 grey levels or more [1/1000 of the picture]. */
} vfront_health_t;

/** Every stage in run order: X(name). src/stages.def, in the same order, has the needs of each. */
#define VFRONT_STAGE_LIST(X) \
    X(ingest) X(freeze) X(rectify) X(pyramid) X(scale) X(smooth) X(predict) X(track) X(detect) X(refill) X(select) X(bearing) \
    X(describe) X(stereo) X(rows) X(match) X(partner) X(sight) X(window) X(place) X(overlap) X(ego) X(keyframe) X(loop) X(map) \
    X(dense) X(stixel) X(report)

/** Number of each stage, VFRONT_STAGE_ingest, VFRONT_STAGE_rectify..., to index vfront_timing_t.stage_us; and
 *  VFRONT_STAGES, the number of stages. */
typedef enum vfront_stage {
#define VFRONT_STAGE_NUMBER(name) VFRONT_STAGE_##name,
    VFRONT_STAGE_LIST(VFRONT_STAGE_NUMBER)
#undef VFRONT_STAGE_NUMBER
    VFRONT_STAGES
} vfront_stage_t;

/* Frames of reference, and what changes them.
 *
 *   IMU axes    those of the readings; the rig has the poses of the cameras on them (R_cam_imu, t_cam_imu_m)
 *   odometry    z up, against gravity; of the state of a result the origin is where its first state was, and x, y are
 *   frame       such that the attitude then was the shortest turn that brings z up. For vfront_propagate() whoever makes
 *               a state chooses them. It never jumps: a state that has to begin anew does so at the position and yaw of
 *               the last one, and what the IMU did in between is lost
 *               Of states that two cameras have begun by themselves (VFRONT_NAV_NO_GRAVITY) z is not known to be up: the
 *               origin and the axes are those of the first frame, z the up of camera 0's picture (-y of its axes), x and
 *               y as above. Where such a state has to begin anew without readings, it does so at the position and the
 *               whole attitude of the last one
 *
 *   map         of loops and places found again, where there are any: they change T_map_odom (vfront_map_t) and its own
 *   frame       counter, never the odometry frame, nor a counter of the two below. Without a map it is the odometry
 *               frame. A change of T_map_odom is a jump where it is beyond 3 of its deviations
 *
 *   nav.reset_counter       rises by one with each state that begins anew; so it does where readings come to a state
 *                           without gravity, once they tell which way is up: the state of the next frame is
 *                           VFRONT_NAV_GOOD, its position and yaw go on, roll, pitch and the axes of the velocity change
 *   map.counter             rises by one with each jump of T_map_odom
 *   health.reset_counter    is of the path of motions and tracks, not of the state; vfront_reset() and a clock that is
 *                           set end both */

/** Bits of vfront_nav_t.flags: what happened since the state from which this one was carried on. */
typedef enum vfront_nav_flags {
    VFRONT_NAV_SATURATED = 1, /**< A reading was saturated. The covariance grows as by an error that is constant over
                                   all saturated readings of 100 ms, with a standard deviation of a quarter of the limit
                                   on each axis. */
    VFRONT_NAV_GAP = 2,       /**< Readings were missing, or ended more than 1.5 usual intervals too early. The
                                   covariance grows as if rate and force had walked at random there, as fast as they
                                   changed in all readings given. */
    VFRONT_NAV_STANDING = 4,  /**< The camera stands: since the frame before, readings and sights are those of one that
                                   does not move, and have been for as long as it takes to tell 2 mm/s from that, 0.3 s
                                   to some seconds. Position and attitude are held meanwhile. Of a frame's state only:
                                   vfront_propagate() takes it away. */
    VFRONT_NAV_NO_GRAVITY = 8, /**< Two cameras have begun this state by themselves, and nothing has said which way is
                                   up: z of the odometry frame is the up of camera 0's picture in its first frame. Roll
                                   and pitch are angles from there, none against gravity, and the covariance is that of
                                   the pose in that frame. Until reset_counter rises; vfront_propagate() refuses it. */
    VFRONT_NAV_NO_SCALE = 16,  /**< There is no state, and one camera: it does not tell sizes. With readings of an IMU
                                   the state waits for rest, or for motion whose accelerations tell them. */
    VFRONT_NAV_DISPUTED = 32,  /**< Most of the picture contradicts the readings, with which some sights agree, or has
                                   done so within the last 0.8 s: a body moves before the camera. The state is
                                   VFRONT_NAV_COASTING meanwhile, by the readings and the sights that agree. */
    VFRONT_NAV_ONE_CAMERA = 64 /**< The state leaves camera 1 out: over a third of its sights contradict the ranges that
                                   landmarks have by all other sights, or did so within the last 3 s in which it had
                                   any: its picture is of another time or place. health.stereo sees that only where
                                   sights move off their epipolar lines. Where it has contradicted for 8 s without a
                                   break the ranges may be the wrong ones: it is taken again 3 s later. */
} vfront_nav_flags_t;

/** Worth of a state. */
typedef enum vfront_nav_state {
    VFRONT_NAV_NONE = 0,         /**< There is none: not wanted (tuning value `window`), or no frame had readings of an
                                      IMU, and there are no metric motions of two cameras (tuning values `stereo`,
                                      ego_metric_hypotheses): one camera alone has no scale, and its flags have
                                      VFRONT_NAV_NO_SCALE. A rig of one camera without an IMU is refused where `window`
                                      is 1: VFRONT_E_CALIBRATION. */
    VFRONT_NAV_INITIALISING = 1, /**< There is none yet. With two cameras and readings it takes 4 to 12 frames, in motion
                                      or not; with two cameras alone 2. With one camera and readings it takes 4 to 12
                                      frames at rest, and in motion 1 s or more, until accelerations have told the size of
                                      the last 2.2 s of the path with a standard deviation of 3 %: hovering, and flying on
                                      at one velocity, do not. That is found out over 3 to 9 frames, a part in each, and
                                      the state is that of the last one. Meanwhile its flags have VFRONT_NAV_NO_SCALE. */
    VFRONT_NAV_GOOD = 2,         /**< By pictures and readings. */
    VFRONT_NAV_COASTING = 3,     /**< By readings alone, for age_ns: fewer than 4 landmarks of earlier frames are in sight,
                                      as in the first frame after black ones, or pictures are frozen; or with few sights,
                                      where flags have VFRONT_NAV_DISPUTED. */
    VFRONT_NAV_LOST = 4,         /**< The last state, which does not go on: no such landmarks for 5 s, for 0.5 s
                                      where there are no readings, either, or for 10 frames none that agreed; with one
                                      camera no readings for VFRONT_IMU_GAP_NS; or readings are used again after 10
                                      frames or more without, and by their forces z is not up, by 2 m/s^2. A new state
                                      begins when it is found, at the last position and yaw. */
    VFRONT_NAV_STEREO_ONLY = 5   /**< By two cameras alone: there were no readings for VFRONT_IMU_GAP_NS. The state goes
                                      on in the same frame, and with readings again, as soon as they are back. Meanwhile
                                      nothing says which way is up but the attitude so far: tilt drifts as yaw does, and
                                      its covariance grows; biases are those of before; velocity is that of the
                                      positions. Its flags have VFRONT_NAV_GAP.
                                      Also a state that began so, by a good metric motion, in the third frame where the
                                      rig has no IMU (rig.imu all 0), else after VFRONT_IMU_GAP_NS without readings. Its
                                      flags have VFRONT_NAV_NO_GRAVITY; biases are 0 with the deviations of knowing
                                      nothing of them. */
} vfront_nav_state_t;

/** State of the IMU: its pose and velocity in the odometry frame, its biases, and the covariance of all these.
 *
 *  Errors, in this order: position [m], attitude [rad], velocity [m/s], gyro bias [rad/s], accelerometer bias [m/s^2],
 *  three each; true = estimated + error, but of the attitude R_true = exp([w]) R, with w in axes of the odometry frame.
 *  So w_z is yaw and (w_x, w_y) tilt, as consumers of MAVLink ODOMETRY and VISION_POSITION_ESTIMATE take them; what no
 *  camera and no IMU can see, the position and the yaw, is the same few columns in every state, as a window with
 *  first-estimate Jacobians wants it; and the convention is that of vfront_motion_t. */
struct vfront_nav {
    uint64_t t_ns;             /**< Time, on the clock of the readings [ns]; in a result that of the middle of exposure,
                                    t_mid_ns, by imu_offset_ns of the rig and the time offset of the state before,
                                    which its readings were chosen with. 0: no state. */
    double position_m[3];      /**< Position of the IMU [m], each of magnitude at most 10^9. */
    double velocity_mps[3];    /**< Its velocity, in axes of the odometry frame [m/s], at most 10^5 each. */
    double q_odom_imu[4];      /**< Attitude, unit quaternion w x y z: from IMU axes to axes of the odometry frame. */
    double gyro_bias_rad_s[3]; /**< Bias of the gyro: reading - truth [rad/s], at most 10 each. */
    double accel_bias_m_s2[3]; /**< Bias of the accelerometer: reading - truth [m/s^2], at most 100 each. */
    double covariance[120];    /**< Upper triangle, row by row, of the 15x15 covariance of the errors. */
    uint32_t flags;            /**< vfront_nav_flags_t. */
    uint32_t state;            /**< vfront_nav_state_t. */
    uint64_t age_ns;           /**< Time since the last frame that saw 4 landmarks of earlier ones [ns]; in a dispute, of
                                    ones that have agreed with the readings for 0.5 s. */
    double offset_s;           /**< Time offset of the cameras that was found, beyond imu_offset_ns of the rig: t_imu =
                                    t_cam + imu_offset + offset [s]. */
    double offset_sigma_s;     /**< Its standard deviation [s]. */
    double misfit;             /**< Mean squared residual of a sight, in deviations of its scatter; 1 to 7 when all is right. */
    uint32_t landmarks;        /**< Landmarks in sight in this frame. */
    uint32_t quality;          /**< 1..100; 0: VFRONT_NAV_NONE. GOOD: 50 + 50 landmarks / 60, at most 100. COASTING: from
                                    50 down to 1 over 5 s of age_ns. STEREO_ONLY: 1 + 49 landmarks / 60, at most 50.
                                    All others: 1. */
    uint32_t reset_counter;    /**< States that began anew, since vfront_init(). */
    uint32_t reserved;         /**< 0. */
};

/** Loops of a step at most, one for each keyframe that is looked at; correspondences of a loop at most. */
#define VFRONT_LOOPS 3
#define VFRONT_LOOP_PAIRS 300

/** Outcome of a loop. */
typedef enum vfront_loop_state {
    VFRONT_LOOP_ACCEPTED = 1, /**< Camera 0 is where the keyframe saw the same place; the pose is that. */
    VFRONT_LOOP_FEW = 2,      /**< Too few inliers, 25 and 30 % of the correspondences (60 % where a rotation alone explains
                                   them), or all in one part of a picture, or a rotation that is not sure, by more than
                                   a degree. R is the identity, t is 0. */
    VFRONT_LOOP_FAR = 3,      /**< Farther from where the path leads than it can have drifted since: 3 standard
                                   deviations, 3 % of the way and 0.3 m, 3 standard deviations and 6 degrees. */
    VFRONT_LOOP_TWO = 4,      /**< Two motions fit, as with points in a plane, and no path tells which is right. */
    VFRONT_LOOP_ALONE = 5     /**< No other keyframe says the same, in this frame or in one of the last 15; two have to
                                   where the path of the keyframe is another than that of the frame. */
} vfront_loop_state_t;

/** Knowledge of the pose of a loop. */
typedef enum vfront_loop_kind {
    VFRONT_LOOP_METRIC = 1,   /**< Rotation and translation: two cameras. */
    VFRONT_LOOP_RELATIVE = 2, /**< Rotation and direction of the translation: one camera, parallax_rad 0.4 or more. */
    VFRONT_LOOP_ROTATION = 3  /**< Rotation; the direction of the translation is not sure. t is 0. */
} vfront_loop_kind_t;

/** Loop: a keyframe that may show the place of this frame, and camera 0 relative to it, p_now = R p_keyframe + t for
 *  static points, in axes of vfront_info_t.seen[0]. Keyframes of the last 10 frames, and those of the last 100 of which
 *  more than 3 tracks are still alive, are no loops. A path is a run of frames each of which is connected with the one
 *  before: by the state of the IMU, by metric motions, or by relative ones. With one camera and no state of the IMU
 *  there are keyframes, places and loops all the same; nothing tells lengths then, and only attitudes can agree. */
typedef struct vfront_loop {
    uint64_t frame;       /**< vfront_result_t.frame of the keyframe, in its run. */
    uint64_t t_ns;        /**< vfront_result_t.t_mid_ns of it. */
    uint32_t state;       /**< vfront_loop_state_t. */
    uint32_t kind;        /**< vfront_loop_kind_t. */
    uint32_t pairs;       /**< Correspondences: key points that are each other's nearest by their descriptors. */
    uint32_t inliers;     /**< Those of them that agree with the pose. */
    uint32_t agreeing;    /**< Other keyframes that say the same. */
    float parallax_rad;   /**< Mean angle between the bearings of an inlier after removal of the rotation [rad]. */
    float R[9];           /**< Rotation matrix, row-major: from axes of the keyframe to axes now. */
    float t[3];           /**< Translation. VFRONT_LOOP_METRIC: [m]; VFRONT_LOOP_RELATIVE: a unit vector. */
    float covariance[21]; /**< Upper triangle, row by row, of the 6x6 covariance of (t, w), as vfront_motion_t.covariance,
                               but by the inliers' residuals alone. */
    uint32_t loaded;      /**< 1: the keyframe is of a map that was loaded; frame and t_ns are those of its run. */
} vfront_loop_t;

/** Correspondence of a loop. */
typedef struct vfront_loop_pair {
    uint16_t keypoint; /**< Index in keypoints[0]. */
    uint16_t before;   /**< Index in keypoints[0] of the result of the keyframe. */
    uint16_t distance; /**< Hamming distance of the descriptors. */
    uint16_t inlier;   /**< 1: it agrees with the pose. */
} vfront_loop_pair_t;

/** Knowledge of the place of the odometry frame in the map. */
typedef enum vfront_map_state {
    VFRONT_MAP_NONE = 0,    /**< There is no map: not wanted (tuning value `map`). All else is 0. */
    VFRONT_MAP_GOOD = 1,    /**< The path of this frame is that with which the map began, or goes on from it, or a place
                                 of the map was found again. */
    VFRONT_MAP_LOST = 2,    /**< Nothing connects the path of this frame with the map, and no place of it was found yet:
                                 T_map_odom is the last one, of no use for this path. */
    VFRONT_MAP_NO_SCALE = 3 /**< One camera, with or without an IMU, or nothing that tells lengths yet: loops have none.
                                 There are keyframes, places and loops, but they correct nothing: T_map_odom leads from
                                 one path to the next, and stays the identity within the first. */
} vfront_map_state_t;

/** Pose of camera 0 in the odometry frame, and of that in the frame of the map: x_map = R(q_map_odom) x_odom +
 *  t_map_odom_m. The odometry frame is that of `nav`; without a state of the IMU it has the axes of camera 0 (of
 *  vfront_info_t.seen) in the frame in which the path began, and metric motions add up in it. The frame of the map is
 *  the odometry frame of the first path, or that of the first state of the IMU that goes on from it. T_map_odom changes
 *  with frames whose number is a multiple of 24, by loops of at least 24 frames before; and at once where a path that
 *  was lost is found. */
typedef struct vfront_map {
    double position_m[3];   /**< Position of camera 0 in the odometry frame [m]. */
    double q_odom_cam[4];   /**< Its attitude, unit quaternion w x y z: from its axes to those of the odometry frame. */
    double t_map_odom_m[3]; /**< Origin of the odometry frame in the map [m]. */
    double q_map_odom[4];   /**< Unit quaternion w x y z: from axes of the odometry frame to those of the map. Where both
                                 have z up, a turn about z. */
    double sigma_m;         /**< Standard deviation of the last keyframe's position in the map when T_map_odom was told, of
                                 each axis: along the way that knows it best [m]. 0: not VFRONT_MAP_GOOD. */
    double sigma_rad;       /**< The same of its yaw, or of its attitude about each axis [rad]. */
    uint32_t state;         /**< vfront_map_state_t. */
    uint32_t counter;       /**< Jumps of T_map_odom since vfront_init() or vfront_reset(): places found again, and
                                 changes by more than 3 deviations at the position of camera 0. */
    uint32_t nodes;         /**< Keyframes in the pose graph, with this frame if it is one. */
    uint32_t loops;         /**< Loops in it, at most one that ends in each keyframe. */
} vfront_map_t;

/** Times of a step. With health.reset_counter the only part of a result that may differ between two equal runs, and
 *  that vfront_digest() leaves out. */
typedef struct vfront_timing {
    float stage_us[VFRONT_STAGES]; /**< Time of each stage, from its first work to its last, on the device's own clock
                                        [us]. Stages may overlap. 0 for a stage that the tuning leaves out of the
                                        step. */
    float device_us;               /**< From the first stage's first work to the last stage's last [us]. */
    float step_us;                 /**< From the call of vfront_submit() to the result, on the host's clock [us]. */
    uint32_t overrun;              /**< 1: step_us exceeds deadline_us. */
    uint32_t overruns;             /**< Number of overruns since vfront_init(). */
    uint32_t port;                 /**< vfront_port_t that computed the result. */
    uint32_t failed_over;          /**< 1: the host port, which took over (tuning value `failover`). */
} vfront_timing_t;

/** Result of a step. Array elements at and beyond their count are undefined. */
struct vfront_result {
    uint64_t t_ns;     /**< Time of the frame, vfront_frame_t.t_ns. */
    uint64_t t_mid_ns; /**< Middle of the exposure [ns]. */
    uint64_t frame;    /**< Number of frames before this one since vfront_init() or vfront_reset(); a clock that was
                            set counts as vfront_reset(). */
    vfront_health_t health; /**< Health of this step. */
    uint32_t tracks_count;                      /**< Elements of tracks. */
    uint32_t lost_count;                        /**< Elements of lost. */
    uint32_t keypoints_count[VFRONT_CAMERAS];   /**< Elements of keypoints. */
    uint32_t descriptors_count[VFRONT_CAMERAS]; /**< Equal to keypoints_count when the tuning value `describe` is 1,
                                                     else 0. */
    uint32_t depths_count;                      /**< Elements of depths. */
    uint32_t matches_count;                     /**< Elements of matches. */
    uint32_t keyframe;        /**< 1: this frame is a keyframe, which later frames may come back to. */
    uint32_t keyframes_count; /**< Keyframes that are remembered, this one included; at most VFRONT_KEYFRAMES: where
                                   they are densest one makes room for a new one, and those found again stay. */
    uint32_t loops_count;     /**< Elements of loops. */
    uint32_t loop_pairs_count;/**< Elements of loop_pairs. */
    uint32_t loop_pairs_of;   /**< Index in loops of the loop that they belong to: an accepted one if there is one, of
                                   these the one with most inliers. */
    uint32_t reserved;        /**< 0. */
    vfront_motion_t relative; /**< From bearings of camera 0: rotation, and direction of the translation. */
    vfront_motion_t metric;   /**< From points with a depth in the frame before: rotation and translation. */
    vfront_motion_t good;     /**< Last motion of either kind in state VFRONT_MOTION_GOOD, the metric one when both
                                   were. Its `frame` has the time; state VFRONT_MOTION_NONE: none so far. */
    vfront_prediction_t predicted; /**< Motion that was expected. */
    vfront_nav_t nav;         /**< State of the IMU; its `state` VFRONT_NAV_NONE, and all else 0: there is none. */
    vfront_timing_t timing;   /**< Times of this step. */
    vfront_track_t tracks[VFRONT_TRACKS]; /**< Alive, by rising id. */
    vfront_lost_t lost[VFRONT_TRACKS];    /**< Ended in this step, by rising id. */
    vfront_keypoint_t keypoints[VFRONT_CAMERAS][VFRONT_KEYPOINTS]; /**< By rising level, then rising culling
                                          cell, the best of a cell before the second best. */
#if VFRONT_DESCRIPTORS
    vfront_descriptor_t descriptors[VFRONT_CAMERAS][VFRONT_KEYPOINTS]; /**< Of the key points, in their order. */
#endif
#if VFRONT_STEREO
    vfront_depth_t depths[VFRONT_KEYPOINTS]; /**< By rising keypoint; every match in camera 1
                                                  at most once. */
#endif
#if VFRONT_MATCHES
    vfront_match_t matches[VFRONT_KEYPOINTS]; /**< By rising keypoint; every `before` at most once. */
#endif
#if VFRONT_MAP
    vfront_map_t map;                                 /**< Place of the odometry frame in the map. */
    vfront_loop_t loops[VFRONT_LOOPS];                /**< The likeliest keyframe first. */
    vfront_loop_pair_t loop_pairs[VFRONT_LOOP_PAIRS]; /**< Of one of them, by rising distance. */
#endif
#if VFRONT_DENSE
    vfront_disparity_t disparity; /**< Disparity of every pixel of camera 0. */
#endif
#if VFRONT_STIXELS
    vfront_road_t road;                        /**< Road. */
    uint32_t columns_count;                    /**< Number of columns; 0 when `stixel` is 0. */
    uint32_t columns_width_px;                 /**< Width of a column [px]; column i begins at pixel i times that. */
    uint32_t columns_crowded;                  /**< Columns whose best segmentation exceeded VFRONT_SEGMENTS: they have
                                                    the best one of at most that many. */
    uint16_t stixels_count[VFRONT_COLUMNS];    /**< Stixels of each column; 0: no road, or no valid disparity in it. */
    uint16_t obstacles_cm[VFRONT_OBSTACLE_BINS]; /**< Distance of the nearest object in each direction from camera 0
                                                    [cm]; stixel_far_m * 100 + 1: free; VFRONT_OBSTACLE_UNKNOWN:
                                                    unknown, also where no object is found but one may stand that has no
                                                    match in camera 1. As in MAVLink OBSTACLE_DISTANCE. */
    vfront_stixel_t stixels[VFRONT_COLUMNS][VFRONT_SEGMENTS]; /**< From the bottom up. */
#endif
};

/* ---- info -------------------------------------------------------------------------------------------------------- */

/** Facts fixed by vfront_init(). */
struct vfront_info {
    vfront_port_t port;     /**< VFRONT_PORT_CUDA or VFRONT_PORT_HOST. */
    char device[64];        /**< Name of the GPU, or "host". */
    size_t host_bytes;      /**< sizeof(vfront_t). */
    size_t pinned_bytes;    /**< Pinned memory taken in vfront_init(). */
    size_t device_bytes;    /**< Device memory taken in vfront_init(). */
    char failover[128];     /**< Why the host port took over, as vfront_detail() then; "" while none did. */
    uint32_t abandoned;     /**< GPU ports given up in this vfront_t since its memory was zeroed: each still has a thread
                                 in a CUDA call, unless that has returned in the meantime. */
    size_t abandoned_bytes; /**< Device and pinned memory that they hold, likewise. */
    int32_t levels;         /**< Levels of VFRONT_LEVELS built: those on which the smallest picture of the rig has at
                                 least 16 px on each side. */
    int32_t scales;         /**< Levels of VFRONT_SCALES built and searched, by the same rule. */
    int32_t cells[VFRONT_CAMERAS]; /**< Cells of each camera's grid for new tracks. */
    uint32_t blind_px[VFRONT_CAMERAS]; /**< Pixels for which a calibrated lens has no bearing: they count as masked. */
    int32_t rectified;             /**< 1: pictures are rectified, as the following two members describe. */
    vfront_camera_t seen[VFRONT_CAMERAS]; /**< Cameras to which all results refer: the rig's, or, rectified, pinholes
                                                side by side. Without masks. */
    int32_t valid_px[VFRONT_CAMERAS][4];  /**< First column, first row, width, height. Rectified: the largest rectangle
                                                around the middle that the raw picture covers in full; pixels that it
                                                does not cover are black and masked, and a margin of detect_border_px
                                                around them is masked, too. Not rectified: the whole picture. */
    const uint16_t *disparity_px16;       /**< Disparities of the last frame where the stages keep them, laid out as in
                                                vfront_disparity_t; an address of the device on the CUDA port. Written
                                                between vfront_submit() and vfront_wait(). NULL when the tuning value
                                                `dense` is 0. */
    const uint8_t *disparity_confidence;  /**< Confidences of the last frame, likewise. */
    int32_t disparity_pitch;              /**< Elements from row to row of both. */
};

/* ---- state: where the IMU is, for vfront_propagate() ------------------------------------------------------------- */

/** Most readings of a call. */
#define VFRONT_IMU_READINGS 4096u
/** Value of t_ns that stands for the time of the last reading. */
#define VFRONT_IMU_LAST UINT64_MAX
/** Longest time that a state is carried on in one call [ns]. */
#define VFRONT_PROPAGATE_NS 10000000000ull
/* ---- sizes: memory of vfront_t ----------------------------------------------------------------------------------- */

/** Memory of the host port for one camera, without grids and lists [bytes]: levels 1 and up of the pyramid for two
 *  frames; two pictures, static mask, mask of the frame as given and as copied; two input buffers; levels of
 *  VFRONT_SCALES; with descriptors these levels smoothed; with rectification two rectified pictures, the rectified mask
 *  and the remap table; grid of bearings; tiles of picture statistics. */
#define VFRONT_CAMERA_BYTES \
    (2u * (VFRONT_PYRAMID_BYTES - VFRONT_LEVEL_BYTES(0)) + 5u * VFRONT_PICTURE_BYTES + VFRONT_INPUTS * VFRONT_INPUT_BYTES + \
     VFRONT_SCALES_BYTES + VFRONT_DESCRIPTORS * (VFRONT_SCALES_BYTES + VFRONT_PICTURE_BYTES) + \
     VFRONT_RECTIFY * (3u * VFRONT_PICTURE_BYTES) + \
     VFRONT_RECTIFY * 8u * (VFRONT_WIDTH / 4u + 2u) * (VFRONT_HEIGHT / 4u + 2u) + \
     16u * (VFRONT_WIDTH / 8u + 6u) * (VFRONT_HEIGHT / 8u + 6u) + \
     16u * (VFRONT_WIDTH / 64u) * (VFRONT_HEIGHT / 64u + 1u))

/** Grids of one camera: the two best corners of culling cells, the best of cells, two sets by parity of the frame; a bit
 *  for each culling cell [bytes]. */
#define VFRONT_GRID_BYTES \
    (32u * VFRONT_SCALES * VFRONT_CULL_CELLS + VFRONT_SCALES * VFRONT_CULL_CELLS / 8u + 16u * VFRONT_CELLS)

/** One key point of one camera; its stereo match and its match with the frame before [bytes]. */
#define VFRONT_POINT_BYTES (72u + VFRONT_DESCRIPTORS * 72u)
#define VFRONT_PARTNER_BYTES (VFRONT_STEREO * 140u + VFRONT_MATCHES * 148u)

/** Motion: correspondences and hypotheses [bytes]. */
#define VFRONT_EGO_BYTES \
    (VFRONT_EGO * (106u * VFRONT_CORRESPONDENCES + 212u * VFRONT_HYPOTHESES + 24576u))

/** Disparities, with their copies on the host [bytes]. */
#define VFRONT_DISPARITY_BYTES \
    (1ull * VFRONT_DENSE * \
     (1ull * VFRONT_PICTURE_BYTES * (2u * VFRONT_DISPARITIES + 33u) + 6u * VFRONT_WIDTH * (VFRONT_DISPARITIES + 2u) + \
      8u * VFRONT_HEIGHT * VFRONT_DISPARITIES))

/** Stixels [bytes]. */
#define VFRONT_STIXEL_BYTES \
    (1ull * VFRONT_STIXELS * (VFRONT_COLUMNS * (3u * VFRONT_HEIGHT + 16u * VFRONT_SEGMENTS + 16u) + \
                               (VFRONT_HEIGHT + 2u) * (VFRONT_DISPARITIES / 8u + 40u) + \
                               2u * VFRONT_DISPARITIES * (VFRONT_DISPARITIES + 4u) + 8192u))

/** Largest image of a map [bytes]: vfront_map_save(). */
#define VFRONT_MAP_BYTES (112u + VFRONT_MAP * 15864u * VFRONT_KEYFRAMES)

/** Size of vfront_t [bytes]: the control block, in which the views of the stages lie, and the memory of the host port.
 *  The library checks at compile time that its real layout fits. */
#define VFRONT_BLOCK_BYTES \
    (65536u + 56u * VFRONT_IMU_SAMPLES + VFRONT_WINDOW * (458752u + 56u * VFRONT_IMU_SAMPLES + VFRONT_HOST * 2555904u) + \
     1ull * VFRONT_MAP * VFRONT_HOST * (589824u + 17408u * VFRONT_KEYFRAMES) + \
     1ull * VFRONT_HOST * \
         (VFRONT_CAMERAS * (VFRONT_CAMERA_BYTES + VFRONT_GRID_BYTES + VFRONT_POINT_BYTES * VFRONT_KEYPOINTS) + \
          VFRONT_PARTNER_BYTES * VFRONT_KEYPOINTS + VFRONT_STEREO * 98304u + VFRONT_EGO_BYTES + \
          8u * VFRONT_CELLS + (1780u + VFRONT_STEREO * 40u) * VFRONT_TRACKS + \
          3u * sizeof(vfront_result_t) + 8192u + VFRONT_DISPARITY_BYTES + VFRONT_STIXEL_BYTES))

/** A vision system. To be zeroed before vfront_init(), as static storage is. Its content is the library's. */
struct vfront {
    uint64_t block[(VFRONT_BLOCK_BYTES + 7u) / 8u]; /**< Control block and memory of the host port. */
};

/* ---- what application and library must agree on ------------------------------------------------------------------ */

/** Every type of this header whose size matters: X(type), parts before wholes. */
#define VFRONT_TYPES(X) \
    X(vfront_status_t) X(vfront_camera_t) X(vfront_imu_t) X(vfront_imu_noise_t) X(vfront_rig_t) \
    X(vfront_tuning_t) X(vfront_tuning_entry_t) X(vfront_gyro_t) X(vfront_picture_t) X(vfront_frame_t) X(vfront_track_t) X(vfront_lost_t) X(vfront_keypoint_t) \
    X(vfront_descriptor_t) X(vfront_depth_t) X(vfront_match_t) X(vfront_motion_t) X(vfront_prediction_t) \
    X(vfront_disparity_t) X(vfront_stixel_t) X(vfront_road_t) X(vfront_health_t) X(vfront_nav_t) X(vfront_loop_t) X(vfront_loop_pair_t) X(vfront_map_t) X(vfront_timing_t) \
    X(vfront_result_t) X(vfront_info_t) X(vfront_t)

/** Initialisers of a vfront_value_t[]: all that application and library must agree on, causes before consequences. */
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
