/* SPDX-License-Identifier: MIT */
#include "options.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault_script.h"
#include "examples/common/message.h"
#include "examples/common/tuning_names.h"
#include "examples/recording/recorder.h"

static const char help[] =
    "usage: replay [options] [DATASET]\n"
    "\n"
    "Run vfront over a sequence of pictures and print a summary. examples/replay/README.md describes options and "
    "files.\n"
    "\n"
    "DATASET is recognised by its content:\n"
    "  synthetic         the default: a rendered stereo flight with an IMU, or, with --set vio=0, a gyro; 60 frames\n"
    "                    without --frames; synthetic:640x400 for another size, synthetic@470 from that frame on.\n"
    "                    Without DATASET it is flown with all that the build has: disparities, stixels, map\n"
    "  a trajectory      a text file, lines `t [s] px py pz qx qy qz qw` of the IMU, z up: a rendered stereo flight\n"
    "                    with IMU along it; --render help lists its settings\n"
    "  EuRoC / ASL       a folder with mav0, or mav0: cam0, cam1, imu0 with data.csv and sensor.yaml\n"
    "  KITTI odometry    a folder with image_0; image_1, calib.txt, times.txt, poses.txt, imu.csv (t [s],wx,wy,wz,ax,\n"
    "                    ay,az), T_cam0_imu.txt and imu.yaml (noise of the IMU, as Kalibr's) are optional\n"
    "  recording         a .vfr file, of --record or the companion: its rig, tuning and frames; results are compared\n"
    "                    with those that were recorded, stage by stage\n"
    "  MCAP, ros2 bag    a .mcap file, or a folder with one: pictures, camera_info, IMU and /tf_static of ROS 2;\n"
    "                    FILE@/left/image_raw,/right/image_raw,/imu names topics. Others: rosbags-convert (PyPI)\n"
    "  v4l2:0, gst:...   a camera without autopilot, two as v4l2:0,1, or a GStreamer pipeline with appsinks cam0, "
    "cam1:\n"
    "                    until --frames, the pipeline's end or Ctrl-C; a calibration is not needed for tracks\n"
    "  mp4, avi, mkv...  a video of one camera, by GStreamer\n"
    "  TUM RGB-D         a folder with rgb.txt; groundtruth.txt is optional\n"
    "  a plain folder    of PNG, JPEG, BMP, PGM or PPM pictures in the order of their names; 30 Hz without times.txt.\n"
    "                    Names that begin with left and right are those of two cameras, as are folders left and right\n"
    "\n";

static const char help_options[] =
    "options:\n"
    "  --out DIR         write the results into DIR, which is created: paths of camera and IMU as .txt and .svg, "
    "those\n"
    "                    of the ground truth, digest.txt, and what --tables and --overlay ask for. States of the IMU\n"
    "                    are estimated where cameras are calibrated and the IMU's noise is known; --set vio=0: never\n"
    "  --tables WHAT     with --out: none, the standard; frames: a CSV file for each kind of result with a few rows a\n"
    "                    frame (motion, state, health, timing...); all: also tracks, key points, descriptors, depths,\n"
    "                    matches, stixels and disparities\n"
    "  --overlay[=WHAT]  with --out: write pictures with the results drawn over them into DIR/overlay. WHAT is\n"
    "                    tracks, keypoints, depth, matches, motion, stixels, disparity or all, the default\n"
    "  --view PORT       a page that shows the run, for a browser: on this machine alone, or ADDRESS:PORT\n"
    "  --features-only   key points only, no tracks: short for --set track_target=0\n"
    "  --state-only      what a state and motions need and no more, in half the time: vfront_tuning_state()\n"
    "  --calibration=FILE\n"
    "                    calibration instead of that of the data set: a Kalibr camchain, a KITTI calib.txt, VINS's\n"
    "                    settings, Basalt's calibration.json, ROS's\n"
    "                    camera_info or OpenCV's files, a file a camera, with a comma between, or\n"
    "                    EuRoC's sensor.yaml of camera 0, or of camera 0, camera 1 and the IMU with commas\n"
    "                    between; Kalibr's imu.yaml beside any of them, or alone: noise of the IMU in place of\n"
    "                    that of the data set; none: no calibration\n"
    "  --truth=FILE      ground truth instead of that of the data set (KITTI's poses.txt, groundtruth.txt, EuRoC's\n"
    "                    state_groundtruth_estimate0): lines of 12 numbers (KITTI), of 8 (TUM), or EuRoC's data.csv;\n"
    "                    none: no ground truth\n"
    "  --fault FILE      put the faults of a script into frames, stamps and gyro samples; --fault help lists its\n"
    "                    lines. Frames that vfront refuses are named and counted, and the run goes on\n"
    "  --record FILE     record all that goes into vfront, and the digests of its results, as FILE.vfr\n"
    "  --record-buffer MB\n"
    "                    memory for that, 64 without it. Where the disk is too slow frames are left out of the\n"
    "                    recording, never of the run, and replay reports it\n"
    "  --export WHAT     with --out: mcap, messages of ROS 2 for Foxglove, Rerun: pictures, tracks, path, state,\n"
    "                    obstacles, into replay.mcap; csv, the channels of a recording as tables, in recording/\n"
    "  --map-load FILE   load a map before the first frame: loops lead to its keyframes, too. Sets map=1, which a\n"
    "                    build with VFRONT_MAP has\n"
    "  --map-save FILE   save the keyframes that are remembered after the last frame. Sets map=1\n"
    "  --frames N        stop after N frames\n"
    "  --port WHICH      auto, host or cuda; auto is cuda if a usable GPU is present\n"
    "  --failover        when the GPU fails, go on with the same frame on the host port: short for --set failover=1\n"
    "  --render NAME=VALUE\n"
    "                    setting of a flight along a trajectory: size and rate of the pictures, blur, noise,\n"
    "                    vibration; repeatable. --render help lists all of them\n"
    "  --set NAME=VALUE  set a tuning value; repeatable. --set help lists all of them\n"
    "  --mono            camera 0 only\n"
    "  --pairs           the frames are single pictures, or pairs of two cameras, and no sequence: each is taken for\n"
    "                    itself, without tracks, matches and motion between them\n"
    "  --no-gyro         ignore gyro and IMU samples\n"
    "  --quiet           no progress line\n"
    "  --help            print this help and the tuning values\n"
    "\n"
    "exit code: 0 done, 1 data, disk or library failed, 2 wrong usage\n";

static void list_tuning(void)
{
    const vfront_tuning_entry_t *e;
    printf("%-25s %8s  %-16s %s\n", "tuning value", "default", "range", "meaning");
    for (size_t i = 0; (e = vfront_tuning_entry(i)) != NULL; i++) {
        char range[32];
        snprintf(range, sizeof range, "%" PRId32 "..%" PRId32, e->least, e->most);
        printf("%-25s %8" PRId32 "  %-16s %s\n", e->name, e->standard, range, e->meaning);
    }
}

/** Grammar of fault scripts: examples/replay/README.md has it in full. */
static int list_faults(void)
{
    puts("WHEN TARGET KIND [ARGUMENT...], a line for each fault; # begins a comment; seed N: random seed\n"
         "WHEN    30, 30-44, 30-: frames from 0; 1.5s, 1.5s-2s, 1.5s-: times since the first frame\n"
         "TARGET  camera0, camera1, both, gyro, clock\n"
         "KIND, arguments and effect:");
    for (int i = 0; i < (int)FAULT_KIND_COUNT; i++)
        printf("  %-12s %s\n", fault_kind_name((fault_kind_t)i), fault_kind_meaning((fault_kind_t)i));
    return EXIT_DONE;
}

/** Parse a decimal integer least..most. Returns 0 if `text` is anything else. */
static int read_integer(const char *text, long long least, long long most, long long *number)
{
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return end != text && !*end && !errno && *number >= least && *number <= most;
}

/** Levenshtein distance: insertions, deletions, substitutions. */
static int edit_distance(const char *a, const char *b)
{
    enum { LENGTH_MAX = 63 };
    int row[LENGTH_MAX + 1];
    const int length = (int)strlen(b) < LENGTH_MAX ? (int)strlen(b) : LENGTH_MAX;
    for (int i = 0; i <= length; i++) row[i] = i;
    for (int k = 1; *a; a++, k++) {
        int corner = row[0];
        row[0] = k;
        for (int i = 1; i <= length; i++) {
            int best = corner + (*a != b[i - 1]);
            corner = row[i];
            if (row[i] + 1 < best) best = row[i] + 1;
            if (row[i - 1] + 1 < best) best = row[i - 1] + 1;
            row[i] = best;
        }
    }
    return row[length];
}

/** Message for an unknown tuning value, with similar names: edit distance up to 3, or containing the given name. */
static int unknown_name(const char *name)
{
    const vfront_tuning_entry_t *e;
    const char *answer = tuning_names_answer(name);
    char near[512] = "";
    size_t used = 0;
    if (answer) return message(EXIT_USAGE, "--set: %s", answer);
    for (size_t i = 0; (e = vfront_tuning_entry(i)) != NULL && used < sizeof near; i++)
        if (edit_distance(name, e->name) <= 3 || (*name && strstr(e->name, name)))
            used += (size_t)snprintf(near + used, sizeof near - used, "%s %s", used ? "," : "; near:", e->name);
    return message(EXIT_USAGE, "--set %s: no such tuning value%s; --set help lists them all", name, near);
}

static int set_tuning(struct options *o, const char *text)
{
    const vfront_tuning_entry_t *e = NULL;
    const char *equals = strchr(text, '=');
    char name[64];
    long long value;
    if (strcmp(text, "help") == 0) {
        list_tuning();
        return EXIT_DONE;
    }
    if (!equals) return message(EXIT_USAGE, "--set %s: not NAME=VALUE", text);
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    for (size_t i = 0; (e = vfront_tuning_entry(i)) != NULL && strcmp(e->name, name) != 0;) i++;
    if (!e) return unknown_name(name);
    if (!e->most && strcmp(equals + 1, "0") != 0)
        return message(EXIT_USAGE, "--set %s: this build has none of it: vfront_cfg.h names the switch", text);
    if (!read_integer(equals + 1, e->least, e->most, &value))
        return message(EXIT_USAGE, "--set %s: not a whole number in %" PRId32 "..%" PRId32, text, e->least, e->most);
    vfront_tuning_set(&o->tuning, name, (int32_t)value);
    o->vio_given |= strcmp(name, "vio") == 0;
    for (size_t i = 0; vfront_tuning_entry(i); i++) {
        if (vfront_tuning_entry(i) != e) continue;
        o->set[i].given = 1;
        o->set[i].value = (int32_t)value;
    }
    return CONTINUE;
}

/** The step for a state but for values that were given; whether there is a state, the data decides. */
static int set_state_step(struct options *o)
{
    int32_t before[OPTIONS_TUNINGS], now[OPTIONS_TUNINGS];
    const int32_t vio = o->tuning.vio;
    memcpy(before, &o->tuning, sizeof o->tuning);
    vfront_tuning_state(&o->tuning);
    o->tuning.vio = vio;
    memcpy(now, &o->tuning, sizeof o->tuning);
    for (size_t i = 0; vfront_tuning_entry(i); i++) {
        if (o->set[i].given) now[i] = before[i];
        if (now[i] == before[i]) continue;
        o->set[i].given = 1;
        o->set[i].value = now[i];
    }
    memcpy(&o->tuning, now, sizeof o->tuning);
    return CONTINUE;
}

static int list_settings(void)
{
    const course_setting_t *e;
    printf("%-16s %8s  %-12s %s\n", "setting", "default", "range", "meaning");
    for (size_t i = 0; (e = course_setting(i)) != NULL; i++) {
        char range[32];
        snprintf(range, sizeof range, "%" PRId32 "..%" PRId32, e->least, e->most);
        printf("%-16s %8" PRId32 "  %-12s %s\n", e->name, e->standard, range, e->meaning);
    }
    return EXIT_DONE;
}

static int set_render(struct options *o, const char *text)
{
    const course_setting_t *e = NULL;
    const char *equals = strchr(text, '=');
    char name[64];
    long long value;
    if (strcmp(text, "help") == 0) return list_settings();
    if (!equals) return message(EXIT_USAGE, "--render %s: not NAME=VALUE", text);
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    for (size_t i = 0; (e = course_setting(i)) != NULL && strcmp(e->name, name) != 0;) i++;
    if (!e) return message(EXIT_USAGE, "--render %s: no such setting; --render help lists them all", name);
    if (!read_integer(equals + 1, e->least, e->most, &value))
        return message(EXIT_USAGE, "--render %s: not a whole number in %" PRId32 "..%" PRId32, text, e->least, e->most);
    course_set(&o->render, name, (int32_t)value);
    o->render_given = 1;
    return CONTINUE;
}

static int set_port(struct options *o, const char *text)
{
    static const char *const name[] = {"auto", "cuda", "host"};
    static const vfront_port_t port[] = {VFRONT_PORT_AUTO, VFRONT_PORT_CUDA, VFRONT_PORT_HOST};
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(text, name[i]) != 0) continue;
        o->port = port[i];
        return CONTINUE;
    }
    return message(EXIT_USAGE, "--port %s: not auto, host or cuda", text);
}

static int set_frames(struct options *o, const char *text)
{
    long long number;
    if (!read_integer(text, 1, UINT32_MAX, &number))
        return message(EXIT_USAGE, "--frames %s: not a number from 1 on", text);
    o->frames = (uint32_t)number;
    return CONTINUE;
}

static int set_out(struct options *o, const char *text)
{
    o->out = text;
    return *text ? CONTINUE : message(EXIT_USAGE, "--out: an empty name");
}

static int set_calibration(struct options *o, const char *text)
{
    o->calibration = text;
    return *text ? CONTINUE : message(EXIT_USAGE, "--calibration: an empty name");
}

static int set_truth(struct options *o, const char *text)
{
    o->truth = text;
    return *text ? CONTINUE : message(EXIT_USAGE, "--truth: an empty name");
}

static int set_view(struct options *o, const char *text)
{
    o->view = text;
    return *text ? CONTINUE : message(EXIT_USAGE, "--view: an empty name");
}

static int set_record(struct options *o, const char *text)
{
    o->record = text;
    return *text ? CONTINUE : message(EXIT_USAGE, "--record: an empty name");
}

static int set_record_buffer(struct options *o, const char *text)
{
    long long megabytes;
    if (!read_integer(text, 1, 4096, &megabytes))
        return message(EXIT_USAGE, "--record-buffer %s: not a number of megabytes in 1..4096", text);
    o->record_bytes = (size_t)megabytes << 20;
    return CONTINUE;
}

static int set_tables(struct options *o, const char *text)
{
    static const char *const name[] = {"none", "frames", "all"};
    for (int i = 0; i <= TABLES_ALL; i++) {
        if (strcmp(text, name[i]) != 0) continue;
        o->tables = (tables_wanted_t)i;
        return CONTINUE;
    }
    return message(EXIT_USAGE, "--tables %s: not none, frames or all", text);
}

static int set_export(struct options *o, const char *text)
{
    const unsigned what = strcmp(text, "mcap") == 0 ? EXPORT_MCAP : strcmp(text, "csv") == 0 ? EXPORT_CSV : 0;
    o->exports |= what;
    return what ? CONTINUE : message(EXIT_USAGE, "--export %s: not mcap or csv", text);
}

/** Files of maps: with keyframes, unless --set map=0 comes later. */
static int set_map_load(struct options *o, const char *text)
{
    o->map_load = text;
    return *text ? set_tuning(o, "map=1") : message(EXIT_USAGE, "--map-load: an empty name");
}

static int set_map_save(struct options *o, const char *text)
{
    o->map_save = text;
    return *text ? set_tuning(o, "map=1") : message(EXIT_USAGE, "--map-save: an empty name");
}

static int set_fault(struct options *o, const char *text)
{
    if (strcmp(text, "help") == 0) return list_faults();
    o->fault = text;
    return *text ? CONTINUE : message(EXIT_USAGE, "--fault: an empty name");
}

static overlay_what_t overlay_layer(const char *text)
{
    static const char *const name[] = {"tracks", "keypoints", "depth",     "matches",
                                       "motion", "stixels",   "disparity", "all"};
    static const overlay_what_t what[] = {OVERLAY_TRACKS, OVERLAY_KEYPOINTS, OVERLAY_DEPTHS,    OVERLAY_MATCHES,
                                          OVERLAY_MOTION, OVERLAY_STIXELS,   OVERLAY_DISPARITY, OVERLAY_ALL};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (strcmp(text, name[i]) == 0) return what[i];
    return (overlay_what_t)0;
}

/** --overlay with an optional value: the next word is a value only if it names a layer. A data set of such a name is
 *  given as ./tracks. */
static int set_overlay(struct options *o, char **word, int *at)
{
    const char *text = word[*at] + strlen("--overlay");
    if (*text == '=') {
        o->overlay = overlay_layer(text + 1);
        return o->overlay
                   ? CONTINUE
                   : message(EXIT_USAGE,
                             "--overlay=%s: not tracks, keypoints, depth, matches, motion, stixels, disparity or all",
                             text + 1);
    }
    o->overlay = word[*at + 1] ? overlay_layer(word[*at + 1]) : (overlay_what_t)0;
    if (o->overlay)
        ++*at;
    else
        o->overlay = OVERLAY_ALL;
    return CONTINUE;
}

/** Option without a value. */
static int set_flag(struct options *o, const char *name)
{
    const struct {
        const char *name;
        int *flag;
    } known[] = {{"--mono", &o->mono}, {"--no-gyro", &o->no_gyro}, {"--pairs", &o->pairs}, {"--quiet", &o->quiet}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) != 0) continue;
        *known[i].flag = 1;
        return CONTINUE;
    }
    if (strcmp(name, "--features-only") == 0) return set_tuning(o, "track_target=0");
    if (strcmp(name, "--state-only") == 0) return set_state_step(o);
    if (strcmp(name, "--failover") == 0) return set_tuning(o, "failover=1");
    if (strcmp(name, "--help") != 0) return message(EXIT_USAGE, "%s: no such option; --help lists them", name);
    fputs(help, stdout);
    fputs(help_options, stdout);
    putchar('\n');
    list_tuning();
    return EXIT_DONE;
}

/** One option, as --name value or --name=value. Advances `at` over its value. */
static int read_option(struct options *o, char **word, int *at)
{
    static const struct {
        const char *name;
        int (*set)(struct options *o, const char *text);
    } known[] = {{"--out", set_out},
                 {"--frames", set_frames},
                 {"--port", set_port},
                 {"--set", set_tuning},
                 {"--calibration", set_calibration},
                 {"--truth", set_truth},
                 {"--fault", set_fault},
                 {"--view", set_view},
                 {"--record", set_record},
                 {"--record-buffer", set_record_buffer},
                 {"--export", set_export},
                 {"--map-load", set_map_load},
                 {"--map-save", set_map_save},
                 {"--render", set_render},
                 {"--tables", set_tables}};
    const char *text = word[*at];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t length = strlen(known[i].name);
        if (strncmp(text, known[i].name, length) != 0) continue;
        if (text[length] == '=') return known[i].set(o, text + length + 1);
        if (text[length]) continue;
        if (!word[*at + 1]) return message(EXIT_USAGE, "%s: a value is missing", text);
        return known[i].set(o, word[++*at]);
    }
    const size_t length = strlen("--overlay");
    if (strncmp(text, "--overlay", length) == 0 && (!text[length] || text[length] == '='))
        return set_overlay(o, word, at);
    return set_flag(o, text);
}

int options_sets(const struct options *o, const char *name)
{
    const vfront_tuning_entry_t *e;
    for (size_t i = 0; i < OPTIONS_TUNINGS && (e = vfront_tuning_entry(i)) != NULL; i++)
        if (strcmp(e->name, name) == 0) return o->set[i].given;
    return 0;
}

void options_show_all(struct options *o)
{
    const int depth = !o->mono && !o->calibration;
    const struct {
        const char *name;
        int32_t value;
        int is_possible;
    } shown[] = {{"dense", VFRONT_DENSE_COPIED, depth},
                 {"stixel", 1, depth},
                 {"stixel_model", VFRONT_STIXEL_DRONE, depth},
                 {"stixel_width_px", 8, depth},
                 {"map", 1, o->tuning.track_target && o->tuning.describe && o->tuning.ego}};
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
        if (shown[i].is_possible && !options_sets(o, shown[i].name))
            vfront_tuning_set(&o->tuning, shown[i].name, shown[i].value);
}

/** Tuning without all that joins one frame to the next. */
static void take_singly(struct options *o)
{
    o->no_gyro = 1;
    o->tuning.track_target = o->tuning.match = o->tuning.ego = o->tuning.vio = 0;
}

void options_take_tuning(struct options *o, const vfront_tuning_t *recorded)
{
    const vfront_tuning_entry_t *e;
    o->tuning = *recorded;
    for (size_t i = 0; i < OPTIONS_TUNINGS && (e = vfront_tuning_entry(i)) != NULL; i++)
        if (o->set[i].given) vfront_tuning_set(&o->tuning, e->name, o->set[i].value);
    o->vio_given = 1;
    if (o->pairs) take_singly(o);
}

const char *options_another_run(const struct options *o)
{
    static const char *const where[] = {"deadline_us",       "abandon_us", "abandon_init_ms", "wait", "failover",
                                        "failover_overruns", "device",     "priority"}; /* change no bit */
    for (size_t i = 0; i < OPTIONS_TUNINGS; i++) {
        int harmless = !o->set[i].given;
        for (size_t k = 0; k < sizeof where / sizeof *where; k++)
            harmless |= strcmp(vfront_tuning_entry(i)->name, where[k]) == 0;
        if (!harmless) return vfront_tuning_entry(i)->name;
    }
    return o->mono          ? "--mono"
           : o->no_gyro     ? "--no-gyro"
           : o->pairs       ? "--pairs"
           : o->fault       ? "--fault"
           : o->calibration ? "--calibration"
           : o->map_load    ? "--map-load"
                            : NULL;
}

int options_read(struct options *o, int count, char **word)
{
    memset(o, 0, sizeof *o);
    o->record_bytes = RECORDER_BUFFER_BYTES;
    vfront_tuning_default(&o->tuning);
    o->render = course_standard;
    for (int at = 1; at < count; at++) {
        if (word[at][0] == '-') {
            const int code = read_option(o, word, &at);
            if (code != CONTINUE) return code;
        } else if (o->dataset) {
            return message(EXIT_USAGE, "%s: one DATASET only, there is %s already", word[at], o->dataset);
        } else {
            o->dataset = word[at];
        }
    }
    if (!o->dataset) {
        o->dataset = "synthetic@470"; /* from there on the ground is seen in every frame */
        o->first_run = 1;
    }
    if (o->pairs) take_singly(o);
    if (o->overlay && !o->out) return message(EXIT_USAGE, "--overlay needs --out DIR");
    if ((o->map_load || o->map_save) && (o->pairs || !o->tuning.map))
        return message(EXIT_USAGE, "%s needs keyframes: neither --pairs nor --set map=0",
                       o->map_load ? "--map-load" : "--map-save");
    if (o->map_load && o->record)
        return message(EXIT_USAGE, "--map-load: recordings do not hold maps: not with --record");
    if (o->exports && !o->out) return message(EXIT_USAGE, "--export needs --out DIR");
    return CONTINUE;
}
