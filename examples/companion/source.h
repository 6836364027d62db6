/* SPDX-License-Identifier: MIT
 *
 * Where frames come from. The kinds:
 *   synthetic, DATASET    the rendered flight, or a data set of replay's (dataset.h), frames and samples at the time
 *                         of their stamps, shifted to the machine's clock, or as fast as they are asked for;
 *                         their time is then that of the companion's clock
 *   v4l2:A[,B]            video devices, by number or path; they fill the library's own input buffers where drivers
 *                         take these
 *   gst:PIPELINE          a GStreamer pipeline that ends in appsinks
 *   sim:HOST:PORT         a simulator, in lock step: its time is that of the companion's clock
 *
 * A function that can fail returns NULL, or a one-line message, valid until the next call.
 */
#ifndef COMPANION_SOURCE_H
#define COMPANION_SOURCE_H

#include "vfront.h"

/** What a source calls with each sample that it has, in the order of their times, at their time. */
typedef void source_sample_fn(void *context, const vfront_imu_t *sample);

/** Settings. */
typedef struct source_settings {
    const char *where;       /**< Kind and place. */
    const char *calibration; /**< Files for calibration_read(); NULL: those of the data set. */
    int has_own_size;        /**< 1: cameras without a calibration are good, too: pictures as large as they come. */
    int is_fast;             /**< 1: as fast as frames are asked for, and, but for live cameras, all of them. */
    int has_samples;         /**< 1: samples of the source are wanted. */
    uint32_t frames;         /**< Frames to give; 0: all. */
    double rate_hz;          /**< Of cameras. */
    uint32_t exposure_us;    /**< Of cameras; 0: not known, and stamps are not moved. */
    uint32_t readout_us;     /**< From the end of exposure to that of the frame, where drivers stamp that. */
    source_sample_fn *take;  /**< For samples. */
    void *context;           /**< For `take`. */
    int *is_absent;          /**< NULL, or set by source_open(): 1: it failed for a device that is not there yet. */
} source_settings_t;

/** What source_next() found. */
typedef enum source_status {
    SOURCE_FRAME = 0,
    SOURCE_NOTHING = 1, /**< No frame within some 100 ms: a camera that stopped, or a signal. Ask again. */
    SOURCE_END = 2,     /**< No more frames. */
    SOURCE_FAILED = 3   /**< source_fault() has the cause. */
} source_status_t;

typedef struct source source_t;

/** Input buffers of the library, VFRONT_INPUT_BYTES each, by vfront_inputs(). */
typedef struct source_inputs {
    void *data[VFRONT_CAMERAS][VFRONT_INPUTS];
} source_inputs_t;

/** Opens a source: cameras and IMU are known from then on. */
const char *source_open(source_t **source, const source_settings_t *settings);
void source_close(source_t *source);

/** Begins to give frames. inputs: buffers that cameras may fill, until source_close(); NULL: none. Nothing else may
 *  write there: the library does not as long as pictures come from the source as they are. */
const char *source_start(source_t *source, const source_inputs_t *inputs);

/** Cameras and IMU. */
const vfront_rig_t *source_rig(const source_t *source);

/** 1: it has samples of an IMU. */
int source_has_samples(const source_t *source);

/** The next frame, always the newest: those that came while a step was under way are counted and passed over, but for
 *  `is_fast`. Its pictures are valid until the next call. arrived_ns: when its last byte was there. */
source_status_t source_next(source_t *source, vfront_frame_t *frame, uint64_t *arrived_ns);

/** The frame is no longer read: the buffer of a camera goes back to its driver. */
void source_done(source_t *source);

/** Message of a failure, or of a camera that went away or is back, to be printed once; NULL: none. */
const char *source_fault(source_t *source);

/** Frames passed over so far. */
uint64_t source_skipped(const source_t *source);

#endif
