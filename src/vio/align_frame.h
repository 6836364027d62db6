/* SPDX-License-Identifier: MIT */
/* Alignment of the newest frame to the landmarks, before its observations are tested. Without IMU samples the predicted
 * pose is off by many deviations of an observation; the robust weights of two optimization steps would not recover it.
 *
 * In      newest frame with the predicted state; its observations of landmarks; poses relative to the anchors
 * Out     position and attitude of the newest frame, as linearization point: no information is added
 * Rule    VF_ALIGN_FRAME_STEPS Gauss-Newton steps of the pose alone (math/robust.h), landmarks fixed, from the
 *         predicted pose with its variances. A residual counts less along the direction in which an error of the
 *         landmark's range moves it. With samples none: a moving object must not correct a good prediction.
 * Exact   rows in single precision, sums and solution in double, in one order
 */
#ifndef VF_VIO_ALIGN_FRAME_H
#define VF_VIO_ALIGN_FRAME_H

#include "consistency.h"

/** Number of Gauss-Newton steps. */
#define VF_ALIGN_FRAME_STEPS 6

/** Information of a landmark's inverse range [m^2] from its prior and its observations before the newest frame. */
VF_FN float vf_align_frame_range_information(const struct vf_vio_window *w, const struct vf_vio_work *k,
                                             const struct vf_landmark *l, const struct vf_landmark_rig *rig)
{
    float information = 1.0f / (rig->range_sigma * rig->range_sigma);
    for (int f = 0; f < VF_VIO_FRAMES; f++) {
        const struct vf_vio_observation *s = &l->observation[f];
        const struct vf_pose *pose = &k->anchor[l->anchor].pose[f];
        float u[VF_AXES];
        if (f == w->newest || !(l->seen >> f & 1)) continue;
        information += s->stereo_weight * s->stereo_weight * vf_dot(rig->t_1_0, rig->t_1_0);
        if (f == l->anchor) continue;
        vf_transform(pose->R, l->bearing, u);
        const float along = vf_dot(u, pose->t), across = vf_dot(pose->t, pose->t) - along * along;
        information += across > 0.0f ? s->weight * s->weight * across : 0.0f;
    }
    return information;
}

/** Fills in the pair of observation i: residuals, and their Jacobian by shift and rotation of the newest camera in its
 *  axes. */
VF_FN void vf_align_frame_pair(const struct vf_vio_window *w, struct vf_vio_work *k, const struct vf_landmark_rig *rig,
                               int i)
{
    struct vf_consistency_rows at;
    struct vf_robust_pair *out = &k->align.pair[i];
    out->square = -1.0f;
    if (vf_consistency_rows_of(w, k, k->landmark_of[i], &at) <= 0) return;
    const struct vf_landmark *l = &w->landmark[k->landmark_of[i]];
    const float noise = (float)vf_vio_noise_variance(w), by_range = at.by[0] * at.by[0] + at.by[1] * at.by[1],
                left = sqrtf(noise / (noise + by_range / vf_align_frame_range_information(w, k, l, rig))),
                share = by_range > 0.0f ? (left - 1.0f) / by_range : 0.0f;
    for (int row = 0; row < 2; row++) {
        for (int c = 0; c < VF_AXES; c++) out->row[row][c] = -l->inverse * at.g[row][c];
        vf_cross(at.g[row], at.Y, &out->row[row][VF_AXES]);
        out->row[row][VF_ROBUST_COLUMNS] = at.r[row];
    }
    for (int c = 0; c < VF_ROBUST_ROW; c++) {
        const float along = share * (at.by[0] * out->row[0][c] + at.by[1] * out->row[1][c]);
        for (int row = 0; row < 2; row++) out->row[row][c] += at.by[row] * along;
    }
    const float x = out->row[0][VF_ROBUST_COLUMNS], y = out->row[1][VF_ROBUST_COLUMNS];
    out->square = x * x + y * y;
}

/** Solves for the step and moves the newest frame by it. Run by one thread. */
VF_FN void vf_align_frame_step(struct vf_vio_window *w, struct vf_vio_work *k)
{
    struct vf_vio_slot *s = &w->slot[w->newest];
    const struct vf_relative_camera *camera = &k->camera[w->newest];
    const double dt_s = s->motion.dt_s;
    double known[VF_ROBUST_COLUMNS], x[VF_ROBUST_COLUMNS], turn[VF_AXES], q[VF_QUATERNION], arm[VF_AXES],
        moved[VF_AXES];
    for (int c = 0; c < VF_ROBUST_COLUMNS; c++) { /* variance of the prediction, summed over the axes */
        double variance = c < VF_AXES ? vf_consistency_block(w, 2) * dt_s * dt_s : 0.0;
        for (int i = 0; i < VF_AXES; i++)
            variance += s->motion.P[(VF_ROWS + 1) * ((c < VF_AXES ? VF_ROW_P : VF_ROW_W) + i)];
        known[c] = (double)VF_AXES * vf_vio_noise_variance(w) / variance;
    }
    vf_robust_solve(&k->align, known, x);
    vf_transform_double(camera->R, &x[VF_AXES], turn);
    vf_quaternion_exponential(turn, q);
    vf_quaternion_multiply(q, s->value.q, s->value.q);
    vf_quaternion_unit(s->value.q);
    for (int c = 0; c < VF_AXES; c++) arm[c] = s->value.p[c] - camera->p[c];
    vf_cross_double(turn, arm, moved); /* the camera stays where it is while the IMU turns about it */
    for (int c = 0; c < VF_AXES; c++) s->value.p[c] += moved[c];
    vf_transform_double(camera->R, x, moved);
    for (int c = 0; c < VF_AXES; c++) s->value.p[c] += moved[c];
}

/** Aligns the newest frame if its IMU samples are missing and there are two cameras. Runs in one block. */
VF_FN void vf_vio_align_frame(struct vf_vio_window *w, struct vf_vio_work *k, uint32_t observations)
{
    const struct vf_landmark_rig rig = vf_vio_landmark_rig(w);
    VF_STATIC_ASSERT(VF_VIO_OBSERVATIONS <= VF_ROBUST_PAIRS, "vfront: each observation has a pair of rows");
    if (w->rig.cameras < 2 || !w->slot[w->newest].motion.flags) return;
    VF_PARTS(c, VF_ROBUST_COLUMNS)
    k->align.x[c] = 0.0;
    for (int step = 0; step < VF_ALIGN_FRAME_STEPS; step++) {
        VF_PARTS(i, (int)observations)
        vf_align_frame_pair(w, k, &rig, i);
        VF_ITEM_SYNC();
        if (vf_robust_weights(&k->align, (int)observations, rig.outlier) < VF_CONSISTENCY_FEWEST) return;
        vf_robust_sums(&k->align, (int)observations);
        VF_PARTS(i, 1)
        vf_align_frame_step(w, k);
        VF_ITEM_SYNC();
        vf_vio_update_poses(w, k);
    }
}

#endif
