/* SPDX-License-Identifier: MIT */
/* Simulated flights of the sliding-window estimator, without images: errors and consistency of the covariance.
 * `build/simulate --help` lists the options. One line per scenario:
 *
 *   runs      flights, each with its own noise. Lost flights are counted and excluded from the rest: position error
 *             over 1 m plus 1/10 of the path length, or a state that is not finite
 *   position  root mean square error over all frames [m], without alignment: the initial state is the truth plus an
 *             error of its standard deviations. `worst`: of the worst flight; `end`: of the last frames, in % of the
 *             path length
 *   attitude  likewise [deg]
 *   drift     root mean square error of the last frames: position [cm], yaw [deg]; `keys`: keyframes per flight
 *   NEES      mean of e' P^-1 e over flights, averaged over frames; nominal: position 3, attitude 3, all 15, velocity
 *             and biases 9. In brackets: share of frames whose mean over flights is within the two-sided 95 % bounds
 *   3 sigma   share of biases within three standard deviations of the truth in the last frame; time offset likewise
 *   ms        mean time of a step */
#define _POSIX_C_SOURCE 199309L

#include "simulation_vio.h"

#include <time.h>

enum { MOST_RUNS = 200, KINDS = 4, WIDTH = 17 };
_Static_assert(sizeof(((struct vf_vio_window *)0)->covariance) == WIDTH * WIDTH * sizeof(double),
               "the time offset is 15");

/** Error components of each NEES, and what is printed. */
static const struct {
    int first, n;
} kind[KINDS] = {{0, 3}, {3, 3}, {0, 15}, {6, 9}};

/** Sums of a scenario. */
struct sums {
    int runs, lost, frames;
    double square[2], worst, end, yaw, keyframes, distance, steps, seconds;
    double nees[KINDS][SIM_FRAMES];
    int count[SIM_FRAMES];
    int biases, biases_good, offsets, offsets_good;
    double offset_square;
};

static struct sums sums, run_sums; /* of all flights; of the current flight */

/* ---- options ----------------------------------------------------------------------------------------------------- */

static struct sim_options chosen;
static const double believed[3] = {VF_VIO_MOUNT_SIGMA_RAD, VF_VIO_TIME_OFFSET_SIGMA_S, SIM_TURN_RAD};
static struct {
    double runs;
    const char *csv, *dump, *title, *only;
    int all, titles;
} mode;

/** Numeric option: its range, and its help text. */
struct number {
    const char *name;
    double *to;
    double least, most, times;
    const char *help;
};

static const struct number numbers[] = {
    {"--runs", &mode.runs, 1, MOST_RUNS, 1, "flights of a scenario: 50"},
    {"--seconds", &chosen.seconds, 1, 640, 1, "of a flight: 20"},
    {"--from", &chosen.from_s, 0, 1000, 1, "start in the trajectory [s]"},
    {"--tempo", &chosen.tempo, 0.001, 10, 1, "factor on the time of a drawn trajectory: 1"},
    {"--imu-hz", &chosen.imu_hz, 50, 1000, 1, "sample rate [Hz]: 200"},
    {"--imu-noise", &chosen.noise, 0.01, 100, 1, "noise of the IMU relative to EuRoC's"},
    {"--pixel", &chosen.pixel, 0, 5, 1, "noise of bearings and disparities [px]: 0.5"},
    {"--walk", &chosen.walk, 0, 5, 1, "random walk of a track's error from frame to frame [px]"},
    {"--partners", &chosen.partners, 0, 1, 1, "share of observations with a stereo observation: 0.9"},
    {"--outliers", &chosen.outliers, 0, 0.5, 1, "share of observations wrong by 3 to 10 px"},
    {"--moving", &chosen.moving, 0, 0.9, 1, "share of landmarks that move by 0.5 m/s"},
    {"--object-speed", &chosen.object_mps, 0, 10, 1, "of the object of --object [m/s]: 0.5"},
    {"--life", &chosen.life, 1, 1000, 1, "mean number of frames of a track: 15"},
    {"--near", &chosen.near, 0.5, 100, 1, "least depth of landmarks [m]; with --far in place of the hall"},
    {"--far", &chosen.far, 1, 1000, 1, "largest depth [m]"},
    {"--vibration", &chosen.vibration, 0, 50, 1, "of propellers [m/s^2], a tenth of it at the gyro [rad/s]"},
    {"--offset-ms", &chosen.offset_s, -20, 20, 1e-3, "time from the cameras' clock to the IMU's [ms]"},
    {"--extrinsics", &chosen.extrinsics, 0, 10, 1, "error of the assumed camera attitude on the IMU [deg]"},
    {"--lever", &chosen.lever, 0, 1, 1, "error of the assumed camera position on the IMU [m]"},
    {"--stereo", &chosen.stereo, 0, 10, 1, "error of the assumed attitude of camera 1 to camera 0 [deg]"},
    {"--turned", &chosen.turned, -10, 10, 1, "error of the assumed roll of camera 1 [deg]"},
    {"--turn-urad", &chosen.turn_urad, 0, 20000, 1,
     "standard deviation of the rotation between the cameras that the estimator assumes [urad]: 1000"},
    {"--focal", &chosen.focal, -0.2, 0.2, 1, "relative error of the assumed focal length"},
    {"--row-us", &chosen.row_s, -100, 100, 1e-6, "rolling shutter: exposure delay from row to row [us]"},
    {"--dropped", &chosen.dropped, 0, 0.9, 1, "share of frames that are missing"},
    {"--position", &chosen.first[0], 1e-6, 1, 1, "initial standard deviation of position and yaw [m, rad]: 1e-4"},
    {"--tilt", &chosen.first[1], 1e-6, 30, 0.017453292519943295, "of the first roll and pitch [deg]: 1"},
    {"--velocity", &chosen.first[2], 1e-6, 10, 1, "of the first velocity [m/s]: 0.1"},
    {"--gyro-bias", &chosen.first[3], 1e-6, 1, 1, "of the first gyro bias [rad/s]: 0.01"},
    {"--accel-bias", &chosen.first[4], 1e-6, 5, 1, "of the first accelerometer bias [m/s^2]: 0.1"},
    {"--seed", &chosen.seed, 1, 50000, 1, "of the first flight: 1"},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static int help(void)
{
    printf("simulate [options]: simulated flights of the estimator\n"
           "  --trajectory FILE   trajectory of lines t px py pz qx qy qz qw; or --trajectory NAME of a drawn one:");
    for (int i = 0; i < TRAJECTORY_DRAWINGS; i++) printf(" %s", trajectory_drawings[i].name);
    printf("\n  --rig NAME          euroc, kitti or mono\n"
           "  --place             noise is on the stereo position, not on the disparity\n"
           "  --drawn             errors of mounting, time offset and camera 1's attitude are drawn from the\n"
           "                      estimator's priors for each flight\n"
           "  --unmodelled        the estimator ignores the rolling shutter\n"
           "  --blackout FROM,TO  frames in this time [s] have no observations\n"
           "  --object FROM,TO    in this time [s] a moving object covers three fifths of the image\n"
           "  --gap FROM,TO       samples in this time [s] are missing\n"
           "  --late FROM,TO      in this time [s] camera 1 shows the previous frame\n"
           "  --csv FILE          the first flight: time, truth, estimate, standard deviations\n"
           "  --dump FILE         the first flight: all that the estimator is given, and the truth\n"
           "  --all               table of scenarios; options that follow hold for all of them\n"
           "  --only WORD         of these, those whose title contains it; '=title' that one alone\n"
           "  --titles            their titles, and no flight\n");
    for (int i = 0; i < NUMBERS; i++) printf("  %-12s %s\n", numbers[i].name, numbers[i].help);
    return 0;
}

static int span(const char *text, double to[2])
{
    return sscanf(text, "%lf,%lf", to, to + 1) == 2 && to[0] >= 0 && to[1] >= to[0];
}

/** Parses an option with a value. Returns 0 if it is unknown or out of range. */
static int option(const char *name, const char *value)
{
    if (!strcmp(name, "--trajectory"))
        return snprintf(chosen.trajectory, sizeof chosen.trajectory, "%s", value) < (int)sizeof chosen.trajectory;
    if (!strcmp(name, "--rig")) return snprintf(chosen.rig, sizeof chosen.rig, "%s", value) < (int)sizeof chosen.rig;
    if (!strcmp(name, "--blackout")) return span(value, chosen.black);
    if (!strcmp(name, "--object")) return span(value, chosen.moving_object);
    if (!strcmp(name, "--gap")) return span(value, chosen.gap);
    if (!strcmp(name, "--late")) return span(value, chosen.late);
    if (!strcmp(name, "--csv")) return (mode.csv = value) != NULL;
    if (!strcmp(name, "--dump")) return (mode.dump = value) != NULL;
    if (!strcmp(name, "--only")) return (mode.only = value) != NULL;
    for (int i = 0; i < NUMBERS; i++) {
        char *end;
        if (strcmp(name, numbers[i].name)) continue;
        const double v = strtod(value, &end);
        if (end == value || *end || !(v >= numbers[i].least && v <= numbers[i].most)) return 0;
        *numbers[i].to = v * numbers[i].times;
        return 1;
    }
    return 0;
}

/** Parses a list of options. Returns 0 and prints the option if one is wrong. */
static int options(int n, char *const *word)
{
    for (int i = 0; i < n; i++) {
        if (!strcmp(word[i], "--all"))
            mode.all = 1;
        else if (!strcmp(word[i], "--titles"))
            mode.titles = 1;
        else if (!strcmp(word[i], "--place"))
            chosen.place = 1;
        else if (!strcmp(word[i], "--drawn"))
            memcpy(chosen.drawn, believed, sizeof believed);
        else if (!strcmp(word[i], "--unmodelled"))
            chosen.unmodelled = 1;
        else if (i + 1 < n && option(word[i], word[i + 1]))
            i++;
        else {
            fprintf(stderr, "simulate: '%s': unknown, or without a value in its range; --help\n", word[i]);
            return 0;
        }
    }
    return 1;
}

/* ---- statistics -------------------------------------------------------------------------------------------------- */

/** Quantile of the mean of n squared normalised errors of dimension d, z standard deviations from the median:
 *  Wilson-Hilferty approximation of chi-square, good to 0.01 from 20 degrees of freedom on. */
static double quantile(int d, int n, double z)
{
    const double k = (double)d * n, c = 1.0 - 2.0 / (9.0 * k) + z * sqrt(2.0 / (9.0 * k));
    return d * c * c * c;
}

/** Mean over frames of the mean over flights. share: frames where the latter is within its 95 % bounds. */
static double nees(int which, double *share)
{
    double mean = 0;
    int frames = 0, good = 0;
    for (int f = 1; f < SIM_FRAMES; f++) {
        const int n = sums.count[f], d = kind[which].n;
        if (!n) continue;
        const double m = sums.nees[which][f] / n;
        good += m >= quantile(d, n, -1.96) && m <= quantile(d, n, 1.96);
        mean += m;
        frames++;
    }
    *share = frames ? (double)good / frames : 0;
    return frames ? mean / frames : 0;
}

/* ---- flight ------------------------------------------------------------------------------------------------------ */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void dump_numbers(FILE *file, const char *tag, const double *v, int n)
{
    fprintf(file, "%s", tag);
    for (int i = 0; i < n; i++) fprintf(file, " %.17g", v[i]);
    fprintf(file, "\n");
}

/** Head of a dump: rig, noise, initial state, IMU samples. */
static void dump_head(FILE *file, const vfront_nav_t *first)
{
    const vfront_imu_noise_t *n = &sim.noise;
    const double noise[6] = {n->gyro_density, n->accel_density, n->gyro_walk,
                             n->accel_walk,   n->rate_hz,       n->gravity_m_s2};
    dump_numbers(file, "R_imu_cam", sim.assumed.R_imu_cam, 9);
    dump_numbers(file, "p_imu_cam", sim.assumed.p_imu_cam, 3);
    dump_numbers(file, "R_1_0", sim.assumed.R_1_0, 9);
    dump_numbers(file, "t_1_0", sim.assumed.t_1_0, 3);
    dump_numbers(file, "noise", noise, 6);
    dump_numbers(file, "first_p", first->position_m, 3);
    dump_numbers(file, "first_v", first->velocity_mps, 3);
    dump_numbers(file, "first_q", first->q_odom_imu, 4);
    dump_numbers(file, "first_gyro_bias", first->gyro_bias_rad_s, 3);
    dump_numbers(file, "first_accel_bias", first->accel_bias_m_s2, 3);
    dump_numbers(file, "first_covariance", first->covariance, 120);
    for (uint32_t i = 0; i < sim.samples; i++) {
        const double v[7] = {(double)sim.imu[i].t_ns,  sim.imu[i].gyro_rad_s[0], sim.imu[i].gyro_rad_s[1],
                             sim.imu[i].gyro_rad_s[2], sim.imu[i].accel_m_s2[0], sim.imu[i].accel_m_s2[1],
                             sim.imu[i].accel_m_s2[2]};
        dump_numbers(file, "imu", v, 7);
    }
}

static void state_of(const vfront_nav_t *nav, double v[16])
{
    memcpy(v, nav->position_m, 3 * sizeof *v);
    memcpy(v + 3, nav->velocity_mps, 3 * sizeof *v);
    memcpy(v + 6, nav->q_odom_imu, 4 * sizeof *v);
    memcpy(v + 10, nav->gyro_bias_rad_s, 3 * sizeof *v);
    memcpy(v + 13, nav->accel_bias_m_s2, 3 * sizeof *v);
}

static void true_state(uint64_t t_ns, double v[16])
{
    struct trajectory_state at;
    sim_truth(&sim, t_ns, &at, v + 10);
    memcpy(v, at.p, sizeof at.p);
    memcpy(v + 3, at.v, sizeof at.v);
    sim_quaternion(at.R, v + 6);
}

static void dump_frame(FILE *file, const vfront_nav_t *nav)
{
    double truth[17] = {(double)frame.stamp_ns}, estimate[17] = {(double)nav->t_ns};
    true_state(frame.stamp_ns, truth + 1);
    state_of(nav, estimate + 1);
    dump_numbers(file, "frame", truth, 17);
    dump_numbers(file, "estimate", estimate, 17);
    for (int i = 0; i < frame.n; i++) {
        const struct sim_observation *s = &frame.observation[i];
        const double v[9] = {s->id,          s->bearing[0],        s->bearing[1],        s->bearing[2],
                             s->sigma,       s->stereo_bearing[0], s->stereo_bearing[1], s->stereo_bearing[2],
                             s->stereo_sigma};
        dump_numbers(file, "sight", v, 9);
    }
}

/** CSV line of a frame: time; truth and estimate (p v q gyro_bias accel_bias); 15 standard deviations; time offset. */
static void csv_line(FILE *file, const vfront_nav_t *nav)
{
    double v[16];
    fprintf(file, "%.6f", (double)(nav->t_ns - SIM_START_NS) * 1e-9);
    true_state(nav->t_ns, v);
    for (int i = 0; i < 16; i++) fprintf(file, ",%.9g", v[i]);
    state_of(nav, v);
    for (int i = 0; i < 16; i++) fprintf(file, ",%.9g", v[i]);
    for (int i = 0; i < 15; i++) fprintf(file, ",%.6g", sqrt(nav->covariance[vf_nav_index(i, i)]));
    fprintf(file, ",%.9g\n", window.offset_s);
}

static void csv_head(FILE *file)
{
    static const char *who[2] = {"true", "est"};
    fprintf(file, "t_s");
    for (int w = 0; w < 2; w++)
        fprintf(file,
                ",%s_px,%s_py,%s_pz,%s_vx,%s_vy,%s_vz,%s_qw,%s_qx,%s_qy,%s_qz,%s_bgx,%s_bgy,%s_bgz,%s_bax,%s_bay,"
                "%s_baz",
                who[w], who[w], who[w], who[w], who[w], who[w], who[w], who[w], who[w], who[w], who[w], who[w], who[w],
                who[w], who[w], who[w]);
    fprintf(file, ",s_px,s_py,s_pz,s_wx,s_wy,s_wz,s_vx,s_vy,s_vz,s_bgx,s_bgy,s_bgz,s_bax,s_bay,s_baz,offset_s\n");
}

/** 1 if the interval between two frames has a gap over VFRONT_IMU_GAP_NS. */
static int has_gap(uint64_t from_ns, uint64_t to_ns)
{
    const uint32_t after = sim_after(&sim, from_ns);
    const uint64_t last_ns = after ? sim.imu[after - 1].t_ns : 0,
                   next_ns = after < sim.samples ? sim.imu[after].t_ns : UINT64_MAX;
    return (next_ns < to_ns ? next_ns : to_ns) - last_ns > VFRONT_IMU_GAP_NS;
}

/** Steps the estimator with the observations of a frame and the samples since the previous one. */
static void feed(uint64_t before_ns)
{
    static struct vf_observation observation[SIM_OBSERVATIONS];
    uint32_t first;
    const uint32_t n = sim_samples_between(&sim, before_ns, frame.stamp_ns, &first);
    const struct vf_vio_frame given = {.t_ns = frame.stamp_ns,
                                       .imu = sim.imu + first,
                                       .samples = has_gap(before_ns, frame.stamp_ns) ? 0 : n,
                                       .observation = observation,
                                       .observations = (uint32_t)frame.n};
    sim_to_observations(observation, 1.0);
    const double begin = seconds();
    vf_vio_step(&window, &work, &given);
    run_sums.seconds += seconds() - begin;
    run_sums.steps++;
    run_sums.keyframes += window.slot[window.newest].keyframe;
}

/** Adds the errors of the newest state to the flight's sums. Returns 0 if the flight is lost. */
static int add_errors(int k, const vfront_nav_t *nav)
{
    double e[15], P[225];
    sim_errors(&sim, nav, e);
    const double off = length(e);
    if (!(off < 1.0 + 0.1 * run_sums.distance)) return 0;
    run_sums.square[0] += off * off;
    run_sums.square[1] += dot(e + 3, e + 3);
    run_sums.end = off;
    run_sums.yaw = e[5];
    run_sums.frames++;
    run_sums.count[k] = 1;
    for (int i = 0; i < KINDS; i++) {
        sim_block(nav, kind[i].first, kind[i].n, P);
        const double square = sim_nees(P, e + kind[i].first, kind[i].n);
        if (square < 0) return 0;
        run_sums.nees[i][k] = square;
    }
    return 1;
}

/** Adds the errors of biases and time offset in the last frame. */
static void add_end_errors(const vfront_nav_t *nav)
{
    double e[15];
    sim_errors(&sim, nav, e);
    for (int i = 9; i < 15; i++) {
        const double variance = nav->covariance[vf_nav_index(i, i)];
        run_sums.biases++;
        run_sums.biases_good += e[i] * e[i] <= 9 * variance;
    }
    const double off = window.offset_s - sim.option.offset_s;
    run_sums.offsets++;
    run_sums.offsets_good += off * off <= 9 * window.covariance[15 * WIDTH + 15];
    run_sums.offset_square = off * off;
}

static void gather(int good)
{
    sums.runs++;
    sums.steps += run_sums.steps;
    sums.seconds += run_sums.seconds;
    if (!good) {
        sums.lost++;
        return;
    }
    sums.frames += run_sums.frames;
    for (int i = 0; i < 2; i++) sums.square[i] += run_sums.square[i];
    sums.worst = fmax(sums.worst, sqrt(run_sums.square[0] / fmax(1, run_sums.frames)));
    sums.end += run_sums.end * run_sums.end;
    sums.yaw += run_sums.yaw * run_sums.yaw;
    sums.keyframes += run_sums.keyframes;
    sums.distance += run_sums.distance;
    for (int f = 0; f < SIM_FRAMES; f++) {
        sums.count[f] += run_sums.count[f];
        for (int i = 0; i < KINDS; i++) sums.nees[i][f] += run_sums.nees[i][f];
    }
    sums.biases += run_sums.biases, sums.biases_good += run_sums.biases_good;
    sums.offsets += run_sums.offsets, sums.offsets_good += run_sums.offsets_good;
    sums.offset_square += run_sums.offset_square;
}

/** Flies once. Returns 0 if the flight was lost. */
static int fly(FILE *csv, FILE *dump)
{
    vfront_nav_t nav;
    const struct vf_vio_rig rig = sim_rig(1);
    struct trajectory_state now, last;
    uint64_t before_ns = SIM_START_NS;
    int good = 1;
    memset(&run_sums, 0, sizeof run_sums);
    sim_first(&sim, &nav);
    if (dump) dump_head(dump, &nav);
    vf_vio_start(&window, &rig, &sim.noise, &nav);
    trajectory_at(&sim.trajectory, sim_time(&sim, SIM_START_NS), &last);
    for (int k = 0; good && k < sim.frames; k++) {
        if (!sim_frame(&sim, k, &frame)) continue;
        trajectory_at(&sim.trajectory, sim_time(&sim, frame.stamp_ns), &now);
        for (int i = 0; i < 3; i++) last.p[i] -= now.p[i];
        run_sums.distance += length(last.p);
        last = now;
        feed(before_ns);
        before_ns = frame.stamp_ns;
        vf_vio_nav(&window, &work, &nav);
        if (dump) dump_frame(dump, &nav);
        if (csv) csv_line(csv, &nav);
        good = add_errors(k, &nav);
    }
    if (good) add_end_errors(&nav);
    return good;
}

/** File name of a trajectory without its folders. */
static const char *short_name(const char *trajectory)
{
    const char *slash = strrchr(trajectory, '/');
    return slash ? slash + 1 : trajectory;
}

static void print_head(void)
{
    printf("%-34s %4s %4s | %8s %8s %7s | %7s | %8s %7s %6s | %-12s %-12s %-12s %-12s | %5s %5s %8s | %6s\n",
           "scenario", "runs", "lost", "position", "worst", "end %", "att deg", "drift cm", "yaw deg", "keys",
           "NEES pos 3", "attitude 3", "all 15", "v, bias 9", "bias", "time", "off ms", "ms");
}

static void print_sums(const char *title)
{
    const int good = sums.runs - sums.lost, frames = sums.frames ? sums.frames : 1;
    printf("%-34.34s %4d %4d | %8.4f %8.4f %7.3f | %7.4f | %8.3f %7.4f %6.0f |", title, sums.runs, sums.lost,
           sqrt(sums.square[0] / frames), sums.worst,
           sums.distance > 0.1 ? 100 * sqrt(sums.end / fmax(1, good)) / (sums.distance / fmax(1, good)) : 0,
           sqrt(sums.square[1] / frames) * 57.29577951308232, 100 * sqrt(sums.end / fmax(1, good)),
           57.29577951308232 * sqrt(sums.yaw / fmax(1, good)), sums.keyframes / fmax(1, good));
    for (int i = 0; i < KINDS; i++) {
        double share;
        const double mean = nees(i, &share);
        printf(" %6.2f (%3.0f)", mean, 100 * share);
    }
    printf(" | %5.3f %5.3f %8.4f | %6.2f\n", sums.biases ? (double)sums.biases_good / sums.biases : 0,
           sums.offsets ? (double)sums.offsets_good / sums.offsets : 0, 1e3 * sqrt(sums.offset_square / fmax(1, good)),
           1e3 * sums.seconds / fmax(1, sums.steps));
    fflush(stdout);
}

/** Opens a file for writing if a name is given. Returns 0 if that fails. */
static int open_for(FILE **file, const char *name)
{
    *file = name ? fopen(name, "w") : NULL;
    if (name && !*file) fprintf(stderr, "simulate: cannot write %s\n", name);
    return !name || *file;
}

/** Flies one scenario. Returns 0 if trajectory or rig is unknown, or a file cannot be written. */
static int scenario(const char *title)
{
    FILE *csv, *dump;
    struct sim_options o = chosen;
    memset(&sums, 0, sizeof sums);
    if (!open_for(&csv, mode.csv) || !open_for(&dump, mode.dump)) return 0;
    if (csv) csv_head(csv);
    for (int run = 0; run < (int)mode.runs; run++) {
        o.seed = chosen.seed + run;
        if (!sim_start(&sim, &o)) {
            fprintf(stderr, "simulate: no path %s of more than a second, or no rig %s\n", o.trajectory, o.rig);
            return 0;
        }
        gather(fly(run ? NULL : csv, run ? NULL : dump));
        fprintf(stderr, "\r%s: %d of %d, %d lost ", title, run + 1, (int)mode.runs, sums.lost);
    }
    fprintf(stderr, "\r%60s\r", "");
    if (csv) fclose(csv);
    if (dump) fclose(dump);
    print_sums(title);
    return 1;
}

/* ---- table of scenarios ------------------------------------------------------------------------------------------ */

/** Scenarios of --all: title, trajectory, options. Recorded trajectories are in the data folder. --drawn draws
 *  calibration errors; an exact calibration gives errors below the covariance, which allows for calibration errors. */
static const struct {
    const char *title, *trajectory;
    char *word[10];
} table[] = {
    {"eight", "eight", {"--drawn"}},
    {"eight, calibration exact", "eight", {NULL}},
    {"MH_03", "euroc_MH_03.txt", {"--drawn", "--from", "20"}},
    {"V1_02", "euroc_V1_02.txt", {"--drawn", "--from", "20"}},
    {"V2_02", "euroc_V2_02.txt", {"--drawn", "--from", "20"}},
    {"infinite_fast", "kaist_infinite_fast.txt", {"--drawn", "--from", "65"}},
    {"circle_head", "kaist_circle_head.txt", {"--drawn", "--from", "65"}},
    {"road, 0.54 m, 10 Hz", "road", {"--drawn", "--rig", "kitti", "--near", "5", "--far", "60"}},
    {"hover", "hover", {"--drawn", "--life", "60"}},
    {"stand", "stand", {"--drawn", "--life", "60"}},
    {"straight", "straight", {"--drawn"}},
    {"turn on the spot", "turn", {"--drawn"}},
    {"eight, one camera", "eight", {"--drawn", "--rig", "mono"}},
    {"MH_03, one camera", "euroc_MH_03.txt", {"--drawn", "--from", "20", "--rig", "mono"}},
    {"eight, 1 px", "eight", {"--drawn", "--pixel", "1"}},
    {"eight, IMU noise x 10", "eight", {"--drawn", "--imu-noise", "10"}},
    {"eight, time offset 5 ms", "eight", {"--offset-ms", "5"}},
    {"eight, time offset -5 ms", "eight", {"--offset-ms", "-5"}},
    {"eight, 10 % outliers", "eight", {"--drawn", "--outliers", "0.1"}},
    {"eight, 20 % move", "eight", {"--drawn", "--moving", "0.2"}},
    {"eight, tracks drift 0.1 px", "eight", {"--drawn", "--walk", "0.1"}},
    {"eight, partners' places", "eight", {"--place"}},
    {"eight, vibration 5 m/s2", "eight", {"--drawn", "--vibration", "5"}},
    {"eight, mounting off 0.5 deg", "eight", {"--extrinsics", "0.5"}},
    {"eight, mounting off 1 cm", "eight", {"--lever", "0.01"}},
    {"eight, stereo off 0.05 deg", "eight", {"--stereo", "0.05"}},
    {"eight, focal length off 0.5 %", "eight", {"--focal", "0.005"}},
    {"eight, shutter 30 us a row", "eight", {"--drawn", "--row-us", "30"}},
    {"V1_02, shutter 30 us a row", "euroc_V1_02.txt", {"--drawn", "--from", "20", "--row-us", "30"}},
    {"eight, 30 us a row, not told", "eight", {"--row-us", "30", "--unmodelled"}},
    {"eight, camera 1 turned 0.2 deg", "eight", {"--turned", "0.2", "--turn-urad", "5000"}},
    {"eight, camera 1's turn drawn", "eight", {"--drawn", "--turn-urad", "5000"}},
    {"eight, turned 0.2 deg, held", "eight", {"--turned", "0.2"}},
    {"eight, black 8 to 8.5 s", "eight", {"--drawn", "--blackout", "8,8.5"}},
    {"eight, black 8 to 10 s", "eight", {"--drawn", "--blackout", "8,10"}},
    {"eight, 1 % of frames missing", "eight", {"--drawn", "--dropped", "0.01"}},
    {"eight, no readings 8 to 8.1 s", "eight", {"--drawn", "--gap", "8,8.1"}},
    {"eight, camera 1 late 5 to 15 s", "eight", {"--drawn", "--late", "5,15"}},
    {"MH_03, camera 1 late 5 to 15 s", "euroc_MH_03.txt", {"--drawn", "--from", "20", "--late", "5,15"}},
    {"V1_02, camera 1 late 5 to 15 s", "euroc_V1_02.txt", {"--drawn", "--from", "20", "--late", "5,15"}},
    {"eight, no readings 8 to 10 s", "eight", {"--drawn", "--gap", "8,10"}},
    {"eight, no readings after 1 s", "eight", {"--drawn", "--gap", "1,1000"}},
    {"MH_03, no readings after 1 s", "euroc_MH_03.txt", {"--drawn", "--from", "20", "--gap", "1,1000"}},
    {"V1_02, no readings after 1 s", "euroc_V1_02.txt", {"--drawn", "--from", "20", "--gap", "1,1000"}},
    {"road, no readings after 1 s",
     "road",
     {"--drawn", "--rig", "kitti", "--near", "5", "--far", "60", "--gap", "1,1000"}},
};

/** Folder of recorded trajectories. */
static const char *folder(void)
{
    const char *data = getenv("VFRONT_DATA");
    return data ? data : "../shared/data";
}

/** 1 if --only selects the scenario. */
static int is_wanted(const char *title)
{
    if (!mode.only) return 1;
    return *mode.only == '=' ? !strcmp(title, mode.only + 1) : strstr(title, mode.only) != NULL;
}

static void print_titles(void)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (is_wanted(table[i].title)) puts(table[i].title);
}

static int scenarios(int n, char *const *word)
{
    const struct sim_options defaults = chosen;
    int flown = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (!is_wanted(table[i].title)) continue;
        int words = 0;
        const int file = strstr(table[i].trajectory, ".txt") != NULL;
        FILE *there;
        chosen = defaults;
        while (words < 10 && table[i].word[words]) words++;
        snprintf(chosen.trajectory, sizeof chosen.trajectory, "%s%s%s", file ? folder() : "",
                 file ? "/trajectories/" : "", table[i].trajectory);
        there = file ? fopen(chosen.trajectory, "r") : NULL;
        if (file && !there) {
            printf("%-34.34s skipped: no %s\n", table[i].title, chosen.trajectory);
            continue;
        }
        if (there) fclose(there);
        if (!options(words, table[i].word) || !options(n, word) || !scenario(table[i].title)) return 1;
        flown++;
    }
    if (!flown) fprintf(stderr, "simulate: no scenario was flown; the titles are those of --all\n");
    return !flown;
}

int main(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help")) return help();
    chosen = sim_defaults();
    mode.runs = 50;
    if (!options(argc - 1, argv + 1)) return 2;
    if (mode.titles) return print_titles(), 0;
    print_head();
    if (!mode.all) return !scenario(short_name(chosen.trajectory));
    chosen = sim_defaults();
    return scenarios(argc - 1, argv + 1);
}
