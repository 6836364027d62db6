/* SPDX-License-Identifier: MIT
 *
 * Draws what the front end found over the picture of camera 0, in colour:
 *   dot, blue         key point
 *   circle, white     track born in this frame
 *   circle and trail  track, by age: green when young, then yellow, orange, violet from 100 frames on
 *   cross, red        where a track was before it ended
 */
#ifndef OVERLAY_H
#define OVERLAY_H

#include "../vfront.h"

#define OVERLAY_TRAIL 12 /* positions that a track drags behind it */

/** The drawing, and the trails so far. */
typedef struct overlay overlay_t;

/** NULL: no memory. */
overlay_t *overlay_open(int32_t width_px, int32_t height_px);
void overlay_close(overlay_t *overlay);

/**
 * Draws a frame. Call it for every frame, in order, so that the trails are whole.
 * @param[in] picture  Of camera 0, in the size given to overlay_open(); VFRONT_GREY8 or VFRONT_GREY16 in host memory.
 * @param[in] line     Text for the top left: letters, digits and spaces are drawn.
 * @return uint8_t [height_px][width_px][3], valid until the next call.
 */
const uint8_t *overlay_draw(overlay_t *overlay, const vfront_picture_t *picture, const vfront_result_t *result,
                            const char *line);

#endif
