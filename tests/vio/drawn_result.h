/* SPDX-License-Identifier: MIT */
/* Results of flights through drawn worlds: states beside the truth, frame by frame, summed up over a flight or over a
 * part of it. Include in one file only.
 *
 * A state is reported where vfront_nav_t.state is GOOD, COASTING or STEREO_ONLY. Its errors are those of vfront_nav_t:
 * differences to the truth at nav.t_ns. The truth is put at the first state, by position and yaw; by the whole
 * attitude, if that state does not know gravity, and anew at the first that does. Other estimates (nav.reset_counter)
 * stay in that frame: errors and deviations have what is lost. */
#ifndef DRAWN_RESULT_H
#define DRAWN_RESULT_H

#include "drawn_flight.h"

static struct flight flight;

static double black_s[2]; /* time in which the pictures are black [s] */

/** 1 if the pictures of frame k are black. */
static int is_black(int k)
{
    const double t = flight.frame_s[k] - flight.frame_s[0];
    return t >= black_s[0] && t < black_s[1];
}

/** What the cameras see, kept by the program: of this frame, and sums over all points of a flight. */
static struct {
    int in_view, of; /* points of the frame before that are still in view; all of them */
    double blur, log_depth, points;
} seen;

/** Results of a flight, or of a part of it: X(name, meaning). Shares and means are over frames with a state. */
/* clang-format off */
#define RESULTS(X) \
    X(frames, "frames that arrived") \
    X(from_s, "where it begins, after the first frame [s]") \
    X(until_s, "where it ends [s]") \
    X(interval_ms, "mean interval of these [ms]") \
    X(bias_mrad, "gyro bias times that interval [mrad]") \
    X(peak_accel, "largest acceleration of the flight [m/s^2]") \
    X(peak_rate, "largest angular rate of the flight [rad/s]") \
    X(distance_m, "length of the path [m]") \
    X(overlap, "mean share of points that are still in view in the next frame that arrives") \
    X(overlap_low, "share of frames with less than half of them") \
    X(blur_px, "mean length of blur of a track [px]") \
    X(age, "mean age at which tracks end [frames]") \
    X(tracks, "mean number of tracks of a frame") \
    X(depth_m, "geometric mean of the depths of points [m]") \
    X(first_s, "time of the first state since the first frame [s]; -1: never one") \
    X(reported, "frames with a state") \
    X(good, "frames GOOD") \
    X(coasting, "frames COASTING") \
    X(stereo_only, "frames STEREO_ONLY") \
    X(lost, "frames LOST") \
    X(resets, "states that replaced another one") \
    X(disputed, "frames DISPUTED") \
    X(one_camera, "frames ONE_CAMERA") \
    X(suspect, "frames in which the pair of cameras is SUSPECT") \
    X(imu_axes, "frames with VFRONT_IMU_AXES") \
    X(imu_degrees, "frames with VFRONT_IMU_IN_DEGREES") \
    X(imu_clock, "frames with VFRONT_IMU_CLOCK") \
    X(imu_other, "frames with another fault of the IMU but a gap") \
    X(metric, "frames with a GOOD metric motion") \
    X(prior, "frames in which the motion contradicts the rotation prior") \
    X(rms_m, "root mean square error of the position [m]") \
    X(rms_deg, "of the attitude [deg]") \
    X(rms_mps, "of the velocity [m/s]") \
    X(most_m, "largest error of the position [m]") \
    X(most_deg, "of the attitude [deg]") \
    X(end_m, "last error of the position [m]") \
    X(end_sigma_m, "its deviation, root of the sum over axes [m]") \
    X(end_deg, "last error of the yaw [deg]") \
    X(end_sigma_deg, "its deviation [deg]") \
    X(nees_p, "mean squared normalised error over degrees of freedom, position; 1 is right") \
    X(nees_a, "attitude") \
    X(nees_v, "velocity") \
    X(most_sigma, "largest error of an axis of position or attitude over its deviation") \
    X(off, "frames off by over 5 deviations and 5 cm or 2 degrees on an axis") \
    X(off_first_s, "time of the first of these since the first frame [s]; -1: none")
/* clang-format on */

#define RESULT_MEMBER(name, meaning) double name;
struct result {
    RESULTS(RESULT_MEMBER)
};
#define RESULT_NAME(name, meaning) #name,
static const char *const result_names[] = {RESULTS(RESULT_NAME)};
#define RESULT_MEANING(name, meaning) meaning,
static const char *const result_meanings[] = {RESULTS(RESULT_MEANING)};
enum { NUMBER_OF_RESULTS = sizeof result_names / sizeof *result_names };
_Static_assert(sizeof(struct result) == NUMBER_OF_RESULTS * sizeof(double), "a result is its numbers");

/** Histograms of error over deviation, each axis: of position, attitude, velocity; 20 bins a decade from 0.01 on. */
enum { KINDS = 3, BINS = 100 };
static long histogram[KINDS][BINS];

static struct result result;
static double square[KINDS], nees_sum[KINDS]; /* sums over frames with a state */
static double overlap, overlap_low, tracks;   /* sums over frames */

/** Tracks of the frame before, and sums over those that ended. */
static struct {
    uint32_t count;
    uint64_t id[VFRONT_TRACKS];
    uint32_t age[VFRONT_TRACKS];
    double ended, life_frames;
} followed;

/** How the truth is put into the odometry frame. */
static struct {
    int known;
    int free; /* 1: by a state that does not know gravity */
    double R[9], from[3], to[3];
} placed;

/* ---- errors ------------------------------------------------------------------------------------------------------ */

static void attitude_of(const vfront_nav_t *nav, double R[9])
{
    const double *q = nav->q_odom_imu, xyzw[4] = {q[1], q[2], q[3], q[0]};
    trajectory_rotation(xyzw, R);
}

/** Puts the truth at a state. */
static void place(const vfront_nav_t *nav, const struct trajectory_state *at)
{
    double E[9], M[9];
    attitude_of(nav, E);
    product(E, at->R, 1, M);
    if (!(nav->flags & VFRONT_NAV_NO_GRAVITY)) {
        const double yaw[3] = {0, 0, atan2(M[3] - M[1], M[0] + M[4])};
        rotation_of(yaw, M);
    }
    memcpy(placed.R, M, sizeof M);
    memcpy(placed.from, at->p, sizeof placed.from);
    memcpy(placed.to, nav->position_m, sizeof placed.to);
    placed.free = (nav->flags & VFRONT_NAV_NO_GRAVITY) != 0;
    placed.known = 1;
}

/** Errors true - estimated of frame k: position, attitude, velocity. A stamp outside the flight has the truth of its
 *  frame. */
static void errors_of(const vfront_nav_t *nav, int k_frame, double e[9])
{
    const double stated = 1e-9 * (double)(int64_t)(nav->t_ns - FLIGHT_EPOCH_NS);
    struct trajectory_state at;
    double R[9], E[9], p[3], v[3];
    flight_at(&flight, stated < 0 || stated > flight.trajectory.seconds ? flight.frame_s[k_frame] : stated, &at);
    if (!placed.known || (placed.free && !(nav->flags & VFRONT_NAV_NO_GRAVITY))) place(nav, &at);
    for (int k = 0; k < 3; k++) p[k] = at.p[k] - placed.from[k];
    rotate(placed.R, p, p);
    rotate(placed.R, at.v, v);
    product(placed.R, at.R, 0, R);
    attitude_of(nav, E);
    rotation_between(R, E, e + 3);
    for (int k = 0; k < 3; k++) {
        e[k] = p[k] + placed.to[k] - nav->position_m[k];
        e[6 + k] = v[k] - nav->velocity_mps[k];
    }
}

/** e' P^-1 e of three errors; huge if P is no covariance. */
static double normalised(const vfront_nav_t *nav, const double *e, int first)
{
    double L[3][3], y[3], sum = 0;
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j <= i; j++) {
            double a = nav->covariance[vf_nav_index(first + j, first + i)];
            for (int k = 0; k < j; k++) a -= L[i][k] * L[j][k];
            if (i == j && !(a > 0)) return 1e12;
            L[i][j] = i == j ? sqrt(a) : a / L[j][j];
        }
        y[i] = e[i];
        for (int k = 0; k < i; k++) y[i] -= L[i][k] * y[k];
        y[i] /= L[i][i];
        sum += y[i] * y[i];
    }
    return sum;
}

/** Root of the sum of three variances. */
static double deviation_of(const vfront_nav_t *nav, int first)
{
    double sum = 0;
    for (int c = first; c < first + 3; c++) sum += nav->covariance[vf_nav_index(c, c)];
    return sqrt(sum);
}

/** Adds the errors of a state. Returns 1 if it is off by over 5 deviations and 5 cm or 2 degrees. */
static int add_errors(const vfront_nav_t *nav, const double e[9])
{
    static const double least[KINDS] = {0.05, 2 * DEGREE, INFINITY};
    int off = 0;
    for (int c = 0; c < 9; c++) {
        const double z = fabs(e[c]) / sqrt(fmax(1e-30, nav->covariance[vf_nav_index(c, c)]));
        const int bin = z > 0.01 ? (int)(20 * log10(z / 0.01)) : 0;
        histogram[c / 3][bin < BINS ? bin : BINS - 1]++;
        if (c < 6) result.most_sigma = fmax(result.most_sigma, z);
        off |= z > 5 && fabs(e[c]) > least[c / 3];
    }
    for (int kind = 0; kind < KINDS; kind++) {
        square[kind] += dot(e + 3 * kind, e + 3 * kind);
        nees_sum[kind] += normalised(nav, e + 3 * kind, 3 * kind) / 3;
    }
    result.most_m = fmax(result.most_m, length(e));
    result.most_deg = fmax(result.most_deg, length(e + 3) / DEGREE);
    result.end_m = length(e);
    result.end_sigma_m = deviation_of(nav, 0);
    result.end_deg = fabs(e[5]) / DEGREE;
    result.end_sigma_deg = sqrt(nav->covariance[vf_nav_index(5, 5)]) / DEGREE;
    return off;
}
/* ---- states ------------------------------------------------------------------------------------------------------ */

static int is_reported(const vfront_nav_t *nav)
{
    return nav->state == VFRONT_NAV_GOOD || nav->state == VFRONT_NAV_COASTING || nav->state == VFRONT_NAV_STEREO_ONLY;
}

static void count_tracks(const vfront_result_t *r)
{
    for (uint32_t i = 0; i < followed.count; i++) {
        uint32_t k = 0;
        while (k < r->tracks_count && r->tracks[k].id != followed.id[i]) k++;
        if (k < r->tracks_count) continue;
        followed.ended++;
        followed.life_frames += followed.age[i] + 1;
    }
    followed.count = r->tracks_count;
    for (uint32_t i = 0; i < r->tracks_count; i++) followed.id[i] = r->tracks[i].id, followed.age[i] = r->tracks[i].age;
}

static void count_states(const vfront_result_t *r)
{
    const vfront_nav_t *nav = &r->nav;
    const uint32_t imu = r->health.imu;
    result.good += nav->state == VFRONT_NAV_GOOD;
    result.coasting += nav->state == VFRONT_NAV_COASTING;
    result.stereo_only += nav->state == VFRONT_NAV_STEREO_ONLY;
    result.lost += nav->state == VFRONT_NAV_LOST;
    result.resets = nav->reset_counter;
    result.disputed += is_reported(nav) && nav->flags & VFRONT_NAV_DISPUTED;
    result.one_camera += is_reported(nav) && nav->flags & VFRONT_NAV_ONE_CAMERA;
    result.suspect += r->health.stereo == VFRONT_STEREO_SUSPECT;
    result.imu_axes += (imu & VFRONT_IMU_AXES) != 0;
    result.imu_degrees += (imu & VFRONT_IMU_IN_DEGREES) != 0;
    result.imu_clock += (imu & VFRONT_IMU_CLOCK) != 0;
    result.imu_other += (imu & (VFRONT_IMU_MISSING | VFRONT_IMU_STUCK | VFRONT_IMU_ZERO | VFRONT_IMU_IN_G |
                                VFRONT_IMU_NO_GRAVITY | VFRONT_IMU_AHEAD)) != 0;
    result.metric += r->metric.state == VFRONT_MOTION_GOOD;
    tracks += r->tracks_count;
    count_tracks(r);
    result.prior += ((r->metric.flags | r->relative.flags) & VFRONT_MOTION_PRIOR) != 0;
}

/* ---- sums -------------------------------------------------------------------------------------------------------- */

/** Begins a part of a flight at frame `from`. Of the parts before, the first state stays, and the last errors. */
static void result_begin(int from)
{
    const struct result last = result;
    memset(&result, 0, sizeof result);
    memset(histogram, 0, sizeof histogram);
    memset(square, 0, sizeof square);
    memset(nees_sum, 0, sizeof nees_sum);
    memset(&seen, 0, sizeof seen);
    overlap = overlap_low = tracks = followed.ended = followed.life_frames = 0;
    result.first_s = result.off_first_s = -1;
    result.from_s = flight.frame_s[from] - flight.frame_s[0];
    if (!from) {
        placed.known = 0;
        followed.count = 0;
        return;
    }
    result.first_s = last.first_s, result.off_first_s = last.off_first_s;
    result.end_m = last.end_m, result.end_sigma_m = last.end_sigma_m;
    result.end_deg = last.end_deg, result.end_sigma_deg = last.end_sigma_deg;
}

/** Adds frame k. e: its errors, 0 without a state. Returns 1 if it is off. */
static int result_add(int k, const vfront_result_t *r, double e[9])
{
    const double t = flight.frame_s[k] - flight.frame_s[0], share = seen.of ? (double)seen.in_view / seen.of : 1;
    int off = 0;
    memset(e, 0, 9 * sizeof *e);
    overlap += k ? share : 0;
    overlap_low += k && share < 0.5;
    count_states(r);
    if (is_reported(&r->nav)) {
        if (result.first_s < 0) result.first_s = t;
        errors_of(&r->nav, k, e);
        off = add_errors(&r->nav, e);
        result.reported++;
    }
    result.off += off;
    if (off && result.off_first_s < 0) result.off_first_s = t;
    return off;
}

/** Numbers of the flight itself, and means, over frames from .. to - 1. */
static void result_conclude(int from, int to)
{
    const double states = fmax(1, result.reported), frames = to - from, steps = fmax(1, frames - !from);
    const double begin = flight.frame_s[from], end = flight.frame_s[to - 1];
    double *const rms[KINDS] = {&result.rms_m, &result.rms_deg, &result.rms_mps}, *const nees[KINDS] = {&result.nees_p,
                                                                                                        &result.nees_a,
                                                                                                        &result.nees_v};
    result.until_s = end - flight.frame_s[0];
    result.frames = frames;
    result.interval_ms = 1e3 * (end - begin) / fmax(1, frames - 1);
    result.bias_mrad = flight.world.gyro_bias * result.interval_ms;
    result.peak_accel = flight.peak_accel, result.peak_rate = flight.peak_rate;
    result.overlap = overlap / steps;
    result.overlap_low = overlap_low / steps;
    result.blur_px = seen.blur / fmax(1, seen.points);
    result.depth_m = exp(seen.log_depth / fmax(1, seen.points));
    result.age = followed.life_frames / fmax(1, followed.ended);
    result.tracks = tracks / fmax(1, frames);
    for (int kind = 0; kind < KINDS; kind++) {
        *rms[kind] = sqrt(square[kind] / states) / (kind == 1 ? DEGREE : 1);
        *nees[kind] = nees_sum[kind] / states;
    }
    for (double t = begin; t < end; t += 0.01) {
        struct trajectory_state at;
        flight_at(&flight, t, &at);
        result.distance_m += 0.01 * length(at.v);
    }
}

#endif
