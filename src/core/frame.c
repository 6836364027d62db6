/* SPDX-License-Identifier: MIT */
/* Parameters of a frame before its step, and what the host adds to the result after it: times, addresses of
 * disparities. */
#include "frame.h"

#include "math/rotation.h"
#include "state/nav.h"

VF_STATIC_ASSERT(offsetof(vfront_imu_t, t_ns) == offsetof(vfront_gyro_t, t_ns) &&
                     offsetof(vfront_imu_t, gyro_rad_s) == offsetof(vfront_gyro_t, rate_rad_s),
                 "vfront: an IMU reading begins as a gyro reading does");

static void copy_mask(struct vf_state *s, const vfront_picture_t *p, int32_t i, struct vf_source *source)
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

void vf_frame_missing(const struct vf_state *s, struct vf_memory *memory, int32_t i, struct vf_source *source)
{
    memset(source, 0, sizeof *source);
    source->data = memory->ingest.picture[s->parity ^ 1][i];
    source->pitch = (uint32_t)s->step[0].geometry.raw[i].pitch;
    source->format = VFRONT_GREY8;
    source->missing = 1;
}

static vfront_status_t fill_sources(struct vf_state *s, const vfront_frame_t *f)
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

/** Changes the axes of a rotation from those of the rig's camera 0 to those of the camera as the stages see it. */
static void to_axes_seen(double R[9], const struct vf_state *s)
{
    double back[9];
    if (!s->step[0].geometry.rectified) return;
    vf_rotation_transpose(back, s->R_rig_seen[0]);
    vf_rotation_multiply(R, back, R);
    vf_rotation_multiply(R, R, s->R_rig_seen[0]);
}

/** Sets the readings of the IMU in this step, and what is wrong with them. */
static void fill_imu(struct vf_state *s, const vfront_frame_t *f)
{
    struct vf_params *p = &s->pinned->params;
    struct vf_readings *r = &s->readings;
    const vfront_imu_noise_t *noise = &s->rig.imu;
    const uint64_t to_ns = vf_time_plus(p->t_mid_ns, s->rig.imu_offset_ns),
                   from_ns = p->frame ? vf_time_plus(s->t_mid_ns, s->rig.imu_offset_ns) : to_ns;
    vf_readings_take(r, noise, f->imu, f->imu ? f->imu_count : 0, vf_time_plus(to_ns, VFRONT_IMU_AHEAD_NS),
                     f->imu != NULL, !p->frame);
    vf_readings_step(r, from_ns, to_ns);
    p->imu = vf_readings_faults(r, noise, (uint32_t)s->step[0].tuning.gyro_stuck_readings);
    p->imu_readings = r->count;
}

/** Rates that the frame's rotation is to be made from. Returns 0 if there is no gyro, and no IMU or no time for it. */
static int rates_of(const struct vf_state *s, const vfront_frame_t *f, struct vf_rates *rates)
{
    const struct vf_readings *r = &s->readings;
    const struct vf_rates gyro = {f->gyro, sizeof *f->gyro, f->gyro_count},
                          imu = {&r->reading[r->first], sizeof *r->reading, r->count};
    *rates = f->gyro ? gyro : imu;
    return f->gyro || (r->next_begun && r->to_ns > r->from_ns);
}

/** 1 if the rates do not reach from the frame before to this one; those of an IMU also if a long part is missing. */
static uint32_t is_short(const struct vf_readings *r, const struct vf_rates *rates, int of_imu)
{
    return !vf_rotation_rates_reach(rates, r->from_ns) || !vf_rotation_rates_reach(rates, r->to_ns) ||
           (of_imu && vf_readings_apart(r));
}

/** 1 if the rates are equal to the bit, and at least `least`, enough for that to be no chance. */
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

/** Rotation of camera 0 since the frame before, as the frame gives it. Returns 0 if it gives none. */
static int rotation_of(const struct vf_state *s, const vfront_frame_t *f, const struct vf_rates *rates, int given,
                       double R[9])
{
    const struct vf_params *p = &s->pinned->params;
    const struct vf_readings *r = &s->readings;
    if (f->R_cur_prev) {
        memcpy(R, f->R_cur_prev, 9 * sizeof *R);
        to_axes_seen(R, s);
        return 1;
    }
    if (!given || p->gyro_short || p->gyro_stuck || r->to_ns <= r->from_ns) return 0;
    if (s->misread & ~(uint32_t)VFRONT_IMU_CLOCK) return 0;
    vf_rotation_of_rates(R, &s->seen.camera[0], rates, r->from_ns, r->to_ns);
    return 1;
}

/** Rotation between the pictures that camera 0 shows, by that since the frame before: none in a frame without a
 *  picture; in the first one with a picture again, that since its last picture. Returns 1 if it is known. */
static int between_pictures(struct vf_state *s, int known, double R[9])
{
    const struct vf_unseen *was = &s->unseen;
    struct vf_unseen *next = &s->unseen_next;
    if (was->frames) {
        vf_rotation_multiply(R, R, was->R);
        known = known && was->known;
    }
    if (!s->pinned->params.source[0].missing) return known;
    memcpy(next->R, R, sizeof next->R);
    next->frames = was->frames + 1;
    next->known = known != 0;
    for (int i = 0; i < 9; i++) R[i] = i % 4 == 0 ? 1.0 : 0.0;
    return 1;
}

/** Mean rate by the readings between two new pictures of camera 0. */
static void fill_rate(struct vf_state *s, const struct vf_rates *rates, int given)
{
    struct vf_params *p = &s->pinned->params;
    const struct vf_readings *r = &s->readings;
    memset(p->rate_radps, 0, sizeof p->rate_radps);
    p->rate_known = given && !vf_nav_sees_body(s) && !p->gyro_short && !p->gyro_stuck && r->to_ns > r->from_ns &&
                    !s->unseen.frames && !p->source[0].missing && s->seen.camera[0].fx_px != 0.0;
    if (p->rate_known) vf_rotation_mean_rate(p->rate_radps, &s->seen.camera[0], rates, r->from_ns, r->to_ns);
}

/** Rotation between the pictures, if it is known, as a matrix and as a homography. */
static void fill_rotation(struct vf_state *s, const vfront_frame_t *f)
{
    struct vf_params *p = &s->pinned->params;
    const struct vf_readings *r = &s->readings;
    struct vf_rates rates;
    double R[9] = {1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0};
    const int given = rates_of(s, f, &rates) && p->frame;
    if (!p->frame) s->misread = 0;
    p->rotation_given = p->rotation_own = 0;
    p->gyro_short = given && is_short(r, &rates, !f->gyro);
    p->gyro_stuck = given && is_stuck(&rates, (uint32_t)s->step[0].tuning.gyro_stuck_readings);
    for (int i = 0; i < 9; i++) p->R[i] = i % 4 == 0 ? 1.0f : 0.0f;
    memset(&s->unseen_next, 0, sizeof s->unseen_next);
    fill_rate(s, &rates, given);
    if (!p->frame || s->seen.camera[0].fx_px == 0.0) return;
    if (!between_pictures(s, rotation_of(s, f, &rates, given, R), R)) return;
    vf_rotation_homography(p->H, &s->seen.camera[0], R);
    for (int i = 0; i < 9; i++) p->R[i] = (float)R[i];
    p->rotation_given = 1;
    p->rotation_own = f->R_cur_prev != NULL;
}

vfront_status_t vf_frame_params(struct vf_state *s, const vfront_frame_t *f)
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
    vf_nav_give(s);
    return VFRONT_OK;
}

/** Time from one reading of the device's clock to another [us], of any length; 0 where that clock went back. */
static float microseconds(uint64_t from_ns, uint64_t to_ns)
{
    return to_ns > from_ns ? (float)(to_ns - from_ns) * 1e-3f : 0.0f;
}

static void fill_timing(struct vf_state *s, vfront_timing_t *t)
{
    uint64_t first = UINT64_MAX, last = 0;
    for (int i = 0; i < VFRONT_STAGES; i++) {
        const uint64_t *clock = s->pinned->clock[i];
        if (!clock[1]) continue; /* left out */
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
    t->failed_over = (uint32_t)s->failover.over;
}

/** Addresses of a result's disparities on the host; NULL where there are none. */
static void fill_disparity(const struct vf_state *s, vfront_result_t *r)
{
#if VFRONT_DENSE
    const struct vf_dense_copy *copy = &s->pinned->dense[s->ticket % 3];
    const struct vf_level *l = &s->step[0].geometry.level[0][0];
    const int there = (s->step[0].geometry.active & VF_BIT(dense)) && s->step[0].tuning.dense_copy;
    r->disparity.px16 = there ? copy->disparity : NULL;
    r->disparity.confidence = there ? copy->confidence : NULL;
    r->disparity.width_px = l->width;
    r->disparity.height_px = l->height;
    r->disparity.pitch = l->pitch;
#else
    (void)s, (void)r;
#endif
}

void vf_frame_result(struct vf_state *s, vfront_result_t *r)
{
    fill_timing(s, &r->timing);
    fill_disparity(s, r);
    s->misread = r->health.imu & (VFRONT_IMU_AXES | VFRONT_IMU_IN_DEGREES | VFRONT_IMU_CLOCK);
    s->late = r->health.late;
    vf_nav_take(s, r);
}
