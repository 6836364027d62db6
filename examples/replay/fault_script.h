/* SPDX-License-Identifier: MIT
 *
 * Fault scripts: text that names faults, their sensors and times. A line is
 *     WHEN TARGET KIND [ARGUMENT...]
 * with words separated by white space; # begins a comment. `seed N` on a line of its own sets the random seed.
 *
 *   WHEN    30, 30-44, 30-           frames of the input, from 0, both ends inclusive; without an end for ever
 *           1.5s, 1.5s-2.25s, 1.5s-  time since the first frame [s]; one time is the first frame at or after it
 *   TARGET  camera0, camera1, both, gyro, clock; on a bench (hil/) link, cpu and gpu, too
 *   KIND    a row of FAULT_KINDS, with its arguments
 *
 * A function that can fail returns NULL, or a one-line message that names file, line and what was expected; the
 * message is valid until the next call.
 */
#ifndef FAULT_SCRIPT_H
#define FAULT_SCRIPT_H

#include <stddef.h>
#include <stdint.h>

/** Part of the input that a fault touches. `both`: both cameras, or the only one. */
typedef enum fault_target {
    FAULT_CAMERA_0,
    FAULT_CAMERA_1,
    FAULT_BOTH,
    FAULT_GYRO,
    FAULT_CLOCK,
    FAULT_LINK, /* between bench and board */
    FAULT_CPU,  /* of the board */
    FAULT_GPU,  /* likewise */
    FAULT_TARGETS
} fault_target_t;

#define FAULT_ARGUMENTS_MAX 3
#define FAULT_LATE_MAX 30u /* frames by which a camera can be late */

/** Sets of targets, a bit each. */
enum {
    FAULT_ON_CAMERA = 1 << FAULT_CAMERA_0 | 1 << FAULT_CAMERA_1 | 1 << FAULT_BOTH,
    FAULT_ON_BOTH = 1 << FAULT_BOTH,
    FAULT_ON_GYRO = 1 << FAULT_GYRO,
    FAULT_ON_CLOCK = 1 << FAULT_CLOCK,
    FAULT_ON_LINK = 1 << FAULT_LINK,
    FAULT_ON_CPU = 1 << FAULT_CPU,
    FAULT_ON_GPU = 1 << FAULT_GPU
};

/** Every kind: X(symbol, name, targets, least and most number of arguments, range of each, "arguments and effect").
 *  `late` and `blur` take a whole number, `flip` and `swapped` a word: the range is that of its code. */
#define FAULT_KINDS(X)                                                                                                 \
    X(DROP, "drop", FAULT_ON_BOTH, 0, 0, 0, 0, "frame is not delivered; its gyro samples come with the next")          \
    X(DUPLICATE, "duplicate", FAULT_ON_BOTH, 0, 0, 0, 0, "frame is delivered twice, with the same stamp")              \
    X(FREEZE, "freeze", FAULT_ON_CAMERA, 0, 0, 0, 0, "picture from before the fault, stamps of now")                   \
    X(FREEZE_ROWS, "freeze-rows", FAULT_ON_CAMERA, 2, 2, 0, 100,                                                       \
      "FROM TO [% of the height]: these rows are from before the fault")                                               \
    X(STOP, "stop", FAULT_ON_CAMERA, 0, 0, 0, 0, "frame without a picture of the camera")                              \
    X(BLACK, "black", FAULT_ON_CAMERA, 0, 0, 0, 0, "every pixel 0")                                                    \
    X(WHITE, "white", FAULT_ON_CAMERA, 0, 0, 0, 0, "every pixel the largest of its format")                            \
    X(NOISE, "noise", FAULT_ON_CAMERA, 1, 1, 0, 255, "SIGMA [grey levels of 8 bits]: white noise added")               \
    X(BLUR, "blur", FAULT_ON_CAMERA, 1, 1, 1, 64, "RADIUS [px]: mean of 2 RADIUS + 1 px, along rows, then columns")    \
    X(DIM, "dim", FAULT_ON_CAMERA, 1, 1, 0, 100, "PERCENT of the brightness")                                          \
    X(BRIGHTEN, "brighten", FAULT_ON_CAMERA, 1, 1, 100, 10000, "PERCENT of the brightness, up to white")               \
    X(FLIP, "flip", FAULT_ON_CAMERA, 0, 1, 1, 3, "x, y or xy (the default): mirrored left-right, up-down, both")       \
    X(SWAP, "swap", FAULT_ON_BOTH, 0, 0, 0, 0, "pictures of the two cameras exchanged")                                \
    X(LATE, "late", FAULT_ON_CAMERA, 1, 1, 1, FAULT_LATE_MAX, "N [frames]: picture of N frames before, stamp of now")  \
    X(JUMP, "jump", FAULT_ON_CLOCK, 1, 1, 0, 2e10, "SECONDS: stamps of frames too large, at most 2^64 - 1 ns")         \
    X(BACK, "back", FAULT_ON_CLOCK, 1, 1, 0, 2e10, "SECONDS: stamps of frames too small, at least 0")                  \
    X(JITTER, "jitter", FAULT_ON_CLOCK, 1, 1, 0, 10, "SECONDS: stamps of frames off by up to this, either sign")       \
    X(DRIFT, "drift", FAULT_ON_CLOCK, 1, 1, -1e5, 1e5,                                                                 \
      "PPM: clock of the frames fast (or slow) against the gyro's; what has built up stays after the fault")           \
    X(GAP, "gap", FAULT_ON_GYRO, 0, 1, 0, 100, "[PERCENT]: the last PERCENT of a frame's samples missing; else all")   \
    X(STUCK, "stuck", FAULT_ON_GYRO, 0, 0, 0, 0, "rates stay at the last sample before the fault")                     \
    X(SATURATED, "saturated", FAULT_ON_GYRO, 1, 1, 0, 100, "LIMIT [rad/s]: rates clipped at LIMIT, either sign")       \
    X(BIAS, "bias", FAULT_ON_GYRO, 3, 3, -100, 100, "X Y Z [rad/s] added to the rates")                                \
    X(SWAPPED, "swapped", FAULT_ON_GYRO, 1, 1, 0, 2, "xy, yz or xz: two axes exchanged")                               \
    X(LOSS, "loss", FAULT_ON_LINK, 1, 1, 0, 100, "PERCENT of the frames do not arrive; bench only, as the next five")  \
    X(REORDER, "reorder", FAULT_ON_LINK, 1, 1, 0, 100, "PERCENT of the frames arrive after the next one")              \
    X(DELAY, "delay", FAULT_ON_LINK, 1, 1, 0, 10000,                                                                   \
      "MILLISECONDS by which frames arrive late, where the bench is paced")                                            \
    X(CORRUPT, "corrupt", FAULT_ON_LINK, 1, 1, 1, 1000, "BITS of each frame flipped on the link")                      \
    X(BURN, "burn", FAULT_ON_CPU, 1, 1, 1, 64, "THREADS that keep the board's processors busy")                        \
    X(FAIL, "fail", FAULT_ON_GPU, 1, 1, 1, 1000000,                                                                    \
      "CALL: this CUDA call of the board's steps from there on, from 1, returns an error")

/** Kind of a fault: FAULT_DROP, FAULT_DUPLICATE... */
typedef enum fault_kind {
#define FAULT_SYMBOL(symbol, name, targets, arguments_min, arguments_max, least, most, meaning) FAULT_##symbol,
    FAULT_KINDS(FAULT_SYMBOL)
#undef FAULT_SYMBOL
        FAULT_KIND_COUNT
} fault_kind_t;

/** One line of a script. */
typedef struct fault {
    fault_kind_t kind;
    fault_target_t target;
    int by_time;                          /**< 1: `first` and `last` are times since the first frame [ns]. */
    int one_time;                         /**< 1: a single time, the first frame at or after it. */
    uint64_t first, last;                 /**< Frames or times, both inclusive; UINT64_MAX: no end. */
    double argument[FAULT_ARGUMENTS_MAX]; /**< In the units of FAULT_KINDS; flip: 1 x, 2 y, 3 xy; swapped: the axis
                                                that stays, 2 for xy, 0 for yz, 1 for xz. */
    int arguments;                        /**< Number of them given. */
    int line;                             /**< Line of the file, from 1. */
} fault_t;

/** Script in memory. Zero it before fault_script_read(). */
typedef struct fault_script {
    fault_t *fault; /**< In the order of the file. */
    uint32_t count;
    uint64_t seed; /**< 1 without a line `seed`. */
} fault_script_t;

/** Read a script. On failure it is empty. A script without a fault is a failure. */
const char *fault_script_read(fault_script_t *script, const char *path);

/** The same from memory; messages name `name` in place of the file. */
const char *fault_script_parse(fault_script_t *script, const char *name, const char *text, size_t bytes);

void fault_script_free(fault_script_t *script);

/** 1 if a fault is active in a frame. Times are since the first frame [ns], before_ns that of the frame before;
 *  the first frame has none before. */
int fault_active(const fault_t *fault, uint32_t frame, uint64_t t_ns, uint64_t before_ns);

/** 1 if a fault is one that only a bench can put in: of the link or the board. */
int fault_needs_bench(const fault_t *fault);

/** Names as in a script ("camera0", "freeze"), and arguments and effect of a kind; NULL past the last. */
const char *fault_target_name(fault_target_t target);
const char *fault_kind_name(fault_kind_t kind);
const char *fault_kind_meaning(fault_kind_t kind);

#endif
