/* SPDX-License-Identifier: MIT */
/* cfg_small.h for an application that only flies on the GPU: vfront_t holds no arenas, VFRONT_PORT_HOST is refused. */
#include "small.h"
#define VFRONT_HOST 0
