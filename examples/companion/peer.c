/* SPDX-License-Identifier: MIT */
#include "peer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Values of MAVLink's enumerations. */
enum { AUTOPILOT_ARDUPILOT = 3, AUTOPILOT_NONE = 8 };
enum { COMMAND_MESSAGE_INTERVAL = 511, COMMAND_MESSAGE = 512, RESULT_ACCEPTED = 0, RESULT_IN_PROGRESS = 5 };
enum { AUTOPILOT_PX4 = 12, MODE_SAFETY_ARMED = 128 };
enum { ESTIMATOR_POSITION = 8 | 16, ESTIMATOR_CONSTANT = 128 }; /* flags of both autopilots */
enum { HIGHRES_IMU_RATES_AND_FORCES = 0x3f };                   /* bits of fields_updated: what is wanted of it */

#define REQUEST_NS 100000000u   /* between requests of TIMESYNC */
#define INTERVAL_NS 1000000000u /* between requests of the IMU */
#define IMU_SILENCE_NS 1000000000u
#define MILLI_G_M_S2 9.80665e-3
#define RAW_DELAY_S 11.25e-3   /* sqrt(2) / (2 pi 20 Hz), at rates far below that */
#define RAW_DELAY_SIGMA_S 4e-3 /* INS_GYRO_FILTER and INS_ACCEL_FILTER of 15 to 40 Hz */
#define REFUSALS_MAX 3
#define MOTION_HZ 20.0
#define MOTION_NS 1000000000u /* of silence before it is asked for again, and between requests */
#define ACCURACY_HZ 1.0
#define ARRIVAL_SIGMA_S 0.02     /* of a stamp that is the time of arrival: half of a period at the rate asked for */
#define STAMP_NS 60000000000u    /* farther from its arrival a stamp cannot be: the clock wrapped, or was set */
#define TRIP_MAX_S 10e-3         /* longer round trips PX4 does not take */
#define STATE_BITS 2560.0        /* of ODOMETRY on a serial line */
#define TRIP_LONG_NS 1000000000u /* longer ones are none of the clock's, but of a queue */

int peer_is_autopilot(const peer_t *p, const mavlink_message_t *m)
{
    return m->system == p->settings.system && m->component == p->settings.component;
}

const char *peer_name(const peer_t *p)
{
    return p->link.kind == LINK_FILE             ? "the file"
           : p->link.kind == LINK_DDS            ? "the DDS topic"
           : p->autopilot == AUTOPILOT_ARDUPILOT ? "ArduPilot"
           : p->autopilot == AUTOPILOT_PX4       ? "PX4"
                                                 : "the autopilot";
}

static void restart_uplink(peer_t *p)
{
    memset(&p->uplink, 0, sizeof p->uplink);
    if (p->link.kind == LINK_SERIAL) p->uplink.frame_s = STATE_BITS / (double)p->link.baud;
}

static void take_heartbeat(peer_t *p, const mavlink_message_t *m, uint64_t now_ns)
{
    if (m->as.heartbeat.autopilot[0] == AUTOPILOT_NONE) return;
    if (!p->has_autopilot) restart_uplink(p);
    p->has_autopilot = 1;
    p->autopilot = m->as.heartbeat.autopilot[0];
    p->is_armed = (m->as.heartbeat.base_mode[0] & MODE_SAFETY_ARMED) != 0;
    p->heartbeat_ns = now_ns;
}

/** An answer that the autopilot will take. */
static void count_answer(peer_t *p, uint64_t now_ns)
{
    if (!(timesync_last_trip_s(&p->sync) < TRIP_MAX_S) || p->answered == UINT32_MAX) return;
    if (p->answered_ns && now_ns < p->answered_ns + PEER_ANSWER_NS) return;
    p->answered++;
    p->answered_ns = now_ns;
}

/** A round trip. One that is contrary to those before says nothing of the way there. */
static void take_trip(peer_t *p, uint64_t sent_ns, int64_t remote_ns, uint64_t now_ns)
{
    const timesync_result_t result = timesync_add(&p->sync, sent_ns, remote_ns, now_ns);
    if (result == TIMESYNC_RESET) { /* it began anew */
        p->answered = 0;
        restart_uplink(p);
    }
    if (result != TIMESYNC_OUTLIER || now_ns - sent_ns > TRIP_LONG_NS)
        uplink_add(&p->uplink, sent_ns, remote_ns, now_ns);
}

/** Its request is answered with our time; its answer is a round trip, if it is one to a request of ours. */
static int take_timesync(peer_t *p, const mavlink_message_t *m, uint64_t now_ns, mavlink_message_t *out)
{
    const int64_t tc1 = m->as.timesync.tc1[0], ts1 = m->as.timesync.ts1[0];
    if (tc1 == 0) {
        memset(out, 0, sizeof *out);
        out->id = MAVLINK_TIMESYNC;
        out->as.timesync.tc1[0] = (int64_t)now_ns;
        out->as.timesync.ts1[0] = ts1;
        out->as.timesync.target_system[0] = m->system;
        out->as.timesync.target_component[0] = m->component;
        p->requested++;
        count_answer(p, now_ns);
        return 1;
    }
    for (size_t i = 0; i < sizeof p->asked_ns / sizeof *p->asked_ns; i++) {
        if (!p->asked_ns[i] || ts1 < 0 || p->asked_ns[i] != (uint64_t)ts1) continue;
        p->asked_ns[i] = 0; /* one answer each */
        take_trip(p, (uint64_t)ts1, tc1, now_ns);
        return 0;
    }
    return 0;
}

int peer_knows_clock(const peer_t *p, uint64_t now_ns)
{
    uint64_t local_ns;
    double sigma_s;
    return timesync_local(&p->sync, p->sync.base_ns + (int64_t)now_ns, now_ns, &local_ns, &sigma_s);
}

int peer_knows_imu(const peer_t *p) { return p->imu_id != 0; }

static int is_raw(const peer_t *p) { return p->imu_id == MAVLINK_RAW_IMU; }

double peer_delay_s(const peer_t *p, double *sigma_s)
{
    const int is_reported = p->settings.imu_delay_s >= 0.0;
    *sigma_s = is_raw(p) && !is_reported ? RAW_DELAY_SIGMA_S : 0.0;
    return is_reported ? p->settings.imu_delay_s : is_raw(p) ? RAW_DELAY_S : 0.0;
}

/** A sample on the autopilot's clock, FRD axes. */
static void take_sample(peer_t *p, uint32_t id, uint64_t time_usec, const double rate[3], const double force[3],
                        uint64_t now_ns, imu_buffer_t *samples)
{
    vfront_imu_t r = {0};
    double sigma_s;
    if (!p->settings.wants_imu || (id == MAVLINK_RAW_IMU && p->imu_id == MAVLINK_HIGHRES_IMU)) return;
    p->imu_id = id;
    p->imu_ns = now_ns;
    if (time_usec > INT64_MAX / 1000 ||
        !timesync_local(&p->sync, (int64_t)(time_usec * 1000u), now_ns, &r.t_ns, &sigma_s)) {
        p->unsynced++;
        return;
    }
    r.t_ns -= (uint64_t)(peer_delay_s(p, &sigma_s) * 1e9);
    if (r.t_ns > now_ns || r.t_ns + PEER_SILENCE_NS < now_ns) { /* a stamp that cannot be */
        p->unsynced++;
        return;
    }
    memcpy(r.gyro_rad_s, rate, sizeof r.gyro_rad_s);
    memcpy(r.accel_m_s2, force, sizeof r.accel_m_s2);
    imu_buffer_add(samples, &r);
}

static void take_highres(peer_t *p, const mavlink_message_t *m, uint64_t now_ns, imu_buffer_t *samples)
{
    const double rate[3] = {(double)m->as.highres_imu.xgyro[0], (double)m->as.highres_imu.ygyro[0],
                            (double)m->as.highres_imu.zgyro[0]};
    const double force[3] = {(double)m->as.highres_imu.xacc[0], (double)m->as.highres_imu.yacc[0],
                             (double)m->as.highres_imu.zacc[0]};
    if (m->as.highres_imu.id[0] != 0) return; /* one IMU, the first */
    if ((m->as.highres_imu.fields_updated[0] & HIGHRES_IMU_RATES_AND_FORCES) != HIGHRES_IMU_RATES_AND_FORCES) return;
    take_sample(p, m->id, m->as.highres_imu.time_usec[0], rate, force, now_ns, samples);
}

static void take_raw(peer_t *p, const mavlink_message_t *m, uint64_t now_ns, imu_buffer_t *samples)
{
    const double rate[3] = {m->as.raw_imu.xgyro[0] * 1e-3, m->as.raw_imu.ygyro[0] * 1e-3,
                            m->as.raw_imu.zgyro[0] * 1e-3};
    const double force[3] = {m->as.raw_imu.xacc[0] * MILLI_G_M_S2, m->as.raw_imu.yacc[0] * MILLI_G_M_S2,
                             m->as.raw_imu.zacc[0] * MILLI_G_M_S2};
    if (m->as.raw_imu.id[0] != 0) return;
    take_sample(p, m->id, m->as.raw_imu.time_usec[0], rate, force, now_ns, samples);
}

/** Companion's time of a stamp; that of its arrival where the clock is not known. */
static uint64_t stamp_of(const peer_t *p, uint32_t boot_ms, uint64_t now_ns, double *sigma_s)
{
    uint64_t t_ns;
    if (timesync_local(&p->sync, (int64_t)boot_ms * 1000000, now_ns, &t_ns, sigma_s) && t_ns < now_ns + STAMP_NS &&
        now_ns < t_ns + STAMP_NS)
        return t_ns;
    *sigma_s = ARRIVAL_SIGMA_S;
    return now_ns;
}

static void take_motion(peer_t *p, const mavlink_message_t *m, uint64_t now_ns)
{
    const float *a[6] = {m->as.attitude.roll,      m->as.attitude.pitch,      m->as.attitude.yaw,
                         m->as.attitude.rollspeed, m->as.attitude.pitchspeed, m->as.attitude.yawspeed};
    const float *b[6] = {m->as.local_position.x,  m->as.local_position.y,  m->as.local_position.z,
                         m->as.local_position.vx, m->as.local_position.vy, m->as.local_position.vz};
    const int is_attitude = m->id == MAVLINK_ATTITUDE;
    for (int i = 0; i < 6; i++)
        if (!isfinite(is_attitude ? *a[i] : *b[i])) return;
    peer_motions_t *motions = is_attitude ? &p->attitude : &p->position;
    peer_motion_t *motion = &motions->motion[motions->count++ % PEER_MOTIONS];
    for (int i = 0; i < 3; i++) {
        motion->value[i] = (double)*(is_attitude ? a : b)[i];
        motion->rate[i] = (double)*(is_attitude ? a : b)[3 + i];
    }
    motion->t_ns = stamp_of(p, is_attitude ? m->as.attitude.time_boot_ms[0] : m->as.local_position.time_boot_ms[0],
                            now_ns, &motion->stamp_sigma_s);
    if (!is_attitude || !p->position.count) p->motion_ns = now_ns; /* an autopilot without a position sends none */
}

static void take_accuracy(peer_t *p, const mavlink_message_t *m, uint64_t now_ns)
{
    const double level_m = (double)m->as.estimator.pos_horiz_accuracy[0];
    const double vertical_m = (double)m->as.estimator.pos_vert_accuracy[0];
    if (!(level_m > 0.0) || !(vertical_m > 0.0) || !isfinite(level_m) || !isfinite(vertical_m)) return;
    p->accuracy_m[0] = level_m;
    p->accuracy_m[1] = vertical_m;
    p->accuracy_ns = now_ns;
}

static void take_estimator(peer_t *p, const mavlink_message_t *m, uint64_t now_ns)
{
    const int is_px4 = m->id == MAVLINK_ESTIMATOR_STATUS;
    const uint16_t flags = is_px4 ? m->as.estimator.flags[0] : m->as.ekf.flags[0];
    const float ratio[3] = {is_px4 ? m->as.estimator.pos_horiz_ratio[0] : m->as.ekf.pos_horiz_variance[0],
                            is_px4 ? m->as.estimator.pos_vert_ratio[0] : m->as.ekf.pos_vert_variance[0],
                            is_px4 ? m->as.estimator.vel_ratio[0] : m->as.ekf.velocity_variance[0]};
    for (int i = 0; i < 3; i++) p->estimator.ratio[i] = isfinite(ratio[i]) ? (double)ratio[i] : 0.0;
    p->estimator.has_position = (flags & ESTIMATOR_POSITION) != 0 && !(flags & ESTIMATOR_CONSTANT);
    p->estimator.t_ns = now_ns;
}

const char *peer_decision(const peer_t *p, uint64_t now_ns, char text[PEER_DECISION])
{
    static const char *const name[] = {"position", "height", "velocity"};
    const peer_estimator_t *e = &p->estimator;
    int worst = 0;
    if (!e->t_ns || now_ns > e->t_ns + PEER_ACCURACY_NS) return "its estimator is not heard";
    for (int i = 1; i < 3; i++)
        if (e->ratio[i] > e->ratio[worst]) worst = i;
    if (e->ratio[worst] >= 1.0)
        snprintf(text, PEER_DECISION, "its estimator refuses %s: %.1f gates off", name[worst],
                 fmin(e->ratio[worst], 999.0));
    else if (!e->has_position)
        return "its estimator has no position";
    else
        snprintf(text, PEER_DECISION, "accepted, %.2f gates off at most", e->ratio[worst]);
    return text;
}

const peer_motion_t *peer_motion(const peer_motions_t *motions, uint64_t t_ns)
{
    const uint32_t held = motions->count < PEER_MOTIONS ? motions->count : PEER_MOTIONS;
    const peer_motion_t *nearest = NULL;
    uint64_t least_ns = UINT64_MAX;
    for (uint32_t i = 1; i <= held; i++) { /* from the newest on */
        const peer_motion_t *m = &motions->motion[(motions->count - i) % PEER_MOTIONS];
        const uint64_t apart_ns = m->t_ns > t_ns ? m->t_ns - t_ns : t_ns - m->t_ns;
        if (nearest && apart_ns >= least_ns) continue;
        nearest = m;
        least_ns = apart_ns;
    }
    return nearest;
}

static void take_ack(peer_t *p, const mavlink_message_t *m)
{
    const uint8_t result = m->as.ack.result[0];
    if (m->as.ack.command[0] != COMMAND_MESSAGE_INTERVAL || result == RESULT_ACCEPTED || result == RESULT_IN_PROGRESS)
        return;
    p->imu_refusals++;
}

int peer_receive(peer_t *p, const mavlink_message_t *m, uint64_t now_ns, imu_buffer_t *samples,
                 mavlink_message_t out[PEER_MESSAGES])
{
    if (!peer_is_autopilot(p, m)) {
        p->foreign++;
        p->has_duplicate |= m->system == p->settings.system && m->component == PEER_COMPONENT;
        return 0;
    }
    p->has_message = 1;
    switch (m->id) {
    case MAVLINK_HEARTBEAT: take_heartbeat(p, m, now_ns); return 0;
    case MAVLINK_TIMESYNC: return take_timesync(p, m, now_ns, out);
    case MAVLINK_HIGHRES_IMU: take_highres(p, m, now_ns, samples); return 0;
    case MAVLINK_RAW_IMU: take_raw(p, m, now_ns, samples); return 0;
    case MAVLINK_ATTITUDE:
    case MAVLINK_LOCAL_POSITION_NED: take_motion(p, m, now_ns); return 0;
    case MAVLINK_ESTIMATOR_STATUS:
        take_accuracy(p, m, now_ns);
        take_estimator(p, m, now_ns);
        return 0;
    case MAVLINK_EKF_STATUS_REPORT: take_estimator(p, m, now_ns); return 0;
    case MAVLINK_COMMAND_ACK: take_ack(p, m); return 0;
    default: return 0;
    }
}

static void ask_time(peer_t *p, uint64_t now_ns, mavlink_message_t *out)
{
    memset(out, 0, sizeof *out);
    out->id = MAVLINK_TIMESYNC;
    out->as.timesync.ts1[0] = (int64_t)now_ns;
    out->as.timesync.target_system[0] = p->settings.system;
    out->as.timesync.target_component[0] = p->settings.component;
    p->asked_ns[p->asked++ % (sizeof p->asked_ns / sizeof *p->asked_ns)] = now_ns;
    p->next_request_ns = now_ns + REQUEST_NS;
}

/** Request of a message at a rate; of 0: once. */
static void ask_message(const peer_t *p, uint32_t id, double hz, mavlink_message_t *out)
{
    memset(out, 0, sizeof *out);
    out->id = MAVLINK_COMMAND_LONG;
    out->as.command.command[0] = hz > 0.0 ? COMMAND_MESSAGE_INTERVAL : COMMAND_MESSAGE;
    out->as.command.param1[0] = (float)id;
    out->as.command.param2[0] = hz > 0.0 ? (float)(1e6 / hz) : 0.0f;
    out->as.command.target_system[0] = p->settings.system;
    out->as.command.target_component[0] = p->settings.component;
}

static void ask_imu(peer_t *p, uint64_t now_ns, mavlink_message_t *out)
{
    const int raw = p->autopilot == AUTOPILOT_ARDUPILOT || p->imu_refusals >= REFUSALS_MAX;
    ask_message(p, raw ? MAVLINK_RAW_IMU : MAVLINK_HIGHRES_IMU, p->settings.imu_hz, out);
    p->next_interval_ns = now_ns + INTERVAL_NS;
}

/** Attitude, position and what its estimator makes of them. Returns their number. */
static int ask_motion(peer_t *p, uint64_t now_ns, mavlink_message_t *out)
{
    int n = 0;
    const int is_first = !p->next_motion_ns; /* what comes already may come more slowly than asked for */
    if (!is_first && (now_ns < p->next_motion_ns || now_ns < p->motion_ns + MOTION_NS)) return 0;
    ask_message(p, MAVLINK_ATTITUDE, MOTION_HZ, &out[n++]);
    ask_message(p, MAVLINK_LOCAL_POSITION_NED, MOTION_HZ, &out[n++]);
    if (p->autopilot == AUTOPILOT_PX4) ask_message(p, MAVLINK_ESTIMATOR_STATUS, ACCURACY_HZ, &out[n++]);
    if (p->autopilot == AUTOPILOT_ARDUPILOT) ask_message(p, MAVLINK_EKF_STATUS_REPORT, ACCURACY_HZ, &out[n++]);
    p->next_motion_ns = now_ns + MOTION_NS;
    return n;
}

/** It sends already, as after a restart in flight: its heartbeat is not waited for a second. */
static int ask_heartbeat(peer_t *p, uint64_t now_ns, mavlink_message_t *out)
{
    if (!p->has_message || now_ns < p->next_request_ns) return 0;
    p->has_message = 0;
    p->next_request_ns = now_ns + REQUEST_NS;
    ask_message(p, MAVLINK_HEARTBEAT, 0.0, out);
    return 1;
}

int peer_tick(peer_t *p, uint64_t now_ns, mavlink_message_t out[PEER_MESSAGES])
{
    int n = 0;
    if (p->link.kind == LINK_FILE || p->settings.is_map) return 0;
    if (p->has_autopilot && now_ns > p->heartbeat_ns + PEER_SILENCE_NS) { /* it may come back as another one */
        p->has_autopilot = 0;
        p->requested = p->answered = p->imu_id = 0;
        p->next_motion_ns = 0;
    }
    if (!p->has_autopilot) return ask_heartbeat(p, now_ns, out);
    if (now_ns >= p->next_request_ns) ask_time(p, now_ns, &out[n++]);
    const int silent = !p->imu_ns || now_ns > p->imu_ns + IMU_SILENCE_NS;
    if (p->settings.wants_imu && silent && now_ns >= p->next_interval_ns) ask_imu(p, now_ns, &out[n++]);
    return n + ask_motion(p, now_ns, &out[n]);
}

uint32_t peer_answers_needed(const peer_t *p)
{
    if (p->settings.answers >= 0) return (uint32_t)p->settings.answers;
    return p->autopilot == AUTOPILOT_ARDUPILOT ? 0 : PEER_ANSWERS_PX4;
}

int peer_takes_stamps(const peer_t *p, uint64_t now_ns)
{
    if (p->settings.is_map) return 0;
    if (p->link.kind == LINK_FILE) return 1;
    if (p->link.kind == LINK_DDS) return p->has_reader;
    if (!p->has_autopilot || now_ns > p->heartbeat_ns + PEER_SILENCE_NS) return 0;
    const uint32_t needed = peer_answers_needed(p);
    return !needed || (p->answered >= needed && now_ns <= p->answered_ns + PEER_ANSWERS_AGE_NS);
}

const char *peer_silence(const peer_t *p, uint64_t now_ns, char text[PEER_TEXT])
{
    if (p->settings.is_map || peer_takes_stamps(p, now_ns)) return NULL;
    if (p->link.kind == LINK_DDS) return "nobody reads it";
    if (!p->has_autopilot) return "no heartbeat";
    if (!p->sync.count) return "TIMESYNC is not answered";
    const int is_over = p->answered_ns && now_ns > p->answered_ns + PEER_ANSWERS_AGE_NS;
    if (!p->requested || is_over) return "it asks for no TIMESYNC";
    const double trip_ms = 1e3 * timesync_last_trip_s(&p->sync);
    const uint32_t few = p->requested / 2;
    if (p->answered < few)
        snprintf(text, PEER_TEXT, "round trips %.0f ms > 10", fmin(trip_ms, 999.0));
    else
        snprintf(text, PEER_TEXT, "%u of %u answers", (unsigned)p->answered, (unsigned)peer_answers_needed(p));
    return text;
}

void peer_add_resolution(const peer_t *p, vfront_imu_noise_t *noise)
{
    const double per_sample = 1.0 / sqrt(12.0) /
                              sqrt(noise->rate_hz); /* of a step of 1, even within it, as a density */
    if (!is_raw(p)) return;
    noise->gyro_density = hypot(noise->gyro_density, 1e-3 * per_sample);
    noise->accel_density = hypot(noise->accel_density, MILLI_G_M_S2 * per_sample);
}
