/* SPDX-License-Identifier: MIT */
#include "summary.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calibration.h"
#include "loops.h"
#include "outputs.h"
#include "results.h"
#include "state_print.h"

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/** FNV-1a hash over the digests of all frames. */
static void add_digest(struct summary *t, uint64_t digest)
{
    if (!t->frames) t->digest = 0xcbf29ce484222325u;
    for (int i = 0; i < 8; i++) t->digest = (t->digest ^ (digest >> 8 * i & 255)) * 0x100000001b3u;
}

static int add_times(struct summary *t, const vfront_timing_t *timing)
{
    if (t->frames == t->capacity) {
        const size_t capacity = t->capacity ? 2 * t->capacity : 1024;
        struct frame_times *more = realloc(t->frame_times, capacity * sizeof *more);
        if (!more) return 0;
        t->frame_times = more;
        t->capacity = capacity;
    }
    struct frame_times *m = &t->frame_times[t->frames];
    m->step_us = timing->step_us;
    m->device_us = timing->device_us;
    memcpy(m->stage_us, timing->stage_us, sizeof m->stage_us);
    return 1;
}

static void add_depths(struct summary *t, const vfront_result_t *r)
{
    t->depths += r->depths_count;
#if VFRONT_STEREO
    for (uint32_t i = 0; i < r->depths_count; i++) {
        uint32_t bits;
        memcpy(&bits, &r->depths[i].depth_m, sizeof bits);
        t->depth_bin[(bits & 0x7fffffffu) >> SUMMARY_DEPTH_SHIFT]++;
    }
#endif
}

static void add_disparities_and_stixels(struct summary *t, const vfront_result_t *r)
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
    for (int i = 0; i < VFRONT_OBSTACLE_BINS && r->columns_count; i++) {
        const uint32_t cm = r->obstacles_cm[i];
        if (cm && cm <= t->far_cm && (!t->nearest_cm || cm < t->nearest_cm)) t->nearest_cm = cm;
    }
    for (uint32_t i = 0; i < r->columns_count; i++) t->stixels += r->stixels_count[i];
#endif
}

static void add_loops(struct summary *t, const vfront_result_t *r)
{
    t->keyframes += r->keyframe;
    t->keyframes_held = r->keyframes_count;
#if VFRONT_MAP
    int accepted = 0;
    for (uint32_t i = 0; i < r->loops_count; i++) {
        t->loops[r->loops[i].state]++;
        accepted |= r->loops[i].state == VFRONT_LOOP_ACCEPTED;
    }
    t->frames_looped += (uint64_t)accepted;
#endif
}

/** Steps that lost three of four tracks, or without tracks nine of ten key points. Sequences follow more than half of
 *  their tracks and a fourth of their key points, also at ten pictures a second; pictures of different places 2 %. */
static void add_step(struct summary *t, const vfront_result_t *r)
{
    const uint32_t tracks = t->tracks_before, points = t->keypoints_before;
    if (r->frame && tracks) {
        t->steps++;
        t->steps_lost += 4 * r->health.followed < tracks;
    } else if (r->frame && points && t->matches_wanted) {
        t->steps++;
        t->steps_lost += 10 * r->matches_count < points;
    }
    t->tracks_before = r->tracks_count;
    t->keypoints_before = r->keypoints_count[0];
}

int summary_no_sequence(const struct summary *t) { return t->steps >= 2 && 2 * t->steps_lost >= t->steps; }

int summary_add(struct summary *t, const vfront_result_t *r)
{
    const vfront_health_t *h = &r->health;
    if (!add_times(t, &r->timing)) return 0;
    add_digest(t, vfront_digest(r));
    add_step(t, r);
    add_depths(t, r);
    add_disparities_and_stixels(t, r);
    add_loops(t, r);
    if (h->state != VFRONT_STARTING) { /* the first frames have no tracks to follow */
        if (!t->quality || h->quality < t->quality_min) t->quality_min = h->quality;
        t->quality += h->quality;
    }
    t->frames++;
    t->alive += r->tracks_count;
    t->born += h->born;
    t->overflow += h->overflow;
    t->gaps += h->gap;
    t->gyro_short += h->gyro_short;
    for (uint32_t i = 0; i < RESULTS_IMU_FAULTS; i++) t->imu_faults[i] += h->imu >> i & 1;
    t->calibration += h->calibration;
    t->motion_breaks = h->motion_breaks;
    t->reset_counter = h->reset_counter;
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

void summary_refuse(struct summary *t, vfront_status_t status)
{
    if (status < 0 && status > -SUMMARY_STATUSES) t->refused[-status]++;
}

uint32_t summary_refused(const struct summary *t)
{
    uint32_t sum = 0;
    for (int i = 0; i < SUMMARY_STATUSES; i++) sum += t->refused[i];
    return sum;
}

/* ---- table ------------------------------------------------------------------------------------------------------- */

static double mean(uint64_t sum, uint64_t count) { return count ? (double)sum / (double)count : 0.0; }

static int compare_times(const void *a, const void *b)
{
    const float one = *(const float *)a, other = *(const float *)b;
    return (one > other) - (one < other);
}

/** Percentile of a time over the frames [us]. `column` is the offset of a float in struct frame_times. */
static double percentile(const struct summary *t, size_t column, unsigned percent)
{
    float *sorted = malloc(t->frames * sizeof *sorted);
    if (!sorted) return 0.0;
    for (size_t i = 0; i < t->frames; i++)
        memcpy(&sorted[i], (const char *)&t->frame_times[i] + column, sizeof *sorted);
    qsort(sorted, t->frames, sizeof *sorted, compare_times);
    const size_t rank = (t->frames * percent + 99) / 100;
    const double time_us = (double)sorted[rank ? rank - 1 : 0];
    free(sorted);
    return time_us;
}

double summary_median_step_us(const struct summary *t)
{
    return percentile(t, offsetof(struct frame_times, step_us), 50);
}

/** by_interval: the deadline is the time between frames. */
static void print_times(const struct options *o, const struct summary *t, int by_interval)
{
    static const size_t column[] = {offsetof(struct frame_times, step_us), offsetof(struct frame_times, device_us)};
    static const char *const name[] = {"step", "device"};
    for (int i = 0; i < 2; i++)
        printf("%-12s p50 %.0f us, p99 %.0f us, max %.0f us\n", name[i], percentile(t, column[i], 50),
               percentile(t, column[i], 99), percentile(t, column[i], 100));
    printf("%-12s", "stages, p50");
    for (size_t i = 0; i < VFRONT_STAGES; i++)
        printf("%s %s %.0f us", i ? "," : "", vfront_stage_name(i),
               percentile(t, offsetof(struct frame_times, stage_us) + i * sizeof(float), 50));
    printf("\n%-12s %" PRIu64 " of %" PRIu64 " steps, over deadline_us: %" PRId32 " us", "overruns", t->overruns,
           t->frames, o->tuning.deadline_us);
    if (by_interval)
        printf(", the time between frames; %.3g frames a second are followed",
               1e6 / percentile(t, offsetof(struct frame_times, step_us), 99));
    putchar('\n');
}

/** Lens model of a camera, in words. */
static void print_lens(const vfront_camera_t *c)
{
    double square = 0.0;
    for (int i = 0; i < 8; i++) square += c->distortion[i] * c->distortion[i];
    if (c->fx_px == 0.0)
        printf("not calibrated\n");
    else
        printf("calibrated, %s%s\n", vfront_lens_name(c->lens), square > 0.0 ? "" : " without distortion");
}

static void print_rig(const dataset_t *d, const struct options *o, const vfront_rig_t *rig)
{
    for (int32_t i = 0; i < rig->cameras; i++) {
        printf("camera %-5" PRId32 " %" PRId32 "x%" PRId32 " px, ", i, rig->camera[i].width_px,
               rig->camera[i].height_px);
        print_lens(&rig->camera[i]);
    }
    const double baseline_m = calibration_baseline_m(rig);
    if (baseline_m > 0.0) printf("%-12s %.5f m\n", "baseline", baseline_m);
    printf("%-12s %s%s\n", "gyro",
           !dataset_has_gyro(d) ? "none"
           : o->no_gyro         ? "not used"
                                : "used",
           !dataset_has_imu(d)       ? ""
           : rig->imu.rate_hz == 0.0 ? ", that of an IMU; its noise is not known"
                                     : ", that of an IMU");
}

static void print_tracks(const struct options *o, const struct summary *t)
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
        printf("%s %s %" PRIu64, i > 1 ? "," : "", results_end_name(i), t->ended[i]);
    putchar('\n');
}

/** Means over the frames. */
static void print_keypoints(const struct summary *t, const vfront_info_t *info, int32_t cameras)
{
    for (int32_t i = 0; i < cameras; i++) {
        printf("%-12s camera %" PRId32 ": %.1f in %" PRId32 " cells", i ? "" : "key points", i,
               mean(t->keypoints[i], t->frames), info->cells[i]);
        printf(", %.1f dropped, %.1f descriptors\n", mean(t->dropped[i], t->frames),
               mean(t->descriptors[i], t->frames));
    }
}

/** Median depth over all frames [m], from the histogram. */
static double median_depth_m(const struct summary *t)
{
    uint64_t sum = 0;
    uint32_t bin = 0;
    while (bin < SUMMARY_DEPTH_BINS - 1 && (sum += t->depth_bin[bin]) * 2 < t->depths) bin++;
    const uint32_t bits = bin << SUMMARY_DEPTH_SHIFT | 1u << (SUMMARY_DEPTH_SHIFT - 1); /* the middle of the bin */
    float depth_m;
    memcpy(&depth_m, &bits, sizeof depth_m);
    return (double)depth_m;
}

/** Means over the frames. */
static void print_depths_and_matches(const struct options *o, const struct summary *t, const vfront_rig_t *rig)
{
    const char *why = outputs_no_depth(o, rig);
    printf("%-12s ", "partners");
    if (why)
        printf("no depths: %s", why);
    else
        printf("%.1f depths", mean(t->depths, t->frames));
    if (t->depths) printf(" with a median of %.3g m", median_depth_m(t));
    if (outputs_has_matches(o))
        printf("; %.1f matches\n", mean(t->matches, t->frames));
    else
        puts("; no matches");
}

static void print_motion(const struct options *o, const vfront_rig_t *rig, const motion_t *motion)
{
    const char *why = outputs_no_motion(o, rig);
    if (why)
        printf("%-12s none: %s\n", "motion", why);
    else
        motion_print(motion);
}

static void print_states(const struct options *o, const dataset_t *d, const states_t *states,
                         const state_accuracy_t *accuracy)
{
    const char *why = outputs_no_state(o, d);
    if (why)
        printf("%-12s none: %s\n", "state", why);
    else
        state_print(states, accuracy, dataset_has_velocity(d));
}

/** Keyframes and loops, if switched on. */
static void print_loops(const struct options *o, const struct summary *t)
{
    if (!VFRONT_MAP || !o->tuning.map) return;
    printf("%-12s %" PRIu64 " keyframes, %" PRIu32 " held at the end; loops in %.1f %% of the frames:", "places",
           t->keyframes, t->keyframes_held, 100.0 * mean(t->frames_looped, t->frames));
    for (uint32_t i = VFRONT_LOOP_ACCEPTED; i <= VFRONT_LOOP_ALONE; i++)
        printf("%s %" PRIu64 " %s", i == VFRONT_LOOP_ACCEPTED ? "" : ",", t->loops[i], loops_state_name(i));
    putchar('\n');
}

/** Disparities and stixels, if switched on. */
static void print_disparities_and_stixels(const struct options *o, const struct summary *t)
{
    if (VFRONT_DENSE && o->tuning.dense)
        printf("%-12s %.1f %% of the pixels, in the mean\n", "disparity", 100.0 * mean(t->disparities, t->pixels));
    if (outputs_no_stixels(o)) return;
    printf("%-12s seen %" PRIu64 ", held %" PRIu64 ", given %" PRIu64 ", none %" PRIu64
           "; %.1f stixels, %.1f columns crowded\n",
           "road", t->road[VFRONT_ROAD_SEEN], t->road[VFRONT_ROAD_HELD], t->road[VFRONT_ROAD_GIVEN],
           t->road[VFRONT_ROAD_NONE], mean(t->stixels, t->frames), mean(t->crowded, t->frames));
}

/** Faults of the input, and refused frames by status; nothing without either. */
static void print_faults(const struct options *o, const struct summary *t)
{
    if (o->fault)
        printf("%-12s %s: %" PRIu32 " frames of the input, %" PRIu32 " of them dropped, %" PRIu32 " duplicated\n",
               "faults", o->fault, t->faulty, t->not_delivered, t->twice);
    if (!summary_refused(t)) return;
    printf("%-12s %" PRIu32 " frames:", "refused", summary_refused(t));
    for (int i = 0, listed = 0; i < SUMMARY_STATUSES; i++)
        if (t->refused[i])
            printf("%s %s %" PRIu32, listed++ ? "," : "", vfront_status_name((vfront_status_t)-i), t->refused[i]);
    putchar('\n');
}

/** Faults of the IMU, if there were any. */
static void print_imu(const struct summary *t)
{
    uint32_t listed = 0;
    for (uint32_t i = 0; i < RESULTS_IMU_FAULTS; i++)
        if (t->imu_faults[i])
            printf("%s %s in %" PRIu64, listed++ ? "," : "imu         ", results_imu_fault_name(i), t->imu_faults[i]);
    if (listed) puts(" frames");
}

static void print_health(const struct summary *t)
{
    printf("%-12s", "health");
    for (uint32_t i = 0; i < 4; i++) printf(" %s %" PRIu64 ",", results_state_name(i), t->state[i]);
    printf(" gaps %" PRIu64, t->gaps);
    if (t->frames > t->state[VFRONT_STARTING])
        printf("; quality %.1f, least %" PRIu32, mean(t->quality, t->frames - t->state[VFRONT_STARTING]),
               t->quality_min);
    putchar('\n');
    printf("%-12s reset counter %" PRIu32 ", motion breaks %" PRIu32 ", gyro short in %" PRIu64 " frames\n", "",
           t->reset_counter, t->motion_breaks, t->gyro_short);
    print_imu(t);
}

/** A calibration that does not fit the pictures, and what to do. */
static void print_calibration(const struct summary *t)
{
    if (!t->calibration) return;
    printf("%-12s does not fit the pictures, in %" PRIu64 " of %" PRIu64
           " frames: matches of both cameras lie anywhere, "
           "not on epipolar lines.\n",
           "CALIBRATION", t->calibration, t->frames);
    printf("%-12s Check: is it the file of this rig and of this picture size? Left and right in order? Pictures of one "
           "time? Nothing nearer than stereo_disparity_px allows?\n",
           "");
}

void summary_print(const vfront_t *vf, const struct options *o, const dataset_t *d, const struct summary *t,
                   const motion_t *motion, const states_t *states, const state_accuracy_t *accuracy)
{
    vfront_info_t info;
    const vfront_rig_t *rig = dataset_rig(d);
    vfront_info(vf, &info);
    printf("%-12s %s (%s), %" PRIu64 " frames\n", "dataset", o->dataset, dataset_kind(d), t->frames);
    print_rig(d, o, rig);
    print_faults(o, t);
    printf("%-12s %s: %s", "port", info.port == VFRONT_PORT_CUDA ? "cuda" : "host", info.device);
    if (t->failed_over) printf("; the host port took over for %" PRIu32 " frames", t->failed_over);
    putchar('\n');
    printf("%-12s %" PRId32 " for tracks, %" PRId32 " for key points\n", "levels", info.levels, info.scales);
    print_tracks(o, t);
    print_keypoints(t, &info, rig->cameras);
    print_depths_and_matches(o, t, rig);
    print_motion(o, rig, motion);
    print_states(o, d, states, accuracy);
    print_loops(o, t);
    print_disparities_and_stixels(o, t);
    print_health(t);
    print_calibration(t);
    print_times(o, t, info.port == VFRONT_PORT_HOST && !options_sets(o, "deadline_us") && !dataset_recording(d));
    printf("%-12s host %.1f MB, pinned %.1f MB, device %.1f MB\n", "memory", (double)info.host_bytes * 1e-6,
           (double)info.pinned_bytes * 1e-6, (double)info.device_bytes * 1e-6);
    printf("%-12s %016" PRIx64 "\n", "digest", t->digest);
}

void summary_free(struct summary *t) { free(t->frame_times); }
