/* SPDX-License-Identifier: MIT */
/* Everything that vfront_init() refuses, with its details: rigs, lenses, tuning values. Refused memory is reusable. */
#include "tests/fixture/pair.h"

#include <math.h>
#include <stdio.h>

/* ---- init -------------------------------------------------------------------------------------------------------- */

/** Requires that vfront_init() on unused memory refuses, and leaves it unused. */
static void init_refused(const vfront_rig_t *rig, const vfront_tuning_t *tuning, vfront_port_t port,
                         vfront_status_t want, const char *detail)
{
    vfront_info_t info;
    pair_refused(vfront_init(&pair_vf, rig, tuning, port), want, detail);
    assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_E_STATE);
}

static void init_null(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_unplaced();
    assert_int_equal(vfront_init(NULL, &rig, NULL, pair_port), VFRONT_E_NULL);
    init_refused(NULL, NULL, pair_port, VFRONT_E_NULL, "rig");
    pair_still_starts();
}

static void init_align(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_unplaced();
    for (uintptr_t off = 1; off < 8; off++) {
        vfront_t *crooked = (vfront_t *)((uintptr_t)&pair_vf + off);
        assert_int_equal(vfront_init(crooked, &rig, NULL, pair_port), VFRONT_E_ALIGN);
        assert_string_equal(vfront_detail(crooked), "");
    }
    pair_still_starts();
}

#define VALUES (sizeof(standard_values) / sizeof *standard_values)
static const vfront_value_t standard_values[] = {VFRONT_VALUES};

/** Requires that vfront_init() of an application with these values refuses. Nothing of pair_vf may change except the
 *  text and the address after it. */
static void values_refused(const vfront_value_t *values, size_t count, const char *detail)
{
    static vfront_t before;
    const vfront_rig_t rig = pair_unplaced();
    memset(&pair_vf, 0, sizeof pair_vf);
    assert_int_equal(vfront_init_values(&pair_vf, &rig, NULL, pair_port, values, count), VFRONT_E_CONFIG);
    assert_string_equal(vfront_detail(&pair_vf), detail);
    if (*detail) memset((char *)(uintptr_t)vfront_detail(&pair_vf), 0, 128 + sizeof(void *));
    assert_memory_equal(&pair_vf, &before, sizeof before);
}

/** Every value one too large, one missing, one unknown to the library. */
static void init_config(void **state)
{
    (void)state;
    vfront_value_t values[VALUES + 1];
    char text[128];
    for (size_t i = 0; i < VALUES; i++) {
        const unsigned long long own = standard_values[i].value;
        memcpy(values, standard_values, sizeof standard_values);
        values[i].value++;
        snprintf(text, sizeof text, "%s: %llu in the application, %llu in the library", values[i].name, own + 1, own);
        values_refused(values, VALUES, text);
        memmove(values + i, standard_values + i + 1, (VALUES - 1 - i) * sizeof *values);
        snprintf(text, sizeof text, "%s: unknown in the application, %llu in the library", standard_values[i].name,
                 own);
        values_refused(values, VALUES - 1, i == VALUES - 1 ? "" : text); /* the last one is the size of vfront_t */
    }
    memcpy(values, standard_values, sizeof standard_values);
    values[VALUES] = (vfront_value_t){"VFRONT_LATER", UINT64_MAX};
    values_refused(values, VALUES + 1, "VFRONT_LATER: 18446744073709551615 in the application, unknown in the library");
    values[VALUES - 1].value = 127; /* no room for a text: nothing is written */
    values_refused(values, VALUES, "");
    assert_int_equal(vfront_init_values(&pair_vf, NULL, NULL, pair_port, NULL, 0), VFRONT_E_NULL);
    pair_still_starts();
}

static void init_size(void **state)
{
    (void)state;
    static const int32_t width[] = {INT32_MIN, -1, 0, 15, VFRONT_WIDTH + 1, INT32_MAX};
    static const int32_t height[] = {INT32_MIN, -1, 0, 15, VFRONT_HEIGHT + 1, INT32_MAX};
    static const int32_t cameras[] = {INT32_MIN, -1, 0, VFRONT_CAMERAS + 1, INT32_MAX};
    vfront_rig_t rig = pair_unplaced();
    for (size_t i = 0; i < sizeof cameras / sizeof *cameras; i++) {
        rig.cameras = cameras[i];
        init_refused(&rig, NULL, pair_port, VFRONT_E_SIZE, "rig.cameras");
    }
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        char name[96];
        for (size_t i = 0; i < sizeof width / sizeof *width; i++) {
            rig = pair_unplaced();
            rig.camera[c].width_px = width[i];
            snprintf(name, sizeof name, "rig.camera[%d].width_px = %d is not in 16..%d", c, width[i], VFRONT_WIDTH);
            init_refused(&rig, NULL, pair_port, VFRONT_E_SIZE, name);
            rig = pair_unplaced();
            rig.camera[c].height_px = height[i];
            snprintf(name, sizeof name, "rig.camera[%d].height_px = %d is not in 16..%d", c, height[i], VFRONT_HEIGHT);
            init_refused(&rig, NULL, pair_port, VFRONT_E_SIZE, name);
        }
    }
    pair_still_starts();
}

static void init_cells(void **state)
{
    (void)state;
    vfront_tuning_t tuning;
    vfront_tuning_default(&tuning);
    tuning.cell_width_px = tuning.cell_height_px = 4; /* 40 x 30 */
    const vfront_rig_t rig = pair_unplaced();
    init_refused(&rig, &tuning, pair_port, VFRONT_E_SIZE, "1200 cells");
    vfront_tuning_default(&tuning);
    tuning.cull_width_px = tuning.cull_height_px = 4;
    init_refused(&rig, &tuning, pair_port, VFRONT_E_SIZE, "culling cells, over VFRONT_CULL_CELLS");
    pair_still_starts();
}

static void init_mask(void **state)
{
    (void)state;
    static const uint32_t pitch[] = {0, 1, 159};
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        for (size_t i = 0; i < sizeof pitch / sizeof *pitch; i++) {
            vfront_rig_t rig = pair_unplaced();
            rig.camera[c].mask = pair_grey[0];
            rig.camera[c].mask_pitch_bytes = pitch[i];
            init_refused(&rig, NULL, pair_port, VFRONT_E_MASK,
                         c ? "camera[1].mask_pitch_bytes" : "camera[0].mask_pitch_bytes");
        }
    pair_still_starts();
}

static void init_lens(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, -1.0, 0.0};
    static const struct {
        size_t offset;
        const char *name;
        size_t values; /* number of values; -1 and 0 are valid for a principal point */
    } field[] = {
        {offsetof(vfront_camera_t, fx_px), "fx_px", 7},
        {offsetof(vfront_camera_t, fy_px), "fy_px", 7},
        {offsetof(vfront_camera_t, cx_px), "cx_px", 5},
        {offsetof(vfront_camera_t, cy_px), "cy_px", 5},
    };
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        for (size_t f = 0; f < sizeof field / sizeof *field; f++)
            for (size_t i = 0; i < field[f].values; i++) {
                vfront_rig_t rig = pair_unplaced();
                char name[64];
                memcpy((char *)&rig.camera[c] + field[f].offset, &bad[i], sizeof bad[i]);
                snprintf(name, sizeof name, "rig.camera[%d].%s", c, field[f].name);
                init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION, name);
            }
    pair_still_starts();
}

static void init_lens_limits(void **state)
{
    (void)state;
    static const struct {
        double f_widths, c_sizes; /* focal length in widths, principal point in image sizes */
        vfront_status_t status;
    } limit[] = {
        /* an image 1 degree wide has a focal length of 57.29 widths */
        {0.05, 0.5, VFRONT_OK}, {0.0499, 0.5, VFRONT_E_CALIBRATION},
        {57.2, 0.5, VFRONT_OK}, {57.4, 0.5, VFRONT_E_CALIBRATION},
        {1, -1, VFRONT_OK},     {1, -1.01, VFRONT_E_CALIBRATION},
        {1, 2, VFRONT_OK},      {1, 2.01, VFRONT_E_CALIBRATION},
    };
    for (size_t i = 0; i < sizeof limit / sizeof *limit; i++) {
        vfront_rig_t rig = pair_unplaced();
        rig.camera[0].fx_px = rig.camera[0].fy_px = limit[i].f_widths * 160;
        rig.camera[0].cx_px = limit[i].c_sizes * 160;
        rig.camera[0].cy_px = limit[i].c_sizes * 120;
        assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), limit[i].status);
        vfront_shutdown(&pair_vf);
    }
}

static void init_mount(void **state)
{
    (void)state;
    static const double bad[][9] = {
        {1.01, 0, 0, 0, 1, 0, 0, 0, 1}, /* stretched */
        {1, 0.01, 0, 0, 1, 0, 0, 0, 1}, /* sheared */
        {1, 1, 1, 1, 1, 1, 1, 1, 1},    /* singular */
        {0, 0, 0, 0, 0, 0, 0, 0, 1},    /* singular */
        {NAN, 0, 0, 0, 1, 0, 0, 0, 1},       {1, 0, 0, 0, INFINITY, 0, 0, 0, 1},
        {1, 0, 0, 0, 1, 0, -INFINITY, 0, 1}, {1e300, 0, 0, 0, 1, 0, 0, 0, 1},
    };
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            vfront_rig_t rig = pair_unplaced();
            memcpy(rig.camera[c].R_cam_imu, bad[i], sizeof bad[i]);
            init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION,
                         c ? "no rotation: rig.camera[1].R_cam_imu" : "no rotation: rig.camera[0].R_cam_imu");
        }
    pair_still_starts();
}

/** Axes related by a reflection, usually a wrong sign or order. */
static void init_mirror(void **state)
{
    (void)state;
    static const double mirror[][9] = {
        {-1, 0, 0, 0, 1, 0, 0, 0, 1},
        {1, 0, 0, 0, 1, 0, 0, 0, -1},
        {-1, 0, 0, 0, -1, 0, 0, 0, -1},
        {0, 1, 0, 1, 0, 0, 0, 0, 1},
    };
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        for (size_t i = 0; i < sizeof mirror / sizeof *mirror; i++) {
            vfront_rig_t rig = pair_unplaced();
            memcpy(rig.camera[c].R_cam_imu, mirror[i], sizeof mirror[i]);
            init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION,
                         c ? "mirrored, determinant -1: rig.camera[1].R_cam_imu"
                           : "mirrored, determinant -1: rig.camera[0].R_cam_imu");
        }
    pair_still_starts();
}

static void init_place(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY, 100.001, -100.001, 1e300};
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        for (int k = 0; k < 3; k++)
            for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                vfront_rig_t rig = pair_unplaced();
                rig.camera[c].t_cam_imu_m[k] = bad[i];
                init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION,
                             c ? "rig.camera[1].t_cam_imu_m" : "rig.camera[0].t_cam_imu_m");
            }
    pair_still_starts();
}

/** Row time: finite, and at most 0.1 s over all rows, of either sign. */
static void init_rows(void **state)
{
    (void)state;
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        for (int sign = -1; sign < 2; sign += 2) {
            vfront_rig_t rig = pair_unplaced();
            const double most = 1e5 / rig.camera[c].height_px, bad[] = {NAN, INFINITY, 1e300, 1.0001 * most};
            for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                rig.camera[c].row_us = sign * bad[i];
                init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION,
                             c ? "rig.camera[1].row_us" : "rig.camera[0].row_us");
            }
            rig.camera[c].row_us = sign * 0.9999 * most;
            assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
            vfront_shutdown(&pair_vf);
        }
    pair_still_starts();
}

/** Lens coefficients: those of the model within bounds, the others 0; also for an uncalibrated camera. */
static void init_distortion(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1.001e6, -1.001e6};
    static const int numbers[] = {5, 8, 4}, unknown[] = {6, -1, INT32_MAX, INT32_MIN};
    for (int variant = 0; variant < 2 * VFRONT_CAMERAS; variant++) {
        const int c = variant % VFRONT_CAMERAS;
        vfront_rig_t start = pair_unplaced(), rig;
        if (variant >= VFRONT_CAMERAS) start.camera[c].fx_px = start.camera[c].fy_px = 0;
        for (int i = 0; i < 4; i++) {
            rig = start;
            rig.camera[c].lens = (vfront_lens_t)unknown[i];
            init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION,
                         c ? "unknown: rig.camera[1].lens" : "unknown: rig.camera[0].lens");
        }
        for (int lens = 0; lens < 3; lens++)
            for (int k = 0; k < 8; k++) {
                const int decentering = lens != VFRONT_LENS_EQUIDISTANT && (k == 2 || k == 3);
                char name[64];
                start.camera[c].lens = (vfront_lens_t)lens;
                snprintf(name, sizeof name, "%s: rig.camera[%d].distortion[%d]",
                         k < numbers[lens] ? "absurd" : "no such number", c, k);
                for (int i = 0; i < 5 + 2 * decentering; i++) {
                    rig = start;
                    rig.camera[c].distortion[k] = i < 5 ? bad[i] : i == 5 ? 1.001 : -1.001;
                    init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION, name);
                }
                rig = start;
                rig.camera[c].distortion[k] = lens == VFRONT_LENS_EQUIDISTANT && k == 2 ? 1.5
                                                                                        : 1e-9; /* k3, and no p1 */
                snprintf(name, sizeof name, "no such number: rig.camera[%d].distortion[%d]", c, k);
                if (k >= numbers[lens]) {
                    init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION, name);
                } else {
                    assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
                    vfront_shutdown(&pair_vf);
                }
            }
    }
    pair_still_starts();
}

/** Coefficients of ds, eucm and omni: each within its range, others 0; also for an uncalibrated camera. */
static void init_sphere(void **state)
{
    static const struct {
        vfront_lens_t lens;
        int k;
        double least, most;
        const char *text;
    } range[] = {
        {VFRONT_LENS_DS, 0, -0.99, 0.99, "xi is not in -0.99..0.99: rig.camera[%d].distortion[0]"},
        {VFRONT_LENS_DS, 1, 0, 1, "alpha is not in 0..1: rig.camera[%d].distortion[1]"},
        {VFRONT_LENS_DS, 2, 0, 0, "no such number: rig.camera[%d].distortion[2]"},
        {VFRONT_LENS_EUCM, 0, 0, 1, "alpha is not in 0..1: rig.camera[%d].distortion[0]"},
        {VFRONT_LENS_EUCM, 1, 0.01, 100, "beta is not in 0.01..100: rig.camera[%d].distortion[1]"},
        {VFRONT_LENS_OMNI, 0, -0.99, 99, "xi is not in -0.99..99: rig.camera[%d].distortion[0]"},
        {VFRONT_LENS_OMNI, 1, -1e6, 1e6, "absurd: rig.camera[%d].distortion[1]"},
        {VFRONT_LENS_OMNI, 4, -1, 1, "absurd: rig.camera[%d].distortion[4]"},
        {VFRONT_LENS_OMNI, 5, 0, 0, "no such number: rig.camera[%d].distortion[5]"},
    };
    (void)state;
    for (size_t i = 0; i < VFRONT_CAMERAS * sizeof range / sizeof *range; i++) {
        const int c = (int)(i % VFRONT_CAMERAS), n = (int)(i / VFRONT_CAMERAS);
        const double bad[] = {range[n].least - 1e-3, range[n].most + 1e-3, NAN, INFINITY, -INFINITY};
        vfront_rig_t rig = pair_unplaced();
        vfront_camera_t *camera = &rig.camera[c];
        char text[80];
        if (i % 3 == 0) camera->fx_px = camera->fy_px = 0;
        snprintf(text, sizeof text, range[n].text, c);
        memset(camera->distortion, 0, sizeof camera->distortion);
        camera->lens = range[n].lens;
        camera->distortion[1] = range[n].lens == VFRONT_LENS_EUCM ? 1.0 : 0.0;
        assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
        vfront_shutdown(&pair_vf);
        for (int b = 0; b < 5; b++) {
            camera->distortion[range[n].k] = bad[b];
            init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION, text);
        }
    }
    pair_still_starts();
}

/** A lens that is valid in no part of the image is refused; one valid in part of it is accepted. An image less than a
 *  degree wide is refused as a wrong unit. */
static void init_view(void **state)
{
    (void)state;
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        vfront_rig_t rig = pair_unplaced();
        vfront_camera_t *camera = &rig.camera[c];
        /* off the middle, so that a valid range of a pixel or two contains none of the checked points */
        camera->cx_px = 85;
        camera->cy_px = 65;
        camera->distortion[0] = -1e6; /* folds over at r = 0.0006, 0.6 px */
        init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION,
                     c ? "holds nowhere in the picture: rig.camera[1].distortion"
                       : "holds nowhere in the picture: rig.camera[0].distortion");
        camera->lens = VFRONT_LENS_EQUIDISTANT;
        init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION, "holds nowhere");
        camera->lens = VFRONT_LENS_RATIONAL;
        camera->distortion[0] = 0;
        camera->distortion[5] = 1e6; /* folds over at r = 0.001 */
        init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION, "holds nowhere");
        camera->distortion[5] = 0;
        camera->distortion[0] = -400; /* folds over at r = 0.029, 31 px */
        assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
        vfront_shutdown(&pair_vf);
        camera->distortion[0] = 0;
        camera->fx_px = 57.4 * 160;
        init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION,
                     c ? "below 1 degree: rig.camera[1].fx_px" : "below 1 degree: rig.camera[0].fx_px");
        camera->fx_px = 57.2 * 160;
        camera->fy_px = 100 * 160; /* only the width is checked */
        assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
        vfront_shutdown(&pair_vf);
    }
    pair_still_starts();
}

#if VFRONT_CAMERAS > 1
/** Rig whose second camera is at `at` in axes of the first, and rotated about y; the first is displaced from the IMU,
 *  and rotated. */
static vfront_rig_t pair_rig(double x, double y, double z, double turn_rad)
{
    vfront_rig_t rig = pair_unplaced();
    static const double R0[9] = {0, -1, 0, 0, 0, -1, 1, 0, 0}, t0[3] = {0.3, -0.2, 0.1};
    const double c = cos(turn_rad), s = sin(turn_rad), R10[9] = {c, 0, -s, 0, 1, 0, s, 0, c}, at[3] = {x, y, z};
    double *R1 = rig.camera[1].R_cam_imu, *t1 = rig.camera[1].t_cam_imu_m;
    memcpy(rig.camera[0].R_cam_imu, R0, sizeof R0);
    memcpy(rig.camera[0].t_cam_imu_m, t0, sizeof t0);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            for (int j = 0; j < 3; j++) R1[3 * i + j] += R10[3 * i + k] * R0[3 * k + j];
            t1[i] += R10[3 * i + k] * (t0[k] - at[k]); /* p1 = R10 (p0 - at) */
        }
    return rig;
}
#endif

/** Two cameras as a stereo pair: all reasons for refusal, each also without calibration, where it is not checked. */
static void init_pair(void **state)
{
    (void)state;
#if VFRONT_CAMERAS > 1
    static const struct {
        double x, y, z, turn_rad;
        const char *detail; /* NULL: accepted */
    } variant[] = {
        {0.11, 0, 0, 0, NULL},
        {0.11, 0.01, -0.01, 0.02, NULL},
        {19.9, 0, 0, 0, NULL},
        {1.1e-4, 0, 0, 0, NULL},
        {0, 0.2, 0, 0, NULL},
        {0, -0.2, 0, 0, NULL},
        {-0.09, 0.2, 0, 0, NULL},
        {0.1, 0, 0, 1.5, NULL},
        {0.1, 0, 0, -1.5, NULL},
        {0, 0, 0, 0.3, NULL},
        {0, 0, 0, 3, NULL},
        {0, 0, 0, 0, NULL},
        {0, 0, 0.1, 0, NULL},
        {110, 0, 0, 0, "t_cam_imu_m"},
        {60, 0, 0, 0, "baseline of 60 m: wrong unit, millimetres? rig.camera[1].t_cam_imu_m"},
        {0, -20.1, 0, 0, "baseline of 20 m"},
        {9e-5, 0, 0, 0, "baseline of 90 micrometres, wrong unit? rig.camera[1].t_cam_imu_m"},
        {-0.11, 0, 0, 0, "left of camera 0, left and right swapped? rig.camera[1].t_cam_imu_m"},
        {-0.11, 0.1, 0.1, 0.5, "left and right swapped?"},
        {0.11, 0, 0, 1.6, "more than 90 degrees apart: rig.camera[1].R_cam_imu"},
        {0.11, 0, 0, -3, "more than 90 degrees apart"},
    };
    for (size_t i = 0; i < sizeof variant / sizeof *variant; i++)
        for (int calibrated = 0; calibrated < 4; calibrated++) {
            vfront_rig_t rig = pair_rig(variant[i].x, variant[i].y, variant[i].z, variant[i].turn_rad);
            for (int c = 0; c < 2; c++)
                if (!(calibrated >> c & 1)) rig.camera[c].fx_px = rig.camera[c].fy_px = 0;
            if (variant[i].detail && (calibrated == 3 || variant[i].x > 100)) {
                init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION, variant[i].detail);
                continue;
            }
            assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
            vfront_shutdown(&pair_vf);
        }
#endif
    pair_still_starts();
}

#if VFRONT_RECTIFY
static void rectified(const vfront_rig_t *rig, const char *detail)
{
    vfront_tuning_t t;
    vfront_info_t info;
    vfront_tuning_default(&t);
    t.rectify = 1;
    if (detail) {
        init_refused(rig, &t, pair_port, VFRONT_E_CALIBRATION, detail);
        return;
    }
    assert_int_equal(vfront_init(&pair_vf, rig, &t, pair_port), VFRONT_OK);
    assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_OK);
    assert_int_equal(info.rectified, 1);
    for (int c = 0; c < 2; c++) {
        const int32_t *v = info.valid_px[c];
        assert_true(v[2] > 0 && v[3] > 0 && v[0] <= 80 && v[0] + v[2] > 80 && v[1] <= 60 && v[1] + v[3] > 60);
        assert_true(info.camera[c].fx_px == 1600 && info.camera[c].fy_px == 1600 &&
                    info.camera[c].lens == VFRONT_LENS_RADTAN && !info.camera[c].mask);
    }
    vfront_shutdown(&pair_vf);
}
#endif

/** Pairs that can be rectified, and reasons for refusal. */
static void init_rectified(void **state)
{
    (void)state;
#if VFRONT_RECTIFY
    static const char unplaced[] = "rectify needs two calibrated cameras in different places: rig",
                      off[] = "over 45 degrees off its x axis: rig.camera[1].t_cam_imu_m";
    static const struct {
        double x, y, z, turn_rad;
        const char *detail; /* NULL: accepted */
    } variant[] = {
        {0.11, 0, 0, 0, NULL},
        {0.11, 0.01, -0.01, 0.02, NULL},
        {1, 0.99, 0, 0, NULL},
        {1, -0.99, 0, 0, NULL},
        {1, 0, 0.03, 0, NULL},
        {1, 1.01, 0, 0, off},
        {1, -1.01, 0, 0, off},
        {1, 0, 1.01, 0, off},
        {1, 0, -1.01, 0, off},
        {0, 0.2, 0, 0, off},
        {0, -0.2, 0, 0, off},
        {0, 0, 0.1, 0, off},
        {-0.09, 0.2, 0, 0, off},
        {0, 0, 0, 0.3, unplaced},
        {0, 0, 0, 0, unplaced},
        {0.1, 0, 0, 1.2, "the middle of the rectified picture lies outside what it sees: rig.camera[0]"},
        {0.1, 0, 0, 1.5, "over 84 degrees off the axis that is square to the baseline: rig.camera[1].R_cam_imu"},
        {-0.11, 0, 0, 0, "left and right swapped?"},
    };
    for (size_t i = 0; i < sizeof variant / sizeof *variant; i++) {
        const vfront_rig_t rig = pair_rig(variant[i].x, variant[i].y, variant[i].z, variant[i].turn_rad);
        rectified(&rig, variant[i].detail);
    }
    for (int c = 0; c < 3; c++) {
        vfront_rig_t rig = pair_rig(0.11, 0, 0, 0);
        if (c < 2)
            rig.camera[c].fx_px = rig.camera[c].fy_px = 0;
        else
            rig.cameras = 1;
        rectified(&rig, unplaced);
    }
#else
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    assert_int_equal(vfront_tuning_set(&t, "rectify", 1), VFRONT_E_TUNING);
#endif
    pair_still_starts();
}

/** Requirements of keyframes and loops. */
static void init_map(void **state)
{
    vfront_tuning_t t;
    (void)state;
    vfront_tuning_default(&t);
#if VFRONT_MAP
    vfront_rig_t rig = pair_rig(0.11, 0, 0, 0);
    static const char *const needed[] = {"track_target", "ego", "select_points", "describe"};
    for (int i = 0; i < 4; i++) {
        char detail[100];
        snprintf(detail, sizeof detail, "map needs tracks, motions and described key points: %s", needed[i]);
        vfront_tuning_default(&t);
        t.map = 1;
        assert_int_equal(vfront_tuning_set(&t, needed[i], 0), VFRONT_OK);
        init_refused(&rig, &t, pair_port, VFRONT_E_TUNING, detail);
        t.map = 0;
        assert_int_equal(vfront_init(&pair_vf, &rig, &t, pair_port), VFRONT_OK);
        vfront_shutdown(&pair_vf);
    }
    vfront_tuning_default(&t);
    t.map = 1;
    assert_int_equal(vfront_init(&pair_vf, &rig, &t, pair_port), VFRONT_OK);
    vfront_shutdown(&pair_vf);
    rig.camera[0].fx_px = rig.camera[0].fy_px = 0;
    init_refused(&rig, &t, pair_port, VFRONT_E_CALIBRATION, "map needs a calibrated camera: rig.camera[0]");
#else
    assert_int_equal(vfront_tuning_set(&t, "map", 1), VFRONT_E_TUNING);
#endif
}

/** Both cameras at the same position: they are no pair, even if their rotation is orthonormal only to a thousandth. */
static void init_one_place(void **state)
{
    (void)state;
    vfront_rig_t rig = pair_unplaced();
    for (int side = -1; side <= 1; side++) {
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            const double R[9] = {1.0002, 0, 0, 0, 1, 0, 0, 0, 1}, t[3] = {80 * side, 1, 2};
            memcpy(rig.camera[c].R_cam_imu, R, sizeof R);
            memcpy(rig.camera[c].t_cam_imu_m, t, sizeof t);
        }
        assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
        vfront_shutdown(&pair_vf);
    }
    pair_still_starts();
}

static void init_port(void **state)
{
    (void)state;
    static const int unknown[] = {3, -1, INT32_MAX, INT32_MIN};
    const vfront_rig_t rig = pair_unplaced();
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        char name[32];
        snprintf(name, sizeof name, "port %d", unknown[i]);
        init_refused(&rig, NULL, (vfront_port_t)unknown[i], VFRONT_E_PORT, name);
    }
#ifndef VFRONT_CUDA
    init_refused(&rig, NULL, VFRONT_PORT_CUDA, VFRONT_E_PORT, "port 1 is not in this build");
#endif
#if !VFRONT_HOST
    init_refused(&rig, NULL, VFRONT_PORT_HOST, VFRONT_E_PORT, "port 2 is not in this build");
#endif
    pair_still_starts();
}

/** AUTO takes the GPU if there is one; else the host port, and reports why. */
static void init_auto(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_unplaced();
    vfront_info_t info;
    const vfront_status_t cuda = vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_CUDA);
    if (cuda) assert_true(cuda == VFRONT_E_PORT || cuda == VFRONT_E_NO_DEVICE || cuda == VFRONT_E_DRIVER);
    if (cuda) assert_string_not_equal(vfront_detail(&pair_vf), "");
    vfront_shutdown(&pair_vf);
    assert_int_equal(vfront_init(&pair_vf, &rig, NULL, VFRONT_PORT_AUTO), VFRONT_OK);
    assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_OK);
    assert_int_equal(info.port, cuda ? VFRONT_PORT_HOST : VFRONT_PORT_CUDA);
    if (cuda == VFRONT_E_NO_DEVICE || cuda == VFRONT_E_DRIVER) assert_string_not_equal(vfront_detail(&pair_vf), "");
    vfront_shutdown(&pair_vf);
    pair_still_starts();
}

/** The detail is about a refused call; there was none. */
static void init_no_detail(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_unplaced();
    memset(&pair_vf, 0, sizeof pair_vf);
    assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
    assert_string_equal(vfront_detail(&pair_vf), "");
    assert_string_equal(vfront_detail(NULL), "");
    vfront_shutdown(&pair_vf);
    assert_string_equal(vfront_detail(&pair_vf), "");
}

/* ---- tuning ------------------------------------------------------------------------------------------------------ */

static int32_t *value_of(vfront_tuning_t *t, size_t index) { return (int32_t *)t + index; }

static void tuning_range(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_unplaced();
    const vfront_tuning_entry_t *e;
    for (size_t i = 0; (e = vfront_tuning_entry(i)) != NULL; i++) {
        const int64_t bad[] = {e->least - 1ll, e->most + 1ll, INT32_MIN, INT32_MAX};
        for (int k = 0; k < 4; k++) {
            vfront_tuning_t t, before;
            if (bad[k] > INT32_MAX || (bad[k] >= e->least && bad[k] <= e->most))
                continue; /* any number is a valid seed */
            vfront_tuning_default(&t);
            before = t;
            assert_int_equal(vfront_tuning_set(&t, e->name, (int32_t)bad[k]), VFRONT_E_TUNING);
            assert_memory_equal(&t, &before, sizeof t);
            *value_of(&t, i) = (int32_t)bad[k];
            init_refused(&rig, &t, pair_port, VFRONT_E_TUNING, e->name);
        }
    }
    pair_still_starts();
}

/** 1 for values whose range depends on the device; tests/core/hang.c tests them. */
static int is_of_device(const char *name)
{
    static const char *const of_device[] = {"abandon_us", "abandon_init_ms", "device", "priority"};
    int is = 0;
    for (size_t i = 0; i < sizeof of_device / sizeof *of_device; i++) is |= !strcmp(name, of_device[i]);
    return is;
}

/** Frames are accepted with every value at both ends of its range. */
static void tuning_ends(void **state)
{
    (void)state;
    vfront_rig_t rig = pair_unplaced();
    const vfront_tuning_entry_t *e;
    rig.camera[VFRONT_CAMERAS - 1].t_cam_imu_m[0] = -0.1; /* a pair that can be rectified */
    rig.imu = pair_with_imu().imu;
    for (size_t i = 0; (e = vfront_tuning_entry(i)) != NULL; i++) {
        for (int most = 0; most < 2 && !(pair_port == VFRONT_PORT_CUDA && is_of_device(e->name)); most++) {
            vfront_tuning_t t;
            const vfront_result_t *r;
            vfront_tuning_default(&t);
            assert_int_equal(*value_of(&t, i), e->standard);
            assert_int_equal(vfront_tuning_set(&t, e->name, most ? e->most : e->least), VFRONT_OK);
            assert_int_equal(*value_of(&t, i), most ? e->most : e->least);
            if (t.detect_threshold_low >= t.detect_threshold) t.detect_threshold = 254, t.detect_threshold_low = 253;
            if (t.cell_width_px < 8) t.cell_height_px = 120; /* within VFRONT_CELLS */
            if (t.cell_height_px < 8) t.cell_width_px = 160;
            if (t.track_distance_px > 128) t.cell_width_px = t.cell_height_px = 64;
            if (t.cull_width_px < 8) t.cull_height_px = 120; /* within VFRONT_CULL_CELLS */
            if (t.cull_height_px < 8) t.cull_width_px = 160;
            if (t.select_aggregate_px > 32) t.cull_width_px = t.cull_height_px = 16;
            if (t.stixel) t.dense = 1;
            if (t.dense) t.rectify = 1;
            if (t.dense_p1 > 36) t.dense_p2 = 39;
            if (t.dense_p2 < 6) t.dense_p1 = 0;
            assert_int_equal(vfront_init(&pair_vf, &rig, &t, pair_port), VFRONT_OK);
            for (uint64_t k = 0; k < 3; k++) {
                const vfront_frame_t f = pair_frame(k);
                assert_int_equal(vfront_step(&pair_vf, &f, &r), VFRONT_OK);
            }
            vfront_shutdown(&pair_vf);
        }
    }
    assert_null(vfront_tuning_entry(SIZE_MAX));
}

static void tuning_pairs(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_unplaced();
    static const int32_t low[] = {20, 21, 254};
    for (size_t i = 0; i < sizeof low / sizeof *low; i++) {
        vfront_tuning_t t;
        vfront_tuning_default(&t);
        assert_int_equal(vfront_tuning_set(&t, "detect_threshold_low", low[i]), VFRONT_OK);
        init_refused(&rig, &t, pair_port, VFRONT_E_TUNING, "detect_threshold_low");
    }
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.track_distance_px = 129; /* more than four cells */
    init_refused(&rig, &t, pair_port, VFRONT_E_TUNING, "track_distance_px");
    vfront_tuning_default(&t);
    t.select_aggregate_px = 33; /* more than four culling cells */
    init_refused(&rig, &t, pair_port, VFRONT_E_TUNING, "select_aggregate_px");
    vfront_tuning_default(&t);
    assert_int_equal(vfront_tuning_set(&t, "ego_points", 6),
                     VFRONT_OK); /* within its range, but there is no such solver */
    init_refused(&rig, &t, pair_port, VFRONT_E_TUNING, "6 is not 5, 7 or 8: ego_points");
    pair_still_starts();
}

static void tuning_arguments(void **state)
{
    (void)state;
    vfront_tuning_t t, before;
    vfront_tuning_default(NULL);
    vfront_tuning_default(&t);
    before = t;
    assert_int_equal(vfront_tuning_set(NULL, "detect_border_px", 9), VFRONT_E_NULL);
    assert_int_equal(vfront_tuning_set(&t, NULL, 9), VFRONT_E_NULL);
    assert_int_equal(vfront_tuning_set(&t, "", 9), VFRONT_E_TUNING);
    assert_int_equal(vfront_tuning_set(&t, "detect_ran", 1), VFRONT_E_TUNING);
    assert_int_equal(vfront_tuning_set(&t, "detect_ranks", 1), VFRONT_E_TUNING);
    assert_memory_equal(&t, &before, sizeof t);
}

#define LONE(test) cmocka_unit_test_teardown(test, pair_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LONE(init_null),       LONE(init_align),  LONE(init_config),  LONE(init_size),
        LONE(init_cells),      LONE(init_mask),   LONE(init_lens),    LONE(init_lens_limits),
        LONE(init_mount),      LONE(init_mirror), LONE(init_place),   LONE(init_rows),
        LONE(init_distortion), LONE(init_view),   LONE(init_pair),    LONE(init_one_place),
        LONE(init_rectified),  LONE(init_port),   LONE(init_auto),    LONE(init_no_detail),
        LONE(tuning_range),    LONE(tuning_ends), LONE(tuning_pairs), LONE(tuning_arguments),
        LONE(init_map),        LONE(init_sphere),
    };
    return pair_run("init", tests, sizeof tests / sizeof *tests);
}
