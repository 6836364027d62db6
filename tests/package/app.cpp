// SPDX-License-Identifier: MIT
// An application in C++: what examples/minimal.c does, without designated initialisers.
#include <cstdio>

#include "vfront.h"

static vfront_t vf;
static uint8_t grey[120][160];

int main()
{
    vfront_rig_t rig{};
    rig.cameras = 1;
    rig.camera[0].width_px = 160;
    rig.camera[0].height_px = 120;
    for (int y = 0; y < 120; y++)
        for (int x = 0; x < 160; x++) grey[y][x] = x % 40 < 20 && y % 30 < 15 ? 200 : 40;
    vfront_frame_t frame{};
    frame.picture[0].data = grey;
    frame.picture[0].width_px = 160;
    frame.picture[0].height_px = 120;
    frame.picture[0].pitch_bytes = 160;
    const vfront_result_t *result = nullptr;
    if (vfront_init(&vf, &rig, nullptr, VFRONT_PORT_HOST) || vfront_step(&vf, &frame, &result)) {
        std::printf("%s\n", vfront_detail(&vf));
        return 1;
    }
    std::printf("%s: %u tracks\n", vfront_version(), result->tracks_count);
    const bool some = result->tracks_count > 0;
    vfront_shutdown(&vf);
    return some ? 0 : 1;
}
