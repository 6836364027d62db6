/* SPDX-License-Identifier: MIT */
#include "sender.h"

#include <math.h>
#include <string.h>

#include "examples/replay/state.h"

/* Values of MAVLink's enumerations. */
enum { LOCAL_FRD = 20, BODY_FRD = 12, ESTIMATOR_VIO = 3, QUALITY_FAILED = -1 };

#define USELESS 1e6f /* variance of a message of a failure [m^2, rad^2, ...] */

static int has_lag(const sender_t *s) { return s->settings.lag_ns && s->settings.carries_on; }

static uint64_t interval_ns(const sender_t *s)
{
    return (uint64_t)(1e9 / (has_lag(s) ? fmin(s->settings.rate_hz, SENDER_LAG_HZ) : s->settings.rate_hz));
}

static int are_finite(const double *values, int count)
{
    for (int i = 0; i < count; i++)
        if (!isfinite(values[i]) || !isfinite((float)values[i])) return 0;
    return 1;
}

/** 1 if all values are finite and variances above 0. */
static int is_sound(const odometry_t *o)
{
    for (int i = 0; i < 6; i++) {
        const int at = odometry_index(6, i, i);
        if (!(o->pose_covariance[at] > 0.0) || !(o->motion_covariance[at] > 0.0)) return 0;
    }
    return are_finite(o->position_m, 3) && are_finite(o->q_local_body, 4) && are_finite(o->euler_rad, 3) &&
           are_finite(o->velocity_mps, 3) && are_finite(o->rate_rad_s, 3) && are_finite(o->pose_covariance, 21) &&
           are_finite(o->motion_covariance, 21);
}

static void copy(float *to, const double *from, int count)
{
    for (int i = 0; i < count; i++) to[i] = (float)from[i];
}

static void fill_odometry(mavlink_message_t *m, const odometry_t *o, uint8_t reset_counter, int quality)
{
    memset(m, 0, sizeof *m);
    m->id = MAVLINK_ODOMETRY;
    m->as.odometry.time_usec[0] = o->t_ns / 1000u;
    m->as.odometry.frame_id[0] = LOCAL_FRD;
    m->as.odometry.child_frame_id[0] = BODY_FRD;
    copy(m->as.odometry.x, o->position_m, 1);
    copy(m->as.odometry.y, o->position_m + 1, 1);
    copy(m->as.odometry.z, o->position_m + 2, 1);
    copy(m->as.odometry.q, o->q_local_body, 4);
    copy(m->as.odometry.vx, o->velocity_mps, 1);
    copy(m->as.odometry.vy, o->velocity_mps + 1, 1);
    copy(m->as.odometry.vz, o->velocity_mps + 2, 1);
    copy(m->as.odometry.rollspeed, o->rate_rad_s, 1);
    copy(m->as.odometry.pitchspeed, o->rate_rad_s + 1, 1);
    copy(m->as.odometry.yawspeed, o->rate_rad_s + 2, 1);
    copy(m->as.odometry.pose_covariance, o->pose_covariance, 21);
    copy(m->as.odometry.velocity_covariance, o->motion_covariance, 21);
    m->as.odometry.reset_counter[0] = reset_counter;
    m->as.odometry.estimator_type[0] = ESTIMATOR_VIO;
    m->as.odometry.quality[0] = (int8_t)quality;
}

static void fill_vision(mavlink_message_t *m, const odometry_t *o, uint8_t reset_counter)
{
    memset(m, 0, sizeof *m);
    m->id = MAVLINK_VISION_POSITION_ESTIMATE;
    m->as.vision_position.usec[0] = o->t_ns / 1000u;
    copy(m->as.vision_position.x, o->position_m, 1);
    copy(m->as.vision_position.y, o->position_m + 1, 1);
    copy(m->as.vision_position.z, o->position_m + 2, 1);
    copy(m->as.vision_position.roll, o->euler_rad, 1);
    copy(m->as.vision_position.pitch, o->euler_rad + 1, 1);
    copy(m->as.vision_position.yaw, o->euler_rad + 2, 1);
    copy(m->as.vision_position.covariance, o->pose_covariance, 21);
    m->as.vision_position.reset_counter[0] = reset_counter;
}

/** The one message of a failure: the last pose, worth nothing. */
static int fail(sender_t *s, uint64_t now_ns, mavlink_message_t *out)
{
    const int was_sending = s->is_sending;
    odometry_t o = s->last;
    s->is_sending = s->has_state = 0;
    if (!was_sending) return 0;
    o.t_ns = now_ns > s->stamp_ns ? now_ns : s->stamp_ns + 1000u;
    s->stamp_ns = o.t_ns;
    fill_odometry(out, &o, s->reset_counter, QUALITY_FAILED);
    for (int i = 0; i < 21; i++) {
        const int is_variance = i == 0 || i == 6 || i == 11 || i == 15 || i == 18 || i == 20;
        out->as.odometry.pose_covariance[i] = out->as.odometry.velocity_covariance[i] = is_variance ? USELESS : 0.0f;
    }
    s->failures++;
    return 1;
}

/** Counts states that begin anew. */
static void count_resets(sender_t *s, const vfront_nav_t *nav)
{
    if (s->has_resets && nav->reset_counter != s->nav_resets) s->resets_due++;
    s->nav_resets = nav->reset_counter;
    s->has_resets = 1;
}

/** 1: the yaw is certain enough for position control. */
static int is_sure(const sender_t *s) { return s->frame.start.sigma_yaw_rad <= ODOMETRY_YAW_SIGMA_MAX_RAD; }

/** A failure, also where it is the first message of all: with the last number of the process before. */
static int be_unsure(sender_t *s, const odometry_t *o, uint64_t now_ns, mavlink_message_t *out)
{
    if (!s->stamp_ns) {
        s->last = *o;
        s->is_sending = 1;
    }
    return fail(s, now_ns, out);
}

/** The local frame begins with a state, though the first message is of a later time. */
static void begin_frame(sender_t *s, const vfront_nav_t *nav)
{
    odometry_t first;
    const odometry_inputs_t in = {.T_body_imu = s->settings.T_body_imu};
    if (!s->frame.is_set) odometry_of(&first, &s->frame, nav, &in);
}

static int send(sender_t *s, const vfront_nav_t *nav, const imu_buffer_t *samples, uint64_t now_ns,
                mavlink_message_t *out)
{
    odometry_inputs_t in = {.T_body_imu = s->settings.T_body_imu, .stamp_sigma_s = s->settings.stamp_sigma_s};
    odometry_t o;
    if (!imu_buffer_rate(samples, nav->t_ns, in.rate_rad_s))
        memcpy(in.rate_rad_s, nav->gyro_bias_rad_s, sizeof in.rate_rad_s); /* no rate known */
    in.rate_sigma_rad_s = s->settings.noise.gyro_density * sqrt(s->settings.noise.rate_hz);
    odometry_of(&o, &s->frame, nav, &in);
    if (!is_sound(&o)) return fail(s, now_ns, out);
    if (!is_sure(s)) return be_unsure(s, &o, now_ns, out);
    if (s->resets_due > 0 && !s->converged_ns) {
        s->reset_counter++;
        s->resets_due--;
    }
    const int quality = nav->quality < 1 ? 1 : nav->quality > 100 ? 100 : (int)nav->quality;
    fill_odometry(out, &o, s->reset_counter, quality);
    if (s->settings.has_vision_position) fill_vision(out + 1, &o, s->reset_counter);
    s->last = o;
    s->stamp_ns = o.t_ns;
    s->is_sending = s->has_sent = 1;
    s->sent++;
    return 1 + (s->settings.has_vision_position != 0);
}

/** 1 if a message of this time keeps the rate: 0.9 of the interval, as times of frames jitter. */
static int is_due(const sender_t *s, uint64_t t_ns)
{
    return !s->stamp_ns || t_ns >= s->stamp_ns + interval_ns(s) - interval_ns(s) / 10;
}

/** Time between messages: that of states, or the least part of it that keeps the rate. */
static uint64_t step_ns(const sender_t *s)
{
    const uint64_t parts = s->frame_ns / (interval_ns(s) - interval_ns(s) / 10);
    return parts > 1 ? s->frame_ns / parts : s->frame_ns;
}

/** Time to which the newest state is carried on next; 0: none. */
static uint64_t target_ns(const sender_t *s)
{
    const uint64_t from_ns = s->stamp_ns > s->nav.t_ns ? s->stamp_ns : s->nav.t_ns, t_ns = from_ns + step_ns(s);
    return s->settings.carries_on && s->frame_ns && t_ns <= s->nav.t_ns + SENDER_CARRY_NS ? t_ns : 0;
}

/** When a state carried on to a time goes out: then, if no frame is to be of that time or near it; else once that frame
 *  should have come, and has not. */
static uint64_t out_ns(const sender_t *s, uint64_t target)
{
    const uint64_t next_ns = s->nav.t_ns + s->frame_ns, overdue_ns = next_ns + s->lag_ns + s->frame_ns / 2;
    if (target + step_ns(s) / 2 < next_ns) return target;
    return target > overdue_ns ? target : overdue_ns;
}

static int send_carried(sender_t *s, const imu_buffer_t *samples, uint64_t now_ns, mavlink_message_t *out)
{
    vfront_nav_t carried;
    const uint64_t t_ns = target_ns(s);
    if (!t_ns || !imu_buffer_propagate(samples, &s->nav, &s->settings.noise, t_ns, &carried)) return 0;
    s->carried++;
    return send(s, &carried, samples, now_ns, out);
}

/** The newest state at the time of the constant lag, or as far as samples reach. */
static int send_lagged(sender_t *s, const imu_buffer_t *samples, uint64_t now_ns, mavlink_message_t *out)
{
    vfront_nav_t carried = s->nav;
    const uint64_t last_ns = imu_buffer_last_ns(samples), lagged_ns = now_ns - s->settings.lag_ns;
    const uint64_t t_ns = last_ns < lagged_ns && last_ns > s->nav.t_ns ? last_ns : lagged_ns;
    if (t_ns < s->nav.t_ns || t_ns > s->nav.t_ns + SENDER_CARRY_NS) return 0;
    if (s->stamp_ns && t_ns < s->stamp_ns + interval_ns(s)) return 0;
    if (t_ns > s->nav.t_ns && !imu_buffer_propagate(samples, &s->nav, &s->settings.noise, t_ns, &carried)) return 0;
    s->carried += t_ns > s->nav.t_ns;
    return send(s, &carried, samples, now_ns, out);
}

/** Running means of interval and age, a missing frame left out. */
static void measure(sender_t *s, const vfront_nav_t *nav, uint64_t now_ns)
{
    const uint64_t lag_ns = now_ns > nav->t_ns ? now_ns - nav->t_ns : 0;
    s->lag_ns = lag_ns > s->lag_ns ? lag_ns : s->lag_ns - (s->lag_ns - lag_ns) / 16;
    if (!s->has_state || nav->t_ns <= s->nav.t_ns) return;
    const uint64_t since_ns = nav->t_ns - s->nav.t_ns;
    if (!s->frame_ns || since_ns < s->frame_ns + s->frame_ns / 2)
        s->frame_ns = s->frame_ns ? (7 * s->frame_ns + since_ns) / 8 : since_ns;
    else
        s->frame_ns += s->frame_ns / 16; /* a rate that changed is followed in the end */
}

int sender_state(sender_t *s, const vfront_nav_t *nav, const imu_buffer_t *samples, uint64_t now_ns,
                 mavlink_message_t out[SENDER_MESSAGES])
{
    if (!state_is_valid(nav->state)) return fail(s, now_ns, out);
    if (now_ns > nav->t_ns + SENDER_STALE_NS) {
        s->stale++;
        return fail(s, now_ns, out);
    }
    measure(s, nav, now_ns);
    count_resets(s, nav);
    s->nav = *nav;
    s->has_state = 1;
    if (has_lag(s)) {
        begin_frame(s, nav);
        return send_lagged(s, samples, now_ns, out);
    }
    if (nav->t_ns <= s->stamp_ns) return 0; /* messages of later times are out: it counts from the next one on */
    if (!is_due(s, nav->t_ns) && s->is_sending && !s->resets_due) return 0;
    return send(s, nav, samples, now_ns, out);
}

int sender_tick(sender_t *s, const imu_buffer_t *samples, uint64_t now_ns, mavlink_message_t out[SENDER_MESSAGES])
{
    if (!s->has_state) return 0;
    if (now_ns > s->nav.t_ns + SENDER_STALE_NS) return fail(s, now_ns, out);
    if (has_lag(s)) return send_lagged(s, samples, now_ns, out);
    const uint64_t target = target_ns(s);
    return target && now_ns >= out_ns(s, target) ? send_carried(s, samples, now_ns, out) : 0;
}

uint64_t sender_next_ns(const sender_t *s)
{
    if (!s->has_state) return UINT64_MAX;
    const uint64_t stale_ns = s->nav.t_ns + SENDER_STALE_NS + 1, target = target_ns(s);
    const uint64_t lagged_ns = s->stamp_ns + interval_ns(s) > s->nav.t_ns ? s->stamp_ns + interval_ns(s) : s->nav.t_ns;
    const uint64_t next_ns = has_lag(s) ? lagged_ns + s->settings.lag_ns : target ? out_ns(s, target) : stale_ns;
    return next_ns < stale_ns ? next_ns : stale_ns;
}

void sender_follow(sender_t *s, uint8_t last)
{
    s->reset_counter = last;
    s->resets_due = 2;
}

void sender_restart(sender_t *s)
{
    memset(&s->frame, 0, sizeof s->frame);
    s->has_resets = s->has_state = 0;
    s->converged_ns = 0;
    if (!s->resets_due) s->resets_due = 1;
}

int sender_needs_start(const sender_t *s, const vfront_nav_t *nav)
{
    const int has_converged = s->converged_ns && nav->t_ns >= s->converged_ns;
    return state_is_valid(nav->state) && (!s->frame.is_set || !is_sure(s) || has_converged);
}

void sender_resume(sender_t *s, const odometry_start_t *start, uint64_t converged_ns)
{
    odometry_resume(&s->frame, start);
    s->converged_ns = converged_ns;
}
