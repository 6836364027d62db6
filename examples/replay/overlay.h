/* SPDX-License-Identifier: MIT
 *
 * Drawings of results over the pictures of all cameras, side by side, with a caption above and a legend below:
 *   disc, white       track born in this frame
 *   disc and trail    track, coloured by age: pale when young, pink from 100 frames on
 *   cross, pink       last position of a track that ended
 *   circle            key point: radius four pixels of its level, grey, faint without a depth or a match. Drawn alone:
 *                     coloured by level from cyan, the finest, over blue and violet to pink, fainter if weak, with a
 *                     line along its orientation if it is described
 *   dot               key point with a depth and, in the same colour, its stereo match: inverse depth from red,
 *                     near, over yellow, green and cyan to blue, far. The nearest tenth is red
 *   line with a dot   temporal match: from the position in the previous frame to the current one, the dot. Drawn
 *                     alone: coloured by direction, so that outliers stand out
 *   line, grey        correspondence that agrees with the motion, previous to current position, a dot
 *   line, white       correspondence that does not, to a cross
 *   target, white     direction of flight (epipole), if inside of the picture: flow expands from it, apart from the
 *                     camera's rotation. With a cross instead of ticks: direction where the camera comes from
 *   column            stixel of camera 0: object from red, 5 m or nearer, over yellow to green, far; sky blue;
 *                     ground unmarked. White row: horizon. Bar at the bottom: nearest obstacle in each direction, in
 *                     the same colours; grey if unknown
 *   camera 1          replaced by disparities of camera 0, if drawn: colours of depths, the nearest hundredth is red;
 *                     black: none
 * Beside other layers, stixels and disparities have a second row of pictures, and of each square of 30 px only the best
 * key point is drawn, with what belongs to it.
 * Rectified pictures get thin horizontal rows if only depths are drawn, to check rectification by eye. Caption and
 * legend are broken into as many rows as the width asks for.
 */
#ifndef OVERLAY_H
#define OVERLAY_H

#include "vfront.h"

#define OVERLAY_TRAIL 12 /* positions in the trail of a track */

/** Layers, to be combined. */
typedef enum overlay_what {
    OVERLAY_TRACKS = 1,
    OVERLAY_KEYPOINTS = 2,
    OVERLAY_DEPTHS = 4,
    OVERLAY_MATCHES = 8,
    OVERLAY_MOTION = 16,
    OVERLAY_ALL = 31,
    OVERLAY_STIXELS = 32, /* these two have pictures of their own beside others */
    OVERLAY_DISPARITY = 64
} overlay_what_t;

/** Drawing and trails so far. */
typedef struct overlay overlay_t;

/**
 * @param[in] info    vfront_info(): cameras of the results, and the number of levels for the legend.
 * @param[in] what    One layer or several.
 * @param[in] tuning  Tuning of the front end: track_target and ego select the correspondences drawn as motion.
 * @return NULL without memory.
 */
overlay_t *overlay_open(const vfront_info_t *info, int32_t cameras, overlay_what_t what, const vfront_tuning_t *tuning);
void overlay_close(overlay_t *overlay);

/** Size of the drawing, with caption and legend [px]. */
void overlay_size(const overlay_t *overlay, int32_t *width_px, int32_t *height_px);

/**
 * Draw a frame. Call it for every frame, in order, so that the trails are complete.
 * @param[in] frame   Pictures in the geometry of the results (rectified.h); VFRONT_GREY8 or VFRONT_GREY16 in host
 * memory.
 * @param[in] line    Caption; letters, digits, spaces and full stops are drawn.
 * @return uint8_t [height_px][width_px][3], valid until the next call.
 */
const uint8_t *overlay_draw(overlay_t *overlay, const vfront_frame_t *frame, const vfront_result_t *result,
                            const char *line);

#endif
