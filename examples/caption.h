/* SPDX-License-Identifier: MIT
 *
 * Caption of an overlay: state and counts of the layers drawn.
 */
#ifndef CAPTION_H
#define CAPTION_H

#include <stddef.h>

#include "overlay.h"

/** Write the caption of a frame into line[size]. */
void caption_write(char *line, size_t size, overlay_what_t what, int32_t cameras, const vfront_result_t *r);

#endif
