/* SPDX-License-Identifier: MIT */
/* Calibrations of other programs (examples/replay/calibration.h): VINS-Mono, VINS-Fusion, Basalt, and Kalibr's omni,
 * eucm and ds, which are compared over the whole picture with formulas of their papers. */
#define _XOPEN_SOURCE 700 /* mkdtemp */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "examples/replay/calibration.h"

static char folder[] = P_tmpdir "/vfront-calibration-XXXXXX";
static const char *const names[] = {"cam0.yaml", "cam1.yaml", "all"};

static int make_folder(void **state)
{
    (void)state;
    return !mkdtemp(folder);
}

static int remove_folder(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[120];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

static const char *put(const char *name, const char *content)
{
    static char path[3][120];
    static int turn;
    char *to = path[turn = (turn + 1) % 3];
    snprintf(to, sizeof path[0], "%s/%s", folder, name);
    FILE *f = fopen(to, "w");
    assert_non_null(f);
    assert_true(fputs(content, f) >= 0);
    assert_int_equal(fclose(f), 0);
    return to;
}

static void needs_yaml(void)
{
    if (!calibration_reads_yaml()) skip();
}

static void near(double got, double expected, const char *what)
{
    if (!(fabs(got - expected) <= 1e-9)) fail_msg("%s is %.12g, not %.12g", what, got, expected);
}

/** Reads into a rig of two cameras, or one. The message must hold `what`; NULL: there must be none. */
static vfront_rig_t read_rig(const char *files, int32_t cameras, const char *what)
{
    vfront_rig_t rig = {.cameras = cameras};
    const char *error = calibration_read(&rig, files);
    if (!what && error) fail_msg("%s", error);
    if (what && !error) fail_msg("nothing is wrong, but it should say %s", what);
    if (what && !strstr(error, what)) fail_msg("\"%s\" does not say %s", error, what);
    return rig;
}

/* ---- formulas of the papers: x, y on the plane of focal length 1 ------------------------------------------------- */

/** Mei and Rives (2007): unit sphere, moved by xi, pinhole, then radtan. */
static void omni(const double p[3], double xi, const double k[4], double m[2])
{
    const double n = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]), z = p[2] / n + xi, x = p[0] / n / z,
                 y = p[1] / n / z, r2 = x * x + y * y;
    m[0] = x * (1 + k[0] * r2 + k[1] * r2 * r2) + 2 * k[2] * x * y + k[3] * (r2 + 2 * x * x);
    m[1] = y * (1 + k[0] * r2 + k[1] * r2 * r2) + k[2] * (r2 + 2 * y * y) + 2 * k[3] * x * y;
}

/** Usenko, Demmel, Cremers (2018), equations 40 to 42. */
static void double_sphere(const double p[3], double xi, double alpha, double m[2])
{
    const double d1 = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]),
                 d2 = sqrt(p[0] * p[0] + p[1] * p[1] + pow(xi * d1 + p[2], 2)),
                 under = alpha * d2 + (1 - alpha) * (xi * d1 + p[2]);
    m[0] = p[0] / under;
    m[1] = p[1] / under;
}

/** Khomutenko, Garcia, Martinet (2016). */
static void extended(const double p[3], double alpha, double beta, double m[2])
{
    const double under = alpha * sqrt(beta * (p[0] * p[0] + p[1] * p[1]) + p[2] * p[2]) + (1 - alpha) * p[2];
    m[0] = p[0] / under;
    m[1] = p[1] / under;
}

enum model { OMNI, DOUBLE_SPHERE, EXTENDED };

/** The camera that was read sees rays of the picture where the formula does, and covers the corners. */
static void same_lens(const vfront_camera_t *c, enum model model, const double *value, const double *focal)
{
    double most = 0;
    int inside = 0, corners = 0;
    for (int i = 0; i < 400; i++)
        for (int k = 0; k < 90; k++) {
            const double angle = 1.8 * i / 400, turn = 0.0698 * k;
            const double ray[3] = {sin(angle) * cos(turn), sin(angle) * sin(turn), cos(angle)};
            double m[2] = {0}, px[2];
            if (model == OMNI) omni(ray, value[0], &value[1], m);
            if (model == DOUBLE_SPHERE) double_sphere(ray, value[0], value[1], m);
            if (model == EXTENDED) extended(ray, value[0], value[1], m);
            const double x = focal[0] * m[0] + focal[2], y = focal[1] * m[1] + focal[3];
            if (x < 0 || y < 0 || x > c->width_px - 1 || y > c->height_px - 1 || m[0] * ray[0] < 0) continue;
            if (!vfront_lens_project(c, ray, px)) fail_msg("no pixel at %.2f rad", angle);
            most = fmax(most, hypot(px[0] - x, px[1] - y));
            inside++;
            corners += (x < 30 || x > c->width_px - 30) && (y < 30 || y > c->height_px - 30);
        }
    print_message("    off by up to %.1g px, %d rays\n", most, inside);
    assert_true(most <= 1e-9 && inside > 1000 && corners > 10);
}

/* ---- Kalibr ------------------------------------------------------------------------------------------------------ */

#define KALIBR(model, intrinsics, distortion, size)                                                                    \
    "cam0:\n  camera_model: " model "\n  intrinsics: [" intrinsics "]\n  " distortion "\n  resolution: [" size "]\n"
#define NONE "distortion_coeffs: []\n  distortion_model: none"
#define BENT "distortion_coeffs: [-0.2, 0.14, 1.0e-4, -2.0e-4]\n  distortion_model: radtan"

static void kalibr_wide(void **state)
{
    static const double wide[2] = {-0.1723, 0.5894}, wide_focal[4] = {158.28, 158.27, 254.96, 256.36};
    static const double ds[2] = {-0.2409573942178872, 0.566996899163044},
                        ds_focal[4] = {349.756, 348.7245, 365.894, 249.33}, eucm[2] = {0.63, 1.05},
                        eucm_focal[4] = {460.8, 459.7, 362.3, 246.8}, mei[5] = {1.2, -0.2, 0.14, 1e-4, -2e-4},
                        mei_focal[4] = {950, 948, 370, 241};
    (void)state;
    needs_yaml();
    vfront_rig_t rig = read_rig(put("all", KALIBR("ds",
                                                  "-0.2409573942178872, 0.566996899163044, 349.756, 348.7245, 365.894, "
                                                  "249.33",
                                                  NONE, "752, 480")),
                                1, NULL);
    same_lens(&rig.camera[0], DOUBLE_SPHERE, ds, ds_focal);
    rig = read_rig(put("all", KALIBR("ds", "-0.1723, 0.5894, 158.28, 158.27, 254.96, 256.36", NONE, "512, 512")), 1,
                   NULL);
    same_lens(&rig.camera[0], DOUBLE_SPHERE, wide, wide_focal); /* 195 degrees */
    rig = read_rig(put("all", KALIBR("eucm", "0.63, 1.05, 460.8, 459.7, 362.3, 246.8", NONE, "752, 480")), 1, NULL);
    same_lens(&rig.camera[0], EXTENDED, eucm, eucm_focal);
    rig = read_rig(put("all", KALIBR("omni", "1.2, 950, 948, 370, 241", BENT, "752, 480")), 1, NULL);
    same_lens(&rig.camera[0], OMNI, mei, mei_focal);
}

static void kalibr_faults(void **state)
{
    (void)state;
    needs_yaml();
    read_rig(put("all", KALIBR("ds", "-0.24, 349.7, 348.7, 365.8, 249.3", NONE, "752, 480")), 1,
             "has 5 numbers instead of 6");
    read_rig(put("all", KALIBR("ds", "-0.24, 0.56, 349.7, 348.7, 365.8, 249.3", BENT, "752, 480")), 1,
             "none is known here");
    read_rig(put("all", KALIBR("ds", "-0.24, 0.56, 0, 348.7, 365.8, 249.3", NONE, "752, 480")), 1, "not above 0");
    read_rig(put("all", KALIBR("mono", "1, 2, 3, 4", NONE, "752, 480")), 1, "pinhole, omni, eucm and ds");
    read_rig(
        put("all", KALIBR("omni", "1.2, 950, 948, 370, 241",
                          "distortion_coeffs: [-0.2, 0.14, 0.01, -0.01]\n  distortion_model: equidistant", "752, 480")),
        1, "radtan and none is known here");
}

/* ---- ROS camera_info --------------------------------------------------------------------------------------------- */

#define INFO(model, numbers, K)                                                                                        \
    "image_width: 752\nimage_height: 480\ncamera_matrix: {data: [" K "]}\ndistortion_model: " model                    \
    "\ndistortion_coefficients: {data: [" numbers "]}\n"
#define INFO_K "350, 0, 366, 0, 349, 249, 0, 0, 1"

/** Lenses that ROS does not name, by the names of drivers and of Kalibr. */
static void ros_wide(void **state)
{
    static const double focal[4] = {350, 349, 366, 249}, ds[2] = {-0.24, 0.57}, eucm[2] = {0.63, 1.05},
                        mei[5] = {1.2, -0.2, 0.14, 1e-4, -2e-4}, mei_focal[4] = {950, 948, 370, 241};
    (void)state;
    needs_yaml();
    vfront_rig_t rig = read_rig(put("all", INFO("double_sphere", "-0.24, 0.57", INFO_K)), 1, NULL);
    same_lens(&rig.camera[0], DOUBLE_SPHERE, ds, focal);
    rig = read_rig(put("all", INFO("ds", "-0.24, 0.57, 0, 0, 0", INFO_K)), 1, NULL);
    same_lens(&rig.camera[0], DOUBLE_SPHERE, ds, focal);
    rig = read_rig(put("all", INFO("eucm", "0.63, 1.05", INFO_K)), 1, NULL);
    same_lens(&rig.camera[0], EXTENDED, eucm, focal);
    rig = read_rig(put("all", INFO("omni", "1.2, -0.2, 0.14, 1.0e-4, -2.0e-4", "950, 0, 370, 0, 948, 241, 0, 0, 1")), 1,
                   NULL);
    same_lens(&rig.camera[0], OMNI, mei, mei_focal);
    assert_true(rig.camera[0].width_px == 752 && rig.camera[0].height_px == 480);
    read_rig(put("all", INFO("double_sphere", "-0.24", INFO_K)), 1, "1 numbers, but double_sphere has 2");
    read_rig(put("all", INFO("eucm", "0.63, 1.05, 0.1", INFO_K)), 1, "number 3 is not 0");
    read_rig(put("all", INFO("omni", "", INFO_K)), 1, "0 numbers, but omni has 5");
    read_rig(put("all", INFO("fov", "0.9", INFO_K)), 1, "distortion_model fov: plumb_bob");
}

/* ---- VINS -------------------------------------------------------------------------------------------------------- */

#define POSE(name, x)                                                                                                  \
    name ": !!opencv-matrix\n   rows: 4\n   cols: 4\n   dt: d\n   data: [0, 0, 1, " x                                  \
         ", -1, 0, 0, 0.25, 0, -1, 0, -0.125, "                                                                        \
         "0, 0, 0, 1]\n"
#define SETTINGS(cameras, more)                                                                                        \
    "%YAML:1.0\nimu: 1\nnum_of_cam: 2\nimage_width: 752\nimage_height: 480\n" cameras POSE("body_T_cam0", "0.5")       \
        POSE("body_T_cam1", "0.75") "acc_n: 0.1\ngyr_n: 0.01\n" more
#define TWO "cam0_calib: \"cam0.yaml\"\ncam1_calib: \"cam1.yaml\"\n"
#define VINS_PINHOLE                                                                                                   \
    "%YAML:1.0\n---\nmodel_type: PINHOLE\ncamera_name: camera\nimage_width: 752\nimage_height: 480\n"                  \
    "distortion_parameters:\n   k1: -0.25\n   k2: 0.5\n   p1: 0.125\n   p2: -0.0625\n"                                 \
    "projection_parameters:\n   fx: 460.5\n   fy: 459.5\n   cx: 361.25\n   cy: 246.75\n"
#define VINS_FISHEYE                                                                                                   \
    "%YAML:1.0\n---\nmodel_type: KANNALA_BRANDT\ncamera_name: camera\nimage_width: 752\nimage_height: 480\n"           \
    "projection_parameters:\n   k2: 0.5\n   k3: -0.25\n   k4: 0.125\n   k5: -0.0625\n   mu: 460.5\n   mv: 459.5\n"     \
    "   u0: 361.25\n   v0: 246.75\n"
#define VINS_MEI                                                                                                       \
    "%YAML:1.0\n---\nmodel_type: MEI\nimage_width: 752\nimage_height: 480\nmirror_parameters:\n   xi: 1.2\n"           \
    "distortion_parameters:\n   k1: -0.2\n   k2: 0.14\n   p1: 1.0e-4\n   p2: -2.0e-4\n"                                \
    "projection_parameters:\n   gamma1: 950\n   gamma2: 948\n   u0: 370\n   v0: 241\n"

/** Points of the camera taken to the IMU by the matrix of the file come back by the rig. */
static void mounted(const vfront_camera_t *c, double x)
{
    static const double p_cam[3] = {0.5, -2, 3};
    const double p_imu[3] = {p_cam[2] + x, -p_cam[0] + 0.25, -p_cam[1] - 0.125};
    for (int i = 0; i < 3; i++) {
        double back = c->t_cam_imu_m[i];
        for (int k = 0; k < 3; k++) back += c->R_cam_imu[3 * i + k] * p_imu[k];
        near(back, p_cam[i], "a point");
    }
}

static void vins_fusion(void **state)
{
    static const double mei[5] = {1.2, -0.2, 0.14, 1e-4, -2e-4}, mei_focal[4] = {950, 948, 370, 241};
    static const double k[4] = {-0.25, 0.5, 0.125, -0.0625}, fisheye[4] = {0.5, -0.25, 0.125, -0.0625};
    (void)state;
    needs_yaml();
    put("cam0.yaml", VINS_PINHOLE);
    put("cam1.yaml", VINS_FISHEYE);
    vfront_rig_t rig = read_rig(put("all", SETTINGS(TWO, "td: -0.0125\n")), 2, NULL);
    for (int i = 0; i < 2; i++) {
        const vfront_camera_t *c = &rig.camera[i];
        assert_true(c->fx_px == 460.5 && c->fy_px == 459.5 && c->cx_px == 361.25 && c->cy_px == 246.75);
        assert_true(c->width_px == 752 && c->height_px == 480);
        assert_int_equal(c->lens, i ? VFRONT_LENS_EQUIDISTANT : VFRONT_LENS_RADTAN);
        assert_memory_equal(c->distortion, i ? fisheye : k, sizeof k);
        mounted(c, i ? 0.75 : 0.5);
    }
    assert_int_equal(rig.imu_offset_ns, -12500000);
    assert_true(rig.imu.rate_hz == 0.0); /* the file has no rate: its noise is not used */
    put("cam1.yaml", VINS_MEI);
    rig = read_rig(put("all", SETTINGS(TWO, "")), 2, NULL);
    same_lens(&rig.camera[1], OMNI, mei, mei_focal);
    read_rig(put("all", SETTINGS("cam0_calib: cam0.yaml\n", "")), 2, "no cam1_calib; --mono takes camera 0 alone");
    read_rig(put("all", SETTINGS(TWO, "td: 5\n")), 2, "td is not in -1..1");
    put("cam0.yaml", "model_type: SCARAMUZZA\nimage_width: 752\nimage_height: 480\n");
    read_rig(put("all", SETTINGS(TWO, "")), 2, "model_type SCARAMUZZA");
    unlink(put("cam0.yaml", ""));
    read_rig(put("all", SETTINGS(TWO, "")), 2, "cam0.yaml");
}

static void vins_mono(void **state)
{
    (void)state;
    needs_yaml();
    const char *const settings = VINS_PINHOLE
        "extrinsicRotation: !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n   data: [0, 0, 1, -1, 0, 0, 0, -1, 0]\n"
        "extrinsicTranslation: !!opencv-matrix\n   rows: 3\n   cols: 1\n   dt: d\n   data: [0.5, 0.25, -0.125]\ntd: "
        "0.0\n";
    const vfront_rig_t rig = read_rig(put("all", settings), 1, NULL);
    mounted(&rig.camera[0], 0.5);
    assert_true(rig.camera[0].distortion[0] == -0.25);
    read_rig(put("all", settings), 2, "no cam1_calib");
    read_rig(put("all", VINS_PINHOLE), 1, "no body_T_cam0 and no extrinsicRotation");
}

/* ---- Basalt ------------------------------------------------------------------------------------------------------ */

#define LENS(type, numbers) "{\"camera_type\": \"" type "\", \"intrinsics\": {" numbers "}}"
#define FOCAL "\"fx\": 460.5, \"fy\": 459.5, \"cx\": 361.25, \"cy\": 246.75"
#define BASALT_POSE(x)                                                                                                 \
    "{\"px\": " x ", \"py\": 0.25, \"pz\": -0.125, \"qx\": -0.5, \"qy\": 0.5, \"qz\": -0.5, \"qw\": 0.5}"
#define BASALT(first, second)                                                                                          \
    "{\n    \"value0\": {\n        \"T_imu_cam\": [" BASALT_POSE("0.5") ", " BASALT_POSE(                              \
        "0.75") "],\n        \"intrinsics\": [" first ", " second                                                      \
                "],\n        \"resolution\": [[752, 480], [752, 480]],\n        \"calib_accel_bias\": [0, 0, 0, 0, "   \
                "0, 0, 0, 0, 0],\n"                                                                                    \
                "        \"imu_update_rate\": 200.0,\n        \"accel_noise_std\": [0.016, 0.016, 0.02],\n"            \
                "        \"gyro_noise_std\": [0.000282, 0.000282, 0.000282],\n        \"accel_bias_std\": [0.001, "    \
                "0.001, 0.001],\n"                                                                                     \
                "        \"gyro_bias_std\": [0.0001, 0.0001, 0.0001],\n        \"cam_time_offset_ns\": -5000000,\n   " \
                "     \"vignette\": []\n    }\n}\n"

static void basalt(void **state)
{
    static const double ds[2] = {-0.2, 0.6}, eucm[2] = {0.6, 1.1}, ucm[2] = {0.6, 1},
                        focal[4] = {460.5, 459.5, 361.25, 246.75};
    static const double fisheye[4] = {0.5, -0.25, 0.125, -0.0625}, rational[8] = {1, 2, 0.25, 0.5, 3, 4, 5, 6};
    (void)state;
    needs_yaml();
    vfront_rig_t rig = read_rig(
        put("all", BASALT(LENS("kb4", FOCAL ", \"k1\": 0.5, \"k2\": -0.25, \"k3\": 0.125, \"k4\": -0.0625"),
                          LENS("pinhole-radtan8", FOCAL ", \"k1\": 1, \"k2\": 2, \"p1\": 0.25, \"p2\": 0.5, "
                                                        "\"k3\": 3, \"k4\": 4, \"k5\": 5, \"k6\": 6"))),
        2, NULL);
    assert_int_equal(rig.camera[0].lens, VFRONT_LENS_EQUIDISTANT);
    assert_memory_equal(rig.camera[0].distortion, fisheye, sizeof fisheye);
    assert_int_equal(rig.camera[1].lens, VFRONT_LENS_RATIONAL);
    assert_memory_equal(rig.camera[1].distortion, rational, sizeof rational);
    for (int i = 0; i < 2; i++) {
        assert_true(rig.camera[i].fx_px == 460.5 && rig.camera[i].cy_px == 246.75 && rig.camera[i].width_px == 752);
        mounted(&rig.camera[i], i ? 0.75 : 0.5);
    }
    assert_int_equal(rig.imu_offset_ns, -5000000);
    assert_true(rig.imu.rate_hz == 200 && rig.imu.accel_density == 0.02 && rig.imu.gyro_density == 0.000282);
    assert_true(rig.imu.accel_walk == 0.001 && rig.imu.gyro_walk == 0.0001 && rig.imu.gravity_m_s2 == 9.81);
    rig = read_rig(put("all", BASALT(LENS("ds", FOCAL ", \"xi\": -0.2, \"alpha\": 0.6"),
                                     LENS("eucm", FOCAL ", \"alpha\": 0.6, \"beta\": 1.1"))),
                   2, NULL);
    same_lens(&rig.camera[0], DOUBLE_SPHERE, ds, focal);
    same_lens(&rig.camera[1], EXTENDED, eucm, focal);
    rig = read_rig(put("all", BASALT(LENS("ucm", FOCAL ", \"alpha\": 0.6"), LENS("pinhole", FOCAL))), 2, NULL);
    same_lens(&rig.camera[0], EXTENDED, ucm, focal);
    read_rig(put("all", BASALT(LENS("eucm", FOCAL ", \"alpha\": 0.6, \"beta\": 0"), LENS("pinhole", FOCAL))), 2,
             "beta is not in 0.01..100");
    read_rig(put("all", BASALT(LENS("fov", FOCAL ", \"w\": 1"), LENS("pinhole", FOCAL))), 2, "camera_type fov");
    read_rig(put("all", BASALT(LENS("ds", FOCAL ", \"xi\": -0.2"), LENS("pinhole", FOCAL))), 2, "no alpha");
    read_rig(put("all", "{\"value0\": {}}"), 1, "no camera_type of camera 0");
    vfront_rig_t other = {.cameras = 1, .camera = {{.width_px = 640, .height_px = 480}}};
    const char *error = calibration_read(&other, put("all", BASALT(LENS("pinhole", FOCAL), LENS("pinhole", FOCAL))));
    assert_true(error && strstr(error, "752x480, but the pictures are 640x480") && other.camera[0].fx_px == 0.0);
}

/** A file cut anywhere gives a message or a calibration, never a crash; the rig of a message is the one before. */
static void cut(void **state)
{
    static const char all[] = BASALT(LENS("ds", FOCAL ", \"xi\": -0.2, \"alpha\": 0.6"), LENS("pinhole", FOCAL));
    char part[sizeof all];
    int read = 0;
    (void)state;
    needs_yaml();
    for (size_t bytes = 0; bytes < sizeof all; bytes += 7) {
        vfront_rig_t rig = {.cameras = 2};
        memcpy(part, all, bytes);
        part[bytes] = 0;
        const char *error = calibration_read(&rig, put("all", part));
        read += !error;
        assert_true(!error || rig.camera[0].fx_px == 0.0);
    }
    assert_true(read <= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(kalibr_wide), cmocka_unit_test(kalibr_faults),
                                       cmocka_unit_test(ros_wide),    cmocka_unit_test(vins_fusion),
                                       cmocka_unit_test(vins_mono),   cmocka_unit_test(basalt),
                                       cmocka_unit_test(cut)};
    return cmocka_run_group_tests_name("calibration_other", tests, make_folder, remove_folder);
}
