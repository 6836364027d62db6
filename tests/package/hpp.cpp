/* SPDX-License-Identifier: MIT */
/* examples/vfront.hpp: in C++11 without exceptions it steps as the calls of vfront.h do, its views are the lists of the
 * result, and nothing is allocated. A handle that ends shuts down, so that its memory can be used again. */
#include <stdio.h>
#include <stdlib.h>

#include <new>

#include "examples/vfront.hpp"

static int bad;
#define CHECK(is_so) ((is_so) ? (void)0 : (void)(bad++, printf("hpp: line %d: %s\n", __LINE__, #is_so)))

void *operator new(size_t) noexcept(false) { abort(); }
void operator delete(void *) noexcept { abort(); }

static const int width = 192, height = 144;
static vfront_t memory, plain;
static uint8_t grey[2][height][width];

static void draw(int frame)
{
    for (int camera = 0; camera < 2; camera++)
        for (int y = 0; y < height; y++)
            for (int x = 0; x < width; x++)
                grey[camera][y][x] = (uint8_t)((x + 2 * frame + 6 * camera) / 9 * 37 % 11 * (y / 8 * 29 % 7) * 3 + 30);
}

static vfront_rig_t make_rig()
{
    vfront_rig_t rig = vfront_rig_t();
    rig.cameras = VFRONT_CAMERAS < 2 ? 1 : 2;
    for (int i = 0; i < rig.cameras; i++) {
        rig.camera[i].width_px = width;
        rig.camera[i].height_px = height;
        rig.camera[i].fx_px = rig.camera[i].fy_px = 120.0;
        rig.camera[i].cx_px = 95.5;
        rig.camera[i].cy_px = 71.5;
        rig.camera[i].t_cam_imu_m[0] = -0.1 * i;
    }
    return rig;
}

static void check_views(const vf::result &found)
{
    size_t seen = 0;
    for (const vfront_track_t &t : found.tracks()) seen += t.id > 0 && t.x_px > 0.0f;
    CHECK(seen == found->tracks_count && seen > 20);
    CHECK(found.tracks().data() == found->tracks && &found.tracks()[1] == &found->tracks[1]);
    CHECK(found.keypoints(0).size() == found->keypoints_count[0] && !found.keypoints(0).empty());
#if VFRONT_DENSE
    CHECK(found.disparities(70).empty()); /* `dense` is 0 */
#endif
#if VFRONT_STEREO
    CHECK(found.depths().end() - found.depths().begin() == (ptrdiff_t)found->depths_count);
#endif
}

int main()
{
    const vfront_rig_t rig = make_rig();
    CHECK(vfront_init(&plain, &rig, NULL, VFRONT_PORT_HOST) == VFRONT_OK);
    for (int life = 0; life < 2; life++) {
        vf::handle flight(memory);
        vf::result found;
        CHECK(flight.init(rig, nullptr, VFRONT_PORT_HOST) == VFRONT_OK);
        CHECK(flight.init(rig) == VFRONT_E_STATE && flight.detail()[0]);
        for (int i = 0; i < 4; i++) {
            vfront_frame_t frame = vfront_frame_t();
            const vfront_result_t *r;
            draw(i);
            frame.t_ns = (uint64_t)(4 * life + i) * 33333333;
            for (int c = 0; c < rig.cameras; c++) frame.picture[c] = vf::grey8(grey[c][0], width, height, width);
            CHECK(flight.step(frame, found) == VFRONT_OK && found);
            if (life == 0 && vfront_step(&plain, &frame, &r) == VFRONT_OK)
                CHECK(vfront_digest(r) == vfront_digest(found.get()));
            if (i) check_views(found);
            CHECK(flight.step(frame, found) == VFRONT_E_TIME && !found);
        }
    }
    vfront_shutdown(&plain);
    printf("hpp: %d faults\n", bad);
    return bad != 0;
}
