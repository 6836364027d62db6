/* SPDX-License-Identifier: MIT
 *
 * hil-bench: plays a data set, a recording or the rendered flight to hil-board, and judges what comes back.
 * examples/hil/README.md has the options.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "examples/common/message.h"
#include "examples/common/tuning_names.h"
#include "junit.h"
#include "loop_rules.h"
#include "paced.h"
#include "rules.h"

#define DEGREES 57.29577951308232 /* of a radian */

static const char help[] =
    "usage: hil-bench [options] [DATASET]\n"
    "\n"
    "Plays DATASET, as replay takes it (synthetic, a recording, EuRoC, KITTI, a folder), to hil-board.\n"
    "\n"
    "options:\n"
    "  --board HOST:PORT   where hil-board waits, 127.0.0.1:14600 without it\n"
    "  --datagrams         frames over UDP, to the same address and port; what is lost is sent again\n"
    "  --line LINK         samples of the IMU and MAVLink over udp:HOST:PORT:LOCAL or serial:DEVICE:BAUD, as between\n"
    "                      autopilot and companion; the board has --line, too\n"
    "  --paced             frames at the times of their stamps: latency and deadlines; without it lock step: every\n"
    "                      result must have the digests of this computer's\n"
    "  --faults            the table of faults on the rendered flight, each in lock step, with pass rules\n"
    "  --fly               closed loop: a quadrotor that flies on the board's ODOMETRY alone, under each fault of a\n"
    "                      table for 20 s, with pass rules; needs no DATASET\n"
    "  --seconds N         with --fly: length of the faults\n"
    "  --draw FILE         with --fly: the last flight as SVG\n"
    "  --size WxH          with --fly: pictures, 192x144 without it\n"
    "  --real-time         with --fly: as time passes; messages take as long as the board takes\n"
    "  --only TEXT         with --faults, --fly: rows whose name has TEXT\n"
    "  --row NAME          with --faults, --fly: the row of that name\n"
    "  --list              with --faults, --fly: names of the rows, and no more\n"
    "  --fault FILE        put the faults of a script in, those of link and board among them\n"
    "  --frames N          stop after N frames, 60 of an endless data set without it\n"
    "  --set NAME=VALUE    set a tuning value; repeatable\n"
    "  --port WHICH        auto, host or cuda, on this computer\n"
    "  --junit FILE        results for a CI\n"
    "  --help              print this help\n"
    "\n"
    "exit code: 0 passed, 1 a rule, a digest or the connection failed, 2 wrong usage\n";

struct bench {
    const char *board, *dataset, *fault, *junit, *only, *row, *draw;
    session_transports_t transports;
    int paced, faults, fly, real_time, list, failover;
    uint32_t skipped; /* rows of --faults that this board cannot have */
    uint32_t frames, seconds;
    int32_t width_px, height_px;
    vfront_port_t port;
    vfront_tuning_t tuning;
    junit_t results;
};

/* ---- options ----------------------------------------------------------------------------------------------------- */

static int set_tuning(struct bench *b, const char *text)
{
    char name[64], *end;
    const char *equals = strchr(text, '=');
    if (!equals) return message(EXIT_USAGE, "--set %s: not NAME=VALUE", text);
    snprintf(name, sizeof name, "%.*s", (int)(equals - text), text);
    const long value = strtol(equals + 1, &end, 10);
    if (!equals[1] || *end || vfront_tuning_set(&b->tuning, name, (int32_t)value)) {
        if (tuning_names_answer(name)) return message(EXIT_USAGE, "--set: %s", tuning_names_answer(name));
        return message(EXIT_USAGE, "--set %s: no such tuning value, or out of its range; replay --set help has all",
                       text);
    }
    return CONTINUE;
}

static int set_port(struct bench *b, const char *text)
{
    static const char *const name[] = {"auto", "cuda", "host"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, name[i]) != 0) continue;
        b->port = (vfront_port_t)i;
        return CONTINUE;
    }
    return message(EXIT_USAGE, "--port %s: not auto, host or cuda", text);
}

static int set_number(uint32_t *to, const char *name, const char *text, long max)
{
    char *end;
    const long value = strtol(text, &end, 10);
    if (value < 1 || *end || value > max)
        return message(EXIT_USAGE, "%s %s: not a number from 1 to %ld", name, text, max);
    *to = (uint32_t)value;
    return CONTINUE;
}

static int set_size(struct bench *b, const char *text)
{
    char rest;
    if (sscanf(text, "%" SCNd32 "x%" SCNd32 "%c", &b->width_px, &b->height_px, &rest) == 2 && b->width_px >= 64 &&
        b->height_px >= 48 && b->width_px <= VFRONT_WIDTH && b->height_px <= VFRONT_HEIGHT)
        return CONTINUE;
    return message(EXIT_USAGE, "--size %s: not WIDTHxHEIGHT of 64x48 to %dx%d", text, VFRONT_WIDTH, VFRONT_HEIGHT);
}

static int read_value(struct bench *b, const char *name, const char *value)
{
    const struct {
        const char *name, **to;
    } known[] = {{"--board", &b->board}, {"--fault", &b->fault}, {"--junit", &b->junit},         {"--only", &b->only},
                 {"--row", &b->row},     {"--draw", &b->draw},   {"--line", &b->transports.line}};
    if (!value) return message(EXIT_USAGE, "%s: a value is missing, or no such option; --help lists them", name);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) != 0) continue;
        *known[i].to = value;
        return CONTINUE;
    }
    if (strcmp(name, "--set") == 0) return set_tuning(b, value);
    if (strcmp(name, "--port") == 0) return set_port(b, value);
    if (strcmp(name, "--frames") == 0) return set_number(&b->frames, name, value, 100000000);
    if (strcmp(name, "--seconds") == 0) return set_number(&b->seconds, name, value, 3600);
    if (strcmp(name, "--size") == 0) return set_size(b, value);
    return message(EXIT_USAGE, "%s: no such option; --help lists them", name);
}

static int read_options(struct bench *b, int count, char **word)
{
    b->board = "127.0.0.1:14600";
    vfront_tuning_default(&b->tuning);
    b->tuning.vio = VFRONT_VIO;
    b->seconds = LOOP_SECONDS;
    b->width_px = 192;
    b->height_px = 144;
    for (int at = 1; at < count; at++) {
        if (strcmp(word[at], "--help") == 0) {
            fputs(help, stdout);
            return EXIT_DONE;
        }
        if (strcmp(word[at], "--paced") == 0) {
            b->paced = 1;
        } else if (strcmp(word[at], "--faults") == 0) {
            b->faults = 1;
        } else if (strcmp(word[at], "--fly") == 0) {
            b->fly = 1;
        } else if (strcmp(word[at], "--real-time") == 0) {
            b->real_time = 1;
        } else if (strcmp(word[at], "--datagrams") == 0) {
            b->transports.has_datagrams = 1;
        } else if (strcmp(word[at], "--list") == 0) {
            b->list = 1;
        } else if (word[at][0] == '-') {
            const int code = read_value(b, word[at], at + 1 < count ? word[at + 1] : NULL);
            if (code != CONTINUE) return code;
            at++;
        } else if (b->dataset) {
            return message(EXIT_USAGE, "%s: one DATASET only", word[at]);
        } else {
            b->dataset = word[at];
        }
    }
    if (b->paced + b->faults + b->fly > 1)
        return message(EXIT_USAGE, "--paced, --faults, --fly: one of them; the others are in lock step");
    if (b->real_time && !b->fly) return message(EXIT_USAGE, "--real-time: with --fly only");
    if ((b->list || b->row) && !b->faults && !b->fly)
        return message(EXIT_USAGE, "--list, --row: with --faults or --fly only");
    if (b->fly && b->dataset) return message(EXIT_USAGE, "%s: --fly takes no DATASET", b->dataset);
    if (!b->dataset) b->dataset = b->faults ? "synthetic:320x208" : "synthetic";
    return CONTINUE;
}

/** 1 if a row is wanted. */
static int is_wanted(const struct bench *b, const char *name)
{
    return (!b->only || strstr(name, b->only)) && (!b->row || strcmp(name, b->row) == 0);
}

static int no_such_row(const struct bench *b)
{
    return message(EXIT_USAGE, "%s %s: no such row", b->row ? "--row" : "--only", b->row ? b->row : b->only);
}

static int print_rows(const struct bench *b)
{
    for (size_t i = 0; b->fly && loop_row(i); i++)
        if (is_wanted(b, loop_row(i)->name)) puts(loop_row(i)->name);
    for (size_t i = 0; b->faults && rules_row(i); i++)
        if (is_wanted(b, rules_row(i)->name)) puts(rules_row(i)->name);
    return EXIT_DONE;
}

/* ---- runs -------------------------------------------------------------------------------------------------------- */

static int run_lock_step(struct bench *b, const trial_settings_t *s)
{
    trial_t t;
    char why[200] = "";
    const char *error = trial_run(&t, s);
    if (error) {
        trial_free(&t);
        return message(EXIT_FAILED, "%s", error);
    }
    printf("lock step    %" PRIu32 " of %" PRIu32 " results with the same digests, %" PRIu32 " ODOMETRY\n",
           t.compared - t.differ, t.compared, t.odometry);
    if (t.lost | t.damaged)
        printf("link         %" PRIu32 " frames lost, %" PRIu32 " damaged and named\n", t.lost, t.damaged);
    if (t.resent | t.line_lost)
        printf("beside it    %" PRIu64 " datagrams and samples sent again, %" PRIu32 " messages lost\n", t.resent,
               t.line_lost);
    if (t.differ) snprintf(why, sizeof why, "frame %" PRIu32 " differs first, in the stage %s", t.first, t.first_at);
    if (t.has_no_gpu) snprintf(why, sizeof why, "a call of the GPU was to fail, and the board has none");
    if (*why) printf("             %s\n", why);
    if (!t.compared) snprintf(why, sizeof why, "no result");
    junit_add(&b->results, "lock step", why);
    trial_free(&t);
    return *why ? EXIT_FAILED : CONTINUE;
}

static int run_paced(struct bench *b, const trial_settings_t *s)
{
    paced_t p;
    const char *error = paced_run(&p, s);
    if (error) {
        paced_free(&p);
        return message(EXIT_FAILED, "%s", error);
    }
    paced_print(&p, b->tuning.deadline_us * 1e-3);
    junit_add(&b->results, "paced", p.odometry ? "" : "no ODOMETRY came");
    const int good = p.odometry > 0;
    paced_free(&p);
    return good ? CONTINUE : EXIT_FAILED;
}

static void print_row(const rule_t *r, const evaluation_t *v)
{
    char detected[16] = "-", again[16] = "-";
    if (v->detected_after > 0) snprintf(detected, sizeof detected, "%" PRId32, v->detected_after);
    if (v->recovered_after > 0) snprintf(again, sizeof again, "%" PRId32, v->recovered_after);
    printf("%-30s %5s %5s %8.2f %8.3f %8.3f  %s%s\n", r->name, detected, again, v->worst_sigmas, v->worst_m,
           v->worst_jump_m, rules_passed(v) ? "passed" : "FAILED: ", v->why);
    fflush(stdout);
}

static int run_row(struct bench *b, trial_settings_t *s, const rule_t *r)
{
    fault_script_t script;
    evaluation_t v;
    trial_t t;
    const char *error = fault_script_parse(&script, r->name, r->script, strlen(r->script));
    if (error) return message(EXIT_FAILED, "%s", error);
    s->script = &script;
    b->tuning.failover = b->failover ? b->failover : strstr(r->script, " gpu ") != NULL;
    error = trial_run(&t, s);
    if (!error && t.has_no_gpu) {
        printf("%-30s skipped: the board has no GPU\n", r->name);
        b->skipped++;
        trial_free(&t);
        fault_script_free(&script);
        return CONTINUE;
    }
    if (!error) {
        rules_evaluate(&v, r, &t);
        print_row(r, &v);
    } else {
        printf("%-30s FAILED: %s\n", r->name, error);
    }
    junit_add(&b->results, r->name, error ? error : v.why);
    const int good = !error && rules_passed(&v);
    trial_free(&t);
    fault_script_free(&script);
    return good ? CONTINUE : EXIT_FAILED;
}

static int run_faults(struct bench *b, trial_settings_t *s)
{
    const rule_t *r;
    uint32_t rows = 0, failed = 0;
    s->frames = b->frames ? b->frames : RULES_FRAMES;
    b->failover = b->tuning.failover;
    s->cache = cache_open(s->dataset, s->frames);
    if (!s->cache) return message(EXIT_FAILED, "no memory for the frames");
    printf("%-30s %5s %5s %8s %8s %8s\n", "fault", "named", "again", "sigmas", "error m", "jump m");
    for (size_t i = 0; (r = rules_row(i)) != NULL; i++) {
        if (!is_wanted(b, r->name)) continue;
        rows++;
        failed += run_row(b, s, r) != CONTINUE;
    }
    cache_close(s->cache);
    printf("%" PRIu32 " faults, %" PRIu32 " passed, %" PRIu32 " skipped\n", rows, rows - failed - b->skipped,
           b->skipped);
    if (!rows) return no_such_row(b);
    return failed ? EXIT_FAILED : CONTINUE;
}

static int run_script(struct bench *b, trial_settings_t *s)
{
    static fault_script_t script;
    if (b->fault) {
        const char *error = fault_script_read(&script, b->fault);
        if (error) return message(EXIT_FAILED, "%s", error);
        s->script = &script;
    }
    const int code = b->paced ? run_paced(b, s) : run_lock_step(b, s);
    fault_script_free(&script);
    return code;
}

/* ---- closed loop ------------------------------------------------------------------------------------------------- */

static void print_flight(const loop_rule_t *r, const loop_evaluation_t *v)
{
    char lost[16] = "-", again[16] = "-";
    if (v->was_lost) snprintf(lost, sizeof lost, "%.1f", v->lost_after_s);
    if (v->recovery_s > 0.0) snprintf(again, sizeof again, "%.1f", v->recovery_s);
    printf("%-30s %8.3f %6s %6s %8.3f  %s%s\n", r->name, v->worst_m, lost, again, v->last_m,
           v->passed ? "passed" : "FAILED: ", v->why);
    fflush(stdout);
}

static void print_pace(const loop_t *l)
{
    printf("%-30s %" PRIu32
           " frames in real time, at most %.1f ms behind; the board answers within %.1f ms, %.1f in the "
           "mean\n",
           "", l->frames, (double)l->behind_ns * 1e-6, (double)l->slowest_ns * 1e-6,
           l->messages ? (double)l->answers_ns * 1e-6 / l->messages : 0.0);
}

static void print_restart(const loop_t *l)
{
    const truth_errors_t *a = &l->after;
    printf("%-30s before it %.3f m; from %.2f s after it: %.3f m (the pilot %.3f), %.1f deg, %.1f sigmas of %.2f m, "
           "%.1f deg\n",
           "", l->before.worst_m, l->resumed_s, a->worst_m, l->own_m, a->worst_rad * DEGREES, a->worst_sigmas,
           a->sigma_m, a->sigma_yaw_rad * DEGREES);
}

static int fly_row(struct bench *b, const loop_rule_t *r)
{
    static char text[1 << 16];
    fault_script_t script = {0};
    loop_evaluation_t v;
    loop_t l;
    loop_settings_t s = {.board = b->board,
                         .transports = b->transports,
                         .tuning = &b->tuning,
                         .width_px = b->width_px,
                         .height_px = b->height_px,
                         .has_wall = r->has_wall,
                         .restart = r->restart,
                         .is_real_time = b->real_time,
                         .frames = loop_frames(r, b->seconds),
                         .seed = 1};
    if (!loop_script(r, b->seconds, text, sizeof text)) return message(EXIT_USAGE, "--seconds: too long for a script");
    const char *error = *text ? fault_script_parse(&script, r->name, text, strlen(text)) : NULL;
    if (error) return message(EXIT_FAILED, "%s", error);
    if (*text) s.script = &script;
    error = loop_run(&l, &s);
    loop_evaluate(&v, r, &l);
    if (error)
        printf("%-30s FAILED: %s\n", r->name, error);
    else
        print_flight(r, &v);
    if (r->restart.away_ms && !r->restart.has_no_pose && !error) print_restart(&l);
    if (b->real_time && !error) print_pace(&l);
    if (b->real_time && !error && l.behind_ns > LOOP_BEHIND_NS)
        error = "not in real time: this computer, or the board, is too slow";
    junit_add(&b->results, r->name, error ? error : v.why);
    const char *fault = b->draw && !error ? loop_draw(&l, b->draw, r->name) : NULL;
    if (fault) message(EXIT_FAILED, "%s", fault);
    loop_free(&l);
    fault_script_free(&script);
    return !error && !fault && v.passed ? CONTINUE : EXIT_FAILED;
}

static int run_flights(struct bench *b)
{
    const loop_rule_t *r;
    uint32_t rows = 0, failed = 0, skipped = 0;
    printf("%-30s %8s %6s %6s %8s\n", "fault", "worst m", "lost s", "again", "end m");
    for (size_t i = 0; (r = loop_row(i)) != NULL; i++) {
        if (!is_wanted(b, r->name)) continue;
        if (r->has_wall && !VFRONT_DENSE) {
            printf("%-30s skipped: needs a build with VFRONT_DENSE 1\n", r->name);
            skipped++;
            continue;
        }
        b->tuning.dense = r->has_wall && VFRONT_DENSE;
        rows++;
        failed += fly_row(b, r) != CONTINUE;
    }
    printf("%" PRIu32 " flights, %" PRIu32 " passed, %" PRIu32 " skipped\n", rows, rows - failed, skipped);
    if (!rows && !skipped) return no_such_row(b);
    return failed ? EXIT_FAILED : CONTINUE;
}

/* ---- what is wanted ---------------------------------------------------------------------------------------------- */

static int finish(struct bench *b, int code)
{
    const char *error = b->junit ? junit_write(&b->results, b->junit, "hil-bench") : NULL;
    if (error) code = message(EXIT_FAILED, "%s", error);
    junit_free(&b->results);
    return code == CONTINUE ? EXIT_DONE : code;
}

int main(int count, char **word)
{
    static struct bench b;
    message_program = "hil-bench";
    int code = read_options(&b, count, word);
    if (code != CONTINUE) return code;
    if (b.list) return print_rows(&b);
    if (b.fly) return finish(&b, run_flights(&b));
    trial_settings_t s = {.board = b.board, .transports = b.transports, .tuning = &b.tuning, .port = b.port};
    const char *error = dataset_open(&s.dataset, b.dataset, VFRONT_CAMERAS, NULL, NULL, NULL);
    if (error) return message(EXIT_FAILED, "%s", error);
    if (b.tuning.vio) dataset_use_imu(s.dataset);
    b.tuning.vio &= dataset_has_imu(s.dataset);
    s.frames = dataset_frames(s.dataset);
    if (!s.frames) s.frames = b.frames ? b.frames : 60;
    if (b.frames && b.frames < s.frames) s.frames = b.frames;
    code = b.faults ? run_faults(&b, &s) : run_script(&b, &s);
    dataset_close(s.dataset);
    return finish(&b, code);
}
