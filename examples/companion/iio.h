/* SPDX-License-Identifier: MIT
 *
 * IMU of the machine itself, by Linux's industrial I/O: one device that has rates, forces and a time in its buffer, as
 * adis16448, mpu6050, bmi160 and others do. Its scan elements are enabled, all others of it disabled, its clock is set
 * to CLOCK_MONOTONIC, the companion's; values are (raw + offset) * scale. Axes are those of the device: in_mount_matrix
 * is not applied, the rig's T_body_imu has its pose. No call waits.
 *
 * A function that can fail returns NULL, or a one-line message, valid until the next call.
 */
#ifndef COMPANION_IIO_H
#define COMPANION_IIO_H

#include "vfront.h"

#define IIO_CHANNELS 7  /* rates x y z, forces x y z, time */
#define IIO_SCAN_MAX 64 /* bytes of a scan: seven values of 8 bytes */
#define IIO_IN_BYTES 4096
#define IIO_SAMPLES 64 /* asked for at once, at most */

/** Value in a scan. */
typedef struct iio_channel {
    int is_big_endian, is_signed;
    uint32_t bits, bytes, shift; /**< Of the value; of its place; to the right, before the bits count. */
    uint32_t index, at;          /**< Order; place in the scan [byte]. */
    double scale, offset;
} iio_channel_t;

/** A device. Zero it before iio_open(). */
typedef struct iio {
    int fd;          /**< To poll for readable; -1: it is not there, or went away. */
    int is_absent;   /**< 1: it could not be opened because it is not there. */
    char root[128];  /**< "", or the folder in place of / in a test. */
    char device[64]; /**< As it was asked for. */
    char folder[320];
    double asked_hz, hz; /**< Rate asked for; rate that it reports; 0: none. */
    iio_channel_t channel[IIO_CHANNELS];
    uint32_t scan_bytes;
    uint8_t in[IIO_IN_BYTES];
    uint32_t in_count;
    uint64_t retry_ns;          /**< When it is tried again. */
    uint64_t scans, bad_stamps; /**< Scans read; those of a time that cannot be. */
} iio_t;

/**
 * Opens a device. One that is not there gives a message and `is_absent`, and iio_maintain() opens it once it is.
 * @param[in] root      "" but for tests.
 * @param[in] device    Its number, or its name as in sysfs.
 * @param[in] hz        Rate that is asked for; it may have another.
 */
const char *iio_open(iio_t *iio, const char *root, const char *device, double hz);

/** Samples that have come, by rising time, on the companion's clock. Returns their number. */
uint32_t iio_read(iio_t *iio, uint64_t now_ns, vfront_imu_t *out, uint32_t max);

/** Opens a device that is not there, or went away; to be called now and then. Returns NULL, or a message to be printed
 *  once: that it is back, or what is wrong with it, if `fd` is still -1. */
const char *iio_maintain(iio_t *iio, uint64_t now_ns);
void iio_close(iio_t *iio);

#endif
