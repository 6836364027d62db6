/* SPDX-License-Identifier: MIT */
/* Program that flies through drawn worlds by the calls of vfront.h on the host port, a line of a table for each flight,
 * or for each part of a flight. The file that includes it gives the frames: view_begin(), view_frame(). */
#ifndef DRAWN_PROGRAM_H
#define DRAWN_PROGRAM_H

#include "drawn_result.h"

/** Begins a flight: `flight` is made. */
static void view_begin(void);
/** 1 if a drawn quantity changes something. */
static int view_uses(const struct world_draw *quantity);
/** Pictures of frame k, and what `seen` has of it. */
static void view_frame(int k, vfront_frame_t *frame);

/** An estimator that is wrong on purpose, for checks that must see it. */
enum broken { WHOLE, BROKEN_COVARIANCE, BROKEN_GRAVITY, BROKEN_BASELINE, BROKEN_MOUNT, BROKEN };
static const char *const broken_names[BROKEN] = {"nothing", "covariance", "gravity", "baseline", "mount"};

static vfront_t vf;

static struct {
    const char *program;
    double seed, runs, seconds, every;
    enum broken broken;
    const char *csv, *pictures;
    FILE *file;
    int replay;
    struct {
        int quantity;
        double value;
    } fixed[WORLD_QUANTITIES];
    int fixes;
    struct world_draw draws[WORLD_QUANTITIES];
    unsigned groups;
} mode = {.seed = 1, .runs = 20, .seconds = 10, .every = 1e9, .groups = (1u << WORLD_GROUPS) - 1};

/* ---- rig --------------------------------------------------------------------------------------------------------- */

static void camera_of(const struct flight_camera *c, const double R[9], const double t[3], vfront_camera_t *out)
{
    memset(out, 0, sizeof *out);
    out->width_px = FLIGHT_WIDTH, out->height_px = FLIGHT_HEIGHT;
    out->fx_px = out->fy_px = c->f, out->cx_px = c->cx, out->cy_px = c->cy;
    memcpy(out->R_cam_imu, R, sizeof out->R_cam_imu);
    memcpy(out->t_cam_imu_m, t, sizeof out->t_cam_imu_m);
}

/** Rig as the library gets it. */
static vfront_rig_t stated_rig(void)
{
    const struct flight_rig *a = &flight.assumed;
    vfront_rig_t rig;
    double R[9], t[3], R_1[9], t_1[3];
    const double lean[3] = {0, mode.broken == BROKEN_MOUNT ? 10 * DEGREE : 0, 0};
    memset(&rig, 0, sizeof rig);
    rotation_of(lean, R);
    product(R, a->R_imu_cam, 0, R_1);
    for (int i = 0; i < 9; i++) R[i] = R_1[i % 3 * 3 + i / 3];
    rotate(R, a->p_imu_cam, t);
    for (int k = 0; k < 3; k++) t[k] = -t[k];
    product(a->R_1_0, R, 0, R_1);
    rotate(a->R_1_0, t, t_1);
    for (int k = 0; k < 3; k++) t_1[k] += (mode.broken == BROKEN_BASELINE ? 1.1 : 1) * a->t_1_0[k];
    rig.cameras = 2;
    camera_of(&a->camera[0], R, t, &rig.camera[0]);
    camera_of(&a->camera[1], R_1, t_1, &rig.camera[1]);
    rig.imu = flight.noise;
    if (mode.broken == BROKEN_GRAVITY) rig.imu.gravity_m_s2 *= 0.7;
    return rig;
}

/* ---- flight ------------------------------------------------------------------------------------------------------ */

static void print_frame(int k, const vfront_result_t *r, const double e[9], int off)
{
    static const char *const state[] = {"NONE", "INIT", "GOOD", "COAST", "LOST", "STEREO"};
    const vfront_nav_t *nav = &r->nav;
    printf("%7.3f %-6s %2u %4u %4u %3u %5.2f %3x %4x %2u/%x %2u/%x", flight.frame_s[k] - flight.frame_s[0],
           state[nav->state], nav->reset_counter, r->tracks_count, r->matches_count, nav->landmarks,
           seen.of ? (double)seen.in_view / seen.of : 0, nav->flags, r->health.imu, r->metric.state, r->metric.flags,
           r->relative.state, r->relative.flags);
    for (int kind = 0; kind < KINDS && is_reported(nav); kind++) {
        const double times = kind == 1 ? 1 / DEGREE : 1;
        printf(" | %8.4f %8.4f", times * length(e + 3 * kind), times * deviation_of(nav, 3 * kind));
    }
    printf("%s\n", off ? "  OFF" : "");
}

/** Steps the library with frame k. from: first sample not given yet. */
static const vfront_result_t *step_frame(int k, uint32_t *from)
{
    static vfront_result_t broken;
    const vfront_result_t *r = NULL;
    vfront_frame_t f;
    uint32_t to = *from;
    memset(&f, 0, sizeof f);
    f.t_ns = flight.stamp_ns[k];
    f.exposure_ns = (uint32_t)(1e9 * flight.exposure_s);
    /* those that have come, at least up to the first one from the frame's time on */
    const uint64_t arrival_ns = FLIGHT_EPOCH_NS + (uint64_t)(1e9 * flight.frame_s[k] + 1e6 * flight.world.latency_ms);
    while (to < flight.samples &&
           (!to || flight.imu[to - 1].t_ns < f.t_ns + f.exposure_ns / 2 || flight.imu[to].t_ns <= arrival_ns))
        to++;
    f.imu = flight.imu + *from;
    f.imu_count = to - *from;
    *from = to;
    view_frame(k, &f);
    const vfront_status_t status = vfront_step(&vf, &f, &r);
    if (status) {
        fprintf(stderr, "%s: seed %.0f, frame %d: %s, %s\n", mode.program, (double)flight.seed, k,
                vfront_status_name(status), vfront_detail(&vf));
        exit(1);
    }
    if (mode.broken != BROKEN_COVARIANCE) return r;
    memcpy(&broken, r, sizeof broken);
    for (int i = 0; i < (int)(sizeof broken.nav.covariance / sizeof *broken.nav.covariance); i++)
        broken.nav.covariance[i] /= 25;
    return &broken;
}

/** Line of a flight, or of a part: seed, every drawn quantity, results, histograms as bin:count bin:count. */
static void csv_line(FILE *file)
{
    double drawn[WORLD_QUANTITIES], number[NUMBER_OF_RESULTS];
    memcpy(drawn, &flight.world, sizeof drawn);
    memcpy(number, &result, sizeof number);
    fprintf(file, "%.0f", (double)flight.seed);
    for (int i = 0; i < WORLD_QUANTITIES; i++)
        if (view_uses(&world_draws[i])) fprintf(file, ",%.6g", drawn[i]);
    for (int i = 0; i < NUMBER_OF_RESULTS; i++) fprintf(file, ",%.6g", number[i]);
    for (int kind = 0; kind < KINDS; kind++) {
        const char *space = "";
        fprintf(file, ",");
        for (int i = 0; i < BINS; i++) {
            if (histogram[kind][i]) fprintf(file, "%s%d:%ld", space, i, histogram[kind][i]), space = " ";
        }
    }
    fprintf(file, "\n");
    fflush(file);
}

/** World of a seed, with what the options change. */
static void draw(uint64_t seed, struct world *w)
{
    world_draw_from(mode.draws, seed, mode.groups, w);
    for (int i = 0; i < mode.fixes; i++)
        memcpy((char *)w + sizeof(double) * (size_t)mode.fixed[i].quantity, &mode.fixed[i].value, sizeof(double));
}

static void fly(uint64_t seed)
{
    struct world w;
    vfront_tuning_t tuning;
    uint32_t given = 0;
    int from = 0;
    draw(seed, &w);
    flight_make(&flight, seed, &w, mode.seconds);
    view_begin();
    result_begin(0);
    vfront_tuning_default(&tuning);
    tuning.vio = 1;
    const vfront_rig_t rig = stated_rig();
    const vfront_status_t status = vfront_init(&vf, &rig, &tuning, VFRONT_PORT_HOST);
    if (status) {
        fprintf(stderr, "%s: seed %.0f: %s, %s\n", mode.program, (double)seed, vfront_status_name(status),
                vfront_detail(&vf));
        exit(1);
    }
    for (int k = 0; k < flight.frames; k++) {
        const vfront_result_t *r = step_frame(k, &given);
        double e[9];
        const int off = result_add(k, r, e);
        if (mode.replay) print_frame(k, r, e, off);
        const int ends = k + 1 == flight.frames || flight.frame_s[k + 1] - flight.frame_s[from] >= mode.every;
        if (!ends) continue;
        result_conclude(from, k + 1);
        if (mode.file) csv_line(mode.file);
        if (k + 1 < flight.frames) result_begin(from = k + 1);
    }
    vfront_shutdown(&vf);
}

/* ---- one flight in full ------------------------------------------------------------------------------------------ */

static void print_world(void)
{
    double drawn[WORLD_QUANTITIES];
    memcpy(drawn, &flight.world, sizeof drawn);
    printf("world %.0f\n", (double)flight.seed);
    for (int i = 0, n = 0; i < WORLD_QUANTITIES; i++)
        if (view_uses(&world_draws[i]))
            printf("  %-15s %10.4g %-16s%s", world_draws[i].name, drawn[i], world_draws[i].unit, n++ % 2 ? "\n" : "");
    printf("\n");
}

static void print_result(void)
{
    double number[NUMBER_OF_RESULTS];
    memcpy(number, &result, sizeof number);
    for (int i = 0; i < NUMBER_OF_RESULTS; i++)
        printf("  %-12s %12.5g  %s\n", result_names[i], number[i], result_meanings[i]);
}

/* ---- options ----------------------------------------------------------------------------------------------------- */

static void csv_head(FILE *file)
{
    fprintf(file, "seed");
    for (int i = 0; i < WORLD_QUANTITIES; i++)
        if (view_uses(&world_draws[i])) fprintf(file, ",%s", world_draws[i].name);
    for (int i = 0; i < NUMBER_OF_RESULTS; i++) fprintf(file, ",%s", result_names[i]);
    fprintf(file, ",z_position,z_attitude,z_velocity\n");
}

static int help(void)
{
    printf("%s [options]: flights through drawn worlds, by the calls of vfront.h on the host port\n"
           "  --seed S            first world: 1\n"
           "  --runs N            worlds: 20\n"
           "  --seconds T         of a flight, 1 to 1800: %g\n"
           "  --csv FILE          a line for each flight: seed, drawn quantities, results, histograms; - is stdout\n"
           "  --black FROM,TO     the pictures in this time [s] are black\n"
           "  --every T           a line for each T seconds of a flight\n"
           "  --replay-seed S     one world alone, frame by frame, with all that was drawn\n"
           "  --pictures FOLDER   write the pictures there, where they are rendered\n"
           "  --set NAME=VALUE    a drawn quantity is this in all worlds; others stay as drawn\n"
           "  --between NAME=A,B  it is drawn from A to B, by the same kind of distribution\n"
           "  --draw GROUP,...    only these are drawn, all others as in easy worlds; none: easy worlds\n"
           "  --broken WHAT       for checks that must see it: covariance, 25 times too small as reported; gravity,\n"
           "                      stated 30 %% too small; baseline, 10 %% too long; mount, turned by 10 degrees\n"
           "  --distributions     table of the drawn quantities, and no flight\n"
           "  --results           table of the results, and no flight\n",
           mode.program, mode.seconds);
    return 0;
}

/** Quantity of NAME=..., and what follows the sign; -1: there is no such quantity. */
static int quantity_of(const char *text, const char **rest)
{
    const char *is = strchr(text, '=');
    for (int i = 0; is && i < WORLD_QUANTITIES; i++) {
        *rest = is + 1;
        if (!strncmp(world_draws[i].name, text, (size_t)(is - text)) && !world_draws[i].name[is - text]) return i;
    }
    return -1;
}

/** Parses NAME=VALUE. Returns 0 if it is none. */
static int fix(const char *text)
{
    const char *rest;
    char *end;
    const int i = quantity_of(text, &rest);
    if (i < 0 || mode.fixes == WORLD_QUANTITIES) return 0;
    const double v = strtod(rest, &end);
    if (end == rest || *end) return 0;
    mode.fixed[mode.fixes].quantity = i;
    mode.fixed[mode.fixes++].value = v;
    return 1;
}

/** Parses NAME=A,B. Returns 0 if it is none. */
static int limit(const char *text)
{
    const char *rest;
    double a, b;
    int used = 0;
    const int i = quantity_of(text, &rest);
    if (i < 0 || sscanf(rest, "%lf,%lf%n", &a, &b, &used) != 2 || rest[used] || !(a <= b)) return 0;
    if (mode.draws[i].kind == WORLD_LOG && !(a > 0)) return 0;
    mode.draws[i].a = a, mode.draws[i].b = b;
    return 1;
}

static int break_it(const char *text)
{
    for (int i = 1; i < BROKEN; i++)
        if (!strcmp(text, broken_names[i])) return (mode.broken = (enum broken)i) != WHOLE;
    return 0;
}

/** Parses a list of groups, "clocks,frames"; "none": no group. Returns 0 if one is unknown. */
static int choose_groups(const char *text)
{
    mode.groups = 0;
    if (!strcmp(text, "none")) return 1;
    for (const char *at = text; at;) {
        const char *end = strchr(at, ',');
        const size_t n = end ? (size_t)(end - at) : strlen(at);
        int found = 0;
        for (int g = 0; g < WORLD_GROUPS; g++) {
            if (strlen(world_groups[g]) != n || strncmp(world_groups[g], at, n)) continue;
            mode.groups |= 1u << g;
            found = 1;
        }
        if (!found) return 0;
        at = end ? end + 1 : NULL;
    }
    return 1;
}

static int number(const char *text, double least, double most, double *to)
{
    char *end;
    const double v = strtod(text, &end);
    if (end == text || *end || !(v >= least && v <= most)) return 0;
    *to = v;
    return 1;
}

static int option(const char *name, const char *value)
{
    if (!strcmp(name, "--seed")) return number(value, 1, 1e9, &mode.seed);
    if (!strcmp(name, "--runs")) return number(value, 1, 1e6, &mode.runs);
    if (!strcmp(name, "--seconds")) return number(value, 1, 1800, &mode.seconds);
    if (!strcmp(name, "--every")) return number(value, 0.1, 1e9, &mode.every);
    if (!strcmp(name, "--black")) return sscanf(value, "%lf,%lf", &black_s[0], &black_s[1]) == 2;
    if (!strcmp(name, "--csv")) return (mode.csv = value) != NULL;
    if (!strcmp(name, "--pictures")) return (mode.pictures = value) != NULL;
    if (!strcmp(name, "--set")) return fix(value);
    if (!strcmp(name, "--between")) return limit(value);
    if (!strcmp(name, "--draw")) return choose_groups(value);
    if (!strcmp(name, "--broken")) return break_it(value);
    if (strcmp(name, "--replay-seed") || !number(value, 1, 1e9, &mode.seed)) return 0;
    return mode.replay = 1;
}

static int replay(void)
{
    printf(
        "  time state  re trac matc lmk overl nav  imu metric relat. | position [m]: error, sigma | attitude [deg] | "
        "velocity [m/s]\n");
    fly((uint64_t)mode.seed);
    print_world();
    print_result();
    return 0;
}

static int fly_all(void)
{
    FILE *file = stdout;
    if (mode.csv && strcmp(mode.csv, "-") && !(file = fopen(mode.csv, "w"))) {
        fprintf(stderr, "%s: cannot write %s\n", mode.program, mode.csv);
        return 2;
    }
    csv_head(file);
    mode.file = file;
    for (int run = 0; run < (int)mode.runs; run++) {
        fly((uint64_t)mode.seed + (uint64_t)run);
        if (file != stdout) fprintf(stderr, "\r%d of %d worlds", run + 1, (int)mode.runs);
    }
    if (file != stdout) fprintf(stderr, "\n"), fclose(file);
    return 0;
}

/** Body of main(). seconds: of a flight, without the option. */
static int drawn_main(int argc, char **argv, const char *program, double seconds)
{
    mode.program = program;
    mode.seconds = seconds;
    memcpy(mode.draws, world_draws, sizeof mode.draws);
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--help")) return help();
        if (!strcmp(argv[i], "--distributions")) return world_print_distributions(), 0;
        if (!strcmp(argv[i], "--results")) {
            for (int k = 0; k < NUMBER_OF_RESULTS; k++) printf("%-13s %s\n", result_names[k], result_meanings[k]);
            return 0;
        }
        if (i + 1 < argc && option(argv[i], argv[i + 1])) {
            i++;
            continue;
        }
        fprintf(stderr, "%s: '%s': unknown, or without a value in its range; --help\n", program, argv[i]);
        return 2;
    }
    return mode.replay ? replay() : fly_all();
}

#endif
