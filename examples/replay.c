/* SPDX-License-Identifier: MIT
 *
 * replay: runs the front end over a sequence and says how it fared; with --out it writes down everything that was found.
 */
#define _POSIX_C_SOURCE 200809L /* isatty, clock_gettime */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "calibration.h"
#include "dataset.h"
#include "disparity.h"
#include "motion.h"
#include "overlay.h"
#include "picture.h"
#include "plot.h"
#include "record.h"
#include "rectified.h"

enum { DONE = 0, FAILED = 1, USAGE = 2, GO_ON = -1 }; /* exit codes, and none yet */

#define WIPE "\r\033[K"              /* takes the progress line off a terminal */
#define DISPARITY_FOLDER "disparity" /* in that of --out */
#define ENDLESS_FRAMES 60            /* taken of a data set without an end when --frames says nothing */

static const char help[] =
    "usage: replay [options] [DATASET]\n"
    "\n"
    "Runs vfront over a sequence of pictures and prints how it fared.\n"
    "\n"
    "DATASET is found out by looking:\n"
    "  synthetic         a stereo flight with gyro that replay draws itself, 60 frames unless --frames says "
    "otherwise;\n"
    "                    synthetic:640x400 for another size. This is the default\n"
    "  EuRoC / ASL       a folder with mav0, or mav0: cam0, cam1, imu0 with data.csv and sensor.yaml\n"
    "  KITTI odometry    a folder with image_0, and image_1, calib.txt, times.txt where they are there\n"
    "  a plain folder    of PNG, PGM or PPM pictures in the order of their names; 30 Hz unless there is a times.txt\n"
    "\n"
    "options:\n"
    "  --out DIR         write tracks.csv, keypoints.csv, descriptors.csv, depth.csv, matches.csv, health.csv, "
    "timing.csv and\n"
    "                    digest.txt into DIR, which is made; descriptors.csv and matches.csv only where key points "
    "are\n"
    "                    described, depth.csv only where two cameras are calibrated as well. Where camera 0 is "
    "calibrated\n"
    "                    also motion.csv, the path that the motions make as trajectory.txt (TUM), trajectory_kitti.txt "
    "and\n"
    "                    path.svg, and truth.txt where there is ground truth; with --set stixel=1 stixels.csv, "
    "road.csv\n"
    "                    and obstacles.csv; with --set dense=1 a picture of each frame in DIR/disparity: grey of 16 "
    "bits, the\n"
    "                    disparity of a pixel times 256 [px], 0 for none, as KITTI has it\n"
    "  --overlay[=WHAT]  with --out: the pictures of all cameras with what was found drawn over them, in DIR/overlay.\n"
    "                    WHAT is tracks, keypoints, depth, matches, motion, stixels, disparity or all, the default, "
    "which\n"
    "                    leaves stixels and disparity out. disparity is drawn beside camera 0, in the place of camera "
    "1.\n"
    "                    With --set rectify=1 the pictures are the rectified ones\n"
    "  --features-only   key points only, nothing is tracked: the same as --set track_target=0\n"
    "  --calibration=FILE\n"
    "                    what the cameras are, instead of what comes with the data set: a Kalibr camchain, a KITTI "
    "calib.txt,\n"
    "                    or EuRoC's sensor.yaml: of camera 0, or of camera 0, camera 1 and the IMU with commas "
    "between;\n"
    "                    none: as if there were no calibration\n"
    "  --truth=FILE      where camera 0 was, instead of what comes with the data set (KITTI's poses.txt, "
    "groundtruth.txt,\n"
    "                    EuRoC's state_groundtruth_estimate0): lines of 12 numbers as KITTI has them, of 8 as TUM has "
    "them,\n"
    "                    or EuRoC's data.csv of the body; none: as if there were none\n"
    "  --frames N        stop after N frames\n"
    "  --port WHICH      auto, host or cuda; auto takes cuda where a GPU can be used\n"
    "  --set NAME=VALUE  a tuning value; any number of times. --set help lists them all\n"
    "  --mono            camera 0 only\n"
    "  --no-gyro         no gyro readings\n"
    "  --quiet           no progress line\n"
    "  --help            this, and the tuning values\n"
    "\n"
    "exit code: 0 done, 1 data, disk or library failed, 2 wrong usage\n";

struct options {
    const char *dataset, *out, *calibration, *truth;
    vfront_port_t port;
    uint32_t frames;        /* 0: all */
    overlay_what_t overlay; /* 0: none */
    int mono, no_gyro, quiet;
    vfront_tuning_t tuning;
};

/** What the summary needs of every frame. */
struct moment {
    float step_us, device_us, stage_us[VFRONT_STAGES];
};

/** Depths are counted by the upper bits of the number, which are good to 0.2 %: as many as there are, in fixed memory. */
#define DEPTH_SHIFT 14
#define DEPTH_BINS (1u << (31 - DEPTH_SHIFT))

/** Sums over the frames so far. */
struct totals {
    uint64_t frames, alive, age, lived, born, ended[VFRONT_ENDS], overflow, gaps, overruns, quality;
    uint64_t keypoints[VFRONT_CAMERAS], dropped[VFRONT_CAMERAS], descriptors[VFRONT_CAMERAS], state[4], digest;
    uint64_t depths, matches, disparities, pixels, road[4], stixels, crowded;
    uint32_t quality_least;
    struct moment *moment;
    size_t room;
    uint32_t depth_bin[DEPTH_BINS];
};

static vfront_t vf;

__attribute__((format(printf, 2, 3))) static int complain(int code, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    fputs(isatty(STDERR_FILENO) ? WIPE "replay: " : "replay: ", stderr);
    vfprintf(stderr, format, list);
    fputc('\n', stderr);
    va_end(list);
    return code;
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

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

/** A whole number and nothing else. */
static int read_whole(const char *text, long long least, long long most, long long *number)
{
    char *end;
    errno = 0;
    *number = strtoll(text, &end, 10);
    return end != text && !*end && !errno && *number >= least && *number <= most;
}

/** How many letters differ: insertions, deletions, exchanges. */
static int distance(const char *a, const char *b)
{
    enum { MOST = 63 };
    int row[MOST + 1];
    const int length = (int)strlen(b) < MOST ? (int)strlen(b) : MOST;
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

/** Names that were perhaps meant: a few letters off, or with the given word in them. */
static int complain_of_name(const char *name)
{
    const vfront_tuning_entry_t *e;
    char near[512] = "";
    size_t used = 0;
    for (size_t i = 0; (e = vfront_tuning_entry(i)) != NULL && used < sizeof near; i++)
        if (distance(name, e->name) <= 3 || (*name && strstr(e->name, name)))
            used += (size_t)snprintf(near + used, sizeof near - used, "%s %s", used ? "," : "; near:", e->name);
    return complain(USAGE, "--set %s: no such tuning value%s; --set help lists them all", name, near);
}

static int set_tuning(struct options *o, const char *text)
{
    const vfront_tuning_entry_t *e = NULL;
    const char *equals = strchr(text, '=');
    char name[64];
    long long value;
    if (strcmp(text, "help") == 0) {
        list_tuning();
        return DONE;
    }
    if (!equals) return complain(USAGE, "--set %s: not NAME=VALUE", text);
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    for (size_t i = 0; (e = vfront_tuning_entry(i)) != NULL && strcmp(e->name, name) != 0;) i++;
    if (!e) return complain_of_name(name);
    if (!e->most && strcmp(equals + 1, "0") != 0)
        return complain(USAGE, "--set %s: this build has none of it: vfront_cfg.h says how it gets it", text);
    if (!read_whole(equals + 1, e->least, e->most, &value))
        return complain(USAGE, "--set %s: not a whole number in %" PRId32 "..%" PRId32, text, e->least, e->most);
    vfront_tuning_set(&o->tuning, name, (int32_t)value);
    return GO_ON;
}

static int set_port(struct options *o, const char *text)
{
    static const char *const name[] = {"auto", "cuda", "host"};
    static const vfront_port_t port[] = {VFRONT_PORT_AUTO, VFRONT_PORT_CUDA, VFRONT_PORT_HOST};
    for (size_t i = 0; i < 3; i++) {
        if (strcmp(text, name[i]) != 0) continue;
        o->port = port[i];
        return GO_ON;
    }
    return complain(USAGE, "--port %s: not auto, host or cuda", text);
}

static int set_frames(struct options *o, const char *text)
{
    long long number;
    if (!read_whole(text, 1, UINT32_MAX, &number)) return complain(USAGE, "--frames %s: not a number from 1 on", text);
    o->frames = (uint32_t)number;
    return GO_ON;
}

static int set_out(struct options *o, const char *text)
{
    o->out = text;
    return *text ? GO_ON : complain(USAGE, "--out: an empty name");
}

static int set_calibration(struct options *o, const char *text)
{
    o->calibration = text;
    return *text ? GO_ON : complain(USAGE, "--calibration: an empty name");
}

static int set_truth(struct options *o, const char *text)
{
    o->truth = text;
    return *text ? GO_ON : complain(USAGE, "--truth: an empty name");
}

static overlay_what_t overlay_named(const char *text)
{
    static const char *const name[] = {"tracks", "keypoints", "depth",     "matches",
                                       "motion", "stixels",   "disparity", "all"};
    static const overlay_what_t what[] = {OVERLAY_TRACKS, OVERLAY_KEYPOINTS, OVERLAY_DEPTHS,    OVERLAY_MATCHES,
                                          OVERLAY_MOTION, OVERLAY_STIXELS,   OVERLAY_DISPARITY, OVERLAY_ALL};
    for (size_t i = 0; i < sizeof name / sizeof *name; i++)
        if (strcmp(text, name[i]) == 0) return what[i];
    return (overlay_what_t)0;
}

/** The value may be left out, so the next word is one only if it reads like one; a folder of that name is given as ./tracks. */
static int set_overlay(struct options *o, char **word, int *at)
{
    const char *text = word[*at] + strlen("--overlay");
    if (*text == '=') {
        o->overlay = overlay_named(text + 1);
        return o->overlay
                   ? GO_ON
                   : complain(USAGE,
                              "--overlay=%s: not tracks, keypoints, depth, matches, motion, stixels, disparity or all",
                              text + 1);
    }
    o->overlay = word[*at + 1] ? overlay_named(word[*at + 1]) : (overlay_what_t)0;
    if (o->overlay)
        ++*at;
    else
        o->overlay = OVERLAY_ALL;
    return GO_ON;
}

/** Options without a value. */
static int set_flag(struct options *o, const char *name)
{
    const struct {
        const char *name;
        int *flag;
    } known[] = {{"--mono", &o->mono}, {"--no-gyro", &o->no_gyro}, {"--quiet", &o->quiet}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) != 0) continue;
        *known[i].flag = 1;
        return GO_ON;
    }
    if (strcmp(name, "--features-only") == 0) return set_tuning(o, "track_target=0");
    if (strcmp(name, "--help") != 0) return complain(USAGE, "%s: no such option; --help lists them", name);
    fputs(help, stdout);
    putchar('\n');
    list_tuning();
    return DONE;
}

/** One option; --name value and --name=value mean the same. Takes as many words as it needs. */
static int read_option(struct options *o, char **word, int *at)
{
    static const struct {
        const char *name;
        int (*set)(struct options *o, const char *text);
    } known[] = {{"--out", set_out},    {"--frames", set_frames},           {"--port", set_port},
                 {"--set", set_tuning}, {"--calibration", set_calibration}, {"--truth", set_truth}};
    const char *text = word[*at];
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        const size_t length = strlen(known[i].name);
        if (strncmp(text, known[i].name, length) != 0) continue;
        if (text[length] == '=') return known[i].set(o, text + length + 1);
        if (text[length]) continue;
        if (!word[*at + 1]) return complain(USAGE, "%s: a value is missing", text);
        return known[i].set(o, word[++*at]);
    }
    const size_t length = strlen("--overlay");
    if (strncmp(text, "--overlay", length) == 0 && (!text[length] || text[length] == '='))
        return set_overlay(o, word, at);
    return set_flag(o, text);
}

static int read_options(struct options *o, int count, char **word)
{
    memset(o, 0, sizeof *o);
    vfront_tuning_default(&o->tuning);
    for (int at = 1; at < count; at++) {
        if (word[at][0] == '-') {
            const int code = read_option(o, word, &at);
            if (code != GO_ON) return code;
        } else if (o->dataset) {
            return complain(USAGE, "%s: one DATASET only, there is %s already", word[at], o->dataset);
        } else {
            o->dataset = word[at];
        }
    }
    if (!o->dataset) o->dataset = "synthetic";
    if (o->overlay && !o->out) return complain(USAGE, "--overlay needs --out DIR");
    return GO_ON;
}

/* ---- what there is to be had ------------------------------------------------------------------------------------- */

static int described(const struct options *o) { return VFRONT_DESCRIPTORS && o->tuning.describe; }

static int matched(const struct options *o) { return VFRONT_MATCHES && o->tuning.match && described(o); }

/** Whether depths are wanted, if they can be had. */
static int depths_wanted(const struct options *o) { return VFRONT_STEREO && o->tuning.stereo && described(o); }

/** Why there can be no depths; NULL: there can. */
static const char *why_no_depth(const struct options *o, const vfront_rig_t *rig)
{
    if (!VFRONT_STEREO) return "this build has no VFRONT_STEREO";
    if (rig->cameras < 2) return "there is one camera";
    if (!depths_wanted(o)) return o->tuning.stereo ? "describe is 0" : "stereo is 0";
    if (rig->camera[0].fx_px == 0.0) return "camera 0 is not calibrated";
    if (rig->camera[rig->cameras - 1].fx_px == 0.0) return "camera 1 is not calibrated";
    return calibration_baseline_m(rig) > 1e-12 ? NULL : "the calibration does not put the cameras in different places";
}

static void warn_of_depth(const struct options *o, const vfront_rig_t *rig)
{
    const char *why = why_no_depth(o, rig);
    if (why && (o->overlay == OVERLAY_DEPTHS || (rig->cameras > 1 && depths_wanted(o))))
        complain(GO_ON, "no depth: %s", why);
}

/** Why there can be no motion; NULL: there can. */
static const char *why_no_motion(const struct options *o, const vfront_rig_t *rig)
{
    if (!VFRONT_EGO) return "this build has no VFRONT_EGO";
    if (!o->tuning.ego) return "ego is 0";
    return rig->camera[0].fx_px == 0.0 ? "camera 0 is not calibrated" : NULL;
}

static void warn_of_motion(const struct options *o, const vfront_rig_t *rig)
{
    const char *why = why_no_motion(o, rig);
    if (why && (o->overlay == OVERLAY_MOTION || o->truth)) complain(GO_ON, "no motion: %s", why);
}

/** Whether motions come in metres. */
static int metric(const struct options *o, const vfront_rig_t *rig)
{
    return !why_no_motion(o, rig) && !why_no_depth(o, rig) && matched(o) && o->tuning.ego_matches &&
           o->tuning.ego_metric_hypotheses;
}

/** Why there are no disparities on the host; NULL: there are. */
static const char *why_no_disparities(const struct options *o)
{
    if (!VFRONT_DENSE) return "this build has no VFRONT_DENSE";
    if (!o->tuning.dense) return "dense is 0";
    return o->tuning.dense_copy ? NULL : "dense_copy is 0";
}

/** Why there are no stixels; NULL: there are. */
static const char *why_no_stixels(const struct options *o)
{
    if (!VFRONT_STIXELS) return "this build has no VFRONT_STIXELS";
    return o->tuning.stixel ? NULL : "stixel is 0";
}

/** RECORD_... */
static unsigned what_to_record(const struct options *o, dataset_t *d)
{
    const vfront_rig_t *rig = dataset_rig(d);
    return (described(o) ? RECORD_DESCRIPTORS : 0u) | (why_no_depth(o, rig) ? 0u : RECORD_DEPTHS) |
           (matched(o) ? RECORD_MATCHES : 0u) | (why_no_motion(o, rig) ? 0u : RECORD_MOTION) |
           (dataset_has_truth(d) ? RECORD_TRUTH : 0u) | (why_no_stixels(o) ? 0u : RECORD_STIXELS);
}

/** Of all that can be drawn, what there is. */
static overlay_what_t what_to_draw(const struct options *o, const vfront_rig_t *rig)
{
    unsigned what = o->overlay;
    if (what != OVERLAY_ALL) return o->overlay;
    if (!o->tuning.track_target) what &= ~(unsigned)OVERLAY_TRACKS;
    if (!o->tuning.select_points) what &= OVERLAY_TRACKS | OVERLAY_MOTION;
    if (!matched(o)) what &= ~(unsigned)OVERLAY_MATCHES;
    if (why_no_depth(o, rig)) what &= ~(unsigned)OVERLAY_DEPTHS;
    if (why_no_motion(o, rig)) what &= ~(unsigned)OVERLAY_MOTION;
    return (overlay_what_t)what;
}

/* ---- summary ----------------------------------------------------------------------------------------------------- */

/** FNV-1a over the digests of all frames. */
static void take_digest(struct totals *t, uint64_t digest)
{
    if (!t->frames) t->digest = 0xcbf29ce484222325u;
    for (int i = 0; i < 8; i++) t->digest = (t->digest ^ (digest >> 8 * i & 255)) * 0x100000001b3u;
}

static int take_times(struct totals *t, const vfront_timing_t *timing)
{
    if (t->frames == t->room) {
        const size_t room = t->room ? 2 * t->room : 1024;
        struct moment *more = realloc(t->moment, room * sizeof *more);
        if (!more) return 0;
        t->moment = more;
        t->room = room;
    }
    struct moment *m = &t->moment[t->frames];
    m->step_us = timing->step_us;
    m->device_us = timing->device_us;
    memcpy(m->stage_us, timing->stage_us, sizeof m->stage_us);
    return 1;
}

static void take_depths(struct totals *t, const vfront_result_t *r)
{
    t->depths += r->depths_count;
#if VFRONT_STEREO
    for (uint32_t i = 0; i < r->depths_count; i++) {
        uint32_t bits;
        memcpy(&bits, &r->depths[i].depth_m, sizeof bits);
        t->depth_bin[(bits & 0x7fffffffu) >> DEPTH_SHIFT]++;
    }
#endif
}

static void take_world(struct totals *t, const vfront_result_t *r)
{
    (void)t;
    (void)r;
#if VFRONT_DENSE
    t->disparities += r->disparity.valid;
    t->pixels += (uint64_t)r->disparity.width_px * (uint64_t)r->disparity.height_px;
#endif
#if VFRONT_STIXELS
    t->road[r->road.state]++;
    t->crowded += r->columns_crowded;
    for (uint32_t i = 0; i < r->columns_count; i++) t->stixels += r->stixels_count[i];
#endif
}

static int take(struct totals *t, const vfront_result_t *r)
{
    const vfront_health_t *h = &r->health;
    if (!take_times(t, &r->timing)) return 0;
    take_digest(t, vfront_digest(r));
    take_depths(t, r);
    take_world(t, r);
    if (h->state != VFRONT_STARTING) { /* there was nothing to follow */
        if (!t->quality || h->quality < t->quality_least) t->quality_least = h->quality;
        t->quality += h->quality;
    }
    t->frames++;
    t->alive += r->tracks_count;
    t->born += h->born;
    t->overflow += h->overflow;
    t->gaps += h->gap;
    t->overruns += r->timing.overrun;
    t->matches += r->matches_count;
    if (h->state < 4) t->state[h->state]++;
    for (uint32_t i = 0; i < r->tracks_count; i++) t->age += r->tracks[i].age;
    for (uint32_t i = 0; i < r->lost_count; i++) t->lived += r->lost[i].age;
    for (int i = 1; i < VFRONT_ENDS; i++) t->ended[i] += h->ended[i];
    for (int i = 0; i < VFRONT_CAMERAS; i++) {
        t->keypoints[i] += r->keypoints_count[i];
        t->dropped[i] += h->dropped[i];
        t->descriptors[i] += r->descriptors_count[i];
    }
    return 1;
}

static double mean(uint64_t sum, uint64_t count) { return count ? (double)sum / (double)count : 0.0; }

static int compare_times(const void *a, const void *b)
{
    const float one = *(const float *)a, other = *(const float *)b;
    return (one > other) - (one < other);
}

/** The time that so many percent of the frames do not exceed. `column` is the place of a float in struct moment. */
static double percentile(const struct totals *t, size_t column, unsigned percent)
{
    float *sorted = malloc(t->frames * sizeof *sorted);
    if (!sorted) return 0.0;
    for (size_t i = 0; i < t->frames; i++) memcpy(&sorted[i], (const char *)&t->moment[i] + column, sizeof *sorted);
    qsort(sorted, t->frames, sizeof *sorted, compare_times);
    const size_t rank = (t->frames * percent + 99) / 100;
    const double time_us = (double)sorted[rank ? rank - 1 : 0];
    free(sorted);
    return time_us;
}

static void print_times(const struct totals *t)
{
    static const size_t column[] = {offsetof(struct moment, step_us), offsetof(struct moment, device_us)};
    static const char *const name[] = {"step", "device"};
    for (int i = 0; i < 2; i++)
        printf("%-12s p50 %.0f us, p99 %.0f us, max %.0f us\n", name[i], percentile(t, column[i], 50),
               percentile(t, column[i], 99), percentile(t, column[i], 100));
    printf("%-12s", "stages, p50");
    for (size_t i = 0; i < VFRONT_STAGES; i++)
        printf("%s %s %.0f us", i ? "," : "", vfront_stage_name(i),
               percentile(t, offsetof(struct moment, stage_us) + i * sizeof(float), 50));
    printf("\n%-12s %" PRIu64 "\n", "overruns", t->overruns);
}

/** What is known of a camera, in a word or two. */
static const char *lens_name(const vfront_camera_t *c)
{
    static const double none[8];
    if (c->fx_px == 0.0) return "not calibrated";
    if (c->lens == VFRONT_LENS_EQUIDISTANT) return "calibrated, equidistant";
    if (memcmp(c->distortion, none, sizeof none) == 0) return "calibrated, pinhole";
    return c->lens == VFRONT_LENS_RATIONAL ? "calibrated, rational" : "calibrated, radial-tangential";
}

static void print_rig(dataset_t *d, const struct options *o, const vfront_rig_t *rig)
{
    for (int32_t i = 0; i < rig->cameras; i++)
        printf("camera %-5" PRId32 " %" PRId32 "x%" PRId32 " px, %s\n", i, rig->camera[i].width_px,
               rig->camera[i].height_px, lens_name(&rig->camera[i]));
    const double baseline_m = calibration_baseline_m(rig);
    if (baseline_m > 0.0) printf("%-12s %.5f m\n", "baseline", baseline_m);
    printf("%-12s %s\n", "gyro", !dataset_has_gyro(d) ? "none" : o->no_gyro ? "not used" : "used");
}

static void print_tracks(const struct options *o, const struct totals *t)
{
    uint64_t ended = 0;
    if (!o->tuning.track_target) {
        printf("%-12s none wanted\n", "tracks");
        return;
    }
    for (int i = 1; i < VFRONT_ENDS; i++) ended += t->ended[i];
    printf("%-12s %.1f alive with an age of %.1f frames, in the mean\n", "tracks", mean(t->alive, t->frames),
           mean(t->age, t->alive));
    printf("%-12s %" PRIu64 " born, %" PRIu64 " ended after %.1f frames in the mean:", "", t->born, ended,
           mean(t->lived, ended));
    for (uint32_t i = 1; i < VFRONT_ENDS; i++)
        printf("%s %s %" PRIu64, i > 1 ? "," : "", record_end_name(i), t->ended[i]);
    putchar('\n');
}

/** Means over the frames. */
static void print_keypoints(const struct totals *t, const vfront_info_t *info, int32_t cameras)
{
    for (int32_t i = 0; i < cameras; i++) {
        printf("%-12s camera %" PRId32 ": %.1f in %" PRId32 " cells", i ? "" : "key points", i,
               mean(t->keypoints[i], t->frames), info->cells[i]);
        printf(", %.1f dropped, %.1f descriptors\n", mean(t->dropped[i], t->frames),
               mean(t->descriptors[i], t->frames));
    }
}

/** The depth that half of all do not exceed, over all frames. */
static double median_depth_m(const struct totals *t)
{
    uint64_t sum = 0;
    uint32_t bin = 0;
    while (bin < DEPTH_BINS - 1 && (sum += t->depth_bin[bin]) * 2 < t->depths) bin++;
    const uint32_t bits = bin << DEPTH_SHIFT | 1u << (DEPTH_SHIFT - 1); /* the middle of the bin */
    float depth_m;
    memcpy(&depth_m, &bits, sizeof depth_m);
    return (double)depth_m;
}

/** Means over the frames. */
static void print_partners(const struct options *o, const struct totals *t, const vfront_rig_t *rig)
{
    const char *why = why_no_depth(o, rig);
    printf("%-12s ", "partners");
    if (why)
        printf("no depths: %s", why);
    else
        printf("%.1f depths", mean(t->depths, t->frames));
    if (t->depths) printf(" with a median of %.3g m", median_depth_m(t));
    if (matched(o))
        printf("; %.1f matches\n", mean(t->matches, t->frames));
    else
        puts("; no matches");
}

static void print_motion(const struct options *o, const vfront_rig_t *rig, const motion_t *motion)
{
    const char *why = why_no_motion(o, rig);
    if (why)
        printf("%-12s none: %s\n", "motion", why);
    else
        motion_print(motion);
}

/** Where disparities and stixels are switched on. */
static void print_world(const struct options *o, const struct totals *t)
{
    if (VFRONT_DENSE && o->tuning.dense)
        printf("%-12s %.1f %% of the pixels, in the mean\n", "disparity", 100.0 * mean(t->disparities, t->pixels));
    if (why_no_stixels(o)) return;
    printf("%-12s seen %" PRIu64 ", held %" PRIu64 ", given %" PRIu64 ", none %" PRIu64
           "; %.1f stixels, %.1f columns crowded\n",
           "road", t->road[VFRONT_ROAD_SEEN], t->road[VFRONT_ROAD_HELD], t->road[VFRONT_ROAD_GIVEN],
           t->road[VFRONT_ROAD_NONE], mean(t->stixels, t->frames), mean(t->crowded, t->frames));
}

static void print_summary(const struct options *o, dataset_t *d, const struct totals *t, const motion_t *motion)
{
    vfront_info_t info;
    const vfront_rig_t *rig = dataset_rig(d);
    vfront_info(&vf, &info);
    printf("%-12s %s (%s), %" PRIu64 " frames\n", "dataset", o->dataset, dataset_kind(d), t->frames);
    print_rig(d, o, rig);
    printf("%-12s %s: %s\n", "port", info.port == VFRONT_PORT_CUDA ? "cuda" : "host", info.device);
    printf("%-12s %" PRId32 " for tracks, %" PRId32 " for key points\n", "levels", info.levels, info.scales);
    print_tracks(o, t);
    print_keypoints(t, &info, rig->cameras);
    print_partners(o, t, rig);
    print_motion(o, rig, motion);
    print_world(o, t);
    printf("%-12s", "health");
    for (uint32_t i = 0; i < 4; i++) printf(" %s %" PRIu64 ",", record_state_name(i), t->state[i]);
    printf(" gaps %" PRIu64 "; quality %.1f, least %" PRIu32 "\n", t->gaps,
           mean(t->quality, t->frames - t->state[VFRONT_STARTING]), t->quality_least);
    print_times(t);
    printf("%-12s host %.1f MB, pinned %.1f MB, device %.1f MB\n", "memory", (double)info.host_bytes * 1e-6,
           (double)info.pinned_bytes * 1e-6, (double)info.device_bytes * 1e-6);
    printf("%-12s %016" PRIx64 "\n", "digest", t->digest);
}

/* ---- the run ----------------------------------------------------------------------------------------------------- */

/** Everything that a run opens. */
struct run {
    const struct options *options;
    dataset_t *dataset;
    record_t *record;
    overlay_t *overlay;
    overlay_what_t drawn;          /* on the overlay */
    rectified_t *rectified;        /* NULL: pictures are looked at as they are */
    const vfront_result_t *before; /* of the frame before; NULL: there is none */
    vfront_camera_t seen;          /* camera 0 as the results see it */
    motion_t motion;
    struct totals totals;
    uint32_t frames;
    double said_s; /* when the progress line was last written */
};

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/** A line on a terminal that is written over and over, and wiped out in the end. */
static void say_progress(struct run *run, const vfront_result_t *r)
{
    const double now = now_s();
    if (run->options->quiet || !isatty(STDERR_FILENO)) return;
    if (r && now - run->said_s < 0.1) return;
    run->said_s = now;
    if (r)
        fprintf(stderr,
                "\rframe %" PRIu64 " of %" PRIu32 ", %" PRIu32 " tracks, %" PRIu32 " key points, %.2f ms \033[K",
                r->frame + 1, run->frames, r->tracks_count, r->keypoints_count[0], (double)r->timing.step_us * 1e-3);
    else
        fputs(WIPE, stderr);
}

static size_t caption_motion(const char *which, const vfront_motion_t *m, char *line, size_t room)
{
    size_t used = 0;
    if (m->state == VFRONT_MOTION_NONE) return 0;
    used = (size_t)snprintf(line, room, "  %s %s %" PRIu32 " of %" PRIu32, which, motion_state_name(m->state),
                            m->inliers, m->pairs);
    for (uint32_t bit = 1; bit <= VFRONT_MOTION_ONE_GPU; bit <<= 1)
        if (m->flags & bit) used += (size_t)snprintf(line + used, room - used, " %s", motion_flag_name(bit));
    const double moved = sqrt((double)(m->t[0] * m->t[0] + m->t[1] * m->t[1] + m->t[2] * m->t[2]));
    if (m->state == VFRONT_MOTION_GOOD && strcmp(which, "metric") == 0)
        used += (size_t)snprintf(line + used, room - used, " moved %.3f m", moved);
    return used;
}

/** The line above a drawing: what of it is drawn. */
static void caption(const struct run *run, const vfront_result_t *r, char *line, size_t room)
{
    const vfront_health_t *h = &r->health;
    const overlay_what_t what = run->drawn;
    size_t used = (size_t)snprintf(line, room, "frame %" PRIu64 " %s", r->frame, record_state_name(h->state));
    if (what & OVERLAY_TRACKS)
        used += (size_t)snprintf(line + used, room - used, "  tracks %" PRIu32 " born %" PRIu32 " ended %" PRIu32,
                                 r->tracks_count, h->born, r->lost_count);
    if (what & OVERLAY_KEYPOINTS) used += (size_t)snprintf(line + used, room - used, "  key points");
    for (int32_t i = 0; i < dataset_rig(run->dataset)->cameras && what & OVERLAY_KEYPOINTS; i++)
        used += (size_t)snprintf(line + used, room - used, " %" PRIu32, r->keypoints_count[i]);
    if (what & OVERLAY_DEPTHS) used += (size_t)snprintf(line + used, room - used, "  depths %" PRIu32, r->depths_count);
#if VFRONT_DENSE
    const double pixels = (double)r->disparity.width_px * (double)r->disparity.height_px;
    if (what & OVERLAY_DISPARITY)
        used += (size_t)snprintf(line + used, room - used, "  disparity of %.1f percent",
                                 100.0 * r->disparity.valid / pixels);
#endif
#if VFRONT_STIXELS
    static const char *const road[] = {"none", "seen", "held", "given"};
    if (what & OVERLAY_STIXELS)
        used += (size_t)snprintf(line + used, room - used, "  road %s horizon %d", road[r->road.state],
                                 (int)r->road.horizon_px);
#endif
    if (what & OVERLAY_MATCHES)
        used += (size_t)snprintf(line + used, room - used, "  matches %" PRIu32, r->matches_count);
    if (what & OVERLAY_MOTION) used += caption_motion("relative", &r->relative, line + used, room - used);
    if (what & OVERLAY_MOTION) caption_motion("metric", &r->metric, line + used, room - used);
}

static const char *draw(struct run *run, const vfront_frame_t *frame, const vfront_result_t *r)
{
    char line[400], stem[4400];
    int32_t width, height;
    caption(run, r, line, sizeof line);
    snprintf(stem, sizeof stem, "%s/overlay/%06" PRIu64, run->options->out, r->frame);
    if (run->rectified) frame = rectified_frame(run->rectified, frame);
    const uint8_t *rgb = overlay_draw(run->overlay, frame, r, run->before, line);
    overlay_size(run->overlay, &width, &height);
    return picture_write(stem, rgb, width, height, 3);
}

#if VFRONT_DENSE
static const char *write_disparities(const struct run *run, const vfront_result_t *r)
{
    char folder[4400];
    if (!run->options->out || why_no_disparities(run->options)) return NULL;
    snprintf(folder, sizeof folder, "%s/" DISPARITY_FOLDER, run->options->out);
    return disparity_write(folder, r->frame, &r->disparity);
}
#else
static const char *write_disparities(const struct run *run, const vfront_result_t *r)
{
    (void)run;
    (void)r;
    return NULL;
}
#endif

static int take_motion(struct run *run, uint32_t index, const vfront_result_t *r)
{
    pose_t truth;
    const int known = dataset_truth(run->dataset, index, &run->seen, &truth);
    return motion_take(&run->motion, r, known ? &truth : NULL);
}

static int step(struct run *run, uint32_t index)
{
    vfront_frame_t frame;
    const vfront_result_t *result;
    const char *wrong = dataset_read(run->dataset, index, &frame);
    if (wrong) return complain(FAILED, "%s", wrong);
    if (run->options->no_gyro) frame.gyro_count = 0;
    const vfront_status_t status = vfront_step(&vf, &frame, &result);
    if (status)
        return complain(FAILED, "%s: frame %" PRIu32 ": vfront_step: %s: %s", run->options->dataset, index,
                        vfront_status_name(status), vfront_detail(&vf));
    if (!take(&run->totals, result)) return complain(FAILED, "no memory for the times of %" PRIu32 " frames", index);
    if (!take_motion(run, index, result))
        return complain(FAILED, "no memory for the path of %" PRIu32 " frames", index);
    if (run->record) wrong = record_frame(run->record, result, run->before, motion_last(&run->motion));
    if (!wrong) wrong = write_disparities(run, result);
    if (!wrong && run->overlay) wrong = draw(run, &frame, result);
    if (wrong) return complain(FAILED, "%s", wrong);
    run->before = result; /* holds until the frame after the next */
    say_progress(run, result);
    return GO_ON;
}

static int open_front_end(struct run *run)
{
    const struct options *o = run->options;
    const vfront_status_t status = vfront_init(&vf, dataset_rig(run->dataset), &o->tuning, o->port);
    if (!status) return GO_ON;
    return complain(status == VFRONT_E_TUNING ? USAGE : FAILED, "%s: vfront_init: %s: %s", o->dataset,
                    vfront_status_name(status), vfront_detail(&vf));
}

static const char *make_folder(const struct options *o, const char *name)
{
    char folder[4400];
    snprintf(folder, sizeof folder, "%s/%s", o->out, name);
    return record_folder(folder);
}

static const char *open_overlay(struct run *run)
{
    const vfront_rig_t *rig = dataset_rig(run->dataset);
    vfront_info_t info;
    const char *wrong = make_folder(run->options, "overlay");
    if (wrong) return wrong;
    vfront_info(&vf, &info);
    run->drawn = what_to_draw(run->options, rig);
    run->overlay = overlay_open(&info, rig->cameras, run->drawn, &run->options->tuning);
    if (info.rectified) run->rectified = rectified_open(rig, info.seen);
    return run->overlay && (run->rectified || !info.rectified) ? NULL : "no memory for overlays";
}

static int open_outputs(struct run *run)
{
    const struct options *o = run->options;
    const vfront_rig_t *rig = dataset_rig(run->dataset);
    vfront_info_t info;
    vfront_info(&vf, &info);
    run->seen = info.seen[0];
    motion_start(&run->motion, metric(o, rig), dataset_has_truth(run->dataset));
    warn_of_depth(o, rig);
    warn_of_motion(o, rig);
    if (o->overlay == OVERLAY_STIXELS && why_no_stixels(o)) complain(GO_ON, "no stixels: %s", why_no_stixels(o));
    if (o->overlay == OVERLAY_DISPARITY && why_no_disparities(o))
        complain(GO_ON, "no disparities: %s", why_no_disparities(o));
    if (!o->out) return GO_ON;
    const char *wrong = record_open(&run->record, o->out, rig->cameras, what_to_record(o, run->dataset));
    if (!wrong && !why_no_disparities(o)) wrong = make_folder(o, DISPARITY_FOLDER);
    if (!wrong && o->overlay) wrong = open_overlay(run);
    return wrong ? complain(FAILED, "%s", wrong) : GO_ON;
}

static int open_run(struct run *run)
{
    const struct options *o = run->options;
    const char *wrong = dataset_open(&run->dataset, o->dataset, o->mono ? 1 : VFRONT_CAMERAS, o->calibration, o->truth);
    if (wrong) return complain(FAILED, "%s", wrong);
    run->frames = dataset_frames(run->dataset);
    if (!run->frames) run->frames = o->frames ? o->frames : ENDLESS_FRAMES;
    if (o->frames && o->frames < run->frames) run->frames = o->frames;
    const int code = open_front_end(run);
    return code == GO_ON ? open_outputs(run) : code;
}

/** Closes what is open; the outputs so far stay. */
static int close_run(struct run *run, int code)
{
    const char *wrong = record_close(run->record);
    if (wrong && code == GO_ON) code = complain(FAILED, "%s", wrong);
    overlay_close(run->overlay);
    rectified_close(run->rectified);
    dataset_close(run->dataset);
    vfront_shutdown(&vf);
    trajectory_free(&run->motion.trajectory);
    free(run->totals.moment);
    if ((fflush(stdout) || ferror(stdout)) && code == GO_ON)
        code = complain(FAILED, "standard output: %s", strerror(errno));
    return code == GO_ON ? DONE : code;
}

/** The path, once all of it is there. */
static int draw_path(const struct run *run)
{
    const struct options *o = run->options;
    const motion_t *m = &run->motion;
    char path[4400], title[240];
    if (!o->out || why_no_motion(o, dataset_rig(run->dataset))) return GO_ON;
    snprintf(path, sizeof path, "%s/path.svg", o->out);
    snprintf(title, sizeof title, "%.80s (%s), %" PRIu64 " frames, %s", o->dataset, dataset_kind(run->dataset),
             run->totals.frames, m->trajectory.metric ? "two cameras" : "one camera");
    const char *wrong = plot_write(path, title, &m->trajectory, m->compared ? &m->accuracy : NULL);
    return wrong ? complain(FAILED, "%s", wrong) : GO_ON;
}

int main(int count, char **word)
{
    struct options options;
    static struct run run;
    run.options = &options;
    int code = read_options(&options, count, word);
    if (code == GO_ON) code = open_run(&run);
    for (uint32_t i = 0; i < run.frames && code == GO_ON; i++) code = step(&run, i);
    if (run.totals.frames) {
        say_progress(&run, NULL);
        motion_finish(&run.motion);
        print_summary(&options, run.dataset, &run.totals, &run.motion);
        const int drawn = draw_path(&run);
        if (code == GO_ON) code = drawn;
    }
    return close_run(&run, code);
}
