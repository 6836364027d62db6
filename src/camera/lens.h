/* SPDX-License-Identifier: MIT */
/* Lens models: projection of rays to pixels and back. Runs on the host, in double precision, with + - * / and square
 * roots alone, so it gives the same bits everywhere. vfront_lens_project() and vfront_lens_bearing() are these
 * functions, for a single ray. */
#ifndef VF_LENS_H
#define VF_LENS_H

#include "core/vf.h"

/** Lens model of a camera, set up once for many rays. Its radial function is u N(u^2) / D(u^2). The argument u is
 *  the tangent of the angle to the optical axis (radtan, rational) or that angle itself [rad] (equidistant). */
struct vf_lens {
    double fx_px, fy_px, cx_px, cy_px;
    double n[5], d[4]; /* coefficients of N and D, the constant term, 1, first */
    double p1, p2;     /* decentering (tangential) coefficients */
    double limit;      /* largest u in the model's range: the radial function rises up to it; negative: invalid model */
    double limit_value; /* radial function at `limit` */
    int equidistant;    /* 1: the argument is the angle */
};

/** Number of distortion coefficients of a lens; 0: unknown lens. */
int vf_lens_coefficients(vfront_lens_t lens);

/** Sets up the model of a camera and finds its range. A model with invalid coefficients has no rays. */
void vf_lens_make(struct vf_lens *lens, const vfront_camera_t *camera);

/** Model of a camera; of one that is not calibrated, a pinhole with a focal length of the picture's width. */
struct vf_lens vf_lens_of(const vfront_camera_t *camera);

/** vfront_lens_project() and vfront_lens_bearing() with a model already set up. */
int vf_lens_project(const struct vf_lens *lens, const double ray[3], double px[2]);
int vf_lens_bearing(const struct vf_lens *lens, const double px[2], double bearing[3]);

#endif
