/* SPDX-License-Identifier: MIT */
/* Consistency test of the sliding window: rejects observations of the newest frame that contradict the IMU prediction.
 * So a moving object does not bias the state, even if it fills most of the image.
 *
 * In      newest frame with the state predicted from its IMU samples; its observations of landmarks
 * Out     decision on each observation; bit of the newest frame in `seen` cleared where the observation is not used;
 *         rejections of each landmark in `refused`
 * Rule    Squared residual: of camera 0's observation at the prediction, in stated variances of the observation.
 *         Common gate: VF_CONSISTENCY_TIMES times the lowest level 2^i VF_CONSISTENCY_LEVEL that at least one in
 *         VF_CONSISTENCY_SHARE tested observations does not exceed.
 *         Own gate: VF_CONSISTENCY_RATIO times the variance of the observation at the prediction. This is the variance
 *         of the newest frame's pose relative to the landmark's anchor, plus a floor for drift of tracks. The smaller
 *         of both gates applies, but at least VF_CONSISTENCY_LEAST. So a moving object under most observations is
 *         rejected, unless the IMU prediction is too uncertain to exclude its motion. After a gap in the images the
 *         covariance has grown, and so has the own gate.
 *         With one camera, or with missing or saturated IMU samples, only the common gate applies and there is no
 *         dispute: the prediction is too poor to separate a moving object from the static scene. If too few agree
 *         after the alignment, nearly all are rejected.
 *         Trial: a landmark is on trial until VF_CONSISTENCY_TRIAL_NS after its first observation. Its observations are
 *         not used in a dispute, or if VF_CONSISTENCY_PROVEN observations of other landmarks with a range are accepted:
 *         a moving object may stand still for a moment. When an observation is accepted after the trial, those of the
 *         trial are used, too.
 *         Repeated rejection: a landmark rejected VF_CONSISTENCY_REFUSALS times is not used, and its track does not
 *         start a new landmark. VF_CONSISTENCY_TRIAL_NS without a rejection reset the count.
 *         Range error: an observation beyond its gate is not used, but not rejected either, if an error of the
 *         landmark's range explains the excess. The variance of the range comes from the landmark's other observations.
 *         Dispute: begins if more than VF_CONSISTENCY_DISPUTE times as many observations are rejected as accepted, and
 *         lasts until VF_CONSISTENCY_DISPUTE_S after the last such frame. At least VF_CONSISTENCY_FEWEST observations
 *         must be accepted at its start; with fewer the IMU samples may be wrong. In a frame without observations of
 *         camera 1, rejected ones count only if their landmark has a range. A dispute lowers the floor of the own gate,
 *         except for landmarks of at least VF_CONSISTENCY_STEADY_NS without a rejection: a brief error of the IMU
 *         samples makes all of these slightly inconsistent.
 *         Moving object: detected if VF_CONSISTENCY_FEWEST landmarks, and half of those neither on trial nor
 *         rejected too often, are within VF_CONSISTENCY_CLOSE noise variances of the prediction. Also one tested
 *         observation in VF_CONSISTENCY_MOVING_SHARE must be rejected, or its landmark have been rejected too often.
 *         Wrong IMU samples contradict all observations alike: then few are close, or few are rejected.
 * Exact   residuals in single precision, counts are integers
 */
#ifndef VF_VIO_CONSISTENCY_H
#define VF_VIO_CONSISTENCY_H

#include "stereo_check.h"

/** Lowest level of squared residual at which observations are counted; each further level is twice the one below
 *  [stated variances of an observation]. */
#define VF_CONSISTENCY_LEVEL 0.015625f
/** One in this many tested observations must be within a level, so that it defines the gate common to all
 *  observations. */
#define VF_CONSISTENCY_SHARE 4
/** Least number of observations within the level that defines the gate common to all observations. Also least number of
 *  accepted observations at the start of a dispute, and of close landmarks beside a moving object. */
#define VF_CONSISTENCY_FEWEST 8
/** Gate common to all observations: squared residual, relative to the lowest level that enough observations do not
 *  exceed. */
#define VF_CONSISTENCY_TIMES 16.0f

/** Gate on the squared residual of one observation, relative to the variance of this residual at the predicted pose. */
#define VF_CONSISTENCY_RATIO 9.0f
/** Variance of the drift of a track, a part of its residual's variance [variances of the observation noise]. */
#define VF_CONSISTENCY_FLOOR 2.25f
/** Variance of a track's drift during a dispute between IMU and observations [variances of the observation noise]. */
#define VF_CONSISTENCY_FLOOR_DISPUTED 0.5625f
/** Lowest gate on a squared residual [variances of the observation noise]. */
#define VF_CONSISTENCY_LEAST 9.0f

/** Gate common to all observations while too few of them define one; larger than any squared residual. */
#define VF_CONSISTENCY_NONE 1e30f

/** Least number of accepted observations that make a frame's pose a trusted reference for the variance of later
 *  predictions; also of tested observations for a dispute. */
#define VF_CONSISTENCY_BELIEVED 16

/** Ratio of rejected to accepted observations above which a dispute begins. */
#define VF_CONSISTENCY_DISPUTE 2
/** Duration of a dispute after the last frame with too many rejected observations [s]. */
#define VF_CONSISTENCY_DISPUTE_S 0.8

/** Number of rejections after which a landmark is not used. */
#define VF_CONSISTENCY_REFUSALS 3

/** Duration of the trial of a new landmark [ns]. */
#define VF_CONSISTENCY_TRIAL_NS 500000000ull
/** Number of accepted observations of landmarks with a range, with which a frame does not need landmarks on trial. */
#define VF_CONSISTENCY_PROVEN 24
/** Least age of a landmark without rejections that keeps the normal variance of track drift in a dispute [ns]. */
#define VF_CONSISTENCY_STEADY_NS 1000000000ull

/** Largest squared residual of an observation that is close to the prediction [variances of the observation noise]. */
#define VF_CONSISTENCY_CLOSE 4.0f
/** One in this many tested observations must be rejected for the detection of a moving object. */
#define VF_CONSISTENCY_MOVING_SHARE 4

/** Residual of camera 0's observation of a landmark in the newest frame [stated deviations], and its derivatives. */
struct vf_consistency_rows {
    float r[2], g[2][VF_AXES]; /* residual; derivative by the point */
    float by[2];               /* derivative by the inverse range */
    float Y[VF_AXES];          /* point in camera axes, times inverse range */
};

/** Computes the residual at the current pose. Returns 0: not tested; -1: the point is not in front. */
VF_FN int vf_consistency_rows_of(const struct vf_vio_window *w, const struct vf_vio_work *k, int32_t landmark,
                                 struct vf_consistency_rows *o)
{
    const struct vf_landmark *l = landmark >= 0 ? &w->landmark[landmark] : NULL;
    float seen[VF_AXES], axis[2][VF_AXES], t[VF_AXES];
    if (!l || l->anchor == w->newest || !(l->seen >> w->newest & 1)) return 0;
    const struct vf_vio_observation *s = &l->observation[w->newest];
    const struct vf_pose *pose = &k->anchor[l->anchor].pose[w->newest];
    const struct vf_camera_motion *camera_motion = &k->camera_motion[w->newest];
    vf_transform(pose->R, l->bearing, o->Y);
    for (int i = 0; i < 3; i++) {
        t[i] = pose->t[i] - s->row_delay_s * camera_motion->velocity[i];
        o->Y[i] += l->inverse * t[i];
    }
    vf_landmark_shutter_rotate(camera_motion, s->bearing, s->row_delay_s, seen);
    if (!(vf_dot(seen, o->Y) > (float)VF_LANDMARK_MIN_DEPTH)) return -1;
    vf_landmark_tangent_basis(seen, axis[0], axis[1]);
    for (int i = 0; i < 2; i++) {
        o->r[i] = vf_landmark_residual(axis[i], seen, o->Y, s->weight, o->g[i]);
        o->by[i] = vf_dot(o->g[i], t);
    }
    return 1;
}

/** Squared residual of camera 0's observation of a landmark at the predicted pose [stated variances]; -1: not tested.
 *  explained: out, part of the squared residual that an error of the landmark's range explains. */
VF_FN float vf_consistency_square(const struct vf_vio_window *w, const struct vf_vio_work *k, int32_t landmark,
                                  float *explained)
{
    struct vf_consistency_rows o;
    const int at = vf_consistency_rows_of(w, k, landmark, &o);
    *explained = 0.0f;
    if (at <= 0) return at ? 1e6f : -1.0f;
    const float along = o.r[0] * o.by[0] + o.r[1] * o.by[1], by_range = o.by[0] * o.by[0] + o.by[1] * o.by[1];
    const float whole = k->range_information[landmark] * (float)vf_vio_noise_variance(w) + by_range;
    *explained = along * along / whole;
    return o.r[0] * o.r[0] + o.r[1] * o.r[1];
}

/** Sum over the three axes of the variances of one quantity in the last covariance. block: 0 position [m^2], 1 attitude
 *  [rad^2], 2 velocity [m^2/s^2], 3 gyro bias [rad^2/s^2]. */
VF_FN double vf_consistency_block(const struct vf_vio_window *w, int block)
{
    double sum = 0.0;
    for (int i = 3 * block; i < 3 * block + 3; i++) sum += w->covariance[i * (VF_VIO_REPORTED + 1)];
    return sum;
}

/** Computes the variance of the newest frame's predicted pose relative to an anchor, summed over the axes. doubt: out,
 *  [0] position [m^2], [1] attitude [rad^2]. */
VF_FN void vf_consistency_doubt(const struct vf_vio_window *w, int32_t anchor, double doubt[2])
{
    const struct vf_preintegral *m = &w->slot[w->newest].motion;
    for (int k = 0; k < 2; k++) {
        const double *from = w->slot[anchor].variance, now = vf_consistency_block(w, k);
        const double since = now - (from[k] > w->believed[k] ? from[k] : w->believed[k]);
        const double root = sqrt(since > 0.0 ? since : 0.0) + sqrt(vf_consistency_block(w, 2 + k)) * m->dt_s;
        doubt[k] = root * root;
        for (int i = 0; i < 3; i++) doubt[k] += m->P[(k ? 0 : 60) + 10 * i];
    }
}

/** 1 if the predicted pose can distinguish a moving object from the static scene: two cameras, no IMU sample missing or
 *  saturated. */
VF_FN int vf_consistency_can_detect(const struct vf_vio_window *w)
{
    return w->rig.cameras > 1 && !w->slot[w->newest].motion.flags;
}

/** Time since a landmark's first observation [ns]. */
VF_FN uint64_t vf_consistency_age_ns(const struct vf_vio_window *w, const struct vf_landmark *l)
{
    return w->slot[w->newest].t_ns - w->slot[l->anchor].t_ns;
}

/** Gate of one observation of the newest frame: squared residual above which the observation is rejected [stated
 *  variances of its noise]. gate: gate common to all observations; 0: undefined. */
VF_FN float vf_consistency_own(const struct vf_vio_window *w, const struct vf_landmark *l, float gate)
{
    const float weight = l->observation[w->newest].weight, scatter = (float)vf_vio_noise_variance(w);
    const float all = gate > 0.0f ? gate : VF_CONSISTENCY_NONE;
    double doubt[2];
    if (!vf_consistency_can_detect(w))
        return all < VF_CONSISTENCY_LEAST * scatter ? VF_CONSISTENCY_LEAST * scatter : all;
    vf_consistency_doubt(w, l->anchor, doubt);
    const float variance = (float)doubt[0] * l->inverse * l->inverse + (float)doubt[1];
    const int steady = !l->refused && vf_consistency_age_ns(w, l) >= VF_CONSISTENCY_STEADY_NS;
    const float floor = w->dispute_s > 0.0 && !steady ? VF_CONSISTENCY_FLOOR_DISPUTED : VF_CONSISTENCY_FLOOR;
    const float most = VF_CONSISTENCY_RATIO * (floor * scatter + weight * weight * variance);
    const float own = all < most ? all : most;
    return own < VF_CONSISTENCY_LEAST * scatter ? VF_CONSISTENCY_LEAST * scatter : own;
}

/** Gate common to all observations, on squared residuals; 0: too few observations define it. within: number of
 *  observations within each level; tested: number of all observations. */
VF_FN float vf_consistency_of(const uint32_t within[VF_CONSISTENCY_LEVELS], uint32_t tested)
{
    float level = VF_CONSISTENCY_LEVEL;
    for (int i = 0; i < VF_CONSISTENCY_LEVELS; i++, level *= 2.0f) {
        if (within[i] >= VF_CONSISTENCY_FEWEST && VF_CONSISTENCY_SHARE * within[i] >= tested)
            return VF_CONSISTENCY_TIMES * level;
    }
    return 0.0f;
}

/** Gate common to all observations. In an aligned frame (align_frame.h) it is the lowest one if too few agree with the
 *  aligned pose within the lowest gate of an observation: then all tracks are wrong. */
VF_FN float vf_consistency_common(const struct vf_vio_window *w, const struct vf_vio_work *k)
{
    enum { LEAST = 2 }; /* level of the alignment that is VF_CONSISTENCY_LEAST */
    const uint32_t agree = k->align.within[LEAST], used = k->align.used;
    const int aligned = w->rig.cameras > 1 && !vf_consistency_can_detect(w) && used >= VF_CONSISTENCY_FEWEST;
    if (aligned && (agree < VF_CONSISTENCY_FEWEST || VF_CONSISTENCY_SHARE * agree < used)) return VF_CONSISTENCY_LEVEL;
    return vf_consistency_of(k->within, k->within[VF_CONSISTENCY_LEVELS]);
}

/** Decides on an observation of the newest frame: one of VF_CONSISTENCY_TAKEN and following. Counts or resets the
 *  rejections of its landmark. square: squared residual; gate: common gate, 0: undefined; explained: part of `square`
 *  that a range error explains. */
VF_FN int vf_consistency_decide(const struct vf_vio_window *w, struct vf_landmark *l, float square, float gate,
                                float explained)
{
    const uint64_t now_ns = w->slot[w->newest].t_ns;
    const float own = vf_consistency_own(w, l, gate);
    if (square > own) {
        if (square - explained <= own) return VF_CONSISTENCY_SPENT;
        l->refused++;
        l->refused_ns = now_ns;
        return VF_CONSISTENCY_REFUSED;
    }
    if (now_ns - l->refused_ns >= VF_CONSISTENCY_TRIAL_NS) l->refused = 0;
    if (l->refused >= VF_CONSISTENCY_REFUSALS) return VF_CONSISTENCY_SPENT;
    return vf_consistency_age_ns(w, l) < VF_CONSISTENCY_TRIAL_NS ? VF_CONSISTENCY_ON_TRIAL : VF_CONSISTENCY_TAKEN;
}

/** 1 if the landmark of an observation has a range from a stereo observation in its anchor frame. */
VF_FN int vf_consistency_ranged(const struct vf_vio_window *w, const struct vf_vio_work *k, uint32_t observation)
{
    const struct vf_landmark *l = &w->landmark[k->landmark_of[observation]];
    return l->observation[l->anchor].stereo_weight > 0.0f;
}

/** Kinds to which observation i belongs by its decision. Bit n of the result: it counts in k->counts[n]. */
VF_FN uint32_t vf_consistency_counted(const struct vf_vio_window *w, const struct vf_vio_work *k, uint32_t i)
{
    const uint32_t known = k->landmark_of[i] >= 0, tested = known && k->square[i] >= 0.0f;
    const struct vf_landmark *l = known ? &w->landmark[k->landmark_of[i]] : NULL;
    const uint32_t ranged = tested && vf_consistency_ranged(w, k, i), off = k->decision[i] == VF_CONSISTENCY_REFUSED;
    const uint32_t old = tested && l->refused < VF_CONSISTENCY_REFUSALS &&
                         vf_consistency_age_ns(w, l) >= VF_CONSISTENCY_TRIAL_NS;
    const uint32_t close = old &&
                           k->square[i] - k->explained[i] <= VF_CONSISTENCY_CLOSE * (float)vf_vio_noise_variance(w);
    const uint32_t both = known && l->observation[w->newest].stereo_weight > 0.0f;
    const uint32_t proven = ranged && k->decision[i] == VF_CONSISTENCY_TAKEN;
    const uint32_t not_taken = off || (tested && l->refused >= VF_CONSISTENCY_REFUSALS);
    return proven << VF_CONSISTENCY_OF_PROVEN | off << VF_CONSISTENCY_OF_REFUSED |
           (off & ranged) << VF_CONSISTENCY_OF_REFUSED_RANGED | both << VF_CONSISTENCY_OF_BOTH |
           tested << VF_CONSISTENCY_OF_TESTED | not_taken << VF_CONSISTENCY_OF_NOT_TAKEN |
           old << VF_CONSISTENCY_OF_OLD | close << VF_CONSISTENCY_OF_CLOSE;
}

/** Counts the observations of each kind (VF_CONSISTENCY_OF_...) into k->counts. Runs in one block. */
VF_FN void vf_consistency_counts(const struct vf_vio_window *w, struct vf_vio_work *k, uint32_t observations)
{
    VF_PARTS(i, (int)observations)
    k->counted[i] = vf_consistency_counted(w, k, (uint32_t)i);
    VF_ITEM_SYNC();
    VF_PARTS(n, VF_CONSISTENCY_COUNTS)
    {
        uint32_t count = 0;
        VF_UNROLL_16
        for (uint32_t i = 0; i < observations; i++) count += k->counted[i] >> n & 1;
        k->counts[n] = count;
    }
    VF_ITEM_SYNC();
}

/** 1 if a moving object is detected: enough landmarks are close to the prediction, while many other observations are
 *  rejected. */
VF_FN int vf_consistency_moving_object(const struct vf_vio_window *w, const struct vf_vio_work *k)
{
    const uint32_t close = k->counts[VF_CONSISTENCY_OF_CLOSE];
    return vf_consistency_can_detect(w) && close >= VF_CONSISTENCY_FEWEST &&
           2 * close >= k->counts[VF_CONSISTENCY_OF_OLD] &&
           VF_CONSISTENCY_MOVING_SHARE * k->counts[VF_CONSISTENCY_OF_NOT_TAKEN] >= k->counts[VF_CONSISTENCY_OF_TESTED];
}

/** 1 if so many observations are rejected that a dispute begins. taken, refused: number of accepted and of rejected
 *  ones. */
VF_FN int vf_consistency_most_refused(uint32_t taken, uint32_t refused)
{
    return refused > VF_CONSISTENCY_DISPUTE * taken && taken + refused >= VF_CONSISTENCY_BELIEVED;
}

/** Sets k->least_rejected: observations with this decision or a higher one are not used. Landmarks on trial are not
 *  used in a dispute, or while enough other landmarks with a range are accepted. They are used otherwise, because a
 *  landmark that camera 1 does not observe gets a range only from its use. Runs in one block. */
VF_FN void vf_consistency_least(struct vf_vio_window *w, struct vf_vio_work *k, uint32_t observations)
{
    vf_consistency_counts(w, k, observations);
    VF_PARTS(i, 1)
    {
        const int paired = k->counts[VF_CONSISTENCY_OF_BOTH] > 0;
        w->proven = k->counts[VF_CONSISTENCY_OF_PROVEN];
        w->moving_object = (uint32_t)vf_consistency_moving_object(w, k);
        k->contrary = k->counts[paired ? VF_CONSISTENCY_OF_REFUSED : VF_CONSISTENCY_OF_REFUSED_RANGED];
        const uint32_t off = k->counts[VF_CONSISTENCY_OF_REFUSED], tested = k->counts[VF_CONSISTENCY_OF_TESTED];
        const int disputed = w->dispute_s > 0.0 || vf_consistency_most_refused(tested - off, off);
        const int tries = vf_consistency_can_detect(w) && (disputed || w->proven >= VF_CONSISTENCY_PROVEN);
        k->least_rejected = tries ? VF_CONSISTENCY_ON_TRIAL : VF_CONSISTENCY_SPENT;
    }
    VF_ITEM_SYNC();
}

/** Applies the decision `off` to a landmark. newest: mask with the bit of the newest frame. A rejected observation is
 *  removed from `seen`, and kept in `tried` if the landmark is on trial. The first accepted observation moves the bits
 *  of `tried` to `seen`. */
VF_FN void vf_consistency_take(struct vf_landmark *l, uint32_t newest, int off, int least_rejected)
{
    if (off >= least_rejected) l->seen &= ~newest;
    if (off >= least_rejected && off == VF_CONSISTENCY_ON_TRIAL) l->tried |= newest;
    if (off != VF_CONSISTENCY_TAKEN) return;
    l->seen |= l->tried;
    l->tried = 0;
}

/** Tests all observations of the newest frame. Needs the poses relative to the anchors and the results of
 *  vf_vio_range_information(). Runs in one block. */
VF_FN void vf_vio_consistency(struct vf_vio_window *w, struct vf_vio_work *k, uint32_t observations)
{
    VF_PARTS(block, 2)
    if (w->taken >= VF_CONSISTENCY_BELIEVED) w->believed[block] = vf_consistency_block(w, block);
    VF_PARTS(i, (int)observations)
    k->square[i] = vf_consistency_square(w, k, k->landmark_of[i], &k->explained[i]);
    VF_ITEM_SYNC();
    VF_PARTS(i, VF_CONSISTENCY_LEVELS + 1)
    { /* last count: squared residuals of any size */
        const float most = i < VF_CONSISTENCY_LEVELS ? VF_CONSISTENCY_LEVEL * (float)(1 << i) : 1e30f;
        uint32_t count = 0;
        VF_UNROLL_16
        for (uint32_t j = 0; j < observations; j++) count += k->square[j] >= 0.0f && k->square[j] <= most;
        k->within[i] = count;
    }
    VF_ITEM_SYNC();
    const float gate = vf_consistency_common(w, k);
    VF_PARTS(i, (int)observations)
    {
        struct vf_landmark *l = k->landmark_of[i] >= 0 ? &w->landmark[k->landmark_of[i]] : NULL;
        k->decision[i] = l && k->square[i] >= 0.0f ? vf_consistency_decide(w, l, k->square[i], gate, k->explained[i])
                                                   : VF_CONSISTENCY_TAKEN;
    }
    VF_ITEM_SYNC();
    vf_vio_stereo_check(w, k, observations);
    vf_consistency_least(w, k, observations);
    VF_PARTS(i, (int)observations)
    if (k->landmark_of[i] >= 0)
        vf_consistency_take(&w->landmark[k->landmark_of[i]], 1u << w->newest, k->decision[i], k->least_rejected);
    VF_ITEM_SYNC();
}

/** Starts, prolongs or runs down the dispute between IMU and observations after a frame. taken, refused: number of
 *  accepted and of rejected observations. Run by one thread. */
VF_FN void vf_consistency_dispute(struct vf_vio_window *w, uint32_t taken, uint32_t refused)
{
    const int most = vf_consistency_most_refused(taken, refused);
    if (most && vf_consistency_can_detect(w) && (taken >= VF_CONSISTENCY_FEWEST || w->dispute_s > 0.0))
        w->dispute_s = VF_CONSISTENCY_DISPUTE_S;
    else
        w->dispute_s -= w->dispute_s > 0.0 ? w->slot[w->newest].motion.dt_s : 0.0;
    w->taken = taken;
}

#endif
