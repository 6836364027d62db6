/* SPDX-License-Identifier: MIT
 *
 * Caption of an overlay: state and counts of the layers drawn.
 */
#ifndef CAPTION_H
#define CAPTION_H

#include <stddef.h>

#include "overlay.h"

#define CAPTION_LETTERS 400 /* more than a caption has */

/** Write the caption of a frame into line[size]. */
void caption_write(char *line, size_t size, overlay_what_t what, int32_t cameras, const vfront_result_t *r);

/** Caption of these layers with its longest words and numbers, but for a motion with many flags. */
void caption_longest(char *line, size_t size, overlay_what_t what);

#endif
