/* SPDX-License-Identifier: MIT */
/* A front end of one library in a program that holds two: PART is its name. Steps once a call, and condenses what came
 * out. */
#include <stdint.h>
#include <stdio.h>

#include "vfront.h"

#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
uint64_t JOIN(step_, PART)(void);

uint64_t JOIN(step_, PART)(void)
{
    static vfront_t vf;
    static uint8_t grey[120][160];
    static uint64_t frames, digest;
    const vfront_rig_t rig = {.cameras = 1, .camera = {{.width_px = 160, .height_px = 120}}};
    const vfront_result_t *result;
    vfront_frame_t frame = {.t_ns = ++frames * 33333333};
    for (int y = 0; y < 120; y++)
        for (int x = 0; x < 160; x++) grey[y][x] = (x + 2 * (int)frames) % 40 < 20 && y % 30 < 15 ? 200 : 40;
    frame.picture[0].data = grey;
    frame.picture[0].width_px = 160;
    frame.picture[0].height_px = 120;
    frame.picture[0].pitch_bytes = 160;
    if ((frames == 1 && vfront_init(&vf, &rig, NULL, VFRONT_PORT_HOST)) || vfront_step(&vf, &frame, &result) ||
        !result->tracks_count) {
        fprintf(stderr, "part: %s, %u tracks\n", vfront_detail(&vf), result ? result->tracks_count : 0);
        return 0;
    }
    digest = digest * 1099511628211u ^ vfront_digest(result) ^ sizeof(vfront_t);
    return digest;
}
