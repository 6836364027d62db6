/* SPDX-License-Identifier: MIT */
/* One camera: tracks, key points, relative motion of each step. Replace room.h and take_picture() by a camera. */
#include <stdio.h>

#include "room.h"

#define FRAMES 30

static vfront_t vf;
static uint8_t grey[ROOM_HEIGHT_PX][ROOM_WIDTH_PX];

/** Fills a frame: stamp and picture. */
static void take_picture(int number, vfront_frame_t *frame)
{
    frame->t_ns = 1000000000u + (uint64_t)number * ROOM_FRAME_NS;
    room_render(frame->t_ns, 0, grey[0]);
    frame->picture[0].data = grey;
    frame->picture[0].width_px = ROOM_WIDTH_PX;
    frame->picture[0].height_px = ROOM_HEIGHT_PX;
    frame->picture[0].pitch_bytes = ROOM_WIDTH_PX;
}

/** Rotation and direction of the translation since the frame before, in axes of the camera. */
static void print_motion(const vfront_motion_t *m)
{
    switch (m->state) {
    case VFRONT_MOTION_GOOD: /* t is a unit vector: one camera does not measure its length */
        printf("direction %.3f %.3f %.3f, turn about y %.4f rad, %u of %u correspondences", (double)m->t[0],
               (double)m->t[1], (double)m->t[2], (double)(m->R[2] - m->R[6]) / 2.0, m->inliers, m->pairs);
        break;
    case VFRONT_MOTION_ROTATION: printf("rotation alone, %u of %u correspondences", m->inliers, m->pairs); break;
    default: printf("no motion, state %u", m->state);
    }
}

/** What a program may do with a result. Tracks keep their id from frame to frame; bearings need the calibration. */
static void use(const vfront_result_t *r)
{
    const vfront_track_t *oldest = &r->tracks[0]; /* tracks are in the order of their ids */
    printf("frame %llu: %u tracks, %u key points; ", (unsigned long long)r->frame, r->tracks_count,
           r->keypoints_count[0]);
    if (r->tracks_count)
        printf("oldest %llu at (%.1f, %.1f) px, bearing (%.3f, %.3f, %.3f); ", (unsigned long long)oldest->id,
               (double)oldest->x_px, (double)oldest->y_px, (double)oldest->bearing[0], (double)oldest->bearing[1],
               (double)oldest->bearing[2]);
    print_motion(&r->relative);
    printf("\n");
    if (r->health.state == VFRONT_LOST) printf("  lost: nothing connects this frame with the one before\n");
}

int main(void)
{
    vfront_rig_t rig = room_rig(1, 0);
    vfront_status_t status = vfront_init(&vf, &rig, NULL, VFRONT_PORT_AUTO);
    for (int i = 0; i < FRAMES && !status; i++) {
        vfront_frame_t frame = {0};
        const vfront_result_t *result;
        take_picture(i, &frame);
        status = vfront_step(&vf, &frame, &result);
        if (!status) use(result);
    }
    if (status) fprintf(stderr, "%s: %s\n", vfront_status_name(status), vfront_detail(&vf));
    vfront_shutdown(&vf);
    return status != VFRONT_OK;
}
