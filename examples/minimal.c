/* SPDX-License-Identifier: MIT */
/* The smallest program that flies: static memory, frames in, tracks out. Replace draw() by a camera. */
#include <stdio.h>

#include "vfront.h"

static vfront_t vf;
static uint8_t grey[240][320];

static void draw(int frame) /* bright tiles that drift by two pixels a frame */
{
    for (int y = 0; y < 240; y++)
        for (int x = 0; x < 320; x++) grey[y][x] = (x + 2 * frame) % 40 < 20 && y % 30 < 15 ? 200 : 40;
}

int main(void)
{
    const vfront_rig_t rig = {.cameras = 1, .camera = {{.width_px = 320, .height_px = 240}}};
    const vfront_result_t *result;

    vfront_status_t status = vfront_init(&vf, &rig, NULL, VFRONT_PORT_AUTO);
    for (int i = 0; i < 10 && !status; i++) {
        vfront_frame_t frame = {.t_ns = (uint64_t)i * 33333333};
        draw(i);
        frame.picture[0].data = grey;
        frame.picture[0].width_px = 320;
        frame.picture[0].height_px = 240;
        frame.picture[0].pitch_bytes = 320;
        status = vfront_step(&vf, &frame, &result);
        if (!status)
            printf("frame %d: %u tracks, first at (%.2f, %.2f), %.0f us\n", i, result->tracks_count,
                   (double)result->tracks[0].x_px, (double)result->tracks[0].y_px, (double)result->timing.step_us);
    }
    if (status) printf("%s: %s\n", vfront_status_name(status), vfront_detail(&vf));
    vfront_shutdown(&vf);
    return status != VFRONT_OK;
}
