/* SPDX-License-Identifier: MIT */
#include "disparity.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "picture.h"

uint16_t disparity_grey(uint16_t px16)
{
    if (px16 == VFRONT_NO_DISPARITY) return 0;
    if (px16 == 0) return 1;
    return px16 < 4096 ? (uint16_t)(px16 * 16) : 65535;
}

const char *disparity_write(const char *folder, uint64_t frame, const vfront_disparity_t *d)
{
    char stem[4400];
    if (!d->px16) return NULL;
    uint16_t *grey = malloc((size_t)d->width_px * (size_t)d->height_px * sizeof *grey), *to = grey;
    if (!grey) return "no memory for a picture of disparities";
    for (int32_t y = 0; y < d->height_px; y++)
        for (int32_t x = 0; x < d->width_px; x++)
            *to++ = disparity_grey(d->px16[(size_t)y * (size_t)d->pitch + (size_t)x]);
    snprintf(stem, sizeof stem, "%s/%06" PRIu64, folder, frame);
    const char *error = picture_write16(stem, grey, d->width_px, d->height_px);
    free(grey);
    return error;
}
