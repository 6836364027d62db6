/* SPDX-License-Identifier: MIT
 *
 * ODOMETRY as PX4's VehicleOdometry, and what --link dds refuses (examples/companion/uxrce.h). What goes over DDS:
 * tests/companion/dds.py.
 */
#include <string.h>

#include "examples/companion/uxrce.h"
#include "tests/fixture/random.h"

enum { LOCAL_NED = 1, LOCAL_FRD = 20 };

static mavlink_message_t odometry(uint8_t frame)
{
    mavlink_message_t m;
    memset(&m, 0, sizeof m);
    m.id = MAVLINK_ODOMETRY;
    m.as.odometry.time_usec[0] = 5000000;
    m.as.odometry.frame_id[0] = frame;
    m.as.odometry.x[0] = 1.0f;
    m.as.odometry.y[0] = 2.0f;
    m.as.odometry.z[0] = 3.0f;
    m.as.odometry.vx[0] = 4.0f;
    m.as.odometry.vy[0] = 5.0f;
    m.as.odometry.vz[0] = 6.0f;
    m.as.odometry.rollspeed[0] = 7.0f;
    m.as.odometry.pitchspeed[0] = 8.0f;
    m.as.odometry.yawspeed[0] = 9.0f;
    for (int i = 0; i < 4; i++) m.as.odometry.q[i] = 10.0f + (float)i;
    for (int i = 0; i < 21; i++) {
        m.as.odometry.pose_covariance[i] = 100.0f + (float)i;
        m.as.odometry.velocity_covariance[i] = 200.0f + (float)i;
    }
    m.as.odometry.reset_counter[0] = 255;
    m.as.odometry.quality[0] = -1;
    return m;
}

static void assert_3(const float v[3], float a, float b, float c) { assert_true(v[0] == a && v[1] == b && v[2] == c); }

/** Every field, in its place; a clock that is behind, too. */
static void test_fields(void **state)
{
    (void)state;
    const mavlink_message_t m = odometry(LOCAL_FRD);
    uxrce_odometry_t o;
    uxrce_convert(&o, &m, 8000000, -2000000);
    assert_int_equal(o.timestamp, 8000000);
    assert_int_equal(o.timestamp_sample, 3000000);
    assert_int_equal(o.pose_frame, 2);
    assert_int_equal(o.velocity_frame, 3);
    assert_3(o.position, 1.0f, 2.0f, 3.0f);
    assert_3(o.velocity, 4.0f, 5.0f, 6.0f);
    assert_3(o.angular_velocity, 7.0f, 8.0f, 9.0f);
    assert_memory_equal(o.q, m.as.odometry.q, sizeof o.q);
    assert_3(o.position_variance, 100.0f, 106.0f, 111.0f);
    assert_3(o.orientation_variance, 115.0f, 118.0f, 120.0f);
    assert_3(o.velocity_variance, 200.0f, 206.0f, 211.0f);
    assert_int_equal(o.reset_counter, 255);
    assert_int_equal(o.quality, -1);
}

/** Of --north. */
static void test_north(void **state)
{
    (void)state;
    const mavlink_message_t m = odometry(LOCAL_NED);
    uxrce_odometry_t o;
    uxrce_convert(&o, &m, 0, 0);
    assert_int_equal(o.pose_frame, 1);
}

static void test_refusals(void **state)
{
    static const char *const wrong[] = {
        "dds:", "dds:x", "dds:-1", "dds: 1", "dds:233", "dds:1:2", "dds:99999999999999999999"};
    uxrce_t u;
    link_t l;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_true(uxrce_is(wrong[i]));
        const char *fault = uxrce_open(&u, &l, wrong[i]);
        assert_non_null(fault);
        assert_non_null(strstr(fault, "not dds:DOMAIN, 0..232"));
        assert_int_equal(l.kind, LINK_NONE);
    }
    assert_false(uxrce_is("dds"));
    assert_false(uxrce_is("udp:127.0.0.1:9"));
    memset(&u, 0, sizeof u);
    assert_false(uxrce_has_reader(&u));
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_fields), cmocka_unit_test(test_north),
                                       cmocka_unit_test(test_refusals)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
