/* SPDX-License-Identifier: MIT */
/* Program that flies through drawn worlds by the calls of vfront.h on the host port, a line of a table for each flight,
 * or for each part of a flight. The file that includes it gives the frames: view_begin(), view_frame(). */
#ifndef DRAWN_PROGRAM_H
#define DRAWN_PROGRAM_H

#include "drawn_fault_table.h"
#include "drawn_integrity.h"

/** Begins a flight: `flight` is made. */
static void view_begin(void);
/** 1 if a drawn quantity changes something. */
static int view_uses(const struct world_draw *quantity);
/** Pictures of frame k, and what `seen` has of it. */
static void view_frame(int k, vfront_frame_t *frame);
/** The library refused the last frame. */
static void view_refused(void);

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
    int faults;                         /* 1: each world once without and once with a fault */
    int kinds[FAULT_KINDS], kind_count; /* rows of fault_kinds that are drawn */
} mode = {.seed = 1, .runs = 20, .seconds = 10, .every = 1e9, .groups = (1u << WORLD_GROUPS) - 1};

/** Fault of this flight; on: 1 if it is flown, 0 for the same flight without it. */
static struct {
    struct fault is;
    int on;
} drawn_fault;

/** Fault of frame k, or NULL. */
static const struct fault *active_fault(int k)
{
    return drawn_fault.on && fault_active(&drawn_fault.is, flight.frame_s[k] - FLIGHT_LEAD_S) ? &drawn_fault.is : NULL;
}

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

/** Samples that have come with frame k: without a fault at least up to the first one from its time t_ns on. from: first
 *  sample not given yet. Returns the first one that has not come. */
static uint32_t samples_until(int k, uint64_t t_ns, uint32_t from)
{
    const double late_s = view_now.late_s, now_s = flight.frame_s[k] + 1e-3 * flight.world.latency_ms;
    const uint64_t arrival_ns = FLIGHT_EPOCH_NS + (uint64_t)(1e9 * fmax(0, now_s - late_s));
    /* a wrong stamp of a frame brings no samples of the future */
    const uint64_t least_ns = active_fault(k) && t_ns > arrival_ns ? arrival_ns : late_s > 0 ? 0 : t_ns;
    uint32_t to = from;
    while (to < flight.samples && (!to || flight.imu[to - 1].t_ns < least_ns || flight.imu[to].t_ns <= arrival_ns))
        to++;
    return to;
}

/** 1 if a status names what a fault did to samples or stamps: the frame is refused, and its samples are gone. */
static int is_refusal(vfront_status_t status)
{
    return drawn_fault.on && (status == VFRONT_E_IMU || status == VFRONT_E_TIME);
}

/** Steps the library with frame k. from: first sample not given yet. Returns NULL if the frame is refused. */
static const vfront_result_t *step_frame(int k, uint32_t *from)
{
    static vfront_result_t broken;
    const vfront_result_t *r = NULL;
    vfront_frame_t f;
    memset(&f, 0, sizeof f);
    f.t_ns = flight.stamp_ns[k];
    f.exposure_ns = (uint32_t)(1e9 * flight.exposure_s);
    view_look(&flight, drawn_fault.on ? &drawn_fault.is : NULL, k);
    const uint32_t to = samples_until(k, f.t_ns + f.exposure_ns / 2, *from);
    f.imu = flight.imu + *from;
    f.imu_count = to - *from;
    *from = to;
    view_frame(k, &f);
    const vfront_status_t status = vfront_step(&vf, &f, &r);
    if (is_refusal(status)) {
        view_refused();
        if (mode.replay)
            printf("%7.3f refused: %s, %s\n", flight.frame_s[k] - FLIGHT_LEAD_S, vfront_status_name(status),
                   vfront_detail(&vf));
        return NULL;
    }
    if (status) {
        fprintf(stderr, "%s: seed %.0f, frame %d: %s, %s\n", mode.program, (double)flight.seed, k,
                vfront_status_name(status), vfront_detail(&vf));
        exit(1);
    }
    if (mode.broken != BROKEN_COVARIANCE) return r;
    memcpy(&broken, r, sizeof broken);
    for (int i = 0; i < (int)(sizeof broken.nav.covariance / sizeof *broken.nav.covariance); i++)
        broken.nav.covariance[i] /= 25;
    for (int k = 0; k < 3; k++) {
        broken.nav.protection_level_m[k] /= 5;
        broken.nav.protection_level_rad[k] /= 5;
        broken.nav.protection_level_mps[k] /= 5;
    }
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

/** Makes the flight of a world, with its fault if that is on, and starts the library. */
static void begin_flight(uint64_t seed)
{
    struct world w;
    vfront_tuning_t tuning;
    draw(seed, &w);
    flight_make(&flight, seed, &w, mode.seconds);
    view_rig = flight.rig;
    if (drawn_fault.on) fault_into_flight(&drawn_fault.is, &flight);
    view_begin();
    result_begin(0);
    vfront_tuning_default(&tuning);
    tuning.vio = 1;
    const vfront_rig_t rig = stated_rig();
    const vfront_status_t status = vfront_init(&vf, &rig, &tuning, VFRONT_PORT_HOST);
    if (!status) return;
    fprintf(stderr, "%s: seed %.0f: %s, %s\n", mode.program, (double)seed, vfront_status_name(status),
            vfront_detail(&vf));
    exit(1);
}

static void fly(uint64_t seed)
{
    uint32_t given = 0;
    int from = 0;
    begin_flight(seed);
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

/* ---- a flight with a fault --------------------------------------------------------------------------------------- */

static void print_fault_frame(int k, const vfront_result_t *r, const double e[9], const struct integrity_frame *f)
{
    if (r) print_frame(k, r, e, 0);
    printf("        %c", active_fault(k) ? '*' : ' ');
    for (int kind = 0; kind < KINDS && f->level[0] >= 0; kind++) {
        const double times = kind == 1 ? 1 / DEGREE : 1;
        printf(" %9.4f in %9.4f%s", times * f->error[kind], times * f->level[kind], f->misleading[kind] ? " !" : "  ");
    }
    printf("  alerts %x%s\n", f->alert, f->any ? "  MISLEADING" : "");
}

/** Flies a world once, with its fault or without, into `integrity` and `diagram`. */
static void fly_once(uint64_t seed, int on)
{
    uint32_t given = 0;
    double t = 0;
    drawn_fault.on = on;
    begin_flight(seed);
    integrity_begin();
    for (int k = 0; k < flight.frames; k++) {
        struct integrity_frame f;
        double e[9] = {0};
        const vfront_result_t *r = step_frame(k, &given);
        t = flight.frame_s[k] - FLIGHT_LEAD_S;
        if (r) (void)result_add(k, r, e);
        integrity_add(r, e, &drawn_fault.is, t, &f);
        if (mode.replay && on) print_fault_frame(k, r, e, &f);
    }
    integrity_conclude(&drawn_fault.is, t);
    vfront_shutdown(&vf);
}

/** ",p3:4:0:17 ..." of a diagram: quantity, bin of error, of level, 1 with an alert, frames. */
static void csv_diagram(FILE *file)
{
    const char *before = ",";
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < DIAGRAM_BINS * DIAGRAM_BINS * 2; i++) {
            const int x = i / 2 / DIAGRAM_BINS, y = i / 2 % DIAGRAM_BINS;
            const long n = diagram[kind][x][y][i % 2];
            if (n) fprintf(file, "%s%c%d:%d:%d:%ld", before, "pav"[kind], x, y, i % 2, n), before = " ";
        }
    if (*before == ',') fprintf(file, ",");
}

/** ",frames beyond... frames square..." of `bounds`. */
static void csv_bounds(FILE *file)
{
    fprintf(file, ",%ld", bounds.frames);
    for (int i = 0; i < TAILS * KINDS; i++) fprintf(file, " %ld", bounds.beyond[i / KINDS][i % KINDS]);
    for (int member = 0; member < MEMBERS; member++) {
        fprintf(file, " %ld", bounds.members[member]);
        for (int kind = 0; kind < KINDS; kind++) fprintf(file, " %.6g", bounds.square[member][kind]);
    }
}

static void csv_numbers(FILE *file)
{
    double number[INTEGRITY_NUMBERS];
    memcpy(number, &integrity, sizeof number);
    for (int i = 0; i < INTEGRITY_NUMBERS; i++) fprintf(file, ",%.6g", number[i]);
}

/** Flies a world without and with the fault of its seed. Kinds follow one another by seed, so that all have as many. */
static void fly_fault(uint64_t seed)
{
    const struct fault *f = &drawn_fault.is;
    struct world w;
    draw(seed, &w);
    fault_draw(&fault_kinds[mode.kinds[seed % (uint64_t)mode.kind_count]], seed, mode.seconds, w.camera_hz,
               &drawn_fault.is);
    if (mode.file)
        fprintf(mode.file, "%.0f,%s,%s,%s,%s,%.6g,%.0f,%.6g,%.6g,%.6g", (double)seed, f->kind->name,
                fault_sensors[f->sensor], fault_axis_name(f), f->kind->unit, f->size, f->sign, f->begin_s,
                fmin(f->length_s, mode.seconds - f->begin_s), f->share);
    for (int on = 0; on < 2; on++) {
        fly_once(seed, on);
        if (!mode.file) continue;
        csv_numbers(mode.file), csv_diagram(mode.file), csv_bounds(mode.file);
    }
    if (mode.file) fprintf(mode.file, "\n"), fflush(mode.file);
}

static void csv_fault_head(FILE *file)
{
    fprintf(file, "seed,kind,sensor,axis,unit,size,sign,begin_s,length_s,share");
    for (int on = 0; on < 2; on++) {
        for (int i = 0; i < INTEGRITY_NUMBERS; i++) fprintf(file, ",%s%s", on ? "" : "clean_", integrity_names[i]);
        fprintf(file, ",%sdiagram,%sbounds", on ? "" : "clean_", on ? "" : "clean_");
    }
    fprintf(file, "\n");
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

static void print_fault(void)
{
    const struct fault *f = &drawn_fault.is;
    double number[INTEGRITY_NUMBERS];
    printf("fault: %s of %s, axis %s, size %.4g %s, sign %+.0f; from %.3f s for %.3f s; share %.2f from %.2f on\n",
           f->kind->name, fault_sensors[f->sensor], fault_axis_name(f), f->size, f->kind->unit, f->sign, f->begin_s,
           f->length_s, f->share, f->side);
    memcpy(number, &integrity, sizeof number);
    for (int i = 0; i < INTEGRITY_NUMBERS; i++)
        printf("  %-19s %12.5g  %s\n", integrity_names[i], number[i], integrity_meanings[i]);
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
           "  --broken WHAT       for checks that must see it: covariance, 25 times too small, and levels 5 times;\n"
           "                      gravity, stated 30 %% too small; baseline, 10 %% too long; mount, turned by 10 deg\n"
           "  --distributions     table of the drawn quantities, and no flight\n"
           "  --results           table of the results, and no flight\n",
           mode.program, mode.seconds);
    printf("  --faults all|own|KIND,...  each world without and with a fault of these kinds, drawn by its seed; own: "
           "those\n"
           "                      that this program draws by default; the table has the numbers of integrity\n"
           "  --fault-kinds       table of the kinds, and no flight\n"
           "  --integrity         table of the numbers of integrity, and no flight\n");
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

/** Parses a list of kinds of faults. Returns 0 if one is unknown. */
static int choose_kinds(const char *text)
{
    const unsigned own = view_uses(&world_draws[WORLD_QUANTITIES - 1]) ? IN_PICTURES : IN_TRACKS;
    const int all = !strcmp(text, "all");
    mode.faults = 1;
    mode.kind_count = 0;
    for (int i = 0; i < FAULT_KINDS && (all || !strcmp(text, "own")); i++)
        if (fault_kinds[i].programs & own || (all && own == IN_PICTURES)) mode.kinds[mode.kind_count++] = i;
    for (const char *at = mode.kind_count ? "" : text; *at;) {
        const size_t n = strcspn(at, ",");
        int i = 0;
        while (i < FAULT_KINDS && (strlen(fault_kinds[i].name) != n || strncmp(fault_kinds[i].name, at, n))) i++;
        if (i == FAULT_KINDS || mode.kind_count == FAULT_KINDS) return 0;
        if (own == IN_TRACKS && !(fault_kinds[i].programs & own)) return 0; /* it needs pictures */
        mode.kinds[mode.kind_count++] = i;
        at += n + (at[n] == ',');
    }
    return mode.kind_count > 0;
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
    if (!strcmp(name, "--faults")) return choose_kinds(value);
    if (strcmp(name, "--replay-seed") || !number(value, 1, 1e9, &mode.seed)) return 0;
    return mode.replay = 1;
}

static int replay(void)
{
    printf(
        "  time state  re trac matc lmk overl nav  imu metric relat. | position [m]: error, sigma | attitude [deg] | "
        "velocity [m/s]\n");
    if (mode.faults)
        fly_fault((uint64_t)mode.seed);
    else
        fly((uint64_t)mode.seed);
    print_world();
    if (mode.faults)
        print_fault();
    else
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
    if (mode.faults)
        csv_fault_head(file);
    else
        csv_head(file);
    mode.file = file;
    for (int run = 0; run < (int)mode.runs; run++) {
        if (mode.faults)
            fly_fault((uint64_t)mode.seed + (uint64_t)run);
        else
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
        if (!strcmp(argv[i], "--fault-kinds")) return fault_print_kinds(), 0;
        if (!strcmp(argv[i], "--integrity")) {
            for (int k = 0; k < INTEGRITY_NUMBERS; k++) printf("%-19s %s\n", integrity_names[k], integrity_meanings[k]);
            return 0;
        }
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
