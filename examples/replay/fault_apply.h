/* SPDX-License-Identifier: MIT
 *
 * Faults of cameras, clock and gyro (fault_script.h), put into frames before vfront_submit(). Works on any
 * source of frames whose pictures lie in host memory, in every vfront_format_t. All memory is taken in fault_open().
 * The same script, frames and seed give the same bits on every machine: integers, and doubles without libm.
 *
 * Pictures are those that the camera would have delivered: `freeze`, `freeze-rows` and `late` look back at them, not at
 * faulted ones. Faults of the gyro are put into the rates of a frame's IMU samples where it has these; a gap takes
 * whole samples. A frame whose samples are all missing keeps a gyro or an IMU, with a count of 0. Faults of one frame
 * are applied in the order of the script. Masks stay as they are.
 */
#ifndef FAULT_APPLY_H
#define FAULT_APPLY_H

#include "fault_script.h"
#include "vfront.h"

/** A script under way, with the pictures that it looks back at. */
typedef struct fault_injector fault_injector_t;

/**
 * Start a script. It must stay until fault_close().
 * @param[in]  rig       Cameras: sizes of the pictures.
 * @param[out] injector  NULL on failure.
 * @return NULL, or a one-line message, valid until the next call: a fault of a camera that the rig lacks, `swap` of
 *         cameras of different sizes, no memory.
 */
const char *fault_open(fault_injector_t **injector, const fault_script_t *script, const char *name,
                       const vfront_rig_t *rig);
void fault_close(fault_injector_t *injector);

/**
 * Put the faults of a frame into it. Call it once for each frame of the source, in order.
 * @param[in,out] frame  In: the frame of the source, which is only read. Out: pictures, stamps and gyro samples with
 *                       faults, in memory of the injector, valid until the next call.
 * @return Number of times that the frame is delivered: 0 dropped, 1, or 2 duplicated. -1: a picture that is not in host
 *         memory, or of another size than the rig's or an unknown format; frame unchanged.
 */
int fault_apply(fault_injector_t *injector, vfront_frame_t *frame);

/** Faults active in the last frame, as "camera0 freeze;clock jump"; "" for none. */
const char *fault_names(const fault_injector_t *injector);

#endif
