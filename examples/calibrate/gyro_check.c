/* SPDX-License-Identifier: MIT */
#include "gyro_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/common/pose.h"
#include "least_squares.h"
#include "rotation.h"

/* Standard deviations of a good calibration's errors. */
#define ROTATION_DEG 0.25 /* each axis */
#define OFFSET_MS 1.5
#define SCALE_PERCENT 1.0
#define OFFSET_STEP_S 0.005
#define LEAST_STEPS 30
#define SPREAD_RAD 1e-3 /* scale of the robust weight at the end */
#define ROBUST_LEAST_RAD 2e-4
#define BIAS_RAD_S 0.1 /* standard deviation of an unknown bias: the library's own */

enum { TURN = 0, OFFSET = 3, SCALE = 4, BIAS = 5, PARAMETERS = 8 };

struct fit {
    const gathered_t *data;
    const gyro_fit_t *gyro;
    double R[9]; /* R_cam_imu that TURN is added to */
    least_squares_t ls;
};

/** Attitudes by the samples, each rate times `unit`, less a bias, constant between two by their mean. */
static void integrate(const gathered_t *data, gyro_fit_t *g)
{
    memcpy(g->attitude, pose_identity.R, sizeof pose_identity.R);
    for (size_t i = 1; i < data->samples; i++) {
        const double dt = (double)(data->imu[i].t_ns - data->imu[i - 1].t_ns) * 1e-9;
        double w[3], by[9];
        for (int k = 0; k < 3; k++)
            w[k] = (0.5 * (data->imu[i].gyro_rad_s[k] + data->imu[i - 1].gyro_rad_s[k]) * g->unit - g->bias_rad_s[k]) *
                   dt;
        rotation_of(w, by);
        rotation_multiply(&g->attitude[9 * (i - 1)], by, &g->attitude[9 * i]);
        if (i % 64 == 0) pose_orthonormalise(&g->attitude[9 * i]);
    }
}

int gyro_attitude(const gathered_t *data, const gyro_fit_t *g, double t_ns, double R[9])
{
    size_t low = 0, high = data->samples;
    if (high < 2 || t_ns < (double)data->imu[0].t_ns || t_ns > (double)data->imu[high - 1].t_ns) return 0;
    while (high - low > 1) {
        const size_t middle = low + (high - low) / 2;
        *((double)data->imu[middle].t_ns <= t_ns ? &low : &high) = middle;
    }
    if (low + 1 == data->samples) low--;
    double between[9], w[3], by[9];
    const double whole = (double)(data->imu[low + 1].t_ns - data->imu[low].t_ns),
                 share = (t_ns - (double)data->imu[low].t_ns) / whole;
    rotation_between(&g->attitude[9 * low], &g->attitude[9 * (low + 1)], between);
    rotation_vector(between, w);
    for (int k = 0; k < 3; k++) w[k] *= share;
    rotation_of(w, by);
    rotation_multiply(&g->attitude[9 * low], by, R);
    return 1;
}

/** Rotation vector of the IMU from one frame to the next, IMU axes of the first. Returns 0 outside the samples. */
static int turn_of(const struct fit *f, const step_t *s, double offset_s, double w[3])
{
    const double by = (double)f->data->rig.imu_offset_ns + offset_s * 1e9;
    double a[9], b[9], between[9];
    if (!gyro_attitude(f->data, f->gyro, (double)s->from_ns + by, a) ||
        !gyro_attitude(f->data, f->gyro, (double)s->to_ns + by, b))
        return 0;
    rotation_between(a, b, between);
    rotation_vector(between, w);
    return 1;
}

/** Rotation vector of the camera from one frame to the next, camera axes of the first, by the pictures. */
static void seen_of(const step_t *s, double w[3])
{
    double back[9];
    rotation_transpose(s->turn, back);
    rotation_vector(back, w);
}

static double seconds(const step_t *s) { return (double)(s->to_ns - s->from_ns) * 1e-9; }

/** Residual at x: by the pictures less by the gyro, camera axes [rad]. Returns 0 outside the samples. */
static int residual(const struct fit *f, const step_t *s, const double *x, double r[3])
{
    double w[3], R[9], by[9], turned[3];
    if (!turn_of(f, s, x[OFFSET], w)) return 0;
    for (int k = 0; k < 3; k++) w[k] = exp(x[SCALE]) * (w[k] - x[BIAS + k] * seconds(s));
    rotation_of(&x[TURN], by);
    rotation_multiply(by, f->R, R);
    rotation_apply(R, w, turned);
    seen_of(s, r);
    for (int k = 0; k < 3; k++) r[k] -= turned[k];
    return 1;
}

static int block_of(const struct fit *f, const step_t *s)
{
    const double share = (double)(s->to_ns - f->data->from_ns) / (double)(f->data->to_ns - f->data->from_ns + 1);
    return (int)(share * LEAST_SQUARES_BLOCKS);
}

/** Sum of robust costs: small where the pictures' rotations are those of the gyro. */
static double cost(const struct fit *f, const double *x)
{
    double sum = 0.0, r[3];
    for (size_t i = 0; i < f->data->steps; i++) {
        const step_t *s = &f->data->step[i];
        if (!s->has_rotation || !residual(f, s, x, r)) continue;
        sum += log1p((r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) / (25.0 * SPREAD_RAD * SPREAD_RAD));
    }
    return sum;
}

/** Offset at which the lengths of the rotations fit best, whatever the axes are: the largest correlation. */
static double first_offset(const struct fit *f)
{
    double best = -2.0, at = 0.0;
    for (double offset = -GYRO_OFFSET_MOST_S; offset <= GYRO_OFFSET_MOST_S + 1e-9; offset += OFFSET_STEP_S) {
        double n = 0, x = 0, y = 0, xx = 0, yy = 0, xy = 0, w[3], seen[3];
        for (size_t i = 0; i < f->data->steps; i++) {
            const step_t *s = &f->data->step[i];
            if (!s->has_rotation || !turn_of(f, s, offset, w)) continue;
            seen_of(s, seen);
            const double a = rotation_length(w) / seconds(s), b = rotation_length(seen) / seconds(s);
            n++, x += a, y += b, xx += a * a, yy += b * b, xy += a * b;
        }
        const double square = (n * xx - x * x) * (n * yy - y * y),
                     correlation = square > 0.0 ? (n * xy - x * y) / sqrt(square) : -1.0;
        if (n >= LEAST_STEPS && correlation > best + 1e-9) best = correlation, at = offset;
    }
    return at;
}

/** The rotation of the calibration times one of the 24 that exchange axes, whichever fits best. */
static void first_rotation(struct fit *f)
{
    double given[9], best[9], least = HUGE_VAL;
    memcpy(given, f->R, sizeof given);
    memcpy(best, f->R, sizeof best);
    for (int i = 0; i < 48; i++) {
        static const int order[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
        double axes[9] = {0};
        for (int k = 0; k < 3; k++) axes[3 * k + order[i / 8][k]] = i >> k & 1 ? -1.0 : 1.0;
        if (!pose_is_rotation(axes)) continue;
        rotation_multiply(given, axes, f->R);
        const double c = cost(f, f->ls.x);
        if (c < (i ? 0.9 : 1.0) * least)
            least = c, memcpy(best, f->R, sizeof best); /* the given one unless much better */
    }
    memcpy(f->R, best, sizeof best);
}

static void add_all(struct fit *f, double spread)
{
    const double h = 1e-5;
    least_squares_clear(&f->ls);
    for (size_t i = 0; i < f->data->steps; i++) {
        const step_t *s = &f->data->step[i];
        double r[3], by[PARAMETERS][3];
        int ok = s->has_rotation && residual(f, s, f->ls.x, r);
        for (int k = 0; k < PARAMETERS && ok; k++) {
            double x[PARAMETERS];
            memcpy(x, f->ls.x, sizeof x);
            x[k] += h;
            ok = residual(f, s, x, by[k]);
        }
        if (!ok) continue;
        const double square = (r[0] * r[0] + r[1] * r[1] + r[2] * r[2]) / (spread * spread);
        for (int axis = 0; axis < 3; axis++) {
            double row[PARAMETERS];
            for (int k = 0; k < PARAMETERS; k++) row[k] = (by[k][axis] - r[axis]) / h;
            least_squares_add(&f->ls, block_of(f, s), row, r[axis], 1.0 / (spread * spread * (1.0 + square)));
        }
    }
    for (int k = 0; k < 3; k++) {
        least_squares_prior(&f->ls, TURN + k, 1.0); /* an axis about which it never turns stays */
        least_squares_prior(&f->ls, BIAS + k, BIAS_RAD_S);
    }
    least_squares_prior(&f->ls, OFFSET, GYRO_OFFSET_MOST_S);
    least_squares_prior(&f->ls, SCALE, 1.0);
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/** Median length of the residuals at x [rad]; NAN: there are none. */
static double median(const struct fit *f, const double *x)
{
    double *length = malloc((f->data->steps + 1) * sizeof *length), r[3], middle = (double)NAN;
    size_t n = 0;
    for (size_t i = 0; i < f->data->steps && length; i++)
        if (f->data->step[i].has_rotation && residual(f, &f->data->step[i], x, r)) length[n++] = rotation_length(r);
    if (n) {
        qsort(length, n, sizeof *length, rising);
        middle = length[n / 2];
    }
    free(length);
    return middle;
}

/** Scale of the robust weight. */
static double weight_scale(const struct fit *f)
{
    const double middle = median(f, f->ls.x);
    return 1.5 * (middle > ROBUST_LEAST_RAD ? middle : isfinite(middle) ? ROBUST_LEAST_RAD : SPREAD_RAD);
}

double gyro_curve_s(int i) { return GYRO_OFFSET_MOST_S * (2.0 * i / (GYRO_CURVE - 1) - 1.0); }

/** How the rotations differ at other offsets, all else as fitted. */
static void fill_curve(const struct fit *f, gyro_fit_t *to)
{
    double x[PARAMETERS];
    memcpy(x, f->ls.x, sizeof x);
    for (int i = 0; i < GYRO_CURVE; i++) {
        x[OFFSET] = gyro_curve_s(i);
        to->curve_rad[i] = median(f, x);
    }
}

/** Returns 0 without a solution. */
static int solve(struct fit *f)
{
    least_squares_begin(&f->ls, PARAMETERS);
    f->ls.x[OFFSET] = first_offset(f);
    first_rotation(f);
    for (int i = 0; i < 30; i++) {
        add_all(f, weight_scale(f));
        const double change = least_squares_step(&f->ls);
        if (change < 0.0) return 0;
        if (change < 1e-8) break;
    }
    add_all(f, weight_scale(f));
    return least_squares_deviations(&f->ls) > 2;
}

/** Mean length of the rotations, by the pictures over by the gyro. */
static double ratio(const struct fit *f)
{
    double seen = 0.0, felt = 0.0, w[3];
    for (size_t i = 0; i < f->data->steps; i++) {
        const step_t *s = &f->data->step[i];
        if (!s->has_rotation || !turn_of(f, s, 0.0, w)) continue;
        felt += rotation_length(w);
        seen_of(s, w);
        seen += rotation_length(w);
    }
    return felt > 0.0 ? seen / felt : 1.0;
}

/** Mean rate by the samples, as they are [1/s]. */
static double mean_rate(const gathered_t *data)
{
    double sum = 0.0;
    for (size_t i = 0; i < data->samples; i++) sum += rotation_length(data->imu[i].gyro_rad_s);
    return data->samples ? sum / (double)data->samples : 0.0;
}

static double mean_seen(const gathered_t *data)
{
    double turn = 0.0, time = 0.0, w[3];
    for (size_t i = 0; i < data->steps; i++) {
        if (!data->step[i].has_rotation) continue;
        seen_of(&data->step[i], w);
        turn += rotation_length(w);
        time += seconds(&data->step[i]);
    }
    return time > 0.0 ? turn / time : 0.0;
}

static void add_findings(findings_t *all, const struct fit *f, int blocks)
{
    static const char *const name[3] = {"IMU to camera 0: rotation about x", "IMU to camera 0: rotation about y",
                                        "IMU to camera 0: rotation about z"};
    const char *const turn_more = "Turn the rig about all three axes, 30 degrees to and fro, within a second each.";
    double by[9], R[9], off[9], w[3], back[9];
    rotation_of(&f->ls.x[TURN], by);
    rotation_multiply(by, f->R, R);
    rotation_transpose(f->data->rig.camera[0].R_cam_imu, back);
    rotation_multiply(R, back, off);
    rotation_vector(off, w);
    const double degrees = 180.0 / acos(-1.0);
    for (int k = 0; k < 3; k++) {
        const finding_t x = {.name = name[k],
                             .unit = "deg",
                             .value = w[k] * degrees,
                             .axes = 3,
                             .sigma = least_squares_sigma(&f->ls, TURN + k) * degrees,
                             .tolerance = ROTATION_DEG,
                             .dof = blocks - 1};
        finding_t *to = finding_add(all, &x);
        snprintf(to->advice, sizeof to->advice, "%s", to->decision == FINDING_UNKNOWN ? turn_more : "");
        if (to->decision != FINDING_WRONG) continue;
        snprintf(to->text, sizeof to->text,
                 "The recording shows R_cam_imu = [%.4f %.4f %.4f; %.4f %.4f %.4f; %.4f %.4f %.4f].", R[0], R[1], R[2],
                 R[3], R[4], R[5], R[6], R[7], R[8]);
        snprintf(
            to->advice, sizeof to->advice,
            rotation_length(w) * degrees > 45.0
                ? "Axes are exchanged, or the transform is of the other direction: T_cam_imu takes points of the IMU "
                  "to the camera; check the driver's axes."
                : "Calibrate camera and IMU together; fasten both to one plate.");
    }
    const finding_t offset = {.name = "time offset of the IMU",
                              .unit = "ms",
                              .value = 1e3 * f->ls.x[OFFSET],
                              .sigma = 1e3 * least_squares_sigma(&f->ls, OFFSET),
                              .tolerance = OFFSET_MS,
                              .dof = blocks - 1};
    finding_t *to = finding_add(all, &offset);
    snprintf(to->advice, sizeof to->advice, "%s", to->decision == FINDING_UNKNOWN ? turn_more : "");
    if (to->decision == FINDING_WRONG)
        snprintf(to->advice, sizeof to->advice,
                 "Set timeshift_cam_imu of cam0 to %.4f s (imu_offset_ns %.0f); better, stamp pictures at the start of "
                 "their "
                 "exposure, with its time, and samples where they are taken.",
                 1e-9 * (double)f->data->rig.imu_offset_ns + f->ls.x[OFFSET],
                 (double)f->data->rig.imu_offset_ns + 1e9 * f->ls.x[OFFSET]);
    const finding_t scale = {.name = "focal length against the gyro",
                             .unit = "%",
                             .value = 100.0 * expm1(f->ls.x[SCALE]),
                             .sigma = 100.0 * least_squares_sigma(&f->ls, SCALE),
                             .tolerance = SCALE_PERCENT,
                             .dof = blocks - 1};
    to = finding_add(all, &scale);
    snprintf(to->text, sizeof to->text, "%s",
             to->decision == FINDING_WRONG ? "Rotations by the pictures are larger than those by the gyro by this much."
                                           : "");
    snprintf(to->advice, sizeof to->advice, "%s", to->decision == FINDING_UNKNOWN ? turn_more : "");
    if (to->decision == FINDING_WRONG)
        snprintf(
            to->advice, sizeof to->advice,
            "The focal length is too %s by as much: calibrate at the size and the focus in which pictures are taken; "
            "or the gyro's scale is off.",
            f->ls.x[SCALE] > 0.0 ? "short" : "long");
}

void gyro_check(findings_t *all, const gathered_t *data, gyro_fit_t *fit)
{
    struct fit f = {.data = data, .gyro = fit};
    memset(fit, 0, sizeof *fit);
    fit->unit = 1.0;
    memcpy(fit->R_cam_imu, data->rig.camera[0].R_cam_imu, sizeof fit->R_cam_imu);
    memcpy(f.R, fit->R_cam_imu, sizeof f.R);
    if (!data->samples) return;
    fit->attitude = calloc(data->samples, sizeof(double[9]));
    if (!fit->attitude) return;
    const double degrees = acos(-1.0) / 180.0, felt = mean_rate(data), seen = mean_seen(data);
    if (seen > 0.0 && felt > 20.0 * seen && felt < 180.0 * seen && felt > 2.0) fit->unit = degrees;
    integrate(data, fit);
    if (fit->unit != 1.0) {
        finding_t x = {.name = "unit of the gyro",
                       .unit = "times",
                       .value = felt / seen,
                       .expected = 1.0,
                       .sigma = 1.0,
                       .tolerance = 1.0,
                       .dof = HUGE_VAL};
        finding_t *to = finding_add(all, &x);
        snprintf(to->text, sizeof to->text, "The samples' rates are %.0f times those of the pictures: degrees.",
                 x.value);
        snprintf(to->advice, sizeof to->advice,
                 "Give them in rad/s. All else below takes them for degrees per second.");
    }
    size_t steps = 0;
    for (size_t i = 0; i < data->steps; i++) steps += data->step[i].has_rotation != 0;
    const double by = ratio(&f);
    if (steps < LEAST_STEPS || !(by > 0.0)) {
        finding_unknown(all, "camera 0 and gyro", "Too few rotations of the camera are known from the pictures.",
                        "Record 10 s or more of a textured room, without fast blur.");
        return;
    }
    fit->solved = solve(&f);
    if (!fit->solved) {
        finding_unknown(all, "camera 0 and gyro", "The rotations of pictures and gyro have no solution.",
                        "Turn the rig about all three axes, 30 degrees to and fro, within a second each.");
        return;
    }
    int blocks = 0;
    for (int b = 0; b < LEAST_SQUARES_BLOCKS; b++) blocks += f.ls.used[b] > 0;
    add_findings(all, &f, blocks);
    fill_curve(&f, fit);
    double turn[9];
    rotation_of(&f.ls.x[TURN], turn);
    rotation_multiply(turn, f.R, fit->R_cam_imu);
    fit->offset_s = f.ls.x[OFFSET];
    memcpy(fit->bias_rad_s, &f.ls.x[BIAS], sizeof fit->bias_rad_s);
    integrate(data, fit);
}
