/* SPDX-License-Identifier: MIT */
/* rectify: both cameras' pictures side by side, without their lenses: a point in space lies in the same row of both.
 *
 * In      pictures and the frame's masks as they come; for every 4th pixel along both axes where it comes from, made in vfront_init()
 * Out     level 0 of each camera's pyramid, and the frame's masks to go with it. Nothing to do unless the tuning value `rectify` is 1
 * Rule    a pixel comes from a place bilinear between the four around it, to 1/256 px, halves up; its grey level is bilinear between four
 *         pixels there, weights in 1/2^16, halves up. One that comes from outside the picture, or from where the lens does not hold at one
 *         of the four places, is 0 and under the static mask. Masks are those of the nearest pixel, halves up
 * Exact   integers; the places in double precision with + - * / and roots alone
 * Memory  2.5 bytes a pixel and camera: the picture as it came, the mask of the frame, half a byte for places
 *
 * A. Fusiello, E. Trucco, A. Verri, A compact algorithm for rectification of stereo pairs (2000), but for the z axis, which comes from
 * both cameras.
 */
#ifndef VF_RECTIFY_H
#define VF_RECTIFY_H

#include "lens.h"

/** Places are so many pixels apart. With lenses as of EuRoC's MAV pixels between them are at most 0.007 px off, with strong ones 0.02, of
 *  which 0.003 is for rounding to 1/256 px; farther apart it would grow with the square of the distance. */
#define VF_SPOT_PX 4
#define VF_SPOTS(size_px) (((size_px) + VF_SPOT_PX - 1) / VF_SPOT_PX + 1)

/** A place in a picture as it comes, in fixed point. */
struct vf_spot {
    int32_t x, y; /* VF_NOWHERE: the lens does not hold, or far outside */
};
#define VF_NOWHERE INT32_MIN
#define VF_SPOT_UNITS 4096 /* a pixel, of places in the arena */
#define VF_SPOT_FAR 8190.0 /* [px] */

struct vf_rectify_memory {
#if VFRONT_RECTIFY
    uint8_t raw[VFRONT_CAMERAS][VFRONT_PICTURE_BYTES]; /* rows of raw[camera].pitch bytes */
    uint8_t mask[VFRONT_CAMERAS]
                [VFRONT_PICTURE_BYTES]; /* the frame's, when params.source[].mask is not NULL: rows as of level 0 */
    struct vf_spot spot[VFRONT_CAMERAS]
                       [VF_SPOTS(VFRONT_WIDTH) * VF_SPOTS(VFRONT_HEIGHT)]; /* row by row, VF_SPOTS(width) in each */
#else
    uint64_t nothing;
#endif
};

/** Between two places one above the other, row by row: `row` of VF_SPOT_PX of the way, in units VF_SPOT_PX times as fine. */
VF_FN struct vf_spot vf_rectify_between(struct vf_spot top, struct vf_spot bottom, int32_t row)
{
    struct vf_spot at = {VF_NOWHERE, VF_NOWHERE};
    if (top.x == VF_NOWHERE || bottom.x == VF_NOWHERE) return at;
    at.x = (VF_SPOT_PX - row) * top.x + row * bottom.x;
    at.y = (VF_SPOT_PX - row) * top.y + row * bottom.y;
    return at;
}

/** Where a pixel comes from, `column` of VF_SPOT_PX of the way between two of these, in 1/256 px; VF_NOWHERE: from outside. */
VF_FN struct vf_spot vf_rectify_from(struct vf_spot left, struct vf_spot right, int32_t column,
                                     const struct vf_level *raw)
{
    struct vf_spot from = {VF_NOWHERE, VF_NOWHERE};
    if (left.x == VF_NOWHERE || right.x == VF_NOWHERE) return from;
    const int32_t x = ((VF_SPOT_PX - column) * left.x + column * right.x + 128) >> 8;
    const int32_t y = ((VF_SPOT_PX - column) * left.y + column * right.y + 128) >> 8;
    if ((uint32_t)x > (uint32_t)(raw->width - 1) << 8 || (uint32_t)y > (uint32_t)(raw->height - 1) << 8) return from;
    from.x = x;
    from.y = y;
    return from;
}

/** The four pixels there: how far from the first of all the upper left one lies, and the shares of the right and the lower ones in 1/256,
 *  which are whole in the last column and row, where there are none beyond. From outside: somewhere, seen 0. */
struct vf_taps {
    int32_t at, right, lower, seen;
};
VF_FN struct vf_taps vf_rectify_taps(struct vf_spot from, const struct vf_level *raw)
{
    struct vf_taps t;
    t.seen = from.x != VF_NOWHERE;
    const int32_t x_q8 = t.seen ? from.x : 0, y_q8 = t.seen ? from.y : 0;
    const int32_t x = vf_min(x_q8 >> 8, raw->width - 2), y = vf_min(y_q8 >> 8, raw->height - 2);
    t.at = y * raw->pitch + x;
    t.right = x_q8 - (x << 8);
    t.lower = y_q8 - (y << 8);
    return t;
}

/** Grey level between the four: above left and right, below left and right. */
VF_FN uint8_t vf_rectify_blend(int32_t al, int32_t ar, int32_t bl, int32_t br, int32_t right, int32_t lower)
{
    const int32_t above = (al << 8) + right * (ar - al), below = (bl << 8) + right * (br - bl);
    return (uint8_t)(((above << 8) + lower * (below - above) + 0x8000) >> 16);
}

/** A mask's value for it. */
VF_FN uint8_t vf_rectify_masked(const uint8_t *mask, const struct vf_level *raw, struct vf_spot from)
{
    const int32_t seen = from.x != VF_NOWHERE, x = seen ? (from.x + 128) >> 8 : 0, y = seen ? (from.y + 128) >> 8 : 0;
    const uint8_t value = mask[y * raw->pitch + x];
    return (uint8_t)(seen ? value : 0);
}

/** Whether pictures are rectified. */
VF_FN int vf_rectify_on(const struct vf_step *s) { return VFRONT_RECTIFY && s->geometry.rectified; }

/* ---- made in vfront_init() --------------------------------------------------------------------------------------- */

#if VFRONT_RECTIFY

/**
 * The rig as seen rectified: pinholes of one focal length, one principal point, one orientation, and camera 0's size. Their x axis goes from
 * camera 0 to camera 1, their z axis as near as can be to the mean of both cameras', and the middle of both pictures comes to lie in the middle
 * as near as can be.
 *
 * @param[in,out] seen        The rig, without masks.
 * @param[out]    R_rig_seen  Of each camera: takes axes of `seen` to those of the rig.
 * @return NULL, or why it cannot be.
 */
const char *vf_rectify_rig(vfront_rig_t *seen, double R_rig_seen[][9], int32_t focal_percent);

/** Where a rectified camera's pixels come from. */
struct vf_rectifier {
    struct vf_lens lens;
    double R_rig_seen[9], focal_px, cx_px, cy_px;
    struct vf_level raw;   /* sizes alone */
    int32_t width, height; /* rectified [px] */
};
void vf_rectify_make(struct vf_rectifier *r, const vfront_camera_t *camera, const vfront_camera_t *seen,
                     const double R_rig_seen[9]);

/** Row j of places, VF_SPOTS(r->width) of them. */
void vf_rectify_row(struct vf_spot *row, const struct vf_rectifier *r, int32_t j);

/** The greatest rectangle that holds the middle pixel, (width / 2, height / 2), and none that comes from outside: first column, first row,
 *  width, height; of equals the one that begins highest, of these the flattest. Returns 0 when the middle comes from outside. */
int vf_rectify_valid(int32_t valid_px[4], const struct vf_rectifier *r);

/** The static mask: the camera's, seen rectified, and 0 for what comes from outside or lies within `margin` px of that along both axes, because
 *  what the camera sees ends there as a picture does at its border. */
void vf_rectify_mask(uint8_t *mask, size_t pitch, const struct vf_rectifier *r, const vfront_camera_t *camera,
                     int32_t margin);

#endif

#endif
