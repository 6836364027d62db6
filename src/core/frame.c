/* SPDX-License-Identifier: MIT */
/* Parameters of a frame, set before its step; and the host's part of the result, set after the step: times, addresses
 * of disparities, navigation state. */
#include "frame.h"
#include "check.h"

#include "camera/lens.h"
#include "math/quaternion.h"
#include "math/rotation.h"
#include "nav/nav.h"
#include "vio/factor_inertial.h"

VF_STATIC_ASSERT(offsetof(vfront_imu_t, t_ns) == offsetof(vfront_gyro_t, t_ns) &&
                     offsetof(vfront_imu_t, gyro_rad_s) == offsetof(vfront_gyro_t, rate_rad_s),
                 "vfront: an IMU reading begins as a gyro reading does");

static void copy_mask(struct vf_context *s, const vfront_picture_t *p, int32_t i, struct vf_source *source)
{
    const struct vf_level *l = &s->step[0].geometry.raw[i];
    source->mask = NULL;
    if (!p->mask) return;
    for (int32_t y = 0; y < l->height; y++)
        memcpy(s->pinned->mask[i] + (size_t)y * (size_t)l->pitch, p->mask + (size_t)y * p->mask_pitch_bytes,
               (size_t)l->width);
    source->mask = s->port->seen(s, s->pinned->mask[i]);
    source->mask_pitch = (uint32_t)l->pitch;
}

void vf_frame_missing(const struct vf_context *s, struct vf_memory *memory, int32_t i, struct vf_source *source)
{
    memset(source, 0, sizeof *source);
    source->data = memory->ingest.picture[s->parity ^ 1][i];
    source->pitch = (uint32_t)s->step[0].geometry.raw[i].pitch;
    source->format = VFRONT_GREY8;
    source->missing = 1;
}

static vfront_status_t fill_sources(struct vf_context *s, const vfront_frame_t *f)
{
    for (int32_t i = 0; i < s->step[0].geometry.cameras; i++) {
        struct vf_source *source = &s->pinned->params.source[i];
        if (f->picture[i].format == VFRONT_NO_PICTURE) {
            vf_frame_missing(s, s->memory, i, source);
            continue;
        }
        source->format = f->picture[i].format;
        source->missing = 0;
        const vfront_status_t status = s->port->adopt(s, &f->picture[i], s->pinned->input[s->input][i], source);
        if (status) return status;
        copy_mask(s, &f->picture[i], i, source);
    }
    return VFRONT_OK;
}

/** Converts a rotation R from axes of the rig's camera 0 to axes of camera 0 as the stages see it (rectified, if
 *  enabled). */
static void to_stage_axes(double R[9], const struct vf_context *s)
{
    double back[9];
    if (!s->step[0].geometry.rectified) return;
    vf_rotation_transpose(back, s->R_rig_seen[0]);
    vf_rotation_multiply(R, back, R);
    vf_rotation_multiply(R, R, s->R_rig_seen[0]);
}

/** Selects the IMU samples between the previous frame and this one, and reports their faults. */
static void fill_imu(struct vf_context *s, const vfront_frame_t *f)
{
    struct vf_params *p = &s->pinned->params;
    struct vf_samples *r = &s->samples;
    const vfront_imu_noise_t *noise = &s->rig.imu;
    const uint64_t to_ns = vf_time_plus(p->t_mid_ns, s->rig.imu_offset_ns),
                   from_ns = p->frame ? vf_time_plus(s->t_mid_ns, s->rig.imu_offset_ns) : to_ns;
    vf_samples_append(r, noise, f->imu, f->imu ? f->imu_count : 0, vf_time_plus(to_ns, VFRONT_IMU_AHEAD_NS),
                      f->imu != NULL, !p->frame);
    vf_samples_select(r, from_ns, to_ns);
    p->imu = vf_samples_faults(r, noise, (uint32_t)s->step[0].tuning.gyro_stuck_samples);
    p->imu_samples = r->count;
}

/** Selects the samples that give the rotation since the previous frame: of the gyro if given, else of the IMU.
 *  around: out, these and those before and after. Returns 0 if there is neither a gyro nor an IMU with a nonempty time
 *  range. */
static int rates_of(const struct vf_context *s, const vfront_frame_t *f, struct vf_rates *rates,
                    struct vf_rates *around)
{
    const struct vf_samples *r = &s->samples;
    const struct vf_rates gyro = {f->gyro, sizeof *f->gyro, f->gyro_count},
                          imu = {vf_samples_at(r, r->first), sizeof *r->buffer, r->count};
    *around = *rates = f->gyro ? gyro : imu;
    if (!f->gyro) around->first = vf_samples_around(r, &around->count);
    return f->gyro || (r->next_has_imu && r->to_ns > r->from_ns);
}

/** 1 if the samples of a gyro or IMU do not cover the interval since the previous frame. For an IMU (of_imu) also if
 *  two samples are more than VFRONT_IMU_GAP_NS apart. */
static uint32_t is_short(const struct vf_samples *r, const struct vf_rates *rates, int of_imu)
{
    return !vf_rotation_rates_reach(rates, r->from_ns) || !vf_rotation_rates_reach(rates, r->to_ns) ||
           (of_imu && vf_samples_inner_gap(r));
}

/** 1 if there are at least `least` rotation rates and all have the same bits: the gyro is stuck. least: number that
 *  excludes a coincidence; 0: no test. */
static uint32_t is_stuck(const struct vf_rates *rates, uint32_t least)
{
    if (!least || rates->count < least) return 0;
    const vfront_gyro_t first = vf_rate(rates, 0);
    for (uint32_t i = 1; i < rates->count; i++) {
        const vfront_gyro_t rate = vf_rate(rates, i);
        if (memcmp(rate.rate_rad_s, first.rate_rad_s, sizeof first.rate_rad_s) != 0) return 0;
    }
    return 1;
}

/** Rotation vector of a rotation matrix [rad]. */
static void rotation_vector(const double R[9], double w[3])
{
    double q[4];
    vf_quaternion_of_matrix(R, q);
    vf_quaternion_logarithm(q, w);
}

/** Corrects a rotation by the errors of the gyro. */
static void correct_rotation(const struct vf_context *s, double R[9], const struct vf_gyro_turn *turn)
{
    double w[3], q[4], correction[9];
    vf_gyro_errors_correction(&s->gyro_errors, turn, w);
    vf_quaternion_exponential(w, q);
    vf_quaternion_matrix(q, correction);
    vf_rotation_multiply(R, correction, R);
}

/** Rotation R of camera 0 since the previous frame: as the caller gives it, else integrated from `rates`. Returns 0 if
 *  it is unknown. given: 1 if there is a gyro or an IMU. */
static int rotation_of(struct vf_context *s, const vfront_frame_t *f, const struct vf_rates *rates, int given,
                       double R[9])
{
    const struct vf_params *p = &s->pinned->params;
    const struct vf_samples *r = &s->samples;
    if (f->R_cur_prev) {
        memcpy(R, f->R_cur_prev, 9 * sizeof *R);
        to_stage_axes(R, s);
        return 1;
    }
    if (!given || p->gyro_short || p->gyro_stuck || r->to_ns <= r->from_ns) return 0;
    if (s->imu_fault & ~(uint32_t)VFRONT_IMU_CLOCK) return 0;
    const int64_t offset_ns = (int64_t)(1e9 * s->gyro_errors.x[VF_GYRO_OFFSET]);
    const uint64_t from_ns = vf_time_plus(r->from_ns, offset_ns), to_ns = vf_time_plus(r->to_ns, offset_ns);
    vf_rotation_of_rates(R, &s->seen.camera[0], rates, from_ns, to_ns);
    vf_rotation_rate_change(s->turn.change_radps, R, &s->seen.camera[0], rates, from_ns, to_ns);
    return 1;
}

/** Rotation between the last two images of camera 0, accumulated over frames without an image. R: in, rotation since
 *  the previous frame (known 1) or unknown (0); out, result; identity in a frame without an image. Returns 1 if the
 *  result is known. */
static int rotation_between_pictures(struct vf_context *s, int known, double R[9])
{
    const struct vf_unseen *was = &s->unseen;
    struct vf_unseen *next = &s->unseen_next;
    s->turn.dt_s = (double)s->pinned->params.dt_ns * 1e-9;
    if (was->frames) {
        double change[VF_AXES];
        vf_transform_double(R, was->change_radps, change);
        for (int k = 0; k < 3; k++) s->turn.change_radps[k] += change[k];
        vf_rotation_multiply(R, R, was->R);
        s->turn.dt_s += was->dt_s;
        known = known && was->known;
    }
    rotation_vector(R, s->turn.w);
    if (!s->pinned->params.source[0].missing) return known;
    memcpy(next->R, R, sizeof next->R);
    next->dt_s = s->turn.dt_s;
    memcpy(next->change_radps, s->turn.change_radps, sizeof next->change_radps);
    next->frames = was->frames + 1;
    next->known = known != 0;
    memset(&s->turn, 0, sizeof s->turn); /* the last image again: no rotation, and no errors of the gyro */
    for (int i = 0; i < 9; i++) R[i] = i % 4 == 0 ? 1.0 : 0.0;
    return 1;
}

/** Sets the mean rotation rate that the gyro or IMU measures between two consecutive images of camera 0. It is unknown
 *  if one of the two images is missing. */
static void fill_rate(struct vf_context *s, const struct vf_rates *rates, int given)
{
    struct vf_params *p = &s->pinned->params;
    const struct vf_samples *r = &s->samples;
    memset(p->rate_radps, 0, sizeof p->rate_radps);
    s->rate_offset_us = 0;
    p->rate_known = given && !vf_nav_sees_moving_object(&s->nav) && !p->gyro_short && !p->gyro_stuck &&
                    r->to_ns > r->from_ns && !s->unseen.frames && !p->source[0].missing &&
                    s->seen.camera[0].fx_px != 0.0;
    if (!p->rate_known) return;
    const double offset_s = s->gyro_errors.x[VF_GYRO_OFFSET];
    const int fault = offset_s > VF_VIO_TIME_OFFSET_MAX_S || offset_s < -VF_VIO_TIME_OFFSET_MAX_S;
    const int64_t offset_ns = fault ? 0 : (int64_t)(1e9 * offset_s); /* the rates show a fault of the gyro's clock */
    s->rate_offset_us = (int32_t)(offset_ns / 1000);
    vf_rotation_mean_rate(p->rate_radps, &s->seen.camera[0], rates, vf_time_plus(r->from_ns, offset_ns),
                          vf_time_plus(r->to_ns, offset_ns));
    for (int k = 0; k < 3; k++) p->rate_radps[k] += (float)s->gyro_errors.x[VF_GYRO_BIAS + k];
}

/** Sets the covariance of the rotation between the images, and the mean length of its innovations. */
static void fill_rotation_covariance(struct vf_context *s)
{
    struct vf_params *p = &s->pinned->params;
    const struct vf_gyro_errors *e = &s->gyro_errors;
    memset(p->rotation_covariance, 0, sizeof p->rotation_covariance);
    p->rotation_rms_rad = e->t_ns ? (float)sqrt(e->square) : 0.0f;
    if (p->rotation_given) vf_gyro_errors_covariance(e, &s->turn, p->t_ns, p->rotation_covariance);
}

/** Sets the parameters of the rotation prior: rotation of camera 0 between its last two images, if known, as a matrix
 *  and as a homography. */
static void fill_rotation(struct vf_context *s, const vfront_frame_t *f)
{
    struct vf_params *p = &s->pinned->params;
    const struct vf_samples *r = &s->samples;
    struct vf_rates rates, around;
    double R[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
    const int given = rates_of(s, f, &rates, &around) && p->frame;
    if (!p->frame) s->imu_fault = 0;
    if (!p->frame) vf_gyro_errors_begin(&s->gyro_errors);
    p->rotation_given = p->rotation_explicit = 0;
    p->gyro_short = given && is_short(r, &rates, !f->gyro);
    p->gyro_stuck = given && is_stuck(&rates, (uint32_t)s->step[0].tuning.gyro_stuck_samples);
    for (int i = 0; i < 9; i++) p->R[i] = i % 4 == 0 ? 1.0f : 0.0f;
    memset(&s->unseen_next, 0, sizeof s->unseen_next);
    memset(&s->turn, 0, sizeof s->turn);
    fill_rate(s, &around, given);
    if (p->frame && s->seen.camera[0].fx_px != 0.0 &&
        rotation_between_pictures(s, rotation_of(s, f, &around, given, R), R)) {
        correct_rotation(s, R, &s->turn);
        double focal_px[2];
        vf_lens_focal(focal_px, &s->seen.camera[0]);
        vf_rotation_homography(p->H, focal_px, &s->seen.camera[0], R);
        for (int i = 0; i < 9; i++) p->R[i] = (float)R[i];
        p->rotation_given = 1;
        p->rotation_explicit = f->R_cur_prev != NULL;
    }
    fill_rotation_covariance(s);
    memset(&s->imu_scale, 0, sizeof s->imu_scale);
    if (!f->gyro && !f->R_cur_prev)
        s->imu_scale = vf_gyro_errors_scale(&s->gyro_errors, vf_rotation_mounting(&s->seen.camera[0]));
}

/** Time since the last frame, whose clock was another one, or before vfront_reset(): vf_nav_view.away_ns. Unknown after
 *  a later stamp: a clock that was set, or a pause. */
static uint64_t away_ns(const struct vf_context *s)
{
    const struct vf_refused_stamps *run = &s->refused;
    const uint64_t t_ns = s->pinned->params.t_ns, before = run->count + 1 - (uint64_t)run->length;
    if (s->clock_set) return t_ns > s->t_ns || !run->interval_ns ? 0 : before * run->interval_ns + t_ns - run->first_ns;
    return !s->frame && vf_follows(s, t_ns, s->t_ns) ? t_ns - s->t_ns : 0;
}

/** View of nav, the supervisor of the state estimator, on the pinned memory of the active port. */
static struct vf_nav_view nav_view(struct vf_context *s)
{
    struct vf_nav_view v;
    memset(&v, 0, sizeof v);
    v.camera = s->seen.camera;
    v.imu = &s->rig.imu;
    v.scale = &s->imu_scale;
    v.params = &s->pinned->params;
    v.samples = &s->samples;
    v.vio = &s->pinned->vio;
    v.imu_fault = s->imu_fault;
    v.away_ns = away_ns(s);
    v.nav = &s->nav;
    v.request = &s->pinned->request;
    v.state_motion = &s->pinned->params.state_motion;
#define COPY_GEOMETRY(member) memcpy(&v.geometry.member, &s->step[0].geometry.member, sizeof v.geometry.member);
#define COPY_TUNING(value) v.tuning.value = s->step[0].tuning.value;
    VF_GEOMETRY_nav(COPY_GEOMETRY) VF_TUNING_nav(COPY_TUNING) return v;
#undef COPY_GEOMETRY
#undef COPY_TUNING
}

vfront_status_t vf_frame_params(struct vf_context *s, const vfront_frame_t *f)
{
    const vfront_status_t status = fill_sources(s, f);
    if (status) return status;
    struct vf_params *p = &s->pinned->params;
    p->t_ns = f->t_ns;
    p->t_mid_ns = vf_time_plus(f->t_ns, f->exposure_ns / 2);
    p->frame = s->clock_set ? 0 : s->frame;
    p->map_given = !p->frame && !s->clock_set && s->map.given;
    p->dt_ns = p->frame ? f->t_ns - s->t_ns : 0;
    p->gap = p->dt_ns > (uint64_t)s->step[0].tuning.health_gap_ms * 1000000u;
    p->ticket = ++s->ticket;
    p->result = (uint32_t)(s->ticket % 3);
    p->reset_counter = s->clock_set ? s->reset_counter + 1 : s->resets;
    p->late = p->frame ? s->late : 0;
    fill_imu(s, f);
    fill_rotation(s, f);
    const struct vf_nav_view nav = nav_view(s);
    vf_nav_before_step(&nav);
    return VFRONT_OK;
}

/** Time between two values of the device clock [us]; 0 if the second one is earlier. */
static float microseconds(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? (float)(to_ns - from_ns) * 1e-3f : 0.0f;
}

static void fill_timing(struct vf_context *s, vfront_timing_t *t)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (int i = 0; i < VFRONT_STAGES; i++) {
        const uint64_t *clock = s->pinned->clock[i];
        if (!clock[1]) continue; /* the stage is not active */
        t->stage_us[i] = microseconds(clock[0], clock[1]);
        if (clock[0] < first) first = clock[0];
        if (clock[1] > last) last = clock[1];
    }
    const uint64_t step_ns = s->port->now_ns() - s->submitted_ns;
    t->device_us = microseconds(first, last);
    t->step_us = (float)step_ns * 1e-3f;
    t->overrun = step_ns > (uint64_t)s->step[0].tuning.deadline_us * 1000u;
    s->overruns += t->overrun;
    t->overruns = s->overruns;
    t->port = (uint32_t)s->port->id;
    t->failed_over = (uint32_t)s->failover.switched;
}

/** Sets the host addresses of the disparity image and its confidences in a result; NULL without disparities. */
static void fill_disparity(const struct vf_context *s, vfront_result_t *r)
{
#if VFRONT_DENSE
    const struct vf_dense_copy *copy = &s->pinned->dense[s->ticket % 3];
    const struct vf_level *l = &s->step[0].geometry.level[0][0];
    const int there = (s->step[0].geometry.active & VF_BIT(dense)) && s->step[0].tuning.dense != VFRONT_DENSE_DEVICE;
    r->disparity.px16 = there ? copy->disparity : NULL;
    r->disparity.confidence = there ? copy->confidence : NULL;
    r->disparity.width_px = l->width;
    r->disparity.height_px = l->height;
    r->disparity.pitch = l->pitch;
#else
    (void)s, (void)r;
#endif
}

/** Updates the errors of the gyro by the motion of the images: the metric one if it is good, else the relative one. */
static void update_gyro_errors(struct vf_context *s, const vfront_result_t *r)
{
    const struct vf_params *p = &s->pinned->params;
    const int good = r->metric.state == VFRONT_MOTION_GOOD,
              known = good || r->relative.state == VFRONT_MOTION_GOOD || r->relative.state == VFRONT_MOTION_ROTATION;
    const vfront_motion_t *m = good ? &r->metric : &r->relative;
    double R[9], prior[9], w[3];
    if (!p->rotation_given || !(s->turn.dt_s > 0.0) || p->source[0].missing) return;
    for (int i = 0; i < 9; i++) {
        R[i] = (double)m->R[i];
        prior[i] = (double)p->R[i];
    }
    vf_rotation_transpose(prior, prior);
    vf_rotation_multiply(R, R, prior);
    rotation_vector(R, w);
    vf_gyro_errors_walk(&s->gyro_errors, p->t_ns);
    if (known && !(r->metric.flags & VFRONT_MOTION_JUMP))
        vf_gyro_errors_add(&s->gyro_errors, &s->turn, w, m->covariance + 15);
    vf_gyro_errors_end(&s->gyro_errors, known, !known && (r->metric.flags | r->relative.flags) & VFRONT_MOTION_PRIOR);
}

/** State of the camera pair by the tracks' partners, where key points are not matched. */
static void check_partners(struct vf_context *s, vfront_result_t *r)
{
#if VFRONT_STEREO
    const uint32_t active = s->step[0].geometry.active;
    if (!(active & VF_BIT(stereo)) && (active & VF_BIT(partner))) vf_partner_check(&s->partner_check, r);
#else
    (void)s, (void)r;
#endif
}

void vf_frame_result(struct vf_context *s, vfront_result_t *r)
{
    check_partners(s, r);
    update_gyro_errors(s, r);
    if (r->health.imu_late_us) r->health.imu_late_us += s->rate_offset_us;
    r->health.calibration = vf_calibration_check(&s->calibration, &r->health);
    fill_timing(s, &r->timing);
    fill_disparity(s, r);
    s->imu_fault = r->health.imu & (VFRONT_IMU_AXES | VFRONT_IMU_IN_DEGREES | VFRONT_IMU_CLOCK);
    s->late = r->health.late;
    const struct vf_nav_view nav = nav_view(s);
    vf_nav_after_step(&nav, r, &r->nav, r->innovation);
}
