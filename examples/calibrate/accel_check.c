/* SPDX-License-Identifier: MIT */
#include "accel_check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/replay/calibration.h"
#include "least_squares.h"
#include "rotation.h"

/* Standard deviations of a good calibration's errors. */
#define SCALE_PERCENT 1.0
#define GRAVITY_M_S2 0.15 /* of an accelerometer whose bias is not known */
#define BIAS_M_S2 0.2     /* of an unknown bias: the library's own */
#define SPAN_S 0.2        /* from a position to the next one */
#define STRETCH_S 15.0    /* for which gravity is constant in axes of the integrated gyro */
#define LEAST_TRIPLES 40
#define STANDARD_M_S2 9.80665

enum { SCALE = 0, BIAS = 1, GRAVITY = 4, STRETCHES = (LEAST_SQUARES_PARAMETERS - GRAVITY) / 3 };

/** Integrals of the forces from one time to another, in axes of the integrated gyro. */
struct integral {
    double velocity[3], position[3]; /* of the forces */
    double by_bias[2][9];            /* of the attitude: of velocity, of position */
};

/** Three positions of the IMU, an equation each axis: D = k E - B c + T u, k the scale, c the bias times k, u gravity
 *  times k. */
struct triple {
    double D[3], E[3], B[9], T;
    int block, stretch;
};

struct fit {
    const gathered_t *data;
    const gyro_fit_t *gyro;
    double unit; /* forces times this are in m/s^2 */
    struct triple *triple;
    size_t triples;
    least_squares_t ls;
};

static double imu_ns(const struct fit *f, uint64_t t_ns)
{
    return (double)t_ns + (double)f->data->rig.imu_offset_ns + 1e9 * f->gyro->offset_s;
}

static int attitude(const struct fit *f, uint64_t t_ns, double R[9])
{
    return gyro_attitude(f->data, f->gyro, imu_ns(f, t_ns), R);
}

/** Integrate from one time of the frames to another, by the mean force between samples. Returns 0 without samples. */
static int integrate(const struct fit *f, uint64_t from_ns, uint64_t to_ns, struct integral *to)
{
    const gathered_t *data = f->data;
    const double from = imu_ns(f, from_ns), end = imu_ns(f, to_ns);
    size_t i = 1;
    memset(to, 0, sizeof *to);
    if (data->samples < 2 || from < (double)data->imu[0].t_ns || end > (double)data->imu[data->samples - 1].t_ns)
        return 0;
    for (size_t low = 0, high = data->samples - 1; low < high;) {
        const size_t middle = low + (high - low) / 2;
        if ((double)data->imu[middle].t_ns <= from)
            low = middle + 1;
        else
            high = middle;
        i = low;
    }
    for (double t = from; t < end && i < data->samples; i++) {
        const double next = fmin((double)data->imu[i].t_ns, end), dt = (next - t) * 1e-9;
        double R[9], force[3], mean[3];
        if (!gyro_attitude(data, f->gyro, 0.5 * (t + next), R)) return 0;
        for (int k = 0; k < 3; k++)
            mean[k] = 0.5 * f->unit * (data->imu[i - 1].accel_m_s2[k] + data->imu[i].accel_m_s2[k]);
        rotation_apply(R, mean, force);
        for (int k = 0; k < 3; k++) {
            to->position[k] += to->velocity[k] * dt + 0.5 * force[k] * dt * dt;
            to->velocity[k] += force[k] * dt;
        }
        for (int k = 0; k < 9; k++) {
            to->by_bias[1][k] += to->by_bias[0][k] * dt + 0.5 * R[k] * dt * dt;
            to->by_bias[0][k] += R[k] * dt;
        }
        t = next;
    }
    return 1;
}

/** Displacements from step `first` to step `last`, inclusive: of camera 0, and by how much the IMU moves more because
 *  of its place, in axes of the integrated gyro. Returns 0 if a motion is missing. */
static int displacement(const struct fit *f, size_t first, size_t last, double camera[3], double lever[3])
{
    const vfront_camera_t *c = &f->data->rig.camera[0];
    double A[9], back[9], R[9];
    memset(camera, 0, 3 * sizeof *camera);
    rotation_transpose(f->gyro->R_cam_imu, back);
    for (size_t i = first; i <= last; i++) {
        const step_t *s = &f->data->step[i];
        double local[3], turned[3], t[9];
        if (!s->has_motion || !attitude(f, s->from_ns, A)) return 0;
        rotation_transpose(s->motion.R, t);
        rotation_apply(t, s->motion.t, local);
        rotation_multiply(A, back, R);
        rotation_apply(R, local, turned);
        for (int k = 0; k < 3; k++) camera[k] -= turned[k];
    }
    double at[2][3];
    for (int e = 0; e < 2; e++) {
        if (!attitude(f, e ? f->data->step[last].to_ns : f->data->step[first].from_ns, A)) return 0;
        rotation_multiply(A, back, R);
        rotation_apply(R, c->t_cam_imu_m, at[e]);
    }
    for (int k = 0; k < 3; k++) lever[k] = at[1][k] - at[0][k];
    return 1;
}

/** Number of steps that take about SPAN_S, from step `first` on. */
static size_t steps_of_span(const gathered_t *data, size_t first)
{
    size_t n = 0;
    while (first + n < data->steps &&
           (double)(data->step[first + n].to_ns - data->step[first].from_ns) < 0.95e9 * SPAN_S)
        n++;
    return n + 1;
}

/** The equation of three positions, the first at the start of step `first`. Returns 0 if a motion is missing. */
static int set_triple(const struct fit *f, size_t first, struct triple *t)
{
    const gathered_t *data = f->data;
    const size_t n = steps_of_span(data, first), m = first + n < data->steps ? steps_of_span(data, first + n) : 0;
    if (!m || first + n + m > data->steps) return 0;
    const step_t *a = &data->step[first], *b = &data->step[first + n], *c = &data->step[first + n + m - 1];
    const double T[2] = {(double)(b->from_ns - a->from_ns) * 1e-9, (double)(c->to_ns - b->from_ns) * 1e-9};
    struct integral I[2];
    double camera[2][3], lever[2][3];
    if (T[0] > 2.0 * SPAN_S || T[1] > 2.0 * SPAN_S || !displacement(f, first, first + n - 1, camera[0], lever[0]) ||
        !displacement(f, first + n, first + n + m - 1, camera[1], lever[1]) ||
        !integrate(f, a->from_ns, b->from_ns, &I[0]) || !integrate(f, b->from_ns, c->to_ns, &I[1]))
        return 0;
    for (int k = 0; k < 3; k++) {
        t->D[k] = camera[1][k] / T[1] - camera[0][k] / T[0];
        t->E[k] = I[0].velocity[k] + I[1].position[k] / T[1] - I[0].position[k] / T[0] -
                  (lever[1][k] / T[1] - lever[0][k] / T[0]);
    }
    for (int k = 0; k < 9; k++) t->B[k] = I[0].by_bias[0][k] + I[1].by_bias[1][k] / T[1] - I[0].by_bias[1][k] / T[0];
    t->T = 0.5 * (T[0] + T[1]);
    const double since = (double)(b->from_ns - data->from_ns), all = (double)(data->to_ns - data->from_ns + 1);
    t->block = (int)(since / all * LEAST_SQUARES_BLOCKS);
    t->stretch = (int)(since * 1e-9 / STRETCH_S);
    return t->stretch < STRETCHES;
}

static void residual(const struct fit *f, const struct triple *t, double r[3])
{
    const double *x = f->ls.x;
    for (int k = 0; k < 3; k++)
        r[k] = t->D[k] - (1.0 + x[SCALE]) * t->E[k] + rotation_dot(&t->B[3 * k], &x[BIAS]) -
               t->T * x[GRAVITY + 3 * t->stretch + k];
}

static int rising(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/** Median length of the residuals [m/s]. */
static double median(const struct fit *f)
{
    double *length = malloc((f->triples + 1) * sizeof *length), middle = 0.05, r[3];
    for (size_t i = 0; i < f->triples && length; i++) {
        residual(f, &f->triple[i], r);
        length[i] = rotation_length(r);
    }
    if (length && f->triples) {
        qsort(length, f->triples, sizeof *length, rising);
        middle = length[f->triples / 2];
    }
    free(length);
    return fmax(middle, 1e-3);
}

static void add_all(struct fit *f, double spread)
{
    least_squares_clear(&f->ls);
    for (size_t i = 0; i < f->triples; i++) {
        const struct triple *t = &f->triple[i];
        double r[3];
        residual(f, t, r);
        const double square = rotation_dot(r, r) / (spread * spread);
        for (int k = 0; k < 3; k++) {
            double row[LEAST_SQUARES_PARAMETERS] = {0};
            row[SCALE] = -t->E[k];
            for (int j = 0; j < 3; j++) row[BIAS + j] = t->B[3 * k + j];
            row[GRAVITY + 3 * t->stretch + k] = -t->T;
            least_squares_add(&f->ls, t->block, row, r[k], 1.0 / (spread * spread * (1.0 + square)));
        }
    }
    least_squares_prior(&f->ls, SCALE, 1.0);
    for (int k = 0; k < 3; k++) least_squares_prior(&f->ls, BIAS + k, BIAS_M_S2);
    for (int i = GRAVITY; i < f->ls.n; i++) least_squares_prior(&f->ls, i, 100.0);
}

static int solve(struct fit *f)
{
    int stretches = 0;
    for (size_t i = 0; i < f->triples; i++)
        if (f->triple[i].stretch >= stretches) stretches = f->triple[i].stretch + 1;
    least_squares_begin(&f->ls, GRAVITY + 3 * stretches);
    for (int i = 0; i < 30; i++) {
        add_all(f, i ? 1.5 * median(f) : 1.0);
        const double change = least_squares_step(&f->ls);
        if (change < 0.0) return 0;
        if (change < 1e-8) break;
    }
    add_all(f, 1.5 * median(f));
    return least_squares_deviations(&f->ls) > 2;
}

/** Mean size of gravity of all stretches that have an equation [m/s^2]. */
static double gravity_of(const struct fit *f, const double *x)
{
    int used[STRETCHES] = {0}, stretches = 0;
    double sum = 0.0;
    for (size_t i = 0; i < f->triples; i++) used[f->triple[i].stretch] = 1;
    for (int w = 0; w < STRETCHES; w++) {
        if (!used[w]) continue;
        sum += rotation_length(&x[GRAVITY + 3 * w]) / fabs(1.0 + x[SCALE]);
        stretches++;
    }
    return stretches ? sum / stretches : 0.0;
}

static void add_findings(findings_t *all, const struct fit *f, int blocks)
{
    const double right = f->data->rig.imu.gravity_m_s2 > 0.0 ? f->data->rig.imu.gravity_m_s2 : 9.81;
    double without[LEAST_SQUARES_BLOCKS];
    const finding_t scale = {.name = "scale of the two cameras",
                             .unit = "%",
                             .value = 100.0 * f->ls.x[SCALE],
                             .sigma = 100.0 * least_squares_sigma(&f->ls, SCALE),
                             .tolerance = SCALE_PERCENT,
                             .dof = blocks - 1};
    finding_t *to = finding_add(all, &scale);
    if (to->decision == FINDING_UNKNOWN)
        snprintf(to->advice, sizeof to->advice,
                 "Move the rig to and fro by 20 cm and more, along each axis, twice a second, near textured objects.");
    if (to->decision == FINDING_WRONG) {
        snprintf(to->text, sizeof to->text, "Motions by the cameras are %.1f %% %s than those by the accelerometer.",
                 fabs(scale.value), scale.value > 0.0 ? "larger" : "smaller");
        snprintf(to->advice, sizeof to->advice, "%s",
                 scale.value < -100.0
                     ? "Forces have the wrong sign: at rest an accelerometer measures +9.81 m/s^2 along the axis that "
                       "points up."
                     : "The baseline is wrong by as much (was the board's square given in its true size?), or the "
                       "accelerometer's unit or scale: see gravity.");
    }
    for (int b = 0; b < LEAST_SQUARES_BLOCKS; b++) without[b] = gravity_of(f, f->ls.without[b]);
    const finding_t gravity = {.name = "size of gravity",
                               .unit = "m/s^2",
                               .value = gravity_of(f, f->ls.x),
                               .expected = right,
                               .sigma = least_squares_deviation(&f->ls, without),
                               .tolerance = GRAVITY_M_S2,
                               .dof = blocks - 1};
    to = finding_add(all, &gravity);
    if (to->decision == FINDING_WRONG)
        snprintf(to->advice, sizeof to->advice, "%s",
                 gravity.value < 2.0
                     ? "The forces lack gravity: give what the accelerometer measures, not what is left of it."
                     : "The accelerometer's scale or bias is off: lay each side of the IMU on a table; each "
                       "axis must read +-9.81.");
    if (to->decision == FINDING_UNKNOWN)
        snprintf(to->advice, sizeof to->advice, "Record longer, with slow and fast motion.");
}

/** Factor to m/s^2, by the mean length of the forces: 1, or that of samples in g. */
static double unit_of(const gathered_t *data)
{
    double sum = 0.0;
    for (size_t i = 0; i < data->samples; i++) sum += rotation_length(data->imu[i].accel_m_s2);
    const double mean = data->samples ? sum / (double)data->samples : 0.0;
    return mean > 0.7 && mean < 1.6 ? STANDARD_M_S2 : 1.0;
}

void accel_check(findings_t *all, const gathered_t *data, const gyro_fit_t *gyro, int depths)
{
    struct fit f = {.data = data, .gyro = gyro, .unit = unit_of(data)};
    if (!data->has_accel || !gyro->solved) return;
    if (f.unit != 1.0) {
        const finding_t x = {.name = "unit of the accelerometer",
                             .unit = "m/s^2",
                             .value = STANDARD_M_S2 / f.unit,
                             .expected = STANDARD_M_S2,
                             .sigma = 0.1,
                             .tolerance = GRAVITY_M_S2,
                             .dof = HUGE_VAL};
        finding_t *to = finding_add(all, &x);
        snprintf(to->advice, sizeof to->advice, "The forces are in g: give them in m/s^2. All else takes them for g.");
    }
    if (data->rig.cameras < 2 || calibration_baseline_m(&data->rig) <= 0.0) {
        finding_unknown(all, "size of gravity", "One camera has no metric motion to compare with.",
                        "Lay the IMU on each side in turn: each axis must read +-9.81 m/s^2.");
        return;
    }
    if (!depths) {
        finding_unknown(all, "scale of the two cameras", "Depths mean nothing while the cameras do not fit each other.",
                        "Mend that first.");
        return;
    }
    f.triple = calloc(data->steps + 1, sizeof *f.triple);
    for (size_t i = 0; i < data->steps && f.triple; i++) f.triples += (size_t)set_triple(&f, i, &f.triple[f.triples]);
    if (f.triples < LEAST_TRIPLES || !solve(&f))
        finding_unknown(all, "scale of the two cameras", "Too few metric motions are known.",
                        "Record 10 s or more near textured objects, without fast blur.");
    else {
        int blocks = 0;
        for (int b = 0; b < LEAST_SQUARES_BLOCKS; b++) blocks += f.ls.used[b] > 0;
        add_findings(all, &f, blocks);
    }
    free(f.triple);
}
