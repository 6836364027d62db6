/* SPDX-License-Identifier: MIT */
/* Camera 1 held against the window: where many of its sights contradict the ranges that landmarks have by all others,
 * its picture is of another time or place, and it is left out. health.stereo (geometry/stereo.h) sees sights that lie
 * beside their epipolar lines alone; those of a camera that is late move along them as it turns about the axis across
 * the baseline, or moves along this.
 *
 * In      newest frame with the state that its readings predict; its sights of camera 1, of landmarks that camera 0's
 *         gate takes
 * Out     the landmarks' weight of camera 1 in that frame, 0 where it is left out; second_off_s, second_contrary_s; how
 *         well the range of each is known, for camera 0's gate
 * Rule    residual of camera 1 at the prediction, as in window_landmark.h, squared, over its variance: that of a sight;
 *         that of the landmark's inverse range by its other sights, its bearing being unknown, and camera 0's way as
 *         well known as the velocity is; VF_SECOND_SCALE of that inverse range, by which all may be off together; and
 *         that of camera 1's offset. A sight above VF_SECOND_GATE contradicts
 *         Where more than one in VF_SECOND_SHARE of VF_SECOND_FEWEST sights or more contradict, camera 1 is left out
 *         until frames with sights of it in which they do not add up to VF_SECOND_S, unless it has contradicted in all
 *         such frames for VF_SECOND_MOST_S: then the ranges may be the ones that are wrong
 * Exact   residuals in single precision, counts are integers
 */
#ifndef VF_WINDOW_SECOND_H
#define VF_WINDOW_SECOND_H

#include "window_system.h"

/** Gate of a sight of camera 1, in variances. */
#define VF_SECOND_GATE 9.0f

/** Deviation of all inverse ranges together, over these. */
#define VF_SECOND_SCALE 0.05f

/** Least number of sights, and the share of them, as one in so many. */
#define VF_SECOND_FEWEST 16
#define VF_SECOND_SHARE 3

/** Residual of a sight whose landmark is not before camera 1. */
#define VF_SECOND_BEHIND 1e6f

/** Time for which camera 1 is left out, and for which it may contradict before it is taken again [s]. */
#define VF_SECOND_S 3.0
#define VF_SECOND_MOST_S 8.0

/** Time for which an error of the velocity lasts, at most [s]: longer than camera 1 is out after matches off its lines
 *  (30 frames), in which nothing tells how long the way is. */
#define VF_SECOND_STEADY_S 2.0f

/** What a landmark's sights tell of its inverse range, a value for each lane of a group, whose lanes are frames. */
struct vf_second_rows {
    float weight[VF_GROUP_HELD(16)];     /* of camera 0's sight */
    float move[3][VF_GROUP_HELD(16)];    /* of camera 0 across the bearing since the host, host's axes, by the weight */
    float known[VF_GROUP_HELD(16)];      /* by camera 1's sight: 1 / variance [m^2] */
    float residual[VF_GROUP_HELD(16)];   /* of camera 1, in deviations of the sight; of the newest frame alone */
    float by_inverse[VF_GROUP_HELD(16)]; /* its derivative by the inverse range */
};

/** Row of a sight, by value i of a lane; newest: 1: it is to be tested, and tells nothing. A sight of camera 1 from
 *  which the range is far off tells as little as it counts. */
VF_FN void vf_second_row(struct vf_second_rows *rows, int i, const struct vf_landmark *l,
                         const struct vf_window_sight *s, const struct vf_landmark_rig *rig, const struct vf_pose *pose,
                         const struct vf_landmark_drift *drift, int newest)
{
    struct vf_landmark_other o;
    float Y[3], t[3], move[3], cost;
    vf_transform(pose->R, l->bearing, Y);
    for (int c = 0; c < 3; c++) {
        t[c] = pose->t[c] - s->late_s * drift->velocity[c];
        Y[c] += l->inverse * t[c];
    }
    if (s->other_weight > 0.0f) {
        const int before = vf_landmark_other_of(&o, rig, s, Y, drift, l->inverse);
        const float by = before ? vf_dot(o.g, o.base) * o.near : 0.0f;
        const float counts = before ? vf_landmark_weight(o.r * o.r, rig->outlier, &cost) : 0.0f;
        rows->residual[i] = newest ? before ? o.r : VF_SECOND_BEHIND : 0.0f;
        rows->by_inverse[i] = newest ? by : 0.0f;
        rows->known[i] = newest ? 0.0f : counts * by * by;
    }
    if (newest) return;
    for (int c = 0; c < 3; c++) move[c] = pose->R[c] * t[0] + pose->R[3 + c] * t[1] + pose->R[6 + c] * t[2];
    const float along = vf_dot(move, l->bearing);
    for (int c = 0; c < 3; c++) rows->move[c][i] = s->weight * (move[c] - along * l->bearing[c]);
    rows->weight[i] = s->weight;
}

/** Sum of products over the lanes of a group. */
VF_FN float vf_second_product(const float a[VF_GROUP_HELD(16)], const float b[VF_GROUP_HELD(16)])
{
    float part[VF_GROUP_HELD(16)];
    VF_GROUP_VALUES(16, i)
    part[i] = a[i] * b[i];
    return vf_group_sum_16(part);
}

/** Variance of a landmark's inverse range by that of camera 0's way since its host: of a way that may be so much longer
 *  or shorter all ranges are [1/m^2]. pose: of the newest frame relative to the host. */
VF_FN float vf_second_doubt(const struct vf_window *w, const struct vf_landmark *l, const struct vf_pose *pose)
{
    const float since_s = 1e-9f * (float)(w->slot[w->newest].t_ns - w->slot[l->host].t_ns),
                s = since_s < VF_SECOND_STEADY_S ? since_s : VF_SECOND_STEADY_S;
    float variance = 0.0f;
    for (int c = VF_NAV_V; c < VF_NAV_V + 3; c++) variance += (float)w->covariance[c * (VF_WINDOW_SAID + 1)];
    return l->inverse * l->inverse * variance * s * s / (vf_dot(pose->t, pose->t) + 1e-9f);
}

/** 1 / variance of a landmark's inverse range by what it is known from before any sight and by its sights but the one
 *  that is tested, all of which see it from about its host's place; its bearing is known by them alone [m^2]. doubt: of
 *  the way. */
VF_FN float vf_second_known(const struct vf_second_rows *rows, const struct vf_landmark_rig *rig, float doubt)
{
    const float least = 1.0f / (rig->range_sigma * rig->range_sigma), other = vf_group_sum_16(rows->known),
                weights = vf_second_product(rows->weight, rows->weight);
    float parallax = 0.0f, mean = 0.0f;
    VF_UNROLL
    for (int c = 0; c < 3; c++) {
        const float sum = vf_second_product(rows->weight, rows->move[c]);
        parallax += vf_second_product(rows->move[c], rows->move[c]);
        mean += sum * sum;
    }
    const float across = weights > 0.0f ? parallax - mean / weights : 0.0f;
    return least + other + (across > 0.0f ? across / (1.0f + across * doubt) : 0.0f);
}

/** Of landmark i that the newest frame sees: how well its range is known by its other sights, and the verdict on camera
 *  1's sight: 1: it contradicts; 0: it agrees; -1: there is none. Of a group. */
VF_FN void vf_second_verdict(const struct vf_window *w, struct vf_window_work *k, const struct vf_landmark_rig *rig,
                             int i)
{
    const struct vf_landmark *l = &w->landmark[i];
    const struct vf_window_sight *s = &l->sight[w->newest];
    const int sighted = l->id && l->host != w->newest && l->seen >> w->newest & 1;
    struct vf_second_rows rows;
    if (VF_GROUP_FIRST(16)) k->second[i] = -1;
    if (VF_GROUP_ALONE && !sighted) return;
    memset(&rows, 0, sizeof rows);
    VF_GROUP(16, j, f)
    {
        if (sighted && f < VF_WINDOW_FRAMES && l->seen >> f & 1)
            vf_second_row(&rows, j, l, &l->sight[f], rig, &k->host[l->host].pose[f], &k->drift[f], f == w->newest);
    }
    const float doubt = sighted ? vf_second_doubt(w, l, &k->host[l->host].pose[w->newest]) : 0.0f;
    const float known = vf_second_known(&rows, rig, doubt), by = vf_group_sum_16(rows.by_inverse),
                residual = vf_group_sum_16(rows.residual), scale = VF_SECOND_SCALE * l->inverse,
                offset = (float)w->covariance[VF_WINDOW_SAID_DISPARITY * (VF_WINDOW_SAID + 1)],
                spread = by * by * (1.0f / known + scale * scale) + s->other_weight * s->other_weight * offset;
    if (!sighted || !VF_GROUP_FIRST(16)) return;
    k->known_range[i] = known;
    if (s->other_weight > 0.0f)
        k->second[i] = residual * residual > VF_SECOND_GATE * ((float)vf_window_scatter(w) + spread);
}

/** Camera 1 after a frame in which so many of its sights were tested, and contradict; without any nothing changes. By
 *  one item. */
VF_FN void vf_second_judge(struct vf_window *w, uint32_t tested, uint32_t contrary)
{
    const int contradicts = tested >= VF_SECOND_FEWEST && VF_SECOND_SHARE * contrary > tested;
    const double dt_s = w->slot[w->newest].motion.dt_s;
    if (!tested) return;
    w->second_contrary_s = contradicts ? w->second_contrary_s + dt_s : 0.0;
    if (contradicts && w->second_contrary_s <= VF_SECOND_MOST_S)
        w->second_off_s = VF_SECOND_S;
    else
        w->second_off_s -= w->second_off_s > 0.0 ? dt_s : 0.0;
}

/** How well ranges are known, and verdicts on camera 1's sights, of all landmarks, before camera 0's. */
VF_FN void vf_window_ranges(const struct vf_window *w, struct vf_window_work *k)
{
    const struct vf_landmark_rig rig = vf_window_landmark_rig(w);
    VF_GROUPS(16, i, VF_WINDOW_LANDMARKS)
    vf_second_verdict(w, k, &rig, i);
}

/** Camera 1's sights in the newest frame: taken or not. off_sight has camera 0's verdicts. Of one block. */
VF_FN void vf_window_second(struct vf_window *w, struct vf_window_work *k, uint32_t sights)
{
    VF_PARTS(part, VF_WINDOW_PARTS)
    {
        k->number[part] = k->off[part] = 0;
        for (uint32_t i = (uint32_t)part; i < sights; i += VF_WINDOW_PARTS) {
            const int verdict = vf_window_taken(k, i) ? k->second[k->landmark_of[i]] : -1;
            k->number[part] += verdict >= 0;
            k->off[part] += verdict > 0;
        }
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, 1)
    {
        uint32_t tested = 0, contrary = 0;
        VF_UNROLL_16
        for (int part = 0; part < VF_WINDOW_PARTS; part++) {
            tested += k->number[part];
            contrary += k->off[part];
        }
        vf_second_judge(w, tested, contrary);
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, (int)sights)
    {
        if (w->second_off_s > 0.0 && k->landmark_of[i] >= 0)
            w->landmark[k->landmark_of[i]].sight[w->newest].other_weight = 0.0f;
    }
    VF_ITEM_SYNC();
}

#endif
