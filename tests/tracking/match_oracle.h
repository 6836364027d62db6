/* SPDX-License-Identifier: MIT */
/* Oracle of match: the rule in its textbook form, in double precision, over all pairs. Key points are placed by a test;
 * the results of the previous frame come from frames that the test made itself. Included by match.c. */
#ifndef MATCH_ORACLE_H
#define MATCH_ORACLE_H

#include "tests/fixture/stage.h"

/* ---- frames, kept apart from the arena --------------------------------------------------------------------------- */

struct keypoint {
    double bearing[3], predicted[3];          /* as stored; at constant velocity in the next frame */
    double before[3];                         /* of its match in the previous frame; 0 0 0: none */
    int32_t x_q16, y_q16, level, orientation; /* orientation in 1/65536 of a full turn */
    struct vf_match_link link;                /* to its match in the previous frame; age 0: none */
    vfront_descriptor_t bits;
};
struct frame {
    int32_t count;
    struct keypoint point[VFRONT_KEYPOINTS];
};
static struct frame frames[2], *now, *before;

static double size_of(int32_t level) { return step.geometry.step_q16[level] / 65536.0; }

static void set_bearing(struct keypoint *p, double x, double y, double z)
{
    const double v[3] = {x, y, z};
    for (int k = 0; k < 3; k++) p->bearing[k] = p->predicted[k] = (double)(float)v[k];
}

static void set_unit(struct keypoint *p, double x, double y, double z)
{
    const double length = sqrt(x * x + y * y + z * z);
    set_bearing(p, x / length, y / length, z / length);
}

static void set_noise(vfront_descriptor_t *d) { scribble(d, sizeof *d); }

/** Flips `count` different bits, from bit `first` on. */
static void flip(vfront_descriptor_t *d, int32_t first, int32_t count)
{
    for (int32_t k = first; k < first + count; k++) d->word[k % 256 / 32] ^= 1u << k % 32;
}

/** Random key point in front of the camera. */
static struct keypoint random_keypoint(void)
{
    struct keypoint p;
    memset(&p, 0, sizeof p);
    set_unit(&p, between(-9999, 9999) * 1e-4, between(-9999, 9999) * 1e-4, 1.0);
    p.x_q16 = between(0, 63 << 16);
    p.y_q16 = between(0, 63 << 16);
    p.level = roll(step.geometry.scales);
    p.orientation = between(-32768, 32767);
    set_noise(&p.bits);
    return p;
}

/** Begins a frame; the current one becomes the previous. */
static void next_frame(int32_t count)
{
    struct frame *was = now;
    now = before;
    before = was;
    now->count = count;
    step.parity ^= 1;
}

/** Writes a frame into the arena, in the buffers of a parity. */
static void put_frame(const struct frame *f, int32_t parity)
{
    memory.bearing.count[parity][0] = (uint32_t)f->count;
    for (int32_t i = 0; i < f->count; i++) {
        const struct keypoint *p = &f->point[i];
        struct vf_point *to = &memory.bearing.point[parity][0][i];
        for (int k = 0; k < 3; k++) to->bearing[k] = (float)p->bearing[k];
        to->x_q16 = p->x_q16;
        to->y_q16 = p->y_q16;
        to->level = p->level;
        to->step = (float)size_of(p->level);
        memory.describe.angle[parity][0][i] = (float)(p->orientation * 6.283185307179586 / 65536.0);
        memory.describe.descriptor[parity][0][i] = p->bits;
    }
}

/** Writes the matches of the previous frame's key points into the arena, as if the stage had found them. */
static void put_matches(void)
{
    for (int32_t i = 0; i < before->count; i++)
        for (int k = 0; k < 3; k++) memory.match.before[step.parity ^ 1][i][k] = (float)before->point[i].before[k];
}

/** Writes their links; those of this frame are noise. */
static void put_links(void)
{
    scribble(memory.match.link[step.parity], sizeof memory.match.link[step.parity]);
    for (int32_t i = 0; i < before->count; i++) memory.match.link[step.parity ^ 1][i] = before->point[i].link;
}

/* ---- oracle ------------------------------------------------------------------------------------------------------ */

static struct vf_params *params;
static uint64_t pairs_listed, pairs_dropped, cases_discarded, cases_run;

static int distance_of(const struct keypoint *a, const struct keypoint *b)
{
    int bits = 0;
    for (int k = 0; k < 8; k++) bits += __builtin_popcount(a->bits.word[k] ^ b->bits.word[k]);
    return bits;
}

/** Greatest variance of the predicted rotation, first 3, or translation, first 0. */
static double greatest_variance(int first)
{
    double most = 0.0;
    for (int k = 0, n = 0; k < 6; n += 6 - k++) /* diagonal of the upper triangle */
        if (k / 3 == first / 3) most = fmax(most, (double)memory.predict.now.covariance[n]);
    return most;
}

/** Position and window [rad] of key point b of the previous frame by the predicted rotation. Its last displacement
 *  without that frame's rotation continues; half of it and of the mean one is uncertain. Without one, the mean is. */
static double place_by_rotation(const struct keypoint *b, double at[3])
{
    const struct vf_parallax_prior *q = &memory.predict.parallax;
    const double ratio = (double)q->ratio, reference = (double)q->rms * (ratio > 0.0 ? ratio : 1.0);
    const int seen = ratio > 0.0 && (b->before[0] != 0.0 || b->before[1] != 0.0 || b->before[2] != 0.0);
    double there[3], left = 0.0, length = 0.0;
    for (int k = 0; k < 3; k++) {
        double parallax = b->bearing[k];
        for (int c = 0; c < 3; c++) parallax -= (double)q->R[3 * k + c] * b->before[c];
        if (!seen) parallax = 0.0;
        there[k] = b->bearing[k] + ratio * parallax;
        left += ratio * ratio * parallax * parallax;
    }
    for (int k = 0; k < 3; k++) {
        at[k] = 0.0;
        for (int c = 0; c < 3; c++) at[k] += (double)memory.predict.now.R[3 * k + c] * there[c];
        length += at[k] * at[k];
    }
    for (int k = 0; k < 3; k++) at[k] /= sqrt(length);
    return 3.0 * sqrt(greatest_variance(3) + (seen ? 0.25 * (left + reference * reference) : reference * reference));
}

/** Position and window [rad] of key point b of the previous frame by the predicted motion. */
static double place_by_motion(const struct keypoint *b, double at[3])
{
    const vfront_prediction_t *p = &memory.predict.now;
    const int32_t j = (int32_t)(b - before->point);
    double inverse = (double)memory.predict.prior.mean_1pm, sigma = (double)memory.predict.prior.sigma_1pm, t2 = 0.0,
           length = 0.0;
    int known = 0;
#if VFRONT_STEREO
    const double range = (double)memory.stereo.range_m[step.parity ^ 1][j];
    if (range > 0.0) {
        inverse = 1.0 / range;
        sigma = (double)memory.stereo.range_sigma_m[step.parity ^ 1][j] / (range * range);
        known = 1;
    }
#endif
    (void)j;
    const int matched = !memory.predict.parallax.stale &&
                        (b->before[0] != 0.0 || b->before[1] != 0.0 || b->before[2] != 0.0);
    const uint32_t moves = VFRONT_PREDICT_MOTION | VFRONT_PREDICT_STATE;
    if (!(p->source & moves) || (!known && (matched || inverse == 0.0))) return place_by_rotation(b, at);
    for (int k = 0; k < 3; k++) {
        at[k] = inverse * (double)p->t[k];
        for (int c = 0; c < 3; c++) at[k] += (double)p->R[3 * k + c] * b->bearing[c];
        t2 += (double)p->t[k] * (double)p->t[k];
        length += at[k] * at[k];
    }
    for (int k = 0; k < 3; k++) at[k] /= sqrt(length);
    return 3.0 * sqrt(greatest_variance(3) + inverse * inverse * greatest_variance(0) + sigma * sigma * t2);
}

/** Distance [px] of a key point from the predicted position of one of the previous frame, minus the window on their
 *  coarser level. */
static double outside_radius_px(const struct keypoint *a, const struct keypoint *b)
{
    const double step_px = fmax(size_of(a->level), size_of(b->level));
    double square = 0.0, place[3], radius_px = step.tuning.match_radius_px * step_px;
    if (step.geometry.calibrated[0])
        radius_px = fmin(radius_px, 6.0 * step_px + place_by_motion(b, place) * (double)step.geometry.focal_px[0]);
    for (int k = 0; k < 3; k++) {
        const double at = step.geometry.calibrated[0] ? place[k] : b->predicted[k];
        square += (a->bearing[k] - at) * (a->bearing[k] - at);
    }
    return sqrt(square) * (double)step.geometry.focal_px[0] - radius_px;
}

static int ambiguous; /* 1: a decision of the case is too close for single precision */

static int is_candidate(const struct keypoint *a, const struct keypoint *b)
{
    if (abs(a->level - b->level) > step.tuning.match_levels) return 0;
    if (step.tuning.match == VFRONT_MATCH_WHOLE) return 1;
    const double off = outside_radius_px(a, b);
    ambiguous |= fabs(off) < (step.geometry.calibrated[0] ? 3e-6 : 1e-6) * (double)step.geometry.focal_px[0];
    return off <= 0.0;
}

static int is_elsewhere(const struct keypoint *best, const struct keypoint *other)
{
    const double near = 4.0 * fmax(size_of(best->level), size_of(other->level));
    return fmax(abs(best->x_q16 - other->x_q16), abs(best->y_q16 - other->y_q16)) / 65536.0 > near;
}

/** Best candidate in a frame for a key point p of the other one; -1: none. p_is_now: p is of this frame. */
static int best_for(const struct frame *list, const struct keypoint *p, int p_is_now)
{
    int best = -1, least = step.tuning.match_distance + 1;
    for (int k = 0; k < list->count; k++) {
        const struct keypoint *q = &list->point[k];
        const int distance = distance_of(p, q);
        if (distance >= least || !(p_is_now ? is_candidate(p, q) : is_candidate(q, p))) continue;
        best = k;
        least = distance;
    }
    return best;
}

static int second_for(const struct keypoint *p, const struct keypoint *best)
{
    int least = 256;
    for (int j = 0; j < before->count; j++)
        if (is_candidate(p, &before->point[j]) && is_elsewhere(best, &before->point[j]))
            least = vf_min(least, distance_of(p, &before->point[j]));
    return least;
}

struct pair {
    int i, j, distance, second, orientation_change;
};
static struct pair should[VFRONT_KEYPOINTS];

/** Pairs of key points that pass the cross-check and the ratio test. */
static int find_pairs(void)
{
    static int back[VFRONT_KEYPOINTS];
    int count = 0;
    for (int j = 0; j < before->count; j++) back[j] = best_for(now, &before->point[j], 0);
    for (int i = 0; i < now->count; i++) {
        const struct keypoint *p = &now->point[i];
        const int j = best_for(before, p, 1);
        if (j < 0 || back[j] != i) continue;
        const int distance = distance_of(p, &before->point[j]), second = second_for(p, &before->point[j]);
        if (step.tuning.match_ratio_percent < 100 &&
            distance / 1.0 > second * step.tuning.match_ratio_percent / 100.0 + 1e-9)
            continue;
        should[count++] = (struct pair){i, j, distance, second,
                                        (p->orientation - before->point[j].orientation) & 65535};
    }
    return count;
}

static double circular_distance(double a, double b, double whole)
{
    const double d = fmod(fabs(a - b), whole);
    return fmin(d, whole - d);
}

/** Roll [1/256 of a full turn]: peak of the differences of orientation, with weights that fall linearly to 0 at
 *  21/256. */
static int roll_of(int count)
{
    int best = 0;
    double most = 0.0;
    for (int top = 0; top < 256; top++) {
        double sum = 0.0;
        for (int k = 0; k < count; k++)
            sum += fmax(0.0, 21.0 - circular_distance(floor(should[k].orientation_change / 256.0 + 0.5), top, 256.0));
        if (sum > most) {
            most = sum;
            best = top;
        }
    }
    return best;
}

static int drop_by_roll(int count)
{
    const int top = roll_of(count);
    int kept = 0;
    for (int k = 0; k < count; k++)
        if (circular_distance(should[k].orientation_change, 256.0 * top, 65536.0) * 360.0 / 65536.0 <=
            step.tuning.match_turn_deg)
            should[kept++] = should[k];
    pairs_dropped += (uint64_t)(count - kept);
    return kept;
}

/** Sets what the next frame needs for its predictions, from the pairs. */
static void predict_next(int count)
{
    for (int i = 0; i < now->count; i++) {
        memcpy(now->point[i].predicted, now->point[i].bearing, sizeof now->point[i].predicted);
        memset(now->point[i].before, 0, sizeof now->point[i].before);
    }
    for (int k = 0; k < count; k++) {
        struct keypoint *p = &now->point[should[k].i];
        const double *was = before->point[should[k].j].bearing;
        double length = 0.0;
        memcpy(p->before, was, sizeof p->before);
        for (int c = 0; c < 3; c++) length += (2 * p->bearing[c] - was[c]) * (2 * p->bearing[c] - was[c]);
        for (int c = 0; c < 3; c++) p->predicted[c] = (2 * p->bearing[c] - was[c]) / sqrt(length);
    }
}

#endif
