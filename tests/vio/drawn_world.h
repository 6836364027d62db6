/* SPDX-License-Identifier: MIT */
/* Distributions of drawn worlds: everything that a flight of tests/vio/worlds.c depends on, each with its unit and its
 * source. A world is a pure function of its seed. Every quantity has a generator of its own, keyed by seed and place in
 * the table, so that a quantity added at the end leaves all others as they were. */
#ifndef DRAWN_WORLD_H
#define DRAWN_WORLD_H

#include "tests/fixture/rigid.h"

/** Distributions: uniform from a to b; its logarithm uniform from a to b; normal with mean a and standard deviation b;
 *  whole numbers a to b, all as likely. */
enum world_kind { WORLD_FLAT, WORLD_LOG, WORLD_NORMAL, WORLD_WHOLE };

/** Groups of quantities, of which some alone can be drawn: the others then have their value of easy worlds. */
enum world_group {
    WORLD_SAMPLES,
    WORLD_CLOCKS,
    WORLD_FRAMES,
    WORLD_PLACE,
    WORLD_CALIBRATION,
    WORLD_TRACKS,
    WORLD_MOTION,
    WORLD_PICTURES, /* only where they are rendered */
    WORLD_GROUPS
};
static const char *const world_groups[WORLD_GROUPS] = {"samples",     "clocks", "frames", "place",
                                                       "calibration", "tracks", "motion", "pictures"};

/** Drawn quantities: X(name, group, unit, distribution, a, b, value in easy worlds, source). That value
 *  NAN: drawn in these, too. */
/* clang-format off */
#define WORLD_DRAWS(X) \
    /* IMU; its noise follows from the class: world_imus */ \
    X(imu, SAMPLES, "class", WHOLE, 0, 3, NAN, "0 ADIS16448, 1 BMI088, 2 ICM-42688-P, 3 poor one") \
    X(imu_hz, SAMPLES, "Hz", LOG, 200, 1000, NAN, "rates at which autopilots read these IMUs") \
    X(imu_noise, SAMPLES, "of data sheet", LOG, 1, 2, 1, "data sheets have typical values, parts are worse") \
    X(imu_jitter, SAMPLES, "of interval", FLAT, 0, 0.05, 0, "stamps by a host that reads a buffer") \
    X(gyro_bias, SAMPLES, "rad/s", FLAT, 0, 0.15, 0, "zero rate output: 0.5 deg/s to the 20 deg/s of MPU-6000") \
    X(accel_bias, SAMPLES, "m/s2", FLAT, 0, 0.5, 0, "zero g output: 20 mg of the best, 50 to 80 mg of MPU-6000") \
    X(imu_scale, SAMPLES, "1", FLAT, 0, 0.01, 0, "largest error of an axis; data sheets: 0.5 to 3 %") \
    X(imu_turn, SAMPLES, "deg", FLAT, 0, 0.5, 0, "largest misalignment of an axis; data sheets: 0.05 deg to 2 %") \
    X(g_sensitivity, SAMPLES, "of data sheet", FLAT, 0, 1, 0, "0.015 deg/s/g (ADIS16448) to 0.1 deg/s/g") \
    X(gravity, SAMPLES, "m/s2", FLAT, 9.780, 9.832, 9.81, "equator to pole; the rig states 9.81") \
    X(tone, SAMPLES, "m/s2", LOG, 0.02, 5, 0, "amplitude of a rotor at the accelerometer, before the IMU's filter") \
    X(tone_turn, SAMPLES, "rad/s per m/s2", LOG, 0.002, 0.02, NAN, "the same at the gyro, for each m/s2") \
    X(tone_hz, SAMPLES, "Hz", FLAT, 60, 250, NAN, "rotors of 3,600 to 15,000 revolutions a minute") \
    /* clocks and frames */ \
    X(offset_ms, CLOCKS, "ms", FLAT, -20, 20, 0, "t_imu = t_cam + this; the rig states 0") \
    X(jitter_ms, CLOCKS, "ms", LOG, 0.01, 1, 0, "of the camera's stamps: hardware trigger to USB driver") \
    X(latency_ms, CLOCKS, "ms", FLAT, 5, 40, NAN, "middle of the exposure to arrival; samples come until then") \
    X(camera_hz, FRAMES, "Hz", LOG, 5, 60, 25, "cameras of drones") \
    X(missing, FRAMES, "1", FLAT, 0, 0.4, 0, "share of frames that never arrive") \
    X(missing_run, FRAMES, "frames", FLAT, 1, 4, 1, "mean length of a run of them") \
    X(exposure_ms, FRAMES, "ms", LOG, 0.2, 15, 0.2, "sunlight to dusk; at most half of the interval") \
    /* rig */ \
    X(view_deg, PLACE, "deg", FLAT, 60, 110, 90, "horizontal field of view of 752 px") \
    X(baseline, PLACE, "m", LOG, 0.06, 0.4, 0.15, "stereo cameras of drones") \
    X(pitch_deg, PLACE, "deg", FLAT, -35, 20, 0, "of the camera on the body, upwards") \
    X(down, PLACE, "1 in 4", WHOLE, 0, 3, 0, "3: the camera looks down") \
    /* errors of the calibration, residuals of a good one */ \
    X(focal_0, CALIBRATION, "px", NORMAL, 0, 0.3, 0, "focal length of camera 0") \
    X(focal_1, CALIBRATION, "px", NORMAL, 0, 0.3, 0, "of camera 1") \
    X(centre_x0, CALIBRATION, "px", NORMAL, 0, 0.2, 0, "principal point") \
    X(centre_y0, CALIBRATION, "px", NORMAL, 0, 0.2, 0, "principal point") \
    X(centre_x1, CALIBRATION, "px", NORMAL, 0, 0.2, 0, "principal point") \
    X(centre_y1, CALIBRATION, "px", NORMAL, 0, 0.2, 0, "principal point") \
    X(stereo_deg, CALIBRATION, "deg", NORMAL, 0, 0.1, 0, "turn of camera 1 about any axis") \
    X(baseline_mm, CALIBRATION, "mm", NORMAL, 0, 0.5, 0, "length of the baseline") \
    X(mount_deg, CALIBRATION, "deg", NORMAL, 0, 1, 0, "turn of the cameras on the IMU about any axis") \
    X(mount_mm, CALIBRATION, "mm", NORMAL, 0, 5, 0, "place of the cameras on the IMU along any direction") \
    /* scene */ \
    X(near_m, PLACE, "m", LOG, 0.5, 10, 2, "nearest range") \
    X(deep, PLACE, "of nearest", LOG, 1.5, 30, 5, "farthest range over it; at most 60 m") \
    X(texture, TRACKS, "1", FLAT, 0.15, 1, 1, "share of 200 tracks; its root of 340 key points of level 0") \
    X(edges, TRACKS, "1", FLAT, 0, 0.2, 0, "share of tracks on an edge") \
    X(edge_slide, TRACKS, "of parallax", FLAT, 0.05, 0.5, NAN, "by which a track lags along its edge") \
    X(partners, TRACKS, "1", FLAT, 0.5, 0.95, 0.9, "share of tracks with a partner where camera 1 sees them") \
    X(wrong_partners, TRACKS, "1", FLAT, 0, 0.05, 0, "share of points with partners elsewhere, by 3 to 30 px") \
    X(wrong_matches, TRACKS, "1", FLAT, 0.01, 0.1, 0, "share of matches with another point") \
    /* tracks */ \
    X(noise_px, TRACKS, "px", FLAT, 0.05, 0.25, 0.1, "of a position in one frame, on each axis") \
    X(walk_px, TRACKS, "px", FLAT, 0.1, 0.4, 0, "walk of a track's error in a frame, each axis: drawn_stages.h") \
    X(disparity_px, TRACKS, "of stated", FLAT, 0.8, 2, 1, "error of a disparity over its stated deviation") \
    X(life_s, TRACKS, "s", LOG, 0.3, 3, NAN, "mean life of a track that stays sharp and in view") \
    /* motion */ \
    X(vehicle, MOTION, "kind", WHOLE, 0, 2, NAN, "0, 1 multirotor, which tilts to accelerate; 2 by hand or on wheels") \
    X(accel, MOTION, "m/s2", LOG, 0.05, 29.4, 2, "largest acceleration: hover to 3 g") \
    X(motion_hz, MOTION, "Hz", LOG, 0.3, 1.5, 0.5, "of its waves") \
    X(turn_rate, MOTION, "rad/s", LOG, 0.02, 2, 0.3, "largest rate of yaw; by hand also of roll and pitch") \
    X(speed, MOTION, "1/s", LOG, 0.02, 2, 0.2, "steady speed in nearest ranges a second; at most 15 m/s") \
    X(rest_s, MOTION, "s", FLAT, -2, 3, NAN, "at rest at the start; negative: in motion from the first frame on") \
    /* pictures */ \
    X(electrons, PICTURES, "at white", LOG, 500, 10000, 10000, "full wells of small sensors; less with gain") \
    X(brightness, PICTURES, "1", FLAT, 0, 0.25, 0, "by which exposure control changes brightness every 3 s, at most")
/* clang-format on */

#define WORLD_MEMBER(name, group, unit, kind, a, b, easy, source) double name;
struct world {
    WORLD_DRAWS(WORLD_MEMBER)
};

/** Row of the table above. */
struct world_draw {
    const char *name;
    enum world_group group;
    const char *unit;
    enum world_kind kind;
    double a, b, easy;
    const char *source;
};
#define WORLD_ROW(name, group, unit, kind, a, b, easy, source)                                                         \
    {#name, WORLD_##group, unit, WORLD_##kind, a, b, easy, source},
static const struct world_draw world_draws[] = {WORLD_DRAWS(WORLD_ROW)};
enum { WORLD_QUANTITIES = sizeof world_draws / sizeof *world_draws };
_Static_assert(sizeof(struct world) == WORLD_QUANTITIES * sizeof(double), "a world is its quantities");

/** Classes of IMU. Noise densities, random walks of biases, sensitivity of the gyro to forces, limits: typical
 *  values of the data sheets. Walks, which these lack: as users of Kalibr state them for such parts. The poor one: a
 *  copy of
 *  MPU-6000 with four times its noise (0.005 deg/s/sqrt(Hz), 400 ug/sqrt(Hz), 0.1 deg/s/g). */
static const struct world_imu {
    const char *name;
    double gyro_dps, accel_ug;    /* [deg/s/sqrt(Hz), ug/sqrt(Hz)] */
    double gyro_walk, accel_walk; /* [rad/s^2/sqrt(Hz), m/s^3/sqrt(Hz)] */
    double dps_per_g;             /* [deg/s/g] */
    double limit_dps, limit_g;
} world_imus[4] = {{"ADIS16448", 0.0135, 230, 2e-5, 1e-3, 0.015, 1000, 18},
                   {"BMI088", 0.014, 175, 2e-5, 1e-3, 0.1, 2000, 24},
                   {"ICM-42688", 0.0028, 70, 1e-5, 5e-4, 0.1, 2000, 16},
                   {"poor", 0.02, 1600, 1e-4, 5e-3, 0.1, 2000, 16}};

/** Mixes all bits of a number (finalizer of splitmix64, S. Vigna). */
static inline uint64_t world_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

/** Reseeds the generator for part `part` of a world: its own sequence. Those of neighbouring seeds and parts have
 *  nothing in common. */
static inline void world_reseed(uint64_t seed, uint64_t part)
{
    shake(world_mix(world_mix(seed + 0x9e3779b97f4a7c15ull) + part));
    for (int i = 0; i < 8; i++) (void)roll64();
}

/** Draws one quantity. */
static inline double world_value(const struct world_draw *d)
{
    switch (d->kind) {
    case WORLD_LOG: return d->a * exp(real(0, log(d->b / d->a)));
    case WORLD_NORMAL: return d->a + d->b * normal();
    case WORLD_WHOLE: return d->a + floor(real(0, d->b - d->a + 1));
    default: return real(d->a, d->b);
    }
}

/** World of a seed, by a table of quantities as above. groups: those that are drawn, a bit each. */
static inline void world_draw_from(const struct world_draw draws[], uint64_t seed, unsigned groups, struct world *w)
{
    double v[WORLD_QUANTITIES];
    for (int i = 0; i < WORLD_QUANTITIES; i++) {
        world_reseed(seed, (uint64_t)i);
        v[i] = world_value(&draws[i]);
        if (!(groups >> draws[i].group & 1) && draws[i].easy == draws[i].easy) v[i] = draws[i].easy;
    }
    memcpy(w, v, sizeof v);
}

static inline void world_print_distributions(void)
{
    static const char *const kind[] = {"flat", "log-flat", "normal", "whole"};
    printf("%-15s %-11s %-15s %-9s %9s %9s %9s  %s\n", "quantity", "group", "unit", "", "a", "b", "easy", "source");
    for (int i = 0; i < WORLD_QUANTITIES; i++)
        printf("%-15s %-11s %-15s %-9s %9g %9g %9g  %s\n", world_draws[i].name, world_groups[world_draws[i].group],
               world_draws[i].unit, kind[world_draws[i].kind], world_draws[i].a, world_draws[i].b, world_draws[i].easy,
               world_draws[i].source);
    printf("\n%-10s %16s %14s %16s %16s %10s %8s %6s\n", "IMU", "deg/s/sqrt(Hz)", "ug/sqrt(Hz)", "rad/s2/sqrt(Hz)",
           "m/s3/sqrt(Hz)", "deg/s/g", "deg/s", "g");
    for (int i = 0; i < 4; i++)
        printf("%-10s %16g %14g %16g %16g %10g %8g %6g\n", world_imus[i].name, world_imus[i].gyro_dps,
               world_imus[i].accel_ug, world_imus[i].gyro_walk, world_imus[i].accel_walk, world_imus[i].dps_per_g,
               world_imus[i].limit_dps, world_imus[i].limit_g);
}

#endif
