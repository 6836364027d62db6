/* SPDX-License-Identifier: MIT */
/* The library's rule for one pixel, over whole pictures, for tests/opencv_fast.py: make build/bridge.so. */
#include "../src/detect.h"

void corners(const uint8_t *pixels, int32_t width, int32_t height, int32_t pitch, int32_t threshold, int32_t arc, int32_t kind,
             uint16_t *score);

/** Scores of all pixels, [height][width]; 0 where there is no corner, nor can be one, within three pixels of the border. */
void corners(const uint8_t *pixels, int32_t width, int32_t height, int32_t pitch, int32_t threshold, int32_t arc, int32_t kind,
             uint16_t *score)
{
    memset(score, 0, sizeof *score * (size_t)width * (size_t)height);
    for (int32_t y = VF_CIRCLE; y < height - VF_CIRCLE; y++) {
        for (int32_t x = VF_CIRCLE; x < width - VF_CIRCLE; x++) {
            const uint8_t *c = pixels + (ptrdiff_t)y * pitch + x;
            int32_t circle[16];
#define LOAD(i, dx, dy) circle[i] = c[(ptrdiff_t)(dy) * pitch + (dx)];
            VF_CIRCLE_PIXELS(LOAD)
#undef LOAD
            score[(ptrdiff_t)y * width + x] = (uint16_t)vf_detect_test(circle, *c, threshold, arc, kind);
        }
    }
}
