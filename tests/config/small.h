/* SPDX-License-Identifier: MIT */
/* A small legal config, so that tests can hold several front ends and start them often. */
#define VFRONT_CAMERAS 2
#define VFRONT_WIDTH 192
#define VFRONT_HEIGHT 144
#define VFRONT_LEVELS 3
#define VFRONT_TRACKS 224
#define VFRONT_CELLS 64
#define VFRONT_CULL_CELLS 512
#define VFRONT_GYRO_SAMPLES 16
#define VFRONT_IMU_SAMPLES 40
#define VFRONT_SCALES 5
#define VFRONT_SCALE_NUM 5
#define VFRONT_SCALE_DEN 4
#define VFRONT_KEYPOINTS 96
#define VFRONT_DENSE 1
#define VFRONT_DISPARITIES 64
#define VFRONT_STIXELS 1
#define VFRONT_SEGMENTS 16
#define VFRONT_MAP 1
#define VFRONT_KEYFRAMES 64
