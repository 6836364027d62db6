/* SPDX-License-Identifier: MIT */
#include "settings.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/common/tuning_names.h"

static const char help_in[] =
    "usage: companion [options] --link LINK\n"
    "\n"
    "Cameras and an IMU in, MAVLink out: pose and velocity (ODOMETRY) and obstacles (OBSTACLE_DISTANCE) for PX4 and\n"
    "ArduPilot. examples/companion/README.md describes options, messages and set-up.\n"
    "\n"
    "in:\n"
    "  --source WHERE    synthetic, the default: a rendered flight; synthetic:640x400; a data set of replay,\n"
    "                    among them a recording (.vfr); v4l2:0,1: video devices; gst:PIPELINE: GStreamer, with\n"
    "                    appsink name=cam0, cam1 at its end; cameras need --rig and --imu autopilot or iio;\n"
    "                    sim:HOST:PORT: a simulator in lock step, as sitl-vehicle\n"
    "  --camera-hz N     rate of video devices; 30\n"
    "  --exposure-us N   their exposure time, by half of which stamps are moved to its middle\n"
    "  --readout-us N    from the end of exposure to the stamp, where that is of the end of the frame, as with gst\n"
    "  --rig FILE        YAML: T_body_imu in section body, cam0 and cam1 as Kalibr has them, noise in section imu0\n"
    "  --calibration F   calibration in place of the data set's, as replay's\n"
    "  --imu WHOSE       source, the default, or autopilot: HIGHRES_IMU, of ArduPilot RAW_IMU, on its clock by "
    "TIMESYNC;\n"
    "                    or iio:DEVICE, one of this machine's, by number or name, which needs --rig for mount and "
    "noise\n"
    "  --imu-hz N        samples a second to ask the autopilot or the device for; 200\n"
    "  --imu-delay MS    by which the autopilot's samples are late; without it 0, of RAW_IMU 11.25 (a filter of 20 "
    "Hz)\n"
    "  --fast            a data set as fast as this machine can; its time is the clock\n"
    "  --slow N          a clock that is N times as slow, for a data set on a machine that is too slow for it\n"
    "  --frames N        stop after N frames\n";

static const char help_out[] =
    "\n"
    "out:\n"
    "  --link LINK       udp:HOST:PORT[:LOCAL], udpin:PORT, tcp:HOST:PORT, serial:DEVICE:BAUD, file:PATH or "
    "dds:DOMAIN,\n"
    "                    VehicleOdometry for the agent of PX4's uXRCE-DDS; up to 4 times;\n"
    "                    none: pictures, tracks and state for --view alone, also without an IMU\n"
    "  --key FILE        sign all messages, take signed ones alone: 32 bytes, or 64 hexadecimal digits\n"
    "  --system N        system id of the autopilot; 1\n"
    "  --rate HZ         most ODOMETRY messages a second, 1..100; 50: frames of 30 Hz as they are, of 20 Hz one in "
    "between,\n"
    "                    carried on by the IMU, of 60 Hz every second one\n"
    "  --no-carry        frames alone, none in between\n"
    "  --vision-position VISION_POSITION_ESTIMATE, too\n"
    "  --obstacles[=M]   OBSTACLE_DISTANCE: what lies within M metres of the vehicle's height; 1. Needs a build with\n"
    "                    disparities (VFRONT_DENSE)\n"
    "  --north           x of the local frame is north, by the autopilot's ATTITUDE at the first state, on the ground\n"
    "  --origin LAT,LON,ALT  SET_GPS_GLOBAL_ORIGIN [degrees, m above sea], which ArduPilot needs\n"
    "  --answers N       TIMESYNC answers before the autopilot can relate stamps; PX4 needs 500 (50 s), ArduPilot "
    "none\n"
    "  --stamp-sigma MS  standard deviation of stamps [ms]; 2\n"
    "\n"
    "process:\n"
    "  --record FILE     record frames, samples and digests of results, which replay repeats bit for bit\n"
    "  --view PORT       a web page on this machine's port: picture, tracks, path, state, health, times, 5 times a "
    "second;\n"
    "                    ADDRESS:PORT for others to look on, too: whoever reaches it sees it\n"
    "  --view-name NAME  host name by which the page may be asked for, as drone.local, beside addresses in numbers\n"
    "  --check           no flight: guides through lift, nod, lean and turn, and compares with the autopilot\n"
    "  --keep FILE       pose and counters, ten times a second; after a restart within a minute the pose goes on\n"
    "                    where the autopilot sends none of its own\n"
    "  --map FILE        keyframes and loops of the place: loaded before the first frame, saved at SIGUSR1 and at the\n"
    "                    end; needs a build with VFRONT_MAP\n"
    "  --map-link LINK   where the frame of ODOMETRY lies in the map, for a mission computer; never an autopilot's "
    "link\n"
    "  --realtime N      SCHED_FIFO with priority N, and memory locked, where permitted\n"
    "  --port WHICH      auto, host or cuda\n"
    "  --state-only      a step without key points, in half the time: vfront_tuning_state(); not with --map\n"
    "  --set NAME=VALUE  a tuning value of the library; replay --set help lists them\n"
    "  --quiet           no line every 10 s\n"
    "  --help            this page\n"
    "\n"
    "exit code: 0 done or stopped by a signal, 1 disk or memory, 2 wrong usage, 3 link, 4 source, 5 rig, 6 library,\n"
    "           7 --check found a fault\n";

static int read_double(const char *text, double min, double max, double *number)
{
    char *end;
    errno = 0;
    const double value = strtod(text, &end);
    if (end == text || *end || errno || !(value >= min && value <= max)) return 0;
    *number = value;
    return 1;
}

static int read_integer(const char *text, long min, long max, long *number)
{
    char *end;
    errno = 0;
    *number = strtol(text, &end, 10);
    return end != text && !*end && !errno && *number >= min && *number <= max;
}

static int set_source(struct settings *s, const char *text) { return s->source = text, CONTINUE; }
static int set_rig(struct settings *s, const char *text) { return s->rig = text, CONTINUE; }
static int set_calibration(struct settings *s, const char *text) { return s->calibration = text, CONTINUE; }
static int set_record(struct settings *s, const char *text) { return s->record = text, CONTINUE; }

static int set_view(struct settings *s, const char *text) { return s->view = text, CONTINUE; }
static int set_view_name(struct settings *s, const char *text) { return s->view_name = text, CONTINUE; }
static int set_key(struct settings *s, const char *text) { return s->key = text, CONTINUE; }
static int set_checkpoint(struct settings *s, const char *text) { return s->checkpoint = text, CONTINUE; }

static int set_link(struct settings *s, const char *text)
{
    if (strcmp(text, "none") == 0) return s->is_alone = 1, CONTINUE;
    if (s->links == LINKS_MAX) return message(EXIT_USAGE, "--link: at most %d links", LINKS_MAX);
    s->link[s->links++] = text;
    return CONTINUE;
}

static int set_map(struct settings *s, const char *text) { return s->map = text, CONTINUE; }

static int set_map_link(struct settings *s, const char *text)
{
    if (s->links == LINKS_MAX) return message(EXIT_USAGE, "--map-link: at most %d links", LINKS_MAX);
    s->is_map_link[s->links] = 1;
    s->link[s->links++] = text;
    return CONTINUE;
}

static int set_imu(struct settings *s, const char *text)
{
    s->imu_is_autopilots = strcmp(text, "autopilot") == 0;
    s->iio = strncmp(text, "iio:", 4) == 0 && text[4] ? text + 4 : NULL;
    if (s->imu_is_autopilots || s->iio || strcmp(text, "source") == 0) return CONTINUE;
    return message(EXIT_USAGE, "--imu %s: not source, autopilot or iio:DEVICE", text);
}

static int set_origin(struct settings *s, const char *text)
{
    char part[3][32];
    double v[3];
    if (sscanf(text, "%31[^,],%31[^,],%31[^,]", part[0], part[1], part[2]) != 3 ||
        !read_double(part[0], -90.0, 90.0, &v[0]) || !read_double(part[1], -180.0, 180.0, &v[1]) ||
        !read_double(part[2], -1000.0, 100000.0, &v[2]))
        return message(EXIT_USAGE, "--origin %s: not LATITUDE,LONGITUDE,ALTITUDE in degrees and m", text);
    s->origin = (links_origin_t){.is_set = 1,
                                 .latitude_e7 = (int32_t)lround(v[0] * 1e7),
                                 .longitude_e7 = (int32_t)lround(v[1] * 1e7),
                                 .altitude_mm = (int32_t)lround(v[2] * 1e3)};
    return CONTINUE;
}

static int set_port(struct settings *s, const char *text)
{
    static const char *const name[] = {"auto", "cuda", "host"};
    static const vfront_port_t port[] = {VFRONT_PORT_AUTO, VFRONT_PORT_CUDA, VFRONT_PORT_HOST};
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(text, name[i]) != 0) continue;
        s->port = port[i];
        return CONTINUE;
    }
    return message(EXIT_USAGE, "--port %s: not auto, host or cuda", text);
}

static int set_tuning(struct settings *s, const char *text)
{
    const char *equals = strchr(text, '=');
    char name[64];
    long value;
    if (!equals || !read_integer(equals + 1, INT32_MIN, INT32_MAX, &value))
        return message(EXIT_USAGE, "--set %s: not NAME=VALUE with a whole number", text);
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    if (vfront_tuning_set(&s->tuning, name, (int32_t)value) == VFRONT_OK) return CONTINUE;
    if (tuning_names_answer(name)) return message(EXIT_USAGE, "--set: %s", tuning_names_answer(name));
    return message(EXIT_USAGE, "--set %s: no such value, or out of its range; replay --set help lists them", text);
}

/** Options that are a number. */
static int set_number(struct settings *s, const char *name, const char *text)
{
    const struct {
        const char *name;
        double min, max;
        double *number;
    } doubles[] = {{"--imu-hz", 10.0, 1000.0, &s->imu_hz},     {"--imu-delay", 0.0, 200.0, &s->imu_delay_s},
                   {"--rate", 1.0, 100.0, &s->rate_hz},        {"--stamp-sigma", 0.0, 100.0, &s->delay_sigma_s},
                   {"--camera-hz", 1.0, 240.0, &s->camera_hz}, {"--obstacles", 0.1, 50.0, &s->obstacle_height_m}};
    long number;
    for (size_t i = 0; i < sizeof doubles / sizeof *doubles; i++) {
        if (strcmp(name, doubles[i].name) != 0) continue;
        if (read_double(text, doubles[i].min, doubles[i].max, doubles[i].number)) return CONTINUE;
        return message(EXIT_USAGE, "%s %s: not a number in %g..%g", name, text, doubles[i].min, doubles[i].max);
    }
    const int is_frames = strcmp(name, "--frames") == 0, is_system = strcmp(name, "--system") == 0;
    const int is_answers = strcmp(name, "--answers") == 0;
    const long min = is_answers ? 0 : 1;
    const int is_exposure = strcmp(name, "--exposure-us") == 0, is_readout = strcmp(name, "--readout-us") == 0;
    const int is_slow = strcmp(name, "--slow") == 0;
    const long max = is_frames                   ? INT32_MAX
                     : is_system                 ? 255
                     : is_answers                ? 100000
                     : is_exposure || is_readout ? 1000000
                     : is_slow                   ? 1000
                                                 : 99;
    if (!read_integer(text, min, max, &number))
        return message(EXIT_USAGE, "%s %s: not a whole number in %ld..%ld", name, text, min, max);
    if (is_frames)
        s->frames = (uint32_t)number;
    else if (is_exposure || is_readout)
        *(is_exposure ? &s->exposure_us : &s->readout_us) = (uint32_t)number;
    else
        *(is_system ? &s->system : is_answers ? &s->answers : is_slow ? &s->slow : &s->priority) = (int)number;
    return CONTINUE;
}

static int set_flag(struct settings *s, const char *name)
{
    const struct {
        const char *name;
        int *flag;
        int value;
    } known[] = {{"--fast", &s->is_fast, 1},   {"--vision-position", &s->has_vision_position, 1},
                 {"--quiet", &s->quiet, 1},    {"--no-carry", &s->has_carry, 0},
                 {"--north", &s->is_north, 1}, {"--check", &s->is_check, 1}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) != 0) continue;
        *known[i].flag = known[i].value;
        return CONTINUE;
    }
    if (strcmp(name, "--state-only") == 0) return CONTINUE; /* begin_tuning() */
    if (strcmp(name, "--obstacles") == 0) return s->obstacle_height_m = 1.0, CONTINUE;
    if (strcmp(name, "--help") != 0) return message(EXIT_USAGE, "%s: no such option; --help lists them", name);
    fputs(help_in, stdout);
    fputs(help_out, stdout);
    return EXIT_DONE;
}

/** One option, as --name value or --name=value. Advances `at` over its value. */
static int read_option(struct settings *s, char **word, int *at)
{
    static const struct {
        const char *name;
        int (*set)(struct settings *s, const char *text);
    } known[] = {{"--source", set_source},       {"--rig", set_rig},         {"--calibration", set_calibration},
                 {"--link", set_link},           {"--keep", set_checkpoint}, {"--imu", set_imu},
                 {"--origin", set_origin},       {"--port", set_port},       {"--set", set_tuning},
                 {"--record", set_record},       {"--view", set_view},       {"--key", set_key},
                 {"--view-name", set_view_name}, {"--map", set_map},         {"--map-link", set_map_link}};
    static const char *const numbers[] = {"--imu-hz",    "--rate",        "--stamp-sigma", "--frames",
                                          "--system",    "--answers",     "--realtime",    "--slow",
                                          "--camera-hz", "--exposure-us", "--readout-us",  "--imu-delay"};
    char name[32];
    const char *equals = strchr(word[*at], '=');
    snprintf(name, sizeof name, "%.*s", equals ? (int)(equals - word[*at]) : 31, word[*at]);
    int (*set)(struct settings *, const char *) = NULL;
    int is_number = equals && strcmp(name, "--obstacles") == 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0) set = known[i].set;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) is_number |= strcmp(name, numbers[i]) == 0;
    if (!set && !is_number) return set_flag(s, word[*at]);
    const char *text = equals ? equals + 1 : word[*at + 1] ? word[++*at] : NULL;
    if (!text || !*text) return message(EXIT_USAGE, "%s: a value is missing", name);
    return set ? set(s, text) : set_number(s, name, text);
}

/** The standard step, or with --state-only that for a state, before the values of --set. */
static void begin_tuning(struct settings *s, int count, char **word)
{
    vfront_tuning_default(&s->tuning);
    for (int at = 1; at < count; at++)
        if (strcmp(word[at], "--state-only") == 0) vfront_tuning_state(&s->tuning);
}

/** What needs an answer has another link than DDS. */
static int check_dds(const struct settings *s, int map_links)
{
    int is_answered = 0;
    for (int i = 0; i < s->links; i++) {
        const int is_dds = uxrce_is(s->link[i]);
        if (is_dds && s->is_map_link[i]) return message(EXIT_USAGE, "--map-link %s: not over DDS", s->link[i]);
        is_answered |= !is_dds && !s->is_map_link[i];
    }
    if (s->links > map_links && !is_answered && (s->is_north || s->is_check))
        return message(EXIT_USAGE, "--%s: nothing comes back over DDS", s->is_north ? "north" : "check");
    if (s->links && s->imu_is_autopilots && uxrce_is(s->link[0]))
        return message(EXIT_USAGE, "--imu autopilot: nothing comes back over DDS");
    return CONTINUE;
}

int settings_read(struct settings *s, int count, char **word)
{
    memset(s, 0, sizeof *s);
    begin_tuning(s, count, word);
    s->source = "synthetic";
    s->imu_hz = 200.0;
    s->imu_delay_s = -1e3;
    s->rate_hz = 50.0;
    s->camera_hz = 30.0;
    s->delay_sigma_s = 2.0;
    s->system = 1;
    s->answers = -1;
    s->slow = 1;
    s->has_carry = 1;
    for (int at = 1; at < count; at++) {
        if (word[at][0] != '-') return message(EXIT_USAGE, "%s: not an option; --help lists them", word[at]);
        const int code = read_option(s, word, &at);
        if (code != CONTINUE) return code;
    }
    s->delay_sigma_s *= 1e-3;
    s->imu_delay_s *= 1e-3;
    s->is_simulated = strncmp(s->source, "sim:", 4) == 0;
    s->is_fast |= s->is_simulated;
    int map_links = 0;
    for (int i = 0; i < s->links; i++) map_links += s->is_map_link[i];
    if (map_links && !s->map) return message(EXIT_USAGE, "--map-link: without --map");
    if (s->map && !VFRONT_MAP)
        return message(EXIT_USAGE, "--map: this build has no map; vfront_cfg.h names the switch, VFRONT_MAP");
    if (s->map && !s->tuning.describe)
        return message(EXIT_USAGE, "--map: its places are key points; not with --state-only");
    if (s->map) s->tuning.map = 1;
    if (s->links && s->is_alone) return message(EXIT_USAGE, "--link none: beside another link");
    if (s->is_alone && s->imu_is_autopilots) return message(EXIT_USAGE, "--link none: no autopilot, no IMU of it");
    const int code = check_dds(s, map_links);
    if (code != CONTINUE) return code;
    if (s->links == map_links && !s->is_alone)
        return message(EXIT_USAGE, "--link is missing: where the messages go; --help lists all options");
    if (s->is_fast && (s->imu_is_autopilots || s->iio))
        return message(EXIT_USAGE, "--fast: no IMU but the source's: the time of any other is the machine's");
    if (s->slow > 1 && s->iio) return message(EXIT_USAGE, "--slow: no IMU of iio: its time is the machine's");
    if (s->view_name && !s->view) return message(EXIT_USAGE, "--view-name: without --view");
    if (s->obstacle_height_m > 0.0 && !VFRONT_DENSE)
        return message(EXIT_USAGE, "--obstacles: this build has no disparities; vfront_cfg.h names the switch");
    if (s->obstacle_height_m > 0.0) s->tuning.dense = 1;
    if (VFRONT_VIO) s->tuning.vio = 1;
    return CONTINUE;
}
