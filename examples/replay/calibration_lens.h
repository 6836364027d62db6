/* SPDX-License-Identifier: MIT
 *
 * Lens models of other programs that vfront does not have, read as the equidistant model (Kannala and Brandt) that is
 * nearest to them over the whole picture.
 */
#ifndef CALIBRATION_LENS_H
#define CALIBRATION_LENS_H

#include "vfront.h"

#define CALIBRATION_LENS_PX 0.25 /* largest difference that is accepted, anywhere in the picture [px] */

typedef enum calibration_model {
    MODEL_UNIFIED,  /* alpha: r = rho / (alpha d + (1 - alpha) z), d the length of the ray */
    MODEL_EXTENDED, /* alpha, beta: the same with d^2 = beta rho^2 + z^2 (Khomutenko, 2016) */
    MODEL_DOUBLE,   /* alpha, xi: the same of the ray moved by xi d along z (Usenko, 2018) */
    MODEL_OMNI      /* xi: r = rho / (z + xi d), then radtan k1 k2 p1 p2 (Mei, 2007) */
} calibration_model_t;

typedef struct calibration_lens {
    calibration_model_t model;
    double alpha, beta, xi;
    double k[4]; /* of MODEL_OMNI */
    double fx_px, fy_px, cx_px, cy_px;
} calibration_lens_t;

/** Pixel of a ray. Returns 0 where the model does not hold. */
int calibration_lens_project(const calibration_lens_t *lens, const double ray[3], double px[2]);

/** Set intrinsics, model and coefficients of a camera, whose size is known. Returns NULL, or what is wrong, without a
 *  file name. */
const char *calibration_set_nearest(vfront_camera_t *c, const calibration_lens_t *lens);

#endif
