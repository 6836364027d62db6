/* SPDX-License-Identifier: MIT */
#include "nav.h"

#include "geometry/motion.h"
#include "math/rotation.h"
#include "port/port.h"
#include "window_motion.h"
#include "window_unread.h"

#if VFRONT_WINDOW

static int is_active(const struct vf_state *s) { return (s->step[0].geometry.active & VF_BIT(window)) != 0; }

/** 1 if readings are of use. */
static int has_imu(const struct vf_state *s) { return !vf_imu_noise_none(&s->rig.imu); }

/** Rig as the window sees it. */
static void rig_of(const struct vf_state *s, struct vf_window_rig *rig)
{
    const vfront_camera_t *own = &s->seen.camera[0];
    memset(rig, 0, sizeof *rig);
    vf_rotation_transpose(rig->R_imu_cam, vf_rotation_mounting(own));
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) rig->p_imu_cam_m[i] -= rig->R_imu_cam[3 * i + k] * own->t_cam_imu_m[k];
    for (int i = 0; i < 9; i++) rig->R_1_0[i] = i % 4 == 0;
    rig->cameras = s->step[0].geometry.pair.placed ? 2 : 1;
    rig->rests = s->step[0].tuning.window_rest;
    rig->scatter = VF_NAV_SCATTER;
    rig->turn_rad = 1e-6 * s->step[0].tuning.window_stereo_urad;
#if VFRONT_CAMERAS > 1
    if (rig->cameras == 2) vf_rotation_between(rig->R_1_0, rig->t_1_0_m, own, &s->seen.camera[1]);
#endif
}

/** Noise of the IMU's readings in flight. */
static vfront_imu_noise_t noise_of(const struct vf_state *s)
{
    vfront_imu_noise_t noise = s->rig.imu;
    noise.gyro_density *= 0.01 * s->step[0].tuning.window_imu_percent;
    noise.accel_density *= 0.01 * s->step[0].tuning.window_imu_percent;
    return noise;
}

/** All is forgotten but the last pose. */
static void begin_anew(struct vf_state *s)
{
    struct vf_nav *n = &s->nav;
    struct vf_window_rig rig;
    rig_of(s, &rig);
    vf_start_begin(&n->start, &rig, &s->rig.imu);
    if (rig.cameras == 1) vf_mono_begin(&n->mono, &rig, &s->rig.imu);
    memset(&n->first, 0, sizeof n->first);
    memset(&n->stereo, 0, sizeof n->stereo);
    n->running = n->no_gravity = n->poor = n->earlier_count = n->doubt = n->against = n->contradicted = n->undenied = 0;
    n->body = n->gravity.frames = 0;
    n->lost = n->last.t_ns != 0;
}

/** Readings of a step behind those from before it. */
static void fill_readings(struct vf_nav *n, const struct vf_readings *r)
{
    const uint32_t own = r->total - r->first;
    uint32_t before = 0;
    n->t_ns = r->to_ns;
    n->readings = 0;
    if (!r->count) return;
    while (before < n->earlier_count && n->earlier[before].t_ns < r->reading[r->first].t_ns) before++;
    memcpy(n->imu, n->earlier, before * sizeof *n->imu);
    memcpy(&n->imu[before], &r->reading[r->first], own * sizeof *n->imu);
    n->readings = before + own;
}

/** Keeps the last readings up to the end of a step. */
static void keep_readings(struct vf_nav *n)
{
    const uint32_t until = vf_imu_until(n->imu, n->readings, n->t_ns);
    if (!until) return;
    n->earlier_count = until < VF_NAV_EARLIER ? until : VF_NAV_EARLIER;
    memcpy(n->earlier, &n->imu[until - n->earlier_count], n->earlier_count * sizeof *n->earlier);
}

/** 1 if a state found by readings begins with this frame. */
static int begins_level(const struct vf_nav *n) { return n->first.t_ns && !n->unread; }

/** State of this frame by two cameras. */
static void first_by_stereo(const struct vf_state *s, const struct vf_window_rig *rig, vfront_nav_t *first)
{
    const struct vf_nav *n = &s->nav;
    double q[4];
    vf_stereo_upright(rig, q);
    if (n->last.t_ns) memcpy(q, n->last.q_odom_imu, sizeof q);
    vf_stereo_first(&n->stereo, q, (double)s->pinned->params.dt_ns * 1e-9, first);
    if (n->last.t_ns) memcpy(first->position_m, n->last.position_m, sizeof first->position_m);
    first->t_ns = n->t_ns;
}

/** The first state goes to the window. */
static void begin(struct vf_state *s, struct vf_window_given *g)
{
    struct vf_nav *n = &s->nav;
    rig_of(s, &g->rig);
    g->noise = noise_of(s);
    g->first = n->first;
    if (!begins_level(n)) {
        first_by_stereo(s, &g->rig, &g->first);
        g->noise.gravity_m_s2 = 0.0;
    }
    vf_window_inverse(&g->first, g->information);
    memset(&n->next, 0, sizeof n->next);
    n->next.t_ns = g->first.t_ns;
    memcpy(n->next.bias, g->first.gyro_bias_rad_s, sizeof n->first.gyro_bias_rad_s);
    memcpy(n->next.bias + 3, g->first.accel_bias_m_s2, sizeof n->first.accel_bias_m_s2);
}

/** Motion without readings, by the last two states; of the frame in which two cameras begin: none. */
static void give_unread(struct vf_state *s, enum vf_window_command command, struct vf_window_motion *motion)
{
    const struct vf_nav *n = &s->nav;
    vfront_imu_noise_t noise = noise_of(s);
    double rate[3] = {0.0, 0.0, 0.0};
    memset(motion, 0, sizeof *motion);
    motion->t_ns = n->t_ns;
    if (command == VF_WINDOW_BEGIN) return;
    if (n->no_gravity) noise.gravity_m_s2 = 0.0;
    if (n->before.t_ns && n->last.t_ns > n->before.t_ns)
        vf_unread_rate(n->before.q_odom_imu, n->last.q_odom_imu, (double)(n->last.t_ns - n->before.t_ns) * 1e-9, rate);
    else if (n->no_gravity)
        memcpy(rate, n->rate, sizeof rate);
    vf_window_motion_unread(motion, &n->next, &noise, n->last.q_odom_imu, rate, n->t_ns);
}

/** Command for the window. */
static enum vf_window_command command_of(const struct vf_state *s)
{
    const struct vf_nav *n = &s->nav;
    const int goes_on = s->step[0].geometry.pair.placed && n->t_ns > n->carried.t_ns;
    if (begins_level(n) || n->stereo.dt_s > 0.0) return VF_WINDOW_BEGIN;
    if (n->running && (n->unread || n->no_gravity)) return goes_on ? VF_WINDOW_GO_ON : VF_WINDOW_NONE;
    return n->running ? VF_WINDOW_GO_ON : VF_WINDOW_NONE;
}

/** 1 if the motion of this frame is made without readings. */
static int goes_unread(const struct vf_nav *n, enum vf_window_command command)
{
    return command == VF_WINDOW_BEGIN ? !begins_level(n) : n->unread || n->no_gravity;
}

/** Motion of camera 0 by the state and this frame's readings, for the stage predict. */
static void expect_motion(struct vf_state *s, enum vf_window_command command, const vfront_imu_noise_t *noise)
{
    struct vf_nav *n = &s->nav;
    const struct vf_window_given *g = &s->pinned->given;
    struct vf_nav_way *way = &n->way_next;
    struct vf_params *p = &s->pinned->params;
    struct vf_window_rig rig;
    *way = n->way;
    if (n->shown) vf_nav_way_begin(way, command == VF_WINDOW_BEGIN ? &n->first : &n->last);
    if (command == VF_WINDOW_NONE || goes_unread(n, command) || !(g->motion.motion.dt_s > 0.0)) way->there = 0;
    if (!way->there) return;
    vf_nav_way_on(way, noise, &g->motion.motion);
    if (!way->there || p->source[0].missing) return;
    rig_of(s, &rig);
    vf_nav_motion_of(way, &rig, &n->expected);
    if (!n->doubt) p->stated = n->expected;
}

/** 1 if the readings of this frame are not to be used. */
static int is_misread(const struct vf_state *s)
{
    const uint32_t dead = s->pinned->params.imu & (VFRONT_IMU_STUCK | VFRONT_IMU_ZERO);
    return dead || s->misread || (s->nav.running && s->nav.against);
}

int vf_nav_sees_body(const struct vf_state *s)
{
    const struct vf_nav *n = &s->nav;
    return n->running && (n->body || (n->last.flags & VFRONT_NAV_DISPUTED && !n->undenied));
}

void vf_nav_give(struct vf_state *s)
{
    struct vf_nav *n = &s->nav;
    struct vf_window_given *g = &s->pinned->given;
    const vfront_imu_noise_t noise = noise_of(s);
    memset(&s->pinned->params.stated, 0, sizeof s->pinned->params.stated);
    if (!is_active(s)) return;
    memset(&n->expected, 0, sizeof n->expected);
    if (!s->pinned->params.frame) begin_anew(s);
    fill_readings(n, &s->readings);
    n->next = n->carried;
    n->unread = !s->readings.count || vf_readings_gap(&s->readings, VFRONT_IMU_GAP_NS) || !has_imu(s) || is_misread(s);
    const enum vf_window_command command = command_of(s);
    g->command = command;
    if (command == VF_WINDOW_BEGIN) begin(s, g);
    if (command != VF_WINDOW_NONE && goes_unread(n, command))
        give_unread(s, command, &g->motion);
    else if (command != VF_WINDOW_NONE)
        vf_window_motion_of(&g->motion, &n->next, &noise, n->imu, n->readings, n->t_ns);
    expect_motion(s, command, &noise);
}

/* ---- a state goes on where the last one was ---------------------------------------------------------------------- */

/** Turn about z that is in an attitude. */
static void heading(const double q[4], double z[4])
{
    const double square = q[0] * q[0] + q[3] * q[3], length = sqrt(square);
    z[0] = length > 1e-9 ? q[0] / length : 1.0;
    z[1] = z[2] = 0.0;
    z[3] = length > 1e-9 ? q[3] / length : 0.0;
}

/** out = Z P Z', of 3x3 blocks of a 15x15 covariance of which the first three kinds of errors turn. */
static void turn_covariance(double covariance[120], const double Z[9])
{
    double P[VF_NAV_ERRORS][VF_NAV_ERRORS], T[VF_NAV_ERRORS][VF_NAV_ERRORS];
    for (int i = 0; i < VF_NAV_ERRORS; i++)
        for (int j = 0; j < VF_NAV_ERRORS; j++) P[i][j] = covariance[vf_nav_index(i < j ? i : j, i < j ? j : i)];
    for (int side = 0; side < 2; side++) { /* T = (Z P)', twice */
        for (int i = 0; i < VF_NAV_ERRORS; i++)
            for (int j = 0; j < VF_NAV_ERRORS; j++) {
                double sum = i < 9 ? 0.0 : P[i][j];
                for (int k = 0; k < 3 && i < 9; k++) sum += Z[3 * (i % 3) + k] * P[i / 3 * 3 + k][j];
                T[j][i] = sum;
            }
        memcpy(P, T, sizeof P);
    }
    for (int i = 0; i < VF_NAV_ERRORS; i++)
        for (int j = i; j < VF_NAV_ERRORS; j++) covariance[vf_nav_index(i, j)] = P[i][j];
}

/** First state with position and heading of the last one. */
static void go_on_from(vfront_nav_t *first, const vfront_nav_t *last)
{
    double was[4], is[4], turn[4], Z[9], v[3];
    heading(last->q_odom_imu, was);
    heading(first->q_odom_imu, is);
    is[3] = -is[3];
    vf_quaternion_multiply(was, is, turn);
    vf_quaternion_matrix(turn, Z);
    vf_quaternion_multiply(turn, first->q_odom_imu, first->q_odom_imu);
    vf_quaternion_unit(first->q_odom_imu);
    vf_transform_double(Z, first->velocity_mps, v);
    memcpy(first->velocity_mps, v, sizeof v);
    memcpy(first->position_m, last->position_m, sizeof first->position_m);
    turn_covariance(first->covariance, Z);
}

/* ---- after a step ------------------------------------------------------------------------------------------------ */

/** Tracks of a result as sights; none of a picture that is not of this frame. Returns their number. */
static uint32_t sights_of(const struct vf_state *s, const vfront_result_t *r, struct vf_sight sight[VF_WINDOW_SIGHTS])
{
    const float sigma = 0.001f * (float)s->step[0].tuning.window_sight_mpx / s->step[0].geometry.focal_px[0];
    const uint32_t seen = !(r->health.missing & 1) && !r->health.frozen[0];
    uint32_t count = 0;
    for (uint32_t i = 0; i < r->tracks_count && count < VF_WINDOW_SIGHTS && seen; i++) {
        const vfront_track_t *t = &r->tracks[i];
        if (!(t->bearing[2] > 0.0f)) continue;
        memset(&sight[count], 0, sizeof sight[count]);
        sight[count].id = (uint32_t)t->id;
        sight[count].sigma = sigma;
        memcpy(sight[count++].bearing, t->bearing, sizeof t->bearing);
    }
    return count;
}

/** A start with one camera goes on by a frame. Returns 1 if it has a state. */
static int seek_by_one(struct vf_state *s, const vfront_result_t *r, const struct vf_start_frame *frame)
{
    struct vf_sight sight[VF_WINDOW_SIGHTS];
    return vf_mono_step(&s->nav.mono, frame, sight, sights_of(s, r, sight)) == VF_START_MOVING;
}

/** A start goes on by a frame; where it finds a state, that is the first one. */
static void seek(struct vf_state *s, const vfront_result_t *r)
{
    struct vf_nav *n = &s->nav;
    const uint32_t wrong = VFRONT_IMU_STUCK | VFRONT_IMU_ZERO | VFRONT_IMU_IN_G | VFRONT_IMU_NO_GRAVITY |
                           VFRONT_IMU_AXES | VFRONT_IMU_IN_DEGREES | VFRONT_IMU_CLOCK;
    const struct vf_window_rig rig = n->start.rig;
    if (!has_imu(s)) return;
    if (r->health.imu & wrong) {
        vf_start_begin(&n->start, &rig, &s->rig.imu);
        if (rig.cameras == 1) vf_mono_begin(&n->mono, &rig, &s->rig.imu);
        return;
    }
    const struct vf_start_frame frame = {n->t_ns, n->imu, n->readings, &r->metric, &r->relative};
    const enum vf_start_state found = vf_start_step(&n->start, &frame);
    const int one = rig.cameras == 1 && seek_by_one(s, r, &frame);
    if (found != VF_START_STANDING && found != VF_START_MOVING && !one) return;
    n->first = one ? n->mono.nav : n->start.nav;
    if (n->last.t_ns) go_on_from(&n->first, &n->last);
}

/** 1 if two cameras can begin a state. */
static int can_do_without(const struct vf_state *s)
{
    return (s->step[0].geometry.active & VF_BIT(stereo)) && s->step[0].tuning.ego_metric_hypotheses;
}

/** The same by two cameras, where there have been no readings for too long. */
static void seek_by_stereo(struct vf_state *s, const vfront_result_t *r)
{
    struct vf_nav *n = &s->nav;
    const int waits = has_imu(s) && n->t_ns - n->read_ns <= VFRONT_IMU_GAP_NS;
    if (!can_do_without(s) || !n->unread || waits) return;
    vf_stereo_take(&n->stereo, &n->start.rig, &r->metric, (double)s->pinned->params.dt_ns * 1e-9);
}

/** 1 if a state may not be believed any more. sighted: landmarks of earlier frames that are sights. */
static int is_lost(struct vf_nav *n, const vfront_nav_t *nav, uint32_t sighted)
{
    int finite = 1;
    for (int i = 0; i < VF_NAV_ERRORS; i++)
        finite = finite && nav->covariance[vf_nav_index(i, i)] >= 0.0 && nav->covariance[vf_nav_index(i, i)] < 1e12;
    for (int k = 0; k < 3; k++)
        finite = finite && nav->position_m[k] > -1e9 && nav->position_m[k] < 1e9 && nav->velocity_mps[k] > -1e5 &&
                 nav->velocity_mps[k] < 1e5;
    const int poor = nav->misfit > VF_NAV_POOR_COST && sighted >= VF_NAV_POOR_LEAST;
    n->poor = poor ? n->poor + 1 : 0;
    const uint64_t most_ns = n->unread || n->no_gravity ? VF_NAV_UNREAD_NS : VF_NAV_COAST_NS;
    return !finite || n->poor >= VF_NAV_POOR_FRAMES || nav->t_ns > n->sighted_ns + most_ns;
}

/** Quality of a state, see vfront_nav_t. */
static uint32_t quality_of(const vfront_nav_t *nav)
{
    const uint64_t left = nav->age_ns < VF_NAV_COAST_NS ? VF_NAV_COAST_NS - nav->age_ns : 0;
    const uint32_t sights = nav->landmarks < VF_NAV_FULL ? nav->landmarks : VF_NAV_FULL;
    if (nav->state == VFRONT_NAV_GOOD) return 50 + 50 * sights / VF_NAV_FULL;
    if (nav->state == VFRONT_NAV_STEREO_ONLY) return 1 + 49 * sights / VF_NAV_FULL;
    return nav->state == VFRONT_NAV_COASTING ? 1 + (uint32_t)(left / (VF_NAV_COAST_NS / 49)) : 1;
}

/** State of a frame that has one. */
static void tell(struct vf_nav *n, int begins, vfront_nav_t *nav)
{
    if (begins) {
        n->resets += n->last.t_ns != 0;
        n->sighted_ns = nav->t_ns;
        n->lost = 0;
        n->no_gravity = !begins_level(n);
        memcpy(n->rate, n->stereo.rate, sizeof n->rate);
    }
    memset(&n->first, 0, sizeof n->first);
    memset(&n->stereo, 0, sizeof n->stereo);
    const uint32_t sighted = nav->reserved & (VF_WINDOW_TOLD_BODY - 1u);
    if (sighted >= VF_NAV_FEWEST) n->sighted_ns = nav->t_ns;
    nav->reserved = 0;
    n->running = 1;
    n->next.t_ns = n->t_ns;
    n->next.own_offset_s = n->next.offset_s;
    n->next.offset_s = nav->offset_s;
    memcpy(n->next.bias, nav->gyro_bias_rad_s, sizeof nav->gyro_bias_rad_s);
    memcpy(n->next.bias + 3, nav->accel_bias_m_s2, sizeof nav->accel_bias_m_s2);
    n->carried = n->next;
    nav->age_ns = nav->t_ns > n->sighted_ns ? nav->t_ns - n->sighted_ns : 0;
    nav->state = nav->age_ns || nav->flags & VFRONT_NAV_DISPUTED ? VFRONT_NAV_COASTING : VFRONT_NAV_GOOD;
    if (n->unread || n->no_gravity) nav->state = VFRONT_NAV_STEREO_ONLY;
    if (n->no_gravity) nav->flags |= VFRONT_NAV_GAP | VFRONT_NAV_NO_GRAVITY;
    if (is_lost(n, nav, sighted)) nav->state = VFRONT_NAV_LOST;
}

/** Small rotation vector from one rotation to another [rad]. */
static void turn_between(const float from[9], const float to[9], double turn[3])
{
    for (int k = 0; k < 3; k++) {
        const int a = (k + 2) % 3, b = (k + 1) % 3; /* half of R_to R_from' less its transpose, row a column b */
        turn[k] = 0.0;
        for (int i = 0; i < 3; i++)
            turn[k] += 0.5 * ((double)to[3 * a + i] * (double)from[3 * b + i] -
                              (double)to[3 * b + i] * (double)from[3 * a + i]);
    }
}

/** 1 if a motion expected differs from that of the pictures. */
static int differs(const vfront_prediction_t *e, const vfront_motion_t *m, int metric)
{
    double apart[6];
    int found = 0;
    turn_between(e->R, m->R, apart + 3);
    for (int k = 0; k < 3; k++) apart[k] = metric ? (double)m->t[k] - (double)e->t[k] : 0.0;
    for (int k = 0; k < 6; k++) {
        const int at = vf_motion_index(k, k);
        const double variance = (double)m->covariance[at] + (double)e->covariance[at];
        found |= apart[k] * apart[k] > VF_NAV_DOUBT * VF_NAV_DOUBT * variance;
    }
    return found;
}

/** 1 if a contradiction between readings and a motion of the pictures counts against the readings; 0 also where that
 *  motion is a body's: the window sees one beside the world, or the other motion is good and agrees, or many sights do,
 *  or did so when the dispute began (window_gate.h). Readings that are wrong are contradicted by both, in frame after
 *  frame. */
static int is_against(struct vf_nav *n, const vfront_result_t *r, uint32_t own)
{
    const uint32_t relative = r->relative.flags & VFRONT_MOTION_PRIOR, metric = r->metric.flags & VFRONT_MOTION_PRIOR;
    const int whole = !(r->nav.flags & (VFRONT_NAV_SATURATED | VFRONT_NAV_GAP));
    const int denied = (!relative && r->relative.state == VFRONT_MOTION_GOOD) ||
                       (!metric && r->metric.state == VFRONT_MOTION_GOOD); /* by one that agrees */
    const int contradicted = (relative || metric) && !(denied && whole) && !own;
    const int many = r->nav.landmarks >= VF_NAV_SIDE && VF_NAV_SIDE_SHARE * r->nav.landmarks >= r->tracks_count;
    const int agree = r->nav.flags & VFRONT_NAV_DISPUTED || many;
    n->contradicted = contradicted ? n->contradicted + 1 : 0;
    n->undenied -= n->undenied > 0;
    if (contradicted) n->undenied = VF_NAV_UNDENIED_FRAMES;
    return contradicted && !n->body && !(n->running && whole && agree && n->contradicted <= VF_NAV_SIDE_FRAMES);
}

/** Comparison of the pictures' motion with that expected; the way goes on from this frame. own: 1: the rotation
 *  prior is not of readings. */
static void judge_motion(struct vf_nav *n, const vfront_result_t *r, uint32_t own)
{
    const int metric = r->metric.state == VFRONT_MOTION_GOOD, known = metric || r->relative.state == VFRONT_MOTION_GOOD;
    n->against -= n->against > 0;
    if (r->health.imu & (VFRONT_IMU_STUCK | VFRONT_IMU_ZERO) && !n->against) n->against = 1; /* its last readings */
    if (is_against(n, r, own)) n->against = VF_NAV_AGAINST_FRAMES;
    n->doubt -= n->doubt > 0;
    if (n->expected.source && known && differs(&n->expected, metric ? &r->metric : &r->relative, metric))
        n->doubt = VF_NAV_DOUBT_FRAMES;
    n->way = n->way_next;
    n->shown = !(r->health.missing & 1) && !r->health.frozen[0];
}

/** 1 if readings are used again and a state that went on without them contradicts gravity. nav: state of this frame. */
static int is_tilted(struct vf_state *s, enum vf_window_command command, const vfront_nav_t *nav)
{
    struct vf_nav *n = &s->nav;
    const uint32_t wrong = VFRONT_IMU_STUCK | VFRONT_IMU_ZERO | VFRONT_IMU_IN_G | VFRONT_IMU_NO_GRAVITY;
    const int goes_on = command == VF_WINDOW_GO_ON && !n->no_gravity && nav->t_ns > n->last.t_ns;
    const int tilted = goes_on && !n->unread && vf_nav_gravity_contradicts(&n->gravity);
    if (!goes_on || !n->unread) n->gravity.frames = 0;
    if (goes_on && n->unread && !(s->pinned->params.imu & wrong))
        vf_nav_gravity_add(&n->gravity, nav, &n->last, n->imu, n->readings, s->rig.imu.gravity_m_s2);
    return tilted;
}

/** Result of a frame without a state. */
static uint32_t none_of(const struct vf_state *s)
{
    if (s->nav.lost) return VFRONT_NAV_LOST;
    return s->readings.begun || can_do_without(s) ? VFRONT_NAV_INITIALISING : VFRONT_NAV_NONE;
}

void vf_nav_take(struct vf_state *s, vfront_result_t *r)
{
    struct vf_nav *n = &s->nav;
    const enum vf_window_command command = (enum vf_window_command)s->pinned->given.command;
    vfront_nav_t *nav = &r->nav;
    if (!is_active(s)) return;
    n->body = n->running && command == VF_WINDOW_GO_ON && !n->unread && (nav->reserved & VF_WINDOW_TOLD_BODY) != 0;
    judge_motion(n, r, s->pinned->params.rotation_own);
    if (!n->unread || !s->pinned->params.frame) n->read_ns = n->t_ns;
    if (command != VF_WINDOW_NONE) {
        const int tilted = is_tilted(s, command, nav);
        tell(n, command == VF_WINDOW_BEGIN, nav);
        if (tilted) nav->state = VFRONT_NAV_LOST;
    } else {
        if (n->running || n->first.t_ns) begin_anew(s); /* too long without readings, one camera */
        *nav = n->last;
        nav->state = none_of(s);
        if (n->start.rig.cameras == 1) nav->flags |= VFRONT_NAV_NO_SCALE;
    }
    nav->reset_counter = n->resets;
    nav->quality = nav->state == VFRONT_NAV_NONE ? 0 : quality_of(nav);
    if (command != VF_WINDOW_NONE) {
        n->before = n->last;
        if (command == VF_WINDOW_BEGIN) n->before.t_ns = 0;
        n->last = *nav;
        if (nav->state == VFRONT_NAV_LOST) begin_anew(s);
    }
    if (command == VF_WINDOW_NONE || n->no_gravity) seek(s, r);
    if (command == VF_WINDOW_NONE && !n->first.t_ns) seek_by_stereo(s, r);
    keep_readings(n);
}

#else

int vf_nav_sees_body(const struct vf_state *s) { return (void)s, 0; }

void vf_nav_give(struct vf_state *s) { (void)s; }

void vf_nav_take(struct vf_state *s, vfront_result_t *r) { (void)s, (void)r; }

#endif
