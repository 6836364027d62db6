/* SPDX-License-Identifier: MIT */
/* Kinds of faults. A new kind is a row here and a function in drawn_fault_samples.h, drawn_fault_view.h or
 * drawn_fault_pictures.h; tests/vio/drawn_faults.c then asks that it changes what it names and nothing else. */
#ifndef DRAWN_FAULT_TABLE_H
#define DRAWN_FAULT_TABLE_H

#include "drawn_fault_pictures.h"
#include "drawn_fault_samples.h"

/** Rows by where the fault is put in: samples; stamps; view, in worlds without pictures; view in both; view without
 *  pictures and painted in them; pictures. (name, sensors, axes, unit, least, most, function, meaning) */
#define FAULT_KIND(name, sensors, axes, unit, least, most, programs, ...)                                              \
    {#name, ON_##sensors, AXIS_##axes, unit, least, most, programs, __VA_ARGS__},
#define FAULT_SAMPLES(name, sensors, axes, unit, least, most, act, what)                                               \
    FAULT_KIND(name, sensors, axes, unit, least, most, IN_TRACKS, .samples = act, .meaning = what)
#define FAULT_STAMPS(name, sensors, axes, unit, least, most, act, what)                                                \
    FAULT_KIND(name, sensors, axes, unit, least, most, IN_TRACKS, .stamps = act, .meaning = what)
#define FAULT_VIEW(name, sensors, axes, unit, least, most, act, what)                                                  \
    FAULT_KIND(name, sensors, axes, unit, least, most, IN_TRACKS, .view = act, .meaning = what)
#define FAULT_VIEWED(name, sensors, axes, unit, least, most, act, what)                                                \
    FAULT_KIND(name, sensors, axes, unit, least, most, IN_TRACKS | IN_PICTURES, .view = act, .meaning = what)
#define FAULT_PAINTED(name, sensors, axes, unit, least, most, act, paint, what)                                        \
    FAULT_KIND(name, sensors, axes, unit, least, most, IN_TRACKS | IN_PICTURES, .view = act, .picture = paint,         \
               .meaning = what)
#define FAULT_PICTURE(name, sensors, axes, unit, least, most, act, what)                                               \
    FAULT_KIND(name, sensors, axes, unit, least, most, IN_PICTURES, .picture = act, .meaning = what)

/* clang-format off */
static const struct fault_kind fault_kinds[] = {
    FAULT_SAMPLES(gyro_bias, GYRO, ANY, "rad/s", 1e-3, 10, sample_bias, "added at once")
    FAULT_SAMPLES(gyro_ramp, GYRO, ANY, "rad/s2", 1e-3, 10, sample_ramp, "a bias that grows")
    FAULT_SAMPLES(gyro_scale, GYRO, ANY, "1", 3e-3, 3, sample_scale, "error of the scale, either sign")
    FAULT_SAMPLES(gyro_sign, GYRO, ANY, "-", 1, 1, sample_negate, "negated")
    FAULT_SAMPLES(gyro_axes, GYRO, NONE, "-", 1, 1, sample_permute, "axes exchanged")
    FAULT_SAMPLES(gyro_stuck, GYRO, ANY, "-", 1, 1, sample_stick, "the value before the fault stays")
    FAULT_SAMPLES(gyro_limit, GYRO, ANY, "rad/s", 0.01, 10, sample_saturate, "saturates there, unknown to the rig")
    FAULT_SAMPLES(gyro_noise, GYRO, ANY, "rad/s", 1e-3, 10, sample_noise, "white, deviation of a sample")
    FAULT_SAMPLES(accel_bias, ACCEL, ANY, "m/s2", 0.01, 50, sample_bias, "added at once")
    FAULT_SAMPLES(accel_ramp, ACCEL, ANY, "m/s3", 0.01, 50, sample_ramp, "a bias that grows")
    FAULT_SAMPLES(accel_scale, ACCEL, ANY, "1", 3e-3, 3, sample_scale, "error of the scale, either sign")
    FAULT_SAMPLES(accel_sign, ACCEL, ANY, "-", 1, 1, sample_negate, "negated")
    FAULT_SAMPLES(accel_axes, ACCEL, NONE, "-", 1, 1, sample_permute, "axes exchanged")
    FAULT_SAMPLES(accel_stuck, ACCEL, ANY, "-", 1, 1, sample_stick, "the value before the fault stays")
    FAULT_SAMPLES(accel_limit, ACCEL, ANY, "m/s2", 0.1, 100, sample_saturate, "saturates there, unknown to the rig")
    FAULT_SAMPLES(accel_noise, ACCEL, ANY, "m/s2", 0.01, 50, sample_noise, "white, deviation of a sample")
    FAULT_SAMPLES(imu_turn, IMU, ONE, "deg", 0.1, 180, sample_turn, "turned in its mount")
    FAULT_SAMPLES(imu_lost, IMU, NONE, "-", 1, 1, sample_lose, "no samples")
    FAULT_SAMPLES(imu_dropout, IMU, NONE, "%", 1, 100, sample_drop, "samples missing at random")
    FAULT_SAMPLES(imu_delay, IMU, NONE, "s", 1e-3, 1, sample_delay, "values of so long ago, stamps of now")
    FAULT_VIEW(imu_late, IMU, NONE, "s", 1e-3, 1, view_late_samples, "right stamps, which arrive so much later")
    FAULT_SAMPLES(imu_jitter, IMU, NONE, "s", 1e-4, 0.3, sample_jitter, "of the stamps, in order")
    FAULT_SAMPLES(imu_order, IMU, NONE, "%", 0.1, 100, sample_disorder, "samples exchanged with the next")
    FAULT_STAMPS(clock_step, CLOCK, NONE, "s", 1e-3, 10, stamp_step, "stamps of frames off, either way")
    FAULT_STAMPS(clock_drift, CLOCK, NONE, "ppm", 30, 3e5, stamp_drift, "their clock fast or slow")
    FAULT_STAMPS(clock_jitter, CLOCK, NONE, "s", 1e-4, 0.3, stamp_jitter, "of their stamps")
    FAULT_STAMPS(frames_lost, PAIR, NONE, "%", 3, 100, stamp_lose, "frames missing at random")
    FAULT_VIEW(camera_lost, CAMERA, NONE, "-", 1, 1, view_lose, "black")
    FAULT_VIEW(camera_frozen, CAMERA, NONE, "-", 1, 1, view_freeze, "the picture before the fault stays")
    FAULT_VIEW(camera_delay, CAMERA, NONE, "s", 1e-3, 1, view_delay, "pictures of so long ago, stamps of now")
    FAULT_VIEW(camera_turn, CAMERA, ONE, "deg", 0.03, 30, view_turn, "extrinsics: turned at once")
    FAULT_VIEW(camera_creep, CAMERA, ONE, "deg/s", 0.01, 30, view_creep, "extrinsics: it turns on")
    FAULT_VIEW(baseline, PAIR, NONE, "%", 0.1, 80, view_baseline, "longer or shorter")
    FAULT_VIEW(focal, CAMERA, NONE, "%", 0.03, 30, view_focal, "focal length longer or shorter")
    FAULT_VIEW(object_starts, PAIR, NONE, "m/s", 0.01, 10, view_object_starts, "10 to 95 % of the view starts")
    FAULT_PAINTED(object_enters, PAIR, NONE, "m/s", 0.01, 10, view_object_enters, picture_object,
        "one covers 10 to 95 %")
    FAULT_VIEWED(occlusion, CAMERA, NONE, "%", 3, 100, view_occlude, "so much of the view is black")
    FAULT_PICTURE(reflection, CAMERA, NONE, "%", 1, 95, picture_reflect, "a fixed picture mixed in, by so much")
    FAULT_PICTURE(rows_roll, CAMERA, NONE, "px", 0.1, 100, picture_roll, "lower by so much more in each frame")
    FAULT_PICTURE(interlace, CAMERA, NONE, "-", 1, 1, picture_interlace, "odd rows of the frame before")
    FAULT_PICTURE(blur, CAMERA, NONE, "px", 0.3, 30, picture_blur, "radius of a mean")
    FAULT_PICTURE(gain, CAMERA, NONE, "1", 1.03, 30, picture_gain, "brighter or darker by this factor")
    FAULT_PICTURE(picture_noise, CAMERA, NONE, "grey", 1, 100, picture_noise, "white, deviation of a pixel")
    FAULT_PICTURE(partial_freeze, CAMERA, NONE, "%", 1, 100, picture_freeze_part, "so many rows stay as before")
    FAULT_PICTURE(repeated_texture, PAIR, NONE, "m", 0.01, 1, picture_repeat, "10 to 95 % of the view has this period")
};
/* clang-format on */
enum { FAULT_KINDS = sizeof fault_kinds / sizeof *fault_kinds };

static inline void fault_print_kinds(void)
{
    printf("%-17s %-22s %-11s %-7s %9s %9s  %-15s %s\n", "kind", "sensors", "axes", "unit", "least", "most", "drawn in",
           "what");
    for (int i = 0; i < FAULT_KINDS; i++) {
        static const char *const axes[] = {"-", "x, y or z", "x, y, z, all"}, *const drawn[] = {"", "tracks",
                                                                                                "pictures", "both"};
        const struct fault_kind *k = &fault_kinds[i];
        char sensors[80] = "";
        for (int s = 0; s < FAULT_SENSORS; s++)
            if (k->sensors >> s & 1) snprintf(sensors + strlen(sensors), 20, "%s ", fault_sensors[s]);
        printf("%-17s %-22s %-12s %-6s %9g %9g  %-8s %s\n", k->name, sensors, axes[k->axes], k->unit, k->least, k->most,
               drawn[k->programs], k->meaning);
    }
}

#endif
