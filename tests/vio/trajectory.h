/* SPDX-License-Identifier: MIT */
/* Trajectories of a simulated IMU: pose, velocity, acceleration and angular rate at any time, in double precision.
 *
 * A trajectory is a uniform B-spline of degree 5: control points for the position, cumulative control rotations for the
 * attitude. The acceleration has two more continuous derivatives, the rate three. Control values are sampled from a
 * smoothed recorded trajectory or from a drawn motion; the truth is the spline. World axes: z up. Body axes: the IMU's.
 */
#ifndef VIO_TRAJECTORY_H
#define VIO_TRAJECTORY_H

#include "tests/fixture/rigid.h"

enum { TRAJECTORY_DEGREE = 5, TRAJECTORY_KNOTS = 40960, TRAJECTORY_LINES = 16384 };

/** Time between control points [s]. */
#define TRAJECTORY_STEP_S 0.05

/** State of a body on its trajectory. */
struct trajectory_state {
    double p[3], v[3], a[3]; /* position, velocity, acceleration in the world [m, m/s, m/s^2] */
    double R[9];             /* from body to world axes */
    double w[3];             /* angular rate in body axes [rad/s] */
};

struct trajectory {
    int knots;                        /* number of control points */
    double seconds;                   /* length; valid times are 0..seconds */
    double p[TRAJECTORY_KNOTS][3];    /* control positions; number k is at time (k - 2) TRAJECTORY_STEP_S */
    double R[TRAJECTORY_KNOTS][9];    /* control attitudes */
    double turn[TRAJECTORY_KNOTS][3]; /* rotation vector from the previous attitude to this one, body axes */
};

/* ---- spline ------------------------------------------------------------------------------------------------------ */

/** Weights of control points i..i + 5 at position u, 0..1, of an interval, and their first and second derivatives by u:
 *  Cox-de Boor recursion. */
static inline void trajectory_weights(double u, double b[3][TRAJECTORY_DEGREE + 1])
{
    double N[TRAJECTORY_DEGREE + 1][TRAJECTORY_DEGREE + 2] = {{0}}; /* N[k][j + 1]: weight j of degree k */
    N[0][1] = 1.0;
    for (int k = 1; k <= TRAJECTORY_DEGREE; k++)
        for (int j = 0; j <= k; j++)
            N[k][j + 1] = ((u + k - j) * N[k - 1][j] + (j < k ? (1.0 + j - u) * N[k - 1][j + 1] : 0.0)) / k;
    for (int j = 0; j <= TRAJECTORY_DEGREE; j++) {
        const double *lower = N[TRAJECTORY_DEGREE - 1], *lowest = N[TRAJECTORY_DEGREE - 2];
        b[0][j] = N[TRAJECTORY_DEGREE][j + 1];
        b[1][j] = lower[j] - lower[j + 1];
        b[2][j] = (j ? lowest[j - 1] : 0.0) - 2.0 * lowest[j] + lowest[j + 1];
    }
}

/** State at a time, 0..trajectory->seconds. */
static inline void trajectory_at(const struct trajectory *trajectory, double t_s, struct trajectory_state *at)
{
    const int last = trajectory->knots - TRAJECTORY_DEGREE - 1;
    int i = (int)floor(t_s / TRAJECTORY_STEP_S);
    i = i < 0 ? 0 : i > last ? last : i;
    double b[3][TRAJECTORY_DEGREE + 1], chain = 1.0, slope = 0.0;
    trajectory_weights(t_s / TRAJECTORY_STEP_S - i, b);
    memset(at, 0, sizeof *at);
    for (int j = 0; j <= TRAJECTORY_DEGREE; j++)
        for (int k = 0; k < 3; k++) {
            at->p[k] += b[0][j] * trajectory->p[i + j][k];
            at->v[k] += b[1][j] * trajectory->p[i + j][k] / TRAJECTORY_STEP_S;
            at->a[k] += b[2][j] * trajectory->p[i + j][k] / (TRAJECTORY_STEP_S * TRAJECTORY_STEP_S);
        }
    memcpy(at->R, trajectory->R[i], sizeof at->R);
    for (int j = 1; j <= TRAJECTORY_DEGREE; j++) {
        double w[3], E[9], back[3];
        chain -= b[0][j - 1];
        slope -= b[1][j - 1] / TRAJECTORY_STEP_S;
        for (int k = 0; k < 3; k++) w[k] = chain * trajectory->turn[i + j][k];
        rotation_of(w, E);
        product(at->R, E, 0, at->R);
        for (int k = 0; k < 3; k++) /* rate so far, in axes after this rotation, plus the rotation's own */
            back[k] = E[k] * at->w[0] + E[3 + k] * at->w[1] + E[6 + k] * at->w[2];
        for (int k = 0; k < 3; k++) at->w[k] = back[k] + slope * trajectory->turn[i + j][k];
    }
}

/** Computes the rotations between control attitudes, after all of these are set. */
static inline void trajectory_finish(struct trajectory *trajectory, double seconds)
{
    trajectory->seconds = seconds;
    for (int i = 1; i < trajectory->knots; i++) {
        double back[9], apart[9];
        static const double one[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
        for (int k = 0; k < 9; k++) back[k] = trajectory->R[i - 1][k % 3 * 3 + k / 3];
        product(back, trajectory->R[i], 0, apart);
        rotation_between(apart, one, trajectory->turn[i]);
    }
}

/** Number of control points for a duration, at most TRAJECTORY_KNOTS. */
static inline int trajectory_knots(double seconds)
{
    const double n = floor(seconds / TRAJECTORY_STEP_S) + TRAJECTORY_DEGREE + 2;
    return n < TRAJECTORY_KNOTS ? (int)n : TRAJECTORY_KNOTS;
}

/* ---- recorded trajectories --------------------------------------------------------------------------------------- */

/** Lines of a recorded trajectory: t_s px py pz qx qy qz qw. */
struct trajectory_lines {
    int n;
    double t[TRAJECTORY_LINES], p[TRAJECTORY_LINES][3], R[TRAJECTORY_LINES][9];
};

static inline void trajectory_rotation(const double q[4], double R[9]) /* q: x y z w, of any length */
{
    const double n = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2] + q[3] * q[3]);
    const double x = q[0] / n, y = q[1] / n, z = q[2] / n, w = q[3] / n;
    const double M[9] = {1 - 2 * (y * y + z * z), 2 * (x * y - w * z),     2 * (x * z + w * y),
                         2 * (x * y + w * z),     1 - 2 * (x * x + z * z), 2 * (y * z - w * x),
                         2 * (x * z - w * y),     2 * (y * z + w * x),     1 - 2 * (x * x + y * y)};
    memcpy(R, M, sizeof M);
}

/** Reads at most TRAJECTORY_LINES lines of a trajectory. Returns their number; 0 if the file cannot be read. */
static inline int trajectory_read(const char *name, struct trajectory_lines *lines)
{
    FILE *file = fopen(name, "r");
    char text[512];
    lines->n = 0;
    while (file && lines->n < TRAJECTORY_LINES && fgets(text, sizeof text, file)) {
        double v[8], size;
        if (text[0] == '#' ||
            sscanf(text, "%lf%lf%lf%lf%lf%lf%lf%lf", v, v + 1, v + 2, v + 3, v + 4, v + 5, v + 6, v + 7) != 8)
            continue;
        size = v[4] * v[4] + v[5] * v[5] + v[6] * v[6] + v[7] * v[7];
        if (!(size > 0.5 && size < 2.0) || (lines->n && v[0] <= lines->t[lines->n - 1])) continue;
        lines->t[lines->n] = v[0];
        memcpy(lines->p[lines->n], v + 1, sizeof lines->p[0]);
        trajectory_rotation(v + 4, lines->R[lines->n++]);
    }
    if (file) fclose(file);
    return lines->n;
}

/** Value at 0 of the weighted least-squares parabola. x: abscissas, w: weights. */
static inline double trajectory_parabola(const double *x, const double *y, const double *w, int n)
{
    double A[9] = {0}, b[3] = {0}, inverse[9];
    for (int i = 0; i < n; i++) {
        const double row[3] = {1.0, x[i], x[i] * x[i]};
        for (int k = 0; k < 9; k++) A[k] += w[i] * row[k / 3] * row[k % 3];
        for (int k = 0; k < 3; k++) b[k] += w[i] * row[k] * y[i];
    }
    invert(A, 3, inverse);
    return dot(inverse, b);
}

/** Smoothed pose at a time: a parabola through the lines within `reach_s`, at least the 8 nearest ones, with tricube
 *  weights. */
static inline void trajectory_smooth(const struct trajectory_lines *lines, double t_s, double reach_s, double p[3],
                                     double R[9])
{
    enum { MOST = 256 };
    double x[MOST], w[MOST], y[6][MOST], turn[3];
    int first = 0, last, near;
    while (first + 1 < lines->n && lines->t[first] < t_s - reach_s) first++;
    for (last = first; last < lines->n && lines->t[last] <= t_s + reach_s && last - first < MOST; last++) {}
    while (last - first < 8 && (first > 0 || last < lines->n)) {
        if (first > 0) first--;
        if (last < lines->n) last++;
    }
    near = first;
    for (int i = first; i < last; i++)
        if (fabs(lines->t[i] - t_s) < fabs(lines->t[near] - t_s)) near = i;
    const double widest = 1e-3 + fmax(reach_s, fmax(fabs(lines->t[first] - t_s), fabs(lines->t[last - 1] - t_s)));
    for (int i = first; i < last; i++) {
        const double part = fabs(lines->t[i] - t_s) / widest, cube = 1.0 - part * part * part;
        x[i - first] = (lines->t[i] - t_s) / widest;
        w[i - first] = cube * cube * cube;
        rotation_between(lines->R[i], lines->R[near], turn);
        for (int k = 0; k < 3; k++) y[k][i - first] = lines->p[i][k], y[3 + k][i - first] = turn[k];
    }
    for (int k = 0; k < 3; k++) {
        p[k] = trajectory_parabola(x, y[k], w, last - first);
        turn[k] = trajectory_parabola(x, y[3 + k], w, last - first);
    }
    rotation_of(turn, R);
    product(R, lines->R[near], 0, R);
}

/** Trajectory from a recorded one, from from_s on, for at most `seconds`. Returns 0 if the file cannot be read or has
 *  less than a second left. */
static inline int trajectory_from_file(struct trajectory *trajectory, const char *name, double from_s, double seconds)
{
    static struct trajectory_lines lines;
    if (trajectory_read(name, &lines) < 16) return 0;
    const double begin = lines.t[0] + from_s, rest = lines.t[lines.n - 1] - begin;
    if (rest < 1.0) return 0;
    if (seconds > rest) seconds = rest;
    trajectory->knots = trajectory_knots(seconds);
    for (int k = 0; k < trajectory->knots; k++) {
        const double t = begin + (k - 2) * TRAJECTORY_STEP_S;
        const double inside = fmin(fmax(t, lines.t[0]), lines.t[lines.n - 1]);
        trajectory_smooth(&lines, inside, 0.12, trajectory->p[k], trajectory->R[k]);
    }
    trajectory_finish(trajectory, seconds);
    return 1;
}

/* ---- drawn motions ----------------------------------------------------------------------------------------------- */

/** Attitude from yaw, pitch and roll: rotations about z, y, x of the body (x ahead, y left, z up). */
static inline void trajectory_attitude(double yaw, double pitch, double roll, double R[9])
{
    const double z[3] = {0, 0, yaw}, y[3] = {0, pitch, 0}, x[3] = {roll, 0, 0};
    double A[9];
    rotation_of(z, R);
    rotation_of(y, A);
    product(R, A, 0, R);
    rotation_of(x, A);
    product(R, A, 0, R);
}

/** Figure of eight, 6 m by 3 m in 10 s, with yaw motion; pitch and roll by 12 degrees. */
static inline void trajectory_eight(double t, double p[3], double R[9])
{
    const double w = 0.6283185307179586;
    p[0] = 3.0 * sin(w * t), p[1] = 1.5 * sin(2 * w * t), p[2] = 1.5 + 0.4 * sin(1.3 * w * t);
    trajectory_attitude(0.8 * sin(0.9 * w * t), 0.2 * sin(2.1 * w * t + 1), 0.2 * sin(1.7 * w * t), R);
}

/** Hover with a sway of 0.2 m, 2 degrees of tilt and 3 of yaw. */
static inline void trajectory_hover(double t, double p[3], double R[9])
{
    p[0] = 0.2 * sin(0.9 * t), p[1] = 0.2 * sin(0.7 * t + 1), p[2] = 1.5 + 0.1 * sin(1.1 * t + 2);
    trajectory_attitude(0.05 * sin(0.5 * t), 0.035 * sin(1.9 * t), 0.035 * sin(2.3 * t + 1), R);
}

/** Stationary, not quite level. */
static inline void trajectory_stand(double t, double p[3], double R[9])
{
    (void)t;
    p[0] = p[1] = 0.0, p[2] = 1.0;
    trajectory_attitude(0.3, 0.02, -0.03, R);
}

/** Road at 9 to 11 m/s in wide bends, with a car's pitch and roll. */
static inline void trajectory_road(double t, double p[3], double R[9])
{
    const double x = 10.0 + 0.9 * cos(0.3 * t), y = 8.0 * (0.22 * cos(0.22 * t) + 0.2 * cos(0.5 * t + 1));
    p[0] = 10.0 * t + 3.0 * sin(0.3 * t), p[1] = 8.0 * (sin(0.22 * t) + 0.4 * sin(0.5 * t + 1));
    p[2] = 0.5 * sin(0.1 * t) + 0.02 * sin(7.0 * t);
    trajectory_attitude(atan2(y, x), 0.01 * sin(8.0 * t), 0.012 * sin(6.0 * t + 1), R);
}

/** Straight flight at a constant 2 m/s: some biases stay unobservable. */
static inline void trajectory_straight(double t, double p[3], double R[9])
{
    p[0] = 2.0 * t, p[1] = 0.0, p[2] = 1.5;
    trajectory_attitude(0.0, 0.05, 0.0, R);
}

/** Rotation in place at 0.6 rad/s of yaw, with small pitch and roll. */
static inline void trajectory_turn(double t, double p[3], double R[9])
{
    p[0] = p[1] = 0.0, p[2] = 1.5;
    trajectory_attitude(0.6 * t, 0.1 * sin(0.8 * t), 0.05 * sin(1.1 * t), R);
}

/** Smooth ramp 0..1 from time `from` over `lasts`, with continuous third derivative. */
static inline double trajectory_ramp(double t, double from, double lasts)
{
    const double u = fmin(fmax((t - from) / lasts, 0.0), 1.0), square = u * u;
    return square * square * (35.0 - u * (84.0 - u * (70.0 - 20.0 * u)));
}

/** Stationary for 10 s, rises by 1.5 m in 3 s, sways like the hover for 20 s, descends in 4 s, stationary. */
static inline void trajectory_take_off(double t, double p[3], double R[9])
{
    const double up = trajectory_ramp(t, 10.0, 3.0) - trajectory_ramp(t, 33.0, 4.0);
    const double away = trajectory_ramp(t, 11.0, 3.0) - trajectory_ramp(t, 32.0, 3.0);
    p[0] = 0.2 * away * sin(0.9 * t), p[1] = 0.2 * away * sin(0.7 * t + 1);
    p[2] = 0.2 + 1.5 * up + 0.1 * away * sin(1.1 * t + 2);
    trajectory_attitude(0.05 * away * sin(0.5 * t), 0.02 + 0.035 * away * sin(1.9 * t),
                        0.035 * away * sin(2.3 * t + 1) - 0.03, R);
}

/** Drawn motion. */
struct trajectory_drawing {
    const char *name;
    void (*pose)(double t, double p[3], double R[9]);
};

static const struct trajectory_drawing trajectory_drawings[] = {
    {"eight", trajectory_eight},      {"hover", trajectory_hover},       {"stand", trajectory_stand},
    {"road", trajectory_road},        {"straight", trajectory_straight}, {"turn", trajectory_turn},
    {"take-off", trajectory_take_off}};
enum { TRAJECTORY_DRAWINGS = sizeof trajectory_drawings / sizeof *trajectory_drawings };

/** Trajectory of a drawn motion, its time scaled by `tempo`. Returns 0 if the name is unknown. */
static inline int trajectory_draw(struct trajectory *trajectory, const char *name, double seconds, double tempo)
{
    for (int i = 0; i < TRAJECTORY_DRAWINGS; i++) {
        if (strcmp(name, trajectory_drawings[i].name)) continue;
        trajectory->knots = trajectory_knots(seconds);
        for (int k = 0; k < trajectory->knots; k++)
            trajectory_drawings[i].pose(tempo * (k - 2) * TRAJECTORY_STEP_S, trajectory->p[k], trajectory->R[k]);
        trajectory_finish(trajectory, fmin(seconds, (trajectory->knots - TRAJECTORY_DEGREE - 1) * TRAJECTORY_STEP_S));
        return 1;
    }
    return 0;
}

#endif
