/* SPDX-License-Identifier: MIT
 *
 * vfront: a visual front end for flight computers. Camera frames go in, one fixed step at a time; key points and tracked
 * features come out, with the same bits from every GPU and from the CPU.
 *
 * Do this:
 *     static vfront_t vf;                                        // all memory of the caller: static, no heap
 *     vfront_init(&vf, &rig, NULL, VFRONT_PORT_AUTO);            // takes the device and pinned memory, once
 *     for (;;) { fill(&frame); vfront_step(&vf, &frame, &result); use(result->tracks, result->tracks_count); }
 *     vfront_shutdown(&vf);
 *
 * Memory:   fixed by vfront_cfg.h; nothing is allocated after vfront_init().
 * Threads:  one thread at a time for each vfront_t; any number of vfront_t.
 * Bits:     everything in vfront_result_t but `timing` and health.reset_counter is a pure function of config, rig, tuning and
 *           the frames since vfront_init() or vfront_reset(). vfront_digest() condenses it.
 * Picture:  row-major, origin at the top left, x to the right, y down; the centre of a pixel has integer coordinates.
 * Camera:   x right, y down, z forward.
 */
#ifndef VFRONT_H
#define VFRONT_H

#include <stddef.h>
#include <stdint.h>

#include "vfront_cfg.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- status: whether a call did what it was asked; how good the result is stands in vfront_health_t -------------- */

/** Every status but VFRONT_OK leaves what was known before the call as it was. The numbers do not change between versions. */
typedef enum vfront_status {
    VFRONT_OK = 0,
    VFRONT_E_NULL = -1,          /**< A pointer that must be given is NULL. */
    VFRONT_E_STATE = -2,         /**< Call out of order: not initialised, initialised twice, wait without submit. */
    VFRONT_E_BUSY = -3,          /**< A frame is under way: call vfront_wait() first. */
    VFRONT_E_CONFIG = -4,        /**< Library and application were compiled with different configs. */
    VFRONT_E_SIZE = -5,          /**< Picture size of zero, over the config's maximum, or not the rig's. */
    VFRONT_E_PITCH = -6,         /**< Pitch smaller than a row, or odd for a format of two bytes a pixel. */
    VFRONT_E_ALIGN = -7,         /**< Address odd for a format of two bytes a pixel, or vfront_t not aligned to 8 bytes. */
    VFRONT_E_FORMAT = -8,        /**< Unknown vfront_format_t. */
    VFRONT_E_MEMORY_KIND = -9,   /**< Unknown vfront_memory_t, or the address is not of that kind, or not on this port. */
    VFRONT_E_MASK = -10,         /**< Mask of another size than the picture, or its pitch is smaller than a row. */
    VFRONT_E_TIME = -11,         /**< The frame's time is not after that of the frame before, or not that of all its pictures. */
    VFRONT_E_CALIBRATION = -12,  /**< A calibration value is not finite or absurd; vfront_detail() says which. */
    VFRONT_E_TUNING = -13,       /**< Unknown tuning value, or out of its range; vfront_detail() says which. */
    VFRONT_E_GYRO = -14,         /**< Gyro samples out of order, not finite, over 100 rad/s, or too many. */
    VFRONT_E_PRIOR = -15,        /**< Rotation prior that is no rotation, or no calibration to use it with. */
    VFRONT_E_PORT = -16,         /**< Unknown port, or one that is not in this build. */
    VFRONT_E_NO_DEVICE = -17,    /**< No GPU that this build has code for. */
    VFRONT_E_DRIVER = -18,       /**< The GPU driver is missing or too old for the CUDA runtime in this build. */
    VFRONT_E_DEVICE_MEMORY = -19,/**< Device or pinned memory could not be had; or the GPU's blocks cannot have the shared memory of a stage. */
    VFRONT_E_DEVICE = -20,       /**< A CUDA call or kernel failed. Later steps return it too, until vfront_shutdown(). */
    VFRONT_E_TIMEOUT = -21       /**< The time-out ran out; the frame is still under way, wait again. */
} vfront_status_t;

/** The name of a status ("VFRONT_E_SIZE"), or "unknown status". Never NULL. */
const char *vfront_status_name(vfront_status_t status);

/* ---- rig: what the cameras are; given once ----------------------------------------------------------------------- */

/** How a lens bends rays, with x = X / Z, y = Y / Z, r^2 = x^2 + y^2 of a point in camera axes, and k1... the numbers in `distortion`. */
typedef enum vfront_lens {
    VFRONT_LENS_RADTAN = 0,      /**< Brown (1966): k1 k2 p1 p2 k3. All 0: a pinhole. Four numbers: k3 is 0. */
    VFRONT_LENS_RATIONAL = 1,    /**< k1 k2 p1 p2 k3 k4 k5 k6: the radial polynomial over 1 + k4 r^2 + k5 r^4 + k6 r^6. */
    VFRONT_LENS_EQUIDISTANT = 2  /**< Kannala and Brandt (2006): k1 k2 k3 k4, of the angle to the axis. */
} vfront_lens_t;

/** One camera. Focal lengths of 0 mean "not calibrated": then there is no rotation prior, no bearing and no depth. */
typedef struct vfront_camera {
    int32_t width_px;         /**< 16..VFRONT_WIDTH, any number. */
    int32_t height_px;        /**< 16..VFRONT_HEIGHT, any number. */
    double fx_px, fy_px;      /**< Focal lengths [px], between 1/20 and 100 times the width, and such that the picture is at least
                                   1 degree wide; or both 0. */
    double cx_px, cy_px;      /**< Principal point [px], within one picture size around the picture. */
    vfront_lens_t lens;
    double distortion[8];     /**< As many as the lens has, in its order; the others must be 0. At most 10^6 each, 1 for p1 and p2. */
    double R_cam_imu[9];      /**< Rotation, row-major, that takes IMU axes to camera axes. All 0: identity. */
    double t_cam_imu_m[3];    /**< Where the IMU sits, in camera axes [m]: p_cam = R_cam_imu p_imu + t_cam_imu_m. Of two cameras these
                                   two say how they sit to each other. A rig without IMU takes camera 0 in its place. Within 100 m.
                                   Equal for both, or in one place: no depth. Else camera 1 sits to the right of camera 0, above or below it,
                                   10^-4 to 20 m away, and the two look less than 90 degrees apart. */
    const uint8_t *mask;      /**< Static mask in host memory, [height_px][mask_pitch_bytes], 0 = ignore this pixel; or NULL.
                                   Read within vfront_init() only. */
    uint32_t mask_pitch_bytes;/**< Bytes from row to row of the mask, at least width_px. */
} vfront_camera_t;

/** All cameras, of one size or of different ones. Tracks live in camera 0; key points are found in every camera. */
typedef struct vfront_rig {
    int32_t cameras; /**< 1..VFRONT_CAMERAS. */
    vfront_camera_t camera[VFRONT_CAMERAS];
    double road_height_m;  /**< How high camera 0, as the stages see it, is above the road of the stixels [m], up to 100; 0: it is looked for. */
    double road_pitch_rad; /**< And by how much it looks up, in -0.87..0.87 [rad]; not read when road_height_m is 0. */
} vfront_rig_t;

/**
 * Where a camera sees a ray. A lens holds for rays in front of it, up to the radius r = tan(angle to the axis), or for
 * VFRONT_LENS_EQUIDISTANT the angle itself, below 180 degrees, to which its radial function rises; r is at most 10^4. Where p1 or p2
 * bends more than that, so that the picture would fold, the lens does not hold either. In double precision, the same bits on every
 * machine. Finds the range of the lens anew at each call, a few microseconds.
 *
 * @param[in]  camera  Any that vfront_init() takes; not calibrated: there is nothing to see.
 * @param[in]  ray     In camera axes, of any length.
 * @param[out] px      Pixel, which may lie outside the picture. As it was when 0 is returned.
 * @return 1, or 0: the lens does not hold for this ray, it is no ray (0, infinite, NaN), or an argument is NULL.
 *
 * D. C. Brown, Decentering distortion of lenses (1966), as OpenCV has it (2014); J. Kannala, S. S. Brandt, A generic camera model and
 * calibration method for conventional, wide-angle, and fish-eye lenses (2006).
 */
int vfront_lens_project(const vfront_camera_t *camera, const double ray[3], double px[2]);

/**
 * The ray that a camera sees at a pixel: the inverse of vfront_lens_project(), to 10^-6 px. Newton's method within bounds that
 * always hold the root, a fixed number of steps at most.
 *
 * @param[in]  camera   As above.
 * @param[in]  px       Pixel, inside the picture or not.
 * @param[out] bearing  Unit vector in camera axes. As it was when 0 is returned.
 * @return 1, or 0: no ray for which the lens holds goes there, it is no pixel, or an argument is NULL.
 */
int vfront_lens_bearing(const vfront_camera_t *camera, const double px[2], double bearing[3]);

/* ---- tuning: what may be changed from flight to flight; given once ----------------------------------------------- */

/** Corner scores of paper 000 II.D. */
enum { VFRONT_SCORE_SAD_B = 0, VFRONT_SCORE_SAD_A = 1, VFRONT_SCORE_MT = 2 };
/** Photometric models of paper 000 II.E: translation alone, with gain, with offset, with both. */
enum { VFRONT_LIGHT_NONE = 0, VFRONT_LIGHT_GAIN = 1, VFRONT_LIGHT_OFFSET = 2, VFRONT_LIGHT_BOTH = 3 };
/** First guess of a track's motion; VFRONT_PRIOR_BOTH takes the rotation where the frame gives one, else the velocity. */
enum { VFRONT_PRIOR_NONE = 0, VFRONT_PRIOR_ROTATION = 1, VFRONT_PRIOR_VELOCITY = 2, VFRONT_PRIOR_BOTH = 3 };

/** Every tuning value: X(name, default, least, most, "meaning [unit]"). All are integers. */
#define VFRONT_TUNING(X)                                                                                                               \
    X(detect_levels, VFRONT_SCALES, 1, VFRONT_SCALES, "levels of VFRONT_SCALES searched for corners")                                  \
    X(detect_threshold, 20, 1, 254, "segment test threshold [grey levels]")                                                            \
    X(detect_threshold_low, 10, 0, 254, "second threshold; what passes only this ranks behind all that passes the first [grey levels]; 0: none")\
    X(detect_arc, 9, 9, 12, "contiguous pixels of the circle of 16 that make a corner, at least")                                      \
    X(detect_arc_most, 13, 9, 16, "and at most: more are a spot (bounded rectification); 16: no such bound")                           \
    X(detect_score, 1, 0, 2, "corner score: 0 SAD-B, 1 SAD-A, 2 MT; it decides which of close corners stays")                          \
    X(detect_rank, 2, 0, 2, "what ranks corners: 0 corner score, 1 Harris response in 7x7 px, 2 that in 5x5 px times the squared score")\
    X(detect_radius, 1, 1, 4, "non-maximum suppression radius [px of its level]")                                                      \
    X(detect_border_px, 8, 3, 512, "margin of the picture without key points and tracks [px]")                                         \
    X(cell_width_px, 32, 3, 4096, "width of a cell of the grid in which tracks are born, at most one in each [px]")                    \
    X(cell_height_px, 32, 3, 4096, "height of such a cell [px]")                                                                       \
    X(cull_width_px, 8, 3, 4096, "width of a culling cell, which leaves the best corner of each level [px]")                           \
    X(cull_height_px, 8, 3, 4096, "height of a culling cell [px]")                                                                     \
    X(select_window_px, 0, 0, 63, "aggregation over levels: window that no stronger point may share, up to 4 culling cells [px]; 0: none")\
    X(select_points, VFRONT_KEYPOINTS, 0, VFRONT_KEYPOINTS, "most key points of a picture, the best are kept; 0: none are given")      \
    X(select_share_percent, 91, 0, 100, "share of a level of these, of that of the level before; 0: no shares, the best of all levels together")\
    X(describe, VFRONT_DESCRIPTORS, 0, VFRONT_DESCRIPTORS, "1: key points get an orientation and a descriptor")                        \
    X(describe_margin_px, 19, 3, 64, "margin of every level without corners when key points are described [px of the level]")          \
    X(rectify, 0, 0, VFRONT_RECTIFY, "1: two calibrated cameras in different places are rectified, and everything else sees that")       \
    X(rectify_focal_percent, 100, 10, 400, "focal length of rectified pictures, of the mean of both cameras' [%]")                      \
    X(match, VFRONT_MATCHES, 0, VFRONT_MATCHES, "1: key points of camera 0 get a partner in the frame before")                          \
    X(match_guided, 1, 0, 1, "1: it is looked for around where it is expected, 0: in the whole picture")                                \
    X(match_window_px, 40, 1, 4096, "how far from where it is expected [px]")                                                           \
    X(match_distance, 64, 0, 256, "most bits in which the descriptors of partners differ")                                              \
    X(match_ratio_percent, 90, 1, 100, "partners differ in at most this share of the bits of the next best somewhere else; 100: no such test [%]")\
    X(match_turn_deg, 30, 1, 180, "most by which the orientations of partners differ [degrees]")                                        \
    X(match_levels, 1, 0, 7, "most by which their levels differ")                                                                       \
    X(match_settle, 1, 0, 1, "1: a match gets a place to a part of a pixel, 0: that of its key point, on a whole pixel of its level")     \
    X(stereo, VFRONT_STEREO, 0, VFRONT_STEREO, "1: key points of camera 0 get a partner in camera 1, and a depth, if both are calibrated and placed")\
    X(stereo_band_px, 2, 1, 64, "farthest that a partner lies from the epipolar line [px of the coarser level of the two]")             \
    X(stereo_distance, 100, 0, 256, "most bits in which their descriptors differ")                                                      \
    X(stereo_levels, 0, 0, 7, "most by which the levels of partners in both cameras differ")                                            \
    X(stereo_disparity_px, 128, 1, 4096, "largest disparity, as it is in the middle of the picture [px]")                                                                      \
    X(stereo_least_mpx, 250, 1, 1000000, "least such disparity that gives a depth [1/1000 px]")                                              \
    X(stereo_apart_mpx, 800, 0, 10000, "most by which the halves of a window would move apart; 0: any [1/1000 px]")                      \
    X(stereo_cut_percent, 250, 0, 10000, "partners whose windows differ by more than this share of the median are dropped; 0: none [%]")\
    X(stereo_sigma_mpx, 200, 1, 10000, "standard deviation of a disparity from level 0; from others the root of their step times this [1/1000 px]") \
    X(ego, VFRONT_EGO, 0, VFRONT_EGO, "1: the motion of camera 0 since the frame before, if it is calibrated")                           \
    X(ego_points, 5, 5, 8, "pairs of bearings from which relative motions are made: 5, 7 or 8")                                         \
    X(ego_hypotheses, (VFRONT_HYPOTHESES > 512 ? 512 : VFRONT_HYPOTHESES), 0, VFRONT_HYPOTHESES, "relative motions that are tried each step; 0: no relative motion")\
    X(ego_metric_hypotheses, (VFRONT_HYPOTHESES > 256 ? 256 : VFRONT_HYPOTHESES), 0, VFRONT_HYPOTHESES, "metric motions that are tried each step; 0: no metric motion")\
    X(ego_seed, 1, 0, 2147483647, "seed of the draws")                                                                                  \
    X(ego_tracks, 1, 0, 1, "1: tracks say how the camera moved")                                                                        \
    X(ego_matches, VFRONT_MATCHES, 0, VFRONT_MATCHES, "1: key points with a partner in the frame before say it")                         \
    X(ego_rotation, 1, 0, 1, "1: where the frame gives a rotation, some hypotheses start from it")                                      \
    X(ego_error_mpx, 1000, 10, 100000, "a pair farther than this, times the size of its level's pixels, from a motion is an outlier; for tracks and settled matches 0.15 of it, with a depth 0.5 [1/1000 px]")\
    X(ego_least, 12, 8, 1000, "so many pairs, and the following share of all, must agree on a motion")                                  \
    X(ego_least_percent, 20, 0, 90, "share of the pairs that must, beyond ego_least [%]")                                               \
    X(ego_still_mpx, 200, 0, 10000, "the camera stands still when half of the pairs moved by no more than this [1/1000 px]")            \
    X(dense, 0, 0, VFRONT_DENSE, "1: every pixel of camera 0 gets a disparity; both cameras must be rectified, or pinholes side by side")   \
    X(dense_paths, 8, 4, 8, "directions along which its costs add up: 8, or 4: rows and columns")                                       \
    X(dense_disparities, VFRONT_DISPARITIES, 64, VFRONT_DISPARITIES, "disparities looked at: 64, 128 or 256")                           \
    X(dense_least_px, 0, 0, 1024, "least of them [px]")                                                                                 \
    X(dense_p1, 6, 0, 39, "cost of a change by 1 px from pixel to pixel along a path [bits of 24]")                                     \
    X(dense_p2, 36, 0, 39, "cost of any other change, at least dense_p1 [bits of 24]")                                                  \
    X(dense_unique_percent, 8, 0, 99, "by how much the best sum of costs is below the next best that is no neighbour, at least [%]")    \
    X(dense_back_px, 1, 0, 256, "most by which what camera 1 finds differs; 256: any [px]")                                             \
    X(dense_median, 1, 0, 1, "1: median of 3x3 px, of those that have a disparity")                                                     \
    X(dense_speckle_px, 100, 0, 1000, "segments of fewer pixels go; 0: none [px]")                                                      \
    X(dense_speckle_mpx, 1000, 0, 16000, "most by which the disparities of neighbours in a segment differ [1/1000 px]")                 \
    X(dense_copy, 1, 0, 1, "1: disparities are copied to the host; 0: they stay where vfront_info() says, for kernels of your own")     \
    X(stixel, 0, 0, VFRONT_STIXELS, "1: columns are cut into ground, objects and sky; needs dense, and dense_least_px 0")                \
    X(stixel_width_px, 5, 1, 16, "width of a column [px]")                                                                              \
    X(stixel_median, 0, 0, 1, "1: a row of a column has the median of its disparities, 0: their mean")                                  \
    X(stixel_far_m, 100, 1, 650, "objects farther away leave their direction free [m]")                                                 \
    X(track_target, (VFRONT_TRACKS > 200 ? 200 : VFRONT_TRACKS), 0, VFRONT_TRACKS, "tracks wanted alive; 0: nothing is tracked")       \
    X(track_refill_percent, 100, 0, 100, "new tracks start when fewer than this share of the target live; 100: every frame")           \
    X(track_distance_px, 12, 0, 256, "least distance of a new track to every other, up to 4 cells [px]")                               \
    X(track_levels, 5, 1, 6, "pyramid levels used for tracking, as far as there are")                                                  \
    X(track_patch8_level, 6, 0, 6, "first level with a patch of 8x8 instead of 16x16 px")                                              \
    X(track_iterations, (VFRONT_ITERATIONS > 8 ? 8 : VFRONT_ITERATIONS), 1, VFRONT_ITERATIONS, "most Gauss-Newton steps on one level") \
    X(track_epsilon_mpx, 20, 1, 1000, "a step shorter than this ends the finest level; the others end at 100 [1/1000 px]")             \
    X(track_light, 3, 0, 3, "light model: 0 none, 1 gain, 2 offset, 3 both")                                                           \
    X(track_residual_grey, 20, 1, 255, "a track ends when its mean absolute residual exceeds this [grey levels]")                      \
    X(track_texture, 10, 0, 1000000, "least eigenvalue of the mean structure tensor of a patch [1/100 grey level^2 a px^2]")           \
    X(track_back_mpx, 0, 0, 10000, "forward-backward check: largest distance from the start [1/1000 px]; 0: no check")                 \
    X(track_prior, 3, 0, 3, "first guess: 0 none, 1 rotation, 2 velocity, 3 rotation where given, else velocity")                      \
    X(track_retry, 1, 0, 1, "1: a track that fails from its first guess is tried again from where it was")                             \
    X(track_template_frames, 0, 0, 100000, "frames after which a template is taken anew; 0: never")                                    \
    X(track_template_grey, 8, 0, 255, "a template is taken anew when the residual exceeds this [grey levels]; 0: never")               \
    X(health_degraded_percent, 50, 1, 100, "fewer live tracks than this share of the target: degraded")                                \
    X(frame_skew_us, 2000, 0, 1000000, "most by which a picture's time, where it has one, differs from the frame's [us]")             \
    X(health_gap_ms, 200, 1, 100000, "longer than this between two frames is a gap [ms]")                                              \
    X(deadline_us, 20000, 1, 10000000, "a step that takes longer from submit to result is an overrun [us]")

/** The tuning values of one flight. Start from vfront_tuning_default(). */
typedef struct vfront_tuning {
#define VFRONT_TUNING_MEMBER(name, standard, least, most, meaning) int32_t name;
    VFRONT_TUNING(VFRONT_TUNING_MEMBER)
#undef VFRONT_TUNING_MEMBER
} vfront_tuning_t;

/** What vfront_tuning_entry() says of a tuning value. */
typedef struct vfront_tuning_entry {
    const char *name;
    const char *meaning;
    int32_t standard, least, most;
} vfront_tuning_entry_t;

/** Fills in the standard values. NULL is ignored. */
void vfront_tuning_default(vfront_tuning_t *tuning);

/** The index-th tuning value in the order of VFRONT_TUNING, or NULL past the last. */
const vfront_tuning_entry_t *vfront_tuning_entry(size_t index);

/**
 * Sets a value by name. Values that depend on each other are checked in vfront_init().
 * @retval VFRONT_E_NULL    tuning or name is NULL.
 * @retval VFRONT_E_TUNING  no such name, or the value is out of its range. Nothing changed.
 */
vfront_status_t vfront_tuning_set(vfront_tuning_t *tuning, const char *name, int32_t value);

/* ---- frame: what goes in each step ------------------------------------------------------------------------------- */

/** Pixel formats. All become 8-bit grey; bits beyond 8 are dropped, values over a format's range become white. */
typedef enum vfront_format {
    VFRONT_GREY8 = 0,  /**< uint8_t. */
    VFRONT_GREY10 = 1, /**< uint16_t in the machine's byte order, 0..1023. */
    VFRONT_GREY12 = 2, /**< uint16_t, 0..4095. */
    VFRONT_GREY16 = 3, /**< uint16_t, 0..65535. */
    VFRONT_NV12 = 4,   /**< The 8-bit luma plane at data; the chroma plane is not read. */
    VFRONT_YUYV = 5    /**< Two bytes a pixel, luma first. */
} vfront_format_t;

/** Where a picture lies. */
typedef enum vfront_memory {
    VFRONT_HOST_MEMORY = 0,   /**< Any host memory. Copied within vfront_submit(); free again when it returns. But a picture in a
                                   buffer from vfront_input() is read in place, as if it were said to be pinned. */
    VFRONT_PINNED_MEMORY = 1, /**< From vfront_input(), cudaHostAlloc() or cudaHostRegister(). Read in place by the GPU, so it
                                   must stay as it is until vfront_wait() returns. On the host port: as VFRONT_HOST_MEMORY,
                                   read in place. */
    VFRONT_DEVICE_MEMORY = 2  /**< Device memory, read in place until vfront_wait() returns. CUDA port only. */
} vfront_memory_t;

/** One camera's picture of a frame. */
typedef struct vfront_picture {
    const void *data;         /**< [height_px][pitch_bytes]. Even address for formats of two bytes a pixel. */
    int32_t width_px;         /**< Equal to the rig's. */
    int32_t height_px;        /**< Equal to the rig's. */
    uint32_t pitch_bytes;     /**< Bytes from row to row, at least one row of pixels; an even number for formats of two
                                   bytes a pixel, else any. */
    vfront_format_t format;
    vfront_memory_t memory;
    uint64_t t_ns;            /**< When it was taken, to be compared with the frame's; 0: at the frame's t_ns. */
    const uint8_t *mask;      /**< This frame's mask in host memory, beside the static one, 0 = ignore this pixel; or NULL. */
    int32_t mask_width_px;    /**< Equal to width_px when mask is given. */
    int32_t mask_height_px;   /**< Equal to height_px when mask is given. */
    uint32_t mask_pitch_bytes;/**< At least width_px when mask is given. */
} vfront_picture_t;

/** One gyro reading, in IMU axes. */
typedef struct vfront_gyro {
    uint64_t t_ns;   /**< Same clock as the frame. Strictly increasing. */
    double rate_rad_s[3]; /**< Angular rate, |each| <= 100 rad/s. */
} vfront_gyro_t;

/** One frame: all cameras at one time. Every pointer may be reused once vfront_submit() returns, but see vfront_memory_t. */
typedef struct vfront_frame {
    uint64_t t_ns;        /**< Start of exposure, any clock, strictly increasing from frame to frame. */
    uint32_t exposure_ns; /**< Exposure time, or 0. vfront_result_t.t_mid_ns is t_ns and half of it. */
    vfront_picture_t picture[VFRONT_CAMERAS];
    const double *R_cur_prev; /**< Rotation prior, row-major 3x3: takes axes of camera 0 at the previous frame to axes of camera
                                   0 now, those of the rig also when rectified, determinant 1 and orthonormal to 1e-3; or NULL. Goes before gyro. */
    const vfront_gyro_t *gyro;/**< Readings that cover the time from the previous frame to this one; integrated piecewise
                                   linearly, the first and last held where they do not reach. Or NULL. */
    uint32_t gyro_count;      /**< 0..VFRONT_GYRO_SAMPLES. */
} vfront_frame_t;

/* ---- result: what comes out each step ---------------------------------------------------------------------------- */

/** A feature followed from frame to frame, in camera 0. */
typedef struct vfront_track {
    uint64_t id;         /**< 1, 2, 3... in the order of birth since vfront_init() or vfront_reset(); never used twice. */
    float x_px, y_px;    /**< Position now, level 0. Multiple of 2^-16. */
    float dx_px, dy_px;  /**< Movement since the frame before; 0 when age is 0. */
    float gain;          /**< Picture = gain * template + offset, 1 when the light model has no gain. */
    float offset_grey;   /**< [grey levels] */
    float residual_grey; /**< Mean absolute residual of the patch after alignment; 0 when age is 0. */
    uint32_t age;        /**< Frames since it was found; 0 in the frame that found it. */
    uint32_t level;      /**< Pyramid level on which its corner was found. */
    uint32_t score;      /**< Corner score with which it was found. */
    float bearing[3];    /**< Where it lies from the camera: unit vector in camera axes; 0 0 0 for a camera that is not calibrated. */
    uint32_t agrees;     /**< With which motions of the result: VFRONT_AGREES_RELATIVE, VFRONT_AGREES_METRIC. */
} vfront_track_t;

/** Why a track ended. */
typedef enum vfront_end {
    VFRONT_END_BORDER = 1,   /**< Left the picture, or came nearer to its border than detect_border_px. */
    VFRONT_END_MASK = 2,     /**< Moved under a mask. */
    VFRONT_END_RESIDUAL = 3, /**< Residual over track_residual_grey, or a gain at its bound of 1/4 or 4: nothing like it there. */
    VFRONT_END_TEXTURE = 4,  /**< Not enough texture to say where it is. */
    VFRONT_END_DIVERGED = 5, /**< The alignment ran away. */
    VFRONT_END_BACK = 6      /**< Failed the forward-backward check. */
} vfront_end_t;
#define VFRONT_ENDS 7 /**< Numbers of vfront_end_t, 0 unused. */

/** A track that ended in this step. */
typedef struct vfront_lost {
    uint64_t id;
    float x_px, y_px; /**< Last position held, in the frame before. */
    uint32_t age;     /**< Frames that it lived. */
    uint32_t end;     /**< vfront_end_t */
} vfront_lost_t;

/** A corner, the best of its level in its culling cell. */
typedef struct vfront_keypoint {
    float x_px, y_px;  /**< Level 0; multiples of 2^-16. For the pixel (u, v) of a level whose pixels are s times as large:
                            (u + 1/2) s - 1/2, with s = (VFRONT_SCALE_NUM / VFRONT_SCALE_DEN)^level rounded to 2^-16. */
    float angle_rad;   /**< Orientation, -pi..pi, from the x axis towards the y axis: where the patch's centre of brightness lies.
                            0 when it is not described. */
    uint32_t score;    /**< What ranks it, at least 1. detect_rank 0: SAD-B, SAD-A up to 4080, MT up to 254. 1: the Harris response
                            det - 0.04 trace^2 times 25 / 2^24, from plain sums of 3x3 Sobel gradients over 7x7 px [grey
                            levels^4]. 2: the same over 5x5 px times 25 / 2^14, times the squared corner score (a 16th of it
                            for SAD-B, SAD-A), over 2^24. 1 for what is below, edges among them. */
    uint16_t cell;     /**< Row-major number of the cell in which it may start a track. */
    uint8_t level;     /**< 0..detect_levels - 1 */
    uint8_t weak;      /**< 1: found with detect_threshold_low only. */
    float bearing[3];  /**< As vfront_track_t.bearing, from its own camera. */
} vfront_keypoint_t;

/** A descriptor: bit i is word[i / 32] >> (i % 32) & 1; on a machine that stores the low byte first these are the 32 bytes of OpenCV's
 *  ORB. How far apart two are is the number of bits that differ. */
typedef struct vfront_descriptor {
    uint32_t word[8];
} vfront_descriptor_t;

/** A key point of camera 0 and its partner in camera 1. */
typedef struct vfront_depth {
    uint16_t keypoint;  /**< Index in keypoints[0]. */
    uint16_t partner;   /**< Index in keypoints[1]. */
    uint16_t distance;  /**< Bits in which their descriptors differ. */
    uint16_t reserved;  /**< 0. */
    float x_px, y_px;   /**< Where in camera 1 the surroundings of the key point are found, on its epipolar line. */
    float depth_m;      /**< Along the z axis of camera 0 [m]. */
    float sigma_m;      /**< Its standard deviation, when that of the disparity is stereo_sigma_mpx. */
} vfront_depth_t;

/** A key point of camera 0 and its partner in the frame before. */
typedef struct vfront_match {
    uint16_t keypoint; /**< Index in keypoints[0]. */
    uint16_t before;   /**< Index in keypoints[0] of the result of the frame before. */
    uint16_t distance; /**< Bits in which their descriptors differ. */
    uint16_t second;   /**< The same for the next best somewhere else; 256 when there was none. */
    uint16_t agrees;   /**< As vfront_track_t.agrees. */
    uint16_t settled;  /**< 1: what surrounds the key point of the frame before was found in this frame, to a part of a pixel; 0: it was not, and
                            the place is the key point's own, on a whole pixel of its level. */
    float x_px, y_px;  /**< That place in this frame, of level 0. */
    float bearing[3];  /**< As vfront_track_t.bearing, of that place. */
} vfront_match_t;

/** What is known of a motion. */
typedef enum vfront_motion_state {
    VFRONT_MOTION_NONE = 0,     /**< Nothing was asked: first frame, no calibration, tuning value 0; or, for a metric one, no depth. */
    VFRONT_MOTION_GOOD = 1,     /**< R, t and covariance hold. */
    VFRONT_MOTION_ROTATION = 2, /**< Relative: a rotation alone explains the pairs. R holds, t is 0. */
    VFRONT_MOTION_FEW = 3,      /**< Fewer pairs than ego_least: R is the identity, t 0. */
    VFRONT_MOTION_UNSURE = 4    /**< Fewer pairs than ego_least and ego_least_percent of all agree on any motion: likewise. */
} vfront_motion_state_t;

/** Bits of vfront_motion_t.flags. */
enum {
    VFRONT_MOTION_STILL = 1,    /**< The camera stands still: half of the pairs moved by no more than ego_still_mpx. */
    VFRONT_MOTION_PLANE = 2,    /**< Relative: nearly all pairs that agree lie in one plane, for which there may be a second motion as good. */
    VFRONT_MOTION_PARALLAX = 4, /**< Relative: a rotation alone explains most of the pairs, so that the direction of t is weak. */
    VFRONT_MOTION_TWO = 8,      /**< Relative: many of the pairs that do not agree do agree on another motion: something else moves, too. */
    VFRONT_MOTION_ONE_GPU = 16  /**< Relative: from VFRONT_CUBLAS; only the same GPU with the same libraries gives these bits again. */
};

/** Bits of vfront_track_t.agrees and vfront_match_t.agrees. */
enum { VFRONT_AGREES_RELATIVE = 1, VFRONT_AGREES_METRIC = 2 };

/** How camera 0, as vfront_info_t.seen has it, moved from the frame before to this one: p_now = R p_before + t, for what stands still. */
typedef struct vfront_motion {
    uint32_t state;      /**< vfront_motion_state_t */
    uint32_t flags;      /**< VFRONT_MOTION_STILL... */
    uint32_t pairs;      /**< That there were; for a metric motion, of those with a depth in the frame before. */
    uint32_t inliers;    /**< Of them, that agree. */
    uint32_t others;     /**< Pairs that agree on another motion, of those that were looked at: at most 512. */
    uint32_t hypotheses; /**< That were tried. */
    uint32_t needed;     /**< That the share of inliers would have needed for one without an outlier in 99 of 100 cases (paper 003, equation 15);
                              at most 1,000,000. */
    float rms_px;        /**< Of the inliers' errors, in pixels of level 0 in the middle of the picture. */
    float parallax_px;   /**< Median movement of the inliers less what R accounts for. */
    uint32_t reserved;   /**< 0. */
    uint64_t frame;      /**< Of the result in which it was found. */
    float R[9];          /**< Row-major rotation: takes axes of the camera at the frame before to its axes now. */
    float t[3];          /**< Metric: [m]. Relative: a unit vector, the length being unknown. */
    float covariance[21];/**< Upper triangle, row by row, of the 6x6 covariance of (t, w), with R_true = exp([w]) R, w [rad], in axes of the camera
                              now. From how much the inliers' errors differ from one part of the picture to another. Relative: t has no variance along itself. */
} vfront_motion_t;

/** The disparity of every pixel of camera 0: pixel (x, y) shows what camera 1 shows at (x - disparity, y). Along the z axis of camera 0 that is
 *  fx_px times the baseline over the disparity away, with fx_px of vfront_info_t.seen. */
typedef struct vfront_disparity {
    const uint16_t *px16;      /**< [height_px][pitch] [1/16 px], VFRONT_NO_DISPARITY where there is none. On the host, valid as long as the
                                    result. NULL unless the tuning values `dense` and `dense_copy` are 1. */
    const uint8_t *confidence; /**< [height_px][pitch] How far it stands out from the next best, 1 (hardly) .. 255; 0 where there is none. */
    int32_t width_px, height_px; /**< Of camera 0. */
    int32_t pitch;             /**< Elements from row to row. */
    uint32_t valid;            /**< Pixels with a disparity; 0 when `dense` is 0. */
} vfront_disparity_t;
#define VFRONT_NO_DISPARITY 0xffffu

/** What a stixel is. */
typedef enum vfront_stixel_type { VFRONT_STIXEL_GROUND = 0, VFRONT_STIXEL_OBJECT = 1, VFRONT_STIXEL_SKY = 2 } vfront_stixel_type_t;

/** A segment of a column. */
typedef struct vfront_stixel {
    uint16_t base_px, top_px; /**< Its lowest and its highest row, both of them its own; row 0 is the highest of the picture. */
    uint32_t type;            /**< vfront_stixel_type_t */
    float disparity_px;       /**< Mean of its valid disparities; -1: it has none. */
    float distance_m;         /**< That far along the z axis of camera 0 [m]; 0 for sky, and where there is no disparity. */
    float sigma_m;            /**< Standard deviation of that, when that of the disparity is 1 px. */
    float cost;               /**< What it adds to the cost of its column, the negative logarithm of a probability. */
} vfront_stixel_t;

/** What is known of the road. */
typedef enum vfront_road_state {
    VFRONT_ROAD_NONE = 0,  /**< It was not found for so long that nothing is known of it: there are no stixels. */
    VFRONT_ROAD_SEEN = 1,  /**< Found in this frame. */
    VFRONT_ROAD_HELD = 2,  /**< Not found in this frame, or far from where it was: it stays as it was. */
    VFRONT_ROAD_GIVEN = 3  /**< As the rig says. */
} vfront_road_state_t;

/** The road: its disparity is slope * (row - horizon_px). All 0 when there is none. */
typedef struct vfront_road {
    uint32_t state;    /**< vfront_road_state_t */
    uint32_t votes;    /**< For this frame's line, from rows and disparities; more than 25 make a road. */
    uint32_t unseen;   /**< Frames in a row in which it was not found. */
    float horizon_px;  /**< Row of the horizon, which may lie outside the picture. */
    float slope;       /**< By how much its disparity grows from row to row [px]. */
    float pitch_rad;   /**< By how much camera 0 looks up. */
    float height_m;    /**< How high it is above the road. */
} vfront_road_t;

/** Directions of obstacles, 5 degrees each, the first in the middle of it straight ahead, then clockwise seen from above. */
#define VFRONT_OBSTACLE_BINS 72
#define VFRONT_OBSTACLE_UNKNOWN 65535u

/** How well the front end fares. */
typedef enum vfront_state {
    VFRONT_STARTING = 0, /**< First frame since vfront_init() or vfront_reset(). */
    VFRONT_TRACKING = 1, /**< All is well. */
    VFRONT_DEGRADED = 2, /**< Few tracks, or a gap between the frames. */
    VFRONT_LOST = 3      /**< There were tracks and none was followed into this frame. Lasts one frame: the next is
                              VFRONT_DEGRADED until enough of its new tracks are followed; reset_counter tells of it for good. */
} vfront_state_t;

/** Bits of vfront_health_t.full. */
enum { VFRONT_FULL_TRACKS = 1, VFRONT_FULL_KEYPOINTS = 2 };

/** Health of a step. Shares are in 1/1000 of the picture. */
typedef struct vfront_health {
    uint32_t state;          /**< vfront_state_t */
    uint32_t quality;        /**< 1..100: share of track_target followed into this frame, in percent; as in MAVLink ODOMETRY. */
    uint32_t reset_counter;  /**< Counts vfront_reset() and every loss of all tracks. */
    uint32_t followed;       /**< Tracks of the frame before that were found again. */
    uint32_t born;           /**< New tracks. */
    uint32_t ended[VFRONT_ENDS]; /**< Ended tracks by vfront_end_t. */
    uint32_t overflow;       /**< Key points fit for a new track, in a frame that starts some, for which there was no room. */
    uint32_t dropped[VFRONT_CAMERAS]; /**< Corners beyond select_points, or their level's share of it: the best were kept. 0 when
                                            select_points is 0. */
    uint32_t full;           /**< Lists that had no room for all: VFRONT_FULL_TRACKS, VFRONT_FULL_KEYPOINTS << camera. */
    uint32_t gap;            /**< 1: more than health_gap_ms since the frame before. */
    uint32_t reserved;       /**< 0. */
    uint64_t dt_ns;          /**< Time since the frame before; 0 in the first. */
    uint32_t cells[VFRONT_CAMERAS];        /**< Cells of the grid. */
    uint32_t starved[VFRONT_CAMERAS];      /**< Cells without a corner on any level. */
    float brightness_grey[VFRONT_CAMERAS]; /**< Mean grey level. */
    float sharpness_grey[VFRONT_CAMERAS];  /**< Mean absolute difference of neighbouring pixels: falls with blur. */
    uint32_t dark_permille[VFRONT_CAMERAS];  /**< Pixels of 5 grey levels or less. */
    uint32_t bright_permille[VFRONT_CAMERAS];/**< Pixels of 250 grey levels or more. */
} vfront_health_t;

/** Number of stages in src/stages.def. vfront_stage_name() has their names. */
#define VFRONT_STAGES 17

/** Times of a step. The only part of a result that differs from run to run. */
typedef struct vfront_timing {
    float stage_us[VFRONT_STAGES]; /**< From a stage's first work to its last, on the device's own clock. Stages may overlap.
                                        0, or next to it, for one that the tuning leaves nothing to do. */
    float device_us;               /**< From the first stage's first work to the last stage's last. */
    float step_us;                 /**< From the call of vfront_submit() to the result, on the host's clock. */
    uint32_t overrun;              /**< 1: step_us exceeds deadline_us. */
    uint32_t overruns;             /**< Overruns since vfront_init(). */
} vfront_timing_t;

/** The result of a step. Counts say how much of each array holds something; what lies beyond is not defined. */
typedef struct vfront_result {
    uint64_t t_ns;     /**< The frame's. */
    uint64_t t_mid_ns; /**< Middle of the exposure. */
    uint64_t frame;    /**< Frames before this one since vfront_init() or vfront_reset(). */
    vfront_health_t health;
    uint32_t tracks_count;
    uint32_t lost_count;
    uint32_t keypoints_count[VFRONT_CAMERAS];
    uint32_t descriptors_count[VFRONT_CAMERAS]; /**< Equal to keypoints_count when the tuning value `describe` is 1, else 0. */
    uint32_t depths_count;
    uint32_t matches_count;
    vfront_motion_t relative; /**< From pairs of bearings of camera 0: rotation, and direction of the translation. */
    vfront_motion_t metric;   /**< From key points with a depth in the frame before. */
    vfront_motion_t good;     /**< The last of either that was VFRONT_MOTION_GOOD, metric when both were. Its `frame` says when; NONE: never yet. */
    vfront_timing_t timing;
    vfront_track_t tracks[VFRONT_TRACKS]; /**< Alive, by rising id. */
    vfront_lost_t lost[VFRONT_TRACKS];    /**< Ended in this step, by rising id. */
    vfront_keypoint_t keypoints[VFRONT_CAMERAS][VFRONT_KEYPOINTS]; /**< By rising level, then rising culling cell. */
#if VFRONT_DESCRIPTORS
    vfront_descriptor_t descriptors[VFRONT_CAMERAS][VFRONT_KEYPOINTS]; /**< Of the key points, in their order. */
#endif
#if VFRONT_STEREO
    vfront_depth_t depths[VFRONT_KEYPOINTS]; /**< By rising keypoint; no partner twice. */
#endif
#if VFRONT_MATCHES
    vfront_match_t matches[VFRONT_KEYPOINTS]; /**< By rising keypoint; no partner twice. */
#endif
#if VFRONT_DENSE
    vfront_disparity_t disparity;
#endif
#if VFRONT_STIXELS
    vfront_road_t road;
    uint32_t columns_count;                    /**< Columns. 0 when `stixel` is 0. */
    uint32_t columns_width_px;                 /**< Their width; column i begins at pixel i times that. */
    uint32_t columns_crowded;                  /**< Columns that would have had more segments than VFRONT_SEGMENTS, had there been room. */
    uint16_t stixels_count[VFRONT_COLUMNS];    /**< Segments of each; 0: no road, or no valid disparity in it. */
    uint16_t obstacles_cm[VFRONT_OBSTACLE_BINS]; /**< How far the nearest object in a direction is from camera 0 [cm]; stixel_far_m * 100 + 1: there
                                                    is none; VFRONT_OBSTACLE_UNKNOWN: nothing known. As in MAVLink OBSTACLE_DISTANCE. */
    vfront_stixel_t stixels[VFRONT_COLUMNS][VFRONT_SEGMENTS]; /**< From the bottom up. */
#endif
} vfront_result_t;

/** Digest of everything in a result but `timing` and health.reset_counter. 0 for NULL. FNV-1a, 64 bits, over the fields low
 *  byte first, in the order of src/core/digest.c. */
uint64_t vfront_digest(const vfront_result_t *result);

/** Name of a stage ("detect"), or NULL past the last. */
const char *vfront_stage_name(size_t stage);

/* ---- the front end ----------------------------------------------------------------------------------------------- */

/** What does the work. */
typedef enum vfront_port {
    VFRONT_PORT_AUTO = 0, /**< CUDA where a GPU can be used, else host. */
    VFRONT_PORT_CUDA = 1,
    VFRONT_PORT_HOST = 2  /**< The processor that calls, one thread. */
} vfront_port_t;

/** What the memory of the host port is made of [bytes]: for a camera, but for its lists; for its grids; for a key point of a camera; for a
 *  key point's partners. */
#define VFRONT_CAMERA_BYTES                                                                                                         \
    (2u * VFRONT_PYRAMID_BYTES + 3u * VFRONT_PICTURE_BYTES + 2u * VFRONT_INPUT_BYTES + (unsigned)VFRONT_SCALES_BYTES +              \
     VFRONT_DESCRIPTORS * ((unsigned)VFRONT_SCALES_BYTES + VFRONT_PICTURE_BYTES) + VFRONT_RECTIFY * (2u * VFRONT_PICTURE_BYTES) +   \
     VFRONT_RECTIFY * 8u * (VFRONT_WIDTH / 4u + 2u) * (VFRONT_HEIGHT / 4u + 2u) +                                                   \
     16u * (VFRONT_WIDTH / 8u + 6u) * (VFRONT_HEIGHT / 8u + 6u) + 16u * (VFRONT_WIDTH / 64u) * (VFRONT_HEIGHT / 64u + 1u))
#define VFRONT_GRID_BYTES (8u * VFRONT_SCALES * VFRONT_CULL_CELLS + VFRONT_SCALES * VFRONT_CULL_CELLS / 8u + 8u * VFRONT_CELLS)
#define VFRONT_POINT_BYTES (72u + VFRONT_DESCRIPTORS * 72u)
#define VFRONT_PARTNER_BYTES (VFRONT_STEREO * 76u + VFRONT_MATCHES * 68u)
#define VFRONT_EGO_BYTES (VFRONT_EGO * (106u * (unsigned)VFRONT_SIGHTS + 160u * (unsigned)VFRONT_HYPOTHESES + 16384u))

/** The same for disparities, with their copies on the host. */
#define VFRONT_DISPARITY_BYTES                                                                                                      \
    ((size_t)VFRONT_DENSE *                                                                                                         \
     ((size_t)VFRONT_PICTURE_BYTES * (2u * VFRONT_DISPARITIES + 33u) + 6u * VFRONT_WIDTH * (VFRONT_DISPARITIES + 2u) +              \
      8u * VFRONT_HEIGHT * VFRONT_DISPARITIES))

/** The same for stixels. */
#define VFRONT_STIXEL_BYTES                                                                                                         \
    ((size_t)VFRONT_STIXELS * (VFRONT_COLUMNS * (2u * VFRONT_HEIGHT + 16u * VFRONT_SEGMENTS + 16u) +                                \
                               (VFRONT_HEIGHT + 2u) * (VFRONT_DISPARITIES / 8u + 40u) +                                              \
                               2u * VFRONT_DISPARITIES * (VFRONT_DISPARITIES + 4u) + 8192u))

/** Bytes of vfront_t: the control block, and the memory of the host port. Checked against the real layout at compile time. */
#define VFRONT_BLOCK_BYTES                                                                                                          \
    (16384u + (unsigned)VFRONT_HOST *                                                                                               \
                  (VFRONT_CAMERAS * (VFRONT_CAMERA_BYTES + VFRONT_GRID_BYTES + VFRONT_POINT_BYTES * VFRONT_KEYPOINTS) +             \
                   VFRONT_PARTNER_BYTES * VFRONT_KEYPOINTS + VFRONT_EGO_BYTES + 8u * VFRONT_CELLS + 1780u * VFRONT_TRACKS +         \
                   3u * (unsigned)sizeof(vfront_result_t) + 8192u + VFRONT_DISPARITY_BYTES + VFRONT_STIXEL_BYTES))

/** A front end. Zero it (static storage does) before vfront_init(). Its content is the library's. */
typedef struct vfront {
    uint64_t block[(VFRONT_BLOCK_BYTES + 7u) / 8u];
} vfront_t;

/** What vfront_info() says. */
typedef struct vfront_info {
    vfront_port_t port;     /**< VFRONT_PORT_CUDA or VFRONT_PORT_HOST. */
    char device[64];        /**< Name of the GPU, or "host". */
    size_t host_bytes;      /**< sizeof(vfront_t). */
    size_t pinned_bytes;    /**< Pinned memory taken in vfront_init(). */
    size_t device_bytes;    /**< Device memory taken in vfront_init(). */
    int32_t levels;         /**< Levels of VFRONT_LEVELS built: those that leave the smallest picture of the rig 16 px. */
    int32_t scales;         /**< Levels of VFRONT_SCALES built and searched, likewise. */
    int32_t cells[VFRONT_CAMERAS]; /**< Cells of each camera's grid. */
    uint32_t blind_px[VFRONT_CAMERAS]; /**< Pixels for which a calibrated lens has no bearing: they count as masked. */
    int32_t rectified;             /**< 1: pictures are rectified, and what follows says how. */
    vfront_camera_t seen[VFRONT_CAMERAS]; /**< The cameras of all results: the rig's, or, rectified, pinholes side by side. No masks. */
    int32_t valid_px[VFRONT_CAMERAS][4];  /**< Rectified: the largest rectangle that holds the middle and that the camera sees in full,
                                                as first column, first row, width, height. Else the picture. What it does not see
                                                is black and masked, and a margin of detect_border_px around that is masked. */
    const uint16_t *disparity_px16;       /**< Where the last frame's disparities lie as the stages see them, an address of the device on the CUDA
                                                port, laid out as in vfront_disparity_t; written between vfront_submit() and vfront_wait().
                                                NULL when the tuning value `dense` is 0. */
    const uint8_t *disparity_confidence;  /**< Likewise. */
    int32_t disparity_pitch;              /**< Elements from row to row of both. */
} vfront_info_t;

/**
 * Makes a front end ready: checks everything, takes all memory, captures the step as CUDA graphs and runs each once, so that
 * the first frame costs what every frame costs. A macro passes the application's config along, for the library to compare.
 *
 * @param[in,out] vf      Zeroed memory, or a front end after vfront_shutdown().
 * @param[in]     rig     Read within the call only.
 * @param[in]     tuning  Read within the call only. NULL: standard values.
 * @param[in]     port    VFRONT_PORT_AUTO falls back to the host when the CUDA port cannot be had for whatever reason;
 *                        vfront_info() says which it is, vfront_detail() why.
 *
 * @retval VFRONT_OK             Ready.
 * @retval VFRONT_E_NULL         vf or rig is NULL.
 * @retval VFRONT_E_ALIGN        vf is not aligned to 8 bytes.
 * @retval VFRONT_E_STATE        vf is in use already.
 * @retval VFRONT_E_CONFIG       sizeof(vfront_t) or a capacity differs between application and library.
 * @retval VFRONT_E_SIZE         Number of cameras or a picture size out of range, or more cells than VFRONT_CELLS or VFRONT_CULL_CELLS.
 * @retval VFRONT_E_CALIBRATION  See vfront_camera_t; or the cameras do not sit as the tuning values `rectify` or `dense` need it.
 * @retval VFRONT_E_MASK         Pitch of a static mask smaller than a row.
 * @retval VFRONT_E_TUNING       A value is out of its range, or does not go with another; vfront_detail() says which.
 * @retval VFRONT_E_PORT         Unknown port, or not in this build.
 * @retval VFRONT_E_NO_DEVICE, VFRONT_E_DRIVER, VFRONT_E_DEVICE_MEMORY, VFRONT_E_DEVICE  CUDA port only; vfront_detail() says in which call, or
 *                               which stage the GPU has too little shared memory for.
 */
#define vfront_init(vf, rig, tuning, port) vfront_init_config((vf), (rig), (tuning), (port), VFRONT_CONFIG_ID)
vfront_status_t vfront_init_config(vfront_t *vf, const vfront_rig_t *rig, const vfront_tuning_t *tuning, vfront_port_t port,
                                   uint64_t config_id);

/**
 * The library's own input buffer of a camera: pinned memory that the GPU reads in place, so that a camera driver which writes
 * there causes no copy. There are two a camera, used in turn: this gives the one that no frame under way reads. Pass it as
 * vfront_picture_t.data with VFRONT_PINNED_MEMORY.
 *
 * @param[out] data   VFRONT_INPUT_BYTES bytes, aligned to 64.
 * @retval VFRONT_E_NULL, VFRONT_E_STATE, VFRONT_E_SIZE (no such camera)
 */
vfront_status_t vfront_input(vfront_t *vf, int32_t camera, void **data);

/**
 * Hands in a frame and returns at once (CUDA port), or when the work is done (host port).
 *
 * @retval VFRONT_OK        Under way; vfront_wait() gives the result.
 * @retval VFRONT_E_NULL    vf, frame or a picture's data is NULL.
 * @retval VFRONT_E_STATE   Not initialised.
 * @retval VFRONT_E_BUSY    A frame is under way.
 * @retval VFRONT_E_TIME    Not after the frame before, or a picture is older or newer than the frame by more than frame_skew_us.
 * @retval VFRONT_E_SIZE, VFRONT_E_PITCH, VFRONT_E_ALIGN, VFRONT_E_FORMAT, VFRONT_E_MEMORY_KIND, VFRONT_E_MASK  A picture.
 * @retval VFRONT_E_PRIOR, VFRONT_E_GYRO  The motion prior.
 * @retval VFRONT_E_DEVICE  The CUDA port failed, now or before.
 * After anything but VFRONT_OK the frame counts as never seen.
 */
vfront_status_t vfront_submit(vfront_t *vf, const vfront_frame_t *frame);

/**
 * Waits for the frame under way.
 *
 * @param[in]  timeout_us  Longest wait [us]; UINT32_MAX: for ever.
 * @param[out] result      Valid until the next-but-one vfront_submit(). NULL unless VFRONT_OK is returned.
 *
 * @retval VFRONT_E_NULL, VFRONT_E_STATE (not initialised, or nothing submitted)
 * @retval VFRONT_E_TIMEOUT  Still under way: wait again.
 * @retval VFRONT_E_DEVICE   The device failed; the frame counts as never seen.
 */
vfront_status_t vfront_wait(vfront_t *vf, uint32_t timeout_us, const vfront_result_t **result);

/** vfront_submit(), then vfront_wait() without a time-out. Returns what they return. */
vfront_status_t vfront_step(vfront_t *vf, const vfront_frame_t *frame, const vfront_result_t **result);

/**
 * Forgets all tracks and the time; memory, tuning and rig stay. Ids start again at 1, health.reset_counter rises.
 * @retval VFRONT_E_NULL, VFRONT_E_STATE, VFRONT_E_BUSY, VFRONT_E_DEVICE
 */
vfront_status_t vfront_reset(vfront_t *vf);

/** Gives all memory back, waiting for a frame under way; vf can be initialised again. NULL or not initialised: no effect. */
void vfront_shutdown(vfront_t *vf);

/** @retval VFRONT_E_NULL, VFRONT_E_STATE */
vfront_status_t vfront_info(const vfront_t *vf, vfront_info_t *info);

/** One line on the last call that was refused or failed ("rig.camera[0].fx_px is not finite"), or "". Never NULL. */
const char *vfront_detail(const vfront_t *vf);

#ifdef __cplusplus
}
#endif
#endif
