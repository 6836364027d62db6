/* SPDX-License-Identifier: MIT */
#include "start_mono.h"

#include "start_mono_guess.h"
#include "start_mono_solve.h"
#include "start_rest.h"
#include "start_state.h"
#include "window_motion.h"

_Static_assert(VF_MONO_SLICES < VF_MONO_FRAMES, "start_mono: the newest frame of a solution leaves before it is told");

void vf_mono_begin(struct vf_mono *s, const struct vf_window_rig *rig, const vfront_imu_noise_t *noise)
{
    memset(s, 0, sizeof *s);
    s->rig = *rig;
    s->noise = *noise;
}

/** All frames and tracks are forgotten, and the solution under way. */
static void forget(struct vf_mono *s)
{
    s->kept_count = s->fresh = s->under_way = 0;
    memset(&s->since, 0, sizeof s->since);
    memset(&s->turns, 0, sizeof s->turns);
}

/** Motion since the frame before, behind that since the newest kept frame. */
static void add_motion(struct vf_mono *s, const struct vf_start_frame *frame)
{
    static const double none[3] = {0.0, 0.0, 0.0};
    struct vf_imu_model model = vf_imu_model_of(&s->noise, frame->imu, frame->readings);
    const vfront_motion_t *relative = frame->relative;
    struct vf_preintegral now;
    vf_window_noisy(s->noisy, &s->noise, frame->imu, frame->readings, s->t_ns, frame->t_ns);
    if (s->noisy[0] > 1.0) model.noise.gyro_density *= sqrt(s->noisy[0]);
    if (s->noisy[1] > 1.0) model.noise.accel_density *= sqrt(s->noisy[1]);
    vf_preintegrate(&now, &model, none, none, frame->imu, frame->readings, s->t_ns, frame->t_ns);
    if (relative && (relative->state == VFRONT_MOTION_GOOD || relative->state == VFRONT_MOTION_ROTATION) &&
        !(relative->flags & VFRONT_MOTION_LATE))
        vf_mono_turn(&s->turns, &s->rig, &now, relative);
    vf_window_rate_of(vf_window_reading_at(frame->imu, frame->readings, frame->t_ns), (const double[6]){0.0}, s->rate);
    if (s->since.dt_s > 0.0)
        vf_mono_compose(&s->since, &now);
    else
        s->since = now;
}

/** Newest frame with its tracks; the oldest one leaves where there is no room. */
static void keep(struct vf_mono *s, uint64_t t_ns, const struct vf_sight *sight, uint32_t sights)
{
    if (s->kept_count == VF_MONO_FRAMES) {
        memmove(s->kept, s->kept + 1, (VF_MONO_FRAMES - 1) * sizeof s->kept[0]);
        s->kept_count--;
        s->newest--;
        for (uint32_t i = 0; i < s->kept[0].tracks; i++) s->kept[0].track[i].before = -1;
    }
    struct vf_mono_kept *f = &s->kept[s->kept_count];
    memset(f, 0, sizeof *f);
    f->t_ns = t_ns;
    f->motion = s->since;
    f->turns = s->turns;
    memcpy(f->rate, s->rate, sizeof f->rate);
    memset(&s->since, 0, sizeof s->since);
    memset(&s->turns, 0, sizeof s->turns);
    for (uint32_t i = 0; i < sights; i++) {
        struct vf_mono_track *to = &f->track[f->tracks];
        if (!sight[i].id || !(sight[i].sigma > 0.0f)) continue;
        to->id = sight[i].id;
        to->before = -1;
        to->sigma = sight[i].sigma;
        memcpy(to->bearing, sight[i].bearing, sizeof to->bearing);
        for (uint32_t k = 0; s->kept_count && k < f[-1].tracks; k++)
            if (f[-1].track[k].id == to->id) to->before = (int32_t)k;
        f->tracks++;
    }
    s->kept_count++;
    s->fresh = 1;
}

/** Tracks of `length` sights as points, while there is room; a track is walked from its last sight. */
static void take_tracks(struct vf_mono *s, uint32_t length)
{
    uint8_t goes_on[2][VF_WINDOW_SIGHTS];
    memset(goes_on, 0, sizeof goes_on);
    for (uint32_t last = s->kept_count - 1; last + 1 >= length; last--) {
        uint8_t *own = goes_on[last & 1], *older = goes_on[~last & 1];
        memset(older, 0, sizeof goes_on[0]);
        for (uint32_t i = 0; i < s->kept[last].tracks; i++) {
            const struct vf_mono_track *t = &s->kept[last].track[i];
            uint32_t sights = 1;
            if (t->before >= 0) older[t->before] = 1;
            if (own[i]) continue;
            for (; t->before >= 0; sights++) t = &s->kept[last - sights].track[t->before];
            if (sights != length || s->points == VF_MONO_POINTS) continue;
            struct vf_mono_point *l = &s->point[s->points++];
            t = &s->kept[last].track[i];
            for (uint32_t at = last;; at--) {
                l->seen |= 1u << at;
                l->sigma[at] = t->sigma;
                memcpy(l->bearing[at], t->bearing, sizeof l->bearing[at]);
                if (t->before < 0) break;
                t = &s->kept[at - 1].track[t->before];
            }
        }
        if (!last) break;
    }
}

/** Points of all frames, of the longest tracks first. Returns their number. */
static uint32_t find_points(struct vf_mono *s)
{
    s->points = 0;
    memset(s->point, 0, sizeof s->point);
    for (uint32_t length = s->kept_count; length >= VF_MONO_SIGHTS_LEAST; length--) take_tracks(s, length);
    return s->points;
}

/** A solution begins: of the frames kept now, as they are. Returns 0 if there is none to begin. */
static int begin_solution(struct vf_mono *s)
{
    const int few = !s->fresh || s->kept_count < VF_MONO_LEAST || find_points(s) < VF_MONO_POINTS_LEAST;
    s->fresh = 0;
    if (few) return 0;
    s->under_way = 1;
    s->frames = s->kept_count;
    s->newest = s->kept_count - 1;
    memset(s->frame, 0, sizeof s->frame);
    for (uint32_t i = 0; i < s->frames; i++) {
        const struct vf_mono_kept *from = &s->kept[i];
        struct vf_mono_frame *to = &s->frame[i];
        to->slot.t_ns = from->t_ns;
        to->slot.motion = from->motion;
        to->turns = from->turns;
        memcpy(to->rate, from->rate, sizeof to->rate);
    }
    s->work++;
    vf_mono_guess(s);
    vf_mono_first(s);
    return 1;
}

/** State at the newest frame of the solution, in its axes; the covariance as of residuals made by noise alone. */
static void solved(const struct vf_mono *s, vfront_nav_t *nav)
{
    const struct vf_mono_frame *newest = &s->frame[s->frames - 1];
    const struct vf_window_value *x = &newest->slot.value;
    double P[225];
    memset(nav, 0, sizeof *nav);
    memcpy(nav->position_m, x->p, sizeof x->p);
    memcpy(nav->q_odom_imu, x->q, sizeof x->q);
    memcpy(nav->velocity_mps, x->v, sizeof x->v);
    memcpy(nav->gyro_bias_rad_s, x->bias, sizeof nav->gyro_bias_rad_s);
    memcpy(nav->accel_bias_m_s2, x->bias + 3, sizeof nav->accel_bias_m_s2);
    vf_mono_covariance(s, P);
    for (int k = 0; k < 225; k++) P[k] *= VF_MONO_WIDER * VF_MONO_WIDER;
    vf_nav_walk(P, &s->noise, newest->T);
    for (int i = 0; i < VF_NAV_ERRORS; i++)
        for (int j = i; j < VF_NAV_ERRORS; j++) nav->covariance[vf_nav_index(i, j)] = P[VF_NAV_ERRORS * i + j];
    for (uint32_t i = 1; i < s->frames; i++) nav->flags |= s->frame[i].slot.motion.flags;
}

/** State carried over a motion that was made without biases. Returns 0 if its covariance was none. */
static int carry(const struct vf_mono *s, vfront_nav_t *nav, const struct vf_preintegral *motion)
{
    double bias[6];
    struct vf_preintegral d;
    memcpy(bias, nav->gyro_bias_rad_s, sizeof nav->gyro_bias_rad_s);
    memcpy(bias + 3, nav->accel_bias_m_s2, sizeof nav->accel_bias_m_s2);
    vf_mono_biased(motion, bias, &d);
    for (int k = 0; k < 81; k++) d.P[k] *= VF_MONO_WIDER * VF_MONO_WIDER;
    return vf_nav_advance(nav, &s->noise, &d);
}

/** State at the last frame, by the solution and the readings since its newest frame. Returns 0 if there is none. */
static int tell(struct vf_mono *s)
{
    const double ratio = s->cost / s->freedom, factor = ratio > 1.0 ? ratio : 1.0;
    struct vf_window_value x;
    vfront_nav_t nav;
    double P[225], Z[9];
    int good = 1;
    vf_mono_last(s);
    solved(s, &nav);
    for (uint32_t i = s->newest + 1; i < s->kept_count; i++) good &= carry(s, &nav, &s->kept[i].motion);
    if (s->since.dt_s > 0.0) good &= carry(s, &nav, &s->since);
    memcpy(x.q, nav.q_odom_imu, sizeof x.q);
    memcpy(x.v, nav.velocity_mps, sizeof x.v);
    memcpy(x.bias, nav.gyro_bias_rad_s, sizeof nav.gyro_bias_rad_s);
    memcpy(x.bias + 3, nav.accel_bias_m_s2, sizeof nav.accel_bias_m_s2);
    for (int i = 0; i < VF_NAV_ERRORS; i++)
        for (int j = i; j < VF_NAV_ERRORS; j++) P[VF_NAV_ERRORS * i + j] = nav.covariance[vf_nav_index(i, j)];
    vf_imu_mirror(P, VF_NAV_ERRORS);
    vf_start_place(&x, &s->nav, Z);
    vf_start_finish(&s->nav, P, Z, factor);
    s->nav.t_ns = s->t_ns;
    s->nav.flags = nav.flags;
    vf_start_sigmas(&s->nav, &s->tilt_rad, &s->velocity_mps);
    s->scale = VF_MONO_WIDER * sqrt(factor) * vf_mono_size(s);
    return good;
}

/** Sum of squares that noise makes. */
static double freedom_of(const struct vf_mono *s)
{
    double rows = VF_MONO_EACH * (s->frames - 1.0) + 6.0, columns = VF_MONO_EACH * s->frames + 6.0 - 4.0;
    for (uint32_t i = 0; i < s->points; i++) {
        columns += 3.0;
        rows += 1.0;
        for (uint32_t f = 0; f < s->frames; f++) rows += 2.0 * (double)(s->point[i].seen >> f & 1);
    }
    return rows - columns;
}

/** Solution, told and judged. */
static enum vf_start_state judge(struct vf_mono *s)
{
    s->freedom = freedom_of(s);
    const int good = tell(s);
    const double *v = s->nav.velocity_mps, fast = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    if (!(s->cost < VF_MONO_MISFIT * s->freedom)) return VF_START_CONTRADICTS;
    if (!(good && s->scale < VF_MONO_SCALE && s->tilt_rad < VF_START_TILT_RAD && s->moved < 0.1 &&
          s->velocity_mps < VF_START_MPS + VF_START_SPEED * fast))
        return VF_START_WEAK;
    return VF_START_MOVING;
}

/** A solution begins or goes on by the work of a frame, and is judged behind its last step. */
static enum vf_start_state seek(struct vf_mono *s)
{
    int last = 0;
    if (!s->under_way && !begin_solution(s)) return VF_START_FEW;
    while (!last && s->work < VF_MONO_WORK) last = vf_mono_go_on(s);
    if (!last) return VF_START_FEW;
    s->under_way = 0;
    return judge(s);
}

enum vf_start_state vf_mono_step(struct vf_mono *s, const struct vf_start_frame *frame, const struct vf_sight *sight,
                                 uint32_t sights)
{
    const int before = s->t_ns != 0, follows = before && frame->readings && frame->t_ns > s->t_ns &&
                                               frame->t_ns - s->t_ns <= VF_START_APART_NS;
    memset(&s->nav, 0, sizeof s->nav);
    s->scale = s->tilt_rad = s->velocity_mps = 0.0;
    s->work = 0;
    if (follows) add_motion(s, frame);
    s->t_ns = frame->t_ns;
    if (!follows) {
        forget(s);
        memset(s->rate, 0, sizeof s->rate);
        if (frame->readings)
            vf_window_rate_of(vf_window_reading_at(frame->imu, frame->readings, frame->t_ns), (const double[6]){0.0},
                              s->rate);
        keep(s, frame->t_ns, sight, sights);
        return s->state = before ? VF_START_NO_IMU : VF_START_FEW;
    }
    if (sights && frame->t_ns - s->kept[s->kept_count - 1].t_ns >= VF_MONO_APART_NS)
        keep(s, frame->t_ns, sight, sights);
    s->state = seek(s);
    if (s->state != VF_START_MOVING) memset(&s->nav, 0, sizeof s->nav);
    return s->state;
}
