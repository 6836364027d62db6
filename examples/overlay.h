/* SPDX-License-Identifier: MIT
 *
 * Draws what the front end found over the pictures of all cameras, side by side, with a line above and a legend below:
 *   circle and line   key point: four pixels of its level in radius, coloured by level, from the finest, cyan, by blue and
 *                     violet to pink; fainter when it is weak. The line points along its orientation, where it is described
 *   disc, white       track born in this frame
 *   disc and trail    track, by age: green when young, then yellow, orange, red from 100 frames on
 *   cross, red        where a track was before it ended
 *   line with a dot   match: from where the key point was in the frame before to where it is now, the dot. Coloured by direction, so that
 *                     one that goes another way than those around it stands out
 *   line              motion: a pair from which it was found, from where the point was to where it is; green when it agrees with the
 *                     motion, orange when it does not
 *   target            where the camera flies to, if that is in the picture: the movements grow out of it, but for the camera's turn. With a
 *                     cross instead of ticks: where it comes from
 *   dot               key point with a depth and, in the same colour, where camera 1 sees it: red near, over yellow, green and cyan to
 *                     blue far away. Inverse depth, red from about the nearest tenth on
 *   column            stixel of camera 0: an object from red, 5 m away or nearer, over yellow to green, far away; sky blue; ground as it is.
 *                     The white row is the horizon. The strip at the bottom is the nearest obstacle in each direction, in the same
 *                     colours; grey where nothing is known
 *   picture of its own, where camera 1's would be: disparities of camera 0, in the colours of depths, red from about the nearest hundredth
 *                     on; black where there is none
 * Rectified pictures get thin rows when depths alone are drawn: an eye sees whether both pictures agree along them.
 */
#ifndef OVERLAY_H
#define OVERLAY_H

#include "vfront.h"

#define OVERLAY_TRAIL 12 /* positions that a track drags behind it */

/** What is drawn. */
typedef enum overlay_what {
    OVERLAY_TRACKS = 1,
    OVERLAY_KEYPOINTS = 2,
    OVERLAY_DEPTHS = 4,
    OVERLAY_MATCHES = 8,
    OVERLAY_MOTION = 16,
    OVERLAY_ALL = 31,
    OVERLAY_STIXELS = 32, /* these are not among all: they would cover the rest */
    OVERLAY_DISPARITY = 64
} overlay_what_t;

/** The drawing, and the trails so far. */
typedef struct overlay overlay_t;

/**
 * @param[in] info    Of the front end: the cameras as the results see them, and the levels searched, for the legend.
 * @param[in] what    One or several.
 * @param[in] tuning  Of the front end: from which pairs a motion is found.
 * @return NULL: no memory.
 */
overlay_t *overlay_open(const vfront_info_t *info, int32_t cameras, overlay_what_t what, const vfront_tuning_t *tuning);
void overlay_close(overlay_t *overlay);

/** Size of the drawing: more than that of the pictures. */
void overlay_size(const overlay_t *overlay, int32_t *width_px, int32_t *height_px);

/**
 * Draws a frame. Call it for every frame, in order, so that the trails are whole.
 * @param[in] frame   Pictures as the results see them (rectified.h); VFRONT_GREY8 or VFRONT_GREY16 in host memory.
 * @param[in] before  Result of the frame before; NULL: this is the first.
 * @param[in] line    Text above the pictures: letters, digits, spaces and full stops are drawn.
 * @return uint8_t [height_px][width_px][3], valid until the next call.
 */
const uint8_t *overlay_draw(overlay_t *overlay, const vfront_frame_t *frame, const vfront_result_t *result,
                            const vfront_result_t *before, const char *line);

#endif
