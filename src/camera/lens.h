/* SPDX-License-Identifier: MIT */
/* How a lens bends rays, and back. Runs on the host, in double precision, with + - * / and square root alone, so it gives the same bits
 * everywhere. vfront_lens_project() and vfront_lens_bearing() are these functions, for one ray. */
#ifndef VF_LENS_H
#define VF_LENS_H

#include "core/vf.h"

/** A camera's lens, made once for many rays. Its radial function is u N(u^2) / D(u^2), with u the tangent of the angle
 *  to the axis, or that angle itself. */
struct vf_lens {
    double fx_px, fy_px, cx_px, cy_px;
    double n[5], d[4];
    double p1, p2; /* decentering */
    double limit;  /* the largest u up to which the radial function rises; negative: no ray at all */
    double reach;  /* its value there */
    int equidistant;
};

/** How many numbers a lens has; 0: unknown. */
int vf_lens_numbers(vfront_lens_t lens);

/** Takes over a camera's numbers and finds the range in which they hold. */
void vf_lens_make(struct vf_lens *lens, const vfront_camera_t *camera);

/** As vfront_lens_project() and vfront_lens_bearing(). */
int vf_lens_project(const struct vf_lens *lens, const double ray[3], double px[2]);
int vf_lens_bearing(const struct vf_lens *lens, const double px[2], double bearing[3]);

#endif
