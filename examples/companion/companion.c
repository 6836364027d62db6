/* SPDX-License-Identifier: MIT
 *
 * companion: cameras and an IMU in, MAVLink to an autopilot out.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "display.h"
#include "examples/recording/recorder.h"
#include "examples/replay/calibration.h"
#include "examples/replay/state.h"
#include "health.h"
#include "links.h"
#include "map_keeper.h"
#include "meter.h"
#include "obstacles.h"
#include "process.h"
#include "settings.h"
#include "source.h"
#include "trust.h"
#include "watchdog.h"

#define SAMPLES_WAIT_NS 20000000u /* longest wait of a frame for samples of its time */
#define WAIT_NS 1000000u          /* between two looks for the first sample of an autopilot */
#define REPORT_NS 10000000000u
#define SECOND_NS 1000000000u
#define KEEP_NS 100000000u     /* between two writes of --keep: what is lost, a vehicle moves by 0.1 m at 1 m/s */
#define OBSTACLES_NS 66000000u /* least time between two messages of obstacles: 15 Hz */
#define OBSTACLE_MIN_M 0.3
#define OBSTACLE_MAX_M 20.0

static vfront_t vf;
static links_t links;
static display_t display;
static map_keeper_t map;

/** State of the program. */
struct companion {
    struct settings settings;
    source_t *source;
    vfront_rig_t rig;
    pose_t T_body_imu;
    meter_t meter;
    trust_t trust;
    health_t health;
    const char *rejection;               /* why the state is not sent; NULL: it is */
    uint32_t nav_state, stereo, missing; /* as last reported */
    int is_located;                      /* in the map, likewise; -1: nothing yet */
    uint64_t map_event_ns;               /* when the place in the map was recorded */
    int has_reported;
    vfront_status_t last;     /* of the last step */
    int is_first_after_reset; /* 1: the library was reset behind it */
    recorder_t *recorder;     /* of --record, or NULL */
    int recorder_failed;      /* 1: reported */
    uint64_t report_ns, second_ns, keep_ns, obstacles_ns;
    checkpoint_t checkpoint;
    int has_checkpoint_fault;
    check_t check;
    vfront_camera_t seen; /* camera 0 of the results */
    pose_t T_body_cam;    /* its pose on the body */
    double baseline_m;
};

/* ---- opening ----------------------------------------------------------------------------------------------------- */

/** A sample of the source, at its time: with --fast that is when the links turn, too. */
static void take_sample(void *context, const vfront_imu_t *sample)
{
    const struct companion *c = context;
    links_add_sample(&links, sample);
    if (c->settings.is_fast) links_service(&links);
}

/** A second in which links and page go on. */
static void wait_a_second(void)
{
    const uint64_t end_ns = clock_ns() + SECOND_NS;
    watchdog_alive();
    while (!process_is_stopped && clock_ns() < end_ns) {
        links_service(&links);
        display_wait(&display, "a camera");
        clock_sleep_until_ns(clock_ns() + 10 * WAIT_NS);
    }
}

/** Opens the source; one that is not there, as where the machine has just begun, is waited for. */
static int open_source(struct companion *c)
{
    const struct settings *s = &c->settings;
    int is_absent = 0;
    const source_settings_t settings = {.where = s->source,
                                        .calibration = s->rig ? s->rig : s->calibration,
                                        .is_fast = s->is_fast,
                                        .has_samples = !s->imu_is_autopilots && !s->iio,
                                        .frames = s->frames,
                                        .rate_hz = s->camera_hz,
                                        .exposure_us = s->exposure_us,
                                        .readout_us = s->readout_us,
                                        .take = take_sample,
                                        .context = c,
                                        .is_absent = &is_absent};
    const char *error = source_open(&c->source, &settings);
    if (is_absent) {
        message(CONTINUE, "%s; it is tried again every second", error);
        links_report(&links, NOTICE_PICTURES, SEVERITY_ERROR, "vision: a camera is not there");
        watchdog_ready();
    }
    while (is_absent && !process_is_stopped) {
        wait_a_second();
        source_close(c->source);
        c->source = NULL;
        watchdog_alive();
        error = source_open(&c->source, &settings);
    }
    if (process_is_stopped && error) return EXIT_DONE;
    return error ? message(EXIT_SOURCE, "%s", error) : CONTINUE;
}

/** Mount and noise. IMU axes of a data set without a rig file are taken to be x forward, y left, z up. */
static int open_rig(struct companion *c)
{
    static const pose_t forward_left_up = {.R = {1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, -1.0}};
    const struct settings *s = &c->settings;
    const char *error = NULL;
    c->rig = *source_rig(c->source);
    c->T_body_imu = s->imu_is_autopilots ? pose_identity : forward_left_up;
    if (s->rig) {
        vfront_imu_noise_t noise;
        error = calibration_mount(&c->T_body_imu, s->rig);
        if (!error) error = calibration_imu(&noise, s->rig);
        if (!error && noise.rate_hz > 0.0) c->rig.imu = noise;
    } else if (strncmp(s->source, "synthetic", 9) != 0) {
        message(CONTINUE, "no --rig: body axes are taken to be the IMU's, x forward, y left, z up");
    }
    if (error) return message(EXIT_RIG, "%s", error);
    if (c->rig.camera[0].fx_px == 0.0) return message(EXIT_RIG, "%s: camera 0 is not calibrated", s->source);
    const int has_none = !s->imu_is_autopilots && !s->iio && !source_has_samples(c->source);
    if (has_none && s->is_alone) {
        memset(&c->rig.imu, 0, sizeof c->rig.imu);
        message(CONTINUE, "no IMU: a state by two cameras, without up");
        return CONTINUE;
    }
    if (has_none)
        return message(EXIT_RIG,
                       "%s: no samples of an IMU, without which there is no state; --imu autopilot or iio:DEVICE",
                       s->source);
    if (!(c->rig.imu.rate_hz > 0.0))
        return message(EXIT_RIG, "%s: the noise of the IMU is not known: give it in section imu0 of --rig", s->source);
    return CONTINUE;
}

static int open_links(struct companion *c)
{
    static uint8_t key[SIGNING_KEY];
    const struct settings *s = &c->settings;
    const char *fault = s->key ? signing_read_key(key, s->key) : NULL;
    if (fault) return message(EXIT_LINK, "%s", fault);
    const peer_settings_t settings = {.system = (uint8_t)s->system,
                                      .component = 1,
                                      .key = s->key ? key : NULL,
                                      .wants_imu = s->imu_is_autopilots,
                                      .imu_hz = s->imu_hz,
                                      .imu_delay_s = s->imu_delay_s,
                                      .answers = s->is_check ? 0 : s->answers};
    if (!links_init(&links)) return message(EXIT_FAILED, "no mutex");
    for (int turn = 0; turn < 2 * s->links; turn++) { /* those of the map behind all others */
        const int i = turn % s->links;
        peer_settings_t one = settings;
        one.is_map = s->is_map_link[i];
        if (one.is_map != turn / s->links) continue;
        one.wants_imu = settings.wants_imu && links.count == 0; /* one IMU: that of the first link */
        const char *error = links_open(&links, s->link[i], &one);
        if (error) return message(EXIT_LINK, "%s", error);
    }
    links.origin = s->origin;
    const char *error = s->iio ? links_open_iio(&links, s->iio, s->imu_hz) : NULL;
    if (error && !links.iio.is_absent) return message(EXIT_SOURCE, "--imu %s", error);
    if (error) message(CONTINUE, "--imu %s; it is tried again every second", error);
    if (error) links_report(&links, NOTICE_DEVICE, SEVERITY_ERROR, "vision: the IMU is not there");
    if (s->iio && links.iio.hz > 0.0) message(CONTINUE, "iio:%s: %.4g samples a second", s->iio, links.iio.hz);
    return CONTINUE;
}

/** Waits for the autopilot's IMU; where it does not come at once, at pictures of the cameras for those who look on. A
 *  restart in flight has samples at once, and opens its cameras once. Returns 1 if they were started for that. */
static int await_sample(const struct companion *c)
{
    const uint64_t begin_ns = clock_ns();
    const peer_t *p = &links.peer[0];
    int is_reported = 0, is_tried = 0, is_looked_at = 0;
    uint64_t alive_ns = 0;
    while (!process_is_stopped && !peer_knows_imu(p)) {
        const uint64_t now_ns = clock_ns();
        links_service(&links);
        if (!is_tried && now_ns > begin_ns + SECOND_NS) {
            is_looked_at = display_preview(&display, c->source, "the first sample of the autopilot's IMU");
            is_tried = 1;
        }
        if (!is_reported && now_ns > begin_ns + 2 * (uint64_t)SECOND_NS) {
            message(CONTINUE, "%s: no samples of the autopilot's IMU yet; they are waited for", p->link.name);
            watchdog_ready();
            is_reported = 1;
        }
        if (is_reported && now_ns > alive_ns + SECOND_NS) watchdog_alive(), alive_ns = now_ns;
        clock_sleep_until_ns(now_ns + WAIT_NS);
    }
    display_end_preview(&display);
    return is_looked_at;
}

/** Waits for the first sample of the autopilot, which decides resolution and delay. */
static int await_imu(struct companion *c)
{
    const peer_t *p = &links.peer[0];
    double sigma_s;
    int code = CONTINUE;
    if (!c->settings.imu_is_autopilots) return CONTINUE;
    const int is_looked_at = await_sample(c);
    if (process_is_stopped) return EXIT_DONE;
    if (is_looked_at) { /* from now on its pictures go into buffers of the library */
        source_close(c->source);
        c->source = NULL;
        code = open_source(c);
    }
    if (code != CONTINUE) return code;
    peer_add_resolution(p, &c->rig.imu);
    const double delay_s = peer_delay_s(p, &sigma_s);
    c->settings.delay_sigma_s = hypot(c->settings.delay_sigma_s, sigma_s);
    message(CONTINUE, "IMU of %s: %.2f ms late, stamps within %.2f ms; noise %.3g rad/s/sqrt(Hz), %.3g m/s^2/sqrt(Hz)",
            mavlink_name(p->imu_id), 1e3 * delay_s, 1e3 * c->settings.delay_sigma_s, c->rig.imu.gyro_density,
            c->rig.imu.accel_density);
    return CONTINUE;
}

/** Noise for states that are carried on: that of flight, as the window takes it. */
static vfront_imu_noise_t noise_in_flight(const struct companion *c)
{
    vfront_imu_noise_t noise = c->rig.imu;
    const double times = c->settings.tuning.vio_imu_percent / 100.0;
    noise.gyro_density = fmin(1.0, noise.gyro_density * times);
    noise.accel_density = fmin(10.0, noise.accel_density * times);
    return noise;
}

/** What a run before has kept. */
static void read_kept(struct companion *c)
{
    const char *reason = NULL;
    checkpoint_t *k = &c->checkpoint;
    const int has = c->settings.checkpoint && checkpoint_read(c->settings.checkpoint, clock_ns(), k, &reason);
    /* without one the time: two starts in a row have the same once in 256 times */
    const uint64_t last = has                                                ? k->reset_counter
                          : c->settings.is_fast && !c->settings.is_simulated ? 0
                                                                             : clock_ns() / SECOND_NS;
    links_follow(&links, has ? k : NULL, (uint8_t)last);
    if (!has) memset(k, 0, sizeof *k);
    if (has) links_report(&links, NOTICE_START, SEVERITY_WARNING, "vision: restart %" PRIu32, ++k->restarts);
    if (reason) message(CONTINUE, "--keep %s: not taken: %s", c->settings.checkpoint, reason);
}

/** Camera 0 of the results on the body. A rectified camera is turned against that of the rig: by its own extrinsics. */
static int set_cameras(struct companion *c)
{
    vfront_info_t info;
    vfront_info(&vf, &info);
    c->seen = info.camera[0];
    c->baseline_m = calibration_baseline_m(&c->rig);
    const pose_t T_cam_imu = calibration_extrinsics(&c->seen), T_imu_cam = pose_inverse(&T_cam_imu);
    c->T_body_cam = pose_compose(&c->T_body_imu, &T_imu_cam);
    if (display_rectify(&display, &c->rig, &info)) return CONTINUE;
    return message(EXIT_FAILED, "--view: no memory for rectified pictures");
}

/** The command line's settings, as parameters. */
static void set_parameters(const struct companion *c)
{
    const struct settings *s = &c->settings;
    double *v = links.control.value;
    v[CONTROL_RATE] = s->rate_hz;
    v[CONTROL_CARRY] = s->has_carry;
    v[CONTROL_VISION_POSITION] = s->has_vision_position;
    v[CONTROL_STAMP_MS] = s->delay_sigma_s * 1e3;
    v[CONTROL_ANSWERS] = s->answers;
    v[CONTROL_IMU_DELAY_MS] = fmax(s->imu_delay_s * 1e3, -1.0);
    v[CONTROL_IMU_HZ] = s->imu_hz;
    v[CONTROL_OBSTACLES_M] = s->obstacle_height_m;
    v[CONTROL_LATITUDE] = s->origin.latitude_e7 * 1e-7;
    v[CONTROL_LONGITUDE] = s->origin.longitude_e7 * 1e-7;
    v[CONTROL_ALTITUDE] = s->origin.altitude_mm * 1e-3;
}

static int open_library(struct companion *c)
{
    const struct settings *s = &c->settings;
    const vfront_status_t status = vfront_init(&vf, &c->rig, &s->tuning, s->port);
    if (status)
        return message(status == VFRONT_E_TUNING ? EXIT_USAGE : EXIT_LIBRARY, "vfront_init: %s: %s",
                       vfront_status_name(status), vfront_detail(&vf));
    links.sender.settings = (sender_settings_t){.rate_hz = s->rate_hz,
                                                .carries_on = s->has_carry,
                                                .has_vision_position = s->has_vision_position,
                                                .T_body_imu = c->T_body_imu,
                                                .noise = noise_in_flight(c),
                                                .is_north = s->is_north,
                                                .stamp_sigma_s = s->delay_sigma_s};
    set_parameters(c);
    read_kept(c);
    return set_cameras(c);
}

/** Loads the map. One that is refused is reported, and the flight goes on without. */
static int open_map(struct companion *c)
{
    c->is_located = -1;
    if (!c->settings.map) return CONTINUE;
    const char *error = map_keeper_open(&map, c->settings.map);
    if (error) return message(EXIT_FAILED, "%s", error);
    error = map_keeper_load(&map, &vf);
    if (error) message(CONTINUE, "%s", error);
    if (error) links_report(&links, NOTICE_MAP, SEVERITY_ERROR, "vision: the map is refused");
    if (!error && !map.is_loaded) message(CONTINUE, "--map %s: not there yet: a new map begins", c->settings.map);
    return CONTINUE;
}

/** Lends the library's input buffers to the cameras, and lets them begin. */
static int start_source(struct companion *c)
{
    source_inputs_t inputs = {.data = {{NULL}}};
    for (int32_t i = 0; i < c->rig.cameras; i++) vfront_inputs(&vf, i, inputs.data[i]);
    const char *error = source_start(c->source, &inputs);
    return error ? message(EXIT_SOURCE, "%s", error) : CONTINUE;
}

/** Opens the web page. */
static int open_display(const struct companion *c)
{
    char url[VIEW_URL];
    if (!c->settings.view) return CONTINUE;
    const char *error = display_open(&display, c->settings.view, c->settings.view_name, &links);
    if (error) return message(EXIT_LINK, "%s", error);
    view_url(&display.view, url);
    message(CONTINUE, "--view: %s", url);
    return CONTINUE;
}

/** Begin to record what the library is given. */
static int open_recorder(struct companion *c)
{
    static recording_header_t header;
    vfront_info_t info;
    if (!c->settings.record) return CONTINUE;
    vfront_info(&vf, &info);
    header_make(&header, "companion", c->settings.source, &c->rig, &c->settings.tuning, &info);
    const char *error = recorder_open(&c->recorder, c->settings.record, RECORDER_BUFFER_BYTES, &header);
    links_record(&links, c->recorder);
    map_keeper_record(&map, c->recorder, clock_ns());
    return error ? message(EXIT_FAILED, "%s", error) : CONTINUE;
}

/** End it. Reports what the disk was too slow for. */
static int close_recorder(struct companion *c)
{
    recorder_counts_t n;
    recorder_counts(c->recorder, &n);
    if (n.frames_lost)
        message(CONTINUE, "%s: the disk was too slow: %" PRIu32 " frames are not recorded", c->settings.record,
                n.frames_lost);
    const char *error = recorder_close(c->recorder);
    return error ? message(EXIT_FAILED, "%s", error) : CONTINUE;
}

/** A step, as it is recorded. */
static vfront_status_t step_library(struct companion *c, const vfront_frame_t *frame, const vfront_result_t **result)
{
    recorder_frame(c->recorder, frame, c->is_first_after_reset);
    c->is_first_after_reset = 0;
    const vfront_status_t status = vfront_step(&vf, frame, result);
    recorder_result(c->recorder, frame->t_ns, status, status ? NULL : *result);
    const char *trouble = c->recorder_failed ? NULL : recorder_trouble(c->recorder);
    if (trouble) message(CONTINUE, "%s: the recording ends, the flight goes on", trouble);
    c->recorder_failed |= trouble != NULL;
    return status;
}

/* ---- a frame ----------------------------------------------------------------------------------------------------- */

/** STATUSTEXT on every change of health. */
static void report_health(struct companion *c, const vfront_result_t *r)
{
    const int first = !c->has_reported;
    if (first || r->nav.state != c->nav_state) {
        const int bad = r->nav.state == VFRONT_NAV_LOST, good = r->nav.state == VFRONT_NAV_GOOD;
        links_report(&links, NOTICE_STATE,
                     bad    ? SEVERITY_CRITICAL
                     : good ? SEVERITY_INFO
                            : SEVERITY_WARNING,
                     "vision: %s", state_name(r->nav.state));
        links_set_state(&links, bad                            ? HEARTBEAT_CRITICAL
                                : state_is_valid(r->nav.state) ? HEARTBEAT_ACTIVE
                                                               : HEARTBEAT_CALIBRATING);
    }
    if (r->health.missing != c->missing)
        links_report(&links, NOTICE_PICTURES, r->health.missing ? SEVERITY_WARNING : SEVERITY_INFO, "vision: %s%s%s",
                     r->health.missing ? "no picture of camera" : "all pictures", r->health.missing & 1u ? " 0" : "",
                     r->health.missing & 2u ? " 1" : "");
    if (!first && r->health.stereo != c->stereo && r->health.stereo != VFRONT_STEREO_NONE) {
        static const char *const name[] = {"none", "good", "suspect", "blind"};
        links_report(&links, NOTICE_STEREO, r->health.stereo == VFRONT_STEREO_GOOD ? SEVERITY_INFO : SEVERITY_WARNING,
                     "vision: stereo %s", name[r->health.stereo & 3u]);
    }
    char text[HEALTH_TEXT];
    for (int is_bad, word; (word = health_next(&c->health, r, text, &is_bad));)
        links_report(&links, NOTICE_HEALTH + word - 1, is_bad ? SEVERITY_WARNING : SEVERITY_INFO, "%s", text);
    c->nav_state = r->nav.state;
    c->missing = r->health.missing;
    c->stereo = r->health.stereo;
    c->has_reported = 1;
}

#if VFRONT_DENSE
static void send_obstacles(struct companion *c, const vfront_result_t *r)
{
    const obstacles_settings_t settings = {
        .height_m = links_setting(&links, CONTROL_OBSTACLES_M), .min_m = OBSTACLE_MIN_M, .max_m = OBSTACLE_MAX_M};
    uint16_t cm[VFRONT_OBSTACLE_BINS];
    mavlink_message_t m;
    double up[3];
    if (!(settings.height_m > 0.0) || r->t_mid_ns < c->obstacles_ns + OBSTACLES_NS) return;
    c->obstacles_ns = r->t_mid_ns;
    const int has_up = odometry_has_up(&r->nav);
    if (has_up) odometry_up(up, &r->nav, &c->T_body_imu);
    obstacles_of(cm, &settings, &r->disparity, &c->seen, c->baseline_m, &c->T_body_cam, has_up ? up : NULL);
    obstacles_message(&m, cm, &settings, r->t_mid_ns);
    links_send(&links, &m);
    display_obstacles(&display, cm);
}
#else
static void send_obstacles(struct companion *c, const vfront_result_t *r)
{
    (void)c;
    (void)r;
}
#endif

#if VFRONT_MAP
/** Where the local frame lies in the map: to its links, page and recording. */
static void send_map(struct companion *c, const vfront_result_t *r)
{
    map_frame_t frame;
    char text[128];
    if (!map.path) return;
    const int is_sound = state_is_valid(r->nav.state) && !c->rejection;
    const int is_located = links_map(&links, is_sound ? &r->map : NULL, r->t_mid_ns, &frame);
    display_map(&display, is_located ? &frame : NULL);
    if (map.is_loaded && is_located != c->is_located)
        links_report(&links, NOTICE_MAP, is_located || c->is_located < 0 ? SEVERITY_INFO : SEVERITY_WARNING,
                     "vision: %slocated in the map", is_located ? "" : "not ");
    c->is_located = is_located;
    if (!is_located || r->t_mid_ns < c->map_event_ns + SECOND_NS) return;
    c->map_event_ns = r->t_mid_ns;
    snprintf(text, sizeof text, "local frame in the map: %.3f %.3f %.3f m, yaw %.3f rad, sigma %.3f m",
             frame.position_m[0], frame.position_m[1], frame.position_m[2], frame.euler_rad[2], frame.sigma_m);
    recorder_text(c->recorder, CHUNK_EVENT, r->t_mid_ns, text);
}
#else
static void send_map(struct companion *c, const vfront_result_t *r)
{
    (void)c;
    (void)r;
}
#endif

/** Saves the map where it was asked for, and reports what became of it. */
static void save_map(void)
{
    const char *error = NULL;
    if (process_saves && !map_keeper_is_busy(&map)) { /* else once that is done */
        process_saves = 0;
        error = map_keeper_save(&map, &vf);
    }
    const map_keeper_result_t result = map_keeper_result(&map);
    if (result == MAP_KEEPER_FAILED) error = map.text;
    if (error) message(CONTINUE, "%s", error);
    if (error) links_report(&links, NOTICE_SAVE, SEVERITY_ERROR, "vision: the map is not saved");
    if (result == MAP_KEEPER_SAVED) links_report(&links, NOTICE_SAVE, SEVERITY_INFO, "vision: the map is saved");
}

/** Resets the library where that was ordered, or trust in the state has ended for good. The map stays. */
static void reset(struct companion *c, uint64_t t_ns)
{
    const int is_ordered = links_take_reset(&links);
    c->is_first_after_reset = 0;
    if (!is_ordered && !c->trust.reset_is_due) return;
    map_keeper_keep(&map, &vf);
    c->is_first_after_reset = vfront_reset(&vf) == VFRONT_OK;
    if (!c->is_first_after_reset) return;
    memset(&c->trust, 0, sizeof c->trust);
    map_keeper_restore(&map, &vf, c->recorder, t_ns);
    links_restart(&links);
    links_report(&links, NOTICE_TRUST, SEVERITY_WARNING, "vision: begins anew");
}

static void take_result(struct companion *c, const vfront_result_t *r, uint64_t arrived_ns)
{
    vfront_nav_t nav;
    const char *why = trust_check(&c->trust, r, &nav);
    if (why != c->rejection)
        links_report(&links, NOTICE_TRUST, why ? SEVERITY_CRITICAL : SEVERITY_INFO, "vision: %s",
                     why ? why : "trusted again");
    c->rejection = why;
    if (links_state(&links, &nav) && !c->settings.is_fast)
        meter_latency(&c->meter, arrived_ns, links.first_byte_ns, (uint64_t)((double)r->timing.step_us * 1e3));
    meter_frame(&c->meter, r);
    send_obstacles(c, r);
    send_map(c, r);
    report_health(c, r);
    reset(c, r->t_mid_ns);
    c->last = VFRONT_OK;
}

/** 1 for a status that concerns this frame alone. */
static int is_refusal(vfront_status_t status)
{
    return status == VFRONT_E_TIME || status == VFRONT_E_IMU || status == VFRONT_E_GYRO || status == VFRONT_E_PRIOR ||
           status == VFRONT_E_SIZE || status == VFRONT_E_PITCH || status == VFRONT_E_FORMAT ||
           status == VFRONT_E_ALIGN || status == VFRONT_E_MEMORY_KIND || status == VFRONT_E_MASK;
}

static int step(struct companion *c, vfront_frame_t *frame, uint64_t arrived_ns)
{
    static vfront_imu_t sample[VFRONT_IMU_SAMPLES];
    const vfront_result_t *result;
    const uint64_t wanted_ns = frame->t_ns + frame->exposure_ns / 2 + (uint64_t)c->rig.imu_offset_ns;
    const uint32_t n = links_take_samples(
        &links, wanted_ns, c->settings.imu_is_autopilots || c->settings.iio ? arrived_ns + SAMPLES_WAIT_NS : 0, sample,
        VFRONT_IMU_SAMPLES - 2);
    frame->imu = sample;
    frame->imu_count = n;
    meter_begin(&c->meter);
    vfront_status_t status = step_library(c, frame, &result);
    if (status == VFRONT_E_IMU) { /* they are not given again; the frame is taken without */
        frame->imu_count = 0;
        status = step_library(c, frame, &result);
    } else if (status) {
        links_return_samples(&links, n);
    }
    meter_end(&c->meter);
    if (!status) {
        take_result(c, result, arrived_ns);
        display_frame(&display, frame, result, c->rejection, &c->T_body_imu);
        return CONTINUE;
    }
    meter_refused(&c->meter);
    if (status != c->last) links_report(&links, NOTICE_STEP, SEVERITY_ERROR, "vision: %s", vfront_status_name(status));
    if (status != c->last) message(CONTINUE, "%s: %s", vfront_status_name(status), vfront_detail(&vf));
    c->last = status;
    return is_refusal(status) ? CONTINUE : EXIT_LIBRARY;
}

/** The sign of life, once a second, and the file of the pose. */
static void live(struct companion *c)
{
    const uint64_t now_ns = clock_ns();
    if (now_ns >= c->second_ns) {
        c->second_ns = now_ns + SECOND_NS;
        watchdog_alive();
    }
    if (!c->settings.checkpoint || now_ns < c->keep_ns || !links_checkpoint(&links, &c->checkpoint)) return;
    c->keep_ns = now_ns + KEEP_NS;
    const char *fault = checkpoint_write(c->settings.checkpoint, &c->checkpoint);
    if (fault && !c->has_checkpoint_fault) message(CONTINUE, "%s; goes on without", fault);
    c->has_checkpoint_fault = fault != NULL;
}

/** --check: what the person is asked for. 1: it is over. */
static int check(struct companion *c)
{
    check_pose_t ours, theirs;
    char text[CHECK_TEXT];
    links_poses(&links, &ours, &theirs);
    if (check_add(&c->check, &ours, &theirs, clock_ns(), text)) {
        puts(text);
        fflush(stdout);
    }
    return c->check.step == CHECK_DONE;
}

static void report(struct companion *c, int is_last)
{
    const uint64_t now_ns = clock_ns();
    if (c->settings.quiet && !is_last) return;
    if (!is_last && now_ns < c->report_ns) return;
    c->report_ns = now_ns + REPORT_NS;
    meter_print(&c->meter, source_skipped(c->source), &links, is_last);
}

static int fly(struct companion *c)
{
    int code = CONTINUE;
    while (!process_is_stopped && code == CONTINUE) {
        vfront_frame_t frame;
        uint64_t arrived_ns = 0;
        const source_status_t found = source_next(c->source, &frame, &arrived_ns);
        const char *fault = source_fault(c->source);
        if (fault) message(CONTINUE, "%s", fault);
        if (found == SOURCE_END) break;
        if (found == SOURCE_FAILED) return EXIT_SOURCE;
        if (found == SOURCE_FRAME) {
            meter_source(&c->meter);
            code = step(c, &frame, arrived_ns);
            source_done(c->source);
        }
        if (c->settings.is_fast) links_service(&links);
        save_map();
        if (c->settings.is_check && check(c)) return c->check.failures ? EXIT_CHECK : EXIT_DONE;
        live(c);
        report(c, 0);
    }
    report(c, 1);
    return code;
}

int main(int count, char **word)
{
    static struct companion c;
    message_program = "companion";
    int code = settings_read(&c.settings, count, word);
    if (code != CONTINUE) return code;
    process_catch_signals();
    if (c.settings.slow > 1) clock_slow(c.settings.slow);
    if (c.settings.is_simulated) clock_set_ns(0); /* until the simulator gives the time */
    code = open_links(&c);
    if (code == CONTINUE) code = open_display(&c);
    if (code == CONTINUE) code = open_source(&c);
    if (code == CONTINUE) code = open_rig(&c);
    if (code == CONTINUE) code = await_imu(&c);
    if (code == CONTINUE) code = open_library(&c);
    if (code == CONTINUE) code = open_map(&c);
    if (code == CONTINUE) code = open_recorder(&c);
    if (code == CONTINUE) {
        process_be_realtime(c.settings.priority);
        if (!c.settings.is_fast && !links_start(&links)) code = message(EXIT_FAILED, "no thread");
    }
    if (code == CONTINUE) code = start_source(&c);
    if (code == CONTINUE) {
        watchdog_ready();
        code = fly(&c);
    }
    source_close(c.source);
    const char *unsaved = map_keeper_close(&map, &vf);
    if (unsaved) message(CONTINUE, "%s", unsaved);
    links_stop(&links);
    const int recorded = close_recorder(&c);
    if (code == CONTINUE) code = unsaved ? EXIT_FAILED : recorded;
    display_close(&display);
    vfront_shutdown(&vf);
    return code == CONTINUE ? EXIT_DONE : code;
}
