/* SPDX-License-Identifier: MIT */
/* Two cameras: depths of tracks, and the metric motion of each step, summed to a trajectory. Replace room.h and
 * take_pictures() by two cameras whose exposures begin together. */
#include <stdio.h>

#include "room.h"

#define FRAMES 60

static vfront_t vf;
static uint8_t grey[2][ROOM_HEIGHT_PX][ROOM_WIDTH_PX];

/** Pose of camera 0 in axes of its first frame: X_first = R X_now + t. */
struct pose {
    double R[9], t[3]; /* t [m] */
    unsigned holes;    /* runs of steps without a good motion */
    int was_good;
};

/** Fills a frame: stamp and both pictures. */
static void take_pictures(int number, vfront_frame_t *frame)
{
    frame->t_ns = 1000000000u + (uint64_t)number * ROOM_FRAME_NS;
    for (int c = 0; c < 2 && c < VFRONT_CAMERAS; c++) {
        vfront_picture_t *p = &frame->picture[c];
        room_render(frame->t_ns, c, grey[c][0]);
        p->data = grey[c];
        p->width_px = ROOM_WIDTH_PX;
        p->height_px = ROOM_HEIGHT_PX;
        p->pitch_bytes = ROOM_WIDTH_PX;
    }
}

/** Adds the motion X_now = R X_before + t to the pose: R_pose R^T, and its translation backwards. */
static void add_motion(struct pose *pose, const float R[9], const float t[3])
{
    double turned[9];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            turned[3 * i + k] = 0.0;
            for (int j = 0; j < 3; j++) turned[3 * i + k] += pose->R[3 * i + j] * (double)R[3 * k + j];
        }
    for (int i = 0; i < 9; i++) pose->R[i] = turned[i];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) pose->t[i] -= turned[3 * i + j] * (double)t[j];
}

/** The motion of a step, or where it is not good the predicted one: the trajectory has a hole there. */
static void follow(struct pose *pose, const vfront_result_t *r)
{
    const int good = r->metric.state == VFRONT_MOTION_GOOD;
    if (good)
        add_motion(pose, r->metric.R, r->metric.t);
    else if (r->frame > 0)
        add_motion(pose, r->predicted.R, r->predicted.t);
    pose->holes += !good && pose->was_good; /* the library counts them, too: health.motion_breaks */
    pose->was_good = good;
}

/** Number of tracks with a depth, and the nearest of those that agree with a motion: not a moving object, nor a wrong
 *  match. */
static void print_depths(const vfront_result_t *r)
{
    const vfront_track_t *nearest = NULL;
    unsigned count = 0;
    for (uint32_t i = 0; i < r->tracks_count; i++) {
        const vfront_track_t *t = &r->tracks[i];
        if (t->depth_m <= 0.0f) continue;
        count++;
        if (t->agrees && (!nearest || t->depth_m < nearest->depth_m)) nearest = t;
    }
    printf("%u tracks, %u with depth", r->tracks_count, count);
    if (nearest)
        printf(", nearest %.2f +- %.2f m at (%.0f, %.0f) px", (double)nearest->depth_m, (double)nearest->depth_sigma_m,
               (double)nearest->x_px, (double)nearest->y_px);
}

int main(void)
{
    struct pose pose = {.R = {1, 0, 0, 0, 1, 0, 0, 0, 1}};
    vfront_rig_t rig = room_rig(2, 0);
    vfront_status_t status = vfront_init(&vf, &rig, NULL, VFRONT_PORT_AUTO);
    for (int i = 0; i < FRAMES && !status; i++) {
        vfront_frame_t frame = {0};
        const vfront_result_t *r;
        take_pictures(i, &frame);
        status = vfront_step(&vf, &frame, &r);
        if (status) break;
        follow(&pose, r);
        printf("frame %d: ", i);
        print_depths(r);
        printf("; position %.4f %.4f %.4f m, %u holes\n", pose.t[0], pose.t[1], pose.t[2], pose.holes);
        if (i > 0 && r->metric.state != VFRONT_MOTION_GOOD)
            printf("  no good motion (state %u, flags %u): the predicted one is taken\n", r->metric.state,
                   r->metric.flags);
        if (r->health.stereo == VFRONT_STEREO_SUSPECT) printf("  the cameras do not agree: calibration, or stamps\n");
        if (r->health.stereo == VFRONT_STEREO_BLIND) printf("  a camera is dark, covered or frozen\n");
    }
    if (status) fprintf(stderr, "%s: %s\n", vfront_status_name(status), vfront_detail(&vf));
    vfront_shutdown(&vf);
    return status != VFRONT_OK;
}
