/* SPDX-License-Identifier: MIT */
#include "nav_bank.h"
#include "nav_interval.h"

#include "camera/lens.h"
#include "geometry/motion.h"
#include "math/rotation.h"
#include "vio/imu_interval.h"
#include "vio_init/first_information.h"
#include "vio/vision_only.h"

#if VFRONT_VIO

static int is_active(const struct vf_nav_view *s) { return (s->geometry.active & VF_BIT(vio)) != 0; }

/** 1 if the rig has an IMU whose noise was given. */
static int has_imu(const struct vf_nav_view *s) { return !vf_imu_noise_none(s->imu); }

/** Fills the rig description that the estimator uses. */
static void rig_of(const struct vf_nav_view *s, struct vf_vio_rig *rig)
{
    const vfront_camera_t *own = &s->camera[0];
    double focal_px[2];
    vf_lens_focal(focal_px, own);
    memset(rig, 0, sizeof *rig);
    vf_rotation_transpose(rig->R_imu_cam, vf_rotation_mounting(own));
    for (int i = 0; i < VF_AXES; i++)
        for (int k = 0; k < VF_AXES; k++) rig->p_imu_cam_m[i] -= rig->R_imu_cam[VF_AXES * i + k] * own->t_cam_imu_m[k];
    for (int i = 0; i < 9; i++) rig->R_1_0[i] = i % 4 == 0;
    rig->cameras = s->geometry.pair.placed ? 2 : 1;
    rig->detect_stationary = s->tuning.vio_stationary;
    rig->noise_scale = VF_NAV_SCATTER;
#if VFRONT_CAMERAS > 1
    if (rig->cameras == 2) vf_rotation_between(rig->R_1_0, rig->t_1_0_m, own, &s->camera[1]);
#endif
    vf_vio_expect_calibration(rig, 1e-6 * (s->tuning.vio_stereo_urad ? s->tuning.vio_stereo_urad : 1),
                              1e-3 * (s->tuning.rig_centre_mpx ? s->tuning.rig_centre_mpx : 1) / focal_px[0]);
}

/** Puts the last state on the clock of this frame, the first one of that clock. */
static void continue_clock(const struct vf_nav_view *s)
{
    struct vf_nav *n = s->nav;
    struct vf_vio_carried *c = &n->own.carried;
    const uint64_t now_ns = s->samples->to_ns, away_ns = s->away_ns < now_ns ? s->away_ns : 0,
                   age_ns = n->own.last.t_ns > n->observed_ns ? n->own.last.t_ns - n->observed_ns : 0;
    if (c->t_ns == now_ns) return; /* called again before the step */
    if (n->own.last.t_ns && !(c->t_ns && away_ns)) n->time_lost = 1;
    c->t_ns = c->t_ns && away_ns ? now_ns - away_ns : 0;
    if (!c->t_ns) return;
    n->own.last.t_ns = vf_vio_imu_time_ns(c->t_ns, c->offset_s);
    n->observed_ns = age_ns < n->own.last.t_ns ? n->own.last.t_ns - age_ns : 0;
}

/** Ends the estimate and restarts the initialization. The last state is kept, with the errors of its origin, and goes
 *  on by reckon(). */
static void restart(const struct vf_nav_view *s)
{
    struct vf_nav *n = s->nav;
    struct vf_vio_rig rig;
    if (!s->params->frame) vf_nav_doubt_reset(n);
    rig_of(s, &rig);
    vf_start_begin(&n->start, &rig, s->imu);
    if (rig.cameras == 1) vf_mono_begin(&n->mono, &rig, s->imu);
    memset(&n->first, 0, sizeof n->first);
    memset(&n->stereo, 0, sizeof n->stereo);
    n->running = n->no_gravity = n->diverged = n->prediction_off = n->imu_rejected = n->contradicted = n->unrefuted = 0;
    n->moving_object = n->gravity.frames = 0;
    if (!s->params->frame) vf_nav_bank_end(n);
    memset(&n->bank, 0, sizeof n->bank);
    vf_nav_origin_add(&n->origin, &n->own.last);
    n->origin.known = 0;
    if (!s->params->frame) continue_clock(s);
    n->lost = n->own.last.t_ns != 0;
}

/** 1 if an estimate starts in this frame from an initialization that measured gravity with the IMU. */
static int begins_with_gravity(const struct vf_nav *n) { return n->first.t_ns && !n->vision_only; }

/** Carries the last state on to this frame while there is no estimate: attitude by rates, velocity by forces while the
 *  tilt is known; without samples both stay, with the errors of that. Not while the time since then is unknown. */
static void reckon(const struct vf_nav_view *s)
{
    static const double still[VF_AXES];
    struct vf_nav *n = s->nav;
    struct vf_vio_carried *c = &n->own.carried;
    struct vf_vio_imu_interval motion;
    vfront_nav_t now = n->own.last;
    vfront_imu_noise_t noise = vf_nav_noise(s);
    if (n->running || !c->t_ns || n->t_ns <= c->t_ns) return;
    const double tilt = now.covariance[vf_nav_index(VF_NAV_W, VF_NAV_W)] +
                        now.covariance[vf_nav_index(VF_NAV_W + 1, VF_NAV_W + 1)];
    const int level = !n->vision_only && !(s->params->imu & (VFRONT_IMU_IN_G | VFRONT_IMU_NO_GRAVITY)) &&
                      !(now.flags & VFRONT_NAV_NO_GRAVITY) && tilt < VF_START_MAX_TILT_RAD * VF_START_MAX_TILT_RAD;
    if (!level) noise.gravity_m_s2 = 0.0;
    now.flags &= VFRONT_NAV_NO_GRAVITY;
    if (n->vision_only)
        vf_vio_vision_only_interval(&motion, c, &noise, now.q_odom_imu, still, n->t_ns);
    else
        vf_vio_imu_interval_of(&motion, c, &noise, s->scale, n->imu, n->samples, n->t_ns);
    if (!level) vf_nav_drop_forces(&motion.motion, now.q_odom_imu, noise.gravity_m_s2);
    now.t_ns = vf_vio_imu_time_ns(n->t_ns, c->offset_s);
    now.age_ns = now.t_ns > n->observed_ns ? now.t_ns - n->observed_ns : 0;
    c->t_ns = n->t_ns;
    c->own_offset_s = c->offset_s;
    if (vf_nav_propagate(&now, &noise, &motion.motion) && vf_nav_is_finite(&now)) n->own.last = now;
}

/** Puts the first state of an estimate where the last one was, and has its errors added to the new estimate. */
static void continue_from_last(struct vf_nav *n, vfront_nav_t *first)
{
    vfront_nav_t last = n->own.last;
    n->next_origin.known = 0;
    if (!last.t_ns) return;
    vf_nav_origin_add(&n->origin, &last);
    vf_nav_place(first, &last);
    if (!n->own.carried.t_ns) return;
    if (!n->running && !(last.flags & VFRONT_NAV_NO_GRAVITY)) {
        vf_nav_correct(&last, first, 0);
        vf_nav_place(first, &last);
    }
    vf_nav_origin_set(&n->next_origin, first, &last, 0);
}

/** Initial state of an estimate that two cameras start without gravity. Pose: that of the last state, if any. */
static void first_from_stereo(const struct vf_nav_view *s, const struct vf_vio_rig *rig, vfront_nav_t *first)
{
    struct vf_nav *n = s->nav;
    const double dt_s = (double)s->params->dt_ns * 1e-9;
    vfront_nav_t last = n->own.last;
    n->next_origin.known = 0;
    if (!last.t_ns) vf_from_stereo_attitude(rig, last.q_odom_imu);
    vf_from_stereo_state(&n->stereo, last.q_odom_imu, dt_s, first);
    if (last.t_ns && n->own.carried.t_ns) {
        vf_nav_correct(&last, first, 1);
        vf_from_stereo_state(&n->stereo, last.q_odom_imu, dt_s, first);
        vf_nav_origin_set(&n->next_origin, &last, &last, 1);
    }
    if (last.t_ns) memcpy(first->position_m, last.position_m, sizeof first->position_m);
    first->t_ns = n->t_ns;
}

/** Writes rig, noise and initial state of a new estimate into the request. */
static void begin_state(const struct vf_nav_view *s, struct vf_vio_request *g)
{
    struct vf_nav *n = s->nav;
    rig_of(s, &g->rig);
    g->noise = vf_nav_noise(s);
    g->first = n->first;
    const int by_motions = begins_with_gravity(n) && g->rig.cameras == 2;
    if (!begins_with_gravity(n)) {
        first_from_stereo(s, &g->rig, &g->first);
        g->noise.gravity_m_s2 = 0.0;
    }
    vf_start_information(&g->first, by_motions ? n->start.mean_rate : NULL, g->information);
    memset(&n->own.next, 0, sizeof n->own.next);
    n->own.next.t_ns = g->first.t_ns;
    n->own.next.own_offset_s = n->own.next.offset_s = g->first.offset_s;
    memcpy(n->own.next.bias, g->first.gyro_bias_rad_s, sizeof n->first.gyro_bias_rad_s);
    memcpy(n->own.next.bias + 3, g->first.accel_bias_m_s2, sizeof n->first.accel_bias_m_s2);
}

/** Command for the estimator in this frame: start an estimate, continue it, or none. */
static enum vf_vio_command command_of(const struct vf_nav_view *s)
{
    const struct vf_nav *n = s->nav;
    const int continues = s->geometry.pair.placed && n->t_ns > n->own.carried.t_ns;
    if (begins_with_gravity(n) || n->stereo.dt_s > 0.0) return VF_VIO_BEGIN;
    if (n->running && (n->vision_only || n->no_gravity)) return continues ? VF_VIO_CONTINUE : VF_VIO_NONE;
    return n->running ? VF_VIO_CONTINUE : VF_VIO_NONE;
}

/** 1 if the motion of this frame is extrapolated without IMU samples. */
static int is_vision_only(const struct vf_nav *n, enum vf_vio_command command)
{
    return command == VF_VIO_BEGIN ? !begins_with_gravity(n) : n->vision_only || n->no_gravity;
}

/** Predicts the motion of camera 0 from the last state and this frame's IMU samples, for the stage predict. */
static void predict_motion(const struct vf_nav_view *s, enum vf_vio_command command, const vfront_imu_noise_t *noise)
{
    struct vf_nav *n = s->nav;
    const struct vf_vio_imu_interval *motion = &s->request->member[n->bank.accepted].motion;
    struct vf_nav_propagation *propagation = &n->propagation_next;
    struct vf_vio_rig rig;
    *propagation = n->propagation;
    if (n->new_picture) vf_nav_propagation_begin(propagation, command == VF_VIO_BEGIN ? &n->first : &n->own.last);
    if (command == VF_VIO_NONE || is_vision_only(n, command) || n->bank.accepted == VF_BANK_NO_IMU ||
        !(motion->motion.dt_s > 0.0))
        propagation->valid = 0;
    if (!propagation->valid) return;
    vf_nav_propagation_extend(propagation, noise, &motion->motion);
    if (!propagation->valid || s->params->source[0].missing) return;
    rig_of(s, &rig);
    vf_nav_motion_of(propagation, &rig, &n->expected);
    if (!n->prediction_off) *s->state_motion = n->expected;
}

/** 1 if the IMU samples of this frame are faulty and must not be used. */
static int has_imu_fault(const struct vf_nav_view *s)
{
    const uint32_t dead = s->params->imu & (VFRONT_IMU_STUCK | VFRONT_IMU_ZERO);
    return dead || s->imu_fault || (s->nav->running && s->nav->imu_rejected);
}

int vf_nav_sees_moving_object(const struct vf_nav *n)
{
    return n->running && (n->moving_object || (n->own.last.flags & VFRONT_NAV_DISPUTED && !n->unrefuted));
}

/** Fills in the request to the accepted member. */
static void request_own(const struct vf_nav_view *s, enum vf_vio_command command)
{
    struct vf_nav *n = s->nav;
    struct vf_vio_request *g = s->request;
    struct vf_vio_member_request *own = &g->member[n->bank.accepted];
    g->accepted = n->bank.accepted;
    g->replaced = n->bank.replaced;
    own->command = command;
    own->from = n->bank.kept;
    if (command == VF_VIO_CONTINUE) vf_nav_interval(s, n->bank.accepted, &n->own, &own->motion);
    if (command != VF_VIO_BEGIN) return;
    begin_state(s, g);
    memset(&own->motion, 0, sizeof own->motion);
    own->motion.t_ns = n->t_ns;
    if (begins_with_gravity(n))
        vf_vio_imu_interval_of(&own->motion, &n->own.next, &g->noise, s->scale, n->imu, n->samples, n->t_ns);
}

void vf_nav_before_step(const struct vf_nav_view *s)
{
    struct vf_nav *n = s->nav;
    const vfront_imu_noise_t noise = vf_nav_noise(s);
    memset(s->state_motion, 0, sizeof *s->state_motion);
    if (!is_active(s)) return;
    memset(&n->expected, 0, sizeof n->expected);
    if (!s->params->frame) restart(s);
    n->imu = vf_samples_around(s->samples, &n->samples);
    n->t_ns = s->samples->to_ns;
    n->excluded = has_imu_fault(s) ? n->excluded_before + (n->excluded_before < 2) : 0;
    n->vision_only = !s->samples->count || vf_samples_gap(s->samples, VFRONT_IMU_GAP_NS) || !has_imu(s) || n->excluded;
    if (n->excluded) vf_nav_bank_yield(n);
    reckon(s);
    vf_nav_doubt_propagate(s);
    n->own.next = n->own.carried;
    const enum vf_vio_command command = command_of(s);
    request_own(s, command);
    vf_nav_bank_request(s);
    predict_motion(s, command, &noise);
}

/* ---- after a step ------------------------------------------------------------------------------------------------ */

/** Adds a frame to a monocular initialization. Returns 1 if it has found a state. */
static int initialise_mono(const struct vf_nav_view *s, const struct vf_start_frame *frame)
{
    return vf_mono_step(&s->nav->mono, frame, s->vio->observation, s->vio->observations) == VF_START_MOVING;
}

/** Adds a frame to the initialization. A state that it finds becomes the initial state of the next frame. */
static void initialise(const struct vf_nav_view *s, const vfront_result_t *r)
{
    struct vf_nav *n = s->nav;
    const uint32_t wrong = VFRONT_IMU_STUCK | VFRONT_IMU_ZERO | VFRONT_IMU_IN_G | VFRONT_IMU_NO_GRAVITY |
                           VFRONT_IMU_AXES | VFRONT_IMU_IN_DEGREES | VFRONT_IMU_CLOCK;
    const struct vf_vio_rig rig = n->start.rig;
    if (!has_imu(s)) return;
    if (r->health.imu & wrong) {
        vf_start_begin(&n->start, &rig, s->imu);
        if (rig.cameras == 1) vf_mono_begin(&n->mono, &rig, s->imu);
        return;
    }
    const struct vf_start_frame frame = {n->t_ns, n->imu, n->samples, &r->metric, &r->relative};
    const enum vf_start_status found = vf_start_step(&n->start, &frame);
    const int from_mono = rig.cameras == 1 && initialise_mono(s, &frame);
    if (found != VF_START_STATIONARY && found != VF_START_MOVING && !from_mono) return;
    n->first = from_mono ? n->mono.nav : n->start.nav;
    continue_from_last(n, &n->first);
}

/** 1 if two cameras can start an estimate without IMU samples: stereo and metric motions are on. */
static int stereo_can_begin(const struct vf_nav_view *s)
{
    return (s->geometry.active & (VF_BIT(stereo) | VF_BIT(partner))) && s->tuning.ego_metric_hypotheses;
}

/** Measures a start motion with two cameras, if IMU samples have been missing for longer than VFRONT_IMU_GAP_NS. */
static void initialise_stereo(const struct vf_nav_view *s, const vfront_result_t *r)
{
    struct vf_nav *n = s->nav;
    const int imu_pending = has_imu(s) && n->t_ns - n->imu_ns <= VFRONT_IMU_GAP_NS;
    if (!stereo_can_begin(s) || !n->vision_only || imu_pending) return;
    vf_from_stereo_measure(&n->stereo, &n->start.rig, &r->metric, (double)s->params->dt_ns * 1e-9);
}

/** 1 if an estimate is lost: not finite, diverged, or too long without observations. observed: number of accepted
 *  observations of landmarks initialised in earlier frames. */
static int is_lost(struct vf_nav *n, const vfront_nav_t *nav, uint32_t observed)
{
    const int diverged = nav->residual_mean_square > VF_NAV_DIVERGED_COST && observed >= VF_NAV_DIVERGED_LANDMARKS;
    n->diverged = diverged ? n->diverged + 1 : 0;
    const uint64_t max_ns = n->vision_only || n->no_gravity || n->bank.accepted ? VF_NAV_VISION_ONLY_NS
                                                                                : VF_NAV_COAST_NS;
    return !vf_nav_is_finite(nav) || n->diverged >= VF_NAV_DIVERGED_FRAMES || nav->t_ns > n->observed_ns + max_ns;
}

/** Quality of a state [%], as vfront_nav_t defines it: from landmarks, or from the time left until loss while
 *  coasting. */
static uint32_t quality_of(const vfront_nav_t *nav)
{
    const uint64_t remaining_ns = nav->age_ns < VF_NAV_COAST_NS ? VF_NAV_COAST_NS - nav->age_ns : 0;
    const uint32_t observations = nav->landmarks < VF_NAV_FULL_LANDMARKS ? nav->landmarks : VF_NAV_FULL_LANDMARKS;
    if (nav->state == VFRONT_NAV_GOOD) return 50 + 50 * observations / VF_NAV_FULL_LANDMARKS;
    if (nav->state == VFRONT_NAV_STEREO_ONLY) return 1 + 49 * observations / VF_NAV_FULL_LANDMARKS;
    return nav->state == VFRONT_NAV_COASTING ? 1 + (uint32_t)(remaining_ns / (VF_NAV_COAST_NS / 49)) : 1;
}

/** Completes the reported state of a frame with an estimate. begins: 1: the estimate starts here. observed: number of
 *  accepted observations of landmarks initialised in earlier frames. */
static void report_state(struct vf_nav *n, int begins, uint32_t observed, vfront_nav_t *nav)
{
    if (begins) {
        n->resets += n->own.last.t_ns != 0;
        n->observed_ns = nav->t_ns;
        n->lost = 0;
        n->doubt.unknown = 1; /* the attitude may have jumped */
        n->origin = n->next_origin;
        n->no_gravity = !begins_with_gravity(n);
        memcpy(n->rate, n->stereo.rate, sizeof n->rate);
    }
    memset(&n->first, 0, sizeof n->first);
    memset(&n->stereo, 0, sizeof n->stereo);
    if (observed >= VF_NAV_MIN_OBSERVED) n->observed_ns = nav->t_ns;
    n->running = 1;
    vf_nav_carry(&n->own, nav, n->t_ns);
    nav->age_ns = nav->t_ns > n->observed_ns ? nav->t_ns - n->observed_ns : 0;
    nav->state = nav->age_ns || nav->flags & VFRONT_NAV_DISPUTED ? VFRONT_NAV_COASTING : VFRONT_NAV_GOOD;
    if (n->vision_only || n->no_gravity || n->bank.accepted) nav->state = VFRONT_NAV_STEREO_ONLY;
    if (n->bank.accepted) nav->flags |= n->bank.accepted == VF_BANK_NO_ACCEL ? VFRONT_NAV_NO_ACCEL : VFRONT_NAV_NO_IMU;
    if (n->no_gravity) nav->flags |= VFRONT_NAV_GAP | VFRONT_NAV_NO_GRAVITY;
    if (is_lost(n, nav, observed)) nav->state = VFRONT_NAV_LOST;
}

/** Rotation vector from one rotation matrix to another, for small angles [rad]. */
static void rotation_vector(const float from[9], const float to[9], double rotation[3])
{
    for (int k = 0; k < VF_AXES; k++) {
        const int a = (k + 2) % VF_AXES,
                  b = (k + 1) % VF_AXES; /* element (a, b) of the antisymmetric part of R_to R_from' */
        rotation[k] = 0.0;
        for (int i = 0; i < VF_AXES; i++)
            rotation[k] += 0.5 * ((double)to[VF_AXES * a + i] * (double)from[VF_AXES * b + i] -
                                  (double)to[VF_AXES * b + i] * (double)from[VF_AXES * a + i]);
    }
}

/** 1 if a predicted motion differs significantly from the motion estimated from images. metric: 0: ignores
 *  translation. test: out. */
static int disagrees(const vfront_prediction_t *e, const vfront_motion_t *m, int metric, vfront_innovation_t *test)
{
    int found = 0;
    rotation_vector(e->R, m->R, test->value + VF_AXES);
    for (int k = 0; k < VF_AXES; k++) test->value[k] = metric ? (double)m->t[k] - (double)e->t[k] : 0.0;
    for (int k = 0; k < 2 * VF_AXES; k++) {
        const int at = vf_motion_index(k, k);
        const double square = test->value[k] * test->value[k];
        if (k < VF_AXES && !metric) continue;
        test->variance[k] = (double)m->covariance[at] + (double)e->covariance[at];
        found |= square > VF_NAV_PREDICT_CHI2 * test->variance[k];
        const double ratio = square / (VF_NAV_PREDICT_CHI2 * test->variance[k]);
        if (ratio > test->test_ratio) test->test_ratio = ratio;
    }
    return found;
}

/** 1 if a disagreement between IMU and images counts against the IMU: wrong samples disagree with both image motions,
 *  frame after frame. It does not count if the image motion may be a moving object's. That is so if a moving object is
 *  detected; if the other image motion is good and agrees with the IMU; or if many landmarks agree with the IMU, now or
 *  when the dispute began (consistency.h). own: 1: the rotation prior is not from the IMU. */
static int rejects_imu(struct vf_nav *n, const vfront_result_t *r, uint32_t own)
{
    const uint32_t relative = r->relative.flags & VFRONT_MOTION_PRIOR, metric = r->metric.flags & VFRONT_MOTION_PRIOR;
    const int imu_complete = !(r->nav.flags & (VFRONT_NAV_SATURATED | VFRONT_NAV_GAP)) ||
                             n->bank.accepted == VF_BANK_NO_ACCEL;
    /* 1: an image motion is good and agrees with the IMU */
    const int refuted = (!relative && r->relative.state == VFRONT_MOTION_GOOD) ||
                        (!metric && r->metric.state == VFRONT_MOTION_GOOD);
    const int contradicted = (relative || metric) && !(refuted && imu_complete) && !own;
    const int many = r->nav.landmarks >= VF_NAV_AGREE_LANDMARKS &&
                     VF_NAV_AGREE_TRACKS * r->nav.landmarks >= r->tracks_count;
    const int agree = r->nav.flags & VFRONT_NAV_DISPUTED || many;
    n->contradicted = contradicted ? n->contradicted + 1 : 0;
    n->unrefuted -= n->unrefuted > 0;
    if (contradicted) n->unrefuted = VF_NAV_UNREFUTED_FRAMES;
    return contradicted && !n->moving_object &&
           !(n->running && imu_complete && agree && n->contradicted <= VF_NAV_AGREE_FRAMES);
}

/** Largest variance of the difference between a good motion's rotation and the gyro's, with which it was compared
 *  [rad^2]; 0: it was not. */
static double turn_variance(const struct vf_params *p, const vfront_motion_t *m)
{
    double most = 0.0;
    if (!p->rotation_given || p->rotation_explicit) return 0.0;
    for (int k = 0; k < VF_AXES; k++) {
        const double variance = (double)m->covariance[vf_motion_index(VF_AXES + k, VF_AXES + k)] +
                                (double)p->rotation_covariance[k ? 2 * k + 1 : 0];
        if (variance > most) most = variance;
    }
    return most;
}

/** Keeps the squared difference of two motions over dt_s. */
static void keep_contradiction(struct vf_nav *n, const double *d, double dt_s)
{
    double *square = n->contradiction;
    memset(square, 0, sizeof n->contradiction);
    for (int k = 0; k < VF_AXES; k++) {
        square[0] += d[k] * d[k];
        square[1] += d[VF_AXES + k] * d[VF_AXES + k];
    }
    square[2] = dt_s > 0.0 ? square[0] / (dt_s * dt_s) : 0.0;
}

/** Compares the motion estimated from images with the prediction, and continues the IMU propagation from this frame.
 *  test: out. */
static void compare_motion(struct vf_nav *n, const vfront_result_t *r, const struct vf_params *p,
                           vfront_innovation_t *test)
{
    const int metric = r->metric.state == VFRONT_MOTION_GOOD, known = metric || r->relative.state == VFRONT_MOTION_GOOD;
    n->imu_rejected -= n->imu_rejected > 0;
    if (r->health.imu & (VFRONT_IMU_STUCK | VFRONT_IMU_ZERO) && !n->imu_rejected)
        n->imu_rejected = 1; /* the next step also contains the last faulty samples */
    if (rejects_imu(n, r, p->rotation_explicit)) n->imu_rejected = VF_NAV_IMU_REJECTED_FRAMES;
    n->prediction_off -= n->prediction_off > 0;
    if (n->expected.source && known && disagrees(&n->expected, metric ? &r->metric : &r->relative, metric, test)) {
        n->prediction_off = VF_NAV_PREDICT_OFF_FRAMES;
        keep_contradiction(n, test->value, (double)p->dt_ns * 1e-9);
    }
    vf_nav_doubt_turn(n, known ? turn_variance(p, metric ? &r->metric : &r->relative) : 0.0);
    n->propagation = n->propagation_next;
    n->new_picture = !(r->health.missing & 1) && !r->health.frozen[0];
}

/** 1 if IMU samples return after a time without, and the attitude, which only images continued, contradicts gravity.
 *  nav: state of this frame. */
static int is_tilted(const struct vf_nav_view *s, enum vf_vio_command command, const vfront_nav_t *nav)
{
    struct vf_nav *n = s->nav;
    const uint32_t wrong = VFRONT_IMU_STUCK | VFRONT_IMU_ZERO | VFRONT_IMU_IN_G | VFRONT_IMU_NO_GRAVITY;
    const int continues = command == VF_VIO_CONTINUE && !n->no_gravity && nav->t_ns > n->own.last.t_ns;
    const int tilted = continues && !n->vision_only && !n->bank.accepted && vf_nav_gravity_contradicts(&n->gravity);
    if (!continues || !n->vision_only) n->gravity.frames = 0;
    if (continues && n->vision_only && !(s->params->imu & wrong))
        vf_nav_gravity_add(&n->gravity, nav, &n->own.last, n->imu, n->samples, s->imu->gravity_m_s2);
    return tilted;
}

/** Adds the difference of the motions to the covariance of a state with a protection level, while they contradict. */
static void widen(const struct vf_nav *n, vfront_nav_t *nav)
{
    static const int at[3] = {VF_NAV_P, VF_NAV_W, VF_NAV_V};
    if (!n->prediction_off || nav->protection != VFRONT_PROTECTION_GIVEN) return;
    for (int of = 0; of < 3; of++)
        for (int k = at[of]; k < at[of] + VF_AXES; k++) nav->covariance[vf_nav_index(k, k)] += n->contradiction[of];
}

/** Reports a state as disputed while another member contradicts it and explains more; without a protection level also
 *  while the motion of the images contradicts what it predicts. */
static void doubt(const struct vf_nav *n, vfront_nav_t *nav)
{
    const int contradicted = n->prediction_off && nav->protection != VFRONT_PROTECTION_GIVEN;
    if (!(contradicted || n->bank.disputed) || nav->state != VFRONT_NAV_GOOD) return;
    nav->state = VFRONT_NAV_COASTING;
    nav->flags |= VFRONT_NAV_DISPUTED;
    nav->quality = quality_of(nav);
}

/** Replaces the state of this frame by that of a member that has just been accepted. */
static void replace_state(const struct vf_nav_view *s, vfront_nav_t *nav)
{
    struct vf_nav *n = s->nav;
    *nav = s->vio->nav[n->bank.accepted];
    n->resets++;
    n->diverged = n->prediction_off = n->gravity.frames = 0;
    n->propagation.valid = 0;
    n->observed_ns = nav->t_ns;
}

/** Keeps the state of a frame for the next one, ends the estimate if it is lost, and completes the reported covariance
 *  and flags. What is lost has all of its covariance. */
static void keep_state(const struct vf_nav_view *s, enum vf_vio_command command, vfront_nav_t *nav)
{
    struct vf_nav *n = s->nav;
    const int lost = nav->state == VFRONT_NAV_LOST;
    double more[VF_BANK_ERRORS];
    if (lost) vf_nav_bank_widen(s, nav);
    n->own.before = n->own.last;
    if (command == VF_VIO_BEGIN) n->own.before.t_ns = 0;
    if (vf_nav_is_finite(nav)) n->own.last = *nav;
    for (int k = 0; k < VF_BANK_ERRORS; k++) more[k] = -nav->covariance[vf_nav_index(k, k)];
    vf_nav_origin_add(&n->origin, nav);
    for (int k = 0; k < VF_BANK_ERRORS; k++) more[k] += nav->covariance[vf_nav_index(k, k)];
    vf_nav_level_set(s, more, nav);
    if (!lost) vf_nav_doubt_keep(s, nav);
    vf_nav_bank_keep(s, lost);
    if (lost) restart(s);
    if (lost) return;
    vf_nav_bank_widen(s, nav);
    widen(n, nav);
    doubt(n, nav);
}

/** State to report for a frame without an estimate: vfront_nav_state_t. */
static uint32_t idle_state(const struct vf_nav_view *s)
{
    if (s->nav->lost) return VFRONT_NAV_LOST;
    return s->samples->next_has_imu || stereo_can_begin(s) ? VFRONT_NAV_INITIALISING : VFRONT_NAV_NONE;
}

void vf_nav_after_step(const struct vf_nav_view *s, const vfront_result_t *r, vfront_nav_t *nav,
                       vfront_innovation_t *innovation)
{
    struct vf_nav *n = s->nav;
    const enum vf_vio_command command = (enum vf_vio_command)s->request->member[n->bank.accepted].command;
    memset(innovation, 0, VFRONT_TESTS * sizeof *innovation);
    if (!is_active(s)) return;
    n->bank.replaced = 0;
    n->excluded_before = n->excluded;
    n->moving_object = n->running && command == VF_VIO_CONTINUE && !n->vision_only &&
                       s->vio->summary[n->bank.accepted].moving_object;
    compare_motion(n, r, s->params, &innovation[VFRONT_TEST_MOTION]);
    if (!n->vision_only || !s->params->frame) n->imu_ns = n->t_ns;
    if (command != VF_VIO_NONE) {
        if (vf_nav_bank_decide(s)) replace_state(s, nav);
        vf_nav_bank_test(s, &innovation[VFRONT_TEST_ALL]);
        const int tilted = is_tilted(s, command, nav);
        report_state(n, command == VF_VIO_BEGIN, s->vio->summary[n->bank.accepted].accepted, nav);
        if (tilted) nav->state = VFRONT_NAV_LOST;
    } else {
        if (n->running || n->first.t_ns) restart(s); /* one camera, and too long without IMU samples */
        *nav = n->own.last;
        nav->state = idle_state(s);
        if (n->start.rig.cameras == 1) nav->flags |= VFRONT_NAV_NO_SCALE;
    }
    nav->reset_counter = n->resets;
    nav->quality = nav->state == VFRONT_NAV_NONE ? 0 : quality_of(nav);
    if (command != VF_VIO_NONE) keep_state(s, command, nav);
    if (command == VF_VIO_NONE || n->no_gravity) initialise(s, r);
    if (command == VF_VIO_NONE && !n->first.t_ns) initialise_stereo(s, r);
}

#else

int vf_nav_sees_moving_object(const struct vf_nav *n) { return (void)n, 0; }

void vf_nav_before_step(const struct vf_nav_view *s) { (void)s; }

void vf_nav_after_step(const struct vf_nav_view *s, const vfront_result_t *r, vfront_nav_t *nav,
                       vfront_innovation_t *innovation)
{
    (void)s, (void)r, (void)nav;
    memset(innovation, 0, VFRONT_TESTS * sizeof *innovation);
}

#endif
