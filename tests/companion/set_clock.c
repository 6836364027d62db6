/* SPDX-License-Identifier: MIT
 *
 * The companion's clock (examples/companion/clock.h) set by a data set: from 0 on, as every data set of KITTI has it.
 */
#include "examples/companion/clock.h"
#include "tests/fixture/random.h"

static void test_from_zero(void **state)
{
    (void)state;
    assert_true(clock_ns() > 1000000000u); /* the machine's */
    clock_set_ns(0);
    assert_int_equal(clock_ns(), 0);
    assert_int_equal(clock_sleep_until_ns(3600000000000u), 1); /* at once */
    assert_int_equal(clock_ns(), 0);
    clock_set_ns(103920000u);
    assert_int_equal(clock_ns(), 103920000u);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_from_zero)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
