/* SPDX-License-Identifier: MIT
 *
 * What the web page (view.h) is given: each frame with its result; before there are results the pictures alone, so that
 * cameras can be aimed and focused while the autopilot's IMU is waited for, and before there are cameras what is waited
 * for.
 */
#ifndef COMPANION_DISPLAY_H
#define COMPANION_DISPLAY_H

#include <stdatomic.h>

#include "examples/replay/rectified.h"
#include "links.h"
#include "source.h"

/** Display. Zero it; without display_open() all calls do nothing. */
typedef struct display {
    view_t view;
    links_t *links;
    vfront_result_t none;   /**< A result of nothing. */
    odometry_frame_t frame; /**< Local frame of the page: as that of the messages, but never resumed. */
    rectified_t *rectified; /**< Pictures that the results are of, where these are not the source's; or NULL. */
    uint16_t obstacles_cm[VFRONT_OBSTACLE_BINS];
    int has_obstacles;
    double map_local[4]; /**< As view_frame_t has it. */
    int has_map;
    pthread_t thread; /**< Of the pictures before there are results. */
    int has_thread;
    atomic_int stops;
    source_t *source;
    const char *waits;
} display_t;

/** Opens the page on PORT or ADDRESS:PORT, served with the links. Returns NULL, or a one-line message. */
const char *display_open(display_t *display, const char *where, const char *name, links_t *links);

/** Ends it, behind links_stop(). */
void display_close(display_t *display);

/** From now on pictures are those of vfront_info_t.camera. 0: no memory. */
int display_rectify(display_t *display, const vfront_rig_t *rig, const vfront_info_t *info);

/** Nothing but a word: what is waited for. */
void display_wait(display_t *display, const char *waits);

/** Shows a source's pictures from a thread of its own until display_end_preview(), while the caller waits for something
 *  else. Returns 1 if the source was started for it. */
int display_preview(display_t *display, source_t *source, const char *waits);

void display_end_preview(display_t *display);

/** Distances of the newest OBSTACLE_DISTANCE. */
void display_obstacles(display_t *display, const uint16_t cm[VFRONT_OBSTACLE_BINS]);

/** The local frame in the map; NULL: not known. */
void display_map(display_t *display, const map_frame_t *map);

/** A frame and its result. rejection: why the state is not sent; NULL: it is. */
void display_frame(display_t *display, const vfront_frame_t *frame, const vfront_result_t *result,
                   const char *rejection, const pose_t *T_body_imu);

#endif
