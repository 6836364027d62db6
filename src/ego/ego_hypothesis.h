/* SPDX-License-Identifier: MIT */
/* ego, hypotheses: random samples of a list, and motions from two correspondences. essential.h and perspective.h have
 * motions from more.
 *
 * In      tuning, frame number, hypothesis number; lengths of the lists
 * Out     samples: distinct list indices; motions; order of the hypotheses by score
 * Rule    Draws depend only on frame, kind, hypothesis and draw number. Every second hypothesis samples the more
 *         accurate correspondences first (PROSAC: O. Chum, J. Matas, 2005).
 * Exact   integers; single precision in one order
 * Memory  pose and score of each hypothesis: struct vf_ego_memory
 */
#ifndef VF_EGO_HYPOTHESIS_H
#define VF_EGO_HYPOTHESIS_H

#include "ego.h"

#define VF_EGO_SAMPLE_MAX 8 /* largest number of correspondences in a minimal sample */

/** Random number of 32 bits that depends only on the three arguments (S. Vigna's 64-bit mixer, 2015). */
VF_FN uint32_t vf_ego_random(uint64_t frame, uint32_t hypothesis, uint32_t draw)
{
    uint64_t x = frame * 0x9e3779b97f4a7c15ull + (1ull << 32 | hypothesis) * 0xd1b54a32d192ed03ull +
                 draw * 0x8cb92ba72f3d8dd7ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)((x ^ x >> 31) >> 16);
}

/** Draws `size` distinct indices below `count`, for hypothesis h of `all`. An odd h draws from the whole list. An even
 *  h draws from the first part of the list, which grows with h. key: unique for each hypothesis of a frame. sample:
 *  shared by the calling team. */
VF_FN void vf_ego_draw(uint64_t frame, uint32_t key, int32_t h, int32_t all, int32_t size, int32_t count,
                       int32_t sample[VF_EGO_SAMPLE_MAX])
{
    const int32_t better = (int32_t)((int64_t)count * (h + 1) / all);
    const int32_t pool = h % 2 ? count : vf_min(vf_max(better, 2 * size), count);
    VF_TEAM(k, size)
    {
        const uint32_t random = vf_ego_random(frame, key, (uint32_t)k);
        /* index among the list indices that are not drawn yet */
        sample[k] = (int32_t)((uint64_t)random * (uint64_t)(pool - k) >> 32);
    }
    VF_TEAM_SYNC();
    VF_TEAM(one, 1)
    {
        int32_t sorted[VF_EGO_SAMPLE_MAX];
        VF_UNROLL
        for (int k = 0; k < VF_EGO_SAMPLE_MAX; k++) {
            if (k >= size) continue;
            int32_t pick = sample[k];
            VF_UNROLL
            for (int i = 0; i < k; i++) pick += pick >= sorted[i];
            sample[k] = pick;
            VF_UNROLL
            for (int i = 0; i < k; i++) {
                const int32_t other = sorted[i];
                sorted[i] = vf_min(other, pick);
                pick = vf_max(other, pick);
            }
            sorted[k] = pick;
        }
    }
    VF_TEAM_SYNC();
}

/** Draws the sample of hypothesis h of a kind of motion: `size` distinct list indices below `count`. */
VF_FN void vf_ego_sample(const struct vf_ego_view *s, uint64_t frame, int kind, int32_t h, int32_t size, int32_t count,
                         int32_t sample[VF_EGO_SAMPLE_MAX])
{
    vf_ego_draw(frame, (uint32_t)(kind << 16 | h), h, vf_ego_hypotheses(s, kind), size, count, sample);
}

/** 1 if a relative hypothesis uses the frame's given rotation and estimates only the translation: every fourth. */
VF_FN int vf_ego_uses_rotation(const struct vf_params *params, int32_t h)
{
    return params->rotation_given && h % 4 == 3;
}

/** Number of correspondences in the minimal sample of hypothesis h. */
VF_FN int32_t vf_ego_sample_size(const struct vf_ego_view *s, const struct vf_params *params, int kind, int32_t h)
{
    if (kind == VF_METRIC) return 3;
    return kind == VF_ROTATION_ONLY || vf_ego_uses_rotation(params, h) ? 2 : s->tuning.ego_points;
}

/** Relative motion from a known rotation and two correspondences. The translation is the intersection of their epipolar
 *  planes; its sign puts the first point in front. */
VF_FN void vf_ego_translation_from_two(const float R[9], const float before[][3], const float now[][3],
                                       struct vf_pose *pose)
{
    float a[3], b[3], plane[2][3], bt[3];
    for (int i = 0; i < 9; i++) pose->R[i] = R[i];
    for (int i = 0; i < 2; i++) {
        vf_transform(R, before[i], a);
        vf_cross(a, now[i], plane[i]);
    }
    vf_cross(plane[0], plane[1], pose->t);
    vf_unit(pose->t);
    vf_transform(R, before[0], a);
    vf_cross(a, now[0], b);
    vf_cross(now[0], pose->t, bt);
    for (int k = 0; k < 3 && vf_dot(bt, b) < 0.0f; k++) pose->t[k] = -pose->t[k];
}

/** Orthonormal axes from two unit bearings: along their sum, their difference, and the cross product of these two. */
VF_FN void vf_ego_frame_of_two(const float a[3], const float b[3], float axis[3][3])
{
    for (int k = 0; k < 3; k++) {
        axis[0][k] = a[k] + b[k];
        axis[1][k] = a[k] - b[k];
    }
    vf_unit(axis[0]);
    vf_unit(axis[1]);
    vf_cross(axis[0], axis[1], axis[2]);
}

/** Rotation from two correspondences: maps axes defined by the previous bearings to those of the current bearings. */
VF_FN void vf_ego_rotation_from_two(const float before[][3], const float now[][3], struct vf_pose *pose)
{
    float from[3][3], to[3][3];
    vf_ego_frame_of_two(before[0], before[1], from);
    vf_ego_frame_of_two(now[0], now[1], to);
    for (int i = 0; i < 3; i++) {
        pose->t[i] = 0.0f;
        for (int j = 0; j < 3; j++)
            pose->R[3 * i + j] = to[0][i] * from[0][j] + to[1][i] * from[1][j] + to[2][i] * from[2][j];
    }
}

/** First rotation hypothesis: the frame's rotation prior; the identity if there is none. */
VF_FN void vf_ego_given_rotation(const struct vf_params *params, struct vf_pose *pose)
{
    for (int i = 0; i < 9; i++) pose->R[i] = params->R[i];
    for (int i = 0; i < 3; i++) pose->t[i] = 0.0f;
}

/** Key that ranks a hypothesis: greater for a higher score; of equal scores, for a lower index h; 0: no motion. */
VF_FN uint32_t vf_ego_rank_key(int32_t score, int32_t h)
{
    return score > 0 ? (uint32_t)score << 13 | (uint32_t)(8191 - h) : 0;
}
/** Index h of the hypothesis with a rank key. */
VF_FN int32_t vf_ego_rank_hypothesis(uint32_t key) { return 8191 - (int32_t)(key & 8191); }

#endif
