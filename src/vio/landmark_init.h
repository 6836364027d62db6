/* SPDX-License-Identifier: MIT */
/* Initialization of landmarks in the newest frame: slots and inverse ranges. Launches: launch.h. */
#ifndef VF_VIO_LANDMARK_INIT_H
#define VF_VIO_LANDMARK_INIT_H

#include "variables.h"

/** Inverse range at which camera 1's residual is 0, at least 0 [1/m]. Without a stereo track:
 *  VF_VIO_INVERSE_RANGE_MEAN. */
VF_FN float vf_vio_inverse_range_of(const struct vf_vio_window *w, const struct vf_observation *seen)
{
    const struct vf_landmark_rig rig = vf_vio_landmark_rig(w);
    float along[3], rotated[3], by[VF_STEREO_LENGTH];
    if (w->rig.cameras < 2 || !(seen->stereo_sigma > 0.0f)) return VF_VIO_INVERSE_RANGE_MEAN;
    vf_landmark_epipolar_direction(&rig, seen->stereo_bearing, along);
    vf_landmark_stereo_jacobian(&rig, seen->stereo_bearing, along, by);
    const float shift = vf_landmark_stereo_shift(&rig, by);
    for (int k = 0; k < 3; k++) along[k] += shift * seen->stereo_bearing[k];
    vf_transform(rig.R_1_0, seen->bearing, rotated);
    const float inverse = -vf_dot(along, rotated) / vf_dot(along, rig.t_1_0);
    return inverse > 0.0f ? inverse : 0.0f;
}

/** Rank of a landmark slot that is not free: the newest frame observes its landmark, or its rejections must be
 *  remembered. */
#define VF_VIO_SLOT_IN_USE INT32_MAX
/** Rank of a slot for new landmarks, lowest first: empty; track ended with fewer than VF_VIO_WELL_OBSERVED_FRAMES
 *  frames; track goes on without accepted observation in the newest frame; track ended with more frames. Equal ranks:
 *  fewer frames first, then slot order. */
VF_FN int vf_vio_slot_rank(const struct vf_vio_window *w, const struct vf_vio_work *k, int i)
{
    enum { TRIAL = VF_VIO_WELL_OBSERVED_FRAMES + 1 };
    const struct vf_landmark *l = &w->landmark[i];
    const int frames = vf_vio_bit_count(l->seen),
              ended = frames < VF_VIO_WELL_OBSERVED_FRAMES ? 1 + frames : 1 + TRIAL + frames;
    if (!l->id) return i;
    if (l->seen >> w->newest & 1 || (k->is_tracked[i] && l->refused)) return VF_VIO_SLOT_IN_USE;
    return (k->is_tracked[i] ? TRIAL : ended) * VF_VIO_LANDMARKS + i;
}

/** Orders the slots that new landmarks may take by rank: empty and least useful ones first. */
VF_FN void vf_vio_slot_order(const struct vf_vio_window *w, struct vf_vio_work *k, uint32_t observations)
{
    VF_PARTS(i, VF_VIO_LANDMARKS)
    k->is_tracked[i] = 0;
    VF_ITEM_SYNC();
    VF_PARTS(i, (int)observations)
    if (k->landmark_of[i] >= 0) k->is_tracked[k->landmark_of[i]] = 1;
    VF_ITEM_SYNC();
    VF_PARTS(i, VF_VIO_LANDMARKS)
    k->slot_rank[i] = vf_vio_slot_rank(w, k, i);
    VF_ITEM_SYNC();
    VF_PARTS(i, VF_VIO_LANDMARKS + 1)
    {
        const int own = i < VF_VIO_LANDMARKS ? k->slot_rank[i] : VF_VIO_SLOT_IN_USE;
        int rank = 0;
        VF_UNROLL_16
        for (int j = 0; j < VF_VIO_LANDMARKS; j++) rank += k->slot_rank[j] < own;
        if (i == VF_VIO_LANDMARKS)
            k->slots = rank;
        else if (own != VF_VIO_SLOT_IN_USE)
            k->order[rank] = i;
    }
    VF_ITEM_SYNC();
}

/** Counts accepted and rejected observations of landmarks in the newest frame. */
VF_FN void vf_vio_count_observations(struct vf_vio_work *k, uint32_t observations)
{
    VF_PARTS(part, VF_VIO_PARTS)
    {
        k->number[part] = k->off[part] = 0;
        for (uint32_t i = (uint32_t)part; i < observations; i += VF_VIO_PARTS) {
            k->number[part] += (uint32_t)vf_vio_accepted(k, i);
            k->off[part] += k->decision[i] >= VF_CONSISTENCY_SPENT;
        }
    }
    VF_ITEM_SYNC();
    VF_PARTS(i, 1)
    {
        uint32_t known = 0, refused = 0;
        VF_UNROLL_16
        for (int part = 0; part < VF_VIO_PARTS; part++) {
            known += k->number[part];
            refused += k->off[part];
        }
        k->known = known;
        k->refused = refused;
    }
    VF_ITEM_SYNC();
}

/** Initializes landmarks for the tracks of the newest frame that have none. Anchor: the newest frame. In a stationary
 *  period it is the period's keyframe, because its camera pose is the same. */
VF_FN void vf_vio_init_landmarks(struct vf_vio_window *w, const struct vf_vio_work *k,
                                 const struct vf_observation *observation, uint32_t observations)
{
    const int32_t anchor = w->stationary.holds ? w->stationary.anchor : w->newest;
    VF_PARTS(i, (int)observations)
    {
        int rank = 0;
        if (k->landmark_of[i] != -1) continue;
        VF_UNROLL_16
        for (int j = 0; j < i; j++) rank += k->landmark_of[j] == -1;
        if (rank >= k->slots) continue;
        struct vf_landmark *l = &w->landmark[k->order[rank]];
        struct vf_observation seen = observation[i];
        if (w->stereo_check_off_s > 0.0) seen.stereo_sigma = 0.0f;
        memset(l, 0, sizeof *l);
        l->id = seen.id;
        l->anchor = anchor;
        l->inverse = vf_vio_inverse_range_of(w, &seen);
        vf_landmark_shutter_correct(&k->camera_motion[anchor], seen.bearing, l->inverse, seen.row_delay_s, l->bearing);
        vf_vio_set_observation(l, anchor, &seen);
        vf_stationary_refer(l, &seen, w->slot[w->newest].t_ns);
    }
    VF_ITEM_SYNC();
}

#endif
