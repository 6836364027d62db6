/* SPDX-License-Identifier: MIT */
/* Endless flight past landmarks drawn without images (map_flight.h). Once the ring of keyframes is full nothing grows,
 * however long the flight.
 *   endless [STEPS] [KIND] [EVERY]    STEPS: frames, 10^6, at least 2,000; KIND: 1 metric motions, 2 estimator, 0 one
 *                                     camera, 3 random descriptors, for which no loop is right; standard 1
 * Every EVERY frames (20,000, or a fifth of the flight) 5 % of the landmarks change their descriptors and the motion
 * from the previous frame is unknown, so that a new chain begins.
 *
 * A row covers a hundredth of the flight (a tenth below 100,000 frames): keyframes in the ring, chains among them,
 * frames with an accepted loop [%], accepted loops off by more than 0.15 m or 8 degrees, largest error [m] [deg];
 * frames with a known pose in the map [%], its position error [m, RMS], squared error over variance of an axis (1 is
 * right); processor time per frame of the five stages: median, largest [us], pages of the process, digest of poses and
 * loops so far.
 *
 * The program fails if a loop is wrong, if map errors exceed NEES times their variance in a row, if the ring is not
 * full at the end or overflows, or if the process grows. It also fails if the median of the last tenth exceeds that of
 * the first full tenth by half (100,000 frames and more), or if frames repeated from the same memory give other
 * bytes. */
#define _POSIX_C_SOURCE 200809L
#include "tests/fixture/stage.h"

#include <inttypes.h>
#include <time.h>

#if VFRONT_MAP

#include "map_flight.h"

#define WRONG_M 0.15
#define WRONG_DEG 8.0
#define EVENT 20000 /* most frames between two changes of the hall */
#define AGAIN 50    /* frames that are repeated */
#define SLOWER 1.5
#define NEES 3.0

static uint64_t event_every;
static struct map_flight flight, flight_then;
static struct vf_memory memory_then;

/** Values of a row. */
struct row {
    uint32_t steps, accepted, wrong, placed;
    double worst_m, worst_deg, square_m2, nees;
};

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static long pages(void)
{
    long all = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    if (f && fscanf(f, "%ld", &all) != 1) all = 0;
    if (f) fclose(f);
    return all;
}

static uint64_t mix(uint64_t digest, const void *data, size_t bytes)
{
    for (const uint8_t *at = data; bytes; bytes--) digest = (digest ^ *at++) * 0x100000001b3ull;
    return digest;
}

/** Errors of a loop against the true pose. */
static void loop_errors(const vfront_loop_t *l, double *off_m, double *off_deg)
{
    struct map_flight then = {.frame = l->frame, .lap = flight.lap};
    double R[9], p[3], square = 0.0, turn = 0.0;
    map_pose(&then, R, p);
    for (int i = 0; i < 3; i++) {
        double t = 0.0;
        for (int n = 0; n < 3; n++) t += flight.R[3 * n + i] * (p[n] - flight.p[n]);
        if (l->kind == VFRONT_LOOP_METRIC) square += (t - (double)l->t[i]) * (t - (double)l->t[i]);
        for (int k = 0; k < 3; k++) {
            double r = 0.0;
            for (int n = 0; n < 3; n++) r += flight.R[3 * n + i] * R[3 * n + k];
            turn += (r - (double)l->R[3 * i + k]) * (r - (double)l->R[3 * i + k]);
        }
    }
    *off_m = sqrt(square);
    *off_deg = 2.0 * asin(fmin(1.0, sqrt(turn / 8.0))) * 57.29577951308232;
}

/** Error of the position in the map, added to a row. Map axes are those of the first camera, or of the hall. */
static void map_error(struct row *row)
{
    const struct map_flight first = {.lap = flight.lap};
    vfront_map_t output;
    double R0[9], p0[3], R[9], p[3], square = 0.0;
    vf_map_result(&memory.map, &memory.keyframe, step.geometry.active, step.parity, &output);
    if (output.state != VFRONT_MAP_GOOD || !(output.sigma_m > 0.0)) return;
    map_pose(&first, R0, p0);
    vf_quaternion_matrix(output.q_map_odom, R);
    vf_transform_double(R, output.position_m, p);
    for (int k = 0; k < 3; k++) {
        double want = flight.kind == MAP_NAV ? flight.p[k] : 0.0;
        for (int n = 0; n < 3 && flight.kind != MAP_NAV; n++) want += R0[3 * n + k] * (flight.p[n] - p0[n]);
        square += (p[k] + output.t_map_odom_m[k] - want) * (p[k] + output.t_map_odom_m[k] - want);
    }
    row->placed++;
    row->square_m2 += square;
    row->nees += square / (3.0 * output.sigma_m * output.sigma_m);
}

/** One frame. time_us: processor time of the stages. */
static void run_step(struct row *row, uint64_t *digest, double *time_us)
{
    const int event = flight.frame && flight.frame % event_every == 0;
    int accepted = 0;
    flight.changed_percent = event ? 5 : 0;
    map_frame(&flight, &step);
    if (event) memory.ego.metric.state = memory.ego.relative.state = VFRONT_MOTION_NONE;
    const double from = now_us();
    map_stages(&step);
    *time_us = now_us() - from;
    for (uint32_t i = 0; i < memory.loop.count; i++) {
        const vfront_loop_t *l = &memory.loop.loop[i];
        double m, deg;
        if (l->state != VFRONT_LOOP_ACCEPTED) continue;
        loop_errors(l, &m, &deg);
        accepted = 1;
        row->wrong += flight.kind == MAP_NONSENSE || m > WRONG_M || deg > WRONG_DEG;
        row->worst_m = fmax(row->worst_m, m);
        row->worst_deg = fmax(row->worst_deg, deg);
    }
    map_error(row);
    row->accepted += (uint32_t)accepted;
    row->steps++;
    *digest = mix(*digest, &memory.keyframe.now[step.parity], sizeof memory.keyframe.now[0]);
    *digest = mix(*digest, memory.loop.loop, memory.loop.count * sizeof *memory.loop.loop);
    map_next(&flight);
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/** Number of chains with keyframes. */
static uint32_t count_chains(void)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < VFRONT_KEYFRAMES; i++) {
        const struct vf_keyframe *own = &memory.keyframe.ring[i].head;
        int known = !own->used;
        for (uint32_t k = 0; k < i; k++)
            known |= memory.keyframe.ring[k].head.used && memory.keyframe.ring[k].head.pose.chain == own->pose.chain;
        count += !known;
    }
    return count;
}

/** Frames repeated from the same memory give the same bytes. */
static int same_again(void)
{
    struct row row = {0};
    double us;
    uint64_t first = 0, second = 0;
    memory_then = memory;
    flight_then = flight;
    const uint64_t dice_then = dice;
    for (int i = 0; i < AGAIN; i++) run_step(&row, &first, &us);
    const uint64_t ring = mix(0, memory.keyframe.ring, sizeof memory.keyframe.ring);
    memory = memory_then;
    flight = flight_then;
    dice = dice_then;
    for (int i = 0; i < AGAIN; i++) run_step(&row, &second, &us);
    return first == second && ring == mix(0, memory.keyframe.ring, sizeof memory.keyframe.ring);
}

int main(int argc, char **argv)
{
    const long steps = argc > 1 ? atol(argv[1]) : 1000000, rows = steps >= 100000 ? 100 : 10;
    const enum map_kind kind = argc > 2 ? (enum map_kind)atoi(argv[2]) : MAP_STEREO;
    uint64_t digest = 0xcbf29ce484222325ull;
    double early = 0.0, late = 0.0;
    uint32_t wrong = 0;
    long filled = -1, grown = 0, first_pages = 0;
    if (steps < 2000) return fprintf(stderr, "endless: at least 2,000 steps\n"), 2;
    event_every = steps / 5 < EVENT ? (uint64_t)(steps / 5) : EVENT;
    if (argc > 3) event_every = strtoull(argv[3], NULL, 10);
    if (!event_every) return 2;
    const long each = steps / rows;
    double *time = malloc((size_t)each * sizeof *time);
    if (!time) return 1;
    shake(77);
    map_begin(&flight, kind);
    map_geometry(&step, kind, &memory);
    printf("%9s %5s %5s %6s %5s %7s %6s %6s %7s %6s %8s %8s %7s  %s\n", "steps", "ring", "paths", "loops", "wrong",
           "worst m", "deg", "placed", "map m", "NEES", "us", "most us", "pages", "digest");
    for (long r = 0; r < rows; r++) {
        struct row row = {0};
        for (long i = 0; i < each; i++) run_step(&row, &digest, &time[i]);
        qsort(time, (size_t)each, sizeof *time, by_size);
        const uint32_t count = memory.keyframe.now[step.parity].count;
        const long held = pages();
        if (count == VFRONT_KEYFRAMES && filled < 0) filled = r + 1;
        if (filled == r) first_pages = held;
        if (filled >= 0 && r >= filled && r < filled + rows / 10) early += time[each / 2];
        if (r >= rows - rows / 10) late += time[each / 2];
        grown = filled >= 0 && r >= filled ? held - first_pages : 0;
        wrong += row.wrong;
        wrong += kind != MAP_NONSENSE && row.nees > NEES * row.placed;
        if (count > VFRONT_KEYFRAMES) wrong++;
        const double placed = row.placed ? row.placed : 1;
        printf("%9ld %5" PRIu32 " %5" PRIu32 " %6.1f %5" PRIu32
               " %7.3f %6.2f %6.1f %7.3f %6.2f %8.0f %8.0f %7ld  %016" PRIx64 "\n",
               (r + 1) * each, count, count_chains(), 100.0 * row.accepted / row.steps, row.wrong, row.worst_m,
               row.worst_deg, 100.0 * row.placed / row.steps, sqrt(row.square_m2 / placed), row.nees / placed,
               time[each / 2], time[each - 1], held, digest);
        fflush(stdout);
    }
    const int same = same_again(), full = filled >= 0 && filled + rows / 10 <= rows - rows / 10,
              slower = steps >= 100000 && late > SLOWER * early, bad = wrong || !full || grown > 0 || slower || !same;
    printf("%s: %" PRIu32
           " wrong, ring full from row %ld on, %ld pages more since, time of the last tenth %.2f of the first "
           "one behind that, steps done again %s\n",
           bad ? "FAILED" : "flat", wrong, filled, grown, early > 0.0 ? late / early : 0.0,
           same ? "the same bytes" : "other bytes");
    free(time);
    return bad;
}

#else

int main(void) { return 77; }

#endif
