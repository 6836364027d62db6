/* SPDX-License-Identifier: MIT
 *
 * Path of camera 0 in the map after all corrections: each frame is carried by the keyframe of its path before it, whose
 * pose is that of the graph at the end of the run.
 */
#ifndef MAP_TRAJECTORY_H
#define MAP_TRAJECTORY_H

#include "map_plot.h"
#include "vfront.h"

/** Writes it as TUM: frames of which a keyframe's place in the map is known. plot: frames of the run. Returns CONTINUE,
 *  or an exit code after a message. */
int map_trajectory_write(vfront_t *vf, const char *path, const map_plot_t *plot);

#endif
