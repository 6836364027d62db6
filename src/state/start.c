/* SPDX-License-Identifier: MIT */
#include "start_rest.h"
#include "start_state.h"

void vf_start_begin(struct vf_start *s, const struct vf_window_rig *rig, const vfront_imu_noise_t *noise)
{
    memset(s, 0, sizeof *s);
    s->rig = *rig;
    s->noise = *noise;
}

/** Motion as told, metric if that is good, else the rotation of the relative one. */
static void take_motion(struct vf_start_motion *m, const struct vf_start_frame *frame)
{
    const vfront_motion_t *metric = frame->metric, *relative = frame->relative, *told = NULL;
    if (metric && metric->state == VFRONT_MOTION_GOOD && !(metric->flags & VFRONT_MOTION_LATE))
        told = metric;
    else if (relative && (relative->state == VFRONT_MOTION_GOOD || relative->state == VFRONT_MOTION_ROTATION) &&
             !(relative->flags & VFRONT_MOTION_LATE))
        told = relative;
    if (!told) return;
    m->turns = 1;
    m->metric = told == metric;
    m->still = (told->flags & VFRONT_MOTION_STILL) != 0;
    for (int k = 0; k < 9; k++) m->R[k] = (double)told->R[k];
    for (int k = 0; k < 3 && m->metric; k++) m->t[k] = (double)told->t[k];
    for (int i = 0, at = 0; i < 6; i++)
        for (int j = i; j < 6; j++) m->P[6 * i + j] = m->P[6 * j + i] = (double)told->covariance[at++];
    vf_window_quaternion(m->R, m->q);
}

/** Frame behind the newest one; the oldest one leaves where there is no room. Returns 0 if all others are forgotten. */
static int append(struct vf_start *s, const struct vf_start_frame *frame)
{
    const uint64_t from_ns = s->frames ? s->frame[s->frames - 1].t_ns : 0;
    const int follows = s->frames && frame->readings && frame->t_ns > from_ns &&
                        frame->t_ns - from_ns <= VF_START_APART_NS;
    if (s->frames == VF_START_FRAMES) {
        memmove(s->frame, s->frame + 1, (VF_START_FRAMES - 1) * sizeof s->frame[0]);
        memmove(s->motion, s->motion + 1, (VF_START_FRAMES - 1) * sizeof s->motion[0]);
        s->frames--;
    }
    if (!follows) s->frames = 0;
    struct vf_window_slot *f = &s->frame[s->frames];
    struct vf_start_motion *m = &s->motion[s->frames++];
    memset(f, 0, sizeof *f);
    memset(m, 0, sizeof *m);
    f->t_ns = frame->t_ns;
    if (!follows) return 0;
    struct vf_imu_model model = vf_imu_model_of(&s->noise, frame->imu, frame->readings);
    const double none[3] = {0.0, 0.0, 0.0};
    double noisy[2] = {0.0, 0.0};
    vf_start_watch(m, &s->noise, frame->imu, frame->readings, from_ns, frame->t_ns);
    for (uint32_t i = 1; i < s->frames; i++)
        for (int k = 0; k < 2; k++) noisy[k] += s->motion[i].noisy[k] / (s->frames - 1);
    if (noisy[0] > 1.0) model.noise.gyro_density *= sqrt(noisy[0]);
    if (noisy[1] > 1.0) model.noise.accel_density *= sqrt(noisy[1]);
    vf_preintegrate(&f->motion, &model, none, none, frame->imu, frame->readings, from_ns, frame->t_ns);
    take_motion(m, frame);
    return 1;
}

/** Solution of all frames, judged. */
static enum vf_start_state solve(struct vf_start *s)
{
    const int quiet = vf_start_quiet(s), rest = quiet && vf_start_still(s);
    uint32_t rows = 0, metric = 0;
    double moved = 0.0;
    for (uint32_t i = 1; i < s->frames; i++) {
        vf_start_use(&s->motion[i], rest, s->frame[i].motion.dt_s, s->frames - 1);
        rows += (uint32_t)s->motion[i].informs;
        metric |= (uint32_t)s->motion[i].metric;
        s->nav.flags |= s->frame[i].motion.flags;
    }
    s->freedom = rows - 5 - metric;
    s->scale = vf_start_scale(s);
    vf_start_guess(s);
    for (int i = 0; i < VF_START_STEPS; i++) {
        s->chi2 = vf_start_eliminate(s);
        moved = vf_start_back(s);
    }
    vf_start_tell(s);
    vf_start_sigmas(&s->nav, &s->tilt_rad, &s->velocity_mps);
    return vf_start_judge(s, moved, rest);
}

enum vf_start_state vf_start_step(struct vf_start *s, const struct vf_start_frame *frame)
{
    uint32_t motions = 0;
    const int before = s->frames > 0, follows = append(s, frame);
    memset(&s->nav, 0, sizeof s->nav);
    s->chi2 = s->tilt_rad = s->velocity_mps = s->scale = 0.0;
    s->freedom = 0;
    for (uint32_t i = 1; i < s->frames; i++) motions += (uint32_t)s->motion[i].turns;
    if (!follows && before)
        s->state = VF_START_NO_IMU;
    else if (s->frames < VF_START_LEAST || 2 * motions < s->frames - 1)
        s->state = VF_START_FEW;
    else
        s->state = vf_start_units(s) ? VF_START_UNITS : solve(s);
    if (s->state != VF_START_STANDING && s->state != VF_START_MOVING) memset(&s->nav, 0, sizeof s->nav);
    return s->state;
}
