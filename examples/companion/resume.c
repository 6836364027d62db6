/* SPDX-License-Identifier: MIT */
#include "resume.h"

#include <math.h>
#include <string.h>

#define NEAR_NS 250000000u /* a sample farther from the state's time is none */
/* Deviations of a pose of an autopilot that sends none, without vision for a time: 3 mrad of tilt, as of ArduPilot,
 * which was 0.04 to 0.09 m off after 1 and 2 s, 0.34 m after 5 s; 1 degree, as of a gyro bias of 0.2 degrees/s. */
#define POSE_SIGMA_M 0.1
#define POSE_DRIFT_M_S2 0.03
#define POSE_SIGMA_YAW_RAD 0.0175
#define AWAY_S 5.0          /* where the time is not known: as long as PX4 flies by such a position (EKF2_NOAID_TOUT) */
#define AWAY_MAX_S 10.0     /* as long as ArduPilot does; a position that is still sent has another source */
#define ACCURACY_MIN_M 0.05 /* a filter knows its model, not what vision has drifted by */
/* Deviations of what a vehicle does between a sample and the state. */
#define ACCELERATION_M_S2 2.0
#define TURN_RAD_S2 2.0
/* ArduPilot 4.7: 5 s without vision left it 0.36 m off, and 0.5 s of velocity alone 0.11 m; 1 s 0.25 m. Its position
 * is as good as nothing beside such a deviation, and far within its gates. */
#define CONVERGE_NS 500000000u
#define CONVERGE_SIGMA_M 10.0
#define COSINE_MIN 0.05 /* of the pitch: as in odometry.c */

enum { AUTOPILOT_ARDUPILOT = 3 };

static double seconds_from(uint64_t from_ns, uint64_t to_ns) { return (double)(int64_t)(to_ns - from_ns) * 1e-9; }

/** Sample near a time of the first link that has one; *of: its peer. NULL: none. */
static const peer_motion_t *motion_near(const peer_t *peer, int peers, int is_attitude, uint64_t t_ns,
                                        const peer_t **of)
{
    for (int i = 0; i < peers; i++) {
        const peer_motion_t *m = peer_motion(is_attitude ? &peer[i].attitude : &peer[i].position, t_ns);
        if (!m || fabs(seconds_from(m->t_ns, t_ns)) * 1e9 > NEAR_NS) continue;
        *of = &peer[i];
        return m;
    }
    return NULL;
}

/** Yaw at a time, by the rates in body axes. */
static void set_yaw(odometry_start_t *start, const peer_motion_t *m, uint64_t t_ns)
{
    const double dt_s = seconds_from(m->t_ns, t_ns), c = cos(m->value[1]);
    const double rate_rad_s = (sin(m->value[0]) * m->rate[1] + cos(m->value[0]) * m->rate[2]) /
                              copysign(fmax(fabs(c), COSINE_MIN), c);
    start->yaw_rad = m->value[2] + rate_rad_s * dt_s;
    start->sigma_yaw_rad = hypot(hypot(POSE_SIGMA_YAW_RAD, rate_rad_s * m->stamp_sigma_s),
                                 TURN_RAD_S2 * dt_s * dt_s / 2.0);
}

/** Position at a time, by the velocity. away_s: since the autopilot had vision. */
static void set_position(odometry_start_t *start, const peer_motion_t *m, const peer_t *peer, uint64_t t_ns,
                         double away_s)
{
    const double drift_m = hypot(POSE_SIGMA_M, POSE_DRIFT_M_S2 * away_s * away_s / 2.0);
    const double dt_s = seconds_from(m->t_ns, t_ns), moved_m = ACCELERATION_M_S2 * dt_s * dt_s / 2.0;
    const int is_accurate = peer->accuracy_ns && t_ns < peer->accuracy_ns + PEER_ACCURACY_NS;
    for (int i = 0; i < 3; i++) {
        const double own_m = is_accurate ? fmax(peer->accuracy_m[i == 2], ACCURACY_MIN_M) : drift_m;
        start->position_m[i] = m->value[i] + m->rate[i] * dt_s;
        start->sigma_m[i] = hypot(hypot(own_m, m->rate[i] * m->stamp_sigma_s), moved_m);
    }
}

static void set_kept(odometry_start_t *start, const checkpoint_t *kept, uint64_t t_ns)
{
    checkpoint_t k = *kept;
    checkpoint_carry(&k, t_ns);
    memcpy(start->position_m, k.position_m, sizeof start->position_m);
    memcpy(start->sigma_m, k.sigma_m, sizeof start->sigma_m);
    start->yaw_rad = k.yaw_rad;
    start->sigma_yaw_rad = k.sigma_yaw_rad;
}

static resume_origin_t start_of(odometry_start_t *start, const peer_t *peer, int peers, const checkpoint_t *kept,
                                int is_north, uint64_t t_ns)
{
    const peer_t *of_attitude, *of_position;
    const peer_motion_t *attitude = motion_near(peer, peers, 1, t_ns, &of_attitude);
    const peer_motion_t *position = motion_near(peer, peers, 0, t_ns, &of_position);
    int is_armed = 0;
    memset(start, 0, sizeof *start);
    for (int i = 0; i < peers; i++) is_armed |= peer[i].has_autopilot && peer[i].is_armed;
    if (attitude && position) {
        set_yaw(start, attitude, t_ns);
        set_position(start, position, of_position, t_ns,
                     kept ? fmin(seconds_from(kept->t_ns, t_ns), AWAY_MAX_S) : AWAY_S);
        return RESUME_AUTOPILOT;
    }
    if (kept) set_kept(start, kept, t_ns);
    if (attitude && (kept || is_armed || is_north)) set_yaw(start, attitude, t_ns);
    if (is_armed && !attitude && !kept) return RESUME_WAITS;
    if (kept && (is_armed || start->sigma_yaw_rad <= ODOMETRY_YAW_SIGMA_MAX_RAD)) return RESUME_KEPT;
    if (is_north && !attitude) return RESUME_WAITS;
    if (kept) memset(start, 0, sizeof *start);
    if (kept && is_north && attitude) set_yaw(start, attitude, t_ns);
    return RESUME_ZERO;
}

/** 1: ArduPilot flies by a position that has drifted. Vision's velocity tells its estimator by how much, as long as
 *  nothing resets that position: neither another reset_counter nor a pose that is as good as new. */
static int converges(const peer_t *peer, int peers)
{
    int is_flying = 0;
    for (int i = 0; i < peers; i++)
        is_flying |= peer[i].has_autopilot && peer[i].is_armed && peer[i].autopilot == AUTOPILOT_ARDUPILOT;
    return is_flying;
}

resume_origin_t resume_sender(sender_t *sender, const peer_t *peer, int peers, const checkpoint_t *kept,
                              const vfront_nav_t *nav)
{
    odometry_start_t start;
    if (!sender_needs_start(sender, nav)) return RESUME_NOT_NEEDED;
    const int has_converged = sender->frame.is_set && sender->converged_ns;
    const resume_origin_t origin = start_of(&start, peer, peers, kept, sender->settings.is_north, nav->t_ns);
    if (has_converged && origin != RESUME_AUTOPILOT) return RESUME_NOT_NEEDED; /* it goes on until there is one */
    const int is_first = origin == RESUME_AUTOPILOT && kept && !has_converged && converges(peer, peers);
    for (int i = 0; i < 3 && is_first; i++) start.sigma_m[i] = CONVERGE_SIGMA_M;
    if (origin != RESUME_WAITS) sender_resume(sender, &start, is_first ? nav->t_ns + CONVERGE_NS : 0);
    return origin;
}

int resume_checkpoint(checkpoint_t *k, const sender_t *sender)
{
    const odometry_t *o = &sender->last;
    const double xyzw[4] = {o->q_local_body[1], o->q_local_body[2], o->q_local_body[3], o->q_local_body[0]};
    double R[9];
    k->reset_counter = sender->reset_counter;
    if (!sender->has_sent) return 0;
    pose_rotation(R, xyzw);
    k->t_ns = o->t_ns;
    k->yaw_rad = o->euler_rad[2];
    k->sigma_yaw_rad = sqrt(o->pose_covariance[20]);
    k->yaw_rate_rad_s = R[6] * o->rate_rad_s[0] + R[7] * o->rate_rad_s[1] + R[8] * o->rate_rad_s[2];
    for (int i = 0; i < 3; i++) {
        k->position_m[i] = o->position_m[i];
        k->sigma_m[i] = sqrt(o->pose_covariance[odometry_index(6, i, i)]);
        k->velocity_mps[i] = 0.0;
        for (int j = 0; j < 3; j++) k->velocity_mps[i] += R[3 * i + j] * o->velocity_mps[j];
    }
    return 1;
}
