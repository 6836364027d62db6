/* SPDX-License-Identifier: MIT */
/* Prediction of camera motion and point positions, as other stages read it: memory of predict, and the expected bearing
 * of a point. It is in src/geometry, because stereo, track, match and partner, in lower layers than ego, read it.
 * src/ego/predict.h has the view and the rules. */
#ifndef VF_PREDICTION_H
#define VF_PREDICTION_H

#include "base/view.h"
#include "math/pose.h"
#include "motion.h"

/** Prior for a point without depth: mean and standard deviation of the inverse ranges of the previous frame's key
 *  points [1/m]; 0 and 0: unknown. */
struct vf_depth_prior {
    float mean_1pm, sigma_1pm;
};

/** Standard deviation of the extrapolated parallax of a point, relative to its own parallax and to the rms parallax of
 *  all points. */
#define VF_PREDICT_PARALLAX_PART 0.5f

/** Prior for the displacement by translation (parallax) of points without a depth. */
struct vf_parallax_prior {
    float R[9];  /* rotation from the frame before the previous one to the previous one, row-major */
    float ratio; /* duration of this frame interval over that of the previous one; 0: R is unknown */
    float rms;   /* root mean square of the parallax of the previous frame's matches [rad]; 1: no matches */
    /* 1: camera 0 had no new image in the previous frame. The matches of that frame then have no parallax, and rms is
     * 1. */
    uint32_t stale;
};

/** Rotation of camera 0 since the previous frame, as given with a frame (by the caller or the gyro). */
struct vf_given_rotation {
    float R[9];
    uint32_t given; /* 1: R was given; 0: no rotation was given */
};

struct vf_predict_memory {
    vfront_prediction_t now; /* out: predicted motion from the previous frame to this one */
    struct vf_depth_prior prior;
    struct vf_parallax_prior parallax;
    struct vf_given_rotation given[2]; /* [parity] */
};

/** 1 if the prediction includes a translation. */
VF_FN int vf_predict_has_translation(const vfront_prediction_t *p)
{
    return (p->source & (VFRONT_PREDICT_MOTION | VFRONT_PREDICT_STATE)) != 0;
}

/** Parallax of a point: its bearing minus its previous bearing `before` rotated by R. */
VF_FN void vf_predict_parallax(const float R[9], const float bearing[3], const float before[3], float parallax[3])
{
    vf_transform(R, before, parallax);
    for (int k = 0; k < 3; k++) parallax[k] = bearing[k] - parallax[k];
}

/** Expected bearing of a point, unit vector, and standard deviation of its angle along either image axis [rad]. */
struct vf_expected {
    float bearing[3], sigma;
};

/** Greatest variance over the three axes of the predicted translation (first = 0) [m^2] or rotation (first = 3)
 *  [rad^2]. */
VF_FN float vf_predict_variance(const vfront_prediction_t *p, int first)
{
    const float a = p->covariance[vf_motion_index(first, first)],
                b = p->covariance[vf_motion_index(first + 1, first + 1)],
                c = p->covariance[vf_motion_index(first + 2, first + 2)];
    return a > b ? (a > c ? a : c) : b > c ? b : c;
}

/** Expected bearing of a point with known range in the previous frame. bearing: its previous bearing; inverse, sigma:
 *  its inverse range and the standard deviation of that [1/m]. */
VF_FN struct vf_expected vf_predict_point(const vfront_prediction_t *p, const float bearing[3], float inverse,
                                          float sigma)
{
    struct vf_expected e;
    vf_transform(p->R, bearing, e.bearing);
    for (int k = 0; k < 3; k++) e.bearing[k] += inverse * p->t[k];
    vf_unit(e.bearing);
    e.sigma = sqrtf(vf_predict_variance(p, 3) + inverse * inverse * vf_predict_variance(p, 0) +
                    sigma * sigma * vf_dot(p->t, p->t));
    return e;
}

/** Expected bearing of a point of unknown depth, by extrapolating its parallax. bearing: its bearing in the previous
 *  frame; before: its bearing in the frame before the previous one, 0: unknown. */
VF_FN struct vf_expected vf_predict_ray(const vfront_prediction_t *p, const struct vf_parallax_prior *prior,
                                        const float bearing[3], const float before[3])
{
    const int seen = prior->ratio > 0.0f && vf_dot(before, before) > 0.0f;
    const float expected_rms = (prior->ratio > 0.0f ? prior->ratio : 1.0f) * prior->rms;
    float parallax[3] = {0.0f, 0.0f, 0.0f}, there[3];
    struct vf_expected e;
    if (seen) vf_predict_parallax(prior->R, bearing, before, parallax);
    for (int k = 0; k < 3; k++) {
        parallax[k] *= prior->ratio;
        there[k] = bearing[k] + parallax[k];
    }
    vf_transform(p->R, there, e.bearing);
    vf_unit(e.bearing);
    const float part = VF_PREDICT_PARALLAX_PART * VF_PREDICT_PARALLAX_PART, all = expected_rms * expected_rms;
    e.sigma = sqrtf(vf_predict_variance(p, 3) + (seen ? part * (vf_dot(parallax, parallax) + all) : all));
    return e;
}

#endif
