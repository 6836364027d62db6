/* SPDX-License-Identifier: MIT */
/* The library's rule for one pixel, over whole pictures, for tests/opencv_fast.py: make build/bridge.so. */
#include "../src/detect.h"

void corners(const uint8_t *pixels, int32_t width, int32_t height, int32_t pitch, int32_t threshold, int32_t arc,
             int32_t kind, uint16_t *score);

/** Scores of a row's pixels; a loop for each kind of score that compilers turn into vectors. */
#define SCORE_ROW(name, kind)                                                                                          \
    VF_HOT static void name(uint16_t *restrict score, const uint8_t *row, ptrdiff_t pitch, int32_t width, int32_t threshold, \
                            int32_t arc)                                                                                \
    {                                                                                                                  \
        for (int32_t x = VF_CIRCLE; x < width - VF_CIRCLE; x++) {                                                      \
            int32_t circle[16];                                                                                        \
            VF_CIRCLE_PIXELS(LOAD)                                                                                     \
            score[x] = (uint16_t)vf_detect_test(circle, row[x], threshold, arc, kind);                                 \
        }                                                                                                              \
    }
#define LOAD(i, dx, dy) circle[i] = row[(dy) * pitch + x + (dx)];
SCORE_ROW(score_sad_b, VFRONT_SCORE_SAD_B)
SCORE_ROW(score_sad_a, VFRONT_SCORE_SAD_A)
SCORE_ROW(score_mt, VFRONT_SCORE_MT)

/** Scores of all pixels, [height][width]; 0 where there is no corner, nor can be one, within three pixels of the border. */
void corners(const uint8_t *pixels, int32_t width, int32_t height, int32_t pitch, int32_t threshold, int32_t arc,
             int32_t kind, uint16_t *score)
{
    static void (*const score_row[])(uint16_t *, const uint8_t *, ptrdiff_t, int32_t, int32_t, int32_t) = {
        score_sad_b, score_sad_a, score_mt};
    memset(score, 0, sizeof *score * (size_t)width * (size_t)height);
    for (int32_t y = VF_CIRCLE; y < height - VF_CIRCLE; y++)
        score_row[kind](score + (ptrdiff_t)y * width, pixels + (ptrdiff_t)y * pitch, pitch, width, threshold, arc);
}
