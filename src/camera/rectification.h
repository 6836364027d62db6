/* SPDX-License-Identifier: MIT */
/* Rectification of a stereo rig, for the stage rectify: the rectified cameras, the remap tables, the valid
 * rectangles and the static masks. Runs in vfront_init(), on the host, in double precision with + - * / and square
 * roots alone, so it gives the same bits everywhere.
 *
 * A. Fusiello, E. Trucco, A. Verri, A compact algorithm for rectification of stereo pairs (2000), except for the z
 * axis, which is made of both cameras' instead of one's. */
#ifndef VF_RECTIFICATION_H
#define VF_RECTIFICATION_H

#include "camera/lens.h"
#include "camera/rectify.h"

#if VFRONT_RECTIFY

/**
 * Replaces both cameras of a rig by rectified ones: pinholes with one focal length, one principal point, one
 * orientation, and camera 0's size. Their x axis points from camera 0 to camera 1; their z axis is, square to that,
 * nearest to the mean of both cameras' z axes; the principal point brings the centres of both raw pictures, on
 * average, to the centre of the rectified ones.
 *
 * @param[in,out] seen           The rig, without masks.
 * @param[out]    R_rig_seen     Rotation of each camera: from rectified camera axes to those of the rig's camera.
 * @param         focal_percent  Focal length in percent of the mean of both cameras'.
 * @return NULL, or an error message with the rig's member at fault.
 */
const char *vf_rectification_rig(vfront_rig_t *seen, double R_rig_seen[][9], int32_t focal_percent);

/** Rectification of one camera: the mapping from its rectified to its raw pixels. */
struct vf_rectification {
    struct vf_lens lens;
    double R_rig_seen[9];          /* from rectified camera axes to those of the rig's camera */
    double focal_px, cx_px, cy_px; /* of the rectified camera */
    struct vf_level raw;           /* raw picture: sizes alone */
    int32_t width, height;         /* rectified picture [px] */
};

/** camera: of the rig; seen: rectified, from vf_rectification_rig(), with its rotation. */
void vf_rectification_make(struct vf_rectification *r, const vfront_camera_t *camera, const vfront_camera_t *seen,
                           const double R_rig_seen[9]);

/** Row j of the remap table, VF_REMAP_ENTRIES(r->width) entries. */
void vf_remap_row(struct vf_remap_entry *row, const struct vf_rectification *r, int32_t j);

/** Largest rectangle of valid pixels that holds the centre pixel, (width / 2, height / 2): first column, first row,
 *  width, height [px]. Among equal areas the one with the smallest first row, among these the lowest height. Returns
 *  0 if the centre pixel is invalid. */
int vf_rectification_valid(int32_t valid_px[4], const struct vf_rectification *r);

/** Static mask of the rectified camera, rows of `pitch` bytes: 255 usable, 0 not. 0 under the camera's own mask; and
 *  where a pixel comes from outside the raw picture or has such a pixel within `margin` px along both axes, because
 *  the valid area ends there like a picture at its border. */
void vf_rectification_mask(uint8_t *mask, size_t pitch, const struct vf_rectification *r, const vfront_camera_t *camera,
                           int32_t margin);

#endif

#endif
