/* SPDX-License-Identifier: MIT */
/* Corner scores of the host form over whole images, for tests/features/opencv_fast.py. Blobs are accepted, as by
 * OpenCV. */
#include "features/detect.c"

int corners(const uint8_t *pixels, int32_t width, int32_t height, int32_t pitch, int32_t threshold, int32_t arc,
            int32_t kind, uint16_t *score);

/** Scores of all pixels, [height][width]; 0: no corner, or within three pixels of the border. Returns 0 for an image
 *  narrower than a chunk and its border. */
int corners(const uint8_t *pixels, int32_t width, int32_t height, int32_t pitch, int32_t threshold, int32_t arc,
            int32_t kind, uint16_t *score)
{
    const struct rule rule = {(uint8_t)threshold, (uint8_t)threshold, arc, 16, kind};
    const int32_t last = width - VF_CIRCLE_RADIUS - CHUNK;
    memset(score, 0, sizeof *score * (size_t)width * (size_t)height);
    if (last < VF_CIRCLE_RADIUS) return 0;
    for (int32_t y = VF_CIRCLE_RADIUS; y < height - VF_CIRCLE_RADIUS; y++)
        for (int32_t x = VF_CIRCLE_RADIUS; x < last + CHUNK; x += CHUNK) {
            const int32_t from = vf_min(x, last);
            uint16_t nms[CHUNK] = {0};
            score_any(rule, nms, pixels + (ptrdiff_t)y * pitch + from, pitch);
            for (int32_t k = 0; k < CHUNK; k++)
                score[(ptrdiff_t)y * width + from + k] = (uint16_t)(nms[k] ? nms[k] - VF_NMS_HIGH : 0);
        }
    return 1;
}
