/* SPDX-License-Identifier: MIT */
/* Readers of calibration (examples/replay/calibration.h): files of each kind with values worked out by hand, transforms
 * checked by sending points through the matrices of the file, and files with one fault each, with the line that must
 * come of it. */
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

#define COUNT(a) (sizeof(a) / sizeof *(a))

static char folder[] = P_tmpdir "/vfront-calibration-XXXXXX";

static int make_folder(void **state)
{
    (void)state;
    return !mkdtemp(folder);
}

static const char *const names[] = {"a", "b", "i", "u"};

static int remove_folder(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(names); i++) {
        char path[80];
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        unlink(path);
    }
    return rmdir(folder);
}

/** Writes a file, whose name is one of `names`. Returns its path, valid until the next file of that name. */
static const char *put_bytes(char name, const char *content, size_t bytes)
{
    static char path[128][80];
    char *to = path[(int)name];
    snprintf(to, sizeof path[0], "%s/%c", folder, name);
    FILE *f = fopen(to, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(content, 1, bytes, f), bytes);
    assert_int_equal(fclose(f), 0);
    return to;
}

static const char *put(char name, const char *content) { return put_bytes(name, content, strlen(content)); }

/** A text with its first `find` replaced. Valid until the eighth call from here. */
static const char *exchange(const char *text, const char *find, const char *with)
{
    static char out[8][4096];
    static int turn;
    char *to = out[turn = (turn + 1) % 8];
    const char *at = strstr(text, find);
    if (!at) fail_msg("no \"%s\" in the text", find);
    snprintf(to, sizeof out[0], "%.*s%s%s", (int)(at - text), text, with, at + strlen(find));
    return to;
}

static void needs_yaml(void)
{
    static int printed;
    if (calibration_reads_yaml()) return;
    if (!printed++) printf("skipped: this build has no libyaml\n");
    skip();
}

/** A rig of which only the pictures' sizes are known, 0 for not even those, and with rubbish that must go. */
static vfront_rig_t pictures(int32_t cameras, int32_t width, int32_t height)
{
    static const uint8_t mask[4];
    vfront_rig_t rig = {.cameras = cameras};
    for (int32_t i = 0; i < cameras; i++) {
        vfront_camera_t *c = &rig.camera[i];
        c->width_px = width;
        c->height_px = height;
        c->mask = mask;
        c->mask_pitch_bytes = 7;
        c->fx_px = c->fy_px = 3.0;
        c->lens = VFRONT_LENS_RATIONAL;
        for (int k = 0; k < 8; k++) c->distortion[k] = 9.0;
        for (int k = 0; k < 9; k++) c->R_cam_imu[k] = 9.0;
        for (int k = 0; k < 3; k++) c->t_cam_imu_m[k] = 9.0;
    }
    return rig;
}

static void good(const char *line)
{
    if (line) fail_msg("%s", line);
}

/** The line must be there, be one line, and say both what file and what is wrong. */
static void reports(const char *line, const char *file, const char *what)
{
    if (!line)
        fail_msg("nothing wrong, but it should say: %s", what);
    else if (!strstr(line, what))
        fail_msg("\"%s\" does not say \"%s\"", line, what);
    else if (!strstr(line, file))
        fail_msg("\"%s\" does not name %s", line, file);
    else if (strchr(line, '\n'))
        fail_msg("\"%s\" is more than a line", line);
}

/** Compares bits, but takes -0 for 0. */
static void same_numbers(const double *got, const double *expected, size_t count, const char *what)
{
    for (size_t i = 0; i < count; i++)
        if (!(got[i] == expected[i])) fail_msg("%s[%zu] is %.17g, not %.17g", what, i, got[i], expected[i]);
}

static void same_camera(const vfront_camera_t *got, const vfront_camera_t *expected)
{
    const double a[] = {got->fx_px, got->fy_px, got->cx_px, got->cy_px};
    const double b[] = {expected->fx_px, expected->fy_px, expected->cx_px, expected->cy_px};
    same_numbers(a, b, 4, "intrinsics");
    assert_int_equal(got->width_px, expected->width_px);
    assert_int_equal(got->height_px, expected->height_px);
    assert_int_equal(got->lens, expected->lens);
    same_numbers(got->distortion, expected->distortion, 8, "distortion");
    same_numbers(got->R_cam_imu, expected->R_cam_imu, 9, "R_cam_imu");
    same_numbers(got->t_cam_imu_m, expected->t_cam_imu_m, 3, "t_cam_imu_m");
    same_numbers(&got->row_us, &expected->row_us, 1, "row_us");
    assert_non_null(got->mask);
    assert_int_equal(got->mask_pitch_bytes, 7);
}

/* ---- Kalibr ------------------------------------------------------------------------------------------------------ */

#define MOUNT0                                                                                                         \
    "  T_cam_imu:\n"                                                                                                   \
    "  - [0.0, -1.0, 0.0, 0.5]\n"                                                                                      \
    "  - [0.0, 0.0, -1.0, 0.25]\n"                                                                                     \
    "  - [1.0, 0.0, 0.0, -0.125]\n"                                                                                    \
    "  - [0.0, 0.0, 0.0, 1.0]\n"
#define LINK1                                                                                                          \
    "  T_cn_cnm1:\n"                                                                                                   \
    "  - [0.0, -1.0, 0.0, -0.125]\n"                                                                                   \
    "  - [1.0, 0.0, 0.0, 0.0625]\n"                                                                                    \
    "  - [0.0, 0.0, 1.0, 0.03125]\n"                                                                                   \
    "  - [0.0, 0.0, 0.0, 1.0]\n"

static const char kalibr[] = "cam0:\n" MOUNT0 "  cam_overlaps: [1]\n"
                             "  camera_model: pinhole\n"
                             "  distortion_coeffs: [-0.25, 0.125, 0.001, -2.0e-3]\n"
                             "  distortion_model: radtan\n"
                             "  intrinsics: [400.5, 401.25, 320.5, 240.75]\n"
                             "  resolution: [640, 480]\n"
                             "  rostopic: /cam0/image_raw\n"
                             "  timeshift_cam_imu: 0.002\n"
                             "cam1:\n" LINK1 "  cam_overlaps: [0]\n"
                             "  camera_model: pinhole\n"
                             "  distortion_coeffs: [0.5, 0.0625, -0.75, 8]\n"
                             "  distortion_model: equidistant\n"
                             "  intrinsics: [300, 301, 302.0, 203.5]\n"
                             "  resolution: [600, 400]\n"
                             "  rostopic: /cam1/image_raw\n"
                             "  line_delay: 2.5e-05\n";

static const vfront_camera_t kalibr_camera[] = {
    {.width_px = 640,
     .height_px = 480,
     .fx_px = 400.5,
     .fy_px = 401.25,
     .cx_px = 320.5,
     .cy_px = 240.75,
     .lens = VFRONT_LENS_RADTAN,
     .distortion = {-0.25, 0.125, 0.001, -0.002},
     .R_cam_imu = {0, -1, 0, 0, 0, -1, 1, 0, 0},
     .t_cam_imu_m = {0.5, 0.25, -0.125}},
    {.width_px = 600,
     .height_px = 400,
     .fx_px = 300,
     .fy_px = 301,
     .cx_px = 302,
     .cy_px = 203.5,
     .lens = VFRONT_LENS_EQUIDISTANT,
     .distortion = {0.5, 0.0625, -0.75, 8},
     .R_cam_imu = {0, 0, 1, 0, -1, 0, 1, 0, 0},
     .t_cam_imu_m = {-0.375, 0.5625, -0.09375},
     .row_us = 25},
};

static void kalibr_with_imu(void **state)
{
    (void)state;
    needs_yaml();
    vfront_rig_t rig = pictures(2, 0, 0);
    good(calibration_kalibr(&rig, put('a', kalibr)));
    for (int i = 0; i < 2; i++) same_camera(&rig.camera[i], &kalibr_camera[i]);
    assert_true(fabs(calibration_baseline_m(&rig) - sqrt(21.0) / 32.0) < 1e-15);
    rig = pictures(1, 640, 480); /* the first of two */
    good(calibration_read(&rig, put('a', kalibr)));
    same_camera(&rig.camera[0], &kalibr_camera[0]);
    assert_true(calibration_baseline_m(&rig) == 0.0);
}

/** Camera 0 takes the IMU's place: camera 1 is where T_cn_cnm1 puts it. */
static void kalibr_without_imu(void **state)
{
    (void)state;
    needs_yaml();
    vfront_rig_t rig = pictures(2, 0, 0);
    vfront_camera_t expected[] = {kalibr_camera[0], kalibr_camera[1]};
    memset(expected[0].R_cam_imu, 0, sizeof expected[0].R_cam_imu);
    memset(expected[0].t_cam_imu_m, 0, sizeof expected[0].t_cam_imu_m);
    memcpy(expected[1].R_cam_imu, (const double[]){0, -1, 0, 1, 0, 0, 0, 0, 1}, sizeof expected[1].R_cam_imu);
    memcpy(expected[1].t_cam_imu_m, (const double[]){-0.125, 0.0625, 0.03125}, sizeof expected[1].t_cam_imu_m);
    good(calibration_kalibr(&rig, put('a', exchange(kalibr, MOUNT0, ""))));
    for (int i = 0; i < 2; i++) same_camera(&rig.camera[i], &expected[i]);
    assert_true(fabs(calibration_baseline_m(&rig) - sqrt(21.0) / 32.0) < 1e-15);
}

/** Other ways to say the same. */
static void kalibr_same_otherwise(void **state)
{
    (void)state;
    needs_yaml();
    static const struct {
        const char *find, *with;
    } same[] = {
        {"cam0:", "%YAML:1.0\n---\ncam0:"},
        {"cam0:", "# a comment\ncam0:"},
        {MOUNT0, "  T_imu_cam: [[0, 0, 1, 0.125], [-1, 0, 0, 0.5], [0, -1, 0, 0.25], [0, 0, 0, 1]]\n"},
        {MOUNT0, "  T_cam_imu: [0, -1, 0, 0.5, 0, 0, -1, 0.25, 1, 0, 0, -0.125, 0, 0, 0, 1]\n"},
        {MOUNT0, "  T_cam_imu: !!opencv-matrix\n    rows: 4\n    cols: 4\n    dt: d\n"
                 "    data: [0, -1, 0, 0.5, 0, 0, -1, 0.25, 1, 0, 0, -0.125, 0, 0, 0, 1]\n"},
        {LINK1, LINK1 "  T_cam_imu: [[0, 0, 1, -0.375], [0, -1, 0, 0.5625], [1, 0, 0, -0.09375], [0, 0, 0, 1]]\n"},
        {LINK1, "  T_cam_imu: [[0, 0, 1, -0.375], [0, -1, 0, 0.5625], [1, 0, 0, -0.09375], [0, 0, 0, 1]]\n"},
        {LINK1, "  T_imu_cam: [[0, 0, 1, 0.09375], [0, -1, 0, 0.5625], [1, 0, 0, 0.375], [0, 0, 0, 1]]\n"},
        {"radtan", "radial-tangential"},
        {"-2.0e-3]", "-0.002, 0]"},
    };
    for (size_t i = 0; i < COUNT(same); i++) {
        vfront_rig_t rig = pictures(2, 0, 0);
        good(calibration_read(&rig, put('a', exchange(kalibr, same[i].find, same[i].with))));
        for (int c = 0; c < 2; c++) same_camera(&rig.camera[c], &kalibr_camera[c]);
    }
}

static void lens_variants(void **state)
{
    (void)state;
    needs_yaml();
    vfront_rig_t rig = pictures(1, 0, 0);
    vfront_camera_t expected = kalibr_camera[0];
    expected.distortion[4] = 0.0625; /* k3 */
    good(calibration_kalibr(&rig, put('a', exchange(kalibr, "-2.0e-3]", "-2.0e-3, 0.0625]"))));
    same_camera(&rig.camera[0], &expected);
    memset(expected.distortion, 0, sizeof expected.distortion);
    const char *bare = exchange(exchange(kalibr, "radtan", "none"), "[-0.25, 0.125, 0.001, -2.0e-3]", "[]");
    good(calibration_kalibr(&rig, put('a', bare)));
    same_camera(&rig.camera[0], &expected);
    good(calibration_kalibr(&rig, put('a', exchange(bare, "  distortion_coeffs: []\n", ""))));
    same_camera(&rig.camera[0], &expected);
}

/* ---- EuRoC ------------------------------------------------------------------------------------------------------- */

static const char euroc[] = "%YAML:1.0\n"
                            "# General sensor definitions.\n"
                            "sensor_type: camera\n"
                            "comment: VI-Sensor cam0 (MT9M034)\n"
                            "T_BS:\n"
                            "  cols: 4\n"
                            "  rows: 4\n"
                            "  data: [0.0, 0.0, 1.0, 0.5,\n"
                            "         -1.0, 0.0, 0.0, 0.25,\n"
                            "         0.0, -1.0, 0.0, 0.125,\n"
                            "         0.0, 0.0, 0.0, 1.0]\n"
                            "rate_hz: 20\n"
                            "resolution: [752, 480]\n"
                            "camera_model: pinhole\n"
                            "intrinsics: [458.5, 457.25, 367.125, 248.375] #fu, fv, cu, cv\n"
                            "distortion_model: radial-tangential\n"
                            "distortion_coefficients: [-0.5, 0.25, 0.125, 1.0e-05]\n";
static const char euroc_imu[] = "sensor_type: imu\n"
                                "T_BS:\n"
                                "  data: [0, -1, 0, 0, 1, 0, 0, 0.5, 0, 0, 1, 0, 0, 0, 0, 1]\n";
static const vfront_camera_t euroc_camera = {.width_px = 752,
                                             .height_px = 480,
                                             .fx_px = 458.5,
                                             .fy_px = 457.25,
                                             .cx_px = 367.125,
                                             .cy_px = 248.375,
                                             .lens = VFRONT_LENS_RADTAN,
                                             .distortion = {-0.5, 0.25, 0.125, 1e-5},
                                             .R_cam_imu = {0, -1, 0, 0, 0, -1, 1, 0, 0},
                                             .t_cam_imu_m = {0.25, 0.125, -0.5}};

static void euroc_imu_poses(void **state)
{
    (void)state;
    needs_yaml();
    const char *const one[] = {put('a', euroc), put('b', exchange(euroc, "1.0, 0.5,", "1.0, 2.5,"))};
    vfront_rig_t rig = pictures(2, 752, 480);
    vfront_camera_t expected = euroc_camera;
    good(calibration_euroc(&rig, one, NULL)); /* the IMU is the body */
    same_camera(&rig.camera[0], &expected);
    expected.t_cam_imu_m[2] = -2.5;
    same_camera(&rig.camera[1], &expected);
    assert_true(calibration_baseline_m(&rig) == 2.0);

    good(calibration_euroc(&rig, one, put('i', euroc_imu)));
    expected = euroc_camera;
    memcpy(expected.R_cam_imu, (const double[]){-1, 0, 0, 0, 0, -1, 0, -1, 0}, sizeof expected.R_cam_imu);
    memcpy(expected.t_cam_imu_m, (const double[]){-0.25, 0.125, -0.5}, sizeof expected.t_cam_imu_m);
    same_camera(&rig.camera[0], &expected);
    assert_true(calibration_baseline_m(&rig) == 2.0);

    vfront_camera_t blank = {.width_px = 752, .height_px = 480};
    const char *const second[] = {NULL, one[0]};
    good(calibration_euroc(&rig, second, NULL));
    same_camera(&rig.camera[0], &blank);
    same_camera(&rig.camera[1], &euroc_camera);
    assert_true(calibration_baseline_m(&rig) == 0.0);
}

/* ---- KITTI ------------------------------------------------------------------------------------------------------- */

static const char kitti[] = "calib_time: 09-Jan-2012 13:57:47\n"
                            "P0: 512 0 320 0 0 5.0e+02 240 0 0 0 1 0\n"
                            "P1: 512 0 320 -256 0 500 240 250 0 0 1 0\n"
                            "P2: nothing that is read\n"
                            "P3: 1 2 3\n"
                            "Tr: 0 -1 0 0 0 0 -1 0 1 0 0 0\n";

static void kitti_imu_poses(void **state)
{
    (void)state;
    vfront_camera_t expected = {
        .width_px = 640, .height_px = 480, .fx_px = 512, .fy_px = 500, .cx_px = 320, .cy_px = 240};
    vfront_rig_t rig = pictures(2, 640, 480);
    good(calibration_kitti(&rig, put('a', kitti)));
    same_camera(&rig.camera[0], &expected);
    for (int i = 0; i < 9; i += 4) expected.R_cam_imu[i] = 1;
    expected.t_cam_imu_m[0] = -0.5;
    expected.t_cam_imu_m[1] = 0.5;
    same_camera(&rig.camera[1], &expected);
    assert_true(fabs(calibration_baseline_m(&rig) - sqrt(0.5)) < 1e-15);
    expected.t_cam_imu_m[2] =
        0.25; /* the fourth column is K t: 512 * -0.5 + 320 * 0.25, 500 * 0.5 + 240 * 0.25, 0.25 */
    good(calibration_read(&rig,
                          put('a', exchange(kitti, "-256 0 500 240 250 0 0 1 0", "-176 0 500 240 310 0 0 1 0.25"))));
    same_camera(&rig.camera[1], &expected);
    rig = pictures(1, 640, 480);
    good(calibration_kitti(&rig, put('a', exchange(kitti, "P1:", "Q1:"))));
}

/* ---- transforms, by points --------------------------------------------------------------------------------------- */

static uint64_t dice = 1;

/** -1..1. */
static double roll(void)
{
    dice ^= dice << 13;
    dice ^= dice >> 7;
    dice ^= dice << 17;
    return (double)(int64_t)dice / 9223372036854775808.0;
}

/** A 4x4 matrix: the rotation of a random quaternion, a random shift. */
static void random_transform(double T[16])
{
    double q[4], n = 0;
    for (int i = 0; i < 4; i++) q[i] = roll();
    for (int i = 0; i < 4; i++) n += q[i] * q[i];
    for (int i = 0; i < 4; i++) q[i] /= sqrt(n);
    const double w = q[0], x = q[1], y = q[2], z = q[3];
    const double to[16] = {1 - 2 * (y * y + z * z),
                           2 * (x * y - w * z),
                           2 * (x * z + w * y),
                           roll(),
                           2 * (x * y + w * z),
                           1 - 2 * (x * x + z * z),
                           2 * (y * z - w * x),
                           roll(),
                           2 * (x * z - w * y),
                           2 * (y * z + w * x),
                           1 - 2 * (x * x + y * y),
                           roll(),
                           0,
                           0,
                           0,
                           1};
    memcpy(T, to, sizeof to);
}

static void send(double out[3], const double T[16], const double p[3])
{
    for (int r = 0; r < 3; r++) out[r] = T[4 * r] * p[0] + T[4 * r + 1] * p[1] + T[4 * r + 2] * p[2] + T[4 * r + 3];
}

static void to_camera(double out[3], const vfront_camera_t *c, const double p[3])
{
    const double *R = c->R_cam_imu, *t = c->t_cam_imu_m;
    for (int r = 0; r < 3; r++) out[r] = R[3 * r] * p[0] + R[3 * r + 1] * p[1] + R[3 * r + 2] * p[2] + t[r];
}

static const char *print_matrix(const double T[16])
{
    static char out[4][700];
    static int turn;
    char *to = out[turn = (turn + 1) % 4];
    size_t used = (size_t)snprintf(to, sizeof out[0], "[");
    for (int i = 0; i < 16; i++)
        used += (size_t)snprintf(to + used, sizeof out[0] - used, "%s%.17g", i ? ", " : "", T[i]);
    snprintf(to + used, sizeof out[0] - used, "]");
    return to;
}

static void same_point(const double a[3], const double b[3])
{
    for (int i = 0; i < 3; i++)
        if (!(fabs(a[i] - b[i]) < 1e-14)) fail_msg("point differs: [%d] %.17g, %.17g", i, a[i], b[i]);
}

/** Consistency of extrinsics: a point p of the IMU is T_BS p on the body, by the T_BS of the IMU and by that of the
 *  camera. */
static void euroc_points(void **state)
{
    (void)state;
    needs_yaml();
    for (int i = 0; i < 50; i++) {
        double T_body_cam[16], T_body_imu[16], seen[3], p[3] = {roll(), roll(), roll()}, a[3], b[3];
        char text[4096];
        random_transform(T_body_cam);
        random_transform(T_body_imu);
        snprintf(text, sizeof text, "sensor_type: imu\nT_BS: {data: %s}\n", print_matrix(T_body_imu));
        const char *imu = put('i', text);
        snprintf(text, sizeof text, "%.*s\nT_BS: {data: %s}\n%s", (int)(strstr(euroc, "T_BS") - euroc), euroc,
                 print_matrix(T_body_cam), strstr(euroc, "rate_hz"));
        const char *const camera[] = {put('a', text)};
        vfront_rig_t rig = pictures(1, 0, 0);
        good(calibration_euroc(&rig, camera, imu));
        to_camera(seen, &rig.camera[0], p);
        send(a, T_body_cam, seen);
        send(b, T_body_imu, p);
        same_point(a, b);
    }
}

/** With and without an IMU: what camera 0 sees at p, camera 1 sees at T_cn_cnm1 p. */
static void kalibr_points(void **state)
{
    (void)state;
    needs_yaml();
    for (int i = 0; i < 50; i++) {
        double mount[16], link[16], p[3] = {roll(), roll(), roll()}, cam0[3], cam1[3], expected[3];
        char with[2][900];
        random_transform(mount);
        random_transform(link);
        snprintf(with[0], sizeof with[0], "  %s: %s\n", i % 3 == 1 ? "T_imu_cam" : "T_cam_imu", print_matrix(mount));
        snprintf(with[1], sizeof with[1], "  T_cn_cnm1: %s\n", print_matrix(link));
        vfront_rig_t rig = pictures(2, 0, 0);
        good(calibration_kalibr(
            &rig, put('a', exchange(exchange(kalibr, MOUNT0, i % 3 == 2 ? "" : with[0]), LINK1, with[1]))));
        if (i % 3 == 2)
            for (int k = 0; k < 9; k += 4) rig.camera[0].R_cam_imu[k] = 1; /* all 0 means identity */
        to_camera(cam0, &rig.camera[0], p);
        to_camera(cam1, &rig.camera[1], p);
        send(expected, link, cam0);
        same_point(cam1, expected);
        if (i % 3 == 0) send(expected, mount, p);
        if (i % 3 == 0) same_point(cam0, expected);
        if (i % 3 == 1) send(expected, mount, cam0);
        if (i % 3 == 1) same_point(p, expected);
        const double apart = sqrt(link[3] * link[3] + link[7] * link[7] + link[11] * link[11]);
        assert_true(fabs(calibration_baseline_m(&rig) - apart) < 1e-14);
    }
}

/* ---- faults ------------------------------------------------------------------------------------------------------ */

#define MOUNT1 "  T_cam_imu: [[0, 0, 1, -0.375], [0, -1, 0, 0.5625], [1, 0, 0, -0.09375], [0, 0, 0, 1]]\n"

/** The first `find` in the good text becomes `with`; the line must say `what`. */
struct fault {
    const char *good, *find, *with, *what;
};

static const struct fault yaml_fault[] = {
    {kalibr, "cam1:", "cam2:", ": no cam1; --mono takes cam0 alone"},
    {kalibr, "cam0:", "kam0:", ": no cam0"},
    {kalibr, "  camera_model: pinhole\n", "", "cam0: no camera_model"},
    {kalibr, "pinhole", "fov", "cam0: camera_model fov: "},
    {kalibr, "pinhole", "eucm", "cam0: intrinsics has 4 numbers instead of 6"},
    {kalibr, "pinhole", "[ds]", "cam0: camera_model is no word"},
    {kalibr, "  distortion_model: radtan\n", "", "cam0: no distortion_model"},
    {kalibr, "radtan", "fov", "cam0: distortion_model fov: "},
    {kalibr, "  distortion_coeffs: [0.5, 0.0625, -0.75, 8]\n", "", "cam1: no distortion_coeffs"},
    {kalibr, "[0.5, 0.0625, -0.75, 8]", "[0.5, 0.0625, -0.75, 8, 0]",
     "cam1: distortion_coeffs has 5 numbers instead of 4"},
    {kalibr, ", -2.0e-3]", "]", "cam0: distortion_coeffs has 3 numbers instead of 4"},
    {kalibr, "-2.0e-3]", "0, 0, 0]", "cam0: distortion_coeffs has 6 numbers instead of 5"},
    {kalibr, "radtan", "none", "cam0: distortion_coeffs has 4 numbers instead of 0"},
    {kalibr, "-2.0e-3]", ".nan]", "cam0: distortion_coeffs: \".nan\" is not a finite number"},
    {kalibr, "-2.0e-3]", "nan]", "cam0: distortion_coeffs: \"nan\" is not a finite number"},
    {kalibr, "-2.0e-3]", "1e999]", "cam0: distortion_coeffs: \"1e999\" is not a finite number"},
    {kalibr, "-2.0e-3]", "0.1x]", "cam0: distortion_coeffs: \"0.1x\" is not a finite number"},
    {kalibr, "-2.0e-3]", "'']", "cam0: distortion_coeffs: \"\" is not a finite number"},
    {kalibr, "-2.0e-3]", "[1]]", "cam0: distortion_coeffs: \"a list\" is not a finite number"},
    {kalibr, "  intrinsics: [300", "  intrinsic: [300", "cam1: no intrinsics"},
    {kalibr, "[400.5, 401.25, 320.5, 240.75]", "[400.5, 401.25, 320.5]", "cam0: intrinsics has 3 numbers instead of 4"},
    {kalibr, "[400.5,", "[0.9, 400.5,", "cam0: intrinsics has 5 numbers instead of 4"},
    {kalibr, "[400.5,", "[0,", "cam0: intrinsics: a focal length that is not above 0"},
    {kalibr, "301,", "-301,", "cam1: intrinsics: a focal length that is not above 0"},
    {kalibr, "[400.5, 401.25, 320.5, 240.75]", "400.5", "cam0: intrinsics is no list of numbers"},
    {kalibr, "  resolution: [640, 480]\n", "", "cam0: no resolution"},
    {kalibr, "[640, 480]", "[640]", "cam0: resolution has 1 numbers instead of 2"},
    {kalibr, "[640, 480]", "[640.5, 480]", "cam0: resolution is not two whole numbers in 1..32768"},
    {kalibr, "[640, 480]", "[640, 0]", "cam0: resolution is not two whole numbers"},
    {kalibr, "[640, 480]", "[1e12, 480]", "cam0: resolution is not two whole numbers"},
    {kalibr, "0.5]\n", "0.5, 0]\n", "cam0: T_cam_imu has 5 numbers instead of 4"},
    {kalibr, "  - [1.0, 0.0, 0.0, -0.125]\n", "", "cam0: T_cam_imu has 3 rows instead of 4"},
    {kalibr, "  - [1.0, 0.0, 0.0, -0.125]\n", "  - 1.0\n", "cam0: T_cam_imu is no list of numbers"},
    {kalibr, "-1.0, 0.0, 0.5", "-1.01, 0.0, 0.5", "cam0: T_cam_imu: its 3x3 part is not a rotation"},
    {kalibr, "-1.0, 0.0, 0.5", "1.0, 0.0, 0.5", "cam0: T_cam_imu: its 3x3 part is not a rotation"}, /* mirrored */
    {kalibr, "0.0, -1.0, 0.0, 0.5", "0.01, -1.0, 0.0, 0.5", "cam0: T_cam_imu: its 3x3 part is not a rotation"},
    {kalibr, "0.0, 0.0, 0.0, 1.0", "0.0, 0.0, 0.1, 1.0", "cam0: the last row of T_cam_imu is not 0 0 0 1"},
    {kalibr, "0.0, 0.0, 0.0, 1.0", "0.0, 0.0, 0.0, 2.0", "cam0: the last row of T_cam_imu is not 0 0 0 1"},
    {kalibr, "0.0625]\n  - [0.0", "inf]\n  - [0.0", "cam1: T_cn_cnm1: \"inf\" is not a finite number"},
    {kalibr, LINK1, "", "cam1: no T_cn_cnm1 and no T_cam_imu"},
    {kalibr, "cam_overlaps: [1]", "cam_overlaps: [1", "not YAML: "},
    {kalibr, "timeshift_cam_imu: 0.002", "\ttimeshift_cam_imu: 0.002", ":14: not YAML: "},
    {euroc, "sensor_type", "sensor:\n - [1\nsensor_type", ":5: not YAML: "}, /* lines are counted from the %YAML on */
    {euroc, "T_BS:", "T_SB:", ": no T_BS"},
    {euroc, "0.0, 0.0, 0.0, 1.0]", "0.0, 0.0, 0.0]", "T_BS has 15 numbers instead of 16"},
    {euroc, "0.0, 0.0, 0.0, 1.0]", "0.0, 0.0, 0.0, 1.0, 0]", "T_BS has 17 numbers instead of 16"},
    {euroc, "  data: [", "  date: [", "T_BS is no list of numbers"},
    {euroc, "-1.0, 0.0, 0.0, 0.25", "-0.9, 0.0, 0.0, 0.25", "T_BS: its 3x3 part is not a rotation"},
    {euroc, "0.25,\n", ".inf,\n", "T_BS: \".inf\" is not a finite number"},
    {euroc, "distortion_coefficients", "distortion_coeffs", ": no distortion_coefficients"},
    {euroc, "radial-tangential", "omnidirectional", "distortion_model omnidirectional: "},
    {euroc, "pinhole", "fov", "camera_model fov: "},
    {euroc, "intrinsics", "extrinsics", ": no intrinsics"},
    {euroc, "resolution", "size", ": no resolution"},
    {"x", "x", "",
     ": neither a Kalibr camchain nor a EuRoC sensor.yaml, ROS camera_info, OpenCV file, VINS settings, Basalt "
     "calibration or KITTI calib.txt"},
    {"x", "x", "some words", ": neither a Kalibr"},
    {"x", "x", "K1: 533 0 342 0 533 234 0 0 1\n", ": neither a Kalibr"},
    {"x", "x", "P5\n12 12\n255\n\x01\x02\x03", ": not YAML: "},
};

static const struct fault kitti_fault[] = {
    {kitti, "P0:", "Q0:", ": no line P0"},
    {kitti, "P1:", "Q1:", ": no line P1; --mono takes camera 0 alone"},
    {kitti, "P2:", "P1:", ":4: P1 for a second time"},
    {kitti, "240 0 0 0 1 0\n", "240 0 0 0 1\n", ":2: P0 has 11 numbers instead of 12"},
    {kitti, "240 250 0 0 1 0\n", "240 250 0 0 1 0 0\n", ":3: P1 has more than 12 numbers"},
    {kitti, "-256", "-2S6", ":3: P1 has 4 numbers instead of 12"},
    {kitti, "-256", "nan", ":3: P1: a number that is not finite"},
    {kitti, "-256", "-1e999", ":3: P1: a number that is not finite"},
    {kitti, "P0: 512", "P0: 0", ":2: P0 is not K [I | t] of a rectified camera"},
    {kitti, "P0: 512", "P0: -512", ":2: P0 is not K [I | t]"},
    {kitti, "P1: 512 0", "P1: 512 3", ":3: P1 is not K [I | t]"},
    {kitti, "240 250 0 0 1 0\n", "240 250 0 0.1 1 0\n", ":3: P1 is not K [I | t]"},
    {kitti, "240 250 0 0 1 0\n", "240 250 0 0 2 0\n", ":3: P1 is not K [I | t]"},
    {kitti, "320 0 0 5.0e", "320 4 0 5.0e", ":2: P0: camera 0 is not at the origin"},
    {"x", "x", "P0: \n", ":1: P0 has 0 numbers instead of 12"},
};

/** Every fault by the reader that finds the kind out; the rig stays as it was. */
static void one_fault(const struct fault *f)
{
    const vfront_rig_t before = pictures(2, 0, 0);
    vfront_rig_t rig = before;
    const char *path = put('a', exchange(f->good, f->find, f->with));
    reports(calibration_read(&rig, path), path, f->what);
    assert_memory_equal(&rig, &before, sizeof rig);
}

static void yaml_faults(void **state)
{
    (void)state;
    needs_yaml();
    for (size_t i = 0; i < COUNT(yaml_fault); i++) one_fault(&yaml_fault[i]);
}

static void kitti_faults(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(kitti_fault); i++) one_fault(&kitti_fault[i]);
}

/** A camera that is in two places, or mounted on an IMU that the one before does not know. */
static void chain_faults(void **state)
{
    (void)state;
    needs_yaml();
    const struct fault fault[] = {
        {exchange(kalibr, LINK1, LINK1 MOUNT1), "-0.375", "-0.475",
         "cam1: T_cn_cnm1 and T_cam_imu contradict each other"},
        {exchange(kalibr, LINK1, LINK1 MOUNT1), "[0, 0, 1, -0.375], [0, -1, 0,", "[0, 0, -1, -0.375], [0, 1, 0,",
         "cam1: T_cn_cnm1 and T_cam_imu contradict each other"},
    };
    for (size_t i = 0; i < COUNT(fault); i++) one_fault(&fault[i]);
    const char *unknown = exchange(exchange(kalibr, LINK1, LINK1 MOUNT1), MOUNT0, "");
    one_fault(&(struct fault){unknown, "cam0:", "cam0:", "cam1: has T_cam_imu, but cam0 has none"});
    const char *apart = exchange(exchange(kalibr, LINK1, ""), MOUNT0, "");
    one_fault(&(struct fault){apart, "cam0:", "cam0:", "cam1: no T_cn_cnm1"});
}

static void other_size(void **state)
{
    (void)state;
    needs_yaml();
    vfront_rig_t rig = pictures(2, 640, 480);
    const char *path = put('a', kalibr);
    reports(calibration_kalibr(&rig, path), path, "cam1: resolution 600x400, but the pictures are 640x480");
    path = put('a', euroc);
    reports(calibration_read(&rig, path), path, ": resolution 752x480, but the pictures are 640x480");
    rig = pictures(1, 752, 481);
    reports(calibration_read(&rig, path), path, ": resolution 752x480, but the pictures are 752x481");
}

/** Files that are not there, and lists of files. */
static void lists(void **state)
{
    (void)state;
    vfront_rig_t rig = pictures(2, 0, 0);
    char list[400], long_name[5000];
    reports(calibration_read(&rig, "nosuch.yaml"), "nosuch.yaml", ": No such file or directory");
    reports(calibration_kalibr(&rig, folder), folder, calibration_reads_yaml() ? ": Is a directory" : "libyaml");
    reports(calibration_kitti(&rig, folder), folder, ": Is a directory");
    memset(long_name, 'x', sizeof long_name);
    long_name[sizeof long_name - 1] = 0;
    reports(calibration_read(&rig, long_name), "xxx", ": name too long");
    snprintf(list, sizeof list, ",%s", put('a', kitti));
    reports(calibration_read(&rig, list), list, ": an empty name");
    needs_yaml();
    snprintf(list, sizeof list, "%s,%s", put('b', euroc), put('a', kitti));
    reports(calibration_read(&rig, list), put('a', kitti), ": only files sensor.yaml are given together");
    snprintf(list, sizeof list, "%s,%s", put('b', euroc), put('a', kalibr));
    reports(calibration_read(&rig, list), put('a', kalibr), ": only files sensor.yaml are given together");
    snprintf(list, sizeof list, "%s,%s,%s", put('i', euroc_imu), put('a', euroc), put('u', euroc_imu));
    reports(calibration_read(&rig, list), put('u', euroc_imu), ": a second sensor.yaml of an IMU");
    reports(calibration_read(&rig, put('i', euroc_imu)), put('i', euroc_imu), ": no sensor.yaml of a camera");

    const char *const camera[] = {put('a', euroc), put('b', exchange(euroc, "1.0, 0.5,", "1.0, 2.5,"))};
    vfront_rig_t expected = pictures(2, 752, 480);
    good(calibration_euroc(&expected, camera, put('i', euroc_imu)));
    rig = pictures(2, 752, 480);
    snprintf(list, sizeof list, "%s,%s,%s", camera[0], put('i', euroc_imu), camera[1]);
    good(calibration_read(&rig, list));
    for (int i = 0; i < 2; i++) same_camera(&rig.camera[i], &expected.camera[i]);
    rig = pictures(2, 752, 480);
    good(calibration_read(&rig, camera[0]));
    same_camera(&rig.camera[0], &euroc_camera);
    same_camera(&rig.camera[1], &(vfront_camera_t){.width_px = 752, .height_px = 480});
}

static void no_calibration(void **state)
{
    (void)state;
    vfront_rig_t rig = pictures(2, 752, 480);
    good(calibration_read(&rig, "none"));
    for (int i = 0; i < 2; i++) same_camera(&rig.camera[i], &(vfront_camera_t){.width_px = 752, .height_px = 480});
}

/** A file cut off anywhere, or with any byte changed, is read or refused by one line that names it. */
static void damaged_files(void **state)
{
    (void)state;
    const char *const whole[] = {kalibr, euroc, euroc_imu, kitti};
    for (size_t k = 0; k < COUNT(whole); k++) {
        const size_t length = strlen(whole[k]);
        for (size_t cut = 0; cut < 2 * length; cut++) {
            char text[4096];
            const vfront_rig_t before = pictures(2, 0, 0);
            vfront_rig_t rig = before;
            memcpy(text, whole[k], length);
            if (cut >= length) text[cut - length] = (char)(dice = dice * 6364136223846793005u + 1, dice >> 56);
            const char *path = put_bytes('a', text, cut < length ? cut : length), *wrong = calibration_read(&rig, path);
            if (!wrong) continue;
            reports(wrong, path, "");
            assert_memory_equal(&rig, &before, sizeof rig);
        }
    }
}

/* ---- real files -------------------------------------------------------------------------------------------------- */

static const char *real_file(const char *name)
{
    static char path[3][600];
    static int turn;
    char *to = path[turn = (turn + 1) % 3];
    const char *data = getenv("VFRONT_DATA");
    snprintf(to, sizeof path[0], "%s/%s", data ? data : "../shared/data", name);
    if (access(to, F_OK) == 0) return to;
    printf("skipped: no %s (set VFRONT_DATA)\n", to);
    skip();
    return NULL;
}

static void real_euroc(void **state)
{
    (void)state;
    needs_yaml();
    const char *const camera[] = {real_file("euroc_v101_static_a/mav0/cam0/sensor.yaml"),
                                  real_file("euroc_v101_static_a/mav0/cam1/sensor.yaml")};
    vfront_rig_t rig = pictures(2, 752, 480);
    good(calibration_euroc(&rig, camera, real_file("euroc_v101_static_a/mav0/imu0/sensor.yaml")));
    same_numbers(rig.camera[0].distortion,
                 (const double[]){-0.28340811, 0.07395907, 0.00019359, 1.76187114e-05, 0, 0, 0, 0}, 8, "distortion");
    assert_true(rig.camera[1].fx_px == 457.587 && rig.camera[1].cy_px == 255.238);
    assert_true(fabs(calibration_baseline_m(&rig) - 0.11008) < 1e-4);
    assert_true(fabs(rig.camera[0].R_cam_imu[3] - -0.999880929698) <
                1e-15); /* row 1, column 0: of T_BS row 0, column 1 */
}

/** camera_info of ROS with a rotation, and a place on the x or y axis of the rectified cameras. */
static const char *put_info(char name, const double T[16], double x, double y)
{
    char text[2048];
    snprintf(text, sizeof text,
             "image_width: 160\nimage_height: 120\ncamera_matrix: {data: [100, 0, 80, 0, 101, 60, 0, 0, 1]}\n"
             "distortion_model: plumb_bob\ndistortion_coefficients: {data: [0.1, 0.02, 0.003, 0.004, 0.005]}\n"
             "rectification_matrix: {data: [%.17g, %.17g, %.17g, %.17g, %.17g, %.17g, %.17g, %.17g, %.17g]}\n"
             "projection_matrix: {data: [110, 0, 80, %.17g, 0, 111, 60, %.17g, 0, 0, 1, 0]}\n",
             T[0], T[1], T[2], T[4], T[5], T[6], T[8], T[9], T[10], -110 * x, -111 * y);
    return put(name, text);
}

/** A point of camera 0 is, rectified, where that of camera 1 is, but for the place of camera 1: side by side and one
 *  above the other. The lens is that of the file. */
static void ros_points(void **state)
{
    static const double lens[8] = {0.1, 0.02, 0.003, 0.004, 0.005};
    (void)state;
    needs_yaml();
    for (int i = 0; i < 50; i++) {
        double T[2][16], p[3] = {roll(), roll(), roll()}, seen[3], a[3], b[3];
        char files[200];
        for (int k = 0; k < 2; k++) {
            random_transform(T[k]);
            T[k][3] = T[k][7] = T[k][11] = 0;
        }
        const double x = i % 2 ? 0.12 : 0.0, y = i % 2 ? 0.0 : 0.15;
        snprintf(files, sizeof files, "%s,", put_info('a', T[0], 0, 0));
        strcat(files, put_info('b', T[1], x, y));
        vfront_rig_t rig = pictures(2, 160, 120);
        good(calibration_read(&rig, files));
        to_camera(seen, &rig.camera[1], p);
        send(a, T[0], p);
        send(b, T[1], seen);
        b[0] += x;
        b[1] += y;
        same_point(a, b);
        assert_true(rig.camera[1].fy_px == 101.0 && rig.camera[1].cx_px == 80.0);
        same_numbers(rig.camera[1].distortion, lens, 8, "distortion");
    }
}

static void opencv_files(void **state)
{
    static const double R[9] = {0.8, 0, 0.6, 0, 1, 0, -0.6, 0, 0.8}, t[3] = {-0.12, 0.01, 0.02};
    char files[200];
    (void)state;
    needs_yaml();
    snprintf(files, sizeof files, "%s,",
             put('a',
                 "%YAML:1.0\n---\nM1: !!opencv-matrix\n   rows: 3\n   cols: 3\n   dt: d\n   data: [ 100., 0., 80., "
                 "0., 101., 60., 0., 0., 1. ]\nD1: [0.1, 0, 0, 0, 0, 0.01, 0, 0]\nM2: [90, 0, 81, 0, 91, 61, 0, 0, "
                 "1]\nD2: [0.2, 0, 0, 0]\n"));
    strcat(files, put('b', "R: [0.8, 0, 0.6, 0, 1, 0, -0.6, 0, 0.8]\nT: [-0.12, 0.01, 0.02]\n"));
    vfront_rig_t rig = pictures(2, 160, 120);
    good(calibration_read(&rig, files));
    assert_true(rig.camera[0].lens == VFRONT_LENS_RATIONAL && rig.camera[0].distortion[5] == 0.01);
    assert_true(rig.camera[1].lens == VFRONT_LENS_RADTAN && rig.camera[1].distortion[0] == 0.2);
    assert_true(rig.camera[0].fy_px == 101.0 && rig.camera[1].fx_px == 90.0 && rig.camera[1].cy_px == 61.0);
    same_numbers(rig.camera[1].R_cam_imu, R, 9, "R");
    same_numbers(rig.camera[1].t_cam_imu_m, t, 3, "t");
}

static void real_kitti(void **state)
{
    (void)state;
    vfront_rig_t rig = pictures(2, 1241, 376);
    good(calibration_kitti(&rig, real_file("kitti01_stereo/calib.txt")));
    assert_true(rig.camera[1].fx_px == 718.856 && rig.camera[0].cx_px == 607.1928);
    assert_true(fabs(calibration_baseline_m(&rig) - 0.5372) < 1e-4);
    assert_true(rig.camera[1].t_cam_imu_m[0] < 0.0); /* the IMU's place is left of camera 1 */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kalibr_with_imu),
        cmocka_unit_test(kalibr_without_imu),
        cmocka_unit_test(kalibr_same_otherwise),
        cmocka_unit_test(kalibr_points),
        cmocka_unit_test(lens_variants),
        cmocka_unit_test(euroc_imu_poses),
        cmocka_unit_test(euroc_points),
        cmocka_unit_test(kitti_imu_poses),
        cmocka_unit_test(ros_points),
        cmocka_unit_test(opencv_files),
        cmocka_unit_test(yaml_faults),
        cmocka_unit_test(chain_faults),
        cmocka_unit_test(kitti_faults),
        cmocka_unit_test(other_size),
        cmocka_unit_test(lists),
        cmocka_unit_test(damaged_files),
        cmocka_unit_test(real_euroc),
        cmocka_unit_test(real_kitti),
        cmocka_unit_test(no_calibration),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
