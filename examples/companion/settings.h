/* SPDX-License-Identifier: MIT
 *
 * Command line of the companion. examples/companion/README.md describes every option.
 */
#ifndef COMPANION_SETTINGS_H
#define COMPANION_SETTINGS_H

#include "examples/common/message.h"
#include "links.h"
#include "vfront.h"

/** Exit codes beside those of message.h. */
enum {
    EXIT_LINK = 3,    /**< A link could not be opened. */
    EXIT_SOURCE = 4,  /**< A source could not be opened, or ended with a fault. */
    EXIT_RIG = 5,     /**< The rig is not one that can fly: no calibration, no IMU, no mount. */
    EXIT_LIBRARY = 6, /**< vfront_init() refused, or a step failed for good. */
    EXIT_CHECK = 7    /**< --check found a fault. */
};

struct settings {
    const char *source, *rig, *calibration, *checkpoint, *record, *view, *view_name, *key,
        *map; /* NULL: not given; source always is */
    const char *link[LINKS_MAX];
    int links;
    int is_map_link[LINKS_MAX]; /* 1: of --map-link */
    int imu_is_autopilots;
    const char *iio;            /* device; NULL: none */
    double imu_hz, imu_delay_s; /* delay: negative: not given */
    double rate_hz;
    double delay_sigma_s;
    int system, answers;
    int has_vision_position, is_fast, is_simulated, quiet, has_carry, is_north, is_alone;
    int is_check;
    double obstacle_height_m; /* 0: no obstacles */
    int slow;                 /* of the clock; 1: it is the machine's */
    int priority;             /* of SCHED_FIFO; 0: none */
    uint32_t frames;
    double camera_hz;
    uint32_t exposure_us, readout_us;
    links_origin_t origin;
    vfront_port_t port;
    vfront_tuning_t tuning;
};

/** Parses the command line, or prints help. Returns CONTINUE, or an exit code. */
int settings_read(struct settings *settings, int count, char **word);

#endif
