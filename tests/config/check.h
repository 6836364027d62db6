/* SPDX-License-Identifier: MIT */
/* Room for the pictures that vfcheck compares, and not much more, so that all of the memory can be compared often. */
#define VFRONT_WIDTH 1280
#define VFRONT_HEIGHT 512
#define VFRONT_CULL_CELLS 12288
#define VFRONT_DENSE 1
#define VFRONT_DISPARITIES 256
#define VFRONT_STIXELS 1
#define VFRONT_SEGMENTS 24
#define VFRONT_MAP 1
#define VFRONT_KEYFRAMES 64
