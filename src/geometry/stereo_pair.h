/* SPDX-License-Identifier: MIT */
/* stereo_pair: state of the camera pair, from the distances of stereo's matches to their epipolar lines.
 *
 * In      each match: distance, position in camera 1, pixel size of its level; the state after the frame before
 * Out     state of the pair, share of matches, scatter; running means
 * Rule    - A calibration error moves all matches by a small offset, constant and linear in x and y: pitch, roll, focal
 *           length. It is fitted by least squares and does not count against the pair
 *         - SUSPECT: the scatter about the offset is that of a majority anywhere in the band of the search; scatter or
 *           offset differ from earlier frames by more than these explain; few matches; many beyond infinity; camera 1's
 *           pictures are a frame late
 *         - Late: a rotation since the frame before, about axes that move points across their lines, then shifts the
 *           offset. The log-likelihood ratio of the offsets, late and in time, is summed over frames, between 0 and
 *           VF_PAIR_LATE, and forgotten in VF_PAIR_LATE_FRAMES. A sum of n frames has the weight of n /
 *           VF_PAIR_LATE_ALIKE, since errors of frames next to each other are correlated. Not seen: camera 0 late;
 *           rotations along the lines alone; matches that the translation of fast flight moves out of the band
 * Exact   sums in integers; the rest in single precision in one order, quotients correctly rounded
 */
#ifndef VF_STEREO_PAIR_H
#define VF_STEREO_PAIR_H

#include "math/chi2.h"
#include "rig.h"

enum { VF_PAIR_UNKNOWNS = 3 }; /* of an offset */

/** Normal equations of the offset of a frame's matches, means over the matches. Offset of a match [px of its level]:
 *  (c[0] + c[1] x + c[2] y) / step; x, y: half widths from the middle of the picture; step: its level's pixel size. */
struct vf_pair_normal {
    float a[VF_PAIR_UNKNOWNS][VF_PAIR_UNKNOWNS], b[VF_PAIR_UNKNOWNS];
};

/** State of the camera pair in a frame, and its running means over GOOD frames. */
struct vf_pair_health {
    uint32_t state;            /* state of the pair, vfront_stereo_state_t */
    uint32_t permille;         /* share of camera 0's key points that have a match in camera 1 [1/1000] */
    uint32_t frames;           /* number of frames in the running means; at most VF_PAIR_MEAN_FRAMES */
    uint32_t mean_permille_q8; /* running mean of the share of matches [1/256 permille] */
    uint32_t holdoff;          /* frames for which the estimator still ignores camera 1, with matches on their lines */
    float offset_px;           /* mean distance of the matches from their epipolar lines [px of their level] */
    float scatter_px2;         /* variance of the distances about the fitted offset [px^2 of their level] */
    float mean_scatter_px2;    /* running mean of scatter_px2 */
    float scatter_change2;     /* running mean of its squared change, relative to that mean */
    float shift_px2;           /* running mean square of the frame's offset less the running one [px^2] */
    float late;                /* sum of log-likelihood ratios: camera 1 a frame late or in time; 0..VF_PAIR_LATE */
    uint32_t is_late;          /* 1: `late` has reached VF_PAIR_LATE, and has not been 0 since */
    struct vf_pair_normal normal; /* running mean: its solution is the running offset */
};

VF_FN struct vf_pair_health vf_pair_none(void) /* before the first frame, and of an inactive stage */
{
    struct vf_pair_health none;
    memset(&none, 0, sizeof none);
    return none;
}

#define VF_PAIR_FRAMES 8          /* averaging length of the share of matches [GOOD frames] */
#define VF_PAIR_MEAN_FRAMES 256   /* averaging length of offset and scatter [GOOD frames] */
#define VF_PAIR_HOLDOFF 30        /* frames with matches on their lines before the estimator uses camera 1 again */
#define VF_PAIR_SUSPECT_FRAMES 32 /* averaging length of the share of matches while the state is SUSPECT [frames] */
#define VF_PAIR_MIN 16      /* least number of key points of camera 0, and of matches, to assess the camera pair */
#define VF_PAIR_PERMILLE 50 /* least share of camera 0's key points with a match in a GOOD pair [1/1000] */
#define VF_PAIR_PERCENT 65  /* least share of matches of a GOOD pair, relative to its running mean [%] */
#define VF_PAIR_BEHIND_PERCENT 40     /* most matches beyond infinity [%]; swapped cameras have nearly all there */
#define VF_PAIR_BEHIND_PX 0.5f        /* a disparity below minus this is beyond infinity [px of its level] */
#define VF_PAIR_UNIFORM (1.0f / 3.0f) /* variance anywhere in 2 px; of a match: four coordinates in 1 px each [px^2] */
#define VF_PAIR_ALIKE 4.0f /* matches that err alike: a corner is on several levels, neighbours share its picture */
#define VF_PAIR_PRIOR_FRAMES (2 * VF_PAIR_FRAMES) /* number of frames that the first variances count for */
#define VF_PAIR_CHANGE2 0.0625f                   /* scatter_change2 at first: a quarter of the scatter */
/* Camera 1 is late: sum of log-likelihood ratios, 10^6; correlated frames; frames after which it is forgotten, a minute
 * at 30 Hz: a vehicle that has landed no longer turns */
#define VF_PAIR_LATE 13.8f
#define VF_PAIR_LATE_ALIKE 8.0f
#define VF_PAIR_LATE_FRAMES 1800

/** Distance of a match to its epipolar line. All 0: no match. */
struct vf_pair_distance {
    int16_t px;     /* signed distance [1/VF_PAIR_UNIT px of the coarser of its two levels] */
    int8_t x, y;    /* position in camera 1 from the middle of the picture [VF_PAIR_UNIT in a half width] */
    uint8_t scale;  /* VF_PAIR_UNIT over the pixel size of that level; 0: no match */
    uint8_t behind; /* 1: beyond infinity */
};
#define VF_PAIR_UNIT 32.0f

/** px, step: distance and pixel size; x, y: position [half widths]; behind: 1: beyond infinity. */
VF_FN struct vf_pair_distance vf_pair_distance_of(float px, float step, float x, float y, int behind)
{
    struct vf_pair_distance d;
    d.px = (int16_t)vf_round(vf_rig_clamp(px, VF_PAIR_UNIT) * VF_PAIR_UNIT);
    d.x = (int8_t)vf_round(vf_rig_clamp(x, 1.0f) * VF_PAIR_UNIT);
    d.y = (int8_t)vf_round(vf_rig_clamp(y, 1.0f) * VF_PAIR_UNIT);
    d.scale = (uint8_t)vf_max(vf_round(VF_PAIR_UNIT / step), 1);
    d.behind = (uint8_t)behind;
    return d;
}

/** Sums over the matches of a frame. In the equations of an offset a row has the factor VF_PAIR_UNIT^2, a distance
 *  VF_PAIR_UNIT. */
struct vf_pair_sums {
    int32_t matches, behind; /* number of matches; of those beyond infinity */
    /* distances without sign, their squares, normal matrix, right-hand side */
    int64_t distance, square, a[VF_PAIR_UNKNOWNS][VF_PAIR_UNKNOWNS], b[VF_PAIR_UNKNOWNS];
};
/** Number of the 64-bit sums, of which one match adds at most 2^20 to each. */
enum { VF_PAIR_SUMS = 2 + VF_PAIR_UNKNOWNS * (VF_PAIR_UNKNOWNS + 1) };

VF_FN void vf_pair_add(struct vf_pair_sums *sum, struct vf_pair_distance d)
{
    const int32_t row[VF_PAIR_UNKNOWNS] = {d.scale * (int32_t)VF_PAIR_UNIT, d.scale * d.x, d.scale * d.y};
    if (!d.scale) return;
    sum->matches++;
    sum->behind += d.behind;
    sum->distance += vf_abs(d.px);
    sum->square += d.px * d.px;
    for (int i = 0; i < VF_PAIR_UNKNOWNS; i++) {
        for (int j = 0; j < VF_PAIR_UNKNOWNS; j++) sum->a[i][j] += row[i] * row[j];
        sum->b[i] += row[i] * d.px;
    }
}

/** Offset by normal equations, by Gaussian elimination; its prior is 0 +- 1 px. matches: their number. */
VF_FN void vf_pair_solve(struct vf_pair_normal n, float matches, float c[VF_PAIR_UNKNOWNS])
{
    for (int k = 0; k < VF_PAIR_UNKNOWNS; k++) n.a[k][k] += VF_PAIR_UNIFORM / matches;
    for (int k = 0; k < VF_PAIR_UNKNOWNS; k++)
        for (int i = k + 1; i < VF_PAIR_UNKNOWNS; i++) {
            const float factor = n.a[i][k] / n.a[k][k];
            for (int j = k + 1; j < VF_PAIR_UNKNOWNS; j++) n.a[i][j] -= factor * n.a[k][j];
            n.b[i] -= factor * n.b[k];
        }
    for (int k = VF_PAIR_UNKNOWNS - 1; k >= 0; k--) {
        c[k] = n.b[k];
        for (int j = k + 1; j < VF_PAIR_UNKNOWNS; j++) c[k] -= n.a[k][j] * c[j];
        c[k] /= n.a[k][k];
    }
}

/** Mean square of an offset over the matches of the normal equations [px^2]. */
VF_FN float vf_pair_square(const struct vf_pair_normal *n, const float c[VF_PAIR_UNKNOWNS])
{
    float sum = 0.0f;
    for (int i = 0; i < VF_PAIR_UNKNOWNS; i++) sum += c[i] * vf_dot(n->a[i], c);
    return sum;
}

/** Matches of a frame as tests see them. */
struct vf_pair_frame {
    struct vf_pair_normal normal;
    float matches, scatter_px2;    /* their number; variance of their distances about the frame's own offset */
    float shift[VF_PAIR_UNKNOWNS]; /* that offset less the running one */
    float shift_px2;               /* mean square of `shift` over the matches; 0: none yet */
};

/** Of VF_PAIR_MIN matches or more. reference: state after the previous frame. */
VF_FN struct vf_pair_frame vf_pair_frame_of(const struct vf_pair_sums *sum, const struct vf_pair_health *reference)
{
    struct vf_pair_frame f;
    float c[VF_PAIR_UNKNOWNS], mean[VF_PAIR_UNKNOWNS], rows = VF_PAIR_UNIT * VF_PAIR_UNIT;
    f.matches = (float)sum->matches;
    for (int i = 0; i < VF_PAIR_UNKNOWNS; i++) {
        for (int j = 0; j < VF_PAIR_UNKNOWNS; j++) f.normal.a[i][j] = (float)sum->a[i][j] / (rows * rows * f.matches);
        f.normal.b[i] = (float)sum->b[i] / (rows * VF_PAIR_UNIT * f.matches);
    }
    vf_pair_solve(f.normal, f.matches, c);
    const float all = (float)sum->square / (VF_PAIR_UNIT * VF_PAIR_UNIT * f.matches),
                rest = all - 2.0f * vf_dot(c, f.normal.b) + vf_pair_square(&f.normal, c);
    f.scatter_px2 = rest > 0.0f ? rest * (f.matches / (f.matches - (float)VF_PAIR_UNKNOWNS)) : 0.0f;
    vf_pair_solve(reference->normal, f.matches, mean);
    for (int k = 0; k < VF_PAIR_UNKNOWNS; k++) f.shift[k] = c[k] - mean[k];
    f.shift_px2 = reference->frames ? vf_pair_square(&f.normal, f.shift) : 0.0f;
    return f;
}

/** Inputs of the tests. Variances [px^2]: of positions anywhere in the band, stereo_band_px; of rig_centre_mpx, as far
 *  as it changes. */
struct vf_pair_tuning {
    float band_px2, centre_px2;
    /* offset that this frame adds if camera 1 has the picture of the frame before; 0: unknown */
    float late_px[VF_PAIR_UNKNOWNS];
};

/** Variance of an offset's mean square over the matches, by their number [px^2]. */
VF_FN float vf_pair_samples(const struct vf_pair_frame *f, const struct vf_pair_health *reference)
{
    return (float)VF_PAIR_UNKNOWNS * reference->mean_scatter_px2 * (1.0f + 1.0f / (float)reference->frames) /
           f->matches;
}

/** Variance of a frame's shift, for each unknown, by the number of matches and by earlier shifts [px^2]. */
VF_FN float vf_pair_shift_variance(const struct vf_pair_frame *f, const struct vf_pair_health *reference)
{
    return reference->shift_px2 + VF_PAIR_ALIKE * vf_pair_samples(f, reference);
}

/** Sets whether camera 1 is late, after this frame. Ignores frames whose expected shift is 0, or beyond the band of the
 *  search. The variance is taken as if all of it were along that shift. */
VF_FN void vf_pair_weigh_late(struct vf_pair_health *now, const struct vf_pair_frame *f, const struct vf_pair_tuning *t,
                              const struct vf_pair_health *reference)
{
    const float square = vf_pair_square(&f->normal, t->late_px);
    float common = 0.0f, more = 0.0f;
    for (int i = 0; i < VF_PAIR_UNKNOWNS; i++) common += t->late_px[i] * vf_dot(f->normal.a[i], f->shift);
    if (reference->frames && square > 0.0f && square <= t->band_px2)
        more = (common - 0.5f * square) / (VF_PAIR_LATE_ALIKE * vf_pair_shift_variance(f, reference));
    const float late = now->late + more - VF_PAIR_LATE / (float)VF_PAIR_LATE_FRAMES;
    now->late = late > VF_PAIR_LATE ? VF_PAIR_LATE : late > 0.0f ? late : 0.0f;
    now->is_late = now->late >= VF_PAIR_LATE || (now->is_late && now->late > 0.0f);
}

/** 1 if matches lie on their lines, but for an offset: most are not at random; scatter and offset are as in the means,
 *  within their variances and a sample's: of scatter at most its mean times the band's. */
VF_FN int vf_pair_on_lines(const struct vf_pair_frame *f, const struct vf_pair_tuning *t,
                           const struct vf_pair_health *reference)
{
    const float mean = reference->mean_scatter_px2, more = f->scatter_px2 - mean, of = (float)VF_PAIR_UNKNOWNS;
    if (f->scatter_px2 > 0.5f * (VF_PAIR_UNIFORM + t->band_px2)) return 0;
    if (!reference->frames) return 1;
    const float scatter2 = mean * mean * reference->scatter_change2 + vf_pair_samples(f, reference) * t->band_px2;
    return (!(more > 0.0f) || more * more <= (float)(VF_NORMAL_E6 * VF_NORMAL_E6) * scatter2) &&
           f->shift_px2 * of <= (float)VF_CHI2_3_E6 * vf_pair_shift_variance(f, reference);
}

/** Takes a GOOD frame into the running means of offset and scatter. now->frames counts it. */
VF_FN void vf_pair_learn(struct vf_pair_health *now, const struct vf_pair_frame *f, const struct vf_pair_tuning *t)
{
    const int32_t all = (int32_t)now->frames;
    const float share = 1.0f / (float)all, mean = now->mean_scatter_px2,
                later = 1.0f / (float)vf_min(all + VF_PAIR_PRIOR_FRAMES, VF_PAIR_MEAN_FRAMES),
                change = mean > 0.0f ? f->scatter_px2 / mean - 1.0f : 0.0f;
    now->scatter_change2 += all == 1 ? VF_PAIR_CHANGE2 : (change * change - now->scatter_change2) * later;
    now->shift_px2 += all == 1 ? t->centre_px2 : (f->shift_px2 - now->shift_px2) * later;
    now->mean_scatter_px2 += (f->scatter_px2 - mean) * share;
    for (int i = 0; i < VF_PAIR_UNKNOWNS; i++) {
        for (int j = 0; j < VF_PAIR_UNKNOWNS; j++)
            now->normal.a[i][j] += (f->normal.a[i][j] - now->normal.a[i][j]) * share;
        now->normal.b[i] += (f->normal.b[i] - now->normal.b[i]) * share;
    }
}

/** State of the camera pair in a frame. points: number of key points of each camera; frozen: 1 if an image of this
 *  frame is frozen; before: state after the previous frame; all 0 in frame 0. While SUSPECT, the mean share of matches
 *  still follows the scene; offset and scatter do not, because a displaced camera stays displaced. */
VF_FN struct vf_pair_health vf_pair_assess(const struct vf_pair_sums *sum, const uint32_t points[2], int frozen,
                                           const struct vf_pair_tuning *t, const struct vf_pair_health *before)
{
    const int blind = frozen || points[0] < VF_PAIR_MIN || points[1] * 4 < points[0];
    const uint32_t matches = (uint32_t)sum->matches;
    struct vf_pair_health now = *before;
    struct vf_pair_frame f;
    memset(&f, 0, sizeof f);
    if (matches >= VF_PAIR_MIN) f = vf_pair_frame_of(sum, before);
    if (matches >= VF_PAIR_MIN && !blind) vf_pair_weigh_late(&now, &f, t, before);
    now.permille = points[0] ? matches * 1000u / points[0] : 0;
    now.offset_px = matches ? (float)sum->distance / (VF_PAIR_UNIT * (float)matches) : 0.0f;
    now.scatter_px2 = f.scatter_px2;
    const int seen = !blind && matches >= VF_PAIR_MIN && now.permille >= VF_PAIR_PERMILLE,
              on_lines = seen && !now.is_late && (uint32_t)sum->behind * 100 <= matches * VF_PAIR_BEHIND_PERCENT &&
                         vf_pair_on_lines(&f, t, before),
              good = on_lines &&
                     (!before->frames || now.permille * 25600 >= before->mean_permille_q8 * VF_PAIR_PERCENT);
    if (seen) now.holdoff = !on_lines ? VF_PAIR_HOLDOFF : before->holdoff ? before->holdoff - 1 : 0;
    now.state = blind ? VFRONT_STEREO_BLIND : good ? VFRONT_STEREO_GOOD : VFRONT_STEREO_SUSPECT;
    if (!on_lines || before->holdoff) return now;
    now.frames = (uint32_t)vf_min((int32_t)before->frames + 1, VF_PAIR_MEAN_FRAMES);
    now.mean_permille_q8 = vf_mean_update(before->mean_permille_q8, now.permille << 8,
                                          good ? vf_min((int32_t)now.frames, VF_PAIR_FRAMES) : VF_PAIR_SUSPECT_FRAMES);
    if (good) vf_pair_learn(&now, &f, t);
    return now;
}

#endif
