/* SPDX-License-Identifier: MIT
 *
 * Map of a run (vfront_result_t.map): poses of camera 0 in it, and a plot from above as SVG: the path as the odometry
 * has it and as the map has it, keyframes, loops.
 */
#ifndef MAP_PLOT_H
#define MAP_PLOT_H

#include <stdio.h>

#include "examples/common/pose.h"
#include "vfront.h"

/** Frame of a run. map: position of camera 0 in the map, as output in this frame [m]. */
struct map_frame {
    uint64_t frame, t_ns;
    pose_t own; /* of camera 0 in the odometry frame */
    pose_t to;  /* T_map_odom */
    double map[3];
    int keyframe, state; /* vfront_map_state_t */
    uint64_t loop;       /* keyframe of an accepted metric loop; its own number: none */
};

/** Frames of a run. Zero it before the first one. */
typedef struct map_plot {
    uint32_t count, capacity;
    struct map_frame *frame;
    uint32_t jumps, loops; /* in the last frame */
    int upright;           /* 1: z is up */
} map_plot_t;

/** Pose of camera 0 in the map, by T_map_odom as output in this frame. Returns 0 if there is none: no map, lost, no
 *  scale. */
int map_pose(const vfront_result_t *result, pose_t *pose);

/** Adds a frame. Returns 0 without memory. */
int map_plot_add(map_plot_t *plot, const vfront_result_t *result);
void map_plot_free(map_plot_t *plot);

/**
 * @param[in] path   File to write.
 * @param[in] title  Any text.
 * @return NULL, or a one-line message, valid until the next call.
 */
const char *map_plot_write(const char *path, const char *title, const map_plot_t *plot);

#endif
