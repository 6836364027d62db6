/* SPDX-License-Identifier: MIT */
/* Config of build/demo/replay, the first run: disparities, obstacles and a map of pictures of 640x480. */
#define VFRONT_WIDTH 640
#define VFRONT_HEIGHT 480
#define VFRONT_CELLS 4096
#define VFRONT_CULL_CELLS 8192
#define VFRONT_DENSE 1
#define VFRONT_DISPARITIES 64
#define VFRONT_STIXELS 1
#define VFRONT_SEGMENTS 24
#define VFRONT_MAP 1
#define VFRONT_KEYFRAMES 64
