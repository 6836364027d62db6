/* SPDX-License-Identifier: MIT */
/* Lens models: projection of rays to pixels and back. On the host, in double precision with + - * / and square roots
 * only, so that every machine gives the same bits. vfront_lens_project() and vfront_lens_bearing() use these functions
 * for a single ray. */
#ifndef VF_LENS_H
#define VF_LENS_H

#include "base/vf.h"

struct vf_lens;

/** Range of a coefficient. text: vfront_detail() of a value outside, with %d for the camera and %s for the rest of its
 *  name. */
struct vf_lens_range {
    double least, most;
    const char *text;
};

/** Lens model: a row of the table in lens.c. A new model needs only a row. */
struct vf_lens_model {
    const char *name;              /**< Name in messages and files: vfront_lens_name(). */
    int coefficients;              /**< Number of distortion coefficients in use. */
    struct vf_lens_range range[8]; /**< Range of each of these. */
    double argument2_max;          /**< Upper bound of u^2, the squared argument of the radial function. */
    int is_central;                /**< 1: without coefficients the model is a pinhole. */
    /** Writes the numbers of struct vf_lens that differ from 0, `n` and `d` from 1, from the coefficients k. */
    void (*set)(struct vf_lens *lens, const double k[8]);
    /** Projects a ray to normalised image coordinates m. Returns 0 outside the range of the model. */
    int (*project)(const struct vf_lens *lens, const double ray[3], double m[2]);
    /** Unit vector of normalised image coordinates m, the inverse of `project`. Returns 0 if there is none. */
    int (*bearing)(const struct vf_lens *lens, const double m[2], double bearing[3]);
};

/** Row of the model table for a lens model; NULL if the model is unknown. */
const struct vf_lens_model *vf_lens_model(vfront_lens_t lens);

/** Lens of a camera, set up once for many rays. Radial function: u N(u^2) / D(u^2), with polynomials N and D. u is the
 *  tangent of the angle to the optical axis (radtan, rational), that angle [rad] (equidistant), or the radius in the
 *  plane of the sphere's image (ds, eucm, omni). */
struct vf_lens {
    const struct vf_lens_model *model; /* row of the model table; NULL if the model is unknown */
    double fx_px, fy_px, cx_px, cy_px;
    double n[5], d[4]; /* coefficients of N(u^2) and D(u^2) by rising power; the constant term is 1 */
    double p1, p2;     /* decentering (tangential) coefficients */
    /* ds, eucm, omni: distance of the second centre from the first; share of the second centre's length in the divisor;
     * factor of x^2 + y^2 in that length; least cosine of the angle at the second centre, negated */
    double xi, alpha, beta, turn;
    double limit;       /* largest u of the model: the radial function rises up to it; negative: invalid */
    double limit_value; /* value of the radial function at `limit` */
};

/** Sets up the lens of a camera and finds its range. A lens with invalid coefficients projects no rays. */
void vf_lens_make(struct vf_lens *lens, const vfront_camera_t *camera);

/** Lens of a camera. Uncalibrated: pinhole, focal length = image width. */
struct vf_lens vf_lens_of(const vfront_camera_t *camera);

/** Focal lengths at the optical axis, along x and y: pixels a radian. Those of the camera over 1 + xi (ds, omni). */
void vf_lens_focal(double focal_px[2], const vfront_camera_t *camera);

/** vfront_lens_project() and vfront_lens_bearing() with a lens that is set up. */
int vf_lens_project(const struct vf_lens *lens, const double ray[3], double px[2]);
int vf_lens_bearing(const struct vf_lens *lens, const double px[2], double bearing[3]);

#endif
