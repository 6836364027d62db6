/* SPDX-License-Identifier: MIT */
/* Flights through drawn worlds, without pictures, by the calls of vfront.h on the host port: tracks, key points, depths
 * and matches are drawn (drawn_stages.h), and all that follows from them is the library's: prediction, motions, first
 * states, supervisor, sliding window. Every world is drawn from the distributions of drawn_world.h by its seed.
 * `build/worlds --help` lists the options; tests/vio/worlds.py runs many and sums them up. */
#include "drawn_program.h"
#include "drawn_stages.h"

static void view_begin(void) { scene_begin(); }

static int view_uses(const struct world_draw *quantity) { return quantity->group != WORLD_PICTURES; }

static void view_frame(int k, vfront_frame_t *frame)
{
    static uint8_t picture[FLIGHT_HEIGHT * FLIGHT_WIDTH];
    for (int c = 0; c < 2; c++)
        frame->picture[c] = (vfront_picture_t){
            .data = picture, .width_px = FLIGHT_WIDTH, .height_px = FLIGHT_HEIGHT, .pitch_bytes = FLIGHT_WIDTH};
    scene_frame(k);
}

static void view_refused(void) { scene_refused(); }

int main(int argc, char **argv) { return drawn_main(argc, argv, "worlds", 10); }
