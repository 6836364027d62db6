/* SPDX-License-Identifier: MIT */
/* The standard config with keyframes and loops: for the tests of their stages, their digests and their figures. */
#define VFRONT_WIDTH 1280
#define VFRONT_HEIGHT 512
#define VFRONT_MAP 1
