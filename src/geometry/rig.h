/* SPDX-License-Identifier: MIT */
/* rig: running estimate of an error of the calibration that all frames have in common, from one measurement a frame.
 *
 * In      of each frame: the error as this frame shows it [px], and its weight; the estimate of the frame before
 * Out     estimate, its standard deviation, and the part of it that is corrected
 * Rule    weighted mean with forgetting over VF_RIG_FRAMES. A measurement far from the mean is clamped once enough
 *         frames say what far is. Measurements of neighbouring frames are of the same points, so that their errors are
 *         alike: the variance of the mean has the products of neighbouring errors beside their squares, with weights
 *         that fall with the distance of the frames (W. Newey, K. West, 1987; exponential instead of triangular). To it
 *         is added what a slow drift may have changed since the mean age of what has been seen
 * Exact   single precision in one order, by one thread; a square root and quotients, correctly rounded
 * Memory  struct vf_rig_estimate, one of each parity for each error
 */
#ifndef VF_RIG_H
#define VF_RIG_H

#include "math/vector.h"

#define VF_RIG_FRAMES 1000.0f   /* frames over which is averaged; 100 to 10,000 */
#define VF_RIG_NEIGHBOURS 16.0f /* frames over which errors are alike: while a point is seen; 4 to 64 */
#define VF_RIG_FEW 6.0f /* spread that few frames hide, as a share of it, in VF_RIG_NEIGHBOURS: drawn sequences */
#define VF_RIG_DRIFT_PX 0.0005f  /* drift of a rig in a frame, times the root of frames: 0.05 px in 10,000 [px] */
#define VF_RIG_UNKNOWN_PX 1.0f   /* standard deviation of what has not been seen [px] */
#define VF_RIG_START_PX 0.1f     /* standard deviation of the first measurement, before others show theirs [px] */
#define VF_RIG_FAR 3.0f          /* standard deviations beyond which a measurement is clamped; 2 to 5 */
#define VF_RIG_FAR_FRAMES 16.0f  /* frames from which on it is */
#define VF_RIG_MOST_PX 2.0f      /* largest error that is estimated [px] */
#define VF_RIG_CORRECTION 0.002f /* largest change of a correction in a frame [px] */
#define VF_RIG_SIGNIFICANT 2.0f  /* standard deviations of which half is corrected; 1 to 4 */

/** Running estimate of an error [px]. All 0: nothing seen. */
struct vf_rig_estimate {
    float value;          /* mean of the measurements [px] */
    float corrected;      /* part of it that the next frame takes off its measurements [px] */
    float open;           /* mean of what was not corrected when it was measured [px] */
    float weight, frames; /* sums of weights and of frames, forgotten slowly */
    float age;            /* mean age of the weights [frames] */
    float square, near;   /* sums of squared weighted errors, of their products with those of the frames before */
    float before;         /* errors of the frames before, weighted by their distance */
};

/** Value within +-limit; -limit where it is NaN. */
VF_FN float vf_rig_within(float value, float limit)
{
    const float above = value > -limit ? value : -limit;
    return above < limit ? above : limit;
}

/** Variance of the mean as its measurements show it [px^2]; requires a weight. */
VF_FN float vf_rig_variance(const struct vf_rig_estimate *e)
{
    const float near = e->near > 0.0f ? e->near : 0.0f, first = VF_RIG_START_PX / e->frames;
    const float few = 1.0f + VF_RIG_FEW * VF_RIG_NEIGHBOURS / e->frames;
    return (e->square + 2.0f * near) / (e->weight * e->weight) * few + first * first;
}

/** Standard deviation of an estimate [px]. */
VF_FN float vf_rig_sigma_px(const struct vf_rig_estimate *e)
{
    const float unknown = VF_RIG_UNKNOWN_PX * VF_RIG_UNKNOWN_PX;
    if (!(e->weight > 0.0f)) return VF_RIG_UNKNOWN_PX;
    const float variance = vf_rig_variance(e) + VF_RIG_DRIFT_PX * VF_RIG_DRIFT_PX * e->age;
    return sqrtf(unknown * variance / (unknown + variance));
}

/** Error of a measurement against the mean, clamped. weight: of the measurement. */
VF_FN float vf_rig_innovation(const struct vf_rig_estimate *e, float measured, float weight)
{
    const float error = vf_rig_within(measured, VF_RIG_MOST_PX) - e->value;
    if (!(e->frames > VF_RIG_FAR_FRAMES)) return error;
    /* squares are forgotten twice as fast; their mean belongs to the mean weight */
    const float seen = e->frames * (2.0f * VF_RIG_FRAMES - e->frames) / (2.0f * VF_RIG_FRAMES),
                sigma = sqrtf(e->square / seen * e->frames / (e->weight * weight));
    return vf_rig_within(error, VF_RIG_FAR * sigma + 1e-3f);
}

/** Estimate after a frame. weight: 0: the frame shows nothing. correct: 1: the estimate is to be corrected. */
VF_FN struct vf_rig_estimate vf_rig_next(const struct vf_rig_estimate *before, float measured, float weight,
                                         int correct)
{
    const float keep = 1.0f - 1.0f / VF_RIG_FRAMES, near = 1.0f - 1.0f / VF_RIG_NEIGHBOURS;
    struct vf_rig_estimate e = *before;
    e.age += 1.0f;
    if (weight > 0.0f) {
        const float error = vf_rig_innovation(&e, measured, weight), old = keep * e.weight;
        e.weight = old + weight;
        e.value += error * (weight / e.weight);
        e.open += (e.value - e.corrected - e.open) * (weight / e.weight);
        e.age *= old / e.weight;
        e.frames = keep * e.frames + 1.0f;
        const float seen = weight * error * sqrtf(old / e.weight);
        e.square = keep * keep * e.square + seen * seen;
        e.near = keep * keep * e.near + seen * e.before;
        e.before = near * (e.before + seen);
    }
    const float sigma = VF_RIG_SIGNIFICANT * vf_rig_sigma_px(&e), square = e.value * e.value;
    const float wanted = correct ? e.value * (square / (square + sigma * sigma)) : 0.0f;
    e.corrected += vf_rig_within(wanted - e.corrected, VF_RIG_CORRECTION);
    return e;
}

/** Correction of the next frame [px], within bounds. */
VF_FN float vf_rig_correction(const struct vf_rig_estimate *e, int correct)
{
    return correct ? vf_rig_within(e->corrected, VF_RIG_MOST_PX) : 0.0f;
}

#endif
