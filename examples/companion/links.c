/* SPDX-License-Identifier: MIT */
#define _POSIX_C_SOURCE 200809L /* PTHREAD_PRIO_INHERIT, clock_nanosleep */
#include "links.h"

#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "clock.h"
#include "examples/common/message.h"

/* Values of MAVLink's enumerations. */
enum { LOCAL_NED = 1, AUTOPILOT_ARDUPILOT = 3, AUTOPILOT_PX4 = 12 };
enum { TYPE_ONBOARD_CONTROLLER = 18, AUTOPILOT_INVALID = 8, MAVLINK_VERSION = 3 };

#define PI 3.14159265358979323846
#define SECOND_NS 1000000000u
#define SILENCE_NS 60000000000u
#define FIRST_SILENCE_NS 5000000000u /* before it is reported why nothing is sent, then every SILENCE_NS */
#define OUTLIERS 5                   /* answers in a row that contradict those before: worth a word */
#define ORIGINS                                                                                                        \
    3 /* times that the origin is sent to an autopilot, a second apart; one that has just begun takes none */
#define ORIGIN_SECONDS 10 /* between two further ones, until it is armed */
#define NAP_NS 20000000u  /* longest sleep of the thread */
#define LOOK_NS 500000u   /* between two looks for a sample that is waited for */
#define MAP_NS 200000000u /* between two messages of the place in the map, where it does not jump */
#define MAP_JUMP_M 0.01
#define MAP_JUMP_RAD 0.005
#define DRAIN_NS 2000000u /* longest sleep while a message waits for a link */

int links_init(links_t *l)
{
    pthread_mutexattr_t attributes;
    if (pthread_mutexattr_init(&attributes) != 0) return 0;
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    const int good = pthread_mutex_init(&l->lock, &attributes) == 0;
    pthread_mutexattr_destroy(&attributes);
    l->wake[0] = l->wake[1] = -1;
    l->state = HEARTBEAT_BOOT;
    return good;
}

const char *links_open(links_t *l, const char *specification, const peer_settings_t *settings)
{
    if (l->count == LINKS_MAX) return "--link: at most 4 links";
    peer_t *p = &l->peer[l->count];
    memset(p, 0, sizeof *p);
    p->settings = *settings;
    const int is_dds = uxrce_is(specification);
    const char *error = is_dds ? uxrce_open(&p->uxrce, &p->link, specification) : link_open(&p->link, specification);
    if (is_dds) p->autopilot = AUTOPILOT_PX4;                 /* nobody else has such a link */
    p->link.system = settings->is_map ? 0 : settings->system; /* whoever speaks first */
    p->link.component = settings->component;
    if (!error && settings->key && !is_dds) link_sign(&p->link, settings->key, (uint8_t)(l->count + 1));
    if (!error) l->count++;
    return error;
}

/* ---- sending, under the lock ------------------------------------------------------------------------------------- */

/** 1: it is on its way; 0: it waits, or is lost. */
static int send_to(peer_t *p, const mavlink_message_t *message)
{
    mavlink_message_t m = *message;
    m.system = p->settings.system;
    m.component = PEER_COMPONENT;
    return p->link.kind == LINK_DDS ? uxrce_send(&p->uxrce, &p->link, &m) : link_send(&p->link, &m);
}

/** 1: a state that a link's queue, in another machine, has no room for. A failure always goes. */
static int is_left_out(peer_t *p, const mavlink_message_t *m)
{
    if (m->id != MAVLINK_ODOMETRY || m->as.odometry.quality[0] < 0 || uplink_takes(&p->uplink, clock_ns())) return 0;
    p->link.states++;
    return 1;
}

/** 1: the first message is on its way over a link. */
static int send_stamped(links_t *l, const mavlink_message_t *messages, int count)
{
    int is_out = 0;
    const uint64_t now_ns = clock_ns();
    for (int i = 0; i < l->count; i++) {
        if (!peer_takes_stamps(&l->peer[i], now_ns)) continue;
        if (count && is_left_out(&l->peer[i], messages)) continue;
        for (int k = 0; k < count; k++) {
            mavlink_message_t m = messages[k];
            /* PX4 fuses such a yaw beside GPS; ArduPilot takes LOCAL_FRD alone */
            if (l->sender.settings.is_north && l->peer[i].autopilot == AUTOPILOT_PX4 && m.id == MAVLINK_ODOMETRY)
                m.as.odometry.frame_id[0] = LOCAL_NED;
            is_out |= send_to(&l->peer[i], &m) && !k;
        }
    }
    return is_out;
}

static void send_heartbeat(links_t *l, int i)
{
    mavlink_message_t m = {.id = MAVLINK_HEARTBEAT};
    m.as.heartbeat.type[0] = TYPE_ONBOARD_CONTROLLER;
    m.as.heartbeat.autopilot[0] = AUTOPILOT_INVALID;
    m.as.heartbeat.system_status[0] = (uint8_t)l->state;
    m.as.heartbeat.mavlink_version[0] = MAVLINK_VERSION;
    send_to(&l->peer[i], &m);
}

static void send_origin(links_t *l, int i)
{
    mavlink_message_t m = {.id = MAVLINK_SET_GPS_GLOBAL_ORIGIN};
    if (!l->peer[i].has_autopilot) l->origins[i] = 0;
    if (!l->origin.is_set || !l->peer[i].has_autopilot) return;
    const int turn = l->origins[i]++;
    if (turn >= ORIGINS && (l->peer[i].is_armed || turn % ORIGIN_SECONDS)) return;
    m.as.origin.latitude[0] = l->origin.latitude_e7;
    m.as.origin.longitude[0] = l->origin.longitude_e7;
    m.as.origin.altitude[0] = l->origin.altitude_mm;
    m.as.origin.target_system[0] = l->peer[i].settings.system;
    m.as.origin.time_usec[0] = clock_ns() / 1000u;
    send_to(&l->peer[i], &m);
}

/** What is due of it to all links. */
static void send_notices(links_t *l, uint64_t now_ns)
{
    int severity;
    for (const char *text; (text = notices_next(&l->notices, now_ns, &severity));) {
        mavlink_message_t m = {.id = MAVLINK_STATUSTEXT};
        m.as.text.severity[0] = (uint8_t)severity;
        memcpy(m.as.text.text, text, strnlen(text, sizeof m.as.text.text));
        for (int i = 0; i < l->count; i++) send_to(&l->peer[i], &m);
    }
}

static void report(links_t *l, int topic, int severity, const char *text)
{
    const uint64_t now_ns = clock_ns();
    recorder_text(l->recorder, CHUNK_EVENT, now_ns, text);
    message(CONTINUE, "%s", text);
    notices_put(&l->notices, topic, severity, text, now_ns);
    send_notices(l, now_ns);
}

/* ---- reports on links -------------------------------------------------------------------------------------------- */

/** Why an autopilot gets nothing. */
static void report_silence(links_t *l, int i, uint64_t now_ns)
{
    char why[PEER_TEXT], text[LINKS_TEXT];
    const char *reason = peer_silence(&l->peer[i], now_ns, why);
    const uint64_t due_ns = l->silence_ns[i];
    if (!reason || !due_ns) l->silence_ns[i] = reason ? now_ns + FIRST_SILENCE_NS : 0;
    if (!reason || !due_ns || now_ns < due_ns) return;
    l->silence_ns[i] = now_ns + SILENCE_NS;
    snprintf(text, sizeof text, "vision: link %u silent: %s", (uint8_t)(i + 1), reason);
    report(l, NOTICE_STAMPS + i, SEVERITY_WARNING, text);
}

/** Answers of TIMESYNC that contradict those before, and a clock that was set. */
static void report_jumps(links_t *l, int i)
{
    char text[LINKS_TEXT];
    const timesync_t *sync = &l->peer[i].sync;
    const int is_contrary = sync->outliers >= OUTLIERS;
    if (is_contrary && !l->reported_outliers[i]) {
        snprintf(text, sizeof text, "vision: link %u: contrary TIMESYNC, not taken", (uint8_t)(i + 1));
        report(l, NOTICE_JUMP + i, SEVERITY_WARNING, text);
    }
    l->reported_outliers[i] = is_contrary;
    if (sync->resets == l->reported_resets[i]) return;
    l->reported_resets[i] = sync->resets;
    snprintf(text, sizeof text, "vision: link %u: clock set by %.3g s", (uint8_t)(i + 1), sync->jump_s);
    report(l, NOTICE_JUMP + i, SEVERITY_WARNING, text);
}

/** What an operator has to know of a link, once each time that it changes. */
static void report_changes(links_t *l, int i, uint64_t now_ns)
{
    peer_t *p = &l->peer[i];
    const uint8_t link = (uint8_t)(i + 1), system = (uint8_t)p->settings.system; /* of three digits at most */
    char text[LINKS_TEXT];
    if (p->has_duplicate && !l->reported_duplicate[i]) {
        l->reported_duplicate[i] = 1;
        snprintf(text, sizeof text, "vision: another companion %u/%u on link %u", system, PEER_COMPONENT, link);
        report(l, NOTICE_DUPLICATE + i, SEVERITY_ERROR, text);
    }
    if (p->link.parser.is_signed && !l->reported_signed[i]) {
        l->reported_signed[i] = 1;
        snprintf(text, sizeof text,
                 p->link.signing.is_on ? "vision: link %u: refused: not signed by the key"
                                       : "vision: link %u: signed messages are refused",
                 link);
        report(l, NOTICE_SIGNED + i, SEVERITY_ERROR, text);
    }
    const int has_turned = link_rate_update(&l->rate[i], &p->link, now_ns);
    if (p->link.kind == LINK_FILE || p->settings.is_map) return;
    if (has_turned) {
        char rate[LINK_RATE_TEXT];
        link_rate_text(&l->rate[i], i + 1, rate);
        snprintf(text, sizeof text, "vision: %s", rate);
        report(l, NOTICE_RATE + i, l->rate[i].is_narrow ? SEVERITY_WARNING : SEVERITY_INFO, text);
    }
    if (p->has_autopilot != l->reported_autopilot[i]) {
        l->reported_autopilot[i] = p->has_autopilot;
        message(CONTINUE, "%s: %s%s", p->link.name, p->has_autopilot ? "autopilot found: " : "autopilot is silent",
                !p->has_autopilot ? "" : peer_name(p));
    }
    const int knows = p->settings.wants_imu && peer_knows_clock(p, now_ns);
    if (knows != l->reported_clock[i]) {
        l->reported_clock[i] = knows;
        snprintf(text, sizeof text, "vision: autopilot's clock is %sknown on link %u", knows ? "" : "not ", link);
        report(l, NOTICE_CLOCK + i, knows ? SEVERITY_INFO : SEVERITY_WARNING, text);
    }
    report_silence(l, i, now_ns);
    report_jumps(l, i);
    const int relates = peer_takes_stamps(p, now_ns);
    if (relates == l->reported_stamps[i]) return;
    l->reported_stamps[i] = relates;
    snprintf(text, sizeof text, relates ? "vision: stamps can be related on link %u" : "vision: silent on link %u",
             link);
    report(l, NOTICE_STAMPS + i, relates ? SEVERITY_INFO : SEVERITY_WARNING, text);
}

/* ---- a turn ------------------------------------------------------------------------------------------------------ */

/** A setting has another value. */
static void apply(links_t *l, control_setting_t setting)
{
    const double *v = l->control.value;
    sender_settings_t *s = &l->sender.settings;
    s->rate_hz = v[CONTROL_RATE];
    s->carries_on = v[CONTROL_CARRY] > 0.0;
    s->has_vision_position = v[CONTROL_VISION_POSITION] > 0.0;
    s->stamp_sigma_s = v[CONTROL_STAMP_MS] * 1e-3;
    for (int i = 0; i < l->count; i++) {
        peer_settings_t *of = &l->peer[i].settings;
        of->answers = (int)v[CONTROL_ANSWERS];
        of->imu_delay_s = v[CONTROL_IMU_DELAY_MS] * 1e-3;
        of->imu_hz = v[CONTROL_IMU_HZ];
        if (setting >= CONTROL_LATITUDE) l->origins[i] = 0; /* it is sent again */
    }
    if (setting < CONTROL_LATITUDE) return;
    l->origin = (links_origin_t){.is_set = v[CONTROL_LATITUDE] != 0.0 || v[CONTROL_LONGITUDE] != 0.0,
                                 .latitude_e7 = (int32_t)lround(v[CONTROL_LATITUDE] * 1e7),
                                 .longitude_e7 = (int32_t)lround(v[CONTROL_LONGITUDE] * 1e7),
                                 .altitude_mm = (int32_t)lround(v[CONTROL_ALTITUDE] * 1e3)};
}

/** Orders over a link. */
static void take_order(links_t *l, int i, const mavlink_message_t *m)
{
    peer_t *p = &l->peer[i];
    control_sender_t sender = {.system = p->settings.system, .link = i, .is_autopilot = peer_is_autopilot(p, m)};
    mavlink_message_t out[CONTROL_MESSAGES];
    control_setting_t setting = CONTROL_RATE;
    char text[LINKS_TEXT];
    int n;
    for (int k = 0; k < l->count; k++) sender.is_armed |= l->peer[k].has_autopilot && l->peer[k].is_armed;
    const control_result_t result = control_receive(&l->control, m, &sender, out, &n, &setting);
    for (int k = 0; k < n; k++) send_to(p, &out[k]);
    if (result == CONTROL_CHANGED) {
        apply(l, setting);
        snprintf(text, sizeof text, "vision: %s is %.6g", control_name(setting), l->control.value[setting]);
        report(l, NOTICE_COMMAND, SEVERITY_INFO, text);
    }
    if (result == CONTROL_REFUSED) {
        snprintf(text, sizeof text, "vision: %s refused: %s", control_name(setting),
                 sender.is_armed ? "in flight" : "out of range");
        report(l, NOTICE_COMMAND, SEVERITY_WARNING, text);
    }
    if (result == CONTROL_RESETS) report(l, NOTICE_COMMAND, SEVERITY_WARNING, "vision: a reset was ordered");
}

static void receive(links_t *l, int i)
{
    peer_t *p = &l->peer[i];
    mavlink_message_t in, out[PEER_MESSAGES];
    for (int messages = 0; messages < 256 && link_receive(&p->link, &in); messages++) {
        if (p->settings.is_map) continue;
        take_order(l, i, &in);
        const int n = peer_receive(p, &in, p->link.in_ns, &l->samples, out);
        for (int k = 0; k < n; k++) send_to(p, &out[k]);
    }
}

/** Samples of the machine's own IMU since the last call. Opening one again that went away is the one wait under the
 *  lock: some writes to sysfs. */
static void take_iio(links_t *l, uint64_t now_ns)
{
    vfront_imu_t sample[IIO_SAMPLES];
    uint32_t n = IIO_SAMPLES;
    const int was_there = *l->iio.device && l->iio.fd >= 0;
    while (n == IIO_SAMPLES) {
        n = iio_read(&l->iio, now_ns, sample, IIO_SAMPLES);
        for (uint32_t i = 0; i < n; i++) imu_buffer_add(&l->samples, &sample[i]);
        recorder_imu(l->recorder, now_ns, sample, n);
    }
    if (was_there && l->iio.fd < 0) report(l, NOTICE_DEVICE, SEVERITY_ERROR, "vision: the IMU is gone");
    const char *notice = iio_maintain(&l->iio, now_ns);
    if (notice) report(l, NOTICE_DEVICE, l->iio.fd < 0 ? SEVERITY_ERROR : SEVERITY_INFO, notice);
}

/** ArduPilot takes the least of arrival less stamp for the offset of clocks: the least lag has to be constant. */
static void set_lag(links_t *l)
{
    uint64_t lag_ns = 0;
    for (int i = 0; i < l->count; i++)
        if (l->peer[i].has_autopilot && l->peer[i].autopilot == AUTOPILOT_ARDUPILOT)
            lag_ns = l->peer[0].settings.wants_imu ? SENDER_LAG_IMU_NS : SENDER_LAG_NS;
    l->sender.settings.lag_ns = lag_ns;
}

static void service(links_t *l)
{
    mavlink_message_t out[PEER_MESSAGES + SENDER_MESSAGES];
    for (int i = 0; i < l->count; i++) receive(l, i);
    const uint64_t now_ns = clock_ns();
    take_iio(l, now_ns);
    const int second = now_ns >= l->next_second_ns;
    if (second) l->next_second_ns = now_ns + SECOND_NS;
    for (int i = 0; i < l->count; i++) {
        const char *notice = link_maintain(&l->peer[i].link);
        l->peer[i].has_reader = uxrce_has_reader(&l->peer[i].uxrce);
        if (notice) message(CONTINUE, "%s", notice);
        if (second) {
            send_heartbeat(l, i);
            send_origin(l, i);
        }
        const int n = peer_tick(&l->peer[i], now_ns, out);
        for (int k = 0; k < n; k++) send_to(&l->peer[i], &out[k]);
        report_changes(l, i, now_ns);
        if (!link_waits(&l->peer[i].link) && control_next(&l->control, i, out)) send_to(&l->peer[i], out);
    }
    set_lag(l);
    send_notices(l, now_ns);
    if (now_ns >= sender_next_ns(&l->sender)) send_stamped(l, out, sender_tick(&l->sender, &l->samples, now_ns, out));
}

const char *links_open_iio(links_t *l, const char *device, double hz) { return iio_open(&l->iio, "", device, hz); }

void links_record(links_t *l, recorder_t *recorder)
{
    l->recorder = recorder;
    for (int i = 0; i < l->count; i++) {
        l->peer[i].link.recorder = recorder;
        l->peer[i].link.number = i;
    }
}

void links_service(links_t *l)
{
    pthread_mutex_lock(&l->lock);
    service(l);
    pthread_mutex_unlock(&l->lock);
    if (l->view) view_service(l->view, clock_ns());
}

/* ---- the thread -------------------------------------------------------------------------------------------------- */

static int timeout_ms(links_t *l)
{
    const uint64_t now_ns = clock_ns();
    pthread_mutex_lock(&l->lock);
    const uint64_t next_ns = sender_next_ns(&l->sender);
    uint64_t nap_ns = NAP_NS;
    for (int i = 0; i < l->count; i++)
        if (link_waits(&l->peer[i].link)) nap_ns = DRAIN_NS;
    pthread_mutex_unlock(&l->lock);
    if (next_ns <= now_ns) return 1; /* it waits for a sample */
    return next_ns - now_ns < nap_ns ? (int)((next_ns - now_ns) / 1000000u) + 1 : (int)(nap_ns / 1000000u);
}

static void *serve(void *of)
{
    links_t *l = of;
    for (;;) {
        struct pollfd fds[LINKS_MAX + 3 + VIEW_CLIENTS] = {{.fd = l->wake[0], .events = POLLIN}};
        const int timeout = timeout_ms(l);
        pthread_mutex_lock(&l->lock);
        const int stop = l->stop, n = l->count;
        for (int i = 0; i < n; i++)
            fds[i + 1] = (struct pollfd){.fd = l->peer[i].link.kind == LINK_FILE ? -1 : l->peer[i].link.fd,
                                         .events = POLLIN};
        fds[n + 1] = (struct pollfd){.fd = *l->iio.device ? l->iio.fd : -1, .events = POLLIN};
        pthread_mutex_unlock(&l->lock);
        if (stop) return NULL;
        const int looking = l->view ? view_fds(l->view, fds + n + 2) : 0;
        (void)poll(fds, (nfds_t)(n + 2 + looking), timeout); /* whatever it returns: turn */
        links_service(l);
    }
}

int links_start(links_t *l)
{
    if (pipe(l->wake) != 0) return 0;
    fcntl(l->wake[0], F_SETFL, O_NONBLOCK);
    l->has_thread = pthread_create(&l->thread, NULL, serve, l) == 0;
    return l->has_thread;
}

void links_stop(links_t *l)
{
    pthread_mutex_lock(&l->lock);
    l->stop = 1;
    pthread_mutex_unlock(&l->lock);
    if (l->has_thread) {
        if (write(l->wake[1], "", 1) == 1 || l->stop) pthread_join(l->thread, NULL);
        l->has_thread = 0;
    }
    for (int i = 0; i < 2; i++)
        if (l->wake[i] >= 0) close(l->wake[i]);
    iio_close(&l->iio);
    for (int i = 0; i < l->count; i++) {
        uxrce_close(&l->peer[i].uxrce);
        link_close(&l->peer[i].link);
    }
    pthread_mutex_destroy(&l->lock);
}

/* ---- for the thread of the cameras ------------------------------------------------------------------------------- */

void links_add_sample(links_t *l, const vfront_imu_t *sample)
{
    pthread_mutex_lock(&l->lock);
    imu_buffer_add(&l->samples, sample);
    recorder_imu(l->recorder, clock_ns(), sample, 1);
    pthread_mutex_unlock(&l->lock);
}

/** Pose that a first state goes on from. Returns 0 where there is none yet, or nobody to send it to: then it would be
 *  of a time that is over when there is. */
static int begin_frame(links_t *l, const vfront_nav_t *nav)
{
    static const char *const words[] = {"", "waits for the autopilot's ATTITUDE", "", "goes on from the kept pose",
                                        "goes on from the autopilot's pose"};
    int takers = 0;
    char text[LINKS_TEXT];
    if (!sender_needs_start(&l->sender, nav)) return 1;
    for (int i = 0; i < l->count; i++) takers += peer_takes_stamps(&l->peer[i], clock_ns());
    if (!takers) return 0;
    const resume_origin_t origin = resume_sender(&l->sender, l->peer, l->count, l->has_kept ? &l->kept : NULL, nav);
    const int is_unsure = l->sender.frame.start.sigma_yaw_rad > ODOMETRY_YAW_SIGMA_MAX_RAD;
    const resume_origin_t reported = is_unsure ? RESUME_WAITS : origin;
    if (reported != l->resumed && *words[reported]) {
        snprintf(text, sizeof text, "vision: %s", words[reported]);
        report(l, NOTICE_START, reported == RESUME_WAITS ? SEVERITY_WARNING : SEVERITY_INFO, text);
    }
    l->resumed = reported;
    return origin != RESUME_WAITS;
}

int links_state(links_t *l, const vfront_nav_t *nav)
{
    mavlink_message_t out[SENDER_MESSAGES];
    pthread_mutex_lock(&l->lock);
    const int made = begin_frame(l, nav) ? sender_state(&l->sender, nav, &l->samples, clock_ns(), out) : 0;
    const int is_out = send_stamped(l, out, made);
    l->first_byte_ns = is_out ? clock_ns() : 0;
    pthread_mutex_unlock(&l->lock);
    return is_out;
}

/** 1: the local frame is elsewhere in the map than it was reported. */
static int has_jumped(const map_frame_t *a, const map_frame_t *b)
{
    double moved_m = 0.0, turned_rad = fabs(remainder(a->euler_rad[2] - b->euler_rad[2], 2.0 * PI));
    for (int i = 0; i < 3; i++) moved_m = fmax(moved_m, fabs(a->position_m[i] - b->position_m[i]));
    return moved_m > MAP_JUMP_M || turned_rad > MAP_JUMP_RAD;
}

int links_map(links_t *l, const vfront_map_t *map, uint64_t t_ns, map_frame_t *out)
{
    mavlink_message_t m;
    pthread_mutex_lock(&l->lock);
    const int knows = map && map_frame_of(out, &l->sender.frame, map, t_ns);
    const uint64_t now_ns = clock_ns();
    const int is_due = knows && (!l->map_ns || now_ns >= l->map_ns + MAP_NS || has_jumped(out, &l->map));
    if (!knows) l->map_ns = 0;
    if (is_due) {
        l->map = *out;
        l->map_ns = now_ns;
        map_frame_message(&m, out);
        for (int i = 0; i < l->count; i++)
            if (l->peer[i].settings.is_map) send_to(&l->peer[i], &m);
    }
    pthread_mutex_unlock(&l->lock);
    return knows;
}

void links_send(links_t *l, const mavlink_message_t *m)
{
    pthread_mutex_lock(&l->lock);
    send_stamped(l, m, 1);
    pthread_mutex_unlock(&l->lock);
}

void links_report(links_t *l, int topic, int severity, const char *format, ...)
{
    char text[LINKS_TEXT];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    pthread_mutex_lock(&l->lock);
    report(l, topic, severity, text);
    pthread_mutex_unlock(&l->lock);
}

double links_setting(links_t *l, control_setting_t setting)
{
    pthread_mutex_lock(&l->lock);
    const double value = l->control.value[setting];
    pthread_mutex_unlock(&l->lock);
    return value;
}

int links_take_reset(links_t *l)
{
    pthread_mutex_lock(&l->lock);
    const int is_wanted = l->control.is_reset_wanted;
    l->control.is_reset_wanted = 0;
    pthread_mutex_unlock(&l->lock);
    return is_wanted;
}

void links_set_state(links_t *l, int state)
{
    pthread_mutex_lock(&l->lock);
    l->state = state;
    pthread_mutex_unlock(&l->lock);
}

uint32_t links_take_samples(links_t *l, uint64_t t_ns, uint64_t until_ns, vfront_imu_t *out, uint32_t max)
{
    for (;;) {
        pthread_mutex_lock(&l->lock);
        const uint64_t now_ns = clock_ns();
        const int enough = imu_buffer_last_ns(&l->samples) >= t_ns || now_ns >= until_ns;
        const uint32_t n = enough ? imu_buffer_take(&l->samples, out, max) : 0;
        pthread_mutex_unlock(&l->lock);
        if (enough) return n;
        clock_sleep_until_ns(now_ns + LOOK_NS);
    }
}

void links_return_samples(links_t *l, uint32_t count)
{
    pthread_mutex_lock(&l->lock);
    imu_buffer_return(&l->samples, count);
    pthread_mutex_unlock(&l->lock);
}

void links_restart(links_t *l)
{
    pthread_mutex_lock(&l->lock);
    l->has_kept |= resume_checkpoint(&l->kept, &l->sender);
    sender_restart(&l->sender);
    pthread_mutex_unlock(&l->lock);
}

void links_follow(links_t *l, const checkpoint_t *kept, uint8_t last)
{
    pthread_mutex_lock(&l->lock);
    l->has_kept = kept != NULL;
    if (kept) l->kept = *kept;
    if (kept) l->peer[0].answered = kept->answers;
    sender_follow(&l->sender, last);
    pthread_mutex_unlock(&l->lock);
}

int links_checkpoint(links_t *l, checkpoint_t *k)
{
    pthread_mutex_lock(&l->lock);
    const int has = resume_checkpoint(k, &l->sender);
    k->answers = l->peer[0].answered;
    pthread_mutex_unlock(&l->lock);
    return has;
}

void links_poses(links_t *l, check_pose_t *ours, check_pose_t *theirs)
{
    const uint64_t now_ns = clock_ns();
    pthread_mutex_lock(&l->lock);
    const odometry_t o = l->sender.last;
    const peer_motion_t *const attitude = peer_motion(&l->peer[0].attitude, UINT64_MAX);
    const peer_motion_t *const position = peer_motion(&l->peer[0].position, UINT64_MAX);
    theirs->has_attitude = attitude && now_ns < attitude->t_ns + SECOND_NS / 2;
    theirs->has_position = position && now_ns < position->t_ns + SECOND_NS / 2;
    ours->has_attitude = ours->has_position = l->sender.is_sending;
    for (int i = 0; i < 3; i++) {
        ours->euler_rad[i] = o.euler_rad[i];
        ours->position_m[i] = o.position_m[i];
        theirs->euler_rad[i] = attitude ? attitude->value[i] : 0.0;
        theirs->position_m[i] = position ? position->value[i] : 0.0;
    }
    pthread_mutex_unlock(&l->lock);
}
