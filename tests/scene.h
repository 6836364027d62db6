/* SPDX-License-Identifier: MIT */
/* Pictures and frames that the tests draw themselves: integer arithmetic only, so they are the same everywhere, and nothing of
 * the library's own arithmetic. A scene is a plane of soft blobs that moves by (step_x, step_y) a frame. */
#ifndef SCENE_H
#define SCENE_H

#include "../vfront.h"

struct scene {
    int32_t width_px, height_px;
    uint32_t seed;
    int32_t step_x_q4, step_y_q4; /* movement of the picture's content a frame [1/16 px] */
};

/** Draws frame `number` as 8-bit grey, [height][pitch]. */
void scene_draw(const struct scene *scene, int32_t number, uint8_t *grey, uint32_t pitch);

/** The same frame for a camera to the right of that one: everything lies `disparity_q4` [1/16 px] farther to the left. */
void scene_draw_right(const struct scene *scene, int32_t number, int32_t disparity_q4, uint8_t *grey, uint32_t pitch);

/** Pictures that a detector finds hard, in rows without gaps. Noise: corners everywhere. Stripes, `side_px` wide, along y or else
 *  along x: none, on any level, since an arc of 9 pixels of the circle always holds one as bright as the centre. Tiles, bright
 *  ones of `side_px` in every second place of every second row: corners by the hundred, all alike. Checkers: tiles in all rows,
 *  by turns. */
enum scene_fill { SCENE_NOISE, SCENE_STRIPES_Y, SCENE_STRIPES_X, SCENE_TILES, SCENE_CHECKERS };
void scene_fill(uint8_t *grey, int32_t width, int32_t height, enum scene_fill fill, int32_t side_px);

/** Bytes of a pixel of a format. */
uint32_t scene_pixel_bytes(vfront_format_t format);

/** The same picture in a format. Bits below the upper 8, and bytes between and behind the pixels, are filled with noise. */
void scene_pack(void *to, uint32_t to_pitch, const uint8_t *grey, uint32_t grey_pitch, int32_t width, int32_t height,
                vfront_format_t format);

/** A picture of grey levels in host memory, rows without gaps. */
vfront_picture_t scene_picture(const struct scene *scene, const uint8_t *grey);

/** A rig of `cameras` cameras of the scene's size, calibrated: focal length of ten widths, centre in the middle. */
vfront_rig_t scene_rig(const struct scene *scene, int32_t cameras);

/** A rig of two cameras, the second one to the right of the first, both with a focal length of one width of the first, with its middle
 *  as principal point and with lenses that bend. So the second one's picture is the upper left part of the first one's, moved. */
#define SCENE_BASELINE_M 0.1
vfront_rig_t scene_pair(const struct scene *left, const struct scene *right);

/** Well-mixed 32 bits. */
uint32_t scene_hash(uint32_t a, uint32_t b, uint32_t c);

#endif
