/* SPDX-License-Identifier: MIT */
/* Pictures that replay rectifies to be looked at (examples/replay/rectified.h). Two cameras look at a pattern in the
 * sky,
 * each through its lens and from its own attitude; what comes out must be the pattern as the pinholes see it. The
 * raw pictures are drawn with the inverse of what is tested: the bearing of each pixel. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "examples/replay/rectified.h"

#define WIDTH 256
#define HEIGHT 192
#define PITCH (WIDTH + 24)

/** Grey level of a direction in axes of the IMU: changes by less than 2 from pixel to pixel, so that blending four
 *  is good to 0.1. */
static double sky(const double v[3])
{
    const double length = sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);
    return 128.0 + 60.0 * sin(6.0 * v[0] / length + 1.0) * cos(5.0 * v[1] / length);
}

static double sky_of(const vfront_camera_t *c, const double ray[3])
{
    double v[3];
    for (int k = 0; k < 3; k++)
        v[k] = c->R_cam_imu[k] * ray[0] + c->R_cam_imu[3 + k] * ray[1] + c->R_cam_imu[6 + k] * ray[2];
    return sky(v);
}

/** Turned about x, then about y. */
static void turn(double R[9], double x_rad, double y_rad)
{
    const double cx = cos(x_rad), sx = sin(x_rad), cy = cos(y_rad), sy = sin(y_rad);
    const double out[9] = {cy, sx * sy, cx * sy, 0, cx, -sx, -sy, sx * cy, cx * cy};
    memcpy(R, out, sizeof out);
}

static vfront_camera_t pinhole(int32_t width, int32_t height, double focal_px)
{
    vfront_camera_t c = {.width_px = width, .height_px = height, .fx_px = focal_px, .fy_px = focal_px};
    c.cx_px = 0.5 * (width - 1);
    c.cy_px = 0.5 * (height - 1);
    turn(c.R_cam_imu, 0.0, 0.0);
    return c;
}

static uint8_t raw[2][HEIGHT][PITCH];
static uint16_t wide[HEIGHT][PITCH];

/** Black where the lens has no bearing. */
static void draw(const vfront_camera_t *c, uint8_t (*to)[PITCH])
{
    for (int y = 0; y < c->height_px; y++)
        for (int x = 0; x < c->width_px; x++) {
            const double px[2] = {x, y};
            double ray[3];
            to[y][x] = vfront_lens_bearing(c, px, ray) ? (uint8_t)(sky_of(c, ray) + 0.5) : 0;
        }
}

static vfront_picture_t picture(const vfront_camera_t *c, const void *data, uint32_t pitch_bytes)
{
    return (vfront_picture_t){
        .data = data, .width_px = c->width_px, .height_px = c->height_px, .pitch_bytes = pitch_bytes};
}

#if VFRONT_CAMERAS > 1
/** Returns how many pixels of a rectified picture show something; those must show the sky. */
static int check_picture(const vfront_picture_t *p, const vfront_camera_t *seen)
{
    int lit = 0, wrong = 0;
    assert_int_equal(p->width_px, seen->width_px);
    assert_int_equal(p->height_px, seen->height_px);
    assert_int_equal(p->format, VFRONT_GREY8);
    for (int y = 0; y < p->height_px; y++)
        for (int x = 0; x < p->width_px; x++) {
            const int grey = ((const uint8_t *)p->data)[(size_t)y * p->pitch_bytes + (size_t)x];
            const double ray[3] = {(x - seen->cx_px) / seen->fx_px, (y - seen->cy_px) / seen->fy_px, 1.0};
            lit += grey != 0;
            wrong += grey != 0 && fabs(grey - sky_of(seen, ray)) > 1.1; /* rounded twice, and blended */
        }
    assert_int_equal(wrong, 0);
    return lit;
}

/** Two lenses, two sizes, two attitudes. */
static void test_two_cameras(void **state)
{
    (void)state;
    vfront_rig_t rig = {.cameras = 2, .camera = {pinhole(WIDTH, HEIGHT, 160.0), pinhole(200, 150, 120.0)}};
    vfront_camera_t seen[2] = {pinhole(240, 180, 150.0), pinhole(240, 180, 150.0)};
    const double radtan[4] = {-0.28, 0.07, 0.0002, -0.0003}, fisheye[4] = {-0.01, 0.02, -0.01, 0.002};
    memcpy(rig.camera[0].distortion, radtan, sizeof radtan);
    rig.camera[1].lens = VFRONT_LENS_EQUIDISTANT;
    memcpy(rig.camera[1].distortion, fisheye, sizeof fisheye);
    turn(rig.camera[0].R_cam_imu, 0.03, -0.05);
    turn(rig.camera[1].R_cam_imu, -0.04, 0.06);
    turn(seen[0].R_cam_imu, 0.01, 0.02);
    turn(seen[1].R_cam_imu, 0.01, 0.02);
    rectified_t *r = rectified_open(&rig, seen);
    assert_non_null(r);
    vfront_frame_t frame = {.t_ns = 7, .exposure_ns = 5};
    for (int i = 0; i < 2; i++) {
        draw(&rig.camera[i], raw[i]);
        frame.picture[i] = picture(&rig.camera[i], raw[i], PITCH);
    }
    const vfront_frame_t *out = rectified_frame(r, &frame);
    assert_int_equal(out->t_ns, 7);
    assert_int_equal(out->exposure_ns, 5);
    for (int i = 0; i < 2; i++) {
        const int lit = check_picture(&out->picture[i], &seen[i]), all = seen[i].width_px * seen[i].height_px;
        assert_in_range(lit, all * 8 / 10, all);
    }
    rectified_close(r);
}
#endif

/** A camera that is the pinhole already, but for its middle: the picture moves, and what comes in from its border is
 *  black. */
static void test_moved(void **state)
{
    (void)state;
    vfront_rig_t rig = {.cameras = 1, .camera = {pinhole(WIDTH, HEIGHT, 160.0)}};
    vfront_camera_t seen[VFRONT_CAMERAS] = {rig.camera[0]};
    memset(rig.camera[0].R_cam_imu, 0, sizeof rig.camera[0].R_cam_imu); /* identity */
    seen[0].cx_px += 10.0;
    seen[0].cy_px -= 3.0;
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < PITCH; x++)
            wide[y][x] = (uint16_t)((raw[0][y][x] = (uint8_t)(1 + (7 * x + 13 * y) % 255)) << 8 | 255);
    rectified_t *r = rectified_open(&rig, seen);
    assert_non_null(r);
    for (int bytes = 1; bytes <= 2; bytes++) {
        vfront_frame_t frame = {.t_ns = 1};
        frame.picture[0] = picture(&rig.camera[0], bytes == 1 ? (void *)raw[0] : (void *)wide,
                                   (uint32_t)(PITCH * bytes));
        frame.picture[0].format = bytes == 1 ? VFRONT_GREY8 : VFRONT_GREY16;
        const uint8_t *grey = rectified_frame(r, &frame)->picture[0].data;
        int wrong = 0;
        for (int y = 0; y < HEIGHT; y++)
            for (int x = 0; x < WIDTH; x++)
                wrong += grey[y * WIDTH + x] != (x >= 10 && y < HEIGHT - 3 ? raw[0][y + 3][x - 10] : 0);
        assert_int_equal(wrong, 0);
    }
    rectified_close(r);
    rectified_close(NULL);
}

/** A pixel is as large as its neighbours are apart, so a picture ends half a pixel beyond its outermost centres. */
static void test_border(void **state)
{
    (void)state;
    static const double shift_px[] = {0.0, 0.25, 0.75, -0.25, -0.75};
    static const int dark[] = {0, 0, HEIGHT, 0, HEIGHT};
    vfront_rig_t rig = {.cameras = 1, .camera = {pinhole(WIDTH, HEIGHT, 160.0)}};
    memset(raw[0], 200, sizeof raw[0]);
    for (int i = 0; i < 5; i++) {
        vfront_camera_t seen[VFRONT_CAMERAS] = {rig.camera[0]};
        seen[0].cx_px += shift_px[i];
        rectified_t *r = rectified_open(&rig, seen);
        assert_non_null(r);
        vfront_frame_t frame = {.t_ns = 1};
        frame.picture[0] = picture(&rig.camera[0], raw[0], PITCH);
        const uint8_t *grey = rectified_frame(r, &frame)->picture[0].data;
        int black = 0, other = 0;
        for (int k = 0; k < WIDTH * HEIGHT; k++) {
            black += grey[k] == 0;
            other += grey[k] != 0 && grey[k] != 200;
        }
        assert_int_equal(black, dark[i]);
        assert_int_equal(other, 0);
        rectified_close(r);
    }
}

/** Nothing is known of the camera: its picture stays. */
static void test_not_calibrated(void **state)
{
    (void)state;
    vfront_rig_t rig = {.cameras = 1, .camera = {{.width_px = WIDTH, .height_px = HEIGHT}}};
    rectified_t *r = rectified_open(&rig, rig.camera);
    assert_non_null(r);
    for (int y = 0; y < HEIGHT; y++)
        for (int x = 0; x < PITCH; x++) raw[0][y][x] = (uint8_t)(x ^ y);
    vfront_frame_t frame = {.t_ns = 1};
    frame.picture[0] = picture(&rig.camera[0], raw[0], PITCH);
    const uint8_t *grey = rectified_frame(r, &frame)->picture[0].data;
    for (int y = 0; y < HEIGHT; y++) assert_memory_equal(grey + y * WIDTH, raw[0][y], WIDTH);
    rectified_close(r);
}

/** Far more is asked than a lens sees: what it does not hold for is black. */
static void test_wide(void **state)
{
    (void)state;
    vfront_rig_t rig = {.cameras = 1, .camera = {pinhole(WIDTH, HEIGHT, 160.0)}};
    vfront_camera_t seen[VFRONT_CAMERAS] = {pinhole(WIDTH, HEIGHT, 16.0)};
    rig.camera[0].distortion[0] = -0.3;
    rectified_t *r = rectified_open(&rig, seen);
    assert_non_null(r);
    draw(&rig.camera[0], raw[0]);
    vfront_frame_t frame = {.t_ns = 1};
    frame.picture[0] = picture(&rig.camera[0], raw[0], PITCH);
    const vfront_picture_t *p = &rectified_frame(r, &frame)->picture[0];
    int lit = 0;
    for (int k = 0; k < WIDTH * HEIGHT; k++) lit += ((const uint8_t *)p->data)[k] != 0;
    assert_in_range(lit, 100, 2000);
    assert_int_equal(((const uint8_t *)p->data)[0], 0);
    assert_true(((const uint8_t *)p->data)[HEIGHT / 2 * WIDTH + WIDTH / 2] > 0);
    rectified_close(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#if VFRONT_CAMERAS > 1
        cmocka_unit_test(test_two_cameras),
#endif
        cmocka_unit_test(test_moved),
        cmocka_unit_test(test_border),
        cmocka_unit_test(test_not_calibrated),
        cmocka_unit_test(test_wide),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
