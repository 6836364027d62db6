/* SPDX-License-Identifier: MIT */
/* Gate of the window: sights of the newest frame that do not agree with the readings are left out, so that what moves
 * by itself does not take the state with it, be it most of the picture.
 *
 * In      newest frame with the state that its readings predict; its sights of landmarks
 * Out     landmarks' bit `seen` of that frame taken away where it is refused; their count `refused`; off_sight
 * Rule    residual of camera 0 at the prediction, squared, over its deviation: the least level 2^i VF_GATE_LEVEL
 *         within which VF_GATE_SHARE of all sights are, times VF_GATE_TIMES, is the gate of all. Where VF_GATE_SPREAD
 *         variances of a sight by the prediction are less, these are its gate: variance of the newest frame's pose
 *         relative to the landmark's host, by the covariance, and a floor for what tracks slide, lower in a dispute. So
 *         a body that most sights are of is not taken for the world unless the readings may be off by as much; and
 *         pictures after a gap are taken, since the covariance has grown. A gate is never below VF_GATE_LEAST
 *         A landmark is on trial until VF_GATE_TRIAL_NS after its first sight. It does not count meanwhile where there
 *         are VF_GATE_PROVEN others, or in a dispute: what hangs still for a moment is not the world
 *         One that was refused VF_GATE_REFUSALS times is not taken, nor is its track a new one. Refusals are forgotten
 *         when it has agreed for as long as a trial lasts
 *         The lower floor of a dispute is not for landmarks of VF_GATE_STEADY_NS and more without a refusal: where
 *         readings are off for a moment, all of these contradict them a little, and are right
 *         Where more than VF_GATE_DISPUTE times as many sights are refused as are taken, readings and pictures are in
 *         dispute for VF_GATE_DISPUTE_S from then on. Of a frame without sights of camera 1 only those of landmarks
 *         whose range is known count. A dispute begins where VF_GATE_FEWEST sights at least agree with the readings:
 *         where none does, these may be the ones that are wrong
 *         With one camera the gate is that of all, and there is no dispute: ranges are not known until later. So it is
 *         where readings are missing or saturated: the prediction is too poor to tell a body from the world
 *         There is a body beside the world where VF_GATE_FEWEST_CLOSE landmarks and half of those that are neither on
 *         trial nor spent are within VF_GATE_CLOSE variances of the scatter, and one sight in VF_GATE_BODY is refused
 *         or spent. Readings that are wrong contradict all sights alike: then few are close, or few are refused
 *         Sights of a trial that a landmark passes are taken with the first one behind it
 *         A sight beyond its gate that an error of the landmark's range would bring within it, as far as that is known
 *         by its other sights, is not taken, and counts neither as refused nor against the readings
 * Exact   residuals in single precision, counts are integers
 */
#ifndef VF_WINDOW_GATE_H
#define VF_WINDOW_GATE_H

#include "window_second.h"

/** Lowest level of a squared residual, in squared deviations of a sight. */
#define VF_GATE_LEVEL 0.015625f

/** Share of sights within the level that counts, least number of them; the gate in levels. */
#define VF_GATE_SHARE 4
#define VF_GATE_FEWEST 8
#define VF_GATE_TIMES 16.0f

/** Gate of a sight in variances of its prediction; floor of these, the same in a dispute, and least gate, over the
 *  variance of the scatter. */
#define VF_GATE_SPREAD 9.0f
#define VF_GATE_FLOOR 2.25f
#define VF_GATE_FLOOR_DISPUTED 0.5625f
#define VF_GATE_LEAST 9.0f

/** Gate of a sight where there is none; squared residuals are less. */
#define VF_GATE_NONE 1e30f

/** Sights with which a frame's pictures are believed, so that predictions are relative to it. */
#define VF_GATE_BELIEVED 16

/** Refused sights over taken ones, above which there is a dispute; how long it lasts [s]. */
#define VF_GATE_DISPUTE 2
#define VF_GATE_DISPUTE_S 0.8

#define VF_GATE_REFUSALS 3

/** Time for which a landmark has to agree with the readings before it counts [ns]; sights of older ones with which a
 *  frame can do without it; time after which one without a refusal keeps its floor in a dispute [ns]. */
#define VF_GATE_TRIAL_NS 500000000ull
#define VF_GATE_PROVEN 24
#define VF_GATE_STEADY_NS 1000000000ull

/** Landmarks that tell a body from readings that are wrong: gate of those close to the prediction, in variances of the
 *  scatter, and their least number; sights for each one that is not taken, at most. */
#define VF_GATE_CLOSE 4.0f
#define VF_GATE_FEWEST_CLOSE 16
#define VF_GATE_BODY 4

/** Squared residual of a sight of camera 0 at the prediction; -1: none. explained: what an error of the landmark's
 *  range explains of it. */
VF_FN float vf_gate_square(const struct vf_window *w, const struct vf_window_work *k, int32_t landmark,
                           float *explained)
{
    const struct vf_landmark *l = landmark >= 0 ? &w->landmark[landmark] : NULL;
    float Y[3], seen[3], axis[2][3], g[3], r[2], t[3], by[2];
    *explained = 0.0f;
    if (!l || l->host == w->newest || !(l->seen >> w->newest & 1)) return -1.0f;
    const struct vf_window_sight *s = &l->sight[w->newest];
    const struct vf_pose *pose = &k->host[l->host].pose[w->newest];
    const struct vf_landmark_drift *drift = &k->drift[w->newest];
    vf_transform(pose->R, l->bearing, Y);
    for (int i = 0; i < 3; i++) {
        t[i] = pose->t[i] - s->late_s * drift->velocity[i];
        Y[i] += l->inverse * t[i];
    }
    vf_landmark_turned(drift, s->bearing, s->late_s, seen);
    if (!(vf_dot(seen, Y) > 0.1f)) return 1e6f;
    vf_landmark_axes(seen, axis[0], axis[1]);
    for (int i = 0; i < 2; i++) {
        r[i] = vf_landmark_residual(axis[i], seen, Y, s->weight, g);
        by[i] = vf_dot(g, t);
    }
    const float along = r[0] * by[0] + r[1] * by[1], spread = by[0] * by[0] + by[1] * by[1];
    const float whole = k->known_range[landmark] * (float)vf_window_scatter(w) + spread;
    *explained = along * along / whole;
    return r[0] * r[0] + r[1] * r[1];
}

/** Sum of three of the last covariance's diagonal: block 0 position, 1 attitude, 2 velocity, 3 bias of the gyro. */
VF_FN double vf_gate_block(const struct vf_window *w, int block)
{
    double sum = 0.0;
    for (int i = 3 * block; i < 3 * block + 3; i++) sum += w->covariance[i * (VF_WINDOW_SAID + 1)];
    return sum;
}

/** Variance of the predicted position and attitude of the newest frame relative to a host, all axes. */
VF_FN void vf_gate_doubt(const struct vf_window *w, int32_t host, double doubt[2])
{
    const struct vf_preintegral *m = &w->slot[w->newest].motion;
    for (int k = 0; k < 2; k++) {
        const double *from = w->slot[host].variance, now = vf_gate_block(w, k);
        const double since = now - (from[k] > w->believed[k] ? from[k] : w->believed[k]);
        const double root = sqrt(since > 0.0 ? since : 0.0) + sqrt(vf_gate_block(w, 2 + k)) * m->dt_s;
        doubt[k] = root * root;
        for (int i = 0; i < 3; i++) doubt[k] += m->P[(k ? 0 : 60) + 10 * i];
    }
}

/** 1 if the prediction can tell a body from the world. */
VF_FN int vf_gate_can_tell(const struct vf_window *w) { return w->rig.cameras > 1 && !w->slot[w->newest].motion.flags; }

/** Time since a landmark's first sight [ns]. */
VF_FN uint64_t vf_gate_age_ns(const struct vf_window *w, const struct vf_landmark *l)
{
    return w->slot[w->newest].t_ns - w->slot[l->host].t_ns;
}

/** Gate of a sight of the newest frame. gate: that of all; 0: none. */
VF_FN float vf_gate_own(const struct vf_window *w, const struct vf_landmark *l, float gate)
{
    const float weight = l->sight[w->newest].weight, scatter = (float)vf_window_scatter(w);
    const float all = gate > 0.0f ? gate : VF_GATE_NONE;
    double doubt[2];
    if (!vf_gate_can_tell(w)) return all < VF_GATE_LEAST * scatter ? VF_GATE_LEAST * scatter : all;
    vf_gate_doubt(w, l->host, doubt);
    const float spread = (float)doubt[0] * l->inverse * l->inverse + (float)doubt[1];
    const int steady = !l->refused && vf_gate_age_ns(w, l) >= VF_GATE_STEADY_NS;
    const float floor = w->dispute_s > 0.0 && !steady ? VF_GATE_FLOOR_DISPUTED : VF_GATE_FLOOR;
    const float most = VF_GATE_SPREAD * (floor * scatter + weight * weight * spread);
    const float own = all < most ? all : most;
    return own < VF_GATE_LEAST * scatter ? VF_GATE_LEAST * scatter : own;
}

/** Gate of all by the counts of sights within each level; 0: none. */
VF_FN float vf_gate_of(const uint32_t within[VF_GATE_LEVELS], uint32_t tested)
{
    float level = VF_GATE_LEVEL;
    for (int i = 0; i < VF_GATE_LEVELS; i++, level *= 2.0f) {
        if (within[i] >= VF_GATE_FEWEST && VF_GATE_SHARE * within[i] >= tested) return VF_GATE_TIMES * level;
    }
    return 0.0f;
}

/** Verdict on a sight of the newest frame. gate: that of all; 0: none; explained: of vf_gate_square(). */
VF_FN int vf_gate_verdict(const struct vf_window *w, struct vf_landmark *l, float square, float gate, float explained)
{
    const uint64_t now_ns = w->slot[w->newest].t_ns;
    const float own = vf_gate_own(w, l, gate);
    if (square > own) {
        if (square - explained <= own) return VF_GATE_SPENT;
        l->refused++;
        l->refused_ns = now_ns;
        return VF_GATE_REFUSED;
    }
    if (now_ns - l->refused_ns >= VF_GATE_TRIAL_NS) l->refused = 0;
    if (l->refused >= VF_GATE_REFUSALS) return VF_GATE_SPENT;
    return vf_gate_age_ns(w, l) < VF_GATE_TRIAL_NS ? VF_GATE_ON_TRIAL : VF_GATE_TAKEN;
}

/** 1 if the landmark of a sight has had a range from its first frame on. */
VF_FN int vf_gate_ranged(const struct vf_window *w, const struct vf_window_work *k, uint32_t sight)
{
    const struct vf_landmark *l = &w->landmark[k->landmark_of[sight]];
    return l->sight[l->host].other_weight > 0.0f;
}

/** Bits of the counts that a sight is in, by what the gate says of it. */
VF_FN uint32_t vf_gate_counted(const struct vf_window *w, const struct vf_window_work *k, uint32_t i)
{
    const uint32_t known = k->landmark_of[i] >= 0, tested = known && k->square[i] >= 0.0f;
    const struct vf_landmark *l = known ? &w->landmark[k->landmark_of[i]] : NULL;
    const uint32_t ranged = tested && vf_gate_ranged(w, k, i), off = k->off_sight[i] == VF_GATE_REFUSED;
    const uint32_t old = tested && l->refused < VF_GATE_REFUSALS && vf_gate_age_ns(w, l) >= VF_GATE_TRIAL_NS;
    const uint32_t close = old && k->square[i] - k->explained[i] <= VF_GATE_CLOSE * (float)vf_window_scatter(w);
    const uint32_t both = known && l->sight[w->newest].other_weight > 0.0f;
    const uint32_t proven = ranged && k->off_sight[i] == VF_GATE_TAKEN;
    const uint32_t not_taken = off || (tested && l->refused >= VF_GATE_REFUSALS);
    return proven << VF_GATE_OF_PROVEN | off << VF_GATE_OF_REFUSED | (off & ranged) << VF_GATE_OF_REFUSED_RANGED |
           both << VF_GATE_OF_BOTH | tested << VF_GATE_OF_TESTED | not_taken << VF_GATE_OF_NOT_TAKEN |
           old << VF_GATE_OF_OLD | close << VF_GATE_OF_CLOSE;
}

/** Counts of all sights. Of one block. */
VF_FN void vf_gate_counts(const struct vf_window *w, struct vf_window_work *k, uint32_t sights)
{
    VF_PARTS(i, (int)sights)
    k->counted[i] = vf_gate_counted(w, k, (uint32_t)i);
    VF_ITEM_SYNC();
    VF_PARTS(n, VF_GATE_COUNTS)
    {
        uint32_t count = 0;
        VF_UNROLL_16
        for (uint32_t i = 0; i < sights; i++) count += k->counted[i] >> n & 1;
        k->counts[n] = count;
    }
    VF_ITEM_SYNC();
}

/** 1 if there is a body beside the world. */
VF_FN int vf_gate_sees_body(const struct vf_window *w, const struct vf_window_work *k)
{
    const uint32_t close = k->counts[VF_GATE_OF_CLOSE];
    return vf_gate_can_tell(w) && close >= VF_GATE_FEWEST_CLOSE && 2 * close >= k->counts[VF_GATE_OF_OLD] &&
           VF_GATE_BODY * k->counts[VF_GATE_OF_NOT_TAKEN] >= k->counts[VF_GATE_OF_TESTED];
}

/** Least verdict that is not taken: landmarks on trial do not count in a dispute, nor where there are enough others
 *  whose ranges are known: where camera 1 tells none, a landmark has to count to get one. Of one block. */
VF_FN void vf_gate_least(struct vf_window *w, struct vf_window_work *k, uint32_t sights)
{
    vf_gate_counts(w, k, sights);
    VF_PARTS(i, 1)
    {
        const int paired = k->counts[VF_GATE_OF_BOTH] > 0;
        w->proven = k->counts[VF_GATE_OF_PROVEN];
        w->body = (uint32_t)vf_gate_sees_body(w, k);
        k->contrary = k->counts[paired ? VF_GATE_OF_REFUSED : VF_GATE_OF_REFUSED_RANGED];
        const int tries = vf_gate_can_tell(w) && (w->dispute_s > 0.0 || w->proven >= VF_GATE_PROVEN);
        k->least_off = tries ? VF_GATE_ON_TRIAL : VF_GATE_SPENT;
    }
    VF_ITEM_SYNC();
}

/** A sight is taken or not; with the first one that is not on trial, those of the trial are, too. */
VF_FN void vf_gate_take(struct vf_landmark *l, uint32_t newest, int off, int least_off)
{
    if (off >= least_off) l->seen &= ~newest;
    if (off >= least_off && off == VF_GATE_ON_TRIAL) l->tried |= newest;
    if (off != VF_GATE_TAKEN) return;
    l->seen |= l->tried;
    l->tried = 0;
}

/** Sights of the newest frame, refused or not; poses relative to hosts, and vf_window_ranges(), are there. Of one
 *  block. */
VF_FN void vf_window_gate(struct vf_window *w, struct vf_window_work *k, uint32_t sights)
{
    VF_PARTS(block, 2)
    if (w->taken >= VF_GATE_BELIEVED) w->believed[block] = vf_gate_block(w, block);
    VF_PARTS(i, (int)sights)
    k->square[i] = vf_gate_square(w, k, k->landmark_of[i], &k->explained[i]);
    VF_ITEM_SYNC();
    VF_PARTS(i, VF_GATE_LEVELS + 1)
    { /* the last one: of any size */
        const float most = i < VF_GATE_LEVELS ? VF_GATE_LEVEL * (float)(1 << i) : 1e30f;
        uint32_t count = 0;
        VF_UNROLL_16
        for (uint32_t j = 0; j < sights; j++) count += k->square[j] >= 0.0f && k->square[j] <= most;
        k->within[i] = count;
    }
    VF_ITEM_SYNC();
    const float gate = vf_gate_of(k->within, k->within[VF_GATE_LEVELS]);
    VF_PARTS(i, (int)sights)
    {
        struct vf_landmark *l = k->landmark_of[i] >= 0 ? &w->landmark[k->landmark_of[i]] : NULL;
        k->off_sight[i] = l && k->square[i] >= 0.0f ? vf_gate_verdict(w, l, k->square[i], gate, k->explained[i])
                                                    : VF_GATE_TAKEN;
    }
    VF_ITEM_SYNC();
    vf_window_second(w, k, sights);
    vf_gate_least(w, k, sights);
    VF_PARTS(i, (int)sights)
    if (k->landmark_of[i] >= 0)
        vf_gate_take(&w->landmark[k->landmark_of[i]], 1u << w->newest, k->off_sight[i], k->least_off);
    VF_ITEM_SYNC();
}

/** Dispute after a frame: sights of landmarks taken, and refused. By one item. */
VF_FN void vf_gate_dispute(struct vf_window *w, uint32_t taken, uint32_t refused)
{
    const int most = refused > VF_GATE_DISPUTE * taken && taken + refused >= VF_GATE_BELIEVED;
    if (most && vf_gate_can_tell(w) && (taken >= VF_GATE_FEWEST || w->dispute_s > 0.0))
        w->dispute_s = VF_GATE_DISPUTE_S;
    else
        w->dispute_s -= w->dispute_s > 0.0 ? w->slot[w->newest].motion.dt_s : 0.0;
    w->taken = taken;
}

#endif
