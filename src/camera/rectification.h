/* SPDX-License-Identifier: MIT */
/* Rectification of a stereo rig, for the stage rectify: rectified cameras, remap tables, valid rectangles and static
 * masks. Runs in vfront_init(), on the host, in double precision with + - * / and square roots only, so that every
 * machine gives the same bits.
 *
 * A. Fusiello, E. Trucco, A. Verri, A compact algorithm for rectification of stereo pairs (2000), except for the z
 * axis, which depends on both cameras instead of one. */
#ifndef VF_RECTIFICATION_H
#define VF_RECTIFICATION_H

#include "camera/lens.h"
#include "camera/rectify.h"

#if VFRONT_RECTIFY

/** Replaces both cameras of a rig by rectified ones: pinholes with one focal length, one principal point, one
 *  orientation, and camera 0's size. Their x axis points from camera 0 to camera 1. Their z axis is perpendicular to it
 *  and nearest to the mean of both cameras' z axes. The principal point maps the centres of both raw images, on
 *  average, to the centre of the rectified ones.
 *
 *  @param[in,out] seen           The rig, without masks.
 *  @param[out]    R_rig_seen     Rotation of each camera: from rectified camera axes to those of the rig's camera.
 *  @param         focal_percent  Focal length in percent of the mean of both cameras'.
 *  @return NULL, or an error message that names the faulty member of the rig. */
const char *vf_rectification_rig(vfront_rig_t *seen, double R_rig_seen[][9], int32_t focal_percent);

/** Rectification of one camera: the mapping from its rectified to its raw pixels. */
struct vf_rectification {
    struct vf_lens lens;
    double R_rig_seen[9];          /* rotation from rectified camera axes to those of the rig's camera */
    double focal_px, cx_px, cy_px; /* focal length and principal point of the rectified camera */
    struct vf_level raw;           /* raw image: only width and height are set */
    int32_t width, height;         /* size of the rectified image [px] */
};

/** Sets up the rectification of a camera. camera: the camera of the rig; seen, R_rig_seen: its rectified camera and its
 *  rotation, by vf_rectification_rig(). */
void vf_rectification_make(struct vf_rectification *r, const vfront_camera_t *camera, const vfront_camera_t *seen,
                           const double R_rig_seen[9]);

/** Computes row j of the remap table, VF_REMAP_ENTRIES(r->width) entries. */
void vf_remap_row(struct vf_remap_entry *row, const struct vf_rectification *r, int32_t j);

/** Largest rectangle of valid pixels that contains the centre pixel (width / 2, height / 2): first column, first row,
 *  width, height [px]. Among equal areas: smallest first row, then smallest height. Returns 0 if the centre pixel is
 *  invalid. */
int vf_rectification_valid(int32_t valid_px[4], const struct vf_rectification *r);

/** Static mask of the rectified camera, rows of `pitch` bytes: 255 usable, 0 not. Not usable: pixels under the camera's
 *  own mask or from outside the raw image. Also not usable: pixels within `margin` px, along both axes, of a pixel from
 *  outside the raw image. The valid area ends there like an image at its border. */
void vf_rectification_mask(uint8_t *mask, size_t pitch, const struct vf_rectification *r, const vfront_camera_t *camera,
                           int32_t margin);

#endif

#endif
