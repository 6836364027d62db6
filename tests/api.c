/* SPDX-License-Identifier: MIT */
/* Every status that vfront.h documents, from every call that documents it; and that a refused call changes nothing. */
#include "pair.h"

#include <math.h>
#include <stdio.h>

static const vfront_result_t *result;

static vfront_rig_t good_rig(void) { return scene_rig(&pair_scene, VFRONT_CAMERAS); }

/* ---- init ------------------------------------------------------------------------------------------------------------------ */

/** vfront_init() on memory that is not in use must refuse, and leave it not in use. */
static void init_refused(const vfront_rig_t *rig, const vfront_tuning_t *tuning, vfront_port_t port, vfront_status_t want,
                         const char *detail)
{
    vfront_info_t info;
    pair_refused(vfront_init(&pair_vf, rig, tuning, port), want, detail);
    assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_E_STATE);
}

/** After all that was refused, the memory is as good as new. */
static void still_starts(void)
{
    pair_start(NULL);
    for (int i = 0; i < 3; i++) pair_step();
    pair_end(NULL);
}

static void init_null(void **state)
{
    (void)state;
    const vfront_rig_t rig = good_rig();
    assert_int_equal(vfront_init(NULL, &rig, NULL, pair_port), VFRONT_E_NULL);
    init_refused(NULL, NULL, pair_port, VFRONT_E_NULL, "rig");
    still_starts();
}

static void init_align(void **state)
{
    (void)state;
    const vfront_rig_t rig = good_rig();
    for (uintptr_t off = 1; off < 8; off++) {
        vfront_t *crooked = (vfront_t *)((uintptr_t)&pair_vf + off);
        assert_int_equal(vfront_init(crooked, &rig, NULL, pair_port), VFRONT_E_ALIGN);
        assert_string_equal(vfront_detail(crooked), "");
    }
    still_starts();
}

static void init_config(void **state)
{
    (void)state;
    static vfront_t before;
    const vfront_rig_t rig = good_rig();
    memset(&pair_vf, 0x5a, sizeof pair_vf); /* it may be smaller than the library thinks, so not a byte may change */
    memset(&before, 0x5a, sizeof before);
    for (int bit = 0; bit < 64; bit++) {
        const uint64_t id = VFRONT_CONFIG_ID ^ 1ull << bit;
        assert_int_equal(vfront_init_config(&pair_vf, &rig, NULL, pair_port, id), VFRONT_E_CONFIG);
    }
    assert_memory_equal(&pair_vf, &before, sizeof before);
    memset(&pair_vf, 0, sizeof pair_vf);
    still_starts();
}

static void init_size(void **state)
{
    (void)state;
    static const int32_t width[] = {INT32_MIN, -1, 0, 15, VFRONT_WIDTH + 1, INT32_MAX};
    static const int32_t height[] = {INT32_MIN, -1, 0, 15, VFRONT_HEIGHT + 1, INT32_MAX};
    static const int32_t cameras[] = {INT32_MIN, -1, 0, VFRONT_CAMERAS + 1, INT32_MAX};
    vfront_rig_t rig = good_rig();
    for (size_t i = 0; i < sizeof cameras / sizeof *cameras; i++) {
        rig.cameras = cameras[i];
        init_refused(&rig, NULL, pair_port, VFRONT_E_SIZE, "rig.cameras");
    }
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        char name[64];
        for (size_t i = 0; i < sizeof width / sizeof *width; i++) {
            rig = good_rig();
            rig.camera[c].width_px = width[i];
            snprintf(name, sizeof name, "rig.camera[%d].width_px", c);
            init_refused(&rig, NULL, pair_port, VFRONT_E_SIZE, name);
            rig = good_rig();
            rig.camera[c].height_px = height[i];
            snprintf(name, sizeof name, "rig.camera[%d].height_px", c);
            init_refused(&rig, NULL, pair_port, VFRONT_E_SIZE, name);
        }
    }
    still_starts();
}

static void init_cells(void **state)
{
    (void)state;
    vfront_tuning_t tuning;
    vfront_tuning_default(&tuning);
    tuning.cell_width_px = tuning.cell_height_px = 4; /* 40 x 30 */
    const vfront_rig_t rig = good_rig();
    init_refused(&rig, &tuning, pair_port, VFRONT_E_SIZE, "1200 cells");
    still_starts();
}

static void init_mask(void **state)
{
    (void)state;
    static const uint32_t pitch[] = {0, 1, 159};
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        for (size_t i = 0; i < sizeof pitch / sizeof *pitch; i++) {
            vfront_rig_t rig = good_rig();
            rig.camera[c].mask = pair_grey[0];
            rig.camera[c].mask_pitch_bytes = pitch[i];
            init_refused(&rig, NULL, pair_port, VFRONT_E_MASK, c ? "camera[1].mask_pitch_bytes" : "camera[0].mask_pitch_bytes");
        }
    still_starts();
}

static void init_lens(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1e300, -1e300, -1.0, 0.0};
    static const struct {
        size_t offset;
        const char *name;
        size_t values; /* of bad[]; -1 and 0 are good for a principal point */
    } field[] = {
        {offsetof(vfront_camera_t, fx_px), "fx_px", 7},
        {offsetof(vfront_camera_t, fy_px), "fy_px", 7},
        {offsetof(vfront_camera_t, cx_px), "cx_px", 5},
        {offsetof(vfront_camera_t, cy_px), "cy_px", 5},
    };
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        for (size_t f = 0; f < sizeof field / sizeof *field; f++)
            for (size_t i = 0; i < field[f].values; i++) {
                vfront_rig_t rig = good_rig();
                char name[64];
                memcpy((char *)&rig.camera[c] + field[f].offset, &bad[i], sizeof bad[i]);
                snprintf(name, sizeof name, "rig.camera[%d].%s", c, field[f].name);
                init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION, name);
            }
    still_starts();
}

static void init_lens_limits(void **state)
{
    (void)state;
    static const struct {
        double f_widths, c_sizes; /* focal length in widths, principal point in picture sizes */
        vfront_status_t status;
    } limit[] = { /* a picture 1 degree wide has a focal length of 57.29 widths */
        {0.05, 0.5, VFRONT_OK},  {0.0499, 0.5, VFRONT_E_CALIBRATION}, {57.2, 0.5, VFRONT_OK}, {57.4, 0.5, VFRONT_E_CALIBRATION},
        {1, -1, VFRONT_OK},      {1, -1.01, VFRONT_E_CALIBRATION},    {1, 2, VFRONT_OK},      {1, 2.01, VFRONT_E_CALIBRATION},
    };
    for (size_t i = 0; i < sizeof limit / sizeof *limit; i++) {
        vfront_rig_t rig = good_rig();
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
        {1.01, 0, 0, 0, 1, 0, 0, 0, 1},   /* stretched */
        {1, 0.01, 0, 0, 1, 0, 0, 0, 1},   /* sheared */
        {1, 1, 1, 1, 1, 1, 1, 1, 1},      /* singular */
        {0, 0, 0, 0, 0, 0, 0, 0, 1},      /* singular */
        {NAN, 0, 0, 0, 1, 0, 0, 0, 1},    {1, 0, 0, 0, INFINITY, 0, 0, 0, 1},
        {1, 0, 0, 0, 1, 0, -INFINITY, 0, 1}, {1e300, 0, 0, 0, 1, 0, 0, 0, 1},
    };
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            vfront_rig_t rig = good_rig();
            memcpy(rig.camera[c].R_cam_imu, bad[i], sizeof bad[i]);
            init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION,
                         c ? "no rotation: rig.camera[1].R_cam_imu" : "no rotation: rig.camera[0].R_cam_imu");
        }
    still_starts();
}

/** Axes that follow from one another by a mirror, mostly a wrong sign or order. */
static void init_mirror(void **state)
{
    (void)state;
    static const double mirror[][9] = {
        {-1, 0, 0, 0, 1, 0, 0, 0, 1}, {1, 0, 0, 0, 1, 0, 0, 0, -1}, {-1, 0, 0, 0, -1, 0, 0, 0, -1}, {0, 1, 0, 1, 0, 0, 0, 0, 1},
    };
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        for (size_t i = 0; i < sizeof mirror / sizeof *mirror; i++) {
            vfront_rig_t rig = good_rig();
            memcpy(rig.camera[c].R_cam_imu, mirror[i], sizeof mirror[i]);
            init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION,
                         c ? "mirrored, determinant -1: rig.camera[1].R_cam_imu" : "mirrored, determinant -1: rig.camera[0].R_cam_imu");
        }
    still_starts();
}

static void init_place(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY, 100.001, -100.001, 1e300};
    for (int c = 0; c < VFRONT_CAMERAS; c++)
        for (int k = 0; k < 3; k++)
            for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
                vfront_rig_t rig = good_rig();
                rig.camera[c].t_cam_imu_m[k] = bad[i];
                init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION, c ? "rig.camera[1].t_cam_imu_m" : "rig.camera[0].t_cam_imu_m");
            }
    still_starts();
}

/** Numbers of a lens: those it has within bounds, the others 0; the same for a camera that is not calibrated. */
static void init_distortion(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, -INFINITY, 1.001e6, -1.001e6};
    static const int numbers[] = {5, 8, 4}, unknown[] = {3, -1, INT32_MAX, INT32_MIN};
    for (int way = 0; way < 2 * VFRONT_CAMERAS; way++) {
        const int c = way % VFRONT_CAMERAS;
        vfront_rig_t start = good_rig(), rig;
        if (way >= VFRONT_CAMERAS) start.camera[c].fx_px = start.camera[c].fy_px = 0;
        for (int i = 0; i < 4; i++) {
            rig = start;
            rig.camera[c].lens = (vfront_lens_t)unknown[i];
            init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION, c ? "unknown: rig.camera[1].lens" : "unknown: rig.camera[0].lens");
        }
        for (int lens = 0; lens < 3; lens++)
            for (int k = 0; k < 8; k++) {
                const int decentering = lens != VFRONT_LENS_EQUIDISTANT && (k == 2 || k == 3);
                char name[64];
                start.camera[c].lens = (vfront_lens_t)lens;
                snprintf(name, sizeof name, "absurd: rig.camera[%d].distortion[%d]", c, k);
                for (int i = 0; i < 5 + 2 * decentering; i++) {
                    rig = start;
                    rig.camera[c].distortion[k] = i < 5 ? bad[i] : i == 5 ? 1.001 : -1.001;
                    init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION, name);
                }
                rig = start;
                rig.camera[c].distortion[k] = lens == VFRONT_LENS_EQUIDISTANT && k == 2 ? 1.5 : 1e-9; /* k3, and no p1 */
                snprintf(name, sizeof name, "no such number: rig.camera[%d].distortion[%d]", c, k);
                if (k >= numbers[lens]) {
                    init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION, name);
                } else {
                    assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
                    vfront_shutdown(&pair_vf);
                }
            }
    }
    still_starts();
}

/** A lens that turns back before the picture begins is none; one that holds for part of the picture is. And one through which the
 *  picture is less than a degree wide is in pixels of something else. */
static void init_view(void **state)
{
    (void)state;
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        vfront_rig_t rig = good_rig();
        vfront_camera_t *camera = &rig.camera[c];
        camera->cx_px = 85; /* off the middle, so that a range of a pixel or two holds none of the points that are looked at */
        camera->cy_px = 65;
        camera->distortion[0] = -1e6; /* turns at r = 0.0006, 0.6 px */
        init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION, c ? "holds nowhere in the picture: rig.camera[1].distortion" : "holds nowhere in the picture: rig.camera[0].distortion");
        camera->lens = VFRONT_LENS_EQUIDISTANT;
        init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION, "holds nowhere");
        camera->lens = VFRONT_LENS_RATIONAL;
        camera->distortion[0] = 0;
        camera->distortion[5] = 1e6; /* turns at r = 0.001 */
        init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION, "holds nowhere");
        camera->distortion[5] = 0;
        camera->distortion[0] = -400; /* turns at r = 0.029, 31 px */
        assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
        vfront_shutdown(&pair_vf);
        camera->distortion[0] = 0;
        camera->fx_px = 57.4 * 160;
        init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION, c ? "below 1 degree: rig.camera[1].fx_px" : "below 1 degree: rig.camera[0].fx_px");
        camera->fx_px = 57.2 * 160;
        camera->fy_px = 100 * 160; /* that is of the width only */
        assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
        vfront_shutdown(&pair_vf);
    }
    still_starts();
}

#if VFRONT_CAMERAS > 1
/** A rig whose second camera sits at `at` in axes of the first, and is turned about y; the first is away from the IMU, and turned. */
static vfront_rig_t pair_rig(double x, double y, double z, double turn_rad)
{
    vfront_rig_t rig = good_rig();
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

/** Two cameras as a stereo pair: what no pair is, and each time the same without calibration, where nobody asks. */
static void init_pair(void **state)
{
    (void)state;
#if VFRONT_CAMERAS > 1
    static const struct {
        double x, y, z, turn_rad;
        const char *detail; /* NULL: good */
    } way[] = {
        {0.11, 0, 0, 0, NULL},            {0.11, 0.01, -0.01, 0.02, NULL},   {19.9, 0, 0, 0, NULL},       {1.1e-4, 0, 0, 0, NULL},
        {0, 0.2, 0, 0, NULL},             {0, -0.2, 0, 0, NULL},             {-0.09, 0.2, 0, 0, NULL},    {0.1, 0, 0, 1.5, NULL},
        {0.1, 0, 0, -1.5, NULL},          {0, 0, 0, 0.3, NULL},              {0, 0, 0, 3, NULL},
        {0, 0, 0, 0, NULL},               {0, 0, 0.1, 0, NULL},
        {110, 0, 0, 0, "t_cam_imu_m"},    {60, 0, 0, 0, "baseline of 60 m: wrong unit, millimetres? rig.camera[1].t_cam_imu_m"},
        {0, -20.1, 0, 0, "baseline of 20 m"},
        {9e-5, 0, 0, 0, "baseline of 90 micrometres, wrong unit? rig.camera[1].t_cam_imu_m"},
        {-0.11, 0, 0, 0, "left of camera 0, left and right swapped? rig.camera[1].t_cam_imu_m"},
        {-0.11, 0.1, 0.1, 0.5, "left and right swapped?"},
        {0.11, 0, 0, 1.6, "more than 90 degrees apart: rig.camera[1].R_cam_imu"},
        {0.11, 0, 0, -3, "more than 90 degrees apart"},
    };
    for (size_t i = 0; i < sizeof way / sizeof *way; i++)
        for (int calibrated = 0; calibrated < 4; calibrated++) {
            vfront_rig_t rig = pair_rig(way[i].x, way[i].y, way[i].z, way[i].turn_rad);
            for (int c = 0; c < 2; c++)
                if (!(calibrated >> c & 1)) rig.camera[c].fx_px = rig.camera[c].fy_px = 0;
            if (way[i].detail && (calibrated == 3 || way[i].x > 100)) {
                init_refused(&rig, NULL, pair_port, VFRONT_E_CALIBRATION, way[i].detail);
                continue;
            }
            assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
            vfront_shutdown(&pair_vf);
        }
#endif
    still_starts();
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
        assert_true(info.seen[c].fx_px == 1600 && info.seen[c].fy_px == 1600 && info.seen[c].lens == VFRONT_LENS_RADTAN && !info.seen[c].mask);
    }
    vfront_shutdown(&pair_vf);
}
#endif

/** Which pairs can be rectified, and why others cannot. */
static void init_rectified(void **state)
{
    (void)state;
#if VFRONT_RECTIFY
    static const char unplaced[] = "rectify needs two calibrated cameras in different places: rig", off[] = "over 45 degrees off its x axis: rig.camera[1].t_cam_imu_m";
    static const struct {
        double x, y, z, turn_rad;
        const char *detail; /* NULL: good */
    } way[] = {
        {0.11, 0, 0, 0, NULL},      {0.11, 0.01, -0.01, 0.02, NULL}, {1, 0.99, 0, 0, NULL},    {1, -0.99, 0, 0, NULL},    {1, 0, 0.03, 0, NULL},
        {1, 1.01, 0, 0, off},       {1, -1.01, 0, 0, off},           {1, 0, 1.01, 0, off},     {1, 0, -1.01, 0, off},     {0, 0.2, 0, 0, off},
        {0, -0.2, 0, 0, off},       {0, 0, 0.1, 0, off},             {-0.09, 0.2, 0, 0, off},  {0, 0, 0, 0.3, unplaced},  {0, 0, 0, 0, unplaced},
        {0.1, 0, 0, 1.2, "the middle of the rectified picture lies outside what it sees: rig.camera[0]"},
        {0.1, 0, 0, 1.5, "over 84 degrees off the axis that is square to the baseline: rig.camera[1].R_cam_imu"},
        {-0.11, 0, 0, 0, "left and right swapped?"},
    };
    for (size_t i = 0; i < sizeof way / sizeof *way; i++) {
        const vfront_rig_t rig = pair_rig(way[i].x, way[i].y, way[i].z, way[i].turn_rad);
        rectified(&rig, way[i].detail);
    }
    for (int c = 0; c < 3; c++) {
        vfront_rig_t rig = pair_rig(0.11, 0, 0, 0);
        if (c < 2) rig.camera[c].fx_px = rig.camera[c].fy_px = 0;
        else rig.cameras = 1;
        rectified(&rig, unplaced);
    }
#else
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    assert_int_equal(vfront_tuning_set(&t, "rectify", 1), VFRONT_E_TUNING);
#endif
    still_starts();
}

/** Both cameras in one place, whatever that is: they are no pair, though their rotation is one to a thousandth only. */
static void init_one_place(void **state)
{
    (void)state;
    vfront_rig_t rig = good_rig();
    for (int side = -1; side <= 1; side++) {
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            const double R[9] = {1.0002, 0, 0, 0, 1, 0, 0, 0, 1}, t[3] = {80 * side, 1, 2};
            memcpy(rig.camera[c].R_cam_imu, R, sizeof R);
            memcpy(rig.camera[c].t_cam_imu_m, t, sizeof t);
        }
        assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
        vfront_shutdown(&pair_vf);
    }
    still_starts();
}

static void init_port(void **state)
{
    (void)state;
    static const int unknown[] = {3, -1, INT32_MAX, INT32_MIN};
    const vfront_rig_t rig = good_rig();
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
    still_starts();
}

/** AUTO takes the GPU where there is one; else the host, and says why. */
static void init_auto(void **state)
{
    (void)state;
    const vfront_rig_t rig = good_rig();
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
    still_starts();
}

/** The detail is about a call that was refused; there was none. */
static void init_no_detail(void **state)
{
    (void)state;
    const vfront_rig_t rig = good_rig();
    memset(&pair_vf, 0, sizeof pair_vf);
    assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
    assert_string_equal(vfront_detail(&pair_vf), "");
    assert_string_equal(vfront_detail(NULL), "");
    vfront_shutdown(&pair_vf);
    assert_string_equal(vfront_detail(&pair_vf), "");
}

/* ---- tuning ---------------------------------------------------------------------------------------------------------------- */

static int32_t *value_of(vfront_tuning_t *t, size_t index) { return (int32_t *)t + index; }

static void tuning_range(void **state)
{
    (void)state;
    const vfront_rig_t rig = good_rig();
    const vfront_tuning_entry_t *e;
    for (size_t i = 0; (e = vfront_tuning_entry(i)) != NULL; i++) {
        const int32_t bad[] = {e->least - 1, e->most + 1, INT32_MIN, INT32_MAX};
        for (int k = 0; k < 4; k++) {
            vfront_tuning_t t, before;
            vfront_tuning_default(&t);
            before = t;
            assert_int_equal(vfront_tuning_set(&t, e->name, bad[k]), VFRONT_E_TUNING);
            assert_memory_equal(&t, &before, sizeof t);
            *value_of(&t, i) = bad[k];
            init_refused(&rig, &t, pair_port, VFRONT_E_TUNING, e->name);
        }
    }
    still_starts();
}

/** Every value at both ends of its range is good for frames. */
static void tuning_ends(void **state)
{
    (void)state;
    vfront_rig_t rig = good_rig();
    const vfront_tuning_entry_t *e;
    rig.camera[VFRONT_CAMERAS - 1].t_cam_imu_m[0] = -0.1; /* one that can be rectified */
    for (size_t i = 0; (e = vfront_tuning_entry(i)) != NULL; i++) {
        for (int most = 0; most < 2; most++) {
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
            if (t.select_window_px > 32) t.cull_width_px = t.cull_height_px = 16;
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
    const vfront_rig_t rig = good_rig();
    static const int32_t low[] = {20, 21, 254};
    for (size_t i = 0; i < sizeof low / sizeof *low; i++) {
        vfront_tuning_t t;
        vfront_tuning_default(&t);
        assert_int_equal(vfront_tuning_set(&t, "detect_threshold_low", low[i]), VFRONT_OK);
        init_refused(&rig, &t, pair_port, VFRONT_E_TUNING, "detect_threshold_low");
    }
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.track_distance_px = 129; /* over four cells */
    init_refused(&rig, &t, pair_port, VFRONT_E_TUNING, "track_distance_px");
    vfront_tuning_default(&t);
    t.select_window_px = 33; /* over four culling cells */
    init_refused(&rig, &t, pair_port, VFRONT_E_TUNING, "select_window_px");
    still_starts();
}

/** An arc cannot be at most shorter than at least. */
static void tuning_arcs(void **state)
{
    (void)state;
    const vfront_rig_t rig = good_rig();
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    for (t.detect_arc = 9; t.detect_arc <= 12; t.detect_arc++)
        for (t.detect_arc_most = 9; t.detect_arc_most <= 16; t.detect_arc_most++) {
            if (t.detect_arc_most < t.detect_arc) {
                init_refused(&rig, &t, pair_port, VFRONT_E_TUNING, "detect_arc_most");
                continue;
            }
            assert_int_equal(vfront_init(&pair_vf, &rig, &t, pair_port), VFRONT_OK);
            vfront_shutdown(&pair_vf);
        }
    still_starts();
}

static void tuning_arguments(void **state)
{
    (void)state;
    vfront_tuning_t t, before;
    vfront_tuning_default(NULL);
    vfront_tuning_default(&t);
    before = t;
    assert_int_equal(vfront_tuning_set(NULL, "detect_arc", 9), VFRONT_E_NULL);
    assert_int_equal(vfront_tuning_set(&t, NULL, 9), VFRONT_E_NULL);
    assert_int_equal(vfront_tuning_set(&t, "", 9), VFRONT_E_TUNING);
    assert_int_equal(vfront_tuning_set(&t, "detect_ar", 9), VFRONT_E_TUNING);
    assert_int_equal(vfront_tuning_set(&t, "detect_arcs", 9), VFRONT_E_TUNING);
    assert_memory_equal(&t, &before, sizeof t);
}

/* ---- order of calls -------------------------------------------------------------------------------------------------------- */

static void refuses_all(vfront_t *vf)
{
    const vfront_frame_t f = pair_frame(0);
    vfront_info_t info;
    void *data;
    assert_int_equal(vfront_submit(vf, &f), VFRONT_E_STATE);
    result = (const vfront_result_t *)&f;
    assert_int_equal(vfront_wait(vf, 0, &result), VFRONT_E_STATE);
    assert_null(result);
    result = (const vfront_result_t *)&f;
    assert_int_equal(vfront_step(vf, &f, &result), VFRONT_E_STATE);
    assert_null(result);
    assert_int_equal(vfront_reset(vf), VFRONT_E_STATE);
    assert_int_equal(vfront_input(vf, 0, &data), VFRONT_E_STATE);
    assert_int_equal(vfront_info(vf, &info), VFRONT_E_STATE);
    vfront_shutdown(vf);
    assert_string_equal(vfront_detail(vf), "");
}

static void out_of_order(void **state)
{
    (void)state;
    static vfront_t fresh;
    refuses_all(&fresh);
    still_starts();
    refuses_all(&pair_vf); /* after shutdown */
    still_starts();
    vfront_shutdown(NULL);
}

static void init_twice(void **state)
{
    (void)state;
    const vfront_rig_t rig = good_rig();
    pair_step();
    pair_refused(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_E_STATE, "in use already");
    pair_step();
    pair_refused(vfront_init(&pair_vf, NULL, NULL, pair_port), VFRONT_E_STATE, "in use already");
    pair_step();
}

static void wait_without_submit(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        pair_refused(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_E_STATE, "nothing was submitted");
        assert_null(result);
        pair_step();
    }
}

/** Everything that is refused while a frame is under way, and that none of it harms that frame. */
static void busy(void **state)
{
    (void)state;
    const vfront_rig_t rig = good_rig();
    pair_step();
    for (uint64_t i = 1; i < 4; i++) {
        const vfront_frame_t f = pair_frame(i), later = pair_frame(i + 1);
        const vfront_result_t *other;
        vfront_info_t info;
        void *before, *during;
        assert_int_equal(vfront_step(&pair_twin, &f, &other), VFRONT_OK);
        assert_int_equal(vfront_input(&pair_vf, 0, &before), VFRONT_OK);
        assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
        pair_refused(vfront_submit(&pair_vf, &later), VFRONT_E_BUSY, "under way");
        pair_refused(vfront_step(&pair_vf, &later, &result), VFRONT_E_BUSY, "under way");
        pair_refused(vfront_reset(&pair_vf), VFRONT_E_BUSY, "under way");
        pair_refused(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_E_STATE, "in use already");
        assert_int_equal(vfront_wait(&pair_vf, UINT32_MAX, NULL), VFRONT_E_NULL);
        assert_int_equal(vfront_info(&pair_vf, &info), VFRONT_OK);
        assert_int_equal(vfront_input(&pair_vf, 0, &during), VFRONT_OK);
        assert_ptr_not_equal(before, during);
        assert_int_equal(vfront_wait(&pair_vf, UINT32_MAX, &result), VFRONT_OK);
        assert_true(vfront_digest(result) == vfront_digest(other));
        assert_int_equal(vfront_wait(&pair_vf, 0, &result), VFRONT_E_STATE);
    }
    const vfront_frame_t last = pair_frame(9);
    assert_int_equal(vfront_submit(&pair_vf, &last), VFRONT_OK); /* teardown shuts down with a frame under way */
}

/** Only the CUDA port can run out of time: on the host port the work is done when vfront_submit() returns. */
static void no_time(void **state)
{
    (void)state;
    const vfront_frame_t f = pair_frame(0);
    vfront_status_t status;
    assert_int_equal(vfront_submit(&pair_vf, &f), VFRONT_OK);
    do status = vfront_wait(&pair_vf, 0, &result);
    while (pair_port == VFRONT_PORT_CUDA && status == VFRONT_E_TIMEOUT);
    assert_int_equal(status, VFRONT_OK);
    assert_non_null(result);
}

static void null_arguments(void **state)
{
    (void)state;
    const vfront_frame_t f = pair_frame(5);
    vfront_info_t info;
    void *data;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(vfront_submit(NULL, &f), VFRONT_E_NULL);
        assert_int_equal(vfront_submit(&pair_vf, NULL), VFRONT_E_NULL);
        assert_int_equal(vfront_step(NULL, &f, &result), VFRONT_E_NULL);
        assert_int_equal(vfront_step(&pair_vf, NULL, &result), VFRONT_E_NULL);
        assert_int_equal(vfront_step(&pair_vf, &f, NULL), VFRONT_E_NULL);
        assert_int_equal(vfront_wait(NULL, 0, &result), VFRONT_E_NULL);
        assert_int_equal(vfront_wait(&pair_vf, 0, NULL), VFRONT_E_NULL);
        assert_int_equal(vfront_reset(NULL), VFRONT_E_NULL);
        assert_int_equal(vfront_input(NULL, 0, &data), VFRONT_E_NULL);
        assert_int_equal(vfront_input(&pair_vf, 0, NULL), VFRONT_E_NULL);
        assert_int_equal(vfront_info(NULL, &info), VFRONT_E_NULL);
        assert_int_equal(vfront_info(&pair_vf, NULL), VFRONT_E_NULL);
        pair_step();
    }
    assert_true(vfront_digest(NULL) == 0);
}

static void no_such_camera(void **state)
{
    (void)state;
    static const int32_t camera[] = {-1, VFRONT_CAMERAS, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < sizeof camera / sizeof *camera; i++) {
        void *data = NULL;
        pair_refused(vfront_input(&pair_vf, camera[i], &data), VFRONT_E_SIZE, "no camera");
        assert_null(data);
        pair_step();
    }
}

/* ---- frames ---------------------------------------------------------------------------------------------------------------- */

static uint64_t last_t_ns; /* of the frame before */
static vfront_gyro_t gyro[VFRONT_GYRO_SAMPLES + 1];
static double R[9];

/* Each makes a good frame bad. `p` is the picture of one camera. */
#define SPOIL(name) static void name(vfront_frame_t *f, vfront_picture_t *p)
#define UNUSED (void)f, (void)p
SPOIL(no_data) { UNUSED; p->data = NULL; }
SPOIL(wide) { UNUSED; p->width_px++; }
SPOIL(narrow) { UNUSED; p->width_px--; }
SPOIL(high) { UNUSED; p->height_px++; }
SPOIL(low) { UNUSED; p->height_px--; }
SPOIL(no_width) { UNUSED; p->width_px = 0; }
SPOIL(no_height) { UNUSED; p->height_px = 0; }
SPOIL(negative) { UNUSED; p->width_px = -p->width_px; }
SPOIL(no_pitch) { UNUSED; p->pitch_bytes = 0; }
SPOIL(short_pitch) { UNUSED; p->pitch_bytes--; }
SPOIL(huge_pitch) { UNUSED; p->pitch_bytes = UINT32_MAX - 1; }
SPOIL(short_pitch10) { UNUSED; p->format = VFRONT_GREY10; }
SPOIL(short_pitch12) { UNUSED; p->format = VFRONT_GREY12, p->pitch_bytes = 2 * 160 - 2; }
SPOIL(short_pitch16) { UNUSED; p->format = VFRONT_GREY16, p->pitch_bytes = 2 * 160 - 1; }
SPOIL(short_pitch_yuyv) { UNUSED; p->format = VFRONT_YUYV; }
SPOIL(odd_pitch10) { UNUSED; p->format = VFRONT_GREY10, p->pitch_bytes = 2 * 160 + 1; }
SPOIL(odd_pitch12) { UNUSED; p->format = VFRONT_GREY12, p->pitch_bytes = 2 * 160 + 1; }
SPOIL(odd_pitch16) { UNUSED; p->format = VFRONT_GREY16, p->pitch_bytes = 2 * 160 + 1; }
SPOIL(odd_pitch_yuyv) { UNUSED; p->format = VFRONT_YUYV, p->pitch_bytes = 2 * 160 + 1; }
static void odd_address(vfront_picture_t *p, vfront_format_t format)
{
    p->format = format;
    p->pitch_bytes = 2 * 160;
    p->data = (const uint8_t *)((uintptr_t)p->data | 1);
}
SPOIL(odd10) { UNUSED; odd_address(p, VFRONT_GREY10); }
SPOIL(odd12) { UNUSED; odd_address(p, VFRONT_GREY12); }
SPOIL(odd16) { UNUSED; odd_address(p, VFRONT_GREY16); }
SPOIL(odd_yuyv) { UNUSED; odd_address(p, VFRONT_YUYV); }
SPOIL(format6) { UNUSED; p->format = (vfront_format_t)6; }
SPOIL(format_negative) { UNUSED; p->format = (vfront_format_t)-1; }
SPOIL(memory3) { UNUSED; p->memory = (vfront_memory_t)3; }
SPOIL(memory_negative) { UNUSED; p->memory = (vfront_memory_t)-1; }
SPOIL(device_memory) { UNUSED; p->memory = VFRONT_DEVICE_MEMORY; }
static void mask(vfront_picture_t *p, int32_t width, int32_t height, uint32_t pitch)
{
    p->mask = pair_grey[0];
    p->mask_width_px = width;
    p->mask_height_px = height;
    p->mask_pitch_bytes = pitch;
}
SPOIL(mask_wide) { UNUSED; mask(p, 161, 120, 161); }
SPOIL(mask_narrow) { UNUSED; mask(p, 159, 120, 160); }
SPOIL(mask_high) { UNUSED; mask(p, 160, 121, 160); }
SPOIL(mask_low) { UNUSED; mask(p, 160, 119, 160); }
SPOIL(mask_no_size) { UNUSED; mask(p, 0, 0, 160); }
SPOIL(mask_no_pitch) { UNUSED; mask(p, 160, 120, 0); }
SPOIL(mask_short_pitch) { UNUSED; mask(p, 160, 120, 159); }
SPOIL(same_time) { UNUSED; f->t_ns = last_t_ns; }
SPOIL(time_back) { UNUSED; f->t_ns = last_t_ns - 1; }
SPOIL(time_zero) { UNUSED; f->t_ns = 0; }

static void turn(vfront_frame_t *f, int index, double value)
{
    static const double identity[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    memcpy(R, identity, sizeof R);
    R[index] = value;
    f->R_cur_prev = R;
}
SPOIL(turn_mirrored) { UNUSED; turn(f, 4, -1); }
SPOIL(turn_stretched) { UNUSED; turn(f, 8, 1.001); }
SPOIL(turn_sheared) { UNUSED; turn(f, 1, 0.002); }
SPOIL(turn_nan) { UNUSED; turn(f, 3, NAN); }
SPOIL(turn_infinite) { UNUSED; turn(f, 0, INFINITY); }
SPOIL(turn_zero) { UNUSED; turn(f, 0, 0), R[4] = R[8] = 0; }

static void readings(vfront_frame_t *f, uint32_t count)
{
    memset(gyro, 0, sizeof gyro);
    for (uint32_t i = 0; i <= VFRONT_GYRO_SAMPLES; i++) gyro[i].t_ns = f->t_ns - 20000000 + i * 1000000;
    f->gyro = gyro;
    f->gyro_count = count;
}
SPOIL(gyro_many) { UNUSED; readings(f, VFRONT_GYRO_SAMPLES + 1); }
SPOIL(gyro_far_too_many) { UNUSED; readings(f, UINT32_MAX); }
SPOIL(gyro_same_time) { UNUSED; readings(f, 4), gyro[3].t_ns = gyro[2].t_ns; }
SPOIL(gyro_back) { UNUSED; readings(f, 4), gyro[1].t_ns = gyro[0].t_ns - 1; }
SPOIL(gyro_nan_x) { UNUSED; readings(f, 4), gyro[3].rate_rad_s[0] = NAN; }
SPOIL(gyro_nan_y) { UNUSED; readings(f, 4), gyro[0].rate_rad_s[1] = NAN; }
SPOIL(gyro_infinite_z) { UNUSED; readings(f, 4), gyro[0].rate_rad_s[2] = -INFINITY; }
SPOIL(gyro_fast) { UNUSED; readings(f, 4), gyro[2].rate_rad_s[1] = 100.1; }
SPOIL(gyro_fast_back) { UNUSED; readings(f, 4), gyro[2].rate_rad_s[2] = -100.1; }
#undef SPOIL

static const struct {
    void (*spoil)(vfront_frame_t *f, vfront_picture_t *p);
    vfront_status_t status;
    const char *detail;
    int cameras; /* 0: not of a camera; 1: of each */
} bad_frame[] = {
    {no_data, VFRONT_E_NULL, "].data", 1},
    {wide, VFRONT_E_SIZE, "frame.picture[", 1},
    {narrow, VFRONT_E_SIZE, "frame.picture[", 1},
    {high, VFRONT_E_SIZE, "frame.picture[", 1},
    {low, VFRONT_E_SIZE, "frame.picture[", 1},
    {no_width, VFRONT_E_SIZE, "frame.picture[", 1},
    {no_height, VFRONT_E_SIZE, "frame.picture[", 1},
    {negative, VFRONT_E_SIZE, "frame.picture[", 1},
    {no_pitch, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {short_pitch, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {huge_pitch, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {short_pitch10, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {short_pitch12, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {short_pitch16, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {short_pitch_yuyv, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {odd_pitch10, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {odd_pitch12, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {odd_pitch16, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {odd_pitch_yuyv, VFRONT_E_PITCH, "].pitch_bytes", 1},
    {odd10, VFRONT_E_ALIGN, "].data", 1},
    {odd12, VFRONT_E_ALIGN, "].data", 1},
    {odd16, VFRONT_E_ALIGN, "].data", 1},
    {odd_yuyv, VFRONT_E_ALIGN, "].data", 1},
    {format6, VFRONT_E_FORMAT, "].format", 1},
    {format_negative, VFRONT_E_FORMAT, "].format", 1},
    {memory3, VFRONT_E_MEMORY_KIND, "].memory", 1},
    {memory_negative, VFRONT_E_MEMORY_KIND, "].memory", 1},
    {device_memory, VFRONT_E_MEMORY_KIND, "frame", 1}, /* on the CUDA port: an address of the host */
    {mask_wide, VFRONT_E_MASK, "frame.picture[", 1},
    {mask_narrow, VFRONT_E_MASK, "frame.picture[", 1},
    {mask_high, VFRONT_E_MASK, "frame.picture[", 1},
    {mask_low, VFRONT_E_MASK, "frame.picture[", 1},
    {mask_no_size, VFRONT_E_MASK, "frame.picture[", 1},
    {mask_no_pitch, VFRONT_E_MASK, "].mask_pitch_bytes", 1},
    {mask_short_pitch, VFRONT_E_MASK, "].mask_pitch_bytes", 1},
    {same_time, VFRONT_E_TIME, "frame.t_ns", 0},
    {time_back, VFRONT_E_TIME, "frame.t_ns", 0},
    {time_zero, VFRONT_E_TIME, "frame.t_ns", 0},
    {turn_mirrored, VFRONT_E_PRIOR, "frame.R_cur_prev", 0},
    {turn_stretched, VFRONT_E_PRIOR, "frame.R_cur_prev", 0},
    {turn_sheared, VFRONT_E_PRIOR, "frame.R_cur_prev", 0},
    {turn_nan, VFRONT_E_PRIOR, "frame.R_cur_prev", 0},
    {turn_infinite, VFRONT_E_PRIOR, "frame.R_cur_prev", 0},
    {turn_zero, VFRONT_E_PRIOR, "frame.R_cur_prev", 0},
    {gyro_many, VFRONT_E_GYRO, "frame.gyro_count", 0},
    {gyro_far_too_many, VFRONT_E_GYRO, "frame.gyro_count", 0},
    {gyro_same_time, VFRONT_E_GYRO, "frame.gyro[3].t_ns", 0},
    {gyro_back, VFRONT_E_GYRO, "frame.gyro[1].t_ns", 0},
    {gyro_nan_x, VFRONT_E_GYRO, "frame.gyro[3].rate_rad_s", 0},
    {gyro_nan_y, VFRONT_E_GYRO, "frame.gyro[0].rate_rad_s", 0},
    {gyro_infinite_z, VFRONT_E_GYRO, "frame.gyro[0].rate_rad_s", 0},
    {gyro_fast, VFRONT_E_GYRO, "frame.gyro[2].rate_rad_s", 0},
    {gyro_fast_back, VFRONT_E_GYRO, "frame.gyro[2].rate_rad_s", 0},
};

/** Every bad frame, handed in by submit and by step, each followed by two good ones; the result before it stays. The picture of a
 *  bad frame is that of another time, so that any of it which stays behind would show. */
static void bad_frames(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_frame / sizeof *bad_frame; i++) {
        for (int camera = 0; camera < (bad_frame[i].cameras ? VFRONT_CAMERAS : 1); camera++) {
            const vfront_result_t *before = pair_step();
            const uint64_t want = vfront_digest(before);
            last_t_ns = before->t_ns;
            vfront_frame_t f = pair_frame(i + 3);
            f.t_ns = last_t_ns + FRAME_NS / 2;
            bad_frame[i].spoil(&f, &f.picture[camera]);
            pair_refused(vfront_submit(&pair_vf, &f), bad_frame[i].status, bad_frame[i].detail);
            if (bad_frame[i].cameras && camera && strstr(bad_frame[i].detail, "picture["))
                assert_non_null(strstr(vfront_detail(&pair_vf), "picture[1"));
            for (int k = 0; k < 3; k++) assert_int_equal(vfront_submit(&pair_vf, &f), bad_frame[i].status);
            assert_true(before->keypoints_count[camera] > 0 && vfront_digest(before) == want);
            pair_step();
            f.t_ns += bad_frame[i].status == VFRONT_E_TIME ? 0 : 2 * FRAME_NS;
            result = (const vfront_result_t *)&f;
            pair_refused(vfront_step(&pair_vf, &f, &result), bad_frame[i].status, bad_frame[i].detail);
            assert_null(result);
        }
    }
    pair_step();
}

/** The first frame may be of any time, and what is refused before it changes nothing. */
static void bad_first_frame(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof bad_frame / sizeof *bad_frame; i++) {
        if (bad_frame[i].status == VFRONT_E_TIME) continue;
        vfront_frame_t f = pair_frame(2);
        bad_frame[i].spoil(&f, &f.picture[0]);
        pair_refused(vfront_submit(&pair_vf, &f), bad_frame[i].status, bad_frame[i].detail);
    }
    for (int i = 0; i < 3; i++) pair_step();
}

static void prior_uncalibrated(void **state)
{
    (void)state;
    vfront_rig_t rig = good_rig();
    rig.camera[0].fx_px = rig.camera[0].fy_px = 0;
    pair_start_with(&rig, NULL);
    for (int i = 0; i < 3; i++) {
        vfront_frame_t f = pair_frame((uint64_t)i);
        turn(&f, 0, 1);
        pair_refused(vfront_submit(&pair_vf, &f), VFRONT_E_PRIOR, "calibrated");
        pair_step();
    }
}

/** A frame that is refused names the call that was refused, not one before it. */
static void detail_is_of_the_last_call(void **state)
{
    (void)state;
    pair_refused(vfront_input(&pair_vf, -5, (void **)&result), VFRONT_E_SIZE, "-5");
    assert_int_equal(vfront_submit(&pair_vf, NULL), VFRONT_E_NULL);
    assert_null(strstr(vfront_detail(&pair_vf), "-5"));
}

static void gap(void **state)
{
    (void)state;
    static const struct {
        uint64_t dt_ns;
        uint32_t gap;
    } step[] = {{33000000, 0}, {200000000, 0}, {200000001, 1}, {33000000, 0}, {5000000000u, 1}};
    vfront_frame_t f = pair_frame(0);
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
    assert_int_equal(result->health.gap, 0);
    assert_true(result->health.dt_ns == 0);
    for (size_t i = 0; i < sizeof step / sizeof *step; i++) {
        f.t_ns += step[i].dt_ns;
        assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
        assert_int_equal(result->health.gap, step[i].gap);
        assert_true(result->health.dt_ns == step[i].dt_ns);
        if (step[i].gap) assert_int_equal(result->health.state, VFRONT_DEGRADED);
    }
}

/** After a reset the time may go back, and a frame at the end of time is a frame. */
static void any_time_after_reset(void **state)
{
    (void)state;
    vfront_frame_t f = pair_frame(3);
    f.t_ns = UINT64_MAX;
    f.exposure_ns = UINT32_MAX;
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
    pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_TIME, "frame.t_ns");
    assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
    f.t_ns = 0;
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
    assert_int_equal(result->health.reset_counter, 1);
    f.t_ns = UINT64_MAX;
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
    assert_true(result->health.dt_ns == UINT64_MAX && result->health.gap == 1);
}

/* ---- times of pictures ----------------------------------------------------------------------------------------------------- */

/** A frame one of whose pictures is `off_ns` from its time: refused when that is more than `most_ns`, and then never seen. */
static void picture_at(int camera, int64_t off_ns, int64_t most_ns)
{
    const vfront_result_t *other;
    static uint64_t number; /* rises, so that times do */
    vfront_frame_t f = pair_frame(++number);
    char detail[64];
    assert_int_equal(vfront_step(&pair_twin, &f, &other), VFRONT_OK); /* without a picture's time */
    f.picture[camera].t_ns = f.t_ns + (uint64_t)off_ns;
    if (off_ns < -most_ns || off_ns > most_ns) {
        snprintf(detail, sizeof detail, "%s than the frame by over frame_skew_us: frame.picture[%d]", off_ns < 0 ? "older" : "newer", camera);
        pair_refused(vfront_submit(&pair_vf, &f), VFRONT_E_TIME, detail);
        result = other;
        pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_TIME, detail);
        assert_null(result);
        f.picture[camera].t_ns = 0;
    }
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
    assert_true(vfront_digest(result) == vfront_digest(other));
}

/** A picture may be of another time than its frame by frame_skew_us, exactly. */
static void picture_times(void **state)
{
    (void)state;
    static const int32_t skew_us[] = {2000, 0, 1, 1000000}; /* the standard value first */
    const vfront_rig_t rig = pair_cameras();
    for (size_t i = 0; i < sizeof skew_us / sizeof *skew_us; i++) {
        const int64_t most_ns = (int64_t)skew_us[i] * 1000;
        const int64_t off_ns[] = {0, most_ns, -most_ns, most_ns + 1, -most_ns - 1, 1, -1, 999000000, -999000000, 1000000001, -1000000001};
        vfront_tuning_t t;
        vfront_tuning_default(&t);
        t.frame_skew_us = skew_us[i];
        pair_start_with(&rig, i ? &t : NULL);
        for (int c = 0; c < VFRONT_CAMERAS; c++)
            for (size_t k = 0; k < sizeof off_ns / sizeof *off_ns; k++) picture_at(c, off_ns[k], most_ns);
        assert_true(result->frame == VFRONT_CAMERAS * (sizeof off_ns / sizeof *off_ns) - 1); /* none that was refused counts */
        pair_end(NULL);
    }
}

/** At both ends of time differences are what they are; a camera that is not there has no time. */
static void picture_times_far_off(void **state)
{
    (void)state;
    vfront_frame_t f = pair_frame(0);
    f.t_ns = 5;
    f.picture[0].t_ns = UINT64_MAX;
    pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_TIME, "newer than the frame by over frame_skew_us: frame.picture[0]");
    f.picture[0].t_ns = 1;
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
    assert_true(result->frame == 0);
    f.t_ns = UINT64_MAX;
    pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_TIME, "older than the frame by over frame_skew_us: frame.picture[0]");
    f.picture[0].t_ns = UINT64_MAX - 2000000;
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
    vfront_rig_t rig = pair_cameras();
    rig.cameras = 1;
    vfront_shutdown(&pair_vf);
    assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
    f = pair_frame(1);
    f.picture[VFRONT_CAMERAS - 1].t_ns = 1;
    assert_int_equal(vfront_step(&pair_vf, &f, &result), VFRONT_OK);
}

/* ---- key points ------------------------------------------------------------------------------------------------------------ */

static uint8_t drawn[2][VFRONT_WIDTH * VFRONT_HEIGHT];
static vfront_result_t shot[6];

/** One camera of a size, and beside it the other of another, or none when its width is 0. */
static vfront_rig_t rig_of(int32_t width, int32_t height, int32_t other_width, int32_t other_height)
{
    const struct scene one = {width, height, 0, 0, 0}, two = {other_width, other_height, 0, 0, 0};
    vfront_rig_t rig = scene_rig(&one, 1);
    if (!other_width) return rig;
    rig.cameras = 2;
    rig.camera[1] = scene_rig(&two, 1).camera[0];
    return rig;
}

/** Room for key points up to the border, and cells enough to fill the list. */
static vfront_tuning_t dense_tuning(void)
{
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.detect_border_px = t.describe_margin_px = 4;
    t.cell_width_px = VFRONT_WIDTH / 8;
    t.cell_height_px = VFRONT_HEIGHT / 8;
    t.select_points = VFRONT_KEYPOINTS;
    return t;
}

/** The largest pictures the config knows, the same to both cameras. */
static void shoot_large(const vfront_tuning_t *t, enum scene_fill fill, int32_t side_px, vfront_result_t *r)
{
    const vfront_rig_t rig = rig_of(VFRONT_WIDTH, VFRONT_HEIGHT, VFRONT_WIDTH, VFRONT_HEIGHT);
    const uint8_t *const grey[] = {drawn[0], drawn[0]};
    scene_fill(drawn[0], VFRONT_WIDTH, VFRONT_HEIGHT, fill, side_px);
    pair_shot(&rig, t, grey, r);
}

static void nothing_there(const vfront_rig_t *rig, const vfront_result_t *r)
{
    for (int c = 0; c < rig->cameras; c++) {
        assert_int_equal(r->keypoints_count[c] + r->descriptors_count[c] + r->health.dropped[c], 0);
        assert_int_equal(r->health.starved[c], r->health.cells[c]);
    }
    assert_int_equal(r->tracks_count + r->lost_count + r->health.born + r->health.full + r->health.reset_counter, 0);
}

/** Pictures without a corner are good pictures: of one brightness, and with edges alone. */
static void no_corner(void **state)
{
    (void)state;
    static const uint8_t level[] = {0, 1, 128, 254, 255};
    const vfront_rig_t rig = rig_of(192, 144, 131, 67);
    const uint8_t *const grey[] = {drawn[0], drawn[1]};
    const vfront_tuning_t t = dense_tuning();
    for (size_t i = 0; i < sizeof level; i++) {
        memset(drawn, level[i], sizeof drawn);
        for (int k = 0; k < 3; k++) {
            pair_shot(k ? NULL : &rig, &t, grey, &shot[0]);
            nothing_there(&rig, &shot[0]);
        }
    }
    for (int32_t side = 1; side < 12; side++) {
        scene_fill(drawn[0], 192, 144, SCENE_STRIPES_Y, side);
        scene_fill(drawn[1], 131, 67, SCENE_STRIPES_X, side);
        pair_shot(&rig, &t, grey, &shot[0]);
        nothing_there(&rig, &shot[0]);
    }
}

/** A spot is no corner while an arc is bounded, and one when it is not. */
static void spots(void **state)
{
    (void)state;
    const vfront_rig_t rig = rig_of(192, 144, 0, 0);
    const uint8_t *const grey[] = {drawn[0]};
    vfront_tuning_t t = dense_tuning();
    t.detect_levels = 1;
    memset(drawn[0], 40, sizeof drawn[0]);
    for (int32_t i = 0; i < 64; i++) drawn[0][(i / 8 * 18 + 9) * 192 + i % 8 * 24 + 12] = 200;
    for (t.detect_arc_most = 13; t.detect_arc_most <= 16; t.detect_arc_most++) {
        pair_shot(&rig, &t, grey, &shot[0]);
        assert_int_equal(shot[0].keypoints_count[0], t.detect_arc_most < 16 ? 0 : 64);
    }
}

/** Corners everywhere: more than the list holds, of each camera, and every cell has one. */
static void list_full(void **state)
{
    (void)state;
    static const struct {
        enum scene_fill fill;
        int32_t side_px;
    } picture[] = {{SCENE_NOISE, 1}, {SCENE_NOISE, 2}, {SCENE_TILES, 6}, {SCENE_TILES, 7}};
    for (size_t i = 0; i < sizeof picture / sizeof *picture; i++)
        for (int described = 0; described < 2; described++) {
            vfront_tuning_t t = dense_tuning();
            t.describe = described;
            shoot_large(&t, picture[i].fill, picture[i].side_px, &shot[0]);
            for (int c = 0; c < VFRONT_CAMERAS; c++) {
                assert_in_range(shot[0].keypoints_count[c], 1, VFRONT_KEYPOINTS);
                assert_true(shot[0].health.dropped[c] > 0);
                assert_true(shot[0].health.full & (uint32_t)VFRONT_FULL_KEYPOINTS << c);
                assert_int_equal(shot[0].health.starved[c], 0);
            }
            pair_same_points(&shot[0], 0, &shot[0], VFRONT_CAMERAS - 1);
        }
}

/** Only the camera whose list is full is said to be; and the bit goes when the picture does. */
static void one_list_full(void **state)
{
    (void)state;
    const vfront_rig_t rig = rig_of(VFRONT_WIDTH, VFRONT_HEIGHT, VFRONT_WIDTH, VFRONT_HEIGHT);
    const vfront_tuning_t t = dense_tuning();
    scene_fill(drawn[0], VFRONT_WIDTH, VFRONT_HEIGHT, SCENE_NOISE, 1);
    memset(drawn[1], 99, sizeof drawn[1]);
    for (int camera = 0; camera < 2; camera++) {
        const uint8_t *const grey[] = {drawn[camera], drawn[!camera]}, *const dull[] = {drawn[1], drawn[1]};
        pair_shot(&rig, &t, grey, &shot[0]);
        assert_int_equal(shot[0].health.full & ~(uint32_t)VFRONT_FULL_TRACKS, VFRONT_FULL_KEYPOINTS << camera);
        assert_true(shot[0].health.dropped[camera] > 0 && shot[0].health.dropped[!camera] == 0);
        pair_shot(NULL, NULL, dull, &shot[0]);
        assert_int_equal(shot[0].health.full, 0);
    }
}

/** Checkers of any size, down to single pixels, are pictures like any other. Their crossings are no corners, what coarser levels
 *  make of them may be. */
static void checkers(void **state)
{
    (void)state;
    for (int32_t side = 1; side < 24; side++) {
        vfront_tuning_t t = dense_tuning();
        t.detect_arc_most = side % 2 ? 16 : 13;
        shoot_large(&t, SCENE_CHECKERS, side, &shot[0]);
        t.describe = 0;
        shoot_large(&t, SCENE_CHECKERS, side, &shot[1]);
        assert_int_equal(shot[0].keypoints_count[0], shot[1].keypoints_count[0]);
    }
}

/** Tracks wanted, but fewer than there are corners for. */
static void tracks_full(void **state)
{
    (void)state;
    vfront_tuning_t t = dense_tuning();
    t.track_target = 5;
    shoot_large(&t, SCENE_NOISE, 1, &shot[0]);
    assert_int_equal(shot[0].tracks_count, 5);
    assert_true(shot[0].health.overflow > 0);
    assert_true(shot[0].health.full & VFRONT_FULL_TRACKS);
}

/** `few` holds nothing that `all` does not, and what it lacks of a level is not better than what it has of it. */
static void best_of(const vfront_result_t *few, const vfront_result_t *all, int c)
{
    uint32_t least[VFRONT_SCALES], k = 0;
    memset(least, 0xff, sizeof least);
    for (uint32_t i = 0; i < few->keypoints_count[c]; i++) {
        const vfront_keypoint_t *p = &few->keypoints[c][i];
        if (p->score < least[p->level]) least[p->level] = p->score;
    }
    for (uint32_t i = 0; i < all->keypoints_count[c]; i++) {
        const vfront_keypoint_t *p = &all->keypoints[c][i];
        if (k < few->keypoints_count[c] && !memcmp(p, &few->keypoints[c][k], sizeof *p)) {
            if (few->descriptors_count[c])
                assert_memory_equal(&few->descriptors[c][k], &all->descriptors[c][i], sizeof **few->descriptors);
            k++;
        } else {
            assert_true(p->score <= least[p->level]);
        }
    }
    assert_int_equal(k, few->keypoints_count[c]);
}

/** Beyond select_points the best stay, and what goes is counted. Cells so large that no list is full otherwise. */
static void best_stay(void **state)
{
    (void)state;
    static const int32_t points[] = {1, 2, 7, 19, 40};
    for (int way = 0; way < 16; way++) { /* ranked by score or by Harris, one level or all, described or not, noise or tiles */
        const enum scene_fill fill = way & 8 ? SCENE_TILES : SCENE_NOISE;
        vfront_tuning_t t = dense_tuning();
        t.cull_width_px = t.cull_height_px = 48;
        t.detect_rank = way & 1;
        t.detect_levels = way & 2 ? VFRONT_SCALES : 1;
        t.describe = way >> 2 & 1;
        shoot_large(&t, fill, 7, &shot[0]);
        assert_int_equal(shot[0].health.dropped[0] + shot[0].health.dropped[VFRONT_CAMERAS - 1], 0);
        for (size_t i = 0; i < sizeof points / sizeof *points; i++) {
            t.select_points = points[i];
            shoot_large(&t, fill, 7, &shot[1]);
            for (int c = 0; c < VFRONT_CAMERAS; c++) {
                const uint32_t there = shot[0].keypoints_count[c], kept = shot[1].keypoints_count[c];
                assert_true(there > 8 && kept > 0);
                assert_true(there <= (uint32_t)points[i] || shot[1].health.dropped[c] > 0);
                assert_int_equal(kept + shot[1].health.dropped[c], there);
                best_of(&shot[1], &shot[0], c);
            }
        }
    }
}

/** Levels that a picture is too small for are not there; one that is too small for any key point is a good picture all the same. */
static void small_pictures(void **state)
{
    (void)state;
    static const struct {
        int32_t width, height, other_width, other_height;
        int32_t levels, scales; /* halves, and steps of 5/4, that leave 16 px */
    } size[] = {
        {16, 16, 0, 0, 1, 1},       {17, 31, 0, 0, 1, 1},     {31, 17, 16, 16, 1, 1},  {21, 26, 0, 0, 1, 2},
        {32, 33, 0, 0, 2, 4},       {192, 16, 0, 0, 1, 1},    {16, 144, 0, 0, 1, 1},   {192, 144, 17, 31, 1, 1},
        {17, 31, 192, 144, 1, 1},   {192, 144, 21, 26, 1, 2}, {64, 64, 0, 0, 3, 5},    {192, 144, 192, 144, 3, 5},
    };
    uint32_t found = 0;
    for (size_t i = 0; i < sizeof size / sizeof *size; i++)
        for (int described = 0; described < 2; described++) {
            const vfront_rig_t rig = rig_of(size[i].width, size[i].height, size[i].other_width, size[i].other_height);
            const uint8_t *const grey[] = {drawn[0], drawn[1]};
            const int least = described ? 2 * 19 + 1 : 9; /* for a key point: the margin at either side */
            vfront_info_t is;
            vfront_tuning_t t;
            vfront_tuning_default(&t);
            t.describe = described;
            t.detect_border_px = 3;
            for (int k = 0; k < 3; k++) {
                for (int c = 0; c < rig.cameras; c++)
                    scene_fill(drawn[c], rig.camera[c].width_px, rig.camera[c].height_px, SCENE_NOISE, 1 + k);
                pair_shot(k ? NULL : &rig, &t, grey, &shot[0]);
                for (int c = 0; c < rig.cameras; c++) {
                    found += shot[0].keypoints_count[c];
                    if (rig.camera[c].width_px < least || rig.camera[c].height_px < least)
                        assert_int_equal(shot[0].keypoints_count[c], 0);
                    for (uint32_t p = 0; p < shot[0].keypoints_count[c]; p++)
                        assert_true(shot[0].keypoints[c][p].level < size[i].scales);
                }
            }
            assert_int_equal(vfront_info(&pair_vf, &is), VFRONT_OK);
            assert_int_equal(is.levels, size[i].levels);
            assert_int_equal(is.scales, size[i].scales);
        }
    assert_true(found > 1000);
}

/** Only the levels that are searched are built. */
static void levels_searched(void **state)
{
    (void)state;
    for (int32_t levels = 1; levels <= VFRONT_SCALES; levels++) {
        vfront_info_t is;
        vfront_tuning_t t = dense_tuning();
        uint32_t seen = 0;
        t.detect_levels = levels;
        t.cell_width_px = t.cell_height_px = 48; /* so that all stay */
        shoot_large(&t, SCENE_NOISE, 1, &shot[0]);
        assert_int_equal(vfront_info(&pair_vf, &is), VFRONT_OK);
        assert_int_equal(is.scales, levels);
        for (uint32_t i = 0; i < shot[0].keypoints_count[0]; i++) seen |= 1u << shot[0].keypoints[0][i].level;
        assert_int_equal(seen, (1u << levels) - 1);
    }
}

/** Three frames of the scene, for both cameras. */
static void fly(const vfront_tuning_t *t, vfront_result_t r[3])
{
    const vfront_rig_t rig = good_rig();
    for (int i = 0; i < 3; i++) {
        const uint8_t *const grey[] = {pair_grey[i], pair_grey[i + 3]};
        pair_shot(i ? NULL : &rig, t, grey, &r[i]);
    }
}

/** Without key points there are tracks, the same ones where no margin is kept for descriptors. */
static void no_points_wanted(void **state)
{
    (void)state;
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    t.describe_margin_px = 4;
    fly(&t, shot);
    t.select_points = 0;
    fly(&t, shot + 3);
    for (int i = 0; i < 3; i++) {
        const vfront_result_t *with = &shot[i], *without = &shot[i + 3];
        assert_true(with->keypoints_count[0] > 0 && with->tracks_count > 0);
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            assert_int_equal(without->keypoints_count[c] + without->descriptors_count[c] + without->health.dropped[c], 0);
            assert_int_equal(without->health.starved[c], with->health.starved[c]);
        }
        assert_int_equal(without->health.full & ~(uint32_t)VFRONT_FULL_TRACKS, 0);
        assert_int_equal(without->tracks_count, with->tracks_count);
        assert_int_equal(without->lost_count, with->lost_count);
        assert_memory_equal(without->tracks, with->tracks, with->tracks_count * sizeof *with->tracks);
    }
}

/** Without descriptors there are the same key points, where the margin is the same; but no angles. */
static void not_described(void **state)
{
    (void)state;
    vfront_tuning_t t = dense_tuning();
    uint32_t turned = 0, differ = 0;
    fly(&t, shot);
    t.describe = 0;
    fly(&t, shot + 3);
    for (int i = 0; i < 3; i++)
        for (int c = 0; c < VFRONT_CAMERAS; c++) {
            const vfront_result_t *with = &shot[i], *without = &shot[i + 3];
            assert_true(with->keypoints_count[c] > 20);
            assert_int_equal(with->descriptors_count[c], with->keypoints_count[c]);
            assert_int_equal(without->descriptors_count[c], 0);
            assert_int_equal(without->keypoints_count[c], with->keypoints_count[c]);
            for (uint32_t k = 0; k < with->keypoints_count[c]; k++) {
                vfront_keypoint_t a = with->keypoints[c][k];
                turned += a.angle_rad != 0;
                differ += k && memcmp(&with->descriptors[c][k], &with->descriptors[c][k - 1], sizeof **with->descriptors);
                assert_true(without->keypoints[c][k].angle_rad == 0);
                a.angle_rad = without->keypoints[c][k].angle_rad;
                assert_memory_equal(&a, &without->keypoints[c][k], sizeof a);
            }
        }
    assert_true(turned > 100 && differ > 100); /* or the comparison says nothing */
}

/** Without tracks there are the same key points, and nothing is wrong. */
static void not_tracked(void **state)
{
    (void)state;
    vfront_tuning_t t;
    vfront_tuning_default(&t);
    fly(&t, shot);
    t.track_target = 0;
    fly(&t, shot + 3);
    for (int i = 0; i < 3; i++) {
        const vfront_result_t *r = &shot[i + 3];
        assert_true(shot[i].tracks_count > 0 && r->keypoints_count[0] > 0);
        assert_int_equal(r->tracks_count + r->lost_count, 0);
        assert_int_equal(r->health.followed + r->health.born + r->health.overflow + r->health.reset_counter, 0);
        assert_int_equal(r->health.quality, 100);
        assert_int_equal(r->health.state, i ? VFRONT_TRACKING : VFRONT_STARTING);
        assert_int_equal(r->health.full & VFRONT_FULL_TRACKS, 0);
        for (int c = 0; c < VFRONT_CAMERAS; c++) pair_same_points(r, c, &shot[i], c);
    }
}

/* ---- partners: depths and matches ------------------------------------------------------------------------------------------ */

#if VFRONT_STEREO && VFRONT_MATCHES
/** A step with the pictures of a pair. With a rig the front end starts anew. */
static void shoot(const vfront_rig_t *rig, const vfront_tuning_t *t, int number, vfront_result_t *r)
{
    const uint8_t *const grey[] = {pair_grey[number], pair_right[number]};
    pair_shot(rig, t, grey, r);
}

/** As many frames of a pair, one after the other. */
static void shoot_all(const vfront_rig_t *rig, const vfront_tuning_t *t, vfront_result_t *r, int frames)
{
    for (int i = 0; i < frames; i++) shoot(i ? NULL : rig, t, i, &r[i]);
}

/** Most depths are right: the disparity is that of a pinhole, but for what the lenses bend. */
static void depths_right(const vfront_result_t *r, double disparity_px)
{
    const double want_m = 160 * SCENE_BASELINE_M / disparity_px;
    uint32_t right = 0;
    for (uint32_t i = 0; i < r->depths_count; i++) {
        const vfront_depth_t *d = &r->depths[i];
        right += fabs(d->depth_m - want_m) < 0.15 * want_m && fabs(r->keypoints[0][d->keypoint].x_px - d->x_px - disparity_px) < 0.5;
        assert_true(d->sigma_m > 0 && d->sigma_m < d->depth_m);
    }
    if (r->depths_count < 15 || right * 10 < r->depths_count * 9) fail_msg("of %u depths %u are right", r->depths_count, right);
}

/** Most matches are right: the picture moves by so many pixels a frame. */
static void matches_right(const vfront_result_t *before, const vfront_result_t *r, double x_px, double y_px)
{
    uint32_t right = 0;
    for (uint32_t i = 0; i < r->matches_count; i++) {
        assert_true(r->matches[i].before < before->keypoints_count[0]);
        const vfront_keypoint_t *now = &r->keypoints[0][r->matches[i].keypoint], *then = &before->keypoints[0][r->matches[i].before];
        const double within = 1.2 * pow((double)VFRONT_SCALE_NUM / VFRONT_SCALE_DEN, now->level > then->level ? now->level : then->level);
        right += fabs(now->x_px - then->x_px - x_px) < within && fabs(now->y_px - then->y_px - y_px) < within;
    }
    if (r->matches_count < 15 || right * 5 < r->matches_count * 4) fail_msg("of %u matches %u are right", r->matches_count, right);
}
#define STEP_X_PX (pair_scene.step_x_q4 / 16.0)
#define STEP_Y_PX (pair_scene.step_y_q4 / 16.0)

/** Depths in every frame, matches from the second on, and after a reset likewise. */
static void partners(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            shoot(round || i ? NULL : &rig, NULL, i, &shot[i]);
            depths_right(&shot[i], DISPARITY_PX);
            if (i) matches_right(&shot[i - 1], &shot[i], STEP_X_PX, STEP_Y_PX);
            assert_true(i || shot[i].matches_count == 0);
        }
        assert_int_equal(vfront_reset(&pair_vf), VFRONT_OK);
    }
}

/** What of a rig must be known for depths. Matches and all else need none of it. */
static void partners_of_rigs(void **state)
{
    (void)state;
    enum { LEFT_OPEN, RIGHT_OPEN, BOTH_OPEN, ONE_PLACE, TURNED_ONLY, ALONE, WAYS };
    for (int way = 0; way < WAYS; way++) {
        vfront_rig_t rig = pair_cameras();
        if (way == LEFT_OPEN || way == BOTH_OPEN) rig.camera[0].fx_px = rig.camera[0].fy_px = 0;
        if (way == RIGHT_OPEN || way == BOTH_OPEN) rig.camera[1].fx_px = rig.camera[1].fy_px = 0;
        if (way == ONE_PLACE || way == TURNED_ONLY) rig.camera[1].t_cam_imu_m[0] = 0;
        if (way == TURNED_ONLY) rig.camera[1].R_cam_imu[1] = -1, rig.camera[1].R_cam_imu[3] = rig.camera[1].R_cam_imu[8] = 1;
        if (way == ALONE) rig.cameras = 1;
        shoot_all(&rig, NULL, shot, 3);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(shot[i].depths_count, 0);
            if (i) matches_right(&shot[i - 1], &shot[i], STEP_X_PX, STEP_Y_PX);
        }
        assert_int_equal(shot[0].matches_count, 0);
    }
}

/** What the tuning turns off is off, and nothing else is. */
static void partners_off(void **state)
{
    (void)state;
    enum { NO_STEREO, NO_MATCH, NO_DESCRIBE, NO_POINTS, WAYS };
    static const int has_depths[WAYS] = {0, 1, 0, 0}, has_matches[WAYS] = {1, 0, 0, 0};
    const vfront_rig_t rig = pair_cameras();
    for (int way = 0; way < WAYS; way++)
        for (int rectify = 0; rectify < 2; rectify++) {
            vfront_tuning_t t;
            vfront_tuning_default(&t);
            t.rectify = rectify;
            shoot_all(&rig, &t, shot, 3);
            if (way == NO_STEREO) t.stereo = 0;
            if (way == NO_MATCH) t.match = 0;
            if (way == NO_DESCRIBE) t.describe = 0;
            if (way == NO_POINTS) t.select_points = 0;
            shoot_all(&rig, &t, shot + 3, 3);
            for (int i = 0; i < 3; i++) {
                vfront_result_t *with = &shot[i], *without = &shot[i + 3];
                assert_true(with->depths_count > 0 && (i == 0 || with->matches_count > 0));
                if (!has_depths[way]) assert_int_equal(without->depths_count, 0), with->depths_count = 0;
                if (!has_matches[way]) assert_int_equal(without->matches_count, 0), with->matches_count = 0;
                pair_same_partners(with, without);
                if (way <= NO_MATCH) assert_true(vfront_digest(with) == vfront_digest(without));
            }
        }
}

/** Cameras of two sizes see each other's points where both look. The smaller one's picture is part of the other's. */
static void partners_of_two_sizes(void **state)
{
    (void)state;
    static const struct scene narrow = {131, 97, 0, 0, 0};
    for (int swapped = 0; swapped < 2; swapped++)
        for (int rectify = 0; rectify < 2; rectify++) {
            vfront_rig_t rig = scene_pair(&pair_scene, &narrow);
            vfront_tuning_t t;
            vfront_tuning_default(&t);
            t.rectify = rectify;
            if (swapped) { /* the small one on the left */
                rig.camera[0].width_px = narrow.width_px;
                rig.camera[0].height_px = narrow.height_px;
                rig.camera[1].width_px = pair_scene.width_px;
                rig.camera[1].height_px = pair_scene.height_px;
            }
            for (int i = 0; i < 3; i++) {
                const uint8_t *const grey[] = {drawn[0], drawn[1]};
                for (int c = 0; c < 2; c++)
                    for (int32_t y = 0; y < rig.camera[c].height_px; y++)
                        memcpy(drawn[c] + y * rig.camera[c].width_px, (c ? pair_right : pair_grey)[i] + y * pair_scene.width_px,
                               (size_t)rig.camera[c].width_px);
                pair_shot(i ? NULL : &rig, &t, grey, &shot[i]);
                assert_true(shot[i].depths_count >= 10);
                if (!rectify) depths_right(&shot[i], DISPARITY_PX);
                if (i) matches_right(&shot[i - 1], &shot[i], STEP_X_PX, STEP_Y_PX);
            }
        }
}

/** Where there is nothing to see there are no partners: not in the other camera's blank picture, nor before or after one. */
static void partners_in_the_dark(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    enum { SIGHT, DARK, LEFT_DARK, RIGHT_DARK };
    static const int frame[] = {DARK, DARK, SIGHT, SIGHT, RIGHT_DARK, SIGHT, LEFT_DARK, SIGHT, SIGHT, DARK, SIGHT, SIGHT};
    memset(drawn[0], 0, sizeof drawn[0]);
    for (int i = 0; i < (int)(sizeof frame / sizeof *frame); i++) {
        const int left = frame[i] == SIGHT || frame[i] == RIGHT_DARK, right = frame[i] == SIGHT || frame[i] == LEFT_DARK;
        const int before = i && (frame[i - 1] == SIGHT || frame[i - 1] == RIGHT_DARK);
        const uint8_t *const grey[] = {left ? pair_grey[i % 2] : drawn[0], right ? pair_right[i % 2] : drawn[0]};
        pair_shot(i ? NULL : &rig, NULL, grey, &shot[0]);
        assert_int_equal(shot[0].depths_count > 0, left && right);
        assert_int_equal(shot[0].matches_count > 0, left && before);
    }
}

/** A frame that lacks the second camera's picture is refused, and the next one's partners are as if it had never been. */
static void picture_missing(void **state)
{
    (void)state;
    vfront_frame_t f;
    shot[0] = *pair_step();
    for (int i = 1; i < 4; i++) {
        f = pair_frame((uint64_t)i + 3); /* other pictures, of which nothing may stay */
        f.t_ns = shot[0].t_ns + 1;
        f.picture[VFRONT_CAMERAS - 1].data = NULL;
        pair_refused(vfront_step(&pair_vf, &f, &result), VFRONT_E_NULL, "frame.picture[1].data");
        shot[1] = *pair_step();
        depths_right(&shot[1], DISPARITY_PX);
        matches_right(&shot[0], &shot[1], STEP_X_PX, STEP_Y_PX);
        shot[0] = shot[1];
    }
}

/** Rectified, partners lie in one row, and depth follows from disparity as the interface says that it does. */
static void partners_rectified(void **state)
{
    (void)state;
    const vfront_rig_t rig = pair_cameras();
    vfront_tuning_t t;
    vfront_info_t is;
    vfront_tuning_default(&t);
    t.rectify = 1;
    for (int i = 0; i < 3; i++) {
        uint32_t right = 0;
        shoot(i ? NULL : &rig, &t, i, &shot[i]);
        assert_int_equal(vfront_info(&pair_vf, &is), VFRONT_OK);
        for (uint32_t k = 0; k < shot[i].depths_count; k++) {
            const vfront_depth_t *d = &shot[i].depths[k];
            const vfront_keypoint_t *p = &shot[i].keypoints[0][d->keypoint];
            const double want_m = is.seen[0].fx_px * SCENE_BASELINE_M / ((double)p->x_px - (double)d->x_px);
            right += fabs((double)d->y_px - (double)p->y_px) < 0.01 && fabs(d->depth_m - want_m) < 1e-3 * want_m;
        }
        assert_true(shot[i].depths_count >= 15);
        assert_int_equal(right, shot[i].depths_count);
        if (i) matches_right(&shot[i - 1], &shot[i], STEP_X_PX, STEP_Y_PX);
    }
}
#endif

/* ---- names ----------------------------------------------------------------------------------------------------------------- */

static void names(void **state)
{
    (void)state;
    static const struct {
        vfront_status_t status;
        int number;
        const char *name;
    } status[] = {
#define STATUS(s, number) {s, number, #s},
        STATUS(VFRONT_OK, 0) STATUS(VFRONT_E_NULL, -1) STATUS(VFRONT_E_STATE, -2) STATUS(VFRONT_E_BUSY, -3)
        STATUS(VFRONT_E_CONFIG, -4) STATUS(VFRONT_E_SIZE, -5) STATUS(VFRONT_E_PITCH, -6) STATUS(VFRONT_E_ALIGN, -7)
        STATUS(VFRONT_E_FORMAT, -8) STATUS(VFRONT_E_MEMORY_KIND, -9) STATUS(VFRONT_E_MASK, -10) STATUS(VFRONT_E_TIME, -11)
        STATUS(VFRONT_E_CALIBRATION, -12) STATUS(VFRONT_E_TUNING, -13) STATUS(VFRONT_E_GYRO, -14) STATUS(VFRONT_E_PRIOR, -15)
        STATUS(VFRONT_E_PORT, -16) STATUS(VFRONT_E_NO_DEVICE, -17) STATUS(VFRONT_E_DRIVER, -18)
        STATUS(VFRONT_E_DEVICE_MEMORY, -19) STATUS(VFRONT_E_DEVICE, -20) STATUS(VFRONT_E_TIMEOUT, -21)
#undef STATUS
    };
    for (size_t i = 0; i < sizeof status / sizeof *status; i++) {
        assert_int_equal(status[i].status, status[i].number); /* the numbers do not change between versions */
        assert_string_equal(vfront_status_name(status[i].status), status[i].name);
    }
    assert_string_equal(vfront_status_name((vfront_status_t)1), "unknown status");
    assert_string_equal(vfront_status_name((vfront_status_t)-22), "unknown status");
    static const char *const stage[] = {
#define VF_STAGE(name, needs, what) #name,
#include "../src/stages.def"
#undef VF_STAGE
    };
    assert_int_equal(sizeof stage / sizeof *stage, VFRONT_STAGES);
    for (size_t i = 0; i < VFRONT_STAGES; i++) assert_string_equal(vfront_stage_name(i), stage[i]);
    assert_null(vfront_stage_name(VFRONT_STAGES));
    assert_null(vfront_stage_name(SIZE_MAX));
}

static void info(void **state)
{
    (void)state;
    vfront_info_t i;
    assert_int_equal(vfront_info(&pair_vf, &i), VFRONT_OK);
    assert_int_equal(i.port, pair_port);
    assert_true(i.device[0] && memchr(i.device, 0, sizeof i.device));
    assert_true(i.host_bytes == sizeof(vfront_t));
    assert_int_equal(i.levels, 3); /* 160x120: 40x30 is the third */
    assert_int_equal(i.cells[0], 20);
    assert_true((i.device_bytes > 0) == (pair_port == VFRONT_PORT_CUDA));
    assert_true((i.pinned_bytes > 0) == (pair_port == VFRONT_PORT_CUDA));
}

/** Of a plain rig: it is seen as it is. */
static void info_plain(void **state)
{
    (void)state;
    static const uint8_t dark[VFRONT_WIDTH * VFRONT_HEIGHT];
    vfront_info_t i;
    vfront_rig_t rig = pair_cameras();
    rig.camera[0].mask = dark;
    rig.camera[0].mask_pitch_bytes = 160;
    rig.camera[VFRONT_CAMERAS - 1].width_px = 131;
    assert_int_equal(vfront_init(&pair_vf, &rig, NULL, pair_port), VFRONT_OK);
    assert_int_equal(vfront_info(&pair_vf, &i), VFRONT_OK);
    assert_int_equal(i.rectified, 0);
    rig.camera[0].mask = NULL;
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        const int32_t all[4] = {0, 0, rig.camera[c].width_px, rig.camera[c].height_px};
        assert_memory_equal(&i.seen[c], &rig.camera[c], sizeof rig.camera[c]);
        assert_memory_equal(i.valid_px[c], all, sizeof all);
        assert_int_equal(i.blind_px[c], 0);
    }
}

/** A lens that holds for a disc of the picture is blind outside of it, and nothing is found there. */
static void info_blind(void **state)
{
    (void)state;
    for (int c = 0; c < VFRONT_CAMERAS; c++) {
        vfront_rig_t rig = good_rig();
        vfront_info_t i;
        rig.camera[c].fx_px = rig.camera[c].fy_px = 160;
        rig.camera[c].distortion[0] = -3; /* turns at r = 1/3, which is seen at 2/9: 35.6 px */
        const uint8_t *const grey[] = {pair_grey[0], pair_grey[0]};
        pair_shot(&rig, NULL, grey, &shot[0]);
        assert_int_equal(vfront_info(&pair_vf, &i), VFRONT_OK);
        const double seen = 160 * 120 - (double)i.blind_px[c], disc = 3.14159 * 35.56 * 35.56, least = 3.14159 * 12.9 * 12.9;
        if (!(seen < disc && seen > least)) fail_msg("%g px are seen of %g", seen, disc); /* less, by up to two places of the grid of bearings along both axes */
        assert_int_equal(i.blind_px[1 - c], 0);
        assert_true(shot[0].keypoints_count[c] > 0 && shot[0].keypoints_count[1 - c] > shot[0].keypoints_count[c]);
        for (uint32_t k = 0; k < shot[0].keypoints_count[c]; k++)
            assert_true(hypot((double)shot[0].keypoints[c][k].x_px - 80, (double)shot[0].keypoints[c][k].y_px - 60) < 36);
    }
}

#if VFRONT_RECTIFY
/** Of a rectified rig: two pinholes side by side, as far apart as the cameras are. */
static void info_rectified(void **state)
{
    (void)state;
    static const struct scene narrow = {131, 97, 0, 0, 0};
    const vfront_rig_t rig = scene_pair(&pair_scene, &narrow);
    vfront_tuning_t t;
    vfront_info_t i;
    vfront_tuning_default(&t);
    t.rectify = 1;
    for (t.rectify_focal_percent = 60; t.rectify_focal_percent <= 160; t.rectify_focal_percent += 20) {
        assert_int_equal(vfront_init(&pair_vf, &rig, &t, pair_port), VFRONT_OK);
        assert_int_equal(vfront_info(&pair_vf, &i), VFRONT_OK);
        assert_int_equal(i.rectified, 1);
        for (int c = 0; c < 2; c++) {
            const vfront_camera_t *s = &i.seen[c];
            const int32_t *v = i.valid_px[c];
            assert_true(s->width_px == 160 && s->height_px == 120 && s->lens == VFRONT_LENS_RADTAN && !s->mask);
            assert_true(fabs(s->fx_px - 1.6 * t.rectify_focal_percent) < 1e-9 && s->fy_px == s->fx_px);
            for (int k = 0; k < 8; k++) assert_true(s->distortion[k] == 0);
            assert_true(v[0] >= 0 && v[1] >= 0 && v[0] + v[2] <= 160 && v[1] + v[3] <= 120);
            assert_true(v[0] <= 80 && v[1] <= 60 && v[0] + v[2] > 80 && v[1] + v[3] > 60);
            assert_int_equal(i.blind_px[c], 0); /* a pinhole sees all; what the camera does not see is masked */
        }
        assert_memory_equal(i.seen[0].R_cam_imu, i.seen[1].R_cam_imu, sizeof i.seen[0].R_cam_imu);
        assert_true(i.seen[0].cx_px == i.seen[1].cx_px && i.seen[0].cy_px == i.seen[1].cy_px);
        assert_true(fabs(i.seen[0].t_cam_imu_m[0] - i.seen[1].t_cam_imu_m[0] - SCENE_BASELINE_M) < 1e-12);
        for (int k = 1; k < 3; k++) assert_true(fabs(i.seen[0].t_cam_imu_m[k] - i.seen[1].t_cam_imu_m[k]) < 1e-12);
        assert_true(i.valid_px[1][2] * i.valid_px[1][3] < i.valid_px[0][2] * i.valid_px[0][3] || t.rectify_focal_percent > 120);
        vfront_shutdown(&pair_vf);
    }
}
#endif

#define PAIR(test) cmocka_unit_test_setup_teardown(test, pair_start, pair_end)
#define LONE(test) cmocka_unit_test_teardown(test, pair_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        LONE(init_null),        LONE(init_align),     LONE(init_config),         LONE(init_size),
        LONE(init_cells),       LONE(init_mask),      LONE(init_lens),           LONE(init_lens_limits),
        LONE(init_mount),       LONE(init_mirror),    LONE(init_place),          LONE(init_distortion),
        LONE(init_view),        LONE(init_pair),      LONE(init_one_place),      LONE(init_rectified),
        LONE(init_port),        LONE(init_auto),      LONE(init_no_detail),
        LONE(tuning_range),     LONE(tuning_ends),    LONE(tuning_pairs),        LONE(tuning_arguments),
        LONE(tuning_arcs),      LONE(no_corner),      LONE(list_full),           LONE(one_list_full),
        LONE(checkers),         LONE(tracks_full),    LONE(best_stay),           LONE(small_pictures),
        LONE(spots),            LONE(levels_searched),  LONE(no_points_wanted), LONE(not_described),     LONE(not_tracked),
        LONE(out_of_order),     PAIR(init_twice),     PAIR(wait_without_submit), PAIR(busy),
        PAIR(no_time),          PAIR(null_arguments), PAIR(no_such_camera),      PAIR(bad_frames),
        PAIR(bad_first_frame),  LONE(prior_uncalibrated), PAIR(detail_is_of_the_last_call), PAIR(gap),
        PAIR(any_time_after_reset), LONE(names),      PAIR(info),
        LONE(picture_times),    PAIR(picture_times_far_off), LONE(info_plain),   LONE(info_blind),
#if VFRONT_STEREO && VFRONT_MATCHES
        LONE(partners),         LONE(partners_of_rigs), LONE(partners_off),      LONE(partners_of_two_sizes),
        LONE(partners_in_the_dark), PAIR(picture_missing), LONE(partners_rectified),
#endif
#if VFRONT_RECTIFY
        LONE(info_rectified),
#endif
    };
    return pair_run("api", tests, sizeof tests / sizeof *tests);
}
