/* SPDX-License-Identifier: MIT
 *
 * Cameras side by side: pictures of one time become a frame. For kinds of sources whose cameras come one by one.
 */
#ifndef COMPANION_SOURCE_PAIR_H
#define COMPANION_SOURCE_PAIR_H

#include "vfront.h"

#define SOURCE_APART_NS 2000000u      /* stamps of one frame: frame_skew_us of the library */
#define SOURCE_PATIENCE_NS 500000000u /* without a picture: the camera is missing */

/** Newest picture of a camera. */
typedef struct source_camera {
    int is_held;         /**< 1: there is one; its stamp is the start of exposure. */
    int is_gone;         /**< 1: no picture is to be expected. */
    uint64_t arrived_ns; /**< When it was there. */
    uint64_t last_ns;    /**< When the last picture came. */
    vfront_picture_t picture;
} source_camera_t;

/** 1: nothing is to be expected of it for this frame. */
int source_is_missing(const source_camera_t *camera);

/** 1: pictures of all cameras that are there are of one time. *older: the camera whose picture is older than that of
 *  the other, and is to be let go; -1: none. */
int source_are_together(const source_camera_t *camera, int count, int *older);

/** Frame of the pictures that are held, at least one. arrived_ns: when its last byte was there. */
void source_fill(vfront_frame_t *frame, const source_camera_t *camera, int count, uint64_t *arrived_ns);

#endif
