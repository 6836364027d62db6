/* SPDX-License-Identifier: MIT */
/* Stixels of the size of the picture of which they are known, and of columns as tall as can be. */
#define VFRONT_CAMERAS 2
#define VFRONT_WIDTH 640
#define VFRONT_HEIGHT 480
#define VFRONT_SCALES 5
#define VFRONT_TRACKS 32
#define VFRONT_CELLS 1024
#define VFRONT_CULL_CELLS 8192
#define VFRONT_KEYPOINTS 96
#define VFRONT_DENSE 1
#define VFRONT_DISPARITIES 128
#define VFRONT_STIXELS 1
#define VFRONT_SEGMENTS 24
