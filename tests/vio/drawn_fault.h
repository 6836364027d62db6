/* SPDX-License-Identifier: MIT */
/* A fault of a drawn flight: sensor, kind, size, beginning and length, by seed, one in a flight. The kinds are the rows
 * of drawn_fault_table.h, each with a function that puts it into samples, stamps, view or pictures.
 *
 * Times   since the first frame, true time [s] */
#ifndef DRAWN_FAULT_H
#define DRAWN_FAULT_H

#include "drawn_flight.h"

/** Sensor that is wrong. IMU: gyro and accelerometer; PAIR: both cameras; CLOCK: that of the cameras. */
enum fault_sensor {
    FAULT_GYRO,
    FAULT_ACCEL,
    FAULT_IMU,
    FAULT_CAMERA_0,
    FAULT_CAMERA_1,
    FAULT_PAIR,
    FAULT_CLOCK,
    FAULT_SENSORS
};
static const char *const fault_sensors[FAULT_SENSORS] = {"gyro", "accel", "imu", "camera0", "camera1", "pair", "clock"};

/** Sets of sensors, a bit each. */
enum { ON_GYRO = 1 << FAULT_GYRO, ON_ACCEL = 1 << FAULT_ACCEL, ON_IMU = 1 << FAULT_IMU, ON_PAIR = 1 << FAULT_PAIR };
enum { ON_CLOCK = 1 << FAULT_CLOCK, ON_CAMERA_1 = 1 << FAULT_CAMERA_1 };
enum { ON_CAMERA = 1 << FAULT_CAMERA_0 | ON_CAMERA_1 | ON_PAIR };

/** Axes that a kind touches: none is named; one of x, y, z; one of these or all. */
enum fault_axes { AXIS_NONE, AXIS_ONE, AXIS_ANY };
enum { ALL_AXES = 3 };

/** Programs that draw a kind unless they are told which: without pictures, with them. */
enum { IN_TRACKS = 1, IN_PICTURES = 2 };

struct fault;
struct fault_view;
struct fault_picture;

/** Changes samples from .. to - 1 of `count`, which it lowers by those that it takes out. */
typedef void fault_samples_act(const struct fault *fault, vfront_imu_t *imu, uint32_t *count, uint32_t from,
                               uint32_t to);
/** Changes the stamps of frames from .. to - 1, or takes frames out. */
typedef void fault_stamps_act(const struct fault *fault, struct flight *f, int from, int to);
/** Changes what the cameras see `since_s` after the beginning. */
typedef void fault_view_act(const struct fault *fault, double since_s, struct fault_view *view);
/** Changes the picture of a camera. */
typedef void fault_picture_act(const struct fault *fault, const struct fault_picture *at, uint8_t *pixels);

/** Row of the table of kinds. Size: log-uniform in least .. most, below notice to absurd; unit "-": it has none. */
struct fault_kind {
    const char *name;
    unsigned sensors;
    enum fault_axes axes;
    const char *unit;
    double least, most;
    unsigned programs;
    fault_samples_act *samples;
    fault_stamps_act *stamps;
    fault_view_act *view;
    fault_picture_act *picture;
    const char *meaning;
};

/** Fault of a flight. What a kind does not use is drawn all the same. */
struct fault {
    const struct fault_kind *kind;
    uint64_t seed;
    enum fault_sensor sensor;
    int axis; /* 0..2, ALL_AXES */
    double size, sign;
    double begin_s, length_s;
    double share, side;  /* part of the picture's width: how much of it, and where it begins, 0..1 - share */
    double direction[3]; /* of a motion or an error */
    double ramp_s;       /* until a moving object has its speed */
    int order;           /* permutation of axes, 0..4 */
};

/** Generator of the fault, apart from those of the world; of its noise. */
enum { PART_FAULT = 2000, PART_FAULT_NOISE };

/** One of the bits of a set, all as likely. u: 0..1. */
static inline int fault_choose(unsigned set, double u)
{
    int members = 0, nth;
    for (unsigned s = set; s; s &= s - 1) members++;
    nth = (int)fmin(u * members, members - 1);
    for (int i = 0; i < 32; i++)
        if (set >> i & 1 && nth-- == 0) return i;
    return 0;
}

/** Draws the fault of a seed, of one kind, in a flight of `seconds` at camera_hz. It begins within the second and third
 *  quarter of the flight. A quarter of all last to the end; the length of the others is log-uniform from a frame on. */
static inline void fault_draw(const struct fault_kind *kind, uint64_t seed, double seconds, double camera_hz,
                              struct fault *f)
{
    memset(f, 0, sizeof *f);
    world_reseed(seed, PART_FAULT);
    f->kind = kind;
    f->seed = seed;
    f->sensor = (enum fault_sensor)fault_choose(kind->sensors, real(0, 1));
    const double axis = real(0, kind->axes == AXIS_ANY ? 4 : 3), u = real(0, 1);
    f->axis = kind->axes == AXIS_NONE ? ALL_AXES : (int)fmin(axis, kind->axes == AXIS_ANY ? 3 : 2);
    f->size = kind->least * exp(u * log(kind->most / kind->least));
    f->sign = real(-1, 1) < 0 ? -1 : 1;
    f->begin_s = seconds * real(0.25, 0.75);
    const double rest = seconds - f->begin_s, frame = fmin(rest, 1 / camera_hz), lasting = real(0, 1);
    f->length_s = frame * exp(real(0, 1) * log(rest / frame));
    if (lasting < 0.25) f->length_s = rest + 1;
    f->share = real(0.10, 0.95);
    f->side = real(0, 1 - f->share);
    any_direction(f->direction);
    f->ramp_s = 0.05 * exp(real(0, log(40)));
    f->order = (int)fmin(real(0, 5), 4);
}

/** 1 if the fault is there at a time. */
static inline int fault_active(const struct fault *f, double t_s)
{
    return t_s >= f->begin_s && t_s < f->begin_s + f->length_s;
}

/** True time since the first frame of a stamp on the IMU clock [s]. */
static inline double fault_time(uint64_t t_ns)
{
    return 1e-9 * (double)(int64_t)(t_ns - FLIGHT_EPOCH_NS) - FLIGHT_LEAD_S;
}

static inline const char *fault_axis_name(const struct fault *f)
{
    static const char *const names[] = {"x", "y", "z", "all"};
    return f->kind->axes == AXIS_NONE ? "-" : names[f->axis];
}

#endif
