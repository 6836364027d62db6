/* SPDX-License-Identifier: MIT
 *
 * Disparities as 16-bit grey pictures in the format of KITTI's benchmark: disparity times 256 [px].
 */
#ifndef DISPARITY_H
#define DISPARITY_H

#include "vfront.h"

/** Grey value of a disparity [1/16 px]: 0 only for VFRONT_NO_DISPARITY, 1 for a disparity of 0, 65535 from 256 px
 *  on. */
uint16_t disparity_grey(uint16_t px16);

/**
 * Write one picture, PNG or, in a build without libpng, PGM.
 * @param[in] folder     Existing folder. The file is named by the frame number, with six digits or more.
 * @param[in] disparity  Of a result; without px16 nothing is written.
 * @return NULL, or a one-line message that names the file, valid until the next call.
 */
const char *disparity_write(const char *folder, uint64_t frame, const vfront_disparity_t *disparity);

#endif
