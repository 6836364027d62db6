/* SPDX-License-Identifier: MIT
 *
 * IMU by Linux's industrial I/O (examples/companion/iio.h), on a tree of files that stand for sysfs, and a FIFO for the
 * device: layouts of scans, what is written to sysfs, values, a device that goes away, and trees that are wrong.
 */
#define _DEFAULT_SOURCE /* mkdtemp */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "examples/companion/iio.h"
#include "tests/fixture/random.h"
#include "tests/fixture/temporary.h"

#define NOW_NS 5000000000u
#define CHANNELS 9 /* with a temperature and a field, which are not wanted */

static char root[64];
static iio_t iio;

/** A channel of the tree. */
struct element {
    const char *name, *type;
    int index, bytes, bits, shift, is_big_endian, is_signed;
};

static void make_folder(const char *name)
{
    char path[300];
    snprintf(path, sizeof path, "%s%s", root, name);
    REQUIRE(mkdir(path, 0700) == 0 || errno == EEXIST, "%s", path);
}

static void path_of(char path[300], const char *name)
{
    if (*name == '/')
        snprintf(path, 300, "%s%s", root, name);
    else
        snprintf(path, 300, "%s/sys/bus/iio/devices/iio:device3/%s", root, name);
}

static void write_file(const char *name, const char *text)
{
    char path[300];
    path_of(path, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%s\n", text);
    fclose(f);
}

static void remove_file(const char *name)
{
    char path[300];
    path_of(path, name);
    unlink(path);
}

static void must_hold(const char *name, const char *want)
{
    char path[300], text[64] = "";
    path_of(path, name);
    FILE *f = fopen(path, "r");
    REQUIRE(f && fgets(text, sizeof text, f), "%s", name);
    fclose(f);
    text[strcspn(text, "\n")] = 0;
    REQUIRE(strcmp(text, want) == 0, "%s: %s, not %s", name, text, want);
}

static const struct element mixed[CHANNELS] = {
    {"in_anglvel_x", "le:s16/16>>0", 4, 2, 16, 0, 0, 1}, {"in_anglvel_y", "be:s24/32>>8", 3, 4, 24, 8, 1, 1},
    {"in_anglvel_z", "le:s12/16>>4", 7, 2, 12, 4, 0, 1}, {"in_accel_x", "be:u16/16>>0", 1, 2, 16, 0, 1, 0},
    {"in_accel_y", "le:s32/32>>0", 5, 4, 32, 0, 0, 1},   {"in_accel_z", "le:s8/8>>0", 2, 1, 8, 0, 0, 1},
    {"in_timestamp", "le:s64/64>>0", 9, 8, 64, 0, 0, 1}, {"in_temp0", "le:s16/16>>0", 0, 2, 16, 0, 0, 1},
    {"in_magn_x", "le:s16/16>>0", 8, 2, 16, 0, 0, 1},
};

/** The tree of a device, numbered 3, named adis16448. */
static void make_tree(const struct element *e)
{
    static const char *const folder[] = {"",
                                         "/sys",
                                         "/sys/bus",
                                         "/sys/bus/iio",
                                         "/sys/bus/iio/devices",
                                         "/dev",
                                         "/sys/bus/iio/devices/iio:device0",
                                         "/sys/bus/iio/devices/iio:device3",
                                         "/sys/bus/iio/devices/iio:device3/scan_elements",
                                         "/sys/bus/iio/devices/iio:device3/buffer"};
    char name[300];
    for (size_t i = 0; i < sizeof folder / sizeof *folder; i++) make_folder(folder[i]);
    write_file("/sys/bus/iio/devices/iio:device0/name", "bmp280");
    write_file("name", "adis16448");
    for (int i = 0; i < CHANNELS; i++) {
        char index[16];
        snprintf(index, sizeof index, "%d", e[i].index);
        snprintf(name, sizeof name, "scan_elements/%s_type", e[i].name);
        write_file(name, e[i].type);
        snprintf(name, sizeof name, "scan_elements/%s_index", e[i].name);
        write_file(name, index);
        snprintf(name, sizeof name, "scan_elements/%s_en", e[i].name);
        write_file(name, i % 2 ? "1" : "0");
    }
    write_file("in_anglvel_scale", "0.001");
    write_file("in_accel_scale", "0.01");
    write_file("in_accel_z_scale", "0.5"); /* an axis of its own goes before */
    write_file("in_accel_x_offset", "-30000");
    write_file("current_timestamp_clock", "realtime");
    write_file("sampling_frequency", "819.2");
    write_file("buffer/length", "2");
    write_file("buffer/watermark", "16");
    write_file("buffer/enable", "1");
    snprintf(name, sizeof name, "%s/dev/iio:device3", root);
    unlink(name);
    assert_int_equal(mkfifo(name, 0600), 0);
}

static const char *open_it(const char *device)
{
    iio_close(&iio);
    return iio_open(&iio, root, device, 200.0);
}

static void must(const char *error) { REQUIRE(!error, "%s", error); }

static int writer(void)
{
    char path[300];
    snprintf(path, sizeof path, "%s/dev/iio:device3", root);
    const int fd = open(path, O_WRONLY);
    assert_true(fd >= 0);
    return fd;
}

/** A scan of raw values, as the kernel lays it out; its bytes. */
static size_t make_scan(const struct element *e, const int64_t raw[CHANNELS], uint8_t *to)
{
    size_t used = 0;
    memset(to, 0xee, 64); /* padding has any value */
    for (int index = 0; index < 16; index++)
        for (int i = 0; i < 7; i++) { /* those that are enabled */
            if (e[i].index != index) continue;
            const size_t bytes = (size_t)e[i].bytes;
            const uint64_t mask = e[i].bits == 64 ? UINT64_MAX : (1ull << e[i].bits) - 1;
            uint64_t place = ((uint64_t)raw[i] & mask) << e[i].shift |
                             (e[i].shift ? roll64() & ((1u << e[i].shift) - 1) : 0);
            while (used % bytes) used++;
            for (size_t b = 0; b < bytes; b++)
                to[used + b] = (uint8_t)(place >> 8 * (e[i].is_big_endian ? bytes - 1 - b : b));
            used += bytes;
        }
    return (used + 7) / 8 * 8;
}

static void reads_driver_metadata(void **state)
{
    (void)state;
    make_tree(mixed);
    for (int by_name = 0; by_name < 2; by_name++) {
        must(open_it(by_name ? "adis16448" : "3"));
        must_hold("buffer/enable", "1");
        must_hold("buffer/length", "256");
        must_hold("buffer/watermark", "1");
        must_hold("current_timestamp_clock", "monotonic");
        must_hold("sampling_frequency", "200");
        must_hold("scan_elements/in_temp0_en", "0");
        must_hold("scan_elements/in_magn_x_en", "0");
        for (int i = 0; i < 7; i++) {
            char name[64];
            snprintf(name, sizeof name, "scan_elements/%s_en", mixed[i].name);
            must_hold(name, "1");
        }
        assert_true(iio.hz == 200.0);
        const int fd = writer();
        shake(5);
        for (int run = 0; run < 300; run++) {
            uint8_t scan[2][64];
            int64_t raw[2][CHANNELS];
            vfront_imu_t out[4];
            size_t bytes = 0;
            for (int n = 0; n < 2; n++) {
                for (int i = 0; i < CHANNELS; i++) {
                    raw[n][i] = (int64_t)roll64() >> (64 - mixed[i].bits);
                    if (!mixed[i].is_signed) raw[n][i] &= (1 << mixed[i].bits) - 1;
                }
                raw[n][6] = NOW_NS - 20000000 + n * 5000000;
                bytes = make_scan(mixed, raw[n], scan[n]);
            }
            const size_t part = 1 + roll64() % (bytes - 1); /* the second comes in two parts */
            assert_true(write(fd, scan[0], bytes) == (ssize_t)bytes && write(fd, scan[1], part) == (ssize_t)part);
            uint32_t n = iio_read(&iio, NOW_NS, out, 4);
            assert_int_equal(n, 1);
            assert_true(write(fd, scan[1] + part, bytes - part) == (ssize_t)(bytes - part));
            n += iio_read(&iio, NOW_NS, out + n, 3);
            assert_int_equal(n, 2);
            for (int k = 0; k < 2; k++) {
                assert_true(out[k].t_ns == (uint64_t)raw[k][6]);
                for (int a = 0; a < 3; a++) REQUIRE(out[k].gyro_rad_s[a] == (double)raw[k][a] * 0.001, "rate %d", a);
                assert_true(out[k].accel_m_s2[0] == ((double)raw[k][3] - 30000.0) * 0.01);
                assert_true(out[k].accel_m_s2[1] == (double)raw[k][4] * 0.01);
                assert_true(out[k].accel_m_s2[2] == (double)raw[k][5] * 0.5);
            }
        }
        close(fd);
        iio_close(&iio);
        must_hold("buffer/enable", "0");
    }
}

static void resumes_when_back(void **state)
{
    uint8_t scan[64];
    int64_t raw[CHANNELS] = {1, 2, 3, 4, 5, 6, 0};
    vfront_imu_t out[4];
    (void)state;
    make_tree(mixed);
    must(open_it("adis16448"));
    int fd = writer();
    raw[6] = (int64_t)NOW_NS + 500000000; /* of a time that is still to come, and of one long ago */
    assert_true(write(fd, scan, make_scan(mixed, raw, scan)) > 0);
    raw[6] = (int64_t)NOW_NS - 2000000000;
    assert_true(write(fd, scan, make_scan(mixed, raw, scan)) > 0);
    assert_int_equal(iio_read(&iio, NOW_NS, out, 4), 0);
    assert_true(iio.bad_stamps == 2 && iio.fd >= 0);
    assert_true(write(fd, scan, 3) == 3); /* a scan that is cut off */
    close(fd);
    iio_read(&iio, NOW_NS, out, 4);
    iio_read(&iio, NOW_NS, out, 4);
    assert_true(iio.fd < 0);
    remove_file("name");
    assert_null(iio_maintain(&iio, NOW_NS + 1100000000u)); /* not there */
    assert_true(iio.fd < 0);
    write_file("name", "adis16448");
    assert_null(iio_maintain(&iio, NOW_NS + 1200000000u)); /* too soon after the last try */
    const char *news = iio_maintain(&iio, NOW_NS + 2200000000u);
    REQUIRE(news && strstr(news, "is back"), "%s", news ? news : "nothing");
    fd = writer();
    raw[6] = (int64_t)NOW_NS + 2100000000;
    assert_true(write(fd, scan, make_scan(mixed, raw, scan)) > 0);
    assert_int_equal(iio_read(&iio, NOW_NS + 2200000000u, out, 4), 1);
    close(fd);
    iio_close(&iio);
}

/** A device that is not there as the program begins: it is opened once it is, and what is wrong with it is reported
 *  once. */
static void waits_until_there(void **state)
{
    vfront_imu_t out[4];
    (void)state;
    for (int is_wrong = 0; is_wrong < 2; is_wrong++) {
        make_tree(mixed);
        remove_file("name");
        assert_non_null(open_it("adis16448"));
        assert_true(iio.is_absent && iio.fd < 0 && iio_read(&iio, NOW_NS, out, 4) == 0);
        assert_null(iio_maintain(&iio, NOW_NS));
        make_tree(mixed);
        if (is_wrong) remove_file("in_anglvel_scale");
        const char *news = iio_maintain(&iio, NOW_NS + 1000000000u);
        REQUIRE(news && strstr(news, is_wrong ? "no scale" : "is back"), "%s", news ? news : "nothing");
        assert_true(!iio.is_absent && (iio.fd < 0) == is_wrong);
        assert_null(iio_maintain(&iio, NOW_NS + 2000000000u));
    }
    make_tree(mixed);
    remove_file("/dev/iio:device3"); /* the kernel has it, its file is not there yet */
    assert_non_null(open_it("adis16448"));
    assert_true(iio.is_absent);
    iio_close(&iio);
}

/** Each file in turn is missing or has nonsense: a message that names the device, nothing else. */
static void names_what_is_wrong(void **state)
{
    static const struct {
        const char *file, *text, *message;
    } wrong[] = {
        {"name", NULL, "no such device"},
        {"scan_elements/in_anglvel_y_type", NULL, "no in_anglvel_y in its buffer"},
        {"scan_elements/in_accel_x_type", "le:s16/16", "is no type"},
        {"scan_elements/in_accel_x_type", "xe:s16/16>>0", "is no type"},
        {"scan_elements/in_accel_x_type", "le:s17/16>>0", "is no type"},
        {"scan_elements/in_accel_x_type", "le:s12/16>>5", "is no type"},
        {"scan_elements/in_accel_x_type", "le:s16/24>>0", "is no type"},
        {"scan_elements/in_accel_x_type", "le:s4294967295/64>>4294967295", "is no type"},
        {"scan_elements/in_accel_x_type", "le:s16/16X2>>0", "is no type"},
        {"scan_elements/in_timestamp_type", "le:s32/32>>0", "time is not of 64 bits"},
        {"scan_elements/in_accel_x_index", "-1", "no index"},
        {"scan_elements/in_accel_x_index", "2", "two channels with the index 2"},
        {"in_anglvel_scale", NULL, "in_anglvel_x: no scale"},
        {"in_anglvel_scale", "nan", "no scale"},
        {"current_timestamp_clock", NULL, "its clock cannot be set"},
        {"buffer/enable", NULL, "its buffer cannot be enabled"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        make_tree(mixed);
        if (wrong[i].text)
            write_file(wrong[i].file, wrong[i].text);
        else
            remove_file(wrong[i].file);
        const char *error = open_it("adis16448");
        REQUIRE(error && strstr(error, wrong[i].message) && strstr(error, "iio:adis16448"), "%s: %s", wrong[i].file,
                error ? error : "opened");
        assert_true(iio.fd < 0 && iio.is_absent == !i);
    }
    make_tree(mixed);
    assert_non_null(strstr(open_it("0"), "no in_anglvel_x")); /* a barometer */
    assert_non_null(strstr(open_it("7"), "no such device"));
    assert_non_null(strstr(open_it("../../x"), "no such device"));
    assert_non_null(open_it(""));
    remove_file("/dev/iio:device3");
    assert_non_null(strstr(open_it("3"), "No such file"));
    iio_close(&iio);
}

static int begin(void **state)
{
    (void)state;
    return mkdtemp(temporary(root, "iio")) ? 0 : -1;
}

static int end(void **state)
{
    char command[80];
    (void)state;
    snprintf(command, sizeof command, "rm -r '%s'", root);
    return system(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_driver_metadata),
        cmocka_unit_test(resumes_when_back),
        cmocka_unit_test(waits_until_there),
        cmocka_unit_test(names_what_is_wrong),
    };
    return cmocka_run_group_tests(tests, begin, end);
}
