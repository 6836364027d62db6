/* SPDX-License-Identifier: MIT */
/* ego, hypotheses: random samples of the list, and motions from two correspondences. Motions from more are in
 * essential.h and perspective.h.
 *
 * In      tuning, frame number, hypothesis number; lengths of the lists
 * Out     samples: places in a list, all different; motions; the order of hypotheses by score
 * Rule    draws are a function of seed, frame, kind, hypothesis and draw alone. Every second hypothesis samples the
 *         better correspondences first (PROSAC: O. Chum, J. Matas, 2005)
 * Exact   integers; single precision in one order
 * Memory  pose and score of each hypothesis: struct vf_ego_memory
 */
#ifndef VF_EGO_HYPOTHESIS_H
#define VF_EGO_HYPOTHESIS_H

#include "ego.h"

#define VF_EGO_SAMPLE_MAX 8 /* correspondences of a minimal sample */

/** Counter-based random number: mixes a key of four (S. Vigna's mixing of 64 bits, 2015). */
VF_FN uint32_t vf_ego_random(uint32_t seed, uint64_t frame, uint32_t hypothesis, uint32_t draw)
{
    uint64_t x = frame * 0x9e3779b97f4a7c15ull + ((uint64_t)seed << 32 | hypothesis) * 0xd1b54a32d192ed03ull +
                 draw * 0x8cb92ba72f3d8dd7ull;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return (uint32_t)((x ^ x >> 31) >> 16);
}

/** Draw `size` different places of the first `count` of a list, for hypothesis h of `all`. Odd hypotheses draw from
 *  all, even ones from the better ones alone, a part that grows from one to the next until it is all. key: other for
 *  each hypothesis of a frame. Called by a team: sample is shared. */
VF_FN void vf_ego_draw(uint32_t seed, uint64_t frame, uint32_t key, int32_t h, int32_t all, int32_t size, int32_t count,
                       int32_t sample[VF_EGO_SAMPLE_MAX])
{
    const int32_t better = (int32_t)((int64_t)count * (h + 1) / all);
    const int32_t pool = h % 2 ? count : vf_min(vf_max(better, 2 * size), count);
    VF_TEAM(k, size)
    {
        const uint32_t random = vf_ego_random(seed, frame, key, (uint32_t)k);
        sample[k] = (int32_t)((uint64_t)random * (uint64_t)(pool - k) >> 32); /* index among those not drawn yet */
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

/** The same for hypothesis h of a kind of motion of the frame. */
VF_FN void vf_ego_sample(const struct vf_ego_view *s, uint64_t frame, int kind, int32_t h, int32_t size, int32_t count,
                         int32_t sample[VF_EGO_SAMPLE_MAX])
{
    vf_ego_draw((uint32_t)s->tuning.ego_seed, frame, (uint32_t)(kind << 16 | h), h, vf_ego_hypotheses(s, kind), size,
                count, sample);
}

/** 1 if a relative hypothesis takes the frame's rotation and estimates the translation alone: every fourth. */
VF_FN int vf_ego_uses_rotation(const struct vf_ego_view *s, const struct vf_params *params, int32_t h)
{
    return s->tuning.ego_rotation && params->rotation_given && h % 4 == 3;
}

/** Size of a hypothesis's minimal sample. */
VF_FN int32_t vf_ego_sample_size(const struct vf_ego_view *s, const struct vf_params *params, int kind, int32_t h)
{
    if (kind == VF_METRIC) return 3;
    return kind == VF_ROTATION_ONLY || vf_ego_uses_rotation(s, params, h) ? 2 : s->tuning.ego_points;
}

/** Relative motion from a known rotation and two correspondences: the translation is where their epipolar planes
 *  intersect, its sign the one that has the first point in front. */
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

/** Orthonormal axes of two bearings: their sum, their difference, and the normal of both. */
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

/** Rotation from two correspondences: takes the axes of the previous bearings to those of the current ones. */
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

/** First rotation hypothesis: the frame's rotation prior; the identity where there is none. */
VF_FN void vf_ego_given_rotation(const struct vf_params *params, struct vf_pose *pose)
{
    for (int i = 0; i < 9; i++) pose->R[i] = params->R[i];
    for (int i = 0; i < 3; i++) pose->t[i] = 0.0f;
}

/** Rank key of a hypothesis: higher score first, then lower number; all differ. 0: no motion. The second function is
 *  its inverse. */
VF_FN uint32_t vf_ego_rank_key(int32_t score, int32_t h)
{
    return score > 0 ? (uint32_t)score << 13 | (uint32_t)(8191 - h) : 0;
}
VF_FN int32_t vf_ego_rank_hypothesis(uint32_t key) { return 8191 - (int32_t)(key & 8191); }

#endif
