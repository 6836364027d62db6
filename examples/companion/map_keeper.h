/* SPDX-License-Identifier: MIT
 *
 * The map's file: loaded before the first frame, saved at a signal and at the end. A thread of its own has the disk, so
 * that no frame waits for it; the image is copied from the library between two frames. The file is whole at any time:
 * it is written beside itself, and takes its own place once the disk has it. A file that is refused, as one of other
 * cameras, is never overwritten.
 *
 * Calls of the thread of the cameras.
 */
#ifndef COMPANION_MAP_KEEPER_H
#define COMPANION_MAP_KEEPER_H

#include <pthread.h>
#include <stddef.h>

#include "examples/recording/recorder.h"
#include "vfront.h"

#define MAP_KEEPER_TEXT 320

/** What became of the last save. */
typedef enum map_keeper_result {
    MAP_KEEPER_NOTHING = 0, /**< None, or it is under way. */
    MAP_KEEPER_SAVED = 1,
    MAP_KEEPER_FAILED = 2
} map_keeper_result_t;

/** Keeper. Zero it; without map_keeper_open() all calls do nothing. */
typedef struct map_keeper {
    const char *path; /**< NULL: not open. */
    int is_loaded;    /**< 1: the map began with that of the file. */
    int is_refused;   /**< 1: the file is left as it is. */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    int has_thread, stops;
    int is_due; /**< 1: `image` is the thread's, for the disk. */
    map_keeper_result_t result;
    char text[MAP_KEEPER_TEXT]; /**< Why the last save failed. */
    size_t bytes;
    uint8_t image[VFRONT_MAP_BYTES + 1]; /**< One more, so that a longer file is noticed. */
    size_t kept_bytes;                   /**< Of `kept`; 0: nothing is kept. */
    uint8_t kept[VFRONT_MAP_BYTES];      /**< Over a reset of the library. */
} map_keeper_t;

/** Begins. Returns NULL, or a one-line message. */
const char *map_keeper_open(map_keeper_t *keeper, const char *path);

/** Loads the file, after vfront_init(); none is there: the map begins. Returns NULL, or why the file is refused: the
 *  run goes on without it. */
const char *map_keeper_load(map_keeper_t *keeper, vfront_t *vf);

/** Puts what was loaded into a recording. */
void map_keeper_record(const map_keeper_t *keeper, recorder_t *recorder, uint64_t t_ns);

/** 1: a save is under way. */
int map_keeper_is_busy(map_keeper_t *keeper);

/** Begins to save, where none is under way. Returns NULL, or why it does not. */
const char *map_keeper_save(map_keeper_t *keeper, vfront_t *vf);

/** What became of it, once. */
map_keeper_result_t map_keeper_result(map_keeper_t *keeper);

/** Before vfront_reset(), which drops the map: keeps it. */
void map_keeper_keep(map_keeper_t *keeper, vfront_t *vf);

/** Behind it: gives it back, and records that. 0: there is none, and the map begins anew. */
int map_keeper_restore(map_keeper_t *keeper, vfront_t *vf, recorder_t *recorder, uint64_t t_ns);

/** Saves, and ends. vf: NULL: does not save. Returns NULL, or why the map is not saved. */
const char *map_keeper_close(map_keeper_t *keeper, vfront_t *vf);

#endif
