/* SPDX-License-Identifier: MIT
 *
 * Parts of sitl-vehicle: servo outputs and answers of the JSON interface, thrust of the rotors, a link with a latency.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "examples/hil/delay_line.h"
#include "examples/hil/json_physics.h"
#include "tests/fixture/random.h"

/** Datagram of the documented form. */
static size_t outputs(uint8_t to[40], uint16_t magic, uint16_t rate_hz, uint32_t count)
{
    memset(to, 0, 40);
    to[0] = (uint8_t)magic;
    to[1] = (uint8_t)(magic >> 8);
    to[2] = (uint8_t)rate_hz;
    to[3] = (uint8_t)(rate_hz >> 8);
    for (int i = 0; i < 4; i++) to[4 + i] = (uint8_t)(count >> 8 * i);
    for (int i = 0; i < 16; i++) {
        const uint16_t us = (uint16_t)(1000 + 10 * i);
        to[8 + 2 * i] = (uint8_t)us;
        to[9 + 2 * i] = (uint8_t)(us >> 8);
    }
    return 40;
}

static void takes_servo_outputs(void **state)
{
    json_physics_t j;
    uint8_t datagram[41] = {0};
    uint32_t count = 0;
    (void)state;
    memset(&j, 0, sizeof j);
    const size_t bytes = outputs(datagram, 18458, 1000, 0x01020304);
    assert_true(json_physics_parse(&j, datagram, bytes, &count));
    assert_int_equal(count, 0x01020304);
    assert_int_equal(j.rate_hz, 1000);
    for (int i = 0; i < 16; i++) assert_int_equal(j.pwm_us[i], 1000 + 10 * i);
    assert_false(json_physics_parse(&j, datagram, bytes - 1, &count));
    assert_false(json_physics_parse(&j, datagram, bytes + 1, &count));
    outputs(datagram, 29569, 1000, 5);
    assert_false(json_physics_parse(&j, datagram, bytes, &count));
    assert_int_equal(count, 0x01020304);
}

/** Numbers behind a name, in order. */
static void numbers(const char *line, const char *name, int n, double out[4])
{
    const char *at = strstr(line, name);
    assert_non_null(at);
    at += strlen(name);
    for (int i = 0; i < n; i++) {
        char *end;
        at += strspn(at, ":[,\"");
        out[i] = strtod(at, &end);
        assert_true(end != at);
        at = end;
    }
}

/** Forward, left, up becomes forward, right, down; x is north, y is west. */
static void answers_in_its_axes(void **state)
{
    static airframe_t a;
    char line[JSON_PHYSICS_LINE];
    double n[4];
    const double c = cos(0.5), s = sin(0.5), left[9] = {c, -s, 0, s, c, 0, 0, 0, 1}; /* turned to the left by 0.5 rad */
    const vfront_imu_t imu = {.gyro_rad_s = {0.1, 0.2, 0.3}, .accel_m_s2 = {1.0, 2.0, 9.81}};
    (void)state;
    memset(&a, 0, sizeof a);
    memcpy(a.R_world_body, left, sizeof left);
    a.p_m[0] = 3.0, a.p_m[1] = 4.0, a.p_m[2] = AIRFRAME_LEGS_M + 1.5;
    a.v_mps[0] = 0.3, a.v_mps[1] = 0.4, a.v_mps[2] = 0.5;
    const int bytes = json_physics_write(line, 12345678000u, &imu, &a);
    assert_true(bytes > 0 && bytes < JSON_PHYSICS_LINE && line[0] == '\n' && line[bytes - 1] == '\n');
    numbers(line, "timestamp\"", 1, n);
    assert_true(fabs(n[0] - 12.345678) < 1e-9);
    numbers(line, "gyro\"", 3, n);
    assert_true(fabs(n[0] - 0.1) < 1e-6 && fabs(n[1] + 0.2) < 1e-6 && fabs(n[2] + 0.3) < 1e-6);
    numbers(line, "accel_body\"", 3, n);
    assert_true(fabs(n[0] - 1.0) < 1e-6 && fabs(n[1] + 2.0) < 1e-6 && fabs(n[2] + 9.81) < 1e-6);
    numbers(line, "position\"", 3, n);
    assert_true(fabs(n[0] - 3.0) < 1e-6 && fabs(n[1] + 4.0) < 1e-6 && fabs(n[2] + 1.5) < 1e-6);
    numbers(line, "velocity\"", 3, n);
    assert_true(fabs(n[0] - 0.3) < 1e-6 && fabs(n[1] + 0.4) < 1e-6 && fabs(n[2] + 0.5) < 1e-6);
    numbers(line, "quaternion\"", 4, n); /* w first; to the left is below 0 */
    assert_true(fabs(n[0] - cos(0.25)) < 1e-6 && fabs(n[1]) < 1e-6 && fabs(n[2]) < 1e-6 &&
                fabs(n[3] + sin(0.25)) < 1e-6);
}

/** Outputs of a quadrotor X: 1 front right, 2 rear left, 3 front left, 4 rear right. */
static void turns_as_its_outputs(void **state)
{
    static airframe_t a;
    double thrust_n[4];
    uint16_t us[JSON_PHYSICS_OUTPUTS] = {1000, 2000, 900, 2100};
    (void)state;
    json_physics_thrust(us, thrust_n);
    assert_true(thrust_n[1] == 0.0 && thrust_n[0] == 0.0); /* front right, front left */
    assert_true(fabs(thrust_n[2] - AIRFRAME_ROTOR_MAX_N) < 1e-9 && fabs(thrust_n[3] - AIRFRAME_ROTOR_MAX_N) < 1e-9);
    us[0] = us[1] = 1600; /* the two that turn to the left push the nose to the right */
    us[2] = us[3] = 1500;
    json_physics_thrust(us, thrust_n);
    assert_true(fabs(thrust_n[0] - 8.0 * (0.35 * 0.5 + 0.65 * 0.25)) < 1e-9);
    airframe_begin(&a, 0, 0, 1);
    a.p_m[2] = 50.0;
    for (int i = 0; i < 200; i++) airframe_step(&a, thrust_n);
    assert_true(a.rate_rad_s[2] < -0.05);
}

static void arrives_later(void **state)
{
    static delay_line_t line;
    static uint8_t content[3000];
    size_t bytes, got = 0;
    const uint8_t *from;
    (void)state;
    memset(&line, 0, sizeof line);
    line.latency_ns = 20;
    for (size_t i = 0; i < sizeof content; i++) content[i] = (uint8_t)(i * 7);
    delay_line_put(&line, 100, content, sizeof content);
    assert_null(delay_line_take(&line, 119, &bytes));
    while ((from = delay_line_take(&line, 120, &bytes)) != NULL) {
        assert_memory_equal(from, content + got, bytes);
        got += bytes;
    }
    assert_int_equal(got, sizeof content);
    for (uint32_t i = 0; i < DELAY_LINE_BLOCKS; i++) delay_line_put(&line, i, content, 1);
    assert_int_equal(line.lost, 0);
    delay_line_put(&line, 5000, content, 3);
    assert_int_equal(line.lost, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_servo_outputs),
        cmocka_unit_test(answers_in_its_axes),
        cmocka_unit_test(turns_as_its_outputs),
        cmocka_unit_test(arrives_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
