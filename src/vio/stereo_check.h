/* SPDX-License-Identifier: MIT */
/* Stereo check: excludes camera 1 while many of its observations contradict the landmark ranges known from all other
 * observations. Its image is then of another time, or the camera has been displaced. health.stereo (geometry/stereo.h)
 * detects only errors across the epipolar lines. A late camera 1 causes errors along them when the rig rotates about
 * the axis across the baseline, or moves along the baseline.
 *
 * In      newest frame with the state predicted from its IMU samples; camera 1's observations of landmarks whose
 *         observation by camera 0 is accepted
 * Out     stereo_weight of the newest frame, 0 in all landmarks while camera 1 is excluded; stereo_check_off_s,
 *         stereo_check_contrary_s; information of each landmark's inverse range, for the consistency test
 * Rule    Residual of camera 1 at the prediction, as factor_landmark.h defines it. Its variance is the sum of four:
 *         observation noise; inverse range from the landmark's other observations; a scale error of
 *         VF_STEREO_CHECK_SCALE common to all inverse ranges; camera 1's offset. For the inverse range the bearing is
 *         unknown, and the length of camera 0's path is as uncertain as the velocity. An observation is inconsistent if
 *         its squared residual exceeds VF_STEREO_CHECK_GATE variances.
 *         A frame is inconsistent if more than one in VF_STEREO_CHECK_SHARE of at least VF_STEREO_CHECK_FEWEST
 *         observations is. Such a frame excludes camera 1 until consistent frames add up to VF_STEREO_CHECK_S; frames
 *         without tested observations do not count. After inconsistent frames for VF_STEREO_CHECK_MOST_S without a
 *         break, further ones do not prolong the exclusion: the ranges may be wrong instead.
 * Exact   residuals in single precision, counts are integers
 */
#ifndef VF_VIO_STEREO_CHECK_H
#define VF_VIO_STEREO_CHECK_H

#include "system.h"

/** Largest squared residual of a consistent observation of camera 1, in variances of the residual. */
#define VF_STEREO_CHECK_GATE 9.0f

/** Standard deviation of the scale error common to all inverse ranges, relative. */
#define VF_STEREO_CHECK_SCALE 0.05f

/** Least number of tested observations of camera 1 for a frame to be inconsistent. */
#define VF_STEREO_CHECK_FEWEST 16
/** A frame is inconsistent if more than one in this many observations of camera 1 is. */
#define VF_STEREO_CHECK_SHARE 3

/** Residual of an observation whose landmark is not in front of camera 1 [standard deviations]. */
#define VF_STEREO_CHECK_BEHIND 1e6f

/** Duration of the exclusion of camera 1 after an inconsistent frame [s]. */
#define VF_STEREO_CHECK_S 3.0
/** Longest run of inconsistent frames that prolongs the exclusion of camera 1 [s]. */
#define VF_STEREO_CHECK_MOST_S 8.0

/** Longest time over which a velocity error adds to the length error of camera 0's path [s]. It is longer than the 30
 *  frames for which camera 1 is out after matches off the epipolar lines: without camera 1 nothing measures the path's
 *  length. */
#define VF_STEREO_CHECK_STEADY_S 2.0f

/** Data of a landmark's observations that give the information about its inverse range. Each array has one value per
 *  lane of a group; a lane is a frame. */
struct vf_stereo_check_rows {
    float weight[VF_GROUP_HELD(16)]; /* 1 / standard deviation of camera 0's observation [1/rad] */
    /* displacement of camera 0 since the anchor, across the bearing, in the anchor's axes [m]; times `weight` */
    float move[3][VF_GROUP_HELD(16)];
    /* information of camera 1's observation about the inverse range [m^2]; 0 in the newest frame */
    float known[VF_GROUP_HELD(16)];
    /* residual of camera 1's observation in the newest frame [standard deviations]; 0 in lanes of other frames */
    float residual[VF_GROUP_HELD(16)];
    float by_inverse[VF_GROUP_HELD(16)]; /* derivative of `residual` by the inverse range [m] */
};

/** Writes the values of one observation at value index i. newest: 1: the observation is tested and adds no information.
 *  An outlier of camera 1 adds information by its robust weight only. */
VF_FN void vf_stereo_check_row(struct vf_stereo_check_rows *rows, int i, const struct vf_landmark *l,
                               const struct vf_vio_observation *s, const struct vf_landmark_rig *rig,
                               const struct vf_pose *pose, const struct vf_camera_motion *camera_motion, int newest)
{
    struct vf_landmark_stereo o;
    float Y[3], t[3], move[3], cost;
    vf_transform(pose->R, l->bearing, Y);
    for (int c = 0; c < 3; c++) {
        t[c] = pose->t[c] - s->row_delay_s * camera_motion->velocity[c];
        Y[c] += l->inverse * t[c];
    }
    if (s->stereo_weight > 0.0f) {
        const int before = vf_landmark_stereo_residual(&o, rig, s, Y, camera_motion, l->inverse);
        const float by = before ? vf_dot(o.g, o.baseline) * o.range_ratio : 0.0f;
        const float counts = before ? vf_robust_weight(o.r * o.r, rig->outlier, &cost) : 0.0f;
        rows->residual[i] = newest ? before ? o.r : VF_STEREO_CHECK_BEHIND : 0.0f;
        rows->by_inverse[i] = newest ? by : 0.0f;
        rows->known[i] = newest ? 0.0f : counts * by * by;
    }
    if (newest) return;
    for (int c = 0; c < 3; c++) move[c] = pose->R[c] * t[0] + pose->R[3 + c] * t[1] + pose->R[6 + c] * t[2];
    const float along = vf_dot(move, l->bearing);
    for (int c = 0; c < 3; c++) rows->move[c][i] = s->weight * (move[c] - along * l->bearing[c]);
    rows->weight[i] = s->weight;
}

/** Sum of the products a[i] b[i] over the lanes of a group. */
VF_FN float vf_stereo_check_product(const float a[VF_GROUP_HELD(16)], const float b[VF_GROUP_HELD(16)])
{
    float part[VF_GROUP_HELD(16)];
    VF_GROUP_VALUES(16, i)
    part[i] = a[i] * b[i];
    return vf_group_sum_16(part);
}

/** Variance of a landmark's inverse range from the length error of camera 0's path since its anchor [1/m^2]: all
 *  ranges scale with that length. pose: newest frame relative to the anchor. */
VF_FN float vf_stereo_check_doubt(const struct vf_vio_window *w, const struct vf_landmark *l,
                                  const struct vf_pose *pose)
{
    const float since_s = 1e-9f * (float)(w->slot[w->newest].t_ns - w->slot[l->anchor].t_ns),
                s = since_s < VF_STEREO_CHECK_STEADY_S ? since_s : VF_STEREO_CHECK_STEADY_S;
    float variance = 0.0f;
    for (int c = VF_NAV_V; c < VF_NAV_V + 3; c++) variance += (float)w->covariance[c * (VF_VIO_REPORTED + 1)];
    return l->inverse * l->inverse * variance * s * s / (vf_dot(pose->t, pose->t) + 1e-9f);
}

/** Information of a landmark's inverse range from its prior and all observations but the tested one [m^2]. The same
 *  observations determine the bearing. Approximation: the displacements of camera 0 are small against the range.
 *  doubt: result of vf_stereo_check_doubt(). */
VF_FN float vf_stereo_check_known(const struct vf_stereo_check_rows *rows, const struct vf_landmark_rig *rig,
                                  float doubt)
{
    const float least = 1.0f / (rig->range_sigma * rig->range_sigma), other = vf_group_sum_16(rows->known),
                weights = vf_stereo_check_product(rows->weight, rows->weight);
    float parallax = 0.0f, mean = 0.0f;
    VF_UNROLL
    for (int c = 0; c < 3; c++) {
        const float sum = vf_stereo_check_product(rows->weight, rows->move[c]);
        parallax += vf_stereo_check_product(rows->move[c], rows->move[c]);
        mean += sum * sum;
    }
    const float across = weights > 0.0f ? parallax - mean / weights : 0.0f;
    return least + other + (across > 0.0f ? across / (1.0f + across * doubt) : 0.0f);
}

/** Tests camera 1's observation of landmark i in the newest frame. k->stereo_check[i]: out, 1 inconsistent, 0
 *  consistent, -1 no observation. k->range_information[i]: out, information of the inverse range [m^2]. Run by a
 *  group. */
VF_FN void vf_stereo_check_decide(const struct vf_vio_window *w, struct vf_vio_work *k,
                                  const struct vf_landmark_rig *rig, int i)
{
    const struct vf_landmark *l = &w->landmark[i];
    const struct vf_vio_observation *s = &l->observation[w->newest];
    const int observed = l->id && l->anchor != w->newest && l->seen >> w->newest & 1;
    struct vf_stereo_check_rows rows;
    if (VF_GROUP_FIRST(16)) k->stereo_check[i] = -1;
    if (VF_GROUP_ALONE && !observed) return;
    memset(&rows, 0, sizeof rows);
    VF_GROUP(16, j, f)
    {
        if (observed && f < VF_VIO_FRAMES && l->seen >> f & 1)
            vf_stereo_check_row(&rows, j, l, &l->observation[f], rig, &k->anchor[l->anchor].pose[f],
                                &k->camera_motion[f], f == w->newest);
    }
    const float doubt = observed ? vf_stereo_check_doubt(w, l, &k->anchor[l->anchor].pose[w->newest]) : 0.0f;
    const float known = vf_stereo_check_known(&rows, rig, doubt), by = vf_group_sum_16(rows.by_inverse),
                residual = vf_group_sum_16(rows.residual), scale = VF_STEREO_CHECK_SCALE * l->inverse,
                offset = (float)w->covariance[VF_VIO_REPORTED_DISPARITY * (VF_VIO_REPORTED + 1)],
                variance = by * by * (1.0f / known + scale * scale) + s->stereo_weight * s->stereo_weight * offset;
    if (!observed || !VF_GROUP_FIRST(16)) return;
    k->range_information[i] = known;
    if (s->stereo_weight > 0.0f)
        k->stereo_check[i] = residual * residual > VF_STEREO_CHECK_GATE * ((float)vf_vio_noise_variance(w) + variance);
}

/** Starts, prolongs or runs down the exclusion of camera 1. tested, contrary: number of its tested and of its
 *  inconsistent observations; without tested ones nothing changes. Run by one thread. */
VF_FN void vf_stereo_check_exclude(struct vf_vio_window *w, uint32_t tested, uint32_t contrary)
{
    const int contradicts = tested >= VF_STEREO_CHECK_FEWEST && VF_STEREO_CHECK_SHARE * contrary > tested;
    const double dt_s = w->slot[w->newest].motion.dt_s;
    if (!tested) return;
    w->stereo_check_contrary_s = contradicts ? w->stereo_check_contrary_s + dt_s : 0.0;
    if (contradicts && w->stereo_check_contrary_s <= VF_STEREO_CHECK_MOST_S)
        w->stereo_check_off_s = VF_STEREO_CHECK_S;
    else
        w->stereo_check_off_s -= w->stereo_check_off_s > 0.0 ? dt_s : 0.0;
}

/** Tests camera 1's observations of all landmarks, before the consistency test of camera 0. */
VF_FN void vf_vio_range_information(const struct vf_vio_window *w, struct vf_vio_work *k)
{
    const struct vf_landmark_rig rig = vf_vio_landmark_rig(w);
    VF_GROUPS(16, i, VF_VIO_LANDMARKS)
    vf_stereo_check_decide(w, k, &rig, i);
}

/** Counts camera 1's inconsistent observations and updates its exclusion. While camera 1 is excluded, removes its
 *  observations from the newest frame. k->decision: decisions on camera 0's observations. Runs in one block. */
VF_FN void vf_vio_stereo_check(struct vf_vio_window *w, struct vf_vio_work *k, uint32_t observations)
{
    VF_PARTS(part, VF_VIO_PARTS)
    {
        k->number[part] = k->off[part] = 0;
        for (uint32_t i = (uint32_t)part; i < observations; i += VF_VIO_PARTS) {
            const int decision = vf_vio_accepted(k, i) ? k->stereo_check[k->landmark_of[i]] : -1;
            k->number[part] += decision >= 0;
            k->off[part] += decision > 0;
        }
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, 1)
    {
        uint32_t tested = 0, contrary = 0;
        VF_UNROLL_16
        for (int part = 0; part < VF_VIO_PARTS; part++) {
            tested += k->number[part];
            contrary += k->off[part];
        }
        vf_stereo_check_exclude(w, tested, contrary);
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, (int)observations)
    {
        if (w->stereo_check_off_s > 0.0 && k->landmark_of[i] >= 0)
            w->landmark[k->landmark_of[i]].observation[w->newest].stereo_weight = 0.0f;
    }
    VF_ITEM_SYNC();
}

#endif
