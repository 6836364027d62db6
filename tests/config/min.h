/* SPDX-License-Identifier: MIT */
/* The least of every value of vfront_cfg.h. */
#define VFRONT_CAMERAS 1
#define VFRONT_WIDTH 64
#define VFRONT_HEIGHT 64
#define VFRONT_LEVELS 1
#define VFRONT_TRACKS 32
#define VFRONT_CELLS 1
#define VFRONT_CULL_CELLS 1
#define VFRONT_ITERATIONS 1
#define VFRONT_GYRO_SAMPLES 2
#define VFRONT_IMU_SAMPLES 2
#define VFRONT_SCALES 1
#define VFRONT_BANK 1
#define VFRONT_KEYPOINTS 1
#define VFRONT_DESCRIPTORS 0
#define VFRONT_HYPOTHESES 32
