/* SPDX-License-Identifier: MIT */
/* Tall pictures, for times of stixels against the height: their most is all that they need. */
#define VFRONT_WIDTH 1280
#define VFRONT_HEIGHT 960
#define VFRONT_CULL_CELLS 20480
#define VFRONT_DENSE 1
#define VFRONT_DISPARITIES 128
#define VFRONT_STIXELS 1
#define VFRONT_SEGMENTS 24
#define VFRONT_MAP 1
#define VFRONT_KEYFRAMES 64
