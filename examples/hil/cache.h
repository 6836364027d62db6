/* SPDX-License-Identifier: MIT
 *
 * Frames of a data set in memory, so that runs over the same ones render or read them once.
 */
#ifndef HIL_CACHE_H
#define HIL_CACHE_H

#include "examples/replay/dataset.h"

typedef struct cache cache_t;

/** Of the first `frames` frames. NULL without memory. */
cache_t *cache_open(dataset_t *dataset, uint32_t frames);
void cache_close(cache_t *cache);

/** Frame `index`, which is only read: valid until cache_close(). Returns NULL, or a message. */
const char *cache_frame(cache_t *cache, uint32_t index, vfront_frame_t *frame);

#endif
