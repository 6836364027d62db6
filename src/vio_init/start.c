/* SPDX-License-Identifier: MIT */
#include "from_rest.h"
#include "first_state.h"

#if VFRONT_VIO

void vf_start_begin(struct vf_start *s, const struct vf_vio_rig *rig, const vfront_imu_noise_t *noise)
{
    memset(s, 0, sizeof *s);
    s->rig = *rig;
    s->noise = *noise;
}

/** Stores the metric motion in m if it is good, else the rotation of the relative motion. */
static void choose_motion(struct vf_start_motion *m, const struct vf_start_frame *frame)
{
    const vfront_motion_t *metric = frame->metric, *relative = frame->relative, *chosen = NULL;
    if (metric && metric->state == VFRONT_MOTION_GOOD && !(metric->flags & VFRONT_MOTION_LATE))
        chosen = metric;
    else if (relative && (relative->state == VFRONT_MOTION_GOOD || relative->state == VFRONT_MOTION_ROTATION) &&
             !(relative->flags & VFRONT_MOTION_LATE))
        chosen = relative;
    if (!chosen) return;
    m->has_rotation = 1;
    m->metric = chosen == metric;
    m->stationary = (chosen->flags & VFRONT_MOTION_STILL) != 0;
    for (int k = 0; k < 9; k++) m->R[k] = (double)chosen->R[k];
    for (int k = 0; k < 3 && m->metric; k++) m->t[k] = (double)chosen->t[k];
    for (int i = 0, at = 0; i < 6; i++)
        for (int j = i; j < 6; j++) m->P[6 * i + j] = m->P[6 * j + i] = (double)chosen->covariance[at++];
    vf_quaternion_of_matrix(m->R, m->q);
}

/** Fills in the derivatives of the preintegral of f by the time offset, and their noise. */
static void fill_shift(struct vf_start_motion *m, const struct vf_vio_slot *f, const struct vf_imu_model *model,
                       const struct vf_start_frame *frame, uint64_t from_ns)
{
    const double none[3] = {0.0, 0.0, 0.0}, gyro = model->noise.gyro_density, accel = model->noise.accel_density,
                 per_density = 2.0 / (VF_START_SHIFT_NS * 1e-9);
    struct vf_preintegral earlier;
    if (from_ns < VF_START_SHIFT_NS) return; /* no earlier interval after time 0 */
    vf_preintegrate(&earlier, model, none, none, frame->imu, frame->samples, from_ns - VF_START_SHIFT_NS,
                    frame->t_ns - VF_START_SHIFT_NS);
    vf_start_shift_of(m->shift, &f->motion, &earlier);
    m->shift_noise[0] = per_density * gyro * gyro;
    m->shift_noise[1] = per_density * accel * accel;
}

/** Appends a frame. Drops the oldest frame if there is no space. Returns 0 if all earlier frames were discarded. */
static int append(struct vf_start *s, const struct vf_start_frame *frame)
{
    const uint64_t from_ns = s->frames ? s->frame[s->frames - 1].t_ns : 0;
    const int follows = s->frames && frame->samples && frame->t_ns > from_ns &&
                        frame->t_ns - from_ns <= VF_START_MAX_INTERVAL_NS;
    if (s->frames == VF_START_FRAMES) {
        memmove(s->frame, s->frame + 1, (VF_START_FRAMES - 1) * sizeof s->frame[0]);
        memmove(s->motion, s->motion + 1, (VF_START_FRAMES - 1) * sizeof s->motion[0]);
        s->frames--;
    }
    if (!follows) s->frames = 0;
    struct vf_vio_slot *f = &s->frame[s->frames];
    struct vf_start_motion *m = &s->motion[s->frames++];
    memset(f, 0, sizeof *f);
    memset(m, 0, sizeof *m);
    f->t_ns = frame->t_ns;
    if (!follows) return 0;
    struct vf_imu_model model = vf_imu_model_of(&s->noise, frame->imu, frame->samples);
    const double none[3] = {0.0, 0.0, 0.0};
    double noise_ratio[2] = {0.0, 0.0};
    vf_start_sample_statistics(m, &s->noise, frame->imu, frame->samples, from_ns, frame->t_ns);
    for (uint32_t i = 1; i < s->frames; i++)
        for (int k = 0; k < 2; k++) noise_ratio[k] += s->motion[i].noise_ratio[k] / (s->frames - 1);
    if (noise_ratio[0] > 1.0) model.noise.gyro_density *= sqrt(noise_ratio[0]);
    if (noise_ratio[1] > 1.0) model.noise.accel_density *= sqrt(noise_ratio[1]);
    vf_preintegrate(&f->motion, &model, none, none, frame->imu, frame->samples, from_ns, frame->t_ns);
    fill_shift(m, f, &model, frame, from_ns);
    choose_motion(m, frame);
    return 1;
}

/** Estimates the states of all frames and decides on the status. */
static enum vf_start_status solve(struct vf_start *s)
{
    const int imu_stationary = vf_start_imu_stationary(s), stationary = imu_stationary && vf_start_camera_stationary(s);
    uint32_t rows = 0, metric = 0;
    double step_chi2 = 0.0;
    for (uint32_t i = 1; i < s->frames; i++) {
        vf_start_weigh_motion(&s->motion[i], stationary, s->frame[i].motion.dt_s, s->frames - 1);
        rows += (uint32_t)s->motion[i].dimension;
        metric |= (uint32_t)s->motion[i].metric;
        s->nav.flags |= s->frame[i].motion.flags;
    }
    s->dof = rows - 5 - metric;
    s->scale = vf_start_scale_sigma(s);
    s->offset_s = 0.0;
    s->offset_sigma_s = VF_VIO_TIME_OFFSET_SIGMA_S;
    vf_start_shift_shares(s);
    vf_start_guess(s);
    for (int i = 0; i < VF_START_ITERATIONS; i++) {
        s->chi2 = vf_start_eliminate(s);
        step_chi2 = vf_start_back_substitute(s);
    }
    vf_start_output(s);
    vf_start_sigmas(&s->nav, &s->tilt_rad, &s->velocity_mps);
    return vf_start_decide(s, step_chi2, stationary);
}

enum vf_start_status vf_start_step(struct vf_start *s, const struct vf_start_frame *frame)
{
    uint32_t motions = 0;
    const int before = s->frames > 0, follows = append(s, frame);
    memset(&s->nav, 0, sizeof s->nav);
    s->chi2 = s->tilt_rad = s->velocity_mps = s->scale = 0.0;
    s->dof = 0;
    for (uint32_t i = 1; i < s->frames; i++) motions += (uint32_t)s->motion[i].has_rotation;
    if (!follows && before)
        s->state = VF_START_NO_IMU;
    else if (s->frames < VF_START_MIN_FRAMES || 2 * motions < s->frames - 1)
        s->state = VF_START_TOO_FEW;
    else
        s->state = vf_start_wrong_units(s) ? VF_START_WRONG_UNITS : solve(s);
    if (s->state != VF_START_STATIONARY && s->state != VF_START_MOVING) memset(&s->nav, 0, sizeof s->nav);
    return s->state;
}

#endif
