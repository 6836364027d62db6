/* SPDX-License-Identifier: MIT */
#include "mono.h"

#include "mono_guess.h"
#include "mono_solve.h"
#include "from_rest.h"
#include "first_state.h"
#include "vio/imu_interval.h"

#if VFRONT_VIO

_Static_assert(VF_MONO_SOLVE_FRAMES < VF_MONO_FRAMES, "mono: a solution's newest frame is dropped before its end");

void vf_mono_begin(struct vf_mono *s, const struct vf_vio_rig *rig, const vfront_imu_noise_t *noise)
{
    memset(s, 0, sizeof *s);
    s->rig = *rig;
    s->noise = *noise;
}

/** Discards all keyframes and tracks, and a solution in progress. */
static void reset(struct vf_mono *s)
{
    s->keyframes = s->keyframe_added = s->solving = 0;
    memset(&s->since_keyframe, 0, sizeof s->since_keyframe);
    memset(&s->bias_system, 0, sizeof s->bias_system);
}

/** Appends the motion since the previous frame to the motion since the newest keyframe. */
static void add_motion(struct vf_mono *s, const struct vf_start_frame *frame)
{
    static const double none[3] = {0.0, 0.0, 0.0};
    struct vf_imu_model model = vf_imu_model_of(&s->noise, frame->imu, frame->samples);
    const vfront_motion_t *relative = frame->relative;
    struct vf_preintegral now;
    vf_vio_noise_ratio(s->noise_ratio, &s->noise, frame->imu, frame->samples, s->t_ns, frame->t_ns);
    if (s->noise_ratio[0] > 1.0) model.noise.gyro_density *= sqrt(s->noise_ratio[0]);
    if (s->noise_ratio[1] > 1.0) model.noise.accel_density *= sqrt(s->noise_ratio[1]);
    vf_preintegrate(&now, &model, none, none, frame->imu, frame->samples, s->t_ns, frame->t_ns);
    if (relative && (relative->state == VFRONT_MOTION_GOOD || relative->state == VFRONT_MOTION_ROTATION) &&
        !(relative->flags & VFRONT_MOTION_LATE))
        vf_mono_add_rotation(&s->bias_system, &s->rig, &now, relative);
    vf_vio_rate_of(vf_vio_nearest_sample(frame->imu, frame->samples, frame->t_ns), (const double[6]){0.0}, s->rate);
    if (s->since_keyframe.dt_s > 0.0)
        vf_mono_compose(&s->since_keyframe, &now);
    else
        s->since_keyframe = now;
}

/** Adds a keyframe with its tracks. Drops the oldest keyframe if there is no space. */
static void add_keyframe(struct vf_mono *s, uint64_t t_ns, const struct vf_observation *observation,
                         uint32_t observations)
{
    if (s->keyframes == VF_MONO_FRAMES) {
        memmove(s->keyframe, s->keyframe + 1, (VF_MONO_FRAMES - 1) * sizeof s->keyframe[0]);
        s->keyframes--;
        s->newest--;
        for (uint32_t i = 0; i < s->keyframe[0].tracks; i++) s->keyframe[0].track[i].before = -1;
    }
    struct vf_mono_keyframe *f = &s->keyframe[s->keyframes];
    memset(f, 0, sizeof *f);
    f->t_ns = t_ns;
    f->motion = s->since_keyframe;
    f->bias_system = s->bias_system;
    memcpy(f->rate, s->rate, sizeof f->rate);
    memset(&s->since_keyframe, 0, sizeof s->since_keyframe);
    memset(&s->bias_system, 0, sizeof s->bias_system);
    for (uint32_t i = 0; i < observations; i++) {
        struct vf_mono_track *to = &f->track[f->tracks];
        if (!observation[i].id || !(observation[i].sigma > 0.0f) || !(observation[i].bearing[2] > 0.0f)) continue;
        to->id = observation[i].id;
        to->before = -1;
        to->sigma = observation[i].sigma;
        memcpy(to->bearing, observation[i].bearing, sizeof to->bearing);
        for (uint32_t k = 0; s->keyframes && k < f[-1].tracks; k++)
            if (f[-1].track[k].id == to->id) to->before = (int32_t)k;
        f->tracks++;
    }
    s->keyframes++;
    s->keyframe_added = 1;
}

/** Adds points for the tracks of exactly `length` observations, while there is space. Each track is followed back from
 *  its last observation. */
static void add_tracks(struct vf_mono *s, uint32_t length)
{
    uint8_t continues[2][VF_VIO_OBSERVATIONS];
    memset(continues, 0, sizeof continues);
    for (uint32_t last = s->keyframes - 1; last + 1 >= length; last--) {
        uint8_t *own = continues[last & 1], *older = continues[~last & 1];
        memset(older, 0, sizeof continues[0]);
        for (uint32_t i = 0; i < s->keyframe[last].tracks; i++) {
            const struct vf_mono_track *t = &s->keyframe[last].track[i];
            uint32_t observations = 1;
            if (t->before >= 0) older[t->before] = 1;
            if (own[i]) continue;
            for (; t->before >= 0; observations++) t = &s->keyframe[last - observations].track[t->before];
            if (observations != length || s->points == VF_MONO_POINTS) continue;
            struct vf_mono_point *l = &s->point[s->points++];
            t = &s->keyframe[last].track[i];
            for (uint32_t at = last;; at--) {
                l->seen |= 1u << at;
                l->sigma[at] = t->sigma;
                memcpy(l->bearing[at], t->bearing, sizeof l->bearing[at]);
                if (t->before < 0) break;
                t = &s->keyframe[at - 1].track[t->before];
            }
        }
        if (!last) break;
    }
}

/** Selects points from the tracks of all keyframes, longest tracks first. Returns the number of points. */
static uint32_t find_points(struct vf_mono *s)
{
    s->points = 0;
    memset(s->point, 0, sizeof s->point);
    for (uint32_t length = s->keyframes; length >= VF_MONO_MIN_OBSERVATIONS; length--) add_tracks(s, length);
    return s->points;
}

/** Starts a solution over the current keyframes. Returns 0 if there are too few keyframes or points. */
static int begin_solution(struct vf_mono *s)
{
    const int few = !s->keyframe_added || s->keyframes < VF_MONO_MIN_FRAMES || find_points(s) < VF_MONO_MIN_POINTS;
    s->keyframe_added = 0;
    if (few) return 0;
    s->solving = 1;
    s->frames = s->keyframes;
    s->newest = s->keyframes - 1;
    memset(s->frame, 0, sizeof s->frame);
    for (uint32_t i = 0; i < s->frames; i++) {
        const struct vf_mono_keyframe *from = &s->keyframe[i];
        struct vf_mono_frame *to = &s->frame[i];
        to->slot.t_ns = from->t_ns;
        to->slot.motion = from->motion;
        to->bias_system = from->bias_system;
        memcpy(to->rate, from->rate, sizeof to->rate);
    }
    s->work++;
    vf_mono_guess(s);
    vf_mono_begin_solve(s);
    return 1;
}

/** Computes the state at the newest frame of the solution, in the axes of the solution. Its covariance assumes
 *  residuals at noise level. */
static void solution_state(const struct vf_mono *s, vfront_nav_t *nav)
{
    const struct vf_mono_frame *newest = &s->frame[s->frames - 1];
    const struct vf_vio_state *x = &newest->slot.value;
    double P[225];
    memset(nav, 0, sizeof *nav);
    memcpy(nav->position_m, x->p, sizeof x->p);
    memcpy(nav->q_odom_imu, x->q, sizeof x->q);
    memcpy(nav->velocity_mps, x->v, sizeof x->v);
    memcpy(nav->gyro_bias_rad_s, x->bias, sizeof nav->gyro_bias_rad_s);
    memcpy(nav->accel_bias_m_s2, x->bias + 3, sizeof nav->accel_bias_m_s2);
    vf_mono_covariance(s, P);
    for (int k = 0; k < 225; k++) P[k] *= VF_MONO_SIGMA_FACTOR * VF_MONO_SIGMA_FACTOR;
    vf_nav_add_bias_walk(P, &s->noise, newest->T);
    for (int i = 0; i < VF_NAV_ERRORS; i++)
        for (int j = i; j < VF_NAV_ERRORS; j++) nav->covariance[vf_nav_index(i, j)] = P[VF_NAV_ERRORS * i + j];
    for (uint32_t i = 1; i < s->frames; i++) nav->flags |= s->frame[i].slot.motion.flags;
}

/** Propagates a state over a motion that was preintegrated without biases. Returns 0 if the covariance of the state was
 *  not positive semidefinite. */
static int propagate_state(const struct vf_mono *s, vfront_nav_t *nav, const struct vf_preintegral *motion)
{
    double bias[6];
    struct vf_preintegral d;
    memcpy(bias, nav->gyro_bias_rad_s, sizeof nav->gyro_bias_rad_s);
    memcpy(bias + 3, nav->accel_bias_m_s2, sizeof nav->accel_bias_m_s2);
    vf_mono_correct_bias(motion, bias, &d);
    for (int k = 0; k < 81; k++) d.P[k] *= VF_MONO_SIGMA_FACTOR * VF_MONO_SIGMA_FACTOR;
    return vf_nav_propagate(nav, &s->noise, &d);
}

/** Computes the state at the last frame: that of the solution, propagated by the IMU samples since the solution's
 *  newest frame. Returns 0 if a covariance was not positive semidefinite. */
static int output_state(struct vf_mono *s)
{
    const double ratio = s->cost / s->dof, factor = ratio > 1.0 ? ratio : 1.0;
    struct vf_vio_state x;
    vfront_nav_t nav;
    double P[225], Z[9];
    int good = 1;
    vf_mono_factor(s);
    solution_state(s, &nav);
    for (uint32_t i = s->newest + 1; i < s->keyframes; i++) good &= propagate_state(s, &nav, &s->keyframe[i].motion);
    if (s->since_keyframe.dt_s > 0.0) good &= propagate_state(s, &nav, &s->since_keyframe);
    memcpy(x.q, nav.q_odom_imu, sizeof x.q);
    memcpy(x.v, nav.velocity_mps, sizeof x.v);
    memcpy(x.bias, nav.gyro_bias_rad_s, sizeof nav.gyro_bias_rad_s);
    memcpy(x.bias + 3, nav.accel_bias_m_s2, sizeof nav.accel_bias_m_s2);
    for (int i = 0; i < VF_NAV_ERRORS; i++)
        for (int j = i; j < VF_NAV_ERRORS; j++) P[VF_NAV_ERRORS * i + j] = nav.covariance[vf_nav_index(i, j)];
    vf_imu_symmetrize(P, VF_NAV_ERRORS);
    vf_start_output_values(&x, &s->nav, Z);
    vf_start_output_covariance(&s->nav, P, Z, factor);
    s->nav.t_ns = s->t_ns;
    s->nav.flags = nav.flags;
    vf_start_sigmas(&s->nav, &s->tilt_rad, &s->velocity_mps);
    s->scale = VF_MONO_SIGMA_FACTOR * sqrt(factor) * vf_mono_scale_sigma(s);
    return good;
}

/** Degrees of freedom of a solution, which is the expected sum of its squared residuals. */
static double dof_of(const struct vf_mono *s)
{
    double rows = VF_MONO_FRAME_COLUMNS * (s->frames - 1.0) + 6.0,
           columns = VF_MONO_FRAME_COLUMNS * s->frames + 6.0 - 4.0;
    for (uint32_t i = 0; i < s->points; i++) {
        columns += 3.0;
        rows += 1.0;
        for (uint32_t f = 0; f < s->frames; f++) rows += 2.0 * (double)(s->point[i].seen >> f & 1);
    }
    return rows - columns;
}

/** Computes the state of a finished solution, and decides on the status of the initialization. */
static enum vf_start_status decide(struct vf_mono *s)
{
    s->dof = dof_of(s);
    const int good = output_state(s);
    const double *v = s->nav.velocity_mps, speed = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    if (!(s->cost < VF_MONO_MAX_CHI2_RATIO * s->dof)) return VF_START_INCONSISTENT;
    if (!(good && s->scale < VF_MONO_MAX_SCALE_SIGMA && s->tilt_rad < VF_START_MAX_TILT_RAD &&
          s->step_chi2 < VF_START_MAX_STEP_CHI2 &&
          s->velocity_mps < VF_START_MAX_MPS + VF_START_MAX_SPEED_SHARE * speed))
        return VF_START_UNCERTAIN;
    return VF_START_MOVING;
}

/** Starts or continues a solution, with the work allowed for one frame. Decides on the status after its last step. */
static enum vf_start_status advance(struct vf_mono *s)
{
    int last = 0;
    if (!s->solving && !begin_solution(s)) return VF_START_TOO_FEW;
    while (!last && s->work < VF_MONO_WORK) last = vf_mono_iterate(s);
    if (!last) return VF_START_TOO_FEW;
    s->solving = 0;
    return decide(s);
}

enum vf_start_status vf_mono_step(struct vf_mono *s, const struct vf_start_frame *frame,
                                  const struct vf_observation *observation, uint32_t observations)
{
    const int before = s->t_ns != 0, follows = before && frame->samples && frame->t_ns > s->t_ns &&
                                               frame->t_ns - s->t_ns <= VF_START_MAX_INTERVAL_NS;
    memset(&s->nav, 0, sizeof s->nav);
    s->scale = s->tilt_rad = s->velocity_mps = 0.0;
    s->work = 0;
    if (follows) add_motion(s, frame);
    s->t_ns = frame->t_ns;
    if (!follows) {
        reset(s);
        memset(s->rate, 0, sizeof s->rate);
        if (frame->samples)
            vf_vio_rate_of(vf_vio_nearest_sample(frame->imu, frame->samples, frame->t_ns), (const double[6]){0.0},
                           s->rate);
        add_keyframe(s, frame->t_ns, observation, observations);
        return s->state = before ? VF_START_NO_IMU : VF_START_TOO_FEW;
    }
    if (observations && frame->t_ns - s->keyframe[s->keyframes - 1].t_ns >= VF_MONO_MIN_INTERVAL_NS)
        add_keyframe(s, frame->t_ns, observation, observations);
    s->state = advance(s);
    if (s->state != VF_START_MOVING) memset(&s->nav, 0, sizeof s->nav);
    return s->state;
}

#endif
