/* SPDX-License-Identifier: MIT
 *
 * A run in lock step: each frame goes to the board and into vfront on this computer, and every result must have the
 * same digests. Results and their errors are kept frame by frame for the rules (rules.h).
 */
#ifndef HIL_TRIAL_H
#define HIL_TRIAL_H

#include "examples/replay/dataset.h"
#include "cache.h"
#include "session.h"
#include "examples/replay/fault_script.h"
#include "vfront.h"

/** Signs by which a result, or its absence, names a fault. */
enum {
    SIGN_FROZEN = 1 << 0,      /**< health.frozen of any camera. */
    SIGN_STEREO = 1 << 1,      /**< health.stereo suspect or blind. */
    SIGN_DARK = 1 << 2,        /**< dark_permille of any camera at least 900. */
    SIGN_BRIGHT = 1 << 3,      /**< bright_permille of any camera at least 900. */
    SIGN_STAMP = 1 << 4,       /**< VFRONT_E_TIME, health.gap or .irregular. */
    SIGN_PHOTOMETRIC = 1 << 5, /**< brightness_changed or sharpness_changed of any camera. */
    SIGN_BREAK = 1 << 6,       /**< motion_breaks rises, or motions contradict. */
    SIGN_LATE = 1 << 7,        /**< health.late or .repeated. */
    SIGN_GYRO = 1 << 8,     /**< gyro_short, gyro_stuck, health.imu, a prior that contradicts, VFRONT_E_GYRO, _E_IMU. */
    SIGN_MISSING = 1 << 9,  /**< health.missing. */
    SIGN_DAMAGED = 1 << 10, /**< The board reports damaged input. */
    SIGN_STATE = 1 << 11,   /**< nav is COASTING, STEREO_ONLY or LOST, or its quality below 50. */
    SIGN_QUALITY = 1 << 12, /**< Tracks lost: health DEGRADED or LOST. */
    SIGN_LATENCY = 1 << 13, /**< timing.overrun. */
    SIGN_PORT = 1 << 14     /**< The board's result is of its host port, which took over; or its step failed. */
};

/** A frame of the input. */
typedef struct trial_frame {
    int has_fault;    /**< 1: a fault of the script is active. */
    int is_delivered; /**< 1: it came to vfront, here and there. */
    int status;       /**< Of the step, if delivered. */
    unsigned signs;
    int has_state;                   /**< 1: GOOD, COASTING or STEREO_ONLY, so that ODOMETRY is sent. */
    uint32_t state, quality, resets; /**< Of nav. */
    int is_finite;                   /**< 1: every number of the state and of the motions, and of the message. */
    int has_error;                   /**< 1: the truth is known. */
    double error_m, sigmas;          /**< Position beside the truth: length; root of e' P^-1 e. */
    double jump_m; /**< Change of position since the last state beyond that of the velocity; 0 after a reset. */
    double jump_sigmas;
    int has_odometry; /**< 1: the board sent ODOMETRY; quality and position as below. */
    int odometry_quality;
} trial_frame_t;

/** A run. */
typedef struct trial {
    trial_frame_t *frame;
    uint32_t frames, compared, differ, first, odometry, damaged, lost;
    uint32_t line_lost; /**< Messages that the line has lost. */
    uint64_t resent;    /**< Datagrams and samples that were sent again. */
    int has_no_gpu;     /**< 1: a call of the GPU was to fail, and the board has none. */
    char first_at[32];  /**< Stage at which frame `first` differs. */
} trial_t;

/** Settings. */
typedef struct trial_settings {
    const char *board; /**< HOST:PORT. */
    session_transports_t transports;
    dataset_t *dataset;
    const vfront_tuning_t *tuning;
    vfront_port_t port;           /**< On this computer. */
    const fault_script_t *script; /**< NULL: no faults. */
    uint32_t frames;
    cache_t *cache; /**< Of `dataset`; NULL: frames are read anew. */
} trial_settings_t;

/** Run it. Returns NULL, or a one-line message, valid until the next call. */
const char *trial_run(trial_t *trial, const trial_settings_t *settings);
void trial_free(trial_t *trial);

#endif
