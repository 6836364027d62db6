/* SPDX-License-Identifier: MIT */
#include "calibration_lens.h"

#include <math.h>
#include <string.h>

#include "calibration_internal.h"

enum { TERMS = 5, ANGLES = 200, DIRECTIONS = 24 }; /* odd powers of the angle; samples */
#define MOST_RAD 1.9                               /* angles to the axis that are looked at */

/** Point on the plane of focal length 1. */
static int to_plane(const calibration_lens_t *l, const double v[3], double m[2])
{
    const double rho2 = v[0] * v[0] + v[1] * v[1], d = sqrt(rho2 + v[2] * v[2]);
    double z = v[2], length = d, alpha = l->alpha;
    if (l->model == MODEL_EXTENDED) length = sqrt(l->beta * rho2 + z * z);
    if (l->model == MODEL_DOUBLE) {
        z += l->xi * d;
        length = sqrt(rho2 + z * z);
    }
    const double under = l->model == MODEL_OMNI ? z + l->xi * d : alpha * length + (1.0 - alpha) * z;
    if (!(under > 1e-6 * d)) return 0;
    m[0] = v[0] / under;
    m[1] = v[1] / under;
    return 1;
}

int calibration_lens_project(const calibration_lens_t *l, const double ray[3], double px[2])
{
    double m[2];
    if (!to_plane(l, ray, m)) return 0;
    if (l->model == MODEL_OMNI) {
        const double x = m[0], y = m[1], r2 = x * x + y * y, radial = 1.0 + r2 * (l->k[0] + r2 * l->k[1]);
        m[0] = x * radial + 2.0 * l->k[2] * x * y + l->k[3] * (r2 + 2.0 * x * x);
        m[1] = y * radial + l->k[2] * (r2 + 2.0 * y * y) + 2.0 * l->k[3] * x * y;
    }
    px[0] = l->fx_px * m[0] + l->cx_px;
    px[1] = l->fy_px * m[1] + l->cy_px;
    return 1;
}

/** Distance from the middle at an angle, at focal length 1, mean of both sides, on which p1 and p2 differ. */
static int radius(const calibration_lens_t *l, double angle, double *r)
{
    const double ray[2][3] = {{sin(angle), 0.0, cos(angle)}, {-sin(angle), 0.0, cos(angle)}};
    double px[2][2];
    if (!calibration_lens_project(l, ray[0], px[0]) || !calibration_lens_project(l, ray[1], px[1])) return 0;
    *r = 0.5 * (px[0][0] - px[1][0]) / l->fx_px;
    return 1;
}

/** Angle to the axis of the farthest corner of the picture, or where the model ends [rad]. */
static double widest(const vfront_camera_t *c, const calibration_lens_t *l)
{
    const double x = fmax(l->cx_px, c->width_px - l->cx_px) / l->fx_px,
                 y = fmax(l->cy_px, c->height_px - l->cy_px) / l->fy_px, corner = hypot(x, y);
    double r, before = 0.0, angle = 0.01;
    for (; angle < MOST_RAD && radius(l, angle, &r) && r > before && r < corner; angle += 0.01) before = r;
    return angle;
}

/** Solve A x = b in place, by elimination with pivots. Returns 0 if A is singular. */
static int solve(double A[TERMS][TERMS + 1], double x[TERMS])
{
    for (int i = 0; i < TERMS; i++) {
        int pivot = i;
        for (int r = i + 1; r < TERMS; r++)
            if (fabs(A[r][i]) > fabs(A[pivot][i])) pivot = r;
        if (!(fabs(A[pivot][i]) > 1e-300)) return 0;
        for (int c = 0; c <= TERMS; c++) {
            const double kept = A[i][c];
            A[i][c] = A[pivot][c];
            A[pivot][c] = kept;
        }
        for (int r = i + 1; r < TERMS; r++) {
            const double by = A[r][i] / A[i][i];
            for (int c = i; c <= TERMS; c++) A[r][c] -= by * A[i][c];
        }
    }
    for (int i = TERMS - 1; i >= 0; i--) {
        x[i] = A[i][TERMS];
        for (int c = i + 1; c < TERMS; c++) x[i] -= A[i][c] * x[c];
        x[i] /= A[i][i];
    }
    return 1;
}

/** Least squares of the radius by odd powers of the angle over the widest one. */
static int fit(const calibration_lens_t *l, double widest_rad, double term[TERMS])
{
    double A[TERMS][TERMS + 1] = {{0}};
    for (int i = 1; i <= ANGLES; i++) {
        const double u = (double)i / ANGLES;
        double r, power[TERMS];
        if (!radius(l, u * widest_rad, &r)) continue;
        for (int k = 0; k < TERMS; k++) power[k] = k ? power[k - 1] * u * u : u;
        for (int k = 0; k < TERMS; k++) {
            for (int j = 0; j < TERMS; j++) A[k][j] += power[k] * power[j];
            A[k][TERMS] += power[k] * r;
        }
    }
    return solve(A, term);
}

/** Largest distance between the two models within the picture [px]; HUGE_VAL: one does not hold there. */
static double difference_px(const vfront_camera_t *c, const calibration_lens_t *l, double widest_rad)
{
    double most = 0.0;
    for (int i = 0; i <= ANGLES; i++)
        for (int k = 0; k < DIRECTIONS; k++) {
            const double angle = widest_rad * i / ANGLES, turn = 2.0 * acos(-1.0) * k / DIRECTIONS;
            const double ray[3] = {sin(angle) * cos(turn), sin(angle) * sin(turn), cos(angle)};
            double theirs[2], ours[2];
            if (!calibration_lens_project(l, ray, theirs) || theirs[0] < 0.0 || theirs[1] < 0.0 ||
                theirs[0] > c->width_px - 1 || theirs[1] > c->height_px - 1)
                continue;
            if (!vfront_lens_project(c, ray, ours)) return HUGE_VAL;
            most = fmax(most, hypot(ours[0] - theirs[0], ours[1] - theirs[1]));
        }
    return most;
}

const char *calibration_set_nearest(vfront_camera_t *c, const calibration_lens_t *l)
{
    double term[TERMS];
    if (!(l->fx_px > 0.0 && l->fy_px > 0.0)) return "a focal length that is not above 0";
    if (c->width_px < 1 || c->height_px < 1) return "the size of the picture is not known";
    const double widest_rad = widest(c, l);
    if (!fit(l, widest_rad, term) || !(term[0] > 0.0)) return "the lens model does not hold";
    const double middle = term[0] / widest_rad;
    const double intrinsics[4] = {l->fx_px * middle, l->fy_px * middle, l->cx_px, l->cy_px};
    calibration_set_lens(c, intrinsics);
    c->lens = VFRONT_LENS_EQUIDISTANT;
    memset(c->distortion, 0, sizeof c->distortion);
    for (int k = 1; k < TERMS; k++) c->distortion[k - 1] = term[k] / (middle * pow(widest_rad, 2 * k + 1));
    const double off_px = difference_px(c, l, widest_rad);
    if (off_px <= CALIBRATION_LENS_PX) return NULL;
    return calibration_fail(
        "the nearest equidistant lens is off by up to %.2f px, over %.2f: calibrate as pinhole-equi", off_px,
        CALIBRATION_LENS_PX);
}
