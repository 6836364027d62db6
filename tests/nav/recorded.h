/* SPDX-License-Identifier: MIT */
/* Config of bridge_nav.so: pictures of the recorded sets, and samples of gaps of 5 s between frames. */
#define VFRONT_WIDTH 1280
#define VFRONT_HEIGHT 512
#define VFRONT_IMU_SAMPLES 1024
