/* SPDX-License-Identifier: MIT */
/* The library's rule for one pixel, over whole pictures, for tests/features/opencv_fast.py: make build/bridge.so. Spots
 * are let through, as by OpenCV. */
#include "features/detect.h"

void corners(const uint8_t *pixels, int32_t width, int32_t height, int32_t pitch, int32_t threshold, int32_t arc,
             int32_t kind, uint16_t *score);

VF_FN uint32_t test_pixel(const uint8_t *c, ptrdiff_t pitch, int32_t threshold, int32_t arc, int32_t kind)
{
    int32_t circle[16];
#define LOAD(i, dx, dy) circle[i] = c[(dy)*pitch + (dx)];
    VF_CIRCLE_PIXELS(LOAD)
#undef LOAD
    return vf_detect_arcs_score(circle, *c, vf_detect_arcs(circle, *c, threshold, arc, 16), arc, kind);
}

/** SAD-B of a row, which compilers turn into vector code. */
VF_HOT static void test_row(uint16_t *restrict score, const uint8_t *row, ptrdiff_t pitch, int32_t width,
                            int32_t threshold, int32_t arc)
{
    for (int32_t x = VF_CIRCLE_RADIUS; x < width - VF_CIRCLE_RADIUS; x++)
        score[x] = (uint16_t)test_pixel(row + x, pitch, threshold, arc, VFRONT_SCORE_SAD_B);
}

/** Scores of all pixels, [height][width]; 0 where there is no corner, nor can be one, within three pixels of the
 *  border. */
void corners(const uint8_t *pixels, int32_t width, int32_t height, int32_t pitch, int32_t threshold, int32_t arc,
             int32_t kind, uint16_t *score)
{
    memset(score, 0, sizeof *score * (size_t)width * (size_t)height);
    for (int32_t y = VF_CIRCLE_RADIUS; y < height - VF_CIRCLE_RADIUS; y++) {
        uint16_t *to = score + (ptrdiff_t)y * width;
        const uint8_t *row = pixels + (ptrdiff_t)y * pitch;
        test_row(to, row, pitch, width, threshold, arc);
        for (int32_t x = 0; x < width; x++)
            if (to[x]) to[x] = (uint16_t)test_pixel(row + x, pitch, threshold, arc, kind);
    }
}
