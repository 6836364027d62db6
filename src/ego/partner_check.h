/* SPDX-License-Identifier: MIT */
/* partner_check: state of the camera pair from the tracks' partners, for steps without the stage stereo.
 *
 * In      tracks of each frame with their partners; health: time since the frame before, missing and frozen pictures,
 *         sharpness
 * Out     health.stereo, health.stereo_permille. The metric motion is refused in a frame that is SUSPECT or BLIND and
 *         in the next one: `metric`, `good`, `agrees`, health.motion_breaks. The port's prediction of the next frame
 *         and the estimator still go by it
 * Rule    - Of the tracks that had a partner in the last GOOD frame, most have one again. The share that does is a mean
 *           over GOOD frames; over a longer time than theirs more is missing. SUSPECT: fewer, at 10^-6. Where too few
 *           tracks are left of that frame: the share of all tracks with a partner, likewise
 *         - SUSPECT until the share of all tracks with a partner is as in GOOD frames, at 10^-2. While SUSPECT that
 *           mean follows the scene
 *         - SUSPECT, too: partners for less than 5 % of the tracks; 40 % of the partners beyond infinity
 *           (stereo_pair.h)
 *         - BLIND: a picture is missing or frozen; partners are missing, and camera 1 alone is blurred; or there are
 *           fewer than 16 tracks, which refuses no motion
 *         Neighbours see the same part of the scene: VF_PAIR_ALIKE of them count as one.
 *         Partners lie on their epipolar lines: a camera that was moved is SUSPECT only as far as they vanish.
 * Exact   double precision in one order, on the host
 */
#ifndef VF_PARTNER_CHECK_H
#define VF_PARTNER_CHECK_H

#include "motion_check.h"
#include "geometry/stereo_pair.h"

/** Probability, a frame, with which a pair without a fault is SUSPECT; below which it stays so. */
#define VF_PARTNER_SUSPECT 1e-6
#define VF_PARTNER_LASTS 1e-2
/** Most groups of tracks that count as independent: the probability of none stays within double precision. */
#define VF_PARTNER_GROUPS 64u

struct vf_partner_check {
    uint64_t id[VFRONT_TRACKS]; /* tracks with a partner in the last GOOD frame, by rising id */
    uint32_t count;             /* their number */
    uint32_t frames;            /* number of GOOD frames in `again`, at most VF_PAIR_FRAMES */
    double again, share;        /* means: share of known tracks with one again; of all tracks with a partner */
    double interval_s, since_s; /* mean time between GOOD frames in a row; time since the last GOOD frame */
    uint32_t state;             /* of the frame before, vfront_stereo_state_t */
    uint32_t lasts;             /* 1: SUSPECT, and no frame has been GOOD since */
    uint32_t metric, breaks;    /* of the frame before, as reported: state of the metric motion; health.motion_breaks */
    vfront_motion_t good;       /* `good` of the frame before, as reported */
};

/** Numbers of tracks of a frame: all; with a partner, of these beyond infinity; with one in the last GOOD frame, of
 *  these with one again. */
struct vf_partner_counts {
    uint32_t all, partners, behind, known, again;
};

/** Counts the tracks of a frame, in two lists by rising id. */
static inline struct vf_partner_counts vf_partner_count(const struct vf_partner_check *c, const vfront_track_t *track,
                                                        uint32_t tracks)
{
    struct vf_partner_counts n = {tracks, 0, 0, 0, 0};
    uint32_t at = 0;
    for (uint32_t i = 0; i < tracks; i++) {
        const int partner = track[i].disparity_sigma_px > 0.0f;
        while (at < c->count && c->id[at] < track[i].id) at++;
        const int known = at < c->count && c->id[at] == track[i].id;
        n.partners += (uint32_t)partner;
        n.behind += (uint32_t)(partner && track[i].disparity_px < -VF_PAIR_BEHIND_PX);
        n.known += (uint32_t)known;
        n.again += (uint32_t)(known && partner);
    }
    return n;
}

/** Probability of at most `some` of `all`, if a mean share of `again` was seen among `seen` before: tail of the
 *  beta-binomial distribution, from a uniform prior. */
static inline double vf_partner_tail(uint32_t some, uint32_t all, double again, double seen)
{
    const double yes = again * seen + 1.0, no = (1.0 - again) * seen + 1.0;
    double of_k = 1.0, sum = 0.0;
    for (uint32_t i = 0; i < all; i++) of_k *= (no + i) / (yes + no + i);
    for (uint32_t k = 0; k <= some && k <= all; k++) {
        sum += of_k;
        of_k *= (all - k) * (yes + k) / ((k + 1.0) * (no + (all - k) - 1.0));
    }
    return sum;
}

/** 1 if `some` of `all` tracks are unlikely few. share: mean over `frames` frames with as many tracks. */
static inline int vf_partner_fewer(uint32_t some, uint32_t all, double share, double frames, double risk)
{
    const uint32_t most = VF_PARTNER_GROUPS * (uint32_t)VF_PAIR_ALIKE, alike = all > most ? all : most,
                   groups = all * VF_PARTNER_GROUPS / alike, there = (some * VF_PARTNER_GROUPS + alike - 1) / alike;
    return vf_partner_tail(there, groups, share, frames * groups) < risk;
}

/** 1 if partners are missing or beyond infinity in this frame. */
static inline int vf_partner_suspect(const struct vf_partner_check *c, const struct vf_partner_counts *n)
{
    const double intervals = c->since_s > c->interval_s && c->interval_s > 0.0 ? c->since_s / c->interval_s : 1.0,
                 lost = (1.0 - c->again) * intervals;
    if (n->partners * 1000u < n->all * VF_PAIR_PERMILLE) return 1;
    if (n->behind * 100u > n->partners * VF_PAIR_BEHIND_PERCENT) return 1;
    if (c->frames && !c->lasts && n->known >= VF_PAIR_MIN)
        return vf_partner_fewer(n->again, n->known, lost < 1.0 ? 1.0 - lost : 0.0, c->frames, VF_PARTNER_SUSPECT);
    return vf_partner_fewer(n->partners, n->all, c->share, c->frames, c->lasts ? VF_PARTNER_LASTS : VF_PARTNER_SUSPECT);
}

/** 1 if camera 1 has lost its sharpness, and camera 0 has not. */
static inline int vf_partner_blurred(const vfront_health_t *h)
{
    return 2.0f * h->sharpness_grey[VFRONT_CAMERAS - 1] < h->sharpness_grey[0];
}

/** Takes a GOOD frame into the means, and its tracks with a partner as those known from now on. */
static inline void vf_partner_learn(struct vf_partner_check *c, const struct vf_partner_counts *n,
                                    const vfront_track_t *track)
{
    const double all = n->all, known = n->known, frames = c->frames < VF_PAIR_FRAMES ? c->frames + 1 : VF_PAIR_FRAMES;
    c->share += (n->partners / all - c->share) / frames;
    if (n->known >= VF_PAIR_MIN && c->state == VFRONT_STEREO_GOOD) {
        c->again += (n->again / known - c->again) / frames;
        c->interval_s += (c->since_s - c->interval_s) / frames;
        c->frames = (uint32_t)frames;
    }
    c->count = 0;
    c->since_s = 0.0;
    for (uint32_t i = 0; i < n->all; i++)
        if (track[i].disparity_sigma_px > 0.0f) c->id[c->count++] = track[i].id;
}

/** Refuses the metric motion of a result. */
static inline void vf_partner_refuse(const struct vf_partner_check *c, vfront_result_t *r)
{
    if (r->metric.state == VFRONT_MOTION_GOOD) {
        r->good = c->good;
        if (r->relative.state == VFRONT_MOTION_GOOD) r->good = r->relative;
    }
    vf_motion_check_invalidate(&r->metric, VFRONT_MOTION_STEREO);
    for (uint32_t i = 0; i < r->tracks_count; i++) r->tracks[i].agrees &= ~(uint32_t)VFRONT_AGREES_METRIC;
}

/** Takes a frame into the check. */
static inline void vf_partner_check(struct vf_partner_check *c, vfront_result_t *r)
{
    vfront_health_t *h = &r->health;
    if (h->state == VFRONT_STARTING) {
        memset(c, 0, sizeof *c);
        c->breaks = h->motion_breaks;
    }
    c->since_s += 1e-9 * (double)h->dt_ns;
    const struct vf_partner_counts n = vf_partner_count(c, r->tracks, r->tracks_count);
    const int unseen = h->missing || h->frozen[0] || h->frozen[VFRONT_CAMERAS - 1], few = n.all < VF_PAIR_MIN,
              suspect = !unseen && !few && vf_partner_suspect(c, &n), blurred = suspect && vf_partner_blurred(h),
              tried = r->metric.state == VFRONT_MOTION_GOOD || r->metric.state == VFRONT_MOTION_UNSURE,
              refused = tried && (unseen || suspect || c->state > VFRONT_STEREO_GOOD) && !few;
    h->stereo_permille = n.all ? n.partners * 1000u / n.all : 0;
    h->stereo = unseen || few || blurred ? VFRONT_STEREO_BLIND : suspect ? VFRONT_STEREO_SUSPECT : VFRONT_STEREO_GOOD;
    if (h->stereo == VFRONT_STEREO_GOOD) vf_partner_learn(c, &n, r->tracks);
    if (suspect) c->share += (n.partners / (double)n.all - c->share) / VF_PAIR_SUSPECT_FRAMES;
    if (!unseen && !few) c->lasts = (uint32_t)suspect;
    c->state = few ? VFRONT_STEREO_NONE : h->stereo;
    if (refused) vf_partner_refuse(c, r);
    c->breaks += c->metric == VFRONT_MOTION_GOOD && r->metric.state != VFRONT_MOTION_GOOD;
    h->motion_breaks = c->breaks;
    c->metric = r->metric.state;
    c->good = r->good;
}

#endif
