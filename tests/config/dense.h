/* SPDX-License-Identifier: MIT */
/* Disparities of small pictures: for the test of the stage, which compares all of the memory often. */
#define VFRONT_CAMERAS 2
#define VFRONT_WIDTH 192
#define VFRONT_HEIGHT 144
#define VFRONT_LEVELS 3
#define VFRONT_SCALES 5
#define VFRONT_TRACKS 32
#define VFRONT_CELLS 64
#define VFRONT_CULL_CELLS 512
#define VFRONT_KEYPOINTS 96
#define VFRONT_DENSE 1
#define VFRONT_DISPARITIES 256
