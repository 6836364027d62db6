/* SPDX-License-Identifier: MIT */
/* The most of every value of vfront_cfg.h. */
#define VFRONT_CAMERAS 2
#define VFRONT_WIDTH 4096
#define VFRONT_HEIGHT 4096
#define VFRONT_LEVELS 6
#define VFRONT_TRACKS 1024
#define VFRONT_CELLS 16384
#define VFRONT_CULL_CELLS 262144
#define VFRONT_ITERATIONS 100
#define VFRONT_GYRO_SAMPLES 4096
#define VFRONT_IMU_SAMPLES 4096
#define VFRONT_SCALES 8
#define VFRONT_SCALE_NUM 52 /* to the seventh power 16 times 35 to the seventh, nearly */
#define VFRONT_SCALE_DEN 35
#define VFRONT_KEYPOINTS 32768
#define VFRONT_HYPOTHESES 8192
#define VFRONT_MAP 1
#define VFRONT_KEYFRAMES 2048
