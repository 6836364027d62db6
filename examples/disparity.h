/* SPDX-License-Identifier: MIT
 *
 * Writes disparities as pictures that other programs read: grey of 16 bits as in KITTI's benchmark, the disparity times 256 [px].
 */
#ifndef DISPARITY_H
#define DISPARITY_H

#include "vfront.h"

/** What stands in a picture for a disparity [1/16 px]: 0 for VFRONT_NO_DISPARITY alone, so 1 for a disparity of 0; 65535 from 256 px on. */
uint16_t disparity_grey(uint16_t px16);

/**
 * Writes one picture, PNG or, in a build without libpng, PGM.
 * @param[in] folder     That is there: the picture becomes its file of six digits or more, the frame's number.
 * @param[in] disparity  Of a result; without px16 nothing is written.
 * @return NULL, or one line that says what went wrong and with which file, valid until the next call.
 */
const char *disparity_write(const char *folder, uint64_t frame, const vfront_disparity_t *disparity);

#endif
