/* SPDX-License-Identifier: MIT */
/* rig: running estimate of a constant calibration error, from one measurement per frame.
 *
 * In      of each frame: the measured error [px] and its weight; the previous estimate
 * Out     estimate, its standard deviation, and the part of it that is corrected
 * Rule    - Weighted mean with exponential forgetting over VF_RIG_FRAMES. A measurement far from the mean is clamped at
 *           VF_RIG_CLAMP_SIGMAS, once VF_RIG_CLAMP_FRAMES frames have given a standard deviation
 *         - Neighbouring frames see the same points, so their errors are correlated. The variance of the mean therefore
 *           includes products of neighbouring errors, with exponential weights (after W. Newey, K. West, 1987). A
 *           random walk over the mean age of the measurements is added
 * Exact   single precision in one order, by one thread; a square root and quotients, correctly rounded
 * Memory  struct vf_rig_estimate: for each error, one per parity
 */
#ifndef VF_RIG_H
#define VF_RIG_H

#include "math/vector.h"

#define VF_RIG_FRAMES 1000.0f /* averaging length of the estimate [frames]; usable: 100 to 10,000 */
/* correlation length of the measurement errors: lifetime of a point [frames]; usable: 4 to 64 */
#define VF_RIG_CORRELATION_FRAMES 16.0f
/* The variance of the mean is multiplied by 1 + VF_RIG_FEW * VF_RIG_CORRELATION_FRAMES / frames, because few frames
 * underestimate it. The value is from simulated sequences. */
#define VF_RIG_FEW 6.0f
/* random walk of the calibration error [px per root of a frame]: 0.05 px in 10,000 frames */
#define VF_RIG_DRIFT_PX 0.0005f
#define VF_RIG_UNKNOWN_PX 1.0f /* standard deviation of the estimate without measurements [px] */
/* initial standard deviation of the mean, which falls as 1 / frames [px] */
#define VF_RIG_START_PX 0.1f
/* largest deviation of a measurement from the mean [standard deviations]; usable: 2 to 5 */
#define VF_RIG_CLAMP_SIGMAS 3.0f
#define VF_RIG_CLAMP_FRAMES 16.0f /* number of frames after which measurements are clamped */
#define VF_RIG_MAX_PX 2.0f        /* bound to which measurements and corrections are clamped [px] */
#define VF_RIG_CORRECTION 0.002f  /* largest change of the correction from frame to frame [px] */
/* Size of an estimated calibration error at which half of it is corrected [standard deviations of the estimate]. The
 * corrected share rises with the size. Usable: 1 to 4. */
#define VF_RIG_SIGNIFICANT 2.0f

/** Running estimate of a calibration error [px]. All 0: nothing measured. */
struct vf_rig_estimate {
    float value;       /* weighted mean of the measured errors [px] */
    float corrected;   /* part of `value` that the next frame corrects [px] */
    float uncorrected; /* mean over the measurements of the part that was not corrected at their time [px] */
    float weight,      /* sum of the weights of the measurements, with exponential forgetting */
        frames;        /* number of frames measured, with exponential forgetting */
    float age;         /* mean age of the measurements, by weight [frames] */
    float square,      /* sum of the squares of weight times innovation */
        neighbour;     /* sum of the products of weight times innovation with `before` */
    float before;      /* weight times innovation of previous frames, summed with exponential weights */
};

/** Clamps a value to -limit .. limit; NaN gives -limit. */
VF_FN float vf_rig_clamp(float value, float limit)
{
    const float above = value > -limit ? value : -limit;
    return above < limit ? above : limit;
}

/** Variance of the mean, from the scatter of its measurements [px^2]. Requires e->weight > 0. */
VF_FN float vf_rig_variance(const struct vf_rig_estimate *e)
{
    const float neighbour = e->neighbour > 0.0f ? e->neighbour : 0.0f, first = VF_RIG_START_PX / e->frames;
    const float few = 1.0f + VF_RIG_FEW * VF_RIG_CORRELATION_FRAMES / e->frames;
    return (e->square + 2.0f * neighbour) / (e->weight * e->weight) * few + first * first;
}

/** Standard deviation of an estimate, drift included [px]. */
VF_FN float vf_rig_sigma_px(const struct vf_rig_estimate *e)
{
    const float unknown = VF_RIG_UNKNOWN_PX * VF_RIG_UNKNOWN_PX;
    if (!(e->weight > 0.0f)) return VF_RIG_UNKNOWN_PX;
    const float variance = vf_rig_variance(e) + VF_RIG_DRIFT_PX * VF_RIG_DRIFT_PX * e->age;
    return sqrtf(unknown * variance / (unknown + variance));
}

/** Innovation: measured error minus mean, clamped [px]. weight: of this measurement. */
VF_FN float vf_rig_innovation(const struct vf_rig_estimate *e, float measured, float weight)
{
    const float error = vf_rig_clamp(measured, VF_RIG_MAX_PX) - e->value;
    if (!(e->frames > VF_RIG_CLAMP_FRAMES)) return error;
    /* seen: number of frames in e->square, which is forgotten twice as fast as e->frames */
    const float seen = e->frames * (2.0f * VF_RIG_FRAMES - e->frames) / (2.0f * VF_RIG_FRAMES),
                sigma = sqrtf(e->square / seen * e->frames / (e->weight * weight));
    return vf_rig_clamp(error, VF_RIG_CLAMP_SIGMAS * sigma + 1e-3f);
}

/** Running estimate after a frame. measured: its measured error [px]; weight: of the measurement, 0: none; correct: 1:
 *  later frames correct the error. */
VF_FN struct vf_rig_estimate vf_rig_next(const struct vf_rig_estimate *before, float measured, float weight,
                                         int correct)
{
    const float keep = 1.0f - 1.0f / VF_RIG_FRAMES, neighbour = 1.0f - 1.0f / VF_RIG_CORRELATION_FRAMES;
    struct vf_rig_estimate e = *before;
    e.age += 1.0f;
    if (weight > 0.0f) {
        const float error = vf_rig_innovation(&e, measured, weight), old = keep * e.weight;
        e.weight = old + weight;
        e.value += error * (weight / e.weight);
        e.uncorrected += (e.value - e.corrected - e.uncorrected) * (weight / e.weight);
        e.age *= old / e.weight;
        e.frames = keep * e.frames + 1.0f;
        const float seen = weight * error * sqrtf(old / e.weight);
        e.square = keep * keep * e.square + seen * seen;
        e.neighbour = keep * keep * e.neighbour + seen * e.before;
        e.before = neighbour * (e.before + seen);
    }
    const float sigma = VF_RIG_SIGNIFICANT * vf_rig_sigma_px(&e), square = e.value * e.value;
    const float wanted = correct ? e.value * (square / (square + sigma * sigma)) : 0.0f;
    e.corrected += vf_rig_clamp(wanted - e.corrected, VF_RIG_CORRECTION);
    return e;
}

/** Correction that the next frame applies [px], at most VF_RIG_MAX_PX; 0 if `correct` is 0. */
VF_FN float vf_rig_correction(const struct vf_rig_estimate *e, int correct)
{
    return correct ? vf_rig_clamp(e->corrected, VF_RIG_MAX_PX) : 0.0f;
}

#endif
