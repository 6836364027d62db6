/* SPDX-License-Identifier: MIT */
/* The smallest tracker: one camera, tracks and key points, no descriptors, no motion, no state. */
#define VFRONT_CAMERAS 1
#define VFRONT_WIDTH 640
#define VFRONT_HEIGHT 480
#define VFRONT_DESCRIPTORS 0
#define VFRONT_EGO 0
