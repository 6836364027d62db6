/* SPDX-License-Identifier: MIT */
/* Room for the drawn worlds (tests/vio/worlds.c): pictures of 752x480 that nobody looks at, samples of 1 kHz over lost
 * frames. All else is standard. */
#define VFRONT_WIDTH 768
#define VFRONT_HEIGHT 512
#define VFRONT_CELLS 4096
#define VFRONT_CULL_CELLS 8192
#define VFRONT_IMU_SAMPLES 4096
